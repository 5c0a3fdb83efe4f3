/* Lists of postings: documents, frequencies and positions in blocks of 128 numbers (bitpack.h), and
 * for each block its last document and a bound of what it can score. */
#include "base/cursor.h"
#include "base/vec.h"
#include "index/words/bitpack.h"
#include "index/words/segment_inner.h"
#include "index/words/segment_write.h"

#include <inttypes.h>

/* Reading */

/* n numbers, packed as a block or as a tail. NULL: they are not there. */
static inline const uint8_t *numbers_get(const uint8_t *from, const uint8_t *end, uint32_t n,
					 uint32_t ret[SEGMENT_BLOCK])
{
	return n == SEGMENT_BLOCK ? unpack_block(from, end, ret) : unpack_tail(from, end, n, ret);
}
static inline const uint8_t *numbers_skip(const uint8_t *from, const uint8_t *end, uint32_t n)
{
	return n == SEGMENT_BLOCK ? skip_block(from, end) : skip_tail(from, end, n);
}

static int postings_damaged(const struct postings *p, uint32_t block, struct err *err)
{
	return parts_damaged(&p->segment->f, err,
			     "block %" PRIu32 " of a list of %" PRIu32 " documents is wrong", block,
			     p->df);
}

/* Opening */

static void loose_bound(struct postings *p, uint8_t tf)
{
	for (size_t i = 0; i < SEGMENT_BOUNDS; i++) {
		p->one_bound[0][2 * i] = tf;
		p->one_bound[0][2 * i + 1] = 0;
	}
	p->one_last = p->segment->foot.docs - 1;
	p->last = &p->one_last;
	p->bound = p->one_bound;
}

static int open_short(struct postings *p, const uint8_t *data, uint64_t n, struct err *err)
{
	struct reader r = reader_of((struct str){(const char *)data, (size_t)n});
	p->flags = reader_u8(&r);
	if (p->flags & LIST_OWN)
		(void)reader_text(&r, (size_t)n);
	const uint8_t *at = r.p;
	p->end = r.end;
	p->gaps = at;
	at = r.bad || p->flags & ~LIST_ALL ? NULL : skip_tail(at, p->end, p->df);
	if (at && !(p->flags & LIST_TF_ONE)) {
		p->tfs = at;
		at = skip_tail(at, p->end, p->df);
	}
	if (at && p->flags & LIST_COUNTS) {
		p->counts = at;
		at = skip_tail(at, p->end, p->df);
	}
	p->occ = at;
	loose_bound(p, p->flags & LIST_TF_ONE ? 1 : SEGMENT_TF_MOST);
	return at ? 0 : postings_damaged(p, 0, err);
}

/* The arrays of a long list lie after its head, in an order that keeps numbers aligned. */
static int open_long(struct postings *p, const struct segment_term *info, struct err *err)
{
	uint64_t from = info->at - p->segment->f.part[PART_TERMS].at, pad = -info->at & 3;
	uint64_t per_block = 4 + 4 + 2 * SEGMENT_BOUNDS + (info->occurrences ? 4 + 1 : 0);
	uint64_t arrays = LIST_HEAD + per_block * p->blocks;
	const uint8_t *head;
	if (info->bytes < pad + arrays)
		return postings_damaged(p, 0, err);
	if (parts_bytes(&p->segment->f, PART_TERMS, from + pad, arrays, &head, err) < 0)
		return -1;
	uint64_t docs = load_u32(head, 0), own = load_u32(head, 1);
	p->tail = load_u32(head, 2);
	p->flags = load_u32(head, 3);
	if (pad + arrays + own + docs > info->bytes)
		return postings_damaged(p, 0, err);
	uint64_t occ = info->bytes - pad - arrays - own - docs;
	p->docs_at = from + pad + arrays + own;
	p->docs_n = (uint32_t)docs;
	p->occ_at = p->docs_at + docs;
	p->occ_n = (uint32_t)occ;
	if (occ > UINT32_MAX || p->tail > occ || p->flags & ~LIST_ALL)
		return postings_damaged(p, 0, err);
	const uint8_t *at = head + LIST_HEAD;
	p->last = (const uint32_t *)(const void *)at;
	p->where = p->last + p->blocks;
	const uint32_t *arrays_at = p->where + p->blocks;
	if (info->occurrences) {
		p->pos_where = arrays_at;
		arrays_at += p->blocks;
	}
	p->bound = (const uint8_t(*)[2 * SEGMENT_BOUNDS])(const void *)arrays_at;
	p->pos_skip = (const uint8_t *)(p->bound + p->blocks);
	return 0;
}

int postings_open(struct segment *s, const struct segment_term *info, struct postings *ret,
		  struct err *err)
{
	const uint8_t *data;
	*ret = (struct postings){.df = info->df, .blocks = info->blocks, .segment = s};
	ret->occurrences = info->occurrences;
	if (info->df >= SEGMENT_BLOCK)
		return open_long(ret, info, err);
	if (info->bytes == 0) {
		ret->one = *info;
		loose_bound(ret, 1);
		return 0;
	}
	if (parts_bytes(&s->f, PART_TERMS, info->at - s->f.part[PART_TERMS].at, info->bytes, &data,
			err) < 0)
		return -1;
	return open_short(ret, data, info->bytes, err);
}

/* Blocks */

/* The bytes of a block of a long list. */
static int block_bytes(struct postings *p, uint32_t block, const uint8_t **ret,
		       const uint8_t **ret_end, struct err *err)
{
	uint32_t from = p->where[block];
	uint32_t to = block + 1 < p->blocks ? p->where[block + 1] : p->docs_n;
	if (from > to || to > p->docs_n)
		return postings_damaged(p, block, err);
	const uint8_t *bytes;
	if (parts_bytes(&p->segment->f, PART_TERMS, p->docs_at + from, to - from, &bytes, err) < 0)
		return -1;
	*ret = bytes;
	*ret_end = bytes + (to - from);
	return 0;
}

static bool unpack_docs(const uint8_t *p, const uint8_t *end, uint32_t n, uint32_t base,
			uint32_t limit, uint32_t ret[SEGMENT_BLOCK])
{
	if (n == SEGMENT_BLOCK)
		return unpack_ascending(p, end, base, limit, ret) != NULL;
	return unpack_tail(p, end, n, ret) && add_up_ascending(ret, n, base, limit);
}

int postings_docs(struct postings *p, uint32_t block, uint32_t ret[SEGMENT_BLOCK], struct err *err)
{
	uint32_t docs = p->segment->foot.docs, n = postings_in_block(p, block);
	const uint8_t *from = NULL, *end = NULL;
	bool good;
	if (p->df >= SEGMENT_BLOCK) {
		uint32_t base = block ? p->last[block - 1] : UINT32_MAX;
		if (block_bytes(p, block, &from, &end, err) < 0)
			return -1;
		good = (block == 0 || base < docs) && unpack_docs(from, end, n, base, docs, ret) &&
		       ret[n - 1] == p->last[block];
	} else if (p->gaps) {
		good = unpack_docs(p->gaps, p->end, n, UINT32_MAX, docs, ret);
	} else {
		ret[0] = p->one.doc;
		good = true;
	}
	memset(ret + n, 0xff, (SEGMENT_BLOCK - n) * sizeof *ret);
	return good ? 0 : postings_damaged(p, block, err);
}

static void fill_ones(uint32_t n, uint32_t ret[SEGMENT_BLOCK])
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = 1;
}

/* Everything that a frequency is looked up in has 256 places. */
static bool all_frequencies(const uint32_t tf[SEGMENT_BLOCK], uint32_t n)
{
	uint32_t all = 0, zeroes = 0;
	for (uint32_t i = 0; i < n; i++) {
		all |= tf[i];
		zeroes += tf[i] == 0;
	}
	return all <= SEGMENT_TF_MOST && zeroes == 0;
}

int postings_tfs(struct postings *p, uint32_t block, uint32_t ret[SEGMENT_BLOCK], struct err *err)
{
	uint32_t n = postings_in_block(p, block);
	const uint8_t *from = p->tfs, *end = p->end;
	if (p->df >= SEGMENT_BLOCK) {
		if (block_bytes(p, block, &from, &end, err) < 0)
			return -1;
		from = numbers_skip(from, end, n);
		if (!from)
			return postings_damaged(p, block, err);
	}
	if (!from)
		fill_ones(n, ret);
	else if (!numbers_get(from, end, n, ret))
		return postings_damaged(p, block, err);
	/* Most lists that a pattern unites have but a few documents. */
	memset(ret + n, 0, (SEGMENT_BLOCK - n) * sizeof *ret);
	return all_frequencies(ret, n) ? 0 : postings_damaged(p, block, err);
}

/* What occurrences have more or less than frequencies; NULL: nothing. */
static int postings_more(struct postings *p, uint32_t block, uint32_t buffer[SEGMENT_BLOCK],
			 const uint32_t **ret, struct err *err)
{
	uint32_t n = postings_in_block(p, block);
	const uint8_t *from = p->counts, *end = p->end;
	*ret = NULL;
	if (p->df >= SEGMENT_BLOCK && p->pos_skip[block] & SKIP_COUNTS) {
		if (block_bytes(p, block, &from, &end, err) < 0)
			return -1;
		from = numbers_skip(from, end, n);
		from = from ? numbers_skip(from, end, n) : NULL;
		if (!from)
			return postings_damaged(p, block, err);
	}
	if (!from)
		return 0;
	*ret = buffer;
	return numbers_get(from, end, n, buffer) ? 0 : postings_damaged(p, block, err);
}

/* Where the words of a posting stand. Occurrences of a list lie in blocks of 128, whatever posting
 * they belong to; a block of postings knows where the block with its first one begins, and how many
 * in it belong to postings before. */

enum { NO_BLOCK = UINT32_MAX };

struct occurrence_cursor {
	/* The block of postings: where occurrences of each begin, counted from the first block of
	 * occurrences that it has a part in. */
	uint32_t block;
	uint32_t start[SEGMENT_BLOCK + 1];
	/* The stream from there on, as far as the block of postings may need it; and where its
	 * last, shorter block begins (in a long list; in a short one its number says so). */
	const uint8_t *stream, *end, *tail;
	/* The current block of occurrences: its number from there, the byte after it. */
	uint32_t number, n;
	const uint8_t *next;
	uint32_t gap[SEGMENT_BLOCK], form[SEGMENT_BLOCK];
	/* What was asked for: positions, forms. */
	uint32_t *out[2];
	size_t room[2];
};

static struct occurrence_cursor *cursor_of(struct postings *p)
{
	if (!p->cursor) {
		p->cursor = mem_alloc(sizeof *p->cursor);
		p->cursor->block = NO_BLOCK;
	}
	return p->cursor;
}

void postings_close(struct postings *p)
{
	if (p->cursor) {
		mem_free(&p->cursor->out[0]);
		mem_free(&p->cursor->out[1]);
	}
	mem_free(&p->cursor);
}

/* The block at c->next becomes the current one; only with `decode` its numbers are read. */
static inline int cursor_take_block(struct postings *p, bool decode, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	const uint8_t *from = c->next;
	bool tail = p->occ ? c->number == p->occurrences / SEGMENT_BLOCK : from == c->tail;
	c->n = tail ? (uint32_t)(p->occurrences % SEGMENT_BLOCK) : SEGMENT_BLOCK;
	from = decode ? numbers_get(from, c->end, c->n, c->gap) : numbers_skip(from, c->end, c->n);
	if (from && p->flags & LIST_FORMS)
		from = decode ? numbers_get(from, c->end, c->n, c->form)
			      : numbers_skip(from, c->end, c->n);
	if (UNLIKELY(!from || c->n == 0))
		return postings_damaged(p, c->block, err);
	c->next = from;
	return 0;
}

static int cursor_go_to(struct postings *p, uint32_t number, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	if (c->number == number)
		return 0;
	if (c->number == NO_BLOCK || c->number > number) {
		c->number = 0;
		c->next = c->stream;
	} else {
		c->number++;
	}
	for (; c->number < number; c->number++)
		if (cursor_take_block(p, false, err) < 0)
			return -1;
	return cursor_take_block(p, true, err);
}

/* The bytes with the occurrences of a block of postings: up to where those of the next one begin,
 * and the block that both share. */
static int cursor_find_stream(struct postings *p, uint32_t block, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	if (p->occ) {
		c->stream = p->occ;
		c->end = p->end;
		return 0;
	}
	uint64_t from = p->pos_where[block], to = p->occ_n;
	if (block + 1 < p->blocks)
		to = MIN(to, (uint64_t)p->pos_where[block + 1] + UINT64_C(2) * PACK_MOST);
	if (from > to)
		return postings_damaged(p, block, err);
	if (parts_bytes(&p->segment->f, PART_TERMS, p->occ_at + from, to - from, &c->stream, err) <
	    0)
		return -1;
	c->end = c->stream + (to - from);
	c->tail = p->tail >= from && p->tail <= to ? c->stream + (p->tail - from) : NULL;
	return 0;
}

/* Where occurrences of each posting begin. No sum is more than there are occurrences, which have 32
 * bits. */
static bool add_counts(const struct postings *p, uint32_t block, const uint32_t *tf,
		       const uint32_t *more, uint32_t start[SEGMENT_BLOCK + 1])
{
	uint32_t n = postings_in_block(p, block), at = 0;
	uint64_t sum;
	if (p->pos_skip)
		at = p->pos_skip[block] & ~SKIP_COUNTS;
	/* Frequencies are at most SEGMENT_TF_MOST. */
	for (uint32_t i = 0; i < n && !more; i++) {
		start[i] = at;
		at += tf[i];
	}
	sum = at;
	for (uint32_t i = 0; i < n && more; i++) {
		int64_t count = (int64_t)tf[i] + unzigzag(more[i]);
		if (count < 1)
			return false;
		start[i] = at;
		at += (uint32_t)count;
		sum += (uint64_t)count;
	}
	start[n] = at;
	return sum <= p->occurrences + SEGMENT_BLOCK && sum <= UINT32_MAX;
}

/* Counts of a block of postings. */
static int cursor_enter_block(struct postings *p, uint32_t block, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	uint32_t tf[SEGMENT_BLOCK], buffer[SEGMENT_BLOCK];
	const uint32_t *more;
	c->block = NO_BLOCK;
	if (postings_tfs(p, block, tf, err) < 0 ||
	    postings_more(p, block, buffer, &more, err) < 0 ||
	    cursor_find_stream(p, block, err) < 0)
		return -1;
	if (!add_counts(p, block, tf, more, c->start))
		return postings_damaged(p, block, err);
	c->block = block;
	c->number = NO_BLOCK;
	return 0;
}

static uint32_t *cursor_room(struct occurrence_cursor *c, bool forms, size_t n)
{
	VEC_ROOM(c->out[forms], c->room[forms], n);
	return c->out[forms];
}

static int cursor_broken(struct postings *p, uint32_t block, struct err *err)
{
	p->cursor->block = NO_BLOCK;
	return postings_damaged(p, block, err);
}

/* Copies the occurrences of a posting out of their blocks: forms, or positions, which are the sums
 * of the gaps. */
static int cursor_collect(struct postings *p, uint32_t block, uint32_t i, bool forms,
			  uint32_t *ret_n, struct err *err)
{
	struct occurrence_cursor *c = cursor_of(p);
	if (c->block != block && cursor_enter_block(p, block, err) < 0)
		return -1;
	uint32_t from = c->start[i], to = c->start[i + 1], sum = 0, over = 0;
	for (uint32_t *out = cursor_room(c, forms, to - from); from < to;) {
		if (cursor_go_to(p, from / SEGMENT_BLOCK, err) < 0) {
			c->block = NO_BLOCK;
			return -1;
		}
		uint32_t at = from % SEGMENT_BLOCK, n = MIN(to - from, SEGMENT_BLOCK - at);
		const uint32_t *in = (forms ? c->form : c->gap) + at;
		if (UNLIKELY(n > c->n - MIN(at, c->n)))
			return cursor_broken(p, block, err);
		for (uint32_t k = 0; k < n; k++) {
			sum = forms ? in[k] : sum + in[k];
			over |= sum < in[k];
			out[k] = sum;
		}
		out += n;
		from += n;
	}
	*ret_n = c->start[i + 1] - c->start[i];
	return over ? cursor_broken(p, block, err) : 0;
}

static int one_number(struct postings *p, bool forms, uint32_t v, const uint32_t **ret,
		      uint32_t *ret_n)
{
	uint32_t *out = cursor_room(cursor_of(p), forms, 1);
	out[0] = v;
	*ret = out;
	*ret_n = 1;
	return 0;
}

int postings_positions(struct postings *p, uint32_t block, uint32_t i, const uint32_t **ret,
		       uint32_t *ret_n, struct err *err)
{
	uint32_t n = 0;
	if (p->df < SEGMENT_BLOCK && !p->gaps)
		return one_number(p, false, p->one.position, ret, ret_n);
	if (cursor_collect(p, block, i, false, &n, err) < 0)
		return -1;
	*ret = p->cursor->out[0];
	*ret_n = n;
	return 0;
}

int postings_forms(struct postings *p, uint32_t block, uint32_t i, const uint32_t **ret,
		   uint32_t *ret_n, struct err *err)
{
	uint32_t n = 0;
	if (p->df < SEGMENT_BLOCK && !p->gaps)
		return one_number(p, true, p->one.variant, ret, ret_n);
	if (cursor_collect(p, block, i, true, &n, err) < 0)
		return -1;
	*ret = p->cursor->out[1];
	*ret_n = n;
	return 0;
}

/* Writing */

/* No list comes near: offsets in it have 32 bits, and the segment's writer looks. */
static const size_t list_bytes_most = (size_t)1 << 40;

void list_init(struct list_writer *l)
{
	*l = (struct list_writer){0};
	struct buf *all[] = {&l->docs,       &l->occ,       &l->lasts, &l->wheres,
			     &l->pos_wheres, &l->pos_skips, &l->bounds};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		*all[i] = BUF_INIT(list_bytes_most);
	list_mean(l, 1);
}

void list_free(struct list_writer *l)
{
	buf_free(&l->docs);
	buf_free(&l->occ);
	buf_free(&l->lasts);
	buf_free(&l->wheres);
	buf_free(&l->pos_wheres);
	buf_free(&l->pos_skips);
	buf_free(&l->bounds);
}

void list_mean(struct list_writer *l, double mean_length)
{
	for (unsigned code = 0; code < 256; code++) {
		double ratio = (double)words_length_of((uint8_t)code) / MAX(mean_length, 1.0);
		l->norm[code] = (float)(1.2 * (0.25 + 0.75 * ratio));
	}
}

void list_begin(struct list_writer *l, bool positions, bool forms)
{
	l->n = l->npos = l->frontiers = 0;
	l->last = UINT32_MAX;
	l->tf_one = true;
	l->counts = false;
	l->positions = positions;
	l->forms = forms;
	l->df = l->occurrences = 0;
	l->next_where = l->next_pos = l->next_skip = 0;
	buf_clear(&l->docs);
	buf_clear(&l->occ);
	buf_clear(&l->lasts);
	buf_clear(&l->wheres);
	buf_clear(&l->pos_wheres);
	buf_clear(&l->pos_skips);
	buf_clear(&l->bounds);
}

static void put_numbers(struct buf *out, const uint32_t *v, uint32_t n)
{
	uint8_t *to = (uint8_t *)buf_room(out, PACK_MOST);
	ENSURE(to);
	buf_grew(out, n == SEGMENT_BLOCK ? pack_block(v, to) : pack_tail(v, n, to));
}

void list_flush_occurrences(struct list_writer *l)
{
	put_numbers(&l->occ, l->pos, l->npos);
	if (l->forms)
		put_numbers(&l->occ, l->form, l->npos);
	l->npos = 0;
}

/* Bounds */

void list_frontier_add(struct list_writer *l, uint8_t tf, uint8_t len)
{
	for (uint32_t i = 0; i < l->frontiers; i++)
		if (l->frontier[i].tf >= tf && l->frontier[i].len <= len)
			return;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < l->frontiers; i++)
		if (l->frontier[i].tf > tf || l->frontier[i].len < len)
			l->frontier[kept++] = l->frontier[i];
	l->frontier[kept].tf = tf;
	l->frontier[kept].len = len;
	l->frontiers = kept + 1;
}

static float bound_worth(const struct list_writer *l, uint8_t tf, uint8_t len)
{
	return (float)tf / ((float)tf + l->norm[len]);
}

static void sort_frontier(struct list_writer *l)
{
	for (uint32_t i = 1; i < l->frontiers; i++)
		for (uint32_t k = i; k > 0 && l->frontier[k - 1].tf < l->frontier[k].tf; k--) {
			uint8_t tf = l->frontier[k].tf, len = l->frontier[k].len;
			l->frontier[k] = l->frontier[k - 1];
			l->frontier[k - 1].tf = tf;
			l->frontier[k - 1].len = len;
		}
}

/* Pairs are given up by putting one that covers both in the place of two neighbours: those where
 * this raises the bound least. */
static void shorten_frontier(struct list_writer *l)
{
	while (l->frontiers > SEGMENT_BOUNDS) {
		uint32_t best = 0;
		float least = 2;
		for (uint32_t i = 0; i + 1 < l->frontiers; i++) {
			float a = bound_worth(l, l->frontier[i].tf, l->frontier[i].len);
			float b = bound_worth(l, l->frontier[i + 1].tf, l->frontier[i + 1].len);
			float both = bound_worth(l, l->frontier[i].tf, l->frontier[i + 1].len);
			if (both - MAX(a, b) < least) {
				least = both - MAX(a, b);
				best = i;
			}
		}
		l->frontier[best].len = l->frontier[best + 1].len;
		memmove(&l->frontier[best + 1], &l->frontier[best + 2],
			(l->frontiers - best - 2) * sizeof l->frontier[0]);
		l->frontiers--;
	}
}

static void put_bounds(struct list_writer *l)
{
	sort_frontier(l);
	shorten_frontier(l);
	for (uint32_t i = 0; i < SEGMENT_BOUNDS; i++) {
		uint32_t pair = MIN(i, l->frontiers - 1);
		put_u8(&l->bounds, l->frontier[pair].tf);
		put_u8(&l->bounds, l->frontier[pair].len);
	}
	l->frontiers = 0;
}

/* Blocks */

static void put_block(struct list_writer *l)
{
	put_numbers(&l->docs, l->gap, l->n);
	put_numbers(&l->docs, l->tf, l->n);
	if (l->positions && l->counts)
		put_numbers(&l->docs, l->more, l->n);
}

void list_flush_postings(struct list_writer *l)
{
	put_block(l);
	put_u32le(&l->lasts, l->last);
	put_u32le(&l->wheres, l->next_where);
	put_u32le(&l->pos_wheres, l->next_pos);
	put_u8(&l->pos_skips, (uint8_t)(l->next_skip | (l->counts ? SKIP_COUNTS : 0)));
	put_bounds(l);
	l->next_where = (uint32_t)l->docs.n;
	l->next_pos = (uint32_t)l->occ.n;
	l->next_skip = l->npos;
	l->df += l->n;
	l->n = 0;
	l->counts = false;
}

static void end_long(struct list_writer *l, uint64_t at, struct str own, struct buf *out)
{
	if (l->n)
		list_flush_postings(l);
	buf_fill(out, 0, (size_t)(-at & 3));
	put_u32le(out, (uint32_t)l->docs.n);
	put_u32le(out, (uint32_t)own.n);
	put_u32le(out, l->tail);
	put_u32le(out, (l->forms ? LIST_FORMS : 0) | (own.n ? LIST_OWN : 0));
	buf_add_str(out, buf_str(&l->lasts));
	buf_add_str(out, buf_str(&l->wheres));
	if (l->positions)
		buf_add_str(out, buf_str(&l->pos_wheres));
	buf_add_str(out, buf_str(&l->bounds));
	if (l->positions)
		buf_add_str(out, buf_str(&l->pos_skips));
	buf_add_str(out, own);
	buf_add_str(out, buf_str(&l->docs));
}

static void end_short(struct list_writer *l, struct str own, struct buf *out)
{
	bool counts = l->positions && l->counts;
	put_u8(out, (uint8_t)((l->tf_one ? LIST_TF_ONE : 0) | (counts ? LIST_COUNTS : 0) |
			      (l->forms ? LIST_FORMS : 0) | (own.n ? LIST_OWN : 0)));
	if (own.n)
		put_text(out, own);
	put_numbers(out, l->gap, l->n);
	if (!l->tf_one)
		put_numbers(out, l->tf, l->n);
	if (counts)
		put_numbers(out, l->more, l->n);
	l->df = l->n;
}

void list_end(struct list_writer *l, uint64_t at, struct str own, struct buf *out)
{
	l->tail = (uint32_t)l->occ.n;
	if (l->positions && l->npos)
		list_flush_occurrences(l);
	if (l->df)
		end_long(l, at, own, out);
	else
		end_short(l, own, out);
	buf_add_str(out, buf_str(&l->occ));
}
