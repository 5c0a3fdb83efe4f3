/* Reap over plans that were written by hand. Mostly nothing is asked of a network: loopback may not
 * be connected to, and that is what becomes of a URL which got as far as the robot. */
#include "shepherd/reap.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "bucket/bucket_attrs.h"
#include "extract/cage.h"
#include "shepherd/code.h"
#include "state/source_crawl.h"
#include "unit/shepherd/crawl_lab.h"

#include <arpa/inet.h>
#include <limits.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define URL "http://127.0.0.1:9/old"
enum { NOT_ALLOWED = CODE_ADDRESS };
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

static void find_program(struct bench *b)
{
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
	assert_true(n > 0);
	here[n] = 0;
	*strrchr(here, '/') = 0;
	snprintf(b->program, sizeof b->program, "%s/../garner-parse", here);
}

static struct footprint fp_of(const char *text)
{
	char room[URL_MAX];
	struct url url;
	assert_int_equal(0, url_parse(str_of(text), NULL, room, sizeof room, &url));
	return footprint_of(&url);
}

/* A plan with one page, whose URL is in this bucket; robots.txt is ahead of it where it is not
 * known. */
static void plan_one(struct bench *b, uint64_t where)
{
	struct err err = {0};
	struct plan_writer *w = NULL;
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
	MUST(plan_put(w, &site, &err));
	MUST(plan_finish(&w, &err));
}

/* What is asked for is there when the reap begins, once. */
static int asked_for(void *ctx, requests_fn *fn, void *fn_ctx, struct err *err)
{
	struct bench *b = ctx;
	const char *url = b->ask;
	b->ask = NULL;
	return url ? fn(fn_ctx, str_of(url), err) : 0;
}

static void open_reap(struct bench *b, const char *name)
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
static void begin_at(struct bench *b, const char *name, uint32_t type, struct str data,
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

static void begin(struct bench *b, const char *name, uint32_t type, struct str data)
{
	begin_at(b, name, type, data, URL, (struct value_list){0}, 0);
}

static void end(struct bench *b)
{
	reap_free(&b->reap);
	bucket_drop(&b->buckets);
	lab_free(&b->lab);
	loop_free(&b->loop);
	arena_free(&b->arena);
}

static int reap_all(struct bench *b, struct err *err)
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
static bool told_of(struct bench *b, enum entry_kind kind, struct journal_entry *ret)
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

static bool told(struct bench *b, struct journal_entry *ret)
{
	return told_of(b, OF_PAGE, ret);
}

static void a_bucket_of_the_oldest_version_has_its_url_in_the_body(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "oldest", BUCKET_PLAIN, STR("U" URL "\nTtext/html\nXold\n"));
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_str(e.url, URL);
	assert_int_equal(NOT_ALLOWED, e.code); /* it was asked for */
	end(&b);
}

static void the_next_version_has_it_in_the_header(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "v30", BUCKET_V30, STR("U" URL "\n\nTtext/html\nUhttp://other.example/\n"));
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_str(e.url, URL);
	assert_int_equal(NOT_ALLOWED, e.code);
	end(&b);
}

static void a_bucket_that_will_not_get_better_is_not_tried_again(void **state)
{
	(void)state;
	static const struct {
		uint32_t type;
		struct str data;
	} cases[] = {
		{BUCKET_PLAIN, {"Ttext/html\n", 11}},              /* no URL at all */
		{BUCKET_PLAIN, {"Unot a URL\n", 11}},              /* none that can be asked for */
		{BUCKET_V33, {"\x7f", 1}},                         /* cut off */
		{BUCKET_V33_ZSTD, {"\0\0\0\0\1\0\0\0\0xyz", 12}}}; /* neither header nor body */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bench b;
		char name[32];
		struct err err = {0};
		struct journal_entry e;
		snprintf(name, sizeof name, "bad%zu", i);
		begin(&b, name, cases[i].type, cases[i].data);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(ITEM_ZOMBIE, e.type);
		end(&b);
	}
}

/* Recovery names it and leaves it to the next cycle. */
static void a_damaged_plan_ends_the_reap_and_the_cycle_goes_on(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "plan", BUCKET_PLAIN, STR("U" URL "\n"));
	char *plan = state_path(b.lab.st, &b.arena, "plan");
	assert_int_equal(0, truncate(plan, 60)); /* in the first site */
	assert_true(format_verify(&plan_format, plan, &err) < 0);
	MUST(reap_all(&b, &err));
	assert_false(told(&b, &e));
	MUST(state_enter(b.lab.st, PHASE_CORK, b.buckets, PLAY_START, &err));
	end(&b);
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

static void *serve(void *arg)
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

static void serve_begin(struct served *s)
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

static void serve_end(struct served *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	assert_false(s->refused);
}

/* What the source tells of the only page. */
static void followed_md5(struct bench *b, const char *folder, char ret[33])
{
	struct err err = {0};
	struct source *s = NULL;
	struct source_change change;
	const struct source_cursor beginning = {0};
	const struct source_crawl store = {.folder = folder};
	MUST(source_crawl_ops.open(&s, &store, &beginning, &err));
	MUST(source_next(s, &b->arena, &change, &err));
	assert_int_equal(SOURCE_UPDATE, change.op);
	snprintf(ret, 33, STR_FMT, STR_ARG(soif_get(&change.obj, STR("MD5"))));
	assert_int_equal(1, source_next(s, &b->arena, &change, &err));
	source_close(&s);
}

/* By it the source knows the bucket that an entry means, and those who follow get it. */
static void the_journal_has_the_md5_of_the_document(void **state)
{
	(void)state;
	struct served served = {0};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	unsigned char sum[16];
	const char *networks[] = {"127.0.0.0/8"};
	serve_begin(&served);
	char thin[80];
	snprintf(thin, sizeof thin, "U%s\n", served.url);
	begin_at(&b, "md5", BUCKET_PLAIN, str_of(thin), served.url,
		 (struct value_list){.item = networks, .n = 1}, 0);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(ITEM_GATHERED, e.type);
	md5(STR(PAGE), sum);
	assert_memory_equal(sum, e.md5, sizeof sum);
	char followed[33], expected[33];
	followed_md5(&b, scratch("md5/shepherd"), followed);
	hex_print(sum, sizeof sum, expected);
	assert_string_equal(expected, followed);
	end(&b);
	serve_end(&served);
}

/* A page that was gathered before, with this in the header of its bucket. */
static struct journal_entry refresh(const char *name, struct served *served, const char *header)
{
	struct bench b;
	struct err err = {0};
	struct journal_entry e = {0};
	const char *networks[] = {"127.0.0.0/8"};
	char known[256];
	serve_begin(served);
	snprintf(known, sizeof known, "U%s\n%s\nXold\n", served->url, header);
	begin_at(&b, name, BUCKET_V30, str_of(known), served->url,
		 (struct value_list){.item = networks, .n = 1}, PLAN_REFRESH);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	end(&b);
	serve_end(served);
	return e;
}

static void a_validator_that_cannot_be_sent_is_not(void **state)
{
	(void)state;
	static const char *const headers[] = {"e\"a\rb\"\n", "lMon, 16 Nov\r 2026\n",
					      "e\"a\x7f\"\n"};
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		struct served served = {0};
		char name[32];
		snprintf(name, sizeof name, "validator%zu", i);
		struct journal_entry e = refresh(name, &served, headers[i]);
		assert_int_equal(CODE_OK, e.code);
		assert_int_equal(ITEM_GATHERED, e.type);
		assert_int_equal(CHANGE_UPDATE, e.op);
		assert_null(strstr(served.asked, "If-"));
	}
}

/* Half of gzip that decodes to the beginning of a page. */
static void a_body_that_is_cut_leaves_the_page_as_it_was(void **state)
{
	(void)state;
	static const char cut[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
				  "Content-Encoding: gzip\r\nContent-Length: 30\r\n"
				  "Connection: close\r\n\r\n"
				  "\x1f\x8b\x08\0\0\0\0\0\0\x03\0\x1a\0\xe5\xff"
				  "<html><p>What i";
	struct served served = {.answer = {cut, sizeof cut - 1}};
	struct journal_entry e = refresh("cut", &served, "");
	assert_int_equal(CODE_BROKEN, e.code);
	assert_int_equal(ITEM_TEMPORARY, e.type);
	assert_int_equal(CHANGE_NONE, e.op);
	assert_true(e.due_s > 0);
}

/* As when it is in the plan and somebody asks for it, too. */
static void a_delete_is_told_once(void **state)
{
	(void)state;
	static const char gone[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
				   "Connection: close\r\n\r\n";
	struct served served = {.answer = {gone, sizeof gone - 1}};
	struct bench b;
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e;
	unsigned entries = 0, deletes = 0;
	const char *networks[] = {"127.0.0.0/8"};
	char known[256];
	serve_begin(&served);
	snprintf(known, sizeof known, "U%s\n\nXold\n", served.url);
	begin_at(&b, "once", BUCKET_V30, str_of(known), served.url,
		 (struct value_list){.item = networks, .n = 1}, PLAN_REFRESH | TWICE);
	MUST(reap_all(&b, &err));
	MUST(state_read(b.lab.st, "journal", &in, &err));
	while (record_next(in, &record, &err) == 0) {
		MUST(journal_read(record.payload, &e, &err));
		if (e.flags & ITEM_ROBOTS)
			continue;
		assert_int_equal(2404, e.code);
		entries++;
		deletes += e.op == CHANGE_DELETE;
	}
	record_reader_free(&in);
	assert_int_equal(2, entries);
	assert_int_equal(1, deletes);
	end(&b);
	serve_end(&served);
}

static const char *const loopback[] = {"127.0.0.0/8"};
#define LOOPBACK ((struct value_list){.item = loopback, .n = 1})
#define FILE_OK(text) \
	STR("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" text)
#define FORBIDS "User-agent: *\nDisallow: /page\n"

/* A page that is new, on a server that is there. */
static void begin_served(struct bench *b, const char *name, struct served *served)
{
	char thin[80];
	serve_begin(served);
	snprintf(thin, sizeof thin, "U%s\n", served->url);
	begin_at(b, name, BUCKET_PLAIN, str_of(thin), served->url, LOOPBACK, 0);
}

/* The text of robots.txt in the bucket that its entry names. */
static void assert_kept(struct bench *b, const struct journal_entry *e, const char *text)
{
	struct attrs header, body;
	struct footprint fp;
	uint64_t came_s;
	struct err err = {0};
	MUST(bucket_get(b->buckets, NULL, (uint32_t)e->where, &b->arena, &header, &body, &err));
	assert_true(footprint_parse(attrs_get(&header, 'O'), &fp));
	assert_int_equal(0, footprint_cmp(fp, e->fp));
	assert_true(str_eq(attrs_get(&header, 'U'), e->url));
	assert_true(str_u64(attrs_get(&header, 'D'), &came_s));
	int64_t ago_s = e->time_us / US_PER_S - (int64_t)came_s;
	assert_true(ago_s > -60 && ago_s < 60); /* the clock may be set */
	assert_true(str_eq(attrs_get(&header, 'J'), attrs_get(&header, 'D')));
	assert_str(attrs_get(&body, 'X'), text);
}

static void what_robots_txt_forbids_is_not_asked_for(void **state)
{
	(void)state;
	struct served served = {.robots = FILE_OK(FORBIDS)};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "forbids", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_ROBOTS, e.code);
	assert_int_equal(0, e.download_ms);
	assert_int_equal(0, served.pages);
	assert_int_equal(1, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_true(e.download_ms > 0); /* a part of a millisecond is one */
	assert_int_equal(ITEM_GATHERED, e.type);
	assert_int_equal(CHANGE_NONE, e.op);
	assert_int_equal(b.fp.site, e.fp.site);
	assert_kept(&b, &e, FORBIDS);
	end(&b);
	serve_end(&served);
}

/* The plan's entry for robots.txt is a job of its own: it needs no page that gets as far. */
static void the_file_is_asked_for_though_no_page_is(void **state)
{
	(void)state;
	struct served served = {.robots = FILE_OK(FORBIDS)};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "ahead", &served);
	b.rules = "host 127.0.0.1: reject\n";
	MUST(reap_all(&b, &err));
	assert_int_equal(0, served.pages);
	assert_int_equal(1, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_kept(&b, &e, FORBIDS);
	assert_true(told(&b, &e));
	assert_int_equal(CODE_REJECTED, e.code);
	MUST(reap_all(&b, &err)); /* the journal has both */
	assert_int_equal(1, served.files);
	end(&b);
	serve_end(&served);
}

static void the_file_may_lie_elsewhere(void **state)
{
	(void)state;
	struct served served = {.robots = STR("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
					      "Content-Length: 0\r\nConnection: close\r\n\r\n"),
				.elsewhere = FILE_OK(FORBIDS)};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "elsewhere", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_ROBOTS, e.code);
	assert_int_equal(2, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_kept(&b, &e, FORBIDS);
	end(&b);
	serve_end(&served);
}

static void a_circle_of_redirects_is_no_file(void **state)
{
	(void)state;
	static const char circle[] = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
				     "Content-Length: 0\r\nConnection: close\r\n\r\n";
	struct served served = {.robots = {circle, sizeof circle - 1},
				.elsewhere = {circle, sizeof circle - 1}};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "circle", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(6, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_int_equal(ITEM_ERROR, e.type);
	assert_int_equal(CODE_NOWHERE, e.code);
	end(&b);
	serve_end(&served);
}

/* Also where the status is one that a page would be too large for. */
static void a_file_that_is_refused_forbids_nothing(void **state)
{
	(void)state;
	static const char *const status[] = {"403", "404", "413", "431"};
	for (size_t i = 0; i < ARRAY_LEN(status); i++) {
		char answer[128];
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		int n = snprintf(answer, sizeof answer,
				 "HTTP/1.1 %s No\r\nContent-Length: 0\r\n"
				 "Connection: close\r\n\r\n",
				 status[i]);
		served.robots = (struct str){answer, (size_t)n};
		begin_served(&b, status[i], &served);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(CODE_OK, e.code);
		assert_true(told_of(&b, OF_ROBOTS, &e));
		assert_int_equal(ITEM_ERROR, e.type);
		end(&b);
		serve_end(&served);
	}
}

/* Nothing is known of what it forbids. */
static void a_site_that_cannot_give_its_file_is_off(void **state)
{
	(void)state;
	struct served served = {.robots = STR("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n"
					      "Connection: close\r\n\r\n")};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "unreachable", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(1503, e.code);
	assert_int_equal(ITEM_TEMPORARY, e.type);
	assert_int_equal(0, served.pages);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_int_equal(ITEM_TEMPORARY, e.type);
	assert_int_equal(ITEM_NOWHERE, e.where);
	end(&b);
	serve_end(&served);
}

/* As after the loss of run/robots: nobody is asked. */
static void the_bucket_of_the_file_is_as_good_as_the_cache(void **state)
{
	(void)state;
	struct served served = {0};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	struct attrs header = {0}, body = {0};
	char digits[FOOTPRINT_TEXT];
	uint32_t oid;
	begin_served(&b, "bucket", &served);
	struct footprint fp = {b.fp.site, footprint_path(STR("/robots.txt"))};
	attrs_add(&header, &b.arena, 'O', str_of(footprint_print(fp, digits)));
	attrs_add(&header, &b.arena, 'D',
		  str_of(arena_printf(&b.arena, "%lld", (long long)(clock_wall_us() / US_PER_S))));
	attrs_add(&body, &b.arena, 'X', STR(FORBIDS));
	MUST(bucket_put(b.buckets, NULL, &header, &body, &oid, &err));
	MUST(bucket_sync(b.buckets, NULL, &err));
	b.robots = oid;
	plan_one(&b, b.oid);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_ROBOTS, e.code);
	assert_int_equal(0, served.pages + served.files);
	assert_false(told_of(&b, OF_ROBOTS, &e));
	end(&b);
	serve_end(&served);
}

static void a_key_is_told_when_it_is_new(void **state)
{
	(void)state;
	const struct qkey_addr address = {.b = {127, 0, 0, 1}};
	struct journal_entry e;
	for (int known = 0; known < 2; known++) {
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		begin_served(&b, known ? "key-known" : "key-new", &served);
		b.key = known ? qkey_of(&address, 0) : 0;
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_int_equal(!known, told_of(&b, OF_KEY, &e));
		if (!known) {
			assert_int_equal(0, e.fp.path);
			assert_int_equal(CODE_RESOLVED, e.code);
			assert_int_equal(qkey_of(&address, 0), e.qkey);
		}
		assert_true(told(&b, &e));
		assert_int_equal(CODE_OK, e.code);
		end(&b);
		serve_end(&served);
	}
}

/* A page of a site that has moved may be another, whatever its validators say. */
static void what_has_moved_is_fetched_without_validators(void **state)
{
	(void)state;
	const struct qkey_addr before = {.b = {127, 0, 0, 2}}, now = {.b = {127, 0, 0, 1}};
	for (int moved = 0; moved < 2; moved++) {
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		char known[256];
		serve_begin(&served);
		snprintf(known, sizeof known, "U%s\ne\"tag\"\n\nXold\n", served.url);
		begin_at(&b, moved ? "moved" : "stayed", BUCKET_V30, str_of(known), served.url,
			 LOOPBACK, PLAN_REFRESH);
		b.key = qkey_of(moved ? &before : &now, 0);
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(CODE_OK, e.code);
		assert_int_equal(!moved, strstr(served.asked, "If-None-Match") != NULL);
		end(&b);
		serve_end(&served);
	}
}

/* How many pages the journal says could not be connected to; it says nothing else of pages. */
static int unconnected(struct bench *b)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e;
	int pages = 0;
	MUST(state_read(b->lab.st, "journal", &in, &err));
	while (record_next(in, &record, &err) == 0) {
		MUST(journal_read(record.payload, &e, &err));
		if (e.flags & ITEM_ROBOTS)
			continue;
		assert_int_equal(CODE_CONNECTION, e.code);
		assert_int_equal(ITEM_TEMPORARY, e.type);
		pages++;
	}
	record_reader_free(&in);
	return pages;
}

/* Two pages; the second waits for longer than the run lasts, or not at all. */
static void a_server_that_cannot_be_connected_to_is_left_alone(void **state)
{
	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		struct served served = {.leaves = true};
		struct bench b;
		struct err err = {0};
		begin_served(&b, waits ? "alone" : "again", &served);
		b.flags = TWICE;
		b.conf.conn_err_delay_us = waits ? US_PER_H : 0;
		b.cycle_us = waits ? US_PER_S : 0;
		plan_one(&b, b.oid);
		do /* a run may end before it gets to a page */
			MUST(reap_all(&b, &err));
		while (unconnected(&b) == 0);
		assert_int_equal(waits ? 1 : 2, unconnected(&b));
		end(&b);
		serve_end(&served);
	}
}

#define NO_SITE_URL "http://none.invalid/"

static void a_name_that_is_none_is_asked_for_once(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		begin_at(&b, known ? "no-site" : "no-name", BUCKET_PLAIN, STR("U" NO_SITE_URL "\n"),
			 NO_SITE_URL, LOOPBACK, 0);
		b.key = known ? qkey_special(QKEY_NONEXISTENT, 1, 0) : 0;
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_int_equal(!known, told_of(&b, OF_KEY, &e));
		if (!known)
			assert_int_equal(QKEY_NONEXISTENT, qkey_kind(e.qkey));
		assert_true(told(&b, &e));
		assert_int_equal(known ? CODE_NO_SITE : CODE_NO_HOST, e.code);
		end(&b);
	}
}

/* The key is known before there is anyone who could ask the server. */
static void names_are_looked_up_though_no_reaper_has_room(void **state)
{
	static const char *const away[] = {"unix:/nonexistent/reapd"};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	(void)state;
	begin_at(&b, "names-ahead", BUCKET_PLAIN, STR("Uhttp://localhost:9/\n"),
		 "http://localhost:9/", LOOPBACK, 0);
	reap_free(&b.reap);
	b.conf.reapers = (struct value_list){away, 1};
	b.conf.local = CRAWL_LOCAL_NEVER;
	b.cycle_us = US_PER_S / 20;
	open_reap(&b, "names-ahead");
	for (int i = 0; i < 200 && !told_of(&b, OF_KEY, &e); i++)
		MUST(reap_all(&b, &err));
	assert_false(told(&b, &e));
	assert_true(told_of(&b, OF_KEY, &e));
	assert_int_equal(QKEY_RESOLVED, qkey_kind(e.qkey));
	end(&b);
}

/* What is under way when a run ends is judged by the next one, and not asked for again. */
static void a_slow_page_is_judged_by_the_next_run(void **state)
{
	(void)state;
	struct served served = {.slow = true};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "slow", &served);
	b.cycle_us = 300 * US_PER_MS;
	while (!served.pages) {
		MUST(reap_all(&b, &err));
		assert_false(told(&b, &e));
	}
	MUST(reap_all(&b, &err)); /* still not */
	assert_false(told(&b, &e));
	served.slow = false;
	b.cycle_us = 0;
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(1, served.pages);
	end(&b);
	serve_end(&served);
}

/* The same, answered before the next one begins. */
static void an_answer_between_two_runs_is_kept(void **state)
{
	(void)state;
	struct served served = {.slow = true};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "between", &served);
	b.cycle_us = 300 * US_PER_MS;
	while (!served.pages)
		MUST(reap_all(&b, &err));
	served.slow = false;
	for (int i = 0; i < 300; i++) { /* long enough, and if not it is judged all the same */
		loop_poll(b.loop);
		usleep(1000);
	}
	b.cycle_us = 0;
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(1, served.pages);
	end(&b);
	serve_end(&served);
}

static void the_type_of_an_answer_says_its_section_or_that_nobody_wants_it(void **state)
{
	(void)state;
	static const struct {
		const char *name, *rules;
		uint16_t code;
		bool has_section;
	} cases[] = {
		{"other", "section b 1\nsection a 1\ntype text/html: section=a\n", CODE_OK, true},
		{"reject", "type text/html: reject\n", CODE_REJECTED, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		begin_served(&b, cases[i].name, &served);
		b.rules = cases[i].rules;
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(cases[i].code, e.code);
		assert_int_equal(cases[i].has_section, e.has_section);
		end(&b);
		serve_end(&served);
	}
}

/* The number of contributions, and the last of them. */
static size_t contributions(struct bench *b, struct contrib *ret)
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
static bool contributed(struct bench *b, struct contrib *ret)
{
	size_t n = contributions(b, ret);
	assert_true(n <= 1);
	return n == 1;
}

static void a_sitemap_that_the_file_names_tells_of_its_own_site(void **state)
{
	(void)state;
	struct served served = {0};
	struct bench b;
	struct err err = {0};
	struct contrib c;
	char robots[512], sitemap[1024], listed[80];
	begin_served(&b, "sitemap", &served);
	int site = (int)(strlen(served.url) - strlen("/page"));
	snprintf(listed, sizeof listed, "%.*s/listed", site, served.url);
	int n = snprintf(robots, sizeof robots,
			 "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nSitemap: %.*s/elsewhere\n",
			 site, served.url);
	served.robots = (struct str){robots, (size_t)n};
	n = snprintf(sitemap, sizeof sitemap,
		     "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n"
		     "<?xml version=\"1.0\"?>\n"
		     "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
		     "<url><loc>%s</loc><lastmod>2026-11-01</lastmod></url>"
		     "<url><loc>http://other.example/</loc></url></urlset>",
		     listed);
	served.elsewhere = (struct str){sitemap, (size_t)n};
	MUST(reap_all(&b, &err));
	assert_true(contributed(&b, &c));
	assert_int_equal(0, footprint_cmp(c.fp, fp_of(listed)));
	assert_int_equal(1793491200, c.changed_s);
	assert_int_equal(2, served.files);
	end(&b);
	serve_end(&served);
}

/* Pages of a site are asked for before its sitemaps, and link to most of what these list. */
static void a_change_counts_though_a_page_leads_there_too(void **state)
{
	(void)state;
	struct served served = {.answer =
					STR("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
					    "Connection: close\r\n\r\n<a href=/listed>listed</a>")};
	struct bench b;
	struct err err = {0};
	struct contrib c;
	char robots[512], sitemap[1024];
	begin_served(&b, "sitemap-later", &served);
	int site = (int)(strlen(served.url) - strlen("/page"));
	int n = snprintf(robots, sizeof robots,
			 "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nSitemap: %.*s/elsewhere\n",
			 site, served.url);
	served.robots = (struct str){robots, (size_t)n};
	n = snprintf(sitemap, sizeof sitemap,
		     "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n"
		     "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
		     "<url><loc>%.*s/listed</loc><lastmod>2026-11-01</lastmod></url></urlset>",
		     site, served.url);
	served.elsewhere = (struct str){sitemap, (size_t)n};
	b.ask = served.url; /* so that the page goes first */
	MUST(reap_all(&b, &err));
	assert_int_equal(3, contributions(&b, &c)); /* with what was asked for */
	assert_int_equal(1793491200, c.changed_s);
	assert_int_equal(2, served.files); /* robots.txt and the sitemap, once */
	assert_int_equal(2, served.pages);
	end(&b);
	serve_end(&served);
}

static void what_is_given_by_hand_leads_on_by_hand_inside_its_domain(void **state)
{
	(void)state;
	static const struct {
		const char *name, *to;
		unsigned item_flags, hops;
		bool no_target, leads, by_hand;
	} cases[] = {
		{"hand", "/next", ITEM_INITIAL, 3, false, true, true},
		{"far", "/next", ITEM_INITIAL, 10, false, true, false},
		{"link", "/next", 0, 0, false, true, false},
		{"abroad", "http://other.example/", ITEM_INITIAL, 0, false, true, false},
		{"itself", "/page", ITEM_INITIAL, 0, true, false, false},
		{"nowhere", "mailto:x@example.org", 0, 0, true, false, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char answer[256];
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		struct contrib c;
		int n = snprintf(answer, sizeof answer,
				 "HTTP/1.1 301 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n"
				 "Connection: close\r\n\r\n",
				 cases[i].to);
		served.answer = (struct str){answer, (size_t)n};
		begin_served(&b, cases[i].name, &served);
		b.item_flags = cases[i].item_flags;
		b.hops = cases[i].hops;
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(cases[i].no_target, e.no_target);
		assert_int_equal(cases[i].no_target ? CODE_NOWHERE : CODE_REDIRECT, e.code);
		assert_int_equal(cases[i].leads, contributed(&b, &c));
		if (cases[i].leads) {
			assert_int_equal(cases[i].by_hand ? ITEM_INITIAL : 0, c.flags);
			assert_int_equal(cases[i].by_hand ? cases[i].hops + 1 : 0, c.hops);
		}
		end(&b);
		serve_end(&served);
	}
}

/* The code of the page's last try. */
static uint16_t last_code(struct bench *b)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e = {.code = UINT16_MAX};
	uint16_t code = UINT16_MAX;
	int rc = state_read(b->lab.st, "journal", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		MUST(journal_read(record.payload, &e, &err));
		code = footprint_cmp(e.fp, b->fp) == 0 ? e.code : code;
	}
	record_reader_free(&in);
	return code;
}

/* Each leads to the next, and the last one back to the first; or it does not. */
static void redirects_in_a_circle_lead_nowhere(void **state)
{
	(void)state;
	static const struct {
		const char *name, *ring;
		uint16_t last;
	} cases[] = {
		{"circle-3", "120", CODE_NOWHERE},
		{"chain-3", "123", CODE_REDIRECT},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct served served = {.ring = cases[i].ring};
		struct bench b;
		struct err err = {0};
		begin_served(&b, cases[i].name, &served);
		int site = (int)(strlen(served.url) - strlen("/page"));
		for (int n = 0; n < 3; n++) {
			char url[80], bucket[96];
			uint32_t oid;
			snprintf(url, sizeof url, "%.*s/ring/%d", site, served.url, n);
			snprintf(bucket, sizeof bucket, "U%s\n", url);
			MUST(bucket_append(b.buckets, BUCKET_PLAIN, str_of(bucket), &oid, &err));
			MUST(bucket_sync(b.buckets, NULL, &err));
			b.fp = fp_of(url);
			plan_one(&b, oid);
			MUST(reap_all(&b, &err));
			assert_int_equal(n < 2 ? CODE_REDIRECT : cases[i].last, last_code(&b));
		}
		end(&b);
		serve_end(&served);
	}
}

#ifdef GARNER_FAULTS
/* A disk that fails now is no reason to bury a URL: the reap ends and says why, and the next one
 * goes on. */
static void a_bucket_that_cannot_be_read_now_ends_the_reap_and_not_the_url(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "disk", BUCKET_PLAIN, STR("U" URL "\n"));
	MUST(fault_arm("file.read/objects=eio@1+", &err));
	assert_int_equal(-1, reap_all(&b, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	assert_non_null(strstr(err.msg, "objects"));
	assert_true(fault_fired() > 0);
	MUST(fault_arm("", &err));
	assert_false(told(&b, &e));
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(NOT_ALLOWED, e.code);
	end(&b);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_of_the_oldest_version_has_its_url_in_the_body),
		cmocka_unit_test(the_next_version_has_it_in_the_header),
		cmocka_unit_test(a_bucket_that_will_not_get_better_is_not_tried_again),
		cmocka_unit_test(the_journal_has_the_md5_of_the_document),
		cmocka_unit_test(a_validator_that_cannot_be_sent_is_not),
		cmocka_unit_test(a_body_that_is_cut_leaves_the_page_as_it_was),
		cmocka_unit_test(a_delete_is_told_once),
		cmocka_unit_test(a_damaged_plan_ends_the_reap_and_the_cycle_goes_on),
		cmocka_unit_test(what_robots_txt_forbids_is_not_asked_for),
		cmocka_unit_test(the_file_is_asked_for_though_no_page_is),
		cmocka_unit_test(the_file_may_lie_elsewhere),
		cmocka_unit_test(a_circle_of_redirects_is_no_file),
		cmocka_unit_test(a_file_that_is_refused_forbids_nothing),
		cmocka_unit_test(a_site_that_cannot_give_its_file_is_off),
		cmocka_unit_test(the_bucket_of_the_file_is_as_good_as_the_cache),
		cmocka_unit_test(a_key_is_told_when_it_is_new),
		cmocka_unit_test(what_has_moved_is_fetched_without_validators),
		cmocka_unit_test(a_server_that_cannot_be_connected_to_is_left_alone),
		cmocka_unit_test(a_name_that_is_none_is_asked_for_once),
		cmocka_unit_test(names_are_looked_up_though_no_reaper_has_room),
		cmocka_unit_test(a_slow_page_is_judged_by_the_next_run),
		cmocka_unit_test(an_answer_between_two_runs_is_kept),
		cmocka_unit_test(the_type_of_an_answer_says_its_section_or_that_nobody_wants_it),
		cmocka_unit_test(a_sitemap_that_the_file_names_tells_of_its_own_site),
		cmocka_unit_test(a_change_counts_though_a_page_leads_there_too),
		cmocka_unit_test(redirects_in_a_circle_lead_nowhere),
		cmocka_unit_test(what_is_given_by_hand_leads_on_by_hand_inside_its_domain),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_bucket_that_cannot_be_read_now_ends_the_reap_and_not_the_url),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
