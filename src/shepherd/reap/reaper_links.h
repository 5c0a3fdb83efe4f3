/* What a page links to, from the attributes that extraction gave or its bucket has: canonical URLs
 * with their footprints, each once. Pure. */
#pragma once
#include "base/attrs.h"
#include "shepherd/reap/reaper.h"

/* Pages, one after the other, and what is remembered of the current one. A cache that forgets: a
 * URL may come twice, never too seldom. */
struct reaper_links;
struct reaper_links *reaper_links_new(void); /* never NULL */
void reaper_links_free(struct reaper_links **l);

/* The links that are to be followed, without those to the page itself (fp), into the arena. Returns
 * their number. */
size_t reaper_links_of(struct reaper_links *l, const struct attrs *body, struct footprint fp,
		       struct arena *arena, const struct reaper_link **ret);
/* One URL, such as the target of a redirect, canonical in the arena. false: not one that is
 * fetched. */
bool reaper_link_of(struct str text, struct arena *arena, struct reaper_link *ret);

/* A file that is kept as it came: its body as attributes, in pieces that buckets may have. */
void reaper_raw_body(struct str type, struct str bytes, struct arena *arena, struct attrs *ret);

/* What the page says about itself to robots. */
void reaper_directives(const struct attrs *body, bool *ret_noindex, bool *ret_nofollow);
