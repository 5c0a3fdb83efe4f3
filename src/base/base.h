/* The words everything is written in: sizes, attributes, assertions that stay on, memory.
 * Includes no other header of ours. Out of memory ends the program: sizes that come from
 * outside are bounded before anything is allocated, so it is no attack. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_USE __attribute__((warn_unused_result))
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A promise between our own functions. Never for what comes from outside. */
#define ENSURE(cond) \
	(LIKELY(cond) ? (void)0 : die("%s:%d: broken promise: %s", __FILE__, __LINE__, #cond))

/* Says it on standard error and aborts. */
_Noreturn void die(const char *fmt, ...) PRINTF_LIKE(1, 2);

void *mem_alloc(size_t n) MUST_USE; /* zero-filled */
void *mem_array(size_t n, size_t size) MUST_USE;
void *mem_resize(void *p, size_t n) MUST_USE;
void *mem_copy(const void *p, size_t n) MUST_USE;
char *mem_text(const char *s) MUST_USE;
void mem_free(void *pp); /* takes the address of the pointer and clears it; NULL inside is fine */
