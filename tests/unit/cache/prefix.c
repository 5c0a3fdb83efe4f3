/* Prefixes, and those who would like to get out of them. */
#include "../unit.h"

#include "cache/uns/prefix.h"
#include "url/url.h"

#include <stdio.h>

static bool covered_by(const char *prefix, struct str text)
{
	static char room[URL_MAX];
	struct prefixes p = {1, (char *)prefix};
	struct url url;
	return url_parse(text, NULL, room, sizeof room, &url) == 0 &&
	       prefixes_cover(&p, &url, NULL);
}

#define D "http://www.example.com/dir/"

static void what_lies_below_is_covered(void **state)
{
	(void)state;
	static const char *const urls[] = {
		D,
		D "a.html",
		D "a/b/c?x=/../y#z",
		D "sub/../a.html",
		D "./a.html",
		D "%61.html",
		D "a%2Fb",
		D "a..b/.hidden/x.",
		D "100%25/x",
		D "%E9t%E9/%C3%A9",
		D "a;v=1/b",
		"http://www.example.com:80/dir/a",
		"HTTP://WWW.Example.COM/dir/a",
		"http://www.example.com./dir/a",
		"http:\\\\www.example.com\\dir\\a",
		"ht\ttp://www.exa\nmple.com/d\rir/a",
		"http://www.example.com/other/../dir/a",
		"http://www.example.com/%64ir/a",
	};
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		if (!covered_by(D, str_of(urls[i])))
			fail_msg("not covered: %s", urls[i]);
}

static void nothing_gets_out(void **state)
{
	(void)state;
	static const char *const urls[] = {
		"http://www.example.com/",
		"http://www.example.com/dir",
		"http://www.example.com/dirx",
		"http://www.example.com/dir.html",
		"http://www.example.com/dir?/",
		"http://www.example.com/dir?x=/dir/",
		"http://www.example.com/dir#/",
		"http://www.example.com/DIR/a",
		"http://www.example.com/dir%2Fa",
		"http://www.example.com/dir;/a",
		D "../a",
		D "%2e%2e/a",
		D "%2E%2e/a",
		D ".%2e/a",
		D "%2e./a",
		D "x/../../a",
		D "..\\a",
		D "..%2fa",
		D "..%2Fa",
		D "%2e%2e%2fa",
		D "x%2f..%2f..%2fa",
		D "..%5ca",
		D "..%5Ca",
		D "%5c..%5c..%5ca",
		D "%252e%252e/a",
		D "%252e%252e%252fa",
		D "%25252e%25252e%25252fa",
		D "%%32e%%32e/a",
		D "..%255ca",
		D "..;/a",
		D "..;x=1/a",
		D "%2e%2e%3b/a",
		D "..%3B/a",
		D "..%20/a",
		D ".%20./a",
		D "%2e%2e%20%20/a",
		D ".../a",
		D "%c0%ae%c0%ae/a",
		D "..%c0%afa",
		D "%c1%9c..%c1%9ca",
		D "%e0%80%ae%e0%80%ae/a",
		D "%f0%80%80%ae./a",
		D "%u002e%u002e/a",
		D "..%00/a",
		D "%09../a",
		D ".\t./a",
		D ".\n.\r/a",
		"http://www.example.com/../../dir/a",
		"http://u@www.example.com/dir/a",
		"http://u:p@www.example.com/dir/a",
		"http://:p@www.example.com/dir/a",
		"http://www.example.com@evil.example/dir/a",
		"http://www.example.com%40evil.example/dir/a",
		"http://www.example.com:80@evil.example/dir/a",
		"http://evil.example\\@www.example.com/dir/a",
		"http://evil.example#@www.example.com/dir/a",
		"http://evil.example/http://www.example.com/dir/a",
		"http://www.example.com.evil.example/dir/a",
		"http://example.com/dir/a",
		"http://sub.www.example.com/dir/a",
		"http://www.example.com:8080/dir/a",
		"http://www.example.com:443/dir/a",
		"https://www.example.com/dir/a",
		"https://www.example.com:80/dir/a",
		"ftp://www.example.com/dir/a",
		"http://www.ехаmple.com/dir/a",
	};
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		if (covered_by(D, str_of(urls[i])))
			fail_msg("covered: %s", urls[i]);
}

static void hosts_are_compared_however_they_are_written(void **state)
{
	(void)state;
	static const char *const same[][2] = {
		{"http://xn--bcher-kva.example/", "http://B\xc3\xbc"
						  "cher.example/a"},
		{"http://xn--bcher-kva.example/", "http://XN--BCHER-KVA.example./a"},
		{"http://xn--bcher-kva.example/", "http://b%C3%BCcher.example/a"},
		{"http://192.0.2.1/", "http://0xc0.0.0x201/a"},
		{"http://192.0.2.1/", "http://3221225985/a"},
		{"http://192.0.2.1/", "http://0300.0.2.1:80/a"},
		{"http://[2001:db8::1]/", "http://[2001:DB8:0:0:0:0:0:1]/a"},
		{"https://[2001:db8::1]/", "https://[2001:db8::0.0.0.1]:443/a"},
	};
	static const char *const other[][2] = {
		{"http://127.0.0.1/", "http://0x7f.2/"},
		{"http://127.0.0.1/", "http://127.0.0.1.example/"},
		{"http://192.0.2.1/", "http://[::ffff:192.0.2.1]/"},
		{"http://[2001:db8::1]/", "http://[2001:db8::1%25eth0]/"},
		{"http://[2001:db8::1]/", "http://[2001:db8::10]/"},
	};
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		if (!covered_by(same[i][0], str_of(same[i][1])))
			fail_msg("not covered: %s", same[i][1]);
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		if (covered_by(other[i][0], str_of(other[i][1])))
			fail_msg("covered: %s", other[i][1]);
}

static void what_has_no_canonical_form_is_not_covered(void **state)
{
	(void)state;
	static char text[3000];
	int n = snprintf(text, sizeof text, "%s", D);
	memset(text + n, 'a', 2000);
	assert_true(covered_by(D, (struct str){text, 1024}));
	assert_false(covered_by(D, (struct str){text, 1025}));
	assert_false(covered_by(D, STR(D "%zz")));
	assert_false(covered_by(D, STR(D "a%")));
}

/* Each reading of a path takes a pass over it: one that has hundreds would hold up a server. */
static void what_is_escaped_again_and_again_is_not_covered(void **state)
{
	(void)state;
	static char text[1000];
	int n = snprintf(text, sizeof text, "%s%%", D);
	assert_true(covered_by(D, STR(D "%252525")));
	for (; n + 2 < (int)sizeof text; n += 2)
		memcpy(text + n, "25", 2);
	assert_false(covered_by(D, (struct str){text, (size_t)n}));
}

static void the_prefix_that_covers_is_told(void **state)
{
	(void)state;
	char list[] = "http://a.example/\0http://b.example/x/", room[URL_MAX];
	struct prefixes p = {2, list}, none = {0, NULL};
	struct url url;
	struct str which;
	assert_int_equal(url_parse(STR("http://b.example/x/y"), NULL, room, sizeof room, &url), 0);
	assert_true(prefixes_cover(&p, &url, &which));
	assert_str(which, "http://b.example/x/");
	assert_false(prefixes_cover(&none, &url, NULL));
	assert_int_equal(url_parse(STR("http://b.example/y"), NULL, room, sizeof room, &url), 0);
	assert_false(prefixes_cover(&p, &url, NULL));
}

static void a_file_proves_its_folder(void **state)
{
	(void)state;
	static const char *const good[][2] = {
		{"http://www.example.com/secret.txt", "http://www.example.com/"},
		{"http://www.EXAMPLE.com:80/%64ir/secret.txt#x", "http://www.example.com/dir/"},
		{"https://www.example.com:8443/a/b/c", "https://www.example.com:8443/a/b/"},
		{"http://www.example.com/a/../s.txt", "http://www.example.com/"},
		{"http://B\xc3\xbc"
		 "cher.example/s",
		 "http://xn--bcher-kva.example/"},
	};
	static const char *const bad[] = {
		"http://www.example.com/",
		"http://www.example.com/dir/",
		"http://www.example.com/dir/..",
		"http://www.example.com",
		"http://www.example.com/s.txt?",
		"http://www.example.com/s.txt?a=/",
		"http://u@www.example.com/s.txt",
		"http://u:p@www.example.com/s.txt",
		"http://www.example.com/../s.txt",
		"http://www.example.com/a/%2e%2e%2fs.txt",
		"http://www.example.com/a%2f..%2fs.txt",
		"http://www.example.com/dir%2Fs.txt",
		"http://www.example.com/dir%5cs.txt",
		"http://www.example.com/dir%252fs.txt",
		"http://www.example.com/dir/sub%25%32fs.txt",
		"ftp://www.example.com/s.txt",
		"file:///etc/passwd",
		"s.txt",
		"",
	};
	char ret[PIDB_URL_MAX + 1], text[2000];
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(prefix_of_file(str_of(good[i][0]), ret, &err), 0);
		assert_string_equal(ret, good[i][1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (prefix_of_file(str_of(bad[i]), ret, &err) != -1)
			fail_msg("proves %s: %s", ret, bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
	}
	int n = snprintf(text, sizeof text, "http://www.example.com/");
	memset(text + n, 'a', sizeof text - n);
	assert_int_equal(prefix_of_file((struct str){text, 1025}, ret, &err), -1);
	assert_int_equal(prefix_of_file((struct str){text, 1024}, ret, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lies_below_is_covered),
		cmocka_unit_test(nothing_gets_out),
		cmocka_unit_test(hosts_are_compared_however_they_are_written),
		cmocka_unit_test(what_has_no_canonical_form_is_not_covered),
		cmocka_unit_test(what_is_escaped_again_and_again_is_not_covered),
		cmocka_unit_test(the_prefix_that_covers_is_told),
		cmocka_unit_test(a_file_proves_its_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
