/* A folder that is served by some web server: which URLs it has, and what may tell that they
 * changed. */
#pragma once
#include "cache/provider_file.h"

struct provider_tree {
	const struct provider_source *source;
	const struct provider_list *sent; /* sorted: what is told there need not be read again */
	int64_t scanned_s;                /* when that was; younger files are read anyway */
	const struct str *mime;           /* that the cache takes */
	size_t mimes;                     /* 0: not known */
	/* The type by a file's name; NULL: it has none. */
	const char *(*type)(struct str name);
	/* Each folder, before it is looked at. May be NULL. */
	int (*folder)(void *ctx, const char *path, struct err *err);
	void *ctx;
	/* What was found. */
	uint64_t files, read, bytes_read;
	uint64_t no_type, not_taken, links_out, unreadable;
};

/* Adds all of it. Hidden files, and links that lead out of it, are left out; a folder that cannot
 * be read fails, since all in it would seem removed. */
int provider_tree_scan(struct provider_tree *t, struct provider_list *ret, struct err *err);
