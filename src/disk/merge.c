#include "disk/merge_tree.h"

/* What is ready, and the record before it, must lie in two pieces of its stream. 0: not even one
 * record may be made ready before it is wanted. */
static size_t ready_most(const struct merge *m)
{
	size_t most = MERGE_READY;
	for (size_t i = 0; i < m->n && m->order.size; i++)
		most = MIN(most, stream_piece(m->leaf[i].in) / 2 / m->order.size);
	return most;
}

int merge_new(struct merge **ret, const struct order *order, struct stream_reader *const *in,
	      size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if (order->size > stream_piece(in[i]))
			return err_set(err, ERR_USAGE,
				       "merge: records of %zu bytes in pieces of %zu", order->size,
				       stream_piece(in[i]));
	struct merge *m = mem_alloc(sizeof *m);
	m->order = order_checked(order);
	m->n = n;
	m->leaves = 1;
	while (m->leaves < n)
		m->leaves *= 2;
	m->leaf = mem_array(n, sizeof *m->leaf);
	for (size_t i = 0; i < n; i++)
		m->leaf[i].in = in[i];
	m->key = mem_array(2 * m->leaves, sizeof *m->key);
	memset(m->key + m->leaves, 0xff, m->leaves * sizeof *m->key);
	m->loser = mem_array(m->leaves, sizeof *m->loser);
	m->most = ready_most(m);
	m->exact = m->most > 0 && order_exact(&m->order);
	*ret = m;
	return 0;
}

void merge_free(struct merge **mp)
{
	struct merge *m = *mp;
	if (!m)
		return;
	mem_free(&m->leaf);
	mem_free(&m->key);
	mem_free(&m->loser);
	mem_free(mp);
}

int merge_next(struct merge *m, struct merge_record *ret, struct err *err)
{
	int rc = merge_ensure(m, err);
	if (rc != 0)
		return rc;
	ret->rec.p = m->rec[m->at];
	ret->rec.n = m->size;
	ret->input = m->input[m->at];
	ret->first = m->first[m->at++];
	return 0;
}

/* Records of one key, copied as soon as there is a second one. */
struct group {
	struct merge_record *rec;
	size_t n, cap;
	struct buf bytes;
};

static int group_keep(struct group *g, const struct merge_record *r, struct err *err)
{
	if (g->n == g->cap) {
		g->cap = MAX(g->cap * 2, (size_t)16);
		g->rec = mem_resize(g->rec, g->cap * sizeof *g->rec);
	}
	g->rec[g->n++] = *r;
	buf_add_str(&g->bytes, r->rec);
	if (g->bytes.over)
		return err_set(err, ERR_DAMAGED,
			       "merge: the records of one key have more than the %zu bytes allowed",
			       g->bytes.max);
	return 0;
}

static int group_give(struct group *g, merge_group_fn *fn, void *ctx, struct err *err)
{
	const char *at = buf_str(&g->bytes).p;
	for (size_t i = 0; i < g->n; at += g->rec[i++].rec.n)
		g->rec[i].rec.p = at;
	int rc = fn(ctx, g->rec, g->n, err);
	g->n = 0;
	buf_clear(&g->bytes);
	return rc;
}

int merge_groups(struct merge *m, size_t most, merge_group_fn *fn, void *ctx, struct err *err)
{
	struct group g = {.bytes = BUF_INIT(most)};
	struct merge_record pair[2]; /* the record at hand and the next, in turn */
	unsigned turn = 0;
	int rc = merge_next(m, &pair[0], err), end = rc;
	while (rc == 0 && end == 0) {
		const struct merge_record *held = &pair[turn], *next = &pair[turn ^ 1];
		end = merge_next(m, &pair[turn ^ 1], err);
		bool more = end == 0 && !next->first;
		if (end < 0)
			rc = end;
		else if (UNLIKELY(more || g.n))
			rc = group_keep(&g, held, err);
		if (rc == 0 && !more)
			rc = g.n ? group_give(&g, fn, ctx, err) : fn(ctx, held, 1, err);
		turn ^= 1;
	}
	mem_free(&g.rec);
	buf_free(&g.bytes);
	return MIN(rc, 0);
}
