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
#include "base/file.h"
#include "broker/registry.h"
#include "points.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 100, CHANGES = 12, COMPRESS_EVERY = 6, NOW_S = 1700000000 };

static const struct registry_options options = {
	.remember_deleted_s = 10, .compress_least = 32, .tables_least = 40};

struct worker {
	const char *folder;
	struct registry *r;
	struct arena arena;
	struct err err;
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "registry_worker: %s%s%s\n", what, *why ? ": " : "", why);
	return -1;
}

static uint64_t mix(uint64_t commit, unsigned i)
{
	uint64_t v = commit * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xbf58476d1ce4e5b9);
	v ^= v >> 29;
	v *= UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 32;
}

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
	int rc = registry_compress_begin(w->r, (int64_t)(NOW_S + *commit) * US_PER_S, &c, &w->err);
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

static int change_byte(const char *path, uint64_t r, uint64_t *at, uint8_t *bits, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size;
	unsigned char c;
	size_t got;
	if (file_open(&f, path, O_RDWR, 0, err) != 0 || file_size(&f, &size, err) < 0)
		return -1;
	/* The mark at the end says that it was closed well, and nothing else. */
	if (str_ends(str_of(path), STR(".commit")))
		size -= MIN(size, (uint64_t)32);
	if (*bits == 0) {
		*bits = (uint8_t)(1 + r % 255);
		*at = r / 255 % size;
	}
	if (file_read(&f, &c, 1, *at, &got, err) < 0 || got != 1)
		return -1;
	c ^= *bits;
	return file_write(&f, &c, 1, *at, err);
}

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
	static const char *const names[] = {"registry", "registry.commit", "registry.tables"};
	/* What a killed writer left last cannot be told from a torn end until one closes it. */
	if (registry_open(&w->r, w->folder, &options, NULL, &w->err) < 0)
		return -1;
	registry_close(&w->r);
	if (verify(w) != 0)
		return fail("damage", "the registry is not sound to begin with");
	for (uint64_t i = 0; i < n; i++) {
		char path[PATH_MAX];
		uint64_t at = 0;
		uint8_t bits = 0;
		snprintf(path, sizeof path, "%s/%s", w->folder, names[i % ARRAY_LEN(names)]);
		seed = mix(seed, 2) | 1;
		if (change_byte(path, mix(seed, 3), &at, &bits, &w->err) < 0)
			return -1;
		if (look_at_damage(w) < 0) {
			fprintf(stderr, "%s, byte %" PRIu64 " ^ %02x\n", path, at, bits);
			return -1;
		}
		if (change_byte(path, 0, &at, &bits, &w->err) < 0)
			return -1;
	}
	printf("%" PRIu64 " changes in 3 files, all found\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	struct worker w = {.arena = ARENA_INIT(SIZE_MAX)};
	int rc;
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("registry.");
	if (argc < 3 || fault_arm(getenv("GARNER_FAULTS"), &w.err) < 0)
		return fail("usage: points | write FOLDER N | check FOLDER | damage FOLDER N SEED",
			    w.err.msg) +
		       3;
	w.folder = argv[2];
	if (strcmp(argv[1], "write") == 0)
		rc = write_commits(&w, argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
	else if (strcmp(argv[1], "damage") == 0 && argc == 5)
		rc = damage(&w, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	else
		rc = check(&w);
	if (rc < 0)
		fail(argv[1], w.err.msg);
	registry_close(&w.r);
	arena_free(&w.arena);
	return rc < 0 ? 1 : 0;
}
