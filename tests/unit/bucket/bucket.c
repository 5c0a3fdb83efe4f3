/* Bucket files: append, read, delete, cut, locks, shifts. */
#include "buckets.h"

#include <unistd.h>

enum { MANY = 3 * SIZES };

static const char *const modes[] = {"buffered", "direct"};

static void what_was_appended_is_read_at_once_and_after_opening_again(void **state)
{
	(void)state;
	uint32_t oid[MANY];
	for (int direct = 0; direct < 2; direct++) {
		const char *path = scratch(modes[direct]);
		struct buckets *b = open_as(
			path, (struct bucket_options){.mode = BUCKET_APPEND, .buffered = !direct});
		for (uint32_t i = 0; i < MANY; i++) {
			oid[i] = append_number(b, i);
			read_number(b, oid[i], i);
			read_number(b, oid[i / 2], i / 2);
		}
		sync_file(b);
		assert_int_equal(bucket_length(b), size_of(path));
		close_file(&b);
		b = open_mode(path, BUCKET_READ);
		for (uint32_t i = 0; i < MANY; i++)
			read_number(b, oid[i], i);
		close_file(&b);
	}
}

static void a_file_written_in_small_syncs_is_the_same_as_one_written_at_once(void **state)
{
	(void)state;
	struct buckets *a = open_mode(scratch("once"), BUCKET_APPEND);
	struct buckets *b = open_mode(scratch("often"), BUCKET_APPEND);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(append_number(a, i), append_number(b, i));
		if (i % 2) {
			uint64_t length = sync_file(b);
			assert_int_equal(length, size_of(scratch("often")));
		}
		if (i % 7 == 6) {
			close_file(&b);
			b = open_mode(scratch("often"), BUCKET_APPEND);
		}
	}
	close_file(&a);
	close_file(&b);
	struct buf once = slurp(scratch("once")), often = slurp(scratch("often"));
	assert_int_equal(once.n, often.n);
	assert_memory_equal(once.p, often.p, once.n);
	buf_free(&once);
	buf_free(&often);
}

/* The bytes that the format page gives. */
static void the_bytes_are_those_of_the_format(void **state)
{
	(void)state;
	static const unsigned char want[256] = {0x0d, 0xf0, 0xad, 0xde,
						0,    0,    0,    0,
						3,    0,    0,    0,
						0,    0,    0,    0x80,
						'U',  'x',  '\n', [124] = 0xfe,
						0xca, 0xed, 0xfe, 0x0d,
						0xf0, 0xad, 0xde, 1,
						0,    0,    0,    [140] = 2,
						0,    0,    0x80, [252] = 0xfe,
						0xca, 0xed, 0xfe};
	const char *path = scratch("bytes");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	uint32_t oid;
	assert_int_equal(bucket_append(b, BUCKET_PLAIN, STR("Ux\n"), &oid, &err), 0);
	assert_int_equal(oid, 0);
	assert_int_equal(bucket_append(b, BUCKET_V33, STR(""), &oid, &err), 0);
	assert_int_equal(oid, 1);
	close_file(&b);
	struct buf all = slurp(path);
	assert_int_equal(all.n, sizeof want);
	assert_memory_equal(all.p, want, sizeof want);
	buf_free(&all);
}

static void others_read_what_was_synced_while_appending_goes_on(void **state)
{
	(void)state;
	const char *path = scratch("others");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct buckets *other = open_mode(path, BUCKET_SCAN);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t oid = append_number(b, i);
		sync_file(b);
		read_number(other, oid, i);
	}
	close_file(&other);
	close_file(&b);
}

static void a_deleted_bucket_is_gone_wherever_its_bytes_are(void **state)
{
	(void)state;
	const char *path = scratch("delete");
	struct buckets *b = open_mode(path, BUCKET_WRITE);
	struct bucket bucket;
	struct err err = {0};
	uint32_t oid[MANY];
	for (uint32_t i = 0; i < MANY; i++) {
		oid[i] = append_number(b, i);
		if (i == MANY / 2)
			sync_file(b);
		if (i % 3 == 0)
			assert_int_equal(bucket_delete(b, oid[i], &err), 0);
	}
	assert_int_equal(bucket_delete(b, oid[1], &err), 0);
	assert_int_equal(bucket_delete(b, oid[1], &err), 1);
	assert_int_equal(bucket_delete(b, BUCKET_DELETED, &err), 1);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MANY; i++)
			if (i % 3 == 0 || i == 1)
				assert_int_equal(bucket_read(b, oid[i], &bucket, &err), 1);
			else
				read_number(b, oid[i], i);
		sync_file(b);
		close_file(&b);
		b = open_mode(path, BUCKET_WRITE);
	}
	close_file(&b);
}

/* A block that was written at a sync and goes out again with what is appended later. */
static void a_bucket_deleted_in_a_block_that_is_written_again_stays_deleted(void **state)
{
	(void)state;
	const char *path = scratch("again");
	struct buckets *b = open_mode(path, BUCKET_WRITE);
	struct bucket bucket;
	struct err err = {0};
	uint32_t oid = append_number(b, 1);
	sync_file(b);
	assert_int_equal(bucket_delete(b, oid, &err), 0);
	for (uint32_t i = 0; i < 8; i++)
		append_number(b, 8);
	close_file(&b);
	b = open_mode(path, BUCKET_READ);
	assert_int_equal(bucket_read(b, oid, &bucket, &err), 1);
	close_file(&b);
}

static void numbers_that_are_no_bucket_are_refused(void **state)
{
	(void)state;
	const char *path = scratch("numbers");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct bucket bucket;
	struct err err = {0};
	append_number(b, 5);
	assert_int_equal(bucket_read(b, 1, &bucket, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "00000001"));
	assert_int_equal(bucket_read(b, 1000, &bucket, &err), 1);
	assert_int_equal(bucket_read(b, BUCKET_SPECIAL, &bucket, &err), 1);
	assert_int_equal(bucket_read(b, BUCKET_DELETED, &bucket, &err), 1);
	close_file(&b);
}

static void a_cut_leaves_what_was_before_the_checkpoint(void **state)
{
	(void)state;
	const char *path = scratch("cut");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct bucket bucket;
	struct err err = {0};
	uint64_t cut;
	uint32_t first = append_number(b, 3), second, third;
	uint64_t length = sync_file(b);
	second = append_number(b, 8);
	assert_int_equal(bucket_cut(b, length, &cut, &err), 0);
	assert_true(cut > 300000);
	assert_int_equal(size_of(path), length);
	read_number(b, first, 3);
	assert_int_equal(bucket_read(b, second, &bucket, &err), 1);
	third = append_number(b, 5);
	assert_int_equal(second, third);
	read_number(b, third, 5);
	sync_file(b);
	assert_int_equal(bucket_cut(b, length + 128, &cut, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_int_equal(bucket_cut(b, length + 1, &cut, &err), -1);
	assert_int_equal(bucket_cut(b, UINT64_C(1) << 40, &cut, &err), -1);
	read_number(b, third, 5);
	close_file(&b);
	assert_int_equal(bucket_cut_file(path, 0, 0, &cut, &err), 0);
	assert_int_equal(size_of(path), 0);
	assert_int_equal(bucket_cut_file(scratch("none"), 0, 0, &cut, &err), 1);
}

/* Whatever a crash left after a checkpoint: the file reopens with all that was before it. */
static void a_file_cut_at_every_byte_is_mended_by_its_checkpoint(void **state)
{
	(void)state;
	const char *path = scratch("torn");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	uint32_t oid[4];
	oid[0] = append_number(b, 2);
	oid[1] = append_number(b, 3);
	uint64_t length = sync_file(b), cut;
	oid[2] = append_number(b, 1);
	oid[3] = append_number(b, 3);
	close_file(&b);
	struct buf all = slurp(path);
	for (size_t n = (size_t)length; n <= all.n; n++) {
		spill(path, all.p, n);
		struct bucket_options o = {.mode = BUCKET_APPEND};
		int rc = bucket_open(&b, path, &o, &err);
		if (rc < 0)
			assert_int_equal(err.code, ERR_DAMAGED);
		else
			assert_true(n == length || n == length + 128 || n == all.n);
		bucket_drop(&b);
		assert_int_equal(bucket_cut_file(path, 0, length, &cut, &err), 0);
		assert_int_equal(cut, n - length);
		b = open_mode(path, BUCKET_APPEND);
		read_number(b, oid[0], 2);
		read_number(b, oid[1], 3);
		assert_int_equal(append_number(b, 4), oid[2]);
		close_file(&b);
	}
	buf_free(&all);
	(void)oid[3];
}

static void the_locks_of_two_handles_meet_as_the_modes_say(void **state)
{
	(void)state;
	static const bool together[4][4] = {
		/* scan, read, append, write */
		{true, true, true, false},
		{true, true, false, false},
		{true, false, false, false},
		{false, false, false, false},
	};
	const char *path = scratch("locks");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	close_file(&b);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++) {
			struct buckets *a = open_mode(path, (enum bucket_mode)i);
			struct bucket_options o = {.mode = (enum bucket_mode)k};
			struct err err = {0};
			int rc = bucket_open(&b, path, &o, &err);
			assert_int_equal(rc, together[i][k] ? 0 : -1);
			if (rc < 0)
				assert_int_equal(err.code, ERR_BUSY);
			bucket_drop(&b);
			bucket_drop(&a);
		}
}

static void a_missing_file_is_made_only_for_those_who_append(void **state)
{
	(void)state;
	struct buckets *b = NULL;
	struct err err = {0};
	struct bucket_options o = {.mode = BUCKET_READ};
	assert_int_equal(bucket_open(&b, scratch("missing"), &o, &err), 1);
	o.mode = BUCKET_SCAN;
	assert_int_equal(bucket_open(&b, scratch("missing"), &o, &err), 1);
	o = (struct bucket_options){.mode = BUCKET_APPEND, .shift = 17};
	assert_int_equal(bucket_open(&b, scratch("missing"), &o, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(access(scratch("missing"), F_OK), -1);
}

static void a_file_tells_its_shift(void **state)
{
	(void)state;
	for (unsigned shift = BUCKET_SHIFT_LEAST; shift <= BUCKET_SHIFT_MOST; shift++) {
		char name[32];
		snprintf(name, sizeof name, "shift%u", shift);
		const char *path = scratch(name);
		struct buckets *b = open_as(
			path, (struct bucket_options){.mode = BUCKET_APPEND, .shift = shift});
		struct bucket_options wrong = {.mode = BUCKET_READ, .shift = shift ^ 1};
		struct err err = {0};
		uint32_t oid[4];
		close_file(&b);
		for (uint32_t i = 0; i < 4; i++) {
			b = open_mode(path, BUCKET_APPEND);
			oid[i] = append_number(b, i);
			assert_int_equal(bucket_shift(b), shift);
			close_file(&b);
		}
		b = open_mode(path, BUCKET_READ);
		assert_int_equal(bucket_shift(b), shift);
		for (uint32_t i = 0; i < 4; i++)
			read_number(b, oid[i], i);
		close_file(&b);
		if (wrong.shift <= BUCKET_SHIFT_MOST && wrong.shift >= BUCKET_SHIFT_LEAST &&
		    bucket_open(&b, path, &wrong, &err) == 0) {
			struct bucket bucket;
			assert_int_not_equal(bucket_read(b, oid[3], &bucket, &err), 0);
			close_file(&b);
		}
	}
}

/* A file with a hole up to its last bucket, whose trailer is all that opening looks at. */
/* The byte at `at` is damaged; the file is mended, and all but that bucket are there. */
static void mend_with_damage_at(const char *path, const struct buf *whole, uint64_t at)
{
	struct err err = {0};
	struct bucket_audit sum;
	spill(path, whole->p, whole->n);
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, (long)at, SEEK_SET));
	assert_int_equal('\x55', fputc('\x55', f));
	assert_int_equal(0, fclose(f));
	struct buckets *b =
		open_as(path, (struct bucket_options){.mode = BUCKET_WRITE, .unchecked = true});
	assert_int_equal(bucket_shift(b), 9);
	assert_int_equal(0, bucket_fix(b, NULL, NULL, &sum, &err));
	assert_true(sum.problems <= 1);
	for (uint32_t i = 1; i < 200; i++)
		if (i != at >> 9)
			read_number(b, i, i % 3);
	close_file(&b);
}

static void a_damaged_beginning_does_not_hide_the_shift(void **state)
{
	(void)state;
	const char *path = scratch("shift-damaged");
	struct buckets *b =
		open_as(path, (struct bucket_options){.mode = BUCKET_APPEND, .shift = 9});
	for (uint32_t i = 1; i < 200; i++)
		assert_int_equal(append_number(b, i % 3), i);
	sync_file(b);
	close_file(&b);
	struct buf whole = slurp(path);
	for (uint64_t at = 0; at < 12; at++) {
		mend_with_damage_at(path, &whole, at);
		mend_with_damage_at(path, &whole, 512 + at);
	}
	buf_free(&whole);
}

static uint32_t make_sparse(const char *path, unsigned shift, uint64_t end)
{
	struct file f;
	struct err err = {0};
	struct buckets *b =
		open_as(path, (struct bucket_options){.mode = BUCKET_APPEND, .shift = shift});
	uint32_t first = append_number(b, 1);
	close_file(&b);
	static const unsigned char trailer[] = {0xfe, 0xca, 0xed, 0xfe};
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	assert_int_equal(file_write(&f, trailer, 4, end - 4, &err), 0);
	file_drop(&f);
	return first;
}

static void a_larger_shift_takes_the_file_beyond_512_gigabytes(void **state)
{
	(void)state;
	const char *path = scratch("large");
	const uint64_t end = UINT64_C(700) << 30;
	struct bucket_options o = {.mode = BUCKET_APPEND, .shift = 9};
	uint32_t first = make_sparse(path, o.shift, end);
	struct buckets *b = open_as(path, o);
	uint32_t oid = append_number(b, 5), next = append_number(b, 8);
	assert_int_equal(oid, end >> 9);
	uint64_t length = sync_file(b);
	assert_int_equal(length, size_of(path));
	read_number(b, oid, 5);
	read_number(b, next, 8);
	close_file(&b);
	o.mode = BUCKET_READ;
	b = open_as(path, o);
	read_number(b, first, 1);
	read_number(b, next, 8);
	struct bucket_scan scan;
	struct bucket bucket;
	struct err err = {0};
	assert_int_equal(bucket_scan_init(&scan, b, end, 0, &err), 0);
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 0);
	is_number(&bucket, 5);
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 0);
	is_number(&bucket, 8);
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 1);
	bucket_scan_done(&scan);
	close_file(&b);
}

static void a_file_without_numbers_left_refuses_and_says_what_helps(void **state)
{
	(void)state;
	const char *path = scratch("full");
	struct bucket_options o = {.mode = BUCKET_APPEND, .shift = BUCKET_SHIFT_LEAST};
	uint64_t last = (uint64_t)(BUCKET_SPECIAL - 1) << o.shift;
	make_sparse(path, o.shift, last);
	struct buckets *b = open_as(path, o);
	uint32_t oid = append_number(b, 1), none = 7;
	struct err err = {0};
	assert_int_equal(oid, BUCKET_SPECIAL - 1);
	assert_int_equal(bucket_append(b, BUCKET_PLAIN, STR("Ux\n"), &none, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(none, 7);
	assert_non_null(strstr(err.msg, "shift"));
	sync_file(b);
	read_number(b, oid, 1);
	close_file(&b);
}

static void a_bucket_that_is_too_large_is_refused_and_nothing_else(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("too-large"), BUCKET_APPEND);
	struct err err = {0};
	uint32_t oid = append_number(b, 2), none;
	char *much = mem_alloc(BUCKET_DATA_MOST + 1);
	assert_int_equal(bucket_append(b, 1, (struct str){much, BUCKET_DATA_MOST + 1}, &none, &err),
			 -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(bucket_append(b, 1, (struct str){much, BUCKET_DATA_MOST}, &none, &err), 0);
	sync_file(b);
	struct bucket bucket;
	assert_int_equal(bucket_read(b, none, &bucket, &err), 0);
	assert_int_equal(bucket.data.n, BUCKET_DATA_MOST);
	read_number(b, oid, 2);
	mem_free(&much);
	close_file(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_appended_is_read_at_once_and_after_opening_again),
		cmocka_unit_test(a_file_written_in_small_syncs_is_the_same_as_one_written_at_once),
		cmocka_unit_test(the_bytes_are_those_of_the_format),
		cmocka_unit_test(others_read_what_was_synced_while_appending_goes_on),
		cmocka_unit_test(a_deleted_bucket_is_gone_wherever_its_bytes_are),
		cmocka_unit_test(a_bucket_deleted_in_a_block_that_is_written_again_stays_deleted),
		cmocka_unit_test(numbers_that_are_no_bucket_are_refused),
		cmocka_unit_test(a_cut_leaves_what_was_before_the_checkpoint),
		cmocka_unit_test(a_file_cut_at_every_byte_is_mended_by_its_checkpoint),
		cmocka_unit_test(the_locks_of_two_handles_meet_as_the_modes_say),
		cmocka_unit_test(a_missing_file_is_made_only_for_those_who_append),
		cmocka_unit_test(a_file_tells_its_shift),
		cmocka_unit_test(a_damaged_beginning_does_not_hide_the_shift),
		cmocka_unit_test(a_larger_shift_takes_the_file_beyond_512_gigabytes),
		cmocka_unit_test(a_file_without_numbers_left_refuses_and_says_what_helps),
		cmocka_unit_test(a_bucket_that_is_too_large_is_refused_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
