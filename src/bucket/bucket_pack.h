/* Bodies in zstd: a u32 with the length of the body, a u32 with the number of the dictionary (0:
 * none), then a zstd frame. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "bucket/bucket_attrs.h"

/* Size classes of bodies; larger ones are packed without a dictionary. */
enum { BUCKET_CLASSES = 4, BUCKET_CLASS_NONE = BUCKET_CLASSES };
extern const uint32_t bucket_class_most[BUCKET_CLASSES];
unsigned bucket_class(size_t n);

/* Appends the packed body to `out` if that saves an eighth of the bucket, in which `before` bytes
 * stand before it. 1: it does not. */
int bucket_pack(struct bucket_packer *p, struct str body, size_t before, struct buf *out,
		struct err *err);
int bucket_unpack(struct bucket_packer *p, struct str packed, struct arena *arena, struct str *ret,
		  struct err *err);

/* Whether there is what a packed body needs. ERR_DAMAGED: its dictionary is lost; *ret_id, in any
 * case: its number, 0 for none. */
int bucket_dict_there(struct bucket_packer *p, struct str packed, uint32_t *ret_id,
		      struct err *err);

/* Bytes that the samples take with a dictionary (empty: without one). */
size_t bucket_pack_trial(struct bucket_packer *p, struct str dict, const struct str *sample,
			 size_t n);
/* The dictionary in use for a class; empty when there is none. */
int bucket_dict_now(struct bucket_packer *p, unsigned class, struct str *ret, struct err *err);
/* Keeps a new one, durably, and uses it from now on. */
int bucket_dict_add(struct bucket_packer *p, unsigned class, struct str dict, struct err *err);
