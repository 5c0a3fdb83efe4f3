/* The site list: which archives to index. Two files in the folder archie/:
 *
 *   sites         the list of a master; archie_sites_replace() replaces the whole file
 *   sites.local   local edits, which survive that: site lines (added, or replacing the line with
 *                 the same URL), "- PATTERN" (leave out), "only PATTERN" (leave out all others)
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
	ARCHIE_PROBLEMS_MOST = 1000, /* kept; more are only counted */
};

struct archie_site {
	struct str url;  /* canonical, of the root of the listing, ends in a slash */
	struct str key;  /* names its files; depends only on its line */
	struct str name; /* the end of the chain of CNAMEs; by default the host of the URL */
	struct addr address;
	bool ftp;
	int32_t tz_s;        /* seconds east of UTC */
	struct str os, path; /* empty: not given */
	int64_t max_age_us;  /* 0: the setting's */
	bool local;          /* its line is in sites.local */
};

struct archie_sites {
	struct archie_site *site; /* sorted by key; no two have the same */
	size_t n;
	const char **problem; /* lines that were skipped: file, number, reason */
	size_t problems;
	size_t unread;    /* of these, lines that could not be parsed, so they may be of any site */
	int64_t listed_s; /* when `sites` was last replaced; -1: there is none */
};

/* folder: archie/. Without files the list is empty. Everything lies in the arena. */
int archie_sites_read(const char *folder, struct arena *arena, struct archie_sites *ret,
		      struct err *err);
/* Finds sites by URL, host name or key, one a call, since a host name may stand for several. *at:
 * 0 at first. NULL: no more. */
const struct archie_site *archie_sites_find(const struct archie_sites *s, struct str what,
					    size_t *at);
/* The site that a URL belongs to: the one whose URL is its longest prefix. NULL: none. */
const struct archie_site *archie_sites_of_url(const struct archie_sites *s, struct str url);

/* Normalizes the URL of a site: canonical, with a slash at its end. ERR_USAGE: not a URL, or with a
 * user name other than anonymous. */
int archie_site_url(struct str text, struct arena *arena, struct str *ret, struct err *err);
/* A copy with all its texts in the arena. */
struct archie_site archie_site_copy(const struct archie_site *site, struct arena *arena);
/* The host in its URL, without the port. */
struct str archie_site_host(const struct archie_site *site);
/* Its line, without the end. */
void archie_site_print(const struct archie_site *site, struct buf *out);
/* Parses the address of a site: numeric, without port and scope. An IPv4 address mapped into IPv6
 * becomes IPv4. */
bool archie_address_parse(struct str text, struct addr *ret) MUST_USE;
/* "+02:00", "-0530", "UTC". */
bool archie_zone_parse(struct str text, int32_t *ret_s) MUST_USE;

/* Changes. Each locks the folder (ERR_BUSY) and leaves the files unchanged if it fails. */

/* Adds a site to sites.local; its key is ignored. 1: it is listed already. ERR_USAGE: it cannot be
 * added, for example because its address already has an FTP site. */
int archie_sites_add(const char *folder, const struct archie_site *site, struct err *err);
/* 1: there is no such site. */
int archie_sites_remove(const char *folder, struct str url, struct err *err);
/* Changes its name and address; its line is then in sites.local. 1: there is no such site.
 * ERR_USAGE: as above. */
int archie_sites_move(const char *folder, struct str url, struct str name,
		      const struct addr *address, struct err *err);

/* How a list differs from the current `sites`, ignoring edits. */
struct archie_sites_diff {
	struct archie_site *added, *removed, *changed; /* changed: as they are now */
	size_t nadded, nremoved, nchanged, before, after;
	size_t moved;         /* of the changed: with another address */
	const char **problem; /* lines of the new list that were skipped */
	size_t problems;
};
/* Replaces `sites` by these bytes. ERR_USAGE: they have no site, or lack a fifth or more of the
 * current ones and `forced` is false; *ret is filled in then, too. */
int archie_sites_replace(const char *folder, struct str bytes, bool forced, struct arena *arena,
			 struct archie_sites_diff *ret, struct err *err);
