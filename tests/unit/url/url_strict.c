/* The strict canonical form, sites, registrable domains, loops. */
#include "url/url.h"

#include "../unit.h"

struct canon_case {
	const char *text;
	const char *want; /* the canonical form, or the name of the error */
};

static void check(const char *text, const char *want)
{
	char room[URL_MAX], strict[URL_MAX], room_again[URL_MAX], strict_again[URL_MAX];
	struct url u, c, again;
	assert_int_equal(url_parse(str_of(text), NULL, room, sizeof room, &u), 0);
	int rc = url_canon(&u, false, strict, sizeof strict, &c);
	struct str got = rc < 0 ? str_of(url_error_text(rc)) : c.href;
	if (!str_is(got, want))
		fail_msg("'%s' gives '" STR_FMT "', want '%s'", text, STR_ARG(got), want);
	if (rc < 0)
		return;
	assert_int_equal(url_parse(c.href, NULL, room_again, sizeof room_again, &again), 0);
	assert_int_equal(url_canon(&again, false, strict_again, sizeof strict_again, &again), 0);
	assert_true(str_eq(again.href, c.href));
	assert_true(url_site_eq(url_site(&again), url_site(&c)));
	assert_true(str_eq(url_target(&again), url_target(&c)));
}

static void the_canonical_form_is_strict(void **state)
{
	(void)state;
	static const struct canon_case cases[] = {
		{"http://a/", "http://a/"},
		{"HTTP://A", "http://a/"},
		{"http://a/b#c", "http://a/b"},
		{"http://a/b?c#d", "http://a/b?c"},
		{"http://a/?#", "http://a/?"},
		{"http://a?b", "http://a/?b"},
		{"http://u:p@a/", "http://a/"},
		{"http://u@a/b?c", "http://a/b?c"},
		{"http://:p@a/", "http://a/"},
		{"http://a./", "http://a/"},
		{"http://a.b.../c", "http://a.b/c"},
		{"http://./", "syntax error"},
		{"http://.../", "syntax error"},
		{"http://1.2.3.4./", "http://1.2.3.4/"},
		{"http://1.2.3.4../", "syntax error"},
		{"http://a:0/", "http://a/"},
		{"https://a:0/", "https://a/"},
		{"http://a:80/", "http://a/"},
		{"http://a:81/", "http://a:81/"},
		{"http://[::1]:81/%7e", "http://[::1]:81/~"},
		{"ftp://a/b", "ftp://a/b"},
		{"http://a/%41%5a%61%7A%30%39", "http://a/AZaz09"},
		{"http://a/%21%2a%27%28%29%2d%5f%2e%7e", "http://a/!*'()-_.~"},
		{"http://a/%3b%2f%3f%3a%40%3d%26%23%24%2b%2c",
		 "http://a/%3B%2F%3F%3A%40%3D%26%23%24%2B%2C"},
		{"http://a/;/:@=&$+,", "http://a/;/:@=&$+,"},
		{"http://a/b;c?d;e", "http://a/b;c?d;e"},
		{"http://a/%20%22%3c", "http://a/%20%22%3C"},
		{"http://a/ \"<", "http://a/%20%22%3C"},
		{"http://a/[]|", "http://a/%5B%5D%7C"},
		{"http://a/?[]|^`{}\\", "http://a/?%5B%5D%7C%5E%60%7B%7D%5C"},
		{"http://a/?b'c", "http://a/?b'c"},
		{"http://a/?b%27c", "http://a/?b'c"},
		{"http://a/?b+c%2bd", "http://a/?b+c%2Bd"},
		{"http://a/?b=%3d&c", "http://a/?b=%3D&c"},
		{"http://a/?b?c%3f", "http://a/?b?c%3F"},
		{"http://a/%25", "http://a/%25"},
		{"http://a/%2541", "http://a/%2541"},
		{"http://a/%c3%bc", "http://a/%C3%BC"},
		{"http://a/\xc3\xbc", "http://a/%C3%BC"},
		{"http://a/%7f%ff", "http://a/%7F%FF"},
		{"http://a/%2e%2e%2e", "http://a/..."},
		{"http://a/b%2ec", "http://a/b.c"},
		{"http://a/%5c", "http://a/%5C"},
		{"http://a/%", "invalid escape"},
		{"http://a/%4", "invalid escape"},
		{"http://a/%4?", "invalid escape"},
		{"http://a/%zz", "invalid escape"},
		{"http://a/?50%", "invalid escape"},
		{"http://a/?%g0", "invalid escape"},
		{"http://a/#%zz", "http://a/"},
		{"http://a/%00", "invalid escaped char"},
		{"http://a/%1f", "invalid escaped char"},
		{"http://a/?%0a", "invalid escaped char"},
		{"http://a/\x01/", "invalid escaped char"},
		{"http://a/..", "path underflow"},
		{"http://a/b/../..", "path underflow"},
		{"http://a/b/../../c", "path underflow"},
		{"http://a/%2e%2e/c", "path underflow"},
		{"http://a/b/..", "http://a/"},
		{"http://a/b/../c", "http://a/c"},
		{"http://a/?..", "http://a/?.."},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i].text, cases[i].want);
}

static void underflow_can_be_forgiven(void **state)
{
	(void)state;
	char room[URL_MAX], strict[URL_MAX];
	struct url u;
	assert_int_equal(url_parse(STR("http://a/../%62"), NULL, room, sizeof room, &u), 0);
	assert_int_equal(url_canon(&u, false, strict, sizeof strict, &u), -URL_UNDERFLOW);
	assert_int_equal(url_canon(&u, true, strict, sizeof strict, &u), 0);
	assert_str(u.href, "http://a/b");
}

static void the_canonical_form_has_at_most_1024_bytes(void **state)
{
	(void)state;
	char text[URL_MAX], room[URL_MAX], strict[URL_MAX];
	struct url u, c;
	memset(text, 'x', sizeof text);
	memcpy(text, "http://a/", 9);
	assert_int_equal(url_parse((struct str){text, 1024}, NULL, room, sizeof room, &u), 0);
	assert_int_equal(url_canon(&u, false, strict, sizeof strict, &c), 0);
	assert_int_equal(c.href.n, 1024);
	assert_int_equal(url_canon(&u, false, strict, 1023, &c), -URL_TOO_LONG);
	assert_int_equal(url_parse((struct str){text, 1025}, NULL, room, sizeof room, &u), 0);
	assert_int_equal(url_canon(&u, false, strict, sizeof strict, &c), -URL_TOO_LONG);
	text[1024] = '#'; /* what is dropped does not count */
	assert_int_equal(url_parse((struct str){text, 2000}, NULL, room, sizeof room, &u), 0);
	assert_int_equal(url_canon(&u, false, strict, sizeof strict, &c), 0);
	text[1000] = '|'; /* what must be written anew is limited by the room */
	assert_int_equal(url_parse((struct str){text, 1022}, NULL, room, sizeof room, &u), 0);
	assert_int_equal(url_canon(&u, false, strict, sizeof strict, &c), 0);
	assert_int_equal(c.href.n, 1024);
	assert_int_equal(url_canon(&u, false, strict, 1023, &c), -URL_TOO_LONG);
	assert_int_equal(url_canon(&u, false, strict, 0, &c), -URL_TOO_LONG);
}

static void sites_print_as_urls_without_a_path(void **state)
{
	(void)state;
	char text[64];
	assert_str(url_site_print((struct url_site){URL_HTTP, 80, STR("a")}, text, sizeof text),
		   "http://a");
	assert_str(url_site_print((struct url_site){URL_HTTPS, 80, STR("a")}, text, sizeof text),
		   "https://a:80");
	assert_str(url_site_print((struct url_site){URL_FTP, 21, STR("[::1]")}, text, sizeof text),
		   "ftp://[::1]");
	assert_str(url_site_print((struct url_site){URL_HTTP, 80, STR("abcdef")}, text, 10),
		   "http://ab");
}

static void domains_are_what_one_registers(void **state)
{
	(void)state;
	static const struct {
		const char *host, *want; /* NULL: none */
	} cases[] = {
		{"example.com", "example.com"},
		{"www.example.com", "example.com"},
		{"a.b.c.example.com", "example.com"},
		{"example.co.uk", "example.co.uk"},
		{"www.example.co.uk", "example.co.uk"},
		{"www.example.co.uk.", "example.co.uk"},
		{"xn--bcher-kva.de", "xn--bcher-kva.de"},
		{"www.xn--bcher-kva.de", "xn--bcher-kva.de"},
		{"com", NULL},
		{"co.uk", NULL},
		{"localhost", NULL},
		{"1.2.3.4", NULL},
		{"[::1]", NULL},
		{"", NULL},
		{".", NULL},
	};
	struct str domain;
	if (url_domain(STR("example.com"), &domain) == 1)
		skip(); /* no libpsl here */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int rc = url_domain(str_of(cases[i].host), &domain);
		assert_int_equal(rc, cases[i].want ? 0 : 1);
		if (cases[i].want)
			assert_str(domain, cases[i].want);
	}
	char name[400];
	memset(name, 'a', sizeof name);
	assert_int_equal(url_domain((struct str){name, sizeof name}, &domain), 1);
}

static void hosts_of_one_domain_belong_together(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool same, by_list; /* by_list: only the list of suffixes tells */
	} cases[] = {
		{"example.com", "example.com", true, false},
		{"example.com.", "example.com", true, false},
		{"localhost", "localhost", true, false},
		{"192.0.2.7", "192.0.2.7", true, false},
		{"192.0.2.7", "193.0.2.7", false, false},
		{"[2001:db8::1]", "[2001:db8::1]", true, false},
		{"[2001:db8::1]", "[2001:db8::2]", false, false},
		{"co.uk", "org.uk", false, false},
		{"example.com", "example.org", false, false},
		{"example.com", "badexample.com", false, false},
		{"a.co.uk", "b.co.uk", false, false},
		/* a public suffix, as com.cn is */
		{"a.xn--55qx5d.cn", "b.xn--55qx5d.cn", false, false},
		{"", "example.com", false, false},
		{"www.example.com", "example.com", true, true},
		{"a.b.example.co.uk", "example.co.uk.", true, true},
		{"www.xn--bcher-kva.de", "shop.xn--bcher-kva.de", true, true},
		{"x.a.xn--55qx5d.cn", "y.a.xn--55qx5d.cn", true, true},
	};
	struct str domain;
	bool has_list = url_domain(STR("example.com"), &domain) == 0;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (has_list || !cases[i].by_list)
			assert_true(url_same_domain(str_of(cases[i].a), str_of(cases[i].b)) ==
				    cases[i].same);
}

static void loops_are_seen(void **state)
{
	(void)state;
	static const char *const loops[] = {
		"/a/a/a/a",
		"/x/a/a/a/a",
		"/a/a/a/a/x",
		"/a/b/a/b/a/b/a/b",
		"/x/a/b/c/a/b/c/a/b/c/a/b/c/y",
		"/a/b/c/d/a/b/c/d/a/b/c/d/a/b/c/d",
		"/////",
		"/p?a&a&a&a",
		"/1/a/2/a/3/a/4/a/5/a/6/a/7/a/8/a/9/a/10/a/11/a",
	};
	static const char *const straight[] = {
		"",
		"/",
		"/a",
		"/a/a/a",
		"/a/aa/aaa/aaaa",
		"/a/b/a/b/a/b/a",
		"/a/a/a/b/a/a/a/b/a",
		"/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p",
		"/index.php?a=1&b=1&c=1&d=1",
		"/a/b/c/d/e/a/b/c/d/e/a/b/c/d/e/a/b/c/d/e", /* longer than looked for */
	};
	for (size_t i = 0; i < ARRAY_LEN(loops); i++)
		if (!url_loops(str_of(loops[i]), NULL))
			fail_msg("%s is a loop", loops[i]);
	for (size_t i = 0; i < ARRAY_LEN(straight); i++)
		if (url_loops(str_of(straight[i]), NULL))
			fail_msg("%s is no loop", straight[i]);
}

static void the_limits_of_loops_can_be_set(void **state)
{
	(void)state;
	struct url_loop_limits l = {"/", 2, 1, 0};
	assert_true(url_loops(STR("/a/a"), &l));
	assert_false(url_loops(STR("/a/b/a/b"), &l));
	l.max_length = 2;
	assert_true(url_loops(STR("/a/b/a/b"), &l));
	assert_false(url_loops(STR("/a?a"), &l));
	l = (struct url_loop_limits){"/", 0, 0, 2};
	assert_false(url_loops(STR("/a/b/a"), &l));
	assert_true(url_loops(STR("/a/b/a/c/a"), &l));
	l.max_occurrences = 0;
	assert_false(url_loops(STR("/a/a/a/a/a/a/a"), &l));

	char path[2 * URL_COMPONENTS_MAX + 2];
	for (size_t i = 0; i < sizeof path; i++)
		path[i] = i % 2 ? 'a' : '/';
	assert_false(url_loops((struct str){path, 2 * URL_COMPONENTS_MAX}, &l));
	assert_true(url_loops((struct str){path, 2 * URL_COMPONENTS_MAX + 2}, &l));
	l.max_occurrences = URL_COMPONENTS_MAX - 1;
	assert_true(url_loops((struct str){path, 2 * URL_COMPONENTS_MAX}, &l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_canonical_form_is_strict),
		cmocka_unit_test(underflow_can_be_forgiven),
		cmocka_unit_test(the_canonical_form_has_at_most_1024_bytes),
		cmocka_unit_test(sites_print_as_urls_without_a_path),
		cmocka_unit_test(domains_are_what_one_registers),
		cmocka_unit_test(hosts_of_one_domain_belong_together),
		cmocka_unit_test(loops_are_seen),
		cmocka_unit_test(the_limits_of_loops_can_be_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
