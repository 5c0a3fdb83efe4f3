/* Text for people: paragraphs that fit a terminal, terms with what they mean. */
#pragma once
#include "base/text.h"

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

/* Cuts the next word or paragraph off; 1: none was left. */
int text_next_word(struct str *rest, struct str *ret);
int text_next_paragraph(struct str *rest, struct str *ret);
