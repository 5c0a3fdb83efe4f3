/* How far the collector has come with each of its feeds: a small file that is replaced as a whole.
 * Layout: doc/formats/cursors.md. */
#pragma once
#include "disk/format.h"
#include "soif/source.h"

enum { CURSOR_FEEDS = 64, CURSOR_NAME = 63 };

struct cursors {
	struct cursor_of_feed {
		char name[CURSOR_NAME + 1];
		struct source_cursor at;
	} feed[CURSOR_FEEDS];
	size_t n;
};

/* No file: *ret has none. */
int cursors_load(struct cursors *ret, const char *path, struct err *err);
int cursors_save(const struct cursors *c, const char *path, struct err *err); /* durable */
/* The place of a feed; a new one is at the beginning. NULL: there are too many, or the name is too
 * long. */
struct source_cursor *cursors_of(struct cursors *c, const char *name);

extern const struct format cursors_format;
