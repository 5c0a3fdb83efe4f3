/* Rows of small state: shapes of tables, rows as values, what a value may be, the sum of a row, and
 * the statements of a table. The database itself says of each table which shape it has, so that it
 * can be looked at, printed and taken over without the declarations, which are other rooms'. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/value.h"
#include "store/small_inner.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

static const struct small_type_ops {
	const char *name, *sql;
	enum sql_type value;
} types[SMALL_TYPES] = {
	[SMALL_UINT] = {"uint", "INTEGER", SQL_INT}, [SMALL_TIME] = {"time", "INTEGER", SQL_INT},
	[SMALL_TEXT] = {"text", "TEXT", SQL_TEXT},   [SMALL_BYTES] = {"bytes", "BLOB", SQL_BLOB},
	[SMALL_STR] = {"str", "BLOB", SQL_BLOB},
};

/* Shapes */

bool small_name_ok(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!(name.p[i] >= 'a' && name.p[i] <= 'z') && name.p[i] != '_' &&
		    !(i && name.p[i] >= '0' && name.p[i] <= '9'))
			return false;
	return name.n && name.n < SMALL_NAME && !str_starts(name, STR("sqlite_"));
}

static enum small_type column_type(const struct column *c)
{
	switch (c->type) {
	case COL_BOOL:
	case COL_UINT:
		return SMALL_UINT;
	case COL_CHARS:
		return SMALL_TEXT;
	case COL_BYTES:
		return SMALL_BYTES;
	case COL_STR:
		return SMALL_STR;
	default:
		ENSURE(c->type == COL_INT && c->size == 8 && c->unit == UNIT_TIME);
		return SMALL_TIME;
	}
}

static uint64_t column_most(const struct column *c)
{
	switch (column_type(c)) {
	case SMALL_UINT:
		if (c->type == COL_BOOL)
			return 1;
		return c->most ? c->most : c->size < 8 ? (1ULL << 8 * c->size) - 1 : UINT64_MAX;
	case SMALL_TIME:
		return INT64_MAX;
	case SMALL_TEXT:
		return c->size - 1;
	case SMALL_BYTES:
		return c->size;
	default:
		ENSURE(c->most && c->most <= SMALL_STR_MOST);
		return c->most;
	}
}

void small_shape_of(const struct small_table *t, struct small_shape *ret)
{
	ENSURE(t->row.n <= SMALL_COLUMNS && t->key <= t->row.n && small_name_ok(str_of(t->name)));
	*ret = (struct small_shape){.n = t->row.n, .key = t->key};
	snprintf(ret->name, sizeof ret->name, "%s", t->name);
	for (size_t i = 0; i < t->row.n; i++) {
		const struct column *c = &t->row.column[i];
		ENSURE(small_name_ok(str_of(c->key)) && strcmp(c->key, "sum") != 0);
		snprintf(ret->column[i].name, SMALL_NAME, "%s", c->key);
		ret->column[i].type = column_type(c);
		ret->column[i].most = column_most(c);
	}
}

void small_shape_print(const struct small_shape *shape, char ret[SMALL_SHAPE])
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SMALL_SHAPE);
	for (size_t i = 0; i < shape->n; i++)
		buf_printf(&out, "%s%s=%s:%" PRIu64, i ? " " : "", shape->column[i].name,
			   types[shape->column[i].type].name, shape->column[i].most);
	ENSURE(!out.over && out.n < SMALL_SHAPE);
	memcpy(ret, buf_text(&out), out.n + 1);
}

/* "name=text:255" */
static bool shape_column(struct str word, struct small_shape_column *ret)
{
	size_t equals = str_find_byte(word, '='), colon = str_find_byte(word, ':');
	struct str name = str_head(word, equals);
	if (equals >= colon || !small_name_ok(name) ||
	    !str_u64(str_from(word, colon + 1), &ret->most))
		return false;
	snprintf(ret->name, sizeof ret->name, STR_FMT, STR_ARG(name));
	struct str type = str_from(str_head(word, colon), equals + 1);
	for (int i = 0; i < SMALL_TYPES; i++)
		if (str_is(type, types[i].name)) {
			ret->type = (enum small_type)i;
			return true;
		}
	return false;
}

static bool column_is_new(const struct small_shape *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(s->column[k].name, s->column[i].name) == 0)
			return false;
	return strcmp(s->column[i].name, "sum") != 0;
}

int small_shape_parse(const struct small_known *known, struct small_shape *ret, struct err *err)
{
	struct str rest = str_of(known->shape), word;
	char shown[VALUE_SHOWN];
	bool ok = small_name_ok(str_of(known->name)) && strcmp(known->name, small_tables.name) != 0;
	*ret = (struct small_shape){.key = known->key};
	memcpy(ret->name, known->name, sizeof ret->name);
	while (ok && str_cut(&rest, ' ', &word) == 0) {
		ok = ret->n < SMALL_COLUMNS && shape_column(word, &ret->column[ret->n]) &&
		     column_is_new(ret, ret->n);
		ret->n += ok;
	}
	if (ok && ret->n && ret->key <= ret->n)
		return 0;
	return err_set(err, ERR_DAMAGED, "table '%s': its columns are not known",
		       value_show(str_of(known->name), shown));
}

/* Values */

static struct sql_value value_of(const struct column *c, const char *from)
{
	enum small_type type = column_type(c);
	struct sql_value v = {.type = types[type].value};
	if (v.type == SQL_INT)
		v.n = (int64_t)rows_number(c, from);
	else if (type == SMALL_TEXT)
		v.s = (struct str){from, strnlen(from, c->size - 1)};
	else if (type == SMALL_BYTES)
		v.s = (struct str){from, c->size};
	else
		memcpy(&v.s, from, sizeof v.s);
	return v;
}

uint64_t small_values_sum(const char *table, const struct sql_value *v, size_t n)
{
	struct xxh64 h;
	xxh64_begin(&h);
	xxh64_add(&h, table, strlen(table) + 1);
	for (size_t i = 0; i < n; i++) {
		uint64_t value = v[i].type == SQL_INT ? (uint64_t)v[i].n : v[i].s.n;
		uint64_t head[] = {htole64(v[i].type), htole64(value)};
		xxh64_add(&h, head, sizeof head);
		xxh64_add(&h, v[i].s.p, v[i].s.n);
	}
	return xxh64_end(&h);
}

void small_values_of(const struct small_table *t, const void *row, const struct small_shape *shape,
		     struct sql_value ret[SMALL_VALUES])
{
	for (size_t i = 0; i < t->row.n; i++)
		ret[i] = value_of(&t->row.column[i], (const char *)row + t->row.column[i].offset);
	ret[t->row.n] = (struct sql_value){
		.type = SQL_INT,
		.n = (int64_t)small_values_sum(shape->name, ret, t->row.n),
	};
}

static bool value_ok(const struct small_shape_column *c, const struct sql_value *v)
{
	if (v->type != types[c->type].value)
		return false;
	switch (c->type) {
	case SMALL_UINT:
		return (uint64_t)v->n <= c->most;
	case SMALL_TIME:
		return v->n >= 0;
	case SMALL_TEXT:
		return v->s.n <= c->most && !memchr(v->s.p, 0, v->s.n);
	case SMALL_BYTES:
		return v->s.n == c->most;
	default:
		return v->s.n <= c->most;
	}
}

bool small_values_ok(const struct small_shape *shape, const struct sql_value *v,
		     const char **ret_why)
{
	for (size_t i = 0; i < shape->n; i++)
		if (!value_ok(&shape->column[i], &v[i])) {
			*ret_why = shape->column[i].name;
			return false;
		}
	*ret_why = "checksum";
	return v[shape->n].type == SQL_INT &&
	       (uint64_t)v[shape->n].n == small_values_sum(shape->name, v, shape->n);
}

void small_values_take(const struct small_table *t, const struct sql_value *v, void *row)
{
	for (size_t i = 0; i < t->row.n; i++) {
		const struct column *c = &t->row.column[i];
		char *to = (char *)row + c->offset;
		if (c->type == COL_STR) {
			memcpy(to, &v[i].s, sizeof v[i].s);
		} else if (v[i].type == SQL_INT) {
			rows_number_set(c, (uint64_t)v[i].n, to);
		} else {
			memset(to, 0, c->size);
			memcpy(to, v[i].s.p, v[i].s.n);
		}
	}
}

void small_values_print(const struct small_shape *shape, const struct sql_value *v, struct buf *out)
{
	for (size_t i = 0; i < shape->n; i++) {
		buf_printf(out, "%s%s=", i ? " " : "", shape->column[i].name);
		switch (shape->column[i].type) {
		case SMALL_UINT:
			buf_printf(out, "%" PRIu64, (uint64_t)v[i].n);
			break;
		case SMALL_TIME:
			if (v[i].n) /* else it is not known, or never */
				time_print(out, v[i].n, 0);
			break;
		case SMALL_BYTES:
			put_hex(out, v[i].s.p, v[i].s.n);
			break;
		default:
			buf_add_byte(out, '\'');
			put_ascii(out, v[i].s);
			buf_add_byte(out, '\'');
		}
	}
	buf_add_byte(out, '\n');
}

/* Statements: names are quoted, since a damaged one may be a word of SQL. */

static void names_add(const struct small_shape *s, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s\"%s\"", i ? "," : "", s->column[i].name);
}

static void marks_add(size_t n, struct buf *out)
{
	for (size_t i = 1; i <= n; i++)
		buf_printf(out, "%s?%zu", i > 1 ? "," : "", i);
}

/* " WHERE (a,b)=(?1,?2)"; nothing for a table of one row */
static void where_add(const struct small_shape *s, const char *compare, struct buf *out)
{
	if (s->key == 0)
		return;
	buf_add_text(out, " WHERE (");
	names_add(s, s->key, out);
	buf_printf(out, ")%s(", compare);
	marks_add(s->key, out);
	buf_add_byte(out, ')');
}

static void make_add(const struct small_shape *s, struct buf *out)
{
	buf_printf(out, "CREATE TABLE \"%s\"(", s->name);
	for (size_t i = 0; i < s->n; i++)
		buf_printf(out, "\"%s\" %s NOT NULL,", s->column[i].name,
			   types[s->column[i].type].sql);
	buf_add_text(out, "sum INTEGER NOT NULL,PRIMARY KEY(");
	names_add(s, MAX(s->key, 1), out);
	buf_add_text(out, ")) STRICT, WITHOUT ROWID");
}

static void set_add(const struct small_shape *s, struct buf *out)
{
	buf_printf(out, "UPDATE \"%s\" SET ", s->name);
	for (size_t i = s->key; i < s->n; i++)
		buf_printf(out, "\"%s\"=?%zu,", s->column[i].name, i + 1);
	buf_printf(out, "sum=?%zu", s->n + 1);
	where_add(s, "=", out);
}

static void add_add(const struct small_shape *s, struct buf *out)
{
	buf_printf(out, "INSERT INTO \"%s\"(", s->name);
	names_add(s, s->n, out);
	buf_add_text(out, ",sum) VALUES(");
	marks_add(s->n + 1, out);
	buf_add_byte(out, ')');
}

/* By place: the names may be what is damaged. */
static void order_add(const struct small_shape *s, const char *way, struct buf *out)
{
	buf_add_text(out, " ORDER BY ");
	for (size_t i = 0; i < MAX(s->key, 1); i++)
		buf_printf(out, "%s%zu%s", i ? "," : "", i + 1, way);
}

/* Those that are a few words and a place; the others have their own functions. */
static const struct form {
	const char *begin, *compare, *order;
} forms[SMALL_STATEMENTS] = {
	[SMALL_GET] = {"SELECT *", .compare = "="},
	[SMALL_FROM] = {"SELECT *", ">=", ""},
	[SMALL_EACH] = {"SELECT *", .order = ""},
	[SMALL_EACH_DOWN] = {"SELECT *", .order = " DESC"},
	[SMALL_COUNT] = {"SELECT count(*)"},
	[SMALL_DROP] = {"DELETE", .compare = "="},
	[SMALL_DROP_ALL] = {"DELETE"},
};

void small_statement(const struct small_shape *s, enum small_statement which, struct buf *out)
{
	const struct form *f = &forms[which];
	buf_clear(out);
	if (f->begin)
		buf_printf(out, "%s FROM \"%s\"", f->begin, s->name);
	else if (which == SMALL_MAKE)
		make_add(s, out);
	else if (which == SMALL_SET)
		set_add(s, out);
	else
		add_add(s, out);
	if (which == SMALL_ADD_NEW)
		buf_add_text(out, " ON CONFLICT DO NOTHING");
	if (f->compare)
		where_add(s, f->compare, out);
	if (f->order)
		order_add(s, f->order, out);
	ENSURE(!out->over);
}

int small_compile(const struct sql *sql, const struct small_shape *shape,
		  enum small_statement which, struct sql_st **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SMALL_STATEMENT);
	small_statement(shape, which, &text);
	return sql_compile(sql, buf_text(&text), ret, err);
}

int small_table_make(const struct sql *sql, const struct small_shape *shape, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SMALL_STATEMENT);
	small_statement(shape, SMALL_MAKE, &text);
	return sql_exec(sql, buf_text(&text), err);
}
