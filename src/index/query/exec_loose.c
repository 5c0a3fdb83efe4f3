/* Positions of words that mean many terms: phrases with patterns and errors, words near each other,
 * patterns whose forms count.
 *
 * The positions of such a word in a document are those of all its terms there. A few terms are
 * asked one by one. Of many, which ones a document has is found out by reading the documents of
 * their lists: pairs of document and term, sorted, of those documents only that the rarest word of
 * the leaf has. That is done for all documents at once, or, where these would be too many pairs,
 * for a window of them at a time, since documents are asked for nearly in order. Lists are then
 * opened for positions as documents are asked for, a few at a time: what documents share are the
 * common terms, which stay open. */
#include "base/vec.h"
#include "index/query/exec.h"

enum {
	CURSORS = 16,  /* lists of a word that are open at a time */
	TERMS_FEW = 4, /* of a word: each is asked, without pairs */
	NOT_MEANT = EXEC_NOT_MEANT,
	PAIRS_MOST = 16 << 20,  /* bytes of the pairs of a leaf, and of sorting them */
	PAIRS_LEAST = 16 << 10, /* pairs of a word that are always allowed */
};

/* A list that is open for its positions; over all attributes. */
struct cursor {
	bool open;
	uint32_t term;  /* its number among the word's */
	uint32_t block; /* whose documents are decoded; NO_DOC: none */
	struct segment_term info;
	struct postings p;
	uint32_t docs[SEGMENT_BLOCK];
};

struct loose_word {
	const struct exec_meant *meant; /* NULL: it is plain, and has but one list */
	struct segment_term one;        /* that one */
	uint32_t terms;
	uint32_t form; /* of a plain word that is exact */
	bool exact;
	uint32_t df;
	/* Where there are more than a few terms: document << 32 | term, of the documents from
	 * `from` up to before `to`. */
	uint64_t *pair;
	size_t pairs, room, charged;
	uint32_t from, to, span;
	const uint64_t *only; /* NULL, or a bit for each document that matters */
	struct cursor *cursor;
	/* In the current document: position << 8 | errors, ascending. */
	uint64_t *place, *tmp;
	size_t places, place_room, tmp_room;
};

struct exec_loose {
	const struct exec_leaf *leaf;
	int attr; /* -1: any */
	bool attr_lists;
	uint32_t words, many; /* those that have more than a few terms */
	struct loose_word *word;
	uint32_t *order; /* words, the rarest first */
	uint64_t *start; /* where the phrase may begin << 8 | errors so far */
	size_t starts, start_room;
};

/* Opening */

static int open_plain(struct exec *e, struct loose_word *w, const struct query_node *node,
		      uint32_t number, const struct exec_term *t)
{
	w->one = t->info[e->number];
	w->terms = w->one.df ? 1 : 0;
	if (!node->exact || w->terms == 0)
		return 0;
	w->exact = true;
	return segment_form(e->segment, &w->one, t->term, node->word[number].form, &w->form,
			    e->err);
}

/* 1: no document has it. */
static int open_word(struct exec *e, struct exec_loose *c, uint32_t number)
{
	struct loose_word *w = &c->word[number];
	const struct exec_term *t = &e->term[c->leaf->combined[number]];
	const struct exec_union *u = t->made ? &t->made[e->number] : NULL;
	int rc = 0;
	if (u) {
		w->meant = u->meant;
		w->terms = (uint32_t)u->meants;
	} else {
		rc = open_plain(e, w, c->leaf->node, number, t);
	}
	if (rc < 0)
		return exec_fail(e);
	w->df = u && u->docs ? u->df : t->info[e->number].df;
	w->span = e->docs;
	return rc == 1 || w->terms == 0 || w->df == 0;
}

/* A bit for each document of the word's list. NULL: a failure. */
static uint64_t *bits_of_word(struct exec *e, const struct exec_loose *c, uint32_t number)
{
	uint64_t *bit = arena_array(e->arena, e->docs / 64 + 1, sizeof *bit);
	struct exec_list *l = exec_list_open(e, c->leaf->combined[number], 0);
	for (uint32_t b = 0; l && b < l->p.blocks && !exec_late(e); b++) {
		l->block = b;
		if (!exec_list_docs(e, l))
			return NULL;
		for (uint32_t i = 0; i < l->in_block; i++)
			bit[l->docs[i] / 64] |= UINT64_C(1) << l->docs[i] % 64;
	}
	return e->failed ? NULL : bit;
}

/* The rarest word says which documents matter to the others; and to itself, where its list is that
 * of an attribute. */
static int open_only(struct exec *e, struct exec_loose *c)
{
	uint32_t rarest = c->order[0];
	uint64_t *only = NULL;
	for (uint32_t i = 0; i < c->words; i++) {
		struct loose_word *w = &c->word[i];
		c->many += w->terms > TERMS_FEW;
		if (w->terms <= TERMS_FEW || (i == rarest && !c->attr_lists))
			continue;
		if (!only && (only = bits_of_word(e, c, rarest)) == NULL)
			return -1;
		w->only = only;
	}
	return 0;
}

int exec_loose_open(struct exec *e, const struct exec_leaf *leaf, struct exec_loose **ret)
{
	const struct query_node *node = leaf->node;
	struct exec_loose *c = arena_alloc(e->arena, sizeof *c);
	*ret = c;
	c->leaf = leaf;
	c->attr = node->attribute.n ? segment_attr(e->segment, node->attribute) : -1;
	c->attr_lists = node->attribute.n && !leaf->main;
	if (node->attribute.n && c->attr < 0)
		return 1;
	c->word = arena_array(e->arena, leaf->words, sizeof *c->word);
	c->order = arena_array(e->arena, leaf->words, sizeof *c->order);
	for (uint32_t i = 0; i < leaf->words; i++) {
		c->words = i + 1;
		int rc = open_word(e, c, i);
		if (rc != 0)
			return rc;
		uint32_t j = i;
		for (; j > 0 && c->word[c->order[j - 1]].df > c->word[i].df; j--)
			c->order[j] = c->order[j - 1];
		c->order[j] = i;
	}
	return open_only(e, c);
}

void exec_loose_close(struct exec *e, struct exec_loose *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->words; i++) {
		struct loose_word *w = &c->word[i];
		for (uint32_t k = 0; w->cursor && k < MIN(w->terms, CURSORS); k++)
			if (w->cursor[k].open)
				postings_close(&w->cursor[k].p);
		e->made -= w->charged;
		mem_free(&w->pair);
		mem_free(&w->place);
		mem_free(&w->tmp);
	}
	mem_free(&c->start);
}

/* Terms of documents */

static void put_pairs(struct loose_word *w, uint32_t term, const uint32_t *doc, uint32_t n)
{
	VEC_ROOM(w->pair, w->room, w->pairs + n);
	for (uint32_t i = 0; i < n; i++) {
		w->pair[w->pairs] = (uint64_t)doc[i] << 32 | term;
		w->pairs += doc[i] >= w->from && doc[i] < w->to &&
			    (!w->only || words_bit(w->only, doc[i]));
	}
}

/* The first block that may have documents of the window. */
static uint32_t first_block(const struct postings *p, uint32_t doc)
{
	return BISECT(i, 0, p->blocks, p->last[i] < doc);
}

static bool pair_term(struct exec *e, struct loose_word *w, uint32_t term)
{
	struct segment_term info = exec_meant_info(&w->meant[term]);
	uint32_t docs[SEGMENT_BLOCK];
	struct postings p;
	if (info.bytes == 0) {
		put_pairs(w, term, &info.doc, 1);
		return true;
	}
	int rc = postings_open(e->segment, &info, &p, e->err);
	for (uint32_t b = rc == 0 ? first_block(&p, w->from) : 0; rc == 0 && b < p.blocks; b++) {
		if (exec_late(e) || (b > 0 && p.last[b - 1] >= w->to))
			break;
		rc = postings_docs(&p, b, docs, e->err);
		if (rc == 0)
			put_pairs(w, term, docs, postings_in_block(&p, b));
	}
	postings_close(&p);
	return rc == 0 || exec_fail(e) == 0;
}

/* How many pairs a word may have: an equal share of what there is for the leaf. */
static size_t pairs_most(const struct exec *e, const struct exec_loose *c)
{
	size_t left = EXEC_MADE_MOST - MIN(e->made, (size_t)EXEC_MADE_MOST);
	size_t bytes = MIN((size_t)PAIRS_MOST, left / 2) / c->many;
	return MAX(bytes / (2 * sizeof(uint64_t)), (size_t)PAIRS_LEAST);
}

/* The window that has the document, narrower where there are too many. */
static bool load_window(struct exec *e, const struct exec_loose *c, struct loose_word *w,
			uint32_t doc)
{
	size_t most = pairs_most(e, c);
	bool fits = false;
	while (!fits) {
		w->from = doc - doc % w->span;
		w->to = w->from + MIN(w->span, e->docs - w->from);
		w->pairs = 0;
		uint32_t i = 0;
		while (i < w->terms && (w->pairs <= most || w->span == 1) && !exec_late(e) &&
		       pair_term(e, w, i))
			i++;
		if (e->failed || e->cut)
			return false;
		fits = i == w->terms;
		w->span = fits ? w->span : (w->span + 3) / 4;
	}
	uint64_t *tmp = mem_array(MAX(w->pairs, 1), sizeof *tmp);
	exec_sort(w->pair, tmp, w->pairs, 32, 32 - (unsigned)__builtin_clz(e->docs | 1));
	mem_free(&tmp);
	e->made += w->room * sizeof *w->pair - w->charged;
	w->charged = w->room * sizeof *w->pair;
	return true;
}

/* Positions of a document */

static int cursor_open(struct exec *e, struct loose_word *w, uint32_t term, struct cursor **ret)
{
	if (!w->cursor)
		w->cursor = arena_array(e->arena, MIN(w->terms, CURSORS), sizeof *w->cursor);
	struct cursor *k = &w->cursor[term % CURSORS];
	*ret = k;
	if (k->open && k->term == term)
		return 0;
	if (k->open)
		postings_close(&k->p);
	k->open = false;
	k->term = term;
	k->block = NO_DOC;
	k->info = w->meant ? exec_meant_info(&w->meant[term]) : w->one;
	if (postings_open(e->segment, &k->info, &k->p, e->err) < 0)
		return exec_fail(e);
	k->open = true;
	return 0;
}

/* 0: *ret is the document's place in the list. 1: it is not there. */
static int cursor_seek(struct exec *e, struct cursor *k, uint32_t doc, uint32_t *ret)
{
	uint32_t lo = first_block(&k->p, doc);
	if (lo == k->p.blocks)
		return 1;
	if (k->block != lo) {
		k->block = NO_DOC;
		if (postings_docs(&k->p, lo, k->docs, e->err) < 0)
			return exec_fail(e);
		k->block = lo;
	}
	uint32_t at = 0;
	for (uint32_t half = SEGMENT_BLOCK / 2; half; half /= 2)
		at += k->docs[at + half - 1] < doc ? half : 0;
	*ret = at;
	return k->docs[at] == doc ? 0 : 1;
}

static uint32_t form_errors(const struct loose_word *w, const struct exec_forms *forms,
			    uint32_t form)
{
	if (w->exact)
		return form == w->form ? 0 : NOT_MEANT;
	return form < forms->n ? forms->errors[form] : NOT_MEANT;
}

static bool read_term(struct exec *e, struct loose_word *w, uint32_t term, uint32_t doc)
{
	const struct exec_forms *by_form = w->meant ? w->meant[term].forms : NULL;
	const uint32_t *position, *form = NULL;
	struct cursor *k;
	uint32_t n, forms, at = 0, all = w->meant ? w->meant[term].errors : 0;
	if (cursor_open(e, w, term, &k) < 0)
		return false;
	int rc = cursor_seek(e, k, doc, &at);
	if (rc != 0)
		return rc == 1;
	if (postings_positions(&k->p, k->block, at, &position, &n, e->err) < 0 ||
	    ((w->exact || by_form) &&
	     postings_forms(&k->p, k->block, at, &form, &forms, e->err) < 0))
		return exec_fail(e) == 0;
	VEC_ROOM(w->place, w->place_room, w->places + n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t errors = form ? form_errors(w, by_form, form[i]) : all;
		w->place[w->places] = (uint64_t)position[i] << 8 | errors;
		w->places += errors != NOT_MEANT;
	}
	return true;
}

static size_t first_pair(const struct loose_word *w, uint32_t doc)
{
	return BISECT(i, 0, w->pairs, w->pair[i] >> 32 < doc);
}

/* false: the document does not have the word, or something failed. */
static bool read_word(struct exec *e, const struct exec_loose *c, struct loose_word *w,
		      uint32_t doc)
{
	w->places = 0;
	uint32_t terms = 0;
	bool few = w->terms <= TERMS_FEW;
	if (!few && (doc < w->from || doc >= w->to) && !load_window(e, c, w, doc))
		return false;
	for (uint32_t i = 0; few && i < w->terms; i++) {
		size_t before = w->places;
		if (!read_term(e, w, i, doc))
			return false;
		terms += w->places > before;
	}
	for (size_t i = few ? 0 : first_pair(w, doc); i < w->pairs && w->pair[i] >> 32 == doc;
	     i++, terms++)
		if (!read_term(e, w, (uint32_t)w->pair[i], doc))
			return false;
	if (terms > 1) {
		VEC_ROOM(w->tmp, w->tmp_room, w->places);
		exec_sort(w->place, w->tmp, w->places, 8, 32);
	}
	return w->places > 0;
}

/* Phrases */

static void starts_of_word(struct exec_loose *c, const struct loose_word *w, uint32_t number)
{
	VEC_ROOM(c->start, c->start_room, w->places);
	c->starts = 0;
	for (size_t i = 0; i < w->places; i++) {
		uint64_t position = w->place[i] >> 8, errors = w->place[i] & 0xff;
		c->start[c->starts] = (position - number) << 8 | errors;
		c->starts += position >= number && errors <= c->leaf->errors;
	}
}

/* Of the places where the phrase may begin, those after which the word stands where it must. */
static void join_word(struct exec_loose *c, const struct loose_word *w, uint32_t number)
{
	size_t n = 0;
	for (size_t i = 0, at = 0; i < c->starts && at < w->places;) {
		uint64_t a = (c->start[i] >> 8) + number, b = w->place[at] >> 8;
		uint64_t errors = (c->start[i] & 0xff) + (w->place[at] & 0xff);
		if (a == b && errors <= c->leaf->errors)
			c->start[n++] = (c->start[i] & ~UINT64_C(0xff)) | errors;
		i += a <= b;
		at += b <= a;
	}
	c->starts = n;
}

static bool starts_inside(struct exec *e, const struct exec_loose *c, uint32_t doc)
{
	struct exec_inside in;
	if (c->attr < 0)
		return c->starts > 0;
	if (!exec_inside_open(e, doc, &in))
		return false;
	for (size_t i = 0; i < c->starts; i++) {
		const struct segment_range *r = exec_inside(e, &in, (uint32_t)(c->start[i] >> 8));
		if (r && r->attr == (uint32_t)c->attr)
			return true;
	}
	return false;
}

static bool phrase_stands(struct exec *e, struct exec_loose *c, uint32_t doc)
{
	for (uint32_t i = 0; i < c->words; i++) {
		uint32_t number = c->order[i];
		struct loose_word *w = &c->word[number];
		if (!read_word(e, c, w, doc))
			return false;
		if (i == 0)
			starts_of_word(c, w, number);
		else
			join_word(c, w, number);
		if (c->starts == 0)
			return false;
	}
	return starts_inside(e, c, doc);
}

/* Two words near each other: in one value, at different positions. */
static bool near_stands(struct exec *e, struct exec_loose *c, uint32_t doc)
{
	const struct loose_word *a = &c->word[0], *b = &c->word[1];
	uint64_t distance = c->leaf->node->distance;
	struct exec_inside in;
	for (uint32_t i = 0; i < 2; i++)
		if (!read_word(e, c, &c->word[c->order[i]], doc))
			return false;
	if (!exec_inside_open(e, doc, &in))
		return false;
	for (size_t i = 0, j = 0; i < a->places; i++) {
		uint64_t at = a->place[i] >> 8;
		const struct segment_range *r = exec_inside(e, &in, (uint32_t)at);
		if (!r || (c->attr >= 0 && r->attr != (uint32_t)c->attr))
			continue;
		uint64_t from = MAX(at - MIN(at, distance), r->first);
		uint64_t to = MIN(at + distance, (uint64_t)r->first + r->n - 1);
		while (j < b->places && b->place[j] >> 8 < from)
			j++;
		size_t k = j + (j < b->places && b->place[j] >> 8 == at);
		for (; k < b->places && b->place[k] >> 8 <= to; k++)
			if (b->place[k] >> 8 != at)
				return true;
	}
	return false;
}

bool exec_loose(struct exec *e, struct exec_loose *c, uint32_t doc)
{
	bool near = c->leaf->node->op == QUERY_NEAR;
	return (near ? near_stands : phrase_stands)(e, c, doc) && !e->failed;
}
