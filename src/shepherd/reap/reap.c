/* Reap, on one loop: the plan goes into host queues, a job from its queue to a reaper, its answer
 * into the bucket file and the journal. Nothing waits for a disk but checkpoints. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "shepherd/reap/reap_inner.h"

#define CHECKPOINT_US (US_PER_S / 2)

/* How long what is known of robots.txt may stay unwritten. */
#define RULES_US (2 * US_PER_S)

/* How much longer requests may take that are under way when a signal comes. */
#define GRACE_US (3 * US_PER_S)

/* Followers are waited for; one that lags by more is not, it was away. */
#define AWAY_US (60 * US_PER_S)
#define LOOK_US (US_PER_S / 4)

static void reap_gauges(struct reap *r)
{
	counters_set(r->o.counters, REAP_WAITING, (int64_t)r->left);
	counters_set(r->o.counters, REAP_UNDER_WAY, (int64_t)reap_jobs_count(&r->out));
}

void reap_fail(struct reap *r, const struct err *err)
{
	if (r->err.code == ERR_NONE)
		r->err = *err;
	r->stopping = true;
	loop_stop(r->o.loop);
}

/* Keeps the time in which there was no room for another request: by it is known how fast reaping
 * can be, whatever the delays of servers. */
void reap_note_full(struct reap *r, bool full)
{
	int64_t now_us = loop_now_us(r->o.loop);
	if (!full && r->full_since_us)
		r->full_us += now_us - r->full_since_us;
	if (!full || !r->full_since_us)
		r->full_since_us = full ? now_us : 0;
}

/* Checkpoints */

static int reap_checkpoint(struct reap *r, struct err *err)
{
	struct err lost;
	if (r->o.requests && r->o.requests(r->o.ctx, reap_ask, r, err) < 0)
		return -1;
	FAULT("reap.checkpoint");
	int64_t now_us = clock_wall_us();
	/* every bucket has its journal entry: servers may be slow, and disks want to sleep */
	if (state_grown(r->state)) {
		if (state_checkpoint(r->state, r->buckets, now_us, err) < 0)
			return -1;
		counters_add(r->o.counters, REAP_CHECKPOINTS, 1);
		if (r->careful && r->begun) {
			r->careful = false;
			loop_later(r->o.loop, &r->pump);
		}
	}
	r->offered_us = r->kept_us;
	r->kept_us = now_us;
	FAULT("reap.checked");
	if (r->o.kept)
		r->o.kept(r->o.ctx);
	reap_gauges(r);
	if (url_log_flush(r->log, &lost) < 0)
		log_warn(ROLE, "writing the URL log failed", KV_TEXT("why", lost.msg));
	return 0;
}

static void reap_tick(void *ctx)
{
	struct reap *r = ctx;
	struct err err;
	int64_t now_us = loop_now_us(r->o.loop);
	if (reap_checkpoint(r, &err) < 0)
		reap_fail(r, &err);
	if (robots_cache_dirty(r->kit.robots) && now_us - r->rules_us >= RULES_US) {
		r->rules_us = now_us;
		(void)robots_cache_sync(r->kit.robots, &err); /* a cache: buckets have it too */
	}
}

/* Nothing new begins. What is under way is waited for only by those who end with this run; a signal
 * makes that short. */
static void reap_time_up(void *ctx)
{
	struct reap *r = ctx;
	if (r->stopping || !r->o.waits)
		loop_stop(r->o.loop);
	r->stopping = true;
	loop_later(r->o.loop, &r->pump);
}

/* Nothing new is begun while a follower has not taken what the checkpoint before the last gave it;
 * where there is no room to keep it, it ends. */
static void reap_look(void *ctx)
{
	struct reap *r = ctx;
	int64_t behind_us = state_behind_us(r->state, r->offered_us, clock_wall_us());
	bool was_held = r->held;
	bool full = crawl_file_is_full(r->crawl->conf, bucket_length(r->buckets)) ||
		    (r->o.full && r->o.full(r->o.ctx));
	r->held = behind_us > 0 && behind_us < AWAY_US;
	if (was_held && !r->held)
		loop_later(r->o.loop, &r->pump);
	if (!r->stopping && full)
		reap_time_up(r); /* there has to be room first */
}

void reap_stop(struct reap *r)
{
	r->stopping = true;
	if (r->state) {
		loop_later(r->o.loop, &r->pump);
		loop_timer_in(r->o.loop, &r->end, GRACE_US);
	}
}

void reap_be_careful(struct reap *r)
{
	r->careful = true;
}

const struct state *reap_state(const struct reap *r)
{
	return r->state;
}

/* Something of this process failed. */
static void reap_reaper_failed(void *ctx, struct reaper *from, const struct err *err)
{
	(void)from;
	reap_fail(ctx, err);
}

static void reap_has_room(void *ctx, struct reaper *from)
{
	struct reap *r = ctx;
	(void)from;
	if (r->state)
		loop_later(r->o.loop, &r->pump);
}

/* The local reaper, and those of other machines. */
static int reap_make_reapers(struct reap *r, struct err *err)
{
	const struct reaper_local_options options = {
		.kit = &r->kit,
		.robot = r->o.robot,
		.parse = r->o.parse,
		.parsers = (unsigned)r->o.conf->parsers,
		.robots = false, /* reap has judged by it */
		.host = &r->host,
	};
	if (reaper_local_new(&r->local, &options, err) < 0)
		return -1;
	const struct reapers_options all = {
		.loop = r->o.loop,
		.conf = r->o.conf,
		.data = r->o.data,
		.polite = r->kit.polite,
		.local = r->local,
		.host = &r->host,
	};
	return reapers_new(&r->reapers, &all, err);
}

static int reap_open_log(struct reap *r, struct err *err)
{
	const char *path = r->o.conf->url_log;
	return path && path[0] ? url_log_open(&r->log, path, err) : 0;
}

void reap_reopen_log(struct reap *r)
{
	struct err err;
	if (r->log && url_log_reopen(r->log, &err) < 0)
		log_warn(ROLE, "reopening the URL log failed", KV_TEXT("why", err.msg));
}

int reap_new(struct reap **ret, const struct reap_options *options, struct err *err)
{
	const char *proxy = options->robot->robot.proxy;
	if (proxy && proxy[0] && options->conf->reapers.n)
		return err_set(err, ERR_USAGE,
			       "robot.proxy and shepherd.reapers are both set: a proxy knows the "
			       "names, and reapds are told addresses; unset one of them");
	struct reap *r = mem_alloc(sizeof *r);
	r->o = *options;
	r->host = (struct reaper_host){.done = reap_answered,
				       .lost = reap_lost_job,
				       .room = reap_has_room,
				       .failed = reap_reaper_failed,
				       .ctx = r};
	r->by_proxy = proxy && proxy[0];
	r->links = reaper_links_new();
	list_init(&r->jobs);
	list_init(&r->names);
	list_init(&r->ahead);
	list_init(&r->asked_names);
	r->pump = (struct loop_later){.fn = reap_pump, .ctx = r};
	r->wake = (struct loop_timer){.fn = reap_pump, .ctx = r};
	r->tick = (struct loop_timer){.fn = reap_tick, .ctx = r};
	r->end = (struct loop_timer){.fn = reap_time_up, .ctx = r};
	r->look = (struct loop_timer){.fn = reap_look, .ctx = r};
	if (kit_open(&r->kit, options->loop, options->data, options->robot, err) < 0 ||
	    reap_make_reapers(r, err) < 0 || reap_open_log(r, err) < 0) {
		reap_free(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

void reap_free(struct reap **rp)
{
	struct reap *r = *rp;
	struct err err;
	if (!r)
		return;
	reapers_free(&r->reapers);
	if (r->local)
		r->local->ops->free(&r->local);
	url_log_close(&r->log);
	LIST_EACH (struct reap_job, job, &r->jobs, link)
		reap_job_free(job);
	arena_pool_free(&r->arenas);
	reap_jobs_free(&r->out);
	(void)kit_close(&r->kit, &err);
	loop_later_cancel(&r->pump);
	reaper_links_free(&r->links);
	mem_free(&r->seen);
	mem_free(&r->awaited);
	mem_free(&r->leads);
	mem_free(rp);
}

/* What is still out, and was neither told nor kept: it is forgotten, or with `keep` goes on and
 * belongs to the next run. */
static void reap_clear_jobs(struct reap *r, bool keep)
{
	struct err err;
	if (!keep && reaper_local_drop(r->local, &err) < 0)
		reap_fail(r, &err);
	LIST_EACH (struct reap_job, job, &r->jobs, link) {
		if (!keep && job->reaper)
			job->reaper->ops->cancel(job->reaper, job->id);
		job->queued = false;
		job->site = NULL;
		if (!keep || !job->reaper)
			reap_job_free(job);
	}
}

static void reap_clear(struct reap *r, bool keep)
{
	reap_names_clear(r);
	reap_clear_jobs(r, keep);
	loop_timer_stop(&r->wake);
	loop_timer_stop(&r->tick);
	loop_timer_stop(&r->end);
	loop_timer_stop(&r->look);
	loop_later_cancel(&r->pump);
	hostq_free(&r->queue);
	bucket_packer_free(&r->packer);
	servers_free(&r->servers);
	known_sites_free(&r->known);
	key_rules_free(&r->rules);
	fps_free(&r->gone);
	r->left = r->dropped = 0;
	r->state = NULL;
	r->buckets = NULL;
	reap_gauges(r);
}

/* The number of a site's server. A site that does not exist, and is in the plan though it is dead,
 * is to be looked for again. */
static uint32_t site_number(const struct reap *r, const struct site *site)
{
	struct server room;
	uint32_t number = servers_of(r->servers, site, &room)->number;
	bool expired = qkey_kind(site->qkey) == QKEY_NONEXISTENT &&
		       site->error_cycles > r->o.conf->site_err_retry;
	return expired ? SITE_EXPIRED : MIN(number, SITE_UNSERVED);
}

/* Sites by their footprints, a few bytes each. */
static int reap_load_sites(struct reap *r, struct state *st, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct site site;
	if (servers_load(&r->servers, st, r->crawl, err) < 0)
		return -1;
	int rc = state_sites_scan(st, &scan, err);
	while (rc == 0 && (rc = sites_scan_next(scan, &site, err)) == 0)
		*known_sites_put(&r->known, site.fp) = site_number(r, &site);
	return MIN(rc, 0);
}

/* Queues, sites and packer for the run. */
static int reap_begin(struct reap *r, struct state *st, const struct crawl *c, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct hostq_options queue = {
		.rule = {.delay_us = c->delay_us, .concurrent = c->concurrent},
		.folder = state_folder(st),
		.urgent = true,
		.keep_us = r->o.robot->robot.keep_us,
	};
	r->state = st;
	r->buckets = c->buckets;
	r->crawl = c;
	r->err = (struct err){0};
	r->held = r->o.full && r->o.full(r->o.ctx);
	r->begun = r->done_now = r->asked = 0;
	r->full_since_us = r->full_us = 0;
	const char *dict = bucket_dict_path(&arena, bucket_path(c->buckets));
	r->packer = bucket_packer_new(dict);
	mem_free(&r->seen); /* what was contributed in another cycle may be forgotten since */
	mem_free(&r->awaited);
	int rc = hostq_new(&r->queue, &queue, err);
	if (rc == 0)
		rc = reap_load_sites(r, st, err);
	if (rc == 0)
		rc = reapers_begin(r->reapers, dict, err);
	if (rc == 0)
		rc = reap_fill(r, st, err);
	return rc;
}

int reap_run(struct reap *r, struct state *st, const struct crawl *c, struct reaped *ret,
	     struct err *err)
{
	int64_t from_us = clock_mono_us();
	int rc = reap_begin(r, st, c, err);
	if (rc == 0) /* from here on the state is rolled back, not deleted */
		rc = reap_checkpoint(r, err);
	if (rc == 0)
		reap_adopted(r);
	if (rc == 0 && !r->stopping && r->left) {
		loop_timer_every(r->o.loop, &r->tick, CHECKPOINT_US);
		loop_timer_every(r->o.loop, &r->look, LOOK_US);
		loop_timer_in(r->o.loop, &r->end, c->cycle_us);
		loop_later(r->o.loop, &r->pump);
		rc = loop_run(r->o.loop, err);
	}
	if (rc == 0 && r->err.code != ERR_NONE) {
		*err = r->err;
		rc = -1;
	}
	if (rc == 0)
		rc = reap_checkpoint(r, err);
	reap_note_full(r, false);
	*ret = (struct reaped){.done = r->done_now,
			       .left = r->left + r->dropped + r->lost_plan,
			       .took_us = clock_mono_us() - from_us,
			       .full_us = r->full_us,
			       .asked = r->asked};
	reap_clear(r, rc == 0);
	r->stopping = false;
	return rc;
}
