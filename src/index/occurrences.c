/* Where the words of a posting stand. Occurrences of a list lie in blocks of 128, whatever posting
 * they belong to; a block of postings knows where the block with its first one begins, and how many
 * in it belong to postings before. */
#include "index/postings.h"

enum { NO_BLOCK = UINT32_MAX };

struct occurrence_cursor {
	/* The block of postings: where occurrences of each begin, counted from the first block of
	 * occurrences that it has a part in. */
	uint32_t block;
	uint32_t start[SEGMENT_BLOCK + 1];
	/* The stream from there on, as far as the block of postings may need it; and where its
	 * last, shorter block begins (in a long list; in a short one its number says so). */
	const uint8_t *stream, *end, *tail;
	/* The block of occurrences at hand: its number from there, the byte behind it. */
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

/* The block at c->next becomes the one at hand; only with `decode` its numbers are read. */
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
	if (segment_bytes(p->segment, PART_TERMS, p->occ_at + from, to - from, &c->stream, err) < 0)
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
	sum = at;
	for (uint32_t i = 0; i < n && !more; i++) {
		start[i] = at;
		at += tf[i];
		sum += tf[i];
	}
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
	if (n > c->room[forms]) {
		c->room[forms] = MAX(n, c->room[forms] * 2);
		c->out[forms] = mem_resize(c->out[forms], c->room[forms] * sizeof(uint32_t));
	}
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
