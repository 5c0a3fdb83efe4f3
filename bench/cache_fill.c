/* cache-fill FOLDER PROVIDERS ROWS QUEUED PORT URLS PASSWORD: makes the databases of a cache for
 * cache.sh, by the operations of the cache themselves. Provider 1 has two thirds of URLS rows: of
 * each three URLs of the set that it will send, the first is stored, the second queued. Each other
 * one has ROWS rows, of which QUEUED are to be fetched from a server on 127.0.x.y:PORT; the rest is
 * stored.
 *
 * cache-fill --bare FOLDER URLS: as many rows more, of a provider of their own, into the same
 * tables by prepared statements alone; prints the CPU microseconds of a row and the bytes written
 * for it. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "cache/db.h"
#include "cache/pidb.h"
#include "role/password.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { SET_MOST = 100000, DONE_MOST = 1000, BARE_PROVIDER = 1000000, BARE_GROUP = 10000 };

static struct err err;

static void must(int rc)
{
	if (rc < 0)
		die("cache-fill: %s", err.msg);
}

/* What a URL of a provider is. */
static struct notice notice_at(uint64_t provider, uint64_t k, unsigned port, char text[128])
{
	uint64_t host = provider - 1;
	int n = snprintf(text, 128, "http://127.%u.%u.%u:%u/u/%" PRIu64 "/1k.html",
			 provider == 1 ? 1u : 0u, (unsigned)(1 + host / 250),
			 (unsigned)(1 + host % 250), port, k);
	return (struct notice){.op = NOTICE_UPDATE,
			       .has = NOTICE_HAS_MTIME | NOTICE_HAS_SIZE,
			       .c = {text, (size_t)n},
			       .mime = STR("text/html"),
			       .mtime_s = 1790000000,
			       .size = 1000};
}

struct filler {
	struct db *db;
	struct pidb *pidb;
	unsigned port;
	uint64_t number, files; /* of sets, of files stored */
	char line[PASSWORD_LINE];
	struct hours hours;
};

static void provider_make(struct filler *f, uint64_t provider)
{
	char text[128], secret[PIDB_SECRET + 1];
	uint64_t id;
	const uint64_t none = UINT64_MAX, slow = 1;
	(void)notice_at(provider, 0, f->port, text);
	snprintf(secret, sizeof secret, "%032" PRIu64, provider);
	*(strstr(text, "/u/") + 3) = '\0';
	must(pidb_register(f->pidb, text, "", f->line, secret, "127.0.0.1", UINT32_MAX,
			   clock_wall_us(), &id, &err));
	if (id != provider)
		die("cache-fill: provider %" PRIu64 " got the number %" PRIu64, provider, id);
	must(pidb_verify(f->pidb, id, secret, text, clock_wall_us(), &err));
	const struct pidb_change change = {.quota_files = &none,
					   .quota_space = &none,
					   .bandwidth = provider == 1 ? &slow : NULL};
	must(pidb_change(f->pidb, id, &change, &err));
}

/* Pieces of one set, each as large as may be. */
struct pieces {
	struct buf notices;
	struct buf block[256];
	struct str str[256];
	size_t n;
};

static void piece_end(struct pieces *p)
{
	if (p->notices.n == 0)
		return;
	if (p->n == ARRAY_LEN(p->block))
		die("cache-fill: a set has too many pieces");
	p->block[p->n] = BUF_INIT(2 * NOTICE_PIECE);
	notice_pack(buf_str(&p->notices), &p->block[p->n]);
	p->str[p->n] = buf_str(&p->block[p->n]);
	p->n++;
	buf_clear(&p->notices);
}

static uint64_t set_take(struct filler *f, uint64_t provider, uint64_t from, uint64_t to,
			 uint64_t step)
{
	struct pieces p = {.notices = BUF_INIT(NOTICE_PIECE + NOTICE_MOST)};
	struct db_take take = {.set = {.uns = "bench",
				       .number = ++f->number,
				       .provider = provider,
				       .at_us = clock_wall_us()},
			       .ends = true};
	char text[128];
	for (uint64_t k = from; k < to; k += step, take.set.urls++) {
		struct notice n = notice_at(provider, k, f->port, text);
		notice_write(&n, &p.notices);
		if (p.notices.n > NOTICE_PIECE - 1000)
			piece_end(&p);
	}
	piece_end(&p);
	take.piece = p.str;
	take.npieces = p.n;
	must(db_take(f->db, &take, 1, &err));
	buf_free(&p.notices);
	while (p.n)
		buf_free(&p.block[--p.n]);
	return take.ret_set;
}

static void set_absorb(struct filler *f, uint64_t set)
{
	const struct db_terms terms = {.quota_files = UINT64_MAX,
				       .quota_space = UINT64_MAX,
				       .hours = f->hours,
				       .period = HOURS_DAY,
				       .slot_us = US_PER_H,
				       .now_us = clock_wall_us(),
				       .age_us = clock_wall_us(),
				       .rows_max = 10000};
	struct db_absorbed a;
	do
		must(db_absorb(f->db, set, &terms, &a, &err));
	while (!a.is_done);
}

/* The first n rows of a set are stored. */
static void set_done(struct filler *f, uint64_t set, uint64_t n)
{
	static struct db_done done[DONE_MOST];
	static char file[DONE_MOST][32];
	struct arena arena = ARENA_INIT(64 << 20);
	struct db_row row = {0};
	while (n > 0) {
		size_t k = 0;
		for (; k < MIN(n, DONE_MOST); k++) {
			if (db_next(f->db, set, DB_NOW, row.row, &arena, &row, &err) != 0)
				die("cache-fill: set %" PRIu64 " has too few rows", set);
			uint64_t number = f->files++;
			snprintf(file[k], sizeof file[k], "%06u/%03u", (unsigned)(number / 1000),
				 (unsigned)(number % 1000));
			done[k] = (struct db_done){.row = row.row,
						   .provider = row.provider,
						   .version = row.version,
						   .hash = row.hash,
						   .end = DB_END_STORED,
						   .machine = STR("bench"),
						   .file = str_of(file[k]),
						   .mime = STR("text/html"),
						   .size = 1000,
						   .mtime_s = 1790000000,
						   .has_md5 = true,
						   .quota_space = UINT64_MAX};
			memcpy(done[k].md5, &number, sizeof number);
		}
		must(db_done(f->db, done, k, clock_wall_us(), clock_wall_us(), &err));
		arena_clear(&arena);
		n -= k;
	}
	arena_free(&arena);
}

static void rows_make(struct filler *f, uint64_t provider, uint64_t from, uint64_t to,
		      uint64_t step, uint64_t queued)
{
	for (uint64_t k = from; k < to; k += SET_MOST * step) {
		uint64_t end = MIN(to, k + SET_MOST * step), urls = (end - k + step - 1) / step;
		must(db_begin(f->db, &err));
		uint64_t set = set_take(f, provider, k, end, step);
		set_absorb(f, set);
		set_done(f, set, urls - MIN(urls, queued));
		must(db_commit(f->db, &err));
	}
}

static int fill(char **argv)
{
	struct filler f = {.port = (unsigned)strtoul(argv[5], NULL, 10), .hours = hours_any};
	uint64_t providers = strtoull(argv[2], NULL, 10), rows = strtoull(argv[3], NULL, 10);
	uint64_t queued = strtoull(argv[4], NULL, 10), urls = strtoull(argv[6], NULL, 10);
	int64_t start_us = clock_mono_us();
	must(db_open(&f.db, argv[1], DB_WRITE, &err));
	must(pidb_open(&f.pidb, argv[1], &err));
	must(password_make(str_of(argv[7]), f.line, &err));
	for (uint64_t i = 1; i <= providers; i++) {
		provider_make(&f, i);
		if (i == 1) {
			rows_make(&f, 1, 0, urls, 3, 0);
			rows_make(&f, 1, 1, urls, 3, UINT64_MAX);
		} else {
			rows_make(&f, i, 0, rows, 1, queued);
		}
		if (i % 50 == 0 || i == providers)
			fprintf(stderr, "  %" PRIu64 " of %" PRIu64 " providers, %.0f s\n", i,
				providers, (double)(clock_mono_us() - start_us) / US_PER_S);
	}
	db_close(&f.db);
	pidb_close(&f.pidb);
	return 0;
}

/* The rival. */

static sqlite3 *bare;

static void bare_do(const char *sql)
{
	if (sqlite3_exec(bare, sql, NULL, NULL, NULL) != SQLITE_OK)
		die("cache-fill: %s: %s", sql, sqlite3_errmsg(bare));
}

static sqlite3_stmt *bare_prepare(const char *sql)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(bare, sql, -1, &st, NULL) != SQLITE_OK)
		die("cache-fill: %s: %s", sql, sqlite3_errmsg(bare));
	return st;
}

static void bare_run(sqlite3_stmt *st)
{
	if (sqlite3_step(st) != SQLITE_DONE)
		die("cache-fill: %s", sqlite3_errmsg(bare));
	sqlite3_reset(st);
}

static uint64_t bytes_written(void)
{
	char line[128];
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "write_bytes: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static int fill_bare(char **argv)
{
	char path[4096], text[128];
	uint64_t urls = strtoull(argv[3], NULL, 10);
	snprintf(path, sizeof path, "%s/cache.db", argv[2]);
	if (sqlite3_open_v2(path, &bare, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		die("cache-fill: %s: %s", path, sqlite3_errmsg(bare));
	bare_do("PRAGMA journal_mode=WAL");
	bare_do("PRAGMA synchronous=FULL");
	bare_do("PRAGMA cache_size=-131072");
	sqlite3_stmt *url =
		bare_prepare("REPLACE INTO url(provider,hash,n,qset,slot,row,version,lcc,"
			     "gone,age,seen) VALUES(?1,?2,0,?3,-1,?4,1,0,0,0,0)");
	sqlite3_stmt *queue = bare_prepare(
		"REPLACE INTO queue(qset,slot,row,provider,tries,code,is_nothing,reason,"
		"data) VALUES(?1,-1,?2,?3,0,0,0,NULL,?4)");
	struct buf data = BUF_INIT(NOTICE_MOST);
	int64_t cpu_us = clock_cpu_us();
	for (uint64_t i = 0; i < urls; i++) {
		struct notice n = notice_at(BARE_PROVIDER, i, 8097, text);
		buf_clear(&data);
		notice_write(&n, &data);
		if (i % BARE_GROUP == 0)
			bare_do(i ? "COMMIT;BEGIN" : "BEGIN");
		sqlite3_bind_int64(url, 1, BARE_PROVIDER);
		sqlite3_bind_int64(url, 2, notice_hash(n.c, n.mime));
		sqlite3_bind_int64(url, 3, INT64_MAX);
		sqlite3_bind_int64(url, 4, INT64_MAX / 2 + (int64_t)i);
		bare_run(url);
		sqlite3_bind_int64(queue, 1, INT64_MAX);
		sqlite3_bind_int64(queue, 2, INT64_MAX / 2 + (int64_t)i);
		sqlite3_bind_int64(queue, 3, BARE_PROVIDER);
		sqlite3_bind_blob(queue, 4, data.p, (int)data.n, SQLITE_STATIC);
		bare_run(queue);
	}
	bare_do("COMMIT");
	bare_do("PRAGMA wal_checkpoint(TRUNCATE)");
	printf("%.3f %.1f\n", (double)(clock_cpu_us() - cpu_us) / (double)urls,
	       (double)bytes_written() / (double)urls);
	buf_free(&data);
	sqlite3_finalize(url);
	sqlite3_finalize(queue);
	sqlite3_close(bare);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--bare") == 0)
		return fill_bare(argv);
	if (argc == 8)
		return fill(argv);
	fprintf(stderr, "usage: cache-fill FOLDER PROVIDERS ROWS QUEUED PORT URLS PASSWORD\n"
			"       cache-fill --bare FOLDER URLS\n");
	return 2;
}
