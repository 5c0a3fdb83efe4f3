/* The event log: lines by type, whatever they say and however many write, and what the
 * administrator does with the file. */
#include "broker/events.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

static struct err err;
static struct events *events;
static struct buf text = BUF_INIT(16 << 20);

static const char *log_path(void)
{
	return scratch("LOG");
}

static int setup(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	events = events_new(log_path());
	return 0;
}

static int teardown(void **state)
{
	events_free(&events);
	buf_free(&text);
	return scratch_done(state);
}

/* What is in a file; "" where there is none. */
static const char *text_of(const char *path)
{
	buf_clear(&text);
	assert_true(file_slurp(path, &text, &err) >= 0);
	return buf_text(&text);
}

static size_t lines_in(const char *path)
{
	const char *p = text_of(path);
	size_t n = 0;
	for (; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	assert_true(text.n == 0 || text.p[text.n - 1] == '\n');
	return n;
}

static bool has_text(const char *path, const char *what)
{
	return strstr(text_of(path), what) != NULL;
}

static void a_line_says_when_what_and_by_whom(void **state)
{
	struct stat st;
	(void)state;
	assert_int_not_equal(stat(log_path(), &st), 0);
	event_write(events, QUERY, "127.0.0.1", KV_TEXT("query", "apple AND pie"), KV_INT("n", 3));
	event_write(events, CLEANED, NULL);
	assert_int_equal(lines_in(log_path()), 2);
	assert_true(has_text(log_path(), "Z Query 127.0.0.1 query=\"apple AND pie\" n=3\n20"));
	assert_true(has_text(log_path(), "Z Cleaned -\n"));
	assert_int_equal(text_of(log_path())[10], 'T');
	assert_int_equal(stat(log_path(), &st), 0);
	assert_int_equal(st.st_mode & 07, 0);
}

static void without_a_log_nothing_happens(void **state)
{
	(void)state;
	event_write((struct events *)NULL, QUERY, "127.0.0.1", KV_TEXT("query", "apple"));
	assert_false(events_on(NULL, EVENT_QUERY));
}

static void foreign_text_forges_no_line(void **state)
{
	(void)state;
	event_write(events, QUERY, "a\n2026 Admin", KV_TEXT("query", "x\n2026 \"Admin\" \r\x1b"));
	assert_int_equal(lines_in(log_path()), 1);
	assert_true(has_text(log_path(),
			     "Query a?2026?Admin query=\"x\\n2026 \\\"Admin\\\" \\x0d\\x1b\"\n"));
}

static void a_long_line_is_cut_and_says_so(void **state)
{
	static char longer[100000];
	(void)state;
	for (size_t n = 3800; n < 4100; n++) {
		memset(longer, 'a', n);
		event_write(events, QUERY, "b", KV_STR("query", ((struct str){longer, n})));
	}
	memset(longer, '\n', sizeof longer);
	event_write(events, QUERY, "b", KV_STR("query", ((struct str){longer, sizeof longer})));
	assert_int_equal(lines_in(log_path()), 301);
	const char *end = buf_text(&text) + text.n - strlen(" cut=yes\n");
	assert_string_equal(end, " cut=yes\n");
	for (const char *p = buf_text(&text), *next; *p; p = next + 1) {
		next = strchr(p, '\n');
		assert_true(next && next - p < 4096);
	}
}

static void types_are_switched_by_name(void **state)
{
	(void)state;
	event_write(events, UPDATE, NULL, KV_TEXT("url", "http://a/1"));
	assert_int_equal(lines_in(log_path()), 0);
	assert_int_equal(events_enable(events, STR("uPDATE"), true, &err), 0);
	assert_true(events_on(events, EVENT_UPDATE));
	assert_false(events_on(events, EVENT_DELETE));
	event_write(events, UPDATE, NULL, KV_TEXT("url", "http://a/1"));
	assert_int_equal(lines_in(log_path()), 1);
	assert_int_equal(events_enable(events, STR("query-return"), false, &err), 0);
	event_write(events, QUERY_RETURN, NULL);
	event_write(events, QUERY, NULL);
	assert_int_equal(lines_in(log_path()), 2);
	assert_int_equal(events_enable(events, STR("All"), false, &err), 0);
	event_write(events, QUERY, NULL);
	assert_int_equal(lines_in(log_path()), 2);
	assert_int_equal(events_enable(events, STR("all"), true, &err), 0);
	event_write(events, DELETE, NULL);
	assert_int_equal(lines_in(log_path()), 3);
	assert_int_equal(events_enable(events, STR("Queries"), true, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "Compressing-Registry, All"));
}

static void a_closed_log_is_not_written(void **state)
{
	(void)state;
	event_write(events, QUERY, NULL);
	assert_int_equal(events_flush(events, &err), 0);
	assert_int_equal(events_close(events, &err), 0);
	event_write(events, QUERY, NULL);
	assert_int_equal(lines_in(log_path()), 1);
	assert_int_equal(events_open(events, &err), 0);
	event_write(events, QUERY, NULL);
	assert_int_equal(lines_in(log_path()), 2);
	assert_int_equal(events_open(events, &err), 0); /* again is fine */
}

static void rotated_files_take_no_others_place(void **state)
{
	static const char *const want[] = {"LOG.261116", "LOG.261116.2", "LOG.261116.3"};
	int64_t wall_us = INT64_C(1794819835) * US_PER_S; /* 2026-11-16 */
	(void)state;
	CLEANUP(buf_free) struct buf name = BUF_INIT(4096);
	assert_int_equal(events_rotate(events, wall_us, &name, &err), -1); /* there is none */
	assert_int_equal(err.code, ERR_USAGE);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		event_write(events, QUERY, NULL, KV_INT("n", (int64_t)i));
		buf_clear(&name);
		assert_int_equal(events_rotate(events, wall_us, &name, &err), 0);
		assert_string_equal(buf_text(&name), scratch(want[i]));
		assert_int_equal(lines_in(log_path()), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		char line[16];
		snprintf(line, sizeof line, " n=%zu\n", i);
		assert_true(has_text(scratch(want[i]), line));
		assert_int_equal(lines_in(scratch(want[i])), 1);
	}
	event_write(events, QUERY, NULL);
	assert_int_equal(lines_in(log_path()), 1);
	assert_int_equal(events_close(events, &err), 0);
	assert_int_equal(events_rotate(events, wall_us, &name, &err), 0);
	event_write(events, QUERY, NULL); /* it stays closed */
	assert_int_equal(lines_in(log_path()), 0);
}

static void a_full_file_is_put_aside_and_few_are_kept(void **state)
{
	static const char *const before[] = {"LOG.991231", "LOG.200102.9", "LOG.200102.10",
					     "LOG.99123",  "LOG.2001020",  "LOG.200102.",
					     "LOGS.200102"};
	size_t left = 0, full = 0;
	struct file f;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		assert_int_equal(file_replace(scratch(before[i]), STR("x"), 0640, &err), 0);
	for (int i = 0; i < 3; i++) {
		event_write(events, QUERY, NULL, KV_INT("n", i));
		events_free(&events);
		assert_int_equal(file_open(&f, log_path(), O_RDWR, 0, &err), 0);
		assert_int_equal(file_truncate(&f, EVENTS_MOST - 20, &err), 0); /* a hole */
		file_drop(&f);
		events = events_new(log_path());
	}
	event_write(events, QUERY, NULL, KV_INT("n", 3));
	assert_int_equal(lines_in(log_path()), 1);
	assert_true(has_text(log_path(), " n=3\n"));
	/* years have two digits, so 1999 is the newest, and those of 2020 went */
	struct dir dir;
	const char *file;
	assert_int_equal(dir_init(&dir, scratch_dir, &err), 0);
	while (dir_next(&dir, &file) == 0) {
		struct stat st;
		assert_int_equal(stat(scratch(file), &st), 0);
		full += st.st_size > EVENTS_MOST / 2;
		left++;
	}
	dir_done(&dir);
	assert_int_equal(full, 3);
	assert_int_equal(left, 1 + EVENTS_KEPT + 4); /* LOG, these, and what has other names */
	assert_true(has_text(scratch("LOG.991231"), "x"));
	assert_false(has_text(scratch("LOG.200102.10"), "x"));
}

static void it_goes_on_after_a_restart_and_a_cut_line(void **state)
{
	(void)state;
	event_write(events, QUERY, NULL, KV_INT("n", 1));
	events_free(&events);
	events = events_new(log_path());
	event_write(events, QUERY, NULL, KV_INT("n", 2));
	assert_int_equal(lines_in(log_path()), 2);
	events_free(&events);
	assert_int_equal(file_replace(log_path(), STR("2026-11"), 0640, &err), 0);
	events = events_new(log_path());
	event_write(events, QUERY, NULL, KV_INT("n", 3));
	assert_int_equal(lines_in(log_path()), 2);
	assert_true(has_text(log_path(), "2026-11\n20"));
}

static void a_full_disk_stops_nobody_and_leaves_whole_lines(void **state)
{
	(void)state;
	event_write(events, QUERY, NULL, KV_INT("n", 1));
	assert_int_equal(fault_arm("file.write=short@1", &err), 0);
	event_write(events, QUERY, NULL, KV_INT("n", 2));
	assert_int_equal(fault_fired(), 1);
	event_write(events, QUERY, NULL, KV_INT("n", 3)); /* it rests */
	assert_int_equal(fault_arm("", &err), 0);
	assert_int_equal(events_open(events, &err), 0);
	event_write(events, QUERY, NULL, KV_TEXT("n", "a longer one, over what is left"));
	assert_int_equal(lines_in(log_path()), 2);
	assert_true(has_text(log_path(), "left\"\n"));
	assert_false(has_text(log_path(), "n=2"));
}

/* One writes while the other does what the administrator may. */
static void *write_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 500; i++)
		event_write(events, QUERY, "c", KV_INT("n", i));
	return NULL;
}

static void threads_write_whole_lines(void **state)
{
	pthread_t thread[3];
	size_t n = 0;
	(void)state;
	event_write(events, QUERY, "c");
	for (size_t i = 0; i < ARRAY_LEN(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_many, NULL), 0);
	for (int i = 0; i < 10; i++) {
		CLEANUP(buf_free) struct buf name = BUF_INIT(4096);
		(void)events_rotate(events, INT64_C(1794819835) * US_PER_S, &name, &err);
		(void)events_enable(events, STR("Bulk-Return"), i % 2, &err);
		(void)events_flush(events, &err);
	}
	for (size_t i = 0; i < ARRAY_LEN(thread); i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	struct dir dir;
	const char *file;
	assert_int_equal(dir_init(&dir, scratch_dir, &err), 0);
	while (dir_next(&dir, &file) == 0)
		n += lines_in(scratch(file));
	dir_done(&dir);
	assert_int_equal(n, 1501);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_says_when_what_and_by_whom),
		TEST(without_a_log_nothing_happens),
		TEST(foreign_text_forges_no_line),
		TEST(a_long_line_is_cut_and_says_so),
		TEST(types_are_switched_by_name),
		TEST(a_closed_log_is_not_written),
		TEST(rotated_files_take_no_others_place),
		TEST(a_full_file_is_put_aside_and_few_are_kept),
		TEST(it_goes_on_after_a_restart_and_a_cut_line),
		TEST(a_full_disk_stops_nobody_and_leaves_whole_lines),
		TEST(threads_write_whole_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
