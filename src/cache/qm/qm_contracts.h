/* The queue manager's copy of contracts and prefixes in PIDB, refreshed when PIDB changes:
 * contracts all at once, prefixes on demand. Not thread-safe; may block on the disk. */
#pragma once
#include "cache/qm/qm_core.h"

struct qm_contracts;

struct qm_contracts_ops {
	void (*changed)(void *ctx, uint64_t provider);
	/* The provider has deregistered and may still have rows; repeated at each look until
	 * qm_contracts_forgotten(). */
	void (*gone)(void *ctx, uint64_t provider);
};

int qm_contracts_open(struct qm_contracts **ret, const char *folder, int period, struct err *err);
void qm_contracts_close(struct qm_contracts **c);

/* Checks for changes; call it at the beginning of each round, at least every QM_WATCH_US. */
#define QM_WATCH_US (200 * US_PER_MS)
int qm_contracts_look(struct qm_contracts *c, int64_t mono_us, const struct qm_contracts_ops *ops,
		      void *ctx, struct err *err);

/* 1: no such provider or prefix, or reading failed: then qm_contracts_failed() and the next look
 * fail. */
int qm_contracts_get(struct qm_contracts *c, uint64_t provider, struct qm_contract *ret);
int qm_contracts_within(struct qm_contracts *c, uint64_t provider, struct str url,
			struct arena *arena, struct str *ret);
/* Returns the failure of any of these calls; check it before their results take effect. 0: none. */
int qm_contracts_failed(const struct qm_contracts *c, struct err *err);
void qm_contracts_want(struct qm_contracts *c, uint64_t provider, enum pidb_wanted why);
/* The cache's database is missing: asks all providers for full sets if any had a session. */
int qm_contracts_lost(struct qm_contracts *c, struct err *err);
void qm_contracts_forgotten(struct qm_contracts *c, uint64_t provider);
