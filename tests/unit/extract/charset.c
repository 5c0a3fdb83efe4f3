#include "extract/charset.h"

#include "../unit.h"

static int setup(void **state)
{
	*state = charset_new();
	return 0;
}

static int teardown(void **state)
{
	struct charset *c = *state;
	charset_free(&c);
	return 0;
}

/* The whole document in UTF-8. */
static uint64_t decode(struct charset *c, struct str body, const char *name, struct buf *out)
{
	struct charset_pieces it;
	struct charset_choice choice = {.name = name};
	struct str piece;
	size_t before = 0;
	buf_clear(out);
	charset_begin(&it, c, body, &choice);
	while (charset_next(&it, &piece) == 0) {
		assert_true(piece.n > 0 && piece.n <= CHARSET_PIECE && str_utf8(piece));
		assert_true(it.at >= before && it.at < body.n);
		before = it.at;
		buf_add_str(out, piece);
	}
	return it.bad;
}

static void bytes_of_many_charsets_become_utf8(void **state)
{
	static const struct {
		const char *charset;
		struct str bytes;
		const char *text;
		uint64_t bad;
	} cases[] = {
		{"utf-8", STR("plain"), "plain", 0},
		{"utf-8", STR("na\xc3\xafve"), "na\xc3\xafve", 0},
		{"utf-8",
		 STR("a\xff"
		     "b"),
		 "a\xef\xbf\xbd"
		 "b",
		 1},
		{"utf-8", STR("a\xe2\x82"), "a\xef\xbf\xbd", 1},
		{"utf-8", STR("\xe2\x82\x41"),
		 "\xef\xbf\xbd"
		 "A",
		 1},
		{"utf-8", STR("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3},
		{"utf-8", STR("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd", 2},
		{"utf-8", STR("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80", 0},
		{"utf-8", STR("\xf4\x90\x80\x80"),
		 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 4},
		{"windows-1252", STR("\x80 \x93x\x94 \xe9 \x81"),
		 "\xe2\x82\xac \xe2\x80\x9cx\xe2\x80\x9d \xc3\xa9 \xc2\x81", 0},
		{"iso-8859-2", STR("\xe8\xe9\xf8"), "\xc4\x8d\xc3\xa9\xc5\x99", 0},
		{"windows-1251", STR("\xcf\xf0\xe8\xe2\xe5\xf2"),
		 "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82", 0},
		{"koi8-r", STR("\xf0\xd2\xc9\xd7\xc5\xd4"),
		 "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82", 0},
		{"windows-1258", STR("\xd2"), "\xcc\x89", 0},
		{"windows-874", STR("\xa1\xdb"), "\xe0\xb8\x81\xef\xbf\xbd", 1},
		{"shift_jis", STR("\x93\xfa\x96\x7b"), "\xe6\x97\xa5\xe6\x9c\xac", 0},
		{"euc-jp", STR("\xc6\xfc\xcb\xdc"), "\xe6\x97\xa5\xe6\x9c\xac", 0},
		{"iso-2022-jp", STR("\x1b$BF|K\\\x1b(B."), "\xe6\x97\xa5\xe6\x9c\xac.", 0},
		{"gbk", STR("\xd6\xd0\xce\xc4"), "\xe4\xb8\xad\xe6\x96\x87", 0},
		{"big5", STR("\xa4\xa4\xa4\xe5"), "\xe4\xb8\xad\xe6\x96\x87", 0},
		{"euc-kr", STR("\xc7\xd1"), "\xed\x95\x9c", 0},
		{"shift_jis", STR("a\x93"), "a\xef\xbf\xbd", 1},
		{"utf-16le", STR("h\0i\0=\xd8\0\xde"), "hi\xf0\x9f\x98\x80", 0},
		{"utf-16be", STR("\0h\0i"), "hi", 0},
		{"utf-16le", STR("h\0\x3d\xd8i\0"), "h\xef\xbf\xbdi", 1},
		{"utf-16le", STR("h\0i"), "h\xef\xbf\xbd", 1},
	};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t bad = decode(*state, cases[i].bytes, cases[i].charset, &out);
		assert_string_equal(buf_text(&out), cases[i].text);
		assert_int_equal(bad, cases[i].bad);
	}
}

/* What of bytes that mean nothing is put back, by the Encoding Standard: ~ stands for U+FFFD. */
static void bad_bytes_take_no_others_with_them(void **state)
{
	static const struct {
		const char *charset;
		struct str bytes;
		const char *text;
	} cases[] = {
		{"big5", STR("\x81\"\x81\xff\x80\xff\xa4"), "~\"~~~~"},
		{"big5", STR("\x88\x62\x88\xa5\xc6\xa1"), "\u00ca\u0304\u00ea\u030c\u2460"},
		{"big5", STR("\x87\x45\xf9\xd6"), "\U00027267\u7881"},
		{"euc-kr", STR("\x80\xff\xb0<\xb0\xa1\xc9\xa1\xa2\xe6"), "~~~<\uac00~\u20ac"},
		{"euc-jp", STR("\x8e<\x8f<\x8f\xa1<\x8f\xb0\xa1\x8e\xb1"), "~<~<~<\u4e02\uff71"},
		{"euc-jp", STR("\x8f\xa1\n\xa1\xa1\x8f\xa1"), "~\n\u3000~"},
		{"euc-jp", STR("\xfc\xe2\xad\xe2\xad\xa1\x80\xa0"), "\u9ad9\u2116\u2460~~"},
		{"shift_jis", STR("\x80\xa0\xfd\x81\"\x81\x7f\xb1\xf0\x40"),
		 "\xc2\x80~~~\"~\x7f\uff71\ue000"},
		{"shift_jis", STR("\xfb\xfc\x87\x82\x81\x7e\\~"), "\u9ad9\u2116\u00d7\\~"},
		{"gbk", STR("\x80\xff\x81<\xa2\xe3\xa8\xbc\xa3\xa0"),
		 "\u20ac~~<\u20ac\u1e3f\u3000"},
		{"gb18030", STR("\x81\x30\x81<\x81\x30<\x81\x30\x81"), "~0~<~0<~"},
		{"gb18030", STR("\x84\x31\xa5\x30\x90\x30\x81\x30\x84\x31\xa4\x40"),
		 "~\U00010000~1\ue5e6"},
		{"gb18030", STR("\x81\x35\xf4\x37\x81\x36\xa5\x31\xe3\x32\x9a\x36"),
		 "\ue7c7\u200f~"},
		{"iso-2022-jp", STR("\x0e\x80\x1b$B\x1b(Ba\x1b("), "~~~a~("},
		{"iso-2022-jp", STR("\x1b(J\\~\x1b(I1`\x1b$@0!\x1b(J!"),
		 "\u00a5\u203e\uff71~\u4e9c!"},
		{"iso-2022-jp", STR("\x1b$B0\x1b(B0\x1b$B0\n0!\x1b$"), "~0~\u4e9c~~"},
		{"iso-2022-jp", STR("\x1b$B\x1b$\x1b(Ba"), "~~a"},
		{"koi8-u", STR("\xae\xbe\xa4"), "\u045e\u040e\u0454"},
		{"macintosh", STR("\xdb\xf0\xbd"), "\u20ac\uf8ff\u03a9"},
		{"windows-1255", STR("\xca\xd9\x80"), "\u05ba~\u20ac"},
		{"x-mac-cyrillic", STR("\xa2\xff"), "\u0490\u20ac"},
		{"x-user-defined", STR("a\x80\xff"), "a\uf780\uf7ff"},
		{"replacement", STR("<p>any"), "~"},
		{"utf-16le", STR("\x3d\xd8x"), "~"},
		{"utf-16be", STR("\xd8\x3d\xdc\xdc"), "\U0001f4dc"},
		{"utf-16be", STR("\xd8\x3d\0a\xdc\0"), "~a~"},
	};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_free) struct buf shown = BUF_INIT(1 << 10);
		uint64_t bad = decode(*state, cases[i].bytes, cases[i].charset, &out);
		for (struct str rest = buf_str(&out); rest.n;) {
			bool none = str_starts(rest, STR("\xef\xbf\xbd"));
			bad -= none;
			buf_add_str(&shown, none ? STR("~") : str_head(rest, 1));
			rest = str_from(rest, none ? 3 : 1);
		}
		assert_string_equal(buf_text(&shown), cases[i].text);
		assert_int_equal(bad, 0);
	}
}

/* The end of a piece falls inside a character, after it, and before it. */
static void characters_are_whole_at_the_ends_of_pieces(void **state)
{
	static char body[3 * CHARSET_PIECE];
	CLEANUP(buf_free) struct buf out = BUF_INIT(8 << 20);
	static const char euro[3] = {(char)0xe2, (char)0x82, (char)0xac};
	for (size_t shift = 0; shift < 3; shift++) {
		size_t n = shift;
		memset(body, 'x', shift);
		for (; n + 3 <= sizeof body; n += 3)
			memcpy(body + n, euro, 3);
		assert_int_equal(decode(*state, (struct str){body, n}, "utf-8", &out), 0);
		assert_int_equal(out.n, n);
		assert_memory_equal(out.p, body, n);
	}
}

static void long_documents_of_bad_bytes_lose_none(void **state)
{
	static char body[CHARSET_PIECE + 100];
	CLEANUP(buf_free) struct buf out = BUF_INIT(8 << 20);
	memset(body, 0xff, sizeof body);
	assert_int_equal(decode(*state, (struct str){body, sizeof body}, "utf-8", &out),
			 sizeof body);
	assert_int_equal(out.n, 3 * sizeof body);
	memset(body, 0x80, sizeof body); /* the euro sign: three bytes of each */
	assert_int_equal(decode(*state, (struct str){body, sizeof body}, "windows-1252", &out), 0);
	assert_int_equal(out.n, 3 * sizeof body);
}

/* Each piece can be made again from the bytes between its offset and the next one. */
static void pieces_know_where_they_come_from(void **state)
{
	static char body[4 * CHARSET_PIECE];
	CLEANUP(buf_free) struct buf again = BUF_INIT(8 << 20);
	CLEANUP(buf_free) struct buf whole = BUF_INIT(8 << 20);
	struct charset_pieces it;
	struct charset_choice choice = {.name = "windows-1252"};
	struct str piece;
	size_t at[64], n = 0;
	for (size_t i = 0; i < sizeof body; i++)
		body[i] = (char)(i % 7 == 0 ? 0xe9 : 'a' + (char)(i % 26));
	charset_begin(&it, *state, (struct str){body, sizeof body}, &choice);
	while (charset_next(&it, &piece) == 0) {
		at[n++] = it.at;
		buf_add_str(&whole, piece);
	}
	at[n] = sizeof body;
	for (size_t i = 0, from = 0; i < n; i++, from += again.n) {
		decode(*state, (struct str){body + at[i], at[i + 1] - at[i]}, "windows-1252",
		       &again);
		assert_memory_equal(again.p, whole.p + from, again.n);
	}
	assert_true(n >= 4);
}

static void valid_utf8_is_passed_where_it_lies(void **state)
{
	static const struct str body = {"p\xc3\xa5 norsk", 9};
	struct charset_pieces it;
	struct charset_choice choice = {.name = "utf-8"};
	struct str piece;
	charset_begin(&it, *state, body, &choice);
	assert_int_equal(charset_next(&it, &piece), 0);
	assert_ptr_equal(piece.p, body.p);
	assert_int_equal(charset_next(&it, &piece), 1);
}

static void labels_stand_for_the_names_of_the_list(void **state)
{
	static const struct {
		const char *label, *name;
	} cases[] = {{"UTF-8", "utf-8"},
		     {" utf8 ", "utf-8"},
		     {"latin1", "windows-1252"},
		     {"ISO-8859-1", "windows-1252"},
		     {"ascii", "windows-1252"},
		     {"sjis", "shift_jis"},
		     {"gb2312", "gbk"},
		     {"ks_c_5601-1987", "euc-kr"},
		     {"utf-16", "utf-16le"},
		     {"latin5", "windows-1254"},
		     {"iso-8859-8-i", "iso-8859-8-i"},
		     {"\f windows-31j\r\n", "shift_jis"},
		     {"x-user-defined", "x-user-defined"},
		     {"iso-2022-kr", "replacement"},
		     {"HZ-GB-2312", "replacement"},
		     {"", NULL},
		     {"uhc", NULL},
		     {"utf-7", NULL},
		     {"utf-8 latin1", NULL}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *name = charset_by_label(str_of(cases[i].label));
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
}

static void content_types_name_their_charset(void **state)
{
	static const struct {
		const char *value, *charset;
	} cases[] = {{"text/html; charset=utf-8", "utf-8"},
		     {"text/html;charset = \"koi8-r\" ; x=y", "koi8-r"},
		     {"text/html; charset='a b'", "a b"},
		     {"text/html; CHARSET=Latin1;x", "Latin1"},
		     {"text/html; charsets; charset=x", "x"},
		     {"text/html; charset=", ""},
		     {"text/html; charset=\"open", ""},
		     {"text/html", ""},
		     {"", ""}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_str(charset_in_content_type(str_of(cases[i].value)), cases[i].charset);
}

static void html_names_its_charset_in_markup_only(void **state)
{
	static const struct {
		const char *html, *name;
	} cases[] = {
		{"<meta charset=koi8-r>", "koi8-r"},
		{"<html><head><META CharSet = 'latin2' />", "iso-8859-2"},
		{"<meta http-equiv=Content-Type content='text/html; charset=big5'>", "big5"},
		{"<meta content='text/html; charset=big5' http-equiv=content-type>", "big5"},
		{"<meta content='text/html; charset=big5'>", NULL},
		{"<meta http-equiv=refresh content='1; charset=big5'>", NULL},
		{"<!-- <meta charset=koi8-r> --><meta charset=utf-8>", "utf-8"},
		{"<!--><meta charset=koi8-r>", "koi8-r"},
		{"<!-- never closed <meta charset=koi8-r>", NULL},
		{"<a title='<meta charset=koi8-r>'><meta charset=utf8>", "utf-8"},
		{"<p title=\"no end <meta charset=koi8-r>", NULL},
		{"<meta charset=utf-16>", "utf-8"},
		{"<meta charset=nonsense><meta charset=utf-8>", "utf-8"},
		{"<metal charset=koi8-r>", NULL},
		{"</meta charset=koi8-r>", NULL},
		{"<meta charset=\"koi8-r", NULL},
		{"<meta charset=koi8-r charset=utf-8>", "koi8-r"},
		{"<meta charset=none http-equiv=content-type content=';charset=big5'>", "big5"},
		{"<meta charset=x-user-defined>", "windows-1252"},
		{"<meta charset=iso-2022-cn>", "replacement"},
		{"<title><meta charset=koi8-r></title><meta charset=utf-8>", "utf-8"},
		{"<script>'<meta charset=koi8-r>'</script><meta charset=utf-8>", "utf-8"},
		{"<noscript><meta charset=koi8-r></noscript>", "koi8-r"},
		{"<body><p>text<meta charset=koi8-r>", "koi8-r"},
		{"<?xml version='1.0'?><meta charset=koi8-r>", "koi8-r"},
		{"<meta/charset=koi8-r>", "koi8-r"},
		{"<", NULL},
		{"", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *name = charset_prescan_html(str_of(cases[i].html));
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
}

/* After so many bytes only a head can. */
static void a_long_head_names_its_charset_at_its_end(void **state)
{
	static const struct {
		const char *before;
		size_t filled; /* bytes of a style sheet after that */
		const char *after, *name;
	} cases[] = {
		{"<html><head>", CHARSET_PRESCAN, "", "koi8-r"},
		{"<head>", 100000, "<title>a</title><link><base><script>b</script>", "koi8-r"},
		{"<head><noscript></noscript><object></object>", CHARSET_PRESCAN, "", "koi8-r"},
		{"<head>", CHARSET_HEAD, "", NULL},
		{"<body>", CHARSET_PRESCAN, "", NULL},
		{"", CHARSET_PRESCAN, "</head>", NULL},
		{"", CHARSET_PRESCAN, "<p>", NULL},
		{"<p>", CHARSET_PRESCAN / 2, "<p>", "koi8-r"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_free) struct buf page = BUF_INIT(1 << 20);
		buf_add_str(&page, str_of(cases[i].before));
		buf_add_str(&page, STR("<style>"));
		memset(buf_room(&page, cases[i].filled), 'x', cases[i].filled);
		buf_grew(&page, cases[i].filled);
		buf_printf(&page, "</style>%s<meta charset=koi8-r>\n%2000s", cases[i].after, "");
		const char *name = charset_prescan_html(buf_str(&page));
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
}

static void xml_names_its_charset_in_its_declaration(void **state)
{
	(void)state;
	assert_string_equal(charset_prescan_xml(STR("<?xml version='1.0' encoding='koi8-r'?>")),
			    "koi8-r");
	assert_string_equal(charset_prescan_xml(STR("<?xml encoding=\"UTF-16\"?>")), "utf-8");
	assert_null(charset_prescan_xml(STR("<?xml version='1.0'?><a encoding='koi8-r'>")));
	assert_null(charset_prescan_xml(STR(" <?xml encoding='koi8-r'?>")));
	assert_null(charset_prescan_xml(STR("")));
}

static void who_knows_best_is_believed(void **state)
{
	static const struct {
		struct str body;
		const char *header, *declared, *hint, *name;
		enum charset_source source;
	} cases[] = {
		{STR("\xef\xbb\xbfx"), "x;charset=koi8-r", "big5", "gbk", "utf-8", CHARSET_BY_BOM},
		{STR("\xff\xfex\0"), "x;charset=koi8-r", "big5", "gbk", "utf-16le", CHARSET_BY_BOM},
		{STR("x"), "x;charset=koi8-r", "big5", "gbk", "koi8-r", CHARSET_BY_HEADER},
		{STR("x"), "x;charset=nonsense", "big5", "gbk", "big5", CHARSET_BY_DOCUMENT},
		{STR("x"), "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
		{STR("x"), "", NULL, "", "utf-8", CHARSET_BY_BYTES},
		{STR(""), "", NULL, "", "utf-8", CHARSET_BY_BYTES},
		{STR("p\xc3\xa5"), "", NULL, "", "utf-8", CHARSET_BY_BYTES},
		{STR("h\0e\0l\0l\0o\0"), "", NULL, "", "utf-16le", CHARSET_BY_BYTES},
		{STR("\0h\0e\0l\0l\0o"), "", NULL, "", "utf-16be", CHARSET_BY_BYTES},
		{STR("<\0\x1f\x04\x40\x04\x38\x04"), "", NULL, "gbk", "utf-16le", CHARSET_BY_BYTES},
		{STR("<\0p\0"), "", "utf-8", "", "utf-16le", CHARSET_BY_BYTES},
		{STR("h\0i\0"), "x;charset=utf-16", NULL, "", "utf-16le", CHARSET_BY_HEADER},
		{STR("\0h\0i"), "x;charset=utf-16be", NULL, "", "utf-16be", CHARSET_BY_HEADER},
		{STR("h\0i\0"), "x;charset=koi8-r", NULL, "", "koi8-r", CHARSET_BY_HEADER},
		{STR("h\0i\0"
		     "\1\0"),
		 "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
		{STR("h\0\0\0i\0\0\0"), "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
		{STR("h\0i\0\0\xdc"), "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
		{STR("h\0\0\xd8i\0"), "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
		{STR("h\0i"), "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
		{STR("h\0abcdefghij"), "", NULL, "gbk", "gbk", CHARSET_BY_HINT},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct charset_choice choice =
			charset_choose(*state, cases[i].body, str_of(cases[i].header),
				       cases[i].declared, str_of(cases[i].hint));
		assert_string_equal(choice.name, cases[i].name);
		assert_int_equal(choice.source, cases[i].source);
	}
}

static void the_bytes_give_a_language_away(void **state)
{
	static const char russian[] = "\xcd\xe0 \xe1\xe5\xf0\xe5\xe3\xf3 "
				      "\xef\xf3\xf1\xf2\xfb\xed\xed\xfb\xf5 \xe2\xee\xeb\xed "
				      "\xf1\xf2\xee\xff\xeb \xee\xed, \xe4\xf3\xec "
				      "\xe2\xe5\xeb\xe8\xea\xe8\xf5 \xef\xee\xeb\xed, "
				      "\xe8 \xe2\xe4\xe0\xeb\xfc \xe3\xeb\xff\xe4\xe5\xeb.";
	struct charset_choice choice =
		charset_choose(*state, str_of(russian), STR(""), NULL, STR(""));
	assert_string_equal(choice.name, "windows-1251");
	assert_int_equal(choice.source, CHARSET_BY_BYTES);
}

static void everything_can_be_loaded_before_it_is_needed(void **state)
{
	struct err err;
	assert_int_equal(charset_load_all(*state, &err), 0);
	assert_int_equal(charset_load_all(*state, &err), 0);
}

static void the_length_of_what_is_valid_is_exact(void **state)
{
	char body[200];
	(void)state;
	for (size_t at = 0; at < sizeof body; at++) {
		memset(body, 'a', sizeof body);
		body[at] = (char)0xff;
		assert_int_equal(charset_valid((struct str){body, sizeof body}), at);
		body[at] = (char)0xc3;
		assert_int_equal(charset_valid((struct str){body, sizeof body}), at);
	}
}

/* All kinds of four bytes in a text that is not ASCII, at places around the ends of blocks. */
static void valid_is_what_the_plain_rules_say(void **state)
{
	static const unsigned char edges[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
					      0xa0, 0xbf, 0xc0, 0xe0, 0xf0, 0xff};
	static const size_t places[] = {0, 30, 32, 62, 124};
	char body[128];
	(void)state;
	for (size_t place = 0; place < ARRAY_LEN(places); place++)
		for (unsigned first = 0x80; first <= 0xff; first++)
			for (size_t k = 0;
			     k < ARRAY_LEN(edges) * ARRAY_LEN(edges) * ARRAY_LEN(edges); k++) {
				char *p = body + places[place];
				for (size_t i = 0; i < sizeof body; i += 2)
					memcpy(body + i, "\xc3\xa9", 2);
				p[0] = (char)first;
				p[1] = (char)edges[k % ARRAY_LEN(edges)];
				p[2] = (char)edges[k / ARRAY_LEN(edges) % ARRAY_LEN(edges)];
				p[3] = (char)edges[k / ARRAY_LEN(edges) / ARRAY_LEN(edges)];
				struct str s = {body, sizeof body};
				size_t n = charset_valid(s);
				assert_true(str_utf8(str_head(s, n)));
				assert_int_equal(n == s.n, str_utf8(s));
				/* and not too short: the next character is none */
				for (size_t more = 1; more <= 4 && n + more <= s.n; more++)
					assert_false(str_utf8(str_head(s, n + more)));
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bytes_of_many_charsets_become_utf8, setup,
						teardown),
		cmocka_unit_test_setup_teardown(bad_bytes_take_no_others_with_them, setup,
						teardown),
		cmocka_unit_test_setup_teardown(characters_are_whole_at_the_ends_of_pieces, setup,
						teardown),
		cmocka_unit_test_setup_teardown(long_documents_of_bad_bytes_lose_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pieces_know_where_they_come_from, setup, teardown),
		cmocka_unit_test_setup_teardown(valid_utf8_is_passed_where_it_lies, setup,
						teardown),
		cmocka_unit_test(labels_stand_for_the_names_of_the_list),
		cmocka_unit_test(content_types_name_their_charset),
		cmocka_unit_test(html_names_its_charset_in_markup_only),
		cmocka_unit_test(a_long_head_names_its_charset_at_its_end),
		cmocka_unit_test(xml_names_its_charset_in_its_declaration),
		cmocka_unit_test_setup_teardown(who_knows_best_is_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(the_bytes_give_a_language_away, setup, teardown),
		cmocka_unit_test_setup_teardown(everything_can_be_loaded_before_it_is_needed, setup,
						teardown),
		cmocka_unit_test(the_length_of_what_is_valid_is_exact),
		cmocka_unit_test(valid_is_what_the_plain_rules_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
