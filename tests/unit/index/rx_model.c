/* Random small patterns on random short lines, and on names, against a matcher that follows the
 * tree of the pattern and keeps all ends that a part of it can have. */
#include "../dice.h"
#include "../unit.h"
#include "base/buf.h"
#include "index/rx.h"
#include "index/token.h"

enum { LINE_MOST = 14, NODES_MOST = 64, KIDS = 3 };

/* What lines are made of. */
static const struct unit {
	const char *bytes;
	bool valid, word, digit, space;
} units[] = {{"a", true, true, false, false},       {"b", true, true, false, false},
	     {"1", true, true, true, false},        {"_", true, true, false, false},
	     {" ", true, false, false, true},       {"é", true, true, false, false},
	     {"日", true, true, false, false},      {"-", true, false, false, false},
	     {"\xff", false, false, false, false},  {"\xe2", false, false, false, false},
	     {"😀", true, false, false, false},      {"²", true, false, false, false},
	     {"\xcc\x81", true, true, false, false}};

enum { UNITS = ARRAY_LEN(units) };

static bool names; /* a byte that is not UTF-8 is a character too */

static bool is_char(size_t u)
{
	return names || units[u].valid;
}

static bool is_a(size_t u)
{
	return u == 0;
}
static bool is_b(size_t u)
{
	return u == 1;
}
static bool is_accented(size_t u)
{
	return u == 5;
}
static bool is_han(size_t u)
{
	return u == 6;
}
static bool is_blank(size_t u)
{
	return u == 4;
}
static bool is_any(size_t u)
{
	return is_char(u);
}
static bool is_word(size_t u)
{
	return units[u].word;
}
static bool is_not_word(size_t u)
{
	return is_char(u) && !units[u].word;
}
static bool is_digit(size_t u)
{
	return units[u].digit;
}
static bool is_space(size_t u)
{
	return units[u].space;
}
static bool is_ab(size_t u)
{
	return u <= 1;
}
static bool is_not_a(size_t u)
{
	return is_char(u) && u != 0;
}
static bool is_letter(size_t u)
{
	return u <= 1 || u == 5 || u == 6;
}
static bool is_small(size_t u)
{
	return u <= 1 || u == 5;
}
static bool is_han_or_blank(size_t u)
{
	return u == 6 || u == 4;
}

static const struct {
	const char *text;
	bool (*has)(size_t unit);
} sets[] = {{"a", is_a},           {"b", is_b},          {"é", is_accented},
	    {"日", is_han},        {" ", is_blank},      {".", is_any},
	    {"\\w", is_word},      {"\\W", is_not_word}, {"\\d", is_digit},
	    {"\\s", is_space},     {"[ab]", is_ab},      {"[^a]", is_not_a},
	    {"\\p{L}", is_letter}, {"[a-zé]", is_small}, {"[日 ]", is_han_or_blank}};

enum op { SET, CAT, ALT, REPEAT, BEGIN, END, BOUND, NOT_BOUND };

struct node {
	enum op op;
	size_t set, kid[KIDS], kids, least, most; /* most == 0: any number */
};

struct model {
	struct node node[NODES_MOST];
	size_t nodes;
	size_t line[LINE_MOST], at[LINE_MOST + 1], n; /* units, and where each begins */
	struct buf text;
};

static uint64_t seed = 19;

static size_t roll_below(size_t n)
{
	return dice(&seed) >> 16 & 0xffffff ? (dice(&seed) >> 16) % n : 0;
}

/* A random tree; its depth is bounded by what is asked for. */
static size_t grow_tree(struct model *m, int depth)
{
	if (m->nodes + 1 + KIDS >= NODES_MOST)
		depth = 0;
	struct node node = {.op = SET,
			    .set = roll_below(4) ? roll_below(5) : roll_below(ARRAY_LEN(sets))};
	size_t what = roll_below(10);
	if (depth > 0 && what < 8) {
		node.op = what < 4 ? CAT : what < 6 ? ALT : REPEAT;
		node.kids = node.op == REPEAT ? 1 : 2 + roll_below(KIDS - 1);
		node.least = roll_below(3);
		node.most = roll_below(2) ? 0 : node.least + roll_below(2) + (node.least == 0);
		for (size_t i = 0; i < node.kids; i++)
			node.kid[i] = grow_tree(m, depth - 1);
	} else if (roll_below(12) == 0) {
		node.op = (enum op)(BEGIN + roll_below(4));
	}
	m->node[m->nodes] = node;
	return m->nodes++;
}

static void print_tree(const struct model *m, size_t i, struct buf *out)
{
	static const char *const looks[] = {"^", "$", "\\b", "\\B"};
	const struct node *node = &m->node[i];
	if (node->op == SET)
		buf_add_text(out, sets[node->set].text);
	if (node->op >= BEGIN)
		buf_add_text(out, looks[node->op - BEGIN]);
	for (size_t k = 0; k < node->kids; k++) {
		if (k && node->op == ALT)
			buf_add_byte(out, '|');
		/* brackets around all but what is one thing anyway */
		bool bare = m->node[node->kid[k]].op == SET;
		buf_add_text(out, bare ? "" : "(");
		print_tree(m, node->kid[k], out);
		buf_add_text(out, bare ? "" : ")");
	}
	if (node->op != REPEAT)
		return;
	if (node->most == 0)
		buf_printf(out,
			   node->least == 0   ? "*"
			   : node->least == 1 ? "+"
					      : "{%zu,}",
			   node->least);
	else
		buf_printf(out, "{%zu,%zu}", node->least, node->most);
}

static bool word_at(const struct model *m, size_t i)
{
	return i < m->n && units[m->line[i]].word;
}

static uint32_t ends_of(const struct model *m, size_t i, size_t from);

/* Ends of one more part, from all of these. */
static uint32_t step_all(const struct model *m, size_t kid, uint32_t from)
{
	uint32_t to = 0;
	for (size_t i = 0; i <= m->n; i++)
		if (from >> i & 1)
			to |= ends_of(m, kid, i);
	return to;
}

static uint32_t ends_of_repeat(const struct model *m, const struct node *node, size_t from)
{
	uint32_t now = 1u << from, all;
	for (size_t i = 0; i < node->least; i++)
		now = step_all(m, node->kid[0], now);
	all = now;
	size_t more = node->most ? node->most - node->least : LINE_MOST + 2;
	for (size_t i = 0; i < more; i++) {
		now = step_all(m, node->kid[0], now);
		all |= now;
	}
	return all;
}

/* A bit for each place where a match of node i can end that begins at `from`. */
static uint32_t ends_of(const struct model *m, size_t i, size_t from)
{
	const struct node *node = &m->node[i];
	bool bound = word_at(m, from) != (from > 0 && word_at(m, from - 1));
	uint32_t here = 1u << from, to = 0;
	switch (node->op) {
	case SET:
		return from < m->n && sets[node->set].has(m->line[from]) ? here << 1 : 0;
	case CAT:
		for (size_t k = 0; k < node->kids; k++)
			here = step_all(m, node->kid[k], here);
		return here;
	case ALT:
		for (size_t k = 0; k < node->kids; k++)
			to |= ends_of(m, node->kid[k], from);
		return to;
	case REPEAT:
		return ends_of_repeat(m, node, from);
	case BEGIN:
		return from == 0 ? here : 0;
	case END:
		return from == m->n ? here : 0;
	case BOUND:
		return bound ? here : 0;
	default:
		return bound ? 0 : here;
	}
}

static void make_line(struct model *m)
{
	m->n = roll_below(LINE_MOST + 1);
	buf_clear(&m->text);
	for (size_t i = 0; i < m->n; i++) {
		m->line[i] = roll_below(3) ? roll_below(5) : roll_below(UNITS);
		m->at[i] = m->text.n;
		buf_add_text(&m->text, units[m->line[i]].bytes);
	}
	m->at[m->n] = m->text.n;
}

static struct token_rules *rules;

/* Whether a word of the line begins, or ends, at this byte. */
static bool word_edge(struct str line, size_t at, bool begins)
{
	struct tokens t;
	struct token token;
	if (names)
		return at == (begins ? 0 : line.n);
	tokens_init(&t, rules, line, 0);
	while (tokens_next(&t, &token) == 0) {
		size_t from = (size_t)(token.form.p - line.p);
		if (at == (begins ? from : from + token.form.n))
			return true;
	}
	return false;
}

static bool in_one_word(struct str line, struct rx_match match)
{
	struct tokens t;
	struct token token;
	tokens_init(&t, rules, line, 0);
	while (tokens_next(&t, &token) == 0) {
		size_t from = (size_t)(token.form.p - line.p);
		if (match.at >= from && match.at + match.n <= from + token.form.n)
			return true;
	}
	return false;
}

static bool has_literal(struct str line, struct rx_match match, const struct rx_literal *l)
{
	for (size_t at = match.at; at + l->text.n <= match.at + match.n; at++)
		if (memcmp(line.p + at, l->text.p, l->text.n) == 0 &&
		    (!l->begins || word_edge(line, at, true)) &&
		    (!l->ends || word_edge(line, at + l->text.n, false)))
			return true;
	return false;
}

static void check_literals(const struct rx *rx, struct str line, struct rx_match match,
			   const char *pattern)
{
	uint32_t n;
	const struct rx_group *g = rx_literals(rx, &n);
	for (uint32_t i = 0; i < n; i++) {
		bool has = false;
		for (uint32_t k = 0; k < g[i].n; k++)
			has |= has_literal(line, match, &g[i].literal[k]);
		if (!has)
			fail_msg("/%s/ in '" STR_FMT "': group %u is not in the match", pattern,
				 STR_ARG(line), i);
	}
	if (rx_within_word(rx) && !in_one_word(line, match))
		fail_msg("/%s/ in '" STR_FMT "': not in one word", pattern, STR_ARG(line));
}

static void check_line(const struct model *m, const struct rx *rx, struct rx_run *run, size_t root,
		       const char *pattern)
{
	struct str line = buf_str(&m->text);
	struct rx_match got;
	bool anywhere = false;
	for (size_t i = 0; i <= m->n; i++)
		anywhere |= ends_of(m, root, i) != 0;
	size_t first = roll_below(3) ? 0 : roll_below(m->n + 1), from = m->at[first];
	uint32_t ends = 0;
	while (first <= m->n && (ends = ends_of(m, root, first)) == 0)
		first++;
	int rc = rx_find(run, line, from, &got);
	size_t last = 0;
	for (size_t i = 0; i <= m->n; i++)
		last = ends >> i & 1 ? i : last;
	if (rc != (ends ? 0 : 1))
		fail_msg("/%s/ in '%s' from %zu: %d", pattern, buf_text(&m->text), from, rc);
	if (ends && (got.at != m->at[first] || got.at + got.n != m->at[last]))
		fail_msg("/%s/ in '%s' from %zu: %zu+%zu, want %zu to %zu", pattern,
			 buf_text(&m->text), from, got.at, got.n, m->at[first], m->at[last]);
	if (rx_matches(run, line) != anywhere)
		fail_msg("/%s/ in '%s': whether", pattern, buf_text(&m->text));
	if (ends)
		check_literals(rx, line, got, pattern);
}

static void check_patterns(void)
{
	struct err err;
	struct model m = {.text = BUF_INIT(1 << 10)};
	struct buf pattern = BUF_INIT(1 << 14);
	int patterns = unit_thorough() ? 100000 : 300;
	assert_int_equal(0, token_rules_open(&rules, STR(""), &err));
	for (int round = 0; round < patterns; round++) {
		struct rx *rx = NULL;
		size_t at;
		m.nodes = 0;
		size_t root = grow_tree(&m, 3);
		buf_clear(&pattern);
		print_tree(&m, root, &pattern);
		if ((names ? rx_compile_name(&rx, buf_str(&pattern), &at, &err)
			   : rx_compile(&rx, buf_str(&pattern), false, &at, &err)) < 0)
			fail_msg("/%s/: %s at %zu", buf_text(&pattern), err.msg, at);
		struct rx_run *run = rx_run_new(rx);
		for (int i = 0; i < 10; i++) {
			make_line(&m);
			check_line(&m, rx, run, root, buf_text(&pattern));
		}
		rx_run_free(&run);
		rx_free(&rx);
	}
	token_rules_close(&rules);
	buf_free(&m.text);
	buf_free(&pattern);
}

static void random_patterns_agree_with_the_model(void **state)
{
	(void)state;
	check_patterns();
}

static void random_patterns_for_names_agree_with_the_model(void **state)
{
	(void)state;
	names = true;
	check_patterns();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_patterns_agree_with_the_model),
		cmocka_unit_test(random_patterns_for_names_agree_with_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
