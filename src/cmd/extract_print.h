/* What `garner extract` shows of a document: for people, as a line of JSON, or as SOIF. */
#pragma once
#include "extract/cage.h"

void extract_print_text(struct str url, const struct cage_result *r, struct buf *out);
void extract_print_json(struct str url, const struct cage_result *r, struct buf *out);
int extract_print_soif(struct str url, const struct cage_result *r, struct buf *out,
		       struct err *err);
