/* What the files of this room share: heads and handles of bucket.c with scan, audit and shakedown,
 * and packing with the encoding of attributes. */
#pragma once
#include "base/file.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "disk/stream.h"

#define BUCKET_MAGIC UINT32_C(0xdeadf00d)
#define BUCKET_UNFINISHED UINT32_C(0xdeadfee1) /* the magic that others put while they write */
#define BUCKET_TRAILER UINT32_C(0xfeedcafe)
enum { BUCKET_HEAD = 16, BUCKET_FRAME = 20 /* head and trailer */ };

struct bucket_head {
	uint32_t magic, oid, length, type;
};

struct bucket_head bucket_head_parse(const char *p);
void bucket_head_make(const struct bucket_head *head, char *p);
uint32_t bucket_word(const char *p); /* 4 bytes, little-endian */
void bucket_word_put(char *p, uint32_t v);
/* Bytes that a bucket with this much data takes in the file. */
uint64_t bucket_total(unsigned shift, uint32_t length);
/* What is wrong with a head at a place, `left` bytes before the end; NULL: nothing. */
const char *bucket_head_wrong(const struct bucket_head *head, unsigned shift, uint64_t at,
			      uint64_t left);
/* What follows the data of a bucket: zeroes and the trailer. NULL: they are right. */
const char *bucket_end_wrong(const char *p, size_t n);
/* Whether a trailer ends there. 1: it does not. */
int bucket_ends_at(const struct file *f, uint64_t end, struct err *err);

struct buckets {
	struct file file; /* through the page cache: reads, ends, deletions */
	enum bucket_mode mode;
	unsigned shift;
	bool buffered;
	uint64_t size, durable;   /* of the file; size is that of bucket_tail while there is one */
	struct bucket_tail *tail; /* since the first append */
	char *room;               /* what was read last */
	size_t cap;
};

/* Takes the locks of a mode. ERR_BUSY. */
int bucket_lock(const struct file *f, enum bucket_mode mode, struct err *err);
/* Everything appended is in the file, not yet on disk. After a failure the next append or sync
 * fails too, and tells what is lost. */
int bucket_flush(struct buckets *b, struct err *err);
/* Forgets what is only in memory, and where the end was. */
void bucket_tail_free(struct buckets *b);
/* Writes the oid of a deleted one over that of the bucket at this place. */
int bucket_blot(struct buckets *b, uint64_t at, struct err *err);
/* The first whole bucket in [from, to) that is not deleted; `to` when there is none. */
int bucket_resync(const struct file *f, unsigned shift, uint64_t from, uint64_t to, uint64_t *ret,
		  struct err *err);

/* What a file with another shift than the usual begins with: a deleted bucket of no data, the only
 * one that tells its alignment without another after it. Bytes written; 0: none is needed. */
size_t bucket_marker(unsigned shift, char *p);

/* PATH with an ending; to be freed. Where PATH is a link, that of the file it points to: only there
 * can one take the place of the other. */
char *bucket_beside(const char *path, const char *ending);
/* Removes what a killed shakedown left, if it did; the append lock is held. */
int bucket_sweep(const char *path, struct err *err);

/* Packed bodies: a u32 with the length of the body, a u32 with the number of the dictionary (0:
 * none), then a zstd frame. */

/* Appends the packed body to `out` if that saves an eighth of the bucket, in which `before` bytes
 * come before it. 1: it does not. */
int bucket_pack(struct bucket_packer *p, struct str body, size_t before, struct buf *out,
		struct err *err);
int bucket_unpack(struct bucket_packer *p, struct str packed, struct arena *arena, struct str *ret,
		  struct err *err);
/* Whether there is what a packed body needs. ERR_DAMAGED: its dictionary is lost; *ret_id, in any
 * case: its number, 0 for none. */
int bucket_dict_there(struct bucket_packer *p, struct str packed, uint32_t *ret_id,
		      struct err *err);
