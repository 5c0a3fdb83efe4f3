/* A collector that follows a list of changes until it is killed, for collector_rounds.py.
 *
 *	collector-worker points          the fault points it passes, one a line
 *	collector-worker run DATA N      takes N changes, in many commits, with compactions: some
 *	                                 are waited for, some run during the commits that follow
 *	collector-worker check DATA N    what is there is what N changes leave, and nothing else
 *
 * The changes are computed from their numbers, so the checker knows them too. */
#include "base/clock.h"
#include "base/hash.h"
#include "broker/collector.h"
#include "broker/search.h"
#include "index/docstore.h"
#include "index/words.h"
#include "points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URLS = 40, COMMIT = 10, COMPACT = 2 /* commits */ };

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return -1;
}

/* The change of a number. */
struct play {
	unsigned url;
	enum source_op op;
};
static struct play play_of(uint64_t i)
{
	uint64_t dice = hash_u64(i + 1) >> 8;
	unsigned op = (unsigned)(dice % 10);
	return (struct play){(unsigned)(dice / 16 % URLS), op < 3   ? SOURCE_DELETE
							   : op < 4 ? SOURCE_REFRESH
								    : SOURCE_UPDATE};
}

/* The source of them, as far as it goes now. */
static uint64_t limit;
struct numbers {
	struct source source;
	uint64_t at;
};
static const struct source_ops numbers_ops;

static int numbers_open(struct source **ret, const void *store, const struct source_cursor *from,
			struct err *err)
{
	struct numbers *s = mem_alloc(sizeof *s);
	(void)store, (void)err;
	*s = (struct numbers){.source.ops = &numbers_ops};
	memcpy(&s->at, from->b, sizeof s->at);
	*ret = &s->source;
	return 0;
}

static int numbers_next(struct source *source, struct arena *arena, struct source_change *ret,
			struct err *err)
{
	struct numbers *s = (struct numbers *)source;
	(void)err;
	if (s->at >= limit)
		return 1;
	struct play play = play_of(s->at);
	struct soif obj = {.type = STR("FILE"),
			   .url = str_of(arena_printf(arena, "http://a/%u", play.url))};
	if (play.op == SOURCE_UPDATE) {
		const char *word = arena_printf(arena, "word%llu", (unsigned long long)s->at);
		soif_add(&obj, arena, STR("Title"), str_of(word));
		soif_add(&obj, arena, STR("Full-Text"),
			 str_of(arena_printf(arena, "%s common to all", word)));
	}
	s->at++;
	*ret = (struct source_change){play.op, STR(""), obj};
	return 0;
}

static void numbers_cursor(struct source *source, struct source_cursor *ret)
{
	*ret = (struct source_cursor){0};
	memcpy(ret->b, &((struct numbers *)source)->at, sizeof(uint64_t));
}

static int numbers_wait_fd(struct source *source)
{
	(void)source;
	return -1;
}

static void numbers_close(struct source **s)
{
	mem_free(s);
}

static const struct source_ops numbers_ops = {"numbers",      numbers_open,    numbers_next,
					      numbers_cursor, numbers_wait_fd, numbers_close};

static int run(const char *data, uint64_t n, struct err *err)
{
	struct collector_feed feed = {"numbers", &numbers_ops, NULL, NULL};
	struct collector *c;
	if (collector_open(&c, data, &feed, 1, NULL, 0, err) < 0)
		return -1;
	int rc = 0;
	for (uint64_t i = 1; rc >= 0 && limit < n; i++) {
		limit = MIN(limit + COMMIT, n);
		while ((rc = collector_step(c, clock_mono_us(), err)) == 0)
			;
		if (rc > 0)
			rc = i % COMPACT         ? collector_commit(c, err)
			     : i % (2 * COMPACT) ? collector_compact_begin(c, 20, err)
						 : collector_compact(c, 20, err);
	}
	collector_close(&c);
	return rc < 0 ? -1 : 0;
}

/* One document: found by its word alone, with its text in the store, or nowhere. */
static int check_url(struct search *s, unsigned url, uint64_t version, struct arena *arena,
		     struct err *err)
{
	const char *name = arena_printf(arena, "http://a/%u", url);
	const char *word = arena_printf(arena, "word%llu", (unsigned long long)version - 1);
	struct search_ask ask = {.words = str_of(word), .limit = 10, .exact_total = true};
	struct search_answer a;
	struct soif doc;
	int rc = search_document(s, str_of(name), arena, &doc, err);
	if (rc < 0 || (version && rc > 0) || (!version && rc == 0))
		return fail(name, version ? "is lost" : "should be gone");
	if (!version)
		return 0;
	if (!str_is(soif_get(&doc, STR("Title")), word))
		return fail(name, "has another text in the store");
	if (search_run(s, &ask, arena, &a, err) < 0 || a.total != 1 || a.n != 1 ||
	    !str_is(a.row[0].url, name))
		return fail(name, "is not found by its word, or with others");
	return 0;
}

static int check_counts(const char *data, uint64_t living, struct search *s, struct arena *arena,
			struct err *err)
{
	struct search_ask ask = {.words = STR("common"), .limit = 1, .exact_total = true};
	struct search_answer a;
	struct docstore *docs;
	struct docstore_stats stats;
	if (search_run(s, &ask, arena, &a, err) < 0 || a.total != living || a.documents != living)
		return fail("index", "has more or fewer documents");
	if (docstore_open_read(&docs, arena_printf(arena, "%s/broker/docs", data), err) != 0)
		return fail("store", err->msg);
	int rc = docstore_stats(docs, &stats, err);
	if (rc == 0)
		rc = docstore_verify(docs, err);
	docstore_close(&docs);
	if (rc < 0)
		return -1;
	return stats.docs - stats.deleted_docs == living
		       ? 0
		       : fail("store", "has documents that the index does not know");
}

static int check(const char *data, uint64_t n, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	uint64_t version[URLS] = {0}, living = 0; /* version: the number of the change, and one */
	struct search *s;
	for (uint64_t i = 0; i < n; i++) {
		struct play play = play_of(i);
		if (play.op != SOURCE_REFRESH)
			version[play.url] = play.op == SOURCE_UPDATE ? i + 1 : 0;
	}
	if (search_open(&s, data, err) < 0)
		return -1;
	int rc = 0;
	for (unsigned url = 0; url < URLS && rc == 0; url++) {
		living += version[url] != 0;
		rc = check_url(s, url, version[url], &arena, err);
	}
	if (rc == 0)
		rc = check_counts(data, living, s, &arena, err);
	search_close(&s);
	return rc;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("collector.", "compact.", "docstore.", "words.");
	if (argc != 4 || fault_arm(getenv("GARNER_FAULTS"), &err) < 0) {
		fail("usage: points | run DATA N | check DATA N", err.msg);
		return 2;
	}
	uint64_t n = strtoull(argv[3], NULL, 10);
	int rc = strcmp(argv[1], "run") == 0 ? run(argv[2], n, &err) : check(argv[2], n, &err);
	if (rc < 0)
		fail(argv[1], err.msg);
	return rc < 0 ? 1 : 0;
}
