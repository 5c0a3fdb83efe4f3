/* Arenas: memory for one request, batch or pass, given back all at once. arena_mark() and
 * arena_reset() give back what came after a point. Built with -Darena_malloc=true every object is a
 * malloc of its own, so that the sanitizers see each overrun and each use after reset. */
#pragma once
#include "base/str.h"

struct arena_chunk;
struct arena {
	struct arena_chunk *last;
	size_t used;  /* bytes handed out */
	size_t limit; /* the most there may ever be: past it the program ends */
};
struct arena_mark {
	struct arena_chunk *chunk;
	size_t at, used;
};

#define ARENA_INIT(most) ((struct arena){.limit = (most)})

void *arena_alloc(struct arena *a, size_t n) MUST_USE; /* zero-filled, aligned for anything */
void *arena_array(struct arena *a, size_t n, size_t size) MUST_USE;
char *arena_text(struct arena *a, struct str s) MUST_USE; /* a copy that ends in NUL */
struct str arena_str(struct arena *a, struct str s) MUST_USE;
struct str arena_lower(struct arena *a, struct str s) MUST_USE; /* by str_lower() */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_USE;

/* A pointer to one more element of an array that grows in the arena, as VEC_PUSH() does on the
 * heap. What it grew out of stays where it is. */
#define ARENA_PUSH(arena, array, n, room)                                                         \
	((n) == (room) ? (void)((array) = arena_grow((arena), (array), &(room), sizeof *(array))) \
		       : (void)0,                                                                 \
	 &(array)[(n)++])
/* Twice as many elements, with those that there are. */
void *arena_grow(struct arena *a, const void *array, size_t *room, size_t size) MUST_USE;

struct arena_mark arena_mark(const struct arena *a);
void arena_reset(struct arena *a, struct arena_mark mark);
void arena_clear(struct arena *a); /* keeps one chunk for the next round */
void arena_free(struct arena *a);

/* Chunks that wait for the next arena of an owner who has many small ones, one after the other: the
 * C library would split and join them again and again. */
struct arena_pool {
	struct arena_chunk *first;
	size_t n;
};
struct arena arena_from(struct arena_pool *pool, size_t limit) MUST_USE;
void arena_give(struct arena *a, struct arena_pool *pool); /* in place of arena_free() */
void arena_pool_free(struct arena_pool *pool);
