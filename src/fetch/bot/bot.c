/* The role `bot`: a robot of the fabric (document 004, section 8). It reads requests in XML,
 * fetches URLs into files and answers when the files are on disk. It connects to its botm and
 * reconnects, or it listens for people who type. doc/protocols/bot.md describes the messages. It
 * stores nothing, so it ends at once on a signal: its botm gives its URLs to others.
 *
 * A peer is a connection, a job is one of its requests. A job is with the robot until it is
 * fetched, then perhaps in the next sync, and is answered after that. A file gets its name when it
 * is complete, if the peer that asked for it is still connected. Each peer has a list of its jobs,
 * so that they end with it. Attributes of a provider's contract (delay, robots) are accepted from a
 * botm only.
 *
 * One sync (net/sync_group.h) serves all files that were named before it began (the batch). When a
 * peer disconnects, its jobs stay in the batch without it: their files have their names, and the
 * botm knows that they were not answered.
 *
 * Answers of one round of the loop are gathered for each peer and sent together by a deferred
 * call. */
#include "fetch/bot.h"

#include "base/fault.h"
#include "base/log.h"
#include "fetch/bot_wire.h"
#include "fetch/kit.h"
#include "net/http_head.h"
#include "net/outgoing.h"
#include "net/role_loop.h"
#include "net/server.h"
#include "net/sync_group.h"

#include <inttypes.h>
#include <limits.h>

#define PATIENCE_US (15 * US_PER_MIN) /* longest wait for politeness */
#define LOOK_US (1 * US_PER_S)        /* between two checks of free space */
#define RETRY_MIN_US (100 * US_PER_MS)
#define GATHER_US (10 * US_PER_MS)
enum {
	GATHER_MOST = 64,       /* files after which a sync starts without waiting for more */
	ANSWERS_MAX = 64 << 20, /* bytes of answers that wait for one peer */
	JOBS_SLACK = 64, /* requests beyond `parallel` that a peer may have before it waits */
};

/* Settings. */

struct bot_conf {
	const char *botm, *listen, *folder;
	int64_t parallel;
	struct server_limits limits;
	struct tls_conf tls;
};

static const struct value_spec specs[] = {
	{"botm", VALUE_TEXT_AT(struct bot_conf, botm), .fallback = "127.0.0.1:8191",
	 .moves = "net.port",
	 .help = "address of its botm: address or name with a port, or unix:PATH"},
	{"listen", VALUE_LISTEN_AT(struct bot_conf, listen),
	 .help = "address where it listens for people who type (telnet) instead of connecting to a "
		 "botm, for trials: host and port, or unix:PATH"},
	{"parallel", VALUE_INT_AT(struct bot_conf, parallel), .fallback = "100", .min = 1,
	 .max = 15000, .help = "fetches at the same time"},
	{"folder", VALUE_PATH_AT(struct bot_conf, folder), .fallback = "cache/files",
	 .help = "folder where files are written, below the data directory or absolute; set the "
		 "same on its botm"},
	SERVER_LIMITS_AT(struct bot_conf, limits),
	TLS_SPECS(struct bot_conf, tls),
};

static const struct config_section section = {
	.name = "bot",
	.help = "A robot that fetches for a botm, or for people who type.",
	.size = sizeof(struct bot_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
	.several = true,
};

struct bot_counts {
	uint64_t fetches, stored, unchanged, failed, cancelled, syncs, bytes, refused;
	uint64_t out, peers; /* now */
};

#define COUNTED(member) COUNTER_AT(struct bot_counts, member)
static const struct counter_def counters[] = {
	{"fetches", NULL, COUNTER_TOTAL, "URLs that it was asked to fetch.", COUNTED(fetches)},
	{"stored", NULL, COUNTER_TOTAL, "Files that were stored.", COUNTED(stored)},
	{"unchanged", NULL, COUNTER_TOTAL, "Fetches whose document had not changed.",
	 COUNTED(unchanged)},
	{"failed", NULL, COUNTER_TOTAL, "Fetches that failed.", COUNTED(failed)},
	{"cancelled", NULL, COUNTER_TOTAL,
	 "Fetches whose connection was lost before they were answered.", COUNTED(cancelled)},
	{"stored_bytes", NULL, COUNTER_TOTAL, "Bytes of these files.", COUNTED(bytes)},
	{"syncs", NULL, COUNTER_TOTAL, "Syncs, each of them for many files.", COUNTED(syncs)},
	{"refused_messages", NULL, COUNTER_TOTAL, "Messages that were none, or not for a robot.",
	 COUNTED(refused)},
	{"under_way", NULL, COUNTER_GAUGE, "Fetches without an answer.", COUNTED(out)},
	{"peers", NULL, COUNTER_GAUGE, "Connections that ask.", COUNTED(peers)},
};

static bool bot_listens(const struct bot_conf *conf)
{
	return conf->listen && conf->listen[0];
}

static int bot_check(const struct config *config, const struct config_section *of, struct err *err)
{
	const struct bot_conf *conf = config_get(config, of);
	struct tls *tls = NULL;
	bool listens = bot_listens(conf);
	int rc = listens ? server_may_listen_at(conf->listen, &conf->tls, err)
			 : MIN(tls_new(&tls, &conf->tls, false, err), 0);
	if (rc == 0 && !listens && outgoing_may_connect(conf->botm, "", tls, err) < 0)
		rc = err_in(err, "botm");
	tls_free(&tls);
	return rc < 0 ? err_in(err, "%s", of->name) : 0;
}

/* Peers. */

/* The last bytes of a line that may be incomplete: enough to recognize HTTP, with its CR. */
struct line_end {
	char bytes[sizeof " HTTP/1.1\r" - 1];
	size_t n;
};

struct bot_peer {
	struct bot *bot;
	struct conn *conn;       /* NULL: it is not connected */
	struct session *session; /* a person's; NULL: the botm */
	struct bot_reader *reader;
	struct link jobs, link;
	uint64_t out;
	struct buf answers;
	struct link told; /* has answers to be sent */
	bool paused;
	struct line_end line_end; /* of a person */
};

struct job {
	struct robot_file_sink sink;
	struct bot *bot;
	struct bot_peer *peer; /* NULL: it is gone */
	struct robot_handle handle;
	struct link link;  /* of the peer's jobs */
	struct link batch; /* waits for a sync, or is in one */
	struct bot_message answer;
	char id[BOT_ID_MAX + 1], name[BOT_FILE_MAX + 1];
	char *texts; /* of the answer: MIME type and etag; NULL: none */
};

struct bot {
	struct role_loop role;
	const struct bot_conf *conf;
	struct robot_section_conf robot;
	struct kit kit;
	char path[PATH_MAX]; /* of the folder */
	struct beneath *folder;
	struct server *server;
	struct conn_pool *conns;
	struct outgoing *out;
	struct bot_peer botm; /* where there is one */
	struct link peers, told;
	struct loop_later tell;
	struct loop_timer beat, look;
	struct link waiting, syncing; /* jobs */
	size_t nwaiting;
	struct sync_group sync;
	bool is_full, away;
	bool cannot_store; /* the last file could not be stored, which was logged */
	struct conn_limits conn_limits;
	struct bot_counts counts;
};

/* Answers. */

static void peer_tell(struct bot_peer *p, const struct bot_message *m)
{
	bot_message_print(m, &p->answers);
	if (!list_has(&p->told))
		list_append(&p->bot->told, &p->told);
	loop_later(p->bot->role.loop, &p->bot->tell);
}

static void tell_all(void *ctx)
{
	struct bot *b = ctx;
	LIST_EACH (struct bot_peer, p, &b->told, told) {
		list_remove(&p->told);
		if (p->conn)
			(void)conn_send(p->conn, buf_str(&p->answers));
		buf_clear(&p->answers);
	}
}

static void peer_announce(struct bot_peer *p)
{
	const struct bot *b = p->bot;
	peer_tell(p,
		  &(struct bot_message){.kind = BOT_ROBOT,
					.has = BOT_HAS_PARALLEL,
					.parallel = b->is_full ? 0 : (uint64_t)b->conf->parallel});
}

/* A peer that sends more requests than announced is not read, so that it cannot fill the memory. */
static void peer_hold(struct bot_peer *p)
{
	bool much = p->out > (uint64_t)p->bot->conf->parallel + JOBS_SLACK;
	if (much == p->paused || !p->conn)
		return;
	p->paused = much;
	if (much)
		conn_pause(p->conn);
	else
		conn_resume(p->conn);
}

/* Jobs. */

static void job_end(struct job *job)
{
	struct bot_peer *p = job->peer;
	beneath_drop(&job->sink.file);
	list_remove(&job->link);
	list_remove(&job->batch);
	job->bot->counts.out--;
	if (p) {
		p->out--;
		peer_hold(p);
	}
	mem_free(&job->texts);
	mem_free(&job);
}

static void job_answer(struct job *job)
{
	if (job->peer)
		peer_tell(job->peer, &job->answer);
	job_end(job);
}

static void answer_reason(struct bot_message *m, const char *why)
{
	m->reason = str_utf8_head(str_of(why), BOT_REASON_MAX);
	if (m->reason.n)
		m->has |= BOT_HAS_REASON;
}

static void job_fail(struct job *job, enum outcome outcome, enum robot_cause cause, const char *why)
{
	job->bot->counts.failed++;
	job->answer.outcome = outcome;
	job->answer.cause = str_of(robot_cause_name(cause));
	job->answer.has |= BOT_HAS_CAUSE;
	answer_reason(&job->answer, why);
	job_answer(job);
}

/* Logs the first failure in a row: a full disk, a folder without write permission. */
static void store_failed(struct bot *b, const char *why, const char *name)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	buf_printf(&path, "%s/%s", b->path, name);
	if (!b->cannot_store)
		log_warn(ROLE, "cannot store files", KV_TEXT("path", buf_text(&path)),
			 KV_TEXT("why", why));
	b->cannot_store = true;
}

/* Syncs. */

/* After a failed sync the file may be lost in a power cut, so the job fails. */
static void job_synced(struct job *job, int rc, const struct err *err)
{
	struct bot_counts *counts = &job->bot->counts;
	if (rc < 0) {
		job_fail(job, OUTCOME_CANCELLED, ROBOT_CAUSE_SINK, err->msg);
		return;
	}
	job->bot->cannot_store = false;
	counts->stored++;
	counts->bytes += job->answer.size;
	job_answer(job);
}

static bool sync_begin(void *ctx)
{
	struct bot *b = ctx;
	if (list_is_empty(&b->waiting))
		return false;
	LIST_EACH (struct job, job, &b->waiting, batch) {
		list_remove(&job->batch);
		list_append(&b->syncing, &job->batch);
	}
	b->nwaiting = 0;
	b->counts.syncs++;
	return true;
}

static int sync_run(void *ctx, struct err *err)
{
	const struct bot *b = ctx;
	int rc = beneath_sync(b->folder, err);
	FAULT("bot.synced");
	return rc;
}

static void sync_ended(void *ctx, int rc, const struct err *err)
{
	struct bot *b = ctx;
	if (rc < 0)
		store_failed(b, err->msg, "");
	LIST_EACH (struct job, job, &b->syncing, batch)
		job_synced(job, rc, err);
	FAULT("bot.answers");
	sync_group_soon(&b->sync, 0);
}

/* Waits a little, so that jobs that end soon share the sync. */
static void sync_wait(struct job *job)
{
	struct bot *b = job->bot;
	list_append(&b->waiting, &job->batch);
	sync_group_soon(&b->sync, ++b->nwaiting < GATHER_MOST ? GATHER_US : 0);
}

/* What the robot says. */

static struct job *job_of(struct robot_sink *sink)
{
	return LIST_OF(struct job, sink, sink.sink);
}

static int job_written(struct robot_sink *sink, bool is_complete, struct err *err)
{
	(void)err;
	if (!is_complete)
		beneath_drop(&job_of(sink)->sink.file);
	return 0;
}

static void answer_fill(struct bot_message *m, const struct robot_result *result)
{
	m->outcome = result->outcome;
	m->cause = str_of(robot_cause_name(result->cause));
	m->status = (uint64_t)MAX(result->head->status, 0);
	m->mime = str_of(result->head->mime);
	m->etag = str_of(result->head->etag);
	m->has |= BOT_HAS_CAUSE | (m->status ? BOT_HAS_STATUS : 0) |
		  (m->mime.n ? BOT_HAS_MIME : 0) | (m->etag.n ? BOT_HAS_ETAG : 0);
	if (!outcome_is_ok(result->outcome))
		answer_reason(m, result->why);
	if (result->last_modified_us >= 0) {
		m->mtime = (uint64_t)(result->last_modified_us / US_PER_S);
		m->has |= BOT_HAS_MTIME;
	}
	m->size = result->size;
	m->has |= m->size ? BOT_HAS_SIZE : 0;
	if (result->outcome != OUTCOME_OK)
		return;
	memcpy(m->md5, result->md5, sizeof m->md5);
	m->has |= BOT_HAS_SIZE | BOT_HAS_MD5;
}

/* Copies texts of the answer, which must outlive the robot's result. */
static void answer_keep(struct job *job)
{
	struct bot_message *m = &job->answer;
	job->texts = mem_alloc(m->mime.n + m->etag.n + 1);
	memcpy(job->texts, m->mime.p, m->mime.n);
	memcpy(job->texts + m->mime.n, m->etag.p, m->etag.n);
	m->mime.p = job->texts;
	m->etag.p = job->texts + m->mime.n;
}

/* Returns whether the peer still waits. If its connection has ended, another robot may have the
 * name of the file by now. */
static bool job_is_wanted(const struct job *job)
{
	return job->peer && job->peer->conn && !conn_is_cut(job->peer->conn);
}

static void job_fetched(void *ctx, const struct robot_result *result)
{
	struct job *job = ctx;
	struct bot_counts *counts = &job->bot->counts;
	struct err err;
	answer_fill(&job->answer, result);
	if (result->cause == ROBOT_CAUSE_SINK)
		store_failed(job->bot, result->why, job->name);
	if (result->outcome != OUTCOME_OK || !job->name[0]) {
		counts->unchanged += result->outcome == OUTCOME_UNCHANGED;
		counts->failed += !outcome_is_ok(result->outcome);
		job_answer(job);
	} else if (!job_is_wanted(job)) {
		job_fail(job, OUTCOME_CANCELLED, ROBOT_CAUSE_SINK, "nobody waits for it any more");
	} else if (beneath_name(&job->sink.file, &err) < 0) {
		store_failed(job->bot, err.msg, job->name);
		job_fail(job, OUTCOME_CANCELLED, ROBOT_CAUSE_SINK, err.msg);
	} else {
		FAULT("bot.named");
		answer_keep(job);
		sync_wait(job);
	}
}

/* What peers say. */

static struct job *job_new(struct bot_peer *p, const struct bot_message *m)
{
	static const struct robot_sink_ops ops = {robot_file_begin, robot_file_write, job_written};
	struct job *job = mem_alloc(sizeof *job);
	*job = (struct job){.sink = robot_file_sink(p->bot->folder, job->name),
			    .bot = p->bot,
			    .peer = p,
			    .answer = {.kind = BOT_FETCHED, .has = BOT_HAS_ID | BOT_HAS_OUTCOME}};
	job->sink.sink.ops = &ops;
	memcpy(job->id, m->id.p, m->id.n); /* both are bounded, see bot_wire.h */
	memcpy(job->name, m->file.p ? m->file.p : "", m->file.n);
	job->answer.id = (struct str){job->id, m->id.n};
	list_append(&p->jobs, &job->link);
	p->out++;
	p->bot->counts.out++;
	p->bot->counts.fetches++;
	return job;
}

static void job_start(struct job *job, const struct bot_message *m)
{
	struct bot *b = job->bot;
	const struct robot_conf *conf = &b->robot.robot;
	struct robot_limits limits = conf->limits;
	char since[TIME_HTTP] = "";
	bool exempt = m->has & BOT_HAS_ROBOTS && !m->robots;
	const struct polite_rule rule = {.delay_us = m->delay_us,
					 .concurrent = (unsigned)conf->concurrent,
					 .exempt = exempt};
	struct err err;
	if (m->has & BOT_HAS_SIZE_MAX)
		limits.body = MIN(limits.body, m->size_max);
	if (m->has & BOT_HAS_SINCE)
		time_print_http((int64_t)m->since * US_PER_S, since);
	const struct robot_job ask = {.url = m->url,
				      .etag = m->etag,
				      .last_modified = str_of(since),
				      .limits = &limits,
				      .rule = m->has & BOT_HAS_DELAY ? &rule : NULL,
				      .sink = job->name[0] ? &job->sink.sink : NULL,
				      .mime = m->mime,
				      .within = m->within,
				      .patience_us = PATIENCE_US,
				      .handle = &job->handle,
				      .flags = ROBOT_WAIT | ROBOT_NO_SHA256 |
					       (exempt ? (unsigned)ROBOT_NO_ROBOTS : 0)};
	if (robot_fetch(b->kit.robot, &ask, job_fetched, job, &err) < 0)
		job_fail(job, OUTCOME_PERMANENT, ROBOT_CAUSE_URL, err.msg);
}

static void on_message(void *ctx, const struct bot_message *m)
{
	struct bot_peer *p = ctx;
	struct bot *b = p->bot;
	if (m->kind == BOT_REFUSED && !p->session) {
		log_warn(ROLE, "botm refused this robot", KV_TEXT("peer", b->conf->botm),
			 KV_STR("why", m->reason));
		xml_stream_stop(p->reader->xml);
		outgoing_rest(b->out, BOT_REFUSED_US);
	} else if (m->kind != BOT_FETCH) {
		xml_stream_refuse(p->reader->xml, "a robot is asked to <fetch id= url=/>");
	} else if (p->session && m->has & (BOT_HAS_DELAY | BOT_HAS_ROBOTS)) {
		xml_stream_refuse(p->reader->xml,
				  "delay and robots belong to a provider's contract; "
				  "they are not taken here");
	} else {
		job_start(job_new(p, m), m);
		peer_hold(p);
	}
}

/* Tells a person about the mistake, and disconnects from a botm. */
static void on_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct bot_peer *p = ctx;
	struct bot *b = p->bot;
	b->counts.refused++;
	if (!p->session) {
		char why[BOT_REASON_MAX + 1];
		bot_error_print(err, line, column, why);
		log_warn(ROLE, "botm sent an invalid message", KV_TEXT("peer", b->conf->botm),
			 KV_TEXT("why", why));
		conn_close(p->conn);
		return;
	}
	peer_tell(p,
		  &(struct bot_message){.kind = BOT_ERROR,
					.has = BOT_HAS_LINE | BOT_HAS_COLUMN | BOT_HAS_REASON,
					.line = line,
					.column = column,
					.reason = str_utf8_head(str_of(err->msg), BOT_REASON_MAX)});
	xml_stream_resync(p->reader->xml);
}

/* Peers. */

static void peer_begin(struct bot_peer *p, struct bot *b, struct conn *c, struct session *s)
{
	static const struct bot_reader_ops ops = {on_message, on_error};
	*p = (struct bot_peer){.bot = b, .conn = c, .session = s, .answers = BUF_INIT(ANSWERS_MAX)};
	p->reader = bot_reader_new(&ops, p);
	list_init(&p->jobs);
	list_append(&b->peers, &p->link);
	b->counts.peers++;
	peer_announce(p);
}

/* Drops the jobs of a peer. Jobs in a sync end with it. */
static void peer_end(struct bot_peer *p)
{
	struct bot *b = p->bot;
	if (!p->reader)
		return;
	p->conn = NULL;
	LIST_EACH (struct job, job, &p->jobs, link) {
		robot_cancel(&job->handle);
		b->counts.cancelled++;
		job->peer = NULL;
		list_remove(&job->link);
		if (!list_has(&job->batch))
			job_end(job);
	}
	bot_reader_free(&p->reader);
	buf_free(&p->answers);
	list_remove(&p->told);
	list_remove(&p->link);
	b->counts.peers--;
}

static struct bot_peer *asker_of(struct session *s)
{
	return session_state(s);
}

static void person_opened(struct session *s)
{
	peer_begin(asker_of(s), server_ctx(session_server(s)), session_conn(s), s);
}

static void line_end_keep(struct line_end *e, struct str more)
{
	struct str last = str_from(more, more.n - MIN(more.n, sizeof e->bytes));
	size_t keep = MIN(e->n, sizeof e->bytes - last.n);
	memmove(e->bytes, e->bytes + e->n - keep, keep);
	memcpy(e->bytes + keep, last.p, last.n);
	e->n = keep + last.n;
}

static bool line_is_http(const struct line_end *e)
{
	bool cr = e->n && e->bytes[e->n - 1] == '\r';
	return http_is_first_line((struct str){e->bytes, e->n - cr});
}

/* Returns the number of bytes before the end of a line that is an HTTP request. */
static size_t before_http(struct line_end *e, struct str piece)
{
	size_t at = 0;
	for (;;) {
		struct str rest = str_from(piece, at);
		size_t n = str_find_byte(rest, '\n');
		line_end_keep(e, str_head(rest, n));
		at += n;
		if (at == piece.n || line_is_http(e))
			return at;
		e->n = 0;
		at++;
	}
}

static void person_bytes(struct session *s, struct str piece)
{
	struct bot_peer *p = asker_of(s);
	size_t n = before_http(&p->line_end, piece);
	bot_reader_put(p->reader, str_head(piece, n));
	if (n == piece.n)
		return;
	p->bot->counts.refused++;
	xml_stream_stop(p->reader->xml);
	conn_close(p->conn);
}

static void person_closed(struct session *s, enum conn_end end)
{
	(void)end;
	peer_end(asker_of(s));
}

static const struct server_protocol protocol = {
	.name = "bot",
	.words = BOT_SERVER_WORDS,
	.state_size = sizeof(struct bot_peer),
	.opened = person_opened,
	.bytes = person_bytes,
	.closed = person_closed,
};

static void botm_up(void *ctx, struct conn *c)
{
	struct bot *b = ctx;
	peer_begin(&b->botm, b, c, NULL);
	b->away = false;
	log_info(ROLE, "connected to the botm", KV_TEXT("peer", b->conf->botm));
}

static void botm_bytes(void *ctx, struct str piece)
{
	struct bot *b = ctx;
	bot_reader_put(b->botm.reader, piece);
}

/* Logs the first failure in a row. */
static void botm_down(void *ctx, const char *why, int64_t retry_us)
{
	struct bot *b = ctx;
	if (!b->away)
		log_info(ROLE, "botm away; reconnecting", KV_TEXT("peer", b->conf->botm),
			 KV_TEXT("why", why), KV_DURATION("retry", retry_us));
	b->away = true;
	peer_end(&b->botm);
}

/* A botm treats a silent robot as dead. */
static void on_beat(void *ctx)
{
	struct bot *b = ctx;
	if (b->botm.reader)
		peer_announce(&b->botm);
}

static void on_look(void *ctx)
{
	struct bot *b = ctx;
	uint64_t left;
	struct err ignored;
	bool full =
		file_space(b->path, &left, NULL, &ignored) == 0 && left < b->role.env->disk_free;
	if (full == b->is_full)
		return;
	b->is_full = full;
	if (full)
		log_warn(ROLE, "disk full; fetching paused", KV_TEXT("folder", b->path));
	else
		log_info(ROLE, "disk no longer full; fetching resumed", KV_TEXT("folder", b->path));
	LIST_EACH (struct bot_peer, p, &b->peers, link)
		peer_announce(p);
}

/* Beginning and end. */

static int bot_connect(struct bot *b, struct err *err)
{
	static const struct conn_ops ops = {.bytes = botm_bytes};
	const struct outgoing_options options = {.address = b->conf->botm,
						 .dns = &b->robot.dns,
						 .trusted = true,
						 .retry_min_us = RETRY_MIN_US,
						 .limits = &b->conn_limits,
						 .tls = b->role.tls,
						 .ops = &ops,
						 .up = botm_up,
						 .down = botm_down,
						 .ctx = b};
	b->conns = conn_pool_new(b->role.loop, b->conf->limits.memory);
	return outgoing_new(&b->out, b->conns, &options, err);
}

static int bot_make(struct bot *b, struct err *err)
{
	struct role_env *env = b->role.env;
	int fd = role_fd(env, "listen");
	b->robot.robot.at_once = b->conf->parallel;
	/* anyone who can connect can have pages fetched */
	if (file_below(env->data, b->conf->folder, b->path, err) < 0 ||
	    tls_new(&b->role.tls, &b->conf->tls, fd >= 0, err) < 0 ||
	    (fd >= 0 && server_may_listen(fd, b->role.tls, err) < 0) ||
	    role_loop_open(&b->role, err) < 0 ||
	    kit_open(&b->kit, b->role.loop, env->data, &b->robot, err) < 0)
		return -1;
	if (beneath_open(&b->folder, b->path, 0640, err) < 0)
		return err_in(err, "folder");
	b->sync = (struct sync_group){.loop = b->role.loop,
				      .begin = sync_begin,
				      .run = sync_run,
				      .done = sync_ended,
				      .ctx = b};
	if (sync_group_open(&b->sync, err) < 0 || (fd < 0 && bot_connect(b, err) < 0))
		return -1;
	on_look(b);
	loop_timer_every(b->role.loop, &b->beat, BOT_BEAT_US);
	loop_timer_every(b->role.loop, &b->look, LOOK_US);
	if (fd < 0)
		return 0;
	b->server = server_new(b->role.loop, &protocol, &b->conf->limits, b->role.tls, b);
	return server_listen(b->server, fd, err);
}

static void jobs_drop(struct link *jobs)
{
	LIST_EACH (struct job, job, jobs, batch)
		job_end(job);
}

/* Stops everything and waits for a running sync. */
static void bot_close(struct bot *b)
{
	struct err ignored; /* there is nobody to report it to */
	peer_end(&b->botm);
	outgoing_free(&b->out);
	server_free(&b->server);
	conn_pool_free(&b->conns);
	(void)sync_group_close(&b->sync, &ignored);
	jobs_drop(&b->waiting);
	jobs_drop(&b->syncing);
	loop_later_cancel(&b->tell);
	loop_timer_stop(&b->beat);
	loop_timer_stop(&b->look);
	beneath_close(&b->folder);
	(void)kit_close(&b->kit, &ignored);
	role_loop_close(&b->role);
}

static void tell_counters(void *ctx)
{
	struct bot *b = ctx;
	const struct bot_counts *c = &b->counts;
	role_loop_tell_of(&b->role, c, "%" PRIu64 " fetches under way, %" PRIu64 " stored", c->out,
			  c->stored);
}

static int bot_run(struct role_env *env, struct err *err)
{
	const struct robot_section_conf *robot = config_get(env->config, &robot_section);
	struct bot b = {
		.role = {.env = env, .tell = tell_counters, .ctx = &b},
		.conf = config_get(env->config, &section),
		.robot = *robot,
		.tell = {.fn = tell_all, .ctx = &b},
		.beat = {.fn = on_beat, .ctx = &b},
		.look = {.fn = on_look, .ctx = &b},
		/* reading goes on while answers wait: peer_hold() bounds the requests */
		.conn_limits = {.pieces = true, .high_mark = ANSWERS_MAX, .queue_max = ANSWERS_MAX},
	};
	list_init(&b.peers);
	list_init(&b.told);
	list_init(&b.waiting);
	list_init(&b.syncing);
	int rc = bot_make(&b, err);
	if (rc == 0)
		rc = role_loop_run(&b.role, err);
	bot_close(&b);
	return rc;
}

const struct role bot_role = {
	.name = "bot",
	.only_named = true,
	.summary = "fetch URLs into files for a botm",
	.description =
		"Connects to its botm (bot.botm), says how many URLs it fetches at a time, fetches "
		"what it is given, politely, and answers when the files are on disk. It keeps "
		"nothing, and may be stopped and killed at any time: the botm gives its URLs to "
		"others. It may run several times (bot@1, bot@2).\n\nWith bot.listen it waits for "
		"people in place of a botm: telnet to it and type <fetch id=\"1\" "
		"url=\"http://example.org/\" file=\"page\"/>.",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = bot_check,
	.run = bot_run,
};
