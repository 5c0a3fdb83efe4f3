/* What garner dump and garner check say of databases. */
#include "unit/unit.h"

#include "store/database_format.h"
#include "store/sql.h"
#include "unit/scratch.h"

#include <errno.h>
#include <unistd.h>

static struct err err;
static const struct format *const table[] = {&database_format};

#define DONE(call)                                          \
	do {                                                \
		if ((call) != 0)                            \
			fail_msg("%s: %s", #call, err.msg); \
	} while (0)

static void database_make(struct sql *ret, const char *path, int version)
{
	static const char *const schema[] = {
		"CREATE TABLE provider(id INTEGER PRIMARY KEY,site TEXT,password TEXT,md5 BLOB,"
		"\"o\x1b"
		"dd\" INT)",
		"CREATE TABLE prefix(provider INT,prefix TEXT)",
		"INSERT INTO provider VALUES(7,'a"
		"\x1b"
		"b','pw',x'41ff',1)",
		"INSERT INTO prefix VALUES(7,'http://a/')",
		"CREATE TABLE \"odd\"\"name\"(a INT)",
		NULL};
	const struct sql_kind kind = {.application_id = DATABASE_PIDB,
				      .version = version,
				      .schema = schema,
				      .cache_kb = 100,
				      .busy_ms = 100};
	DONE(sql_open(ret, path, &kind, SQL_WRITE, &err));
}

static void text_add(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static const char *printed(const char *path, const char *part)
{
	static struct buf b = BUF_INIT(1 << 16);
	buf_clear(&b);
	DONE(format_print_part(&database_format, path, part, text_add, &b, &err));
	return buf_text(&b);
}

static void rows_are_printed_but_no_passwords(void **state)
{
	(void)state;
	char path[4096], log[4200];
	const struct format *f;
	struct sql s;
	snprintf(path, sizeof path, "%s", scratch("rows.db"));
	snprintf(log, sizeof log, "%s-wal", path);
	database_make(&s, path, DATABASE_PIDB_VERSION);
	DONE(format_of(table, 1, path, &f, &err));
	DONE(format_of(table, 1, log, &f, &err));
	assert_string_equal(printed(path, NULL),
			    "prefix provider=7 prefix=http://a/\n"
			    "provider id=7 site=ab password=(hidden) md5=A\\xff odd=1\n");
	assert_string_equal(printed(path, "prefix"), "prefix provider=7 prefix=http://a/\n");
	assert_non_null(strstr(printed(log, NULL), "part of the database"));
	assert_int_equal(format_print_part(&database_format, path, "none", text_add, NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_USAGE);
	DONE(format_verify(&database_format, path, &err));
	DONE(format_verify(&database_format, log, &err));
	sql_close(&s);
}

static void what_is_not_ours_or_damaged_is_said(void **state)
{
	(void)state;
	char path[4096];
	struct sql s;
	snprintf(path, sizeof path, "%s", scratch("pidb.db"));
	database_make(&s, path, DATABASE_PIDB_VERSION + 1);
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "another version"));
	DONE(sql_exec(&s, "PRAGMA application_id=5", &err));
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_non_null(strstr(err.msg, "not one of ours"));
	sql_close(&s);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "backup"));
	assert_int_equal(truncate(path, 0), 0); /* as a kill leaves one that was just made */
	DONE(format_verify(&database_format, path, &err));
	assert_int_equal(format_verify(&database_format, scratch("none.db"), &err), -1);
	assert_int_equal(err.sys_errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_printed_but_no_passwords),
		cmocka_unit_test(what_is_not_ours_or_damaged_is_said),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
