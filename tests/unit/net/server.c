#include "net/server.h"

#include "../scratch.h"
#include "../verbs.h"
#include "role/listen.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A protocol with one of everything, and clients as plain descriptors. */
struct state {
	int lines;
};

static void run_echo(struct session *s, const struct str *arg, size_t n)
{
	struct state *state = session_state(s);
	state->lines++;
	for (size_t i = 0; i < n; i++)
		conn_printf(session_conn(s), "[" STR_FMT "]", STR_ARG(arg[i]));
	conn_send(session_conn(s), STR("\n"));
}

static void run_count(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	const struct state *state = session_state(s);
	conn_printf(session_conn(s), "%d from %s\n", state->lines, session_peer(s));
}

static void run_wait(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	struct session **waiting = server_ctx(session_server(s));
	*waiting = s;
	conn_pause(session_conn(s));
}

static void run_quit(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	conn_send(session_conn(s), STR("bye\n"));
	conn_finish(session_conn(s));
}

static const struct verb verbs[] = {
	{"echo", 1, 2, false, run_echo},
	{"count", 0, 0, false, run_count},
	{"wait", 0, 0, false, run_wait},
	{"quit", 0, 0, false, run_quit},
};

static void run_line(struct session *s, struct str line)
{
	if (verb_run(s, line, verbs, ARRAY_LEN(verbs)) != 0)
		conn_send(session_conn(s), STR("error: not a command\n"));
}

static const struct server_protocol protocol = {.name = "test",
						.line = run_line,
						.greeting = "hello\n",
						.words = {[SERVER_FULL] = "full\n"},
						.state_size = sizeof(struct state)};

struct scene {
	struct loop *loop;
	struct server *server;
	struct session *waiting;
	int fd;
	struct sockaddr_in at;
	bool drained;
};

static void scene_open_for(struct scene *t, const struct server_protocol *p, int64_t max,
			   int64_t per_address)
{
	const struct loop_options options = {.manual = true};
	const struct server_limits limits = {.max_connections = max,
					     .max_per_address = per_address,
					     .backlog = 100,
					     .line_max = 100,
					     .queue_max = 65536,
					     .memory = 1 << 20,
					     .idle_us = 60 * US_PER_S,
					     .line_us = 5 * US_PER_S};
	struct err err;
	socklen_t n = sizeof t->at;
	*t = (struct scene){0};
	assert_int_equal(loop_new(&t->loop, &options, &err), 0);
	t->server = server_new(t->loop, p, &limits, NULL, &t->waiting);
	assert_int_equal(listen_open("127.0.0.1:0", &t->fd, &err), 0);
	assert_int_equal(getsockname(t->fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(server_listen(t->server, t->fd, &err), 0);
}

static void scene_open(struct scene *t, int64_t max, int64_t per_address)
{
	scene_open_for(t, &protocol, max, per_address);
}

static void scene_close(struct scene *t)
{
	server_free(&t->server);
	loop_free(&t->loop);
	close(t->fd);
}

static void step(struct scene *t, int64_t us)
{
	loop_step(t->loop, loop_now_us(t->loop) + us);
}

static int client(struct scene *t)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&t->at, sizeof t->at), 0);
	step(t, 0);
	return fd;
}

static const char *ask(struct scene *t, int fd, const char *text)
{
	static char got[4096];
	size_t n = strlen(text);
	assert_int_equal(write(fd, text, n), n);
	step(t, 0);
	ssize_t rc = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
	got[rc > 0 ? rc : 0] = 0;
	return got;
}

static struct server_stats stats(struct scene *t)
{
	struct server_stats s;
	server_stats(t->server, &s);
	return s;
}

static void each_line_is_answered_in_its_session(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 10, 10);
	int fd = client(&t);
	assert_string_equal(ask(&t, fd, ""), "hello\n");
	assert_string_equal(ask(&t, fd, "echo one\n"), "[one]\n");
	assert_string_equal(ask(&t, fd, "  echo \t one   two \r\n"), "[one][two]\n");
	assert_string_equal(ask(&t, fd, "\n"), "error: not a command\n");
	assert_string_equal(ask(&t, fd, "count\n"), "2 from 127.0.0.1\n");
	close(fd);
	step(&t, 0);
	assert_int_equal(stats(&t).inside, 0);
	scene_close(&t);
}

static void too_long_a_line_ends_in_words(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 10, 10);
	int fd = client(&t), other = client(&t);
	char text[300], got[64];
	ask(&t, fd, "");
	ask(&t, other, "");
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	assert_string_equal(ask(&t, fd, text), "error: line too long, closing\n");
	assert_int_equal(read(fd, got, sizeof got), 0);
	assert_string_equal(ask(&t, other, "echo x\n"), "[x]\n");
	step(&t, 3 * US_PER_S);
	assert_int_equal(stats(&t).inside, 1);
	assert_int_equal(stats(&t).conns.ended[CONN_END_LONG_LINE], 1);
	close(fd), close(other);
	scene_close(&t);
}

static void floods_beyond_the_caps_harm_nobody_inside(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 20, 5);
	int inside = client(&t), fd[100];
	ask(&t, inside, "");
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd[i] = client(&t);
	assert_string_equal(ask(&t, inside, "echo x\n"), "[x]\n");
	assert_int_equal(stats(&t).inside, 5);
	assert_int_equal(stats(&t).listeners.refused, 96);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		close(fd[i]);
	step(&t, 0);
	assert_int_equal(stats(&t).inside, 1);
	int again = client(&t);
	assert_string_equal(ask(&t, again, "echo y\n"), "hello\n[y]\n");
	close(inside), close(again);
	scene_close(&t);
}

static void on_drained(void *ctx)
{
	((struct scene *)ctx)->drained = true;
}

static void a_drain_lets_answers_finish(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 10, 10);
	int idle = client(&t), busy = client(&t), late;
	char got[64] = {0};
	ask(&t, idle, "");
	ask(&t, busy, "");
	ask(&t, busy, "wait\n");
	server_drain(t.server, 10 * US_PER_S, on_drained, &t);
	assert_false(t.drained);
	step(&t, 0);
	assert_int_equal(read(idle, got, sizeof got), 16);
	assert_string_equal(got, "error: stopping\n");
	assert_int_equal(read(idle, got, sizeof got), 0);
	close(idle);
	late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(late, (struct sockaddr *)&t.at, sizeof t.at), 0);
	step(&t, US_PER_S);
	assert_int_equal(stats(&t).inside, 1); /* the late one waits for the next process */
	assert_false(t.drained);
	conn_send(session_conn(t.waiting), STR("answer\n"));
	conn_resume(session_conn(t.waiting));
	step(&t, US_PER_S);
	memset(got, 0, sizeof got);
	assert_true(read(busy, got, sizeof got - 1) >= 7);
	assert_memory_equal(got, "answer\n", 7);
	close(busy);
	step(&t, US_PER_S);
	assert_true(t.drained);
	close(late);
	scene_close(&t);
}

static void a_drain_ends_at_its_deadline(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 10, 10);
	int busy = client(&t);
	ask(&t, busy, "wait\n");
	server_drain(t.server, 10 * US_PER_S, on_drained, &t);
	step(&t, 9 * US_PER_S);
	assert_false(t.drained);
	step(&t, 2 * US_PER_S);
	assert_true(t.drained);
	assert_int_equal(stats(&t).conns.ended[CONN_END_DROPPED], 1);
	close(busy);
	scene_close(&t);
}

static void a_drain_of_nobody_is_done_at_once(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 10, 10);
	server_drain(t.server, US_PER_S, on_drained, &t);
	assert_false(t.drained);
	step(&t, 0);
	assert_true(t.drained);
	scene_close(&t);
}

static void a_server_can_be_freed_with_everybody_inside(void **state)
{
	(void)state;
	struct scene t;
	scene_open(&t, 10, 10);
	int a = client(&t), b = client(&t);
	ask(&t, a, "put 100\nhalf");
	ask(&t, b, "wait\n");
	scene_close(&t);
	close(a), close(b);
}

/* Says everything back; what has a ! in it, with how many pieces there were. */
static void got_piece(struct session *s, struct str piece)
{
	struct state *state = session_state(s);
	state->lines++;
	if (str_find_byte(piece, '!') < piece.n)
		conn_printf(session_conn(s), "%d:" STR_FMT, state->lines, STR_ARG(piece));
	else
		(void)conn_send(session_conn(s), piece);
}

static const struct server_protocol raw_protocol = {
	.name = "raw", .state_size = sizeof(struct state), .bytes = got_piece};

static void a_protocol_may_take_raw_bytes(void **state)
{
	(void)state;
	struct scene t;
	scene_open_for(&t, &raw_protocol, 10, 10);
	int fd = client(&t);
	assert_string_equal(ask(&t, fd, "no line end!"), "1:no line end!");
	assert_string_equal(ask(&t, fd, "echo\nx!\n"), "2:echo\nx!\n");
	/* a piece has no beginning and no end that could take too long */
	step(&t, 50 * US_PER_S);
	assert_string_equal(ask(&t, fd, "!"), "3:!");
	assert_int_equal(stats(&t).inside, 1);
	step(&t, 61 * US_PER_S);
	assert_int_equal(stats(&t).inside, 0);
	assert_int_equal(stats(&t).conns.ended[CONN_END_IDLE], 1);
	close(fd);
	scene_close(&t);
}

static void who_does_not_read_raw_answers_is_not_read(void **state)
{
	(void)state;
	struct scene t;
	scene_open_for(&t, &raw_protocol, 10, 10);
	int fd = client(&t);
	char junk[4096];
	memset(junk, 'x', sizeof junk);
	uint64_t before = 0, sent = 0;
	for (int i = 0; i < 20000; i++) {
		ssize_t n = send(fd, junk, sizeof junk, MSG_DONTWAIT);
		sent += n > 0 ? (uint64_t)n : 0;
		step(&t, 0);
		before = stats(&t).conns.bytes_in;
		if (n < 0)
			break;
	}
	step(&t, 0);
	assert_true(sent > before);
	assert_int_equal(stats(&t).conns.bytes_in, before);
	assert_int_equal(stats(&t).inside, 1);
	close(fd);
	scene_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_answered_in_its_session),
		cmocka_unit_test(too_long_a_line_ends_in_words),
		cmocka_unit_test(floods_beyond_the_caps_harm_nobody_inside),
		cmocka_unit_test(a_drain_lets_answers_finish),
		cmocka_unit_test(a_drain_ends_at_its_deadline),
		cmocka_unit_test(a_drain_of_nobody_is_done_at_once),
		cmocka_unit_test(a_protocol_may_take_raw_bytes),
		cmocka_unit_test(who_does_not_read_raw_answers_is_not_read),
		cmocka_unit_test(a_server_can_be_freed_with_everybody_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
