/* What the areas with files of gigabytes share: a folder for them, a plain copy loop as the floor
 * under every pass over a file, and memory that stays warm.  */
#pragma once
#include "bench.h"
#include "disk/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BIGFILE_PIECE = 1 << 20 };

/* Where the files go: $TMPDIR, or bench-data in the build. It is made. */
static inline const char *bigfile_folder(void)
{
	static char folder[1000];
	const char *tmp = getenv("TMPDIR"), *build = getenv("BUILD");
	snprintf(folder, sizeof folder, "%s%s",
		 tmp     ? tmp
		 : build ? build
			 : "build",
		 tmp ? "" : "/bench-data");
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		fprintf(stderr, "bench: %s: %s\n", folder, strerror(errno));
	return folder;
}

/* The path of a file there; lives as long as the program. */
static inline const char *bigfile_path(const char *name)
{
	char path[1100];
	snprintf(path, sizeof path, "%s/%s", bigfile_folder(), name);
	return mem_text(path);
}

static inline void bigfile_die(const char *what, const struct err *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err ? err->msg : strerror(errno));
	exit(1);
}

/* First touch of memory can cost more than all that is done in it: what was freed is kept. */
static inline void bigfile_keep_memory(void)
{
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
}

/* One read and one write in flight in turn, past the page cache, synced: appends FROM to TO. */
static inline void bigfile_append(const char *from, int out, int64_t *size)
{
	static char *piece;
	if (!piece && posix_memalign((void **)&piece, 4096, BIGFILE_PIECE) != 0)
		exit(1);
	int in = open(from, O_RDONLY | O_CLOEXEC | O_DIRECT);
	ssize_t n;
	if (in < 0)
		bigfile_die(from, NULL);
	while ((n = read(in, piece, BIGFILE_PIECE)) > 0) {
		if (n % 4096)
			fcntl(out, F_SETFL, 0);
		if (write(out, piece, (size_t)n) != n)
			bigfile_die("copy", NULL);
		*size += n;
	}
	if (n < 0)
		bigfile_die(from, NULL);
	close(in);
}

/* Copies the files one behind the other; returns the bytes. */
static inline int64_t bigfile_copy(const char *const *from, size_t n, const char *to)
{
	int64_t size = 0;
	unlink(to);
	int out = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_DIRECT, 0600);
	if (out < 0)
		bigfile_die(to, NULL);
	for (size_t i = 0; i < n; i++)
		bigfile_append(from[i], out, &size);
	if (fsync(out) != 0)
		bigfile_die(to, NULL);
	close(out);
	return size;
}

/* Wall and CPU of rounds of one thing, for bench_summary(). */
struct bigfile_rounds {
	double wall[16], cpu[16], wall_from, cpu_from;
	int n;
};

static inline void bigfile_start(struct bigfile_rounds *r)
{
	r->wall_from = bench_wall_s();
	r->cpu_from = bench_cpu_s();
}

static inline void bigfile_stop(struct bigfile_rounds *r, const char *what)
{
	r->wall[r->n] = bench_wall_s() - r->wall_from;
	r->cpu[r->n] = bench_cpu_s() - r->cpu_from;
	fprintf(stderr, "  %s: %.2f s, cpu %.2f s\n", what, r->wall[r->n], r->cpu[r->n]);
	r->n++;
}

static inline struct bench_time bigfile_time(struct bigfile_rounds *r)
{
	return bench_summary(r->wall, r->cpu, r->n);
}
