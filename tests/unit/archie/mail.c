/* Whom a mail is answered to, which of its lines count, and how output becomes mails. */
#include "archie/mail.h"

#include "../scratch.h"
#include "../unit.h"
#include "archie/mail/mail_parts.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "disk/small_file.h"
#include "extract/lzw.h"

/* "Name: value" lines; of address headers the address alone, as mime_read() has it. */
static struct mime_mail mail_of(const char *text, struct mime_header room[16])
{
	struct mime_mail m = {.header = room};
	struct str rest = str_of(text), line;
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		size_t n = str_find_byte(line, ':');
		room[m.n++] =
			(struct mime_header){str_head(line, n), str_trim(str_from(line, n + 1))};
	}
	return m;
}

static const struct mail_own own = {"archie.x.org", "archie-errors@archie.x.org",
				    STR("files@x.org")};

static struct mail_judgement judge(const char *text)
{
	struct mime_header room[16];
	struct mime_mail m = mail_of(text, room);
	return mail_judge(&m, &own);
}

static void the_reply_goes_to_the_first_address_there_is(void **state)
{
	static const char *const table[][2] = {
		{"From: f@x\nReply-To: r@x\nReturn-Path: p@x\nFrom : e@x\n", "r@x"},
		{"From: f@x\nReturn-Path: p@x\nFrom : e@x\n", "p@x"},
		{"From: f@x\nFrom : e@x\n", "f@x"},
		{"From : e@x\n", "e@x"},
		{"Reply-To:\nFrom: f@x\n", "f@x"},
		{"Reply-To: nobody\nFrom: f@x\n", "f@x"},
		{"reply-to: r@x\nFrom: f@x\nSender: s@x\n", "r@x"},
		{"From: archie@other.org\n", "archie@other.org"},
		{"Auto-Submitted: no\nPrecedence: first-class\nFrom: f@x\n", "f@x"},
		{"Content-Type: text/plain\nFrom: f@x\n", "f@x"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct mail_judgement j = judge(table[i][0]);
		assert_null(j.why_not);
		assert_str(j.to, table[i][1]);
	}
}

static void what_programs_and_lists_write_is_not_answered(void **state)
{
	static const char *const table[][2] = {
		{"Return-Path:\nFrom: f@x\n", "without a sender"},
		{"Return-Path:\nReply-To: victim@x\nFrom: f@x\n", "without a sender"},
		{"Return-Path: f@x\nReturn-Path:\nFrom: f@x\n", "without a sender"},
		{"Precedence: first-class\nPrecedence: bulk\nFrom: f@x\n", "in bulk"},
		{"Auto-Submitted: no\nFrom: f@x\nAuto-Submitted: auto-replied\n",
		 "sent by a program"},
		{"From: f@x\nFrom: MAILER-DAEMON@x\n", "from a mailer daemon"},
		{"From: Mailer-Daemon@x\n", "from a mailer daemon"},
		{"From : MAILER-DAEMON\nFrom: f@x\n", "from a mailer daemon"},
		{"Reply-To: f@x\nFrom: MAILER-DAEMON@x\n", "from a mailer daemon"},
		{"From: f@x\nPrecedence: bulk\n", "in bulk"},
		{"From: f@x\nPrecedence: Junk\n", "in bulk"},
		{"From: f@x\nPrecedence: list\n", "in bulk"},
		{"From: f@x\nAuto-Submitted: auto-replied\n", "sent by a program"},
		{"From: f@x\nauto-submitted: auto-generated; x\n", "sent by a program"},
		{"From: f@x\nContent-Type: multipart/report; x=y\n", "a report about a mail"},
		{"From: f@x\nList-Id: <l.x>\n", "from a list"},
		{"From: f@x\nX-BeenThere: l@x\n", "from a list"},
		{"From: f@x\nSender: owner-l@x\n", "from a list"},
		{"From: f@x\nReturn-Path: l-request@x\n", "from a list"},
		{"From: l-bounces@x\n", "from a list"},
		{"From: archie-errors@archie.x.org\n", "from ourselves"},
		{"From: Archie@Archie.X.org\n", "from ourselves"},
		{"Reply-To: archie@archie.x.org\nFrom: f@x\n", "from ourselves"},
		{"From: Files@x.org\n", "from ourselves"},
		{"Subject: find x\n", "from no address"},
		{"From: nobody\nFrom : also\n", "from no address"},
		{"", "from no address"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct mail_judgement j = judge(table[i][0]);
		assert_non_null(j.why_not);
		assert_string_equal(table[i][1], j.why_not);
	}
}

static void a_mail_whose_headers_are_not_all_seen_is_not_answered(void **state)
{
	struct mime_header room[16];
	struct mime_mail m = mail_of("From: f@x\n", room);
	(void)state;
	assert_null(mail_judge(&m, &own).why_not);
	m.cut = true;
	assert_string_equal("with too many headers", mail_judge(&m, &own).why_not);
}

static void the_subject_and_fifty_lines_are_commands(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(8192);
	struct mime_header room[16];
	struct mime_mail m = mail_of("Subject: find first\n", room);
	struct str line;
	(void)state;
	buf_add_text(&text, "\n> quoted\n  find x \r\n-- \n123\n\"find y\"\n");
	for (int i = 0; i < 60; i++)
		buf_printf(&text, "find a%d\n.\n", i);
	m.text = buf_str(&text);
	struct mail_lines it = mail_lines(&m);
	assert_int_equal(0, mail_lines_next(&it, &line));
	assert_str(line, "find first");
	assert_int_equal(0, mail_lines_next(&it, &line));
	assert_str(line, "find x");
	for (int i = 0; i < MAIL_LINES_MOST - 1; i++)
		assert_int_equal(0, mail_lines_next(&it, &line));
	assert_str(line, "find a48");
	assert_int_equal(1, mail_lines_next(&it, &line));
	m = mail_of("From: x@y\n", room);
	it = mail_lines(&m);
	assert_int_equal(1, mail_lines_next(&it, &line));
}

/* All parts, with their subjects; returns how many. */
static size_t parts_of(const struct shell_mail *mail, struct buf *all, struct buf *subjects,
		       size_t *ret_largest)
{
	CLEANUP(buf_free) struct buf subject = BUF_INIT(600);
	struct mail_parts p;
	struct str part;
	struct err err;
	size_t n = 0;
	buf_clear(all);
	buf_clear(subjects);
	*ret_largest = 0;
	assert_int_equal(0, mail_parts_init(&p, mail, &err));
	for (; mail_parts_next(&p, &subject, &part) == 0; n++) {
		buf_add_str(all, part);
		buf_printf(subjects, "%s\n", buf_text(&subject));
		*ret_largest = MAX(*ret_largest, part.n);
		assert_true(!part.n || part.p[part.n - 1] == '\n');
	}
	assert_int_equal(n, p.n);
	mail_parts_done(&p);
	return n;
}

static void output_is_split_at_ends_of_lines(void **state)
{
	CLEANUP(buf_free) struct buf all = BUF_INIT(8 << 20), subjects = BUF_INIT(1 << 20);
	CLEANUP(buf_free) struct buf text = BUF_INIT(8 << 20);
	size_t largest;
	(void)state;
	struct shell_mail m = {.command = STR("find a"), .max_split_size = 10};
	assert_int_equal(1, parts_of(&m, &all, &subjects, &largest));
	assert_string_equal("archie [find a] part 1 of 1\n", buf_text(&subjects));
	m.text = STR("1234567\n9\n12345\n7\n9012345\nlast\n");
	assert_int_equal(3, parts_of(&m, &all, &subjects, &largest));
	assert_str(buf_str(&all), "1234567\n9\n12345\n7\n9012345\nlast\n");
	assert_int_equal(16, largest); /* by one line */
	assert_string_equal("archie [find a] part 1 of 3\narchie [find a] part 2 of 3\n"
			    "archie [find a] part 3 of 3\n",
			    buf_text(&subjects));
	for (int i = 0; i < 100000; i++)
		buf_add_text(&text, "0123456\n");
	m.text = buf_str(&text);
	size_t n = parts_of(&m, &all, &subjects, &largest);
	assert_true(n <= MAIL_PARTS_MOST && n > MAIL_PARTS_MOST / 2);
	assert_true(str_eq(buf_str(&all), m.text));
}

static void output_can_be_packed_and_encoded(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20), subjects = BUF_INIT(1 << 20);
	size_t largest;
	(void)state;
	mail_uuencode(STR("Cat"), &out);
	assert_string_equal("begin 644 archie-output\n#0V%T\n`\nend\n", buf_text(&out));
	buf_clear(&out);
	mail_uuencode(STR(""), &out);
	assert_string_equal("begin 644 archie-output\n`\nend\n", buf_text(&out));
	const struct shell_mail m = {
		.text = STR("Cat"), .compress = true, .encode = true, .max_split_size = 1024};
	assert_int_equal(1, parts_of(&m, &out, &subjects, &largest));
	assert_string_equal("begin 644 archie-output\n''YV00\\+0`0``\n`\nend\n", buf_text(&out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reply_goes_to_the_first_address_there_is),
		cmocka_unit_test(what_programs_and_lists_write_is_not_answered),
		cmocka_unit_test(a_mail_whose_headers_are_not_all_seen_is_not_answered),
		cmocka_unit_test(the_subject_and_fifty_lines_are_commands),
		cmocka_unit_test(output_is_split_at_ends_of_lines),
		cmocka_unit_test(output_can_be_packed_and_encoded),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
