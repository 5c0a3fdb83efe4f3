#include "../unit.h"

#include "fetch/result_print.h"

static void named(const char *text, const char *want)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(4096);
	char room[URL_MAX];
	struct url url;
	assert_int_equal(url_parse(str_of(text), NULL, room, sizeof room, &url), 0);
	result_file_name("f", &url, &path);
	assert_string_equal(buf_text(&path), want);
}

static void a_file_is_named_by_host_port_and_path(void **state)
{
	(void)state;
	named("https://a.example/", "f/a.example/index");
	named("http://a.example/b/c?d=1", "f/a.example,80/b%2Fc%3Fd=1");
	named("https://[2001:db8::1]:8443/x", "f/%5B2001%3Adb8%3A%3A1%5D,8443/x");
	named("https://a.example/index", "f/a.example/inde%78");
	named("https://a.example/x.part", "f/a.example/x.par%74");
}

static void no_host_and_no_path_leads_out_of_the_folder(void **state)
{
	(void)state;
	named("https://../x", "f/%2E./x");
	named("https://./x", "f/%2E/x");
	named("http://../x", "f/%2E.,80/x");
	named("https://a.example/.x", "f/a.example/%2Ex");
	named("https://a.example/%2e%2e", "f/a.example/index");
	named("https://a.example/..%2f..%2fx", "f/a.example/%2E.%252f..%252fx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_named_by_host_port_and_path),
		cmocka_unit_test(no_host_and_no_path_leads_out_of_the_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
