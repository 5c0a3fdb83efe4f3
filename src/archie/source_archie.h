/* The archives as a source (soif/source.h): an object for each directory, whose text is the names
 * in it. A directory with more than NAMES_DIR_PART files becomes several objects, in the order of
 * its listing: the first has the URL of the directory, the others add #part=2 and so on, which
 * opens the directory as well.
 *
 * Changes come in the order of generations of the names index: a directory comes again when its
 * files have changed, and is deleted when it disappears. The cursor is a place in that order and
 * belongs to one index. It is refused if it is of another index, Gatherer-Name or Gatherer-Host, or
 * so old that deletions since then are forgotten: begin from the start, and drop whatever does not
 * come again. */
#pragma once
#include "soif/source.h"

/* For `store` of open(); must outlive the source. */
struct source_archie {
	const char *folder; /* archie/; may be empty: then the source waits for the first site */
	struct str gatherer_name, gatherer_host, gatherer_version;
	uint64_t refresh_rate_s; /* 0: the documents' */
	/* 0: ten years. A directory comes only when it changes or disappears, so its age alone
	 * means nothing. */
	uint64_t time_to_live_s;
};

extern const struct source_ops source_archie_ops;
