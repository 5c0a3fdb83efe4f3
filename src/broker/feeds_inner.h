/* The feeds of a collector: sources to follow and collection points to poll. Opens each when it is
 * due, reads a batch at a time, and closes it on failure or at its end; the end of a full
 * collection drops the objects that it did not contain. */
#pragma once
#include "broker/collector.h"
#include "broker/objects_inner.h"

struct feeds;

/* What was done with an object, for counters and the event log. */
void feeds_count_did(enum objects_did did, void (*count)(void *ctx, enum collector_counter which),
		     void *ctx);
void feeds_write_event(struct events *events, const char *point, enum objects_did did,
		       struct str url);

struct feeds_env {
	const struct collector_options *options;
	struct registry *registry;
	struct objects *objects;
	/* There is something to commit. */
	void (*took)(void *ctx);
	/* Returns whether the batch is full. */
	bool (*enough)(void *ctx);
	void (*count)(void *ctx, enum collector_counter which);
	void *ctx;
};

/* ERR_USAGE: a name of a feed cannot be taken. */
int feeds_new(struct feeds **ret, const struct feeds_env *env, struct err *err);
void feeds_free(struct feeds **f);

/* Reads up to a batch. 0: there may be more. 1: not now. Negative: a store failed. */
int feeds_read(struct feeds *f, int64_t now_us, struct err *err);
/* Before a commit: stores the cursor of each feed. */
void feeds_mark(struct feeds *f);
/* When the next feed has to be opened; INT64_MAX: none. */
int64_t feeds_due_us(const struct feeds *f);
/* Descriptors that become readable when more may have come; at most `most`. */
size_t feeds_fds(const struct feeds *f, int *ret, size_t most);
/* Objects of a point are due for a refresh: polls it now, unless that was done lately. */
void feeds_ask_early(struct feeds *f, uint32_t point, int64_t now_us);
/* Polls all points now, also after a failure or if polling is off, except those being polled.
 * Returns their number. */
size_t feeds_ask_all(struct feeds *f, int64_t now_us);
/* Sets the time between collections. */
void feeds_set_every(struct feeds *f, int64_t every_us, int64_t now_us);
/* Stores the status of the feeds if it has changed. */
int feeds_report(struct feeds *f, int64_t now_us, struct err *err);
