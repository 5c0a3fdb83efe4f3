/* Statements on the providers' database. Each is compiled when it is used: a session runs a dozen,
 * at some ten microseconds each, and none that is kept can be left open by mistake. Writers begin
 * with BEGIN IMMEDIATE, so that two processes wait for each other at the beginning, where SQLite's
 * busy timeout works, and never in the middle, where one of them would have to give up. */
#include "base/fault.h"
#include "cache/pidb/pidb_inner.h"

int pidb_do(struct pidb *p, const char *sql, const struct sql_value *v, size_t n, int *ret_changed,
	    struct err *err)
{
	if (sql_do(&p->sql, sql, v, n, err) < 0)
		return -1;
	uint64_t changed = sql_changes(&p->sql);
	p->has_changed = p->has_changed || changed;
	if (ret_changed)
		*ret_changed = (int)changed;
	return 0;
}

int pidb_number(struct pidb *p, const char *sql, const struct sql_value *v, size_t n, int64_t *ret,
		struct err *err)
{
	*ret = 0;
	return sql_number(&p->sql, sql, v, n, ret, err) < 0 ? -1 : 0;
}

int pidb_is_there(struct pidb *p, uint64_t id, struct err *err)
{
	int64_t one;
	return sql_number(&p->sql, "SELECT 1 FROM provider WHERE id=?",
			  SQL_VALUES(SQL_N(MIN(id, INT64_MAX))), &one, err);
}

int pidb_begin(struct pidb *p, struct err *err)
{
	pthread_mutex_lock(&p->lock);
	if (sql_begin(&p->sql, SQL_DURABLE, err) < 0) {
		pthread_mutex_unlock(&p->lock);
		return -1;
	}
	p->has_changed = false;
	return 0;
}

int pidb_end(struct pidb *p, int rc, struct err *err)
{
	if (rc == 0) {
		FAULT("pidb.commit");
		rc = sql_commit(&p->sql, err);
		FAULT("pidb.committed");
	}
	if (rc == 0 && p->has_changed)
		p->own++;
	if (rc != 0)
		sql_rollback(&p->sql);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int pidb_write(struct pidb *p, const char *sql, const struct sql_value *v, size_t n,
	       int *ret_changed, struct err *err)
{
	return pidb_begin(p, err) < 0 ? -1
				      : pidb_end(p, pidb_do(p, sql, v, n, ret_changed, err), err);
}
