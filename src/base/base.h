/* The ground that all code stands on: sizes, attributes, assertions that stay on, memory. Includes
 * no other header of ours.
 *
 * The room in the order in which it is best read:
 *   memory    base.h (heap), arena.h (a request's), vec.h, list.h, table.h, heap.h (containers)
 *   text      str.h (slices), buf.h (owned, with a limit), ascii.h, cursor.h (binary), jsonw.h
 *   errors    err.h (words and exit codes), log.h (lines for people), fault.h (made by tests)
 *   values    value.h (settings and options), endpoint.h (addresses), nearest.h (did you mean),
 *             attrs.h (attributes of documents), hash.h
 *   files     file.h, embed.h (in the program)
 *   time      clock.h, thread.h, pool.h (work that must not hold others up)
 *
 * Out of memory ends the program. Sizes that come from outside are bounded before anything is
 * allocated, so nobody can use that as an attack. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* The first i of from, from + 1, ... for which before, an expression of i, is false; `to` if there
 * is none before that. It must be true for the lower ones and false for the others. */
#define BISECT(i, from, to, before)                                                           \
	__extension__({                                                                       \
		__typeof__((to) + 0) bisect_low = (from), bisect_high = (to);                 \
		while (bisect_low < bisect_high) {                                            \
			__typeof__((to) + 0) i = bisect_low + (bisect_high - bisect_low) / 2; \
			if (before)                                                           \
				bisect_low = i + 1;                                           \
			else                                                                  \
				bisect_high = i;                                              \
		}                                                                             \
		bisect_low;                                                                   \
	})

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_USE __attribute__((warn_unused_result))
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The result of a system call, which is made again after a signal. Wants <errno.h>. */
#define UNINTERRUPTED(call)                                                \
	({                                                                 \
		__typeof__(call) result_;                                  \
		do                                                         \
			result_ = (call);                                  \
		while (result_ == (__typeof__(call))-1 && errno == EINTR); \
		result_;                                                   \
	})

/* A promise between our own functions. Never for what comes from outside. */
#define ENSURE(cond) \
	(LIKELY(cond) ? (void)0 : die("%s:%d: broken promise: %s", __FILE__, __LINE__, #cond))

/* Prints the message on standard error and aborts. */
_Noreturn void die(const char *fmt, ...) PRINTF_LIKE(1, 2);

void *mem_alloc(size_t n) MUST_USE; /* zero-filled */
void *mem_array(size_t n, size_t size) MUST_USE;
void *mem_resize(void *p, size_t n) MUST_USE;
void *mem_copy(const void *p, size_t n) MUST_USE;
char *mem_text(const char *s) MUST_USE;
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2) MUST_USE;
void mem_free(void *pp); /* takes the address of the pointer and clears it; NULL inside is fine */
