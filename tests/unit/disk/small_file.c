#include "disk/small_file.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/rows.h"
#include "disk/record.h"

#include "../scratch.h"

struct fruit {
	char name[8];
	uint8_t ripe;
	uint16_t seeds;
	uint32_t grams;
	uint64_t number;
	int64_t picked_us;
	uint8_t mark[3];
};

static const struct column fields[] = {
	COL("name", struct fruit, name),
	COL("ripe", struct fruit, ripe),
	COL("seeds", struct fruit, seeds, .unit = UNIT_HEX),
	COL("grams", struct fruit, grams),
	COL("", struct fruit, number),
	COL("picked", struct fruit, picked_us, .unit = UNIT_TIME),
	COL("mark", struct fruit, mark),
};
static const struct rows fruit_fields = {ROWS(struct fruit, fields), .what = "a fruit"};
static const struct rows fruits_fields = {ROWS(struct fruit, fields), .what = "a fruit",
					  .many = true};

static const struct record_kind fruit_kind = {"GARNERFK", 1, 64};
static const struct format fruit_format = {
	.name = "fruit", .magic = "GARNERFR", .version = 3, .fields = &fruit_fields};
static const struct format newer_format = {
	.name = "fruit", .magic = "GARNERFR", .version = 4, .fields = &fruit_fields};
static const struct format fruits_format = {
	.name = "fruits", .magic = "GARNERFS", .version = 1, .fields = &fruits_fields};
static const struct format records_format = {.name = "fruit-records",
					     .magic = "GARNERFK",
					     .version = 1,
					     .records = &fruit_kind,
					     .fields = &fruit_fields};

static const struct fruit apple = {"apple",          1,          0x2a, 150, UINT64_MAX,
				   1700000000123456, {1, 2, 255}};
static const struct fruit pear = {"pear", 0, 7, 1 << 31, 0, 0, {0}};

static void keep(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static void is_printed_as(const struct format *f, const char *path, const char *text)
{
	struct buf out = BUF_INIT(4096);
	struct err err = {0};
	assert_int_equal(format_print(f, path, keep, &out, &err), 0);
	assert_string_equal(buf_text(&out), text);
	assert_int_equal(format_verify(f, path, &err), 0);
	buf_free(&out);
}

static void a_table_writes_what_it_reads_and_prints(void **state)
{
	(void)state;
	struct fruit got = {0};
	struct err err = {0};
	const char *path = scratch("apple");
	assert_int_equal(small_file_load(path, &fruit_format, &got, &err), 1);
	assert_int_equal(small_file_save(path, &fruit_format, &apple, &err), 0);
	assert_int_equal(small_file_load(path, &fruit_format, &got, &err), 0);
	assert_memory_equal(&got, &apple, sizeof got);
	is_printed_as(&fruit_format, path,
		      "name apple\nripe 1\nseeds 002a\ngrams 150\n18446744073709551615\n"
		      "picked 2023-11-14T22:13:20.123456Z\nmark 0102ff\n");
}

static void many_are_read_one_after_another(void **state)
{
	(void)state;
	struct buf payload = BUF_INIT(4096), room = BUF_INIT(4096);
	struct err err = {0};
	struct fruit got = {0};
	struct str all;
	const char *path = scratch("many");
	rows_write(&fruits_fields, &apple, &payload);
	rows_write(&fruits_fields, &pear, &payload);
	assert_int_equal(small_file_write(path, &fruits_format, buf_str(&payload), &err), 0);
	assert_int_equal(small_file_read(path, &fruits_format, &room, &all, &err), 0);
	struct reader r = reader_of(all);
	assert_int_equal(rows_next(&fruits_fields, &r, &got, &err), 0);
	assert_string_equal(got.name, "apple");
	assert_int_equal(rows_next(&fruits_fields, &r, &got, &err), 0);
	assert_memory_equal(&got, &pear, sizeof got);
	assert_int_equal(rows_next(&fruits_fields, &r, &got, &err), 1);
	is_printed_as(&fruits_format, path,
		      "name apple ripe 1 seeds 002a grams 150 18446744073709551615 picked "
		      "2023-11-14T22:13:20.123456Z mark 0102ff\n"
		      "name pear ripe 0 seeds 0007 grams 2147483648 0 picked "
		      "1970-01-01T00:00:00.000000Z mark 000000\n");
	assert_int_equal(small_file_write(path, &fruits_format, STR(""), &err), 0);
	is_printed_as(&fruits_format, path, "\n");
	buf_free(&payload);
	buf_free(&room);
}

/* Every bit of the file: what is flipped, or cut, is damage and never another version. */
static void any_flipped_bit_and_any_cut_is_damage(void **state)
{
	(void)state;
	struct buf bytes = BUF_INIT(4096);
	struct err err = {0};
	struct fruit got;
	const char *path = scratch("flipped");
	assert_int_equal(small_file_save(path, &fruit_format, &apple, &err), 0);
	assert_int_equal(file_slurp(path, &bytes, &err), 0);
	for (size_t bit = 0; bit < bytes.n * 8; bit++) {
		bytes.p[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(file_replace(path, buf_str(&bytes), 0600, &err), 0);
		assert_int_equal(small_file_load(path, &fruit_format, &got, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, path));
		bytes.p[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t n = 0; n < bytes.n; n++) {
		assert_int_equal(file_replace(path, str_head(buf_str(&bytes), n), 0600, &err), 0);
		assert_int_equal(format_verify(&fruit_format, path, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
	buf_free(&bytes);
}

static void another_version_is_told_from_damage(void **state)
{
	(void)state;
	struct err err = {0};
	struct fruit got;
	const char *path = scratch("newer");
	assert_int_equal(small_file_save(path, &newer_format, &apple, &err), 0);
	assert_int_equal(small_file_load(path, &fruit_format, &got, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "fruit file in version 4; this program knows version 3"));
}

static void payloads_that_do_not_fit_the_table_are_damage(void **state)
{
	(void)state;
	struct buf payload = BUF_INIT(4096);
	struct err err = {0};
	struct fruit got;
	const char *path = scratch("unfit");
	rows_write(&fruit_fields, &apple, &payload);
	for (size_t n = 0; n < payload.n; n++)
		assert_int_equal(
			rows_read(&fruit_fields, str_head(buf_str(&payload), n), &got, &err), -1);
	buf_add_byte(&payload, 'x');
	assert_int_equal(small_file_write(path, &fruit_format, buf_str(&payload), &err), 0);
	assert_int_equal(small_file_load(path, &fruit_format, &got, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "not a fruit: wrong at byte"));
	payload.p[0] = 8; /* a name that is too long by one */
	assert_int_equal(rows_read(&fruit_fields, buf_str(&payload), &got, &err), -1);
	buf_free(&payload);
}

static void a_file_that_is_too_long_is_damage(void **state)
{
	(void)state;
	struct buf room = BUF_INIT(100);
	struct err err = {0};
	struct str payload;
	char wide[200] = {0};
	const char *path = scratch("long");
	assert_int_equal(file_replace(path, (struct str){wide, sizeof wide}, 0600, &err), 0);
	assert_int_equal(small_file_read(path, &fruit_format, &room, &payload, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	buf_free(&room);
}

static void append(struct record_writer *w, struct str payload, struct record_group *g)
{
	struct err err = {0};
	assert_int_equal(record_append(w, payload, g, NULL, &err), 0);
}

static void records_are_printed_and_verified_by_their_table(void **state)
{
	(void)state;
	struct record_writer *w;
	struct record_group g = {0};
	struct buf payload = BUF_INIT(64), out = BUF_INIT(4096);
	struct err err = {0};
	const char *path = scratch("records");
	rows_write(&fruit_fields, &pear, &payload);
	assert_int_equal(record_open(&w, path, &fruit_kind, 0644, NULL, &err), 0);
	append(w, buf_str(&payload), &g);
	assert_int_equal(record_sync(w, &g, &err), 0);
	assert_int_equal(format_verify(&records_format, path, &err), 0);
	append(w, STR("rotten"), &g);
	assert_int_equal(record_close(&w, &err), 0);
	assert_int_equal(format_print(&records_format, path, keep, &out, &err), 0);
	assert_non_null(strstr(buf_text(&out), "name pear ripe 0 seeds 0007"));
	assert_non_null(strstr(buf_text(&out), "damaged: not a fruit: wrong at byte"));
	assert_non_null(strstr(buf_text(&out), "2 records in "));
	assert_int_equal(format_verify(&records_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "record at "));
	buf_free(&payload);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_writes_what_it_reads_and_prints),
		cmocka_unit_test(many_are_read_one_after_another),
		cmocka_unit_test(any_flipped_bit_and_any_cut_is_damage),
		cmocka_unit_test(another_version_is_told_from_damage),
		cmocka_unit_test(payloads_that_do_not_fit_the_table_are_damage),
		cmocka_unit_test(a_file_that_is_too_long_is_damage),
		cmocka_unit_test(records_are_printed_and_verified_by_their_table),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
