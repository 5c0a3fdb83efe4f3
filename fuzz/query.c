/* Queries in any bytes, with any options: refused with words, or a tree within its limits that can
 * be printed and read back as the same, by the Broker's grammar and by our own. */
#include "../tests/unit/index/query_same.h"
#include "index/token.h"

static void check_words(const struct query_node *node)
{
	bool patterns = false;
	for (uint32_t i = 0; i < node->words; i++) {
		const struct query_word *w = &node->word[i];
		bool wild = memchr(w->term.p, '*', w->term.n) || memchr(w->term.p, '?', w->term.n);
		ENSURE(w->term.n > 0 && w->form.n > 0 && w->folded.n > 0);
		ENSURE(w->term.n <= (w->pattern ? 241 : TOKEN_TERM_MOST));
		ENSURE(w->form.n <= (w->pattern ? 511 : TOKEN_FORM_MOST));
		ENSURE(!wild || w->pattern);
		patterns |= w->pattern;
	}
	ENSURE(node->errors <= (int)query_errors_most(node));
	ENSURE(node->errors >= QUERY_ERRORS_BEST);
	ENSURE(!patterns || (node->errors == 0 && !node->parts && !node->forgive && !node->plain));
	ENSURE(!node->whole || (node->exact && node->attribute.n && node->errors == 0 &&
				!node->parts && !node->forgive && !node->plain));
}

static uint32_t check_node(const struct query_node *node, int depth)
{
	uint32_t n = 1 + (node->words > 1 ? node->words - 1 : 0);
	ENSURE(depth <= 3 * QUERY_DEPTH_MOST + 3);
	ENSURE(node->op != QUERY_WORD || node->words == 1);
	ENSURE(node->op != QUERY_PHRASE || (node->words >= 2 && node->words <= QUERY_PHRASE_MOST));
	ENSURE(node->op != QUERY_NEAR ||
	       (node->words == 2 && node->distance > 0 && node->distance <= QUERY_NEAR_MOST));
	ENSURE(node->op != QUERY_MATCH || (node->match.n && node->match.n <= QUERY_MATCH_MOST));
	ENSURE(node->op != QUERY_COMPARE || node->attribute.n);
	ENSURE(node->op != QUERY_NOT || (node->kids == 1 && node->kid[0]->op != QUERY_NOT));
	ENSURE((node->op != QUERY_AND && node->op != QUERY_OR) || node->kids >= 2);
	check_words(node);
	for (uint32_t i = 0; i < node->kids; i++) {
		ENSURE(node->kid[i]->op != node->op);
		n += check_node(node->kid[i], depth + 1);
	}
	return n;
}

static void check_query(struct str text, const struct query_options *options)
{
	struct arena arena = ARENA_INIT((size_t)1 << 28);
	struct buf out = BUF_INIT(1 << 22);
	static struct token_rules *rules; /* opened once: it takes longer than a query */
	struct query q, again;
	struct query_options grammar = *options;
	struct err err = {0};
	ENSURE(rules || token_rules_open(&rules, STR(""), &err) == 0);
	if (query_parse(text, options, rules, &arena, &q, &err) == 0) {
		ENSURE(check_node(q.root, 0) <= QUERY_NODES_MOST);
		query_print(q.root, &out);
		for (int i = 0; i <= options->classic && out.n <= QUERY_TEXT_MOST; i++) {
			grammar.classic = i > 0;
			ENSURE(query_parse(buf_str(&out), &grammar, rules, &arena, &again, &err) ==
			       0);
			ENSURE(query_same(q.root, again.root));
			ENSURE(str_eq(q.notes, again.notes));
		}
	} else {
		ENSURE(err.code == ERR_USAGE && err.msg[0]);
	}
	buf_free(&out);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct query_options options[] = {
		{0},
		{.errors = 3, .parts = true},
		{.best = true, .forgive = true, .exact = true},
		{.classic = true},
		{.classic = true, .errors = 3, .parts = true, .forgive = true, .exact = true},
	};
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		check_query((struct str){(const char *)data, size}, &options[i]);
	return 0;
}
