/* Statements that fail: an operation whose statement fails has not happened, and can be done again.
 */
#include "cache/db/db_inner.h"
#include "support/sql_failing.h"
#include "unit/cache/db_play.h"

static struct db_row row;
static uint64_t set;

static int set_comes(void)
{
	struct buf text = BUF_INIT(1 << 16), piece = BUF_INIT(1 << 16);
	const struct notice n = page("http://a/2");
	notice_write(&n, &text);
	notice_pack(buf_str(&text), &piece);
	struct str bytes = buf_str(&piece);
	struct db_take take = {.set = {.uns = "u", .number = 1, .provider = 1, .urls = 1},
			       .piece = &bytes,
			       .npieces = 1,
			       .ends = true};
	int rc = db_take(db, &take, 1, &err);
	set = take.ret_set;
	buf_free(&text);
	buf_free(&piece);
	return rc;
}

static int set_goes_in(void)
{
	struct db_absorbed a;
	return db_absorb(db, set, &terms, &a, &err);
}

static int row_is_next(void)
{
	int rc = db_next(db, set, DB_NOW, 0, &arena, &row, &err);
	return rc < 0 ? rc : db_sent(db, &row, 1, terms.now_us, &err);
}

static int row_is_stored(void)
{
	struct db_done d = {.row = row.row,
			    .provider = 1,
			    .version = row.version,
			    .hash = row.hash,
			    .end = DB_END_STORED,
			    .machine = STR("m"),
			    .file = STR("f2"),
			    .size = 10,
			    .quota_space = UINT64_MAX};
	return db_done(db, &d, 1, terms.now_us, terms.age_us, &err);
}

static int several_at_once(void)
{
	if (db_begin(db, &err) < 0)
		return -1;
	int one = db_age_put(db, 5, &err);
	int two = db_fsm_add(db, STR("m"), STR("f3"), &err);
	int end = db_commit(db, &err);
	assert_true(end == -1 || (one == 0 && two == 0));
	return end;
}

static int provider_goes(void)
{
	int rc = db_forget(db, 1, 100, &err);
	return rc == 1 ? 0 : rc == 0 ? 1 : rc;
}

/* What there is, for comparison. */
static const char *state_text(void)
{
	static char text[2][400];
	static int at;
	int64_t age;
	struct db_tally t = tally(1);
	DONE(db_age_get(db, &age, &err));
	at = !at;
	snprintf(text[at], sizeof text[at],
		 "%d stored, %d queued, %d open, %s, dropped %d%d, age %d", (int)t.files,
		 (int)t.queued, (int)t.open_sets,
		 db_state_name(MIN(receipt(1, "http://a/2").state, DB_REMOVED)), dropped("f2"),
		 dropped("f3"), (int)age);
	return text[at];
}

static void test_an_operation_whose_statement_fails_has_not_happened(void **state)
{
	static int (*const op[])(void) = {set_comes,     set_goes_in,     row_is_next,
					  row_is_stored, several_at_once, provider_goes};
	const char *gone = "0 stored, 0 queued, 0 open, removed, dropped 11, age 5";
	unsigned failed = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(op); i++) {
		const char *before = state_text();
		for (unsigned nth = 1;; nth++) {
			sql_fail_at(&db->sql, nth, false);
			int rc = op[i]();
			sql_fail_at(&db->sql, 0, false);
			if (rc == 0)
				break;
			assert_int_equal(err.code, ERR_SYSTEM);
			assert_string_equal(before, state_text());
			db_sound();
			failed++;
		}
	}
	assert_true(failed > 50);
	assert_string_equal(state_text(), gone);
	db_again();
	assert_string_equal(state_text(), gone);
}

/* Also where what failed was not the last of a group. */
static void test_a_group_in_which_one_fails_cannot_be_committed(void **state)
{
	(void)state;
	int64_t us;
	DONE(db_begin(db, &err));
	DONE(db_age_put(db, 5, &err));
	sql_fail_at(&db->sql, 1, false);
	assert_int_equal(db_fsm_add(db, STR("m"), STR("f3"), &err), -1);
	assert_int_equal(db_age_put(db, 6, &err), -1);
	assert_int_equal(db_commit(db, &err), -1);
	DONE(db_age_get(db, &us, &err));
	assert_int_equal(us, 0);
	db_sound();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_an_operation_whose_statement_fails_has_not_happened),
		T(test_a_group_in_which_one_fails_cannot_be_committed),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
