#include "net/conn.h"

#include "../scratch.h"

#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 64, HIGH = 16 * 1024, QUEUE = 1024 * 1024 };

/* One connection and the other end of it, as a plain descriptor. What it says is a story of words:
 * L:line B:bytes D (drained) T (too long) C:end. */
struct end {
	struct conn *conn;
	struct side *side;
	struct buf story;
	int peer;
};

struct side {
	struct loop *loop;
	struct conn_pool *pool;
	struct conn_limits limits;
	struct end end[4];
	void (*on_line)(struct end *e, struct str line);
	void (*on_drained)(struct end *e);
	uint64_t produced, to_produce;
};

static void line(void *ctx, struct str line)
{
	struct end *e = ctx;
	buf_printf(&e->story, "L:" STR_FMT " ", STR_ARG(line));
	if (e->side->on_line)
		e->side->on_line(e, line);
}

static void bytes(void *ctx, struct str piece)
{
	struct end *e = ctx;
	buf_printf(&e->story, "B:" STR_FMT " ", STR_ARG(piece));
}

static void drained(void *ctx)
{
	struct end *e = ctx;
	if (e->side->on_drained)
		e->side->on_drained(e);
	else
		buf_add_text(&e->story, "D ");
}

static void long_line(void *ctx)
{
	struct end *e = ctx;
	buf_add_text(&e->story, "T ");
	conn_send(e->conn, STR("too long\n"));
}

static void closed(void *ctx, enum conn_end why, int sys_errno)
{
	struct end *e = ctx;
	buf_printf(&e->story, "C:%s", conn_end_text(why));
	if ((why == CONN_END_FAILED) != (sys_errno != 0))
		fail_msg("%s with errno %d", conn_end_text(why), sys_errno);
	e->conn = NULL;
}

static const struct conn_ops ops = {line, bytes, drained, long_line, closed};

static struct end *add(struct side *s)
{
	int fd[2];
	for (size_t i = 0; i < ARRAY_LEN(s->end); i++) {
		struct end *e = &s->end[i];
		if (e->side)
			continue;
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
		*e = (struct end){.side = s, .story = BUF_INIT(1 << 20), .peer = fd[1]};
		e->conn = conn_new(s->pool, fd[0], NULL, &s->limits, &ops, e);
		return e;
	}
	fail();
	return NULL;
}

static struct side *side_new(uint64_t memory)
{
	struct side *s = mem_alloc(sizeof *s);
	const struct loop_options options = {.manual = true, .start_us = 1};
	struct err err;
	assert_int_equal(loop_new(&s->loop, &options, &err), 0);
	s->pool = conn_pool_new(s->loop, memory);
	s->limits = (struct conn_limits){LINE, HIGH, QUEUE, 60 * US_PER_S, 10 * US_PER_S};
	add(s);
	return s;
}

static void side_end(struct side *s)
{
	conn_pool_free(&s->pool);
	for (size_t i = 0; i < ARRAY_LEN(s->end); i++) {
		if (s->end[i].side && s->end[i].peer >= 0)
			close(s->end[i].peer);
		assert_null(s->end[i].conn);
		buf_free(&s->end[i].story);
	}
	loop_free(&s->loop);
	mem_free(&s);
}

static void wait_us(struct side *s, int64_t us)
{
	loop_step(s->loop, loop_now_us(s->loop) + us);
}

static void tell(struct end *e, const char *text)
{
	size_t n = strlen(text);
	assert_int_equal(write(e->peer, text, n), n);
	wait_us(e->side, 0);
}

/* What the peer has got, -1 for the end. */
static ssize_t hear(struct end *e, char *ret, size_t cap)
{
	ssize_t n = read(e->peer, ret, cap - 1);
	ret[n > 0 ? n : 0] = 0;
	return n > 0 ? n : n == 0 ? -1 : 0;
}

static void expect_heard(struct end *e, const char *text)
{
	char got[4096];
	hear(e, got, sizeof got);
	assert_string_equal(got, text);
}

static void expect_story(struct end *e, const char *text)
{
	assert_string_equal(buf_text(&e->story), text);
}

static void hang_up(struct end *e)
{
	close(e->peer);
	e->peer = -1;
	wait_us(e->side, 0);
}

static void echo(struct end *e, struct str line)
{
	conn_printf(e->conn, STR_FMT "\n", STR_ARG(line));
}

static void lines_come_in_and_answers_go_out(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = echo;
	tell(s->end, "one\ntwo\r\nthr");
	expect_heard(s->end, "one\ntwo\n");
	tell(s->end, "ee\n");
	expect_heard(s->end, "three\n");
	expect_story(s->end, "L:one L:two L:three ");
	hang_up(s->end);
	expect_story(s->end, "L:one L:two L:three C:closed by the peer");
	assert_int_equal(conn_pool_stats(s->pool)->ended[CONN_END_EOF], 1);
	side_end(s);
}

static void byte_by_byte_is_the_same(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = echo;
	for (const char *p = "slow\r\nsender\n"; *p; p++)
		tell(s->end, (char[]){*p, 0});
	expect_story(s->end, "L:slow L:sender ");
	expect_heard(s->end, "slow\nsender\n");
	side_end(s);
}

static void a_connection_that_keeps_up_holds_no_memory(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = echo;
	for (int i = 0; i < 100; i++) {
		tell(s->end, "a line of some length\nand one more\n");
		expect_heard(s->end, "a line of some length\nand one more\n");
	}
	assert_int_equal(conn_pool_stats(s->pool)->memory, 0);
	assert_int_equal(conn_pool_stats(s->pool)->memory_peak, 0);
	assert_int_equal(conn_pool_stats(s->pool)->frames, 200);
	side_end(s);
}

static void pieces_come_in_place_of_lines(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->limits.pieces = true;
	struct end *e = add(s);
	tell(e, "ab\n");
	tell(e, "c\nd");
	expect_story(e, "B:ab\n B:c\nd ");
	side_end(s);
}

static void a_line_too_long_gets_a_word_and_the_end(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	char text[LINE + 40];
	memset(text, 'x', sizeof text);
	memcpy(text, "ok\n", 3);
	text[sizeof text - 1] = 0;
	tell(s->end, text);
	expect_heard(s->end, "too long\n");
	tell(s->end, "more of it\n");
	expect_story(s->end, "L:ok T ");
	hang_up(s->end);
	expect_story(s->end, "L:ok T C:a line is too long");
	side_end(s);
}

static void who_does_not_hang_up_is_not_waited_for_long(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	conn_send(s->end->conn, STR("bye\n"));
	conn_finish(s->end->conn);
	assert_false(conn_send(s->end->conn, STR("too late\n")));
	wait_us(s, 0);
	char got[64];
	assert_int_equal(hear(s->end, got, sizeof got), 4);
	assert_int_equal(hear(s->end, got, sizeof got), -1); /* our half is closed */
	tell(s->end, "still here\n");
	expect_story(s->end, "");
	wait_us(s, 5 * US_PER_S);
	expect_story(s->end, "C:finished");
	side_end(s);
}

static void half_closed_peers_get_their_answers(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = echo;
	assert_int_equal(write(s->end->peer, "one\ntwo\nhalf", 12), 12);
	shutdown(s->end->peer, SHUT_WR);
	wait_us(s, 0);
	expect_heard(s->end, "one\ntwo\n");
	expect_story(s->end, "L:one L:two C:closed by the peer");
	side_end(s);
}

static void pause_each(struct end *e, struct str line)
{
	(void)line;
	conn_pause(e->conn);
}

static void a_paused_connection_takes_nothing(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = pause_each;
	tell(s->end, "one\ntwo\n");
	shutdown(s->end->peer, SHUT_WR);
	wait_us(s, 100 * US_PER_S); /* it waits for us, so it is not idle */
	expect_story(s->end, "L:one ");
	assert_true(conn_busy(s->end->conn));
	conn_resume(s->end->conn);
	wait_us(s, 0);
	expect_story(s->end, "L:one L:two ");
	conn_resume(s->end->conn);
	wait_us(s, 0);
	expect_story(s->end, "L:one L:two C:closed by the peer");
	side_end(s);
}

static void idle_connections_end(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	wait_us(s, 50 * US_PER_S);
	tell(s->end, "x\n");
	wait_us(s, 59 * US_PER_S);
	expect_story(s->end, "L:x ");
	wait_us(s, US_PER_S);
	expect_story(s->end, "L:x C:idle for too long");
	side_end(s);
}

static void a_line_has_to_end_in_time(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	struct end *good = add(s);
	for (int i = 0; i < 12; i++) {
		if (i < 10)
			tell(s->end, "x");
		tell(good, "x\n");
		wait_us(s, US_PER_S);
	}
	expect_story(s->end, "C:a line took too long to arrive");
	assert_non_null(good->conn);
	side_end(s);
}

static const char chunk[1000] = {[0 ... 998] = 'c', '\n'};

static void produce(struct end *e)
{
	struct side *s = e->side;
	while (s->produced < s->to_produce) {
		s->produced += sizeof chunk;
		if (!conn_send(e->conn, (struct str){chunk, sizeof chunk}))
			return;
	}
}

static void produce_on_line(struct end *e, struct str line)
{
	(void)line;
	produce(e);
}

static void a_producer_is_held_back_by_a_slow_reader(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = produce_on_line;
	s->on_drained = produce;
	s->to_produce = 20 * 1000 * 1000;
	tell(s->end, "go\n");
	uint64_t got = 0;
	char some[8192];
	size_t most = 0;
	while (got < s->to_produce) {
		ssize_t n = hear(s->end, some, sizeof some);
		assert_true(n >= 0);
		got += (uint64_t)n;
		wait_us(s, 0);
		most = MAX(most, conn_queued(s->end->conn));
	}
	assert_int_equal(got, s->to_produce);
	assert_true(most <= HIGH + sizeof chunk);
	assert_true(conn_pool_stats(s->pool)->memory_peak <= 4 * HIGH);
	wait_us(s, 0);
	assert_int_equal(conn_pool_stats(s->pool)->memory, 0);
	side_end(s);
}

static void big_answer(struct end *e, struct str line)
{
	(void)line;
	conn_send(e->conn, (struct str){chunk, sizeof chunk});
}

/* Writes without reading until nothing more is taken. */
static size_t flood(struct end *e, const char *text, size_t rounds)
{
	size_t n = strlen(text), sent = 0;
	for (size_t i = 0; i < rounds; i++) {
		ssize_t rc = write(e->peer, text, n);
		sent += rc > 0 ? (size_t)rc : 0;
		wait_us(e->side, 0);
	}
	return sent;
}

static void who_never_reads_is_not_read_either(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	struct end *good = add(s);
	s->on_line = big_answer;
	size_t sent = flood(s->end, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 100 * 1000);
	assert_true(sent < 100 * 1000 * 18);
	assert_true(conn_pool_stats(s->pool)->memory_peak <
		    2 * (HIGH + sizeof chunk) + CONN_READ + 2 * LINE);
	tell(good, "x\n");
	char got[4096];
	assert_int_equal(hear(good, got, sizeof got), sizeof chunk);
	wait_us(s, 61 * US_PER_S);
	assert_non_null(strstr(buf_text(&s->end->story), "C:the peer does not read"));
	assert_int_equal(conn_pool_stats(s->pool)->memory, 0);
	side_end(s);
}

static void who_reads_on_hears_a_peer_that_does_not_read(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	char some[8192];
	s->limits.read_mark = 4 * HIGH;
	s->on_drained = produce;
	s->to_produce = 1000 * 1000;
	/* the kernel has taken what it takes, and the queue is above its high mark */
	produce(s->end);
	for (int i = 0; i < 1000 && conn_queued(s->end->conn) <= HIGH; i++)
		wait_us(s, 0);
	assert_true(conn_queued(s->end->conn) > HIGH);
	tell(s->end, "still\n");
	expect_story(s->end, "L:still ");
	/* up to a mark of its own, and from there on again when there is room */
	while (conn_queued(s->end->conn) <= 4 * HIGH)
		conn_send(s->end->conn, (struct str){chunk, sizeof chunk});
	wait_us(s, 0);
	tell(s->end, "later\n");
	expect_story(s->end, "L:still ");
	while (conn_queued(s->end->conn) > 4 * HIGH) {
		assert_true(hear(s->end, some, sizeof some) >= 0);
		wait_us(s, 0);
	}
	wait_us(s, 0);
	assert_true(conn_queued(s->end->conn) > HIGH);
	expect_story(s->end, "L:still L:later ");
	side_end(s);
}

static void ignore_marks(struct end *e, struct str line)
{
	(void)line;
	for (int i = 0; i < 10 * 1000; i++)
		conn_send(e->conn, (struct str){chunk, sizeof chunk});
	buf_add_text(&e->story, "sent ");
}

static void a_queue_past_its_bound_ends_the_connection(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	s->on_line = ignore_marks;
	tell(s->end, "go\nagain\n");
	expect_story(s->end, "L:go sent C:the peer does not read what it asked for");
	side_end(s);
}

static void past_the_budget_nothing_is_read(void **state)
{
	(void)state;
	struct side *s = side_new(3000);
	s->limits.frame_us = 0;
	s->limits.line_max = 4000;
	struct end *a = add(s), *b = add(s), *c = add(s);
	char text[2001];
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = 0;
	tell(a, text);
	tell(b, text); /* now the budget is used up */
	assert_true(conn_pool_stats(s->pool)->memory >= 3000);
	uint64_t before = conn_pool_stats(s->pool)->bytes_in;
	for (int i = 0; i < 20; i++) {
		(void)!write(a->peer, text, 10);
		tell(c, "x\n");
	}
	assert_int_equal(conn_pool_stats(s->pool)->bytes_in, before);
	assert_true(conn_pool_stats(s->pool)->starved >= 2);
	expect_story(c, "");
	hang_up(b);
	conn_close(b->conn);
	wait_us(s, 0);
	assert_int_equal(conn_pool_stats(s->pool)->bytes_in, before + 200 + 40);
	assert_int_equal(strlen(buf_text(&c->story)), strlen("L:x ") * 20);
	side_end(s);
}

static void close_inside(struct end *e, struct str line)
{
	if (str_is(line, "close"))
		conn_close(e->conn);
	else if (str_is(line, "finish"))
		conn_finish(e->conn);
	else if (str_is(line, "others"))
		for (size_t i = 0; i < ARRAY_LEN(e->side->end); i++)
			if (e->side->end[i].conn)
				conn_close(e->side->end[i].conn);
	if (e->conn) { /* all of these are allowed on one that ends */
		conn_send(e->conn, STR("last\n"));
		conn_pause(e->conn);
		conn_resume(e->conn);
		conn_finish(e->conn);
		conn_close(e->conn);
	}
}

static void connections_may_be_closed_inside_callbacks(void **state)
{
	(void)state;
	static const char *const words[] = {"close\nmore\n", "finish\nmore\n", "others\nmore\n"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct side *s = side_new(1 << 20);
		add(s);
		add(s);
		s->on_line = close_inside;
		tell(s->end, words[i]);
		assert_null(s->end->conn);
		assert_null(strstr(buf_text(&s->end->story), "more"));
		assert_int_equal(s->end[1].conn == NULL, i == 2);
		side_end(s);
	}
}

static void a_peer_that_is_gone_is_noticed_when_written_to(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	conn_pause(s->end->conn);
	wait_us(s, 0);
	hang_up(s->end);
	expect_story(s->end, "");
	conn_send(s->end->conn, STR("hello?\n"));
	wait_us(s, 0);
	expect_story(s->end, "C:the connection failed");
	side_end(s);
}

static void garbage_is_lines_too(void **state)
{
	(void)state;
	struct side *s = side_new(1 << 20);
	char got[64];
	assert_int_equal(write(s->end->peer, "\0\xff\x80\n\n\r\r\n", 8), 8);
	wait_us(s, 0);
	assert_int_equal(conn_pool_stats(s->pool)->frames, 3);
	assert_int_equal(hear(s->end, got, sizeof got), 0);
	assert_non_null(s->end->conn);
	side_end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_and_answers_go_out),
		cmocka_unit_test(byte_by_byte_is_the_same),
		cmocka_unit_test(a_connection_that_keeps_up_holds_no_memory),
		cmocka_unit_test(pieces_come_in_place_of_lines),
		cmocka_unit_test(a_line_too_long_gets_a_word_and_the_end),
		cmocka_unit_test(who_does_not_hang_up_is_not_waited_for_long),
		cmocka_unit_test(half_closed_peers_get_their_answers),
		cmocka_unit_test(a_paused_connection_takes_nothing),
		cmocka_unit_test(idle_connections_end),
		cmocka_unit_test(a_line_has_to_end_in_time),
		cmocka_unit_test(a_producer_is_held_back_by_a_slow_reader),
		cmocka_unit_test(who_never_reads_is_not_read_either),
		cmocka_unit_test(who_reads_on_hears_a_peer_that_does_not_read),
		cmocka_unit_test(a_queue_past_its_bound_ends_the_connection),
		cmocka_unit_test(past_the_budget_nothing_is_read),
		cmocka_unit_test(connections_may_be_closed_inside_callbacks),
		cmocka_unit_test(a_peer_that_is_gone_is_noticed_when_written_to),
		cmocka_unit_test(garbage_is_lines_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
