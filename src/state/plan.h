/* The plan: what reap is to gather, site by site. Written once by plan, read once by reap. Layout:
 * doc/formats/plan.md. */
#pragma once
#include "base/arena.h"
#include "disk/format.h"
#include "state/counted.h"
#include "url/footprint.h"
#include "url/qkey.h"

enum plan_flag {
	PLAN_REFRESH = 1,     /* R: it was gathered before */
	PLAN_ROBOTS = 2,      /* S: robots.txt of the site, which is not fresh; it goes first */
	PLAN_ANTICIPATED = 4, /* A: not due yet, taken because there is time */
	PLAN_OVERAGED = 8,    /* O: long past its time */
};

struct plan_entry {
	struct footprint fp;
	uint64_t where; /* bucket with its URL, or with ITEM_CONTRIB in item_flags the contribution
			 */
	uint32_t priority; /* the greater, the sooner */
	uint8_t flags;     /* enum plan_flag */
	uint8_t item_flags, retry, weight, section;
	uint8_t hops; /* redirects that led here from a URL given by hand */
};

struct plan_site {
	uint64_t fp;
	qkey qkey;
	uint64_t robots_where; /* its robots.txt; ITEM_NOWHERE: none known */
	uint32_t delay_ms;
	const struct plan_entry *entry;
	size_t n;
};

int plan_create(struct counted_writer *ret, const char *path, struct err *err);
/* A site with more than PLAN_SITE_MOST entries comes in several parts. End the plan with
 * counted_finish(). */
enum { PLAN_SITE_MOST = 100000 };
int plan_put(struct counted_writer *w, const struct plan_site *site, struct err *err);

/* 1: there is none. */
int plan_open(struct counted_reader *ret, const char *path, struct err *err);
/* Entries live in the arena. 1: the end; a plan without its end is ERR_DAMAGED. */
int plan_next(struct counted_reader *in, struct arena *arena, struct plan_site *ret,
	      struct err *err);

extern const struct format plan_format;
