#include "index/invert_inner.h"

#include <stdlib.h>

/* Terms in order: by attribute, then by bytes, of which the first 8 are at hand. */
struct term_entry {
	uint64_t prefix;
	uint32_t term;
	uint32_t attr;
};

static int compare_entries(const struct invert *inv, const struct term_entry *a,
			   const struct term_entry *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return str_cmp(invert_text(invert_term_at(inv, a->term)),
		       invert_text(invert_term_at(inv, b->term)));
}

static void insertion_sort(const struct invert *inv, struct term_entry *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct term_entry x = e[i];
		size_t k = i;
		for (; k > 0 && compare_entries(inv, &x, &e[k - 1]) < 0; k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

static int compare_entries_r(const void *a, const void *b, void *inv)
{
	return compare_entries(inv, a, b);
}

/* By one byte of the prefix after the other. `spare` has as much room. */
static void sort_from(const struct invert *inv, struct term_entry *e, struct term_entry *spare,
		      size_t n, unsigned shift)
{
	enum { FEW = 24 };
	size_t count[257] = {0};
	if (n <= FEW) {
		insertion_sort(inv, e, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		count[(e[i].prefix >> shift & 0xff) + 1]++;
	for (unsigned i = 1; i < 257; i++)
		count[i] += count[i - 1];
	size_t at[256];
	memcpy(at, count, sizeof at);
	for (size_t i = 0; i < n; i++)
		spare[at[e[i].prefix >> shift & 0xff]++] = e[i];
	memcpy(e, spare, n * sizeof *e);
	for (unsigned i = 0; i < 256; i++) {
		size_t part = count[i + 1] - count[i];
		if (part < 2)
			continue;
		if (shift)
			sort_from(inv, e + count[i], spare, part, shift - 8);
		else
			qsort_r(e + count[i], part, sizeof *e, compare_entries_r,
				(void *)(uintptr_t)inv);
	}
}

static struct term_entry *sorted_terms(const struct invert *inv, size_t *first)
{
	struct term_entry *e = mem_array((size_t)inv->terms + 1, sizeof *e);
	struct term_entry *spare = mem_array((size_t)inv->terms + 1, sizeof *e);
	memset(first, 0, ((size_t)inv->attrs + 1) * sizeof *first);
	for (uint32_t i = 0; i < inv->slots; i++)
		if (inv->slot[i])
			first[invert_term_at(inv, (uint32_t)inv->slot[i] * 8)->attr + 1]++;
	for (uint32_t i = 1; i <= inv->attrs; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < inv->slots; i++) {
		if (!inv->slot[i])
			continue;
		uint32_t at = (uint32_t)inv->slot[i] * 8;
		const struct invert_term *t = invert_term_at(inv, at);
		e[first[t->attr]++] =
			(struct term_entry){segment_prefix(invert_text(t)), at, t->attr};
	}
	for (uint32_t i = 0, from = 0; i < inv->attrs; i++) {
		sort_from(inv, e + from, spare, first[i] - from, 56);
		from = (uint32_t)first[i];
	}
	mem_free(&spare);
	return e;
}

/* Codes of a term, from chunk to chunk. */
struct codes {
	const unsigned char *p, *end; /* the chunk at hand */
	const unsigned char *pool;
	uint32_t step, last; /* the chunk at hand; where the codes end */
	bool is_last;
};

static void codes_enter_chunk(struct codes *c, uint32_t from, uint32_t to)
{
	c->is_last = c->last >= from && c->last <= to;
	c->p = c->pool + from;
	c->end = c->pool + (c->is_last ? c->last : to);
}

static __attribute__((noinline)) void codes_next_chunk(struct codes *c)
{
	uint32_t from;
	memcpy(&from, c->end, CHUNK_LINK);
	if (c->step < CHUNK_STEPS)
		c->step++;
	codes_enter_chunk(c, from, from + chunk_bytes(c->step) - CHUNK_LINK);
}

static inline unsigned char codes_byte(struct codes *c)
{
	if (UNLIKELY(c->p == c->end))
		codes_next_chunk(c);
	return *c->p++;
}

static inline bool codes_end(const struct codes *c)
{
	return c->p == c->end && c->is_last;
}

static inline uint64_t codes_varint(struct codes *c)
{
	uint64_t v = codes_byte(c);
	if (LIKELY(v < 0x80))
		return v;
	v &= 0x7f;
	for (unsigned shift = 7;; shift += 7) {
		uint64_t byte = codes_byte(c);
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

static struct codes codes_of(const struct invert *inv, const struct invert_term *t)
{
	struct codes c = {.pool = (const unsigned char *)inv->pool, .last = t->at};
	uint32_t term = (uint32_t)((const char *)t - inv->pool);
	uint32_t all = (t->head - term + CHUNK_FIRST + CHUNK_LINK + 7) & ~7u;
	codes_enter_chunk(&c, t->head, term + all - CHUNK_LINK);
	return c;
}

static void put_own_forms(const struct invert *inv, const struct invert_term *t, struct buf *out)
{
	buf_clear(out);
	if (!t->own)
		return;
	const struct invert_form **all = mem_array(t->own, sizeof *all);
	uint32_t i = t->own;
	for (uint32_t at = t->forms; at; at = inv->form[at - 1].next)
		all[--i] = &inv->form[at - 1];
	for (i = 0; i < t->own; i++)
		put_text(out, all[i]->text);
	mem_free(&all);
}

struct writing {
	const struct invert *inv;
	struct segment_writer *out;
	uint32_t *number; /* of documents in the segment; UINT32_MAX: dropped */
	const uint8_t *length;
	struct buf own;
};

/* One posting: occurrences up to the next document. */
struct posting {
	uint32_t doc, count;
	uint64_t tf; /* the heaviest word of the largest document goes past 32 bits */
};

static inline void end_posting(const struct writing *w, struct list_writer *l,
			       const struct posting *p)
{
	if (p->count == 0)
		return;
	uint32_t doc = w->number[p->doc];
	uint32_t tf = (uint32_t)MIN(p->tf, (uint64_t)SEGMENT_TF_MOST);
	list_posting(l, doc, tf, l->positions ? p->count : tf, w->length[doc]);
}

static void write_postings(const struct writing *w, struct list_writer *l,
			   const struct invert_term *t)
{
	struct codes c = codes_of(w->inv, t);
	struct posting p = {.doc = UINT32_MAX};
	bool kept = false;
	while (!codes_end(&c)) {
		uint64_t code = codes_varint(&c);
		uint32_t weight = 1, form = 0;
		if (code & CODE_NEW_DOC) {
			end_posting(w, l, &p);
			p = (struct posting){.doc = p.doc + (uint32_t)codes_varint(&c)};
			kept = w->number[p.doc] != UINT32_MAX;
		}
		if (code & CODE_SPECIAL) {
			weight = codes_byte(&c);
			form = (uint32_t)codes_varint(&c);
		}
		if (UNLIKELY(!kept))
			continue;
		if (l->positions)
			list_occurrence(l, (uint32_t)(code >> 2), form);
		p.tf += weight;
		p.count++;
	}
	end_posting(w, l, &p);
}

static void write_term(struct writing *w, uint32_t at)
{
	const struct invert_term *t = invert_term_at(w->inv, at);
	struct list_writer *l = segment_put_begin(w->out, t->attr, t->has_forms);
	write_postings(w, l, t);
	put_own_forms(w->inv, t, &w->own);
	segment_put_end(w->out, invert_text(t), buf_str(&w->own));
}

static void write_docs(struct writing *w)
{
	const struct invert *inv = w->inv;
	uint32_t n = 0, columns = invert_columns(inv);
	for (uint32_t i = 0; i < inv->docs; i++) {
		const struct invert_doc *d = &inv->doc[i];
		w->number[i] = d->dropped ? UINT32_MAX : n++;
		if (d->dropped)
			continue;
		struct segment_doc doc = {.key = d->key,
					  .length = d->length,
					  .number = &inv->number[(size_t)i * columns],
					  .range = d->ranges ? inv->range + d->range : NULL,
					  .ranges = d->ranges};
		segment_put_doc(w->out, &doc);
	}
	w->length = segment_put_lengths(w->out);
}

static void write_terms(struct writing *w)
{
	size_t *first = mem_array((size_t)w->inv->attrs + 1, sizeof *first);
	struct term_entry *e = sorted_terms(w->inv, first);
	for (size_t i = 0; i < w->inv->terms; i++)
		write_term(w, e[i].term);
	mem_free(&e);
	mem_free(&first);
}

int invert_write(struct invert *inv, const char *path, bool sync, struct err *err)
{
	struct writing w = {.inv = inv, .own = BUF_INIT(SIZE_MAX / 2)};
	struct str *name = mem_array(inv->attrs, sizeof *name);
	ENSURE(invert_docs(inv) > 0);
	for (uint32_t i = 0; i < inv->attrs; i++)
		name[i] = inv->attr[i].name;
	int rc = segment_create(&w.out, path, name, inv->attrs, invert_columns(inv), err);
	if (rc == 0) {
		w.number = mem_array(inv->docs, sizeof *w.number);
		write_docs(&w);
		write_terms(&w);
		rc = segment_put_finish(&w.out, sync, err);
	}
	invert_clear(inv);
	mem_free(&name);
	mem_free(&w.number);
	buf_free(&w.own);
	return rc;
}
