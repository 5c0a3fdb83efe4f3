#include "disk/stream.h"

#include "../scratch.h"
#include "base/fault.h"
#include "support/stream_file.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { SMALL = STREAM_BLOCK };

static const struct stream_options small = {.piece = SMALL};
static const struct stream_options small_buffered = {.piece = SMALL, .buffered = true};

static char byte_at(uint64_t i)
{
	return (char)(i * 2654435761u >> 13);
}

static void write_bytes(const char *path, uint64_t n, size_t step,
			const struct stream_options *options)
{
	struct err err;
	struct stream_writer w;
	assert_int_equal(stream_create(&w, path, 0600, options, &err), 0);
	char bytes[3000];
	for (uint64_t at = 0; at < n;) {
		size_t part = (size_t)MIN(n - at, (uint64_t)step);
		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(at + i);
		stream_put(&w, bytes, part);
		at += part;
		assert_int_equal(stream_written(&w), at);
	}
	assert_int_equal(stream_finish(&w, true, &err), 0);
	assert_null(w.out);
}

static void check_bytes(const char *path, uint64_t n, size_t step,
			const struct stream_options *options)
{
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str s;
	assert_int_equal(stream_file_open(&r, &f, path, options, &err), 0);
	for (uint64_t at = 0; at < n;) {
		size_t part = (size_t)MIN(n - at, (uint64_t)step);
		assert_int_equal(stream_left(&r), n - at);
		assert_int_equal(stream_read(&r, part, &s, &err), 0);
		assert_int_equal(s.n, part);
		for (size_t i = 0; i < part; i++)
			assert_int_equal(s.p[i], byte_at(at + i));
		at += part;
	}
	assert_int_equal(stream_left(&r), 0);
	assert_int_equal(stream_read(&r, 1, &s, &err), 1);
	stream_file_close(&r, &f);
}

static uint64_t size_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static void what_is_written_is_read_at_every_size_around_blocks_and_pieces(void **state)
{
	(void)state;
	const struct stream_options *modes[] = {&small, &small_buffered, NULL};
	for (size_t mode = 0; mode < ARRAY_LEN(modes); mode++) {
		for (uint64_t blocks = 0; blocks < 6; blocks++) {
			for (int off = -1; off <= 1; off++) {
				uint64_t n = blocks * SMALL + (uint64_t)(off + (blocks == 0));
				write_bytes(scratch("f"), n, 1000, modes[mode]);
				assert_int_equal(size_of(scratch("f")), n);
				check_bytes(scratch("f"), n, 777, modes[mode]);
			}
		}
	}
}

static void reads_of_any_length_are_in_one_place(void **state)
{
	(void)state;
	const size_t steps[] = {1, 2, 4095, 4096, 4097, 10000, 50000};
	write_bytes(scratch("f"), 50001, 3000, NULL);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		check_bytes(scratch("f"), 50001, steps[i], &small);
}

static void large_pieces_work_past_the_first_round_of_slots(void **state)
{
	(void)state;
	uint64_t n = 7 * STREAM_PIECE + 12345;
	write_bytes(scratch("f"), n, 3000, NULL);
	check_bytes(scratch("f"), n, 100000, NULL);
}

/* Merges look back at the record before. */
static void a_record_stays_good_until_the_second_read_after_it(void **state)
{
	(void)state;
	struct err err;
	struct stream_reader r;
	struct file f;
	uint64_t n = 60 * SMALL;
	write_bytes(scratch("f"), n, 3000, NULL);
	for (size_t len = 1000; len <= SMALL; len += 387) {
		assert_int_equal(stream_file_open(&r, &f, scratch("f"), &small, &err), 0);
		struct str before = {0}, now;
		for (uint64_t at = 0; at + len <= n; at += len) {
			assert_int_equal(stream_read(&r, len, &now, &err), 0);
			for (size_t i = 0; i < before.n; i++)
				assert_int_equal(before.p[i], byte_at(at - len + i));
			before = now;
		}
		stream_file_close(&r, &f);
	}
}

static void a_file_that_ends_inside_a_record_is_damaged(void **state)
{
	(void)state;
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str s;
	write_bytes(scratch("f"), 100, 100, NULL);
	assert_int_equal(stream_file_open(&r, &f, scratch("f"), NULL, &err), 0);
	assert_int_equal(stream_read(&r, 64, &s, &err), 0);
	assert_int_equal(stream_read(&r, 64, &s, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "36 are left"));
	memset(&err, 0, sizeof err);
	assert_int_equal(stream_read(&r, 1, &s, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	stream_file_close(&r, &f);
}

static void a_file_that_shrinks_while_it_is_read_is_damaged(void **state)
{
	(void)state;
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str s;
	write_bytes(scratch("f"), 100 * SMALL, 3000, NULL);
	assert_int_equal(stream_file_open(&r, &f, scratch("f"), &small, &err), 0);
	assert_int_equal(truncate(scratch("f"), 40 * SMALL + 5), 0);
	int rc;
	uint64_t got = 0;
	while ((rc = stream_read(&r, 100, &s, &err)) == 0)
		got += s.n;
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_in_range(got, 1, 41 * SMALL);
	stream_file_close(&r, &f);
}

static void no_bytes_can_always_be_read(void **state)
{
	(void)state;
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str s;
	write_bytes(scratch("f"), 0, 1, NULL);
	assert_int_equal(stream_file_open(&r, &f, scratch("f"), NULL, &err), 0);
	assert_int_equal(stream_read(&r, 0, &s, &err), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(stream_read(&r, 1, &s, &err), 1);
	stream_file_close(&r, &f);
	stream_file_close(&r, &f);
}

static void a_part_of_a_file_has_just_its_bytes(void **state)
{
	(void)state;
	struct err err;
	struct file f;
	write_bytes(scratch("f"), 20 * SMALL + 300, 3000, NULL);
	assert_int_equal(file_open(&f, scratch("f"), O_RDONLY, 0, &err), 0);
	const struct {
		uint64_t from, n;
	} parts[] = {{0, 0},       {0, 1},         {5, 7},           {4095, 2},
		     {4096, 4096}, {10000, 60000}, {20 * SMALL, 300}};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct stream_reader r;
		struct str s;
		assert_int_equal(stream_open_part(&r, &f, parts[i].from, parts[i].n, &small, &err),
				 0);
		assert_int_equal(stream_left(&r), parts[i].n);
		assert_int_equal(stream_read(&r, parts[i].n, &s, &err), 0);
		for (size_t k = 0; k < s.n; k++)
			assert_int_equal(s.p[k], byte_at(parts[i].from + k));
		assert_int_equal(stream_read(&r, 1, &s, &err), 1);
		stream_close(&r);
	}
	file_drop(&f);
}

static void padding_goes_to_the_next_block(void **state)
{
	(void)state;
	struct err err;
	struct stream_writer w;
	assert_int_equal(stream_create(&w, scratch("f"), 0600, &small, &err), 0);
	stream_pad(&w);
	assert_int_equal(stream_written(&w), 0);
	stream_put(&w, "abc", 3);
	stream_pad(&w);
	assert_int_equal(stream_written(&w), SMALL);
	stream_pad(&w);
	stream_put(&w, "d", 1);
	assert_int_equal(stream_finish(&w, false, &err), 0);
	struct buf b = BUF_INIT(2 * SMALL);
	assert_int_equal(file_slurp(scratch("f"), &b, &err), 0);
	assert_int_equal(b.n, SMALL + 1);
	assert_memory_equal(b.p, "abc\0\0", 5);
	assert_int_equal(b.p[SMALL], 'd');
	buf_free(&b);
}

static void memory_is_read_like_a_file(void **state)
{
	(void)state;
	struct err err;
	struct str s;
	struct stream_reader r = stream_over(STR("abcdefg"));
	assert_int_equal(stream_read(&r, 3, &s, &err), 0);
	assert_true(str_is(s, "abc"));
	assert_int_equal(stream_read(&r, 3, &s, &err), 0);
	assert_true(str_is(s, "def"));
	assert_int_equal(stream_read(&r, 3, &s, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_int_equal(stream_read(&r, 1, &s, &err), 0);
	assert_int_equal(stream_read(&r, 1, &s, &err), 1);
	stream_close(&r);
}

static void a_file_that_cannot_be_made_is_named(void **state)
{
	(void)state;
	struct err err;
	struct stream_writer w;
	assert_int_equal(stream_create(&w, scratch("none/f"), 0600, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "none/f"));
}

static void a_dropped_writer_waits_for_its_writes(void **state)
{
	(void)state;
	struct err err;
	struct stream_writer w;
	assert_int_equal(stream_create(&w, scratch("f"), 0600, &small, &err), 0);
	char bytes[SMALL] = {0};
	for (int i = 0; i < 50; i++)
		stream_put(&w, bytes, sizeof bytes);
	stream_drop(&w);
	stream_drop(&w);
	assert_true(size_of(scratch("f")) <= 50 * SMALL);
}

#ifdef GARNER_FAULTS
static int write_with_faults(void)
{
	struct err err;
	struct stream_writer w;
	if (stream_create(&w, scratch("f"), 0600, &small, &err) < 0)
		return -1;
	char bytes[1000] = {0};
	for (int i = 0; i < 50; i++)
		stream_put(&w, bytes, sizeof bytes);
	return stream_finish(&w, true, &err);
}

static int read_with_faults(void)
{
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str s;
	if (stream_file_open(&r, &f, scratch("f"), &small, &err) < 0)
		return -1;
	int rc;
	size_t n = 0;
	while ((rc = stream_read(&r, 1000, &s, &err)) == 0)
		n++;
	if (rc == 1)
		assert_int_equal(n, 50);
	else
		assert_true(err.sys_errno != 0);
	stream_file_close(&r, &f);
	return MIN(rc, 0);
}

/* Every single call fails once: the caller hears of it, and only then. */
static void fail_at_every_call(const char *fault, int (*run)(void))
{
	struct err err;
	int at = 1;
	for (;; at++) {
		char spec[64];
		snprintf(spec, sizeof spec, "%s@%d", fault, at);
		assert_int_equal(fault_arm(spec, &err), 0);
		int rc = run();
		bool fired = fault_fired() > 0;
		assert_int_equal(fault_arm(NULL, &err), 0);
		assert_int_equal(rc, fired ? -1 : 0);
		if (!fired)
			break;
	}
	assert_true(at > 1);
}

static void a_failure_of_any_call_is_said(void **state)
{
	(void)state;
	fail_at_every_call("file.open=eio", write_with_faults);
	fail_at_every_call("file.write=enospc", write_with_faults);
	fail_at_every_call("file.write=short", write_with_faults);
	fail_at_every_call("file.sync=eio", write_with_faults);
	assert_int_equal(write_with_faults(), 0);
	fail_at_every_call("file.open=eio", read_with_faults);
	fail_at_every_call("file.read=eio", read_with_faults);
}

static void a_writer_knows_early_that_it_failed(void **state)
{
	(void)state;
	struct err err;
	struct stream_writer w;
	assert_int_equal(fault_arm("file.write=enospc@1", &err), 0);
	assert_int_equal(stream_create(&w, scratch("f"), 0600, &small, &err), 0);
	char bytes[SMALL] = {0};
	for (int i = 0; i < 10; i++)
		stream_put(&w, bytes, sizeof bytes);
	assert_true(stream_failed(&w));
	assert_int_equal(stream_finish(&w, true, &err), -1);
	assert_int_equal(fault_arm(NULL, &err), 0);
	assert_non_null(strstr(err.msg, "No space"));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_at_every_size_around_blocks_and_pieces),
		cmocka_unit_test(reads_of_any_length_are_in_one_place),
		cmocka_unit_test(large_pieces_work_past_the_first_round_of_slots),
		cmocka_unit_test(a_record_stays_good_until_the_second_read_after_it),
		cmocka_unit_test(a_file_that_ends_inside_a_record_is_damaged),
		cmocka_unit_test(a_file_that_shrinks_while_it_is_read_is_damaged),
		cmocka_unit_test(no_bytes_can_always_be_read),
		cmocka_unit_test(a_part_of_a_file_has_just_its_bytes),
		cmocka_unit_test(padding_goes_to_the_next_block),
		cmocka_unit_test(memory_is_read_like_a_file),
		cmocka_unit_test(a_file_that_cannot_be_made_is_named),
		cmocka_unit_test(a_dropped_writer_waits_for_its_writes),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_failure_of_any_call_is_said),
		cmocka_unit_test(a_writer_knows_early_that_it_failed),
#endif
	};
	return cmocka_run_group_tests_name("base/stream", tests, scratch_make, scratch_done);
}
