/* What the cache knows of a URL, for garner why: each provider that announced it. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/rows.h"

#include <stdio.h>

struct cached_url {
	uint64_t provider;
	const char *state, *next;  /* what it is, and what happens to it then */
	const char *mime, *reason; /* reason: "" where there is none */
	unsigned code;             /* 0: none */
	int64_t at_us, until_us;   /* until: 0, not known */
	uint64_t size;
	const char *file; /* "MACHINE/NAME" of what is stored; "" */
};
struct cached_urls {
	struct cached_url *url;
	size_t n, room;
};

/* url: as url_parse() gives it. Of a data directory without a cache: none. */
int why_cache_ask(const char *data, struct str url, struct arena *arena, struct cached_urls *ret,
		  struct err *err);
void why_cache_print(const struct cached_urls *c, struct arena *arena, FILE *out);
extern const struct rows cached_url_rows;
