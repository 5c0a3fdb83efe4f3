/* Notices as bytes, one by one and packed. */
#include "unit/unit.h"

#include "cache/notice.h"
#include "unit/dice.h"

static struct err err;

static struct notice notice_full(void)
{
	return (struct notice){
		.op = NOTICE_UPDATE,
		.has = NOTICE_HAS_MTIME | NOTICE_HAS_SIZE | NOTICE_HAS_MD5 | NOTICE_NOT_BROWSABLE,
		.c = STR("http://a/c"),
		.b = STR("http://a/b"),
		.f = STR("http://a/f"),
		.mime = STR("text/html"),
		.sub = STR("a:b"),
		.hours = STR("0-8"),
		.mtime_s = -5,
		.size = INT64_MAX,
		.md5 = {1, 2, 3},
	};
}

static void assert_same(const struct notice *a, const struct notice *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->has, b->has);
	assert_true(str_eq(a->c, b->c) && str_eq(a->b, b->b) && str_eq(a->f, b->f));
	assert_true(str_eq(a->mime, b->mime) && str_eq(a->sub, b->sub));
	assert_true(str_eq(a->hours, b->hours));
	assert_int_equal(a->mtime_s, b->mtime_s);
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->md5, b->md5, sizeof a->md5);
}

static void test_a_notice_is_read_as_it_was_written(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(NOTICE_MOST);
	struct notice full = notice_full(), got,
		      bare = {.op = NOTICE_REMOVE, .c = STR("http://a/"), .mime = STR("a/b")};
	notice_write(&full, &b);
	notice_write(&bare, &b);
	struct reader r = reader_of(buf_str(&b));
	assert_int_equal(notice_next(&r, &got, &err), 0);
	assert_same(&got, &full);
	assert_str(notice_fetch(&got), "http://a/f");
	assert_int_equal(notice_next(&r, &got, &err), 0);
	assert_same(&got, &bare);
	assert_str(notice_fetch(&got), "http://a/");
	assert_int_equal(notice_next(&r, &got, &err), 1);
	buf_free(&b);
}

static void test_a_copy_outlives_what_it_was_read_from(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	struct notice full = notice_full();
	struct notice copy = notice_copy(&full, &arena);
	assert_same(&copy, &full);
	assert_ptr_not_equal(copy.c.p, full.c.p);
	arena_free(&arena);
}

static void test_a_notice_that_is_cut_or_too_long_is_refused(void **state)
{
	(void)state;
	static char url[NOTICE_URL_MAX + 2];
	struct buf b = BUF_INIT(3 * NOTICE_MOST);
	struct notice full = notice_full(), got;
	notice_write(&full, &b);
	for (size_t n = 1; n < b.n; n++) {
		struct reader r = reader_of((struct str){b.p, n});
		assert_int_equal(notice_next(&r, &got, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
	memset(url, 'a', sizeof url);
	full.f = (struct str){url, NOTICE_URL_MAX};
	buf_clear(&b);
	notice_write(&full, &b);
	struct reader r = reader_of(buf_str(&b));
	assert_int_equal(notice_next(&r, &got, &err), 0);
	full.f.n++;
	buf_clear(&b);
	notice_write(&full, &b);
	r = reader_of(buf_str(&b));
	assert_int_equal(notice_next(&r, &got, &err), -1);
	r = reader_of(STR("\x09\x00\x01"
			  "a\x01"
			  "b")); /* an operation that there is not */
	assert_int_equal(notice_next(&r, &got, &err), -1);
	buf_free(&b);
}

static void test_the_hash_tells_url_and_type_apart(void **state)
{
	(void)state;
	int64_t h = notice_hash(STR("http://a/"), STR("text/html"));
	assert_true(h == notice_hash(STR("http://a/"), STR("text/html")));
	assert_true(h != notice_hash(STR("http://a/"), STR("text/plain")));
	assert_true(notice_hash(STR("ab"), STR("c")) != notice_hash(STR("a"), STR("bc")));
	/* It is on disk. */
	assert_true(h == (int64_t)UINT64_C(0xede6bdbc5a7cf780));
}

static void test_a_block_is_unpacked_as_it_was_packed(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(NOTICE_PIECE), packed = BUF_INIT(2 * NOTICE_PIECE),
		   got = BUF_INIT(NOTICE_PIECE + NOTICE_MOST);
	struct notice full = notice_full();
	while (b.n < NOTICE_PIECE - 200)
		notice_write(&full, &b);
	notice_pack(buf_str(&b), &packed);
	assert_true(packed.n < b.n / 10);
	assert_int_equal(notice_unpack(buf_str(&packed), &got, &err), 0);
	assert_true(str_eq(buf_str(&got), buf_str(&b)));
	struct buf small = BUF_INIT(4);
	notice_pack(buf_str(&b), &small);
	assert_true(small.over);
	buf_free(&small);
	buf_free(&b);
	buf_free(&packed);
	buf_free(&got);
}

static void test_a_block_of_others_is_refused(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(8 << 20), packed = BUF_INIT(8 << 20), got = BUF_INIT(8 << 20);
	uint64_t seed = 7;
	buf_fill(&b, 'x', NOTICE_PIECE + NOTICE_MOST + 1);
	notice_pack(buf_str(&b), &packed);
	assert_int_equal(notice_unpack(buf_str(&packed), &got, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_int_equal(notice_unpack(STR("not zstd"), &got, &err), -1);
	assert_int_equal(notice_unpack(STR(""), &got, &err), -1);
	buf_clear(&b);
	buf_clear(&packed);
	for (int i = 0; i < 3000; i++)
		buf_add_byte(&b, (char)dice(&seed));
	notice_pack(buf_str(&b), &packed);
	for (size_t n = 0; n < packed.n; n += 37) {
		buf_clear(&got);
		assert_int_equal(notice_unpack((struct str){packed.p, n}, &got, &err), -1);
	}
	buf_free(&b);
	buf_free(&packed);
	buf_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_notice_is_read_as_it_was_written),
		cmocka_unit_test(test_a_copy_outlives_what_it_was_read_from),
		cmocka_unit_test(test_a_notice_that_is_cut_or_too_long_is_refused),
		cmocka_unit_test(test_the_hash_tells_url_and_type_apart),
		cmocka_unit_test(test_a_block_is_unpacked_as_it_was_packed),
		cmocka_unit_test(test_a_block_of_others_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
