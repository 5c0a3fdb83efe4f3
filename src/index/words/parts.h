/* Files of parts, as the segments of both indexes are: magic and a version, parts one after the
 * other, and a foot that says where each part lies, followed by numbers of the format's own. The
 * file is paged (disk/page.h) and parts are read in place. */
#pragma once
#include "base/cursor.h"
#include "disk/page.h"

#include <stdatomic.h>

enum {
	PARTS_HEAD = 16, /* bytes before the first part */
	PARTS_MOST = 16,
};

struct parts_place {
	uint64_t at, n;
};

/* What a file is expected to be. */
struct parts_kind {
	const char *what; /* "a segment" */
	const char *magic;
	uint32_t version;
	unsigned parts; /* at most PARTS_MOST */
	size_t foot;    /* bytes of the foot, places included */
};

/* One that is open. */
struct part_file {
	struct page_file *file;
	char *path;
	struct parts_place part[PARTS_MOST];
	_Atomic(const uint8_t *) ready[PARTS_MOST]; /* parts that were read as a whole */
};

/* *ret_foot is at what follows the places. 1: there is no such file. After a failure *f is to be
 * closed too. */
int parts_open(struct part_file *f, const char *path, const struct parts_kind *kind,
	       struct reader *ret_foot, struct err *err);
void parts_close(struct part_file *f);
/* ERR_DAMAGED, with the path and what to do about it. */
int parts_damaged(const struct part_file *f, struct err *err, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* Bytes of a part; their pages are verified. */
int parts_bytes(const struct part_file *f, unsigned part, uint64_t from, uint64_t n,
		const uint8_t **ret, struct err *err);
/* A whole part, whose pages are verified once. */
int parts_whole_slowly(struct part_file *f, unsigned part, const uint8_t **ret, struct err *err);
static inline int parts_whole(struct part_file *f, unsigned part, const uint8_t **ret,
			      struct err *err)
{
	const uint8_t *p = atomic_load_explicit(&f->ready[part], memory_order_acquire);
	if (UNLIKELY(!p))
		return parts_whole_slowly(f, part, ret, err);
	*ret = p;
	return 0;
}

/* Writing: the head first, the places at the beginning of the foot. */
void parts_put_head(const struct parts_kind *kind, struct page_writer *out);
void parts_put_places(const struct parts_kind *kind, const struct parts_place *place,
		      struct buf *foot);

/* Numbers of an array in the file. */
static inline uint32_t load_u32(const uint8_t *p, size_t i)
{
	uint32_t v;
	memcpy(&v, p + 4 * i, sizeof v);
	return le32toh(v);
}
static inline uint64_t load_u64(const uint8_t *p, size_t i)
{
	uint64_t v;
	memcpy(&v, p + 8 * i, sizeof v);
	return le64toh(v);
}
/* The first 8 bytes of a text as a number with the same order. */
static inline uint64_t text_prefix(struct str text)
{
	uint64_t v = 0;
	if (text.n)
		memcpy(&v, text.p, MIN(text.n, sizeof v));
	return be64toh(v);
}
