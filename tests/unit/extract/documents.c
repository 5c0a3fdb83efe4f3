/* Text, Markdown, XML, feeds and sitemaps: what comes out of each. */
#include <zlib.h>

#include "run.h"

static void plain_text_has_single_blanks_and_line_ends(void **state)
{
	assert_string_equal(run(*state, "http://a/x.txt", "text/plain",
				STR("\n  One   line.\r\n\r\n\tTwo\x0clines \n \n"), "X"),
			    "XOne line.\nTwo\nlines|");
	assert_string_equal(run(*state, "http://a/", "text/plain", STR(""), "X"), "");
	assert_string_equal(run(*state, "http://a/", "text/plain", STR(" \n\t"), "X"), "");
}

static void plain_text_has_the_blanks_of_pages(void **state)
{
	static const struct {
		struct str body;
		const char *text;
	} cases[] = {
		{STR("co\xc2\xad\nop ex\xc2\xad"
		     "am\xc2\xadple"),
		 "Xco\nop example|"},
		{STR("a\xc2\xa0"
		     "b\xe3\x80\x80"
		     "c\xe2\x80\x83"
		     "d"),
		 "Xa b c d|"},
		{STR("zero\xe2\x80\x8bwidth wo\xe2\x81\xa0rd"), "Xzerowidth word|"},
		{STR("one\xe2\x80\xa8two"), "Xone\ntwo|"},
		{STR("\xc2\xad \xe2\x80\x8b"), ""},
		{STR("\xc3\xa9\xc2\xa9 \xe2\x82\xac \xef\xbc\xa1"),
		 "X\xc3\xa9\xc2\xa9 \xe2\x82\xac \xef\xbc\xa1|"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(
			run(*state, "http://a/", "text/plain; charset=utf-8", cases[i].body, "X"),
			cases[i].text);
}

static void type_and_size_come_first(void **state)
{
	assert_string_equal(run(*state, "http://a/", "text/plain", STR("abc"), "TZCX"),
			    "Ttext/plain; charset=utf-8|Z3|Xabc|");
	assert_string_equal(run(*state, "http://a/", "image/gif", STR("GIF89a\1"), "TZX"),
			    "Timage/gif|Z7|");
}

static void text_is_in_utf8_whatever_it_was(void **state)
{
	assert_string_equal(
		run(*state, "http://a/", "text/plain; charset=iso-8859-1", STR("caf\xe9"), "TX"),
		"Ttext/plain; charset=windows-1252|Xcaf\xc3\xa9|");
	run(*state, "http://a/", "text/plain; charset=utf-8", STR("caf\xe9 \xff"), "X");
	struct run *r = *state;
	assert_string_equal(buf_text(&r->lines), "Xcaf\xef\xbf\xbd \xef\xbf\xbd|");
	assert_int_equal(r->result.bad_bytes, 2);
}

/* ASCII in UTF-16. */
static struct str widen(struct str ascii, bool big, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < ascii.n; i++) {
		buf_add_byte(out, big ? 0 : ascii.p[i]);
		buf_add_byte(out, big ? ascii.p[i] : 0);
	}
	return buf_str(out);
}

static void utf16_is_read_without_a_mark(void **state)
{
	static const struct {
		const char *type;
		struct str text;
		const char *want; /* of one order of bytes: $ stands for le or be */
	} cases[] = {
		{"text/html", STR("<title>t</title><p>x <a href=/y>z"),
		 "Ttext/html; charset=utf-16$|M3tt|Rhttp://a/y a z|Xx z|"},
		{"", STR("<!doctype html>x"), "Ttext/html; charset=utf-16$|Xx|"},
		{"text/plain", STR("a\n\nb"), "Ttext/plain; charset=utf-16$|Xa\nb|"},
		{"text/markdown", STR("# T\nx"), "Ttext/markdown; charset=utf-16$|M21T|XT\nx|"},
		{"application/xml", STR("<?xml version='1.0' encoding='utf-16'?><a>x</a>"),
		 "Tapplication/xml; charset=utf-16$|Xx|"},
		{"", STR("<urlset><url><loc>http://a/1</loc></url></urlset>"),
		 "Tapplication/xml; charset=utf-16$|Rhttp://a/1 s|"},
	};
	CLEANUP(buf_free) struct buf wide = BUF_INIT(1 << 12), want = BUF_INIT(1 << 12);
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		bool big = i % 2;
		const char *order = strchr(cases[i / 2].want, '$');
		buf_clear(&want);
		buf_printf(&want, "%.*s%s%s", (int)(order - cases[i / 2].want), cases[i / 2].want,
			   big ? "be" : "le", order + 1);
		assert_string_equal(run(*state, "http://a/", cases[i / 2].type,
					widen(cases[i / 2].text, big, &wide), "TMRX"),
				    buf_text(&want));
	}
}

static void robots_of_the_header_are_kept(void **state)
{
	static const struct {
		const char *header, *meta;
	} cases[] = {
		{"noindex", "M0rnoindex|"},
		{"NoIndex, noFollow", "M0rnoindex,nofollow|"},
		{"none", "M0rnoindex,nofollow|"},
		{"otherbot: noindex", ""},
		{"max-snippet: 50, noarchive", "M0rmax-snippet:50,noarchive|"},
		{"noindex nofollow", "M0rnoindex,nofollow|"},
		{"noindex, otherbot: noarchive, nosnippet", "M0rnoindex|"},
		{"unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT, noindex",
		 "M0runavailable_after:wed25jun201015:00:00gmt,noindex|"},
		{"", ""},
		{" , ,", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct extract_job job = {.url = STR("http://a/"),
					  .content_type = STR("text/plain"),
					  .robots = str_of(cases[i].header),
					  .body = STR("x")};
		assert_string_equal(run_job(*state, &job, "M"), cases[i].meta);
	}
}

/* What is too long is not a word for robots; the others count. */
static void long_words_for_robots_hide_none(void **state)
{
	CLEANUP(buf_free) struct buf page = BUF_INIT(8192), header = BUF_INIT(8192);
	struct run *r = *state;
	for (int i = 0; i < 600; i++)
		buf_add_text(&header, "\xc3\xa9");
	buf_add_text(&header, ",noindex");
	buf_printf(&page, "<meta name=robots content='a%s'>", buf_text(&header));
	assert_string_equal(run(r, "http://a/", "text/html", buf_str(&page), "M"), "M0rnoindex|");
	assert_string_equal(run_job(r,
				    &(struct extract_job){.content_type = STR("text/plain"),
							  .robots = buf_str(&header)},
				    "M"),
			    "M0rnoindex|");
}

static void markdown_has_headings_and_links(void **state)
{
	assert_string_equal(
		run(*state, "http://a/d/x.md", "text/markdown",
		    STR("# The title #\n\nSee [this *page*](other.md \"t\") and ![pic](p.png), "
			"<https://b.example/x>.\n## Second\n```\n# code [x](y)\n```\n#no\n####### "
			"no\n"),
		    "MRX"),
		"M21The title|Rhttp://a/d/other.md a this *page*|Rhttps://b.example/x a|M22Second|"
		"XThe title\nSee [this *page*](other.md \"t\") and ![pic](p.png), "
		"<https://b.example/x>.\nSecond\n# code [x](y)\n#no\n####### no|");
}

static void markdown_bounds_its_lines(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(4 << 20);
	struct run *r = *state;
	buf_fill(&body, '[', 1 << 20);
	buf_add_text(&body, "\n# end\n");
	run(r, "http://a/x.md", "text/markdown", buf_str(&body), "M");
	assert_string_equal(buf_text(&r->lines), "M21end|");
	assert_int_equal(r->out.text_n, (1 << 20) + 4);
}

static void xml_gives_its_text_and_title(void **state)
{
	assert_string_equal(run(*state, "http://a/x.xml", "application/xml",
				STR("<?xml version='1.0'?><!-- c --><article "
				    "xml:lang='en'><title>The &amp; title</title>"
				    "<p a='not text'>One<b>two</b></p>\n<p>three "
				    "&#233;</p><t><title>no</title></t></article>"),
				"TMX"),
			    "Tapplication/xml; charset=utf-8|M0len|M3tThe & title|XThe & title One "
			    "two\nthree \xc3\xa9 no|");
	assert_int_equal(((struct run *)*state)->result.type, EXTRACT_XML);
}

static void languages_have_one_form(void **state)
{
	static const struct {
		const char *said, *language;
	} cases[] = {{"EN_us", "M0len-us|"},
		     {" de-AT, en ", "M0lde-at|"},
		     {"fr", "M0lfr|"},
		     {"not one", ""},
		     {"", ""},
		     {",en", ""}};
	CLEANUP(buf_free) struct buf body = BUF_INIT(1000);
	static const char *const documents[] = {
		"<a xml:lang='|'/>", "<rss><channel><language>|</language></channel></rss>",
		"<feed xml:lang='|'/>", "<html lang='|'>"};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t k = 0; k < ARRAY_LEN(documents); k++) {
			struct str form = str_of(documents[k]);
			size_t at = str_find_byte(form, '|');
			buf_clear(&body);
			buf_add_str(&body, str_head(form, at));
			buf_add_text(&body, cases[i].said);
			buf_add_str(&body, str_from(form, at + 1));
			assert_string_equal(run(*state, "http://a/",
						k < 3 ? "text/xml" : "text/html", buf_str(&body),
						"M"),
					    cases[i].language);
		}
	}
}

static void xml_that_breaks_keeps_what_came_before(void **state)
{
	struct run *r = *state;
	assert_string_equal(run(r, "http://a/", "text/xml", STR("<a><b>text</c> lost</a>"), "MX"),
			    "M0xXML: mismatched tag in line 1, the rest is left out|Xtext|");
	assert_str(r->result.remark, "XML: mismatched tag in line 1, the rest is left out");
	assert_string_equal(run(r, "http://a/", "text/xml", STR(""), "X"), "");
	assert_true(r->result.remark.n > 0);
}

static void entities_grow_nothing(void **state)
{
	struct run *r = *state;
	run(r, "http://a/", "text/xml",
	    STR("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY l 'lol'><!ENTITY m "
		"'&l;&l;&l;&l;&l;&l;&l;&l;'>"
		"<!ENTITY n '&m;&m;&m;&m;&m;&m;&m;&m;'><!ENTITY o '&n;&n;&n;&n;&n;&n;&n;&n;'>"
		"<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>x &o;&f;&nbsp;&unknown; y</a>"),
	    "X");
	assert_string_equal(buf_text(&r->lines), "Xx y|");
}

/* Those in attributes are expanded by expat itself, up to its limit. */
static void entities_in_attributes_are_bounded(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(1 << 20);
	struct run *r = *state;
	buf_add_text(&body, "<!DOCTYPE a [<!ENTITY e0 'lollollollol'>");
	for (int i = 1; i < 12; i++) {
		buf_printf(&body, "<!ENTITY e%d '", i);
		for (int k = 0; k < 10; k++)
			buf_printf(&body, "&e%d;", i - 1);
		buf_add_text(&body, "'>");
	}
	buf_add_text(&body, "]><a b='&e11;'>text</a>");
	run(r, "http://a/", "text/xml", buf_str(&body), "X");
	assert_true(r->result.remark.n > 0);
}

static void a_million_elements_inside_each_other_are_too_many(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(8 << 20);
	struct run *r = *state;
	buf_add_text(&body, "<a>before");
	for (int i = 0; i < 1000000; i++)
		buf_add_text(&body, "<a>");
	run(r, "http://a/", "text/xml", buf_str(&body), "X");
	assert_string_equal(buf_text(&r->lines), "Xbefore|");
	assert_str(r->result.remark,
		   "XML: elements are nested too deeply in line 1, the rest is left out");
}

static void rss_items_are_links(void **state)
{
	assert_string_equal(
		run(*state, "http://a/feed", "application/rss+xml",
		    STR("<?xml version='1.0'?><rss version='2.0' "
			"xmlns:atom='x'><channel><title>News</title>"
			"<link>http://a/</link><atom:link href='http://a/feed' rel='self'/>"
			"<description>All the news</description><language>en-us</language>"
			"<item><title>First &amp;amp; best</title><link>/1</link><pubDate>Mon, 06 "
			"May 2024 10:11:12 GMT</pubDate>"
			"<description><![CDATA[<p>Some <b>bold</b> text</p>]]></description></item>"
			"<item><title>Second</title><guid>http://a/2</guid><enclosure "
			"url='http://a/2.mp3'/></item>"
			"<item><title>No link</title><guid isPermaLink='false'>x</guid></item>"
			"</channel></rss>"),
		    "MRAX"),
		"M3tNews|M1dAll the news|M0len-us|Rhttp://a/ a News|Rhttp://a/1 i@1714990272 First "
		"& best|"
		"Ahttp://a/2.mp3 e|Rhttp://a/2 i Second|XFirst & best\nSome bold text\nSecond\nNo "
		"link|");
	struct run *r = *state;
	assert_int_equal(r->result.type, EXTRACT_FEED);
	assert_int_equal(r->result.links_left_out, 1);
}

static void what_is_cut_in_a_feed_is_cut_between_characters(void **state)
{
	struct run *r = *state;
	struct buf feed = BUF_INIT(1 << 20);
	buf_add_text(&feed, "<rss><channel><item><link>http://a/</link><description>a");
	for (int i = 0; i < 200000; i++)
		buf_add_text(&feed, "\xc3\xa9");
	buf_add_text(&feed, "</description></item></channel></rss>");
	run(r, "http://a/", "text/xml", buf_str(&feed), "X");
	assert_true(r->out.text_n > 200000);
	assert_true(str_utf8((struct str){r->out.text, r->out.text_n}));
	buf_free(&feed);
}

static void atom_entries_are_links(void **state)
{
	assert_string_equal(
		run(*state, "http://a/f/", "application/atom+xml",
		    STR("<feed xmlns='http://www.w3.org/2005/Atom' "
			"xml:lang='de'><title>T</title><link rel='self' href='s'/>"
			"<link "
			"href='..'/><updated>2024-05-06T10:11:12Z</updated><author><name>Me</"
			"name></author>"
			"<entry><title type='html'>&lt;b&gt;One&lt;/b&gt;</title><link "
			"rel='alternate' href='1'/>"
			"<updated>2024-05-06</updated><published>2020-01-01</published>"
			"<content type='xhtml'><div>In <i>side</i></div></content></entry></feed>"),
		    "MRX"),
		"M3tT|M1aMe|M0lde|M0m1714990272|Rhttp://a/ a T|Rhttp://a/f/1 i@1714953600 "
		"One|XOne\nIn side|");
}

static void rdf_feeds_and_prefixes_are_read(void **state)
{
	assert_string_equal(
		run(*state, "http://a/", "application/rdf+xml",
		    STR("<rdf:RDF xmlns='x' xmlns:rdf='y'><channel><title>C</title></channel>"
			"<item><title>I</title><link>http://a/i</link><dc:date>2024-05-06</"
			"dc:date></item></rdf:RDF>"),
		    "MR"),
		"M3tC|Rhttp://a/i i@1714953600 I|");
	assert_string_equal(
		run(*state, "http://a/", "application/atom+xml",
		    STR("<a:feed xmlns:a='x'><a:title>P</a:title><a:entry><a:title>E</a:title>"
			"<a:link href='http://a/e'/></a:entry></a:feed>"),
		    "MR"),
		"M3tP|Rhttp://a/e i E|");
}

static void sitemaps_give_pages_and_times(void **state)
{
	assert_string_equal(
		run(*state, "http://a/sitemap.xml", "text/xml",
		    STR("\n<?xml version='1.0' encoding='UTF-8'?><urlset xmlns='x' xmlns:image='y'>"
			"<url><loc> http://a/1 "
			"</loc><lastmod>2024-05-06</lastmod><image:image><image:loc>http://a/i</"
			"image:loc></image:image></url>"
			"<url><loc>http://a/2?a=1&amp;b=2</loc><priority>1</priority><xhtml:link "
			"rel='alternate' href='http://a/de'/></url>"
			"<url><loc>mailto:x</loc></url><url/></urlset>"),
		    "R"),
		"Rhttp://a/1 s@1714953600|Rhttp://a/de l|Rhttp://a/2?a=1&b=2 s|");
	assert_int_equal(((struct run *)*state)->result.type, EXTRACT_SITEMAP);
	assert_string_equal(run(*state, "http://a/", "text/plain",
				STR("<sitemapindex><sitemap><loc>http://a/s1.xml.gz</"
				    "loc><lastmod>2024</lastmod></sitemap></sitemapindex>"),
				"R"),
			    "Rhttp://a/s1.xml.gz x@1704067200|");
}

/* After what is there. */
static struct str gzip(struct str plain, struct buf *out)
{
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	size_t most = deflateBound(&z, plain.n);
	z.next_in = (unsigned char *)plain.p;
	z.avail_in = (unsigned)plain.n;
	z.next_out = (unsigned char *)buf_room(out, most);
	z.avail_out = (unsigned)most;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_grew(out, z.total_out);
	deflateEnd(&z);
	return buf_str(out);
}

static void compressed_sitemaps_are_read(void **state)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(1 << 20);
	struct run *r = *state;
	struct str body = gzip(STR("<urlset><url><loc>http://a/1</loc></url></urlset>"), &packed);
	assert_string_equal(run(r, "http://a/s.xml.gz", "application/x-gzip", body, "TR"),
			    "Tapplication/xml; charset=utf-8|Rhttp://a/1 s|");
	/* cut off: what could be unpacked counts */
	run(r, "http://a/s.xml.gz", "", str_head(body, body.n - 12), "R");
	assert_str(r->result.remark, "the compressed document is damaged, the rest is left out");
	buf_clear(&packed);
	body = gzip(STR("no XML inside"), &packed);
	assert_string_equal(run(r, "http://a/x.gz", "application/gzip", body, "TRX"),
			    "Tapplication/gzip|");
}

static void a_sitemap_may_be_lines_of_text(void **state)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(1 << 20), longer = BUF_INIT(1 << 20);
	struct run *r = *state;
	struct str list =
		STR("\xef\xbb\xbfhttp://a/1\r\n\r\n  https://b/\xc3\xa9?x#y \nHTTP://A/3");
	const char *want = "Rhttp://a/1 s|Rhttps://b/%C3%A9?x s|Rhttp://a/3 s|";
	assert_string_equal(run(r, "http://a/sitemap.txt", "text/plain", list, "RX"), want);
	assert_string_equal(extract_type_name(r->result.type), "sitemap");
	assert_int_equal(r->result.remark.n, 0);
	assert_string_equal(
		run(r, "http://a/s.txt.gz", "application/gzip", gzip(list, &packed), "RX"), want);
	assert_string_equal(extract_type_name(r->result.type), "sitemap");
	/* what is not one far down is left out */
	for (int i = 0; i < 1000; i++)
		buf_printf(&longer, "http://a/%d\n", i);
	buf_add_text(&longer, "/relative\nprose\nhttp://[\n");
	run(r, "http://a/s.txt", "", buf_str(&longer), "R");
	assert_int_equal(r->result.links, 1000);
	assert_int_equal(r->result.links_left_out, 3);
}

static void a_compressed_sitemap_in_parts_is_read_whole(void **state)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(1 << 20);
	struct run *r = *state;
	gzip(STR("<urlset><url><loc>http://a/1</loc></url>"), &packed);
	gzip(STR(""), &packed);
	gzip(STR("<url><loc>http://a/2</loc></url></urlset>"), &packed);
	buf_fill(&packed, 0, 100);
	assert_string_equal(run(r, "http://a/s.xml.gz", "", buf_str(&packed), "R"),
			    "Rhttp://a/1 s|Rhttp://a/2 s|");
	assert_int_equal(r->result.remark.n, 0);
}

static void a_compressed_bomb_is_bounded(void **state)
{
	CLEANUP(buf_free) struct buf plain = BUF_INIT(80 << 20);
	CLEANUP(buf_free) struct buf packed = BUF_INIT(80 << 20);
	struct run *r = *state;
	buf_add_text(&plain, "<urlset><url><loc>http://a/1</loc></url>");
	buf_fill(&plain, ' ', 60 << 20);
	buf_add_text(&plain, "<url><loc>http://a/2</loc></url></urlset>");
	struct str body = gzip(buf_str(&plain), &packed);
	assert_string_equal(run(r, "http://a/s.xml.gz", "", body, "R"), "Rhttp://a/1 s|");
	assert_str(r->result.remark,
		   "unpacked it is larger than 52428800 bytes, more than a sitemap "
		   "may be: the rest is left out");
}

static void a_sitemap_has_as_many_pages_as_the_protocol_allows(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(16 << 20);
	struct run *r = *state;
	buf_add_text(&body, "<urlset>");
	for (int i = 0; i < 60000; i++)
		buf_printf(&body, "<url><loc>http://a/%d</loc></url>", i);
	buf_add_text(&body, "</urlset>");
	run(r, "http://a/s.xml", "text/xml", buf_str(&body), "R");
	assert_int_equal(r->result.links, 50000);
	assert_true(r->result.flags & OUT_LINKS_CUT);
	assert_str(r->result.remark, "links cut after 50000");
	assert_int_equal(r->result.links_left_out, 10000);
}

static void links_over_the_limit_of_a_feed_are_counted(void **state)
{
	static const char *const feeds[] = {
		"<rss><channel>%s</channel></rss>", "<item><link>http://a/%d</link></item>",
		"<feed>%s</feed>", "<entry><link href='http://a/%d'/></entry>"};
	struct run *r = *state;
	for (size_t i = 0; i < ARRAY_LEN(feeds); i += 2) {
		CLEANUP(buf_free) struct buf items = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20);
		const char *item = feeds[i + 1], *at = strstr(item, "%d");
		for (int k = 0; k < 30; k++)
			buf_printf(&items, "%.*s%d%s", (int)(at - item), item, k, at + 2);
		at = strstr(feeds[i], "%s");
		buf_printf(&body, "%.*s%s%s", (int)(at - feeds[i]), feeds[i], buf_text(&items),
			   at + 2);
		out_begin(&r->out, r->memory, RUN_OUT, 20);
		struct extract_job job = {.url = STR("http://a/"),
					  .content_type = STR("text/xml"),
					  .body = buf_str(&body)};
		extract_run(r->x, &job, &r->out, &r->result);
		assert_int_equal(r->result.links, 20);
		assert_int_equal(r->result.links_left_out, 10);
	}
}

static void a_hundred_megabytes_of_text_are_bounded(void **state)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(101 << 20);
	struct run *r = *state;
	while (body.n < 100 << 20)
		buf_add_text(&body, "words and words and more words, ");
	run(r, "http://a/", "text/plain", buf_str(&body), "M");
	assert_true(r->result.flags & OUT_TEXT_CUT);
	assert_true(r->out.text_n <= r->out.text_max && r->out.text_n > RUN_OUT / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_has_single_blanks_and_line_ends),
		cmocka_unit_test(plain_text_has_the_blanks_of_pages),
		cmocka_unit_test(type_and_size_come_first),
		cmocka_unit_test(text_is_in_utf8_whatever_it_was),
		cmocka_unit_test(utf16_is_read_without_a_mark),
		cmocka_unit_test(robots_of_the_header_are_kept),
		cmocka_unit_test(long_words_for_robots_hide_none),
		cmocka_unit_test(markdown_has_headings_and_links),
		cmocka_unit_test(markdown_bounds_its_lines),
		cmocka_unit_test(xml_gives_its_text_and_title),
		cmocka_unit_test(languages_have_one_form),
		cmocka_unit_test(xml_that_breaks_keeps_what_came_before),
		cmocka_unit_test(entities_grow_nothing),
		cmocka_unit_test(entities_in_attributes_are_bounded),
		cmocka_unit_test(a_million_elements_inside_each_other_are_too_many),
		cmocka_unit_test(rss_items_are_links),
		cmocka_unit_test(what_is_cut_in_a_feed_is_cut_between_characters),
		cmocka_unit_test(atom_entries_are_links),
		cmocka_unit_test(rdf_feeds_and_prefixes_are_read),
		cmocka_unit_test(sitemaps_give_pages_and_times),
		cmocka_unit_test(compressed_sitemaps_are_read),
		cmocka_unit_test(a_compressed_sitemap_in_parts_is_read_whole),
		cmocka_unit_test(a_compressed_bomb_is_bounded),
		cmocka_unit_test(a_sitemap_may_be_lines_of_text),
		cmocka_unit_test(a_sitemap_has_as_many_pages_as_the_protocol_allows),
		cmocka_unit_test(links_over_the_limit_of_a_feed_are_counted),
		cmocka_unit_test(a_hundred_megabytes_of_text_are_bounded),
	};
	return cmocka_run_group_tests(tests, run_setup, run_teardown);
}
