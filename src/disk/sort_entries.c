#include "disk/sort_entries.h"

enum {
	ENTRIES_FEW = 24,    /* are sorted by insertion */
	ENTRIES_MANY = 1500, /* are worth two passes of ENTRIES_WIDE bits */
	ENTRIES_WIDE = 11,
	ENTRIES_NARROW = 8,
};

struct entries_source {
	const struct order *order;
	const char *records;
};

static uint64_t entry_load(const struct entries_source *s, uint32_t at, size_t depth)
{
	const struct order *o = s->order;
	const char *p = s->records + at * o->size + o->key_at + depth;
	if (LIKELY(o->key_len - depth >= 8))
		return order_u64(p);
	char bytes[8] = {0};
	memcpy(bytes, p, o->key_len - depth);
	return order_u64(bytes);
}

static void entries_insertion(struct entry *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct entry x = e[i];
		size_t k = i;
		for (; k > 0 && e[k - 1].key > x.key; k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

static void entries_start_places(uint32_t *place, size_t n)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t here = place[i];
		place[i] = sum;
		sum += here;
	}
}

/* By the 8 highest bits that differ. */
static void entries_one_pass(struct entry *e, struct entry *spare, size_t n, unsigned shift)
{
	uint32_t place[1 << ENTRIES_NARROW] = {0};
	for (size_t i = 0; i < n; i++)
		place[e[i].key >> shift & 0xff]++;
	entries_start_places(place, ARRAY_LEN(place));
	for (size_t i = 0; i < n; i++)
		spare[place[e[i].key >> shift & 0xff]++] = e[i];
	memcpy(e, spare, n * sizeof *e);
}

/* By the 22 highest bits that differ, the lower half of them first. */
static void entries_two_passes(struct entry *e, struct entry *spare, size_t n, unsigned shift)
{
	uint32_t low[1 << ENTRIES_WIDE] = {0}, high[1 << ENTRIES_WIDE] = {0};
	const uint64_t mask = (1 << ENTRIES_WIDE) - 1;
	for (size_t i = 0; i < n; i++) {
		low[e[i].key >> shift & mask]++;
		high[e[i].key >> (shift + ENTRIES_WIDE) & mask]++;
	}
	entries_start_places(low, ARRAY_LEN(low));
	entries_start_places(high, ARRAY_LEN(high));
	for (size_t i = 0; i < n; i++)
		spare[low[e[i].key >> shift & mask]++] = e[i];
	for (size_t i = 0; i < n; i++)
		e[high[spare[i].key >> (shift + ENTRIES_WIDE) & mask]++] = spare[i];
}

/* Sorts entries whose keys were loaded from `depth`, and on from there. Each round either settles
 * at least 8 bits that differ or goes on by 8 bytes, so that the depth of the recursion is bounded
 * by the length of the key. */
static void entries_sort_loaded(const struct entries_source *s, struct entry *e, struct entry *spare, size_t n,
			size_t depth, uint64_t differ)
{
	while (differ == 0) {
		depth += 8;
		if (depth >= s->order->key_len)
			return;
		for (size_t i = 0; i < n; i++) {
			e[i].key = entry_load(s, e[i].at, depth);
			differ |= e[i].key ^ e[0].key;
		}
	}
	unsigned top = 64 - (unsigned)__builtin_clzll(differ), settled = 0;
	if (n <= ENTRIES_FEW) {
		entries_insertion(e, n);
	} else if (n <= ENTRIES_MANY) {
		settled = top > ENTRIES_NARROW ? top - ENTRIES_NARROW : 0;
		entries_one_pass(e, spare, n, settled);
	} else {
		settled = top > 2 * ENTRIES_WIDE ? top - 2 * ENTRIES_WIDE : 0;
		entries_two_passes(e, spare, n, settled);
	}
	if (settled == 0 && depth + 8 >= s->order->key_len)
		return;
	for (size_t i = 0, k; i < n; i = k) {
		uint64_t same = e[i].key >> settled;
		differ = 0;
		for (k = i + 1; k < n && e[k].key >> settled == same; k++)
			differ |= e[k].key ^ e[i].key;
		if (k - i > 1)
			entries_sort_loaded(s, e + i, spare + i, k - i, depth, differ);
	}
}

void entries_sort(const struct order *o, const char *records, struct entry *e, struct entry *spare,
		  size_t n)
{
	const struct entries_source s = {o, records};
	uint64_t differ = 0;
	for (size_t i = 0; i < n; i++) {
		e[i] = (struct entry){entry_load(&s, (uint32_t)i, 0), (uint32_t)i};
		differ |= e[i].key ^ e[0].key;
	}
	if (n > 1)
		entries_sort_loaded(&s, e, spare, n, 0, differ);
}
