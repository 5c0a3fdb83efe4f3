/* The URL feed: from a doc index to spiders, politely (document 003). It asks for URLs while a
 * queue is free, resolves their hosts, and queues each URL by the address of its server. When its
 * turn comes, it sends the URL with a TRANS_ID to a spider, and sends it again if the spider does
 * not say DONE. Everything is in memory: a killed process asks its doc index again.
 *
 * Owned by one loop. */
#pragma once
#include "fetch/hostq.h"
#include "fetch/spider/docindex.h"
#include "net/dns.h"

struct url_feed;

/* All pointers must outlive it, the texts included. */
struct url_feed_options {
	struct loop *loop;
	struct dns *dns;                 /* for the hosts of URLs */
	const struct dns_conf *dns_conf; /* for the names of spiders */
	struct hostq_options queues;
	uint64_t max_per_address; /* URLs of one batch; with more its names are rejected next */
	size_t rejects_max;       /* names in a reject list */
	int64_t status_us;        /* a URL is sent again after this time without news of it */
	bool status_words;
	const char *const *spiders; /* addresses, as outgoing.h takes them */
	size_t nspiders;            /* at least 1 */
	const struct tls *tls;      /* NULL: none */
};

int url_feed_new(struct url_feed **ret, const struct url_feed_options *o, struct err *err);
/* Before its doc index. */
void url_feed_free(struct url_feed **f);

/* For docindex_open(); then the doc index, and it begins. */
const struct docindex_host *url_feed_host(const struct url_feed *f);
void url_feed_start(struct url_feed *f, struct docindex *index);

struct url_feed_counts {
	/* Ever. */
	uint64_t urls, duplicates; /* that came; that we had already */
	uint64_t unsent;           /* reported without having been sent: no address, no URL */
	uint64_t requests;         /* to the doc index */
	uint64_t unlisted;         /* names that its reject lists had no room for */
	uint64_t lines;            /* sent to spiders */
	uint64_t timeouts,
		losses;         /* URLs to be sent again: no word of them; their connection ended */
	uint64_t working, done; /* lines of spiders */
	uint64_t late, unknown, garbage;
	uint64_t hung_up; /* connections that we ended */
	uint64_t moved;   /* queues that went to another spider */
	/* Now. */
	uint64_t waiting, out, queues, leftovers, spiders_up;
};
void url_feed_count(const struct url_feed *f, struct url_feed_counts *ret);
