#include "base/hash.h"

#include "../dice.h"
#include "../dies.h"

#include <pthread.h>

static void hex_is(const unsigned char *p, size_t n, const char *want)
{
	char text[2 * 64 + 1];
	hex_print(p, n, text);
	assert_string_equal(text, want);
}

static void hash64_sees_every_byte_and_the_seed(void **state)
{
	(void)state;
	char text[300] = {0};
	struct str none = {0};
	assert_true(hash64(none) == hash64(STR("")));
	for (size_t n = 1; n < sizeof text; n++) {
		uint64_t h = hash64((struct str){text, n});
		assert_true(h != hash64((struct str){text, n - 1}));
		assert_true(h != hash64_seeded((struct str){text, n}, 1));
		assert_true(h == hash64_seeded((struct str){text, n}, 0));
		text[n - 1] = 1;
		assert_true(h != hash64((struct str){text, n}));
		text[n - 1] = 0;
	}
}

/* Each bit of the input turns each bit of the output in about half of the cases; 4096 throws stay
 * within 8 standard deviations (of 32) if they are fair. */
static void hash_u64_spreads_every_bit(void **state)
{
	(void)state;
	for (unsigned in = 0; in < 64; in++) {
		unsigned turned[64] = {0};
		for (uint64_t v = 0; v < 4096; v++) { /* small numbers: the hard ones */
			uint64_t d = hash_u64(v) ^ hash_u64(v ^ UINT64_C(1) << in);
			for (unsigned out = 0; out < 64; out++)
				turned[out] += (unsigned)(d >> out & 1);
		}
		for (unsigned out = 0; out < 64; out++)
			assert_in_range(turned[out], 2048 - 256, 2048 + 256);
	}
}

static void xxh64_gives_the_known_values_also_in_pieces(void **state)
{
	(void)state;
	assert_true(xxh64((struct str){0}) == UINT64_C(0xef46db3751d8e999));
	assert_true(xxh64(STR("a")) == UINT64_C(0xd24ec4f1a98c6e5b));
	char text[300];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 7);
	for (size_t cut = 0; cut <= sizeof text; cut++) {
		struct xxh64 h;
		xxh64_begin(&h);
		xxh64_add(&h, text, cut);
		assert_true(xxh64_end(&h) == xxh64((struct str){text, cut}));
		xxh64_add(&h, text + cut, sizeof text - cut);
		assert_true(xxh64_end(&h) == xxh64((struct str){text, sizeof text}));
	}
}

static void crc32c_gives_the_known_values(void **state)
{
	(void)state;
	/* RFC 3720, B.4 */
	unsigned char zeroes[32] = {0}, ones[32], up[32], down[32];
	memset(ones, 0xff, sizeof ones);
	for (unsigned i = 0; i < 32; i++) {
		up[i] = (unsigned char)i;
		down[i] = (unsigned char)(31 - i);
	}
	static uint32_t (*const twins[])(uint32_t, const void *, size_t) = {crc32c,
									    crc32c_portable};
	for (size_t i = 0; i < ARRAY_LEN(twins); i++) {
		assert_int_equal(twins[i](0, zeroes, 32), 0x8a9136aa);
		assert_int_equal(twins[i](0, ones, 32), 0x62a8ab43);
		assert_int_equal(twins[i](0, up, 32), 0x46dd794e);
		assert_int_equal(twins[i](0, down, 32), 0x113fdb5c);
		assert_int_equal(twins[i](0, "123456789", 9), 0xe3069283);
		assert_int_equal(twins[i](0, NULL, 0), 0);
		assert_int_equal(twins[i](77, NULL, 0), 77);
	}
}

static uint32_t crc_bit_by_bit(uint32_t crc, const unsigned char *p, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void crc32c_is_the_same_in_hardware_in_tables_and_by_hand(void **state)
{
	(void)state;
	static unsigned char bytes[5000];
	uint64_t seed = 5;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(dice(&seed) >> 30);
	for (size_t n = 0; n < sizeof bytes - 8; n += n < 40 || (n > 990 && n < 1030) ? 1 : 37) {
		size_t at = n % 8;
		uint32_t start = (uint32_t)dice(&seed), want = crc_bit_by_bit(start, bytes + at, n);
		assert_int_equal(crc32c(start, bytes + at, n), want);
		assert_int_equal(crc32c_portable(start, bytes + at, n), want);
		uint32_t first = crc32c(start, bytes + at, n / 3);
		assert_int_equal(crc32c(first, bytes + at + n / 3, n - n / 3), want);
	}
}

static void md5_gives_the_known_values(void **state)
{
	(void)state;
	/* RFC 1321, A.5 */
	static const char *const cases[][2] = {
		{"", "d41d8cd98f00b204e9800998ecf8427e"},
		{"a", "0cc175b9c0f1b6a831c399e269772661"},
		{"abc", "900150983cd24fb0d6963f7d28e17f72"},
		{"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
		{"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
		{"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		 "0",
		 "57edf4a22be3c955ac49da2e2107b67a"},
	};
	unsigned char got[16];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		md5(str_of(cases[i][0]), got);
		hex_is(got, 16, cases[i][1]);
	}
	md5((struct str){0}, got);
	hex_is(got, 16, cases[0][1]);
}

static void sha256_gives_the_known_values(void **state)
{
	(void)state;
	/* RFC 6234, 8.5 */
	static const char *const cases[][2] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	unsigned char got[32];
	struct digest *d = digest_new("sha256");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		digest_add(d, cases[i][0], strlen(cases[i][0]));
		assert_int_equal(digest_end(d, got, sizeof got), 32);
		hex_is(got, 32, cases[i][1]);
	}
	digest_free(&d);
}

static void a_digest_takes_pieces_and_can_be_used_again(void **state)
{
	(void)state;
	unsigned char got[32];
	struct digest *d = digest_new("sha256");
	for (int round = 0; round < 2; round++) {
		digest_add(d, "a", 1);
		digest_add(d, NULL, 0);
		digest_add(d, "bc", 2);
		assert_int_equal(digest_end(d, got, sizeof got), 32);
		hex_is(got, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	}
	digest_free(&d);
	assert_null(d);
	digest_free(&d);
	d = digest_new("md5");
	assert_int_equal(digest_end(d, got, 16), 16);
	hex_is(got, 16, "d41d8cd98f00b204e9800998ecf8427e");
	digest_free(&d);
}

static void ask_for_an_unknown_digest(void)
{
	(void)digest_new("crc7");
}

static void give_too_little_room(void)
{
	unsigned char got[15];
	(void)digest_end(digest_new("md5"), got, sizeof got);
}

static void unknown_digests_and_too_little_room_are_broken_promises(void **state)
{
	(void)state;
	assert_true(dies(ask_for_an_unknown_digest));
	assert_true(dies(give_too_little_room));
}

static void *sum_in_a_thread(void *ctx)
{
	unsigned char got[16], want[16];
	bool *ok = ctx;
	*ok = hex_parse(STR("900150983cd24fb0d6963f7d28e17f72"), want, 16);
	for (int i = 0; i < 2000; i++) {
		md5(STR("abc"), got);
		*ok &= memcmp(got, want, 16) == 0;
	}
	return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	(void)state;
	pthread_t threads[4];
	bool ok[4] = {0};
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sum_in_a_thread, &ok[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(ok[i]);
	}
}

static void hex_is_read_whole_or_not_at_all(void **state)
{
	(void)state;
	unsigned char got[4] = "xyz";
	static const char *const bad[] = {"",       "0",      "0011",   "00112",       "0011223",
					  "00112g", "g01122", "0x1122", " 01122",      "00112@",
					  "00112`", "00112/", "00112:", "0011\xff\xff"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(hex_parse(str_of(bad[i]), got, 3));
	assert_string_equal((char *)got, "xyz");
	assert_true(hex_parse(STR("00aFf9"), got, 3));
	hex_is(got, 3, "00aff9");
	assert_true(hex_parse((struct str){0}, got, 0));
	assert_false(hex_parse(STR("00"), got, SIZE_MAX / 2 + 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash64_sees_every_byte_and_the_seed),
		cmocka_unit_test(hash_u64_spreads_every_bit),
		cmocka_unit_test(xxh64_gives_the_known_values_also_in_pieces),
		cmocka_unit_test(crc32c_gives_the_known_values),
		cmocka_unit_test(crc32c_is_the_same_in_hardware_in_tables_and_by_hand),
		cmocka_unit_test(md5_gives_the_known_values),
		cmocka_unit_test(sha256_gives_the_known_values),
		cmocka_unit_test(a_digest_takes_pieces_and_can_be_used_again),
		cmocka_unit_test(unknown_digests_and_too_little_room_are_broken_promises),
		cmocka_unit_test(threads_do_not_disturb_each_other),
		cmocka_unit_test(hex_is_read_whole_or_not_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
