/* Bodies in zstd: a u32 with the length of the body, a u32 with the number of the dictionary (0:
 * none), then a zstd frame. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "bucket/bucket_attrs.h"

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
