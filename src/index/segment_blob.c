/* The blob of a segment: all terms of the combined lists as plain bytes, by their length.
 *
 * It lies in the file, or, where it would be short, is made from the dictionary when it is first
 * asked for, and stays in memory as long as the segment is open. A small index has many terms for
 * its size, and the blob would be a tenth of it and more; to make one takes some milliseconds at
 * most, once. Everyone who looks for terms sees the same bytes either way. */
#include "base/buf.h"
#include "base/cursor.h"
#include "index/dict.h"
#include "index/segment_inner.h"

#include <inttypes.h>

struct blob_index {
	/* By length of terms: where they begin (and one more), and how many are of ASCII alone. */
	uint64_t at[TOKEN_TERM_MOST + 2];
	uint32_t ascii[TOKEN_TERM_MOST + 1];
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
	if (s->foot.part[PART_BLOB].n == 0)
		return 0;
	if (segment_bytes(s, PART_BLOB, 0, SEGMENT_BLOB_HEAD, &p, err) < 0)
		return -1;
	struct blob_index *b = mem_alloc(sizeof *b);
	for (uint32_t length = 1; length <= TOKEN_TERM_MOST; length++) {
		size_t i = 2 * ((size_t)length - 1);
		b->at[length] = at;
		b->ascii[length] = load_u32(p, i);
		at += ((uint64_t)load_u32(p, i) + load_u32(p, i + 1)) * length;
	}
	b->at[TOKEN_TERM_MOST + 1] = at;
	atomic_store_explicit(&s->blob, b, memory_order_release);
	if (at != s->foot.part[PART_BLOB].n)
		return segment_damaged(s, err,
				       "its blob of terms has %" PRIu64 " bytes, not %" PRIu64,
				       s->foot.part[PART_BLOB].n, at);
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
	struct buf kinds;                       /* a byte for each: length - 1, OTHER */
	uint64_t bytes[TOKEN_TERM_MOST + 1][2]; /* of those of ASCII alone, of the others */
};
enum { OTHER = 0x80 };
_Static_assert((int)TOKEN_TERM_MOST <= (int)OTHER, "a length and a bit share a byte");

static int take_block(struct dict_scan *scan, struct blob_terms *t, struct err *err)
{
	char text[TOKEN_TERM_MOST];
	int rc;
	while ((rc = dict_scan_next(scan, TOKEN_TERM_MOST, err)) == 0) {
		memcpy(text + scan->own.shared, scan->own.p, scan->own.n);
		struct str term = {text, scan->length};
		bool other = !segment_is_ascii(term);
		if (t->text.n + term.n >= SEGMENT_BLOB_LEAST)
			return segment_damaged(scan->segment, err,
					       "it has many terms, and no blob of them");
		buf_add_str(&t->text, term);
		put_u8(&t->kinds, (uint8_t)((term.n - 1) | (other ? OTHER : 0)));
		t->bytes[term.n][other] += term.n;
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
	uint64_t at[TOKEN_TERM_MOST + 1][2], all = 0;
	for (uint32_t length = 1; length <= TOKEN_TERM_MOST; length++) {
		b->at[length] = at[length][0] = all;
		at[length][1] = all + t->bytes[length][0];
		b->ascii[length] = (uint32_t)(t->bytes[length][0] / length);
		all += t->bytes[length][0] + t->bytes[length][1];
	}
	b->at[TOKEN_TERM_MOST + 1] = all;
	b->made = mem_alloc((size_t)all + SEGMENT_SLACK);
	const char *from = t->text.p;
	for (size_t i = 0; i < t->kinds.n; i++) {
		unsigned kind = (unsigned char)t->kinds.p[i];
		size_t n = (kind & (OTHER - 1)) + 1;
		uint64_t *place = &at[n][kind >= OTHER];
		memcpy(b->made + *place, from, n);
		*place += n;
		from += n;
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
	buf_free(&t.kinds);
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

int segment_blob(struct segment *s, uint32_t length, struct segment_blob *ret, struct err *err)
{
	const struct blob_index *b;
	const uint8_t *p;
	ENSURE(length > 0 && length <= TOKEN_TERM_MOST);
	if (blob_index_of(s, &b, err) < 0)
		return -1;
	ENSURE(b);
	uint64_t from = b->at[length], n = b->at[length + 1] - from;
	if (b->made)
		p = (const uint8_t *)b->made + from;
	else if (segment_bytes(s, PART_BLOB, from, n, &p, err) < 0)
		return -1;
	*ret = (struct segment_blob){(const char *)p, (uint32_t)(n / length), b->ascii[length]};
	return 0;
}
