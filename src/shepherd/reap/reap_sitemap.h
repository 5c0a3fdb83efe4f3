/* What a sitemap lists, from the attributes that extraction gave of it. Pure. */
#pragma once
#include "base/attrs.h"
#include "shepherd/reap/reaper.h"

/* As many as the protocol allows, and together not more bytes than this: the arena ends the program
 * when it is full, and these come from outside. */
enum { REAP_SITEMAP_LINKS = 50000, REAP_SITEMAP_BYTES = 16 << 20 };

/* The pages and sitemaps that a sitemap lists, whether it is XML, a feed or text with a URL in each
 * line, into the arena, which has room for twice REAP_SITEMAP_BYTES. A URL may come twice. A
 * lastmod after now_s says nothing. Returns their number. */
size_t reap_sitemap_links(const struct attrs *body, int64_t now_s, struct arena *arena,
			  const struct reaper_link **ret);

/* Whether a sitemap may speak of what it lists: of pages of its own site at or below its directory,
 * of all sitemaps of its own site, and of everything at the site whose robots.txt names it. The
 * sitemap's URL and the link's are canonical; site as url_site_print() writes it. */
bool reap_sitemap_in_scope(struct str sitemap, const struct reaper_link *link, struct str site);
