/* A world of the queue manager's core: what a botm has of it, what the model needs to judge it, and
 * the core's callbacks, which do. Of each fetch that goes out they say whether it may: the row is
 * queued, it is the provider's only one, the hours allow it, no earlier set and no provider of a
 * higher priority had to go first, delays are over. */
#pragma once
#include "cache/qm/qm_core.h"
#include "unit/cache/qm_lab.h"

enum {
	OUT_MOST = 32,
	RETRIES = 2,
	WHEEL_STEP_S = 4,
	WHEEL_SLOTS = 10,
	SITE_WAIT_S = 30,
	RETRY_WAIT_S = 60,
	EXPIRE_S = 10000,
	OLD_S = 5000,
	DELETES = 3,
	ID_MAX = 80,
};

/* A fetch that a botm has: out, or asked for by a qm that was killed (`lost`). */
struct fetch {
	bool lost;
	char id[ID_MAX];
	size_t key;
	uint64_t order, version;
	unsigned tries;
	bool has_validators;
	int64_t sent_us; /* mono */
};

struct answered {
	char id[ID_MAX];
	struct qm_answer a;
	bool has_file, told;
};

struct delete
{
	char id[ID_MAX];
	size_t file;
};

struct world {
	struct qm_lab lab;
	struct qm_core *core;
	int64_t mono_us;
	struct fetch out[OUT_MOST];
	size_t nout;
	struct answered now[OUT_MOST]; /* of this round */
	size_t nnow;
	struct fetch old[OUT_MOST]; /* answered before */
	size_t nold;
	struct delete deletes[DELETES];
	size_t ndeletes;
	bool machine_up[QM_MACHINES];
	bool is_calm; /* everything is answered well */
	/* Of a provider. */
	int64_t priority[QM_PROVIDERS];
	uint64_t bandwidth[QM_PROVIDERS];
	bool ready[QM_PROVIDERS];       /* nothing can hold it up but its queue */
	int64_t after_us[QM_PROVIDERS]; /* mono: nothing goes out before */
	unsigned site_errors[QM_PROVIDERS];
	enum pidb_wanted wanted[QM_PROVIDERS];
	bool wall_jumped;             /* since some delay began */
	struct db_part part[QM_KEYS]; /* before the work of this round */
	size_t nparts;
	uint64_t sent, stored, refused, retried, kills, moved;
};

extern const struct qm_core_ops qm_world_ops;
