/* Inside the sorter: splitters divide keys into buckets of about the same size, as a sample shows
 * them. A table of cells, an even division of the range, tells for most keys at once where they
 * belong; only where splitters lie inside a cell they are looked at. */
#pragma once
#include "disk/order.h"

enum {
	SPLIT_FULL = 60,       /* percent of its limit that a bucket has on the average */
	SPLIT_SAMPLES = 32,    /* for each bucket */
	SPLIT_MOST = 16 << 10, /* buckets that are aimed at; there may be twice as many */
	SPLIT_EACH =
		(SPLIT_SAMPLES + 4) * 16, /* bytes of memory for each bucket; and for each cell: */
	SPLIT_CELL = 4,
};

struct split_cell {
	uint16_t before, inside; /* splitters */
};

struct split {
	order_head base;
	unsigned shift;
	size_t n; /* splitters */
	order_head *splitter;
	order_head *sample;
	struct split_cell *cell;
	size_t cells;
};

void split_init(struct split *s, size_t buckets, size_t cells);
void split_free(struct split *s);

/* Finds splitters for n records, none of them in buckets of more than `limit` if all goes well.
 * Returns the number of buckets. */
size_t split_sample(struct split *s, const struct order *o, const char *records, size_t n,
		    size_t limit);

/* Keys outside the range of the sample belong to the first and the last cell. */
static inline size_t split_cell_of(const struct split *s, order_head head)
{
	if (UNLIKELY(head < s->base))
		return 0;
	order_head cell = (head - s->base) >> s->shift;
	return cell < s->cells ? (size_t)cell : s->cells - 1;
}

/* The bucket of a key: the number of splitters that are not greater. */
static inline size_t split_find(const struct split *s, order_head head)
{
	struct split_cell c = s->cell[split_cell_of(s, head)];
	const order_head *p = s->splitter + c.before;
	for (size_t left = c.inside; left > 0;) {
		size_t half = (left + 1) / 2;
		p += half & -(size_t)(p[half - 1] <= head);
		left -= half;
	}
	return (size_t)(p - s->splitter);
}
