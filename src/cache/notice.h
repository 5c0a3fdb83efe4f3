/* Notices: what a provider says of one URL. The same bytes go from uns to qm, wait in unsdb, and
 * are kept with the set for its receipts (doc/formats/notices.md). */
#pragma once
#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

enum {
	NOTICE_URL_MAX = 8192,
	NOTICE_MIME_MAX = 127,
	NOTICE_SUB_MAX = 127,
	NOTICE_HOURS_MAX = 255,                  /* HOURS_TEXT_MAX */
	NOTICE_MOST = 3 * NOTICE_URL_MAX + 1024, /* bytes of one as it is written */
};

enum notice_op {
	NOTICE_UPDATE,
	NOTICE_REMOVE,
	/* An invalid URL of a full set. It still counts as named, so that its stored content stays.
	 * Its type may be "": any type. */
	NOTICE_NAMED,
	NOTICE_OPS,
};

enum notice_has {
	NOTICE_HAS_MTIME = 1 << 0,
	NOTICE_HAS_SIZE = 1 << 1,
	NOTICE_HAS_MD5 = 1 << 2,
	NOTICE_NOT_BROWSABLE = 1 << 3,
};

struct notice {
	enum notice_op op;
	unsigned has; /* of enum notice_has */
	/* URLs are absolute and in the form that url_parse() gives them. b and f: "" where they are
	 * the same as c. */
	struct str c, b, f;
	struct str mime;  /* in lower case, without parameters */
	struct str sub;   /* "type:stuff", or "" */
	struct str hours; /* a list of hours.h, as it was sent; "": any */
	int64_t mtime_s;  /* since 1970 */
	uint64_t size;
	unsigned char md5[16];
};

/* What is fetched: f, or c. */
static inline struct str notice_fetch(const struct notice *n)
{
	return n->f.n ? n->f : n->c;
}

/* Hash of c and mime, which together with the provider identify a row. */
int64_t notice_hash(struct str c, struct str mime);

void notice_write(const struct notice *n, struct buf *out);
/* 0: *ret has slices of the reader's bytes. 1: the end. ERR_DAMAGED: not a notice, or beyond the
 * limits. Does not check the hours. */
int notice_next(struct reader *r, struct notice *ret, struct err *err);
/* Returns a copy whose slices are in the arena. */
struct notice notice_copy(const struct notice *n, struct arena *arena);

/* Pieces: many notices in one block, packed by zstd, of at most NOTICE_PIECE bytes before. */
enum { NOTICE_PIECE = 256 << 10 };
/* Packs the bytes of notices into one block; sets `over` if `out` has no room for it. */
void notice_pack(struct str notices, struct buf *out);
/* ERR_DAMAGED: not such a block, or of more than NOTICE_PIECE + NOTICE_MOST bytes. */
int notice_unpack(struct str block, struct buf *ret, struct err *err);
