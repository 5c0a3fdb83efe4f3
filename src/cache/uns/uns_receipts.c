/* Receipts over a session: some hundred kilobytes at a time, made by the thread that has the
 * cache's database and sent before the next are made, so that neither a set of millions nor a peer
 * that does not read takes more than that. */
#include "base/log.h"
#include "cache/uns/link_wire.h"
#include "cache/uns/uns_inner.h"

enum { CHUNK = 64 << 10, ARENA_MOST = 16 << 20 };

struct asked {
	struct uns_session *ss;
	uint64_t number;
	const char *unsdb;  /* NULL: the set does not wait there */
	struct receipts *r; /* NULL: not found yet */
	bool is_of_db;      /* they are read out of the cache's database */
	int rc;             /* 1: that was all */
	struct err err;
};

/* The thread of `reads`. */

static int receipts_find(struct asked *a)
{
	struct uns *u = a->ss->u;
	uint64_t provider = a->ss->provider;
	int rc = a->unsdb ? receipts_open_kept(&a->r, a->unsdb, provider, a->number, &a->err) : 1;
	struct db *db = rc == 1 ? uns_db(u) : NULL;
	if (db)
		rc = receipts_open(&a->r, db, provider, a->number ? uns_out_name(u->out) : NULL,
				   a->number, &a->err);
	if (db && rc == 1 && a->number)
		rc = receipts_open(&a->r, db, provider, NULL, a->number, &a->err);
	a->is_of_db = rc == 0 && db;
	u->db_users += a->is_of_db;
	return rc;
}

static void say_head(const struct asked *a, struct buf *out)
{
	const struct db_set *set = a->r ? receipts_set(a->r) : NULL;
	if (set)
		lococa_say_receipts(a->ss->l, set->number, receipts_state(a->r), set->at_us,
				    set->urls, out);
	else
		lococa_say_receipts(a->ss->l, a->number, "unknown", 0, 0, out);
}

static int receipts_read(struct asked *a, struct buf *out)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(ARENA_MOST);
	struct db_receipt row;
	int rc = 0;
	while (out->n < CHUNK && rc == 0) {
		arena_clear(&arena);
		rc = receipts_next(a->r, &arena, &row, &a->err);
		if (rc == 0)
			lococa_say_receipt(&row, out);
	}
	return rc;
}

static void chunk_make(void *ctx)
{
	struct asked *a = ctx;
	struct buf *out = &a->ss->out;
	if (!a->r) {
		a->rc = receipts_find(a);
		if (a->rc >= 0)
			say_head(a, out);
	}
	if (a->rc == 0)
		a->rc = a->ss->is_closed ? 1 : receipts_read(a, out);
	if (a->rc == 0)
		return;
	if (a->rc == 1)
		lococa_say_receipts_end(a->ss->l, out);
	receipts_free(&a->r);
	a->ss->u->db_users -= a->is_of_db;
}

/* The thread of the session. */
void uns_receipts(struct uns_session *ss, uint64_t set)
{
	struct unsdb_set kept;
	bool is_kept = unsdb_find(uns_out_unsdb(ss->u->out), ss->provider, set, &kept) == 0;
	struct asked a = {.ss = ss,
			  .number = is_kept ? kept.number : set,
			  .unsdb = is_kept ? ss->u->unsdb : NULL};
	while (a.rc == 0) {
		uns_session_ask(ss, ss->u->reads, chunk_make, &a);
		if (a.rc >= 0)
			uns_session_flush(ss);
	}
	if (a.rc > 0)
		return;
	log_warn(ROLE, "reading receipts failed", KV_TEXT("why", a.err.msg));
	ss->is_over = ss->breaks = true; /* the answer may have begun */
}
