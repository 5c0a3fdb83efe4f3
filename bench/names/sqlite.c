/* SQLite as a rival of the names index: a b-tree over names, and FTS5 with trigrams.
 *
 *	sqlite DB REPEATS KIND.tsv...   the first 100 names, and of parts without regard to case
 *	                                also how many there are; lines of kind, number of the query,
 *	                                CPU microseconds (the least of the repeats), rows
 *
 * The tables are r(name) and t(name); names.sh makes them. A query is compiled anew each time, for
 * its text is part of it. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *file, *kind, *sql;
	int counts; /* the one row is the number */
} forms[] = {
	{"exact", "exact", "select name from r where name=%Q limit 100", 0},
	{"sub", "sub", "select name from t where name match '\"'||%Q||'\"' limit 100", 0},
	{"sub", "sub_count", "select count(*) from t where name match '\"'||%Q||'\"'", 1},
	{"subcase", "subcase", "select name from t where name glob '*'||%Q||'*' limit 100", 0},
};

static double cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Rows, or the number that the one row is; -1: it failed. */
static long ask(sqlite3 *db, const char *sql, int counts)
{
	sqlite3_stmt *st;
	long rows = 0, bytes = 0;
	int rc;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return -1;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		bytes += sqlite3_column_bytes(st, 0);
		rows = counts ? (long)sqlite3_column_int64(st, 0) : rows + 1;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE && bytes >= 0 ? rows : -1;
}

static int run_form(sqlite3 *db, FILE *f, size_t form, int repeats)
{
	char line[1024];
	rewind(f);
	for (int i = 0; fgets(line, sizeof line, f); i++) {
		char *pattern = strchr(line, '\t');
		if (!pattern)
			return -1;
		line[strcspn(line, "\n")] = 0;
		char *sql = sqlite3_mprintf(forms[form].sql, pattern + 1);
		double least = 1e18;
		long rows = 0;
		for (int r = 0; r < repeats; r++) {
			double from = cpu_us();
			rows = ask(db, sql, forms[form].counts);
			double us = cpu_us() - from;
			least = us < least ? us : least;
			if (us > 2e6)
				break; /* it does not get better */
		}
		if (rows < 0) {
			fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
			sqlite3_free(sql);
			return -1;
		}
		printf("%s\t%d\t%.1f\t%ld\n", forms[form].kind, i, least, rows);
		sqlite3_free(sql);
	}
	return 0;
}

static int run_file(sqlite3 *db, const char *path, int repeats)
{
	char kind[64];
	const char *name = strrchr(path, '/');
	FILE *f = fopen(path, "r");
	int rc = 0;
	if (!f)
		return -1;
	snprintf(kind, sizeof kind, "%s", name ? name + 1 : path);
	kind[strcspn(kind, ".")] = 0;
	for (size_t i = 0; i < sizeof forms / sizeof *forms && rc == 0; i++)
		if (strcmp(forms[i].file, kind) == 0)
			rc = run_form(db, f, i, repeats);
	fclose(f);
	return rc;
}

int main(int argc, char **argv)
{
	sqlite3 *db;
	if (argc < 4 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return 2;
	sqlite3_exec(db, "pragma mmap_size=8000000000; pragma cache_size=-500000", 0, 0, 0);
	for (int i = 3; i < argc; i++)
		if (run_file(db, argv[i], (int)strtol(argv[2], NULL, 10)) < 0)
			return 1;
	sqlite3_close(db);
	return 0;
}
