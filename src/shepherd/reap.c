#include "shepherd/reap_inner.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"

#include <string.h>

/* Documents that wait for the parsers at most; then no more are fetched. Each that waits counts as
 * several requests, so that fewer are begun the further the parsers are behind. */
enum { PARSE_QUEUE = 256, PARSE_COUNTS = 8, OUT_MOST = 100000 };

#define CHECKPOINT_US (US_PER_S / 2)

/* What is under way when the time is up may take so much longer. */
#define GRACE_US (3 * US_PER_S)

/* Followers are waited for; one that is further behind is not, it was away. */
#define AWAY_US (60 * US_PER_S)
#define LOOK_US (US_PER_S / 4)

static const struct polite_rule at_once = {0, POLITE_CONCURRENT_MAX};

void reap_count(struct reap *r, enum reap_counter which, uint64_t n)
{
	if (r->o.counters)
		counters_add(r->o.counters, r->o.counters_at + which, n);
}

static void gauges(struct reap *r)
{
	if (!r->o.counters)
		return;
	counters_set(r->o.counters, r->o.counters_at + REAP_WAITING, (int64_t)r->left);
	counters_set(r->o.counters, r->o.counters_at + REAP_UNDER_WAY, (int64_t)r->out);
}

void reap_fail(struct reap *r, const struct err *err)
{
	if (r->err.code == ERR_NONE)
		r->err = *err;
	r->stopping = true;
	loop_stop(r->o.loop);
}

/* Jobs. */

static void job_free(struct reap_job *job)
{
	struct reap *r = job->reap;
	job->prev->next = job->next;
	job->next->prev = job->prev;
	r->out--;
	buf_free(&job->body);
	arena_free(&job->arena);
	mem_free(&job);
}

void reap_job_done(struct reap_job *job)
{
	struct reap *r = job->reap;
	r->left--;
	job_free(job);
	loop_later(r->o.loop, &r->pump);
}

/* Where the URL of an entry stands, with what its last copy was known by. */
static int load(struct reap_job *job, struct err *err)
{
	struct reap *r = job->reap;
	struct bucket bucket = {0};
	struct attrs header;
	int rc = job->entry.where < BUCKET_SPECIAL
			 ? bucket_read(r->buckets, (uint32_t)job->entry.where, &bucket, err)
			 : 1;
	if (rc < 0)
		return -1;
	if (rc > 0)
		return err_set(err, ERR_DAMAGED, "bucket %llx is not there",
			       (unsigned long long)job->entry.where);
	bucket.data = arena_str(&job->arena, bucket.data);
	if (bucket_header(bucket.type, bucket.data, &job->arena, &header, NULL, err) < 0)
		return -1;
	job->old = bucket;
	job->url = attrs_get(&header, 'U');
	if (!job->url.n) { /* of the oldest version: all of it is body */
		struct attrs body;
		if (bucket_decode(r->packer, bucket.type, bucket.data, &job->arena, &header, &body,
				  err) < 0)
			return -1;
		job->url = attrs_get(&body, 'U');
	}
	if (job->entry.flags & PLAN_REFRESH) {
		job->etag = attrs_get(&header, REAP_ETAG);
		job->last_modified = attrs_get(&header, REAP_LAST_MODIFIED);
		job->md5 = attrs_get(&header, REAP_MD5);
	}
	return job->url.n ? 0 : err_set(err, ERR_DAMAGED, "a bucket without URL");
}

static void fetched(void *ctx, const struct robot_result *result);

static void begin(struct reap *r, const struct hostq_job *out)
{
	struct reap_job *job = mem_alloc(sizeof *job);
	struct err err;
	*job = (struct reap_job){
		.reap = r,
		.out = *out,
		.arena = ARENA_INIT(64 << 20),
		.body = BUF_INIT(r->o.robot->robot.limits.body),
	};
	job->next = &r->jobs;
	job->prev = r->jobs.prev;
	job->prev->next = r->jobs.prev = job;
	r->out++;
	ENSURE(out->payload.n == sizeof job->entry);
	memcpy(&job->entry, out->payload.p, sizeof job->entry);
	job->sink = robot_memory_sink(&job->body, false);
	int rc = load(job, &err);
	const struct site *site = sites_get(r->sites, job->entry.fp.site);
	bool fast = site && crawl_is_fast(r->o.conf, site);
	struct robot_job fetch = {
		.url = job->url,
		.etag = job->etag,
		.last_modified = job->last_modified,
		.rule = fast ? &at_once : NULL,
		.sink = &job->sink.sink,
		.flags = ROBOT_NO_FOLLOW | ROBOT_NO_SHA256,
		.patience_us = r->o.conf->cycle_us,
	};
	if (hostq_waiting(r->queue, out->key) &&
	    (fast || r->o.robot->robot.delay_us <= r->o.robot->robot.keep_us))
		fetch.flags |= ROBOT_KEEP;
	if (rc == 0)
		rc = robot_fetch(r->kit.robot, &fetch, fetched, job, &err);
	if (rc < 0 && err.code == ERR_SYSTEM) { /* it may go well another time */
		reap_fail(r, &err);
		hostq_unasked(r->queue, &job->out);
		job_free(job);
	} else if (rc < 0) {
		/* Neither URL nor bucket will get better: it is not tried again. */
		struct verdict v = {.type = ITEM_ZOMBIE,
				    .status = CRAWL_STATUS + OUTCOME_PERMANENT};
		snprintf(v.reason, sizeof v.reason, "%.190s", err.msg);
		hostq_unasked(r->queue, &job->out);
		reap_tell(job, &v, ITEM_NOWHERE);
		reap_job_done(job);
	}
}

static bool has_room(const struct reap *r)
{
	uint64_t most = (uint64_t)r->o.robot->robot.at_once;
	uint64_t load = r->out + (PARSE_COUNTS - 1) * r->parsing;
	return r->parsing < PARSE_QUEUE && r->out < OUT_MOST && r->out - r->parsing < most &&
	       load < MAX(most, (uint64_t)PARSE_QUEUE);
}

static void pump(void *ctx)
{
	struct reap *r = ctx;
	struct hostq_job out;
	struct err err;
	int64_t wait_us = INT64_MAX;
	int rc = 0;
	while (!r->stopping && !r->held && has_room(r) &&
	       (rc = hostq_take(r->queue, loop_now_us(r->o.loop), &out, &wait_us, &err)) == 0)
		begin(r, &out);
	if (rc < 0)
		reap_fail(r, &err);
	else if (rc == 1 && wait_us != INT64_MAX)
		loop_timer_in(r->o.loop, &r->wake, wait_us);
	if (r->left == 0 || (r->stopping && r->out == 0))
		loop_stop(r->o.loop);
}

static void fetched(void *ctx, const struct robot_result *result)
{
	struct reap_job *job = ctx;
	struct reap *r = job->reap;
	int64_t now_us = loop_now_us(r->o.loop);
	struct verdict v;
	if (result->cause == ROBOT_CAUSE_STOPPED || r->err.code != ERR_NONE) {
		job_free(job);
		return;
	}
	if (result->cause == ROBOT_CAUSE_NOT_NOW) {
		hostq_put_back(r->queue, &job->out, now_us + result->not_now_us);
		job_free(job);
		loop_later(r->o.loop, &r->pump);
		return;
	}
	if (result->cause == ROBOT_CAUSE_TABLE) {
		struct err err;
		err_set(&err, ERR_SYSTEM, "%s", result->why);
		reap_fail(r, &err);
	}
	job->qkey = result->addr.family ? kit_qkey(&result->addr) : 0;
	job->download_ms = (uint32_t)(result->times.first_us / 1000);
	job->wall_us = clock_wall_us();
	if (result->times.start_us)
		hostq_done(r->queue, &job->out, result->outcome, now_us);
	else
		hostq_unasked(r->queue, &job->out);
	reap_judge(result, &job->entry, r->o.conf, job->wall_us, &v);
	if (v.parse) {
		reap_count(r, REAP_BYTES, result->size);
		reap_document(job, result);
		return;
	}
	if (v.op == CHANGE_REFRESH) {
		reap_unchanged(job, result->head);
		return;
	}
	if (v.leads_on)
		reap_contribute(job, result->location, job->entry.item_flags & ITEM_INITIAL);
	reap_tell(job, &v, ITEM_NOWHERE);
	reap_count(r,
		   result->outcome == OUTCOME_REDIRECT
			   ? REAP_ELSEWHERE
			   : REAP_FAILED + (result->outcome - OUTCOME_TEMPORARY),
		   1);
	reap_job_done(job);
}

/* What an earlier run over the same state has done is not done again. */
static int load_done(struct reap *r, struct state *st, struct err *err)
{
	struct record_reader *in;
	struct record record;
	int rc = state_read(st, "journal", &in, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while ((rc = record_next(in, &record, err)) == 0) {
		struct journal_entry e;
		if ((rc = journal_read(record.payload, &e, err)) < 0)
			break;
		*fps_put(&r->done, e.fp) = true;
	}
	record_reader_free(&in);
	return rc < 0 ? -1 : 0;
}

/* The plan goes into the queues. */
static int fill(struct reap *r, struct state *st, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(256 << 20);
	struct plan_reader *in;
	struct plan_site site;
	int rc = plan_open(&in, state_path(st, &arena, "plan"), err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while ((rc = plan_next(in, &arena, &site, err)) == 0) {
		qkey key =
			site.qkey ? site.qkey : qkey_special(QKEY_UNRESOLVED, hash_u64(site.fp), 0);
		for (size_t i = 0; i < site.n; i++) {
			struct str payload = {(const char *)&site.entry[i], sizeof site.entry[i]};
			if (fps_get(&r->done, site.entry[i].fp))
				continue;
			unsigned class = 3 - MIN(site.entry[i].priority >> 28, 3);
			if (hostq_push(r->queue, key, class, payload, 0, err) < 0) {
				rc = -1;
				break;
			}
			r->left++;
		}
		const struct site *known = sites_get(r->sites, site.fp);
		if (known && crawl_is_fast(r->o.conf, known))
			hostq_set_rule(r->queue, key, &at_once);
		if (rc < 0)
			break;
		arena_clear(&arena);
	}
	plan_close(&in);
	return rc < 0 ? -1 : 0;
}

/* Checkpoints. */

static int checkpoint(struct reap *r, struct err *err)
{
	if (r->o.requests && r->o.requests(r->o.ctx, r->state, err) < 0)
		return -1;
	FAULT("reap.checkpoint");
	int64_t now_us = clock_wall_us();
	if (state_checkpoint(r->state, r->buckets, now_us, err) < 0)
		return -1;
	r->offered_us = r->kept_us;
	r->kept_us = now_us;
	FAULT("reap.checked");
	if (r->o.kept)
		r->o.kept(r->o.ctx);
	reap_count(r, REAP_CHECKPOINTS, 1);
	gauges(r);
	return 0;
}

static void tick(void *ctx)
{
	struct reap *r = ctx;
	struct err err;
	if (checkpoint(r, &err) < 0)
		reap_fail(r, &err);
}

/* Nothing new is begun while a follower has not taken what the checkpoint before the last gave it.
 */
static void look(void *ctx)
{
	struct reap *r = ctx;
	int64_t behind_us = state_behind_us(r->state, r->offered_us, clock_wall_us());
	bool was_held = r->held;
	r->held = behind_us > 0 && behind_us < AWAY_US;
	if (was_held && !r->held)
		loop_later(r->o.loop, &r->pump);
}

/* First nothing new begins, then nothing is waited for any more. */
static void time_up(void *ctx)
{
	struct reap *r = ctx;
	if (r->stopping)
		loop_stop(r->o.loop);
	else
		reap_stop(r);
}

void reap_stop(struct reap *r)
{
	r->stopping = true;
	if (r->state) {
		loop_later(r->o.loop, &r->pump);
		loop_timer_in(r->o.loop, &r->end, GRACE_US);
	}
}

bool reap_runs(const struct reap *r)
{
	return r->state != NULL;
}

int reap_new(struct reap **ret, const struct reap_options *options, struct err *err)
{
	struct reap *r = mem_alloc(sizeof *r);
	r->o = *options;
	r->jobs.next = r->jobs.prev = &r->jobs;
	r->pump = (struct loop_later){.fn = pump, .ctx = r};
	r->wake = (struct loop_timer){.fn = pump, .ctx = r};
	r->tick = (struct loop_timer){.fn = tick, .ctx = r};
	r->end = (struct loop_timer){.fn = time_up, .ctx = r};
	r->look = (struct loop_timer){.fn = look, .ctx = r};
	if (kit_open(&r->kit, options->loop, options->data, options->robot, err) < 0 ||
	    reap_parsers_open(r, err) < 0) {
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
	(void)kit_close(&r->kit, &err);
	if (r->cage)
		reap_parsers_close(r);
	loop_later_cancel(&r->pump);
	mem_free(&r->seen);
	mem_free(rp);
}

/* Everything that is still out goes back: it was neither told nor kept. */
static void clear(struct reap *r)
{
	struct err err;
	reap_parsers_cancel(r);
	if (r->jobs.next != &r->jobs) {
		robot_free(&r->kit.robot);
		while (r->jobs.next != &r->jobs)
			job_free(r->jobs.next);
		if (kit_robot(&r->kit, r->o.robot, &err) < 0)
			reap_fail(r, &err);
	}
	loop_timer_stop(&r->wake);
	loop_timer_stop(&r->tick);
	loop_timer_stop(&r->end);
	loop_timer_stop(&r->look);
	loop_later_cancel(&r->pump);
	hostq_free(&r->queue);
	bucket_packer_free(&r->packer);
	r->left = r->parsing = 0;
	r->state = NULL;
	r->buckets = NULL;
	gauges(r);
}

int reap_run(struct reap *r, struct state *st, struct buckets *buckets, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct hostq_options queue = {
		.rule = {r->o.robot->robot.delay_us, (unsigned)r->o.robot->robot.concurrent},
		.folder = state_path(st, &arena, "."),
	};
	r->state = st;
	r->buckets = buckets;
	r->err = (struct err){0};
	r->held = false;
	r->packer = bucket_packer_new(bucket_dict_path(&arena, bucket_path(buckets)));
	r->sites = NULL;
	mem_free(&r->seen); /* what was contributed in another cycle may be forgotten since */
	int rc = hostq_new(&r->queue, &queue, err);
	if (rc == 0)
		rc = state_sites(st, &r->sites, err);
	if (rc == 0)
		rc = load_done(r, st, err);
	if (rc == 0)
		rc = fill(r, st, err);
	fps_free(&r->done);
	if (rc == 0)
		rc = checkpoint(r, err); /* from here on the state is rolled back, not deleted */
	if (rc == 0 && !r->stopping && r->left) {
		loop_timer_every(r->o.loop, &r->tick, CHECKPOINT_US);
		loop_timer_every(r->o.loop, &r->look, LOOK_US);
		loop_timer_in(r->o.loop, &r->end, r->o.conf->cycle_us);
		loop_later(r->o.loop, &r->pump);
		rc = loop_run(r->o.loop, err);
	}
	if (rc == 0 && r->err.code != ERR_NONE) {
		*err = r->err;
		rc = -1;
	}
	if (rc == 0)
		rc = checkpoint(r, err);
	sites_free(&r->sites);
	clear(r);
	r->stopping = false;
	return rc;
}
