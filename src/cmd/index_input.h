/* Documents that commands read to index them: SOIF, lines of JSON, or lines of "id TAB title TAB
 * text". */
#pragma once
#include "cmd/input.h"
#include "soif/soif.h"

enum index_form { INDEX_DETECT, INDEX_NDJSON, INDEX_SOIF, INDEX_TSV };
extern const char *const index_form_words[]; /* "auto", ... and NULL */

/* Takes a document, which is good until it returns. gone: it is to be deleted. Negative ends the
 * reading. */
typedef int index_doc_fn(void *ctx, const struct soif *doc, bool gone, struct err *err);

struct index_reading {
	enum index_form form;
	index_doc_fn *take;
	void *ctx;
	uint64_t bytes;          /* of input, so far */
	uint64_t docs, rejected; /* handed over; what could not be */
};

/* Reads the arguments from first_arg on, or standard input. What cannot be taken is named on
 * standard error and counted. */
int index_read(const struct cmd_call *call, int first_arg, struct index_reading *r,
	       struct err *err);
