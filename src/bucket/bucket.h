/* Bucket files: what was gathered, one bucket a page, one after the other. A bucket is found by
 * its number (oid), which is its place in the file divided by the alignment; it stays there until a
 * shakedown (bucket/bucket_shake.h) renumbers. doc/formats/bucket.md describes the file,
 * bucket/bucket_attrs.h what is in a bucket.
 *
 * One process appends, others read at the same time. Who appends reads what it appended at once;
 * others read what was synced. A handle belongs to one thread; a thread may have several. */
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

/* What a handle is for. The locks are on bytes 0 and 1 of the file and last as long as the handle;
 * ERR_BUSY when somebody else's is in the way. */
enum bucket_mode {
	BUCKET_SCAN,   /* read and scan, while somebody may append (read lock on 1) */
	BUCKET_READ,   /* the same, nobody appends meanwhile, so the end has to be whole (read
			  locks on both); the fourth lock of the original, for tools over a file
			  that lies still */
	BUCKET_APPEND, /* append, sync, cut, shake down; others may scan (write lock on 0) */
	BUCKET_WRITE,  /* all of that, and delete and fix in place (write locks on both) */
};

struct bucket_options {
	enum bucket_mode mode;
	unsigned shift; /* 0: as the file has it, or BUCKET_SHIFT where the file does not tell;
			   files that are made here always do */
	bool unchecked; /* opens also what the quick check refuses; for those who mend it */
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

/* ERR_USAGE: there is no such shift; 0 is one. path: of the file, for the message. */
int bucket_shift_check(const char *path, unsigned shift, struct err *err);

/* With BUCKET_APPEND and BUCKET_WRITE the file is made where it is missing, and what a killed
 * shakedown left is removed. 1: there is no such file. ERR_DAMAGED: the quick check failed:
 * recovery cuts the file to its last checkpoint (bucket_cut_file()), or it is audited and fixed. */
int bucket_open(struct buckets **ret, const char *path, const struct bucket_options *options,
		struct err *err);
/* Writes what was appended; that is kept only if bucket_sync() was called before. */
int bucket_close(struct buckets **b, struct err *err);
void bucket_drop(struct buckets **b); /* without writing: what was not synced is lost */

/* Appends, with the final magic. It can be read with this handle at once, is kept when
 * bucket_sync() has said so, and reaches the file in between. Negative: it is not taken, and
 * neither is anything else that was appended since the last bucket_sync(): the file is cut back to
 * that length, their oids are free again, and the next append may go well. ERR_USAGE: this bucket
 * is too large, only it was not taken. */
int bucket_append(struct buckets *b, uint32_t type, struct str data, uint32_t *ret_oid,
		  struct err *err);
/* All that was appended and deleted is on disk. *ret_length, where not NULL: bytes of the file, for
 * the checkpoint. Negative: as with bucket_append(). */
int bucket_sync(struct buckets *b, uint64_t *ret_length, struct err *err);
/* Bytes of the file with all that was appended. */
uint64_t bucket_length(const struct buckets *b);
/* Bytes of the file that a bucket with so much data takes. */
uint64_t bucket_bytes(const struct buckets *b, size_t data);

/* By its number: one pread for up to BUCKET_AT_ONCE bytes of data. 1: deleted, or past the end.
 * ERR_DAMAGED: no whole bucket begins there; err names oid and reason. What is in the bucket is not
 * looked at: bucket_check() does. */
int bucket_read(struct buckets *b, uint32_t oid, struct bucket *ret, struct err *err);
/* Needs BUCKET_WRITE; durable with the next bucket_sync(), and not undone by a cut. Else as
 * bucket_read(). */
int bucket_delete(struct buckets *b, uint32_t oid, struct err *err);

/* Cuts everything from a checkpoint's length on, durably. *ret_cut, where not NULL: bytes that were
 * cut off. ERR_DAMAGED: the file is shorter, or no bucket ends there. */
int bucket_cut(struct buckets *b, uint64_t length, uint64_t *ret_cut, struct err *err);
/* The same for a file that recovery has not opened, whatever lies after the checkpoint. shift as
 * in the options. 1: there is no such file. */
int bucket_cut_file(const char *path, unsigned shift, uint64_t length, uint64_t *ret_cut,
		    struct err *err);

/* False when a shakedown has put another file in the place of this one: the numbers of this handle
 * are then those from before it. */
bool bucket_current(const struct buckets *b);
/* Whether somebody else appends to it now, or changes it: then its end may be anything. */
bool bucket_grows(const struct buckets *b);
unsigned bucket_shift(const struct buckets *b);
const char *bucket_path(const struct buckets *b);

/* All buckets in their order, also the deleted ones, past the page cache with read-ahead. From the
 * place `from` (0, or a bucket's `next`) up to `to` (0: as long as the file is now; else a
 * checkpoint's length or less). Others may append meanwhile; with the handle that appends,
 * everything appended so far is seen. A torn end is not returned, but scan.torn is set
 * then. */
struct bucket_scan {
	struct bucket_scanner *in;
	bool torn;        /* the end that was met is torn */
	uint64_t torn_at; /* where that begins */
	bool passed;      /* what was told last is damage, and was passed */
	const char *why;  /* of that, what is wrong, without the place */
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
