#include "net/mail.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/file.h"

#include <sys/stat.h>

static void addresses_are_those_of_one_mailbox(void **state)
{
	static const char *const good[] = {"a@b",
					   "joe.bloggs@x.example.org",
					   "a+b=c@d-e.f",
					   "user%host@relay.org",
					   "x!y!z@uucp.org",
					   "0@0"};
	static const char *const bad[] = {
		"",        "a",     "@b",         "a@",         "a@b@c",         "a b@c",  "a@b c",
		"-f@b",    "a@-b",  "a@b-",       "a@b..c",     "a@.b",          "a@b.",   "<a@b>",
		"a@b,c@d", "a@b\n", "a@b\r",      "\"a\"@b",    "a@[1]",         "a(b)@c", "a\\@b",
		"a:b@c",   "a;b@c", "\xc3\xa4@b", "a@\xc3\xa4", "a@b\nBcc: c@d", "a\t@b"};
	(void)state;
	char longest[300];
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(mail_is_address(str_of(good[i])));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(mail_is_address(str_of(bad[i])));
	memset(longest, 'a', sizeof longest);
	memcpy(longest + 60, "@b", 2);
	for (size_t at = 120; at < sizeof longest; at += 50)
		longest[at] = '.';
	assert_true(mail_is_address((struct str){longest, 254}));
	assert_false(mail_is_address((struct str){longest, 255}));
	assert_false(mail_is_address((struct str){"a\0b@c", 5}));
}

static const struct mail plain = {.from = STR("archie-errors@x.org"),
				  .to = STR("me@y.org"),
				  .subject = STR("archie [find x] part 1 of 1"),
				  .text = STR("one\n.two\n")};

/* The message without its date and identifier, which differ. */
static const char *composed(const struct mail *m, struct buf *out)
{
	CLEANUP(buf_free) struct buf all = BUF_INIT(MAIL_MESSAGE_MOST);
	struct err err;
	struct str rest, line;
	assert_int_equal(0, mail_compose(m, INT64_C(784111777) * US_PER_S, &all, &err));
	buf_clear(out);
	rest = buf_str(&all);
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		if (str_starts(line, STR("Message-ID: <784111777000000.")))
			continue;
		buf_add_str(out, line);
		buf_add_byte(out, '\n');
	}
	return buf_text(out);
}

static void a_message_has_the_headers_of_automatic_mail(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(MAIL_MESSAGE_MOST);
	struct mail m = plain;
	(void)state;
	assert_string_equal(composed(&m, &out),
			    "From: archie-errors@x.org\nTo: me@y.org\n"
			    "Subject: archie [find x] part 1 of 1\n"
			    "Date: Sun, 06 Nov 1994 08:49:37 +0000\n"
			    "Precedence: bulk\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
			    "Content-Type: text/plain; charset=us-ascii\n"
			    "Content-Transfer-Encoding: 7bit\n\none\n.two\n");
	m.answers = true;
	m.reply_to = STR("asker@z.org");
	m.in_reply_to = STR("<1@z.org>");
	composed(&m, &out);
	assert_non_null(strstr(buf_text(&out), "\nReply-To: asker@z.org\n"));
	assert_non_null(
		strstr(buf_text(&out), "\nIn-Reply-To: <1@z.org>\nReferences: <1@z.org>\n"));
	assert_non_null(strstr(buf_text(&out), "\nAuto-Submitted: auto-replied\n"));
}

static void no_value_can_add_a_header_or_a_recipient(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(MAIL_MESSAGE_MOST);
	struct mail m = plain;
	struct err err;
	(void)state;
	m.subject = STR("a\nBcc: b@c\r\n\r\nbody");
	m.in_reply_to = STR("<1@x>\nBcc: b@c");
	m.text = STR("a\rb\0c\x1b\x7f\n");
	composed(&m, &out);
	assert_non_null(strstr(buf_text(&out), "\nSubject: a?Bcc: b@c????body\n"));
	assert_null(strstr(buf_text(&out), "\nBcc"));
	assert_null(strstr(buf_text(&out), "In-Reply-To"));
	assert_non_null(strstr(buf_text(&out), "\n\na?b?c??\n"));
	for (int i = 0; i < 3; i++) {
		m = plain;
		*(i == 0 ? &m.from : i == 1 ? &m.to : &m.reply_to) = STR("a@b\nBcc: c@d");
		buf_clear(&out);
		assert_int_equal(-1, mail_compose(&m, 0, &out, &err));
		assert_int_equal(ERR_USAGE, err.code);
	}
}

static void other_letters_and_long_lines_are_encoded(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(MAIL_MESSAGE_MOST);
	CLEANUP(buf_free) struct buf line = BUF_INIT(4000);
	struct mail m = plain;
	(void)state;
	m.subject = STR("archie [find \xc3\xa4]");
	m.text = STR("\xc3\xa4=b \n.\nplain\n");
	composed(&m, &out);
	assert_non_null(
		strstr(buf_text(&out), "\nSubject: =?utf-8?B?YXJjaGllIFtmaW5kIMOkXQ==?=\n"));
	assert_non_null(strstr(buf_text(&out), "\n\n=C3=A4=3Db=20\n=2E\nplain\n"));
	assert_non_null(strstr(buf_text(&out), "charset=utf-8\n"));
	m.text = STR("\xe4\n");
	composed(&m, &out);
	assert_non_null(strstr(buf_text(&out), "charset=iso-8859-1\n"));
	buf_fill(&line, 'x', 2000);
	buf_fill(&line, '\n', 1);
	m.text = buf_str(&line);
	struct str rest = str_of(composed(&m, &out)), one;
	while (str_cut(&rest, '\n', &one) == 0)
		assert_true(one.n < 998);
}

static void the_ways_to_send_have_forms(void **state)
{
	static const char *const good[] = {
		"/usr/sbin/sendmail", "smtp:localhost", "smtp:h:2525", "smtp:127.0.0.1:25",
		"smtp:[::1]:25",      "smtp:[::1]",     "smtps:h",     "smtps:[::1]:587"};
	static const char *const bad[] = {
		"",         "sendmail", "smtp:",        "smtp::25",  "smtp:h:",
		"smtp:h:x", "smtp:h:0", "smtp:h:65536", "smtp:[::1", "lmtp:h",
		"smtp:u@h", "smtp:h/x", "smtp:[::1]x",  "smtps"};
	struct err err;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(0, mail_check(&(struct mail_conf){.via = good[i]}, &err));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(-1, mail_check(&(struct mail_conf){.via = bad[i]}, &err));
		assert_int_equal(ERR_USAGE, err.code);
	}
}

/* What is wrong with a file of these bytes and this mode; NULL: nothing. */
static const char *login_problem(const char *text, mode_t mode, struct err *err)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/login", scratch_dir);
	assert_int_equal(0, file_replace(path, str_of(text), mode, err));
	assert_int_equal(0, chmod(path, mode));
	int rc = mail_check(&(struct mail_conf){.via = "smtp:h", .login = path}, err);
	assert_true(rc == 0 || err->code == ERR_USAGE);
	return rc < 0 ? err->msg : NULL;
}

static void a_login_is_two_lines_that_nobody_else_may_read(void **state)
{
	static const char *const bad[] = {"",           "joe",     "joe\n",
					  "\nsecret\n", "joe\n\n", "j\001e\nx\n"};
	char large[2000] = "joe\n";
	struct err err;
	(void)state;
	assert_null(login_problem("joe\nse cret\n", 0600, &err));
	assert_null(login_problem("joe\nsecret", 0400, &err));
	assert_non_null(strstr(login_problem("joe\nsecret\n", 0640, &err), "chmod 600"));
	assert_non_null(strstr(login_problem("joe\nsecret\n", 0604, &err), "chmod 600"));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_non_null(strstr(login_problem(bad[i], 0600, &err), "expected the user"));
	memset(large + 4, 'x', sizeof large - 5);
	assert_non_null(strstr(login_problem(large, 0600, &err), "at most 1024 bytes"));
	assert_int_equal(
		-1,
		mail_check(&(struct mail_conf){.via = "smtp:h", .login = "/nonexistent"}, &err));
	assert_non_null(strstr(err.msg, "mail.login"));
	assert_int_equal(-1,
			 mail_check(&(struct mail_conf){.via = "/bin/true", .login = "/x"}, &err));
}

static enum mail_result send_through(const char *script, int64_t in_us, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/sendmail", scratch_dir);
	assert_int_equal(0, file_replace(path, str_of(script), 0755, err));
	return mail_send(&(struct mail_conf){.via = path}, STR("a@b"), STR("c@d"),
			 STR("S: x\n\n.\ny\n"), clock_mono_us() + in_us, err);
}

static void a_sendmail_program_gets_the_message_and_is_believed(void **state)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(4096);
	char script[PATH_MAX + 200], path[PATH_MAX];
	struct err err;
	(void)state;
	snprintf(path, sizeof path, "%s/got", scratch_dir);
	snprintf(script, sizeof script, "#!/bin/sh\nexec >'%s'\necho \"$*\"\nexec cat\n", path);
	assert_int_equal(MAIL_SENT, send_through(script, 20 * US_PER_S, &err));
	assert_int_equal(0, file_slurp(path, &got, &err));
	assert_string_equal("-i -f a@b -- c@d\nS: x\n\n.\ny\n", buf_text(&got));
	assert_int_equal(MAIL_LATER, send_through("#!/bin/sh\nexit 75\n", 20 * US_PER_S, &err));
	assert_int_equal(MAIL_LATER, send_through("#!/bin/sh\nkill -9 $$\n", 20 * US_PER_S, &err));
	assert_int_equal(MAIL_REFUSED, send_through("#!/bin/sh\nexit 67\n", 20 * US_PER_S, &err));
	assert_non_null(strstr(err.msg, "status 67"));
	assert_int_equal(MAIL_LATER, send_through("#!/bin/sh\nsleep 60\n", 50000, &err));
	assert_int_equal(MAIL_LATER,
			 mail_send(&(struct mail_conf){.via = "/nonexistent"}, STR("a@b"),
				   STR("c@d"), STR("x\n"), INT64_MAX, &err));
	assert_non_null(strstr(err.msg, "/nonexistent (mail.via) cannot be started"));
}

static void what_was_not_composed_is_not_sent(void **state)
{
	struct err err;
	(void)state;
	static const struct mail_conf conf = {.via = "/nonexistent"};
	static const struct str bad[] = {STR("x\r\n.\r\n"), STR("x"), STR(""), STR("a\0b\n")};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(MAIL_REFUSED,
				 mail_send(&conf, STR("a@b"), STR("c@d"), bad[i], INT64_MAX, &err));
	assert_int_equal(MAIL_REFUSED,
			 mail_send(&conf, STR("a@b"), STR("-oX"), STR("x\n"), INT64_MAX, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_those_of_one_mailbox),
		cmocka_unit_test(a_message_has_the_headers_of_automatic_mail),
		cmocka_unit_test(no_value_can_add_a_header_or_a_recipient),
		cmocka_unit_test(other_letters_and_long_lines_are_encoded),
		cmocka_unit_test(the_ways_to_send_have_forms),
		cmocka_unit_test(a_login_is_two_lines_that_nobody_else_may_read),
		cmocka_unit_test(a_sendmail_program_gets_the_message_and_is_believed),
		cmocka_unit_test(what_was_not_composed_is_not_sent),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
