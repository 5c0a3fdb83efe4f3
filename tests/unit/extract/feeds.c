/* Feeds and what is in them, by the texts of RSS 0.9, 0.91, 1.0 and 2.0, Atom 0.3 and RFC 4287, and
 * as they are really written. */
#include "run.h"

#define RSS(inside) "<rss version='2.0'><channel>" inside "</channel></rss>"
#define ITEM(inside) RSS("<item>" inside "</item>")
#define ATOM_NS "http://www.w3.org/2005/Atom"
#define ATOM(inside) "<feed xmlns='" ATOM_NS "'>" inside "</feed>"
#define ENTRY(inside) ATOM("<entry>" inside "</entry>")
#define RDF(inside)                                                                            \
	"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "                    \
	"xmlns='http://purl.org/rss/1.0/' xmlns:dc='http://purl.org/dc/elements/1.1/'>" inside \
	"</rdf:RDF>"
#define XHTML "http://www.w3.org/1999/xhtml"

struct feed_case {
	const char *feed, *answer;
};

/* All of them, so that one run tells all that is wrong. */
static void check_feeds(struct run *r, const struct feed_case *cases, size_t n)
{
	size_t wrong = 0;
	for (size_t i = 0; i < n; i++) {
		const char *got = run(r, "http://a/d/feed", "application/xml",
				      str_of(cases[i].feed), "MRFIAX");
		if (strcmp(got, cases[i].answer) == 0)
			continue;
		print_error("feed: %s\ngot:  %s\nwant: %s\n", cases[i].feed, got, cases[i].answer);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

#define CHECK(cases) check_feeds(*state, cases, ARRAY_LEN(cases))

static void fields_are_children_of_their_feed_or_item(void **state)
{
	static const struct feed_case cases[] = {
		{RSS("<image><title>Logo</title><link>http://a/logo</link><url>l.png</url></image>"
		     "<title>News</title><link>http://a/</link>"),
		 "M3tNews|Rhttp://a/ a News|"},
		{RSS("<textInput><title>Search</title><description>Find</description>"
		     "<name>q</name><link>http://a/q</link></textInput><title>News</title>"),
		 "M3tNews|"},
		{RSS("<title>News</title><image><title>Logo</title></image>"
		     "<item><title>One</title><link>1</link></item>"),
		 "M3tNews|Rhttp://a/d/1 i One|XOne|"},
		{ENTRY("<source><title>Elsewhere</title><link "
		       "href='http://b/'/><updated>2001-01-01T"
		       "00:00:00Z</updated><author><name>Other</name></author></source>"
		       "<title>Mine</title><link href='1'/>"),
		 "Rhttp://a/d/1 i Mine|XMine|"},
		{ENTRY("<link href='1'/><source><link href='http://b/'/><link rel='enclosure' "
		       "href='http://b/x.mp3'/></source>"),
		 "Rhttp://a/d/1 i|"},
		{ITEM("<source url='http://b/rss'>Elsewhere</source><title>One</title>"
		      "<link>1</link>"),
		 "Rhttp://a/d/1 i One|XOne|"},
		{ITEM("<media:group xmlns:media='http://search.yahoo.com/mrss/'><title>No</title>"
		      "<media:title>No</media:title></media:group><title>Yes</title>"
		      "<link>1</link>"),
		 "Rhttp://a/d/1 i Yes|XYes|"},
		{RDF("<channel><title>News</title><link>http://a/</link><image "
		     "rdf:resource='x'/><items><rdf:Seq><rdf:li resource='http://a/1'/></rdf:Seq>"
		     "</items></channel><image><title>Logo</title><link>http://a/l</link></image>"
		     "<item><title>One</title><link>http://a/1</link></item>"
		     "<textinput><title>Find</title><link>http://a/q</link></textinput>"),
		 "M3tNews|Rhttp://a/ a News|Rhttp://a/1 i One|XOne|"},
		/* only authors have names */
		{ATOM("<name>No</name><contributor><name>Nor this</name></contributor>"
		      "<author><uri>http://b/</uri><name>Ann</name></author><title>T</title>"),
		 "M3tT|M1aAnn|"},
		/* Atom has no order */
		{ATOM("<entry><title>One</title><link href='1'/></entry><title>Late</title>"
		      "<link href='/'/>"),
		 "Rhttp://a/d/1 i One|M3tLate|Rhttp://a/ a Late|XOne|"},
		/* items outside of the channel, as in RSS 0.9 and 1.0, also in others */
		{"<rss><channel><title>T</title></channel><item><title>One</title>"
		 "<link>1</link></item></rss>",
		 "M3tT|Rhttp://a/d/1 i One|XOne|"},
		{"<rss><title>T</title><item><title>One</title><link>1</link></item></rss>",
		 "M3tT|Rhttp://a/d/1 i One|XOne|"},
		/* an item in an item is nothing */
		{ITEM("<title>One</title><link>1</link><item><title>Two</title><link>2</link>"
		      "</item>"),
		 "Rhttp://a/d/1 i One|XOne|"},
	};
	CHECK(cases);
}

static void links_are_relative_to_their_base(void **state)
{
	static const struct feed_case cases[] = {
		{"<feed xmlns='" ATOM_NS "' xml:base='http://b/x/'><link href='.'/><entry><link "
		 "href='1'/></entry></feed>",
		 "Rhttp://b/x/ a|Rhttp://b/x/1 i|"},
		{"<feed xmlns='" ATOM_NS "' xml:base='http://b/x/'><entry xml:base='y/'><link "
		 "xml:base='z/' href='1'/></entry><entry><link href='2'/></entry></feed>",
		 "Rhttp://b/x/y/z/1 i|Rhttp://b/x/2 i|"},
		/* relative to the feed's own address */
		{"<feed xmlns='" ATOM_NS "' xml:base='/r/'><entry xml:base='s'><link href='t'/>"
		 "</entry></feed>",
		 "Rhttp://a/r/t i|"},
		{"<feed xmlns='" ATOM_NS "' xml:base=''><entry><link href='t'/></entry></feed>",
		 "Rhttp://a/d/t i|"},
		{"<feed xmlns='" ATOM_NS "' xml:base='mailto:x'><entry><link href='t'/></entry>"
		 "</feed>",
		 "Rhttp://a/d/t i|"},
		{"<rss xml:base='http://b/'><channel xml:base='c/'><link>.</link><item><link "
		 "xml:base='d/'>1</link></item><item xml:base='e/'><guid>2</guid><enclosure "
		 "url='2.mp3' xml:base='f/'/></item></channel></rss>",
		 "Rhttp://b/c/ a|Rhttp://b/c/d/1 i|Ahttp://b/c/e/f/2.mp3 e|Rhttp://b/c/e/2 i|"},
		/* HTML, and elements with bases of their own */
		{"<feed xmlns='" ATOM_NS "' xml:base='http://b/'><entry><link href='1'/><content "
		 "type='html' xml:base='c/'>&lt;a href='x'>X&lt;/a>&lt;img src='/y.png'></content>"
		 "</entry></feed>",
		 "Rhttp://b/1 i|Rhttp://b/c/x a X|Ihttp://b/y.png g|XX|"},
		{ENTRY("<link href='1'/><content type='xhtml' xml:base='http://b/'><div "
		       "xmlns='" XHTML
		       "'><a href='x'>X</a><p xml:base='c/'><a href='y'>Y</a></p><a href='z'>Z</a>"
		       "</div></content>"),
		 "Rhttp://a/d/1 i|Rhttp://b/x a X|Rhttp://b/c/y a Y|Rhttp://b/z a Z|XX\nY\nZ|"},
		{ITEM("<link>1</link><description>&lt;base href='http://c/'>&lt;a href='x'>X&lt;/a>"
		      "</description>"),
		 "Rhttp://a/d/1 i|Rhttp://a/d/x a X|XX|"},
	};
	CHECK(cases);
}

static void a_feed_of_no_known_address_has_a_base_by_itself(void **state)
{
	assert_string_equal(run(*state, "", "application/xml",
				STR("<rss xml:base='http://b/'><item><link>1</link></item><item "
				    "xml:base='c/'><link>2</link></item></rss>"),
				"R"),
			    "Rhttp://b/1 i|Rhttp://b/c/2 i|");
}

/* Deeper ones do not count, and those that end make room. */
static void bases_inside_each_other_are_bounded(void **state)
{
	CLEANUP(buf_free) struct buf feed = BUF_INIT(1 << 20);
	struct run *r = *state;
	buf_add_text(&feed, "<feed><entry><link href='1'/><content type='xhtml'>");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++)
			buf_add_text(&feed, "<p xml:base='x/'>");
		for (int i = 0; i < 100; i++)
			buf_add_text(&feed, "</p>");
	}
	buf_add_text(&feed, "<a xml:base='y/' href='z'>Z</a></content></entry></feed>");
	assert_string_equal(run(r, "http://a/", "text/xml", buf_str(&feed), "RX"),
			    "Rhttp://a/1 i|Rhttp://a/y/z a Z|XZ|");
}

static void titles_are_text(void **state)
{
	static const struct feed_case cases[] = {
		/* elements in the middle of it */
		{RSS("<title>A <b>x</b> &amp; y</title>"), "M3tA x & y|"},
		{ATOM("<title>A <b>x</b> &amp; y</title>"), "M3tA x & y|"},
		{ATOM("<title type='xhtml'><div xmlns='" XHTML
		      "'>A <b>x</b> &amp; y</div></title>"),
		 "M3tA x & y|"},
		{ATOM("<title type='xhtml'><x:div xmlns:x='" XHTML "'>&lt;<x:i>b</x:i>&gt;</x:div>"
		      "</title>"),
		 "M3t<b>|"},
		/* escaped HTML */
		{RSS("<title>A &lt;b&gt;x&lt;/b&gt; &amp;amp; y</title>"), "M3tA x & y|"},
		{RSS("<title><![CDATA[A <b>x</b> &amp; y]]></title>"), "M3tA x & y|"},
		{ATOM("<title type='html'>A &lt;b&gt;x&lt;/b&gt; &amp;amp; y</title>"),
		 "M3tA x & y|"},
		{ATOM("<title type='html'><![CDATA[A <b>x</b> &amp; y]]></title>"), "M3tA x & y|"},
		{RSS("<title>caf&amp;eacute; &amp;#8217; &amp;#x2014;</title>"),
		 "M3tcaf\303\251 \342\200\231 \342\200\224|"},
		{ITEM("<title>&lt;a href='x'&gt;Read&lt;/a&gt; &lt;EM&gt;me&lt;/EM&gt;</title>"
		      "<link>1</link>"),
		 "Rhttp://a/d/1 i Read me|XRead me|"},
		/* what only looks a little like it, in RSS, which does not say */
		{RSS("<title>AT&amp;T</title>"), "M3tAT&T|"},
		{RSS("<title>4 &lt; 5 and 7 &gt; 6</title>"), "M3t4 < 5 and 7 > 6|"},
		{RSS("<title>The &lt;b&gt; element</title>"), "M3tThe <b> element|"},
		{RSS("<title>vector&lt;int&gt; and &lt;/int&gt;</title>"),
		 "M3tvector<int> and </int>|"},
		{RSS("<title>&amp;nosuch; &lt;b&gt;x&lt;/b&gt;</title>"), "M3t&nosuch; <b>x</b>|"},
		{RSS("<title>x &lt;</title>"), "M3tx <|"},
		{RSS("<title>x &amp;</title>"), "M3tx &|"},
		{RSS("<title>x &amp;#</title>"), "M3tx &#|"},
		{RSS("<title>x &lt;/</title>"), "M3tx </|"},
		{RSS("<title>x &lt;/b</title>"), "M3tx </b|"},
		/* Atom says */
		{ATOM("<title>AT&amp;amp;T &lt;b>x&lt;/b></title>"), "M3tAT&amp;T <b>x</b>|"},
		{ATOM("<title type='text'>a &lt;em&gt;b&lt;/em&gt;</title>"), "M3ta <em>b</em>|"},
		{ATOM("<title type='html'>2 &amp;lt; 3</title>"), "M3t2 < 3|"},
		{ATOM("<title type='TEXT/HTML; charset=x'>&lt;i>x&lt;/i></title>"), "M3tx|"},
		/* white space and lines */
		{RSS("<title>\n  A\n  title </title>"), "M3tA title|"},
		{RSS("<title>a&lt;br&gt;b&lt;/br&gt;</title>"), "M3ta b|"},
		{RSS("<title> </title><title>second</title><title>third</title>"), "M3tsecond|"},
		{ATOM("<title type='html'>&lt;script&gt;x()&lt;/script&gt;shown</title>"),
		 "M3tshown|"},
		{RSS("<title>The &lt;script&gt; and &lt;/script&gt; tags</title>"),
		 "M3tThe <script> and </script> tags|"},
		{RSS("<title>a&lt;title&gt;b&lt;/title&gt;c</title>"), "M3ta<title>b</title>c|"},
		{RSS("<title>&lt;time&gt;now&lt;/time&gt;</title>"), "M3tnow|"},
		{RSS("<title><!-- no -->a<?no no?>b</title>"), "M3tab|"},
	};
	CHECK(cases);
}

static void summaries_are_read_as_what_they_are(void **state)
{
	static const struct feed_case cases[] = {
		{ITEM("<link>1</link><description>&lt;p&gt;caf&amp;egrave; &amp;hearts;&lt;p&gt;two"
		      "&lt;script&gt;no()&lt;/script&gt;&lt;style&gt;p{}&lt;/style&gt;"
		      "</description>"),
		 "Rhttp://a/d/1 i|Xcaf\303\250 \342\231\245\ntwo|"},
		{ITEM("<link>1</link><description><![CDATA[1 < 2 &copy 2024<br>x<!-- no -->]]>"
		      "</description>"),
		 "Rhttp://a/d/1 i|X1 < 2 \302\251 2024\nx|"},
		{ITEM("<link>1</link><description>short</description><content:encoded>"
		      "&lt;b&gt;the long one&lt;/b&gt;</content:encoded>"),
		 "Rhttp://a/d/1 i|Xthe long one|"},
		/* what HTML says of a page is not said of the feed */
		{ITEM("<link>1</link><description>&lt;html lang=de&gt;&lt;title&gt;no&lt;/title&gt;"
		      "&lt;meta name=robots content=noindex&gt;&lt;meta name=keywords "
		      "content=no&gt;&lt;link rel=canonical href=/c&gt;&lt;h1&gt;Head&lt;/h1&gt;"
		      "&lt;time pubdate datetime=2001-01-01&gt;then&lt;/time&gt;</description>"),
		 "Rhttp://a/d/1 i|XHead\nthen|"},
		/* and what is open ends with its item */
		{RSS("<item><link>1</link><description>&lt;pre&gt;&lt;svg&gt;&lt;script&gt;no"
		     "</description></item><item><link>2</link><description>a\nb</description>"
		     "</item><item><link>3</link><description>&lt;a href=x&gt;open</description>"
		     "</item><item><title>last</title><link>4</link></item>"),
		 "Rhttp://a/d/1 i|Rhttp://a/d/2 i|Rhttp://a/d/3 i|Rhttp://a/d/x a open|"
		 "Rhttp://a/d/4 i last|Xa b\nopen\nlast|"},
		{ENTRY("<link href='1'/><summary>&lt;em&gt; is literal &amp;amp;</summary>"),
		 "Rhttp://a/d/1 i|X<em> is literal &amp;|"},
		{ENTRY("<link href='1'/><content type='text'>&lt;em&gt;x&lt;/em&gt;</content>"),
		 "Rhttp://a/d/1 i|X<em>x</em>|"},
		{ENTRY("<link href='1'/><content type='text/plain'>a &lt;b&gt;</content>"),
		 "Rhttp://a/d/1 i|Xa <b>|"},
		{ENTRY("<link href='1'/><content type='image/png'>iVBORw0KGgo=</content>"),
		 "Rhttp://a/d/1 i|"},
		{ENTRY("<link href='1'/><summary>words</summary><content type='application/pdf'>"
		       "JVBERi0xLjQKJcfsj6IKNSAwIG9iago8PC9MZW5ndGg=</content>"),
		 "Rhttp://a/d/1 i|Xwords|"},
		{ENTRY("<link href='1'/><content type='application/xml'><a xmlns='x'>one<b>two</b>"
		       "</a></content>"),
		 "Rhttp://a/d/1 i|Xone two|"},
		{ENTRY("<link href='1'/><content type='image/svg+xml'><svg "
		       "xmlns='http://www.w3.org/2000/svg'><text>drawn</text></svg></content>"),
		 "Rhttp://a/d/1 i|Xdrawn|"},
		{ENTRY("<link href='1'/><content type='xhtml'><div xmlns='" XHTML
		       "'><p>a &lt;b> &amp;amp; c</p><script>no()</script><br/>d</div></content>"),
		 "Rhttp://a/d/1 i|Xa <b> &amp; c\nd|"},
		{ENTRY("<link href='1'/><content type='xhtml'><div xmlns='" XHTML "'><a href='x' "
		       "rel='nofollow' title='\"&lt;\"'>t</a></div></content>"),
		 "Rhttp://a/d/1 i|Rhttp://a/d/x an t|Xt|"},
		{ENTRY("<link href='1'/><content src='http://b/c' type='video/mpeg'/>"),
		 "Rhttp://a/d/1 i|"},
		{ATOM("<subtitle type='html'>All &lt;b&gt;news&lt;/b&gt;</subtitle>"),
		 "M1dAll news|"},
		{ATOM("<subtitle>All &lt;b&gt;</subtitle>"), "M1dAll <b>|"},
		{ITEM("<link>1</link><body xmlns='" XHTML "'><p>in</p><p>line</p></body>"),
		 "Rhttp://a/d/1 i|Xin\nline|"},
		{ITEM("<link>1</link><description>mixed <p>in</p> &lt;i&gt;x&lt;/i&gt;"
		      "</description>"),
		 "Rhttp://a/d/1 i|Xmixed\nin\nx|"},
	};
	CHECK(cases);
}

static void atom_0_3_is_read(void **state)
{
#define OLD(inside) "<feed version='0.3' xmlns='http://purl.org/atom/ns#'>" inside "</feed>"
	static const struct feed_case cases[] = {
		{OLD("<title mode='escaped' type='text/html'>A &lt;b>x&lt;/b></title>"
		     "<tagline>Tag</tagline><modified>2004-01-02T00:00:00Z</modified>"
		     "<link rel='alternate' type='text/html' href='/'/>"),
		 "M3tA x|M1dTag|M0m1073001600|Rhttp://a/ a A x|"},
		{OLD("<entry><link rel='alternate' href='1'/><issued>2004-01-02</issued><content "
		     "mode='base64' type='text/plain'>d29yZHM=</content></entry>"),
		 "Rhttp://a/d/1 i@1073001600|"},
		{OLD("<entry><link href='1'/><content type='application/xhtml+xml' mode='xml'>"
		     "<div xmlns='" XHTML "'>a<br/>b</div></content></entry>"),
		 "Rhttp://a/d/1 i|Xa\nb|"},
		{OLD("<title mode='escaped'>A &lt;i>x&lt;/i></title>"), "M3tA x|"},
		{OLD("<title mode='escaped'>A &lt;x></title>"), "M3tA <x>|"},
	};
	CHECK(cases);
}

static void names_of_html_are_known_in_xml(void **state)
{
	static const struct feed_case cases[] = {
		{RSS("<title>caf&egrave; &hearts;&nbsp;&Auml;</title>"),
		 "M3tcaf\303\250 \342\231\245 \303\204|"},
		{ITEM("<link>1</link><description>&lt;p>na&iuml;ve&hellip;</description>"),
		 "Rhttp://a/d/1 i|Xna\303\257ve\342\200\246|"},
		{ATOM("<title>&lt;&LT;&AMP;amp;</title>"), "M3t<<&amp;|"},
		{ATOM("<title type='xhtml'><div xmlns='" XHTML
		      "'>&LT;b&GT; &AMP;amp;</div></title>"),
		 "M3t<b> &amp;|"},
		{"<article>caf&egrave; &nosuchname;&amp;</article>", "Xcaf\303\250 &|"},
		{"<!DOCTYPE rss PUBLIC '-//Netscape Communications//DTD RSS 0.91//EN' "
		 "'http://my.netscape.com/publish/formats/rss-0.91.dtd'><rss version='0.91'>"
		 "<channel><title>&copy; &nosuchname;x</title></channel></rss>",
		 "M3t\302\251 x|"},
		{"<!DOCTYPE rss [<!ENTITY own 'never'><!ENTITY deg 'no'>]><rss><channel><title>"
		 "a &own;b 4&deg;</title></channel></rss>",
		 "M3ta b 4\302\260|"},
		{"<!DOCTYPE rss SYSTEM 'file:///etc/passwd' [<!ENTITY % p SYSTEM "
		 "'file:///etc/passwd'>%p;<!ENTITY f SYSTEM 'file:///etc/passwd'>]><rss><channel>"
		 "<title>a&f;b&ouml;</title></channel></rss>",
		 "M3tab\303\266|"},
	};
	CHECK(cases);
}

static void names_go_by_namespace(void **state)
{
	static const struct feed_case cases[] = {
		{"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
		 "xmlns:rss='http://purl.org/rss/1.0/' xmlns:d='http://purl.org/dc/elements/1.1/' "
		 "xmlns:c='http://purl.org/rss/1.0/modules/content/'><rss:channel><rss:title>T"
		 "</rss:title><d:creator>Ann</d:creator></rss:channel><rss:item><rss:title>One"
		 "</rss:title><rss:link>http://a/1</rss:link><d:date>2024-05-06</d:date>"
		 "<c:encoded>&lt;p>text</c:encoded></rss:item></r:RDF>",
		 "M3tT|M1aAnn|Rhttp://a/1 i@1714953600 One|XOne\ntext|"},
		/* a prefix of another meaning */
		{"<rss xmlns:dc='http://www.itunes.com/dtds/podcast-1.0.dtd'><channel><dc:creator>"
		 "No</dc:creator><title>T</title></channel></rss>",
		 "M3tT|"},
		{"<rss xmlns:a10='" ATOM_NS "'><channel><title>T</title><item><a10:link href='1'/>"
		 "<a10:updated>2024-05-06</a10:updated><a10:content "
		 "type='text'>&lt;b></a10:content>"
		 "</item></channel></rss>",
		 "M3tT|Rhttp://a/d/1 i@1714953600|X<b>|"},
		{"<a:feed xmlns:a='" ATOM_NS "'><a:title>T</a:title><title>No</title><a:entry>"
		 "<a:title>One</a:title><a:link href='1'/></a:entry></a:feed>",
		 "M3tT|Rhttp://a/d/1 i One|XOne|"},
		/* nobody says what they are */
		{"<rss><channel><dc:creator>Ann</dc:creator><item><link>1</link><dc:date>2024-05-06"
		 "</dc:date><content:encoded>words</content:encoded></item></channel></rss>",
		 "M1aAnn|Rhttp://a/d/1 i@1714953600|Xwords|"},
		{"<x:feed><x:title>T</x:title><x:entry><x:link href='1'/></x:entry></x:feed>",
		 "M3tT|Rhttp://a/d/1 i|"},
		{"<feed xmlns='http://example.org/new'><title>T</title></feed>", "M3tT|"},
		/* not titles of items */
		{ITEM("<title xmlns='http://search.yahoo.com/mrss/'>No</title><itunes:title>No"
		      "</itunes:title><media:title>No</media:title><title "
		      "xmlns='http://example.org/other'>No</title><title>Yes</title>"
		      "<link>1</link>"),
		 "Rhttp://a/d/1 i Yes|XYes|"},
		{"<rss xmlns='http://backend.userland.com/rss2'><channel><title>T</title><item "
		 "xmlns=''><link>1</link></item></channel></rss>",
		 "M3tT|Rhttp://a/d/1 i|"},
		/* RSS 0.9 */
		{"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
		 "xmlns='http://my.netscape.com/rdf/simple/0.9/'><channel><title>T</title>"
		 "</channel><item><title>One</title><link>http://a/1</link></item></rdf:RDF>",
		 "M3tT|Rhttp://a/1 i One|XOne|"},
		{"<feed xmlns='http://example.org/new'><entry xmlns='http://example.org/new'>"
		 "<link href='1'/></entry></feed>",
		 "Rhttp://a/d/1 i|"},
		{"<feed xmlns='HTTPS://www.w3.org/2005/atom/'><entry xmlns='" ATOM_NS "'>"
		 "<link href='1'/></entry></feed>",
		 "Rhttp://a/d/1 i|"},
		/* a namespace ends with its element */
		{RSS("<x xmlns='http://example.org/x'><y/></x><title>T</title>"), "M3tT|"},
	};
	CHECK(cases);
}

static void dates_and_languages_have_one_form(void **state)
{
	static const struct feed_case cases[] = {
		{RSS("<lastBuildDate>Mon, 06 May 2024 10:11:12 GMT</lastBuildDate>"),
		 "M0m1714990272|"},
		{RSS("<lastBuildDate>Mon, 06 May 2024 10:11:12 GMT</lastBuildDate>"
		     "<pubDate>Sun, 05 May 2024 00:00:00 GMT</pubDate>"),
		 "M0m1714867200|"},
		{RSS("<lastBuildDate>never</lastBuildDate><pubDate>soon</pubDate><title>T</title>"),
		 "M3tT|"},
		{RSS("<lastBuildDate>Mon, 06 May 2024 10:11:12 GMT</lastBuildDate><item><link>1"
		     "</link><lastBuildDate>Mon, 06 May 2024 10:11:12 GMT</lastBuildDate></item>"),
		 "Rhttp://a/d/1 i|M0m1714990272|"},
		{RSS("<language>EN_us</language>"), "M0len-us|"},
		{RSS("<language> de-AT, en </language>"), "M0lde-at|"},
		{RSS("<language>not a language</language>"), ""},
		{RSS("<dc:language>fr</dc:language>"), "M0lfr|"},
		{"<feed xmlns='" ATOM_NS "' xml:lang='pt_BR'/>", "M0lpt-br|"},
		{"<rss><channel xml:lang='IT'/></rss>", "M0lit|"},
		{"<article xml:lang='EN_gb'>x</article>", "M0len-gb|Xx|"},
		{ENTRY("<link href='1'/><published>2024-05-06</published><updated>2024-05-07"
		       "</updated>"),
		 "Rhttp://a/d/1 i@1715040000|"},
	};
	CHECK(cases);
}

static void links_of_items_are_chosen(void **state)
{
	static const struct feed_case cases[] = {
		{ENTRY("<link rel='self' href='s'/><link rel='edit' href='e'/><link "
		       "rel='alternate' type='application/json' href='j'/><link rel='alternate' "
		       "type='text/html' href='h'/><link rel='alternate' href='i'/>"),
		 "Rhttp://a/d/h i|"},
		{ENTRY("<link type='application/pdf' href='p'/>"), "Rhttp://a/d/p i|"},
		{ENTRY("<link rel='http://www.iana.org/assignments/relation/alternate' href='h'/>"),
		 "Rhttp://a/d/h i|"},
		{ENTRY("<link rel='enclosure' href='e.mp3'/><link href='1'/>"),
		 "Ahttp://a/d/e.mp3 e|Rhttp://a/d/1 i|"},
		{ATOM("<link rel='next' href='?page=2'/>"), "Rhttp://a/d/feed?page=2 n|"},
		{ITEM("<link/><guid>http://a/g</guid>"), "Rhttp://a/g i|"},
		{ITEM("<guid isPermaLink='false'>http://a/g</guid><title>T</title>"), "XT|"},
		{ITEM("<guid>http://a/g</guid><link>http://a/l</link>"), "Rhttp://a/l i|"},
		{ITEM("<link>mailto:x@a</link><link>2</link>"), "Rhttp://a/d/2 i|"},
		{ITEM("<link>\n http://a/1?x=1&amp;y=2#part \n</link>"), "Rhttp://a/1?x=1&y=2 i|"},
		{ITEM("<link><![CDATA[http://a/1?x=1&y=2]]></link>"), "Rhttp://a/1?x=1&y=2 i|"},
		{ITEM("<link href='1'/>"), "Rhttp://a/d/1 i|"},
	};
	CHECK(cases);
}

/* The remark, which is the last of the M, is not looked at. */
static void a_torn_feed_keeps_what_was_read(void **state)
{
	static const struct feed_case cases[] = {
		{"<rss><channel><title>News</title><link>http://a/</link><descr",
		 "M3tNews|Rhttp://a/ a News|"},
		{"<rss><channel><title>News</title>", "M3tNews|"},
		{"<rss><channel><title>Half a ti", "M3tHalf a ti|"},
		{"<rss><channel><title>News</title><link>http://a/ha", "M3tNews|"},
		{"<rss><channel><title>News</title></oops>", "M3tNews|"},
		{"<feed xml:lang='en'><title type='html'>A &lt;b>x", "M3tA x|M0len|"},
		{"<rss><channel><title>N</title><item><title>One</title><link>1</link><descri",
		 "M3tN|Rhttp://a/d/1 i One|XOne|"},
		{"<rss><channel><title>N</title><item><title>One</title><link>http://a/on",
		 "M3tN|XOne|"},
		{"<rss><channel><title>N</title><item><link>1</link><description>&lt;p>so far",
		 "M3tN|Rhttp://a/d/1 i|Xso far|"},
		{"<rss><channel><title>N</title><item>", "M3tN|"},
		{"<rss><channel><lastBuildDate>Mon, 06 May 2024 10:11:12 GMT</lastBuildDate><i",
		 "M0m1714990272|"},
		{"<article><title>Half a ti", "M3tHalf a ti|XHalf a ti|"},
		{"<urlset><url><loc>http://a/1</loc><lastmod>20", "Rhttp://a/1 s|"},
		{"<urlset><url><loc>http://a/1", ""},
	};
	struct run *r = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		run(r, "http://a/d/feed", "application/xml", str_of(cases[i].feed), "");
		assert_true(r->result.remark.n > 0);
		size_t kept = 0;
		for (size_t k = 0; k < r->out.n; k++)
			if (!str_starts(r->out.attr[k].value, STR("0xXML: ")))
				r->out.attr[kept++] = r->out.attr[k];
		r->out.n = kept;
		assert_string_equal(run_show(r, "MRFIAX"), cases[i].answer);
	}
}

/* Cut at every byte: no link but those of the whole, and the title once it was there. */
static void a_feed_cut_anywhere_invents_nothing(void **state)
{
	static const char feed[] =
		"<feed xmlns='" ATOM_NS "' xml:base='http://b/'><title type='html'>A &lt;b>x&lt;/b>"
		"</title><link href='.'/><entry><title>One</title><link href='1'/><content "
		"type='xhtml'><div xmlns='" XHTML "'><a href='/in'>in</a></div></content></entry>"
		"<entry xml:base='c/'><link href='2'/></entry></feed>";
	static const char *const links[] = {"http://b/ a A x",  "http://b/1 i One",
					    "http://b/in a in", "http://b/in a i",
					    "http://b/in a",    "http://b/c/2 i"};
	struct run *r = *state;
	for (size_t n = 0; n < sizeof feed; n++) {
		run(r, "http://a/", "application/atom+xml", (struct str){feed, n}, "");
		for (size_t i = 0; i < r->out.n; i++) {
			size_t k = 0;
			while (k < ARRAY_LEN(links) && !str_is(r->out.attr[i].value, links[k]))
				k++;
			if (r->out.attr[i].name == 'R' && k == ARRAY_LEN(links))
				fail_msg("cut after %zu: " STR_FMT, n,
					 STR_ARG(r->out.attr[i].value));
		}
		if (feed + n >= strstr(feed, "</title>"))
			assert_non_null(strstr(run_show(r, "M"), "M3tA x|"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_children_of_their_feed_or_item),
		cmocka_unit_test(links_are_relative_to_their_base),
		cmocka_unit_test(a_feed_of_no_known_address_has_a_base_by_itself),
		cmocka_unit_test(bases_inside_each_other_are_bounded),
		cmocka_unit_test(titles_are_text),
		cmocka_unit_test(summaries_are_read_as_what_they_are),
		cmocka_unit_test(atom_0_3_is_read),
		cmocka_unit_test(names_of_html_are_known_in_xml),
		cmocka_unit_test(names_go_by_namespace),
		cmocka_unit_test(dates_and_languages_have_one_form),
		cmocka_unit_test(links_of_items_are_chosen),
		cmocka_unit_test(a_torn_feed_keeps_what_was_read),
		cmocka_unit_test(a_feed_cut_anywhere_invents_nothing),
	};
	return cmocka_run_group_tests(tests, run_setup, run_teardown);
}
