/* The rows: URLs by (provider, hash), the queue by (set, slot, row), LCC by row, and what is gone.
 * A URL's row says where the others are, so that a notice costs one search among the URLs of its
 * provider, and what it finds is near what was found for the notice before it. Anyone who changes
 * the queue or LCC changes the counts here, at the same place. */
#include "cache/db/db_inner.h"

enum {
	ERRORS_KEPT = 10000, /* of one provider */
	ALONG_MOST = 8,      /* rows that are passed over rather than searched for */
};

void url_from(struct sql_st *st, struct url_row *ret)
{
	*ret = (struct url_row){
		.provider = sql_u64(st, 0),
		.hash = sql_i64(st, 1),
		.n = sql_u64(st, 2),
		.set = sql_u64(st, 3),
		.slot = sql_i64(st, 4),
		.row = sql_u64(st, 5),
		.version = sql_u64(st, 6),
		.lcc = sql_u64(st, 7),
		.gone = sql_u64(st, 8),
		.age_us = sql_i64(st, 9),
		.seen = sql_u64(st, 10),
		.is_there = true,
	};
}

int url_save(struct db *d, struct url_row *u, struct err *err)
{
	bool keep = u->row || u->lcc || u->gone;
	struct sql_st *st = sql_st(d, keep ? SQL_URL_PUT : SQL_URL_DROP);
	if (!keep && !u->is_there)
		return 0;
	sql_bind(st, 1, (int64_t)u->provider);
	sql_bind(st, 2, u->hash);
	sql_bind(st, 3, (int64_t)u->n);
	if (keep) {
		sql_bind(st, 4, u->row ? (int64_t)u->set : 0);
		sql_bind(st, 5, u->row ? u->slot : 0);
		sql_bind(st, 6, (int64_t)u->row);
		sql_bind(st, 7, (int64_t)u->version);
		sql_bind(st, 8, (int64_t)u->lcc);
		sql_bind(st, 9, (int64_t)u->gone);
		sql_bind(st, 10, u->age_us);
		sql_bind(st, 11, (int64_t)u->seen);
	}
	u->is_there = keep;
	u->is_dirty = false;
	return db_run(d, st, err);
}

int notice_of(struct db *d, struct str data, struct notice *ret, struct err *err)
{
	struct reader r = reader_of(data);
	struct err why;
	int rc = notice_next(&r, ret, &why);
	if (rc == 0 && reader_left(&r) == 0)
		return 0;
	err_set(err, ERR_DAMAGED, "%s: a row's notice is damaged", d->sql.path);
	return err_then(err, "%s", d->sql.remedy);
}

static int row_lost(struct db *d, const char *table, uint64_t row, struct err *err)
{
	err_set(err, ERR_DAMAGED, "%s: row %llu of %s is not there", d->sql.path,
		(unsigned long long)row, table);
	return err_then(err, "%s", d->sql.remedy);
}

/* Texts of a row are bounded as they come in; a database that has longer ones is damaged. After
 * this the buffer has room for all of them, and does not move. */
static int texts_room(struct db *d, struct sql_st *st, struct buf *b, struct err *err)
{
	size_t all = 0;
	for (int i = 0; i < sql_columns(st); i++) {
		size_t n = sql_str(st, i).n;
		if (n > NOTICE_MOST)
			return err_set(err, ERR_DAMAGED, "%s: a row is too long; %s", d->sql.path,
				       d->sql.remedy);
		all += n;
	}
	buf_clear(b);
	ENSURE(buf_room(b, all + 1));
	return 0;
}

static struct str text_keep(struct buf *b, struct str s)
{
	size_t at = b->n;
	buf_add_str(b, s);
	return (struct str){s.n ? b->p + at : "", s.n};
}

int queue_from(struct db *d, struct sql_st *st, struct queued *ret, struct err *err)
{
	struct buf *b = &d->queue_text;
	struct queued q = {
		.set = sql_u64(st, 0),
		.slot = sql_i64(st, 1),
		.row = sql_u64(st, 2),
		.provider = sql_u64(st, 3),
		.tries = (unsigned)sql_u64(st, 4),
		.code = (unsigned)sql_u64(st, 5),
		.is_nothing = sql_i64(st, 6) != 0,
	};
	if (texts_room(d, st, b, err) < 0)
		return -1;
	q.reason = text_keep(b, sql_str(st, 7));
	q.data = text_keep(b, sql_str(st, 8));
	if (notice_of(d, q.data, &q.notice, err) < 0)
		return -1;
	*ret = q;
	return 0;
}

int queue_get(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct queued *ret,
	      struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_QUEUE_GET);
	sql_bind(st, 1, (int64_t)set);
	sql_bind(st, 2, slot);
	sql_bind(st, 3, (int64_t)row);
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc : row_lost(d, "the queue", row, err);
	rc = queue_from(d, st, ret, err);
	sql_reset(st);
	return rc;
}

int queue_along(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct queued *ret,
		struct err *err)
{
	struct along *a = &d->queue_on;
	struct sql_st *st = sql_st(d, SQL_QUEUE_ON);
	if (!a->is_open || a->set != set || a->slot != slot || row <= a->row ||
	    row > a->row + ALONG_MOST) {
		sql_reset(st);
		sql_bind(st, 1, (int64_t)set);
		sql_bind(st, 2, slot);
		sql_bind(st, 3, (int64_t)row);
	}
	int rc;
	while ((rc = db_step(d, st, err)) == 0 && sql_u64(st, 2) < row)
		;
	*a = (struct along){rc == 0, set, slot, rc == 0 ? sql_u64(st, 2) : 0};
	if (rc < 0)
		return rc;
	return rc == 1 || a->row != row ? row_lost(d, "the queue", row, err)
					: queue_from(d, st, ret, err);
}

static int queue_write(struct db *d, const struct queued *q, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_QUEUE_PUT);
	sql_bind(st, 1, (int64_t)q->set);
	sql_bind(st, 2, q->slot);
	sql_bind(st, 3, (int64_t)q->row);
	sql_bind(st, 4, (int64_t)q->provider);
	sql_bind(st, 5, q->tries);
	sql_bind(st, 6, q->code);
	sql_bind(st, 7, q->is_nothing);
	sql_bind_text(st, 8, q->reason);
	sql_bind_blob(st, 9, q->data);
	return db_run(d, st, err);
}

static int queue_erase(struct db *d, const struct queued *q, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_QUEUE_DROP);
	sql_bind(st, 1, (int64_t)q->set);
	sql_bind(st, 2, q->slot);
	sql_bind(st, 3, (int64_t)q->row);
	return db_run(d, st, err);
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

int lcc_from(struct db *d, struct sql_st *st, struct stored *ret, struct err *err)
{
	struct buf *b = &d->lcc_text;
	struct stored s = {
		.row = sql_u64(st, 0),
		.provider = sql_u64(st, 1),
		.hash = sql_i64(st, 2),
		.at_us = sql_i64(st, 3),
		.age_us = sql_i64(st, 4),
		.size = sql_u64(st, 9),
		.mtime_s = sql_i64(st, 10),
	};
	struct str sum = sql_str(st, 11);
	if (texts_room(d, st, b, err) < 0)
		return -1;
	s.machine = text_keep(b, str_head(sql_str(st, 5), DB_MACHINE_MAX));
	s.file = text_keep(b, str_head(sql_str(st, 6), DB_FILE_MAX));
	s.mime = text_keep(b, sql_str(st, 7));
	s.etag = text_keep(b, sql_str(st, 8));
	s.data = text_keep(b, sql_str(st, 12));
	s.has_md5 = sum.n == sizeof s.md5;
	if (s.has_md5)
		memcpy(s.md5, sum.p, sum.n);
	if (notice_of(d, s.data, &s.notice, err) < 0)
		return -1;
	*ret = s;
	return 0;
}

int lcc_get(struct db *d, uint64_t row, struct stored *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_LCC_GET);
	sql_bind(st, 1, (int64_t)row);
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc : row_lost(d, "LCC", row, err);
	rc = lcc_from(d, st, ret, err);
	sql_reset(st);
	return rc;
}

int lcc_along(struct db *d, uint64_t row, struct stored *ret, struct err *err)
{
	struct along *a = &d->lcc_on;
	struct sql_st *st = sql_st(d, SQL_LCC_ON);
	if (!a->is_open || row <= a->row || row > a->row + ALONG_MOST) {
		sql_reset(st);
		sql_bind(st, 1, (int64_t)row);
	}
	int rc;
	while ((rc = db_step(d, st, err)) == 0 && sql_u64(st, 0) < row)
		;
	*a = (struct along){.is_open = rc == 0, .row = rc == 0 ? sql_u64(st, 0) : 0};
	if (rc < 0)
		return rc;
	return rc == 1 || a->row != row ? row_lost(d, "LCC", row, err) : lcc_from(d, st, ret, err);
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
	sql_bind(st, 1, (int64_t)s->row);
	sql_bind(st, 2, (int64_t)s->provider);
	sql_bind(st, 3, s->hash);
	sql_bind(st, 4, s->at_us);
	sql_bind(st, 5, s->age_us);
	sql_bind_text(st, 6, s->machine);
	sql_bind_text(st, 7, s->file);
	sql_bind_text(st, 8, s->mime);
	sql_bind_text(st, 9, s->etag);
	sql_bind(st, 10, (int64_t)s->size);
	sql_bind(st, 11, s->mtime_s);
	sql_bind_blob(st, 12, (struct str){(const char *)s->md5, s->has_md5 ? sizeof s->md5 : 0});
	sql_bind_blob(st, 13, s->data);
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
	struct sql_st *st = sql_st(d, SQL_FSM_ADD);
	sql_bind_text(st, 1, machine);
	sql_bind_text(st, 2, file);
	return db_run(d, st, err);
}

int lcc_drop(struct db *d, struct url_row *u, const struct stored *s, const struct queued *q,
	     struct err *err)
{
	struct counts *c;
	struct sql_st *st = sql_st(d, SQL_LCC_DROP);
	sql_bind(st, 1, (int64_t)s->row);
	if (db_run(d, st, err) < 0 || fsm_put(d, s->machine, s->file, err) < 0 ||
	    counts_of(d, s->provider, &c, err) < 0)
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
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = fsm_put(d, machine, file, err);
	return work_end(d, rc, err);
}

int gone_from(struct db *d, struct sql_st *st, struct gone *ret, struct err *err)
{
	struct buf *b = &d->gone_text;
	struct gone g = {
		.id = sql_u64(st, 0),
		.provider = sql_u64(st, 1),
		.hash = sql_i64(st, 2),
		.at_us = sql_i64(st, 3),
		.state = sql_i64(st, 4) == DB_FAILED ? DB_FAILED : DB_REMOVED,
		.code = (unsigned)sql_u64(st, 5),
	};
	if (texts_room(d, st, b, err) < 0)
		return -1;
	g.reason = text_keep(b, str_head(sql_str(st, 6), DB_REASON_MAX));
	g.c = text_keep(b, str_head(sql_str(st, 7), NOTICE_URL_MAX));
	g.mime = text_keep(b, str_head(sql_str(st, 8), NOTICE_MIME_MAX));
	*ret = g;
	return 0;
}

int gone_get(struct db *d, uint64_t id, struct gone *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_GONE_GET);
	sql_bind(st, 1, (int64_t)id);
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc : row_lost(d, "what is gone", id, err);
	rc = gone_from(d, st, ret, err);
	sql_reset(st);
	return rc;
}

int gone_row_drop(struct db *d, struct url_row *u, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_GONE_DROP);
	if (!u->gone)
		return 0;
	sql_bind(st, 1, (int64_t)u->gone);
	u->gone = 0;
	u->is_dirty = true;
	return db_run(d, st, err);
}

int gone_put(struct db *d, struct url_row *u, const struct gone *g, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_GONE_PUT);
	if (gone_row_drop(d, u, err) < 0)
		return -1;
	sql_bind(st, 1, (int64_t)u->provider);
	sql_bind(st, 2, u->hash);
	sql_bind(st, 3, g->at_us);
	sql_bind(st, 4, g->state);
	sql_bind(st, 5, g->code);
	sql_bind_text(st, 6, str_utf8_head(g->reason, DB_REASON_MAX));
	sql_bind_text(st, 7, g->c);
	sql_bind_text(st, 8, g->mime);
	if (db_added(d, st, &u->gone, err) < 0)
		return -1;
	u->is_dirty = true;
	return 0;
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
	struct sql_st *st = sql_st(d, SQL_URL_GET);
	int rc;
	*ret_n = 0;
	sql_bind(st, 1, (int64_t)provider);
	sql_bind(st, 2, hash);
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

/* The one that has this number where it keeps such numbers. */
static int url_of(struct db *d, uint64_t provider, int64_t hash, size_t member, uint64_t id,
		  struct url_row *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_URL_GET);
	uint64_t has;
	int rc;
	sql_bind(st, 1, (int64_t)provider);
	sql_bind(st, 2, hash);
	while ((rc = db_step(d, st, err)) == 0) {
		url_from(st, ret);
		memcpy(&has, (const char *)ret + member, sizeof has);
		if (has == id)
			break;
	}
	sql_reset(st);
	return rc;
}

int url_of_row(struct db *d, uint64_t provider, int64_t hash, uint64_t row, struct url_row *ret,
	       struct err *err)
{
	return url_of(d, provider, hash, offsetof(struct url_row, row), row, ret, err);
}

int url_of_lcc(struct db *d, uint64_t provider, int64_t hash, uint64_t lcc, struct url_row *ret,
	       struct err *err)
{
	return url_of(d, provider, hash, offsetof(struct url_row, lcc), lcc, ret, err);
}

int url_of_gone(struct db *d, uint64_t provider, int64_t hash, uint64_t gone, struct url_row *ret,
		struct err *err)
{
	return url_of(d, provider, hash, offsetof(struct url_row, gone), gone, ret, err);
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

int error_add(struct db *d, uint64_t provider, int64_t at_us, unsigned code, struct str reason,
	      struct str data, struct err *err)
{
	struct counts *c;
	struct sql_st *st = sql_st(d, SQL_ERROR_ADD);
	if (counts_of(d, provider, &c, err) < 0)
		return -1;
	sql_bind(st, 1, (int64_t)provider);
	sql_bind(st, 2, (int64_t)d->meta.next_error++);
	sql_bind(st, 3, at_us);
	sql_bind(st, 4, code);
	sql_bind_text(st, 5, str_utf8_head(reason, DB_REASON_MAX));
	sql_bind_blob(st, 6, data);
	d->meta_dirty = true;
	c->errors++;
	if (db_run(d, st, err) < 0)
		return -1;
	if (++c->errors_kept <= ERRORS_KEPT)
		return 0;
	c->errors_kept--;
	st = sql_st(d, SQL_ERROR_DROP);
	sql_bind(st, 1, (int64_t)provider);
	return db_run(d, st, err);
}

int is_sent(struct db *d, uint64_t row, int64_t *ret_at_us, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_SENT_GET);
	sql_bind(st, 1, (int64_t)row);
	int rc = db_step(d, st, err);
	if (rc == 0) {
		*ret_at_us = sql_i64(st, 0);
		sql_reset(st);
	}
	return rc;
}
