/* Resolves names to addresses asynchronously, over c-ares: asks for both families, caches answers
 * for their time to live, and returns only addresses that the policy allows. Lookups of the same
 * name share its queries. Belongs to one loop and its thread.
 *
 * Only name servers are asked: /etc/hosts, the search list and the machine's other sources of
 * names are for its users, and a document found on the web must not reach what they name.
 * "localhost" is loopback without a query (RFC 6761), "invalid" and "onion" are not names (RFC
 * 7686). */
#pragma once
#include "base/list.h"
#include "base/value.h"
#include "net/addr.h"

#include <math.h>

struct dns;
struct loop;

/* Most addresses of one family that are kept. */
enum { DNS_ADDRS = 16 };

enum dns_outcome {
	DNS_FOUND,
	DNS_BAD_NAME,   /* no name that could exist */
	DNS_NO_NAME,    /* no such name */
	DNS_NO_ADDRESS, /* the name exists and has no address of the kind wanted */
	DNS_FAILED,     /* not known: no answer, or the server failed; worth another try later */
	DNS_BROKEN,     /* not known: what the server says cannot be used */
	DNS_REFUSED,    /* all of its addresses are refused by the policy */
};
const char *dns_outcome_word(enum dns_outcome outcome); /* "no such name" */

struct dns_result {
	enum dns_outcome outcome;
	const char *why; /* REFUSED: the policy's reason; FAILED, BROKEN: what is wrong; otherwise
			    NULL. Static */
	const struct addr *addr; /* n of them; those of one family stand together */
	size_t n;
	int64_t until_us; /* valid until then, by the clock of the loop */
	/* FOUND: the name at the end of the chain of aliases (CNAME), in small letters; empty: what
	 * was asked for is not an alias, or of something that is not a host name. */
	struct str canonical;
};

enum dns_order { DNS_V4_FIRST, DNS_V6_FIRST, DNS_V4_ONLY, DNS_V6_ONLY };

struct dns_conf {
	struct value_list servers; /* empty: those of /etc/resolv.conf, as it is at the start */
	int order;                 /* enum dns_order */
	int64_t timeout_us, tries; /* of each question; a try waits longer than the one before */
	int64_t at_once;           /* names looked up at a time; the others wait */
	int64_t entries;
	uint64_t bytes;
	int64_t ttl_min_us, ttl_max_us, failure_ttl_us;
};

/* The settings, for the table of a section; `m` is the struct dns_conf in it. */
/* clang-format off */
#define DNS_SPECS(s, m) \
	{"dns_servers", VALUE_LIST_AT(s, m.servers), \
	 .help = "Name servers, such as 192.0.2.53, 127.0.0.1:5353 or [2001:db8::53]:53; empty: " \
		 "those of /etc/resolv.conf"}, \
	{"dns_order", VALUE_WORD_AT(s, m.order), "ipv4-first", .words = dns_order_words, \
	 .help = "Kinds of addresses to look up, in the order to try them"}, \
	{"dns_timeout", VALUE_TIME_AT(s, m.timeout_us), "3s", 10e3, 60e6, \
	 .help = "Time to wait for the answer to the first try of a query"}, \
	{"dns_tries", VALUE_INT_AT(s, m.tries), "3", 1, 10, \
	 .help = "Times that a query is sent to each server"}, \
	{"dns_at_once", VALUE_INT_AT(s, m.at_once), "256", 1, 10e3, \
	 .help = "Names looked up at the same time; more wait"}, \
	{"dns_cache_entries", VALUE_INT_AT(s, m.entries), "100000", 0, 100e6, \
	 .help = "Most names in the cache; 0: no cache"}, \
	{"dns_cache_size", VALUE_SIZE_AT(s, m.bytes), "64M", 64 << 10, INFINITY, \
	 .help = "Memory for the cache"}, \
	{"dns_ttl_min", VALUE_TIME_AT(s, m.ttl_min_us), "1min", 0, 86400e6, \
	 .help = "Least time that an answer stays in the cache, whatever it says"}, \
	{"dns_ttl_max", VALUE_TIME_AT(s, m.ttl_max_us), "1d", 1e6, 30 * 86400e6, \
	 .help = "Most time that an answer stays in the cache, whatever it says"}, \
	{"dns_failure_ttl", VALUE_TIME_AT(s, m.failure_ttl_us), "30s", 0, 3600e6, \
	 .help = "Time that a failed lookup stays in the cache"}
/* clang-format on */
extern const char *const dns_order_words[];

/* The loop and the policy must outlive it; conf is copied. ERR_USAGE: a setting is wrong. */
int dns_new(struct dns **ret, struct loop *loop, const struct dns_conf *conf,
	    const struct policy *policy, struct err *err);
/* Drops pending lookups without calling done(). Do not call it from a done function. */
void dns_free(struct dns **d);

enum dns_family { DNS_ANY, DNS_V4, DNS_V6 };

/* A pending lookup, part of its owner's struct: set done and ctx, zero the rest. Must not move
 * until done() has been called or dns_cancel(). */
struct dns_wait {
	void (*done)(void *ctx, const struct dns_result *result);
	void *ctx;
	struct link link; /* from here on dns's */
	enum dns_family family;
};

/* Looks up a host: a name, or an address in text, also in brackets. 0: *ret has the answer, valid
 * until the next call or the return to the loop. 1: a query is pending; the loop will call
 * wait->done(), never this function, with a result that is valid during that call. */
int dns_lookup(struct dns *d, struct str host, enum dns_family family, struct dns_wait *wait,
	       struct dns_result *ret);
void dns_cancel(struct dns_wait *wait); /* also safe if it is not pending */
