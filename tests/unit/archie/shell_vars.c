/* Variables, and what the administrator sets. */
#include "archie/shell/shell_inner.h"
#include "shell_fake.h"

static struct fake f;
static const struct shell_texts no_texts;

static int begin_plain(void **state)
{
	(void)state;
	fake_begin(&f, &(struct shell_options){.texts = &no_texts, .host = "archie.x.org"});
	return 0;
}

static int end_shell(void **state)
{
	(void)state;
	fake_end(&f);
	return 0;
}

/* Another shell in place of that of the setup. */
static void begin_with(const struct shell_texts *texts)
{
	fake_end(&f);
	fake_begin(&f, &(struct shell_options){.texts = texts});
}

/* Everything that the line prints. */
#define SAYS(line, want) assert_string_equal(want, fake_line(&f, line))

static void assert_prompt(const char *want)
{
	assert_str(shell_prompt(f.shell), want);
}

/* Variables. */

static void show_tells_of_all_that_users_have(void **state)
{
	(void)state;
	SAYS("show", "# `search' (type string) has the value `sub'.\n"
		     "# `maxhits' (type numeric) has the value `100'.\n"
		     "# `maxmatch' (type numeric) has the value `100'.\n"
		     "# `maxhitspm' (type numeric) has the value `100'.\n"
		     "# `match_domain' (type string) is not set.\n"
		     "# `match_path' (type string) is not set.\n"
		     "# `sortby' (type string) has the value `none'.\n"
		     "# `output_format' (type string) has the value `verbose'.\n"
		     "# `pager' (type boolean) is not set.\n"
		     "# `status' (type boolean) is set.\n"
		     "# `mailto' (type string) is not set.\n"
		     "# `compress' (type string) has the value `none'.\n"
		     "# `encode' (type string) has the value `none'.\n"
		     "# `max_split_size' (type numeric) has the value `51200'.\n"
		     "# `autologout' (type numeric) has the value `60'.\n"
		     "# `term' (type string) has the value `dumb 24 80'.\n"
		     "# `language' (type string) has the value `english'.\n"
		     "# `server' (type string) has the value `localhost'.\n");
	SAYS("show pager maxhits nosuch prompt", "# `pager' (type boolean) is not set.\n"
						 "# `maxhits' (type numeric) has the value `100'.\n"
						 "# `nosuch' is not a known variable.\n"
						 "# `prompt' is not a known variable.\n");
}

static void every_number_has_its_range(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t min, max;
	} numbers[] = {
		{"maxhits", 0, 1000},   {"maxmatch", 0, 1000},
		{"maxhitspm", 0, 1000}, {"max_split_size", 1024, INT32_MAX},
		{"autologout", 1, 300},
	};
	char line[100], says[200];
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const char *name = numbers[i].name;
		for (int at = 0; at < 2; at++) {
			int64_t edge = at ? numbers[i].max : numbers[i].min;
			snprintf(line, sizeof line, "set %s %lld", name, (long long)edge);
			SAYS(line, "");
			assert_int_equal(edge, shell_number(f.shell, name));
			snprintf(line, sizeof line, "set %s %lld", name,
				 (long long)edge + (at ? 1 : -1));
			snprintf(says, sizeof says,
				 "# The value of `%s' must be in the range [%lld,%lld].\n", name,
				 (long long)numbers[i].min, (long long)numbers[i].max);
			SAYS(line, says);
			assert_int_equal(edge, shell_number(f.shell, name));
		}
		snprintf(line, sizeof line, "set %s 12x", name);
		snprintf(says, sizeof says, "# The value of `%s' must be an integer.\n", name);
		SAYS(line, says);
		snprintf(line, sizeof line, "set %s", name);
		snprintf(says, sizeof says,
			 "# `%s' is a numeric variable: it takes exactly one value.\n", name);
		SAYS(line, says);
		snprintf(line, sizeof line, "set %s 1 2", name);
		SAYS(line, says);
		snprintf(line, sizeof line, "unset %s", name);
		snprintf(says, sizeof says,
			 "# `%s' cannot be unset: it must always have a value.\n", name);
		SAYS(line, says);
	}
	SAYS("set maxhits +05", "");
	SAYS("show maxhits", "# `maxhits' (type numeric) has the value `5'.\n");
	SAYS("set maxhits -", "# The value of `maxhits' must be an integer.\n");
	SAYS("set maxhits 99999999999999999999999",
	     "# The value of `maxhits' must be in the range [0,1000].\n");
	SAYS("set maxhits -99999999999999999999999",
	     "# The value of `maxhits' must be in the range [0,1000].\n");
}

static void strings_take_words_and_some_take_only_their_own(void **state)
{
	(void)state;
	static const struct {
		const char *name, *good;
	} lists[] = {{"search", "regex"},
		     {"sortby", "rtime"},
		     {"output_format", "machine"},
		     {"compress", "compress"},
		     {"encode", "uuencode"}};
	char line[100], says[200];
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		snprintf(line, sizeof line, "set %s %s", lists[i].name, lists[i].good);
		SAYS(line, "");
		assert_str(shell_value(f.shell, lists[i].name), lists[i].good);
		snprintf(line, sizeof line, "set %s Exact", lists[i].name);
		snprintf(says, sizeof says,
			 "# `Exact' is not a valid value of `%s': see `help set %s'.\n",
			 lists[i].name, lists[i].name);
		SAYS(line, says);
		assert_str(shell_value(f.shell, lists[i].name), lists[i].good);
	}
	SAYS("set search exact regex",
	     "# `exact regex' is not a valid value of `search': see `help set search'.\n");
	SAYS("set mailto", "# `mailto' is a string variable: it takes at least one value.\n");
	SAYS("set mailto  me   (My \"self  \")", "");
	SAYS("show mailto", "# `mailto' (type string) has the value `me (My self  )'.\n");
	SAYS("set pager on", "# `pager' is a boolean variable: it takes no value.\n");
	SAYS("set Search sub", "# `Search' is not a known variable in interactive mode.\n");
	SAYS("set sear sub", "# `sear' is not a known variable in interactive mode.\n");
	SAYS("unset nosuch", "# `nosuch' is not a known variable in interactive mode.\n");
}

static void what_must_have_a_value_keeps_it(void **state)
{
	(void)state;
	static const char *const kept[] = {
		"search",        "maxhits",    "maxmatch",       "maxhitspm", "sortby",
		"output_format", "autologout", "max_split_size", "term",      "server"};
	static const char *const free_ones[] = {"match_domain", "match_path", "pager",  "status",
						"mailto",       "compress",   "encode", "language"};
	char line[100], says[200];
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		snprintf(line, sizeof line, "unset %s", kept[i]);
		snprintf(says, sizeof says,
			 "# `%s' cannot be unset: it must always have a value.\n", kept[i]);
		SAYS(line, says);
		assert_non_null(shell_value(f.shell, kept[i]).p);
	}
	for (size_t i = 0; i < ARRAY_LEN(free_ones); i++) {
		snprintf(line, sizeof line, "unset %s", free_ones[i]);
		SAYS(line, "");
		assert_null(shell_value(f.shell, free_ones[i]).p);
	}
}

static void what_the_administrator_sets_is_unknown_to_others(void **state)
{
	(void)state;
	static const char *const hidden[] = {"tmpdir",         "debug",          "prompt",
					     "niceness",       "help_dir",       "email_help_file",
					     "man_ascii_file", "man_roff_file",  "motd_file",
					     "servers_file",   "whatis_file",    "mail_from",
					     "mail_host",      "mail_service",   "pager_path",
					     "pager_opts",     "pager_help_opts"};
	char line[100], says[200];
	struct buf rc = BUF_INIT(1 << 16);
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
		snprintf(line, sizeof line, "set %s 7", hidden[i]);
		snprintf(says, sizeof says, "# `%s' is not a known variable in interactive mode.\n",
			 hidden[i]);
		SAYS(line, says);
		buf_printf(&rc, "set %s 7\nshow %s\n", hidden[i], hidden[i]);
	}
	begin_with(&(struct shell_texts){.rc = buf_str(&rc)});
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		assert_str(shell_value(f.shell, hidden[i]), "7");
	assert_prompt("7");
	/* the user's own may not */
	begin_with(&(struct shell_texts){.user_rc = STR("set prompt x\nset search exact\n")});
	assert_prompt("archie> ");
	assert_str(shell_value(f.shell, "search"), "exact");
	shell_begin(f.shell);
	assert_non_null(strstr(buf_text(&f.printed),
			       "# `prompt' is not a known variable in user rc mode.\n"));
	buf_free(&rc);
}

static void defaults_of_hidden_variables_are_the_old_ones(void **state)
{
	(void)state;
	assert_str(shell_value(f.shell, "motd_file"), "etc/motd.telnet");
	assert_str(shell_value(f.shell, "servers_file"), "etc/serverlist");
	assert_str(shell_value(f.shell, "email_help_file"), "etc/email.help");
	assert_str(shell_value(f.shell, "whatis_file"), "etc/whatis");
	assert_str(shell_value(f.shell, "mail_service"), "archiemail");
	assert_str(shell_value(f.shell, "pager_path"), "less");
	assert_str(shell_value(f.shell, "pager_help_opts"), "-c");
	assert_str(shell_value(f.shell, "tmpdir"), "db/tmp");
	assert_int_equal(4, shell_number(f.shell, "niceness"));
	assert_int_equal(0, shell_number(f.shell, "debug"));
}

static void a_value_has_at_most_256_bytes(void **state)
{
	(void)state;
	struct buf rc = BUF_INIT(1 << 16), warnings = BUF_INIT(1 << 16);
	buf_add_text(&rc, "set mailto ");
	buf_fill(&rc, 'a', 256);
	buf_add_text(&rc, "\nset match_path ");
	buf_fill(&rc, 'a', 257);
	buf_add_text(&rc, "\nset prompt ");
	buf_fill(&rc, 'a', 1024);
	const struct shell_texts texts = {.rc = buf_str(&rc)};
	struct shell *s = shell_new_warned(
		&(struct shell_options){.texts = &texts, .ops = &fake_ops, .ctx = &f}, &warnings);
	assert_int_equal(256, shell_value(s, "mailto").n);
	assert_null(shell_value(s, "match_path").p);
	assert_string_equal("line 2: The value of `match_path' is too long: at most 256 bytes.\n"
			    "line 3: The line is too long: at most 1024 bytes.\n",
			    buf_text(&warnings));
	shell_free(&s);
	buf_free(&rc);
	buf_free(&warnings);
}

static void a_terminal_is_known_or_refused(void **state)
{
	(void)state;
	SAYS("set term vt100", "");
	assert_string_equal("terminal vt100 24 80\n", buf_text(&f.log));
	SAYS("set term xterm 50 132", "");
	assert_string_equal("terminal xterm 50 132\n", buf_text(&f.log));
	SAYS("show term", "# `term' (type string) has the value `xterm 50 132'.\n");
	SAYS("term vt220 25", "# Terminal type set to `vt220 25 132'.\n");
	assert_string_equal("terminal vt220 25 132\n", buf_text(&f.log));
	SAYS("set term vt9000", "# The terminal type `vt9000' is unknown to this system.\n");
	SAYS("set term vt100 x", "# The number of rows must be numeric.\n");
	SAYS("set term vt100 24 x", "# The number of columns must be numeric.\n");
	SAYS("set term vt100 1", "# The number of rows must be in the range [2,1000].\n");
	SAYS("set term vt100 24 1001", "# The number of columns must be in the range [20,1000].\n");
	SAYS("set term vt100 24 80 5", "# A terminal has a type, rows and columns, and no more.\n");
	SAYS("show term", "# `term' (type string) has the value `vt220 25 132'.\n");
	shell_terminal_is(f.shell, &(struct shell_terminal){STR("nosuch"), 30, 0, false});
	SAYS("show term", "# `term' (type string) has the value `vt220 30 132'.\n");
	shell_terminal_is(f.shell, &(struct shell_terminal){STR("xterm"), 0, 100, false});
	SAYS("show term", "# `term' (type string) has the value `xterm 30 100'.\n");
}

static void the_pager_is_the_interface_s(void **state)
{
	(void)state;
	SAYS("pager", "");
	assert_string_equal("terminal dumb 24 80 pager\n", buf_text(&f.log));
	SAYS("nopager", "");
	assert_string_equal("terminal dumb 24 80\n", buf_text(&f.log));
	SAYS("set pager", "");
	SAYS("show pager", "# `pager' (type boolean) is set.\n");
	SAYS("unset pager", "");
	assert_string_equal("terminal dumb 24 80\n", buf_text(&f.log));
}

static void stty_knows_the_erase_character(void **state)
{
	(void)state;
	SAYS("stty", "# `erase' character is `^H'.\n");
	SAYS("stty erase ^?", "");
	assert_string_equal("erase 127\n", buf_text(&f.log));
	SAYS("stty", "# `erase' character is `^?'.\n");
	SAYS("stty erase \"^h\"", "");
	assert_string_equal("erase 8\n", buf_text(&f.log));
	SAYS("stty erase #", "");
	SAYS("stty", "# `erase' character is `#'.\n");
	SAYS("stty erase \b", "");
	SAYS("stty", "# `erase' character is `^H'.\n");
	SAYS("stty erase", "# `stty' requires a character after each option.\n");
	SAYS("stty erase abc", "# `abc' is not a character.\n");
	SAYS("stty erase \"\"", "# `' is not a character.\n");
	SAYS("stty kill x", "# `kill' is not an option of `stty': there is only `erase'.\n");
}

static void other_servers_and_languages_are_told_about(void **state)
{
	(void)state;
	SAYS("set server archie.au",
	     "# This server, archie.x.org, answers for itself: it does not ask `archie.au'.\n");
	SAYS("show server", "# `server' (type string) has the value `archie.au'.\n");
	SAYS("set server Archie.X.org", "");
	SAYS("set server localhost", "");
	SAYS("set language french", "# Cannot set language to `french': there is no help in it.\n");
	SAYS("unset language", "");
	SAYS("set language english", "");
}

static void compress_and_term_are_short_for_set(void **state)
{
	(void)state;
	SAYS("compress", "");
	assert_str(shell_value(f.shell, "compress"), "compress");
}

int main(void)
{
	setenv("TZ", "UTC", 1);
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, begin_plain, end_shell)
	const struct CMUnitTest tests[] = {
		PLAIN(show_tells_of_all_that_users_have),
		PLAIN(every_number_has_its_range),
		PLAIN(strings_take_words_and_some_take_only_their_own),
		PLAIN(what_must_have_a_value_keeps_it),
		PLAIN(what_the_administrator_sets_is_unknown_to_others),
		PLAIN(defaults_of_hidden_variables_are_the_old_ones),
		PLAIN(a_value_has_at_most_256_bytes),
		PLAIN(a_terminal_is_known_or_refused),
		PLAIN(the_pager_is_the_interface_s),
		PLAIN(stty_knows_the_erase_character),
		PLAIN(other_servers_and_languages_are_told_about),
		PLAIN(compress_and_term_are_short_for_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
