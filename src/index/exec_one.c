/* One word, by rank: its blocks in the order of their bounds, the greatest first, so that few of
 * them need to be looked at. */
#include "index/exec.h"

static uint32_t one_block_first(const struct exec_list *l, uint32_t block)
{
	return block ? l->p.last[block - 1] + 1 : 0;
}

static void one_run_block(struct exec *e, struct exec_list *l, uint32_t block)
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
	if (!l->bounds)
		return false;
	e->anyhow = true;
	const uint32_t *order = exec_list_order(e, l);
	for (uint32_t i = 0; i < l->p.blocks && !e->failed && !exec_late(e); i++) {
		if (exec_enters(e, one_block_first(l, order[i]), l->bounds[order[i]]))
			one_run_block(e, l, order[i]);
		else
			e->count.blocks_passed++;
	}
	return true;
}
