/* Statements: what is the same for every driver. What is bound and what comes out goes to the
 * statement's own driver; what can fail goes to the connection's, so that another driver can stand
 * before it (tests/support/sql_failing.c). */
#include "store/sql.h"

#include "base/fault.h"
#include "store/sql_driver_inner.h"

#include <stdio.h>

int sql_open(struct sql *ret, const char *path, const struct sql_kind *kind, enum sql_mode mode,
	     struct err *err)
{
	*ret = (struct sql){.driver = &sql_sqlite, .path = mem_text(path), .remedy = kind->remedy};
	int rc = ret->driver->open(ret, kind, mode, err);
	if (rc != 0)
		sql_close(ret);
	return rc;
}

void sql_close(struct sql *s)
{
	for (size_t i = 0; i < s->n; i++)
		sql_finish(&s->st[i]);
	mem_free(&s->st);
	if (s->driver)
		s->driver->close(s);
	mem_free(&s->path);
	*s = (struct sql){0};
}

int sql_prepare(struct sql *s, const char *const *text, size_t n, struct err *err)
{
	s->st = mem_alloc(n * sizeof *s->st);
	s->n = n;
	for (size_t i = 0; i < n; i++)
		if (s->driver->compile(s, text[i], true, &s->st[i], err) < 0)
			return -1;
	return 0;
}

int sql_compile(const struct sql *s, const char *text, struct sql_st **ret, struct err *err)
{
	return s->driver->compile(s, text, false, ret, err);
}

void sql_finish(struct sql_st **st)
{
	if (*st)
		(*st)->driver->finish(*st);
	*st = NULL;
}

int sql_ask(const struct sql *s, const char *text, const struct sql_value *v, size_t n,
	    struct sql_st **ret, struct err *err)
{
	if (sql_compile(s, text, ret, err) < 0)
		return -1;
	sql_bind_all(*ret, v, n);
	return 0;
}

int sql_do(const struct sql *s, const char *text, const struct sql_value *v, size_t n,
	   struct err *err)
{
	struct sql_st *st;
	if (sql_ask(s, text, v, n, &st, err) < 0)
		return -1;
	int rc = sql_run(s, st, err);
	sql_finish(&st);
	return rc;
}

int sql_exec(const struct sql *s, const char *text, struct err *err)
{
	return sql_do(s, text, NULL, 0, err);
}

int sql_number(const struct sql *s, const char *text, const struct sql_value *v, size_t n,
	       int64_t *ret, struct err *err)
{
	struct sql_st *st;
	if (sql_ask(s, text, v, n, &st, err) < 0)
		return -1;
	int rc = sql_step(s, st, err);
	if (rc == 0)
		*ret = sql_i64(st, 0);
	sql_finish(&st);
	return rc;
}

int sql_begin(const struct sql *s, enum sql_work work, struct err *err)
{
	return s->driver->begin(s, work, err);
}

int sql_commit(const struct sql *s, struct err *err)
{
	if (FAULT_REFUSES("file.write", s->path))
		return err_sys(err, "%s", s->path);
	return s->driver->commit(s, err);
}

void sql_rollback(const struct sql *s)
{
	s->driver->rollback(s);
}

void sql_bind_value(struct sql_st *st, int i, struct sql_value v)
{
	st->driver->bind(st, i, v);
}

struct sql_value sql_value(const struct sql_st *st, int i)
{
	return st->driver->value(st, i);
}

void sql_bind_all(struct sql_st *st, const struct sql_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sql_bind_value(st, (int)i + 1, v[i]);
}

static struct sql_value column_get(const struct column *c, const void *at)
{
	if (c->type == COL_STR)
		return (struct sql_value){.type = c->unit == UNIT_HEX ? SQL_BLOB : SQL_TEXT,
					  .s = *(const struct str *)at};
	if (c->type == COL_CHARS)
		return SQL_T(((struct str){at, strnlen(at, c->size)}));
	return SQL_N(rows_number(c, at));
}

static void column_put(const struct column *c, struct sql_value v, void *at)
{
	if (c->type == COL_STR)
		*(struct str *)at = c->most ? str_head(v.s, c->most) : v.s;
	else if (c->type == COL_CHARS)
		snprintf(at, c->size, STR_FMT, STR_ARG(v.s));
	else
		rows_number_set(c, c->type == COL_BOOL ? v.n != 0 : (uint64_t)v.n, at);
}

void sql_bind_row(struct sql_st *st, const struct rows *t, const void *row)
{
	for (size_t i = 0; i < t->n; i++)
		sql_bind_value(st, (int)i + 1,
			       column_get(&t->column[i], (const char *)row + t->column[i].offset));
}

void sql_take_row(const struct sql_st *st, const struct rows *t, void *row)
{
	for (size_t i = 0; i < t->n; i++)
		column_put(&t->column[i], sql_value(st, (int)i), (char *)row + t->column[i].offset);
}

int sql_columns(const struct sql_st *st)
{
	return st->driver->columns(st);
}

const char *sql_column_name(const struct sql_st *st, int i)
{
	return st->driver->column_name(st, i);
}

int sql_step(const struct sql *s, struct sql_st *st, struct err *err)
{
	return s->driver->step(s, st, err);
}

void sql_reset(struct sql_st *st)
{
	st->driver->reset(st);
}

int sql_run(const struct sql *s, struct sql_st *st, struct err *err)
{
	int rc;
	while ((rc = sql_step(s, st, err)) == 0)
		;
	return rc == 1 ? 0 : rc;
}

uint64_t sql_changes(const struct sql *s)
{
	return s->driver->changes(s);
}

int sql_version(const struct sql *s, int64_t *ret, struct err *err)
{
	return s->driver->version(s, ret, err);
}

bool sql_is_moved(const struct sql *s)
{
	return s->driver->is_moved(s);
}

int sql_check(const struct sql *s, sql_finding_fn *fn, void *ctx, struct err *err)
{
	return s->driver->check(s, fn, ctx, err);
}

static void finding_first(void *ctx, struct str finding)
{
	struct err *first = ctx;
	if (!first->code)
		err_set(first, ERR_DAMAGED, STR_FMT, STR_ARG(str_head(finding, 200)));
}

int sql_verify(const struct sql *s, struct err *err)
{
	struct err first = {0};
	int rc = sql_check(s, finding_first, &first, err);
	if (rc == 1)
		err_set(err, ERR_DAMAGED, "%s: %s", s->path, first.msg);
	return rc;
}
