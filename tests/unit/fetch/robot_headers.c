#include "../unit.h"

#include "base/clock.h"
#include "fetch/robot_headers.h"

#define NOW_US (INT64_C(1794700800) * US_PER_S) /* 2026-11-15T00:00:00Z */

static int64_t date_s(const char *text)
{
	int64_t us;
	return robot_date(str_of(text), NOW_US, &us) ? us / US_PER_S : -1;
}

static void dates_come_in_three_forms(void **state)
{
	(void)state;
	assert_int_equal(date_s("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
	assert_int_equal(date_s("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
	assert_int_equal(date_s("Sun Nov  6 08:49:37 1994"), 784111777);
	assert_int_equal(date_s("sun, 6 nov 1994 08:49:37 gmt"), 784111777);
	assert_int_equal(date_s("25 Jun 2010 15:00:00 GMT"), 1277478000);
	assert_int_equal(date_s("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
	assert_int_equal(date_s("Thu, 29 Feb 2024 00:00:00 GMT"), 1709164800);
}

static void a_year_of_two_digits_is_at_most_fifty_years_ahead(void **state)
{
	(void)state;
	assert_int_equal(date_s("Sunday, 06-Nov-26 00:00:00 GMT"), 1793923200);
	assert_int_equal(date_s("Friday, 06-Nov-76 00:00:00 GMT"), 3371846400);
	assert_int_equal(date_s("Sunday, 06-Nov-77 00:00:00 GMT"), 247622400);
}

static void what_is_no_date_is_none(void **state)
{
	static const char *const wrong[] = {
		"",
		"yesterday, around noon",
		"Sun, 06 Nov 1994 08:49 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 00 Nov 1994 08:49:37 GMT",
		"Thu, 29 Feb 2023 00:00:00 GMT",
		"Sun, 31 Apr 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 PST",
		"Sun, 06 Nov 1994 08:49:37 GMT and more",
		"06 Nov 199 08:49:37 GMT",
		"06 Nov 19944 08:49:37 GMT",
		"99999999999999999999",
		"Sun, 06 Nov 1994 08:49:37 GMT                                          ",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(date_s(wrong[i]), -1);
}

static int64_t retry_s(const char *text, int64_t date_s_)
{
	int64_t us;
	bool ok =
		robot_retry_after(str_of(text), date_s_ < 0 ? -1 : date_s_ * US_PER_S, NOW_US, &us);
	return ok ? us / US_PER_S : -1;
}

static void a_retry_is_seconds_or_a_date_by_the_servers_own_clock(void **state)
{
	(void)state;
	assert_int_equal(retry_s("120", -1), 120);
	assert_int_equal(retry_s(" 0 ", -1), 0);
	assert_int_equal(retry_s("99999999999", -1), 99999999999);
	assert_int_equal(retry_s("Sun, 15 Nov 2026 00:02:00 GMT", -1), 120);
	assert_int_equal(retry_s("Sun, 15 Nov 2026 00:02:00 GMT", 1794700860), 60);
	assert_int_equal(retry_s("Sun, 06 Nov 1994 08:49:37 GMT", -1), 0);
	assert_int_equal(retry_s("18446744073709551621", -1), -1);
	assert_int_equal(retry_s("-60", -1), -1);
	assert_int_equal(retry_s("soon", -1), -1);
	assert_int_equal(retry_s("", -1), -1);
	assert_int_equal(retry_s("\xff\x01;;", -1), -1);
}

static void expect_type(const char *value, const char *mime, const char *charset)
{
	char m[ROBOT_MIME_MAX + 1] = "was/there", c[ROBOT_CHARSET_MAX + 1] = "there";
	bool ok = robot_content_type(str_of(value), m, c);
	assert_int_equal(ok, mime != NULL);
	assert_string_equal(m, mime ? mime : "was/there");
	assert_string_equal(c, mime ? charset : "there");
}

static void the_last_valid_type_counts_and_its_first_charset(void **state)
{
	(void)state;
	expect_type("text/html", "text/html", "");
	expect_type("  TEXT/HTML ;  CHARSET=UTF-8  ", "text/html", "utf-8");
	expect_type("text/html; charset=\"utf-8\"", "text/html", "utf-8");
	expect_type("text/html; charset='utf-8'", "text/html", "utf-8");
	expect_type("text/html; charset=utf8", "text/html", "utf-8");
	expect_type("text/html; charset=iso-8859-2; charset=utf-8", "text/html", "iso-8859-2");
	expect_type("text/plain, text/html; charset=utf-8", "text/html", "utf-8");
	expect_type("text/html; a=\"b,c;charset=no\"; charset=x", "text/html", "x");
	expect_type("text/html; charset=\xff\x01", "text/html", "");
	expect_type("text/html; charset=x, */*", "text/html", "x");
	expect_type("*/*; charset=x", NULL, NULL);
	expect_type("", NULL, NULL);
	expect_type("html", NULL, NULL);
	expect_type("text/", NULL, NULL);
	expect_type("/html", NULL, NULL);
	expect_type("te xt/html", NULL, NULL);
}

static void a_type_that_is_too_long_is_none(void **state)
{
	char text[ROBOT_MIME_MAX + 3];
	(void)state;
	memset(text, 'a', sizeof text);
	memcpy(text, "text/", 5);
	text[ROBOT_MIME_MAX] = 0;
	expect_type(text, text, "");
	text[ROBOT_MIME_MAX] = 'a';
	text[ROBOT_MIME_MAX + 1] = 0;
	expect_type(text, NULL, NULL);
}

static unsigned tag_of(const char *value)
{
	struct robot_tag tag = {.unavailable_after_us = -1};
	robot_tag_add(&tag, str_of(value), STR("oddbot"), NOW_US);
	return tag.set;
}

#define BIT(d) (1u << ROBOT_##d)

static void directives_for_others_are_not_for_us(void **state)
{
	(void)state;
	assert_int_equal(tag_of("noindex"), BIT(NOINDEX));
	assert_int_equal(tag_of(" NoIndex ,NOFOLLOW,, noarchive"),
			 BIT(NOINDEX) | BIT(NOFOLLOW) | BIT(NOARCHIVE));
	assert_int_equal(tag_of("none"), BIT(NOINDEX) | BIT(NOFOLLOW));
	assert_int_equal(tag_of("otherbot: noindex, nofollow"), 0);
	assert_int_equal(tag_of("oddbot: noindex"), BIT(NOINDEX));
	assert_int_equal(tag_of("nofollow, otherbot: noindex, oddbot: noarchive"),
			 BIT(NOFOLLOW) | BIT(NOARCHIVE));
	assert_int_equal(tag_of("max-snippet:-1, max-image-preview:large, nofollow"),
			 BIT(MAX_SNIPPET) | BIT(MAX_IMAGE_PREVIEW) | BIT(NOFOLLOW));
	assert_int_equal(tag_of("oddbot: max-snippet: 5"), BIT(MAX_SNIPPET));
	assert_int_equal(tag_of("unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT, noindex"),
			 BIT(UNAVAILABLE_AFTER) | BIT(NOINDEX));
	assert_int_equal(tag_of("otherbot: unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT, none"),
			 0);
	assert_int_equal(tag_of("noindex nofollow"), BIT(NOINDEX) | BIT(NOFOLLOW));
	assert_int_equal(tag_of("nofollow otherbot: noindex"), BIT(NOFOLLOW));
	assert_int_equal(tag_of("; ; no index"), 0);
	assert_int_equal(tag_of("noindex;nofollow"), 0);
	assert_int_equal(tag_of("\xff\x01: :"), 0);
	assert_int_equal(tag_of(""), 0);
}

static void a_date_of_expiry_is_read(void **state)
{
	struct robot_tag tag = {.unavailable_after_us = -1};
	(void)state;
	robot_tag_add(&tag, STR("unavailable_after: 25 Jun 2010 15:00:00 GMT, noarchive"),
		      STR("oddbot"), NOW_US);
	assert_int_equal(tag.set, BIT(UNAVAILABLE_AFTER) | BIT(NOARCHIVE));
	assert_int_equal(tag.unavailable_after_us, INT64_C(1277478000) * US_PER_S);
	tag.unavailable_after_us = -1;
	robot_tag_add(&tag, STR("oddbot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT"),
		      STR("oddbot"), NOW_US);
	assert_int_equal(tag.unavailable_after_us, INT64_C(1277478000) * US_PER_S);
	robot_tag_add(&tag, STR("unavailable_after: some day"), STR("oddbot"), NOW_US);
	assert_int_equal(tag.unavailable_after_us, -1);
	robot_tag_add(&tag, STR("unavailable_after: 2010-06-25T15:00:00Z"), STR("oddbot"), NOW_US);
	assert_int_equal(tag.unavailable_after_us, INT64_C(1277478000) * US_PER_S);
}

static void feed(struct robot_head *h, const char *text)
{
	struct str rest = str_of(text), line;
	robot_head_init(h, STR("oddbot"));
	robot_head_begin(h, NOW_US);
	while (str_cut(&rest, '\n', &line) == 0 && (rest.p || line.n))
		robot_head_line(h, line);
}

static void a_head_is_read_line_by_line(void **state)
{
	struct robot_head h;
	(void)state;
	feed(&h, "HTTP/1.1 503 Busy\r\nRetry-After: Sun, 15 Nov 2026 00:02:00 GMT\r\n"
		 "Date: Sun, 15 Nov 2026 00:01:00 GMT\r\nETag: W/\"a\"\r\nETag: \"b\"\r\n"
		 "Content-Type: text/plain\r\nContent-Type: text/html\r\nLocation:  /x \r\n"
		 "LAST-MODIFIED: whenever\r\nX-Robots-Tag: noindex\r\nX-Robots-Tag: nofollow\r\n"
		 "Content-Length: 7\r\n\r\n");
	assert_true(h.is_complete);
	assert_int_equal(h.status, 503);
	assert_int_equal(h.retry_after_us, 60 * US_PER_S);
	assert_string_equal(h.etag, "W/\"a\"");
	assert_string_equal(h.mime, "text/html");
	assert_string_equal(buf_text(&h.location), "/x");
	assert_string_equal(h.last_modified, "whenever");
	assert_int_equal(h.tag.set, BIT(NOINDEX) | BIT(NOFOLLOW));
	assert_int_equal(h.length, 7);
	robot_head_free(&h);
}

static void folded_lines_are_joined(void **state)
{
	struct robot_head h;
	(void)state;
	feed(&h, "HTTP/1.1 200 OK\r\n folded: into nothing\r\nContent-Type: text/html;\r\n"
		 "\tcharset=iso-8859-2\r\nX-Other: a\r\n b\r\n\r\n");
	assert_string_equal(h.mime, "text/html");
	assert_string_equal(h.charset, "iso-8859-2");
	robot_head_free(&h);
}

static void interim_heads_and_trailers_say_nothing(void **state)
{
	struct robot_head h;
	(void)state;
	feed(&h, "HTTP/1.1 103 Early\r\nETag: \"early\"\r\nLocation: http://127.0.0.1/\r\n\r\n"
		 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
		 "Content-Type: image/png\r\nETag: \"late\"\r\n");
	assert_int_equal(h.status, 200);
	assert_string_equal(h.etag, "");
	assert_false(h.has_location);
	assert_string_equal(h.mime, "text/plain");
	robot_head_free(&h);
}

static void validators_that_cannot_be_sent_back_are_dropped_whole(void **state)
{
	struct robot_head h;
	char line[ROBOT_ETAG_MAX + 16];
	(void)state;
	memset(line, 'e', sizeof line);
	memcpy(line, "ETag: ", 6);
	feed(&h, "HTTP/1.1 200 OK\r\n");
	robot_head_line(&h, (struct str){line, 6 + ROBOT_ETAG_MAX + 1});
	robot_head_line(&h, (struct str){"ETag: a\0b", 9});
	robot_head_line(&h, STR("ETag:   \r\n"));
	robot_head_line(&h, STR("\r\n"));
	assert_string_equal(h.etag, "");
	robot_head_begin(&h, NOW_US);
	robot_head_line(&h, STR("HTTP/1.1 200 OK"));
	robot_head_line(&h, (struct str){line, 6 + ROBOT_ETAG_MAX});
	robot_head_line(&h, STR(""));
	assert_int_equal(strlen(h.etag), ROBOT_ETAG_MAX);
	robot_head_free(&h);
}

static void a_validator_has_nothing_in_it_that_ends_a_line_or_a_text(void **state)
{
	static const struct {
		struct str value;
		bool good;
	} cases[] = {
		{{"\"v1\"", 4}, true},   {{"W/\"v1\"", 6}, true},   {{"v1-abc", 6}, true},
		{{"a b\tc", 5}, true},   {{"\"\xff\"", 3}, true},   {{"12345678", 8}, true},
		{{"", 0}, false},        {{"a\rb", 3}, false},      {{"\"v1\"\r", 5}, false},
		{{"a\nb", 3}, false},    {{"a\0b", 3}, false},      {{"a\x7f", 2}, false},
		{{"\x1b[2J", 4}, false}, {{"123456789", 9}, false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct robot_head h;
		CLEANUP(buf_free) struct buf line = BUF_INIT(64);
		assert_int_equal(robot_can_send(cases[i].value, 8), cases[i].good);
		if (cases[i].value.n == 9)
			continue;
		feed(&h, "HTTP/1.1 200 OK\r\n");
		buf_printf(&line, "ETag: ");
		buf_add_str(&line, cases[i].value);
		buf_add_text(&line, " \r\n");
		robot_head_line(&h, buf_str(&line));
		robot_head_line(&h, STR("\r\n"));
		assert_int_equal(h.etag[0] != 0, cases[i].good);
		robot_head_free(&h);
	}
}

static void codings_of_several_lines_are_one_list(void **state)
{
	struct robot_head h;
	(void)state;
	feed(&h, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\ncontent-encoding: br, x\r\n\r\n");
	assert_string_equal(buf_text(&h.coding), "gzip,br, x");
	robot_head_begin(&h, NOW_US);
	assert_int_equal(h.coding.n, 0);
	robot_head_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_come_in_three_forms),
		cmocka_unit_test(a_year_of_two_digits_is_at_most_fifty_years_ahead),
		cmocka_unit_test(what_is_no_date_is_none),
		cmocka_unit_test(a_retry_is_seconds_or_a_date_by_the_servers_own_clock),
		cmocka_unit_test(the_last_valid_type_counts_and_its_first_charset),
		cmocka_unit_test(a_type_that_is_too_long_is_none),
		cmocka_unit_test(directives_for_others_are_not_for_us),
		cmocka_unit_test(a_date_of_expiry_is_read),
		cmocka_unit_test(a_head_is_read_line_by_line),
		cmocka_unit_test(folded_lines_are_joined),
		cmocka_unit_test(interim_heads_and_trailers_say_nothing),
		cmocka_unit_test(validators_that_cannot_be_sent_back_are_dropped_whole),
		cmocka_unit_test(a_validator_has_nothing_in_it_that_ends_a_line_or_a_text),
		cmocka_unit_test(codings_of_several_lines_are_one_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
