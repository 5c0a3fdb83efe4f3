/* The role `docs`: serves a directory tree over HTTP, for demonstrations and small sites. */
#pragma once
#include "base/str.h"
#include "role/role.h"

extern const struct role docs_role;

/* What a file is, as far as its name tells. */
struct docs_type {
	const char *mime; /* NULL: the name says nothing, a look at the bytes must */
	bool gzip;        /* it is `mime` below a layer of gzip */
};

/* name: without folders. "x.html.gz" is HTML below gzip; "x.tar.gz" and "x.tgz" are archives. */
struct docs_type docs_type(struct str name);
/* For names that say nothing: text, with its charset where that is plain, or bytes. */
const char *docs_sniff(struct str start);
