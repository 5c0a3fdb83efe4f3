/* Requests for new sites: which hosts they may name, lines of their files, and what mails ask. */
#include "archie/newsite.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"

#include <fcntl.h>

static void hosts_become_urls_of_ftp_sites(void **state)
{
	static const char *const good[][2] = {
		{"ftp.example.org", "ftp://ftp.example.org/"},
		{"FTP.Example.ORG", "ftp://ftp.example.org/"},
		{"ftp://ftp.example.org/", "ftp://ftp.example.org/"},
		{"ftp.example.org:21", "ftp://ftp.example.org/"},
		{"ftp.example.org:2121", "ftp://ftp.example.org:2121/"},
		{"192.0.2.7", "ftp://192.0.2.7/"},
		{"192.0.2.7:2121", "ftp://192.0.2.7:2121/"},
		{"2001:db8::1", "ftp://[2001:db8::1]/"},
	};
	static const char *const bad[] = {
		"",           "-x",        "a b",      "a/b",         "ftp://a/b", "http://a.test/",
		"joe@a.test", "a.test:25", "a.test:x", "a..test:1:2", "a.test\n"};
	struct arena arena = ARENA_INIT(1 << 20);
	struct err err;
	struct str url;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(newsite_url(str_of(good[i][0]), &arena, &url, &err), 0);
		assert_str(url, good[i][1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (newsite_url(str_of(bad[i]), &arena, &url, &err) == 0)
			fail_msg("'%s' is taken", bad[i]);
	arena_free(&arena);
}

static void a_line_says_who_is_answered(void **state)
{
	static const char *const bad[] = {"",
					  "host",
					  "host - -",
					  "- - - -",
					  "host x - -",
					  "a b@c d e f",
					  "host  - - -",
					  "h\tx - - -",
					  " host - - -",
					  "host - - -x y"};
	CLEANUP(buf_free) struct buf line = BUF_INIT(2048);
	struct newsite n = {STR("a.test"), STR("joe@x.test"), STR("<1@x.test>"), STR("joe@x.test")},
		       got;
	(void)state;
	newsite_print(&n, &line);
	assert_str(buf_str(&line), "a.test joe@x.test <1@x.test> joe@x.test");
	assert_true(newsite_parse(buf_str(&line), &got));
	assert_str(got.host, "a.test");
	assert_str(got.reply_to, "joe@x.test");
	assert_str(got.message_id, "<1@x.test>");
	assert_str(got.sender, "joe@x.test");
	n = (struct newsite){.host = STR("a.test"), .message_id = STR("<with a blank>")};
	buf_clear(&line);
	newsite_print(&n, &line);
	assert_str(buf_str(&line), "a.test - - -");
	assert_true(newsite_parse(buf_str(&line), &got));
	assert_int_equal(got.reply_to.n + got.message_id.n + got.sender.n, 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (newsite_parse(str_of(bad[i]), &got))
			fail_msg("'%s' is taken", bad[i]);
}

/* "Name: value" lines, of address headers the address alone, and after an empty one the text. */
static struct newsite_mail mail_read(const char *text)
{
	static struct mime_header room[16];
	struct mime_mail m = {.header = room};
	struct newsite_mail got;
	struct str rest = str_of(text), line;
	while (rest.n && str_cut(&rest, '\n', &line) == 0 && line.n) {
		size_t n = str_find_byte(line, ':');
		room[m.n++] =
			(struct mime_header){str_head(line, n), str_trim(str_from(line, n + 1))};
	}
	m.text = rest;
	newsite_read(&m,
		     &(struct mail_own){"master.x.org", "archie-errors@master.x.org",
					STR("robot@x.org")},
		     &got);
	return got;
}

static void a_server_passes_on_what_its_user_asked(void **state)
{
	(void)state;
	struct newsite_mail m = mail_read(
		"From: archie-errors@s.org\nReturn-Path: archie-errors@s.org\nReply-To: joe@x\n"
		"Precedence: bulk\nAuto-Submitted: auto-generated\nMessage-ID: <1@s.org>\n"
		"Subject: addnewsite\n\naddnewsite a.test\n");
	assert_null(m.why_not);
	assert_str(m.reply_to, "joe@x");
	assert_str(m.asker, "joe@x");
	assert_str(m.message_id, "<1@s.org>");
	assert_int_equal(m.n, 1);
	assert_str(m.host[0], "a.test");
	/* nobody but the asker is answered, not even a server with our own name */
	m = mail_read("From: archie-errors@master.x.org\nAuto-Submitted: auto-generated\n\n"
		      "addnewsite a.test\n");
	assert_null(m.why_not);
	assert_int_equal(m.reply_to.n, 0);
	assert_str(m.asker, "archie-errors@master.x.org");
	assert_int_equal(m.most, NEWSITE_A_DAY_SERVER);
}

static void a_person_asks_for_some(void **state)
{
	(void)state;
	struct newsite_mail m =
		mail_read("From: joe@x\nSubject: AddNewSite a.test\n\nDear master,\n"
			  "addnewsite A.TEST\naddnewsite b.test \naddnewsite c d\n"
			  "addnewsite\naddnewsite 1.test\naddnewsite 2.test\n"
			  "addnewsite 3.test\naddnewsite 4.test\n");
	assert_null(m.why_not);
	assert_str(m.reply_to, "joe@x");
	assert_int_equal(m.n, NEWSITE_A_MAIL);
	assert_str(m.host[0], "a.test");
	assert_str(m.host[1], "b.test");
	assert_str(m.host[2], "1.test");
	assert_int_equal(m.message_id.n, 0);
}

static void answers_bounces_and_lists_ask_for_nothing(void **state)
{
	static const char *const table[][2] = {
		{"From: a@x\nAuto-Submitted: auto-replied\n", "sent by a program"},
		{"Reply-To: a@x\nPrecedence: bulk\nAuto-Submitted: auto-replied\n",
		 "sent by a program"},
		{"Reply-To: a@x\nPrecedence: bulk\nReturn-Path:\n", "without a sender"},
		{"Reply-To: a@x\nPrecedence: bulk\nContent-Type: multipart/report\n",
		 "a report about a mail"},
		{"Reply-To: a@x\nPrecedence: bulk\nList-Id: l\n", "from a list"},
		{"Reply-To: a@x\nPrecedence: list\n", "in bulk"},
		{"Reply-To: archie@master.x.org\nPrecedence: bulk\n", "from ourselves"},
		{"Reply-To: MAILER-DAEMON@x\nPrecedence: bulk\n", "from a mailer daemon"},
		{"From: archie-errors@master.x.org\n", "from ourselves"},
		{"From: robot@x.org\n", "from ourselves"}, /* `mail_from' of the rc */
		{"Subject: x\n", "from no address"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char text[300];
		snprintf(text, sizeof text, "%s\naddnewsite a.test\n", table[i][0]);
		struct newsite_mail m = mail_read(text);
		assert_non_null(m.why_not);
		assert_string_equal(m.why_not, table[i][1]);
	}
	assert_string_equal(mail_read("From: a@x\n\nhello\n").why_not, "without a request");
}

static void the_longest_words_fit_in_a_line(void **state)
{
	char word[NEWSITE_HOST_MOST + 1];
	struct newsite n[NEWSITE_A_MAIL];
	struct err err;
	(void)state;
	memset(word, 'x', sizeof word);
	for (size_t i = 0; i < NEWSITE_A_MAIL; i++)
		n[i] = (struct newsite){{word, NEWSITE_HOST_MOST},
					{word, MAIL_ADDRESS_MOST},
					{word, NEWSITE_ID_MOST},
					{word, MAIL_ADDRESS_MOST}};
	assert_int_equal(newsite_put(scratch_dir, n, NEWSITE_A_MAIL, &err), 0);
}

static void too_many_requests_that_wait_are_refused(void **state)
{
	const struct newsite n = {.host = STR("a.test")};
	struct err err;
	char path[600];
	(void)state;
	assert_int_equal(newsite_put(scratch_dir, &n, 1, &err), 0);
	for (int i = 2; i < NEWSITE_FILES_MOST; i++) {
		struct file f;
		snprintf(path, sizeof path, "%s/newsites/%d.site", scratch_dir, i);
		assert_int_equal(file_open(&f, path, O_WRONLY | O_CREAT, 0640, &err), 0);
		file_drop(&f);
	}
	assert_int_equal(newsite_put(scratch_dir, &n, 1, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_become_urls_of_ftp_sites),
		cmocka_unit_test(a_line_says_who_is_answered),
		cmocka_unit_test(a_server_passes_on_what_its_user_asked),
		cmocka_unit_test(a_person_asks_for_some),
		cmocka_unit_test(answers_bounces_and_lists_ask_for_nothing),
		cmocka_unit_test(the_longest_words_fit_in_a_line),
		cmocka_unit_test(too_many_requests_that_wait_are_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
