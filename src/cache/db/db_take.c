/* Sets as they arrive. A set gets its number when it is whole: one that was begun early and ends
 * late comes after those that were whole before it, and the queue takes them in that order. Its
 * pieces are kept under a number of their own until then and after. */
#include "base/fault.h"
#include "cache/db/db_inner.h"

enum { PIECE_BITS = 24 };

static int64_t piece_id(uint64_t id, uint64_t piece)
{
	return (int64_t)(id << PIECE_BITS | piece);
}

void set_from(struct sql_st *st, struct set_row *ret)
{
	struct str uns = str_head(sql_str(st, 2), DB_UNS_MAX);
	*ret = (struct set_row){
		.id = sql_u64(st, 0),
		.set = {.set = sql_u64(st, 1),
			.number = sql_u64(st, 3),
			.provider = sql_u64(st, 4),
			.is_full = sql_i64(st, 5) != 0,
			.urls = sql_u64(st, 6),
			.at_us = sql_i64(st, 7),
			.pieces = sql_u64(st, 8)},
		.state = (int)sql_i64(st, 9),
		.piece = sql_u64(st, 10),
		.byte = sql_u64(st, 11),
		.walks = sql_i64(st, 12) != 0,
		.hash = sql_i64(st, 13),
		.n = sql_u64(st, 14),
	};
	memcpy(ret->set.uns, uns.p, uns.n);
}

static int set_step(struct db *d, struct sql_st *st, struct set_row *ret, struct err *err)
{
	int rc = db_step(d, st, err);
	if (rc == 0) {
		set_from(st, ret);
		sql_reset(st);
	}
	return rc;
}

int set_by(struct db *d, uint64_t set, struct set_row *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SET_BY_SET);
	sql_bind(st, 1, (int64_t)set);
	return set_step(d, st, ret, err);
}

static int set_by_number(struct db *d, const char *uns, uint64_t number, struct set_row *ret,
			 struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SET_BY_NUMBER);
	sql_bind_text(st, 1, str_of(uns));
	sql_bind(st, 2, (int64_t)number);
	return set_step(d, st, ret, err);
}

static int set_begin(struct db *d, const struct db_set *set, uint64_t *ret_id, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SET_ADD);
	sql_bind_text(st, 1, str_of(set->uns));
	sql_bind(st, 2, (int64_t)set->number);
	sql_bind(st, 3, (int64_t)set->provider);
	sql_bind(st, 4, set->is_full);
	sql_bind(st, 5, (int64_t)set->urls);
	sql_bind(st, 6, set->at_us);
	return db_added(d, st, ret_id, err);
}

static int set_take(struct db *d, struct db_take *t, struct err *err)
{
	struct set_row row = {0};
	struct counts *c;
	int rc = set_by_number(d, t->set.uns, t->set.number, &row, err);
	if (rc == 1) {
		row = (struct set_row){0};
		if (set_begin(d, &t->set, &row.id, err) < 0)
			return -1;
		row.set.provider = t->set.provider;
	} else if (rc < 0) {
		return rc;
	}
	t->was_there = row.state != SET_TAKING;
	t->ret_set = row.set.set;
	if (t->was_there)
		return 0;
	if (row.set.pieces + t->npieces >= UINT64_C(1) << PIECE_BITS)
		return err_set(err, ERR_USAGE, "set %llu: more than %d pieces",
			       (unsigned long long)t->set.number, 1 << PIECE_BITS);
	struct sql_st *st = sql_st(d, SQL_PIECE_ADD);
	for (size_t i = 0; i < t->npieces; i++) {
		sql_bind(st, 1, piece_id(row.id, row.set.pieces++));
		sql_bind_blob(st, 2, t->piece[i]);
		if (db_run(d, st, err) < 0)
			return -1;
	}
	st = sql_st(d, SQL_SET_TOOK);
	if (t->ends) {
		t->ret_set = d->meta.next_set++;
		d->meta_dirty = true;
		if (counts_of(d, row.set.provider, &c, err) < 0)
			return -1;
		c->open_sets++;
	}
	sql_bind(st, 1, (int64_t)row.id);
	sql_bind(st, 2, (int64_t)t->ret_set);
	sql_bind(st, 3, (int64_t)row.set.pieces);
	sql_bind(st, 4, t->ends ? SET_WHOLE : SET_TAKING);
	return db_run(d, st, err);
}

int db_take(struct db *d, struct db_take *take, size_t n, struct err *err)
{
	int rc = work_begin(d, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = set_take(d, &take[i], err);
	FAULT("cachedb.take");
	return work_end(d, rc, err);
}

int pieces_drop(struct db *d, uint64_t id, size_t most, size_t *ret_n, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_PIECE_DROP);
	sql_bind(st, 1, piece_id(id, 0));
	sql_bind(st, 2, piece_id(id + 1, 0) - 1);
	sql_bind(st, 3, (int64_t)MIN(most, (size_t)INT32_MAX));
	if (db_run(d, st, err) < 0)
		return -1;
	*ret_n = (size_t)sql_changes(&d->sql);
	return 0;
}

/* Pieces and all. */
int set_erase(struct db *d, uint64_t id, struct err *err)
{
	size_t n;
	struct sql_st *st = sql_st(d, SQL_SET_DROP);
	if (pieces_drop(d, id, SIZE_MAX, &n, err) < 0)
		return -1;
	sql_bind(st, 1, (int64_t)id);
	return db_run(d, st, err);
}

static int taking_drop(struct db *d, const char *uns, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SET_TAKING);
	struct set_row row;
	int rc;
	for (;;) {
		if (uns)
			sql_bind_text(st, 1, str_of(uns));
		else
			sql_bind_null(st, 1);
		rc = set_step(d, st, &row, err);
		if (rc)
			return rc < 0 ? rc : 0;
		if (set_erase(d, row.id, err) < 0)
			return -1;
	}
}

int db_take_forget(struct db *d, const char *uns, struct err *err)
{
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = taking_drop(d, uns, err);
	return work_end(d, rc, err);
}

int db_set_next(struct db *d, uint64_t after, struct db_set *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SET_NEXT);
	struct set_row row;
	sql_bind(st, 1, (int64_t)after);
	int rc = set_step(d, st, &row, err);
	if (rc == 0)
		*ret = row.set;
	return rc;
}

int db_set_of(struct db *d, uint64_t provider, const char *uns, uint64_t number, struct db_set *ret,
	      struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SET_OF);
	struct set_row row;
	sql_bind(st, 1, (int64_t)provider);
	if (uns)
		sql_bind_text(st, 2, str_of(uns));
	else
		sql_bind_null(st, 2);
	sql_bind(st, 3, (int64_t)number);
	int rc = set_step(d, st, &row, err);
	if (rc == 0)
		*ret = row.set;
	return rc;
}

int db_set(struct db *db, uint64_t set, struct db_set *ret, struct err *err)
{
	struct set_row row;
	int rc = set_by(db, set, &row, err);
	if (rc == 0)
		*ret = row.set;
	return rc;
}

int set_piece_read(struct db *d, const struct set_row *row, uint64_t piece, struct buf *ret,
		   struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_PIECE_GET);
	if (piece >= row->set.pieces)
		return 1;
	sql_bind(st, 1, piece_id(row->id, piece));
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc
			      : err_set(err, ERR_DAMAGED, "%s: set %llu lacks piece %llu; %s",
					d->sql.path, (unsigned long long)row->set.set,
					(unsigned long long)piece, d->sql.remedy);
	rc = notice_unpack(sql_str(st, 0), ret, err);
	sql_reset(st);
	return rc < 0 ? err_in(err, "%s: set %llu, piece %llu", d->sql.path,
			       (unsigned long long)row->set.set, (unsigned long long)piece)
		      : 0;
}

int db_set_piece(struct db *d, uint64_t set, uint64_t piece, struct buf *ret, struct err *err)
{
	struct set_row row;
	int rc = set_by(d, set, &row, err);
	return rc ? rc : set_piece_read(d, &row, piece, ret, err);
}
