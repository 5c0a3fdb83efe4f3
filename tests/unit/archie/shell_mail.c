/* Mail: out of a session, and as the way to talk to the shell. */
#include "shell_fake.h"

static struct fake f;
static const struct shell_texts no_texts;

static int begin_plain(void **state)
{
	(void)state;
	fake_begin(&f, &(struct shell_options){.texts = &no_texts, .host = "archie.x.org"});
	return 0;
}

static int begin_mail(void **state)
{
	(void)state;
	fake_begin(&f, &(struct shell_options){.texts = &no_texts,
					       .mode = SHELL_EMAIL,
					       .mailto = STR("me@x.org"),
					       .niceness = ARCHIE_NICE_MOST,
					       .from = STR("192.0.2.9")});
	return 0;
}

static int end_shell(void **state)
{
	(void)state;
	fake_end(&f);
	return 0;
}

/* Everything that the line prints. */
#define SAYS(line, want) assert_string_equal(want, fake_line(&f, line))

static const struct archie_row some[] = {
	{.host = STR("h"), .address = STR("1"), .file = {.name = STR("a"), .dir = STR("d")}},
	{.host = STR("h"), .address = STR("1"), .file = {.name = STR("b"), .dir = STR("d")}},
	{.host = STR("h"), .address = STR("1"), .file = {.name = STR("c"), .dir = STR("e")}},
};

/* Mail out of a session. */

static void the_last_output_is_mailed(void **state)
{
	(void)state;
	f.row = some;
	f.rows = 1;
	SAYS("mail", "# You must give an address, or set `mailto'.\n");
	SAYS("mail a@b", "# There is nothing to mail yet.\n");
	fake_line(&f, "set output_format machine");
	fake_line(&f, "find \"a  b\" ");
	SAYS("show mailto", "# `mailto' (type string) is not set.\n");
	SAYS("mail a@b", "# Mailed to `a@b'.\n");
	assert_string_equal("mail to=a@b command=find \"a  b\" split=51200\n"
			    "19700101000000Z h 0 ---------- /d/a\n--\n",
			    buf_text(&f.log));
	fake_line(&f, "set mailto me@x.org");
	fake_line(&f, "set max_split_size 2000");
	fake_line(&f, "compress");
	SAYS("mail", "# You must also specify an encoding: `set encode uuencode'.\n");
	fake_line(&f, "set encode uuencode");
	SAYS("mail", "# Mailed to `me@x.org'.\n");
	assert_string_equal("mail to=me@x.org command=find \"a  b\" compress encode split=2000\n"
			    "19700101000000Z h 0 ---------- /d/a\n--\n",
			    buf_text(&f.log));
	fake_line(&f, "unset compress"); /* the encoding counts for nothing then */
	fake_line(&f, "mail");
	assert_non_null(strstr(buf_text(&f.log), "\"a  b\" split=2000"));
	f.words = "three mails a session";
	SAYS("mail", "# Cannot mail: three mails a session\n");
}

static void an_interface_without_mail_refuses_it(void **state)
{
	(void)state;
	static const struct shell_ops ops = {.print = fake_print, .ask = fake_ask};
	fake_end(&f);
	fake_begin(&f, &(struct shell_options){.texts = &no_texts, .ops = &ops});
	SAYS("mail a@b", "# No mail is sent from here.\n");
	SAYS("addnewsite ftp.x.org", "# No requests for new sites are taken here.\n");
	SAYS("pager", "");
	SAYS("stty erase x", "");
}

static void new_sites_are_requested_of_the_master(void **state)
{
	(void)state;
	SAYS("addnewsite ftp.x.org", "# The request to index `ftp.x.org' goes to the master.\n");
	assert_string_equal("new site ftp.x.org\n", buf_text(&f.log));
	f.words = "five a day";
	SAYS("addnewsite ftp.x.org", "# Cannot request `ftp.x.org': five a day\n");
}

static void what_is_kept_is_bounded(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(SHELL_OUTPUT_MOST);
	struct buf name = BUF_INIT(1 << 20);
	enum { ROWS = 100 };
	struct archie_row *row = mem_array(ROWS, sizeof *row);
	buf_fill(&name, 'n', 60 << 10);
	for (int i = 0; i < ROWS; i++) {
		row[i] = some[0];
		row[i].file.name = buf_str(&name);
	}
	f.row = row;
	f.rows = ROWS;
	fake_line(&f, "set maxhits 50");
	fake_line(&f, "find x y");
	size_t seen = f.results.n;
	fake_line(&f, "mail a@b");
	assert_true(seen > SHELL_OUTPUT_MOST);
	assert_true(f.log.n < SHELL_OUTPUT_MOST + 1000);
	assert_true(str_ends(buf_str(&f.log),
			     STR("# The rest is left out: more than 4194304 bytes.\n--\n")));
	mem_free(&row);
	buf_free(&text);
	buf_free(&name);
}

/* In a mail. */

/* The mail that the end hands over. */
static const char *end_mail(void)
{
	struct err err;
	buf_clear(&f.log);
	assert_int_equal(0, shell_end(f.shell, &err));
	assert_int_equal(0, f.printed.n);
	return buf_text(&f.log);
}

static void play_mail(const char *lines)
{
	struct str rest = str_of(lines), line;
	shell_begin(f.shell);
	while (str_cut(&rest, '\n', &line) == 0)
		if (shell_line(f.shell, line) != 0)
			break;
}

static void a_mail_is_answered_with_all_output(void **state)
{
	(void)state;
	f.row = some;
	f.rows = 2;
	play_mail("set output_format machine\n\nDear archie,\n  find a b \n>> quoted\n-- \n"
		  "Jane Doe\nset nosuch 1\nstty\nse\n \"find x\nversion\nquit\nfind c\n");
	assert_int_equal(ARCHIE_NICE_MOST, f.asked.niceness);
	assert_str(f.asked.from, "192.0.2.9");
	assert_string_equal("mail to=me@x.org command=version split=51200\n"
			    ">> set output_format machine\n"
			    ">> find a b\n"
			    "# Search type: sub.\n"
			    ">> a\n"
			    "19700101000000Z h 0 ---------- /d/a\n"
			    "19700101000000Z h 0 ---------- /d/b\n"
			    ">> b\n"
			    "19700101000000Z h 0 ---------- /d/a\n"
			    "19700101000000Z h 0 ---------- /d/b\n"
			    ">> set nosuch 1\n"
			    "# `nosuch' is not a known variable in e-mail mode.\n"
			    ">> stty\n"
			    "# The command `stty' is not available in e-mail mode.\n"
			    ">> version\n"
			    "# garner " GARNER_VERSION "\n"
			    ">> quit\n"
			    "--\n",
			    end_mail());
}

static void a_mail_without_a_question_gets_help(void **state)
{
	(void)state;
	play_mail("Hello there\n-- \nJane\n");
	const char *got = end_mail();
	static const char want[] =
		"mail to=me@x.org command=help split=51200\nHELP for the archie mail server\n";
	assert_int_equal(0, strncmp(got, want, sizeof want - 1));
}

static void help_in_a_mail_is_the_help_of_mails(void **state)
{
	(void)state;
	fake_end(&f);
	fake_begin(&f, &(struct shell_options){
			       .texts = &(struct shell_texts){.mail_help = STR("ours\n"),
							      .rc = STR("motd\nset search exact")},
			       .mode = SHELL_EMAIL,
			       .mailto = STR("me@x.org")});
	play_mail("help\nhelp set pager\nshow search\nshow pager\nterm vt100\nnopager\nset term x");
	assert_string_equal(
		"mail to=me@x.org command=show pager split=51200\n"
		">> help\n"
		"ours\n"
		">> help set pager\n"
		"pager (boolean, at first not set): long output stops when the screen is full.\n"
		"A blank shows the next page, Return the next line, and q leaves the rest out.\n"
		"Where your terminal sends whole lines, Return shows the next page.\n"
		">> show search\n"
		"# `search' (type string) has the value `exact'.\n"
		">> show pager\n"
		"# `pager' is not a known variable.\n"
		">> term vt100\n"
		">> nopager\n"
		">> set term x\n"
		"# `term' is not a known variable in e-mail mode.\n"
		"--\n",
		end_mail());
}

static void path_and_mail_say_where_it_goes(void **state)
{
	(void)state;
	f.row = some;
	f.rows = 1;
	play_mail("path  you@y.org (You)\nset output_format machine\nmail\nfind a\nmail\nmail x@y\n"
		  "version");
	assert_string_equal("mail to=you@y.org (You) command=find a split=51200\n"
			    ">> path  you@y.org (You)\n"
			    ">> set output_format machine\n"
			    ">> mail\n"
			    "# There is nothing to mail yet.\n"
			    ">> find a\n"
			    "# Search type: sub.\n"
			    "19700101000000Z h 0 ---------- /d/a\n"
			    ">> mail\n"
			    "--\n",
			    buf_text(&f.log));
	assert_string_equal("mail to=you@y.org (You) command=version split=51200\n"
			    ">> mail x@y\n"
			    "# There is nothing to mail yet.\n"
			    ">> version\n"
			    "# garner " GARNER_VERSION "\n"
			    "--\n",
			    end_mail());
}

static void a_mail_that_was_sent_already_is_not_sent_again(void **state)
{
	(void)state;
	play_mail("version\nmail\nunset mailto");
	assert_non_null(strstr(buf_text(&f.log), "mail to=me@x.org command=version"));
	assert_string_equal("", end_mail());
}

static void the_reply_address_is_never_lost(void **state)
{
	(void)state;
	play_mail("unset mailto\nversion\nmail");
	assert_string_equal("mail to=me@x.org command=version split=51200\n"
			    ">> unset mailto\n"
			    ">> version\n"
			    "# garner " GARNER_VERSION "\n"
			    ">> mail\n"
			    "# You must give an address, or set `mailto'.\n"
			    "--\n",
			    end_mail());
}

static void a_mail_that_cannot_be_compressed_is_sent_as_it_is(void **state)
{
	(void)state;
	play_mail("compress\nversion\nmail");
	assert_string_equal(
		"mail to=me@x.org command=version split=51200\n"
		">> compress\n"
		">> version\n"
		"# garner " GARNER_VERSION "\n"
		">> mail\n"
		"# You must also specify an encoding: `set encode uuencode'.\n"
		"# Not compressed: you must also specify an encoding, `set encode uuencode'.\n"
		"--\n",
		end_mail());
	play_mail("set encode uuencode");
	assert_non_null(strstr(end_mail(), "command=version compress encode split"));
}

static void long_lines_of_a_mail_are_ignored_unless_they_are_commands(void **state)
{
	(void)state;
	char line[400];
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = 0;
	shell_begin(f.shell);
	fake_line(&f, line);
	memcpy(line, "find ", 5);
	fake_line(&f, line);
	memcpy(line, "find \"", 6);
	line[40] = 0;
	fake_line(&f, line);
	fake_line(&f, "Signed \"x");
	line[40] = 'x';
	line[256] = 0;
	memcpy(line, "find x", 6);
	struct buf want = BUF_INIT(2000);
	buf_printf(&want, ">> %s\n# The line is too long: at most 256 bytes.\n>> find \"", line);
	buf_fill(&want, 'x', 34);
	buf_add_text(&want, "\n# A quote is not closed.\nHELP for");
	char *got = strstr(end_mail(), "\n>> ") + 1;
	got[want.n] = 0;
	assert_string_equal(buf_text(&want), got);
	buf_free(&want);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, begin_plain, end_shell)
#define MAIL(test) cmocka_unit_test_setup_teardown(test, begin_mail, end_shell)
	const struct CMUnitTest tests[] = {
		PLAIN(the_last_output_is_mailed),
		PLAIN(an_interface_without_mail_refuses_it),
		PLAIN(new_sites_are_requested_of_the_master),
		PLAIN(what_is_kept_is_bounded),
		MAIL(a_mail_is_answered_with_all_output),
		MAIL(a_mail_without_a_question_gets_help),
		MAIL(help_in_a_mail_is_the_help_of_mails),
		MAIL(path_and_mail_say_where_it_goes),
		MAIL(a_mail_that_was_sent_already_is_not_sent_again),
		MAIL(the_reply_address_is_never_lost),
		MAIL(a_mail_that_cannot_be_compressed_is_sent_as_it_is),
		MAIL(long_lines_of_a_mail_are_ignored_unless_they_are_commands),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
