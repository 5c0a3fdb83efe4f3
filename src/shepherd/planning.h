/* What plan would do, and why: for garner shep plan --explain and garner why. Writes nothing. */
#pragma once
#include "shepherd/plan_band.h"
#include "shepherd/servers.h"
#include "state/plan.h"

struct plan_server {
	struct server server; /* qkey 0: all that are not resolved together; `sites` counts them */
	uint64_t due, urls;   /* due: before the limits; urls: in the plan */
};
struct plan_servers {
	struct plan_server *server; /* those with anything due, the most URLs first */
	size_t n;
};
void plan_servers_free(struct plan_servers *s);

/* Computes the next plan of a state. Unlike crawl_plan() it always reads the index, because
 * settings may have changed. 1: stopped. */
int plan_explain(struct state *st, const struct crawl *c, struct planned *ret,
		 struct plan_servers *ret_servers, struct err *err);

/* What plan would make of one URL, and what it made of it in this state. */
struct plan_answer {
	struct index_item item;
	struct plan_verdict verdict; /* priority: with what server and site add; of the best URL of
				      * a site that is not resolved the plan has another */
	bool candidate;              /* false: of a type that is never planned */
	bool dead;
	int64_t rests_until_s; /* 0: the site does not rest */
	struct server server;
	int64_t queue_bonus;
	/* In the plan of the state. */
	bool has_plan, planned;
	struct plan_entry entry;
	uint64_t place, of; /* from 1 on, by falling priority */
};
/* site: its entry in the site list; NULL: there is none. Reads the list once, for the server.
 * 1: the URL is not in the index. */
int plan_explain_url(struct state *st, const struct crawl *c, struct footprint fp,
		     const struct site *site, struct plan_answer *ret, struct err *err);
