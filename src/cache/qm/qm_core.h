/* The queue manager without network and without a clock (document 004, section 6): the turns of
 * providers, the database, deletes, ages. It works in rounds, each one transaction of the database:
 *
 *	qm_core_begin(core, &now, &err);
 *	db_take(...)                            sets that have come; then qm_core_sets(core)
 *	qm_core_answered(core, &answer);        for each answer
 *	qm_core_work(core, room, step, &err);   all that is due; submit() is called
 *	qm_core_commit(core, &err);             wanted() and forgotten() are called
 *	qm_core_tell(core);                     verdict() and remove() are called
 *
 * A fetch goes out before what it follows from is durable: after a kill the row is there as it was,
 * and is asked for again under the same id. What cannot be taken back (verdicts, deletes, answers
 * to a uns) comes after the commit. After a failed round the core is of no use: nothing of the
 * round has happened, and a new one goes on from the database.
 *
 * An id is "row-version-provider-tries-set-hash": the same question has the same id, also after a
 * restart. So a botm that has it, or its answer, does not fetch it again. After a kill the row that
 * was out is the first that is asked for again, unless it had had an error of its own, or an older
 * set has come to its hours since: then two URLs of a provider may be out, and leases (polite.h)
 * keep them apart at its server.
 *
 * One thread at a time. Callbacks come from inside qm_core_work(), qm_core_commit() and
 * qm_core_tell(). */
#pragma once
#include "base/arena.h"
#include "cache/db.h"
#include "cache/pidb.h"
#include "cache/qm/turns.h"
#include "fetch/bot_wire.h"

struct qm_core;

struct qm_now {
	int64_t mono_us; /* never goes back: delays */
	int64_t wall_us; /* may jump: hours, slots, receipts */
	int64_t age_us;  /* the clock of ages */
};

/* What a provider's contract says now. */
struct qm_contract {
	int64_t priority;
	uint64_t quota_files, quota_space, bandwidth;
	struct hours hours;
};

static inline bool qm_contract_same(const struct qm_contract *a, const struct qm_contract *b)
{
	return a->priority == b->priority && a->quota_files == b->quota_files &&
	       a->quota_space == b->quota_space && a->bandwidth == b->bandwidth &&
	       memcmp(&a->hours, &b->hours, sizeof a->hours) == 0;
}

struct qm_core_ops {
	/* 1: there is no such provider (any more). */
	int (*contract)(void *ctx, uint64_t provider, struct qm_contract *ret);
	/* The prefix of the provider's that a URL lies below; in the arena. 1: none. */
	int (*within)(void *ctx, uint64_t provider, struct str url, struct arena *arena,
		      struct str *ret);
	/* From qm_core_work(): a fetch goes out; slices are good during the call. */
	void (*submit)(void *ctx, const struct bot_message *fetch);
	/* From qm_core_tell(), as is the next: what becomes of the file of an answer. */
	void (*verdict)(void *ctx, const struct bot_message *answer, bool is_kept);
	/* A file is to be deleted; qm_core_deleted() follows. */
	void (*remove)(void *ctx, struct str id, struct str machine, struct str file);
	/* From qm_core_commit(), as is the next: a full set is wanted of a provider. */
	void (*wanted)(void *ctx, uint64_t provider, enum pidb_wanted why);
	/* Nothing is left of a provider of qm_core_forget(). */
	void (*forgotten)(void *ctx, uint64_t provider);
};

struct qm_core_options {
	struct db *db; /* the caller's; begin() and commit() of it are the core's */
	int64_t slot_us;
	int period; /* HOURS_DAY, HOURS_WEEK */
	struct turns_options turns;
	unsigned retries;                      /* of errors of a URL's own */
	int64_t old_after_us, expire_after_us; /* of ages */
	int64_t ages_every_us;                 /* how often they are looked at; mono */
	int64_t receipts_kept_us;
	size_t deletes;                /* at a time */
	const struct qm_core_ops *ops; /* used where they are */
	void *ctx;
};

/* Looks whether QPSDB agrees with QDB, and builds it again where it does not; then at the parts of
 * sets, not at rows. */
int qm_core_new(struct qm_core **ret, const struct qm_core_options *options,
		const struct qm_now *now, struct err *err);
void qm_core_free(struct qm_core **c);

int qm_core_begin(struct qm_core *c, const struct qm_now *now, struct err *err);

/* There may be new sets. */
void qm_core_sets(struct qm_core *c);
/* An answer; copied. Of fetches of an earlier process, too, and more than once. */
void qm_core_answered(struct qm_core *c, const struct bot_message *m);
/* How a delete ended. */
void qm_core_deleted(struct qm_core *c, struct str id, enum bot_deletion how);
void qm_core_machine(struct qm_core *c, struct str machine, bool is_up);
/* The contract of a provider is another one. */
void qm_core_changed(struct qm_core *c, uint64_t provider);
/* The provider is gone: its rows are removed, in steps; forgotten() follows. */
void qm_core_forget(struct qm_core *c, uint64_t provider);

/* Does what is due: answers, then fetches up to `room`, and steps of what is long (absorbing,
 * moving rows, forgetting, ages), each of at most `step` rows; steps other than absorbing cost
 * more per row and take a few thousand. */
int qm_core_work(struct qm_core *c, uint64_t room, size_t step, struct err *err);
int qm_core_commit(struct qm_core *c, struct err *err);
void qm_core_tell(struct qm_core *c);

/* How long nothing is due, but for what comes from outside; 0: there is more to do at once. */
int64_t qm_core_wait_us(const struct qm_core *c, const struct qm_now *now);

struct qm_core_counts {
	/* Ever. */
	uint64_t sets;    /* absorbed */
	uint64_t notices; /* of these, and: */
	uint64_t queued, updated, unchanged, removed, refused;
	uint64_t sent, stored, confirmed, failed, retried, put_back, dropped;
	uint64_t site_errors, moved, deleted, bytes;
	/* Now. */
	uint64_t rows, rows_stored, open_sets, open_urls, deletes_out;
	struct turns_counts turns;
};
void qm_core_counts(const struct qm_core *c, struct qm_core_counts *ret);
