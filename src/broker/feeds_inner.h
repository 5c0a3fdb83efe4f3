/* The feeds of a collector: sources that are followed and collection points that are asked in turn.
 * Each is opened when it is due, read a batch at a time, and closed when it fails or has told all;
 * a full one that came to its end drops what it did not tell again. */
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
	/* Something was done that has to be committed. */
	void (*took)(void *ctx);
	/* Whether this is enough for one batch. */
	bool (*enough)(void *ctx);
	void (*count)(void *ctx, enum collector_counter which);
	void *ctx;
};

/* ERR_USAGE: a name of a feed cannot be taken. */
int feeds_new(struct feeds **ret, const struct feeds_env *env, struct err *err);
void feeds_free(struct feeds **f);

/* Reads what there is, up to a batch. 0: there may be more. 1: not now. Negative: a store failed.
 */
int feeds_read(struct feeds *f, int64_t now_us, struct err *err);
/* Before a commit: how far each has come. */
void feeds_mark(struct feeds *f);
/* When one has to be opened; INT64_MAX: none. */
int64_t feeds_due_us(const struct feeds *f);
/* Descriptors that become readable when more may have come; at most `most`. */
size_t feeds_fds(const struct feeds *f, int *ret, size_t most);
/* The objects of a point should have been gathered anew: it is asked now, if that was not done
 * lately. */
void feeds_ask_early(struct feeds *f, uint32_t point, int64_t now_us);
/* All points are asked now, also those that rest after a failure or were not to be asked; how many.
 * One that is being asked is not asked twice. */
size_t feeds_ask_all(struct feeds *f, int64_t now_us);
/* How often points are asked from now on. */
void feeds_set_every(struct feeds *f, int64_t every_us, int64_t now_us);
/* Writes how it goes, where that has changed. */
int feeds_report(struct feeds *f, int64_t now_us, struct err *err);
