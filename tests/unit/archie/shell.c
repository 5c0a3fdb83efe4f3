/* Lines, commands, searches, texts and help. */
#include "../scratch.h"
#include "archie/shell/shell_inner.h"
#include "base/file.h"
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

/* Lexing. */

static void assert_words(const char *line, const char *want)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct buf got = BUF_INIT(1 << 16);
	struct str *word;
	size_t n;
	if (shell_lex(str_of(line), &arena, &word, &n) < 0)
		buf_add_text(&got, "!");
	else
		for (size_t i = 0; i < n; i++)
			buf_printf(&got, "<" STR_FMT ">", STR_ARG(word[i]));
	assert_string_equal(want, buf_text(&got));
	buf_free(&got);
	arena_free(&arena);
}

static void words_are_separated_by_blanks_and_joined_by_quotes(void **state)
{
	(void)state;
	assert_words("", "");
	assert_words(" \t ", "");
	assert_words("a  b\tc ", "<a><b><c>");
	assert_words("a \"b  c\" d", "<a><b  c><d>");
	assert_words("a\"b c\"d", "<ab cd>");
	assert_words("\"\"", "<>");
	assert_words("a \"\" \"\"b", "<a><><b>");
	assert_words("a\\ b \\\"c \\\\", "<a b><\"c><\\>");
	assert_words("\"a\\\"b\\\\ c\"", "<a\"b\\ c>");
	assert_words("\\x", "<x>");
	assert_words("a\\", "<a\\>");
	assert_words("\"a", "!");
	assert_words("a b\"", "!");
	assert_words("\"a\\\"", "!");
}

static void what_is_too_long_gets_a_line(void **state)
{
	(void)state;
	char line[400];
	memset(line, 'a', sizeof line);
	line[257] = 0;
	SAYS(line, "# The line is too long: at most 256 bytes.\n");
	line[256] = 0;
	SAYS(line, "# The command is too long: at most 128 bytes.\n");
	line[129] = 0;
	SAYS(line, "# The command is too long: at most 128 bytes.\n");
	fake_line(&f, "set search regex");
	memset(line, 'a', sizeof line);
	memcpy(line, "find ", 5);
	line[5 + 129] = 0;
	SAYS(line, "# The expression is too long: at most 128 bytes.\n");
	assert_int_equal(0, f.asks);
	line[5 + 128] = 0;
	SAYS(line, "# Search type: regex.\n\n# No matches were found.\n");
	fake_line(&f, "set search sub");
	line[5 + 128] = line[5 + 129] = 'a';
	line[250] = 0;
	SAYS(line, "# Search type: sub.\n\n# No matches were found.\n");
	memcpy(line, "list ", 5);
	SAYS(line, "# The expression is too long: at most 128 bytes.\n");
}

static void an_unclosed_quote_is_an_error(void **state)
{
	(void)state;
	SAYS("find \"a b", "# A quote is not closed.\n");
	assert_int_equal(0, f.asks);
}

/* Commands. */

static void a_command_is_known_by_its_beginning_in_any_case(void **state)
{
	(void)state;
	SAYS("VERSION", "# garner " GARNER_VERSION "\n");
	SAYS("v", "# garner " GARNER_VERSION "\n");
	SAYS("Ver", "# garner " GARNER_VERSION "\n");
	SAYS("f x", "# Search type: sub.\n\n# No matches were found.\n");
	SAYS("pro x", "# Search type: sub.\n\n# No matches were found.\n");
	SAYS("s", "# `s' is a non-unique command prefix: site, servers, set, show, stty.\n");
	SAYS("se", "# `se' is a non-unique command prefix: servers, set.\n");
	SAYS("set", "# `set' requires at least one argument.\n");
	SAYS("   version  ", "# garner " GARNER_VERSION "\n");
	/* path and done are of elsewhere, and do not count here */
	SAYS("do", "# This server knows no pseudo-domains.\n");
	SAYS("pag x", "# `pager' takes no arguments.\n");
}

static void what_cannot_be_here_gets_a_line(void **state)
{
	(void)state;
	SAYS("frobnicate it",
	     "# Unrecognised command `frobnicate' in interactive mode; see `help'.\n");
	SAYS("\"\" x", "# Unrecognised command `' in interactive mode; see `help'.\n");
	SAYS("versions", "# Unrecognised command `versions' in interactive mode; see `help'.\n");
	SAYS("path me@x.org", "# The command `path' is not available in interactive mode.\n");
	SAYS("disable_command find",
	     "# The command `disable_command' is not available in interactive mode.\n");
	SAYS("done", "# The command `done' is not available in interactive mode.\n");
	SAYS("a\033b", "# Unrecognised command `a?b' in interactive mode; see `help'.\n");
}

static void comments_and_empty_lines_say_nothing(void **state)
{
	(void)state;
	SAYS("", "");
	SAYS("  \t", "");
	SAYS("# a \"comment", "");
	SAYS("#comment", "");
	assert_false(shell_remembers(STR(" \t")));
	assert_true(shell_remembers(STR(" x")));
}

static void arguments_are_counted(void **state)
{
	(void)state;
	SAYS("find", "# `find' requires at least one argument.\n");
	SAYS("prog", "# `prog' requires at least one argument.\n");
	SAYS("whatis", "# `whatis' requires a single argument.\n");
	SAYS("whatis a b", "# `whatis' requires a single argument.\n");
	SAYS("site", "# `site' requires a single argument.\n");
	SAYS("unset", "# `unset' requires a single argument.\n");
	SAYS("unset mailto compress", "# `unset' requires a single argument.\n");
	SAYS("manpage roff x", "# `manpage' takes no more than one argument.\n");
	SAYS("mail a b", "# `mail' takes no more than one argument.\n");
	SAYS("compress x", "# `compress' takes no arguments.\n");
	SAYS("motd x", "# `motd' takes no arguments.\n");
	SAYS("domains x", "# `domains' takes no arguments.\n");
	SAYS("servers x", "# `servers' takes no arguments.\n");
	SAYS("pager x", "# `pager' takes no arguments.\n");
	SAYS("nopager x", "# `nopager' takes no arguments.\n");
	SAYS("version x", "# `version' takes no arguments.\n");
	SAYS("term", "# `term' requires at least one argument.\n");
	SAYS("term a b c d", "# `term' takes no more than 3 arguments.\n");
	SAYS("addnewsite", "# `addnewsite' requires a single argument.\n");
}

static void leaving_is_known_by_three_names(void **state)
{
	(void)state;
	static const char *const names[] = {"bye", "exit", "quit", "q", "BYE now"};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(1, shell_line(f.shell, str_of(names[i])));
	assert_int_equal(1, shell_eof(f.shell));
	fake_clear(&f);
	assert_int_equal(0, shell_end(f.shell, &err));
	assert_string_equal("# Bye.\n", buf_text(&f.printed));
}

static void a_session_begins_with_what_holds(void **state)
{
	(void)state;
	shell_begin(f.shell);
	assert_string_equal("# garner " GARNER_VERSION ", the archive of files at archie.x.org.\n"
			    "# Terminal type set to `dumb 24 80'.\n"
			    "# `erase' character is `^H'.\n"
			    "# `search' (type string) has the value `sub'.\n",
			    buf_text(&f.printed));
	assert_prompt("archie> ");
}

/* Searching. */

static void find_asks_with_all_that_is_set(void **state)
{
	(void)state;
	static const char *const lines[] = {"set search regex",
					    "set maxhits 7",
					    "set maxmatch 5",
					    "set maxhitspm 3",
					    "set match_domain usa:De.:uni-x.fr",
					    "set match_path Pub::gnu mirror",
					    "set sortby rsize",
					    "unset status"};
	static const struct domain usa[] = {{STR("usa"), STR("edu:com"), STR(""), 1}};
	begin_with(&(struct shell_texts){.domains = {usa, 1}});
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		SAYS(lines[i], "");
	SAYS("find ^a", "# Search type: regex, Domain: usa:De.:uni-x.fr, Path: Pub::gnu mirror.\n"
			"\n# No matches were found.\n");
	const struct names_query *q = &f.asked.query;
	assert_int_equal(ARCHIE_FIND, f.asked.what);
	assert_int_equal(NAMES_REGEX, q->type);
	assert_int_equal(NAMES_ED, q->syntax);
	assert_str(q->pattern, "^a");
	assert_int_equal(7, q->maxhits);
	assert_int_equal(5, q->maxmatch);
	assert_int_equal(3, q->maxhitspm);
	assert_int_equal(4, q->domains);
	assert_str(q->domain[0], "edu");
	assert_str(q->domain[1], "com");
	assert_str(q->domain[2], "de");
	assert_str(q->domain[3], "uni-x.fr");
	assert_int_equal(2, q->components);
	assert_str(q->component[0], "Pub");
	assert_str(q->component[1], "gnu mirror");
	assert_int_equal(NAMES_BY_SIZE, q->sort);
	assert_true(q->reverse);
	assert_false(f.asked.verbose);
	assert_int_equal(0, f.asked.niceness);
}

static void find_asks_for_the_usual_where_nothing_is_set(void **state)
{
	(void)state;
	fake_line(&f, "find x");
	const struct names_query *q = &f.asked.query;
	assert_int_equal(NAMES_SUB, q->type);
	assert_int_equal(100, q->maxhits);
	assert_int_equal(100, q->maxmatch);
	assert_int_equal(100, q->maxhitspm);
	assert_int_equal(NAMES_BY_NOTHING, q->sort);
	assert_int_equal(0, q->domains + q->components);
	assert_true(f.asked.verbose);
	fake_line(&f, "set maxhits 0");
	fake_line(&f, "set maxmatch 0");
	fake_line(&f, "set maxhitspm 0");
	fake_line(&f, "find x");
	assert_int_equal(100, q->maxhits);
	assert_int_equal(100, q->maxmatch);
	assert_int_equal(20, q->maxhitspm);
}

static void every_type_and_order_has_its_word(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		enum names_type type;
	} types[] = {{"set search exact", NAMES_EXACT},
		     {"set search sub", NAMES_SUB},
		     {"set search subcase", NAMES_SUBCASE},
		     {"set search regex", NAMES_REGEX},
		     {"set search exact_sub", NAMES_EXACT_SUB},
		     {"set search exact_subcase", NAMES_EXACT_SUBCASE},
		     {"set search exact_regex", NAMES_EXACT_REGEX}};
	static const struct {
		const char *line;
		enum names_sort sort;
		bool reverse;
	} sorts[] = {{"set sortby filename", NAMES_BY_NAME, false},
		     {"set sortby rfilename", NAMES_BY_NAME, true},
		     {"set sortby hostname", NAMES_BY_HOST, false},
		     {"set sortby rhostname", NAMES_BY_HOST, true},
		     {"set sortby size", NAMES_BY_SIZE, false},
		     {"set sortby rsize", NAMES_BY_SIZE, true},
		     {"set sortby time", NAMES_BY_TIME, false},
		     {"set sortby rtime", NAMES_BY_TIME, true},
		     {"set sortby none", NAMES_BY_NOTHING, false},
		     {"set sortby rnone", NAMES_BY_NOTHING, false},
		     {"set sortby nothing", NAMES_BY_NOTHING, false},
		     {"set sortby rnothing", NAMES_BY_NOTHING, false}};
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		SAYS(types[i].line, "");
		fake_line(&f, "find x");
		assert_int_equal(types[i].type, f.asked.query.type);
	}
	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		SAYS(sorts[i].line, "");
		fake_line(&f, "find x");
		assert_int_equal(sorts[i].sort, f.asked.query.sort);
		assert_int_equal(sorts[i].reverse, f.asked.query.reverse);
	}
}

static const struct archie_row some[] = {
	{.host = STR("h"), .address = STR("1"), .file = {.name = STR("a"), .dir = STR("d")}},
	{.host = STR("h"), .address = STR("1"), .file = {.name = STR("b"), .dir = STR("d")}},
	{.host = STR("h"), .address = STR("1"), .file = {.name = STR("c"), .dir = STR("e")}},
};

static void several_patterns_are_searched_in_turn(void **state)
{
	(void)state;
	fake_line(&f, "set output_format machine");
	SAYS("find a \"b c\"", "# Search type: sub.\n>> a\n\n# No matches were found.\n>> b c\n"
			       "\n# No matches were found.\n");
	assert_int_equal(2, f.asks);
	assert_str(f.asked.query.pattern, "b c");
	/* what was not found is in the output then, and with one pattern it is not */
	fake_line(&f, "mail x");
	assert_string_equal("mail to=x command=find a \"b c\" split=51200\n"
			    ">> a\n\n# No matches were found.\n>> b c\n"
			    "\n# No matches were found.\n--\n",
			    buf_text(&f.log));
	fake_line(&f, "find a");
	SAYS("mail x", "# There is nothing to mail yet.\n");
}

static void a_search_that_is_refused_says_why_in_one_line(void **state)
{
	(void)state;
	static const struct {
		enum archie_refusal why;
		const char *says;
	} refusals[] = {
		{ARCHIE_BAD, "# words of\tit\n"},
		{ARCHIE_BUSY, "# The server is busy: words of\tit\n"},
		{ARCHIE_FAILED, "# The search failed: words of\tit\n"},
		{ARCHIE_EMPTY, "# words of\tit\n"},
		{ARCHIE_CANCELLED, "# Aborted.\n"},
		{ARCHIE_AWAY, "# Timed out (ardp): the archive cannot be searched now.\n"},
	};
	f.words = "words\nof\tit";
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		f.refusal = refusals[i].why;
		SAYS("list", refusals[i].says);
	}
	f.asks = 0;
	SAYS("find a b c", "# Search type: sub.\n>> a\n# Timed out (ardp): the archive cannot be "
			   "searched now.\n");
	assert_int_equal(1, f.asks);
}

static void what_is_cut_or_damaged_is_said(void **state)
{
	(void)state;
	f.cut = true;
	f.problem = "a part is lost";
	SAYS("find a",
	     "# Search type: sub.\n"
	     "# The answer was cut: there may be more.\n"
	     "# The database is damaged: files may be missing.\n\n# No matches were found.\n");
}

static void a_site_is_listed_in_parts_without_a_seam(void **state)
{
	(void)state;
	enum { FILES = 2500 };
	struct archie_row *row = mem_array(FILES, sizeof *row);
	for (int i = 0; i < FILES; i++)
		row[i] = some[i >= 1500 ? 2 : 0];
	f.row = row;
	f.rows = FILES;
	fake_line(&f, "site ftp.x.org");
	assert_int_equal(3, f.asks);
	assert_int_equal(ARCHIE_SITE, f.asked.what);
	assert_int_equal(1, f.asked.query.sites);
	assert_str(f.asked.query.site[0], "ftp.x.org");
	assert_int_equal(2000, f.asked.query.offset);
	size_t hosts = 0, folders = 0, lines = 0;
	struct str rest = buf_str(&f.results), line;
	while (str_cut(&rest, '\n', &line) == 0) {
		hosts += str_starts(line, STR("Host "));
		folders += str_starts(line, STR("    Location: "));
		lines += str_starts(line, STR("      FILE"));
	}
	assert_int_equal(1, hosts);
	assert_int_equal(2, folders);
	assert_int_equal(FILES, lines);
	/* a reader who has enough of it is not asked for more */
	f.asks = 0;
	f.enough = true;
	fake_line(&f, "site ftp.x.org");
	assert_int_equal(1, f.asks);
	/* one that breaks off says so, once there is something */
	f.asks = 0;
	f.enough = false;
	f.refusal = ARCHIE_CANCELLED;
	f.refused_from = 1;
	fake_line(&f, "site ftp.x.org");
	assert_true(
		str_ends(buf_str(&f.printed), STR("# Aborted.\n# The listing is not complete.\n")));
	f.refused_from = 0;
	SAYS("site x", "# Aborted.\n");
	f.refusal = ARCHIE_NOT_REFUSED;
	mem_free(&row);
	f.rows = 0;
	SAYS("site x", "\n# No matches were found.\n");
}

static void list_asks_for_each_expression(void **state)
{
	(void)state;
	SAYS("list", "\n# No matches were found.\n");
	assert_int_equal(ARCHIE_SITES, f.asked.what);
	assert_str(f.asked.query.pattern, "");
	assert_int_equal(NAMES_ED, f.asked.query.syntax);
	f.asks = 0;
	fake_line(&f, "list a$ b$");
	assert_int_equal(2, f.asks);
	assert_str(f.asked.query.pattern, "b$");
}

static void more_than_5000_sites_are_too_many(void **state)
{
	(void)state;
	struct archie_row *row = mem_array(5001, sizeof *row);
	for (int i = 0; i < 5001; i++)
		row[i] = some[0];
	f.row = row;
	f.rows = 5001;
	SAYS("list", "# There are too many sites: more than 5000.\n");
	f.rows = 5000;
	assert_int_equal('\n', fake_line(&f, "list")[0]);
	mem_free(&row);
}

static void a_description_that_is_not_there_is_said(void **state)
{
	(void)state;
	SAYS("whatis \"C compiler\"", "# Nothing found that matched 'C compiler'.\n");
	assert_int_equal(ARCHIE_WHATIS, f.asked.what);
	assert_str(f.asked.query.pattern, "C compiler");
}

/* Texts. */

static void texts_are_shown_as_they_are(void **state)
{
	(void)state;
	static const struct domain domain[] = {
		{STR("usa"), STR("edu:com:us"), STR("United States"), 1},
		{STR("a-name-of-16-char"), STR("x"), STR("A description of more than 20"), 2}};
	const struct shell_texts texts = {.motd = STR("Hello\n  all"),
					  .servers = STR("archie.au  Australia\n"),
					  .man_ascii = STR("own page\n"),
					  .domains = {domain, 2}};
	SAYS("motd", "# There is no message of the day.\n");
	SAYS("servers", "# This server knows of no others.\n");
	SAYS("domains", "# This server knows no pseudo-domains.\n");
	begin_with(&texts);
	SAYS("motd", "Hello\n  all\n");
	SAYS("servers", "archie.au  Australia\n");
	SAYS("manpage", "own page\n");
	SAYS("manpage ascii", "own page\n");
	SAYS("domains", "Pseudo-domains known to this server:\n\n"
			"usa             United States        edu:com:us\n"
			"a-name-of-16-char A description of more than 20 x\n");
	fake_line(&f, "set output_format terse");
	SAYS("domains", "Pseudo-domains known to this server:\n\n"
			"United States                            usa\n"
			"A description of more than 20            a-name-of-16-char\n");
	assert_int_equal(0, strncmp(fake_line(&f, "manpage nroff"), ".TH ARCHIE 1\n", 13));
}

static void the_manual_has_all_of_help(void **state)
{
	(void)state;
	const char *text = fake_line(&f, "manpage");
	assert_int_equal(0, strncmp(text, "ARCHIE(1)\n", 10));
	assert_non_null(strstr(text, "\nFIND\n    find PATTERN [PATTERN ...]\n\n    Searches"));
	assert_non_null(strstr(text, "\nSET SORTBY\n"));
	text = fake_line(&f, "manpage roff");
	assert_non_null(strstr(text, "\n.SH FIND\nfind PATTERN [PATTERN ...]\n.PP\n"));
	assert_non_null(strstr(text, "\n.SS SET SORTBY\n"));
	assert_non_null(strstr(text, "\n    find \\e\\e.tar\\e\\e.Z$\n.fi\n"));
}

static void rc_sets_prints_and_disables(void **state)
{
	(void)state;
	begin_with(&(struct shell_texts){
		.rc = STR("# rc\r\nset search exact\r\nset prompt \"? \"\nmotd\n"
			  "disable_command site LIST\nset nosuch 1\nquit\nset maxhits 7\n"),
		.user_rc = STR("set maxmatch 9\nfind x\nlist\nshow maxmatch"),
		.motd = STR("Welcome")});
	assert_string_equal("", buf_text(&f.printed));
	assert_int_equal(0, f.asks);
	assert_prompt("? ");
	assert_str(shell_value(f.shell, "search"), "exact");
	assert_str(shell_value(f.shell, "maxhits"), "100");
	shell_begin(f.shell);
	assert_int_equal(0, strncmp(buf_text(&f.printed),
				    "Welcome\n"
				    "# The command `find' is not available in user rc mode.\n"
				    "# The command `list' is disabled by the administrator.\n"
				    "# `maxmatch' (type numeric) has the value `9'.\n"
				    "# garner ",
				    100));
	SAYS("site x", "# The command `site' is disabled by the administrator.\n");
	SAYS("li", "# The command `list' is disabled by the administrator.\n");
	assert_int_equal(0, f.asks);
}

static void put_file(const char *name, const char *text)
{
	char path[600];
	struct err err;
	snprintf(path, sizeof path, "%s/archie/etc/%s", scratch_dir, name);
	assert_int_equal(0, dir_make(scratch("archie/etc"), 0700, &err));
	assert_int_equal(0, file_replace(path, str_of(text), 0600, &err));
}

static void texts_come_from_files(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(SHELL_TEXTS_MOST);
	struct buf warnings = BUF_INIT(1 << 16);
	struct shell_texts t;
	const struct str *member;
	uint32_t n;
	struct err err;
	/* none are there: ours hold */
	shell_texts_read(scratch_dir, &arena, &t, &warnings);
	assert_int_equal(0, warnings.n);
	assert_int_equal(0, t.rc.n + t.motd.n + t.servers.n + t.mail_help.n + t.man_roff.n);
	assert_int_equal(0, domains_expand(&t.domains, STR("world"), NAMES_LIST_MOST, &arena,
					   &member, &n, &err));
	assert_int_equal(62, n);
	put_file("archierc", "set motd_file etc/hello\nset man_roff_file etc/../../x\nmotd\n"
			     "set man_ascii_file etc/large\nset maxhits x\nset servers_file \"\"\n"
			     "set mail_from robot@x.org\n");
	put_file("hello", "Hello");
	put_file("motd.telnet", "not this");
	put_file("serverlist", "not this");
	put_file("ardomains.cf", "a b\nc\n");
	put_file("email.help", "ours");
	struct buf large = BUF_INIT(1 << 20);
	buf_fill(&large, 'x', SHELL_TEXT_MOST + 1);
	put_file("large", buf_text(&large));
	shell_texts_read(scratch_dir, &arena, &t, &warnings);
	assert_str(t.motd, "Hello");
	assert_str(t.mail_help, "ours");
	assert_str(t.mail_from, "robot@x.org");
	assert_int_equal(0, t.servers.n + t.man_ascii.n + t.man_roff.n);
	assert_int_equal(1, t.domains.n);
	assert_true(
		str_starts(buf_str(&warnings),
			   STR("etc/archierc: line 5: The value of `maxhits' must be an integer.\n"
			       "etc/large: more than 262144 bytes; it is left out\n")));
	assert_non_null(strstr(buf_text(&warnings), "\netc/../../x: "));
	assert_true(str_ends(buf_str(&warnings),
			     STR("\netc/ardomains.cf: line 2: expected a name and its members, "
				 "such as 'usa edu:com:us'\n")));
	buf_free(&large);
	buf_free(&warnings);
	arena_free(&arena);
}

static void a_loop_of_domains_aborts_the_search(void **state)
{
	(void)state;
	static const struct domain domain[] = {{STR("a"), STR("b"), STR(""), 1},
					       {STR("b"), STR("a"), STR(""), 2}};
	begin_with(&(struct shell_texts){.domains = {domain, 2}});
	fake_line(&f, "set match_domain a");
	SAYS("find x", "# Cannot search in the domains of `match_domain': the pseudo-domain 'a' is "
		       "in a loop.\n");
	assert_int_equal(0, f.asks);
}

static void too_many_limits_are_refused(void **state)
{
	(void)state;
	struct buf line = BUF_INIT(1000);
	buf_add_text(&line, "set match_path ");
	for (int i = 0; i < 65; i++)
		buf_add_text(&line, "a:");
	fake_line(&f, buf_text(&line));
	SAYS("find x", "# `match_path' has more than 64 parts.\n");
	assert_int_equal(0, f.asks);
	buf_free(&line);
}

/* Help. */

static void assert_help(const char *topic)
{
	char line[100];
	snprintf(line, sizeof line, "help %s", topic);
	if (fake_line(&f, line)[0] == '#')
		fail_msg("no help on %s", topic);
	shell_interrupt(f.shell);
}

static void every_command_and_variable_has_help(void **state)
{
	(void)state;
	char topic[100];
	for (const struct shell_command *c = shell_commands; c->name; c++)
		assert_help(c->name);
	for (int v = 0; v < SHELL_VARS; v++) {
		snprintf(topic, sizeof topic, "set %s", shell_vars[v].name);
		assert_help(topic);
	}
}

static void help_is_walked_through(void **state)
{
	(void)state;
	assert_int_equal(0, strncmp(fake_line(&f, "help"), "This server knows", 17));
	assert_prompt("help> ");
	/* a leaf: the level stays */
	assert_int_equal(0, strncmp(fake_line(&f, "find"), "find PATTERN", 12));
	assert_prompt("help> ");
	assert_int_equal(0, strncmp(fake_line(&f, "SET"), "set VARIABLE", 12));
	assert_prompt("help set> ");
	assert_int_equal(0, strncmp(fake_line(&f, "sortby"), "sortby (string", 14));
	assert_prompt("help set> ");
	SAYS("find", "# Cannot find help on `set find'; `done' leaves help.\n");
	assert_prompt("help set> ");
	assert_int_equal(0, strncmp(fake_line(&f, "?"),
				    "search              maxhits             maxmatch\n", 49));
	SAYS(".", "");
	assert_prompt("help> ");
	SAYS(".", "");
	assert_prompt("help> ");
	fake_line(&f, "set maxhits");
	assert_prompt("help set> ");
	SAYS("", "");
	assert_prompt("help> ");
	SAYS("find ?", "# `find' has no subtopics.\n");
	SAYS("\"x", "# A quote is not closed.\n");
	SAYS("", "");
	assert_prompt("archie> ");
	assert_int_equal(0, f.asks);
}

static void help_is_left_by_done_and_by_keys(void **state)
{
	(void)state;
	fake_line(&f, "help set");
	SAYS("Done", "");
	assert_prompt("archie> ");
	fake_line(&f, "help set search");
	assert_prompt("help set> ");
	assert_int_equal(0, shell_eof(f.shell));
	assert_prompt("archie> ");
	assert_int_equal(1, shell_eof(f.shell));
	fake_line(&f, "help");
	shell_interrupt(f.shell);
	assert_prompt("archie> ");
	shell_interrupt(f.shell);
	assert_prompt("archie> ");
}

static void help_that_is_not_there_is_said(void **state)
{
	(void)state;
	SAYS("help nosuch", "# Cannot find help on `nosuch'.\n");
	assert_prompt("archie> ");
	SAYS("help set nosuch", "# Cannot find help on `set nosuch'.\n");
	SAYS("help =", "# Cannot find help on `='.\n");
	assert_int_equal(0, strncmp(fake_line(&f, "help ?"), "find                prog", 24));
	assert_prompt("help> ");
	char line[300];
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = 0;
	SAYS(line, "# The line is too long: at most 256 bytes.\n");
}

/* Queue. */

static void places_in_the_queue_are_told_in_words(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1000);
	shell_queue_text(1, 61, &out);
	shell_queue_text(12, 120, &out);
	shell_queue_text(3, -1, &out);
	assert_string_equal("# Your queue position: 1\n"
			    "# Estimated time for completion: 1 minute, 1 second.\n"
			    "# Your queue position: 12\n"
			    "# Estimated time for completion: 2 minutes, 0 seconds.\n"
			    "# Your queue position: 3\n"
			    "# Estimated time for completion: 0 minutes, 0 seconds.\n",
			    buf_text(&out));
	buf_free(&out);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, begin_plain, end_shell)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_separated_by_blanks_and_joined_by_quotes),
		PLAIN(what_is_too_long_gets_a_line),
		PLAIN(an_unclosed_quote_is_an_error),
		PLAIN(a_command_is_known_by_its_beginning_in_any_case),
		PLAIN(what_cannot_be_here_gets_a_line),
		PLAIN(comments_and_empty_lines_say_nothing),
		PLAIN(arguments_are_counted),
		PLAIN(leaving_is_known_by_three_names),
		PLAIN(a_session_begins_with_what_holds),
		PLAIN(find_asks_with_all_that_is_set),
		PLAIN(find_asks_for_the_usual_where_nothing_is_set),
		PLAIN(every_type_and_order_has_its_word),
		PLAIN(several_patterns_are_searched_in_turn),
		PLAIN(a_search_that_is_refused_says_why_in_one_line),
		PLAIN(what_is_cut_or_damaged_is_said),
		PLAIN(a_site_is_listed_in_parts_without_a_seam),
		PLAIN(list_asks_for_each_expression),
		PLAIN(more_than_5000_sites_are_too_many),
		PLAIN(a_description_that_is_not_there_is_said),
		PLAIN(texts_are_shown_as_they_are),
		PLAIN(the_manual_has_all_of_help),
		PLAIN(rc_sets_prints_and_disables),
		cmocka_unit_test(texts_come_from_files),
		PLAIN(a_loop_of_domains_aborts_the_search),
		PLAIN(too_many_limits_are_refused),
		PLAIN(every_command_and_variable_has_help),
		PLAIN(help_is_walked_through),
		PLAIN(help_is_left_by_done_and_by_keys),
		PLAIN(help_that_is_not_there_is_said),
		cmocka_unit_test(places_in_the_queue_are_told_in_words),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
