/* Buffers: text or bytes that we own, with a hard limit given at birth. Adding past the limit adds
 * nothing and sets `over`, which stays; the caller checks once at the end. What is
 * added must not lie in the buffer itself. */
#pragma once
#include "base/str.h"

struct buf {
	char *p; /* always followed by a NUL that is not counted, once anything was added */
	size_t n, cap, max;
	bool over;
};

#define BUF_INIT(limit) ((struct buf){.max = (limit)})

void buf_add_slowly(struct buf *b, const void *p, size_t n);
static inline void buf_add(struct buf *b, const void *p, size_t n)
{
	if (UNLIKELY(n == 0 || b->over || n >= b->cap - b->n || n > b->max - b->n)) {
		buf_add_slowly(b, p, n);
		return;
	}
	memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = 0;
}
void buf_add_str(struct buf *b, struct str s);
void buf_add_text(struct buf *b, const char *z);
void buf_add_byte(struct buf *b, char c);
void buf_fill(struct buf *b, char c, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Room for n more bytes to be written in place at p + n; NULL (and over) past the limit.
 * buf_grew() then says how many were written. */
char *buf_room(struct buf *b, size_t n);
void buf_grew(struct buf *b, size_t n);

void buf_clear(struct buf *b); /* empty again, `over` forgotten, memory kept */
void buf_free(struct buf *b);  /* all given back; the limit stays */

static inline struct str buf_str(const struct buf *b)
{
	return (struct str){b->n ? b->p : "", b->n};
}
/* As text that ends in NUL. */
static inline const char *buf_text(const struct buf *b)
{
	return b->n ? b->p : "";
}
