/* Inside of the URL feed: queues, questions and outcomes (url_feed.c), the URLs of one answer and
 * the addresses of their hosts (url_batch.c), spiders and what is out there (url_spiders.c). */
#pragma once
#include "base/arena.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "fetch/spider/docindex.h"
#include "fetch/spider/url_feed.h"
#include "net/outgoing.h"

/* A host name on an address, for reject lists. */
struct place_name {
	struct place_name *next;
	uint64_t id; /* in url_feed.names */
	size_t n;
	char text[];
};

/* A server address with URLs: its queue in hostq.h, and who fetches it. Stays until the next
 * question to the doc index. */
struct place {
	struct link link; /* of the spider, while there are URLs */
	qkey key;
	uint64_t urls;              /* that wait or are out */
	uint64_t batch, batch_urls; /* the last batch with URLs of it, and how many these were */
	struct feed_spider *spider; /* NULL: it has no URLs */
	struct place_name *names;
};

TABLE(places, qkey, struct place *, hash_u64, table_same_u64)
TABLE(place_names, uint64_t, struct place_name *, hash_u64, table_same_u64)
TABLE(homes, qkey, struct feed_spider *, hash_u64, table_same_u64)
TABLE(held_urls, uint64_t, bool, hash_u64, table_same_u64)

/* A slot of hostq.h, and what it has out. */
struct feed_sent {
	struct link by_time, of_spider; /* in no list: it is not out */
	uint32_t slot, turn;
	int64_t until_us; /* then it is sent again */
	struct feed_spider *spider;
};

struct feed_spider {
	struct url_feed *feed;
	const char *address;
	struct outgoing *out;
	struct loop_later flush;
	struct loop_timer away; /* how long it may be away before its queues go to others */
	struct buf lines;       /* to be sent */
	struct link places, sent;
	unsigned wrong; /* lines in a row that said nothing */
	int64_t heard_us;
	bool up, told_away;
	bool gone;       /* given up: its queues go to others */
	bool mute;       /* was hung up on because it said nothing, and has said nothing since */
	bool ending;     /* we hang up */
	bool told_words; /* of this connection: it says outcomes, which are not taken */
};

/* A host of the batch: the first of document 003's two maps. The second is in struct place. */
struct batch_name;
TABLE(batch_names, struct str, struct batch_name *, hash64, str_eq)

struct url_batch {
	uint64_t number;
	struct arena arena;
	struct batch_names names;
	struct link looking; /* names whose address is asked for */
	struct link stuck;   /* names with URLs that the queues had no room for */
	struct loop_timer again;
	bool told; /* that there is no room */
};

struct url_feed {
	struct url_feed_options o;
	struct docindex_host host;
	struct docindex *index;
	struct conn_pool *pool;
	struct hostq *queues;
	struct places places;
	struct place_names names;
	struct held_urls held; /* hashes of the DOC_IDs that we have */
	struct url_batch batch;
	struct feed_spider *spider;
	struct homes homes;      /* who had an address, also when it has no URLs */
	struct feed_sent **sent; /* by slot; NULL: never used */
	size_t nsent, sent_room;
	struct link by_time;
	struct loop_later pump;
	struct loop_timer take, overdue, ask;
	bool asked;
	bool told_rejects; /* that a reject list was cut */
	int64_t ask_us;    /* not before */
	struct url_feed_counts counts;
};

/* url_feed.c */
void feed_later(struct url_feed *f); /* looks whether something may go out, or is to be asked */
/* Takes in a URL whose address is known; the slices are copied. Negative: there is no room now. */
int feed_push(struct url_feed *f, struct str doc_id, struct str host, struct str url,
	      const struct addr *addr, struct err *err);
/* It will not be sent. */
void feed_unsent(struct url_feed *f, struct str doc_id, struct str url, enum outcome outcome);
void feed_done(struct url_feed *f, const struct hostq_job *job, unsigned outcome);

/* url_batch.c */
void batch_init(struct url_feed *f);
void batch_clear(struct url_feed *f); /* also of one whose names are being looked up */
void batch_free(struct url_feed *f);
void batch_add(struct url_feed *f, struct str doc_id, struct str url);
bool batch_is_over(const struct url_feed *f); /* all its URLs are in queues, or reported */

/* url_spiders.c */
int spiders_open(struct url_feed *f, struct err *err);
void spiders_close(struct url_feed *f);
/* Chooses the spider of a place that had no URLs: the one it had before if that is alive, else by
 * key among those alive, or among all. */
void spider_choose(struct url_feed *f, struct place *p);
void spider_leave(struct place *p); /* once it has no URLs left */
void spider_send(struct url_feed *f, struct place *p, const struct hostq_job *job, int64_t now_us);
