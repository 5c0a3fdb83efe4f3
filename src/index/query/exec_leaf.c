/* Leaves: which lists the words of a query need. A plain word needs that of its term. A pattern, a
 * word with errors or a part of words means any number of terms, and needs their union; two leaves
 * that mean the same share it. Also finds how many errors a word needs that may have any. */
#include "index/query/exec.h"
#include "index/suggest.h"

/* Words */

static bool same_want(const struct terms_want *a, const struct terms_want *b)
{
	if (!a || !b)
		return a == b;
	return a->kind == b->kind && str_eq(a->word, b->word) && a->k == b->k &&
	       a->open_left == b->open_left && a->open_right == b->open_right &&
	       a->exact == b->exact && a->stemmed == b->stemmed && a->swaps == b->swaps &&
	       a->rx == b->rx;
}

static uint32_t term_number(struct exec *e, struct str attribute, struct str term,
			    const struct terms_want *want)
{
	for (uint32_t i = 0; i < e->terms; i++)
		if (str_eq(e->term[i].term, term) && str_eq(e->term[i].attribute, attribute) &&
		    !e->term[i].long_terms && same_want(e->term[i].want, want))
			return i;
	return exec_term_new(e, (struct exec_term){.attribute = attribute,
						   .term = term,
						   .want = want,
						   .wants = want ? 1 : 0});
}

uint32_t exec_term_new(struct exec *e, struct exec_term term)
{
	*ARENA_PUSH(e->arena, e->term, e->terms, e->terms_room) = term;
	return e->terms - 1;
}

/* Lists that must match, each once; a word that stands there twice counts twice. */
static void leaf_add(struct exec_leaf *leaf, uint32_t term)
{
	for (uint32_t i = 0; i < leaf->terms; i++)
		if (leaf->term[i] == term) {
			leaf->times[i]++;
			return;
		}
	leaf->term[leaf->terms] = term;
	leaf->times[leaf->terms++] = 1;
}

const struct token_rules *exec_rules(struct exec *e)
{
	if (e->query->rules)
		return e->query->rules;
	if (!e->rules && token_rules_open(&e->rules, STR(""), e->err) < 0)
		exec_fail(e);
	return e->rules;
}

static bool is_stemmed(const struct exec *e)
{
	return e->settings->language[0] != '\0';
}

/* NULL: the word is plain. */
static const struct terms_want *want_of(struct exec *e, const struct query_node *node,
					uint32_t number)
{
	struct terms_want want;
	bool stemmed = is_stemmed(e);
	if (!terms_want_of(node, number, stemmed, stemmed ? exec_rules(e) : NULL, &want))
		return NULL;
	struct terms_want *ret = arena_alloc(e->arena, sizeof *ret);
	*ret = want;
	return ret;
}

/* The neighbours of a plain word that is to be forgiven because hardly any document has it. NULL:
 * enough have it. */
static const struct terms_want *forgiven_want(struct exec *e, struct str attribute, struct str term)
{
	struct terms_want want;
	int rc = suggest_forgives(e->part, e->parts, attribute, term, &want, e->err);
	if (rc < 0)
		exec_fail(e);
	if (rc != 0)
		return NULL;
	struct terms_want *ret = arena_alloc(e->arena, sizeof *ret);
	*ret = want;
	return ret;
}

static struct exec_leaf *leaf_new(struct exec *e, const struct query_node *node, uint32_t words)
{
	struct exec_leaf *leaf = arena_alloc(e->arena, sizeof *leaf);
	leaf->node = node;
	leaf->words = words;
	leaf->main = node->attribute.n && str_is(node->attribute, e->settings->main);
	leaf->check = words > 1 || node->exact || leaf->main;
	leaf->loose = node->op == QUERY_NEAR;
	leaf->errors = (uint32_t)MAX(node->errors, 0);
	leaf->term = arena_array(e->arena, words, sizeof *leaf->term);
	leaf->times = arena_array(e->arena, words, sizeof *leaf->times);
	leaf->combined = arena_array(e->arena, words, sizeof *leaf->combined);
	return leaf;
}

/* want: NULL for a plain word. */
static void leaf_add_word(struct exec *e, struct exec_leaf *leaf, uint32_t number, struct str term,
			  const struct terms_want *want)
{
	struct str attribute = leaf->main ? STR("") : leaf->node->attribute;
	uint32_t list = term_number(e, attribute, term, want);
	leaf_add(leaf, list);
	leaf->loose |= want != NULL;
	leaf->check |= want && want->stemmed;
	/* Where nobody looks at positions, the list over all attributes need not be looked up. */
	leaf->combined[number] = want || !leaf->check ? list : term_number(e, STR(""), term, NULL);
}

static int leaf_end(struct exec *e, struct exec_leaf *leaf)
{
	leaf->loose &= leaf->check;
	for (uint32_t i = 0; leaf->loose && i < leaf->words; i++)
		e->term[leaf->combined[i]].kept = true;
	for (uint32_t i = 0; leaf->node->filter && i < leaf->terms; i++)
		leaf->times[i] = 0;
	return e->failed ? -1 : 0;
}

int exec_leaf(struct exec *e, const struct query_node *node, struct exec_leaf **ret)
{
	struct exec_leaf *leaf = leaf_new(e, node, node->words);
	struct str attribute = leaf->main ? STR("") : node->attribute;
	for (uint32_t i = 0; i < node->words; i++) {
		const struct terms_want *want = want_of(e, node, i);
		if (!want && node->forgive && !node->exact && !node->filter) {
			want = forgiven_want(e, attribute, node->word[i].term);
			leaf->errors += want ? want->k : 0;
		}
		leaf_add_word(e, leaf, i, want ? want->word : node->word[i].term, want);
	}
	*ret = leaf;
	return leaf_end(e, leaf);
}

int exec_leaf_match(struct exec *e, const struct query_node *node, const struct rx *rx,
		    struct exec_leaf **ret)
{
	struct exec_leaf *leaf = leaf_new(e, node, 1);
	struct terms_want *want = arena_alloc(e->arena, sizeof *want);
	*want = (struct terms_want){.kind = TERMS_MATCH,
				    .word = node->match,
				    .exact = node->exact,
				    .stemmed = is_stemmed(e),
				    .rx = rx,
				    .rules = exec_rules(e)};
	leaf_add_word(e, leaf, 0, node->match, want);
	*ret = leaf;
	return leaf_end(e, leaf);
}

/* Lists */

static int look_up_plain(struct exec *e, struct exec_term *t, size_t part)
{
	struct segment *s = e->part[part].segment;
	int attr = SEGMENT_COMBINED;
	if (t->attribute.n && (attr = segment_attr(s, t->attribute)) < 0)
		return 0;
	int rc = segment_term(s, (unsigned)attr, t->term, &t->info[part], e->err);
	if (rc < 0)
		return -1;
	if (rc == 1)
		t->info[part].df = 0;
	t->df += t->info[part].df;
	return 0;
}

int exec_look_up(struct exec *e, struct exec_term *t)
{
	t->info = arena_array(e->arena, MAX(e->parts, 1), sizeof *t->info);
	if (t->want)
		t->made = arena_array(e->arena, MAX(e->parts, 1), sizeof *t->made);
	for (size_t i = 0; i < e->parts; i++)
		if ((t->want ? exec_union_make : look_up_plain)(e, t, i) < 0)
			return -1;
	return 0;
}

/* As many errors as are needed */

/* Whether a document that is not deleted matches the node. */
static int finds_any(struct exec *e, const struct query_node *node, bool *ret)
{
	struct arena scratch = ARENA_INIT(SIZE_MAX);
	struct query query = {.root = (struct query_node *)node,
			      .rules = e->query->rules,
			      .order = QUERY_ANYHOW,
			      .limit = 1,
			      .cancel = e->query->cancel};
	struct exec try = {.query = &query,
			   .settings = e->settings,
			   .part = e->part,
			   .parts = e->parts,
			   .arena = &scratch,
			   .told = &scratch,
			   .err = e->err,
			   .deadline_us = e->deadline_us,
			   .watched = e->watched,
			   .keep = 1};
	int rc = exec_plan(&try, node);
	if (rc == 0)
		rc = exec_segments(&try);
	*ret = try.seen > 0;
	e->cut |= try.cut;
	e->partial |= try.partial;
	exec_best_free(&try.best);
	exec_terms_free(&try);
	token_rules_close(&try.rules);
	arena_free(&scratch);
	return rc;
}

static int best_of(struct exec *e, const struct query_node *node, struct query_node *ret)
{
	bool found = false;
	*ret = *node;
	ret->plain = false; /* the number is its own from here on, and is printed */
	for (uint32_t k = 0, most = query_errors_most(node); !found && !e->cut && k <= most; k++) {
		ret->errors = (int8_t)k;
		if (finds_any(e, ret, &found) < 0)
			return -1;
	}
	return 0;
}

static bool has_best(const struct query_node *node)
{
	bool best = node->errors == QUERY_ERRORS_BEST;
	for (uint32_t i = 0; i < node->kids && !best; i++)
		best = has_best(node->kid[i]);
	return best;
}

/* The depth is bounded by what query_parse() takes. */
int exec_best_errors(struct exec *e, const struct query_node *node, const struct query_node **ret)
{
	*ret = node;
	if (!has_best(node))
		return 0;
	struct query_node *copy = arena_alloc(e->told, sizeof *copy);
	*ret = copy;
	if (node->errors == QUERY_ERRORS_BEST)
		return best_of(e, node, copy);
	*copy = *node;
	copy->kid = arena_array(e->told, node->kids, sizeof(struct query_node *));
	for (uint32_t i = 0; i < node->kids; i++) {
		const struct query_node *kid;
		if (exec_best_errors(e, node->kid[i], &kid) < 0)
			return -1;
		copy->kid[i] = (struct query_node *)kid;
	}
	return 0;
}
