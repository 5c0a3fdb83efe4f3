#include "net/outgoing.h"

#include "../scratch.h"
#include "net/dns_inner.h"
#include "packet.h"
#include "role/listen.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* An owner that writes down what it is told: U up, L:line, D:why@retry_ms. */
struct owner {
	struct loop *loop;
	struct conn_pool *pool;
	struct outgoing *out;
	struct conn_limits limits;
	struct buf story;
	char address[128];
	int listen_fd;
	uint64_t random;
	bool free_when_up, free_when_down, free_on_line;
};

static void up(void *ctx, struct conn *c)
{
	struct owner *o = ctx;
	buf_add_text(&o->story, "U ");
	conn_send(c, STR("hello\n"));
	if (o->free_when_up)
		outgoing_free(&o->out);
}

static void down(void *ctx, const char *why, int64_t retry_us)
{
	struct owner *o = ctx;
	if (o->out) /* a free one has no connection, and says nothing */
		assert_null(outgoing_conn(o->out));
	buf_printf(&o->story, "D:%s@%d ", why, (int)(retry_us / US_PER_MS));
	if (o->free_when_down)
		outgoing_free(&o->out);
}

static void line(void *ctx, struct str text)
{
	struct owner *o = ctx;
	buf_printf(&o->story, "L:" STR_FMT " ", STR_ARG(text));
	if (o->free_on_line)
		outgoing_free(&o->out);
}

static uint64_t chosen(void *ctx)
{
	return ((struct owner *)ctx)->random;
}

static void owner_new(struct owner *o, bool listening)
{
	static const struct conn_ops ops = {.line = line};
	const struct loop_options options = {.manual = true};
	struct err err;
	*o = (struct owner){.limits = {.line_max = 100, .high_mark = 1000, .queue_max = 10000},
			    .story = BUF_INIT(65536)};
	assert_int_equal(loop_new(&o->loop, &options, &err), 0);
	o->pool = conn_pool_new(o->loop, 1 << 20);
	assert_int_equal(listen_open("127.0.0.1:0", &o->listen_fd, &err), 0);
	assert_int_equal(listen_name(o->listen_fd, o->address, sizeof o->address, &err), 0);
	if (!listening) {
		close(o->listen_fd);
		o->listen_fd = -1;
	}
	const struct outgoing_options how = {.address = o->address,
					     .connect_us = 5 * US_PER_S,
					     .retry_min_us = 100 * US_PER_MS,
					     .retry_max_us = 1000 * US_PER_MS,
					     .limits = &o->limits,
					     .ops = &ops,
					     .up = up,
					     .down = down,
					     .random = chosen,
					     .ctx = o};
	assert_int_equal(outgoing_new(&o->out, o->pool, &how, &err), 0);
}

static void owner_end(struct owner *o)
{
	outgoing_free(&o->out);
	conn_pool_free(&o->pool);
	loop_free(&o->loop);
	if (o->listen_fd >= 0)
		close(o->listen_fd);
	buf_free(&o->story);
}

static void wait_ms(struct owner *o, int64_t ms)
{
	loop_step(o->loop, loop_now_us(o->loop) + ms * US_PER_MS);
}

static void expect(struct owner *o, const char *story)
{
	assert_string_equal(buf_text(&o->story), story);
	buf_clear(&o->story);
}

static int accept_one(struct owner *o)
{
	int fd = accept(o->listen_fd, NULL, NULL);
	assert_true(fd >= 0);
	return fd;
}

static void it_connects_and_lines_flow(void **state)
{
	(void)state;
	struct owner o;
	char got[32] = {0};
	owner_new(&o, true);
	assert_string_equal(buf_text(&o.story), ""); /* not from inside the call */
	wait_ms(&o, 0);
	expect(&o, "U ");
	int fd = accept_one(&o);
	assert_int_equal(read(fd, got, sizeof got), 6);
	assert_string_equal(got, "hello\n");
	assert_int_equal(write(fd, "hi\nthere\n", 9), 9);
	wait_ms(&o, 0);
	expect(&o, "L:hi L:there ");
	assert_non_null(outgoing_conn(o.out));
	close(fd);
	owner_end(&o);
}

#define REFUSED "D:Connection refused"

static void delays_double_up_to_the_most(void **state)
{
	(void)state;
	struct owner o;
	owner_new(&o, false);
	wait_ms(&o, 0);
	expect(&o, REFUSED "@50 ");
	wait_ms(&o, 49);
	expect(&o, "");
	wait_ms(&o, 1);
	expect(&o, REFUSED "@100 ");
	wait_ms(&o, 100);
	expect(&o, REFUSED "@200 ");
	wait_ms(&o, 200);
	expect(&o, REFUSED "@400 ");
	wait_ms(&o, 400);
	expect(&o, REFUSED "@500 ");
	wait_ms(&o, 500);
	expect(&o, REFUSED "@500 ");
	owner_end(&o);
}

static void delays_are_spread_over_their_second_half(void **state)
{
	(void)state;
	struct owner o;
	owner_new(&o, false);
	o.random = 50 * US_PER_MS;
	wait_ms(&o, 0);
	expect(&o, REFUSED "@100 ");
	o.random = 100 * US_PER_MS + 1; /* one more than the range: its beginning */
	wait_ms(&o, 100);
	expect(&o, REFUSED "@100 ");
	o.random = 13 * US_PER_MS;
	wait_ms(&o, 100);
	expect(&o, REFUSED "@213 ");
	owner_end(&o);
}

static void a_peer_that_hangs_up_at_once_counts_as_a_failure(void **state)
{
	(void)state;
	struct owner o;
	owner_new(&o, true);
	static const char *const said[] = {"U D:closed by the peer@50 ",
					   "U D:closed by the peer@100 ",
					   "U D:closed by the peer@200 "};
	static const int delay_ms[] = {0, 50, 100};
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		wait_ms(&o, delay_ms[i]);
		int fd = accept_one(&o);
		char got[16];
		assert_int_equal(read(fd, got, sizeof got), 6); /* else it were a reset */
		close(fd);
		wait_ms(&o, 0);
		expect(&o, said[i]);
	}
	wait_ms(&o, 200);
	expect(&o, "U ");
	int fd = accept_one(&o);
	char got[16];
	assert_int_equal(read(fd, got, sizeof got), 6);
	wait_ms(&o, 1000); /* it lasts: what was before is forgotten */
	close(fd);
	wait_ms(&o, 0);
	expect(&o, "D:closed by the peer@50 ");
	owner_end(&o);
}

static void after_a_refusal_it_rests(void **state)
{
	(void)state;
	struct owner o;
	owner_new(&o, true);
	wait_ms(&o, 0);
	int fd = accept_one(&o);
	expect(&o, "U ");
	outgoing_rest(o.out, 30 * US_PER_S);
	outgoing_rest(o.out, 30 * US_PER_S); /* it is ending */
	wait_ms(&o, 0);
	assert_non_null(strstr(buf_text(&o.story), "@30000 "));
	buf_clear(&o.story);
	close(fd);
	wait_ms(&o, 29999);
	expect(&o, "");
	wait_ms(&o, 1);
	expect(&o, "U ");
	/* once */
	close(accept_one(&o));
	wait_ms(&o, 0);
	assert_null(strstr(buf_text(&o.story), "@30000 "));
	outgoing_rest(o.out, 30 * US_PER_S); /* there is none to be ended */
	wait_ms(&o, 1000);
	assert_non_null(strstr(buf_text(&o.story), "U "));
	owner_end(&o);
}

static void it_may_be_freed_inside_its_callbacks(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct owner o;
		owner_new(&o, i != 1);
		o.free_when_up = i == 0;
		o.free_when_down = i == 1;
		o.free_on_line = i == 2;
		wait_ms(&o, 0);
		if (i == 2) {
			int fd = accept_one(&o);
			assert_int_equal(write(fd, "a\nb\n", 4), 4);
			wait_ms(&o, 0);
			close(fd);
		}
		wait_ms(&o, 5000);
		expect(&o, i == 0 ? "U " : i == 1 ? REFUSED "@50 " : "U L:a ");
		assert_null(o.out);
		assert_int_equal(conn_pool_stats(o.pool)->conns, 0);
		owner_end(&o);
	}
}

static void it_may_be_freed_before_the_first_try(void **state)
{
	(void)state;
	struct owner o;
	owner_new(&o, true);
	outgoing_free(&o.out);
	wait_ms(&o, 1000);
	expect(&o, "");
	owner_end(&o);
}

/* A backlog that is full makes the kernel drop what comes: the peer stays silent. */
static void a_peer_that_does_not_accept_is_given_up(void **state)
{
	(void)state;
	struct owner o;
	owner_new(&o, true);
	assert_int_equal(listen(o.listen_fd, 0), 0);
	struct sockaddr_storage to;
	unsigned n;
	struct err err;
	assert_int_equal(listen_address(o.address, &to, &n, &err), 0);
	int fill[4];
	for (size_t i = 0; i < ARRAY_LEN(fill); i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(fill[i], (struct sockaddr *)&to, n);
	}
	wait_ms(&o, 4999);
	expect(&o, "");
	wait_ms(&o, 1);
	expect(&o, "D:the peer did not accept in time@50 ");
	for (size_t i = 0; i < ARRAY_LEN(fill); i++)
		close(fill[i]);
	owner_end(&o);
}

static void unix_sockets_and_wrong_addresses(void **state)
{
	(void)state;
	struct owner o;
	struct err err;
	struct outgoing *out = NULL;
	char address[300];
	int fd;
	owner_new(&o, true);
	outgoing_free(&o.out);
	struct outgoing_options how = {0};
	static const char *const wrong[] = {"localhost", "localhost:0",    "host:65536",
					    "a b:80",    "127.0.0.300:80", "host:x",
					    ":80",       "*:80",           ""};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		how.address = wrong[i];
		assert_true(outgoing_new(&out, o.pool, &how, &err) < 0);
		assert_int_equal(err.code, ERR_USAGE);
		assert_true(outgoing_may_connect(wrong[i], "", NULL, &err) < 0);
	}
	static const struct conn_ops ops = {.line = line};
	snprintf(address, sizeof address, "unix:%s", scratch("socket"));
	assert_int_equal(listen_open(address, &fd, &err), 0);
	how = (struct outgoing_options){.address = address,
					.connect_us = US_PER_S,
					.retry_min_us = 1000,
					.retry_max_us = 2000,
					.limits = &o.limits,
					.ops = &ops,
					.up = up,
					.down = down,
					.ctx = &o};
	assert_int_equal(outgoing_new(&o.out, o.pool, &how, &err), 0);
	wait_ms(&o, 0);
	expect(&o, "U ");
	close(fd);
	owner_end(&o);
}

/* A name server that knows one name, whose address changes; and how often it was asked. */
struct names {
	struct loop_io io;
	int fd;
	const char *address;
	unsigned asked;
	char server[32];
	const char *servers[1];
	struct dns_conf conf;
};

static void names_serve(void *ctx, unsigned what)
{
	(void)what;
	struct names *n = ctx;
	struct sockaddr_storage from;
	socklen_t len = sizeof from;
	char in[512];
	ssize_t got = recvfrom(n->fd, in, sizeof in, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
	if (got < 12)
		return;
	struct reader r = reader_of((struct str){in, (size_t)got});
	uint16_t id = reader_u16be(&r);
	bool v6 = memmem(in, (size_t)got, "\4test\0\0\x1c", 8) != NULL;
	n->asked += !v6;
	struct packet p = packet_begin(id, PACKET_ANSWER, STR("bots.test"), v6 ? DNS_AAAA : DNS_A);
	if (v6)
		packet_soa(&p, "test", 600, 120);
	else
		packet_address(&p, "bots.test", 3600, n->address);
	struct str answer = packet_end(&p);
	(void)sendto(n->fd, answer.p, answer.n, 0, (struct sockaddr *)&from, len);
	buf_free(&p.b);
}

static void names_open(struct names *n, struct loop *loop)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof sa;
	*n = (struct names){.address = "127.0.0.1",
			    .io = {.fn = names_serve, .ctx = n},
			    .conf = {.timeout_us = 100 * US_PER_MS,
				     .tries = 1,
				     .at_once = 10,
				     .entries = 100,
				     .bytes = 65536,
				     .ttl_min_us = US_PER_MIN,
				     .ttl_max_us = US_PER_DAY}};
	n->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(n->fd, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(getsockname(n->fd, (struct sockaddr *)&sa, &len), 0);
	snprintf(n->server, sizeof n->server, "127.0.0.1:%u", ntohs(sa.sin_port));
	n->servers[0] = n->server;
	n->conf.servers = (struct value_list){n->servers, 1};
	loop_io_want(loop, &n->io, n->fd, LOOP_READ);
}

static void names_close(struct names *n)
{
	loop_io_end(&n->io);
	close(n->fd);
}

/* The resolver waits in real time. */
static void wait_for(struct owner *o, char what)
{
	for (int i = 0; i < 2000 && !strchr(buf_text(&o->story), what); i++) {
		wait_ms(o, 1);
		usleep(500);
	}
	assert_non_null(strchr(buf_text(&o->story), what));
	buf_clear(&o->story);
}

static void connect_by_name(struct owner *o, const char *name, const struct names *n, bool trusted)
{
	static const struct conn_ops ops = {.line = line};
	struct err err;
	char address[64];
	const struct outgoing_options how = {.address = address,
					     .dns = n ? &n->conf : NULL,
					     .trusted = trusted,
					     .connect_us = 500 * US_PER_S,
					     .retry_min_us = 1000,
					     .retry_max_us = 2000,
					     .limits = &o->limits,
					     .ops = &ops,
					     .up = up,
					     .down = down,
					     .random = chosen,
					     .ctx = o};
	snprintf(address, sizeof address, "%s%s", name, strrchr(o->address, ':'));
	assert_int_equal(outgoing_may_connect(address, "", NULL, &err), 0);
	outgoing_free(&o->out);
	assert_int_equal(outgoing_new(&o->out, o->pool, &how, &err), 0);
}

static void a_name_is_looked_up_for_each_try(void **state)
{
	(void)state;
	struct owner o;
	struct names n;
	owner_new(&o, true);
	names_open(&n, o.loop);
	n.address = "127.0.0.2"; /* nobody listens there */
	connect_by_name(&o, "bots.test", &n, true);
	wait_for(&o, 'D');
	wait_for(&o, 'D');
	assert_in_range(n.asked, 2, 1000);
	n.address = "127.0.0.1";
	wait_for(&o, 'U');
	unsigned before = n.asked;
	int fd = accept_one(&o);
	close(fd);
	wait_for(&o, 'U');
	assert_true(n.asked > before);
	names_close(&n);
	owner_end(&o);
}

static void another_machine_has_to_show_who_it_is(void **state)
{
	(void)state;
	struct owner o;
	struct names n;
	struct err err;
	owner_new(&o, true);
	names_open(&n, o.loop);
	n.address = "192.0.2.1";
	connect_by_name(&o, "bots.test", &n, true);
	wait_for(&o, 'D');
	assert_int_equal(conn_pool_stats(o.pool)->conns, 0);
	assert_true(outgoing_may_connect("192.0.2.1:80", "", NULL, &err) < 0);
	assert_true(str_find(str_of(err.msg), STR("tls_shared_key")) < strlen(err.msg));
	assert_int_equal(outgoing_may_connect("127.0.0.1:80", "", NULL, &err), 0);
	assert_int_equal(outgoing_may_connect("[::1]:80", "", NULL, &err), 0);
	assert_int_equal(outgoing_may_connect("unix:/a", "", NULL, &err), 0);
	names_close(&n);
	owner_end(&o);
}

/* Without a question; and it may be freed while it asks. */
static void localhost_is_this_machine(void **state)
{
	(void)state;
	struct owner o;
	struct names n;
	owner_new(&o, true);
	names_open(&n, o.loop);
	connect_by_name(&o, "localhost", NULL, true);
	wait_for(&o, 'U');
	connect_by_name(&o, "bots.test", &n, true);
	outgoing_free(&o.out);
	wait_ms(&o, 100);
	connect_by_name(&o, "bots.test", &n, true);
	wait_ms(&o, 1);
	outgoing_free(&o.out);
	wait_ms(&o, 100);
	assert_null(o.out);
	names_close(&n);
	owner_end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_connects_and_lines_flow),
		cmocka_unit_test(delays_double_up_to_the_most),
		cmocka_unit_test(delays_are_spread_over_their_second_half),
		cmocka_unit_test(a_peer_that_hangs_up_at_once_counts_as_a_failure),
		cmocka_unit_test(after_a_refusal_it_rests),
		cmocka_unit_test(it_may_be_freed_inside_its_callbacks),
		cmocka_unit_test(it_may_be_freed_before_the_first_try),
		cmocka_unit_test(a_peer_that_does_not_accept_is_given_up),
		cmocka_unit_test(unix_sockets_and_wrong_addresses),
		cmocka_unit_test(a_name_is_looked_up_for_each_try),
		cmocka_unit_test(another_machine_has_to_show_who_it_is),
		cmocka_unit_test(localhost_is_this_machine),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
