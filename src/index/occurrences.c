/* Where the words of a posting stand. Occurrences of a list lie in blocks of 128, whatever posting
 * they belong to; a block of postings knows where the block with its first one begins, and how many
 * in it belong to postings before. */
#include "index/postings.h"

enum { NO_BLOCK = UINT32_MAX };

struct occurrence_cursor {
	/* The block of postings: where occurrences of each begin, counted from the first block of
	 * occurrences that it has a part in. */
	uint32_t block;
	uint64_t start[SEGMENT_BLOCK + 1];
	/* The block of occurrences at hand: its number from there, its place in the stream, the
	 * place behind it. */
	uint32_t number;
	uint64_t at, next;
	uint32_t n;
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

/* Length of the stream of occurrences, and where its last, shorter block begins. */
static uint64_t stream_n(const struct postings *p)
{
	return p->occ ? (uint64_t)(p->end - p->occ) : p->occ_n;
}

static bool is_tail(const struct postings *p, const struct occurrence_cursor *c, uint64_t at)
{
	if (p->df >= SEGMENT_BLOCK)
		return at == p->tail;
	return c->number == p->occurrences / SEGMENT_BLOCK;
}

/* What is left of the stream at a place, or as much of it as a block may have. */
static int stream_bytes(struct postings *p, uint64_t at, const uint8_t **ret,
			const uint8_t **ret_end, struct err *err)
{
	uint64_t n = stream_n(p);
	if (at > n)
		return postings_damaged(p, p->cursor->block, err);
	if (p->occ) {
		*ret = p->occ + at;
		*ret_end = p->end;
		return 0;
	}
	n = MIN(n - at, (uint64_t)2 * PACK_MOST);
	if (segment_bytes(p->segment, PART_TERMS, p->occ_at + at, n, ret, err) < 0)
		return -1;
	*ret_end = *ret + n;
	return 0;
}

/* The block at c->next becomes the one at hand; only with `decode` its numbers are read. */
static int take_block(struct postings *p, bool decode, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	const uint8_t *from = NULL, *end = NULL;
	c->at = c->next;
	c->n = is_tail(p, c, c->at) ? (uint32_t)(p->occurrences % SEGMENT_BLOCK) : SEGMENT_BLOCK;
	if (c->n == 0 || stream_bytes(p, c->at, &from, &end, err) < 0)
		return c->n == 0 ? postings_damaged(p, c->block, err) : -1;
	const uint8_t *start = from;
	from = decode ? numbers_get(from, end, c->n, c->gap) : numbers_skip(from, end, c->n);
	if (from && p->flags & LIST_FORMS)
		from = decode ? numbers_get(from, end, c->n, c->form)
			      : numbers_skip(from, end, c->n);
	if (!from)
		return postings_damaged(p, c->block, err);
	c->next = c->at + (uint64_t)(from - start);
	return 0;
}

static int go_to(struct postings *p, uint32_t number, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	if (c->number == number)
		return 0;
	if (c->number == NO_BLOCK || c->number > number) {
		c->number = 0;
		c->next = p->pos_where ? p->pos_where[c->block] : 0;
	} else {
		c->number++;
	}
	for (; c->number < number; c->number++)
		if (take_block(p, false, err) < 0)
			return -1;
	return take_block(p, true, err);
}

/* Counts of a block of postings. */
static int enter_block(struct postings *p, uint32_t block, struct err *err)
{
	struct occurrence_cursor *c = p->cursor;
	uint32_t tf[SEGMENT_BLOCK], buffer[SEGMENT_BLOCK];
	const uint32_t *more;
	c->block = NO_BLOCK;
	if (postings_tfs(p, block, tf, err) < 0 || postings_more(p, block, buffer, &more, err) < 0)
		return -1;
	uint64_t at = p->pos_skip ? p->pos_skip[block] & ~SKIP_COUNTS : 0;
	uint32_t n = postings_in_block(p, block);
	for (uint32_t i = 0; i < n; i++) {
		int64_t count = (int64_t)tf[i] + (more ? unzigzag(more[i]) : 0);
		c->start[i] = at;
		if (count < 1 || (uint64_t)count > p->occurrences)
			return postings_damaged(p, block, err);
		at += (uint64_t)count;
	}
	c->start[n] = at;
	c->block = block;
	c->number = NO_BLOCK;
	return 0;
}

static uint32_t *make_room(struct occurrence_cursor *c, bool forms, size_t n)
{
	if (n > c->room[forms]) {
		c->room[forms] = MAX(n, c->room[forms] * 2);
		c->out[forms] = mem_resize(c->out[forms], c->room[forms] * sizeof(uint32_t));
	}
	return c->out[forms];
}

/* Copies occurrences (gaps, or forms) of a posting out of their blocks. */
static int collect(struct postings *p, uint32_t block, uint32_t i, bool forms, uint32_t *ret_n,
		   struct err *err)
{
	struct occurrence_cursor *c = cursor_of(p);
	if (c->block != block && enter_block(p, block, err) < 0)
		return -1;
	uint64_t from = c->start[i], to = c->start[i + 1];
	if (to - from > p->occurrences || to / SEGMENT_BLOCK > UINT32_MAX - 1)
		return postings_damaged(p, block, err);
	for (uint32_t *out = make_room(c, forms, (size_t)(to - from)); from < to;) {
		if (go_to(p, (uint32_t)(from / SEGMENT_BLOCK), err) < 0) {
			c->block = NO_BLOCK;
			return -1;
		}
		uint32_t at = from % SEGMENT_BLOCK;
		uint32_t n = (uint32_t)MIN(to - from, (uint64_t)SEGMENT_BLOCK - at);
		if (n > c->n - MIN(at, c->n)) {
			c->block = NO_BLOCK;
			return postings_damaged(p, block, err);
		}
		memcpy(out, (forms ? c->form : c->gap) + at, n * sizeof *out);
		out += n;
		from += n;
	}
	*ret_n = (uint32_t)(c->start[i + 1] - c->start[i]);
	return 0;
}

static int one_number(struct postings *p, bool forms, uint32_t v, const uint32_t **ret,
		      uint32_t *ret_n)
{
	uint32_t *out = make_room(cursor_of(p), forms, 1);
	out[0] = v;
	*ret = out;
	*ret_n = 1;
	return 0;
}

int postings_positions(struct postings *p, uint32_t block, uint32_t i, const uint32_t **ret,
		       uint32_t *ret_n, struct err *err)
{
	uint32_t n;
	if (p->df < SEGMENT_BLOCK && !p->gaps)
		return one_number(p, false, p->one.position, ret, ret_n);
	if (collect(p, block, i, false, &n, err) < 0)
		return -1;
	uint32_t *out = p->cursor->out[0];
	uint32_t all = n ? out[0] : 0;
	for (uint32_t k = 1; k < n; k++) {
		if (UNLIKELY(out[k] > UINT32_MAX - all))
			return postings_damaged(p, block, err);
		all += out[k];
		out[k] = all;
	}
	*ret = out;
	*ret_n = n;
	return 0;
}

int postings_forms(struct postings *p, uint32_t block, uint32_t i, const uint32_t **ret,
		   uint32_t *ret_n, struct err *err)
{
	uint32_t n;
	if (p->df < SEGMENT_BLOCK && !p->gaps)
		return one_number(p, true, p->one.variant, ret, ret_n);
	if (collect(p, block, i, true, &n, err) < 0)
		return -1;
	*ret = p->cursor->out[1];
	*ret_n = n;
	return 0;
}
