/* A registry of 10 million objects ($OBJECTS says how many; 3 GB, removed at the end): how long it
 * takes to put them, how large the tables are, and how soon it is open again after a writer was
 * killed just before it would have written its tables anew. */
#include "broker/registry.h"
#include "base/clock.h"
#include "bigfile.h"
#include "disk/tree.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMIT_EVERY = 10000, MAKE_TABLES_EVERY = 2000000, OPENS = 3, LOOKUPS = 200000 };

struct job {
	char folder[1200];
	uint64_t objects;
	struct registry *r;
};

static void must(int rc, const char *what, const struct err *err)
{
	if (rc != 0)
		bigfile_die(what, err);
}

static void object_put(struct registry *r, uint64_t i, uint32_t oid, uint32_t version)
{
	char url[128], md5[33];
	struct err err = {0};
	int n = snprintf(url, sizeof url,
			 "http://www%" PRIu64 ".example.com/some/path/page%" PRIu64 ".html",
			 i % 10007, i);
	snprintf(md5, sizeof md5, "%032" PRIx64, i * UINT64_C(0x9e3779b97f4a7c15));
	struct registry_object o = {.url = {url, (size_t)n},
				    .gatherer_name = STR("garner crawl"),
				    .gatherer_host = STR("crawler.example.com"),
				    .gatherer_version = STR("0.1.0"),
				    .md5 = {md5, 32},
				    .description =
					    STR("The title of a page, as long as most of them are"),
				    .oid = oid,
				    .point = 1,
				    .update_time_s = version,
				    .stored_s = version};
	must(registry_put(r, &o, (int64_t)(1700000000 + version) * US_PER_S, &err), "put", &err);
}

static void commit(struct registry *r, uint64_t docs)
{
	struct err err = {0};
	must(registry_commit(r, &(struct docstore_mark){1, docs}, &err), "commit", &err);
}

static void make_objects(struct job *job)
{
	struct err err = {0};
	struct registry_options options = {.tables_least = MAKE_TABLES_EVERY};
	must(registry_open(&job->r, job->folder, &options, NULL, &err), "open", &err);
	(void)registry_point(job->r, "crawl");
	for (uint64_t i = 0; i < job->objects; i++) {
		object_put(job->r, i, registry_new_oid(job->r), 1);
		if ((i + 1) % COMMIT_EVERY == 0)
			commit(job->r, i + 1);
	}
	registry_close(&job->r);
	/* tables that have all of it */
	options.tables_least = 1;
	must(registry_open(&job->r, job->folder, &options, NULL, &err), "open", &err);
	object_put(job->r, 0, 1, 1);
	commit(job->r, job->objects + 1);
	registry_close(&job->r);
}

/* As many changes all over the registry as come before the tables are written anew; then a kill. */
static void change_and_die(struct job *job)
{
	struct err err = {0};
	struct registry_options options = {0};
	uint64_t n = job->objects / 64;
	must(registry_open(&job->r, job->folder, &options, NULL, &err), "open", &err);
	for (uint64_t i = 0; i + 10 < n; i++) {
		object_put(job->r, i * 7919 % job->objects, registry_new_oid(job->r), 2);
		if ((i + 1) % COMMIT_EVERY == 0)
			commit(job->r, job->objects + 2 + i);
	}
	commit(job->r, 2 * job->objects);
	object_put(job->r, 1, 2, 3); /* one that was not committed */
	raise(SIGKILL);
}

static void in_child(void (*fn)(struct job *), struct job *job)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		fn(job);
		_exit(0);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0)) {
		fprintf(stderr, "bench: a child failed\n");
		exit(1);
	}
}

static int open_close(void *ctx)
{
	struct job *job = ctx;
	struct err err = {0};
	struct registry_options options = {0};
	must(registry_open(&job->r, job->folder, &options, NULL, &err), "open", &err);
	return 0;
}

static void lookups(struct bench *b, struct job *job)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct err err = {0};
	double cpu = bench_cpu_s();
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		char url[128];
		struct registry_object o;
		uint64_t k = i * 104729 % job->objects;
		int n = snprintf(url, sizeof url,
				 "http://www%" PRIu64 ".example.com/some/path/page%" PRIu64 ".html",
				 k % 10007, k);
		must(registry_find(job->r, STR("garner crawl"), STR("crawler.example.com"),
				   (struct str){url, (size_t)n}, &arena, &o, &err),
		     "find", &err);
		arena_clear(&arena);
	}
	bench_figure(b, "find_us", (bench_cpu_s() - cpu) * 1e6 / LOOKUPS, "us");
	arena_free(&arena);
}

int main(void)
{
	struct bench b = bench_begin("registry");
	static struct job job;
	struct err err = {0};
	struct registry_stats stats;
	struct stat st;
	char path[1400];
	const char *objects = getenv("OBJECTS");
	job.objects =
		objects ? strtoull(objects, NULL, 10) : UINT64_C(10000000) * (uint64_t)b.scale;
	snprintf(job.folder, sizeof job.folder, "%s/registry-bench", bigfile_folder());
	(void)tree_remove(job.folder, &err);
	double wall = bench_wall_s();
	in_child(make_objects, &job);
	bench_figure(&b, "put_us", (bench_wall_s() - wall) * 1e6 / (double)job.objects, "us");
	in_child(change_and_die, &job);

	double ready[OPENS], cpu[OPENS];
	for (unsigned i = 0; i < OPENS; i++) {
		double w = bench_wall_s(), c = bench_cpu_s();
		(void)open_close(&job);
		ready[i] = bench_wall_s() - w;
		cpu[i] = bench_cpu_s() - c;
		if (i + 1 < OPENS)
			registry_close(&job.r);
	}
	struct bench_time t = bench_summary(ready, cpu, OPENS);
	bench_row(&b, "open", "objects", (double)job.objects, t);
	bench_figure(&b, "ready_s", t.wall_s, "s");
	bench_figure(&b, "ready_cpu_s", t.cpu_s, "s");
	lookups(&b, &job);
	registry_stats(job.r, &stats);
	snprintf(path, sizeof path, "%s/registry.tables", job.folder);
	if (stat(path, &st) == 0)
		bench_figure(&b, "table_bytes", (double)st.st_size / (double)stats.valid,
			     "bytes/object");
	bench_figure(&b, "record_bytes", (double)stats.bytes / (double)stats.records,
		     "bytes/record");
	registry_close(&job.r);
	(void)tree_remove(job.folder, &err);
	return bench_end(&b);
}
