#include "base/merge.h"

#include <inttypes.h>

/* A tree of losers: the leaves are the streams, each inner node remembers who lost there, so that a
 * new record is compared only on the way from its leaf to the top. */
struct merge {
	struct order order;
	bool exact;
	size_t n;
	struct stream_reader **in;
	order_head *head; /* of the record at hand, all ones at the end of a stream */
	struct str *rec;
	size_t *rank; /* decides between equal keys: the number of the stream, more than n at its
			 end */
	size_t *loser;
	size_t winner;
	bool started;
	order_head last_head; /* of the record that was given out last */
	struct str last;
};

static int read_record(struct merge *m, size_t i, struct str *ret, struct err *err)
{
	struct stream_reader *r = m->in[i];
	if (LIKELY(m->order.size))
		return stream_read(r, m->order.size, ret, err);
	struct str length;
	int rc = stream_read(r, ORDER_LENGTH, &length, err);
	if (rc != 0)
		return rc;
	uint32_t n;
	memcpy(&n, length.p, sizeof n);
	n = le32toh(n);
	if (n > stream_piece(r) - ORDER_LENGTH || n > stream_left(r))
		return err_set(err, ERR_DAMAGED,
			       "merge: input %zu has a record of %" PRIu32 " bytes where %" PRIu64
			       " are left and at most %zu are taken",
			       i, n, stream_left(r), stream_piece(r) - ORDER_LENGTH);
	return stream_read(r, n, ret, err);
}

/* Takes the next record of a stream; the one before it is still there to compare with. */
static inline int advance(struct merge *m, size_t i, bool check, struct err *err)
{
	struct str rec;
	int rc = read_record(m, i, &rec, err);
	if (UNLIKELY(rc != 0)) {
		m->head[i] = ~(order_head)0;
		m->rank[i] = m->n + i;
		return rc < 0 ? rc : 0;
	}
	order_head head = order_head_of(&m->order, rec);
	if (check && UNLIKELY(head <= m->head[i]) &&
	    (head < m->head[i] || (!m->exact && order_compare(&m->order, rec, m->rec[i]) < 0)))
		return err_set(err, ERR_DAMAGED, "merge: input %zu is not in order", i);
	m->head[i] = head;
	m->rec[i] = rec;
	return 0;
}

static inline bool before(const struct merge *m, size_t a, size_t b)
{
	order_head ha = m->head[a], hb = m->head[b];
	bool equal = ha == hb;
	if (UNLIKELY(equal && !m->exact) && m->rank[a] < m->n && m->rank[b] < m->n) {
		int c = order_compare(&m->order, m->rec[a], m->rec[b]);
		if (c != 0)
			return c < 0;
	}
	return (ha < hb) | (equal & (m->rank[a] < m->rank[b]));
}

static void replay(struct merge *m)
{
	size_t w = m->winner;
	for (size_t node = (w + m->n) / 2; node >= 1; node /= 2) {
		size_t other = m->loser[node];
		bool lost = before(m, other, w);
		m->loser[node] = lost ? w : other;
		w = lost ? other : w;
	}
	m->winner = w;
}

/* The first record of every stream, and all matches once. */
static int start(struct merge *m, struct err *err)
{
	m->started = true;
	for (size_t i = 0; i < m->n; i++) {
		m->rank[i] = i;
		if (advance(m, i, false, err) < 0)
			return -1;
	}
	size_t *won = mem_array(2 * m->n, sizeof *won);
	for (size_t i = 0; i < m->n; i++)
		won[m->n + i] = i;
	for (size_t node = m->n - 1; node >= 1; node--) {
		size_t a = won[2 * node], b = won[2 * node + 1];
		bool a_wins = before(m, a, b);
		won[node] = a_wins ? a : b;
		m->loser[node] = a_wins ? b : a;
	}
	m->winner = won[1];
	mem_free(&won);
	return 0;
}

int merge_new(struct merge **ret, const struct order *order, struct stream_reader *const *in,
	      size_t n, struct err *err)
{
	if (n > UINT32_MAX)
		return err_set(err, ERR_USAGE, "merge: %zu inputs are too many", n);
	struct merge *m = mem_alloc(sizeof *m);
	m->order = order_checked(order);
	m->exact = order_exact(&m->order);
	m->n = n;
	m->in = mem_copy(in, n * sizeof *in);
	m->head = mem_array(n, sizeof *m->head);
	m->rec = mem_array(n, sizeof *m->rec);
	m->rank = mem_array(n, sizeof *m->rank);
	m->loser = mem_array(n, sizeof *m->loser);
	*ret = m;
	return 0;
}

void merge_free(struct merge **mp)
{
	struct merge *m = *mp;
	if (!m)
		return;
	mem_free(&m->in);
	mem_free(&m->head);
	mem_free(&m->rec);
	mem_free(&m->rank);
	mem_free(&m->loser);
	mem_free(mp);
}

int merge_next(struct merge *m, struct merge_record *ret, struct err *err)
{
	bool begin = !m->started;
	if (m->n == 0)
		return 1;
	if (UNLIKELY(begin)) {
		if (start(m, err) < 0)
			return -1;
	} else {
		m->last_head = m->head[m->winner];
		m->last = m->rec[m->winner];
		if (m->rank[m->winner] < m->n && advance(m, m->winner, true, err) < 0)
			return -1;
		replay(m);
	}
	size_t w = m->winner;
	if (UNLIKELY(m->rank[w] >= m->n))
		return 1;
	bool same = !begin && m->head[w] == m->last_head &&
		    (m->exact || order_compare(&m->order, m->rec[w], m->last) == 0);
	*ret = (struct merge_record){m->rec[w], (unsigned)w, !same};
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
	struct merge_record held, next;
	int rc = merge_next(m, &held, err), end = rc;
	while (rc == 0 && end == 0) {
		end = merge_next(m, &next, err);
		bool more = end == 0 && !next.first;
		if (end < 0)
			rc = end;
		else if (more || g.n)
			rc = group_keep(&g, &held, err);
		if (rc == 0 && !more)
			rc = g.n ? group_give(&g, fn, ctx, err) : fn(ctx, &held, 1, err);
		held = next;
	}
	mem_free(&g.rec);
	buf_free(&g.bytes);
	return MIN(rc, 0);
}
