#include "support/charset_domain.h"
#include "unit/extract/charset_digests.h"
#include "unit/unit.h"

#include <zlib.h>

static uint32_t digest(const struct buf *b)
{
	return (uint32_t)crc32_z(0, (const unsigned char *)b->p, b->n);
}

static void the_digests_are_of_all_charsets(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_LEN(charset_digests), CHARSET_DEFS - 1);
	for (size_t i = 0; i < ARRAY_LEN(charset_digests); i++) {
		const struct charset_def *def = charset_def(str_of(charset_digests[i].name));
		assert_ptr_equal(def, &charset_defs[i]);
		assert_int_not_equal(def->kind, CHARSET_REPLACEMENT);
	}
}

/* Large charsets are left out where it would take long. */
static bool is_left_out(const struct charset_def *def)
{
	return !unit_thorough() && str_is(str_of(def->name), "gb18030");
}

static void all_bytes_are_decoded_as_the_standard_says(void **state)
{
	CLEANUP(buf_free) struct buf in = BUF_INIT(DOMAIN_MAX), out = BUF_INIT(DOMAIN_MAX);
	struct charset *c = charset_new();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(charset_digests); i++) {
		if (is_left_out(&charset_defs[i]))
			continue;
		buf_clear(&in);
		buf_clear(&out);
		domain_bytes(&charset_defs[i], &in);
		domain_decode(c, &charset_defs[i], buf_str(&in), &out);
		if (digest(&out) != charset_digests[i].bytes)
			fail_msg("%s: %08x", charset_defs[i].name, digest(&out));
	}
	charset_free(&c);
}

static void random_bytes_are_decoded_as_the_standard_says(void **state)
{
	CLEANUP(buf_free) struct buf in = BUF_INIT(DOMAIN_MAX), out = BUF_INIT(DOMAIN_MAX);
	struct charset *c = charset_new();
	(void)state;
	domain_random(&in);
	for (size_t i = 0; i < ARRAY_LEN(charset_digests); i++) {
		buf_clear(&out);
		domain_decode(c, &charset_defs[i], buf_str(&in), &out);
		if (digest(&out) != charset_digests[i].random)
			fail_msg("%s: %08x", charset_defs[i].name, digest(&out));
	}
	charset_free(&c);
}

static void all_characters_are_sent_as_browsers_send_them(void **state)
{
	CLEANUP(buf_free) struct buf in = BUF_INIT(DOMAIN_MAX), out = BUF_INIT(DOMAIN_MAX);
	struct charset *c = charset_new();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(charset_digests); i++) {
		if (is_left_out(&charset_defs[i]))
			continue;
		buf_clear(&in);
		buf_clear(&out);
		domain_links(&charset_defs[i], &in);
		domain_encode(c, &charset_defs[i], buf_str(&in), &out);
		if (digest(&out) != charset_digests[i].links)
			fail_msg("%s: %08x", charset_defs[i].name, digest(&out));
	}
	charset_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_digests_are_of_all_charsets),
		cmocka_unit_test(all_bytes_are_decoded_as_the_standard_says),
		cmocka_unit_test(random_bytes_are_decoded_as_the_standard_says),
		cmocka_unit_test(all_characters_are_sent_as_browsers_send_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
