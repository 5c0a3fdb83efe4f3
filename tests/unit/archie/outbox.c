/* Mails that wait. The sendmail program is a script, whose exit code a file says. */
#include "archie/mail/outbox_inner.h"

#include "../scratch.h"
#include "../unit.h"
#include "archie/archie_conf.h"
#include "base/clock.h"
#include "base/file.h"
#include "disk/lock.h"

static struct config *config;
static struct outbox *box;
static struct mail_conf conf;
static struct outbox_counts counts;

static const char *const sets[] = {"archie.host=archie.x.org", "archie.master=master@m.org"};

static int make_all(void **state)
{
	static const struct config_section *const sections[] = {&archie_section, &mail_section};
	CLEANUP(buf_free) struct buf script = BUF_INIT(4096);
	const struct config_input in = {.sets = sets, .nsets = ARRAY_LEN(sets)};
	struct err err;
	if (scratch_make_in_memory(state) < 0 ||
	    config_load(&config, sections, ARRAY_LEN(sections), &in, NULL, &err) < 0)
		return -1;
	buf_printf(&script, "#!/bin/sh\ncat >>'%s'\nexit $(cat '%s')\n", scratch("got"),
		   scratch("code"));
	conf.via = scratch("sendmail");
	return file_replace(conf.via, buf_str(&script), 0755, &err);
}

static int begin(void **state)
{
	(void)state;
	box = outbox_new(scratch("data"), config, 0);
	return 0;
}

static int end(void **state)
{
	struct dir dir;
	struct err err;
	const char *name;
	char path[PATH_MAX];
	(void)state;
	outbox_free(&box);
	if (dir_init(&dir, scratch("data/archie/outbox"), &err) != 0)
		return 0;
	while (dir_next(&dir, &name) == 0) {
		snprintf(path, sizeof path, "%s/%s", scratch("data/archie/outbox"), name);
		(void)file_remove(path, &err);
	}
	dir_done(&dir);
	(void)file_remove(scratch("got"), &err);
	return 0;
}

/* Names of mails that wait; *ret_first is what the first one's says. */
static size_t waiting(struct outbox_name *ret_first)
{
	struct dir dir;
	struct err err;
	const char *text;
	size_t n = 0;
	assert_int_equal(0, dir_init(&dir, scratch("data/archie/outbox"), &err));
	while (dir_next(&dir, &text) == 0)
		assert_true(outbox_name_parse(str_of(text),
					      n++ ? &(struct outbox_name){0} : ret_first));
	dir_done(&dir);
	return n;
}

static void send_all(const char *code)
{
	struct err err;
	assert_int_equal(0, file_replace(scratch("code"), str_of(code), 0644, &err));
	assert_int_equal(0, outbox_send(scratch("data"), &conf, clock_mono_us() + 60 * US_PER_S,
					NULL, &counts, &err));
}

static const struct mail some = {
	.to = STR("a@b.org"), .subject = STR("s"), .text = STR("hello\n"), .answers = true};

static void a_mail_waits_until_it_is_sent(void **state)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct outbox_name name;
	struct err err;
	(void)state;
	assert_int_equal(0, outbox_put(box, &some, &err));
	assert_int_equal(1, waiting(&name));
	assert_int_equal(0, name.tries);
	send_all("75");
	assert_int_equal(1, counts.later);
	assert_int_equal(1, waiting(&name));
	assert_int_equal(1, name.tries);
	assert_in_range(name.due_s, name.born_s + 55, name.born_s + 65);
	send_all("0"); /* it is not due */
	assert_int_equal(0, counts.sent + counts.later);
	assert_int_equal(0, outbox_put(box, &some, &err));
	send_all("0");
	assert_int_equal(1, counts.sent);
	assert_int_equal(1, waiting(&name));
	assert_int_equal(0, file_slurp(scratch("got"), &got, &err));
	assert_non_null(strstr(buf_text(&got), "From: archie-errors@archie.x.org\nTo: a@b.org\n"));
}

static void what_waits_is_counted_by_its_names(void **state)
{
	static const char *const names[] = {"9.002.70.1.100.mail", "8.004.60.2.20.mail",
					    "7.000.80.3.3.mail", ".other.new", "6.000.1.mail"};
	struct outbox_waits w;
	struct err err;
	(void)state;
	assert_int_equal(0, outbox_waiting(scratch("nowhere"), &w, &err));
	assert_int_equal(0, w.mails);
	assert_int_equal(0, dir_make(scratch("data/archie/outbox"), 0700, &err));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof path, "%s/%s", scratch("data/archie/outbox"), names[i]);
		assert_int_equal(0, file_replace(path, STR("x"), 0600, &err));
	}
	assert_int_equal(0, outbox_waiting(scratch("data"), &w, &err));
	assert_int_equal(3, w.mails);
	assert_int_equal(123, w.bytes);
	assert_int_equal(4, w.tries);
	assert_int_equal(60, w.since_s);
}

static void a_mail_that_is_refused_or_damaged_leaves(void **state)
{
	struct outbox_name name;
	struct err err;
	(void)state;
	assert_int_equal(0, outbox_put(box, &some, &err));
	send_all("67");
	assert_int_equal(1, counts.refused);
	assert_int_equal(0, waiting(&name));
	assert_int_equal(0, file_replace(scratch("data/archie/outbox/0.0.0.0.9.mail"),
					 STR("GARNEROB\1\0\0\0x"), 0644, &err));
	send_all("0");
	assert_int_equal(1, counts.refused);
	assert_int_equal(0, waiting(&name));
	/* nor does one of another version wait for ever */
	assert_int_equal(0,
			 file_replace(scratch("data/archie/outbox/0.0.0.0.9.mail"),
				      STR("GARNEROB\143\0\0\0xxxxxxxxxxxxxxxxxxxx"), 0644, &err));
	send_all("0");
	assert_int_equal(1, counts.refused);
	assert_int_equal(0, waiting(&name));
}

static void a_mail_that_cannot_be_sent_for_days_is_given_up(void **state)
{
	struct outbox_name name;
	char old[PATH_MAX], text[OUTBOX_NAME_MOST];
	struct err err;
	(void)state;
	assert_int_equal(0, outbox_put(box, &some, &err));
	assert_int_equal(1, waiting(&name));
	outbox_name_print(&name, text);
	snprintf(old, sizeof old, "%s/%s", scratch("data/archie/outbox"), text);
	name.born_s -= OUTBOX_MAX_AGE_S + 1;
	outbox_name_print(&name, text);
	char aged[PATH_MAX];
	snprintf(aged, sizeof aged, "%s/%s", scratch("data/archie/outbox"), text);
	assert_int_equal(0, file_rename(old, aged, &err));
	send_all("75");
	assert_int_equal(1, counts.refused);
	assert_int_equal(0, waiting(&name));
}

static void all_parts_of_an_output_are_put_or_none(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
	struct shell_mail m = {
		.to = STR("a@b.org"), .command = STR("find x"), .max_split_size = 1024};
	struct outbox_name name;
	struct err err;
	(void)state;
	for (int i = 0; i < 500; i++)
		buf_add_text(&text, "a line of ten\n");
	m.text = buf_str(&text);
	assert_int_equal(0, outbox_put_output(box, &m, STR("192.0.2.1"), &err));
	assert_int_equal(7, waiting(&name));
	send_all("0");
	assert_int_equal(7, counts.sent);
	assert_int_equal(0, file_slurp(scratch("got"), &got, &err));
	assert_non_null(strstr(buf_text(&got), "Subject: archie [find x] part 7 of 7\n"));
	m.to = STR("a@b.org\nBcc: c@d.org");
	assert_int_equal(-1, outbox_put_output(box, &m, STR("192.0.2.1"), &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_int_equal(0, waiting(&name));
}

static void outputs_are_of_the_shares_of_asker_and_recipient(void **state)
{
	struct shell_mail m = {.to = STR("c@d.org"),
			       .text = STR("x\n"),
			       .command = STR("find x"),
			       .max_split_size = 1024};
	struct outbox_name name;
	struct err err;
	(void)state;
	for (int i = 0; i < 50; i++)
		assert_int_equal(0, outbox_put_output(box, &m,
						      str_of(i % 2 ? "192.0.2.8" : "192.0.2.9"),
						      &err));
	assert_int_equal(-1, outbox_put_output(box, &m, STR("192.0.2.7"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	for (int i = 0; i < 25; i++) {
		m.to = str_of(i % 2 ? "e@d.org" : "f@d.org");
		assert_int_equal(0, outbox_put_output(box, &m, STR("192.0.2.8"), &err));
	}
	assert_int_equal(-1, outbox_put_output(box, &m, STR("192.0.2.8"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	assert_int_equal(75, waiting(&name));
}

static void what_waits_is_bounded(void **state)
{
	char path[PATH_MAX], text[OUTBOX_NAME_MOST];
	struct outbox_name name = {.due_s = 4000000000, .born_s = 4000000000};
	struct err err;
	(void)state;
	assert_int_equal(0, outbox_put(box, &some, &err));
	name.size = OUTBOX_BYTES_MOST;
	outbox_name_print(&name, text);
	snprintf(path, sizeof path, "%s/%s", scratch("data/archie/outbox"), text);
	assert_int_equal(0, file_replace(path, STR("x"), 0644, &err));
	assert_int_equal(-1, outbox_put(box, &some, &err));
	assert_int_equal(ERR_BUSY, err.code);
	assert_non_null(strstr(err.msg, "too many mails"));
}

static void five_new_sites_a_day_go_to_the_master(void **state)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct outbox_name name;
	struct err err;
	(void)state;
	for (int i = 0; i < OUTBOX_NEW_SITES_A_DAY; i++)
		assert_int_equal(0, outbox_put_new_site(box, STR("ftp.new.org"), STR("me@x.org"),
							STR("192.0.2.1"), &err));
	assert_int_equal(
		-1, outbox_put_new_site(box, STR("ftp.new.org"), STR(""), STR("192.0.2.1"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	assert_int_equal(
		0, outbox_put_new_site(box, STR("192.0.2.7"), STR(""), STR("192.0.2.2"), &err));
	assert_int_equal(6, waiting(&name));
	for (int i = 0; i < OUTBOX_NEW_SITES_A_DAY; i++)
		assert_int_equal(0, outbox_put_new_site(box, STR("ftp.new.org"), STR(""),
							STR("2001:db8::1"), &err));
	assert_int_equal(-1, outbox_put_new_site(box, STR("ftp.new.org"), STR(""),
						 STR("2001:db8::2:2"), &err));
	assert_int_equal(ERR_BUSY, err.code);
	static const char *const bad[] = {"", "a b", "-x", "a\nb", "ftp://x", "x/y"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(-1,
				 outbox_put_new_site(box, str_of(bad[i]), STR(""), STR("x"), &err));
		assert_int_equal(ERR_USAGE, err.code);
	}
	send_all("0");
	assert_int_equal(0, file_slurp(scratch("got"), &got, &err));
	assert_non_null(strstr(buf_text(&got), "To: master@m.org\nReply-To: me@x.org\n"
					       "Subject: addnewsite\n"));
	assert_non_null(
		strstr(buf_text(&got), "Precedence: bulk\nAuto-Submitted: auto-generated\n"));
	assert_non_null(strstr(buf_text(&got), "\n\naddnewsite ftp.new.org\n"));
}

static void one_sends_at_a_time(void **state)
{
	struct lock lock;
	struct err err;
	(void)state;
	assert_int_equal(0, dir_make(scratch("data/archie"), DIR_MODE, &err));
	assert_int_equal(0, lock_take(&lock, scratch("data/archie/outbox.lock"), "a test", &err));
	assert_int_equal(1, outbox_send(scratch("data"), &conf, INT64_MAX, NULL, &counts, &err));
	lock_free(&lock);
}

static void counts_that_another_one_holds_are_no_excess(void **state)
{
	struct lock lock;
	struct err err;
	(void)state;
	assert_int_equal(0, dir_make(scratch("data/archie"), DIR_MODE, &err));
	assert_int_equal(0, lock_take(&lock, scratch("data/archie/daily.lock"), "a test", &err));
	assert_int_equal(-1, outbox_put_new_site(box, STR("ftp.new.org"), STR("me@x.org"),
						 STR("192.0.2.66"), &err));
	lock_free(&lock);
	assert_int_equal(ERR_SYSTEM, err.code);
}

static void names_say_when_a_mail_is_due(void **state)
{
	struct outbox_name name = {1700000000, 3, 1690000000, 77, 1234}, back;
	char text[OUTBOX_NAME_MOST];
	static const char *const bad[] = {"",
					  "1.2.3.4.5",
					  "1.2.3.4.mail",
					  "1.2.3.4.5.mail.x",
					  "1.2.3.4.x.mail",
					  "1.2.3.4.5.mail~"};
	(void)state;
	outbox_name_print(&name, text);
	assert_string_equal("1700000000.003.1690000000.0000000077.1234.mail", text);
	assert_true(outbox_name_parse(str_of(text), &back));
	assert_memory_equal(&name, &back, sizeof name);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(outbox_name_parse(str_of(bad[i]), &back));
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
		assert_int_equal(0, outbox_put(box, &some, &err));
		assert_int_equal(0, outbox_put_output(box, &m, STR("192.0.2.50"), &err));
		assert_int_equal(0, outbox_put_new_site(box, STR("ftp.new.org"), STR(""),
							STR("192.0.2.50"), &err));
		send_all("0");
		assert_int_equal(3, counts.sent);
		assert_int_equal(0, file_slurp(scratch("got"), &got, &err));
		assert_int_equal(0, file_remove(scratch("got"), &err));
		for (const char *at = buf_text(&got); (at = strstr(at, table[i][1])); at++)
			n++;
		assert_int_equal(3, n);
	}
	assert_int_equal(0, file_remove(scratch("data/archie/etc/archierc"), &err));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_mail_waits_until_it_is_sent),
		TEST(what_waits_is_counted_by_its_names),
		TEST(a_mail_that_is_refused_or_damaged_leaves),
		TEST(a_mail_that_cannot_be_sent_for_days_is_given_up),
		TEST(all_parts_of_an_output_are_put_or_none),
		TEST(outputs_are_of_the_shares_of_asker_and_recipient),
		TEST(what_waits_is_bounded),
		TEST(five_new_sites_a_day_go_to_the_master),
		TEST(all_mails_have_the_name_that_the_rc_gives_them),
		TEST(one_sends_at_a_time),
		TEST(counts_that_another_one_holds_are_no_excess),
		TEST(names_say_when_a_mail_is_due),
	};
	int rc = cmocka_run_group_tests(tests, make_all, scratch_done);
	config_free(&config);
	return rc;
}
