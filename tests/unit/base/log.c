#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The line of one message, without a clock. */
#define LINE(out, name, msg, ...) \
	log_line(out, name, LOG_INFO, LOG_ROLE, msg, LOG_LIST(__VA_ARGS__))

static void assert_line(const char *want, struct buf *line)
{
	assert_string_equal(buf_text(line), want);
	buf_free(line);
}

static struct buf value_line(struct str value)
{
	struct buf b = BUF_INIT(LOG_BODY_MAX);
	LINE(&b, "role", "m", KV_STR("k", value));
	return b;
}

static void assert_value(const char *want, struct str value)
{
	struct buf got = value_line(value), line = BUF_INIT(LOG_BODY_MAX);
	buf_printf(&line, "info role: m k=%s", want);
	assert_string_equal(buf_text(&got), buf_text(&line));
	buf_free(&got);
	buf_free(&line);
}

static void a_line_has_level_section_message_and_values(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(LOG_BODY_MAX);
	log_line(&b, "up", LOG_INFO, LOG_UP, "ready",
		 LOG_LIST(KV_TEXT("role", "web"), KV_INT("pid", -123), KV_UINT("n", UINT64_MAX),
			  KV_DURATION("took", 90 * US_PER_MIN)));
	assert_string_equal(buf_text(&b), "info up: ready role=web pid=-123 n=18446744073709551615 "
					  "took=1h30min");
	buf_free(&b);
}

static void every_level_has_its_word(void **state)
{
	(void)state;
	static const char *const words[] = {"error", "warn", "outside", "info", "debug"};
	for (int i = 0; i < 5; i++) {
		struct buf b = BUF_INIT(LOG_BODY_MAX);
		log_line(&b, "", (enum log_level)i, LOG_QUERY, "m", LOG_LIST());
		assert_true(str_starts(buf_str(&b), str_of(words[i])));
		assert_true(str_ends(buf_str(&b), STR(" query: m")));
		buf_free(&b);
	}
}

static void a_name_stands_before_another_section_only(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(LOG_BODY_MAX);
	LINE(&b, "web", "m");
	assert_line("info web/role: m", &b);
	LINE(&b, "role", "m");
	assert_line("info role: m", &b);
	LINE(&b, "", "m");
	assert_line("info role: m", &b);
}

static void values_are_quoted_where_they_need_it(void **state)
{
	(void)state;
	assert_value("aZ09_./:@%+,=-", STR("aZ09_./:@%+,=-"));
	assert_value("\"\"", STR(""));
	assert_value("\"\"", (struct str){0});
	assert_value("\"a b\"", STR("a b"));
	assert_value("\"say \\\"yes\\\" \\\\o/\"", STR("say \"yes\" \\o/"));
	assert_value("\"gr\xc3\xbc\xc3\x9f\"", STR("gr\xc3\xbc\xc3\x9f"));
	assert_value("\"\xf0\x9f\x8c\xbe\"", STR("\xf0\x9f\x8c\xbe"));
}

static void foreign_text_cannot_forge_a_line(void **state)
{
	(void)state;
	assert_value("\"x\\n2026-11-15T09:03:55.123Z error up: forged\"",
		     STR("x\n2026-11-15T09:03:55.123Z error up: forged"));
	assert_value("\"\\x0d\\x1b[2J\\x00\\x7f\\x09\"", STR("\r\x1b[2J\0\x7f\t"));
	assert_value("\"\\xff\\xc3\"", STR("\xff\xc3"));          /* not UTF-8 */
	assert_value("\"\\xed\\xa0\\x80\"", STR("\xed\xa0\x80")); /* a surrogate */
	assert_value("\"\\xc2\\x9b31m\"", STR("\xc2\x9b"
					      "31m"));                  /* a C1 control */
	assert_value("\"\\xe2\\x80\\xaetxt\"", STR("\xe2\x80\xaetxt")); /* right to left */
	assert_value("\"\\xe2\\x80\\xa8\"", STR("\xe2\x80\xa8"));       /* line separator */
	struct buf b = BUF_INIT(LOG_BODY_MAX);
	LINE(&b, "role", "bad\nname\x80");
	assert_line("info role: bad\\nname\\x80", &b);
}

/* Whatever is cut, the line stays one line of whole characters with closed quotes. */
static void long_lines_are_cut_between_characters_and_say_so(void **state)
{
	(void)state;
	static const char *const pieces[] = {"a", "\xc3\xbc", "\n", "\"", "\xff", " "};
	char text[LOG_BODY_MAX * 2];
	for (size_t p = 0; p < ARRAY_LEN(pieces); p++) {
		size_t len = strlen(pieces[p]);
		for (size_t i = 0; i + len <= sizeof text; i += len)
			memcpy(text + i, pieces[p], len);
		for (size_t extra = 0; extra < 12; extra++) {
			size_t n = (LOG_BODY_MAX - 24 + extra) / len * len;
			struct buf b = value_line((struct str){text, n});
			struct str s = buf_str(&b);
			assert_true(str_utf8(s));
			assert_int_equal(str_find_byte(s, '\n'), s.n);
			assert_true(s.n <= LOG_BODY_MAX + LOG_BODY_TAIL);
			assert_true(str_ends(s, STR(" cut=yes")) || s.n <= LOG_BODY_MAX);
			if (pieces[p][0] != 'a')
				assert_true(str_ends(s, STR("\" cut=yes")) ||
					    str_ends(s, STR("\"")));
			buf_free(&b);
		}
	}
}

static void nothing_follows_what_was_cut(void **state)
{
	(void)state;
	char text[LOG_BODY_MAX];
	memset(text, 'x', sizeof text);
	struct buf b = BUF_INIT(LOG_BODY_MAX);
	/* All lengths around the limit, so that every part is the one that does not fit. */
	for (size_t n = LOG_BODY_MAX - 40; n <= LOG_BODY_MAX; n++) {
		LINE(&b, "role", "m", KV_STR("a", ((struct str){text, n})), KV_TEXT("b", "two w"),
		     KV_INT("c", 12345));
		assert_true(b.n <= LOG_BODY_MAX + LOG_BODY_TAIL);
		bool whole = str_ends(buf_str(&b), STR(" b=\"two w\" c=12345"));
		assert_true(whole != str_ends(buf_str(&b), STR(" cut=yes")));
	}
	buf_free(&b);
}

struct seen {
	size_t n;
	char text[64][80];
};

static void see(void *ctx, enum log_level level, struct str line, uint64_t repeated)
{
	struct seen *s = ctx;
	assert_true(s->n < ARRAY_LEN(s->text));
	snprintf(s->text[s->n++], sizeof s->text[0], "%d " STR_FMT " %llu", (int)level,
		 STR_ARG(line), (unsigned long long)repeated);
}

static void an_equal_line_within_ten_seconds_is_counted(void **state)
{
	(void)state;
	static struct log_fold fold;
	struct seen s = {0};
	log_fold_add(&fold, 0, LOG_INFO, STR("a"), see, &s);
	for (int i = 1; i <= 3; i++)
		log_fold_add(&fold, i, LOG_INFO, STR("a"), see, &s);
	log_fold_add(&fold, LOG_FOLD_US - 1, LOG_INFO, STR("a"), see, &s);
	assert_int_equal(s.n, 1);
	log_fold_add(&fold, LOG_FOLD_US, LOG_WARN, STR("a"), see, &s);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.text[1], "3 a 4");
	assert_string_equal(s.text[2], "1 a 0");
	log_fold_flush(&fold, see, &s);
	assert_int_equal(s.n, 3);
}

static void the_end_of_a_window_is_noticed_by_another_line(void **state)
{
	(void)state;
	static struct log_fold fold;
	struct seen s = {0};
	log_fold_add(&fold, 0, LOG_INFO, STR("a"), see, &s);
	log_fold_add(&fold, 1, LOG_INFO, STR("a"), see, &s);
	log_fold_add(&fold, LOG_FOLD_US, LOG_INFO, STR("b"), see, &s);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.text[1], "3 a 1");
	assert_string_equal(s.text[2], "3 b 0");
}

static void eight_lines_in_turn_are_folded_and_a_ninth_ends_the_first(void **state)
{
	(void)state;
	static struct log_fold fold;
	struct seen s = {0};
	for (int round = 0; round < 2; round++)
		for (char c = 'a'; c < 'a' + LOG_FOLD_LINES; c++)
			log_fold_add(&fold, 0, LOG_INFO, (struct str){&c, 1}, see, &s);
	assert_int_equal(s.n, LOG_FOLD_LINES);
	log_fold_add(&fold, 1, LOG_INFO, STR("z"), see, &s);
	assert_int_equal(s.n, LOG_FOLD_LINES + 2);
	assert_string_equal(s.text[8], "3 a 1");
	assert_string_equal(s.text[9], "3 z 0");
	log_fold_flush(&fold, see, &s);
	assert_int_equal(s.n, LOG_FOLD_LINES + 2 + 7);
	log_fold_flush(&fold, see, &s);
	assert_int_equal(s.n, LOG_FOLD_LINES + 2 + 7);
}

/* What the log wrote into a pipe since the last call. */
static int pipe_fds[2];
static struct buf caught(void)
{
	struct buf b = BUF_INIT(1 << 20);
	char *room = buf_room(&b, 1 << 18);
	ssize_t n = read(pipe_fds[0], room, 1 << 18);
	if (n > 0)
		buf_grew(&b, (size_t)n);
	return b;
}

static int catch_setup(void **state)
{
	(void)state;
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	log_start("web", pipe_fds[1]);
	return 0;
}

static int catch_end(void **state)
{
	(void)state;
	log_start("", 2);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

static void a_written_line_begins_with_its_time(void **state)
{
	(void)state;
	errno = EAGAIN;
	log_outside(ROLE, "refused", KV_TEXT("host", "a.example"));
	assert_int_equal(errno, EAGAIN);
	struct buf b = caught();
	int64_t when = 0;
	assert_true(b.n > 25 && time_parse(str_head(buf_str(&b), 24), &when));
	assert_true(llabs(clock_wall_us() - when) < US_PER_MIN);
	assert_string_equal(buf_text(&b) + 24, " outside web/role: refused host=a.example\n");
	buf_free(&b);
}

static void flush_says_what_was_held_back(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		log_info(ROLE, "again");
	struct buf b = caught();
	assert_true(str_ends(buf_str(&b), STR(" web/role: again\n")));
	buf_free(&b);
	log_flush();
	b = caught();
	assert_true(str_ends(buf_str(&b), STR(" web/role: again repeated=4\n")));
	assert_int_equal(str_find_byte(buf_str(&b), '\n'), b.n - 1);
	buf_free(&b);
	log_flush();
	b = caught();
	assert_int_equal(b.n, 0);
	buf_free(&b);
}

static void the_longest_line_fits_a_pipe_at_once(void **state)
{
	(void)state;
	char text[2 * PIPE_BUF];
	memset(text, ' ', sizeof text);
	log_flush();
	for (int i = 0; i < 2; i++)
		log_error(ROLE, "long", KV_STR("text", ((struct str){text, sizeof text})));
	log_flush();
	struct buf b = caught();
	size_t first = str_find_byte(buf_str(&b), '\n') + 1;
	assert_true(first > 3900 && first <= PIPE_BUF);
	assert_true(b.n - first <= PIPE_BUF);
	assert_true(str_ends(buf_str(&b), STR("\" cut=yes repeated=1\n")));
	buf_free(&b);
}

static void the_journal_gets_a_priority_and_no_time(void **state)
{
	(void)state;
	struct stat st;
	char stream[64];
	assert_int_equal(fstat(pipe_fds[1], &st), 0);
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_start("up", pipe_fds[1]);
	log_error(UP, "one");
	log_outside(UP, "two");
	log_write(LOG_DEBUG, LOG_UP, "three", LOG_LIST());
	struct buf b = caught();
	assert_string_equal(buf_text(&b), "<3>error up: one\n<5>outside up: two\n"
					  "<7>debug up: three\n");
	buf_free(&b);
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_start("up", pipe_fds[1]);
	log_error(UP, "four");
	b = caught();
	assert_true(b.n > 20 && buf_text(&b)[0] == '2');
	buf_free(&b);
	unsetenv("JOURNAL_STREAM");
}

static void *write_many(void *arg)
{
	for (int i = 0; i < 200; i++)
		log_info(ROLE, "line", KV_TEXT("thread", arg), KV_INT("i", i));
	return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
	(void)state;
	pthread_t thread[2];
	pthread_create(&thread[0], NULL, write_many, "a");
	pthread_create(&thread[1], NULL, write_many, "b");
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	struct buf b = caught();
	struct str rest = buf_str(&b), line;
	size_t lines = 0;
	while (str_cut(&rest, '\n', &line) == 0 && line.n) {
		assert_true(str_starts(str_from(line, 24), STR(" info web/role: line thread=")));
		lines++;
	}
	assert_int_equal(lines, 400);
	buf_free(&b);
}

static void set(const char *spec)
{
	struct err err;
	assert_int_equal(log_debug_set(str_of(spec), &err), 0);
}

static int all_off(void **state)
{
	(void)state;
	set("all:0");
	return 0;
}

static void debug_levels_are_set_by_number_and_name(void **state)
{
	(void)state;
	assert_false(log_debugs(LOG_REGISTRY, 1));
	set("70,5");
	assert_true(log_debugs(LOG_REGISTRY, 5));
	assert_false(log_debugs(LOG_REGISTRY, 6));
	assert_false(log_debugs(LOG_COLLECTOR, 1));
	set("Registry:3");
	assert_false(log_debugs(LOG_REGISTRY, 4));
	set("70");
	assert_true(log_debugs(LOG_REGISTRY, 9));
	set("registry,2");
	assert_false(log_debugs(LOG_REGISTRY, 3));
	set("all:4");
	assert_true(log_debugs(LOG_MAIN, 4) && log_debugs(LOG_SELECT, 4));
	assert_false(log_debugs(LOG_MAIN, 5));
}

static void lists_of_sections_are_taken(void **state)
{
	(void)state;
	set("registry:5, query,71:2");
	assert_true(log_debugs(LOG_REGISTRY, 5) && !log_debugs(LOG_REGISTRY, 6));
	assert_true(log_debugs(LOG_QUERY, 9));
	assert_true(log_debugs(LOG_COLLECTOR, 2) && !log_debugs(LOG_COLLECTOR, 3));
	set("all:0");
	set("70,71"); /* no level has two digits */
	assert_true(log_debugs(LOG_REGISTRY, 9) && log_debugs(LOG_COLLECTOR, 9));
	set("all:0");
	set("1,2,3");
	assert_true(log_debugs(LOG_MAIN, 2) && !log_debugs(LOG_MAIN, 3));
	assert_true(log_debugs(LOG_ROLE, 9) && !log_debugs(LOG_UP, 1));
}

static void a_wrong_section_or_level_changes_nothing(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"",    "registry:5,nobody", "query:10", "query:", "query:-1", ":5",
		"999", "70,5,5,x",          "query:5x", ","};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_true(log_debug_set(str_of(wrong[i]), &err) < 0);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_true(log_debug_set((struct str){0}, &err) < 0);
	for (size_t i = 0; i < LOG_NSECTIONS; i++)
		assert_false(log_debugs((enum log_section)i, 1));
}

static void an_unknown_section_gets_the_near_names(void **state)
{
	(void)state;
	struct err err;
	assert_true(log_debug_set(STR("regisry:5"), &err) < 0);
	assert_string_equal(err.msg, "unknown log section 'regisry'; did you mean 'registry'?");
	assert_true(log_debug_set(STR("79"), &err) < 0);
	assert_non_null(strstr(err.msg, "there are all, main, up, "));
	assert_non_null(strstr(err.msg, ", select"));
	char hostile[4000];
	memset(hostile, 'x', sizeof hostile);
	assert_true(log_debug_set((struct str){hostile, sizeof hostile}, &err) < 0);
	assert_non_null(strstr(err.msg, "select"));
}

static void debug_lines_come_only_at_their_level(void **state)
{
	(void)state;
	set("files:3");
	log_debug(FILES, 4, "too much");
	log_debug(UP, 1, "not asked for");
	log_debug(FILES, 3, "asked for", KV_INT("level", 3));
	struct buf b = caught();
	assert_string_equal(buf_text(&b) + 24, " debug web/files: asked for level=3\n");
	buf_free(&b);
}

int main(void)
{
#define CAUGHT(test) cmocka_unit_test_setup_teardown(test, catch_setup, catch_end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_level_section_message_and_values),
		cmocka_unit_test(every_level_has_its_word),
		cmocka_unit_test(a_name_stands_before_another_section_only),
		cmocka_unit_test(values_are_quoted_where_they_need_it),
		cmocka_unit_test(foreign_text_cannot_forge_a_line),
		cmocka_unit_test(long_lines_are_cut_between_characters_and_say_so),
		cmocka_unit_test(nothing_follows_what_was_cut),
		cmocka_unit_test(an_equal_line_within_ten_seconds_is_counted),
		cmocka_unit_test(the_end_of_a_window_is_noticed_by_another_line),
		cmocka_unit_test(eight_lines_in_turn_are_folded_and_a_ninth_ends_the_first),
		CAUGHT(a_written_line_begins_with_its_time),
		CAUGHT(flush_says_what_was_held_back),
		CAUGHT(the_longest_line_fits_a_pipe_at_once),
		CAUGHT(the_journal_gets_a_priority_and_no_time),
		CAUGHT(lines_of_threads_do_not_mix),
		cmocka_unit_test_setup(debug_levels_are_set_by_number_and_name, all_off),
		cmocka_unit_test_setup(lists_of_sections_are_taken, all_off),
		cmocka_unit_test_setup(a_wrong_section_or_level_changes_nothing, all_off),
		cmocka_unit_test(an_unknown_section_gets_the_near_names),
		CAUGHT(debug_lines_come_only_at_their_level),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
