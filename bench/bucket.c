/* Bucket files beside the plain loops of the disk: buckets of 10 KB appended and synced beside a
 * sequential write, scanned beside a sequential read, both past the page cache in pieces of 1 MiB;
 * and read by number, where each must cost one pread. The bodies are packed beforehand: what is
 * measured is the file. */
#include "bucket/bucket.h"
#include "bigfile.h"
#include "bucket/bucket_attrs.h"

#include <inttypes.h>

enum { BODY = 10000, BODIES = 64, BUCKETS = 50000, RANDOM_READS = 100000, ROUNDS = 15 };

struct job {
	const char *path, *plain;
	uint32_t n;     /* buckets */
	uint64_t bytes; /* of the file */
	struct buf body[BODIES];
	uint32_t *oid;
	char *piece;
	uint64_t seed;
	uint64_t sum; /* of what was read, so that it is */
};

static uint64_t dice(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Headers of a page, and a body that zstd has nothing to take from. */
static void make_bodies(struct job *job)
{
	struct err err;
	char noise[BODY];
	uint32_t type;
	for (size_t i = 0; i < BODIES; i++) {
		for (size_t k = 0; k < sizeof noise; k++)
			noise[k] = (char)dice(&job->seed);
		struct attr u[] = {{'O', STR("7487015f0975416076cd6666465669f9")},
				   {'U', STR("http://www.example.com/some/page.html")}};
		struct attrs header = {u, 2, 2};
		job->body[i] = BUF_INIT(2 * BODY);
		if (bucket_encode_raw(NULL, &header, (struct str){noise, sizeof noise},
				      &job->body[i], &type, &err) < 0)
			bigfile_die("encode", &err);
	}
}

static void plain_write(struct job *job)
{
	(void)unlink(job->plain);
	int fd = open(job->plain, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_DIRECT, 0600);
	if (fd < 0)
		bigfile_die(job->plain, NULL);
	for (uint64_t at = 0; at < job->bytes; at += BIGFILE_PIECE)
		if (write(fd, job->piece, BIGFILE_PIECE) != BIGFILE_PIECE)
			bigfile_die("write", NULL);
	if (fdatasync(fd) != 0)
		bigfile_die("sync", NULL);
	close(fd);
}

/* The very same bytes: the disk has its fast and slow places. */
static void plain_read(struct job *job)
{
	int fd = open(job->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	ssize_t n;
	if (fd < 0)
		bigfile_die(job->path, NULL);
	while ((n = read(fd, job->piece, BIGFILE_PIECE)) > 0)
		job->sum += (unsigned char)job->piece[n - 1];
	if (n < 0)
		bigfile_die("read", NULL);
	close(fd);
}

static void append_all(struct job *job)
{
	struct buckets *b;
	struct err err;
	struct bucket_options o = {.mode = BUCKET_APPEND};
	(void)unlink(job->path);
	if (bucket_open(&b, job->path, &o, &err) != 0)
		bigfile_die("open", &err);
	for (uint32_t i = 0; i < job->n; i++)
		if (bucket_append(b, BUCKET_V33, buf_str(&job->body[i % BODIES]), &job->oid[i],
				  &err) < 0)
			bigfile_die("append", &err);
	if (bucket_sync(b, &job->bytes, &err) < 0 || bucket_close(&b, &err) < 0)
		bigfile_die("sync", &err);
}

static void scan_all(struct job *job)
{
	struct buckets *b;
	struct bucket_scan scan;
	struct bucket bucket;
	struct err err;
	struct bucket_options o = {.mode = BUCKET_SCAN};
	uint32_t n = 0;
	if (bucket_open(&b, job->path, &o, &err) != 0 || bucket_scan_init(&scan, b, 0, 0, &err) < 0)
		bigfile_die("open", &err);
	int rc;
	while ((rc = bucket_scan_next(&scan, &bucket, &err)) == 0) {
		job->sum += (unsigned char)bucket.data.p[bucket.data.n - 1];
		n++;
	}
	if (rc < 0 || n != job->n)
		bigfile_die("scan", &err);
	bucket_scan_done(&scan);
	bucket_drop(&b);
}

/* System calls that read, of this process. */
static uint64_t reads_so_far(void)
{
	char text[1024];
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		bigfile_die("/proc/self/io", NULL);
	close(fd);
	text[n] = 0;
	const char *at = strstr(text, "syscr: ");
	return at ? strtoull(at + 7, NULL, 10) : 0;
}

static void read_randomly(struct job *job, struct bench *bench)
{
	struct buckets *b;
	struct bucket bucket;
	struct err err;
	struct bucket_options o = {.mode = BUCKET_READ};
	if (bucket_open(&b, job->path, &o, &err) != 0)
		bigfile_die("open", &err);
	uint64_t before = reads_so_far();
	struct bigfile_rounds r = {0};
	bigfile_start(&r);
	for (int i = 0; i < RANDOM_READS; i++) {
		uint32_t oid = job->oid[dice(&job->seed) % job->n];
		if (bucket_read(b, oid, &bucket, &err) != 0)
			bigfile_die("read", &err);
		job->sum += (unsigned char)bucket.data.p[0];
	}
	bigfile_stop(&r, "random reads");
	uint64_t reads = reads_so_far() - before - 1; /* the first look counts itself afterwards */
	bucket_drop(&b);
	bench_row(bench, "random", "buckets", RANDOM_READS, bigfile_time(&r));
	bench_figure(bench, "preads_a_random_read", (double)reads / RANDOM_READS, "preads");
}

/* The plain loop and ours in turn. The disk's speed moves by half within seconds, so each round is
 * held against the plain one just before it, and the ratio is the median of those. */
static void beside(struct job *job, struct bench *b, const char *name, void (*plain)(struct job *),
		   void (*ours)(struct job *))
{
	struct bigfile_rounds p = {0}, o = {0};
	char label[64];
	double ratio[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		bigfile_start(&p);
		plain(job);
		bigfile_stop(&p, "plain");
		bigfile_start(&o);
		ours(job);
		bigfile_stop(&o, name);
		ratio[i] = p.wall[i] / o.wall[i];
	}
	double mb = (double)job->bytes / 1e6;
	struct bench_time plain_time = bigfile_time(&p), time = bigfile_time(&o);
	snprintf(label, sizeof label, "plain_%s", name);
	bench_row(b, label, "MB", mb, plain_time);
	bench_row(b, name, "MB", mb, time);
	bench_ratio(b, name, bench_median(ratio, ROUNDS));
}

int main(void)
{
	struct bench b = bench_begin("bucket");
	struct job job = {.path = bigfile_path("bench-objects.tmp"),
			  .plain = bigfile_path("bench-plain.tmp"),
			  .n = BUCKETS * (uint32_t)b.scale,
			  .seed = 88172645463325252u};
	bigfile_keep_memory();
	job.oid = mem_array(job.n, sizeof *job.oid);
	if (posix_memalign((void **)&job.piece, 4096, BIGFILE_PIECE) != 0)
		return 1;
	memset(job.piece, 7, BIGFILE_PIECE);
	make_bodies(&job);
	append_all(&job); /* warm */
	beside(&job, &b, "append", plain_write, append_all);
	beside(&job, &b, "scan", plain_read, scan_all);
	read_randomly(&job, &b);
	(void)unlink(job.path);
	(void)unlink(job.plain);
	fprintf(stderr, "  (%" PRIu64 ")\n", job.sum);
	return bench_end(&b);
}
