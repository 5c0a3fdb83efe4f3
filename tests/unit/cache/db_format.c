/* What garner dump and garner check say of the cache's database. */
#include "cache/db_format.h"
#include "unit/cache/db_play.h"

#include <unistd.h>

static void text_add(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static const char *path_of(const char *name)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void test_all_rows_are_printed(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 20);
	const struct format *table[] = {&cache_db_format, &sqlite_log_format}, *f;
	store(1, page("http://a/1"), "f1");
	store(1, page("http://a/2"), "f2");
	struct notice gone = page("http://a/2");
	gone.op = NOTICE_REMOVE;
	send(1, gone);
	send(1, page("http://a/3"));
	DONE(format_of(table, 2, path_of("cache.db"), &f, &err));
	assert_ptr_equal(f, &cache_db_format);
	DONE(format_of(table, 2, path_of("cache.db-wal"), &f, &err));
	assert_ptr_equal(f, &sqlite_log_format);
	DONE(format_print(&cache_db_format, path_of("cache.db"), text_add, &b, &err));
	assert_non_null(strstr(buf_text(&b), "1 rows in the queue, 1 stored"));
	assert_non_null(strstr(buf_text(&b), "http://a/3"));
	assert_non_null(strstr(buf_text(&b), "m/f1 bytes=10 http://a/1 text/html"));
	assert_non_null(strstr(buf_text(&b), "delete m/f2"));
	assert_non_null(strstr(buf_text(&b), "part set="));
	DONE(format_verify(&cache_db_format, path_of("cache.db"), &err));
}

static void test_damage_is_said(void **state)
{
	(void)state;
	store(1, page("http://a/1"), "f1");
	db_close(&db);
	assert_int_equal(truncate(path_of("cache.db"), 8192), 0);
	assert_int_equal(format_verify(&cache_db_format, path_of("cache.db"), &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_all_rows_are_printed),
		T(test_damage_is_said),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
