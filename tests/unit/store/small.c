/* Small state: rows, groups, bounds, several processes, and what is left of a damaged file. */
#include "../dies.h"
#include "../scratch.h"
#include "../unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "store/database_format.h"
#include "store/small_inner.h"
#include "store/sql.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <sys/stat.h>

enum { CATS = 40 };

struct cat {
	char name[32];
	uint8_t lives;
	uint32_t mice;
	uint64_t mark;
	int64_t born_us;
	uint8_t chip[8];
	struct str note;
};
static const struct column cat_columns[] = {
	COL("name", struct cat, name),
	COL("lives", struct cat, lives, .most = 9),
	COL("mice", struct cat, mice),
	COL("mark", struct cat, mark),
	COL("born", struct cat, born_us, .unit = UNIT_TIME),
	COL("chip", struct cat, chip),
	COL("note", struct cat, note, .most = 1000),
};
static const struct small_table cats = {
	.name = "cats",
	.row = {ROWS(struct cat, cat_columns)},
	.key = 1,
	.most = CATS,
	.writer = "keeper",
	.loss = "which cats there are",
};

struct step {
	uint32_t house, room;
};
static const struct column step_columns[] = {
	COL("house", struct step, house),
	COL("room", struct step, room),
};
static const struct small_table steps = {
	.name = "steps",
	.row = {ROWS(struct step, step_columns)},
	.key = 2,
	.most = 100000,
	.loose = true,
	.writer = "keeper",
	.loss = "where the cats were",
};
/* The same table as another version might declare it. */
static const struct column other_columns[] = {
	COL("house", struct step, house),
	COL("garden", struct step, room),
};
static const struct small_table other_steps = {
	.name = "steps",
	.row = {ROWS(struct step, other_columns)},
	.key = 1,
	.most = 1,
	.writer = "keeper",
	.loss = "",
};

struct weather {
	uint32_t rain;
};
static const struct column weather_columns[] = {
	COL("rain", struct weather, rain),
};
static const struct small_table weather = {
	.name = "weather",
	.row = {ROWS(struct weather, weather_columns)},
	.most = 1,
	.writer = "sky",
	.loss = "the weather",
};

static const struct small_table *const tables[] = {&cats, &steps, &weather};
static struct err err;
static int made;

static const char *fresh(void)
{
	char name[32];
	snprintf(name, sizeof name, "%d/garner.db", made++);
	return scratch(name);
}

static struct small *open_at(const char *path)
{
	struct small *s = NULL;
	if (small_open(&s, path, tables, ARRAY_LEN(tables), SMALL_WRITE, &err) != 0)
		fail_msg("%s", err.msg);
	return s;
}

static struct cat cat_of(unsigned i)
{
	static char note[1000];
	struct cat c = {
		.lives = (uint8_t)(i % 10),
		.mice = UINT32_MAX - i,
		.mark = UINT64_MAX - i,
		.born_us = i * US_PER_DAY,
		.note = {note, i % 900},
	};
	memset(note, 'n', sizeof note);
	snprintf(c.name, sizeof c.name, "cat %03u", i);
	memset(c.chip, (int)i, sizeof c.chip);
	return c;
}

static void assert_cat(const struct cat *got, unsigned i)
{
	struct cat want = cat_of(i);
	assert_string_equal(got->name, want.name);
	assert_int_equal(got->lives, want.lives);
	assert_int_equal(got->mice, want.mice);
	assert_true(got->mark == want.mark && got->born_us == want.born_us);
	assert_memory_equal(got->chip, want.chip, sizeof want.chip);
	assert_true(str_eq(got->note, want.note));
}

static void put_cats(struct small *s, unsigned n)
{
	assert_int_equal(small_begin(s, false, &err), 0);
	for (unsigned i = 0; i < n; i++) {
		struct cat c = cat_of(i);
		if (small_put(s, &cats, &c, &err) != 0)
			fail_msg("%s", err.msg);
	}
	assert_int_equal(small_end(s, 0, &err), 0);
}

static uint64_t count_of(struct small *s, const struct small_table *t)
{
	uint64_t n = 0;
	if (small_count(s, t, &n, &err) < 0)
		fail_msg("%s", err.msg);
	return n;
}

static void rows_are_found_as_they_were_put(void **state)
{
	(void)state;
	const char *path = fresh();
	struct small *s = open_at(path);
	put_cats(s, CATS);
	small_close(&s);
	s = open_at(path);
	assert_int_equal(count_of(s, &cats), CATS);
	for (unsigned i = 0; i < CATS; i++) {
		struct cat c = {0};
		snprintf(c.name, sizeof c.name, "cat %03u", i);
		assert_int_equal(small_get(s, &cats, &c, &err), 0);
		assert_cat(&c, i);
	}
	struct cat none = {.name = "dog"};
	assert_int_equal(small_get(s, &cats, &none, &err), 1);
	assert_int_equal(small_delete(s, &cats, &none, &err), 1);
	struct cat c = cat_of(3);
	assert_int_equal(small_delete(s, &cats, &c, &err), 0);
	assert_int_equal(small_get(s, &cats, &c, &err), 1);
	assert_int_equal(count_of(s, &cats), CATS - 1);
	small_close(&s);
}

static void rows_come_in_the_order_of_their_key(void **state)
{
	(void)state;
	struct small *s = open_at(fresh());
	struct small_iter it;
	struct step step, all[100], from = {.house = 3, .room = 5};
	unsigned n = 0;
	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		all[i] = (struct step){.house = 9 - i % 10, .room = i / 10};
	assert_int_equal(small_replace(s, &steps, all, ARRAY_LEN(all), &err), 0);
	small_iter_init(&it, s, &steps, NULL);
	while (small_iter_next(&it, &step, &err) == 0) {
		assert_int_equal(step.house * 10 + step.room, n);
		n++;
	}
	assert_int_equal(n, 100);
	small_iter_init(&it, s, &steps, &from);
	assert_int_equal(small_iter_next(&it, &step, &err), 0);
	assert_true(step.house == 3 && step.room == 5);
	small_iter_done(&it);
	assert_int_equal(small_replace(s, &steps, all, 7, &err), 0);
	assert_int_equal(count_of(s, &steps), 7);
	small_close(&s);
}

static void a_table_without_a_key_has_one_row(void **state)
{
	(void)state;
	const char *path = fresh();
	struct small *s = open_at(path);
	struct weather w = {0};
	assert_int_equal(small_get(s, &weather, &w, &err), 1);
	for (w.rain = 5; w.rain < 8; w.rain++)
		assert_int_equal(small_put(s, &weather, &w, &err), 0);
	assert_int_equal(count_of(s, &weather), 1);
	small_close(&s);
	s = open_at(path);
	assert_int_equal(small_get(s, &weather, &w, &err), 0);
	assert_int_equal(w.rain, 7);
	assert_int_equal(small_delete(s, &weather, &w, &err), 0);
	assert_int_equal(small_get(s, &weather, &w, &err), 1);
	small_close(&s);
}

static void a_full_table_takes_no_more_rows(void **state)
{
	(void)state;
	const char *path = fresh();
	struct small *s = open_at(path), *other = open_at(path);
	put_cats(s, CATS - 1);
	struct cat last = cat_of(CATS - 1), more = cat_of(CATS);
	assert_int_equal(small_put(other, &cats, &last, &err), 0);
	assert_int_equal(small_put(s, &cats, &more, &err), 1);
	assert_int_equal(small_put(s, &cats, &last, &err), 0);
	assert_int_equal(small_delete(other, &cats, &last, &err), 0);
	assert_int_equal(small_put(s, &cats, &more, &err), 0);
	assert_int_equal(count_of(other, &cats), CATS);
	struct step many[2] = {{1, 1}, {2, 2}};
	assert_int_equal(small_replace(s, &weather, many, 2, &err), 1);
	small_close(&s);
	small_close(&other);
}

static void a_value_past_its_bound_is_refused(void **state)
{
	(void)state;
	struct small *s = open_at(fresh());
	struct cat c = cat_of(1);
	c.lives = 10;
	assert_int_equal(small_put(s, &cats, &c, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "lives"));
	c = cat_of(1);
	c.born_us = -1;
	assert_int_equal(small_put(s, &cats, &c, &err), -1);
	c = cat_of(1);
	char note[1001] = {0};
	c.note = (struct str){note, sizeof note};
	assert_int_equal(small_put(s, &cats, &c, &err), -1);
	assert_int_equal(count_of(s, &cats), 0);
	small_close(&s);
}

static void a_group_is_there_as_a_whole_or_not_at_all(void **state)
{
	(void)state;
	const char *path = fresh();
	struct small *s = open_at(path), *other = open_at(path);
	struct weather w = {.rain = 1};
	put_cats(s, 3);
	assert_int_equal(small_begin(s, false, &err), 0);
	struct cat c = cat_of(0), d = cat_of(7);
	assert_int_equal(small_delete(s, &cats, &c, &err), 0);
	assert_int_equal(small_put(s, &cats, &d, &err), 0);
	assert_int_equal(small_put(s, &weather, &w, &err), 0);
	assert_int_equal(small_get(s, &cats, &d, &err), 0);
	assert_int_equal(small_get(other, &cats, &d, &err), 1);
	assert_int_equal(small_end(s, 1, &err), 1);
	assert_int_equal(count_of(s, &cats), 3);
	assert_int_equal(small_get(s, &cats, &c, &err), 0);
	assert_int_equal(small_get(s, &weather, &w, &err), 1);
	assert_int_equal(small_begin(s, false, &err), 0);
	assert_int_equal(small_end(s, small_delete(s, &cats, &c, &err), &err), 0);
	assert_int_equal(count_of(other, &cats), 2);
	small_close(&s);
	small_close(&other);
}

static void a_disk_that_is_full_changes_nothing(void **state)
{
	(void)state;
	const char *path = fresh();
	struct small *s = open_at(path);
	put_cats(s, 3);
	struct cat c = cat_of(5);
	assert_int_equal(fault_arm("file.write/garner.db=enospc@1+", &err), 0);
	assert_int_equal(small_put(s, &cats, &c, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(fault_arm("", &err), 0);
	assert_int_equal(count_of(s, &cats), 3);
	assert_int_equal(small_put(s, &cats, &c, &err), 0);
	assert_int_equal(count_of(s, &cats), 4);
	small_close(&s);
}

static void readers_find_nothing_before_there_is_something(void **state)
{
	(void)state;
	const char *path = fresh();
	const struct small_table *only[] = {&weather};
	struct small *r = NULL, *s = NULL;
	struct cat c = cat_of(1);
	assert_int_equal(small_open(&r, path, tables, 3, SMALL_READ, &err), 1);
	assert_int_equal(small_open(&s, path, only, 1, SMALL_WRITE, &err), 0);
	small_close(&s);
	assert_int_equal(small_open(&r, path, tables, 3, SMALL_READ, &err), 0);
	assert_int_equal(small_get(r, &cats, &c, &err), 1);
	assert_int_equal(count_of(r, &cats), 0);
	s = open_at(path);
	put_cats(s, 2);
	assert_int_equal(small_get(r, &cats, &c, &err), 0);
	assert_int_equal(small_put(r, &cats, &c, &err), -1);
	small_close(&s);
	small_close(&r);
}

static void another_shape_of_a_table_is_another_version(void **state)
{
	(void)state;
	const char *path = fresh();
	const struct small_table *other[] = {&other_steps};
	struct small *s = open_at(path);
	small_close(&s);
	assert_int_equal(small_open(&s, path, other, 1, SMALL_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	s = open_at(path);
	small_close(&s);
}

static void nobody_but_the_owner_reads_the_files(void **state)
{
	(void)state;
	const char *path = fresh(), *const ends[] = {"", "-wal", "-shm"};
	char name[400];
	struct stat st;
	struct small *s = open_at(path);
	put_cats(s, 1);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(name, sizeof name, "%s%s", path, ends[i]);
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	small_close(&s);
}

static struct small *held;
static void use_held(void)
{
	struct cat c = cat_of(0);
	(void)small_get(held, &cats, &c, &err);
}

static void a_handle_is_not_used_after_a_fork(void **state)
{
	(void)state;
	held = open_at(fresh());
	assert_true(dies(use_held));
	small_close(&held);
}

/* Damage */

static void slurp(const char *path, struct buf *out)
{
	buf_clear(out);
	assert_int_equal(file_slurp(path, out, &err), 0);
}

static void spill(const char *path, struct str bytes)
{
	struct file f;
	assert_int_equal(file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0600, &err), 0);
	assert_int_equal(file_write(&f, bytes.p, bytes.n, 0, &err), 0);
	assert_int_equal(file_close(&f, &err), 0);
}

/* How many rows there are: each is one that was put. */
static unsigned cats_kept(struct small *s)
{
	struct small_iter it;
	struct cat c;
	unsigned n = 0;
	int rc;
	small_iter_init(&it, s, &cats, NULL);
	while ((rc = small_iter_next(&it, &c, &err)) == 0) {
		assert_cat(&c, (unsigned)strtoul(c.name + 4, NULL, 10));
		n++;
	}
	if (rc < 0)
		fail_msg("%s", err.msg);
	return n;
}

/* What a start makes of a damaged file: rows that were put, and it says so when one is missing. */
static unsigned kept_of(const char *path, struct str bytes)
{
	spill(path, bytes);
	struct small *s = open_at(path);
	unsigned n = cats_kept(s);
	uint64_t places = count_of(s, &steps);
	struct weather w = {0};
	int rc = small_get(s, &weather, &w, &err);
	if (n < CATS)
		assert_true(small_lost(s, &cats));
	if (places < 300)
		assert_true(small_lost(s, &steps));
	if (rc == 1)
		assert_true(small_lost(s, &weather));
	else
		assert_int_equal(w.rain, 77);
	if (small_put(s, &weather, &w, &err) < 0)
		fail_msg("%s", err.msg);
	small_close(&s);
	return n;
}

static void sample(const char *path, struct buf *out)
{
	static struct step all[300];
	struct small *s = open_at(path);
	struct weather w = {.rain = 77};
	put_cats(s, CATS);
	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		all[i] = (struct step){.house = i, .room = i};
	assert_int_equal(small_replace(s, &steps, all, ARRAY_LEN(all), &err), 0);
	assert_int_equal(small_put(s, &weather, &w, &err), 0);
	small_close(&s);
	slurp(path, out);
}

static void a_flipped_byte_costs_no_row_that_can_be_read(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	unsigned fewer = 0, looks = 0, all = 0;
	for (size_t at = 100; at < good.n; at += unit_thorough() ? 7 : 401) {
		good.p[at] = (char)(good.p[at] ^ 0x15);
		unsigned n = kept_of(path, buf_str(&good));
		good.p[at] = (char)(good.p[at] ^ 0x15);
		fewer += n < CATS;
		all += n == 0;
		looks++;
	}
	/* the rows of cats lie in less than half of the file */
	assert_true(fewer > 0 && fewer < looks / 2);
	assert_true(all < looks / 10);
}

/* SQLite reads nothing of a database whose head is damaged; its rows are all there. */
static void a_flipped_byte_in_the_head_costs_no_row(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	for (size_t at = 0; at < 100; at++) {
		for (int flip = unit_thorough() || at == 18 || at == 19 || at == 63 ? 1 : 0x55;
		     flip < 256; flip *= 2) {
			if (at == 63 && flip > 1 && flip < 128) /* of another version */
				continue;
			good.p[at] = (char)(good.p[at] ^ flip);
			assert_int_equal(kept_of(path, buf_str(&good)), CATS);
			good.p[at] = (char)(good.p[at] ^ flip);
		}
	}
}

/* A check that calls it sound leaves a database that nobody can write. */
static void a_head_that_stops_writers_is_damage(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	assert_int_equal(format_verify(&database_format, path, &err), 0);
	for (size_t at = 18; at < 20; at++)
		for (int flip = 1; flip < 256; flip *= 2) {
			good.p[at] = (char)(good.p[at] ^ flip);
			spill(path, buf_str(&good));
			assert_int_equal(format_verify(&database_format, path, &err), -1);
			assert_int_equal(err.code, ERR_DAMAGED);
			good.p[at] = (char)(good.p[at] ^ flip);
		}
}

static void what_the_database_says_of_itself_is_printed_safely(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	char *table = memmem(good.p, good.n, "CREATE TABLE \"cats\"", 19);
	assert_non_null(table);
	memcpy(table + 13, "\033[7m\n", 5);
	spill(path, buf_str(&good));
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	for (const char *p = err.msg; *p; p++)
		assert_true(*p >= ' ');
}

static void print_piece(void *ctx, struct str piece)
{
	buf_add_str(ctx, piece);
}

static void what_a_table_says_of_itself_is_printed_safely(void **state)
{
	static const struct small_table noisy = {
		.name = "noisy",
		.row = {ROWS(struct weather, weather_columns)},
		.most = 1,
		.writer = "\033[7msky",
		.loss = "the\nweather",
	};
	const struct small_table *const all[] = {&noisy};
	const struct format *f = &database_format;
	const char *path = fresh();
	struct small_known known = {.name = "\033[7mX\n", .shape = "a=uint:1", .most = 1};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct small *s = NULL;
	(void)state;
	assert_int_equal(small_open(&s, path, all, 1, SMALL_WRITE, &err), 0);
	assert_int_equal(format_print(f, path, print_piece, &out, &err), 0);
	assert_string_equal(buf_text(&out), "table noisy: written by [7msky; holds theweather\n");
	assert_int_equal(small_put(s, &small_tables, &known, &err), 0);
	assert_int_equal(format_print(f, path, print_piece, &out, &err), -1);
	assert_int_equal(format_verify(f, path, &err), -1);
	assert_non_null(strstr(err.msg, "its columns are not known"));
	for (const char *p = err.msg; *p; p++)
		assert_true(*p >= ' ');
	small_close(&s);
}

static void a_file_of_an_earlier_version_stays_as_it_is(void **state)
{
	(void)state;
	const char *path = fresh();
	struct small *s = NULL;
	CLEANUP(buf_free) struct buf now = BUF_INIT(1 << 20);
	sample(path, &now);
	spill(path, STR("GARNEROC and records"));
	assert_int_equal(small_open(&s, path, tables, ARRAY_LEN(tables), SMALL_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "another version"));
	slurp(path, &now);
	assert_true(str_is(buf_str(&now), "GARNEROC and records"));
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_non_null(strstr(err.msg, "another version"));
}

/* A database of small state that is made by these statements. */
static const char *spill_schema(const char *const *schema)
{
	const struct sql_kind kind = {.application_id = DATABASE_SMALL,
				      .version = DATABASE_SMALL_VERSION,
				      .schema = schema,
				      .cache_kb = 100,
				      .busy_ms = 100};
	const char *path = fresh();
	char folder[400];
	struct sql sql;
	snprintf(folder, sizeof folder, "%s", path);
	assert_int_equal(dir_make(dirname(folder), 0700, &err), 0);
	assert_int_equal(sql_open(&sql, path, &kind, SQL_WRITE, &err), 0);
	sql_close(&sql);
	return path;
}

/* SQL that stands in the schema of a foreign file is not run: it need never end. */
static void a_view_is_no_table(void **state)
{
	static const char *const schema[] = {
		"CREATE VIEW \"tables\" AS WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 "
		"FROM c LIMIT 9) SELECT 'a'||x AS name,'a=uint:1' AS shape,1 AS keys,2 AS most,"
		"'w' AS writer,'l' AS loss,0 AS lost,5 AS sum FROM c",
		NULL};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	const struct format *f = &database_format;
	const char *path = spill_schema(schema);
	(void)state;
	assert_int_equal(format_verify(f, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_int_equal(format_print(f, path, print_piece, &out, &err), -1);
	assert_non_null(strstr(err.msg, "table tables: not made as its description says"));
	struct small *s = open_at(path);
	assert_int_equal(count_of(s, &cats), 0);
	small_close(&s);
}

/* Also where SQLite itself cannot go on. */
static void damage_is_said_with_what_to_do_once(void **state)
{
	static const char *const schema[] = {
		"PRAGMA ignore_check_constraints=1",
		"CREATE TABLE t(a TEXT,CHECK(a GLOB '*a*'))",
		"INSERT INTO t VALUES('b')",
		NULL,
	};
	const char *path = spill_schema(schema);
	(void)state;
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	const char *remedy = strstr(err.msg, "; the first role");
	assert_non_null(remedy);
	assert_null(strstr(remedy + 2, "; the first role"));
	assert_null(strstr(strstr(err.msg, path) + 1, path));
}

/* Anyone who may write the folder may plant it. */
static void what_waits_to_be_put_in_place_is_looked_at(void **state)
{
	const char *path = fresh();
	char waiting[400], folder[400];
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	(void)state;
	sample(path, &good);
	snprintf(folder, sizeof folder, "%s", path);
	snprintf(waiting, sizeof waiting, "%s/.garner.db.new", dirname(folder));
	spill(waiting, STR("junk"));
	struct small *s = open_at(path);
	assert_int_equal(cats_kept(s), CATS);
	assert_false(small_lost(s, &cats));
	small_close(&s);
	assert_int_equal(access(waiting, F_OK), -1);
	spill(waiting, STR("junk")); /* and there is nothing else */
	assert_int_equal(file_remove(path, &err), 0);
	s = open_at(path);
	assert_int_equal(cats_kept(s), 0);
	assert_true(small_lost(s, &cats));
	small_close(&s);
	assert_int_equal(file_remove(path, &err), 0);
	spill(waiting, buf_str(&good)); /* as a kill leaves it */
	s = open_at(path);
	assert_int_equal(cats_kept(s), CATS);
	assert_false(small_lost(s, &cats));
	small_close(&s);
}

static void a_view_that_is_called_a_table_is_not_taken_over(void **state)
{
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	struct sql_kind any = {.application_id = DATABASE_SMALL, .busy_ms = 100};
	struct sql sql;
	int64_t n;
	(void)state;
	sample(path, &good);
	assert_int_equal(sql_open(&sql, path, &any, SQL_RESCUE, &err), 0);
	assert_int_equal(sql_exec(&sql, "PRAGMA query_only=0", &err), 0);
	assert_int_equal(sql_exec(&sql,
				  "CREATE VIEW evil AS WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL "
				  "SELECT x+1 FROM c LIMIT 9) SELECT x,x AS sum FROM c",
				  &err),
			 0);
	assert_int_equal(
		sql_exec(&sql, "UPDATE sqlite_schema SET type='table' WHERE name='evil'", &err), 0);
	sql_close(&sql);
	struct small *s = open_at(path);
	assert_int_equal(cats_kept(s), CATS);
	small_close(&s);
	assert_int_equal(format_verify(&database_format, path, &err), 0);
	any.version = DATABASE_SMALL_VERSION;
	assert_int_equal(sql_open(&sql, path, &any, SQL_READ, &err), 0);
	assert_int_equal(sql_number(&sql, "SELECT 1 FROM sqlite_schema WHERE name='evil'", NULL, 0,
				    &n, &err),
			 1);
	sql_close(&sql);
}

/* SQLite takes the frames before a wrong one, and says nothing of the commits after it. */
static void a_flipped_byte_in_the_log_is_damage(void **state)
{
	enum { FRAME = 24 + 4096 };
	const char *path = fresh();
	char log[400];
	CLEANUP(buf_free) struct buf base = BUF_INIT(1 << 20);
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	unsigned looks = 0, most = 0;
	(void)state;
	snprintf(log, sizeof log, "%s-wal", path);
	struct small *s = open_at(path);
	for (unsigned i = 0; i < CATS; i++) {
		struct cat c = cat_of(i);
		assert_int_equal(small_put(s, &cats, &c, &err), 0);
	}
	slurp(path, &base);
	slurp(log, &good);
	small_close(&s);
	assert_int_equal(access(log, F_OK), -1);
	for (size_t at = 0; at < good.n; at += unit_thorough() ? 101 : at < 56 ? 7 : 8261) {
		bool is_last = at >= good.n - FRAME;
		good.p[at] = (char)(good.p[at] ^ 0x15);
		spill(path, buf_str(&base));
		spill(log, buf_str(&good));
		good.p[at] = (char)(good.p[at] ^ 0x15);
		assert_int_equal(format_verify(&database_format, path, &err), is_last ? 0 : -1);
		assert_int_equal(access(log, F_OK), is_last ? -1 : 0);
		if (is_last)
			continue;
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(small_open(&s, path, tables, ARRAY_LEN(tables), SMALL_READ, &err),
				 -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		s = open_at(path);
		assert_true(small_lost(s, &cats));
		most = MAX(most, cats_kept(s));
		small_close(&s);
		looks++;
	}
	assert_true(looks > 10 && most > CATS / 2);
	spill(path, buf_str(&base)); /* a kill while the log is written */
	spill(log, str_head(buf_str(&good), good.n - FRAME / 2));
	s = open_at(path);
	assert_int_equal(cats_kept(s), CATS - 1);
	assert_false(small_lost(s, &cats));
	small_close(&s);
}

static void a_cut_file_keeps_what_is_before_the_cut(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	unsigned kept = 0, some = 0;
	for (size_t n = 0; n < good.n; n += unit_thorough() ? 511 : 3001) {
		unsigned before = kept;
		kept = kept_of(path, str_head(buf_str(&good), n));
		assert_true(kept >= before);
		some += kept > 0 && kept < CATS;
	}
	assert_true(some > 0);
	assert_true(kept_of(path, str_head(buf_str(&good), good.n - 1)) > 0);
}

static void a_damaged_file_is_set_aside_and_told_until_it_is_forgiven(void **state)
{
	(void)state;
	const char *path = fresh();
	char aside[400];
	struct stat st;
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	char *row = memmem(good.p, good.n, "nnnnnnn", 7);
	assert_non_null(row);
	row[5] = 'm';
	spill(path, buf_str(&good));
	struct small *s = open_at(path);
	assert_int_equal(cats_kept(s), CATS - 1);
	assert_true(small_lost(s, &cats));
	assert_false(small_lost(s, &steps)); /* its rows were all there, and no page was wrong */
	snprintf(aside, sizeof aside, "%s.damaged", path);
	assert_int_equal(stat(aside, &st), 0);
	small_close(&s);
	s = open_at(path);
	assert_true(small_lost(s, &cats));
	assert_int_equal(small_forgive(s, &cats, &err), 0);
	assert_false(small_lost(s, &cats));
	small_close(&s);
	s = open_at(path);
	assert_false(small_lost(s, &cats));
	small_close(&s);
}

static void one_that_others_have_open_is_not_set_aside(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	struct small *first = open_at(path), *second = NULL;
	char *row = memmem(good.p, good.n, "cat 007", 7);
	row[5] = '9';
	pid_t child = fork(); /* another process: to open and close the file would end our locks */
	if (child == 0) {
		struct file f;
		(void)!file_open(&f, path, O_WRONLY, 0, &err);
		(void)!file_write(&f, good.p, good.n, 0, &err);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	second = open_at(path);
	struct small_iter it;
	struct cat c;
	int rc;
	small_iter_init(&it, second, &cats, NULL);
	while ((rc = small_iter_next(&it, &c, &err)) == 0)
		;
	small_iter_done(&it);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	small_close(&second);
	small_close(&first);
	first = open_at(path);
	assert_int_equal(cats_kept(first), CATS - 1);
	small_close(&first);
}

static void one_that_was_removed_begins_anew(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	assert_int_equal(file_remove(path, &err), 0);
	struct small *s = open_at(path);
	assert_int_equal(count_of(s, &cats), 0);
	assert_false(small_lost(s, &cats));
	small_close(&s);
}

static void it_is_printed_and_verified_without_declarations(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	const struct format *f = &database_format;
	sample(path, &good);
	assert_int_equal(format_verify(f, path, &err), 0);
	assert_int_equal(format_print_part(f, path, "cats", print_piece, &out, &err), 0);
	assert_non_null(strstr(buf_text(&out), "which cats there are"));
	assert_non_null(strstr(buf_text(&out),
			       "name='cat 001' lives=1 mice=4294967294 mark=18446744073709551614 "
			       "born=1970-01-02T00:00:00Z chip=0101010101010101 note='n'\n"));
	assert_non_null(strstr(buf_text(&out), "name='cat 000' lives=0 mice=4294967295 "
					       "mark=18446744073709551615 born= chip=0000"));
	assert_null(strstr(buf_text(&out), "rain="));
	assert_int_equal(format_print_part(f, path, "dogs", print_piece, &out, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(format_print(f, path, print_piece, &out, &err), 0);
	assert_non_null(strstr(buf_text(&out), "rain=77\n"));
}

static void a_row_that_was_changed_is_damage(void **state)
{
	(void)state;
	const char *path = fresh();
	CLEANUP(buf_free) struct buf good = BUF_INIT(1 << 20);
	sample(path, &good);
	char *row = memmem(good.p, good.n, "nnnnnnn", 7);
	row[5] = 'm';
	spill(path, buf_str(&good));
	assert_int_equal(format_verify(&database_format, path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "table cats"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_as_they_were_put),
		cmocka_unit_test(rows_come_in_the_order_of_their_key),
		cmocka_unit_test(a_table_without_a_key_has_one_row),
		cmocka_unit_test(a_full_table_takes_no_more_rows),
		cmocka_unit_test(a_value_past_its_bound_is_refused),
		cmocka_unit_test(a_group_is_there_as_a_whole_or_not_at_all),
		cmocka_unit_test(a_disk_that_is_full_changes_nothing),
		cmocka_unit_test(readers_find_nothing_before_there_is_something),
		cmocka_unit_test(another_shape_of_a_table_is_another_version),
		cmocka_unit_test(nobody_but_the_owner_reads_the_files),
		cmocka_unit_test(a_handle_is_not_used_after_a_fork),
		cmocka_unit_test(a_flipped_byte_costs_no_row_that_can_be_read),
		cmocka_unit_test(a_flipped_byte_in_the_head_costs_no_row),
		cmocka_unit_test(a_head_that_stops_writers_is_damage),
		cmocka_unit_test(what_the_database_says_of_itself_is_printed_safely),
		cmocka_unit_test(what_a_table_says_of_itself_is_printed_safely),
		cmocka_unit_test(a_file_of_an_earlier_version_stays_as_it_is),
		cmocka_unit_test(a_view_is_no_table),
		cmocka_unit_test(a_view_that_is_called_a_table_is_not_taken_over),
		cmocka_unit_test(a_flipped_byte_in_the_log_is_damage),
		cmocka_unit_test(damage_is_said_with_what_to_do_once),
		cmocka_unit_test(what_waits_to_be_put_in_place_is_looked_at),
		cmocka_unit_test(a_cut_file_keeps_what_is_before_the_cut),
		cmocka_unit_test(a_damaged_file_is_set_aside_and_told_until_it_is_forgiven),
		cmocka_unit_test(one_that_others_have_open_is_not_set_aside),
		cmocka_unit_test(one_that_was_removed_begins_anew),
		cmocka_unit_test(it_is_printed_and_verified_without_declarations),
		cmocka_unit_test(a_row_that_was_changed_is_damage),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
