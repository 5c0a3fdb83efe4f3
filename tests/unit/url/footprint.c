#include "url/footprint.h"

#include "../unit.h"

#include <openssl/evp.h>

static struct footprint of(const char *text)
{
	char room[URL_MAX], strict[URL_STRICT_MAX];
	struct url u;
	assert_int_equal(url_parse(str_of(text), NULL, room, sizeof room, &u), 0);
	assert_int_equal(url_canon(&u, false, strict, sizeof strict, &u), 0);
	return footprint_of(&u);
}

static void is(const char *text, const char *want)
{
	char got[FOOTPRINT_TEXT];
	assert_string_equal(footprint_print(of(text), got), want);
}

static void footprints_are_the_known_ones(void **state)
{
	(void)state;
	is("http://www.example.com/", "7487015f09754160:76cd6666465669f9");
	is("http://example.com/robots.txt", "6b70cafbe7788a32:c3ced96e5d3e1f56");
	is("http://example.com/a?b=c", "6b70cafbe7788a32:8ea3f221f1cac11a");
	is("ftp://example.com/", "3e41294e83be3b52:76cd6666465669f9");
}

static void what_is_the_same_page_has_the_same_footprint(void **state)
{
	(void)state;
	is("HTTP://u:p@Example.COM.:80/x/../%61?b=c#d", "6b70cafbe7788a32:8ea3f221f1cac11a");
	struct footprint f = of("http://example.com/a");
	static const char *const others[] = {
		"https://example.com/a",    "ftp://example.com/a",     "http://example.com:81/a",
		"http://www.example.com/a", "http://example.com/A",    "http://example.com/a?",
		"http://example.com/a/",    "http://example.com/%2Fa",
	};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_not_equal(footprint_cmp(f, of(others[i])), 0);
}

/* The rule, spelled out with OpenSSL's other interface. */
static void a_site_is_port_protocol_and_host(void **state)
{
	(void)state;
	static const unsigned char bytes[] = {0xbb, 0x01, 4, 'a', '.', 'b'};
	unsigned char md[16];
	unsigned n = 0;
	assert_int_equal(EVP_Digest(bytes, sizeof bytes, md, &n, EVP_md5(), NULL), 1);
	uint64_t want = 0;
	for (unsigned i = 0; i < 8; i++) /* two little-endian u32, the first in the upper bits */
		want |= (uint64_t)md[i] << (i < 4 ? 32 + 8 * i : 8 * (i - 4));
	assert_true(footprint_site((struct url_site){URL_HTTPS, 443, STR("a.b")}) == want);
}

static void a_footprint_is_read_as_it_prints(void **state)
{
	(void)state;
	struct footprint f = {1, 2}, want = of("http://example.com/a?b=c");
	assert_true(footprint_parse(STR("6b70cafbe7788a32:8ea3f221f1cac11a"), &f));
	assert_int_equal(footprint_cmp(f, want), 0);
	f = (struct footprint){1, 2};
	assert_true(footprint_parse(STR("6B70cafbe7788a328ea3f221f1cac11a"), &f));
	assert_int_equal(footprint_cmp(f, want), 0);
	f = (struct footprint){1, 2};
	static const char *const wrong[] = {
		"",
		"6b70cafbe7788a32",
		"6b70cafbe7788a32:",
		"6b70cafbe7788a32:8ea3f221f1cac11",
		"6b70cafbe7788a32:8ea3f221f1cac11a0",
		"6b70cafbe7788a32-8ea3f221f1cac11a",
		"6b70cafbe7788a3g:8ea3f221f1cac11a",
		"6b70cafbe7788a328ea3f221f1cac11a0",
		" 6b70cafbe7788a328ea3f221f1cac11a",
	};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(footprint_parse(str_of(wrong[i]), &f));
	assert_true(f.site == 1 && f.path == 2);
}

static void footprints_sort_by_site_first(void **state)
{
	(void)state;
	assert_true(footprint_cmp((struct footprint){1, 9}, (struct footprint){2, 0}) < 0);
	assert_true(footprint_cmp((struct footprint){2, 0}, (struct footprint){1, 9}) > 0);
	assert_true(footprint_cmp((struct footprint){1, 1}, (struct footprint){1, UINT64_MAX}) < 0);
	assert_true(footprint_cmp((struct footprint){1, 1}, (struct footprint){1, 1}) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(footprints_are_the_known_ones),
		cmocka_unit_test(what_is_the_same_page_has_the_same_footprint),
		cmocka_unit_test(a_site_is_port_protocol_and_host),
		cmocka_unit_test(a_footprint_is_read_as_it_prints),
		cmocka_unit_test(footprints_sort_by_site_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
