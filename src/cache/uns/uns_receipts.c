/* Receipts over a session: some hundred kilobytes at a time, made by the thread that has the
 * cache's database and sent before the next are made, so that neither a set of millions nor a peer
 * that does not read takes more than that. */
#include "base/log.h"
#include "cache/uns/link_wire.h"
#include "cache/uns/uns_inner.h"

#include <stdatomic.h>

enum {
	CHUNK = 64 << 10,
	CHUNK_MOST = CHUNK + 256 * 1024, /* a row is at most two URLs, in references */
	ARENA_MOST = 16 << 20,
};

struct uns_receipts {
	struct pool_job job;
	struct uns *u;
	struct uns_session *ss; /* NULL: has gone */
	atomic_bool is_left;    /* it has, for the thread */
	uint64_t provider, number;
	char uns[LINK_NAME_MAX + 1];
	const char *unsdb; /* NULL: the set does not wait there */
	bool is_busy, is_begun, is_done;
	struct receipts *r; /* the thread's */
	bool is_of_db;      /* they are read out of the cache's database */
	struct arena arena;
	struct buf out;
	int rc;
	struct err err;
	/* What the thread found at first; urls 0 and set 0: nothing is known. */
	struct db_set set;
	const char *state;
};

/* The thread. */

static int receipts_find(struct uns_receipts *a)
{
	int rc =
		a->unsdb ? receipts_open_kept(&a->r, a->unsdb, a->provider, a->number, &a->err) : 1;
	struct db *db = rc == 1 ? uns_db(a->u) : NULL;
	if (db)
		rc = receipts_open(&a->r, db, a->provider, a->number ? a->uns : NULL, a->number,
				   &a->err);
	if (db && rc == 1 && a->number)
		rc = receipts_open(&a->r, db, a->provider, NULL, a->number, &a->err);
	if (rc == 0) {
		a->set = *receipts_set(a->r);
		a->state = receipts_state(a->r);
		a->is_of_db = db;
		a->u->db_users += a->is_of_db;
	}
	return rc;
}

static void receipts_give_back(struct uns_receipts *a)
{
	receipts_free(&a->r);
	a->u->db_users -= a->is_of_db;
	a->is_of_db = false;
}

static int receipts_read(struct uns_receipts *a)
{
	struct db_receipt row;
	int rc = 0;
	while (a->out.n < CHUNK && rc == 0) {
		arena_clear(&a->arena);
		rc = receipts_next(a->r, &a->arena, &row, &a->err);
		if (rc == 0)
			lococa_say_receipt(&row, &a->out);
	}
	return rc;
}

static void chunk_answered(void *ctx);

static void chunk_run(struct pool_job *job)
{
	struct uns_receipts *a = LIST_OF(struct uns_receipts, job, job);
	a->rc = a->is_left ? 1 : 0;
	if (!a->is_left && !a->r)
		a->rc = receipts_find(a);
	if (a->r && a->rc == 0)
		a->rc = receipts_read(a);
	if (a->rc != 0)
		receipts_give_back(a);
	loop_post(a->u->role.loop, chunk_answered, a);
}

/* The loop. */

static void receipts_end(struct uns_receipts *a)
{
	if (a->ss)
		a->ss->receipts = NULL;
	arena_free(&a->arena);
	buf_free(&a->out);
	mem_free(&a);
}

static void chunk_ask(struct uns_receipts *a)
{
	a->is_busy = true;
	buf_clear(&a->out);
	a->job = (struct pool_job){.run = chunk_run, .client = a->provider, .beyond = true};
	pool_post(a->u->reads, &a->job);
}

static void say_head(struct uns_receipts *a, struct buf *out)
{
	if (a->state)
		lococa_say_receipts(a->ss->l, a->set.number, a->state, a->set.at_us, a->set.urls,
				    out);
	else
		lococa_say_receipts(a->ss->l, a->number, "unknown", 0, 0, out);
}

static void chunk_send(struct uns_receipts *a)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(CHUNK_MOST + 4096);
	struct uns_session *ss = a->ss;
	if (!a->is_begun)
		say_head(a, &out);
	a->is_begun = true;
	buf_add_str(&out, buf_str(&a->out));
	if (a->rc == 1)
		lococa_say_receipts_end(ss->l, &out);
	uns_session_send(ss, buf_str(&out));
}

static void chunk_answered(void *ctx)
{
	struct uns_receipts *a = ctx;
	struct uns_session *ss = a->ss;
	a->is_busy = false;
	if (!a->u->reads)
		receipts_give_back(a); /* there are no threads any more */
	if ((!ss || ss->is_over) && a->r) {
		a->ss = NULL;
		a->is_left = true; /* the thread gives back what it has */
		if (ss)
			ss->receipts = NULL;
		chunk_ask(a);
		return;
	}
	if (!ss || ss->is_over) {
		receipts_end(a);
		return;
	}
	if (a->rc < 0) {
		log_warn(ROLE, "reading receipts failed", KV_TEXT("why", a->err.msg));
		receipts_end(a);
		conn_close(session_conn(ss->session)); /* the answer may have begun */
		return;
	}
	chunk_send(a);
	a->is_done = a->rc == 1;
	uns_receipts_go_on(a);
}

void uns_receipts_go_on(struct uns_receipts *a)
{
	struct uns_session *ss = a->ss;
	if (a->is_busy || ss->is_choked)
		return;
	if (!a->is_done) {
		chunk_ask(a);
		return;
	}
	receipts_end(a);
	ss->is_asking = false;
	uns_session_go_on(ss);
}

void uns_receipts_leave(struct uns_receipts *a)
{
	a->ss = NULL;
	a->is_left = true;
	if (!a->is_busy)
		chunk_answered(a);
}

void uns_receipts_begin(struct uns_session *ss, uint64_t set)
{
	struct unsdb_set kept;
	bool is_kept = uns_out_find(ss->u->out, ss->provider, set, &kept) == 0;
	struct uns_receipts *a = mem_alloc(sizeof *a);
	*a = (struct uns_receipts){.u = ss->u,
				   .ss = ss,
				   .provider = ss->provider,
				   .number = is_kept ? kept.number : set,
				   .unsdb = is_kept ? uns_out_unsdb(ss->u->out) : NULL,
				   .arena = ARENA_INIT(ARENA_MOST),
				   .out = BUF_INIT(CHUNK_MOST)};
	memcpy(a->uns, uns_out_name(ss->u->out), sizeof a->uns);
	ss->receipts = a;
	ss->is_asking = true;
	chunk_ask(a);
}
