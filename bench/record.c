/* Record files beside a plain append and fdatasync: groups of a thousand, one at a time, one each
 * by many threads at once, and reading back. The fsync reference runs before and after, since it
 * moves by a factor of twenty with other writers about. */
#include "base/record.h"
#include "base/file.h"
#include "base/thread.h"
#include "bench.h"

#include <fcntl.h>

enum { SIZE = 100, GROUP = 1000, THREADS = 8, REPEATS = 3 };

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

static struct bench_time reference(struct bench *b, const char *name, struct job *job)
{
	struct job ref = *job;
	ref.n = 500L * b->scale;
	struct bench_time t = bench_measure(plain_appends, &ref, REPEATS);
	job->at = ref.at;
	bench_row(b, name, "syncs", (double)ref.n, t);
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
	struct bench_time before = reference(&b, "plain_before", &job);

	struct job groups = job, single = job, threads = job;
	groups.n = 500000L * b.scale;
	single.n = 500L * b.scale;
	threads.n = 250L * b.scale;
	struct bench_time t = bench_measure(in_groups, &groups, REPEATS);
	bench_row(&b, "groups_of_1000", "records", (double)groups.n, t);
	bench_figure(&b, "append_cpu", t.cpu_s * 1e6 / (double)groups.n, "us/record");
	bench_figure(&b, "append_best_cpu", t.best_cpu_s * 1e6 / (double)groups.n, "us/record");
	struct bench_time one = bench_measure(one_by_one, &single, REPEATS);
	bench_row(&b, "one_by_one", "records", (double)single.n, one);
	struct bench_time many = bench_measure(by_threads, &threads, REPEATS);
	bench_row(&b, "by_8_threads", "records", (double)threads.n * THREADS, many);
	struct bench_time read = bench_measure(read_back, &groups, REPEATS);
	bench_row(&b, "read", "records", (double)groups.n, read);

	struct bench_time after = reference(&b, "plain_after", &job);
	double plain_s = (before.wall_s + after.wall_s) / 2 / (500.0 * b.scale);
	bench_figure(&b, "plain_sync", plain_s * 1e6, "us");
	bench_ratio(&b, "group_to_sync", t.wall_s / ((double)groups.n / GROUP) / plain_s);
	bench_ratio(&b, "one_to_plain", plain_s / (one.wall_s / (double)single.n));
	bench_ratio(&b, "8_threads_to_plain",
		    plain_s / (many.wall_s / ((double)threads.n * THREADS)));
	int rc = record_close(&job.w, &err);
	file_drop(&job.plain);
	if (rc < 0 || file_remove(path, &err) < 0 || file_remove(plain, &err) < 0)
		return failed(&err), 1;
	return bench_end(&b);
}
