/* Host queues that are spilled, refused by a full disk and killed. */
#include "base/fault.h"
#include "base/file.h"
#include "hostq_unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef GARNER_FAULTS
/* Takes everything; returns the sum of users. */
static uint64_t drain(struct hostq *q, uint64_t *ret_n)
{
	uint64_t sum = 0;
	int64_t now = START, wait;
	struct hostq_job job;
	struct err err;
	*ret_n = 0;
	for (int rc; (rc = hostq_take(q, now, &job, &wait, &err)) == 0 || wait < INT64_MAX;) {
		if (rc != 0) {
			now += wait;
			continue;
		}
		sum += job.user;
		++*ret_n;
		hostq_done(q, &job, OUTCOME_OK, now);
	}
	return sum;
}

static void a_full_disk_refuses_the_url_and_keeps_the_others(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	struct hostq *q = make(&o);
	char text[700];
	struct err err;
	uint64_t sum = 0, n = 0, refused = 0, got;
	memset(text, 'x', sizeof text);
	for (uint64_t i = 0; i < 10000; i++) {
		if (i == 3000)
			assert_int_equal(fault_arm("file.write=short@2+", &err), 0);
		if (i == 6000)
			assert_int_equal(fault_arm(NULL, &err), 0);
		if (hostq_push(q, server((uint32_t)(i % 20)), 0, (struct str){text, sizeof text}, i,
			       &err) == 0) {
			sum += i;
			n++;
		} else {
			assert_int_equal(err.code, ERR_SYSTEM);
			refused++;
		}
	}
	assert_true(refused > 100 && refused < 3001);
	assert_int_equal(counts(q).urls, n);
	assert_true(counts(q).spilled > 0);
	assert_true(drain(q, &got) == sum && got == n);
	hostq_free(&q);
}

static void what_cannot_be_read_back_is_put_off_and_not_lost(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	struct hostq *q = make(&o);
	char text[700];
	struct err err;
	struct hostq_job job;
	int64_t wait;
	uint64_t sum = 0, n = 5000, got;
	memset(text, 'x', sizeof text);
	for (uint64_t i = 0; i < n; i++, sum += i - 1)
		assert_int_equal(hostq_push(q, server((uint32_t)(i % 4)), 0,
					    (struct str){text, sizeof text}, i, &err),
				 0);
	assert_int_equal(fault_arm("file.read=eio@1+", &err), 0);
	int failed = 0;
	uint64_t taken = 0;
	for (int rc; (rc = hostq_take(q, START, &job, &wait, &err)) <= 0;) {
		if (rc == 0) {
			sum -= job.user;
			taken++;
			hostq_done(q, &job, OUTCOME_OK, START);
			continue;
		}
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_non_null(strstr(err.msg, "0a0000"));
		failed++;
	}
	assert_int_equal(failed, 4);
	assert_int_equal(wait, US_PER_MIN);
	assert_int_equal(fault_arm(NULL, &err), 0);
	assert_int_equal(counts(q).urls, n - taken);
	assert_true(drain(q, &got) == sum && got == n - taken);
	hostq_free(&q);
}

/* What a process did until it was killed at a point; true if it was. */
static bool killed_at(const char *point, void (*fn)(struct hostq *q), struct hostq *q)
{
	char faults[128];
	struct err err;
	snprintf(faults, sizeof faults, "%s=kill", point);
	pid_t pid = fork();
	if (pid == 0) {
		if (fault_arm(faults, &err) == 0)
			fn(q);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static size_t names_in(const char *folder)
{
	struct dir d;
	struct err err;
	assert_int_equal(dir_init(&d, folder, &err), 0);
	size_t n = d.n;
	dir_done(&d);
	return n;
}

static void spill_and_drain(struct hostq *q)
{
	static char text[2000];
	struct err err;
	struct hostq_job job;
	int64_t wait;
	for (uint64_t i = 0; i < 60000; i++) { /* 4 MB of 120 stay */
		if (hostq_push(q, server(1), 0, (struct str){text, sizeof text}, i, &err) < 0)
			return;
		if (i > 2000 && hostq_take(q, START, &job, &wait, &err) == 0)
			hostq_done(q, &job, OUTCOME_OK, START);
	}
}

static void killed_while_spilling_nothing_is_left_behind(void **state)
{
	(void)state;
	const char *points[] = {"hostq.spill", "hostq.read", "hostq.compact"};
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	size_t before = names_in(scratch_dir);
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		struct hostq *q = make(&o);
		assert_true(killed_at(points[i], spill_and_drain, q));
		assert_int_equal(names_in(scratch_dir), before);
		hostq_free(&q);
	}
}

/* Where the file cannot be written anew the old one goes on. */
static void a_failed_compaction_loses_nothing(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	static char text[2000];
	struct hostq *q = make(&o);
	struct hostq_job job;
	struct err err;
	int64_t wait;
	uint64_t expected = 0;
	for (uint64_t i = 0; i < 40000; i++) {
		/* the folder is opened for nothing but a new file */
		if (i == 3000)
			assert_int_equal(fault_arm("file.open=enospc@1+", &err), 0);
		assert_int_equal(
			hostq_push(q, server(1), 0, (struct str){text, sizeof text}, i, &err), 0);
		if (i < 2000)
			continue;
		assert_int_equal(hostq_take(q, START, &job, &wait, &err), 0);
		assert_int_equal(job.user, expected++);
		hostq_done(q, &job, OUTCOME_OK, START);
	}
	assert_true(fault_fired() >= 1);
	assert_int_equal(fault_arm(NULL, &err), 0);
	hostq_free(&q);
}
#endif

static void without_a_folder_the_budget_is_the_end(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1};
	struct hostq *q = make(&o);
	char text[1000];
	struct err err;
	memset(text, 'x', sizeof text);
	unsigned n = 0;
	while (n < 5000 &&
	       hostq_push(q, server(n % 9), 0, (struct str){text, sizeof text}, n, &err) == 0)
		n++;
	assert_in_range(n, 800, 1048);
	assert_non_null(strstr(err.msg, "not taken"));
	assert_int_equal(counts(q).urls, n);
	hostq_free(&q);
}

/* The file of what did not fit does not grow for ever. */
static void space_in_the_file_is_used_again(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	struct hostq *q = make(&o);
	char text[2000];
	struct err err;
	struct hostq_job job;
	int64_t wait, now = START;
	uint64_t next = 0, expected = 0;
	memset(text, 'x', sizeof text);
	for (int round = 0; round < 60; round++) { /* 120 MB through a queue of 6 MB */
		for (int i = 0; i < 1000; i++, next++)
			assert_int_equal(hostq_push(q, server(1), 0,
						    (struct str){text, sizeof text}, next, &err),
					 0);
		for (int i = 0; round >= 3 && i < 1000; i++, expected++) {
			assert_int_equal(hostq_take(q, now, &job, &wait, &err), 0);
			assert_int_equal(job.user, expected);
			hostq_done(q, &job, OUTCOME_OK, now);
		}
		assert_true(counts(q).disk < 40 << 20);
	}
	hostq_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_folder_the_budget_is_the_end),
		cmocka_unit_test(space_in_the_file_is_used_again),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_full_disk_refuses_the_url_and_keeps_the_others),
		cmocka_unit_test(what_cannot_be_read_back_is_put_off_and_not_lost),
		cmocka_unit_test(killed_while_spilling_nothing_is_left_behind),
		cmocka_unit_test(a_failed_compaction_loses_nothing),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
