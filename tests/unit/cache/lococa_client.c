#include "cache/lococa_client.h"

#include "../scratch.h"
#include "net/conn.h"
#include "role/listen.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTED                                                                               \
	"<lococa:init_accepted><connect_info seq=\"5\" lastConnectIP=\"192.0.2.1\"/>"          \
	"<mime>text/*</mime><mime>application/pdf</mime><quota><files used=\"1\" free=\"2\"/>" \
	"<space used=\"3\" free=\"18446744073709551615\"/>"                                    \
	"<fullset allowed=\"4\" wanted=\"yes\" reason=\"old\"/></quota>"                       \
	"<processing_status errors=\"2\" processing=\"30\"><errors>"                           \
	"<url code=\"304\" url=\"http://h/a\" mime=\"text/html\">not &lt;found</url></errors>" \
	"</processing_status></lococa:init_accepted>\n"
#define RESULT_OF(what) "<lococa:set_result><errors/>" what "</lococa:set_result>\n"

/* A provider that writes down what it hears, and a server that the test plays by hand. */
struct pair {
	struct loop *loop;
	struct conn_pool *pool;
	struct lococa_client *client;
	struct buf story, heard;
	int listen_fd, fd;
	size_t rows, row_bytes;
	bool quits, ended;
};

static void pair_accepted(void *ctx, const struct lococa_info *i)
{
	struct pair *p = ctx;
	buf_printf(&p->story, "seq %d " STR_FMT " mimes %d free %d %d%s " STR_FMT " errors %d %d;",
		   (int)i->seq, STR_ARG(i->last_address), (int)i->mimes, (int)i->files_free,
		   i->space_free == UINT64_MAX, i->wanted ? " wanted" : "", STR_ARG(i->reason),
		   (int)i->errors, (int)i->processing);
	for (size_t k = 0; k < i->faults; k++)
		buf_printf(&p->story, " %u " STR_FMT " " STR_FMT ";", i->fault[k].code,
			   STR_ARG(i->fault[k].url), STR_ARG(i->fault[k].text));
	if (p->quits)
		lococa_client_quit(p->client);
	else
		lococa_client_set(p->client, false, false);
}

static bool pair_rows(void *ctx, struct buf *out)
{
	struct pair *p = ctx;
	buf_fill(out, ' ', p->row_bytes);
	buf_add_text(out, "<url c=\"http://h/\" mime=\"text/html\"/>\n");
	return --p->rows > 0;
}

static void pair_fault(void *ctx, const struct lococa_fault *f)
{
	struct pair *p = ctx;
	buf_printf(&p->story, " row %u " STR_FMT " " STR_FMT ";", f->code, STR_ARG(f->c),
		   STR_ARG(f->text));
}

static void pair_ended(void *ctx, const struct lococa_end *end)
{
	static const char *const words[] = {"accepted", "init", "rejected", "broken", "quit"};
	struct pair *p = ctx;
	assert_false(p->ended);
	p->ended = true;
	buf_printf(&p->story, " %s %u %d %d", words[end->how], end->code, (int)end->received,
		   (int)end->set);
	if (end->how == LOCOCA_INIT_REJECTED || end->how == LOCOCA_SET_REJECTED)
		buf_printf(&p->story, " " STR_FMT, STR_ARG(end->text));
}

static const struct lococa_client_ops ops = {pair_accepted, pair_rows, pair_fault, pair_ended};

static void pair_open(struct pair *p)
{
	const struct loop_options manual = {.manual = true};
	char address[128];
	struct err err;
	*p = (struct pair){
		.story = BUF_INIT(65536), .heard = BUF_INIT(64 << 20), .fd = -1, .rows = 1};
	assert_int_equal(loop_new(&p->loop, &manual, &err), 0);
	p->pool = conn_pool_new(p->loop, 64 << 20);
	assert_int_equal(listen_open("127.0.0.1:0", &p->listen_fd, &err), 0);
	assert_int_equal(listen_name(p->listen_fd, address, sizeof address, &err), 0);
	const struct lococa_client_options o = {.address = address,
						.provider = 17,
						.password = STR("p\"w"),
						.timeout_us = 60 * US_PER_S,
						.ops = &ops,
						.ctx = p};
	assert_int_equal(lococa_client_new(&p->client, p->pool, &o, &err), 0);
	for (int i = 0; i < 1000 && p->fd < 0; i++) {
		loop_step(p->loop, loop_now_us(p->loop) + 1);
		p->fd = accept4(p->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	assert_true(p->fd >= 0);
	/* without waiting for what was sent before */
	assert_int_equal(setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
}

static void pair_close(struct pair *p)
{
	lococa_client_free(&p->client);
	conn_pool_free(&p->pool);
	loop_free(&p->loop);
	if (p->fd >= 0)
		close(p->fd);
	close(p->listen_fd);
	buf_free(&p->story);
	buf_free(&p->heard);
}

static void pair_turn(struct pair *p)
{
	char piece[65536];
	loop_step(p->loop, loop_now_us(p->loop) + 1000);
	ssize_t n;
	while ((n = recv(p->fd, piece, sizeof piece, 0)) > 0)
		buf_add(&p->heard, piece, (size_t)n);
}

/* Until the provider has said that much. */
static void pair_hear(struct pair *p, const char *end)
{
	for (int i = 0; i < 5000 && str_find(buf_str(&p->heard), str_of(end)) == p->heard.n; i++)
		pair_turn(p);
	assert_true(str_find(buf_str(&p->heard), str_of(end)) < p->heard.n);
}

static void pair_say(struct pair *p, const char *text, size_t piece)
{
	for (size_t at = 0, n = strlen(text); at < n; at += piece) {
		assert_true(send(p->fd, text + at, MIN(piece, n - at), MSG_NOSIGNAL) > 0);
		loop_step(p->loop, loop_now_us(p->loop) + 1);
	}
	for (int i = 0; i < 20; i++)
		pair_turn(p);
}

static void a_session_goes_from_init_to_the_number_of_the_set(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 2000; piece = piece * 5 + 1) {
		struct pair p;
		pair_open(&p);
		pair_hear(&p, "</lococa:init>");
		assert_non_null(
			strstr(buf_text(&p.heard), "<provider id=\"17\" passwd=\"p&quot;w\"/>"));
		pair_say(&p, ACCEPTED, piece);
		pair_hear(&p, "</lococa:set>");
		assert_non_null(strstr(buf_text(&p.heard), "<lococa:set set=\"partial\">"));
		pair_say(&p,
			 "<lococa:set_result><errors><url code=\"202\" url=\"u\" c=\"http://h/\" "
			 "mime=\"text/html\">outside</url></errors>"
			 "<set_accepted received=\"7\" set=\"12\"/></lococa:set_result>",
			 piece);
		assert_string_equal(buf_text(&p.story),
				    "seq 5 192.0.2.1 mimes 2 free 2 1 wanted old errors 2 30; 304 "
				    "http://h/a not <found; "
				    "row 202 http://h/ outside; accepted 0 7 12");
		pair_close(&p);
	}
}

static void rejections_are_told_with_code_and_words(void **state)
{
	(void)state;
	struct pair p;
	pair_open(&p);
	pair_hear(&p, "</lococa:init>");
	pair_say(&p,
		 "<lococa:init_rejected><reason code=\"101\">wrong "
		 "password</reason></lococa:init_rejected>",
		 9);
	assert_string_equal(buf_text(&p.story), " init 101 0 0 wrong password");
	pair_close(&p);
	pair_open(&p);
	p.quits = true;
	pair_hear(&p, "</lococa:init>");
	pair_say(&p, ACCEPTED, 4096);
	assert_non_null(strstr(buf_text(&p.story), " quit 0 0 0"));
	pair_close(&p);
}

/* The rows would fill every buffer on the way, if the client went on. */
static void a_set_that_is_rejected_is_not_sent_to_its_end(void **state)
{
	(void)state;
	struct pair p;
	pair_open(&p);
	p.rows = 100000;
	p.row_bytes = 30000;
	pair_hear(&p, "</lococa:init>");
	pair_say(&p, ACCEPTED, 4096);
	pair_hear(&p, "<url c=");
	pair_say(&p, RESULT_OF("<set_rejected code=\"104\">too many</set_rejected>"), 50);
	assert_non_null(strstr(buf_text(&p.story), " rejected 104 0 0 too many"));
	assert_null(strstr(buf_text(&p.heard), "</lococa:set>"));
	assert_true(p.rows > 90000);
	pair_close(&p);
}

static void answers_are_read_while_nobody_reads_the_set(void **state)
{
	(void)state;
	struct pair p;
	pair_open(&p);
	p.rows = 100000;
	p.row_bytes = 30000;
	pair_hear(&p, "</lococa:init>");
	assert_true(send(p.fd, ACCEPTED, strlen(ACCEPTED), MSG_NOSIGNAL) > 0);
	for (int i = 0; i < 50; i++)
		loop_step(p.loop, loop_now_us(p.loop) + 1000);
	static const char fault[] = "<url code=\"202\" url=\"u\" c=\"c\" mime=\"m\">x</url>";
	assert_true(send(p.fd, "<lococa:set_result>", 19, MSG_NOSIGNAL) > 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(send(p.fd, fault, sizeof fault - 1, MSG_NOSIGNAL),
				 sizeof fault - 1);
		loop_step(p.loop, loop_now_us(p.loop) + 1000);
	}
	size_t n = 0;
	for (const char *at = buf_text(&p.story); (at = strstr(at, " row ")); at++)
		n++;
	assert_int_equal(n, 100);
	assert_false(p.ended);
	pair_close(&p);
}

static void what_is_no_answer_ends_it(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"garbage\n",
		"<lococa:set_result/>",
		"<init_accepted/>",
		"<lococa:init_accepted><a></lococa:init_accepted>",
		"<lococa:init_rejected/>",
		"<!DOCTYPE a><lococa:init_accepted/>",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct pair p;
		pair_open(&p);
		pair_hear(&p, "</lococa:init>");
		pair_say(&p, bad[i], 100);
		assert_string_equal(buf_text(&p.story), " broken 0 0 0");
		pair_close(&p);
	}
	struct pair p;
	pair_open(&p);
	pair_hear(&p, "</lococa:init>");
	pair_say(&p, ACCEPTED, 4096);
	close(p.fd);
	p.fd = -1;
	for (int i = 0; i < 100 && !p.ended; i++)
		loop_step(p.loop, loop_now_us(p.loop) + 1000);
	assert_non_null(strstr(buf_text(&p.story), " broken 0 0 0"));
	pair_close(&p);
}

static void a_server_that_makes_up_names_is_left(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(1 << 20);
	struct pair p;
	pair_open(&p);
	pair_hear(&p, "</lococa:init>\n");
	buf_add_text(&text, "<lococa:init_accepted>");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "<a%d b%d=\"\"/>", i / 2, i);
	pair_say(&p, buf_text(&text), 4096);
	for (int i = 0; i < 1000 && !p.ended; i++)
		pair_turn(&p);
	assert_string_equal(buf_text(&p.story), " broken 0 0 0");
	buf_free(&text);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_goes_from_init_to_the_number_of_the_set),
		cmocka_unit_test(rejections_are_told_with_code_and_words),
		cmocka_unit_test(a_set_that_is_rejected_is_not_sent_to_its_end),
		cmocka_unit_test(answers_are_read_while_nobody_reads_the_set),
		cmocka_unit_test(what_is_no_answer_ends_it),
		cmocka_unit_test(a_server_that_makes_up_names_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
