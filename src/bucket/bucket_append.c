#include "base/fault.h"
#include "bucket/bucket_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

/* Fewer bytes than this go through the page cache at a sync, where they are read again soon. */
enum { TAIL_PIECE = STREAM_PIECE, DIRECT_LEAST = 64 << 10 };

static uint64_t block_of(uint64_t at)
{
	return at / STREAM_BLOCK * STREAM_BLOCK;
}

uint64_t bucket_length(const struct buckets *b)
{
	return b->tail ? b->tail->base + b->tail->n : b->size;
}

void bucket_tail_free(struct buckets *b)
{
	struct bucket_tail *t = b->tail;
	if (!t)
		return;
	b->size = t->base + t->n;
	file_drop(&t->direct);
	free(t->piece);
	mem_free(&b->tail);
}

/* Where the end is in a block, the block is taken into memory. Until it is there, all that is kept
 * is read from the file. */
static int tail_load_end(struct buckets *b, struct bucket_tail *t, struct err *err)
{
	uint64_t base = block_of(b->size);
	size_t n = (size_t)(b->size - base), got;
	t->base = t->flushed = b->size;
	t->n = 0;
	if (file_read(&b->file, t->piece, n, base, &got, err) < 0)
		return -1;
	if (got < n)
		return err_set(err, ERR_DAMAGED, "%s: ends at %" PRIu64 ", expected %" PRIu64,
			       b->file.path, base + got, b->size);
	t->base = base;
	t->n = n;
	return 0;
}

static int tail_open_direct(struct buckets *b, struct bucket_tail *t, struct err *err)
{
	t->direct = FILE_INIT;
	if (b->buffered)
		return 0;
	if (bucket_reopen(&b->file, O_WRONLY, &t->direct, err) < 0)
		return -1;
	int rc = file_direct(&t->direct, true, err);
	if (rc != 0)
		file_drop(&t->direct);
	return rc < 0 ? rc : 0;
}

static int tail_start(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = mem_alloc(sizeof *t);
	t->direct = FILE_INIT;
	t->piece = aligned_alloc(STREAM_BLOCK, TAIL_PIECE);
	if (!t->piece)
		die("out of memory (%d bytes wanted to append buckets)", TAIL_PIECE);
	if (tail_open_direct(b, t, err) < 0 || tail_load_end(b, t, err) < 0) {
		file_drop(&t->direct);
		free(t->piece);
		mem_free(&t);
		return -1;
	}
	b->tail = t;
	return 0;
}

/* What is known to be on disk stays, all else goes; nobody knows what of it was written. As long as
 * even that is refused, so is everything else. */
static int tail_give_up(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = b->tail;
	struct err why = t->err;
	uint64_t lost = t->base + t->n - b->durable;
	FAULT("bucket.giveup");
	if (file_truncate(&b->file, b->durable, err) < 0 || file_sync(&b->file, err) < 0)
		return err_in(err, "%s: cannot be cut back to the last checkpoint", b->file.path);
	b->size = b->durable;
	if (tail_load_end(b, t, err) < 0)
		return -1;
	t->rc = 0;
	*err = why;
	return err_in(err, "%" PRIu64 " bytes of buckets since the last checkpoint are not kept",
		      lost);
}

static int tail_ready(struct buckets *b, struct err *err)
{
	ENSURE(b->mode >= BUCKET_APPEND);
	if (!b->tail)
		return tail_start(b, err);
	return b->tail->rc < 0 ? tail_give_up(b, err) : 0;
}

/* Whole blocks, past the page cache where that can be. Some file systems take the flag and refuse
 * the write. */
static int tail_write_blocks(struct buckets *b, size_t n, struct err *err)
{
	struct bucket_tail *t = b->tail;
	if (t->direct.fd >= 0) {
		int rc = file_write(&t->direct, t->piece, n, t->base, err);
		if (rc == 0 || err->sys_errno != EINVAL)
			return rc;
		file_drop(&t->direct);
	}
	return file_write(&b->file, t->piece, n, t->base, err);
}

/* After a failure the piece stays where it is: what was appended before can still be read. */
static void tail_write_piece(struct buckets *b)
{
	struct bucket_tail *t = b->tail;
	FAULT("bucket.write");
	t->rc = tail_write_blocks(b, TAIL_PIECE, &t->err);
	if (t->rc < 0)
		return;
	t->base += TAIL_PIECE;
	t->flushed = t->base;
	t->n = 0;
}

/* n bytes; NULL: zeroes. Nothing any more after a failure. */
static void tail_put(struct buckets *b, const char *p, size_t n)
{
	struct bucket_tail *t = b->tail;
	while (n && t->rc == 0) {
		size_t part = MIN(n, TAIL_PIECE - t->n);
		if (p) {
			memcpy(t->piece + t->n, p, part);
			p += part;
		} else {
			memset(t->piece + t->n, 0, part);
		}
		t->n += part;
		n -= part;
		if (t->n == TAIL_PIECE)
			tail_write_piece(b);
	}
}

static int append_fits(struct buckets *b, size_t n, struct err *err)
{
	if (n > BUCKET_DATA_MOST)
		return err_set(err, ERR_USAGE, "%s: a bucket of %zu bytes; at most %d are taken",
			       b->file.path, n, BUCKET_DATA_MOST);
	if (bucket_length(b) >> b->shift >= BUCKET_SPECIAL)
		return err_set(err, ERR_USAGE,
			       "%s: %" PRIu64
			       " bytes are all that a shift of %u can number; shake it "
			       "down, or take a larger shift",
			       b->file.path, bucket_length(b), b->shift);
	return 0;
}

int bucket_append(struct buckets *b, uint32_t type, struct str data, uint32_t *ret_oid,
		  struct err *err)
{
	if (tail_ready(b, err) < 0 || append_fits(b, data.n, err) < 0)
		return -1;
	uint64_t at = bucket_length(b);
	struct bucket_head head = {BUCKET_MAGIC, (uint32_t)(at >> b->shift), (uint32_t)data.n,
				   type};
	char around[BUCKET_HEAD];
	bucket_head_make(&head, around);
	tail_put(b, around, BUCKET_HEAD);
	tail_put(b, data.p, data.n);
	tail_put(b, NULL, (size_t)bucket_total(b->shift, head.length) - BUCKET_FRAME - data.n);
	bucket_word_put(around, BUCKET_TRAILER);
	tail_put(b, around, 4);
	if (b->tail->rc < 0)
		return tail_give_up(b, err);
	*ret_oid = head.oid;
	return 0;
}

/* Whole blocks directly where there are many of them, the rest through the page cache. Then only
 * the last block, if it is not a whole one, stays at hand. */
static int tail_write_end(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = b->tail;
	size_t whole = t->n / STREAM_BLOCK * STREAM_BLOCK, from = (size_t)(t->flushed - t->base);
	if (t->direct.fd >= 0 && whole >= DIRECT_LEAST) {
		if (tail_write_blocks(b, whole, err) < 0)
			return -1;
		from = whole;
	}
	if (from < t->n &&
	    file_write(&b->file, t->piece + from, t->n - from, t->base + from, err) < 0)
		return -1;
	memmove(t->piece, t->piece + whole, t->n - whole);
	t->base += whole;
	t->n -= whole;
	t->flushed = t->base + t->n;
	return 0;
}

int bucket_flush(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = b->tail;
	if (!t)
		return 0;
	FAULT("bucket.flush");
	if (t->rc == 0 && t->flushed < t->base + t->n)
		t->rc = tail_write_end(b, &t->err);
	if (t->rc < 0)
		*err = t->err; /* the next append or sync tells what it means */
	return t->rc;
}

int bucket_sync(struct buckets *b, uint64_t *ret_length, struct err *err)
{
	if (tail_ready(b, err) < 0)
		return -1;
	struct bucket_tail *t = b->tail;
	if (bucket_flush(b, err) == 0) {
		FAULT("bucket.sync");
		t->rc = file_sync(&b->file, &t->err);
	}
	if (t->rc < 0)
		return tail_give_up(b, err);
	FAULT("bucket.synced");
	b->durable = bucket_length(b);
	if (ret_length)
		*ret_length = b->durable;
	return 0;
}

int bucket_fetch(struct buckets *b, uint64_t at, char *p, size_t n, struct err *err)
{
	struct bucket_tail *t = b->tail;
	size_t from_file = n, got = 0;
	if (t && at + n > t->base) {
		uint64_t in_file = at < t->base ? t->base - at : 0;
		from_file = (size_t)MIN(in_file, n);
		if (from_file < n)
			memcpy(p + from_file, t->piece + (at + from_file - t->base), n - from_file);
	}
	if (from_file && file_read(&b->file, p, from_file, at, &got, err) < 0)
		return -1;
	if (got < from_file)
		return err_set(err, ERR_DAMAGED, "%s: ends at %" PRIu64 ", was longer before",
			       b->file.path, at + got);
	return 0;
}

/* A write that fails may have changed some of the four bytes. */
static int blot_file(struct buckets *b, uint64_t at, const char oid[4], struct err *err)
{
	struct err ignored;
	char was[4];
	if (file_write(&b->file, oid, 4, at + 4, err) == 0)
		return 0;
	bucket_word_put(was, (uint32_t)(at >> b->shift));
	(void)file_write(&b->file, was, sizeof was, at + 4, &ignored);
	return -1;
}

int bucket_blot(struct buckets *b, uint64_t at, struct err *err)
{
	char oid[4];
	struct bucket_tail *t = b->tail;
	bucket_word_put(oid, BUCKET_DELETED);
	FAULT("bucket.delete");
	uint64_t in_file = t ? t->flushed : b->size;
	if (at < in_file && blot_file(b, at, oid, err) < 0)
		return -1;
	if (t && at >= t->base)
		memcpy(t->piece + (at + 4 - t->base), oid, sizeof oid);
	return 0;
}
