/* The thread that fetches secrets. Each ask lies in the arena of its HTTP request, which lives
 * until http_again(), so a request whose client has gone leaves nothing behind. */
#include "cache/rs/rs_robot.h"

#include "base/hash.h"
#include "base/table.h"
#include "base/thread.h"
#include "fetch/kit.h"
#include "url/url.h"

#include <sys/random.h>

enum { HOSTS_MOST = 4096 };
#define PATIENCE_US (20 * US_PER_S)

struct ask {
	struct rs_robot *robot;
	struct http_request *req;
	struct robot_memory_sink sink;
	struct buf body;
	struct rs_fetch fetch;
	char url[URL_MAX];
};

struct asked {
	int64_t at_us[RS_ROBOT_ASKS]; /* a ring */
	unsigned next;
};
TABLE(hosts, uint64_t, struct asked, hash_u64, table_same_u64)

struct rs_robot {
	struct loop *loop;
	struct kit kit;
	struct robot_limits limits;
	struct loop_timer *timer;
	int64_t every_us;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the rest */
	size_t n;             /* asks that are not answered */
	bool stops;
	uint64_t seed; /* for hashing names of hosts */
	struct hosts hosts;
};

/* In the loop's thread. http_again() gives the request back: it must not be used afterwards. */
static void ask_end(struct ask *a)
{
	struct rs_robot *r = a->robot;
	struct http_request *req = a->req;
	a->fetch.n = MIN(a->body.n, (size_t)RS_ROBOT_BODY);
	if (a->fetch.n)
		memcpy(a->fetch.body, a->body.p, a->fetch.n);
	a->fetch.is_done = true;
	buf_free(&a->body);
	pthread_mutex_lock(&r->lock);
	r->n--;
	pthread_mutex_unlock(&r->lock);
	http_again(req);
}

static void ask_done(void *ctx, const struct robot_result *result)
{
	struct ask *a = ctx;
	a->fetch.outcome = result->outcome;
	a->fetch.cause = result->cause;
	a->fetch.status = result->head->status;
	ask_end(a);
}

static void ask_begin(void *ctx)
{
	static const struct polite_rule rule = {.delay_us = 0, .concurrent = 2, .exempt = true};
	struct ask *a = ctx;
	struct err err;
	a->fetch.outcome = OUTCOME_CANCELLED;
	a->fetch.cause = ROBOT_CAUSE_STOPPED;
	a->sink = robot_memory_sink(&a->body, false);
	const struct robot_job job = {
		.url = str_of(a->url),
		.limits = &a->robot->limits,
		.rule = &rule,
		.sink = &a->sink.sink,
		.flags = ROBOT_WAIT | ROBOT_NO_FOLLOW | ROBOT_NO_ROBOTS | ROBOT_NO_SHA256,
		.patience_us = PATIENCE_US,
	};
	if (robot_fetch(a->robot->kit.robot, &job, ask_done, a, &err) < 0)
		ask_end(a);
}

static void *robot_thread(void *ctx)
{
	struct rs_robot *r = ctx;
	struct err err;
	loop_timer_every(r->loop, r->timer, r->every_us);
	int rc = loop_run(r->loop, &err);
	ENSURE(rc == 0);
	loop_timer_stop(r->timer);
	/* ends fetches in progress as ROBOT_CAUSE_STOPPED */
	(void)kit_close(&r->kit, &err);
	return NULL;
}

int rs_robot_new(struct rs_robot **ret, const char *data, const struct robot_section_conf *conf,
		 struct loop_timer *timer, int64_t every_us, struct err *err)
{
	struct rs_robot *r = mem_alloc(sizeof *r);
	pthread_mutex_init(&r->lock, NULL);
	r->timer = timer;
	r->every_us = every_us;
	ENSURE(getrandom(&r->seed, sizeof r->seed, 0) == (ssize_t)sizeof r->seed);
	r->limits = conf->robot.limits;
	r->limits.body = RS_ROBOT_BODY;
	if (loop_new(&r->loop, NULL, err) < 0 || kit_open(&r->kit, r->loop, data, conf, err) < 0 ||
	    thread_start(&r->thread, robot_thread, r, err) < 0) {
		struct err ignored;
		if (r->loop)
			(void)kit_close(&r->kit, &ignored);
		loop_free(&r->loop);
		pthread_mutex_destroy(&r->lock);
		mem_free(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

static void robot_end(void *ctx)
{
	struct rs_robot *r = ctx;
	loop_stop(r->loop);
}

void rs_robot_stop(struct rs_robot *r)
{
	pthread_mutex_lock(&r->lock);
	r->stops = true;
	loop_post(r->loop, robot_end, r); /* after the last ask */
	pthread_mutex_unlock(&r->lock);
}

void rs_robot_free(struct rs_robot **robot)
{
	struct rs_robot *r = *robot;
	if (!r)
		return;
	rs_robot_stop(r);
	pthread_join(r->thread, NULL);
	loop_free(&r->loop);
	hosts_free(&r->hosts);
	pthread_mutex_destroy(&r->lock);
	mem_free(robot);
}

/* The lock is held. */
static bool hosts_have_room(struct rs_robot *r, int64_t now_us)
{
	if (hosts_count(&r->hosts) < HOSTS_MOST)
		return true;
	TABLE_EACH (hosts, slot, &r->hosts) {
		const struct asked *h = &slot->value;
		int64_t last = h->at_us[(h->next + RS_ROBOT_ASKS - 1) % RS_ROBOT_ASKS];
		if (last + US_PER_MIN <= now_us)
			hosts_remove(&r->hosts, slot->key);
	}
	return hosts_count(&r->hosts) < HOSTS_MOST;
}

/* The lock is held. Counts an ask of a host or of a provider; false: RS_ROBOT_ASKS were counted in
 * the last minute. Providers are limited too, since the owner of a domain with many hosts could
 * fill the table. */
static bool may_be_counted(struct rs_robot *r, uint64_t key, int64_t now_us)
{
	bool is_new;
	if (!hosts_have_room(r, now_us))
		return false;
	struct asked *h = hosts_put_new(&r->hosts, key, &is_new);
	for (unsigned i = 0; is_new && i < RS_ROBOT_ASKS; i++)
		h->at_us[i] = now_us - US_PER_MIN;
	if (h->at_us[h->next] + US_PER_MIN > now_us)
		return false;
	h->at_us[h->next] = now_us;
	h->next = (h->next + 1) % RS_ROBOT_ASKS;
	return true;
}

static bool host_may_be_asked(struct rs_robot *r, struct str host, uint64_t provider,
			      int64_t now_us)
{
	while (host.n && host.p[host.n - 1] == '.')
		host.n--;
	return may_be_counted(r, hash_u64(provider), now_us) &&
	       may_be_counted(r, hash64_seeded(host, r->seed), now_us);
}

int rs_robot_fetch(struct rs_robot *r, struct http_request *req, uint64_t provider, struct str text,
		   int64_t now_us, struct rs_fetch **ret, struct err *err)
{
	struct ask *a = arena_alloc(&req->arena, sizeof *a);
	struct url url;
	a->robot = r;
	a->req = req;
	a->body = BUF_INIT(RS_ROBOT_BODY);
	int rc = url_parse(text, NULL, a->url, sizeof a->url - 1, &url);
	if (rc < 0)
		return url_fail(rc, text, err);
	a->url[url.href.n] = 0;
	pthread_mutex_lock(&r->lock);
	if (r->stops || r->n >= RS_ROBOT_MOST)
		rc = err_set(err, ERR_BUSY, "too many files are being fetched: try again later");
	else if (!host_may_be_asked(r, url.host, provider, now_us))
		rc = 1;
	if (rc == 0) {
		r->n++;
		*ret = &a->fetch;
		loop_post(r->loop, ask_begin, a);
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}
