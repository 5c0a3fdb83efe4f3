/* A person who types what a script says: bytes come in pieces, and what is shown is written down.
 * The archive is one that never answers. */
#include "archie/talk.h"
#include "../unit.h"
#include "base/clock.h"

#include <stdio.h>

static struct script {
	const char *const
		*piece; /* a NULL: the end; "^": talk_interrupt(); "!": the time is over */
	struct buf shown;
	struct talk *talk;
	size_t writes_left; /* then nobody reads any more */
	struct buf log;
} s;

static int script_read(void *ctx, int64_t until_us, char *room, size_t cap, size_t *ret_n)
{
	(void)ctx;
	if (!*s.piece)
		return 1;
	if (until_us <= clock_mono_us() && strcmp(*s.piece, "..") == 0) {
		s.piece++; /* what comes later */
		return -1;
	}
	if (strcmp(*s.piece, "..") == 0)
		s.piece++;
	const char *piece = *s.piece;
	if (!piece)
		return 1;
	size_t n = strlen(piece);
	assert_true(n <= cap);
	s.piece++;
	if (strcmp(piece, "!") == 0)
		return -1;
	if (strcmp(piece, "^") == 0) {
		talk_interrupt(s.talk);
		return 0;
	}
	if (strcmp(piece, "STOP") == 0) {
		talk_leave(s.talk, "The server stops.");
		return 0;
	}
	memcpy(room, piece, n);
	*ret_n = n;
	return 0;
}

static bool script_write(void *ctx, struct str text)
{
	(void)ctx;
	buf_add_str(&s.shown, text);
	return s.writes_left == 0 || --s.writes_left > 0;
}

static int script_mail(void *ctx, const struct shell_mail *mail, struct err *err)
{
	(void)ctx, (void)err;
	buf_printf(&s.log, "mail " STR_FMT " %zu\n", STR_ARG(mail->to), mail->text.n);
	return 0;
}

static int script_new_site(void *ctx, struct str host, struct err *err)
{
	(void)ctx;
	buf_printf(&s.log, "site " STR_FMT "\n", STR_ARG(host));
	return err_set(err, ERR_BUSY, "not today");
}

static const struct talk_ops ops = {script_read, script_write, script_mail, script_new_site};

static int connect_never(void *ctx)
{
	(void)ctx;
	return -1;
}

static const struct shell_texts texts = {.motd = STR("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")};

struct play {
	const char *const *piece;
	bool keys;
	unsigned rows;
	size_t writes;
};

/* What was shown after the greeting. */
static const char *play_script(struct play p)
{
	struct archie *archie = archie_new_handed(connect_never, NULL);
	buf_clear(&s.shown);
	buf_clear(&s.log);
	s.piece = p.piece;
	s.writes_left = p.writes;
	s.talk = talk_new(&(struct talk_options){
		.ops = &ops,
		.archie = archie,
		.fd = -1,
		.prompts = true,
		.shell = {.texts = &texts, .terminal = {.rows = p.rows, .cols = 80}}});
	talk_keys(s.talk, p.keys);
	talk_run(s.talk);
	talk_free(&s.talk);
	archie_free(&archie);
	const char *begins = strstr(buf_text(&s.shown), "archie> ");
	return begins ? begins : "";
}
#define PLAY(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static void lines_come_whole_or_by_keys(void **state)
{
	(void)state;
	const char *said = play_script((struct play){PLAY("show maxhits\nbye\n")});
	assert_string_equal(said, "archie> # `maxhits' (type numeric) has the value `100'.\n"
				  "archie> # Bye.\n");
	said = play_script(
		(struct play){PLAY("sho", "w maxhist\b\b", "ts\r\n", "bye\r"), .keys = true});
	assert_string_equal(said, "archie> show maxhist\b \b\b \bts\n"
				  "# `maxhits' (type numeric) has the value `100'.\n"
				  "archie> bye\n# Bye.\n");
	/* the end of input is the end of the line, too */
	said = play_script((struct play){PLAY("show maxhits")});
	assert_non_null(strstr(said, "the value `100'.\narchie> \n# Bye.\n"));
}

static void a_line_ends_once_whatever_ends_it(void **state)
{
	(void)state;
	static const char *const ends[] = {"\r\n", "\r", "\n"};
	for (int keys = 0; keys < 2; keys++)
		for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
			const char *said = play_script((struct play){
				PLAY("version", ends[i], "version", ends[i], "bye", ends[i]),
				.keys = keys});
			size_t prompts = 0;
			for (; (said = strstr(said, "archie> ")); said++)
				prompts++;
			assert_int_equal(prompts, 3);
		}
}

static void an_interrupt_at_the_prompt_drops_the_line(void **state)
{
	(void)state;
	const char *said = play_script((struct play){PLAY("version x\003bye\r"), .keys = true});
	assert_string_equal(said, "archie> version x\narchie> bye\n# Bye.\n");
	said = play_script((struct play){PLAY("version", "^", "bye\n")});
	assert_string_equal(said, "archie> \narchie> # Bye.\n");
	said = play_script((struct play){PLAY("help set\r", "\003", "\004"), .keys = true});
	assert_non_null(strstr(said, "help set> \narchie> \n# Bye.\n"));
}

static void pages_are_turned_by_keys(void **state)
{
	(void)state;
	const char *said = play_script((struct play){
		PLAY("pager\r\n", "motd\r", " ", "\r\n", "q", "bye\r"), .keys = true, .rows = 5});
	assert_string_equal(said, "archie> pager\narchie> motd\n1\n2\n3\n4\n--More--\r        \r"
				  "5\n6\n7\n8\n--More--\r        \r9\n--More--\r        \r"
				  "archie> bye\n# Bye.\n");
	said = play_script((struct play){PLAY("pager\nmotd\n", "\n", "q\n", "bye\n"), .rows = 5});
	assert_string_equal(said, "archie> archie> 1\n2\n3\n4\n--More--5\n6\n7\n8\n--More--"
				  "archie> # Bye.\n");
	said = play_script(
		(struct play){PLAY("pager\r", "motd\r", "\003", "bye\r"), .keys = true, .rows = 5});
	assert_non_null(strstr(said, "4\n--More--\r        \rarchie> bye\n"));
}

static void who_says_nothing_is_logged_out(void **state)
{
	(void)state;
	assert_string_equal(play_script((struct play){PLAY("!")}),
			    "archie> \n# auto-logout\n# Bye.\n");
	const char *said =
		play_script((struct play){PLAY("pager\r", "motd\r", "!"), .keys = true, .rows = 5});
	assert_non_null(strstr(said, "--More--\r        \r# auto-logout\n# Bye.\n"));
	said = play_script((struct play){PLAY("STOP")});
	assert_string_equal(said, "archie> \n# The server stops.\n# Bye.\n");
}

static void a_search_is_given_up_by_a_key(void **state)
{
	(void)state;
	const char *said = play_script(
		(struct play){PLAY("find x\r", "..", "abc\003", "bye\r"), .keys = true});
	assert_non_null(strstr(said, "# Aborted.\narchie> bye\n# Bye.\n"));
	said = play_script((struct play){PLAY("find x\n", "..", "^", "bye\n")});
	assert_non_null(strstr(said, "# Aborted.\narchie> # Bye.\n"));
	/* also by one who has typed ahead as much as is kept */
	static char much[4096 + 1];
	memset(much, 'a', sizeof much - 1);
	said = play_script(
		(struct play){PLAY("find x\r", "..", much, "..", "b\003bye\r"), .keys = true});
	assert_non_null(strstr(said, "# Aborted.\narchie> bye\n# Bye.\n"));
}

static void the_spinner_turns_where_status_is_set(void **state)
{
	(void)state;
	const char *said = play_script(
		(struct play){PLAY("find x\r", "..", "..", "\003", "bye\r"), .keys = true});
	assert_non_null(strstr(said, SHELL_WORKING));
	said = play_script((struct play){
		PLAY("unset status\r", "find x\r", "..", "..", "\003", "bye\r"), .keys = true});
	assert_null(strstr(said, SHELL_WORKING));
	assert_non_null(strstr(said, "# Aborted.\n"));
}

static void nothing_is_shown_to_who_is_gone(void **state)
{
	(void)state;
	for (size_t writes = 1; writes < 12; writes++) {
		play_script((struct play){PLAY("motd\r", "motd\r", "bye\r"), .keys = true,
					  .writes = writes});
		assert_true(s.writes_left == 0 || writes > 8);
	}
}

static void mails_and_sites_are_handed_on(void **state)
{
	(void)state;
	const char *said = play_script(
		(struct play){PLAY("motd\nmail me@example.test\naddnewsite ftp.example.test\n")});
	assert_string_equal(buf_text(&s.log), "mail me@example.test 27\nsite ftp.example.test\n");
	assert_non_null(strstr(said, "not today"));
}

static int end_all(void **state)
{
	(void)state;
	buf_free(&s.shown);
	buf_free(&s.log);
	return 0;
}

int main(void)
{
	s.shown = BUF_INIT(1 << 20);
	s.log = BUF_INIT(1 << 10);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_whole_or_by_keys),
		cmocka_unit_test(a_line_ends_once_whatever_ends_it),
		cmocka_unit_test(an_interrupt_at_the_prompt_drops_the_line),
		cmocka_unit_test(pages_are_turned_by_keys),
		cmocka_unit_test(who_says_nothing_is_logged_out),
		cmocka_unit_test(a_search_is_given_up_by_a_key),
		cmocka_unit_test(the_spinner_turns_where_status_is_set),
		cmocka_unit_test(nothing_is_shown_to_who_is_gone),
		cmocka_unit_test(mails_and_sites_are_handed_on),
	};
	return cmocka_run_group_tests(tests, NULL, end_all);
}
