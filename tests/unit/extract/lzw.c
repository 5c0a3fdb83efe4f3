/* What compress(1) wrote comes out again, however it is cut; what it never would is refused. */
#include "extract/lzw.h"
#include "lzw_pack.h"

#include "../dice.h"
#include "../unit.h"

enum { MOST = 8 << 20 };

/* Pieces of input and of output; 0, or what the end says. */
static int unpack_cut(struct str in, size_t piece, size_t room, struct buf *out, struct err *err)
{
	struct lzw *z = lzw_new();
	char *to = mem_alloc(room);
	int rc = 0;
	while (in.n && rc == 0) {
		struct str part = str_head(in, piece);
		size_t n = room;
		in = str_from(in, part.n);
		while (rc == 0 && (part.n || n == room)) {
			rc = lzw_run(z, &part, to, room, &n, err);
			if (rc == 0)
				buf_add(out, to, n);
		}
	}
	if (rc == 0)
		rc = lzw_end(z, err);
	assert_false(out->over);
	mem_free(&to);
	lzw_free(&z);
	return rc;
}

static void assert_unpacks(struct str packed, struct str want, size_t piece, size_t room)
{
	struct buf got = BUF_INIT(MOST);
	struct err err;
	if (unpack_cut(packed, piece, room, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(got.n, want.n);
	assert_true(str_eq(buf_str(&got), want));
	buf_free(&got);
}

static void assert_refused(struct str packed, const char *why)
{
	struct buf got = BUF_INIT(MOST);
	struct err err = {0};
	assert_int_equal(unpack_cut(packed, SIZE_MAX, 4096, &got, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (!strstr(err.msg, why))
		fail_msg("'%s' says nothing of '%s'", err.msg, why);
	buf_free(&got);
}

static void files_of_compress_are_read(void **state)
{
	(void)state;
	/* made by ncompress 4.2.4 */
	assert_unpacks(STR("\x1f\x9d\x90\x61\x02\x0a\x1c\x48\xb0\xa0\xc1\x83\x08\x0b\x02"),
		       STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), SIZE_MAX, 4096);
	assert_unpacks(STR("\x1f\x9d\x90"), STR(""), SIZE_MAX, 4096);
	assert_unpacks(STR("\x1f\x9d\x90\x2e\x74\x28\xa0\xf3\x86\x4e\x18\x36\x20\x62\x28\x68\x21"
			   "\xe7\x0e\xc3\x16\x0f\x5b\x24\x04\x11\x06\x84\x98\x89\x4a\xc2\xb8\x01"
			   "\x01\x42\x06\x47\x19\x30\x60\xcc\x00\x61\x66\x61\xc3\x88\x72\x20\x4e"
			   "\xac\x78\xd1\x63\xc6\x8d\x1d\x3f\x86\x1c\x79\x46\x01"),
		       STR(".:\ntotal 1\n-rw-r--r-- 1 a b 1 Jan  2  2003 f\n"
			   "-rw-r--r-- 1 a b 2 Jan  2  2003 g\n"),
		       1, 1);
}

/* Text that repeats itself, noise that does not, and runs. */
static void make_text(struct buf *out, size_t n, uint64_t seed)
{
	while (out->n < n) {
		uint64_t roll = dice(&seed);
		switch (roll % 3) {
		case 0:
			buf_printf(out, "-rw-r--r-- 1 root root %5u Jan 10 12:00 f%u\n",
				   (unsigned)(roll >> 40) % 5000, (unsigned)(roll >> 20) % 97);
			break;
		case 1:
			buf_add(out, &roll, sizeof roll);
			break;
		default:
			buf_fill(out, (char)(roll >> 8), roll % 700);
		}
	}
}

static void any_width_and_mode_comes_out_again(void **state)
{
	struct buf text = BUF_INIT(MOST);
	(void)state;
	make_text(&text, 60000, 7);
	for (unsigned bits = 9; bits <= 16; bits++) {
		static const size_t clears[] = {0, SIZE_MAX, 1, 7, 1000};
		for (size_t i = 0; i < ARRAY_LEN(clears); i++) {
			struct buf packed = BUF_INIT(MOST);
			bool block = clears[i] > 0;
			struct str in =
				str_head(buf_str(&text), clears[i] < 10 && block ? 300 : text.n);
			lzw_pack(in, bits, block, clears[i], &packed);
			assert_unpacks(buf_str(&packed), in, SIZE_MAX, 64 << 10);
			assert_unpacks(buf_str(&packed), in, 61, 997);
			buf_free(&packed);
		}
	}
	buf_free(&text);
}

static void a_file_cut_at_any_byte_is_read_as_far_as_it_goes(void **state)
{
	struct buf text = BUF_INIT(MOST), packed = BUF_INIT(MOST);
	(void)state;
	make_text(&text, 3000, 3);
	lzw_pack(buf_str(&text), 12, true, 400, &packed);
	for (size_t n = 0; n < packed.n; n++) {
		struct buf got = BUF_INIT(MOST);
		struct err err;
		int rc = unpack_cut(str_head(buf_str(&packed), n), SIZE_MAX, 4096, &got, &err);
		assert_true(n >= 3 || rc < 0);
		assert_true(got.n < text.n && str_starts(buf_str(&text), buf_str(&got)));
		buf_free(&got);
	}
	buf_free(&text);
	buf_free(&packed);
}

static void what_was_never_written_is_refused(void **state)
{
	(void)state;
	assert_refused(STR("\x1f\x9d"), "cut off");
	assert_refused(STR("\x1f\x8b\x90xxxxx"), "not a file of compress");
	assert_refused(STR("\x1f\x9d\x88xxxxx"), "8 bits"); /* fewer than the first codes have */
	assert_refused(STR("\x1f\x9d\x91xxxxx"), "17 bits");
	assert_refused(STR("\x1f\x9d\xb0xxxxx"), "flags");
	/* the first code is no byte: 257 */
	assert_refused(STR("\x1f\x9d\x90\x01\x01\x00\x00"), "never defined");
	/* 'a', then 258, where 257 is the next one to be defined */
	assert_refused(STR("\x1f\x9d\x90\x61\x04\x02\x00"), "never defined");
	/* 'a', CLEAR with its group, then 257, which is gone */
	assert_refused(STR("\x1f\x9d\x90\x61\x00\x02\x00\x00\x00\x00\x00\x00\x01\x01\x00"),
		       "never defined");
}

static void what_follows_a_clear_is_padding(void **state)
{
	(void)state;
	/* 'a', CLEAR, six codes that would be wrong, 'b' */
	assert_unpacks(STR("\x1f\x9d\x90\x61\x00\xfe\xff\xff\xff\xff\xff\xff\x62\x00"), STR("ab"),
		       SIZE_MAX, 4096);
}

static void what_we_pack_comes_out_again(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 2, 3, 300, 5000, 400000};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct buf text = BUF_INIT(MOST), packed = BUF_INIT(MOST);
		make_text(&text, sizes[i], i + 1);
		lzw_compress(buf_str(&text), &packed);
		assert_unpacks(buf_str(&packed), buf_str(&text), SIZE_MAX, 4096);
		buf_free(&text);
		buf_free(&packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_pack_comes_out_again),
		cmocka_unit_test(files_of_compress_are_read),
		cmocka_unit_test(any_width_and_mode_comes_out_again),
		cmocka_unit_test(a_file_cut_at_any_byte_is_read_as_far_as_it_goes),
		cmocka_unit_test(what_was_never_written_is_refused),
		cmocka_unit_test(what_follows_a_clear_is_padding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
