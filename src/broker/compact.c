/* Compaction, one stage after the other. What takes long is a job of maintenance; what changes the
 * stores happens in compact_step(), between two commits. */
#include "broker/compact.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"

/* All that moved, by old addresses: 16 bytes for each document. */
struct moved {
	struct docaddr (*pair)[2];
	size_t n, room;
};

enum stage {
	NOTHING,
	COPIES,      /* documents are copied */
	READDRESSES, /* they lie elsewhere, and the index is told */
	WAITS,       /* for those who have old addresses */
	RESTS,       /* after a failure */
};

struct compact {
	struct docstore *docs;
	struct words_writer *words;
	struct maintenance *maintenance;
	enum stage stage, failed; /* failed: the stage before it rests */
	unsigned failures;
	struct docstore_compaction *copy;
	int64_t due_us; /* it waits or rests until then */
};

static int moved_remember(void *ctx, struct docaddr from, struct docaddr to, struct err *err)
{
	struct moved *m = ctx;
	(void)err;
	struct docaddr(*pair)[2] = VEC_PUSH(m->pair, m->n, m->room);
	(*pair)[0] = from;
	(*pair)[1] = to;
	return 0;
}

static struct docaddr moved_to(void *ctx, struct docaddr addr)
{
	const struct moved *m = ctx;
	size_t low = 0, high = m->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (m->pair[mid][0].v < addr.v)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->n && m->pair[low][0].v == addr.v ? m->pair[low][1] : (struct docaddr){0};
}

/* Jobs */

static int copy_docs(void *ctx, struct err *err)
{
	struct compact *c = ctx;
	return docstore_compact_copy(c->copy, err);
}

static int readdress_words(void *ctx, struct err *err)
{
	struct compact *c = ctx;
	struct moved m = {0};
	int rc = docstore_each_moved(c->docs, moved_remember, &m, err);
	if (rc == 0 && m.n)
		rc = words_readdress(c->words, moved_to, &m, err);
	mem_free(&m.pair);
	return rc;
}

/* Beginning */

int compact_wanted(struct docstore *docs, bool *ret, struct err *err)
{
	struct docstore_stats s;
	if (docstore_stats(docs, &s, err) < 0)
		return -1;
	*ret = s.deleted_bytes >= COMPACT_LEAST &&
	       s.deleted_bytes * 100 >= s.text_bytes * COMPACT_PERCENT;
	return 0;
}

int compact_new(struct compact **ret, struct docstore *docs, struct words_writer *words,
		struct maintenance *maintenance, struct err *err)
{
	struct docstore_stats s;
	if (docstore_stats(docs, &s, err) < 0)
		return -1;
	struct compact *c = mem_alloc(sizeof *c);
	*c = (struct compact){.docs = docs, .words = words, .maintenance = maintenance};
	if (s.moved_docs) {
		c->stage = READDRESSES;
		maintenance_begin(maintenance, readdress_words, c);
	}
	*ret = c;
	return 0;
}

void compact_stop(struct compact *c)
{
	if (c && c->copy)
		docstore_compact_stop(c->copy);
}

void compact_free(struct compact **cp)
{
	struct compact *c = *cp;
	if (!c)
		return;
	docstore_compact_free(&c->copy);
	mem_free(cp);
}

static int forget_moved(struct compact *c, struct err *err)
{
	FAULT("compact.readdressed");
	if (docstore_forget_moved(c->docs, err) < 0)
		return -1;
	c->stage = NOTHING;
	return 0;
}

int compact_begin(struct compact *c, unsigned percent, struct err *err)
{
	if (!compact_may_begin(c))
		return 1;
	if (c->stage == WAITS && forget_moved(c, err) < 0)
		return -1;
	int rc = docstore_compact_begin(c->docs, percent, &c->copy, err);
	if (rc != 0)
		return rc;
	c->stage = COPIES;
	maintenance_begin(c->maintenance, copy_docs, c);
	return 0;
}

/* Going on */

static int change_over(struct compact *c, struct err *err)
{
	FAULT("compact.copied");
	if (docstore_compact_end(c->copy, err) < 0)
		return -1;
	docstore_compact_free(&c->copy);
	FAULT("compact.moved");
	c->stage = READDRESSES;
	maintenance_begin(c->maintenance, readdress_words, c);
	return 0;
}

static int rest_after_failure(struct compact *c)
{
	docstore_compact_free(&c->copy);
	c->failed = c->stage;
	c->stage = RESTS;
	c->due_us = clock_mono_us() + maintenance_rest_us(++c->failures);
	return 1;
}

/* What was not copied is found again by compact_wanted(); what was moved is told again. */
static void end_rest(struct compact *c)
{
	c->stage = c->failed == READDRESSES ? READDRESSES : NOTHING;
	if (c->stage == READDRESSES)
		maintenance_begin(c->maintenance, readdress_words, c);
}

int compact_step(struct compact *c, int64_t now_us, struct err *err)
{
	int rc = 0;
	if (c->stage == WAITS)
		return now_us >= c->due_us ? forget_moved(c, err) : 0;
	if (c->stage == RESTS && now_us >= c->due_us)
		end_rest(c);
	if (!compact_runs(c) || maintenance_ended(c->maintenance, &rc, err) != 0)
		return 0;
	if (rc < 0)
		return rest_after_failure(c);
	if (c->stage == COPIES)
		return change_over(c, err);
	c->stage = WAITS;
	c->failures = 0;
	c->due_us = clock_mono_us() + COMPACT_WAIT_US;
	return 0;
}

bool compact_runs(const struct compact *c)
{
	return c->stage == COPIES || c->stage == READDRESSES;
}

bool compact_may_begin(const struct compact *c)
{
	return c->stage == NOTHING || c->stage == WAITS;
}

int64_t compact_due_us(const struct compact *c)
{
	return c->stage == WAITS || c->stage == RESTS ? c->due_us : INT64_MAX;
}
