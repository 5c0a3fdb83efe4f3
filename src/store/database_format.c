/* Databases for `garner dump` and `garner check`: read through a connection that cannot write, in
 * one state, whatever others do meanwhile. What SQLite keeps next to a database is part of it, and
 * is looked at with it. */
#include "store/database_format.h"

#include "store/small_inner.h"

static bool is_log(const char *path)
{
	struct str s = str_of(path);
	return str_ends(s, STR(".db-wal")) || str_ends(s, STR(".db-shm"));
}

static bool database_placed(const char *path)
{
	return str_ends(str_of(path), STR("/" SMALL_FILE)) || is_log(path);
}

/* As all databases of SQLite begin, as far as that is looked at. */
static bool database_claims(struct str head)
{
	return str_starts(head, STR("SQLite forma"));
}

static int database_open(struct sql *ret, const char *path, struct err *err)
{
	int rc = sql_open(ret, path, &small_kind, SQL_READ, err);
	if (rc == 0 && sql_begin(ret, SQL_SNAPSHOT, err) < 0) {
		sql_close(ret);
		return -1;
	}
	return rc;
}

static int database_print(const char *path, struct printer *p, struct err *err)
{
	struct sql sql;
	if (is_log(path)) {
		buf_add_text(&p->out, "part of the database of that name: dump that\n");
		return 0;
	}
	int rc = database_open(&sql, path, err);
	if (rc != 0)
		return MIN(rc, 0); /* an empty one */
	rc = small_print(&sql, p->part, p, err);
	sql_close(&sql);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: there is no table %s in it", path, p->part)
		       : rc;
}

static int database_verify(const char *path, struct err *err)
{
	struct sql sql;
	int rc = is_log(path) ? 1 : database_open(&sql, path, err);
	if (rc != 0)
		return MIN(rc, 0);
	rc = small_verify(&sql, err);
	sql_close(&sql);
	return rc == 1 ? -1 : rc;
}

const struct format database_format = {
	.name = "database",
	.file = SMALL_FILE,
	.placed = database_placed,
	.claims = database_claims,
	.help = "tables of rows: small state",
	.remedy = "the first role that starts while no other has it open sets it aside and keeps "
		  "what can be read",
	.has_parts = true,
	.print = database_print,
	.verify = database_verify,
};
