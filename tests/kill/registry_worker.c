/* One process that keeps a registry until it is killed; for registry_rounds.py.
 *
 *	registry_worker points             the fault points of the registry, one a line
 *	registry_worker write FOLDER N     makes N commits (0: for ever), with compressions
 *	registry_worker check FOLDER       what is there is just what some commit left; says which
 *	registry_worker damage FOLDER N SEED  changes N bytes, one at a time, and looks at what is
 *said
 *
 * What a commit changes follows from its number: about a dozen of a hundred objects are put, with
 * the number as their Update-Time, or dropped. The cursor of the only point has the number of the
 * last commit, so that all of the state follows from it. A line "N" on standard output means:
 *commit N was said to be durable. */
#include "base/clock.h"
#include "broker/registry.h"
#include "worker.h"

enum { KEYS = 100, CHANGES = 12, COMPRESS_EVERY = 6, NOW_S = 1700000000 };

static const struct registry_options options = {
	.remember_deleted_s = 10, .compress_least = 32, .tables_least = 40};

struct worker {
	const char *folder;
	struct registry *r;
	struct arena arena;
	struct err err;
};

/* What commit n does with its i-th object: its number; *ret_gone: drops it. */
static unsigned change(uint64_t commit, unsigned i, bool *ret_gone)
{
	uint64_t r = mix(commit, i);
	*ret_gone = r / KEYS % 4 == 0;
	return (unsigned)(r % KEYS);
}

/* Which commit every object is of; 0: it is not there. */
static void state_after(uint64_t commits, uint64_t ret[KEYS])
{
	memset(ret, 0, KEYS * sizeof *ret);
	for (uint64_t c = 1; c <= commits; c++)
		for (unsigned i = 0; i < CHANGES; i++) {
			bool gone;
			unsigned key = change(c, i, &gone);
			ret[key] = gone ? 0 : c;
		}
}

/* All of an object but its oid. */
static struct registry_object make(struct arena *arena, unsigned key, uint64_t commit)
{
	return (struct registry_object){
		.url = str_of(arena_printf(arena, "http://a.example/%u", key / 2)),
		.gatherer_name = str_of(arena_printf(arena, "gatherer %u", key % 2)),
		.gatherer_host = STR("host.example"),
		.gatherer_version = STR("1"),
		.md5 = str_of(arena_printf(arena, "%032" PRIx64, commit)),
		.description = str_of(arena_printf(arena, "of commit %" PRIu64, commit)),
		.point = 1,
		.update_time_s = (uint32_t)commit,
	};
}

static uint64_t last_commit(struct worker *w)
{
	size_t n;
	uint64_t commit = 0;
	const struct registry_point *point = registry_points(w->r, &n);
	if (n)
		memcpy(&commit, point->cursor.b, sizeof commit);
	return commit;
}

/* Writing */

static int apply(struct worker *w, uint64_t commit, unsigned i)
{
	bool gone;
	unsigned key = change(commit, i, &gone);
	struct registry_object o = make(&w->arena, key, commit);
	int64_t now_us = (int64_t)(NOW_S + commit) * US_PER_S;
	if (gone)
		return registry_drop(w->r, o.gatherer_name, o.gatherer_host, o.url, now_us,
				     &w->err);
	o.oid = registry_new_oid(w->r);
	return registry_put(w->r, &o, now_us, &w->err);
}

static int make_commit(struct worker *w, uint64_t commit)
{
	struct source_cursor cursor = {0};
	for (unsigned i = 0; i < CHANGES; i++)
		if (apply(w, commit, i) < 0)
			return -1;
	arena_clear(&w->arena);
	memcpy(cursor.b, &commit, sizeof commit);
	registry_set_cursor(w->r, registry_point(w->r, "crawl"), &cursor);
	if (registry_commit(w->r, &(struct docstore_mark){1, commit}, &w->err) < 0)
		return -1;
	printf("%" PRIu64 "\n", commit);
	if (fflush(stdout) != 0)
		abort();
	return 0;
}

/* With a commit between its copy and its end. */
static int compress(struct worker *w, uint64_t *commit)
{
	struct registry_compression *c = NULL;
	int rc = registry_compress_begin(w->r, false, (int64_t)(NOW_S + *commit) * US_PER_S, &c,
					 &w->err);
	if (rc != 0)
		return MIN(rc, 0);
	rc = registry_compress_copy(c, &w->err);
	if (rc == 0)
		rc = make_commit(w, ++*commit);
	if (rc == 0)
		rc = registry_compress_end(c, &w->err);
	registry_compress_free(&c);
	return rc;
}

static int write_commits(struct worker *w, uint64_t n)
{
	if (registry_open(&w->r, w->folder, &options, NULL, &w->err) < 0)
		return -1;
	uint64_t last = last_commit(w), first = last;
	while (n == 0 || last < first + n) {
		if (make_commit(w, ++last) < 0)
			return -1;
		if (last % COMPRESS_EVERY == 0 && compress(w, &last) < 0)
			return -1;
	}
	return 0;
}

/* Checking */

static int check_key(struct worker *w, unsigned key, uint64_t commit)
{
	char name[32];
	struct registry_object want = make(&w->arena, key, commit), got, by_oid;
	snprintf(name, sizeof name, "object %u", key);
	int rc = registry_find(w->r, want.gatherer_name, want.gatherer_host, want.url, &w->arena,
			       &got, &w->err);
	if (rc < 0)
		return -1;
	if (rc == 1)
		return commit ? fail(name, "is missing") : 0;
	if (commit == 0)
		return fail(name, "should be dropped");
	if (got.update_time_s != commit || !str_eq(got.md5, want.md5) ||
	    !str_eq(got.description, want.description))
		return fail(name, "is of another commit");
	rc = registry_by_oid(w->r, got.oid, &w->arena, &by_oid, &w->err);
	if (rc == 1 || (rc == 0 && !str_eq(by_oid.url, got.url)))
		return fail(name, "is not found by its oid");
	arena_clear(&w->arena);
	return MIN(rc, 0);
}

static int check_all(struct worker *w, uint64_t *ret_last)
{
	static uint64_t state[KEYS];
	struct registry_stats stats;
	uint64_t valid = 0;
	*ret_last = last_commit(w);
	state_after(*ret_last, state);
	for (unsigned i = 0; i < KEYS; i++) {
		if (check_key(w, i, state[i]) < 0)
			return -1;
		valid += state[i] != 0;
	}
	registry_stats(w->r, &stats);
	return stats.valid == valid ? 0 : fail("valid", "more objects than there should be");
}

/* By a reader, as the killed writer left it. */
static int check(struct worker *w)
{
	uint64_t last = 0;
	int rc = registry_open_read(&w->r, w->folder, &w->err);
	if (rc < 0 || (rc == 0 && (registry_verify(w->r, &w->err) < 0 || check_all(w, &last) < 0)))
		return -1;
	printf("%" PRIu64 "\n", last);
	return 0;
}

/* Damage */

static int verify(struct worker *w)
{
	int rc = registry_open_read(&w->r, w->folder, &w->err);
	if (rc == 0)
		rc = registry_verify(w->r, &w->err);
	registry_close(&w->r);
	return rc;
}

static int look_at_damage(struct worker *w)
{
	int rc = verify(w);
	if (rc == 0)
		return fail("verify", "nothing was found");
	return rc < 0 && (w->err.code == ERR_DAMAGED || w->err.code == ERR_USAGE)
		       ? 0
		       : fail("not called damage", w->err.msg);
}

static int damage(struct worker *w, uint64_t n, uint64_t seed)
{
	static struct victims v;
	/* What a killed writer left last cannot be told from a torn end until one closes it. */
	if (registry_open(&w->r, w->folder, &options, NULL, &w->err) < 0)
		return -1;
	registry_close(&w->r);
	if (verify(w) != 0)
		return fail("damage", "the registry is not sound to begin with");
	victims_add(&v, w->folder, "registry", 0);
	/* The mark at its end says that it was closed well, and nothing else. */
	victims_add(&v, w->folder, "registry.commit", 32);
	victims_add(&v, w->folder, "registry.tables", 0);
	return damage_bytes(w, &v, n, seed, look_at_damage, &w->err);
}

static int begin(struct worker *w, const char *folder)
{
	w->folder = folder;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct worker_ops ops = {begin, write_commits, check, damage, NULL};
	struct worker w = {.arena = ARENA_INIT(SIZE_MAX)};
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("registry.");
	int code = worker_run(argc, argv, &ops, &w, &w.err);
	registry_close(&w.r);
	arena_free(&w.arena);
	return code;
}
