/* Echo over 100 connections of TCP: the line server beside one made of libevent's bufferevents,
 * each in a process of its own whose CPU time alone is counted. With one line in flight on each
 * connection, as people and simple clients work, and with 16, as programs do. */
#include "bench.h"
#include "net/server.h"
#include "role/listen.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNS = 100, DEPTH = 16, REPEATS = 3 };
#define REQUEST "echo 0123456789abcdef0123456789abcdef\n"
#define ANSWER "0123456789abcdef0123456789abcdef\n"

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Ours. */

static void run_echo(struct session *s, struct str line)
{
	if (!str_starts(line, STR("echo ")))
		fail("not a request");
	conn_send(session_conn(s), str_from(line, strlen("echo ")));
	conn_send(session_conn(s), STR("\n"));
}

static void serve_ours(int fd)
{
	static const struct server_protocol protocol = {.name = "bench", .line = run_echo};
	static const struct server_limits limits = {.max_connections = 1000,
						    .max_per_address = 1000,
						    .line_max = 8192,
						    .queue_max = 4 << 20,
						    .memory = 256 << 20,
						    .idle_us = 600 * US_PER_S,
						    .line_us = 60 * US_PER_S};
	struct loop *loop;
	struct err err;
	if (loop_new(&loop, NULL, &err) < 0 ||
	    server_listen(server_new(loop, &protocol, &limits, NULL, NULL), fd, &err) < 0 ||
	    loop_run(loop, &err) < 0)
		fail(err.msg);
}

/* The rival's. */

static void rival_read(struct bufferevent *bev, void *ctx)
{
	(void)ctx;
	struct evbuffer *in = bufferevent_get_input(bev), *out = bufferevent_get_output(bev);
	size_t n;
	for (char *line; (line = evbuffer_readln(in, &n, EVBUFFER_EOL_CRLF)); free(line)) {
		evbuffer_add(out, line + 5, n - 5);
		evbuffer_add(out, "\n", 1);
	}
}

static void rival_event(struct bufferevent *bev, short what, void *ctx)
{
	(void)ctx;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		bufferevent_free(bev);
}

static void rival_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int n,
			 void *ctx)
{
	(void)l, (void)from, (void)n;
	int one = 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	struct bufferevent *bev =
		bufferevent_socket_new(ctx, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	bufferevent_setcb(bev, rival_read, NULL, rival_event, NULL);
	bufferevent_setwatermark(bev, EV_READ, 0, 64 * 1024);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}

static void serve_rival(int fd)
{
	struct event_base *base = event_base_new();
	if (!base || !evconnlistener_new(base, rival_accept, base, 0, 0, fd))
		fail("bufferevents");
	event_base_dispatch(base);
}

/* The ceiling: as many answers as there were requests, unseen. */

static void bare_answer(int fd)
{
	static char in[65536], out[65536];
	ssize_t n = read(fd, in, sizeof in);
	size_t lines = n > 0 ? (size_t)n / (sizeof REQUEST - 1) : 0;
	for (size_t i = 0; i < lines; i++)
		memcpy(out + i * (sizeof ANSWER - 1), ANSWER, sizeof ANSWER - 1);
	if (n <= 0 || write(fd, out, lines * (sizeof ANSWER - 1)) < 0)
		close(fd);
}

static void serve_bare(int listen_fd)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev[CONNS], one = {.events = EPOLLIN, .data.fd = listen_fd};
	epoll_ctl(epoll, EPOLL_CTL_ADD, listen_fd, &one);
	for (;;) {
		int n = epoll_wait(epoll, ev, CONNS, -1);
		for (int i = 0; i < n; i++) {
			if (ev[i].data.fd != listen_fd) {
				bare_answer(ev[i].data.fd);
				continue;
			}
			int yes = 1;
			one.data.fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
			(void)setsockopt(one.data.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
			epoll_ctl(epoll, EPOLL_CTL_ADD, one.data.fd, &one);
		}
	}
}

/* The clients: one process, one epoll. */

struct job {
	struct sockaddr_in to;
	pid_t server;
	int fd[CONNS], epoll;
	long lines; /* in all */
	int depth;
};

static void connect_all(struct job *job)
{
	job->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CONNS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
		if (fd < 0 || connect(fd, (struct sockaddr *)&job->to, sizeof job->to) < 0)
			fail("connect");
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		struct epoll_event ev = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
		if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
			fail("epoll");
		job->fd[i] = fd;
	}
}

static void ask(int fd, int lines)
{
	static char text[DEPTH * sizeof REQUEST];
	size_t n = sizeof REQUEST - 1;
	for (int i = 0; i < lines; i++)
		memcpy(text + (size_t)i * n, REQUEST, n);
	if (write(fd, text, (size_t)lines * n) != (ssize_t)((size_t)lines * n))
		fail("write");
}

/* All answers of a connection's batch, then its next batch. */
static void converse(struct job *job)
{
	static size_t due[CONNS];
	static char got[65536];
	long asked = 0;
	for (int i = 0; i < CONNS; i++, asked += job->depth) {
		due[i] = (size_t)job->depth * (sizeof ANSWER - 1);
		ask(job->fd[i], job->depth);
	}
	for (int open = CONNS; open > 0;) {
		struct epoll_event ev[CONNS];
		int n = epoll_wait(job->epoll, ev, CONNS, 10000);
		if (n <= 0)
			fail("no answer");
		for (int i = 0; i < n; i++) {
			uint32_t at = ev[i].data.u32;
			ssize_t rc = read(job->fd[at], got, sizeof got);
			if (rc <= 0 || (size_t)rc > due[at] || got[rc - 1] == 'e')
				fail("answer");
			due[at] -= (size_t)rc;
			if (due[at])
				continue;
			if (asked < job->lines) {
				due[at] = (size_t)job->depth * (sizeof ANSWER - 1);
				asked += job->depth;
				ask(job->fd[at], job->depth);
			} else {
				open--;
			}
		}
	}
}

static double cpu_of(pid_t pid)
{
	clockid_t id;
	if (clock_getcpuclockid(pid, &id) != 0)
		fail("clock");
	return bench_clock_s(id);
}

static struct bench_time measure(struct job *job)
{
	double wall[REPEATS], cpu[REPEATS];
	for (int i = -1; i < REPEATS; i++) {
		double w = bench_wall_s(), c = cpu_of(job->server);
		converse(job);
		if (i >= 0) {
			cpu[i] = cpu_of(job->server) - c;
			wall[i] = bench_wall_s() - w;
		}
	}
	return bench_summary(wall, cpu, REPEATS);
}

static void start(struct job *job, void (*serve)(int fd))
{
	struct err err;
	int fd;
	socklen_t n = sizeof job->to;
	if (listen_open("127.0.0.1:0", &fd, &err) < 0)
		fail(err.msg);
	if (getsockname(fd, (struct sockaddr *)&job->to, &n) < 0)
		fail("name");
	if ((job->server = fork()) == 0) {
		serve(fd);
		_exit(0);
	}
	close(fd);
	connect_all(job);
}

static void stop(struct job *job)
{
	for (int i = 0; i < CONNS; i++)
		close(job->fd[i]);
	close(job->epoll);
	kill(job->server, SIGKILL);
	waitpid(job->server, NULL, 0);
}

static void both(struct bench *b, struct job *job, void (*serve)(int), const char *one,
		 const char *many, double ret_cpu[2])
{
	start(job, serve);
	job->depth = 1;
	job->lines = 100000L * b->scale;
	struct bench_time t = measure(job);
	bench_row(b, one, "lines", (double)job->lines, t);
	ret_cpu[0] = (double)job->lines / t.cpu_s;
	job->depth = DEPTH;
	job->lines = 400000L * b->scale;
	t = measure(job);
	bench_row(b, many, "lines", (double)job->lines, t);
	ret_cpu[1] = (double)job->lines / t.cpu_s;
	stop(job);
}

int main(void)
{
	static struct job job;
	double ours[2], rival[2], bare[2];
	struct bench b = bench_begin("lines");
	both(&b, &job, serve_ours, "garner_1_in_flight", "garner_16_in_flight", ours);
	both(&b, &job, serve_rival, "bufferevent_1_in_flight", "bufferevent_16_in_flight", rival);
	both(&b, &job, serve_bare, "bare_1_in_flight", "bare_16_in_flight", bare);
	bench_figure(&b, "echo_per_cpu_s", ours[0], "lines/cpu-s");
	bench_figure(&b, "echo_16_per_cpu_s", ours[1], "lines/cpu-s");
	bench_ratio(&b, "echo_vs_bufferevent", ours[0] / rival[0]);
	bench_ratio(&b, "echo_16_vs_bufferevent", ours[1] / rival[1]);
	bench_ratio(&b, "echo_vs_bare", ours[0] / bare[0]);
	return bench_end(&b);
}
