/* Record files whose writes, syncs and cuts are refused: what is said to be kept is there, and
 * nothing else. */
#include "refused.h"

#ifdef GARNER_FAULTS

/* Groups of 1, 2, 3 ... numbers; a group that fails is not tried again. Returns what was said to be
 * kept, and counts what was not. */
static size_t write_groups(struct record_writer *w, uint32_t *kept, size_t *ret_failed)
{
	size_t n = 0;
	uint32_t number = 0;
	for (unsigned size = 1; size <= 6; size++) {
		struct record_group g = {0};
		struct err err = {0};
		uint32_t mine[8];
		unsigned k = 0;
		int rc = 0;
		for (; k < size && rc == 0; k++) {
			mine[k] = number++;
			rc = record_append(w, (struct str){(char *)&mine[k], 4}, &g, NULL, &err);
		}
		if (rc == 0)
			rc = record_sync(w, &g, &err);
		if (rc == 0) {
			memcpy(kept + n, mine, k * sizeof *mine);
			n += k;
		} else {
			assert_true(err.sys_errno == EIO || err.sys_errno == ENOSPC);
			++*ret_failed;
		}
	}
	return n;
}

/* One writer, one refusal at each place in turn: what was said to be kept is there, and nothing
 * else. */
static void try_every_place(const char *what, const char *also)
{
	unsigned n = 0;
	for (bool fired = true; fired; n++) {
		char name[64], spec[128];
		snprintf(name, sizeof name, "%.16s.%u%s", what, n, also);
		for (char *p = name; *p; p++)
			*p = *p == '=' || *p == '/' || *p == ',' ? '_' : *p;
		const char *path = scratch(name);
		uint32_t kept[64];
		size_t failed = 0;
		snprintf(spec, sizeof spec, "%s@%u%s", what, n + 1, also);
		arm(spec);
		struct record_writer *w = open_file(path);
		size_t nkept = write_groups(w, kept, &failed);
		fired = fault_fired() > 0;
		struct err err = {0};
		(void)record_close(&w, &err);
		arm("");
		assert_true(failed <= 2);
		numbers_are(path, kept, nkept);
		w = open_file(path);
		numbers_are(path, kept, nkept);
		assert_int_equal(record_close(&w, &err), 0);
		numbers_are(path, kept, nkept);
	}
	assert_true(n > (*also ? 1 : 4));
}

static void a_write_without_space_loses_its_group_and_no_other(void **state)
{
	(void)state;
	try_every_place("file.write=enospc", "");
}

static void a_write_that_fails_loses_its_group_and_no_other(void **state)
{
	(void)state;
	try_every_place("file.write=eio", "");
}

static void half_a_write_leaves_nothing_half(void **state)
{
	(void)state;
	try_every_place("file.write=short", "");
}

static void a_sync_that_fails_loses_its_group_and_no_other(void **state)
{
	(void)state;
	try_every_place("file.sync=eio", "");
}

static void a_cut_back_that_fails_is_done_later(void **state)
{
	(void)state;
	try_every_place("file.write=short", ",file.truncate/write=eio@2");
	try_every_place("file.sync=eio", ",file.truncate/sync=eio@2");
}

static void the_error_says_what_is_not_kept(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("says"));
	struct record_group g = {0};
	struct err err = {0};
	uint64_t durable = record_durable(w);
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_append(w, STR("abc"), &g, NULL, &err), 0);
	arm("file.write=enospc");
	assert_int_equal(record_sync(w, &g, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_non_null(strstr(err.msg, "says: write of 65 bytes at 32: No space left on device; "
					"3 records from 32 on are not kept"));
	assert_int_equal(record_durable(w), durable);
	assert_int_equal(record_end(w), durable);
	assert_int_equal(record_close(&w, &err), 0);
}

static void a_file_that_cannot_be_cut_back_takes_nothing_until_it_can(void **state)
{
	(void)state;
	const char *path = scratch("stuck");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	uint32_t number = 7;
	struct str bytes = {(char *)&number, 4};
	assert_int_equal(record_append(w, bytes, &g, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), 0);
	arm("file.sync=eio@1+,file.truncate=eio@1+");
	assert_int_equal(record_append(w, bytes, &g, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), -1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(record_append(w, bytes, &g, NULL, &err), -1);
		assert_non_null(strstr(err.msg, "cannot take back what failed before"));
		assert_int_equal(record_truncate(w, RECORD_HEADER, &err), -1);
	}
	assert_int_equal(record_sync(w, &g, &err), 0); /* of nothing */
	arm("");
	numbers_are(path, (uint32_t[]){7, 7}, 2); /* never said to be kept; still to be cut */
	assert_int_equal(record_append(w, bytes, &g, NULL, &err), 0);
	numbers_are(path, (uint32_t[]){7}, 1);
	assert_int_equal(record_sync(w, &g, &err), 0);
	assert_int_equal(record_close(&w, &err), 0);
	numbers_are(path, (uint32_t[]){7, 7}, 2);
}

static void a_cut_back_counts_only_when_it_is_synced(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("cutsync"));
	struct record_group g = {0};
	struct err err = {0};
	assert_int_equal(record_append(w, STR("x"), &g, NULL, &err), 0);
	arm("file.write=enospc,file.sync=eio@1,file.sync=eio@2");
	assert_int_equal(record_sync(w, &g, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(record_append(w, STR("x"), &g, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "cannot take back"));
	assert_int_equal(record_append(w, STR("x"), &g, NULL, &err), 0);
	assert_int_equal(record_close(&w, &err), 0);
}

/* A caller that appends much and keeps no account of the middle. */
static void a_group_that_lost_a_part_takes_no_more(void **state)
{
	(void)state;
	const char *path = scratch("middle");
	struct record_writer *w = open_file(path);
	struct record_group g = {0}, other = {0};
	struct err err = {0};
	static char block[64 << 10];
	arm("file.write=enospc");
	int taken = 0;
	for (int i = 0; i < 40; i++)
		taken += record_append(w, (struct str){block, sizeof block}, &g, NULL, &err) == 0;
	assert_int_equal(taken, 15); /* the batch of 1 MiB was full */
	assert_int_equal(fault_fired(), 1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(record_append(w, STR("\7\0\0\0"), &other, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(record_sync(w, &other, &err), 0);
	assert_int_equal(record_close(&w, &err), 0);
	numbers_are(path, (uint32_t[]){7}, 1);
}

/* Another's sync fails while this group is being filled. */
static void a_group_loses_its_beginning_only_with_its_end(void **state)
{
	(void)state;
	const char *path = scratch("beginning");
	struct record_writer *w = open_file(path);
	struct record_group g = {0}, other = {0};
	struct err err = {0};
	assert_int_equal(record_append(w, STR("one "), &g, NULL, &err), 0);
	assert_int_equal(record_append(w, STR("else"), &other, NULL, &err), 0);
	arm("file.sync=eio");
	assert_int_equal(record_sync(w, &other, &err), -1);
	assert_int_equal(record_append(w, STR("two "), &g, NULL, &err), -1);
	assert_int_equal(err.sys_errno, EIO);
	assert_int_equal(record_sync(w, &g, &err), -1);
	assert_int_equal(record_close(&w, &err), 0);
	numbers_are(path, NULL, 0);
}

static void a_loss_is_remembered_for_those_who_ask_late(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("late"));
	struct record_group old = {0}, kept = {0};
	struct err err = {0};
	assert_int_equal(record_append(w, STR("old"), &old, NULL, &err), 0);
	for (int i = 0; i < 40; i++) {
		struct record_group bad = {0}, good = {0};
		arm("file.sync=eio");
		assert_int_equal(record_append(w, STR("bad"), &bad, NULL, &err), 0);
		assert_int_equal(record_sync(w, &bad, &err), -1);
		struct record_group asked = old;
		assert_int_equal(record_sync(w, &asked, &err), -1);
		arm("");
		assert_int_equal(record_append(w, STR("good"), &good, NULL, &err), 0);
		if (i == 39)
			assert_int_equal(record_append(w, STR("kept"), &kept, NULL, &err), 0);
		assert_int_equal(record_sync(w, &good, &err), 0);
	}
	struct record_group last = {0};
	assert_int_equal(record_append(w, STR("last"), &last, NULL, &err), 0);
	arm("file.sync=eio");
	assert_int_equal(record_sync(w, &last, &err), -1);
	assert_int_equal(record_sync(w, &old, &err), -1);
	assert_int_equal(record_sync(w, &kept, &err), 0);
	assert_int_equal(record_close(&w, &err), 0);
}

static void one_sync_serves_a_whole_group(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("once"));
	struct record_group g = {0};
	struct err err = {0};
	arm("file.sync=eio@2");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(record_append(w, STR("a record"), &g, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), 0);
	assert_int_equal(record_append(w, STR("a record"), &g, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), -1);
	assert_int_equal(record_close(&w, &err), 0);
}

/* What a killed writer left may be in memory only: it counts when it has been written and synced
 * again. A file that was closed needs neither. */
static void what_is_found_is_synced_before_it_counts(void **state)
{
	(void)state;
	const char *path = scratch("found");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	assert_int_equal(record_append(w, STR("abcd"), &g, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), 0);
	record_drop(&w);
	arm("file.sync=eio");
	assert_int_equal(record_open(&w, path, &kind, 0644, NULL, &err), -1);
	arm("file.write=eio");
	assert_int_equal(record_open(&w, path, &kind, 0644, NULL, &err), -1);
	assert_int_equal(fault_fired(), 1);
	arm("");
	w = open_file(path);
	assert_int_equal(record_durable(w), record_end(w));
	assert_int_equal(record_close(&w, &err), 0);
	arm("file.sync=eio@1+,file.write=eio@1+,file.truncate=eio@1+");
	assert_int_equal(record_open(&w, path, &kind, 0644, NULL, &err), 0);
	assert_int_equal(record_close(&w, &err), 0);
	assert_int_equal(fault_fired(), 0);
}

static void a_cut_to_a_checkpoint_that_fails_leaves_a_whole_file(void **state)
{
	(void)state;
	static const char *const steps[] = {"file.truncate=eio", "file.sync=eio"};
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		const char *path = scratch(i ? "tosync" : "totruncate");
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		struct err err = {0};
		struct record_place place = {0};
		uint32_t number[] = {1, 2};
		for (int k = 0; k < 2; k++)
			assert_int_equal(record_append(w, (struct str){(char *)&number[k], 4}, &g,
						       k ? NULL : &place, &err),
					 0);
		assert_int_equal(record_sync(w, &g, &err), 0);
		arm(steps[i]);
		assert_int_equal(record_truncate(w, place.next, &err), -1);
		assert_int_equal(fault_fired(), 1);
		arm("");
		numbers_are(path, number, i ? 1 : 2);
		assert_int_equal(
			record_append(w, (struct str){(char *)&number[1], 4}, &g, NULL, &err), 0);
		assert_int_equal(record_sync(w, &g, &err), 0);
		assert_int_equal(record_close(&w, &err), 0);
		numbers_are(path, i ? number : (uint32_t[]){1, 2, 2}, i ? 2 : 3);
	}
}

static void a_full_disk_does_not_stop_a_cut(void **state)
{
	(void)state;
	const char *path = scratch("freeing");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	assert_int_equal(record_append(w, STR("abcd"), &g, NULL, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), 0);
	assert_int_equal(record_append(w, STR("efgh"), &g, NULL, &err), 0);
	arm("file.write=enospc@1+");
	assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
	assert_int_equal(record_sync(w, &g, &err), -1);
	arm("");
	assert_int_equal(record_close(&w, &err), 0);
	numbers_are(path, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_write_without_space_loses_its_group_and_no_other,
					  disarm),
		cmocka_unit_test_teardown(a_write_that_fails_loses_its_group_and_no_other, disarm),
		cmocka_unit_test_teardown(half_a_write_leaves_nothing_half, disarm),
		cmocka_unit_test_teardown(a_sync_that_fails_loses_its_group_and_no_other, disarm),
		cmocka_unit_test_teardown(a_cut_back_that_fails_is_done_later, disarm),
		cmocka_unit_test_teardown(the_error_says_what_is_not_kept, disarm),
		cmocka_unit_test_teardown(a_file_that_cannot_be_cut_back_takes_nothing_until_it_can,
					  disarm),
		cmocka_unit_test_teardown(a_cut_back_counts_only_when_it_is_synced, disarm),
		cmocka_unit_test_teardown(a_group_that_lost_a_part_takes_no_more, disarm),
		cmocka_unit_test_teardown(a_group_loses_its_beginning_only_with_its_end, disarm),
		cmocka_unit_test_teardown(a_loss_is_remembered_for_those_who_ask_late, disarm),
		cmocka_unit_test_teardown(one_sync_serves_a_whole_group, disarm),
		cmocka_unit_test_teardown(what_is_found_is_synced_before_it_counts, disarm),
		cmocka_unit_test_teardown(a_cut_to_a_checkpoint_that_fails_leaves_a_whole_file,
					  disarm),
		cmocka_unit_test_teardown(a_full_disk_does_not_stop_a_cut, disarm),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}

#else

static void nothing_to_refuse_in_a_build_without_faults(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_refuse_in_a_build_without_faults),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}

#endif
