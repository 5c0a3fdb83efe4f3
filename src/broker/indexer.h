/* Keeps the words index in step with the registry: which attributes of an object are searched,
 * which are columns, and how far the index has come. Changes that the registry has committed and
 * the index has not are read again from registry and documents; so a kill between the two commits
 * costs only that. An index that is lost, damaged or of other settings is rebuilt in words.new
 * while the old one answers. The index has one object of a URL: the last updated one with a text.
 * For the writing thread. */
#pragma once
#include "broker/maintenance.h"
#include "broker/registry.h"
#include "index/words.h"

struct indexer;

/* The name of the point for objects that the administrator adds. */
#define INDEXER_POINT_ADDED "add"

/* Returns the name by which an attribute is searched: its own, or one that replaces it. */
struct str indexer_name(struct str soif_name);
/* Returns the name by which its numbers are compared: that of its column, if that is another. */
struct str indexer_compared(struct str soif_name);

/* folder: the broker's. Registry and documents outlive it. */
int indexer_open(struct indexer **ret, const char *folder, struct registry *registry,
		 struct docstore *docs, struct err *err);
void indexer_close(struct indexer **ix); /* uncommitted changes will be indexed again */

/* Returns whether it has everything that the registry has committed. Until then changes are left to
 * indexer_step(). */
bool indexer_follows(const struct indexer *ix);
bool indexer_rebuilds(const struct indexer *ix); /* a new one is being built */
/* Returns the object that a URL shows: the newest with a text. NULL: none has one. */
const struct registry_object *indexer_shown(const struct registry_object *object, size_t n);

/* Replaces what a URL shows by this object with the text obj; indexer_drop(): by nothing.
 * ERR_USAGE: the index refuses it, and nothing is shown. */
int indexer_put(struct indexer *ix, const struct registry_object *shown, const struct soif *obj,
		struct err *err);
int indexer_drop(struct indexer *ix, struct str url, struct err *err);
/* Call it after each commit of the registry. */
int indexer_commit(struct indexer *ix, struct err *err);

/* Indexes some of what is missing and commits; the registry must have nothing uncommitted. `busy`:
 * maintenance has a job, so the new index cannot replace the old one yet. 1: nothing is missing. */
int indexer_step(struct indexer *ix, bool busy, struct err *err);

/* Starts rebuilding the index from the documents while the old one answers; indexer_step()
 * continues. Nothing may be uncommitted, and maintenance must have no job. 1: already rebuilding. A
 * kill cancels it. */
int indexer_rebuild(struct indexer *ix, struct err *err);
struct maintenance *indexer_maintenance(struct indexer *ix);
/* Documents in the index; bytes of the registry that are not indexed yet. */
int indexer_stats(struct indexer *ix, uint64_t *ret_docs, uint64_t *ret_behind, struct err *err);
