/* What the crawl knows of one URL. Reads while the master writes. */
#pragma once
#include "state/state.h"

enum why_known {
	WHY_NEVER,     /* as far as is remembered */
	WHY_REQUESTED, /* asked for, not taken yet; not told by why_ask() alone */
	WHY_FOUND,     /* a page links to it; will be known with the next merge */
	WHY_KNOWN,
	WHY_GONE,
};

struct why {
	enum why_known known;
	struct index_item item;    /* of WHY_KNOWN, with what the open journal says of it */
	struct journal_entry last; /* its last try in a state that is kept; time_us 0: none */
	char reason[256];          /* of that try */
	struct gone gone;          /* of WHY_GONE */
	int64_t remembered_us;     /* of WHY_NEVER: what was forgotten before this is not known */
	char state[STATE_NAME];
};

/* url: canonical. 1: there is no crawl yet. */
int why_ask(const char *data, const struct url *url, struct why *ret, struct err *err);
