/* Objects: applies the changes of sources by the document's rule of identity. The only place where
 * registry, documents and index change together.
 *
 * - An object is identified by Gatherer-Name, Gatherer-Host and URL. A newer Update-Time replaces
 * it, an older one is ignored (unless the stored one lies in the future), and an equal one is the
 * same object unless its MD5 differs.
 * - Of one gatherer's objects with the same MD5 the first has the text and is shown; the others are
 *   its twins, and one of them takes over when it is deleted.
 * - Of several gatherers' objects with the same URL the newest is shown, then the next.
 *
 * For the writing thread. After a failure other than ERR_USAGE, discard everything since the last
 * commit. */
#pragma once
#include "broker/indexer.h"

struct objects;

/* All outlive it. */
struct objects *objects_new(struct registry *registry, struct docstore *docs,
			    struct indexer *indexer);
void objects_free(struct objects **o);

enum objects_did {
	OBJECTS_ADDED,
	OBJECTS_REPLACED,
	OBJECTS_DELETED,
	OBJECTS_REFRESHED,
	OBJECTS_EXPIRED, /* not added: its Time-to-Live is over */
	OBJECTS_SAME,    /* unchanged, or older */
	OBJECTS_UNKNOWN, /* refresh of an unknown object: its source must send the text again */
};

/* Returns whether its Time-to-Live is over. */
bool objects_expired(const struct registry_object *object, int64_t now_us);

/* Applies a change from a point. final: no newer refresh of the object can follow, so it is not
 * added if it has expired. ERR_USAGE: the object is invalid or lacks something mandatory; nothing
 * changed. */
int objects_apply(struct objects *o, uint32_t point, const struct source_change *change, bool final,
		  int64_t now_us, enum objects_did *ret, struct err *err);
/* Deletes a registered object: it has expired, or its source no longer has it. */
int objects_drop(struct objects *o, const struct registry_object *object, int64_t now_us,
		 struct err *err);

/* A hash of the identity of an object. */
uint64_t objects_identity(struct str gatherer_name, struct str gatherer_host, struct str url);

/* After a commit: deletes texts that no object uses. */
int objects_committed(struct objects *o, struct err *err);
