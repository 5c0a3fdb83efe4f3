#include "archie/prospero/prospero.h"

#include "archie/prospero/ardp.h"

#include "../unit.h"

#include <stdio.h>

static struct arena arena;
static struct prospero_request request;
static const struct domain domain_list[] = {
	{.name = {"west", 4}, .members = {"edu:com", 7}, .text = {"The West", 8}}};
static const struct domains domains = {domain_list, 1};

static const struct prospero_list *ask(const char *text)
{
	prospero_request_free(&request);
	arena_free(&arena);
	arena = ARENA_INIT(PROSPERO_ARENA);
	assert_true(prospero_parse(arena_str(&arena, str_of(text)), &domains, &arena, &request));
	return &request.list[0];
}

static const struct prospero_list *ask_name(const char *name)
{
	char text[512];
	snprintf(text, sizeof text, "VERSION 1\nDIRECTORY ASCII %s\nLIST ATTRIBUTES COMPONENTS \n",
		 name);
	return ask(text);
}

static int free_all(void **state)
{
	(void)state;
	prospero_request_free(&request);
	arena_free(&arena);
	return 0;
}

#define ASSERT_STR(s, want) assert_true(str_is((s), (want)))

static void version_1_has_no_quotes_and_takes_the_rest_of_the_line(void **state)
{
	(void)state;
	const struct prospero_list *l =
		ask("VERSION 1 B42E\nAUTHENTICATOR UNAUTHENTICATED nobody\r\n"
		    "DIRECTORY ASCII ARCHIE/MATCH(95,3,C)/it's two/words \nLIST COMPONENTS \n\0");
	assert_true(request.version == 1 && request.lists == 1 && !request.error);
	assert_true(l->kind == PROSPERO_MATCH && l->ask.query.type == NAMES_SUBCASE);
	ASSERT_STR(l->ask.query.pattern, "it's two/words ");
	assert_true(l->ask.query.maxhits == 95 && l->ask.query.offset == 3);
	assert_true(!l->attributes && l->component.n == 0);
	ask("DIRECTORY ASCII ARCHIE/MATCH(1,0,=)/x\nLIST ATTRIBUTES COMPONENTS *\n");
	assert_true(request.version == 1 && request.lists == 1 && request.list[0].attributes);
}

static void version_5_quotes_anywhere(void **state)
{
	(void)state;
	const struct prospero_list *l =
		ask("VERSION\nVERSION 5 aPtb(P53.17May94b)\nAUTHENTICATE '' UNAUTHENTICATED me\n"
		    "PARAMETER GET MOTD\nDIRECTORY ASCII ARCHIE'/MATCH(100,90,80,7,S)/it''s 'two\n"
		    "LIST ATTRIBUTES+FILTER COMPONENTS ''\n"
		    "FILTER DIRECTORY SERVER PRE PREDEFINED AR_DOMAIN ARGS west 'ca'\n"
		    "FILTER DIRECTORY SERVER PRE PREDEFINED AR_PATHCOMP ARGS ps 'post script'\n"
		    "FILTER DIRECTORY SERVER PRE PREDEFINED OTHER ARGS x\n");
	assert_true(request.version == 5 && request.asks_version && request.asks_motd);
	assert_true(!request.error && request.lists == 1 && l->attributes);
	ASSERT_STR(l->ask.query.pattern, "it's two");
	assert_true(l->maxhits == 100 && l->maxmatch == 90 && l->maxhitspm == 80);
	assert_true(l->ask.query.domains == 3 && l->ask.query.components == 2);
	ASSERT_STR(l->ask.query.domain[0], "edu");
	ASSERT_STR(l->ask.query.domain[2], "ca");
	ASSERT_STR(l->ask.query.component[1], "post script");
	assert_non_null(strstr(buf_text(&request.warnings), "filter"));
}

static void limits_are_those_of_the_old_server(void **state)
{
	(void)state;
	const struct prospero_list *l = ask_name("ARCHIE/MATCH(0,0,0,0,=)/x");
	assert_true(l->maxhits == 100 && l->maxmatch == 100 && l->maxhitspm == 20);
	assert_int_equal(request.warnings.n, 0);
	l = ask_name("ARCHIE/MATCH(10000,1000,100,0,=)/x");
	assert_int_equal(request.warnings.n, 0);
	l = ask_name("ARCHIE/MATCH(10001,1001,101,5,=)/x");
	assert_true(l->maxhits == 10000 && l->maxmatch == 1000 && l->maxhitspm == 100);
	assert_true(request.warnings.n && request.warnings.n <= PROSPERO_WARNING_MOST + 1);
	assert_true(l->ask.query.maxhitspm == 105 && l->ask.query.offset == 5);
	l = ask_name("ARCHIE/MATCH(50,0,Z)/x");
	assert_true(l->names && l->ask.query.maxhits == 50 && l->ask.query.maxhitspm == 1);
}

static void what_cannot_be_asked_is_told(void **state)
{
	(void)state;
	static const char *const names[] = {"ARCHIE/MATCH(1,0,=)",
					    "ARCHIE/MATCH(1,=)/x",
					    "ARCHIE/MATCH(1,0,==)/x",
					    "ARCHIE/MATCH(-1,0,=)/x",
					    "ARCHIE/MATCH(1,2,3,4,5,=)/x",
					    "ARCHIE/FIND(1,1,1,d)/x",
					    "ARCHIE",
					    "",
					    "ARCHIE/HOSTS",
					    "archie/HOST",
					    "ARCHIE/MATCH(1,0,)/x"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (ask_name(names[i])->kind != PROSPERO_FAILED)
			fail_msg("'%s' was taken", names[i]);
	ask("VERSION 9\nDIRECTORY ASCII ARCHIE/HOST\nLIST COMPONENTS\n");
	assert_string_equal(request.error, "VERSION-NOT-SUPPORTED TRY 1-5");
	ask("VERSION 1\n");
	assert_non_null(request.error);
	ask("VERSION 1\nLIST COMPONENTS \n");
	assert_non_null(request.error);
	ask("VERSION 5\nDIRECTORY ASCII ARCHIE/HOST\nLIST COMPONENTS\nLIST COMPONENTS\nLIST\nLIST\n"
	    "LIST\nLIST\n");
	assert_non_null(strstr(request.error, "TOO-MANY"));
	assert_false(prospero_parse(STR("GET / HTTP/1.0\n\n"), &domains, &arena, &request));
	assert_false(prospero_parse(STR(""), &domains, &arena, &request));
}

static void hosts_are_names_patterns_or_expressions(void **state)
{
	(void)state;
	static const char *const patterns[][2] = {{"*.edu", "\\.edu$"},        {"ftp.*", "^ftp\\."},
						  {"f?p.x*z", "^f.p\\.x.*z$"}, {"*", ""},
						  {"(a.*b)", "a.*b"},          {"(a/b)", "a/b"}};
	char name[64];
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		snprintf(name, sizeof name, "ARCHIE/HOST/%s", patterns[i][0]);
		const struct prospero_list *l = ask_name(name);
		assert_true(l->kind == PROSPERO_SITES);
		ASSERT_STR(l->ask.query.pattern, patterns[i][1]);
	}
	const struct prospero_list *l = ask_name("ARCHIE/HOST/ftp.x.org//pub/what?/");
	assert_true(l->kind == PROSPERO_FOLDER && l->ask.query.sites == 1);
	ASSERT_STR(l->ask.query.site[0], "ftp.x.org");
	ASSERT_STR(l->ask.query.pattern, "pub/what?");
	l = ask("DIRECTORY ASCII ARCHIE/HOST\nLIST COMPONENTS ftp.x.org\n");
	ASSERT_STR(l->ask.query.pattern, "^ftp\\.x\\.org$");
}

/* Replies */

static struct buf out;

static const char *reply_of(const struct archie_row *rows, size_t n, bool cut)
{
	struct prospero_reply r;
	struct archie_answer a = {.row = (struct archie_row *)(uintptr_t)rows, .n = n, .cut = cut};
	buf_free(&out);
	out = BUF_INIT(1 << 20);
	prospero_reply_init(&r, &request, STR("archie.x.org(1526)"));
	prospero_reply_answer(&r, 0, &a);
	prospero_reply_end(&r, STR("It's\nnew"), &out);
	prospero_reply_free(&r);
	return buf_text(&out);
}

static struct archie_row row_of(const char *dir, const char *name)
{
	return (struct archie_row){
		.host = STR("ftp.x.org"),
		.listed_s = -1,
		.file = {.name = str_of(name), .dir = str_of(dir), .size = -1, .time_s = -1}};
}

static void what_is_not_told_has_no_line(void **state)
{
	(void)state;
	const struct archie_row row = row_of("pub", "x");
	ask_name("ARCHIE/MATCH(95,0,S)/x");
	assert_string_equal(
		reply_of(&row, 1, false),
		"LINK L EXTERNAL(AFTP,BINARY) x INTERNET-D ftp.x.org ASCII /pub/x 0 0\n");
	assert_string_equal(reply_of(&row, 0, false), "NONE-FOUND\n");
	assert_string_equal(
		reply_of(&row, 0, true),
		"NONE-FOUND\nWARNING MESSAGE not all of it is here: there may be more\n");
}

static void names_are_quoted_and_what_version_1_cannot_express_is_left_out(void **state)
{
	(void)state;
	char longest[2000];
	memset(longest, 'l', sizeof longest);
	longest[sizeof longest - 1] = 0;
	const struct archie_row rows[] = {
		row_of("", "it's"),   row_of("p", "caf\xc3\xa9"), row_of("p", "a b"),
		row_of("c d", "e"),   row_of("p", "\"f\""),       row_of("p", "new\nline"),
		row_of("p", longest),
	};
	ask_name("ARCHIE/MATCH(95,0,S)/x");
	assert_string_equal(
		reply_of(rows, ARRAY_LEN(rows), false),
		"LINK L EXTERNAL(AFTP,BINARY) 'it''s' INTERNET-D ftp.x.org ASCII /it's 0 0\n"
		"LINK L EXTERNAL(AFTP,BINARY) 'caf\xc3\xa9' INTERNET-D ftp.x.org ASCII "
		"/p/caf\xc3\xa9 0 0\n"
		"LINK L EXTERNAL(AFTP,BINARY) '\"f\"' INTERNET-D ftp.x.org ASCII /p/\"f\" 0 0\n"
		"WARNING OUT-OF-DATE 4 results left out, since your client cannot read them; newer "
		"ones can\n");
	ask("VERSION 5\nDIRECTORY ASCII 'ARCHIE/MATCH(95,0,S)/x'\nLIST COMPONENTS\n");
	assert_string_equal(reply_of(rows + 2, 5, false),
			    "WARNING MESSAGE 2 results left out, since no line can have them\n"
			    "LINK  L EXTERNAL 'a b' INTERNET-D ftp.x.org ASCII '/p/a b' 0\n"
			    "ATTRIBUTE LINK FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY\n"
			    "LINK  L EXTERNAL e INTERNET-D ftp.x.org ASCII '/c d/e' 0\n"
			    "ATTRIBUTE LINK FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY\n"
			    "LINK  L EXTERNAL '\"f\"' INTERNET-D ftp.x.org ASCII '/p/\"f\"' 0\n"
			    "ATTRIBUTE LINK FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY\n");
}

static void files_that_are_not_fetched_by_ftp_are_left_out(void **state)
{
	(void)state;
	struct archie_row rows[] = {row_of("pub", "x"), row_of("pub", "x")};
	rows[0].url = STR("http://ftp.x.org/mirror/pub/x");
	rows[1].url = STR("ftp://ftp.x.org/mirror/pub/x");
	ask_name("ARCHIE/MATCH(95,0,S)/x");
	assert_string_equal(
		reply_of(rows, 2, false),
		"LINK L EXTERNAL(AFTP,BINARY) x INTERNET-D ftp.x.org ASCII /mirror/pub/x 0 0\n"
		"WARNING MESSAGE 1 results left out, since they cannot be fetched by FTP\n");
	ask("VERSION 5\nDIRECTORY ASCII 'ARCHIE/MATCH(95,0,S)/x'\nLIST COMPONENTS\n");
	assert_string_equal(
		reply_of(rows, 1, false),
		"WARNING MESSAGE 1 results left out, since they cannot be fetched by FTP\n");
}

static void folders_and_names_are_links_to_this_server(void **state)
{
	(void)state;
	struct archie_row rows[] = {row_of("pub", "gnu"), row_of("other", "gnu")};
	rows[0].file.kind = rows[1].file.kind = NAMES_DIR;
	ask_name("ARCHIE/MATCH(95,0,S)/x");
	assert_string_equal(reply_of(rows, 1, false),
			    "LINK L DIRECTORY gnu INTERNET-D archie.x.org(1526) ASCII "
			    "ARCHIE/HOST/ftp.x.org/pub/gnu 0 0\n");
	ask_name("ARCHIE/MATCH(95,0,Z)/x");
	assert_string_equal(reply_of(rows, 2, false),
			    "LINK L DIRECTORY gnu INTERNET-D archie.x.org(1526) ASCII "
			    "ARCHIE/MATCH(95,95,95,0,=)/gnu 0 0\n");
}

static void a_message_of_the_day_is_one_line_that_fits(void **state)
{
	(void)state;
	struct prospero_reply r;
	char motd[4000];
	ask("VERSION 5\nPARAMETER GET MOTD\n");
	assert_string_equal(reply_of(NULL, 0, false), "PARAMETER VALUE MOTD 'It''s new'\n");
	memset(motd, '\'', sizeof motd);
	for (size_t i = 0; i < 2; i++) {
		buf_clear(&out);
		prospero_reply_init(&r, &request, STR("h"));
		prospero_reply_end(&r, i ? (struct str){motd, sizeof motd} : STR(" \n"), &out);
		prospero_reply_free(&r);
		if (i)
			assert_true(out.n <= ARDP_TEXT_MOST && out.n > ARDP_TEXT_MOST - 4);
		else
			assert_string_equal(buf_text(&out), "PARAMETER NOTSET MOTD\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_has_no_quotes_and_takes_the_rest_of_the_line),
		cmocka_unit_test(version_5_quotes_anywhere),
		cmocka_unit_test(limits_are_those_of_the_old_server),
		cmocka_unit_test(what_cannot_be_asked_is_told),
		cmocka_unit_test(hosts_are_names_patterns_or_expressions),
		cmocka_unit_test(what_is_not_told_has_no_line),
		cmocka_unit_test(names_are_quoted_and_what_version_1_cannot_express_is_left_out),
		cmocka_unit_test(files_that_are_not_fetched_by_ftp_are_left_out),
		cmocka_unit_test(folders_and_names_are_links_to_this_server),
		cmocka_unit_test(a_message_of_the_day_is_one_line_that_fits),
	};
	int rc = cmocka_run_group_tests(tests, NULL, free_all);
	buf_free(&out);
	return rc;
}
