/* Writes JSON into a buffer; text is always escaped, commas and nesting are kept by the writer.
 * Bytes that are not valid UTF-8 are written as U+FFFD, so the output always parses. */
#pragma once
#include "base/buf.h"

struct jsonw {
	struct buf *out;
	uint64_t some; /* a bit per level: has a member already */
	unsigned depth;
	bool after_key;
};

#define JSONW_INIT(buffer) ((struct jsonw){.out = (buffer)})

void jsonw_object(struct jsonw *j); /* opens; as a member after jsonw_key() */
void jsonw_object_end(struct jsonw *j);
void jsonw_array(struct jsonw *j);
void jsonw_array_end(struct jsonw *j);
void jsonw_key(struct jsonw *j, const char *key);
void jsonw_str(struct jsonw *j, struct str s);
/* A long string in parts, each of whole characters. */
void jsonw_str_begin(struct jsonw *j);
void jsonw_str_part(struct jsonw *j, struct str s);
void jsonw_str_end(struct jsonw *j);
void jsonw_text(struct jsonw *j, const char *z); /* NULL: null */
void jsonw_int(struct jsonw *j, int64_t v);
void jsonw_uint(struct jsonw *j, uint64_t v);
void jsonw_real(struct jsonw *j, double v); /* not finite: null */
void jsonw_bool(struct jsonw *j, bool v);
void jsonw_null(struct jsonw *j);

/* A key and its value in one; objects and arrays are opened. */
void jsonw_put_object(struct jsonw *j, const char *key);
void jsonw_put_array(struct jsonw *j, const char *key);
void jsonw_put_str(struct jsonw *j, const char *key, struct str s);
void jsonw_put_text(struct jsonw *j, const char *key, const char *z);
void jsonw_put_int(struct jsonw *j, const char *key, int64_t v);
void jsonw_put_uint(struct jsonw *j, const char *key, uint64_t v);
void jsonw_put_real(struct jsonw *j, const char *key, double v);
void jsonw_put_bool(struct jsonw *j, const char *key, bool v);
