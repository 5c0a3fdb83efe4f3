/* The queue: rows in their order, how fetches end, slots, files, and what goes with time. */
#include "cache/db/db_inner.h"
#include "store/sql_driver_inner.h"
#include "unit/cache/db_play.h"

static struct db_row queued(uint64_t provider, struct notice n, uint64_t *ret_set)
{
	*ret_set = set_take(provider, false, &n, 1);
	set_absorb(*ret_set);
	return fetch(*ret_set, DB_NOW);
}

static void test_a_fetch_ends_in_a_stored_row(void **state)
{
	(void)state;
	uint64_t set;
	struct db_row row = queued(1, page("http://a/1"), &set);
	assert_int_equal(receipt(1, "http://a/1").state, DB_FETCHING);
	struct db_done d = done(answer(&row, DB_END_STORED, "f1"));
	assert_true(d.ret_kept);
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_STORED);
	assert_int_equal(r.at_us, terms.now_us);
	assert_int_equal(r.size, 10);
	assert_str(r.machine, "m");
	assert_str(r.file, "f1");
	DONE(db_has_file(db, 1, row.hash, STR("m"), STR("f1"), &err));
	assert_int_equal(db_has_file(db, 1, row.hash, STR("m"), STR("f2"), &err), 1);
	bool is_there[4] = {[1] = true, [3] = true};
	struct db_file file[] = {{STR("m"), STR("f1"), &is_there[0]},
				 {STR("n"), STR("f1"), &is_there[1]},
				 {STR("m"), STR("f1"), &is_there[2]},
				 {STR("m"), STR("f2"), &is_there[3]}};
	DONE(db_find_files(db, file, ARRAY_LEN(file), &err));
	assert_true(is_there[0] && is_there[2]);
	assert_false(is_there[1] || is_there[3]);
	/* The answer comes once more, and another that is too late. */
	assert_true(done(answer(&row, DB_END_STORED, "f1")).ret_kept);
	assert_false(done(answer(&row, DB_END_STORED, "f2")).ret_kept);
	struct db_part part;
	assert_int_equal(db_part(db, set, DB_NOW, &part, &err), 1);
	db_sound();
}

static void test_a_new_file_sends_the_old_one_away(void **state)
{
	(void)state;
	uint64_t set;
	store(1, page("http://a/1"), "f1");
	struct db_row row = queued(1, page("http://a/1"), &set);
	assert_str(row.etag, "\"e\"");
	assert_false(dropped("f1"));
	done(answer(&row, DB_END_STORED, "f2"));
	assert_true(dropped("f1"));
	assert_false(dropped("f2"));
	assert_int_equal(tally(1).files, 1);
	assert_int_equal(tally(1).space, 10);
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	uint64_t id;
	assert_int_equal(db_fsm_next(db, 0, STR("n"), &id, machine, file, &err), 1);
	DONE(db_fsm_next(db, 0, STR("m"), &id, machine, file, &err));
	assert_string_equal(file, "f1");
	DONE(db_fsm_done(db, &id, 1, &err));
	DONE(db_fsm_add(db, STR("n"), STR("f9"), &err));
	assert_true(dropped("f9"));
	assert_false(dropped("f1"));
	db_sound();
}

/* The writer ends the fetch of the row after the reader has read it, before its URL. */
static const struct db_row *out;
static struct sql_st *ends_before;
static int end_meanwhile(const struct sql *s, struct sql_st *st, struct err *e)
{
	if (out && st == ends_before) {
		const struct db_row *row = out;
		out = NULL;
		done(answer(row, DB_END_STORED, "f1"));
	}
	return sql_sqlite.step(s, st, e);
}

static void test_a_reader_sees_a_row_and_its_url_in_one_state(void **state)
{
	(void)state;
	uint64_t set;
	struct db *reader;
	struct db_row row = queued(1, page("http://a/1"), &set), seen;
	struct sql_driver meanwhile = sql_sqlite;
	DONE(db_open(&reader, folder, DB_READ, &err));
	out = &row;
	ends_before = sql_st(reader, SQL_URL_GET);
	meanwhile.step = end_meanwhile;
	reader->sql.driver = &meanwhile;
	DONE(db_next(reader, set, DB_NOW, 0, &arena, &seen, &err));
	assert_null(out);
	assert_int_equal(seen.row, row.row);
	assert_int_equal(db_next(reader, set, DB_NOW, 0, &arena, &seen, &err), 1);
	db_close(&reader);
	db_sound();
}

static void test_unchanged_keeps_the_file_and_takes_the_newest_word(void **state)
{
	(void)state;
	uint64_t set;
	store(1, page("http://a/1"), "f1");
	struct notice n = page("http://a/1");
	n.has = NOTICE_HAS_MTIME;
	n.mtime_s = 9;
	struct db_row row = queued(1, n, &set);
	struct db_done d = done(answer(&row, DB_END_UNCHANGED, ""));
	assert_false(d.ret_kept);
	assert_false(d.ret_again);
	assert_false(dropped("f1"));
	assert_int_equal(send(1, n).unchanged, 1);
	/* What is gone meanwhile cannot be unchanged. */
	row = queued(1, page("http://a/2"), &set);
	assert_true(done(answer(&row, DB_END_UNCHANGED, "")).ret_again);
	db_sound();
}

static void test_what_is_not_what_was_said_is_dropped(void **state)
{
	(void)state;
	uint64_t set;
	store(1, page("http://a/1"), "f0");
	struct db_row row = queued(1, page("http://a/1"), &set);
	struct db_done d = answer(&row, DB_END_STORED, "f1");
	d.mime = STR("text/plain");
	d = done(d);
	assert_false(d.ret_kept);
	assert_int_equal(d.ret_code, 306);
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_FAILED);
	assert_int_equal(r.code, 306);
	assert_true(dropped("f0"));
	struct notice n = page("http://a/2");
	n.has = NOTICE_HAS_MD5;
	n.md5[0] = 1;
	row = queued(1, n, &set);
	d = answer(&row, DB_END_STORED, "f2");
	d.has_md5 = true;
	d.mime = STR("Text/HTML");
	assert_int_equal(done(d).ret_code, 307);
	row = queued(1, page("http://a/3"), &set);
	d = answer(&row, DB_END_STORED, "f3");
	d.quota_space = 9;
	assert_int_equal(done(d).ret_code, 203);
	assert_int_equal(tally(1).errors, 3);
	assert_int_equal(tally(1).files, 0);
	db_sound();
}

static void test_a_failure_is_told_and_takes_the_content(void **state)
{
	(void)state;
	uint64_t set;
	store(1, page("http://a/1"), "f1");
	struct notice n = page("http://a/1");
	n.sub = STR("a:b");
	struct db_row row = queued(1, n, &set);
	struct db_done d = answer(&row, DB_END_FAILED, "");
	d.code = 304;
	done(d);
	assert_true(dropped("f1"));
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_FAILED);
	assert_int_equal(r.code, 304);
	assert_str(r.reason, "because");
	struct db_error e;
	size_t got;
	DONE(db_errors(db, 1, 1, &arena, &e, &got, &err));
	assert_int_equal(got, 1);
	assert_str(e.notice.sub, "a:b");
	db_sound();
}

static void test_what_is_tried_again_goes_after_all_others(void **state)
{
	(void)state;
	struct notice n[] = {page("http://a/1"), page("http://a/2")};
	uint64_t set = set_take(1, false, n, 2);
	set_absorb(set);
	struct db_row row = fetch(set, DB_NOW);
	struct db_done d = answer(&row, DB_END_RETRY, "");
	d.code = 302;
	assert_true(done(d).ret_again);
	struct db_part part;
	DONE(db_part(db, set, DB_NOW, &part, &err));
	assert_int_equal(part.rows, 1);
	DONE(db_part(db, set, DB_BAD, &part, &err));
	assert_int_equal(part.rows, 1);
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_WAITING);
	assert_int_equal(r.code, 302);
	assert_str(r.reason, "because");
	row = fetch(set, DB_BAD);
	assert_int_equal(row.tries, 1);
	done(answer(&row, DB_END_RETRY, ""));
	row = fetch(set, DB_BAD);
	assert_int_equal(row.tries, 2);
	db_again();
	assert_true(done(answer(&row, DB_END_PUT_BACK, "")).ret_again);
	row = fetch(set, DB_BAD);
	assert_int_equal(row.tries, 2);
	send(1, n[0]);
	row = fetch(set, DB_BAD);
	assert_int_equal(row.tries, 0);
	assert_int_equal(row.version, 2);
	db_sound();
}

static void test_an_error_of_the_site_is_what_a_row_waits_for(void **state)
{
	(void)state;
	struct db_fetch fetches[DB_FETCHES];
	uint64_t set;
	size_t n;
	struct db_row row = queued(1, page("http://a/1"), &set);
	done(answer(&row, DB_END_PUT_BACK, ""));
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
	row = fetch(set, DB_NOW);
	struct db_done d = answer(&row, DB_END_PUT_BACK, "");
	d.code = 301;
	assert_true(done(d).ret_again);
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_WAITING);
	assert_int_equal(r.code, 301);
	assert_str(r.reason, "because");
	assert_int_equal(tally(1).errors, 0);
	DONE(db_fetches(db, 1, &arena, fetches, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(fetches[0].code, 301);
	row = fetch(set, DB_NOW);
	assert_int_equal(row.tries, 0);
	done(answer(&row, DB_END_STORED, "f1"));
	assert_int_equal(receipt(1, "http://a/1").state, DB_STORED);
	db_sound();
}

static void test_what_was_sent_is_forgotten_by_a_restart(void **state)
{
	(void)state;
	uint64_t set;
	queued(1, page("http://a/1"), &set);
	assert_int_equal(receipt(1, "http://a/1").state, DB_FETCHING);
	db_again();
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
}

static void part_seen(void *ctx, const struct db_part *part)
{
	struct db_part **at = ctx;
	*(*at)++ = *part;
}

static void test_rows_of_a_provider_who_is_held_wait(void **state)
{
	(void)state;
	struct notice n[] = {page("http://a/1")};
	set_absorb(set_take(1, false, n, 1));
	int64_t until_us = clock_wall_us() + US_PER_MIN;
	DONE(db_hold(db, 1, until_us, STR("for a reason"), &err));
	struct db_receipt r = receipt(1, "http://a/1");
	assert_int_equal(r.state, DB_WAITING);
	assert_int_equal(r.until_us, until_us);
	assert_true(str_is(r.reason, "for a reason"));
	DONE(db_hold(db, 1, clock_wall_us() - 1, STR("for a reason"), &err));
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
	DONE(db_hold(db, 1, until_us, STR("for a reason"), &err));
	DONE(db_hold(db, 1, 0, STR(""), &err));
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
	db_sound();
}

static void test_rows_move_and_parts_start(void **state)
{
	(void)state;
	struct notice n[] = {page("http://a/1"), page("http://a/2"), page("http://a/3")};
	uint64_t set = set_take(1, false, n, 3);
	terms.priority = 4;
	set_absorb(set);
	struct db_row row[2];
	DONE(db_next(db, set, DB_NOW, 0, &arena, &row[0], &err));
	DONE(db_next(db, set, DB_NOW, row[0].row, &arena, &row[1], &err));
	DONE(db_move(db, row, 2, 5, &err));
	struct db_part part[8], *end = part;
	DONE(db_parts(db, part_seen, &end, &err));
	assert_int_equal(end - part, 2);
	assert_int_equal(part[0].slot, DB_NOW);
	assert_int_equal(part[0].rows, 1);
	assert_int_equal(part[1].slot, 5);
	assert_int_equal(part[1].rows, 2);
	assert_int_equal(part[1].start, 5);
	assert_int_equal(part[1].priority, 4);
	DONE(db_priority(db, 1, 9, &err));
	DONE(db_start(db, set, DB_NOW, 6, &err));
	assert_int_equal(receipt(1, "http://a/3").state, DB_WAITING);
	DONE(db_due(db, 5, &err));
	assert_int_equal(receipt(1, "http://a/1").state, DB_QUEUED);
	db_again();
	end = part;
	DONE(db_parts(db, part_seen, &end, &err));
	assert_int_equal(part[0].start, 6);
	assert_int_equal(part[1].start, DB_NOW);
	assert_int_equal(part[1].priority, 9);
	DONE(db_rebuild(db, &err));
	end = part;
	DONE(db_parts(db, part_seen, &end, &err));
	assert_int_equal(end - part, 2);
	assert_int_equal(part[1].priority, 9);
	assert_int_equal(part[1].rows, 2);
	db_sound();
}

static void test_the_last_fetches_are_remembered(void **state)
{
	(void)state;
	static struct db_fetch f[DB_FETCHES];
	size_t got;
	for (unsigned i = 0; i < DB_FETCHES + 3; i++) {
		uint64_t set;
		struct db_row row = queued(1, page("http://a/1"), &set);
		struct db_done d = answer(&row, DB_END_FAILED, "");
		d.code = i;
		done(d);
	}
	DONE(db_fetches(db, 1, &arena, f, &got, &err));
	assert_int_equal(got, DB_FETCHES);
	for (unsigned i = 0; i < DB_FETCHES; i++)
		assert_int_equal(f[i].code, DB_FETCHES + 2 - i);
	assert_str(f[0].url, "http://a/1");
	DONE(db_fetches(db, 2, &arena, f, &got, &err));
	assert_int_equal(got, 0);
}

static int told[3];
static void age_told(void *ctx, uint64_t provider, bool has_expired)
{
	(void)ctx;
	told[provider] = 1 + has_expired;
}

static void ages_all(int64_t old_us, int64_t expire_us)
{
	uint64_t next = 0;
	memset(told, 0, sizeof told);
	do
		DONE(db_ages(db, next, 1, old_us, expire_us, terms.now_us, age_told, NULL, &next,
			     &err));
	while (next);
}

static void test_what_nobody_confirms_goes(void **state)
{
	(void)state;
	struct notice dated = page("http://a/2");
	dated.has = NOTICE_HAS_MTIME;
	dated.mtime_s = 5;
	store(1, page("http://a/1"), "f1");
	store(1, dated, "f2");
	terms.age_us = 2000;
	store(2, page("http://b/1"), "f3");
	assert_int_equal(send(1, dated).unchanged, 1);
	ages_all(1500, 500);
	assert_int_equal(told[1], 1);
	assert_int_equal(told[2], 0);
	ages_all(1500, 1200);
	assert_int_equal(told[1], 2);
	assert_int_equal(receipt(1, "http://a/1").state, DB_REMOVED);
	assert_int_equal(receipt(1, "http://a/2").state, DB_STORED);
	assert_true(dropped("f1"));
	DONE(db_age_put(db, 5, &err));
	db_again();
	int64_t us;
	DONE(db_age_get(db, &us, &err));
	assert_int_equal(us, 5);
	db_sound();
}

/* It is wanted no more, whether it is to be fetched or was refused. */
static void test_what_a_full_set_names_is_confirmed(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "f1");
	store(1, page("http://a/2"), "f2");
	store(1, page("http://a/3"), "f3");
	terms.age_us = 2000;
	struct notice n[] = {page("http://a/1"), page("http://a/2"), page("http://a/3")};
	n[1].op = n[2].op = NOTICE_NAMED;
	n[2].mime = STR("");
	assert_int_equal(set_absorb(set_take(1, true, n, 3)).queued, 1);
	ages_all(1500, 1500);
	assert_int_equal(told[1], 0);
	assert_int_equal(tally(1).files, 3);
	db_sound();
}

static void test_receipts_are_kept_for_a_time(void **state)
{
	(void)state;
	struct notice gone = page("http://a/1");
	gone.op = NOTICE_REMOVE;
	struct db_set set;
	send(1, gone);
	int64_t at = terms.now_us;
	terms.now_us += 100;
	uint64_t later = set_take(1, false, (struct notice[]){page("http://a/2")}, 1);
	set_absorb(later);
	while (db_trim(db, at, 1, &err) == 0)
		;
	assert_int_equal(receipt(1, "http://a/1").state, DB_REMOVED);
	int rc;
	while ((rc = db_trim(db, at + 1, 1, &err)) == 0)
		;
	assert_int_equal(rc, 1);
	assert_int_equal(receipt(1, "http://a/1").state, DB_NSTATES);
	DONE(db_set_of(db, 1, NULL, 0, &set, &err));
	assert_int_equal(set.set, later);
	assert_int_equal(db_set_of(db, 1, "u", numbers - 1, &set, &err), 1);
	assert_int_equal(receipt(1, "http://a/2").state, DB_QUEUED);
	db_sound();
}

static void test_a_provider_that_is_gone_leaves_nothing(void **state)
{
	(void)state;
	uint64_t set;
	store(1, page("http://a/1"), "f1");
	store(2, page("http://a/1"), "f2");
	struct db_row row = queued(1, page("http://a/2"), &set);
	set_take(1, false, (struct notice[]){page("http://a/3")}, 1);
	int rc, steps = 0;
	while ((rc = db_forget(db, 1, 1, &err)) == 0)
		steps++;
	assert_int_equal(rc, 1);
	assert_true(steps >= 2);
	struct db_set left;
	assert_int_equal(db_set_next(db, 0, &left, &err), 1);
	assert_int_equal(receipt(1, "http://a/1").state, DB_NSTATES);
	assert_true(dropped("f1"));
	assert_false(dropped("f2"));
	assert_false(done(answer(&row, DB_END_STORED, "f3")).ret_kept);
	struct db_tally t = tally(1);
	assert_int_equal(t.files + t.queued + t.open_sets + t.errors, 0);
	assert_int_equal(tally(2).files, 1);
	db_sound();
}

static void url_found(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	unsigned *found = ctx;
	found[provider] += 1u << r->state;
}

static void test_a_url_is_found_of_any_provider(void **state)
{
	(void)state;
	unsigned found[4] = {0};
	struct notice plain = page("http://a/1");
	plain.mime = STR("text/plain");
	store(1, page("http://a/1"), "f1");
	send(2, plain);
	send(3, page("http://a/2"));
	DONE(db_find_url(db, 0, STR("http://a/1"), url_found, found, &err));
	assert_int_equal(found[1], 1u << DB_STORED);
	assert_int_equal(found[2], 1u << DB_QUEUED);
	assert_int_equal(found[3], 0);
	DONE(db_find_url(db, 2, STR("http://a/1"), url_found, found, &err));
	assert_int_equal(found[1], 1u << DB_STORED);
	assert_int_equal(found[2], 2u << DB_QUEUED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_a_fetch_ends_in_a_stored_row),
		T(test_a_new_file_sends_the_old_one_away),
		T(test_a_reader_sees_a_row_and_its_url_in_one_state),
		T(test_unchanged_keeps_the_file_and_takes_the_newest_word),
		T(test_what_is_not_what_was_said_is_dropped),
		T(test_a_failure_is_told_and_takes_the_content),
		T(test_what_is_tried_again_goes_after_all_others),
		T(test_an_error_of_the_site_is_what_a_row_waits_for),
		T(test_what_was_sent_is_forgotten_by_a_restart),
		T(test_rows_of_a_provider_who_is_held_wait),
		T(test_rows_move_and_parts_start),
		T(test_the_last_fetches_are_remembered),
		T(test_what_nobody_confirms_goes),
		T(test_what_a_full_set_names_is_confirmed),
		T(test_receipts_are_kept_for_a_time),
		T(test_a_provider_that_is_gone_leaves_nothing),
		T(test_a_url_is_found_of_any_provider),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
