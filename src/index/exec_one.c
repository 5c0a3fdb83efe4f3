/* One word, by rank: its blocks in the order of their bounds, the greatest first, so that few of
 * them need to be looked at. */
#include "index/exec.h"

/* Whether a score that a block may have, in its first document, is worth to be kept. */
static bool enters(const struct exec *e, const struct exec_list *l, uint32_t block)
{
	uint64_t first = block ? l->p.last[block - 1] + UINT64_C(1) : 0;
	return exec_best_count(&e->best) < e->keep ||
	       exec_key_of((uint64_t)l->bounds[block] + e->rank_most, e->base + first) >
		       *exec_best_top(&e->best);
}

static void run_block(struct exec *e, struct exec_list *l, uint32_t block)
{
	l->block = block;
	if (!exec_list_scores(e, l))
		return;
	for (uint32_t i = 0; i < l->in_block; i++)
		if (l->scores[i] + e->rank_most >= e->need && !exec_deleted(e, l->docs[i])) {
			e->count.candidates++;
			exec_found(e, l->docs[i], l->scores[i]);
		}
}

bool exec_one_run(struct exec *e, const struct exec_node *root)
{
	if (!root->leaf || root->leaf->check || root->leaf->terms != 1)
		return false;
	struct exec_list *l = exec_list_open(e, root->leaf->term[0], root->leaf->times[0]);
	if (!l)
		return true;
	exec_list_bounds(e, l);
	e->anyhow = true;
	const uint32_t *order = exec_list_order(e, l);
	for (uint32_t i = 0; i < l->p.blocks && !e->failed && !exec_late(e); i++) {
		if (enters(e, l, order[i]))
			run_block(e, l, order[i]);
		else
			e->count.blocks_passed++;
	}
	return true;
}
