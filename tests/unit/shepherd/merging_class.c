/* merge between mirrors: which of the same pages survive, and who hears of it. */
#include "shepherd/crawl.h"

#include "state/source_crawl.h"
#include "unit/shepherd/merge_scene.h"

#include <stdlib.h>

enum fate { STAYS, GOES, TAKEN, KNOWN };

struct member {
	const char *url;
	bool item;
	enum item_type type;
	uint8_t flags, weight;
	enum fate fate;
};
#define A "http://a.example/p"
#define B "http://b.example/p"
#define C "http://c.example/p"
#define W "http://www.a.example/p"

static void play_group(const char *name, const struct member *member, const char *what)
{
	struct scene s;
	struct index_item items[8];
	size_t n = 0;
	uint64_t taken = 0, duplicates = 0, contribs = 0;
	for (const struct member *e = member; e->url; e++)
		if (e->item) {
			items[n] = scene_item(e->url, e->type);
			items[n].flags = e->flags;
			items[n++].weight = e->weight;
		}
	scene_begin(&s, name, items, n,
		    SITES("http://a.example/", "http://b.example/", "http://c.example/",
			  "http://www.a.example/", "http://z.example/"));
	for (const struct member *e = member; e->url; e++)
		if (!e->item)
			scene_contribute(&s, e->url,
					 (struct contrib){.flags = e->flags,
							  .weight = e->weight,
							  .from = {1, 1}});
	scene_link(&s, "http://stranger.example/", 0); /* without any nothing is looked at */
	struct merged merged = scene_merge(&s);
	for (const struct member *e = member; e->url; e++) {
		struct change change;
		if (scene_knows(&s, e->url) != (e->fate == STAYS || e->fate == TAKEN))
			fail_msg("%s: %s is%s known", what, e->url,
				 scene_knows(&s, e->url) ? "" : " not");
		taken += e->fate == TAKEN;
		duplicates += e->fate == GOES;
		contribs += !e->item;
		assert_int_equal(e->fate == GOES ? GONE_DUPLICATE : GONE_UNKNOWN,
				 scene_gone(&s, e->url));
		bool told = scene_told(&s, e->url, &change);
		assert_int_equal(e->fate == GOES || e->fate == TAKEN, told);
		if (e->fate == GOES) {
			assert_true(change.forgotten);
			assert_int_equal(e->type == ITEM_GATHERED ? CHANGE_DELETE : CHANGE_NONE,
					 change.op);
		}
	}
	assert_int_equal(taken, merged.added);
	assert_int_equal(duplicates, merged.duplicates);
	assert_int_equal(duplicates, merged.forgotten);
	assert_int_equal(contribs, merged.added + merged.known);
	scene_end(&s);
}

static void of_the_same_page_of_mirrors_the_best_survives(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		struct member member[6];
	} cases[] = {
		{"higher weight first",
		 {{A, true, ITEM_GATHERED, 0, 10, GOES},
		  {B, true, ITEM_NEW, 0, 11, STAYS},
		  {C, true, ITEM_GATHERED, 0, 9, GOES}}},
		{"a zombie is worth less than anything",
		 {{A, true, ITEM_ZOMBIE, 0, 200, GOES}, {B, true, ITEM_SLEEPING, 0, 1, STAYS}}},
		{"of zombies one",
		 {{A, true, ITEM_ZOMBIE, 0, 200, STAYS}, {B, true, ITEM_ZOMBIE, 0, 100, GOES}}},
		{"all sacred, and then nothing else",
		 {{A, true, ITEM_GATHERED, ITEM_INITIAL, 1, STAYS},
		  {B, true, ITEM_ZOMBIE, ITEM_EQUIV, 1, STAYS},
		  {C, true, ITEM_GATHERED, 0, 255, GOES},
		  {W, true, ITEM_GATHERED, ITEM_ROBOTS, 1, STAYS}}},
		{"items before contributions",
		 {{A, true, ITEM_SLEEPING, 0, 1, STAYS}, {B, false, 0, 0, 255, KNOWN}}},
		{"also a zombie",
		 {{A, true, ITEM_ZOMBIE, 0, 1, STAYS}, {B, false, 0, 0, 255, KNOWN}}},
		{"a regather replaces a zombie",
		 {{A, true, ITEM_ZOMBIE, 0, 200, GOES},
		  {B, false, 0, 0, 255, KNOWN},
		  {C, false, 0, ITEM_REGATHER, 5, TAKEN},
		  {W, false, 0, ITEM_REGATHER, 4, KNOWN}}},
		{"but nothing that is alive",
		 {{A, true, ITEM_SLEEPING, 0, 1, STAYS}, {C, false, 0, ITEM_REGATHER, 5, KNOWN}}},
		{"and no zombie that is sacred",
		 {{A, true, ITEM_ZOMBIE, ITEM_EQUIV, 1, STAYS},
		  {C, false, 0, ITEM_REGATHER, 5, KNOWN}}},
		{"of contributions the best",
		 {{A, false, 0, 0, 10, KNOWN}, {B, false, 0, 0, 11, TAKEN}}},
		{"sacred contributions survive all",
		 {{A, true, ITEM_GATHERED, 0, 10, STAYS},
		  {B, false, 0, ITEM_EQUIV, 1, TAKEN},
		  {C, false, 0, ITEM_INITIAL, 1, TAKEN},
		  {W, false, 0, 0, 255, KNOWN}}},
		{"www. is the same site",
		 {{A, true, ITEM_GATHERED, 0, 10, STAYS}, {W, true, ITEM_GATHERED, 0, 9, GOES}}},
		{"other pages and other sites are left alone",
		 {{A, true, ITEM_GATHERED, 0, 10, STAYS},
		  {"http://b.example/q", true, ITEM_GATHERED, 0, 9, STAYS},
		  {"http://z.example/p", true, ITEM_GATHERED, 0, 9, STAYS},
		  {"http://c.example/r", false, 0, 0, 9, TAKEN},
		  {"http://z.example/q", false, 0, 0, 9, TAKEN}}},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[32];
		snprintf(name, sizeof name, "group%zu", i);
		play_group(name, cases[i].member, cases[i].what);
	}
	/* of equals the lower footprint */
	bool low = scene_fp(A).site < scene_fp(B).site;
	play_group("group-items",
		   (struct member[]){{A, true, ITEM_GATHERED, 0, 7, low ? STAYS : GOES},
				     {B, true, ITEM_GATHERED, 0, 7, low ? GOES : STAYS},
				     {0}},
		   "items of one weight");
	play_group("group-contribs",
		   (struct member[]){{A, false, 0, 0, 7, low ? TAKEN : KNOWN},
				     {B, false, 0, 0, 7, low ? KNOWN : TAKEN},
				     {0}},
		   "contributions of one weight");
}

/* What its own contribution makes of an item counts in its group. */
static void an_item_that_was_asked_for_stays_among_mirrors(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {scene_item(A, ITEM_GATHERED), scene_item(B, ITEM_GATHERED),
				     scene_item(C, ITEM_ZOMBIE)};
	items[0].weight = 200;
	scene_begin(&s, "asked-mirror", items, 3,
		    SITES("http://a.example/", "http://b.example/", "http://c.example/"));
	scene_ask(&s, B, NOW_S);
	scene_link(&s, C, ITEM_REGATHER);
	struct merged merged = scene_merge(&s);
	assert_int_equal(2, merged.known);
	assert_int_equal(2, merged.duplicates);
	assert_int_equal(1, merged.again);
	assert_int_equal(ITEM_INITIAL | ITEM_REGATHER, scene_known(&s, B).flags);
	assert_false(scene_knows(&s, A));
	assert_false(scene_knows(&s, C));
	scene_end(&s);
}

/* Notes on queue keys are not pages, and an error that goes is none either. */
static void only_pages_have_duplicates(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {
		scene_item(A, ITEM_ERROR),
		scene_item(B, ITEM_GATHERED),
		{.where = ITEM_NOWHERE, .type = ITEM_QKEY, .flags = ITEM_ROBOTS},
		{.where = ITEM_NOWHERE, .type = ITEM_QKEY}};
	struct change change;
	items[0].weight = 255;
	items[0].code = 2404;
	items[2].fp.site = scene_fp(A).site;
	items[3].fp.site = scene_fp(B).site;
	scene_begin(&s, "pages", items, 4, SITES("http://a.example/", "http://b.example/"));
	struct merged merged = scene_merge(&s);
	assert_int_equal(1, merged.forgotten);
	assert_int_equal(0, merged.duplicates);
	assert_true(scene_knows(&s, B));
	assert_int_equal(GONE_ERROR, scene_gone(&s, A));
	assert_true(scene_told(&s, A, &change));
	assert_int_equal(CHANGE_NONE, change.op);
	assert_true(change.forgotten);
	assert_str(change.url, "-");
	assert_str(change.reason, "not found (404); such errors are not kept");
	assert_int_equal(2, state_params(s.lab.st)->course.urls[ITEM_QKEY]);
	scene_end(&s);
}

static void a_new_site_of_a_class_enters_if_one_of_its_pages_does(void **state)
{
	(void)state;
	struct scene s;
	struct site site;
	struct index_item items[] = {scene_item(A, ITEM_GATHERED)};
	scene_begin(&s, "class", items, 1, SITES("http://a.example/"));
	scene_follow_all(&s);
	scene_link(&s, B, 0); /* it is known, from a.example */
	scene_link(&s, "http://www.b.example/p", 0);
	scene_link(&s, "http://c.example/other", 0);
	struct merged merged = scene_merge(&s);
	assert_int_equal(2, merged.known);
	assert_int_equal(1, merged.added);
	assert_int_equal(1, merged.sites);
	assert_false(scene_has_site(&s, B));
	assert_false(scene_has_site(&s, "http://www.b.example/"));
	assert_true(scene_site(&s, C, &site));
	assert_int_equal(scene_fp(A).site, site.norm);
	scene_end(&s);
}

/* Many sites, sorted with little memory: as if each page had been looked at alone. */
static void many_mirrors_are_joined_in_little_memory(void **state)
{
	(void)state;
	enum { SITES_ = 120, PAGES = 60, N = SITES_ * PAGES };
	struct scene s;
	struct err err = {0};
	struct index_item *items = calloc(2 * N, sizeof *items), got;
	static char urls[2 * SITES_][64];
	const char *sites[2 * SITES_ + 1] = {0};
	size_t n = 0;
	for (unsigned i = 0; i < 2 * SITES_; i++) { /* each second one has a mirror www. */
		bool www = i % 2;
		sites[i] = urls[i];
		snprintf(urls[i], sizeof urls[i], "http://%ss%u.example/",
			 !www         ? ""
			 : i % 4 == 1 ? "www."
				      : "not-www.",
			 i / 2);
		for (unsigned page = 0; page < PAGES; page++) {
			char url[96];
			snprintf(url, sizeof url, "%s%u", urls[i], page);
			items[n] = scene_item(url, ITEM_GATHERED);
			items[n++].weight = www ? 50 : 60;
		}
	}
	scene_begin(&s, "many", items, n, sites);
	s.conf.sort_memory = 1 << 16;
	scene_link(&s, "http://s0.example/0", 0);
	struct merged merged = scene_merge(&s);
	assert_int_equal(N / 2, merged.duplicates);
	const struct url_index *index;
	MUST(state_index(s.lab.st, &index, &err));
	assert_int_equal(2 * N - N / 2, url_index_items(index));
	for (size_t i = 0; i < n; i += 7) {
		bool www = false;
		for (unsigned k = 1; k < 2 * SITES_; k += 4)
			www |= items[i].fp.site == scene_fp(urls[k]).site;
		int rc = url_index_find(index, items[i].fp, &got, &err);
		assert_int_equal(www, rc);
	}
	free(items);
	scene_end(&s);
}

static struct str told_next(struct source *s, struct arena *arena, enum source_op *ret)
{
	struct source_change c;
	struct err err = {0};
	int rc = source_next(s, arena, &c, &err);
	assert_true(rc >= 0);
	*ret = rc ? SOURCE_UPDATE : c.op;
	return rc ? STR("") : c.obj.url;
}

/* Followers hear of a duplicate that was gathered, once, with the URL from its bucket, and of
 * nothing else. */
static void followers_hear_of_a_duplicate_once(void **state)
{
	(void)state;
	struct scene s;
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct attrs header = {0}, body = {0};
	struct change change;
	struct source *source = NULL;
	enum source_op op;
	uint32_t oid[2];
	struct index_item items[] = {scene_item(A, ITEM_GATHERED), scene_item(B, ITEM_GATHERED),
				     scene_item("http://a.example/q", ITEM_NEW),
				     scene_item("http://b.example/q", ITEM_NEW),
				     scene_item("http://a.example/e", ITEM_ERROR)};
	items[0].weight = 200;
	scene_begin(&s, "heard", items, 5, SITES("http://a.example/", "http://b.example/"));
	MUST(bucket_open(&s.crawl.buckets, states_path(s.lab.s, &s.lab.arena, "objects"), &options,
			 &err));
	for (unsigned i = 0; i < 2; i++) {
		header = body = (struct attrs){0};
		attrs_add(&header, &arena, 'U', str_of(i ? B : A));
		attrs_add(&header, &arena, 'O', crawl_digits(scene_fp(i ? B : A), &arena));
		MUST(bucket_put(s.crawl.buckets, NULL, &header, &body, &oid[i], &err));
	}
	struct url_index_writer *w = NULL;
	MUST(state_index_create(s.lab.st, &w, &err));
	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		for (unsigned k = 0; k < 2; k++)
			if (footprint_cmp(items[i].fp, scene_fp(k ? B : A)) == 0)
				items[i].where = oid[k];
		url_index_put(w, &items[i]);
	}
	MUST(state_index_put(s.lab.st, &w, &err));
	MUST(state_enter(s.lab.st, PHASE_REAP, s.crawl.buckets, PLAY_START, &err));
	const struct source_crawl store = {.folder = scratch("heard"),
					   .gatherer_name = STR("the crawl"),
					   .gatherer_host = STR("here.example"),
					   .gatherer_version = STR("1.0")};
	MUST(source_crawl_ops.open(&source, &store, &(struct source_cursor){0}, &err));
	while (told_next(source, &arena, &op).n)
		;
	struct merged merged = scene_merge(&s);
	assert_int_equal(2, merged.duplicates);
	assert_int_equal(3, merged.forgotten);
	assert_true(scene_told(&s, B, &change));
	assert_int_equal(CHANGE_DELETE, change.op);
	assert_str(change.url, B);
	assert_str(change.reason, "the same page as " A);
	assert_str(told_next(source, &arena, &op), B);
	assert_int_equal(SOURCE_DELETE, op);
	assert_int_equal(0, told_next(source, &arena, &op).n);
	lab_enter(&s.lab, false, PHASE_REAP);
	assert_int_equal(0, scene_merge(&s).forgotten);
	assert_int_equal(0, told_next(source, &arena, &op).n);
	source_close(&source);
	bucket_drop(&s.crawl.buckets);
	arena_free(&arena);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_same_page_of_mirrors_the_best_survives),
		cmocka_unit_test(an_item_that_was_asked_for_stays_among_mirrors),
		cmocka_unit_test(only_pages_have_duplicates),
		cmocka_unit_test(a_new_site_of_a_class_enters_if_one_of_its_pages_does),
		cmocka_unit_test(many_mirrors_are_joined_in_little_memory),
		cmocka_unit_test(followers_hear_of_a_duplicate_once),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
