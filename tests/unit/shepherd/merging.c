/* merge: contributions join the index, new sites enter the list, errors go. */
#include "shepherd/crawl.h"

#include "shepherd/code.h"
#include "unit/shepherd/merge_scene.h"

#include <sys/stat.h>

/* Contributions */

static void links_to_known_sites_become_new_urls(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {scene_item("http://x.example/0", ITEM_GATHERED)};
	struct change change;
	struct contrib c;
	struct err err = {0};
	items[0].where = 7;
	items[0].flags = ITEM_UNREFERENCED;
	scene_begin(&s, "links", items, 1, SITES("http://x.example/"));
	scene_link(&s, "http://x.example/0", 0);
	scene_link(&s, "http://x.example/1", 0);
	scene_link(&s, "http://x.example/1", 0);
	scene_link(&s, "http://stranger.example/1", 0);
	struct merged merged = scene_merge(&s);
	assert_int_equal(1, merged.added);
	assert_int_equal(1, merged.known);
	assert_int_equal(1, merged.unwanted);
	assert_int_equal(0, merged.forgotten);
	assert_int_equal(0, merged.sites);
	assert_int_equal(0, merged.again);
	struct index_item got = scene_known(&s, "http://x.example/1");
	assert_int_equal(ITEM_NEW, got.type);
	assert_int_equal(ITEM_CONTRIB, got.flags);
	assert_int_equal(96, got.weight);
	assert_int_equal(PLAY_START / US_PER_DAY, got.since_day);
	MUST(state_contrib_at(s.lab.st, got.where, &c, &err));
	assert_str(c.url, "http://x.example/1");
	assert_true(scene_told(&s, "http://x.example/1", &change));
	assert_int_equal(CHANGE_ADD, change.op);
	assert_int_equal(PHASE_MERGE, change.by);
	assert_false(change.forgotten);
	assert_str(change.url, "http://x.example/1");
	got = scene_known(&s, "http://x.example/0"); /* a link makes nobody fetch it again */
	assert_int_equal(0, got.flags);              /* but somebody refers to it */
	assert_false(scene_knows(&s, "http://stranger.example/1"));
	const struct state_course *course = &state_params(s.lab.st)->course;
	assert_int_equal(1, course->urls[ITEM_NEW]);
	assert_int_equal(1, course->urls[ITEM_GATHERED]);
	assert_int_equal(NOW_S, course->due_s);
	scene_end(&s);
}

/* Flags together, the highest weight, the rest of the first; one by hand before all. */
static void several_of_one_url_are_one(void **state)
{
	(void)state;
	static const struct {
		struct contrib one, two;
		uint8_t flags, weight;
		unsigned stands; /* the place of which of them */
	} cases[] = {
		{{.weight = 5}, {.weight = 9}, 0, 9, 1},
		{{.weight = 9}, {.weight = 5}, 0, 9, 1},
		{{.weight = 9}, {.weight = 0}, 0, 96, 1}, /* the usual weight */
		{{.weight = 200}, {.weight = 0}, 0, 200, 1},
		{{.flags = ITEM_EQUIV},
		 {.flags = ITEM_REGATHER},
		 ITEM_EQUIV | ITEM_REGATHER,
		 96,
		 1},
		{{.flags = 0, .from = {1, 1}}, {.flags = ITEM_INITIAL}, ITEM_INITIAL, 96, 2},
		{{.flags = ITEM_INITIAL}, {.flags = 0, .from = {1, 1}}, ITEM_INITIAL, 96, 1},
		{{.flags = 0, .from = {1, 1}},
		 {.flags = ITEM_INITIAL, .from = {1, 1}},
		 ITEM_INITIAL,
		 96,
		 1}, /* a redirect of one by hand */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct scene s;
		struct err err = {0};
		char name[32];
		uint64_t place[2];
		struct contrib c[2] = {cases[i].one, cases[i].two};
		snprintf(name, sizeof name, "unify%zu", i);
		scene_begin(&s, name, NULL, 0, SITES("http://x.example/"));
		for (unsigned k = 0; k < 2; k++) {
			c[k].fp = scene_fp("http://x.example/1");
			c[k].url = STR("http://x.example/1");
			MUST(state_contrib(s.lab.st, &c[k], &place[k], &err));
		}
		assert_int_equal(1, scene_merge(&s).added);
		struct index_item got = scene_known(&s, "http://x.example/1");
		if (got.flags != (cases[i].flags | ITEM_CONTRIB) || got.weight != cases[i].weight ||
		    got.where != place[cases[i].stands - 1])
			fail_msg("case %zu: flags %x weight %u place %" PRIu64, i, got.flags,
				 got.weight, got.where);
		scene_end(&s);
	}
}

static void contributions_of_all_rounds_are_merged(void **state)
{
	(void)state;
	struct scene s;
	struct err err = {0};
	struct contrib c;
	scene_begin(&s, "rounds", NULL, 0, SITES("http://x.example/"));
	scene_link(&s, "http://x.example/1", 0);
	scene_link(&s, "http://x.example/2", 0);
	scene_cork(&s);
	lab_enter(&s.lab, false, PHASE_REAP);
	scene_cork(&s); /* nothing was found */
	lab_enter(&s.lab, false, PHASE_REAP);
	scene_link(&s, "http://x.example/2", 0);
	scene_link(&s, "http://x.example/3", 0);
	struct state_course course = state_params(s.lab.st)->course;
	course.rounds = 2;
	course.asked = 1;
	MUST(state_params_put(s.lab.st, &course, &err));
	struct merged merged = scene_merge(&s);
	assert_int_equal(3, merged.added);
	assert_int_equal(0, state_params(s.lab.st)->course.rounds);
	assert_int_equal(0, state_params(s.lab.st)->course.asked);
	scene_end(&s);

	scene_begin(&s, "rounds-read", NULL, 0, SITES("http://x.example/"));
	scene_link(&s, "http://x.example/1", 0);
	scene_cork(&s);
	lab_enter(&s.lab, false, PHASE_REAP);
	scene_link(&s, "http://x.example/3", 0);
	scene_cork(&s);
	lab_enter(&s.lab, true, PHASE_MERGE);
	MUST(crawl_merge(s.lab.st, &s.crawl, &merged, &err));
	static const char *const urls[] = {"http://x.example/1", "http://x.example/3"};
	for (size_t i = 0; i < 2; i++) { /* while the state is worked on, both are there */
		MUST(state_contrib_at(s.lab.st, scene_known(&s, urls[i]).where, &c, &err));
		assert_str(c.url, urls[i]);
	}
	scene_end(&s);
}

static void what_is_asked_for_again_is_tried_again(void **state)
{
	(void)state;
	static const struct {
		enum item_type type;
		uint32_t seen_s, asked_s;
		enum item_type becomes;
		uint8_t flags;
		bool again;
	} cases[] = {
		{ITEM_GATHERED, NOW_S, NOW_S + 1, ITEM_GATHERED, ITEM_INITIAL | ITEM_REGATHER,
		 true},
		{ITEM_GATHERED, NOW_S, NOW_S, ITEM_GATHERED, ITEM_INITIAL, false},
		{ITEM_ZOMBIE, NOW_S, NOW_S + 1, ITEM_NEW, ITEM_INITIAL, true},
		{ITEM_ZOMBIE, NOW_S, NOW_S, ITEM_ZOMBIE, ITEM_INITIAL, false},
		{ITEM_ERROR, NOW_S, NOW_S + 1, ITEM_NEW, ITEM_INITIAL, true},
		{ITEM_ERROR, NOW_S, NOW_S, ITEM_ERROR, ITEM_INITIAL, false},
		{ITEM_SLEEPING, 0, 1, ITEM_NEW, ITEM_INITIAL, true},
		{ITEM_NEW, 0, 1, ITEM_NEW, ITEM_INITIAL, true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct scene s;
		char name[32];
		struct index_item items[] = {scene_item("http://x.example/1", cases[i].type)};
		items[0].last_seen_s = cases[i].seen_s;
		items[0].retry = 3;
		items[0].due_s = NOW_S + 1000;
		snprintf(name, sizeof name, "again%zu", i);
		scene_begin(&s, name, items, 1, SITES("http://x.example/"));
		scene_ask(&s, "http://x.example/1", cases[i].asked_s);
		struct merged merged = scene_merge(&s);
		struct index_item got = scene_known(&s, "http://x.example/1");
		bool woken = cases[i].becomes == ITEM_NEW && cases[i].type != ITEM_NEW;
		if (got.type != cases[i].becomes || got.flags != cases[i].flags ||
		    got.due_s != (cases[i].again ? 0 : NOW_S + 1000) ||
		    got.retry != (woken ? 0 : 3) || merged.again != cases[i].again ||
		    merged.known != 1)
			fail_msg("case %zu: type %d flags %x due %u retry %u", i, got.type,
				 got.flags, got.due_s, got.retry);
		assert_int_equal(cases[i].again ? NOW_S : 0, state_params(s.lab.st)->course.due_s);
		scene_end(&s);
	}
}

static void a_regather_wakes_what_is_dead_or_sleeps(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {scene_item("http://x.example/1", ITEM_ZOMBIE),
				     scene_item("http://x.example/2", ITEM_SLEEPING),
				     scene_item("http://x.example/3", ITEM_GATHERED)};
	items[2].where = 7;
	scene_begin(&s, "regather", items, 3, SITES("http://x.example/"));
	scene_link(&s, "http://x.example/1", ITEM_REGATHER);
	scene_link(&s, "http://x.example/2", ITEM_REGATHER);
	scene_link(&s, "http://x.example/3", ITEM_REGATHER);
	assert_int_equal(2, scene_merge(&s).again);
	assert_int_equal(ITEM_NEW, scene_known(&s, "http://x.example/1").type);
	assert_int_equal(ITEM_NEW, scene_known(&s, "http://x.example/2").type);
	assert_int_equal(0, scene_known(&s, "http://x.example/3").flags);
	scene_end(&s);
}

/* Sites */

static void what_is_given_by_hand_makes_its_site_known(void **state)
{
	(void)state;
	struct scene s;
	struct site site;
	scene_begin(&s, "hand", NULL, 0, SITES("http://0.example/", "http://z.example/"));
	scene_ask(&s, "http://www.x.example:81/b", NOW_S);
	for (char c = 'c'; c < 'z'; c++) { /* links to it count as well, wherever they stand */
		char url[] = "http://www.x.example:81/?";
		url[sizeof url - 2] = c;
		scene_link(&s, url, 0);
	}
	scene_link(&s, "http://other.example/", 0);
	struct merged merged = scene_merge(&s);
	assert_int_equal(1 + 23, merged.added);
	assert_int_equal(1, merged.sites);
	assert_int_equal(1, merged.unwanted);
	assert_int_equal(ITEM_INITIAL | ITEM_CONTRIB,
			 scene_known(&s, "http://www.x.example:81/b").flags);
	assert_true(scene_site(&s, "http://www.x.example:81/", &site));
	assert_int_equal(81, site.port);
	assert_int_equal(URL_HTTP, site.protocol);
	assert_int_equal(scene_fp("http://x.example:81/").site, site.norm);
	assert_true(scene_has_site(&s, "http://0.example/"));
	assert_true(scene_has_site(&s, "http://z.example/"));
	assert_false(scene_has_site(&s, "http://other.example/"));
	scene_end(&s);
}

/* Reap gathered it at once, cork put it into the index: the site is new all the same. */
static void the_site_of_a_page_that_was_gathered_at_once_enters(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {scene_item("http://x.example/1", ITEM_GATHERED)};
	items[0].where = 7;
	items[0].flags = ITEM_INITIAL;
	items[0].last_seen_s = NOW_S;
	scene_begin(&s, "at-once", items, 1, NULL);
	scene_ask(&s, "http://x.example/1", NOW_S - 1);
	scene_link(&s, "http://x.example/2", 0);
	struct merged merged = scene_merge(&s);
	assert_int_equal(1, merged.known);
	assert_int_equal(1, merged.added);
	assert_int_equal(1, merged.sites);
	assert_true(scene_has_site(&s, "http://x.example/"));
	assert_int_equal(ITEM_INITIAL, scene_known(&s, "http://x.example/1").flags);
	scene_end(&s);
}

static void with_follow_all_every_link_makes_a_site_known(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, "all", NULL, 0, NULL);
	scene_follow_all(&s);
	for (unsigned i = 0; i < 200; i++) {
		char url[64];
		snprintf(url, sizeof url, "http://s%u.example/%u", i % 40, i);
		scene_link(&s, url, 0);
	}
	struct merged merged = scene_merge(&s);
	assert_int_equal(200, merged.added);
	assert_int_equal(40, merged.sites);
	struct sites *sites = lab_sites(&s.lab);
	assert_int_equal(40, sites_count(sites));
	sites_free(&sites);
	scene_end(&s);
}

static void the_front_page_of_each_new_site_is_added(void **state)
{
	(void)state;
	struct scene s;
	struct change change;
	struct index_item items[] = {scene_item("http://a.example/", ITEM_GATHERED),
				     scene_item("http://old.example/1", ITEM_GATHERED)};
	scene_begin(&s, "root", items, 2, SITES("http://a.example/", "http://old.example/"));
	scene_follow_all(&s);
	s.conf.auto_go_root = true;
	scene_link(&s, "http://x.example/1", 0);
	scene_link(&s, "http://y.example/", 0);  /* it is there */
	scene_link(&s, "http://b.example/1", 0); /* its class has one */
	scene_link(&s, "http://m.example/1", 0); /* of these two one is enough */
	scene_link(&s, "http://www.m.example/2", 0);
	scene_link(&s, "http://old.example/2", 0); /* is not new */
	scene_link(&s, "ftp://f.example:2121/1", 0);
	struct merged merged = scene_merge(&s);
	assert_int_equal(6, merged.sites);
	assert_int_equal(3, merged.roots);
	assert_int_equal(7 + 3, merged.added);
	struct index_item got = scene_known(&s, "http://x.example/");
	assert_int_equal(ITEM_EQUIV | ITEM_CONTRIB, got.flags);
	assert_int_equal(ITEM_NOWHERE, got.where);
	assert_int_equal(ITEM_NEW, got.type);
	assert_int_equal(96, got.weight);
	assert_true(scene_told(&s, "http://x.example/", &change));
	assert_str(change.url, "http://x.example/");
	assert_int_equal(CHANGE_ADD, change.op);
	assert_int_equal(ITEM_CONTRIB, scene_known(&s, "http://y.example/").flags);
	assert_false(scene_knows(&s, "http://b.example/"));
	assert_int_equal(1, scene_knows(&s, "http://m.example/") +
				    scene_knows(&s, "http://www.m.example/"));
	assert_false(scene_knows(&s, "http://old.example/"));
	assert_true(scene_told(&s, "ftp://f.example:2121/", &change));
	assert_str(change.url, "ftp://f.example:2121/");
	scene_end(&s);
}

/* What goes, what is told, what stays */

static void errors_go_and_what_is_sacred_or_dead_stays(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {scene_item("http://x.example/1", ITEM_ERROR),
				     scene_item("http://x.example/2", ITEM_ERROR),
				     scene_item("http://x.example/3", ITEM_ZOMBIE),
				     scene_item("http://x.example/4", ITEM_ERROR)};
	items[1].flags = ITEM_INITIAL;
	scene_begin(&s, "errors", items, 4, SITES("http://x.example/"));
	scene_link(&s, "http://x.example/4", 0); /* it is new with the next link */
	assert_int_equal(2, scene_merge(&s).forgotten);
	assert_false(scene_knows(&s, "http://x.example/1"));
	assert_true(scene_knows(&s, "http://x.example/2"));
	assert_true(scene_knows(&s, "http://x.example/3"));
	assert_false(scene_knows(&s, "http://x.example/4"));
	assert_int_equal(GONE_ERROR, scene_gone(&s, "http://x.example/1"));
	assert_int_equal(1, state_params(s.lab.st)->course.urls[ITEM_ERROR]);
	scene_end(&s);
}

static ino_t inode(struct scene *s, const char *file)
{
	struct stat st;
	assert_int_equal(0, stat(state_path(s->lab.st, &s->lab.arena, file), &st));
	return st.st_ino;
}

/* What sitemaps and redirects say; and robots.txt is nobody's page. */
static void what_contributions_say_of_changes_and_redirects_counts(void **state)
{
	(void)state;
	struct scene s;
	struct err err = {0};
	struct index_item items[] = {
		scene_item("http://a.example/old", ITEM_GATHERED),
		scene_item("http://a.example/later", ITEM_GATHERED),
		scene_item("http://a.example/known", ITEM_NEW),
		scene_item("http://a.example/robots.txt", ITEM_ERROR),
		scene_item("http://a.example/nowhere", ITEM_ERROR),
	};
	items[0].last_seen_s = items[1].last_seen_s = NOW_S - 100;
	items[3].flags = ITEM_ROBOTS;
	items[4].no_target = true;
	scene_begin(&s, "says", items, ARRAY_LEN(items), SITES("http://a.example/"));
	scene_contribute(&s, "http://a.example/old",
			 (struct contrib){.from = {1, 1}, .changed_s = NOW_S - 99});
	scene_contribute(&s, "http://a.example/later",
			 (struct contrib){.from = {1, 1}, .changed_s = NOW_S + 1});
	for (uint8_t hops = 5; hops >= 3; hops--) {
		const struct contrib c = {.flags = ITEM_INITIAL, .from = {1, 1}, .hops = hops};
		scene_contribute(&s, "http://a.example/known", c);
		scene_contribute(&s, "http://a.example/new", c);
	}
	scene_link(&s, "http://a.example/new", 0);
	scene_ask(&s, "http://a.example/robots.txt", NOW_S);
	scene_ask(&s, "http://b.example/robots.txt", NOW_S);
	struct merged got = scene_merge(&s);
	assert_int_equal(1, got.added);
	assert_int_equal(1, got.unwanted);
	assert_int_equal(0, got.sites);
	assert_int_equal(0, got.forgotten);
	static const struct {
		const char *url;
		enum item_type type;
		uint8_t flags, hops;
	} want[] = {
		{"http://a.example/old", ITEM_GATHERED, ITEM_REGATHER, 0},
		{"http://a.example/later", ITEM_GATHERED, 0, 0},
		{"http://a.example/known", ITEM_NEW, ITEM_INITIAL, 3},
		{"http://a.example/new", ITEM_NEW, ITEM_INITIAL | ITEM_CONTRIB, 3},
		{"http://a.example/robots.txt", ITEM_ERROR, ITEM_ROBOTS, 0},
		{"http://a.example/nowhere", ITEM_ERROR, 0, 0},
	};
	const struct url_index *index;
	MUST(state_index(s.lab.st, &index, &err));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct index_item item;
		MUST(url_index_find(index, scene_fp(want[i].url), &item, &err));
		assert_int_equal(want[i].type, item.type);
		assert_int_equal(want[i].flags, item.flags);
		assert_int_equal(want[i].hops, item.hops);
	}
	scene_end(&s);
}

static void with_nothing_to_do_the_files_stay(void **state)
{
	(void)state;
	struct scene s;
	struct index_item items[] = {scene_item("http://x.example/1", ITEM_NEW)};
	scene_begin(&s, "nothing", items, 1, SITES("http://x.example/"));
	ino_t index = inode(&s, "index"), sites = inode(&s, "sites");
	struct merged merged = scene_merge(&s);
	assert_int_equal(0, merged.known + merged.added);
	assert_int_equal(index, inode(&s, "index"));
	assert_int_equal(sites, inode(&s, "sites"));
	assert_int_equal(1, state_params(s.lab.st)->course.urls[ITEM_NEW]);
	lab_enter(&s.lab, false, PHASE_REAP);
	scene_link(&s, "http://x.example/2", 0);
	scene_merge(&s);
	assert_int_not_equal(index, inode(&s, "index"));
	assert_int_equal(sites, inode(&s, "sites")); /* no site was new */
	scene_end(&s);
}

/* Those before the damage and those of other rounds are merged; recovery has named it, and nothing
 * has to be mended. */
static void damaged_contributions_do_not_stop_merge(void **state)
{
	(void)state;
	struct scene s;
	char url[64];
	scene_begin(&s, "lost", NULL, 0, SITES("http://x.example/"));
	scene_link(&s, "http://x.example/before", 0);
	scene_cork(&s);
	lab_enter(&s.lab, false, PHASE_REAP);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(url, sizeof url, "http://x.example/%u", i);
		scene_link(&s, url, 0);
	}
	struct err err = {0};
	MUST(state_checkpoint(s.lab.st, NULL, PLAY_START, &err));
	FILE *f = fopen(state_path(s.lab.st, &s.lab.arena, "contrib"), "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, 300, SEEK_SET));
	assert_int_equal(0xff, fputc(0xff, f));
	assert_int_equal(0, fclose(f));
	struct merged merged = scene_merge(&s);
	assert_true(merged.added > 1 && merged.added < 11);
	assert_int_equal(ERR_DAMAGED, merged.lost.code);
	assert_non_null(strstr(merged.lost.msg, "contrib"));
	assert_true(scene_knows(&s, "http://x.example/before"));
	scene_end(&s);
}

/* A site that is not the URL's would make a list that is not in order. */
static void a_footprint_that_is_not_the_urls_makes_no_site(void **state)
{
	(void)state;
	struct scene s;
	struct err err = {0};
	struct contrib c = {.fp = {5, 5}, .flags = ITEM_INITIAL, .url = STR("http://x.example/1")};
	scene_begin(&s, "strange", NULL, 0, SITES("http://x.example/"));
	MUST(state_contrib(s.lab.st, &c, NULL, &err));
	c = (struct contrib){.fp = {6, 6}, .flags = ITEM_INITIAL, .url = STR("not a URL")};
	MUST(state_contrib(s.lab.st, &c, NULL, &err));
	struct merged merged = scene_merge(&s);
	assert_int_equal(2, merged.unwanted);
	assert_int_equal(0, merged.added + merged.sites);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_to_known_sites_become_new_urls),
		cmocka_unit_test(several_of_one_url_are_one),
		cmocka_unit_test(contributions_of_all_rounds_are_merged),
		cmocka_unit_test(what_is_asked_for_again_is_tried_again),
		cmocka_unit_test(a_regather_wakes_what_is_dead_or_sleeps),
		cmocka_unit_test(what_is_given_by_hand_makes_its_site_known),
		cmocka_unit_test(the_site_of_a_page_that_was_gathered_at_once_enters),
		cmocka_unit_test(with_follow_all_every_link_makes_a_site_known),
		cmocka_unit_test(the_front_page_of_each_new_site_is_added),
		cmocka_unit_test(errors_go_and_what_is_sacred_or_dead_stays),
		cmocka_unit_test(what_contributions_say_of_changes_and_redirects_counts),
		cmocka_unit_test(with_nothing_to_do_the_files_stay),
		cmocka_unit_test(damaged_contributions_do_not_stop_merge),
		cmocka_unit_test(a_footprint_that_is_not_the_urls_makes_no_site),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
