#include "extract/types_inner.h"

#include "../unit.h"

static int setup(void **state)
{
	*state = types_new();
	return 0;
}

static int teardown(void **state)
{
	struct types *t = *state;
	types_free(&t);
	return 0;
}

static void first_bytes_look_like_something(void **state)
{
	static const struct {
		struct str body;
		enum sniff as;
		const char *media;
	} cases[] = {
		{STR(""), SNIFF_EMPTY, NULL},
		{STR("prose"), SNIFF_TEXT, NULL},
		{STR("  <!DOCTYPE html>"), SNIFF_HTML, NULL},
		{STR("<!-- c --><html>"), SNIFF_HTML, NULL},
		{STR("<!-- c -->"), SNIFF_TAGS, NULL},
		{STR("\xef\xbb\xbf<P >"), SNIFF_TAGS, NULL},
		{STR("<pre"), SNIFF_TEXT, NULL},
		{STR("<?xml version='1.0'?><doc/>"), SNIFF_XML, NULL},
		{STR("<?xml version='1.0'?>\n<!DOCTYPE html [<!ENTITY a 'b'>]>\n<html xmlns='x'>"),
		 SNIFF_HTML, NULL},
		{STR("<?xml?><!-- c --><rss version='2.0'>"), SNIFF_FEED, NULL},
		{STR("<feed xmlns='http://www.w3.org/2005/Atom'>"), SNIFF_FEED, NULL},
		{STR("<rdf:RDF xmlns:rdf='x'>"), SNIFF_FEED, NULL},
		{STR("<urlset>"), SNIFF_FEED, NULL},
		{STR("<sm:sitemapindex xmlns:sm='x'>"), SNIFF_FEED, NULL},
		{STR("GIF89a\1\0"), SNIFF_KNOWN, "image/gif"},
		{STR("GIF89a is a format"), SNIFF_TEXT, NULL},
		{STR("%PDF-1.7"), SNIFF_KNOWN, "application/pdf"},
		{STR("\x1f\x8b\x08\0"), SNIFF_KNOWN, "application/gzip"},
		{STR("a\0b"), SNIFF_BINARY, NULL},
		{STR("<"), SNIFF_TEXT, NULL},
		{STR("<?xml"), SNIFF_XML, NULL},
		{STR("<!DOCTYPE"), SNIFF_TEXT, NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *media;
		enum sniff as = sniff(cases[i].body, &media);
		if (as != cases[i].as)
			fail_msg("case %zu: %d", i, as);
		if (cases[i].media)
			assert_string_equal(media, cases[i].media);
		else
			assert_null(media);
	}
}

static void header_name_and_bytes_together_decide(void **state)
{
	static const struct {
		const char *url, *header;
		struct str body;
		enum extract_type type;
		const char *media;
	} cases[] = {
		{"http://a/", "text/html; charset=x", STR("<p>hi"), EXTRACT_HTML, "text/html"},
		{"http://a/", "Text/HTML", STR("no tags"), EXTRACT_HTML, "text/html"},
		{"http://a/", "text/html", STR(""), EXTRACT_HTML, "text/html"},
		{"http://a/", "text/plain", STR("<html>shown as it is"), EXTRACT_TEXT,
		 "text/plain"},
		{"http://a/", "", STR("<html>"), EXTRACT_HTML, "text/html"},
		{"http://a/", "nonsense", STR("<html>"), EXTRACT_HTML, "text/html"},
		{"http://a/", "application/octet-stream", STR("<html>"), EXTRACT_HTML, "text/html"},
		{"http://a/", "*/*", STR("<html>"), EXTRACT_HTML, "text/html"},
		{"http://a/", "application/unknown", STR("<html>"), EXTRACT_HTML, "text/html"},
		{"http://a/", "Unknown/Unknown; x=y", STR("<html>"), EXTRACT_HTML, "text/html"},
		{"http://a/x.txt", "*/*; charset=utf-8", STR("a"), EXTRACT_TEXT, "text/plain"},
		{"http://a/x.md", "text/plain", STR("# T"), EXTRACT_MARKDOWN, "text/markdown"},
		{"http://a/x.md?y", "", STR("# T"), EXTRACT_MARKDOWN, "text/markdown"},
		{"http://a/", "application/xml", STR("<?xml?><html>"), EXTRACT_HTML,
		 "application/xml"},
		{"http://a/", "text/html", STR("<?xml?><rss>"), EXTRACT_FEED, "text/html"},
		{"http://a/", "text/plain", STR("<urlset>"), EXTRACT_FEED, "text/plain"},
		{"http://a/", "application/rss+xml", STR("<rss>"), EXTRACT_FEED,
		 "application/rss+xml"},
		{"http://a/", "image/svg+xml", STR("<?xml?><svg>"), EXTRACT_XML, "image/svg+xml"},
		{"http://a/", "text/html", STR("\x89PNG\r\n\x1a\n"), EXTRACT_OTHER, "image/png"},
		{"http://a/", "image/png", STR("\xff\xd8\xff\xe0"), EXTRACT_OTHER, "image/png"},
		{"http://a/x.docx", "application/x-docx", STR("PK\3\4"), EXTRACT_OTHER,
		 "application/x-docx"},
		{"http://a/", "text/css", STR("a{}"), EXTRACT_OTHER, "text/css"},
		{"http://a/", "application/json", STR("{}"), EXTRACT_OTHER, "application/json"},
		{"http://a/x.gif", "", STR("GIF89a\1"), EXTRACT_OTHER, "image/gif"},
		{"", "", STR(""), EXTRACT_OTHER, "application/x-empty"},
		/* UTF-16: by a mark, by its zeroes, by the header */
		{"", "", STR("\xff\xfe<\0p\0>\0"), EXTRACT_HTML, "text/html"},
		{"", "text/plain", STR("\xfe\xff\0h\0i"), EXTRACT_TEXT, "text/plain"},
		{"", "", STR("<\0p\0>\0"), EXTRACT_HTML, "text/html"},
		{"", "", STR("\0<\0r\0s\0s\0>"), EXTRACT_FEED, "application/xml"},
		{"", "text/html", STR("h\0i\0"), EXTRACT_HTML, "text/html"},
		{"", "text/html; charset=utf-16be", STR("\x04\x1f\x04\x40"), EXTRACT_HTML,
		 "text/html"},
		{"", "text/plain", STR("h\0i\0\1\0"), EXTRACT_OTHER, "application/octet-stream"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct extract_job job = {.url = str_of(cases[i].url),
					  .content_type = str_of(cases[i].header),
					  .body = cases[i].body};
		char media[TYPES_MEDIA_MAX];
		enum extract_type type = types_judge(*state, &job, media);
		if (type != cases[i].type || strcmp(media, cases[i].media) != 0)
			fail_msg("case %zu: %s, %s", i, extract_type_name(type), media);
	}
}

static void text_is_a_sitemap_by_its_name_and_each_of_its_lines(void **state)
{
	static const struct {
		const char *url, *header;
		struct str body;
		bool is_list;
	} cases[] = {
		{"http://a/sitemap.txt", "text/plain", STR("http://a/1\nhttps://a/2\n"), true},
		{"http://a/SITEMAP.TXT?x#y", "", STR("\xef\xbb\xbf http://a/1"), true},
		{"http://a/x.txt", "application/octet-stream", STR("\r\n\r\nHTTP://a/1\r\n"), true},
		{"http://a/x.txt", "text/plain", STR("http://a/1\rhttp://a/2"), true},
		{"http://a/x.txt", "text/html", STR("http://a/1\n"), false},
		{"http://a/x", "text/plain", STR("http://a/1\n"), false},
		{"http://a/x.txt", "text/plain", STR("http://a/1\nand prose\n"), false},
		{"http://a/x.txt", "text/plain", STR("see http://a/1\n"), false},
		{"http://a/x.txt", "text/plain", STR("http://a/1 is a page\n"), false},
		{"http://a/x.txt", "text/plain", STR("/1\n/2\n"), false},
		{"http://a/x.txt", "text/plain", STR("ftp://a/1\n"), false},
		{"http://a/x.txt", "text/plain", STR(" \n"), false},
		{"http://a/x.txt", "text/plain", STR(""), false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct extract_job job = {.url = str_of(cases[i].url),
					  .content_type = str_of(cases[i].header),
					  .body = cases[i].body};
		char media[TYPES_MEDIA_MAX];
		enum extract_type type = types_judge(*state, &job, media);
		if ((type == EXTRACT_SITEMAP) != cases[i].is_list)
			fail_msg("case %zu: %s, %s", i, extract_type_name(type), media);
	}
}

/* Only the beginning is looked at, and a line that goes beyond it may be anything. */
static void prose_in_long_lines_is_no_sitemap(void **state)
{
	static const struct {
		const char *begin, *fill;
		bool is_list;
	} cases[] = {
		{"", "word ", false},
		{"", "word", false},
		{"http://a/1\n", "word ", false},
		{"http://a/1\n", "http://a/2 is ", false},
		{"", "http://a/1", false},
		{"http://a/1\n", "http://a/2", true},
		{"", "http://a/1\n", true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_free) struct buf body = BUF_INIT(1 << 20);
		buf_add_text(&body, cases[i].begin);
		while (body.n < 20000)
			buf_add_text(&body, cases[i].fill);
		struct extract_job job = {.url = STR("http://a/x.txt"),
					  .content_type = STR("text/plain"),
					  .body = buf_str(&body)};
		char media[TYPES_MEDIA_MAX];
		enum extract_type type = types_judge(*state, &job, media);
		if (type != (cases[i].is_list ? EXTRACT_SITEMAP : EXTRACT_TEXT))
			fail_msg("case %zu: %s, %s", i, extract_type_name(type), media);
	}
}

static void libmagic_decides_where_they_disagree(void **state)
{
	struct err err;
	char media[TYPES_MEDIA_MAX];
	if (types_load(*state, &err) < 0)
		skip();
	struct extract_job job = {.url = STR("http://a/"),
				  .content_type = STR("image/png"),
				  .body = STR("<!DOCTYPE html><html><title>404</title></html>")};
	assert_int_equal(types_judge(*state, &job, media), EXTRACT_HTML);
	assert_string_equal(media, "text/html");
	job = (struct extract_job){.url = STR("http://a/"),
				   .content_type = STR("text/html"),
				   .body = STR("\x7f"
					       "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0\1")};
	assert_int_equal(types_judge(*state, &job, media), EXTRACT_OTHER);
	job = (struct extract_job){
		.url = STR(""), .content_type = STR(""), .body = STR("Some prose.\n")};
	assert_int_equal(types_judge(*state, &job, media), EXTRACT_TEXT);
	assert_string_equal(media, "text/plain");
	job.body = STR("\1\2\3\4\5\6");
	assert_int_equal(types_judge(*state, &job, media), EXTRACT_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_bytes_look_like_something),
		cmocka_unit_test_setup_teardown(header_name_and_bytes_together_decide, setup,
						teardown),
		cmocka_unit_test_setup_teardown(prose_in_long_lines_is_no_sitemap, setup, teardown),
		cmocka_unit_test_setup_teardown(text_is_a_sitemap_by_its_name_and_each_of_its_lines,
						setup, teardown),
		cmocka_unit_test_setup_teardown(libmagic_decides_where_they_disagree, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
