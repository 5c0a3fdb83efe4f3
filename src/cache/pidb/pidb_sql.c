/* Statements on the providers' database. Each is compiled when it is used: a session runs a dozen,
 * at some ten microseconds each, and none that is kept can be left open by mistake. Writers begin
 * with BEGIN IMMEDIATE, so that two processes wait for each other at the beginning, where SQLite's
 * busy timeout works, and never in the middle, where one of them would have to give up. */
#include "base/fault.h"
#include "cache/pidb/pidb_inner.h"

#include <stdio.h>

void pidb_lock(struct pidb *p)
{
	pthread_mutex_lock(&p->lock);
}

void pidb_unlock(struct pidb *p)
{
	pthread_mutex_unlock(&p->lock);
}

int pidb_ask(struct pidb_ask *ret, struct pidb *p, const char *sql, const struct pidb_value *v,
	     size_t n, struct err *err)
{
	*ret = (struct pidb_ask){.p = p, .err = err};
	if (sql_compile(&p->sql, sql, &ret->st, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (v[i].text)
			sql_bind_text(ret->st, (int)i + 1, str_of(v[i].text));
		else
			sql_bind(ret->st, (int)i + 1, v[i].number);
	return 0;
}

int pidb_row(struct pidb_ask *q)
{
	return sql_step(&q->p->sql, q->st, q->err);
}

void pidb_ask_end(struct pidb_ask *q)
{
	sql_finish(&q->st);
	q->st = NULL;
}

int64_t pidb_column(const struct pidb_ask *q, int column)
{
	return sql_i64(q->st, column);
}

void pidb_column_text(const struct pidb_ask *q, int column, char *ret, size_t cap)
{
	snprintf(ret, cap, STR_FMT, STR_ARG(sql_str(q->st, column)));
}

int pidb_do(struct pidb *p, const char *sql, const struct pidb_value *v, size_t n, int *ret_changed,
	    struct err *err)
{
	struct pidb_ask q;
	if (pidb_ask(&q, p, sql, v, n, err) < 0)
		return -1;
	int rc = sql_run(&p->sql, q.st, err);
	pidb_ask_end(&q);
	if (rc < 0)
		return -1;
	uint64_t changed = sql_changes(&p->sql);
	p->has_changed = p->has_changed || changed;
	if (ret_changed)
		*ret_changed = (int)changed;
	return 0;
}

int pidb_number(struct pidb *p, const char *sql, const struct pidb_value *v, size_t n, int64_t *ret,
		struct err *err)
{
	struct pidb_ask q;
	if (pidb_ask(&q, p, sql, v, n, err) < 0)
		return -1;
	int rc = pidb_row(&q);
	if (rc >= 0)
		*ret = rc == 0 ? pidb_column(&q, 0) : 0;
	pidb_ask_end(&q);
	return rc < 0 ? -1 : 0;
}

int pidb_begin(struct pidb *p, struct err *err)
{
	pidb_lock(p);
	if (sql_begin(&p->sql, SQL_DURABLE, err) < 0) {
		pidb_unlock(p);
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
	pidb_unlock(p);
	return rc;
}
