/* Batches of records of any size, or with a comparison of their own: pointers with the first 8
 * bytes of the key beside them, in a merge sort. Records grow from the one end of the memory,
 * pointers from the other. */
#include "disk/sort_batch.h"

#include <stdlib.h>

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

/* Beside its pointer each record needs a place for sorting them. */
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

static void pointers_merge_sort(const struct pointers *b, struct ptr *p, struct ptr *spare, size_t n)
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
