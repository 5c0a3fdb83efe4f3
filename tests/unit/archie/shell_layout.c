/* Layouts, byte for byte, in a time zone five hours west of Greenwich. */
#include "shell_fake.h"

#define ENTRY(text, folder, what, modes, bytes, at)   \
	.file = {.name = {text, sizeof(text) - 1},    \
		 .dir = {folder, sizeof(folder) - 1}, \
		 .kind = what,                        \
		 .mode = modes,                       \
		 .size = bytes,                       \
		 .time_s = at}

static const struct archie_row files[] = {
	{.host = STR("ftp.a.org"),
	 .address = STR("192.0.2.1"),
	 .listed_s = 820551845,
	 .url = STR("ftp://ftp.a.org/pub/gnu/emacs.tar.Z"),
	 ENTRY("emacs.tar.Z", "pub/gnu", NAMES_FILE, "-rw-r--r--", 117523, 742942980)},
	{.host = STR("ftp.a.org"),
	 .address = STR("192.0.2.1"),
	 .listed_s = 820551845,
	 .url = STR("ftp://ftp.a.org/pub/gnu/emacs/"),
	 ENTRY("emacs", "pub/gnu", NAMES_DIR, "drwxr-xr-x", 512, 702450000)},
	{.host = STR("ftp.a.org"),
	 .address = STR("192.0.2.1"),
	 .listed_s = 820551845,
	 .url = STR("ftp://ftp.a.org/emacs"),
	 ENTRY("emacs", "", NAMES_LINK, "lrwxrwxrwx", 9, 742942980)},
	{.host = STR("www.b.org"),
	 .address = STR("192.0.2.22"),
	 .listed_s = 742942980,
	 .url = STR("http://www.b.org/mirror/x%20y/emacs%25"),
	 ENTRY("emacs%", "x y", NAMES_FILE, "", -1, -1)},
};

static struct fake f;
static const struct shell_texts texts;

static int begin_new(void **state)
{
	(void)state;
	fake_begin(&f, &(struct shell_options){.texts = &texts});
	f.row = files;
	f.rows = ARRAY_LEN(files);
	return 0;
}

static int begin_old(void **state)
{
	(void)state;
	fake_begin(&f, &(struct shell_options){.texts = &texts, .layout = SHELL_3_0});
	f.row = files;
	f.rows = ARRAY_LEN(files);
	return 0;
}

static int end_shell(void **state)
{
	(void)state;
	fake_end(&f);
	return 0;
}

static void assert_results(const char *format, const char *line, const char *want)
{
	char set[64];
	snprintf(set, sizeof set, "set output_format %s", format);
	assert_string_equal("", fake_line(&f, set));
	fake_line(&f, line);
	assert_string_equal(want, buf_text(&f.results));
}

static void verbose_shows_hosts_and_folders_once(void **state)
{
	(void)state;
	assert_results("verbose", "find emacs",
		       "\n\nHost ftp.a.org\t(192.0.2.1)\n"
		       "Last updated 22:04  1 Jan 1996\n"
		       "\n"
		       "    Location: /pub/gnu\n"
		       "      FILE    -rw-r--r--        117523  16:03 17 Jul 1993  emacs.tar.Z\n"
		       "      DIRECTORY    drwxr-xr-x           512  00:00  5 Apr 1992  emacs\n"
		       "\n"
		       "    Location: /\n"
		       "      FILE    lrwxrwxrwx             9  16:03 17 Jul 1993  emacs\n"
		       "\n\nHost www.b.org\t(192.0.2.22)\n"
		       "Last updated 16:03 17 Jul 1993\n"
		       "\n"
		       "    Location: /mirror/x y\n"
		       "      FILE    ----------             0                  -  emacs%\n");
}

static void verbose_of_3_0_has_words_after_sizes(void **state)
{
	(void)state;
	assert_results("verbose", "find emacs",
		       "Host ftp.a.org    (192.0.2.1)\n"
		       "Last updated 22:04  1 Jan 1996\n"
		       "\n"
		       "    Location: /pub/gnu\n"
		       "      FILE    -rw-r--r--  117523 bytes  16:03 17 Jul 1993  emacs.tar.Z\n"
		       "      DIRECTORY    drwxr-xr-x     512 bytes  00:00  5 Apr 1992  emacs\n"
		       "\n"
		       "    Location: /\n"
		       "      FILE    lrwxrwxrwx       9 bytes  16:03 17 Jul 1993  emacs\n"
		       "Host www.b.org    (192.0.2.22)\n"
		       "Last updated 16:03 17 Jul 1993\n"
		       "\n"
		       "    Location: /mirror/x y\n"
		       "      FILE    ----------       0 bytes                  -  emacs%\n");
}

static void terse_is_a_line_each(void **state)
{
	(void)state;
	assert_results("terse", "find emacs",
		       "ftp.a.org  16:03 17 Jul 1993  117523 /pub/gnu/emacs.tar.Z\n"
		       "ftp.a.org  00:00  5 Apr 1992     512 /pub/gnu/emacs\n"
		       "ftp.a.org  16:03 17 Jul 1993       9 /emacs\n"
		       "www.b.org                  -       0 /mirror/x y/emacs%\n");
}

static void terse_of_3_0_marks_directories(void **state)
{
	(void)state;
	assert_results("terse", "find emacs",
		       "ftp.a.org  16:03 17 Jul 1993 117523 bytes /pub/gnu/emacs.tar.Z\n"
		       "ftp.a.org  00:00  5 Apr 1992 512 bytes /pub/gnu/emacs/\n"
		       "ftp.a.org  16:03 17 Jul 1993 9 bytes /emacs\n"
		       "www.b.org                  - 0 bytes /mirror/x y/emacs%\n");
}

static void machine_has_the_time_of_greenwich(void **state)
{
	(void)state;
	assert_results("machine", "find emacs",
		       "19930717210300Z ftp.a.org 117523 -rw-r--r-- /pub/gnu/emacs.tar.Z\n"
		       "19920405050000Z ftp.a.org 512 drwxr-xr-x /pub/gnu/emacs\n"
		       "19930717210300Z ftp.a.org 9 lrwxrwxrwx /emacs\n"
		       "00000000000000Z www.b.org 0 ---------- /mirror/x y/emacs%\n");
}

static void machine_of_3_0_has_one_word_more(void **state)
{
	(void)state;
	assert_results("machine", "find emacs",
		       "19930717210300Z ftp.a.org 117523 bytes -rw-r--r-- /pub/gnu/emacs.tar.Z\n"
		       "19920405050000Z ftp.a.org 512 bytes drwxr-xr-x /pub/gnu/emacs/\n"
		       "19930717210300Z ftp.a.org 9 bytes lrwxrwxrwx /emacs\n"
		       "00000000000000Z www.b.org 0 bytes ---------- /mirror/x y/emacs%\n");
}

static void url_is_two_lines_and_an_empty_one(void **state)
{
	(void)state;
	assert_results("url", "find emacs",
		       "\n  ftp://ftp.a.org/pub/gnu/emacs.tar.Z\n"
		       "\t\tDate: 16:03 17 Jul 1993      Size: 117523 bytes\n"
		       "\n  ftp://ftp.a.org/pub/gnu/emacs\n"
		       "\t\tDate: 00:00  5 Apr 1992      Size: 512 bytes\n"
		       "\n  ftp://ftp.a.org/emacs\n"
		       "\t\tDate: 16:03 17 Jul 1993      Size: 9 bytes\n"
		       "\n  http://www.b.org/mirror/x%20y/emacs%25\n"
		       "\t\tDate:                 -      Size: 0 bytes\n");
}

static void a_file_without_a_url_has_the_path_of_its_listing(void **state)
{
	(void)state;
	struct archie_row row = files[0];
	row.url = STR("");
	f.row = &row;
	f.rows = 1;
	assert_results("url", "find emacs",
		       "\n  ftp://ftp.a.org/pub/gnu/emacs.tar.Z\n"
		       "\t\tDate: 16:03 17 Jul 1993      Size: 117523 bytes\n");
	row.file.dir = STR("");
	assert_results("terse", "find emacs",
		       "ftp.a.org  16:03 17 Jul 1993  117523 /emacs.tar.Z\n");
}

static void silent_is_seen_in_the_mail_alone(void **state)
{
	(void)state;
	f.rows = 1;
	assert_results("silent", "find emacs", "");
	fake_line(&f, "mail me@x.org");
	assert_string_equal(
		"mail to=me@x.org command=find emacs split=51200\n"
		"\n\nHost ftp.a.org\t(192.0.2.1)\n"
		"Last updated 22:04  1 Jan 1996\n"
		"\n"
		"    Location: /pub/gnu\n"
		"      FILE    -rw-r--r--        117523  16:03 17 Jul 1993  emacs.tar.Z\n"
		"--\n",
		buf_text(&f.log));
}

/* Names come from strangers, and terminals obey. */
static void control_characters_do_not_reach_the_terminal(void **state)
{
	(void)state;
	struct archie_row row = files[0];
	row.url = STR("");
	row.file.name = STR("a\033[2Jb\rc\177\302\233d\233e\303\251\351");
	f.row = &row;
	f.rows = 1;
	assert_results("terse", "find x",
		       "ftp.a.org  16:03 17 Jul 1993  117523 "
		       "/pub/gnu/a?[2Jb?c??\?d?e\303\251\351\n");
}

static const struct archie_row sites[] = {
	{.host = STR("ftp.a.org"), .address = STR("192.0.2.1"), .listed_s = 742942980},
	{.host = STR("a-very-long-name-of-forty-characters.b.org"),
	 .address = STR("2001:db8::1"),
	 .listed_s = 702450000},
};

static void list_has_a_format_for_people_and_two_for_programs(void **state)
{
	(void)state;
	static const char verbose[] =
		"\nftp.a.org                                      192.0.2.1     16:03 17 Jul 1993\n"
		"a-very-long-name-of-forty-characters.b.org     2001:db8::1     00:00  5 Apr "
		"1992\n";
	f.row = sites;
	f.rows = ARRAY_LEN(sites);
	assert_results("verbose", "list", verbose);
	assert_results("silent", "list", verbose);
	assert_results("url", "list", verbose);
	assert_results("terse", "list",
		       "ftp.a.org 192.0.2.1\n"
		       "a-very-long-name-of-forty-characters.b.org 2001:db8::1\n");
	assert_results("machine", "list",
		       "ftp.a.org 19930717210300Z\n"
		       "a-very-long-name-of-forty-characters.b.org 19920405050000Z\n");
}

static void descriptions_are_wrapped_to_the_terminal(void **state)
{
	(void)state;
	static const struct archie_row rows[] = {
		{.file.name = STR("gcc"),
		 .text = STR("The  C compiler of the project that is "
			     "not Unix, for many machines")},
		{.file.name = STR("a-line-without-any-description")},
		{.file.name = STR("twenty-six-letters-of-name"), .text = STR("one two three")},
	};
	f.row = rows;
	f.rows = ARRAY_LEN(rows);
	fake_line(&f, "whatis c");
	assert_string_equal(
		"gcc                       The C compiler of the project that is not Unix, for\n"
		"                          many machines\n"
		"a-line-without-any-description\n"
		"twenty-six-letters-of-name one two three\n",
		buf_text(&f.results));
	fake_line(&f, "set term dumb 24 37");
	f.row = &rows[2];
	f.rows = 1;
	fake_line(&f, "whatis c");
	assert_string_equal("twenty-six-letters-of-name one two\n"
			    "                          three\n",
			    buf_text(&f.results));
	fake_line(&f, "set term dumb 24 20");
	fake_line(&f, "whatis c");
	assert_string_equal("twenty-six-letters-of-name one\n"
			    "                          two\n"
			    "                          three\n",
			    buf_text(&f.results));
}

int main(void)
{
	setenv("TZ", "XST5", 1);
#define NEW(test) cmocka_unit_test_setup_teardown(test, begin_new, end_shell)
#define OLD(test) cmocka_unit_test_setup_teardown(test, begin_old, end_shell)
	const struct CMUnitTest tests[] = {
		NEW(verbose_shows_hosts_and_folders_once),
		OLD(verbose_of_3_0_has_words_after_sizes),
		NEW(terse_is_a_line_each),
		OLD(terse_of_3_0_marks_directories),
		NEW(machine_has_the_time_of_greenwich),
		OLD(machine_of_3_0_has_one_word_more),
		NEW(url_is_two_lines_and_an_empty_one),
		OLD(url_is_two_lines_and_an_empty_one),
		NEW(a_file_without_a_url_has_the_path_of_its_listing),
		NEW(silent_is_seen_in_the_mail_alone),
		NEW(control_characters_do_not_reach_the_terminal),
		NEW(list_has_a_format_for_people_and_two_for_programs),
		NEW(descriptions_are_wrapped_to_the_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
