/* What URL servers and spiders say to the lending reaper, by doc/protocols/docindex.md. A WANT
 * waits for URLs for a while. The OK of a RESULT or a DONE goes out after the checkpoint that keeps
 * what followed from it, or from the one before of the same document; where nothing is to be kept,
 * at once. OKs of a session stand in a queue, since they have to come in the order of what they
 * answer. */
#include "base/clock.h"
#include "base/fault.h"
#include "fetch/result_wire.h"
#include "role/counters.h"
#include "shepherd/lent_inner.h"
#include "shepherd/reap/reaper_local.h"

#include <stdio.h>

#define WANT_US (2 * US_PER_S) /* how long a WANT may wait for URLs */
enum {
	HAVE_SECONDS = 1,       /* after which a URL server asks again */
	READING_MOST = 256,     /* documents with the parsers; with more nothing is read */
	REJECTS_MOST = 2000000, /* hosts in the reject lists of all sessions */
};

static struct lent *lent_of_session(struct session *s)
{
	return server_ctx(session_server(s));
}

bool client_takes(const struct lent_client *c, uint64_t host)
{
	return c->want && !rejected_get((struct rejected *)&c->rejects, host);
}

/* Handing out. */

static void client_answer(struct lent_client *c, const struct docindex_answer *a)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(DOCINDEX_LINE_MAX + 2);
	docindex_answer_write(a, &line);
	conn_send(session_conn(c->session), buf_str(&line));
}

static void have_nothing(struct lent_client *c)
{
	const struct docindex_answer a = {.kind = DOCINDEX_HAVE, .seconds = HAVE_SECONDS};
	client_answer(c, &a);
	c->want = 0;
}

static bool job_may_go(const struct lent *l, const struct lent_client *c,
		       const struct lent_job *job)
{
	return client_takes(c, job->host) && !loan_rests_us(l, job->loan);
}

/* That it is handed out is noted before it is. */
static int give_note(struct lent *l, const struct lent_client *c, struct err *err)
{
	struct record_group group = {0};
	uint64_t n = 0;
	LIST_EACH (struct lent_job, job, &c->borrower->waiting, link) {
		if (n == c->want)
			break;
		if (!job_may_go(l, c, job))
			continue;
		if (!job->url && lent_file_out(l, job->job.fp, job->loan, &group, err) < 0)
			return -1;
		n++;
	}
	return lent_file_sync(l, &group, err);
}

/* Answers the WANT of a session with what waits for its borrower. */
static void client_give(struct lent *l, struct lent_client *c)
{
	struct borrower *b = c->borrower;
	struct docindex_answer url = {.kind = DOCINDEX_URL}, have = {.kind = DOCINDEX_HAVE};
	char digits[FOOTPRINT_TEXT];
	struct err err;
	if (!c->want || !b->nwaiting)
		return;
	if (give_note(l, c, &err) < 0) {
		l->reaper.host->failed(l->reaper.host->ctx, &l->reaper, &err);
		return;
	}
	buf_clear(&l->text);
	LIST_EACH (struct lent_job, job, &b->waiting, link) {
		if (have.count == c->want)
			break;
		if (!job_may_go(l, c, job))
			continue;
		lent_job_goes_out(job);
		url.doc_id = str_of(footprint_print(job->job.fp, digits));
		url.url = job->job.url;
		docindex_answer_write(&url, &l->text);
		have.count++;
	}
	if (!have.count)
		return;
	client_answer(c, &have);
	conn_send(session_conn(c->session), buf_str(&l->text));
	c->want = 0;
	FAULT("lent.handed");
}

void lent_give(void *lent)
{
	struct lent *l = lent;
	LIST_EACH (struct lent_client, c, &l->clients, link)
		client_give(l, c);
}

/* Sessions. */

static void due_free(struct answer_due *due)
{
	list_remove(&due->link);
	mem_free(&due);
}

/* What is kept is said, up to the first that is not. */
static void client_say(struct lent_client *c)
{
	struct lent *l = lent_of_session(c->session);
	struct answer_due *due;
	while ((due = LIST_FIRST(struct answer_due, &c->dues, link)) &&
	       !lent_unkept_get(&l->unkept, due->fp)) {
		client_answer(c, &(struct docindex_answer){.kind = DOCINDEX_OK});
		due_free(due);
	}
}

void client_kept(struct lent_client *c)
{
	if (!list_is_empty(&c->dues))
		FAULT("lent.kept");
	client_say(c);
}

/* OK, when all that was said of the document is kept. */
static void due_add(struct lent_client *c, struct str doc)
{
	struct answer_due *due = mem_alloc(sizeof *due);
	if (!footprint_parse(doc, &due->fp))
		due->fp = (struct footprint){0};
	list_append(&c->dues, &due->link);
	client_say(c);
}

static void client_error(struct lent_client *c, const char *what)
{
	const struct docindex_answer a = {.kind = DOCINDEX_ERROR, .text = str_of(what)};
	lent_say(lent_of_session(c->session), true,
		 c->borrower ? c->borrower->name : session_peer(c->session), what);
	client_answer(c, &a);
	conn_finish(session_conn(c->session));
}

static void want_is_complete(struct lent_client *c)
{
	struct lent *l = lent_of_session(c->session);
	c->want = c->asked;
	if (!c->want) {
		have_nothing(c);
		return;
	}
	c->wants = true;
	c->want_until_us = loop_now_us(l->o.loop) + WANT_US;
	loop_later(l->o.loop, &l->give);
	l->reaper.host->room(l->reaper.host->ctx, &l->reaper);
}

static void rejects_forget(struct lent *l, struct lent_client *c)
{
	l->nrejects -= c->nrejects;
	c->nrejects = 0;
	rejected_free(&c->rejects);
}

static void run_want(struct lent_client *c, const struct docindex_request *r)
{
	struct lent *l = lent_of_session(c->session);
	if (c->want) /* one at a time waits */
		have_nothing(c);
	rejects_forget(l, c);
	if (l->nrejects + r->rejects > REJECTS_MOST) {
		client_error(c, "too many hosts in the reject lists of all clients");
		return;
	}
	l->nrejects += c->nrejects = r->rejects;
	c->asked = r->count;
	if (!r->rejects)
		want_is_complete(c);
}

/* What a DONE means whose RESULT has not come: what the URL server itself found out, or a result
 * that went elsewhere, which counts as one that could not be kept. */
static uint16_t code_of_report(unsigned outcome)
{
	static const enum robot_cause causes[OUTCOME_COUNT] = {
		[OUTCOME_TEMPORARY] = ROBOT_CAUSE_CUT,
		[OUTCOME_PERMANENT] = ROBOT_CAUSE_URL,
		[OUTCOME_SITE_TEMPORARY] = ROBOT_CAUSE_DNS,
		[OUTCOME_SITE_PERMANENT] = ROBOT_CAUSE_NO_NAME,
		[OUTCOME_LIMIT] = ROBOT_CAUSE_BODY,
		[OUTCOME_ROBOTS] = ROBOT_CAUSE_ROBOTS,
	};
	if (outcome >= OUTCOME_COUNT || outcome_is_ok((enum outcome)outcome))
		return code_of(OUTCOME_TEMPORARY, ROBOT_CAUSE_SINK, 0);
	return code_of((enum outcome)outcome, causes[outcome], 0);
}

static void count_unknown(struct lent *l, enum lent_counter which)
{
	if (l->o.counters)
		counters_add(l->o.counters, l->o.counters_at + which, 1);
}

/* When the server was asked, as far as that is known. */
static void loan_note_sent(struct lent *l, struct loan *loan, int64_t sent_us)
{
	loan->heard_us = loop_now_us(l->o.loop);
	if (sent_us)
		(void)polite_sent(l->o.polite, &loan->lease, sent_us);
}

/* The answer to a job whose URL is back without a RESULT. */
static void report_answer(struct lent *l, struct lent_job *job, unsigned outcome)
{
	const struct reaper_answer a = {
		.url = job->job.url,
		.code = code_of_report(outcome),
		.text = STR("the URL server says so"),
		.ago_us = -1,
		.ended_s = clock_wall_us() / US_PER_S,
	};
	if (outcome == OUTCOME_CANCELLED || job->url->told)
		lent_give_back(job, 0);
	else if (outcome == OUTCOME_ADDRESS)
		lent_give_back(job, l->o.penalty_us);
	else
		lent_answer(job, &a);
}

static void run_report(struct lent_client *c, const struct docindex_request *r)
{
	struct lent *l = lent_of_session(c->session);
	struct lent_url *url = lent_url_of_doc(l, r->name);
	if (url && url->job)
		*lent_unkept_put(&l->unkept, url->fp) = true;
	due_add(c, r->name);
	if (!url) { /* the second time, or it is not lent any more */
		count_unknown(l, LENT_UNKNOWN_DONE);
		return;
	}
	loan_note_sent(l, url->loan, url->told ? 0 : loop_now_us(l->o.loop));
	if (url->job) /* as a rule not: its RESULT was here before */
		report_answer(l, url->job, r->outcome);
	lent_url_end(l, url);
}

/* Results. */

static void lent_read(void *ctx, const struct reaper_answer *a)
{
	lent_answer(ctx, a);
}

/* The server was asked for this job: its delay counts from there. */
static void loan_note(struct lent *l, struct loan *loan, const struct robot_result *r)
{
	int64_t now_us = loop_now_us(l->o.loop);
	if (r->sent_us || r->times.start_us)
		loan->outcome = r->outcome;
	loan_note_sent(l, loan, r->sent_us);
	if (!robot_obeys_retry(r->head->status) || r->head->retry_after_us <= 0)
		return;
	int64_t rest_us = MIN(r->head->retry_after_us, POLITE_RETRY_MAX_US);
	loan->rest_until_us = MAX(loan->rest_until_us, now_us + rest_us);
	(void)polite_rest(l->o.polite, &loan->lease, rest_us, now_us); /* outlives this process */
}

/* What came is what it says it is. */
static int result_check(const struct robot_result *r, struct str body, struct err *err)
{
	unsigned char sum[16];
	md5(body, sum);
	if (r->outcome != OUTCOME_OK && body.n == 0)
		return 0;
	if (r->outcome != OUTCOME_OK || r->size != body.n || memcmp(sum, r->md5, sizeof sum) != 0)
		return err_set(err, ERR_DAMAGED, "a result with another body than it says");
	return 0;
}

static void result_take(struct lent_job *job, struct robot_result *r, struct str bytes)
{
	struct lent *l = job->lent;
	struct buf body = BUF_INIT(job->job.limits.body);
	job->job.now_s = clock_wall_us() / US_PER_S;
	if (bytes.n > job->job.limits.body && job->job.what != REAPER_ROBOTS) {
		r->outcome = OUTCOME_LIMIT;
		r->cause = ROBOT_CAUSE_BODY;
		r->why = "larger than robot.body_max here";
	} else {
		buf_add_str(&body, str_head(bytes, job->job.limits.body));
	}
	lent_job_is_read(job);
	reaper_local_read(l->o.local, &job->job, r, &body, lent_read, job);
	buf_free(&body);
}

static void client_pace(struct lent *l, struct lent_client *c)
{
	bool full = l->reading >= READING_MOST;
	if (full == c->paused || (!full && l->reading > READING_MOST / 2))
		return;
	c->paused = full;
	if (full)
		conn_pause(session_conn(c->session));
	else
		conn_resume(session_conn(c->session));
}

void client_look(struct lent *l, struct lent_client *c, int64_t now_us)
{
	client_pace(l, c);
	if (c->want && c->want_until_us <= now_us)
		have_nothing(c);
}

/* The job that a RESULT is for; NULL: nobody waits for one. Its OK is due in both cases. */
static struct lent_job *result_job(struct lent *l, struct lent_client *c, struct lent_url *url)
{
	struct lent_job *job = url ? url->job : NULL;
	if (!url) /* it is not lent any more */
		count_unknown(l, LENT_UNKNOWN_RESULT);
	else
		url->told = true;
	if (job)
		*lent_unkept_put(&l->unkept, url->fp) = true;
	else /* or it is the second time */
		l->reaper.counts.late++;
	due_add(c, str_of(c->doc));
	return job;
}

static void got_result(struct session *s, struct str block)
{
	struct lent *l = lent_of_session(s);
	struct lent_client *c = session_state(s);
	struct str head = str_head(block, c->head), body = str_from(block, c->head);
	const struct result_now now = {clock_mono_us(), clock_wall_us()};
	struct result_room room;
	struct robot_result r;
	struct err err;
	FAULT("lent.result");
	if (result_read(head, now, &room, &r, &err) < 0 || result_check(&r, body, &err) < 0) {
		client_error(c, err.msg);
		return;
	}
	struct lent_url *url = lent_url_of_doc(l, str_of(c->doc));
	struct lent_job *job = result_job(l, c, url);
	if (url)
		loan_note(l, url->loan, &r);
	if (!job)
		return;
	if (r.outcome == OUTCOME_ADDRESS) { /* the policy of this machine has taken it */
		lent_say(l, true, c->borrower->name,
			 "its robot.networks forbid what those of this crawl allow");
		lent_give_back(job, l->o.penalty_us);
	} else {
		result_take(job, &r, body);
	}
	client_pace(l, c);
}

/* One that is too large to be taken: so is the document. */
static void skipped_result(struct session *s, struct str none)
{
	struct lent *l = lent_of_session(s);
	struct lent_client *c = session_state(s);
	struct lent_url *url = lent_url_of_doc(l, str_of(c->doc));
	struct lent_job *job = result_job(l, c, url);
	(void)none;
	if (url)
		loan_note_sent(l, url->loan, loop_now_us(l->o.loop));
	if (!job)
		return;
	const struct reaper_answer a = {
		.url = job->job.url,
		.code = CODE_TOO_LARGE,
		.text = STR("larger than robot.body_max here"),
		.ago_us = -1,
		.ended_s = clock_wall_us() / US_PER_S,
	};
	lent_answer(job, &a);
}

static void run_result(struct lent_client *c, const struct docindex_request *r)
{
	struct session *s = c->session;
	c->head = r->head;
	snprintf(c->doc, sizeof c->doc, STR_FMT, STR_ARG(r->name));
	if (!session_block(s, r->head + r->body, got_result))
		session_skip(s, r->head + r->body, skipped_result);
}

static void session_got_line(struct session *s, struct str line)
{
	struct lent_client *c = session_state(s);
	struct docindex_request r;
	struct err err;
	if (docindex_request_read(&c->in, line, &r, &err) < 0) {
		client_error(c, err.msg);
		return;
	}
	switch (r.verb) {
	case DOCINDEX_HELLO:
		c->borrower = lent_borrower(lent_of_session(s), r.name);
		lent_borrower_came(lent_of_session(s), c->borrower);
		due_add(c, STR(""));
		break;
	case DOCINDEX_WANT:
		run_want(c, &r);
		break;
	case DOCINDEX_REJECT:
		*rejected_put(&c->rejects, hash64(r.name)) = true;
		if (!r.rejects)
			want_is_complete(c);
		break;
	case DOCINDEX_REPORT:
		run_report(c, &r);
		break;
	case DOCINDEX_RESULT:
		run_result(c, &r);
		break;
	}
}

static void session_opened(struct session *s)
{
	struct lent_client *c = session_state(s);
	c->session = s;
	list_init(&c->dues);
	list_append(&lent_of_session(s)->clients, &c->link);
}

static void session_closed(struct session *s, enum conn_end end)
{
	struct lent *l = lent_of_session(s);
	struct lent_client *c = session_state(s);
	struct borrower *b = c->borrower;
	list_remove(&c->link);
	rejects_forget(l, c);
	LIST_EACH (struct answer_due, due, &c->dues, link)
		due_free(due);
	if (b && c->wants)
		lent_say(l, false, b->name, conn_end_text(end));
	if (b)
		lent_borrower_left(l, b);
}

static void session_refused(struct session *s, const char *why)
{
	lent_say(lent_of_session(s), true, session_peer(s), why);
}

const struct server_protocol lent_protocol = {
	.name = "doc index",
	.line = session_got_line,
	.words = {[SERVER_LONG_LINE] = "ERROR a line is too long\n",
		  [SERVER_FULL] = "ERROR too many connections\n",
		  [SERVER_STOPPING] = ""},
	.state_size = sizeof(struct lent_client),
	.opened = session_opened,
	.closed = session_closed,
	.refused = session_refused,
};
