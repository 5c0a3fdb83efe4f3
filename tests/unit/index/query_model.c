/* Tens of thousands of random queries, answered by the index as by a search that is as simple as
 * can be: which documents, in which order, with which score. */
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "rank_model.h"

#include <stdio.h>

static uint64_t seed;

static const char *const vocabulary[] = {
	"the",   "of",     "and2",   "index",   "Word",  "words",    "WORDS",   "alpha",
	"beta",  "Gamma",  "delta",  "Épsilon", "zeta",  "straße",   "STRASSE", "Москва",
	"東京",  "search", "engine", "Linux",   "linux", "kernel",   "module",  "x86_64",
	"don't", "a",      "b",      "c",       "1998",  "2024",     "naïve",   "naive",
	"ﬁle",   "file",   "한국어", "हिन्दी",   "fox",   "dog",      "lazy",    "quick",
	"brown", "jumps",  "over",   "ε",       "Ε",     "\xff\xfe", "rare1",   "rare2",
};
static const char *const attributes[] = {"full-text", "title", "keywords", "url", "note", "secret"};

static size_t throw(size_t n)
{
	return (size_t)(dice(&seed) % n);
}

/* Words at the beginning are the common ones. */
static const char *word(void)
{
	size_t n = ARRAY_LEN(vocabulary), a = throw(n), b = throw(n), c = throw(4);
	return vocabulary[c ? MIN(a, b) : a];
}

static void some_words(struct buf *b, size_t n)
{
	static const char *const between[] = {" ", " ", " ", ", ", "-", "\n", " … ", "_", " \xc3 "};
	while (n--)
		buf_printf(b, "%s%s", word(), between[throw(ARRAY_LEN(between))]);
}

static void settings(struct words_settings *ret)
{
	words_settings_default(ret);
	ret->weights = 3;
	snprintf(ret->weight[0].name, sizeof ret->weight[0].name, "title");
	ret->weight[0].weight = 4;
	snprintf(ret->weight[1].name, sizeof ret->weight[1].name, "keywords");
	ret->weight[1].weight = 2;
	snprintf(ret->weight[2].name, sizeof ret->weight[2].name, "secret");
	ret->weight[2].weight = 0;
	ret->columns = 1;
	snprintf(ret->column[0].name, sizeof ret->column[0].name, "size");
	ret->column[0].type = WORDS_NUMBER;
	ret->by_rank = throw(2);
}

struct world {
	struct model model;
	struct words_writer *writer;
	struct words_reader *reader;
	bool ranks;
	size_t longest; /* words of a text */
};

static void key_of(unsigned number, char ret[static 32])
{
	snprintf(ret, 32, "http://h%u/%u", number % 7, number);
}

static void add(struct world *w, unsigned number)
{
	struct buf text[3] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20), BUF_INIT(1 << 10)};
	struct words_attr attr[MODEL_ATTRS];
	struct err err;
	char key[32], size[32];
	size_t n = 0;
	key_of(number, key);
	snprintf(size, sizeof size, "%zu", throw(50));
	struct words_doc doc = {.key = str_of(key),
				.time_s = (int64_t) throw(1000) * 86400 - 86400 * 100,
				.rank = w->ranks ? (uint16_t) throw(60000) : 0,
				.attr = attr};
	some_words(&text[0], throw(20) ? throw(w->longest) : throw(w->longest * 40));
	some_words(&text[1], throw(6));
	some_words(&text[2], throw(3));
	if (throw(30))
		attr[n++] = (struct words_attr){str_of(attributes[0]), buf_str(&text[0])};
	if (throw(4))
		attr[n++] = (struct words_attr){str_of(attributes[1]), buf_str(&text[1])};
	if (throw(3) == 0)
		attr[n++] =
			(struct words_attr){str_of(attributes[2 + throw(4)]), buf_str(&text[2])};
	if (throw(9) == 0)
		attr[n++] = (struct words_attr){str_of(attributes[1]), buf_str(&text[2])};
	if (throw(3))
		attr[n++] = (struct words_attr){STR("size"), str_of(size)};
	doc.n = n;
	assert_int_equal(0, words_add(w->writer, &doc, &err));
	model_add(&w->model, &doc);
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_free(&text[i]);
}

static void drop(struct world *w, unsigned number)
{
	char key[32];
	struct err err;
	key_of(number, key);
	bool there = model_find(&w->model, str_of(key));
	assert_int_equal(there ? 0 : 1, words_delete(w->writer, str_of(key), &err));
	model_delete(&w->model, str_of(key));
}

/* Where the index has each document, and what it knows of all. */
static void look(struct world *w)
{
	struct model *m = &w->model;
	struct err err;
	size_t parts;
	uint64_t length = 0;
	const struct words_part *part = words_parts(w->reader, &parts);
	m->index_docs = 0;
	for (size_t p = 0; p < parts; p++) {
		m->index_docs += segment_info(part[p].segment)->docs;
		length += segment_info(part[p].segment)->weighted_length;
	}
	rank_norms(&m->norms, m->index_docs, length);
	for (size_t i = 0; i < m->docs; i++) {
		struct model_doc *d = &m->doc[i];
		size_t found = 0;
		for (size_t p = 0; p < parts; p++) {
			uint32_t doc;
			if (segment_find(part[p].segment, d->key, &doc, &err) == 0 &&
			    !words_deleted(&part[p], doc)) {
				d->segment = (uint32_t)p;
				d->doc = doc;
				found++;
			}
		}
		assert_int_equal(1, found);
	}
}

static void begin_world(struct world *w, const char *name)
{
	struct words_options options = {.memory = WORDS_MEMORY_MIN};
	struct err err;
	w->model.arena = ARENA_INIT((size_t)4 << 30);
	assert_int_equal(0, token_rules_open(&w->model.rules, STR(""), &err));
	settings(&w->model.settings);
	options.settings = &w->model.settings;
	if (words_writer_open(&w->writer, scratch(name), &options, &err) < 0)
		fail_msg("%s", err.msg);
}

static void open_world(struct world *w, const char *name, unsigned docs, unsigned commits)
{
	struct err err;
	begin_world(w, name);
	for (unsigned c = 0; c < commits; c++) {
		for (unsigned i = 0; i < docs / commits; i++)
			add(w, throw(4) && c ? (unsigned) throw(docs) : c * docs / commits + i);
		for (unsigned i = 0; i < docs / commits / 8; i++)
			drop(w, (unsigned) throw(docs));
		if (words_commit(w->writer, NULL, &err) < 0)
			fail_msg("%s", err.msg);
	}
	assert_int_equal(0, words_open(&w->reader, scratch(name), &err));
	look(w);
}

static void close_world(struct world *w)
{
	words_close(&w->reader);
	words_writer_close(&w->writer);
	model_free(&w->model);
}

/* Merges what there is, tier by tier or all of it, and goes on from there. */
static void merge_world(struct world *w, bool whole)
{
	struct err err;
	int rc = 0;
	if (whole)
		rc = words_merge_all(w->writer, &err);
	while (!whole && rc == 0)
		rc = words_merge(w->writer, UINT64_MAX, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	if (words_refresh(&w->reader, &err) < 0)
		fail_msg("%s", err.msg);
	look(w);
}

/* Replaces and deletes some, without and with a merge between that and the commit. */
static void change_world(struct world *w, unsigned docs)
{
	struct err err;
	for (unsigned i = 0; i < docs / 4; i++)
		add(w, (unsigned) throw(docs));
	for (unsigned i = 0; i < docs / 8; i++) {
		unsigned number = (unsigned) throw(docs);
		drop(w, number);
		if (throw(2))
			add(w, number);
	}
	if (throw(2) && words_merge_all(w->writer, &err) < 0)
		fail_msg("%s", err.msg);
	if (words_commit(w->writer, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	if (words_refresh(&w->reader, &err) < 0)
		fail_msg("%s", err.msg);
	look(w);
}

static void some_operand(struct buf *b)
{
	size_t kind = throw(20);
	if (kind == 0)
		buf_printf(b, "size %s %zu", throw(2) ? "<" : ">=", throw(50));
	else if (kind == 1)
		buf_printf(b, "time %s %zu-0%zu", throw(2) ? "<=" : ">", 1970 + throw(3),
			   1 + throw(9));
	else if (kind == 2)
		buf_printf(b, "size : %zu", throw(50));
	else if (kind == 3)
		buf_printf(b, "rank > %zu", throw(60000));
	else if (kind == 4)
		buf_add_byte(b, '*');
	else {
		if (throw(4) == 0)
			buf_printf(b, "%s : ", attributes[throw(ARRAY_LEN(attributes))]);
		if (throw(6) == 0)
			buf_add_byte(b, '=');
		buf_add_byte(b, '"');
		some_words(b, throw(3) ? 1 : 1 + throw(3));
		buf_add_byte(b, '"');
	}
}

static void some_query(struct buf *b, int depth)
{
	size_t parts = 1 + throw(4);
	const char *op = throw(2) ? " AND " : " OR ";
	for (size_t i = 0; i < parts; i++) {
		buf_add_text(b, i ? op : "");
		buf_add_text(b, throw(6) ? "" : "NOT ");
		if (depth > 0 && throw(4) == 0) {
			buf_add_byte(b, '(');
			some_query(b, depth - 1);
			buf_add_byte(b, ')');
		} else {
			some_operand(b);
		}
	}
}

static size_t answer_plainly(struct world *w, const struct query *q, struct model_answer *ret)
{
	size_t n = 0, parts;
	const struct words_part *part = words_parts(w->reader, &parts);
	for (size_t i = 0; i < w->model.docs; i++) {
		const struct model_doc *d = &w->model.doc[i];
		if (!model_matches(&w->model, d, q->root))
			continue;
		ret[n] = (struct model_answer){.doc = d};
		if (q->order == QUERY_BY_RANK)
			ret[n].score = model_score(&w->model, part, parts, d, q->root) +
				       (uint64_t)d->rank * RANK_STATIC_UNITS;
		if (q->order == QUERY_BY_TIME)
			ret[n].time_s = d->time_s;
		n++;
	}
	qsort(ret, n, sizeof *ret, model_by_order);
	if (q->order == QUERY_BY_RANK)
		model_rerank(&w->model, part, parts, q, ret, n);
	return n;
}

static void agree(struct world *w, const char *text, const struct query *q,
		  struct model_answer *answers, size_t n, const struct hits *hits)
{
	size_t want = n > q->offset ? MIN(n - q->offset, q->limit) : 0;
	if (hits->n != want)
		fail_msg("'%s': %zu hits, want %zu of %zu", text, hits->n, want, n);
	if (hits->total_exact ? hits->total != n : hits->total > n || hits->total < want)
		fail_msg("'%s': total %s%llu, want %zu", text, hits->total_exact ? "" : "at least ",
			 (unsigned long long)hits->total, n);
	if (q->exact_total && !hits->total_exact)
		fail_msg("'%s': the total is not exact", text);
	assert_false(hits->cut);
	for (size_t i = 0; i < hits->n; i++) {
		const struct model_answer *a = &answers[q->offset + i];
		const struct hit *h = &hits->hit[i];
		float score = q->order == QUERY_BY_RANK ? (float)a->score / RANK_ONE : 0;
		if (!str_eq(h->key, a->doc->key) || h->score != score ||
		    h->time_s != a->doc->time_s)
			fail_msg("'%s' order %d: hit %zu is " STR_FMT " %f, want " STR_FMT " %f",
				 text, (int)q->order, i, STR_ARG(h->key), (double)h->score,
				 STR_ARG(a->doc->key), (double)score);
	}
	(void)w;
}

/* Some words only must be there, as those who make a tree by hand can say. */
static void some_filters(struct query_node *node)
{
	node->filter = (node->op == QUERY_WORD || node->op == QUERY_PHRASE) && throw(3) == 0;
	for (uint32_t i = 0; i < node->kids; i++)
		some_filters(node->kid[i]);
}

static size_t ask(struct world *w, const char *text, struct model_answer *answers)
{
	static const uint32_t limits[] = {0, 1, 3, 10, 10, 100, 1000};
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct query q;
	struct hits hits;
	struct err err;
	if (query_parse(str_of(text), NULL, w->model.rules, &arena, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	if (throw(4) == 0)
		some_filters(q.root);
	q.order = throw(3) ? QUERY_BY_RANK : throw(2) ? QUERY_BY_TIME : QUERY_ANYHOW;
	q.limit = limits[throw(ARRAY_LEN(limits))];
	q.offset = throw(4) ? 0 : (uint32_t) throw(20);
	q.per_site = throw(5) ? 0 : 1 + (uint32_t) throw(3);
	q.exact_total = throw(3) == 0 || q.limit == 0;
	q.explain = throw(50) == 0;
	size_t n = answer_plainly(w, &q, answers);
	if (words_query(w->reader, &q, &arena, &hits, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	agree(w, text, &q, answers, n, &hits);
	assert_int_equal(q.explain, hits.explain.n > 0);
	arena_free(&arena);
	return n;
}

static void ask_many(struct world *w, unsigned queries, void (*make)(struct buf *))
{
	struct model_answer *answers = mem_array(w->model.docs + 1, sizeof *answers);
	struct buf text = BUF_INIT(1 << 16);
	size_t found = 0;
	queries /= unit_thorough() ? 1 : 8;
	for (unsigned i = 0; i < queries; i++) {
		buf_clear(&text);
		make(&text);
		found += ask(w, buf_text(&text), answers) > 0;
	}
	assert_true(found > queries / 3); /* the queries are about what is there */
	buf_free(&text);
	mem_free(&answers);
}

static void any_query(struct buf *b)
{
	some_query(b, 3);
}

/* What the fast ways are made for. */
static void plain_query(struct buf *b)
{
	static const char *const ops[] = {" ", " ", " OR ", " OR ", " -"};
	const char *op = ops[throw(ARRAY_LEN(ops))];
	size_t n = 1 + throw(4);
	bool phrase = throw(4) == 0;
	buf_add_text(b, phrase ? "\"" : "");
	for (size_t i = 0; i < n; i++) {
		buf_add_text(b, i == 0 ? "" : phrase ? " " : op);
		if (!phrase && throw(6) == 0)
			buf_printf(b, "%s : ", attributes[throw(3)]);
		buf_add_text(b, word());
	}
	buf_add_text(b, phrase ? "\"" : "");
}

static void few_documents_any_query(void **state)
{
	(void)state;
	seed = 20240517;
	for (unsigned round = 0; round < 6; round++) {
		struct world w = {.ranks = round % 2, .longest = 30};
		char name[16];
		snprintf(name, sizeof name, "few%u", round);
		open_world(&w, name, 60 + 60 * round, 1 + round);
		ask_many(&w, 2000, any_query);
		ask_many(&w, 1000, plain_query);
		close_world(&w);
	}
}

static void changes_and_merges_any_query(void **state)
{
	(void)state;
	seed = 16180339;
	for (unsigned round = 0; round < 4; round++) {
		struct world w = {.ranks = round % 2, .longest = 20};
		char name[16];
		snprintf(name, sizeof name, "merged%u", round);
		open_world(&w, name, 400, 12);
		for (unsigned turn = 0; turn < 6; turn++) {
			if (turn % 2)
				merge_world(&w, turn == 3);
			else
				change_world(&w, 400);
			ask_many(&w, 150, any_query);
			ask_many(&w, 150, plain_query);
		}
		close_world(&w);
	}
}

static void many_documents_plain_queries(void **state)
{
	(void)state;
	seed = 31415926;
	for (unsigned round = 0; round < 2; round++) {
		struct world w = {.ranks = round, .longest = 12};
		open_world(&w, round ? "many1" : "many0", unit_thorough() ? 6000 : 3000,
			   round ? 5 : 1);
		ask_many(&w, 1200, plain_query);
		ask_many(&w, 200, any_query);
		close_world(&w);
	}
}

/* Real text: paragraphs of the licences that every Debian system has. */
static const char *const licences[] = {"GPL-2",    "GPL-3",    "LGPL-2.1", "Apache-2.0",
				       "Artistic", "GFDL-1.3", "MPL-1.1"};
static struct str *paragraph;
static size_t paragraphs;
static const struct token_rules *real_rules;

static void read_paragraphs(struct arena *arena)
{
	paragraph = arena_array(arena, 10000, sizeof *paragraph);
	paragraphs = 0;
	for (size_t i = 0; i < ARRAY_LEN(licences); i++) {
		char path[256], *text = arena_alloc(arena, 1 << 20);
		snprintf(path, sizeof path, "/usr/share/common-licenses/%s", licences[i]);
		FILE *f = fopen(path, "re");
		if (!f)
			continue;
		struct str rest = {text, fread(text, 1, 1 << 20, f)};
		fclose(f);
		while (rest.n && paragraphs < 10000) {
			size_t n = str_find(rest, STR("\n\n"));
			paragraph[paragraphs++] = str_head(rest, n);
			rest = str_from(rest, n + 2);
		}
	}
}

/* A run of words that stand somewhere, asked for as they are. */
static void real_query(struct buf *b)
{
	static const char *const between[] = {"\" AND \"", "\" OR \"", " ", " "};
	const char *with = between[throw(ARRAY_LEN(between))];
	struct str text = paragraph[throw(paragraphs)], word;
	struct tokens t;
	struct token token;
	size_t skip = throw(40), n = 1 + throw(4);
	tokens_init(&t, real_rules, text, 0);
	while (skip-- && tokens_next(&t, &token) == 0)
		;
	buf_add_byte(b, '"');
	for (size_t i = 0; i < n && tokens_next(&t, &token) == 0; i++) {
		word = throw(4) ? token.form : token.term;
		buf_printf(b, "%s" STR_FMT, i ? with : "", STR_ARG(word));
	}
	buf_add_byte(b, '"');
}

static void real_text(void **state)
{
	(void)state;
	struct world w = {0};
	struct arena arena = ARENA_INIT((size_t)1 << 28);
	struct err err;
	seed = 271828;
	read_paragraphs(&arena);
	if (paragraphs < 100)
		skip();
	begin_world(&w, "real");
	real_rules = w.model.rules;
	for (size_t i = 0; i < paragraphs; i++) {
		char key[32];
		snprintf(key, sizeof key, "p%zu", i);
		struct words_attr attr = {STR("full-text"), paragraph[i]};
		struct words_doc doc = {.key = str_of(key), .attr = &attr, .n = 1};
		assert_int_equal(0, words_add(w.writer, &doc, &err));
		model_add(&w.model, &doc);
		if (i % 500 == 499)
			assert_int_equal(0, words_commit(w.writer, NULL, &err));
	}
	assert_true(words_commit(w.writer, NULL, &err) >= 0);
	assert_int_equal(0, words_open(&w.reader, scratch("real"), &err));
	look(&w);
	ask_many(&w, 3000, real_query);
	close_world(&w);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_documents_any_query),
		cmocka_unit_test(changes_and_merges_any_query),
		cmocka_unit_test(many_documents_plain_queries),
		cmocka_unit_test(real_text),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
