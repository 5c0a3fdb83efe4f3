/* Lending. A server is lent as a whole: with the first of its URLs it is bound to one URL server
 * (a borrower), and every further URL of it goes there until all have come back. Meanwhile its
 * lease in the table of politeness is held here.
 *
 * What counts is the DONE, not the RESULT: until then the URL server may send the URL to another
 * spider. So a URL stays out, and its server bound, though reap has had its answer, or does not
 * want one any more, or is another process by now (lent_file.c). Of such URLs a borrower that says
 * HELLO anew may know nothing; where it is connected and tells nothing of their server for `lend`,
 * they count as back.
 *
 * reap gives a job only while some WANT is waiting, so what waits here is what is about to go out.
 */
#include "shepherd/reaper_lent.h"

#include "base/clock.h"
#include "base/fault.h"
#include "fetch/kit.h"
#include "shepherd/lent_inner.h"

#include <inttypes.h>
#include <stdio.h>

#define PUT_OFF_US (US_PER_S / 4) /* a job that nobody wants now is tried again after this */
#define LOOK_US (US_PER_S / 2)
enum {
	QUEUE_MAX = 64 << 20,  /* bytes of answers that may wait for one who does not read */
	MEMORY_MOST = 1 << 30, /* of all connections */
	DOUBTS = 8,            /* how often in `lend` URLs are looked at that may be lost */
};

static struct lent *lent_of(const struct reaper *r)
{
	return LIST_OF(struct lent, r, reaper);
}

void lent_say(struct lent *l, bool is_trouble, const char *who, const char *what)
{
	char text[400];
	snprintf(text, sizeof text, "%s: %s", who, what);
	if (l->o.said)
		l->o.said(l->o.ctx, &l->reaper, is_trouble, text);
}

/* Loans. */

/* A server is free again when none of its URLs is here. */
static void loan_leave(struct lent *l, struct loan *loan)
{
	qkey key = loan->key;
	if (--loan->holds > 0)
		return;
	polite_end(l->o.polite, &loan->lease, loan->outcome, 0, loop_now_us(l->o.loop));
	loans_remove(&l->loans, key);
	mem_free(&loan);
	l->reaper.host->held(l->reaper.host->ctx, &l->reaper, key);
}

static struct loan *loan_new(struct lent *l, const struct addr *a, struct borrower *b)
{
	struct loan *loan = mem_alloc(sizeof *loan);
	*loan = (struct loan){.key = kit_qkey(a),
			      .server = addr_server(a),
			      .borrower = b,
			      .outcome = OUTCOME_CANCELLED,
			      .heard_us = loop_now_us(l->o.loop)};
	*loans_put(&l->loans, loan->key) = loan;
	return loan;
}

/* Takes the lease of a server that is lent already. Its borrower keeps the delay, so nothing has to
 * be waited for but others of this machine. */
static void loan_hold(struct lent *l, struct loan *loan)
{
	static const struct polite_rule rule = {.concurrent = 1};
	int64_t wait_us;
	if (l->o.holds_lease && !loan->lease.word)
		(void)polite_take(l->o.polite, &loan->server, &rule, loop_now_us(l->o.loop),
				  &loan->lease, &wait_us);
}

int64_t loan_rests_us(const struct lent *l, const struct loan *loan)
{
	return MAX(loan->rest_until_us - loop_now_us(l->o.loop), 0);
}

static bool loan_is_held(const struct lent *l, const struct loan *loan)
{
	return !l->o.holds_lease || loan->lease.word;
}

static void renew_leases(void *ctx)
{
	struct lent *l = ctx;
	TABLE_EACH (loans, slot, &l->loans)
		if (polite_renew(l->o.polite, &slot->value->lease, loop_now_us(l->o.loop)) != 0)
			slot->value->lease = (struct lease){0}; /* we were stopped for long */
}

/* The one whose WANT has the most room for a URL of this host; NULL: there is none. */
static struct borrower *choose_borrower(const struct lent *l, uint64_t host)
{
	struct borrower *best = NULL;
	uint64_t most = 0;
	LIST_EACH (struct lent_client, c, &l->clients, link) {
		struct borrower *b = c->borrower;
		if (!b || !client_takes(c, host) || c->want <= b->nwaiting ||
		    c->want - b->nwaiting <= most)
			continue;
		best = b;
		most = c->want - b->nwaiting;
	}
	return best;
}

/* Whether a WANT of the borrower has room. */
static bool borrower_wants(const struct lent *l, const struct borrower *b)
{
	LIST_EACH (struct lent_client, c, &l->clients, link)
		if (c->borrower == b && c->want > b->nwaiting)
			return true;
	return false;
}

/* A new loan of the job's server. NULL: not now; *ret_wait_us says when to try again. */
static struct loan *loan_begin(struct lent *l, const struct reaper_job *job, uint64_t host,
			       int64_t *ret_wait_us)
{
	struct borrower *b = choose_borrower(l, host);
	struct polite_rule rule = job->rule;
	struct lease lease = {0};
	if (!b)
		return NULL;
	rule.concurrent = 1;
	if (l->o.holds_lease && polite_take(l->o.polite, &job->addr, &rule, loop_now_us(l->o.loop),
					    &lease, ret_wait_us) != 0)
		return NULL;
	struct loan *loan = loan_new(l, &job->addr, b);
	loan->lease = lease;
	return loan;
}

/* URLs that are out. */

static struct lent_url *url_new(struct lent *l, struct footprint fp, struct loan *loan,
				int64_t time_us)
{
	struct lent_url *url = mem_alloc(sizeof *url);
	*url = (struct lent_url){.fp = fp, .loan = loan, .time_us = time_us};
	*lent_urls_put(&l->urls, fp) = url;
	list_append(&loan->borrower->urls, &url->link);
	loan->holds++;
	return url;
}

void lent_url_end(struct lent *l, struct lent_url *url)
{
	struct loan *loan = url->loan;
	lent_file_back(l, url->fp);
	FAULT("lent.back");
	if (url->job)
		url->job->url = NULL;
	lent_urls_remove(&l->urls, url->fp);
	list_remove(&url->link);
	mem_free(&url);
	loan_leave(l, loan);
}

/* The one that has a server by an older record has given it back: else no other would have it. */
void lent_url_found(struct lent *l, const struct lent_step *step)
{
	struct borrower *b = lent_borrower(l, str_of(step->name));
	struct loan **found = loans_get(&l->loans, kit_qkey(&step->server));
	struct loan *loan = found ? *found : NULL;
	if (loan && loan->borrower != b) {
		loan->holds++;
		LIST_EACH (struct lent_url, url, &loan->borrower->urls, link)
			if (url->loan == loan)
				lent_url_end(l, url);
		loan_leave(l, loan);
		loan = NULL;
	}
	if (!loan)
		loan = loan_new(l, &step->server, b);
	loan_hold(l, loan);
	url_new(l, step->fp, loan, step->time_us);
}

struct lent_url *lent_url_of_doc(struct lent *l, struct str doc)
{
	struct footprint fp;
	struct lent_url **url = footprint_parse(doc, &fp) ? lent_urls_get(&l->urls, fp) : NULL;
	return url ? *url : NULL;
}

/* Jobs. */

static void job_wait(struct lent_job *job, struct loan *loan, struct link *after)
{
	job->where = LENT_WAITS;
	job->loan = loan;
	loan->holds++;
	loan->borrower->nwaiting++;
	list_insert_after(after, &job->link);
}

/* It waits no more. */
static void job_unwait(struct lent_job *job)
{
	struct loan *loan = job->loan;
	if (!loan)
		return;
	loan->borrower->nwaiting--;
	list_remove(&job->link);
	job->loan = NULL;
	loan_leave(job->lent, loan);
}

/* Its URL, if it is out, stays so. */
static void job_leave(struct lent_job *job)
{
	job_unwait(job);
	if (job->url)
		job->url->job = NULL;
	job->url = NULL;
}

static void job_free(struct lent_job *job)
{
	struct lent *l = job->lent;
	job_leave(job);
	list_remove(&job->link);
	l->reading -= job->where == LENT_READ;
	lent_ids_remove(&l->ids, job->job.id);
	lent_docs_remove(&l->docs, job->job.fp);
	l->reaper.counts.out--;
	arena_give(&job->arena, &l->arenas);
	mem_free(&job);
}

void lent_answer(struct lent_job *job, const struct reaper_answer *a)
{
	struct lent *l = job->lent;
	const struct reaper_host *host = l->reaper.host;
	struct reaper_answer said = *a;
	said.id = job->job.id;
	reaper_count(&l->reaper, &said, loop_now_us(l->o.loop) - job->from_us);
	if (!job->cancelled)
		host->done(host->ctx, &l->reaper, &said);
	FAULT("lent.answered");
	job_free(job);
}

void lent_give_back(struct lent_job *job, int64_t not_now_us)
{
	const struct reaper_answer a = {
		.url = job->job.url, .ago_us = -1, .not_now_us = MAX(not_now_us, 1)};
	lent_answer(job, &a);
}

static void answer_put_off(void *ctx)
{
	struct lent *l = ctx;
	struct lent_job *job;
	while ((job = LIST_FIRST(struct lent_job, &l->put_off, link)))
		lent_give_back(job, job->not_now_us);
}

void lent_job_goes_out(struct lent_job *job)
{
	struct lent *l = job->lent;
	struct loan *loan = job->loan;
	if (!job->url) {
		job->url = url_new(l, job->job.fp, loan, clock_wall_us());
		job->url->job = job;
	}
	job->url->unsure_us = 0;
	loan->heard_us = loop_now_us(l->o.loop);
	job_unwait(job);
	job->where = LENT_OUT;
}

void lent_job_is_read(struct lent_job *job)
{
	job_leave(job);
	job->where = LENT_READ;
	job->lent->reading++;
}

/* Borrowers. */

struct borrower *lent_borrower(struct lent *l, struct str name)
{
	LIST_EACH (struct borrower, b, &l->borrowers, link)
		if (str_is(name, b->name))
			return b;
	struct borrower *b = mem_alloc(sizeof *b);
	snprintf(b->name, sizeof b->name, STR_FMT, STR_ARG(name));
	list_init(&b->waiting);
	list_init(&b->urls);
	b->gone_us = loop_now_us(l->o.loop);
	list_append(&l->borrowers, &b->link);
	return b;
}

/* HELLO, said anew, ends the loans of a name: they are first in line again, and since their servers
 * stay with that name, it gets them again. Not before a Retry-After is over: the spider that heard
 * of it may not be the one that they go to now. */
void lent_borrower_came(struct lent *l, struct borrower *b)
{
	struct link *at = &b->waiting;
	LIST_EACH (struct lent_url, url, &b->urls, link) {
		if (!url->unsure_us)
			url->unsure_us = loop_now_us(l->o.loop);
		struct lent_job *job = url->job;
		if (!job || job->where != LENT_OUT)
			continue;
		if (loan_rests_us(l, url->loan)) {
			lent_give_back(job, loan_rests_us(l, url->loan));
			continue;
		}
		job_wait(job, url->loan, at);
		at = &job->link;
	}
	b->sessions++;
}

static void borrower_free(struct borrower *b)
{
	list_remove(&b->link);
	mem_free(&b);
}

/* Nobody is there to take what waits. What the borrower may have already stays lent; a name that
 * has nothing is forgotten, so that nobody can fill the list with names. */
void lent_borrower_left(struct lent *l, struct borrower *b)
{
	struct lent_job *job;
	if (--b->sessions)
		return;
	b->gone_us = loop_now_us(l->o.loop);
	while ((job = LIST_LAST(struct lent_job, &b->waiting, link))) {
		if (!job->url) {
			lent_give_back(job, PUT_OFF_US);
			continue;
		}
		job_unwait(job);
		job->where = LENT_OUT;
	}
	if (list_is_empty(&b->urls))
		borrower_free(b);
}

/* Time. */

/* The loans of a borrower are over: the first that was lent is the first in line again. */
static void borrower_lose(struct lent *l, struct borrower *b)
{
	const struct reaper_host *host = l->reaper.host;
	struct lent_url *url;
	if (!list_is_empty(&b->urls))
		lent_say(l, true, b->name,
			 "has been gone for `lend`: what it had is first in line again");
	while ((url = LIST_LAST(struct lent_url, &b->urls, link))) {
		struct lent_job *job = url->job;
		uint64_t id = job ? job->job.id : 0;
		bool is_awaited = job && !job->cancelled;
		l->reaper.counts.lost += job != NULL;
		if (job)
			job_free(job);
		lent_url_end(l, url);
		if (is_awaited)
			host->lost(host->ctx, &l->reaper, id, 0);
	}
	borrower_free(b);
}

/* URLs of which it may know nothing are not waited for for ever. */
static void borrower_doubt(struct lent *l, struct borrower *b, int64_t now_us)
{
	if (now_us < b->look_us)
		return;
	b->look_us = now_us + l->o.lend_us / DOUBTS;
	LIST_EACH (struct lent_url, url, &b->urls, link)
		if (!url->job && url->unsure_us &&
		    now_us - MAX(url->unsure_us, url->loan->heard_us) >= l->o.lend_us)
			lent_url_end(l, url);
}

static void borrower_look(struct lent *l, struct borrower *b, int64_t now_us)
{
	if (b->sessions)
		borrower_doubt(l, b, now_us);
	else if (now_us - b->gone_us >= l->o.lend_us)
		borrower_lose(l, b);
}

static void lent_look(void *ctx)
{
	struct lent *l = ctx;
	int64_t now_us = loop_now_us(l->o.loop);
	LIST_EACH (struct lent_client, c, &l->clients, link)
		client_look(l, c, now_us);
	TABLE_EACH (loans, slot, &l->loans)
		loan_hold(l, slot->value);
	LIST_EACH (struct borrower, b, &l->borrowers, link)
		borrower_look(l, b, now_us);
}

/* The door. */

static int lent_begin(struct reaper *r, const char *dict_path, struct err *err)
{
	(void)r, (void)dict_path, (void)err; /* the local reaper packs */
	return 0;
}

static enum reaper_state lent_state(const struct reaper *r)
{
	LIST_EACH (struct lent_client, c, &lent_of(r)->clients, link)
		if (c->wants)
			return REAPER_UP;
	return REAPER_AWAY;
}

static uint64_t lent_room(const struct reaper *r)
{
	uint64_t room = 0;
	LIST_EACH (struct lent_client, c, &lent_of(r)->clients, link)
		if (c->borrower)
			room += c->want - MIN(c->want, c->borrower->nwaiting);
	return room;
}

static bool lent_holds(const struct reaper *r, qkey key)
{
	return loans_get(&lent_of(r)->loans, key);
}

static struct lent_job *job_copy(struct lent *l, const struct reaper_job *in, uint64_t host)
{
	struct lent_job *job = mem_alloc(sizeof *job);
	*job = (struct lent_job){.lent = l,
				 .from_us = loop_now_us(l->o.loop),
				 .arena = arena_from(&l->arenas, 1 << 20),
				 .host = host,
				 .job = *in};
	job->job.url = arena_str(&job->arena, in->url);
	job->job.md5 = arena_str(&job->arena, in->md5);
	job->job.etag = job->job.last_modified = (struct str){0}; /* a spider has no use for them */
	*lent_ids_put(&l->ids, in->id) = job;
	*lent_docs_put(&l->docs, in->fp) = job;
	l->reaper.counts.out++;
	return job;
}

/* With the borrower that has its server, or one that wants some. NULL: nobody wants it now.
 * One that is out already, with nobody waiting for it, is handed out again: who has it drops the
 * second. Not so where its RESULT was here: the DONE that is to come would be taken for that of
 * the new job. */
static struct loan *loan_of(struct lent *l, const struct reaper_job *in, uint64_t host,
			    const struct lent_url *url, int64_t *ret_wait_us)
{
	struct loan **found = loans_get(&l->loans, kit_qkey(&in->addr));
	struct loan *loan = found ? *found : NULL;
	*ret_wait_us = PUT_OFF_US;
	if (url && (url->loan != loan || (url->told && !url->unsure_us)))
		return NULL;
	if (!loan)
		return loan_begin(l, in, host, ret_wait_us);
	if (loan_rests_us(l, loan)) {
		*ret_wait_us = loan_rests_us(l, loan);
		return NULL;
	}
	return loan_is_held(l, loan) && borrower_wants(l, loan->borrower) ? loan : NULL;
}

static void job_put_off(struct lent_job *job, int64_t wait_us)
{
	struct lent *l = job->lent;
	job->where = LENT_PUT_OFF;
	job->not_now_us = wait_us;
	list_append(&l->put_off, &job->link);
	loop_later(l->o.loop, &l->answer_put_off);
}

static int lent_submit(struct reaper *r, const struct reaper_job *in,
		       const struct reaper_rules *rules, struct err *err)
{
	struct lent *l = lent_of(r);
	int64_t wait_us;
	(void)rules; /* the spider asks for them itself */
	char room[URL_MAX];
	struct url url;
	int rc = url_parse(in->url, NULL, room, sizeof room, &url);
	if (rc != 0)
		return url_fail(rc, in->url, err);
	if (in->url.n > DOCINDEX_URL_MAX)
		return err_set(err, ERR_USAGE, "too long a URL to be lent");
	if (lent_docs_get(&l->docs, in->fp)) /* the same file for two sites, say */
		return 1;
	uint64_t host = hash64(url.host);
	struct lent_url **out = lent_urls_get(&l->urls, in->fp);
	struct loan *loan = loan_of(l, in, host, out ? *out : NULL, &wait_us);
	struct lent_job *job = job_copy(l, in, host);
	if (!loan) {
		job_put_off(job, wait_us);
		return 0;
	}
	bool is_new = !loan->holds;
	r->counts.jobs++;
	job_wait(job, loan, loan->borrower->waiting.prev);
	if (out) {
		job->url = *out;
		(*out)->job = job;
	}
	loop_later(l->o.loop, &l->give);
	if (is_new)
		r->host->held(r->host->ctx, r, loan->key);
	return 0;
}

/* One that is being read is not answered; any other is forgotten, and its RESULT will be late. A
 * URL that is out stays so: its server is its borrower's until it is back. */
static void lent_cancel(struct reaper *r, uint64_t id)
{
	struct lent_job **job = lent_ids_get(&lent_of(r)->ids, id);
	if (!job)
		return;
	(*job)->cancelled = true;
	if ((*job)->where != LENT_READ)
		job_free(*job);
}

/* What was answered is durable; what is still being read is not. */
static void lent_kept(struct reaper *r)
{
	struct lent *l = lent_of(r);
	struct err err;
	TABLE_EACH (lent_unkept, slot, &l->unkept) {
		struct lent_job **job = lent_docs_get(&l->docs, slot->key);
		if (!job || (*job)->where != LENT_READ)
			lent_unkept_remove(&l->unkept, slot->key);
	}
	LIST_EACH (struct lent_client, c, &l->clients, link)
		client_kept(c);
	if (lent_file_keep(l, &err) < 0)
		r->host->failed(r->host->ctx, r, &err);
}

static struct lent_job *first_reading(struct lent *l)
{
	TABLE_EACH (lent_ids, slot, &l->ids)
		if (slot->value->where == LENT_READ)
			return slot->value;
	return NULL;
}

/* All are hung up on: they repeat what had no OK. */
static void lent_dropped(struct reaper *r)
{
	struct lent *l = lent_of(r);
	LIST_EACH (struct lent_client, c, &l->clients, link)
		conn_close(session_conn(c->session));
	TABLE_EACH (lent_ids, slot, &l->ids)
		slot->value->cancelled = true;
	/* those that are being read: their readers end with the local reaper's jobs */
	struct lent_job *reading;
	while ((reading = first_reading(l)))
		job_free(reading);
}

static void lent_free(struct reaper **r)
{
	struct lent *l = lent_of(*r);
	server_free(&l->server);
	lent_file_close(l);
	loop_timer_stop(&l->look);
	loop_timer_stop(&l->renew);
	loop_later_cancel(&l->give);
	loop_later_cancel(&l->answer_put_off);
	TABLE_EACH (lent_ids, slot, &l->ids) {
		arena_give(&slot->value->arena, &l->arenas);
		mem_free(&slot->value);
	}
	TABLE_EACH (lent_urls, slot, &l->urls)
		mem_free(&slot->value);
	TABLE_EACH (loans, slot, &l->loans) {
		polite_end(l->o.polite, &slot->value->lease, OUTCOME_CANCELLED, 0,
			   loop_now_us(l->o.loop));
		mem_free(&slot->value);
	}
	LIST_EACH (struct borrower, b, &l->borrowers, link)
		mem_free(&b);
	lent_ids_free(&l->ids);
	lent_docs_free(&l->docs);
	lent_urls_free(&l->urls);
	lent_unkept_free(&l->unkept);
	loans_free(&l->loans);
	arena_pool_free(&l->arenas);
	buf_free(&l->text);
	mem_free(&l);
	*r = NULL;
}

static const struct reaper_ops lent_ops = {
	.kind = "lent",
	.state = lent_state,
	.begin = lent_begin,
	.room = lent_room,
	.submit = lent_submit,
	.cancel = lent_cancel,
	.holds = lent_holds,
	.kept = lent_kept,
	.dropped = lent_dropped,
	.free = lent_free,
};

int reaper_lent_new(struct reaper **ret, const struct reaper_lent_options *options, struct err *err)
{
	struct lent *l = mem_alloc(sizeof *l);
	struct reaper *r = &l->reaper;
	l->o = *options;
	l->reaper =
		(struct reaper){.ops = &lent_ops, .host = options->host, .name = options->address};
	l->limits = (struct server_limits){
		.max_connections = 1000,
		.max_per_address = 1000,
		.backlog = 128,
		.line_max = DOCINDEX_LINE_MAX,
		.block_max = DOCINDEX_HEAD_MAX + options->body_max,
		.queue_max = QUEUE_MAX,
		.memory = MEMORY_MOST,
		.line_us = 10 * US_PER_MIN,
	};
	l->text = BUF_INIT((size_t)DOCINDEX_COUNT_MAX * DOCINDEX_LINE_MAX);
	l->look = (struct loop_timer){.fn = lent_look, .ctx = l};
	l->renew = (struct loop_timer){.fn = renew_leases, .ctx = l};
	l->give = (struct loop_later){.fn = lent_give, .ctx = l};
	l->answer_put_off = (struct loop_later){.fn = answer_put_off, .ctx = l};
	list_init(&l->borrowers);
	list_init(&l->clients);
	list_init(&l->put_off);
	if (options->fd)
		l->server = server_new(options->loop, &lent_protocol, &l->limits, options->tls, l);
	if (lent_file_open(l, err) < 0 ||
	    (l->server && server_listen(l->server, options->fd, err) < 0)) {
		lent_free(&r);
		return -1;
	}
	loop_timer_every(options->loop, &l->look, LOOK_US);
	loop_timer_every(options->loop, &l->renew, POLITE_LEASE_US / 4);
	*ret = r;
	return 0;
}
