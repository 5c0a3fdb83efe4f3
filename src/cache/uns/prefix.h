/* Prefixes: what a provider has proved to own, and whether a URL lies below it. Both sides are
 * compared in the strict canonical form (url_canon()). Pure functions. */
#pragma once
#include "cache/pidb.h"

/* Returns the prefix that a file's URL proves: its folder and everything below. ERR_USAGE says why
 * it proves nothing: not http or https, a user name or password, a query, an escaped slash, no file
 * name, too long. */
int prefix_of_file(struct str url, char ret[PIDB_URL_MAX + 1], struct err *err);

/* The prefixes of a provider, copied from the database. */
struct prefixes {
	size_t n;
	char *text; /* n texts, each with a NUL at its end */
};
void prefixes_free(struct prefixes *p);
/* 1: there is no such provider. */
int prefixes_load(struct prefixes *ret, struct pidb *db, uint64_t provider, struct err *err);
/* Returns whether the URL, as url_parse() made it, lies below one of them. A URL that a server
 * might read as leading elsewhere does not: dot segments in any escape, user names, other ports or
 * spellings of a host, or no canonical form. *ret, if not NULL, is that prefix. */
struct url;
bool prefixes_cover(const struct prefixes *p, const struct url *url, struct str *ret);
