#include "role/counters.h"

#include "base/arena.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "disk/format.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUESTS_OK, REQUESTS_BAD, OPEN, NDEFS };
static const struct counter_def defs[NDEFS] = {
	[REQUESTS_OK] = {"requests", "outcome=\"ok\"", COUNTER_TOTAL,
			 "Requests that were answered."},
	[REQUESTS_BAD] = {"requests", "outcome=\"bad\"", COUNTER_TOTAL,
			  "Requests that were answered."},
	[OPEN] = {"open_connections", NULL, COUNTER_GAUGE, "Connections now."},
};
static const int64_t started_us = INT64_C(1794733435123456); /* 2026-11-15T09:03:55.123456Z */

static char folder[64], path[96];
static struct arena arena;
static struct err err;

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/garner-counters-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/web", folder);
	arena = ARENA_INIT(64 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	struct dir d;
	const char *name;
	if (dir_init(&d, folder, &err) != 0)
		return -1;
	while (dir_next(&d, &name) == 0) {
		char file[400];
		snprintf(file, sizeof file, "%s/%s", folder, name);
		(void)file_remove(file, &err);
	}
	dir_done(&d);
	return rmdir(folder);
}

static struct counters *create(void)
{
	struct counters *c = NULL;
	int rc = counters_create(&c, path, "web", defs, NDEFS, started_us, &err);
	if (rc != 0)
		fail_msg("%s", err.msg);
	return c;
}

static struct counters_view look(void)
{
	struct counters_view v;
	if (counters_read(path, &arena, &v, &err) != 0)
		fail_msg("%s", err.msg);
	return v;
}

static struct buf file_bytes(void)
{
	struct buf b = BUF_INIT(2 << 20);
	assert_int_equal(file_slurp(path, &b, &err), 0);
	return b;
}

static void a_file_that_was_cut_does_not_end_its_writer(void **state)
{
	(void)state;
	struct counters *c = create();
	assert_int_equal(0, truncate(path, 0));
	counters_add(c, 0, 1);
	counters_set(c, NDEFS - 1, 7);
	counters_close(&c);
	c = create(); /* and the next one makes it anew */
	counters_add(c, 0, 3);
	assert_int_equal(3, look().value[0].value);
	counters_close(&c);
}

static void others_read_what_is_counted(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_add(c, REQUESTS_OK, 41);
	counters_add(c, REQUESTS_OK, 1);
	counters_set(c, OPEN, 7);
	counters_set(c, OPEN, -3);
	struct counters_view v = look();
	assert_true(str_is(v.instance, "web"));
	assert_int_equal(v.pid, getpid());
	assert_int_equal(v.started_wall_us, started_us);
	assert_true(v.alive);
	assert_int_equal(v.n, NDEFS);
	assert_int_equal(v.value[REQUESTS_OK].value, 42);
	assert_int_equal(v.value[REQUESTS_BAD].value, 0);
	assert_int_equal(v.value[OPEN].value, -3);
	assert_int_equal(v.value[OPEN].kind, COUNTER_GAUGE);
	assert_true(str_is(v.value[REQUESTS_BAD].labels, "outcome=\"bad\""));
	assert_true(str_is(v.value[OPEN].help, "Connections now."));
	counters_close(&c);
	assert_null(c);
	counters_close(&c);
}

static void the_last_values_stay_when_the_writer_has_gone(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_add(c, REQUESTS_OK, 5);
	counters_close(&c);
	struct counters_view v = look();
	assert_false(v.alive);
	assert_int_equal(v.value[REQUESTS_OK].value, 5);
	c = create();
	assert_int_equal(look().value[REQUESTS_OK].value, 0);
	counters_close(&c);
}

static void a_killed_writer_leaves_its_values_and_frees_the_file(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		struct counters *mine;
		if (counters_create(&mine, path, "web", defs, NDEFS, started_us, &err) != 0)
			_exit(1);
		counters_add(mine, REQUESTS_OK, 9);
		raise(SIGKILL);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	struct counters_view v = look();
	assert_int_equal(v.pid, pid);
	assert_int_equal(v.value[REQUESTS_OK].value, 9);
	assert_false(v.alive);
	struct counters *c = create();
	assert_true(look().alive);
	counters_close(&c);
}

static void a_second_writer_is_refused_and_told_who_holds_it(void **state)
{
	(void)state;
	struct counters *c = create(), *second = NULL;
	counters_add(c, REQUESTS_OK, 1);
	assert_true(counters_create(&second, path, "web", defs, NDEFS, 0, &err) < 0);
	assert_int_equal(err.code, ERR_BUSY);
	assert_null(second);
	char want[64];
	snprintf(want, sizeof want, "held by pid %d (web)", (int)getpid());
	assert_non_null(strstr(err.msg, want));
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(look().value[REQUESTS_OK].value, 1);
	counters_close(&c);
}

/* Whatever the writer of another version put there, it is alive: its file stays. */
static void a_held_file_of_another_version_is_not_replaced(void **state)
{
	(void)state;
	struct counters *c = create(), *second = NULL;
	struct file f = FILE_INIT;
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	assert_int_equal(file_write(&f, "\x63", 1, 8, &err), 0);
	file_drop(&f);
	assert_true(counters_create(&second, path, "web", defs, NDEFS, 0, &err) < 0);
	assert_int_equal(err.code, ERR_BUSY);
	counters_close(&c);
	c = create();
	assert_true(look().alive);
	counters_close(&c);
}

enum { RIVALS = 8 };
static void *rival(void *arg)
{
	struct err mine;
	struct counters **c = arg;
	return (void *)(intptr_t)counters_create(c, path, "web", defs, NDEFS, 0, &mine);
}

static void of_many_writers_at_once_one_gets_it(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct counters *c[RIVALS] = {0};
		pthread_t thread[RIVALS];
		size_t won = 0;
		for (int i = 0; i < RIVALS; i++)
			pthread_create(&thread[i], NULL, rival, &c[i]);
		for (int i = 0; i < RIVALS; i++) {
			void *rc;
			pthread_join(thread[i], &rc);
			won += (intptr_t)rc == 0;
		}
		assert_int_equal(won, 1);
		assert_true(look().alive);
		for (int i = 0; i < RIVALS; i++)
			counters_close(&c[i]);
	}
}

static void *add_many(void *arg)
{
	for (int i = 0; i < 50000; i++)
		counters_add(arg, REQUESTS_OK, 1);
	return NULL;
}

static void threads_lose_no_count(void **state)
{
	(void)state;
	struct counters *c = create();
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, add_many, c);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(look().value[REQUESTS_OK].value, 200000);
	counters_close(&c);
}

static void the_file_is_allocated_whole(void **state)
{
	(void)state;
	struct counters *c = create();
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, COUNTERS_PAGE + 8 * NDEFS);
	assert_true(st.st_blocks * 512 >= st.st_size);
	counters_close(&c);
}

static void no_counters_at_all_are_fine(void **state)
{
	(void)state;
	struct counters *c = NULL;
	assert_int_equal(counters_create(&c, path, "bot@2", NULL, 0, started_us, &err), 0);
	struct counters_view v = look();
	assert_int_equal(v.n, 0);
	assert_true(v.alive);
	counters_close(&c);
}

static void as_many_as_can_be_are_fine_and_one_more_is_not(void **state)
{
	(void)state;
	struct counter_def *many = mem_array(COUNTERS_MAX + 1, sizeof *many);
	char help[COUNTERS_HELP_MAX + 1], labels[COUNTERS_LABELS_MAX + 1];
	memset(help, 'h', COUNTERS_HELP_MAX);
	help[COUNTERS_HELP_MAX] = 0;
	snprintf(labels, sizeof labels, "a=\"%0*d\"", COUNTERS_LABELS_MAX - 4, 0);
	for (size_t i = 0; i <= COUNTERS_MAX; i++)
		many[i] = (struct counter_def){arena_printf(&arena, "%0*zu", COUNTERS_NAME_MAX, i),
					       labels, COUNTER_TOTAL, help};
	struct counters *c = NULL;
	assert_true(counters_create(&c, path, "web", many, COUNTERS_MAX + 1, 0, &err) < 0);
	assert_int_equal(err.code, ERR_USAGE);
	int rc = counters_create(&c, path, "web", many, COUNTERS_MAX, 0, &err);
	if (rc != 0)
		fail_msg("%s", err.msg);
	counters_add(c, COUNTERS_MAX - 1, 3);
	struct arena small = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view v;
	assert_int_equal(counters_read(path, &small, &v, &err), 0);
	assert_int_equal(v.value[COUNTERS_MAX - 1].value, 3);
	arena_free(&small);
	counters_close(&c);
	mem_free(&many);
}

static void bad_definitions_are_refused_by_name(void **state)
{
	(void)state;
	static const struct {
		struct counter_def def;
		const char *want;
	} bad[] = {
		{{"", NULL, COUNTER_TOTAL, "h"}, "the name is not"},
		{{"a b", NULL, COUNTER_TOTAL, "h"}, "the name is not"},
		{{"x_total", NULL, COUNTER_TOTAL, "h"}, "(x_total): a name may not end"},
		{{"total", NULL, COUNTER_GAUGE, "h"}, "a name may not end"},
		{{"x_created", NULL, COUNTER_TOTAL, "h"}, "a name may not end"},
		{{"x", NULL, COUNTER_TOTAL, ""}, "the help is not"},
		{{"x", NULL, COUNTER_TOTAL, "two\nlines"}, "the help is not"},
		{{"x", NULL, COUNTER_TOTAL, "a \"b\""}, "the help is not"},
		{{"x", NULL, (enum counter_kind)7, "h"}, "no known kind"},
		{{"x", "a", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "a=b", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "a=\"b", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "a=\"b\\\"", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "a=\"\\x\"", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "1a=\"b\"", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "__a=\"b\"", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "a=\"b\",", COUNTER_TOTAL, "h"}, "labels are not name"},
		{{"x", "a=\"b\"b=\"c\"", COUNTER_TOTAL, "h"}, "not separated by commas"},
		{{"x", "b=\"1\",a=\"2\"", COUNTER_TOTAL, "h"}, "do not ascend"},
		{{"x", "a=\"1\",a=\"2\"", COUNTER_TOTAL, "h"}, "do not ascend"},
		{{"x", "a=\"1\n\"", COUNTER_TOTAL, "h"}, "not printable"},
		{{"x", "instance=\"b\"", COUNTER_TOTAL, "h"}, "set by itself"},
		{{"first", NULL, COUNTER_TOTAL, "h"}, "counter 1 (first): is there twice"},
		{{"first", "a=\"b\"", COUNTER_GAUGE, "h"}, "another kind"},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct counter_def two[] = {{"first", NULL, COUNTER_TOTAL, "h"}, bad[i].def};
		struct counters *c = NULL;
		assert_true(counters_create(&c, path, "web", two, 2, 0, &err) < 0);
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.msg, bad[i].want))
			fail_msg("'%s' does not say '%s'", err.msg, bad[i].want);
	}
	static const char *const instances[] = {"", "@1", "a b", "a\"", "a\n"};
	for (size_t i = 0; i < ARRAY_LEN(instances); i++) {
		struct counters *c = NULL;
		assert_true(counters_create(&c, path, instances[i], defs, NDEFS, 0, &err) < 0);
	}
	assert_int_equal(access(path, F_OK), -1);
}

static void a_folder_or_file_that_is_not_there_is_said(void **state)
{
	(void)state;
	struct counters *c = NULL;
	struct counters_view v;
	char far[128];
	assert_int_equal(counters_read(path, &arena, &v, &err), 1);
	snprintf(far, sizeof far, "%s/no/web", folder);
	assert_true(counters_create(&c, far, "web", defs, NDEFS, 0, &err) < 0);
	assert_non_null(strstr(err.msg, "/no: there is no such folder"));
}

static void a_file_cut_anywhere_is_damaged(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_close(&c);
	struct buf b = file_bytes();
	struct counters_view v;
	for (size_t n = 0; n < b.n; n++) {
		char *exact = mem_copy(b.p, n); /* for the sanitizer */
		assert_true(counters_parse((struct str){exact, n}, &arena, &v, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
		mem_free(&exact);
		arena_clear(&arena);
	}
	assert_int_equal(counters_parse(buf_str(&b), &arena, &v, &err), 0);
	buf_add_byte(&b, 0);
	assert_true(counters_parse(buf_str(&b), &arena, &v, &err) < 0);
	buf_free(&b);
}

static void a_bit_that_fell_over_before_the_values_is_damage(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_close(&c);
	struct buf b = file_bytes();
	struct counters_view v;
	for (size_t i = 0; i < COUNTERS_PAGE; i++) {
		b.p[i] ^= 1;
		assert_true(counters_parse(buf_str(&b), &arena, &v, &err) < 0);
		b.p[i] ^= 1;
		arena_clear(&arena);
	}
	b.p[COUNTERS_PAGE + 7] ^= (char)0x80; /* a total below zero */
	assert_true(counters_parse(buf_str(&b), &arena, &v, &err) < 0);
	assert_non_null(strstr(err.msg, "a total is out of range"));
	buf_free(&b);
}

static void another_version_is_named_with_ours(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_close(&c);
	struct buf b = file_bytes();
	struct counters_view v;
	b.p[8] = 7;
	assert_true(counters_parse(buf_str(&b), &arena, &v, &err) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_string_equal(err.msg, "counters in version 7; this program knows version 1");
	buf_free(&b);
}

static void openmetrics_has_sorted_families_and_an_end(void **state)
{
	(void)state;
	struct counter_value values[] = {
		{STR("requests"), STR("outcome=\"ok\""), STR("Requests."), COUNTER_TOTAL, 42},
		{STR("open"), STR(""), STR("Connections."), COUNTER_GAUGE, -3},
		{STR("requests"), STR("outcome=\"bad\""), STR("Requests."), COUNTER_TOTAL, 1},
	};
	const struct counters_view views[] = {
		{STR("web@2"), started_us, 1, true, values, 3},
		{STR("archie-ng"), 1, 2, false, values, 1},
		{STR("web@1"), started_us, 3, false, values, 1},
	};
	struct buf out = BUF_INIT(1 << 20);
	counters_openmetrics(views, 3, &out);
	assert_string_equal(
		buf_text(&out),
		"# TYPE garner_archie_ng_requests counter\n"
		"# HELP garner_archie_ng_requests Requests.\n"
		"garner_archie_ng_requests_total{instance=\"archie-ng\",outcome=\"ok\"} 42\n"
		"# TYPE garner_role_start_time_seconds gauge\n"
		"# HELP garner_role_start_time_seconds When it started, in seconds since 1970.\n"
		"garner_role_start_time_seconds{instance=\"archie-ng\",role=\"archie-ng\"} "
		"0.000001\n"
		"garner_role_start_time_seconds{instance=\"web@1\",role=\"web\"} "
		"1794733435.123456\n"
		"garner_role_start_time_seconds{instance=\"web@2\",role=\"web\"} "
		"1794733435.123456\n"
		"# TYPE garner_role_up gauge\n"
		"# HELP garner_role_up Whether the process that writes the counters is running.\n"
		"garner_role_up{instance=\"archie-ng\",role=\"archie-ng\"} 0\n"
		"garner_role_up{instance=\"web@1\",role=\"web\"} 0\n"
		"garner_role_up{instance=\"web@2\",role=\"web\"} 1\n"
		"# TYPE garner_web_open gauge\n"
		"# HELP garner_web_open Connections.\n"
		"garner_web_open{instance=\"web@2\"} -3\n"
		"# TYPE garner_web_requests counter\n"
		"# HELP garner_web_requests Requests.\n"
		"garner_web_requests_total{instance=\"web@1\",outcome=\"ok\"} 42\n"
		"garner_web_requests_total{instance=\"web@2\",outcome=\"bad\"} 1\n"
		"garner_web_requests_total{instance=\"web@2\",outcome=\"ok\"} 42\n"
		"# EOF\n");
	buf_free(&out);
}

static void the_older_text_names_the_family_of_a_total_as_its_samples(void **state)
{
	(void)state;
	struct counter_value values[] = {
		{STR("requests"), STR(""), STR("Requests."), COUNTER_TOTAL, 42},
		{STR("open"), STR(""), STR("Connections."), COUNTER_GAUGE, 3},
	};
	const struct counters_view view = {STR("web"), started_us, 1, true, values, 2};
	struct buf out = BUF_INIT(1 << 20);
	counters_prometheus(&view, 1, &out);
	assert_non_null(strstr(buf_text(&out), "# TYPE garner_web_open gauge\n"
					       "# HELP garner_web_open Connections.\n"
					       "garner_web_open{instance=\"web\"} 3\n"));
	assert_true(
		str_ends(buf_str(&out), STR("# TYPE garner_web_requests_total counter\n"
					    "# HELP garner_web_requests_total Requests.\n"
					    "garner_web_requests_total{instance=\"web\"} 42\n")));
	buf_free(&out);
}

static void openmetrics_keeps_one_of_what_contradicts(void **state)
{
	(void)state;
	/* Both become garner_a_b_c, one a total, one a gauge; and each file is there twice. */
	struct counter_value one = {STR("c"), STR(""), STR("One."), COUNTER_TOTAL, 1};
	struct counter_value two = {STR("b_c"), STR(""), STR("Two."), COUNTER_GAUGE, 2};
	const struct counters_view views[] = {
		{STR("a-b"), 0, 1, false, &one, 1},
		{STR("a"), 0, 1, false, &two, 1},
		{STR("a"), 0, 1, false, &two, 1},
	};
	struct buf out = BUF_INIT(1 << 20);
	counters_openmetrics(views, 3, &out);
	assert_true(str_starts(buf_str(&out),
			       STR("# TYPE garner_a_b_c gauge\n# HELP garner_a_b_c Two.\n"
				   "garner_a_b_c{instance=\"a\"} 2\n# TYPE garner_role_start")));
	assert_null(strstr(buf_text(&out), "One."));
	buf_clear(&out);
	counters_openmetrics(NULL, 0, &out);
	assert_string_equal(buf_text(&out), "# EOF\n");
	buf_free(&out);
}

static void catch (void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static void a_file_prints_readably(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_add(c, REQUESTS_OK, 42);
	struct buf out = BUF_INIT(1 << 20);
	assert_int_equal(format_print(&counters_format, path, catch, &out, &err), 0);
	char want[128];
	snprintf(want, sizeof want, "counters of web, pid %d, running, started ", (int)getpid());
	assert_true(str_starts(buf_str(&out), str_of(want)));
	assert_non_null(
		strstr(buf_text(&out), "2026-11-15T09:03:55.123Z\n  requests{outcome=\"ok\"}"));
	assert_non_null(strstr(buf_text(&out), " 42  Requests that were answered.\n"));
	assert_int_equal(format_verify(&counters_format, path, &err), 0);
	counters_close(&c);
	buf_free(&out);
}

static void what_has_the_temporary_name_is_not_written_into(void **state)
{
	(void)state;
	char beside[128], other[128];
	struct counters *c = create(), *bot = NULL;
	counters_add(c, REQUESTS_OK, 6);
	snprintf(other, sizeof other, "%s.bot", path);
	snprintf(beside, sizeof beside, "%s.bot.new", path);
	assert_int_equal(symlink(path, beside), 0);
	assert_int_equal(counters_create(&bot, other, "bot", defs, NDEFS, started_us, &err), 0);
	assert_int_equal(look().value[REQUESTS_OK].value, 6);
	counters_add(c, REQUESTS_OK, 1);
	assert_int_equal(look().value[REQUESTS_OK].value, 7);
	counters_close(&c);
	counters_close(&bot);
}

#ifdef GARNER_FAULTS
static void a_failed_creation_leaves_the_old_file(void **state)
{
	(void)state;
	static const char *const faults[] = {"file.write/web.new=enospc",
					     "file.write/web.new=short@2", "file.sync/web.new=eio",
					     "file.rename=eio"};
	struct counters *c = create();
	counters_add(c, REQUESTS_OK, 6);
	counters_close(&c);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_int_equal(fault_arm(faults[i], &err), 0);
		assert_true(counters_create(&c, path, "web", defs, NDEFS, 0, &err) < 0);
		assert_int_equal(fault_arm("", &err), 0);
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_null(c);
		assert_int_equal(look().value[REQUESTS_OK].value, 6);
		char beside[128];
		snprintf(beside, sizeof beside, "%s.new", path);
		assert_int_equal(access(beside, F_OK), -1);
	}
}

static void a_writer_killed_before_the_rename_is_in_nobodys_way(void **state)
{
	(void)state;
	struct counters *c = create();
	counters_add(c, REQUESTS_OK, 6);
	counters_close(&c);
	pid_t pid = fork();
	if (pid == 0) {
		if (fault_arm("counters.rename=kill", &err) == 0)
			(void)counters_create(&c, path, "web", defs, NDEFS, 0, &err);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(look().value[REQUESTS_OK].value, 6);
	c = create();
	assert_true(look().alive);
	counters_close(&c);
}
#endif

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(others_read_what_is_counted),
		TEST(a_file_that_was_cut_does_not_end_its_writer),
		TEST(the_last_values_stay_when_the_writer_has_gone),
		TEST(a_killed_writer_leaves_its_values_and_frees_the_file),
		TEST(a_second_writer_is_refused_and_told_who_holds_it),
		TEST(a_held_file_of_another_version_is_not_replaced),
		TEST(of_many_writers_at_once_one_gets_it),
		TEST(threads_lose_no_count),
		TEST(the_file_is_allocated_whole),
		TEST(no_counters_at_all_are_fine),
		TEST(as_many_as_can_be_are_fine_and_one_more_is_not),
		TEST(bad_definitions_are_refused_by_name),
		TEST(a_folder_or_file_that_is_not_there_is_said),
		TEST(a_file_cut_anywhere_is_damaged),
		TEST(a_bit_that_fell_over_before_the_values_is_damage),
		TEST(another_version_is_named_with_ours),
		TEST(openmetrics_has_sorted_families_and_an_end),
		TEST(the_older_text_names_the_family_of_a_total_as_its_samples),
		TEST(openmetrics_keeps_one_of_what_contradicts),
		TEST(a_file_prints_readably),
		TEST(what_has_the_temporary_name_is_not_written_into),
#ifdef GARNER_FAULTS
		TEST(a_failed_creation_leaves_the_old_file),
		TEST(a_writer_killed_before_the_rename_is_in_nobodys_way),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
