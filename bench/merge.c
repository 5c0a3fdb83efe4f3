/* bench-merge [RECORDS]: two sorted files of 3 GB become one, by the groups of equal keys (every
 * tenth key is in both), beside a plain copy of both. */
#include "disk/merge_inner.h"

#include "../tests/support/stream_file.h"
#include "bigfile.h"

#include <endian.h>

enum { SIZE = 32, KEY = 16, ROUNDS = 3 };

static void generate(const char *path, uint64_t n, unsigned which)
{
	struct err err;
	struct stream_writer w;
	if (stream_create(&w, path, 0600, NULL, &err) < 0)
		bigfile_die("generate", &err);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t both = i % 10 == 0, x = i * 0x9e3779b97f4a7c15u >> 40;
		uint64_t low = both ? 0 : (i % 10) << 40 | x << 1 | which;
		uint64_t v[SIZE / 8] = {htobe64(i / 10), htobe64(low), i, which};
		stream_put(&w, v, SIZE);
	}
	if (stream_finish(&w, true, &err) < 0)
		bigfile_die("generate", &err);
}

struct result {
	uint64_t groups, pairs; /* keys; those in both files */
};

static void merge_files(const char *const *from, const char *to, struct result *ret)
{
	struct err err;
	struct stream_reader reader[2], *readers[2] = {&reader[0], &reader[1]};
	struct stream_writer out;
	struct merge_record r;
	struct file file[2];
	int rc;
	struct order order = {.size = SIZE, .key_len = KEY};
	struct merge *m = NULL;
	*ret = (struct result){0};
	unlink(to);
	if (stream_file_open(&reader[0], &file[0], from[0], NULL, &err) != 0 ||
	    stream_file_open(&reader[1], &file[1], from[1], NULL, &err) != 0 ||
	    stream_create(&out, to, 0600, NULL, &err) < 0 ||
	    merge_new(&m, &order, readers, 2, &err) < 0)
		bigfile_die("merge", &err);
	while ((rc = merge_next(m, &r, &err)) == 0) {
		stream_put(&out, r.rec.p, SIZE);
		ret->groups += r.first;
		ret->pairs += !r.first;
	}
	if (rc < 0 || stream_finish(&out, true, &err) < 0)
		bigfile_die("merge", &err);
	merge_free(&m);
	stream_file_close(&reader[0], &file[0]);
	stream_file_close(&reader[1], &file[1]);
}

static void verify(const char *path, uint64_t records)
{
	struct err err;
	struct stream_reader r;
	struct file f;
	struct str rec;
	char last[KEY] = {0};
	uint64_t n = 0;
	if (stream_file_open(&r, &f, path, NULL, &err) != 0)
		bigfile_die("verify", &err);
	while (stream_read(&r, SIZE, &rec, &err) == 0 && memcmp(last, rec.p, KEY) <= 0) {
		memcpy(last, rec.p, KEY);
		n++;
	}
	stream_file_close(&r, &f);
	if (n != records) {
		fprintf(stderr, "bench: the merged file is wrong behind record %ju\n",
			(uintmax_t)n);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin("merge");
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 93750000u * (uint64_t)b.scale;
	n = n / 128 * 128; /* whole blocks: half of the copy would go through the page cache */
	const char *in[] = {bigfile_path("first"), bigfile_path("second")};
	const char *out = bigfile_path("merged");
	struct bigfile_rounds copy = {0}, ours = {0};
	struct result result;
	bigfile_keep_memory();
	generate(in[0], n, 0);
	generate(in[1], n, 1);
	for (int i = 0; i < ROUNDS; i++) {
		bigfile_start(&copy);
		bigfile_copy(in, 2, out);
		bigfile_stop(&copy, "copied");
		bigfile_start(&ours);
		merge_files(in, out, &result);
		bigfile_stop(&ours, "merged");
	}
	verify(out, 2 * n);
	if (result.pairs != (n + 9) / 10 || result.groups != 2 * n - result.pairs) {
		fprintf(stderr, "bench: %ju groups, %ju of two\n", (uintmax_t)result.groups,
			(uintmax_t)result.pairs);
		return 1;
	}
	unlink(in[0]);
	unlink(in[1]);
	unlink(out);
	struct bench_time c = bigfile_time(&copy), t = bigfile_time(&ours);
	bench_row(&b, "copy", "records", (double)(2 * n), c);
	bench_row(&b, "merge", "records", (double)(2 * n), t);
	bench_figure(&b, "rate", (double)(2 * n * SIZE) / 1e6 / t.best_wall_s, "MB/s");
	bench_ratio(&b, "copy", c.best_wall_s / t.best_wall_s);
	bench_ratio(&b, "copy_median", c.wall_s / t.wall_s);
	return bench_end(&b);
}
