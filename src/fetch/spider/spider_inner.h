/* Inside of the role spider: settings and counters (spider.c), the URLs of URL servers
 * (spider_server.c), and where their results go (spider_store.c): files in a directory. A URL
 * server hears DONE when its result is kept there, not before.
 *
 * One loop and its thread. */
#pragma once
#include "base/list.h"
#include "fetch/kit.h"
#include "net/role_loop.h"
#include "net/server.h"

struct spider_conf {
	const char *listen, *results;
	int64_t status_us, urls_max;
	bool status_words;
	struct server_limits limits;
	struct tls_conf tls;
};

struct spider_counts {
	uint64_t connections; /* now */
	uint64_t urls;        /* taken, ever */
	uint64_t out;         /* not done, now */
	uint64_t done, working;
	uint64_t unfetchable; /* lines with a TRANS_ID that named nothing to fetch */
	uint64_t garbage;     /* lines without one, too long, or of HTTP */
	uint64_t hung_up;     /* connections that we ended */
	uint64_t cancelled;   /* URLs, because their connection ended */
	uint64_t documents, bytes;
	uint64_t outcome[OUTCOME_COUNT];
};

struct spider {
	struct role_loop role;
	const struct spider_conf *conf;
	struct kit kit;
	struct spider_store *store;
	struct server *server; /* NULL: spider_open() was not called */
	struct spider_counts counts;
	uint64_t held; /* bytes of URLs that are not done */
	struct link urls, waiting, silent;
	struct link paused; /* sessions that nothing is read from */
	struct loop_timer status;
	struct loop_later begin;
	char room[URL_TEXT_MAX * 3];
};

/* Needs role and kit. Call it before spider_store_open(). */
void spider_open(struct spider *sp);
/* Free the store first, the robot afterwards. */
void spider_close(struct spider *sp);

/* A URL on its way to the store, inside its owner. */
struct spider_item {
	struct str doc_id, url; /* the owner's; doc_id may be empty */
	/* Owned by the store. */
	struct robot_file_sink file; /* after begin(): where the body is to go */
	struct link link;            /* after put() */
	char *path;
	bool is_trial; /* whether there is room again */
};

/* Files, named as garner fetch -o names them, and results.jsonl: a line for each result, the last
 * of a DOC_ID holds. Nothing is fetched while less than disk_free bytes are free. ERR_BUSY: another
 * process writes there. */
int spider_store_open(struct spider *sp, const char *path, struct err *err);
void spider_store_free(struct spider_store **s);
/* Prepares an item to be fetched. Negative: it cannot be stored, or not now:
 * spider_store_refused() tells which. */
int spider_store_begin(struct spider_store *s, struct spider_item *item, const struct url *url,
		       struct err *err);
/* Stores the result of an item, begun or not. spider_kept() is called later, from the loop, but not
 * after spider_store_free(). */
void spider_store_put(struct spider_store *s, struct spider_item *item,
		      const struct robot_result *result);
/* Whether another item may be begun. */
bool spider_store_room(const struct spider_store *s);
/* Judges why begin() or the sink failed. true: the disk is full for now; begin the item again after
 * spider_room(). */
bool spider_store_refused(struct spider_store *s, int sys_errno, const char *why);

/* What the store calls. The item is on disk; its owner frees it. */
void spider_kept(struct spider *sp, struct spider_item *item);
/* There may be space again. */
void spider_room(struct spider *sp);
/* Items begun but not yet kept may not be on disk: begins each of them again. The store has
 * forgotten them. */
void spider_lost(struct spider *sp);
