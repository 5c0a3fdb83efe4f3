/* One word, by rank: its blocks in the order of their bounds, the greatest first, so that few of
 * them need to be looked at. */
#include "index/exec.h"

enum { STEPS = 256 }; /* of bounds; within a step blocks are in order */

static uint32_t step_of(uint32_t bound, uint32_t most)
{
	return (uint32_t)((uint64_t)bound * (STEPS - 1) / most);
}

/* Blocks by falling step of their bounds. */
static uint32_t *order_of(struct exec *e, const struct exec_list *l)
{
	uint32_t *order = arena_array(e->arena, l->p.blocks, sizeof *order);
	uint32_t start[STEPS + 1] = {0};
	for (uint32_t b = 0; b < l->p.blocks; b++)
		start[STEPS - step_of(l->bounds[b], l->most)]++;
	for (uint32_t i = 1; i <= STEPS; i++)
		start[i] += start[i - 1];
	for (uint32_t b = 0; b < l->p.blocks; b++)
		order[start[STEPS - 1 - step_of(l->bounds[b], l->most)]++] = b;
	return order;
}

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
		if (l->scores[i] + e->rank_most + 1 >= e->need && !exec_deleted(e, l->docs[i])) {
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
	const uint32_t *order = order_of(e, l);
	for (uint32_t i = 0; i < l->p.blocks && !e->failed && !exec_late(e); i++) {
		if (enters(e, l, order[i]))
			run_block(e, l, order[i]);
		else
			e->count.blocks_passed++;
	}
	return true;
}
