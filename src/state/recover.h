/* Recovery: what a writer does first. Whatever a killed process, a power cut or a bad disk left, in
 * the end the states are in order: at least one closed state whose index fits the bucket file; at
 * most one open state, the newest; nothing before its last checkpoint missing, nothing half there.
 *
 * By phase of the newest state:
 *	prepare, plan, merge ... finish   deleted; its work is done again
 *	reap                              rolled back to the last checkpoint, stays in reap (with an
 *	                                  empty plan where its own is damaged); deleted when it
 *	                                  has none
 *	cork                              stays: cork is done again over the whole journal
 *	corked                            stays; of damaged contributions, those before the damage
 *	cleanup                           the bucket file was shaken down: the index gets the new
 *	                                  numbers and the state is closed; else all buckets are
 *	                                  audited, and it is deleted
 *	recover                           done again
 * An index or a site list that is lost or damaged is built again from what is left of it and from
 * the whole bucket file (cases a and b of document 001); what an older index, the journals and
 * `gone` say of its URLs counts, so that the forgotten and the dead do not come back with their
 * buckets. So it is where the journal is damaged. The state is closed then, or corked while it has
 * contributions. What is damaged is named. */
#pragma once
#include "state/state.h"

struct recovery {
	unsigned deleted;     /* states */
	unsigned rolled_back; /* 0 or 1 */
	unsigned renumbered;  /* 0 or 1: an interrupted cleanup was brought to its end */
	unsigned rebuilt;     /* indexes made again from buckets */
	unsigned damaged;     /* things that were damaged; each has a line in `told` */
	struct buf told;      /* a line for each thing that was done or found; to be freed */
};

/* 0 also when there was damage that could be mended: see ret->damaged. ERR_DAMAGED: there was some
 * that could not: the bucket file is lost, or two states are open. */
int states_recover(struct states *s, int64_t now_us, struct recovery *ret, struct err *err);
/* The index of a new closed state is made from the newest one's and all buckets, as if it had been
 * lost. */
int states_rebuild(struct states *s, int64_t now_us, struct recovery *ret, struct err *err);
void recovery_free(struct recovery *r);
