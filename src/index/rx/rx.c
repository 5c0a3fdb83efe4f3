/* Expressions as a whole: compiled from all parts, and what is told of a pattern before it runs. */
#include "index/rx/rx_inner.h"

enum { QUICK_LETTERS = 4 }; /* small letters that may begin a match when bytes are skipped */

/* A walk over the steps of an NFA, each of which is met once. */
struct walk {
	const struct rx_nfa *nfa;
	bool *seen;
	uint16_t *stack;
	size_t depth;
};

static struct walk walk_begin(const struct rx_nfa *nfa)
{
	return (struct walk){.nfa = nfa,
			     .seen = mem_array(nfa->n, sizeof(bool)),
			     .stack = mem_array(nfa->n, sizeof(uint16_t))};
}

static void walk_to(struct walk *w, uint16_t step)
{
	if (!w->seen[step])
		w->stack[w->depth++] = step;
	w->seen[step] = true;
}

/* Goes on to what follows a step; past a character only if asked. */
static void walk_past(struct walk *w, uint16_t at, bool past_chars)
{
	const struct rx_step *s = &w->nfa->step[at];
	if (s->op == RX_STEP_MATCH || (s->op == RX_STEP_SET && !past_chars))
		return;
	walk_to(w, s->out);
	if (s->op == RX_STEP_SPLIT)
		walk_to(w, s->out_too);
}

static void walk_end(struct walk *w)
{
	mem_free(&w->seen);
	mem_free(&w->stack);
}

/* The steps that a match can begin with, and whether it can be empty or looks around itself
 * first. */
struct beginning {
	uint16_t *list;
	size_t n;
	bool empty, looks;
};

static void find_beginning(const struct rx_nfa *nfa, struct beginning *ret)
{
	struct walk w = walk_begin(nfa);
	*ret = (struct beginning){.list = mem_array(nfa->n, sizeof *ret->list)};
	walk_to(&w, nfa->start);
	while (w.depth) {
		uint16_t at = w.stack[--w.depth];
		uint8_t op = nfa->step[at].op;
		ret->empty |= op == RX_STEP_MATCH;
		ret->looks |= op >= RX_STEP_BEGIN;
		if (op == RX_STEP_SET)
			ret->list[ret->n++] = at;
		walk_past(&w, at, false);
	}
	walk_end(&w);
}

/* Bytes that begin characters from..to. */
static void mark_leads(struct rx *rx, int32_t from, int32_t to)
{
	static const struct {
		int32_t from, to, shift, lead;
	} lengths[] = {{0, 0x7f, 0, 0},
		       {0x80, 0x7ff, 6, 0xc0},
		       {0x800, 0xffff, 12, 0xe0},
		       {0x10000, RX_CHAR_LAST, 18, 0xf0}};
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		int32_t lo = MAX(from, lengths[i].from), hi = MIN(to, lengths[i].to);
		for (int32_t b = lo >> lengths[i].shift; lo <= hi && b <= hi >> lengths[i].shift;
		     b++)
			rx->first[lengths[i].lead | b] = 1;
	}
}

/* Skipping to the bytes that can begin a match pays where they are rare in text. */
static void find_first_bytes(struct rx *rx, const struct beginning *b)
{
	const struct rx_alphabet *a = &rx->alphabet;
	if (b->empty || b->looks || b->n == 0)
		return;
	bool *first = mem_array(a->classes, sizeof *first);
	for (size_t i = 0; i < b->n; i++)
		for (uint32_t c = 0; c < a->classes; c++)
			first[c] |= rx_set_has(a, rx->nfa[0].step[b->list[i]].set, c);
	for (size_t k = 0; k < a->spans; k++)
		if (first[a->span_class[k]])
			mark_leads(rx, a->span[k].from, a->span[k].to);
	for (size_t i = 0; i < b->n; i++)
		if (rx_set_has(a, rx->nfa[0].step[b->list[i]].set, a->invalid))
			memset(rx->first + 0x80, 1, 0x80);
	mem_free(&first);
	uint32_t letters = 0, others = 0;
	for (uint32_t i = 0; i < 256; i++) {
		if (!rx->first[i])
			continue;
		if (rx->firsts < ARRAY_LEN(rx->first_byte))
			rx->first_byte[rx->firsts] = (uint8_t)i;
		rx->firsts++;
		letters += i >= 'a' && i <= 'z';
		others += i >= 0x80 || i == ' ';
	}
	rx->quick = letters <= QUICK_LETTERS && others <= 16 && !rx->first[' '];
}

/* Kinds of the marked sets, a bit for each enum token_class. */
static unsigned kinds_of(const struct rx_tree *t, const struct rx_chars *chars, const bool *set)
{
	unsigned kinds = 0;
	for (size_t s = 0; s < t->sets; s++)
		if (set[s])
			kinds |= rx_ranges_kinds(chars, &t->set[s]);
	return kinds;
}

/* Marks the sets of all that can follow the first character of a match. */
static void mark_later(const struct rx_nfa *nfa, const struct beginning *b, bool *set)
{
	struct walk w = walk_begin(nfa);
	for (size_t i = 0; i < b->n; i++)
		walk_to(&w, nfa->step[b->list[i]].out);
	while (w.depth) {
		uint16_t at = w.stack[--w.depth];
		if (nfa->step[at].op == RX_STEP_SET)
			set[nfa->step[at].set] = true;
		walk_past(&w, at, true);
	}
	walk_end(&w);
}

/* A mark does not begin a word, and a letter that is a word by itself goes on with marks only. */
static bool lies_within_word(const struct rx *rx, const struct rx_tree *t,
			     const struct rx_chars *chars, const struct beginning *b)
{
	enum { ONE = 1 << TOKEN_BEGINS, ALONE = 1 << TOKEN_ALONE, MARK = 1 << TOKEN_CONTINUES };
	if (b->empty || t->has_begin || t->has_end || t->has_bound || b->n == 0 || t->any_bytes)
		return false;
	bool *set = mem_array(t->sets, sizeof *set);
	for (size_t i = 0; i < b->n; i++)
		set[rx->nfa[0].step[b->list[i]].set] = true;
	unsigned first = kinds_of(t, chars, set);
	memset(set, 0, t->sets * sizeof *set);
	mark_later(&rx->nfa[0], b, set);
	unsigned later = kinds_of(t, chars, set);
	mem_free(&set);
	unsigned may_follow = first & ALONE ? MARK : ONE | MARK;
	return !(first & ~(unsigned)(ONE | ALONE)) && !(later & ~may_follow);
}

/* The longest literal that every match contains makes a line without it quick. */
static void choose_needle(struct rx *rx)
{
	for (uint32_t i = 0; i < rx->groups; i++)
		if (rx->group[i].n == 1 && rx->group[i].literal[0].text.n > MAX(rx->needle.n, 1u))
			rx->needle = rx->group[i].literal[0].text;
}

static int build_rx(struct rx *rx, const struct rx_tree *t, const struct rx_chars *chars,
		    bool folded, struct err *err)
{
	struct beginning b;
	if (rx_alphabet_make(&rx->alphabet, t, err) < 0)
		return -1;
	rx->has_begin = t->has_begin;
	rx->has_end = t->has_end;
	rx->has_bound = t->has_bound;
	rx->word_set = t->word_set;
	rx->any_bytes = t->any_bytes;
	rx_nfa_make(&rx->nfa[0], t, false);
	rx_nfa_make(&rx->nfa[1], t, true);
	find_beginning(&rx->nfa[0], &b);
	find_first_bytes(rx, &b);
	rx->within_word = lies_within_word(rx, t, chars, &b);
	mem_free(&b.list);
	rx_literals_make(rx, t, chars, folded);
	choose_needle(rx);
	return 0;
}

static int compile_pattern(struct rx **ret, struct str pattern, bool folded, bool any_bytes,
			   size_t *ret_at, struct err *err)
{
	struct rx_tree t = {.any_bytes = any_bytes};
	struct rx_chars chars;
	struct rx *rx = mem_alloc(sizeof *rx);
	size_t at = 0;
	int rc = rx_chars_open(&chars, err);
	if (rc == 0)
		rc = rx_parse(&t, &chars, pattern, folded, &at, err);
	if (rc == 0)
		rc = build_rx(rx, &t, &chars, folded, err);
	rx_tree_free(&t);
	rx_chars_close(&chars);
	if (rc < 0) {
		rx_free(&rx);
		*ret_at = at;
		return -1;
	}
	*ret = rx;
	return 0;
}

int rx_compile(struct rx **ret, struct str pattern, bool folded, size_t *ret_at, struct err *err)
{
	return compile_pattern(ret, pattern, folded, false, ret_at, err);
}

int rx_compile_name(struct rx **ret, struct str pattern, size_t *ret_at, struct err *err)
{
	return compile_pattern(ret, pattern, false, true, ret_at, err);
}

void rx_free(struct rx **rxp)
{
	struct rx *rx = *rxp;
	if (!rx)
		return;
	mem_free(&rx->nfa[0].step);
	mem_free(&rx->nfa[1].step);
	rx_alphabet_free(&rx->alphabet);
	arena_free(&rx->arena);
	mem_free(rxp);
}

const struct rx_group *rx_literals(const struct rx *rx, uint32_t *ret_n)
{
	*ret_n = rx->groups;
	return rx->group;
}

bool rx_within_word(const struct rx *rx)
{
	return rx->within_word;
}
