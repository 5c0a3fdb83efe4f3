/* Collection.conf: which gatherers the broker collects from. A point is a line with four fields,
 * blanks between them: host, port, type, and a filter, which is "--" where there is none.
 *
 *   # the library
 *   gatherer.example.org 8500 3 --
 *
 * Types 0 and 2 ask for everything each time, 1 and 3 for what changed since the last time; 2 and 3
 * are compressed. 4 to 7 collect from brokers, which is not there yet. A line that cannot be taken
 * is a problem with its number, and leaves the others working. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
	COLLECTION_POINTS = 1000,
	COLLECTION_LINE = 4096,     /* bytes */
	COLLECTION_FILE = 1 << 20,  /* bytes */
	COLLECTION_PROBLEMS = 1000, /* that are kept */
};

struct collection_point {
	const char *host; /* a name in lower case, or an address without brackets */
	uint16_t port;
	bool full, compressed;
	unsigned line; /* the first is 1 */
};

struct collection {
	struct collection_point *point; /* in the order of the file */
	size_t n;
	const char **problem; /* "PATH:LINE: what, and what happens" */
	size_t nproblems;
};

/* path is for the problems only. Everything is in the arena, at most 4 MiB. */
void collection_parse(struct str text, const char *path, struct arena *arena,
		      struct collection *ret);
/* 1: there is no such file. Negative: it cannot be read, or is too large. */
int collection_read(const char *path, struct arena *arena, struct collection *ret, struct err *err);
