/* The URL log: its lines, and what happens where they cannot be written. */
#include "shepherd/reap/url_log.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "shepherd/code.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#define MUST(call)                                       \
	do {                                             \
		if ((call) < 0)                          \
			fail_msg(#call ": %s", err.msg); \
	} while (0)

static struct err err;
static const struct qkey_addr here = {false, {127, 0, 0, 1}};

static struct url_log_line line_of(const char *url, uint16_t code)
{
	return (struct url_log_line){
		.wall_us = INT64_C(1794806401) * US_PER_S + 999999,
		.url = str_of(url),
		.code = code,
		.reaper = "local",
		.id = 17,
		.took_ms = 12,
		.port = 80,
		.key = qkey_of(&here, 0),
	};
}

static void assert_file(const char *name, const char *want)
{
	struct buf got = BUF_INIT(1 << 20);
	assert_int_equal(file_slurp(scratch(name), &got, &err), 0);
	assert_str(buf_str(&got), want);
	buf_free(&got);
}

/* What the file is after this one line. */
static void assert_line(const struct url_log_line *line, const char *want)
{
	struct url_log *log;
	(void)file_remove(scratch("line"), &err);
	MUST(url_log_open(&log, scratch("line"), &err));
	url_log_add(log, line);
	MUST(url_log_flush(log, &err));
	assert_file("line", want);
	url_log_close(&log);
}

static void a_line_says_what_became_of_a_url(void **state)
{
	(void)state;
	struct url_log_line line = line_of("http://a.example/x?y", CODE_OK);
	line.refresh = true;
	line.retries = 2;
	assert_line(&line, "I 2026-11-16 05:20:01 http://a.example/x?y: 0000 ok [local:17*] t=12 "
			   "q=80:7f000001:0 [r=2]\n");
	line = line_of("http://a.example/", 2404);
	line.port = 8080;
	line.key = qkey_of(&(struct qkey_addr){false, {192, 0, 2, 7}}, 0);
	assert_line(&line, "w 2026-11-16 05:20:01 http://a.example/: 2404 not found (404) "
			   "[local:17] t=12 q=8080:c0000207:0\n");
	line = line_of("http://a.example/", CODE_LOST);
	line.port = 0;
	line.key = qkey_special(QKEY_NONEXISTENT, 5, 0);
	assert_line(&line, "E 2026-11-16 05:20:01 http://a.example/: 2422 its bucket cannot be "
			   "read, or (422) the request [local:17] t=12 q=0:7f020005:0\n");
	line = line_of("https://b.example/", CODE_NOT_MODIFIED);
	line.port = 443;
	line.key = qkey_of(&(struct qkey_addr){true, {0x20, 1, 0xd, 0xb8}}, 0);
	char want[200], text[QKEY_TEXT];
	qkey_print(line.key, text);
	snprintf(want, sizeof want,
		 "I 2026-11-16 05:20:01 https://b.example/: 0003 unchanged (304) [local:17] t=12 "
		 "q=443:%s:0\n",
		 text);
	assert_line(&line, want);
}

static void a_url_cannot_make_lines_of_its_own(void **state)
{
	(void)state;
	struct url_log_line line =
		line_of("http://me:secret@a.example/\n \x1b[2J\x7f\xc3\xa4", 2404);
	assert_line(&line, "w 2026-11-16 05:20:01 http://a.example/%0A%20%1B[2J%7F%C3%A4: 2404 "
			   "not found (404) [local:17] t=12 q=80:7f000001:0\n");
	struct buf got = BUF_INIT(1 << 20);
	static char longest[1 << 20];
	memset(longest, '\n', sizeof longest - 1);
	struct url_log *log;
	MUST(url_log_open(&log, scratch("long"), &err));
	line.url = str_of(longest);
	for (int i = 0; i < 10; i++)
		url_log_add(log, &line);
	url_log_close(&log);
	assert_int_equal(file_slurp(scratch("long"), &got, &err), 0);
	struct str rest = buf_str(&got), one;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(str_cut(&rest, '\n', &one), 0);
		assert_true(str_starts(one, STR("w 2026-11-16 05:20:01 ")));
		assert_true(str_ends(one, STR(" t=12 q=80:7f000001:0")));
	}
	assert_int_equal(rest.n, 0);
	buf_free(&got);
}

#define SHORT_LINE(url) \
	"I 2026-11-16 05:20:01 http://a/" url ": 0000 ok [local:17] t=12 q=80:7f000001:0\n"

static void add_short(struct url_log *log, const char *url)
{
	struct url_log_line line = line_of(url, CODE_OK);
	url_log_add(log, &line);
}

static void lines_are_written_when_there_are_many(void **state)
{
	(void)state;
	struct url_log *log;
	struct stat st;
	MUST(url_log_open(&log, scratch("many"), &err));
	add_short(log, "http://a/1");
	assert_file("many", "");
	for (size_t n = 0; n < URL_LOG_BUFFER; n += sizeof SHORT_LINE("1") - 1)
		add_short(log, "http://a/1");
	assert_int_equal(stat(scratch("many"), &st), 0);
	assert_true(st.st_size >= URL_LOG_BUFFER);
	url_log_close(&log);
	url_log_close(&log);
	url_log_add(NULL, NULL);
	assert_int_equal(url_log_flush(NULL, &err), 0);
	assert_int_equal(url_log_reopen(NULL, &err), 0);
}

static void a_file_can_be_moved_away(void **state)
{
	(void)state;
	struct url_log *log;
	MUST(url_log_open(&log, scratch("now"), &err));
	add_short(log, "http://a/1");
	MUST(file_rename(scratch("now"), scratch("old"), &err));
	MUST(url_log_reopen(log, &err));
	add_short(log, "http://a/2");
	url_log_close(&log);
	assert_file("old", SHORT_LINE("1"));
	assert_file("now", SHORT_LINE("2"));
	MUST(url_log_open(&log, scratch("now"), &err)); /* what is there stays */
	add_short(log, "http://a/3");
	MUST(url_log_flush(log, &err));
	assert_file("now", SHORT_LINE("2") SHORT_LINE("3"));
	MUST(fault_arm("file.open=eio@1+", &err));
	assert_true(url_log_reopen(log, &err) < 0);
	MUST(fault_arm("", &err));
	add_short(log, "http://a/4");
	url_log_close(&log);
	assert_file("now", SHORT_LINE("2") SHORT_LINE("3") SHORT_LINE("4"));
	assert_true(url_log_open(&log, scratch("no/such/folder"), &err) < 0);
}

static void a_failure_is_told_once(void **state)
{
	(void)state;
	struct url_log *log;
	MUST(url_log_open(&log, scratch("full"), &err));
	MUST(fault_arm("file.write/full=enospc@1+", &err));
	for (int i = 0; i < 2000; i++) /* also where nobody looks at once */
		add_short(log, "http://a/lost");
	assert_true(fault_fired() > 0);
	assert_true(url_log_flush(log, &err) < 0);
	assert_non_null(strstr(err.msg, "full"));
	add_short(log, "http://a/lost");
	assert_int_equal(url_log_flush(log, &err), 0);
	MUST(fault_arm("", &err));
	add_short(log, "http://a/1");
	MUST(url_log_flush(log, &err));
	assert_file("full", SHORT_LINE("1"));
	MUST(fault_arm("file.write/full=short@1", &err)); /* and once more after a success */
	add_short(log, "http://a/2");
	assert_true(url_log_flush(log, &err) < 0);
	MUST(fault_arm("", &err));
	add_short(log, "http://a/3");
	MUST(url_log_flush(log, &err));
	char want[400];
	size_t half = (sizeof SHORT_LINE("2") - 1) / 2;
	snprintf(want, sizeof want, "%s%.*s\n%s", SHORT_LINE("1"), (int)half, SHORT_LINE("2"),
		 SHORT_LINE("3"));
	assert_file("full", want);
	url_log_close(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_what_became_of_a_url),
		cmocka_unit_test(a_url_cannot_make_lines_of_its_own),
		cmocka_unit_test(lines_are_written_when_there_are_many),
		cmocka_unit_test(a_file_can_be_moved_away),
		cmocka_unit_test(a_failure_is_told_once),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
