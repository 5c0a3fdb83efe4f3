/* record over an index, contributions and sites that were set by hand. */
#include "shepherd/reap/recording.h"

#include "unit/shepherd/crawl_lab.h"

static struct buckets *open_buckets(struct lab *lab)
{
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	struct buckets *b = NULL;
	MUST(bucket_open(&b, states_path(lab->s, &lab->arena, "objects"), &options, &err));
	return b;
}

/* A reap that finds these pages; places[i] is where. */
static void find_pages(struct lab *lab, const uint64_t *page, size_t n, uint64_t *places)
{
	struct err err = {0};
	lab_enter(lab, false, PHASE_REAP);
	for (size_t i = 0; i < n; i++) {
		char url[PLAY_URL];
		struct contrib c = {.fp = play_footprint(page[i]), .url = play_url(page[i], url)};
		MUST(state_contrib(lab->st, &c, &places[i], &err));
	}
	MUST(state_enter(lab->st, PHASE_CORKED, NULL, PLAY_START, &err));
}

/* A clone in record, with this index. */
static void begin_record(struct lab *lab, struct index_item *item, size_t n)
{
	struct err err = {0};
	struct url_index_writer *w = NULL;
	lab_enter(lab, true, PHASE_RECORD);
	qsort(item, n, sizeof *item, lab_by_footprint);
	MUST(state_index_create(lab->st, &w, &err));
	for (size_t i = 0; i < n; i++)
		url_index_put(w, &item[i]);
	MUST(state_index_put(lab->st, &w, &err));
}

static int try_record(struct lab *lab, struct buckets *b, uint64_t *ret_made, struct err *err)
{
	struct crawl_conf conf = lab_conf();
	struct crawl c = {.conf = &conf, .now_us = PLAY_START, .buckets = b};
	return crawl_record(lab->st, &c, ret_made, err);
}

static uint64_t record(struct lab *lab, struct buckets *b)
{
	struct err err = {0};
	uint64_t made = 0;
	MUST(try_record(lab, b, &made, &err));
	return made;
}

static struct index_item found_item(uint64_t page, uint64_t place)
{
	struct index_item item = lab_item(page, ITEM_NEW);
	item.flags = ITEM_CONTRIB;
	item.where = place;
	return item;
}

static void assert_bucket_of(struct lab *lab, struct buckets *b, const struct index_item *item,
			     struct str url)
{
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	struct footprint fp;
	assert_false(item->flags & ITEM_CONTRIB);
	assert_true(index_item_has_bucket(item));
	MUST(bucket_get(b, NULL, (uint32_t)item->where, &lab->arena, &header, &body, &err));
	assert_true(str_eq(url, attrs_get(&header, 'U')));
	assert_true(footprint_parse(attrs_get(&header, 'O'), &fp));
	assert_int_equal(0, footprint_cmp(fp, item->fp));
	assert_true(attrs_get(&header, BUCKET_ADDED).n > 0);
	assert_int_equal(0, body.n);
}

static void every_new_url_gets_a_bucket_with_its_name(void **state)
{
	(void)state;
	struct lab lab;
	enum { PAGES = 39 };
	uint64_t pages[PAGES + 1], places[PAGES + 1];
	struct index_item items[PAGES + 1] = {lab_item(0, ITEM_ZOMBIE)};
	lab_make(&lab, "record", NULL, 0, (uint64_t[]){0}, 1);
	for (uint64_t i = 0; i <= PAGES; i++)
		pages[i] = i + 1; /* the last one is found, and nobody wants it */
	find_pages(&lab, pages, PAGES + 1, places);
	for (uint64_t i = 0; i < PAGES; i++)
		items[i + 1] = found_item(pages[i], places[i]);
	begin_record(&lab, items, PAGES + 1);
	struct buckets *b = open_buckets(&lab);
	assert_int_equal(PAGES, record(&lab, b));
	for (uint64_t i = 0; i < PAGES; i++) {
		char url[PLAY_URL];
		struct index_item item = lab_find(&lab, pages[i]);
		assert_bucket_of(&lab, b, &item, play_url(pages[i], url));
	}
	assert_false(lab_knows(&lab, PAGES + 1));
	assert_int_equal(ITEM_NOWHERE, lab_find(&lab, 0).where);
	assert_int_equal(0, record(&lab, b)); /* there is nothing left to do */
	bucket_drop(&b);
	lab_free(&lab);
}

static void contributions_of_all_rounds_are_found(void **state)
{
	(void)state;
	struct lab lab;
	uint64_t first[2], second[3], none[1];
	char url[PLAY_URL];
	lab_make(&lab, "record-rounds", NULL, 0, (uint64_t[]){0}, 1);
	find_pages(&lab, (uint64_t[]){1, 2}, 2, first);
	find_pages(&lab, NULL, 0, none);
	find_pages(&lab, (uint64_t[]){3, 1, 1}, 3, second);
	struct index_item items[] = {found_item(1, contrib_place(2, first[0])),
				     found_item(2, contrib_place(2, first[1])),
				     found_item(3, contrib_place(0, second[0]))};
	begin_record(&lab, items, 3);
	struct buckets *b = open_buckets(&lab);
	assert_int_equal(3, record(&lab, b));
	for (uint64_t page = 1; page <= 3; page++) {
		struct index_item item = lab_find(&lab, page);
		assert_bucket_of(&lab, b, &item, play_url(page, url));
	}
	bucket_drop(&b);
	lab_free(&lab);
}

static void the_front_page_of_a_site_is_named_after_it(void **state)
{
	(void)state;
	struct lab lab;
	uint64_t place;
	struct index_item item = {.fp = {play_footprint(50).site, footprint_path(STR("/"))},
				  .where = ITEM_NOWHERE,
				  .type = ITEM_NEW,
				  .flags = ITEM_EQUIV | ITEM_CONTRIB};
	struct footprint fp = item.fp;
	struct err err = {0};
	const struct url_index *index;
	lab_make(&lab, "record-root", NULL, 0, (uint64_t[]){0, 50, 100}, 3);
	find_pages(&lab, (uint64_t[]){1}, 1, &place);
	begin_record(&lab, &item, 1);
	struct buckets *b = open_buckets(&lab);
	assert_int_equal(1, record(&lab, b));
	MUST(state_index(lab.st, &index, &err));
	MUST(url_index_find(index, fp, &item, &err));
	assert_int_equal(ITEM_EQUIV, item.flags);
	assert_bucket_of(&lab, b, &item, STR("http://site1.example/"));
	bucket_drop(&b);
	lab_free(&lab);
}

static struct index_item key_item(uint64_t page, uint32_t last_seen_s)
{
	return (struct index_item){.fp = {play_footprint(page).site, 0},
				   .where = ITEM_NOWHERE,
				   .type = ITEM_QKEY,
				   .flags = ITEM_ROBOTS,
				   .last_seen_s = last_seen_s};
}

static struct index_item robots_item(uint64_t page)
{
	struct index_item item = key_item(page, NOW_S);
	item.fp.path = footprint_path(STR("/robots.txt"));
	item.type = ITEM_GATHERED;
	return item;
}

static bool has_item(struct lab *lab, struct footprint fp)
{
	struct err err = {0};
	const struct url_index *index;
	struct index_item item;
	MUST(state_index(lab->st, &index, &err));
	int rc = url_index_find(index, fp, &item, &err);
	assert_true(rc >= 0);
	return rc == 0;
}

static bool has_key(struct lab *lab, uint64_t page)
{
	return has_item(lab, key_item(page, 0).fp);
}

/* The queue keys of the sites of these pages. */
static void set_keys(struct lab *lab, const uint64_t *page, const qkey *key, size_t n)
{
	struct err err = {0};
	struct sites *sites = lab_sites(lab);
	for (size_t i = 0; i < n; i++)
		sites_get(sites, play_footprint(page[i]).site)->qkey = key[i];
	MUST(state_sites_put(lab->st, sites, &err));
	sites_free(&sites);
}

static void notes_on_pruned_sites_and_keys_that_hold_no_more_go(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	const qkey gone = qkey_special(QKEY_NONEXISTENT, 1, 0);
	const qkey off = qkey_special(QKEY_OFF_NETWORK, 1, 0);
	const uint32_t old = NOW_S - REFRESH_S;
	struct index_item items[] = {key_item(0, old),   key_item(50, old),    key_item(100, old),
				     key_item(150, old), key_item(200, NOW_S), robots_item(50),
				     robots_item(200)};
	lab_make(&lab, "record-keys", NULL, 0, (uint64_t[]){0, 50, 100, 150}, 4);
	lab_enter(&lab, false, PHASE_REAP);
	MUST(state_enter(lab.st, PHASE_CORKED, NULL, PLAY_START, &err));
	begin_record(&lab, items, ARRAY_LEN(items));
	set_keys(&lab, (uint64_t[]){0, 50, 100, 150}, (qkey[]){11, 0, gone, off}, 4);
	struct buckets *b = open_buckets(&lab);
	assert_int_equal(0, record(&lab, b));
	assert_true(has_key(&lab, 0));
	assert_false(has_key(&lab, 50)); /* its name is to be asked for again */
	assert_true(has_key(&lab, 100));
	assert_true(has_key(&lab, 150));
	assert_false(has_key(&lab, 200)); /* its site is not known any more */
	assert_true(has_item(&lab, robots_item(50).fp));
	assert_false(has_item(&lab, robots_item(200).fp));
	bucket_drop(&b);
	lab_free(&lab);
}

/* A URL that nobody can name is not made up: the merge is done again. */
static void without_its_contribution_a_url_gets_no_bucket(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	uint64_t place, made;
	lab_make(&lab, "record-lost", NULL, 0, (uint64_t[]){0}, 1);
	find_pages(&lab, (uint64_t[]){1}, 1, &place);
	struct index_item items[] = {found_item(1, place), found_item(2, place + 100)};
	begin_record(&lab, items, 2);
	struct buckets *b = open_buckets(&lab);
	assert_int_equal(-1, try_record(&lab, b, &made, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
	assert_true(lab_find(&lab, 1).flags & ITEM_CONTRIB);
	bucket_drop(&b);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_new_url_gets_a_bucket_with_its_name),
		cmocka_unit_test(contributions_of_all_rounds_are_found),
		cmocka_unit_test(the_front_page_of_a_site_is_named_after_it),
		cmocka_unit_test(notes_on_pruned_sites_and_keys_that_hold_no_more_go),
		cmocka_unit_test(without_its_contribution_a_url_gets_no_bucket),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
