/* Marks: the words of a text one after the other, and for each the words of the query that it is.
 * Plain words are told apart by their first byte, which is most of the work. A phrase has, for each
 * of its words, how the last match up to it ended; since a match is a row of words side by side,
 * one place for each is enough. Words that wait for another near them are told when it comes.
 * Expressions are looked for line by line, and their marks come in between. */
#include "broker/marks.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "index/rx.h"
#include "index/suggest.h"

#include <stdlib.h>
#include <string.h>

enum {
	TOKENS_A_LOOK = 1024, /* between two looks at the clock */
	NEAR_WAITING = 16,    /* words on a side that wait for the other; the last ones */
	NO_LEAF = MARKS_WORDS,
	LINE_MOST = 256 << 10, /* bytes of a line in which expressions are looked for */
	TOLD_MOST = MARKS_WORDS * (1 + NEAR_WAITING), /* marks that one word can bring */
};

/* Up to one word of a phrase. */
struct phrase_step {
	uint32_t position, errors; /* of the last word that ended a match; of the whole */
	struct mark first;
	bool some;
};

/* A side of NEAR. */
struct near_side {
	uint32_t last, before; /* positions of its last two words */
	uint32_t seen;
	struct {
		uint32_t position;
		struct mark mark;
	} waiting[NEAR_WAITING];
	uint32_t waits;
};

struct marker_leaf {
	const struct query_node *node;
	bool here; /* its attribute is that of the text */
	uint32_t errors;
	struct phrase_step *step; /* PHRASE: by word */
	struct near_side *side;   /* NEAR: two */
};

struct marker_word {
	struct terms_want want;
	const struct errors_word *errors; /* made once; NULL: terms_means() is to be asked */
	bool plain;                       /* compared by its term, and if it is exact by its form */
	struct str form;
	uint32_t leaf, number; /* which word of the leaf */
};

/* An expression, and how far it is in the text. */
struct marker_rx {
	const struct query_node *node;
	uint32_t word;
	struct rx *rx;
	struct rx_run *run;
	bool ended;
	size_t next_line; /* where it begins */
	size_t line;      /* where the current one does */
	struct str text;  /* of the current line, perhaps folded; NULL: there is none */
	size_t from;      /* of it: what was looked at */
	struct buf folded;
	struct token_map map;
	struct mark mark; /* that comes next; n is 0 where it is still to be looked for */
};

struct marker {
	struct marker_spec spec;
	struct arena arena;
	struct marker_leaf leaf[MARKS_WORDS];
	struct marker_word word[MARKS_WORDS]; /* the last of a leaf first */
	uint32_t leaves, words, loose;        /* loose: that are not plain */
	uint64_t first[4];                    /* a bit for each byte that a plain one begins with */
	struct marker_rx rx[MARKS_EXPRESSIONS];
	uint32_t rxs;

	struct str text;
	struct tokens tokens;
	uint32_t looks;
	bool late;
	struct mark seen[QUERY_PHRASE_MOST]; /* words that were part of something, by position */
	struct marker_find told[TOLD_MOST];
	uint32_t next, tells;
};

/* Making */

static bool word_is_known(const struct marker *m, const struct query_node *node)
{
	for (uint32_t i = 0; i < m->words; i++) {
		const struct marker_word *w = &m->word[i];
		if (w->leaf == NO_LEAF)
			continue;
		const struct query_node *other = m->leaf[w->leaf].node;
		if (w->plain && other->op == QUERY_WORD && node->op == QUERY_WORD &&
		    str_eq(other->word[0].term, node->word[0].term) && !other->exact &&
		    !node->exact && str_eq(other->attribute, node->attribute) && !node->errors &&
		    !node->parts && !node->word[0].pattern)
			return true;
	}
	return false;
}

/* The automaton of a word with errors is larger than the words that it reads. */
static void prepare_errors(struct marker *m, struct marker_word *w)
{
	if (w->want.kind != TERMS_ERRORS || w->want.stemmed || !str_utf8(w->want.word))
		return;
	struct errors_word *errors = arena_alloc(&m->arena, sizeof *errors);
	errors_init(errors, w->want.word, w->want.k, w->want.open_left, w->want.open_right);
	errors->swaps = w->want.swaps;
	w->errors = errors;
}

static int add_word(struct marker *m, const struct query_node *node, uint32_t number,
		    struct err *err)
{
	struct marker_word *w = &m->word[m->words];
	*w = (struct marker_word){.leaf = m->leaves, .number = number};
	bool stemmed = m->spec.words && words_settings(m->spec.words)->language[0];
	bool loose = terms_want_of(node, number, stemmed, m->spec.rules, &w->want);
	if (!loose && node->forgive && !node->exact && m->spec.words) {
		size_t n;
		const struct words_part *part = words_parts(m->spec.words, &n);
		int rc = suggest_forgives(part, n, node->attribute, node->word[number].term,
					  &w->want, err);
		if (rc < 0)
			return -1;
		loose = rc == 0;
	}
	m->words++;
	m->loose += loose;
	if (loose) {
		prepare_errors(m, w);
		return 0;
	}
	w->plain = true;
	w->want.word = node->word[number].term;
	w->form = node->exact ? node->word[number].form : STR("");
	unsigned char c = w->want.word.n ? (unsigned char)w->want.word.p[0] : 0;
	m->first[c / 64] |= UINT64_C(1) << c % 64;
	return 0;
}

static int add_leaf(struct marker *m, const struct query_node *node, struct err *err)
{
	struct marker_leaf *leaf = &m->leaf[m->leaves];
	if (node->filter || node->words == 0 || m->words + node->words > MARKS_WORDS ||
	    word_is_known(m, node))
		return 0;
	*leaf = (struct marker_leaf){.node = node, .errors = (uint32_t)MAX(node->errors, 0)};
	if (node->op == QUERY_PHRASE)
		leaf->step = arena_array(&m->arena, node->words, sizeof *leaf->step);
	if (node->op == QUERY_NEAR)
		leaf->side = arena_array(&m->arena, 2, sizeof *leaf->side);
	for (uint32_t i = node->words; i-- > 0;)
		if (add_word(m, node, i, err) < 0)
			return -1;
	m->leaves++;
	return 0;
}

static bool marker_is_late_now(void *ctx)
{
	struct marker *m = ctx;
	if (m->spec.deadline_us)
		m->late |= clock_mono_us() >= m->spec.deadline_us;
	return m->late;
}

/* It has a number among the words, whose place stays empty. */
static int add_expression(struct marker *m, const struct query_node *node, struct err *err)
{
	struct marker_rx *x = &m->rx[m->rxs];
	size_t at;
	if (m->rxs == MARKS_EXPRESSIONS || m->words == MARKS_WORDS || marker_is_late_now(m))
		return 0;
	*x = (struct marker_rx){
		.node = node, .word = m->words, .folded = BUF_INIT(4 * (size_t)LINE_MOST)};
	if (rx_compile(&x->rx, node->match, !node->exact, &at, err) < 0)
		return -1;
	x->run = rx_run_new(x->rx);
	rx_run_late(x->run, marker_is_late_now, m);
	m->rxs++;
	m->word[m->words++] = (struct marker_word){.leaf = NO_LEAF};
	return 0;
}

static int add_leaves(struct marker *m, const struct query_node *node, struct err *err)
{
	switch (node->op) {
	case QUERY_WORD:
	case QUERY_PHRASE:
	case QUERY_NEAR:
		return add_leaf(m, node, err);
	case QUERY_AND:
	case QUERY_OR:
		for (uint32_t i = 0; i < node->kids; i++)
			if (add_leaves(m, node->kid[i], err) < 0)
				return -1;
		return 0;
	case QUERY_NOTHING:
	case QUERY_ALL:
	case QUERY_COMPARE:
	case QUERY_NOT:
		return 0;
	case QUERY_MATCH:
		return add_expression(m, node, err);
	}
	return 0;
}

int marker_new(struct marker **ret, const struct marker_spec *spec, struct err *err)
{
	struct marker *m = mem_alloc(sizeof *m);
	m->spec = *spec;
	m->arena = ARENA_INIT(1 << 20);
	if (spec->root && add_leaves(m, spec->root, err) < 0) {
		marker_free(&m);
		return -1;
	}
	*ret = m;
	return 0;
}

void marker_free(struct marker **mp)
{
	struct marker *m = *mp;
	if (!m)
		return;
	for (uint32_t i = 0; i < m->rxs; i++) {
		struct marker_rx *x = &m->rx[i];
		rx_run_free(&x->run);
		rx_free(&x->rx);
		buf_free(&x->folded);
		token_map_free(&x->map);
	}
	arena_free(&m->arena);
	mem_free(mp);
}

uint32_t marker_words(const struct marker *m)
{
	return m->words;
}

void marker_until(struct marker *m, int64_t deadline_us)
{
	m->spec.deadline_us = deadline_us;
}

bool marker_was_late(const struct marker *m)
{
	return m->late;
}

/* Finding */

void marker_begin(struct marker *m, struct str attribute, struct str text)
{
	m->text = text;
	m->next = m->tells = 0;
	tokens_init(&m->tokens, m->spec.rules, text, 0);
	for (uint32_t i = 0; i < m->leaves; i++) {
		struct marker_leaf *leaf = &m->leaf[i];
		const struct query_node *node = leaf->node;
		leaf->here = !node->attribute.n || str_eq_nocase(node->attribute, attribute);
		if (leaf->step)
			memset(leaf->step, 0, node->words * sizeof *leaf->step);
		if (leaf->side)
			memset(leaf->side, 0, 2 * sizeof *leaf->side);
	}
	for (uint32_t i = 0; i < m->rxs; i++) {
		struct marker_rx *x = &m->rx[i];
		struct str name = x->node->attribute;
		x->ended = name.n && !str_eq_nocase(name, attribute);
		x->next_line = x->mark.n = 0;
		x->text = (struct str){0};
	}
}

static void tell_mark(struct marker *m, struct mark mark, uint32_t word)
{
	if (mark.n && m->tells < TOLD_MOST)
		m->told[m->tells++] = (struct marker_find){mark, word};
}

/* What is marked of a word: of one that may stand inside another the part, where bytes of the term
 * are bytes of the text. */
static struct mark mark_of(const struct marker *m, const struct terms_want *want,
			   const struct token *token)
{
	struct mark all = {(uint32_t)(token->form.p - m->text.p), (uint32_t)token->form.n};
	struct str term = token->term, word = want->word;
	if (want->kind != TERMS_WORD || want->exact || term.n != token->form.n || word.n > term.n)
		return all;
	for (size_t i = 0; i < term.n; i++)
		if ((token->form.p[i] | 0x20) != term.p[i] && token->form.p[i] != term.p[i])
			return all;
	size_t at = want->open_left && !want->open_right ? term.n - word.n : str_find(term, word);
	if (at + word.n > term.n)
		return all;
	return (struct mark){all.at + (uint32_t)at, (uint32_t)word.n};
}

/* A word of a phrase. Later words of the phrase were looked at before, so that what they need of
 * the word before is still there. */
static void phrase_hit(struct marker *m, struct marker_leaf *leaf, uint32_t number, uint32_t word,
		       const struct token *token, struct mark mark, uint32_t errors)
{
	struct phrase_step *step = &leaf->step[number];
	uint32_t words = leaf->node->words, at = token->position;
	m->seen[at % QUERY_PHRASE_MOST] =
		(struct mark){(uint32_t)(token->form.p - m->text.p), (uint32_t)token->form.n};
	struct phrase_step now = {at, errors, mark, true};
	if (number > 0) {
		const struct phrase_step *before = step - 1;
		if (!before->some || before->position + 1 != at)
			return;
		now.errors += before->errors;
		now.first = before->first;
	}
	if (now.errors > leaf->errors)
		return;
	*step = now;
	if (number + 1 < words)
		return;
	tell_mark(m, now.first, word + words - 1);
	for (uint32_t i = 1; i + 1 < words; i++)
		tell_mark(m, m->seen[(at - (words - 1) + i) % QUERY_PHRASE_MOST],
			  word + words - 1 - i);
	tell_mark(m, mark, word);
}

/* The last word of a side that is not at this position. false: there is none. */
static bool side_last(const struct near_side *side, uint32_t position, uint32_t *ret)
{
	bool here = side->seen && side->last == position;
	*ret = here ? side->before : side->last;
	return side->seen > here;
}

static void near_hit(struct marker *m, struct marker_leaf *leaf, uint32_t number, uint32_t word,
		     uint32_t position, struct mark mark)
{
	struct near_side *own = &leaf->side[number], *other = &leaf->side[1 - number];
	uint32_t distance = leaf->node->distance, last, kept = 0;
	uint32_t other_word = number ? word + 1 : word - 1;
	bool told = side_last(other, position, &last) && position - last <= distance;
	for (uint32_t i = 0; i < other->waits; i++) {
		uint32_t at = other->waiting[i].position;
		if (at != position && position - at <= distance)
			tell_mark(m, other->waiting[i].mark, other_word);
		else if (at == position)
			other->waiting[kept++] = other->waiting[i];
	}
	other->waits = kept;
	own->before = own->last;
	own->last = position;
	own->seen = MIN(own->seen + 1, 2u);
	if (told) {
		tell_mark(m, mark, word);
		return;
	}
	if (own->waits == NEAR_WAITING)
		memmove(own->waiting, own->waiting + 1, --own->waits * sizeof own->waiting[0]);
	own->waiting[own->waits].position = position;
	own->waiting[own->waits++].mark = mark;
}

static void word_hit(struct marker *m, uint32_t i, const struct token *token, uint32_t errors)
{
	const struct marker_word *w = &m->word[i];
	struct marker_leaf *leaf = &m->leaf[w->leaf];
	if (!leaf->here)
		return;
	struct mark mark = mark_of(m, &w->want, token);
	if (leaf->step)
		phrase_hit(m, leaf, w->number, i, token, mark, w->want.swaps ? 0 : errors);
	else if (leaf->side)
		near_hit(m, leaf, w->number, i, token->position, mark);
	else
		tell_mark(m, mark, i);
}

static bool word_is_plainly(const struct marker_word *w, const struct token *token)
{
	return str_eq(w->want.word, token->term) && (!w->form.n || str_eq(w->form, token->form));
}

static bool word_is_loosely(const struct marker_word *w, const struct token *token,
			    uint32_t *ret_errors)
{
	if (!w->errors)
		return terms_means(&w->want, token, ret_errors);
	struct str text = w->want.exact ? token->form : token->term;
	if (text.n + w->want.k < w->errors->chars)
		return false; /* it has too few letters */
	*ret_errors = errors_of(w->errors, text);
	return *ret_errors <= w->want.k;
}

static void look_at_word(struct marker *m, const struct token *token)
{
	unsigned char c = token->term.n ? (unsigned char)token->term.p[0] : 0;
	bool may_be_plain = m->first[c / 64] >> c % 64 & 1;
	uint32_t errors = 0;
	if (!may_be_plain && !m->loose)
		return;
	for (uint32_t i = 0; i < m->words; i++) {
		const struct marker_word *w = &m->word[i];
		if (w->leaf == NO_LEAF)
			continue;
		errors = 0;
		if (w->plain ? may_be_plain && word_is_plainly(w, token)
			     : m->leaf[w->leaf].here && word_is_loosely(w, token, &errors))
			word_hit(m, i, token, errors);
	}
}

static bool marker_is_late(struct marker *m)
{
	if (m->spec.deadline_us && ++m->looks % TOKENS_A_LOOK == 0)
		m->late |= clock_mono_us() >= m->spec.deadline_us;
	return m->late;
}

/* Expressions */

/* 1: there are no more lines. */
static int take_line(struct marker *m, struct marker_rx *x)
{
	if (x->next_line >= m->text.n || marker_is_late_now(m))
		return 1;
	struct str line = str_from(m->text, x->next_line);
	line = str_head(line, str_find_byte(line, '\n'));
	x->line = x->next_line;
	x->next_line += line.n + 1;
	line.n -= line.n && line.p[line.n - 1] == '\r';
	x->from = 0;
	x->text = str_utf8_head(line, LINE_MOST);
	if (x->node->exact)
		return 0;
	buf_clear(&x->folded);
	x->map.n = 0;
	token_fold_text(m->spec.rules, x->text, &x->folded, &x->map);
	x->text = buf_str(&x->folded);
	return 0;
}

/* Bytes of the text that a match was made of. */
static struct mark match_mark(const struct marker_rx *x, struct rx_match match)
{
	size_t from = match.at, to = match.at + match.n;
	if (!x->node->exact) {
		const uint32_t *map = x->map.from;
		while (to < x->map.n && map[to] == map[to - 1])
			to++;
		from = map[from];
		to = map[to];
	}
	return (struct mark){(uint32_t)(x->line + from), (uint32_t)(to - from)};
}

/* Sets the mark that comes next. A match of nothing is not shown. */
static void find_match(struct marker *m, struct marker_rx *x)
{
	struct rx_match match;
	while (x->mark.n == 0 && !x->ended) {
		if (!x->text.p || rx_find(x->run, x->text, x->from, &match) != 0) {
			x->text.p = NULL;
			x->ended = take_line(m, x) != 0;
			continue;
		}
		x->from = match.at + MAX(match.n, 1u);
		if (match.n)
			x->mark = match_mark(x, match);
		if (x->from >= x->text.n)
			x->text.p = NULL;
	}
}

/* The expression whose mark comes first, if it is not after `at`. */
static struct marker_rx *first_match(struct marker *m, uint32_t at)
{
	struct marker_rx *first = NULL;
	for (uint32_t i = 0; i < m->rxs; i++) {
		struct marker_rx *x = &m->rx[i];
		find_match(m, x);
		if (x->mark.n && x->mark.at <= at && (!first || x->mark.at < first->mark.at))
			first = x;
	}
	return first;
}

/* Words that were found wait in m->told; 1: there are no more. */
static int find_words(struct marker *m)
{
	struct token token;
	while (m->next == m->tells) {
		m->next = m->tells = 0;
		if (m->words == m->rxs || marker_is_late(m) || tokens_next(&m->tokens, &token) != 0)
			return 1;
		look_at_word(m, &token);
	}
	return 0;
}

int marker_next(struct marker *m, struct marker_find *ret)
{
	bool words = find_words(m) == 0;
	struct marker_rx *x =
		m->rxs ? first_match(m, words ? m->told[m->next].mark.at : UINT32_MAX) : NULL;
	if (x) {
		*ret = (struct marker_find){x->mark, x->word};
		x->mark.n = 0;
	} else if (words) {
		*ret = m->told[m->next++];
	} else {
		return 1;
	}
	return 0;
}

/* Marks from the earlier, and then the longer, on. */
static int mark_order(const void *va, const void *vb)
{
	const struct mark *a = va, *b = vb;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->n != b->n ? a->n > b->n ? -1 : 1 : 0;
}

size_t marker_all(struct marker *m, struct str attribute, struct str text, struct mark *ret,
		  size_t most)
{
	struct marker_find found;
	size_t n = 0, kept = 0;
	bool sorted = true;
	marker_begin(m, attribute, text);
	while (n < most && marker_next(m, &found) == 0) {
		sorted &= n == 0 || ret[n - 1].at < found.mark.at;
		ret[n++] = found.mark;
	}
	if (!sorted)
		qsort(ret, n, sizeof *ret, mark_order);
	for (size_t i = 0; i < n; i++) {
		uint32_t end = kept ? ret[kept - 1].at + ret[kept - 1].n : 0;
		if (kept && ret[i].at < end)
			ret[kept - 1].n = MAX(end, ret[i].at + ret[i].n) - ret[kept - 1].at;
		else
			ret[kept++] = ret[i];
	}
	return kept;
}
