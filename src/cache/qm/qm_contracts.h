/* Contracts and prefixes of providers as the queue manager needs them: a copy of what is in PIDB,
 * read again where that has changed. Contracts are compared one by one then; prefixes are read when
 * they are needed. One thread; it may wait for the disk. */
#pragma once
#include "cache/qm/qm_core.h"

struct qm_contracts;

struct qm_contracts_ops {
	void (*changed)(void *ctx, uint64_t provider);
	/* It is gone, and there may be rows of it; said at each look until
	 * qm_contracts_forgotten(). */
	void (*gone)(void *ctx, uint64_t provider);
};

int qm_contracts_open(struct qm_contracts **ret, const char *folder, int period, struct err *err);
void qm_contracts_close(struct qm_contracts **c);

/* At the beginning of each round: whether anything has changed. Without other work a round is due
 * every QM_WATCH_US. */
#define QM_WATCH_US (200 * US_PER_MS)
int qm_contracts_look(struct qm_contracts *c, int64_t mono_us, const struct qm_contracts_ops *ops,
		      void *ctx, struct err *err);

/* 1: there is no such provider, or no such prefix; also where that could not be read, which is
 * remembered, and told by qm_contracts_failed() and the next look. */
int qm_contracts_get(struct qm_contracts *c, uint64_t provider, struct qm_contract *ret);
int qm_contracts_within(struct qm_contracts *c, uint64_t provider, struct str url,
			struct arena *arena, struct str *ret);
/* Whether one of these has failed: before what was made of their answers counts. 0: none has. */
int qm_contracts_failed(const struct qm_contracts *c, struct err *err);
void qm_contracts_want(struct qm_contracts *c, uint64_t provider, enum pidb_wanted why);
/* The cache's database is not there: full sets are wanted, where any provider had a session. */
int qm_contracts_lost(struct qm_contracts *c, struct err *err);
void qm_contracts_forgotten(struct qm_contracts *c, uint64_t provider);
