/* Batches of records of fixed size with a key of bytes: the records of a full batch are first
 * thrown into some hundred buckets, so that each bucket and what is needed to sort it fit into the
 * processor's cache; then bucket by bucket is sorted when it is wanted. A sample of the keys says
 * where buckets begin: keys are anything but evenly spread, all pages of a site begin alike. */
#include "disk/merge.h"
#include "disk/sort_batch.h"
#include "disk/sort_entries.h"
#include "disk/sort_split.h"

#include <stdlib.h>
#include <sys/mman.h>

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
	/* the bucket at hand: entries, or a merge of its parts, or records that are in order */
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

static size_t radix_add_many(void *batch, struct str records)
{
	struct radix *b = batch;
	size_t n = MIN(b->room - b->added, records.n / b->order.size);
	memcpy(b->adding + b->added * b->order.size, records.p, n * b->order.size);
	b->added += n;
	return n;
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
		radix_copy_record(b->giving + b->place[b->where[i]]++ * size, b->adding + i * size, size);
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
	.add_many = radix_add_many,
	.seal = radix_seal,
	.next = radix_next,
};
