/* What is in a bucket: the encodings, checksums, packing and dictionaries. */
#include "buckets.h"

#include "../dice.h"

#define ATTR(name, text)                          \
	{                                         \
		name,                             \
		{                                 \
			"" text, sizeof(text) - 1 \
		}                                 \
	}

static struct attrs list_of(struct attr *a, size_t n)
{
	return (struct attrs){a, n, n};
}

static void are(const struct attrs *got, const struct attr *want, size_t n)
{
	assert_int_equal(got->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got->a[i].name, want[i].name);
		assert_true(str_eq(got->a[i].value, want[i].value));
	}
}

static struct attr header_attrs[] = {
	{'O', {"7487015f0975416076cd6666465669f9", 32}},
	{'U', {"http://www.example.com/", 23}},
};
static struct attr body_attrs[] = {
	{'T', {"text/html", 9}}, {'X', {"a\nb\0c", 5}},        {'X', {"", 0}},
	{'(', {"R", 1}},         {'U', {"http://b.org/", 13}}, {')', {"", 0}},
};
enum { NHEADER = ARRAY_LEN(header_attrs), NBODY = ARRAY_LEN(body_attrs) };

static uint32_t encode(struct bucket_packer *p, struct buf *out)
{
	struct attrs header = list_of(header_attrs, NHEADER), body = list_of(body_attrs, NBODY);
	struct err err = {0};
	uint32_t type = 0;
	assert_int_equal(bucket_encode(p, &header, &body, out, &type, &err), 0);
	return type;
}

static void v33_holds_header_and_body_as_they_were(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header, body;
	struct err err = {0};
	assert_int_equal(encode(NULL, &out), BUCKET_V33);
	assert_int_equal(bucket_check(BUCKET_V33, buf_str(&out), &err), 0);
	assert_int_equal(
		bucket_decode(NULL, BUCKET_V33, buf_str(&out), &arena, &header, &body, &err), 0);
	are(&header, header_attrs, NHEADER);
	are(&body, body_attrs, NBODY);
	buf_free(&out);
	arena_free(&arena);
}

/* One more than the length, the value, the name; a zero after the header. */
static void v33_has_the_bytes_of_the_format(void **state)
{
	(void)state;
	struct attr u[] = {ATTR('U', "x")}, x[] = {ATTR('X', "yz")};
	struct attrs header = list_of(u, 1), body = list_of(x, 1);
	struct buf out = BUF_INIT(1 << 10);
	struct err err = {0};
	uint32_t type;
	assert_int_equal(bucket_encode(NULL, &header, &body, &out, &type, &err), 0);
	assert_int_equal(out.n, 18);
	assert_memory_equal(out.p, "\2xU\11", 4);
	assert_memory_equal(out.p + 12, "#\0\3yzX", 6);
	buf_free(&out);
}

static void lengths_of_all_sizes_come_back(void **state)
{
	(void)state;
	static const size_t sizes[] = {0,      0x7e,   0x7f,     0x7fe,    0x7ff,
				       0xfffe, 0xffff, 0x1ffffe, 0x1fffff, 0x3fffffe};
	char *bytes = mem_alloc(0x4000000);
	memset(bytes, 'q', 0x4000000);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct attr x[] = {{'X', {bytes, sizes[i]}}, ATTR('Y', "after")};
		struct attrs header = {0}, body = list_of(x, 2), got;
		struct buf out = BUF_INIT(0x5000000);
		struct arena arena = ARENA_INIT(BUCKET_ARENA);
		struct err err = {0};
		uint32_t type;
		int rc = bucket_encode(NULL, &header, &body, &out, &type, &err);
		assert_int_equal(rc, sizes[i] < BUCKET_DATA_MOST - 100 ? 0 : -1);
		if (rc == 0) {
			assert_int_equal(bucket_decode(NULL, type, buf_str(&out), &arena, &header,
						       &got, &err),
					 0);
			are(&got, x, 2);
		} else {
			assert_int_equal(err.code, ERR_USAGE);
			assert_int_equal(out.n, 0);
		}
		arena_free(&arena);
		buf_free(&out);
	}
	mem_free(&bytes);
}

static void old_forms_are_read(void **state)
{
	(void)state;
	struct attr u[] = {ATTR('U', "http://a/"), ATTR('O', "1")};
	struct attr x[] = {ATTR('X', "some text"), ATTR('X', "")};
	struct attr all[] = {ATTR('U', "http://a/"), ATTR('O', "1"), ATTR('X', "some text"),
			     ATTR('X', "")};
	struct str v30 = STR("Uhttp://a/\nO1\n\nXsome text\nX\n");
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header, body;
	struct str rest;
	struct err err = {0};
	assert_int_equal(bucket_decode(NULL, BUCKET_V30, v30, &arena, &header, &body, &err), 0);
	are(&header, u, 2);
	are(&body, x, 2);
	assert_int_equal(bucket_header(BUCKET_V30, v30, &arena, &header, &rest, &err), 0);
	are(&header, u, 2);
	assert_str(rest, "Xsome text\nX\n");
	for (uint32_t type = 0; type <= BUCKET_PLAIN; type += BUCKET_PLAIN / 2) {
		assert_int_equal(bucket_decode(NULL, type, v30, &arena, &header, &body, &err), 0);
		assert_int_equal(header.n, 0);
		are(&body, all, 4);
		assert_int_equal(bucket_check(type, v30, &err), 1);
	}
	assert_int_equal(bucket_check(BUCKET_PLAIN, STR("Ux\n\1\n"), &err), -1);
	assert_int_equal(
		bucket_decode(NULL, BUCKET_PLAIN, STR("no end"), &arena, &header, &body, &err), 0);
	assert_int_equal(body.n, 1);
	arena_free(&arena);
}

static void a_bucket_that_was_trimmed_to_its_header_is_whole(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header, body;
	struct err err = {0};
	static const uint32_t types[] = {BUCKET_V33, BUCKET_LIZARD};
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct str trimmed = {"\2xU\0", 4}, bare = {"\2xU", 3};
		assert_int_equal(
			bucket_decode(NULL, types[i], trimmed, &arena, &header, &body, &err), 0);
		assert_int_equal(header.n, 1);
		assert_int_equal(body.n, 0);
		assert_int_equal(bucket_decode(NULL, types[i], bare, &arena, &header, &body, &err),
				 0);
		assert_int_equal(header.n, 1);
	}
	arena_free(&arena);
}

/* The body is in memory that cannot be touched. */
static void the_header_is_parsed_without_the_body(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header;
	struct str rest;
	struct err err = {0};
	encode(NULL, &out);
	assert_int_equal(bucket_header(BUCKET_V33, buf_str(&out), &arena, &header, &rest, &err), 0);
	size_t n = out.n - rest.n;
	char *alone = mem_copy(out.p, n); /* a read past it is caught by the sanitizer */
	struct str lying = {alone, out.n};
	assert_int_equal(bucket_header(BUCKET_V33, lying, &arena, &header, &rest, &err), 0);
	are(&header, header_attrs, NHEADER);
	assert_ptr_equal(rest.p, alone + n);
	mem_free(&alone);
	buf_free(&out);
	arena_free(&arena);
}

/* A page as there are many. */
static void make_page(struct buf *out, uint64_t *seed, size_t size)
{
	static const char *const words[] = {"the ",   "crawler ", "visits ", "a ",    "page ",
					    "which ", "links ",   "to ",     "many ", "others\n"};
	buf_add_text(out, "<meta name=description content=\"pages of one site look alike\">\n");
	while (out->n < size)
		buf_add_text(out, words[dice(seed) % ARRAY_LEN(words)]);
}

static void put_page(struct buckets *b, struct bucket_packer *p, uint64_t *seed, size_t size,
		     uint32_t *ret_oid)
{
	struct buf page = BUF_INIT(1 << 20);
	struct err err = {0};
	make_page(&page, seed, size);
	struct attr x[] = {ATTR('T', "text/html"), {'X', buf_str(&page)}};
	struct attrs header = list_of(header_attrs, NHEADER), body = list_of(x, 2);
	if (bucket_put(b, p, &header, &body, ret_oid, &err) < 0)
		fail_msg("%s", err.msg);
	buf_free(&page);
}

static void a_body_is_packed_where_it_pays_and_comes_back(void **state)
{
	(void)state;
	struct bucket_packer *p = bucket_packer_new(NULL);
	struct buf page = BUF_INIT(1 << 20), noise = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header = list_of(header_attrs, NHEADER), body, got_header, got;
	struct err err = {0};
	uint64_t seed = 5;
	uint32_t type;
	make_page(&page, &seed, 10000);
	for (int i = 0; i < 10000; i++)
		buf_add_byte(&noise, (char)dice(&seed));
	struct attr x[] = {{'X', buf_str(&page)}}, y[] = {{'X', buf_str(&noise)}};
	body = list_of(x, 1);
	assert_int_equal(bucket_encode(p, &header, &body, &out, &type, &err), 0);
	assert_int_equal(type, BUCKET_V33_ZSTD);
	assert_true(out.n < page.n / 2);
	assert_int_equal(bucket_check(type, buf_str(&out), &err), 0);
	assert_int_equal(bucket_decode(p, type, buf_str(&out), &arena, &got_header, &got, &err), 0);
	are(&got_header, header_attrs, NHEADER);
	are(&got, x, 1);
	assert_int_equal(bucket_decode(NULL, type, buf_str(&out), &arena, &got_header, &got, &err),
			 -1);
	buf_clear(&out);
	body = list_of(y, 1);
	assert_int_equal(bucket_encode(p, &header, &body, &out, &type, &err), 0);
	assert_int_equal(type, BUCKET_V33);
	assert_int_equal(bucket_decode(NULL, type, buf_str(&out), &arena, &got_header, &got, &err),
			 0);
	are(&got, y, 1);
	buf_free(&page);
	buf_free(&noise);
	buf_free(&out);
	arena_free(&arena);
	bucket_packer_free(&p);
}

/* Of what we write, no byte can be changed, added or taken away unnoticed. */
static void every_changed_byte_is_noticed(void **state)
{
	(void)state;
	struct bucket_packer *p = bucket_packer_new(NULL);
	struct attr x[] = {
		ATTR('X', "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")};
	for (int packed = 0; packed < 2; packed++) {
		struct attrs header = list_of(header_attrs, NHEADER), body = list_of(x, 1);
		struct buf out = BUF_INIT(1 << 20);
		struct err err = {0};
		uint32_t type;
		assert_int_equal(
			bucket_encode(packed ? p : NULL, &header, &body, &out, &type, &err), 0);
		assert_int_equal(type, packed ? BUCKET_V33_ZSTD : BUCKET_V33);
		for (size_t i = 0; i < out.n; i++)
			for (unsigned bits = 1; bits < 256; bits++) {
				char was = out.p[i];
				out.p[i] = (char)(was ^ (char)bits);
				assert_int_not_equal(bucket_check(type, buf_str(&out), &err), 0);
				out.p[i] = was;
			}
		for (size_t n = 0; n < out.n; n++)
			assert_int_not_equal(bucket_check(type, (struct str){out.p, n}, &err), 0);
		assert_int_not_equal(bucket_check(type ^ 0x78, buf_str(&out), &err), 0);
		assert_int_equal(bucket_check(type, buf_str(&out), &err), 0);
		buf_free(&out);
	}
	bucket_packer_free(&p);
}

static void names_that_cannot_be_kept_are_refused(void **state)
{
	(void)state;
	static const char bad[] = {0, '\n', ' ', 0x7f, (char)0xc3};
	for (size_t i = 0; i < sizeof bad; i++) {
		struct attr x[] = {{bad[i], STR("x")}};
		struct attrs none = {0}, list = list_of(x, 1);
		struct buf out = BUF_INIT(1 << 10);
		struct err err = {0};
		uint32_t type = 7;
		assert_int_equal(bucket_encode(NULL, &list, &none, &out, &type, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(bucket_encode(NULL, &none, &list, &out, &type, &err), -1);
		assert_int_equal(type, 7);
		assert_int_equal(out.n, 0);
		buf_free(&out);
	}
}

static void dictionaries_make_small_bodies_smaller_and_are_found_by_others(void **state)
{
	(void)state;
	const char *path = scratch("trained");
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	const char *dict = bucket_dict_path(&arena, path);
	struct bucket_packer *p = bucket_packer_new(dict), *other = bucket_packer_new(dict);
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct attrs header, body;
	struct err err = {0};
	uint64_t seed = 9;
	uint32_t before, after;
	unsigned kept = 0;
	for (int i = 0; i < 400; i++)
		put_page(b, p, &seed, 700, &before);
	assert_int_equal(bucket_get(b, other, before, &arena, &header, &body, &err), 0);
	assert_int_equal(bucket_train(b, p, &kept, &err), 0);
	assert_int_equal(kept, 1);
	uint64_t from = bucket_length(b);
	put_page(b, p, &seed, 700, &after);
	assert_true(bucket_length(b) - from < 700);
	struct bucket bucket;
	assert_int_equal(bucket_read(b, after, &bucket, &err), 0);
	assert_int_equal(bucket.type, BUCKET_V33_ZSTD);
	if (bucket_get(b, other, after, &arena, &header, &body, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(body.n, 2);
	assert_int_equal(bucket_get(b, other, before, &arena, &header, &body, &err), 0);
	assert_int_equal(bucket_train(b, p, &kept, &err), 0);
	assert_int_equal(kept, 0); /* the one in use does as well */
	struct bucket_packer *without = bucket_packer_new(NULL);
	assert_int_equal(bucket_get(b, without, after, &arena, &header, &body, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "its dictionary "));
	bucket_packer_free(&without);
	bucket_packer_free(&p);
	bucket_packer_free(&other);
	close_file(&b);
	arena_free(&arena);
}

/* A file of n pages, all of them packed with a dictionary that was trained from it. */
static struct buckets *trained(const char *path, const char *dict, uint64_t seed, int n)
{
	struct bucket_packer *p = bucket_packer_new(dict);
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	uint32_t oid;
	unsigned kept = 0;
	for (int i = 0; i < 400; i++)
		put_page(b, NULL, &seed, 700, &oid);
	assert_int_equal(bucket_train(b, p, &kept, &err), 0);
	assert_int_equal(kept, 1);
	assert_int_equal(bucket_cut(b, 0, NULL, &err), 0);
	for (int i = 0; i < n; i++)
		put_page(b, p, &seed, 700, &oid);
	assert_int_equal(bucket_sync(b, NULL, &err), 0);
	bucket_packer_free(&p);
	return b;
}

/* How many buckets come back; the others lack their dictionary. */
static unsigned readable(struct buckets *b, const char *dict)
{
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct bucket_packer *p = bucket_packer_new(dict);
	struct attrs header, body;
	struct bucket bucket;
	struct err err = {0};
	unsigned n = 0;
	for (uint64_t at = 0; at < bucket_length(b); at = bucket.next) {
		uint32_t oid = (uint32_t)(at >> bucket_shift(b));
		assert_int_equal(bucket_read(b, oid, &bucket, &err), 0);
		if (bucket_get(b, p, oid, &arena, &header, &body, &err) == 0)
			n++;
		else if (err.code != ERR_DAMAGED || !strstr(err.msg, ".dict"))
			fail_msg("%s", err.msg);
		arena_clear(&arena);
	}
	bucket_packer_free(&p);
	arena_free(&arena);
	return n;
}

static void a_body_is_never_unpacked_with_another_dictionary_than_its_own(void **state)
{
	(void)state;
	enum { PAGES = 200 };
	struct arena arena = ARENA_INIT(1 << 20);
	const char *dict = bucket_dict_path(&arena, scratch("own"));
	const char *another = bucket_dict_path(&arena, scratch("another"));
	struct buckets *b = trained(scratch("own"), dict, 3, PAGES);
	struct buckets *c = trained(scratch("another"), another, 1 << 20, 1);
	assert_int_equal(readable(b, dict), PAGES);
	assert_int_equal(readable(b, another), 0); /* as after its own was lost and one was made */
	close_file(&b);
	close_file(&c);
	arena_free(&arena);
}

static void damaged_dictionaries_do_not_keep_from_packing(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	const char *dict = bucket_dict_path(&arena, scratch("bad"));
	struct buckets *b = trained(scratch("bad"), dict, 3, 5);
	uint64_t seed = 77;
	uint32_t oid;
	FILE *f = fopen(dict, "r+b");
	assert_int_equal(fseek(f, 5000, SEEK_SET), 0);
	assert_int_equal(fwrite("damage", 6, 1, f), 1);
	assert_int_equal(fclose(f), 0);
	struct bucket_packer *p = bucket_packer_new(dict);
	put_page(b, p, &seed, 700, &oid);
	bucket_packer_free(&p);
	assert_int_equal(readable(b, dict), 1);
	close_file(&b);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v33_holds_header_and_body_as_they_were),
		cmocka_unit_test(v33_has_the_bytes_of_the_format),
		cmocka_unit_test(lengths_of_all_sizes_come_back),
		cmocka_unit_test(old_forms_are_read),
		cmocka_unit_test(a_bucket_that_was_trimmed_to_its_header_is_whole),
		cmocka_unit_test(the_header_is_parsed_without_the_body),
		cmocka_unit_test(a_body_is_packed_where_it_pays_and_comes_back),
		cmocka_unit_test(every_changed_byte_is_noticed),
		cmocka_unit_test(names_that_cannot_be_kept_are_refused),
		cmocka_unit_test(dictionaries_make_small_bodies_smaller_and_are_found_by_others),
		cmocka_unit_test(a_body_is_never_unpacked_with_another_dictionary_than_its_own),
		cmocka_unit_test(damaged_dictionaries_do_not_keep_from_packing),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
