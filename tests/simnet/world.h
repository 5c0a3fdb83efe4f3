/* The world of simnet: hosts, addresses, pages. Everything here is a pure function of the
 * configuration (with its seed), the virtual time and what `set` changed; nothing is kept per page.
 *
 * Hosts are numbered; host N is hN.ZONE. Hosts and the pages of a host form trees (FANOUT kids
 * each), so that everything can be reached from the first. What has kids is inner: an inner host is
 * plain, an inner page is HTML, open to robots and lives for ever. Only leaves are odd. */
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/value.h"

#define WORLD_FANOUT 8
#define WORLD_HOSTS_MAX 1000000
#define WORLD_PAGES_MAX 1000000

struct world_conf {
	int64_t seed, hosts, addresses, pages, epoch_s, port;
	const char *zone, *network, *agent;
	struct value_list profiles, robots; /* name=weight; empty: the mix of the tables below */
	int64_t odd_percent, change_percent, appear_percent, vanish_percent, gzip_percent;
	uint64_t page_size; /* bytes, the mean */
	bool same_size;
	int64_t slow_us, retry_after_s, crawl_delay_s, ttl_s;
};
extern const struct value_spec world_specs[];
extern const size_t world_nspecs;

/* How a host behaves: name, weight in the mix, whether its pages can be had, help. */
#define PROFILES(X)                                                                         \
	X(PLAIN, "plain", 60, true, "answers at once")                                      \
	X(SLOW, "slow", 4, true, "answers late and in pieces")                              \
	X(HANG, "hang", 3, false, "takes the request and says nothing")                     \
	X(TARPIT, "tarpit", 0, false, "a byte of its answer at a time, and no end of it")   \
	X(REFUSE, "refuse", 3, false, "refuses connections")                                \
	X(RESET, "reset", 3, false, "resets the connection at the request")                 \
	X(CUT, "cut", 2, false, "resets it in the middle of the body")                      \
	X(LIMITED, "limited", 4, true, "every fifth answer is 429 with Retry-After")        \
	X(BUSY, "busy", 4, true, "503 in one quarter of each virtual day")                  \
	X(BROKEN, "broken", 3, false, "500 for everything but robots.txt")                  \
	X(CALENDAR, "calendar", 4, true, "has a calendar without an end below /cal/")       \
	X(MIRROR, "mirror", 4, true, "has the pages of another host")                       \
	X(SOFT404, "soft404", 2, true, "200 for what does not exist")                       \
	X(MOVED, "moved", 2, false, "redirects every page to the same one of another host") \
	X(NXDOMAIN, "nxdomain", 1, false, "has no address")                                 \
	X(SERVFAIL, "servfail", 1, false, "its name server fails")                          \
	X(SLOWDNS, "slowdns", 1, true, "its name server is slow")                           \
	X(MUTE, "mute", 1, false, "its name server says nothing")

enum profile {
#define X(symbol, name, weight, good, help) PROFILE_##symbol,
	PROFILES(X)
#undef X
		NPROFILES
};

/* What robots.txt is: name, weight, what it forbids, help. */
enum robots_rule { RULE_NOTHING, RULE_PRIVATE, RULE_PRIVATE_BUT_TEXT, RULE_ALL };
#define ROBOTS_KINDS(X)                                                                      \
	X(SOME, "some", 40, RULE_PRIVATE, "forbids /private/")                               \
	X(OPEN, "open", 12, RULE_NOTHING, "allows everything")                               \
	X(EMPTY, "empty", 4, RULE_NOTHING, "is empty")                                       \
	X(ABSENT, "absent", 12, RULE_NOTHING, "404")                                         \
	X(FORBIDDEN, "forbidden", 4, RULE_NOTHING, "403")                                    \
	X(WILD, "wild", 6, RULE_PRIVATE_BUT_TEXT, "forbids /private/ but not its *.txt")     \
	X(NAMED, "named", 4, RULE_PRIVATE, "forbids the agent /private/, others everything") \
	X(DELAY, "delay", 3, RULE_PRIVATE, "forbids /private/ and has a Crawl-delay")        \
	X(MOVED, "moved", 3, RULE_PRIVATE, "redirects to one that forbids /private/")        \
	X(HUGE, "huge", 2, RULE_PRIVATE, "700 KB; forbids /private/ in the first lines")     \
	X(GARBAGE, "garbage", 3, RULE_NOTHING, "bytes without meaning")                      \
	X(DENY, "deny", 3, RULE_ALL, "forbids everything")                                   \
	X(FAILED, "failed", 2, RULE_ALL, "500: nothing may be fetched")                      \
	X(BUSY, "busy", 1, RULE_ALL, "503: nothing may be fetched")                          \
	X(HANG, "hang", 1, RULE_ALL, "no answer: nothing may be fetched")

enum robots_kind {
#define X(symbol, name, weight, rule, help) ROBOTS_##symbol,
	ROBOTS_KINDS(X)
#undef X
		NROBOTS
};

struct behaviour {
	const char *name, *help;
	unsigned weight;
	bool good;             /* of a profile */
	enum robots_rule rule; /* of a robots.txt */
};
extern const struct behaviour world_profiles[NPROFILES], world_robots[NROBOTS];
/* Index of the name in the table, or -1. */
int behaviour_find(const struct behaviour *table, size_t n, struct str name);

struct vocabulary;

struct world {
	struct world_conf conf;
	uint32_t network; /* host order; address i is network + 1 + i */
	uint32_t inner_hosts, inner_pages;
	uint8_t *profile, *robots; /* per host */
	struct vocabulary *words;
};

/* The configuration's texts must outlive it. */
int world_init(struct world *w, const struct world_conf *conf, struct err *err);
void world_free(struct world *w);

/* The host of a name, with or without the zone; -1: there is none. *ret_alias: it is one of the
 * host's other names ("www." before it). */
int64_t world_host(const struct world *w, struct str name, bool *ret_alias);
void world_host_name(const struct world *w, uint32_t host, struct buf *out);
/* "http://h3.sim.test:8080". */
void world_site(const struct world *w, uint32_t host, struct buf *out);
uint32_t world_address(const struct world *w, uint32_t host); /* its index */
/* Whose pages it has: its own number, but for mirrors. */
uint32_t world_content(const struct world *w, uint32_t host);
/* Where a host of the profile "moved" went. */
uint32_t world_moved_to(const struct world *w, uint32_t host);
bool world_is_busy(const struct world *w, uint32_t host, int64_t now_s);

#define PAGE_KINDS(X)                          \
	X(HTML, "html", "/p/", ".html", 0)     \
	X(TEXT, "text", "/t/", ".txt", 30)     \
	X(BINARY, "binary", "/b/", ".bin", 15) \
	X(REDIRECT, "redirect", "/r/", "", 20) \
	X(LOOP, "loop", "/l/", "", 5)          \
	X(AWAY, "away", "/a/", "", 10)         \
	X(BROKEN, "broken", "/e/", "", 10)     \
	X(DOWN, "down", "/d/", ".html", 10)

enum page_kind {
#define X(symbol, name, folder, ending, weight) PAGE_##symbol,
	PAGE_KINDS(X)
#undef X
		NPAGES
};
extern const char *const page_kind_names[NPAGES];

enum page_charset { CHARSET_UTF8, CHARSET_UTF8_META, CHARSET_LATIN1, CHARSET_LATIN1_META };
enum page_framing { FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };

struct page {
	uint32_t host, number; /* of the content, not of a mirror */
	enum page_kind kind;
	enum page_charset charset;
	enum page_framing framing;
	bool hidden, noindex, gzip, etag, dated, weak;
	uint64_t key;     /* dice of its own */
	uint64_t version; /* goes up with every change */
	int64_t born_s, dies_s, changed_s;
	int gone_status; /* once it is dead */
	int status;      /* now */
	unsigned hops;   /* of a redirect, 1 to 4 */
	uint32_t target; /* page (of AWAY: host) that it leads to */
	size_t size;     /* bytes, nearly */
};

void world_page(const struct world *w, uint32_t host, uint32_t number, int64_t now_s,
		struct page *ret);
bool world_is_inner(const struct world *w, uint32_t number);
int64_t world_born_s(const struct world *w, uint32_t host, uint32_t number);
void page_path(const struct page *p, struct buf *out);
/* 0: the page of this path, and of a redirect which hop of it. 1: no page has it. */
int world_find(const struct world *w, uint32_t host, struct str path, int64_t now_s,
	       struct page *ret, unsigned *ret_hop);
/* Whether robots.txt of this host lets the path be fetched. */
bool world_allows(const struct world *w, uint32_t host, struct str path);

/* Words by which a page, and this version of it, is found: letters only, and no other page has
 * them. The third has a letter beyond ASCII (in UTF-8). */
enum { WORD_MAX = 40 };
void page_word(const struct page *p, char ret[WORD_MAX]);
void page_version_word(const struct page *p, char ret[WORD_MAX]);
void page_accent_word(const struct page *p, char ret[WORD_MAX]);
void page_title(const struct page *p, struct buf *out);

/* The body, of status 200, without any coding. */
void page_body(const struct world *w, const struct page *p, struct buf *out);
void world_sitemap(const struct world *w, uint32_t host, int64_t now_s, struct buf *out);
void world_calendar(const struct world *w, uint32_t host, struct str path, struct buf *out);
/* robots.txt, of a kind that has a text. */
void world_robots_text(const struct world *w, uint32_t host, struct buf *out);

struct vocabulary *vocabulary_new(uint64_t seed);

static inline uint64_t dice_of(uint64_t a, uint64_t b)
{
	return hash_u64(a * UINT64_C(0x9e3779b97f4a7c15) + b);
}
