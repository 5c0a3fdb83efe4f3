/* Queries while documents are replaced and merged: slices of ten seconds in which 500 documents a
 * second are replaced alternate with idle ones, and another process asks all the while.
 *
 *	words-live FOLDER DOCS.tsv QUERIES N SLICES
 *
 * FOLDER is one that words-update has filled with N documents, QUERIES has a query a line, SLICES
 * are so many of each kind. The p95 of a kind of slices is the median of theirs. Prints figures and
 * the ratio. */
#include "base/file.h"
#include "base/thread.h"
#include "bench.h"
#include "index/token.h"
#include "index/words.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 600, PER_S = 500, COMMITS_PER_S = 2, SLICES_MOST = 100, ASKED_MOST = 8 << 20 };
static const double slice_s = 10;
static const uint64_t queries_most = (uint64_t)64 << 20; /* bytes */

static void need_done(int rc, const struct err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "words-live: %s\n", err->msg);
	exit(1);
}

/* The one who asks */

struct asker {
	struct words_reader *reader;
	struct token_rules *rules;
	struct str *query;
	size_t queries, next;
	struct arena arena;
	double *us;
};

static double ask_one(struct asker *a)
{
	struct query q;
	struct hits hits;
	struct err err;
	double from = bench_wall_s();
	need_done(words_refresh(&a->reader, &err), &err);
	need_done(query_parse(a->query[a->next], NULL, a->rules, &a->arena, &q, &err), &err);
	q.limit = 100;
	need_done(words_query(a->reader, &q, &a->arena, &hits, &err), &err);
	double us = (bench_wall_s() - from) * 1e6;
	a->next = (a->next + 1) % a->queries;
	arena_clear(&a->arena);
	return us;
}

/* The p95 of what can be asked in a slice. */
static double ask_slice(struct asker *a)
{
	double end_s = bench_wall_s() + slice_s;
	size_t n = 0;
	while (bench_wall_s() < end_s && n < ASKED_MOST)
		a->us[n++] = ask_one(a);
	qsort(a->us, n, sizeof *a->us, bench_compare);
	return a->us[n * 95 / 100];
}

static void read_queries(struct asker *a, struct str text)
{
	struct str line;
	size_t room = 0;
	for (size_t i = 0; i < text.n; i++)
		room += text.p[i] == '\n';
	a->query = mem_array(room + 1, sizeof *a->query);
	while (str_cut(&text, '\n', &line) == 0)
		if (line.n)
			a->query[a->queries++] = line;
}

/* A byte comes for each slice, and its p95 goes. */
static int ask_all(const char *words, const char *queries, int in, int out)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(queries_most);
	struct asker a = {.arena = ARENA_INIT(SIZE_MAX)};
	struct err err;
	char slice;
	need_done(file_slurp(queries, &text, &err), &err);
	read_queries(&a, buf_str(&text));
	if (a.queries == 0)
		return 1;
	need_done(words_open(&a.reader, words, &err), &err);
	need_done(token_rules_open(&a.rules, STR(""), &err), &err);
	a.us = mem_array(ASKED_MOST, sizeof *a.us);
	for (size_t i = 0; i < a.queries; i++)
		(void)ask_one(&a); /* to warm up */
	while (read(in, &slice, 1) == 1) {
		double us = ask_slice(&a);
		if (write(out, &us, sizeof us) != sizeof us)
			break;
	}
	words_close(&a.reader);
	token_rules_close(&a.rules);
	arena_free(&a.arena);
	mem_free(&a.query);
	mem_free(&a.us);
	return 0;
}

/* The one who replaces */

struct updater {
	struct words_writer *writer;
	FILE *docs;
	char *line, *rest; /* of the text of the current document */
	size_t room, left;
	uint64_t n, replaced;
	atomic_bool stop;
	pthread_t merger;
};

/* The next piece of text, which ends at a blank; after the last document the first. */
static struct str next_piece(struct updater *u)
{
	while (u->left == 0) {
		ssize_t got = getline(&u->line, &u->room, u->docs);
		if (got < 0) {
			rewind(u->docs);
			continue;
		}
		u->rest = strrchr(u->line, '\t');
		u->left = u->rest ? (size_t)(u->line + got - u->rest) : 0;
	}
	size_t n = MIN(u->left, (size_t)PIECE);
	while (n < u->left && u->rest[n] != ' ')
		n++;
	struct str piece = {u->rest, n};
	u->rest += n;
	u->left -= n;
	return piece;
}

static void replace_one(struct updater *u)
{
	char key[32];
	struct err err;
	u->replaced++;
	snprintf(key, sizeof key, "piece:%" PRIu64, u->replaced * 7919 % u->n);
	struct words_attr attr = {STR("Full-Text"), next_piece(u)};
	struct words_doc doc = {.key = str_of(key), .attr = &attr, .n = 1};
	need_done(words_add(u->writer, &doc, &err), &err);
}

/* As the broker does: merges have a thread of their own. */
static void *merge_all_the_time(void *arg)
{
	struct updater *u = arg;
	struct err err;
	while (!atomic_load(&u->stop)) {
		int rc = words_merge(u->writer, UINT64_MAX, &err);
		need_done(rc, &err);
		if (rc > 0)
			usleep(20000);
	}
	return NULL;
}

static void update_slice(struct updater *u)
{
	double from_s = bench_wall_s(), spent_s;
	uint64_t done = 0, committed = 0;
	struct err err;
	while ((spent_s = bench_wall_s() - from_s) < slice_s) {
		for (; done < (uint64_t)(spent_s * PER_S); done++)
			replace_one(u);
		if ((uint64_t)(spent_s * COMMITS_PER_S) > committed) {
			committed++;
			need_done(words_commit(u->writer, NULL, &err), &err);
		}
		usleep(10000);
	}
	need_done(words_commit(u->writer, NULL, &err), &err);
}

static double run_slice(struct updater *u, bool busy, int to, int from)
{
	struct err err;
	double us;
	atomic_store(&u->stop, false);
	if (busy)
		need_done(thread_start(&u->merger, merge_all_the_time, u, &err), &err);
	if (write(to, "x", 1) != 1)
		exit(1);
	if (busy)
		update_slice(u);
	if (read(from, &us, sizeof us) != sizeof us)
		exit(1);
	if (busy) { /* what is still to be merged does not disturb the idle slice */
		atomic_store(&u->stop, true);
		pthread_join(u->merger, NULL);
		while (words_merge(u->writer, UINT64_MAX, &err) == 0)
			;
	}
	return us;
}

static void measure_slices(struct updater *u, int slices, int to, int from)
{
	double us[2][SLICES_MOST], p95[2];
	for (int i = 0; i < slices; i++)
		for (int busy = 0; busy < 2; busy++) {
			us[busy][i] = run_slice(u, busy, to, from);
			printf("  %s slice %d: p95 %.1f us\n", busy ? "busy" : "idle", i + 1,
			       us[busy][i]);
			fflush(stdout);
		}
	for (int busy = 0; busy < 2; busy++)
		p95[busy] = bench_median(us[busy], slices);
	printf("figure words.live_replaced %" PRIu64 " documents\n", u->replaced);
	printf("figure words.live_idle_p95 %.1f us\n", p95[0]);
	printf("figure words.live_busy_p95 %.1f us\n", p95[1]);
	printf("ratio words.p95_while_updating %.3f\n", p95[1] / p95[0]);
}

int main(int argc, char **argv)
{
	struct words_options options = {.merges_elsewhere = true};
	struct updater u = {0};
	struct err err;
	char words[PATH_MAX];
	int down[2], up[2];
	int slices = argc == 6 ? (int)strtol(argv[5], NULL, 10) : 0;
	if (slices < 1 || slices > SLICES_MOST || pipe(down) < 0 || pipe(up) < 0) {
		fprintf(stderr, "usage: words-live FOLDER DOCS.tsv QUERIES N SLICES\n");
		return 2;
	}
	snprintf(words, sizeof words, "%s/words", argv[1]);
	pid_t other = fork();
	if (other == 0) {
		close(down[1]);
		close(up[0]);
		_exit(ask_all(words, argv[3], down[0], up[1]));
	}
	close(down[0]);
	close(up[1]);
	u.n = MAX(strtoull(argv[4], NULL, 10), 1ULL);
	u.docs = fopen(argv[2], "r");
	need_done(u.docs ? 0 : err_sys(&err, "%s", argv[2]), &err);
	need_done(words_writer_open(&u.writer, words, &options, &err), &err);
	measure_slices(&u, slices, down[1], up[0]);
	close(down[1]);
	waitpid(other, NULL, 0);
	words_writer_close(&u.writer);
	fclose(u.docs);
	free(u.line);
	return 0;
}
