/* Lending: whose a server is, and until when: over cancelled jobs, results, new HELLOs and new
 * processes. The clients are sockets of the test, and time is its own. */
#include "shepherd/lent_inner.h"

#include "extract/cage.h"
#include "role/counters.h"
#include "shepherd/reap/reaper_local.h"
#include "unit/shepherd/reapd_lab.h"

#define LEND_US (900 * US_PER_S)

struct lab {
	struct world w;
	struct kit kit;
	struct robot_section_conf robot;
	struct cage_options parse;
	struct arena arena;
	struct reaper *local, *lent;
	struct counters *counters;
	char data[300], path[400];
	uint64_t id;
};

static void lab_held(void *ctx, struct reaper *r, qkey key)
{
	struct world *w = ctx;
	buf_printf(&w->story, r->ops->holds(r, key) ? "held " : "free ");
}

static void lab_failed(void *ctx, struct reaper *r, const struct err *err)
{
	struct world *w = ctx;
	(void)r;
	assert_non_null(strstr(err->msg, "run/lent"));
	buf_add_text(&w->story, "failed ");
}

/* A process of the crawl begins; fd 0: without a socket. */
static int lab_open(struct lab *b, bool listens, struct err *err)
{
	const struct reaper_lent_options options = {
		.loop = b->w.loop,
		.data = b->data,
		.fd = listens ? b->w.listen_fd : 0,
		.address = b->w.address,
		.polite = b->w.polite,
		.holds_lease = true,
		.lend_us = LEND_US,
		.penalty_us = PENALTY_US,
		.body_max = 1 << 20,
		.local = b->local,
		.host = &b->w.host,
		.counters = b->counters,
		.counters_at = 1,
		.said = story_said,
		.ctx = &b->w,
	};
	return reaper_lent_new(&b->lent, &options, err);
}

static void lab_close(struct lab *b)
{
	b->lent->ops->free(&b->lent);
	settle(&b->w);
}

/* The parser of these tests is this program, and never done: what is read stays so. */
static void parser_run(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void lab_make(struct lab *b)
{
	static const struct counter_def defs[] = {{"first", NULL, COUNTER_TOTAL, "None of ours."},
						  LENT_COUNTER_DEFS};
	static unsigned number;
	struct err err = {0};
	char name[32], run[330], counters[400];
	*b = (struct lab){.arena = ARENA_INIT(1 << 20)};
	world_make(&b->w, true, NULL);
	b->w.host.held = lab_held;
	b->w.host.failed = lab_failed;
	snprintf(name, sizeof name, "lent%u", ++number);
	snprintf(b->data, sizeof b->data, "%s", scratch(name));
	snprintf(run, sizeof run, "%s/run", b->data);
	snprintf(counters, sizeof counters, "%s/counters", run);
	snprintf(b->path, sizeof b->path, "%s/lent", run);
	MUST(dir_make(run, DIR_MODE, &err));
	MUST(counters_create(&b->counters, counters, "shepherd", defs, ARRAY_LEN(defs), 0, &err));
	value_defaults(robot_section.specs, robot_section.nspecs, &b->arena, &b->robot);
	b->parse = cage_defaults;
	b->parse.program = "/proc/self/exe";
	MUST(kit_open(&b->kit, b->w.loop, b->data, &b->robot, &err));
	const struct reaper_local_options local = {.kit = &b->kit,
						   .robot = &b->robot,
						   .parse = &b->parse,
						   .parsers = 1,
						   .host = &b->w.host};
	MUST(reaper_local_new(&b->local, &local, &err));
	MUST(listen_open(b->w.address, &b->w.listen_fd, &err));
	MUST(lab_open(b, true, &err));
}

static void lab_free(struct lab *b)
{
	struct err err = {0};
	if (b->lent)
		lab_close(b);
	b->local->ops->free(&b->local);
	MUST(kit_close(&b->kit, &err));
	counters_close(&b->counters);
	world_free(&b->w);
	arena_free(&b->arena);
}

/* Jobs: pages of a server. */

static struct reaper_job page_of(unsigned server, unsigned page, char text[64])
{
	char room[URL_MAX];
	struct url url;
	struct reaper_job job = job_of(server, text);
	snprintf(text, 64, "http://s%u.test/%u", server, page);
	job.url = str_of(text);
	assert_int_equal(0, url_parse(job.url, NULL, room, sizeof room, &url));
	job.fp = footprint_of(&url);
	return job;
}

/* Returns its ID. */
static uint64_t give(struct lab *b, unsigned server, unsigned page)
{
	struct err err = {0};
	char text[64];
	struct reaper_job job = page_of(server, page, text);
	job.id = ++b->id;
	MUST(b->lent->ops->submit(b->lent, &job, NULL, &err));
	settle(&b->w);
	return job.id;
}

static const char *doc_of(unsigned server, unsigned page, char ret[FOOTPRINT_TEXT])
{
	char text[64];
	return footprint_print(page_of(server, page, text).fp, ret);
}

static bool is_held(struct lab *b, unsigned server)
{
	char text[64];
	struct reaper_job job = page_of(server, 0, text);
	return b->lent->ops->holds(b->lent, kit_qkey(&job.addr));
}

/* Whether somebody else on this machine may ask the server. */
static bool may_be_asked(struct lab *b, unsigned server)
{
	return server_rests_us(&b->w, server) == 0;
}

static int64_t unknown(struct lab *b, enum lent_counter which)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view view;
	struct err err = {0};
	char path[340];
	snprintf(path, sizeof path, "%s/run/counters", b->data);
	MUST(counters_read(path, &arena, &view, &err));
	return view.value[1 + which].value;
}

/* How many URLs are out by the file. */
static size_t noted(struct lab *b)
{
	struct record_reader *in = NULL;
	struct record record;
	struct lent_step step;
	struct err err = {0};
	size_t out = 0;
	MUST(record_reader_open(&in, b->path, NULL, &err));
	while (record_next(in, &record, &err) == 0) {
		MUST(lent_step_read(record.payload, &step, &err));
		out += step.is_back ? -1 : 1;
	}
	record_reader_free(&in);
	return out;
}

/* Clients. */

static int call(struct lab *b)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(to.sun_path, sizeof to.sun_path, "%s", b->w.address + strlen("unix:"));
	assert_int_equal(0, connect(fd, (struct sockaddr *)&to, sizeof to));
	assert_int_equal(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

static void hang_up(struct lab *b, int *fd)
{
	close(*fd);
	*fd = -1;
	settle(&b->w);
}

PRINTF_LIKE(3, 4) static void say(struct lab *b, int fd, const char *format, ...)
{
	char text[1000];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	assert_int_equal(n, write(fd, text, (size_t)n));
	settle(&b->w);
}

/* What it was told since. */
static void hears(struct lab *b, int fd, const char *want)
{
	char text[4000];
	settle(&b->w);
	ssize_t n = read(fd, text, sizeof text - 1);
	text[MAX(n, 0)] = 0;
	assert_string_equal(text, want);
}

static int hello(struct lab *b, const char *name)
{
	int fd = call(b);
	say(b, fd, "HELLO %s\n", name);
	hears(b, fd, "OK\n");
	return fd;
}

static void hears_url(struct lab *b, int fd, unsigned server, unsigned page)
{
	char digits[FOOTPRINT_TEXT], want[200];
	snprintf(want, sizeof want, "HAVE 1\n%s http://s%u.test/%u\n", doc_of(server, page, digits),
		 server, page);
	hears(b, fd, want);
}

/* Asks for a page, and gets it. */
static void lend(struct lab *b, int fd, unsigned server, unsigned page)
{
	say(b, fd, "WANT 1 0\n");
	give(b, server, page);
	hears_url(b, fd, server, page);
}

static void done(struct lab *b, int fd, unsigned server, unsigned page, const char *outcome)
{
	char digits[FOOTPRINT_TEXT];
	say(b, fd, "DONE %s %s\n", doc_of(server, page, digits), outcome);
}

static void result_of(struct lab *b, int fd, unsigned server, unsigned page, const char *said)
{
	static const char rest[] = "canswer\nb0\nCd41d8cd98f00b204e9800998ecf8427e\n";
	char digits[FOOTPRINT_TEXT];
	say(b, fd, "RESULT %s %zu 0\n%s%s", doc_of(server, page, digits),
	    strlen(said) + strlen(rest), said, rest);
}

/* A page that is not there. */
static void result(struct lab *b, int fd, unsigned server, unsigned page)
{
	result_of(b, fd, server, page, "opermanent\ns404\n");
}

/* A page that a parser has to read. */
static void page_result(struct lab *b, int fd, unsigned server, unsigned page)
{
	static const char head[] = "ook\ncanswer\ns200\nb7\nC9bf657702fa9718fb7df2dfc6339f34d\n";
	char digits[FOOTPRINT_TEXT];
	say(b, fd, "RESULT %s %zu 7\n%s<p>page", doc_of(server, page, digits), strlen(head), head);
}

/* The parser is done with it. */
static void page_is_read(struct lab *b, unsigned server, unsigned page)
{
	struct lent *l = LIST_OF(struct lent, b->lent, reaper);
	char text[64];
	struct lent_job **job = lent_docs_get(&l->docs, page_of(server, page, text).fp);
	const struct reaper_answer a = {.code = CODE_OK, .ago_us = -1};
	assert_true(job && (*job)->where == LENT_READ);
	lent_answer(*job, &a);
	settle(&b->w);
}

static void keep(struct lab *b)
{
	b->lent->ops->kept(b->lent);
	settle(&b->w);
}

/* Tests. */

static void a_server_is_free_when_its_last_url_is_done_not_when_its_result_is_there(void **state)
{
	(void)state;
	struct lab b;
	lab_make(&b);
	int one = hello(&b, "one"), spider = hello(&b, "spider");
	lend(&b, one, 1, 1);
	expect(&b.w, "held ");
	assert_int_equal(noted(&b), 1);
	result(&b, spider, 1, 1);
	expect(&b.w, "done:1=2404+0 ");
	assert_true(is_held(&b, 1) && !may_be_asked(&b, 1));
	keep(&b);
	hears(&b, spider, "OK\n");
	done(&b, one, 1, 1, "permanent");
	hears(&b, one, "OK\n");
	expect(&b.w, "free ");
	keep(&b);
	assert_int_equal(noted(&b), 0);
	close(one);
	close(spider);
	lab_free(&b);
}

static void a_cancelled_job_leaves_its_server_with_the_one_who_has_its_url(void **state)
{
	(void)state;
	struct lab b;
	lab_make(&b);
	int one = hello(&b, "one"), two = hello(&b, "two");
	lend(&b, one, 1, 1);
	b.lent->ops->cancel(b.lent, 1);
	assert_true(is_held(&b, 1) && !may_be_asked(&b, 1));
	buf_clear(&b.w.story);
	say(&b, two, "WANT 1 0\n");
	give(&b, 1, 2); /* only for the first, which wants none */
	expect(&b.w, "not-now:2@250 ");
	hears(&b, two, "");
	done(&b, one, 1, 1, "ok"); /* nobody waits for it */
	hears(&b, one, "OK\n");
	expect(&b.w, "free ");
	assert_int_equal(unknown(&b, LENT_UNKNOWN_DONE), 0);
	wait_us(&b.w, DELAY_US);
	hears(&b, two, "HAVE 0 1\n");
	lend(&b, two, 1, 2);
	/* one that only waited leaves nothing behind */
	buf_clear(&b.w.story);
	say(&b, one, "WANT 1 1\ns3.test\n");
	b.lent->ops->cancel(b.lent, give(&b, 3, 1));
	expect_part(&b.w, "not-now");
	close(one);
	close(two);
	lab_free(&b);
}

static void a_new_process_leaves_servers_with_those_who_have_them(void **state)
{
	(void)state;
	struct lab b;
	struct err err = {0};
	lab_make(&b);
	int one = hello(&b, "one"), two = hello(&b, "two");
	lend(&b, one, 1, 1);
	lend(&b, one, 1, 2);
	lend(&b, two, 2, 1);
	done(&b, one, 1, 2, "site-temporary");
	lab_close(&b);
	hang_up(&b, &one);
	hang_up(&b, &two);
	MUST(lab_open(&b, true, &err));
	assert_true(is_held(&b, 1) && is_held(&b, 2) && !is_held(&b, 3));
	wait_us(&b.w, DELAY_US); /* the leases could not be had at once */
	assert_true(!may_be_asked(&b, 1) && !may_be_asked(&b, 2));
	two = hello(&b, "two");
	buf_clear(&b.w.story);
	say(&b, two, "WANT 9 0\n");
	give(&b, 1, 3);
	expect(&b.w, "not-now:4@250 "); /* the first is away */
	one = hello(&b, "one");
	say(&b, one, "WANT 9 0\n");
	give(&b, 1, 1); /* it may have it, and drops it then */
	hears_url(&b, one, 1, 1);
	assert_int_equal(noted(&b), 2); /* not a second time */
	hears(&b, two, "");
	done(&b, one, 1, 1, "site-temporary");
	expect(&b.w, "done:5=1104+0 free ");
	done(&b, two, 2, 1, "ok"); /* what it had before; reap has not given it again */
	expect(&b.w, "free ");
	assert_int_equal(unknown(&b, LENT_UNKNOWN_DONE), 0);
	close(one);
	close(two);
	lab_free(&b);
}

static void one_who_does_not_come_back_loses_what_it_had_in_an_earlier_process(void **state)
{
	(void)state;
	for (int listens = 0; listens < 2; listens++) { /* or nothing is lent any more */
		struct lab b;
		struct err err = {0};
		lab_make(&b);
		int one = hello(&b, "one");
		lend(&b, one, 1, 1);
		lab_close(&b);
		close(one);
		assert_int_equal(0, reaper_lent_left(b.data, &err));
		MUST(lab_open(&b, listens, &err));
		wait_us(&b.w, LEND_US - US_PER_S);
		assert_true(is_held(&b, 1));
		buf_clear(&b.w.story);
		wait_us(&b.w, 2 * US_PER_S);
		expect(&b.w, "[one: has been gone for `lend`: what it had is first in line again] "
			     "free ");
		assert_true(may_be_asked(&b, 1));
		lab_close(&b);
		assert_int_equal(1, reaper_lent_left(b.data, &err));
		MUST(lab_open(&b, listens, &err));
		assert_false(is_held(&b, 1));
		lab_free(&b);
	}
}

static void urls_that_a_new_client_may_not_know_of_are_not_waited_for_for_ever(void **state)
{
	(void)state;
	struct lab b;
	struct err err = {0};
	lab_make(&b);
	int one = hello(&b, "one"), spider = hello(&b, "spider");
	lend(&b, one, 1, 1);
	lend(&b, one, 1, 2);
	lend(&b, one, 2, 1);
	lab_close(&b);
	hang_up(&b, &one);
	hang_up(&b, &spider);
	MUST(lab_open(&b, true, &err));
	one = hello(&b, "one"), spider = hello(&b, "spider");
	buf_clear(&b.w.story);
	wait_us(&b.w, LEND_US / 2);
	result(&b, spider, 1, 1); /* it knows of this server */
	hears(&b, spider, "OK\n");
	expect(&b.w, "");
	wait_us(&b.w, LEND_US * 3 / 4);
	expect(&b.w, "free ");
	assert_true(is_held(&b, 1) && !is_held(&b, 2));
	wait_us(&b.w, LEND_US / 2);
	expect(&b.w, "free ");
	/* what it has got in this session it knows */
	say(&b, one, "WANT 9 0\n");
	give(&b, 1, 3);
	b.lent->ops->cancel(b.lent, b.id);
	wait_us(&b.w, 3 * LEND_US);
	assert_true(is_held(&b, 1));
	close(one);
	close(spider);
	lab_free(&b);
}

/* Which spider its URLs go to next, and what that knows, is the URL server's business. */
static void a_server_that_wants_a_rest_is_lent_no_more_until_that_is_over(void **state)
{
	(void)state;
	struct lab b;
	struct err err = {0};
	lab_make(&b);
	int one = hello(&b, "one");
	lend(&b, one, 1, 1);
	lend(&b, one, 1, 2);
	result_of(&b, one, 1, 1, "otemporary\ns503\nW60000000\n");
	say(&b, one, "WANT 9 0\n");
	buf_clear(&b.w.story);
	give(&b, 1, 3);
	expect(&b.w, "not-now:3@60000 ");
	hang_up(&b, &one);
	one = hello(&b, "one"); /* gets again what it had, but not now */
	expect(&b.w, "not-now:2@60000 ");
	assert_true(is_held(&b, 1));
	lab_close(&b); /* nor from another process */
	hang_up(&b, &one);
	MUST(lab_open(&b, true, &err));
	wait_us(&b.w, 59 * US_PER_S);
	one = hello(&b, "one");
	say(&b, one, "WANT 9 0\n");
	buf_clear(&b.w.story);
	give(&b, 1, 2);
	expect(&b.w, "not-now:4@250 ");
	wait_us(&b.w, 2 * US_PER_S);
	hears(&b, one, "HAVE 0 1\n");
	lend(&b, one, 1, 2);
	close(one);
	lab_free(&b);
}

/* The DONE that is still to come would be taken for that of the second job. */
static void a_page_is_not_lent_again_between_its_result_and_its_done(void **state)
{
	(void)state;
	struct lab b;
	lab_make(&b);
	int one = hello(&b, "one");
	lend(&b, one, 1, 1);
	result(&b, one, 1, 1);
	keep(&b);
	hears(&b, one, "OK\n");
	buf_clear(&b.w.story);
	say(&b, one, "WANT 9 0\n");
	give(&b, 1, 1);
	expect(&b.w, "not-now:2@250 ");
	/* after a new HELLO nobody knows whether it comes: if it does, the job is only put back */
	hang_up(&b, &one);
	one = hello(&b, "one");
	say(&b, one, "WANT 9 0\n");
	give(&b, 1, 1);
	hears_url(&b, one, 1, 1);
	done(&b, one, 1, 1, "permanent");
	expect(&b.w, "not-now:3@0 free ");
	close(one);
	lab_free(&b);
}

static void lines_about_what_is_not_lent_are_counted_and_have_no_other_effect(void **state)
{
	(void)state;
	struct lab b;
	lab_make(&b);
	int one = hello(&b, "one");
	done(&b, one, 1, 1, "ok");
	say(&b, one, "DONE nonsense ok\n");
	result(&b, one, 1, 1);
	hears(&b, one, "OK\nOK\nOK\n");
	expect(&b.w, "");
	assert_int_equal(unknown(&b, LENT_UNKNOWN_DONE), 2);
	assert_int_equal(unknown(&b, LENT_UNKNOWN_RESULT), 1);
	lend(&b, one, 1, 1);
	result(&b, one, 1, 1);
	result(&b, one, 1, 1);
	done(&b, one, 1, 1, "ok");
	expect(&b.w, "held done:1=2404+0 free ");
	done(&b, one, 1, 1, "ok"); /* the second */
	result(&b, one, 1, 1);
	assert_int_equal(unknown(&b, LENT_UNKNOWN_DONE), 3);
	assert_int_equal(unknown(&b, LENT_UNKNOWN_RESULT), 2);
	expect(&b.w, "");
	keep(&b);
	hears(&b, one, "OK\nOK\nOK\nOK\nOK\n");
	wait_us(&b.w, DELAY_US);
	lend(&b, one, 1, 2);
	say(&b, one, "WANT 9 1\ns1.test\n");
	give(&b, 1, 3); /* waits to be handed out */
	done(&b, one, 1, 3, "ok");
	result(&b, one, 1, 3);
	assert_int_equal(unknown(&b, LENT_UNKNOWN_DONE), 4);
	assert_int_equal(unknown(&b, LENT_UNKNOWN_RESULT), 3);
	expect(&b.w, "held ");
	close(one);
	lab_free(&b);
}

static void a_second_result_or_done_has_its_ok_when_the_first_is_kept(void **state)
{
	(void)state;
	struct lab b;
	lab_make(&b);
	int one = hello(&b, "one"), spider = hello(&b, "spider"), other = hello(&b, "other");
	lend(&b, one, 1, 1);
	page_result(&b, spider, 1, 1);
	hang_up(&b, &spider); /* it will repeat it */
	page_result(&b, other, 1, 1);
	done(&b, one, 1, 1, "ok");
	done(&b, one, 1, 1, "ok");
	keep(&b); /* but it is still being read */
	hears(&b, other, "");
	hears(&b, one, "");
	buf_clear(&b.w.story);
	page_is_read(&b, 1, 1);
	expect(&b.w, "done:1=0+0 ");
	result(&b, other, 1, 1);
	hears(&b, other, "");
	hears(&b, one, "");
	keep(&b);
	hears(&b, other, "OK\nOK\n");
	hears(&b, one, "OK\nOK\n");
	result(&b, other, 1, 1); /* all is kept */
	done(&b, one, 1, 1, "ok");
	hears(&b, other, "OK\n");
	hears(&b, one, "OK\n");
	/* a DONE that decides what becomes of the page */
	lend(&b, one, 2, 1);
	done(&b, one, 2, 1, "site-temporary");
	hang_up(&b, &one);
	one = hello(&b, "one");
	done(&b, one, 2, 1, "site-temporary");
	result(&b, other, 2, 1);
	result(&b, other, 3, 1); /* has to wait for its turn, not for more */
	hears(&b, one, "");
	hears(&b, other, "");
	keep(&b);
	hears(&b, one, "OK\n");
	hears(&b, other, "OK\nOK\n");
	close(one);
	close(other);
	lab_free(&b);
}

static void a_want_counts_when_the_last_of_its_rejected_hosts_is_there(void **state)
{
	(void)state;
	struct lab b;
	lab_make(&b);
	int one = hello(&b, "one"), two = hello(&b, "two");
	say(&b, one, "WANT 100 2\ns1.test\n");
	assert_int_equal(b.lent->ops->room(b.lent), 0);
	say(&b, two, "WANT 1 0\n");
	give(&b, 2, 1);
	hears(&b, one, "");
	hears_url(&b, two, 2, 1);
	say(&b, one, "s2.test\n");
	hears(&b, one, "");
	give(&b, 3, 1);
	hears_url(&b, one, 3, 1);
	/* also for a server that it has */
	say(&b, one, "WANT 100 1\n");
	buf_clear(&b.w.story);
	give(&b, 3, 2);
	expect(&b.w, "not-now:3@250 ");
	wait_us(&b.w, 10 * US_PER_S); /* nor is it answered before */
	hears(&b, one, "");
	say(&b, one, "s1.test\n");
	give(&b, 3, 2);
	hears_url(&b, one, 3, 2);
	/* of none there is nothing to wait for, but the hosts */
	say(&b, one, "WANT 0 1\n");
	hears(&b, one, "");
	say(&b, one, "s1.test\n");
	hears(&b, one, "HAVE 0 1\n");
	close(one);
	close(two);
	lab_free(&b);
}

static void what_cannot_be_noted_is_not_handed_out(void **state)
{
	(void)state;
	struct lab b;
	struct err err = {0};
	lab_make(&b);
	int one = hello(&b, "one");
	MUST(fault_arm("file.sync/run/lent=eio", &err));
	say(&b, one, "WANT 9 0\n");
	give(&b, 1, 1);
	expect(&b.w, "held failed ");
	hears(&b, one, "");
	MUST(fault_arm(NULL, &err));
	give(&b, 1, 2); /* and it goes on when it can be */
	char text[64];
	ssize_t n = read(one, text, sizeof text);
	assert_true(n > 6 && memcmp(text, "HAVE 2", 6) == 0);
	assert_int_equal(noted(&b), 2);
	close(one);
	lab_free(&b);
}

enum { MANY = 4500 };

/* A process that lends until the file is written anew, and is killed there. */
static void lends_many_and_is_killed(struct lab *b, const char *point)
{
	char spec[64];
	struct err err = {0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(spec, sizeof spec, "%s=kill", point);
	if (lab_open(b, false, &err) < 0 || fault_arm(spec, &err) < 0)
		_exit(2);
	struct lent *l = LIST_OF(struct lent, b->lent, reaper);
	const struct loan *loan = lent_urls_next(&l->urls, NULL)->value->loan;
	for (unsigned i = 0; i < MANY; i++) {
		struct record_group group = {0};
		struct footprint fp = {i, i};
		if (lent_file_out(l, fp, loan, &group, &err) < 0)
			_exit(3);
		lent_file_back(l, fp);
	}
	(void)lent_file_keep(l, &err);
	_exit(0);
}

static void the_file_stays_short_and_whole_whenever_its_rewriting_is_killed(void **state)
{
	(void)state;
	static const char *const points[] = {"lent.rewritten", "lent.renamed"};
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		struct lab b;
		struct err err = {0};
		struct stat st;
		int status;
		lab_make(&b);
		int one = hello(&b, "one");
		lend(&b, one, 1, 1);
		lend(&b, one, 2, 1);
		lab_close(&b);
		close(one);
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0)
			lends_many_and_is_killed(&b, points[i]);
		assert_int_equal(child, waitpid(child, &status, 0));
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		MUST(lab_open(&b, true, &err));
		assert_true(is_held(&b, 1) && is_held(&b, 2));
		assert_int_equal(noted(&b), 2);
		assert_int_equal(0, stat(b.path, &st));
		assert_true(st.st_size < 4096);
		lab_free(&b);
	}
}

/* Steps as a file has them. */
static void write_steps(struct lab *b, const struct lent_step *steps, size_t n)
{
	static const struct record_kind kind = {"GARNERLN", 1, 128};
	struct record_writer *w = NULL;
	struct record_group group = {0};
	struct err err = {0};
	MUST(record_open(&w, b->path, &kind, 0640, NULL, &err));
	for (size_t i = 0; i < n; i++) {
		CLEANUP(buf_free) struct buf payload = BUF_INIT(128);
		lent_step_write(&steps[i], &payload);
		MUST(record_append(w, buf_str(&payload), &group, NULL, &err));
	}
	MUST(record_close(&w, &err));
}

/* Backs are not synced: a failed write may lose one, and the server be lent to another. */
static void of_two_who_have_a_server_by_the_file_the_later_one_has_it(void **state)
{
	(void)state;
	struct lab b;
	struct err err = {0};
	char text[64];
	struct addr server = page_of(1, 0, text).addr;
	server.port = 0;
	const struct lent_step steps[] = {
		{.fp = {1, 1}, .server = server, .name = "one"},
		{.fp = {1, 2}, .server = server, .name = "one"},
		{.fp = {1, 3}, .server = server, .name = "two"},
		{.fp = {1, 4}, .is_back = true},
	};
	lab_make(&b);
	lab_close(&b);
	write_steps(&b, steps, ARRAY_LEN(steps));
	MUST(lab_open(&b, true, &err));
	buf_clear(&b.w.story);
	int two = hello(&b, "two");
	say(&b, two, "DONE 0000000000000001:0000000000000003 ok\n");
	expect(&b.w, "free ");
	assert_false(is_held(&b, 1));
	close(two);
	lab_free(&b);
}

static void a_damaged_file_is_refused_with_what_to_do(void **state)
{
	(void)state;
	static const char *const payloads[] = {"",
					       "x",
					       "o1234567890123456",
					       "b12345678901234567",
					       "o123456781234567812345678\4abcd",
					       "o123456781234567812345678\4abcda b"};
	for (size_t i = 0; i < ARRAY_LEN(payloads); i++) {
		static const struct record_kind kind = {"GARNERLN", 1, 128};
		struct lab b;
		struct err err = {0};
		struct record_group group = {0};
		struct record_writer *w = NULL;
		lab_make(&b);
		lab_close(&b);
		MUST(record_open(&w, b.path, &kind, 0640, NULL, &err));
		MUST(record_append(w, str_of(payloads[i]), &group, NULL, &err));
		MUST(record_close(&w, &err));
		assert_true(lab_open(&b, true, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, "stop the URL servers"));
		b.lent = NULL;
		lab_free(&b);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--worker") == 0)
		parser_run();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_server_is_free_when_its_last_url_is_done_not_when_its_result_is_there),
		cmocka_unit_test(a_cancelled_job_leaves_its_server_with_the_one_who_has_its_url),
		cmocka_unit_test(a_new_process_leaves_servers_with_those_who_have_them),
		cmocka_unit_test(
			one_who_does_not_come_back_loses_what_it_had_in_an_earlier_process),
		cmocka_unit_test(
			urls_that_a_new_client_may_not_know_of_are_not_waited_for_for_ever),
		cmocka_unit_test(a_server_that_wants_a_rest_is_lent_no_more_until_that_is_over),
		cmocka_unit_test(a_page_is_not_lent_again_between_its_result_and_its_done),
		cmocka_unit_test(lines_about_what_is_not_lent_are_counted_and_have_no_other_effect),
		cmocka_unit_test(a_second_result_or_done_has_its_ok_when_the_first_is_kept),
		cmocka_unit_test(a_want_counts_when_the_last_of_its_rejected_hosts_is_there),
		cmocka_unit_test(what_cannot_be_noted_is_not_handed_out),
		cmocka_unit_test(the_file_stays_short_and_whole_whenever_its_rewriting_is_killed),
		cmocka_unit_test(of_two_who_have_a_server_by_the_file_the_later_one_has_it),
		cmocka_unit_test(a_damaged_file_is_refused_with_what_to_do),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
