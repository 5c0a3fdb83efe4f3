/* A reap over a plan that was written by hand, and a server for its page. */
#pragma once
#include "base/clock.h"
#include "bucket/bucket_attrs.h"
#include "extract/cage.h"
#include "shepherd/code.h"
#include "shepherd/reap.h"
#include "unit/shepherd/crawl_lab.h"

#include <arpa/inet.h>
#include <limits.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TWICE = 256 }; /* with the flags of the plan's entry: there are two of it */

struct bench {
	struct lab lab;
	struct loop *loop;
	struct reap *reap;
	struct buckets *buckets;
	struct arena arena;
	struct crawl_conf conf;
	struct robot_section_conf robot;
	struct cage_options parse;
	char program[PATH_MAX + 32];
	struct footprint fp;
	unsigned flags; /* of the plan's entry */
	/* Set between begin_at() and a run; the plan is then written anew. */
	unsigned item_flags, hops;
	qkey key;
	uint64_t oid, robots; /* buckets of the page and of robots.txt */
	const char *rules;    /* of the filter */
	const char *ask;      /* a URL that somebody asks for; NULL: nobody does */
	int64_t cycle_us;
};

static inline void find_program(struct bench *b)
{
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
	assert_true(n > 0);
	here[n] = 0;
	*strrchr(here, '/') = 0;
	snprintf(b->program, sizeof b->program, "%s/../garner-parse", here);
}

static inline struct footprint fp_of(const char *text)
{
	char room[URL_MAX];
	struct url url;
	assert_int_equal(0, url_parse(str_of(text), NULL, room, sizeof room, &url));
	return footprint_of(&url);
}

/* A plan with one page, whose URL is in this bucket; robots.txt is ahead of it where it is not
 * known. */
static inline void plan_one(struct bench *b, uint64_t where)
{
	struct err err = {0};
	struct counted_writer w;
	const struct plan_entry entry = {
		.fp = b->fp,
		.where = where,
		.priority = 1,
		.flags = (uint8_t)b->flags,
		.item_flags = (uint8_t)b->item_flags,
		.hops = (uint8_t)b->hops,
	};
	const struct plan_entry robots = {.fp = {b->fp.site, footprint_path(STR("/robots.txt"))},
					  .where = ITEM_NOWHERE,
					  .priority = UINT32_MAX,
					  .flags = PLAN_ROBOTS};
	const struct plan_entry entries[] = {robots, entry, entry};
	bool fresh = b->robots != ITEM_NOWHERE;
	const struct plan_site site = {.fp = b->fp.site,
				       .qkey = b->key,
				       .robots_where = b->robots,
				       .entry = entries + fresh,
				       .n = (b->flags & TWICE ? 3u : 2u) - fresh};
	MUST(plan_create(&w, state_path(b->lab.st, &b->arena, "plan"), &err));
	MUST(plan_put(&w, &site, &err));
	MUST(counted_finish(&w, &err));
}

/* What is asked for is there when the reap begins, once. */
static inline int asked_for(void *ctx, requests_fn *fn, void *fn_ctx, struct err *err)
{
	struct bench *b = ctx;
	const char *url = b->ask;
	b->ask = NULL;
	return url ? fn(fn_ctx, str_of(url), err) : 0;
}

static inline void open_reap(struct bench *b, const char *name)
{
	struct err err = {0};
	const struct reap_options o = {.loop = b->loop,
				       .data = scratch(name),
				       .parse = &b->parse,
				       .robot = &b->robot,
				       .conf = &b->conf,
				       .requests = asked_for,
				       .ctx = b};
	MUST(reap_new(&b->reap, &o, &err));
}

/* A crawl whose bucket file has just this bucket. */
static inline void begin_at(struct bench *b, const char *name, uint32_t type, struct str data,
			    const char *url, struct value_list networks, unsigned flags)
{
	char crawl[64];
	struct err err = {0};
	uint32_t oid;
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	*b = (struct bench){.arena = ARENA_INIT(1 << 20),
			    .conf = lab_conf(),
			    .fp = fp_of(url),
			    .flags = flags,
			    .robots = ITEM_NOWHERE,
			    .rules = ""};
	b->conf.parsers = 1;
	b->conf.max_resolvers = 2;
	b->parse = cage_defaults;
	find_program(b);
	b->parse.program = b->program;
	value_defaults(robot_section.specs, robot_section.nspecs, &b->arena, &b->robot);
	b->robot.robot.networks = networks;
	b->robot.robot.delay_us = networks.n ? 0 : b->robot.robot.delay_us;
	snprintf(crawl, sizeof crawl, "%s/shepherd", name);
	struct index_item item = {.fp = b->fp,
				  .type = flags & PLAN_REFRESH ? ITEM_GATHERED : ITEM_NEW};
	lab_make(&b->lab, crawl, &item, 1, NULL, 0);
	char *objects = states_path(b->lab.s, &b->arena, "objects");
	MUST(bucket_open(&b->buckets, objects, &options, &err));
	MUST(bucket_append(b->buckets, type, data, &oid, &err));
	MUST(bucket_sync(b->buckets, NULL, &err));
	MUST(bucket_close(&b->buckets, &err));
	MUST(bucket_open(&b->buckets, objects, &options, &err)); /* so that it is read from disk */
	MUST(loop_new(&b->loop, NULL, &err));
	open_reap(b, name);
	b->oid = oid;
	lab_enter(&b->lab, false, PHASE_PLAN);
	plan_one(b, oid);
	MUST(state_enter(b->lab.st, PHASE_REAP, NULL, PLAY_START, &err));
}

static inline void end(struct bench *b)
{
	reap_free(&b->reap);
	bucket_drop(&b->buckets);
	lab_free(&b->lab);
	loop_free(&b->loop);
	arena_free(&b->arena);
}

static inline int reap_all(struct bench *b, struct err *err)
{
	struct crawl c = lab_crawl(&b->conf);
	const struct filter_defaults all = {.follow_all = true};
	struct filter *filter = NULL;
	struct reaped reaped;
	assert_int_equal(0, filter_parse(str_of(b->rules), "filter", &all, &filter, err));
	c.filter = filter;
	c.delay_us = b->robot.robot.delay_us;
	c.buckets = b->buckets;
	c.cycle_us = b->cycle_us ? b->cycle_us : c.cycle_us;
	int rc = reap_run(b->reap, b->lab.st, &c, &reaped, err);
	filter_free(&filter);
	return rc;
}

enum entry_kind { OF_PAGE, OF_ROBOTS, OF_KEY };

/* The journal's only entry of this kind. false: it has none. */
static inline bool told_of(struct bench *b, enum entry_kind kind, struct journal_entry *ret)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	bool some = false;
	int rc = state_read(b->lab.st, "journal", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		struct journal_entry e;
		MUST(journal_read(record.payload, &e, &err));
		if (kind != (e.type == ITEM_QKEY     ? OF_KEY
			     : e.flags & ITEM_ROBOTS ? OF_ROBOTS
						     : OF_PAGE))
			continue;
		assert_false(some);
		some = true;
		*ret = e;
		ret->url = arena_str(&b->arena, e.url);
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	return some;
}

static inline bool told(struct bench *b, struct journal_entry *ret)
{
	return told_of(b, OF_PAGE, ret);
}

/* A server for one page, without robots.txt: answers until it is stopped. */
#define PAGE "<html><title>Page</title><p>What it says.</html>"
struct served {
	int fd;
	char url[64], asked[4096]; /* the last request */
	struct str answer;         /* in place of the page; empty: the page */
	struct str robots;         /* whole answers to /robots.txt and /elsewhere; empty: 404 */
	struct str elsewhere;
	const char *ring;              /* where /ring/N leads to, for each N; NULL: nothing does */
	_Atomic unsigned pages, files; /* asked for: the page, anything else */
	_Atomic bool slow;             /* the page waits until this is not set */
	bool leaves;                   /* with the first answer nobody is there any more */
	_Atomic bool refused;          /* an answer was not taken */
	pthread_t thread;
};

static inline void *serve(void *arg)
{
	struct served *s = arg;
	int fd;
	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		char request[4096], answer[512];
		ssize_t n = read(fd, request, sizeof request - 1);
		request[MAX(n, 0)] = '\0';
		bool page = strncmp(request, "GET /page ", 10) == 0;
		memcpy(s->asked, request, sizeof s->asked);
		int length = snprintf(answer, sizeof answer,
				      "HTTP/1.1 %s\r\nContent-Type: text/html\r\n"
				      "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
				      page ? "200 OK" : "404 Not Found", page ? strlen(PAGE) : 0,
				      page ? PAGE : "");
		struct str out =
			page && s->answer.n ? s->answer : (struct str){answer, (size_t)length};
		if (s->robots.n && strncmp(request, "GET /robots.txt ", 16) == 0)
			out = s->robots;
		if (s->elsewhere.n && strncmp(request, "GET /elsewhere ", 15) == 0)
			out = s->elsewhere;
		if (s->ring && strncmp(request, "GET /ring/", 10) == 0) {
			out.n = (size_t)snprintf(answer, sizeof answer,
						 "HTTP/1.1 302 Found\r\nLocation: /ring/%c\r\n"
						 "Content-Length: 0\r\nConnection: close\r\n\r\n",
						 s->ring[request[10] - '0']);
			out.p = answer;
		}
		if (page)
			s->pages++;
		else
			s->files++;
		while (page && s->slow)
			usleep(1000);
		if (s->leaves)
			shutdown(s->fd, SHUT_RDWR);
		if (n > 0 && send(fd, out.p, out.n, MSG_NOSIGNAL) != (ssize_t)out.n)
			s->refused = true;
		close(fd);
	}
	return NULL;
}

static inline void serve_begin(struct served *s)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(0, bind(s->fd, (struct sockaddr *)&at, sizeof at));
	assert_int_equal(0, listen(s->fd, 8));
	assert_int_equal(0, getsockname(s->fd, (struct sockaddr *)&at, &n));
	snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/page", ntohs(at.sin_port));
	assert_int_equal(0, pthread_create(&s->thread, NULL, serve, s));
}

static inline void serve_end(struct served *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	assert_false(s->refused);
}

static const char *const loopback[] = {"127.0.0.0/8"};
#define LOOPBACK ((struct value_list){.item = loopback, .n = 1})
/* A page that is new, on a server that is there. */
static inline void begin_served(struct bench *b, const char *name, struct served *served)
{
	char thin[80];
	serve_begin(served);
	snprintf(thin, sizeof thin, "U%s\n", served->url);
	begin_at(b, name, BUCKET_PLAIN, str_of(thin), served->url, LOOPBACK, 0);
}

/* The number of contributions, and the last of them. */
static inline size_t contributions(struct bench *b, struct contrib *ret)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	size_t n = 0;
	int rc = state_read(b->lab.st, "contrib", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		n++;
		MUST(contrib_read(record.payload, ret, &err));
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	return n;
}

/* The only one. false: there is none. */
static inline bool contributed(struct bench *b, struct contrib *ret)
{
	size_t n = contributions(b, ret);
	assert_true(n <= 1);
	return n == 1;
}
