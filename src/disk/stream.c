/* Streams: a ring of pieces, each with a transfer that a thread does while the others are used.
 * A caller that has to wait for a transfer does queued ones itself (pool_wait()), so that
 * two are under way while there is nothing else to do. Several streams may share a thread:
 * transfers then begin in the order in which they were asked for. */
#include "disk/stream.h"

#include "base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

const struct pool_options stream_pool = {.threads = 1};

/* A piece on its way between memory and the file. */
struct transfer {
	struct pool_job job;
	const struct file *file;
	void *p;
	uint64_t at;
	size_t n;
	size_t done_n; /* a read may be shorter at the end of the file */
	bool write;
	int rc;
	struct err err; /* when rc is negative */
};

/* What readers and writers share: the file, the thread for transfers, and a ring of pieces. */
struct ring {
	struct file own; /* closed when the file is the caller's */
	const struct file *file;
	struct pool *pool, *own_pool;
	bool direct;
	size_t piece;
	char *memory[STREAM_SLOTS]; /* a piece each, or NULL: a small file needs one */
	struct transfer transfer[STREAM_SLOTS];
	unsigned at; /* the current slot */
};

static int transfer_once(struct transfer *t)
{
	if (t->write)
		return file_write(t->file, t->p, t->n, t->at, &t->err);
	return file_read(t->file, t->p, t->n, t->at, &t->done_n, &t->err);
}

/* Some file systems take the flag and refuse the transfer. */
static void transfer_run(struct pool_job *job)
{
	struct transfer *t = LIST_OF(struct transfer, job, job);
	struct err ignored;
	t->rc = transfer_once(t);
	if (t->rc < 0 && t->err.sys_errno == EINVAL && file_direct(t->file, false, &ignored) == 0)
		t->rc = transfer_once(t);
}

/* Returns the transfer of a slot when it is not under way: its rc and done_n are good, and its
 * piece is ours again. */
static struct transfer *transfer_wait(struct ring *g, unsigned slot)
{
	struct transfer *t = &g->transfer[slot];
	if (t->job.run) /* it was posted once */
		pool_wait(g->pool, &t->job);
	return t;
}

static void transfer_post(struct ring *g, struct transfer *t)
{
	t->job = (struct pool_job){.run = transfer_run, .kept = true};
	pool_post(g->pool, &t->job);
}

/* The memory of a slot, from its first use on. */
static char *ring_slot(struct ring *g, unsigned slot)
{
	if (!g->memory[slot])
		g->memory[slot] = aligned_alloc(STREAM_BLOCK, g->piece);
	if (!g->memory[slot])
		die("out of memory (%zu bytes wanted for a stream)", g->piece);
	return g->memory[slot];
}

static int ring_init(struct ring *g, const struct stream_options *options, struct err *err)
{
	g->piece = options && options->piece ? options->piece : STREAM_PIECE;
	ENSURE(g->piece % STREAM_BLOCK == 0);
	g->pool = options ? options->pool : NULL;
	if (!g->pool) {
		if (pool_new(&g->own_pool, &stream_pool, err) < 0)
			return -1;
		g->pool = g->own_pool;
	}
	return 0;
}

static void ring_settle(struct ring *g)
{
	for (unsigned i = 0; g->pool && i < STREAM_SLOTS; i++)
		transfer_wait(g, i);
}

static void ring_free(struct ring *g)
{
	ring_settle(g);
	pool_free(&g->own_pool);
	file_drop(&g->own);
	for (unsigned i = 0; i < STREAM_SLOTS; i++)
		free(g->memory[i]);
}

static int ring_go_direct(struct ring *g, const struct stream_options *options, struct err *err)
{
	if (options && options->buffered)
		return 0;
	int rc = file_direct(g->file, true, err);
	if (rc < 0)
		return rc;
	g->direct = rc == 0;
	return 0;
}

struct stream_in {
	struct ring ring;
	uint64_t next, end;  /* what to ask for next; where the part ends */
	uint64_t size;       /* of the file */
	uint64_t beyond;     /* bytes of the part after the current piece */
	size_t skip;         /* bytes before the part in its first block */
	bool started, again; /* there is a current piece; and one before it */
	char *joined[2];     /* where bytes of several pieces are put together, in turn */
	unsigned turn;
	int rc; /* the first failure */
	struct err err;
};

/* Asks for the next piece, unless there is none. A last block that is not a whole one cannot be
 * read directly: from there on it goes through the page cache. */
static int reader_ask(struct stream_in *in, unsigned slot, struct err *err)
{
	struct transfer *t = &in->ring.transfer[slot];
	uint64_t n = MIN(in->ring.piece, in->end - in->next);
	uint64_t whole = (n + STREAM_BLOCK - 1) / STREAM_BLOCK * STREAM_BLOCK;
	if (in->ring.direct && n < whole) {
		if (whole <= in->size - in->next)
			n = whole;
		else if (file_direct(in->ring.file, false, err) < 0)
			return -1;
	}
	*t = (struct transfer){.file = in->ring.file, .n = (size_t)n, .at = in->next};
	if (n == 0)
		return 0;
	t->p = ring_slot(&in->ring, slot);
	in->next = MIN(in->next + n, in->end);
	transfer_post(&in->ring, t);
	return 0;
}

static int reader_start(struct stream_in *in, uint64_t from, uint64_t n, struct err *err)
{
	ENSURE(from <= in->size && n <= in->size - from);
	in->skip = (size_t)(from % STREAM_BLOCK);
	in->next = from - in->skip;
	in->end = from + n;
	in->beyond = n;
	in->ring.at = STREAM_SLOTS - 1;
	for (unsigned i = 0; i < STREAM_SLOTS; i++)
		if (reader_ask(in, i, err) < 0)
			return -1;
	return 0;
}

static void reader_free(struct stream_in *in)
{
	ring_free(&in->ring);
	mem_free(&in->joined[0]);
	mem_free(&in->joined[1]);
	mem_free(&in);
}

int stream_open_part(struct stream_reader *ret, const struct file *file, uint64_t from, uint64_t n,
		     const struct stream_options *options, struct err *err)
{
	struct stream_in *in = mem_alloc(sizeof *in);
	in->ring.own = FILE_INIT;
	in->ring.file = file;
	int flags = fcntl(file->fd, F_GETFL);
	in->ring.direct = flags >= 0 && (flags & O_DIRECT);
	if (file_size(file, &in->size, err) < 0 || ring_init(&in->ring, options, err) < 0 ||
	    reader_start(in, from, n, err) < 0) {
		reader_free(in);
		return -1;
	}
	*ret = (struct stream_reader){.in = in};
	return 0;
}

void stream_close(struct stream_reader *r)
{
	if (r->in)
		reader_free(r->in);
	*r = (struct stream_reader){0};
}

uint64_t stream_left(const struct stream_reader *r)
{
	return (uint64_t)(r->end - r->p) + (r->in ? r->in->beyond : 0);
}

/* The first failure stays: what follows it cannot be told apart from what should have been there.
 */
static int reader_fails(struct stream_reader *r, const struct err *why)
{
	r->in->rc = -1;
	r->in->err = *why;
	r->p = r->end;
	return -1;
}

/* Moves on to the next piece; the one before stays as it is until the next move, because what was
 * read last may lie in it. There is a next piece. */
static int reader_next_piece(struct stream_reader *r)
{
	struct stream_in *in = r->in;
	unsigned before = (in->ring.at + STREAM_SLOTS - 1) % STREAM_SLOTS;
	struct err err;
	if (in->again && reader_ask(in, before, &err) < 0)
		return reader_fails(r, &err);
	in->again = in->started;
	in->started = true;
	in->ring.at = (in->ring.at + 1) % STREAM_SLOTS;
	const struct transfer *t = transfer_wait(&in->ring, in->ring.at);
	if (t->rc < 0)
		return reader_fails(r, &t->err);
	if (t->done_n < t->n) {
		err_set(&err, ERR_DAMAGED,
			"%s: ends at %" PRIu64 ", although it was longer when it was opened",
			in->ring.file->path, t->at + t->done_n);
		return reader_fails(r, &err);
	}
	r->p = (char *)t->p + in->skip;
	uint64_t n = MIN(t->n - in->skip, in->beyond);
	r->end = r->p + n;
	in->skip = 0;
	in->beyond -= n;
	return 0;
}

/* n bytes out of several pieces. */
static int reader_join(struct stream_reader *r, size_t n, struct str *ret)
{
	struct stream_in *in = r->in;
	unsigned turn = in->turn ^= 1;
	char *to = in->joined[turn] = mem_resize(in->joined[turn], n);
	for (size_t got = 0; got < n;) {
		if (r->p == r->end && reader_next_piece(r) < 0)
			return -1;
		size_t part = MIN(n - got, (size_t)(r->end - r->p));
		memcpy(to + got, r->p, part);
		r->p += part;
		got += part;
	}
	*ret = (struct str){to, n};
	return 0;
}

static int reader_read_across(struct stream_reader *r, size_t n, struct str *ret)
{
	uint64_t left = stream_left(r);
	if (r->in->rc == 0 && left == 0)
		return 1;
	if (r->in->rc == 0 && (n > STREAM_RECORD_MAX || n > left)) {
		struct err err;
		err_set(&err, ERR_DAMAGED,
			"%s: %zu bytes are wanted where %" PRIu64
			" are left (and at most %d are taken at once)",
			r->in->ring.file->path, n, left, STREAM_RECORD_MAX);
		return reader_fails(r, &err);
	}
	if (r->in->rc < 0 || (r->p == r->end && reader_next_piece(r) < 0))
		return -1;
	if (n > (size_t)(r->end - r->p))
		return reader_join(r, n, ret);
	*ret = (struct str){r->p, n};
	r->p += n;
	return 0;
}

static int reader_past_memory(const struct stream_reader *r, size_t n, struct err *err)
{
	if (r->p == r->end)
		return 1;
	return err_set(err, ERR_DAMAGED, "memory: %zu bytes are wanted where %zu are left", n,
		       (size_t)(r->end - r->p));
}

int stream_read_slowly(struct stream_reader *r, size_t n, struct str *ret, struct err *err)
{
	if (!r->in)
		return reader_past_memory(r, n, err);
	int rc = reader_read_across(r, n, ret);
	if (rc < 0)
		*err = r->in->err;
	return rc;
}

size_t stream_piece(const struct stream_reader *r)
{
	return r->in ? r->in->ring.piece : SIZE_MAX;
}

struct stream_out {
	struct ring ring;
	bool keep;
	uint64_t offset; /* where the current piece goes */
	int rc;          /* the first failure */
	struct err err;
};

static void writer_free(struct stream_out *out)
{
	ring_free(&out->ring);
	mem_free(&out);
}

static void writer_current_piece(struct stream_writer *w)
{
	w->p = ring_slot(&w->out->ring, w->out->ring.at);
	w->end = w->p + w->out->ring.piece;
}

int stream_create_in(struct stream_writer *ret, struct file *file, bool keep,
		     const struct stream_options *options, struct err *err)
{
	struct stream_out *out = mem_alloc(sizeof *out);
	out->ring.own = FILE_INIT;
	out->ring.file = file;
	out->keep = keep;
	if (ring_go_direct(&out->ring, options, err) < 0 ||
	    ring_init(&out->ring, options, err) < 0) {
		writer_free(out);
		return -1;
	}
	if (!keep) {
		out->ring.own = *file;
		out->ring.file = &out->ring.own;
		*file = FILE_INIT;
	}
	*ret = (struct stream_writer){.out = out};
	writer_current_piece(ret);
	return 0;
}

int stream_create(struct stream_writer *ret, const char *path, mode_t mode,
		  const struct stream_options *options, struct err *err)
{
	struct file file = FILE_INIT;
	int rc = file_open(&file, path, O_WRONLY | O_CREAT | O_TRUNC, mode, err);
	if (rc == 0)
		rc = stream_create_in(ret, &file, false, options, err);
	file_drop(&file);
	return rc;
}

/* After the first failure nothing more is written. */
static void writer_note_failure(struct stream_out *out, const struct transfer *t)
{
	if (t->rc < 0 && out->rc == 0) {
		out->rc = t->rc;
		out->err = t->err;
	}
}

static void writer_post_piece(struct stream_writer *w)
{
	struct stream_out *out = w->out;
	struct transfer *t = &out->ring.transfer[out->ring.at];
	char *bytes = ring_slot(&out->ring, out->ring.at);
	*t = (struct transfer){.file = out->ring.file,
			       .p = bytes,
			       .n = (size_t)(w->p - bytes),
			       .at = out->offset,
			       .write = true};
	out->offset += t->n;
	if (out->rc == 0)
		transfer_post(&out->ring, t);
	out->ring.at = (out->ring.at + 1) % STREAM_SLOTS;
	writer_note_failure(out, transfer_wait(&out->ring, out->ring.at));
}

void stream_put_slowly(struct stream_writer *w, const void *p, size_t n)
{
	const char *from = p;
	while (n) {
		if (w->p == w->end) {
			writer_post_piece(w);
			writer_current_piece(w);
		}
		size_t part = MIN(n, (size_t)(w->end - w->p));
		memcpy(w->p, from, part);
		w->p += part;
		from += part;
		n -= part;
	}
}

void stream_pad(struct stream_writer *w)
{
	size_t over = (size_t)(w->p - ring_slot(&w->out->ring, w->out->ring.at)) % STREAM_BLOCK;
	if (over == 0)
		return;
	memset(w->p, 0, STREAM_BLOCK - over);
	w->p += STREAM_BLOCK - over;
}

uint64_t stream_written(const struct stream_writer *w)
{
	struct stream_out *out = w->out;
	return out->offset + (uint64_t)(w->p - ring_slot(&out->ring, out->ring.at));
}

bool stream_failed(const struct stream_writer *w)
{
	return w->out->rc < 0;
}

static void writer_settle(struct stream_out *out)
{
	ring_settle(&out->ring);
	for (unsigned i = 0; i < STREAM_SLOTS; i++)
		writer_note_failure(out, &out->ring.transfer[i]);
}

/* What is left may not be a whole block: then it goes through the page cache. */
static int writer_write_rest(struct stream_writer *w, struct err *err)
{
	struct stream_out *out = w->out;
	size_t n = (size_t)(w->p - ring_slot(&out->ring, out->ring.at));
	writer_settle(out);
	if (out->rc == 0 && out->ring.direct && n % STREAM_BLOCK &&
	    file_direct(out->ring.file, false, err) < 0)
		return -1;
	if (n)
		writer_post_piece(w);
	writer_settle(out);
	if (out->rc < 0)
		*err = out->err;
	return out->rc;
}

int stream_finish(struct stream_writer *w, bool sync, struct err *err)
{
	struct stream_out *out = w->out;
	int rc = writer_write_rest(w, err);
	if (rc == 0 && sync)
		rc = file_sync(out->ring.file, err);
	if (rc == 0 && !out->keep)
		rc = file_close(&out->ring.own, err);
	stream_drop(w);
	return rc;
}

void stream_drop(struct stream_writer *w)
{
	if (w->out)
		writer_free(w->out);
	*w = (struct stream_writer){0};
}
