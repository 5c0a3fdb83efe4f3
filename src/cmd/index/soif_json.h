/* SOIF objects as lines of JSON and back:
 *   {"section":"delete","type":"FILE","url":"http://...","attributes":[["Title","..."],...]}
 * "section" only inside of one, "truncated":true where the input ended. A type, URL, name
 * or value that is not UTF-8 is {"base64":"..."}. Order and repeated names are kept. */
#pragma once
#include "soif/soif_parse.h"

void soif_json_print(const struct soif *obj, enum soif_section section, struct buf *out);
/* Slices are copied into the arena. */
int soif_json_parse(struct str line, struct arena *arena, struct soif *ret,
		    enum soif_section *ret_section, struct err *err);
