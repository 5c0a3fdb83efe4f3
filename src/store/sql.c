/* What is said when a statement fails depends on SQLite's code alone: what cannot be read is
 * damage, what the system refused is not. A database is ours by application_id and user_version,
 * which are in its first page: a file of somebody else's is never written. Several processes may
 * open a new one at once: one of them makes it, the others wait and find it made. */
#include "store/sql.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int sql_fail(const struct sql *s, struct err *err)
{
	int rc = s->h ? sqlite3_extended_errcode(s->h) : SQLITE_NOMEM;
	const char *text = s->h ? sqlite3_errmsg(s->h) : "out of memory";
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		die("%s: out of memory", s->path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
		err_set(err, ERR_DAMAGED, "%s: %s", s->path, text);
		return s->remedy ? err_then(err, "%s", s->remedy) : -1;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, ERR_BUSY, "%s: another process holds it: %s", s->path, text);
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		err_set(err, ERR_SYSTEM, "%s: %s (%d)", s->path, text, rc);
		err->sys_errno = sqlite3_system_errno(s->h);
		return -1;
	default:
		err_set(err, ERR_DAMAGED, "%s: %s (%d)", s->path, text, rc);
		return s->remedy ? err_then(err, "%s", s->remedy) : -1;
	}
}

int sql_exec(const struct sql *s, const char *text, struct err *err)
{
	return sqlite3_exec(s->h, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fail(s, err);
}

int sql_compile(const struct sql *s, const char *text, sqlite3_stmt **ret, struct err *err)
{
	return sqlite3_prepare_v2(s->h, text, -1, ret, NULL) == SQLITE_OK ? 0 : sql_fail(s, err);
}

static int sql_pragma(const struct sql *s, const char *text, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st;
	if (sql_compile(s, text, &st, err) < 0)
		return -1;
	int rc = sqlite3_step(st) == SQLITE_ROW ? 0 : -1;
	if (rc == 0)
		*ret = sqlite3_column_int64(st, 0);
	else
		sql_fail(s, err);
	sqlite3_finalize(st);
	return rc;
}

/* Whether it is ours. 1: it is nobody's, being empty. */
static int sql_whose(const struct sql *s, const struct sql_kind *kind, struct err *err)
{
	int64_t id = 0, version = 0, objects = 0;
	if (sql_pragma(s, "PRAGMA application_id", &id, err) < 0 ||
	    sql_pragma(s, "PRAGMA user_version", &version, err) < 0 ||
	    sql_pragma(s, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
		return -1;
	if (id == 0 && version == 0 && objects == 0)
		return 1;
	if (id != kind->application_id)
		return err_set(err, ERR_DAMAGED,
			       "%s: a database, but not one of ours; move it away", s->path);
	if (version != kind->version)
		return err_set(err, ERR_USAGE,
			       "%s: another version of garner made it: version %lld, this program "
			       "knows version %d; use the garner that made it",
			       s->path, (long long)version, kind->version);
	return 0;
}

static int sql_fill(const struct sql *s, const struct sql_kind *kind, struct err *err)
{
	char text[128];
	for (size_t i = 0; kind->schema[i]; i++)
		if (sql_exec(s, kind->schema[i], err) < 0)
			return -1;
	snprintf(text, sizeof text, "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 kind->application_id, kind->version);
	return sql_exec(s, text, err);
}

/* What was empty becomes ours, unless another process was first. */
static int sql_make(const struct sql *s, const struct sql_kind *kind, struct err *err)
{
	if (sql_exec(s, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	int rc = sql_whose(s, kind, err);
	if (rc == 1)
		rc = sql_fill(s, kind, err);
	if (rc == 0)
		rc = sql_exec(s, "COMMIT", err);
	if (rc < 0 && !sqlite3_get_autocommit(s->h))
		(void)sqlite3_exec(s->h, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* A file that was cut is found here, and not only when a page past its end is wanted. What is in
 * the log alone may be past the end; so the log is looked at after the number of pages was read,
 * which another process may just have made more. */
static int sql_whole(const struct sql *s, struct err *err)
{
	struct stat st;
	int64_t pages = 0, size = 0;
	CLEANUP(buf_free) struct buf wal = BUF_INIT(PATH_MAX);
	if (sql_pragma(s, "PRAGMA page_count", &pages, err) < 0 ||
	    sql_pragma(s, "PRAGMA page_size", &size, err) < 0)
		return -1;
	buf_printf(&wal, "%s-wal", s->path);
	if (stat(buf_text(&wal), &st) == 0 && st.st_size > 0)
		return 0;
	if (stat(s->path, &st) == 0 && st.st_size < pages * size) {
		err_set(err, ERR_DAMAGED, "%s: cut off: %lld bytes, expected %lld", s->path,
			(long long)st.st_size, (long long)(pages * size));
		return s->remedy ? err_then(err, "%s", s->remedy) : -1;
	}
	return 0;
}

static int sql_settings(const struct sql *s, const struct sql_kind *kind, enum sql_mode mode,
			struct err *err)
{
	char text[256];
	sqlite3_busy_timeout(s->h, kind->busy_ms);
	sqlite3_extended_result_codes(s->h, 1);
	sqlite3_db_config(s->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	snprintf(text, sizeof text, "PRAGMA cache_size=-%d; PRAGMA temp_store=memory",
		 kind->cache_kb);
	if (sql_exec(s, text, err) < 0)
		return -1;
	if (mode == SQL_WRITE)
		return 0;
	sqlite3_db_config(s->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return sql_exec(s, "PRAGMA query_only=1", err);
}

static int sql_logs(const struct sql *s, const struct sql_kind *kind, struct err *err)
{
	/* Two that do it at once to a new file exclude each other without the timeout. */
	for (int waited_ms = 0; sql_exec(s, "PRAGMA journal_mode=wal", err) < 0; waited_ms += 10) {
		if (err->code != ERR_BUSY || waited_ms >= kind->busy_ms)
			return -1;
		sqlite3_sleep(10);
	}
	return sql_exec(s, "PRAGMA synchronous=full", err);
}

/* Whether it is ours; for SQL_WRITE it is made ours, and readied. */
static int sql_claim(const struct sql *s, const struct sql_kind *kind, enum sql_mode mode,
		     struct err *err)
{
	/* in one transaction: another process may be making it just now */
	if (sql_exec(s, "BEGIN", err) < 0)
		return -1;
	int rc = sql_whose(s, kind, err);
	(void)sqlite3_exec(s->h, "COMMIT", NULL, NULL, NULL);
	if (rc < 0 || mode == SQL_READ)
		return rc;
	if (sql_logs(s, kind, err) < 0)
		return -1;
	return rc == 1 ? sql_make(s, kind, err) : 0;
}

int sql_open(struct sql *ret, const char *path, const struct sql_kind *kind, enum sql_mode mode,
	     struct err *err)
{
	struct stat st;
	*ret = (struct sql){.path = mem_text(path), .remedy = kind->remedy};
	/* Each allocation would take a lock for figures that nobody reads. It is too late where a
	 * database is open already, and that is fine, too. */
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
	int rc = 1;
	if (mode == SQL_READ && stat(path, &st) < 0 && errno == ENOENT)
		goto failed;
	if (mode == SQL_READ && access(path, W_OK) < 0)
		flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY;
	rc = sqlite3_open_v2(path, &ret->h, flags | (mode == SQL_WRITE ? SQLITE_OPEN_CREATE : 0),
			     NULL);
	if (rc != SQLITE_OK) {
		rc = sql_fail(ret, err);
		goto failed;
	}
	rc = sql_settings(ret, kind, mode, err);
	if (rc == 0)
		rc = sql_claim(ret, kind, mode, err);
	if (rc == 0)
		rc = sql_whole(ret, err);
	if (rc == 0)
		return 0;
failed:
	sql_close(ret);
	return rc;
}

int sql_prepare(struct sql *s, const char *const *text, size_t n, struct err *err)
{
	s->st = mem_alloc(n * sizeof *s->st);
	s->n = n;
	for (size_t i = 0; i < n; i++)
		if (sqlite3_prepare_v3(s->h, text[i], -1, SQLITE_PREPARE_PERSISTENT, &s->st[i],
				       NULL) != SQLITE_OK)
			return sql_fail(s, err);
	return 0;
}

void sql_close(struct sql *s)
{
	for (size_t i = 0; i < s->n; i++)
		sqlite3_finalize(s->st[i]);
	mem_free(&s->st);
	s->n = 0;
	if (s->h)
		sqlite3_close(s->h);
	s->h = NULL;
	mem_free(&s->path);
}

bool sql_is_moved(const struct sql *s)
{
	int moved = 0;
	return sqlite3_file_control(s->h, NULL, SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved;
}

void sql_bind(sqlite3_stmt *st, int i, int64_t v)
{
	ENSURE(sqlite3_bind_int64(st, i, v) == SQLITE_OK);
}

void sql_bind_text(sqlite3_stmt *st, int i, struct str s)
{
	ENSURE(sqlite3_bind_text64(st, i, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8) ==
	       SQLITE_OK);
}

void sql_bind_blob(sqlite3_stmt *st, int i, struct str s)
{
	ENSURE(sqlite3_bind_blob64(st, i, s.n ? s.p : "", s.n, SQLITE_STATIC) == SQLITE_OK);
}

int sql_step(const struct sql *s, sqlite3_stmt *st, struct err *err)
{
	int rc = sqlite3_step(st);
	if (LIKELY(rc == SQLITE_ROW))
		return 0;
	int ret = rc == SQLITE_DONE ? 1 : sql_fail(s, err);
	sqlite3_reset(st);
	return ret;
}

int sql_run(const struct sql *s, sqlite3_stmt *st, struct err *err)
{
	int rc;
	while ((rc = sql_step(s, st, err)) == 0)
		;
	return rc == 1 ? 0 : rc;
}

struct str sql_str(sqlite3_stmt *st, int i)
{
	const char *p = sqlite3_column_blob(st, i);
	return (struct str){p ? p : "", (size_t)sqlite3_column_bytes(st, i)};
}
