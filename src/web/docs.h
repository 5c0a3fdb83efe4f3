/* The role `docs`: serves a directory tree over HTTP, for demonstrations and small sites. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "role/role.h"

extern const struct role docs_role;

/* The type of a file, as far as its name tells. */
struct docs_type {
	const char *mime; /* NULL: the name says nothing, a look at the bytes must */
	bool gzip;        /* it is `mime` below a layer of gzip */
};

/* name: without folders. "x.html.gz" is HTML below gzip; "x.tar.gz" and "x.tgz" are archives. */
struct docs_type docs_type(struct str name);
/* For names that say nothing: text, with its charset where that is plain, or bytes. */
const char *docs_sniff(struct str start);

/* Opens what lies below the root, whatever links and dots say. path: decoded, without the first
 * slash; "" is the root. 1: it is not there, leads out of the tree, has a name that begins with a
 * dot in its path, or is neither file nor folder. */
struct file;
int docs_open(const struct file *root, const char *path, struct file *ret, bool *ret_folder,
	      struct err *err);
/* Whether a name in a folder is there for others, and is a folder itself. Links are followed as a
 * request would follow them: those that lead out of the tree are not. path: of the folder, as
 * below. */
bool docs_is_served(const struct file *root, const struct file *folder, const char *path,
		    const char *name, struct arena *arena, bool *ret_folder);
/* A page with the first names in a folder that can be served, sorted, and how many more there are;
 * folders end in a slash, and names that begin with a dot are left out. path: where it lies below
 * the root, with a slash at its end, "" for the root itself. */
int docs_listing(const struct file *root, const struct file *folder, const char *path,
		 struct arena *arena, struct buf *out, struct err *err);
