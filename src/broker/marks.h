/* Marks: where a text has what a query looks for, so that snippets and lines show what really
 * matched: words by their terms, patterns and errors as the index takes them, a phrase only where
 * its words stand one after the other, words that are to be near each other only where they are,
 * and expressions. What stands below a NOT is not looked for. */
#pragma once
#include "base/arena.h"
#include "index/query.h"
#include "index/token.h"

struct words_reader;

/* Words and expressions of a query that are looked for, and expressions among them, each of which
 * may take RX_MEMORY; further ones are not marked. */
enum { MARKS_WORDS = 64, MARKS_EXPRESSIONS = 4 };

/* Made of a query, for any number of texts, one after the other. Of one thread. */
struct marker;

struct marker_spec {
	const struct query_node *root; /* as it was run: without QUERY_ERRORS_BEST */
	struct words_reader *words;    /* NULL: nothing is forgiven, nothing is stemmed */
	const struct token_rules *rules;
	int64_t deadline_us; /* of the monotonic clock, 0: none; then it finds nothing more */
};
/* All that the spec points to must stay. */
int marker_new(struct marker **ret, const struct marker_spec *spec, struct err *err);
void marker_free(struct marker **m);
uint32_t marker_words(const struct marker *m);            /* how many are looked for */
void marker_until(struct marker *m, int64_t deadline_us); /* another deadline */
bool marker_was_late(const struct marker *m);

struct mark {
	uint32_t at, n; /* bytes */
};

/* One after the other, nearly in their order: a word may be told after a later one that it had to
 * wait for. Attribute: the name of the text's. The text must stay, and has less than 4 GiB. */
struct marker_find {
	struct mark mark;
	uint32_t word; /* which it is, below marker_words() */
};
void marker_begin(struct marker *m, struct str attribute, struct str text);
int marker_next(struct marker *m, struct marker_find *ret);

/* The marks of a text in order, none in another, at most `most`. */
size_t marker_all(struct marker *m, struct str attribute, struct str text, struct mark *ret,
		  size_t most);
