/* Parts of the collector. collector.c: opening, commits, and what is done between them. feeds.c:
 * the sources to follow and the collection points to poll; it opens each when it is due, reads a
 * batch at a time, and closes it on failure or at its end. The end of a full collection drops the
 * objects that it did not contain. */
#pragma once
#include "broker/collector.h"
#include "broker/objects_inner.h"

struct collector {
	struct arena arena; /* paths */
	struct collector_options options;
	const char *folder, *docs_folder;
	struct registry *registry;
	struct docstore *docs;
	struct indexer *indexer;
	struct objects *objects;
	struct compact *compact;
	struct pool *syncer; /* of one thread */
	size_t taken;        /* objects since the last commit */
	int64_t first_us;    /* when the first of them was taken */
	int64_t last_us;     /* when the last commit began */
	int64_t compact_us;  /* when to compact; INT64_MAX: there is no need */
	struct registry_scan *expiry;
	uint64_t expired; /* by this scan */
	bool cleaning;    /* then space is given back */
	bool rebuild;     /* the index, as soon as it can be */
	struct addition *adding;
	struct collector_added added;
	struct arena object; /* of what is read, added or dropped */
	int64_t expire_us;   /* when to look next */
	uint32_t *refresh_s; /* by point: when the first of its objects is to be refreshed */
	uint64_t orphan, orphans_end; /* texts that may be nobody's: the next one, the last one */
	struct err trouble;           /* of the other threads, until it is told */

	/* Of feeds.c. */
	struct feed *feed; /* options.n */
	size_t asked;      /* collection points that are open, but for: */
	size_t slow;       /* those that have been so for COLLECTOR_SLOW_US */
	size_t turn;       /* which feed is read first, so that none is starved */
	struct small *points;
	bool points_changed; /* a status has */
	int64_t reported_us;
};

/* There is something to commit. */
void collector_took(struct collector *c);
/* Returns whether the batch is full. */
bool collector_took_enough(const struct collector *c);

/* ERR_USAGE: a name of a feed cannot be taken. */
int feeds_open(struct collector *c, struct err *err);
void feeds_close(struct collector *c);
/* Counts what was done with an object and writes the event. */
void feeds_note_did(struct collector *c, const char *point, enum objects_did did, struct str url);
/* Reads up to a batch. 0: there may be more. 1: not now. Negative: a store failed. */
int feeds_read(struct collector *c, int64_t now_us, struct err *err);
/* Before a commit: stores the cursor of each feed. */
void feeds_mark(struct collector *c);
/* When the next feed has to be opened; INT64_MAX: none. */
int64_t feeds_due_us(const struct collector *c);
/* Descriptors that become readable when more may have come; at most `most`. */
size_t feeds_fds(const struct collector *c, int *ret, size_t most);
/* Objects of a point are due for a refresh: polls it now, unless that was done lately. */
void feeds_ask_early(struct collector *c, uint32_t point, int64_t now_us);
/* Sets the time between collections. */
void feeds_set_every(struct collector *c, int64_t every_us, int64_t now_us);
/* Stores the status of the feeds if it has changed. */
int feeds_report(struct collector *c, int64_t now_us, struct err *err);
