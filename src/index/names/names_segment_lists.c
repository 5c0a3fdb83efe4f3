/* Lists of names by trigram: runs of neighbouring names, since names that lie side by side share
 * their beginning; 128 runs to a block, their gaps and their lengths each packed by bitpack.h. The
 * directory is sorted by trigram, with a table by first bytes before it. */
#include "index/names/names_segment_inner.h"

#include <inttypes.h>

static int names_bad_list(const struct names_segment *s, uint64_t at, struct err *err)
{
	return parts_damaged(&s->f, err, "the list of names at byte %" PRIu64 " is wrong", at);
}

static inline uint32_t trigram_number(const uint8_t t[NAMES_TRIGRAM])
{
	return (uint32_t)t[0] << 16 | (uint32_t)t[1] << 8 | t[2];
}

/* The trigrams that begin with a byte: their first and their last place. */
static bool directory_range(const struct names_segment *s, const uint8_t *table, uint8_t byte,
			    uint32_t *ret_lo, uint32_t *ret_hi)
{
	*ret_lo = load_u32(table, byte);
	*ret_hi = load_u32(table, (size_t)byte + 1);
	return *ret_lo <= *ret_hi && *ret_hi <= s->info.trigrams;
}

static uint32_t directory_trigram(const uint8_t *directory, uint32_t i)
{
	return load_u32(directory + (size_t)i * NAMES_DIRECTORY, 0) >> 8;
}

/* The first trigram of lo..hi that is not before the wanted one. */
static uint32_t directory_find(const uint8_t *directory, uint32_t lo, uint32_t hi, uint32_t want)
{
	return BISECT(i, lo, hi, directory_trigram(directory, i) < want);
}

static uint64_t directory_place(const uint8_t *entry)
{
	return (uint64_t)entry[0] << 32 | load_u32(entry + 4, 0);
}

static int open_directory_list(struct names_segment *s, const uint8_t *directory, uint32_t i,
			       struct names_list *ret, struct err *err)
{
	const uint8_t *entry = directory + (size_t)i * NAMES_DIRECTORY, *p;
	uint64_t lists = s->f.part[NAMES_LISTS].n, at = directory_place(entry);
	uint64_t stop = i + 1 < s->info.trigrams ? directory_place(entry + NAMES_DIRECTORY) : lists;
	ret->n = load_u32(entry + 8, 0);
	ret->segment = s;
	ret->run = ret->have = ret->next = 0;
	ret->last = UINT32_MAX - 1;
	if (at >= stop || stop > lists || ret->n == 0 || ret->n > s->info.names)
		return names_bad_list(s, at, err);
	uint64_t head = MIN(stop - at, 5);
	if (parts_bytes(&s->f, NAMES_LISTS, at, head, &p, err) < 0)
		return -1;
	bool bad = false;
	const uint8_t *q = p;
	ret->runs = names_varint(&q, p + head, &bad);
	uint64_t skip = (uint64_t)ret->runs / PACK_N * NAMES_SKIP;
	at += (uint64_t)(q - p);
	if (bad || ret->runs == 0 || ret->runs > ret->n || skip > stop - at)
		return names_bad_list(s, at, err);
	if (parts_bytes(&s->f, NAMES_LISTS, at, skip, &ret->skip, err) < 0)
		return -1;
	ret->at = at + skip;
	ret->stop = stop;
	return 0;
}

int names_list_open(struct names_segment *s, const uint8_t trigram[NAMES_TRIGRAM],
		    struct names_list *ret, struct err *err)
{
	const uint8_t *table;
	uint32_t lo, hi, want = trigram_number(trigram);
	if (parts_whole(&s->f, NAMES_TRIGRAMS, &table, err) < 0)
		return -1;
	const uint8_t *directory = table + (size_t)(NAMES_BYTES + 1) * 4;
	if (!directory_range(s, table, trigram[0], &lo, &hi))
		return parts_damaged(&s->f, err, "its table of trigrams is wrong");
	uint32_t i = directory_find(directory, lo, hi, want);
	if (i == hi || directory_trigram(directory, i) != want)
		return 1;
	return open_directory_list(s, directory, i, ret, err);
}

int names_list_prefix(struct names_segment *s, struct str prefix, uint32_t *at,
		      uint8_t ret_trigram[NAMES_TRIGRAM], struct names_list *ret, struct err *err)
{
	const uint8_t *table;
	uint8_t first[NAMES_TRIGRAM] = {0}, mask = prefix.n > 1 ? 0xff : 0;
	uint32_t lo, hi;
	if (prefix.n == 0 || prefix.n >= NAMES_TRIGRAM)
		return 1;
	memcpy(first, prefix.p, prefix.n);
	if (parts_whole(&s->f, NAMES_TRIGRAMS, &table, err) < 0)
		return -1;
	const uint8_t *directory = table + (size_t)(NAMES_BYTES + 1) * 4;
	if (!directory_range(s, table, first[0], &lo, &hi))
		return parts_damaged(&s->f, err, "its table of trigrams is wrong");
	uint32_t i = *at ? *at : directory_find(directory, lo, hi, trigram_number(first));
	if (i < lo || i >= hi)
		return 1;
	uint32_t found = directory_trigram(directory, i);
	if (found >> 16 != first[0] || ((found >> 8 ^ first[1]) & mask) != 0)
		return 1;
	for (unsigned k = 0; k < NAMES_TRIGRAM; k++)
		ret_trigram[k] = (uint8_t)(found >> (16 - 8 * k));
	*at = i + 1;
	return open_directory_list(s, directory, i, ret, err);
}

/* Over the blocks that end before `from`. */
static void skip_list_blocks(struct names_list *l, uint32_t from)
{
	uint32_t block = l->next / PACK_N, blocks = l->runs / PACK_N;
	for (const uint8_t *p = l->skip + (size_t)block * NAMES_SKIP; block < blocks;
	     block++, p += NAMES_SKIP) {
		uint32_t last = load_u32(p, 0);
		if (last >= from)
			break;
		l->last = last;
		l->at += (uint64_t)p[4] | (uint64_t)p[5] << 8;
		l->next += PACK_N;
	}
}

static bool add_up_runs(struct names_list *l, uint32_t n, uint32_t names)
{
	uint64_t last = (uint64_t)l->last + 2; /* UINT32_MAX - 1 at first: one before the first */
	if (l->last == UINT32_MAX - 1)
		last = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t gap = l->from[i], more = l->to[i];
		l->from[i] = (uint32_t)(last + gap);
		l->to[i] = (uint32_t)(last + (gap + more));
		last += gap + more + 2;
	}
	l->last = (uint32_t)(last - 2);
	return last - 2 < names; /* so none of them was too large */
}

static int unpack_runs(struct names_list *l, struct err *err)
{
	struct names_segment *s = l->segment;
	uint32_t n = MIN(l->runs - l->next, (uint32_t)PACK_N);
	uint64_t bytes = l->stop - l->at;
	const uint8_t *p, *q, *skip = NULL;
	if (n == PACK_N) {
		skip = l->skip + (size_t)(l->next / PACK_N) * NAMES_SKIP;
		bytes = MIN(bytes, (uint64_t)skip[4] | (uint64_t)skip[5] << 8);
	}
	if (parts_bytes(&s->f, NAMES_LISTS, l->at, bytes, &p, err) < 0)
		return -1;
	const uint8_t *stop = p + bytes;
	if (n == PACK_N) {
		q = unpack_block(p, stop, l->from);
		q = q ? unpack_block(q, stop, l->to) : NULL;
	} else {
		q = unpack_tail(p, stop, n, l->from);
		q = q ? unpack_tail(q, stop, n, l->to) : NULL;
	}
	if (q != stop || !add_up_runs(l, n, s->info.names) ||
	    (skip && l->last != load_u32(skip, 0)))
		return names_bad_list(s, l->at, err);
	l->at += bytes;
	l->next += n;
	l->run = 0;
	l->have = n;
	return 0;
}

/* Unpacks the first block that does not end before `from`. 1: no more. */
static int next_runs(struct names_list *l, uint32_t from, struct err *err)
{
	skip_list_blocks(l, from);
	if (l->next == l->runs)
		return 1;
	if (l->at > l->stop)
		return names_bad_list(l->segment, l->at, err);
	return unpack_runs(l, err);
}

int names_list_seek(struct names_list *l, uint32_t from, struct err *err)
{
	for (;;) {
		if (l->have && l->to[l->have - 1] >= from) {
			uint32_t run = l->run;
			while (l->to[run] < from)
				run++;
			l->run = run;
			return 0;
		}
		l->run = l->have = 0;
		int rc = next_runs(l, from, err);
		if (rc != 0)
			return rc;
	}
}

int names_list_block(struct names_list *l, uint32_t from, uint32_t ret[128], struct err *err)
{
	uint32_t n = 0;
	for (;;) {
		for (; l->run < l->have; l->run++) {
			uint32_t name = MAX(l->from[l->run], from), to = l->to[l->run];
			for (; name <= to && n < PACK_N; name++)
				ret[n++] = name;
			if (name <= to) {
				l->from[l->run] = name;
				return (int)n;
			}
		}
		if (n > 0)
			return (int)n;
		int rc = next_runs(l, from, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
}
