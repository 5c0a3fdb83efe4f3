/* The cache's database: how it is opened, and its transactions. What is counted (tallies,
 * parts, the next numbers) is held in memory while a transaction lasts and written once, before it
 * is committed: a set of a million URLs would write the same few rows a million times. There is one
 * writer, so the counts in memory stay true from one transaction to the next.
 *
 * The log is moved into the database when it has more than LOG_PAGES pages, after a commit: it
 * bounds what the next start after a kill has to read. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "cache/db/db_inner.h"
#include "store/database_format.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	WRITER_KB = 128 << 10,
	READER_KB = 8 << 10,
	LOG_PAGES = 24 << 10,
	COUNTS_MOST = 1 << 16, /* tallies and parts that stay in memory */
	STEPS_MOST = 1 << 17,  /* notices that are absorbed in one transaction */
};
#define STEPS_MOST_US (5 * US_PER_S)

const char *const db_sql_text[DB_NSQL] = {
#define X(symbol, text) text,
	DB_SQL(X)
#undef X
};

static const char *const schema[] = {
	"CREATE TABLE meta(next_row INT,next_set INT,next_error INT,age INT,slot_us INT,period "
	"INT)",
	"INSERT INTO meta VALUES(1,1,1,0,0,0)",
	"CREATE TABLE url(provider INT,hash INT,n INT,qset INT,slot INT,row INT,version INT,lcc "
	"INT,"
	"gone INT,age INT,seen INT,PRIMARY KEY(provider,hash,n)) WITHOUT ROWID",
	"CREATE TABLE queue(qset INT,slot INT,row INT,provider INT,tries INT,code INT,is_nothing "
	"INT,"
	"reason TEXT,data BLOB,PRIMARY KEY(qset,slot,row)) WITHOUT ROWID",
	"CREATE TABLE part(qset INT,slot INT,start INT,provider INT,priority INT,first INT,last "
	"INT,"
	"rows INT,PRIMARY KEY(qset,slot)) WITHOUT ROWID",
	"CREATE TABLE lcc(row INTEGER PRIMARY KEY,provider INT,hash INT,at INT,age INT,machine "
	"TEXT,"
	"file TEXT,mime TEXT,etag TEXT,size INT,mtime INT,md5 BLOB,data BLOB)",
	"CREATE TABLE fsm(id INTEGER PRIMARY KEY AUTOINCREMENT,machine TEXT,file TEXT)",
	"CREATE INDEX fsm_machine ON fsm(machine)",
	"CREATE TABLE gone(id INTEGER PRIMARY KEY,provider INT,hash INT,at INT,state INT,code INT,"
	"reason TEXT,c TEXT,mime TEXT)",
	"CREATE TABLE sets(id INTEGER PRIMARY KEY AUTOINCREMENT,num INT,uns TEXT,number INT,"
	"provider INT,is_full INT,urls INT,at INT,pieces INT,state INT,piece_at INT,byte_at INT,"
	"walks INT,hash INT,n INT)",
	"CREATE UNIQUE INDEX sets_number ON sets(uns,number)",
	"CREATE UNIQUE INDEX sets_num ON sets(num) WHERE num>0",
	"CREATE INDEX sets_provider ON sets(provider,num)",
	"CREATE INDEX sets_state ON sets(state,at)",
	"CREATE TABLE piece(id INTEGER PRIMARY KEY,data BLOB)",
	"CREATE TABLE tally(provider INTEGER PRIMARY KEY,files INT,space INT,queued INT,fresh INT,"
	"fresh_space INT,errors INT,errors_kept INT,open_sets INT,fetches INT)",
	"CREATE TABLE error(provider INT,seq INT,at INT,code INT,reason TEXT,data BLOB,"
	"PRIMARY KEY(provider,seq)) WITHOUT ROWID",
	"CREATE TABLE fetched(provider INT,k INT,at INT,url TEXT,code INT,size INT,"
	"PRIMARY KEY(provider,k)) WITHOUT ROWID",
	"CREATE TABLE sent(row INTEGER PRIMARY KEY,at INT)",
	"CREATE TABLE mime(name TEXT PRIMARY KEY) WITHOUT ROWID",
	"CREATE TABLE held(provider INTEGER PRIMARY KEY,until INT,why TEXT)",
	NULL,
};

static const struct sql_kind kind = {
	.application_id = DATABASE_CACHE,
	.version = DATABASE_CACHE_VERSION,
	.schema = schema,
	.remedy = DATABASE_CACHE_REMEDY,
	.cache_kb = WRITER_KB,
	.busy_ms = 5000,
	.log_pages = LOG_PAGES,
};

#define META(member) COL(#member, struct meta, member)
static const struct column meta_columns[] = {META(next_row), META(next_set), META(next_error),
					     META(age_us),   META(slot_us),  META(period)};
static const struct rows meta_rows = {ROWS(struct meta, meta_columns)};

int meta_read(struct db *d, struct err *err)
{
	int rc = db_row_take(d, sql_st(d, SQL_META_GET), &meta_rows, &d->meta, err);
	if (rc)
		return rc < 0 ? rc : db_damaged(d, err, "its numbers are gone");
	d->meta_dirty = false;
	return 0;
}

int totals_read(struct db *d, struct err *err)
{
	static const struct column columns[] = {COL("queued", struct db, queued),
						COL("stored", struct db, stored)};
	static const struct rows totals = {ROWS(struct db, columns)};
	return db_row_take(d, sql_st(d, SQL_TALLY_SUM), &totals, d, err);
}

static int meta_write(struct db *d, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_META_PUT);
	if (!d->meta_dirty)
		return 0;
	sql_bind_row(st, &meta_rows, &d->meta);
	d->meta_dirty = false;
	return db_run(d, st, err);
}

int work_flush(struct db *d, struct err *err)
{
	if (!d->in_work)
		return 0;
	return counts_flush(d, err) < 0 || meta_write(d, err) < 0 ? -1 : 0;
}

/* Back to what is on disk; the failure that led here is the one that counts. */
static void work_undo(struct db *d)
{
	struct err ignored;
	along_end(d);
	for (size_t i = 0; i < d->sql.n; i++)
		sql_reset(d->sql.st[i]);
	sql_rollback(&d->sql);
	d->in_work = d->is_hard = false;
	counts_forget(d);
	mimes_clear(&d->mimes);
	if (meta_read(d, &ignored) < 0 || totals_read(d, &ignored) < 0)
		d->meta_dirty = false;
}

static int work_commit(struct db *d, struct err *err)
{
	if (work_flush(d, err) < 0)
		return -1;
	FAULT("cachedb.commit");
	if (sql_commit(&d->sql, err) < 0)
		return -1;
	d->in_work = d->is_hard = false;
	d->steps = 0;
	FAULT("cachedb.committed");
	if (tallies_count(&d->tallies) + parts_count(&d->parts) > COUNTS_MOST)
		counts_forget(d);
	return 0;
}

int work_begin_soft(struct db *d, struct err *err)
{
	ENSURE(d->is_writer);
	if (d->has_failed) {
		*err = d->failure;
		return -1;
	}
	if (d->is_group || d->in_work)
		return 0;
	if (sql_begin(&d->sql, SQL_DURABLE, err) < 0)
		return -1;
	d->in_work = true;
	d->steps = 0;
	d->since_us = clock_mono_us();
	return 0;
}

int work_begin(struct db *d, struct err *err)
{
	d->is_hard = true;
	return work_begin_soft(d, err);
}

/* Steps of absorbing that nobody waits for stay in the transaction, and what comes next is part of
 * it: a page that each of them changes is then written once. A kill or a failure takes them back,
 * and they are done again. */
/* Where there are no such steps, nothing is left open: it would keep the log from being moved. */
static int work_settle(struct db *d, struct err *err)
{
	bool later = !d->is_hard && d->steps > 0 && d->steps < STEPS_MOST &&
		     clock_mono_us() - d->since_us < STEPS_MOST_US;
	return later ? 0 : work_commit(d, err);
}

int work_end(struct db *d, int rc, struct err *err)
{
	if (rc >= 0 && !d->is_group && d->in_work && work_settle(d, err) < 0)
		rc = -1;
	if (rc >= 0)
		return rc;
	if (d->is_group && !d->has_failed) {
		d->has_failed = true;
		d->failure = *err;
	} else if (!d->is_group) {
		work_undo(d);
	}
	return rc;
}

int snapshot_begin(struct db *d, struct err *err)
{
	return d->is_writer ? 0 : sql_begin(&d->sql, SQL_SNAPSHOT, err);
}

void snapshot_end(struct db *d)
{
	if (!d->is_writer)
		sql_rollback(&d->sql);
}

int db_begin(struct db *d, struct err *err)
{
	ENSURE(!d->is_group);
	int rc = work_begin_soft(d, err);
	d->is_group = rc == 0;
	return rc;
}

int db_commit(struct db *d, struct err *err)
{
	ENSURE(d->is_group);
	bool failed = d->has_failed;
	if (failed)
		*err = d->failure;
	d->is_group = d->has_failed = false;
	return work_end(d, failed ? -1 : 0, err);
}

int db_damaged(const struct db *d, struct err *err, const char *fmt, ...)
{
	char what[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	err_set(err, ERR_DAMAGED, "%s: %s", d->sql.path, what);
	return err_then(err, "%s", d->sql.remedy);
}

uint64_t work_row(struct db *d)
{
	d->meta_dirty = true;
	return d->meta.next_row++;
}

int db_age_get(struct db *d, int64_t *ret_us, struct err *err)
{
	if (!d->is_writer && meta_read(d, err) < 0)
		return -1;
	*ret_us = d->meta.age_us;
	return 0;
}

int db_age_put(struct db *d, int64_t us, struct err *err)
{
	int rc = work_begin_soft(d, err);
	if (rc == 0) {
		d->meta.age_us = us;
		d->meta_dirty = true;
	}
	return work_end(d, rc, err);
}

int db_rows(struct db *d, uint64_t *ret_queued, uint64_t *ret_stored, struct err *err)
{
	if (!d->is_writer && totals_read(d, err) < 0)
		return -1;
	*ret_queued = d->queued;
	*ret_stored = d->stored;
	return 0;
}

void db_close(struct db **db)
{
	struct db *d = *db;
	struct err ignored; /* steps that are not kept are done again */
	if (!d)
		return;
	if (d->in_work && !d->is_group)
		(void)work_commit(d, &ignored);
	sql_close(&d->sql);
	lock_free(&d->lock);
	tallies_free(&d->tallies);
	parts_free(&d->parts);
	mimes_free(&d->mimes);
	buf_free(&d->queue_text);
	buf_free(&d->lcc_text);
	buf_free(&d->gone_text);
	buf_free(&d->data);
	mem_free(db);
}

/* What was being fetched when the last writer ended: nobody knows of it any more. */
static int writer_ready(struct db *d, struct err *err)
{
	if (meta_read(d, err) < 0 || totals_read(d, err) < 0)
		return -1;
	return DB_WORK(d, err, db_run(d, sql_st(d, SQL_SENT_CLEAR), err));
}

static int db_open_file(struct db *d, const char *folder, enum db_mode mode, struct err *err)
{
	char path[PATH_MAX];
	struct sql_kind opens = kind;
	if (file_below(folder, "cache.db", path, err) < 0)
		return -1;
	if (mode == DB_READ)
		opens.cache_kb = READER_KB;
	if (mode == DB_WRITE &&
	    (dir_make(folder, DIR_MODE, err) < 0 || lock_take(&d->lock, folder, err) < 0))
		return -1;
	int rc = sql_open(&d->sql, path, &opens, mode == DB_WRITE ? SQL_WRITE : SQL_READ, err);
	if (rc == 0)
		rc = sql_prepare(&d->sql, db_sql_text, DB_NSQL, err);
	if (rc == 0 && mode == DB_WRITE)
		rc = writer_ready(d, err);
	return rc;
}

bool db_is_moved(struct db *d)
{
	return sql_is_moved(&d->sql);
}

int db_open(struct db **ret, const char *folder, enum db_mode mode, struct err *err)
{
	struct db *d = mem_alloc(sizeof *d);
	d->is_writer = mode == DB_WRITE;
	d->lock.file = FILE_INIT;
	d->hash = notice_hash;
	d->queue_text = d->lcc_text = d->gone_text = d->data =
		BUF_INIT(NOTICE_PIECE + 4 * NOTICE_MOST);
	int rc = db_open_file(d, folder, mode, err);
	if (rc) {
		db_close(&d);
		return rc;
	}
	*ret = d;
	return 0;
}
