/* A log of SQLite is written in larger pieces. SQLite writes a page of its log with two calls, 24
 * bytes and the page; so each page of the file is touched three times, which costs more than all
 * else of a commit but the sync. What follows without a gap is gathered here, and goes out when
 * the log is synced, read or cut, before anything else of it is written, or when it is much.
 *
 * Nobody misses what is gathered: what is in a log counts for other processes only after the commit
 * has said so in shared memory, which follows its sync; and a kill before the sync may take any of
 * it anyway. An error of the write comes a little later, at the latest from that sync, and the
 * commit fails with it.
 *
 * Only for a database that one process writes: what a transaction leaves here that was taken back
 * would go out later, over what another process has committed at that place since. */
#include "store/sql_vfs.h"

#include "base/base.h"

#include <pthread.h>
#include <sqlite3.h>

enum { GATHER_MOST = 64 << 10 }; /* SQLite's own writing takes less than 128 KiB at a time */

/* The system's own file follows it. */
struct log_file {
	sqlite3_file base;
	char *p; /* gathered: n bytes, for the place `at` */
	size_t n;
	sqlite3_int64 at;
};

static sqlite3_vfs *system_vfs;

static sqlite3_file *log_system(sqlite3_file *f)
{
	return (sqlite3_file *)((struct log_file *)f + 1);
}

static int log_flush(sqlite3_file *f)
{
	struct log_file *l = (struct log_file *)f;
	sqlite3_file *s = log_system(f);
	size_t n = l->n;
	l->n = 0;
	return n ? s->pMethods->xWrite(s, l->p, (int)n, l->at) : SQLITE_OK;
}

static int log_close(sqlite3_file *f)
{
	struct log_file *l = (struct log_file *)f;
	sqlite3_file *s = log_system(f);
	(void)log_flush(f); /* nothing that was committed */
	mem_free(&l->p);
	return s->pMethods->xClose(s);
}

static int log_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	sqlite3_file *s = log_system(f);
	int rc = log_flush(f);
	return rc == SQLITE_OK ? s->pMethods->xRead(s, to, n, at) : rc;
}

static int log_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	struct log_file *l = (struct log_file *)f;
	sqlite3_file *s = log_system(f);
	bool follows = l->n && at == l->at + (sqlite3_int64)l->n;
	if (!follows || (size_t)n > GATHER_MOST - l->n) {
		int rc = log_flush(f);
		if (rc != SQLITE_OK || n > GATHER_MOST)
			return rc == SQLITE_OK ? s->pMethods->xWrite(s, from, n, at) : rc;
	}
	if (!l->p)
		l->p = mem_array(GATHER_MOST, 1);
	if (l->n == 0)
		l->at = at;
	memcpy(l->p + l->n, from, (size_t)n);
	l->n += (size_t)n;
	return SQLITE_OK;
}

static int log_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	sqlite3_file *s = log_system(f);
	int rc = log_flush(f);
	return rc == SQLITE_OK ? s->pMethods->xTruncate(s, size) : rc;
}

static int log_sync(sqlite3_file *f, int flags)
{
	sqlite3_file *s = log_system(f);
	int rc = log_flush(f);
	return rc == SQLITE_OK ? s->pMethods->xSync(s, flags) : rc;
}

static int log_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	sqlite3_file *s = log_system(f);
	int rc = log_flush(f);
	return rc == SQLITE_OK ? s->pMethods->xFileSize(s, ret) : rc;
}

static int log_lock(sqlite3_file *f, int how)
{
	sqlite3_file *s = log_system(f);
	return s->pMethods->xLock(s, how);
}

static int log_unlock(sqlite3_file *f, int how)
{
	sqlite3_file *s = log_system(f);
	return s->pMethods->xUnlock(s, how);
}

static int log_reserved(sqlite3_file *f, int *ret)
{
	sqlite3_file *s = log_system(f);
	return s->pMethods->xCheckReservedLock(s, ret);
}

static int log_control(sqlite3_file *f, int what, void *arg)
{
	sqlite3_file *s = log_system(f);
	return s->pMethods->xFileControl(s, what, arg);
}

static int log_sector(sqlite3_file *f)
{
	sqlite3_file *s = log_system(f);
	return s->pMethods->xSectorSize(s);
}

static int log_device(sqlite3_file *f)
{
	sqlite3_file *s = log_system(f);
	return s->pMethods->xDeviceCharacteristics(s);
}

static const sqlite3_io_methods log_methods = {
	.iVersion = 1,
	.xClose = log_close,
	.xRead = log_read,
	.xWrite = log_write,
	.xTruncate = log_truncate,
	.xSync = log_sync,
	.xFileSize = log_size,
	.xLock = log_lock,
	.xUnlock = log_unlock,
	.xCheckReservedLock = log_reserved,
	.xFileControl = log_control,
	.xSectorSize = log_sector,
	.xDeviceCharacteristics = log_device,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
	(void)vfs;
	if (!(flags & SQLITE_OPEN_WAL))
		return system_vfs->xOpen(system_vfs, path, f, flags, ret_flags);
	*(struct log_file *)f = (struct log_file){0};
	sqlite3_file *s = log_system(f);
	s->pMethods = NULL;
	int rc = system_vfs->xOpen(system_vfs, path, s, flags, ret_flags);
	if (s->pMethods)
		f->pMethods = &log_methods;
	return rc;
}

/* The system's, but for how a log is opened. */
static sqlite3_vfs sql_vfs;

static void vfs_make(void)
{
	system_vfs = sqlite3_vfs_find(NULL);
	ENSURE(system_vfs);
	sql_vfs = *system_vfs;
	sql_vfs.zName = SQL_VFS;
	sql_vfs.pNext = NULL;
	sql_vfs.szOsFile += (int)sizeof(struct log_file);
	sql_vfs.xOpen = vfs_open;
	ENSURE(sqlite3_vfs_register(&sql_vfs, 0) == SQLITE_OK);
}

void sql_vfs_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, vfs_make);
}
