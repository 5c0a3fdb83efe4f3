/* Record files beside a plain append and fdatasync: groups of a thousand, one at a time, one each
 * by many threads at once, and reading back. The fsync reference runs before and after, since it
 * moves by a factor of twenty with other writers about. */
#include "disk/record.h"
#include "base/file.h"
#include "base/thread.h"
#include "bench.h"

#include <fcntl.h>

enum { SIZE = 100, GROUP = 1000, THREADS = 8, REPEATS = 5 };

struct job {
	const char *path;
	struct record_writer *w;
	struct file plain;
	uint64_t at;
	long n; /* records, or syncs of the reference */
};

static const struct record_kind kind = {.magic = "GARNERBE", .version = 1, .most = 4096};
static char payload[SIZE];

static int failed(const struct err *err)
{
	fprintf(stderr, "bench: %s\n", err->msg);
	return -1;
}

static int plain_appends(void *ctx)
{
	struct job *job = ctx;
	struct err err;
	for (long i = 0; i < job->n; i++, job->at += SIZE)
		if (file_write(&job->plain, payload, SIZE, job->at, &err) < 0 ||
		    file_sync(&job->plain, &err) < 0)
			return failed(&err);
	return 0;
}

static int append_groups(struct job *job, long group)
{
	struct err err;
	struct record_group g = {0};
	for (long i = 1; i <= job->n; i++)
		if (record_append(job->w, (struct str){payload, SIZE}, &g, NULL, &err) < 0 ||
		    (i % group == 0 && record_sync(job->w, &g, &err) < 0))
			return failed(&err);
	return 0;
}

static int in_groups(void *ctx)
{
	return append_groups(ctx, GROUP);
}

static int one_by_one(void *ctx)
{
	return append_groups(ctx, 1);
}

static void *one_thread(void *ctx)
{
	return append_groups(ctx, 1) == 0 ? NULL : ctx;
}

static int by_threads(void *ctx)
{
	pthread_t thread[THREADS];
	struct err err;
	void *bad = NULL, *said;
	for (size_t i = 0; i < THREADS; i++)
		if (thread_start(&thread[i], one_thread, ctx, &err) < 0)
			return failed(&err);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &said);
		bad = said ? said : bad;
	}
	return bad ? -1 : 0;
}

static int read_back(void *ctx)
{
	struct job *job = ctx;
	struct record_reader *r;
	struct record record;
	struct err err;
	if (record_reader_open(&r, job->path, &kind, &err) != 0)
		return -1;
	int rc = 0;
	for (long i = 0; i < job->n && rc == 0; i++)
		rc = record_next(r, &record, &err);
	record_reader_free(&r);
	return rc < 0 ? failed(&err) : rc;
}

/* Repeats the reference and ours in turn. The ratio is syncs of the reference in the time of one
 * sync of ours, of which each repeat does so many. */
static struct bench_time beside(struct bench *b, const char *name, int (*fn)(void *),
				struct job *job, double records, double syncs)
{
	double wall[REPEATS], cpu[REPEATS], ratio[REPEATS], plain[REPEATS];
	struct job ref = *job;
	ref.n = 300L * b->scale;
	for (int i = -1; i < REPEATS; i++) {
		double start = bench_wall_s();
		if (plain_appends(&ref) != 0)
			exit(1);
		double plain_s = (bench_wall_s() - start) / (double)ref.n;
		double w = bench_wall_s(), c = bench_cpu_s();
		if (fn(job) != 0)
			exit(1);
		if (i < 0)
			continue;
		cpu[i] = bench_cpu_s() - c;
		wall[i] = bench_wall_s() - w;
		plain[i] = plain_s;
		ratio[i] = wall[i] / syncs / plain_s;
	}
	job->at = ref.at;
	struct bench_time t = bench_summary(wall, cpu, REPEATS);
	bench_row(b, name, "records", records, t);
	char label[64];
	double median = bench_median(ratio, REPEATS), plain_us = bench_median(plain, REPEATS) * 1e6;
	snprintf(label, sizeof label, "%s_plain_sync", name);
	bench_figure(b, label, plain_us, "us");
	snprintf(label, sizeof label, "%s_to_plain_sync", name);
	bench_ratio(b, label, median);
	printf("  %-32s %10.0f us a plain append and sync in the same minutes\n", "", plain_us);
	return t;
}

static int open_all(struct job *job, const char *plain, struct err *err)
{
	if (file_remove(job->path, err) < 0 || file_remove(plain, err) < 0 ||
	    record_open(&job->w, job->path, &kind, 0600, NULL, err) < 0)
		return -1;
	return file_open(&job->plain, plain, O_RDWR | O_CREAT, 0600, err);
}

int main(void)
{
	const char *dir = getenv("BUILD");
	char path[1024], plain[1024];
	snprintf(path, sizeof path, "%s/bench-record.tmp", dir ? dir : ".");
	snprintf(plain, sizeof plain, "%s/bench-plain.tmp", dir ? dir : ".");
	for (size_t i = 0; i < SIZE; i++)
		payload[i] = (char)(i * 41);
	struct job job = {.path = path};
	struct err err;
	if (open_all(&job, plain, &err) < 0)
		return failed(&err), 1;
	struct bench b = bench_begin("record");
	struct job groups = job, single = job, threads = job;
	groups.n = 500000L * b.scale;
	single.n = 500L * b.scale;
	threads.n = 250L * b.scale;
	double n = (double)groups.n;
	struct bench_time t = beside(&b, "groups_of_1000", in_groups, &groups, n, n / GROUP);
	bench_figure(&b, "append_cpu", t.cpu_s * 1e6 / n, "us/record");
	n = (double)single.n;
	beside(&b, "one_by_one", one_by_one, &single, n, n);
	n = (double)threads.n * THREADS;
	beside(&b, "by_8_threads", by_threads, &threads, n, n);
	bench_row(&b, "read", "records", (double)groups.n,
		  bench_measure(read_back, &groups, REPEATS));
	int rc = record_close(&job.w, &err);
	file_drop(&job.plain);
	if (rc < 0 || file_remove(path, &err) < 0 || file_remove(plain, &err) < 0)
		return failed(&err), 1;
	return bench_end(&b);
}
