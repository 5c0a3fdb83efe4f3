/* What the crawl knows of one URL, and what its modules did to it. Reads while the master writes.
 */
#pragma once
#include "state/state.h"

enum why_known {
	WHY_NEVER, /* as far as is remembered */
	WHY_FOUND, /* a page links to it; will be known with the next merge */
	WHY_KNOWN,
	WHY_GONE,
};

/* What was done to it, by a journal or the changes of a state that is kept. */
struct why_decision {
	char state[STATE_NAME];
	int64_t time_us;
	enum phase by; /* PHASE_REAP: it was tried, and `type` and `code` say what came of it */
	enum item_type type;
	uint16_t code;
	enum change_op op;
	bool forgotten;
	struct str reason; /* may be empty */
};

struct why {
	enum why_known known;
	struct index_item item;    /* of WHY_KNOWN, with what the open journal says of it */
	struct journal_entry last; /* its last try in a state that is kept; time_us 0: none */
	char reason[256];          /* of that try */
	struct gone gone;          /* of WHY_GONE */
	int64_t remembered_us;     /* of WHY_NEVER: what was forgotten before this is not known */
	uint64_t passed;           /* not 0: only this many contributions were searched */
	char state[STATE_NAME];
	bool site_known;
	struct site site; /* where known; in `class` the site that stands for it */
	struct site class;
	bool class_known;
	struct why_decision *decision; /* the newest last */
	size_t decisions;
};

/* Most waiting contributions to look through: a second's worth. */
enum { WHY_CONTRIBS = 2000000 };

/* url: canonical. contribs: usually WHY_CONTRIBS. What is found lives in the arena. 1: there is no
 * crawl yet. */
int why_ask(const char *data, const struct url *url, uint64_t contribs, struct arena *arena,
	    struct why *ret, struct err *err);
