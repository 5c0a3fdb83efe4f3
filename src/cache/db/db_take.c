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

#define SET(member) COL(#member, struct set_row, member)
static const struct column set_columns[] = {
	SET(id),         SET(set.set),      COL("uns", struct set_row, uns, .most = DB_UNS_MAX),
	SET(set.number), SET(set.provider), SET(set.is_full),
	SET(set.urls),   SET(set.at_us),    SET(set.pieces),
	SET(state),      SET(piece),        SET(byte),
	SET(walks),      SET(hash),         SET(n),
};
static const struct rows set_rows = {ROWS(struct set_row, set_columns)};

void set_from(struct sql_st *st, struct set_row *ret)
{
	sql_take_row(st, &set_rows, ret);
	memset(ret->set.uns, 0, sizeof ret->set.uns);
	memcpy(ret->set.uns, ret->uns.p, ret->uns.n);
}

int set_step(struct db *d, struct sql_st *st, struct set_row *ret, struct err *err)
{
	int rc = db_step(d, st, err);
	if (rc == 0) {
		set_from(st, ret);
		sql_reset(st);
	}
	return rc;
}

/* The same for those who want no more than others may know. */
static int set_told(struct db *d, struct sql_st *st, struct db_set *ret, struct err *err)
{
	struct set_row row;
	int rc = set_step(d, st, &row, err);
	if (rc == 0)
		*ret = row.set;
	return rc;
}

int set_by(struct db *d, uint64_t set, struct set_row *ret, struct err *err)
{
	return set_step(d, DB_ST(d, SET_BY_SET, SQL_N(set)), ret, err);
}

static int set_take(struct db *d, struct db_take *t, struct err *err)
{
	struct set_row row = {0};
	struct counts *c;
	struct sql_st *st =
		DB_ST(d, SET_BY_NUMBER, SQL_T(str_of(t->set.uns)), SQL_N(t->set.number));
	int rc = set_step(d, st, &row, err);
	if (rc == 1) {
		row = (struct set_row){.set.provider = t->set.provider};
		st = DB_ST(d, SET_ADD, SQL_T(str_of(t->set.uns)), SQL_N(t->set.number),
			   SQL_N(t->set.provider), SQL_N(t->set.is_full), SQL_N(t->set.urls),
			   SQL_N(t->set.at_us));
		rc = db_number(d, st, &row.id, err);
	}
	if (rc)
		return -1;
	t->was_there = row.state != SET_TAKING;
	t->ret_set = row.set.set;
	if (t->was_there)
		return 0;
	if (row.set.pieces + t->npieces >= UINT64_C(1) << PIECE_BITS)
		return err_set(err, ERR_USAGE, "set %llu: more than %d pieces",
			       (unsigned long long)t->set.number, 1 << PIECE_BITS);
	for (size_t i = 0; i < t->npieces; i++)
		if (db_run(d,
			   DB_ST(d, PIECE_ADD, SQL_N(piece_id(row.id, row.set.pieces++)),
				 SQL_B(t->piece[i])),
			   err) < 0)
			return -1;
	if (t->ends) {
		t->ret_set = d->meta.next_set++;
		d->meta_dirty = true;
		if (counts_of(d, row.set.provider, &c, err) < 0)
			return -1;
		c->open_sets++;
	}
	return db_run(d,
		      DB_ST(d, SET_TOOK, SQL_N(row.id), SQL_N(t->ret_set), SQL_N(row.set.pieces),
			    SQL_N(t->ends ? SET_WHOLE : SET_TAKING)),
		      err);
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
	struct sql_st *st =
		DB_ST(d, PIECE_DROP, SQL_N(piece_id(id, 0)), SQL_N(piece_id(id + 1, 0) - 1),
		      SQL_N(MIN(most, (size_t)INT32_MAX)));
	if (db_run(d, st, err) < 0)
		return -1;
	*ret_n = (size_t)sql_changes(&d->sql);
	return 0;
}

/* Pieces and all. */
int set_erase(struct db *d, uint64_t id, struct err *err)
{
	size_t n;
	if (pieces_drop(d, id, SIZE_MAX, &n, err) < 0)
		return -1;
	return db_run(d, DB_ST(d, SET_DROP, SQL_N(id)), err);
}

static struct sql_value uns_or_any(const char *uns)
{
	return uns ? SQL_T(str_of(uns)) : (struct sql_value){.type = SQL_NULL};
}

static int taking_drop(struct db *d, const char *uns, struct err *err)
{
	struct set_row row;
	int rc;
	while ((rc = set_step(d, DB_ST(d, SET_TAKING, uns_or_any(uns)), &row, err)) == 0)
		if (set_erase(d, row.id, err) < 0)
			return -1;
	return MIN(rc, 0);
}

int db_take_forget(struct db *d, const char *uns, struct err *err)
{
	return DB_WORK(d, err, taking_drop(d, uns, err));
}

int db_set_next(struct db *d, uint64_t after, struct db_set *ret, struct err *err)
{
	return set_told(d, DB_ST(d, SET_NEXT, SQL_N(after)), ret, err);
}

int db_set_of(struct db *d, uint64_t provider, const char *uns, uint64_t number, struct db_set *ret,
	      struct err *err)
{
	return set_told(d, DB_ST(d, SET_OF, SQL_N(provider), uns_or_any(uns), SQL_N(number)), ret,
			err);
}

int db_set(struct db *d, uint64_t set, struct db_set *ret, struct err *err)
{
	return set_told(d, DB_ST(d, SET_BY_SET, SQL_N(set)), ret, err);
}

int set_piece_read(struct db *d, const struct set_row *row, uint64_t piece, struct buf *ret,
		   struct err *err)
{
	if (piece >= row->set.pieces)
		return 1;
	struct sql_st *st = DB_ST(d, PIECE_GET, SQL_N(piece_id(row->id, piece)));
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc
			      : db_damaged(d, err, "set %llu lacks piece %llu",
					   (unsigned long long)row->set.set,
					   (unsigned long long)piece);
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
