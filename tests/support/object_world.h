/* A plain model of what the broker knows, in arrays: which objects are registered, which of them
 * has a text, and what each URL shows. For random tests, which do the same to both and compare. Two
 * gatherers must never tell the same time, so that it is always clear who is newer. */
#pragma once
#include "base/base.h"

enum { WORLD_GATHERERS = 3, WORLD_URLS = 40 };

struct known {
	bool there, has_text;
	unsigned md5; /* 0: absent */
	uint32_t time_s, time_to_live_s;
	uint64_t text;    /* its number, if it has one */
	uint64_t written; /* when, in the order of all changes */
};
struct world {
	struct known of[WORLD_GATHERERS][WORLD_URLS];
	uint64_t changes;
};

static inline bool world_has_text(const struct world *w, unsigned g, unsigned md5, unsigned but)
{
	for (unsigned u = 0; u < WORLD_URLS; u++) {
		const struct known *k = &w->of[g][u];
		if (u != but && md5 && k->there && k->has_text && k->md5 == md5)
			return true;
	}
	return false;
}

/* An object is gone or has another text: the first of its twins takes the old one. */
static inline void world_leave(struct world *w, unsigned g, const struct known *was)
{
	struct known *first = NULL;
	if (!was->there || !was->has_text || !was->md5 ||
	    world_has_text(w, g, was->md5, WORLD_URLS))
		return;
	for (unsigned u = 0; u < WORLD_URLS; u++) {
		struct known *k = &w->of[g][u];
		if (k->there && k->md5 == was->md5 && (!first || k->written < first->written))
			first = k;
	}
	if (!first)
		return;
	first->has_text = true;
	first->text = was->text;
	first->written = ++w->changes;
}

/* told: md5, times and text. */
static inline void world_update(struct world *w, unsigned g, unsigned u, const struct known *told)
{
	struct known was = w->of[g][u], is = *told;
	if (was.there && (was.time_s > is.time_s || (was.time_s == is.time_s && was.md5 == is.md5)))
		return;
	is.there = true;
	is.has_text = !world_has_text(w, g, is.md5, u);
	is.written = ++w->changes;
	w->of[g][u] = is;
	world_leave(w, g, &was);
}

static inline void world_refresh(struct world *w, unsigned g, unsigned u, uint32_t when_s)
{
	struct known *k = &w->of[g][u];
	if (!k->there || k->time_s >= when_s)
		return;
	k->time_s = when_s;
	k->written = ++w->changes;
}

static inline void world_delete(struct world *w, unsigned g, unsigned u, uint32_t when_s)
{
	struct known was = w->of[g][u];
	if (!was.there || was.time_s > when_s)
		return;
	w->of[g][u].there = false;
	world_leave(w, g, &was);
}

static inline void world_expire(struct world *w, int64_t now_s)
{
	for (unsigned n = 0; n < WORLD_GATHERERS * WORLD_URLS; n++) {
		unsigned g = n / WORLD_URLS, u = n % WORLD_URLS;
		const struct known *k = &w->of[g][u];
		if (k->there && (int64_t)k->time_s + k->time_to_live_s < now_s)
			world_delete(w, g, u, UINT32_MAX);
	}
}

/* NULL: the URL shows nothing. */
static inline const struct known *world_shown(const struct world *w, unsigned u)
{
	const struct known *best = NULL;
	for (unsigned g = 0; g < WORLD_GATHERERS; g++) {
		const struct known *k = &w->of[g][u];
		if (k->there && k->has_text && (!best || k->time_s > best->time_s))
			best = k;
	}
	return best;
}

struct world_counts {
	uint64_t objects, texts, shown;
};
static inline struct world_counts world_count(const struct world *w)
{
	struct world_counts n = {0};
	for (unsigned u = 0; u < WORLD_URLS; u++) {
		n.shown += world_shown(w, u) != NULL;
		for (unsigned g = 0; g < WORLD_GATHERERS; g++) {
			n.objects += w->of[g][u].there;
			n.texts += w->of[g][u].there && w->of[g][u].has_text;
		}
	}
	return n;
}
