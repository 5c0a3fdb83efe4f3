/* A session of garner provider. What was sent is remembered only when the cache has said that it
 * has the set, and without the rows that it refused; a process that is killed sends again what it
 * may have sent already, which the cache then finds unchanged. */
#include "cmd/cache/provider_push.h"

#include "base/clock.h"
#include "base/rows.h"
#include "base/vec.h"
#include "cache/cache_conf.h"
#include "cache/lococa_client.h"
#include "cmd/system/text.h"
#include "net/conn.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
	ROWS_PIECE = 32 << 10,
	SAID_MOST = 20, /* lines of a kind */
	TEXT_MOST = 1100,
	SHOWN_MOST = 32 << 10,
};
#define PROGRESS_US (500 * US_PER_MS)

struct refused {
	unsigned code;
	const char *url, *text;
};

struct left_out {
	struct str url, mime;
	const char *why;
};

struct session {
	struct push *g;
	struct provider_changes changes;
	bool full, asked, was_wanted; /* asked: init was accepted */
	struct loop *loop;
	struct conn_pool *pool;
	struct tls *tls;
	struct lococa_client *client;
	struct loop_timer progress;
	struct loop_io stop;
	bool shows_progress;
	struct arena arena;
	struct lococa_info info;
	size_t at; /* of the changes */
	uint64_t sent;
	uint64_t *refused_hash, *lost;
	size_t nrefused, refused_room, nlost, lost_room;
	struct refused *refused;
	struct left_out *left;
	size_t nsaid, said_room, nleft, left_room;
	bool left_partly; /* of what is left out: not by the type of a file of a tree */
	struct lococa_end end;
	char end_text[TEXT_MOST];
	bool ended;
	const char *result; /* from here on for --json */
	bool is_accepted, is_failed;
};

void push_close(struct push *g)
{
	provider_list_free(&g->now);
}

/* Words of the server, as they may be shown. */
static const char *shown_text(struct session *s, struct str text)
{
	return text_safe(&s->arena, text, SHOWN_MOST);
}

static void clear_progress(const struct session *s)
{
	if (s->shows_progress)
		fprintf(stderr, "\r\033[K");
}

/* What has changed, and what of it the cache takes, as far as that is known. */
static void session_compare(struct session *s)
{
	struct push *g = s->g;
	const struct provider_diff diff = {
		.was = &g->p->file.sent,
		.now = &g->now,
		.origin = g->origin,
		.origins = g->sources,
		.full = s->full,
	};
	provider_changes_free(&s->changes);
	provider_diff_make(&diff, &s->changes);
}

static void session_limit(struct session *s)
{
	const struct provider_file *f = &s->g->p->file;
	const struct provider_limits limits = {
		.mime = f->mime,
		.mimes = f->mimes,
		.any_mime = !f->mimes,
		.files_used = s->asked ? s->info.files_used : 0,
		.files_free = s->asked ? s->info.files_free : UINT64_MAX,
		.space_used = s->asked ? s->info.space_used : 0,
		.space_free = s->asked ? s->info.space_free : UINT64_MAX,
	};
	provider_changes_limit(&s->changes, &limits, s->full);
}

/* During the session */

static void session_seq(struct session *s, const struct lococa_info *info)
{
	struct provider_file *f = &s->g->p->file;
	uint64_t others = f->seq && info->seq > f->seq ? info->seq - f->seq - 1 : 0;
	if (others)
		fprintf(stderr,
			"garner: %" PRIu64 " session%s of this provider %s not ours, or broke off; "
			"the last one was from %s; garner provider password makes a new "
			"password\n",
			others, others == 1 ? "" : "s", others == 1 ? "was" : "were",
			shown_text(s, info->last_address));
	f->seq = info->seq;
	f->at_s = clock_wall_us() / US_PER_S;
}

static void fault_print(struct session *s, const struct lococa_fault *fault)
{
	CLEANUP(buf_free) struct buf words = BUF_INIT(64 << 10);
	cache_code_print(fault->code, str_of(shown_text(s, fault->text)), &words);
	fprintf(s->g->p->call->out, "failed: %s: %s\n", shown_text(s, fault->url),
		buf_text(&words));
}

/* What the cache could not fetch it does not have: it is sent again when it is there. */
static void session_faults(struct session *s, const struct lococa_info *info)
{
	for (size_t i = 0; i < info->faults; i++) {
		const struct lococa_fault *fault = &info->fault[i];
		struct str c = fault->c.n ? fault->c : fault->url;
		*VEC_PUSH(s->lost, s->nlost, s->lost_room) = provider_url_hash(c, fault->mime);
		if (!s->g->o->json)
			fault_print(s, fault);
	}
	if (info->errors > info->faults && !s->g->o->json)
		fprintf(s->g->p->call->out, "failed: %" PRIu64 " more\n",
			info->errors - info->faults);
}

static void session_mimes(struct session *s, const struct lococa_info *info)
{
	struct provider_file *f = &s->g->p->file;
	f->mimes = 0;
	for (size_t i = 0; i < info->mimes && f->mimes < PROVIDER_MIMES; i++)
		if (info->mime[i].n && info->mime[i].n <= PROVIDER_MIME_MAX &&
		    !str_has_control(info->mime[i]))
			f->mime[f->mimes++] = arena_str(&f->arena, info->mime[i]);
}

static void session_wanted(struct session *s, const struct lococa_info *info)
{
	s->was_wanted = info->wanted;
	if (!info->wanted || s->full)
		return;
	const char *why = shown_text(s, info->reason);
	if (s->g->sends_wanted) {
		s->full = true;
		if (!s->g->o->json)
			fprintf(s->g->p->call->out, "the cache wants a full set: %s\n", why);
	} else if (!s->g->o->json) {
		fprintf(stderr,
			"garner: the cache wants a full set (%s): garner provider sync sends it\n",
			why);
	}
}

static void session_accepted(void *ctx, const struct lococa_info *info)
{
	struct session *s = ctx;
	s->asked = true;
	s->info = *info;
	session_seq(s, info);
	session_mimes(s, info);
	session_wanted(s, info);
	session_faults(s, info);
	session_compare(s);
	session_limit(s);
	if (s->changes.to_send == 0 && !(s->full && s->g->o->empty))
		lococa_client_quit(s->client);
	else
		lococa_client_set(s->client, s->full, s->changes.to_send == 0);
}

static bool session_rows(void *ctx, struct buf *out)
{
	struct session *s = ctx;
	for (; s->at < s->changes.n && out->n < ROWS_PIECE; s->at++) {
		const struct provider_change *c = &s->changes.change[s->at];
		if (c->fate != PROVIDER_SENT)
			continue;
		provider_url_row(c, out);
		s->sent++;
	}
	return s->at < s->changes.n;
}

static void session_fault(void *ctx, const struct lococa_fault *fault)
{
	struct session *s = ctx;
	struct str c = fault->c.n ? fault->c : fault->url;
	if (s->nrefused == s->changes.n)
		return; /* more than there are rows */
	*VEC_PUSH(s->refused_hash, s->nrefused, s->refused_room) =
		provider_url_hash(c, fault->mime);
	if (s->nsaid < SAID_MOST || (s->g->o->json && s->nsaid < LOCOCA_FAULTS))
		*VEC_PUSH(s->refused, s->nsaid, s->said_room) =
			(struct refused){fault->code, shown_text(s, c), shown_text(s, fault->text)};
}

static void session_ended(void *ctx, const struct lococa_end *end)
{
	struct session *s = ctx;
	s->ended = true;
	s->end = *end;
	snprintf(s->end_text, sizeof s->end_text, "%s", shown_text(s, end->text));
	loop_stop(s->loop);
}

static const struct lococa_client_ops session_ops = {
	.accepted = session_accepted,
	.rows = session_rows,
	.fault = session_fault,
	.ended = session_ended,
};

static void session_progress(void *ctx)
{
	const struct session *s = ctx;
	if (s->asked && s->changes.to_send)
		fprintf(stderr, "\r\033[K%" PRIu64 " of %zu URLs sent", s->sent,
			s->changes.to_send);
	fflush(stderr);
}

static void session_stop(void *ctx, unsigned what)
{
	struct session *s = ctx;
	(void)what;
	session_ended(s, &(struct lococa_end){.how = LOCOCA_BROKEN, .text = STR("stopped")});
}

static int session_talk(struct session *s, struct err *err)
{
	struct provider *p = s->g->p;
	struct lococa_client_options o = {
		.address = p->conf->uns,
		.plain = p->conf->plain,
		.provider = p->file.id,
		.password = p->file.password,
		.timeout_us = p->conf->timeout_us,
		.ops = &session_ops,
		.ctx = s,
	};
	if (tls_new(&s->tls, &p->conf->tls, false, err) < 0)
		return err_in(err, "provider");
	o.tls = s->tls;
	if (!p->conf->plain && outgoing_may_connect(p->conf->uns, "", s->tls, err) < 0)
		return err_in(err, "provider.uns");
	if (loop_new(&s->loop, NULL, err) < 0)
		return -1;
	s->pool = conn_pool_new(s->loop, (uint64_t)64 << 20);
	if (lococa_client_new(&s->client, s->pool, &o, err) < 0)
		return -1;
	s->progress = (struct loop_timer){.fn = session_progress, .ctx = s};
	s->shows_progress = isatty(STDERR_FILENO) && !s->g->o->json && !s->g->o->silent;
	if (s->shows_progress)
		loop_timer_every(s->loop, &s->progress, PROGRESS_US);
	s->stop = (struct loop_io){.fn = session_stop, .ctx = s};
	if (s->g->stops)
		loop_io_want(s->loop, &s->stop, s->g->stop_fd, LOOP_READ);
	int rc = loop_run(s->loop, err);
	loop_io_end(&s->stop);
	loop_timer_stop(&s->progress);
	clear_progress(s);
	return rc;
}

static void session_free(struct session *s)
{
	lococa_client_free(&s->client);
	if (s->pool)
		conn_pool_free(&s->pool);
	if (s->loop)
		loop_free(&s->loop);
	tls_free(&s->tls);
	provider_changes_free(&s->changes);
	mem_free(&s->refused_hash);
	mem_free(&s->refused);
	mem_free(&s->left);
	mem_free(&s->lost);
	arena_free(&s->arena);
}

/* After it */

/* What is known now; nothing of the set, unless it was accepted. */
static int session_remember(struct session *s, struct err *err)
{
	struct provider *p = s->g->p;
	struct provider_list after = {0}, before = p->file.sent;
	bool kept = s->end.how == LOCOCA_ACCEPTED;
	for (size_t i = 0; i < s->changes.n && !kept; i++)
		if (s->changes.change[i].fate != PROVIDER_UNCHANGED)
			s->changes.change[i].fate = PROVIDER_ERROR;
	provider_changes_apply(&s->changes, kept && s->full, s->lost, s->nlost, &after);
	/* a wrong prefix would be refused by every sync */
	bool in_vain = kept && !s->end.received && s->nrefused;
	for (size_t i = 0; i < s->g->sources && !s->g->o->once && !in_vain; i++)
		if (provider_file_remember(&p->file, &s->g->source[i], err) < 0)
			return -1;
	if (kept)
		p->file.set = s->end.set;
	if (s->was_wanted && !(kept && s->full))
		p->file.at_s = 0; /* the next sync asks, however soon it is */
	if ((kept || s->end.how == LOCOCA_QUIT) && s->g->begun_s)
		p->file.scanned_s = s->g->begun_s;
	p->file.sent = after;
	int rc = provider_save(p, err);
	p->file.sent = before;
	mem_free(&after.url);
	return rc;
}

static void list_left(struct session *s)
{
	for (size_t i = 0; i < s->changes.n; i++) {
		const struct provider_change *c = &s->changes.change[i];
		const struct provider_url *url = provider_change_url(c);
		if (c->fate != PROVIDER_NO_TYPE && c->fate != PROVIDER_NO_ROOM)
			continue;
		bool is_type = c->fate == PROVIDER_NO_TYPE;
		s->left_partly |= !is_type || url->origin == 0;
		*VEC_PUSH(s->left, s->nleft, s->left_room) = (struct left_out){
			url->c, url->mime,
			is_type ? "the cache does not take its type" : "over the quota"};
	}
}

static void say_left(const struct session *s)
{
	for (size_t i = 0; i < MIN(s->nleft, (size_t)SAID_MOST); i++)
		fprintf(stderr, "left out: " STR_FMT " (" STR_FMT "): %s\n",
			STR_ARG(s->left[i].url), STR_ARG(s->left[i].mime), s->left[i].why);
	if (s->nleft > SAID_MOST)
		fprintf(stderr, "left out: %zu more\n", s->nleft - SAID_MOST);
}

static void say_refused(const struct session *s)
{
	for (size_t i = 0; i < MIN(s->nsaid, (size_t)SAID_MOST); i++)
		fprintf(stderr, "refused: %s: %u %s\n", s->refused[i].url, s->refused[i].code,
			s->refused[i].text);
	if (s->nrefused > SAID_MOST)
		fprintf(stderr, "refused: %zu more\n", s->nrefused - SAID_MOST);
	for (size_t i = 0; i < s->nsaid; i++)
		if (s->refused[i].code == CACHE_PREFIX) {
			fprintf(stderr, "garner: garner provider status shows your prefixes; "
					"garner provider secret begins a further one\n");
			break;
		}
}

/* What mends it; "": nothing that is done here. */
static const char *rejected_advice(unsigned code)
{
	switch (code) {
	case CACHE_UNKNOWN:
		return "; garner provider register SITE --again makes a new provider";
	case CACHE_PASSWORD:
		return "; garner provider register --again --id N --password-file FILE gives "
		       "another one";
	case CACHE_UNVERIFIED:
		return "; first garner provider verify FILE-URL";
	default:
		return "";
	}
}

static void say_end(const struct session *s)
{
	FILE *out = s->g->p->call->out;
	const struct provider_changes *c = &s->changes;
	const char *uns = s->g->p->conf->uns;
	switch (s->end.how) {
	case LOCOCA_ACCEPTED:
		fprintf(out,
			"set %" PRIu64 "%s: %" PRIu64 " URL%s accepted (%zu new, %zu changed, %zu "
			"removed)\n",
			s->end.set, s->full ? ", full" : "", s->end.received,
			s->end.received == 1 ? "" : "s", c->added, c->changed, c->removed);
		break;
	case LOCOCA_QUIT:
		if (!s->g->o->silent)
			fprintf(out, "nothing to send\n");
		break;
	case LOCOCA_INIT_REJECTED:
	case LOCOCA_SET_REJECTED:
		fprintf(stderr, "garner: %s: refused: %u %s; nothing was taken%s\n", uns,
			s->end.code, s->end_text, rejected_advice(s->end.code));
		break;
	case LOCOCA_BROKEN:
		fprintf(stderr, "garner: %s: %s; what changed is sent the next time\n", uns,
			s->end_text);
		break;
	}
	fflush(out);
}

static const struct column failed_columns[] = {
	COL("url", struct lococa_fault, url),   COL("mime", struct lococa_fault, mime),
	COL("code", struct lococa_fault, code), COL("text", struct lococa_fault, text),
	COL("at", struct lococa_fault, at),
};
static const struct rows failed_rows = {ROWS(struct lococa_fault, failed_columns)};
static const struct column refused_columns[] = {
	COL("url", struct refused, url),
	COL("code", struct refused, code),
	COL("text", struct refused, text),
};
static const struct rows refused_rows = {ROWS(struct refused, refused_columns)};
static const struct column left_columns[] = {
	COL("url", struct left_out, url),
	COL("mime", struct left_out, mime),
	COL("why", struct left_out, why),
};
static const struct rows left_rows = {ROWS(struct left_out, left_columns)};

static const struct column outcome_columns[] = {
	COL("result", struct session, result),
	COL("full", struct session, full),
	COL("wanted", struct session, info.reason, COL_IF(struct session, was_wanted)),
	COL("set", struct session, end.set, COL_IF(struct session, is_accepted)),
	COL("received", struct session, end.received, COL_IF(struct session, is_accepted)),
	COL("code", struct session, end.code, COL_IF(struct session, is_failed)),
	COL("text", struct session, end_text, COL_IF(struct session, is_failed)),
	COL("new", struct session, changes.added),
	COL("changed", struct session, changes.changed),
	COL("removed", struct session, changes.removed),
	COL("errors", struct session, info.errors),
	COL("processing", struct session, info.processing),
	COL_LIST("failed", struct session, info.fault, info.faults, failed_rows),
	COL_LIST("refused", struct session, refused, nsaid, refused_rows),
	COL_LIST("left_out", struct session, left, nleft, left_rows),
};
static const struct rows outcome_rows = {ROWS(struct session, outcome_columns)};

static void json_end(struct session *s)
{
	static const char *const words[] = {"accepted", "rejected", "rejected", "broken",
					    "nothing"};
	s->result = words[s->end.how];
	s->is_accepted = s->end.how == LOCOCA_ACCEPTED;
	s->is_failed = !s->is_accepted && s->end.how != LOCOCA_QUIT;
	cmd_row_json(s->g->p->call, &outcome_rows, s);
}

static int session_code(const struct session *s)
{
	if (s->end.how != LOCOCA_ACCEPTED && s->end.how != LOCOCA_QUIT)
		return ERR_REMOTE;
	if (s->nrefused || s->left_partly)
		return ERR_PARTLY;
	return s->end.how == LOCOCA_QUIT ? 1 : 0;
}

/* Whether there is anything that the file does not say yet. */
static bool is_news(const struct session *s)
{
	const struct provider_file *f = &s->g->p->file;
	size_t k;
	for (size_t i = 0; i < s->changes.n; i++) {
		const struct provider_change *c = &s->changes.change[i];
		if (c->fate == PROVIDER_UNCHANGED && c->now && c->was &&
		    c->now->mtime_s != c->was->mtime_s)
			return true;
	}
	for (size_t i = 0; i < s->g->sources && !s->g->o->once; i++) {
		for (k = 0; k < f->sources; k++)
			if (provider_source_origin(&f->source[k]) == s->g->origin[i])
				break;
		if (k == f->sources)
			return true;
	}
	return s->asked;
}

static int session_finish(struct session *s, struct err *err)
{
	provider_changes_refused(&s->changes, s->refused_hash, s->nrefused);
	list_left(s);
	if (s->g->o->json) {
		json_end(s);
	} else {
		say_left(s);
		say_refused(s);
		say_end(s);
	}
	if ((s->asked || s->end.how == LOCOCA_QUIT) && is_news(s) && session_remember(s, err) < 0)
		return -1;
	return session_code(s);
}

struct planned {
	const char *op;
	struct str url, mime;
};
static const struct column planned_columns[] = {
	COL("op", struct planned, op),
	COL("url", struct planned, url),
	COL("mime", struct planned, mime),
};
static const struct rows planned_rows = {ROWS(struct planned, planned_columns)};

static int print_changes(struct session *s)
{
	struct buf out = BUF_INIT((size_t)4 << 30);
	size_t n = 0;
	for (size_t i = 0; i < s->changes.n; i++) {
		const struct provider_change *c = &s->changes.change[i];
		const struct provider_url *url = provider_change_url(c);
		const char *op = c->op == PROVIDER_REMOVE ? "remove" : "update";
		if (c->fate != PROVIDER_SENT)
			continue;
		n++;
		if (s->g->o->json) {
			rows_json_line(&planned_rows, &(struct planned){op, url->c, url->mime},
				       &out);
		} else {
			buf_printf(&out, "%s  ", op);
			put_safe(&out, url->c);
			buf_printf(&out, "  " STR_FMT "\n", STR_ARG(url->mime));
		}
	}
	cmd_print(s->g->p->call, &out);
	list_left(s);
	if (!s->g->o->json)
		say_left(s);
	return n ? 0 : 1;
}

int push_run(struct push *g, struct err *err)
{
	struct session s = {.g = g, .full = g->o->full, .arena = ARENA_INIT((size_t)4 << 30)};
	int code = 0;
	provider_list_sort(&g->now);
	session_compare(&s);
	session_limit(&s);
	if (g->o->dry_run) {
		code = print_changes(&s);
	} else {
		if (s.changes.to_send || g->must_ask || g->o->full)
			code = session_talk(&s, err);
		else
			s.end.how = LOCOCA_QUIT;
		if (code == 0)
			code = session_finish(&s, err);
	}
	session_free(&s);
	return code;
}
