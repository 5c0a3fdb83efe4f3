/* Objects: what is done with what a source tells, by the document's rule of identity. Registry,
 * documents and index change together here, and nowhere else.
 *
 * - An object is known by Gatherer-Name, Gatherer-Host and URL. A newer Update-Time replaces it, an
 *   older one is passed over (unless what is there claims a time that has not come), and the same
 *   one is the same object unless its MD5 differs.
 * - Of one gatherer's objects with one MD5 the first has the text and is shown; the others are its
 *   twins, and one of them takes over when it goes.
 * - Of several gatherers' objects with one URL the newest is shown, then the next.
 *
 * For the thread that writes. Failures other than ERR_USAGE: what was done since the last commit
 * is to be given up. */
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
	OBJECTS_EXPIRED, /* its Time-to-Live is over, so it was not taken */
	OBJECTS_SAME,    /* nothing had changed, or it was older */
	OBJECTS_UNKNOWN, /* a refresh of what is not there: its text has to be told again */
};

/* Whether its Time-to-Live is over. */
bool objects_expired(const struct registry_object *object, int64_t now_us);

/* What a point tells. final: no refresh of it can follow that is newer, so it is not taken if it
 * has expired. ERR_USAGE: the object cannot be taken, or lacks something mandatory; nothing
 * changed. */
int objects_apply(struct objects *o, uint32_t point, const struct source_change *change, bool final,
		  int64_t now_us, enum objects_did *ret, struct err *err);
/* An object that is registered goes: it has expired, or its point does not tell it any more. */
int objects_drop(struct objects *o, const struct registry_object *object, int64_t now_us,
		 struct err *err);

/* A number for the identity of an object, for those who remember what was told. */
uint64_t objects_identity(struct str gatherer_name, struct str gatherer_host, struct str url);

/* After a commit: texts that nobody has any more are deleted. */
int objects_committed(struct objects *o, struct err *err);
