/* Rounds: the queue manager's core in a thread of its own, between the loop that speaks with others
 * and the databases. What comes in gathers in the loop; a round takes all of it, and what comes
 * meanwhile is for the next one. So the loop never waits for the disk, and one sync is shared by
 * all that came during the one before it.
 *
 * Fetches go out from inside a round, as soon as they are known; verdicts, deletes and the answers
 * to notification servers after its commit. */
#pragma once
#include "cache/qm/qm_core.h"
#include "cache/qm/qm_link.h"
#include "fetch/botsource.h"

struct qm_rounds;

struct qm_rounds_options {
	struct loop *loop;
	const char *folder;          /* DATA/cache */
	struct qm_core_options core; /* but for db, ops and ctx */
	uint64_t qdb_max;            /* rows, with which the link is closed */
	uint64_t disk_free;          /* bytes, without which nothing new is begun */
	/* Whether nothing new is to be taken. */
	void (*overload)(void *ctx, bool is_over);
	/* It cannot go on. */
	void (*failed)(void *ctx, const struct err *err);
	void *ctx;
};

/* Opens the databases. Damage makes full sets wanted of all providers. */
int qm_rounds_new(struct qm_rounds **ret, const struct qm_rounds_options *options, struct err *err);
/* What they are between; used where they are. */
void qm_rounds_join(struct qm_rounds *r, struct qm_link *link, struct botsource *source);
/* Waits for the round that is under way; then nothing is called any more. Before link and source
 * are freed. */
void qm_rounds_stop(struct qm_rounds *r);
void qm_rounds_free(struct qm_rounds **r);

/* What link and source call; ctx: the rounds. Something has come from the link; there is room at
 * the botm; the rest as botsource.h says. */
void qm_rounds_wake(void *ctx);
void qm_rounds_room(void *ctx);
void qm_rounds_answered(void *ctx, const struct bot_message *m);
void qm_rounds_deleted(void *ctx, struct str id, enum bot_deletion how);
void qm_rounds_machine(void *ctx, struct str machine, bool is_up);

struct qm_rounds_counts {
	struct qm_core_counts core;
	uint64_t rounds;
	uint64_t is_over; /* 1: no sets are taken */
};
void qm_rounds_counts(const struct qm_rounds *r, struct qm_rounds_counts *ret);
