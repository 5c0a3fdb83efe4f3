/* One process that keeps sites of a names index until it is killed, and one that looks at them
 * meanwhile; for names_rounds.py.
 *
 *	names_worker points             the fault points of the names index, one a line
 *	names_worker write FOLDER N     makes N commits (0: for ever), with merges
 *	names_worker check FOLDER       what is there is just what some commit left; says which
 *	names_worker read FOLDER        checks and asks again and again, until it is ended
 *	names_worker damage FOLDER N SEED  changes N bytes, one at a time, and looks at what is said
 *
 * What a commit does follows from its number: it replaces one of a few sites, or drops it if it is
 * there. Each site has a file named after its commit, so that the whole state tells which commit
 *was the last. A line "N" on standard output means: commit N was said to be durable. */
#include "index/names/names_store.h"
#include "worker.h"

#include <time.h>
#include <unistd.h>

enum { SITES = 6, FILES_MOST = 150, DIRS = 9, MERGE_ALL_EVERY = 23, DROP_EVERY = 7 };

struct worker {
	const char *folder;
	struct names_writer *writer;
	struct names_reader *reader;
	struct arena arena;
	struct err err;
};

/* Which commit every site is of; 0: it is not there. */
struct state {
	uint64_t site[SITES];
};

static unsigned site_of(uint64_t commit)
{
	return (unsigned)(mix(commit, 1) % SITES);
}

static void state_step(struct state *s, uint64_t commit)
{
	unsigned site = site_of(commit);
	/* What the commit before brought is not dropped: two commits would leave what was there
	 * before both. */
	bool drop = commit % DROP_EVERY == 0 && s->site[site] && s->site[site] + 1 != commit;
	s->site[site] = drop ? 0 : commit;
}

static struct state state_after(uint64_t commits)
{
	struct state s = {0};
	for (uint64_t c = 1; c <= commits; c++)
		state_step(&s, c);
	return s;
}

static void key_of(unsigned site, char ret[32])
{
	snprintf(ret, 32, "site%u-10.0.0.%u", site, site);
}

static uint64_t files_of(uint64_t commit)
{
	return 1 + mix(commit, 2) % FILES_MOST;
}

/* File i of a commit; the texts are good until the next call. */
static struct names_entry file_of(uint64_t commit, uint64_t i)
{
	static char name[64], dir[64];
	uint64_t r = mix(commit / 3, (unsigned)i + 10); /* some directories stay as they are */
	snprintf(name, sizeof name, i ? "Name%" PRIu64 ".x" : "commit.%" PRIu64,
		 i ? r % 500 : commit);
	snprintf(dir, sizeof dir, "d%" PRIu64 "/e", i % DIRS);
	return (struct names_entry){.name = str_of(name),
				    .dir = i ? str_of(dir) : STR(""),
				    .links = -1,
				    .size = (int64_t)(r % 1000),
				    .time_s = -1};
}

/* Looking */

static int open_reader(struct worker *w)
{
	return w->reader ? names_refresh(&w->reader, &w->err)
			 : names_open(&w->reader, w->folder, &w->err);
}

/* The commit that a site says it is of, and whether all of its files are those of that commit. */
static int look_at_site(struct worker *w, uint32_t number, uint64_t *ret)
{
	struct names_entry got;
	size_t n;
	const struct names_site *site = &names_sites(w->reader, &n)[number];
	uint64_t commit = 0;
	if (names_get(w->reader, number, 0, &w->arena, &got, &w->err) != 0)
		return fail("first file", w->err.msg);
	if (!str_starts(got.name, STR("commit.")) || !str_u64(str_from(got.name, 7), &commit))
		return fail("first file", "has another name");
	if (site->entries != files_of(commit))
		return fail("files", "are not as many as there should be");
	for (uint64_t i = 0; i < site->entries; i++) {
		struct names_entry want = file_of(commit, i);
		if (names_get(w->reader, number, i, &w->arena, &got, &w->err) != 0)
			return fail("file", w->err.msg);
		if (!str_eq(got.name, want.name) || !str_eq(got.dir, want.dir) ||
		    got.size != want.size)
			return fail("file", "is of another commit");
	}
	*ret = commit;
	return 0;
}

static int look_at_all(struct worker *w, struct state *ret)
{
	size_t n;
	const struct names_site *site = names_sites(w->reader, &n);
	*ret = (struct state){0};
	for (uint32_t i = 0; i < n; i++) {
		unsigned number = 0;
		char key[32];
		for (; number < SITES; number++) {
			key_of(number, key);
			if (str_is(site[i].key, key))
				break;
		}
		if (number == SITES || look_at_site(w, i, &ret->site[number]) < 0)
			return fail("site", "is not as it should be");
		arena_clear(&w->arena);
	}
	return 0;
}

/* The commit after which all is as it is now. Some commits drop a site, so that it may be one after
 * the last that left a trace. */
static int last_commit(const struct state *now, uint64_t *ret)
{
	uint64_t newest = 0;
	for (unsigned i = 0; i < SITES; i++)
		newest = MAX(newest, now->site[i]);
	struct state s = state_after(newest);
	for (uint64_t c = newest; c <= newest + SITES + 1; state_step(&s, ++c))
		if (memcmp(&s, now, sizeof s) == 0) {
			*ret = c;
			return 0;
		}
	return fail("sites", "are not what any commit left");
}

/* What the index finds is what there is. */
static int ask_for(struct worker *w, uint64_t commit, bool there)
{
	struct names_hits hits;
	char name[64];
	snprintf(name, sizeof name, "commit.%" PRIu64, commit);
	struct names_query q = {.type = NAMES_EXACT, .pattern = str_of(name), .count = true};
	if (names_query(w->reader, &q, &w->arena, &hits, NULL, &w->err) < 0)
		return fail(name, w->err.msg);
	if (hits.total != there || hits.n != there)
		return fail(name, there ? "is not found" : "is still found");
	return 0;
}

static int ask_all(struct worker *w, const struct state *s, uint64_t last)
{
	for (unsigned i = 0; i < SITES; i++)
		if (s->site[i] && ask_for(w, s->site[i], true) < 0)
			return -1;
	for (uint64_t c = last > 5 ? last - 5 : 1; c <= last; c++)
		if (ask_for(w, c, s->site[site_of(c)] == c) < 0)
			return -1;
	arena_clear(&w->arena);
	return 0;
}

/* Everything of the snapshot that is open. */
static int look(struct worker *w, uint64_t *ret_last)
{
	struct state now;
	if (look_at_all(w, &now) < 0 || last_commit(&now, ret_last) < 0 ||
	    ask_all(w, &now, *ret_last) < 0)
		return -1;
	if (!names_problem(w->reader) && names_verify(w->reader, &w->err) < 0)
		return fail("verify", w->err.msg);
	return 0;
}

static int check(struct worker *w)
{
	uint64_t last = 0;
	int rc = open_reader(w);
	if (rc < 0)
		return -1;
	if (rc == 0 && names_problem(w->reader))
		return fail("names are scanned", names_problem(w->reader));
	if (rc == 0 && look(w, &last) < 0)
		return -1;
	printf("%" PRIu64 "\n", last);
	return 0;
}

/* No look and no question fails, whatever becomes of the writer. */
static int read_on(struct worker *w)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t last = 0, looks = 0;
	for (;;) {
		bool was = w->reader;
		int rc = open_reader(w);
		if (rc < 0)
			return -1;
		if (rc == 1 && !was) {
			nanosleep(&pause, NULL); /* nothing is there yet */
			continue;
		}
		if (rc == 0 ? look(w, &last) < 0 : looks % 64 == 0 && look(w, &last) < 0)
			return -1;
		if (++looks == 1) {
			printf("1\n");
			(void)fflush(stdout);
		}
		nanosleep(&pause, NULL);
	}
}

/* Writing */

static int put_site(struct worker *w, unsigned site, uint64_t commit)
{
	char key[32], url[64];
	key_of(site, key);
	snprintf(url, sizeof url, "ftp://%s/", key);
	struct names_site_spec spec = {.key = str_of(key), .url = str_of(url)};
	int rc = names_begin(w->writer, &spec, &w->err);
	for (uint64_t i = 0; i < files_of(commit) && rc == 0; i++) {
		struct names_entry e = file_of(commit, i);
		rc = names_add(w->writer, &e, &w->err);
	}
	return rc == 0 ? names_commit(w->writer, &w->err) : rc;
}

static int make_commit(struct worker *w, struct state *s, uint64_t commit)
{
	unsigned site = site_of(commit);
	char key[32];
	key_of(site, key);
	state_step(s, commit);
	int rc = s->site[site] ? put_site(w, site, commit)
			       : names_remove(w->writer, str_of(key), &w->err);
	if (rc != 0)
		return rc < 0 ? -1 : fail(key, "is not there to be dropped");
	printf("%" PRIu64 "\n", commit);
	if (fflush(stdout) != 0)
		abort();
	return commit % MERGE_ALL_EVERY == 0 ? MIN(names_merge_all(w->writer, &w->err), 0) : 0;
}

static int write_commits(struct worker *w, uint64_t n)
{
	struct state s = {0};
	uint64_t first = 0;
	struct names_options options = {.memory = NAMES_MEMORY_MIN};
	if (names_writer_open(&w->writer, w->folder, &options, &w->err) < 0 ||
	    open_reader(w) != 0 || look_at_all(w, &s) < 0 || last_commit(&s, &first) < 0)
		return -1;
	for (uint64_t c = first + 1; n == 0 || c <= first + n; c++)
		if (make_commit(w, &s, c) < 0)
			return -1;
	return 0;
}

/* Damage */

static int list_files(struct victims *v, const char *folder, unsigned depth, struct err *err)
{
	struct dir d;
	const char *name;
	if (dir_init(&d, folder, err) != 0)
		return -1;
	while (dir_next(&d, &name) == 0) {
		char *path = names_path(folder, name);
		struct stat st;
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && depth)
			(void)list_files(v, path, depth - 1, err);
		else if (st.st_size > 0)
			victims_add(v, folder, name, 0);
		mem_free(&path);
	}
	dir_done(&d);
	return 0;
}

/* A look at all of it finds the damage. */
static int look_at_damage(struct worker *w)
{
	int rc = open_reader(w);
	if (rc == 0 && names_verify(w->reader, &w->err) == 0)
		return fail("verify", "nothing was found");
	names_close(&w->reader);
	return rc == 1 || w->err.code != ERR_DAMAGED ? fail("not called damage", w->err.msg) : 0;
}

static int damage(struct worker *w, uint64_t n, uint64_t seed)
{
	static struct victims v;
	/* So that nothing is there which does not count. */
	if (names_writer_open(&w->writer, w->folder, NULL, &w->err) < 0)
		return -1;
	names_writer_close(&w->writer);
	char *names = names_path(w->folder, "names");
	int rc = list_files(&v, names, 1, &w->err);
	mem_free(&names);
	return rc < 0 ? -1 : damage_bytes(w, &v, n, seed, look_at_damage, &w->err);
}

static int begin(struct worker *w, const char *folder)
{
	w->folder = folder;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct worker_ops ops = {begin, write_commits, check, damage, read_on};
	struct worker w = {.arena = ARENA_INIT(SIZE_MAX)};
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("names.");
	int code = worker_run(argc, argv, &ops, &w, &w.err);
	names_writer_close(&w.writer);
	names_close(&w.reader);
	arena_free(&w.arena);
	return code;
}
