/* The robot: one asynchronous client for http, https and ftp, over libcurl; thousands of transfers
 * in one loop. What it promises its callers:
 *
 * - Every name goes through DNS and the address policy (net/dns.h), and libcurl is told the number:
 *   the address is looked at again when the socket is made and when the answer comes. Behind a
 *   proxy (a setting) the proxy is trusted: it resolves the names, so only addresses that are
 *   written in URLs are held against the policy, and politeness counts by site name's hash. A job
 *   may bring the address along; then no name is asked for, and the rest is the same.
 * - robots.txt of each site is asked first, once (robots_cache.h).
 * - Every request of every hop takes a lease (polite.h) before it connects.
 * - Redirects are followed here; each hop is checked as the first one: scheme, address, robots.txt,
 *   number, politeness.
 * - Everything that arrives is bounded: heads, bodies on the wire and decoded, time.
 *
 * hostq.h decides the order of URLs, polite.h guards the servers. The robot has no queues: a job
 * that may not start now ends with not_now_us, for hostq_put_back(), or with ROBOT_WAIT waits here.
 * Further hops of a redirect always wait here. No wait is longer than the job's patience.
 *
 * One loop and its thread. Done functions are called from the loop, never from inside a function of
 * this header, except robot_free(). */
#pragma once
#include "base/beneath.h"
#include "fetch/outcome.h"
#include "fetch/polite.h"
#include "fetch/robot_headers.h"
#include "net/dns.h"
#include "role/config.h"

struct robot;
struct robots_cache;

/* Why it ended as it did; the outcome says what follows from it. */
#define ROBOT_CAUSES(X)                                                               \
	X(ANSWER, "answer")   /* what the server said */                              \
	X(URL, "url")         /* not one that is fetched */                           \
	X(NO_NAME, "no-name") /* no such name, or no address */                       \
	X(DNS, "dns")         /* nobody knows the name now */                         \
	X(ADDRESS, "address") /* refused by the policy */                             \
	X(ROBOTS, "robots")   /* forbidden by robots.txt */                           \
	X(ROBOTS_UNREACHABLE, "robots-unreachable")                                   \
	X(CONNECT, "connect") /* no connection */                                     \
	X(TLS, "tls")         /* no TLS, or not theirs */                             \
	X(PROXY, "proxy")                                                             \
	X(CUT, "cut")               /* the answer broke off, or none came */          \
	X(PROTOCOL, "protocol")     /* not an answer */                               \
	X(CODING, "coding")         /* a body that cannot be decoded */               \
	X(CODING_CUT, "coding-cut") /* one that ends before its coding does */        \
	X(IDLE, "idle")             /* too long without a byte */                     \
	X(TIME, "time")             /* too long in all */                             \
	X(HEAD_LINE, "head-line")   /* too large */                                   \
	X(HEAD, "head")                                                               \
	X(BODY, "body")                                                               \
	X(MIME, "mime")           /* not the type that was asked for */               \
	X(WITHIN, "within")       /* a redirect leaves what was asked for */          \
	X(WIRE, "wire")           /* the bytes that came, before they were decoded */ \
	X(REDIRECTS, "redirects") /* too many */                                      \
	X(NO_TARGET, "no-target") /* a redirect to nowhere */                         \
	X(LOGIN, "login")         /* ftp */                                           \
	X(SINK, "sink")           /* ours could not take it */                        \
	X(NOT_NOW, "not-now")     /* politeness; see not_now_us */                    \
	X(LEASE, "lease")         /* of politeness, or robot_until(): it is over */   \
	X(TABLE, "table")         /* of politeness: somebody has cut it */            \
	X(STOPPED, "stopped")     /* robot_free() */

enum robot_cause {
#define X(symbol, name) ROBOT_CAUSE_##symbol,
	ROBOT_CAUSES(X)
#undef X
		ROBOT_NCAUSES
};
const char *robot_cause_name(enum robot_cause c);

struct robot_class {
	enum outcome outcome;
	enum robot_cause cause;
};
/* Of a name that gave no address. */
struct robot_class robot_class_dns(enum dns_outcome outcome);

struct robot_limits {
	uint64_t body;             /* decoded; and on the wire, heads and framing apart */
	uint64_t head_line, head;  /* of one answer, interim ones and trailers included */
	int64_t idle_us, total_us; /* without a byte; of one request */
	int64_t redirects;
};

/* Settings. */
struct robot_conf {
	const char *agent, *contact;
	struct robot_limits limits;
	int64_t delay_us, concurrent, crawl_delay_max_us;
	int64_t at_once; /* transfers; the rest waits */
	int64_t keep_us; /* how long an idle connection is kept for ROBOT_KEEP */
	const char *proxy, *ca_file;
	bool verify;
	struct value_list networks;
};

/* For the table of a section; `m` is the struct robot_conf in it. */
/* clang-format off */
#define ROBOT_SPECS(s, m) \
	{"agent", VALUE_TEXT_AT(s, m.agent), "garner", \
	 .help = "product token of the robot: its name in robots.txt"}, \
	{"contact", VALUE_TEXT_AT(s, m.contact), \
	 .help = "contact of its owner, such as https://example.org/robot.html; sent with " \
		 "every request as part of the user agent"}, \
	{"delay", VALUE_TIME_AT(s, m.delay_us), "10s", 0, 86400e6, \
	 .help = "time between the starts of two requests to one server"}, \
	{"concurrent", VALUE_INT_AT(s, m.concurrent), "1", 1, 8, \
	 .help = "connections to one server at a time"}, \
	{"crawl_delay_max", VALUE_TIME_AT(s, m.crawl_delay_max_us), "10min", 0, 86400e6, \
	 .help = "longest Crawl-delay of robots.txt that is obeyed"}, \
	{"at_once", VALUE_INT_AT(s, m.at_once), "1000", 1, 15000, \
	 .help = "requests at a time, to all servers together"}, \
	{"keep", VALUE_TIME_AT(s, m.keep_us), "15s", 0, 600e6, \
	 .help = "time that an idle connection is kept for the next URL of its site"}, \
	{"body_max", VALUE_SIZE_AT(s, m.limits.body), "10M", 1, INFINITY, \
	 .help = "largest document, packed or unpacked; larger ones are not fetched"}, \
	{"head_line_max", VALUE_SIZE_AT(s, m.limits.head_line), "64K", 1 << 10, 90 << 10, \
	 .help = "longest line in the head of an answer; a longer one ends it"}, \
	{"head_max", VALUE_SIZE_AT(s, m.limits.head), "256K", 1 << 10, 280 << 10, \
	 .help = "largest head of an answer; a larger one ends it"}, \
	{"idle_max", VALUE_TIME_AT(s, m.limits.idle_us), "10s", 10e3, 3600e6, \
	 .help = "time without a byte after which a request is given up"}, \
	{"time_max", VALUE_TIME_AT(s, m.limits.total_us), "1min", 10e3, 86400e6, \
	 .help = "time that one request may take"}, \
	{"redirects_max", VALUE_INT_AT(s, m.limits.redirects), "10", 0, 100, \
	 .help = "most redirects followed in a row"}, \
	{"proxy", VALUE_TEXT_AT(s, m.proxy), \
	 .help = "proxy for all requests, such as http://127.0.0.1:3128; it is trusted: it " \
		 "resolves names, and `networks` is not applied to them; empty: none"}, \
	{"ca_file", VALUE_PATH_AT(s, m.ca_file), \
	 .help = "CA certificates (PEM) that servers are verified against; empty: the system's"}, \
	{"verify", VALUE_BOOL_AT(s, m.verify), "yes", \
	 .help = "whether the certificates of https servers are verified"}, \
	POLICY_SPECS(s, m.networks)
/* clang-format on */

/* The section [robot]: to the world all roles are the same robot. */
struct robot_section_conf {
	struct robot_conf robot;
	struct dns_conf dns;
};
extern const struct config_section robot_section;

/* Receives the body as it arrives, decoded; only bodies of 2xx answers and of ftp. The owner keeps
 * the struct until the job is done. A negative result ends the transfer (ROBOT_CAUSE_SINK). */
struct robot_sink;
struct robot_sink_ops {
	/* Called before the first byte of a body, if there is one. With ftp the head has length
	 * and last_modified if the server says them. */
	int (*begin)(struct robot_sink *s, const struct robot_head *head, struct err *err);
	int (*write)(struct robot_sink *s, struct str bytes, struct err *err);
	/* Called once after begin(). Not complete: discard the body. */
	int (*end)(struct robot_sink *s, bool is_complete, struct err *err);
};
struct robot_sink {
	const struct robot_sink_ops *ops;
};

/* Writes into a buffer, which is emptied first. With `cut`, bytes beyond its limit are dropped;
 * otherwise they are an error. */
struct robot_memory_sink {
	struct robot_sink sink;
	struct buf *buf;
	bool cut;
};
struct robot_memory_sink robot_memory_sink(struct buf *buf, bool cut);

/* Writes a file below a folder. It gets its name when it is complete. */
struct robot_file_sink {
	struct robot_sink sink;
	const struct beneath *folder;
	const char *name;
	struct beneath_file file;
	uint64_t at;
};
struct robot_file_sink robot_file_sink(const struct beneath *folder, const char *name);
/* Two of its operations, for a sink that ends differently. */
int robot_file_begin(struct robot_sink *s, const struct robot_head *head, struct err *err);
int robot_file_write(struct robot_sink *s, struct str bytes, struct err *err);

enum {
	ROBOT_WAIT = 1,      /* wait for politeness instead of ending with "not now" */
	ROBOT_NO_FOLLOW = 2, /* a redirect is the result */
	ROBOT_NO_ROBOTS = 4, /* by contract: a verified provider's own pages, and no other site's */
	ROBOT_KEEP = 8,      /* the next URL of this site is near: keep the connection */
	ROBOT_LIST_ALL = 16, /* ftp folders: LIST -lR */
	ROBOT_NO_SHA256 = 32, /* the MD5 is enough */
	/* For robots.txt: bytes beyond the limit are ignored, which is not a failure (RFC 9309,
	 * 2.5). */
	ROBOT_CUT = 64,
};

struct robot_job {
	struct str url;
	/* Of our copy, verbatim; empty: none. One that cannot be sent is ignored. */
	struct str etag, last_modified;
	const struct robot_limits *limits; /* NULL: the settings' */
	/* For this site alone; NULL: the settings'. A longer delay of robots.txt holds too, unless
	 * the rule is exempt from it. */
	const struct polite_rule *rule;
	/* For this host alone, at the port of the URL: no other one is connected to, for robots.txt
	 * neither, and DNS is not asked for its name, also where a redirect leads back to it. NULL:
	 * as DNS says. Not used with a proxy. */
	const struct addr *address;
	struct robot_sink *sink; /* NULL: the body is only counted and hashed */
	/* A document of another type is not taken (OUTCOME_LIMIT, ROBOT_CAUSE_MIME); parameters
	 * such as a charset do not count, on either side. Empty: any. */
	struct str mime;
	/* The beginning of a URL: a redirect to one that does not begin so, or has a way out in its
	 * path (url_path_leaves()), is not followed (OUTCOME_LIMIT, ROBOT_CAUSE_WITHIN). Empty:
	 * any. */
	struct str within;
	unsigned flags;
	/* A longer wait for politeness is answered "not now", unless it is the plain delay; 0: it
	 * waits for as long as it takes. */
	int64_t patience_us;
	struct robot_handle *handle; /* for robot_cancel(); NULL: nobody will want that */
};

/* A running job. Part of its owner, who keeps it until the job is done. */
struct robot_handle {
	struct job *job; /* the robot's; NULL: it is done, or never began */
};

struct robot_times {
	int64_t start_us; /* wall clock; of the last hop's request, 0: none */
	int64_t resolve_us, connect_us,
		first_us; /* of the last hop, from its start; 0: not reached */
	int64_t total_us; /* of the whole job, waiting included */
};

/* Slices and pointers are valid during the call. */
struct robot_result {
	enum outcome outcome;
	enum robot_cause cause;
	const char *why; /* a few words more, for people; "" */
	int sys_errno;   /* with ROBOT_CAUSE_SINK: what the system said to it; 0: nothing */
	const struct robot_head *head; /* never NULL; status 0: there was no answer. Of ftp: status
					  is the last reply, last_modified what MDTM says */
	int64_t last_modified_us;      /* -1: not said, or no date */
	struct str location;           /* of a redirect that was not followed, absolute */
	struct str url;   /* the last one that was asked, without fragment, name and password */
	struct addr addr; /* the server's; family 0: none */
	unsigned redirects;
	uint64_t size, wire; /* bytes of the body, decoded; on the wire, as far as libcurl counts */
	/* Of the decoded body, of whatever answer; with ROBOT_NO_SHA256 that is of nothing. */
	unsigned char md5[16], sha256[32];
	struct robot_times times;
	int64_t sent_us;    /* clock_mono_us() when the first byte of the last hop's request went
			       out; 0: none did */
	int64_t not_now_us; /* with ROBOT_CAUSE_NOT_NOW: ask again after this time */
	int64_t delay_us;   /* the delay that holds for the server; -1: not known yet */
	bool reused;        /* over a kept connection */
};

typedef void robot_done_fn(void *ctx, const struct robot_result *result);

/* All must outlive it; the conf is copied, its texts are not. */
struct robot_parts {
	struct loop *loop;
	struct dns *dns;
	const struct policy *policy;
	struct polite *polite;
	struct robots_cache *robots;
};

int robot_new(struct robot **ret, const struct robot_parts *parts, const struct robot_conf *conf,
	      struct err *err);
/* Ends all that is under way: every done function is called (ROBOT_CAUSE_STOPPED). Not from inside
 * one of them. */
void robot_free(struct robot **r);

/* Fetches. Everything in the job is copied but the sink. Negative: nothing will be called, for the
 * URL (or `within`) is none that could be fetched. */
int robot_fetch(struct robot *r, const struct robot_job *job, robot_done_fn *done, void *ctx,
		struct err *err);

/* Aborts a job and its connection. Its sink is ended, its done function is not called. Safe if the
 * job is done. Not from inside a sink. */
void robot_cancel(struct robot_handle *handle);

/* After this time (clock_mono_us()) no connection is made and no request is sent: such jobs end
 * cancelled, ROBOT_CAUSE_LEASE. The clock is read at the last moment, so this is also true of a
 * process that was stopped for a while. Requests that were sent go on. INT64_MAX, the default: no
 * limit. */
void robot_until(struct robot *r, int64_t mono_us);

/* Whether a Retry-After means something there (RFC 9110, 10.2.3; RFC 6585, 4): some servers send it
 * with everything, and a 404 is not a wish to be left alone. */
bool robot_obeys_retry(int status);

struct robot_stats {
	uint64_t jobs, requests, connections, robots_files; /* ever */
	uint64_t under_way;                                 /* requests now */
	uint64_t bytes;
	uint64_t outcome[OUTCOME_COUNT];
};
const struct robot_stats *robot_stats(const struct robot *r);

/* Which address stands for a host: the same one whatever the order in which they came
 * (qkey_choose). n is at least 1. */
const struct addr *robot_choose(const struct addr *a, size_t n, struct str host);
