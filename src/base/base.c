/* Memory that never runs out silently: a failed allocation ends the program and says so. */
#include "base/base.h"

#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("garner: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	abort();
}

static void *mem_checked(void *p, size_t n)
{
	if (!p)
		die("out of memory (%zu bytes wanted)", n);
	return p;
}

void *mem_alloc(size_t n)
{
	return mem_checked(calloc(1, n ? n : 1), n);
}

void *mem_array(size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total))
		die("out of memory (%zu times %zu bytes wanted)", n, size);
	return mem_alloc(total);
}

void *mem_resize(void *p, size_t n)
{
	return mem_checked(realloc(p, n ? n : 1), n);
}

void *mem_copy(const void *p, size_t n)
{
	void *copy = mem_checked(malloc(n ? n : 1), n);
	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *mem_text(const char *s)
{
	return mem_copy(s, strlen(s) + 1);
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return mem_checked(n < 0 ? NULL : text, strlen(fmt));
}

void mem_free(void *pp)
{
	void *p;
	memcpy(&p, pp, sizeof p);
	free(p);
	memset(pp, 0, sizeof p);
}

enum { VEC_LEAST = 8 }; /* elements: most arrays stay small */

void *vec_grow(void *array, size_t *room, size_t need, size_t size)
{
	size_t more = MAX(*room, VEC_LEAST / 2);
	do {
		ENSURE(more <= SIZE_MAX / 2 / size);
		more *= 2;
	} while (more < need);
	array = mem_resize(array, more * size);
	*room = more;
	return array;
}
