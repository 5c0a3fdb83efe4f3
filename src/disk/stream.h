/* Streams: large files read or written from one end to the other, in pieces of 1 MiB that go past
 * the page cache (O_DIRECT) with read-ahead and write-behind in a thread; through the page cache
 * where the file system refuses. The first error is kept and said once: by the read that meets it,
 * by stream_finish() of a writer. A stream belongs to one thread. */
#pragma once
#include "base/file.h"

enum {
	STREAM_PIECE = 1 << 20,
	STREAM_BLOCK = 4096,          /* pieces are multiples of it */
	STREAM_SLOTS = 4,             /* pieces of memory that a stream holds, at most */
	STREAM_RECORD_MAX = 64 << 20, /* the most that one stream_read() may ask for */
};

struct pool;
struct stream_options {
	size_t piece;      /* 0: STREAM_PIECE; a multiple of STREAM_BLOCK */
	struct pool *pool; /* of stream_pool, shared with other streams; NULL: one of its own */
	bool buffered;     /* through the page cache in any case */
};

/* How a pool for streams is made: one thread, any number of transfers. */
extern const struct pool_options stream_pool;

/* A reader. */
struct stream_reader {
	const char *p, *end; /* the current piece */
	struct stream_in *in;
};

/* A part of a file that the caller keeps open (by file_open(), made direct with file_direct() or
 * not) while the reader lives. With a direct file, `from` and the file's size are multiples of
 * STREAM_BLOCK. */
int stream_open_part(struct stream_reader *ret, const struct file *file, uint64_t from, uint64_t n,
		     const struct stream_options *options, struct err *err);
/* Reads bytes in memory, which the caller still owns. */
static inline struct stream_reader stream_over(struct str bytes)
{
	return (struct stream_reader){.p = bytes.p, .end = bytes.p + bytes.n};
}
void stream_close(struct stream_reader *r); /* also of a closed one */

uint64_t stream_left(const struct stream_reader *r); /* bytes not yet read */
size_t stream_piece(const struct stream_reader *r);  /* bytes in a piece */

int stream_read_slowly(struct stream_reader *r, size_t n, struct str *ret, struct err *err);

/* Returns the next n bytes in one place, valid until the second read after this one if no read asks
 * for more than a piece. 1: the end (never for n = 0). Negative: also if fewer than n are left
 * (ERR_DAMAGED). */
static inline int stream_read(struct stream_reader *r, size_t n, struct str *ret, struct err *err)
{
	if (UNLIKELY(n > (size_t)(r->end - r->p)))
		return stream_read_slowly(r, n, ret, err);
	*ret = (struct str){r->p, n};
	r->p += n;
	return 0;
}
/* A writer. */
struct stream_writer {
	char *p, *end; /* what is free in the current piece */
	struct stream_out *out;
};

/* Makes the file or empties it. */
int stream_create(struct stream_writer *ret, const char *path, mode_t mode,
		  const struct stream_options *options, struct err *err);
/* Writes to an open, empty file. The writer owns and closes it unless `keep` is set. */
int stream_create_in(struct stream_writer *ret, struct file *file, bool keep,
		     const struct stream_options *options, struct err *err);

void stream_put_slowly(struct stream_writer *w, const void *p, size_t n);

static inline void stream_put(struct stream_writer *w, const void *p, size_t n)
{
	if (UNLIKELY(n > (size_t)(w->end - w->p))) {
		stream_put_slowly(w, p, n);
		return;
	}
	if (n)
		memcpy(w->p, p, n);
	w->p += n;
}
/* Returns n bytes for the caller to fill, followed by stream_grew(); NULL: the current piece has no
 * room for them, use stream_put(). */
static inline char *stream_room(const struct stream_writer *w, size_t n)
{
	return n <= (size_t)(w->end - w->p) ? w->p : NULL;
}
static inline void stream_grew(struct stream_writer *w, size_t n)
{
	w->p += n;
}
/* Zeroes up to the next multiple of STREAM_BLOCK. */
void stream_pad(struct stream_writer *w);
uint64_t stream_written(const struct stream_writer *w); /* bytes put */
/* Whether a write has failed, so that a long pass can stop early. */
bool stream_failed(const struct stream_writer *w);

/* Waits for all writes and ends the writer. 0: every byte was written, with sync it is on disk.
 * After a failure the file is unusable. */
int stream_finish(struct stream_writer *w, bool sync, struct err *err);
void stream_drop(struct stream_writer *w); /* gives up the file; safe to call twice */
