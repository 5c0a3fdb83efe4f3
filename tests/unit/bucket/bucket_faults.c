/* Bucket files whose writes, syncs and cuts are refused: what a sync said is kept stays, what is
 * lost is told, and appending goes on. */
#include "buckets.h"

#ifdef GARNER_FAULTS

enum { ROUNDS = 6, PER_ROUND = SIZES, MOST = ROUNDS * PER_ROUND };

struct kept {
	uint32_t oid[MOST], number[MOST];
	size_t n;
	uint64_t length;
	unsigned refusals;
};

/* A round that is refused is not tried again. */
static void append_rounds(struct buckets *b, struct kept *kept)
{
	static char room[300000];
	for (uint32_t r = 0; r < ROUNDS; r++) {
		struct err err = {0};
		uint32_t oid[PER_ROUND];
		uint64_t length = 0;
		int rc = 0;
		for (uint32_t i = 0; i < PER_ROUND && rc == 0; i++)
			rc = bucket_append(b, BUCKET_PLAIN, number_data(r * PER_ROUND + i, room),
					   &oid[i], &err);
		if (rc == 0)
			rc = bucket_sync(b, &length, &err);
		if (rc < 0) {
			assert_true(err.sys_errno == ENOSPC || err.sys_errno == EIO);
			kept->refusals++;
			continue;
		}
		for (uint32_t i = 0; i < PER_ROUND; i++) {
			kept->oid[kept->n] = oid[i];
			kept->number[kept->n++] = r * PER_ROUND + i;
		}
		kept->length = length;
		assert_int_equal(bucket_length(b), length);
	}
}

static void has_kept(struct buckets *b, const struct kept *kept)
{
	struct bucket_scan scan;
	struct bucket bucket;
	struct err err = {0};
	for (size_t i = 0; i < kept->n; i++)
		read_number(b, kept->oid[i], kept->number[i]);
	assert_int_equal(bucket_scan_init(&scan, b, 0, 0, &err), 0);
	size_t n = 0;
	while (bucket_scan_next(&scan, &bucket, &err) == 0)
		assert_int_equal(bucket.oid, kept->oid[n++]);
	assert_int_equal(n, kept->n);
	assert_false(scan.torn);
	bucket_scan_done(&scan);
}

/* One refusal at each place in turn, and everything from there on. */
static void try_every_place(const char *point, const char *action, bool buffered)
{
	unsigned n = 1;
	for (bool fired = true; fired; n++) {
		char spec[64];
		struct kept kept = {0};
		struct bucket_options o = {.mode = BUCKET_APPEND, .buffered = buffered};
		const char *path = scratch("refused");
		struct err err = {0};
		(void)unlink(path);
		struct buckets *b = open_as(path, o);
		snprintf(spec, sizeof spec, "%s/refused=%s@%u", point, action, n);
		arm(spec);
		append_rounds(b, &kept);
		fired = fault_fired() > 0;
		arm("");
		assert_int_equal(kept.refusals, fired);
		has_kept(b, &kept);
		assert_int_equal(bucket_close(&b, &err), 0);
		assert_int_equal(size_of(path), kept.length);
		b = open_as(path, o);
		has_kept(b, &kept);
		close_file(&b);
	}
	assert_true(n > ROUNDS);
}

static void a_write_that_is_refused_loses_what_was_not_synced(void **state)
{
	(void)state;
	try_every_place("file.write", "enospc", false);
	try_every_place("file.write", "short", false);
	try_every_place("file.write", "eio", true);
}

static void a_sync_that_is_refused_loses_what_was_not_synced(void **state)
{
	(void)state;
	try_every_place("file.sync", "eio", false);
}

static void as_long_as_all_is_refused_nothing_is_taken(void **state)
{
	(void)state;
	const char *path = scratch("broken");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	uint32_t first = append_number(b, 5), none;
	uint64_t length = sync_file(b);
	arm("file.sync/broken=eio@1+,file.truncate/broken=eio@1+");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &none, &err), i == 0 ? 0 : -1);
		assert_int_equal(bucket_sync(b, &length, &err), -1);
	}
	arm("");
	/* one more that tells, then it goes on from what was synced */
	assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &none, &err), -1);
	assert_non_null(strstr(err.msg, "not kept"));
	assert_int_equal(bucket_length(b), length);
	uint32_t second = append_number(b, 4);
	sync_file(b);
	read_number(b, first, 5);
	read_number(b, second, 4);
	close_file(&b);
}

/* A scan writes what was appended, and so meets the failure first; it must not swallow it. */
static void a_failure_met_by_a_scan_is_told_by_the_next_append(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("met"), BUCKET_APPEND);
	struct bucket_scan scan;
	struct err err = {0};
	uint32_t oid = append_number(b, 8), none;
	arm("file.write/met=enospc@1");
	assert_int_equal(bucket_scan_init(&scan, b, 0, 0, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	arm("");
	read_number(b, oid, 8);
	assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &none, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(bucket_length(b), 0);
	assert_int_equal(append_number(b, 8), 0);
	sync_file(b);
	close_file(&b);
}

/* The file could not be written, nor cut back: what was appended can still be read. */
static void what_a_refused_write_left_out_is_read_from_memory(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("out"), BUCKET_APPEND);
	struct err err = {0};
	uint32_t kept = append_number(b, 5), oid = 0;
	sync_file(b);
	uint32_t lost = append_number(b, 6);
	arm("file.write/out=enospc@1,file.truncate/out=eio@1+");
	char many[1 << 16] = {0};
	int rc = 0;
	for (int i = 0; rc == 0 && i < 100; i++)
		rc = bucket_append(b, 1, (struct str){many, sizeof many}, &oid, &err);
	assert_int_equal(rc, -1);
	read_number(b, kept, 5);
	read_number(b, lost, 6);
	arm("");
	assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &oid, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	read_number(b, kept, 5);
	close_file(&b);
}

/* The file was cut back, but its end could not be taken into memory. */
static void what_is_kept_is_read_from_the_file_until_its_end_is_in_memory(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("end"), BUCKET_APPEND);
	struct err err = {0};
	static char many[3 << 20];
	uint32_t oid, first = append_number(b, 1);
	sync_file(b);
	arm("file.write/end=enospc@2,file.read/end=eio@1");
	assert_int_equal(bucket_append(b, 1, (struct str){many, sizeof many}, &oid, &err), -1);
	arm("");
	read_number(b, first, 1);
	assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &oid, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	uint32_t second = append_number(b, 4);
	sync_file(b);
	read_number(b, first, 1);
	read_number(b, second, 4);
	close_file(&b);
}

static void a_cut_that_is_refused_can_be_tried_again(void **state)
{
	(void)state;
	const char *path = scratch("uncut");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	uint64_t cut;
	uint32_t first = append_number(b, 5);
	uint64_t length = sync_file(b);
	append_number(b, 5);
	arm("file.truncate/uncut=eio@1,file.sync/uncut=eio@1");
	assert_int_equal(bucket_cut(b, length, &cut, &err), -1);
	assert_int_equal(bucket_cut(b, length, &cut, &err), -1);
	arm("");
	assert_int_equal(bucket_cut(b, length, &cut, &err), 0);
	assert_int_equal(size_of(path), length);
	read_number(b, first, 5);
	close_file(&b);
}

/* What a failed write left in the file must not count only because the cut failed too. */
static void a_cut_that_is_refused_after_a_write_was_keeps_nothing_half(void **state)
{
	(void)state;
	const char *path = scratch("half");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	static char many[1 << 20];
	uint32_t oid, first = append_number(b, 5);
	uint64_t length = sync_file(b);
	arm("file.write/half=short@1,file.truncate/half=eio@1+");
	assert_int_equal(bucket_append(b, 1, (struct str){many, sizeof many}, &oid, &err), -1);
	assert_int_equal(bucket_cut(b, length, NULL, &err), -1);
	arm("");
	assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &oid, &err), -1);
	assert_non_null(strstr(err.msg, "not kept"));
	uint32_t second = append_number(b, 4);
	assert_int_equal((uint64_t)second << bucket_shift(b), length);
	sync_file(b);
	close_file(&b);
	b = open_mode(path, BUCKET_READ);
	read_number(b, first, 5);
	read_number(b, second, 4);
	close_file(&b);
}

static void a_cut_whose_sync_is_refused_leaves_no_hole(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("hole"), BUCKET_APPEND);
	struct err err = {0};
	uint32_t oid, first = append_number(b, 5);
	uint64_t length = sync_file(b);
	append_number(b, 6);
	sync_file(b);
	arm("file.sync/hole=eio@1");
	assert_int_equal(bucket_cut(b, length, NULL, &err), -1);
	arm("");
	assert_int_equal(bucket_append(b, 1, STR("Ux\n"), &oid, &err), -1);
	assert_int_equal(err.sys_errno, EIO);
	uint32_t second = append_number(b, 4);
	assert_int_equal((uint64_t)second << bucket_shift(b), length);
	read_number(b, first, 5);
	read_number(b, second, 4);
	close_file(&b);
}

static void a_deletion_that_is_refused_leaves_the_bucket(void **state)
{
	(void)state;
	const char *path = scratch("undeleted");
	struct buckets *b = open_mode(path, BUCKET_WRITE);
	struct bucket bucket;
	struct err err = {0};
	uint32_t oid = append_number(b, 5);
	sync_file(b);
	arm("file.write/undeleted=short@1");
	assert_int_equal(bucket_delete(b, oid, &err), -1);
	arm("");
	read_number(b, oid, 5);
	assert_int_equal(bucket_delete(b, oid, &err), 0);
	assert_int_equal(bucket_read(b, oid, &bucket, &err), 1);
	close_file(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_write_that_is_refused_loses_what_was_not_synced,
					  disarm),
		cmocka_unit_test_teardown(a_sync_that_is_refused_loses_what_was_not_synced, disarm),
		cmocka_unit_test_teardown(as_long_as_all_is_refused_nothing_is_taken, disarm),
		cmocka_unit_test_teardown(a_failure_met_by_a_scan_is_told_by_the_next_append,
					  disarm),
		cmocka_unit_test_teardown(what_a_refused_write_left_out_is_read_from_memory,
					  disarm),
		cmocka_unit_test_teardown(
			what_is_kept_is_read_from_the_file_until_its_end_is_in_memory, disarm),
		cmocka_unit_test_teardown(a_cut_that_is_refused_can_be_tried_again, disarm),
		cmocka_unit_test_teardown(
			a_cut_that_is_refused_after_a_write_was_keeps_nothing_half, disarm),
		cmocka_unit_test_teardown(a_cut_whose_sync_is_refused_leaves_no_hole, disarm),
		cmocka_unit_test_teardown(a_deletion_that_is_refused_leaves_the_bucket, disarm),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
#else
int main(void)
{
	return 0;
}
#endif
