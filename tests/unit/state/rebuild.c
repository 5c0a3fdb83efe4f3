/* An index that was lost is made again from the buckets, and what was forgotten stays forgotten. */
#include "base/clock.h"
#include "base/fault.h"
#include "unit/state/play_unit.h"

#include <unistd.h>

enum { DAYS = 40 };

static void made(struct play *ret, const char *name)
{
	struct err err = {0};
	MUST(states_init(scratch(name), 0, PLAY_START, &err));
	MUST(play_open(ret, scratch(name), PLAY_START, NULL, &err));
	MUST(play_begin(ret, &err));
}

static void merge(struct play *p)
{
	struct err err = {0};
	MUST(play_cork(p, &err));
	MUST(play_merge(p, &err));
	MUST(play_begin(p, &err));
}

/* Pages that are known, but not by hand: such a one is forgotten when it is gone. */
static void find_pages(struct play *p, uint64_t from, uint64_t to)
{
	struct err err = {0};
	for (uint64_t page = from; page < to; page++)
		MUST(play_link(p, 0, page, &err));
	merge(p);
}

/* Of the newest state and what shares it, or of all. */
static void lose_index(const char *name, bool all)
{
	struct err err = {0};
	struct dir d;
	const char *state;
	char path[PATH_MAX];
	struct stat st, it;
	snprintf(path, sizeof path, "%s/state/current/index", scratch(name));
	assert_int_equal(0, stat(path, &it));
	snprintf(path, sizeof path, "%s/state", scratch(name));
	MUST(dir_init(&d, path, &err));
	while (dir_next(&d, &state) == 0) {
		snprintf(path, sizeof path, "%s/state/%s/index", scratch(name), state);
		if (stat(path, &st) == 0 && (all || st.st_ino == it.st_ino))
			assert_int_equal(0, unlink(path));
	}
	dir_done(&d);
}

/* As after a kill, with the index lost; at a time when the open state has a checkpoint. */
static void again(struct play *p, const char *name, bool all)
{
	struct err err = {0};
	struct recovery r;
	int64_t now_us = p->now_us;
	if (p->st)
		MUST(play_checkpoint(p, &err));
	play_close(p);
	lose_index(name, all);
	MUST(play_open(p, scratch(name), now_us, &r, &err));
	if (r.rebuilt != 1)
		fail_msg("%u rebuilt: %s", r.rebuilt, buf_text(&r.told));
	recovery_free(&r);
}

static bool find(struct play *p, uint64_t page, struct index_item *ret)
{
	struct err err = {0};
	struct state *st = NULL;
	const struct url_index *index;
	MUST(state_open(&st, p->s, "current", &err));
	MUST(state_index(st, &index, &err));
	int rc = url_index_find(index, play_footprint(page), ret, &err);
	assert_true(rc >= 0);
	state_free(&st);
	return rc == 0;
}

static bool knows(struct play *p, uint64_t page)
{
	struct index_item item;
	return find(p, page, &item);
}

/* What the newest state tells followers of a page; CHANGE_NONE: nothing. */
static enum change_op told(struct play *p, uint64_t page)
{
	struct err err = {0};
	struct state *st = NULL;
	struct record_reader *in = NULL;
	struct record record;
	struct change c;
	char url[PLAY_URL];
	enum change_op op = CHANGE_NONE;
	MUST(state_open(&st, p->s, "current", &err));
	int rc = state_read(st, "changes", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		MUST(change_read(record.payload, &c, &err));
		if (footprint_cmp(c.fp, play_footprint(page)) != 0)
			continue;
		assert_true(str_eq(c.url, play_url(page, url)));
		op = c.op;
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	state_free(&st);
	return op;
}

/* Pages 0 to 4 are gathered; 1 is then gone, and forgotten. */
static void one_is_forgotten(struct play *p, const char *name)
{
	struct err err = {0};
	struct gone g;
	int64_t since_us;
	char path[PATH_MAX];
	made(p, name);
	find_pages(p, 0, 5);
	for (uint64_t page = 0; page < 5; page++)
		MUST(play_gather(p, page, 1, &err));
	merge(p);
	MUST(play_delete(p, 1, &err));
	merge(p);
	p->now_us += DAYS * US_PER_DAY;
	MUST(play_refresh(p, 0, &err));
	merge(p);
	assert_false(knows(p, 1));
	path_in(scratch(name), "gone", path);
	MUST(gone_find(path, play_footprint(1), &g, &since_us, &err));
}

static void a_forgotten_url_does_not_come_back_with_its_bucket(void **state)
{
	(void)state;
	for (unsigned all = 0; all < 2; all++) {
		const char *name = all ? "forgotten-all" : "forgotten";
		struct play p;
		one_is_forgotten(&p, name);
		again(&p, name, all);
		assert_false(knows(&p, 1));
		assert_int_equal(CHANGE_NONE, told(&p, 1));
		for (uint64_t page = 0; page <= 5; page++)
			assert_int_equal(page != 1, knows(&p, page));
		play_close(&p);
	}
}

static void one_that_was_found_again_later_does(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct index_item item;
	one_is_forgotten(&p, "found-again");
	p.now_us += 2 * US_PER_H;          /* the log is kept by the hour */
	MUST(play_gather(&p, 0, 2, &err)); /* links to 1 */
	merge(&p);
	assert_true(knows(&p, 1));
	again(&p, "found-again", true);
	assert_true(find(&p, 1, &item));
	assert_int_equal(ITEM_NEW, item.type); /* not what its old bucket says */
	assert_int_equal(CHANGE_NONE, told(&p, 1));
	play_close(&p);
}

static void a_page_that_is_gone_is_not_told_as_found(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct index_item item;
	made(&p, "dead");
	for (uint64_t page = 0; page < 3; page++)
		MUST(play_gather(&p, page, 1, &err));
	merge(&p);
	MUST(play_delete(&p, 1, &err));
	again(&p, "dead", true);
	assert_true(find(&p, 1, &item));
	assert_int_equal(ITEM_ERROR, item.type);
	assert_int_equal(2404, item.code);
	assert_int_equal(CHANGE_NONE, told(&p, 1));
	assert_true(find(&p, 2, &item));
	assert_int_equal(ITEM_GATHERED, item.type);
	assert_int_equal(CHANGE_UPDATE, told(&p, 2));
	play_close(&p);
}

/* The log of forgotten URLs has only the hour, in which the page was still there. */
static void what_was_forgotten_within_the_hour_stays_forgotten(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	made(&p, "hour");
	find_pages(&p, 0, 3);
	for (uint64_t page = 0; page < 3; page++)
		MUST(play_gather(&p, page, 1, &err));
	merge(&p);
	MUST(play_delete(&p, 1, &err));
	merge(&p);
	assert_false(knows(&p, 1));
	again(&p, "hour", true);
	assert_false(knows(&p, 1));
	assert_int_equal(CHANGE_NONE, told(&p, 1));
	assert_true(knows(&p, 2));
	play_close(&p);
}

static uint32_t bucket_of(struct play *p, uint64_t page)
{
	struct index_item item = {0};
	assert_true(find(p, page, &item));
	return (uint32_t)item.where;
}

/* Page 1 has two buckets, of which the one that counts is deleted. */
static void one_is_deleted(struct play *p, const char *name)
{
	struct err err = {0};
	const struct bucket_options options = {.mode = BUCKET_WRITE};
	struct buckets *b = NULL;
	char path[PATH_MAX];
	made(p, name);
	for (uint64_t page = 0; page < 3; page++)
		MUST(play_gather(p, page, 1, &err));
	merge(p);
	MUST(play_gather(p, 1, 2, &err));
	merge(p);
	uint32_t oid = bucket_of(p, 1);
	MUST(play_checkpoint(p, &err));
	state_free(&p->st);
	bucket_drop(&p->buckets);
	path_in(scratch(name), "objects", path);
	MUST(bucket_open(&b, path, &options, &err));
	MUST(bucket_delete(b, oid, &err));
	MUST(bucket_sync(b, NULL, &err));
	MUST(bucket_close(&b, &err));
}

static void a_deleted_bucket_is_the_end_of_those_before_it(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct recovery r;
	struct gone g;
	int64_t since_us;
	char path[PATH_MAX];
	one_is_deleted(&p, "blotted");
	MUST(states_recover(p.s, p.now_us, &r, &err)); /* the index does not fit */
	assert_int_equal(1, r.rebuilt);
	recovery_free(&r);
	assert_false(knows(&p, 1));
	assert_int_equal(CHANGE_DELETE, told(&p, 1)); /* followers had it */
	path_in(scratch("blotted"), "gone", path);
	MUST(gone_find(path, play_footprint(1), &g, &since_us, &err));
	assert_int_equal(GONE_HAND, g.reason);
	assert_true(knows(&p, 0) && knows(&p, 2));
	play_close(&p);

	one_is_deleted(&p, "blotted-all");
	again(&p, "blotted-all", true);
	assert_false(knows(&p, 1));
	assert_int_equal(CHANGE_NONE, told(&p, 1));
	assert_true(knows(&p, 0) && knows(&p, 2));
	play_close(&p);
}

static void a_bucket_that_was_deleted_for_damage_leaves_the_one_before_it(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct index_item item;
	char path[PATH_MAX];
	made(&p, "spoilt");
	MUST(play_gather(&p, 1, 1, &err));
	merge(&p);
	uint32_t first = bucket_of(&p, 1);
	MUST(play_gather(&p, 1, 2, &err));
	merge(&p);
	uint32_t second = bucket_of(&p, 1);
	assert_true(second > first);
	path_in(scratch("spoilt"), "objects", path);
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	/* inside of its data; and its number, as a fix blots it */
	assert_int_equal(0, fseek(f, (long)second * 128 + 40, SEEK_SET));
	assert_int_equal(1, fputc(1, f));
	assert_int_equal(0, fseek(f, (long)second * 128 + 4, SEEK_SET));
	assert_int_equal(4, fwrite("\xff\xff\xff\xff", 1, 4, f));
	assert_int_equal(0, fclose(f));
	again(&p, "spoilt", true);
	assert_true(find(&p, 1, &item));
	assert_int_equal(first, item.where);
	play_close(&p);
}

/* The journals still say which URL it was. */
static void a_url_whose_only_bucket_is_damaged_is_asked_for_again(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct index_item item;
	char path[PATH_MAX];
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	made(&p, "orphan");
	for (uint64_t page = 0; page < 40; page += 10)
		MUST(play_gather(&p, page, 1, &err));
	merge(&p);
	uint32_t oid = bucket_of(&p, 10);
	MUST(play_gather(&p, 20, 2, &err));
	merge(&p);
	path_in(scratch("orphan"), "objects", path);
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, (long)oid * 128 + 40, SEEK_SET));
	assert_int_equal(1, fputc(1, f));
	assert_int_equal(0, fclose(f));
	again(&p, "orphan", false);
	assert_false(knows(&p, 10));
	assert_int_equal(CHANGE_DELETE, told(&p, 10));
	assert_int_equal(CHANGE_NONE, told(&p, 0));
	MUST(state_open(&p.st, p.s, "current", &err));
	assert_int_equal(PHASE_CORKED, state_phase(p.st)); /* so that merge comes next */
	MUST(bucket_open(&p.buckets, path, &options, &err));
	MUST(play_merge(&p, &err));
	MUST(play_begin(&p, &err));
	assert_true(find(&p, 10, &item));
	assert_int_equal(ITEM_NEW, item.type);
	play_close(&p);
}

static void robots_txt_comes_back_as_such_and_nobody_hears_of_it(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	struct state *st = NULL;
	struct index_item item;
	const struct url_index *index;
	struct footprint fp = {play_footprint(0).site, footprint_path(STR("/robots.txt"))};
	struct record_reader *in = NULL;
	struct record record;
	struct change c;
	uint32_t oid;
	made(&p, "robots");
	MUST(play_gather(&p, 0, 1, &err));
	attrs_add(&header, &p.arena, 'U', STR("http://site0.example/robots.txt"));
	attrs_add(&header, &p.arena, 'D', STR("1790000000"));
	attrs_add(&body, &p.arena, 'X', STR("User-agent: *"));
	MUST(bucket_put(p.buckets, NULL, &header, &body, &oid, &err));
	merge(&p);
	again(&p, "robots", true);
	MUST(state_open(&st, p.s, "current", &err));
	MUST(state_index(st, &index, &err));
	MUST(url_index_find(index, fp, &item, &err));
	assert_int_equal(ITEM_GATHERED, item.type);
	assert_int_equal(ITEM_ROBOTS, item.flags);
	assert_int_equal(oid, item.where);
	assert_int_equal(1790000000, item.last_seen_s);
	assert_int_equal(1, url_index_count(index, ITEM_GATHERED));
	int rc = state_read(st, "changes", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		MUST(change_read(record.payload, &c, &err));
		assert_true(footprint_cmp(c.fp, fp) != 0);
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	state_free(&st);
	play_close(&p);
}

static void what_only_an_index_knows_is_taken_from_an_older_one(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct index_item item;
	char url[PLAY_URL];
	struct contrib by_hand = {.fp = play_footprint(7),
				  .flags = ITEM_INITIAL,
				  .weight = 99,
				  .url = play_url(7, url)};
	made(&p, "older");
	MUST(play_gather(&p, 0, 1, &err));
	MUST(state_contrib(p.st, &by_hand, NULL, &err));
	merge(&p);
	MUST(play_gather(&p, 1, 1, &err));
	merge(&p);
	again(&p, "older", false);
	assert_true(find(&p, 7, &item));
	assert_int_equal(ITEM_NEW, item.type);
	assert_int_equal(ITEM_INITIAL, item.flags);
	assert_int_equal(99, item.weight);
	assert_true(find(&p, 0, &item));
	assert_int_equal(1, item.download_ds);      /* that no bucket knows */
	assert_int_equal(CHANGE_NONE, told(&p, 0)); /* followers have it, and the older index too */
	assert_true(knows(&p, 1) && knows(&p, 2));
	play_close(&p);
}

/* The new index knows the pages, so a second attempt would find nothing to tell. */
static void what_followers_are_told_outlives_an_interruption(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct recovery r;
	const char *folder = scratch("interrupted");
	made(&p, "interrupted");
	for (uint64_t page = 0; page < 3; page++)
		MUST(play_gather(&p, page, 1, &err));
	MUST(play_checkpoint(&p, &err));
	play_close(&p);
	lose_index("interrupted", true);
	MUST(fault_arm("file.write/checkpoints=enospc@2", &err)); /* that of the new index */
	assert_int_equal(-1, play_open(&p, folder, PLAY_START, NULL, &err));
	assert_int_equal(1, fault_fired());
	MUST(fault_arm("", &err));
	MUST(play_open(&p, folder, PLAY_START, &r, &err));
	recovery_free(&r);
	for (uint64_t page = 0; page < 3; page++)
		assert_int_equal(CHANGE_UPDATE, told(&p, page));
	play_close(&p);
}

static void the_site_of_a_forgotten_url_stays_forgotten(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct state *st = NULL;
	struct sites *sites = NULL;
	char path[PATH_MAX];
	enum { ELSEWHERE = PLAY_PER_SITE * 2 - 1 }; /* the last of its site: links to the next */
	made(&p, "site");
	find_pages(&p, ELSEWHERE, ELSEWHERE + 1);
	MUST(play_gather(&p, 0, 1, &err));
	MUST(play_gather(&p, ELSEWHERE, 1, &err));
	merge(&p);
	MUST(play_delete(&p, ELSEWHERE, &err));
	merge(&p);
	p.now_us += DAYS * US_PER_DAY;
	MUST(play_refresh(&p, 0, &err));
	merge(&p);
	assert_false(knows(&p, ELSEWHERE));
	MUST(play_checkpoint(&p, &err));
	path_in(scratch("site"), "sites", path);
	assert_int_equal(0, unlink(path));
	again(&p, "site", true);
	MUST(state_open(&st, p.s, "current", &err));
	MUST(state_sites(st, &sites, &err));
	assert_non_null(sites_get(sites, play_footprint(0).site));
	assert_null(sites_get(sites, play_footprint(ELSEWHERE).site));
	sites_free(&sites);
	state_free(&st);
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forgotten_url_does_not_come_back_with_its_bucket),
		cmocka_unit_test(one_that_was_found_again_later_does),
		cmocka_unit_test(a_page_that_is_gone_is_not_told_as_found),
		cmocka_unit_test(what_was_forgotten_within_the_hour_stays_forgotten),
		cmocka_unit_test(a_deleted_bucket_is_the_end_of_those_before_it),
		cmocka_unit_test(a_bucket_that_was_deleted_for_damage_leaves_the_one_before_it),
		cmocka_unit_test(a_url_whose_only_bucket_is_damaged_is_asked_for_again),
		cmocka_unit_test(robots_txt_comes_back_as_such_and_nobody_hears_of_it),
		cmocka_unit_test(what_only_an_index_knows_is_taken_from_an_older_one),
		cmocka_unit_test(what_followers_are_told_outlives_an_interruption),
		cmocka_unit_test(the_site_of_a_forgotten_url_stays_forgotten),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
