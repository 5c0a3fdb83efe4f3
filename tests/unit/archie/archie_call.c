/* The way that waits, against a queuer that has said everything beforehand: what it will answer is
 * in the socket before it is asked. */
#include "archie/search/archie_wire.h"

#include "../unit.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO "archie 10\nversion 2\n"
enum { TALKS_MOST = 4 };

struct peer_script {
	struct buf talk[TALKS_MOST]; /* of each connection; the last stays open */
	size_t talks, used;
	int fd[TALKS_MOST]; /* our ends */
	unsigned away;      /* times that nobody is there, before the first */
	unsigned stops;     /* times that stop() is asked before it says true; 0: never */
	unsigned asked;
	uint64_t position;
};

static int hand_over(void *ctx)
{
	struct peer_script *s = ctx;
	int ends[2];
	if (s->away) {
		s->away--;
		errno = ECONNREFUSED;
		return -1;
	}
	assert_true(s->used < s->talks);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	struct str talk = buf_str(&s->talk[s->used]);
	assert_int_equal(send(ends[0], talk.p, talk.n, 0), talk.n);
	if (s->used + 1 < s->talks)
		shutdown(ends[0], SHUT_WR);
	s->fd[s->used++] = ends[0];
	return ends[1];
}

static struct buf *script_talk(struct peer_script *s, const char *text)
{
	struct buf *b = &s->talk[s->talks++];
	*b = BUF_INIT(1 << 20);
	buf_add_text(b, text);
	return b;
}

static void script_free(struct peer_script *s)
{
	for (size_t i = 0; i < s->used; i++)
		close(s->fd[i]);
	for (size_t i = 0; i < s->talks; i++)
		buf_free(&s->talk[i]);
}

static struct archie_id id_of(uint64_t n)
{
	return (struct archie_id){(uint64_t)getpid(), n};
}

/* An answer with one description. */
static void put_answer(struct buf *out, uint64_t n, const char *name)
{
	struct archie_message m = {.id = id_of(n), .wait_us = 5, .total = 1};
	struct archie_writer w = {0};
	const struct archie_row row = {.file = {.name = str_of(name)}};
	archie_writer_begin(&w, NULL, NULL);
	assert_true(archie_writer_row(&w, ARCHIE_NO_SITE, &row));
	archie_writer_end(&w, &m);
	message_write(&archie_tells, ARCHIE_WORD_ANSWER, &m, out);
	archie_writer_free(&w);
}

static void on_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct peer_script *s = ctx;
	assert_int_equal(seconds, 3);
	s->position = position;
}

static bool on_stop(void *ctx)
{
	struct peer_script *s = ctx;
	return s->stops && ++s->asked >= s->stops;
}

struct called {
	struct archie *archie;
	struct arena arena;
	struct archie_answer answer;
	enum archie_refusal why;
	struct err err;
};

static int call(struct called *c, struct peer_script *s, const struct archie_ask *ask)
{
	const struct archie_wait wait = {
		.queued = on_queued, .stop = on_stop, .every_us = US_PER_MS, .fd = -1, .ctx = s};
	c->err = (struct err){0};
	return archie_call(c->archie, ask, &wait, &c->arena, &c->answer, &c->why, &c->err);
}

static void called_new(struct called *c, struct peer_script *s)
{
	*c = (struct called){.arena = ARENA_INIT(1 << 20)};
	c->archie = archie_new_handed(hand_over, s);
}

static void called_free(struct called *c, struct peer_script *s)
{
	archie_free(&c->archie);
	arena_free(&c->arena);
	script_free(s);
}

static const struct archie_ask ask_gcc = {.what = ARCHIE_WHATIS, .query.pattern = {"gcc", 3}};

static void a_request_is_asked_once_the_queuer_has_greeted_and_its_answer_comes_back(void **state)
{
	struct peer_script s = {.away = 2};
	struct called c;
	char heard[512] = "";
	(void)state;
	struct buf *talk = script_talk(&s, HELLO);
	message_write(&archie_tells, ARCHIE_WORD_QUEUED,
		      &(struct archie_message){.id = id_of(1), .position = 7, .seconds = 3}, talk);
	put_answer(talk, 99, "not ours");
	put_answer(talk, 1, "gcc");
	put_answer(talk, 2, "gdb");
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), 0);
	assert_int_equal(s.position, 7);
	assert_true(c.answer.n == 1 && c.answer.wait_us == 5 && c.why == ARCHIE_NOT_REFUSED);
	assert_str(c.answer.row[0].file.name, "gcc");
	assert_int_equal(call(&c, &s, &ask_gcc), 0); /* on the same connection */
	assert_str(c.answer.row[0].file.name, "gdb");
	ssize_t n = recv(s.fd[0], heard, sizeof heard - 1, 0);
	struct archie_message m;
	struct str first = {heard, (size_t)n};
	int word;
	assert_int_equal(message_frame(&archie_asks, first, &first.n), 0);
	assert_int_equal(message_read(&archie_asks, first, &word, &m, &c.err), 0);
	assert_true(word == ARCHIE_WORD_ASK && m.id.n == 1 && m.niceness == 0);
	struct archie_ask ask;
	assert_int_equal(archie_ask_decode(m.request, &c.arena, &ask, &c.err), 0);
	assert_str(ask.query.pattern, "gcc");
	called_free(&c, &s);
}

static void refusals_have_their_word_and_text(void **state)
{
	struct peer_script s = {0};
	struct called c;
	(void)state;
	struct buf *talk = script_talk(&s, HELLO);
	message_write(
		&archie_tells, ARCHIE_WORD_REFUSED,
		&(struct archie_message){.id = id_of(1), .why = ARCHIE_BUSY, .text = STR("full")},
		talk);
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), -1);
	assert_true(c.why == ARCHIE_BUSY && c.err.code == ERR_BUSY);
	assert_string_equal(c.err.msg, "full");
	/* what cannot be asked is refused without asking */
	struct archie_ask bad = {.niceness = -5};
	assert_int_equal(call(&c, &s, &bad), -1);
	assert_int_equal(c.why, ARCHIE_BAD);
	called_free(&c, &s);
	/* one that has no room for us says so in place of its greeting */
	struct peer_script full = {0};
	script_talk(&full, "refused 35\nwhy busy\ntext too many connections\n");
	called_new(&c, &full);
	assert_int_equal(call(&c, &full, &ask_gcc), -1);
	assert_int_equal(c.why, ARCHIE_BUSY);
	assert_string_equal(c.err.msg, "too many connections");
	called_free(&c, &full);
}

static void a_connection_that_breaks_is_made_anew_once(void **state)
{
	struct peer_script s = {0};
	struct called c;
	(void)state;
	script_talk(&s, HELLO "queued 1");
	put_answer(script_talk(&s, HELLO), 1, "again");
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), 0);
	assert_str(c.answer.row[0].file.name, "again");
	called_free(&c, &s);
	struct peer_script twice = {0};
	script_talk(&twice, HELLO);
	script_talk(&twice, HELLO);
	script_talk(&twice, HELLO);
	called_new(&c, &twice);
	assert_int_equal(call(&c, &twice, &ask_gcc), -1);
	assert_int_equal(c.why, ARCHIE_AWAY);
	assert_int_equal(twice.used, 2);
	called_free(&c, &twice);
}

static void a_queuer_of_another_version_is_not_asked(void **state)
{
	struct peer_script s = {0};
	struct called c;
	struct err err;
	(void)state;
	assert_int_equal(archie_hello_check(&(struct archie_message){.version = 9}, &err), -1);
	assert_non_null(strstr(err.msg, "version 9 of this protocol, expected 2"));
	put_answer(script_talk(&s, "archie 10\nversion 9\n"), 1, "old");
	put_answer(script_talk(&s, HELLO), 1, "new");
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), 0);
	assert_str(c.answer.row[0].file.name, "new");
	called_free(&c, &s);
}

static void one_that_was_cut_while_it_lay_idle_is_no_try(void **state)
{
	struct peer_script s = {0};
	struct called c;
	(void)state;
	put_answer(script_talk(&s, HELLO), 1, "one");
	script_talk(&s, HELLO);
	put_answer(script_talk(&s, HELLO), 2, "two");
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), 0);
	assert_int_equal(call(&c, &s, &ask_gcc), 0);
	assert_str(c.answer.row[0].file.name, "two");
	called_free(&c, &s);
}

static void one_that_waits_may_stop_waiting(void **state)
{
	struct peer_script s = {.stops = 3};
	struct called c;
	(void)state;
	script_talk(&s, HELLO);
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), -1);
	assert_int_equal(c.why, ARCHIE_CANCELLED);
	char heard[256];
	assert_true(recv(s.fd[0], heard, sizeof heard, 0) > 0);
	assert_int_equal(recv(s.fd[0], heard, sizeof heard, 0), 0); /* it hung up */
	/* also where the queuer is not there, or does not greet */
	s.asked = 0;
	s.away = 1000;
	assert_int_equal(call(&c, &s, &ask_gcc), -1);
	assert_int_equal(c.why, ARCHIE_CANCELLED);
	s.asked = s.away = 0;
	script_talk(&s, "ARCH");
	assert_int_equal(call(&c, &s, &ask_gcc), -1);
	assert_int_equal(c.why, ARCHIE_CANCELLED);
	called_free(&c, &s);
}

static bool stop_on_input(void *ctx)
{
	struct peer_script *s = ctx;
	s->asked++;
	return s->asked == 2;
}

static void
a_descriptor_that_becomes_readable_is_asked_about_at_once_and_not_all_the_time(void **state)
{
	struct peer_script s = {0};
	struct called c;
	int ends[2];
	(void)state;
	script_talk(&s, HELLO);
	called_new(&c, &s);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	const struct archie_wait wait = {
		.stop = stop_on_input, .every_us = 30 * US_PER_MS, .fd = ends[0], .ctx = &s};
	int64_t from_us = clock_mono_us();
	assert_int_equal(
		archie_call(c.archie, &ask_gcc, &wait, &c.arena, &c.answer, &c.why, &c.err), -1);
	assert_int_equal(s.asked, 2);
	assert_true(clock_mono_us() - from_us >= 30 * US_PER_MS); /* its byte was left unread */
	close(ends[0]);
	close(ends[1]);
	called_free(&c, &s);
}

static void nonsense_of_the_queuer_is_a_failure(void **state)
{
	struct peer_script s = {0};
	struct called c;
	(void)state;
	struct buf *talk = script_talk(&s, HELLO);
	message_write(&archie_tells, ARCHIE_WORD_ANSWER,
		      &(struct archie_message){.id = id_of(1), .rows = {1, STR("\xff\xff")}}, talk);
	called_new(&c, &s);
	assert_int_equal(call(&c, &s, &ask_gcc), -1);
	assert_int_equal(c.why, ARCHIE_FAILED);
	called_free(&c, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_request_is_asked_once_the_queuer_has_greeted_and_its_answer_comes_back),
		cmocka_unit_test(refusals_have_their_word_and_text),
		cmocka_unit_test(a_connection_that_breaks_is_made_anew_once),
		cmocka_unit_test(a_queuer_of_another_version_is_not_asked),
		cmocka_unit_test(one_that_was_cut_while_it_lay_idle_is_no_try),
		cmocka_unit_test(one_that_waits_may_stop_waiting),
		cmocka_unit_test(
			a_descriptor_that_becomes_readable_is_asked_about_at_once_and_not_all_the_time),
		cmocka_unit_test(nonsense_of_the_queuer_is_a_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
