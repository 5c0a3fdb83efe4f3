/* Feedback, shepherd/feedback: what the indexer has found out about URLs, for the crawl: how much
 * each is worth, and whether a page still links to it. A file that is written as a whole, sorted by
 * footprint, with a number by which it counts exactly once: a state's params keep the number of the
 * last one that was applied (state_course.feedback), and only a greater one is applied. Layout:
 * doc/formats/feedback.md. */
#pragma once
#include "shepherd/crawl.h"

struct feedback {
	struct footprint fp;
	uint8_t weight; /* with ITEM_WEIGHED */
	uint8_t flags;  /* ITEM_WEIGHED: the weight is told; ITEM_UNREFERENCED: no page links to it
			 */
};

/* Writing. number: not 0, and greater than those before it. Entries come in ascending order, no
 * footprint twice. The old file stays until feedback_finish() returns 0; then the new one is
 * durable. It also ends the writer on failure. */
struct feedback_writer;
int feedback_create(struct feedback_writer **ret, const char *path, uint64_t number,
		    struct err *err);
int feedback_put(struct feedback_writer *w, const struct feedback *entry, struct err *err);
int feedback_finish(struct feedback_writer **w, struct err *err);
void feedback_drop(struct feedback_writer **w); /* without finishing; also NULL */

/* Reading, from end to end. 1: there is no such file. ERR_DAMAGED: also when the end is missing,
 * which is known only there. */
struct feedback_scan;
int feedback_open(struct feedback_scan **ret, const char *path, struct err *err);
uint64_t feedback_number(const struct feedback_scan *s);
/* 1: the end, and all was sound. */
int feedback_next(struct feedback_scan *s, struct feedback *ret, struct err *err);
void feedback_close(struct feedback_scan **s);

/* What became of a feedback. */
struct fed {
	uint64_t number;
	uint64_t entries, changed, unknown; /* unknown: of URLs that are not in the index */
	bool stopped;                       /* nothing was done, because the crawl is to stop */
	bool damaged;                       /* nothing was done, and the file is set aside */
	struct err why;                     /* of that; it names the file */
};
/* The module: weights and flags of a file go into the index of a state in PHASE_FEEDBACK, and its
 * number into the params. 0: applied, or found to be damaged. 1: there is no file, it was applied
 * already, or ret->stopped; the index is the old one then. A file that changes nothing leaves the
 * old one, too. */
int crawl_feedback(struct state *st, const struct crawl *c, const char *path, struct fed *ret,
		   struct err *err);
/* After the first checkpoint of a state: the file is removed unless its number is greater than the
 * state's, so a newer one stays. 1: there was none to remove. */
int feedback_done(const char *path, uint64_t number, struct err *err);

extern const struct format feedback_format;
