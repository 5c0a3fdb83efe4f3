/* Index pages: what the pages say that servers make of their folders (nginx, Apache, lighttpd,
 * Python's http.server, role docs). The page was read in the cage; here are its attributes. */
#pragma once
#include "base/attrs.h"

struct walk_entry {
	struct str name; /* any bytes but NUL, LF, CR and a slash */
	struct str url;  /* absolute */
	bool folder;
	int64_t size, time_s; /* -1: not told */
};

/* The entries of a folder, each name once; they lie in the arena. url: of the page, with a slash at
 * its end. 1: it is not an index page, but somebody's own. Only names right below the folder count,
 * so neither its parent nor links with a query do. */
int walk_page_read(const struct attrs *attrs, struct str url, int32_t tz_s, struct arena *arena,
		   struct walk_entry **ret, size_t *ret_n);

/* As lines of a listing: EPLF, which keeps every byte of a name. */
struct buf;
void walk_entry_print(const struct walk_entry *e, struct buf *out);
/* The heading before the entries of a folder, whose path has no slash at its ends; "" is the root.
 */
void walk_heading_print(struct str path, bool first, struct buf *out);
/* A name as a part of a URL. */
void walk_name_encode(struct str name, struct buf *out);
/* The name that the last part of a URL's path stands for. false: none that a file can have. */
bool walk_name_decode(struct str part, struct arena *arena, struct str *ret) MUST_USE;
