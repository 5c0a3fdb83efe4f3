/* The check of everything: each row of the queue, of LCC and of what is gone has its URL, each URL
 * has its rows, each stored row has its file, the counts are those of the rows, and the notices of
 * each set that waits can be read. To mend means to believe the rows: a row without a URL gets one
 * again, a URL forgets rows that are not there, and counts are counted anew. A row whose file is
 * lost fails, and its provider is told. A set that cannot be read goes: no round of the queue
 * manager would get past it.
 *
 * Tables are walked row by row, each by a search for the next one, so that they may be mended
 * meanwhile. What SQLite finds in its pages cannot be mended here, and rows that are not found
 * there must not count as absent: their files would go. */
#include "base/clock.h"
#include "base/fault.h"
#include "cache/db/db_inner.h"

#include <stdarg.h>
#include <stdio.h>

struct checking {
	struct db *d;
	bool fix;
	int (*has)(void *ctx, struct str machine, struct str file, uint64_t size);
	db_finding_fn *fn;
	void *ctx;
	struct tallies counts; /* as the rows have them */
};

static void PRINTF_LIKE(3, 4) finding_say(struct checking *k, bool is_damage, const char *fmt, ...)
{
	struct db_finding f = {.is_damage = is_damage};
	va_list args;
	va_start(args, fmt);
	vsnprintf(f.text, sizeof f.text, fmt, args);
	va_end(args);
	k->fn(k->ctx, &f);
}

/* Walks a table in the order of its key, which are the first columns of the statement and the
 * values that a row must be past. fn has what it needs of the row, resets the statement, and may
 * change the table then. */
typedef int walk_fn(struct checking *k, struct sql_st *st, const int64_t *key, struct err *err);
static int table_walk(struct checking *k, const char *text, int nkey, walk_fn *fn, struct err *err)
{
	int64_t key[] = {INT64_MIN, INT64_MIN, INT64_MIN};
	struct sql_st *st;
	int rc;
	if (sql_compile(&k->d->sql, text, &st, err) < 0)
		return -1;
	do {
		for (int i = 0; i < nkey; i++)
			sql_bind_value(st, i + 1, SQL_N(key[i]));
		rc = db_step(k->d, st, err);
		for (int i = 0; rc == 0 && i < nkey; i++)
			key[i] = sql_i64(st, i);
		if (rc == 0)
			rc = fn(k, st, key, err);
	} while (rc == 0);
	sql_finish(&st);
	return MIN(rc, 0);
}

static void page_finding(void *ctx, struct str finding)
{
	finding_say(ctx, true, STR_FMT, STR_ARG(str_head(finding, 200)));
}

/* Damage in one row is a finding, and the walk goes on; all else ends it. */
static int row_bad(struct checking *k, const char *what, uint64_t row, int rc, struct err *err)
{
	if (rc >= 0 || err->code != ERR_DAMAGED)
		return rc;
	finding_say(k, true, "%s %llu: %.150s", what, (unsigned long long)row, err->msg);
	return 1;
}

static int row_fails(struct checking *k, struct url_row *u, const struct queued *q,
		     const struct stored *s, struct err *err)
{
	struct gone why = {.at_us = clock_wall_us(),
			   .state = DB_FAILED,
			   .code = CACHE_INTERNAL,
			   .reason = STR("its file was lost"),
			   .c = s->notice.c,
			   .mime = s->notice.mime};
	return url_row_fail(k->d, u, u->row ? q : NULL, s, s->data, &why, err);
}

static int url_files(struct checking *k, struct url_row *u, const struct queued *q,
		     const struct stored *s, struct err *err)
{
	if (!u->lcc || !k->has || k->has(k->ctx, s->machine, s->file, s->size) != 0)
		return 0;
	finding_say(k, true,
		    "row %llu of LCC: its file " STR_FMT "/" STR_FMT " of %llu bytes is not there",
		    (unsigned long long)u->lcc, STR_ARG(s->machine), STR_ARG(s->file),
		    (unsigned long long)s->size);
	return k->fix ? row_fails(k, u, q, s, err) : 0;
}

static void row_count(struct checking *k, const struct url_row *u, const struct queued *q)
{
	struct counts *c = tallies_put(&k->counts, u->provider);
	c->queued++;
	if (!q->is_nothing && !u->lcc) {
		c->fresh++;
		c->fresh_space += q->notice.has & NOTICE_HAS_SIZE ? q->notice.size : 0;
	}
}

static void url_count(struct checking *k, const struct url_row *u, const struct queued *q,
		      const struct stored *s)
{
	struct counts *c = tallies_put(&k->counts, u->provider);
	c->files += u->lcc != 0;
	c->space += u->lcc ? s->size : 0;
	if (u->row)
		row_count(k, u, q);
}

/* 0: the row that the URL names is there, and is its own. 1: it is not. */
static int url_queued(struct checking *k, const struct url_row *u, struct queued *q,
		      struct err *err)
{
	if (!u->row)
		return 0;
	int rc = row_bad(k, "URL of row", u->row, queue_get(k->d, u->set, u->slot, u->row, q, err),
			 err);
	return rc ? rc
		  : q->provider != u->provider ||
			       k->d->hash(q->notice.c, q->notice.mime) != u->hash;
}

static int url_stored(struct checking *k, const struct url_row *u, struct stored *s,
		      struct err *err)
{
	if (!u->lcc)
		return 0;
	int rc = row_bad(k, "URL of LCC", u->lcc, lcc_get(k->d, u->lcc, s, err), err);
	return rc ? rc
		  : s->provider != u->provider ||
			       k->d->hash(s->notice.c, s->notice.mime) != u->hash;
}

static int url_rows_check(struct checking *k, struct url_row *u, struct err *err)
{
	struct queued q;
	struct stored s;
	struct gone g;
	int queued = url_queued(k, u, &q, err);
	int stored = queued < 0 ? queued : url_stored(k, u, &s, err);
	int gone = stored < 0 || !u->gone ? MIN(stored, 0)
					  : row_bad(k, "URL of what is gone", u->gone,
						    gone_get(k->d, u->gone, &g, err), err);
	if (gone < 0)
		return -1;
	bool wrong = queued == 1 || stored == 1 || gone == 1 || (!u->row && !u->lcc && !u->gone);
	if (wrong)
		finding_say(k, true, "provider %llu: a URL names rows that are not its own",
			    (unsigned long long)u->provider);
	u->row = queued == 1 ? 0 : u->row;
	u->lcc = stored == 1 ? 0 : u->lcc;
	u->gone = gone == 1 ? 0 : u->gone;
	if (url_files(k, u, &q, &s, err) < 0)
		return -1;
	url_count(k, u, &q, &s);
	return k->fix && (wrong || u->is_dirty) ? url_save(k->d, u, err) : 0;
}

static int url_check(struct checking *k, struct sql_st *st, const int64_t *key, struct err *err)
{
	struct url_row u;
	(void)key;
	url_from(st, &u);
	sql_reset(st);
	return url_rows_check(k, &u, err);
}

/* A row that cannot be read: mended by leaving it out. */
static int row_erase(struct checking *k, enum db_sql i, const int64_t *key, int n, struct err *err)
{
	struct sql_st *st = sql_st(k->d, i);
	if (!k->fix)
		return 0;
	for (int at = 0; at < n; at++)
		sql_bind_value(st, at + 1, SQL_N(key[at]));
	return db_run(k->d, st, err);
}

/* A row that no URL names: its URL names it again, unless that has another by now. */
static int queue_lost(struct checking *k, const struct queued *q, struct err *err)
{
	struct url_row u = {.provider = q->provider,
			    .hash = k->d->hash(q->notice.c, q->notice.mime)};
	finding_say(k, true, "row %llu of the queue has no URL", (unsigned long long)q->row);
	if (!k->fix)
		return 0;
	int rc = url_find(k->d, u.provider, u.hash, q->notice.c, q->notice.mime, &u, err);
	if (rc == 1)
		u.n = q->row; /* another than those that there may be */
	if (rc < 0)
		return rc;
	if (u.row)
		return row_erase(k, SQL_QUEUE_DROP,
				 (const int64_t[]){(int64_t)q->set, q->slot, (int64_t)q->row}, 3,
				 err);
	u.set = q->set;
	u.slot = q->slot;
	u.row = q->row;
	u.version++;
	row_count(k, &u, q);
	return url_save(k->d, &u, err);
}

static int queue_check(struct checking *k, struct sql_st *st, const int64_t *key, struct err *err)
{
	struct queued q;
	struct url_row u;
	int rc = row_bad(k, "queue, row", (uint64_t)key[2], queue_from(k->d, st, &q, err), err);
	sql_reset(st);
	if (rc)
		return rc < 0 ? rc : row_erase(k, SQL_QUEUE_DROP, key, 3, err);
	rc = URL_BY(k->d, q.provider, k->d->hash(q.notice.c, q.notice.mime), row, q.row, &u, err);
	return rc == 1 ? queue_lost(k, &q, err) : rc;
}

/* A stored row that no URL names: its file goes. */
static int lcc_lost(struct checking *k, const struct stored *s, struct err *err)
{
	finding_say(k, true, "row %llu of LCC has no URL", (unsigned long long)s->row);
	if (!k->fix)
		return 0;
	return db_run(k->d, DB_ST(k->d, LCC_DROP, SQL_N(s->row)), err) < 0
		       ? -1
		       : db_fsm_add(k->d, s->machine, s->file, err);
}

static int lcc_check(struct checking *k, struct sql_st *st, const int64_t *key, struct err *err)
{
	struct stored s;
	struct url_row u;
	int rc = row_bad(k, "LCC, row", (uint64_t)key[0], lcc_from(k->d, st, &s, err), err);
	sql_reset(st);
	if (rc)
		return rc < 0 ? rc : row_erase(k, SQL_LCC_DROP, key, 1, err);
	rc = URL_BY(k->d, s.provider, s.hash, lcc, s.row, &u, err);
	return rc == 1 ? lcc_lost(k, &s, err) : rc;
}

/* All notices of a set, one after the other. */
static int set_read(struct checking *k, const struct set_row *set, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(NOTICE_PIECE + NOTICE_MOST + 1);
	struct notice n;
	int rc = 0;
	for (uint64_t i = 0; rc == 0 && i < set->set.pieces; i++) {
		buf_clear(&room);
		rc = set_piece_read(k->d, set, i, &room, err);
		struct reader r = reader_of(buf_str(&room));
		while (rc == 0)
			rc = notice_next(&r, &n, err);
		rc = MIN(rc, 0);
	}
	return rc;
}

static int set_check(struct checking *k, struct sql_st *st, const int64_t *key, struct err *err)
{
	struct set_row set;
	struct counts *c;
	(void)key;
	set_from(st, &set);
	sql_reset(st);
	int rc = row_bad(k, "set", set.set.set, set_read(k, &set, err), err);
	if (rc < 1 || !k->fix)
		return MIN(rc, 0);
	if (counts_of(k->d, set.set.provider, &c, err) < 0)
		return -1;
	c->open_sets -= c->open_sets > 0;
	return set_erase(k->d, set.id, err);
}

static int provider_check(struct checking *k, uint64_t provider, struct err *err)
{
	const struct counts none = {0};
	const struct counts *want = tallies_get(&k->counts, provider);
	struct counts has, *c;
	if (!want)
		want = &none;
	if (counts_read(k->d, provider, &has, err) < 0)
		return -1;
	if (has.queued == want->queued && has.files == want->files && has.space == want->space &&
	    has.fresh == want->fresh && has.fresh_space == want->fresh_space)
		return 0;
	finding_say(k, true,
		    "provider %llu: counted %llu files of %llu bytes, %llu rows of the "
		    "queue; there are %llu, %llu, %llu",
		    (unsigned long long)provider, (unsigned long long)has.files,
		    (unsigned long long)has.space, (unsigned long long)has.queued,
		    (unsigned long long)want->files, (unsigned long long)want->space,
		    (unsigned long long)want->queued);
	if (!k->fix)
		return 0;
	if (counts_of(k->d, provider, &c, err) < 0)
		return -1;
	c->files = want->files;
	c->space = want->space;
	c->queued = want->queued;
	c->fresh = want->fresh;
	c->fresh_space = want->fresh_space;
	return 0;
}

/* One that no row is of; the others were looked at. */
static int tally_check(struct checking *k, struct sql_st *st, const int64_t *key, struct err *err)
{
	uint64_t provider = (uint64_t)key[0];
	sql_reset(st);
	return tallies_get(&k->counts, provider) ? 0 : provider_check(k, provider, err);
}

static int counts_check(struct checking *k, struct err *err)
{
	if (work_flush(k->d, err) < 0)
		return -1;
	TABLE_EACH (tallies, slot, &k->counts)
		if (provider_check(k, slot->key, err) < 0)
			return -1;
	return table_walk(k,
			  "SELECT provider FROM tally WHERE provider>?1 ORDER BY provider LIMIT 1",
			  1, tally_check, err);
}

static int rows_check(struct checking *k, struct err *err)
{
	/* Of sets that are absorbed, old ones lose their pieces a few at a time. */
	static const struct {
		const char *text;
		int nkey;
		walk_fn *fn;
	} walk[] = {
		{"SELECT " URL_COLUMNS " FROM url WHERE (provider,hash,n)>(?1,?2,?3) "
		 "ORDER BY provider,hash,n LIMIT 1",
		 3, url_check},
		{"SELECT " QUEUE_COLUMNS " FROM queue WHERE (qset,slot,row)>(?1,?2,?3) "
		 "ORDER BY qset,slot,row LIMIT 1",
		 3, queue_check},
		{"SELECT " LCC_COLUMNS " FROM lcc WHERE row>?1 ORDER BY row LIMIT 1", 1, lcc_check},
		{"SELECT " SET_COLUMNS " FROM sets WHERE state=1 AND id>?1 ORDER BY id LIMIT 1", 1,
		 set_check},
	};
	for (size_t i = 0; i < ARRAY_LEN(walk); i++)
		if (table_walk(k, walk[i].text, walk[i].nkey, walk[i].fn, err) < 0)
			return -1;
	if (counts_check(k, err) < 0)
		return -1;
	if (k->fix && (work_flush(k->d, err) < 0 || totals_read(k->d, err) < 0))
		return -1;
	int rc = db_agrees(k->d, err);
	if (rc == 1) {
		finding_say(k, true, "QPSDB does not agree with QDB");
		rc = k->fix ? db_rebuild(k->d, err) : 0;
	}
	return rc;
}

int db_check(struct db *db, bool fix,
	     int (*has)(void *ctx, struct str machine, struct str file, uint64_t size),
	     db_finding_fn *fn, void *ctx, struct err *err)
{
	struct checking k = {.d = db, .fix = fix, .has = has, .fn = fn, .ctx = ctx};
	bool group = fix && !k.d->is_group;
	if (group && db_begin(db, err) < 0)
		return -1;
	int rc = sql_check(&k.d->sql, page_finding, &k, err);
	if (rc == 0)
		rc = rows_check(&k, err);
	tallies_free(&k.counts);
	FAULT("cachedb.fix");
	if (rc < 0 && fix)
		work_end(k.d, rc, err);
	return group && db_commit(db, err) < 0 ? -1 : rc;
}
