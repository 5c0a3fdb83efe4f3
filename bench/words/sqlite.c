/* SQLite's FTS5 with bm25 as a rival of the words index.
 *
 *	sqlite DB REPEATS KIND.tsv...   the rowids of the best 100; lines as of the Lucene driver
 *
 * The table is t(title, body); words.sh makes it. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 4 };

static double cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static const struct {
	const char *kind;
	int words;
	const char *match;
} forms[] = {
	{"term", 1, "body:\"%s\""},
	{"and", 2, "body:(\"%s\" AND \"%s\")"},
	{"or", 2, "body:(\"%s\" OR \"%s\")"},
	{"phrase", 2, "body:\"%s %s\""},
	{"phrase", 3, "body:\"%s %s %s\""},
	{"attr", 1, "title:\"%s\""},
	{"attr", 2, "title:\"%s\" AND body:\"%s\""},
};

static const char *form_of(const char *kind, int words)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(forms[i].kind, kind) == 0 && forms[i].words == words)
			return forms[i].match;
	return NULL;
}

/* Hits, or -1. */
static int ask(sqlite3_stmt *st, const char *match)
{
	int hits = 0, rc;
	sqlite3_bind_text(st, 1, match, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		hits += sqlite3_column_int64(st, 0) >= 0;
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? hits : -1;
}

static int run_file(sqlite3_stmt *st, const char *path, int repeats)
{
	char line[1024], kind[64], match[2048];
	const char *name = strrchr(path, '/');
	FILE *f = fopen(path, "r");
	if (!f)
		return -1;
	snprintf(kind, sizeof kind, "%s", name ? name + 1 : path);
	kind[strcspn(kind, ".")] = 0;
	for (int i = 0; fgets(line, sizeof line, f); i++) {
		char *w[WORDS + 1] = {NULL}, *p = line;
		int n = 0;
		line[strcspn(line, "\n")] = 0;
		while (p && n <= WORDS) {
			w[n++] = p;
			p = strchr(p, '\t');
			if (p)
				*p++ = 0;
		}
		const char *form = form_of(kind, n - 1);
		if (!form)
			continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(match, sizeof match, form, w[1], w[2], w[3]);
#pragma GCC diagnostic pop
		double least = 1e18;
		int hits = 0;
		for (int r = 0; r < repeats; r++) {
			double from = cpu_us();
			hits = ask(st, match);
			double us = cpu_us() - from;
			least = us < least ? us : least;
			if (us > 1e5)
				break; /* it does not get better */
		}
		printf("%s\t%d\t%.1f\t%d\n", kind, i, least, hits);
	}
	fclose(f);
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	if (argc < 4 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return 2;
	sqlite3_exec(db, "pragma mmap_size=8000000000; pragma cache_size=-500000", 0, 0, 0);
	if (sqlite3_prepare_v2(db, "select rowid from t where t match ? order by rank limit 100",
			       -1, &st, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		return 1;
	}
	for (int i = 3; i < argc; i++)
		if (run_file(st, argv[i], (int)strtol(argv[2], NULL, 10)) < 0)
			return 1;
	sqlite3_finalize(st);
	sqlite3_close(db);
	return 0;
}
