/* Files are unpacked by their first bytes, in pieces of any size. */
#include "extract/unpack.h"
#include "base/buf.h"
#include "lzw_pack.h"

#include <zlib.h>

#include "../unit.h"

#define TEXT                                               \
	".:\ntotal 1\n-rw-r--r-- 1 a b 1 Jan  2  2003 f\n" \
	"-rw-r--r-- 1 a b 2 Jan  2  2003 g\n"

static int take_piece(void *ctx, struct str piece, struct err *err)
{
	(void)err;
	assert_true(piece.n > 0);
	buf_add_str(ctx, piece);
	return 0;
}

static int unpack_cut(struct str in, size_t piece, uint64_t most, struct buf *out, struct err *err)
{
	struct unpack *u =
		unpack_new(&(struct unpack_options){.unpacked_max = most}, take_piece, out);
	int rc = 0;
	for (; in.n && rc == 0; in = str_from(in, piece))
		rc = unpack_put(u, str_head(in, piece), err);
	if (rc == 0)
		rc = unpack_end(u, err);
	unpack_free(&u);
	assert_null(u);
	return rc;
}

static void assert_unpacks(struct str packed, struct str want)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 5};
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct buf got = BUF_INIT(8 << 20);
		struct err err;
		if (unpack_cut(packed, pieces[i], 0, &got, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(str_eq(buf_str(&got), want));
		buf_free(&got);
	}
}

static void assert_refused(struct str packed, const char *why)
{
	struct buf got = BUF_INIT(8 << 20);
	struct err err = {0};
	assert_int_equal(unpack_cut(packed, SIZE_MAX, 1 << 20, &got, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (!strstr(err.msg, why))
		fail_msg("'%s' says nothing of '%s'", err.msg, why);
	buf_free(&got);
}

static void put_gzip(struct buf *out, struct str text)
{
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text.p;
	z.avail_in = (uInt)text.n;
	size_t room = deflateBound(&z, text.n);
	z.next_out = (Bytef *)buf_room(out, room);
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_grew(out, room - z.avail_out);
	deflateEnd(&z);
}

static const struct str xz = {
	"\375\067\172\130\132\000\000\004\346\326\264\106\002\000\041\001\026\000\000\000\164\057"
	"\345\243\340\000\116\000\062\135\000\027\016\175\121\152\000\135\105\267\175\160\334\323"
	"\365\354\002\053\260\127\155\005\066\101\367\314\122\033\245\275\003\062\255\257\315\352"
	"\331\216\361\204\226\005\271\235\201\015\064\150\170\000\000\000\000\000\001\200\157\015"
	"\153\071\150\200\000\001\116\117\241\213\037\250\037\266\363\175\001\000\000\000\000\004"
	"\131\132",
	112};

static void plain_bytes_stay_as_they_are(void **state)
{
	(void)state;
	assert_unpacks(STR(TEXT), STR(TEXT));
	assert_unpacks(STR(""), STR(""));
	assert_unpacks(STR("\x1f"), STR("\x1f"));
	assert_unpacks(STR("\xfd\x37zX"), STR("\xfd\x37zX"));
}

static void gzip_may_have_several_members(void **state)
{
	struct buf packed = BUF_INIT(1 << 20);
	(void)state;
	put_gzip(&packed, STR(TEXT));
	assert_unpacks(buf_str(&packed), STR(TEXT));
	put_gzip(&packed, STR(""));
	put_gzip(&packed, STR("more\n"));
	assert_unpacks(buf_str(&packed), STR(TEXT "more\n"));
	buf_add(&packed, "\0\0\0", 3); /* of a tape */
	assert_unpacks(buf_str(&packed), STR(TEXT "more\n"));
	buf_free(&packed);
}

static void xz_is_unpacked(void **state)
{
	struct buf two = BUF_INIT(1024);
	(void)state;
	assert_unpacks(xz, STR(TEXT));
	buf_add_str(&two, xz);
	buf_add_str(&two, xz);
	assert_unpacks(buf_str(&two), STR(TEXT TEXT));
	buf_free(&two);
}

static void compress_is_unpacked(void **state)
{
	struct buf packed = BUF_INIT(1 << 20);
	(void)state;
	lzw_pack(STR(TEXT), 16, true, 0, &packed);
	assert_unpacks(buf_str(&packed), STR(TEXT));
	buf_free(&packed);
}

static void what_is_cut_off_is_refused(void **state)
{
	struct buf gzip = BUF_INIT(1 << 20);
	(void)state;
	put_gzip(&gzip, STR(TEXT));
	for (size_t n = 2; n < gzip.n; n++)
		assert_refused(str_head(buf_str(&gzip), n), "cut off");
	put_gzip(&gzip, STR(TEXT));
	assert_refused(str_head(buf_str(&gzip), gzip.n - 1), "cut off");
	for (size_t n = 6; n < xz.n; n++)
		assert_refused(str_head(xz, n), "cut off");
	buf_free(&gzip);
}

static void what_is_damaged_is_refused(void **state)
{
	struct buf packed = BUF_INIT(1 << 20);
	(void)state;
	put_gzip(&packed, STR(TEXT));
	packed.p[packed.n - 6] ^= 1; /* its checksum */
	assert_refused(buf_str(&packed), "damaged");
	buf_clear(&packed);
	buf_add_str(&packed, xz);
	packed.p[60] ^= 1;
	assert_refused(buf_str(&packed), "damaged");
	buf_free(&packed);
}

static void no_more_comes_out_than_may(void **state)
{
	struct buf text = BUF_INIT(4 << 20), packed = BUF_INIT(4 << 20);
	(void)state;
	buf_fill(&text, 'x', 2 << 20);
	assert_int_equal(text.n, 2 << 20);
	assert_refused(buf_str(&text), "more than 1048576 bytes");
	put_gzip(&packed, buf_str(&text));
	assert_refused(buf_str(&packed), "more than 1048576 bytes");
	buf_clear(&packed);
	lzw_pack(buf_str(&text), 16, true, 0, &packed);
	assert_refused(buf_str(&packed), "more than 1048576 bytes");
	buf_free(&text);
	buf_free(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_bytes_stay_as_they_are),
		cmocka_unit_test(gzip_may_have_several_members),
		cmocka_unit_test(xz_is_unpacked),
		cmocka_unit_test(compress_is_unpacked),
		cmocka_unit_test(what_is_cut_off_is_refused),
		cmocka_unit_test(what_is_damaged_is_refused),
		cmocka_unit_test(no_more_comes_out_than_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
