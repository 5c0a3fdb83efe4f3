/* Bucket files: fetched pages, one bucket each. A bucket's number (oid) is its offset in the file
 * divided by the alignment, and stays the same until a shakedown (bucket/bucket_shake.h) renumbers.
 * doc/formats/bucket.md describes the file, bucket/bucket_attrs.h the contents of a bucket.
 *
 * One process appends while others read. The appending process sees its buckets at once, the others
 * see what was synced. A handle belongs to one thread; a thread may have several. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "disk/format.h"

enum {
	BUCKET_SHIFT = 7, /* alignment 128 bytes, 512 GB; each one more doubles both */
	BUCKET_SHIFT_LEAST = 5,
	BUCKET_SHIFT_MOST = 16,
	BUCKET_AT_ONCE = 2 << 10, /* buckets with up to this much data are read by one pread */
	BUCKET_DATA_MOST = (64 << 20) - (128 << 10), /* bytes in a bucket */
};
#define BUCKET_SPECIAL UINT32_C(0xffff0000) /* this oid and those above are not buckets */
#define BUCKET_DELETED UINT32_C(0xffffffff)

/* Types. Those below 0x80000000 are of old versions and treated as plain. */
#define BUCKET_PLAIN UINT32_C(0x80000000)    /* v2; only read */
#define BUCKET_V30 UINT32_C(0x80000001)      /* only read */
#define BUCKET_V33 UINT32_C(0x80000002)      /* written */
#define BUCKET_LIZARD UINT32_C(0x80000003)   /* v3.3 of others, body in LiZaRd: only its header */
#define BUCKET_V33_ZSTD UINT32_C(0x8000007a) /* ours: v3.3 with its body in zstd */

/* What a handle is for. The locks on bytes 0 and 1 of the file last as long as the handle.
 * ERR_BUSY: another process holds one that excludes them. */
enum bucket_mode {
	BUCKET_SCAN,   /* read and scan, while somebody may append (read lock on 1) */
	BUCKET_READ,   /* the same while nobody appends, so the end must be whole (read locks on
			  both); for tools over a file that nobody changes */
	BUCKET_APPEND, /* append, sync, cut, shake down; others may scan (write lock on 0) */
	BUCKET_WRITE,  /* all of that, and delete and fix in place (write locks on both) */
};

struct bucket_options {
	enum bucket_mode mode;
	unsigned shift; /* 0: as the file says, or BUCKET_SHIFT if it does not; files created here
			   always do */
	bool unchecked; /* opens a file even if the quick check fails, to repair it */
	bool buffered;  /* appends go through the page cache in any case */
	bool forward;   /* mostly read in the order of the file: the system reads ahead */
};

/* One bucket as it lies in the file. */
struct bucket {
	uint32_t oid; /* by its place, also of a deleted one */
	uint32_t type;
	bool deleted;
	uint64_t at, next; /* bytes in the file: its first, and the first of the one after it */
	struct str data;   /* valid until the next call with this handle or scan */
};

struct buckets;

/* ERR_USAGE: not a valid shift; 0 is valid. path: for the message. */
int bucket_shift_check(const char *path, unsigned shift, struct err *err);

/* BUCKET_APPEND and BUCKET_WRITE create a missing file and remove the leftovers of a killed
 * shakedown. 1: there is no such file. ERR_DAMAGED: the quick check failed; cut the file to its
 * last checkpoint (bucket_cut_file()), or audit and fix it. */
int bucket_open(struct buckets **ret, const char *path, const struct bucket_options *options,
		struct err *err);
/* Writes what was appended. It is durable only if bucket_sync() was called before. */
int bucket_close(struct buckets **b, struct err *err);
void bucket_drop(struct buckets **b); /* without writing: what was not synced is lost */

/* Appends a bucket. This handle can read it at once; it is durable after bucket_sync(). Negative:
 * this bucket and all others since the last bucket_sync() are lost. The file is truncated to that
 * length, their oids are free again, and the next append may succeed. ERR_USAGE: this bucket is too
 * large; no other is lost. */
int bucket_append(struct buckets *b, uint32_t type, struct str data, uint32_t *ret_oid,
		  struct err *err);
/* Makes all appends and deletes durable. *ret_length, if not NULL: length of the file, for the
 * checkpoint. Negative: as with bucket_append(). */
int bucket_sync(struct buckets *b, uint64_t *ret_length, struct err *err);
/* Length of the file, including what was appended. */
uint64_t bucket_length(const struct buckets *b);
/* Bytes of the file that a bucket with this much data takes. */
uint64_t bucket_bytes(const struct buckets *b, size_t data);

/* Reads a bucket by its number, with one pread for up to BUCKET_AT_ONCE bytes of data. 1: deleted,
 * or past the end. ERR_DAMAGED: no whole bucket begins there; err names oid and reason. The
 * contents are not checked: see bucket_check(). */
int bucket_read(struct buckets *b, uint32_t oid, struct bucket *ret, struct err *err);
/* Needs BUCKET_WRITE. Durable with the next bucket_sync(), and not undone by a cut. Returns as
 * bucket_read(). */
int bucket_delete(struct buckets *b, uint32_t oid, struct err *err);

/* Truncates the file to the length of a checkpoint, durably. *ret_cut, if not NULL: bytes removed.
 * ERR_DAMAGED: the file is shorter, or no bucket ends there. */
int bucket_cut(struct buckets *b, uint64_t length, uint64_t *ret_cut, struct err *err);
/* The same for a file that is not open, whatever follows the checkpoint. shift as in the options.
 * 1: there is no such file. */
int bucket_cut_file(const char *path, unsigned shift, uint64_t length, uint64_t *ret_cut,
		    struct err *err);

/* False if a shakedown has replaced the file: the handle then has the numbers from before it. */
bool bucket_current(const struct buckets *b);
/* Whether another process appends to the file or changes it now, so that its end may be anything.
 */
bool bucket_grows(const struct buckets *b);
unsigned bucket_shift(const struct buckets *b);
const char *bucket_path(const struct buckets *b);

/* All buckets in their order, including deleted ones, read past the page cache with read-ahead.
 * From the offset `from` (0, or a bucket's `next`) up to `to` (0: the end of the file now; else at
 * most the length of a checkpoint). Others may append meanwhile. A scan with the handle that
 * appends sees everything appended so far. A torn end is not returned, but sets scan.torn. */
struct bucket_scan {
	struct bucket_scanner *in;
	bool torn;        /* the file ends in an incomplete bucket */
	uint64_t torn_at; /* where that begins */
	bool passed;      /* the last call reported damage and skipped it */
	const char *why;  /* what was wrong there, without the place */
};
int bucket_scan_init(struct bucket_scan *ret, struct buckets *b, uint64_t from, uint64_t to,
		     struct err *err);
/* 1: the end. ERR_DAMAGED with scan->passed: what lies at ret->at up to ret->next is not a bucket
 * (err says why); the next call goes on after it. Other failures stay. */
int bucket_scan_next(struct bucket_scan *scan, struct bucket *ret, struct err *err);
void bucket_scan_done(struct bucket_scan *scan);
/* A line: number, length and type, or that it is deleted. */
void bucket_print(const struct bucket *bucket, struct buf *out);

/* `garner dump` and `garner check`. */
extern const struct format bucket_format;
