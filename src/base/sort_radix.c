/* Batches of records of fixed size with a key of bytes: the records of a full batch are first
 * thrown into some hundred buckets by the head of their keys, so that each bucket and what is
 * needed to sort it fit into the processor's cache; then bucket by bucket is sorted when it is
 * wanted. */
#include "base/merge.h"
#include "base/sort_batch.h"
#include "base/sort_entries.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
	BUCKET_MOST = 16 << 10, /* records */
	BUCKET_BYTES = 2 << 20, /* records, entries and spare */
	CELLS_MOST = 1 << 13,
	CELLS_LEAST = 1 << 10,
	SAMPLE = 4096,
	AHEAD = 8, /* records that are fetched before they are wanted */
	HUGE_PAGE = 2 << 20,
};

struct bucket {
	size_t from, n;
};

/* Where a key belongs: the range of the keys, as a sample shows it, in equal cells. */
struct cells {
	order_head base;
	unsigned shift;
	size_t n;
	uint32_t *count;  /* records; later the place of the next one */
	uint16_t *bucket; /* of the cell */
};

struct radix {
	struct order order;
	size_t room, limit; /* records: in a batch, in a bucket that is sorted at once */
	char *adding, *giving;
	size_t added;
	struct cells cells;
	struct bucket *bucket;
	size_t nbuckets, next_bucket;
	/* the bucket at hand: entries, or a merge of its parts, or records that are in order */
	const char *records;
	struct entry *entry, *spare;
	size_t at, n, plain;
	char *part_space;
	struct merge *merge;
	struct stream_reader *part, **parts;
};

static void *big_memory(size_t n)
{
	size_t align = n >= 4 * HUGE_PAGE ? HUGE_PAGE : 64;
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
	b->cells.n = memory >= (4 << 20) ? CELLS_MOST : CELLS_LEAST;
	size_t cells = b->cells.n * (sizeof *b->cells.count + sizeof *b->cells.bucket);
	size_t fixed = b->limit * each + cells;
	b->room = MAX(memory > fixed ? (memory - fixed) / (2 * size) : 0, b->limit);
	b->room = MIN(b->room, (size_t)UINT32_MAX);
	b->adding = big_memory(b->room * size);
	return b;
}

static void end_bucket(struct radix *b)
{
	merge_free(&b->merge);
	mem_free(&b->part);
	mem_free(&b->parts);
	b->at = b->n = b->plain = 0;
}

static void radix_free(void *batch)
{
	struct radix *b = batch;
	end_bucket(b);
	free(b->adding);
	free(b->giving);
	free(b->cells.count);
	free(b->cells.bucket);
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

static size_t radix_add_many(void *batch, struct str records)
{
	struct radix *b = batch;
	size_t n = MIN(b->room - b->added, records.n / b->order.size);
	memcpy(b->adding + b->added * b->order.size, records.p, n * b->order.size);
	b->added += n;
	return n;
}

static order_head head_at(const struct radix *b, const char *records, size_t i)
{
	return order_head_of(&b->order, (struct str){records + i * b->order.size, b->order.size});
}

/* Keys outside the range of the sample belong to the first and the last cell. */
static inline size_t cell_of(const struct cells *c, order_head head)
{
	if (UNLIKELY(head < c->base))
		return 0;
	order_head cell = (head - c->base) >> c->shift;
	return cell < c->n ? (size_t)cell : c->n - 1;
}

static unsigned bits_of(order_head v)
{
	uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
	return high  ? 128 - (unsigned)__builtin_clzll(high)
	       : low ? 64 - (unsigned)__builtin_clzll(low)
		     : 0;
}

static void cells_fit(struct radix *b)
{
	struct cells *c = &b->cells;
	order_head least = ~(order_head)0, most = 0;
	size_t step = MAX(b->added / SAMPLE, (size_t)1);
	for (size_t i = 0; i < b->added; i += step) {
		order_head head = head_at(b, b->adding, i);
		least = MIN(least, head);
		most = MAX(most, head);
	}
	unsigned bits = bits_of(most - least), want = bits_of(c->n - 1);
	c->base = least;
	c->shift = bits > want ? bits - want : 0;
}

/* Cells that lie side by side make a bucket, as long as it can be sorted at once. */
static void cells_to_buckets(struct radix *b)
{
	struct cells *c = &b->cells;
	size_t from = 0, n = 0;
	b->nbuckets = 0;
	for (size_t i = 0; i < c->n; i++) {
		size_t here = c->count[i];
		if (n && n + here > b->limit) {
			b->bucket[b->nbuckets++] = (struct bucket){from, n};
			from += n;
			n = 0;
		}
		c->bucket[i] = (uint16_t)b->nbuckets;
		n += here;
	}
	b->bucket[b->nbuckets++] = (struct bucket){from, n};
}

static inline void copy_record(char *to, const char *from, size_t size)
{
	if (LIKELY(size == 32))
		memcpy(to, from, 32);
	else
		memcpy(to, from, size);
}

static void scatter(struct radix *b)
{
	struct cells *c = &b->cells;
	size_t size = b->order.size;
	uint32_t *place = c->count;
	for (size_t i = 0; i < b->nbuckets; i++)
		place[i] = (uint32_t)b->bucket[i].from;
	for (size_t i = 0; i < b->added; i++) {
		size_t to = c->bucket[cell_of(c, head_at(b, b->adding, i))];
		copy_record(b->giving + place[to]++ * size, b->adding + i * size, size);
	}
}

static void scratch_memory(struct radix *b)
{
	if (b->giving)
		return;
	b->giving = big_memory(b->room * b->order.size);
	b->entry = big_memory((b->limit + AHEAD) * sizeof *b->entry);
	memset(b->entry + b->limit, 0, AHEAD * sizeof *b->entry);
	b->spare = big_memory(b->limit * sizeof *b->spare);
	b->part_space = big_memory(b->limit * b->order.size);
	b->cells.count = big_memory(b->cells.n * sizeof *b->cells.count);
	b->cells.bucket = big_memory(b->cells.n * sizeof *b->cells.bucket);
	b->bucket = big_memory(b->cells.n * sizeof *b->bucket);
}

static void radix_seal(void *batch)
{
	struct radix *b = batch;
	end_bucket(b);
	scratch_memory(b);
	if (b->added <= b->limit) {
		char *records = b->adding;
		b->adding = b->giving;
		b->giving = records;
		b->bucket[0] = (struct bucket){0, b->added};
		b->nbuckets = 1;
	} else {
		cells_fit(b);
		memset(b->cells.count, 0, b->cells.n * sizeof *b->cells.count);
		for (size_t i = 0; i < b->added; i++)
			b->cells.count[cell_of(&b->cells, head_at(b, b->adding, i))]++;
		cells_to_buckets(b);
		scatter(b);
	}
	b->added = 0;
	b->next_bucket = 0;
}

static bool all_equal(const struct radix *b, const char *records, size_t n)
{
	size_t size = b->order.size;
	const char *key = records + b->order.key_at;
	for (size_t i = 1; i < n; i++)
		if (memcmp(key, key + i * size, b->order.key_len) != 0)
			return false;
	return true;
}

/* A part of a bucket that is too large: its records are put in order where they lie. */
static void sort_part(struct radix *b, char *records, size_t n)
{
	size_t size = b->order.size;
	entries_sort(&b->order, records, b->entry, b->spare, n);
	for (size_t i = 0; i < n; i++)
		copy_record(b->part_space + i * size, records + b->entry[i].at * size, size);
	memcpy(records, b->part_space, n * size);
}

/* Too many records share a cell: parts of them are sorted, then merged. */
static int begin_large(struct radix *b, char *records, size_t n, struct err *err)
{
	size_t parts = (n + b->limit - 1) / b->limit, size = b->order.size;
	b->part = mem_array(parts, sizeof *b->part);
	b->parts = mem_array(parts, sizeof *b->parts);
	for (size_t i = 0; i < parts; i++) {
		char *from = records + i * b->limit * size;
		size_t here = MIN(b->limit, n - i * b->limit);
		sort_part(b, from, here);
		b->part[i] = stream_over((struct str){from, here * size});
		b->parts[i] = &b->part[i];
	}
	return merge_new(&b->merge, &b->order, b->parts, parts, err);
}

static int begin_bucket(struct radix *b, struct err *err)
{
	end_bucket(b);
	struct bucket k = b->bucket[b->next_bucket++];
	char *records = b->giving + k.from * b->order.size;
	b->records = records;
	if (k.n > b->limit && all_equal(b, records, k.n)) {
		b->plain = k.n;
		return 0;
	}
	if (k.n > b->limit)
		return begin_large(b, records, k.n, err);
	entries_sort(&b->order, records, b->entry, b->spare, k.n);
	b->n = k.n;
	return 0;
}

static __attribute__((noinline)) int next_elsewhere(struct radix *b, struct str *ret,
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
		if (begin_bucket(b, err) < 0)
			return -1;
		if (b->n) {
			*ret = (struct str){b->records + b->entry[b->at++].at * b->order.size,
					    b->order.size};
			return 0;
		}
	}
}

static inline int next(struct radix *b, struct str *ret, struct err *err)
{
	if (UNLIKELY(b->at >= b->n))
		return next_elsewhere(b, ret, err);
	__builtin_prefetch(b->records + b->entry[b->at + AHEAD].at * b->order.size);
	*ret = (struct str){b->records + b->entry[b->at++].at * b->order.size, b->order.size};
	return 0;
}

static int radix_next(void *batch, struct str *ret, struct err *err)
{
	return next(batch, ret, err);
}

const struct batch_ops sort_radix = {
	.new = radix_new,
	.free = radix_free,
	.add = radix_add,
	.add_many = radix_add_many,
	.seal = radix_seal,
	.next = radix_next,
};
