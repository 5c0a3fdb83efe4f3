/* The database that fails: what it fails has not happened, and what it passes on has. */
#include "unit/cache/db_play.h"

static int failing_begin(void **state)
{
	if (db_begin(state) != 0)
		return -1;
	db = db_failing_new(db);
	return 0;
}

static void test_it_passes_on(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "f1");
	send(1, page("http://a/2"));
	assert_int_equal(receipt(1, "http://a/1").state, DB_STORED);
	assert_int_equal(tally(1).queued, 1);
	assert_string_equal(db->ops->name, "failing");
	db_sound();
}

static void test_the_nth_call_fails_and_the_others_do_not(void **state)
{
	(void)state;
	db_failing_set(db, 2, false);
	DONE(db->ops->age_put(db, 1, &err));
	assert_int_equal(db->ops->age_put(db, 2, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	int64_t us;
	DONE(db->ops->age_get(db, &us, &err));
	assert_int_equal(us, 1);
	db_failing_set(db, 1, true);
	assert_int_equal(db->ops->age_put(db, 2, &err), -1);
	assert_int_equal(db->ops->age_put(db, 2, &err), -1);
	db_failing_set(db, 0, false);
	DONE(db->ops->age_put(db, 3, &err));
}

/* Whichever call of a group fails, also the commit: nothing has changed. */
static void test_a_group_in_which_one_fails_has_not_happened(void **state)
{
	(void)state;
	uint64_t set = set_take(1, false, (struct notice[]){page("http://a/1")}, 1);
	struct db_absorbed a;
	for (unsigned nth = 2; nth <= 4; nth++) {
		db_failing_set(db, nth, false);
		DONE(db->ops->begin(db, &err));
		int one = db->ops->age_put(db, 5, &err);
		int two = db->ops->absorb(db, set, &terms, &a, &err);
		int end = db->ops->commit(db, &err);
		assert_int_equal(one, nth == 2 ? -1 : 0);
		assert_int_equal(two, nth == 3 ? -1 : 0);
		assert_int_equal(end, -1);
		int64_t us;
		DONE(db->ops->age_get(db, &us, &err));
		assert_int_equal(us, 0);
		assert_int_equal(tally(1).queued, 0);
		assert_int_equal(tally(1).open_sets, 1);
	}
	db_failing_set(db, 1, false);
	assert_int_equal(db->ops->begin(db, &err), -1);
	assert_int_equal(set_absorb(set).queued, 1);
	db_sound();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, failing_begin, db_end)
		T(test_it_passes_on),
		T(test_the_nth_call_fails_and_the_others_do_not),
		T(test_a_group_in_which_one_fails_has_not_happened),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
