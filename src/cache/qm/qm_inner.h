/* Inside of the role qm: settings and counters (qm.c), and the rounds (qm_rounds.c). */
#pragma once
#include "base/list.h"
#include "cache/cache_conf.h"
#include "cache/qm.h"
#include "cache/qm/qm_contracts.h"
#include "cache/qm/qm_core.h"
#include "cache/qm/qm_link.h"
#include "fetch/botsource.h"
#include "net/role_loop.h"
#include "net/sync_group.h"

#include <limits.h>

struct machine_news {
	struct str name;
	bool is_up;
};

struct deleted_news {
	struct str id;
	enum bot_deletion how;
};

/* What has come, and is for a round; its texts are in the arena. */
struct inbox {
	struct arena arena;
	struct bot_message *answer;
	struct deleted_news *deleted;
	struct machine_news *machine;
	size_t answers, answers_room, deletes, deletes_room, machines, machines_room;
};

struct qm_counts {
	struct qm_core_counts core;
	struct qm_link_counts link;
	uint64_t rounds;
	uint64_t is_over; /* 1: no sets are taken */
};

struct qm {
	struct role_loop role;
	const struct qm_conf *conf;
	char folder[PATH_MAX]; /* DATA/cache */
	struct qm_link *link;
	struct botsource *source;
	struct qm_counts counts;
	unsigned drained;
	bool is_draining;
	/* Of qm_rounds.c. */
	struct db *db;
	struct qm_contracts *contracts;
	struct qm_core *core;
	struct sync_group group;
	int64_t age_us, began_us; /* the clock of ages, when this process began */
	/* The loop's. */
	struct inbox coming;
	struct link outboxes;
	uint64_t pending; /* fetches in these */
	size_t step;
	int64_t disk_look_us;
	bool is_woken, is_disk_full, is_stopped;
	/* Of the round that is under way. */
	struct inbox doing;
	struct qm_batch *batch;
	uint64_t room;
	bool is_forced, did_work;
	struct outbox *out;
};

/* Opens the databases. Damage makes full sets wanted of all providers. */
int qm_rounds_open(struct qm *q, struct err *err);
/* Starts, once link and source are there. */
void qm_rounds_go(struct qm *q);
/* Waits for the round that is under way; then nothing is called any more. Call it before link and
 * source are freed. */
void qm_rounds_stop(struct qm *q);
void qm_rounds_close(struct qm *q);

/* What link and source call; ctx: struct qm. Something has come from the link; there is room at the
 * botm; the rest as botsource.h says. */
void qm_wake(void *ctx);
void qm_room(void *ctx);
void qm_answered(void *ctx, const struct bot_message *m);
void qm_deleted(void *ctx, struct str id, enum bot_deletion how);
void qm_machine(void *ctx, struct str machine, bool is_up);
