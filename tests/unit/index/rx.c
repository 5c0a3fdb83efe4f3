#include "index/rx.h"
#include "../dice.h"
#include "../unit.h"
#include "base/buf.h"

static struct rx *compiled_rx(struct str pattern, bool folded)
{
	struct rx *rx = NULL;
	struct err err;
	size_t at;
	if (rx_compile(&rx, pattern, folded, &at, &err) < 0)
		fail_msg("'" STR_FMT "': %s (at %zu)", STR_ARG(pattern), err.msg, at);
	return rx;
}

/* The matches of a line with a bar between them, as rx_find() gives them one after the other. */
static struct buf found_in(struct rx_run *run, struct str line)
{
	struct buf out = BUF_INIT(1 << 20);
	struct rx_match m;
	for (size_t from = 0; from <= line.n && rx_find(run, line, from, &m) == 0;) {
		assert_true(m.at >= from && m.at + m.n <= line.n);
		buf_printf(&out, "%s%zu:" STR_FMT, out.n ? "|" : "", m.at, (int)m.n, line.p + m.at);
		from = m.at + (m.n ? m.n : 1);
	}
	assert_int_equal(out.n > 0, rx_matches(run, line));
	return out;
}

static void finds_in(struct str pattern, bool folded, struct str line, const char *want)
{
	struct rx *rx = compiled_rx(pattern, folded);
	struct rx_run *run = rx_run_new(rx);
	struct buf out = found_in(run, line);
	if (!str_eq(buf_str(&out), str_of(want)))
		fail_msg("/" STR_FMT "/ in '" STR_FMT "': got '%s', want '%s'", STR_ARG(pattern),
			 STR_ARG(line), buf_text(&out), want);
	buf_free(&out);
	rx_run_free(&run);
	rx_free(&rx);
}

static void pattern_finds(const char *pattern, const char *line, const char *want)
{
	finds_in(str_of(pattern), false, str_of(line), want);
}

static void finds_folded(const char *pattern, const char *line, const char *want)
{
	finds_in(str_of(pattern), true, str_of(line), want);
}

static void the_first_and_longest_match_is_found(void **state)
{
	(void)state;
	pattern_finds("abc", "xabcabc", "1:abc|4:abc");
	pattern_finds("a|ab|abc", "abcd", "0:abc");
	pattern_finds("abcd|bc", "abcd", "0:abcd");
	pattern_finds("abcd|bc", "abce", "1:bc");
	pattern_finds("a.*z|b", "ab ab", "1:b|4:b");
	pattern_finds("a.*z|b", "ab abz", "0:ab abz");
	pattern_finds("colou?r[ -]map", "a colour-map, color map", "2:colour-map|14:color map");
	pattern_finds("x*", "axxb", "0:|1:xx|3:|4:");
	pattern_finds("", "ab", "0:|1:|2:");
	pattern_finds("a||b", "cb", "0:|1:b|2:");
	pattern_finds("(a|b)+c", "abac", "0:abac");
	pattern_finds("(?:ab)+", "ababab", "0:ababab");
	pattern_finds("()", "", "0:");
	pattern_finds("a", "", "");
	pattern_finds("[^a]", "aaba", "2:b");
	pattern_finds("(foo|foobar)(bar)?", "foobarbar", "0:foobarbar");
}

static void repeats_are_counted(void **state)
{
	(void)state;
	pattern_finds("a{3}", "aaaaaaa", "0:aaa|3:aaa");
	pattern_finds("a{2,3}", "aaaaaaa", "0:aaa|3:aaa");
	pattern_finds("xa{0,2}", "xaaa x", "0:xaa|5:x");
	pattern_finds("a{2,}", "a aa aaaa", "2:aa|5:aaaa");
	pattern_finds("(ab){2}c", "ababab abababc", "9:ababc");
	pattern_finds("a{0}b", "ab", "1:b");
	pattern_finds("(a{2}){3}", "aaaaaaa", "0:aaaaaa");
	pattern_finds("a***", "aa", "0:aa|2:");
	pattern_finds("[0-9]{1,3}(\\.[0-9]{1,3}){3}", "at 192.168.0.1!", "3:192.168.0.1");
}

static void edges_are_those_of_the_line_and_of_words(void **state)
{
	(void)state;
	pattern_finds("^a", "aa", "0:a");
	pattern_finds("a$", "aa", "1:a");
	pattern_finds("^$", "", "0:");
	pattern_finds("^", "ab", "0:");
	pattern_finds("$", "ab", "2:");
	pattern_finds("^a|b$", "ab ab", "0:a|4:b");
	pattern_finds("\\bon\\b", "on upon once on", "0:on|13:on");
	pattern_finds("\\Bon", "on upon", "5:on");
	pattern_finds("\\bé\\b", "é aé éa é.", "0:é|11:é");
	pattern_finds("\\b", "ab c", "0:|2:|3:|4:");
	pattern_finds("a\\b.", "ab a.", "3:a.");
	pattern_finds("\\w+$", "one two", "4:two");
	pattern_finds("a\\b\\Bb", "ab", "");
	pattern_finds("(^|x)a", "axa", "0:a|1:xa");
}

static void classes_are_those_of_unicode(void **state)
{
	(void)state;
	pattern_finds("\\w+", "naïve_1 Ωmega-日本", "0:naïve_1|9:Ωmega|16:日本");
	pattern_finds("\\d+", "12٣4 ½", "0:12٣4");
	pattern_finds("\\s+",
		      "a\t\xc2\xa0"
		      "b",
		      "1:\t\xc2\xa0");
	pattern_finds("\\S+", "a b", "0:a|2:b");
	pattern_finds("\\D", "1x2", "1:x");
	pattern_finds("\\W+", "ab, cd", "2:, ");
	pattern_finds("\\p{Lu}\\p{Ll}+", "aBc Éa", "1:Bc|4:Éa");
	pattern_finds("\\pN+", "a12Ⅳ²", "1:12Ⅳ²");
	pattern_finds("\\P{L}+", "a1 2b", "1:1 2");
	pattern_finds("\\p{Uppercase_Letter}", "aB", "1:B");
	pattern_finds("\\p{decimal number}", "a1", "1:1");
	pattern_finds("[\\p{L}\\d]+", "-aé9-", "1:aé9");
	pattern_finds("[^\\w\\s]", "a ,b", "2:,");
	pattern_finds("[]x]+", "a]x]", "1:]x]");
	pattern_finds("[^]x]+", "a]x]", "0:a");
	pattern_finds("[a-c-]+", "xa-cd", "1:a-c");
	pattern_finds("[\\]\\-\\\\]+", "a]-\\b", "1:]-\\");
	pattern_finds(".",
		      "é\xff"
		      "a\n",
		      "0:é|3:a");
	pattern_finds("\\x41\\x{e9}\\u65e5\\t", "Aé日\t", "0:Aé日\t");
	pattern_finds("[α-ω]+", "abγδε", "2:γδε");
	pattern_finds("[^a]+", "a日本é😀a", "1:日本é😀");
	pattern_finds("\\.\\*\\/", "a.*/", "1:.*/");
	pattern_finds("[\\x{10000}-\\x{10ffff}]", "aé日😀", "6:😀");
	pattern_finds("a]}", "a]}", "0:a]}");
}

static void bytes_that_are_not_utf8_match_nothing(void **state)
{
	(void)state;
	finds_in(STR("a.b"), false,
		 STR("a\xff"
		     "b a\xc3"
		     "b a\xe2\x82"
		     "b axb"),
		 "13:axb");
	finds_in(STR("[^x]+"), false,
		 STR("a\xe2\x82"
		     "b"),
		 "0:a|3:b");
	finds_in(STR("a\\b"), false,
		 STR("a\xe2\x82"
		     "A a\xc3"),
		 "0:a|5:a");
	finds_in(STR("a$"), false, STR("a\xc3"), "");
	finds_in(STR(".*"), false, STR("\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80"),
		 "0:|1:|2:|3:|4:|5:|6:|7:|8:|9:");
	finds_in(STR("é"), false, STR("\xc3\xc3\xa9\xa9"), "1:é");
	finds_in(STR("\\W"), false,
		 STR("\x80"
		     "a"),
		 "");
}

static void letters_are_folded_with_the_text(void **state)
{
	(void)state;
	finds_folded("ÉCOLE", "ecole", "0:ecole");
	finds_folded("Straße", "strasse", "0:strasse");
	finds_folded("e\xcc\x81*x", "eex", "0:eex");
	finds_folded("[A-C]+", "xabc", "1:abc");
	finds_folded("[ÄÖÜß]", "uss", "0:u|1:ss");
	finds_folded("[^A-Z]+", "ab-1", "2:-1");
	finds_folded("\\p{Lu}+", "ab1", "0:ab");
	finds_folded("\\P{Lu}+", "ab1", "2:1");
	finds_folded("が", "が", "0:が");
	finds_folded("か\xe3\x82\x99", "が", "0:が");
	finds_folded("[\xcc\x81]?a", "a", "0:a");
	finds_folded("\\x{c9}", "e", "0:e");
	finds_folded("™", "™ tm", "0:™");
	finds_folded("\xe1\x84\x80\xe1\x85\xa1", "가", "0:가"); /* Hangul in parts */
	finds_folded("ﬁ+", "fififi", "0:fififi");
	pattern_finds("É", "e é É", "5:É");
}

static void pattern_lines(const char *pattern, const char *text, const char *want)
{
	struct rx *rx = compiled_rx(str_of(pattern), false);
	struct rx_run *run = rx_run_new(rx);
	struct buf out = BUF_INIT(1 << 16);
	struct str all = str_of(text), line;
	for (size_t from = 0; rx_find_line(run, all, from, &line) == 0;) {
		buf_printf(&out, "%s%zu:" STR_FMT, out.n ? "|" : "", (size_t)(line.p - all.p),
			   STR_ARG(line));
		from = (size_t)(line.p - all.p) + line.n + 1;
	}
	assert_str(buf_str(&out), want);
	buf_free(&out);
	rx_run_free(&run);
	rx_free(&rx);
}

static void lines_of_a_text_are_found(void **state)
{
	(void)state;
	pattern_lines("abc", "x\nabc\n\nxabcx\nab", "2:abc|7:xabcx");
	pattern_lines("abc$", "abc x\nx abc", "6:x abc");
	pattern_lines("^[a-c]+$", "ab\nax\ncc\n", "0:ab|6:cc");
	pattern_lines("^$", "\na\n\n", "0:|3:");
	pattern_lines("abc", "", "");
	pattern_lines("a\\nb", "a\nb\na", "");
}

static void pattern_is_refused(const char *pattern, const char *why, size_t at)
{
	struct rx *rx = NULL;
	struct err err = {0};
	size_t where = 999;
	if (rx_compile(&rx, str_of(pattern), false, &where, &err) == 0)
		fail_msg("'%s' was taken", pattern);
	if (!strstr(err.msg, why) || where != at)
		fail_msg("'%s': '%s' at %zu, want '%s' at %zu", pattern, err.msg, where, why, at);
	assert_int_equal(ERR_USAGE, err.code);
	assert_null(rx);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
	(void)state;
	pattern_is_refused("(a)\\1", "back-references", 3);
	pattern_is_refused("(a)\\k<x>", "back-references", 3);
	pattern_is_refused("(?P=x)", "back-references", 0);
	pattern_is_refused("a(?=b)", "look-around", 1);
	pattern_is_refused("(?!b)", "look-around", 0);
	pattern_is_refused("(?<=b)", "look-around", 0);
	pattern_is_refused("(?<!b)", "look-around", 0);
	pattern_is_refused("(?i)a", "flags", 0);
	pattern_is_refused("(?<n>a)", "names", 0);
	pattern_is_refused("a*?", "lazy", 1);
	pattern_is_refused("a{2}?", "lazy", 1);
	pattern_is_refused("a++", "possessive", 1);
	pattern_is_refused("*a", "nothing to repeat", 0);
	pattern_is_refused("a|*", "nothing to repeat", 2);
	pattern_is_refused("(+)", "nothing to repeat", 1);
	pattern_is_refused("b(a", "not closed", 1);
	pattern_is_refused("ba)", "not opened", 2);
	pattern_is_refused("[a", "no \"]\"", 0);
	pattern_is_refused("x[]", "no \"]\"", 1);
	pattern_is_refused("[b-a]", "backwards", 3);
	pattern_is_refused("[a-\\d]", "a range ends in", 3);
	pattern_is_refused("[[:alpha:]]", "\\p{L}", 1);
	pattern_is_refused("[\\b]", "\\b", 1);
	pattern_is_refused("\\q", "\\q is not known", 0);
	pattern_is_refused("a\\", "backslash", 1);
	pattern_is_refused("\\<a", "\\b", 0);
	pattern_is_refused("\\p{Greek}", "'Greek'", 0);
	pattern_is_refused("\\p{Greek}", "Lu, Ll", 0);
	pattern_is_refused("\\p{L", "}", 0);
	pattern_is_refused("\\p", "category", 0);
	pattern_is_refused("\\xg1", "number of a character", 0);
	pattern_is_refused("\\x{110000}", "number of a character", 0);
	pattern_is_refused("\\x{41", "}", 0);
	pattern_is_refused("a{x}", "number of times", 1);
	pattern_is_refused("a{,3}", "number of times", 1);
	pattern_is_refused("a{2", "number of times", 1);
	pattern_is_refused("a{1001}", "1000", 1);
	pattern_is_refused("a{99999999999}", "1000", 1);
	pattern_is_refused("a{3,2}", "at least", 1);
	pattern_is_refused("(a{1000}){1000}", "too large", 9);
	pattern_is_refused("a\xff", "UTF-8", 1);
	pattern_is_refused("[\xff]", "UTF-8", 1);
}

/* Groups as text: literals with a bar between them, "<" and ">" where the ends are sure, groups
 * with a blank between them. */
static void check_literals(struct rx *rx, const char *pattern, const char *want)
{
	struct buf out = BUF_INIT(1 << 16);
	uint32_t n;
	const struct rx_group *g = rx_literals(rx, &n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < g[i].n; k++) {
			const struct rx_literal *l = &g[i].literal[k];
			buf_printf(&out, "%s%s" STR_FMT "%s",
				   k   ? "|"
				   : i ? " "
				       : "",
				   l->begins ? "<" : "", STR_ARG(l->text), l->ends ? ">" : "");
		}
	if (!str_eq(buf_str(&out), str_of(want)))
		fail_msg("/%s/: got '%s', want '%s'", pattern, buf_text(&out), want);
	buf_free(&out);
	rx_free(&rx);
}

static void pattern_literals(const char *pattern, bool folded, const char *want)
{
	check_literals(compiled_rx(str_of(pattern), folded), pattern, want);
}

static struct rx *compiled_name(const char *pattern)
{
	struct rx *rx = NULL;
	struct err err;
	size_t at;
	if (rx_compile_name(&rx, str_of(pattern), &at, &err) < 0)
		fail_msg("/%s/: %s", pattern, err.msg);
	return rx;
}

static void name_literals(const char *pattern, const char *want)
{
	check_literals(compiled_name(pattern), pattern, want);
}

static void literals_of_names_are_runs_of_any_characters(void **state)
{
	(void)state;
	name_literals("foo-1.2", "foo-1 2");
	name_literals("^foo-bar$", "<foo-bar>");
	name_literals("^lib.*\\.so$", "<lib .so>");
	name_literals("ab[0-2]+-c", "ab0|ab1|ab2 0-c|1-c|2-c 0|1|2");
	name_literals("x(yz|q)+\\.z", "yz.z|q.z xyz|xq yz|q");
	name_literals("(ab|c)[0-3]{4}[^0-9]", "ab0|ab1|ab2|ab3|c0|c1|c2|c3 0|1|2|3 0|1|2|3");
	name_literals("[a-z]+", "");
	name_literals("(a.*)?b", "b");
	name_literals("\\.tar\\.(gz|xz)$", ".tar.gz>|.tar.xz>");
}

static void name_matches(const char *pattern, struct str name, bool want)
{
	struct rx *rx = compiled_name(pattern);
	struct rx_run *run = rx_run_new(rx);
	if (rx_matches(run, name) != want)
		fail_msg("/%s/ in '" STR_FMT "'", pattern, STR_ARG(name));
	rx_run_free(&run);
	rx_free(&rx);
}

static void stray_bytes_of_names_are_characters(void **state)
{
	(void)state;
	name_matches("^a.b$", STR("a\nb"), true);
	name_matches("^a$", STR("a\nb"), false);
	name_matches("^.$", STR("\xff"), true);
	name_matches("^..$", STR("\xe2\x82"), true);
	name_matches("^.$", STR("\xe2\x82"), false);
	name_matches("^.$", STR("\xe2\x82\xac"), true);
	name_matches("^.{3}x$", STR("\xf0\x9f\x98x"), true);
	name_matches("^[^a]$", STR("\xe9"), true);
	name_matches("^[a-\\x{10ffff}]$", STR("\xe9"), false);
	name_matches("^\\W$", STR("\xe9"), true);
	name_matches("^\\D\\S\\P{L}$", STR("\xe9\xe9\xe9"), true);
	name_matches("^[\\w\\d\\s\\p{L}\\x80-\\xff]", STR("\xe9"), false);
	name_matches("^[^\\W]", STR("\xe9"), false);
	name_matches("[^\\x00-\\x{10ffff}]", STR("ab\xc3"), true);
	name_matches("[^\\x00-\\x{10ffff}]", STR("ab\xc3\xa9"), false);
}

static void literals_are_what_every_match_contains(void **state)
{
	(void)state;
	pattern_literals("apple", true, "apple");
	pattern_literals("Apple", true, "apple");
	pattern_literals("Apple", false, "Apple");
	pattern_literals("colou?r[ _]map", false, "colour>|color> <map  |_");
	pattern_literals("apple\\s+pie", false, "apple> <pie");
	pattern_literals("apple\\W+pie", false, "apple pie"); /* ² is neither \w nor a separator */
	pattern_literals("^apple$", false, "<apple>");
	pattern_literals("\\bapple\\b", false, "apple");
	pattern_literals("(foo|bar)[0-9]+", false, "foo|bar");
	pattern_literals("[A-Z][a-z]*tion", false, "tion");
	pattern_literals("ab*c", false, "a c");
	pattern_literals("(abc)+", false, "abc");
	pattern_literals("(abc)*", false, "");
	pattern_literals("abc|d*", false, "");
	pattern_literals("abc.*|.*defg", false, "abc|defg");
	pattern_literals(".*", false, "");
	pattern_literals("a.b.c", false, "a b c");
	pattern_literals("x{3}y", false, "xxxy");
	pattern_literals("日本", false, "<日> <本");
	pattern_literals("日本 x", false, "<日> <本> <x  ");
	pattern_literals("a日", true, "a> <日");
	pattern_literals("\xcc\x81"
			 "abc",
			 false, "abc");
	pattern_literals("-->", false, "-->");
	pattern_literals("a, b", false, "a> <b , ");
	pattern_literals("foo-(bar|[0-9]+)", false, "foo> -");
}

static void pattern_within_word(const char *pattern, bool folded, bool want)
{
	struct rx *rx = compiled_rx(str_of(pattern), folded);
	if (rx_within_word(rx) != want)
		fail_msg("/%s/", pattern);
	rx_free(&rx);
}

static void what_lies_within_one_word_is_known(void **state)
{
	(void)state;
	pattern_within_word("abc", false, true);
	pattern_within_word("[A-Z][a-z]*tion", false, true);
	pattern_within_word("(abc|def)[0-9]+", true, true);
	pattern_within_word("a*", false, false);
	pattern_within_word("ab*", false, true);
	pattern_within_word("a.c", false, false);
	pattern_within_word("a c", false, false);
	pattern_within_word("a_c", false, false);
	pattern_within_word("^abc", false, false);
	pattern_within_word("abc\\b", false, false);
	pattern_within_word("\\w+", false, false);
	pattern_within_word("\\d+", false, true);
	pattern_within_word("日", false, true);
	pattern_within_word("日本", false, false);
	pattern_within_word("日a", false, false);
	pattern_within_word("\\p{L}", false,
			    false); /* the half-wide voicing marks are letters by category */
	pattern_within_word("\\p{Lo}", false, true);
	pattern_within_word("\\p{L}+", false, false);
	pattern_within_word("\\p{Lu}+", false, true);
	pattern_within_word("\xcc\x81", false, false);
	pattern_within_word("e\xcc\x81", false, true);
	pattern_within_word("e\xcc\x81", true, true);
	pattern_within_word("", false, false);
	pattern_within_word("가+", false, true);
}

static struct buf many_of(const char *piece, size_t n)
{
	struct buf b = BUF_INIT(8 << 20);
	for (size_t i = 0; i < n; i++)
		buf_add_text(&b, piece);
	return b;
}

static void hostile_match(struct str pattern, struct str text, bool want)
{
	struct rx *rx = compiled_rx(pattern, false);
	struct rx_run *run = rx_run_new(rx);
	struct rx_match m;
	assert_int_equal(want, rx_matches(run, text));
	assert_int_equal(want ? 0 : 1, rx_find(run, text, 0, &m));
	rx_run_free(&run);
	rx_free(&rx);
}

static void hostile_patterns_end(void **state)
{
	(void)state;
	struct buf as = many_of("a", 200000), stars = many_of("*", 65535),
		   plus = many_of("(", 20000);
	struct buf deep = many_of("(", 30000), classes = BUF_INIT(1 << 20);
	hostile_match(STR("(a*)*b"), buf_str(&as), false);
	hostile_match(STR("((a*)*)*c|b"), buf_str(&as), false);
	hostile_match(STR("a{1000}$"), buf_str(&as), true);
	hostile_match(STR("(a?){500}b"), str_head(buf_str(&as), 20000), false);
	hostile_match(STR("(x+x+)+y"), buf_str(&as), false);
	struct buf starred = BUF_INIT(1 << 20);
	buf_add_byte(&starred, 'a');
	buf_add(&starred, stars.p, stars.n);
	hostile_match(buf_str(&starred), buf_str(&as), true);

	buf_add_byte(&deep, 'b');
	for (int i = 0; i < 30000; i++)
		buf_add_text(&deep, ")");
	hostile_match(buf_str(&deep), buf_str(&as), false);
	for (int i = 0; i < 20000; i++)
		buf_add_text(&plus, ")+");
	hostile_match(buf_str(&plus), buf_str(&as), true);

	/* sets that all differ */
	struct rx *rx = NULL;
	struct err err;
	size_t at;
	for (int i = 0; i < 4000; i++)
		buf_printf(&classes, "[\\x{%x}-\\x{%x}]", 0x100 + i, 0x2000 + 2 * i);
	assert_int_equal(-1, rx_compile(&rx, buf_str(&classes), false, &at, &err));
	assert_non_null(strstr(err.msg, "more than 65536 bytes"));
	assert_int_equal(-1,
			 rx_compile(&rx, str_head(buf_str(&classes), 65536 - 8), false, &at, &err));
	assert_non_null(strstr(err.msg, "too large"));
	buf_clear(&classes);
	for (int i = 0; i < 200; i++)
		buf_printf(&classes, "[!-\\x{%x}]", 0x10ff00 + i);
	assert_int_equal(-1, rx_compile(&rx, buf_str(&classes), true, &at, &err));
	assert_non_null(strstr(err.msg, "too large"));
	buf_free(&as);
	buf_free(&stars);
	buf_free(&starred);
	buf_free(&plus);
	buf_free(&deep);
	buf_free(&classes);
}

/* The pattern has 2^200 states: they are dropped again and again, and the answer stays right. */
static void states_are_dropped_when_memory_is_full(void **state)
{
	(void)state;
	enum { BACK = 200 };
	const int N = unit_thorough() ? 60000 : 28000;
	uint64_t seed = 7;
	struct buf text = BUF_INIT(1 << 20);
	for (int i = 0; i < N; i++)
		buf_add_byte(&text, dice(&seed) >> 20 & 1 ? 'a' : 'b');
	for (int i = BACK + 1; i > 0; i--)
		text.p[N - i] = 'b';
	struct rx *rx = compiled_rx(STR("a[ab]{200}c"), false);
	struct rx_run *run = rx_run_new(rx);
	struct rx_match m;
	assert_false(rx_matches(run, buf_str(&text)));
	buf_add_byte(&text, 'c');
	assert_false(rx_matches(run, buf_str(&text)));
	text.p[N - BACK - 1] = 'a';
	assert_true(rx_matches(run, buf_str(&text)));
	assert_int_equal(0, rx_find(run, buf_str(&text), 0, &m));
	assert_int_equal(N - BACK - 1, m.at);
	assert_int_equal(BACK + 2, m.n);
	rx_run_free(&run);
	rx_free(&rx);
	buf_free(&text);
}

static bool late_at_third(void *ctx)
{
	return ++*(int *)ctx >= 3;
}

static void a_line_ends_when_it_is_late(void **state)
{
	(void)state;
	int asked = 0;
	struct buf text = many_of("ab", 1 << 20);
	buf_add_byte(&text, 'c');
	struct rx *rx = compiled_rx(STR("a[ab]{501}c"), false);
	struct rx_run *run = rx_run_new(rx);
	assert_true(rx_matches(run, buf_str(&text)));
	rx_run_late(run, late_at_third, &asked);
	assert_false(rx_matches(run, buf_str(&text)));
	assert_int_equal(3, asked);
	struct rx_match m;
	assert_int_equal(1, rx_find(run, STR("ac"), 0, &m));
	rx_run_free(&run);
	rx_free(&rx);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_and_longest_match_is_found),
		cmocka_unit_test(repeats_are_counted),
		cmocka_unit_test(edges_are_those_of_the_line_and_of_words),
		cmocka_unit_test(classes_are_those_of_unicode),
		cmocka_unit_test(bytes_that_are_not_utf8_match_nothing),
		cmocka_unit_test(letters_are_folded_with_the_text),
		cmocka_unit_test(lines_of_a_text_are_found),
		cmocka_unit_test(what_cannot_be_is_refused_by_name),
		cmocka_unit_test(literals_are_what_every_match_contains),
		cmocka_unit_test(literals_of_names_are_runs_of_any_characters),
		cmocka_unit_test(stray_bytes_of_names_are_characters),
		cmocka_unit_test(what_lies_within_one_word_is_known),
		cmocka_unit_test(hostile_patterns_end),
		cmocka_unit_test(states_are_dropped_when_memory_is_full),
		cmocka_unit_test(a_line_ends_when_it_is_late),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
