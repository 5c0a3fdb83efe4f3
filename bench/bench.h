/* Benchmarks: measure warm, repeat, count CPU time, print a table for people and lines for
 *machines.
 *
 *	struct bench b = bench_begin("sort");
 *	struct bench_time ours = bench_measure(sort_ours, &job, 5);
 *	bench_row(&b, "garner", "records", 1e6, ours);
 *	bench_ratio(&b, "sort_vs_rival", ours.wall_s / rival.wall_s);
 *	return bench_end(&b);
 *
 * Lines for machines: "figure NAME VALUE UNIT" and "ratio NAME VALUE". A rival that is not on the
 *machine is named with bench_absent() and does not fail anything. Times are seconds. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_REPEAT_MAX = 1000, BENCH_LINES = 65536 };

/* Of all repeats; wall_s and cpu_s are medians. CPU is user and system time of all threads. */
struct bench_time {
	double wall_s, cpu_s, best_wall_s, best_cpu_s;
	int repeats;
};

struct bench {
	const char *area;
	int scale; /* from $SCALE, 1 by default: how many times the normal amount of work */
	size_t used;
	char lines[BENCH_LINES]; /* for machines, printed at the end */
};

static inline double bench_clock_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double bench_wall_s(void)
{
	return bench_clock_s(CLOCK_MONOTONIC);
}

static inline double bench_cpu_s(void)
{
	return bench_clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts what it is given. */
static inline double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, bench_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static inline struct bench_time bench_summary(double *wall, double *cpu, int n)
{
	struct bench_time t = {.repeats = n};
	t.wall_s = bench_median(wall, n);
	t.cpu_s = bench_median(cpu, n);
	t.best_wall_s = wall[0];
	t.best_cpu_s = cpu[0];
	return t;
}

/* Once to warm up, then `repeats` times. A function that fails ends the program. */
static inline struct bench_time bench_measure(int (*fn)(void *ctx), void *ctx, int repeats)
{
	static double wall[BENCH_REPEAT_MAX], cpu[BENCH_REPEAT_MAX];
	repeats = repeats < 1 ? 1 : repeats > BENCH_REPEAT_MAX ? BENCH_REPEAT_MAX : repeats;
	for (int i = -1; i < repeats; i++) {
		double w = bench_wall_s(), c = bench_cpu_s();
		if (fn(ctx) != 0) {
			fprintf(stderr, "bench: what is measured failed\n");
			exit(1);
		}
		if (i >= 0) {
			cpu[i] = bench_cpu_s() - c;
			wall[i] = bench_wall_s() - w;
		}
	}
	return bench_summary(wall, cpu, repeats);
}

static inline struct bench bench_begin(const char *area)
{
	const char *scale = getenv("SCALE");
	struct bench b = {.area = area, .scale = scale ? (int)strtol(scale, NULL, 10) : 1};
	if (b.scale < 1)
		b.scale = 1;
	printf("%s, scale %d\n", area, b.scale);
	printf("  %-32s %12s %12s %14s %14s\n", "", "wall ms", "cpu ms", "per wall s", "per cpu s");
	return b;
}

static inline void bench_keep(struct bench *b, const char *line)
{
	size_t n = strlen(line);
	if (b->used + n < sizeof b->lines) {
		memcpy(b->lines + b->used, line, n + 1);
		b->used += n;
	}
}

static inline void bench_figure(struct bench *b, const char *name, double value, const char *unit)
{
	char line[256];
	snprintf(line, sizeof line, "figure %s.%s %.*f %s\n", b->area, name, value < 1000 ? 4 : 0,
		 value, unit);
	bench_keep(b, line);
}

static inline void bench_ratio(struct bench *b, const char *name, double value)
{
	char line[256];
	snprintf(line, sizeof line, "ratio %s.%s %.4g\n", b->area, name, value);
	bench_keep(b, line);
}

/* A line of the table, and the figures NAME_wall and NAME_cpu in units per second. `work` is how
 * many units one repeat did. */
static inline void bench_row(struct bench *b, const char *name, const char *unit, double work,
			     struct bench_time t)
{
	double wall = work / t.wall_s, cpu = t.cpu_s > 0 ? work / t.cpu_s : 0;
	printf("  %-32s %12.3f %12.3f %14.0f %14.0f %s\n", name, t.wall_s * 1e3, t.cpu_s * 1e3,
	       wall, cpu, unit);
	char label[128], per[64];
	snprintf(label, sizeof label, "%s_wall", name);
	snprintf(per, sizeof per, "%s/s", unit);
	bench_figure(b, label, wall, per);
	snprintf(label, sizeof label, "%s_cpu", name);
	snprintf(per, sizeof per, "%s/cpu-s", unit);
	bench_figure(b, label, cpu, per);
}

/* Whether a program is on the machine; says it when not. */
static inline bool bench_absent(const char *rival)
{
	const char *path = getenv("PATH");
	char file[4096];
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		snprintf(file, sizeof file, "%.*s/%s", (int)n, p, rival);
		FILE *f = fopen(file, "rb");
		if (f) {
			fclose(f);
			return false;
		}
		p += n + (p[n] == ':');
	}
	printf("  rival %s: absent\n", rival);
	return true;
}

static inline int bench_end(struct bench *b)
{
	fputs(b->lines, stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
