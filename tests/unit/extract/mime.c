/* Mails as gmime reads them, in this process; the cage is a scene's. */
#include "extract/mime.h"

#include "../unit.h"
#include "base/cursor.h"

static struct arena arena;

static struct mime_mail parsed(struct str mail)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(8 << 20);
	struct mime_mail m;
	struct err err;
	assert_int_equal(0, mime_load(&err));
	mime_parse(mail, &out);
	assert_int_equal(0, mime_take(arena_str(&arena, buf_str(&out)), &arena, &m, &err));
	return m;
}

static int end_arena(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void headers_are_unfolded_and_addresses_bare(void **state)
{
	(void)state;
	struct mime_mail m =
		parsed(STR("From joe@env.org Sat Jan  3 01:05:34 1996\n"
			   "Return-Path: <>\nFrom: \"Bloggs, Joe\"\n <joe@x.org> (home)\n"
			   "Reply-To: undisclosed:;, a@b.org, c@d.org\n"
			   "Subject: =?iso-8859-1?q?find_=E4?=\n x\n"
			   "X-A: one\n\ttwo\nX-Empty:\n\nfind x\nquit\n"));
	assert_str(mime_value(&m, "From "), "joe@env.org");
	assert_str(mime_value(&m, "from"), "joe@x.org");
	assert_str(mime_value(&m, "Reply-To"), "a@b.org");
	assert_str(mime_value(&m, "Subject"), "find \xc3\xa4 x");
	assert_non_null(mime_value(&m, "Return-Path").p);
	assert_int_equal(0, mime_value(&m, "Return-Path").n);
	assert_null(mime_value(&m, "Sender").p);
	assert_str(m.text, "find x\nquit\n");
}

static void the_text_is_that_of_the_first_plain_part(void **state)
{
	(void)state;
	struct mime_mail m = parsed(
		STR("From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=m\n\n"
		    "--m\nContent-Type: multipart/alternative; boundary=a\n\n"
		    "--a\nContent-Type: text/html\n\n<p>find html\n"
		    "--a\nContent-Type: text/plain; charset=koi8-r\n"
		    "Content-Transfer-Encoding: base64\n\nZmluZCDB0gpxdWl0Cg==\n"
		    "--a--\n--m\nContent-Type: text/plain\n\nfind second\n--m--\n"));
	assert_str(m.text, "find \xd0\xb0\xd1\x80\nquit\n");
	m = parsed(STR("From: a@b\nMIME-Version: 1.0\nContent-Type: text/html\n\n<p>x\n"));
	assert_str(m.text, "");
	m = parsed(STR("From: a@b\nContent-Type: text/plain\nContent-Transfer-Encoding: "
		       "quoted-printable\n\nfind=20a=\nb\n"));
	assert_str(m.text, "find ab\n");
}

static void anything_is_a_mail_within_bounds(void **state)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(8 << 20);
	(void)state;
	assert_int_equal(0, parsed(STR("")).text.n);
	(void)parsed(STR("\n\n\n"));
	(void)parsed(STR("\0\xff\xfe: \x80\n\x01\n"));
	for (int i = 0; i < 5000; i++)
		buf_printf(&text, "X-%d: v\n", i);
	buf_add_text(&text, "Y: ");
	buf_fill(&text, 'y', 100000);
	buf_add_text(&text, "\n\n");
	buf_fill(&text, 'z', 500000);
	struct mime_mail m = parsed(buf_str(&text));
	assert_true(m.n <= MIME_HEADERS_MOST && m.cut);
	assert_true(m.text.n <= MIME_TEXT_MOST);
	buf_clear(&text);
	buf_add_text(&text, "A: b\nX: ");
	buf_fill(&text, 'x', MIME_MAIL_MOST);
	buf_add_text(&text, "\nPrecedence: bulk\n\n");
	assert_true(parsed(buf_str(&text)).cut);
	assert_false(parsed(STR("A: b\n\nc\n")).cut);
	buf_clear(&text);
	buf_add_text(&text, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b0\n\n");
	for (int i = 0; i < 2000; i++)
		buf_printf(&text, "--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", i,
			   i + 1);
	(void)parsed(buf_str(&text));
}

static void an_answer_that_makes_no_sense_is_refused(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct mime_mail m;
	struct err err;
	(void)state;
	put_text(&out, STR("Subject"));
	put_text(&out, STR("a\nb"));
	put_text(&out, STR(""));
	put_text(&out, STR("text"));
	assert_int_equal(-1, mime_take(buf_str(&out), &arena, &m, &err));
	buf_clear(&out);
	put_text(&out, STR(""));
	put_text(&out, STR("\xff"));
	assert_int_equal(-1, mime_take(buf_str(&out), &arena, &m, &err));
	buf_clear(&out);
	for (int i = 0; i <= MIME_HEADERS_MOST; i++) {
		put_text(&out, STR("A"));
		put_text(&out, STR("b"));
	}
	assert_int_equal(-1, mime_take(buf_str(&out), &arena, &m, &err));
	buf_clear(&out);
	put_text(&out, STR(""));
	put_text(&out, STR("text"));
	assert_int_equal(0, mime_take(buf_str(&out), &arena, &m, &err));
	buf_add_byte(&out, 'x');
	assert_int_equal(-1, mime_take(buf_str(&out), &arena, &m, &err));
	assert_int_equal(-1, mime_take(STR(""), &arena, &m, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(headers_are_unfolded_and_addresses_bare, end_arena),
		cmocka_unit_test_teardown(the_text_is_that_of_the_first_plain_part, end_arena),
		cmocka_unit_test_teardown(anything_is_a_mail_within_bounds, end_arena),
		cmocka_unit_test_teardown(an_answer_that_makes_no_sense_is_refused, end_arena),
	};
	arena = ARENA_INIT((size_t)32 << 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
