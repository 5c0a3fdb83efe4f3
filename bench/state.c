/* States beside the plain loops of the disk: a checkpoint under load beside an append and
 * fdatasync, URLs found in an index by one pread each, and how long it takes to open a state with
 * 100 million URLs ($URLS says how many; 4.5 GB, removed at the end). */
#include "state/state.h"
#include "base/clock.h"
#include "base/hash.h"
#include "bigfile.h"
#include "bucket/bucket.h"
#include "disk/tree.h"

#include <inttypes.h>

enum { CHECKPOINTS = 200, PAGES = 20, LINKS = 30, BODY = 10000, LOOKUPS = 20000, OPENS = 20 };

struct job {
	char folder[1200];
	struct states *s;
	struct state *st;
	struct buckets *buckets;
	struct file plain;
	uint64_t plain_at, page, urls;
	char body[BODY];
};

static void must(int rc, const char *what, const struct err *err)
{
	if (rc != 0)
		bigfile_die(what, err);
}

/* The i-th footprint of many in ascending order, 100 to a site. */
static struct footprint nth(uint64_t i)
{
	return (struct footprint){i / 100 * 0x9e3779b9u, (i % 100) << 57 | (hash_u64(i) >> 8)};
}

/* Pages as a crawl gathers them between two checkpoints: buckets, journal, links. */
static void gather(struct job *job)
{
	struct err err = {0};
	for (unsigned i = 0; i < PAGES; i++, job->page++) {
		uint32_t oid;
		struct footprint fp = {hash_u64(job->page), job->page};
		must(bucket_append(job->buckets, BUCKET_V33, (struct str){job->body, BODY}, &oid,
				   &err),
		     "append", &err);
		struct journal_entry e = {.fp = fp,
					  .time_us = (int64_t)job->page,
					  .op = CHANGE_UPDATE,
					  .type = ITEM_GATHERED,
					  .code = 0,
					  .where = oid,
					  .url = STR("http://www.example.com/some/page.html")};
		must(state_journal(job->st, &e, &err), "journal", &err);
		for (unsigned k = 0; k < LINKS; k++) {
			struct contrib c = {.fp = {hash_u64(k), job->page},
					    .from = fp,
					    .url = STR("http://www.example.com/other/page.html")};
			must(state_contrib(job->st, &c, NULL, &err), "contrib", &err);
		}
	}
}

/* The reference: what was gathered weighs the same, in one file with one sync. */
static double plain_sync_s(struct job *job)
{
	struct err err = {0};
	for (unsigned i = 0; i < PAGES; i++, job->plain_at += BODY)
		must(file_write(&job->plain, job->body, BODY, job->plain_at, &err), "write", &err);
	double from = bench_wall_s();
	must(file_sync(&job->plain, &err), "sync", &err);
	return bench_wall_s() - from;
}

static void checkpoints(struct bench *bench, struct job *job)
{
	static double ours[CHECKPOINTS], plain[CHECKPOINTS];
	struct err err = {0};
	struct state *closed = NULL;
	const struct bucket_options append = {.mode = BUCKET_APPEND};
	char path[1300];
	must(state_open(&closed, job->s, "closed", &err), "open", &err);
	must(state_clone(&job->st, closed, false, clock_wall_us(), &err), "clone", &err);
	must(state_enter(job->st, PHASE_REAP, NULL, clock_wall_us(), &err), "reap", &err);
	snprintf(path, sizeof path, "%s/objects", job->folder);
	must(bucket_open(&job->buckets, path, &append, &err), "buckets", &err);
	snprintf(path, sizeof path, "%s/plain", job->folder);
	must(file_open(&job->plain, path, O_RDWR | O_CREAT, 0600, &err), "plain", &err);
	for (unsigned i = 0; i < CHECKPOINTS; i++) { /* in turns: the disk has its moods */
		plain[i] = plain_sync_s(job);
		gather(job);
		double from = bench_wall_s();
		must(state_checkpoint(job->st, job->buckets, (int64_t)i + 1, &err), "checkpoint",
		     &err);
		ours[i] = bench_wall_s() - from;
	}
	double ours_s = bench_median(ours, CHECKPOINTS), plain_s = bench_median(plain, CHECKPOINTS);
	printf("  checkpoint %.3f ms, a plain fdatasync of as many bytes %.3f ms (medians of %d)\n",
	       ours_s * 1e3, plain_s * 1e3, CHECKPOINTS);
	bench_figure(bench, "checkpoint", ours_s * 1e3, "ms");
	bench_figure(bench, "fdatasync", plain_s * 1e3, "ms");
	bench_ratio(bench, "checkpoint", ours_s / plain_s);
	state_free(&job->st);
	state_free(&closed);
	bucket_drop(&job->buckets);
	file_drop(&job->plain);
}

/* Makes the one state of a second crawl know all those URLs. */
static void build(struct job *job)
{
	struct err err = {0};
	struct state *closed = NULL;
	struct url_index_writer *w;
	double from = bench_wall_s();
	must(state_open(&closed, job->s, "closed", &err), "open", &err);
	must(state_clone(&job->st, closed, false, clock_wall_us(), &err), "clone", &err);
	must(state_index_create(job->st, &w, &err), "index", &err);
	for (uint64_t i = 0; i < job->urls; i++) {
		struct index_item item = {.fp = nth(i), .where = i, .type = ITEM_GATHERED};
		url_index_put(w, &item);
	}
	must(state_index_put(job->st, &w, &err), "index", &err);
	must(state_enter(job->st, PHASE_CLOSED, NULL, clock_wall_us(), &err), "close", &err);
	printf("  %" PRIu64 " URLs written in %.1f s\n", job->urls, bench_wall_s() - from);
	state_free(&job->st);
	state_free(&closed);
}

/* From the folder to the first URL that is found. */
static void opens(struct bench *bench, struct job *job)
{
	static double open_s[OPENS];
	struct err err = {0};
	for (unsigned i = 0; i < OPENS; i++) {
		struct states *s = NULL;
		struct state *st = NULL;
		const struct url_index *index;
		double from = bench_wall_s();
		must(states_open(&s, job->folder, false, &err), "open", &err);
		must(state_open(&st, s, "closed", &err), "open", &err);
		must(state_index(st, &index, &err), "index", &err);
		open_s[i] = bench_wall_s() - from;
		state_free(&st);
		states_close(&s);
	}
	double median = bench_median(open_s, OPENS);
	printf("  open %.3f ms, at most %.3f ms\n", median * 1e3, open_s[OPENS - 1] * 1e3);
	bench_figure(bench, "open", median * 1e3, "ms");
	bench_figure(bench, "open_urls", (double)job->urls, "URLs");
}

/* Calls of read of this process so far. */
static uint64_t reads(void)
{
	struct err err = {0};
	struct buf b = BUF_INIT(4096);
	uint64_t n = 0;
	must(file_slurp("/proc/self/io", &b, &err), "/proc/self/io", &err);
	struct str rest = buf_str(&b), line;
	while (str_cut(&rest, '\n', &line) == 0)
		if (str_starts(line, STR("syscr: ")))
			(void)!str_u64(str_from(line, 7), &n);
	buf_free(&b);
	return n;
}

static void lookups(struct bench *bench, struct job *job)
{
	struct err err = {0};
	struct state *st = NULL;
	const struct url_index *index;
	struct index_item item;
	must(state_open(&st, job->s, "closed", &err), "open", &err);
	must(state_index(st, &index, &err), "index", &err);
	uint64_t none = reads();
	none = reads() - none;
	uint64_t before = reads();
	double from = bench_wall_s(), cpu = bench_cpu_s();
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		uint64_t n = hash_u64(i) % job->urls;
		must(url_index_find(index, nth(n), &item, &err), "find", &err);
		if (item.where != n)
			bigfile_die("another URL was found", NULL);
	}
	double wall = bench_wall_s() - from;
	double each = (double)(reads() - before - none) / LOOKUPS;
	printf("  %d URLs found, %.1f us wall, %.1f us cpu, %.4f preads each\n", LOOKUPS,
	       wall / LOOKUPS * 1e6, (bench_cpu_s() - cpu) / LOOKUPS * 1e6, each);
	bench_figure(bench, "lookup", wall / LOOKUPS * 1e6, "us");
	bench_figure(bench, "preads_a_lookup", each, "preads");
	state_free(&st);
}

int main(void)
{
	struct bench bench = bench_begin("state");
	struct err err = {0};
	const char *urls = getenv("URLS");
	static struct job job;
	job.urls = urls ? strtoull(urls, NULL, 10) : UINT64_C(10000000) * (uint64_t)bench.scale;
	memset(job.body, 'x', sizeof job.body);
	snprintf(job.folder, sizeof job.folder, "%s/state-bench", bigfile_folder());
	(void)tree_remove(job.folder, &err);
	must(states_init(job.folder, 0, clock_wall_us(), &err), "init", &err);
	must(states_open(&job.s, job.folder, true, &err), "open", &err);
	build(&job);
	opens(&bench, &job);
	lookups(&bench, &job);
	checkpoints(&bench, &job);
	states_close(&job.s);
	(void)tree_remove(job.folder, &err);
	return bench_end(&bench);
}
