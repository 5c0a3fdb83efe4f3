/* What the unit programs of reapers share: a reapd whose reaper answers when the test says so, and
 * a master, in one loop, over a socket. */
#pragma once
#include "shepherd/reap/reaper_remote.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/list.h"
#include "bucket/bucket_attrs.h"
#include "fetch/kit.h"
#include "role/listen.h"
#include "shepherd/reap/reap_wire.h"
#include "shepherd/reap/reapd_server.h"
#include "unit/logged.h"
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

static inline struct field *field_of(const struct reaper *r)
{
	return LIST_OF(struct field, r, reaper);
}

static inline int field_begin(struct reaper *r, const char *dict_path, struct err *err)
{
	(void)err;
	field_of(r)->begun = true;
	field_of(r)->has_dict = dict_path != NULL;
	return 0;
}

static inline uint64_t field_room(const struct reaper *r)
{
	return field_of(r)->room;
}

static inline int field_submit(struct reaper *r, const struct reaper_job *job,
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

static inline void field_cancel(struct reaper *r, uint64_t id)
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

static inline void field_until(void *ctx, int64_t mono_us)
{
	((struct field *)ctx)->until_us = mono_us;
}

static inline int field_drop(void *ctx, struct err *err)
{
	struct field *f = ctx;
	(void)err;
	f->drops++;
	f->n = 0;
	return 0;
}

static inline int field_rules(void *ctx, const struct reaper_rules *rules, struct err *err)
{
	struct field *f = ctx;
	assert_str(rules->site, "http://a.test");
	f->rules++;
	return str_is(rules->compiled, "bad") ? err_set(err, ERR_DAMAGED, "bad") : 0;
}

static inline void field_failed(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("%s", err->msg);
}

/* Both sides, and what the master was told. */
struct world {
	struct loop *loop;
	bool manual;   /* its time is the test's */
	bool borrowed; /* the loop */
	struct field field;
	struct reapd_server *server;
	struct server_limits limits;
	struct robot_limits robot;
	int listen_fd;
	char address[128];
	struct conn_pool *pool;
	struct tls *tls_reapd, *tls_master; /* NULL: none */
	struct polite *polite;
	struct reaper_host host;
	struct reaper *remote;
	struct buf story;
};

static inline void story_done(void *ctx, struct reaper *r, const struct reaper_answer *a)
{
	struct world *w = ctx;
	(void)r;
	if (a->not_now_us)
		buf_printf(&w->story, "not-now:%" PRIu64 "@%" PRId64 " ", a->id,
			   a->not_now_us / US_PER_MS);
	else
		buf_printf(&w->story, "done:%" PRIu64 "=%u+%zu ", a->id, a->code, a->links);
}

static inline void story_lost(void *ctx, struct reaper *r, uint64_t id, int64_t rests_us)
{
	struct world *w = ctx;
	(void)r;
	buf_printf(&w->story, "lost:%" PRIu64 "@%" PRId64 " ", id, rests_us / US_PER_S);
}

static inline void story_room(void *ctx, struct reaper *r)
{
	(void)ctx, (void)r;
}

static inline void story_failed(void *ctx, struct reaper *r, const struct err *err)
{
	(void)ctx, (void)r;
	fail_msg("%s", err->msg);
}

static inline void settle(struct world *w)
{
	for (int i = 0; i < 12 && w->manual; i++)
		loop_step(w->loop, loop_now_us(w->loop));
}

static inline void wait_us(struct world *w, int64_t us)
{
	loop_step(w->loop, loop_now_us(w->loop) + us);
	settle(w);
}

/* All that has happened, and that the reaper gave nothing to warn of. */
static inline void expect(struct world *w, const char *story)
{
	assert_string_equal(buf_text(&w->story), story);
	buf_clear(&w->story);
	assert_int_equal(logged_times(" warn role: reaper "), 0);
}

/* What has happened among other things, or was logged. */
static inline void expect_part(struct world *w, const char *part)
{
	if (!strstr(buf_text(&w->story), part) && !logged_times(part))
		fail_msg("'%s' is neither in '%s' nor in the log: %s", part, buf_text(&w->story),
			 logged_text);
	buf_clear(&w->story);
	logged_start();
}

/* loop: of another world, or NULL. */
static inline void world_make(struct world *w, bool manual, struct loop *loop)
{
	static unsigned number;
	char name[32], path[400];
	struct err err = {0};
	const struct loop_options options = {.manual = manual, .start_us = START_US};
	struct polite_options table = {
		.servers = 64, .boot = "b", .now_us = START_US, .wall_us = 1};
	logged_start();
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
	w->borrowed = loop != NULL;
	w->loop = loop;
	if (!loop)
		MUST(loop_new(&w->loop, &options, &err));
	snprintf(w->address, sizeof w->address, "unix:%s.s", scratch(name));
	snprintf(path, sizeof path, "%s.polite", scratch(name));
	MUST(polite_open(&w->polite, path, &table, &err));
	w->pool = conn_pool_new(w->loop, REAPER_REMOTE_MEMORY);
	w->host = (struct reaper_host){.done = story_done,
				       .lost = story_lost,
				       .room = story_room,
				       .failed = story_failed,
				       .ctx = w};
}

static inline void world_reapd(struct world *w)
{
	struct err err = {0};
	const struct reapd_server_options options = {
		.loop = w->loop,
		.limits = &w->limits,
		.tls = w->tls_reapd,
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

static inline void world_master(struct world *w)
{
	struct err err = {0};
	const struct reaper_remote_options options = {
		.pool = w->pool,
		.address = w->address,
		.tls = w->tls_master,
		.polite = w->polite,
		.lease_us = LEASE_US,
		.penalty_us = PENALTY_US,
		.host = &w->host,
	};
	MUST(reaper_remote_new(&w->remote, &options, &err));
	MUST(w->remote->ops->begin(w->remote, NULL, &err));
	settle(w);
}

static inline void world_both(struct world *w)
{
	world_make(w, true, NULL);
	world_reapd(w);
	world_master(w);
	assert_int_equal(w->remote->ops->state(w->remote), REAPER_UP);
	expect(w, "");
}

static inline void world_free(struct world *w)
{
	if (w->remote)
		w->remote->ops->free(&w->remote);
	reapd_server_free(&w->server);
	conn_pool_free(&w->pool);
	polite_close(&w->polite);
	tls_free(&w->tls_reapd);
	tls_free(&w->tls_master);
	if (!w->borrowed)
		loop_free(&w->loop);
	if (w->listen_fd > 0)
		close(w->listen_fd);
	buf_free(&w->story);
	arena_free(&w->field.arena);
}

/* Jobs: number n is page n of server n. */

static inline struct reaper_job job_of(uint64_t id, char text[64])
{
	char room[URL_MAX];
	struct url url;
	snprintf(text, 64, "http://a.test/%" PRIu64, id);
	struct reaper_job job = {
		.id = id,
		.url = str_of(text),
		.addr = {.family = AF_INET, .port = 80, .b = {192, 0, 2, (uint8_t)id}},
		.now_s = 1794700800,
		.limits = {.body = 1 << 20, .idle_us = US_PER_S, .total_us = US_PER_MIN},
		.rule = {.delay_us = DELAY_US, .concurrent = 1},
	};
	assert_int_equal(0, url_parse(job.url, NULL, room, sizeof room, &url));
	job.fp = footprint_of(&url);
	return job;
}

static inline void give_job(struct world *w, uint64_t id)
{
	struct err err = {0};
	char text[64];
	struct reaper_job job = job_of(id, text);
	MUST(w->remote->ops->submit(w->remote, &job, NULL, &err));
	settle(w);
}

/* The reaper of the reapd has fetched the job at this place; its request went out ago_us ago. */
static inline void fetched(struct world *w, size_t at, int64_t ago_us)
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
				  .key = kit_qkey(&job->addr),
				  .ago_us = ago_us,
				  .ended_s = job->now_s + 1,
				  .downloaded_s = job->now_s + 1,
				  .changed_s = job->now_s,
				  .link = &link,
				  .links = 1};
	attrs_add(&header, &arena, 'O',
		  str_of(arena_printf(&arena, "%016" PRIx64 "%016" PRIx64, job->fp.site,
				      job->fp.path)));
	attrs_add(&header, &arena, 'U', job->url);
	attrs_add(&header, &arena, 'D', str_of(arena_printf(&arena, "%" PRId64, a.downloaded_s)));
	attrs_add(&header, &arena, 'J', str_of(arena_printf(&arena, "%" PRId64, a.changed_s)));
	MUST(bucket_encode(NULL, &header, &body, &bucket, &a.bucket_type, &err));
	a.bucket = buf_str(&bucket);
	host->done(host->ctx, &w->field.reaper, &a);
	settle(w);
}

/* How long the server of a job has to be left alone; 0: it may be asked. */
static inline int64_t server_rests_us(struct world *w, uint64_t id)
{
	char text[64];
	struct reaper_job job = job_of(id, text);
	struct lease lease;
	int64_t wait_for_us = 0, now_us = loop_now_us(w->loop);
	if (polite_take(w->polite, &job.addr, &job.rule, now_us, &lease, &wait_for_us) == 0)
		polite_end(w->polite, &lease, OUTCOME_CANCELLED, 0, now_us);
	return wait_for_us;
}
