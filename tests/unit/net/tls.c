/* TLS between a line server and outgoing connections on one loop, and a client of OpenSSL's own
 * for what an outgoing connection never does. */
#include "net/outgoing.h"
#include "net/server.h"

#include "../verbs.h"
#include "identity.h"
#include "role/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, STEPS = 20000 };

/* The server: says hello and echoes. */

struct scene {
	struct loop *loop;
	struct tls *server_tls, *client_tls;
	struct server *server;
	int fd;
	char address[128];
	struct sockaddr_in at;
	int opened, closed; /* sessions */
	struct conn_pool *pool;
	struct conn_limits limits;
	struct outgoing *out;
	struct buf story; /* of the outgoing connection: U, L:line, B: `block` is back, D:why */
	const char *say;  /* when it is up */
	struct buf block; /* a long line that is sent after it */
};

static struct scene *scene_of(struct session *s)
{
	return server_ctx(session_server(s));
}

static void run_echo(struct session *s, const struct str *arg, size_t n)
{
	(void)n;
	conn_send(session_conn(s), arg[0]);
	conn_send(session_conn(s), STR("\n"));
}

static void run_quit(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	conn_send(session_conn(s), STR("bye\n"));
	conn_finish(session_conn(s));
}

static void session_opened(struct session *s)
{
	scene_of(s)->opened++;
}

static void session_closed(struct session *s, enum conn_end end)
{
	(void)end;
	scene_of(s)->closed++;
}

static const struct verb verbs[] = {{"echo", 1, 1, true, run_echo},
				    {"quit", 0, 0, false, run_quit}};
static void run_line(struct session *s, struct str line)
{
	if (verb_run(s, line, verbs, ARRAY_LEN(verbs)) != 0)
		conn_send(session_conn(s), STR("error: not a command\n"));
}

static const struct server_protocol protocol = {.name = "test",
						.line = run_line,
						.greeting = "hello\n",
						.opened = session_opened,
						.closed = session_closed};
static const struct server_limits server_limits = {.max_connections = 100,
						   .max_per_address = 100,
						   .backlog = 100,
						   .line_max = BLOCK + 10,
						   .queue_max = 4 * BLOCK,
						   .memory = 64 << 20,
						   .idle_us = 60 * US_PER_S,
						   .line_us = 5 * US_PER_S};

static struct scene *scene_limited(const struct tls_conf *conf, uint64_t memory)
{
	struct scene *t = mem_alloc(sizeof *t);
	const struct loop_options options = {.manual = true, .start_us = 1};
	struct server_limits limits = server_limits;
	struct err err;
	socklen_t n = sizeof t->at;
	limits.memory = memory;
	t->story = BUF_INIT(1 << 20);
	t->block = BUF_INIT(BLOCK);
	t->limits = (struct conn_limits){.line_max = BLOCK + 10,
					 .high_mark = 65536,
					 .queue_max = 4 * BLOCK,
					 .frame_us = 5 * US_PER_S};
	assert_int_equal(loop_new(&t->loop, &options, &err), 0);
	if (conf && tls_new(&t->server_tls, conf, true, &err) != 0)
		fail_msg("%s", err.msg);
	t->server = server_new(t->loop, &protocol, &limits, t->server_tls, t);
	t->pool = conn_pool_new(t->loop, 64 << 20);
	assert_int_equal(listen_open("127.0.0.1:0", &t->fd, &err), 0);
	assert_int_equal(listen_name(t->fd, t->address, sizeof t->address, &err), 0);
	assert_int_equal(getsockname(t->fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(server_listen(t->server, t->fd, &err), 0);
	return t;
}

static struct scene *scene_new(const struct tls_conf *conf)
{
	return scene_limited(conf, server_limits.memory);
}

static void step(struct scene *t)
{
	loop_step(t->loop, loop_now_us(t->loop));
}

/* The same, i times in a row: the kernel may take its time. */
static void step_again(struct scene *t, int i)
{
	if (i > 1000)
		usleep(1000);
	step(t);
}

static struct server_stats stats(const struct scene *t)
{
	struct server_stats s;
	server_stats(t->server, &s);
	return s;
}

/* All has been given back, whatever happened. */
static void scene_end(struct scene *t)
{
	outgoing_free(&t->out);
	conn_pool_free(&t->pool);
	for (int i = 0; i < STEPS && stats(t).inside; i++)
		step_again(t, i);
	assert_int_equal(stats(t).conns.conns, 0);
	assert_int_equal(stats(t).conns.memory, 0);
	assert_int_equal(t->opened, t->closed);
	server_free(&t->server);
	loop_free(&t->loop);
	tls_free(&t->server_tls);
	tls_free(&t->client_tls);
	close(t->fd);
	buf_free(&t->story);
	buf_free(&t->block);
	mem_free(&t);
}

/* The outgoing connection. */

static void up(void *ctx, struct conn *c)
{
	struct scene *t = ctx;
	buf_add_text(&t->story, "U ");
	if (t->say)
		conn_send(c, str_of(t->say));
	conn_send(c, buf_str(&t->block));
}

static void down(void *ctx, const char *why, int64_t retry_us)
{
	(void)retry_us;
	struct scene *t = ctx;
	assert_null(t->out ? outgoing_conn(t->out) : NULL);
	buf_printf(&t->story, "D:%s", why);
	outgoing_free(&t->out); /* once is enough */
}

static void line(void *ctx, struct str text)
{
	struct scene *t = ctx;
	if (t->block.n && str_eq(text, str_head(buf_str(&t->block), t->block.n - 1)))
		buf_add_text(&t->story, "B ");
	else
		buf_printf(&t->story, "L:" STR_FMT " ", STR_ARG(text));
}

static void connect_to(struct scene *t, const char *address, const struct tls_conf *conf)
{
	static const struct conn_ops ops = {.line = line};
	struct outgoing_options how = {.address = address,
				       .connect_us = 5 * US_PER_S,
				       .retry_min_us = US_PER_S,
				       .retry_max_us = US_PER_S,
				       .limits = &t->limits,
				       .ops = &ops,
				       .up = up,
				       .down = down,
				       .ctx = t};
	struct err err;
	if (conf && tls_new(&t->client_tls, conf, false, &err) != 0)
		fail_msg("%s", err.msg);
	how.tls = t->client_tls;
	assert_int_equal(outgoing_new(&t->out, t->pool, &how, &err), 0);
}

/* Goes on until the story is this. */
static void expect(struct scene *t, const char *story)
{
	for (int i = 0; i < STEPS && strcmp(buf_text(&t->story), story) != 0; i++)
		step_again(t, i);
	assert_string_equal(buf_text(&t->story), story);
}

/* How a meeting ends, in the words of the client. */
static void meet(const struct tls_conf *server, const struct tls_conf *client, const char *story)
{
	struct scene *t = scene_new(server);
	t->say = "echo a word\nquit\n";
	connect_to(t, t->address, client);
	expect(t, story);
	if (server && !strstr(story, "hello"))
		assert_int_equal(t->opened, 0);
	scene_end(t);
}

static const char all_well[] = "U L:hello L:a word L:bye D:closed by the peer";

static void lines_flow_with_both_kinds(void **state)
{
	(void)state;
	meet(NULL, NULL, all_well);
	meet(&have.shared, &have.shared, all_well);
	meet(&have.serves, &have.asks, all_well);
	meet(&have.serves, &have.shows, all_well);
	meet(&have.demands, &have.shows, all_well);
}

static void a_longer_key_in_capitals_is_a_key(void **state)
{
	(void)state;
	char digits[512 + 3];
	memset(digits, 'A', 512);
	memcpy(digits + 512, "\r\n", 3);
	struct tls_conf longer = {.shared_key = put_file("longer", digits, 0400)};
	meet(&longer, &longer, all_well);
	meet(&longer, &have.shared, "D:the peer has another key");
}

static void who_has_another_key_is_told(void **state)
{
	(void)state;
	meet(&have.shared, &have.other, "D:the peer has another key");
	meet(&have.shared, &have.asks, "D:the peer has a shared key, or other ciphers");
	meet(&have.serves, &have.shared, "D:the peer has certificates, not a shared key");
}

static void certificates_have_to_be_theirs(void **state)
{
	(void)state;
	struct tls_conf old = {.cert = have.old.cert_path, .key = have.old.key_path};
	struct tls_conf away = {.cert = have.elsewhere.cert_path, .key = have.elsewhere.key_path};
	struct tls_conf foreign = {.cert = have.foreign.cert_path, .key = have.foreign.key_path};
	meet(&old, &have.asks, "D:the peer's certificate: certificate has expired");
	meet(&away, &have.asks, "D:the peer's certificate: IP address mismatch");
	meet(&foreign, &have.asks,
	     "D:the peer's certificate: unable to get local issuer certificate");
}

/* In TLS 1.3 a client is done before the server has looked at its certificate: it is up, but
 * nothing that it says is heard. */
static void servers_look_at_their_clients(void **state)
{
	(void)state;
	struct tls_conf foreign = {.cert = have.foreign.cert_path,
				   .key = have.foreign.key_path,
				   .ca = have.ca.cert_path};
	struct tls_conf old = {
		.cert = have.old.cert_path, .key = have.old.key_path, .ca = have.ca.cert_path};
	meet(&have.demands, &have.asks, "U D:the peer wants a certificate");
	meet(&have.demands, &foreign, "U D:the peer trusts nobody who vouches for us");
	meet(&have.demands, &old, "U D:the peer says that our certificate is over");
}

static void tls_meets_plain_lines(void **state)
{
	(void)state;
	meet(NULL, &have.shared, "D:the peer does not speak TLS");
	meet(NULL, &have.asks, "D:the peer does not speak TLS");
}

/* Other clients: a bare socket, and OpenSSL on one. */

static int knock(struct scene *t)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&t->at, sizeof t->at), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	step(t);
	return fd;
}

static void tell(struct scene *t, int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	step(t);
}

static void plain_clients_are_not_served(void **state)
{
	(void)state;
	static const char *const said[] = {"echo a word\nquit\n", "GET / HTTP/1.0\r\n\r\n",
					   "\x16\x03\x01 that is not it", "\x16\x03\x03\xff\xff"};
	struct scene *t = scene_new(&have.shared);
	char got[100];
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		int fd = knock(t);
		tell(t, fd, said[i]);
		ssize_t n = read(fd, got, sizeof got);
		assert_true(n <= 0 || got[0] == 0x15); /* at most an alert */
		close(fd);
		step(t);
	}
	assert_int_equal(t->opened, 0);
	assert_int_equal(stats(t).conns.ended[CONN_END_TLS], ARRAY_LEN(said));
	scene_end(t);
}

static void who_stalls_in_the_handshake_is_dropped(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	int silent = knock(t), half = knock(t);
	tell(t, half, "\x16\x03\x01\x02");
	assert_int_equal(stats(t).conns.memory, 2 * TLS_SHAKE_MEMORY);
	loop_step(t->loop, loop_now_us(t->loop) + server_limits.line_us - 1);
	assert_int_equal(stats(t).conns.conns, 2);
	loop_step(t->loop, loop_now_us(t->loop) + 1);
	assert_int_equal(stats(t).conns.ended[CONN_END_TLS], 2);
	assert_int_equal(stats(t).conns.memory, 0);
	close(silent);
	close(half);
	/* and so is a server, by its client */
	int mute;
	char address[128];
	struct err err;
	assert_int_equal(listen_open("127.0.0.1:0", &mute, &err), 0);
	assert_int_equal(listen_name(mute, address, sizeof address, &err), 0);
	connect_to(t, address, &have.shared);
	step(t);
	loop_step(t->loop, loop_now_us(t->loop) + t->limits.frame_us);
	expect(t, "D:the TLS handshake took too long");
	close(mute);
	scene_end(t);
}

static void who_hangs_up_in_the_handshake_is_gone(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	int fd = knock(t);
	close(fd);
	step(t);
	assert_int_equal(stats(t).conns.ended[CONN_END_TLS], 1);
	assert_int_equal(t->opened, 0);
	scene_end(t);
}

static void handshakes_wait_for_the_budget(void **state)
{
	(void)state;
	struct scene *t = scene_limited(&have.shared, TLS_SHAKE_MEMORY);
	t->say = "echo a word\nquit\n";
	int first = knock(t);
	connect_to(t, t->address, &have.shared);
	for (int i = 0; i < 100; i++)
		step(t);
	assert_string_equal(buf_text(&t->story), "");
	assert_int_equal(stats(t).conns.memory, TLS_SHAKE_MEMORY);
	assert_int_equal(stats(t).conns.starved, 1);
	close(first);
	expect(t, all_well);
	scene_end(t);
}

static void note_drained(void *ctx)
{
	*(bool *)ctx = true;
}

static void a_drain_does_not_wait_for_handshakes(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	bool done = false;
	int fd = knock(t);
	server_drain(t->server, 60 * US_PER_S, note_drained, &done);
	loop_step(t->loop, loop_now_us(t->loop) + 3 * US_PER_S);
	assert_true(done);
	assert_int_equal(stats(t).conns.ended[CONN_END_DONE], 1);
	close(fd);
	scene_end(t);
}

struct raw {
	struct scene *scene;
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;
};

static unsigned raw_key(SSL *ssl, const char *hint, char *name, unsigned name_max,
			unsigned char *ret, unsigned max)
{
	(void)ssl, (void)hint;
	unsigned n = 0;
	snprintf(name, name_max, "garner");
	for (; n < 32 && n < max; n++)
		ret[n] = (unsigned char)(n % 16 * 0x11);
	return n;
}

/* Until OpenSSL no longer says that it has to wait; then what it says. */
static int raw_wait(struct raw *r, int (*call)(struct raw *r))
{
	for (int i = 0; i < STEPS; i++) {
		int rc = call(r), why = SSL_get_error(r->ssl, rc);
		if (rc > 0 || (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE))
			return rc;
		step_again(r->scene, i);
	}
	fail_msg("it waits for ever");
	return -1;
}

static int raw_shake(struct raw *r)
{
	return SSL_do_handshake(r->ssl);
}

static int raw_open(struct raw *r, struct scene *t, int version)
{
	*r = (struct raw){.scene = t, .ctx = SSL_CTX_new(TLS_client_method()), .fd = knock(t)};
	SSL_CTX_set_max_proto_version(r->ctx, version);
	SSL_CTX_set_psk_client_callback(r->ctx, raw_key);
	r->ssl = SSL_new(r->ctx);
	SSL_set_fd(r->ssl, r->fd);
	SSL_set_connect_state(r->ssl);
	return raw_wait(r, raw_shake);
}

static void raw_close(struct raw *r)
{
	SSL_free(r->ssl);
	SSL_CTX_free(r->ctx);
	close(r->fd);
	step(r->scene);
}

static void raw_say(struct raw *r, const char *text)
{
	assert_int_equal(SSL_write(r->ssl, text, (int)strlen(text)), strlen(text));
}

/* What comes until n bytes are there, or the end. Returns how OpenSSL sees that, or 0. */
static int raw_hear(struct raw *r, struct buf *ret, size_t n)
{
	char piece[4096];
	for (int idle = 0; idle < STEPS && ret->n < n; idle++) {
		step_again(r->scene, idle);
		int got = SSL_read(r->ssl, piece, sizeof piece);
		int why = SSL_get_error(r->ssl, got);
		if (got > 0) {
			buf_add(ret, piece, (size_t)got);
			idle = 0;
		} else if (why != SSL_ERROR_WANT_READ) {
			return why;
		}
	}
	return 0;
}

static void raw_expect(struct raw *r, const char *text)
{
	struct buf got = BUF_INIT(1 << 20);
	raw_hear(r, &got, strlen(text));
	assert_string_equal(buf_text(&got), text);
	buf_free(&got);
}

static void older_versions_are_refused(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.serves);
	struct raw r;
	assert_true(raw_open(&r, t, TLS1_2_VERSION) < 0);
	raw_close(&r);
	assert_int_equal(stats(t).conns.ended[CONN_END_TLS], 1);
	scene_end(t);
}

static void nothing_can_be_resumed(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.serves);
	struct raw r;
	assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
	raw_say(&r, "echo x\n");
	raw_expect(&r, "hello\nx\n"); /* tickets would have come by now */
	assert_false(SSL_SESSION_is_resumable(SSL_get_session(r.ssl)));
	raw_close(&r);
	scene_end(t);
}

/* With a goodbye of TLS or without, who has said all gets all answers, and a goodbye. */
static void half_closed_clients_get_their_answers(void **state)
{
	(void)state;
	for (int polite = 0; polite < 2; polite++) {
		struct scene *t = scene_new(&have.shared);
		struct buf got = BUF_INIT(1 << 20);
		struct raw r;
		assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
		raw_say(&r, "echo a\necho b\nhalf a line");
		if (polite)
			assert_int_equal(SSL_shutdown(r.ssl), 0);
		shutdown(r.fd, SHUT_WR);
		int end = raw_hear(&r, &got, SIZE_MAX);
		assert_string_equal(buf_text(&got), "hello\na\nb\n");
		assert_int_equal(end, SSL_ERROR_ZERO_RETURN);
		assert_int_equal(stats(t).conns.ended[CONN_END_EOF], 1);
		buf_free(&got);
		raw_close(&r);
		scene_end(t);
	}
}

static void a_finished_connection_says_goodbye(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	struct buf got = BUF_INIT(1 << 20);
	struct raw r;
	assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
	raw_say(&r, "quit\n");
	assert_int_equal(raw_hear(&r, &got, SIZE_MAX), SSL_ERROR_ZERO_RETURN);
	assert_string_equal(buf_text(&got), "hello\nbye\n");
	raw_close(&r);
	assert_int_equal(stats(t).conns.ended[CONN_END_DONE], 1);
	buf_free(&got);
	scene_end(t);
}

static void key_updates_change_nothing(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	struct raw r;
	assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
	raw_expect(&r, "hello\n");
	for (int i = 0; i < 100; i++) {
		assert_int_equal(SSL_key_update(r.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		raw_say(&r, i % 2 ? "echo x\n" : "echo y\n");
		raw_expect(&r, i % 2 ? "x\n" : "y\n");
	}
	raw_close(&r);
	scene_end(t);
}

static void small_buffers(int fd)
{
	int n = 65536;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof n), 0);
}

/* Sends what waits in `out`, as far as there is room; whether something is left. */
static bool pump(struct raw *r, BIO *out)
{
	char *p, sent[65536];
	long n = BIO_get_mem_data(out, &p);
	ssize_t rc = n ? send(r->fd, p, MIN((size_t)n, sizeof sent), MSG_NOSIGNAL) : 0;
	assert_true(rc >= 0 || errno == EAGAIN);
	if (rc > 0)
		assert_int_equal(BIO_read(out, sent, (int)rc), rc);
	return rc < n;
}

/* A client that at first does not read, and wants new keys with each line: the server has no room
 * for its own, and must neither read on nor forget to. */
static void key_updates_without_room_wait(void **state)
{
	(void)state;
	enum { LINES = 2000, LINE = 900 };
	struct scene *t = scene_new(&have.shared);
	struct buf got = BUF_INIT(LINES * LINE * 2);
	char say[5 + LINE + 2] = "echo ";
	struct raw r;
	BIO *out = BIO_new(BIO_s_mem());
	memset(say + 5, 'x', LINE);
	say[5 + LINE] = '\n';
	small_buffers(t->fd); /* and so those of who is accepted */
	assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
	small_buffers(r.fd);
	SSL_set0_wbio(r.ssl, out);
	for (int i = 0; i < LINES; i++) {
		assert_int_equal(SSL_key_update(r.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		raw_say(&r, say);
	}
	for (int i = 0; i < 1000; i++) {
		pump(&r, out);
		step(t);
	}
	assert_true(pump(&r, out));
	assert_in_range(stats(t).conns.frames, 1, LINES - 1);
	for (int i = 0; i < STEPS && pump(&r, out); i++)
		assert_int_equal(raw_hear(&r, &got, got.n + 1), 0);
	raw_hear(&r, &got, 6 + LINES * (LINE + 1));
	assert_int_equal(got.n, 6 + LINES * (LINE + 1));
	assert_int_equal(stats(t).conns.frames, LINES);
	buf_free(&got);
	raw_close(&r);
	scene_end(t);
}

static void what_was_not_sealed_by_the_key_is_not_heard(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	struct raw r;
	assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
	raw_expect(&r, "hello\n");
	static const char forged[] = "\x17\x03\x03\x00\x20"
				     "echo a word\necho a word\necho a w";
	assert_int_equal(write(r.fd, forged, 5 + 32), 5 + 32);
	step(t);
	step(t);
	assert_int_equal(stats(t).conns.ended[CONN_END_TLS], 1);
	assert_int_equal(stats(t).conns.frames, 0);
	raw_close(&r);
	scene_end(t);
}

/* A relay that passes on so many bytes at a time. */

struct relay {
	int listen_fd, fd[2];
	char address[128];
};

static void relay_open(struct relay *r)
{
	struct err err;
	*r = (struct relay){.fd = {-1, -1}};
	assert_int_equal(listen_open("127.0.0.1:0", &r->listen_fd, &err), 0);
	assert_int_equal(listen_name(r->listen_fd, r->address, sizeof r->address, &err), 0);
}

static void relay_pass(struct scene *t, struct relay *r, size_t most)
{
	char piece[4096];
	if (r->fd[0] < 0) {
		r->fd[0] = accept4(r->listen_fd, NULL, NULL, SOCK_NONBLOCK);
		r->fd[1] = r->fd[0] < 0 ? -1 : knock(t);
		if (r->fd[0] >= 0)
			(void)setsockopt(r->fd[0], IPPROTO_TCP, TCP_NODELAY, &(int){1},
					 sizeof(int));
		return;
	}
	for (int i = 0; i < 2; i++) {
		ssize_t n = recv(r->fd[i], piece, most, MSG_PEEK);
		ssize_t sent = n > 0 ? send(r->fd[!i], piece, (size_t)n, MSG_NOSIGNAL) : 0;
		if (sent > 0)
			assert_int_equal(recv(r->fd[i], piece, (size_t)sent, 0), sent);
		if (n == 0)
			shutdown(r->fd[!i], SHUT_WR);
	}
}

static void relay_close(struct relay *r)
{
	close(r->fd[0]);
	close(r->fd[1]);
	close(r->listen_fd);
}

static void byte_by_byte_is_the_same(void **state)
{
	(void)state;
	const struct tls_conf *kinds[][2] = {{&have.shared, &have.shared},
					     {&have.demands, &have.shows}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct scene *t = scene_new(kinds[i][0]);
		struct relay r;
		relay_open(&r);
		t->say = "echo a word\nquit\n";
		connect_to(t, r.address, kinds[i][1]);
		for (int n = 0; n < STEPS && strcmp(buf_text(&t->story), all_well) != 0; n++) {
			step_again(t, n / 8);
			relay_pass(t, &r, 1);
		}
		assert_string_equal(buf_text(&t->story), all_well);
		relay_close(&r);
		scene_end(t);
	}
}

static void fill_block(struct buf *b, size_t n)
{
	uint64_t x = 88172645463325252;
	while (b->n < n) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		buf_add_byte(b, (char)('a' + x % 26));
	}
	b->p[n - 1] = '\n';
}

/* Far more than the queues' marks and what sockets hold, so that both sides stop and go on. */
static void long_lines_go_both_ways(void **state)
{
	static const char back[] = "U L:hello B ";
	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		struct scene *t = scene_new(&have.shared);
		struct relay r;
		size_t n = narrow ? BLOCK / 8 : BLOCK;
		relay_open(&r);
		fill_block(&t->block, n);
		t->say = "echo ";
		connect_to(t, narrow ? r.address : t->address, &have.shared);
		for (int i = 0; i < STEPS && strcmp(buf_text(&t->story), back) != 0; i++) {
			step_again(t, i / 8);
			if (narrow)
				relay_pass(t, &r, 1000);
		}
		assert_string_equal(buf_text(&t->story), back);
		relay_close(&r);
		scene_end(t);
	}
}

static void one_visit(struct scene *t, int how)
{
	struct raw r;
	if (how == 0) {
		close(knock(t));
		step(t);
		return;
	}
	assert_int_equal(raw_open(&r, t, TLS1_3_VERSION), 1);
	if (how >= 2)
		raw_say(&r, "echo x\n");
	if (how == 3)
		raw_expect(&r, "hello\nx\n");
	if (how == 4)
		SSL_shutdown(r.ssl);
	raw_close(&r);
}

static void thousands_of_connections_leave_nothing(void **state)
{
	(void)state;
	struct scene *t = scene_new(&have.shared);
	int visits = unit_thorough() ? 20000 : 500;
	for (int i = 0; i < visits; i++)
		one_visit(t, i % 5);
	step(t);
	assert_int_equal(stats(t).listeners.accepted, visits);
	assert_int_equal(stats(t).conns.conns, 0);
	scene_end(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_flow_with_both_kinds),
		cmocka_unit_test(a_longer_key_in_capitals_is_a_key),
		cmocka_unit_test(who_has_another_key_is_told),
		cmocka_unit_test(certificates_have_to_be_theirs),
		cmocka_unit_test(servers_look_at_their_clients),
		cmocka_unit_test(tls_meets_plain_lines),
		cmocka_unit_test(plain_clients_are_not_served),
		cmocka_unit_test(who_stalls_in_the_handshake_is_dropped),
		cmocka_unit_test(who_hangs_up_in_the_handshake_is_gone),
		cmocka_unit_test(handshakes_wait_for_the_budget),
		cmocka_unit_test(a_drain_does_not_wait_for_handshakes),
		cmocka_unit_test(older_versions_are_refused),
		cmocka_unit_test(nothing_can_be_resumed),
		cmocka_unit_test(half_closed_clients_get_their_answers),
		cmocka_unit_test(a_finished_connection_says_goodbye),
		cmocka_unit_test(key_updates_change_nothing),
		cmocka_unit_test(key_updates_without_room_wait),
		cmocka_unit_test(what_was_not_sealed_by_the_key_is_not_heard),
		cmocka_unit_test(byte_by_byte_is_the_same),
		cmocka_unit_test(long_lines_go_both_ways),
		cmocka_unit_test(thousands_of_connections_leave_nothing),
	};
	return cmocka_run_group_tests(tests, make_all, drop_all);
}
