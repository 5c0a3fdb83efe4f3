/* Text for people: paragraphs that fit a terminal, terms with what they mean, tables. */
#pragma once
#include "base/buf.h"

enum { TEXT_WIDTH = 80 };

/* A line that is filled piece by piece: no piece is broken, a blank stands between two. */
struct text_line {
	struct buf *out;
	size_t at, indent; /* the column it is at, and where the next line begins */
	bool some;         /* a piece is there already */
};
void text_put(struct text_line *line, struct str piece);

/* Words of `text` from column `at` on, broken before TEXT_WIDTH; the next lines begin at column
 * `indent`. Ends with a line feed. */
void text_wrap(struct buf *out, const char *text, size_t at, size_t indent);
/* Paragraphs separated by empty lines, with an empty line between them; one that begins with a
 * blank is kept as it is, indented. */
void text_paragraphs(struct buf *out, const char *text, size_t indent);
/* "  term      meaning", the meaning from column `column` on; a longer term has its own line. */
void text_term(struct buf *out, const char *term, const char *meaning, size_t column);
size_t text_columns(struct str s); /* of valid UTF-8; a character counts as one column */

/* Cuts the next word or paragraph off; 1: none was left. */
int text_next_word(struct str *rest, struct str *ret);
int text_next_paragraph(struct str *rest, struct str *ret);

/* A table: cells by rows, each column as wide as its widest cell. Numbers stand right. */
struct text_table {
	size_t ncolumns, ncells, room;
	const char **cell; /* owned, the texts too */
	uint64_t right;    /* a bit per column */
};
void text_table_add(struct text_table *t, const char *text); /* copies */
void text_table_print(const struct text_table *t, struct buf *out);
void text_table_free(struct text_table *t);

/* Text of others on a terminal. What a terminal could take for a command is left out: control
 * characters, also those of two bytes; a tab is a blank, so that words stay apart. A byte that is
 * not UTF-8 is a question mark: alone, some terminals take it for a command, too. */
void put_safe(struct buf *out, struct str text);

/* "1.5G"; what is less than 1,000 bytes as a number alone. */
void put_size_text(struct buf *out, uint64_t bytes);
/* As a setting has it, so that it can be typed again: 50K. */
void put_size_exact(struct buf *out, uint64_t bytes);
