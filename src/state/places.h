/* Which entries a state has of one URL. A state that is done has a file `places`: where the entries
 * of its journal and its changes lie, sorted by footprint, so that those of one URL are found by a
 * few reads however long they are. It says nothing that those files do not say: one that is lost or
 * damaged makes the answer slow, not wrong. A state with a short journal and few changes has none,
 * nor has one that is open. Layout: doc/formats/places.md. */
#pragma once
#include "state/state.h"

/* One of both is NULL. Negative ends it. */
typedef int state_entry_fn(void *ctx, const struct journal_entry *entry,
			   const struct change *change, struct err *err);
/* All entries of a URL in a state, those of the journal first, each in the order in which they were
 * made. What cannot be read of a record is passed over. */
int state_entries(struct state *st, struct footprint fp, state_entry_fn *fn, void *ctx,
		  struct err *err);

extern const struct format places_format;
