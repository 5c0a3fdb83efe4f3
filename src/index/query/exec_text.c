/* Expressions.
 *
 * One whose matches lie within a word is answered from the dictionary, as a pattern is. Any other
 * is looked for in the stored text, line by line. Its literals say which documents can have it:
 * each group of them becomes a list, the union of the terms that contain one of them, and only
 * documents that are in all of these lists are read; this is asked last, after all that is cheaper.
 * An expression without a literal that words can contain reads every document. */
#include "index/query/exec.h"

#include "index/words/token_inner.h"
#include "soif/soif.h"

enum {
	SLICE = 64 << 10,      /* bytes that are folded between two looks at the clock */
	TEXT_MOST = 512 << 20, /* bytes of a folded line: more than any document has */
};

struct exec_match {
	const struct query_node *node;
	struct rx *rx;
	struct rx_run *run;
	struct arena arena; /* for the text of a document */
	struct buf lines;   /* folded */
	struct exec_match *next;
};

/* Planning */

static int compile_match(struct exec *e, const struct query_node *node, struct exec_match **ret)
{
	struct exec_match *m = arena_alloc(e->arena, sizeof *m);
	struct err why;
	size_t at = 0;
	m->node = node;
	m->arena = ARENA_INIT(SIZE_MAX);
	m->lines = BUF_INIT(TEXT_MOST);
	if (rx_compile(&m->rx, node->match, !node->exact, &at, &why) < 0)
		return EXEC_REFUSE(e, node, "expression, character %zu: %s",
				   query_character(node->match, at), why.msg);
	m->next = e->matches;
	e->matches = m;
	m->run = rx_run_new(m->rx);
	rx_run_late(m->run, exec_late_now, e);
	*ret = m;
	return 0;
}

void exec_matches_close(struct exec *e)
{
	for (struct exec_match *m = e->matches; m; m = m->next) {
		rx_run_free(&m->run);
		rx_free(&m->rx);
		arena_free(&m->arena);
		buf_free(&m->lines);
	}
	e->matches = NULL;
}

/* All expressions of a query share the memory of one. */
static void share_memory(struct exec *e)
{
	size_t n = 0;
	for (const struct exec_match *m = e->matches; m; m = m->next)
		n++;
	for (struct exec_match *m = e->matches; m; m = m->next)
		rx_run_memory(m->run, RX_MEMORY / n);
}

/* What a word of a literal says of the terms that it is in; with less than all of the word its
 * sides are open. An expression that regards case and accents knows its words as they are written:
 * the term of a whole one is known, of a part only what is ASCII. */
static bool want_of_word(struct exec *e, const struct query_node *node, const struct token *token,
			 bool closed_left, bool closed_right, struct terms_want *ret)
{
	char text[TOKEN_TERM_MOST];
	struct str word = token->form;
	*ret = (struct terms_want){
		.kind = TERMS_WORD, .open_left = !closed_left, .open_right = !closed_right};
	if (node->exact && closed_left && closed_right) {
		word = (struct str){text, token_fold(exec_rules(e), word, text)};
	} else if (node->exact) {
		struct str run = token_ascii_run(word, false);
		ret->open_left |= run.p != word.p;
		ret->open_right |= run.p + run.n != word.p + word.n;
		word = str_head(run, sizeof text);
		ret->open_right |= word.n < run.n;
		word = str_lower(word, text);
	} else if (word.n > sizeof text) {
		return false;
	}
	if (word.n == 0)
		return false;
	ret->word = arena_str(e->arena, word);
	return true;
}

/* The longest word of a literal. false: it has none that terms could contain. */
static bool want_of_literal(struct exec *e, const struct query_node *node,
			    const struct rx_literal *literal, struct terms_want *ret)
{
	struct str text = literal->text;
	struct tokens tokens;
	struct token token, next;
	const char *before = NULL;
	tokens_init(&tokens, exec_rules(e), text, 0);
	int rc = tokens_next(&tokens, &token);
	ret->word = STR("");
	while (rc == 0) {
		const char *start = token.form.p, *end = start + token.form.n;
		rc = tokens_next(&tokens, &next);
		bool left = start == before || (start == text.p && literal->begins);
		bool right = (rc == 0 && next.form.p == end) ||
			     (end == text.p + text.n && literal->ends);
		struct terms_want want;
		if (want_of_word(e, node, &token, left, right, &want) && want.word.n > ret->word.n)
			*ret = want;
		before = end;
		token = next;
	}
	return ret->word.n > 0;
}

/* The list of documents that have one of the literals of a group. 1: it cannot be known. */
static int list_of_group(struct exec *e, const struct query_node *node, struct str attribute,
			 const struct rx_group *group, uint32_t *ret)
{
	struct terms_want *want = arena_array(e->arena, MAX(group->n, 1), sizeof *want);
	for (uint32_t i = 0; i < group->n; i++) {
		if (!want_of_literal(e, node, &group->literal[i], &want[i]))
			return 1;
		want[i].stemmed = e->settings->language[0] != '\0';
		want[i].rules = exec_rules(e);
		if (want[i].stemmed && !want[i].open_left && !want[i].open_right)
			want[i].kind =
				TERMS_PATTERN; /* as written: not the term, which is a stem */
	}
	if (group->n == 0)
		return 1;
	*ret = exec_term_new(e, (struct exec_term){.attribute = attribute,
						   .term = group->literal[0].text,
						   .want = want,
						   .wants = group->n,
						   .long_terms = true,
						   .unscored = true});
	return 0;
}

/* The lists that a document must be in to be read. NULL: there are none. */
static struct exec_leaf *leaf_of_literals(struct exec *e, const struct exec_match *m)
{
	const struct query_node *node = m->node;
	uint32_t groups, n = 0;
	const struct rx_group *group = rx_literals(m->rx, &groups);
	bool main = node->attribute.n && str_is(node->attribute, e->settings->main);
	struct exec_leaf *leaf = arena_alloc(e->arena, sizeof *leaf);
	leaf->node = node;
	leaf->term = arena_array(e->arena, MAX(groups, 1), sizeof *leaf->term);
	leaf->times = arena_array(e->arena, MAX(groups, 1), sizeof *leaf->times);
	for (uint32_t i = 0; i < groups && !e->failed; i++)
		n += list_of_group(e, node, main ? STR("") : node->attribute, &group[i],
				   &leaf->term[n]) == 0;
	leaf->terms = n;
	return n ? leaf : NULL;
}

int exec_match_plan(struct exec *e, const struct query_node *node, struct exec_node *ret)
{
	struct exec_match *m = NULL;
	if (e->matches && exec_late_now(e)) { /* each may take milliseconds to compile */
		ret->op = QUERY_NOTHING;
		return 0;
	}
	if (!exec_rules(e) || compile_match(e, node, &m) < 0)
		return -1;
	share_memory(e);
	if (rx_within_word(m->rx)) {
		ret->op = QUERY_WORD;
		return exec_leaf_match(e, node, m->rx, &ret->leaf);
	}
	if (!e->query->text)
		return EXEC_REFUSE(e, node,
				   "an expression for more than parts of words needs the text of "
				   "documents, which is not kept here");
	struct exec_leaf *leaf = leaf_of_literals(e, m);
	if (e->failed)
		return -1;
	ret->op = QUERY_MATCH;
	ret->match = m;
	if (!leaf)
		return 0;
	struct exec_node *both = arena_array(e->arena, 2, sizeof *both);
	both[0] = (struct exec_node){.op = QUERY_WORD, .leaf = leaf};
	both[1] = *ret;
	*ret = (struct exec_node){.op = QUERY_AND, .kids = 2};
	ret->kid = arena_array(e->arena, 2, sizeof(struct exec_node *));
	ret->kid[0] = &both[0];
	ret->kid[1] = &both[1];
	return 0;
}

/* Texts */

/* As many whole lines as a slice has, or the one that is longer. */
static size_t slice_bytes(struct str text)
{
	size_t n = MIN(text.n, (size_t)SLICE);
	while (n > 0 && n < text.n && text.p[n - 1] != '\n')
		n--;
	return n ? n : MIN(str_find_byte(text, '\n') + 1, text.n);
}

/* A part of a long line: up to a blank, where words do not go on. */
static size_t part_bytes(struct str line)
{
	size_t n = MIN(line.n, (size_t)SLICE);
	while (n > 1 && n < line.n && line.p[n - 1] != ' ')
		n--;
	return n > 1 ? n : MAX(str_utf8_head(line, SLICE).n, (size_t)1);
}

/* Lines as they are compared. */
static struct str fold_lines(struct exec *e, struct exec_match *m, struct str lines)
{
	buf_clear(&m->lines);
	while (lines.n && !e->cut) {
		size_t n = part_bytes(lines);
		token_fold_text(exec_rules(e), str_head(lines, n), &m->lines, NULL);
		lines = str_from(lines, n);
		if (lines.n)
			(void)exec_late_now(e);
	}
	return buf_str(&m->lines);
}

static bool value_matches(struct exec *e, struct exec_match *m, struct str value)
{
	struct str line;
	if (m->node->exact)
		return rx_find_line(m->run, value, 0, &line) == 0;
	while (value.n && !exec_late(e)) {
		size_t n = slice_bytes(value);
		struct str lines = fold_lines(e, m, str_head(value, n));
		if (!e->cut && rx_find_line(m->run, lines, 0, &line) == 0)
			return true;
		value = str_from(value, n);
	}
	return false;
}

/* Attributes that have no words in the index are not looked at. */
static bool is_searched(const struct exec *e, const struct query_node *node, struct str name)
{
	char small[WORDS_NAME_MOST + 1];
	if (node->attribute.n && !str_eq_nocase(name, node->attribute))
		return false;
	if (name.n >= sizeof small)
		return true; /* no weight has such a name */
	return words_weight(e->settings, str_lower(name, small)) > 0;
}

bool exec_match(struct exec *e, struct exec_match *m, uint32_t doc)
{
	struct segment_column column;
	struct soif object = {0};
	if (exec_deleted(e, doc) || exec_late_now(e))
		return false;
	if (segment_column(e->segment, SEGMENT_OID, &column, e->err) < 0)
		return exec_fail(e) == 0;
	int64_t oid = segment_number(&column, doc);
	if (oid == SEGMENT_ABSENT || oid == 0)
		return false;
	e->count.texts++;
	arena_clear(&m->arena);
	int rc = e->query->text(e->query->text_ctx, (uint64_t)oid, &m->arena, &object, e->err);
	if (rc < 0)
		return exec_fail(e) == 0;
	for (size_t i = 0; rc == 0 && i < object.n; i++)
		if (is_searched(e, m->node, object.attr[i].name) &&
		    value_matches(e, m, object.attr[i].value))
			return true;
	return false;
}
