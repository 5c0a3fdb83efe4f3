/* An arena is a chain of chunks, the newest first; most requests fit in one chunk, which is kept
 * for the next. Memory comes zero-filled, so that nobody reads what the request before left. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 16 * 1024 - 64, ALIGN = alignof(max_align_t), ARENA_LEAST = 16, POOL_MOST = 256 };

struct arena_chunk {
	struct arena_chunk *before;
	size_t size, at;
	alignas(max_align_t) char bytes[];
};

static struct arena_chunk *chunk_new(struct arena *a, size_t size)
{
	struct arena_chunk *c = malloc(sizeof *c + size);
	if (!c)
		die("out of memory (%zu bytes wanted for an arena)", size);
	*c = (struct arena_chunk){.before = a->last, .size = size};
	a->last = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t n)
{
	/* half of the address space, so that rounding up cannot overflow */
	if (n > a->limit - a->used || n > PTRDIFF_MAX / 2)
		die("an arena of at most %zu bytes was asked for %zu more", a->limit, n);
	a->used += n;
#ifdef GARNER_ARENA_MALLOC
	struct arena_chunk *c = chunk_new(a, n);
	c->at = n;
	memset(c->bytes, 0, n);
	return c->bytes;
#else
	size_t room = (n + ALIGN - 1) / ALIGN * ALIGN;
	struct arena_chunk *c = a->last;
	if (!c || room > c->size - c->at)
		c = chunk_new(a, MAX(room, (size_t)CHUNK));
	void *p = c->bytes + c->at;
	c->at += room;
	memset(p, 0, n);
	return p;
#endif
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total))
		die("an arena was asked for %zu times %zu bytes", n, size);
	return arena_alloc(a, total);
}

void *arena_grow(struct arena *a, const void *array, size_t *room, size_t size)
{
	size_t more = MAX(*room * 2, (size_t)ARENA_LEAST);
	void *grown = arena_array(a, more, size);
	if (*room)
		memcpy(grown, array, *room * size);
	*room = more;
	return grown;
}

char *arena_text(struct arena *a, struct str s)
{
	char *copy = arena_alloc(a, s.n + 1);
	if (s.n)
		memcpy(copy, s.p, s.n);
	return copy;
}

struct str arena_str(struct arena *a, struct str s)
{
	return (struct str){arena_text(a, s), s.n};
}

struct str arena_lower(struct arena *a, struct str s)
{
	return str_lower(s, arena_text(a, s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	ENSURE(n >= 0);
	char *text = arena_alloc(a, (size_t)n + 1);
	if ((size_t)n < sizeof small)
		memcpy(text, small, (size_t)n);
	else
		vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return text;
}

struct arena_mark arena_mark(const struct arena *a)
{
	return (struct arena_mark){a->last, a->last ? a->last->at : 0, a->used};
}

void arena_reset(struct arena *a, struct arena_mark mark)
{
	while (a->last != mark.chunk) {
		struct arena_chunk *c = a->last;
		ENSURE(c);
		a->last = c->before;
		free(c);
	}
	if (a->last)
		a->last->at = mark.at;
	a->used = mark.used;
}

void arena_clear(struct arena *a)
{
#ifndef GARNER_ARENA_MALLOC
	while (a->last && a->last->before) {
		struct arena_chunk *c = a->last;
		a->last = c->before;
		free(c);
	}
	if (a->last && a->last->size <= CHUNK) {
		a->last->at = 0;
		a->used = 0;
		return;
	}
#endif
	arena_free(a);
}

void arena_free(struct arena *a)
{
	arena_reset(a, (struct arena_mark){0});
}

struct arena arena_from(struct arena_pool *pool, size_t limit)
{
	struct arena a = ARENA_INIT(limit);
	a.last = pool->first;
	if (a.last) {
		pool->first = a.last->before;
		pool->n--;
		a.last->before = NULL;
	}
	return a;
}

void arena_give(struct arena *a, struct arena_pool *pool)
{
	if (pool->n < POOL_MOST)
		arena_clear(a);
	else
		arena_free(a);
	if (!a->last)
		return;
	a->last->before = pool->first;
	pool->first = a->last;
	pool->n++;
	a->last = NULL;
}

void arena_pool_free(struct arena_pool *pool)
{
	struct arena all = {.last = pool->first};
	arena_free(&all);
	*pool = (struct arena_pool){0};
}
