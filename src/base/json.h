/* Writes JSON into a buffer; text is always escaped, commas and nesting are kept by the writer.
 * Bytes that are not valid UTF-8 are written as U+FFFD, so the output always parses. */
#pragma once
#include "base/buf.h"

struct json {
	struct buf *out;
	uint64_t some; /* a bit per level: has a member already */
	unsigned depth;
	bool after_key;
};

#define JSON_INIT(buffer) ((struct json){.out = (buffer)})

void json_object(struct json *j); /* opens; as a member after json_key() */
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, struct str s);
void json_text(struct json *j, const char *z); /* NULL: null */
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
void json_real(struct json *j, double v); /* not finite: null */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
void json_time(struct json *j, int64_t wall_us); /* RFC 3339 in microseconds */

/* A key and its value in one. */
void json_put_str(struct json *j, const char *key, struct str s);
void json_put_text(struct json *j, const char *key, const char *z);
void json_put_int(struct json *j, const char *key, int64_t v);
void json_put_uint(struct json *j, const char *key, uint64_t v);
void json_put_bool(struct json *j, const char *key, bool v);
