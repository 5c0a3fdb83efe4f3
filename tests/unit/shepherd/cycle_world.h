/* Random worlds for the model of the cycle and the modules: a few dozen URLs on a few sites, some
 * of them mirrors, some on one server. Times lie around every threshold, limits are so small that
 * all of them bind, and most of what is computed from settings is a whole number. */
#pragma once
#include "unit/shepherd/crawl_lab.h"
#include "unit/shepherd/cycle_model.h"
#include "url/equiv.h"

enum { URLS = 96, PATHS = 8, HOSTS = URLS / PATHS };
extern const char *const world_hosts[HOSTS];

struct known_url {
	char text[64];
	struct footprint fp;
	struct url_site site; /* the host is a slice of the text */
};

struct run {
	struct world w;
	struct crawl_conf conf;
	struct known_url url[URLS];
	struct lab lab;
	struct buckets *buckets;
	struct filter *filter;
	struct equiv *equiv;
	struct merged merged; /* what modules counted */
	struct selected selected;
	uint64_t seed, world;
	size_t gone_before;
	const char *module;
	bool own_limits; /* rules say how many URLs a site may have */
	bool quiet;      /* hardly anything is due */
};

#define FAIL(r, ...) world_fail(r, __LINE__, __VA_ARGS__)
/* Fails the test, and says in which world. */
void world_fail(const struct run *r, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Everything that is known at first; r has `seed` and `buckets`. */
void world_make(struct run *r);
/* What a reap finds; round as in struct model_contrib. */
void world_find(struct run *r, unsigned round);
/* Time passes. */
void world_wait(struct run *r);
bool world_chance(struct run *r, unsigned percent);
