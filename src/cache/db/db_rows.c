/* The rows: URLs by (provider, hash), the queue by (set, slot, row), LCC by row, and what is gone.
 * A URL's row says where the others are, so that a notice costs one search among the URLs of its
 * provider, and what it finds is near what was found for the notice before it. Anyone who changes
 * the queue or LCC changes the counts here, at the same place. */
#include "cache/db/db_inner.h"

#include <stdlib.h>

enum {
	ERRORS_KEPT = 10000, /* of one provider */
	ALONG_MOST = 8,      /* rows that are passed over rather than searched for */
};

#define URL(member) COL(#member, struct url_row, member)
static const struct column url_columns[] = {
	URL(provider), URL(hash), URL(n),    URL(set),    URL(slot), URL(row),
	URL(version),  URL(lcc),  URL(gone), URL(age_us), URL(seen),
};
static const struct rows url_rows_of = {ROWS(struct url_row, url_columns)};

#define QUEUED(member) COL(#member, struct queued, member)
static const struct column queue_columns[] = {
	QUEUED(set),
	QUEUED(slot),
	QUEUED(row),
	QUEUED(provider),
	QUEUED(tries),
	QUEUED(code),
	QUEUED(is_nothing),
	COL("reason", struct queued, reason),
	COL("data", struct queued, data, .unit = UNIT_HEX),
};

#define STORED(member) COL(#member, struct stored, member)
static const struct column lcc_columns[] = {
	STORED(row),
	STORED(provider),
	STORED(hash),
	STORED(at_us),
	STORED(age_us),
	COL("machine", struct stored, machine, .most = DB_MACHINE_MAX),
	COL("file", struct stored, file, .most = DB_FILE_MAX),
	COL("mime", struct stored, mime),
	COL("etag", struct stored, etag),
	STORED(size),
	STORED(mtime_s),
	COL("sum", struct stored, sum, .unit = UNIT_HEX),
	COL("data", struct stored, data, .unit = UNIT_HEX),
};

#define GONE(member) COL(#member, struct gone, member)
static const struct column gone_columns[] = {
	GONE(id),
	GONE(provider),
	GONE(hash),
	GONE(at_us),
	GONE(state),
	GONE(code),
	COL("reason", struct gone, reason, .most = DB_REASON_MAX),
	COL("c", struct gone, c, .most = NOTICE_URL_MAX),
	COL("mime", struct gone, mime, .most = NOTICE_MIME_MAX),
};

/* Rows with texts, which stay in a buffer of the database until the next row of the kind. */
static const struct row_kind {
	struct rows rows;
	size_t texts;
} queue_kind = {{ROWS(struct queued, queue_columns), .what = "the queue"},
		offsetof(struct db, queue_text)},
  lcc_kind = {{ROWS(struct stored, lcc_columns), .what = "LCC"}, offsetof(struct db, lcc_text)},
  gone_kind = {{ROWS(struct gone, gone_columns), .what = "what is gone"},
	       offsetof(struct db, gone_text)};

int db_row_take(struct db *d, struct sql_st *st, const struct rows *t, void *row, struct err *err)
{
	int rc = db_step(d, st, err);
	if (rc == 0) {
		sql_take_row(st, t, row);
		sql_reset(st);
	}
	return rc;
}

int db_number(struct db *d, struct sql_st *st, uint64_t *ret, struct err *err)
{
	static const struct column column = {NULL, COL_UINT, 0, sizeof *ret};
	static const struct rows number = {&column, 1, sizeof *ret};
	return db_row_take(d, st, &number, ret, err);
}

void url_from(struct sql_st *st, struct url_row *ret)
{
	*ret = (struct url_row){.is_there = true};
	sql_take_row(st, &url_rows_of, ret);
}

int url_save(struct db *d, struct url_row *u, struct err *err)
{
	bool keep = u->row || u->lcc || u->gone, was = u->is_there;
	struct sql_st *st = sql_st(d, SQL_URL_PUT);
	if (!u->row)
		u->set = 0, u->slot = 0;
	u->is_there = keep;
	u->is_dirty = false;
	if (keep) {
		sql_bind_row(st, &url_rows_of, u);
		return db_run(d, st, err);
	}
	return was ? db_run(d, DB_ST(d, URL_DROP, SQL_N(u->provider), SQL_N(u->hash), SQL_N(u->n)),
			    err)
		   : 0;
}

int notice_of(struct db *d, struct str data, struct notice *ret, struct err *err)
{
	struct reader r = reader_of(data);
	struct err why;
	int rc = notice_next(&r, ret, &why);
	if (rc == 0 && reader_left(&r) == 0)
		return 0;
	return db_damaged(d, err, "a row's notice is damaged");
}

static int row_lost(struct db *d, const struct row_kind *k, uint64_t row, struct err *err)
{
	return db_damaged(d, err, "row %llu of %s is not there", (unsigned long long)row,
			  k->rows.what);
}

/* The i-th column of a row as a text; NULL: it is a number. */
static struct str *row_text(const struct row_kind *k, size_t i, void *row)
{
	const struct column *c = &k->rows.column[i];
	return c->type == COL_STR ? (struct str *)((char *)row + c->offset) : NULL;
}

/* A row into a struct; its texts move into the buffer, and stay there when the statement goes on.
 * They are bounded as they come in: a database that has longer ones is damaged. */
static int row_from(struct db *d, struct sql_st *st, const struct row_kind *k, void *row,
		    struct err *err)
{
	struct buf *b = (struct buf *)((char *)d + k->texts);
	struct str *s;
	size_t all = 0;
	sql_take_row(st, &k->rows, row);
	for (size_t i = 0; i < k->rows.n; i++) {
		if (!(s = row_text(k, i, row)))
			continue;
		if (s->n > NOTICE_MOST)
			return db_damaged(d, err, "a row is too long");
		all += s->n;
	}
	buf_clear(b);
	ENSURE(buf_room(b, all + 1)); /* from here on it does not move */
	for (size_t i = 0; i < k->rows.n; i++) {
		size_t at = b->n;
		if (!(s = row_text(k, i, row)))
			continue;
		buf_add_str(b, *s);
		*s = (struct str){s->n ? b->p + at : "", s->n};
	}
	return 0;
}

int queue_from(struct db *d, struct sql_st *st, struct queued *ret, struct err *err)
{
	if (row_from(d, st, &queue_kind, ret, err) < 0)
		return -1;
	return notice_of(d, ret->data, &ret->notice, err);
}

/* The row that a statement finds, and that must be there. */
static int row_get(struct db *d, struct sql_st *st, const struct row_kind *k, uint64_t row,
		   void *ret, struct err *err)
{
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc : row_lost(d, k, row, err);
	rc = row_from(d, st, k, ret, err);
	sql_reset(st);
	return rc;
}

int queue_get(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct queued *ret,
	      struct err *err)
{
	struct sql_st *st = DB_ST(d, QUEUE_GET, SQL_N(set), SQL_N(slot), SQL_N(row));
	if (row_get(d, st, &queue_kind, row, ret, err) < 0)
		return -1;
	return notice_of(d, ret->data, &ret->notice, err);
}

/* Goes on to a row from where the statement is, or from anew where that is too far: `v` are its
 * values then. Its column of the row's number is that of its last value. */
static int row_along(struct db *d, struct sql_st *st, struct along *a, const struct row_kind *k,
		     const struct along *want, const struct sql_value *v, size_t n, void *ret,
		     struct err *err)
{
	uint64_t at = 0;
	int rc;
	if (!a->is_open || a->set != want->set || a->slot != want->slot || want->row <= a->row ||
	    want->row > a->row + ALONG_MOST) {
		sql_reset(st);
		sql_bind_all(st, v, n);
	}
	while ((rc = db_step(d, st, err)) == 0 && (at = sql_u64(st, (int)n - 1)) < want->row)
		;
	*a = *want;
	a->is_open = rc == 0;
	a->row = rc == 0 ? at : 0;
	if (rc < 0)
		return rc;
	return rc == 1 || at != want->row ? row_lost(d, k, want->row, err)
					  : row_from(d, st, k, ret, err);
}

int queue_along(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct queued *ret,
		struct err *err)
{
	const struct along want = {.set = set, .slot = slot, .row = row};
	if (row_along(d, sql_st(d, SQL_QUEUE_ON), &d->queue_on, &queue_kind, &want,
		      SQL_VALUES(SQL_N(set), SQL_N(slot), SQL_N(row)), ret, err) < 0)
		return -1;
	return notice_of(d, ret->data, &ret->notice, err);
}

static int queue_write(struct db *d, const struct queued *q, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_QUEUE_PUT);
	sql_bind_row(st, &queue_kind.rows, q);
	return db_run(d, st, err);
}

static int queue_erase(struct db *d, const struct queued *q, struct err *err)
{
	return db_run(d, DB_ST(d, QUEUE_DROP, SQL_N(q->set), SQL_N(q->slot), SQL_N(q->row)), err);
}

/* A row counts as a new file while it is to be fetched and nothing is stored for it. */
static void fresh_count(struct counts *c, const struct url_row *u, const struct queued *q, bool in)
{
	if (!q || q->is_nothing || u->lcc || !u->row)
		return;
	uint64_t size = q->notice.has & NOTICE_HAS_SIZE ? q->notice.size : 0;
	c->fresh += in ? 1 : UINT64_MAX;
	c->fresh_space += in ? size : -size;
}

int queue_add(struct db *d, struct url_row *u, const struct queued *q, int64_t priority,
	      struct err *err)
{
	struct counts *c;
	struct db_part part = {
		.set = q->set, .slot = q->slot, .provider = q->provider, .priority = priority};
	if (queue_write(d, q, err) < 0 || part_add(d, &part, q->row, err) < 0 ||
	    counts_of(d, q->provider, &c, err) < 0)
		return -1;
	u->set = q->set;
	u->slot = q->slot;
	u->row = q->row;
	u->version = 1;
	u->is_dirty = true;
	c->queued++;
	d->queued++;
	fresh_count(c, u, q, true);
	return 0;
}

int queue_drop(struct db *d, struct url_row *u, const struct queued *q, struct err *err)
{
	struct counts *c;
	if (queue_erase(d, q, err) < 0 || part_drop(d, q->set, q->slot, q->row, err) < 0 ||
	    counts_of(d, q->provider, &c, err) < 0)
		return -1;
	fresh_count(c, u, q, false);
	u->row = 0;
	u->is_dirty = true;
	c->queued--;
	d->queued--;
	return 0;
}

int queue_change(struct db *d, struct url_row *u, const struct queued *old,
		 const struct queued *fresh, struct err *err)
{
	struct counts *c;
	if (counts_of(d, old->provider, &c, err) < 0)
		return -1;
	fresh_count(c, u, old, false);
	fresh_count(c, u, fresh, true);
	return queue_write(d, fresh, err);
}

int queue_move(struct db *d, struct url_row *u, const struct queued *q, int64_t slot,
	       struct err *err)
{
	struct part_count *from;
	struct queued moved = *q;
	if (part_of(d, q->set, q->slot, &from, err) < 0)
		return -1;
	struct db_part part = from->part;
	part.slot = moved.slot = slot;
	if (queue_erase(d, q, err) < 0 || part_drop(d, q->set, q->slot, q->row, err) < 0 ||
	    queue_write(d, &moved, err) < 0 || part_add(d, &part, q->row, err) < 0)
		return -1;
	u->slot = slot;
	u->is_dirty = true;
	return 0;
}

/* What a row says beyond its columns. */
static int lcc_read(struct db *d, struct stored *s, struct err *err)
{
	s->has_md5 = s->sum.n == sizeof s->md5;
	if (s->has_md5)
		memcpy(s->md5, s->sum.p, s->sum.n);
	return notice_of(d, s->data, &s->notice, err);
}

int lcc_from(struct db *d, struct sql_st *st, struct stored *ret, struct err *err)
{
	return row_from(d, st, &lcc_kind, ret, err) < 0 ? -1 : lcc_read(d, ret, err);
}

int lcc_get(struct db *d, uint64_t row, struct stored *ret, struct err *err)
{
	struct sql_st *st = DB_ST(d, LCC_GET, SQL_N(row));
	return row_get(d, st, &lcc_kind, row, ret, err) < 0 ? -1 : lcc_read(d, ret, err);
}

int lcc_along(struct db *d, uint64_t row, struct stored *ret, struct err *err)
{
	const struct along want = {.row = row};
	if (row_along(d, sql_st(d, SQL_LCC_ON), &d->lcc_on, &lcc_kind, &want,
		      SQL_VALUES(SQL_N(row)), ret, err) < 0)
		return -1;
	return lcc_read(d, ret, err);
}

void along_end(struct db *d)
{
	sql_reset(sql_st(d, SQL_QUEUE_ON));
	sql_reset(sql_st(d, SQL_LCC_ON));
	d->queue_on = d->lcc_on = (struct along){0};
}

static int lcc_write(struct db *d, const struct stored *s, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_LCC_PUT);
	struct stored row = *s;
	row.sum = (struct str){(const char *)s->md5, s->has_md5 ? sizeof s->md5 : 0};
	sql_bind_row(st, &lcc_kind.rows, &row);
	return db_run(d, st, err);
}

int lcc_put(struct db *d, struct url_row *u, const struct stored *s, const struct queued *q,
	    struct err *err)
{
	struct counts *c;
	if (lcc_write(d, s, err) < 0 || counts_of(d, s->provider, &c, err) < 0)
		return -1;
	fresh_count(c, u, q, false);
	u->lcc = s->row;
	u->age_us = s->age_us;
	u->is_dirty = true;
	c->files++;
	c->space += s->size;
	d->stored++;
	return 0;
}

static int fsm_put(struct db *d, struct str machine, struct str file, struct err *err)
{
	return db_run(d, DB_ST(d, FSM_ADD, SQL_T(machine), SQL_T(file)), err);
}

int lcc_drop(struct db *d, struct url_row *u, const struct stored *s, const struct queued *q,
	     struct err *err)
{
	struct counts *c;
	if (db_run(d, DB_ST(d, LCC_DROP, SQL_N(s->row)), err) < 0 ||
	    fsm_put(d, s->machine, s->file, err) < 0 || counts_of(d, s->provider, &c, err) < 0)
		return -1;
	u->lcc = 0;
	u->is_dirty = true;
	c->files--;
	c->space -= s->size;
	d->stored--;
	fresh_count(c, u, q, true);
	return 0;
}

int db_fsm_add(struct db *d, struct str machine, struct str file, struct err *err)
{
	return DB_WORK(d, err, fsm_put(d, machine, file, err));
}

int gone_get(struct db *d, uint64_t id, struct gone *ret, struct err *err)
{
	int rc = row_get(d, DB_ST(d, GONE_GET, SQL_N(id)), &gone_kind, id, ret, err);
	if (rc == 0 && ret->state != DB_FAILED)
		ret->state = DB_REMOVED;
	return rc;
}

int gone_row_drop(struct db *d, struct url_row *u, struct err *err)
{
	uint64_t id = u->gone;
	if (!id)
		return 0;
	u->gone = 0;
	u->is_dirty = true;
	return db_run(d, DB_ST(d, GONE_DROP, SQL_N(id)), err);
}

int gone_put(struct db *d, struct url_row *u, const struct gone *g, struct err *err)
{
	if (gone_row_drop(d, u, err) < 0)
		return -1;
	struct sql_st *st =
		DB_ST(d, GONE_PUT, SQL_N(u->provider), SQL_N(u->hash), SQL_N(g->at_us),
		      SQL_N(g->state), SQL_N(g->code),
		      SQL_T(str_utf8_head(g->reason, DB_REASON_MAX)), SQL_T(g->c), SQL_T(g->mime));
	u->is_dirty = true;
	return db_number(d, st, &u->gone, err) == 0 ? 0 : -1;
}

int url_rows(struct db *d, const struct url_row *u, struct queued *q, struct stored *s,
	     struct err *err)
{
	if (u->row && queue_get(d, u->set, u->slot, u->row, q, err) < 0)
		return -1;
	return u->lcc ? lcc_get(d, u->lcc, s, err) : 0;
}

int url_is(struct db *d, const struct url_row *u, struct str c, struct str mime, struct queued *q,
	   struct stored *s, struct err *err)
{
	struct gone g;
	struct str has_c, has_mime;
	if (u->row && queue_along(d, u->set, u->slot, u->row, q, err) < 0)
		return -1;
	if (u->lcc && lcc_along(d, u->lcc, s, err) < 0)
		return -1;
	if (u->row || u->lcc) {
		const struct notice *n = u->row ? &q->notice : &s->notice;
		has_c = n->c;
		has_mime = n->mime;
	} else if (!u->gone) {
		return 1;
	} else {
		if (gone_get(d, u->gone, &g, err) < 0)
			return -1;
		has_c = g.c;
		has_mime = g.mime;
	}
	return str_eq(has_c, c) && str_eq(has_mime, mime) ? 0 : 1;
}

/* Those of equal hash: nearly always one. */
enum { EQUALS_MOST = 64 };
static int url_equals(struct db *d, uint64_t provider, int64_t hash,
		      struct url_row ret[EQUALS_MOST], size_t *ret_n, struct err *err)
{
	int rc;
	*ret_n = 0;
	struct sql_st *st = DB_ST(d, URL_GET, SQL_N(provider), SQL_N(hash));
	while ((rc = db_step(d, st, err)) == 0 && *ret_n < EQUALS_MOST)
		url_from(st, &ret[(*ret_n)++]);
	sql_reset(st);
	return rc < 0 ? rc : 0;
}

int url_find(struct db *d, uint64_t provider, int64_t hash, struct str c, struct str mime,
	     struct url_row *ret, struct err *err)
{
	struct url_row equal[EQUALS_MOST];
	struct queued q;
	struct stored s;
	size_t n;
	if (url_equals(d, provider, hash, equal, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int rc = url_is(d, &equal[i], c, mime, &q, &s, err);
		along_end(d);
		if (rc == 0)
			*ret = equal[i];
		if (rc <= 0)
			return rc;
	}
	return 1;
}

int url_by(struct db *d, uint64_t provider, int64_t hash, size_t member, uint64_t id,
	   struct url_row *ret, struct err *err)
{
	struct sql_st *st = DB_ST(d, URL_GET, SQL_N(provider), SQL_N(hash));
	uint64_t has;
	int rc;
	while ((rc = db_step(d, st, err)) == 0) {
		url_from(st, ret);
		memcpy(&has, (const char *)ret + member, sizeof has);
		if (has == id)
			break;
	}
	sql_reset(st);
	return rc;
}

int db_has_file(struct db *d, uint64_t provider, int64_t hash, struct str machine, struct str file,
		struct err *err)
{
	struct url_row equal[EQUALS_MOST];
	struct stored s;
	size_t n;
	if (url_equals(d, provider, hash, equal, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!equal[i].lcc)
			continue;
		if (lcc_get(d, equal[i].lcc, &s, err) < 0)
			return -1;
		if (str_eq(s.machine, machine) && str_eq(s.file, file))
			return 0;
	}
	return 1;
}

static int file_order(const void *a, const void *b)
{
	const struct db_file *x = a, *y = b;
	int c = str_cmp(x->file, y->file);
	return c ? c : str_cmp(x->machine, y->machine);
}

/* An index of all files would be written with each row, for a question that is asked when a botm
 * was killed. */
int db_find_files(struct db *d, struct db_file *file, size_t n, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_LCC_FILES);
	int rc;
	for (size_t i = 0; i < n; i++)
		*file[i].ret = false;
	qsort(file, n, sizeof *file, file_order);
	while ((rc = db_step(d, st, err)) == 0) {
		const struct db_file row = {.machine = sql_str(st, 0), .file = sql_str(st, 1)};
		struct db_file *found = bsearch(&row, file, n, sizeof *file, file_order);
		if (found)
			*found->ret = true;
	}
	/* the same file may have been asked for twice */
	for (size_t i = 1; i < n; i++)
		if (file_order(&file[i], &file[i - 1]) == 0)
			*file[i].ret |= *file[i - 1].ret;
	for (size_t i = n; i-- > 1;)
		if (file_order(&file[i], &file[i - 1]) == 0)
			*file[i - 1].ret |= *file[i].ret;
	return MIN(rc, 0);
}

int error_add(struct db *d, uint64_t provider, int64_t at_us, unsigned code, struct str reason,
	      struct str data, struct err *err)
{
	struct counts *c;
	if (counts_of(d, provider, &c, err) < 0)
		return -1;
	d->meta_dirty = true;
	c->errors++;
	if (db_run(d,
		   DB_ST(d, ERROR_ADD, SQL_N(provider), SQL_N(d->meta.next_error++), SQL_N(at_us),
			 SQL_N(code), SQL_T(str_utf8_head(reason, DB_REASON_MAX)), SQL_B(data)),
		   err) < 0)
		return -1;
	if (++c->errors_kept <= ERRORS_KEPT)
		return 0;
	c->errors_kept--;
	return db_run(d, DB_ST(d, ERROR_DROP, SQL_N(provider)), err);
}

int is_sent(struct db *d, uint64_t row, int64_t *ret_at_us, struct err *err)
{
	return db_number(d, DB_ST(d, SENT_GET, SQL_N(row)), (uint64_t *)ret_at_us, err);
}
