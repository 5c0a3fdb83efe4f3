/* Tokens as the public html5lib tests write them: an array of ["StartTag", name, {attributes},
 * true?], ["EndTag", name], ["Comment", data], ["Character", data] and ["DOCTYPE", name, public,
 * system, correct]. All text between two other tokens is one token. */
#pragma once
#include "base/jsonw.h"
#include "extract/html_token.h"

struct html_json {
	struct jsonw json;
	struct buf text, key;
};

extern const struct html_sink html_json_sink; /* its ctx is a struct html_json */

/* The array goes into `out`, whose limit is also that of one text. */
void html_json_begin(struct html_json *j, struct buf *out);
void html_json_end(struct html_json *j);

/* By its name in those tests, "RCDATA state". 0, or 1: there is no such state. */
int html_state_of(struct str name, enum html_state *ret);
