/* cork, record and cleanup over states that were set by hand. */
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

/* Cork */

static void what_was_tried_is_noted_in_the_index(void **state)
{
	(void)state;
	struct lab lab;
	struct index_item items[] = {lab_item(0, ITEM_NEW), lab_item(1, ITEM_GATHERED),
				     lab_item(2, ITEM_NEW), lab_item(3, ITEM_GATHERED)};
	items[1].where = items[3].where = 7;
	items[1].retry = 2;
	items[1].flags = ITEM_REGATHER;
	items[1].stable_s = items[3].stable_s = 5;
	lab_make(&lab, "cork", items, 4, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	int64_t now_us = PLAY_START + US_PER_S;
	lab_journal(&lab, 0,
		    (struct journal_entry){.time_us = now_us,
					   .op = CHANGE_UPDATE,
					   .type = ITEM_GATHERED,
					   .status = 200,
					   .where = 9,
					   .download_ms = 150});
	lab_journal(&lab, 1,
		    (struct journal_entry){.time_us = now_us,
					   .op = CHANGE_REFRESH,
					   .type = ITEM_GATHERED,
					   .status = 304,
					   .where = ITEM_NOWHERE});
	lab_journal(&lab, 2,
		    (struct journal_entry){.time_us = now_us,
					   .type = ITEM_ZOMBIE,
					   .status = 404,
					   .where = ITEM_NOWHERE});
	cork(&lab);

	struct index_item item = lab_find(&lab, 0);
	assert_int_equal(ITEM_GATHERED, item.type);
	assert_int_equal(9, item.where);
	assert_int_equal(200, item.status);
	assert_int_equal(NOW_S + 1, item.last_seen_s);
	assert_int_equal(NOW_S + 1, item.stable_s);
	assert_int_equal(2, item.download_ds);
	item = lab_find(&lab, 1); /* the same as before, looked at now */
	assert_int_equal(7, item.where);
	assert_int_equal(0, item.retry);
	assert_int_equal(0, item.flags);
	assert_int_equal(5, item.stable_s);
	assert_int_equal(NOW_S + 1, item.last_seen_s);
	item = lab_find(&lab, 2);
	assert_int_equal(ITEM_ZOMBIE, item.type);
	assert_int_equal(404, item.status);
	item = lab_find(&lab, 3); /* nothing was said of it */
	assert_int_equal(0, item.last_seen_s);
	lab_free(&lab);
}

static void a_failure_for_now_counts_and_changes_nothing_else(void **state)
{
	(void)state;
	struct lab lab;
	struct index_item items[] = {lab_item(0, ITEM_GATHERED), lab_item(1, ITEM_NEW)};
	items[0].where = 7;
	items[1].retry = UINT8_MAX;
	lab_make(&lab, "cork-temporary", items, 2, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t page = 0; page < 2; page++)
		lab_journal(&lab, page,
			    (struct journal_entry){.time_us = PLAY_START,
						   .type = ITEM_TEMPORARY,
						   .status = 500,
						   .where = ITEM_NOWHERE,
						   .due_s = NOW_S + 60});
	cork(&lab);
	struct index_item item = lab_find(&lab, 0);
	assert_int_equal(ITEM_GATHERED, item.type);
	assert_int_equal(7, item.where);
	assert_int_equal(1, item.retry);
	assert_int_equal(NOW_S + 60, item.due_s);
	assert_int_equal(500, item.status);
	item = lab_find(&lab, 1);
	assert_int_equal(ITEM_NEW, item.type);
	assert_int_equal(UINT8_MAX, item.retry); /* and no more */
	lab_free(&lab);
}

static void of_several_entries_the_last_holds_and_strangers_are_left_out(void **state)
{
	(void)state;
	struct lab lab;
	struct index_item items[] = {lab_item(0, ITEM_NEW)};
	lab_make(&lab, "cork-last", items, 1, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	for (unsigned i = 1; i <= 300; i++)
		lab_journal(&lab, 0,
			    (struct journal_entry){.time_us = PLAY_START,
						   .op = CHANGE_UPDATE,
						   .type = ITEM_GATHERED,
						   .status = 200,
						   .where = i});
	lab_journal(&lab, 1,
		    (struct journal_entry){
			    .time_us = PLAY_START, .type = ITEM_GATHERED, .where = ITEM_NOWHERE});
	cork(&lab);
	assert_int_equal(300, lab_find(&lab, 0).where);
	assert_false(lab_knows(&lab, 1));
	lab_free(&lab);
}

static void a_site_remembers_its_server_and_how_long_it_takes(void **state)
{
	(void)state;
	struct lab lab;
	struct index_item items[] = {lab_item(0, ITEM_NEW), lab_item(1, ITEM_NEW)};
	lab_make(&lab, "cork-site", items, 2, (uint64_t[]){0}, 1);
	struct journal_entry e = {.time_us = PLAY_START,
				  .op = CHANGE_UPDATE,
				  .type = ITEM_GATHERED,
				  .where = 1,
				  .download_ms = 400,
				  .qkey = 11};
	lab_enter(&lab, false, PHASE_REAP);
	lab_journal(&lab, 0, e);
	lab_journal(&lab, 50, e); /* of a site that is not known */
	cork(&lab);
	struct sites *sites = lab_sites(&lab);
	const struct site *site = sites_get(sites, play_footprint(0).site);
	assert_int_equal(11, site->qkey);
	assert_int_equal(0, site->oscillations); /* the first server is not a change */
	assert_int_equal(400, site->download_ms);
	assert_int_equal(1, sites_count(sites));
	sites_free(&sites);

	lab_enter(&lab, false, PHASE_MERGE);
	lab_close(&lab);
	lab_enter(&lab, false, PHASE_REAP);
	e.qkey = 12;
	e.download_ms = 0;
	lab_journal(&lab, 0, e);
	e.qkey = 0;
	e.download_ms = 800;
	lab_journal(&lab, 0, e);
	cork(&lab);
	sites = lab_sites(&lab);
	site = sites_get(sites, play_footprint(0).site);
	assert_int_equal(12, site->qkey);
	assert_int_equal(1, site->oscillations);
	assert_int_equal(500, site->download_ms);
	sites_free(&sites);
	lab_free(&lab);
}

static void a_journal_that_is_empty_changes_nothing(void **state)
{
	(void)state;
	struct lab lab;
	struct index_item items[] = {lab_item(0, ITEM_NEW)};
	lab_make(&lab, "cork-empty", items, 1, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	cork(&lab);
	assert_int_equal(ITEM_NEW, lab_find(&lab, 0).type);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_tried_is_noted_in_the_index),
		cmocka_unit_test(a_failure_for_now_counts_and_changes_nothing_else),
		cmocka_unit_test(of_several_entries_the_last_holds_and_strangers_are_left_out),
		cmocka_unit_test(a_site_remembers_its_server_and_how_long_it_takes),
		cmocka_unit_test(a_journal_that_is_empty_changes_nothing),
		cmocka_unit_test(every_new_url_gets_a_bucket_with_its_name),
		cmocka_unit_test(cleanup_keeps_what_the_index_names_and_nothing_else),
		cmocka_unit_test(a_status_says_in_words_what_happened),
		cmocka_unit_test(only_the_hosts_that_are_named_need_no_delay),
		cmocka_unit_test(what_is_asked_for_by_hand_becomes_a_contribution),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
