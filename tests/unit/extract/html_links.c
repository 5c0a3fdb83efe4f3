/* Small pages as they are found: where they lead, and what they say of themselves. */
#include "unit/extract/html_page.h"

#include "url/url.h"

static void links_have_kinds(void **state)
{
	static const struct page pages[] = {
		P("<a href=b.html>B</a>", "R~/d/b.html a B\n"
					  "XB\n"),
		P("<a href='/abs'>x</a><a href='//other.example/y'>y</a>"
		  "<a href='https://s.example/'>z</a>",
		  "R~/abs a x\n"
		  "Rhttp://other.example/y a y\n"
		  "Rhttps://s.example/ a z\n"
		  "Xxyz\n"),
		P("<a href=../up>u</a><a href=./same>s</a><a href='?q=1'>q</a>",
		  "R~/up a u\n"
		  "R~/d/same a s\n"
		  "R~/d/p.html?q=1 a q\n"
		  "Xusq\n"),
		P("<a href='#frag'>f</a><a href=''>e</a><a href>n</a><a name=x>m</a>", "Xfenm\n"),
		P("<a href='p2.html#part'>p</a>", "R~/d/p2.html a p\n"
						  "Xp\n"),
		P("<a href='javascript:x()'>j</a><a href='mailto:a@b'>m</a><a href='data:,x'>d</a>"
		  "<a href='tel:1'>t</a>",
		  "Xjmdt\n"),
		P("<a href='  sp ace.html\n'>s</a>", "R~/d/sp%20ace.html a s\n"
						     "Xs\n"),
		P("<a href=r rel='nofollow'>1</a><a href=u rel='UGC noopener'>2</a>"
		  "<a href=s rel='sponsored nofollow'>3</a>",
		  "R~/d/r an 1\n"
		  "R~/d/u au 2\n"
		  "R~/d/s ans 3\n"
		  "X123\n"),
		P("<a href=i><img src=i.png alt='Pic'></a>", "M0iPic\n"
							     "I~/d/i.png g\n"
							     "R~/d/i a Pic\n"),
		P("<a href=i aria-label='Label'><img src=i.png></a><a href=t title='Tip'></a>"
		  "<a href=v title='Tip'>text</a>",
		  "I~/d/i.png g\n"
		  "R~/d/i a Label\n"
		  "R~/d/t a Tip\n"
		  "R~/d/v a text\n"
		  "Xtext\n"),
		P("<a href=l>  many \n <b>words</b><br>here </a>", "M1ewords\n"
								   "R~/d/l a many words here\n"
								   "Xmany words/here\n"),
		P("<map><area href=ar.html alt='Area'><area alt=none></map>",
		  "R~/d/ar.html a Area\n"),
		P("<img src=a.png><img data-src=lazy.png><input type=image src=in.png>"
		  "<image src=im.png>",
		  "I~/d/a.png g\n"
		  "I~/d/lazy.png g\n"
		  "I~/d/in.png g\n"
		  "I~/d/im.png g\n"),
		P("<body background=bg.gif><table background=t.gif><tr><td background=c.gif>x",
		  "I~/d/bg.gif g\n"
		  "I~/d/t.gif g\n"
		  "I~/d/c.gif g\n"
		  "Xx\n"),
		P("<frameset><frame src=left.html><frame src=right.html title=R></frameset>",
		  "F~/d/left.html w\n"
		  "F~/d/right.html w R\n"),
		P("<iframe src='//ads.example/f'></iframe><iframe srcdoc=x></iframe>",
		  "Fhttp://ads.example/f w\n"),
		P("<form action=search><input></form><form method=POST action=post></form>"
		  "<form method=get action=g></form><form></form>",
		  "R~/d/search f\n"
		  "R~/d/g f\n"),
		P("<embed src=e.swf><object data=o.pdf></object><applet code=A.class></applet>"
		  "<video><source src=v.webm></video><bgsound src=b.mid>",
		  "A~/d/e.swf e\n"
		  "A~/d/o.pdf e\n"
		  "A~/d/A.class e\n"
		  "A~/d/v.webm e\n"
		  "A~/d/b.mid e\n"),
		P("<link rel=alternate type='application/rss+xml' title='News' href=rss.xml>"
		  "<link rel=alternate type='application/atom+xml; x' href=atom>",
		  "R~/d/rss.xml n News\n"
		  "R~/d/atom n\n"),
		P("<link rel=alternate hreflang=de href=de.html>"
		  "<link rel='alternate stylesheet' href=s.css><link rel=stylesheet href=t.css>"
		  "<link rel=icon href=f.ico>",
		  "R~/d/de.html l\n"),
		P("<link rel=next href=n><link rel=Prev href=p><link rel=license href=l>"
		  "<link rel=sitemap href=sitemap.xml><link rel=preload href=x>",
		  "R~/d/n o\n"
		  "R~/d/p o\n"
		  "R~/d/l o\n"
		  "R~/d/sitemap.xml x\n"),
		P("<link rel=canonical href='/c?x#y'><link rel=canonical href=/second>",
		  "M0c~/c?x\n"),
		P("<link rel=canonical href='#'><link rel=canonical><link href=x>", ""),
		P("<meta http-equiv=refresh content='5; url=next.html'>", "R~/d/next.html r\n"),
		P("<meta http-equiv=Refresh content=\"0;URL='q.html'\">"
		  "<meta http-equiv=refresh content='30'>"
		  "<meta http-equiv=refresh content='1, plain'>",
		  "R~/d/q.html r\n"
		  "R~/d/plain r\n"),
		P("<meta http-equiv=refresh content='5abc'>"
		  "<meta http-equiv=refresh content='5url=no'>"
		  "<meta http-equiv=refresh content=' ;url=no'>"
		  "<meta http-equiv=refresh content='-1;url=no'>"
		  "<meta http-equiv=refresh content='5;'><meta http-equiv=refresh content=''>",
		  ""),
		P("<meta http-equiv=refresh content='\t.5.5 url = \"a\"b'>"
		  "<meta http-equiv=refresh content='5 ,,c'>"
		  "<meta http-equiv=refresh content='5;urls'>"
		  "<meta http-equiv=refresh content='5;url'>"
		  "<meta http-equiv=refresh content='5;ur=x'>"
		  "<meta http-equiv=refresh content='5; \"d\"'>"
		  "<meta http-equiv=refresh content='5 e'>",
		  "R~/d/a r\n"
		  "R~/d/,c r\n"
		  "R~/d/urls r\n"
		  "R~/d/url r\n"
		  "R~/d/ur=x r\n"
		  "R~/d/d r\n"
		  "R~/d/e r\n"),
		P("<a href='http://[bad'>x</a><a href='http://ho st/'>y</a>", "Xxy\n"),
		P("<a href='http://EXAMPLE.com:80/%7Ea/../b'>x</a>", "Rhttp://example.com/b a x\n"
								     "Xx\n"),
		P("<a href=\"a\tb\nc.html\">x</a>", "R~/d/abc.html a x\n"
						    "Xx\n"),
		P("<A HREF=UP.HTML>X</A>", "R~/d/UP.HTML a X\n"
					   "XX\n"),
		P("<a href=1 href=2>x</a>", "R~/d/1 a x\n"
					    "Xx\n"),
		P("<a href=a>a<img src=b>c</a>", "I~/d/b g\n"
						 "R~/d/a a a c\n"
						 "Xa c\n"),
		NO_URL("<a href=one>1</a><a href=two>2", "X12\n"),
		P("<a href='http://h.example/d/p.html'>self</a>", "R~/d/p.html a self\n"
								  "Xself\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void base_tricks_are_seen_through(void **state)
{
	static const struct page pages[] = {
		P("<base href='/x/'><a href=y>y</a>", "R~/x/y a y\n"
						      "Xy\n"),
		P("<base href='http://b.example/z'><a href=y>y</a><img src=i>",
		  "Rhttp://b.example/y a y\n"
		  "Ihttp://b.example/i g\n"
		  "Xy\n"),
		P("<base target=_top><base href=sub/><a href=y>y</a>", "R~/d/sub/y a y\n"
								       "Xy\n"),
		P("<base href=one/><base href=two/><a href=y>y</a>", "R~/d/one/y a y\n"
								     "Xy\n"),
		P("<base href='javascript:x'><a href=y>y</a>", "R~/d/y a y\n"
							       "Xy\n"),
		P("<base href=''><a href=y>y</a>", "R~/d/y a y\n"
						   "Xy\n"),
		P("<base href='//b.example'><a href=y>y</a><a href='#f'>f</a>",
		  "Rhttp://b.example/y a y\n"
		  "Xyf\n"),
		P("<a href=before>b</a><base href=/after/><a href=y>y</a>", "R~/d/before a b\n"
									    "R~/after/y a y\n"
									    "Xby\n"),
		NO_URL("<base href='http://b.example/x'><a href=y>y</a>",
		       "Rhttp://b.example/y a y\n"
		       "Xy\n"),
		NO_URL("<a href=relative>r</a><a href='http://a.example/'>a</a>",
		       "Rhttp://a.example/ a a\n"
		       "Xra\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void pages_speak_of_themselves(void **state)
{
	static const struct page pages[] = {
		P("<meta name=description content=' A  page\nabout '>"
		  "<meta name=Keywords content='a, b,c'>",
		  "M1dA page about\n"
		  "M1ka, b,c\n"),
		P("<meta name=AUTHOR content='Jane Doe'><meta name=author content=''>"
		  "<meta name=generator content='vi'>",
		  "M1aJane Doe\n"
		  "M0gvi\n"),
		P("<meta name=robots content='NoIndex, NOFOLLOW'><meta name=robots content=none>"
		  "<meta name=googlebot content=noindex>",
		  "M0rnoindex,nofollow\n"
		  "M0rnoindex,nofollow\n"),
		P("<meta name=garner content='noarchive'>", "M0rnoarchive\n"),
		P("<meta name=robots content='noindex nofollow'>", "M0rnoindex,nofollow\n"),
		P("<meta name=robots content='unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT "
		  "none'>"
		  "<meta name=robots content='max-snippet: 5 noindex'>",
		  "M0runavailable_after:wed25jun201015:00:00gmt,noindex,nofollow\n"
		  "M0rmax-snippet:5,noindex\n"),
		P("<meta property='og:description' content='Og'>"
		  "<meta name=description content='Own'>",
		  "M1dOwn\n"),
		P("<meta property='og:description' content='Og'>x", "M1dOg\n"
								    "Xx\n"),
		P("<html lang=en-GB><p>x", "M0len-gb\n"
					   "Xx\n"),
		P("<html xml:lang=de_AT>x", "M0lde-at\n"
					    "Xx\n"),
		P("<meta http-equiv=content-language content='fr, en'>x", "M0lfr\n"
									  "Xx\n"),
		P("<meta property='og:locale' content='en_US'><html lang=es>x", "M0les\n"
										"Xx\n"),
		P("<html lang='!!'>x", "Xx\n"),
		P("<meta property='article:published_time' content='2024-05-06T07:08:09Z'>"
		  "<meta property='article:modified_time' content='2024-05-07'>",
		  "M0p1714979289\n"
		  "M0m1715040000\n"),
		P("<meta name=date content='Mon, 06 May 2024 10:11:12 GMT'>"
		  "<meta name=date content='2020-01-01'>",
		  "M0p1714990272\n"),
		P("<meta name=date content='yesterday'><time pubdate datetime='2023-01-02'>then"
		  "</time>",
		  "M0p1672617600\n"
		  "Xthen\n"),
		P("<time datetime='2023-01-02'>no</time>"
		  "<time itemprop=datePublished datetime=2023-01-02>x</time>"
		  "<time itemprop=dateModified datetime=2023-01-03>y</time>",
		  "M0p1672617600\n"
		  "M0m1672704000\n"
		  "Xnoxy\n"),
		P("<meta itemprop=dateModified content=2024-01-01>"
		  "<meta http-equiv=last-modified content='2022-02-02'>",
		  "M0m1704067200\n"),
		P("<meta charset=utf-8><meta><meta name=description><meta content=x>", ""),
		P("<meta name=dc.creator content='A'><meta name=citation_author content='B'>",
		  "M1aA\n"
		  "M1aB\n"),
		P("<p>late <meta name=description content='in the body'>", "M1din the body\n"
									   "Xlate\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

/* By the URL Standard: encoded, then escaped; what the charset does not have as a reference. */
static void queries_are_in_the_charset_of_the_page(void **state)
{
	static const struct page pages[] = {
		P("<a href='/s?q=\xd0\xbf'>a</a>", "R~/s?q=%D0%BF a a\nXa\n"),
		IN("windows-1251", "<a href='/s?q=\xef\xf0\xe8'>a</a>",
		   "R~/s?q=%EF%F0%E8 a a\nXa\n"),
		IN("windows-1251", "<a href='/\xef?\xef#?\xef'></a><a href='/#?\xef'></a>",
		   "R~/%D0%BF?%EF a\nR~/ a\n"),
		IN("windows-1251", "<a href='?&#8364;&#20013;&amp;=\"&#x1f600;'></a>",
		   "R~/d/p.html?%88%26%2320013%3B&=%22%26%23128512%3B a\n"),
		IN("windows-1251", "<a href='\n/\t? %EF\n\xef\t '></a>", "R~/?%20%EF%EF a\n"),
		IN("windows-1251", "<a href='//h.example?\xef'></a>", "R~/?%EF a\n"),
		IN("windows-1251", "<a href='mailto:a@b?subject=\xef'></a>", ""),
		IN("windows-1251",
		   "<area href='?1\xef'><img src='?2\xef'><iframe src='?3\xef'></iframe>"
		   "<embed src='?4\xef'><form action='?5\xef'></form>",
		   "R~/d/p.html?1%EF a\n"
		   "I~/d/p.html?2%EF g\n"
		   "F~/d/p.html?3%EF w\n"
		   "A~/d/p.html?4%EF e\n"
		   "R~/d/p.html?5%EF f\n"),
		IN("windows-1251",
		   "<link rel=canonical href='/c?\xef'><link rel=next href='/n?\xef'>"
		   "<link rel=alternate href='/a?\xef'>"
		   "<meta http-equiv=refresh content='1;url=/r?\xef'>",
		   "M0c~/c?%EF\n"
		   "R~/n?%EF o\n"
		   "R~/a?%EF l\n"
		   "R~/r?%EF r\n"),
		IN("windows-1251", "<base href='/b/?\xef'><a href='c?\xef'></a>", "R~/b/c?%EF a\n"),
		IN("utf-16le", "<\0a\0 \0h\0r\0e\0f\0=\0?\0\x3f\x04>\0", "R~/d/p.html?%D0%BF a\n"),
		IN("replacement", "<a href='?a'></a>", "X\xef\xbf\xbd\n"),
		IN("x-user-defined", "<a href='?\x80&#233;'></a>",
		   "R~/d/p.html?%80%26%23233%3B a\n"),
		IN("gbk", "<a href='?&#8364;\xd6\xd0&#xe7c7;&#128512;'></a>",
		   "R~/d/p.html?%80%D6%D0%26%2359335%3B%26%23128512%3B a\n"),
		IN("gb18030", "<a href='?&#8364;\xd6\xd0&#xe7c7;&#128512;&#xe5e5;'></a>",
		   "R~/d/p.html?%A2%E3%D6%D0%815%F47%949%FC6%26%2358853%3B a\n"),
		IN("big5", "<a href='?\xa4\xa4&#x5341;&#x2550;&#x20ac;&#xca;'></a>",
		   "R~/d/p.html?%A4%A4%A4Q%F9%F9%A3%E1%26%23202%3B a\n"),
		IN("euc-kr", "<a href='?\xb0\xa1&#x8c76;&#xac02;'></a>",
		   "R~/d/p.html?%B0%A1%26%2335958%3B%81A a\n"),
		IN("euc-jp", "<a href='?\xb0\xa1&#xa5;&#xff71;&#x2212;&#x4e02;'></a>",
		   "R~/d/p.html?%B0%A1\\%8E%B1%A1%DD%26%2319970%3B a\n"),
		IN("shift_jis", "<a href='?\x88\x9f&#x203e;&#xff71;\xfb\xfc\x80x'></a>",
		   "R~/d/p.html?%88%9F~%B1%FB%FC%80x a\n"),
		IN("iso-2022-jp",
		   "<a href='?\x1b$B0!0\"%#\x1b(Ba\x1b$B0!\x1b(B#\x1b$B0!\x1b(B'></a>",
		   "R~/d/p.html?%1B$B0!0%22%%23%1B(Ba%1B$B0!%1B(B a\n"),
		IN("iso-2022-jp", "<a href='?&#xa5;a&#92;&#x4e9c;&#xff71;&#x20ac;&#x0e;'></a>",
		   "R~/d/p.html?%1B(J\\a%1B(B\\%1B$B0!%%22%1B(B%26%238364%3B%26%2365533%3B a\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void a_query_that_grows_too_long_is_no_link(void **state)
{
	CLEANUP(buf_free) struct buf page = BUF_INIT(URL_TEXT_MAX * 2);
	buf_add_text(&page, "<a href=/a></a><a href='/?");
	while (page.n < URL_TEXT_MAX)
		buf_add_text(&page, "\xe4\xb8\xad"); /* each is %26%2320013%3B */
	buf_add_text(&page, "'></a><a href=/b></a>");
	const struct page pages[] = {{buf_str(&page), "R~/a a\nR~/b a\n", .charset = "utf-8"},
				     {buf_str(&page), "R~/a a\nR~/b a\n", .charset = "gb18030"},
				     {buf_str(&page), "R~/a a\nR~/b a\n", .charset = "koi8-r"}};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_have_kinds),
		cmocka_unit_test(base_tricks_are_seen_through),
		cmocka_unit_test(pages_speak_of_themselves),
		cmocka_unit_test(queries_are_in_the_charset_of_the_page),
		cmocka_unit_test(a_query_that_grows_too_long_is_no_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
