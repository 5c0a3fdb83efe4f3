/* Databases for `garner dump` and `garner check`: read through a connection that cannot write, in
 * one state, whatever others do meanwhile. What rows mean is not known here: they are printed
 * column by column, but for passwords and secrets, and looked at by the database itself. The log
 * of a database is a part of it, and looked at with it (sql_log_verify()). */
#include "store/database_format.h"

#include "base/text.h"
#include "store/small_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VALUE_MOST = 16 << 20 };

static bool is_hidden(const char *column)
{
	return strcmp(column, "password") == 0 || strcmp(column, "secret") == 0;
}

static void value_print(struct sql_value v, struct buf *out)
{
	if (v.type == SQL_INT)
		buf_printf(out, "%" PRId64, v.n);
	else if (v.type == SQL_TEXT)
		put_safe(out, v.s);
	else if (v.type == SQL_BLOB)
		format_put_bytes(v.s, out);
}

static int table_print(const struct sql *s, struct str name, struct printer *p, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1000);
	struct sql_st *st;
	int rc;
	buf_printf(&text, "SELECT * FROM \"" STR_FMT "\"", STR_ARG(name));
	if (sql_compile(s, buf_text(&text), &st, err) < 0)
		return -1;
	while ((rc = sql_step(s, st, err)) == 0) {
		put_safe(&p->out, name);
		for (int i = 0; i < sql_columns(st); i++) {
			buf_add_byte(&p->out, ' ');
			put_safe(&p->out, str_of(sql_column_name(st, i)));
			buf_add_byte(&p->out, '=');
			if (is_hidden(sql_column_name(st, i)))
				buf_add_text(&p->out, "(hidden)");
			else
				value_print(sql_value(st, i), &p->out);
		}
		buf_add_byte(&p->out, '\n');
		printer_step(p);
	}
	sql_finish(&st);
	return rc;
}

/* A name that somebody else wrote into the file must not end its quotes. */
static bool name_is_plain(struct str name)
{
	return name.n > 0 && name.n <= 64 && !memchr(name.p, '"', name.n) &&
	       !memchr(name.p, 0, name.n);
}

#define TABLE_NAMES                                                                         \
	"SELECT name FROM sqlite_schema WHERE type='table' AND substr(name,1,6)<>'sqlite' " \
	"ORDER BY name"

static int tables_print(const struct sql *s, const char *only, struct printer *p, struct err *err)
{
	struct sql_st *st;
	bool found = false;
	if (sql_compile(s, TABLE_NAMES, &st, err) < 0)
		return -1;
	int rc;
	while ((rc = sql_step(s, st, err)) == 0) {
		struct str name = sql_str(st, 0);
		if (!name_is_plain(name) || (only && !str_is(name, only)))
			continue;
		found = true;
		rc = table_print(s, name, p, err);
		if (rc < 0)
			break;
	}
	sql_finish(&st);
	return rc < 0 ? rc : only && !found;
}

static int no_such_table(const struct sql *s, const char *wanted, struct err *err)
{
	CLEANUP(buf_free) struct buf names = BUF_INIT(4096);
	struct sql_st *st;
	if (sql_compile(s, TABLE_NAMES, &st, err) < 0)
		return -1;
	int rc;
	while ((rc = sql_step(s, st, err)) == 0)
		if (!str_is(sql_str(st, 0), small_tables.name)) {
			buf_add_text(&names, names.n ? ", " : "; it has: ");
			put_safe(&names, sql_str(st, 0));
		}
	sql_finish(&st);
	return rc < 0 ? -1
		      : err_set(err, ERR_USAGE, "%s: there is no table %s%s", s->path, wanted,
				buf_text(&names));
}

static const struct database {
	int application_id, version;
	const char *file, *remedy;
	/* Where more is known of its rows; they return 1 for damage, and for no such table. */
	int (*verify)(const struct sql *sql, struct err *err);
	int (*print)(const struct sql *sql, const char *only, struct printer *p, struct err *err);
	bool is_whole; /* it had its tables before it had its name */
} databases[] = {
	{DATABASE_CACHE, DATABASE_CACHE_VERSION, "/cache.db", DATABASE_CACHE_REMEDY, sql_verify,
	 tables_print},
	{DATABASE_PIDB, DATABASE_PIDB_VERSION, "/pidb.db", DATABASE_PIDB_REMEDY, sql_verify,
	 tables_print},
	{DATABASE_SMALL, DATABASE_SMALL_VERSION, "/" SMALL_FILE, DATABASE_SMALL_REMEDY,
	 small_verify, small_print, true},
	{DATABASE_SMALL, DATABASE_SMALL_VERSION, ".done", DATABASE_SMALL_REMEDY, small_verify,
	 small_print, true},
	{DATABASE_SMALL, DATABASE_SMALL_VERSION, "/robots.db", DATABASE_SMALL_REMEDY, small_verify,
	 small_print, true},
};

static bool is_log(const char *path)
{
	struct str s = str_of(path);
	return str_ends(s, STR("-wal")) || str_ends(s, STR("-shm"));
}

/* PATH.done next to a list PATH (fetch/spider/docindex.h): nothing else that lies with lists is
 * called so.
 */
static bool is_next_to_list(const char *path)
{
	char list[PATH_MAX];
	struct stat st;
	struct str p = str_of(path), end = STR(".done");
	if (!str_ends(p, end) || p.n >= sizeof list)
		return false;
	snprintf(list, sizeof list, STR_FMT, STR_ARG(str_head(p, p.n - end.n)));
	return stat(list, &st) == 0 && S_ISREG(st.st_mode);
}

static bool database_placed(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(databases); i++)
		if (databases[i].file[0] == '/' &&
		    str_ends(str_of(path), str_of(databases[i].file)))
			return true;
	return is_log(path) || is_next_to_list(path);
}

static bool database_claims(struct str head)
{
	return str_starts(head, STR("SQLite forma"));
}

/* Which one of ours it is, in a version that is known. NULL: err says. */
static const struct database *database_of(const struct sql *s, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(databases); i++) {
		const struct database *d = &databases[i];
		if (d->application_id != s->application_id)
			continue;
		if (d->version == s->version)
			return d;
		if (!sql_version_is_likely(s->version, d->version)) {
			err_set(err, ERR_DAMAGED, "%s: its version is %d, expected %d; %s", s->path,
				s->version, d->version, d->remedy);
			return NULL;
		}
		err_set(err, ERR_DAMAGED,
			"%s: another version of garner made it: version %d, this program knows "
			"version %d",
			s->path, s->version, d->version);
		return NULL;
	}
	err_set(err, ERR_DAMAGED, "%s: a database, but not one of ours; move it away", s->path);
	return NULL;
}

/* 1: there is none, or it is empty: a killed process leaves that, and the next one fills it. */
static int database_open(struct sql *ret, const char *path, const struct database **ret_which,
			 struct err *err)
{
	struct sql_kind any = {.cache_kb = 2048, .busy_ms = 10000, .value_most = VALUE_MOST};
	for (size_t i = 0; i < ARRAY_LEN(databases); i++)
		if (str_ends(str_of(path), str_of(databases[i].file))) {
			any.remedy = databases[i].remedy;
			any.is_tidy = databases[i].is_whole;
		}
	if (sql_log_verify(path, err) < 0)
		return any.remedy && err->code == ERR_DAMAGED ? err_then(err, "%s", any.remedy)
							      : -1;
	int rc = sql_open(ret, path, &any, SQL_READ, err);
	if (rc < 0 && err->code == ERR_DAMAGED && small_version_before(path, err) < 0)
		err->code = ERR_DAMAGED;
	if (rc == 1 && any.is_tidy && access(path, F_OK) == 0) {
		err_set(err, ERR_DAMAGED, "%s: nothing is in it", path);
		return err_then(err, "%s", any.remedy);
	}
	if (rc)
		return rc;
	*ret_which = database_of(ret, err);
	if (*ret_which && sql_begin(ret, SQL_SNAPSHOT, err) == 0)
		return 0;
	sql_close(ret);
	return -1;
}

static int database_print(const char *path, struct printer *p, struct err *err)
{
	const struct database *d;
	struct sql s;
	if (is_log(path)) {
		buf_add_text(&p->out, "part of the database of that name: dump that\n");
		return 0;
	}
	int rc = database_open(&s, path, &d, err);
	if (rc)
		return rc == 1 && access(path, F_OK) == 0 ? 0 : rc;
	rc = d->print(&s, p->part, p, err);
	if (rc == 1)
		rc = no_such_table(&s, p->part, err);
	sql_close(&s);
	return rc;
}

static int database_verify(const char *path, struct err *err)
{
	const struct database *d;
	struct sql s;
	if (is_log(path))
		return 0;
	int rc = database_open(&s, path, &d, err);
	if (rc)
		return rc == 1 && access(path, F_OK) == 0 ? 0 : rc;
	rc = d->verify(&s, err);
	if (rc == 1)
		rc = str_ends(str_of(err->msg), str_of(d->remedy)) ? -1
								   : err_then(err, "%s", d->remedy);
	sql_close(&s);
	return rc;
}

const struct format database_format = {
	.name = "database",
	.placed = database_placed,
	.claims = database_claims,
	.has_parts = true,
	.help = "tables of rows: the content cache, its providers, small state",
	.print = database_print,
	.verify = database_verify,
};
