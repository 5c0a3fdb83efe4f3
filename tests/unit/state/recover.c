/* Two things wrong at once, or damage where the plain tests of state_damage.c do not look: recovery
 * needs no hand, and what does not depend on the damage is as it was. */
#include "unit/state/play_unit.h"

#include <unistd.h>

enum { KNOWN = 18 };

static void spoil(const char *path, long at)
{
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, at, SEEK_SET));
	int c = fgetc(f);
	assert_int_equal(0, fseek(f, at, SEEK_SET));
	assert_int_not_equal(EOF, fputc(c ^ 0x55, f));
	assert_int_equal(0, fclose(f));
}

static void append(const char *path, const char *text)
{
	FILE *f = fopen(path, "ab");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(0, fclose(f));
}

/* Recovers, and says that it had to. */
static void mend(struct play *ret, const char *folder, struct recovery *told)
{
	struct err err = {0};
	if (play_open(ret, folder, PLAY_START + 1000000000, told, &err) != 0)
		fail_msg("%s: %s", folder, err.msg);
	assert_true(told->damaged > 0);
}

static void done(struct play *p, struct recovery *told)
{
	recovery_free(told);
	play_close(p);
}

/* A second start finds nothing to do. */
static void stands(const char *folder)
{
	struct play p;
	struct recovery told = {0};
	struct err err = {0};
	MUST(play_open(&p, folder, PLAY_START + 2000000000, &told, &err));
	if (told.damaged)
		fail_msg("not mended: %s", buf_text(&told.told));
	done(&p, &told);
}

static enum phase phase_of(struct play *p)
{
	struct err err = {0};
	struct state *st = NULL;
	MUST(state_open(&st, p->s, "current", &err));
	enum phase phase = state_phase(st);
	state_free(&st);
	return phase;
}

/* Those that can be read. */
static uint64_t contributions(struct play *p)
{
	struct err err = {0};
	struct state *st = NULL;
	struct record_reader *r = NULL;
	struct record record;
	uint64_t n = 0;
	MUST(state_open(&st, p->s, "current", &err));
	int rc = state_read(st, "contrib", &r, &err);
	while (rc == 0 && (rc = record_next(r, &record, &err)) == 0)
		n++;
	if (rc < 0 && err.code != ERR_DAMAGED)
		fail_msg("contrib: %s", err.msg);
	record_reader_free(&r);
	state_free(&st);
	return n;
}

/* A crawl of KNOWN operations, the last eight of them in an open state, corked where that is asked.
 * How many contributions wait to be merged. */
static uint64_t crawl(const char *folder, bool corked)
{
	struct play p;
	struct err err = {0};
	play_some(folder, KNOWN, 0);
	MUST(play_open(&p, folder, PLAY_START + 500000000, NULL, &err));
	if (corked) {
		MUST(play_begin(&p, &err));
		MUST(play_cork(&p, &err));
	}
	uint64_t n = contributions(&p);
	assert_true(n > 3);
	play_close(&p);
	return n;
}

static void contributions_outlive_a_damaged_journal(void **state)
{
	(void)state;
	const char *folder = scratch("journal");
	struct play p;
	struct recovery told;
	struct err err = {0};
	char path[PATH_MAX];
	uint64_t n = crawl(folder, false);
	path_in(folder, "journal", path);
	spoil(path, 100);
	mend(&p, folder, &told);
	assert_int_equal(1, told.rebuilt);
	assert_int_equal(PHASE_CORKED, phase_of(&p));
	assert_int_equal(n, contributions(&p));
	MUST(play_merge(&p, &err));
	done(&p, &told);
	stands(folder);
}

static void contributions_outlive_a_lost_index(void **state)
{
	(void)state;
	for (int corked = 0; corked < 2; corked++) {
		const char *folder = scratch(corked ? "corked" : "open");
		struct play p;
		struct recovery told;
		char path[PATH_MAX];
		uint64_t n = crawl(folder, corked);
		path_in(folder, "index", path);
		assert_int_equal(0, unlink(path));
		mend(&p, folder, &told);
		assert_int_equal(1, told.rebuilt);
		assert_int_equal(PHASE_CORKED, phase_of(&p));
		assert_int_equal(n, contributions(&p));
		done(&p, &told);
		stands(folder);
	}
}

/* In an open state they cannot go back to the checkpoint, so the index is made again; in a corked
 * one they are named and left to merge. */
static void damaged_contributions_cost_only_those_after_the_damage(void **state)
{
	(void)state;
	for (int corked = 0; corked < 2; corked++) {
		const char *folder = scratch(corked ? "merge" : "reap");
		struct play p;
		struct recovery told;
		struct err err = {0};
		char path[PATH_MAX];
		uint64_t n = crawl(folder, corked);
		path_in(folder, "contrib", path);
		spoil(path, (long)(size_of(path) * 2 / 3));
		mend(&p, folder, &told);
		assert_int_equal(1, told.damaged);
		assert_non_null(strstr(buf_text(&told.told), "contrib"));
		assert_int_equal(!corked, told.rebuilt);
		assert_int_equal(PHASE_CORKED, phase_of(&p));
		assert_true(contributions(&p) > 0 && contributions(&p) < n);
		MUST(play_check(&p, KNOWN, false, &err));
		MUST(play_merge(&p, &err));
		done(&p, &told);
		stands(folder);
	}
}

static void contributions_outlive_the_control(void **state)
{
	(void)state;
	const char *folder = scratch("control");
	struct play p;
	struct recovery told;
	struct err err = {0};
	char path[PATH_MAX];
	uint64_t n = crawl(folder, false);
	path_in(folder, "control", path);
	spoil(path, 20);
	mend(&p, folder, &told);
	assert_int_equal(PHASE_CORKED, phase_of(&p));
	assert_int_equal(n, contributions(&p));
	MUST(play_check(&p, KNOWN, false, &err));
	done(&p, &told);
	stands(folder);
}

static void a_torn_end_of_the_buckets_does_not_keep_an_index_from_being_made(void **state)
{
	(void)state;
	const char *folder = scratch("torn");
	struct play p;
	struct recovery told;
	struct err err = {0};
	char path[PATH_MAX];
	crawl(folder, false);
	path_in(folder, "control", path); /* in which phase it was is lost */
	spoil(path, 14);
	path_in(folder, "objects", path);
	append(path, "half a bucket");
	mend(&p, folder, &told);
	MUST(play_check(&p, KNOWN, true, &err));
	done(&p, &told);
	stands(folder);

	append(path, "half a bucket");
	snprintf(path, sizeof path, "%s/state", folder); /* all states are lost */
	assert_int_equal(0, tree_remove(path, &err));
	mend(&p, folder, &told);
	MUST(play_check(&p, KNOWN, true, &err));
	done(&p, &told);
	stands(folder);
}

/* A frame that is sound around an entry that is not, as a clock before 1970 once made them. */
static void an_entry_that_cannot_be_read_is_named_with_its_file_and_cut_off(void **state)
{
	(void)state;
	const char *folder = scratch("entry");
	struct play p;
	struct recovery told;
	struct err err = {0};
	const struct journal_entry before_1970 = {
		.fp = play_footprint(3), .time_us = -1, .where = ITEM_NOWHERE, .url = STR("-")};
	crawl(folder, false);
	MUST(play_open(&p, folder, PLAY_START + 600000000, NULL, &err));
	MUST(play_begin(&p, &err));
	MUST(state_journal(p.st, &before_1970, &err));
	MUST(play_checkpoint(&p, &err));
	play_close(&p);
	mend(&p, folder, &told);
	assert_non_null(strstr(buf_text(&told.told), "/journal: record at "));
	assert_non_null(strstr(buf_text(&told.told), "not an entry of a journal"));
	MUST(play_check(&p, KNOWN, true, &err));
	done(&p, &told);
	stands(folder);
}

static void what_is_no_bucket_is_mended_with_the_index(void **state)
{
	(void)state;
	const char *folder = scratch("hole");
	struct play p;
	struct recovery told;
	struct err err = {0};
	char path[PATH_MAX];
	crawl(folder, false);
	path_in(folder, "objects", path);
	spoil(path, 1024 / 128 * 128 + 700);
	path_in(folder, "index", path);
	assert_int_equal(0, unlink(path));
	mend(&p, folder, &told);
	done(&p, &told);
	path_in(folder, "objects", path);
	MUST(format_verify(&bucket_format, path, &err));
}

static void a_lost_control_does_not_cost_the_log_of_forgotten_urls(void **state)
{
	(void)state;
	const char *folder = scratch("numbers");
	struct play p;
	struct recovery told;
	struct err err = {0};
	char path[PATH_MAX];
	struct gone gone = {play_footprint(7), PLAY_START, GONE_HAND}, found;
	int64_t since_us;
	crawl(folder, true);
	MUST(play_open(&p, folder, PLAY_START + 600000000, NULL, &err));
	MUST(play_begin(&p, &err));
	MUST(state_gone(p.st, &gone, &err));
	MUST(play_cork(&p, &err));
	MUST(play_begin(&p, &err)); /* an open state without a checkpoint: it is deleted */
	play_close(&p);
	path_in(folder, "control", path);
	spoil(path, 20);
	mend(&p, folder, &told);
	done(&p, &told);
	path_in(folder, "gone", path);
	MUST(gone_find(path, gone.fp, &found, &since_us, &err));
	assert_int_equal(GONE_HAND, found.reason);
}

/* Bytes of a v3.3 header with a URL, of which we do not read the body. */
static struct str foreign(struct arena *arena, const char *url)
{
	return str_of(arena_printf(arena, "%c%sU", (char)(strlen(url) + 1), url));
}

static void a_url_outlives_a_body_that_cannot_be_read(void **state)
{
	(void)state;
	const char *folder = scratch("bodies");
	struct play p;
	struct recovery told;
	struct err err = {0};
	const struct url_index *index;
	struct index_item item;
	struct state *st = NULL;
	struct sites *sites;
	uint32_t oid;
	char path[PATH_MAX];
	crawl(folder, false);
	MUST(play_open(&p, folder, PLAY_START + 600000000, NULL, &err));
	MUST(play_begin(&p, &err));
	struct buf data = BUF_INIT(1024); /* header, the byte that ends it, something in LiZaRd */
	buf_add_str(&data, foreign(&p.arena, "http://site9.example/page?n=450"));
	buf_add(&data, "\0\5\0\0\0\1\2\3\4\21\0\0", 12);
	MUST(bucket_append(p.buckets, BUCKET_LIZARD, buf_str(&data), &oid, &err));
	buf_free(&data);
	MUST(play_checkpoint(&p, &err));
	play_close(&p);
	path_in(folder, "index", path);
	assert_int_equal(0, unlink(path));
	mend(&p, folder, &told);
	MUST(state_open(&st, p.s, "current", &err));
	MUST(state_index(st, &index, &err));
	MUST(url_index_find(index, play_footprint(450), &item, &err));
	assert_int_equal(ITEM_NEW, item.type);
	assert_int_equal(oid, item.where);
	MUST(state_sites(st, &sites, &err));
	assert_non_null(sites_get(sites, item.fp.site));
	sites_free(&sites);
	state_free(&st);
	done(&p, &told);
	stands(folder);
}

static void a_lost_dictionary_is_named_and_costs_no_url(void **state)
{
	(void)state;
	const char *folder = scratch("dictionary");
	struct play p;
	struct recovery told;
	struct err err = {0};
	char path[PATH_MAX];
	unsigned kept = 0;
	play_some(folder, KNOWN, 0);
	MUST(play_open(&p, folder, PLAY_START + 500000000, NULL, &err));
	MUST(play_begin(&p, &err));
	for (uint64_t i = 100; i < 500; i++)
		MUST(play_gather(&p, i, 1, &err));
	MUST(bucket_train(p.buckets, p.packer, &kept, &err));
	assert_true(kept > 0);
	for (uint64_t i = 100; i < 500; i++)
		MUST(play_gather(&p, i, 2, &err));
	MUST(play_checkpoint(&p, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	play_close(&p);
	snprintf(path, sizeof path, "%s/objects.dict", folder);
	assert_int_equal(0, unlink(path));
	mend(&p, folder, &told);
	assert_int_equal(0, told.rebuilt);
	assert_non_null(strstr(buf_text(&told.told), "its dictionary"));
	done(&p, &told);
}

/* One of a size that only the largest crawls have. */
static void a_damaged_block_in_a_large_index_is_found_at_the_start(void **state)
{
	(void)state;
	enum { MANY = 1100000 };
	const char *folder = scratch("large");
	struct play p;
	struct recovery told;
	struct err err = {0};
	struct url_index_writer *w;
	char path[PATH_MAX];
	MUST(states_init(folder, 0, PLAY_START, &err));
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	MUST(state_index_create(p.st, &w, &err));
	for (uint64_t i = 1; i <= MANY; i++)
		url_index_put(w, &(struct index_item){
					 .fp = {i, i}, .where = ITEM_NOWHERE, .type = ITEM_NEW});
	MUST(state_index_put(p.st, &w, &err));
	MUST(state_enter(p.st, PHASE_CLOSED, p.buckets, PLAY_START, &err));
	play_close(&p);
	path_in(folder, "index", path);
	spoil(path, 4096 + 100 * 65536 + 77);
	mend(&p, folder, &told);
	assert_int_equal(1, told.rebuilt);
	done(&p, &told);
	stands(folder);
}

/* The control of the newest state may be what else was on the disk that is not there. */
static void a_lost_bucket_file_is_left_to_people_also_without_a_control(void **state)
{
	const char *folder = scratch("unmounted");
	struct err err = {0};
	struct states *s = NULL;
	struct state *st = NULL;
	struct recovery r;
	struct play p;
	char path[PATH_MAX];
	(void)state;
	play_some(folder, 20, 0);
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	play_close(&p);
	MUST(states_open(&s, folder, true, &err));
	MUST(state_open(&st, s, "current", &err));
	snprintf(path, sizeof path, "%s/state/%s/control", folder, state_name(st));
	state_free(&st);
	assert_int_equal(unlink(path), 0);
	path_in(folder, "objects", path);
	assert_int_equal(unlink(path), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(states_recover(s, PLAY_START, &r, &err), -1);
		recovery_free(&r);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, "the bucket file is lost, of which"));
		assert_int_equal(access(path, F_OK), -1);
	}
	states_close(&s);
}

/* Gives one page of the newest state a weight, as a feedback does. */
static void weigh(struct play *p, uint64_t page, uint8_t weight)
{
	struct err err = {0};
	const struct url_index *old;
	struct url_index_writer *w = NULL;
	struct url_index_scan *scan = NULL;
	struct index_item item;
	MUST(state_index(p->st, &old, &err));
	MUST(url_index_scan(&scan, old, (struct footprint){0, 0}, &err));
	MUST(state_index_create(p->st, &w, &err));
	while (url_index_next(scan, &item, &err) == 0) {
		if (footprint_cmp(item.fp, play_footprint(page)) == 0)
			item.weight = weight;
		url_index_put(w, &item);
	}
	url_index_scan_free(&scan);
	MUST(state_index_put(p->st, &w, &err));
}

static void cork_begins_again_with_what_feedback_said(void **state)
{
	(void)state;
	struct play p;
	struct play_model m = {0};
	struct err err = {0};
	struct index_item item;
	const struct url_index *index;
	uint64_t page;
	const char *folder = scratch("feedback");
	(void)play_model_op(&m, 0, &page);
	play_some(folder, 10, 0);
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	MUST(play_begin(&p, &err));
	weigh(&p, page, 77);
	MUST(play_gather(&p, page + 1, 5, &err));
	MUST(state_enter(p.st, PHASE_CORK, p.buckets, p.now_us, &err));
	weigh(&p, page, 78); /* half of a cork */
	play_close(&p);
	for (unsigned again = 0; again < 3; again++) {
		MUST(play_open(&p, folder, PLAY_START, NULL, &err));
		MUST(state_open(&p.st, p.s, "current", &err));
		assert_int_equal(PHASE_CORK, state_phase(p.st));
		MUST(state_index(p.st, &index, &err));
		MUST(url_index_find(index, play_footprint(page), &item, &err));
		assert_int_equal(77, item.weight);
		play_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cork_begins_again_with_what_feedback_said),
		cmocka_unit_test(contributions_outlive_a_damaged_journal),
		cmocka_unit_test(contributions_outlive_a_lost_index),
		cmocka_unit_test(damaged_contributions_cost_only_those_after_the_damage),
		cmocka_unit_test(contributions_outlive_the_control),
		cmocka_unit_test(a_torn_end_of_the_buckets_does_not_keep_an_index_from_being_made),
		cmocka_unit_test(an_entry_that_cannot_be_read_is_named_with_its_file_and_cut_off),
		cmocka_unit_test(what_is_no_bucket_is_mended_with_the_index),
		cmocka_unit_test(a_lost_control_does_not_cost_the_log_of_forgotten_urls),
		cmocka_unit_test(a_lost_bucket_file_is_left_to_people_also_without_a_control),
		cmocka_unit_test(a_url_outlives_a_body_that_cannot_be_read),
		cmocka_unit_test(a_lost_dictionary_is_named_and_costs_no_url),
		cmocka_unit_test(a_damaged_block_in_a_large_index_is_found_at_the_start),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
