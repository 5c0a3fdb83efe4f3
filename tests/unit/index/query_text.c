/* Expressions: answered from the dictionary or from the text of documents, as by looking at every
 * line of every document. */
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "index/rx.h"
#include "index/token.h"
#include "index/words.h"
#include "soif/soif.h"

#include <stdio.h>

enum { DOCS = 160, ATTRS = 3 };

static uint64_t seed;

static size_t throw_dice(size_t n)
{
	return (size_t)(dice(&seed) % n);
}

static const char *const names[ATTRS] = {"full-text", "title", "secret"};

struct world {
	struct arena arena;
	struct token_rules *rules;
	struct words_settings settings;
	struct words_reader *reader;
	struct str text[DOCS][ATTRS]; /* n 0: the document does not have it */
	bool gone[DOCS];
	unsigned reads;
};

static int give_text(void *ctx, uint64_t oid, struct arena *arena, struct soif *ret,
		     struct err *err)
{
	struct world *w = ctx;
	(void)err;
	w->reads++;
	assert_true(oid >= 1 && oid <= DOCS);
	*ret = (struct soif){0};
	for (size_t i = 0; i < ATTRS; i++)
		if (w->text[oid - 1][i].n)
			soif_add(ret, arena, str_of(names[i]), w->text[oid - 1][i]);
	return 0;
}

static void some_text(struct buf *b, size_t n)
{
	static const char *const pieces[] = {"ab", "abc", "Abc", "cab", "b",   "é",    "e\xcc\x81",
					     "ba", "BA",  "東",  "京",  "1",   "ж",    "running",
					     " ",  " ",   " ",   " ",   "-",   "\n",   "\xff",
					     "_",  ".",   "/",   "ab ", "cc ", "ccab", "Runs "};
	while (n--) {
		buf_add_text(b, pieces[throw_dice(ARRAY_LEN(pieces))]);
		if (throw_dice(300) == 0) {
			buf_fill(b, 'z', 60 + throw_dice(120));
			buf_add_text(b, "yx-");
		}
	}
}

static void open_world(struct world *w, const char *name, const char *language, unsigned commits)
{
	struct words_writer *writer;
	struct words_options options = {.memory = WORDS_MEMORY_MIN, .merges_elsewhere = true};
	struct err err;
	w->arena = ARENA_INIT((size_t)1 << 30);
	words_settings_default(&w->settings);
	snprintf(w->settings.language, sizeof w->settings.language, "%s", language);
	snprintf(w->settings.weight[w->settings.weights].name, WORDS_NAME_MOST, "secret");
	w->settings.weight[w->settings.weights++].weight = 0;
	options.settings = &w->settings;
	assert_int_equal(0, token_rules_open(&w->rules, str_of(language), &err));
	assert_int_equal(0, words_writer_open(&writer, scratch(name), &options, &err));
	for (unsigned i = 0; i < DOCS; i++) {
		struct words_attr attr[ATTRS];
		size_t n = 0;
		char key[16];
		snprintf(key, sizeof key, "k%03u", i);
		for (size_t a = 0; a < ATTRS; a++) {
			struct buf b = BUF_INIT(1 << 20);
			some_text(&b, throw_dice(a ? 6 : 30));
			w->text[i][a] = arena_str(&w->arena, buf_str(&b));
			buf_free(&b);
			attr[n++] = (struct words_attr){str_of(names[a]), w->text[i][a]};
		}
		struct words_doc doc = {.key = str_of(key), .oid = i + 1, .attr = attr, .n = n};
		doc.rank = (uint16_t)throw_dice(3);
		assert_int_equal(0, words_add(writer, &doc, &err));
		if ((i + 1) % (DOCS / commits) == 0)
			assert_int_equal(0, words_commit(writer, NULL, &err));
	}
	for (unsigned i = 0; i < DOCS / 8; i++) {
		unsigned gone = (unsigned)throw_dice(DOCS);
		char key[16];
		snprintf(key, sizeof key, "k%03u", gone);
		assert_true(words_delete(writer, str_of(key), &err) >= 0);
		w->gone[gone] = true;
	}
	assert_true(words_commit(writer, NULL, &err) >= 0);
	assert_int_equal(0, words_open(&w->reader, scratch(name), &err));
	words_writer_close(&writer);
}

static void close_world(struct world *w)
{
	words_close(&w->reader);
	token_rules_close(&w->rules);
	arena_free(&w->arena);
}

/* Lines of a value, each as it is or folded. */
static bool value_matches(struct world *w, struct rx_run *run, bool exact, struct str value)
{
	struct str line;
	bool found = false;
	while (!found && value.n && str_cut(&value, '\n', &line) == 0) {
		struct buf folded = BUF_INIT(1 << 20);
		if (!exact)
			token_fold_text(w->rules, line, &folded, NULL);
		found = rx_matches(run, exact ? line : buf_str(&folded));
		buf_free(&folded);
	}
	return found;
}

/* What the current query was compiled to. */
static struct compiled {
	const struct query_node *node;
	struct rx *rx;
	struct rx_run *run;
} compiled[16];

static struct rx_run *run_of(const struct query_node *node)
{
	struct err err;
	size_t at, i = 0;
	while (compiled[i].node && compiled[i].node != node)
		i++;
	if (!compiled[i].node) {
		struct compiled *c = &compiled[i];
		c->node = node;
		assert_int_equal(0, rx_compile(&c->rx, node->match, !node->exact, &at, &err));
		c->run = rx_run_new(c->rx);
	}
	return compiled[i].run;
}

static void forget_compiled(void)
{
	for (struct compiled *c = compiled; c->node; c++) {
		rx_run_free(&c->run);
		rx_free(&c->rx);
		c->node = NULL;
	}
}

static bool match_stands(struct world *w, const struct query_node *node, unsigned doc)
{
	bool found = false;
	for (size_t a = 0; a < ATTRS && !found; a++)
		if (!str_is(STR("secret"), names[a]) &&
		    (node->attribute.n == 0 || str_is(node->attribute, names[a])))
			found = value_matches(w, run_of(node), node->exact, w->text[doc][a]);
	return found;
}

/* A word is asked for as one would ask a list of words. */
static bool has_word(struct world *w, const struct query_node *node, unsigned doc)
{
	for (size_t a = 0; a < ATTRS; a++) {
		struct tokens t;
		struct token token;
		tokens_init(&t, w->rules, w->text[doc][a], 0);
		while (!str_is(STR("secret"), names[a]) && tokens_next(&t, &token) == 0)
			if (str_eq(token.term, node->word[0].term))
				return true;
	}
	return false;
}

static bool doc_matches(struct world *w, const struct query_node *node, unsigned doc)
{
	bool any = false, all = true;
	for (uint32_t i = 0; i < node->kids; i++) {
		bool kid = doc_matches(w, node->kid[i], doc);
		any |= kid;
		all &= kid;
	}
	switch (node->op) {
	case QUERY_AND:
		return all;
	case QUERY_OR:
		return any;
	case QUERY_NOT:
		return !any;
	case QUERY_WORD:
		return has_word(w, node, doc);
	default:
		return match_stands(w, node, doc);
	}
}

static void some_expression(struct buf *b)
{
	static const char *const pieces[] = {
		"ab", "abc", "a",   "b",  "cab", "[ab]",    "[a-c]+", "(ab|cc)", "(ab|ba|東)",
		".",  "\\w", "c*",  "-",  " ",   "\\b",     "b?",     "東",      "京",
		"é",  "q",   "run", "s ", "_",   "[^ ]*",   "A",      "Abc",     "running",
		"1",  "ж",   "yx-", ".*", "a b", "cc[ -]?", "B",      "東京"};
	size_t n = 1 + throw_dice(4);
	if (throw_dice(12) == 0)
		buf_add_byte(b, '^');
	while (n--)
		buf_add_text(b, pieces[throw_dice(ARRAY_LEN(pieces))]);
	if (throw_dice(12) == 0)
		buf_add_byte(b, '$');
}

static struct query_node *make_leaf(struct world *w, struct arena *arena)
{
	struct query_node *node = arena_alloc(arena, sizeof *node);
	struct buf b = BUF_INIT(1 << 10);
	if (throw_dice(3) == 0) {
		struct tokens t;
		struct token token;
		node->op = QUERY_WORD;
		node->words = 1;
		node->word = arena_array(arena, 1, sizeof *node->word);
		tokens_init(&t, w->rules, throw_dice(2) ? STR("ab") : STR("running"), 0);
		assert_int_equal(0, tokens_next(&t, &token));
		node->word[0].term = arena_str(arena, token.term);
		node->word[0].form = node->word[0].folded = token.form;
		return node;
	}
	some_expression(&b);
	node->op = QUERY_MATCH;
	node->match = arena_str(arena, buf_str(&b));
	node->exact = throw_dice(2);
	node->attribute = throw_dice(3) ? STR("") : str_of(names[throw_dice(2)]);
	buf_free(&b);
	return node;
}

static struct query_node *make_tree(struct world *w, struct arena *arena)
{
	if (throw_dice(2))
		return make_leaf(w, arena);
	struct query_node *node = arena_alloc(arena, sizeof *node);
	node->op = throw_dice(3) ? QUERY_AND : QUERY_OR;
	node->kids = (uint32_t)(2 + throw_dice(2));
	node->kid = arena_array(arena, node->kids, sizeof(struct query_node *));
	for (uint32_t i = 0; i < node->kids; i++) {
		node->kid[i] = make_leaf(w, arena);
		if (throw_dice(5))
			continue;
		struct query_node *away = arena_alloc(arena, sizeof *away);
		away->op = QUERY_NOT;
		away->kids = 1;
		away->kid = arena_array(arena, 1, sizeof(struct query_node *));
		away->kid[0] = node->kid[i];
		node->kid[i] = away;
	}
	return node;
}

static const char *as_text(const struct query_node *node, struct buf *b)
{
	buf_printf(b, "%s(",
		   node->op == QUERY_AND   ? "AND"
		   : node->op == QUERY_OR  ? "OR"
		   : node->op == QUERY_NOT ? "NOT"
					   : "");
	for (uint32_t i = 0; i < node->kids; i++)
		as_text(node->kid[i], b);
	if (node->op == QUERY_MATCH)
		buf_printf(b, STR_FMT " %s/" STR_FMT "/", STR_ARG(node->attribute),
			   node->exact ? "=" : "", STR_ARG(node->match));
	if (node->op == QUERY_WORD)
		buf_add_str(b, node->word[0].term);
	buf_add_byte(b, ')');
	return buf_text(b);
}

static void hits_agree(struct world *w, const struct query *q, const struct hits *hits)
{
	struct buf text = BUF_INIT(1 << 16);
	size_t n = 0;
	bool want[DOCS] = {false}, got[DOCS] = {false};
	for (unsigned i = 0; i < DOCS; i++)
		n += want[i] = !w->gone[i] && doc_matches(w, q->root, i);
	for (size_t i = 0; i < hits->n; i++)
		got[hits->hit[i].oid - 1] = true;
	for (unsigned i = 0; i < DOCS; i++)
		if (got[i] ? !want[i] : want[i] && q->limit >= DOCS)
			fail_msg("%s order %d: document %u is %s", as_text(q->root, &text),
				 (int)q->order, i, got[i] ? "there" : "not there");
	if (hits->n != MIN(n, q->limit))
		fail_msg("%s order %d: %zu hits, want %zu", as_text(q->root, &text), (int)q->order,
			 hits->n, MIN(n, q->limit));
	if (hits->cut || (q->exact_total && (!hits->total_exact || hits->total != n)))
		fail_msg("%s order %d: total %llu, want %zu%s", as_text(q->root, &text),
			 (int)q->order, (unsigned long long)hits->total, n,
			 hits->cut ? ", cut" : "");
	forget_compiled();
	buf_free(&text);
}

static bool ask_tree(struct world *w)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct query q = {
		.rules = throw_dice(2) ? w->rules : NULL, .text = give_text, .text_ctx = w};
	struct hits hits;
	struct err err;
	q.root = make_tree(w, &arena);
	q.order = (enum query_order)throw_dice(3);
	q.limit = throw_dice(2) ? DOCS : 5;
	q.exact_total = throw_dice(2);
	q.explain = throw_dice(10) == 0;
	if (words_query(w->reader, &q, &arena, &hits, &err) < 0)
		fail_msg("%s", err.msg);
	hits_agree(w, &q, &hits);
	arena_free(&arena);
	return hits.n > 0;
}

static void ask_many(const char *name, const char *language, unsigned commits, unsigned queries)
{
	struct world w = {0};
	size_t found = 0;
	open_world(&w, name, language, commits);
	queries /= unit_thorough() ? 1 : 16;
	for (unsigned i = 0; i < queries; i++)
		found += ask_tree(&w);
	assert_true(found > queries / 4);
	close_world(&w);
}

static void expressions_are_answered_as_by_looking_at_every_line(void **state)
{
	(void)state;
	seed = 1848;
	ask_many("lines1", "", 1, 2400);
	ask_many("lines4", "", 4, 2400);
}

static void stems_do_not_hide_what_is_written(void **state)
{
	(void)state;
	seed = 1789;
	ask_many("stems", "english", 2, 1600);
}

static struct hits answered_with(struct world *w, struct query *q, const char *match,
				 struct arena *arena)
{
	struct query_node *node = arena_alloc(arena, sizeof *node);
	struct hits hits;
	struct err err;
	node->op = QUERY_MATCH;
	node->match = str_of(match);
	q->root = node;
	q->text = give_text;
	q->text_ctx = w;
	w->reads = 0;
	if (words_query(w->reader, q, arena, &hits, &err) < 0)
		fail_msg("%s", err.msg);
	return hits;
}

static void only_documents_with_the_literals_are_read_and_no_more_than_needed(void **state)
{
	(void)state;
	struct world w = {0};
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct query q = {.limit = DOCS};
	seed = 1914;
	open_world(&w, "reads", "", 1);
	struct hits all = answered_with(&w, &q, ".", &arena);
	assert_true(w.reads > DOCS / 2 && all.n > DOCS / 2);
	struct hits word = answered_with(&w, &q, "running", &arena);
	assert_true(w.reads == 0 && word.n > 2);
	struct hits some = answered_with(&w, &q, "running[ .-]", &arena);
	assert_true(some.n > 0 && some.n <= word.n && w.reads <= word.n);
	q.limit = 1;
	q.order = QUERY_ANYHOW;
	assert_int_equal(1, answered_with(&w, &q, "ab[ .-]", &arena).n);
	assert_true(w.reads < 20);
	q.order = QUERY_BY_RANK; /* what is not rated is not put in order either */
	assert_int_equal(1, answered_with(&w, &q, "ab[ .-]", &arena).n);
	assert_true(w.reads < 20);
	arena_free(&arena);
	close_world(&w);
}

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	struct world w = {0};
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct query_node node = {.op = QUERY_MATCH, .match = STR("(ab")};
	struct query q = {.root = &node, .limit = 1, .text = give_text, .text_ctx = &w};
	struct hits hits;
	struct err err;
	atomic_bool cancel = true;
	seed = 3;
	open_world(&w, "refused", "", 1);
	assert_true(words_query(w.reader, &q, &arena, &hits, &err) < 0);
	assert_int_equal(ERR_USAGE, err.code);
	node.match = STR("a b");
	q.text = NULL;
	assert_true(words_query(w.reader, &q, &arena, &hits, &err) < 0);
	assert_int_equal(ERR_USAGE, err.code);
	q.text = give_text;
	q.cancel = &cancel;
	assert_int_equal(0, words_query(w.reader, &q, &arena, &hits, &err));
	assert_true(hits.cut);
	arena_free(&arena);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_are_answered_as_by_looking_at_every_line),
		cmocka_unit_test(stems_do_not_hide_what_is_written),
		cmocka_unit_test(only_documents_with_the_literals_are_read_and_no_more_than_needed),
		cmocka_unit_test(what_cannot_be_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
