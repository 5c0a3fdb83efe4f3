/* The check: each thing that can be wrong is said, and mended. */
#include "cache/db/db_inner.h"
#include "unit/cache/db_play.h"

static char said[4096];
static void finding_note(void *ctx, const struct db_finding *f)
{
	(void)ctx;
	size_t n = strlen(said);
	snprintf(said + n, sizeof said - n, "%s\n", f->text);
}

static int file_missing(void *ctx, struct str machine, struct str file, uint64_t size)
{
	(void)ctx;
	return str_is(machine, "m") ? size > 0 && !str_is(file, "lost") : -1;
}

/* Makes it wrong, and expects these words, and nothing after it was mended. */
static void wrong(const char *sql, const char *words)
{
	struct db *d = db;
	db_again();
	d = db;
	DONE(sql_exec(&d->sql, sql, &err));
	db_again();
	said[0] = 0;
	DONE(db_check(db, false, NULL, finding_note, NULL, &err));
	if (!strstr(said, words))
		fail_msg("after %s: '%s' is not in '%s'", sql, words, said);
	said[0] = 0;
	DONE(db_check(db, true, NULL, finding_note, NULL, &err));
	if (!strstr(said, words))
		fail_msg("mending %s: '%s' is not in '%s'", sql, words, said);
	db_again();
	db_sound();
}

static void test_what_is_wrong_is_mended(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "f1");
	store(1, page("http://a/2"), "f2");
	struct notice n[] = {page("http://a/3"), page("http://a/4"), page("http://a/5")};
	uint64_t set = set_take(1, false, n, 3);
	set_absorb(set);
	db_sound();
	wrong("DELETE FROM part", "QPSDB");
	wrong("UPDATE part SET rows=rows+1", "QPSDB");
	wrong("UPDATE part SET last=last-1", "QPSDB");
	wrong("UPDATE tally SET files=7", "counted 7 files");
	wrong("UPDATE tally SET queued=7", "7 rows of the queue");
	wrong("DELETE FROM tally", "counted 0 files");
	wrong("DELETE FROM url WHERE row=3", "has no URL");
	assert_int_equal(receipt(1, "http://a/3").state, DB_QUEUED);
	wrong("UPDATE url SET version=1,row=0 WHERE row=4", "has no URL");
	wrong("DELETE FROM queue WHERE row=5", "names rows");
	assert_int_equal(receipt(1, "http://a/5").state, DB_NSTATES);
	wrong("DELETE FROM url WHERE lcc=1", "LCC has no URL");
	assert_true(dropped("f1"));
	assert_false(dropped("f2"));
	wrong("UPDATE queue SET slot=7 WHERE row=3", "is not there");
	wrong("UPDATE queue SET data=x'00' WHERE row=3", "damaged");
	wrong("UPDATE lcc SET data=x'00'", "damaged");
	assert_int_equal(tally(1).files, 0);
}

static void test_a_set_that_waits_and_cannot_be_read_is_left_out(void **state)
{
	struct notice n = page("http://a/1");
	struct db_set left;
	(void)state;
	set_absorb(set_take(1, false, &n, 1));
	set_take(1, false, &n, 1);
	wrong("UPDATE piece SET data=x'00' WHERE id=(SELECT max(id) FROM piece)", "set 2: ");
	set_take(1, false, &n, 1);
	wrong("DELETE FROM piece WHERE id=(SELECT max(id) FROM piece)", "lacks piece 0");
	assert_int_equal(tally(1).open_sets, 0);
	set_take(1, false, &n, 1);
	uint64_t sound = set_take(2, false, &n, 1);
	wrong("UPDATE piece SET data=x'00' WHERE id=(SELECT max(id)-(1<<24) FROM piece)",
	      "set 4: ");
	DONE(db_set_next(db, 0, &left, &err));
	assert_int_equal(left.set, sound);
	assert_int_equal(set_absorb(sound).queued, 1);
}

static void test_a_row_whose_file_is_lost_fails(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "kept");
	store(1, page("http://a/2"), "lost");
	said[0] = 0;
	DONE(db_check(db, false, file_missing, finding_note, NULL, &err));
	assert_non_null(strstr(said, "m/lost of "));
	assert_int_equal(receipt(1, "http://a/2").state, DB_STORED);
	DONE(db_check(db, true, file_missing, finding_note, NULL, &err));
	assert_int_equal(receipt(1, "http://a/2").state, DB_FAILED);
	assert_int_equal(receipt(1, "http://a/1").state, DB_STORED);
	assert_int_equal(tally(1).errors, 1);
	assert_int_equal(tally(1).files, 1);
	db_sound();
}

static void test_parts_that_disagree_are_found_cheaply(void **state)
{
	(void)state;
	const char *const sql[] = {
		"DELETE FROM part WHERE slot=-1", "UPDATE part SET rows=rows+1 WHERE slot=-1",
		"UPDATE part SET first=last", "INSERT INTO part VALUES(99,-1,-1,1,0,1,1,0)",
		"UPDATE queue SET slot=7 WHERE row=2"};
	struct notice n[] = {page("http://a/1"), page("http://a/2"), page("http://a/3")};
	set_absorb(set_take(1, false, n, 3));
	for (size_t i = 0; i < ARRAY_LEN(sql); i++) {
		struct db *d = db;
		DONE(db_agrees(db, &err));
		DONE(sql_exec(&d->sql, sql[i], &err));
		db_again();
		if (db_agrees(db, &err) != 1)
			fail_msg("agrees after %s", sql[i]);
		DONE(db_rebuild(db, &err));
	}
	DONE(db_agrees(db, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_what_is_wrong_is_mended),
		T(test_a_set_that_waits_and_cannot_be_read_is_left_out),
		T(test_a_row_whose_file_is_lost_fails),
		T(test_parts_that_disagree_are_found_cheaply),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
