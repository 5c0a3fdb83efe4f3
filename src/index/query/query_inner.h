/* What the files of the query language share. */
#pragma once
#include "index/query.h"

/* As query_value(), and sizes with a unit, as settings have them: 10k, 1.5M. */
struct query_value query_value_asked(struct str text);

/* The words of a text. */
struct query_words {
	struct query_word word[QUERY_PHRASE_MOST];
	uint32_t n;
	bool patterns; /* some of them are */
	/* Where they cannot be taken: */
	const char *why;
	size_t at; /* byte of the text */
};

/* The text must outlive them. -1: they cannot be taken. */
int query_words_read(struct str text, const struct token_rules *rules, struct arena *arena,
		     struct query_words *ret);
/* Whether the last byte of the text belongs to a word. */
bool query_words_end(struct str text, const struct token_rules *rules);
/* The words of a node as they are written, between quotation marks. */
void query_print_quoted(const struct query_node *node, struct buf *out);
