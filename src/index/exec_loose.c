/* Positions of words that mean many terms: phrases with patterns and errors, words near each other,
 * patterns whose forms count.
 *
 * The positions of such a word in a document are those of all its terms there. Which terms a
 * document has is found out once, when the segment is opened, by reading the documents of their
 * lists: pairs of document and term, sorted. Only documents that the rarest word of the leaf has
 * are written down. Lists are then opened for positions as documents are asked for, a few at a
 * time: what documents share are the common terms, which stay open. */
#include "base/vec.h"
#include "index/exec.h"

enum {
	CURSORS = 32, /* lists of a word that are open at a time */
	NOT_MEANT = UINT8_MAX,
	ENTRIES_FIRST = 1024,
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
	const struct terms_found *found;
	uint32_t founds;
	struct terms_found one; /* of a plain word, which has no others */
	uint32_t form;          /* of a plain word that is exact */
	bool exact;
	uint64_t postings;
	uint32_t df;
	uint64_t *entry; /* document << 32 | term; where there is more than one term */
	size_t entries, room, charged;
	struct cursor *cursor;
	/* In the current document: position << 8 | errors, ascending. */
	uint64_t *place, *tmp;
	size_t places, place_room, tmp_room;
};

struct exec_loose {
	const struct exec_leaf *leaf;
	int attr; /* -1: any */
	bool attr_lists;
	uint32_t words;
	struct loose_word *word;
	uint32_t *order; /* words, the rarest first */
	uint64_t *start; /* where the phrase may begin << 8 | errors so far */
	size_t starts, start_room;
};

/* Opening */

static int open_plain(struct exec *e, struct loose_word *w, const struct query_node *node,
		      uint32_t number, const struct exec_term *t)
{
	w->one = (struct terms_found){.info = t->info[e->number], .term = t->term};
	w->found = &w->one;
	w->founds = t->info[e->number].df ? 1 : 0;
	if (!node->exact || w->founds == 0)
		return 0;
	w->exact = true;
	return segment_form(e->segment, &w->one.info, t->term, node->word[number].form, &w->form,
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
		w->found = u->found;
		w->founds = (uint32_t)u->founds;
	} else {
		rc = open_plain(e, w, c->leaf->node, number, t);
	}
	if (rc < 0)
		return exec_fail(e);
	w->df = u && u->docs ? u->df : t->info[e->number].df;
	for (uint32_t i = 0; i < w->founds; i++)
		w->postings += w->found[i].info.df;
	w->cursor = arena_array(e->arena, MIN(MAX(w->founds, 1), CURSORS), sizeof *w->cursor);
	return rc == 1 || w->founds == 0 || w->df == 0;
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

static bool put_entries(struct exec *e, struct loose_word *w, const uint64_t *only, uint32_t term,
			const uint32_t *doc, uint32_t n)
{
	if (w->entries + n > w->room) {
		size_t room = MAX(w->room * 2, (size_t)ENTRIES_FIRST);
		if (!exec_may_make(e, 2 * room * sizeof *w->entry))
			return false;
		VEC_ROOM(w->entry, w->room, room);
	}
	for (uint32_t i = 0; i < n; i++) {
		w->entry[w->entries] = (uint64_t)doc[i] << 32 | term;
		w->entries += !only || words_bit(only, doc[i]);
	}
	return true;
}

static bool enter_term(struct exec *e, struct loose_word *w, const uint64_t *only, uint32_t term)
{
	const struct segment_term *info = &w->found[term].info;
	uint32_t docs[SEGMENT_BLOCK];
	struct postings p;
	bool good = true;
	if (info->bytes == 0)
		return put_entries(e, w, only, term, &info->doc, 1);
	int rc = postings_open(e->segment, info, &p, e->err);
	for (uint32_t b = 0; rc == 0 && good && b < p.blocks && !exec_late(e); b++) {
		rc = postings_docs(&p, b, docs, e->err);
		if (rc == 0)
			good = put_entries(e, w, only, term, docs, postings_in_block(&p, b));
	}
	postings_close(&p);
	if (rc < 0)
		exec_fail(e);
	return rc == 0 && good;
}

/* Which terms of the word each document has. */
static void enter_terms(struct exec *e, struct exec_loose *c, uint32_t number, const uint64_t *only)
{
	struct loose_word *w = &c->word[number];
	for (uint32_t i = 0; i < w->founds && !exec_late(e); i++)
		if (!enter_term(e, w, only, i))
			break;
	if (e->failed || w->entries == 0)
		return;
	uint64_t *tmp = mem_array(w->entries, sizeof *tmp);
	exec_sort(w->entry, tmp, w->entries, 32, 32 - (unsigned)__builtin_clz(e->docs | 1));
	mem_free(&tmp);
	w->charged = w->room * sizeof *w->entry;
	e->made += w->charged;
}

static int open_entries(struct exec *e, struct exec_loose *c)
{
	uint32_t rarest = c->order[0];
	uint64_t *only = NULL;
	for (uint32_t i = 0; i < c->words && !e->failed; i++) {
		struct loose_word *w = &c->word[i];
		if (w->founds < 2)
			continue;
		if (!only && i != rarest && (only = bits_of_word(e, c, rarest)) == NULL)
			return -1;
		enter_terms(e, c, i, i != rarest ? only : NULL);
	}
	return e->failed ? -1 : 0;
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
	return open_entries(e, c);
}

void exec_loose_close(struct exec *e, struct exec_loose *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->words; i++) {
		struct loose_word *w = &c->word[i];
		for (uint32_t k = 0; w->cursor && k < MIN(MAX(w->founds, 1), CURSORS); k++)
			if (w->cursor[k].open)
				postings_close(&w->cursor[k].p);
		e->made -= w->charged;
		mem_free(&w->entry);
		mem_free(&w->place);
		mem_free(&w->tmp);
	}
	mem_free(&c->start);
}

/* Positions of a document */

/* The list over all attributes of a term; found has that of the attribute. */
static int cursor_open(struct exec *e, const struct exec_loose *c, struct loose_word *w,
		       uint32_t term, struct cursor **ret)
{
	struct cursor *k = &w->cursor[term % CURSORS];
	const struct terms_found *found = &w->found[term];
	*ret = k;
	if (k->open && k->term == term)
		return 0;
	if (k->open)
		postings_close(&k->p);
	k->open = false;
	k->term = term;
	k->block = NO_DOC;
	k->info = found->info;
	if (c->attr_lists && found != &w->one &&
	    segment_term(e->segment, SEGMENT_COMBINED, found->term, &k->info, e->err) != 0)
		return exec_fail(e);
	if (postings_open(e->segment, &k->info, &k->p, e->err) < 0)
		return exec_fail(e);
	k->open = true;
	return 0;
}

/* 0: *ret is the document's place in the list. 1: it is not there. */
static int cursor_seek(struct exec *e, struct cursor *k, uint32_t doc, uint32_t *ret)
{
	uint32_t lo = 0, hi = k->p.blocks;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (k->p.last[mid] < doc)
			lo = mid + 1;
		else
			hi = mid;
	}
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

static uint32_t form_errors(const struct loose_word *w, const struct terms_found *found,
			    uint32_t form)
{
	if (w->exact)
		return form == w->form ? 0 : NOT_MEANT;
	if (!found->forms)
		return found->errors;
	if (form >= found->nforms || !(found->forms[form / 64] >> form % 64 & 1))
		return NOT_MEANT;
	return found->form_errors ? found->form_errors[form] : found->errors;
}

static bool read_term(struct exec *e, const struct exec_loose *c, struct loose_word *w,
		      uint32_t term, uint32_t doc)
{
	const struct terms_found *found = &w->found[term];
	const uint32_t *position, *form = NULL;
	struct cursor *k;
	uint32_t n, forms, at = 0;
	if (cursor_open(e, c, w, term, &k) < 0)
		return false;
	int rc = cursor_seek(e, k, doc, &at);
	if (rc != 0)
		return rc == 1;
	if (postings_positions(&k->p, k->block, at, &position, &n, e->err) < 0 ||
	    ((w->exact || found->forms) &&
	     postings_forms(&k->p, k->block, at, &form, &forms, e->err) < 0))
		return exec_fail(e) == 0;
	VEC_ROOM(w->place, w->place_room, w->places + n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t errors = form ? form_errors(w, found, form[i]) : found->errors;
		w->place[w->places] = (uint64_t)position[i] << 8 | errors;
		w->places += errors != NOT_MEANT;
	}
	return true;
}

static size_t first_entry(const struct loose_word *w, uint32_t doc)
{
	size_t lo = 0, hi = w->entries;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (w->entry[mid] >> 32 < doc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* false: the document does not have the word, or something failed. */
static bool read_word(struct exec *e, const struct exec_loose *c, struct loose_word *w,
		      uint32_t doc)
{
	w->places = 0;
	if (w->founds == 1)
		return read_term(e, c, w, 0, doc) && w->places > 0;
	uint32_t terms = 0;
	for (size_t i = first_entry(w, doc); i < w->entries && w->entry[i] >> 32 == doc;
	     i++, terms++)
		if (!read_term(e, c, w, (uint32_t)w->entry[i], doc))
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
