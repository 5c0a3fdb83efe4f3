/* One segment of several: their names come in order, the least of all first, and go through the
 * same writer as names that are collected, with the numbers of their entries anew. What is in
 * memory is one name with its forms and entries, and what the writer keeps. */
#include "base/arena.h"
#include "base/heap.h"
#include "base/vec.h"
#include "index/names/names_segment_inner.h"

#include <inttypes.h>
#include <stdlib.h>

/* Kept entries of a segment, ascending, and what they become. */
struct kept_range {
	uint32_t from, n, to;
};

struct merge_input {
	struct names_walk walk;
	struct kept_range *range;
	size_t ranges, room;
	uint64_t wanted, taken; /* entries that are kept; that were found */
};

/* Inputs in the order of their names; of equal names the first input comes first. */
static bool input_is_before(struct merge_input *const *a, struct merge_input *const *b)
{
	int order = str_cmp((*a)->walk.folded, (*b)->walk.folded);
	return order < 0 || (order == 0 && *a < *b);
}
HEAP(input_heap, struct merge_input *, input_is_before, HEAP_STAY)

struct merged_form {
	struct str text; /* in the arena */
	size_t at;       /* of its entries */
	uint32_t n;
};

struct names_merge {
	struct merge_input *in;
	size_t nin;
	struct input_heap heap;
	struct buf name; /* that is merged */
	struct arena arena;
	struct merged_form *form;
	size_t forms, form_room;
	uint32_t *entry;
	size_t entries, entry_room;
	struct names_put_form *put;
	size_t puts, put_room;
	struct names_sample sample;
	struct names_put *out;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct kept_range *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Spreads the ranges over the inputs; *ret_entries is how many there are in all. */
static int spread_ranges(struct names_merge *m, struct names_segment *const *in,
			 const struct names_range *keep, size_t nkeep, uint64_t *ret_entries,
			 struct err *err)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < nkeep; i++) {
		const struct names_range *k = &keep[i];
		uint32_t have =
			k->segment < m->nin ? names_segment_info(in[k->segment])->entries : 0;
		if (k->from > have || k->n > have - k->from || sum + k->n > NAMES_ENTRIES_MOST)
			return err_set(err, ERR_USAGE,
				       "entries %" PRIu32 " to %" PRIu64 " of segment %" PRIu32
				       " cannot be kept: it has %" PRIu32,
				       k->from, (uint64_t)k->from + k->n, k->segment, have);
		struct merge_input *input = &m->in[k->segment];
		if (k->n)
			*VEC_PUSH(input->range, input->ranges, input->room) =
				(struct kept_range){k->from, k->n, (uint32_t)sum};
		input->wanted += k->n;
		sum += k->n;
	}
	for (size_t i = 0; i < m->nin; i++) {
		struct merge_input *input = &m->in[i];
		if (input->ranges > 1)
			qsort(input->range, input->ranges, sizeof *input->range, compare_ranges);
		for (size_t k = 1; k < input->ranges; k++)
			if (input->range[k - 1].from + input->range[k - 1].n > input->range[k].from)
				return err_set(err, ERR_USAGE,
					       "entry %" PRIu32 " of segment %zu is kept twice",
					       input->range[k].from, i);
	}
	*ret_entries = sum;
	return 0;
}

/* The kept ones of n entries, in place; how many. */
static size_t renumber_entries(const struct merge_input *in, uint32_t *entry, size_t n)
{
	size_t kept = 0;
	if (n == 0)
		return 0;
	size_t lo = BISECT(i, 0, in->ranges, in->range[i].from + (in->range[i].n - 1) < entry[0]);
	for (size_t i = 0; i < n && lo < in->ranges; i++) {
		const struct kept_range *r = &in->range[lo];
		while (entry[i] >= r->from + r->n) {
			if (++lo == in->ranges)
				return kept;
			r = &in->range[lo];
		}
		if (entry[i] >= r->from)
			entry[kept++] = r->to + (entry[i] - r->from);
	}
	return kept;
}

/* Sampling, before anything is written: of the names that will be there. */

/* Whether any of its entries is kept. */
static int is_kept(const struct merge_input *in, struct names_walk *w, struct err *err)
{
	uint32_t entry[256];
	for (uint32_t i = 0; i < w->forms; i++) {
		struct names_form form;
		if (names_form_get(w, i, &form, err) < 0)
			return -1;
		for (uint32_t at = 0; at < form.entries; at += ARRAY_LEN(entry)) {
			int n = names_form_entries(w, &form, at, ARRAY_LEN(entry), entry, err);
			if (n < 0)
				return -1;
			if (renumber_entries(in, entry, (size_t)n) > 0)
				return 1;
		}
	}
	return 0;
}

static int sample_input(const struct merge_input *in, struct names_segment *segment,
			struct names_sample *sample, struct err *err)
{
	struct names_walk w;
	uint64_t hash;
	int rc = names_walk_begin(&w, segment, 0, err);
	while (rc == 0 && (rc = names_walk_next(&w, err)) == 0) {
		if (!names_sample_wants(sample, w.folded, &hash))
			continue;
		int kept = is_kept(in, &w, err);
		if (kept > 0)
			names_sample_add(sample, w.folded, hash);
		rc = MIN(kept, 0);
	}
	names_walk_end(&w);
	return MIN(rc, 0);
}

static int begin_inputs(struct names_merge *m, struct names_segment *const *in, struct err *err)
{
	for (size_t i = 0; i < m->nin; i++) {
		if (m->in[i].ranges == 0)
			continue;
		int rc = names_walk_begin(&m->in[i].walk, in[i], 0, err);
		if (rc == 0)
			rc = names_walk_next(&m->in[i].walk, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			input_heap_push(&m->heap, &m->in[i]);
	}
	return 0;
}

/* One name */

static int take_forms(struct names_merge *m, struct merge_input *in, struct err *err)
{
	for (uint32_t i = 0; i < in->walk.forms; i++) {
		struct names_form form;
		if (names_form_get(&in->walk, i, &form, err) < 0)
			return -1;
		VEC_ROOM(m->entry, m->entry_room, m->entries + form.entries);
		uint32_t *to = m->entry + m->entries;
		if (names_form_entries(&in->walk, &form, 0, form.entries, to, err) < 0)
			return -1;
		size_t kept = renumber_entries(in, to, form.entries);
		if (kept == 0)
			continue;
		*VEC_PUSH(m->form, m->forms, m->form_room) = (struct merged_form){
			arena_str(&m->arena, form.text), m->entries, (uint32_t)kept};
		m->entries += kept;
		in->taken += kept;
	}
	return 0;
}

static int compare_merged(const void *a, const void *b)
{
	const struct merged_form *x = a, *y = b;
	int order = str_cmp(x->text, y->text);
	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static int compare_entries(const void *a, const void *b)
{
	uint32_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

static void sort_entries(uint32_t *entry, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (entry[i] < entry[i - 1]) {
			qsort(entry, n, sizeof *entry, compare_entries);
			return;
		}
}

/* Equal forms of several inputs become one; their entries are put side by side after all others. */
static int put_merged(struct names_merge *m, struct err *err)
{
	if (m->forms > 1)
		qsort(m->form, m->forms, sizeof *m->form, compare_merged);
	VEC_ROOM(m->entry, m->entry_room, 2 * m->entries);
	uint32_t *to = m->entry + m->entries;
	m->puts = 0;
	for (size_t i = 0, k; i < m->forms; i = k) {
		uint32_t n = 0;
		for (k = i; k < m->forms && str_eq(m->form[k].text, m->form[i].text); k++) {
			memcpy(to + n, m->entry + m->form[k].at, m->form[k].n * sizeof *to);
			n += m->form[k].n;
		}
		sort_entries(to, n);
		*VEC_PUSH(m->put, m->puts, m->put_room) =
			(struct names_put_form){m->form[i].text, to, n};
		to += n;
	}
	return m->puts ? names_put(m->out, buf_str(&m->name), m->put, (uint32_t)m->puts, err) : 0;
}

static int merge_name(struct names_merge *m, struct err *err)
{
	struct merge_input **first = input_heap_top(&m->heap);
	arena_clear(&m->arena);
	m->forms = m->entries = 0;
	buf_clear(&m->name);
	buf_add_str(&m->name, (*first)->walk.folded);
	for (; first && str_eq((*first)->walk.folded, buf_str(&m->name));
	     first = input_heap_top(&m->heap)) {
		struct merge_input *in = *first;
		if (take_forms(m, in, err) < 0)
			return -1;
		int rc = names_walk_next(&in->walk, err);
		if (rc < 0)
			return -1;
		if (rc == 0 && str_cmp(in->walk.folded, buf_str(&m->name)) <= 0)
			return parts_damaged(&in->walk.segment->f, err,
					     "its names are not in order");
		if (rc > 0)
			(void)input_heap_pop(&m->heap, &in);
		else
			input_heap_fix(&m->heap, 0);
	}
	return put_merged(m, err);
}

static void release_merge(struct names_merge *m)
{
	for (size_t i = 0; i < m->nin; i++) {
		names_walk_end(&m->in[i].walk);
		mem_free(&m->in[i].range);
	}
	names_put_drop(&m->out);
	names_sample_free(&m->sample);
	mem_free(&m->in);
	input_heap_free(&m->heap);
	mem_free(&m->form);
	mem_free(&m->entry);
	mem_free(&m->put);
	buf_free(&m->name);
	arena_free(&m->arena);
}

int names_segment_merge(struct names_segment *const *in, size_t nin, const struct names_range *keep,
			size_t nkeep, uint64_t memory, const char *folder, const char *path,
			struct err *err)
{
	CLEANUP(release_merge)
	struct names_merge m = {.nin = nin, .arena = ARENA_INIT(SIZE_MAX / 2)};
	uint64_t entries = 0;
	m.in = mem_array(nin + 1, sizeof *m.in);
	m.name = BUF_INIT(NAMES_FOLDED_MOST);
	names_sample_init(&m.sample);
	if (spread_ranges(&m, in, keep, nkeep, &entries, err) < 0)
		return -1;
	for (size_t i = 0; i < nin; i++)
		if (m.in[i].ranges && sample_input(&m.in[i], in[i], &m.sample, err) < 0)
			return -1;
	if (begin_inputs(&m, in, err) < 0 ||
	    names_put_begin(&m.out, path, &m.sample, (uint32_t)entries, memory, folder, err) < 0)
		return -1;
	while (input_heap_count(&m.heap))
		if (merge_name(&m, err) < 0)
			return -1;
	for (size_t i = 0; i < nin; i++)
		if (names_segment_check(in[i], err) < 0)
			return -1;
	for (size_t i = 0; i < nin; i++)
		if (m.in[i].taken != m.in[i].wanted)
			return parts_damaged(&in[i]->f, err, "its entries are not each there once");
	return names_put_finish(&m.out, err);
}
