/* bench-sort [RECORDS]: the external sort of 100 million records of 32 bytes with keys of 16,
 * beside reading and writing the file twice with the same kind of transfers; with keys as
 * footprints are (a million sites, the large ones with a hundredth of all pages each, share their
 * first 8 bytes); and beside GNU sort on a tenth of the records as lines of hexadecimal digits.
 * Everything in the same rounds, the best of each counts. */
#include "disk/sort.h"

#include "../tests/support/stream_file.h"
#include "base/hash.h"
#include "bigfile.h"

#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SIZE = 32, KEY = 16, ROUNDS = 3, SITES = 1000000 };
static const uint64_t memory = (uint64_t)1 << 30;

extern char **environ;

static uint64_t number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 2685821657736338717u;
}

/* Sites of a power law: the r-th has a share of 1/r. */
static uint64_t site(uint64_t random)
{
	double u = (double)(random >> 11) / 9007199254740992.0;
	return hash_u64((uint64_t)exp(u * log(SITES)));
}

/* What a file holds, whatever the order. */
struct sum {
	uint64_t records, sum;
};

static void count(struct sum *s, const char *rec)
{
	uint64_t v[SIZE / 8];
	memcpy(v, rec, SIZE);
	s->records++;
	s->sum += v[0] * 3 + v[1] * 5 + v[2] * 7 + v[3];
}

static struct sum generate(const char *path, uint64_t n, bool sites)
{
	struct err err;
	struct stream_writer w;
	struct sum s = {0};
	uint64_t state = 88172645463325252u;
	if (stream_create(&w, path, 0600, NULL, &err) < 0)
		bigfile_die("generate", &err);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v[SIZE / 8] = {number(&state), number(&state), i, ~i};
		if (sites)
			v[0] = site(v[0]);
		count(&s, (char *)v);
		stream_put(&w, v, SIZE);
	}
	if (stream_finish(&w, true, &err) < 0)
		bigfile_die("generate", &err);
	return s;
}

static void verify(const char *path, struct sum expected)
{
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str rec;
	struct sum s = {0};
	char last[KEY] = {0};
	if (stream_file_open(&r, &f, path, NULL, &err) != 0)
		bigfile_die("verify", &err);
	while (stream_read(&r, SIZE, &rec, &err) == 0) {
		if (memcmp(last, rec.p, KEY) > 0) {
			fprintf(stderr, "bench: record %" PRIu64 " is out of order\n", s.records);
			exit(1);
		}
		memcpy(last, rec.p, KEY);
		count(&s, rec.p);
	}
	stream_file_close(&r, &f);
	if (s.records != expected.records || s.sum != expected.sum) {
		fprintf(stderr, "bench: %" PRIu64 " records came out of %" PRIu64 "\n", s.records,
			expected.records);
		exit(1);
	}
}

static void sort_file(const char *from, const char *to)
{
	struct err err;
	struct sort *s = NULL;
	struct stream_reader r;
	struct stream_writer w;
	struct str rec;
	struct file f;
	int rc;
	struct sort_spec spec = {.order = {.size = SIZE, .key_len = KEY},
				 .memory = memory,
				 .folder = bigfile_folder()};
	unlink(to);
	if (sort_new(&s, &spec, &err) < 0 || stream_file_open(&r, &f, from, NULL, &err) != 0)
		bigfile_die("sort", &err);
	while ((rc = stream_read(&r, SIZE, &rec, &err)) == 0)
		if (sort_add(s, rec, &err) < 0)
			bigfile_die("sort", &err);
	if (rc < 0)
		bigfile_die("sort", &err);
	stream_file_close(&r, &f);
	if (stream_create(&w, to, 0600, NULL, &err) < 0 || sort_write(s, &w, &err) < 0 ||
	    stream_finish(&w, true, &err) < 0)
		bigfile_die("sort", &err);
	sort_free(&s);
}

static void hex_lines(const char *from, const char *to)
{
	struct err err;
	struct stream_reader r;
	struct stream_writer w;
	struct file f;
	struct str rec;
	if (stream_file_open(&r, &f, from, NULL, &err) != 0 ||
	    stream_create(&w, to, 0600, NULL, &err) < 0)
		bigfile_die("lines", &err);
	while (stream_read(&r, SIZE, &rec, &err) == 0) {
		char line[2 * SIZE + 1];
		hex_print((const unsigned char *)rec.p, SIZE, line);
		line[2 * SIZE] = '\n';
		stream_put(&w, line, sizeof line);
	}
	stream_file_close(&r, &f);
	if (stream_finish(&w, true, &err) < 0)
		bigfile_die("lines", &err);
}

/* CPU seconds of GNU sort; negative: it failed. */
static double gnu_sort(const char *from, const char *to)
{
	char *const args[] = {"sort",       "-S",
			      "1G",         "--parallel=2",
			      "-T",         (char *)bigfile_folder(),
			      "-o",         (char *)to,
			      (char *)from, NULL};
	pid_t pid;
	int status;
	struct rusage use;
	setenv("LC_ALL", "C", 1);
	if (posix_spawnp(&pid, "sort", NULL, NULL, args, environ) != 0 ||
	    wait4(pid, &status, 0, &use) != pid || status != 0)
		return -1;
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static void beside_gnu(struct bench *b, uint64_t n)
{
	const char *in = bigfile_path("tenth"), *lines = bigfile_path("lines");
	const char *out = bigfile_path("out");
	struct sum s = generate(in, n, false);
	struct bigfile_rounds ours = {0};
	for (int i = 0; i < 2; i++) {
		bigfile_start(&ours);
		sort_file(in, out);
		bigfile_stop(&ours, "a tenth");
	}
	verify(out, s);
	struct bench_time t = bigfile_time(&ours);
	bench_row(b, "tenth", "records", (double)n, t);
	hex_lines(in, lines);
	double cpu = bench_absent("sort") ? -1 : gnu_sort(lines, out);
	if (cpu >= 0) {
		printf("  GNU sort of the same as lines: %.1f cpu s\n", cpu);
		bench_figure(b, "gnu", cpu, "cpu-s");
		bench_ratio(b, "gnu", cpu / t.best_cpu_s);
	}
	unlink(lines);
	unlink(in);
	unlink(out);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin("sort");
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000u * (uint64_t)b.scale;
	const char *plain = bigfile_path("plain"), *sites = bigfile_path("sites");
	const char *out = bigfile_path("sorted");
	struct bigfile_rounds copy = {0}, ours = {0}, skew = {0}, cold = {0};
	bigfile_keep_memory();
	struct sum plain_sum = generate(plain, n, false), sites_sum = generate(sites, n, true);
	bigfile_start(&cold);
	sort_file(plain, out);
	bigfile_stop(&cold, "cold");
	verify(out, plain_sum);
	for (int i = 0; i < ROUNDS; i++) {
		bigfile_start(&copy);
		bigfile_copy(&plain, 1, out);
		bigfile_copy(&plain, 1, out);
		bigfile_stop(&copy, "copied twice");
		bigfile_start(&ours);
		sort_file(plain, out);
		bigfile_stop(&ours, "sorted");
		bigfile_start(&skew);
		sort_file(sites, out);
		bigfile_stop(&skew, "sorted by site");
	}
	verify(out, sites_sum);
	unlink(plain);
	unlink(sites);
	unlink(out);
	struct bench_time c = bigfile_time(&copy), t = bigfile_time(&ours), k = bigfile_time(&skew);
	bench_row(&b, "copy_twice", "records", (double)n, c);
	bench_row(&b, "random", "records", (double)n, t);
	bench_row(&b, "by_site", "records", (double)n, k);
	bench_figure(&b, "wall", t.best_wall_s, "s");
	bench_figure(&b, "cpu", t.best_cpu_s, "s");
	bench_figure(&b, "cold_cpu", cold.cpu[0], "s");
	bench_ratio(&b, "copy", t.best_wall_s / c.best_wall_s);
	bench_ratio(&b, "copy_median", t.wall_s / c.wall_s);
	bench_ratio(&b, "skew", k.best_wall_s / t.best_wall_s);
	bench_ratio(&b, "skew_cpu", k.best_cpu_s / t.best_cpu_s);
	beside_gnu(&b, n / 10);
	return bench_end(&b);
}
