/* The crawl: what the modules of a cycle share, and the modules. What each does, exactly, stands in
 * doc/cycle.md.
 *	feedback  weights from the indexer                  plan    which URLs are due, and how soon
 *	reap      gathers them (reap.h)                     cork    puts the journal into the index
 *	merge     adds the URLs that were found             equiv   which sites are mirrors
 *	select    what is wanted, what sleeps, what goes    record  makes buckets for new URLs
 *	cleanup   drops buckets that nobody needs
 * Each is a pass, or a few, over the index of one state, in step with its site list: the memory it
 * needs grows with the sites by a few bytes each. */
#pragma once
#include "base/value.h"
#include "net/tls.h"
#include "shepherd/filter.h"
#include "state/state.h"

enum crawl_follow { CRAWL_SITE, CRAWL_ALL };
enum crawl_local { CRAWL_LOCAL_AUTO, CRAWL_LOCAL_ALWAYS, CRAWL_LOCAL_NEVER };

struct crawl_conf {
	int64_t cycle_us; /* how long a reap may take; 0: as crawl_cycle_us() says */
	int64_t plan_max, site_max, active_max, remember_max;
	int64_t refresh_us;        /* a page is looked at again after this */
	int64_t retry_us, retries; /* after a failure; doubled with each */
	int64_t forget_us; /* how long pages that are gone, forbidden or elsewhere are remembered */
	int64_t parsers;
	int64_t max_resolvers, autoreply_delay_us, conn_err_delay_us;
	int follow;                         /* enum crawl_follow */
	int64_t max_depth;                  /* components of a path; 0: no limit */
	int64_t old_states, interim_states; /* closed and corked ones that are kept */
	int64_t gone_us;                    /* how long entries of `gone` are kept */
	uint64_t sort_memory;
	uint64_t memory;
	uint64_t cleanup;           /* bytes of the bucket file before which it is not cleaned */
	struct value_list no_delay; /* hosts that may be asked without delay */
	int64_t merge_every;
	/* plan */
	double est_raw_performance, reap_optimism, reap_slowdown, duty_factor;
	int64_t server_overtake_us, anticipated_us;
	/* cork, merge */
	int64_t site_err_retry, site_err_expire_us;
	struct value_list zombie_errors;
	int64_t redirect_to_zombie_us;
	bool auto_go_root;
	int64_t default_insert_weight;
	/* select */
	double hard_limit_factor, frequent_factor, stability_factor, safety_brake_limit;
	int64_t dead_site_limit, site_fresh_limit, select_hysteresis;
	int64_t min_eq_frequency, max_err_frequency;
	const char *refresh_schema;
	uint64_t bucket_file_size, avg_bucket_size, avg_url_size;
	int64_t periodic_cleanup_us;
	/* reap */
	struct value_list reapers; /* addresses of reapds */
	int local;                 /* enum crawl_local */
	int64_t reapers_wait_us, reaper_penalty_us, lease_us;
	const char *url_log; /* NULL or empty: none */
	struct tls_conf tls; /* of the connections to them */
};

/* For the table of a section; `m` is the struct crawl_conf in it. */
/* clang-format off */
#define CRAWL_SPECS(s, m) \
	{"cycle", VALUE_TIME_AT(s, m.cycle_us), "30s", 1e6, 86400e6, .words = crawl_auto, \
	 .help = "longest time to fetch before planning again; auto: nine times as long as the other " \
		 "work of the last cycle took, 30s to 1d"}, \
	{"merge_every", VALUE_INT_AT(s, m.merge_every), "1", 1, 200, \
	 .help = "cycles after which URLs that were found become known; sooner when nothing else is " \
		 "due, or when somebody asked for a URL"}, \
	{"plan_max", VALUE_INT_AT(s, m.plan_max), "200000", 1, 10000000, \
	 .help = "most URLs to fetch in one cycle"}, \
	{"site_max", VALUE_INT_AT(s, m.site_max), "50000", 1, 1e9, \
	 .help = "most URLs wanted of one site; the others sleep or are forgotten"}, \
	{"active_max", VALUE_INT_AT(s, m.active_max), "80000000", 1, 1e9, \
	 .help = "most URLs wanted in all; the best ones are kept"}, \
	{"remember_max", VALUE_INT_AT(s, m.remember_max), "100000000", 0, 1e9, \
	 .help = "most URLs remembered apart from those; the worst are forgotten"}, \
	{"dead_site_limit", VALUE_INT_AT(s, m.dead_site_limit), "0", 0, 1e9, \
	 .help = "as site_max, for a dead site; 0: no other limit"}, \
	{"site_fresh_limit", VALUE_INT_AT(s, m.site_fresh_limit), "0", 0, 1e9, \
	 .help = "most URLs wanted of one site before the index has weighed them; 0: no limit"}, \
	{"hard_limit_factor", VALUE_REAL_AT(s, m.hard_limit_factor), "2", 1, 100, \
	 .help = "URLs beyond a limit sleep; beyond this many times the limit they are forgotten"}, \
	{"select_hysteresis", VALUE_INT_AT(s, m.select_hysteresis), "8", 0, 255, \
	 .help = "extra weight that a new page needs to replace one that is already fetched"}, \
	{"default_insert_weight", VALUE_INT_AT(s, m.default_insert_weight), "96", 0, 255, \
	 .help = "weight of a URL about which nothing is known"}, \
	{"safety_brake_limit", VALUE_REAL_AT(s, m.safety_brake_limit), "10", 0, 100, \
	 .help = "percentage of the fetched pages that one cycle may drop, which is never less than 1,000 " \
		 "pages; beyond it nothing is dropped until somebody creates the file " \
		 "shepherd/disable-brake"}, \
	{"refresh_schema", VALUE_TEXT_AT(s, m.refresh_schema), "4:0.3 2:0.7", \
	 .help = "how many times pages may be fetched in the time `refresh`, and the share of " \
		 "frequent_factor for each number: FREQUENCY:SHARE ..."}, \
	{"frequent_factor", VALUE_REAL_AT(s, m.frequent_factor), "0.25", 0, 0.9, \
	 .help = "share of a server's capacity used to fetch pages more than once in the time " \
		 "`refresh`"}, \
	{"stability_factor", VALUE_REAL_AT(s, m.stability_factor), "1", 0.001, 1000, \
	 .help = "a page is fetched again when the time since the last fetch is this many times as long as " \
		 "the page had been unchanged by then"}, \
	{"min_eq_frequency", VALUE_INT_AT(s, m.min_eq_frequency), "1", 1, 255, \
	 .help = "least refreshes, in the time `refresh`, of pages that show which sites are mirrors"}, \
	{"max_err_frequency", VALUE_INT_AT(s, m.max_err_frequency), "1", 1, 255, \
	 .help = "most refreshes, in the time `refresh`, of pages that could not be fetched"}, \
	{"est_raw_performance", VALUE_REAL_AT(s, m.est_raw_performance), "100", 0.001, 1e6, \
	 .help = "least URLs per second to plan for; a higher measured rate counts instead"}, \
	{"reap_optimism", VALUE_REAL_AT(s, m.reap_optimism), "1", 0.01, 100, \
	 .help = "factor by which the plan exceeds what the measured rate allows"}, \
	{"reap_slowdown", VALUE_REAL_AT(s, m.reap_slowdown), "1", 0.01, 100, \
	 .help = "factor by which delays exceed what the refreshes of a server need"}, \
	{"duty_factor", VALUE_REAL_AT(s, m.duty_factor), "1", 0.01, 1, \
	 .help = "share of the time spent fetching"}, \
	{"server_overtake", VALUE_TIME_AT(s, m.server_overtake_us), "0s", 0, 3600e6, \
	 .help = "a server is tight if its delay is less than that of its rule plus this time"}, \
	{"anticipated_refresh_age", VALUE_TIME_AT(s, m.anticipated_us), "0s", 0, 31536000e6, \
	 .help = "age from which pages may be fetched before they are due when there is nothing else " \
		 "to do; 0: never"}, \
	{"site_err_retry", VALUE_INT_AT(s, m.site_err_retry), "8", 0, 254, \
	 .help = "a site is dead after more cycles than this in which every fetch failed"}, \
	{"site_err_expire", VALUE_TIME_AT(s, m.site_err_expire_us), "30d", 1e6, 31536000e6, \
	 .help = "time after which a dead site is tried again"}, \
	{"zombie_errors", VALUE_LIST_AT(s, m.zombie_errors), "all", \
	 .help = "errors remembered for the time `forget`: codes such as 2404, ranges such as " \
		 "2400-2499, names of outcomes such as permanent, or all; other URLs that fail are " \
		 "forgotten at once, and tried again when a page links to them"}, \
	{"redirect_to_zombie_timeout", VALUE_TIME_AT(s, m.redirect_to_zombie_us), "30d", 1e6, 31536000e6, \
	 .help = "time after which a redirect that leads nowhere is no longer fetched with each " \
		 "refresh"}, \
	{"auto_go_root", VALUE_BOOL_AT(s, m.auto_go_root), "yes", \
	 .help = "whether to fetch the front page of each new site, too"}, \
	{"follow", VALUE_WORD_AT(s, m.follow), "site", .words = crawl_follows, \
	 .help = "which links to follow: only those to sites that were added by hand (site), or all"}, \
	{"max_depth", VALUE_INT_AT(s, m.max_depth), "0", 0, 1000, \
	 .help = "most components in the path of a link that is followed, as depth of the filter " \
		 "counts them (/a/b.html has 2); 0: no limit"}, \
	{"refresh", VALUE_TIME_AT(s, m.refresh_us), "30d", 1e6, 31536000e6, \
	 .help = "time after which a page is fetched again"}, \
	{"retry", VALUE_TIME_AT(s, m.retry_us), "10min", 1e6, 31536000e6, \
	 .help = "time after which a page that failed is tried again; doubled with each failure"}, \
	{"retries", VALUE_INT_AT(s, m.retries), "8", 0, 255, \
	 .help = "failures in a row after which a page counts as gone"}, \
	{"forget", VALUE_TIME_AT(s, m.forget_us), "30d", 1e6, 31536000e6, \
	 .help = "how long to remember that a page is gone, forbidden or elsewhere; after that a " \
		 "link to it makes it new"}, \
	{"parsers", VALUE_INT_AT(s, m.parsers), "1", 1, 64, \
	 .help = "number of processes that parse documents"}, \
	{"max_resolvers", VALUE_INT_AT(s, m.max_resolvers), "64", 1, 10000, \
	 .help = "most host names to resolve at the same time"}, \
	{"autoreply_delay", VALUE_TIME_AT(s, m.autoreply_delay_us), "10ms", 0, 3600e6, \
	 .help = "time between two URLs of sites that do not exist; these are answered without " \
		 "asking a server"}, \
	{"conn_err_delay", VALUE_TIME_AT(s, m.conn_err_delay_us), "1min", 0, 86400e6, \
	 .help = "least delay of a server after a failed connection"}, \
	{"keep_old_states", VALUE_INT_AT(s, m.old_states), "3", 1, 1000, \
	 .help = "most closed states to keep, apart from those that a reader has locked: for followers " \
		 "without a lock, and to rebuild a lost index from"}, \
	{"keep_interim_states", VALUE_INT_AT(s, m.interim_states), "3", 0, 1000, \
	 .help = "most corked states to keep; they lie between the closed ones and hold the " \
		 "journals. There is no gap, so with fewer of them fewer closed ones are kept, too"}, \
	{"gone", VALUE_TIME_AT(s, m.gone_us), "180d", 0, 1e15, \
	 .help = "how long to remember which URLs were forgotten, and why; 0: for ever"}, \
	{"sort_memory", VALUE_SIZE_AT(s, m.sort_memory), "64M", 1 << 20, 1e12, \
	 .help = "memory for sorting what was found"}, \
	{"cleanup", VALUE_SIZE_AT(s, m.cleanup), "256M", 1 << 16, INFINITY, \
	 .help = "size above which the bucket file is cleaned, if it has also grown by half since " \
		 "the last cleanup"}, \
	{"bucket_file_size", VALUE_SIZE_AT(s, m.bucket_file_size), "400G", 1 << 20, INFINITY, \
	 .help = "largest size of the bucket file; when it is reached, the file is cleaned and the " \
		 "worst pages are dropped"}, \
	{"periodic_cleanup", VALUE_TIME_AT(s, m.periodic_cleanup_us), "30d", 1e6, 1e15, \
	 .help = "time after which the bucket file is cleaned in any case"}, \
	{"avg_bucket_size", VALUE_SIZE_AT(s, m.avg_bucket_size), "4K", 1, 1e9, \
	 .help = "bytes of a page in the bucket file, until the first cleanup measures them"}, \
	{"avg_url_size", VALUE_SIZE_AT(s, m.avg_url_size), "128", 1, 1e9, \
	 .help = "the same for a URL that is known but not fetched"}, \
	{"memory", VALUE_SIZE_AT(s, m.memory), "1G", 16 << 20, 1e12, \
	 .help = "most memory for a pass over all URLs"}, \
	{"reapers", VALUE_LIST_AT(s, m.reapers), "", \
	 .help = "other machines that fetch for this crawl, each running garner reapd: numeric " \
		 "addresses with ports, such as 192.0.2.7:8188, or unix:PATH; empty: none"}, \
	{"local", VALUE_WORD_AT(s, m.local), "auto", .words = crawl_locals, \
	 .help = "whether this machine fetches, too: only after all reapers have been away for " \
		 "reapers_wait (auto), always, or never"}, \
	{"reapers_wait", VALUE_TIME_AT(s, m.reapers_wait_us), "10s", 0, 86400e6, \
	 .help = "how long to wait for the reapers before this machine fetches itself"}, \
	{"reaper_penalty", VALUE_TIME_AT(s, m.reaper_penalty_us), "10min", 1e6, 86400e6, \
	 .help = "time after which a reaper that lied, or speaks another version, is tried again"}, \
	{"lease", VALUE_TIME_AT(s, m.lease_us), "10s", 1e6, 60e6, \
	 .help = "a reaper that has not heard from this machine for this long stops fetching; the " \
		 "servers of a lost reaper are left alone for the same time"}, \
	TLS_SPECS(s, m.tls), \
	{"no_delay", VALUE_LIST_AT(s, m.no_delay), "", \
	 .help = "hosts that may be fetched from without delay and over several connections at once, " \
		 "such as your own; with a port if it is not the usual one"}, \
	{"url_log", VALUE_PATH_AT(s, m.url_log), \
	 .help = "file with a line for each URL that was judged: time, code, reaper, duration, " \
		 "server; SIGHUP reopens it; empty: none"}
/* clang-format on */
extern const char *const crawl_follows[], *const crawl_locals[];
extern const char *const crawl_auto[];

/* What the types of settings cannot say: that frequencies and lists of codes are such. ERR_USAGE.
 */
int crawl_conf_check(const struct crawl_conf *conf, struct err *err);

/* What a module gets. */
struct crawl {
	const struct crawl_conf *conf;
	const struct filter *filter;
	const struct equiv *equiv; /* NULL: only the rule of www. holds */
	struct schema schema;      /* of conf->refresh_schema */
	int64_t delay_us;          /* the robot's, and how many requests at once */
	unsigned concurrent;
	int64_t cycle_us; /* how long the next reap may take */
	int64_t now_us;
	struct buckets *buckets; /* merge, select, record, cleanup; others: NULL */
	/* Asked between blocks of long work. If true, the module returns 1 without a result, and
	 * the phase is repeated later. NULL: never stopped. */
	bool (*stopped)(void *ctx);
	void *ctx;
};
bool crawl_is_stopped(const struct crawl *c);
/* A sort in the folder of a state, which must outlive it, with the memory that settings allow. */
int crawl_sort_new(struct sort **ret, const struct crawl *c, const struct state *st,
		   struct order order, struct err *err);
/* The rules of cf/filter in the folder of the crawl, with the settings that stand before them. */
int crawl_load_filter(const struct crawl_conf *conf, const char *folder, struct filter **ret,
		      struct err *err);
/* Whether the bucket file is so close to bucket_file_size that it has to be cleaned. */
bool crawl_file_is_full(const struct crawl_conf *conf, uint64_t bytes);
/* The names of the filter's sections, in order; "": they are too long. */
void crawl_sections(const struct filter *filter, char ret[STATE_SECTIONS]);
/* Whether the sections of an index have the numbers that the filter gives them: else its list was
 * changed, and they mean nothing until a cleanup. */
bool crawl_sections_hold(const struct filter *filter, const struct state_course *course);
/* When the next URL of a state is due, seconds since 1970; INT64_MAX: none is. An impossibly late
 * time comes from a wrong clock and counts as now. */
int64_t crawl_due_s(const struct crawl_conf *conf, const struct state_course *course,
		    int64_t now_s);
/* How long the reap of a state may take. */
int64_t crawl_cycle_us(const struct crawl_conf *conf, const struct state_course *course);

/* Why a URL sleeps: its code is CODE_SLEEPS plus one of these. */
enum crawl_limit {
	LIMIT_SITE,
	LIMIT_DEAD,
	LIMIT_FRESH,
	LIMIT_SERVER,
	LIMIT_SECTION,
	LIMIT_PERFORMANCE,
	LIMIT_SPACE,
	LIMIT_ACTIVE,
	CRAWL_LIMITS,
};
extern const char *const crawl_limit_names[CRAWL_LIMITS]; /* "site", "dead-site" ... */
/* A contribution with one of these flags makes its site known: it was given by hand, or such a URL
 * led to it, directly or over one more. */
enum { CRAWL_ADMITS = ITEM_INITIAL | ITEM_EQUIV };

/* A footprint as the attribute O has it: 32 digits. */
struct str crawl_digits(struct footprint fp, struct arena *arena);
/* A number, such as a time, as attributes have it. */
struct str crawl_number(struct arena *arena, int64_t n);
/* The URL of an item, from its bucket or its contribution, in the arena. 1: neither is there. */
int crawl_url_of(const struct crawl *c, struct state *st, const struct index_item *item,
		 struct arena *arena, struct str *ret, struct err *err);

/* Where URLs are asked for by hand (disk/requests.h), below the data directory. */
#define CRAWL_REQUESTS "shepherd/requests"
/* A line of such a request becomes a contribution to an open state. A requests_fn; garner add has
 * refused what is not a URL, and told so. */
int crawl_ask(void *state, struct str line, struct err *err);

/* Contributions, and rewriting an index. */

struct crawl_contribs {
	/* Makes one of two of the same URL. */
	void (*unify)(void *ctx, struct buf *into, struct str from);
	/* NULL, or adds what is wanted of a contribution instead of all; its footprint first. */
	void (*take)(struct str payload, struct buf *out);
	struct err *lost; /* why not all could be read: what lies before damage counts */
	void *ctx;        /* of unify */
};
/* Those of all rounds that no merge has taken, each followed by its place, in the order of
 * footprints. 1: stopped. */
int crawl_sort_contribs(struct state *st, const struct crawl *c, const struct crawl_contribs *which,
			struct sort **ret, struct err *err);
/* The payload of such a record, and where in its file it lies (contrib_place). */
struct str crawl_placed(struct str record, uint64_t *ret_place);

struct crawl_news {
	const struct news_source *source;
	const struct index_still *still; /* what stays as it is without news */
	const uint64_t *changed;         /* NULL; or where it is 0 at the end, the index stays */
};
/* Writes a new index for a state: fn decides about each URL by its news. 1: stopped; the index is
 * unchanged. */
int crawl_rewrite(struct state *st, const struct crawl *c, const struct crawl_news *news,
		  url_index_fn *fn, void *ctx, struct err *err);

/* The modules. Each returns 1 when it was stopped: the state is then good for nothing but to begin
 * the phase again (cork) or to be deleted. */

/* Bands of priorities in plan_band.h, highest first. */
enum plan_band {
	BAND_RESOLVES,
	BAND_REGATHER,
	BAND_OVERAGED,
	BAND_REFRESH,
	BAND_HAND,
	BAND_NEW,
	BAND_FREQUENT,
	BAND_ANTICIPATED,
	PLAN_BANDS,
};
/* Why a URL that may be gathered is not in the plan. */
enum plan_limit {
	PLAN_NOT_DUE,
	PLAN_SITE_RESTS, /* or is dead */
	PLAN_SERVER,     /* the room of its server; of one that is not resolved: one per site */
	PLAN_BUDGET,
	PLAN_LIMITS,
};
extern const char *const plan_limit_names[PLAN_LIMITS]; /* "not-due", "site" ... */

/* Result of plan. */
struct planned {
	uint64_t urls, sites;           /* in the plan */
	uint64_t robots;                /* sites whose robots.txt is asked for; not in urls */
	uint64_t bytes;                 /* that its pages will take, by the mean size of a bucket */
	uint64_t budget;                /* URLs in a plan, but for those to be regathered */
	uint64_t bands[PLAN_BANDS];     /* URLs in the plan */
	uint64_t due[PLAN_BANDS];       /* the same before the limits of servers and the budget */
	uint64_t left_out[PLAN_LIMITS]; /* all zero where no index had to be read */
	uint64_t waiting; /* due, but beyond the budget or what the server can give in a cycle */
	uint64_t types[ITEM_TYPES]; /* all URLs of the index */
	int64_t next_s; /* when the next URL will be due, seconds since 1970; INT64_MAX: none */
};
/* Writes the plan of a state in PHASE_PLAN and updates its params; with `write` false, only counts.
 * Does not read the index if the params say that nothing is due yet. */
int crawl_plan(struct state *st, const struct crawl *c, bool write, struct planned *ret,
	       struct err *err);

/* Applies the journal to the index and the site list. */
int crawl_cork(struct state *st, const struct crawl *c, struct err *err);

/* Contributions were added, or their page was known, or nobody wants it. */
struct merged {
	uint64_t added, known, unwanted;
	uint64_t sites, roots;          /* new sites; their front pages, which are in `added` too */
	uint64_t again;                 /* known ones that are tried again */
	uint64_t forgotten, duplicates; /* errors and duplicates; the latter alone */
	struct err lost; /* why not all contributions could be read; ERR_NONE: all were */
};
/* Joins index and contributions. Writes nothing if nothing changes. */
int crawl_merge(struct state *st, const struct crawl *c, struct merged *ret, struct err *err);

/* Sets `norm` of every site by c->equiv. */
int crawl_equiv(struct state *st, const struct crawl *c, uint64_t *ret_changed, struct err *err);

struct selected {
	uint64_t active, gathered;        /* URLs that are wanted now; gathered ones before */
	uint64_t sleeps[CRAWL_LIMITS];    /* put to sleep by each limit, and were awake before */
	uint64_t forgotten[CRAWL_LIMITS]; /* by each limit */
	uint64_t expired;                 /* zombies and errors that were forgotten */
	uint64_t lost;                    /* gathered pages that sleep or were forgotten */
	uint64_t lost_by[CRAWL_LIMITS];   /* of these: by each limit */
	uint64_t woken;                   /* slept before, and are wanted now */
	uint64_t fresh;                   /* URLs that have no bucket yet, and get one by record */
	uint64_t sites_gone;              /* sites without URLs that were removed */
	uint64_t stale_notes;             /* items with R that record has to drop */
	bool braked;                      /* too many would be lost; nothing was written */
};
/* Decides which URLs are wanted. brake: whether the safety brake is on. */
int crawl_select(struct state *st, const struct crawl *c, bool brake, struct selected *ret,
		 struct err *err);

/* Makes a thin bucket for every new URL, so that the state no longer needs its contributions. 1:
 * stopped; the buckets appended so far belong to no URL. */
int crawl_record(struct state *st, const struct crawl *c, uint64_t *ret_made, struct err *err);

/* What a cleanup did. */
struct cleaned_up {
	uint64_t before, after; /* bytes of the bucket file */
	uint64_t dropped;       /* buckets that no URL needs */
	uint64_t rejected;      /* URLs that went because the filters reject them */
	uint64_t ranked;        /* URLs that went so that the file fits */
	uint64_t resectioned;   /* URLs whose section has another number now */
	uint64_t trimmed;       /* bodies of sleeping URLs that went */
	uint64_t missing;       /* URLs whose bucket is not there, or another's */
	struct buf told;        /* a line for each of these; to be freed */
};
/* Cleans the bucket file of a state in PHASE_CLEANUP and drops URLs that nobody wants
 * (doc/cycle.md); the state's params have what was measured. 1: stopped, and nothing has changed.
 */
int crawl_cleanup(struct state *st, const struct crawl *c, struct cleaned_up *ret, struct err *err);
