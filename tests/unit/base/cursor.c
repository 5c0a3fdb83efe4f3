#include "base/cursor.h"

#include "../unit.h"

static void numbers_come_back_in_both_orders(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	put_u8(&b, 0xab);
	put_u16le(&b, 0x0102);
	put_u16be(&b, 0x0102);
	put_u32le(&b, 0x01020304);
	put_u32be(&b, 0x01020304);
	put_u64le(&b, UINT64_C(0x0102030405060708));
	static const char want[] = "\xab\2\1\1\2\4\3\2\1\1\2\3\4"
				   "\10\7\6\5\4\3\2\1";
	assert_int_equal(b.n, sizeof want - 1);
	assert_memory_equal(b.p, want, b.n);
	struct reader r = reader_of(buf_str(&b));
	assert_int_equal(reader_u8(&r), 0xab);
	assert_int_equal(reader_u16le(&r), 0x0102);
	assert_int_equal(reader_u16be(&r), 0x0102);
	assert_int_equal(reader_u32le(&r), 0x01020304);
	assert_int_equal(reader_u32be(&r), 0x01020304);
	assert_int_equal(reader_u64le(&r), UINT64_C(0x0102030405060708));
	assert_false(r.bad);
	assert_int_equal(reader_left(&r), 0);
	assert_int_equal(reader_at(&r), b.n);
}

static void a_bad_reader_stays_bad_and_answers_zeroes(void **state)
{
	(void)state;
	struct reader r = reader_of(STR("\1\2\3"));
	assert_int_equal(reader_u32le(&r), 0);
	assert_true(r.bad);
	assert_int_equal(reader_at(&r), 0);
	assert_int_equal(reader_u8(&r), 0);
	assert_int_equal(reader_varint(&r), 0);
	assert_str(reader_bytes(&r, 1), "");
	assert_str(reader_text(&r, 10), "");
	reader_skip(&r, 0);
	assert_true(r.bad);
}

static void nothing_is_read_from_nothing(void **state)
{
	(void)state;
	struct reader r = reader_of((struct str){0});
	assert_int_equal(reader_left(&r), 0);
	struct str s = reader_bytes(&r, 0);
	assert_true(s.p && s.n == 0);
	reader_skip(&r, 0);
	assert_false(r.bad);
	assert_int_equal(reader_u8(&r), 0);
	assert_true(r.bad);
}

static void sizes_past_the_end_do_not_wrap(void **state)
{
	(void)state;
	struct reader r = reader_of(STR("abc"));
	reader_skip(&r, 1);
	assert_str(reader_bytes(&r, SIZE_MAX), "");
	assert_true(r.bad);
	r = reader_of(STR("abc"));
	reader_skip(&r, SIZE_MAX - 1);
	assert_true(r.bad);
	assert_int_equal(reader_at(&r), 0);
}

static void varints_come_back_at_every_length(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int less = 0; less < 2; less++) {
			struct buf b CLEANUP(buf_free) = BUF_INIT(10);
			uint64_t v = (UINT64_C(1) << bit) - (uint64_t)less;
			put_varint(&b, v);
			assert_false(b.over);
			struct reader r = reader_of(buf_str(&b));
			assert_true(reader_varint(&r) == v);
			assert_false(r.bad);
			assert_int_equal(reader_left(&r), 0);
			r = reader_of(str_head(buf_str(&b), b.n - 1));
			assert_int_equal(reader_varint(&r), 0);
			assert_true(r.bad);
		}
	}
	struct reader r = reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"));
	assert_true(reader_varint(&r) == UINT64_MAX && !r.bad);
}

static void varints_past_64_bits_are_bad(void **state)
{
	(void)state;
	struct reader r = reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\2"));
	assert_int_equal(reader_varint(&r), 0);
	assert_true(r.bad);
	r = reader_of(STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"));
	assert_int_equal(reader_varint(&r), 0);
	assert_true(r.bad);
}

static void texts_have_their_length_before_them(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(100);
	put_text(&b, STR("hello"));
	put_text(&b, (struct str){0});
	struct reader r = reader_of(buf_str(&b));
	assert_str(reader_text(&r, 5), "hello");
	assert_str(reader_text(&r, 0), "");
	assert_false(r.bad);
	r = reader_of(buf_str(&b));
	assert_str(reader_text(&r, 4), "");
	assert_true(r.bad);
	r = reader_of(str_head(buf_str(&b), 5));
	assert_str(reader_text(&r, 100), "");
	assert_true(r.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back_in_both_orders),
		cmocka_unit_test(a_bad_reader_stays_bad_and_answers_zeroes),
		cmocka_unit_test(nothing_is_read_from_nothing),
		cmocka_unit_test(sizes_past_the_end_do_not_wrap),
		cmocka_unit_test(varints_come_back_at_every_length),
		cmocka_unit_test(varints_past_64_bits_are_bad),
		cmocka_unit_test(texts_have_their_length_before_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
