/* Servers: one for each queue key, with the figures of its sites, for plan and select
 * (doc/cycle.md, "Servers"). Made from the site list of a state in two passes. Takes about a
 * hundred bytes for each queue key and four for each site. */
#pragma once
#include "shepherd/crawl.h"

struct server {
	qkey qkey;                      /* 0: of one site that was not asked yet */
	uint32_t sites;                 /* on it */
	uint32_t max_conn;              /* requests at once */
	uint64_t demand;                /* refreshes that are wanted in a refresh cycle */
	int64_t min_delay_us, delay_us; /* delay: what the plan uses */
	uint64_t download_ms;           /* mean time of a transfer */
	uint64_t room;                  /* URLs in one plan; UINT64_MAX: no limit */
	bool tight;
	bool exempt;     /* all its sites are in no_delay: a Crawl-delay does not make it longer */
	uint32_t number; /* below servers_count(); UINT32_MAX: not resolved */
};

struct servers;
/* ERR_DAMAGED: the site list. */
int servers_load(struct servers **ret, struct state *st, const struct crawl *c, struct err *err);
/* Loads only the server of this site; all others count as not resolved. */
int servers_load_of(struct servers **ret, struct state *st, const struct crawl *c,
		    const struct site *only, struct err *err);
void servers_free(struct servers **s);
size_t servers_count(const struct servers *s); /* resolved ones */
/* The server of a site of that list. A site that is not resolved yet has a server of its own, made
 * in *room. */
const struct server *servers_of(const struct servers *s, const struct site *site,
				struct server *room);
/* The same for a caller that walks the list: the site is its nth. */
const struct server *servers_of_nth(const struct servers *s, const struct site *site, uint64_t nth,
				    struct server *room);
const struct server *servers_at(const struct servers *s, size_t number);
/* Asks the filter about a site, with what is known of its server. */
void servers_filter(const struct servers *s, const struct site *site, struct filter_site *ret);
void servers_filter_on(const struct servers *s, const struct site *site,
		       const struct server *server, struct filter_site *ret);

/* Whether a site is dead, and until when nothing of it is planned, seconds since 1970 (0: at once).
 */
bool site_is_dead(const struct site *site, const struct crawl *c);
int64_t site_rests_until(const struct site *site, const struct crawl *c);
