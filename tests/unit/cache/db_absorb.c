/* Absorbing: what a notice does to the queue and to what is stored. */
#include "cache/db/db_inner.h"
#include "unit/cache/db_play.h"

#include <sqlite3.h>

static struct notice page_of(const char *c, int64_t mtime_s, uint64_t size)
{
	struct notice n = page(c);
	n.has = (mtime_s ? NOTICE_HAS_MTIME : 0) | (size ? NOTICE_HAS_SIZE : 0);
	n.mtime_s = mtime_s;
	n.size = size;
	return n;
}

static struct notice page_op(const char *c, enum notice_op op)
{
	struct notice n = page(c);
	n.op = op;
	return n;
}

static void test_the_last_notice_counts_at_the_place_of_the_first(void **state)
{
	(void)state;
	struct notice n[] = {page_of("http://a/1", 1, 0), page_of("http://a/2", 1, 0),
			     page_of("http://a/1", 2, 0)};
	uint64_t set = set_take(1, false, n, 3);
	assert_int_equal(tally(1).open_urls, 3);
	struct db_absorbed a = set_absorb(set);
	assert_int_equal(tally(1).open_urls, 0);
	assert_int_equal(a.queued, 2);
	assert_int_equal(a.updated, 1);
	assert_int_equal(send(1, page_of("http://a/1", 3, 0)).updated, 1);
	db_again();
	struct db_row row;
	DONE(db_next(db, set, DB_NOW, 0, &arena, &row, &err));
	assert_str(row.notice.c, "http://a/1");
	assert_int_equal(row.notice.mtime_s, 3);
	assert_int_equal(row.version, 3);
	DONE(db_next(db, set, DB_NOW, row.row, &arena, &row, &err));
	assert_str(row.notice.c, "http://a/2");
	assert_int_equal(tally(1).queued, 2);
	db_sound();
}

static void test_urls_differ_by_provider_and_type(void **state)
{
	(void)state;
	struct notice n[] = {page("http://a/1"), page("http://a/1")};
	n[1].mime = STR("text/plain");
	assert_int_equal(set_absorb(set_take(1, false, n, 2)).queued, 2);
	assert_int_equal(set_absorb(set_take(2, false, n, 2)).queued, 2);
	assert_int_equal(tally(1).queued, 2);
	uint64_t queued, stored;
	DONE(db_rows(db, &queued, &stored, &err));
	assert_int_equal(queued, 4);
	db_sound();
}

static int64_t same_hash(struct str c, struct str mime)
{
	(void)c;
	(void)mime;
	return 42;
}

static void test_where_hashes_are_equal_the_texts_decide(void **state)
{
	(void)state;
	(db)->hash = same_hash;
	struct notice n[] = {page("http://a/1"), page("http://a/2"), page("http://a/3")};
	uint64_t set = set_take(1, false, n, 3);
	assert_int_equal(set_absorb(set).queued, 3);
	assert_int_equal(send(1, n[1]).updated, 1);
	struct db_row row;
	DONE(db_next(db, set, DB_NOW, 0, &arena, &row, &err));
	DONE(db_next(db, set, DB_NOW, row.row, &arena, &row, &err));
	assert_str(row.notice.c, "http://a/2");
	assert_int_equal(row.version, 2);
	assert_true(done(answer(&row, DB_END_STORED, "f2")).ret_kept);
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
	assert_int_equal(receipt(1, "http://a/2").state, DB_STORED);
	assert_int_equal(receipt(1, "http://a/4").state, DB_NSTATES);
	assert_int_equal(send(1, page_op("http://a/2", NOTICE_REMOVE)).removed, 1);
	assert_int_equal(receipt(1, "http://a/2").state, DB_REMOVED);
	assert_int_equal(receipt(1, "http://a/3").state, DB_QUEUED);
	db_sound();
}

static void test_what_agrees_is_confirmed_and_not_fetched(void **state)
{
	(void)state;
	store(1, page_of("http://a/1", 5, 10), "f");
	assert_int_equal(send(1, page_of("http://a/1", 5, 10)).unchanged, 1);
	assert_int_equal(send(1, page_of("http://a/1", 5, 0)).unchanged, 1);
	assert_int_equal(send(1, page_of("http://a/1", 0, 10)).unchanged, 1);
	struct db_receipt r;
	terms.now_us++;
	int64_t accepted_us = terms.now_us;
	assert_int_equal(send(1, page_of("http://a/1", 5, 10)).unchanged, 1);
	DONE(db_receipt(db, 1, STR("http://a/1"), HTML, accepted_us, &arena, &r, &err));
	assert_int_equal(r.state, DB_UNCHANGED);
	assert_int_equal(r.at_us, accepted_us);
	assert_int_equal(tally(1).queued, 0);
	db_sound();
}

static void test_what_differs_or_says_nothing_is_fetched(void **state)
{
	(void)state;
	struct notice sum = page("http://a/4");
	sum.has = NOTICE_HAS_MD5;
	store(1, page_of("http://a/1", 5, 10), "f1");
	store(1, page_of("http://a/2", 5, 10), "f2");
	store(1, page_of("http://a/3", 5, 10), "f3");
	store(1, page_of("http://a/4", 5, 10), "f4");
	assert_int_equal(send(1, page_of("http://a/1", 6, 10)).queued, 1);
	assert_int_equal(send(1, page_of("http://a/2", 5, 11)).queued, 1);
	assert_int_equal(send(1, page("http://a/3")).queued, 1);
	assert_int_equal(send(1, sum).queued, 1);
	assert_int_equal(tally(1).files, 4);
	db_sound();
}

static void test_a_removal_takes_what_is_stored_and_makes_a_row_nothing(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "f1");
	uint64_t set = set_take(1, false, (struct notice[]){page("http://a/1")}, 1);
	set_absorb(set);
	struct db_row row = fetch(set, DB_NOW), again;
	assert_int_equal(send(1, page_op("http://a/1", NOTICE_REMOVE)).removed, 1);
	assert_true(dropped("f1"));
	assert_int_equal(receipt(1, "http://a/1").state, DB_REMOVED);
	assert_int_equal(tally(1).files, 0);
	assert_int_equal(tally(1).queued, 1);
	DONE(db_next(db, set, DB_NOW, 0, &arena, &again, &err));
	assert_true(again.is_nothing);
	db_again();
	struct db_done d = done(answer(&row, DB_END_STORED, "f2"));
	assert_false(d.ret_kept);
	assert_false(d.ret_again);
	assert_int_equal(receipt(1, "http://a/1").state, DB_REMOVED);
	assert_int_equal(tally(1).queued, 0);
	assert_int_equal(send(1, page_op("http://a/9", NOTICE_REMOVE)).removed, 1);
	assert_int_equal(receipt(1, "http://a/9").state, DB_REMOVED);
	db_sound();
}

static void test_an_update_of_nothing_is_fetched_again(void **state)
{
	(void)state;
	uint64_t set = set_take(1, false, (struct notice[]){page("http://a/1")}, 1);
	set_absorb(set);
	struct db_row row = fetch(set, DB_NOW);
	send(1, page_op("http://a/1", NOTICE_REMOVE));
	assert_int_equal(send(1, page("http://a/1")).updated, 1);
	struct db_done d = done(answer(&row, DB_END_STORED, "old"));
	assert_false(d.ret_kept);
	assert_true(d.ret_again);
	row = fetch(set, DB_NOW);
	assert_false(row.is_nothing);
	assert_true(done(answer(&row, DB_END_STORED, "new")).ret_kept);
	assert_int_equal(receipt(1, "http://a/1").state, DB_STORED);
	db_sound();
}

static void test_a_full_set_takes_away_what_it_does_not_name(void **state)
{
	(void)state;
	store(1, page_of("http://a/stays", 5, 0), "f1");
	store(1, page("http://a/goes"), "f2");
	store(1, page("http://a/refused"), "f3");
	store(2, page("http://a/goes"), "f4");
	send(1, page("http://a/waits"));
	uint64_t set = set_take(1, false, (struct notice[]){page("http://a/out")}, 1);
	set_absorb(set);
	struct db_row out = fetch(set, DB_NOW);
	struct notice n[] = {page_of("http://a/stays", 5, 0),
			     page_op("http://a/refused", NOTICE_NAMED),
			     page_op("http://a/other", NOTICE_NAMED), page("http://a/new")};
	set = set_take(1, true, n, 4);
	terms.rows_max = 1;
	struct db_absorbed a = {0};
	for (int i = 0; !a.is_done; i++) {
		assert_true(i < 50);
		DONE(db_absorb(db, set, &terms, &a, &err));
		db_again();
		DONE(db_sent(db, &out, 1, terms.now_us, &err));
	}
	assert_int_equal(receipt(1, "http://a/stays").state, DB_STORED);
	assert_int_equal(receipt(1, "http://a/refused").state, DB_STORED);
	assert_int_equal(receipt(1, "http://a/goes").state, DB_REMOVED);
	assert_int_equal(receipt(1, "http://a/waits").state, DB_REMOVED);
	assert_int_equal(receipt(1, "http://a/out").state, DB_REMOVED);
	assert_int_equal(receipt(1, "http://a/new").state, DB_QUEUED);
	assert_int_equal(receipt(1, "http://a/other").state, DB_NSTATES);
	assert_int_equal(receipt(2, "http://a/goes").state, DB_STORED);
	assert_true(dropped("f2"));
	assert_false(dropped("f4"));
	assert_false(done(answer(&out, DB_END_STORED, "f5")).ret_kept);
	assert_int_equal(tally(1).queued, 1);
	assert_int_equal(tally(1).files, 2);
	db_sound();
}

static void test_what_was_refused_without_a_type_is_named_in_all_types(void **state)
{
	(void)state;
	struct notice other = page("http://a/2"), none = page_op("http://a/2", NOTICE_NAMED);
	other.mime = STR("text/plain");
	none.mime = STR("");
	store(1, page("http://a/1"), "f1");
	store(1, page("http://a/2"), "f2");
	store(1, other, "f3");
	struct notice n[] = {page_op("http://a/3", NOTICE_NAMED), none, other};
	struct db_absorbed a = set_absorb(set_take(1, true, n, 3));
	assert_int_equal(a.named, 2);
	assert_int_equal(a.removed, 1);
	assert_true(dropped("f1"));
	assert_false(dropped("f2"));
	assert_false(dropped("f3"));
	assert_int_equal(tally(1).files, 2);
	db_sound();
}

static void test_a_row_of_any_type_counts_for_each_of_them(void **state)
{
	(void)state;
	struct notice kinds[] = {page("http://a/1"), page("http://a/1"), page("http://a/1")};
	struct notice n[10];
	kinds[1].mime = STR("text/plain");
	kinds[2].mime = STR("text/css");
	set_absorb(set_take(1, false, kinds, ARRAY_LEN(kinds)));
	for (size_t i = 0; i < ARRAY_LEN(n); i++) {
		n[i] = page_op("http://a/1", NOTICE_NAMED);
		n[i].mime = STR("");
	}
	uint64_t set = set_take(1, true, n, ARRAY_LEN(n));
	db_again();
	terms.rows_max = 6;
	struct db_absorbed a;
	DONE(db_absorb(db, set, &terms, &a, &err));
	assert_int_equal(a.named, 2);
	assert_int_equal(set_absorb(set).named, 8);
	assert_int_equal(tally(1).queued, 3);
	db_sound();
}

static void types_count(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	(void)provider;
	assert_str(r->c, "http://a/1");
	++*(unsigned *)ctx;
}

static void test_types_beyond_those_that_are_remembered_are_stored_all_the_same(void **state)
{
	(void)state;
	enum { TYPES = 1003 };
	static char mime[TYPES][16];
	static struct notice n[TYPES];
	unsigned found = 0;
	for (size_t i = 0; i < TYPES; i++) {
		snprintf(mime[i], sizeof mime[i], "text/x%zu", i);
		n[i] = page("http://a/1");
		n[i].mime = str_of(mime[i]);
	}
	uint64_t set = set_take(1, false, n, TYPES);
	assert_int_equal(set_absorb(set).queued, TYPES);
	db_again();
	assert_int_equal(send(1, n[TYPES - 1]).updated, 1);
	DONE(db_find_url(db, 1, STR("http://a/1"), types_count, &found, &err));
	assert_int_equal(found, 1000);
	struct db_receipt r;
	DONE(db_receipt(db, 1, n[TYPES - 1].c, n[TYPES - 1].mime, 0, &arena, &r, &err));
	assert_int_equal(r.state, DB_QUEUED);
}

static void test_an_empty_full_set_takes_everything(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "f1");
	send(1, page("http://a/2"));
	assert_int_equal(set_absorb(set_take(1, true, NULL, 0)).removed, 2);
	assert_int_equal(tally(1).files + tally(1).queued, 0);
	struct db_set set;
	assert_int_equal(db_set_next(db, 0, &set, &err), 1);
	assert_int_equal(tally(1).open_sets, 0);
	db_sound();
}

static void test_steps_of_any_size_do_the_same(void **state)
{
	(void)state;
	static char c[40][20];
	struct notice n[40];
	for (size_t i = 0; i < 40; i++) {
		snprintf(c[i], sizeof c[i], "http://a/%zu", i % 30);
		n[i] = page_of(c[i], (int64_t)i + 1, 0);
	}
	for (size_t step = 1; step < 50; step += 7) {
		uint64_t provider = step + 100;
		terms.rows_max = step;
		struct db_absorbed a = set_absorb(set_take(provider, false, n, 40));
		assert_int_equal(a.queued, 30);
		assert_int_equal(a.updated, 10);
		assert_int_equal(tally(provider).queued, 30);
	}
	db_sound();
}

/* SQLite's own writing refuses pieces of the log that are too large. */
static void test_one_transaction_may_change_many_pages(void **state)
{
	(void)state;
	enum { SETS = 20, N = 200 };
	char c[N][160];
	struct notice n[N];
	DONE(db_begin(db, &err));
	for (size_t k = 0; k < SETS; k++) {
		for (size_t i = 0; i < N; i++) {
			snprintf(c[i], sizeof c[i], "http://a/%0100zu", k * N + i);
			n[i] = page(c[i]);
		}
		assert_int_equal(set_absorb(set_take(1, false, n, N)).queued, N);
	}
	DONE(db_commit(db, &err));
	assert_int_equal(tally(1).queued, SETS * N);
	db_sound();
}

/* Steps that nobody waits for share a transaction; what fails after them takes them back, and they
 * are done again. */
static void test_steps_are_kept_together_and_go_with_a_failure(void **state)
{
	(void)state;
	struct notice n[] = {page("http://a/1"), page("http://a/2"), page("http://a/3")};
	uint64_t set = set_take(1, false, n, 3);
	struct db_absorbed a;
	struct db *writer = db, *reader = NULL;
	DONE(db_open(&reader, folder, DB_READ, &err));
	terms.rows_max = 1;
	DONE(db_absorb(db, set, &terms, &a, &err));
	DONE(db_absorb(db, set, &terms, &a, &err));
	assert_int_equal(tally(1).queued, 2);
	DONE(db_begin(db, &err));
	DONE(db_absorb(db, set, &terms, &a, &err));
	assert_true(a.is_done);
	assert_int_equal(db_absorb(db, 99, &terms, &a, &err), -1);
	assert_int_equal(db_commit(db, &err), -1);
	assert_int_equal(tally(1).queued, 0);
	assert_int_equal(receipt(1, "http://a/1").state, DB_NSTATES);
	/* where there are none, nothing is left open, which would keep others out */
	DONE(db_begin(db, &err));
	DONE(db_commit(db, &err));
	sqlite3 *other;
	char path[4096];
	snprintf(path, sizeof path, "%s/cache.db", folder);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(other);
	DONE(db_absorb(db, set, &terms, &a, &err));
	assert_int_equal(tally(1).queued, 1);
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
	db = reader;
	assert_int_equal(tally(1).queued, 0);
	db = writer;
	assert_int_equal(set_absorb(set).queued, 2);
	db = reader;
	assert_int_equal(tally(1).queued, 3);
	db = writer;
	db_close(&reader);
	db_sound();
}

/* A kill must not leave a row whose file was deleted meanwhile. */
static void test_a_step_is_kept_with_the_commit_after_which_files_of_it_are_deleted(void **state)
{
	(void)state;
	struct notice n[] = {page_op("http://a/1", NOTICE_REMOVE), page("http://a/2")};
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	struct db_absorbed step;
	struct db *reader;
	uint64_t id, queued, stored = 9;
	store(1, page("http://a/1"), "f1");
	uint64_t set = set_take(1, false, n, 2);
	terms.rows_max = 1;
	DONE(db_open(&reader, folder, DB_READ, &err));
	DONE(db_begin(db, &err));
	DONE(db_absorb(db, set, &terms, &step, &err));
	assert_false(step.is_done);
	DONE(db_fsm_next(db, 0, STR("m"), &id, machine, file, &err));
	assert_string_equal(file, "f1");
	DONE(db_commit(db, &err));
	DONE(db_rows(reader, &queued, &stored, &err));
	assert_int_equal(stored, 0);
	DONE(db_fsm_next(reader, 0, STR("m"), &id, machine, file, &err));
	db_close(&reader);
	db_sound();
}

static void test_beyond_a_quota_a_url_fails(void **state)
{
	(void)state;
	struct notice n[] = {page_of("http://a/1", 0, 60), page_of("http://a/2", 0, 50),
			     page_of("http://a/3", 0, 40), page("http://a/4")};
	terms.quota_space = 100;
	terms.quota_files = 2;
	struct db_absorbed a = set_absorb(set_take(1, false, n, 4));
	assert_int_equal(a.queued, 2);
	assert_int_equal(a.failed, 2);
	struct db_receipt r = receipt(1, "http://a/2");
	assert_int_equal(r.state, DB_FAILED);
	assert_int_equal(r.code, 203);
	assert_int_equal(receipt(1, "http://a/3").state, DB_QUEUED);
	assert_int_equal(receipt(1, "http://a/4").code, 203);
	struct db_error e[4];
	size_t got;
	DONE(db_errors(db, 1, 4, &arena, e, &got, &err));
	assert_int_equal(got, 2);
	assert_str(e[0].notice.c, "http://a/4");
	assert_int_equal(e[1].notice.size, 50);
	assert_int_equal(tally(1).errors, 2);
	db_sound();
}

static void test_hours_say_in_which_slot_a_row_waits(void **state)
{
	(void)state;
	struct notice night = page("http://a/1"), day = page("http://a/2"),
		      none = page("http://a/3");
	night.hours = STR("22-6");
	day.hours = STR("8-20");
	struct notice n[] = {night, day, none};
	uint64_t set = set_take(1, false, n, 3);
	set_absorb(set); /* it is 12:00 */
	struct db_part part;
	DONE(db_part(db, set, DB_NOW, &part, &err));
	assert_int_equal(part.rows, 2);
	DONE(db_part(db, set, 22, &part, &err));
	assert_int_equal(part.rows, 1);
	assert_int_equal(part.start, 22);
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_WAITING);
	assert_true(r.until_us > 0);
	assert_true(r.reason.n > 0);
	/* Other hours, another slot, and the same set. */
	night.hours = STR("23-6");
	send(1, night);
	assert_int_equal(db_part(db, set, 22, &part, &err), 1);
	DONE(db_part(db, set, 23, &part, &err));
	assert_int_equal(part.first, 1);
	DONE(hours_parse(STR("15-16"), HOURS_DAY, &terms.hours, &err));
	set = set_take(1, false, (struct notice[]){page("http://a/4"), night}, 1);
	set_absorb(set);
	DONE(db_part(db, set, 15, &part, &err));
	db_sound();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_the_last_notice_counts_at_the_place_of_the_first),
		T(test_urls_differ_by_provider_and_type),
		T(test_where_hashes_are_equal_the_texts_decide),
		T(test_what_agrees_is_confirmed_and_not_fetched),
		T(test_what_differs_or_says_nothing_is_fetched),
		T(test_a_removal_takes_what_is_stored_and_makes_a_row_nothing),
		T(test_an_update_of_nothing_is_fetched_again),
		T(test_a_full_set_takes_away_what_it_does_not_name),
		T(test_what_was_refused_without_a_type_is_named_in_all_types),
		T(test_a_row_of_any_type_counts_for_each_of_them),
		T(test_types_beyond_those_that_are_remembered_are_stored_all_the_same),
		T(test_an_empty_full_set_takes_everything),
		T(test_steps_of_any_size_do_the_same),
		T(test_one_transaction_may_change_many_pages),
		T(test_steps_are_kept_together_and_go_with_a_failure),
		T(test_a_step_is_kept_with_the_commit_after_which_files_of_it_are_deleted),
		T(test_beyond_a_quota_a_url_fails),
		T(test_hours_say_in_which_slot_a_row_waits),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
