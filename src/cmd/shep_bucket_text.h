/* Buckets as text and as JSON, for garner shep buckets. As text a bucket is its attributes, one a
 * line, the name before the value, header first; a value of several lines becomes several lines
 * with the same name. An empty line ends it. */
#pragma once
#include "base/attrs.h"
#include "base/jsonw.h"
#include "bucket/bucket.h"

const char *bucket_type_name(uint32_t type); /* "v3.3"; NULL: not known */

void bucket_text(const struct attrs *header, const struct attrs *body, struct buf *out);
void bucket_json(struct jsonw *j, const struct bucket *bucket);
void bucket_attrs_json(struct jsonw *j, const char *key, const struct attrs *list);

/* Sorts lines into a header (O and U, the first of each) and a body; both lie in the arena. */
int bucket_line(struct str line, struct arena *arena, struct attrs *header, struct attrs *body,
		struct err *err);
