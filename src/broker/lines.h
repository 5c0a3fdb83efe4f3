/* Matched lines: the lines of a document that show why it was found, with the attribute they stand
 * in. */
#pragma once
#include "broker/snippet.h"
#include "soif/soif.h"

enum {
	LINES_MOST = 10,    /* of a document */
	LINES_BYTES = 1024, /* of a line; of a longer one the part around its first mark */
};

struct matched_line {
	struct str attribute;
	struct marked line; /* without its line feed */
};

/* In the order of the document, its URL last; all of it in the arena. */
void lines_find(struct marker *m, const struct soif *doc, struct arena *arena,
		struct matched_line **ret, size_t *ret_n);
