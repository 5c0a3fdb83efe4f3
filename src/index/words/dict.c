/* The dictionary of a segment: terms in order, 32 to a block, each coded by what it shares with the
 * one before. The first 8 bytes of every block's first term lie in an array of their own, so that
 * looking a term up is a bisection of numbers and one block. */
#include "index/words/dict.h"
#include "index/words/segment_write.h"

#include <inttypes.h>

/* Reading */

struct dict_entry {
	struct dict_own own;
	struct segment_term info;
};

static inline void dict_read_info(struct dict_place *b, unsigned attr, struct segment_term *t)
{
	uint64_t df = dict_varint(b);
	*t = (struct segment_term){.df = (uint32_t)df, .at = b->at};
	if (df == 0) {
		uint64_t doc = dict_varint(b), v = dict_varint(b);
		b->bad |= doc > UINT32_MAX || v >> 34 != 0 || (v & 3) >= SEGMENT_FORM_OWN;
		t->df = t->blocks = 1;
		t->occurrences = attr == SEGMENT_COMBINED;
		t->doc = (uint32_t)doc;
		t->position = (uint32_t)(v >> 2);
		t->variant = v & 3;
		return;
	}
	if (attr == SEGMENT_COMBINED)
		t->occurrences = df + dict_varint(b);
	t->bytes = dict_varint(b);
	t->blocks = (uint32_t)((df + SEGMENT_BLOCK - 1) / SEGMENT_BLOCK);
	b->bad |= df > SEGMENT_DOCS_MOST || t->bytes == 0 || t->bytes >> 48 != 0;
	b->at += t->bytes;
}

/* What a term says is checked against the segment before anybody believes it. */
static bool dict_is_plausible(const struct segment *s, const struct segment_term *t)
{
	const struct parts_place *terms = &s->f.part[PART_TERMS];
	if (t->bytes == 0)
		return t->doc < s->foot.docs;
	return t->df <= s->foot.docs && t->at >= terms->at && t->at - terms->at <= terms->n &&
	       t->bytes <= terms->n - (t->at - terms->at) && t->occurrences <= UINT32_MAX &&
	       t->occurrences / SEGMENT_BLOCK <= t->bytes;
}

static int dict_bad_block(const struct segment *s, uint32_t block, struct err *err)
{
	return parts_damaged(&s->f, err, "block %" PRIu32 " of the dictionary is wrong", block);
}

/* Goes to the first entry of a block. */
static int dict_enter_block(struct segment *s, uint32_t block, struct dict_place *ret,
			    uint32_t *ret_n, struct err *err)
{
	const uint8_t *where, *p;
	if (parts_whole(&s->f, PART_DICT_WHERE, &where, err) < 0)
		return -1;
	uint32_t from = load_u32(where, block), to = load_u32(where, (size_t)block + 1);
	if (to < from)
		return dict_bad_block(s, block, err);
	if (parts_bytes(&s->f, PART_DICT, from, to - from, &p, err) < 0)
		return -1;
	struct dict_place b = {p, p + (to - from), 0, false};
	b.at = dict_varint(&b);
	*ret_n = dict_byte(&b);
	if (b.bad)
		return dict_bad_block(s, block, err);
	*ret = b;
	return 0;
}

/* How the first term of a block compares with another. */
static int dict_compare_first(struct segment *s, uint32_t block, struct str term, int *ret,
			      struct err *err)
{
	struct dict_place b;
	struct dict_own e;
	uint32_t n;
	if (dict_enter_block(s, block, &b, &n, err) < 0)
		return -1;
	dict_read_own(&b, &e);
	if (b.bad || e.shared != 0)
		return dict_bad_block(s, block, err);
	*ret = str_cmp((struct str){(const char *)e.p, e.n}, term);
	return 0;
}

/* The last block whose first term is not after the term, of those from lo to hi - 1; hi when there
 * is none. */
static int dict_find_block(struct segment *s, uint32_t lo, uint32_t hi, struct str term,
			   uint32_t *ret, struct err *err)
{
	const uint8_t *prefixes;
	uint64_t want = text_prefix(term);
	uint32_t none = hi, start = lo;
	if (parts_whole(&s->f, PART_DICT_PREFIX, &prefixes, err) < 0)
		return -1;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		uint64_t prefix = load_u64(prefixes, middle);
		int order = prefix < want ? -1 : prefix > want;
		if (order == 0 && dict_compare_first(s, middle, term, &order, err) < 0)
			return -1;
		if (order <= 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	*ret = lo > start ? lo - 1 : none;
	return 0;
}

static void dict_bounds_of(const struct segment *s, unsigned attr, uint32_t *ret_lo,
			   uint32_t *ret_hi)
{
	bool known = attr < s->foot.attrs;
	*ret_lo = known ? s->first[attr] : 0;
	*ret_hi = known ? s->first[attr + 1] : 0;
}

/* Entries before the term share with it as much as the last compared one (`same` bytes) and differ
 * after that: one that shares more with its neighbour differs at the same place, one that shares
 * less is past the term. */
static int dict_look_in_block(struct segment *s, unsigned attr, uint32_t block, struct str term,
			      struct segment_term *ret, struct err *err)
{
	struct dict_place b;
	struct dict_entry e;
	uint32_t n, same = 0;
	if (dict_enter_block(s, block, &b, &n, err) < 0)
		return -1;
	for (; n > 0; n--) {
		dict_read_own(&b, &e.own);
		if (!b.bad)
			dict_read_info(&b, attr, &e.info);
		if (b.bad)
			return dict_bad_block(s, block, err);
		if (e.own.shared > same)
			continue;
		if (e.own.shared < same)
			return 1;
		uint32_t i = 0, most = (uint32_t)MIN((size_t)e.own.n, term.n - same);
		while (i < most && e.own.p[i] == (uint8_t)term.p[same + i])
			i++;
		same += i;
		if (i == e.own.n && same == term.n) {
			*ret = e.info;
			return dict_is_plausible(s, ret) ? 0 : dict_bad_block(s, block, err);
		}
		if (same == term.n || (i < e.own.n && e.own.p[i] > (uint8_t)term.p[same]))
			return 1;
	}
	return 1;
}

int segment_term(struct segment *s, unsigned attr, struct str term, struct segment_term *ret,
		 struct err *err)
{
	uint32_t lo, hi, block;
	dict_bounds_of(s, attr, &lo, &hi);
	if (lo == hi || term.n == 0)
		return 1;
	if (dict_find_block(s, lo, hi, term, &block, err) < 0)
		return -1;
	return block == hi ? 1 : dict_look_in_block(s, attr, block, term, ret, err);
}

/* Walking */

static int walk_next_block(struct segment_walk *w, struct err *err)
{
	struct dict_place b;
	if (w->block == w->end)
		return 1;
	if (dict_enter_block(w->segment, w->block, &b, &w->left, err) < 0)
		return -1;
	w->block++;
	w->p = b.p;
	w->stop = b.end;
	w->at = b.at;
	return 0;
}

static int walk_step(struct segment_walk *w, struct err *err)
{
	struct dict_entry e;
	int rc = 0;
	while (w->left == 0 && rc == 0)
		rc = walk_next_block(w, err);
	if (rc != 0)
		return rc;
	struct dict_place b = {w->p, w->stop, w->at, false};
	dict_read_own(&b, &e.own);
	if (!b.bad)
		dict_read_info(&b, w->attr, &e.info);
	if (b.bad || e.own.shared > w->term.n || !dict_is_plausible(w->segment, &e.info))
		return dict_bad_block(w->segment, w->block - 1, err);
	memcpy(w->text + e.own.shared, e.own.p, e.own.n);
	w->term = (struct str){w->text, e.own.shared + e.own.n};
	w->shared = e.own.shared;
	w->info = e.info;
	w->p = b.p;
	w->at = b.at;
	w->left--;
	return 0;
}

/* Forward to the first that is not before `from`, which then waits for next. */
static int walk_forward(struct segment_walk *w, struct str from, struct err *err)
{
	int rc;
	w->ready = false;
	while ((rc = walk_step(w, err)) == 0)
		if (str_cmp(w->term, from) >= 0) {
			w->ready = true;
			return 0;
		}
	return rc < 0 ? -1 : 0;
}

int segment_walk(struct segment *s, unsigned attr, struct str from, struct segment_walk *ret,
		 struct err *err)
{
	*ret = (struct segment_walk){.segment = s, .attr = attr};
	dict_bounds_of(s, attr, &ret->block, &ret->end);
	ret->term.p = ret->text;
	return from.n ? segment_walk_seek(ret, from, err) : 0;
}

int segment_walk_next(struct segment_walk *w, struct err *err)
{
	if (w->ready) {
		w->ready = false;
		return 0;
	}
	return walk_step(w, err);
}

int segment_walk_seek(struct segment_walk *w, struct str from, struct err *err)
{
	uint32_t block, lo = w->block;
	if (w->ready && str_cmp(w->term, from) >= 0)
		return 0;
	if (lo < w->end) {
		if (dict_find_block(w->segment, lo, w->end, from, &block, err) < 0)
			return -1;
		if (block != w->end) {
			w->block = block;
			w->left = 0;
		}
	}
	return walk_forward(w, from, err);
}

/* Scanning: the same entries, for those who know from the first bytes of blocks which to enter. */

int dict_scan_init(struct dict_scan *ret, struct segment *s, unsigned attr, struct err *err)
{
	*ret = (struct dict_scan){.segment = s, .attr = attr};
	dict_bounds_of(s, attr, &ret->block, &ret->end);
	if (ret->block == ret->end)
		return 1;
	return parts_whole(&s->f, PART_DICT_PREFIX, &ret->prefixes, err);
}

int dict_scan_enter(struct dict_scan *d, uint32_t block, struct err *err)
{
	d->block = block;
	d->nth = d->length = 0;
	if (dict_enter_block(d->segment, block, &d->place, &d->terms, err) < 0)
		return -1;
	size_t n = (size_t)(d->place.end - d->place.p);
	for (size_t i = 64; i < n; i += 64)
		__builtin_prefetch(d->place.p + i);
	return 0;
}

int dict_scan_bad(const struct dict_scan *d, struct err *err)
{
	return dict_bad_block(d->segment, d->block, err);
}

/* The last of the blocks from lo to hi - 1 whose prefix is below this one; lo where none is. The
 * one that is sought is mostly near. */
static uint32_t dict_gallop(const uint8_t *prefixes, uint32_t lo, uint32_t hi, uint64_t prefix)
{
	uint32_t step = 1;
	while (step < hi - lo && load_u64(prefixes, (size_t)lo + step) < prefix) {
		lo += step;
		step *= 2;
	}
	hi = lo + MIN(hi - lo, step);
	while (hi - lo > 1) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (load_u64(prefixes, middle) < prefix)
			lo = middle;
		else
			hi = middle;
	}
	return lo;
}

uint32_t dict_scan_find(const struct dict_scan *d, uint32_t from, uint64_t prefix)
{
	return dict_gallop(d->prefixes, from, d->end, prefix);
}

int dict_scan_info(const struct dict_scan *d, struct segment_term *ret, struct err *err)
{
	struct dict_place b;
	struct dict_entry e = {0};
	uint32_t n;
	if (dict_enter_block(d->segment, d->block, &b, &n, err) < 0)
		return -1;
	for (uint32_t i = 0; i < d->nth && !b.bad; i++) {
		dict_read_own(&b, &e.own);
		dict_read_info(&b, d->attr, &e.info);
	}
	if (b.bad || !dict_is_plausible(d->segment, &e.info))
		return dict_scan_bad(d, err);
	*ret = e.info;
	return 0;
}

int dict_term_after(struct segment *s, unsigned attr, struct str term, uint32_t *block,
		    struct segment_term *ret, struct err *err)
{
	const uint8_t *prefixes;
	uint32_t lo, hi, found;
	uint64_t prefix = text_prefix(term);
	dict_bounds_of(s, attr, &lo, &hi);
	if (lo == hi || term.n == 0)
		return 1;
	if (parts_whole(&s->f, PART_DICT_PREFIX, &prefixes, err) < 0)
		return -1;
	lo = dict_gallop(prefixes, MAX(lo, *block), hi, prefix);
	*block = lo;
	/* Where prefixes are equal, terms decide. */
	if (lo + 1 < hi && load_u64(prefixes, (size_t)lo + 1) == prefix) {
		if (dict_find_block(s, lo, hi, term, &found, err) < 0)
			return -1;
		if (found == hi)
			return 1;
		*block = lo = found;
	}
	return dict_look_in_block(s, attr, lo, term, ret, err);
}

/* Writing */

static const size_t dict_bytes_most = UINT32_MAX; /* offsets of blocks have 32 bits */

void dict_init(struct dict_writer *d)
{
	*d = (struct dict_writer){.blocks = BUF_INIT(dict_bytes_most),
				  .prefixes = BUF_INIT(dict_bytes_most),
				  .wheres = BUF_INIT(dict_bytes_most),
				  .firsts = BUF_INIT(dict_bytes_most)};
}

void dict_free(struct dict_writer *d)
{
	buf_free(&d->blocks);
	buf_free(&d->prefixes);
	buf_free(&d->wheres);
	buf_free(&d->firsts);
}

static void dict_new_block(struct dict_writer *d, struct str term, uint64_t at)
{
	put_u64le(&d->prefixes, text_prefix(term));
	put_u32le(&d->wheres, (uint32_t)d->blocks.n);
	put_varint(&d->blocks, at);
	d->count_at = d->blocks.n;
	put_u8(&d->blocks, 0);
	d->nblocks++;
	d->in_block = 0;
	d->term_n = 0;
}

static size_t dict_shared_with(const struct dict_writer *d, struct str term)
{
	size_t n = 0, most = MIN(term.n, d->term_n);
	while (n < most && d->term[n] == term.p[n])
		n++;
	return n;
}

static void dict_put_term(struct dict_writer *d, struct str term)
{
	size_t shared = dict_shared_with(d, term), n = term.n - shared;
	if (shared < SEGMENT_SHORT && n < SEGMENT_SHORT) {
		put_u8(&d->blocks, (uint8_t)(shared << 4 | n));
	} else {
		put_u8(&d->blocks, 0xff);
		put_u8(&d->blocks, (uint8_t)shared);
		put_u8(&d->blocks, (uint8_t)n);
	}
	buf_add_str(&d->blocks, str_from(term, shared));
	memcpy(d->term + shared, term.p + shared, n);
	d->term_n = term.n;
}

static void dict_put_info(struct buf *out, uint32_t attr, const struct segment_term *info)
{
	if (info->bytes == 0) {
		put_varint(out, 0);
		put_varint(out, info->doc);
		put_varint(out, (uint64_t)info->position << 2 | info->variant);
		return;
	}
	put_varint(out, info->df);
	if (attr == SEGMENT_COMBINED)
		put_varint(out, info->occurrences - info->df);
	put_varint(out, info->bytes);
}

void dict_put(struct dict_writer *d, uint32_t attr, struct str term, uint64_t at,
	      const struct segment_term *info)
{
	ENSURE(term.n > 0 && term.n <= TOKEN_TERM_MOST);
	bool first = d->attrs <= attr;
	for (; d->attrs <= attr; d->attrs++)
		put_u32le(&d->firsts, d->nblocks);
	if (first || d->in_block == SEGMENT_DICT_BLOCK)
		dict_new_block(d, term, at);
	dict_put_term(d, term);
	dict_put_info(&d->blocks, attr, info);
	d->in_block++;
	d->terms++;
	if (!d->blocks.over)
		d->blocks.p[d->count_at] = (char)d->in_block;
}

void dict_end(struct dict_writer *d, uint32_t attrs)
{
	for (; d->attrs <= attrs; d->attrs++)
		put_u32le(&d->firsts, d->nblocks);
	put_u32le(&d->wheres, (uint32_t)d->blocks.n);
}
