/* A spool has one buffer that fills; when it is full it becomes a block, and a thread packs and
 * writes one block at a time. Buffers are small at first, so that many sets that begin cost little,
 * and grow with the set, since large pieces pack better.
 *
 * What the providers send faster than the disk takes it waits as blocks. Who may go on is asked
 * after every few kilobytes of input (uns_spool_has_room()), so at most that much more is added. */
#include "cache/uns/uns_spool.h"

#include "base/fault.h"
#include "base/file.h"

enum {
	PIECE_LEAST = 16 << 10,
	HEAD = 4, /* in the file, before a piece: its length */
	PACKED_MOST = 512 << 10,
};

struct block {
	struct link link;
	struct buf raw;
};

struct uns_spools {
	struct loop *loop;
	struct pool *pool;
	char *folder;
	uint64_t budget, held;
	struct link waiting; /* for the budget */
	struct loop_later wake;
};

struct uns_spool {
	struct uns_spools *all;
	void (*moved)(void *ctx);
	void *ctx;
	struct link waits; /* for the budget */
	bool wants;        /* to hear when it has moved */
	bool ended, freed, failed;
	struct buf filling;
	size_t piece;        /* bytes of notices that make a block */
	struct link blocks;  /* that wait */
	struct block *block; /* that a thread has; NULL: none */
	struct pool_job job;
	struct err err;
	/* The thread's, while it has a block. */
	int rc;
	struct err job_err;
	struct file file;
	uint64_t end; /* bytes of the file */
	uint64_t bytes;
	struct buf tail; /* packed, of a set that has no file */
};

static void waiting_wake(void *ctx)
{
	struct uns_spools *all = ctx;
	while (all->held <= all->budget / 2 && !list_is_empty(&all->waiting)) {
		struct uns_spool *s = LIST_FIRST(struct uns_spool, &all->waiting, waits);
		list_remove(&s->waits);
		s->moved(s->ctx);
	}
}

struct uns_spools *uns_spools_new(struct loop *loop, struct pool *pool, const char *folder,
				  uint64_t budget)
{
	struct uns_spools *all = mem_alloc(sizeof *all);
	all->loop = loop;
	all->pool = pool;
	all->folder = mem_text(folder);
	all->budget = budget;
	all->wake = (struct loop_later){.fn = waiting_wake, .ctx = all};
	list_init(&all->waiting);
	return all;
}

void uns_spools_free(struct uns_spools **all)
{
	if (!*all)
		return;
	loop_later_cancel(&(*all)->wake);
	mem_free(&(*all)->folder);
	mem_free(all);
}

uint64_t uns_spools_held(const struct uns_spools *s)
{
	return s->held;
}

struct uns_spool *uns_spool_new(struct uns_spools *all, void (*moved)(void *ctx), void *ctx)
{
	struct uns_spool *s = mem_alloc(sizeof *s);
	*s = (struct uns_spool){
		.all = all,
		.moved = moved,
		.ctx = ctx,
		.piece = PIECE_LEAST,
		.filling = BUF_INIT(NOTICE_PIECE + NOTICE_MOST),
		.tail = BUF_INIT(PACKED_MOST),
		.file = FILE_INIT,
	};
	list_init(&s->blocks);
	return s;
}

/* The thread. */

static int block_write(struct uns_spool *s, struct err *err)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(PACKED_MOST);
	put_u32le(&packed, 0);
	notice_pack(buf_str(&s->block->raw), &packed);
	ENSURE(!packed.over);
	uint32_t n = htole32((uint32_t)(packed.n - HEAD));
	memcpy(packed.p, &n, sizeof n);
	if (s->file.fd < 0 && file_temporary(&s->file, s->all->folder, err) < 0)
		return -1;
	FAULT("uns.spool");
	if (file_write(&s->file, packed.p, packed.n, s->end, err) < 0)
		return -1;
	s->end += packed.n;
	s->bytes += packed.n - HEAD;
	return 0;
}

static void block_free(struct uns_spool *s, struct block *b)
{
	s->all->held -= b->raw.n;
	buf_free(&b->raw);
	mem_free(&b);
}

static void spool_destroy(struct uns_spool *s)
{
	while (!list_is_empty(&s->blocks)) {
		struct block *b = LIST_FIRST(struct block, &s->blocks, link);
		list_remove(&b->link);
		block_free(s, b);
	}
	list_remove(&s->waits);
	buf_free(&s->filling);
	buf_free(&s->tail);
	file_drop(&s->file);
	mem_free(&s);
}

static void write_next(struct uns_spool *s);

/* In the loop, after the thread. */
static void block_written(void *ctx)
{
	struct uns_spool *s = ctx;
	struct uns_spools *all = s->all;
	block_free(s, s->block);
	s->block = NULL;
	bool fails = s->rc < 0 && !s->failed;
	if (fails) {
		s->failed = true;
		s->err = s->job_err;
	}
	if (!list_is_empty(&all->waiting))
		loop_later(all->loop, &all->wake);
	if (s->freed) {
		spool_destroy(s);
		return;
	}
	write_next(s);
	if (fails || (s->wants && (!s->block || (!s->ended && list_is_empty(&s->blocks))))) {
		s->wants = false;
		s->moved(s->ctx);
	}
}

static void job_run(struct pool_job *job)
{
	struct uns_spool *s = LIST_OF(struct uns_spool, job, job);
	s->rc = block_write(s, &s->job_err);
	loop_post(s->all->loop, block_written, s);
}

static void write_next(struct uns_spool *s)
{
	while (!s->block && !list_is_empty(&s->blocks)) {
		struct block *b = LIST_FIRST(struct block, &s->blocks, link);
		list_remove(&b->link);
		if (s->failed) {
			block_free(s, b);
			continue;
		}
		s->block = b;
		s->job = (struct pool_job){.run = job_run, .beyond = true};
		pool_post(s->all->pool, &s->job);
	}
}

void uns_spool_free(struct uns_spool **sp)
{
	struct uns_spool *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	s->freed = true;
	list_remove(&s->waits);
	if (!s->block)
		spool_destroy(s);
}

/* The loop. */

static void block_cut(struct uns_spool *s)
{
	struct block *b = mem_alloc(sizeof *b);
	b->raw = s->filling;
	s->filling = BUF_INIT(NOTICE_PIECE + NOTICE_MOST);
	s->all->held += b->raw.n;
	list_append(&s->blocks, &b->link);
	if (s->all->held < s->all->budget / 2)
		s->piece = MIN(2 * s->piece, (size_t)NOTICE_PIECE);
	else
		s->piece = PIECE_LEAST;
	write_next(s);
}

void uns_spool_add(struct uns_spool *s, const struct notice *n)
{
	if (s->failed)
		return;
	notice_write(n, &s->filling);
	if (s->filling.n >= s->piece)
		block_cut(s);
}

bool uns_spool_has_room(struct uns_spool *s)
{
	if (s->failed)
		return true; /* it is all the same */
	if (s->all->held > s->all->budget) {
		if (!list_has(&s->waits))
			list_append(&s->all->waiting, &s->waits);
		return false;
	}
	s->wants = s->block && !list_is_empty(&s->blocks);
	return !s->wants;
}

int uns_spool_end(struct uns_spool *s, struct err *err)
{
	if (s->filling.n && !s->block && s->end == 0) { /* `end` is the thread's while it has one */
		notice_pack(buf_str(&s->filling), &s->tail);
		s->bytes = s->tail.n;
		buf_free(&s->filling);
	} else if (s->filling.n) {
		block_cut(s);
	}
	s->ended = true;
	list_remove(&s->waits);
	s->wants = s->block;
	if (s->wants)
		return 1;
	return uns_spool_failed(s, err) ? -1 : 0;
}

bool uns_spool_failed(const struct uns_spool *s, struct err *err)
{
	if (s->failed)
		*err = s->err;
	return s->failed;
}

/* Reading. */

uint64_t uns_spool_bytes(const struct uns_spool *s)
{
	return s->bytes;
}

bool uns_spool_in_memory(const struct uns_spool *s)
{
	return s->end == 0;
}

static int piece_damaged(struct err *err)
{
	return err_set(err, ERR_DAMAGED, "a set that was spooled is not what was written");
}

int uns_spool_next(const struct uns_spool *s, uint64_t *at, struct buf *out, struct err *err)
{
	uint32_t n = 0;
	size_t got = 0;
	if (s->end == 0) {
		bool is_first = *at == 0 && s->tail.n;
		*at = 1;
		if (is_first)
			buf_add_str(out, buf_str(&s->tail));
		return is_first ? 0 : 1;
	}
	if (*at >= s->end)
		return 1;
	if (file_read(&s->file, &n, sizeof n, *at, &got, err) < 0)
		return -1;
	n = le32toh(n);
	if (got != sizeof n || n > PACKED_MOST || n > s->end - *at - HEAD)
		return piece_damaged(err);
	char *to = buf_room(out, n);
	ENSURE(to);
	if (file_read(&s->file, to, n, *at + HEAD, &got, err) < 0)
		return -1;
	if (got != n)
		return piece_damaged(err);
	buf_grew(out, n);
	*at += HEAD + n;
	return 0;
}
