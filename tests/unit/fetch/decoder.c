/* Content codings: what each body becomes, whole and byte by byte, and where it may end. */
#include "fetch/robot/decoder.h"
#include "../unit.h"
#include "base/buf.h"

#include <zlib.h>
#include <zstd.h>

#define TEXT "the quick brown fox, the lazy dog, the quick brown fox, the lazy dog.\n"

static void pack_zlib(struct str plain, int window, struct buf *out)
{
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	size_t most = deflateBound(&z, plain.n);
	z.next_in = (unsigned char *)plain.p;
	z.avail_in = (unsigned)plain.n;
	z.next_out = (unsigned char *)buf_room(out, most);
	z.avail_out = (unsigned)most;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_grew(out, most - z.avail_out);
	deflateEnd(&z);
}

/* Of this text, and of a megabyte of the letter a: the encoder is not needed for more. */
static void pack_brotli(struct str plain, struct buf *out)
{
	static const char text[] =
		"\xa2\x08\x00\xbc\x33\xc1\x8e\x75\x31\x1d\xd2\xcc\x8e\xd7\x0a\x64\x66\x74"
		"\x1a\x84\xc5\x25\x4f\x9e\xe1\xe9\x15\xda\x1b\x38\xe4\xc0\xe1\x60\x8f\xa0"
		"\x2d\xf0\xfa\x31\x7a\xdd\x64\x8b\x21\x42\xd8\x26\x2f\xfb\x79\x8c\xc7\x1b";
	static const char letters[] =
		"\xf4\xff\x1f\xf0\x4b\x84\xc5\x63\x81\x40\xee\x7d\x80\xfe\xff\x03\x7e\x09"
		"\x80\x38\x2c\x02\xd0\xbd\x0f\xd0\xff\x7f\xc0\x2f\x01\x10\x87\x05\x00\xba"
		"\xf7\x01\xfa\xff\x0f\xf8\x25\x00\xe2\xb0\x00\x40\xf7\x3e\x40\xff\xff\x01"
		"\xbf\x04\x40\x1c\x16\x00\xe8\xde\x07\xe8\xff\x3f\xe0\x97\x00\x88\xc3\x02"
		"\x00\xdd\xfb\x00\xfd\xff\x07\xfc\x12\x00\x71\x58\x00\xa0\x7b\x1f\x50\xff"
		"\xff\x81\x5f\x02\x20\x0e\x0b\x00\x74\xef\x03\x00";
	if (plain.n == sizeof TEXT - 1)
		buf_add(out, text, sizeof text - 1);
	else
		buf_add(out, letters, sizeof letters - 1);
}

static void pack_zstd(struct str plain, struct buf *out)
{
	size_t most = ZSTD_compressBound(plain.n);
	size_t n = ZSTD_compress(buf_room(out, most), most, plain.p, plain.n, 3);
	assert_false(ZSTD_isError(n));
	buf_grew(out, n);
}

/* A letter for each coding: what it makes of the bytes. */
static void pack(char letter, struct str plain, struct buf *out)
{
	switch (letter) {
	case 'g':
		pack_zlib(plain, 15 + 16, out);
		break;
	case 'd':
		pack_zlib(plain, 15, out);
		break;
	case 'r':
		pack_zlib(plain, -15, out);
		break;
	case 'b':
		pack_brotli(plain, out);
		break;
	default:
		pack_zstd(plain, out);
	}
}

static int keep(void *ctx, struct str bytes)
{
	buf_add_str(ctx, bytes);
	return 0;
}

enum { MOST = 1 << 20 }; /* bytes between two codings */

enum end { WHOLE, CUT, BAD, LARGE };

/* In pieces of so many bytes. */
static enum end decode(const char *codings, struct str body, size_t piece, struct buf *out)
{
	struct decoder *d = NULL;
	int rc = 0;
	buf_clear(out);
	assert_int_equal(decoder_new(&d, str_of(codings), MOST), 0);
	for (; body.n && rc == 0; body = str_from(body, piece))
		rc = decoder_feed(d, str_head(body, piece), keep, out);
	enum end end = rc == DECODER_LARGE   ? LARGE
		       : rc < 0              ? BAD
		       : decoder_is_whole(d) ? WHOLE
					     : CUT;
	decoder_free(&d);
	return end;
}

static const struct {
	const char *codings;
	char letter;
	bool has_members;
} known[] = {
	{"gzip", 'g', true},           {"X-GZip", 'g', true}, {"deflate", 'd', false},
	{"deflate", 'r', false},       {"br", 'b', false},    {"zstd", 'z', true},
	{"identity, gzip", 'g', true},
};

static void a_body_is_whole_where_its_coding_ends_and_nowhere_before(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		buf_clear(&body);
		pack(known[i].letter, STR(TEXT), &body);
		for (size_t piece = 1; piece <= body.n; piece = piece == 1 ? body.n : piece + 1) {
			assert_int_equal(decode(known[i].codings, buf_str(&body), piece, &out),
					 WHOLE);
			assert_str(buf_str(&out), TEXT);
		}
		for (size_t n = 1; n < body.n; n++)
			assert_int_equal(
				decode(known[i].codings, str_head(buf_str(&body), n), n, &out),
				CUT);
		assert_int_equal(decode(known[i].codings, STR(""), 1, &out), WHOLE);
		assert_int_equal(out.n, 0);
	}
}

static void members_are_one_body_and_other_bytes_are_padding(void **state)
{
	static const char *const padding[] = {"\x1f", "\n", "<!-- cached -->", "\x1f\x8c", "\x28"};
	CLEANUP(buf_free) struct buf body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		for (size_t k = 0; k < ARRAY_LEN(padding); k++)
			for (int all = 0; all < 2; all++) {
				buf_clear(&body);
				pack(known[i].letter, STR(TEXT), &body);
				buf_add_text(&body, padding[k]);
				assert_int_equal(decode(known[i].codings, buf_str(&body),
							all ? body.n : 1, &out),
						 WHOLE);
				assert_str(buf_str(&out), TEXT);
			}
		buf_clear(&body);
		pack(known[i].letter, STR(TEXT), &body);
		pack(known[i].letter, STR("and more"), &body);
		assert_int_equal(decode(known[i].codings, buf_str(&body), 1, &out), WHOLE);
		assert_str(buf_str(&out), known[i].has_members ? TEXT "and more" : TEXT);
		body.n--;
		assert_int_equal(decode(known[i].codings, buf_str(&body), 7, &out),
				 known[i].has_members ? CUT : WHOLE);
	}
}

static void a_further_member_is_no_worse_than_the_first(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	(void)state;
	pack('g', STR(TEXT), &body);
	pack('g', STR("and more"), &body);
	body.p[body.n - 8] ^= 1; /* its sum */
	for (size_t piece = 1; piece <= body.n; piece += body.n - 1)
		assert_int_equal(decode("gzip", buf_str(&body), piece, &out), BAD);
	buf_clear(&body);
	pack('z', STR(TEXT), &body);
	buf_add(&body, "\x5f\x2a\x4d\x18\x02\0\0\0xx", 10); /* a frame that is to be skipped */
	pack('z', STR("and more"), &body);
	for (size_t piece = 1; piece <= body.n; piece += body.n - 1) {
		assert_int_equal(decode("zstd", buf_str(&body), piece, &out), WHOLE);
		assert_str(buf_str(&out), TEXT "and more");
	}
	buf_clear(&body);
	pack('z', STR(TEXT), &body);
	buf_add(&body, "\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		18);
	for (size_t piece = 1; piece <= body.n; piece += body.n - 1)
		assert_int_equal(decode("zstd", buf_str(&body), piece, &out), BAD);
}

static void codings_lie_on_top_of_each_other(void **state)
{
	CLEANUP(buf_free)
	struct buf inner = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	(void)state;
	pack('b', STR(TEXT), &inner);
	pack('g', buf_str(&inner), &body);
	assert_int_equal(decode("br, gzip", buf_str(&body), 3, &out), WHOLE);
	assert_str(buf_str(&out), TEXT);
	assert_int_equal(decode("gzip, br", buf_str(&body), 3, &out), BAD);
	buf_clear(&body);
	inner.n--;
	pack('g', buf_str(&inner), &body); /* what is inside is cut */
	assert_int_equal(decode("br, gzip", buf_str(&body), 3, &out), CUT);
}

static void what_is_not_of_the_coding_is_bad(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	(void)state;
	assert_int_equal(decode("gzip", STR("<html>"), 6, &out), BAD);
	assert_int_equal(decode("zstd", STR("<html>"), 6, &out), BAD);
	/* of zstd before it was a standard */
	assert_int_equal(decode("zstd", STR("\x26\xb5\x2f\xfd"), 1, &out), BAD);
	assert_int_equal(decode("zstd", STR("\x28\xb5"), 1, &out), CUT);
	pack('g', STR(TEXT), &body);
	body.p[body.n - 8] ^= 1; /* the sum */
	assert_int_equal(decode("gzip", buf_str(&body), 5, &out), BAD);
}

static void unknown_codings_and_towers_of_them_are_not_taken(void **state)
{
	static const struct {
		const char *codings;
		int rc;
	} cases[] = {
		{"", 1},       {"identity", 1},        {" , identity,", 1},
		{"rot13", -1}, {"gzip, utf-8", -1},    {"gzip;q=1", -1},
		{"zlib", -1},  {"gzip,br,zstd,br", 0}, {"gzip,gzip,gzip,gzip,gzip", -1},
		{"gzip,,", 0},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct decoder *d = NULL;
		assert_int_equal(decoder_new(&d, str_of(cases[i].codings), MOST), cases[i].rc);
		decoder_free(&d);
	}
}

static int stop_at_once(void *ctx, struct str bytes)
{
	*(size_t *)ctx += bytes.n;
	return 7;
}

static void a_bomb_is_put_out_by_who_takes_it(void **state)
{
	static const char letters[] = "gdbz";
	static const char *const names[] = {"gzip", "deflate", "br", "zstd"};
	CLEANUP(buf_free) struct buf plain = BUF_INIT(1 << 22), body = BUF_INIT(1 << 22);
	(void)state;
	buf_fill(&plain, 'a', 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct decoder *d = NULL;
		size_t taken = 0;
		buf_clear(&body);
		pack(letters[i], buf_str(&plain), &body);
		assert_int_equal(decoder_new(&d, str_of(names[i]), MOST), 0);
		assert_int_equal(decoder_feed(d, buf_str(&body), stop_at_once, &taken), 7);
		assert_in_range(taken, 1, 64 << 10);
		decoder_free(&d);
		assert_int_equal(decode(names[i], buf_str(&body), body.n, &plain), WHOLE);
		assert_int_equal(plain.n, 1 << 20);
	}
}

/* Padding, and members with nothing in them: whatever comes of them, the last coding makes little.
 */
static void a_bomb_between_two_codings_is_put_out_too(void **state)
{
	static const struct {
		const char *codings, *letters; /* those on top of the first */
	} cases[] = {{"gzip, gzip", "g"}, {"gzip, zstd", "z"}, {"gzip, gzip, zstd", "gz"}};
	CLEANUP(buf_free) struct buf plain = BUF_INIT(1 << 22), body = plain, out = plain;
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		size_t more = i % 2; /* than may be */
		buf_clear(&body);
		pack('g', STR(TEXT), &body);
		buf_fill(&body, 0, MOST - body.n + more);
		for (const char *p = cases[i / 2].letters; *p; p++) {
			buf_clear(&plain);
			buf_add_str(&plain, buf_str(&body));
			buf_clear(&body);
			pack(*p, buf_str(&plain), &body);
		}
		assert_int_equal(decode(cases[i / 2].codings, buf_str(&body), 100, &out),
				 more ? LARGE : WHOLE);
		assert_true(str_is(buf_str(&out), TEXT));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_is_whole_where_its_coding_ends_and_nowhere_before),
		cmocka_unit_test(members_are_one_body_and_other_bytes_are_padding),
		cmocka_unit_test(a_further_member_is_no_worse_than_the_first),
		cmocka_unit_test(codings_lie_on_top_of_each_other),
		cmocka_unit_test(what_is_not_of_the_coding_is_bad),
		cmocka_unit_test(unknown_codings_and_towers_of_them_are_not_taken),
		cmocka_unit_test(a_bomb_is_put_out_by_who_takes_it),
		cmocka_unit_test(a_bomb_between_two_codings_is_put_out_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
