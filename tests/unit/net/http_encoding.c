#include "net/http_inner.h"

#include "../unit.h"

#include <zlib.h>

static void ranges_are_cut_to_what_there_is(void **state)
{
	static const struct {
		const char *text;
		uint64_t size;
		enum http_range what;
		uint64_t from, n;
	} samples[] = {
		{"bytes=0-9", 100, HTTP_RANGE_PART, 0, 10},
		{"bytes=10-", 100, HTTP_RANGE_PART, 10, 90},
		{"bytes=-10", 100, HTTP_RANGE_PART, 90, 10},
		{"bytes=-1000", 100, HTTP_RANGE_PART, 0, 100},
		{"bytes=99-99", 100, HTTP_RANGE_PART, 99, 1},
		{"bytes=99-1000", 100, HTTP_RANGE_PART, 99, 1},
		{"bytes= 0-9 ", 100, HTTP_RANGE_PART, 0, 10},
		{"bytes=0-18446744073709551615", 100, HTTP_RANGE_PART, 0, 100},
		{"bytes=100-", 100, HTTP_RANGE_OUTSIDE, 0, 0},
		{"bytes=100-200", 100, HTTP_RANGE_OUTSIDE, 0, 0},
		{"bytes=-0", 100, HTTP_RANGE_OUTSIDE, 0, 0},
		{"bytes=0-", 0, HTTP_RANGE_OUTSIDE, 0, 0},
		{"bytes=-5", 0, HTTP_RANGE_OUTSIDE, 0, 0},
		{"bytes=9-0", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=0-1,3-4", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=-", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=5", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=a-b", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=0--1", 100, HTTP_RANGE_NONE, 0, 0},
		{"bytes=0-99999999999999999999999", 100, HTTP_RANGE_NONE, 0, 0},
		{"lines=0-9", 100, HTTP_RANGE_NONE, 0, 0},
		{"", 100, HTTP_RANGE_NONE, 0, 0},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		uint64_t from = 0, n = 0;
		enum http_range what =
			http_range_parse(str_of(samples[i].text), samples[i].size, &from, &n);
		if (what != samples[i].what || from != samples[i].from || n != samples[i].n)
			fail_msg("%s of %d: %d, from %d, %d bytes", samples[i].text,
				 (int)samples[i].size, (int)what, (int)from, (int)n);
	}
}

static void tags_are_found_in_their_list(void **state)
{
	(void)state;
	assert_true(http_tag_listed(STR("\"a\""), "a"));
	assert_true(http_tag_listed(STR("\"b\", W/\"a\""), "a"));
	assert_true(http_tag_listed(STR("*"), "a"));
	assert_false(http_tag_listed(STR("\"aa\""), "a"));
	assert_false(http_tag_listed(STR("a"), "a"));
	assert_false(http_tag_listed(STR("\""), "a"));
	assert_false(http_tag_listed(STR("\""), ""));
	assert_false(http_tag_listed(STR(""), "a"));
	assert_false(http_tag_listed((struct str){0}, "a"));
}

static void a_coding_is_accepted_unless_its_weight_is_zero(void **state)
{
	(void)state;
	assert_true(http_accepts(STR("gzip"), "gzip"));
	assert_true(http_accepts(STR("br, GZIP;q=0.5"), "gzip"));
	assert_true(http_accepts(STR("gzip; q=0.001"), "gzip"));
	assert_false(http_accepts(STR("gzip;q=0"), "gzip"));
	assert_false(http_accepts(STR("gzip ; q=0.000, br"), "gzip"));
	assert_false(http_accepts(STR("xgzip, gzipx"), "gzip"));
	assert_false(http_accepts(STR(""), "gzip"));
	assert_false(http_accepts((struct str){0}, "gzip"));
}

static void what_was_packed_unpacks_to_the_same(void **state)
{
	struct buf text = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);
	static unsigned char back[100000];
	(void)state;
	for (int i = 0; text.n < 50000; i++)
		buf_printf(&text, "line %d\n", i);
	assert_true(http_gzip(buf_str(&text), &packed));
	assert_true(packed.n < text.n / 2);
	z_stream z = {.next_in = (unsigned char *)packed.p,
		      .avail_in = (unsigned)packed.n,
		      .next_out = back,
		      .avail_out = sizeof back};
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, text.n);
	assert_memory_equal(back, text.p, text.n);
	inflateEnd(&z);
	buf_free(&text);
	buf_free(&packed);
}

static void what_was_packed_in_parts_is_one_file(void **state)
{
	static const size_t sizes[] = {1, 0, 60000, 65536, 7};
	struct buf text = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);
	static unsigned char back[200000];
	struct http_packer z = {0};
	(void)state;
	for (int i = 0; text.n < 60000 + 65536 + 8; i++)
		buf_printf(&text, "line %d\n", i);
	struct str left = buf_str(&text);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		http_pack_part(&z, str_head(left, sizes[i]), false, &packed);
		left = str_from(left, sizes[i]);
	}
	http_pack_part(&z, left, true, &packed);
	assert_true(packed.n < text.n / 2);
	z_stream s = {.next_in = (unsigned char *)packed.p,
		      .avail_in = (unsigned)packed.n,
		      .next_out = back,
		      .avail_out = sizeof back};
	assert_int_equal(inflateInit2(&s, 15 + 16), Z_OK); /* looks at length and checksum, too */
	assert_int_equal(inflate(&s, Z_FINISH), Z_STREAM_END);
	assert_int_equal(s.avail_in, 0);
	assert_int_equal(s.total_out, text.n);
	assert_memory_equal(back, text.p, text.n);
	inflateEnd(&s);
	buf_free(&text);
	buf_free(&packed);
}

static void what_does_not_shrink_is_left_alone(void **state)
{
	struct buf packed = BUF_INIT(1 << 20);
	char noise[2000];
	uint64_t x = 1;
	(void)state;
	for (size_t i = 0; i < sizeof noise; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		noise[i] = (char)(x >> 56);
	}
	assert_false(http_gzip((struct str){noise, sizeof noise}, &packed));
	assert_int_equal(packed.n, 0);
	buf_free(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_cut_to_what_there_is),
		cmocka_unit_test(tags_are_found_in_their_list),
		cmocka_unit_test(a_coding_is_accepted_unless_its_weight_is_zero),
		cmocka_unit_test(what_was_packed_unpacks_to_the_same),
		cmocka_unit_test(what_was_packed_in_parts_is_one_file),
		cmocka_unit_test(what_does_not_shrink_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
