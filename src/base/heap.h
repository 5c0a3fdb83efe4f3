/* Typed binary heaps: HEAP(name, type, less, moved) makes `struct name` and its functions; the
 * least element is on top. `moved(element *, size_t at)` tells an element its place, so that it can
 * be changed or removed from the middle; HEAP_STAY where it need not know.
 *
 *   static bool sooner(struct timer *const *a, struct timer *const *b)
 *   {
 *           return (*a)->due_us < (*b)->due_us;
 *   }
 *   static void moved(struct timer **t, size_t at)
 *   {
 *           (*t)->at = at;
 *   }
 *   HEAP(timers, struct timer *, sooner, moved)
 *
 *   struct timers h = {0};
 *   timers_push(&h, t);                          into its place
 *   struct timer **first = timers_top(&h);       NULL: empty; good until the next call
 *   while (timers_pop(&h, &t) == 0) ...          0: *ret was the least; 1: none left
 *   t->due_us = ...; timers_fix(&h, t->at);      after a change that may move it, up or down
 *   timers_remove(&h, t->at);                    takes it out of the middle
 *   timers_count(&h); timers_free(&h);           free gives the memory back; {0} again
 *
 * Equal elements come out in any order. An element that left is not told. Not thread-safe. */
#pragma once
#include "base/vec.h"

#define HEAP_STAY(element, at) ((void)(element), (void)(at))
#define HEAP_FN static inline __attribute__((unused))

#define HEAP(name, type, less, moved)                                              \
	struct name {                                                              \
		type *e;                                                           \
		size_t n, cap;                                                     \
	};                                                                         \
	HEAP_FN size_t name##_count(const struct name *h)                          \
	{                                                                          \
		return h->n;                                                       \
	}                                                                          \
	HEAP_FN type *name##_top(const struct name *h)                             \
	{                                                                          \
		return h->n ? h->e : NULL;                                         \
	}                                                                          \
	HEAP_FN void name##_set(struct name *h, size_t at, type v)                 \
	{                                                                          \
		h->e[at] = v;                                                      \
		moved(&h->e[at], at);                                              \
	}                                                                          \
	/* Puts v where it belongs, beginning at the hole `at`. */                 \
	HEAP_FN void name##_settle(struct name *h, size_t at, type v)              \
	{                                                                          \
		for (; at > 0 && less(&v, &h->e[(at - 1) / 2]); at = (at - 1) / 2) \
			name##_set(h, at, h->e[(at - 1) / 2]);                     \
		for (size_t kid; (kid = 2 * at + 1) < h->n; at = kid) {            \
			if (kid + 1 < h->n && less(&h->e[kid + 1], &h->e[kid]))    \
				kid++;                                             \
			if (!less(&h->e[kid], &v))                                 \
				break;                                             \
			name##_set(h, at, h->e[kid]);                              \
		}                                                                  \
		name##_set(h, at, v);                                              \
	}                                                                          \
	HEAP_FN void name##_push(struct name *h, type v)                           \
	{                                                                          \
		VEC_ROOM(h->e, h->cap, h->n + 1);                                  \
		h->n++;                                                            \
		name##_settle(h, h->n - 1, v);                                     \
	}                                                                          \
	HEAP_FN void name##_fix(struct name *h, size_t at)                         \
	{                                                                          \
		ENSURE(at < h->n);                                                 \
		name##_settle(h, at, h->e[at]);                                    \
	}                                                                          \
	HEAP_FN void name##_remove(struct name *h, size_t at)                      \
	{                                                                          \
		ENSURE(at < h->n);                                                 \
		h->n--;                                                            \
		if (at < h->n)                                                     \
			name##_settle(h, at, h->e[h->n]);                          \
	}                                                                          \
	HEAP_FN int name##_pop(struct name *h, type *ret)                          \
	{                                                                          \
		if (h->n == 0)                                                     \
			return 1;                                                  \
		*ret = h->e[0];                                                    \
		name##_remove(h, 0);                                               \
		return 0;                                                          \
	}                                                                          \
	HEAP_FN void name##_free(struct name *h)                                   \
	{                                                                          \
		mem_free(&h->e);                                                   \
		*h = (struct name){0};                                             \
	}
