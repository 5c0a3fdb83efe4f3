/* A doc index over a connection. Reports without an OK are kept in order and repeated first after
 * a reconnect, so that the doc index lends none of these URLs again; then an unanswered WANT is
 * repeated. Reports of one round of the loop are sent together. A doc index that lends URLs but
 * acknowledges nothing is not asked for more. */
#include "base/clock.h"
#include "base/log.h"
#include "fetch/spider/docindex.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	REPORTS_MAX = 1 << 30,   /* bytes; of all that queues may hold */
	REPORTS_MOST = 100000,   /* with more that have no OK nothing is asked for */
	REQUESTS_MAX = 64 << 20, /* bytes of a reject list, or in a connection's queue */
	PIECE = 256 << 10,
};

struct remote_index {
	struct docindex base;
	struct loop *loop;
	struct docindex_host host;
	struct conn_pool *pool;
	struct outgoing *out;
	struct loop_later send;
	char name[DOCINDEX_WORD_MAX + 1];
	/* Reports, a line each, from the first that has no OK on. */
	struct buf reports;
	size_t first, unsent; /* bytes: answered before here, sent before here */
	uint64_t waiting;     /* lines from `first` on */
	struct buf want;      /* the WANT with its hosts; empty: none is asked */
	uint64_t count;       /* of the WANT */
	bool want_sent, met;  /* the HELLO has its OK */
	uint64_t came;        /* URLs of the HAVE that is coming in */
	struct docindex_answers in;
	bool told_away;
};

static const struct conn_limits remote_limits = {
	.line_max = DOCINDEX_LINE_MAX,
	.high_mark = 1 << 20,
	.queue_max = REQUESTS_MAX + (1 << 20),
	.read_mark = REQUESTS_MAX, /* a doc index may wait for its OKs to be read */
	.frame_us = US_PER_MIN,
};

static struct remote_index *remote_of(const struct docindex *d)
{
	return LIST_OF(struct remote_index, d, base);
}

/* As much as the connection takes; the rest when it has drained. */
static void remote_send(void *ctx)
{
	struct remote_index *r = ctx;
	struct conn *c = outgoing_conn(r->out);
	bool room = c != NULL;
	while (room && r->unsent < r->reports.n) {
		struct str piece = str_from(buf_str(&r->reports), r->unsent);
		piece = str_head(piece, PIECE);
		r->unsent += piece.n;
		room = conn_send(c, piece);
	}
	if (room && r->want.n && !r->want_sent && r->waiting <= REPORTS_MOST) {
		r->want_sent = true;
		(void)conn_send(c, buf_str(&r->want));
	}
}

static void remote_up(void *ctx, struct conn *c)
{
	struct remote_index *r = ctx;
	r->in = (struct docindex_answers){0};
	r->met = r->want_sent = false;
	r->came = 0;
	r->unsent = r->first;
	(void)conn_printf(c, "HELLO %s\n", r->name);
	loop_later(r->loop, &r->send);
}

static void remote_down(void *ctx, const char *why, int64_t retry_us)
{
	struct remote_index *r = ctx;
	(void)retry_us;
	r->met = false;
	if (r->told_away)
		return;
	r->told_away = true;
	log_warn(ROLE, "doc index unreachable", KV_TEXT("why", why));
}

static void remote_drop(struct remote_index *r, const char *why)
{
	struct conn *c = outgoing_conn(r->out);
	log_warn(ROLE, "doc index disconnected", KV_TEXT("why", why));
	r->told_away = true;
	if (c)
		conn_close(c);
}

/* The first report has its OK. */
static void report_kept(struct remote_index *r)
{
	struct str rest = str_from(buf_str(&r->reports), r->first);
	r->first += str_find_byte(rest, '\n') + 1;
	if (--r->waiting == REPORTS_MOST)
		loop_later(r->loop, &r->send);
	if (r->first < r->reports.n && r->first < PIECE)
		return;
	size_t left = r->reports.n - r->first;
	memmove(r->reports.p, r->reports.p + r->first, left);
	r->unsent -= r->first;
	r->first = 0;
	r->reports.n = left;
	r->reports.p[left] = 0;
}

static void remote_ok(struct remote_index *r)
{
	if (!r->met) {
		r->met = true;
		if (r->told_away)
			log_info(ROLE, "doc index connected");
		r->told_away = false;
	} else if (r->first < r->unsent) {
		report_kept(r);
	} else {
		remote_drop(r, "it answers what was not asked");
	}
}

static void remote_have(struct remote_index *r, const struct docindex_answer *a)
{
	uint64_t came = r->came;
	if (a->count)
		return; /* its URLs come next */
	r->came = 0;
	buf_clear(&r->want);
	r->want_sent = false;
	r->host.have(r->host.ctx, came, came ? 0 : (int64_t)a->seconds * US_PER_S);
}

static void remote_line(void *ctx, struct str line)
{
	struct remote_index *r = ctx;
	struct docindex_answer a;
	struct err err;
	if (docindex_answer_read(&r->in, line, &a, &err) < 0) {
		remote_drop(r, err.msg);
	} else if (a.kind == DOCINDEX_OK) {
		remote_ok(r);
	} else if (a.kind == DOCINDEX_ERROR) {
		snprintf(err.msg, sizeof err.msg, "it says " STR_FMT,
			 STR_ARG(str_head(a.text, 200)));
		remote_drop(r, err.msg);
	} else if (!r->met || !r->want_sent) {
		remote_drop(r, "URLs that nobody asked for");
	} else if (a.kind == DOCINDEX_HAVE && a.count > r->count) {
		remote_drop(r, "more URLs than were asked for");
	} else {
		if (a.kind == DOCINDEX_URL) {
			r->came++;
			r->host.url(r->host.ctx, a.doc_id, a.url);
		}
		remote_have(r, &a);
	}
}

static void index_want(struct docindex *d, uint64_t count, const struct str *rejects, size_t n)
{
	struct remote_index *r = remote_of(d);
	n = MIN(n, (size_t)DOCINDEX_COUNT_MAX);
	r->count = count;
	buf_clear(&r->want);
	buf_printf(&r->want, "WANT %" PRIu64 " %zu\n", count, n);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(&r->want, rejects[i]);
		buf_add_byte(&r->want, '\n');
	}
	loop_later(r->loop, &r->send);
}

static void index_done(struct docindex *d, struct str doc_id, struct str url, unsigned outcome)
{
	struct remote_index *r = remote_of(d);
	(void)url;
	buf_printf(&r->reports, "DONE " STR_FMT " %s\n", STR_ARG(doc_id),
		   docindex_outcome_name(outcome));
	ENSURE(!r->reports.over); /* of all that can be lent */
	r->waiting++;
	loop_later(r->loop, &r->send);
}

static uint64_t index_waiting(const struct docindex *d)
{
	return remote_of(d)->waiting;
}

static int index_free(struct docindex **dp, struct err *err)
{
	struct remote_index *r = remote_of(*dp);
	(void)err;
	*dp = NULL;
	loop_later_cancel(&r->send);
	outgoing_free(&r->out);
	conn_pool_free(&r->pool);
	buf_free(&r->reports);
	buf_free(&r->want);
	mem_free(&r);
	return 0;
}

static const struct docindex_ops remote_ops = {index_want, index_done, index_waiting, index_free};

static const struct conn_ops lines = {.line = remote_line, .drained = remote_send};

int docindex_remote_open(struct docindex **ret, const struct docindex_options *o, struct err *err)
{
	struct remote_index *r = mem_alloc(sizeof *r);
	ENSURE(docindex_is_word(str_of(o->name)));
	*r = (struct remote_index){.base.ops = &remote_ops,
				   .loop = o->loop,
				   .host = *o->host,
				   .pool = conn_pool_new(o->loop, REQUESTS_MAX),
				   .send = {.fn = remote_send, .ctx = r},
				   .reports = BUF_INIT(REPORTS_MAX),
				   .want = BUF_INIT(REQUESTS_MAX)};
	snprintf(r->name, sizeof r->name, "%s", o->name);
	const struct outgoing_options options = {.address = o->where,
						 .dns = o->dns,
						 .trusted = true,
						 .limits = &remote_limits,
						 .tls = o->tls,
						 .ops = &lines,
						 .up = remote_up,
						 .down = remote_down,
						 .ctx = r};
	if (outgoing_new(&r->out, r->pool, &options, err) < 0) {
		conn_pool_free(&r->pool);
		mem_free(&r);
		return -1;
	}
	*ret = &r->base;
	return 0;
}
