/* Host queues that are saved, restored, spilled, refused by a full disk and killed. */
#include "base/fault.h"
#include "base/file.h"
#include "disk/format.h"
#include "hostq_unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void fill(struct hostq *q, unsigned hosts, unsigned urls)
{
	char text[64];
	for (unsigned i = 0; i < urls; i++) {
		snprintf(text, sizeof text, "http://host%u.example/%u", i % hosts, i);
		push_text(q, i % hosts, i % 3, text, i * 3);
	}
}

static void a_saved_file_has_rules_lines_and_pauses(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = S}, .queues = 2};
	const char *path = scratch("lines");
	struct hostq *q = make(&o);
	struct polite_rule slow = {.delay_us = 60 * S, .concurrent = 2};
	struct err err;
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	hostq_set_rule(q, server(1), &slow);
	push_text(q, 2, 0, "c", 0);
	push_text(q, 4, 0, "d", 0);
	push_text(q, 3, 0, "e", 0);
	takes(q, START, "a");
	assert_int_equal(hostq_save(q, path, START + 10 * S, &err), 0);
	hostq_free(&q);
	assert_int_equal(hostq_restore(&q, path, &o, 0, &err), 0);
	assert_int_equal(counts(q).urls, 5);
	assert_int_equal(counts(q).leftovers, 2);
	struct hostq_job c = takes(q, 0, "c");
	assert_int_equal(waits(q, 0), 50 * S);
	hostq_done(q, &c, OUTCOME_OK, S);
	struct hostq_job d = takes(q, S, "d");
	hostq_done(q, &d, OUTCOME_OK, S);
	takes(q, S, "e");
	takes(q, 50 * S, "a"); /* it was out */
	takes(q, 110 * S, "b");
	hostq_free(&q);
}

static void an_empty_file_restores_to_nothing(void **state)
{
	(void)state;
	const char *path = scratch("empty");
	struct hostq *q = make(&plain);
	struct err err;
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	hostq_free(&q);
	assert_int_equal(hostq_restore(&q, path, &plain, START, &err), 0);
	assert_int_equal(counts(q).urls, 0);
	hostq_free(&q);
	assert_int_equal(hostq_restore(&q, scratch("not there"), &plain, START, &err), 1);
	assert_null(q);
}

/* Not synced, because there are thousands. */
static void write_file(const char *path, struct str bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	close(fd);
}

static void a_damaged_or_cut_file_is_refused_with_its_place(void **state)
{
	(void)state;
	const char *path = scratch("whole"), *bad = scratch("bad");
	struct hostq *q = make(&plain);
	struct err err;
	CLEANUP(buf_free) struct buf file = BUF_INIT(1 << 20);
	fill(q, 5, 40);
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	assert_int_equal(format_verify(&hostq_format, path, &err), 0);
	hostq_free(&q);
	assert_int_equal(file_slurp(path, &file, &err), 0);
	for (size_t i = 0; i < file.n; i++) {
		if (i >= 12 && i < 16)
			continue; /* spare bytes */
		file.p[i] ^= 0x10;
		write_file(bad, buf_str(&file));
		assert_true(hostq_restore(&q, bad, &plain, START, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, bad));
		assert_null(q);
		file.p[i] ^= 0x10;
	}
	for (size_t n = 0; n < file.n; n++) {
		write_file(bad, str_head(buf_str(&file), n));
		assert_true(hostq_restore(&q, bad, &plain, START, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
}

static void emit(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static void dump_shows_the_queues(void **state)
{
	(void)state;
	const char *path = scratch("dump");
	struct hostq *q = make(&plain);
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct err err;
	fill(q, 2, 10);
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	assert_int_equal(format_print(&hostq_format, path, emit, &out, &err), 0);
	assert_non_null(strstr(out.p, "0a000000: 5 URLs in "));
	assert_non_null(strstr(out.p, "0a000001: 5 URLs in "));
	hostq_free(&q);
}

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

static void a_failed_save_leaves_the_old_file(void **state)
{
	(void)state;
	const char *path = scratch("old");
	const char *faults[] = {"file.open/old=enospc", "file.write/old=short", "file.sync/old=eio",
				"file.rename/old=enospc"};
	struct hostq *q = make(&plain);
	struct err err;
	fill(q, 5, 10);
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	fill(q, 5, 10);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_int_equal(fault_arm(faults[i], &err), 0);
		assert_true(hostq_save(q, path, START, &err) < 0);
		assert_int_equal(fault_fired(), 1);
		assert_int_equal(fault_arm(NULL, &err), 0);
		struct hostq *old = NULL;
		assert_int_equal(hostq_restore(&old, path, &plain, START, &err), 0);
		assert_int_equal(counts(old).urls, 10);
		hostq_free(&old);
		assert_int_equal(access(scratch("old.new"), F_OK), -1);
	}
	assert_int_equal(counts(q).urls, 20);
	hostq_free(&q);
}
#endif

#ifdef GARNER_FAULTS
/* What a process did until it was killed at a point; true if it was. */
static bool killed_at(const char *point, void (*fn)(struct hostq *q, const char *path),
		      struct hostq *q, const char *path)
{
	char faults[128];
	struct err err;
	snprintf(faults, sizeof faults, "%s=kill", point);
	pid_t pid = fork();
	if (pid == 0) {
		if (fault_arm(faults, &err) == 0)
			fn(q, path);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void save(struct hostq *q, const char *path)
{
	struct err err;
	assert_int_equal(hostq_save(q, path, START, &err), 0);
}

static void killed_while_saving_the_file_is_the_old_one_or_the_new(void **state)
{
	(void)state;
	const char *path = scratch("killed");
	const struct {
		const char *point;
		uint64_t urls;
	} cases[] = {
		{"hostq.save.written", 10},
		{"hostq.save.synced", 10},
		{"hostq.save.renamed", 30},
	};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct hostq *q = make(&plain), *found = NULL;
		fill(q, 5, 10);
		assert_int_equal(hostq_save(q, path, START, &err), 0);
		fill(q, 5, 20);
		assert_true(killed_at(cases[i].point, save, q, path));
		assert_int_equal(hostq_restore(&found, path, &plain, START, &err), 0);
		assert_int_equal(counts(found).urls, cases[i].urls);
		hostq_free(&found);
		assert_int_equal(hostq_save(q, path, START, &err), 0); /* over what is left */
		assert_int_equal(access(scratch("killed.new"), F_OK), -1);
		hostq_free(&q);
	}
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

static void spill_and_drain(struct hostq *q, const char *path)
{
	static char text[2000];
	struct err err;
	struct hostq_job job;
	int64_t wait;
	(void)path;
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
		assert_true(killed_at(points[i], spill_and_drain, q, NULL));
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
		cmocka_unit_test(a_saved_file_has_rules_lines_and_pauses),
		cmocka_unit_test(an_empty_file_restores_to_nothing),
		cmocka_unit_test(a_damaged_or_cut_file_is_refused_with_its_place),
		cmocka_unit_test(dump_shows_the_queues),
		cmocka_unit_test(without_a_folder_the_budget_is_the_end),
		cmocka_unit_test(space_in_the_file_is_used_again),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_full_disk_refuses_the_url_and_keeps_the_others),
		cmocka_unit_test(what_cannot_be_read_back_is_put_off_and_not_lost),
		cmocka_unit_test(a_failed_save_leaves_the_old_file),
		cmocka_unit_test(killed_while_saving_the_file_is_the_old_one_or_the_new),
		cmocka_unit_test(killed_while_spilling_nothing_is_left_behind),
		cmocka_unit_test(a_failed_compaction_loses_nothing),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
