/* A master and a reapd in one loop, over a socket, with a reaper that answers when the test says
 * so; and each of them against a peer that the test plays by hand. */
#include "shepherd/reaper_remote.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/list.h"
#include "bucket/bucket_attrs.h"
#include "role/listen.h"
#include "shepherd/reap_wire.h"
#include "shepherd/reapd_server.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

#define START_US (1000 * US_PER_S)
#define LEASE_US (10 * US_PER_S)
#define PENALTY_US (600 * US_PER_S)
#define DELAY_US (30 * US_PER_S)

/* A reaper whose answers the test gives. */
struct field {
	struct reaper reaper;
	struct reaper_job job[16];
	struct arena arena;
	size_t n;
	uint64_t room;
	bool begun, has_dict;
	unsigned drops, rules;
	int64_t until_us;
	int report; /* a descriptor that gets a byte for each job; -1: none */
};

static struct field *field_of(const struct reaper *r)
{
	return LIST_OF(struct field, r, reaper);
}

static int field_begin(struct reaper *r, const char *dict_path, struct err *err)
{
	(void)err;
	field_of(r)->begun = true;
	field_of(r)->has_dict = dict_path != NULL;
	return 0;
}

static uint64_t field_room(const struct reaper *r)
{
	return field_of(r)->room;
}

static int field_submit(struct reaper *r, const struct reaper_job *job,
			const struct reaper_rules *rules, struct err *err)
{
	struct field *f = field_of(r);
	(void)rules, (void)err;
	assert_true(f->n < ARRAY_LEN(f->job));
	f->job[f->n] = *job;
	f->job[f->n++].url = arena_str(&f->arena, job->url);
	if (f->report >= 0)
		assert_int_equal(1, write(f->report, "j", 1));
	return 0;
}

static void field_cancel(struct reaper *r, uint64_t id)
{
	(void)r, (void)id;
}

static const struct reaper_ops field_ops = {
	.kind = "local",
	.begin = field_begin,
	.room = field_room,
	.submit = field_submit,
	.cancel = field_cancel,
};

static void field_until(void *ctx, int64_t mono_us)
{
	((struct field *)ctx)->until_us = mono_us;
}

static int field_drop(void *ctx, struct err *err)
{
	struct field *f = ctx;
	(void)err;
	f->drops++;
	f->n = 0;
	return 0;
}

static int field_rules(void *ctx, const struct reaper_rules *rules, struct err *err)
{
	struct field *f = ctx;
	assert_str(rules->site, "http://a.test");
	f->rules++;
	return str_is(rules->compiled, "bad") ? err_set(err, ERR_DAMAGED, "bad") : 0;
}

static void field_failed(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("%s", err->msg);
}

/* Both sides, and what the master was told. */
struct world {
	struct loop *loop;
	bool manual; /* its time is the test's */
	struct field field;
	struct reapd_server *server;
	struct server_limits limits;
	struct robot_limits robot;
	int listen_fd;
	char address[128];
	struct conn_pool *pool;
	struct polite *polite;
	struct reaper_host host;
	struct reaper *remote;
	struct buf story;
};

static void story_done(void *ctx, struct reaper *r, const struct reaper_answer *a)
{
	struct world *w = ctx;
	(void)r;
	if (a->not_now_us)
		buf_printf(&w->story, "not-now:%" PRIu64 "@%" PRId64 " ", a->id,
			   a->not_now_us / US_PER_MS);
	else
		buf_printf(&w->story, "done:%" PRIu64 "=%u+%zu ", a->id, a->code, a->links);
}

static void story_lost(void *ctx, struct reaper *r, uint64_t id, int64_t rests_us)
{
	struct world *w = ctx;
	(void)r;
	buf_printf(&w->story, "lost:%" PRIu64 "@%" PRId64 " ", id, rests_us / US_PER_S);
}

static void story_room(void *ctx, struct reaper *r)
{
	(void)ctx, (void)r;
}

static void story_failed(void *ctx, struct reaper *r, const struct err *err)
{
	(void)ctx, (void)r;
	fail_msg("%s", err->msg);
}

static void story_said(void *ctx, struct reaper *r, bool is_trouble, const char *what)
{
	struct world *w = ctx;
	(void)r;
	if (is_trouble)
		buf_printf(&w->story, "[%s] ", what);
}

static void settle(struct world *w)
{
	for (int i = 0; i < 12 && w->manual; i++)
		loop_step(w->loop, loop_now_us(w->loop));
}

static void wait_us(struct world *w, int64_t us)
{
	loop_step(w->loop, loop_now_us(w->loop) + us);
	settle(w);
}

static void expect(struct world *w, const char *story)
{
	assert_string_equal(buf_text(&w->story), story);
	buf_clear(&w->story);
}

static void expect_part(struct world *w, const char *part)
{
	if (!strstr(buf_text(&w->story), part))
		fail_msg("'%s' is not in '%s'", part, buf_text(&w->story));
	buf_clear(&w->story);
}

static void world_make(struct world *w, bool manual)
{
	static unsigned number;
	char name[32], path[400];
	struct err err = {0};
	const struct loop_options options = {.manual = manual, .start_us = START_US};
	struct polite_options table = {
		.servers = 64, .boot = "b", .now_us = START_US, .wall_us = 1};
	*w = (struct world){.manual = manual,
			    .story = BUF_INIT(1 << 16),
			    .field = {.arena = ARENA_INIT(1 << 20), .room = 8, .report = -1},
			    .limits = {.max_connections = 10,
				       .max_per_address = 10,
				       .backlog = 10,
				       .line_max = 256,
				       .queue_max = 1 << 20,
				       .memory = 1 << 20}};
	w->field.reaper.ops = &field_ops;
	snprintf(name, sizeof name, "%u", ++number);
	MUST(loop_new(&w->loop, &options, &err));
	snprintf(w->address, sizeof w->address, "unix:%s.s", scratch(name));
	snprintf(path, sizeof path, "%s.polite", scratch(name));
	MUST(polite_open(&w->polite, path, &table, &err));
	w->pool = conn_pool_new(w->loop, REAPER_REMOTE_MEMORY);
	w->host = (struct reaper_host){story_done, story_lost, story_room, story_failed, w};
}

static void world_reapd(struct world *w)
{
	struct err err = {0};
	const struct reapd_server_options options = {
		.loop = w->loop,
		.limits = &w->limits,
		.capacity = 8,
		.dict_path = scratch("dict.received"),
		.robot = &w->robot,
		.until = field_until,
		.drop = field_drop,
		.rules = field_rules,
		.failed = field_failed,
		.ctx = &w->field,
	};
	MUST(listen_open(w->address, &w->listen_fd, &err));
	w->server = reapd_server_new(&options);
	reapd_server_reaper(w->server, &w->field.reaper);
	w->field.reaper.host = reapd_server_host(w->server);
	MUST(reapd_server_listen(w->server, w->listen_fd, &err));
}

static void world_master(struct world *w)
{
	struct err err = {0};
	const struct reaper_remote_options options = {
		.pool = w->pool,
		.address = w->address,
		.polite = w->polite,
		.lease_us = LEASE_US,
		.penalty_us = PENALTY_US,
		.host = &w->host,
		.said = story_said,
		.ctx = w,
	};
	MUST(reaper_remote_new(&w->remote, &options, &err));
	MUST(w->remote->ops->begin(w->remote, NULL, &err));
	settle(w);
}

static void world_both(struct world *w)
{
	world_make(w, true);
	world_reapd(w);
	world_master(w);
	assert_int_equal(reaper_remote_state(w->remote), REAPER_UP);
	expect(w, "");
}

static void world_free(struct world *w)
{
	if (w->remote)
		w->remote->ops->free(&w->remote);
	reapd_server_free(&w->server);
	conn_pool_free(&w->pool);
	polite_close(&w->polite);
	loop_free(&w->loop);
	if (w->listen_fd > 0)
		close(w->listen_fd);
	buf_free(&w->story);
	arena_free(&w->field.arena);
}

/* Jobs: number n is page n of server n. */

static struct reaper_job job_of(uint64_t id, char text[64])
{
	char room[URL_MAX];
	struct url url;
	snprintf(text, 64, "http://a.test/%" PRIu64, id);
	struct reaper_job job = {
		.id = id,
		.url = str_of(text),
		.addr = {.family = AF_INET, .port = 80, .b = {192, 0, 2, (uint8_t)id}},
		.limits = {.body = 1 << 20, .idle_us = US_PER_S, .total_us = US_PER_MIN},
		.rule = {.delay_us = DELAY_US, .concurrent = 1},
	};
	assert_int_equal(0, url_parse(job.url, NULL, room, sizeof room, &url));
	job.fp = footprint_of(&url);
	return job;
}

static void give_job(struct world *w, uint64_t id)
{
	struct err err = {0};
	char text[64];
	struct reaper_job job = job_of(id, text);
	MUST(w->remote->ops->submit(w->remote, &job, NULL, &err));
	settle(w);
}

/* The reaper of the reapd has fetched the job at this place; its request went out ago_us ago. */
static void fetched(struct world *w, size_t at, int64_t ago_us)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	CLEANUP(buf_free) struct buf bucket = BUF_INIT(1 << 16);
	const struct reaper_job *job = &w->field.job[at];
	const struct reaper_host *host = w->field.reaper.host;
	struct reaper_link link = {.url = STR("http://a.test/linked")};
	struct attrs header = {0}, body = {0};
	struct err err = {0};
	char room[URL_MAX];
	struct url url;
	assert_true(at < w->field.n);
	assert_int_equal(0, url_parse(link.url, NULL, room, sizeof room, &url));
	link.fp = footprint_of(&url);
	struct reaper_answer a = {.id = job->id,
				  .url = job->url,
				  .status = 200,
				  .addr = job->addr,
				  .ago_us = ago_us,
				  .link = &link,
				  .links = 1};
	attrs_add(&header, &arena, 'O',
		  str_of(arena_printf(&arena, "%016" PRIx64 "%016" PRIx64, job->fp.site,
				      job->fp.path)));
	attrs_add(&header, &arena, 'U', job->url);
	MUST(bucket_encode(NULL, &header, &body, &bucket, &a.bucket_type, &err));
	a.bucket = buf_str(&bucket);
	host->done(host->ctx, &w->field.reaper, &a);
	settle(w);
}

/* How long the server of a job has to be left alone; 0: it may be asked. */
static int64_t server_rests_us(struct world *w, uint64_t id)
{
	char text[64];
	struct reaper_job job = job_of(id, text);
	struct lease lease;
	int64_t wait_for_us = 0, now_us = loop_now_us(w->loop);
	if (polite_take(w->polite, &job.addr, &job.rule, now_us, &lease, &wait_for_us) == 0)
		polite_end(w->polite, &lease, OUTCOME_CANCELLED, 0, now_us);
	return wait_for_us;
}

static void jobs_go_out_and_answers_come_back(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	assert_int_equal(w.remote->ops->room(w.remote), 8);
	give_job(&w, 1);
	give_job(&w, 2);
	assert_int_equal(w.field.n, 2);
	assert_true(w.field.begun && !w.field.has_dict);
	assert_str(w.field.job[0].url, "http://a.test/1");
	assert_int_equal(w.remote->ops->room(w.remote), 6);
	fetched(&w, 1, 0);
	fetched(&w, 0, 0);
	expect(&w, "done:2=0+1 done:1=0+1 ");
	assert_int_equal(w.remote->counts.documents, 2);
	assert_int_equal(w.remote->counts.out, 0);
	assert_int_equal(reapd_server_counts(w.server)->documents, 2);
	world_free(&w);
}

/* While the job is out nobody asks its server; then the delay counts from the first byte. */
static void the_delay_counts_from_the_first_byte(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	assert_true(server_rests_us(&w, 1) > 0);
	give_job(&w, 3);
	wait_us(&w, 40 * US_PER_S); /* longer than the delay: it is still being asked */
	assert_true(server_rests_us(&w, 1) > 0);
	fetched(&w, 0, 12 * US_PER_S);
	assert_int_equal(server_rests_us(&w, 1), DELAY_US - 12 * US_PER_S);
	expect(&w, "done:1=0+1 ");
	world_free(&w);
}

static void a_server_that_may_not_be_asked_is_put_off(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	char text[64];
	world_both(&w);
	give_job(&w, 1);
	struct reaper_job job = job_of(1, text);
	job.id = 7;
	MUST(w.remote->ops->submit(w.remote, &job, NULL, &err));
	expect(&w, ""); /* not from inside the call */
	settle(&w);
	expect_part(&w, "not-now:7@");
	assert_int_equal(w.field.n, 1);
	w.field.room = 0;
	give_job(&w, 2);
	expect(&w, "not-now:2@100 ");
	assert_int_equal(w.remote->counts.out, 1);
	world_free(&w);
}

static void a_cancelled_job_keeps_its_lease_until_it_has_ended(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	w.remote->ops->cancel(w.remote, 1);
	wait_us(&w, 31 * US_PER_S);
	assert_true(server_rests_us(&w, 1) > 0);
	fetched(&w, 0, 31 * US_PER_S);
	assert_int_equal(server_rests_us(&w, 1), 0);
	expect(&w, "");
	assert_int_equal(w.remote->counts.out, 0);
	world_free(&w);
}

/* Every lie: nothing of the answer is kept, the others are lost, and it is left alone for a while.
 */
static void liars_are_dropped_and_named(void **state)
{
	(void)state;
	static const struct {
		const char *fault, *named;
	} lies[] = {
		{"lie.url=lie", "it is about another URL"},
		{"lie.id=lie", "which is not out"},
		{"lie.bucket=lie", "its bucket"},
		{"lie.code=lie", "no reaper comes to code 2"},
		{"lie.link=lie", "a footprint that is not its own"},
		{"lie.size=lie", "cannot be so large"},
	};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct world w;
		world_both(&w);
		give_job(&w, 1);
		give_job(&w, 2);
		wait_us(&w, 4 * US_PER_S); /* the last tock is 1.5 s old */
		MUST(fault_arm(lies[i].fault, &err));
		fetched(&w, 0, 0);
		assert_int_equal(fault_fired(), 1);
		MUST(fault_arm("", &err));
		assert_null(strstr(buf_text(&w.story), "done:"));
		assert_non_null(strstr(buf_text(&w.story), "lost:1@8 lost:2@8 "));
		expect_part(&w, lies[i].named);
		assert_int_equal(reaper_remote_state(w.remote), REAPER_PUNISHED);
		assert_int_equal(w.remote->ops->room(w.remote), 0);
		assert_true(server_rests_us(&w, 2) > 8 * US_PER_S);
		assert_int_equal(w.field.drops, 1); /* the other side has stopped too */
		wait_us(&w, PENALTY_US - US_PER_S);
		assert_int_equal(reaper_remote_state(w.remote), REAPER_PUNISHED);
		wait_us(&w, US_PER_S);
		assert_int_equal(reaper_remote_state(w.remote), REAPER_UP);
		give_job(&w, 1);
		fetched(&w, 0, 0);
		expect(&w, "done:1=0+1 ");
		world_free(&w);
	}
}

static void a_lost_connection_loses_its_jobs_on_both_sides(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	assert_true(w.field.until_us > loop_now_us(w.loop));
	w.remote->ops->free(&w.remote);
	settle(&w);
	assert_int_equal(w.field.drops, 1);
	assert_int_equal(w.field.until_us, 0);
	assert_int_equal(reapd_server_counts(w.server)->dropped, 1);
	assert_true(server_rests_us(&w, 1) >= LEASE_US); /* nobody asks it until that is certain */
	world_master(&w);
	give_job(&w, 2);
	reapd_server_free(&w.server);
	close(w.listen_fd);
	w.listen_fd = 0;
	settle(&w);
	expect_part(&w, "lost:2@10 ");
	assert_int_equal(reaper_remote_state(w.remote), REAPER_AWAY);
	assert_int_equal(w.remote->counts.lost, 1);
	world_free(&w);
}

static void dictionaries_and_rules_go_before_the_jobs(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	char text[64];
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 16);
	struct reaper_rules rules = {.site = STR("http://a.test"),
				     .is_reachable = true,
				     .until_us = clock_wall_us() + US_PER_H,
				     .compiled = STR("rules")};
	world_both(&w);
	MUST(file_replace(scratch("dict.sent"), STR("dictionaries"), 0600, &err));
	MUST(w.remote->ops->begin(w.remote, scratch("dict.sent"), &err));
	for (uint64_t id = 1; id < 5; id++) {
		struct reaper_job job = job_of(id, text);
		rules.until_us += id == 4; /* they were read again */
		MUST(w.remote->ops->submit(w.remote, &job, &rules, &err));
		settle(&w);
	}
	assert_true(w.field.has_dict);
	MUST(file_slurp(scratch("dict.received"), &got, &err));
	assert_str(buf_str(&got), "dictionaries");
	assert_int_equal(w.field.rules, 2);
	assert_int_equal(w.field.n, 4);
	world_free(&w);
}

/* Peers that are played by hand. */

static int play_master(struct world *w)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	snprintf(un.sun_path, sizeof un.sun_path, "%s", w->address + 5);
	assert_int_equal(0, connect(fd, (struct sockaddr *)&un, sizeof un));
	settle(w);
	return fd;
}

static void say(struct world *w, int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
	settle(w);
}

/* All that has come; "!" after it: the peer has hung up. */
static const char *heard(int fd)
{
	static char got[4096];
	size_t n = 0;
	ssize_t r;
	while ((r = read(fd, got + n, sizeof got - n - 2)) > 0)
		n += (size_t)r;
	bool over = r == 0 || (r < 0 && errno != EAGAIN);
	got[n] = 0;
	return over ? strcat(got, "!") : got;
}

static void say_job(struct world *w, int fd, uint64_t id)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(REAP_JOB_MAX), out = BUF_INIT(REAP_JOB_MAX);
	char text[64];
	struct reaper_job job = job_of(id, text);
	reap_job_write(&job, &bytes);
	buf_printf(&out, "gather %" PRIu64 " %zu\n%s", id, bytes.n, buf_text(&bytes));
	say(w, fd, buf_text(&out));
}

static void hostile_masters_are_hung_up_on(void **state)
{
	(void)state;
	static const char *const before[] = {
		"garbage\n",        "\n",          "gather 1 10\n",
		"tock 1 1000000\n", "tock 0 0\n",  "tock 0 99999999999999999999\n",
		"tock 0\n",         "dict 5\n",    "rules 5\n",
		"cancel 1\n",       "tock -1 5\n",
	};
	static const char *const after[] = {
		"garbage\n",
		"gather 1\n",
		"gather 0 10\n",
		"gather 1 65537\n",
		"gather 1 18446744073709551616\n",
		"gather x 1\n",
		"gather 1 3\nabc",
		"dict 16777217\n",
		"rules 8388609\n",
		"rules 3\nabc",
		"tock 99 1000\n",
		"tock 0 1000\n",
		"rules 27\nhttp://a.test\n1\n1000000\nbad",
	};
	struct world w;
	world_make(&w, true);
	world_reapd(&w);
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		int fd = play_master(&w);
		assert_string_equal(heard(fd), "hello 1 8\n");
		say(&w, fd, before[i]);
		if (strcmp(heard(fd), "!") != 0)
			fail_msg("'%s' was taken", before[i]);
		close(fd);
	}
	for (size_t i = 0; i < ARRAY_LEN(after); i++) {
		int fd = play_master(&w);
		say(&w, fd, "tock 0 10000000\n");
		assert_string_equal(heard(fd), "hello 1 8\ntick 1\n");
		say(&w, fd, after[i]);
		if (strcmp(heard(fd), "!") != 0)
			fail_msg("'%s' was taken", after[i]);
		close(fd);
		settle(&w);
	}
	assert_int_equal(w.field.n, 0);
	world_master(&w); /* and it serves the next one */
	give_job(&w, 1);
	fetched(&w, 0, 0);
	expect(&w, "done:1=0+1 ");
	world_free(&w);
}

static void a_second_master_is_told_to_go(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	int fd = play_master(&w);
	assert_string_equal(heard(fd), "busy 0\n!");
	close(fd);
	w.remote->ops->free(&w.remote);
	settle(&w);
	fd = play_master(&w);
	say(&w, fd, "tock 0 10000000\n");
	assert_string_equal(heard(fd), "hello 1 8\ntick 1\n");
	world_master(&w);
	expect_part(&w, "has another master");
	assert_int_equal(reaper_remote_state(w.remote), REAPER_REFUSED);
	close(fd);
	wait_us(&w, 30 * US_PER_S);
	assert_int_equal(reaper_remote_state(w.remote), REAPER_UP);
	world_free(&w);
}

/* Ticks are answered up to the third; the lease counts from when that was sent. */
static void without_tocks_everything_is_dropped(void **state)
{
	(void)state;
	struct world w;
	world_make(&w, true);
	world_reapd(&w);
	int fd = play_master(&w);
	int64_t from_us = loop_now_us(w.loop);
	say(&w, fd, "tock 0 10000000\n");
	say_job(&w, fd, 1);
	assert_int_equal(w.field.n, 1);
	assert_int_equal(w.field.until_us, from_us + LEASE_US);
	wait_us(&w, 5 * US_PER_S);
	assert_string_equal(heard(fd), "hello 1 8\ntick 1\ntick 2\ntick 3\n");
	wait_us(&w, US_PER_S);
	say(&w, fd, "tock 3 10000000\n");
	assert_int_equal(w.field.until_us, from_us + 5 * US_PER_S + LEASE_US);
	say(&w, fd, "tock 2 10000000\n"); /* late: nothing becomes earlier */
	assert_int_equal(w.field.until_us, from_us + 5 * US_PER_S + LEASE_US);
	wait_us(&w, 9 * US_PER_S - 1);
	assert_int_equal(w.field.drops, 0);
	wait_us(&w, 1);
	assert_int_equal(w.field.drops, 1);
	assert_int_equal(w.field.until_us, 0);
	assert_int_equal(w.field.n, 0);
	assert_non_null(strchr(heard(fd), '!'));
	assert_int_equal(reapd_server_counts(w.server)->dropped, 1);
	close(fd);
	world_free(&w);
}

/* A reapd that is played by hand: up to the hello. */
static int play_reapd(struct world *w, int *ret_listen)
{
	struct err err = {0};
	MUST(listen_open(w->address, ret_listen, &err));
	world_master(w);
	int fd = accept(*ret_listen, NULL, NULL);
	assert_true(fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	return fd;
}

static void another_version_is_refused_by_name(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true);
	int fd = play_reapd(&w, &listening);
	say(&w, fd, "hello 2 10\n");
	expect_part(&w, "refused: it speaks version 2, not 1");
	assert_string_equal(heard(fd), "!");
	assert_int_equal(reaper_remote_state(w.remote), REAPER_REFUSED);
	close(fd);
	close(listening);
	world_free(&w);
}

static void hostile_reapds_are_dropped(void **state)
{
	(void)state;
	static const char *const words[] = {
		"garbage\n",
		"hello 1 10\n",
		"tick 0\n",
		"tick x\n",
		"busy 9\n",
		"busy 0\n",
		"done 2 10 80000002 0 0 0\n",
		"done 1 65537 80000002 0 0 0\n",
		"done 1 10 80000002 67108864 0 0\n",
		"done 1 0 0 0 0\n",
		"done 1 10 80000002 0 0 0\n0123456789",
		"done 1 0 80000002 0 0 0\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct world w;
		int listening;
		world_make(&w, true);
		int fd = play_reapd(&w, &listening);
		say(&w, fd, "hello 1 10\n");
		assert_string_equal(heard(fd), "tock 0 10000000\n");
		give_job(&w, 1);
		say(&w, fd, words[i]);
		if (reaper_remote_state(w.remote) != REAPER_PUNISHED)
			fail_msg("'%s' was taken", words[i]);
		expect_part(&w, "lost:1@10 ");
		close(fd);
		close(listening);
		world_free(&w);
	}
}

/* A job that comes back over a new session is not the one that went out over the old. */
static void silence_loses_the_jobs_and_late_answers_count_nothing(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true);
	int fd = play_reapd(&w, &listening);
	say(&w, fd, "hello 1 10\n");
	give_job(&w, 1);
	wait_us(&w, 5 * US_PER_S);
	say(&w, fd, "tick 1\n");
	expect(&w, "");
	wait_us(&w, 11 * US_PER_S);
	expect_part(&w, "[is silent] lost:1@0 ");
	say(&w, fd, "done 1 0 80000002 0 0 0\n");
	expect(&w, "");
	close(fd);
	wait_us(&w, 30 * US_PER_S);
	int again = -1, next; /* it has come several times, and nobody has answered */
	while ((next = accept(listening, NULL, NULL)) >= 0) {
		close(again);
		again = next;
	}
	assert_true(again >= 0 && fcntl(again, F_SETFL, O_NONBLOCK) == 0);
	say(&w, again, "hello 1 10\n");
	say(&w, again, "done 1 0 80000002 0 0 0\n");
	expect_part(&w, "which is not out");
	close(again);
	close(listening);
	world_free(&w);
}

/* A process that was stopped for longer than the lease takes nothing of what lies in its socket. */
#define STOPPED_LEASE_US (300 * US_PER_MS)

static void stopped_child(struct world *w, int report)
{
	struct err err;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	world_reapd(w);
	w->field.report = report;
	assert_int_equal(1, write(report, "r", 1));
	(void)loop_run(w->loop, &err);
	_exit(0);
}

static char next_report(int fd)
{
	char c = 0;
	return read(fd, &c, 1) == 1 ? c : 0;
}

static void a_reapd_that_was_stopped_drops_everything(void **state)
{
	(void)state;
	struct world w;
	int pipe_fd[2];
	char text[64];
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(REAP_JOB_MAX), out = BUF_INIT(REAP_JOB_MAX);
	world_make(&w, false);
	assert_int_equal(0, pipe(pipe_fd));
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		stopped_child(&w, pipe_fd[1]);
	close(pipe_fd[1]);
	assert_int_equal('r', next_report(pipe_fd[0]));
	int fd = play_master(&w);
	assert_int_equal(0, fcntl(fd, F_SETFL, 0)); /* this side waits */
	snprintf(text, sizeof text, "tock 0 %d\n", (int)STOPPED_LEASE_US);
	(void)!write(fd, text, strlen(text));
	char line[64] = {0};
	for (size_t n = 0; !strstr(line, "tick 1\n"); n++)
		assert_int_equal(1, read(fd, line + n, 1));
	assert_int_equal(0, kill(child, SIGSTOP));
	assert_int_equal(child, waitpid(child, NULL, WUNTRACED));
	struct reaper_job job = job_of(1, text);
	reap_job_write(&job, &bytes);
	buf_printf(&out, "tock 1 %d\ngather 1 %zu\n%s", (int)STOPPED_LEASE_US, bytes.n,
		   buf_text(&bytes));
	assert_int_equal(out.n, write(fd, out.p, out.n));
	usleep(STOPPED_LEASE_US + 50 * US_PER_MS);
	assert_int_equal(0, kill(child, SIGCONT));
	while (read(fd, line, sizeof line) > 0) /* until it hangs up */
		;
	assert_int_equal(0, kill(child, SIGKILL));
	assert_int_equal(child, waitpid(child, NULL, 0));
	assert_int_equal(0, next_report(pipe_fd[0])); /* no job */
	close(fd);
	close(pipe_fd[0]);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_go_out_and_answers_come_back),
		cmocka_unit_test(the_delay_counts_from_the_first_byte),
		cmocka_unit_test(a_server_that_may_not_be_asked_is_put_off),
		cmocka_unit_test(a_cancelled_job_keeps_its_lease_until_it_has_ended),
		cmocka_unit_test(liars_are_dropped_and_named),
		cmocka_unit_test(a_lost_connection_loses_its_jobs_on_both_sides),
		cmocka_unit_test(dictionaries_and_rules_go_before_the_jobs),
		cmocka_unit_test(hostile_masters_are_hung_up_on),
		cmocka_unit_test(a_second_master_is_told_to_go),
		cmocka_unit_test(without_tocks_everything_is_dropped),
		cmocka_unit_test(another_version_is_refused_by_name),
		cmocka_unit_test(hostile_reapds_are_dropped),
		cmocka_unit_test(silence_loses_the_jobs_and_late_answers_count_nothing),
		cmocka_unit_test(a_reapd_that_was_stopped_drops_everything),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
