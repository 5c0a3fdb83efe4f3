/* Sessions of masters. A master holds this reapd by its tocks: each one answers a tick, and until
 * `lease` after that tick was sent the robot may connect and send. Ticks are numbered and the times
 * at which they were sent are kept here, so the clocks of two machines are never compared.
 *
 * Every message looks at the lease first: after a process was stopped for a while, what lies in the
 * socket comes before the timer does. */
#include "shepherd/reap/reapd_server.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "shepherd/reap/reap_wire.h"

enum {
	TICKS_A_LEASE = 4,
	TICKS_KEPT = 16,         /* of which the time is known; older ones are over */
	ANSWERS_MAX = 256 << 20, /* bytes that may wait for a master that does not read */
	LARGE = 4 << 20,         /* memory that is given back after an answer */
};

TABLE(out_jobs, uint64_t, bool, hash_u64, table_same_u64) /* whether it was cancelled */

struct reapd_server {
	struct reapd_server_options o;
	struct server_limits limits;
	struct server *server;
	struct reaper_host host;
	struct reaper *reaper;
	struct reapd_counts counts;
	/* Of the master. */
	struct session *master; /* NULL: none */
	int64_t lease_us, until_us;
	uint64_t tick; /* the last that was sent */
	int64_t tick_us[TICKS_KEPT];
	struct loop_timer ticker, expiry;
	struct out_jobs jobs;
	struct buf answer;
};

/* Of a connection. */
struct master_state {
	int64_t hello_us;
	bool met;
};

static struct reapd_server *server_of(struct session *s)
{
	return server_ctx(session_server(s));
}

static void reapd_send(struct session *s, enum reap_says what, const struct reap_message *said)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1024); /* answers have a way of their own */
	message_write(&reap_of_reapd, (int)what, said, &out);
	conn_send(session_conn(s), buf_str(&out));
}

/* Everything that is done for the master is dropped, and it is gone. */
static void master_drop(struct reapd_server *d)
{
	struct err err;
	d->master = NULL;
	d->until_us = 0;
	d->o.until(d->o.ctx, 0);
	loop_timer_stop(&d->ticker);
	loop_timer_stop(&d->expiry);
	d->counts.dropped += out_jobs_count(&d->jobs);
	out_jobs_clear(&d->jobs);
	if (d->o.drop(d->o.ctx, &err) < 0)
		d->o.failed(d->o.ctx, &err);
}

static void session_refused(struct session *s, const char *why)
{
	log_warn(ROLE, "master disconnected", KV_TEXT("peer", session_peer(s)),
		 KV_TEXT("why", why));
}

static void session_hang_up(struct session *s, const char *why)
{
	struct reapd_server *d = server_of(s);
	session_refused(s, why);
	if (d->master == s)
		master_drop(d);
	conn_close(session_conn(s));
}

static bool lease_is_over(const struct reapd_server *d)
{
	return loop_now_us(d->o.loop) >= d->until_us;
}

/* Whether this session is the master's and its lease holds; else it is ended. */
static bool master_speaks(struct session *s)
{
	struct reapd_server *d = server_of(s);
	if (d->master != s) {
		session_hang_up(s, "message before the session began");
		return false;
	}
	if (lease_is_over(d)) {
		session_hang_up(s, "lease expired");
		return false;
	}
	return true;
}

static void lease_expired(void *ctx)
{
	struct reapd_server *d = ctx;
	if (d->master && lease_is_over(d))
		session_hang_up(d->master, "lease expired");
}

/* Noted down before it goes out, so never too late. */
static void ticker_run(void *ctx)
{
	struct reapd_server *d = ctx;
	if (lease_is_over(d)) {
		lease_expired(d);
		return;
	}
	d->tick++;
	d->tick_us[d->tick % TICKS_KEPT] = loop_now_us(d->o.loop);
	reapd_send(d->master, REAP_TICK, &(struct reap_message){.id = d->tick});
}

/* What the master says. */

static void master_turn_away(struct session *s)
{
	reapd_send(s, REAP_BUSY, &(struct reap_message){.id = 0});
	conn_finish(session_conn(s));
}

static void master_meet(struct session *s, int64_t lease_us)
{
	struct reapd_server *d = server_of(s);
	struct master_state *state = session_state(s);
	if (d->master && !lease_is_over(d)) {
		master_turn_away(s);
		return;
	}
	if (d->master)
		session_hang_up(d->master, "lease expired, and another master is there");
	state->met = true;
	conn_messages(session_conn(s), &reap_of_master);
	d->master = s;
	d->lease_us = lease_us;
	d->tick = 0;
	d->tick_us[0] = state->hello_us;
	d->until_us = state->hello_us + lease_us;
	d->counts.masters++;
	d->o.until(d->o.ctx, d->until_us);
	loop_timer_every(d->o.loop, &d->ticker, MAX(lease_us / TICKS_A_LEASE, 1));
	loop_timer_in(d->o.loop, &d->expiry, d->until_us - loop_now_us(d->o.loop));
	log_info(ROLE, "master connected", KV_TEXT("peer", session_peer(s)));
	ticker_run(d);
}

static void master_tock(struct session *s, uint64_t tick, int64_t lease_us)
{
	struct reapd_server *d = server_of(s);
	if (tick == 0 || tick > d->tick) {
		session_hang_up(s, "answer to a tick that was never sent");
		return;
	}
	if (d->tick - tick >= TICKS_KEPT)
		return;
	d->lease_us = lease_us;
	d->until_us = MAX(d->until_us, d->tick_us[tick % TICKS_KEPT] + lease_us);
	d->o.until(d->o.ctx, d->until_us);
	loop_timer_in(d->o.loop, &d->expiry, d->until_us - loop_now_us(d->o.loop));
}

/* The file lies there as long as buckets may be packed with it. */
static void master_dict(struct reapd_server *d, struct str file)
{
	struct err err;
	int rc = file.n ? file_replace(d->o.dict_path, file, 0600, &err) : 0;
	if (rc == 0)
		rc = d->reaper->ops->begin(d->reaper, file.n ? d->o.dict_path : NULL, &err);
	if (rc < 0)
		d->o.failed(d->o.ctx, &err);
}

static void master_rules(struct session *s, struct reaper_rules *rules)
{
	struct reapd_server *d = server_of(s);
	struct err err;
	rules->until_us += clock_wall_us();
	if (d->o.rules(d->o.ctx, rules, &err) < 0)
		session_hang_up(s, err.msg);
}

static void answer_send(struct reapd_server *d, const struct reaper_answer *a);

/* A job that the reaper does not take as one. */
static void job_refuse(struct reapd_server *d, const struct reaper_job *job, const char *why)
{
	struct reaper_answer a = {.id = job->id,
				  .code = CODE_BAD_URL,
				  .text = str_of(why),
				  .url = job->url,
				  .ago_us = -1};
	answer_send(d, &a);
}

static void master_job(struct session *s, struct reaper_job job)
{
	struct reapd_server *d = server_of(s);
	struct err err;
	if (out_jobs_get(&d->jobs, job.id)) {
		session_hang_up(s, "job number used twice");
		return;
	}
	if (reap_job_check(&job, &err) < 0) {
		session_hang_up(s, err.msg);
		return;
	}
	job.limits.head_line = d->o.robot->head_line;
	job.limits.head = d->o.robot->head;
	job.limits.redirects = d->o.robot->redirects;
	bool room = out_jobs_count(&d->jobs) < d->o.capacity && d->reaper->ops->room(d->reaper) > 0;
	int rc = room ? d->reaper->ops->submit(d->reaper, &job, NULL, &err) : 1;
	if (rc == 1) {
		reapd_send(s, REAP_BUSY, &(struct reap_message){.id = job.id});
		return;
	}
	if (rc < 0 && err.code != ERR_USAGE) {
		d->o.failed(d->o.ctx, &err);
		return;
	}
	*out_jobs_put(&d->jobs, job.id) = false;
	FAULT("reapd.job");
	if (rc < 0)
		job_refuse(d, &job, err.msg);
}

/* It may be answered already: the two met on the way. */
static void master_cancel(struct reapd_server *d, uint64_t id)
{
	bool *cancelled = out_jobs_get(&d->jobs, id);
	if (cancelled)
		*cancelled = true;
}

static void on_message(struct session *s, struct str bytes)
{
	struct reapd_server *d = server_of(s);
	const struct master_state *state = session_state(s);
	struct reap_message said;
	struct err err;
	int what;
	if (message_read(state->met ? &reap_of_master : &reap_of_stranger, bytes, &what, &said,
			 &err) < 0) {
		session_hang_up(s, err.msg);
	} else if (what == REAP_TOCK && !state->met && said.id == 0) {
		master_meet(s, said.lease_us);
	} else if (!master_speaks(s)) {
		return;
	} else if (what == REAP_TOCK) {
		master_tock(s, said.id, said.lease_us);
	} else if (what == REAP_DICT) {
		master_dict(d, said.dict);
	} else if (what == REAP_RULES) {
		master_rules(s, &said.rules);
	} else if (what == REAP_CANCEL) {
		master_cancel(d, said.id);
	} else {
		said.job.id = said.id;
		master_job(s, said.job);
	}
}

/* Answers. */

/* What a test lets it say that is not so. Slices of `link` last as long as it does. */
static void answer_lie(struct reaper_answer *a, struct reaper_link *link)
{
	if (FAULT_LIES("lie.url"))
		a->url = STR("http://lie.test/");
	if (FAULT_LIES("lie.id"))
		a->id += 1000000;
	if (FAULT_LIES("lie.bucket"))
		a->bucket.n -= a->bucket.n > 0;
	if (FAULT_LIES("lie.key"))
		a->key ^= 1;
	if (FAULT_LIES("lie.date"))
		a->ended_s += 100 * US_PER_DAY / US_PER_S;
	if (FAULT_LIES("lie.code"))
		a->code = CODE_RESOLVED;
	if (FAULT_LIES("lie.link") && a->links) {
		*link = a->link[0];
		link->url = STR("http://LIE.test/");
		a->link = link;
		a->links = 1;
	}
}

static void answer_send(struct reapd_server *d, const struct reaper_answer *a)
{
	struct reaper_answer said = *a;
	struct reaper_link link;
	bool *cancelled = out_jobs_get(&d->jobs, a->id);
	if (!cancelled)
		return;
	if (*cancelled) {
		said.bucket = said.body = STR("");
		said.links = 0;
		said.downloaded_s = said.changed_s = 0;
	}
	out_jobs_remove(&d->jobs, a->id);
	answer_lie(&said, &link);
	buf_clear(&d->answer);
	if (FAULT_LIES("lie.size"))
		buf_add_text(&d->answer, "done 999999999\n");
	reap_answer_write(&said, &d->answer);
	FAULT("reapd.answer");
	conn_send(session_conn(d->master), buf_str(&d->answer));
	if (d->answer.cap > LARGE)
		buf_free(&d->answer);
}

static void answer_done(void *ctx, struct reaper *r, const struct reaper_answer *a)
{
	struct reapd_server *d = ctx;
	(void)r;
	if (!d->master)
		return;
	if (lease_is_over(d)) { /* dropped when the reaper is not in the midst of a job */
		loop_timer_in(d->o.loop, &d->expiry, 0);
		return;
	}
	answer_send(d, a);
}

/* A reaper of this process loses nothing; if it did, its master could not wait for the answer. */
static void answer_lost(void *ctx, struct reaper *r, uint64_t id, int64_t rests_us)
{
	struct reapd_server *d = ctx;
	(void)r, (void)id, (void)rests_us;
	if (d->master)
		session_hang_up(d->master, "job lost");
}

static void reaper_has_room(void *ctx, struct reaper *r)
{
	(void)ctx, (void)r;
}

static void reaper_failed(void *ctx, struct reaper *r, const struct err *err)
{
	struct reapd_server *d = ctx;
	(void)r;
	d->o.failed(d->o.ctx, err);
}

/* Connections. */

static void session_opened(struct session *s)
{
	struct reapd_server *d = server_of(s);
	struct master_state *state = session_state(s);
	if (d->master && !lease_is_over(d)) {
		log_warn(ROLE, "master refused; serving another one",
			 KV_TEXT("peer", session_peer(s)));
		master_turn_away(s);
		return;
	}
	state->hello_us = loop_now_us(d->o.loop);
	reapd_send(s, REAP_HELLO,
		   &(struct reap_message){.version = REAP_WIRE_VERSION, .capacity = d->o.capacity});
}

static void session_closed(struct session *s, enum conn_end end)
{
	struct reapd_server *d = server_of(s);
	if (d->master != s)
		return;
	log_info(ROLE, "master disconnected", KV_TEXT("peer", session_peer(s)),
		 KV_TEXT("why", conn_end_text(end)));
	master_drop(d);
}

static const struct server_protocol reapd_protocol = {
	.name = "reapd",
	.messages = &reap_of_stranger,
	.words = {[SERVER_STOPPING] = "", [SERVER_FULL] = "busy 0\n"},
	.state_size = sizeof(struct master_state),
	.opened = session_opened,
	.line = on_message,
	.closed = session_closed,
	.refused = session_refused,
};

struct reapd_server *reapd_server_new(const struct reapd_server_options *options)
{
	struct reapd_server *d = mem_alloc(sizeof *d);
	d->o = *options;
	d->limits = *options->limits;
	d->limits.queue_max = MAX(d->limits.queue_max, ANSWERS_MAX);
	d->limits.memory = MAX(d->limits.memory, 2 * (uint64_t)ANSWERS_MAX);
	d->answer = BUF_INIT(message_wire_most(&reap_of_reapd));
	d->host = (struct reaper_host){.done = answer_done,
				       .lost = answer_lost,
				       .room = reaper_has_room,
				       .failed = reaper_failed,
				       .ctx = d};
	d->ticker = (struct loop_timer){.fn = ticker_run, .ctx = d};
	d->expiry = (struct loop_timer){.fn = lease_expired, .ctx = d};
	d->server = server_new(options->loop, &reapd_protocol, &d->limits, options->tls, d);
	return d;
}

const struct reaper_host *reapd_server_host(struct reapd_server *d)
{
	return &d->host;
}

void reapd_server_reaper(struct reapd_server *d, struct reaper *r)
{
	d->reaper = r;
	d->o.until(d->o.ctx, 0);
}

int reapd_server_listen(struct reapd_server *d, int fd, struct err *err)
{
	return server_listen(d->server, fd, err);
}

void reapd_server_free(struct reapd_server **dp)
{
	struct reapd_server *d = *dp;
	if (!d)
		return;
	server_free(&d->server);
	loop_timer_stop(&d->ticker);
	loop_timer_stop(&d->expiry);
	out_jobs_free(&d->jobs);
	buf_free(&d->answer);
	mem_free(dp);
}

const struct reapd_counts *reapd_server_counts(const struct reapd_server *d)
{
	return &d->counts;
}
