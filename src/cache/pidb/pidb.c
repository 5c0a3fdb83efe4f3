/* The providers' database: opening it, and noticing that others have changed it. SQLite in WAL mode
 * with full syncs: readers never wait, writers wait for each other some milliseconds, a commit that
 * has returned survives a power cut. The file holds hashes of passwords and secrets, so nobody but
 * its owner may read it; SQLite gives its log the same mode. */
#include "base/fault.h"
#include "base/file.h"
#include "cache/pidb/pidb_inner.h"
#include "store/database_format.h"

#include <fcntl.h>
#include <stdio.h>

#define PIDB_FILE "pidb.db"

/* Times are microseconds of the wall clock, quotas -1 where there is none. Numbers of providers are
 * not used again: AUTOINCREMENT remembers the greatest. */
static const char *const pidb_schema[] = {
	"CREATE TABLE provider(id INTEGER PRIMARY KEY AUTOINCREMENT, site TEXT NOT NULL,"
	" mail TEXT NOT NULL, password TEXT NOT NULL, created_us INTEGER NOT NULL,"
	" verified_us INTEGER NOT NULL DEFAULT 0, priority INTEGER NOT NULL DEFAULT 0,"
	" quota_files INTEGER NOT NULL DEFAULT -1, quota_space INTEGER NOT NULL DEFAULT -1,"
	" bandwidth INTEGER NOT NULL DEFAULT 0, hours TEXT NOT NULL DEFAULT '',"
	" seq INTEGER NOT NULL DEFAULT 0, last_address TEXT NOT NULL DEFAULT '',"
	" errors_told INTEGER NOT NULL DEFAULT 0, wanted INTEGER NOT NULL DEFAULT 0)",
	"CREATE TABLE prefix(provider INTEGER NOT NULL, prefix TEXT NOT NULL,"
	" verified_us INTEGER NOT NULL, PRIMARY KEY(provider, prefix)) WITHOUT ROWID",
	"CREATE TABLE secret(secret TEXT PRIMARY KEY, provider INTEGER NOT NULL,"
	" created_us INTEGER NOT NULL) WITHOUT ROWID",
	"CREATE INDEX secret_provider ON secret(provider)",
	"CREATE TABLE fullset(provider INTEGER NOT NULL, at_us INTEGER NOT NULL)",
	"CREATE INDEX fullset_provider ON fullset(provider, at_us)",
	"CREATE TABLE arrival(address TEXT NOT NULL, at_us INTEGER NOT NULL)",
	"CREATE INDEX arrival_address ON arrival(address, at_us)",
	"CREATE TABLE gone(provider INTEGER PRIMARY KEY, at_us INTEGER NOT NULL)",
	NULL,
};

static const struct sql_kind pidb_kind = {
	.application_id = DATABASE_PIDB,
	.version = DATABASE_PIDB_VERSION,
	.schema = pidb_schema,
	.remedy = DATABASE_PIDB_REMEDY,
	.cache_kb = 2048,
	.busy_ms = 10000,
	.value_most = 1 << 20,
	.is_secret = true,
};

int pidb_connect(struct pidb **ret, const char *folder, enum sql_mode mode, struct err *err)
{
	char path[PATH_MAX];
	if (file_below(folder, PIDB_FILE, path, err) < 0)
		return -1;
	struct pidb *p = mem_alloc(sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	int rc = sql_open(&p->sql, path, &pidb_kind, mode, err);
	if (rc != 0)
		pidb_close(&p);
	*ret = p;
	return rc;
}

int pidb_open(struct pidb **ret, const char *folder, struct err *err)
{
	char path[PATH_MAX];
	struct file f = FILE_INIT;
	if (file_below(folder, PIDB_FILE, path, err) < 0 || dir_make(folder, DIR_MODE, err) < 0 ||
	    file_open(&f, path, O_RDWR | O_CREAT, 0600, err) != 0 || file_close(&f, err) < 0 ||
	    dir_sync(folder, err) < 0)
		return -1;
	return pidb_connect(ret, folder, SQL_WRITE, err);
}

void pidb_close(struct pidb **p)
{
	if (!*p)
		return;
	sql_close(&(*p)->sql);
	pthread_mutex_destroy(&(*p)->lock);
	mem_free(p);
}

uint64_t pidb_version(struct pidb *p)
{
	struct err err;
	int64_t others;
	/* Where a thread is in a transaction now, what it changes is seen the next time. */
	if (pthread_mutex_trylock(&p->lock) != 0)
		return __atomic_load_n(&p->version, __ATOMIC_RELAXED);
	if (sql_version(&p->sql, &others, &err) == 0)
		__atomic_store_n(&p->version, (p->own << 32) + (uint64_t)others, __ATOMIC_RELAXED);
	uint64_t version = p->version;
	pthread_mutex_unlock(&p->lock);
	return version;
}
