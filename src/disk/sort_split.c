#include "disk/sort_split.h"

#include <stdlib.h>

void split_init(struct split *s, size_t buckets, size_t cells)
{
	s->cells = cells;
	s->splitter = mem_array(buckets, sizeof *s->splitter);
	s->sample = mem_array((buckets / 2 + 1) * SPLIT_SAMPLES, sizeof *s->sample);
	s->cell = mem_array(cells, sizeof *s->cell);
}

void split_free(struct split *s)
{
	mem_free(&s->splitter);
	mem_free(&s->sample);
	mem_free(&s->cell);
}

static int split_by_head(const void *a, const void *b)
{
	order_head x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static unsigned split_bits_of(order_head v)
{
	uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
	return high  ? 128 - (unsigned)__builtin_clzll(high)
	       : low ? 64 - (unsigned)__builtin_clzll(low)
		     : 0;
}

/* A key that fills buckets alone gets one of its own: the next splitter is just behind it. */
static void split_choose(struct split *s, size_t samples, size_t step)
{
	s->n = 0;
	for (size_t i = step; i < samples; i += step) {
		order_head key = s->sample[i];
		bool again = s->n && s->splitter[s->n - 1] >= key;
		if (!again)
			s->splitter[s->n++] = key;
		else if (s->splitter[s->n - 1] == key && key + 1 != 0)
			s->splitter[s->n++] = key + 1;
	}
}

static void split_fill_cells(struct split *s)
{
	memset(s->cell, 0, s->cells * sizeof *s->cell);
	for (size_t i = 0; i < s->n; i++)
		s->cell[split_cell_of(s, s->splitter[i])].inside++;
	for (size_t i = 1; i < s->cells; i++)
		s->cell[i].before = (uint16_t)(s->cell[i - 1].before + s->cell[i - 1].inside);
}

size_t split_sample(struct split *s, const struct order *o, const char *records, size_t n,
		    size_t limit)
{
	size_t buckets = n / (limit * SPLIT_FULL / 100) + 1, samples = buckets * SPLIT_SAMPLES;
	for (size_t i = 0; i < samples; i++) {
		size_t at = (size_t)((unsigned __int128)n * i / samples);
		s->sample[i] = order_head_of(o, (struct str){records + at * o->size, o->size});
	}
	qsort(s->sample, samples, sizeof *s->sample, split_by_head);
	unsigned want = split_bits_of(s->cells - 1);
	unsigned bits = split_bits_of(s->sample[samples - 1] - s->sample[0]);
	s->base = s->sample[0];
	s->shift = bits > want ? bits - want : 0;
	split_choose(s, samples, SPLIT_SAMPLES);
	split_fill_cells(s);
	return s->n + 1;
}
