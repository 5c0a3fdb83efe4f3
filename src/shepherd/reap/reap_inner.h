/* What the files of reap share: reap.c (run, checkpoints, ends), reap_queue.c (the plan in queues,
 * jobs), reap_names.c (names and keys), reap_robots.c, reap_rules.c (delays of queues), reap_page.c
 * (what is kept and told). */
#pragma once
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "fetch/hostq.h"
#include "shepherd/reap.h"
#include "shepherd/reap/reap_judge.h"
#include "shepherd/reap/reaper_links.h"
#include "shepherd/reap/reaper_local.h"
#include "shepherd/reap/reapers.h"
#include "shepherd/reap/url_log.h"
#include "shepherd/servers.h"

enum { REAP_PROXY_TRIES = 3 };

/* A site in this reap. */
struct reap_site {
	uint64_t fp;
	qkey known;             /* as the crawl knows it; 0: it does not */
	qkey key;               /* under which its URLs wait */
	struct addr addr;       /* that they are fetched from; family 0: a proxy knows */
	uint64_t robots_where;  /* bucket of its robots.txt; ITEM_NOWHERE: none, or told already */
	struct reap_name *name; /* NULL: it is not being asked for */
	struct link ahead;      /* in reap.ahead */
	uint64_t where;         /* of one that is there: the bucket of a URL of it */
	struct link parked;     /* struct reap_parked: URLs that wait for name or robots.txt */
	bool resolved;
	bool off;          /* nothing more of it is asked for in this cycle */
	uint16_t off_code; /* and no page was judged by it yet: the first that comes is; else 0 */
	char *off_why;     /* with it */
	bool moved;        /* its key was another one: pages are fetched without validators */
	bool key_told;     /* the journal has it */
	bool asks_robots;  /* its robots.txt is under way */
};

/* A URL that is with a reaper, or on its way there. */
struct reap_job {
	struct link link; /* in reap.jobs */
	struct reap *reap;
	uint64_t id;           /* under which a reaper has it */
	struct reaper *reaper; /* NULL: none has it */
	const char *by;        /* the name of the last one that had it; NULL: none had */
	enum reaper_what what;
	struct reap_site *site;
	struct hostq_job out; /* its place in its queue */
	bool queued;          /* it has one */
	struct plan_entry entry;
	bool asked;    /* by hand, and not known before */
	uint8_t tries; /* by way of a proxy that failed */
	struct arena arena;
	struct str url, etag, last_modified, md5; /* of the copy that we have */
	struct bucket old;                        /* the copy; its data lies in the arena */
	/* What was answered while no reap ran: judged by the next one. NULL: nothing. */
	struct reaper_answer *kept;
	/* Of robots.txt and sitemaps: whose file it is, or which file names it, as url_site_print()
	 * writes the site. */
	struct str site_name;
	/* Of robots.txt. */
	uint8_t hops;     /* redirects so far */
	int64_t asked_us; /* when the site itself was, on the loop's clock; -1: not yet */
	struct addr addr;
	struct loop_timer again;
	struct dns_wait dns;
};

/* How the server of a queue may be asked. */
struct key_rule {
	struct polite_rule rule;
	int64_t crawl_us;   /* the longest Crawl-delay of its sites; 0: none has one */
	bool no_connection; /* since its last answer */
};

TABLE(fps, struct footprint, bool, footprint_hash, footprint_same)
/* Sites that are known, each with the number of its server, or one of these. */
#define SITE_EXPIRED UINT32_MAX        /* has none; its name may be asked for again */
#define SITE_UNSERVED (UINT32_MAX - 1) /* has none */
TABLE(known_sites, uint64_t, uint32_t, hash_u64, table_same_u64)
TABLE(reap_jobs, uint64_t, struct reap_job *, hash_u64, table_same_u64)
TABLE(reap_sites, uint64_t, struct reap_site *, hash_u64, table_same_u64)
TABLE(key_rules, qkey, struct key_rule, hash_u64, table_same_u64)

struct reap {
	struct reap_options o;
	struct kit kit;
	bool by_proxy; /* which knows the names */
	struct reaper_host host;
	struct reaper *local;
	struct reapers *reapers;  /* it, and those of other machines */
	struct url_log *log;      /* NULL: nobody wants it */
	struct link jobs;         /* all of them */
	struct arena_pool arenas; /* of jobs that are done */
	struct reap_jobs out;     /* those that reapers have */
	uint64_t last_id;
	/* Of the run. */
	struct state *state;
	struct buckets *buckets;
	struct bucket_packer *packer; /* of copies that did not change */
	struct reaper_links *links;
	const struct crawl *crawl;
	struct servers *servers;
	struct known_sites known;
	struct reap_sites sites;
	struct key_rules rules;
	struct link names;       /* that wait until they can be asked for */
	struct link ahead;       /* struct reap_site: whose names are asked for after those */
	struct link asked_names; /* those that are */
	uint64_t asking;         /* names, at once */
	struct hostq *queue;
	struct fps done;       /* while the queues are filled: what the journal has */
	struct fps gone;       /* deletes that the journal tells and no update takes back */
	uint64_t left;         /* URLs not done */
	uint64_t dropped;      /* URLs of sites that are off */
	uint64_t done_now;     /* URLs done by this run */
	uint64_t asked;        /* see struct reaped */
	bool lost_plan;        /* a part of the plan could not be read */
	int64_t full_since_us; /* it cannot do more at once since then; 0: it can */
	int64_t full_us;       /* how long that was so before */
	struct loop_timer wake, tick, end;
	struct loop_later pump;
	bool stopping;
	bool held;                   /* nothing new is begun: see reap_look() */
	bool careful;                /* see reap_be_careful() */
	uint64_t begun;              /* jobs since then */
	int64_t kept_us, offered_us; /* the last checkpoint and the one before */
	int64_t rules_us;            /* when the cache of robots.txt was last made durable */
	struct loop_timer look;
	struct err err; /* what ended it; code ERR_NONE: nothing did */
	struct seen {
		struct footprint fp;
	} * seen, *awaited; /* contributions of the run, and what was asked for by hand and is not
			       done: caches that forget */
	struct lead {
		struct footprint from, to;
	} * leads; /* redirects lately, by where they lead from: such a cache too */
};

/* reap.c */
void reap_fail(struct reap *r, const struct err *err);
void reap_note_full(struct reap *r, bool full);

/* reap_queue.c */

/* The plan goes into the queues, but for what the journal has and what is under way. */
int reap_fill(struct reap *r, struct state *st, struct err *err);
/* A URL that somebody asks for. A requests_fn. */
int reap_ask(void *ctx, struct str line, struct err *err);
/* Hands out what may go. For the loop. */
void reap_pump(void *ctx);
/* What reapers say; struct reaper_host. */
void reap_answered(void *ctx, struct reaper *from, const struct reaper_answer *answer);
void reap_lost_job(void *ctx, struct reaper *from, uint64_t id, int64_t rests_us);

/* The bucket of a URL, its header, and the URL; their data lies in the arena. */
int reap_read_url(struct reap *r, uint64_t where, struct arena *arena, struct bucket *ret,
		  struct attrs *ret_header, struct str *ret_url, struct err *err);
struct reap_job *reap_job_new(struct reap *r);
void reap_job_free(struct reap_job *job);
/* Hands it to a reaper, with an ID of its own. As submit(). */
int reap_submit(struct reap_job *job, struct reaper_job *out, const struct reaper_rules *rules,
		struct err *err);
/* The job has been judged and its result recorded. */
void reap_job_done(struct reap_job *job);
/* Ends a job whose server was not asked. */
void reap_end_unasked(struct reap_job *job, uint16_t code, const char *why);
/* The same of one that is still only a place in a queue. */
void reap_answer_unasked(struct reap *r, const struct hostq_job *out, uint16_t code,
			 const char *why);
/* Whether it is a page, and neither robots.txt nor a sitemap. */
bool reap_is_page(const struct hostq_job *out);
/* Leaves it for another cycle. */
void reap_leave(struct reap *r, const struct hostq_job *out);
/* A sitemap that a site's robots.txt names, or with depth 1 another sitemap: it joins the queues.
 * Canonical. */
void reap_push_sitemap(struct reap *r, struct str url, struct str site_name, uint8_t depth);
/* Takes over the requests that the last run left under way. */
int reap_adopt(struct reap *r, struct err *err);
/* What was answered in between. */
void reap_adopted(struct reap *r);

/* reap_names.c */

struct reap_site *reap_site_of(struct reap *r, uint64_t fp);
/* 0: the site of the job has its address. 1: the job waits, or has ended. */
int reap_resolve(struct reap_job *job, const struct url *url);
/* The server that a proxy asked; 0: not known. */
void reap_key_learned(struct reap *r, struct reap_site *site, qkey key, struct url_site of);
/* Parks the job until its site is ready; it keeps its place in the queue. */
void reap_park(struct reap_job *job);
/* Returns all parked jobs to their places, not to be fetched before until_us. */
void reap_unpark(struct reap *r, struct reap_site *site, int64_t until_us);
/* Fetches nothing more of the site in this cycle. The first page that is parked, or else the next
 * one, gets this code (0: none does). */
void reap_site_off(struct reap *r, struct reap_site *site, uint16_t code, const char *why);
/* The name of a site is asked for before the turn of its URLs comes, of which one is in this
 * bucket. */
void reap_name_ahead(struct reap *r, struct reap_site *site, uint64_t where);
/* The same, of a URL that somebody asks for now: ahead of those. */
void reap_name_wanted(struct reap *r, struct reap_site *site, struct url_site of);
/* Starts pending lookups up to the limit, even if no reaper has room. */
void reap_names_go_on(struct reap *r);
void reap_names_clear(struct reap *r);

/* reap_robots.c */

/* 0: robots.txt allows it, and *ret is what it says, good until the next call. 1: the job waits, or
 * has ended. */
int reap_robots(struct reap_job *job, const struct url *url, char room[URL_SITE_MAX],
		struct reaper_rules *ret);
/* robots.txt of a site in its own place in the queue, ahead of the pages: it is asked for, unless
 * it is known or under way. */
void reap_robots_ahead(struct reap_job *job, const struct url *url);
void reap_robots_answered(struct reap_job *job, const struct reaper_answer *a);
void reap_robots_lost(struct reap_job *job, int64_t rests_us);

/* reap_rules.c */

/* The server of a site, as the plan knows it; NULL: it does not. */
const struct server *reap_server_of(const struct reap *r, uint64_t site);
struct polite_rule reap_rule_of_server(const struct server *server);
/* Of a site, without what is learned in the reap. */
struct polite_rule reap_rule_of(const struct reap *r, struct url_site of, uint64_t site);
/* Of a queue: that of its sites, and all that raises it. */
struct polite_rule reap_rule(const struct reap *r, qkey key);
void reap_rule_set(struct reap *r, qkey key, struct polite_rule rule);
/* Of a queue that has just been made. */
void reap_rule_apply(struct reap *r, qkey key);
void reap_rule_crawl_delay(struct reap *r, qkey key, int64_t delay_us); /* -1: none */
void reap_rule_answered(struct reap *r, qkey key, uint16_t code);

/* reap_page.c */

/* Stores and records the answer for a page. */
void reap_page(struct reap_job *job, const struct reaper_answer *answer);
/* Contributes what a sitemap lists. */
void reap_sitemap(struct reap_job *job, const struct reaper_answer *answer);
/* What is known of the site of a URL, for the filter. */
struct filter_where reap_where(const struct reap *r, uint64_t site, bool by_hand);
struct seen *reap_seen_slot(struct seen **cache, struct footprint fp);
