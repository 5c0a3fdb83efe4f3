/* From a tree to positions: every node is made with what follows it already there, so a list is
 * made from its last part to its first, and nothing is patched but the end of a loop. A stack on
 * the heap holds the nodes that are half made; how much there will be is known from the tree. */
#include "index/rx/rx_inner.h"

/* A node that is half made. */
struct half {
	uint32_t node;
	uint16_t next; /* what follows it */
	uint16_t made; /* what of it is there: where its part so far begins */
	uint16_t loop;
	uint32_t done; /* kids, or rounds of a repeat */
};

struct halves {
	struct half *half;
	size_t n, room;
};

static uint16_t add_step(struct rx_nfa *nfa, struct rx_step step)
{
	ENSURE(nfa->n < UINT16_MAX);
	*VEC_PUSH(nfa->step, nfa->n, nfa->room) = step;
	return (uint16_t)(nfa->n - 1);
}

static uint16_t add_split(struct rx_nfa *nfa, uint16_t out, uint16_t out_too)
{
	return add_step(nfa, (struct rx_step){.op = RX_STEP_SPLIT, .out = out, .out_too = out_too});
}

static uint16_t add_leaf_step(struct rx_nfa *nfa, const struct rx_node *node, bool backward,
			      uint16_t next)
{
	struct rx_step step = {.out = next, .set = (uint16_t)node->set};
	switch ((enum rx_op)node->op) {
	case RX_SET:
		step.op = RX_STEP_SET;
		break;
	case RX_BEGIN:
		step.op = backward ? RX_STEP_END : RX_STEP_BEGIN;
		break;
	case RX_END:
		step.op = backward ? RX_STEP_BEGIN : RX_STEP_END;
		break;
	case RX_BOUND:
		step.op = RX_STEP_BOUND;
		break;
	case RX_NOT_BOUND:
		step.op = RX_STEP_NOT_BOUND;
		break;
	default:
		return next; /* EMPTY */
	}
	return add_step(nfa, step);
}

static void begin_node(struct halves *h, uint32_t node, uint16_t next)
{
	*VEC_PUSH(h->half, h->n, h->room) = (struct half){.node = node, .next = next, .made = next};
}

/* Goes on with a half made node, whose last kid begins at `kid` (where done > 0). true: it begins
 * another kid; false: it is complete, and begins at h->made. */
static bool go_on_list(struct halves *hs, const struct rx_tree *t, bool backward,
		       struct rx_nfa *nfa, uint16_t kid)
{
	struct half *h = &hs->half[hs->n - 1];
	const struct rx_node *node = &t->node[h->node];
	bool cat = node->op == RX_CAT;
	if (h->done > 0)
		h->made = cat || h->done == 1 ? kid : add_split(nfa, h->made, kid);
	if (h->done == node->kids)
		return false;
	uint32_t i = cat && !backward ? node->kids - 1 - h->done : h->done;
	h->done++;
	begin_node(hs, t->kid[node->kid + i], cat ? h->made : h->next);
	return true;
}

/* The rounds that may be left out are made first, each within the one before it: x{2,4} is
 * xx(x(x)?)?. Without a limit the last round is a loop. */
static bool go_on_repeat(struct halves *hs, const struct rx_tree *t, struct rx_nfa *nfa,
			 uint16_t kid)
{
	struct half *h = &hs->half[hs->n - 1];
	const struct rx_node *node = &t->node[h->node];
	bool endless = node->most == RX_NO_LIMIT;
	uint32_t rounds = endless ? MAX(node->least, 1u) : node->most;
	if (h->done > 0) {
		h->made = kid;
		if (endless && h->done == 1) {
			nfa->step[h->loop].out = kid;
			h->made = node->least == 0 ? h->loop : kid;
		} else if (!endless && h->done <= node->most - node->least) {
			h->made = add_split(nfa, kid, h->next);
		}
	}
	if (h->done == rounds)
		return false;
	if (endless && h->done == 0)
		h->made = h->loop = add_split(nfa, h->next, h->next);
	h->done++;
	begin_node(hs, t->kid[node->kid], h->made);
	return true;
}

void rx_nfa_make(struct rx_nfa *nfa, const struct rx_tree *t, bool backward)
{
	struct halves hs = {0};
	uint16_t made = add_step(nfa, (struct rx_step){.op = RX_STEP_MATCH});
	begin_node(&hs, t->root, made);
	while (hs.n) {
		const struct half *h = &hs.half[hs.n - 1];
		const struct rx_node *node = &t->node[h->node];
		bool more = false;
		if (node->op == RX_CAT || node->op == RX_ALT)
			more = go_on_list(&hs, t, backward, nfa, made);
		else if (node->op == RX_REPEAT)
			more = go_on_repeat(&hs, t, nfa, made);
		if (more)
			continue;
		h = &hs.half[hs.n - 1];
		bool leaf = node->op != RX_CAT && node->op != RX_ALT && node->op != RX_REPEAT;
		made = leaf ? add_leaf_step(nfa, node, backward, h->next) : h->made;
		hs.n--;
	}
	nfa->start = made;
	mem_free(&hs.half);
}
