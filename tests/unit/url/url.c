/* Cases written from the rules of https://url.spec.whatwg.org/, state by state. */
#include "url_cases.h"

struct resolve_case {
	const char *base, *text, *want;
};

static void check_resolved(const struct resolve_case *cases, size_t n)
{
	char room[URL_MAX];
	struct url base;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(url_parse(str_of(cases[i].base), NULL, room, sizeof room, &base),
				 0);
		check(str_of(cases[i].text), &base, cases[i].want);
	}
}

static void schemes_are_known_or_named(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://a/", "http://a/"},
		{"https://a/", "https://a/"},
		{"ftp://a/", "ftp://a/"},
		{"HTTP://a/", "http://a/"},
		{"hTtPs://a/", "https://a/"},
		{"FTP://a/", "ftp://a/"},
		{"http:a", "http://a/"},
		{"http:/a", "http://a/"},
		{"http:///a", "http://a/"},
		{"http://///a", "http://a/"},
		{"http:\\\\a", "http://a/"},
		{"http:\\a", "http://a/"},
		{"http:/\\/a/b", "http://a/b"},
		{"mailto:me@example.com", "unknown protocol"},
		{"javascript:void(0)", "unknown protocol"},
		{"data:text/plain,hello", "unknown protocol"},
		{"file:///etc/passwd", "unknown protocol"},
		{"ws://a/", "unknown protocol"},
		{"wss://a/", "unknown protocol"},
		{"tel:+1-2", "unknown protocol"},
		{"x+y-z.0:a", "unknown protocol"},
		{"httpx://a/", "unknown protocol"},
		{"htt://a/", "unknown protocol"},
		{"h ttp://a/", "relative not allowed"},
		{"1http://a/", "relative not allowed"},
		{"://a/", "relative not allowed"},
		{"//a/", "relative not allowed"},
		{"/a", "relative not allowed"},
		{"a", "relative not allowed"},
		{"?a", "relative not allowed"},
		{"#a", "relative not allowed"},
		{"", "relative not allowed"},
		{"   ", "relative not allowed"},
		{"http", "relative not allowed"},
		{"http:", "syntax error"},
		{"http:/", "syntax error"},
		{"http://", "syntax error"},
		{"http:///", "syntax error"},
		{"http://?", "syntax error"},
		{"http://#", "syntax error"},
		{"ht\xc3\xbctp://a", "relative not allowed"},
	};
	check_all(cases, ARRAY_LEN(cases));
	char name[URL_SCHEME_MAX];
	assert_str(url_scheme_of(STR("  MailTo:x"), name), "mailto");
	assert_str(url_scheme_of(STR("java\tscript:x"), name), "javascript");
	assert_str(url_scheme_of(STR("a/b:c"), name), "");
	assert_str(url_scheme_of(STR(":c"), name), "");
	assert_str(url_scheme_of(STR(""), name), "");
	assert_str(url_scheme_of(STR("waytoolong-waytoolong-waytoolong:c"), name), "");
}

static void blanks_at_the_ends_and_line_breaks_count_for_nothing(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{" http://a/ ", "http://a/"},
		{"\t\n\r\f\v\x01http://a/\x1f \n", "http://a/"},
		{"ht\ntp://a/", "http://a/"},
		{"http:\t//a/", "http://a/"},
		{"http:/\n/a/", "http://a/"},
		{"http://a\t.b/", "http://a.b/"},
		{"http://a/b\r\nc", "http://a/bc"},
		{"http://a/.\t./b", "http://a/b"},
		{"http://a/%\n41", "http://a/%41"},
		{"http://a:8\t0/", "http://a/"},
		{"http://u\n@a/", "http://u@a/"},
		{"http://a/?b\tc#d\te", "http://a/?bc#de"},
		{"http://a/ b", "http://a/%20b"},
		{"http://a/b\fc", "http://a/b%0Cc"},
		{"http://a b/", "invalid char"},
		{"http://a/\x7f", "http://a/%7F"},
		{"\xc2\xa0http://a/", "relative not allowed"},
	};
	check_all(cases, ARRAY_LEN(cases));
	check(STR("http://a/b\0c"), NULL, "http://a/b%00c");
	check(STR("http://a\0b/"), NULL, "invalid char");
	check(STR("\0http://a/\0"), NULL, "http://a/");
}

static void userinfo_is_split_at_the_last_at_and_the_first_colon(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://u@a/", "http://u@a/"},
		{"http://u:p@a/", "http://u:p@a/"},
		{"http://u:@a/", "http://u@a/"},
		{"http://:p@a/", "http://:p@a/"},
		{"http://:@a/", "http://a/"},
		{"http://@a/", "http://a/"},
		{"http://@@a/", "http://%40@a/"},
		{"http://a@b@c/", "http://a%40b@c/"},
		{"http://a:b@c:d@e/", "http://a:b%40c%3Ad@e/"},
		{"http://a:b:c@d/", "http://a:b%3Ac@d/"},
		{"http://u:p@", "syntax error"},
		{"http://u:p@/", "syntax error"},
		{"http://@/", "syntax error"},
		{"http://u@:80/", "syntax error"},
		{"http://u/p@a", "http://u/p@a"},
		{"http://u?p@a", "http://u/?p@a"},
		{"http://u#p@a", "http://u/#p@a"},
		{"http://u\\p@a", "http://u/p@a"},
		{"http://a;b=c@d/", "http://a%3Bb%3Dc@d/"},
		{"http://[x]|^@d/", "http://%5Bx%5D%7C%5E@d/"},
		{"http://a b\"<>`{}@d/", "http://a%20b%22%3C%3E%60%7B%7D@d/"},
		{"http://\xc3\xbc:\xc3\xa4@d/", "http://%C3%BC:%C3%A4@d/"},
		{"http://%41%zz:%@d/", "http://%41%zz:%@d/"},
		{"http://a'b!$&()*+,-._~@d/", "http://a'b!$&()*+,-._~@d/"},
		{"http://user:80@d:80/", "http://user:80@d/"},
		{"http://1.2.3.4:80@d/", "http://1.2.3.4:80@d/"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void paths_lose_their_dots_and_keep_their_escapes(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://a", "http://a/"},
		{"http://a/b/c", "http://a/b/c"},
		{"http://a//b", "http://a//b"},
		{"http://a/b\\c\\", "http://a/b/c/"},
		{"http://a\\b", "http://a/b"},
		{"http://a/.", "http://a/"},
		{"http://a/..", "http://a/"},
		{"http://a/../..", "http://a/"},
		{"http://a/./b", "http://a/b"},
		{"http://a/b/.", "http://a/b/"},
		{"http://a/b/./", "http://a/b/"},
		{"http://a/b/..", "http://a/"},
		{"http://a/b/../", "http://a/"},
		{"http://a/b/c/..", "http://a/b/"},
		{"http://a/b/c/../d", "http://a/b/d"},
		{"http://a/b/c/../../d", "http://a/d"},
		{"http://a/b/../../../d", "http://a/d"},
		{"http://a//..", "http://a/"},
		{"http://a/b//..", "http://a/b/"},
		{"http://a/b//../c", "http://a/b/c"},
		{"http://a///../..", "http://a/"},
		{"http://a/%2e", "http://a/"},
		{"http://a/%2E/b", "http://a/b"},
		{"http://a/b/%2e%2e/c", "http://a/c"},
		{"http://a/b/.%2e/c", "http://a/c"},
		{"http://a/b/%2E./c", "http://a/c"},
		{"http://a/b/%2e%2E", "http://a/"},
		{"http://a/b\\..\\c", "http://a/c"},
		{"http://a/...", "http://a/..."},
		{"http://a/.../b", "http://a/.../b"},
		{"http://a/%2e%2e%2e", "http://a/%2e%2e%2e"},
		{"http://a/..b", "http://a/..b"},
		{"http://a/b..", "http://a/b.."},
		{"http://a/.b/../c", "http://a/c"},
		{"http://a/.%2", "http://a/.%2"},
		{"http://a/%2e%2", "http://a/%2e%2"},
		{"http://a/%", "http://a/%"},
		{"http://a/%zz%4", "http://a/%zz%4"},
		{"http://a/%41%7e", "http://a/%41%7e"},
		{"http://a/%2f%5c", "http://a/%2f%5c"},
		{"http://a/b c", "http://a/b%20c"},
		{"http://a/\"<>`{}", "http://a/%22%3C%3E%60%7B%7D"},
		{"http://a/^", "http://a/%5E"},
		{"http://a/|[]'!$&()*+,;=:@~_-", "http://a/|[]'!$&()*+,;=:@~_-"},
		{"http://a/\x01\x1f\x7f"
		 "b",
		 "http://a/%01%1F%7Fb"},
		{"http://a/\xc3\xbc", "http://a/%C3%BC"},
		{"http://a/\xe2\x98\x95/..", "http://a/"},
		{"http://a/\xff\xfe"
		 "b",
		 "http://a/%FF%FEb"}, /* no UTF-8: the bytes as they are */
		{"http://a/C:/../b", "http://a/b"},
		{"http://a/c|/x", "http://a/c|/x"},
		{"http://a/b;c=d/..;e", "http://a/b;c=d/..;e"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void queries_and_fragments_escape_what_they_must(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://a?b", "http://a/?b"},
		{"http://a?", "http://a/?"},
		{"http://a#", "http://a/#"},
		{"http://a?#", "http://a/?#"},
		{"http://a/b?c?d", "http://a/b?c?d"},
		{"http://a/?b#c#d", "http://a/?b#c#d"},
		{"http://a/#b?c", "http://a/#b?c"},
		{"http://a/?/../b/.", "http://a/?/../b/."},
		{"http://a/#/../b", "http://a/#/../b"},
		{"http://a/?\\", "http://a/?\\"},
		{"http://a/#\\", "http://a/#\\"},
		{"http://a/? \"<>'", "http://a/?%20%22%3C%3E%27"},
		{"http://a/?`{}|^[]", "http://a/?`{}|^[]"},
		{"http://a/# \"<>`", "http://a/#%20%22%3C%3E%60"},
		{"http://a/#'{}|^[]", "http://a/#'{}|^[]"},
		{"http://a/?\xc3\xbc#\xc3\xa4", "http://a/?%C3%BC#%C3%A4"},
		{"http://a/?\xff#\xfe", "http://a/?%FF#%FE"},
		{"http://a/?%zz%41%", "http://a/?%zz%41%"},
		{"http://a/?\x01\x7f#\x01\x7f", "http://a/?%01%7F#%01%7F"},
		{"http://a/?a=b&c=d+e;f", "http://a/?a=b&c=d+e;f"},
		{"http://a/?@:/", "http://a/?@:/"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

#define BASE "http://u:p@h:81/b/c/d;p?q#f"
static void links_are_resolved(void **state)
{
	(void)state;
	static const struct resolve_case cases[] = {
		{BASE, "", "http://u:p@h:81/b/c/d;p?q"},
		{BASE, "#", "http://u:p@h:81/b/c/d;p?q#"},
		{BASE, "#s", "http://u:p@h:81/b/c/d;p?q#s"},
		{BASE, "?", "http://u:p@h:81/b/c/d;p?"},
		{BASE, "?y", "http://u:p@h:81/b/c/d;p?y"},
		{BASE, "?y#s", "http://u:p@h:81/b/c/d;p?y#s"},
		{BASE, "g", "http://u:p@h:81/b/c/g"},
		{BASE, "./g", "http://u:p@h:81/b/c/g"},
		{BASE, "g/", "http://u:p@h:81/b/c/g/"},
		{BASE, "/g", "http://u:p@h:81/g"},
		{BASE, "\\g", "http://u:p@h:81/g"},
		{BASE, "/", "http://u:p@h:81/"},
		{BASE, "/?x", "http://u:p@h:81/?x"},
		{BASE, "//g", "http://g/"},
		{BASE, "\\\\g", "http://g/"},
		{BASE, "/\\g", "http://g/"},
		{BASE, "///g", "http://g/"},
		{BASE, "//g:82/x", "http://g:82/x"},
		{BASE, "//v@g", "http://v@g/"},
		{BASE, "//", "syntax error"},
		{BASE, "g?y", "http://u:p@h:81/b/c/g?y"},
		{BASE, "g#s", "http://u:p@h:81/b/c/g#s"},
		{BASE, "g?y#s", "http://u:p@h:81/b/c/g?y#s"},
		{BASE, ";x", "http://u:p@h:81/b/c/;x"},
		{BASE, ".", "http://u:p@h:81/b/c/"},
		{BASE, "./", "http://u:p@h:81/b/c/"},
		{BASE, "..", "http://u:p@h:81/b/"},
		{BASE, "../", "http://u:p@h:81/b/"},
		{BASE, "../g", "http://u:p@h:81/b/g"},
		{BASE, "../..", "http://u:p@h:81/"},
		{BASE, "../../g", "http://u:p@h:81/g"},
		{BASE, "../../../g", "http://u:p@h:81/g"},
		{BASE, "/./g", "http://u:p@h:81/g"},
		{BASE, "/../g", "http://u:p@h:81/g"},
		{BASE, "g.", "http://u:p@h:81/b/c/g."},
		{BASE, "..g", "http://u:p@h:81/b/c/..g"},
		{BASE, "./g/.", "http://u:p@h:81/b/c/g/"},
		{BASE, "g/../h", "http://u:p@h:81/b/c/h"},
		{BASE, "g?y/../x", "http://u:p@h:81/b/c/g?y/../x"},
		{BASE, "..\\g", "http://u:p@h:81/b/g"},
		{BASE, "%2e%2e/g", "http://u:p@h:81/b/g"},
		{BASE, " g ", "http://u:p@h:81/b/c/g"},
		{BASE, "g\nh", "http://u:p@h:81/b/c/gh"},
		{BASE, "http:g", "http://u:p@h:81/b/c/g"},
		{BASE, "HTTP:g", "http://u:p@h:81/b/c/g"},
		{BASE, "http:/g", "http://u:p@h:81/g"},
		{BASE, "http://g", "http://g/"},
		{BASE, "http:\\\\g", "http://g/"},
		{BASE, "http:", "http://u:p@h:81/b/c/d;p?q"},
		{BASE, "http:#s", "http://u:p@h:81/b/c/d;p?q#s"},
		{BASE, "http:?y", "http://u:p@h:81/b/c/d;p?y"},
		{BASE, "https:g", "https://g/"},
		{BASE, "https:/g/h", "https://g/h"},
		{BASE, "ftp:g", "ftp://g/"},
		{BASE, "mailto:x", "unknown protocol"},
		{BASE, "g:h", "unknown protocol"},
		{BASE, "./g:h", "http://u:p@h:81/b/c/g:h"},
		{BASE, ":g", "http://u:p@h:81/b/c/:g"},
		{BASE, "1:g", "http://u:p@h:81/b/c/1:g"},
		{BASE, "\xc3\xbc", "http://u:p@h:81/b/c/%C3%BC"},
		{"http://h", "g", "http://h/g"},
		{"http://h", "..", "http://h/"},
		{"http://h/a?", "#x", "http://h/a?#x"},
		{"http://h/a?", "", "http://h/a?"},
		{"http://h//a", "b", "http://h//b"},
		{"http://h//a", "../b", "http://h/b"},
		{"https://h:443/a", "//x:443/", "https://x/"},
		{"https://h/a", "http:b", "http://b/"},
		{"http://[::1]:8080/a/b", "../c", "http://[::1]:8080/c"},
		{"ftp://h/a/b", "/c?d", "ftp://h/c?d"},
	};
	check_resolved(cases, ARRAY_LEN(cases));
}

static void the_parts_are_slices_of_the_whole(void **state)
{
	(void)state;
	char room[URL_MAX], other[URL_MAX];
	struct url u, v;
	struct str text = STR("HTTPS://Me:Pw@Www.Example.com:444/a/../b%20c?d=e#f g");
	assert_int_equal(url_parse(text, NULL, room, sizeof room, &u), 0);
	assert_str(u.scheme, "https");
	assert_str(u.username, "Me");
	assert_str(u.password, "Pw");
	assert_str(u.host, "www.example.com");
	assert_str(u.path, "/b%20c");
	assert_str(u.query, "d=e");
	assert_str(u.fragment, "f%20g");
	assert_str(url_target(&u), "/b%20c?d=e");
	assert_int_equal(u.port, 444);
	assert_int_equal(u.protocol, URL_HTTPS);
	assert_int_equal(u.host_kind, URL_NAME);
	assert_true(u.has_query && u.has_fragment && !u.underflow);
	assert_true(u.href.p == room && u.fragment.p + u.fragment.n == room + u.href.n);

	assert_int_equal(url_parse(STR("../x"), &u, other, sizeof other, &v), 0);
	assert_str(v.href, "https://Me:Pw@www.example.com:444/x");
	assert_true(v.host.p > other && v.host.p < other + v.href.n && v.underflow);
	assert_str(v.username, "Me");
	assert_str(v.password, "Pw");
	assert_str(v.host, "www.example.com");
	assert_int_equal(v.port, 444);
	assert_true(!v.has_query && v.query.n == 0 && !v.has_fragment && v.fragment.n == 0);

	assert_int_equal(url_parse(STR("http://0x7f.1"), NULL, room, sizeof room, &u), 0);
	assert_int_equal(u.host_kind, URL_IPV4);
	assert_str(u.host, "127.0.0.1");
	assert_int_equal(u.port, 80);
	assert_int_equal(url_parse(STR("http://[::1]"), NULL, room, sizeof room, &u), 0);
	assert_int_equal(u.host_kind, URL_IPV6);
	assert_str(u.host, "[::1]");
}

static void a_failure_leaves_the_result_alone(void **state)
{
	(void)state;
	char room[URL_MAX];
	struct url u, before;
	assert_int_equal(url_parse(STR("http://a/"), NULL, room, sizeof room, &u), 0);
	before = u;
	char other[URL_MAX];
	assert_int_equal(url_parse(STR("http://a:x/"), NULL, other, sizeof other, &u),
			 -URL_INVALID_PORT);
	assert_memory_equal(&u, &before, sizeof u);
	struct err err;
	assert_int_equal(url_fail(-URL_PROTOCOL, STR("mailto:x"), &err), -1);
	assert_string_equal(err.msg, "URL 'mailto:x': unknown protocol 'mailto', expected http, "
				     "https or ftp");
	assert_int_equal(url_fail(-URL_INVALID_PORT, STR("http://me:secret@a:x/"), &err), -1);
	assert_string_equal(err.msg, "URL 'http://a:x/': invalid port");
	assert_int_equal(url_fail(-URL_PROTOCOL, STR("FTP://a/"), &err), -1);
	assert_string_equal(err.msg,
			    "URL 'FTP://a/': ftp cannot be used here, expected http or https");
	assert_int_equal(url_fail(-URL_RELATIVE, STR("a.org"), &err), -1);
	assert_string_equal(err.msg, "URL 'a.org': relative not allowed; write it in full, as "
				     "http://example.org/");
}

static void names_and_passwords_are_not_shown_wherever_a_reader_of_urls_finds_them(void **state)
{
	(void)state;
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"http://me:secret@host/x", "http://host/x"},
		{"http://me:secret@host", "http://host"},
		{"http://me:a@secret@host:99999/", "http://host:99999/"},
		{"http:me:secret@host/", "http:host/"},
		{"http:\\\\me:secret@host/", "http:\\\\host/"},
		{"http:/\t/me:secret@host/", "http:/\t/host/"},
		{" http://me:secret@host/", " http://host/"},
		{"//me:secret@host/x", "//host/x"},
		{"gopher://secret@host#a@b", "gopher://host#a@b"},
		{"http://host/a@b:c@d", "http://host/a@b:c@d"},
		{"http://host?a@b", "http://host?a@b"},
		{"http://", "http://"},
		{"@", ""},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(100);
		url_show(str_of(cases[i].text), &out);
		assert_string_equal(buf_text(&out), cases[i].shown);
	}
	CLEANUP(buf_free) struct buf out = BUF_INIT(100);
	url_show(STR("http://a\0me:secret@host/"), &out);
	assert_string_equal(buf_text(&out), "http://host/");
}

/* In every room that is too small the answer is the same, and nothing is written past it. */
static void what_does_not_fit_is_too_long(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"http://user:pass@example.com:8080/a b/c?d e#f g",
		"https://m\xc3\xbcnchen.example/\xc3\xbc",
		"http://1.2.3.4:99/",
		"http://[1:2:3:4:5:6:7:8]/?q",
		"http://a/b/../c/./d",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char room[URL_MAX];
		struct url whole, u;
		assert_int_equal(url_parse(str_of(texts[i]), NULL, room, sizeof room, &whole), 0);
		for (size_t cap = 0; cap < whole.href.n; cap++) {
			char *small = mem_alloc(cap + 1);
			small[cap] = 'x';
			assert_int_equal(url_parse(str_of(texts[i]), NULL, small, cap, &u),
					 -URL_TOO_LONG);
			assert_int_equal(small[cap], 'x');
			int rc = url_parse(STR("e/f#g"), &whole, small, cap, &u);
			assert_true(rc == 0 || rc == -URL_TOO_LONG);
			assert_int_equal(small[cap], 'x');
			mem_free(&small);
		}
	}
	char *big = mem_alloc(URL_TEXT_MAX + 100), *room = mem_alloc(URL_TEXT_MAX + 100);
	struct url u;
	memset(big, 'a', URL_TEXT_MAX + 100);
	memcpy(big, "http://", 7);
	assert_int_equal(
		url_parse((struct str){big, URL_TEXT_MAX}, NULL, room, URL_TEXT_MAX + 100, &u), 0);
	assert_int_equal(
		url_parse((struct str){big, URL_TEXT_MAX + 1}, NULL, room, URL_TEXT_MAX + 100, &u),
		-URL_TOO_LONG);
	big[7] = '@'; /* a host that is not plain has a limit of its own */
	assert_int_equal(url_parse((struct str){big, 4000}, NULL, room, URL_TEXT_MAX, &u),
			 -URL_TOO_LONG);
	mem_free(&big);
	mem_free(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schemes_are_known_or_named),
		cmocka_unit_test(blanks_at_the_ends_and_line_breaks_count_for_nothing),
		cmocka_unit_test(userinfo_is_split_at_the_last_at_and_the_first_colon),
		cmocka_unit_test(paths_lose_their_dots_and_keep_their_escapes),
		cmocka_unit_test(queries_and_fragments_escape_what_they_must),
		cmocka_unit_test(links_are_resolved),
		cmocka_unit_test(the_parts_are_slices_of_the_whole),
		cmocka_unit_test(a_failure_leaves_the_result_alone),
		cmocka_unit_test(what_does_not_fit_is_too_long),
		cmocka_unit_test(
			names_and_passwords_are_not_shown_wherever_a_reader_of_urls_finds_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
