/* Sharing by virtual time: each reaper has a clock that goes on by 1/weight with each job it gets,
 * and the one with the earliest clock is next. One that has no room is not owed what it could not
 * take: its clock goes with the others'.
 *
 * The weight is what a reaper can do in a second: its capacity over the time that a job takes
 * there. That time depends on the servers that a reaper happened to be given as much as on itself,
 * so what differs by less than a third from the others counts as the same. */
#include "shepherd/reap/reapers.h"

#include "base/clock.h"
#include "base/fault.h"
#include "disk/lock.h"
#include "shepherd/reap/reaper_remote.h"
#include "store/small.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STATUS_EVERY_US US_PER_S

struct member {
	struct reaper *reaper;
	bool was_up;
	double clock;
};

struct reapers {
	struct reapers_options o;
	struct conn_pool *pool;
	struct tls *tls;       /* NULL: none */
	struct member *member; /* the local one first */
	size_t n;
	double clock;                   /* of the one that was chosen last */
	int64_t rest_us, rest_until_us; /* after a kill: nobody gets a job before */
	int64_t none_since_us;          /* no remote one is up since then; INT64_MAX: one is */
	struct loop_timer rest, wait;   /* until these times */
	struct loop_timer status;       /* writes the rows */
	struct small *small;
	struct reaper_status *written; /* what the rows say; NULL: nothing of it is sure */
	bool marked;                   /* they are ours */
};

/* What is stored of a reaper, and what is shown: all but the ends. */
static const struct column reaper_columns[] = {
	COL("place", struct reaper_status, place),
	COL("name", struct reaper_status, name, .label = "Reaper"),
	COL("kind", struct reaper_status, kind),
	COL("state", struct reaper_status, state, .label = "State"),
	COL("jobs", struct reaper_status, jobs, .label = "Jobs"),
	COL("out", struct reaper_status, out, .label = "Out"),
	COL("documents", struct reaper_status, documents, .label = "Documents"),
	COL("bytes", struct reaper_status, bytes, .label = "Bytes"),
	COL("errors", struct reaper_status, errors, .label = "Errors"),
	COL("lost", struct reaper_status, lost, .label = "Lost"),
	COL("late", struct reaper_status, late, .label = "Late"),
	COL("round_us", struct reaper_status, round_us, .label = "Round trip", .unit = UNIT_US_MS),
	COL("time", struct reaper_status, time_us, .unit = UNIT_TIME),
	COL("lease", struct reaper_status, lease_us),
};
const struct rows reaper_rows = {reaper_columns + 1, ARRAY_LEN(reaper_columns) - 2,
				 sizeof(struct reaper_status)};
static const struct small_table reapers_table = {
	.name = "reapers",
	.row = {ROWS(struct reaper_status, reaper_columns)},
	.key = 1,
	.most = 10000,
	.loose = true,
	.writer = "shepherd",
	.loss = "who fetches for the crawl; the next start gives nobody a job for shepherd.lease",
};

/* A kill leaves the rows behind, so the lock of the crawl is asked. */
int reapers_load(const char *data, struct arena *arena, struct reaper_status **ret, size_t *ret_n,
		 struct err *err)
{
	char lock[PATH_MAX];
	int64_t pid;
	void *all;
	snprintf(lock, sizeof lock, "%s/shepherd", data);
	int rc = lock_holder(lock, &pid, err);
	if (rc == 0)
		rc = small_list_in(data, &reapers_table, &all, ret_n, err);
	if (rc != 0)
		return rc;
	*ret = arena_array(arena, *ret_n, sizeof **ret);
	memcpy(*ret, all, *ret_n * sizeof **ret);
	mem_free(&all);
	return 0;
}

/* Who may take part. */

static bool member_is_up(const struct member *m)
{
	const struct reaper *r = m->reaper;
	return !r->ops->state || r->ops->state(r) == REAPER_UP;
}

static bool is_local(const struct reapers *rs, const struct member *m)
{
	return m->reaper == rs->o.local;
}

static bool local_takes_part(const struct reapers *rs)
{
	const struct crawl_conf *conf = rs->o.conf;
	if (rs->n == 1 || conf->local == CRAWL_LOCAL_ALWAYS)
		return true;
	return conf->local == CRAWL_LOCAL_AUTO && rs->none_since_us != INT64_MAX &&
	       loop_now_us(rs->o.loop) - rs->none_since_us >= conf->reapers_wait_us;
}

/* Since when none is up. A local reaper hands the work back: what it has it does. */
static void reapers_look(struct reapers *rs)
{
	bool up = false;
	for (size_t i = 1; i < rs->n; i++) {
		struct member *m = &rs->member[i];
		bool is_up = member_is_up(m);
		if (is_up && !m->was_up)
			m->clock = MAX(m->clock, rs->clock);
		m->was_up = is_up;
		up |= is_up;
	}
	if (up) {
		rs->none_since_us = INT64_MAX;
	} else if (rs->none_since_us == INT64_MAX) {
		rs->none_since_us = loop_now_us(rs->o.loop);
		loop_timer_in(rs->o.loop, &rs->wait, rs->o.conf->reapers_wait_us);
	}
}

static uint64_t member_room(struct reapers *rs, const struct member *m)
{
	if (loop_now_us(rs->o.loop) < rs->rest_until_us ||
	    (is_local(rs, m) && !local_takes_part(rs)))
		return 0;
	return m->reaper->ops->room(m->reaper);
}

/* The mean time of a job over those that have done some; 0: none has. */
static double mean_round_us(const struct reapers *rs)
{
	double sum = 0, n = 0;
	for (size_t i = 0; i < rs->n; i++) {
		sum += (double)rs->member[i].reaper->counts.round_us;
		n += rs->member[i].reaper->counts.round_us > 0;
	}
	return n > 0 ? sum / n : 0;
}

/* How long a job takes says something of its reaper only where that has much to do: else it is the
 * servers that are slow, by chance those of one reaper more than those of another. */
enum { BUSY_SHARE = 4 };

static double member_weight(const struct reapers *rs, const struct member *m, uint64_t room)
{
	const struct reaper_counts *c = &m->reaper->counts;
	double mean_us = mean_round_us(rs);
	double speed = c->round_us > 0 ? mean_us / (double)c->round_us : 1;
	if (c->out < room / (BUSY_SHARE - 1) || (speed > 0.75 && speed < 1.33))
		speed = 1;
	return (double)MAX(room + c->out, 1) * MIN(MAX(speed, 0.05), 20);
}

int reapers_choose(struct reapers *rs, struct reaper **ret)
{
	struct member *best = NULL;
	uint64_t best_room = 0;
	reapers_look(rs);
	for (size_t i = 0; i < rs->n; i++) {
		struct member *m = &rs->member[i];
		uint64_t room = member_room(rs, m);
		if (room == 0) {
			m->clock = MAX(m->clock, rs->clock);
		} else if (!best || m->clock < best->clock) {
			best = m;
			best_room = room;
		}
	}
	if (!best)
		return 1;
	rs->clock = MAX(rs->clock, best->clock);
	best->clock += 1 / member_weight(rs, best, best_room);
	*ret = best->reaper;
	return 0;
}

uint64_t reapers_room(struct reapers *rs)
{
	uint64_t room = 0;
	reapers_look(rs);
	for (size_t i = 0; i < rs->n; i++)
		room += member_room(rs, &rs->member[i]);
	return room;
}

int reapers_begin(struct reapers *rs, const char *dict_path, struct err *err)
{
	for (size_t i = 0; i < rs->n; i++) {
		struct reaper *r = rs->member[i].reaper;
		if (r->ops->begin(r, dict_path, err) < 0)
			return err_in(err, "%s", r->name);
	}
	return 0;
}

/* What is remembered. */

/* For how long others may go on if this process is killed now: also those of the one before, while
 * its rest is not over. 0: there are none. */
static int64_t reapers_lease_us(const struct reapers *rs)
{
	bool rests = loop_now_us(rs->o.loop) < rs->rest_until_us;
	int64_t lease_us = rs->n > 1 ? rs->o.conf->lease_us : 0;
	return rests ? MAX(rs->rest_us, lease_us) : lease_us;
}

static void status_of(const struct reapers *rs, const struct member *m, struct reaper_status *ret)
{
	const struct reaper_counts *c = &m->reaper->counts;
	const struct reaper *r = m->reaper;
	const char *state = !is_local(rs, m)       ? reaper_state_names[r->ops->state(r)]
			    : local_takes_part(rs) ? "up"
						   : "waits";
	*ret = (struct reaper_status){
		.lease_us = (uint64_t)reapers_lease_us(rs),
		.jobs = c->jobs,
		.out = c->out,
		.documents = c->documents,
		.bytes = c->bytes,
		.errors = c->errors,
		.lost = c->lost,
		.late = c->late,
		.round_us = (uint64_t)MAX(c->round_us, 0),
	};
	snprintf(ret->name, sizeof ret->name, "%s", m->reaper->name);
	snprintf(ret->kind, sizeof ret->kind, "%s", m->reaper->ops->kind);
	snprintf(ret->state, sizeof ret->state, "%s", state);
}

/* As they are now, but for the time, to be freed. */
static struct reaper_status *status_list(const struct reapers *rs)
{
	struct reaper_status *all = mem_array(rs->n, sizeof *all);
	for (size_t i = 0; i < rs->n; i++) {
		status_of(rs, &rs->member[i], &all[i]);
		all[i].place = (uint32_t)i;
	}
	return all;
}

static int status_write(struct reapers *rs, const struct reaper_status *list, struct err *err)
{
	struct reaper_status *all = mem_copy(list, rs->n * sizeof *list);
	for (size_t i = 0; i < rs->n; i++)
		all[i].time_us = clock_wall_us();
	int rc = small_replace(rs->small, &reapers_table, all, rs->n, err);
	mem_free(&all);
	return rc;
}

/* What cannot be written does not stop the crawl: the next may be. Not synced: that there are rows
 * is durable since the start, and what they say is old in a second. */
static void status_tick(void *ctx)
{
	struct reapers *rs = ctx;
	struct err err;
	reapers_look(rs);
	struct reaper_status *now = status_list(rs);
	bool same = rs->written && memcmp(now, rs->written, rs->n * sizeof *now) == 0;
	if (!same && status_write(rs, now, &err) == 0) {
		mem_free(&rs->written);
		rs->written = now;
		return;
	}
	mem_free(&now);
}

/* Whether jobs were out on other machines when the crawl was killed: then for how long they may go
 * on. Rows that may have been lost say the worst. */
static int killed_rest_us(struct reapers *rs, struct err *err)
{
	struct small_iter it;
	struct reaper_status one;
	int64_t lease_us = rs->o.conf->lease_us;
	int rc;
	rs->rest_us = small_lost(rs->small, &reapers_table) ? lease_us : 0;
	small_iter_init(&it, rs->small, &reapers_table, NULL);
	while ((rc = small_iter_next(&it, &one, err)) == 0)
		if (one.lease_us)
			rs->rest_us = MAX(MAX(rs->rest_us, lease_us),
					  (int64_t)MIN(one.lease_us, 600 * US_PER_S));
	small_iter_done(&it);
	return MIN(rc, 0);
}

/* Beginning and end. */

static void wait_is_over(void *ctx)
{
	struct reapers *rs = ctx;
	rs->o.host->room(rs->o.host->ctx, rs->o.local);
}

static int reapers_connect(struct reapers *rs, struct err *err)
{
	const struct crawl_conf *conf = rs->o.conf;
	for (size_t i = 0; i < conf->reapers.n; i++) {
		const struct reaper_remote_options options = {
			.pool = rs->pool,
			.address = conf->reapers.item[i],
			.tls = rs->tls,
			.polite = rs->o.polite,
			.lease_us = conf->lease_us,
			.penalty_us = conf->reaper_penalty_us,
			.host = rs->o.host,
		};
		struct reaper *r;
		if (reaper_remote_new(&r, &options, err) < 0)
			return err_in(err, "shepherd.reapers");
		rs->member[rs->n++] = (struct member){.reaper = r};
	}
	return 0;
}

/* Durable before the first job goes out. */
static int reapers_mark(struct reapers *rs, struct err *err)
{
	if (small_begin(rs->small, false, err) < 0)
		return -1;
	struct reaper_status *all = status_list(rs);
	int rc = status_write(rs, all, err);
	mem_free(&all);
	if (rc == 0)
		rc = small_forgive(rs->small, &reapers_table, err);
	return small_end(rs->small, rc, err);
}

static int reapers_remember(struct reapers *rs, struct err *err)
{
	const struct small_table *table = &reapers_table;
	if (small_open_data(&rs->small, rs->o.data, &table, 1, SMALL_WRITE, err) < 0 ||
	    killed_rest_us(rs, err) < 0)
		return -1;
	rs->rest_until_us = rs->rest_us ? loop_now_us(rs->o.loop) + rs->rest_us : 0;
	return 0;
}

int reapers_new(struct reapers **ret, const struct reapers_options *options, struct err *err)
{
	struct reapers *rs = mem_alloc(sizeof *rs);
	rs->o = *options;
	rs->pool = conn_pool_new(options->loop, REAPER_REMOTE_MEMORY);
	rs->member = mem_array(options->conf->reapers.n + 1, sizeof *rs->member);
	rs->member[rs->n++] = (struct member){.reaper = options->local};
	rs->rest = rs->wait = (struct loop_timer){.fn = wait_is_over, .ctx = rs};
	rs->status = (struct loop_timer){.fn = status_tick, .ctx = rs};
	rs->none_since_us = INT64_MAX;
	if (reapers_remember(rs, err) < 0 ||
	    tls_new(&rs->tls, &options->conf->tls, false, err) < 0 ||
	    reapers_connect(rs, err) < 0 || reapers_mark(rs, err) < 0) {
		reapers_free(&rs);
		return -1;
	}
	rs->marked = true;
	FAULT("reapers.marked");
	reapers_look(rs);
	if (rs->rest_us)
		loop_timer_in(options->loop, &rs->rest, rs->rest_us);
	loop_timer_every(options->loop, &rs->status, STATUS_EVERY_US);
	*ret = rs;
	return 0;
}

void reapers_free(struct reapers **rsp)
{
	struct reapers *rs = *rsp;
	struct err err;
	if (!rs)
		return;
	for (size_t i = 1; i < rs->n; i++)
		rs->member[i].reaper->ops->free(&rs->member[i].reaper);
	loop_timer_stop(&rs->rest);
	loop_timer_stop(&rs->wait);
	loop_timer_stop(&rs->status);
	conn_pool_free(&rs->pool);
	tls_free(&rs->tls);
	/* the rest after a kill holds for the next start, where it is not over */
	if (rs->marked && loop_now_us(rs->o.loop) >= rs->rest_until_us)
		(void)small_replace(rs->small, &reapers_table, NULL, 0, &err);
	small_close(&rs->small);
	mem_free(&rs->written);
	mem_free(&rs->member);
	mem_free(rsp);
}
