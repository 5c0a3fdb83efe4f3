#include "url/equiv.h"
#include "base/file.h"

#include "../scratch.h"
#include "../unit.h"

static struct equiv *table(const char *text)
{
	struct equiv *e;
	struct err err;
	if (equiv_parse(str_of(text), "url-equiv", &e, &err) < 0)
		fail_msg("%s", err.msg);
	return e;
}

static void maps(const struct equiv *e, const char *from, const char *to)
{
	char room[URL_MAX], text[URL_SITE_MAX];
	struct url u;
	assert_int_equal(url_parse(str_of(from), NULL, room, sizeof room, &u), 0);
	assert_str(url_site_print(equiv_site(e, url_site(&u)), text, sizeof text), to);
}

static void a_class_is_mapped_to_the_site_that_stands_for_it(void **state)
{
	(void)state;
	struct equiv *e = table("# mirrors\n"
				"http://example.com/\n"
				"\thttp://example.org/\n"
				"\n"
				"  # not the end of the class\n"
				"  https://example.com/  \r\n"
				"ftp://www.files.example/\n"
				" http://files.example:8080/\n"
				"http://alone.example/");
	maps(e, "http://example.com/a", "http://example.com");
	maps(e, "http://example.org/a", "http://example.com");
	maps(e, "https://example.com/", "http://example.com");
	maps(e, "https://example.org/", "https://example.org");
	maps(e, "http://example.org:81/", "http://example.org:81");
	maps(e, "http://files.example:8080/", "ftp://www.files.example");
	maps(e, "http://files.example/", "http://files.example");
	maps(e, "http://alone.example/", "http://alone.example");
	equiv_free(&e);
	assert_null(e);
	equiv_free(&e);
}

static void www_is_implied_for_http_and_https(void **state)
{
	(void)state;
	struct equiv *e = table("http://example.com/\n http://sub.example.org/\n");
	maps(e, "http://www.example.com/", "http://example.com");
	maps(e, "http://www.sub.example.org/", "http://example.com");
	maps(e, "https://www.example.net/", "https://example.net");
	maps(e, "http://www.example.net:81/", "http://example.net:81");
	maps(e, "ftp://www.example.com/", "ftp://www.example.com");
	maps(e, "http://www.www.example.net/", "http://www.example.net");
	maps(e, "http://www.com/", "http://www.com");
	maps(e, "http://www./", "http://www.");
	maps(e, "http://wwwexample.net/", "http://wwwexample.net");
	equiv_free(&e);
	maps(NULL, "http://www.example.com/", "http://example.com");
}

static void nothing_at_all_is_a_table(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "\n", "# only this", "\n\n  \t\n#\n"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct equiv *e = table(texts[i]);
		maps(e, "http://a/", "http://a");
		equiv_free(&e);
	}
}

static void errors_name_the_line_and_leave_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *text, *where, *what;
	} cases[] = {
		{"http://www.example.com/\n", "f:1: ", "www. is implied"},
		{"http://a/\n\n https://www.example.com/\n", "f:3: ", "www. is implied"},
		{" http://a/\n", "f:1: ", "first column"},
		{"# x\n\thttp://a/\n", "f:2: ", "first column"},
		{"http://a/\n http://b/\n http://b/\n", "f:3: ", "twice; first in line 2"},
		{"http://a/\n http://b/\nhttp://c/\n http://b/\n", "f:4: ", "twice"},
		{"http://a/\nhttp://a/\n", "f:2: ", "twice; first in line 1"},
		{"http://a/\n http://a/\n", "f:2: ", "stands for a class in line 1"},
		{"http://a/\n http://b/\nhttp://b/\n http://c/\n", "f:3: ", "is mapped in line 2"},
		{"http://a/\n http://b/\nhttp://c/\n http://a/\n", "f:4: ", "stands for a class"},
		{"http://a/b/\n", "f:1: ", "part of a site"},
		{"http://a/?q\n", "f:1: ", "part of a site"},
		{"http://a\n", "f:1: ", "write 'http://a/'"},
		{"http://A/\n", "f:1: ", "write 'http://a/'"},
		{"http://a:80/\n", "f:1: ", "write 'http://a/'"},
		{"http://a./\n", "f:1: ", "write 'http://a/'"},
		{"http://u@a/\n", "f:1: ", "write 'http://a/'"},
		{"http://a/#x\n", "f:1: ", "write 'http://a/'"},
		{"http://a/..\n", "f:1: ", "path underflow"},
		{"http://a/%zz\n", "f:1: ", "invalid escape"},
		{"http://a/ http://b/\n", "f:1: ", "not in canonical form"},
		{"a\n", "f:1: ", "relative not allowed"},
		{"mailto:a\n", "f:1: ", "unknown protocol"},
		{"http://a:99999/\n", "f:1: ", "invalid port"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct equiv *e = NULL;
		struct err err;
		assert_int_equal(equiv_parse(str_of(cases[i].text), "f", &e, &err), -1);
		assert_null(e);
		assert_int_equal(err.code, ERR_USAGE);
		if (strncmp(err.msg, cases[i].where, strlen(cases[i].where)) != 0 ||
		    !strstr(err.msg, cases[i].what))
			fail_msg("%zu: %s", i, err.msg);
	}
}

static void a_table_is_read_from_its_file(void **state)
{
	(void)state;
	struct equiv *e = NULL;
	struct err err;
	assert_int_equal(equiv_load(scratch("none"), &e, &err), 1);
	assert_int_equal(file_replace(scratch("good"), STR("http://a/\n http://b/\n"), 0600, &err),
			 0);
	assert_int_equal(equiv_load(scratch("good"), &e, &err), 0);
	maps(e, "http://b/", "http://a");
	equiv_free(&e);
	assert_int_equal(file_replace(scratch("bad"), STR("http://a/\n b\n"), 0600, &err), 0);
	assert_int_equal(equiv_load(scratch("bad"), &e, &err), -1);
	assert_non_null(strstr(err.msg, "bad:2: "));
	assert_int_equal(equiv_load(scratch("."), &e, &err), -1);
}

static void many_sites_are_found_again(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(16 << 20);
	char from[64], to[64];
	for (unsigned i = 0; i < 20000; i++)
		buf_printf(&text,
			   "http://c%u.example/\n http://m%u.example/\n https://m%u.example/\n", i,
			   i, i);
	struct equiv *e = table(buf_text(&text));
	buf_free(&text); /* the table has its own copy */
	for (unsigned i = 0; i < 20000; i += 7) {
		snprintf(from, sizeof from, "https://www.m%u.example/", i);
		snprintf(to, sizeof to, "http://c%u.example", i);
		maps(e, from, to);
	}
	equiv_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_is_mapped_to_the_site_that_stands_for_it),
		cmocka_unit_test(www_is_implied_for_http_and_https),
		cmocka_unit_test(nothing_at_all_is_a_table),
		cmocka_unit_test(errors_name_the_line_and_leave_nothing),
		cmocka_unit_test(a_table_is_read_from_its_file),
		cmocka_unit_test(many_sites_are_found_again),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
