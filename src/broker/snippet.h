/* Snippets: the part of a text that shows why it was found, with the words marked. */
#pragma once
#include "broker/marks.h"

enum {
	SNIPPET_BYTES = 260,      /* of the part that is shown, about */
	SNIPPET_SCAN = 256 << 10, /* bytes of a text that are looked at */
};

/* A text with marked parts, in their order, which do not overlap. */
struct marked {
	struct str text;
	struct mark *mark;
	size_t n;
	bool cut_before, cut_after; /* more stands there */
};

/* Attribute: the name of the text's, since a query may ask for words in one attribute only. */

/* All of a short text, a title, with what matched marked; longer ones are cut after `most` bytes.
 */
void snippet_mark(struct marker *m, struct str attribute, struct str text, size_t most,
		  struct arena *arena, struct marked *ret);
/* The best part of a text: where most different words stand close together. Without any of them its
 * beginning. White space becomes single blanks. */
void snippet_make(struct marker *m, struct str attribute, struct str text, struct arena *arena,
		  struct marked *ret);
