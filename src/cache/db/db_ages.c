/* What goes with time: rows that nobody has confirmed, sets and reasons that nobody needs any more,
 * providers that have left. All in steps of bounded size.
 *
 * A row of LCC has the age of when it was stored; its URL has that of the last confirmation, and is
 * looked at only where the first is too old. */
#include "base/fault.h"
#include "base/vec.h"
#include "cache/db/db_inner.h"

struct aged {
	uint64_t row, provider;
	int64_t hash, age_us;
};

#define AGED(member) COL(#member, struct aged, member)
static const struct column aged_columns[] = {AGED(row), AGED(provider), AGED(hash), AGED(age_us)};
static const struct rows aged_rows = {ROWS(struct aged, aged_columns)};

static int lcc_walk(struct db *d, uint64_t from, size_t most, struct aged **ret, size_t *ret_n,
		    struct err *err)
{
	size_t room = 0;
	int rc;
	struct sql_st *st = DB_ST(d, LCC_WALK, SQL_N((from ? from - 1 : 0)),
				  SQL_N(MIN(most, (size_t)INT32_MAX)));
	while ((rc = db_step(d, st, err)) == 0)
		sql_take_row(st, &aged_rows, VEC_PUSH(*ret, *ret_n, room));
	return rc < 0 ? rc : 0;
}

static int row_expired(struct db *d, struct url_row *u, int64_t now_us, struct err *err)
{
	struct stored s;
	struct queued q;
	struct gone why = {
		.at_us = now_us, .state = DB_REMOVED, .reason = STR("not confirmed for too long")};
	if (url_rows(d, u, &q, &s, err) < 0)
		return -1;
	why.c = s.notice.c;
	why.mime = s.notice.mime;
	if (gone_put(d, u, &why, err) < 0 || lcc_drop(d, u, &s, u->row ? &q : NULL, err) < 0)
		return -1;
	return url_save(d, u, err);
}

struct age_walk {
	int64_t old_us, expire_us, now_us;
	struct ages told; /* 0: has old ones, 1: some have expired */
};

static int row_age(struct db *d, struct age_walk *w, const struct aged *a, struct err *err)
{
	struct url_row u;
	if (a->age_us >= w->old_us && a->age_us >= w->expire_us)
		return 0;
	int rc = URL_BY(d, a->provider, a->hash, lcc, a->row, &u, err);
	if (rc)
		return rc < 0 ? rc : 0;
	int64_t age_us = MAX(a->age_us, u.age_us);
	if (age_us < w->expire_us) {
		*ages_put(&w->told, a->provider) = 1;
		return row_expired(d, &u, w->now_us, err);
	}
	if (age_us < w->old_us && !u.row) /* else it was named, and will be fetched */
		(void)ages_put(&w->told, a->provider);
	return 0;
}

static int ages_step(struct db *d, struct age_walk *w, uint64_t from, size_t most,
		     uint64_t *ret_next, struct err *err)
{
	struct aged *row = NULL;
	size_t n = 0;
	int rc = lcc_walk(d, from, MAX(most, (size_t)1), &row, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = row_age(d, w, &row[i], err);
	*ret_next = n < MAX(most, (size_t)1) ? 0 : row[n - 1].row + 1;
	mem_free(&row);
	return rc;
}

int db_ages(struct db *d, uint64_t from_row, size_t rows_max, int64_t old_before_us,
	    int64_t expire_before_us, int64_t now_us,
	    void (*each)(void *ctx, uint64_t provider, bool has_expired), void *ctx,
	    uint64_t *ret_next, struct err *err)
{
	struct age_walk w = {
		.old_us = old_before_us, .expire_us = expire_before_us, .now_us = now_us};
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = ages_step(d, &w, from_row, rows_max, ret_next, err);
	FAULT("cachedb.ages");
	rc = work_end(d, rc, err);
	if (rc == 0)
		TABLE_EACH (ages, slot, &w.told)
			each(ctx, slot->key, slot->value != 0);
	ages_free(&w.told);
	return rc;
}

/* 1: the oldest is not old enough. */
static int gone_trim(struct db *d, int64_t before_us, struct err *err)
{
	struct gone g;
	struct url_row u;
	uint64_t id;
	int rc = db_number(d, sql_st(d, SQL_GONE_OLDEST), &id, err);
	if (rc == 0)
		rc = gone_get(d, id, &g, err);
	if (rc || g.at_us >= before_us)
		return rc < 0 ? rc : 1;
	rc = URL_BY(d, g.provider, g.hash, gone, g.id, &u, err);
	if (rc == 1)
		u = (struct url_row){.gone = g.id};
	if (rc < 0 || gone_row_drop(d, &u, err) < 0)
		return -1;
	return rc == 0 ? url_save(d, &u, err) : 0;
}

/* 1: there is no such set. */
static int set_trim(struct db *d, int64_t before_us, size_t *left, struct err *err)
{
	struct set_row set;
	size_t dropped;
	struct sql_st *st = DB_ST(d, SET_OLD, SQL_N(before_us));
	int rc = db_step(d, st, err);
	if (rc)
		return rc;
	set_from(st, &set);
	sql_reset(st);
	if (pieces_drop(d, set.id, *left, &dropped, err) < 0)
		return -1;
	bool whole = dropped < *left;
	*left -= dropped;
	return whole ? set_erase(d, set.id, err) : 0;
}

static int trim_step(struct db *d, int64_t before_us, size_t most, struct err *err)
{
	size_t left = MAX(most, (size_t)1);
	int rc = 0;
	while (left > 0 && (rc = set_trim(d, before_us, &left, err)) == 0)
		left -= left > 0;
	while (left > 0 && rc >= 0 && (rc = gone_trim(d, before_us, err)) == 0)
		left--;
	return rc < 0 ? rc : left > 0;
}

int db_trim(struct db *d, int64_t before_us, size_t rows_max, struct err *err)
{
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = trim_step(d, before_us, rows_max, err);
	FAULT("cachedb.trim");
	return work_end(d, rc, err);
}

static int url_forget(struct db *d, struct url_row *u, struct err *err)
{
	struct queued q;
	struct stored s;
	if (url_rows(d, u, &q, &s, err) < 0 || gone_row_drop(d, u, err) < 0)
		return -1;
	if (u->row && queue_drop(d, u, &q, err) < 0)
		return -1;
	if (u->lcc && lcc_drop(d, u, &s, NULL, err) < 0)
		return -1;
	return url_save(d, u, err);
}

static int urls_forget(struct db *d, uint64_t provider, size_t most, size_t *ret_n, struct err *err)
{
	struct url_row *url = NULL;
	size_t room = 0;
	int rc;
	*ret_n = 0;
	struct sql_st *st = DB_ST(d, URL_FIRST, SQL_N(provider), SQL_N(most));
	while ((rc = db_step(d, st, err)) == 0)
		url_from(st, VEC_PUSH(url, *ret_n, room));
	for (size_t i = 0; rc >= 0 && i < *ret_n; i++)
		rc = url_forget(d, &url[i], err);
	mem_free(&url);
	return rc < 0 ? rc : 0;
}

/* What is left when its rows are gone. */
static int provider_erase(struct db *d, uint64_t provider, struct err *err)
{
	const enum db_sql clear[] = {SQL_ERROR_CLEAR, SQL_FETCH_CLEAR, SQL_HELD_DROP,
				     SQL_TALLY_DROP};
	struct set_row set;
	int rc;
	while ((rc = set_step(d, DB_ST(d, SET_FIRST, SQL_N(provider)), &set, err)) == 0)
		if (set_erase(d, set.id, err) < 0)
			return -1;
	if (rc < 0 || work_flush(d, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(clear); i++)
		if (db_run(d, db_bound(d, clear[i], &SQL_N(provider), 1), err) < 0)
			return -1;
	tallies_remove(&d->tallies, provider);
	return 1;
}

int db_forget(struct db *d, uint64_t provider, size_t rows_max, struct err *err)
{
	size_t n = 0, most = MIN(MAX(rows_max, (size_t)1), (size_t)INT32_MAX);
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = urls_forget(d, provider, most, &n, err);
	if (rc == 0 && n < most)
		rc = provider_erase(d, provider, err);
	FAULT("cachedb.forget");
	return work_end(d, rc, err);
}
