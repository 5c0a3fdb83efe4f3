/* Recovery: what a writer does first. Whatever a killed process, a power cut or a bad disk left, in
 * the end the states are in order: at least one closed state whose index fits the bucket file; at
 * most one open state, the newest; nothing before its last checkpoint missing, nothing half there.
 *
 * There are two rules.
 * 1. Back to the last checkpoint (recover.c). Each file of the open state, and the bucket file, is
 *    cut to the length that the checkpoint names; a phase that had begun begins again from its
 *    inputs. A state that nobody can have followed is deleted, which is the same.
 * 2. The index made again (rebuild.c). Where rule 1 cannot be followed, or the index is lost or
 *    does not fit, index and sites are made from the buckets, the journals, and what is left of
 *    older indexes. Contributions are kept.
 * Whatever else is damaged is named and left to the next cycle, which writes it anyway. */
#pragma once
#include "state/state.h"

struct recovery {
	unsigned deleted;     /* states */
	unsigned rolled_back; /* 0 or 1 */
	unsigned renumbered;  /* 0 or 1: an interrupted cleanup was brought to its end */
	unsigned rebuilt;     /* indexes made again from buckets */
	unsigned damaged;     /* damaged things; each has a line in `told` */
	struct buf told;      /* a line for each thing done or found; freed by recovery_free() */
};

/* Returns 0 also if it repaired damage: see ret->damaged. ERR_DAMAGED: some cannot be repaired: the
 * bucket file is lost, or two states are open. */
int states_recover(struct states *s, int64_t now_us, struct recovery *ret, struct err *err);
/* All of it, by hand: also reads every bucket, and every file of the states that are done. Where a
 * bucket is damaged, or rebuild says so, the index is made again by rule 2, in a new state; states
 * with damage are deleted, unless the crawl or a reader needs them. */
int states_recover_fully(struct states *s, bool rebuild, int64_t now_us, struct recovery *ret,
			 struct err *err);
void recovery_free(struct recovery *r);
