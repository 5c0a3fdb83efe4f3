/* The queue as the queue manager works on it: parts, rows in their order, what became of a fetch. A
 * row that has left the queue, or was notified again while it was out, makes an answer void: its
 * file is not kept, since nobody may say that it has what the provider means now. */
#include "base/fault.h"
#include "cache/db/db_inner.h"

int db_parts(struct db *d, void (*each)(void *ctx, const struct db_part *part), void *ctx,
	     struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_PART_ALL);
	struct db_part part;
	int rc = work_flush(d, err);
	while (rc == 0 && (rc = db_step(d, st, err)) == 0) {
		part_from(st, &part);
		each(ctx, &part);
	}
	return rc < 0 ? rc : 0;
}

int db_part(struct db *d, uint64_t set, int64_t slot, struct db_part *ret, struct err *err)
{
	struct part_count *p;
	if (!d->is_writer)
		parts_clear(&d->parts);
	if (part_of(d, set, slot, &p, err) < 0)
		return -1;
	if (p->part.rows == 0)
		return 1;
	*ret = p->part;
	return 0;
}

/* Whether the provider says that it is another content. Then the server is not asked whether it is
 * the same: its times are of whole seconds, and one that changed within the second of the last
 * fetch would count as unchanged, with another sum than was said. */
static bool says_other(const struct notice *n, const struct stored *s)
{
	return (n->has & NOTICE_HAS_SIZE && n->size != s->size) ||
	       (n->has & NOTICE_HAS_MD5 && s->has_md5 &&
		memcmp(n->md5, s->md5, sizeof n->md5) != 0);
}

static int row_next(struct db *d, uint64_t set, int64_t slot, uint64_t after_row,
		    struct arena *arena, struct db_row *ret, struct err *err)
{
	struct queued q;
	struct stored s;
	struct url_row u;
	struct sql_st *st = DB_ST(d, QUEUE_NEXT, SQL_N(set), SQL_N(slot), SQL_N(after_row));
	int rc = db_step(d, st, err);
	if (rc)
		return rc;
	rc = queue_from(d, st, &q, err);
	sql_reset(st);
	if (rc < 0)
		return rc;
	int64_t hash = d->hash(q.notice.c, q.notice.mime);
	rc = URL_BY(d, q.provider, hash, row, q.row, &u, err);
	if (rc)
		return rc < 0 ? rc
			      : db_damaged(d, err, "row %llu of the queue has no URL",
					   (unsigned long long)q.row);
	*ret = (struct db_row){.row = q.row,
			       .provider = q.provider,
			       .set = q.set,
			       .slot = q.slot,
			       .hash = hash,
			       .version = u.version,
			       .tries = q.tries,
			       .is_nothing = q.is_nothing,
			       .notice = notice_copy(&q.notice, arena),
			       .etag = STR("")};
	if (u.lcc) {
		if (lcc_get(d, u.lcc, &s, err) < 0)
			return -1;
		if (says_other(&ret->notice, &s))
			return 0;
		ret->etag = arena_str(arena, s.etag);
		ret->since_s = s.mtime_s;
	}
	return 0;
}

int db_next(struct db *d, uint64_t set, int64_t slot, uint64_t after_row, struct arena *arena,
	    struct db_row *ret, struct err *err)
{
	int rc = snapshot_begin(d, err);
	if (rc == 0)
		rc = row_next(d, set, slot, after_row, arena, ret, err);
	snapshot_end(d);
	return rc;
}

int db_sent(struct db *d, const struct db_row *row, size_t n, int64_t now_us, struct err *err)
{
	int rc = work_begin(d, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = db_run(d, DB_ST(d, SENT_PUT, SQL_N(row[i].row), SQL_N(now_us)), err);
	return work_end(d, rc, err);
}

static int fetch_note(struct db *d, const struct db_done *done, const struct queued *q,
		      int64_t now_us, struct err *err)
{
	struct counts *c;
	bool good = done->end == DB_END_STORED || done->end == DB_END_UNCHANGED;
	if (counts_of(d, q->provider, &c, err) < 0)
		return -1;
	struct sql_st *st = DB_ST(
		d, FETCH_PUT, SQL_N(q->provider), SQL_N(c->fetches++ % DB_FETCHES), SQL_N(now_us),
		SQL_T(notice_fetch(&q->notice)), SQL_N(good ? done->ret_code : done->code),
		SQL_N(done->end == DB_END_STORED ? done->size : 0));
	return db_run(d, st, err);
}

int url_row_fail(struct db *d, struct url_row *u, const struct queued *q, const struct stored *s,
		 struct str data, const struct gone *why, struct err *err)
{
	if (error_add(d, u->provider, why->at_us, why->code, why->reason, data, err) < 0 ||
	    gone_put(d, u, why, err) < 0)
		return -1;
	return u->lcc ? lcc_drop(d, u, s, q, err) : 0;
}

static int row_failed(struct db *d, struct url_row *u, const struct queued *q,
		      const struct stored *s, unsigned code, struct str reason, int64_t now_us,
		      struct err *err)
{
	struct gone why = {.at_us = now_us,
			   .state = DB_FAILED,
			   .code = code,
			   .reason = reason,
			   .c = q->notice.c,
			   .mime = q->notice.mime};
	if (url_row_fail(d, u, q, s, q->data, &why, err) < 0)
		return -1;
	return queue_drop(d, u, q, err);
}

/* Whether what was fetched is not taken: done->ret_code says so. */
static int done_judge(struct db *d, struct db_done *done, const struct url_row *u,
		      const struct queued *q, const struct stored *s, struct str *ret_reason,
		      struct err *err)
{
	struct counts c = {0};
	const struct notice *n = &q->notice;
	bool has_sum = done->end == DB_END_STORED ? done->has_md5 : s->has_md5;
	const unsigned char *sum = done->end == DB_END_STORED ? done->md5 : s->md5;
	struct str mime = done->end == DB_END_STORED ? done->mime : STR("");
	if (mime.n && !str_eq_nocase(mime, n->mime)) {
		done->ret_code = CACHE_WRONG_MIME;
		*ret_reason = str_of(cache_code_text(CACHE_WRONG_MIME));
		return 0;
	}
	if (n->has & NOTICE_HAS_MD5 && has_sum && memcmp(sum, n->md5, sizeof n->md5) != 0) {
		done->ret_code = CACHE_WRONG_MD5;
		*ret_reason = str_of(cache_code_text(CACHE_WRONG_MD5));
		return 0;
	}
	if (done->end != DB_END_STORED)
		return 0;
	if (counts_read(d, q->provider, &c, err) < 0)
		return -1;
	uint64_t others = c.space - (u->lcc ? s->size : 0);
	if (done->size > done->quota_space || others > done->quota_space - done->size) {
		done->ret_code = CACHE_QUOTA;
		*ret_reason = STR("over the quota of space");
	}
	return 0;
}

static int row_stored(struct db *d, struct url_row *u, const struct queued *q,
		      const struct stored *old, const struct db_done *done, int64_t now_us,
		      int64_t age_us, struct err *err)
{
	struct stored s = {
		.row = q->row,
		.provider = q->provider,
		.hash = u->hash,
		.at_us = now_us,
		.age_us = age_us,
		.machine = done->machine,
		.file = done->file,
		.mime = done->mime,
		.etag = done->etag,
		.size = done->size,
		.mtime_s = done->mtime_s,
		.has_md5 = done->has_md5,
		.data = q->data,
	};
	memcpy(s.md5, done->md5, sizeof s.md5);
	if (u->lcc && lcc_drop(d, u, old, q, err) < 0)
		return -1;
	return lcc_put(d, u, &s, q, err) < 0 || queue_drop(d, u, q, err) < 0 ? -1 : 0;
}

/* What the newest notice does not give, an earlier one of the same content has given. */
static void sums_keep(struct notice *n, const struct notice *was)
{
	if (!(n->has & NOTICE_HAS_MTIME))
		n->mtime_s = was->mtime_s;
	if (!(n->has & NOTICE_HAS_SIZE))
		n->size = was->size;
	if (!(n->has & NOTICE_HAS_MD5))
		memcpy(n->md5, was->md5, sizeof n->md5);
	n->has |= was->has & (NOTICE_HAS_MTIME | NOTICE_HAS_SIZE | NOTICE_HAS_MD5);
}

int lcc_confirm(struct db *d, const struct stored *s, const struct notice *n, struct str data,
		struct err *err)
{
	struct notice newest = *n;
	if (str_eq(data, s->data))
		return 0;
	sums_keep(&newest, &s->notice);
	buf_clear(&d->data);
	notice_write(&newest, &d->data);
	if (str_eq(buf_str(&d->data), s->data))
		return 0;
	return db_run(d, DB_ST(d, LCC_DATA, SQL_N(s->row), SQL_B(buf_str(&d->data))), err);
}

/* The stored copy is good: the provider's word for it is the newest one. */
static int row_unchanged(struct db *d, struct url_row *u, const struct queued *q,
			 const struct stored *s, int64_t age_us, struct err *err)
{
	u->age_us = age_us;
	u->is_dirty = true;
	if (lcc_confirm(d, s, &q->notice, q->data, err) < 0)
		return -1;
	return queue_drop(d, u, q, err);
}

static int row_retry(struct db *d, struct url_row *u, const struct queued *q,
		     const struct db_done *done, struct err *err)
{
	struct queued later = *q;
	later.tries++;
	later.code = done->code;
	later.reason = str_utf8_head(done->reason, DB_REASON_MAX);
	if (q->slot != DB_BAD)
		return queue_move(d, u, &later, DB_BAD, err);
	return queue_change(d, u, q, &later, err);
}

/* It stays where it is; an error of the site is what its receipt says that it waits for. */
static int row_put_back(struct db *d, struct url_row *u, const struct queued *q,
			const struct db_done *done, struct err *err)
{
	struct queued back = *q;
	if (!done->code)
		return 0;
	back.code = done->code;
	back.reason = str_utf8_head(done->reason, DB_REASON_MAX);
	return queue_change(d, u, q, &back, err);
}

static int row_ended(struct db *d, struct url_row *u, const struct queued *q,
		     const struct stored *s, struct db_done *done, int64_t now_us, int64_t age_us,
		     struct err *err)
{
	struct str reason = done->reason;
	switch (done->end) {
	case DB_END_STORED:
	case DB_END_UNCHANGED:
		if (done->end == DB_END_UNCHANGED && !u->lcc) {
			done->ret_again = true;
			return 0;
		}
		if (done_judge(d, done, u, q, s, &reason, err) < 0)
			return -1;
		if (done->ret_code)
			return row_failed(d, u, q, s, done->ret_code, reason, now_us, err);
		done->ret_kept = done->end == DB_END_STORED;
		return done->ret_kept ? row_stored(d, u, q, s, done, now_us, age_us, err)
				      : row_unchanged(d, u, q, s, age_us, err);
	case DB_END_RETRY:
		done->ret_again = true;
		return row_retry(d, u, q, done, err);
	case DB_END_FAILED:
		return row_failed(d, u, q, s, done->code, reason, now_us, err);
	case DB_END_PUT_BACK:
	case DB_ENDS:
		break;
	}
	done->ret_again = true;
	return row_put_back(d, u, q, done, err);
}

static int row_done(struct db *d, struct db_done *done, int64_t now_us, int64_t age_us,
		    struct err *err)
{
	struct url_row u;
	struct queued q;
	struct stored s;
	done->ret_kept = done->ret_again = false;
	done->ret_code = 0;
	int rc = URL_BY(d, done->provider, done->hash, row, done->row, &u, err);
	if (rc < 0 || db_run(d, DB_ST(d, SENT_DROP, SQL_N(done->row)), err) < 0)
		return -1;
	if (rc == 1) {
		/* An answer that came once more. */
		rc = done->end == DB_END_STORED ? db_has_file(d, done->provider, done->hash,
							      done->machine, done->file, err)
						: 1;
		done->ret_kept = rc == 0;
		return rc < 0 ? rc : 0;
	}
	if (url_rows(d, &u, &q, &s, err) < 0)
		return -1;
	if (q.is_nothing)
		rc = queue_drop(d, &u, &q, err);
	else if (done->version != u.version)
		done->ret_again = true;
	else
		rc = row_ended(d, &u, &q, &s, done, now_us, age_us, err);
	if (rc == 0 && (done->end != DB_END_PUT_BACK || done->code) && done->version == u.version)
		rc = fetch_note(d, done, &q, now_us, err);
	if (rc == 0 && u.is_dirty)
		rc = url_save(d, &u, err);
	return rc;
}

int db_done(struct db *d, struct db_done *done, size_t n, int64_t now_us, int64_t age_us,
	    struct err *err)
{
	int rc = work_begin(d, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = row_done(d, &done[i], now_us, age_us, err);
	FAULT("cachedb.done");
	return work_end(d, rc, err);
}

static int row_moved(struct db *d, const struct db_row *row, int64_t slot, struct err *err)
{
	struct url_row u;
	struct queued q;
	int rc = URL_BY(d, row->provider, row->hash, row, row->row, &u, err);
	if (rc || u.slot == slot)
		return rc < 0 ? rc : 0;
	if (queue_get(d, u.set, u.slot, u.row, &q, err) < 0 || queue_move(d, &u, &q, slot, err) < 0)
		return -1;
	return url_save(d, &u, err);
}

int db_move(struct db *d, const struct db_row *row, size_t n, int64_t slot, struct err *err)
{
	int rc = work_begin(d, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = row_moved(d, &row[i], slot, err);
	return work_end(d, rc, err);
}

static int part_start(struct db *d, uint64_t set, int64_t slot, int64_t start, struct err *err)
{
	struct part_count *p;
	if (part_of(d, set, slot, &p, err) < 0)
		return -1;
	p->part.start = start;
	p->is_dirty |= p->part.rows > 0; /* an empty one may still have to go */
	return 0;
}

int db_start(struct db *d, uint64_t set, int64_t slot, int64_t start, struct err *err)
{
	return DB_WORK(d, err, part_start(d, set, slot, start, err));
}

/* A statement that changes many parts; those in memory are read again. */
static int parts_change(struct db *d, struct sql_st *st, struct err *err)
{
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = work_flush(d, err);
	if (rc == 0) {
		rc = db_run(d, st, err);
		parts_clear(&d->parts);
	}
	return work_end(d, rc, err);
}

int db_due(struct db *d, int64_t start, struct err *err)
{
	return parts_change(d, DB_ST(d, PART_DUE, SQL_N(start)), err);
}

int db_priority(struct db *d, uint64_t provider, int64_t priority, struct err *err)
{
	return parts_change(d, DB_ST(d, PART_PRIORITY, SQL_N(provider), SQL_N(priority)), err);
}

/* Who is told of a file has it deleted: so what made that necessary is durable with the commit,
 * also where it was a step of absorbing. */
int db_fsm_next(struct db *d, uint64_t after, struct str machine, uint64_t *ret_id,
		char ret_machine[DB_MACHINE_MAX + 1], char ret_file[DB_FILE_MAX + 1],
		struct err *err)
{
	struct sql_st *st = machine.n ? DB_ST(d, FSM_OF, SQL_N(after), SQL_T(machine))
				      : DB_ST(d, FSM_NEXT, SQL_N(after));
	int rc = db_step(d, st, err);
	if (rc)
		return rc;
	d->is_hard = d->is_hard || d->in_work;
	struct str on = str_head(sql_str(st, 1), DB_MACHINE_MAX);
	struct str file = str_head(sql_str(st, 2), DB_FILE_MAX);
	*ret_id = sql_u64(st, 0);
	memcpy(ret_machine, on.p, on.n);
	ret_machine[on.n] = 0;
	memcpy(ret_file, file.p, file.n);
	ret_file[file.n] = 0;
	sql_reset(st);
	return 0;
}

int db_fsm_done(struct db *d, const uint64_t *id, size_t n, struct err *err)
{
	int rc = work_begin(d, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = db_run(d, DB_ST(d, FSM_DROP, SQL_N(id[i])), err);
	return work_end(d, rc, err);
}
