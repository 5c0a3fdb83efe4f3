/* The remote reaper. A session is one connection: it begins with a hello, its jobs are those that
 * were sent over it, and with its end all of them are lost. So an answer belongs to a session by
 * the connection it comes over, and to a job by its ID; there is nothing else to compare. IDs on
 * the line count the jobs of the session: one that is not above the last was given, and an answer
 * to it that finds no job is late, or comes twice; one above it is a lie.
 *
 * The lease on a server is taken here before the job is sent and ended with the answer, or, when
 * the reapd is lost, so that the server rests until that reapd has to have stopped: the lease of
 * the session after our last tock, since it counts from before that.
 *
 * Footprints of links are computed here, or one reapd could put any URL under the footprint of
 * another. Most links of a page are those of its neighbours: what was computed a moment ago is kept
 * in a small table that forgets. */
#include "shepherd/reap/reaper_remote.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/log.h"
#include "base/table.h"
#include "bucket/bucket_attrs.h"
#include "net/outgoing.h"
#include "shepherd/reap/reap_wire.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	LINKS_KNOWN = 1 << 14, /* a power of two */
	WINDOW_SHARE = 16,
};
/* How soon a job is worth another try that the reapd had no room for. */
#define BUSY_US (US_PER_S / 10)
/* What a job may take at a reapd beyond its own limits: it waits for parsers, and for the line. */
#define OVERDUE_US (10 * US_PER_MIN)

struct remote_job {
	struct link link;      /* in remote.jobs, or in remote.unsent */
	struct reaper_job job; /* what an answer is held against */
	struct lease lease;
	uint64_t number; /* its ID in the session; 0: it was not sent */
	bool cancelled;
	int64_t from_us, not_now_us;
	char url[];
};

TABLE(remote_jobs, uint64_t, struct remote_job *, hash_u64, table_same_u64)
TABLE(told_sites, uint64_t, int64_t, hash_u64, table_same_u64)

/* Which file of dictionaries: another one has another stamp. */
struct dict_stamp {
	uint64_t inode, size;
	int64_t changed_ns;
};

struct known_link {
	struct footprint fp;
	uint64_t url; /* hash */
};

struct remote {
	struct reaper reaper;
	struct reaper_remote_options o;
	char *name;
	struct loop *loop;
	struct outgoing *out;
	struct loop_timer again; /* after a penalty */
	struct loop_timer watch; /* for silence */
	struct loop_timer renew;
	struct loop_later give; /* answers to what was not sent */
	struct link jobs, unsent;
	struct remote_jobs by_id; /* all of them, as their owner names them */
	enum reaper_state state;
	bool told_away;   /* that it is away was said */
	bool turned_away; /* by a reapd that has another master, over this connection */
	/* Of the session. */
	bool met; /* the hello has come */
	uint64_t session, capacity, tick;
	uint64_t given;   /* jobs that were sent */
	uint64_t window;  /* jobs that it is thought to have room for, at most its capacity */
	uint64_t answers; /* since it last grew */
	int64_t heard_us, tock_us;
	struct remote_jobs by_number;
	struct told_sites told;
	struct dict_stamp dict_told;
	bool has_dict;
	/* Of the reap. */
	char dict_path[PATH_MAX];
	struct bucket_packer *packer;
	struct known_link *known;
	struct buf text;
};

static const struct conn_limits remote_limits = {
	.messages = &reap_of_reapd,
	.high_mark = 8 << 20,
	.queue_max = 64 << 20,
};

static struct remote *remote_of(const struct reaper *r)
{
	return LIST_OF(struct remote, r, reaper);
}

static struct conn *remote_conn(const struct remote *m)
{
	return m->out ? outgoing_conn(m->out) : NULL;
}

static void remote_send(struct remote *m, enum reap_says what, const struct reap_message *said)
{
	buf_clear(&m->text);
	message_write(&reap_of_master, (int)what, said, &m->text);
	conn_send(remote_conn(m), buf_str(&m->text));
}

/* Jobs. */

static struct remote_job *job_copy(struct remote *m, const struct reaper_job *in)
{
	struct remote_job *job = mem_alloc(sizeof *job + in->url.n);
	job->job = *in;
	memcpy(job->url, in->url.p, in->url.n);
	job->job.url = (struct str){job->url, in->url.n};
	/* that there are some is all that an answer is asked about */
	job->job.etag = in->etag.n ? STR("-") : STR("");
	job->job.last_modified = in->last_modified.n ? STR("-") : STR("");
	job->job.md5 = in->md5.n ? STR("-") : STR("");
	job->from_us = loop_now_us(m->loop);
	m->reaper.counts.out++;
	return job;
}

/* Removes a job from all lists and tables. */
static void job_take_out(struct remote *m, struct remote_job *job)
{
	remote_jobs_remove(&m->by_id, job->job.id);
	remote_jobs_remove(&m->by_number, job->number);
	job->number = 0; /* the next session counts from the beginning */
	list_remove(&job->link);
}

static void job_free(struct remote *m, struct remote_job *job)
{
	job_take_out(m, job);
	m->reaper.counts.out--;
	mem_free(&job);
}

/* Removes the job before its owner gets the answer. */
static void job_end(struct remote *m, struct remote_job *job, const struct reaper_answer *a)
{
	const struct reaper_host *host = m->reaper.host;
	job_take_out(m, job);
	if (!job->cancelled)
		host->done(host->ctx, &m->reaper, a);
	job_free(m, job);
}

/* How long the reapd may still send requests; its servers must rest until then. */
static int64_t remote_rest_us(const struct remote *m)
{
	return MAX(m->tock_us + m->o.lease_us - loop_now_us(m->loop), 0);
}

/* Ends a session: its jobs are lost, and the owner is told if `tell`. */
static void remote_lose(struct remote *m, bool tell)
{
	const struct reaper_host *host = m->reaper.host;
	int64_t rests_us = remote_rest_us(m);
	struct link lost;
	list_init(&lost);
	LIST_EACH (struct remote_job, job, &m->jobs, link) {
		list_remove(&job->link);
		list_append(&lost, &job->link);
	}
	m->met = false;
	m->session++;
	told_sites_clear(&m->told);
	m->has_dict = false;
	loop_timer_stop(&m->watch);
	if (m->state == REAPER_UP)
		m->state = REAPER_AWAY;
	LIST_EACH (struct remote_job, job, &lost, link) {
		uint64_t id = job->job.id;
		bool wanted = tell && !job->cancelled;
		polite_end(m->o.polite, &job->lease, OUTCOME_CANCELLED, rests_us,
			   loop_now_us(m->loop));
		job_free(m, job);
		m->reaper.counts.lost++;
		if (wanted)
			host->lost(host->ctx, &m->reaper, id, rests_us);
	}
}

/* Disconnects for the penalty time. */
static void remote_punish(struct remote *m, enum reaper_state state)
{
	remote_lose(m, true);
	m->state = state;
	outgoing_free(&m->out);
	loop_timer_in(m->loop, &m->again, m->o.penalty_us);
}

static void remote_lied(struct remote *m, const struct err *err)
{
	m->reaper.counts.errors++;
	log_warn(ROLE, "reaper lied; ignored", KV_TEXT("peer", m->o.address),
		 KV_DURATION("for", m->o.penalty_us), KV_TEXT("why", err->msg));
	remote_punish(m, REAPER_PUNISHED);
}

/* Dictionaries. */

static bool dict_stamp_of(const char *path, struct dict_stamp *ret)
{
	struct stat st;
	if (!path[0] || stat(path, &st) != 0)
		return false;
	*ret = (struct dict_stamp){(uint64_t)st.st_ino, (uint64_t)st.st_size,
				   st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec};
	return true;
}

/* As the file is, where the reapd does not have it yet; with none it packs without. Looked at once
 * in a reap: dictionaries are trained in between. */
static int remote_send_dict(struct remote *m, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(REAP_DICT_MAX);
	struct dict_stamp stamp = {0};
	bool there = dict_stamp_of(m->dict_path, &stamp);
	if (m->has_dict && memcmp(&stamp, &m->dict_told, sizeof stamp) == 0)
		return 0;
	if (there && file_slurp(m->dict_path, &bytes, err) < 0)
		return -1;
	remote_send(m, REAP_DICT, &(struct reap_message){.dict = buf_str(&bytes)});
	buf_free(&m->text);
	m->dict_told = stamp;
	m->has_dict = true;
	return 0;
}

/* What the reapd says. */

static void remote_tock(struct remote *m, uint64_t tick)
{
	m->tick = tick;
	m->heard_us = m->tock_us = loop_now_us(m->loop);
	remote_send(m, REAP_TOCK, &(struct reap_message){.id = tick, .lease_us = m->o.lease_us});
}

static void remote_hello(struct remote *m, const struct reap_message *said)
{
	if (said->version != REAP_WIRE_VERSION) {
		log_warn(ROLE, "reaper has another version", KV_TEXT("peer", m->o.address),
			 KV_UINT("version", said->version), KV_UINT("expected", REAP_WIRE_VERSION));
		remote_punish(m, REAPER_REFUSED);
		return;
	}
	m->met = true;
	m->told_away = false;
	m->state = REAPER_UP;
	m->capacity = m->window = said->capacity;
	m->given = m->answers = 0;
	remote_tock(m, 0);
	loop_timer_every(m->loop, &m->watch, MAX(m->o.lease_us / 4, 1));
	log_info(ROLE, "reaper connected", KV_TEXT("peer", m->o.address),
		 KV_UINT("capacity", m->capacity));
	m->reaper.host->room(m->reaper.host->ctx, &m->reaper);
}

/* Answers a job that was not sent, to be tried again later. */
static void job_put_off(struct remote *m, struct remote_job *job, int64_t not_now_us)
{
	const struct reaper_answer a = {
		.id = job->job.id, .url = job->job.url, .ago_us = -1, .not_now_us = not_now_us};
	job_end(m, job, &a);
}

/* Whether a job of the session has this ID, or had it. */
static bool job_was_given(const struct remote *m, uint64_t number)
{
	return number >= 1 && number <= m->given;
}

static void remote_turned_away(struct remote *m)
{
	if (m->state != REAPER_REFUSED)
		log_warn(ROLE, "reaper serves another master", KV_TEXT("peer", m->o.address));
	m->state = REAPER_REFUSED;
	m->turned_away = true;
	conn_close(remote_conn(m));
}

static void remote_busy(struct remote *m, uint64_t id)
{
	struct remote_job **job = remote_jobs_get(&m->by_number, id);
	if (!job) {
		m->reaper.counts.late++;
		return;
	}
	polite_end(m->o.polite, &(*job)->lease, OUTCOME_CANCELLED, 0, loop_now_us(m->loop));
	m->window = MIN(m->window, MAX(m->reaper.counts.out - 1, (uint64_t)1));
	job_put_off(m, *job, BUSY_US);
}

/* Answers. */

static int remote_read_links(struct remote *m, struct message_items items, struct arena *arena,
			     struct reaper_answer *a, struct err *err)
{
	struct reaper_link *link = arena_array(arena, items.n, sizeof *link);
	int rc;
	if (!m->known)
		m->known = mem_array(LINKS_KNOWN, sizeof *m->known);
	a->link = link;
	while ((rc = message_item_next(&reap_link_item, &items, link, err)) == 0) {
		uint64_t url = hash64_seeded(link->url, (uintptr_t)m->known);
		struct known_link *k = &m->known[url & (LINKS_KNOWN - 1)];
		if (k->url != url && !reap_url_check(link->url, &k->fp)) {
			k->url = 0;
			return err_set(err, ERR_DAMAGED, "a link that is not canonical: " STR_FMT,
				       STR_ARG(str_head(link->url, 200)));
		}
		k->url = url;
		link->fp = k->fp;
		link++;
		a->links++;
	}
	return rc < 0 ? -1 : 0;
}

/* The lease ends as the request did. */
static void job_end_lease(struct remote *m, struct remote_job *job, const struct reaper_answer *a)
{
	int64_t now_us = loop_now_us(m->loop);
	enum outcome outcome = a->not_now_us ? OUTCOME_CANCELLED : code_outcome(a->code);
	if (a->ago_us >= 0)
		(void)polite_sent(m->o.polite, &job->lease, now_us - a->ago_us);
	polite_end(m->o.polite, &job->lease, outcome, a->retry_after_us, now_us);
}

/* After "busy" a reapd gets no more jobs than it has. With its answers there is room for others
 * again, a few at a time: one that is refused costs both sides as much as one that is taken. */
static void window_grow(struct remote *m)
{
	if (m->window == m->capacity || ++m->answers <= m->window / WINDOW_SHARE)
		return;
	m->answers = 0;
	m->window++;
}

static void remote_answer(struct remote *m, struct remote_job *job, const struct reaper_answer *a)
{
	job_end_lease(m, job, a);
	reaper_count(&m->reaper, a, loop_now_us(m->loop) - job->from_us);
	window_grow(m);
	job_end(m, job, a);
}

/* The policy of this machine has taken the address, that of the other one has not: nothing that
 * may be said of the page. */
static void remote_disagrees(struct remote *m, const struct addr *addr)
{
	char text[ADDR_SHOWN];
	log_warn(ROLE, "robot.networks of the reaper forbid a server of this crawl",
		 KV_TEXT("peer", m->o.address), KV_TEXT("server", addr_print(addr, text)),
		 KV_DURATION("retry", m->o.penalty_us));
	remote_punish(m, REAPER_REFUSED);
}

/* Until when the reapd may have been at a job, by the clock of the job: up to now, and as long as a
 * lease beyond it where the clock of this machine stood still meanwhile. */
static int64_t job_until_s(const struct remote *m, const struct remote_job *job)
{
	int64_t out_us = loop_now_us(m->loop) - job->from_us + m->o.lease_us;
	return job->job.now_s + out_us / US_PER_S + 1;
}

static void remote_done(struct remote *m, struct reap_message *said)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	struct remote_job **job = remote_jobs_get(&m->by_number, said->id);
	struct reaper_answer *a = &said->answer;
	struct err err;
	if (!job) { /* refused: late, or for the second time */
		m->reaper.counts.late++;
		return;
	}
	a->id = (*job)->job.id;
	int rc = remote_read_links(m, said->links, &arena, a, &err);
	if (rc == 0 && !(*job)->cancelled)
		rc = reap_answer_check(a, &(*job)->job, job_until_s(m, *job), m->packer, &err);
	if (rc < 0) {
		(void)err_in(&err, STR_FMT, STR_ARG(str_head((*job)->job.url, 200)));
		remote_lied(m, &err);
		return;
	}
	if (a->code == CODE_ADDRESS) {
		remote_disagrees(m, &(*job)->job.addr);
		return;
	}
	uint64_t session = m->session;
	remote_answer(m, *job, a);
	if (session == m->session)
		m->reaper.host->room(m->reaper.host->ctx, &m->reaper);
}

/* Whether it may say this now. */
static int remote_may_say(const struct remote *m, int what, uint64_t id, struct err *err)
{
	if (what == REAP_HELLO ? m->met : !m->met && !(what == REAP_BUSY && id == 0))
		return err_set(err, ERR_DAMAGED, "it says %s", m->met ? "hello twice" : "no hello");
	if (what == REAP_TICK && id <= m->tick)
		return err_set(err, ERR_DAMAGED, "tick %" PRIu64 " after %" PRIu64, id, m->tick);
	if (m->met && (what == REAP_DONE || what == REAP_BUSY) && !job_was_given(m, id))
		return err_set(err, ERR_DAMAGED, "%s job %" PRIu64 ", which it was never given",
			       what == REAP_BUSY ? "busy for" : "an answer to", id);
	return 0;
}

static void remote_message(void *ctx, struct str bytes)
{
	struct remote *m = ctx;
	struct reap_message said;
	struct err err;
	int what;
	if (message_read(&reap_of_reapd, bytes, &what, &said, &err) < 0 ||
	    remote_may_say(m, what, said.id, &err) < 0)
		remote_lied(m, &err);
	else if (what == REAP_HELLO)
		remote_hello(m, &said);
	else if (what == REAP_TICK)
		remote_tock(m, said.id);
	else if (what == REAP_DONE)
		remote_done(m, &said);
	else if (m->met)
		remote_busy(m, said.id);
	else
		remote_turned_away(m);
}

/* Connections. */

static void remote_drained(void *ctx)
{
	struct remote *m = ctx;
	m->reaper.host->room(m->reaper.host->ctx, &m->reaper);
}

static void remote_up(void *ctx, struct conn *c)
{
	struct remote *m = ctx;
	(void)c;
	m->met = false;
	m->heard_us = loop_now_us(m->loop);
	loop_timer_every(m->loop, &m->watch, MAX(m->o.lease_us / 4, 1));
}

static void remote_down(void *ctx, const char *why, int64_t retry_us)
{
	struct remote *m = ctx;
	if (m->turned_away) { /* it is there, and stays refused until it is tried again */
		m->turned_away = m->told_away = false;
	} else {
		if (!m->told_away)
			log_warn(ROLE, "reaper away; reconnecting", KV_TEXT("peer", m->o.address),
				 KV_TEXT("why", why), KV_DURATION("retry", retry_us));
		m->told_away = true;
		m->state = REAPER_AWAY;
	}
	remote_lose(m, true);
}

/* Whether a job should have been answered long ago: who ticks and never answers would keep its
 * pages for ever. */
static bool remote_is_overdue(const struct remote *m)
{
	int64_t now_us = loop_now_us(m->loop);
	LIST_EACH (struct remote_job, job, &m->jobs, link)
		if (now_us - job->from_us >
		    job->job.patience_us + job->job.limits.total_us + OVERDUE_US)
			return true;
	return false;
}

/* Silent for as long as a lease: it has dropped everything, or will have. */
static void remote_watch(void *ctx)
{
	struct remote *m = ctx;
	if (remote_is_overdue(m)) {
		log_warn(ROLE, "reaper does not answer jobs; ignored",
			 KV_TEXT("peer", m->o.address), KV_DURATION("for", m->o.penalty_us));
		remote_punish(m, REAPER_PUNISHED);
		return;
	}
	if (loop_now_us(m->loop) - m->heard_us < m->o.lease_us)
		return;
	if (!m->told_away)
		log_warn(ROLE,
			 m->met ? "reaper timed out"
				: "reaper is silent: is it a garner reapd, and do both have TLS, "
				  "or neither?",
			 KV_TEXT("peer", m->o.address));
	m->told_away = true;
	remote_lose(m, true);
	if (remote_conn(m))
		conn_close(remote_conn(m));
}

static void remote_renew(void *ctx)
{
	struct remote *m = ctx;
	LIST_EACH (struct remote_job, job, &m->jobs, link)
		(void)polite_renew(m->o.polite, &job->lease, loop_now_us(m->loop));
}

static int remote_connect(struct remote *m, struct err *err)
{
	static const struct conn_ops ops = {.line = remote_message, .drained = remote_drained};
	const struct outgoing_options options = {
		.address = m->name,
		.limits = &remote_limits,
		.tls = m->o.tls,
		.ops = &ops,
		.up = remote_up,
		.down = remote_down,
		.ctx = m,
	};
	return outgoing_new(&m->out, m->o.pool, &options, err);
}

/* The address had a form before, so it has one now. */
static void remote_again(void *ctx)
{
	struct remote *m = ctx;
	struct err err;
	m->state = REAPER_AWAY;
	ENSURE(remote_connect(m, &err) == 0);
}

/* The door. */

static int remote_begin(struct reaper *r, const char *dict_path, struct err *err)
{
	struct remote *m = remote_of(r);
	snprintf(m->dict_path, sizeof m->dict_path, "%s", dict_path ? dict_path : "");
	bucket_packer_free(&m->packer);
	m->packer = bucket_packer_new(dict_path);
	return m->met ? remote_send_dict(m, err) : 0;
}

static uint64_t remote_room(const struct reaper *r)
{
	const struct remote *m = remote_of(r);
	if (!m->met || conn_queued(remote_conn(m)) > remote_limits.high_mark)
		return 0;
	return m->window - MIN(r->counts.out, m->window);
}

static void remote_send_rules(struct remote *m, uint64_t site, const struct reaper_rules *rules)
{
	bool is_new;
	int64_t *until_us = told_sites_put_new(&m->told, site, &is_new);
	if (!is_new && *until_us == rules->until_us)
		return;
	struct reaper_rules from_now = *rules;
	from_now.until_us = MAX(rules->until_us - clock_wall_us(), 0);
	*until_us = rules->until_us;
	remote_send(m, REAP_RULES, &(struct reap_message){.rules = from_now});
}

static void remote_give(void *ctx)
{
	struct remote *m = ctx;
	struct remote_job *job;
	while ((job = LIST_FIRST(struct remote_job, &m->unsent, link)))
		job_put_off(m, job, job->not_now_us);
}

static int remote_submit(struct reaper *r, const struct reaper_job *in,
			 const struct reaper_rules *rules, struct err *err)
{
	struct remote *m = remote_of(r);
	if (remote_room(r) == 0)
		return 1;
	if (!m->has_dict && remote_send_dict(m, err) < 0)
		return -1;
	struct remote_job *job = job_copy(m, in);
	*remote_jobs_put(&m->by_id, in->id) = job;
	if (polite_take(m->o.polite, &in->addr, &in->rule, job->from_us, &job->lease,
			&job->not_now_us) != 0) {
		list_append(&m->unsent, &job->link);
		loop_later(m->loop, &m->give);
		return 0;
	}
	list_append(&m->jobs, &job->link);
	job->number = ++m->given;
	*remote_jobs_put(&m->by_number, job->number) = job;
	r->counts.jobs++;
	if (rules)
		remote_send_rules(m, in->fp.site, rules);
	remote_send(m, REAP_JOB, &(struct reap_message){.id = job->number, .job = *in});
	return 0;
}

/* How the request ended is still wanted, for the lease; not what it brought. */
static void remote_cancel(struct reaper *r, uint64_t id)
{
	struct remote *m = remote_of(r);
	struct remote_job **job = remote_jobs_get(&m->by_id, id);
	if (!job)
		return;
	(*job)->cancelled = true;
	if (m->met && (*job)->number)
		remote_send(m, REAP_CANCEL, &(struct reap_message){.id = (*job)->number});
}

static void remote_free(struct reaper **r)
{
	struct remote *m = remote_of(*r);
	remote_lose(m, false);
	LIST_EACH (struct remote_job, job, &m->unsent, link)
		job_free(m, job);
	outgoing_free(&m->out);
	loop_timer_stop(&m->again);
	loop_timer_stop(&m->renew);
	loop_later_cancel(&m->give);
	remote_jobs_free(&m->by_id);
	remote_jobs_free(&m->by_number);
	told_sites_free(&m->told);
	bucket_packer_free(&m->packer);
	buf_free(&m->text);
	mem_free(&m->known);
	mem_free(&m->name);
	mem_free(&m);
	*r = NULL;
}

static enum reaper_state remote_state(const struct reaper *r)
{
	return remote_of(r)->state;
}

static const struct reaper_ops remote_ops = {
	.kind = "reapd",
	.state = remote_state,
	.begin = remote_begin,
	.room = remote_room,
	.submit = remote_submit,
	.cancel = remote_cancel,
	.free = remote_free,
};

int reaper_remote_new(struct reaper **ret, const struct reaper_remote_options *options,
		      struct err *err)
{
	struct remote *m = mem_alloc(sizeof *m);
	m->o = *options;
	m->loop = conn_pool_loop(options->pool);
	m->name = mem_text(options->address);
	m->reaper = (struct reaper){.ops = &remote_ops, .host = options->host, .name = m->name};
	m->text = BUF_INIT(message_wire_most(&reap_of_master));
	m->again = (struct loop_timer){.fn = remote_again, .ctx = m};
	m->watch = (struct loop_timer){.fn = remote_watch, .ctx = m};
	m->renew = (struct loop_timer){.fn = remote_renew, .ctx = m};
	m->give = (struct loop_later){.fn = remote_give, .ctx = m};
	list_init(&m->jobs);
	list_init(&m->unsent);
	struct reaper *r = &m->reaper;
	if (remote_connect(m, err) < 0) {
		remote_free(&r);
		return -1;
	}
	loop_timer_every(m->loop, &m->renew, POLITE_LEASE_US / 4);
	*ret = r;
	return 0;
}
