/* merge, record and cleanup over states that were set by hand. */
#include "shepherd/crawl.h"

#include "bucket/bucket_shake.h"
#include "fetch/outcome.h"
#include "unit/shepherd/crawl_lab.h"

static void cork(struct lab *lab)
{
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	MUST(state_enter(lab->st, PHASE_CORK, NULL, PLAY_START, &err));
	struct crawl c = lab_crawl(&conf);
	MUST(crawl_cork(lab->st, &c, &err));
	MUST(state_enter(lab->st, PHASE_CORKED, NULL, PLAY_START, &err));
}

static struct merged merge(struct lab *lab, const struct crawl_conf *conf)
{
	struct err err = {0};
	struct merged merged;
	lab_enter(lab, true, PHASE_MERGE);
	struct crawl c = lab_crawl(conf);
	MUST(crawl_merge(lab->st, &c, &merged, &err));
	return merged;
}

static struct buckets *open_buckets(struct lab *lab)
{
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	struct buckets *b = NULL;
	MUST(bucket_open(&b, states_path(lab->s, &lab->arena, "objects"), &options, &err));
	return b;
}

/* Merge */

static void links_to_known_sites_become_new_urls(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[] = {lab_item(0, ITEM_GATHERED)};
	items[0].where = 7;
	lab_make(&lab, "merge", items, 1, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	lab_contrib(&lab, 0, 0); /* known */
	lab_contrib(&lab, 1, 0); /* new, three times */
	lab_contrib(&lab, 1, 0);
	lab_contrib(&lab, 1, 0);
	lab_contrib(&lab, 50, 0); /* of a site that nobody asked for */
	cork(&lab);
	struct merged merged = merge(&lab, &conf);
	assert_int_equal(1, merged.added);
	assert_int_equal(1, merged.known);
	assert_int_equal(1, merged.unwanted);
	assert_int_equal(0, merged.forgotten);
	struct index_item item = lab_find(&lab, 1);
	assert_int_equal(ITEM_NEW, item.type);
	assert_int_equal(ITEM_CONTRIB, item.flags);
	assert_int_equal(128, item.weight);
	assert_int_equal(PLAY_START / US_PER_DAY, item.since_day);
	assert_int_equal(0, lab_find(&lab, 0).flags); /* a link makes nobody fetch it again */
	struct contrib c;
	struct err err = {0};
	char url[PLAY_URL];
	MUST(state_contrib_at(lab.st, item.where, &c, &err));
	assert_true(str_eq(play_url(1, url), c.url));
	assert_false(lab_knows(&lab, 50));
	struct sites *sites = lab_sites(&lab);
	const struct site *site = sites_get(sites, play_footprint(0).site);
	assert_int_equal(2, site->active);
	assert_int_equal(1, site->gathered);
	assert_int_equal(1, site->fresh);
	assert_int_equal(0, site->inactive);
	sites_free(&sites);
	lab_free(&lab);
}

static void what_is_given_by_hand_makes_its_site_known(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	lab_make(&lab, "merge-hand", NULL, 0, NULL, 0);
	lab_enter(&lab, false, PHASE_REAP);
	lab_contrib(&lab, 1, 0); /* a link comes first, the hand counts */
	lab_contrib(&lab, 1, ITEM_INITIAL);
	lab_contrib(&lab, 1, 0);
	cork(&lab);
	assert_int_equal(1, merge(&lab, &conf).added);
	assert_int_equal(ITEM_INITIAL | ITEM_CONTRIB, lab_find(&lab, 1).flags);
	struct sites *sites = lab_sites(&lab);
	assert_non_null(sites_get(sites, play_footprint(1).site));
	sites_free(&sites);
	lab_free(&lab);
}

static void with_follow_all_every_link_makes_a_site_known(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.follow = CRAWL_ALL;
	lab_make(&lab, "merge-all", NULL, 0, NULL, 0);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t page = 0; page < 200; page++)
		lab_contrib(&lab, page, 0);
	cork(&lab);
	assert_int_equal(200, merge(&lab, &conf).added);
	struct sites *sites = lab_sites(&lab);
	assert_int_equal(4, sites_count(sites));
	sites_free(&sites);
	lab_free(&lab);
}

static void what_is_asked_for_again_is_tried_again(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[] = {lab_item(0, ITEM_GATHERED), lab_item(1, ITEM_ZOMBIE),
				     lab_item(2, ITEM_NEW)};
	items[0].where = 7;
	items[1].last_seen_s = items[0].last_seen_s = NOW_S;
	items[1].retry = items[2].retry = 3;
	items[2].due_s = NOW_S + 1000;
	lab_make(&lab, "merge-again", items, 3, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t page = 0; page < 3; page++)
		lab_contrib(&lab, page, ITEM_INITIAL);
	cork(&lab);
	assert_int_equal(3, merge(&lab, &conf).known);
	struct index_item item = lab_find(&lab, 0);
	assert_int_equal(ITEM_INITIAL | ITEM_REGATHER, item.flags);
	assert_int_equal(7, item.where);
	item = lab_find(&lab, 1);
	assert_int_equal(ITEM_NEW, item.type);
	assert_int_equal(0, item.retry);
	assert_int_equal(0, lab_find(&lab, 2).due_s);
	lab_free(&lab);
}

static void limits_hold_but_not_against_the_hand(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.site_max = 3;
	conf.active_max = 4;
	lab_make(&lab, "merge-limits", NULL, 0, (uint64_t[]){0, 50}, 2);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t page = 0; page < 10; page++) {
		lab_contrib(&lab, page, 0);
		lab_contrib(&lab, 50 + page, 0);
	}
	cork(&lab);
	struct merged merged = merge(&lab, &conf);
	assert_int_equal(4, merged.added); /* 3 of one site, 1 of the other */
	assert_int_equal(16, merged.unwanted);
	lab_close(&lab);

	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t page = 0; page < 10; page++)
		lab_contrib(&lab, page, ITEM_INITIAL);
	cork(&lab);
	merge(&lab, &conf);
	for (uint64_t page = 0; page < 10; page++)
		assert_true(lab_knows(&lab, page));
	lab_free(&lab);
}

static void the_dead_are_remembered_for_a_while_and_then_gone(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct err err = {0};
	struct index_item items[] = {lab_item(0, ITEM_ZOMBIE), lab_item(1, ITEM_ZOMBIE),
				     lab_item(2, ITEM_ERROR), lab_item(3, ITEM_ERROR),
				     lab_item(4, ITEM_GATHERED)};
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		items[i].last_seen_s = NOW_S - REFRESH_S;
	items[1].last_seen_s++; /* a second is missing */
	items[3].flags = ITEM_INITIAL;
	items[4].where = 7;
	lab_make(&lab, "merge-forget", items, 5, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	lab_contrib(&lab, 0, 0); /* somebody links to it still: it is new with the next link */
	cork(&lab);
	assert_int_equal(2, merge(&lab, &conf).forgotten);
	assert_false(lab_knows(&lab, 0));
	assert_true(lab_knows(&lab, 1));
	assert_false(lab_knows(&lab, 2));
	assert_true(lab_knows(&lab, 3));
	assert_true(lab_knows(&lab, 4));
	lab_close(&lab);
	struct gone gone;
	int64_t since_us;
	const char *path = states_path(lab.s, &lab.arena, "gone");
	MUST(gone_find(path, play_footprint(0), &gone, &since_us, &err));
	assert_int_equal(GONE_ERROR, gone.reason);
	assert_int_equal(1, gone_find(path, play_footprint(1), &gone, &since_us, &err));
	lab_free(&lab);
}

static void a_site_without_urls_is_forgotten(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	conf.follow = CRAWL_ALL;
	conf.active_max = 1;
	struct index_item items[] = {lab_item(0, ITEM_GATHERED), lab_item(50, ITEM_ZOMBIE)};
	items[0].where = 7;
	lab_make(&lab, "merge-sites", items, 2, (uint64_t[]){0, 50, 100}, 3);
	lab_enter(&lab, false, PHASE_REAP);
	lab_contrib(&lab, 150, 0); /* wanted if there were room */
	cork(&lab);
	assert_int_equal(1, merge(&lab, &conf).forgotten);
	struct sites *sites = lab_sites(&lab);
	assert_int_equal(1, sites_count(sites));
	assert_non_null(sites_get(sites, play_footprint(0).site));
	sites_free(&sites);
	lab_free(&lab);
}

/* Record */

static void every_new_url_gets_a_bucket_with_its_name(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct err err = {0};
	uint64_t made;
	struct index_item items[] = {lab_item(0, ITEM_ZOMBIE)};
	items[0].last_seen_s = NOW_S;
	lab_make(&lab, "record", items, 1, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t page = 1; page < 40; page++)
		lab_contrib(&lab, page, 0);
	cork(&lab);
	merge(&lab, &conf);
	MUST(state_enter(lab.st, PHASE_RECORD, NULL, PLAY_START, &err));
	struct buckets *b = open_buckets(&lab);
	struct crawl c = lab_crawl(&conf);
	c.buckets = b;
	MUST(crawl_record(lab.st, &c, &made, &err));
	assert_int_equal(39, made);
	for (uint64_t page = 1; page < 40; page++) {
		struct index_item item = lab_find(&lab, page);
		struct attrs header = {0}, body = {0};
		struct footprint fp;
		char url[PLAY_URL];
		assert_int_equal(0, item.flags);
		assert_true(index_item_has_bucket(&item));
		MUST(bucket_get(b, NULL, (uint32_t)item.where, &lab.arena, &header, &body, &err));
		assert_true(str_eq(play_url(page, url), attrs_get(&header, 'U')));
		assert_true(footprint_parse(attrs_get(&header, 'O'), &fp));
		assert_int_equal(0, footprint_cmp(fp, play_footprint(page)));
	}
	assert_int_equal(ITEM_NOWHERE, lab_find(&lab, 0).where);
	MUST(crawl_record(lab.st, &c, &made, &err)); /* there is nothing left to do */
	assert_int_equal(0, made);
	MUST(state_enter(lab.st, PHASE_CLOSED, b, PLAY_START, &err));
	MUST(bucket_close(&b, &err));
	lab_free(&lab);
}

/* Cleanup */

static void cleanup_keeps_what_the_index_names_and_nothing_else(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct bucket_shaken shaken;
	const char *folder = scratch("cleanup");
	MUST(states_init(folder, 0, PLAY_START, &err));
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	for (uint64_t version = 1; version <= 3; version++)
		for (uint64_t page = 0; page < 30; page++)
			MUST(play_gather(&p, page, version, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	struct state *closed = NULL, *st = NULL;
	state_free(&p.st);
	MUST(state_open(&closed, p.s, "current", &err));
	MUST(state_clone(&st, closed, false, p.now_us + US_PER_S, &err));
	MUST(state_enter(st, PHASE_CLEANUP, NULL, p.now_us, &err));
	struct crawl_conf conf = lab_conf();
	struct crawl c = lab_crawl(&conf);
	c.buckets = p.buckets;
	MUST(crawl_cleanup(st, &c, &shaken, &err));
	assert_int_equal(60, shaken.dropped);
	MUST(state_enter(st, PHASE_CLOSED, p.buckets, p.now_us, &err));
	const struct url_index *index;
	MUST(state_index(st, &index, &err));
	for (uint64_t page = 0; page < 30; page++) {
		struct attrs header = {0}, body = {0};
		struct index_item item;
		MUST(url_index_find(index, play_footprint(page), &item, &err));
		MUST(bucket_get(p.buckets, p.packer, (uint32_t)item.where, &p.arena, &header, &body,
				&err));
		assert_true(str_eq(play_text(&p.arena, page, 3), attrs_get(&body, 'X')));
	}
	/* the page after the last one has no bucket, and stays known */
	struct index_item item;
	MUST(url_index_find(index, play_footprint(30), &item, &err));
	state_free(&st);
	state_free(&closed);
	play_close(&p);
}

/* Words */

static void a_status_says_in_words_what_happened(void **state)
{
	(void)state;
	char text[64];
	static const struct {
		uint16_t status;
		const char *says;
	} cases[] = {
		{0, "not tried yet"},
		{200, "HTTP status 200"},
		{999, "HTTP status 999"},
		{CRAWL_STATUS + OUTCOME_ROBOTS, "robots.txt forbids it"},
		{CRAWL_STATUS + OUTCOME_SITE_PERMANENT, "the server does not exist"},
		{CRAWL_STATUS + OUTCOME_OK, "failed"},
		{CRAWL_NOINDEX, "it asks not to be indexed"},
		{UINT16_MAX, "failed"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(cases[i].says, crawl_status_text(cases[i].status, text));
}

static void only_the_hosts_that_are_named_need_no_delay(void **state)
{
	(void)state;
	static const char *const hosts[] = {"own.example", "127.0.0.1:8081"};
	struct crawl_conf conf = {.no_delay = {hosts, 2}};
	struct site site = {.protocol = URL_HTTP, .port = 80, .host = STR("own.example")};
	assert_true(crawl_is_fast(&conf, &site));
	site.port = 8080;
	assert_false(crawl_is_fast(&conf, &site));
	site = (struct site){.protocol = URL_HTTP, .port = 8081, .host = STR("127.0.0.1")};
	assert_true(crawl_is_fast(&conf, &site));
	site.port = 80;
	assert_false(crawl_is_fast(&conf, &site));
	site = (struct site){.protocol = URL_HTTPS, .port = 443, .host = STR("own.example")};
	assert_true(crawl_is_fast(&conf, &site));
	site.host = STR("own.example.org");
	assert_false(crawl_is_fast(&conf, &site));
	conf.no_delay.n = 0;
	assert_false(crawl_is_fast(&conf, &site));
}

static void what_is_asked_for_by_hand_becomes_a_contribution(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct contrib c;
	lab_make(&lab, "asked", NULL, 0, NULL, 0);
	lab_enter(&lab, false, PHASE_REAP);
	MUST(crawl_ask(lab.st, STR("http://A.example"), &err));
	MUST(crawl_ask(lab.st, STR("not a URL"), &err)); /* garner add has refused it */
	MUST(state_checkpoint(lab.st, NULL, PLAY_START, &err));
	MUST(state_read(lab.st, "contrib", &in, &err));
	MUST(record_next(in, &record, &err));
	MUST(contrib_read(record.payload, &c, &err));
	assert_str(c.url, "http://a.example/");
	assert_int_equal(ITEM_INITIAL, c.flags);
	assert_int_equal(1, record_next(in, &record, &err));
	record_reader_free(&in);
	lab_free(&lab);
}

/* Those before the damage are merged; recovery has named it, and nothing has to be mended. */
static void damaged_contributions_do_not_stop_merge(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct merged merged;
	struct crawl_conf conf = lab_conf();
	char url[64];
	lab_make(&lab, "lost", NULL, 0, NULL, 0);
	lab_enter(&lab, false, PHASE_REAP);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(url, sizeof url, "http://a.example/%u", i);
		MUST(crawl_ask(lab.st, str_of(url), &err));
	}
	MUST(state_enter(lab.st, PHASE_CORKED, NULL, PLAY_START, &err));
	FILE *f = fopen(state_path(lab.st, &lab.arena, "contrib"), "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, 300, SEEK_SET));
	assert_int_equal(0xff, fputc(0xff, f));
	assert_int_equal(0, fclose(f));
	lab_enter(&lab, true, PHASE_MERGE);
	struct crawl c = lab_crawl(&conf);
	MUST(crawl_merge(lab.st, &c, &merged, &err));
	assert_true(merged.added > 0 && merged.added < 10);
	assert_int_equal(ERR_DAMAGED, merged.lost.code);
	assert_non_null(strstr(merged.lost.msg, "contrib"));
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_to_known_sites_become_new_urls),
		cmocka_unit_test(what_is_given_by_hand_makes_its_site_known),
		cmocka_unit_test(with_follow_all_every_link_makes_a_site_known),
		cmocka_unit_test(what_is_asked_for_again_is_tried_again),
		cmocka_unit_test(limits_hold_but_not_against_the_hand),
		cmocka_unit_test(the_dead_are_remembered_for_a_while_and_then_gone),
		cmocka_unit_test(a_site_without_urls_is_forgotten),
		cmocka_unit_test(every_new_url_gets_a_bucket_with_its_name),
		cmocka_unit_test(cleanup_keeps_what_the_index_names_and_nothing_else),
		cmocka_unit_test(a_status_says_in_words_what_happened),
		cmocka_unit_test(only_the_hosts_that_are_named_need_no_delay),
		cmocka_unit_test(what_is_asked_for_by_hand_becomes_a_contribution),
		cmocka_unit_test(damaged_contributions_do_not_stop_merge),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
