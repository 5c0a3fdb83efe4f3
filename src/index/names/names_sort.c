/* Sorting of names: eight bytes at a time, as numbers. First all names go to buckets by their first
 * two bytes, then each bucket is sorted by its numbers, and what has equal ones is a group to be
 * sorted by the next eight bytes. Groups wait in a list, so that long names that share all but
 * their ends take time in proportion to their bytes and no stack. Few names are one group: walking
 * over the buckets would cost more than all else. */
#include "index/names/names_sort.h"

#include "base/str.h"
#include "base/vec.h"

#include <endian.h>
#include <stdlib.h>

enum {
	KEY_BYTES = 8,
	SMALL = 24,
	BUCKETS = 1 << 16,
	BUCKETS_LEAST = 2048, /* names that are worth them */
	RADIX = 256,
	RADIX_LEAST = 512,
};

struct sort_group {
	uint32_t from, to; /* of keys */
	uint32_t depth;    /* bytes that are equal */
};

struct names_sort {
	const char *text;
	const struct names_sort_form *form;
	struct names_sort_key *key, *spare;
	struct sort_group *group;
	size_t groups, room;
};

/* Bytes past the end of a name count as zeroes. */
static inline uint64_t key_at(const struct names_sort *s, uint32_t form, uint32_t depth)
{
	const struct names_sort_form *f = &s->form[form];
	uint64_t v;
	memcpy(&v, s->text + f->at + depth, sizeof v);
	v = be64toh(v);
	uint32_t left = f->n - depth;
	return left >= KEY_BYTES ? v : left == 0 ? 0 : v & ~(UINT64_MAX >> 8 * left);
}

static void sort_small(struct names_sort_key *key, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct names_sort_key k = key[i];
		uint32_t at = i;
		for (; at > 0 && key[at - 1].key > k.key; at--)
			key[at] = key[at - 1];
		key[at] = k;
	}
}

/* By the bytes of the key in which there is a difference, the last one first. */
static void sort_radix(struct names_sort_key *key, struct names_sort_key *spare, uint32_t n)
{
	uint64_t differ = 0;
	for (uint32_t i = 1; i < n; i++)
		differ |= key[i].key ^ key[0].key;
	struct names_sort_key *from = key, *to = spare;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint32_t at[RADIX] = {0}, sum = 0;
		if ((differ >> shift & 0xff) == 0)
			continue;
		for (uint32_t i = 0; i < n; i++)
			at[from[i].key >> shift & 0xff]++;
		for (unsigned b = 0; b < RADIX; b++) {
			uint32_t count = at[b];
			at[b] = sum;
			sum += count;
		}
		for (uint32_t i = 0; i < n; i++)
			to[at[from[i].key >> shift & 0xff]++] = from[i];
		struct names_sort_key *swap = from;
		from = to;
		to = swap;
	}
	if (from != key)
		memcpy(key, from, n * sizeof *key);
}

static inline void swap_keys(struct names_sort_key *a, struct names_sort_key *b)
{
	struct names_sort_key k = *a;
	*a = *b;
	*b = k;
}

/* Up to RADIX_LEAST keys: halves around a middle one, the larger half waits in an array; what is
 * small enough is left to sort_small() at the end. Its depth cannot pass that of the array: each
 * part that is gone on with is at most half of the one before. */
static void sort_keys_quick(struct names_sort_key *key, uint32_t n)
{
	struct {
		struct names_sort_key *p;
		uint32_t n;
	} wait[32];
	unsigned waiting = 0;
	for (;;) {
		while (n > SMALL) {
			uint64_t a = key[0].key, b = key[n / 2].key, c = key[n - 1].key;
			uint64_t middle = a < b ? (b < c ? b : MAX(a, c)) : (a < c ? a : MAX(b, c));
			uint32_t lo = 0, hi = n - 1;
			for (;;) {
				while (key[lo].key < middle)
					lo++;
				while (key[hi].key > middle)
					hi--;
				if (lo >= hi)
					break;
				swap_keys(&key[lo++], &key[hi--]);
			}
			/* lo..: at least the middle; ..hi: at most */
			uint32_t left = hi + 1, right = n - left;
			if (left <= right) {
				wait[waiting].p = key + left;
				wait[waiting++].n = right;
				n = left;
			} else {
				wait[waiting].p = key;
				wait[waiting++].n = left;
				key += left;
				n = right;
			}
		}
		sort_small(key, n);
		if (waiting == 0)
			return;
		key = wait[--waiting].p;
		n = wait[waiting].n;
	}
}

static void sort_by_key(struct names_sort *s, uint32_t from, uint32_t to)
{
	uint32_t n = to - from;
	struct names_sort_key *key = s->key + from;
	if (n <= SMALL)
		sort_small(key, n);
	else if (n < RADIX_LEAST)
		sort_keys_quick(key, n);
	else
		sort_radix(key, s->spare + from, n);
}

static struct str own_bytes(const struct names_sort *s, uint32_t form)
{
	const struct names_sort_form *f = &s->form[form];
	const char *p = s->text + f->at;
	return f->other ? (struct str){p + f->n, f->other - 1} : (struct str){p, f->n};
}

static int compare_own_bytes(const void *a, const void *b, void *ctx)
{
	const struct names_sort_key *x = a, *y = b;
	return str_cmp(own_bytes(ctx, x->form), own_bytes(ctx, y->form));
}

static int compare_lengths(const void *a, const void *b, void *ctx)
{
	const struct names_sort *s = ctx;
	uint32_t x = s->form[((const struct names_sort_key *)a)->form].n;
	uint32_t y = s->form[((const struct names_sort_key *)b)->form].n;
	return x < y ? -1 : x != y ? 1 : compare_own_bytes(a, b, ctx);
}

/* Keys with the same eight bytes at depth: those that end there come first, the shorter before the
 * longer; equal ones by their own bytes. The others are a group of their own. */
static void split_equal(struct names_sort *s, uint32_t from, uint32_t to, uint32_t depth)
{
	uint32_t ended = from, deeper = depth + KEY_BYTES;
	for (uint32_t i = from; i < to; i++)
		if (s->form[s->key[i].form].n <= deeper)
			swap_keys(&s->key[i], &s->key[ended++]);
	if (ended - from > 1)
		qsort_r(s->key + from, ended - from, sizeof *s->key, compare_lengths, s);
	if (to - ended > 1)
		*VEC_PUSH(s->group, s->groups, s->room) = (struct sort_group){ended, to, deeper};
}

static void split_groups(struct names_sort *s, uint32_t from, uint32_t to, uint32_t depth)
{
	for (uint32_t i = from, k; i < to; i = k) {
		for (k = i + 1; k < to && s->key[k].key == s->key[i].key;)
			k++;
		if (k - i > 1)
			split_equal(s, i, k, depth);
	}
}

/* The next eight bytes of two names decide most groups. */
static void sort_group(struct names_sort *s, struct sort_group g)
{
	for (uint32_t i = g.from; i < g.to; i++)
		s->key[i].key = key_at(s, s->key[i].form, g.depth);
	sort_by_key(s, g.from, g.to);
	split_groups(s, g.from, g.to, g.depth);
}

static void sort_by_bucket(struct names_sort *s, uint32_t n)
{
	uint32_t *at = mem_array(BUCKETS + 1, sizeof *at);
	for (uint32_t i = 0; i < n; i++) {
		s->spare[i] = (struct names_sort_key){.key = key_at(s, i, 0), .form = i};
		at[(s->spare[i].key >> 48) + 1]++;
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		at[i + 1] += at[i];
	for (uint32_t i = 0; i < n; i++)
		s->key[at[s->spare[i].key >> 48]++] = s->spare[i];
	for (uint32_t i = 0, from = 0; i < BUCKETS; from = at[i++]) {
		sort_by_key(s, from, at[i]);
		split_groups(s, from, at[i], 0);
	}
	mem_free(&at);
}

struct names_sort_key *names_sort(const char *text, const struct names_sort_form *form, uint32_t n)
{
	struct names_sort s = {.text = text, .form = form};
	s.key = mem_array((size_t)n + 1, sizeof *s.key);
	s.spare = mem_array((size_t)n + 1, sizeof *s.spare);
	if (n >= BUCKETS_LEAST) {
		sort_by_bucket(&s, n);
	} else {
		for (uint32_t i = 0; i < n; i++)
			s.key[i].form = i;
		sort_group(&s, (struct sort_group){0, n, 0});
	}
	while (s.groups)
		sort_group(&s, s.group[--s.groups]);
	mem_free(&s.group);
	mem_free(&s.spare);
	return s.key;
}
