#include "base/fault.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef GARNER_FAULTS

static void pass_zebra(void)
{
	FAULT("test.zebra");
}

static void pass_apple(void)
{
	FAULT("test.apple");
}

static void arm(const char *spec)
{
	struct err err;
	assert_int_equal(fault_arm(spec, &err), 0);
}

static void points_are_listed_sorted_and_once(void **state)
{
	(void)state;
	FAULT("test.zebra");
	struct buf out = BUF_INIT(65536);
	fault_list(&out);
	assert_non_null(strstr(buf_text(&out), "test.apple\ntest.zebra\n"));
	const char *first = strstr(buf_text(&out), "test.zebra");
	assert_null(strstr(first + 1, "test.zebra"));
	buf_free(&out);
}

static void an_action_comes_at_the_nth_time_only(void **state)
{
	(void)state;
	arm("file.write=eio@3");
	assert_int_equal(fault_pass("file.write", "x"), FAULT_NONE);
	assert_int_equal(fault_pass("file.sync", "x"), FAULT_NONE);
	assert_int_equal(fault_pass("file.write", "x"), FAULT_NONE);
	assert_int_equal(fault_fired(), 0);
	assert_int_equal(fault_pass("file.write", "x"), FAULT_EIO);
	assert_int_equal(fault_pass("file.write", "x"), FAULT_NONE);
	assert_int_equal(fault_fired(), 1);
}

static void a_plus_means_every_later_time_too(void **state)
{
	(void)state;
	arm("file.write=enospc@2+");
	assert_int_equal(fault_pass("file.write", "x"), FAULT_NONE);
	assert_int_equal(fault_pass("file.write", "x"), FAULT_ENOSPC);
	assert_int_equal(fault_pass("file.write", "x"), FAULT_ENOSPC);
}

static void a_text_counts_only_the_files_that_contain_it(void **state)
{
	(void)state;
	arm("file.write/journal=short");
	assert_int_equal(fault_pass("file.write", "/a/index"), FAULT_NONE);
	assert_int_equal(fault_pass("file.write", "/a/journal.1"), FAULT_SHORT);
}

static void several_rules_count_apart(void **state)
{
	(void)state;
	arm("file.write/a=eio@2,file.write/b=enospc,file.sync=eio");
	assert_int_equal(fault_pass("file.write", "a"), FAULT_NONE);
	assert_int_equal(fault_pass("file.write", "b"), FAULT_ENOSPC);
	assert_int_equal(fault_pass("file.write", "a"), FAULT_EIO);
	assert_int_equal(fault_pass("file.sync", "a"), FAULT_EIO);
}

static void nothing_is_armed_by_an_empty_specification(void **state)
{
	(void)state;
	arm("file.write=eio@1+");
	arm("");
	assert_false(fault_armed);
	assert_int_equal(FAULT_FILE("file.write", "x"), FAULT_NONE);
	arm("file.write=eio@1+");
	arm(NULL);
	assert_false(fault_armed);
}

static void bad_specifications_are_named_and_disarm(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{"file.write", "no =ACTION"},
		{",", "no =ACTION"},
		{"file.write=eio,", "no =ACTION"},
		{"=kill", "does not have"},
		{"file.write=burn", "action"},
		{"file.write=", "action"},
		{"file.write=eio@", "count"},
		{"file.write=eio@0", "count"},
		{"file.write=eio@+", "count"},
		{"file.write=eio@x", "count"},
		{"file.write=eio@99999999999999999999", "count"},
		{"file.wrote=eio", "does not have"},
		{"test.apple=eio", "cannot do"},
		{"file.sync=short", "cannot do"},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		assert_int_equal(fault_arm(bad[i][0], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.msg, bad[i][1]))
			fail_msg("\"%s\" said: %s", bad[i][0], err.msg);
		assert_false(fault_armed);
	}
	struct buf spec = BUF_INIT(4096);
	buf_add_text(&spec, "file.write/");
	buf_fill(&spec, 'x', 1000);
	buf_add_text(&spec, "=eio");
	struct err err = {0};
	assert_int_equal(fault_arm(buf_text(&spec), &err), -1);
	assert_non_null(strstr(err.msg, "too long"));
	buf_clear(&spec);
	for (int i = 0; i < 17; i++)
		buf_printf(&spec, "%sfile.write=eio", i ? "," : "");
	assert_int_equal(fault_arm(buf_text(&spec), &err), -1);
	assert_non_null(strstr(err.msg, "too many"));
	buf_free(&spec);
}

static void a_slow_point_waits_and_then_does_what_else_is_asked(void **state)
{
	(void)state;
	arm("file.sync=slow@1+,file.sync=eio@2");
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(fault_pass("file.sync", "x"), FAULT_NONE);
	clock_gettime(CLOCK_MONOTONIC, &after);
	int64_t ns = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
	assert_true(ns >= 20000000);
	assert_int_equal(fault_pass("file.sync", "x"), FAULT_EIO);
	assert_int_equal(fault_fired(), 3);
}

static void refusals_set_errno(void **state)
{
	(void)state;
	arm("file.sync=eio,file.open=enospc");
	errno = 0;
	assert_true(FAULT_REFUSES("file.sync", "x"));
	assert_int_equal(errno, EIO);
	assert_true(FAULT_REFUSES("file.open", "x"));
	assert_int_equal(errno, ENOSPC);
	assert_false(FAULT_REFUSES("file.sync", "x"));
}

static void a_kill_comes_at_its_point_and_not_before(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err err;
		if (fault_arm("test.apple=kill@2", &err) < 0)
			_exit(3);
		pass_zebra();
		pass_apple();
		alarm(20);
		pass_apple();
		_exit(4);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void *pass_many(void *hits)
{
	for (int i = 0; i < 10000; i++)
		if (fault_pass("file.read", "x"))
			__atomic_fetch_add((int *)hits, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void threads_count_together(void **state)
{
	(void)state;
	arm("file.read=eio@30001+");
	pthread_t t[4];
	int hits = 0;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, pass_many, &hits), 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	assert_int_equal(hits, 10000);
	assert_int_equal(fault_fired(), 10000);
}

static int disarm(void **state)
{
	(void)state;
	struct err err;
	return fault_arm("", &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(points_are_listed_sorted_and_once, disarm),
		cmocka_unit_test_teardown(an_action_comes_at_the_nth_time_only, disarm),
		cmocka_unit_test_teardown(a_plus_means_every_later_time_too, disarm),
		cmocka_unit_test_teardown(a_text_counts_only_the_files_that_contain_it, disarm),
		cmocka_unit_test_teardown(several_rules_count_apart, disarm),
		cmocka_unit_test_teardown(nothing_is_armed_by_an_empty_specification, disarm),
		cmocka_unit_test_teardown(bad_specifications_are_named_and_disarm, disarm),
		cmocka_unit_test_teardown(a_slow_point_waits_and_then_does_what_else_is_asked,
					  disarm),
		cmocka_unit_test_teardown(refusals_set_errno, disarm),
		cmocka_unit_test_teardown(a_kill_comes_at_its_point_and_not_before, disarm),
		cmocka_unit_test_teardown(threads_count_together, disarm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_program_without_faults_refuses_to_be_armed(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(fault_arm("", &err), 0);
	assert_int_equal(fault_arm(NULL, &err), 0);
	assert_int_equal(fault_arm("file.write=eio", &err), -1);
	assert_non_null(strstr(err.msg, "built without faults"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_without_faults_refuses_to_be_armed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
