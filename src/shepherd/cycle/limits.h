/* Limits: how many URLs a site, a server, a section and the whole crawl may have, and how often
 * they are refreshed (doc/cycle.md, "select"). URLs come best first, and each is judged by
 * what those before it have taken. Takes about fifty bytes for each site and thirty-two for each
 * server. */
#pragma once
#include "shepherd/crawl.h"

struct limits;
/* By the sites, the rate and the sizes that a state knows. ERR_DAMAGED: its site list. */
int limits_new(struct limits **ret, struct state *st, const struct crawl *c, struct err *err);
void limits_free(struct limits **l);

/* What a site adds to the worth of its URLs. */
struct limits_site {
	bool bonus;
	double boost;
	const struct schema *schema; /* lives as long as filter and crawl */
};
/* Adds a site, the nth of the list; sites are numbered from 0. NULL: not in the list; it has a
 * server of its own and the usual limits. */
void limits_add(struct limits *l, const struct site *site, uint64_t nth, struct limits_site *ret);
/* Call it after the last limits_add(). */
void limits_begin(struct limits *l);
const struct schema *limits_schema(const struct limits *l, uint32_t site);

struct limits_url {
	bool sacred, zombie, weighed;
	uint8_t section;
	uint8_t optimum; /* of its site's schema: schema_optimum() */
};
/* A verdict in one byte. */
enum {
	VERDICT_ACTIVE = 0,    /* + which frequency of the schema; its n: once */
	VERDICT_SLEEPS = 16,   /* + enum crawl_limit */
	VERDICT_FORGETS = 32,  /* + enum crawl_limit */
	VERDICT_REMEMBERS = 48 /* a zombie */
};
/* Returns the verdict on a URL, and counts it. */
uint8_t limits_judge(struct limits *l, uint32_t site, const struct limits_url *url);
/* Prefetch hints, because sites and servers lie far apart in memory: limits_judge() will be called
 * for a site later (near), or soon (next). */
void limits_near(const struct limits *l, uint32_t site);
void limits_next(const struct limits *l, uint32_t site);
uint64_t limits_active(const struct limits *l);

/* Which frequency of a schema is best for an item, by how long it was stable; n: once is enough. */
unsigned schema_optimum(const struct schema *schema, double boost, const struct index_item *item,
			const struct crawl_conf *conf);
static inline unsigned schema_freq(const struct schema *schema, unsigned k)
{
	return k < schema->n ? MAX(schema->freq[k], 1) : 1;
}
