/* Threads that read one names index while another writes it: each sees whole commits, by snapshots
 * of its own and by one that all share. */
#include "names_sites.h"

#include <pthread.h>
#include <stdatomic.h>

enum { COMMITS = 24, COMMITS_FEW = 5, READERS = 3, FILES = 90 };

static char folder[512];

struct shared {
	pthread_mutex_t mutex;
	struct names_reader *reader; /* the newest that somebody opened */
	atomic_bool done;
	atomic_uint looks;
};

/* All files of a site have the size of its commit. Not an assert: those are for the main thread. */
static void look(struct names_reader *r)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_entry e;
	struct err err;
	size_t n;
	const struct names_site *site = names_sites(r, &n);
	ENSURE(!names_problem(r));
	for (uint32_t i = 0; i < n; i++) {
		int64_t size = -1;
		for (uint64_t line = 0; line < site[i].entries; line++) {
			ENSURE(names_get(r, i, line, &arena, &e, &err) == 0);
			ENSURE(line == 0 || e.size == size);
			size = e.size;
		}
		uint64_t files = 0;
		for (uint64_t dir = 0; dir < site[i].dirs; dir++)
			for (uint64_t line = 0;
			     names_dir_next(r, i, dir, &line, &arena, &e, &err) == 0;)
				files++;
		ENSURE(files == site[i].entries);
		arena_clear(&arena);
	}
	struct names_query q = {.type = NAMES_SUB, .pattern = STR("FILE1"), .count = true};
	struct names_hits hits;
	ENSURE(names_query(r, &q, &arena, &hits, NULL, &err) == 0);
	ENSURE(hits.exact && hits.total == n * 11); /* 1 and 10 to 19 */
	arena_free(&arena);
}

static void *read_shared(void *ctx)
{
	struct shared *s = ctx;
	struct err err;
	struct names_reader *own = NULL;
	while (!atomic_load(&s->done)) {
		(void)pthread_mutex_lock(&s->mutex);
		ENSURE(names_refresh(&s->reader, &err) >= 0);
		struct names_reader *r = names_hold(s->reader);
		(void)pthread_mutex_unlock(&s->mutex);
		look(r);
		names_close(&r);
		if (!own)
			ENSURE(names_open(&own, folder, &err) == 0);
		else
			ENSURE(names_refresh(&own, &err) >= 0);
		look(own);
		atomic_fetch_add(&s->looks, 1);
	}
	names_close(&own);
	return NULL;
}

static void put_commit(struct names_writer *w, unsigned commit)
{
	static char text[FILES][64];
	const char *path[FILES + 1];
	char key[32];
	snprintf(key, sizeof key, "s%u-1", commit % 4);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(text[i], sizeof text[i], "d%u/File%u=%u", i % 5, i, commit);
		path[i] = text[i];
	}
	path[FILES] = NULL;
	site_put(w, key, path);
}

static void readers_see_whole_commits_while_another_writes(void **state)
{
	(void)state;
	struct shared s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	pthread_t thread[READERS];
	snprintf(folder, sizeof folder, "%s/x", scratch_dir);
	struct names_writer *w = site_writer(folder);
	put_commit(w, 0);
	s.reader = site_reader(folder);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, read_shared, &s), 0);
	unsigned commits = unit_long() ? COMMITS : COMMITS_FEW;
	for (unsigned i = 1; i < commits; i++)
		put_commit(w, i);
	while (atomic_load(&s.looks) < READERS)
		(void)usleep(1000);
	atomic_store(&s.done, true);
	for (unsigned i = 0; i < READERS; i++)
		(void)pthread_join(thread[i], NULL);
	names_close(&s.reader);
	names_writer_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_see_whole_commits_while_another_writes),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
