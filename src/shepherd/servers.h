/* Servers: what the sites of one queue key have in common, for plan and select (doc/cycle.md,
 * "Servers"). Made from the site list of a state in two passes; some hundred bytes for each queue
 * key, and four for each site. */
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
	uint32_t number; /* below servers_count(); of those that are not resolved: UINT32_MAX */
};

struct servers;
/* ERR_DAMAGED: the site list. */
int servers_load(struct servers **ret, struct state *st, const struct crawl *c, struct err *err);
/* Only the server of this site: all others are as if nobody had asked them. */
int servers_load_of(struct servers **ret, struct state *st, const struct crawl *c,
		    const struct site *only, struct err *err);
void servers_free(struct servers **s);
size_t servers_count(const struct servers *s); /* that are resolved */
/* The server of a site of that list. One that was not asked yet is a server of its own, made in
 * *room. */
const struct server *servers_of(const struct servers *s, const struct site *site,
				struct server *room);
/* The same for those who go along the list: the site is its nth. */
const struct server *servers_of_nth(const struct servers *s, const struct site *site, uint64_t nth,
				    struct server *room);
const struct server *servers_at(const struct servers *s, size_t number);
/* What the filter says of a site, with its server in view. */
void servers_filter(const struct servers *s, const struct site *site, struct filter_site *ret);
void servers_filter_on(const struct servers *s, const struct site *site,
		       const struct server *server, struct filter_site *ret);

/* Whether a site is dead, and until when nothing of it is planned, seconds since 1970 (0: at once).
 */
bool site_is_dead(const struct site *site, const struct crawl *c);
int64_t site_rests_until(const struct site *site, const struct crawl *c);
