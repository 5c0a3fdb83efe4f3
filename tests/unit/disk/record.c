/* Record files: appending, checkpoints, readers, the format. */
#include "numbered.h"

static void a_new_file_is_empty_and_reopens(void **state)
{
	(void)state;
	const char *path = scratch("new");
	struct record_writer *w = open_file(path);
	assert_int_equal(record_end(w), RECORD_HEADER);
	assert_int_equal(record_durable(w), RECORD_HEADER);
	close_file(w);
	assert_numbered(path, 0);
	close_file(open_file(path));
	assert_numbered(path, 0);
	w = NULL;
	struct err err;
	assert_int_equal(record_close(&w, &err), 0);
	record_drop(&w);
}

static void records_come_back_in_order_across_openings(void **state)
{
	(void)state;
	const char *path = scratch("order");
	struct record_group g = {0};
	for (unsigned round = 0; round < 5; round++) {
		struct record_writer *w = open_file(path);
		append_numbered(w, round * 20, round * 20 + 10, &g);
		sync_group(w, &g);
		append_numbered(w, round * 20 + 10, round * 20 + 20, &g);
		if (round % 2)
			sync_group(w, &g);
		close_file(w);
		g = (struct record_group){0};
		assert_numbered(path, round * 20 + 20);
	}
}

static void a_place_leads_back_to_its_record(void **state)
{
	(void)state;
	const char *path = scratch("places");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_place place[50];
	for (unsigned i = 0; i < 50; i++) {
		place[i] = append(w, numbered(i), &g);
		if (i % 7 == 0)
			sync_group(w, &g);
	}
	close_file(w);
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (unsigned k = 0; k < 50; k++) {
		unsigned i = k * 17 % 50;
		record_seek(r, place[i].at);
		assert_int_equal(record_next(r, &record, &err), 0);
		assert_int_equal(record.place.at, place[i].at);
		assert_int_equal(record.place.next, place[i].next);
		assert_int_equal(record.payload.n, numbered(i).n);
		assert_int_equal(record_tell(r), place[i].next);
	}
	record_seek(r, 0);
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record.place.at, place[0].at);
	record_reader_free(&r);
}

static void large_records_are_whole_and_larger_ones_refused(void **state)
{
	(void)state;
	const char *path = scratch("large");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	char *big = mem_alloc((size_t)kind.most + 1);
	for (size_t i = 0; i <= kind.most; i++)
		big[i] = (char)(i * 13 >> 3);
	append(w, STR("first"), &g);
	append(w, (struct str){big, kind.most}, &g);
	append(w, STR("between"), &g);
	append(w, (struct str){big, 1 << 20}, &g);
	append(w, (struct str){big, (1 << 20) - HEAD - MARK}, &g);
	uint64_t end = record_end(w);
	assert_int_equal(record_append(w, (struct str){big, kind.most + 1}, &g, NULL, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "3145729 bytes; at most 3145728"));
	assert_int_equal(record_end(w), end);
	sync_group(w, &g);
	close_file(w);
	struct record_reader *r;
	struct record record;
	static const size_t sizes[] = {5, 3 << 20, 7, 1 << 20, (1 << 20) - HEAD - MARK};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		assert_int_equal(record_next(r, &record, &err), 0);
		assert_int_equal(record.payload.n, sizes[i]);
		if (sizes[i] > 7)
			assert_memory_equal(record.payload.p, big, sizes[i]);
	}
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
	mem_free(&big);
}

static void a_group_is_open_until_it_is_synced(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("open"));
	struct record_group g = {0}, other = {0};
	append(w, STR("x"), &g);
	append(w, STR("y"), &other);
	assert_int_equal(record_durable(w), RECORD_HEADER);
	sync_group(w, &g);
	assert_int_equal(record_durable(w), record_end(w));
	sync_group(w, &other);
	sync_group(w, &g);
	close_file(w);
}

static void what_was_flushed_is_read_by_others_and_not_durable(void **state)
{
	(void)state;
	const char *path = scratch("flushed");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	append(w, STR("x"), &g);
	assert_int_equal(record_next(r, &record, &err), 1);
	assert_int_equal(record_flush(w, &err), 0);
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record_durable(w), RECORD_HEADER);
	assert_int_equal(record_flush(w, &err), 0); /* nothing left */
	sync_group(w, &g);
	assert_int_equal(record_durable(w), record_end(w));
	record_reader_free(&r);
	close_file(w);
}

static void one_process_writes_at_a_time(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("busy")), *second = NULL;
	struct err err = {0};
	assert_int_equal(record_open(&second, scratch("busy"), &kind, 0644, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_null(second);
	close_file(w);
	close_file(open_file(scratch("busy")));
}

static void files_of_others_are_refused_and_left_alone(void **state)
{
	(void)state;
	static const char *const foreign[] = {"x", "GARNERT2", "GARNERT2 and some more of it",
					      "a longer text that is not a record file at all"};
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		struct record_writer *w = NULL;
		struct record_reader *r = NULL;
		struct err err = {0};
		const char *path = scratch("foreign");
		put(path, str_of(foreign[i]));
		assert_int_equal(record_open(&w, path, &kind, 0644, NULL, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(record_reader_open(&r, path, &kind, &err), -1);
		struct buf b = slurp(path);
		assert_string_equal(buf_text(&b), foreign[i]);
		buf_free(&b);
	}
}

static void another_version_or_kind_is_refused_by_name(void **state)
{
	(void)state;
	struct record_kind newer = kind, other = kind;
	newer.version++;
	memcpy(other.magic, "GARNERT9", 8);
	const char *path = scratch("kinds");
	close_file(open_file(path));
	struct record_reader *r = NULL;
	struct record_writer *w = NULL;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &newer, &err), -1);
	assert_non_null(strstr(err.msg, "version 3, framing 1; this program knows version 4"));
	assert_int_equal(record_open(&w, path, &other, 0644, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "magic GARNERT9"));
	assert_int_equal(record_reader_open(&r, path, NULL, &err), 0);
	record_reader_free(&r);
	assert_int_equal(record_reader_open(&r, scratch("absent"), &kind, &err), 1);
}

/* Checkpoints */

static void a_file_can_be_cut_to_any_checkpoint(void **state)
{
	(void)state;
	const char *path = scratch("checkpoint");
	struct err err = {0};
	for (unsigned keep = 0; keep <= 10; keep++) {
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		uint64_t at[12] = {RECORD_HEADER};
		assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
		for (unsigned i = 0; i < 10; i++) {
			at[i + 1] = append(w, numbered(i), &g).next;
			if (i % 3 == 0)
				sync_group(w, &g);
		}
		if (record_truncate(w, at[keep], &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(record_durable(w), at[keep]);
		assert_int_equal(record_end(w), at[keep]);
		assert_numbered(path, keep);
		if (keep % 2) {
			append_numbered(w, keep, keep + 2, &g);
			sync_group(w, &g);
		}
		if (keep % 3)
			record_drop(&w);
		else
			close_file(w);
		assert_numbered(path, keep + keep % 2 * 2);
		close_file(open_file(path));
		assert_numbered(path, keep + keep % 2 * 2);
	}
}

static void places_that_are_no_checkpoints_are_refused(void **state)
{
	(void)state;
	const char *path = scratch("nocheckpoint");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	append_numbered(w, 0, 10, &g);
	sync_group(w, &g);
	uint64_t end = record_end(w);
	struct record_place place = append(w, numbered(10), &g);
	uint64_t bad[] = {0,
			  1,
			  RECORD_HEADER - 1,
			  RECORD_HEADER + 1,
			  place.at + 1,
			  end - 1,
			  place.next + 1,
			  UINT64_MAX};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(record_truncate(w, bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_int_equal(record_truncate(w, place.next, &err), 0);
	assert_int_equal(record_truncate(w, place.at, &err), 0);
	assert_int_equal(record_truncate(w, end, &err), 0);
	close_file(w);
	assert_numbered(path, 10);
}

/* Readers that follow */

static void a_reader_follows_a_growing_file(void **state)
{
	(void)state;
	const char *path = scratch("follow");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(record_next(r, &record, &err), 1);
		append(w, numbered(i), &g);
		assert_int_equal(record_next(r, &record, &err), 1);
		sync_group(w, &g);
		assert_int_equal(record_next(r, &record, &err), 0);
		assert_int_equal(record.payload.n, numbered(i).n);
	}
	assert_int_equal(record_next(r, &record, &err), 1);
	close_file(w);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
}

static void a_reader_sees_a_record_when_its_last_byte_is_there(void **state)
{
	(void)state;
	uint64_t next[8];
	struct buf whole = sample(scratch("bytes"), ARRAY_LEN(next), true, next);
	const char *path = scratch("bytes2");
	put(path, STR(""));
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	struct file f;
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 1);
	assert_int_equal(file_open(&f, path, O_WRONLY, 0, &err), 0);
	unsigned seen = 0;
	for (size_t at = 0; at < whole.n; at++) {
		assert_int_equal(file_write(&f, whole.p + at, 1, at, &err), 0);
		if (!r && at + 1 < RECORD_HEADER) {
			assert_int_equal(record_reader_open(&r, path, &kind, &err), 1);
			continue;
		}
		if (!r)
			assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
		int rc = record_next(r, &record, &err);
		assert_true(rc >= 0);
		assert_int_equal(rc == 0, seen < ARRAY_LEN(next) && next[seen] == at + 1);
		seen += rc == 0;
	}
	assert_int_equal(seen, ARRAY_LEN(next));
	file_drop(&f);
	record_reader_free(&r);
	buf_free(&whole);
}

/* A reader has read ahead what was not complete then. */
static void a_reader_looks_again_before_it_says_no(void **state)
{
	(void)state;
	uint64_t next[4];
	struct buf b = sample(scratch("ahead"), ARRAY_LEN(next), false, next);
	const char *path = scratch("ahead2");
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	b.p[next[2] + HEAD] ^= 1;
	put(path, buf_str(&b));
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_next(r, &record, &err), 0);
	b.p[next[2] + HEAD] ^= 1;
	put(path, buf_str(&b));
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record.place.next, next[3]);
	record_reader_free(&r);
	buf_free(&b);
}

static void a_limit_keeps_a_reader_to_what_is_durable(void **state)
{
	(void)state;
	const char *path = scratch("limit");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	append_numbered(w, 0, 3, &g);
	sync_group(w, &g);
	uint64_t durable = record_durable(w);
	append_numbered(w, 3, 5, &g);
	sync_group(w, &g);
	record_limit(r, durable);
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, durable + 5); /* inside of a mark */
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, durable + MARK + 3); /* inside of a record */
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, record_durable(w));
	assert_int_equal(record_next(r, &record, &err), 0);
	record_limit(r, 0);
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, record_durable(w) + 1000); /* said to be durable, and not there */
	assert_int_equal(record_next(r, &record, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	record_reader_free(&r);
	close_file(w);
}

/* Reads its end, and with it what may still disappear. */
static void a_reader_with_a_limit_never_gives_what_was_taken_back(void **state)
{
	(void)state;
	const char *path = scratch("takenback");
	struct record_writer *w = open_file(path);
	struct record_group g = {0}, other = {0};
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	append(w, STR("kept"), &g);
	sync_group(w, &g);
	uint64_t checkpoint = record_durable(w);
	append(w, STR("then"), &g);
	sync_group(w, &g);
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	record_limit(r, checkpoint);
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_true(str_is(record.payload, "kept"));
	assert_int_equal(record_next(r, &record, &err), 1);
	assert_int_equal(record_truncate(w, checkpoint, &err), 0);
	append(w, STR("else"), &other);
	sync_group(w, &other);
	record_limit(r, record_durable(w));
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_true(str_is(record.payload, "else"));
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
	close_file(w);
}

static void groups_after_a_checkpoint_are_told_that_they_are_lost(void **state)
{
	(void)state;
	const char *path = scratch("after");
	struct record_writer *w = open_file(path);
	struct record_group before = {0}, settled = {0}, open = {0}, across = {0}, later = {0};
	struct err err = {0};
	append(w, STR("1"), &before);
	append(w, STR("2"), &across);
	uint64_t checkpoint = record_end(w);
	append(w, STR("3"), &across);
	append(w, STR("4"), &settled);
	append(w, STR("5"), &later);
	sync_group(w, &later); /* and all before it */
	append(w, STR("6"), &open);
	assert_int_equal(record_truncate(w, checkpoint, &err), 0);
	assert_int_equal(record_sync(w, &across, &err), -1);
	assert_int_equal(record_sync(w, &settled, &err), -1);
	assert_non_null(strstr(err.msg, "cut"));
	assert_int_equal(record_sync(w, &open, &err), -1);
	assert_int_equal(record_sync(w, &before, &err), 0);
	append(w, STR("7"), &open);
	sync_group(w, &open);
	close_file(w);
}

static void a_reader_is_told_when_the_file_was_cut_below_it(void **state)
{
	(void)state;
	const char *path = scratch("below");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	append_numbered(w, 0, 4, &g);
	sync_group(w, &g);
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	while (record_next(r, &record, &err) == 0)
		;
	assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
	assert_int_equal(record_next(r, &record, &err), -1);
	assert_non_null(strstr(err.msg, "was cut to 32 bytes while it was read at"));
	record_seek(r, 0);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
	close_file(w);
}

static void a_length_past_the_end_allocates_nothing(void **state)
{
	(void)state;
	uint64_t next[1];
	struct buf b = sample(scratch("liar"), 1, false, next);
	buf_add(&b, "\0\0\x2f\0abcdefgh", 12); /* 3 MiB and a bit less */
	put(scratch("liar"), buf_str(&b));
	assert_numbered(scratch("liar"), 1);
	buf_free(&b);
}

/* The format */

static void keep(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static const struct record_kind plain = {.magic = "GARNERXX", .version = 1, .most = 1000};
static const struct format plain_format = {
	.name = "plain", .magic = "GARNERXX", .version = 1, .records = &plain};

static void the_format_prints_and_verifies(void **state)
{
	(void)state;
	const char *path = scratch("plain");
	struct record_writer *w;
	struct err err = {0};
	struct record_group g = {0};
	char wide[300];
	memset(wide, 'w', sizeof wide);
	assert_int_equal(record_open(&w, path, &plain, 0644, NULL, &err), 0);
	append(w, STR("hello\n\\ \xff"), &g);
	append(w, STR(""), &g);
	append(w, (struct str){wide, sizeof wide}, &g);
	close_file(w);
	struct buf out = BUF_INIT(4096);
	assert_int_equal(format_verify(&plain_format, path, &err), 0);
	assert_int_equal(format_print(&plain_format, path, keep, &out, &err), 0);
	assert_true(str_starts(buf_str(&out), STR("64 9 hello\\x0a\\x5c \\xff\n81 0 \n89 300 ww")));
	assert_non_null(strstr(buf_text(&out), "w...\n3 records in 429 bytes\n"));
	struct buf b = slurp(path);
	buf_add_text(&b, "torn");
	put(path, buf_str(&b));
	buf_clear(&out);
	assert_int_equal(format_verify(&plain_format, path, &err), FORMAT_NOTED);
	assert_non_null(strstr(err.msg, "was not closed, and is incomplete from byte 429"));
	assert_int_equal(format_print(&plain_format, path, keep, &out, &err), 0);
	assert_non_null(strstr(buf_text(&out), "429 bytes, then 4 bytes that are not complete\n"));
	b.p[85] ^= 1;
	put(path, buf_str(&b));
	buf_clear(&out);
	assert_int_equal(format_verify(&plain_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "the record at 81 is damaged"));
	assert_int_equal(format_print(&plain_format, path, keep, &out, &err), -1);
	assert_true(str_ends(buf_str(&out), STR("\\xff\n")));
	const struct format *found = NULL, *table[] = {&plain_format};
	assert_int_equal(format_of(table, 1, path, &found, &err), 0);
	assert_ptr_equal(found, &plain_format);
	assert_int_equal(format_verify(&plain_format, scratch("absent"), &err), -1);
	buf_free(&b);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_is_empty_and_reopens),
		cmocka_unit_test(records_come_back_in_order_across_openings),
		cmocka_unit_test(a_place_leads_back_to_its_record),
		cmocka_unit_test(large_records_are_whole_and_larger_ones_refused),
		cmocka_unit_test(a_group_is_open_until_it_is_synced),
		cmocka_unit_test(what_was_flushed_is_read_by_others_and_not_durable),
		cmocka_unit_test(one_process_writes_at_a_time),
		cmocka_unit_test(files_of_others_are_refused_and_left_alone),
		cmocka_unit_test(another_version_or_kind_is_refused_by_name),
		cmocka_unit_test(a_file_can_be_cut_to_any_checkpoint),
		cmocka_unit_test(places_that_are_no_checkpoints_are_refused),
		cmocka_unit_test(a_reader_follows_a_growing_file),
		cmocka_unit_test(a_reader_sees_a_record_when_its_last_byte_is_there),
		cmocka_unit_test(a_reader_looks_again_before_it_says_no),
		cmocka_unit_test(a_limit_keeps_a_reader_to_what_is_durable),
		cmocka_unit_test(a_reader_with_a_limit_never_gives_what_was_taken_back),
		cmocka_unit_test(groups_after_a_checkpoint_are_told_that_they_are_lost),
		cmocka_unit_test(a_reader_is_told_when_the_file_was_cut_below_it),
		cmocka_unit_test(a_length_past_the_end_allocates_nothing),
		cmocka_unit_test(the_format_prints_and_verifies),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
