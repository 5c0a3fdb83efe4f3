/* A collector that follows a list of changes until it is killed, for collector_rounds.py.
 *
 *	collector-worker points          the fault points it passes, one a line
 *	collector-worker run DATA N      takes N changes, in many commits, with compactions: some
 *	                                 are waited for, some run during the commits that follow
 *	collector-worker check DATA N    what is there is what N changes leave, and nothing else
 *
 * The changes are computed from their numbers, so the checker knows them too: objects of a few
 * gatherers, among them twins, are updated, refreshed and deleted; from LITTLE on they are only
 * refreshed, so that the registry is compressed. */
#include "base/clock.h"
#include "base/hash.h"
#include "broker/collector.h"
#include "broker/search.h"
#include "index/words.h"
#include "points.h"
#include "support/object_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MD5S = 8, LITTLE = 150, COMMIT = 10, COMPACT = 2 /* commits */ };
#define FIRST_S UINT32_C(4000000000) /* Update-Time of the first: none ever expires */

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return -1;
}

/* The change of a number. */
struct play {
	unsigned gatherer, url;
	enum source_op op;
	struct known told;
};
static void survivor_of(uint64_t number, unsigned *ret_gatherer, unsigned *ret_url);
static struct play play_of(uint64_t i)
{
	uint64_t dice = hash_u64(i + 1) >> 8;
	unsigned op = i < LITTLE ? (unsigned)(dice % 10) : 3;
	struct play p = {.gatherer = (unsigned)(dice / 16 % WORLD_GATHERERS),
			 .url = (unsigned)(dice / 64 % WORLD_URLS),
			 .op = op < 3   ? SOURCE_DELETE
			       : op < 4 ? SOURCE_REFRESH
					: SOURCE_UPDATE};
	p.told = (struct known){
		.md5 = (unsigned)(dice / 4096 % MD5S), .time_s = FIRST_S + (uint32_t)i, .text = i};
	if (i >= LITTLE)
		survivor_of(i, &p.gatherer, &p.url);
	return p;
}

static void world_of(uint64_t n, struct world *ret)
{
	*ret = (struct world){0};
	for (uint64_t i = 0; i < n; i++) {
		struct play p = play_of(i);
		if (p.op == SOURCE_UPDATE)
			world_update(ret, p.gatherer, p.url, &p.told);
		else if (p.op == SOURCE_REFRESH)
			world_refresh(ret, p.gatherer, p.url, p.told.time_s);
		else
			world_delete(ret, p.gatherer, p.url, p.told.time_s);
	}
}

/* One of the objects that the first changes leave. */
static void survivor_of(uint64_t number, unsigned *ret_gatherer, unsigned *ret_url)
{
	static unsigned found[WORLD_GATHERERS * WORLD_URLS], n;
	struct world w;
	if (n == 0) {
		world_of(LITTLE, &w);
		for (unsigned i = 0; i < WORLD_GATHERERS * WORLD_URLS; i++)
			if (w.of[i / WORLD_URLS][i % WORLD_URLS].there)
				found[n++] = i;
	}
	*ret_gatherer = found[number % n] / WORLD_URLS;
	*ret_url = found[number % n] % WORLD_URLS;
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

static void add(struct soif *obj, struct arena *arena, const char *name, const char *value)
{
	soif_add(obj, arena, str_of(name), str_of(value));
}

static struct soif object_of(const struct play *p, struct arena *arena)
{
	struct soif obj = {.type = STR("FILE"),
			   .url = str_of(arena_printf(arena, "http://a/%u", p->url))};
	add(&obj, arena, "Gatherer-Name", arena_printf(arena, "gatherer%u", p->gatherer));
	add(&obj, arena, "Gatherer-Host", "here");
	add(&obj, arena, "Gatherer-Version", "1");
	add(&obj, arena, "Update-Time", arena_printf(arena, "%" PRIu32, p->told.time_s));
	if (p->op != SOURCE_UPDATE)
		return obj;
	const char *word = arena_printf(arena, "word%" PRIu64, p->told.text);
	add(&obj, arena, "Title", word);
	add(&obj, arena, "Full-Text", arena_printf(arena, "%s common to all", word));
	if (p->told.md5)
		add(&obj, arena, "MD5", arena_printf(arena, "%032x", p->told.md5));
	return obj;
}

static int numbers_next(struct source *source, struct arena *arena, struct source_change *ret,
			struct err *err)
{
	struct numbers *s = (struct numbers *)source;
	(void)err;
	if (s->at >= limit)
		return 1;
	struct play play = play_of(s->at++);
	*ret = (struct source_change){play.op, STR(""), object_of(&play, arena)};
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

static int step_on(struct collector *c, struct err *err)
{
	int rc;
	while ((rc = collector_step(c, clock_mono_us(), err)) == 0)
		;
	return rc;
}

static int run(const char *data, uint64_t n, struct err *err)
{
	struct collector_feed feed = {.name = "numbers", .ops = &numbers_ops};
	struct collector_options options = {.data = data, .feeds = &feed, .n = 1};
	struct collector *c;
	if (collector_open(&c, &options, err) < 0)
		return -1;
	int rc = 0;
	for (uint64_t i = 1; rc >= 0 && limit < n; i++) {
		limit = limit < LITTLE ? MIN(limit + COMMIT, n) : n;
		rc = step_on(c, err);
		if (rc > 0)
			rc = i % COMPACT         ? collector_commit(c, err)
			     : i % (2 * COMPACT) ? collector_compact_begin(c, 20, err)
						 : collector_compact(c, 20, err);
	}
	/* all documents, then the registry */
	for (int i = 0; i < 2 && rc >= 0; i++)
		rc = collector_compact(c, 1, err);
	if (rc >= 0)
		rc = step_on(c, err);
	collector_close(&c);
	return rc < 0 ? -1 : 0;
}

/* What a URL shows: found by its word alone, with its text in the store, or nothing. */
static int check_url(struct search *s, const struct world *w, unsigned url, struct arena *arena,
		     struct err *err)
{
	const struct known *k = world_shown(w, url);
	const char *name = arena_printf(arena, "http://a/%u", url);
	struct soif doc;
	int rc = search_document(s, str_of(name), arena, &doc, err);
	if (rc < 0 || (k != NULL) != (rc == 0))
		return fail(name, k ? "is lost" : "should show nothing");
	if (!k)
		return 0;
	const char *word = arena_printf(arena, "word%" PRIu64, k->text);
	struct search_ask ask = {.words = str_of(word), .limit = 10, .exact_total = true};
	struct search_answer a;
	if (!str_is(soif_get(&doc, STR("Title")), word) || !str_is(doc.url, name))
		return fail(name, "has another text in the store");
	if (search_run(s, &ask, arena, &a, err) < 0 || a.total != 1 || a.n != 1 ||
	    !str_is(a.row[0].url, name))
		return fail(name, "is not found by its word, or with others");
	return 0;
}

static int check_searches(const char *data, const struct world *w, struct arena *arena,
			  struct err *err)
{
	struct search_ask ask = {.words = STR("common"), .limit = 1, .exact_total = true};
	struct search_answer a;
	struct search *s = search_open(data);
	int rc = 0;
	for (unsigned url = 0; url < WORLD_URLS && rc == 0; url++)
		rc = check_url(s, w, url, arena, err);
	uint64_t n = world_count(w).shown;
	if (rc == 0 &&
	    (search_run(s, &ask, arena, &a, err) < 0 || a.total != n || a.documents != n))
		rc = fail("index", "has more or fewer documents");
	search_close(&s);
	return rc;
}

static int check_object(struct registry *r, const struct world *w, unsigned g, unsigned url,
			struct arena *arena, struct err *err)
{
	const struct known *k = &w->of[g][url];
	struct str name = str_of(arena_printf(arena, "http://a/%u", url));
	struct str gatherer = str_of(arena_printf(arena, "gatherer%u", g));
	struct registry_object o;
	int rc = registry_find(r, gatherer, STR("here"), name, arena, &o, err);
	if (rc < 0 || k->there != (rc == 0))
		return fail(name.p, k->there ? "is not registered" : "is registered");
	if (k->there && (o.update_time_s != k->time_s || (o.oid != 0) != k->has_text))
		return fail(name.p, "is registered with another time, or text");
	return 0;
}

/* Of all texts that ever were, those are there that somebody has. */
static int check_docs(struct registry *r, const char *folder, uint64_t oids, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *docs;
	struct docstore_mark mark;
	struct soif doc;
	registry_docs(r, &mark);
	if (docstore_open_read(&docs, folder, err) != 0)
		return fail("store", err->msg);
	int rc = docstore_verify(docs, &mark, err);
	for (uint64_t oid = 1; oid <= oids && rc == 0; oid++) {
		struct registry_object o;
		int text = docstore_get(docs, oid, &arena, &doc, err);
		int object = registry_by_oid(r, (uint32_t)oid, &arena, &o, err);
		if (text < 0 || object < 0)
			rc = -1;
		else if (text != object)
			rc = fail("store", text ? "a text is lost" : "a text is nobody's");
	}
	docstore_close(&docs);
	return rc;
}

static int check_words(const char *folder, uint64_t length, struct err *err)
{
	struct words_reader *w;
	struct words_note note;
	if (words_open(&w, folder, err) != 0)
		return fail("index", err->msg);
	int rc = words_verify(w, err);
	words_reader_note(w, &note);
	words_close(&w);
	if (rc < 0)
		return -1;
	return note.follows == length ? 0 : fail("index", "does not follow the registry");
}

static int check_stores(const char *data, const struct world *w, struct arena *arena,
			struct err *err)
{
	struct registry *r;
	struct registry_stats stats;
	struct world_counts n = world_count(w);
	if (registry_open_read(&r, arena_printf(arena, "%s/broker", data), err) != 0)
		return fail("registry", err->msg);
	int rc = registry_verify(r, err);
	for (unsigned i = 0; i < WORLD_GATHERERS * WORLD_URLS && rc == 0; i++)
		rc = check_object(r, w, i / WORLD_URLS, i % WORLD_URLS, arena, err);
	registry_stats(r, &stats);
	if (rc == 0 && stats.valid != n.objects)
		rc = fail("registry", "has more or fewer objects");
	if (rc == 0)
		rc = check_docs(r, arena_printf(arena, "%s/broker/docs", data), stats.oids, err);
	if (rc == 0)
		rc = check_words(arena_printf(arena, "%s/broker/words", data), registry_length(r),
				 err);
	registry_close(&r);
	return rc;
}

static int check(const char *data, uint64_t n, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct world w;
	world_of(n, &w);
	if (check_stores(data, &w, &arena, err) < 0)
		return -1;
	return check_searches(data, &w, &arena, err);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("collector.", "compact.", "docstore.", "indexer.", "registry.",
				    "words.");
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
