#include "net/http_inner.h"

#include "../unit.h"

static struct http_hosts *hosts;
static struct err err;

static int make(const char *url, const char *a, const char *b)
{
	const char *const items[] = {a, b};
	const struct http_names names = {.url = url, .names = {items, b ? 2 : a ? 1 : 0}};
	http_hosts_free(&hosts);
	return http_hosts_new(&hosts, &names, &err);
}

static int end(void **state)
{
	(void)state;
	http_hosts_free(&hosts);
	return 0;
}

static void a_host_is_ours_or_someone_elses(void **state)
{
	static const struct {
		struct str host;
		bool is;
	} table[] = {
		{STR("localhost"), true},
		{STR("LocalHost:8080"), true},
		{STR("localhost."), true},
		{STR("localhost.:80"), true},
		{STR("127.0.0.1"), true},
		{STR("127.8.9.1:65535"), true},
		{STR("[::1]"), true},
		{STR("[::1]:80"), true},
		{STR("[::ffff:127.0.0.1]:80"), true},
		{STR("192.0.2.1:80"), true},
		{STR("[2001:db8::1]"), true},
		{STR("search.example"), true},
		{STR("SEARCH.example.:443"), true},
		{STR("search.example:"), true},
		{STR("garner"), true},
		{STR("xn--bcher-kva.example"), true},
		{STR(""), false},
		{STR(":80"), false},
		{STR("."), false},
		{STR("evil.example"), false},
		{STR("localhost.evil.example"), false},
		{STR("a.localhost"), false},
		{STR("127.0.0.1.evil.example"), false},
		{STR("127.1"), false},
		{STR("2130706433"), false},
		{STR("0x7f.1"), false},
		{STR("search.example.evil"), false},
		{STR("a.search.example"), false},
		{STR("search.example.."), false},
		{STR("search.example:x"), false},
		{STR("search.example:99999"), false},
		{STR("search.example:80:80"), false},
		{STR("localhost\0.evil"), false},
		{STR("[::1"), false},
		{STR("[localhost]"), false},
	};
	(void)state;
	assert_int_equal(make("https://Search.Example:8443/", "Garner",
			      "b\xc3\xbc"
			      "cher.example"),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (http_host_is_ours(hosts, table[i].host) != table[i].is)
			fail_msg(STR_FMT " is not %d", STR_ARG(table[i].host), (int)table[i].is);
}

static void a_name_may_be_written_with_its_last_dot(void **state)
{
	static const char *const asked[] = {"search.example", "search.example.", "garner.example",
					    "garner.example.:80"};
	(void)state;
	assert_int_equal(make("https://search.example./", "garner.example.", NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		assert_int_equal(http_host_is_ours(hosts, str_of(asked[i])), true);
}

static void without_names_addresses_and_localhost_are_left(void **state)
{
	(void)state;
	assert_int_equal(make("", NULL, NULL), 0);
	assert_int_equal(http_host_is_ours(hosts, STR("localhost")), true);
	assert_int_equal(http_host_is_ours(hosts, STR("192.0.2.1")), true);
	assert_int_equal(http_host_is_ours(hosts, STR("garner")), false);
}

static void what_is_not_a_name_is_refused_by_its_setting(void **state)
{
	static const struct {
		const char *url, *name, *words;
	} table[] = {
		{"search.example", NULL, "web.url"},
		{"ftp://search.example/", NULL, "web.url"},
		{"https://search.example/garner/", NULL, "web.url"},
		{"https://search.example/?q", NULL, "web.url"},
		{"https://search.example/#a", NULL, "web.url"},
		{"https://me@search.example/", NULL, "web.url"},
		{"https:///", NULL, "web.url"},
		{"", "https://a.example/", "web.names"},
		{"", "a.example:80", "web.names"},
		{"", "a/b", "web.names"},
		{"", "*.a.example", "web.names"},
		{"", "a b", "web.names"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		assert_int_equal(make(table[i].url, table[i].name, NULL), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.msg, table[i].words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_host_is_ours_or_someone_elses, end),
		cmocka_unit_test_teardown(a_name_may_be_written_with_its_last_dot, end),
		cmocka_unit_test_teardown(without_names_addresses_and_localhost_are_left, end),
		cmocka_unit_test_teardown(what_is_not_a_name_is_refused_by_its_setting, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
