/* The site list: which archives are indexed. Two files of the folder archie/:
 *
 *   sites         as a master gives it out; replaced as a whole by archie_sites_get()
 *   sites.local   edits made here, which survive that: site lines (added, or in place of one of
 *                 the same URL), "- PATTERN" (names left out), "only PATTERN" (all others are)
 *
 * A line is URL ADDRESS [key=value...]. Layout: doc/formats/archie-sites.md. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "net/addr.h"

struct archie_site {
	struct str url;  /* canonical, of the root of the listing, with a slash at its end */
	struct str key;  /* of its files, NAME-ADDRESS or NAME,PORT-ADDRESS */
	struct str name; /* the end of the chain of CNAMEs; of the URL where nothing else is said */
	struct addr address;
	bool ftp;
	int32_t tz_s;        /* seconds east of UTC */
	struct str os, path; /* empty: not said */
	int64_t max_age_us;  /* 0: the setting's */
	bool local;          /* its line is in sites.local */
};

struct archie_sites {
	struct archie_site *site; /* sorted by key; no two have the same */
	size_t n;
	const char **problem; /* lines that were skipped: file, number, reason */
	size_t problems;
	int64_t listed_s; /* when `sites` was last replaced; -1: there is none */
};

/* folder: archie/. No file at all is an empty list. Everything lies in the arena. */
int archie_sites_read(const char *folder, struct arena *arena, struct archie_sites *ret,
		      struct err *err);
/* By URL, host name or key; a host name may stand for several: *at is where to go on, 0 at first.
 * NULL: no more. */
const struct archie_site *archie_sites_find(const struct archie_sites *s, struct str what,
					    size_t *at);
