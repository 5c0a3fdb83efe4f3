/* Prefixes: what a provider has proved to be his, and whether a URL lies below it. Both sides are
 * compared in the strict canonical form (url_canon()). Pure functions. */
#pragma once
#include "cache/pidb.h"

/* What the URL of a file proves: everything from its folder down. `ret` has PIDB_URL_MAX bytes and
 * the NUL. ERR_USAGE says why it proves nothing: no URL of http or https, a name or password in it,
 * a query, an escaped slash, no file's name, too long. */
int prefix_of_file(struct str url, char ret[PIDB_URL_MAX + 1], struct err *err);

/* A set of prefixes, as many sessions need it: small, copied, without a database. */
struct prefixes {
	size_t n;
	char *text; /* n texts, each with a NUL at its end */
};
void prefixes_free(struct prefixes *p);
/* 1: there is no such provider. */
int prefixes_load(struct prefixes *ret, struct pidb *db, uint64_t provider, struct err *err);
/* Whether the URL, absolute and as url_parse() made it, lies below one of them; nothing that a
 * server might take for a way out does: dot segments in any escape, user names, other ports or
 * spellings of a host, nor what has no canonical form. *ret, where not NULL: that prefix. */
struct url;
bool prefixes_cover(const struct prefixes *p, const struct url *url, struct str *ret);
