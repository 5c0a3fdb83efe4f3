/* Finds the entries of one URL in a state. The file `places` of a closed or corked state lists
 * where the entries of its journal and changes lie, sorted by footprint, so that those of one URL
 * are found by a few reads, however long these files are. If it is lost or damaged, the search is
 * slow, but right. An open state has none, nor has one with a short journal and few changes.
 * Layout: doc/formats/places.md. */
#pragma once
#include "state/state.h"

/* entry or change is NULL. Negative: stops the search. */
typedef int state_entry_fn(void *ctx, const struct journal_entry *entry,
			   const struct change *change, struct err *err);
/* Calls fn for all entries of a URL in a state: those of the journal first, then the changes,
 * oldest first. Skips records that cannot be read. */
int state_entries(struct state *st, struct footprint fp, state_entry_fn *fn, void *ctx,
		  struct err *err);

extern const struct format places_format;
