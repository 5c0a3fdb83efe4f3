/* Looking at a whole database of small state, printing it, and mending a damaged one. It is read by
 * what it says of itself (small_tables), so that any program can do this without the declarations.
 *
 * A damaged one is first copied, as far as it can be read, to a file that has another name; the
 * last step but one renames that to a name that says it is complete. From there on it is certain to
 * take the place of the damaged one, whichever process is killed meanwhile. The damaged one's log
 * is moved before the new one gets its name: SQLite would take it for the new one's. */
#include "store/small_inner.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { PAGE = 4096, HEAD_COPY_MOST = 256 << 20 };

/* Walking */

/* Rows of a table, each checked by its shape. */
struct walk {
	const struct sql *sql;
	const struct small_shape *shape;
	struct sql_st *st;
	struct sql_value v[SMALL_VALUES];
};

static int walk_begin(struct walk *w, const struct sql *sql, const struct small_shape *shape,
		      enum small_statement which, struct err *err)
{
	*w = (struct walk){.sql = sql, .shape = shape};
	if (small_compile(sql, shape, which, &w->st, err) < 0)
		return -1;
	if (sql_columns(w->st) == (int)shape->n + 1)
		return 0;
	sql_finish(&w->st);
	return err_set(err, ERR_DAMAGED, "%s: table %s: not made as its description says",
		       sql->path, shape->name);
}

/* 0, 1: no more, 2: a row that is not what was written; err says how. */
enum { WALK_BAD = 2 };
static int walk_next(struct walk *w, struct err *err)
{
	const char *why;
	int rc = sql_step(w->sql, w->st, err);
	if (rc)
		return rc;
	for (size_t i = 0; i <= w->shape->n; i++)
		w->v[i] = sql_value(w->st, (int)i);
	if (small_values_ok(w->shape, w->v, &why))
		return 0;
	err_set(err, ERR_DAMAGED, "%s: table %s: a row is not what was written: %s", w->sql->path,
		w->shape->name, why);
	return WALK_BAD;
}

static void walk_end(struct walk *w)
{
	sql_finish(&w->st);
}

/* Looking */

static int shape_is_made(const struct sql *sql, const struct small_shape *shape, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SMALL_STATEMENT);
	struct sql_st *st;
	if (sql_compile(sql, "SELECT sql FROM sqlite_schema WHERE type='table' AND name=?1", &st,
			err) < 0)
		return -1;
	sql_bind_text(st, 1, str_of(shape->name));
	int rc = sql_step(sql, st, err);
	small_statement(shape, SMALL_MAKE, &text);
	if (rc == 1 || (rc == 0 && !str_eq(sql_str(st, 0), buf_str(&text))))
		rc = err_set(err, ERR_DAMAGED, "%s: table %s: not made as its description says",
			     sql->path, shape->name);
	sql_finish(&st);
	return rc;
}

/* What a foreign schema makes of the table that describes the others is not even read. */
static int tables_are_made(const struct sql *sql, struct err *err)
{
	struct small_shape shape;
	small_shape_of(&small_tables, &shape);
	return shape_is_made(sql, &shape, err);
}

static int table_verify(const struct sql *sql, const struct small_known *known, bool *in_row,
			struct err *err)
{
	struct small_shape shape;
	struct walk w;
	uint64_t rows = 0;
	if (small_shape_parse(known, &shape, err) < 0)
		return err_in(err, "%s", sql->path);
	if (shape_is_made(sql, &shape, err) < 0 || walk_begin(&w, sql, &shape, SMALL_EACH, err) < 0)
		return -1;
	int rc;
	while ((rc = walk_next(&w, err)) == 0)
		rows++;
	walk_end(&w);
	*in_row = rc == WALK_BAD;
	if (rc != 1)
		return -1;
	return rows <= known->most
		       ? 0
		       : err_set(err, ERR_DAMAGED,
				 "%s: table %s: %" PRIu64 " rows, at most %" PRIu64 " may be there",
				 sql->path, known->name, rows, known->most);
}

/* Calls fn for each table that the database says it has. */
typedef int known_fn(void *ctx, const struct small_known *known, struct err *err);
static int known_each(const struct sql *sql, enum small_statement way, known_fn *fn, void *ctx,
		      struct err *err)
{
	struct small_shape shape;
	struct small_known known;
	struct walk w;
	small_shape_of(&small_tables, &shape);
	if (walk_begin(&w, sql, &shape, way, err) < 0)
		return -1;
	int rc, bad = 0;
	while ((rc = walk_next(&w, err)) == 0 || rc == WALK_BAD) {
		if (rc == WALK_BAD) {
			bad = -1;
			continue;
		}
		small_values_take(&small_tables, w.v, &known);
		if (fn(ctx, &known, err) < 0)
			break;
	}
	walk_end(&w);
	return rc == 1 ? bad : -1;
}

struct look {
	const struct sql *sql;
	uint64_t tables;
	bool in_row; /* what is wrong is a row, and nothing that holds it */
};

static int look_at(void *ctx, const struct small_known *known, struct err *err)
{
	struct look *l = ctx;
	if (strcmp(known->name, SMALL_ANY) == 0)
		return 0;
	l->tables++;
	return table_verify(l->sql, known, &l->in_row, err);
}

/* *in_row: rows can be read, and one of them is not what was written. */
static int rows_verify(const struct sql *sql, bool *in_row, struct err *err)
{
	struct look l = {.sql = sql};
	int64_t objects = 0;
	int rc = tables_are_made(sql, err);
	if (rc == 0)
		rc = known_each(sql, SMALL_EACH, look_at, &l, err);
	*in_row = l.in_row;
	if (rc < 0 ||
	    sql_number(sql, "SELECT count(*) FROM sqlite_schema", NULL, 0, &objects, err) < 0)
		return -1;
	if ((uint64_t)objects != l.tables + 1)
		return err_set(err, ERR_DAMAGED, "%s: something is in it that nobody has described",
			       sql->path);
	return 0;
}

int small_verify(const struct sql *sql, struct err *err)
{
	bool in_row;
	int rc = sql_verify(sql, err);
	if (rc == 0)
		rc = rows_verify(sql, &in_row, err);
	return rc < 0 && err->code == ERR_DAMAGED ? 1 : rc;
}

/* Printing */

struct print {
	const struct sql *sql;
	const char *only;
	struct printer *p;
	bool found;
};

static int table_print(void *ctx, const struct small_known *known, struct err *err)
{
	struct print *out = ctx;
	struct small_shape shape;
	struct walk w;
	struct str loss = str_of(known->loss);
	size_t cut = str_find(loss, STR("; "));
	int rc;
	if (strcmp(known->name, SMALL_ANY) == 0 ||
	    (out->only && strcmp(known->name, out->only) != 0))
		return 0;
	out->found = true;
	if (small_shape_parse(known, &shape, err) < 0 ||
	    walk_begin(&w, out->sql, &shape, SMALL_EACH, err) < 0)
		return -1;
	buf_printf(&out->p->out, "table %s: written by ", known->name);
	put_safe(&out->p->out, str_of(known->writer));
	buf_add_text(&out->p->out, "; holds ");
	put_safe(&out->p->out, str_head(loss, cut));
	if (cut < loss.n) {
		buf_add_text(&out->p->out, "; if lost: ");
		put_safe(&out->p->out, str_from(loss, cut + 2));
	}
	buf_add_text(&out->p->out, known->lost ? "; rows may have been lost\n" : "\n");
	while ((rc = walk_next(&w, err)) == 0) {
		small_values_print(&shape, w.v, &out->p->out);
		printer_step(out->p);
	}
	walk_end(&w);
	return rc == 1 ? 0 : -1;
}

int small_print(const struct sql *sql, const char *only, struct printer *p, struct err *err)
{
	struct print out = {.sql = sql, .only = only, .p = p};
	if (tables_are_made(sql, err) < 0 ||
	    known_each(sql, SMALL_EACH, table_print, &out, err) < 0)
		return -1;
	return only && !out.found ? 1 : 0;
}

/* Rescuing */

struct rescue {
	struct sql old, new;
	bool all;    /* pages are damaged: rows may lack anywhere */
	bool failed; /* the new one could not be written */
};

static int values_add(struct rescue *r, struct sql_st *st, const struct sql_value *v, size_t n,
		      uint64_t *kept, struct err *err)
{
	sql_bind_all(st, v, n);
	if (sql_run(&r->new, st, err) < 0)
		return -1;
	*kept += sql_changes(&r->new);
	return 0;
}

/* Rows one way, until one cannot be read or there are enough. 1: all rows were there, and right. */
static int rows_copy(struct rescue *r, const struct small_shape *shape, enum small_statement way,
		     uint64_t most, uint64_t *kept, struct err *err)
{
	struct sql_st *add;
	struct walk w;
	struct err why;
	bool whole = true;
	int rc;
	if (walk_begin(&w, &r->old, shape, way, &why) < 0)
		return 0;
	if (small_compile(&r->new, shape, SMALL_ADD_NEW, &add, err) < 0) {
		walk_end(&w);
		return -1;
	}
	while ((rc = walk_next(&w, &why)) == 0 || rc == WALK_BAD) {
		whole &= rc == 0 && *kept < most;
		if (rc == 0 && *kept < most && values_add(r, add, w.v, shape->n + 1, kept, err) < 0)
			break;
	}
	walk_end(&w);
	sql_finish(&add);
	if (rc == 0)
		return -1; /* the new one failed */
	return rc == 1 && whole;
}

/* A description into the new database; one that is there stays. */
static int known_write(struct rescue *r, const struct small_known *known, struct err *err)
{
	struct small_shape shape;
	struct sql_value v[SMALL_VALUES];
	struct sql_st *st;
	uint64_t kept = 0;
	small_shape_of(&small_tables, &shape);
	if (small_compile(&r->new, &shape, SMALL_ADD_NEW, &st, err) < 0)
		return -1;
	small_values_of(&small_tables, known, &shape, v);
	int rc = values_add(r, st, v, shape.n + 1, &kept, err);
	sql_finish(&st);
	return rc;
}

static int rescue_table(struct rescue *r, struct small_known *known,
			const struct small_shape *shape, struct err *err)
{
	uint64_t kept = 0;
	if (small_table_make(&r->new, shape, err) < 0)
		return -1;
	int whole = rows_copy(r, shape, SMALL_EACH, known->most, &kept, err);
	if (whole == 0)
		whole = rows_copy(r, shape, SMALL_EACH_DOWN, known->most, &kept, err) < 0 ? -1 : 0;
	if (whole < 0)
		return -1;
	if (!whole || r->all) {
		known->lost = true;
		log_warn(FILES, "small state was damaged; rows may be lost",
			 KV_TEXT("file", r->old.path), KV_TEXT("table", known->name),
			 KV_UINT("kept", kept),
			 known->loss[0] ? KV_TEXT("loss", known->loss) : (struct log_kv){0});
	}
	return known_write(r, known, err);
}

/* What the schema says of a table: its columns, without their bounds. */
static bool shape_raw(const struct sql *old, const char *name, struct small_shape *ret)
{
	struct sql_st *st;
	struct err err;
	bool sum = false;
	*ret = (struct small_shape){0};
	snprintf(ret->name, sizeof ret->name, "%s", name);
	if (sql_compile(old, "SELECT name,type,pk FROM pragma_table_info(?1)", &st, &err) < 0)
		return false;
	sql_bind_text(st, 1, str_of(ret->name));
	while (sql_step(old, st, &err) == 0) {
		struct str column = sql_str(st, 0), type = sql_str(st, 1);
		if (sum || !small_name_ok(column) || ret->n == SMALL_COLUMNS) {
			sum = false;
			break;
		}
		if ((sum = str_is(column, "sum")))
			continue;
		struct small_shape_column *c = &ret->column[ret->n++];
		*c = (struct small_shape_column){.type = str_is(type, "INTEGER") ? SMALL_UINT
							 : str_is(type, "TEXT")  ? SMALL_TEXT
										 : SMALL_STR,
						 .most = UINT64_MAX};
		snprintf(c->name, sizeof c->name, STR_FMT, STR_ARG(column));
		ret->key += sql_i64(st, 2) > 0;
	}
	sql_finish(&st);
	return sum && ret->n;
}

/* The description of a table, if its row can be read. */
static int known_match(void *ctx, const struct small_known *known, struct err *err)
{
	struct small_known *ret = ctx;
	(void)err;
	if (strcmp(known->name, ret->name) == 0)
		*ret = *known;
	return 0;
}

/* A table whose rows can be reached. Where its description cannot be read, its columns are taken
 * from the schema, and the next start of its owner says what they may hold. */
static int rescue_made(struct rescue *r, struct str name, struct err *err)
{
	struct small_known known = {.most = UINT64_MAX};
	struct small_shape raw, shape;
	struct err why;
	snprintf(known.name, sizeof known.name, STR_FMT, STR_ARG(name));
	if (known_each(&r->old, SMALL_EACH, known_match, &known, &why) < 0)
		(void)known_each(&r->old, SMALL_EACH_DOWN, known_match, &known, &why);
	if (known.shape[0] && small_shape_parse(&known, &shape, &why) == 0)
		return rescue_table(r, &known, &shape, err);
	if (!shape_raw(&r->old, known.name, &raw))
		return 0;
	known = (struct small_known){.key = (uint8_t)raw.key, .most = UINT64_MAX};
	memcpy(known.name, raw.name, sizeof known.name);
	small_shape_print(&raw, known.shape);
	return rescue_table(r, &known, &raw, err);
}

/* A table whose rows cannot be reached, but which was there. */
static int rescue_unmade(void *ctx, const struct small_known *known, struct err *err)
{
	struct rescue *r = ctx;
	struct small_known lost = *known;
	struct small_shape shape;
	struct err why;
	int64_t one;
	int rc = sql_number(&r->new, "SELECT 1 FROM tables WHERE name=?1",
			    SQL_VALUES(SQL_T(str_of(known->name))), &one, err);
	lost.lost = true;
	if (rc == 1 && strcmp(known->name, SMALL_ANY) == 0) {
		rc = known_write(r, &lost, err);
	} else if (rc == 1 && small_shape_parse(known, &shape, &why) == 0) {
		log_warn(FILES, "small state was damaged; all rows are lost",
			 KV_TEXT("file", r->old.path), KV_TEXT("table", known->name),
			 KV_TEXT("loss", known->loss));
		rc = small_table_make(&r->new, &shape, err) < 0 ? -1 : known_write(r, &lost, err);
	}
	r->failed = rc < 0;
	return MIN(rc, 0);
}

static int rescue_rows(struct rescue *r, struct err *err)
{
	struct sql_st *st;
	struct err why;
	int rc = 0;
	if (sql_compile(&r->old,
			"SELECT name FROM sqlite_schema WHERE type='table' AND name<>'tables' AND "
			"substr(sql,1,13)='CREATE TABLE '",
			&st, &why) == 0) {
		while (rc == 0 && sql_step(&r->old, st, &why) == 0)
			if (small_name_ok(sql_str(st, 0)))
				rc = rescue_made(r, sql_str(st, 0), err);
		sql_finish(&st);
	}
	if (rc == 0 && known_each(&r->old, SMALL_EACH, rescue_unmade, r, err) < 0 && !r->failed)
		(void)known_each(&r->old, SMALL_EACH_DOWN, rescue_unmade, r, err);
	return r->failed ? -1 : rc;
}

/* What the old one cannot say any more is said of all tables. */
static int rescue_all(struct rescue *r, struct err *err)
{
	struct small_known any = {.name = SMALL_ANY, .lost = true};
	if (sql_begin(&r->new, SQL_DURABLE, err) < 0)
		return -1;
	int rc = r->old.driver ? rescue_rows(r, err) : 0;
	if (rc == 0 && r->all)
		rc = known_write(r, &any, err);
	if (rc == 0)
		rc = sql_commit(&r->new, err);
	if (rc < 0)
		sql_rollback(&r->new);
	return rc;
}

/* Files */

static int name_make(const char *path, const char *suffix, char ret[PATH_MAX], struct err *err)
{
	if (snprintf(ret, PATH_MAX, "%s%s", path, suffix) < PATH_MAX)
		return 0;
	return err_set(err, ERR_USAGE, "%s: the path is too long", path);
}

/* ".NAME.new" next to it: everyone takes it for unfinished. */
static int beside_make(const char *path, const char *between, char ret[PATH_MAX], struct err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int n = snprintf(ret, PATH_MAX, "%.*s.%s%s.new", (int)(name - path), path, name, between);
	return n < PATH_MAX ? 0 : err_set(err, ERR_USAGE, "%s: the path is too long", path);
}

int small_waiting(const char *path, char ret[PATH_MAX], struct err *err)
{
	return beside_make(path, "", ret, err);
}

static const char *const suffixes[] = {"-wal", "-shm", ""}; /* the database last */

static int files_remove(const char *path, struct err *err)
{
	char name[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (name_make(path, suffixes[i], name, err) < 0 || file_remove(name, err) < 0)
			return -1;
	return 0;
}

static int files_move(const char *path, const char *to, struct err *err)
{
	char from[PATH_MAX], name[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (name_make(path, suffixes[i], from, err) < 0 ||
		    name_make(to, suffixes[i], name, err) < 0)
			return -1;
		if (access(from, F_OK) == 0 && file_rename(from, name, err) < 0)
			return -1;
		FAULT("small.mend.aside");
	}
	return dir_sync_of(path, err);
}

/* What is complete takes its place. */
static int mend_finish(const char *path, const char *waiting, struct err *err)
{
	char damaged[PATH_MAX];
	if (name_make(path, ".damaged", damaged, err) < 0 || files_move(path, damaged, err) < 0 ||
	    file_rename(waiting, path, err) < 0)
		return -1;
	FAULT("small.mended");
	return dir_sync_of(path, err);
}

/* The head of a database in the first page, as SQLite writes ours: all but what changes. */
static void head_mend(struct buf *b)
{
	static const char first[] = "SQLite format 3\0\x10\0\2\2\0\x40\x20\x20";
	static const char format[] = {0, 0, 0, 4}, encoding[] = {0, 0, 0, 1};
	uint32_t pages = htobe32((uint32_t)(b->n / PAGE));
	memcpy(b->p, first, 24);
	memcpy(b->p + 28, &pages, sizeof pages);
	memset(b->p + 32, 0, 8); /* free pages are not looked for */
	memcpy(b->p + 44, format, sizeof format);
	memset(b->p + 52, 0, 4);
	memcpy(b->p + 56, encoding, sizeof encoding);
	memset(b->p + 64, 0, 4);
	memset(b->p + 72, 0, 20);
	memcpy(b->p + 92, b->p + 24, 4); /* so that the number of pages counts */
}

/* A copy of a damaged one, with its log, whose head is as it should be. */
static int head_copy(const char *path, const char *to, struct err *err)
{
	CLEANUP(buf_free) struct buf all = BUF_INIT(HEAD_COPY_MOST);
	char from[PATH_MAX], log[PATH_MAX];
	if (files_remove(to, err) < 0 || name_make(path, "-wal", from, err) < 0 ||
	    name_make(to, "-wal", log, err) < 0)
		return -1;
	int rc = file_slurp_own(from, &all, err);
	if (rc < 0 || (rc == 0 && file_replace(log, buf_str(&all), 0600, err) < 0))
		return -1;
	buf_clear(&all);
	if (file_slurp_own(path, &all, err) != 0 || all.n < PAGE)
		return -1;
	head_mend(&all);
	return file_replace(to, buf_str(&all), 0600, err);
}

/* 0: its tables can be read, at least what they are. 1: it is open, and that is all. */
static int old_open(struct sql *ret, const char *path, struct err *err)
{
	if (sql_open(ret, path, &small_kind, SQL_RESCUE, err) != 0)
		return -1;
	struct err why;
	return sql_exec(ret, "SELECT count(*) FROM tables", &why) == 0 ? 0 : 1;
}

/* Without its head SQLite reads nothing of a database. */
static void old_find(struct rescue *r, const char *path, const char *copy)
{
	struct err why = {0};
	int rc = old_open(&r->old, path, &why);
	if (rc == 0)
		return;
	struct sql other = {0};
	if (head_copy(path, copy, &why) == 0 && old_open(&other, copy, &why) == 0) {
		sql_close(&r->old);
		r->old = other;
		return;
	}
	sql_close(&other);
	log_warn(FILES,
		 rc < 0 ? "small state was damaged; nothing of it can be read"
			: "small state was damaged; it does not say what was in it",
		 KV_TEXT("file", path), rc < 0 ? KV_TEXT("why", why.msg) : (struct log_kv){0});
}

/* The copy, complete and on disk under its name. */
static int mend_copy(const char *path, const char *part, bool all, struct err *err)
{
	struct rescue r = {.all = all};
	char log[PATH_MAX], copy[PATH_MAX];
	if (beside_make(path, ".head", copy, err) < 0 || files_remove(part, err) < 0 ||
	    small_file_make(part, err) < 0 ||
	    sql_open(&r.new, part, &small_kind, SQL_WRITE, err) < 0)
		return -1;
	FAULT("small.mend.begun");
	old_find(&r, path, copy);
	int rc = rescue_all(&r, err);
	sql_close(&r.old);
	sql_close(&r.new);
	if (rc < 0 || files_remove(copy, err) < 0 || name_make(part, "-wal", log, err) < 0)
		return -1;
	if (access(log, F_OK) == 0) /* what is in it would stay there */
		return err_set(err, ERR_SYSTEM, "%s: cannot be completed", part);
	return 0;
}

static int mend_damaged(const char *path, const char *waiting, bool all, struct err *err)
{
	char part[PATH_MAX], damaged[PATH_MAX];
	if (beside_make(path, ".part", part, err) < 0 ||
	    name_make(path, ".damaged", damaged, err) < 0 || mend_copy(path, part, all, err) < 0)
		return -1;
	bool is_again = access(damaged, F_OK) == 0;
	if (files_remove(damaged, err) < 0)
		return -1;
	if (is_again)
		log_warn(FILES, "removed a database that was damaged earlier",
			 KV_TEXT("file", damaged));
	FAULT("small.mend.copied");
	if (file_rename(part, waiting, err) < 0 || dir_sync_of(path, err) < 0)
		return -1;
	FAULT("small.mend.waits");
	return mend_finish(path, waiting, err);
}

int small_version_before(const char *path, struct err *err)
{
	static const char begin[] = "GARNER";
	char head[sizeof begin - 1];
	struct file f;
	size_t n;
	if (file_open(&f, path, O_RDONLY, 0, err) < 0)
		return 0; /* SQLite says why */
	int rc = file_read(&f, head, sizeof head, 0, &n, err);
	file_drop(&f);
	if (rc < 0 || n < sizeof head || memcmp(head, begin, sizeof head) != 0)
		return MIN(rc, 0);
	return err_set(err, ERR_USAGE,
		       "%s: another version of garner made it: expected a database, found a record "
		       "file; use the garner that made it, or move the file away",
		       path);
}

/* What is wrong with the file, if it is there. */
enum damage { SOUND, DAMAGED_ROW, DAMAGED_ALL };
static int damage_find(const char *path, struct err *err)
{
	struct sql sql;
	bool in_row = false;
	int rc = sql_open(&sql, path, &small_kind, SQL_READ, err);
	if (rc > 0) /* empty, but each had its tables when it got its name */
		return DAMAGED_ALL;
	if (rc == 0) {
		rc = sql_verify(&sql, err);
		if (rc == 0)
			rc = rows_verify(&sql, &in_row, err);
		sql_close(&sql);
	}
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	return rc == 0 ? SOUND : in_row ? DAMAGED_ROW : DAMAGED_ALL;
}

static int log_damaged(const char *path, struct err *err)
{
	if (sql_log_verify(path, err) == 0)
		return SOUND;
	return err->code == ERR_DAMAGED ? DAMAGED_ALL : -1;
}

/* One gets its name when it has its tables. A log of that name is of a database that was removed.
 */
static int mend_make(const char *path, struct err *err)
{
	struct sql new;
	char part[PATH_MAX];
	if (beside_make(path, ".part", part, err) < 0 || files_remove(part, err) < 0 ||
	    small_file_make(part, err) < 0 || sql_open(&new, part, &small_kind, SQL_WRITE, err) < 0)
		return -1;
	sql_close(&new);
	FAULT("small.make");
	if (files_remove(path, err) < 0 || file_rename(part, path, err) < 0)
		return -1;
	return dir_sync_of(path, err);
}

/* What waits to take the place of a damaged one, and of which there may be no other copy. It was
 * complete when it got its name, but others can write into the folder. 1: it is not taken. */
static int waiting_take(const char *path, const char *waiting, struct err *err)
{
	char name[PATH_MAX];
	int damage = damage_find(waiting, err);
	if (damage < 0)
		return -1;
	if (damage == SOUND) {
		for (size_t i = 0; i < ARRAY_LEN(suffixes) - 1; i++) /* of looking at it */
			if (name_make(waiting, suffixes[i], name, err) < 0 ||
			    file_remove(name, err) < 0)
				return -1;
		return mend_finish(path, waiting, err);
	}
	log_warn(FILES, "a mended database is damaged, and not used", KV_TEXT("file", waiting));
	if (access(path, F_OK) == 0)
		return files_remove(waiting, err) < 0 ? -1 : 1;
	return file_rename(waiting, path, err) < 0 ? -1 : 1;
}

int small_mend(const char *path, struct err *err)
{
	char waiting[PATH_MAX];
	if (small_waiting(path, waiting, err) < 0)
		return -1;
	int rc = access(waiting, F_OK) == 0 ? waiting_take(path, waiting, err) : 1;
	if (rc <= 0)
		return rc;
	if (access(path, F_OK) < 0)
		return mend_make(path, err);
	int damage = log_damaged(path, err);
	if (damage == 0)
		damage = damage_find(path, err);
	if (damage > 0 && small_version_before(path, err) < 0)
		return -1;
	return damage > 0 ? mend_damaged(path, waiting, damage == DAMAGED_ALL, err) : damage;
}
