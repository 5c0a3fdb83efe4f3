/* One document of a million replaced: the CPU time it takes, and the time until another process
 * finds it.
 *
 *	words-update FOLDER DOCS.tsv N   in an index of N documents, pieces of those in docs.tsv
 *
 * The index is made in FOLDER, unless it is there. Prints figures. */
#include "base/thread.h"
#include "bench.h"
#include "index/token.h"
#include "index/words.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 600, ROUNDS = 60, LINE_MOST = 64 << 20 };

struct stores {
	char words[PATH_MAX], docs[PATH_MAX];
	struct words_writer *writer;
	struct docstore *store;
	struct words_note note; /* follows: the last oid */
	struct arena arena;
	struct err err;
};

static void need(int rc, const struct stores *s)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "words-update: %s\n", s->err.msg);
	exit(1);
}

static void add(struct stores *s, uint64_t number, struct str text)
{
	struct soif obj = {.type = STR("FILE"),
			   .url = str_of(arena_printf(&s->arena, "piece:%" PRIu64, number))};
	soif_add(&obj, &s->arena, STR("Full-Text"), text);
	need(docstore_put(s->store, ++s->note.follows, &obj, &s->err), s);
	struct words_attr attr = {STR("Full-Text"), text};
	struct words_doc doc = {.key = obj.url, .oid = s->note.follows, .attr = &attr, .n = 1};
	need(words_add(s->writer, &doc, &s->err), s);
	arena_clear(&s->arena);
}

/* Pieces that end at blanks, of each document in turn. */
static uint64_t add_pieces(struct stores *s, struct str text, uint64_t from, uint64_t n)
{
	while (text.n && from < n) {
		size_t end = MIN(text.n, (size_t)PIECE);
		while (end < text.n && text.p[end] != ' ')
			end++;
		add(s, from++, str_head(text, end));
		text = str_from(text, end + 1);
	}
	return from;
}

static void build(struct stores *s, const char *docs, uint64_t n)
{
	FILE *f = fopen(docs, "r");
	char *line = NULL;
	size_t cap = 0;
	uint64_t made = 0;
	while (f && made < n) {
		ssize_t got = getline(&line, &cap, f);
		if (got < 0) { /* once more from the beginning */
			rewind(f);
			if (made == 0)
				break;
			continue;
		}
		const char *body = strrchr(line, '\t');
		if (body)
			made = add_pieces(s, str_range(body + 1, line + got - 1), made, n);
	}
	if (f)
		fclose(f);
	free(line);
	need(docstore_sync(s->store, &s->note.docs, &s->err), s);
	need(words_commit(s->writer, &s->note, &s->err), s);
}

/* The other process: for each number that comes, looks until it finds its word, and says when. */
static int watch(struct stores *s, int in, int out)
{
	struct words_reader *r = NULL;
	struct token_rules *rules = NULL;
	uint64_t number;
	need(words_open(&r, s->words, &s->err), s);
	need(token_rules_open(&rules, STR(""), &s->err), s);
	while (read(in, &number, sizeof number) == sizeof number) {
		struct hits hits = {0};
		double now = 0;
		while (hits.total == 0) {
			struct query q;
			usleep(500);
			need(words_refresh(&r, &s->err), s);
			struct str text =
				str_of(arena_printf(&s->arena, "replaced%" PRIu64 "x", number));
			need(query_parse(text, &(struct query_options){0}, rules, &s->arena, &q,
					 &s->err),
			     s);
			need(words_query(r, &q, &s->arena, &hits, &s->err), s);
			now = bench_wall_s();
			arena_clear(&s->arena);
		}
		if (write(out, &now, sizeof now) != sizeof now)
			break;
	}
	words_close(&r);
	token_rules_close(&rules);
	return 0;
}

struct measured {
	double cpu_ms[ROUNDS], seen_ms[ROUNDS];
};

static void replace(struct stores *s, uint64_t n, int to, int from, struct measured *ret)
{
	uint64_t salt = (uint64_t)(bench_wall_s() * 1e6);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t number = salt + i;
		char text[PIECE];
		int len = snprintf(text, sizeof text,
				   "replaced%" PRIu64 "x is the only word that nobody else has in "
				   "these lines of ordinary words about files and systems",
				   number);
		if (write(to, &number, sizeof number) != sizeof number)
			exit(1);
		usleep(20000); /* the other one is waiting */
		double wall = bench_wall_s(), cpu = bench_cpu_s(), seen = 0;
		add(s, (salt + i * 7919) % n, (struct str){text, (size_t)len});
		need(docstore_sync(s->store, &s->note.docs, &s->err), s);
		need(words_commit(s->writer, &s->note, &s->err), s);
		ret->cpu_ms[i] = (bench_cpu_s() - cpu) * 1e3;
		if (read(from, &seen, sizeof seen) != sizeof seen)
			exit(1);
		ret->seen_ms[i] = (seen - wall) * 1e3;
	}
}

static double mean(const double *v, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

static void say(struct measured *m, uint64_t n)
{
	double cpu = mean(m->cpu_ms, ROUNDS);
	double cpu_p50 = bench_median(m->cpu_ms, ROUNDS), p50 = bench_median(m->seen_ms, ROUNDS);
	printf("figure words.update_of_docs %" PRIu64 " documents\n", n);
	printf("figure words.update_cpu_p50 %.3f ms\n", cpu_p50);
	printf("figure words.update_cpu_mean %.3f ms\n", cpu);
	printf("figure words.update_cpu_worst %.3f ms\n", m->cpu_ms[ROUNDS - 1]);
	printf("figure words.update_visible_p50 %.2f ms\n", p50);
	printf("figure words.update_visible_worst %.2f ms\n", m->seen_ms[ROUNDS - 1]);
}

int main(int argc, char **argv)
{
	static struct measured m;
	struct stores s = {.arena = ARENA_INIT(SIZE_MAX)};
	struct docstore_stats stats;
	int down[2], up[2];
	if (argc != 4 || pipe(down) < 0 || pipe(up) < 0) {
		fprintf(stderr, "usage: words-update FOLDER DOCS.tsv N\n");
		return 2;
	}
	uint64_t n = strtoull(argv[3], NULL, 10);
	snprintf(s.words, sizeof s.words, "%s/words", argv[1]);
	snprintf(s.docs, sizeof s.docs, "%s/docs", argv[1]);
	need(words_writer_open(&s.writer, s.words, NULL, &s.err), &s);
	words_noted(s.writer, &s.note);
	need(docstore_open(&s.store, s.docs, &s.note.docs, NULL, &s.err), &s);
	need(docstore_stats(s.store, &stats, &s.err), &s);
	if (stats.docs == 0)
		build(&s, argv[2], n);
	words_writer_close(&s.writer);
	docstore_close(&s.store);
	pid_t other = fork();
	if (other == 0) {
		close(down[1]);
		close(up[0]);
		_exit(watch(&s, down[0], up[1]));
	}
	close(down[0]);
	close(up[1]);
	need(words_writer_open(&s.writer, s.words, NULL, &s.err), &s);
	words_noted(s.writer, &s.note);
	need(docstore_open(&s.store, s.docs, &s.note.docs, NULL, &s.err), &s);
	replace(&s, n, down[1], up[0], &m);
	close(down[1]);
	waitpid(other, NULL, 0);
	say(&m, n);
	words_writer_close(&s.writer);
	docstore_close(&s.store);
	arena_free(&s.arena);
	return 0;
}
