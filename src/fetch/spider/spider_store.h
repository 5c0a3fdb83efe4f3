/* Where the results of a spider go: files in a directory. A URL server hears DONE when its result
 * is kept there, not before.
 *
 * One loop and its thread. */
#pragma once
#include "base/list.h"
#include "fetch/robot.h"
#include "net/loop.h"

struct spider_store;

/* A URL on its way there, inside its owner. */
struct spider_item {
	struct str doc_id, url; /* the owner's; doc_id may be empty */
	/* Owned by the store. */
	struct robot_file_sink file; /* after begin(): where the body is to go */
	struct link link;            /* after put() */
	char *path;
	bool is_trial; /* whether there is room again */
};

struct spider_store_host {
	/* The item is on disk; its owner frees it. */
	void (*kept)(void *ctx, struct spider_item *item);
	void (*room)(void *ctx); /* there may be space again */
	/* Items begun but not yet kept may not be on disk: begin each of them again. The store has
	 * forgotten them. */
	void (*lost)(void *ctx);
	/* The process cannot go on: nobody knows what is on disk. */
	void (*failed)(void *ctx, const struct err *err);
	void *ctx;
};

/* Files, named as garner fetch -o names them, and results.jsonl: a line for each result, the last
 * of a DOC_ID holds. Nothing is fetched while less than disk_free bytes are free. ERR_BUSY: another
 * process writes there. */
int spider_store_open(struct spider_store **ret, const char *path, uint64_t disk_free,
		      struct loop *loop, const struct spider_store_host *host, struct err *err);
void spider_store_free(struct spider_store **s);
/* Prepares an item to be fetched. Negative: it cannot be stored, or not now:
 * spider_store_refused() tells which. */
int spider_store_begin(struct spider_store *s, struct spider_item *item, const struct url *url,
		       struct err *err);
/* Stores the result of an item, begun or not. kept() is called later, from the loop, but not after
 * spider_store_free(). */
void spider_store_put(struct spider_store *s, struct spider_item *item,
		      const struct robot_result *result);
/* Whether another item may be begun. */
bool spider_store_room(const struct spider_store *s);
/* Judges why begin() or the sink failed. true: the disk is full for now; begin the item again after
 * room(). */
bool spider_store_refused(struct spider_store *s, int sys_errno, const char *why);
