/* The archives as a source (soif/source.h): an object for each directory, with the names in it as
 * its text. A directory of more than NAMES_DIR_PART files is several objects, in the order of its
 * listing: the first has the URL of the directory, the others the same with #part=2 and so on,
 * which opens the directory, too.
 *
 * Changes are told in the order of generations of the names index; a directory is told again when
 * its files have changed, and deleted when it went away. The cursor is a place in that order and
 * knows which index it is of. One of another index, of another Gatherer-Name or Gatherer-Host, or
 * of a generation after which directories went away that nobody remembers, is refused: begin from
 * the start, and drop what is not told again. */
#pragma once
#include "soif/source.h"

/* What `store` of open() points to; must outlive the source. */
struct source_archie {
	const char *folder; /* archie/; a source of an empty one waits for the first site */
	struct str gatherer_name, gatherer_host, gatherer_version;
	uint64_t refresh_rate_s; /* 0: the documents' */
	/* 0: ten years. A directory is told only when it changes, and its end is told as well, so
	 * that its age alone means nothing. */
	uint64_t time_to_live_s;
};

extern const struct source_ops source_archie_ops;
