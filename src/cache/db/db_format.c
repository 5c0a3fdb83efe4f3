/* The cache's database for `garner dump` and `garner check`: read through a connection that cannot
 * write, in one state, whatever qm does meanwhile. Files of the cache are looked at by `garner
 * cache check`, which also mends. What SQLite keeps next to a database is a format of its own: it
 * is looked at with the database. */
#include "cache/db_format.h"

#include "base/clock.h"
#include "cache/db/db_inner.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>

/* All databases of SQLite begin alike: this one is known by its name. */
static bool head_says_nothing(struct str head)
{
	(void)head;
	return false;
}

static bool cache_db_placed(const char *path)
{
	return str_ends(str_of(path), STR("/cache.db"));
}

static int cache_db_reader(struct db **ret, const char *path, struct err *err)
{
	char folder[PATH_MAX];
	if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
		return err_set(err, ERR_USAGE, "%s: the path is too long", path);
	int rc = db_open(ret, dirname(folder), DB_READ, err);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: there is no such file", path) : rc;
}

static void notice_print(const struct notice *n, struct printer *p)
{
	buf_printf(&p->out, STR_FMT " " STR_FMT, STR_ARG(n->c), STR_ARG(n->mime));
	if (n->has & NOTICE_HAS_MTIME)
		buf_printf(&p->out, " mtime=%" PRId64, n->mtime_s);
	if (n->has & NOTICE_HAS_SIZE)
		buf_printf(&p->out, " size=%" PRIu64, n->size);
	if (n->hours.n)
		buf_printf(&p->out, " hours=" STR_FMT, STR_ARG(n->hours));
	buf_add_byte(&p->out, '\n');
	printer_step(p);
}

static void part_print(void *ctx, const struct db_part *part)
{
	struct printer *p = ctx;
	buf_printf(&p->out,
		   "part set=%" PRIu64 " slot=%" PRId64 " start=%" PRId64 " provider=%" PRIu64
		   " priority=%" PRId64 " rows=%" PRIu64 " first=%" PRIu64 " last=%" PRIu64 "\n",
		   part->set, part->slot, part->start, part->provider, part->priority, part->rows,
		   part->first, part->last);
	printer_step(p);
}

static int queue_print(struct db *d, struct printer *p, struct err *err)
{
	struct sql_st *st;
	struct queued q;
	int rc;
	if (sql_compile(&d->sql, "SELECT " QUEUE_COLUMNS " FROM queue ORDER BY qset,slot,row", &st,
			err) < 0)
		return -1;
	while ((rc = db_step(d, st, err)) == 0 && (rc = queue_from(d, st, &q, err)) == 0) {
		buf_printf(&p->out,
			   "row %" PRIu64 " set=%" PRIu64 " slot=%" PRId64 " provider=%" PRIu64
			   " tries=%u%s ",
			   q.row, q.set, q.slot, q.provider, q.tries,
			   q.is_nothing ? " nothing" : "");
		notice_print(&q.notice, p);
	}
	sql_finish(&st);
	return rc < 0 ? rc : 0;
}

static int lcc_print(struct db *d, struct printer *p, struct err *err)
{
	struct sql_st *st;
	struct stored s;
	int rc;
	if (sql_compile(&d->sql, "SELECT " LCC_COLUMNS " FROM lcc ORDER BY row", &st, err) < 0)
		return -1;
	while ((rc = db_step(d, st, err)) == 0 && (rc = lcc_from(d, st, &s, err)) == 0) {
		buf_printf(&p->out, "stored %" PRIu64 " provider=%" PRIu64 " at=", s.row,
			   s.provider);
		time_print(&p->out, s.at_us, 0);
		buf_printf(&p->out, " " STR_FMT "/" STR_FMT " bytes=%" PRIu64 " ",
			   STR_ARG(s.machine), STR_ARG(s.file), s.size);
		notice_print(&s.notice, p);
	}
	sql_finish(&st);
	return rc < 0 ? rc : 0;
}

static int fsm_print(struct db *db, struct printer *p, struct err *err)
{
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	uint64_t id = 0;
	int rc;
	while ((rc = db_fsm_next(db, id, STR(""), &id, machine, file, err)) == 0) {
		buf_printf(&p->out, "delete %s/%s\n", machine, file);
		printer_step(p);
	}
	return MIN(rc, 0);
}

static int cache_db_print(const char *path, struct printer *p, struct err *err)
{
	struct db *d;
	uint64_t queued, stored;
	if (cache_db_reader(&d, path, err) < 0)
		return -1;
	int rc = sql_begin(&d->sql, SQL_SNAPSHOT, err);
	if (rc == 0)
		rc = db_rows(d, &queued, &stored, err);
	if (rc == 0) {
		buf_printf(&p->out, "%" PRIu64 " rows in the queue, %" PRIu64 " stored\n", queued,
			   stored);
		rc = db_parts(d, part_print, p, err);
	}
	if (rc == 0)
		rc = queue_print(d, p, err);
	if (rc == 0)
		rc = lcc_print(d, p, err);
	if (rc == 0)
		rc = fsm_print(d, p, err);
	db_close(&d);
	return rc;
}

static void finding_first(void *ctx, const struct db_finding *f)
{
	struct db_finding *first = ctx;
	if (f->is_damage && !first->is_damage)
		*first = *f;
}

static int cache_db_verify(const char *path, struct err *err)
{
	struct db *db;
	struct db_finding first = {0};
	if (cache_db_reader(&db, path, err) < 0)
		return -1;
	int rc = sql_begin(&db->sql, SQL_SNAPSHOT, err);
	if (rc == 0)
		rc = db_check(db, false, NULL, finding_first, &first, err);
	db_close(&db);
	if (rc >= 0 && first.is_damage)
		return err_set(err, ERR_DAMAGED, "%s: %s", path, first.text);
	return rc;
}

const struct format cache_db_format = {
	.name = "cache-db",
	.file = "cache.db",
	.placed = cache_db_placed,
	.claims = head_says_nothing,
	.help = "the content cache: the queue, what is stored, sets, receipts",
	.remedy = "stop qm and try 'garner cache check --fix'",
	.print = cache_db_print,
	.verify = cache_db_verify,
};

static bool sqlite_log_placed(const char *path)
{
	struct str s = str_of(path);
	return str_ends(s, STR(".db-wal")) || str_ends(s, STR(".db-shm"));
}

static int sqlite_log_print(const char *path, struct printer *p, struct err *err)
{
	(void)path;
	(void)err;
	buf_add_text(&p->out, "part of the database of that name: dump that\n");
	return 0;
}

static int sqlite_log_verify(const char *path, struct err *err)
{
	(void)path;
	(void)err;
	return 0;
}

const struct format sqlite_log_format = {
	.name = "sqlite-log",
	.placed = sqlite_log_placed,
	.claims = head_says_nothing,
	.help = "what SQLite keeps next to a database while it is used, and after a kill",
	.remedy = "it is read with its database, and must not be moved without it",
	.print = sqlite_log_print,
	.verify = sqlite_log_verify,
};
