/* What sitemaps list, read as garner-parse reads them, and of what each may speak. */
#include "shepherd/reap/reap_sitemap.h"

#include "extract/extract.h"
#include "unit/unit.h"

#include <zlib.h>

enum { OUT_ROOM = 16 << 20, NOW_S = 1700000000 };

static struct arena arena = ARENA_INIT(2 * REAP_SITEMAP_BYTES);
static char *memory;
static const struct reaper_link *listed;
static size_t links;

static void read_sitemap(const char *url, const char *type, struct str body)
{
	struct extract *x = extract_new();
	struct extract_job job = {.url = str_of(url), .content_type = str_of(type), .body = body};
	struct extract_result result;
	struct out out;
	out_begin(&out, memory, OUT_ROOM, 0);
	extract_run(x, &job, &out, &result);
	struct attrs attrs = {.a = out.attr, .n = out.n};
	links = reap_sitemap_links(&attrs, NOW_S, &arena, &listed);
	extract_free(&x);
}

static void assert_link(size_t i, const char *url, uint32_t changed_s, bool is_sitemap)
{
	char room[URL_MAX];
	struct url parsed;
	assert_true(i < links);
	assert_str(listed[i].url, url);
	assert_int_equal(listed[i].changed_s, changed_s);
	assert_int_equal(listed[i].is_sitemap, is_sitemap);
	assert_int_equal(url_parse(listed[i].url, NULL, room, sizeof room, &parsed), 0);
	assert_int_equal(footprint_cmp(listed[i].fp, footprint_of(&parsed)), 0);
}

#define XML "<?xml version=\"1.0\"?>"
#define NS "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\""
#define PAGES                                                                               \
	XML "<urlset " NS ">"                                                               \
	    "<url><loc>HTTP://A.example:80/x/../p</loc><lastmod>2023-01-01</lastmod></url>" \
	    "<url><loc>http://a.example/late</loc><lastmod>2099-01-01</lastmod></url>"      \
	    "<url><loc>ftp://a.example/f</loc></url>"                                       \
	    "<url><loc>http://a.example/q?a&amp;b#c</loc></url></urlset>"

static void pages_are_canonical_and_have_their_time(void **state)
{
	(void)state;
	read_sitemap("http://a.example/s.xml", "text/xml", STR(PAGES));
	assert_int_equal(links, 3);
	assert_link(0, "http://a.example/p", 1672531200, false);
	assert_link(1, "http://a.example/late", 0, false); /* not yet */
	assert_link(2, "http://a.example/q?a&b", 0, false);
}

static void an_index_lists_sitemaps(void **state)
{
	(void)state;
	read_sitemap("http://a.example/i.xml", "application/xml",
		     STR(XML "<sitemapindex " NS "><sitemap><loc>http://a.example/1.gz</loc>"
			     "<lastmod>2023-01-01</lastmod></sitemap></sitemapindex>"));
	assert_int_equal(links, 1);
	assert_link(0, "http://a.example/1.gz", 1672531200, true);
}

static void of_a_feed_the_items_count(void **state)
{
	(void)state;
	read_sitemap("http://a.example/feed", "application/rss+xml",
		     STR("<rss><channel><title>t</title><link>http://a.example/home</link>"
			 "<item><link>http://a.example/1</link>"
			 "<pubDate>Sun, 01 Jan 2023 00:00:00 GMT</pubDate><description>see "
			 "&lt;a href='/other'&gt;that&lt;/a&gt;</description></item>"
			 "</channel></rss>"));
	assert_int_equal(links, 1);
	assert_link(0, "http://a.example/1", 1672531200, false);
}

#define LINES                                                               \
	"\xef\xbb\xbfhttp://a.example/1\r\n\r\n  https://a.example/2  \r\n" \
	"# a remark\r\n/relative\r\nhttp://a.example/3 is down\r\nhttp://a.example/4"

static void text_has_a_url_in_each_line(void **state)
{
	(void)state;
	static const char *const names[] = {"http://a.example/map", "http://a.example/map.txt",
					    "http://a.example/sitemap?type=txt"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		read_sitemap(names[i], "text/plain", STR(LINES));
		assert_int_equal(links, 3);
		assert_link(0, "http://a.example/1", 0, false);
		assert_link(1, "https://a.example/2", 0, false);
		assert_link(2, "http://a.example/4", 0, false);
	}
	read_sitemap("http://a.example/map.txt", "text/plain",
		     STR("http://a.example/1\nhttp://a.example/2\n"));
	assert_int_equal(links, 2);
}

static void lines_go_over_pieces_of_text(void **state)
{
	(void)state;
	struct attr list[] = {
		{'T', STR("text/plain; charset=utf-8")},
		{'X', STR("http://a.exa")},
		{'X', STR("mple/1\nhttp")},
		{'X', STR("://a.example/2")},
		{'M', STR("0xtext cut after 40 bytes")},
	};
	struct attrs body = {.a = list, .n = ARRAY_LEN(list)};
	links = reap_sitemap_links(&body, NOW_S, &arena, &listed);
	assert_int_equal(links, 1); /* who knows how the second one goes on */
	assert_link(0, "http://a.example/1", 0, false);
	body.n--;
	links = reap_sitemap_links(&body, NOW_S, &arena, &listed);
	assert_int_equal(links, 2);
	assert_link(1, "http://a.example/2", 0, false);
}

static void a_page_is_not_a_sitemap(void **state)
{
	(void)state;
	read_sitemap("http://a.example/s.xml", "text/html",
		     STR("<html><p>http://a.example/1\n<p><a href=/2>two</a></html>"));
	assert_int_equal(links, 0);
	read_sitemap("http://a.example/s.xml", "text/xml", STR(""));
	assert_int_equal(links, 0);
}

static size_t gzip_of(struct str s, char *ret, size_t room)
{
	z_stream z = {.next_in = (unsigned char *)s.p,
		      .avail_in = (unsigned)s.n,
		      .next_out = (unsigned char *)ret,
		      .avail_out = (unsigned)room};
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

static void compressed_files_are_read(void **state)
{
	(void)state;
	char packed[1024];
	size_t n = gzip_of(STR(PAGES), packed, sizeof packed);
	read_sitemap("http://a.example/s.xml.gz", "application/x-gzip", (struct str){packed, n});
	assert_int_equal(links, 3);
	n = gzip_of(STR("http://a.example/1\nhttp://a.example/2\n"), packed, sizeof packed);
	read_sitemap("http://a.example/s.txt.gz", "application/gzip", (struct str){packed, n});
	assert_int_equal(links, 2);
}

static void no_more_than_the_protocol_allows(void **state)
{
	(void)state;
	struct buf many = BUF_INIT(8 << 20);
	for (int i = 0; i < REAP_SITEMAP_LINKS + 10; i++)
		buf_printf(&many, "http://a.example/%d\n", i);
	read_sitemap("http://a.example/map", "text/plain", buf_str(&many));
	assert_int_equal(links, REAP_SITEMAP_LINKS);
	buf_free(&many);
	arena_clear(&arena);
}

static void no_more_than_there_is_room_for(void **state)
{
	(void)state;
	struct arena own = ARENA_INIT(2 * REAP_SITEMAP_BYTES);
	struct attrs body = {0};
	static char value[1000] = "http://a.example/";
	memset(value + 17, 'x', sizeof value - 17);
	memcpy(value + sizeof value - 2, " s", 2);
	for (int i = 0; i < REAP_SITEMAP_LINKS; i++)
		attrs_add(&body, &arena, 'R', (struct str){value, sizeof value});
	links = reap_sitemap_links(&body, NOW_S, &own, &listed);
	assert_in_range(links, 1, REAP_SITEMAP_BYTES / (sizeof value - 2));
	arena_free(&own);
	arena_clear(&arena);
}

static void sitemaps_speak_of_what_lies_below_them(void **state)
{
	(void)state;
	static const struct {
		const char *sitemap, *url;
		bool page, map; /* whether it may list it as such */
	} cases[] = {
		{"http://a.example/s.xml", "http://a.example/", true, true},
		{"http://a.example/s.xml", "http://a.example/x/y?z", true, true},
		{"http://a.example/s.xml", "https://a.example/", false, false},
		{"http://a.example/s.xml", "http://a.example:8080/", false, false},
		{"http://a.example/s.xml", "http://a.example.org/", false, false},
		{"http://a.example/s.xml", "http://b.example/", false, false},
		{"http://a.example/d/s.xml", "http://a.example/d/", true, true},
		{"http://a.example/d/s.xml", "http://a.example/d/e/f", true, true},
		{"http://a.example/d/s.xml", "http://a.example/d", false, true},
		{"http://a.example/d/s.xml", "http://a.example/de", false, true},
		{"http://a.example/d/s.php?f=/d/e/", "http://a.example/d/x", true, true},
		{"http://b.example/s.xml", "http://named.example/x", true, true},
		{"http://b.example/s.xml", "http://named.example.org/x", false, false},
		{"http://b.example/s.xml", "https://named.example/x", false, false},
		{"http://named.example/d/s.xml", "http://named.example/x", true, true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct reaper_link l = {.url = str_of(cases[i].url)};
		struct str site = STR("http://named.example");
		assert_true(reap_sitemap_in_scope(str_of(cases[i].sitemap), &l, site) ==
			    cases[i].page);
		l.is_sitemap = true;
		assert_true(reap_sitemap_in_scope(str_of(cases[i].sitemap), &l, site) ==
			    cases[i].map);
	}
	struct reaper_link l = {.url = STR("http://b.example/")};
	assert_false(reap_sitemap_in_scope(STR("http://a.example/"), &l, (struct str){0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_canonical_and_have_their_time),
		cmocka_unit_test(an_index_lists_sitemaps),
		cmocka_unit_test(of_a_feed_the_items_count),
		cmocka_unit_test(text_has_a_url_in_each_line),
		cmocka_unit_test(lines_go_over_pieces_of_text),
		cmocka_unit_test(a_page_is_not_a_sitemap),
		cmocka_unit_test(compressed_files_are_read),
		cmocka_unit_test(no_more_than_the_protocol_allows),
		cmocka_unit_test(no_more_than_there_is_room_for),
		cmocka_unit_test(sitemaps_speak_of_what_lies_below_them),
	};
	memory = malloc(OUT_ROOM);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	free(memory);
	arena_free(&arena);
	return rc;
}
