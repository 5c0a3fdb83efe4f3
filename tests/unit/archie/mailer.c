/* Mails that the archive sends. The sendmail program is a script, whose exit code a file says; what
 * it gets, it adds to another. */
#include "archie/mailer.h"

#include "../scratch.h"
#include "../unit.h"
#include "archie/archie_conf.h"
#include "base/file.h"
#include "net/daily.h"

static struct config *config;
static struct mailer box;

static int make_all(void **state)
{
	static const struct config_section *const sections[] = {&archie_section, &mail_section};
	CLEANUP(buf_free) struct buf script = BUF_INIT(4096), via = BUF_INIT(4096);
	struct err err;
	if (scratch_make_in_memory(state) < 0 ||
	    dir_make(scratch("data/archie"), DIR_MODE, &err) < 0)
		return -1;
	buf_printf(&via, "mail.via=%s", scratch("sendmail"));
	const char *const sets[] = {"archie.host=archie.x.org", "archie.master=master@m.org",
				    buf_text(&via)};
	const struct config_input in = {.sets = sets, .nsets = ARRAY_LEN(sets)};
	if (config_load(&config, sections, ARRAY_LEN(sections), &in, NULL, &err) < 0)
		return -1;
	box = mailer_of(scratch("data"), config);
	buf_printf(&script,
		   "#!/bin/sh\ncode=$(sed 1q '%s')\nsed -i 1d '%s'\n"
		   "[ \"${code:-0}\" = 0 ] || exit $code\nexec cat >>'%s'\n",
		   scratch("codes"), scratch("codes"), scratch("got"));
	return file_replace(scratch("sendmail"), buf_str(&script), 0755, &err);
}

static void forget_counts(void)
{
	const struct small_table *const tables[] = {&daily_table};
	struct small *s;
	struct err err;
	assert_int_equal(0, small_open_data(&s, scratch("data"), tables, 1, SMALL_WRITE, &err));
	assert_int_equal(0, small_replace(s, &daily_table, NULL, 0, &err));
	small_close(&s);
}

static int end(void **state)
{
	struct err err;
	(void)state;
	(void)file_remove(scratch("got"), &err);
	forget_counts();
	(void)file_remove(scratch("codes"), &err);
	return 0;
}

/* What the program ends with, a line for each mail; 0 once there are no more. */
static void script_ends(const char *codes)
{
	struct err err;
	assert_int_equal(0, file_replace(scratch("codes"), str_of(codes), 0644, &err));
}

/* How many mails came, and all of them. */
static size_t script_got(struct buf *ret)
{
	struct err err;
	size_t n = 0;
	buf_clear(ret);
	assert_in_range(file_slurp(scratch("got"), ret, &err), 0, 1);
	for (const char *at = buf_text(ret); (at = strstr(at, "Precedence: bulk")); at++)
		n++;
	return n;
}

static const struct mail some = {
	.to = STR("a@b.org"), .subject = STR("s"), .text = STR("hello\n"), .answers = true};

static void a_mail_is_sent_at_once_or_not_at_all(void **state)
{
	static const struct {
		const char *codes;
		enum err_code code;
	} cases[] = {{"75\n", ERR_REMOTE}, {"67\n", ERR_USAGE}};
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct mail m = some;
	struct err err;
	(void)state;
	script_ends("");
	assert_int_equal(0, mailer_send(&box, &some, &err));
	assert_int_equal(1, script_got(&got));
	assert_non_null(strstr(buf_text(&got), "From: archie-errors@archie.x.org\nTo: a@b.org\n"));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		script_ends(cases[i].codes);
		assert_int_equal(-1, mailer_send(&box, &some, &err));
		assert_int_equal(cases[i].code, err.code);
		assert_null(strstr(mailer_told(&err), "sendmail"));
	}
	m.to = STR("a@b.org\nBcc: c@d.org");
	assert_int_equal(-1, mailer_send(&box, &m, &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_int_equal(1, script_got(&got));
}

static void settings_of_ours_that_are_wrong_are_no_fault_of_a_mail(void **state)
{
	static const struct mail_conf wrong = {.via = "smtp:h", .login = "/nonexistent"};
	const struct mailer m = {box.data, box.conf, &wrong};
	struct err err;
	(void)state;
	assert_int_equal(-1, mailer_send(&m, &some, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	assert_string_equal("it cannot be sent now; try again later", mailer_told(&err));
}

/* Seven parts. */
static int send_large(struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	struct shell_mail m = {
		.to = STR("a@b.org"), .command = STR("find x"), .max_split_size = 1024};
	for (int i = 0; i < 500; i++)
		buf_add_text(&text, "a line of ten\n");
	m.text = buf_str(&text);
	return mailer_send_output(&box, &m, STR("192.0.2.1"), err);
}

static void what_is_lost_of_an_output_is_told(void **state)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct err err;
	(void)state;
	script_ends("");
	assert_int_equal(0, send_large(&err));
	assert_int_equal(7, script_got(&got));
	assert_non_null(strstr(buf_text(&got), "Subject: archie [find x] part 7 of 7\n"));
	script_ends("0\n0\n75\n");
	assert_int_equal(-1, send_large(&err));
	assert_int_equal(ERR_PARTLY, err.code);
	assert_string_equal("only 2 of 7 parts could be sent", mailer_told(&err));
	assert_int_equal(9, script_got(&got));
	script_ends("75\n");
	assert_int_equal(-1, send_large(&err));
	assert_int_equal(ERR_REMOTE, err.code);
	assert_int_equal(9, script_got(&got));
}

static void outputs_are_of_the_shares_of_asker_and_recipient(void **state)
{
	struct shell_mail m = {.to = STR("c@d.org"),
			       .text = STR("x\n"),
			       .command = STR("find x"),
			       .max_split_size = 1024};
	struct err err;
	(void)state;
	script_ends("75\n"); /* what was not sent at all does not count */
	assert_int_equal(-1, mailer_send_output(&box, &m, STR("192.0.2.9"), &err));
	for (int i = 0; i < 50; i++)
		assert_int_equal(0, mailer_send_output(&box, &m,
						       str_of(i % 2 ? "192.0.2.8" : "192.0.2.9"),
						       &err));
	assert_int_equal(-1, mailer_send_output(&box, &m, STR("192.0.2.7"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	for (int i = 0; i < 25; i++) {
		m.to = str_of(i % 2 ? "e@d.org" : "f@d.org");
		assert_int_equal(0, mailer_send_output(&box, &m, STR("192.0.2.8"), &err));
	}
	assert_int_equal(-1, mailer_send_output(&box, &m, STR("192.0.2.8"), &err));
	assert_int_equal(ERR_BUSY, err.code);
}

static void five_new_sites_a_day_go_to_the_master(void **state)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct err err;
	(void)state;
	script_ends("75\n");
	assert_int_equal(-1, mailer_ask_site(&box, STR("ftp.new.org"), STR("me@x.org"),
					     STR("192.0.2.1"), &err));
	assert_int_equal(ERR_REMOTE, err.code);
	for (int i = 0; i < MAILER_NEW_SITES_A_DAY; i++)
		assert_int_equal(0, mailer_ask_site(&box, STR("ftp.new.org"), STR("me@x.org"),
						    STR("192.0.2.1"), &err));
	assert_int_equal(
		-1, mailer_ask_site(&box, STR("ftp.new.org"), STR(""), STR("192.0.2.1"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	assert_int_equal(0,
			 mailer_ask_site(&box, STR("192.0.2.7"), STR(""), STR("192.0.2.2"), &err));
	assert_int_equal(6, script_got(&got));
	for (int i = 0; i < MAILER_NEW_SITES_A_DAY; i++)
		assert_int_equal(0, mailer_ask_site(&box, STR("ftp.new.org"), STR(""),
						    STR("2001:db8::1"), &err));
	assert_int_equal(
		-1, mailer_ask_site(&box, STR("ftp.new.org"), STR(""), STR("2001:db8::2:2"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	static const char *const bad[] = {"", "a b", "-x", "a\nb", "ftp://x", "x/y"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(-1,
				 mailer_ask_site(&box, str_of(bad[i]), STR(""), STR("x"), &err));
		assert_int_equal(ERR_USAGE, err.code);
	}
	script_got(&got);
	assert_non_null(strstr(buf_text(&got), "To: master@m.org\nReply-To: me@x.org\n"
					       "Subject: addnewsite\n"));
	assert_non_null(
		strstr(buf_text(&got), "Precedence: bulk\nAuto-Submitted: auto-generated\n"));
	assert_non_null(strstr(buf_text(&got), "\n\naddnewsite ftp.new.org\n"));
}

static void put_rc(const char *text)
{
	struct err err;
	assert_int_equal(0, dir_make(scratch("data/archie/etc"), 0700, &err));
	assert_int_equal(
		0, file_replace(scratch("data/archie/etc/archierc"), str_of(text), 0600, &err));
}

/* Outputs of telnet, requests for sites and the master's answers. */
static void all_mails_have_the_name_that_the_rc_gives_them(void **state)
{
	static const char *const table[][2] = {
		{"set mail_from robot@x.org\n", "From: robot@x.org\n"},
		{"set mail_from nobody\n", "From: archie-errors@archie.x.org\n"},
	};
	const struct shell_mail m = {.to = STR("g@d.org"),
				     .text = STR("x\n"),
				     .command = STR("find x"),
				     .max_split_size = 1024};
	struct err err;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
		size_t n = 0;
		put_rc(table[i][0]);
		assert_int_equal(0, mailer_send(&box, &some, &err));
		assert_int_equal(0, mailer_send_output(&box, &m, STR("192.0.2.50"), &err));
		assert_int_equal(0, mailer_ask_site(&box, STR("ftp.new.org"), STR(""),
						    STR("192.0.2.50"), &err));
		assert_int_equal(3, script_got(&got));
		assert_int_equal(0, file_remove(scratch("got"), &err));
		for (const char *at = buf_text(&got); (at = strstr(at, table[i][1])); at++)
			n++;
		assert_int_equal(3, n);
	}
	assert_int_equal(0, file_remove(scratch("data/archie/etc/archierc"), &err));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, end)
	const struct CMUnitTest tests[] = {
		TEST(a_mail_is_sent_at_once_or_not_at_all),
		TEST(settings_of_ours_that_are_wrong_are_no_fault_of_a_mail),
		TEST(what_is_lost_of_an_output_is_told),
		TEST(outputs_are_of_the_shares_of_asker_and_recipient),
		TEST(five_new_sites_a_day_go_to_the_master),
		TEST(all_mails_have_the_name_that_the_rc_gives_them),
	};
	int rc = cmocka_run_group_tests(tests, make_all, scratch_done);
	config_free(&config);
	return rc;
}
