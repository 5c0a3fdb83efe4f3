/* Positions: whether the words of a leaf stand in a document as they must, one behind the other, in
 * the attribute, in the form that was asked for. */
#include "index/exec.h"

struct place {
	struct exec_list *list; /* over all attributes */
	bool own;               /* the list is sought here, not by whoever asks */
	uint32_t same;          /* 1 + the first word that has the same list, 0: this one */
	uint32_t form;
	const uint32_t *position, *forms;
	uint32_t n, at;
};

struct exec_check {
	const struct exec_leaf *leaf;
	uint32_t words;
	int attr; /* -1: any */
	struct place *place;
};

/* Words of a phrase share the list of the same term, and that of whoever asks. */
static struct exec_list *list_for(struct exec *e, struct exec_check *c, uint32_t word,
				  struct exec_list *const *list, uint32_t lists)
{
	const struct exec_term *term = &e->term[c->leaf->combined[word]];
	for (uint32_t i = 0; i < word; i++)
		if (c->place[i].list->term == term) {
			c->place[word].same = i + 1;
			return c->place[i].list;
		}
	for (uint32_t i = 0; i < lists; i++)
		if (list[i]->term == term)
			return list[i];
	c->place[word].own = true;
	return exec_list_open(e, c->leaf->combined[word], 1);
}

int exec_check_open(struct exec *e, const struct exec_leaf *leaf, struct exec_list *const *list,
		    uint32_t lists, struct exec_check **ret)
{
	const struct query_node *node = leaf->node;
	struct exec_check *c = arena_alloc(e->arena, sizeof *c);
	c->leaf = leaf;
	c->words = node->words;
	c->attr = node->attribute.n ? segment_attr(e->segment, node->attribute) : -1;
	c->place = arena_array(e->arena, node->words, sizeof *c->place);
	if (node->attribute.n && c->attr < 0)
		return 1;
	for (uint32_t i = 0; i < node->words; i++) {
		struct place *p = &c->place[i];
		p->list = list_for(e, c, i, list, lists);
		if (!p->list)
			return 1;
		int rc = node->exact ? segment_form(e->segment, &p->list->term->info[e->number],
						    node->word[i].term, node->word[i].form,
						    &p->form, e->err)
				     : 0;
		if (rc != 0)
			return rc < 0 ? exec_fail(e) : 1;
	}
	*ret = c;
	return 0;
}

static bool place_read(struct exec *e, struct exec_check *c, uint32_t word, uint32_t doc)
{
	struct place *p = &c->place[word];
	struct exec_list *l = p->list;
	uint32_t forms;
	p->at = 0;
	if (p->same) {
		const struct place *first = &c->place[p->same - 1];
		p->position = first->position;
		p->forms = first->forms;
		p->n = first->n;
		return true;
	}
	if (p->own && exec_list_seek(e, l, doc) != doc)
		return false;
	uint32_t block = l->where / SEGMENT_BLOCK, i = l->where % SEGMENT_BLOCK;
	if (postings_positions(&l->p, block, i, &p->position, &p->n, e->err) < 0 ||
	    (c->leaf->node->exact &&
	     postings_forms(&l->p, block, i, &p->forms, &forms, e->err) < 0)) {
		exec_fail(e);
		return false;
	}
	return p->n > 0;
}

/* The word stands at this position; positions that are asked for ascend. */
static bool stands(struct place *p, uint32_t position, bool exact)
{
	uint32_t step = 1, lo = p->at;
	while (lo + step < p->n && p->position[lo + step] < position) {
		lo += step;
		step *= 2;
	}
	while (lo < p->n && p->position[lo] < position)
		lo++;
	p->at = lo;
	return lo < p->n && p->position[lo] == position && (!exact || p->forms[lo] == p->form);
}

/* Ranges ascend, as do the positions that are asked for. */
struct inside {
	struct segment_ranges it;
	struct segment_range range;
	bool more;
};

static bool inside_next(struct exec *e, struct inside *in)
{
	int rc = segment_ranges_next(&in->it, &in->range, e->err);
	if (rc < 0)
		exec_fail(e);
	return in->more = rc == 0;
}

static bool is_inside(struct exec *e, struct inside *in, uint32_t attr, uint32_t position)
{
	while (in->more && in->range.first + in->range.n <= position)
		inside_next(e, in);
	return in->more && in->range.first <= position && in->range.attr == attr;
}

static uint32_t rarest(const struct exec_check *c)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < c->words; i++)
		if (c->place[i].n < c->place[best].n)
			best = i;
	return best;
}

bool exec_check(struct exec *e, struct exec_check *c, uint32_t doc)
{
	struct inside in = {0};
	e->count.checks++;
	for (uint32_t i = 0; i < c->words; i++)
		if (!place_read(e, c, i, doc))
			return false;
	if (c->attr >= 0) {
		if (segment_ranges(e->segment, doc, &in.it, e->err) < 0) {
			exec_fail(e);
			return false;
		}
		inside_next(e, &in);
	}
	uint32_t lead = rarest(c);
	bool exact = c->leaf->node->exact;
	const struct place *l = &c->place[lead];
	for (uint32_t i = 0; i < l->n && !e->failed; i++) {
		if (l->position[i] < lead || (exact && l->forms[i] != l->form))
			continue;
		uint32_t first = l->position[i] - lead, w = 0;
		if (c->attr >= 0 && !is_inside(e, &in, (uint32_t)c->attr, first))
			continue;
		while (w < c->words && (w == lead || stands(&c->place[w], first + w, exact)))
			w++;
		if (w == c->words)
			return true;
	}
	return false;
}
