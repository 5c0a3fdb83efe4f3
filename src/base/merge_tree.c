#include "base/merge_tree.h"

#include <inttypes.h>

static int read_sized(struct stream_reader *r, size_t i, struct str *ret, struct err *err)
{
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

/* The next record of a stream, and its node; the record before is still in memory. */
static int advance(struct merge *m, size_t i, struct merge_node *ret, struct err *err)
{
	struct merge_leaf *leaf = &m->leaf[i];
	struct str rec;
	int rc = m->order.size ? stream_read(leaf->in, m->order.size, &rec, err)
			       : read_sized(leaf->in, i, &rec, err);
	if (rc == 1)
		*ret = (struct merge_node){UINT64_MAX, UINT64_MAX, i + m->leaves};
	if (rc != 0)
		return MIN(rc, 0);
	leaf->p = rec.p;
	leaf->n = rec.n;
	order_head head = order_head_of(&m->order, rec);
	*ret = (struct merge_node){(uint64_t)(head >> 64), (uint64_t)head, i};
	return 0;
}

static int compare_records(const struct merge *m, uint64_t a, uint64_t b)
{
	const struct merge_leaf *x = &m->leaf[a], *y = &m->leaf[b];
	return order_compare(&m->order, (struct str){x->p, x->n}, (struct str){y->p, y->n});
}

/* Without a branch when the numbers are the whole key. */
static inline __attribute__((always_inline)) bool
less(const struct merge *m, bool exact, const struct merge_node *a, const struct merge_node *b)
{
	if (!exact && a->high == b->high && a->low == b->low && (a->who | b->who) < m->leaves) {
		int c = compare_records(m, a->who, b->who);
		if (c != 0)
			return c < 0;
	}
	return (a->high < b->high) |
	       ((a->high == b->high) &
		((a->low < b->low) | ((a->low == b->low) & (a->who < b->who))));
}

static inline void swap_if(uint64_t mask, uint64_t *a, uint64_t *b)
{
	uint64_t x = (*a ^ *b) & mask;
	*a ^= x;
	*b ^= x;
}

/* A new record meets all who lost on the way up from its leaf; returns the winner. */
static inline __attribute__((always_inline)) struct merge_node
play(struct merge *m, bool exact, struct merge_node w, size_t leaf)
{
	for (size_t at = (leaf + m->leaves) / 2; at >= 1; at /= 2) {
		struct merge_node *other = &m->node[at];
		uint64_t lost = -(uint64_t)less(m, exact, other, &w);
		swap_if(lost, &w.high, &other->high);
		swap_if(lost, &w.low, &other->low);
		swap_if(lost, &w.who, &other->who);
	}
	return w;
}

/* The winner of all the leaves below a node. Leaves without a stream are at their end. */
static int play_all(struct merge *m, size_t at, struct merge_node *ret, struct err *err)
{
	if (at >= m->leaves + m->n) {
		*ret = (struct merge_node){UINT64_MAX, UINT64_MAX, at};
		return 0;
	}
	if (at >= m->leaves)
		return advance(m, at - m->leaves, ret, err);
	struct merge_node a, b;
	if (play_all(m, 2 * at, &a, err) < 0 || play_all(m, 2 * at + 1, &b, err) < 0)
		return -1;
	bool second = less(m, m->exact, &b, &a);
	m->node[at] = second ? a : b;
	*ret = second ? b : a;
	return 0;
}

/* Whether the record of a leaf comes before the one that was there: an input that is not in order
 * would make everything after it wrong. */
static bool disorder(const struct merge *m, bool exact, const struct merge_node *now,
		     const struct merge_node *before, struct str old)
{
	if (!exact && now->high == before->high && now->low == before->low &&
	    now->who < m->leaves) {
		const struct merge_leaf *leaf = &m->leaf[now->who];
		return order_compare(&m->order, (struct str){leaf->p, leaf->n}, old) < 0;
	}
	return less(m, true, now, before);
}

static inline __attribute__((always_inline)) int fill(struct merge *m, bool exact, size_t most,
						      struct err *err)
{
	struct merge_node w = m->node[0];
	size_t n = 0, size = m->order.size;
	while (n < most && w.who < m->leaves) {
		size_t i = w.who;
		struct merge_leaf *leaf = &m->leaf[i];
		struct merge_node before = w;
		struct str old = {leaf->p, leaf->n};
		m->rec[n] = leaf->p;
		m->input[n++] = (uint32_t)i;
		m->size = leaf->n;
		struct stream_reader *in = leaf->in;
		if (exact && LIKELY((size_t)(in->end - in->p) >= size)) {
			leaf->p = in->p;
			order_head head = order_head_of(&m->order, (struct str){in->p, size});
			w.high = (uint64_t)(head >> 64);
			w.low = (uint64_t)head;
			in->p += size;
		} else if (advance(m, i, &w, err) < 0) {
			return -1;
		}
		if (UNLIKELY(disorder(m, exact, &w, &before, old)))
			return err_set(err, ERR_DAMAGED, "merge: input %zu is not in order", i);
		w = play(m, exact, w, i);
	}
	m->node[0] = w;
	m->ready = n;
	m->at = 0;
	return n ? 0 : 1;
}

int merge_fill(struct merge *m, struct err *err)
{
	if (!m->started && play_all(m, 1, &m->node[0], err) < 0)
		return -1;
	m->started = true;
	return m->exact ? fill(m, true, m->most, err) : fill(m, false, 1, err);
}
