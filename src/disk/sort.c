/* The external sorter: batches of records in memory (disk/sort_batch_inner.h) become runs in a
 * temporary file, runs become fewer runs until one merge can take all of them, and the last merge
 * is read out record by record. With enough memory a run is written by a thread while the next
 * batch is collected. */
#include "disk/sort.h"

#include "base/pool.h"
#include "base/vec.h"
#include "disk/merge_tree_inner.h"
#include "disk/sort_batch_inner.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	PIECE_SHARE = 64,       /* of the memory in one piece of a stream */
	FAN_MOST = 512,         /* runs that are merged at once */
	THREAD_FROM = 8 << 20,  /* memory from which on runs are written while the next is added */
	REPORT_EVERY = 1 << 18, /* records */
};

/* The file of a pass; closed when its last run is gone. */
struct spill {
	struct file file;
	size_t runs;
};

struct run {
	struct spill *spill;
	uint64_t from, n; /* bytes */
};

/* Several runs as one. */
struct joint {
	struct pool *pool; /* reads all of them */
	struct stream_reader *reader;
	struct stream_reader **readers;
	size_t n;
	struct merge *merge;
};

struct unify {
	struct buf held, given;
	bool some;
	order_head head; /* of what is held */
	size_t longest;  /* that was made */
};

struct feed {
	int (*next)(void *from, struct str *ret, struct err *err);
	void *from;
};

struct sort {
	struct sort_spec spec;
	struct order order;
	size_t memory, piece, record_max;
	size_t longest; /* record that was added */
	const struct batch_ops *ops;
	void *batch;
	bool exact, giving;                     /* giving: nothing is added any more */
	uint64_t added, spilled, merged, given; /* records; merged: in this pass */

	struct spill *spill; /* where runs are written now */
	struct stream_writer out;
	struct run *run;
	size_t nruns, cap;
	struct pool *pool; /* one thread, which writes runs while the next batch is collected */
	struct pool_job run_job;
	int run_rc; /* of the run that is being written; good after sort_settle() */
	struct err run_err;
	int rc; /* the first failure */
	struct err err;

	struct joint joint;
	struct feed feed; /* what sort_next() gives from */
	struct unify unify;
};

static size_t sort_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static void run_write(struct pool_job *job);

/* The largest power of two that is a fair share of the memory. */
static size_t sort_piece_for(size_t memory)
{
	size_t piece = STREAM_BLOCK;
	while (piece < STREAM_PIECE && piece * 2 <= memory / PIECE_SHARE)
		piece *= 2;
	return piece;
}

int sort_new(struct sort **ret, const struct sort_spec *spec, struct err *err)
{
	if (spec->order.size > SORT_SIZE_MAX)
		return err_set(err, ERR_USAGE, "sort: records of %zu bytes, at most %d are taken",
			       spec->order.size, SORT_SIZE_MAX);
	struct sort *s = mem_alloc(sizeof *s);
	s->spec = *spec;
	s->run_job = (struct pool_job){.run = run_write, .kept = true};
	s->order = order_checked(&spec->order);
	s->exact = order_exact(&s->order);
	size_t least = SORT_MEMORY_MIN + 128 * s->order.size;
	s->memory = (size_t)MAX(spec->memory, (uint64_t)least);
	s->piece = sort_piece_for(s->memory);
	s->record_max =
		s->order.size ? s->order.size : MIN(s->memory / 32, (size_t)STREAM_RECORD_MAX / 2);
	s->unify.held = s->unify.given = BUF_INIT(s->record_max);
	s->ops = s->order.size && !s->order.compare ? &sort_radix : &sort_pointers;
	s->batch = s->ops->new (&s->order, s->memory - STREAM_SLOTS * s->piece);
	*ret = s;
	return 0;
}

static void sort_report(const struct sort *s, enum sort_phase phase, uint64_t done, uint64_t total)
{
	if (s->spec.progress)
		s->spec.progress(s->spec.ctx,
				 &(struct sort_progress){phase, done, total, s->nruns});
}

/* Runs and their files. */

static void spill_unref(struct spill *p)
{
	if (!p || --p->runs)
		return;
	file_drop(&p->file);
	mem_free(&p);
}

/* A writer counts as a run, so that the file stays open. */
static int spill_begin(struct sort *s, size_t piece, struct err *err)
{
	struct file file = FILE_INIT;
	if (file_temporary(&file, s->spec.folder, err) < 0)
		return -1;
	struct spill *p = mem_alloc(sizeof *p);
	*p = (struct spill){.file = file, .runs = 1};
	struct stream_options options = {.piece = piece};
	if (stream_create_in(&s->out, &p->file, true, &options, err) < 0) {
		spill_unref(p);
		return -1;
	}
	s->spill = p;
	return 0;
}

static int spill_end(struct sort *s, struct err *err)
{
	int rc = s->out.out ? stream_finish(&s->out, false, err) : 0;
	spill_unref(s->spill);
	s->spill = NULL;
	return rc;
}

static struct run run_begin(struct sort *s)
{
	return (struct run){.spill = s->spill, .from = stream_written(&s->out)};
}

static void run_end(struct sort *s, struct run *r)
{
	r->n = stream_written(&s->out) - r->from;
	r->spill->runs++;
	stream_pad(&s->out);
}

/* Equal keys become one. */

static void unify_hold(struct sort *s, struct str rec, order_head head)
{
	buf_clear(&s->unify.held);
	buf_add_str(&s->unify.held, rec);
	s->unify.head = head;
	s->unify.some = true;
}

static bool unify_same_key(const struct sort *s, struct str rec, order_head head)
{
	return head == s->unify.head &&
	       (s->exact || order_compare(&s->order, buf_str(&s->unify.held), rec) == 0);
}

static int unify_add(struct sort *s, struct str rec, struct err *err)
{
	struct buf *held = &s->unify.held;
	s->spec.unify(s->spec.ctx, held, rec);
	if (held->over || (s->order.size && held->n != s->order.size))
		return err_set(err, ERR_USAGE,
			       "sort: unifying made a record of %zu bytes%s, at most %zu are taken",
			       held->n, held->over ? " or more" : "", s->record_max);
	s->unify.longest = MAX(s->unify.longest, held->n);
	return 0;
}

static int unify_next(struct sort *s, const struct feed *feed, struct str *ret, struct err *err)
{
	struct unify *u = &s->unify;
	for (;;) {
		struct str rec;
		int rc = feed->next(feed->from, &rec, err);
		if (rc < 0 || (rc == 1 && !u->some))
			return rc;
		order_head head = rc == 0 ? order_head_of(&s->order, rec) : 0;
		if (rc == 0 && u->some && unify_same_key(s, rec, head)) {
			if (unify_add(s, rec, err) < 0)
				return -1;
			continue;
		}
		bool give = u->some;
		struct buf swap = u->given;
		u->given = u->held;
		u->held = swap;
		u->some = false;
		if (rc == 0)
			unify_hold(s, rec, head);
		if (give) {
			*ret = buf_str(&u->given);
			return 0;
		}
	}
}

/* Everything into a stream, counted. In SORT_ADDING nothing is reported, since that is not the
 * caller's thread. */
static int sort_pour(struct sort *s, const struct feed *feed, struct stream_writer *out,
		     enum sort_phase phase, uint64_t *count, struct err *err)
{
	struct str rec;
	int rc;
	uint64_t n = *count;
	while ((rc = s->spec.unify ? unify_next(s, feed, &rec, err)
				   : feed->next(feed->from, &rec, err)) == 0) {
		sort_put(&s->order, out, rec);
		if (LIKELY(++n % REPORT_EVERY))
			continue;
		if (stream_failed(out))
			break;
		if (phase != SORT_ADDING)
			sort_report(s, phase, n, s->added);
	}
	*count = n;
	return MIN(rc, 0);
}

/* From memory to a run. */

static void run_write(struct pool_job *job)
{
	struct sort *s = LIST_OF(struct sort, job, run_job);
	struct run r = run_begin(s);
	const struct feed feed = {s->ops->next, s->batch};
	uint64_t n = 0;
	s->run_rc = sort_pour(s, &feed, &s->out, SORT_ADDING, &n, &s->run_err);
	run_end(s, &r);
	s->run[s->nruns - 1] = r;
}

/* The first failure stays. */
static int sort_fails(struct sort *s, const struct err *err)
{
	s->rc = -1;
	s->err = *err;
	return -1;
}

/* The run that is being written is done. */
static int sort_settle(struct sort *s, struct err *err)
{
	if (s->pool)
		pool_wait(s->pool, &s->run_job);
	if (s->rc == 0 && s->run_rc < 0)
		(void)sort_fails(s, &s->run_err);
	if (s->rc == 0 && s->out.out && stream_failed(&s->out))
		s->rc = stream_finish(&s->out, false, &s->err);
	if (s->rc < 0)
		*err = s->err;
	return s->rc;
}

static int sort_spill_batch(struct sort *s, struct err *err)
{
	if (sort_settle(s, err) < 0)
		return -1;
	if (!s->spill && spill_begin(s, s->piece, err) < 0)
		return sort_fails(s, err);
	*VEC_PUSH(s->run, s->nruns, s->cap) = (struct run){0};
	s->spilled = s->added;
	s->ops->seal(s->batch);
	sort_report(s, SORT_ADDING, s->added, 0);
	if (s->memory < THREAD_FROM) {
		run_write(&s->run_job);
		return sort_settle(s, err);
	}
	if (!s->pool && pool_new(&s->pool, &stream_pool, err) < 0)
		return sort_fails(s, err);
	pool_post(s->pool, &s->run_job);
	return 0;
}

int sort_add(struct sort *s, struct str rec, struct err *err)
{
	ENSURE(!s->giving);
	if (UNLIKELY(s->order.size ? rec.n != s->order.size : rec.n > s->record_max))
		return err_set(err, ERR_USAGE,
			       "sort: a record of %zu bytes, %s %zu are taken; not added", rec.n,
			       s->order.size ? "only" : "at most", s->record_max);
	s->longest = MAX(s->longest, rec.n);
	if (UNLIKELY(s->ops->add(s->batch, rec) != 0)) {
		if (sort_spill_batch(s, err) < 0)
			return -1;
		ENSURE(s->ops->add(s->batch, rec) == 0);
	}
	s->added++;
	return 0;
}

/* From runs to fewer runs. */

static size_t merge_piece_size(const struct sort *s)
{
	size_t longest = MAX(s->longest, s->unify.longest);
	return MAX(s->piece, sort_round_up(longest + ORDER_LENGTH, STREAM_BLOCK));
}

/* Each run needs its pieces and two records that lie across pieces. */
static size_t merge_fan(const struct sort *s)
{
	size_t piece = merge_piece_size(s), longest = MAX(s->longest, s->unify.longest);
	size_t own = STREAM_SLOTS * piece;
	size_t n = s->memory > own ? (s->memory - own) / (own + 2 * longest) : 0;
	return MIN(MAX(n, (size_t)2), (size_t)FAN_MOST);
}

static void joint_close(struct joint *j)
{
	merge_free(&j->merge);
	for (size_t i = 0; i < j->n; i++)
		stream_close(&j->reader[i]);
	pool_free(&j->pool);
	mem_free(&j->reader);
	mem_free(&j->readers);
	j->n = 0;
}

static int joint_open(struct sort *s, size_t from, size_t n, struct err *err)
{
	struct joint *j = &s->joint;
	if (pool_new(&j->pool, &stream_pool, err) < 0)
		return -1;
	struct stream_options options = {.piece = merge_piece_size(s), .pool = j->pool};
	j->n = n;
	j->reader = mem_array(n, sizeof *j->reader);
	j->readers = mem_array(n, sizeof *j->readers);
	for (size_t i = 0; i < n; i++) {
		struct run *r = &s->run[from + i];
		j->readers[i] = &j->reader[i];
		if (stream_open_part(&j->reader[i], &r->spill->file, r->from, r->n, &options, err) <
		    0)
			return -1;
	}
	return merge_new(&j->merge, &s->order, j->readers, n, err);
}

static int joint_next(void *from, struct str *ret, struct err *err)
{
	struct merge *m = from;
	int rc = merge_ensure(m, err);
	if (rc == 0) {
		ret->p = m->rec[m->at++];
		ret->n = m->size;
	}
	return rc;
}

/* Makes one run out of n. */
static int runs_merge(struct sort *s, size_t from, size_t n, struct err *err)
{
	if (joint_open(s, from, n, err) < 0)
		return -1;
	struct run r = run_begin(s);
	const struct feed feed = {joint_next, s->joint.merge};
	int rc = sort_pour(s, &feed, &s->out, SORT_MERGING, &s->merged, err);
	run_end(s, &r);
	joint_close(&s->joint);
	for (size_t i = 0; i < n; i++)
		spill_unref(s->run[from + i].spill);
	s->run[from] = r;
	memmove(&s->run[from + 1], &s->run[from + n], (s->nruns - from - n) * sizeof r);
	s->nruns -= n - 1;
	sort_report(s, SORT_MERGING, s->merged, s->added);
	return rc < 0 ? rc : sort_settle(s, err);
}

static int runs_begin_pass(struct sort *s, struct err *err)
{
	s->merged = 0;
	return spill_end(s, err) < 0 ? -1 : spill_begin(s, merge_piece_size(s), err);
}

/* Until few enough runs are left for one merge; in each pass only as many as it takes. Neighbours
 * are merged, so that equal keys keep their order. Unified records may have grown with each merge,
 * and then fewer runs fit into memory. */
static int sort_reduce_runs(struct sort *s, struct err *err)
{
	size_t at = 0;
	for (size_t most; s->nruns > (most = merge_fan(s));) {
		size_t n = MIN(most, s->nruns - most + 1);
		if (at + n > s->nruns)
			at = 0;
		if (at == 0 && runs_begin_pass(s, err) < 0)
			return -1;
		if (runs_merge(s, at++, n, err) < 0)
			return -1;
	}
	return spill_end(s, err);
}

static int sort_end_adding(struct sort *s, struct err *err)
{
	s->giving = true;
	if (s->nruns == 0) {
		s->ops->seal(s->batch);
		s->feed = (struct feed){s->ops->next, s->batch};
		return 0;
	}
	if ((s->added > s->spilled && sort_spill_batch(s, err) < 0) || sort_settle(s, err) < 0 ||
	    spill_end(s, err) < 0)
		return -1;
	s->ops->free(s->batch);
	s->batch = NULL;
	if (sort_reduce_runs(s, err) < 0 || joint_open(s, 0, s->nruns, err) < 0)
		return -1;
	s->feed = (struct feed){joint_next, s->joint.merge};
	return 0;
}

/* After a failure there is nothing more to be had. */
static int sort_begin_giving(struct sort *s, struct err *err)
{
	if (s->rc == 0 && !s->giving && (s->rc = sort_end_adding(s, &s->err)) == 0)
		return 0;
	if (s->rc < 0)
		*err = s->err;
	return s->rc;
}

int sort_next(struct sort *s, struct str *ret, struct err *err)
{
	if (UNLIKELY(!s->giving || s->rc < 0) && sort_begin_giving(s, err) < 0)
		return -1;
	int rc = s->spec.unify ? unify_next(s, &s->feed, ret, err)
			       : s->feed.next(s->feed.from, ret, err);
	if (UNLIKELY(rc < 0))
		return sort_fails(s, err);
	if (UNLIKELY(rc == 0 && ++s->given % REPORT_EVERY == 0))
		sort_report(s, SORT_GIVING, s->given, s->added);
	return rc;
}

int sort_write(struct sort *s, struct stream_writer *out, struct err *err)
{
	if (sort_begin_giving(s, err) < 0)
		return -1;
	int rc = sort_pour(s, &s->feed, out, SORT_GIVING, &s->given, err);
	return rc < 0 ? sort_fails(s, err) : 0;
}

void sort_free(struct sort **sp)
{
	struct sort *s = *sp;
	struct err ignored;
	if (!s)
		return;
	(void)sort_settle(s, &ignored);
	pool_free(&s->pool);
	joint_close(&s->joint);
	stream_drop(&s->out);
	spill_unref(s->spill);
	for (size_t i = 0; i < s->nruns; i++)
		spill_unref(s->run[i].spill);
	mem_free(&s->run);
	if (s->batch)
		s->ops->free(s->batch);
	buf_free(&s->unify.held);
	buf_free(&s->unify.given);
	mem_free(sp);
}
