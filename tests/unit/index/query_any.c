/* Queries of every kind over texts of few and short words, so that errors and patterns hit, against
 * plain code: every word of every document is compared with every word of the query, by the table
 * of edit distances and by a matcher of patterns that goes back. What is compared is which
 * documents match; scores are query_model's. A number as argument: so many queries. */
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "index/words.h"
#include "words_model.h"

#include <stdio.h>

static uint64_t seed;
static uint64_t queries = 500;

static size_t throw_dice(size_t n)
{
	return (size_t)(dice(&seed) % n);
}

/* Texts */

static const char *const attributes[] = {"full-text", "title", "keywords", "author"};

/* Folded, decomposed, without blanks between them, and not UTF-8. */
static const char *const letters[] = {
	"a", "a", "a", "b", "b",        "b",         "c", "c",        "d",
	"A", "B", "C", "1", "\303\251", "e\314\201", "e", "\303\237",
};
static const char *const others[] = {"\346\235\261",
				     "\344\272\254",
				     "\343\201\213\343\202\231",
				     "\360\220\220\200",
				     "a\346\235\261b",
				     "2024",
				     "and"};

static void some_word(struct buf *b)
{
	size_t kind = throw_dice(40), n = 1 + throw_dice(6);
	if (kind == 0) { /* up to 128 bytes, which is as long as words may be */
		buf_fill(b, throw_dice(2) ? 'a' : 'b', 116 + throw_dice(7));
		n = throw_dice(3);
	} else if (kind == 4) { /* longer ones are cut */
		buf_fill(b, throw_dice(2) ? 'a' : 'b', 126 + throw_dice(6));
		n = 0;
	} else if (kind < 4) {
		buf_add_text(b, others[throw_dice(ARRAY_LEN(others))]);
		n = 0;
	}
	while (n--)
		buf_add_text(b, letters[throw_dice(ARRAY_LEN(letters))]);
}

static void some_text(struct buf *b, size_t words)
{
	static const char *const between[] = {" ", " ", " ", " ", "-", ", ", "\n", " \377", "\300"};
	while (words--) {
		some_word(b);
		buf_add_text(b, between[throw_dice(ARRAY_LEN(between))]);
	}
}

/* The world: an index and the documents in it. */

struct world {
	struct model model;
	struct words_writer *writer;
	struct words_reader *reader;
};

static void add_doc(struct world *w, size_t number)
{
	struct buf text[4] = {BUF_INIT(1 << 16), BUF_INIT(1 << 16), BUF_INIT(1 << 16),
			      BUF_INIT(1 << 16)};
	struct words_attr attr[MODEL_ATTRS];
	char key[32], size[32];
	struct err err;
	size_t n = 0;
	snprintf(key, sizeof key, "http://h/%zu", number);
	snprintf(size, sizeof size, "%zu", throw_dice(40) * 256);
	struct words_doc doc = {
		.key = str_of(key), .time_s = (int64_t)throw_dice(1000) * 86400, .attr = attr};
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		if (throw_dice(4) < i)
			continue;
		some_text(&text[i], throw_dice(i == 0 ? 24 : 5));
		attr[n++] = (struct words_attr){str_of(attributes[i]), buf_str(&text[i])};
	}
	if (n && throw_dice(6) == 0) { /* a second value */
		attr[n] = attr[throw_dice(n)];
		n++;
	}
	if (throw_dice(4))
		attr[n++] = (struct words_attr){STR("size"), str_of(size)};
	doc.n = n;
	if (words_add(w->writer, &doc, &err) < 0)
		fail_msg("%s", err.msg);
	model_add(&w->model, &doc);
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_free(&text[i]);
}

static void drop_doc(struct world *w, size_t number)
{
	char key[32];
	struct err err;
	snprintf(key, sizeof key, "http://h/%zu", number);
	if (words_delete(w->writer, str_of(key), &err) < 0)
		fail_msg("%s", err.msg);
	model_delete(&w->model, str_of(key));
}

static void make_settings(struct words_settings *ret)
{
	words_settings_default(ret);
	ret->columns = 1;
	snprintf(ret->column[0].name, sizeof ret->column[0].name, "size");
	ret->column[0].type = WORDS_NUMBER;
}

static void open_world(struct world *w, const char *name, size_t docs, size_t commits)
{
	struct words_options options = {.memory = WORDS_MEMORY_MIN};
	struct err err;
	w->model.arena = ARENA_INIT((size_t)4 << 30);
	if (token_rules_open(&w->model.rules, STR(""), &err) < 0)
		fail_msg("%s", err.msg);
	make_settings(&w->model.settings);
	options.settings = &w->model.settings;
	if (words_writer_open(&w->writer, scratch(name), &options, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t c = 0; c < commits; c++) {
		for (size_t i = 0; i < docs / commits; i++)
			add_doc(w, c && throw_dice(5) == 0 ? throw_dice(docs)
							   : c * docs / commits + i);
		for (size_t i = 0; i < docs / commits / 6; i++)
			drop_doc(w, throw_dice(docs));
		if (words_commit(w->writer, NULL, &err) < 0)
			fail_msg("%s", err.msg);
	}
	if (words_open(&w->reader, scratch(name), &err) != 0)
		fail_msg("%s", err.msg);
}

static void close_world(struct world *w)
{
	words_close(&w->reader);
	words_writer_close(&w->writer);
	model_free(&w->model);
}

static void merge_world(struct world *w)
{
	struct err err;
	if (words_merge_all(w->writer, &err) < 0 || words_refresh(&w->reader, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Words that are meant */

enum { CHARS_MOST = 512, NEVER = 250, UNKNOWN = 255 };

static size_t chars_of(struct str s, uint32_t ret[CHARS_MOST])
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; n++) {
		size_t len = str_utf8_char(str_from(s, i));
		ENSURE(len && n < CHARS_MOST);
		ret[n] = 0;
		for (size_t k = 0; k < len; k++)
			ret[n] = ret[n] << 8 | (unsigned char)s.p[i + k];
		i += len;
	}
	return n;
}

/* Insertions, deletions and substitutions that make of the word the text or, where a side is open,
 * what is left of it without a beginning, an end. */
static size_t distance_of(struct str word, struct str text, bool open_left, bool open_right)
{
	static uint32_t w[CHARS_MOST], t[CHARS_MOST];
	size_t row[CHARS_MOST + 1], n = chars_of(word, w), m = chars_of(text, t);
	for (size_t j = 0; j <= m; j++)
		row[j] = open_left ? 0 : j;
	for (size_t i = 1; i <= n; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t both = corner + (w[i - 1] != t[j - 1]);
			size_t either = MIN(row[j], row[j - 1]) + 1;
			corner = row[j];
			row[j] = MIN(both, either);
		}
	}
	size_t least = row[m];
	for (size_t j = 0; open_right && j < m; j++)
		least = MIN(least, row[j]);
	return least;
}

static bool pattern_fits(struct str pattern, struct str text)
{
	static uint32_t p[CHARS_MOST], t[CHARS_MOST];
	size_t n = chars_of(pattern, p), m = chars_of(text, t);
	size_t i = 0, j = 0, star = SIZE_MAX, back = 0;
	while (j < m) {
		if (i < n && p[i] == '*') {
			star = i++;
			back = j;
		} else if (i < n && (p[i] == '?' || p[i] == t[j])) {
			i++;
			j++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			j = ++back;
		} else {
			return false;
		}
	}
	while (i < n && p[i] == '*')
		i++;
	return i == n;
}

/* A node of the query, with the errors of each word of its in each text of the model, found when
 * they are first needed. */
struct asked {
	const struct query_node *node;
	uint8_t *cost[QUERY_PHRASE_MOST];
	size_t most[QUERY_PHRASE_MOST]; /* errors that a word may have */
	uint32_t errors;
	struct asked **kid;
};

static size_t count_chars(struct str s)
{
	uint32_t chars[CHARS_MOST];
	return chars_of(s, chars);
}

static struct str first_chars(struct str s, size_t most)
{
	size_t n = 0;
	while (most-- && n < s.n)
		n += str_utf8_char(str_from(s, n));
	return str_head(s, n);
}

static uint8_t cost_of(struct model *m, struct asked *a, uint32_t word, const struct model_word *at)
{
	const struct query_node *node = a->node;
	const struct query_word *w = &node->word[word];
	bool near = node->op == QUERY_NEAR;
	uint32_t number = node->exact ? at->form : at->term;
	uint8_t *cost = &a->cost[word][number];
	if (*cost != UNKNOWN)
		return *cost;
	struct str text = m->text[number], mine = node->exact ? w->form : w->term;
	if (MIN(a->errors, a->most[word]) > 0) /* forms have letters beyond; they do not count */
		text = first_chars(text, TOKEN_TERM_MOST);
	if (w->pattern) {
		*cost = pattern_fits(mine, text) ? 0 : NEVER;
	} else {
		bool left = node->parts && (near || word == 0);
		bool right = node->parts && (near || word + 1 == node->words);
		size_t d = distance_of(mine, text, left, right);
		*cost = (uint8_t)(d > a->most[word] ? (size_t)NEVER : d);
	}
	return *cost;
}

static bool phrase_stands(struct model *m, struct asked *a, const struct model_value *v)
{
	for (uint32_t at = 0; at + a->node->words <= v->n; at++) {
		uint32_t sum = 0;
		for (uint32_t i = 0; i < a->node->words && sum <= a->errors; i++)
			sum += cost_of(m, a, i, &v->word[at + i]);
		if (sum <= a->errors)
			return true;
	}
	return false;
}

static bool near_stands(struct model *m, struct asked *a, const struct model_value *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		if (cost_of(m, a, 0, &v->word[i]) > a->errors)
			continue;
		for (uint32_t j = 0; j < v->n; j++)
			if (i != j && (i < j ? j - i : i - j) <= a->node->distance &&
			    cost_of(m, a, 1, &v->word[j]) <= a->errors)
				return true;
	}
	return false;
}

static bool words_stand(struct model *m, struct asked *a, const struct model_doc *d)
{
	const struct query_node *node = a->node;
	int attr = node->attribute.n ? model_attr(m, node->attribute) : -1;
	bool found = false;
	if (node->op != QUERY_NEAR && node->attribute.n && model_is_value(node))
		return model_equals(d, node);
	if (node->attribute.n && attr < 0)
		return false;
	for (uint32_t v = 0; v < d->values && !found; v++)
		if (attr < 0 || d->value[v].attr == (uint32_t)attr)
			found = (node->op == QUERY_NEAR ? near_stands
							: phrase_stands)(m, a, &d->value[v]);
	return found;
}

static void forget_costs(const struct model *m, struct asked *a)
{
	for (uint32_t i = 0; i < a->node->words; i++)
		memset(a->cost[i], UNKNOWN, m->texts + 1);
}

/* The least errors with which a document matches, where any number will do. */
static void find_errors(struct model *m, struct asked *a)
{
	uint32_t most = query_errors_most(a->node);
	bool found = false;
	a->errors = (uint32_t)MAX(a->node->errors, 0);
	if (a->node->errors != QUERY_ERRORS_BEST)
		return;
	for (uint32_t k = 0; k <= most && !found; k++) {
		a->errors = k;
		forget_costs(m, a);
		for (size_t i = 0; i < m->docs && !found; i++)
			found = words_stand(m, a, &m->doc[i]);
	}
}

static struct asked *ask_of(struct model *m, const struct query_node *node, struct arena *arena)
{
	struct asked *a = arena_alloc(arena, sizeof *a);
	a->node = node;
	for (uint32_t i = 0; i < node->words; i++) {
		struct str word = node->exact ? node->word[i].form : node->word[i].term;
		a->cost[i] = arena_alloc(arena, m->texts + 1);
		size_t n = count_chars(word);
		a->most[i] = n > TOKEN_TERM_MOST ? 0 : MIN(n - 1, (size_t)QUERY_ERRORS_MOST);
	}
	forget_costs(m, a);
	if (node->words)
		find_errors(m, a);
	a->kid = arena_array(arena, MAX(node->kids, 1), sizeof *a->kid);
	for (uint32_t i = 0; i < node->kids; i++)
		a->kid[i] = ask_of(m, node->kid[i], arena);
	return a;
}

static bool doc_matches(struct model *m, struct asked *a, const struct model_doc *d)
{
	const struct query_node *node = a->node;
	uint32_t i = 0;
	switch (node->op) {
	case QUERY_ALL:
		return true;
	case QUERY_WORD:
	case QUERY_PHRASE:
	case QUERY_NEAR:
		return words_stand(m, a, d);
	case QUERY_COMPARE:
		return model_compares(d, node);
	case QUERY_NOT:
		return !doc_matches(m, a->kid[0], d);
	case QUERY_AND:
		while (i < node->kids && doc_matches(m, a->kid[i], d))
			i++;
		return i == node->kids;
	case QUERY_OR:
		while (i < node->kids && !doc_matches(m, a->kid[i], d))
			i++;
		return i < node->kids;
	default:
		return false;
	}
}

/* Queries */

/* A word with a pattern in it. */
static void some_pattern(struct buf *b)
{
	struct buf word = BUF_INIT(1 << 10);
	size_t kind = throw_dice(5);
	some_word(&word);
	buf_add_text(b, kind == 1 || kind == 2 ? "*" : "");
	for (size_t i = 0; i < word.n; i++) {
		bool inside =
			i > 0 && i + 1 < word.n && !(word.p[i] & 0x80) && !(word.p[i - 1] & 0x80);
		if (kind >= 3 && inside && throw_dice(3) == 0)
			buf_add_text(b, throw_dice(2) ? "?" : "*");
		else
			buf_add_byte(b, word.p[i]);
	}
	buf_add_text(b, kind == 0 || kind == 2 ? "*" : "");
	buf_free(&word);
}

static void some_errors(struct buf *b)
{
	if (throw_dice(4) == 0)
		buf_add_text(b, "~");
	else
		buf_printf(b, "~%zu", throw_dice(12) ? 1 + throw_dice(3) : 1 + throw_dice(8));
}

static void some_phrase(struct buf *b, bool patterns)
{
	buf_add_byte(b, '"');
	for (size_t n = 2 + throw_dice(2); n; n--) {
		if (patterns && throw_dice(2))
			some_pattern(b);
		else
			some_word(b);
		buf_add_text(b, n > 1 ? " " : "");
	}
	buf_add_byte(b, '"');
}

static void some_column(struct buf *b)
{
	size_t from = throw_dice(40);
	switch (throw_dice(6)) {
	case 0:
		buf_printf(b, "size : %zu..%zu", from * 256, (from + throw_dice(20)) * 256);
		return;
	case 1:
		buf_printf(b, "size : %zuk..", from / 4);
		return;
	case 2:
		buf_printf(b, "size : ..%zuk", from / 4);
		return;
	case 3:
		buf_printf(b, "size %s %zuk", throw_dice(2) ? "<" : ">=", from / 4);
		return;
	case 4:
		buf_printf(b, "time : 1970-0%zu..1971-0%zu", 1 + throw_dice(9), 1 + throw_dice(9));
		return;
	default:
		buf_printf(b, "size : %zu", from * 256);
		return;
	}
}

static void some_near(struct buf *b)
{
	const char *exact = throw_dice(6) ? "" : "=";
	for (int i = 0; i < 2; i++) {
		buf_add_text(b, exact);
		if (throw_dice(4))
			some_word(b);
		else
			some_pattern(b);
		if (i == 0)
			buf_printf(b, " NEAR/%zu ", 1 + throw_dice(6));
	}
}

static void some_operand(struct buf *b)
{
	size_t kind = throw_dice(24);
	if (kind == 0) {
		some_column(b);
		return;
	}
	if (throw_dice(3) == 0)
		buf_printf(b, "%s : ", attributes[throw_dice(ARRAY_LEN(attributes))]);
	if (kind < 4) {
		some_near(b);
		return;
	}
	if (throw_dice(6) == 0)
		buf_add_byte(b, '=');
	if (kind < 10)
		some_pattern(b);
	else if (kind < 16)
		some_word(b);
	else
		some_phrase(b, kind < 19);
	if (kind >= 12 && kind != 18 && throw_dice(2))
		some_errors(b);
}

static void some_query(struct buf *b, int depth)
{
	size_t parts = throw_dice(2) ? 1 : 1 + throw_dice(3);
	const char *op = throw_dice(2) ? " AND " : " OR ";
	for (size_t i = 0; i < parts; i++) {
		buf_add_text(b, i ? op : "");
		buf_add_text(b, throw_dice(8) ? "" : "NOT ");
		if (depth > 0 && throw_dice(5) == 0) {
			buf_add_byte(b, '(');
			some_query(b, depth - 1);
			buf_add_byte(b, ')');
		} else {
			some_operand(b);
		}
	}
}

static void some_options(struct query_options *ret)
{
	*ret = (struct query_options){0};
	if (throw_dice(3))
		return;
	ret->exact = throw_dice(6) == 0;
	ret->errors = (uint8_t)(throw_dice(2) ? throw_dice(4) : 0);
	ret->best = throw_dice(5) == 0;
	ret->parts = throw_dice(2);
}

/* Answers */

static int by_key(const void *pa, const void *pb)
{
	const struct str *a = pa, *b = pb;
	return str_cmp(*a, *b);
}

static void describe_query(const char *text, const struct query_options *o, struct buf *to)
{
	buf_printf(to, "'%s' (exact %d, errors %u, best %d, parts %d)", text, o->exact, o->errors,
		   o->best, o->parts);
}

static size_t check_answer(struct world *w, const struct query *q, const char *text,
			   const struct query_options *options, struct arena *arena)
{
	struct asked *asked = ask_of(&w->model, q->root, arena);
	struct str *want = arena_array(arena, w->model.docs + 1, sizeof *want);
	struct str *got;
	struct buf what = BUF_INIT(1 << 16);
	struct hits hits;
	struct err err;
	size_t n = 0;
	describe_query(text, options, &what);
	for (size_t i = 0; i < w->model.docs; i++)
		if (doc_matches(&w->model, asked, &w->model.doc[i]))
			want[n++] = w->model.doc[i].key;
	if (words_query(w->reader, q, arena, &hits, &err) < 0)
		fail_msg("%s: %s", buf_text(&what), err.msg);
	got = arena_array(arena, hits.n + 1, sizeof *got);
	for (size_t i = 0; i < hits.n; i++)
		got[i] = hits.hit[i].key;
	qsort(want, n, sizeof *want, by_key);
	qsort(got, hits.n, sizeof *got, by_key);
	for (size_t i = 0; i < MIN(n, hits.n); i++)
		if (!str_eq(want[i], got[i]))
			fail_msg("%s: " STR_FMT " is there, " STR_FMT " should be", buf_text(&what),
				 STR_ARG(got[i]), STR_ARG(want[i]));
	if (hits.n != n)
		fail_msg("%s: %zu documents, %zu should be", buf_text(&what), hits.n, n);
	assert_true(hits.total == n && hits.total_exact && !hits.cut);
	buf_free(&what);
	return n;
}

/* How many queries of each kind were asked, and found something but not everything. */
struct tally {
	size_t asked, telling, errors, best, patterns, near, parts, phrases;
};

static void count_node(const struct query_node *node, struct tally *t)
{
	for (uint32_t i = 0; i < node->words; i++)
		t->patterns += node->word[i].pattern;
	t->errors += node->errors > 0;
	t->best += node->errors == QUERY_ERRORS_BEST;
	t->near += node->op == QUERY_NEAR;
	t->parts += node->parts;
	t->phrases += node->op == QUERY_PHRASE;
	for (uint32_t i = 0; i < node->kids; i++)
		count_node(node->kid[i], t);
}

static void ask_once(struct world *w, struct tally *t)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct buf text = BUF_INIT(1 << 16);
	struct query_options options;
	struct query q;
	struct err err;
	int rc;
	do { /* what has too many errors for its letters is thrown again */
		buf_clear(&text);
		arena_clear(&arena);
		some_query(&text, 2);
		some_options(&options);
		rc = query_parse(buf_str(&text), &options, w->model.rules, &arena, &q, &err);
		if (rc < 0)
			assert_int_equal(ERR_USAGE, err.code);
	} while (rc < 0);
	q.order = throw_dice(3) ? QUERY_ANYHOW : throw_dice(2) ? QUERY_BY_RANK : QUERY_BY_TIME;
	q.limit = QUERY_LIMIT_MOST;
	size_t n = check_answer(w, &q, buf_text(&text), &options, &arena);
	t->asked++;
	if (n > 0 && n < w->model.docs) {
		t->telling++;
		count_node(q.root, t);
	}
	buf_free(&text);
	arena_free(&arena);
}

static void any_query_finds_what_plain_code_finds(void **state)
{
	(void)state;
	struct tally t = {0};
	for (unsigned round = 0; t.asked < queries; round++) {
		struct world w = {0};
		char name[16];
		seed = 19001 + round;
		snprintf(name, sizeof name, "any%u", round);
		open_world(&w, name, 60 + 60 * (round % 4), 1 + round % 5);
		for (unsigned i = 0; i < 500 && t.asked < queries; i++) {
			if (i == 350)
				merge_world(&w);
			ask_once(&w, &t);
		}
		close_world(&w);
	}
	/* the queries are about what is there */
	assert_true(t.telling > t.asked / 4);
	size_t least = queries / 100;
	assert_true(t.errors >= least && t.best >= least && t.patterns >= least &&
		    t.near >= least && t.parts >= least && t.phrases >= least);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_query_finds_what_plain_code_finds),
	};
	queries = unit_thorough() ? 20000 : queries;
	if (argc > 1 && !str_u64(str_of(argv[1]), &queries))
		return 2;
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
