/* The link's server on a loop of its own. What it wants from the database is two functions, which
 * this program has itself: they write down what they were given. */
#include "cache/qm/qm_link.h"

#include "../said.h"
#include "../scratch.h"
#include "../unit.h"
#include "role/listen.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 2 };

static struct {
	char did[8192];
	bool was_there;
} db;

static void did_add(const char *text)
{
	size_t at = strlen(db.did);
	snprintf(db.did + at, sizeof db.did - at, "%s;", text);
}

int db_take(struct db *none, struct db_take *take, size_t n, struct err *err)
{
	char text[128];
	(void)none, (void)err;
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%s %d%s%s", take[i].set.uns, (int)take[i].set.number,
			 take[i].npieces ? " piece" : "", take[i].ends ? " end" : "");
		did_add(text);
		take[i].was_there = db.was_there;
	}
	return 0;
}

int db_take_forget(struct db *none, const char *uns, struct err *err)
{
	char text[128];
	(void)none, (void)err;
	snprintf(text, sizeof text, "forget %s", uns);
	did_add(text);
	return 0;
}

static const struct server_limits limits = {.max_connections = 100,
					    .max_per_address = 100,
					    .backlog = 16,
					    .line_max = 8192,
					    .queue_max = 4 << 20,
					    .memory = 64 << 20};
static struct loop *loop;
static struct qm_link *server;
static int door, client[CLIENTS];
static char heard[CLIENTS][4096];

static void on_gathered(void *ctx)
{
	(void)ctx;
}

static int begin(void **state)
{
	char path[300];
	struct err err;
	(void)state;
	memset(&db, 0, sizeof db);
	memset(heard, 0, sizeof heard);
	snprintf(path, sizeof path, "unix:%s/qm", scratch_dir);
	assert_int_equal(0, loop_new(&loop, NULL, &err));
	server = qm_link_new(&(struct qm_link_options){
		.loop = loop, .limits = &limits, .gathered = on_gathered});
	assert_int_equal(0, listen_open(path, &door, &err));
	assert_int_equal(0, qm_link_listen(server, door, &err));
	for (int i = 0; i < CLIENTS; i++)
		client[i] = -1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < CLIENTS; i++)
		if (client[i] >= 0)
			close(client[i]);
	qm_link_free(&server);
	close(door);
	loop_free(&loop);
	return 0;
}

static void poll_some(void)
{
	for (int i = 0; i < 20; i++)
		loop_poll(loop);
}

static void client_open(int i)
{
	struct sockaddr_storage to;
	unsigned n;
	struct err err;
	char path[300];
	snprintf(path, sizeof path, "unix:%s/qm", scratch_dir);
	assert_int_equal(0, listen_address(path, &to, &n, &err));
	client[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(0, connect(client[i], (struct sockaddr *)&to, n));
	poll_some();
}

static void say_bytes(int i, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = send(client[i], bytes.p, bytes.n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			bytes = str_from(bytes, (size_t)n);
		else if (n < 0 && errno != EAGAIN)
			return; /* it was hung up on */
		else
			loop_poll(loop);
	}
	poll_some();
}

/* Messages, a line each. */
static void say(int i, const char *lines)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	said_write(lines, &out);
	say_bytes(i, buf_str(&out));
}

/* What it has said since the last time; "." at the end: it has hung up. */
static const char *hear(int i)
{
	ssize_t n;
	size_t at = 0;
	char got[sizeof heard[i]];
	poll_some();
	while ((n = recv(client[i], got + at, sizeof got - at, MSG_DONTWAIT)) > 0)
		at += (size_t)n;
	said_lines((struct str){got, at}, heard[i], sizeof heard[i] - 1);
	if (n == 0)
		memcpy(heard[i] + strlen(heard[i]), ".", 2);
	return heard[i];
}

static struct qm_batch *batch_run(void)
{
	struct err err;
	poll_some();
	struct qm_batch *b = qm_link_gather(server);
	if (b)
		assert_int_equal(0, qm_batch_run(b, NULL, &err));
	return b;
}

static const char *took(void)
{
	static char text[sizeof db.did];
	struct qm_batch *b = batch_run();
	qm_link_taken(server, &b);
	memcpy(text, db.did, sizeof text);
	db.did[0] = 0;
	return text;
}

static void say_piece(int i, int urls)
{
	struct buf raw = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);
	char c[64];
	for (int k = 0; k < urls; k++) {
		snprintf(c, sizeof c, "http://a.example/%d", k);
		notice_write(&(struct notice){.c = str_of(c), .mime = STR("text/html")}, &raw);
	}
	notice_pack(buf_str(&raw), &packed);
	buf_clear(&raw);
	message_write(&link_of_uns, LINK_PIECE, &(struct link_message){.piece = buf_str(&packed)},
		      &raw);
	say_bytes(i, buf_str(&raw));
	buf_free(&raw);
	buf_free(&packed);
}

static void meet(int i, const char *name)
{
	char text[64];
	client_open(i);
	assert_string_equal("qm version=2\n", hear(i));
	snprintf(text, sizeof text, "uns name=%s\n", name);
	say(i, text);
}

static void a_set_is_had_when_it_is_durable_and_not_before(void **state)
{
	(void)state;
	meet(0, "a");
	say(0, "set number=12 provider=1 urls=5 at=1790000000000000\n");
	say_piece(0, 3);
	assert_string_equal("a 12 piece;", took());
	say_piece(0, 2);
	say(0, "end number=12\n");
	struct qm_batch *b = batch_run();
	assert_string_equal("a 12 piece;a 12 end;", db.did);
	assert_string_equal("", hear(0));
	qm_link_taken(server, &b);
	assert_string_equal("have number=12\n", hear(0));
	struct qm_link_counts counts;
	qm_link_counts(server, &counts);
	assert_true(counts.sets == 1 && counts.urls == 5 && counts.held == 0);
}

static void sets_may_come_before_answers_and_are_answered_in_order(void **state)
{
	(void)state;
	meet(0, "a");
	for (int n = 1; n <= 3; n++) {
		char text[80];
		snprintf(text, sizeof text, "set number=%d provider=1 full urls=1 at=5\n", n);
		say(0, text);
		say_piece(0, 1);
		snprintf(text, sizeof text, "end number=%d\n", n);
		say(0, text);
	}
	took();
	assert_string_equal("have number=1\nhave number=2\nhave number=3\n", hear(0));
}

static void a_set_that_is_sent_again_is_had_and_counted_as_such(void **state)
{
	(void)state;
	struct qm_link_counts counts;
	db.was_there = true;
	meet(0, "a");
	say(0, "set number=12 provider=1 urls=1 at=5\n");
	say_piece(0, 1);
	say(0, "end number=12\n");
	took();
	assert_string_equal("have number=12\n", hear(0));
	qm_link_counts(server, &counts);
	assert_true(counts.again == 1 && counts.urls == 0);
}

static void what_a_lost_connection_has_not_ended_is_dropped(void **state)
{
	(void)state;
	meet(0, "a");
	say(0, "set number=1 provider=1 urls=1 at=5\n");
	say_piece(0, 1);
	close(client[0]);
	client[0] = -1;
	assert_string_equal("a 1 piece;forget a;", took());
}

static void a_second_connection_of_a_name_ends_the_first(void **state)
{
	(void)state;
	meet(0, "a");
	say(0, "set number=1 provider=1 urls=2 at=5\n");
	say_piece(0, 1);
	meet(1, "a");
	assert_string_equal(".", hear(0));
	say(1, "set number=1 provider=1 urls=1 at=5\n");
	say_piece(1, 1);
	say(1, "end number=1\n");
	assert_string_equal("a 1 piece;forget a;a 1 piece;a 1 end;", took());
	assert_string_equal("have number=1\n", hear(1));
}

static void what_is_no_piece_refuses_its_set_and_no_other(void **state)
{
	(void)state;
	meet(0, "a");
	say(0, "set number=1 provider=1 urls=1 at=5\n");
	say_bytes(0, STR("piece 15\nnotices 4\nabcd\n"));
	say(0, "end number=1\nset number=2 provider=1 urls=1 at=5\n");
	say_piece(0, 1);
	say(0, "end number=2\n");
	assert_string_equal("forget a;a 2 piece;a 2 end;", took());
	assert_true(str_starts(str_of(hear(0)), STR("refused number=1 code=200 text=")));
	assert_non_null(strstr(heard[0], "\nhave number=2\n"));
	/* and so is one with other than the number of URLs that was said */
	say(0, "set number=3 provider=1 urls=2 at=5\n");
	say_piece(0, 1);
	say(0, "end number=3\n");
	assert_string_equal("a 3 piece;forget a;", took());
	assert_true(str_starts(str_of(hear(0)), STR("refused number=3 code=200 text=")));
}

static void messages_out_of_place_end_the_connection(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"set number=1 provider=1 urls=1 at=5\n",
		"uns name=a\nuns name=b\n",
		"uns name=a\nend number=1\n",
		"uns name=a\npiece notices\n",
		"uns name=a/b\n",
		"uns name=123456789012345678901234567890123\n",
		"uns name=a\nhave number=1\n",
		("uns name=a\nset number=1 provider=1 urls=1 at=5\n"
		 "set number=2 provider=1 urls=1 at=5\n"),
		"uns name=a\nset number=1 provider=1 urls=1 at=5\nend number=2\n",
		"uns name=a\nset number=0 provider=1 urls=1 at=5\n",
		"uns name=a\nset number=1 provider=1 urls=1\n",
		"GET / HTTP/1.0\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		client_open(0);
		hear(0);
		say(0, bad[i]);
		assert_string_equal(".", hear(0));
		close(client[0]);
		client[0] = -1;
		took();
	}
	meet(0, "a");
	say_bytes(0, STR("piece 524801\n")); /* refused by its first line */
	assert_string_equal(".", hear(0));
}

static void while_the_queue_is_full_links_end_after_their_set(void **state)
{
	(void)state;
	meet(0, "a");
	say(0, "set number=1 provider=1 urls=1 at=5\n");
	say_piece(0, 1);
	qm_link_overload(server, true);
	assert_string_equal("", hear(0));
	client_open(1);
	assert_string_equal("busy\n.", hear(1));
	say(0, "end number=1\nset number=2 provider=1 urls=1 at=5\n");
	assert_string_equal("a 1 piece;a 1 end;", took());
	assert_string_equal("have number=1\nbusy\n.", hear(0));
	close(client[0]);
	close(client[1]);
	client[1] = -1;
	assert_string_equal("", took());
	qm_link_overload(server, false);
	meet(0, "a");
}

static void an_idle_link_ends_at_once_when_the_queue_is_full(void **state)
{
	(void)state;
	meet(0, "a");
	qm_link_overload(server, true);
	assert_string_equal("busy\n.", hear(0));
}

static void a_link_that_is_not_answered_is_not_read_without_end(void **state)
{
	(void)state;
	static char block[LINK_PIECE_MAX];
	CLEANUP(buf_free) struct buf piece = BUF_INIT(LINK_PIECE_MAX + LINK_SMALL_MAX);
	struct qm_link_counts counts;
	uint64_t said = 0;
	meet(0, "a");
	say(0, "set number=1 provider=1 urls=1 at=5\n");
	message_write(&link_of_uns, LINK_PIECE,
		      &(struct link_message){.piece = {block, sizeof block}}, &piece);
	/* until it takes no more */
	for (int idle = 0; idle < 50 && said < 64 << 20; idle++) {
		struct str bytes = buf_str(&piece);
		for (idle = 0; bytes.n && idle < 50; idle++) {
			ssize_t n = send(client[0], bytes.p, bytes.n, MSG_DONTWAIT);
			if (n > 0) {
				bytes = str_from(bytes, (size_t)n);
				said += (uint64_t)n;
				idle = 0;
			}
			loop_poll(loop);
		}
	}
	qm_link_counts(server, &counts);
	assert_true(counts.held > LINK_AHEAD_MAX);
	assert_true(counts.held <= LINK_AHEAD_MAX + LINK_PIECE_MAX + 4096);
	took();
}

static void sets_of_nothing_take_memory_too(void **state)
{
	(void)state;
	struct qm_link_counts counts;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 10);
	int n = 0;
	meet(0, "a");
	for (int idle = 0; idle < 50 && n < 100000;) {
		const struct link_message m = {
			.number = (uint64_t)n + 1, .provider = 1, .at_us = 5};
		buf_clear(&out);
		message_write(&link_of_uns, LINK_SET, &m, &out);
		message_write(&link_of_uns, LINK_END, &m, &out);
		bool took_it = send(client[0], out.p, out.n, MSG_DONTWAIT) == (ssize_t)out.n;
		n += took_it;
		idle = took_it ? 0 : idle + 1;
		if (!took_it)
			loop_poll(loop);
	}
	qm_link_counts(server, &counts);
	assert_true(n < 100000);
	assert_true(counts.held > LINK_AHEAD_MAX);
	assert_true(counts.held < LINK_AHEAD_MAX + LINK_PIECE_MAX);
}

#define A(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A(a_set_is_had_when_it_is_durable_and_not_before),
		A(sets_may_come_before_answers_and_are_answered_in_order),
		A(a_set_that_is_sent_again_is_had_and_counted_as_such),
		A(what_a_lost_connection_has_not_ended_is_dropped),
		A(a_second_connection_of_a_name_ends_the_first),
		A(what_is_no_piece_refuses_its_set_and_no_other),
		A(messages_out_of_place_end_the_connection),
		A(while_the_queue_is_full_links_end_after_their_set),
		A(an_idle_link_ends_at_once_when_the_queue_is_full),
		A(a_link_that_is_not_answered_is_not_read_without_end),
		A(sets_of_nothing_take_memory_too),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
