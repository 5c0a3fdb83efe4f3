/* Record files that were cut, or have flipped bits or holes: exactly the complete records are
 * there, and damage is told from a torn end. */
#include "numbered.h"

static void check_every_cut(bool closed)
{
	uint64_t next[18];
	struct buf whole =
		sample(scratch(closed ? "whole" : "killed"), ARRAY_LEN(next), closed, next);
	const char *path = scratch("cut");
	for (size_t cut = 0; cut <= whole.n; cut++) {
		unsigned want = 0;
		while (want < ARRAY_LEN(next) && next[want] <= cut)
			want++;
		put(path, str_head(buf_str(&whole), cut));
		assert_numbered(path, want);
		struct record_writer *w = NULL;
		struct err err = {0};
		uint64_t lost = 99;
		if (record_open(&w, path, &kind, 0644, &lost, &err) < 0)
			fail_msg("cut at %zu: %s", cut, err.msg);
		assert_true(lost < HEAD + 90 + MARK);
		assert_numbered(path, want);
		struct record_group g = {0};
		append_numbered(w, want, want + 3, &g);
		sync_group(w, &g);
		if (cut % 2)
			record_drop(&w);
		else
			close_file(w);
		assert_numbered(path, want + 3);
	}
	buf_free(&whole);
}

static void a_closed_file_cut_at_every_byte_has_exactly_its_complete_records(void **state)
{
	(void)state;
	check_every_cut(true);
}

static void a_killed_file_cut_at_every_byte_has_exactly_its_complete_records(void **state)
{
	(void)state;
	check_every_cut(false);
}

static void the_bytes_cut_off_are_told(void **state)
{
	(void)state;
	uint64_t next[3], cut = 7;
	const char *path = scratch("told");
	struct buf b = sample(path, 3, true, next);
	struct record_writer *w;
	struct err err = {0};
	assert_int_equal(record_open(&w, path, &kind, 0644, &cut, &err), 0);
	assert_int_equal(cut, 0);
	close_file(w);
	buf_add_text(&b, "garbage after all");
	put(path, buf_str(&b));
	assert_int_equal(record_open(&w, path, &kind, 0644, &cut, &err), 0);
	assert_int_equal(cut, 17);
	close_file(w);
	assert_numbered(path, 3);
	buf_free(&b);
}

static void ends_of_zeroes_or_noise_are_cut_off(void **state)
{
	(void)state;
	uint64_t next[6];
	struct buf b = sample(scratch("ends"), 6, false, next);
	const char *path = scratch("ends2");
	size_t n = b.n;
	for (unsigned fill = 0; fill < 256; fill += 51) {
		b.n = n;
		buf_fill(&b, (char)fill, 70000);
		put(path, buf_str(&b));
		assert_numbered(path, 6);
		close_file(open_file(path));
		assert_numbered(path, 6);
		struct buf mended = slurp(path);
		assert_int_equal(mended.n, n + MARK);
		buf_free(&mended);
	}
	buf_free(&b);
}

/* After a power cut pages of the end may be missing although later ones are there. */
static void a_hole_in_what_was_never_synced_is_a_torn_end(void **state)
{
	(void)state;
	const char *path = scratch("hole");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	append_numbered(w, 0, 100, &g);
	sync_group(w, &g);
	uint64_t synced = record_durable(w), end = synced;
	unsigned n = 100;
	for (; end < 3 << 20; n++)
		end = append(w, numbered(n), &g).next;
	struct buf b = slurp(path);
	record_drop(&w);
	assert_true(b.n > 2 << 20);
	size_t hole = (1 << 20) + 4096;
	memset(b.p + hole, 0, 4096);
	put(path, buf_str(&b));
	struct err err = {0};
	int rc;
	unsigned before = count_numbered(path, &rc, &err);
	assert_int_equal(rc, 1);
	assert_true(before > 100 && before < n);
	close_file(open_file(path));
	assert_numbered(path, before);
	struct buf mended = slurp(path);
	assert_true(mended.n <= hole + MARK);
	buf_free(&mended);
	/* the same hole where it was synced is damage */
	memset(b.p + 2000, 0, 512);
	put(path, buf_str(&b));
	(void)count_numbered(path, &rc, &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	buf_free(&b);
}

static void every_flipped_bit_is_noticed_and_nothing_is_cut(void **state)
{
	(void)state;
	uint64_t next[14];
	struct buf whole = sample(scratch("flip"), ARRAY_LEN(next), true, next);
	const char *path = scratch("flip2");
	uint64_t last = next[ARRAY_LEN(next) - 1];
	for (size_t at = 0; at < whole.n; at++) {
		whole.p[at] = (char)(whole.p[at] ^ (1 << at % 8));
		put(path, buf_str(&whole));
		struct err err = {0};
		int rc;
		unsigned n = count_numbered(path, &rc, &err);
		if (at < last) {
			assert_int_equal(rc, -1);
			assert_int_equal(err.code, ERR_DAMAGED);
			assert_true(n == 0 || next[n - 1] <= at);
		} else { /* the last mark only */
			assert_int_equal(rc, 1);
			assert_int_equal(n, ARRAY_LEN(next));
		}
		struct record_writer *w = NULL;
		if (record_open(&w, path, &kind, 0644, NULL, &err) == 0) {
			close_file(w);
			assert_true(at >= RECORD_HEADER);
			assert_int_equal(count_numbered(path, &rc, &err), n);
			assert_int_equal(rc, at < last ? -1 : 1);
		}
		struct buf now = slurp(path);
		assert_true(now.n >= last);
		assert_memory_equal(now.p, whole.p, last);
		buf_free(&now);
		whole.p[at] = (char)(whole.p[at] ^ (1 << at % 8));
	}
	buf_free(&whole);
}

/* Nothing says that the last group of a killed writer was durable, so what is bad in it and after
 * is cut; everything before stays. */
static void a_flip_in_the_last_group_of_a_killed_writer_costs_that_group_at_most(void **state)
{
	(void)state;
	uint64_t next[12];
	struct buf whole = sample(scratch("tail"), ARRAY_LEN(next), false, next);
	const char *path = scratch("tail2");
	for (size_t at = next[7]; at < whole.n; at++) {
		whole.p[at] = (char)(whole.p[at] ^ 4);
		put(path, buf_str(&whole));
		close_file(open_file(path));
		struct err err = {0};
		int rc;
		unsigned n = count_numbered(path, &rc, &err);
		assert_int_equal(rc, 1);
		assert_true(n >= 8 && n < 12);
		whole.p[at] = (char)(whole.p[at] ^ 4);
	}
	buf_free(&whole);
}

/* A copy of a mark has the salt and the checksum of the file, but not its place. */
static void a_copy_of_a_mark_in_a_payload_is_only_payload(void **state)
{
	(void)state;
	const char *path = scratch("copy");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	static char large[3000];
	append_numbered(w, 0, 40, &g);
	sync_group(w, &g);
	uint64_t place = record_end(w);
	append(w, STR("x"), &g);
	sync_group(w, &g);
	struct buf b = slurp(path);
	struct str mark = str_head(str_from(buf_str(&b), place), MARK);
	assert_memory_equal(mark.p + 8, b.p + 16, 8); /* the salt: it is one */
	assert_true(place > RECORD_HEADER + MARK && place < sizeof large);
	assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
	append(w, (struct str){large, sizeof large}, &g);
	append(w, mark, &g);
	sync_group(w, &g);
	record_drop(&w);
	buf_free(&b);
	b = slurp(path);
	b.p[RECORD_HEADER + MARK + 100] ^= 1; /* before the place that the copy calls durable */
	put(path, buf_str(&b));
	assert_numbered(path, 0);
	w = open_file(path);
	assert_int_equal(record_end(w), RECORD_HEADER + MARK);
	close_file(w);
	assert_numbered(path, 0);
	buf_free(&b);
}

static void a_mark_that_calls_more_durable_than_there_is_counts_for_nothing(void **state)
{
	(void)state;
	const char *path = scratch("boast");
	uint64_t next[3];
	struct buf b = sample(path, 3, false, next);
	struct frame_file file;
	struct err err = {0};
	unsigned char mark[FRAME_MARK];
	assert_int_equal(frame_header_read((unsigned char *)b.p, &kind, path, &file, &err), 0);
	uint64_t durable[] = {b.n + 1, b.n + MARK, UINT64_MAX, 0, RECORD_HEADER - 1};
	size_t n = b.n;
	for (size_t i = 0; i < ARRAY_LEN(durable); i++) {
		frame_mark_make(&file, (struct frame_mark){n, durable[i]}, mark);
		b.n = n;
		buf_add(&b, mark, sizeof mark);
		put(path, buf_str(&b));
		assert_numbered(path, 3);
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		assert_true(record_end(w) <= b.n);
		append(w, numbered(3), &g);
		sync_group(w, &g);
		close_file(w);
		assert_numbered(path, 4);
	}
	buf_free(&b);
}

/* A batch that was not synced was followed by another, of which only the mark is there. */
static void a_mark_at_the_end_that_knows_less_than_all_ends_nothing(void **state)
{
	(void)state;
	const char *path = scratch("less");
	struct buf b = BUF_INIT(4096);
	struct frame_file file;
	unsigned char header[RECORD_HEADER], mark[FRAME_MARK], head[FRAME_HEAD];
	frame_header_make(&kind, 12345, header, &file);
	buf_add(&b, header, sizeof header);
	for (unsigned i = 0; i < 3; i++) {
		frame_mark_make(&file, (struct frame_mark){b.n, RECORD_HEADER}, mark);
		buf_add(&b, mark, sizeof mark);
		if (i == 2)
			break;
		frame_head_make(&file, numbered(i), head);
		buf_add(&b, head, sizeof head);
		buf_add_str(&b, numbered(i));
	}
	put(path, buf_str(&b));
	assert_numbered(path, 2);
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	append(w, numbered(2), &g);
	sync_group(w, &g);
	close_file(w);
	assert_numbered(path, 3);
	buf_free(&b);
}

/* Wherever the last mark lies, counted from the end. */
static void the_last_mark_is_found_from_any_distance(void **state)
{
	(void)state;
	const char *path = scratch("distance");
	static char tail[70000];
	for (size_t n = (64 << 10) - 50; n < (64 << 10) + 10; n++) {
		struct err err = {0};
		assert_true(file_remove(path, &err) >= 0);
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		struct record_place place = append(w, STR("abc"), &g);
		sync_group(w, &g);
		append(w, (struct str){tail, n}, &g);
		sync_group(w, &g);
		record_drop(&w);
		struct buf b = slurp(path);
		b.p[place.next - 1] ^= 1;
		put(path, buf_str(&b));
		buf_free(&b);
		struct record_reader *r;
		struct record record;
		assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
		assert_int_equal(record_next(r, &record, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		record_reader_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_file_cut_at_every_byte_has_exactly_its_complete_records),
		cmocka_unit_test(a_killed_file_cut_at_every_byte_has_exactly_its_complete_records),
		cmocka_unit_test(the_bytes_cut_off_are_told),
		cmocka_unit_test(ends_of_zeroes_or_noise_are_cut_off),
		cmocka_unit_test(a_hole_in_what_was_never_synced_is_a_torn_end),
		cmocka_unit_test(every_flipped_bit_is_noticed_and_nothing_is_cut),
		cmocka_unit_test(
			a_flip_in_the_last_group_of_a_killed_writer_costs_that_group_at_most),
		cmocka_unit_test(a_copy_of_a_mark_in_a_payload_is_only_payload),
		cmocka_unit_test(a_mark_that_calls_more_durable_than_there_is_counts_for_nothing),
		cmocka_unit_test(a_mark_at_the_end_that_knows_less_than_all_ends_nothing),
		cmocka_unit_test(the_last_mark_is_found_from_any_distance),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
