/* Small pages as they are found: what of them is text, and what counts in it. */
#include "unit/extract/html_page.h"

static void white_space_is_what_a_reader_sees(void **state)
{
	static const struct page pages[] = {
		P("", ""),
		P("plain words", "Xplain words\n"),
		P("fifteen letters <b>", "Xfifteen letters\n"),
		P("fifteen letters \n more", "Xfifteen letters more\n"),
		P("fifteen letters &nbsp;more", "Xfifteen letters more\n"),
		P("  one \n\t two\r\n three ", "Xone two three\n"),
		P("<p>one</p><p>two</p>", "Xone/two\n"),
		P("<p>one<p>two<p>three", "Xone/two/three\n"),
		P("a<b>b</b>c <i>d</i> e", "M1eb\n"
					   "M1ed\n"
					   "Xabc d e\n"),
		P("one<br>two<br/>three</br>four", "Xone/two/three/four\n"),
		P("<div>one<div>two</div>three</div>", "Xone/two/three\n"),
		P("a&nbsp;b&nbsp; &nbsp;c", "Xa b c\n"),
		P("co&shy;op un\302\255der zero&#8203;width", "Xcoop under zerowidth\n"),
		P("wide&#12288;blank&emsp;em&thinsp;thin", "Xwide blank em thin\n"),
		P("<pre>\nline 1\n  line 2\n\nline 3</pre>after\nit",
		  "Xline 1/line 2/line 3/after it\n"),
		P("<textarea>\n a &lt;b&gt;\n<i>c</textarea>d", "Xa <b>/<i>c d\n"),
		P("<ul><li>one<li>two</ul>three", "Xone/two/three\n"),
		P("<dl><dt>term<dd>meaning<dt>next</dl>", "Xterm/meaning/next\n"),
		P("<table><tr><td>a<td>b<tr><th>c<td>d</table>e", "Xa/b/c/d/e\n"),
		P("<span>a</span><span>b</span> <span> c </span>", "Xab c\n"),
		P("<p>  </p><p> x </p>  <p></p>", "Xx\n"),
		P("a<hr>b<!-- c -->d<!-->e", "Xa/bde\n"),
		P("a\013b\014c\001d&#0;e&#13;f", "Xa b c d\357\277\275e f\n"),
		P("word<wbr>break", "Xwordbreak\n"),
		P("1<img src=x.png>2<input value=3>4<button>5</button>6", "I~/d/x.png g\n"
									  "X1 2 4 5 6\n"),
		P("<select><option>red<option>green</select>", "Xred/green\n"),
		P("\346\227\245\346\234\254\343\201\256 \343\200\200\350\252\236",
		  "X\346\227\245\346\234\254\343\201\256 \350\252\236\n"),
		P("<center>x</center><h1>y</h1>z", "M21y\n"
						   "Xx/y/z\n"),
		P("a<xyzzy>b</xyzzy>c", "Xabc\n"),
		P("<q>quoted</q> <sub>sub</sub><sup>sup</sup>", "Xquoted subsup\n"),
		P("<ruby>\346\274\242<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>",
		  "X\346\274\242kan\n"),
		P("<listing>a\nb</listing><xmp><b>c</b>\nd</xmp>e", "Xa/b/<b>c</b>/d/e\n"),
		P("x<plaintext>y</plaintext><b>z", "Xx/y</plaintext><b>z\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void entities_come_in_all_states(void **state)
{
	static const struct page pages[] = {
		P("AT&T &amp; R&D &copy 2024 &copy; &lt;tag&gt;",
		  "XAT&T & R&D \302\251 2024 \302\251 <tag>\n"),
		P("caf&eacute &Eacute;t&eacute; na&iumlve",
		  "Xcaf\303\251 \303\211t\303\251 na\303\257ve\n"),
		P("&#8220;quoted&#8221; &#147;old&#148; &#x2014;",
		  "X\342\200\234quoted\342\200\235 \342\200\234old\342\200\235 \342\200\224\n"),
		P("if (a &lt b &amp;&amp; c &gt d)", "Xif (a < b && c > d)\n"),
		P("<a href='?a=1&amp;b=2&copy=3&lang=en'>q</a>",
		  "R~/d/p.html?a=1&b=2&copy=3&lang=en a q\n"
		  "Xq\n"),
		P("<img alt='Tom &amp; Jerry &lt;3' src=t.gif>", "M0iTom & Jerry <3\n"
								 "I~/d/t.gif g\n"),
		P("<title>A &amp; B &mdash; C</title>", "M3tA & B \342\200\224 C\n"),
		P("&nosuch; &; &# &#x &amp", "X&nosuch; &; &# &#x &\n"),
		P("&notit; &hearts; &Hat;", "X\302\254it; \342\231\245 ^\n"),
		P("<p title=\"&quot;\">&quot;&apos;&NewLine;&Tab;x", "X\"' x\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void broken_nesting_is_read_through(void **state)
{
	static const struct page pages[] = {
		P("<b><i>a</b>b</i>c", "M1eab\n"
				       "Xabc\n"),
		P("<p><b>one<p>two</b>three", "M1eone two\n"
					      "Xone/twothree\n"),
		P("<a href=1>one<a href=2>two</a>three</a>", "R~/d/1 a one\n"
							     "R~/d/2 a two\n"
							     "Xonetwothree\n"),
		P("<h1>One<h2>Two</h1>three</h2>four", "M21One\n"
						       "M22Two\n"
						       "XOne/Two/three/four\n"),
		P("</p></div></b>text</a></title>", "Xtext\n"),
		P("<table><b>x</b><tr>y</table>", "M1ex\n"
						  "Xx/y\n"),
		P("<div><span>a</div>b</span>", "Xa/b\n"),
		P("<a href=x>link <b>bold</a> after</b>", "R~/d/x a link bold\n"
							  "M1ebold after\n"
							  "Xlink bold after\n"),
		P("<ul><li><a href=1>a<li><a href=2>b</ul>c", "R~/d/1 a a\n"
							      "R~/d/2 a b c\n"
							      "Xa/b/c\n"),
		P("<font><b>x</font>y</b>", "M1exy\n"
					    "Xxy\n"),
		P("<h1><a href=x>T</a></h2>rest", "R~/d/x a T\n"
						  "M21T\n"
						  "XT/rest\n"),
		P("<strong>a<em>b</strong>c</em>d", "M1eabc\n"
						    "Xabcd\n"),
		P("<p><h3>x</p></h3>y", "M13x\n"
					"Xx/y\n"),
		P("<title>T</head><body>b</title>x", "M3tT</head><body>b\n"
						     "Xx\n"),
		P("<li>lone item<td>lone cell", "Xlone item/lone cell\n"),
		P("<body><body><html><p>x</html>y", "Xx/y\n"),
		P("<form><form action=a><p>x</form>y", "R~/d/a f\n"
						       "Xx/y\n"),
		P("text <unclosed href='x", "Xtext\n"),
		P("a <b attr='x>y</b> z'>w", "M1ew\n"
					     "Xa w\n"),
		P("<p a='1' <p b='2'>x", "Xx\n"),
		P("<<p>>x<</p>>", "X</>x</>\n"),
		P("a</ b>c< d>e", "Xac< d>e\n"),
		P("<a href=x>text", "R~/d/x a text\n"
				    "Xtext\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void what_is_hidden_is_left_out(void **state)
{
	static const struct page pages[] = {
		P("a<script>var x = '<p>no</p>';</script>b", "Xab\n"),
		P("a<script><!-- if (a</script>b", "Xab\n"),
		P("a<script><!--<script>x</script>y--></script>b", "Xab\n"),
		P("a<style>p { color: red }</style>b", "Xab\n"),
		P("a<template><p>no <a href=t>no</a></p></template>b", "Xab\n"),
		P("a<template>x<template>y</template>z</template>b", "Xab\n"),
		P("a<noscript><p>no <a href=n>no</a></noscript>b", "Xab\n"),
		NOSCRIPT("a<noscript><p>yes <a href=n>yes</a></noscript>b", "R~/d/n a yes\n"
									    "Xa/yes yesb\n"),
		P("a<div hidden>no <a href=h>no</a><div>no</div>no</div>b", "R~/d/h a\n"
									    "Xa/b\n"),
		P("a<p hidden>no<p>yes", "Xa/yes\n"),
		P("a<p hidden>no<b>no</b><br>no</p>yes", "Xa/yes\n"),
		P("<div><p hidden>no</div>yes", "Xyes\n"),
		P("<ul><li hidden>no<ul><li>no</ul>no<li>yes</ul>yes", "Xyes/yes\n"),
		P("<ul><li hidden>no</ul>yes", "Xyes\n"),
		P("<table><tr><td hidden>no<td>yes<tr hidden><td>no<table><tr><td>no</table>no<tr>"
		  "<td>yes</table>",
		  "Xyes/yes\n"),
		P("<dl><dt hidden>no<dd>yes</dl>", "Xyes\n"),
		P("<select><option hidden>no<option>yes</select>", "Xyes\n"),
		P("<my-thing hidden>no<my-thing>no</my-thing>no</my-thing>yes", "Xyes\n"),
		P("<span hidden=\"\">no</span>yes<input hidden>yes", "Xyes yes\n"),
		P("a<iframe src=f.html>no <b>no</b></iframe>b", "F~/d/f.html w\n"
								"Xa b\n"),
		P("a<video src=v.mp4 poster=p.png>no support</video>b<audio src=a.ogg>no</audio>"
		  "<canvas>no</canvas>",
		  "I~/d/p.png g\n"
		  "A~/d/v.mp4 e\n"
		  "A~/d/a.ogg e\n"
		  "Xa b\n"),
		P("a<datalist><option>no</datalist>b", "Xab\n"),
		P("a<dialog>no</dialog><dialog open>yes</dialog>", "Xa/yes\n"),
		P("a<noframes>no</noframes><noembed>no</noembed>b", "Xab\n"),
		P("<div hidden><script>'</div>'</script>no</div>yes", "Xyes\n"),
		P("a<title>no</title>b", "M3tno\n"
					 "Xab\n"),
		P("a<script src=x />still script</script>b", "Xab\n"),
		P("<h1 hidden>no</h1>yes", "Xyes\n"),
		P("<b hidden>no</b>yes <i>i</i>", "M1ei\nXyes i\n"),
		P("<pre hidden>no\nno</pre>a\nb", "Xa b\n"),
		P("<a hidden href=h>no</a>yes", "R~/d/h a\nXyes\n"),
		P("<head><title>T</title><script>x</script><style>y</style></head>z", "M3tT\n"
										      "Xz\n"),
		P("<object data=o.swf>fallback</object>", "A~/d/o.swf e\n"
							  "Xfallback\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void foreign_content_is_no_page_of_its_own(void **state)
{
	static const struct page pages[] = {
		P("<title>T</title><svg><title>icon</title><text>drawn</text></svg>x",
		  "M3tT\n"
		  "Xdrawn x\n"),
		P("<svg><style>p{}</style><script>no</script><desc>no</desc><g><text>a</text>"
		  "<text>b</text></g></svg>c",
		  "Xa b c\n"),
		P("<svg><script/><text>a</text></svg>b", "Xa b\n"),
		P("<svg><![CDATA[<b>]]></svg><![CDATA[no]]>x", "X<b> x\n"),
		P("<svg><text>a<p>b</p>c", "Xa/b/c\n"),
		P("<svg><foreignObject><p>a<title>T</title></p></foreignObject><title>no</title>"
		  "</svg>b",
		  "M3tT\n"
		  "Xa/b\n"),
		P("<svg><title>no</svg>yes", "Xyes\n"),
		P("<svg><title>no<title/>no</title><text>yes</text></svg>", "Xyes\n"),
		P("<svg><desc>no<p>yes", "Xyes\n"),
		P("<svg hidden><text>no</text><script/></svg>yes", "Xyes\n"),
		P("<div hidden><svg><script/><title>no</svg>no</div>yes", "Xyes\n"),
		P("<svg/><title>T</title>x", "M3tT\n"
					     "Xx\n"),
		P("<svg><a xlink:href=s.html><text>go</text></a><image href=i.png /></svg>",
		  "R~/d/s.html a go\n"
		  "I~/d/i.png g\n"
		  "Xgo\n"),
		P("<math><mi>x</mi><mo>=</mo><mn>1</mn></math>!", "Xx=1!\n"),
		P("<svg><svg></svg><title>no</title></svg><title>yes</title>", "M3tyes\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void weights_go_to_titles_headings_and_emphasis(void **state)
{
	static const struct page pages[] = {
		P("<title> The\n Title </title><h1>Head <em>ing</em></h1>text", "M3tThe Title\n"
										"M21Head ing\n"
										"XHead ing/text\n"),
		P("<h1>a</h1><h2>b</h2><h3>c</h3><h4>d</h4><h5>e</h5><h6>f</h6><h7>g</h7>",
		  "M21a\n"
		  "M22b\n"
		  "M13c\n"
		  "M14d\n"
		  "M15e\n"
		  "M16f\n"
		  "Xa/b/c/d/e/f/g\n"),
		P("<b>a</b> <strong>b</strong> <em>c</em> <i>d</i> <mark>e</mark> <dfn>f</dfn> <u>g"
		  "</u>",
		  "M1ea\n"
		  "M1eb\n"
		  "M1ec\n"
		  "M1ed\n"
		  "M1ee\n"
		  "M1ef\n"
		  "Xa b c d e f g\n"),
		P("<b>a <i>b</i> c</b> d", "M1ea b c\n"
					   "Xa b c d\n"),
		P("<title></title><title>second</title>", "M3tsecond\n"),
		P("<title>first</title><title>second</title>", "M3tfirst\n"),
		P("<meta property='og:title' content='Og'><p>x", "M3tOg\n"
								 "Xx\n"),
		P("<meta property='og:title' content='Og'><title>Own</title>", "M3tOwn\n"),
		P("<title>no end", "M3tno end\n"),
		P("<h1></h1><b></b><h2> </h2>x", "Xx\n"),
		P("<h2>open heading<p>text", "M22open heading text\n"
					     "Xopen heading/text\n"),
		P("<b>open emphasis<p>text", "M1eopen emphasis text\n"
					     "Xopen emphasis/text\n"),
		P("<img alt='A picture' src=a.png> <img alt='' src=b.png><img alt=' '>",
		  "M0iA picture\n"
		  "I~/d/a.png g\n"
		  "I~/d/b.png g\n"),
		P("<h1>T<small>s</small><br>u</h1>", "M21Ts u\n"
						     "XTs/u\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

static void old_and_odd_pages(void **state)
{
	static const struct page pages[] = {
		P("<HTML><HEAD><TITLE>Old</TITLE></HEAD><BODY BGCOLOR=#FFFFFF><CENTER>"
		  "<FONT SIZE=+2>Hi</FONT></CENTER></BODY></HTML>",
		  "M3tOld\n"
		  "XHi\n"),
		P("<html><head><title>Frames</title></head><frameset cols='20%,*'>"
		  "<frame src=toc.html><frame src=main.html><noframes><body>old "
		  "<a href=nf.html>browser</a></body></noframes></frameset></html>",
		  "M3tFrames\n"
		  "F~/d/toc.html w\n"
		  "F~/d/main.html w\n"),
		NOSCRIPT("<html><frameset><frame src=a><noframes>old <a href=nf>b</a></noframes>"
			 "</frameset>",
			 "F~/d/a w\n"
			 "R~/d/nf a b\n"
			 "Xold b\n"),
		P("<?xml version='1.0' encoding='utf-8'?>"
		  "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x.dtd'>"
		  "<html xmlns='http://www.w3.org/1999/xhtml' lang='en'><head><title>X</title>"
		  "</head><body><p>y<br />z</p></body></html>",
		  "M0len\n"
		  "M3tX\n"
		  "Xy/z\n"),
		XHTML("<html><head><title>X</title><script src='a.js'/></head><body><a href='y'/>z"
		      "<![CDATA[<raw>]]></body></html>",
		      "M3tX\n"
		      "R~/d/y a\n"
		      "Xz<raw>\n"),
		P("\357\273\277<!doctype html><p>bom", "Xbom\n"),
		P("<p class=a class=b id=1 onclick=\"alert('<p>')\" data-x='</p>'>x", "Xx\n"),
		P("<a href=\"unterminated>one</a><a href=\"two\">2</a>",
		  "R~/d/unterminated%3Eone%3C/a%3E%3Ca%20href= a 2\n"
		  "X2\n"),
		P("<![if IE]>ie<![endif]><!--[if IE]><p>no</p><![endif]-->yes", "Xieyes\n"),
		P("<%= asp %>x<?php echo '<b>' ?>y", "X<%= asp %>x' ?>y\n"),
		P("<o:p>&nbsp;</o:p><p class=MsoNormal>Word<o:p></o:p></p>", "XWord\n"),
		P("<nobr>a</nobr><blink>b</blink><marquee>c</marquee>", "Xabc\n"),
		P("<p>1 < 2 and 3 > 2</p>", "X1 < 2 and 3 > 2\n"),
		P("<a\nhref\n=\n'x.html'\n>multi\nline</a\n>", "R~/d/x.html a multi line\n"
							       "Xmulti line\n"),
		P("<p>a\000b<ti\000tle>c", "Xabc\n"),
		P("<dl compact><dt>a<dt>b<dd>c</dl><menu><li>m</menu><dir><li>d</dir>",
		  "Xa/b/c/m/d\n"),
		P("<html><body><p>x</body></html><p>after<a href=late>late</a>",
		  "R~/d/late a late\n"
		  "Xx/afterlate\n"),
		P("<script>document.write('<a href=\"js.html\">x</a>')</script><a href=real>r</a>",
		  "R~/d/real a r\n"
		  "Xr\n"),
		P("<style><!-- p {} --></style><p>x", "Xx\n"),
		P("<isindex prompt='q'><p>x", "Xx\n"),
		P("<layer src=l.html>x</layer><ilayer>y</ilayer>", "Xxy\n"),
		P("<spacer><keygen>x<command>y", "Xxy\n"),
		P("<address>A<br>B</address><blockquote>C</blockquote><fieldset><legend>D</legend>E"
		  "</fieldset>",
		  "XA/B/C/D/E\n"),
		P("<details><summary>S</summary>D</details><figure><img src=f alt=F><figcaption>C"
		  "</figcaption></figure>",
		  "M0iF\n"
		  "I~/d/f g\n"
		  "XS/D/C\n"),
		P("<p>x<!-- unterminated <p>y", "Xx\n"),
		P("<p>x<!doctype html>y</p>", "Xxy\n"),
		P("<p>x</p>\n\n<!-- --> \n<p>y</p>", "Xx/y\n"),
		P("<td>cell</td><tr>row</tr><caption>cap</caption>", "Xcell/row/cap\n"),
		P("<label>L <input type=text value=v></label><output>o</output>", "XL o\n"),
		P("<a href=x><div>block in a</div></a><a href=y><h2>Head</h2>text</a>",
		  "R~/d/x a block in a\n"
		  "M22Head\n"
		  "R~/d/y a Head text\n"
		  "Xblock in a/Head/text\n"),
		P("<button><a href=x>in button</a></button><nav><ul><li><a href=n1>N1</a></li><li>"
		  "<a href=n2>N2</a></li></ul></nav>",
		  "R~/d/x a in button\n"
		  "R~/d/n1 a N1\n"
		  "R~/d/n2 a N2\n"
		  "Xin button/N1/N2\n"),
	};
	(void)state;
	check_pages(pages, ARRAY_LEN(pages));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(white_space_is_what_a_reader_sees),
		cmocka_unit_test(entities_come_in_all_states),
		cmocka_unit_test(broken_nesting_is_read_through),
		cmocka_unit_test(what_is_hidden_is_left_out),
		cmocka_unit_test(foreign_content_is_no_page_of_its_own),
		cmocka_unit_test(weights_go_to_titles_headings_and_emphasis),
		cmocka_unit_test(old_and_odd_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
