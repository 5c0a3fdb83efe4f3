/* The blob of a segment: all terms of the combined lists as plain bytes, by their length.
 *
 * It lies in the file, or, where it would be short, is made from the dictionary when it is first
 * asked for, and stays in memory as long as the segment is open. A small index has many terms for
 * its size, and the blob would be a tenth of it and more; to make one takes some milliseconds at
 * most, once. Everyone who looks for terms sees the same bytes either way. */
#include "base/buf.h"
#include "base/cursor.h"
#include "index/words/dict.h"
#include "index/words/segment_inner.h"

#include <inttypes.h>

struct blob_index {
	/* By length of terms: at which byte they begin, and with which term each run. */
	uint64_t at[TOKEN_TERM_MOST + 1];
	size_t from[TOKEN_TERM_MOST + 1][SEGMENT_RUNS + 1];
	char *made; /* NULL: the terms are in the file */
};

static void blob_index_free(struct blob_index **b)
{
	if (*b)
		mem_free(&(*b)->made);
	mem_free(b);
}

/* In the file */

/* The numbers at the beginning of the part say where the terms of each length lie; together they
 * are all of it. */
int segment_blob_open(struct segment *s, struct err *err)
{
	const uint8_t *p;
	uint64_t at = SEGMENT_BLOB_HEAD;
	if (s->f.part[PART_BLOB].n == 0)
		return 0;
	if (parts_bytes(&s->f, PART_BLOB, 0, SEGMENT_BLOB_HEAD, &p, err) < 0)
		return -1;
	struct blob_index *b = mem_alloc(sizeof *b);
	for (uint32_t length = 1; length <= TOKEN_TERM_MOST; length++) {
		size_t *from = b->from[length];
		b->at[length] = at;
		for (size_t k = 0; k < SEGMENT_RUNS; k++, p += 4)
			from[k + 1] = from[k] + load_u32(p, 0);
		at += (uint64_t)from[SEGMENT_RUNS] * length;
	}
	atomic_store_explicit(&s->blob, b, memory_order_release);
	if (at != s->f.part[PART_BLOB].n)
		return parts_damaged(&s->f, err,
				     "its blob of terms has %" PRIu64 " bytes, not %" PRIu64,
				     s->f.part[PART_BLOB].n, at);
	return 0;
}

void segment_blob_close(struct segment *s)
{
	struct blob_index *b = atomic_load_explicit(&s->blob, memory_order_acquire);
	blob_index_free(&b);
	atomic_store_explicit(&s->blob, NULL, memory_order_relaxed);
}

/* Made */

/* The terms one after the other, in order. */
struct blob_terms {
	struct buf text;
	struct buf lengths; /* a byte for each */
	size_t n[TOKEN_TERM_MOST + 1][SEGMENT_RUNS];
};
_Static_assert((int)TOKEN_TERM_MOST <= (int)UINT8_MAX, "a length is a byte");

static int take_block(struct dict_scan *scan, struct blob_terms *t, struct err *err)
{
	char text[TOKEN_TERM_MOST];
	int rc;
	while ((rc = dict_scan_next(scan, TOKEN_TERM_MOST, err)) == 0) {
		memcpy(text + scan->own.shared, scan->own.p, scan->own.n);
		struct str term = {text, scan->length};
		if (t->text.n + term.n >= SEGMENT_BLOB_LEAST)
			return parts_damaged(&scan->segment->f, err,
					     "it has many terms, and no blob of them");
		buf_add_str(&t->text, term);
		put_u8(&t->lengths, (uint8_t)term.n);
		t->n[term.n][segment_run_of(term)]++;
	}
	return MIN(rc, 0);
}

static int take_terms(struct segment *s, struct blob_terms *t, struct err *err)
{
	struct dict_scan scan;
	int rc = dict_scan_init(&scan, s, SEGMENT_COMBINED, err);
	for (uint32_t block = scan.block; rc == 0 && block < scan.end; block++) {
		rc = dict_scan_enter(&scan, block, err);
		if (rc == 0)
			rc = take_block(&scan, t, err);
	}
	return MIN(rc, 0);
}

static struct blob_index *blob_index_new(const struct blob_terms *t)
{
	struct blob_index *b = mem_alloc(sizeof *b);
	size_t next[TOKEN_TERM_MOST + 1][SEGMENT_RUNS];
	uint64_t all = 0;
	for (uint32_t length = 1; length <= TOKEN_TERM_MOST; length++) {
		size_t *from = b->from[length];
		b->at[length] = all;
		for (size_t k = 0; k < SEGMENT_RUNS; k++) {
			next[length][k] = from[k];
			from[k + 1] = from[k] + t->n[length][k];
		}
		all += (uint64_t)from[SEGMENT_RUNS] * length;
	}
	b->made = mem_alloc((size_t)all + SEGMENT_SLACK);
	struct str term = {t->text.p, 0};
	for (size_t i = 0; i < t->lengths.n; i++, term.p += term.n) {
		term.n = (unsigned char)t->lengths.p[i];
		size_t *place = &next[term.n][segment_run_of(term)];
		memcpy(b->made + b->at[term.n] + (*place)++ * term.n, term.p, term.n);
	}
	return b;
}

static int blob_index_make(struct segment *s, struct blob_index **ret, struct err *err)
{
	struct blob_terms t = {BUF_INIT(SEGMENT_BLOB_LEAST), BUF_INIT(SEGMENT_BLOB_LEAST), {{0}}};
	int rc = take_terms(s, &t, err);
	if (rc == 0)
		*ret = blob_index_new(&t);
	buf_free(&t.text);
	buf_free(&t.lengths);
	return rc;
}

/* Of two threads that make it at the same time, one throws its own away. */
static int blob_index_of(struct segment *s, const struct blob_index **ret, struct err *err)
{
	struct blob_index *b = atomic_load_explicit(&s->blob, memory_order_acquire);
	struct blob_index *made = NULL;
	if (b) {
		*ret = b;
		return 0;
	}
	if (blob_index_make(s, &made, err) < 0)
		return -1;
	if (atomic_compare_exchange_strong_explicit(&s->blob, &b, made, memory_order_acq_rel,
						    memory_order_acquire)) {
		*ret = made;
		return 0;
	}
	blob_index_free(&made);
	*ret = b;
	return 0;
}

int segment_blob(struct segment *s, uint32_t length, enum segment_run first,
		 struct segment_blob *ret, struct err *err)
{
	const struct blob_index *b;
	const uint8_t *p;
	ENSURE(length > 0 && length <= TOKEN_TERM_MOST);
	if (blob_index_of(s, &b, err) < 0)
		return -1;
	ENSURE(b);
	const size_t *from = b->from[length];
	size_t skip = from[first] * length, end = from[SEGMENT_RUNS] * length;
	memcpy(ret->from, from, sizeof ret->from);
	ret->p = NULL;
	if (skip == end) /* most lengths have no terms */
		return 0;
	/* Bytes of a file are verified, and so read, as far as they are wanted. */
	if (b->made)
		p = (const uint8_t *)b->made + b->at[length] + skip;
	else if (parts_bytes(&s->f, PART_BLOB, b->at[length] + skip, end - skip, &p, err) < 0)
		return -1;
	ret->p = (const char *)p - skip;
	return 0;
}
