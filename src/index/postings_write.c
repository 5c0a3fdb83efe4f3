#include "index/postings_write.h"

#include "base/cursor.h"

/* No list comes near: offsets in it have 32 bits, and the segment's writer looks. */
static const size_t list_bytes_most = (size_t)1 << 40;

void list_init(struct list_writer *l)
{
	*l = (struct list_writer){0};
	struct buf *all[] = {&l->docs,       &l->occ,       &l->lasts, &l->wheres,
			     &l->pos_wheres, &l->pos_skips, &l->bounds};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		*all[i] = BUF_INIT(list_bytes_most);
	list_mean(l, 1);
}

void list_free(struct list_writer *l)
{
	buf_free(&l->docs);
	buf_free(&l->occ);
	buf_free(&l->lasts);
	buf_free(&l->wheres);
	buf_free(&l->pos_wheres);
	buf_free(&l->pos_skips);
	buf_free(&l->bounds);
}

void list_mean(struct list_writer *l, double mean_length)
{
	for (unsigned code = 0; code < 256; code++) {
		double ratio = (double)words_length_of((uint8_t)code) / MAX(mean_length, 1.0);
		l->norm[code] = (float)(1.2 * (0.25 + 0.75 * ratio));
	}
}

void list_begin(struct list_writer *l, bool positions, bool forms)
{
	l->n = l->npos = l->frontiers = 0;
	l->last = UINT32_MAX;
	l->tf_one = true;
	l->counts = false;
	l->positions = positions;
	l->forms = forms;
	l->df = l->occurrences = 0;
	l->next_where = l->next_pos = l->next_skip = 0;
	buf_clear(&l->docs);
	buf_clear(&l->occ);
	buf_clear(&l->lasts);
	buf_clear(&l->wheres);
	buf_clear(&l->pos_wheres);
	buf_clear(&l->pos_skips);
	buf_clear(&l->bounds);
}

static void put_numbers(struct buf *out, const uint32_t *v, uint32_t n)
{
	uint8_t *to = (uint8_t *)buf_room(out, PACK_MOST);
	ENSURE(to);
	buf_grew(out, n == SEGMENT_BLOCK ? pack_block(v, to) : pack_tail(v, n, to));
}

void list_flush_occurrences(struct list_writer *l)
{
	put_numbers(&l->occ, l->pos, l->npos);
	if (l->forms)
		put_numbers(&l->occ, l->form, l->npos);
	l->npos = 0;
}

/* Bounds */

void list_frontier_add(struct list_writer *l, uint8_t tf, uint8_t len)
{
	for (uint32_t i = 0; i < l->frontiers; i++)
		if (l->frontier[i].tf >= tf && l->frontier[i].len <= len)
			return;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < l->frontiers; i++)
		if (l->frontier[i].tf > tf || l->frontier[i].len < len)
			l->frontier[kept++] = l->frontier[i];
	l->frontier[kept].tf = tf;
	l->frontier[kept].len = len;
	l->frontiers = kept + 1;
}

static float bound_worth(const struct list_writer *l, uint8_t tf, uint8_t len)
{
	return (float)tf / ((float)tf + l->norm[len]);
}

static void sort_frontier(struct list_writer *l)
{
	for (uint32_t i = 1; i < l->frontiers; i++)
		for (uint32_t k = i; k > 0 && l->frontier[k - 1].tf < l->frontier[k].tf; k--) {
			uint8_t tf = l->frontier[k].tf, len = l->frontier[k].len;
			l->frontier[k] = l->frontier[k - 1];
			l->frontier[k - 1].tf = tf;
			l->frontier[k - 1].len = len;
		}
}

/* Pairs are given up by putting one that covers both in the place of two neighbours: those where
 * this raises the bound least. */
static void shorten_frontier(struct list_writer *l)
{
	while (l->frontiers > SEGMENT_BOUNDS) {
		uint32_t best = 0;
		float least = 2;
		for (uint32_t i = 0; i + 1 < l->frontiers; i++) {
			float a = bound_worth(l, l->frontier[i].tf, l->frontier[i].len);
			float b = bound_worth(l, l->frontier[i + 1].tf, l->frontier[i + 1].len);
			float both = bound_worth(l, l->frontier[i].tf, l->frontier[i + 1].len);
			if (both - MAX(a, b) < least) {
				least = both - MAX(a, b);
				best = i;
			}
		}
		l->frontier[best].len = l->frontier[best + 1].len;
		memmove(&l->frontier[best + 1], &l->frontier[best + 2],
			(l->frontiers - best - 2) * sizeof l->frontier[0]);
		l->frontiers--;
	}
}

static void put_bounds(struct list_writer *l)
{
	sort_frontier(l);
	shorten_frontier(l);
	for (uint32_t i = 0; i < SEGMENT_BOUNDS; i++) {
		uint32_t pair = MIN(i, l->frontiers - 1);
		put_u8(&l->bounds, l->frontier[pair].tf);
		put_u8(&l->bounds, l->frontier[pair].len);
	}
	l->frontiers = 0;
}

/* Blocks */

static void put_block(struct list_writer *l)
{
	put_numbers(&l->docs, l->gap, l->n);
	put_numbers(&l->docs, l->tf, l->n);
	if (l->positions && l->counts)
		put_numbers(&l->docs, l->more, l->n);
}

void list_flush_postings(struct list_writer *l)
{
	put_block(l);
	put_u32le(&l->lasts, l->last);
	put_u32le(&l->wheres, l->next_where);
	put_u32le(&l->pos_wheres, l->next_pos);
	put_u8(&l->pos_skips, (uint8_t)(l->next_skip | (l->counts ? SKIP_COUNTS : 0)));
	put_bounds(l);
	l->next_where = (uint32_t)l->docs.n;
	l->next_pos = (uint32_t)l->occ.n;
	l->next_skip = l->npos;
	l->df += l->n;
	l->n = 0;
	l->counts = false;
}

static void end_long(struct list_writer *l, uint64_t at, struct str own, struct buf *out)
{
	if (l->n)
		list_flush_postings(l);
	buf_fill(out, 0, (size_t)(-at & 3));
	put_u32le(out, (uint32_t)l->docs.n);
	put_u32le(out, (uint32_t)own.n);
	put_u32le(out, l->tail);
	put_u32le(out, (l->forms ? LIST_FORMS : 0) | (own.n ? LIST_OWN : 0));
	buf_add_str(out, buf_str(&l->lasts));
	buf_add_str(out, buf_str(&l->wheres));
	if (l->positions)
		buf_add_str(out, buf_str(&l->pos_wheres));
	buf_add_str(out, buf_str(&l->bounds));
	if (l->positions)
		buf_add_str(out, buf_str(&l->pos_skips));
	buf_add_str(out, own);
	buf_add_str(out, buf_str(&l->docs));
}

static void end_short(struct list_writer *l, struct str own, struct buf *out)
{
	bool counts = l->positions && l->counts;
	put_u8(out, (uint8_t)((l->tf_one ? LIST_TF_ONE : 0) | (counts ? LIST_COUNTS : 0) |
			      (l->forms ? LIST_FORMS : 0) | (own.n ? LIST_OWN : 0)));
	if (own.n)
		put_text(out, own);
	put_numbers(out, l->gap, l->n);
	if (!l->tf_one)
		put_numbers(out, l->tf, l->n);
	if (counts)
		put_numbers(out, l->more, l->n);
	l->df = l->n;
}

void list_end(struct list_writer *l, uint64_t at, struct str own, struct buf *out)
{
	l->tail = (uint32_t)l->occ.n;
	if (l->positions && l->npos)
		list_flush_occurrences(l);
	if (l->df)
		end_long(l, at, own, out);
	else
		end_short(l, own, out);
	buf_add_str(out, buf_str(&l->occ));
}
