/* Room grows by doubling up to the limit. Every function that adds more than there is room for goes
 * through buf_room(), which is the one place that knows about the limit. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *buf_room(struct buf *b, size_t n)
{
	size_t max = MIN(b->max, (size_t)PTRDIFF_MAX - 1); /* no sum below overflows */
	if (b->over || n > max - b->n) {
		b->over = true;
		return NULL;
	}
	if (n >= b->cap - b->n) {
		size_t want = MAX(b->n + n + 1, MAX((size_t)64, b->cap * 2));
		b->cap = MIN(want, max + 1);
		b->p = mem_resize(b->p, b->cap);
	}
	return b->p + b->n;
}

void buf_grew(struct buf *b, size_t n)
{
	ENSURE(n < b->cap - b->n);
	b->n += n;
	b->p[b->n] = 0;
}

void buf_add_slowly(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	char *room = buf_room(b, n);
	if (!room)
		return;
	memcpy(room, p, n);
	buf_grew(b, n);
}

void buf_add_str(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.n);
}

void buf_add_text(struct buf *b, const char *z)
{
	buf_add(b, z, strlen(z));
}

void buf_add_byte(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_fill(struct buf *b, char c, size_t n)
{
	char *room = n ? buf_room(b, n) : NULL;
	if (!room)
		return;
	memset(room, c, n);
	buf_grew(b, n);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	if (n < 0) { /* longer than INT_MAX, or no text */
		b->over = true;
	} else if ((size_t)n < sizeof small) {
		buf_add(b, small, (size_t)n);
	} else {
		char *room = buf_room(b, (size_t)n);
		if (room) {
			vsnprintf(room, (size_t)n + 1, fmt, again);
			buf_grew(b, (size_t)n);
		}
	}
	va_end(again);
	va_end(ap);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->over = false;
	if (b->p)
		b->p[0] = 0;
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = BUF_INIT(b->max);
}
