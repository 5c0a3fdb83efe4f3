/* Scans a folder that a web server serves: its URLs, and what shows whether they changed. */
#pragma once
#include "cache/provider_file.h"

struct provider_tree {
	const struct provider_source *source;
	const struct provider_list *sent; /* sorted; files unchanged since are not read again */
	int64_t scanned_s;                /* when that was; younger files are read anyway */
	const struct str *mime;           /* that the cache takes */
	size_t mimes;                     /* 0: not known */
	/* Returns the type by a file's name; NULL: unknown. */
	const char *(*type)(struct str name);
	/* Called for each folder before it is read. May be NULL. */
	int (*folder)(void *ctx, const char *path, struct err *err);
	void *ctx;
	/* Results. */
	uint64_t files, read, bytes_read;
	uint64_t no_type, not_taken, links_out, unreadable;
};

/* Adds every file, except hidden ones and links that lead out of the folder. Fails if a folder
 * cannot be read, because everything in it would seem to be removed. */
int provider_tree_scan(struct provider_tree *t, struct provider_list *ret, struct err *err);
