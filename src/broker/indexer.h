/* The words index as it follows the registry: which attributes of an object are searched and which
 * are columns, and how far the index has come. What the registry has committed and the index has
 * not is told to it from registry and documents; so a kill between the two commits costs a little
 * reading, and an index that is lost, damaged or of other settings is built again, in words.new,
 * while the old one answers. One object of a URL is in the index: of those that have a text the one
 * that was updated last. For the thread that writes. */
#pragma once
#include "broker/maintenance.h"
#include "broker/registry.h"
#include "index/words.h"

struct indexer;

/* The name of the point that tells what the administrator adds. */
#define INDEXER_POINT_ADDED "add"

/* The name by which an attribute of an object is searched: its own, or another in place of it. */
struct str indexer_name(struct str soif_name);
/* The name by which its numbers are compared: that of its column, if it has one of another name. */
struct str indexer_compared(struct str soif_name);

/* folder: the broker's. Registry and documents outlive it. */
int indexer_open(struct indexer **ret, const char *folder, struct registry *registry,
		 struct docstore *docs, struct err *err);
void indexer_close(struct indexer **ix); /* what was not committed is told again */

/* Whether it has all that the registry has committed. What changes while it has not is left to
 * indexer_step(). */
bool indexer_follows(const struct indexer *ix);
bool indexer_rebuilds(const struct indexer *ix); /* a new one is being built */
/* The object that a URL shows: the newest with a text. NULL: none has one. */
const struct registry_object *indexer_shown(const struct registry_object *object, size_t n);

/* A URL shows this object now, with the text obj; or nothing any more. ERR_USAGE: the index does
 * not take it, and nothing is shown. */
int indexer_put(struct indexer *ix, const struct registry_object *shown, const struct soif *obj,
		struct err *err);
int indexer_drop(struct indexer *ix, struct str url, struct err *err);
/* To be called after each commit of the registry. */
int indexer_commit(struct indexer *ix, struct err *err);

/* Tells the index some of what it lacks, and commits that; nothing may be uncommitted in the
 * registry. `busy`: maintenance has a job, so that the new index cannot take the place of the old
 * one now. 1: it follows. */
int indexer_step(struct indexer *ix, bool busy, struct err *err);

/* Builds it again from the documents, while the old one answers; indexer_step() does it. Nothing is
 * uncommitted, and maintenance has no job. 1: that is under way. A kill forgets it. */
int indexer_rebuild(struct indexer *ix, struct err *err);
struct maintenance *indexer_maintenance(struct indexer *ix);
/* Documents in the index; those that it still has to be told, about. */
int indexer_stats(struct indexer *ix, uint64_t *ret_docs, uint64_t *ret_behind, struct err *err);
