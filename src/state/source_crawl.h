/* The crawl as a source (soif/source.h): the journal and changes of every state in turn, of the
 * open one the journal up to its last checkpoint. Its cursor is (state, file, offset) and survives
 * shakedowns and new states; from the beginning it tells all gathered URLs of the oldest state,
 * then what changed since. A cursor whose state was deleted, or of another Gatherer-Name or
 * Gatherer-Host, is refused: begin from the start, and drop what is not told again. A follower's
 * name keeps the states that it needs. */
#pragma once
#include "soif/source.h"

/* What `store` of open() points to; must outlive the source. */
struct source_crawl {
	const char *folder;   /* of the crawl */
	const char *follower; /* locks states under this name; NULL: does not */
	int64_t lock_us;      /* how long after its last call its states are kept; 0: 7 days */
	struct str gatherer_name, gatherer_host, gatherer_version;
	uint64_t refresh_rate_s, time_to_live_s; /* 0: the documents' */
};

extern const struct source_ops source_crawl_ops;
