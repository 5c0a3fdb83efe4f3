/* Small state: tables of rows in one database, for several processes at once. SQLite with a
 * write-ahead log does the work. A commit is synced, or is not where a power cut may take it back:
 * then it waits in the log, where no kill of a process loses it, and the next synced commit of
 * anyone takes it along, so that what is durable never lacks what came before it.
 *
 * Everyone who has a database open holds a shared lock of its folder (flock), so that a damaged one
 * is replaced only while nobody has it open. The lock of the first who opens it is exclusive for as
 * long as it takes to look at all rows. */
#include "store/database_format.h"
#include "store/small_inner.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/vec.h"
#include "disk/lock.h"

#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { WAIT_MS = 10000, PAUSE_MS = 10 };

struct open_table {
	const struct small_table *t;
	struct small_shape shape;
	struct sql_st *st[SMALL_STATEMENTS];
	bool is_there, lost;
	bool counted; /* `count` held at this version of the database */
	uint64_t count;
	int64_t version;
};

struct small {
	struct sql sql;
	struct file folder; /* its lock */
	pid_t pid;
	bool grouped, loose;
	struct buf room; /* what COL_STRs of small_get() point to */
	size_t n;
	struct open_table table[]; /* the first is small_tables */
};

#define S struct small_known
static const struct column known_columns[] = {
	COL("name", S, name), COL("shape", S, shape),   COL("keys", S, key, .most = SMALL_COLUMNS),
	COL("most", S, most), COL("writer", S, writer), COL("loss", S, loss),
	COL("lost", S, lost),
};

const struct small_table small_tables = {
	.name = "tables",
	.row = {ROWS(S, known_columns)},
	.key = 1,
	.most = 1000,
	.writer = "every role",
	.loss = "what the other tables are for; the next start of each role writes it again",
};
#undef S

/* As small_statement() would make it. */
static const char *const schema[] = {
	"CREATE TABLE \"tables\"(\"name\" TEXT NOT NULL,\"shape\" TEXT NOT NULL,"
	"\"keys\" INTEGER NOT NULL,\"most\" INTEGER NOT NULL,\"writer\" TEXT NOT NULL,"
	"\"loss\" TEXT NOT NULL,\"lost\" INTEGER NOT NULL,sum INTEGER NOT NULL,"
	"PRIMARY KEY(\"name\")) STRICT, WITHOUT ROWID",
	NULL,
};

const struct sql_kind small_kind = {
	.application_id = DATABASE_SMALL,
	.version = DATABASE_SMALL_VERSION,
	.schema = schema,
	.remedy = DATABASE_SMALL_REMEDY,
	.cache_kb = 512,
	.busy_ms = WAIT_MS,
	.value_most = 1 << 20,
	.is_tidy = true,
};

/* Statements */

static struct open_table *table_of(struct small *s, const struct small_table *t)
{
	ENSURE(s->pid == getpid());
	for (size_t i = 0; i < s->n; i++)
		if (s->table[i].t == t)
			return &s->table[i];
	die("%s: table %s was not opened", s->sql.path, t->name);
}

static int statement_of(struct small *s, struct open_table *o, enum small_statement which,
			struct sql_st **ret, struct err *err)
{
	if (!o->st[which] && small_compile(&s->sql, &o->shape, which, &o->st[which], err) < 0)
		return -1;
	*ret = o->st[which];
	return 0;
}

static void values_get(struct sql_st *st, struct sql_value *ret, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = sql_value(st, (int)i);
}

static int row_damaged(const struct small *s, const struct open_table *o, const char *why,
		       struct err *err)
{
	err_set(err, ERR_DAMAGED, "%s: table %s: a row is not what was written: %s", s->sql.path,
		o->t->name, why);
	return err_then(err, "%s", small_kind.remedy);
}

/* A table that did not exist when a reader opened the database may since have been made. */
static int table_missing(struct small *s, struct open_table *o, struct err *err)
{
	int64_t one;
	int rc = o->is_there
			 ? 0
			 : sql_number(&s->sql,
				      "SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?1",
				      SQL_VALUES(SQL_T(str_of(o->t->name))), &one, err);
	o->is_there = rc == 0;
	return rc;
}

/* Reading */

/* What the values point to, where the statement does not lose it. */
static void strs_keep(struct small *s, const struct small_table *t, struct sql_value *v)
{
	size_t need = 1;
	for (size_t i = 0; i < t->row.n; i++)
		need += t->row.column[i].type == COL_STR ? v[i].s.n : 0;
	buf_clear(&s->room);
	ENSURE(buf_room(&s->room, need));
	for (size_t i = 0; i < t->row.n; i++)
		if (t->row.column[i].type == COL_STR) {
			size_t at = s->room.n;
			buf_add_str(&s->room, v[i].s);
			v[i].s.p = s->room.p + at;
		}
}

int small_get(struct small *s, const struct small_table *t, void *row, struct err *err)
{
	struct open_table *o = table_of(s, t);
	struct sql_value v[SMALL_VALUES];
	struct sql_st *st;
	const char *why;
	int rc = table_missing(s, o, err);
	if (rc)
		return rc;
	if (statement_of(s, o, SMALL_GET, &st, err) < 0)
		return -1;
	small_values_of(t, row, &o->shape, v);
	sql_bind_all(st, v, t->key);
	rc = sql_step(&s->sql, st, err);
	if (rc)
		return rc;
	values_get(st, v, t->row.n + 1);
	if (small_values_ok(&o->shape, v, &why)) {
		strs_keep(s, t, v);
		small_values_take(t, v, row);
	} else {
		rc = row_damaged(s, o, why, err);
	}
	sql_reset(st);
	return rc;
}

/* Counting reads a page for each hundred rows or so, and is done again only after others have
 * committed something. */
static int table_count(struct small *s, struct open_table *o, uint64_t *ret, struct err *err)
{
	struct sql_st *st;
	int64_t version;
	if (sql_version(&s->sql, &version, err) < 0 ||
	    statement_of(s, o, SMALL_COUNT, &st, err) < 0)
		return -1;
	if (!o->counted || o->version != version) {
		if (sql_step(&s->sql, st, err) != 0)
			return -1;
		o->count = sql_u64(st, 0);
		o->version = version;
		o->counted = true;
		sql_reset(st);
	}
	*ret = o->count;
	return 0;
}

int small_count(struct small *s, const struct small_table *t, uint64_t *ret, struct err *err)
{
	struct open_table *o = table_of(s, t);
	int rc = table_missing(s, o, err);
	if (rc == 0)
		return table_count(s, o, ret, err);
	*ret = 0;
	return MIN(rc, 0);
}

void small_iter_init(struct small_iter *it, struct small *s, const struct small_table *t,
		     const void *from)
{
	struct open_table *o = table_of(s, t);
	*it = (struct small_iter){.s = s, .t = t};
	int rc = table_missing(s, o, &it->err);
	if (rc == 0)
		rc = small_compile(&s->sql, &o->shape, from && t->key ? SMALL_FROM : SMALL_EACH,
				   &it->st, &it->err);
	it->failed = rc < 0;
	if (rc == 0 && from) {
		struct sql_value v[SMALL_VALUES];
		small_values_of(t, from, &o->shape, v);
		sql_bind_all(it->st, v, t->key);
	}
}

int small_iter_next(struct small_iter *it, void *row, struct err *err)
{
	struct sql_value v[SMALL_VALUES];
	const char *why;
	if (it->failed)
		*err = it->err;
	if (it->failed || !it->st)
		return it->failed ? -1 : 1;
	int rc = sql_step(&it->s->sql, it->st, err);
	if (rc == 0) {
		struct open_table *o = table_of(it->s, it->t);
		values_get(it->st, v, it->t->row.n + 1);
		if (!small_values_ok(&o->shape, v, &why))
			return row_damaged(it->s, o, why, err);
		small_values_take(it->t, v, row);
	} else {
		small_iter_done(it);
	}
	return rc;
}

void small_iter_done(struct small_iter *it)
{
	if (it->st)
		sql_finish(&it->st);
}

/* Writing */

int small_begin(struct small *s, bool loose, struct err *err)
{
	ENSURE(!s->grouped && s->pid == getpid());
	if (sql_begin(&s->sql, loose ? SQL_LOOSE : SQL_DURABLE, err) < 0)
		return -1;
	s->grouped = true;
	s->loose = loose;
	return 0;
}

int small_end(struct small *s, int rc, struct err *err)
{
	ENSURE(s->grouped);
	s->grouped = false;
	if (rc == 0) {
		FAULT("small.commit");
		rc = sql_commit(&s->sql, err);
		FAULT("small.committed");
	}
	if (rc == 0)
		return 0;
	sql_rollback(&s->sql);
	for (size_t i = 0; i < s->n; i++)
		s->table[i].counted = false;
	return rc;
}

/* One change: within a group, or as a group of its own. 1: it changes nothing. */
typedef int small_change_fn(struct small *s, struct open_table *o, const void *row, size_t n,
			    struct err *err);
static int change_make(struct small *s, const struct small_table *t, small_change_fn *fn,
		       const void *row, size_t n, struct err *err)
{
	struct open_table *o = table_of(s, t);
	if (s->grouped) {
		ENSURE(t->loose || !s->loose);
		return fn(s, o, row, n, err);
	}
	if (small_begin(s, t->loose, err) < 0)
		return -1;
	return small_end(s, fn(s, o, row, n, err), err);
}

static int values_run(struct small *s, struct open_table *o, enum small_statement which,
		      const struct sql_value *v, size_t n, struct err *err)
{
	struct sql_st *st;
	if (statement_of(s, o, which, &st, err) < 0)
		return -1;
	sql_bind_all(st, v, n);
	return sql_run(&s->sql, st, err);
}

static int values_for(struct small *s, struct open_table *o, const void *row,
		      struct sql_value v[SMALL_VALUES], struct err *err)
{
	const char *why;
	small_values_of(o->t, row, &o->shape, v);
	if (small_values_ok(&o->shape, v, &why))
		return 0;
	return err_set(err, ERR_USAGE, "%s: table %s: %s: not a value that it may have",
		       s->sql.path, o->t->name, why);
}

static int row_drop_all(struct small *s, struct open_table *o, const void *row, size_t n,
			struct err *err)
{
	(void)row;
	(void)n;
	if (values_run(s, o, SMALL_DROP_ALL, NULL, 0, err) < 0)
		return -1;
	o->counted = false;
	return 0;
}

static int row_put(struct small *s, struct open_table *o, const void *row, size_t n,
		   struct err *err)
{
	struct sql_value v[SMALL_VALUES];
	uint64_t count;
	(void)n;
	if (values_for(s, o, row, v, err) < 0)
		return -1;
	if (o->t->key == 0) {
		if (row_drop_all(s, o, NULL, 0, err) < 0)
			return -1;
		return values_run(s, o, SMALL_ADD, v, o->t->row.n + 1, err);
	}
	if (values_run(s, o, SMALL_SET, v, o->t->row.n + 1, err) < 0)
		return -1;
	if (sql_changes(&s->sql))
		return 0;
	if (table_count(s, o, &count, err) < 0)
		return -1;
	if (count >= o->t->most)
		return 1;
	o->count++;
	return values_run(s, o, SMALL_ADD, v, o->t->row.n + 1, err);
}

static int row_drop(struct small *s, struct open_table *o, const void *row, size_t n,
		    struct err *err)
{
	struct sql_value v[SMALL_VALUES];
	(void)n;
	small_values_of(o->t, row, &o->shape, v);
	if (values_run(s, o, SMALL_DROP, v, o->t->key, err) < 0)
		return -1;
	uint64_t gone = sql_changes(&s->sql);
	o->count -= o->counted ? gone : 0;
	return gone ? 0 : 1;
}

static int rows_replace(struct small *s, struct open_table *o, const void *rows, size_t n,
			struct err *err)
{
	int rc = n > o->t->most ? 1 : row_drop_all(s, o, NULL, 0, err);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = row_put(s, o, (const char *)rows + i * o->t->row.size, 1, err);
	return rc;
}

int small_put(struct small *s, const struct small_table *t, const void *row, struct err *err)
{
	return change_make(s, t, row_put, row, 1, err);
}

int small_delete(struct small *s, const struct small_table *t, const void *row, struct err *err)
{
	return change_make(s, t, row_drop, row, 1, err);
}

int small_replace(struct small *s, const struct small_table *t, const void *rows, size_t n,
		  struct err *err)
{
	return change_make(s, t, rows_replace, rows, n, err);
}

/* Opening */

static void known_of(const struct open_table *o, struct small_known *ret)
{
	*ret = (struct small_known){.key = (uint8_t)o->t->key, .most = o->t->most, .lost = o->lost};
	snprintf(ret->name, sizeof ret->name, "%s", o->t->name);
	snprintf(ret->writer, sizeof ret->writer, "%s", o->t->writer);
	snprintf(ret->loss, sizeof ret->loss, "%s", o->t->loss);
	small_shape_print(&o->shape, ret->shape);
}

/* What the database says of a table. Where it says nothing, all of its rows may have been lost
 * together with all that was said. */
static int known_get(struct small *s, struct open_table *o, struct small_known *ret,
		     struct err *err)
{
	*ret = (struct small_known){0};
	snprintf(ret->name, sizeof ret->name, "%s", o->t->name);
	int rc = small_get(s, &small_tables, ret, err);
	if (rc == 0)
		o->lost = ret->lost;
	if (rc != 1)
		return rc;
	struct small_known any = {.name = SMALL_ANY};
	rc = small_get(s, &small_tables, &any, err);
	o->lost = rc == 0;
	return rc < 0 ? -1 : 1;
}

static int known_put(struct small *s, struct open_table *o, struct err *err)
{
	struct small_known known;
	known_of(o, &known);
	return small_put(s, &small_tables, &known, err);
}

/* What a table was made with is what the declaration says; other bounds are no other shape. */
static int shape_compare(const struct small *s, struct open_table *o,
			 const struct small_known *known, struct err *err)
{
	CLEANUP(buf_free) struct buf ours = BUF_INIT(SMALL_STATEMENT);
	CLEANUP(buf_free) struct buf theirs = BUF_INIT(SMALL_STATEMENT);
	struct small_shape shape;
	if (small_shape_parse(known, &shape, err) < 0)
		return err_in(err, "%s", s->sql.path);
	small_statement(&o->shape, SMALL_MAKE, &ours);
	small_statement(&shape, SMALL_MAKE, &theirs);
	if (str_eq(buf_str(&ours), buf_str(&theirs)))
		return 0;
	return err_set(err, ERR_USAGE,
		       "%s: table %s: another version of garner made it; use that one, or move the "
		       "file away, which loses %s",
		       s->sql.path, o->t->name, o->t->loss);
}

/* Makes a table that does not exist, and says anew what it is for. */
static int table_join(struct small *s, struct open_table *o, struct err *err)
{
	struct small_known known;
	int there = table_missing(s, o, err);
	if (there < 0)
		return -1;
	int rc = known_get(s, o, &known, err);
	if (rc == 0)
		rc = shape_compare(s, o, &known, err);
	if (rc < 0)
		return -1;
	if (there == 1 && small_table_make(&s->sql, &o->shape, err) < 0)
		return -1;
	o->is_there = true;
	return known_put(s, o, err);
}

/* 1: the database knows the table as it is declared. */
static int table_known(struct small *s, struct open_table *o, struct err *err)
{
	struct small_known is, known;
	int rc = table_missing(s, o, err);
	if (rc)
		return MIN(rc, 0);
	rc = known_get(s, o, &is, err);
	if (rc)
		return MIN(rc, 0);
	known_of(o, &known);
	return known.key == is.key && known.most == is.most && strcmp(known.shape, is.shape) == 0 &&
	       strcmp(known.writer, is.writer) == 0 && strcmp(known.loss, is.loss) == 0;
}

static int tables_join(struct small *s, enum small_mode mode, struct err *err)
{
	int known = 1;
	for (size_t i = 1; i < s->n && known == 1; i++)
		known = table_known(s, &s->table[i], err);
	if (known || mode == SMALL_READ)
		return MIN(known, 0);
	int rc = small_begin(s, false, err);
	for (size_t i = 1; i < s->n && rc == 0; i++)
		rc = table_join(s, &s->table[i], err);
	return s->grouped ? small_end(s, rc, err) : -1;
}

bool small_lost(const struct small *s, const struct small_table *t)
{
	return table_of((struct small *)s, t)->lost;
}

int small_forgive(struct small *s, const struct small_table *t, struct err *err)
{
	struct open_table *o = table_of(s, t);
	if (!o->lost)
		return 0;
	o->lost = false;
	int rc = known_put(s, o, err);
	o->lost = rc != 0;
	return rc;
}

/* A reader that is alone would put the log away, and with it what shows that commits are lost. */
static int log_sound(const char *path, struct err *err)
{
	int rc = sql_log_verify(path, err);
	return rc < 0 && err->code == ERR_DAMAGED ? err_then(err, "%s", small_kind.remedy) : rc;
}

/* A lock of the folder, alone to mend if nobody else has one, then shared. What was half mended by
 * a process that was killed is mended first. */
static int folder_lock(struct small *s, const char *folder, const char *path, enum small_mode mode,
		       struct err *err)
{
	char waiting[PATH_MAX];
	if (small_waiting(path, waiting, err) < 0)
		return -1;
	for (int waited_ms = 0;; waited_ms += PAUSE_MS) {
		struct file alone = FILE_INIT;
		int rc = lock_folder(&alone, folder, LOCK_ALONE, err);
		if (rc == 0) {
			rc = mode == SMALL_READ ? log_sound(path, err) : small_mend(path, err);
			file_drop(&alone);
			if (rc < 0)
				return -1;
		}
		rc = lock_folder(&s->folder, folder, LOCK_SHARED, err);
		if (rc == 0 && (mode == SMALL_READ || access(waiting, F_OK) < 0))
			return 0;
		file_drop(&s->folder);
		if (rc < 0 && (err->code != ERR_BUSY || waited_ms >= WAIT_MS))
			return -1;
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

/* Nobody but its owner reads it. SQLite gives the log the same mode. */
int small_file_make(const char *path, struct err *err)
{
	struct file f;
	if (access(path, F_OK) == 0)
		return 0; /* to open and close it would end the locks of a database */
	if (file_open(&f, path, O_RDWR | O_CREAT, 0600, err) < 0)
		return -1;
	return file_close(&f, err) < 0 ? -1 : dir_sync_of(path, err);
}

static int small_start(struct small *s, const char *path, enum small_mode mode, struct err *err)
{
	char copy[PATH_MAX];
	if (snprintf(copy, sizeof copy, "%s", path) >= PATH_MAX)
		return err_set(err, ERR_USAGE, "%s: the path is too long", path);
	const char *folder = dirname(copy);
	if (mode == SMALL_READ && access(path, F_OK) < 0)
		return 1;
	if (mode == SMALL_WRITE && dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	if (folder_lock(s, folder, path, mode, err) < 0 ||
	    (mode == SMALL_WRITE && small_file_make(path, err) < 0))
		return -1;
	int rc = sql_open(&s->sql, path, &small_kind, mode == SMALL_WRITE ? SQL_WRITE : SQL_READ,
			  err);
	return rc == 0 ? tables_join(s, mode, err) : rc;
}

int small_open(struct small **ret, const char *path, const struct small_table *const *tables,
	       size_t n, enum small_mode mode, struct err *err)
{
	struct small *s = mem_alloc(sizeof *s + (n + 1) * sizeof s->table[0]);
	s->folder = FILE_INIT;
	s->pid = getpid();
	s->room = BUF_INIT((size_t)SMALL_COLUMNS * SMALL_STR_MOST);
	s->n = n + 1;
	for (size_t i = 0; i <= n; i++) {
		s->table[i].t = i ? tables[i - 1] : &small_tables;
		small_shape_of(s->table[i].t, &s->table[i].shape);
	}
	s->table[0].is_there = true;
	int rc = small_start(s, path, mode, err);
	if (rc == 0)
		*ret = s;
	else
		small_close(&s);
	return rc;
}

int small_open_data(struct small **ret, const char *data, const struct small_table *const *tables,
		    size_t n, enum small_mode mode, struct err *err)
{
	char path[PATH_MAX];
	if (file_below(data, SMALL_FILE, path, err) < 0)
		return -1;
	return small_open(ret, path, tables, n, mode, err);
}

void small_close(struct small **sp)
{
	struct small *s = *sp;
	if (!s)
		return;
	ENSURE(!s->grouped);
	for (size_t i = 0; i < s->n; i++)
		for (int k = 0; k < SMALL_STATEMENTS; k++)
			if (s->table[i].st[k])
				sql_finish(&s->table[i].st[k]);
	sql_close(&s->sql);
	file_drop(&s->folder);
	buf_free(&s->room);
	mem_free(sp);
}

/* Now and then */

static int open_in(struct small **ret, const char *data, const struct small_table *t,
		   enum small_mode mode, struct err *err)
{
	return small_open_data(ret, data, &t, 1, mode, err);
}

int small_get_in(const char *data, const struct small_table *t, void *row, struct err *err)
{
	struct small *s = NULL;
	int rc = open_in(&s, data, t, SMALL_READ, err);
	if (rc == 0)
		rc = small_get(s, t, row, err);
	small_close(&s);
	return rc;
}

int small_put_in(const char *data, const struct small_table *t, const void *row, struct err *err)
{
	struct small *s = NULL;
	int rc = open_in(&s, data, t, SMALL_WRITE, err);
	if (rc == 0)
		rc = small_put(s, t, row, err);
	small_close(&s);
	return rc;
}

int small_delete_in(const char *data, const struct small_table *t, const void *row, struct err *err)
{
	char path[PATH_MAX];
	struct small *s = NULL;
	if (file_below(data, SMALL_FILE, path, err) < 0)
		return -1;
	if (access(path, F_OK) < 0)
		return 1;
	int rc = open_in(&s, data, t, SMALL_WRITE, err);
	if (rc == 0)
		rc = small_delete(s, t, row, err);
	small_close(&s);
	return rc;
}

int small_list_in(const char *data, const struct small_table *t, void **ret, size_t *ret_n,
		  struct err *err)
{
	struct small *s = NULL;
	struct small_iter it;
	char *all = NULL;
	size_t n = 0, room = 0;
	int rc = open_in(&s, data, t, SMALL_READ, err);
	if (rc == 0) {
		small_iter_init(&it, s, t, NULL);
		do {
			if (n == room)
				all = vec_grow(all, &room, n + 1, t->row.size);
			memset(all + n * t->row.size, 0, t->row.size);
			rc = small_iter_next(&it, all + n * t->row.size, err);
			n += rc == 0;
		} while (rc == 0);
		small_iter_done(&it);
		small_close(&s);
	}
	if (rc < 0 || n == 0)
		mem_free(&all);
	*ret = all;
	*ret_n = n;
	return rc < 0 ? rc : n ? 0 : 1;
}
