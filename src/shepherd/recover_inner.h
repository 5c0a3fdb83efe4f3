/* What the files of recovery share: recover.c (by phase), recover_build.c (from buckets). */
#pragma once
#include "shepherd/recover.h"
#include "shepherd/state_inner.h"

/* A line in `told`. */
void recovery_tell(struct recovery *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same of something that was damaged. */
void recovery_damage(struct recovery *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Whether index, sites and bucket file of a state belong together. What is damaged was named. */
enum fit { FIT_SOUND, FIT_OLD_NUMBERS, FIT_DAMAGED };
int recover_fit(struct state *st, struct buckets *buckets, struct recovery *r, enum fit *ret,
		struct err *err);

/* In which phase a state ends that recovery has brought in order: corked while it has contributions
 * that no merge has taken, else closed. */
enum phase recover_done(const struct state *st);

/* Makes index and sites of a state in PHASE_RECOVER from what is left of them and from all buckets,
 * tells followers of what is newer than the old index, and ends the state by recover_done(). */
int recover_build(struct state *st, int64_t now_us, struct recovery *r, struct err *err);
