/* The inside of the queue manager's core, shared by its files. */
#pragma once
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"
#include "cache/qm/qm_core.h"

enum {
	QM_OPEN_SETS = 64,         /* whose turns of being absorbed are kept */
	QM_ROUND_MEMORY = 1 << 30, /* answers and rows of a round */
	QM_MOVES = 256,            /* rows that are moved by one call */
	QM_PARTS_FEW = 1000,       /* that are looked at whenever there is a reason */
	QM_AGES_STEP = 2000,       /* rows that are looked at for their age at a time */
	QM_STEP_MOST = 4000,       /* rows of a step of anything but absorbing */
};
/* A fetch that is out for so long is noted for its receipt: most are answered before. */
#define QM_SENT_NOTE_US US_PER_S
#define QM_AGE_PUT_US US_PER_MIN
#define QM_WAIT_TOLD_US (5 * US_PER_S) /* a provider that waits for longer is told so */
#define QM_DELETE_AGAIN_US (10 * US_PER_MIN)

/* A fetch that is out, by provider: what its answer is held against. */
struct qm_out {
	uint64_t row, version;
	unsigned tries;
};
/* The contract as it was seen last. */
struct qm_known {
	struct qm_contract contract;
	struct qm_out out; /* row 0: none */
	bool is_known, is_gone;
};
TABLE(qm_providers, uint64_t, struct qm_known, hash_u64, table_same_u64)
TABLE(qm_numbers, uint64_t, bool, hash_u64, table_same_u64)

/* What an id says. */
struct qm_id {
	uint64_t provider, row, version, set;
	unsigned tries;
	int64_t hash;
};

struct qm_answer {
	struct bot_message m;
	struct qm_id id;
	bool is_ours;
	bool is_kept;
};

struct qm_sent {
	uint64_t provider;
	struct qm_out out;
	int64_t at_us, wall_us;
};

struct qm_removal {
	uint64_t id;
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
};

struct qm_wish {
	uint64_t provider;
	enum pidb_wanted why;
};

struct qm_machine {
	char name[DB_MACHINE_MAX + 1];
	unsigned up;    /* how many say that they are it */
	uint64_t after; /* file to be deleted */
	bool at_end;
};

struct qm_core {
	struct qm_core_options o;
	struct db *db;
	struct qm_now now;
	struct turns *turns;
	struct qm_providers providers;
	struct arena arena; /* of a round */
	bool in_round;
	bool is_more; /* something was left to be done at once */
	uint64_t room;
	size_t scan; /* rows that may still be passed over in this round */

	struct qm_answer *answer; /* of this round */
	size_t answers, answers_room;
	/* In the order of time, from sent_at on; those that have ended as well. */
	struct qm_sent *sent;
	size_t nsent, sent_room, sent_at;

	struct db_set open[QM_OPEN_SETS]; /* the oldest that are not absorbed */
	size_t nopen, open_turn;
	bool sets_came;

	/* Providers of which rows may have come into parts of older sets. */
	struct qm_numbers stale;
	size_t parts_seen;
	int64_t stale_at_us;

	int64_t slot;         /* that is looked at as now; -1: none */
	struct db_part *look; /* parts that wait, to be looked at: their time may have come */
	size_t nlook, look_room;

	uint64_t *changed, *forget;
	size_t nchanged, changed_room, nforget, forget_room;
	size_t forgotten; /* of the first of these nothing is left */

	struct qm_machine *machine;
	size_t machines, machines_room;
	struct qm_numbers deleting;
	uint64_t *deleted; /* that are to leave FSMDB */
	size_t ndeleted, deleted_room;
	struct qm_removal *removal; /* to be said after the commit */
	size_t removals, removals_room;
	int64_t delete_again_us;

	uint64_t ages_from; /* 0: no pass is under way */
	bool in_ages, in_trim;
	int64_t ages_at_us, steady_us; /* mono; wall less mono */
	int64_t age_put_us;
	struct qm_numbers wanted; /* of this pass */
	struct qm_wish *wish;     /* to be said after the commit */
	size_t wishes, wishes_room;

	struct qm_core_counts counts;
};

/* 1: there is no such provider. */
int qm_contract_of(struct qm_core *c, uint64_t provider, const struct qm_contract **ret);
/* Whether it is another one by now, which may not have been said yet: 1. Nothing goes by the old
 * one after that. */
int qm_contract_look(struct qm_core *c, uint64_t provider, struct err *err);
/* A part that may be fetched from: into the turns, or into a slot where its provider has to wait
 * for longer than the wheel turns. */
int qm_part_add(struct qm_core *c, uint64_t provider, uint64_t set, int64_t slot, bool has_waited,
		struct err *err);
/* Parts that a walk over all of them collects. */
struct qm_parts {
	struct qm_core *core;
	int64_t start; /* DB_NOW: all that wait */
	struct db_part *part;
	size_t n, room, seen;
};
/* Adds them, unless rc says that the walk failed, and frees the list. */
int qm_parts_add(struct qm_parts *l, int rc, bool has_waited, struct err *err);
/* Deletes of each machine are looked for again. */
void qm_deletes_again(struct qm_core *c);
/* All parts of a provider wait until then, in a slot. */
int qm_parts_park(struct qm_core *c, uint64_t provider, int64_t until_mono_us, struct err *err);
/* The slot of a time that may be further away than slots reach. */
int64_t qm_park_slot(const struct qm_core *c, int64_t until_mono_us);
int64_t qm_slot_at(const struct qm_core *c, int64_t wall_us);
/* The hours of a row and of a contract: both must allow. */
struct hours qm_row_hours(const struct qm_core *c, const struct qm_contract *contract,
			  const struct db_row *row);

/* The steps of a round. */
int qm_answers_done(struct qm_core *c, struct err *err);
void qm_answers_tell(struct qm_core *c);
int qm_slots_turn(struct qm_core *c, size_t step, struct err *err);
int qm_changes_do(struct qm_core *c, struct err *err);
int qm_fill(struct qm_core *c, size_t step, struct err *err);
int qm_absorb_step(struct qm_core *c, size_t step, struct err *err);
int qm_stale_look(struct qm_core *c, struct err *err);
int qm_forget_step(struct qm_core *c, size_t step, struct err *err);
int qm_deletes_step(struct qm_core *c, struct err *err);
int qm_ages_step(struct qm_core *c, size_t step, struct err *err);
