/* The robot against small servers in threads of this program, for what no command can be told to
 * do: contracts, and limits that are kept apart from libcurl. */
#include "fetch/robot.h"
#include "../scratch.h"
#include "../unit.h"
#include "fetch/robot/robot_inner.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define NONE "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n"

/* A server: answers by path, one connection at a time, and remembers what was asked. */
struct page {
	const char *path, *answer; /* NULL: it leads to /x of the other server */
};
struct server {
	int fd;
	char url[64], asked[1024];
	unsigned accepted;
	atomic_uint requests;
	const struct page *pages;
	const char *other;
	pthread_t thread;
};

static bool answer(struct server *s, int fd)
{
	char request[4096], path[256] = "";
	ssize_t n = read(fd, request, sizeof request - 1);
	if (n <= 0)
		return false;
	request[n] = 0;
	(void)!sscanf(request, "GET %255s", path);
	size_t at = strlen(s->asked);
	snprintf(s->asked + at, sizeof s->asked - at, "%s ", path);
	s->requests++;
	const struct page *p = s->pages;
	while (p->path && strcmp(p->path, path) != 0)
		p++;
	if (p->answer || !p->path)
		dprintf(fd, "%s", p->path ? p->answer : NONE);
	else
		dprintf(fd, "HTTP/1.1 302 Found\r\nLocation: %s/x\r\nContent-Length: 0\r\n\r\n",
			s->other);
	return true;
}

static void *serve(void *ctx)
{
	struct server *s = ctx;
	int fd;
	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		s->accepted++;
		while (answer(s, fd))
			continue;
		close(fd);
	}
	return NULL;
}

static void server_start(struct server *s, const char *address, const struct page *pages,
			 const char *other)
{
	struct addr a = {0};
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t n = sizeof in;
	assert_true(addr_parse(str_of(address), &a));
	memcpy(&in.sin_addr, a.b, 4);
	*s = (struct server){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
			     .pages = pages,
			     .other = other};
	assert_int_equal(bind(s->fd, (struct sockaddr *)&in, n), 0);
	assert_int_equal(listen(s->fd, 16), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&in, &n), 0);
	snprintf(s->url, sizeof s->url, "http://%s:%u", address, ntohs(in.sin_port));
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

/* One fetch, and what it ended in. */
struct seen {
	struct loop *loop;
	enum outcome outcome;
	enum robot_cause cause;
	int64_t delay_us, not_now_us, sent_us;
	int status;
	bool reused;
};

static void seen(void *ctx, const struct robot_result *r)
{
	struct seen *s = ctx;
	s->outcome = r->outcome;
	s->cause = r->cause;
	s->delay_us = r->delay_us;
	s->not_now_us = r->not_now_us;
	s->sent_us = r->sent_us;
	s->status = r->head->status;
	s->reused = r->reused;
	loop_stop(s->loop);
}

struct robot_lab {
	struct arena arena;
	struct robot_parts parts;
	struct policy *policy;
	struct robot *robot;
};

static void lab_open(struct robot_lab *lab, const char *table, int64_t delay_us)
{
	static const char *const networks[] = {"127.0.0.0/8"};
	struct robot_section_conf conf;
	struct err err = {0};
	*lab = (struct robot_lab){.arena = ARENA_INIT((size_t)1 << 20)};
	value_defaults(robot_section.specs, robot_section.nspecs, &lab->arena, &conf);
	conf.robot.networks = (struct value_list){networks, 1};
	conf.dns.servers = (struct value_list){(const char *const[]){"127.0.0.1:9"}, 1};
	conf.robot.delay_us = delay_us;
	assert_int_equal(loop_new(&lab->parts.loop, NULL, &err), 0);
	assert_int_equal(policy_new(&lab->policy, &conf.robot.networks, &err), 0);
	lab->parts.policy = lab->policy;
	assert_int_equal(dns_new(&lab->parts.dns, lab->parts.loop, &conf.dns, lab->policy, &err),
			 0);
	assert_int_equal(polite_open(&lab->parts.polite, table, NULL, &err), 0);
	struct robots_cache_options cache = {.agent = STR("garner")};
	assert_int_equal(robots_cache_new(&lab->parts.robots, &cache, &err), 0);
	assert_int_equal(robot_new(&lab->robot, &lab->parts, &conf.robot, &err), 0);
}

static void lab_close(struct robot_lab *lab)
{
	struct err err = {0};
	robot_free(&lab->robot);
	polite_close(&lab->parts.polite);
	assert_int_equal(robots_cache_free(&lab->parts.robots, &err), 0);
	dns_free(&lab->parts.dns);
	policy_free(&lab->policy);
	loop_free(&lab->parts.loop);
	arena_free(&lab->arena);
}

static struct seen lab_fetch(struct robot_lab *lab, const struct robot_job *job)
{
	struct seen s = {.loop = lab->parts.loop};
	struct err err = {0};
	assert_int_equal(robot_fetch(lab->robot, job, seen, &s, &err), 0);
	assert_int_equal(loop_run(lab->parts.loop, &err), 0);
	return s;
}

static struct seen fetch(const char *table, const struct robot_job *job, int64_t delay_us)
{
	struct robot_lab lab;
	lab_open(&lab, table, delay_us);
	struct seen s = lab_fetch(&lab, job);
	lab_close(&lab);
	return s;
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
#define FORBID                                                               \
	"HTTP/1.1 200 OK\r\nContent-Length: 26\r\nConnection: close\r\n\r\n" \
	"User-agent: *\nDisallow: /\n"

static void a_contract_with_one_site_does_not_hold_for_another(void **state)
{
	static const struct page there[] = {{"/robots.txt", FORBID}, {"/x", OK}, {0}};
	static const struct page here[] = {
		{"/robots.txt", FORBID},
		{"/own", "HTTP/1.1 302 Found\r\nLocation: /page\r\nContent-Length: 0\r\n\r\n"},
		{"/page", OK},
		{"/away", NULL},
		{0}};
	static const struct polite_rule rule = {.delay_us = 1000, .concurrent = 1};
	struct server a, b;
	char url[96];
	(void)state;
	server_start(&b, "127.0.0.3", there, "");
	server_start(&a, "127.0.0.2", here, b.url);
	snprintf(url, sizeof url, "%s/own", a.url);
	struct robot_job job = {
		.url = str_of(url), .rule = &rule, .flags = ROBOT_NO_ROBOTS | ROBOT_WAIT};
	struct seen s = fetch(scratch("contract"), &job, 2000);
	assert_int_equal(s.outcome, OUTCOME_OK); /* on the site itself it holds */
	assert_int_equal(s.delay_us, 1000);
	snprintf(url, sizeof url, "%s/away", a.url);
	job.url = str_of(url);
	s = fetch(scratch("contract"), &job, 2000);
	server_stop(&a);
	server_stop(&b);
	assert_string_equal(a.asked, "/own /page /away ");
	assert_string_equal(b.asked, "/robots.txt ");
	assert_string_equal(outcome_name(s.outcome), outcome_name(OUTCOME_ROBOTS));
	assert_int_equal(s.delay_us, 2000);
}

/* The server has said when it wants to be asked again: a job that waits here gives up on it. */
static void nobody_waits_longer_than_his_patience(void **state)
{
	static const struct page pages[] = {
		{"/busy", "HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"},
		{"/x", OK},
		{0}};
	struct server a;
	char url[96];
	(void)state;
	server_start(&a, "127.0.0.4", pages, "");
	snprintf(url, sizeof url, "%s/busy", a.url);
	struct robot_job job = {
		.url = str_of(url), .patience_us = 60 * US_PER_S, .flags = ROBOT_WAIT};
	assert_int_equal(fetch(scratch("patience"), &job, 0).status, 503);
	snprintf(url, sizeof url, "%s/x", a.url);
	job.url = str_of(url);
	for (int i = 0; i < 2; i++) { /* its robots.txt is not to be had either */
		struct seen s = fetch(scratch("patience"), &job, 0);
		assert_string_equal(robot_cause_name(s.cause), "not-now");
		assert_in_range(s.not_now_us, 3590 * US_PER_S, 3600 * US_PER_S);
		job.flags |= ROBOT_NO_ROBOTS;
	}
	server_stop(&a);
	assert_string_equal(a.asked, "/robots.txt /busy ");
}

/* DNS cannot be asked here: what is fetched goes to the address of the job. */
static void a_job_with_an_address_goes_there_and_nowhere_else(void **state)
{
	static const struct page there[] = {{"/x", OK}, {0}};
	static const struct page here[] = {{"/page", OK}, {"/away", NULL}, {0}};
	struct server a, b;
	struct addr address, refused;
	char url[96];
	(void)state;
	server_start(&b, "127.0.0.6", there, "");
	server_start(&a, "127.0.0.5", here, b.url);
	assert_true(addr_parse(STR("127.0.0.5"), &address));
	assert_true(addr_parse(STR("192.168.0.1"), &refused));
	const char *port = strrchr(a.url, ':');
	snprintf(url, sizeof url, "http://a.example%s/page", port);
	struct robot_job job = {.url = str_of(url), .address = &address, .flags = ROBOT_WAIT};
	int64_t before = clock_mono_us();
	struct seen s = fetch(scratch("address"), &job, 1000);
	assert_int_equal(s.outcome, OUTCOME_OK);
	assert_in_range(s.sent_us, before, clock_mono_us());
	job.address = &refused;
	s = fetch(scratch("address"), &job, 1000);
	assert_string_equal(outcome_name(s.outcome), "address");
	assert_int_equal(s.sent_us, 0);
	job.address = &address; /* the site that it leads to has one of its own */
	snprintf(url, sizeof url, "http://a.example%s/away", port);
	s = fetch(scratch("address"), &job, 1000);
	assert_int_equal(s.outcome, OUTCOME_OK);
	server_stop(&a);
	server_stop(&b);
	assert_string_equal(a.asked, "/robots.txt /page /robots.txt /away ");
	assert_string_equal(b.asked, "/robots.txt /x ");
}

/* From http to https, say: the name is the same, and so is the address. */
static void an_address_holds_for_its_host_at_any_port(void **state)
{
	static const struct page there[] = {{"/x", OK}, {0}};
	static const struct page here[] = {{"/hop", NULL}, {0}};
	struct server a, b;
	struct addr address;
	char url[96], other[96];
	(void)state;
	server_start(&b, "127.0.0.5", there, "");
	snprintf(other, sizeof other, "http://a.example%s", strrchr(b.url, ':'));
	server_start(&a, "127.0.0.5", here, other);
	assert_true(addr_parse(STR("127.0.0.5"), &address));
	snprintf(url, sizeof url, "http://a.example%s/hop", strrchr(a.url, ':'));
	struct robot_job job = {.url = str_of(url), .address = &address, .flags = ROBOT_WAIT};
	assert_int_equal(fetch(scratch("ports"), &job, 1000).outcome, OUTCOME_OK);
	server_stop(&a);
	server_stop(&b);
	assert_string_equal(a.asked, "/robots.txt /hop ");
	assert_string_equal(b.asked, "/robots.txt /x ");
}

static void never_called(void *ctx, const struct robot_result *r)
{
	(void)ctx, (void)r;
	fail_msg("a cancelled job was answered");
}

/* One that was sent, one that waits for politeness, one that has not begun. */
static void a_cancelled_job_is_never_heard_of_again(void **state)
{
	static const struct page pages[] = {{"/x", OK}, {"/hang", ""}, {0}};
	struct robot_lab lab;
	struct server a, b;
	struct robot_handle handle[3] = {0};
	struct err err = {0};
	char url[96], hang[96];
	(void)state;
	server_start(&a, "127.0.0.7", pages, "");
	server_start(&b, "127.0.0.8", pages, "");
	snprintf(hang, sizeof hang, "%s/hang", a.url);
	snprintf(url, sizeof url, "%s/x", b.url);
	struct robot_job job = {.url = str_of(hang), .flags = ROBOT_WAIT | ROBOT_NO_ROBOTS};
	lab_open(&lab, scratch("cancel"), 1000);
	for (int i = 0; i < 3; i++) {
		if (i == 2) /* the other two have begun by now */
			while (!a.requests)
				loop_poll(lab.parts.loop);
		job.handle = &handle[i];
		assert_int_equal(robot_fetch(lab.robot, &job, never_called, NULL, &err), 0);
	}
	assert_int_equal(robot_stats(lab.robot)->under_way, 1);
	for (int i = 0; i < 3; i++) {
		assert_non_null(handle[i].job);
		robot_cancel(&handle[i]);
		assert_null(handle[i].job);
		robot_cancel(&handle[i]);
	}
	assert_int_equal(robot_stats(lab.robot)->under_way, 0);
	job.url = str_of(url);
	assert_int_equal(lab_fetch(&lab, &job).outcome, OUTCOME_OK);
	assert_null(handle[2].job);
	/* its lease was given back */
	snprintf(url, sizeof url, "%s/x", a.url);
	assert_int_equal(lab_fetch(&lab, &job).outcome, OUTCOME_OK);
	lab_close(&lab);
	server_stop(&a);
	server_stop(&b);
	assert_string_equal(a.asked, "/hang /x ");
}

/* Over a connection that is there already, and over a new one. */
static void nothing_is_sent_when_the_time_is_over(void **state)
{
	static const struct page pages[] = {{"/x", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"},
					    {0}};
	struct robot_lab lab;
	struct server a;
	char url[96];
	(void)state;
	server_start(&a, "127.0.0.7", pages, "");
	snprintf(url, sizeof url, "%s/x", a.url);
	struct robot_job job = {.url = str_of(url),
				.flags = ROBOT_WAIT | ROBOT_KEEP | ROBOT_NO_ROBOTS};
	lab_open(&lab, scratch("until"), 1000);
	robot_until(lab.robot, clock_mono_us() + US_PER_H);
	for (int i = 0; i < 2; i++) {
		struct seen s = lab_fetch(&lab, &job);
		assert_int_equal(s.outcome, OUTCOME_OK);
		assert_int_equal(s.reused, i == 1);
	}
	robot_until(lab.robot, clock_mono_us() - 1);
	for (int i = 0; i < 2; i++) {
		struct seen s = lab_fetch(&lab, &job);
		assert_string_equal(outcome_name(s.outcome), "cancelled");
		assert_string_equal(robot_cause_name(s.cause), "lease");
		assert_int_equal(s.sent_us, 0);
	}
	assert_int_equal(robot_stats(lab.robot)->connections, 1);
	robot_until(lab.robot, INT64_MAX);
	assert_int_equal(lab_fetch(&lab, &job).outcome, OUTCOME_OK);
	lab_close(&lab);
	server_stop(&a);
	assert_string_equal(a.asked, "/x /x /x ");
	assert_int_equal(a.accepted, 2);
}

/* A server that does not speak TLS, and says so when it is too late for the robot. */
struct late {
	struct robot *robot;
	struct loop_timer timer;
	int fd, accepted;
};

static void late_look(void *ctx)
{
	struct late *l = ctx;
	l->accepted = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
	if (l->accepted < 0)
		return;
	loop_timer_stop(&l->timer);
	robot_until(l->robot, clock_mono_us() - 1);
	assert_int_equal(write(l->accepted, "x", 1), 1);
}

static void tls_does_not_go_on_when_the_time_is_over(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000009)};
	socklen_t n = sizeof in;
	struct robot_lab lab;
	char url[96];
	(void)state;
	lab_open(&lab, scratch("late"), 1000);
	struct late l = {.robot = lab.robot,
			 .timer = {.fn = late_look, .ctx = &l},
			 .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			 .accepted = -1};
	assert_int_equal(bind(l.fd, (struct sockaddr *)&in, n), 0);
	assert_int_equal(listen(l.fd, 1), 0);
	assert_int_equal(getsockname(l.fd, (struct sockaddr *)&in, &n), 0);
	snprintf(url, sizeof url, "https://127.0.0.9:%u/", ntohs(in.sin_port));
	loop_timer_every(lab.parts.loop, &l.timer, 5 * US_PER_MS);
	struct seen s =
		lab_fetch(&lab, &(struct robot_job){.url = str_of(url), .flags = ROBOT_NO_ROBOTS});
	assert_string_equal(robot_cause_name(s.cause), "lease");
	assert_string_equal(outcome_name(s.outcome), "cancelled");
	assert_int_equal(s.sent_us, 0);
	lab_close(&lab);
	close(l.accepted);
	close(l.fd);
}

static void a_longer_crawl_delay_holds_unless_the_rule_is_exempt(void **state)
{
	static const struct page pages[] = {{"/robots.txt",
					     "HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n"
					     "User-agent: *\nCrawl-delay: 7\n"},
					    {"/x", OK},
					    {0}};
	static const struct {
		struct polite_rule rule;
		unsigned flags;
		int64_t want_us;
	} cases[] = {
		{{.delay_us = 0}, 0, 7 * US_PER_S},
		{{.delay_us = 2000}, 0, 7 * US_PER_S},
		{{.delay_us = 9 * US_PER_S}, 0, 9 * US_PER_S},
		{{.delay_us = 0, .exempt = true}, 0, 0},
		{{.delay_us = 2000, .exempt = true}, 0, 2000},
		{{.delay_us = 0}, ROBOT_NO_ROBOTS, 0},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct server a;
		char url[96], table[32];
		server_start(&a, "127.0.0.8", pages, "");
		snprintf(url, sizeof url, "%s/x", a.url);
		snprintf(table, sizeof table, "crawl-delay%zu", i);
		/* after its robots.txt the site is to be left alone for a while: it is not asked */
		struct robot_job job = {
			.url = str_of(url), .rule = &cases[i].rule, .flags = cases[i].flags};
		struct seen s = fetch(scratch(table), &job, 3 * US_PER_S);
		server_stop(&a);
		assert_int_equal(s.delay_us, cases[i].want_us);
	}
}

static void bytes_that_nobody_can_count_are_not_too_many(void **state)
{
	int pair[2];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_false(robot_wire_is_over(pair[0], 1000, 100));
	assert_false(robot_wire_is_over(-1, 1, 0));
	close(pair[0]);
	close(pair[1]);
}

#define HTML                                                            \
	"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" \
	"Content-Length: 1\r\nConnection: close\r\n\r\nx"
#define EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static void another_type_is_not_taken(void **state)
{
	(void)state;
	static const struct page pages[] = {{"/html", HTML}, {"/empty", EMPTY}, {0}};
	struct server s;
	char url[96];
	server_start(&s, "127.0.0.1", pages, NULL);
	static const struct {
		const char *path, *mime;
		enum outcome outcome;
		enum robot_cause cause;
	} cases[] = {
		{"/html", "text/html", OUTCOME_OK, ROBOT_CAUSE_ANSWER},
		{"/html", "Text/HTML", OUTCOME_OK, ROBOT_CAUSE_ANSWER},
		{"/html", "text/html ; charset=utf-8", OUTCOME_OK, ROBOT_CAUSE_ANSWER},
		{"/html", "text/plain;charset=utf-8", OUTCOME_LIMIT, ROBOT_CAUSE_MIME},
		{"/html", "", OUTCOME_OK, ROBOT_CAUSE_ANSWER},
		{"/html", "text/plain", OUTCOME_LIMIT, ROBOT_CAUSE_MIME},
		{"/empty", "text/html", OUTCOME_LIMIT, ROBOT_CAUSE_MIME},
		{"/none", "text/html", OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(url, sizeof url, "%s%s", s.url, cases[i].path);
		struct buf body = BUF_INIT(100);
		struct robot_memory_sink sink = robot_memory_sink(&body, false);
		for (int with = 0; with < 2; with++) {
			struct robot_job job = {.url = str_of(url),
						.mime = str_of(cases[i].mime),
						.sink = with ? &sink.sink : NULL,
						.flags = ROBOT_WAIT | ROBOT_NO_ROBOTS};
			struct seen got = fetch(scratch("mime"), &job, 0);
			assert_int_equal(got.outcome, cases[i].outcome);
			assert_int_equal(got.cause, cases[i].cause);
		}
		assert_int_equal(body.n, cases[i].outcome == OUTCOME_OK);
		buf_free(&body);
	}
	server_stop(&s);
}

static void a_redirect_stays_within(void **state)
{
	(void)state;
	static const struct page pages[] = {
		{"/a/out", NULL},
		{"/a/up", "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"},
		{"/a/in", "HTTP/1.1 302 Found\r\nLocation: /a/x\r\nContent-Length: 0\r\n\r\n"},
		{"/a/odd",
		 "HTTP/1.1 302 Found\r\nLocation: /a/..%2fb\r\nContent-Length: 0\r\n\r\n"},
		{"/a/..%2fb", OK},
		{"/a/x", OK},
		{"/b", OK},
		{"/x", OK},
		{0}};
	struct server s, other;
	char url[96], within[96];
	server_start(&other, "127.0.0.2", pages, NULL);
	server_start(&s, "127.0.0.1", pages, other.url);
	static const struct {
		const char *path, *within;
		enum outcome outcome;
	} cases[] = {{"/a/out", "/a/", OUTCOME_LIMIT}, {"/a/up", "/a/", OUTCOME_LIMIT},
		     {"/a/in", "/a/", OUTCOME_OK},     {"/a/up", "", OUTCOME_OK},
		     {"/a/odd", "/a/", OUTCOME_LIMIT}, {"/a/odd", NULL, OUTCOME_OK},
		     {"/a/out", "", OUTCOME_LIMIT},    {"/a/out", NULL, OUTCOME_OK}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(url, sizeof url, "%s%s", s.url, cases[i].path);
		snprintf(within, sizeof within, "%s%s", s.url,
			 cases[i].within ? cases[i].within : "");
		struct robot_job job = {.url = str_of(url),
					.within = cases[i].within ? str_of(within) : STR(""),
					.flags = ROBOT_WAIT | ROBOT_NO_ROBOTS};
		struct seen got = fetch(scratch("within"), &job, 0);
		assert_int_equal(got.outcome, cases[i].outcome);
		if (got.outcome == OUTCOME_LIMIT)
			assert_int_equal(got.cause, ROBOT_CAUSE_WITHIN);
	}
	server_stop(&s);
	server_stop(&other);
	assert_string_equal(other.asked, "/robots.txt /x "); /* once, where nothing forbade it */
	struct robot_lab lab;
	struct err err;
	lab_open(&lab, scratch("within"), 0);
	struct robot_job job = {.url = STR("http://127.0.0.1/"), .within = STR("nothing")};
	assert_int_equal(robot_fetch(lab.robot, &job, seen, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "within"));
	lab_close(&lab);
}

static void stop_soon(void *ctx)
{
	loop_stop(ctx);
}

/* One waits for its answer, one for politeness, one has just been asked for; the fourth is not
 * cancelled, and gets its turn. */
static void who_is_cancelled_hears_nothing(void **state)
{
	(void)state;
	static const struct page pages[] = {{"/x", OK}, {0}};
	struct server s;
	struct robot_lab lab;
	struct err err = {0};
	char url[96];
	int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(0x7f000003)}};
	socklen_t n = sizeof in;
	assert_int_equal(bind(silent, (struct sockaddr *)&in, n), 0);
	assert_int_equal(listen(silent, 16), 0);
	assert_int_equal(getsockname(silent, (struct sockaddr *)&in, &n), 0);
	server_start(&s, "127.0.0.1", pages, NULL);
	lab_open(&lab, scratch("cancel"), 0);
	lab.robot->conf.at_once = 1;
	struct buf body = BUF_INIT(100);
	struct robot_memory_sink sink = robot_memory_sink(&body, false);
	struct robot_handle handle[3] = {0};
	struct seen never = {.loop = lab.parts.loop, .outcome = OUTCOME_COUNT};
	snprintf(url, sizeof url, "http://127.0.0.3:%u/", ntohs(in.sin_port));
	struct robot_job job = {
		.url = str_of(url), .sink = &sink.sink, .flags = ROBOT_WAIT | ROBOT_NO_ROBOTS};
	job.handle = &handle[0];
	assert_int_equal(robot_fetch(lab.robot, &job, seen, &never, &err), 0);
	job.handle = &handle[1];
	assert_int_equal(robot_fetch(lab.robot, &job, seen, &never, &err), 0);
	struct loop_timer timer = {.fn = stop_soon, .ctx = lab.parts.loop};
	loop_timer_in(lab.parts.loop, &timer, 50 * US_PER_MS);
	assert_int_equal(loop_run(lab.parts.loop, &err), 0);
	job.handle = &handle[2];
	assert_int_equal(robot_fetch(lab.robot, &job, seen, &never, &err), 0);
	assert_int_equal(robot_stats(lab.robot)->under_way, 1);
	char good[96];
	snprintf(good, sizeof good, "%s/x", s.url);
	struct seen fourth = {.loop = lab.parts.loop, .outcome = OUTCOME_COUNT};
	job = (struct robot_job){.url = str_of(good), .flags = ROBOT_WAIT | ROBOT_NO_ROBOTS};
	assert_int_equal(robot_fetch(lab.robot, &job, seen, &fourth, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(handle); i++)
		robot_cancel(&handle[i]);
	assert_int_equal(robot_stats(lab.robot)->under_way, 0);
	assert_int_equal(loop_run(lab.parts.loop, &err), 0);
	assert_int_equal(fourth.outcome, OUTCOME_OK);
	assert_int_equal(never.outcome, OUTCOME_COUNT);
	lab_close(&lab);
	server_stop(&s);
	buf_free(&body);
	close(silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_contract_with_one_site_does_not_hold_for_another),
		cmocka_unit_test(nobody_waits_longer_than_his_patience),
		cmocka_unit_test(a_job_with_an_address_goes_there_and_nowhere_else),
		cmocka_unit_test(an_address_holds_for_its_host_at_any_port),
		cmocka_unit_test(a_cancelled_job_is_never_heard_of_again),
		cmocka_unit_test(nothing_is_sent_when_the_time_is_over),
		cmocka_unit_test(tls_does_not_go_on_when_the_time_is_over),
		cmocka_unit_test(a_longer_crawl_delay_holds_unless_the_rule_is_exempt),
		cmocka_unit_test(bytes_that_nobody_can_count_are_not_too_many),
		cmocka_unit_test(another_type_is_not_taken),
		cmocka_unit_test(a_redirect_stays_within),
		cmocka_unit_test(who_is_cancelled_hears_nothing),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
