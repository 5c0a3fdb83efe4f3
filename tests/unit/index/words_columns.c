/* Columns: ranges, values and facets of random documents against plain code, over several segments,
 * with deletes, before and after merges; and how a merge may be done. */
#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/file.h"
#include "index/words.h"
#include "index/words/segment_write.h"

#include <ctype.h>
#include <inttypes.h>

enum { DOCS = 6000, TEXT = 64 };

static const char *const sites[] = {"a.org", "b.example.com", "www.c.net", "c.net", "d.museum",
				    "e.org", "f.org",         "g.org",     "h.org", "i.org",
				    "j.org", "k.org",         "l.org"};
static const char *const kinds[] = {"HTML", "Text", "PDF"};

struct item {
	bool there, has_size, has_day, word;
	int64_t size, day, time_s;
	const char *site, *kind; /* NULL: none */
};

static struct item item[DOCS];
static char folder[400];
static struct words_settings settings;
static struct arena arena = ARENA_INIT(SIZE_MAX);
static unsigned seed = 7;

static unsigned roll_below(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static void set_column(const char *name, enum words_type type)
{
	snprintf(settings.column[settings.columns].name, sizeof settings.column[0].name, "%s",
		 name);
	settings.column[settings.columns++].type = type;
}

static int set_up(void **state)
{
	static unsigned number;
	(void)state;
	words_settings_default(&settings);
	set_column("size", WORDS_NUMBER);
	set_column("day", WORDS_DATE);
	set_column("site", WORDS_WORD);
	set_column("kind", WORDS_WORD);
	snprintf(folder, sizeof folder, "%s/%u", scratch_dir, number++);
	memset(item, 0, sizeof item);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_clear(&arena);
	return 0;
}

/* Days ascend with the number of a document, but for some: neighbours came together. */
static void fill_item(unsigned i)
{
	struct item *d = &item[i];
	*d = (struct item){.there = true, .word = roll_below(3) == 0};
	d->has_size = roll_below(10) != 0;
	d->size = roll_below(5) == 0 ? (int64_t)roll_below(200) : (int64_t)1 << roll_below(26);
	d->has_day = roll_below(20) != 0;
	d->day = roll_below(50) == 0 ? (int64_t)roll_below(2000000000)
				     : 1500000000 + (int64_t)i * 5000 + (int64_t)roll_below(5000);
	d->time_s = roll_below(8) == 0 ? 0 : (int64_t)roll_below(2000000000) - 200000000;
	d->site = roll_below(30) == 0
			  ? NULL
			  : sites[roll_below(3) ? roll_below(4) : roll_below(ARRAY_LEN(sites))];
	d->kind = i / 1500 % 2 == 0 ? NULL : kinds[roll_below(ARRAY_LEN(kinds))];
}

static void add_item(struct words_writer *w, unsigned i)
{
	struct words_attr attr[8];
	struct err err;
	const struct item *d = &item[i];
	size_t n = 0;
	attr[n++] = (struct words_attr){STR("full-text"), d->word ? STR("apple pie") : STR("pie")};
	if (d->has_size)
		attr[n++] = (struct words_attr){
			STR("Size"), str_of(arena_printf(&arena, " %" PRId64 "\n", d->size))};
	if (d->has_day)
		attr[n++] = (struct words_attr){STR("day"),
						str_of(arena_printf(&arena, "%" PRId64, d->day))};
	if (d->site) {
		attr[n++] = (struct words_attr){STR("site"), STR(" \n")};
		attr[n++] = (struct words_attr){
			STR("SITE"), str_of(arena_printf(&arena, "  %s\nother.org", d->site))};
		attr[n++] = (struct words_attr){STR("site"), STR("third.org")};
	}
	if (d->kind)
		attr[n++] = (struct words_attr){STR("kind"), str_of(d->kind)};
	struct words_doc doc = {.key = str_of(arena_printf(&arena, "k%u", i)),
				.time_s = d->time_s,
				.attr = attr,
				.n = n};
	assert_int_equal(words_add(w, &doc, &err), 0);
}

static void drop_item(struct words_writer *w, unsigned i)
{
	struct err err;
	struct str key = str_of(arena_printf(&arena, "k%u", i));
	assert_int_equal(words_delete(w, key, &err), item[i].there ? 0 : 1);
	item[i].there = false;
}

static struct words_writer *open_writer(bool elsewhere)
{
	struct err err;
	struct words_writer *w;
	struct words_options options = {.settings = &settings, .merges_elsewhere = elsewhere};
	assert_int_equal(words_writer_open(&w, folder, &options, &err), 0);
	return w;
}

static void commit_words(struct words_writer *w)
{
	struct err err;
	assert_int_equal(words_commit(w, NULL, &err), 0);
}

/* A large segment, some small ones, replaced and deleted documents. */
static struct words_writer *fill_index(void)
{
	struct words_writer *w = open_writer(true);
	for (unsigned i = 0; i < DOCS; i++) {
		fill_item(i);
		add_item(w, i);
		if (i == 4200 || i == 4800 || i == 5500)
			commit_words(w);
	}
	commit_words(w);
	for (unsigned n = 0; n < 400; n++) {
		unsigned i = roll_below(DOCS);
		drop_item(w, i);
		if (n % 3 == 0) {
			fill_item(i);
			add_item(w, i);
		}
	}
	commit_words(w);
	return w;
}

/* Questions: trees, and what each means of an item */

static struct query_node *node_new(enum query_op op, uint32_t kids)
{
	struct query_node *node = arena_alloc(&arena, sizeof *node);
	node->op = op;
	node->kid = arena_array(&arena, kids + 1, sizeof(struct query_node *));
	node->kids = kids;
	return node;
}

static struct query_node *word_node(struct str attribute, struct str value)
{
	struct query_node *node = node_new(QUERY_WORD, 0);
	node->attribute = attribute;
	node->value = query_value(value);
	node->word = arena_alloc(&arena, sizeof *node->word);
	node->word[0] = (struct query_word){.term = value, .form = value};
	node->words = 1;
	return node;
}

static struct str random_date(bool past)
{
	int64_t month = 1 + roll_below(12), year = 2017 + roll_below(3) - (past ? 2 : 0);
	switch (roll_below(3)) {
	case 0:
		return str_of(arena_printf(&arena, "%" PRId64, year));
	case 1:
		return str_of(arena_printf(&arena, "%" PRId64 "-%02" PRId64, year, month));
	default:
		return str_of(arena_printf(&arena, "%" PRId64 "-%02" PRId64 "-%02u", year, month,
					   1 + roll_below(28)));
	}
}

static struct query_node *compare_node(void)
{
	static const char *const names[] = {"size", "day", "time"};
	struct query_node *node = node_new(QUERY_COMPARE, 0);
	node->attribute = str_of(names[roll_below(3)]);
	node->relation = (enum query_relation)roll_below(QUERY_BETWEEN + 1);
	bool size = str_is(node->attribute, "size");
	struct str from = size ? str_of(arena_printf(&arena, "%u", 1u << roll_below(24)))
			       : random_date(roll_below(2));
	struct str to = size ? str_of(arena_printf(&arena, "%u", 1u << roll_below(26)))
			     : random_date(false);
	node->value = query_value(from);
	node->upto = query_value(to);
	return node;
}

static struct query_node *value_node(void)
{
	static const char *const patterns[] = {"*.org",   "?.org", "b.*.com", "*c.net", "*.*.*",
					       "nowhere", "*xyz*", "C.NET",   "w*w*t",  "*"};
	bool kind = roll_below(4) == 0;
	const char *text = roll_below(2) ? patterns[roll_below(ARRAY_LEN(patterns))]
			   : kind        ? kinds[roll_below(ARRAY_LEN(kinds))]
					 : sites[roll_below(ARRAY_LEN(sites))];
	struct query_node *node = word_node(kind ? STR("kind") : STR("site"), str_of(text));
	if (roll_below(3) == 0) {
		node->op = QUERY_COMPARE;
		node->relation = QUERY_EQUAL;
		node->words = 0;
	}
	if (strchr(text, '?'))
		node->word[0].pattern = node->words > 0;
	return node;
}

static struct query_node *random_node(unsigned depth)
{
	unsigned kind = roll_below(depth ? 8 : 4);
	if (kind == 0)
		return word_node(STR(""), STR("apple"));
	if (kind < 3)
		return compare_node();
	if (kind == 3)
		return value_node();
	if (kind == 4) {
		struct query_node *node = node_new(QUERY_NOT, 1);
		node->kid[0] = random_node(depth - 1);
		return node;
	}
	struct query_node *node = node_new(kind == 5 ? QUERY_OR : QUERY_AND, 2 + roll_below(2));
	for (uint32_t i = 0; i < node->kids; i++)
		node->kid[i] = roll_below(8) ? random_node(depth - 1) : node_new(QUERY_ALL, 0);
	return node;
}

static bool plain_like(const char *text, const char *pattern)
{
	if (*pattern == 0)
		return *text == 0;
	if (*pattern == '*')
		return plain_like(text, pattern + 1) || (*text && plain_like(text + 1, pattern));
	return *text && (*pattern == '?' || *pattern == *text) && plain_like(text + 1, pattern + 1);
}

static bool value_matches(const struct item *d, const struct query_node *node)
{
	char text[TEXT], pattern[TEXT];
	const char *value = str_is(node->attribute, "kind") ? d->kind : d->site;
	if (!value)
		return false;
	snprintf(text, sizeof text, "%s", value);
	snprintf(pattern, sizeof pattern, STR_FMT, STR_ARG(node->value.text));
	for (char *p = text; *p; p++)
		*p = (char)tolower(*p);
	for (char *p = pattern; *p; p++)
		*p = (char)tolower(*p);
	bool like = strchr(pattern, '*') || (node->words && node->word[0].pattern);
	return like ? plain_like(text, pattern) : strcmp(text, pattern) == 0;
}

static bool compare_matches(const struct item *d, const struct query_node *node)
{
	bool size = str_is(node->attribute, "size"), day = str_is(node->attribute, "day");
	int64_t v = size ? d->size : day ? d->day : d->time_s;
	if ((size && !d->has_size) || (day && !d->has_day))
		return false;
	int64_t from = size ? node->value.number : node->value.from_s;
	int64_t to = size ? from : node->value.to_s - 1;
	switch (node->relation) {
	case QUERY_LESS:
		return v < from;
	case QUERY_AT_MOST:
		return v <= to;
	case QUERY_MORE:
		return v > to;
	case QUERY_AT_LEAST:
		return v >= from;
	case QUERY_EQUAL:
		return v >= from && v <= to;
	default:
		return v >= from && v <= (size ? node->upto.number : node->upto.to_s - 1);
	}
}

static bool item_matches(const struct item *d, const struct query_node *node)
{
	switch (node->op) {
	case QUERY_ALL:
		return true;
	case QUERY_WORD:
		return node->attribute.n ? value_matches(d, node) : d->word;
	case QUERY_COMPARE:
		return str_is(node->attribute, "site") || str_is(node->attribute, "kind")
			       ? value_matches(d, node)
			       : compare_matches(d, node);
	case QUERY_NOT:
		return !item_matches(d, node->kid[0]);
	default:
		for (uint32_t i = 0; i < node->kids; i++)
			if (item_matches(d, node->kid[i]) == (node->op == QUERY_OR))
				return node->op == QUERY_OR;
		return node->op == QUERY_AND;
	}
}

static int64_t year_of(int64_t time_s)
{
	int64_t day, year = 1960;
	while (calendar_day(year + 1, 1, 1, &day) && day * 86400 <= time_s)
		year++;
	return year;
}

static const char *size_of(int64_t size)
{
	return size < 1024       ? "under 1k"
	       : size < 10240    ? "1k-10k"
	       : size < 102400   ? "10k-100k"
	       : size < 1048576  ? "100k-1M"
	       : size < 10485760 ? "1M-10M"
				 : "over 10M";
}

/* What an item is counted as. */
static bool class_of(const struct item *d, unsigned facet, char ret[TEXT])
{
	const char *text = facet == 0 ? d->site : facet == 1 ? d->kind : NULL;
	if (facet == 2 && d->time_s)
		text = arena_printf(&arena, "%" PRId64, year_of(d->time_s));
	else if (facet == 3 && d->has_size)
		text = size_of(d->size);
	if (!text)
		return false;
	snprintf(ret, TEXT, "%s", text);
	for (char *p = ret; facet < 2 && *p; p++)
		*p = (char)tolower(*p);
	return true;
}

struct tally {
	char text[TEXT];
	uint64_t n;
};

static int by_count(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->text, y->text);
}

static void assert_facet(const struct facet *f, unsigned facet, const struct query_node *root)
{
	struct tally tally[200];
	size_t n = 0;
	uint64_t rest = 0;
	for (unsigned i = 0; i < DOCS; i++) {
		char text[TEXT];
		size_t k = 0;
		if (!item[i].there || !item_matches(&item[i], root) ||
		    !class_of(&item[i], facet, text))
			continue;
		while (k < n && strcmp(tally[k].text, text) != 0)
			k++;
		if (k == n) {
			assert_true(n < ARRAY_LEN(tally));
			memcpy(tally[k].text, text, TEXT);
			tally[n++].n = 0;
		}
		tally[k].n++;
	}
	if (n)
		qsort(tally, n, sizeof *tally, by_count);
	assert_int_equal(f->n, MIN(n, (size_t)QUERY_FACET_SHOWN));
	for (size_t k = 0; k < n; k++) {
		if (k >= f->n) {
			rest += tally[k].n;
			continue;
		}
		assert_int_equal(f->shown[k].count, tally[k].n);
		assert_str(f->shown[k].value, tally[k].text);
	}
	assert_int_equal(f->rest, rest);
}

static void assert_answers(struct words_reader *r, unsigned questions)
{
	static bool found[DOCS];
	struct err err;
	for (unsigned n = 0; n < questions; n++) {
		struct query q = {.root = random_node(3), .limit = DOCS};
		struct hits hits;
		uint64_t total = 0;
		q.order = (enum query_order)roll_below(3);
		if (n % 4 == 0) {
			const char *const names[] = {"Site", "kind", "year", "size"};
			for (; q.facets < 4; q.facets++)
				q.facet[q.facets] = str_of(names[q.facets]);
		}
		assert_int_equal(words_query(r, &q, &arena, &hits, &err), 0);
		memset(found, 0, sizeof found);
		for (size_t i = 0; i < hits.n; i++) {
			uint64_t key;
			assert_true(str_u64(str_from(hits.hit[i].key, 1), &key) && key < DOCS);
			assert_false(found[key]);
			found[key] = true;
		}
		for (unsigned i = 0; i < DOCS; i++) {
			bool match = item[i].there && item_matches(&item[i], q.root);
			assert_int_equal(found[i], match);
			total += match;
		}
		assert_int_equal(hits.total, total);
		assert_int_equal(hits.facets, q.facets);
		assert_int_equal(hits.facet_sample, 0);
		for (unsigned i = 0; i < hits.facets; i++)
			assert_facet(&hits.facet[i], i, q.root);
	}
}

static void ranges_values_and_facets_are_those_of_the_documents(void **state)
{
	struct err err;
	struct words_reader *r;
	size_t parts;
	(void)state;
	struct words_writer *w = fill_index();
	assert_int_equal(words_open(&r, folder, &err), 0);
	(void)words_parts(r, &parts);
	assert_int_equal(parts, 5);
	assert_answers(r, unit_thorough() ? 300 : 60);
	assert_int_equal(words_merge_all(w, &err), 0);
	assert_int_equal(words_refresh(&r, &err), 0);
	(void)words_parts(r, &parts);
	assert_int_equal(parts, 1);
	assert_answers(r, unit_thorough() ? 300 : 60);
	assert_int_equal(words_verify(r, &err), 0);
	words_close(&r);
	words_writer_close(&w);
}

/* Only values that a document has are kept. */
static void a_merge_drops_values_that_nobody_has_any_more(void **state)
{
	struct err err;
	struct words_reader *r;
	size_t parts;
	uint32_t number;
	(void)state;
	struct words_writer *w = open_writer(true);
	for (unsigned i = 0; i < 4; i++) {
		item[i] = (struct item){.there = true, .site = sites[i]};
		add_item(w, i);
		commit_words(w);
	}
	drop_item(w, 1);
	commit_words(w);
	assert_int_equal(words_merge_all(w, &err), 0);
	assert_int_equal(words_open(&r, folder, &err), 0);
	struct segment *s = words_parts(r, &parts)->segment;
	assert_int_equal(segment_values(s, SEGMENT_COLUMN + 2, &number, &err), 0);
	assert_int_equal(number, 3);
	assert_int_equal(
		segment_value_number(s, SEGMENT_COLUMN + 2, str_of(sites[2]), &number, &err), 0);
	assert_int_equal(number, 3);
	assert_int_equal(
		segment_value_number(s, SEGMENT_COLUMN + 2, str_of(sites[1]), &number, &err), 1);
	assert_int_equal(segment_values(s, SEGMENT_COLUMN + 3, &number, &err), 0);
	assert_int_equal(number, 0);
	words_close(&r);
	words_writer_close(&w);
}

static void a_value_is_the_first_line_in_lower_case_cut_at_a_character(void **state)
{
	char room[WORDS_VALUE_MOST], text[600];
	(void)state;
	assert_str(words_value(STR(" \n WWW.Example.ORG \nother"), room), "www.example.org");
	assert_str(words_value(STR("\xc3\x89TUDE"), room), "\xc3\x89tude");
	assert_str(words_value(STR(" \t\r\n"), room), "");
	memset(text, 'A', sizeof text);
	assert_int_equal(words_value((struct str){text, sizeof text}, room).n, WORDS_VALUE_MOST);
	memcpy(text + WORDS_VALUE_MOST - 1, "\xc3\xa9", 2);
	struct str cut = words_value((struct str){text, sizeof text}, room);
	assert_int_equal(cut.n, WORDS_VALUE_MOST - 1);
	assert_int_equal(cut.p[0], 'a');
}

/* Documents with nothing but a site, one of a hundred, and a year. */
static void add_many(struct words_writer *w, unsigned from, unsigned to)
{
	struct err err;
	for (unsigned i = from; i < to; i++) {
		char key[16], site[16];
		snprintf(key, sizeof key, "k%u", i);
		snprintf(site, sizeof site, "s%02u", i % 2 ? i % 100 : 0);
		struct words_attr attr = {STR("site"), str_of(site)};
		struct words_doc doc = {.key = str_of(key), .attr = &attr, .n = 1};
		doc.time_s = i % 4 ? 1000000000 : 1500000000;
		assert_int_equal(words_add(w, &doc, &err), 0);
	}
}

static void ask_many(struct words_reader *r, struct hits *ret)
{
	struct err err;
	struct query q = {.root = node_new(QUERY_ALL, 0), .limit = 3, .facets = 2};
	q.facet[0] = STR("site");
	q.facet[1] = STR("year");
	assert_int_equal(words_query(r, &q, &arena, ret, &err), 0);
}

static void facets_of_very_many_matches_are_of_a_sample_and_say_so(void **state)
{
	enum { EXACT = 65536, MORE = 80000 };
	struct err err;
	struct words_reader *r;
	struct hits a, b;
	(void)state;
	struct words_writer *w = open_writer(true);
	add_many(w, 0, EXACT);
	commit_words(w);
	assert_int_equal(words_open(&r, folder, &err), 0);
	ask_many(r, &a);
	assert_int_equal(a.facet_sample, 0);
	assert_int_equal(a.total, EXACT);
	assert_true(a.total_exact);
	assert_str(a.facet[0].shown[0].value, "s00");
	assert_int_equal(a.facet[0].shown[0].count, EXACT / 2);
	assert_int_equal(a.facet[1].shown[0].count, EXACT * 3 / 4);
	add_many(w, EXACT, MORE);
	commit_words(w);
	assert_int_equal(words_refresh(&r, &err), 0);
	ask_many(r, &a);
	ask_many(r, &b);
	assert_int_equal(a.total, MORE);
	assert_int_equal(a.facet_of, MORE);
	assert_in_range(a.facet_sample, EXACT * 3 / 4, EXACT);
	assert_in_range(a.facet[0].shown[0].count, MORE / 2 - 800, MORE / 2 + 800);
	assert_in_range(a.facet[1].shown[0].count, MORE * 3 / 4 - 800, MORE * 3 / 4 + 800);
	uint64_t all = a.facet[0].rest;
	for (uint32_t i = 0; i < a.facet[0].n; i++)
		all += a.facet[0].shown[i].count;
	assert_in_range(all, MORE - 10, MORE + 10);
	assert_int_equal(a.facet_sample, b.facet_sample);
	assert_int_equal(a.facet[0].shown[9].count, b.facet[0].shown[9].count);
	words_close(&r);
	words_writer_close(&w);
}

static void refuse(struct words_reader *r, struct query *q, const char *why)
{
	struct err err;
	struct hits hits;
	assert_int_equal(words_query(r, q, &arena, &hits, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, why));
}

static void what_a_column_cannot_be_asked_is_refused(void **state)
{
	struct err err;
	struct words_reader *r;
	(void)state;
	struct words_writer *w = fill_index();
	assert_int_equal(words_open(&r, folder, &err), 0);
	struct query q = {.root = word_node(STR("site"), STR("12")), .limit = 1};
	q.root->op = QUERY_COMPARE;
	q.root->relation = QUERY_LESS;
	refuse(r, &q, "'site' is a word in this index");
	q.root->relation = QUERY_BETWEEN;
	q.root->attribute = STR("size");
	q.root->upto = query_value(STR("much"));
	refuse(r, &q, "'size' is a number in this index, 'much' is none");
	q.root = node_new(QUERY_ALL, 0);
	q.facets = 1;
	q.facet[0] = STR("rank");
	refuse(r, &q, "cannot count by 'rank'; it can by year, size, day, site, kind");
	q.facets = QUERY_FACETS_MOST + 1;
	refuse(r, &q, "at most 8");
	words_close(&r);
	words_writer_close(&w);
}

/* Merges */

static void slurp_merge(const struct words_part *part, size_t n, struct merge_spec *spec,
			struct buf *ret)
{
	struct err err;
	char path[420];
	struct merge_source *source = arena_array(&arena, n, sizeof *source);
	for (size_t i = 0; i < n; i++)
		source[i] = (struct merge_source){
			part[i].segment, part[i].deleted,
			arena_array(&arena, part[i].docs + 1, sizeof(uint32_t))};
	snprintf(path, sizeof path, "%s/made", folder);
	assert_int_equal(segment_merge(source, n, spec, path, &err), 0);
	assert_int_equal(file_slurp(path, ret, &err), 0);
}

static void a_merge_past_the_cache_with_rests_makes_the_same_bytes(void **state)
{
	struct err err;
	struct words_reader *r;
	size_t n;
	atomic_bool stop = false;
	struct merge_spec spec = {.settings = &settings, .stop = &stop};
	CLEANUP(buf_free) struct buf fast = BUF_INIT(SIZE_MAX / 2), slow = BUF_INIT(SIZE_MAX / 2);
	(void)state;
	struct words_writer *w = fill_index();
	assert_int_equal(words_open(&r, folder, &err), 0);
	const struct words_part *part = words_parts(r, &n);
	slurp_merge(part, n, &spec, &fast);
	spec.past_cache = spec.gently = true;
	slurp_merge(part, n, &spec, &slow);
	assert_int_equal(fast.n, slow.n);
	assert_memory_equal(fast.p, slow.p, fast.n);
	assert_answers(r, 20); /* what the merge gave back is read again */
	words_close(&r);
	words_writer_close(&w);
}

#define COLUMNS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COLUMNS_TEST(ranges_values_and_facets_are_those_of_the_documents),
		COLUMNS_TEST(a_merge_drops_values_that_nobody_has_any_more),
		COLUMNS_TEST(a_value_is_the_first_line_in_lower_case_cut_at_a_character),
		COLUMNS_TEST(facets_of_very_many_matches_are_of_a_sample_and_say_so),
		COLUMNS_TEST(what_a_column_cannot_be_asked_is_refused),
		COLUMNS_TEST(a_merge_past_the_cache_with_rests_makes_the_same_bytes),
	};
	int rc = cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
	arena_free(&arena);
	return rc;
}
