/* Statements: values that go in come out, whose file it is, one state for readers, and a driver
 * that fails the call that it was told to fail. */
#include "unit/unit.h"

#include "base/file.h"
#include "store/sql.h"
#include "support/sql_failing.h"
#include "unit/scratch.h"

#include <fcntl.h>
#include <unistd.h>

static struct err err;
static struct sql s;
static char path[4096];
static int files;

static const char *const schema[] = {"CREATE TABLE t(a INTEGER PRIMARY KEY,b TEXT,c BLOB)", NULL};
static const struct sql_kind kind = {.application_id = 0x47543031,
				     .version = 3,
				     .schema = schema,
				     .remedy = "begin anew",
				     .cache_kb = 100,
				     .busy_ms = 10,
				     .value_most = 1000,
				     .is_secret = true};

#define DONE(call)                                          \
	do {                                                \
		if ((call) != 0)                            \
			fail_msg("%s: %s", #call, err.msg); \
	} while (0)

static int sql_setup(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "%s/%d.db", scratch("sql"), files++);
	dir_make(scratch("sql"), 0700, &err);
	return sql_open(&s, path, &kind, SQL_WRITE, &err);
}

static int sql_teardown(void **state)
{
	(void)state;
	sql_close(&s);
	return 0;
}

static int row_add(struct sql *to, int64_t a, struct err *e)
{
	return sql_do(to, "INSERT INTO t VALUES(?1,?2,?3)",
		      SQL_VALUES(SQL_N(a), SQL_T(STR("text")), SQL_B(STR("b\0b"))), e);
}

static int64_t rows_of(struct sql *of)
{
	int64_t n = -1;
	DONE(sql_number(of, "SELECT count(*) FROM t", NULL, 0, &n, &err));
	return n;
}

static void values_go_in_and_come_out(void **state)
{
	(void)state;
	struct sql_st *st;
	DONE(row_add(&s, -7, &err));
	assert_int_equal(sql_changes(&s), 1);
	DONE(sql_compile(&s, "SELECT a,b,c,NULL AS d FROM t", &st, &err));
	assert_int_equal(sql_columns(st), 4);
	assert_string_equal(sql_column_name(st, 3), "d");
	DONE(sql_step(&s, st, &err));
	assert_int_equal(sql_value(st, 0).type, SQL_INT);
	assert_int_equal(sql_i64(st, 0), -7);
	assert_int_equal(sql_value(st, 1).type, SQL_TEXT);
	assert_true(str_is(sql_str(st, 1), "text"));
	assert_int_equal(sql_value(st, 2).type, SQL_BLOB);
	assert_true(str_eq(sql_str(st, 2), STR("b\0b")));
	assert_int_equal(sql_value(st, 3).type, SQL_NULL);
	assert_int_equal(sql_str(st, 3).n, 0);
	assert_int_equal(sql_step(&s, st, &err), 1);
	sql_finish(&st);
}

struct row {
	int64_t a;
	struct str b, c;
};

static void members_of_a_struct_are_columns(void **state)
{
	(void)state;
	static const struct column columns[] = {COL("a", struct row, a),
						COL("b", struct row, b, .most = 3),
						COL("c", struct row, c, .unit = UNIT_HEX)};
	static const struct rows fields = {ROWS(struct row, columns)};
	const struct row in = {INT64_MIN, STR("abcdef"), STR("\xff")};
	struct row out;
	struct sql_st *st;
	int64_t n = 0;
	DONE(sql_compile(&s, "INSERT INTO t VALUES(?1,?2,?3)", &st, &err));
	sql_bind_row(st, &fields, &in);
	DONE(sql_run(&s, st, &err));
	sql_finish(&st);
	DONE(sql_ask(&s, "SELECT a,b,c FROM t WHERE a=?1 AND b=?2",
		     SQL_VALUES(SQL_N(in.a), SQL_T(in.b)), &st, &err));
	DONE(sql_step(&s, st, &err));
	sql_take_row(st, &fields, &out);
	assert_int_equal(out.a, INT64_MIN);
	assert_true(str_is(out.b, "abc"));
	assert_true(str_eq(out.c, in.c));
	sql_finish(&st);
	DONE(sql_number(&s, "SELECT length(b) FROM t WHERE c=?1", SQL_VALUES(SQL_B(in.c)), &n,
			&err));
	assert_int_equal(n, 6);
	DONE(sql_do(&s, "DELETE FROM t WHERE a=?1", SQL_VALUES(SQL_N(in.a)), &err));
	assert_int_equal(sql_number(&s, "SELECT a FROM t", NULL, 0, &n, &err), 1);
}

static void a_reader_makes_nothing_and_sees_one_state(void **state)
{
	(void)state;
	struct sql reader, none;
	int64_t before, after;
	assert_int_equal(sql_open(&none, "/nonexistent/x.db", &kind, SQL_READ, &err), 1);
	DONE(sql_open(&reader, path, &kind, SQL_READ, &err));
	DONE(sql_version(&reader, &before, &err));
	DONE(sql_begin(&reader, SQL_SNAPSHOT, &err));
	assert_int_equal(rows_of(&reader), 0);
	DONE(row_add(&s, 1, &err));
	assert_int_equal(rows_of(&reader), 0);
	sql_rollback(&reader);
	assert_int_equal(rows_of(&reader), 1);
	DONE(sql_version(&reader, &after, &err));
	assert_int_not_equal(before, after);
	assert_int_equal(row_add(&reader, 2, &err), -1);
	sql_close(&reader);
}

static void two_writers_exclude_each_other(void **state)
{
	(void)state;
	struct sql other;
	DONE(sql_open(&other, path, &kind, SQL_WRITE, &err));
	DONE(sql_begin(&s, SQL_LOOSE, &err));
	assert_int_equal(sql_begin(&other, SQL_DURABLE, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	DONE(row_add(&s, 1, &err));
	sql_rollback(&s);
	sql_rollback(&s);
	DONE(sql_begin(&other, SQL_DURABLE, &err));
	DONE(row_add(&other, 2, &err));
	DONE(sql_commit(&other, &err));
	assert_int_equal(rows_of(&s), 1);
	sql_close(&other);
}

static void what_is_not_ours_is_left_alone(void **state)
{
	(void)state;
	struct sql other;
	struct sql_kind another = kind;
	another.version = 4;
	assert_int_equal(sql_open(&other, path, &another, SQL_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	another.application_id = 5;
	assert_int_equal(sql_open(&other, path, &another, SQL_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_false(sql_is_moved(&s));
	assert_int_equal(unlink(path), 0);
	assert_true(sql_is_moved(&s));
}

static void count_finding(void *ctx, struct str finding)
{
	assert_true(finding.n > 0);
	++*(int *)ctx;
}

static void damage_is_found(void **state)
{
	(void)state;
	int n = 0;
	for (int64_t i = 1; i < 2000; i++)
		DONE(row_add(&s, i, &err));
	assert_int_equal(sql_check(&s, count_finding, &n, &err), 0);
	sql_close(&s);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 5L * 4096), 8);
	close(fd);
	DONE(sql_open(&s, path, &kind, SQL_WRITE, &err));
	assert_int_equal(sql_check(&s, count_finding, &n, &err), 1);
	assert_true(n > 0);
}

/* A transaction of eight calls: whichever fails, nothing has happened; and none after the last. */
static int three_rows(void)
{
	int rc = sql_begin(&s, SQL_DURABLE, &err);
	for (int64_t i = 1; rc == 0 && i < 4; i++)
		rc = row_add(&s, i, &err);
	if (rc == 0)
		rc = sql_commit(&s, &err);
	if (rc != 0)
		sql_rollback(&s);
	return rc;
}

static void the_nth_call_fails_and_the_others_do_not(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth <= 8; nth++) {
		sql_fail_at(&s, nth, false);
		assert_int_equal(three_rows(), -1);
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_int_equal(rows_of(&s), 0);
	}
	sql_fail_at(&s, 9, true);
	DONE(three_rows());
	assert_int_equal(row_add(&s, 9, &err), -1);
	assert_int_equal(row_add(&s, 9, &err), -1);
	int64_t version;
	assert_int_equal(sql_version(&s, &version, &err), -1);
	sql_fail_at(&s, 0, false);
	DONE(row_add(&s, 9, &err));
	assert_int_equal(rows_of(&s), 4);
	assert_int_equal(sql_check(&s, NULL, NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, sql_setup, sql_teardown)
		T(values_go_in_and_come_out),
		T(members_of_a_struct_are_columns),
		T(a_reader_makes_nothing_and_sees_one_state),
		T(two_writers_exclude_each_other),
		T(what_is_not_ours_is_left_alone),
		T(damage_is_found),
		T(the_nth_call_fails_and_the_others_do_not),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
