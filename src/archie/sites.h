/* The site list: which archives are indexed. Two files of the folder archie/:
 *
 *   sites         as a master gives it out; replaced as a whole by archie_sites_replace()
 *   sites.local   edits made here, which survive that: site lines (added, or in place of one of
 *                 the same URL), "- PATTERN" (names left out), "only PATTERN" (all others are)
 *
 * A line is URL ADDRESS [key=value...]. Layout: doc/formats/archie-sites.md. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/addr.h"

enum {
	ARCHIE_LIST_MOST = 32 << 20, /* bytes of a list */
	ARCHIE_LINE_MOST = 8 << 10,
	ARCHIE_SITES_MOST = 100000,
	ARCHIE_PROBLEMS_MOST = 1000, /* that are kept; further ones are only counted */
};

struct archie_site {
	struct str url;  /* canonical, of the root of the listing, with a slash at its end */
	struct str key;  /* of its files; made of what its line says alone */
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
	size_t unread;    /* of these, lines that may be of any site: they could not be read */
	int64_t listed_s; /* when `sites` was last replaced; -1: there is none */
};

/* folder: archie/. No file at all is an empty list. Everything lies in the arena. */
int archie_sites_read(const char *folder, struct arena *arena, struct archie_sites *ret,
		      struct err *err);
/* By URL, host name or key; a host name may stand for several: *at is where to go on, 0 at first.
 * NULL: no more. */
const struct archie_site *archie_sites_find(const struct archie_sites *s, struct str what,
					    size_t *at);
/* The site that a URL belongs to: the one with the longest URL that it begins with. NULL: none. */
const struct archie_site *archie_sites_of_url(const struct archie_sites *s, struct str url);

/* The one form of a site's URL: canonical, with a slash at its end. ERR_USAGE: it is none, or has a
 * user name other than anonymous: sites are visited as strangers. */
int archie_site_url(struct str text, struct arena *arena, struct str *ret, struct err *err);
/* A copy with all its texts in the arena. */
struct archie_site archie_site_copy(const struct archie_site *site, struct arena *arena);
/* The host in it, without its port. */
struct str archie_site_host(const struct archie_site *site);
/* Its line, without the end. */
void archie_site_print(const struct archie_site *site, struct buf *out);
/* The address of a site: numeric, without port and scope. One of IPv4 that is mapped into IPv6 is
 * one of IPv4. */
bool archie_address_parse(struct str text, struct addr *ret) MUST_USE;
/* "+02:00", "-0530", "UTC". */
bool archie_zone_parse(struct str text, int32_t *ret_s) MUST_USE;

/* Changes. Each locks the folder, so that none is lost (ERR_BUSY), and leaves the files as
 * they were when it fails. */

/* Adds a site (url, name, address, and what else is said of it; its key is not looked at) to
 * sites.local. 1: it is listed already. ERR_USAGE: it cannot be added, for example since its
 * address has an FTP site already. */
int archie_sites_add(const char *folder, const struct archie_site *site, struct err *err);
/* 1: there is no such site. */
int archie_sites_remove(const char *folder, struct str url, struct err *err);
/* It has another name or address from now on; its line is in sites.local then. 1: there is no such
 * site. ERR_USAGE: as above, and nothing has changed. */
int archie_sites_move(const char *folder, struct str url, struct str name,
		      const struct addr *address, struct err *err);

/* How a list differs from the current `sites`; edits do not count. */
struct archie_sites_diff {
	struct archie_site *added, *removed, *changed; /* changed: as they are now */
	size_t nadded, nremoved, nchanged, before, after;
	size_t moved;         /* of the changed: they have another address */
	const char **problem; /* lines of the new one that mean nothing */
	size_t problems;
};
/* Replaces `sites` by these bytes. ERR_USAGE: they have not one site, or lack a fifth or more of
 * the current ones and it was not `forced`; *ret is filled then, too. */
int archie_sites_replace(const char *folder, struct str bytes, bool forced, struct arena *arena,
			 struct archie_sites_diff *ret, struct err *err);
