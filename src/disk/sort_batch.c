/* Batches of the sorter: records in memory, given in order when the batch is sealed. There are two
 * kinds.
 *
 * Radix batches hold records of fixed size with a key of bytes. The records of a full batch are
 * first thrown into some hundred buckets, so that each bucket and what is needed to sort it fit
 * into the processor's cache; then bucket by bucket is sorted when it is wanted. A sample of the
 * keys says where buckets begin: keys are anything but evenly spread, all pages of a site begin
 * alike.
 *
 * Pointer batches hold records of any size, or with a comparison of their own: pointers with the
 * first 8 bytes of the key next to them, in a merge sort. */
#include "disk/sort_batch_inner.h"

#include "disk/merge_inner.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Entries: pairs of 8 bytes of key and the place of a record, for records that lie side by side.
 * They are sorted by these bytes, then by the next 8 where the first do not decide. Stable. */

struct entry {
	uint64_t key;
	uint32_t at; /* number of the record */
};

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
static void entries_sort_loaded(const struct entries_source *s, struct entry *e,
				struct entry *spare, size_t n, size_t depth, uint64_t differ)
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

/* Fills and sorts the entries of n records of fixed size with a key of bytes. spare: as many. */
static void entries_sort(const struct order *o, const char *records, struct entry *e,
			 struct entry *spare, size_t n)
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

/* Splitters divide keys into buckets of about the same size, as a sample shows them. A table of
 * cells, an even division of the range, tells for most keys at once where they belong; only where
 * splitters lie inside a cell they are looked at. */

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

static void split_init(struct split *s, size_t buckets, size_t cells)
{
	s->cells = cells;
	s->splitter = mem_array(buckets, sizeof *s->splitter);
	s->sample = mem_array((buckets / 2 + 1) * SPLIT_SAMPLES, sizeof *s->sample);
	s->cell = mem_array(cells, sizeof *s->cell);
}

static void split_free(struct split *s)
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

/* A key that fills buckets alone gets one of its own: the next splitter is just after it. */
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

/* Finds splitters for n records, none of them in buckets of more than `limit` if all goes well.
 * Returns the number of buckets. */
static size_t split_sample(struct split *s, const struct order *o, const char *records, size_t n,
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

/* Radix batches */

enum {
	BUCKET_MOST = 16 << 10, /* records */
	BUCKET_BYTES = 2 << 20, /* records, entries and spare */
	AHEAD = 8,              /* records that are fetched before they are wanted */
	HUGE_PAGE = 2 << 20,
	CELLS = 1 << 13,
	CELLS_FEW = 1 << 9,
	CELLS_FROM = 4 << 20, /* bytes of memory */
};

struct bucket {
	size_t from, n;
};

struct radix {
	struct order order;
	size_t room, limit; /* records: in a batch, in a bucket that is sorted at once */
	char *adding, *giving;
	size_t added;
	size_t cells;
	struct split split;
	uint16_t *where; /* the bucket of each record */
	uint32_t *place; /* in each bucket, of the next record */
	struct bucket *bucket;
	size_t nbuckets, next_bucket;
	/* the current bucket: entries, or a merge of its parts, or records that are in order */
	const char *records;
	struct entry *entry, *spare;
	size_t at, n, plain;
	char *part_space;
	struct merge *merge;
	struct stream_reader *part, **parts;
};

static void *radix_memory(size_t n)
{
	size_t align = n >= (size_t)4 * HUGE_PAGE ? HUGE_PAGE : 64;
	void *p = aligned_alloc(align, (n + align - 1) / align * align);
	if (!p)
		die("out of memory (%zu bytes wanted for sorting)", n);
	if (align == HUGE_PAGE)
		(void)madvise(p, n, MADV_HUGEPAGE);
	return p;
}

static void *radix_new(const struct order *order, size_t memory)
{
	struct radix *b = mem_alloc(sizeof *b);
	b->order = *order;
	size_t size = order->size, each = size + 2 * sizeof(struct entry);
	size_t most = MIN(MIN((size_t)BUCKET_MOST, MAX(BUCKET_BYTES / each, (size_t)256)),
			  memory / 4 / each);
	b->limit = MAX(most, (size_t)16);
	b->cells = memory >= CELLS_FROM ? CELLS : CELLS_FEW;
	size_t fixed = b->limit * each + b->cells * SPLIT_CELL;
	size_t one = 2 * size + sizeof *b->where + SPLIT_EACH / (b->limit * SPLIT_FULL / 100) + 1;
	b->room = MAX(memory > fixed ? (memory - fixed) / one : 0, b->limit);
	b->room = MIN(b->room, (size_t)SPLIT_MOST * b->limit * SPLIT_FULL / 100);
	b->adding = radix_memory(b->room * size);
	return b;
}

static void radix_end_bucket(struct radix *b)
{
	merge_free(&b->merge);
	mem_free(&b->part);
	mem_free(&b->parts);
	b->at = b->n = b->plain = 0;
}

static void radix_free(void *batch)
{
	struct radix *b = batch;
	radix_end_bucket(b);
	free(b->adding);
	free(b->giving);
	split_free(&b->split);
	free(b->where);
	free(b->place);
	free(b->entry);
	free(b->spare);
	free(b->part_space);
	free(b->bucket);
	mem_free(&b);
}

static int radix_add(void *batch, struct str rec)
{
	struct radix *b = batch;
	if (b->added == b->room)
		return 1;
	memcpy(b->adding + b->added++ * b->order.size, rec.p, b->order.size);
	return 0;
}

static inline void radix_copy_record(char *to, const char *from, size_t size)
{
	if (LIKELY(size == 32))
		memcpy(to, from, 32);
	else
		memcpy(to, from, size);
}

static void radix_scratch_memory(struct radix *b)
{
	if (b->giving)
		return;
	size_t buckets = 2 * (b->room / (b->limit * SPLIT_FULL / 100)) + 2;
	b->giving = radix_memory(b->room * b->order.size);
	b->where = radix_memory(b->room * sizeof *b->where);
	b->entry = radix_memory((b->limit + AHEAD) * sizeof *b->entry);
	memset(b->entry + b->limit, 0, AHEAD * sizeof *b->entry);
	b->spare = radix_memory(b->limit * sizeof *b->spare);
	b->part_space = radix_memory(b->limit * b->order.size);
	b->bucket = radix_memory(buckets * sizeof *b->bucket);
	b->place = radix_memory(buckets * sizeof *b->place);
	split_init(&b->split, buckets, b->cells);
}

/* Counts, then moves: a record is thrown only once. */
static void radix_scatter(struct radix *b)
{
	size_t size = b->order.size, from = 0;
	size_t n = split_sample(&b->split, &b->order, b->adding, b->added, b->limit);
	memset(b->place, 0, n * sizeof *b->place);
	for (size_t i = 0; i < b->added; i++) {
		struct str rec = {b->adding + i * size, size};
		size_t to = split_find(&b->split, order_head_of(&b->order, rec));
		b->where[i] = (uint16_t)to;
		b->place[to]++;
	}
	for (size_t i = 0; i < n; i++) {
		b->bucket[i] = (struct bucket){from, b->place[i]};
		b->place[i] = (uint32_t)from;
		from += b->bucket[i].n;
	}
	for (size_t i = 0; i < b->added; i++)
		radix_copy_record(b->giving + b->place[b->where[i]]++ * size, b->adding + i * size,
				  size);
	b->nbuckets = n;
}

static void radix_seal(void *batch)
{
	struct radix *b = batch;
	radix_end_bucket(b);
	radix_scratch_memory(b);
	if (b->added <= b->limit) {
		char *records = b->adding;
		b->adding = b->giving;
		b->giving = records;
		b->bucket[0] = (struct bucket){0, b->added};
		b->nbuckets = 1;
	} else {
		radix_scatter(b);
	}
	b->added = 0;
	b->next_bucket = 0;
}

static bool radix_all_equal(const struct radix *b, const char *records, size_t n)
{
	size_t size = b->order.size;
	const char *key = records + b->order.key_at;
	for (size_t i = 1; i < n; i++)
		if (memcmp(key, key + i * size, b->order.key_len) != 0)
			return false;
	return true;
}

/* A part of a bucket that is too large: its records are put in order where they lie. */
static void radix_sort_part(struct radix *b, char *records, size_t n)
{
	size_t size = b->order.size;
	entries_sort(&b->order, records, b->entry, b->spare, n);
	for (size_t i = 0; i < n; i++)
		radix_copy_record(b->part_space + i * size, records + b->entry[i].at * size, size);
	memcpy(records, b->part_space, n * size);
}

/* The sample was wrong, or the heads of too many keys are equal: parts are sorted, then merged. */
static int radix_begin_large(struct radix *b, char *records, size_t n, struct err *err)
{
	size_t parts = (n + b->limit - 1) / b->limit, size = b->order.size;
	b->part = mem_array(parts, sizeof *b->part);
	b->parts = mem_array(parts, sizeof *b->parts);
	for (size_t i = 0; i < parts; i++) {
		char *from = records + i * b->limit * size;
		size_t here = MIN(b->limit, n - i * b->limit);
		radix_sort_part(b, from, here);
		b->part[i] = stream_over((struct str){from, here * size});
		b->parts[i] = &b->part[i];
	}
	return merge_new(&b->merge, &b->order, b->parts, parts, err);
}

static int radix_begin_bucket(struct radix *b, struct err *err)
{
	radix_end_bucket(b);
	struct bucket k = b->bucket[b->next_bucket++];
	char *records = b->giving + k.from * b->order.size;
	b->records = records;
	if (k.n > b->limit && radix_all_equal(b, records, k.n)) {
		b->plain = k.n;
		return 0;
	}
	if (k.n > b->limit)
		return radix_begin_large(b, records, k.n, err);
	entries_sort(&b->order, records, b->entry, b->spare, k.n);
	b->n = k.n;
	return 0;
}

static __attribute__((noinline)) int radix_next_elsewhere(struct radix *b, struct str *ret,
							  struct err *err)
{
	for (;;) {
		struct merge_record r;
		int rc = b->merge ? merge_next(b->merge, &r, err) : 1;
		if (rc <= 0) {
			*ret = r.rec;
			return rc;
		}
		if (b->at < b->plain) {
			*ret = (struct str){b->records + b->at++ * b->order.size, b->order.size};
			return 0;
		}
		if (b->next_bucket == b->nbuckets)
			return 1;
		if (radix_begin_bucket(b, err) < 0)
			return -1;
		if (b->n) {
			*ret = (struct str){b->records + b->entry[b->at++].at * b->order.size,
					    b->order.size};
			return 0;
		}
	}
}

static inline int radix_next_quick(struct radix *b, struct str *ret, struct err *err)
{
	if (UNLIKELY(b->at >= b->n))
		return radix_next_elsewhere(b, ret, err);
	__builtin_prefetch(b->records + b->entry[b->at + AHEAD].at * b->order.size);
	*ret = (struct str){b->records + b->entry[b->at++].at * b->order.size, b->order.size};
	return 0;
}

static int radix_next(void *batch, struct str *ret, struct err *err)
{
	return radix_next_quick(batch, ret, err);
}

const struct batch_ops sort_radix = {
	.new = radix_new,
	.free = radix_free,
	.add = radix_add,
	.seal = radix_seal,
	.next = radix_next,
};

/* Pointer batches: records grow from the one end of the memory, pointers from the other. */

struct ptr {
	uint64_t key;
	const char *rec;
};

struct half {
	char *memory;
	size_t used; /* by records */
	size_t n;
};

struct pointers {
	struct order order;
	size_t room; /* bytes of a half, a multiple of what a pointer needs */
	struct half adding, giving;
	size_t at;
	bool sorted;
};

enum { POINTERS_FEW = 12 };

static char *pointers_half_memory(const struct pointers *b)
{
	char *p = malloc(b->room);
	if (!p)
		die("out of memory (%zu bytes wanted for sorting)", b->room);
	return p;
}

static void *pointers_new(const struct order *order, size_t memory)
{
	struct pointers *b = mem_alloc(sizeof *b);
	b->order = *order;
	b->room = memory / 2 / sizeof(struct ptr) * sizeof(struct ptr);
	b->adding.memory = pointers_half_memory(b);
	return b;
}

static void pointers_free(void *batch)
{
	struct pointers *b = batch;
	free(b->adding.memory);
	free(b->giving.memory);
	mem_free(&b);
}

/* The last one added is the first in memory. */
static struct ptr *pointers_of(const struct pointers *b, const struct half *h)
{
	return (struct ptr *)(b->room + (uintptr_t)h->memory) - h->n;
}

static size_t pointer_prefix(const struct pointers *b)
{
	return b->order.size ? 0 : ORDER_LENGTH;
}

static struct str pointer_record(const struct pointers *b, const char *rec)
{
	uint32_t n = (uint32_t)b->order.size;
	if (!n)
		memcpy(&n, rec - ORDER_LENGTH, sizeof n);
	return (struct str){rec, n};
}

/* Next to its pointer each record needs a place for sorting them. */
static int pointers_add(void *batch, struct str rec)
{
	struct pointers *b = batch;
	struct half *h = &b->adding;
	size_t taken = h->used + 2 * (h->n + 1) * sizeof(struct ptr);
	if (taken > b->room || pointer_prefix(b) + rec.n > b->room - taken)
		return 1;
	uint32_t n = (uint32_t)rec.n;
	memcpy(h->memory + h->used, &n, pointer_prefix(b));
	char *to = h->memory + h->used + pointer_prefix(b);
	if (rec.n)
		memcpy(to, rec.p, rec.n);
	h->used += pointer_prefix(b) + rec.n;
	h->n++;
	order_head head = order_head_of(&b->order, (struct str){to, rec.n});
	*pointers_of(b, h) = (struct ptr){(uint64_t)(head >> 64), to};
	return 0;
}

static bool pointer_after(const struct pointers *b, const struct ptr *x, const struct ptr *y)
{
	if (x->key != y->key)
		return x->key > y->key;
	return order_compare(&b->order, pointer_record(b, x->rec), pointer_record(b, y->rec)) > 0;
}

static void pointers_insertion(const struct pointers *b, struct ptr *p, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct ptr x = p[i];
		size_t k = i;
		for (; k > 0 && pointer_after(b, &p[k - 1], &x); k--)
			p[k] = p[k - 1];
		p[k] = x;
	}
}

static void pointers_merge_sort(const struct pointers *b, struct ptr *p, struct ptr *spare,
				size_t n)
{
	if (n <= POINTERS_FEW) {
		pointers_insertion(b, p, n);
		return;
	}
	size_t half = n / 2;
	pointers_merge_sort(b, p, spare, half);
	pointers_merge_sort(b, p + half, spare, n - half);
	if (!pointer_after(b, &p[half - 1], &p[half]))
		return;
	memcpy(spare, p, half * sizeof *p);
	size_t i = 0, k = half, to = 0;
	while (i < half && k < n)
		p[to++] = pointer_after(b, &spare[i], &p[k]) ? p[k++] : spare[i++];
	memcpy(p + to, spare + i, (half - i) * sizeof *p);
}

static void pointers_seal(void *batch)
{
	struct pointers *b = batch;
	struct half h = b->giving;
	b->giving = b->adding;
	b->adding = h;
	b->adding.n = b->adding.used = 0;
	if (!b->adding.memory)
		b->adding.memory = pointers_half_memory(b);
	b->at = 0;
	b->sorted = false;
}

/* They lie in the reverse of the order in which they were added. */
static void pointers_sort_given(struct pointers *b)
{
	struct ptr *p = pointers_of(b, &b->giving);
	size_t n = b->giving.n;
	for (size_t i = 0; i < n / 2; i++) {
		struct ptr x = p[i];
		p[i] = p[n - 1 - i];
		p[n - 1 - i] = x;
	}
	pointers_merge_sort(b, p, p - n, n);
	b->sorted = true;
}

static int pointers_next(void *batch, struct str *ret, struct err *err)
{
	(void)err;
	struct pointers *b = batch;
	if (!b->sorted)
		pointers_sort_given(b);
	if (b->at == b->giving.n)
		return 1;
	*ret = pointer_record(b, pointers_of(b, &b->giving)[b->at++].rec);
	return 0;
}

const struct batch_ops sort_pointers = {
	.new = pointers_new,
	.free = pointers_free,
	.add = pointers_add,
	.seal = pointers_seal,
	.next = pointers_next,
};
