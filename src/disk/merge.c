/* Merging by a tree of losers. The leaves are the streams, each inner node remembers who lost
 * there, so that a new record is compared only on the way from its leaf to the top. Keys of at most
 * 16 bytes in records of fixed size are compared as numbers, without a branch, and records are made
 * ready many at a time; others one by one. */
#include "disk/merge_tree_inner.h"

#include <inttypes.h>

static int leaf_read_sized(struct stream_reader *r, size_t i, struct str *ret, struct err *err)
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

/* The next record of a stream; the one before is still in memory. Returns the player in *ret. */
static int leaf_advance(struct merge *m, size_t i, size_t *ret, struct err *err)
{
	struct merge_leaf *leaf = &m->leaf[i];
	struct str rec;
	int rc = m->order.size ? stream_read(leaf->in, m->order.size, &rec, err)
			       : leaf_read_sized(leaf->in, i, &rec, err);
	if (rc < 0)
		return rc;
	*ret = rc == 0 ? i : i + m->leaves;
	if (rc == 0) {
		m->key[i] = order_head_of(&m->order, rec);
		leaf->p = rec.p;
		leaf->n = rec.n;
	}
	return 0;
}

static int players_compare(const struct merge *m, size_t a, size_t b)
{
	const struct merge_leaf *x = &m->leaf[a], *y = &m->leaf[b];
	return order_compare(&m->order, (struct str){x->p, x->n}, (struct str){y->p, y->n});
}

/* Whether player a comes before b. */
static bool player_before(const struct merge *m, size_t a, size_t b)
{
	order_head x = m->key[a], y = m->key[b];
	if (x != y)
		return x < y;
	int c = !m->exact && (a | b) < m->leaves ? players_compare(m, a, b) : 0;
	return c ? c < 0 : a < b;
}

static size_t tree_play(struct merge *m, size_t w, size_t leaf)
{
	for (size_t at = (leaf + m->leaves) / 2; at >= 1; at /= 2) {
		size_t other = m->loser[at];
		if (player_before(m, other, w)) {
			m->loser[at] = w;
			w = other;
		}
	}
	return w;
}

/* The same without a branch that depends on keys, since nobody can foretell it. */
static inline size_t tree_play_exact(struct merge *m, size_t w, order_head key, size_t leaf)
{
	uint64_t high = (uint64_t)(key >> 64), low = (uint64_t)key;
	for (size_t at = (leaf + m->leaves) / 2; at >= 1; at /= 2) {
		size_t other = m->loser[at];
		order_head x = m->key[other], y = (order_head)high << 64 | low;
		size_t mask = -(size_t)((x < y) | ((x == y) & (other < w)));
		size_t swap = (other ^ w) & mask;
		m->loser[at] = other ^ swap;
		w ^= swap;
		high ^= ((uint64_t)(x >> 64) ^ high) & mask;
		low ^= ((uint64_t)x ^ low) & mask;
	}
	return w;
}

/* The winner of all the leaves below a node. Leaves without a stream are at their end. */
static int tree_play_all(struct merge *m, size_t at, size_t *ret, struct err *err)
{
	if (at >= m->leaves && at - m->leaves < m->n)
		return leaf_advance(m, at - m->leaves, ret, err);
	if (at >= m->leaves) {
		*ret = at;
		return 0;
	}
	size_t a, b;
	if (tree_play_all(m, 2 * at, &a, err) < 0 || tree_play_all(m, 2 * at + 1, &b, err) < 0)
		return -1;
	bool second = player_before(m, b, a);
	m->loser[at] = second ? a : b;
	*ret = second ? b : a;
	return 0;
}

/* An input that is not in order would make everything after it wrong. */
static int input_disorder(size_t i, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "merge: input %zu is not in order", i);
}

static int tree_fill_exact(struct merge *m, struct err *err)
{
	size_t n = 0, size = m->order.size, w = m->winner;
	for (; n < m->most && w < m->leaves; n++) {
		struct merge_leaf *leaf = &m->leaf[w];
		struct stream_reader *in = leaf->in;
		size_t i = w;
		order_head old = m->key[i];
		m->rec[n] = leaf->p;
		m->input[n] = (uint32_t)i;
		m->first[n] = !m->some | (old != m->last_key);
		m->some = true;
		m->last_key = old;
		if (LIKELY((size_t)(in->end - in->p) >= size)) {
			m->key[i] = order_head_of(&m->order, (struct str){in->p, size});
			leaf->p = in->p;
			in->p += size;
		} else if (leaf_advance(m, i, &w, err) < 0) {
			return -1;
		}
		if (UNLIKELY(m->key[w] < old))
			return input_disorder(i, err);
		w = tree_play_exact(m, w, m->key[w], i);
	}
	m->size = size;
	m->winner = w;
	m->ready = n;
	return n ? 0 : 1;
}

/* The record that was given out last is left alone until the next one is wanted. */
static int tree_leave(struct merge *m, size_t i, struct err *err)
{
	struct merge_leaf old = m->leaf[i];
	order_head key = m->key[i];
	size_t w;
	if (leaf_advance(m, i, &w, err) < 0)
		return -1;
	if (w == i &&
	    (m->key[i] < key ||
	     (m->key[i] == key && order_compare(&m->order, (struct str){m->leaf[i].p, m->leaf[i].n},
						(struct str){old.p, old.n}) < 0)))
		return input_disorder(i, err);
	m->winner = tree_play(m, w, i);
	return 0;
}

static int tree_fill_one(struct merge *m, struct err *err)
{
	if (m->some && m->winner < m->leaves && tree_leave(m, m->winner, err) < 0)
		return -1;
	if (m->winner >= m->leaves)
		return 1;
	const struct merge_leaf *leaf = &m->leaf[m->winner];
	order_head key = m->key[m->winner];
	struct str rec = {leaf->p, leaf->n};
	m->first[0] = !m->some || key != m->last_key || order_compare(&m->order, rec, m->last) != 0;
	m->last_key = key;
	m->last = rec;
	m->rec[0] = leaf->p;
	m->size = leaf->n;
	m->input[0] = (uint32_t)m->winner;
	m->some = true;
	m->ready = 1;
	return 0;
}

static int tree_fill(struct merge *m, struct err *err)
{
	if (!m->started && tree_play_all(m, 1, &m->winner, err) < 0)
		return -1;
	m->started = true;
	return m->exact ? tree_fill_exact(m, err) : tree_fill_one(m, err);
}

int merge_fill(struct merge *m, struct err *err)
{
	m->at = m->ready = 0;
	if (m->rc == 0)
		m->rc = tree_fill(m, &m->err);
	if (m->rc < 0) {
		m->ready = 0;
		*err = m->err;
	}
	return m->rc;
}

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
