/* The links of a page, from the attributes that extraction returned or its bucket holds: canonical
 * URLs with their footprints, each once. Pure. */
#pragma once
#include "base/attrs.h"
#include "shepherd/reap/reaper.h"

/* Remembers the links of the current page, in a cache that forgets: a URL may be returned twice,
 * but none is missed. */
struct reaper_links;
struct reaper_links *reaper_links_new(void); /* never NULL */
void reaper_links_free(struct reaper_links **l);

/* Puts the links to follow into the arena, except those to the page itself (fp). Returns their
 * number. */
size_t reaper_links_of(struct reaper_links *l, const struct attrs *body, struct footprint fp,
		       struct arena *arena, const struct reaper_link **ret);
/* One URL, such as the target of a redirect, canonical in the arena. false: not one that is
 * fetched. */
bool reaper_link_of(struct str text, struct arena *arena, struct reaper_link *ret);

/* Makes attributes of the body of a file that is stored unchanged, in pieces that fit a bucket. */
void reaper_raw_body(struct str type, struct str bytes, struct arena *arena, struct attrs *ret);

/* Whether the page forbids robots to index it or to follow its links. */
void reaper_directives(const struct attrs *body, bool *ret_noindex, bool *ret_nofollow);
