/* Positions: whether the words of a leaf stand in a document as they must, one after the other, in
 * the attribute, in the form that was asked for. */
#include "base/vec.h"
#include "index/query/exec.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* A document may have many positions, and a query many phrases: one check after the other takes
 * long with a single document. */
enum { POSITIONS_A_STEP = 64 };

struct place {
	struct exec_list *list; /* over all attributes */
	bool own;               /* the list is sought here, not by the caller */
	uint32_t same;          /* 1 + the first word that has the same list, 0: this one */
	uint32_t form;
	bool read; /* the positions are those of the current document */
	const uint32_t *position, *forms;
	uint32_t n;
};

struct exec_check {
	const struct exec_leaf *leaf;
	uint32_t words;
	int attr; /* -1: any */
	struct place *place;
	uint32_t *order; /* words, the rarest first */
	/* Where the phrase may begin, by the words that were looked at. */
	uint32_t *start, starts; /* on the heap: a document may be one word a million times */
	size_t room;
	struct exec_loose *loose; /* instead of all of these */
	struct exec_check *next;
};

/* Words of a phrase share the list of the same term, and the caller's. */
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

static uint32_t df_of(const struct exec_check *c, uint32_t word)
{
	return c->place[word].list->p.df;
}

int exec_check_open(struct exec *e, const struct exec_leaf *leaf, struct exec_list *const *list,
		    uint32_t lists, struct exec_check **ret)
{
	const struct query_node *node = leaf->node;
	struct exec_check *c = arena_alloc(e->arena, sizeof *c);
	c->next = e->checks;
	e->checks = c;
	c->leaf = leaf;
	*ret = c;
	if (leaf->loose)
		return exec_loose_open(e, leaf, &c->loose);
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
	c->order = arena_array(e->arena, c->words, sizeof *c->order);
	for (uint32_t i = 0; i < c->words; i++) {
		uint32_t j = i;
		for (; j > 0 && df_of(c, c->order[j - 1]) > df_of(c, i); j--)
			c->order[j] = c->order[j - 1];
		c->order[j] = i;
	}
	return 0;
}

static bool read_positions(struct exec *e, struct exec_check *c, struct place *p, uint32_t doc)
{
	struct exec_list *l = p->list;
	uint32_t forms;
	if (p->own && exec_list_seek(e, l, doc) != doc)
		return false;
	uint32_t block = l->where / SEGMENT_BLOCK, i = l->where % SEGMENT_BLOCK;
	if (postings_positions(&l->p, block, i, &p->position, &p->n, e->err) < 0 ||
	    (c->leaf->node->exact &&
	     postings_forms(&l->p, block, i, &p->forms, &forms, e->err) < 0)) {
		exec_fail(e);
		return false;
	}
	p->read = true;
	return p->n > 0;
}

/* NULL: the word is not in the document. */
static const struct place *place_of(struct exec *e, struct exec_check *c, uint32_t word,
				    uint32_t doc)
{
	struct place *p = &c->place[word], *first = p->same ? &c->place[p->same - 1] : p;
	if (!first->read && !read_positions(e, c, first, doc))
		return NULL;
	p->position = first->position;
	p->forms = first->forms;
	p->n = first->n;
	return p;
}

static void inside_next(struct exec *e, struct exec_inside *in)
{
	int rc = segment_ranges_next(&in->it, &in->range, e->err);
	if (rc < 0)
		exec_fail(e);
	in->more = rc == 0;
}

bool exec_inside_open(struct exec *e, uint32_t doc, struct exec_inside *ret)
{
	*ret = (struct exec_inside){0};
	if (segment_ranges(e->segment, doc, &ret->it, e->err) < 0) {
		exec_fail(e);
		return false;
	}
	inside_next(e, ret);
	return true;
}

const struct segment_range *exec_inside(struct exec *e, struct exec_inside *in, uint32_t position)
{
	while (in->more && in->range.first + in->range.n <= position)
		inside_next(e, in);
	return in->more && in->range.first <= position ? &in->range : NULL;
}

/* Of the places where the phrase may begin those in the attribute: a phrase is in one value. */
static void keep_inside(struct exec *e, struct exec_check *c, uint32_t doc)
{
	struct exec_inside in;
	uint32_t n = 0;
	if (!exec_inside_open(e, doc, &in))
		return;
	for (uint32_t i = 0; i < c->starts; i++) {
		const struct segment_range *r = exec_inside(e, &in, c->start[i]);
		if (r && r->attr == (uint32_t)c->attr)
			c->start[n++] = c->start[i];
	}
	c->starts = n;
}

static void starts_of(struct exec_check *c, const struct place *p, uint32_t word)
{
	bool exact = c->leaf->node->exact;
	uint32_t n = 0;
	VEC_ROOM(c->start, c->room, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		c->start[n] = p->position[i] - word;
		n += p->position[i] >= word && (!exact || p->forms[i] == p->form);
	}
	c->starts = n;
}

/* The first position not before a value, from `at` on, where steps are long. */
static uint32_t positions_gallop(const struct place *p, uint32_t at, uint32_t value)
{
	uint32_t step = 1;
	while (at + step < p->n && p->position[at + step] < value) {
		at += step;
		step *= 2;
	}
	uint32_t end = MIN(at + step, p->n);
	return BISECT(i, at, end, p->position[i] < value);
}

/* A position after `at`. */
static bool position_stands(const struct place *p, uint32_t at, uint32_t position)
{
	at = positions_gallop(p, at, position);
	return at < p->n && p->position[at] == position;
}

/* A long way from one to the next. */
static uint32_t keep_far(struct exec_check *c, const struct place *p, uint32_t word)
{
	bool exact = c->leaf->node->exact;
	uint32_t n = 0;
	for (uint32_t i = 0, at = 0; i < c->starts; i++) {
		at = positions_gallop(p, at, c->start[i] + word);
		if (at == p->n)
			break;
		c->start[n] = c->start[i];
		n += p->position[at] == c->start[i] + word && (!exact || p->forms[at] == p->form);
	}
	return n;
}

/* From place i and position `at` on; n are kept already. */
static uint32_t keep_near(struct exec_check *c, const struct place *p, uint32_t word, uint32_t i,
			  uint32_t at, uint32_t n)
{
	bool exact = c->leaf->node->exact;
	while (i < c->starts && at < p->n) {
		uint32_t a = c->start[i] + word, b = p->position[at];
		c->start[n] = c->start[i];
		n += a == b && (!exact || p->forms[at] == p->form);
		i += a <= b;
		at += b <= a;
	}
	return n;
}

#if defined(__SSE2__)
/* As keep_near(), four by four: each of one side with each of the other, and the side whose last is
 * less goes on. Forms are not looked at. */
static uint32_t keep_fours(struct exec_check *c, const struct place *p, uint32_t word)
{
	uint32_t i = 0, at = 0, n = 0;
	unsigned hit = 0; /* of the current four places, those that were found */
	const __m128i offset = _mm_set1_epi32((int)word);
	while (i + 4 <= c->starts && at + 4 <= p->n) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(c->start + i));
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(p->position + at));
		a = _mm_add_epi32(a, offset);
		uint32_t last_a = c->start[i + 3] + word, last_b = p->position[at + 3];
		__m128i same = _mm_cmpeq_epi32(a, b);
		same = _mm_or_si128(same, _mm_cmpeq_epi32(a, _mm_shuffle_epi32(b, 0x39)));
		same = _mm_or_si128(same, _mm_cmpeq_epi32(a, _mm_shuffle_epi32(b, 0x4e)));
		same = _mm_or_si128(same, _mm_cmpeq_epi32(a, _mm_shuffle_epi32(b, 0x93)));
		hit |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(same));
		if (hit && last_a <= last_b)
			for (uint32_t k = 0; k < 4; k++) {
				c->start[n] = c->start[i + k];
				n += hit >> k & 1;
			}
		hit = last_a <= last_b ? 0 : hit;
		i += last_a <= last_b ? 4 : 0;
		at += last_b <= last_a ? 4 : 0;
	}
	for (; hit; i++, hit >>= 1) {
		/* the current four: what was found is kept, what was not may be found yet */
		if (hit & 1)
			c->start[n++] = c->start[i];
		else if (at < p->n && position_stands(p, at, c->start[i] + word))
			c->start[n++] = c->start[i];
	}
	return keep_near(c, p, word, i, at, n);
}
#else
static uint32_t keep_fours(struct exec_check *c, const struct place *p, uint32_t word)
{
	return keep_near(c, p, word, 0, 0, 0);
}
#endif

/* Of the places where the phrase may begin, those after which the word stands where it must. */
static void keep_word(struct exec_check *c, const struct place *p, uint32_t word)
{
	if (p->n / 8 > c->starts)
		c->starts = keep_far(c, p, word);
	else if (c->leaf->node->exact)
		c->starts = keep_near(c, p, word, 0, 0, 0);
	else
		c->starts = keep_fours(c, p, word);
}

bool exec_check(struct exec *e, struct exec_check *c, uint32_t doc)
{
	if (exec_late(e))
		return false;
	e->count.checks++;
	if (c->loose)
		return exec_loose(e, c->loose, doc);
	for (uint32_t i = 0; i < c->words; i++)
		c->place[i].read = false;
	for (uint32_t i = 0; i < c->words; i++) {
		uint32_t word = c->order[i];
		const struct place *p = place_of(e, c, word, doc);
		if (!p || exec_late_by(e, p->n / POSITIONS_A_STEP))
			return false;
		if (i == 0)
			starts_of(c, p, word);
		else
			keep_word(c, p, word);
		if (c->starts == 0)
			return false;
	}
	if (c->attr >= 0)
		keep_inside(e, c, doc);
	return c->starts > 0 && !e->failed;
}

void exec_checks_close(struct exec *e)
{
	for (struct exec_check *c = e->checks; c; c = c->next) {
		mem_free(&c->start);
		exec_loose_close(e, c->loose);
	}
	e->checks = NULL;
}
