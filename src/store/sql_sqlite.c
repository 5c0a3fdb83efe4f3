/* Statements in SQLite: a write-ahead log, every commit synced. What is said when a statement fails
 * depends on SQLite's code alone: what cannot be read is damage, what the system refused is not. A
 * database is ours by application_id and user_version, which are in its first page: a file of
 * somebody else's is never written. Several processes may open a new one at once: one of them makes
 * it, the others wait and find it made. */
#include "base/fault.h"
#include "base/file.h"
#include "base/text.h"
#include "store/sql_driver_inner.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

enum { SAID_MOST = 2000 }; /* bytes of what SQLite says */

struct lite {
	sqlite3 *h;
	int log_pages, in_log; /* when the log is moved; what the last commit left in it */
	bool is_loose;         /* commits are not synced now */
};

struct lite_st {
	struct sql_st st;
	sqlite3_stmt *h;
};

static sqlite3 *lite_of(const struct sql *s)
{
	return ((const struct lite *)s->h)->h;
}

static sqlite3_stmt *lite_st(const struct sql_st *st)
{
	return ((const struct lite_st *)st)->h;
}

static int damage_set(const struct sql *s, struct err *err)
{
	err->code = ERR_DAMAGED;
	return s->remedy ? err_then(err, "%s", s->remedy) : -1;
}

/* One line of what SQLite says, which may quote bytes of the file. */
static void put_said(struct buf *out, struct str said)
{
	struct str line;
	while (str_cut(&said, '\n', &line) == 0) {
		if (out->n)
			buf_add_byte(out, ' ');
		put_safe(out, line);
	}
}

static int lite_fail(const struct sql *s, struct err *err)
{
	sqlite3 *h = lite_of(s);
	int rc = h ? sqlite3_extended_errcode(h) : SQLITE_NOMEM;
	CLEANUP(buf_free) struct buf said = BUF_INIT(SAID_MOST);
	put_said(&said, str_of(sqlite3_errmsg(h)));
	const char *text = buf_text(&said);
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		die("%s: out of memory", s->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, ERR_BUSY, "%s: another process holds it: %s", s->path, text);
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		err_set(err, ERR_SYSTEM, "%s: %s (%d)", s->path, text, rc);
		err->sys_errno = (rc & 0xff) == SQLITE_FULL ? ENOSPC : sqlite3_system_errno(h);
		return -1;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
		err_set(err, ERR_DAMAGED, "%s: %s", s->path, text);
		return damage_set(s, err);
	default:
		err_set(err, ERR_DAMAGED, "%s: %s (%d)", s->path, text, rc);
		return damage_set(s, err);
	}
}

static int lite_exec(const struct sql *s, const char *text, struct err *err)
{
	return sqlite3_exec(lite_of(s), text, NULL, NULL, NULL) == SQLITE_OK ? 0
									     : lite_fail(s, err);
}

static int lite_pragma(const struct sql *s, const char *text, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(lite_of(s), text, -1, &st, NULL) != SQLITE_OK)
		return lite_fail(s, err);
	int rc = sqlite3_step(st) == SQLITE_ROW ? 0 : lite_fail(s, err);
	if (rc == 0)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc;
}

/* Whether it is ours. 1: it is nobody's, being empty. */
static int lite_whose(struct sql *s, const struct sql_kind *kind, struct err *err)
{
	int64_t id = 0, version = 0, objects = 0;
	if (lite_pragma(s, "PRAGMA application_id", &id, err) < 0 ||
	    lite_pragma(s, "PRAGMA user_version", &version, err) < 0 ||
	    lite_pragma(s, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
		return -1;
	if (id == 0 && version == 0 && objects == 0)
		return 1;
	s->application_id = (int)id;
	s->version = (int)version;
	if (kind->application_id == 0)
		return 0;
	if (id != kind->application_id)
		return err_set(err, ERR_DAMAGED,
			       "%s: a database, but not one of ours; move it away", s->path);
	if (!sql_version_is_likely(version, kind->version)) {
		err_set(err, ERR_DAMAGED, "%s: its version is %lld, expected %d", s->path,
			(long long)version, kind->version);
		return damage_set(s, err);
	}
	if (version != kind->version)
		return err_set(err, ERR_USAGE,
			       "%s: another version of garner made it: version %lld, this program "
			       "knows version %d; use the garner that made it",
			       s->path, (long long)version, kind->version);
	return 0;
}

/* The two bytes of the head that say whether there is a log and whether the file may be written.
 * integrity_check does not look at them, and SQLite would refuse each write without calling it
 * damage. A copy that SQLite made may be without a log. */
static int lite_head(const struct sql *s, struct err *err)
{
	enum { AT = 18, NO_LOG = 1, LOG = 2 };
	sqlite3_file *f = NULL;
	uint8_t v[2];
	if (sqlite3_file_control(lite_of(s), NULL, SQLITE_FCNTL_FILE_POINTER, &f) != SQLITE_OK ||
	    !f->pMethods || f->pMethods->xRead(f, v, sizeof v, AT) != SQLITE_OK)
		return 0; /* too short, which lite_whole() finds */
	if (v[0] == v[1] && (v[0] == LOG || v[0] == NO_LOG))
		return 0;
	err_set(err, ERR_DAMAGED, "%s: bytes %d and %d are %d and %d, expected %d and %d", s->path,
		AT, AT + 1, v[0], v[1], LOG, LOG);
	return damage_set(s, err);
}

static int lite_fill(const struct sql *s, const struct sql_kind *kind, struct err *err)
{
	char text[128];
	for (size_t i = 0; kind->schema[i]; i++)
		if (lite_exec(s, kind->schema[i], err) < 0)
			return -1;
	snprintf(text, sizeof text, "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 kind->application_id, kind->version);
	return lite_exec(s, text, err);
}

static void lite_rollback(const struct sql *s)
{
	if (!sqlite3_get_autocommit(lite_of(s)))
		(void)sqlite3_exec(lite_of(s), "ROLLBACK", NULL, NULL, NULL);
}

/* What was empty becomes ours, unless another process was first. */
static int lite_make(struct sql *s, const struct sql_kind *kind, struct err *err)
{
	if (lite_exec(s, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	int rc = lite_whose(s, kind, err);
	if (rc == 1)
		rc = lite_fill(s, kind, err);
	if (rc == 0)
		rc = lite_exec(s, "COMMIT", err);
	if (rc < 0)
		lite_rollback(s);
	return rc;
}

/* A file that was cut is found here, and not only when a page past its end is wanted. What is in
 * the log alone may be past the end; so the log is looked at after the number of pages was read,
 * which another process may just have made more. */
static int lite_whole(const struct sql *s, struct err *err)
{
	struct stat st;
	int64_t pages = 0, size = 0;
	CLEANUP(buf_free) struct buf wal = BUF_INIT(PATH_MAX);
	if (lite_pragma(s, "PRAGMA page_count", &pages, err) < 0 ||
	    lite_pragma(s, "PRAGMA page_size", &size, err) < 0)
		return -1;
	buf_printf(&wal, "%s-wal", s->path);
	if (stat(buf_text(&wal), &st) == 0 && st.st_size > 0)
		return 0;
	if (stat(s->path, &st) == 0 && st.st_size < pages * size) {
		err_set(err, ERR_DAMAGED, "%s: cut off: %lld bytes, expected %lld", s->path,
			(long long)st.st_size, (long long)(pages * size));
		return damage_set(s, err);
	}
	return 0;
}

static int lite_logged(void *ctx, sqlite3 *h, const char *name, int pages)
{
	struct lite *l = ctx;
	(void)h;
	(void)name;
	l->in_log = pages;
	return SQLITE_OK;
}

static int lite_settings(const struct sql *s, const struct sql_kind *kind, enum sql_mode mode,
			 struct err *err)
{
	struct lite *l = s->h;
	char text[256];
	sqlite3_busy_timeout(l->h, kind->busy_ms);
	sqlite3_extended_result_codes(l->h, 1);
	/* a schema that is read in part is better than none */
	sqlite3_db_config(l->h, SQLITE_DBCONFIG_DEFENSIVE, mode != SQL_RESCUE, NULL);
	if (mode == SQL_RESCUE && lite_exec(s, "PRAGMA writable_schema=1", err) < 0)
		return -1;
	sqlite3_db_config(l->h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* ours have none of these; a foreign schema would have us work without an end */
	sqlite3_db_config(l->h, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(l->h, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(l->h, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 0);
	if (kind->value_most)
		sqlite3_limit(l->h, SQLITE_LIMIT_LENGTH, kind->value_most);
	snprintf(text, sizeof text, "PRAGMA cache_size=-%d; PRAGMA temp_store=memory%s",
		 kind->cache_kb, kind->is_secret ? "; PRAGMA secure_delete=on" : "");
	if (lite_exec(s, text, err) < 0)
		return -1;
	if (mode == SQL_WRITE) {
		l->log_pages = kind->log_pages;
		if (l->log_pages)
			sqlite3_wal_hook(l->h, lite_logged, l);
		return 0;
	}
	sqlite3_db_config(l->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
			  !kind->is_tidy || mode == SQL_RESCUE, NULL);
	return lite_exec(s, "PRAGMA query_only=1", err);
}

static int lite_logs(const struct sql *s, const struct sql_kind *kind, struct err *err)
{
	/* Two that do it at once to a new file exclude each other without the timeout. */
	for (int waited_ms = 0; lite_exec(s, "PRAGMA journal_mode=wal", err) < 0; waited_ms += 10) {
		if (err->code != ERR_BUSY || waited_ms >= kind->busy_ms)
			return -1;
		sqlite3_sleep(10);
	}
	return lite_exec(s, "PRAGMA synchronous=full", err);
}

/* Whether it is ours; for SQL_WRITE it is made ours, and readied. */
static int lite_claim(struct sql *s, const struct sql_kind *kind, enum sql_mode mode,
		      struct err *err)
{
	/* in one transaction: another process may be making it just now */
	if (lite_exec(s, "BEGIN", err) < 0)
		return -1;
	int rc = lite_whose(s, kind, err);
	if (rc == 0)
		rc = lite_head(s, err);
	(void)sqlite3_exec(lite_of(s), "COMMIT", NULL, NULL, NULL);
	if (rc < 0 || mode == SQL_READ)
		return rc;
	if (lite_logs(s, kind, err) < 0)
		return -1;
	return rc == 1 ? lite_make(s, kind, err) : 0;
}

static int lite_open(struct sql *s, const struct sql_kind *kind, enum sql_mode mode,
		     struct err *err)
{
	struct stat st;
	struct lite *l = s->h = mem_alloc(sizeof *l);
	/* Each allocation would take a lock for figures that nobody reads. It is too late where a
	 * database is open already, and that is fine, too. */
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
	if (mode == SQL_READ && stat(s->path, &st) < 0 && errno == ENOENT)
		return 1;
	if (mode == SQL_READ && access(s->path, W_OK) < 0)
		flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY;
	if (sqlite3_open_v2(s->path, &l->h, flags | (mode == SQL_WRITE ? SQLITE_OPEN_CREATE : 0),
			    NULL) != SQLITE_OK)
		return lite_fail(s, err);
	int rc = lite_settings(s, kind, mode, err);
	if (mode == SQL_RESCUE)
		return rc;
	if (rc == 0)
		rc = lite_claim(s, kind, mode, err);
	return rc == 0 ? lite_whole(s, err) : rc;
}

static void lite_close(struct sql *s)
{
	struct lite *l = s->h;
	sqlite3_close(l->h);
	mem_free(&l);
	s->h = NULL;
}

static int lite_begin(const struct sql *s, enum sql_work work, struct err *err)
{
	struct lite *l = s->h;
	bool loose = work == SQL_LOOSE;
	if (work == SQL_SNAPSHOT)
		return lite_exec(s, "BEGIN", err);
	if (loose != l->is_loose &&
	    lite_exec(s, loose ? "PRAGMA synchronous=normal" : "PRAGMA synchronous=full", err) < 0)
		return -1;
	l->is_loose = loose;
	return lite_exec(s, "BEGIN IMMEDIATE", err);
}

/* What was committed stays so when the log cannot be moved: it grows, and is moved later. */
static int lite_commit(const struct sql *s, struct err *err)
{
	struct lite *l = s->h;
	int in_log, moved;
	l->in_log = 0;
	if (lite_exec(s, "COMMIT", err) < 0)
		return -1;
	if (l->log_pages && l->in_log >= l->log_pages) {
		FAULT("sql.checkpoint");
		(void)sqlite3_wal_checkpoint_v2(l->h, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log,
						&moved);
	}
	return 0;
}

static int lite_compile(const struct sql *s, const char *text, bool stays, struct sql_st **ret,
			struct err *err)
{
	sqlite3_stmt *h;
	if (sqlite3_prepare_v3(lite_of(s), text, -1, stays ? SQLITE_PREPARE_PERSISTENT : 0, &h,
			       NULL) != SQLITE_OK)
		return lite_fail(s, err);
	struct lite_st *st = mem_alloc(sizeof *st);
	*st = (struct lite_st){.st.driver = &sql_sqlite, .h = h};
	*ret = &st->st;
	return 0;
}

static void lite_finish(struct sql_st *st)
{
	struct lite_st *l = (struct lite_st *)st;
	sqlite3_finalize(l->h);
	mem_free(&l);
}

static void lite_bind(struct sql_st *st, int i, struct sql_value v)
{
	sqlite3_stmt *h = lite_st(st);
	const char *p = v.s.n ? v.s.p : "";
	int rc = SQLITE_MISUSE;
	switch (v.type) {
	case SQL_NULL:
		rc = sqlite3_bind_null(h, i);
		break;
	case SQL_INT:
		rc = sqlite3_bind_int64(h, i, v.n);
		break;
	case SQL_TEXT:
		rc = sqlite3_bind_text64(h, i, p, v.s.n, SQLITE_STATIC, SQLITE_UTF8);
		break;
	case SQL_BLOB:
		rc = sqlite3_bind_blob64(h, i, p, v.s.n, SQLITE_STATIC);
		break;
	}
	ENSURE(rc == SQLITE_OK);
}

static int lite_step(const struct sql *s, struct sql_st *st, struct err *err)
{
	int rc = sqlite3_step(lite_st(st));
	if (LIKELY(rc == SQLITE_ROW))
		return 0;
	int ret = rc == SQLITE_DONE ? 1 : lite_fail(s, err);
	sqlite3_reset(lite_st(st));
	return ret;
}

static void lite_reset(struct sql_st *st)
{
	sqlite3_reset(lite_st(st));
}

static struct sql_value lite_value(const struct sql_st *st, int i)
{
	sqlite3_stmt *h = lite_st(st);
	int type = sqlite3_column_type(h, i);
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
		return (struct sql_value){.type = SQL_INT, .n = sqlite3_column_int64(h, i)};
	if (type == SQLITE_NULL)
		return (struct sql_value){.s = STR("")};
	const char *p = sqlite3_column_blob(h, i);
	return (struct sql_value){.type = type == SQLITE_TEXT ? SQL_TEXT : SQL_BLOB,
				  .s = {p ? p : "", (size_t)sqlite3_column_bytes(h, i)}};
}

static int lite_columns(const struct sql_st *st)
{
	return sqlite3_column_count(lite_st(st));
}

static const char *lite_column_name(const struct sql_st *st, int i)
{
	return sqlite3_column_name(lite_st(st), i);
}

static uint64_t lite_changes(const struct sql *s)
{
	return (uint64_t)sqlite3_changes64(lite_of(s));
}

static int lite_version(const struct sql *s, int64_t *ret, struct err *err)
{
	return lite_pragma(s, "PRAGMA data_version", ret, err);
}

static bool lite_is_moved(const struct sql *s)
{
	int moved = 0;
	return sqlite3_file_control(lite_of(s), NULL, SQLITE_FCNTL_HAS_MOVED, &moved) ==
		       SQLITE_OK &&
	       moved;
}

/* Pages that SQLite cannot go through are a finding, too. */
static int lite_check(const struct sql *s, sql_finding_fn *fn, void *ctx, struct err *err)
{
	CLEANUP(buf_free) struct buf safe = BUF_INIT(SAID_MOST);
	struct sql_st *st = NULL;
	int rc = lite_compile(s, "PRAGMA integrity_check", false, &st, err), found = 0;
	if (rc == 0) {
		while ((rc = lite_step(s, st, err)) == 0) {
			struct str said = lite_value(st, 0).s;
			if (str_is(said, "ok"))
				continue;
			found = 1;
			buf_clear(&safe);
			put_said(&safe, said);
			if (fn)
				fn(ctx, buf_str(&safe));
		}
	}
	if (rc < 0 && err->code == ERR_DAMAGED) {
		rc = found = 1;
		buf_clear(&safe);
		put_said(&safe, str_of(sqlite3_errmsg(lite_of(s))));
		if (fn)
			fn(ctx, buf_str(&safe));
	}
	if (st)
		lite_finish(st);
	return rc < 0 ? -1 : found;
}

const struct sql_driver sql_sqlite = {
	.open = lite_open,
	.close = lite_close,
	.compile = lite_compile,
	.finish = lite_finish,
	.begin = lite_begin,
	.commit = lite_commit,
	.rollback = lite_rollback,
	.bind = lite_bind,
	.step = lite_step,
	.reset = lite_reset,
	.value = lite_value,
	.columns = lite_columns,
	.column_name = lite_column_name,
	.changes = lite_changes,
	.version = lite_version,
	.is_moved = lite_is_moved,
	.check = lite_check,
};
