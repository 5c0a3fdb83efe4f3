/* Sharing by virtual time: each reaper has a clock that goes on by 1/weight with each job it gets,
 * and the one with the earliest clock is next. One that has no room is not owed what it could not
 * take: its clock goes with the others'.
 *
 * The weight is what a reaper can do in a second: its capacity over the time that a job takes
 * there. That time depends on the servers that a reaper happened to be given as much as on itself,
 * so what differs by less than a third from the others counts as the same. */
#include "shepherd/reapers.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/rows.h"
#include "disk/lock.h"
#include "disk/small_file.h"
#include "shepherd/reap/reaper_remote.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_MAX = 1 << 20 };
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
	struct loop_timer status;       /* writes the file */
	char path[PATH_MAX];
	struct buf written; /* what the file says */
	bool marked;        /* it is ours */
};

static const struct column status_field[] = {
	COL("", struct reaper_status, name),
	COL("kind", struct reaper_status, kind),
	COL("state", struct reaper_status, state),
	COL("time", struct reaper_status, time_us, .unit = UNIT_TIME),
	COL("lease", struct reaper_status, lease_us),
	COL("jobs", struct reaper_status, jobs),
	COL("out", struct reaper_status, out),
	COL("documents", struct reaper_status, documents),
	COL("bytes", struct reaper_status, bytes),
	COL("errors", struct reaper_status, errors),
	COL("lost", struct reaper_status, lost),
	COL("late", struct reaper_status, late),
	COL("round", struct reaper_status, round_us),
};
static const struct rows status_fields = {ROWS(struct reaper_status, status_field),
					  .what = "a reaper", .many = true};

static const struct column reaper_columns[] = {
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
};
const struct rows reaper_rows = {ROWS(struct reaper_status, reaper_columns)};

const struct format reapers_format = {
	.name = "reapers",
	.file = "run/reapers",
	.magic = "GARNERRP",
	.version = 1,
	.help = "the reapers of a crawl that runs, or was killed",
	.remedy = "the shepherd replaces it; after a kill it waits for shepherd.lease",
	.fields = &status_fields,
};

static void status_path(const char *data, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/run/reapers", data);
}

static int status_load(const char *data, struct arena *arena, struct reaper_status **ret,
		       size_t *ret_n, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(STATUS_MAX);
	char path[PATH_MAX];
	struct str payload;
	struct reaper_status *list = NULL, one;
	size_t n = 0, cap = 0;
	status_path(data, path);
	int rc = small_file_read(path, &reapers_format, &room, &payload, err);
	if (rc != 0)
		return rc;
	struct reader r = reader_of(payload);
	while ((rc = rows_next(&status_fields, &r, &one, err)) == 0)
		*ARENA_PUSH(arena, list, n, cap) = one;
	if (rc < 0)
		return err_in(err, "%s", path);
	*ret = list;
	*ret_n = n;
	return 0;
}

/* A kill leaves the file behind, so the lock of the crawl is asked. */
int reapers_load(const char *data, struct arena *arena, struct reaper_status **ret, size_t *ret_n,
		 struct err *err)
{
	char lock[PATH_MAX];
	int64_t pid;
	snprintf(lock, sizeof lock, "%s/shepherd/lock", data);
	int rc = lock_holder(lock, &pid, err);
	return rc == 0 ? status_load(data, arena, ret, ret_n, err) : rc;
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

/* The file. */

/* For how long others may go on if this process is killed now: also those of the one before, while
 * its rest is not over. 0: there are none. */
static int64_t reapers_lease_us(const struct reapers *rs)
{
	bool rests = loop_now_us(rs->o.loop) < rs->rest_until_us;
	int64_t lease_us = rs->n > 1 ? rs->o.conf->lease_us : 0;
	return rests ? MAX(rs->rest_us, lease_us) : lease_us;
}

static void status_of(const struct reapers *rs, const struct member *m, int64_t time_us,
		      struct reaper_status *ret)
{
	const struct reaper_counts *c = &m->reaper->counts;
	const struct reaper *r = m->reaper;
	const char *state = !is_local(rs, m)       ? reaper_state_names[r->ops->state(r)]
			    : local_takes_part(rs) ? "up"
						   : "waits";
	*ret = (struct reaper_status){
		.time_us = time_us,
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

static void status_payload(const struct reapers *rs, int64_t time_us, struct buf *out)
{
	struct reaper_status one;
	for (size_t i = 0; i < rs->n; i++) {
		status_of(rs, &rs->member[i], time_us, &one);
		rows_write(&status_fields, &one, out);
	}
}

/* Not synced: that it is there is durable since the start, and what it says is old in a second. */
static int status_replace(const struct reapers *rs, struct str payload, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(STATUS_MAX);
	CLEANUP(file_drop) struct file f = FILE_INIT;
	char path[PATH_MAX + 8];
	snprintf(path, sizeof path, "%s.new", rs->path);
	small_file_seal(&reapers_format, payload, &bytes);
	if (file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0600, err) < 0 ||
	    file_write(&f, bytes.p, bytes.n, 0, err) < 0 || file_close(&f, err) < 0)
		return -1;
	return file_rename(path, rs->path, err);
}

/* A file that cannot be written does not stop the crawl: the next one may be. */
static void status_tick(void *ctx)
{
	struct reapers *rs = ctx;
	CLEANUP(buf_free) struct buf now = BUF_INIT(STATUS_MAX), payload = BUF_INIT(STATUS_MAX);
	struct err err;
	reapers_look(rs);
	status_payload(rs, 0, &now);
	if (str_eq(buf_str(&now), buf_str(&rs->written)))
		return;
	status_payload(rs, clock_wall_us(), &payload);
	if (status_replace(rs, buf_str(&payload), &err) < 0)
		return;
	buf_clear(&rs->written);
	buf_add_str(&rs->written, buf_str(&now));
}

/* Whether jobs were out on other machines when the crawl was killed: then for how long they may go
 * on. A file that cannot be read says the worst. */
static int64_t killed_rest_us(const struct reapers *rs)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)STATUS_MAX * 8);
	struct reaper_status *list = NULL;
	struct err err;
	size_t n = 0;
	int64_t rest_us = 0;
	int rc = status_load(rs->o.data, &arena, &list, &n, &err);
	if (rc != 0)
		return rc == 1 ? 0 : rs->o.conf->lease_us;
	for (size_t i = 0; i < n; i++)
		if (list[i].lease_us)
			rest_us = MAX(rs->o.conf->lease_us,
				      (int64_t)MIN(list[i].lease_us, 600 * US_PER_S));
	return rest_us;
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
			.said = rs->o.said,
			.ctx = rs->o.ctx,
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
	CLEANUP(buf_free) struct buf payload = BUF_INIT(STATUS_MAX);
	status_payload(rs, clock_wall_us(), &payload);
	return small_file_write(rs->path, &reapers_format, buf_str(&payload), err);
}

int reapers_new(struct reapers **ret, const struct reapers_options *options, struct err *err)
{
	struct reapers *rs = mem_alloc(sizeof *rs);
	rs->o = *options;
	rs->written = BUF_INIT(STATUS_MAX);
	rs->pool = conn_pool_new(options->loop, REAPER_REMOTE_MEMORY);
	rs->member = mem_array(options->conf->reapers.n + 1, sizeof *rs->member);
	rs->member[rs->n++] = (struct member){.reaper = options->local};
	rs->rest = rs->wait = (struct loop_timer){.fn = wait_is_over, .ctx = rs};
	rs->status = (struct loop_timer){.fn = status_tick, .ctx = rs};
	rs->none_since_us = INT64_MAX;
	status_path(options->data, rs->path);
	rs->rest_us = killed_rest_us(rs);
	rs->rest_until_us = rs->rest_us ? loop_now_us(options->loop) + rs->rest_us : 0;
	if (tls_new(&rs->tls, &options->conf->tls, false, err) < 0 ||
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
		(void)file_remove(rs->path, &err);
	buf_free(&rs->written);
	mem_free(&rs->member);
	mem_free(rsp);
}
