/* The system refuses: a full disk, or an error, at every write, sync, rename and cut in turn. What
 * was told durable stays, and the next start goes on. */
#include "base/fault.h"
#include "unit/state/play_unit.h"

enum { OPERATIONS = 12, EVERY = 4 };

/* A cycle with cleanup and audit until something fails; *ret_told is what was durable then. */
static int work(const char *folder, uint64_t *ret_told, struct err *err)
{
	struct play p;
	struct play_model m = {0};
	const struct states_keep keep = {.closed = 1, .corked = 0, .gone_us = 1};
	unsigned deleted;
	uint64_t told = 0;
	if (play_open(&p, folder, PLAY_START, NULL, err) < 0)
		return -1;
	int rc = play_begin(&p, err);
	for (uint64_t k = 0; rc == 0 && k < OPERATIONS; k++) {
		rc = play_op(&p, &m, k, err);
		if (rc == 0 && (k + 1) % EVERY == 0 && (rc = play_checkpoint(&p, err)) == 0)
			told = k + 1;
	}
	if (rc == 0)
		rc = play_cork(&p, err);
	if (rc == 0)
		rc = play_merge(&p, err);
	if (rc == 0)
		rc = play_cleanup(&p, err);
	if (rc == 0)
		rc = states_audit(p.s, &keep, p.now_us, &deleted, err);
	play_close(&p);
	*ret_told = told;
	return rc;
}

/* A fault that hits once, at each passing in turn, until there are no more. */
static void at_every(const char *fault)
{
	const char *folder = scratch("faults");
	struct err err = {0};
	uint64_t n, failed = 0;
	for (n = 1;; n++) {
		char spec[64];
		uint64_t told = 0, k;
		struct play p;
		struct recovery r = {0};
		assert_true(tree_remove(folder, &err) >= 0);
		MUST(states_init(folder, 0, PLAY_START, &err));
		snprintf(spec, sizeof spec, "%s@%" PRIu64, fault, n);
		MUST(fault_arm(spec, &err));
		int rc = work(folder, &told, &err);
		bool fired = fault_fired() > 0;
		MUST(fault_arm("", &err));
		failed += rc < 0;
		if (!fired)
			break;
		if (play_open(&p, folder, PLAY_START, &r, &err) < 0)
			fail_msg("%s: next start: %s", spec, err.msg);
		if (play_ops(&p, &k, &err) < 0 || k < told || play_check(&p, k, false, &err) < 0)
			fail_msg("%s: %" PRIu64 " told, %" PRIu64 " there: %s\n%s", spec, told, k,
				 err.msg, buf_text(&r.told));
		if (r.damaged)
			fail_msg("%s: %s", spec, buf_text(&r.told));
		recovery_free(&r);
		play_close(&p);
	}
	assert_true(n > 5 && failed > 3);
}

static void a_full_disk_at_every_write(void **state)
{
	(void)state;
	at_every("file.write=enospc");
}

/* The work above writes every file that there is: none is left out by the other tests. */
static void every_file_is_among_those_that_are_refused(void **state)
{
	(void)state;
	static const char *const files[] = {"control", "index",   "sites",       "contrib",
					    "journal", "changes", "checkpoints", "plan",
					    "gone",    "objects"};
	const char *folder = scratch("refusals");
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char spec[64];
		uint64_t told = 0;
		assert_true(tree_remove(folder, &err) >= 0);
		MUST(states_init(folder, 0, PLAY_START, &err));
		snprintf(spec, sizeof spec, "file.write/%s=enospc", files[i]);
		MUST(fault_arm(spec, &err));
		int rc = work(folder, &told, &err);
		uint64_t fired = fault_fired();
		MUST(fault_arm("", &err));
		if (rc == 0 || fired == 0)
			fail_msg("%s: rc %d, refused %" PRIu64 " times", files[i], rc, fired);
		assert_int_equal(ERR_SYSTEM, err.code);
	}
}

static void half_a_write_at_every_write(void **state)
{
	(void)state;
	at_every("file.write=short");
}

static void an_error_at_every_sync(void **state)
{
	(void)state;
	at_every("file.sync=eio");
}

static void an_error_at_every_rename(void **state)
{
	(void)state;
	at_every("file.rename=eio");
}

static void a_recovery_that_is_refused_is_made_the_next_time(void **state)
{
	(void)state;
	static const char *const faults[] = {"file.write=enospc", "file.sync=eio",
					     "file.rename=eio", "file.truncate=eio"};
	const char *whole = scratch("killed"), *copy = scratch("refused");
	struct err err = {0};
	uint64_t failed = 0;
	play_some(whole, 8, 3);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		for (uint64_t n = 1;; n++) {
			char spec[64];
			struct play p;
			fresh_copy(whole, copy);
			snprintf(spec, sizeof spec, "%s@%" PRIu64, faults[i], n);
			MUST(fault_arm(spec, &err));
			int rc = play_open(&p, copy, PLAY_START, NULL, &err);
			bool fired = fault_fired() > 0;
			MUST(fault_arm("", &err));
			failed += rc < 0;
			if (rc == 0)
				play_close(&p);
			if (!fired)
				break;
			MUST(play_open(&p, copy, PLAY_START, NULL, &err));
			MUST(play_check(&p, 8, true, &err));
			play_close(&p);
		}
	}
	assert_true(failed > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_at_every_write),
		cmocka_unit_test(every_file_is_among_those_that_are_refused),
		cmocka_unit_test(half_a_write_at_every_write),
		cmocka_unit_test(an_error_at_every_sync),
		cmocka_unit_test(an_error_at_every_rename),
		cmocka_unit_test(a_recovery_that_is_refused_is_made_the_next_time),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
