/* Snippets: the part of a text that shows why it was found, with the words marked. */
#pragma once
#include "base/arena.h"
#include "index/query.h"
#include "index/token.h"

enum {
	SNIPPET_BYTES = 260,      /* of the part that is shown, about */
	SNIPPET_SCAN = 256 << 10, /* bytes of a text that are looked at */
	SNIPPET_TERMS = 32,       /* words of a query that are marked; further ones are not */
};

/* A text with marked parts, in their order, which do not overlap. */
struct marked {
	struct str text;
	struct mark {
		uint32_t at, n; /* bytes */
	} * mark;
	size_t n;
	bool cut_before, cut_after; /* more stands there */
};

/* The words of a query that make a document match: those below a NOT are not among them. */
struct snippet_terms {
	struct str term[SNIPPET_TERMS];
	size_t n;
	uint64_t first[4]; /* a bit for each byte that one of them begins with */
};
void snippet_terms(const struct query_node *root, struct snippet_terms *ret);

/* All of a short text, a title, with its words marked; longer ones are cut after `most` bytes. */
void snippet_mark(const struct snippet_terms *terms, const struct token_rules *rules,
		  struct str text, size_t most, struct arena *arena, struct marked *ret);
/* The best part of a text: where most different words stand close together. Without any of them its
 * beginning. White space becomes single blanks. */
void snippet_make(const struct snippet_terms *terms, const struct token_rules *rules,
		  struct str text, struct arena *arena, struct marked *ret);
