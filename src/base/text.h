/* Text for people: foreign text made safe for a terminal, sizes, and tables whose columns stand
 * under each other. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

size_t text_columns(struct str s); /* of valid UTF-8; a character counts as one column */

/* A table: cells by rows, each column as wide as its widest cell. Numbers stand right. */
struct text_table {
	size_t ncolumns, ncells, room;
	const char **cell; /* owned, the texts too */
	uint64_t right;    /* a bit per column */
	uint64_t loose;    /* the same: at most 30 wide, but for cells that are longer */
};
void text_table_add(struct text_table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void text_table_print(const struct text_table *t, struct buf *out);
void text_table_free(struct text_table *t);

/* Text of others on a terminal. What a terminal could take for a command is left out: control
 * characters, also those of two bytes; a tab is a blank, so that words stay apart. A byte that is
 * not UTF-8 is a question mark: alone, some terminals take it for a command, too. */
void put_safe(struct buf *out, struct str text);

/* Of its first `most` bytes, without a character that would be cut, in the arena. */
const char *text_safe(struct arena *arena, struct str text, size_t most);
/* "2026-11-15T09:03:55Z", in the arena. */
const char *text_time(struct arena *arena, int64_t wall_us);

/* Bytes on one line in ASCII: any other is a question mark. And in hexadecimal. */
void put_ascii(struct buf *out, struct str bytes);
void put_hex(struct buf *out, const void *bytes, size_t n);

/* "1.5G"; what is less than 1,000 bytes as a number alone. */
void put_size_text(struct buf *out, uint64_t bytes);
/* As a setting has it, so that it can be typed again: 50K. */
void put_size_exact(struct buf *out, uint64_t bytes);
