#include "../unit.h"
#include "index/names/names_exec.h"

static void ed_becomes(const char *pattern, enum names_ed want, const char *text)
{
	struct buf out = BUF_INIT(1 << 16);
	enum names_ed got;
	struct err err = {0};
	size_t at = 0;
	if (names_ed(str_of(pattern), &out, &got, &at, &err) < 0)
		fail_msg("'%s': %s", pattern, err.msg);
	if (got != want || !str_eq(buf_str(&out), str_of(text)))
		fail_msg("'%s': got %d '%s', want %d '%s'", pattern, (int)got, buf_text(&out),
			 (int)want, text);
	buf_free(&out);
}

static void ed_fails(const char *pattern, size_t want_at, const char *why)
{
	struct buf out = BUF_INIT(1 << 16);
	enum names_ed got;
	struct err err = {0};
	size_t at = 0;
	assert_int_equal(-1, names_ed(str_of(pattern), &out, &got, &at, &err));
	assert_int_equal(ERR_USAGE, err.code);
	if (at != want_at || !strstr(err.msg, why))
		fail_msg("'%s': %s at %zu", pattern, err.msg, at);
	buf_free(&out);
}

static bool ed_matches(const char *pattern, const char *name)
{
	struct buf out = BUF_INIT(1 << 16);
	enum names_ed kind;
	struct err err;
	struct rx *rx = NULL;
	size_t at;
	assert_int_equal(0, names_ed(str_of(pattern), &out, &kind, &at, &err));
	assert_int_equal(NAMES_ED_RX, kind);
	if (rx_compile_name(&rx, buf_str(&out), &at, &err) < 0)
		fail_msg("'%s': '%s': %s", pattern, buf_text(&out), err.msg);
	struct rx_run *run = rx_run_new(rx);
	bool yes = rx_matches(run, str_of(name));
	rx_run_free(&run);
	rx_free(&rx);
	buf_free(&out);
	return yes;
}

static void any_text_at_the_ends_is_cut_off_once(void **state)
{
	(void)state;
	ed_becomes(".*", NAMES_ED_NOTHING, "");
	ed_becomes("", NAMES_ED_NOTHING, "");
	ed_becomes(".*.*", NAMES_ED_NOTHING, "");
	ed_becomes(".*.*.*", NAMES_ED_RX, ".*");
	ed_becomes(".*emacs.*", NAMES_ED_TEXT, "emacs");
	ed_becomes("emacs.*", NAMES_ED_TEXT, "emacs");
	ed_becomes("emacs\\.*", NAMES_ED_RX, "emacs\\.*");
	ed_becomes("emacs\\\\.*", NAMES_ED_RX, "emacs\\\\");
	ed_becomes(".**x", NAMES_ED_RX, ".**x");
	ed_becomes(".*^x", NAMES_ED_RX, "^x");
}

static void what_has_no_operator_is_a_part(void **state)
{
	(void)state;
	ed_becomes("emacs-19", NAMES_ED_TEXT, "emacs-19");
	ed_becomes("a b&c%\xff", NAMES_ED_TEXT, "a b&c%\xff");
	ed_becomes("a,b", NAMES_ED_RX, "a,b");
	ed_becomes("a/b", NAMES_ED_RX, "a/b");
	ed_becomes("a<b>", NAMES_ED_RX, "a<b>");
}

static void operators_are_those_of_ed(void **state)
{
	(void)state;
	ed_becomes("^a.c$", NAMES_ED_RX, "^a.c$");
	ed_becomes("a^b$c", NAMES_ED_RX, "a\\^b\\$c");
	ed_becomes("*a", NAMES_ED_RX, "\\*a");
	ed_becomes("^*a", NAMES_ED_RX, "^\\*a");
	ed_becomes("a+b?(c|d){2}", NAMES_ED_RX, "a\\+b\\?\\(c\\|d\\)\\{2\\}");
	ed_becomes("a\\{2\\}b\\{0,255\\}c\\{3,\\}", NAMES_ED_RX, "a{2}b{0,255}c{3,}");
	ed_becomes("\\(a\\)\\1\\n", NAMES_ED_RX, "\\(a\\)1n");
	ed_becomes("\\.\\*\\^\\$\\[\\]\\\\\\-", NAMES_ED_RX, "\\.\\*\\^\\$\\[\\]\\\\\\-");
	ed_becomes("\\<a\\>", NAMES_ED_RX, "<a>");
	ed_becomes("[]a]", NAMES_ED_RX, "[\\]a]");
	ed_becomes("[^]a]", NAMES_ED_RX, "[^\\]a]");
	ed_becomes("[-a]", NAMES_ED_RX, "[\\-a]");
	ed_becomes("[a-]", NAMES_ED_RX, "[a\\-]");
	ed_becomes("[a-c\\[:x]", NAMES_ED_RX, "[a-c\\\\\\[:x]");
	ed_becomes("[a^]", NAMES_ED_RX, "[a\\^]");
	assert_true(ed_matches("^x[]-]*y$", "x]-]y"));
	assert_true(ed_matches("[%--]", "-"));
	assert_true(ed_matches("[%--]", "&"));
	assert_false(ed_matches("[%--]", "/"));
	assert_true(ed_matches("a\\{2,3\\}$", "baa"));
	assert_false(ed_matches("^a\\{2,3\\}$", "aaaa"));
	assert_true(ed_matches("[\xc3\xa0-\xc3\xbf]x", "\xc3\xa9x"));
	assert_true(ed_matches("^.$", "\xe9"));
	assert_true(ed_matches("(|){+}?.", "a(|){+}?b"));
}

static void what_cannot_be_is_refused_where_it_is(void **state)
{
	(void)state;
	ed_fails("a\\", 1, "backslash");
	ed_fails("ab[cd", 2, "the [ here");
	ed_fails("[]", 0, "the [ here");
	ed_fails("a\\{2", 1, "has no \\}");
	ed_fails("a\\{256\\}", 1, "'256'");
	ed_fails("a\\{x\\}", 1, "'x'");
	ed_fails("a\\{\\}", 1, "''");
	ed_fails("a\\{3,2\\}", 1, "lower bound");
	ed_fails("\\{3\\}", 0, "nothing to repeat");
	ed_fails("^\\{3\\}", 1, "nothing to repeat");
	ed_fails("x[z-a]", 1, "z-a");
	ed_fails(".*a.\xff", 4, "0xff");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_text_at_the_ends_is_cut_off_once),
		cmocka_unit_test(what_has_no_operator_is_a_part),
		cmocka_unit_test(operators_are_those_of_ed),
		cmocka_unit_test(what_cannot_be_is_refused_where_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
