/* The crawl: what the modules of a cycle share. A cycle goes
 *	plan    which URLs are due                      reap    gathers them (reap.h)
 *	cork    puts the journal into the index         merge   adds the URLs that were found
 *	select  drops what is not wanted (any more)     record  makes buckets for new URLs
 * each over one state as document 001 has it. The formulas are plain: due and new URLs by age,
 * within limits per site and in total. */
#pragma once
#include "base/value.h"
#include "state/state.h"

enum crawl_follow { CRAWL_SITE, CRAWL_ALL };

struct crawl_conf {
	int64_t cycle_us; /* how long a reap may take */
	int64_t plan_max, site_max, urls_max;
	int64_t refresh_us;        /* a page is looked at again after this */
	int64_t retry_us, retries; /* after a failure; doubled with each */
	int64_t forget_us; /* how long pages that are gone, forbidden or elsewhere are remembered */
	int64_t parsers;
	int follow;                         /* enum crawl_follow */
	int64_t old_states, interim_states; /* closed and corked ones that are kept */
	int64_t gone_us;                    /* entries of `gone` are kept so long */
	uint64_t sort_memory;
	uint64_t cleanup;           /* bytes of the bucket file before which it is not cleaned */
	uint64_t space;             /* bytes that must be free on the disk, or nothing is fetched */
	struct value_list no_delay; /* hosts that may be asked without delay */
};

/* For the table of a section; `m` is the struct crawl_conf in it. */
/* clang-format off */
#define CRAWL_SPECS(s, m) \
	{"cycle", VALUE_TIME_AT(s, m.cycle_us), "30s", 1e6, 86400e6, \
	 .help = "how long pages are gathered before what was found is planned anew"}, \
	{"plan_max", VALUE_INT_AT(s, m.plan_max), "200000", 1, 10000000, \
	 .help = "URLs that one cycle gathers at most"}, \
	{"site_max", VALUE_INT_AT(s, m.site_max), "50000", 1, 1e9, \
	 .help = "URLs of one site that are wanted; further ones are left out"}, \
	{"urls_max", VALUE_INT_AT(s, m.urls_max), "80000000", 1, 1e9, \
	 .help = "URLs that are wanted, all in all"}, \
	{"follow", VALUE_WORD_AT(s, m.follow), "site", .words = crawl_follows, \
	 .help = "which links are followed: those to sites that were added by hand (site), or " \
		 "all"}, \
	{"refresh", VALUE_TIME_AT(s, m.refresh_us), "30d", 1e6, 31536000e6, \
	 .help = "a page is looked at again after this time"}, \
	{"retry", VALUE_TIME_AT(s, m.retry_us), "10min", 1e6, 31536000e6, \
	 .help = "a page that failed is tried again after this time, doubled with each failure"}, \
	{"retries", VALUE_INT_AT(s, m.retries), "8", 0, 255, \
	 .help = "after so many failures in a row a page counts as gone"}, \
	{"forget", VALUE_TIME_AT(s, m.forget_us), "30d", 1e6, 31536000e6, \
	 .help = "how long is remembered that a page is gone, forbidden or elsewhere; then a link " \
		 "to it makes it new"}, \
	{"parsers", VALUE_INT_AT(s, m.parsers), "1", 1, 64, \
	 .help = "processes that read documents"}, \
	{"keep_old_states", VALUE_INT_AT(s, m.old_states), "3", 1, 1000, \
	 .help = "closed states that are kept at most, apart from those that a reader has locked: for " \
		 "followers without a lock, and to make a lost index again from"}, \
	{"keep_interim_states", VALUE_INT_AT(s, m.interim_states), "3", 0, 1000, \
	 .help = "the same for corked states, which lie between the closed ones and have the " \
		 "journals; there is no gap, so with fewer of them fewer closed ones are kept too"}, \
	{"gone", VALUE_TIME_AT(s, m.gone_us), "180d", 0, 1e15, \
	 .help = "how long is remembered which URLs were forgotten, and why; 0: for ever"}, \
	{"sort_memory", VALUE_SIZE_AT(s, m.sort_memory), "64M", 1 << 20, 1e12, \
	 .help = "memory for sorting what was found"}, \
	{"cleanup", VALUE_SIZE_AT(s, m.cleanup), "256M", 1 << 16, INFINITY, \
	 .help = "the bucket file is cleaned of what no URL needs when it is larger than this and " \
		 "half as large again as after the last time"}, \
	{"space", VALUE_SIZE_AT(s, m.space), "256M", 0, INFINITY, \
	 .help = "while less is free on the disk of the data directory nothing new is fetched; it " \
		 "goes on by itself when there is room"}, \
	{"no_delay", VALUE_LIST_AT(s, m.no_delay), "", \
	 .help = "hosts, with their port if it is not the usual one, that may be asked without " \
		 "delay and several times at once: your own"}
/* clang-format on */
extern const char *const crawl_follows[];

/* The status of an item whose last try did not end in an answer: 1000 + enum outcome. */
enum { CRAWL_STATUS = 1000, CRAWL_NOINDEX = 1100 };
/* For people: "404", "robots.txt forbids it"; in room of 64 bytes. */
const char *crawl_status_text(uint16_t status, char ret[64]);

/* A footprint as the attribute O has it: 32 digits. */
struct str crawl_digits(struct footprint fp, struct arena *arena);
/* Whether a site is one of conf->no_delay. */
bool crawl_is_fast(const struct crawl_conf *conf, const struct site *site);

/* Where URLs are asked for by hand (disk/requests.h), below the data directory. */
#define CRAWL_REQUESTS "shepherd/requests"
/* A line of such a request becomes a contribution to an open state. A requests_fn; garner add has
 * refused what is not a URL, and told so. */
int crawl_ask(void *state, struct str line, struct err *err);

/* What plan found. */
struct planned {
	uint64_t urls, sites;
	uint64_t waiting; /* due, but beyond plan_max or what the site can give in a cycle */
	uint64_t types[ITEM_TYPES]; /* all URLs of the index */
	int64_t next_s; /* when the next URL will be due, seconds since 1970; INT64_MAX: none */
};
/* Writes the plan of a state in PHASE_PLAN; delay_us: between two requests to one server. With
 * `write` false it only looks. */
int crawl_plan(struct state *st, const struct crawl_conf *conf, int64_t delay_us, int64_t now_us,
	       bool write, struct planned *ret, struct err *err);

/* What takes long asks between blocks of its work whether it is to stop: it then returns 1 and has
 * done nothing that counts, so the phase is done again another time. NULL: nobody stops it. */
struct crawl_stop {
	bool (*wanted)(void *ctx);
	void *ctx;
};

/* Applies the journal to the index, and what it tells of servers to the sites. 1: stopped. */
int crawl_cork(struct state *st, const struct crawl_conf *conf, const struct crawl_stop *stop,
	       struct err *err);

struct merged {
	uint64_t added, known, unwanted, forgotten;
	struct err lost; /* why not all contributions could be read; ERR_NONE: all were */
};
/* Adds contributions as new URLs that have no bucket yet, those of sites that are wanted, within
 * the limits; forgets what was remembered for long enough. Also select: sites without URLs go. 1:
 * stopped; the state is good for nothing then. */
int crawl_merge(struct state *st, const struct crawl_conf *conf, int64_t now_us,
		const struct crawl_stop *stop, struct merged *ret, struct err *err);

/* Makes a thin bucket for every new URL, so that the state needs no contributions any more. 1:
 * stopped; buckets were appended that nobody knows. */
int crawl_record(struct state *st, struct buckets *buckets, const struct crawl_stop *stop,
		 uint64_t *ret_made, struct err *err);

/* Drops all buckets that the index of a state in PHASE_CLEANUP does not name, shakes the bucket
 * file down and gives the index the new numbers. */
struct bucket_shaken;
int crawl_cleanup(struct state *st, struct buckets *buckets, struct bucket_shaken *ret,
		  struct err *err);
