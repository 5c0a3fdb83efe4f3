/* Segments merged: documents first, then the terms of all sources in step, each with the postings
 * of the sources one after the other. Documents keep their order, so that postings only have to be
 * renumbered; only where they are numbered by rank does a list wait in memory to be sorted. What
 * comes out has the same bytes as a segment built at once from the same documents.
 *
 * A merge must not be felt by those who ask meanwhile. One that goes past the page cache reads once
 * what it reads, and gives the memory back every few MiB, but for pages that a reader has mapped;
 * what it writes is not kept either. A gentle one works a few milliseconds at a time and rests as
 * long, so that it takes at most half a processor and half of what the disk can do. */
#include "index/words/segment_write.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"
#include "index/token.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum {
	WINDOW = 8 << 20,     /* bytes of lists that are read before what was read is given back */
	SLICE_US = 4000,      /* of work */
	REST_MOST_US = 50000, /* so that it stops soon where it has to */
	STEPS = 16,           /* blocks of postings or documents between two looks at the clock */
};

/* A source while it is merged. */
struct side {
	const struct merge_source *source;
	uint32_t *attr; /* by its own number: the new one */
	const uint8_t *lengths;
	struct segment_column column[SEGMENT_COLUMNS_MOST];
	/* Of a column of words, by number in it: that in the new one; 0: not asked for yet. */
	uint32_t *value[SEGMENT_COLUMNS_MOST];
	uint32_t values[SEGMENT_COLUMNS_MOST];
	/* The current term in the current attribute. */
	struct segment_walk walk;
	bool there;
	/* Its own forms by number: those of the merged term. */
	uint32_t *form;
	size_t forms, form_room;
};

TABLE(form_numbers, struct str, uint32_t, hash64, str_eq)

/* A posting that waits to be put in order. */
struct waiting {
	uint32_t doc, tf, count;
	size_t at; /* of its occurrences */
};

struct merge {
	const struct merge_spec *spec;
	struct side *side;
	size_t n;
	struct str *name; /* of attributes */
	uint32_t attrs;
	struct segment_writer *out;
	const uint8_t *lengths;      /* of the new documents */
	struct form_numbers numbers; /* of the forms of the current term */
	struct buf own;
	struct arena arena;
	struct waiting *waiting;
	size_t waits, wait_room;
	uint32_t *occ; /* gap and form of each waiting occurrence */
	size_t occs, occ_room;
	uint64_t bytes; /* of lists that were read since what was read was given back */
	uint32_t steps;
	int64_t since_us; /* when it began to work */
};

/* Rests where it has worked for a slice. */
static void rest_perhaps(struct merge *m)
{
	if (!m->spec->gently || ++m->steps % STEPS)
		return;
	int64_t worked_us = clock_mono_us() - m->since_us;
	if (worked_us < SLICE_US)
		return;
	int64_t rest_us = MIN(worked_us, (int64_t)REST_MOST_US);
	struct timespec rest = {.tv_nsec = rest_us * 1000};
	(void)nanosleep(&rest, NULL);
	m->since_us = clock_mono_us();
}

static void forget_sides(struct merge *m)
{
	m->bytes = 0;
	for (size_t i = 0; m->spec->past_cache && i < m->n; i++)
		segment_forget(m->side[i].source->segment);
}

static int is_stopped(struct merge *m, struct err *err)
{
	rest_perhaps(m);
	if (LIKELY(!atomic_load_explicit(m->spec->stop, memory_order_relaxed)))
		return 0;
	return err_set(err, ERR_SYSTEM, "the merge was stopped");
}

/* Attributes */

static uint32_t attr_number(struct merge *m, struct str name)
{
	for (uint32_t i = 0; i < m->attrs; i++)
		if (str_eq(m->name[i], name))
			return i;
	if (m->attrs == WORDS_ATTRS_MOST)
		return 1; /* nameless: its lists are left out */
	m->name[m->attrs] = name;
	return m->attrs++;
}

static void number_attrs(struct merge *m)
{
	m->name = mem_array(WORDS_ATTRS_MOST, sizeof *m->name);
	for (size_t i = 0; i < m->n; i++) {
		struct segment *s = m->side[i].source->segment;
		uint32_t attrs = segment_info(s)->attrs;
		m->side[i].attr = mem_array(attrs, sizeof(uint32_t));
		for (uint32_t k = 0; k < attrs; k++)
			m->side[i].attr[k] = attr_number(m, segment_attr_name(s, k));
	}
}

/* Documents */

struct place {
	uint32_t side, doc;
	int64_t rank;
};

static int by_rank(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return x->doc < y->doc ? -1 : x->doc > y->doc;
}

struct ranges {
	struct segment_range *range;
	size_t room;
};

static int new_value(struct merge *m, struct side *side, uint32_t column, int64_t *number,
		     struct err *err)
{
	struct str text;
	uint64_t old = (uint64_t)*number;
	if (*number == SEGMENT_ABSENT || !side->value[column])
		return 0;
	if (old > side->values[column])
		old = 0;
	if (!old || !side->value[column][old]) {
		if (segment_value(side->source->segment, column, (uint32_t)old, &text, err) < 0)
			return -1;
		side->value[column][old] = segment_put_value(m->out, column, text);
	}
	*number = side->value[column][old];
	return 0;
}

static int put_doc(struct merge *m, const struct place *p, struct ranges *r, struct err *err)
{
	struct side *side = &m->side[p->side];
	struct segment *s = side->source->segment;
	struct segment_ranges it;
	struct segment_range range;
	struct str key;
	int64_t number[SEGMENT_COLUMNS_MOST];
	struct arena_mark mark = arena_mark(&m->arena);
	if (segment_key(s, p->doc, &m->arena, &key, err) < 0 ||
	    segment_ranges(s, p->doc, &it, err) < 0)
		return -1;
	struct segment_doc doc = {.key = key};
	int rc;
	while ((rc = segment_ranges_next(&it, &range, err)) == 0) {
		range.attr = side->attr[range.attr];
		*VEC_PUSH(r->range, doc.ranges, r->room) = range;
		doc.length +=
			(uint64_t)range.n * words_weight(m->spec->settings, m->name[range.attr]);
	}
	if (rc < 0)
		return -1;
	ENSURE(m->spec->settings->columns <= WORDS_COLUMNS_MOST);
	for (uint32_t i = 0; i < SEGMENT_COLUMN + m->spec->settings->columns; i++) {
		number[i] = segment_number(&side->column[i], p->doc);
		if (new_value(m, side, i, &number[i], err) < 0)
			return -1;
	}
	if (number[SEGMENT_RANK] > segment_info(s)->rank_most)
		return parts_damaged(&s->f, err,
				     "the rank of document %" PRIu32 " is more than the most",
				     p->doc);
	doc.range = r->range;
	doc.number = number;
	segment_put_doc(m->out, &doc);
	arena_reset(&m->arena, mark);
	return 0;
}

/* The documents that stay, in their new order. */
static struct place *places_of(const struct merge *m, size_t *ret_n)
{
	size_t all = 0, n = 0;
	for (size_t i = 0; i < m->n; i++)
		all += segment_info(m->side[i].source->segment)->docs;
	struct place *p = mem_array(all, sizeof *p);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct side *side = &m->side[i];
		uint32_t docs = segment_info(side->source->segment)->docs;
		for (uint32_t doc = 0; doc < docs; doc++) {
			side->source->number[doc] = UINT32_MAX;
			if (words_bit(side->source->deleted, doc))
				continue;
			p[n].side = i;
			p[n].doc = doc;
			p[n++].rank = segment_number(&side->column[SEGMENT_RANK], doc);
		}
	}
	if (m->spec->by_rank && n)
		qsort(p, n, sizeof *p, by_rank);
	for (size_t i = 0; i < n; i++)
		m->side[p[i].side].source->number[p[i].doc] = (uint32_t)i;
	*ret_n = n;
	return p;
}

/* Terms */

static uint32_t merged_form(struct merge *m, struct str text)
{
	bool is_new;
	uint32_t *number = form_numbers_get(&m->numbers, text);
	if (number)
		return *number;
	uint32_t next = SEGMENT_FORM_OWN + (uint32_t)form_numbers_count(&m->numbers);
	*form_numbers_put_new(&m->numbers, arena_str(&m->arena, text), &is_new) = next;
	put_text(&m->own, text);
	return next;
}

/* Own forms of a side's term get numbers in the merged one. */
static int map_forms(struct merge *m, struct side *side, struct err *err)
{
	struct segment_forms it;
	struct str form;
	side->forms = 0;
	if (segment_forms(side->source->segment, &side->walk.info, &it, err) < 0)
		return -1;
	int rc;
	while ((rc = segment_forms_next(&it, &form, err)) == 0)
		*VEC_PUSH(side->form, side->forms, side->form_room) = merged_form(m, form);
	return MIN(rc, 0);
}

static int new_form(const struct side *side, uint32_t form, uint32_t *ret, struct err *err)
{
	*ret = form;
	if (form < SEGMENT_FORM_OWN)
		return 0;
	if (form - SEGMENT_FORM_OWN >= side->forms)
		return err_set(err, ERR_DAMAGED,
			       "%s: a term has no form %u; the index has to be "
			       "built again",
			       segment_path(side->source->segment), form);
	*ret = side->form[form - SEGMENT_FORM_OWN];
	return 0;
}

static int one_posting(struct merge *m, struct list_writer *l, struct side *side,
		       struct postings *p, uint32_t block, uint32_t i, uint32_t doc, uint32_t tf,
		       struct err *err)
{
	const uint32_t *position = NULL, *form = NULL;
	uint32_t n = 0, number = 0;
	if (l->positions && (postings_positions(p, block, i, &position, &n, err) < 0 ||
			     (l->forms && postings_forms(p, block, i, &form, &n, err) < 0)))
		return -1;
	if (m->spec->by_rank)
		VEC_ROOM(m->occ, m->occ_room, m->occs + 2 * (size_t)n);
	for (size_t k = 0; k < n; k++) {
		uint32_t gap = k ? position[k] - position[k - 1] : position[0];
		if (form && new_form(side, form[k], &number, err) < 0)
			return -1;
		if (m->spec->by_rank) {
			m->occ[m->occs + 2 * k] = gap;
			m->occ[m->occs + 2 * k + 1] = number;
		} else {
			list_occurrence(l, gap, number);
		}
	}
	if (m->spec->by_rank) {
		*VEC_PUSH(m->waiting, m->waits, m->wait_room) =
			(struct waiting){doc, tf, n, m->occs};
		m->occs += 2 * (size_t)n;
	} else {
		list_posting(l, doc, tf, l->positions ? n : tf, m->lengths[doc]);
	}
	return 0;
}

static int side_postings(struct merge *m, struct list_writer *l, struct side *side, struct err *err)
{
	struct postings p;
	uint32_t docs[SEGMENT_BLOCK], tfs[SEGMENT_BLOCK];
	int rc = postings_open(side->source->segment, &side->walk.info, &p, err);
	for (uint32_t block = 0; rc == 0 && block < p.blocks; block++) {
		if (is_stopped(m, err) < 0 || postings_docs(&p, block, docs, err) < 0 ||
		    postings_tfs(&p, block, tfs, err) < 0)
			rc = -1;
		uint32_t n = postings_in_block(&p, block);
		for (uint32_t i = 0; rc == 0 && i < n; i++) {
			uint32_t doc = side->source->number[docs[i]];
			if (doc != UINT32_MAX)
				rc = one_posting(m, l, side, &p, block, i, doc, tfs[i], err);
		}
	}
	postings_close(&p);
	return rc;
}

static int by_doc(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	return x->doc < y->doc ? -1 : x->doc > y->doc;
}

static void put_waiting(struct merge *m, struct list_writer *l)
{
	if (m->waits)
		qsort(m->waiting, m->waits, sizeof *m->waiting, by_doc);
	for (size_t i = 0; i < m->waits; i++) {
		const struct waiting *w = &m->waiting[i];
		for (size_t k = 0; k < w->count; k++)
			list_occurrence(l, m->occ[w->at + 2 * k], m->occ[w->at + 2 * k + 1]);
		list_posting(l, w->doc, w->tf, l->positions ? w->count : w->tf, m->lengths[w->doc]);
	}
	m->waits = m->occs = 0;
}

static int next_term(struct side *side, struct err *err)
{
	int rc = segment_walk_next(&side->walk, err);
	side->there = rc == 0;
	return MIN(rc, 0);
}

/* The sides whose term is the least, in *ret_term. false: all are at their end. */
static bool least_term(const struct merge *m, struct str *ret_term)
{
	bool any = false;
	for (size_t i = 0; i < m->n; i++) {
		const struct side *side = &m->side[i];
		if (!side->there || (any && str_cmp(side->walk.term, *ret_term) >= 0))
			continue;
		*ret_term = side->walk.term;
		any = true;
	}
	return any;
}

static int merge_term(struct merge *m, uint32_t attr, struct str text, struct err *err)
{
	char term[TOKEN_TERM_MOST];
	bool forms = false;
	struct arena_mark mark = arena_mark(&m->arena);
	memcpy(term, text.p, text.n);
	text.p = term;
	buf_clear(&m->own);
	form_numbers_clear(&m->numbers);
	for (size_t i = 0; i < m->n; i++) {
		struct side *side = &m->side[i];
		if (!side->there || !str_eq(side->walk.term, text))
			continue;
		forms |= segment_has_forms(side->source->segment, &side->walk.info);
		if (attr == SEGMENT_COMBINED && map_forms(m, side, err) < 0)
			return -1;
	}
	struct list_writer *l = segment_put_begin(m->out, attr, forms);
	for (size_t i = 0; i < m->n; i++) {
		struct side *side = &m->side[i];
		if (!side->there || !str_eq(side->walk.term, text))
			continue;
		m->bytes += side->walk.info.bytes;
		if (side_postings(m, l, side, err) < 0 || next_term(side, err) < 0)
			return -1;
	}
	if (m->bytes >= WINDOW)
		forget_sides(m);
	if (m->spec->by_rank)
		put_waiting(m, l);
	segment_put_end(m->out, text, buf_str(&m->own));
	arena_reset(&m->arena, mark);
	return 0;
}

/* The number of an attribute in one side; -1: it has none. */
static int own_number(const struct side *side, uint32_t attr)
{
	uint32_t attrs = segment_info(side->source->segment)->attrs;
	for (uint32_t i = 0; i < attrs; i++)
		if (side->attr[i] == attr)
			return (int)i;
	return -1;
}

static int merge_attr(struct merge *m, uint32_t attr, struct err *err)
{
	struct str term;
	for (size_t i = 0; i < m->n; i++) {
		struct side *side = &m->side[i];
		int number = own_number(side, attr);
		side->there = false;
		if (number < 0)
			continue;
		if (segment_walk(side->source->segment, (unsigned)number, STR(""), &side->walk,
				 err) < 0 ||
		    next_term(side, err) < 0)
			return -1;
	}
	while (least_term(m, &term))
		if (merge_term(m, attr, term, err) < 0)
			return -1;
	return 0;
}

/* All */

static int open_column(const struct merge *m, struct side *side, uint32_t c, struct err *err)
{
	struct segment *s = side->source->segment;
	if (segment_column(s, c, &side->column[c], err) < 0)
		return -1;
	if (c < SEGMENT_COLUMN || m->spec->settings->column[c - SEGMENT_COLUMN].type != WORDS_WORD)
		return 0;
	if (segment_values(s, c, &side->values[c], err) < 0)
		return -1;
	side->value[c] = mem_array((size_t)side->values[c] + 1, sizeof(uint32_t));
	return 0;
}

static int open_sides(struct merge *m, struct err *err)
{
	uint32_t columns = SEGMENT_COLUMN + m->spec->settings->columns;
	for (size_t i = 0; i < m->n; i++) {
		struct side *side = &m->side[i];
		if (segment_lengths(side->source->segment, &side->lengths, err) < 0)
			return -1;
		for (uint32_t c = 0; c < columns; c++)
			if (open_column(m, side, c, err) < 0)
				return -1;
	}
	return 0;
}

static int put_all(struct merge *m, const struct place *place, size_t docs, struct err *err)
{
	struct ranges ranges = {0};
	int rc = 0;
	for (size_t i = 0; i < docs && rc == 0; i++) {
		rc = is_stopped(m, err);
		if (rc == 0)
			rc = put_doc(m, &place[i], &ranges, err);
	}
	mem_free(&ranges.range);
	forget_sides(m);
	m->lengths = segment_put_lengths(m->out);
	for (uint32_t attr = 0; attr < m->attrs && rc == 0; attr++)
		rc = merge_attr(m, attr, err);
	for (size_t i = 0; i < m->n && rc == 0; i++)
		rc = segment_check(m->side[i].source->segment, err);
	return rc;
}

static void merge_release(struct merge *m)
{
	for (size_t i = 0; i < m->n; i++) {
		for (uint32_t c = 0; c < SEGMENT_COLUMNS_MOST; c++)
			mem_free(&m->side[i].value[c]);
		mem_free(&m->side[i].attr);
		mem_free(&m->side[i].form);
	}
	mem_free(&m->side);
	mem_free(&m->name);
	mem_free(&m->waiting);
	mem_free(&m->occ);
	form_numbers_free(&m->numbers);
	buf_free(&m->own);
	arena_free(&m->arena);
}

static int merge_to(struct merge *m, const char *path, struct err *err)
{
	size_t docs;
	if (open_sides(m, err) < 0)
		return -1;
	number_attrs(m);
	struct place *place = places_of(m, &docs);
	int rc = docs == 0;
	if (docs > SEGMENT_DOCS_MOST)
		rc = err_set(err, ERR_SYSTEM, "%s: %zu documents, a segment has at most %d", path,
			     docs, SEGMENT_DOCS_MOST);
	if (rc == 0)
		rc = segment_create(&m->out, path, m->name, m->attrs,
				    SEGMENT_COLUMN + m->spec->settings->columns,
				    m->spec->past_cache, err);
	if (rc == 0) {
		rc = put_all(m, place, docs, err);
		if (rc < 0)
			segment_put_drop(&m->out);
		else
			rc = segment_put_finish(&m->out, true, err);
	}
	mem_free(&place);
	return rc;
}

int segment_merge(const struct merge_source *source, size_t n, const struct merge_spec *spec,
		  const char *path, struct err *err)
{
	struct merge m = {.spec = spec, .n = n, .since_us = clock_mono_us()};
	m.side = mem_array(n, sizeof *m.side);
	m.own = BUF_INIT(SIZE_MAX / 2);
	m.arena = ARENA_INIT(SIZE_MAX);
	for (size_t i = 0; i < n; i++)
		m.side[i].source = &source[i];
	int rc = merge_to(&m, path, err);
	merge_release(&m);
	return rc;
}
