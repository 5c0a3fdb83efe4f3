/* Strings of bytes in chunks, and the records in them. */
#include "fetch/hostq_list.h"

#include <stdlib.h>
#include <sys/mman.h>

static char *chunk_at(const struct chunks *m, uint32_t number)
{
	return m->slab[number / SLAB_CHUNKS] + (size_t)(number % SLAB_CHUNKS) * CHUNK_SIZE;
}

static uint32_t chunk_next(const struct chunks *m, uint32_t number)
{
	uint32_t next;
	memcpy(&next, chunk_at(m, number), sizeof next);
	return next;
}

static void chunk_link(const struct chunks *m, uint32_t number, uint32_t next)
{
	memcpy(chunk_at(m, number), &next, sizeof next);
}

static char *chunk_data(const struct chunks *m, uint32_t number)
{
	return chunk_at(m, number) + (CHUNK_SIZE - CHUNK_DATA);
}

void *huge_resize(void *p, size_t had, size_t n)
{
	size_t round = (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	if (n < HUGE_PAGE)
		return mem_resize(p, n);
	void *fresh = aligned_alloc(HUGE_PAGE, round);
	ENSURE(fresh && had <= n);
	(void)madvise(fresh, round, MADV_HUGEPAGE);
	if (had)
		memcpy(fresh, p, had);
	mem_free(&p);
	return fresh;
}

static uint32_t chunk_new(struct chunks *m)
{
	uint32_t number = m->free;
	m->in_use++;
	if (number) {
		m->free = chunk_next(m, number);
		return number;
	}
	if (m->made == 0)
		m->made = 1;
	if (m->made >= m->nslabs * (uint64_t)SLAB_CHUNKS) {
		ENSURE(m->nslabs < UINT32_MAX / SLAB_CHUNKS);
		m->slab = mem_resize(m->slab, (m->nslabs + 1) * sizeof *m->slab);
		m->slab[m->nslabs++] = huge_resize(NULL, 0, HUGE_PAGE);
	}
	return m->made++;
}

static void chunk_free(struct chunks *m, uint32_t number)
{
	chunk_link(m, number, m->free);
	m->free = number;
	m->in_use--;
}

void chunks_free(struct chunks *m)
{
	for (uint32_t i = 0; i < m->nslabs; i++)
		mem_free(&m->slab[i]);
	mem_free(&m->slab);
	*m = (struct chunks){0};
}

bool chain_is_empty(const struct chain *c)
{
	return c->first == 0;
}

static void chain_grow(struct chunks *m, struct chain *c)
{
	uint32_t number = chunk_new(m);
	chunk_link(m, number, 0);
	if (c->first)
		chunk_link(m, c->last, number);
	else
		*c = (struct chain){.first = number};
	c->last = number;
	c->to = 0;
}

void chain_add(struct chunks *m, struct chain *c, const void *p, size_t n)
{
	while (n) {
		if (c->first == 0 || c->to == CHUNK_DATA)
			chain_grow(m, c);
		size_t some = MIN(n, (size_t)(CHUNK_DATA - c->to));
		memcpy(chunk_data(m, c->last) + c->to, p, some);
		c->to = (uint16_t)(c->to + some);
		p = (const char *)p + some;
		n -= some;
	}
}

void chain_clear(struct chunks *m, struct chain *c)
{
	for (uint32_t number = c->first, next; number; number = next) {
		next = chunk_next(m, number);
		chunk_free(m, number);
	}
	*c = (struct chain){0};
}

/* A place in a chain. */
struct cursor {
	const struct chunks *m;
	uint32_t number, last;
	uint16_t at, to; /* in the chunk; `to` of the last chunk */
};

static struct cursor cursor_of(const struct chunks *m, const struct chain *c)
{
	return (struct cursor){m, c->first, c->last, c->from, c->to};
}

static uint16_t cursor_end(const struct cursor *at)
{
	return at->number == at->last ? at->to : CHUNK_DATA;
}

/* Bytes that lie in one piece from here on; 0: the end. */
static size_t cursor_have(struct cursor *at)
{
	if (at->number && at->at == cursor_end(at) && at->number != at->last) {
		at->number = chunk_next(at->m, at->number);
		at->at = 0;
	}
	return at->number ? (size_t)(cursor_end(at) - at->at) : 0;
}

static uint64_t cursor_varint(struct cursor *at)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		ENSURE(cursor_have(at) > 0);
		uint8_t b = (uint8_t)chunk_data(at->m, at->number)[at->at++];
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			break;
	}
	return v;
}

static void cursor_copy(struct cursor *at, size_t n, struct buf *out)
{
	while (n) {
		size_t some = MIN(n, cursor_have(at));
		ENSURE(some > 0);
		buf_add(out, chunk_data(at->m, at->number) + at->at, some);
		at->at = (uint16_t)(at->at + some);
		n -= some;
	}
}

static uint64_t zigzag_of(uint64_t before, uint64_t user)
{
	int64_t difference = (int64_t)(user - before);
	return (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
}

static uint64_t zigzag_undo(uint64_t before, uint64_t v)
{
	return before + ((v >> 1) ^ -(v & 1));
}

static size_t varint_write(uint64_t v, char *p)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		p[n++] = (char)(v | 0x80);
	p[n++] = (char)v;
	return n;
}

size_t record_head(uint64_t before, uint64_t user, size_t n, char ret[RECORD_HEAD_MAX])
{
	size_t at = varint_write(zigzag_of(before, user), ret);
	return at + varint_write(n, ret + at);
}

static bool varint_cut(struct str *rest, uint64_t *ret)
{
	uint64_t v = 0;
	for (size_t i = 0; i < rest->n && i < 10; i++) {
		uint8_t b = (uint8_t)rest->p[i];
		if (i == 9 && b > 1)
			return false;
		v |= (uint64_t)(b & 0x7f) << 7 * i;
		if (b < 0x80) {
			*rest = str_from(*rest, i + 1);
			*ret = v;
			return true;
		}
	}
	return false;
}

bool record_cut(struct str *rest, uint64_t *user, struct str *ret_payload)
{
	struct str left = *rest;
	uint64_t difference, n;
	if (!varint_cut(&left, &difference) || !varint_cut(&left, &n) || n > HOSTQ_PAYLOAD_MAX ||
	    n > left.n)
		return false;
	*ret_payload = str_head(left, (size_t)n);
	*rest = str_from(left, (size_t)n);
	*user = zigzag_undo(*user, difference);
	return true;
}

/* The first record of a chain that is not empty. */
void chain_shift(struct chunks *m, struct chain *c, uint64_t *user, struct buf *ret_payload)
{
	struct cursor at = cursor_of(m, c);
	*user = zigzag_undo(*user, cursor_varint(&at));
	cursor_copy(&at, (size_t)cursor_varint(&at), ret_payload);
	bool end = cursor_have(&at) == 0;
	while (c->first && (end || c->first != at.number)) {
		uint32_t next = chunk_next(m, c->first);
		chunk_free(m, c->first);
		c->first = next;
	}
	c->from = at.at;
	if (end)
		*c = (struct chain){0};
}

static int part_done(struct store *s, struct part *part, part_fn *fn, void *ctx, struct err *err)
{
	part->bytes = buf_str(&s->piece);
	int rc = part->urls ? fn(ctx, part, err) : 0;
	part->urls = 0;
	buf_clear(&s->piece);
	return rc;
}

int chain_each_part(struct store *s, const struct chain *c, uint64_t user, part_fn *fn, void *ctx,
		    struct err *err)
{
	struct cursor at = cursor_of(&s->chunks, c);
	struct part part = {.user = user};
	char head[RECORD_HEAD_MAX];
	buf_clear(&s->piece);
	while (cursor_have(&at) > 0) {
		uint64_t difference = cursor_varint(&at), n = cursor_varint(&at);
		size_t head_n = varint_write(difference, head);
		head_n += varint_write(n, head + head_n);
		if (s->piece.n + head_n + n > EXTENT_MAX) {
			if (part_done(s, &part, fn, ctx, err) < 0)
				return -1;
			part.user = user;
		}
		buf_add(&s->piece, head, head_n);
		cursor_copy(&at, (size_t)n, &s->piece);
		user = zigzag_undo(user, difference);
		part.urls++;
	}
	return part_done(s, &part, fn, ctx, err);
}
