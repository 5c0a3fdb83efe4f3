/* The cage: pages read by a worker, beside the same pages read in this process, in turns. CPU time
 * is that of both processes, by their clocks, kernel and all; the worker was started and warm
 * before. On both sides each page is first copied from memory to where it is read, as the network
 * would put it there: into the slot, or into a buffer. The worker is this program again, doing what
 * garner-parse does: the same code at other addresses is up to 4 % faster or slower.
 * The pages are those that bench/extract.sh has unpacked (or $HTML names), every so many of them;
 * where there are none, they are made here: 2 to 60 KB of headings, paragraphs, links and marks.
 * An argument, "here" or "caged", has only that one run, for a profiler to look at. */
#include "base/clock.h"
#include "bench.h"
#include "extract/cage_inner.h"
#include "extract/cage_worker.h"

#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGES = 2000, ROUNDS = 41, PAGE_MAX = 64 << 10, EVERY = 16 };

struct job {
	struct str *page;
	size_t pages, bytes;
	struct extract *extract;
	void *memory;
	char *body;
	struct cage *cage;
	uint64_t attrs, done;
};

/* What the rounds took, in seconds of CPU and of the clock. */
struct rounds {
	double here[ROUNDS], here_wall[ROUNDS], caged[ROUNDS], caged_wall[ROUNDS];
	double owner[ROUNDS], worker[ROUNDS];
};

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void words(struct buf *out, uint32_t *seed, unsigned n)
{
	static const char *const w[] = {"the",
					"search",
					"of",
					"documents",
					"that",
					"are",
					"found",
					"where",
					"nobody",
					"looked",
					"for",
					"them",
					"r\xc3\xa9sum\xc3\xa9",
					"and",
					"indexes",
					"&amp;",
					"a",
					"page"};
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? " " : "", w[next(seed) % ARRAY_LEN(w)]);
}

static struct str make_page(uint32_t number)
{
	uint32_t seed = number * 7919 + 1;
	struct buf out = BUF_INIT(PAGE_MAX);
	/* small pages are many, large ones few */
	size_t size = 2048 + (size_t)(next(&seed) % 256) * (next(&seed) % 256) * 57000 / 65536;
	buf_printf(&out,
		   "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Page %u</title>"
		   "<style>body { margin: 0 } p { color: #222 }</style></head><body><nav>",
		   number);
	while (out.n < size && !out.over) {
		buf_add_text(&out, "<div class=\"section\"><h2 id=\"s\">");
		words(&out, &seed, 4);
		buf_add_text(&out, "</h2>\n");
		for (int i = 0; i < 4; i++) {
			buf_add_text(&out, "  <p class='text'>");
			words(&out, &seed, 20 + next(&seed) % 40);
			buf_printf(&out, " <a href=\"/page/%u.html\" title=\"x\">",
				   next(&seed) % 9999);
			words(&out, &seed, 3);
			buf_add_text(&out, "</a> <b>");
			words(&out, &seed, 2);
			buf_add_text(&out, "</b>.</p>\n");
		}
		buf_add_text(&out, "</div>\n");
	}
	return buf_str(&out);
}

static struct {
	size_t seen, kept, max;
	struct str *page;
} folder; /* nftw() has no context */

static int found(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type != FTW_F || st->st_size == 0 || st->st_size > 16 << 20 ||
	    !str_ends(str_of(path), STR(".html")) || folder.seen++ % EVERY)
		return 0;
	FILE *f = fopen(path, "rb");
	char *body = mem_alloc((size_t)st->st_size);
	if (f) {
		folder.page[folder.kept++] =
			(struct str){body, fread(body, 1, (size_t)st->st_size, f)};
		fclose(f);
	}
	return folder.kept == folder.max;
}

/* The pages of the folder, or those that are made here. */
static void load_pages(struct job *j)
{
	const char *path = getenv("HTML");
	folder.max = j->pages;
	folder.page = j->page;
	if (nftw(path ? path : "build/pages", found, 16, FTW_PHYS) < 0 || folder.kept == 0)
		printf("  no pages in %s: some are made\n", path ? path : "build/pages");
	while (folder.kept < j->pages && folder.seen == 0) {
		j->page[folder.kept] = make_page((uint32_t)folder.kept);
		folder.kept++;
	}
	j->pages = folder.kept;
	for (size_t i = 0; i < j->pages; i++)
		j->bytes += j->page[i].n;
}

static struct extract_job job_of(struct str page)
{
	return (struct extract_job){.url = STR("http://www.example.org/dir/page.html"),
				    .content_type = STR("text/html; charset=utf-8"),
				    .charset = STR(""),
				    .robots = STR(""),
				    .body = page,
				    .settings = {.links_max = EXTRACT_LINKS_MAX}};
}

static void here(struct job *j)
{
	for (size_t i = 0; i < j->pages; i++) {
		struct extract_job job = job_of(j->page[i]);
		struct extract_result r;
		struct out out;
		memcpy(j->body, job.body.p, job.body.n);
		job.body.p = j->body;
		out_begin(&out, j->memory, CAGE_OUT, 0);
		extract_run(j->extract, &job, &out, &r);
		j->attrs += out.n;
	}
}

static void done(void *ctx, const struct cage_result *r)
{
	struct job *j = ctx;
	if (r->end != CAGE_READ)
		die("%s", r->reason);
	j->done++;
	j->attrs += r->attrs.n;
}

static void caged(struct job *j)
{
	size_t sent = 0;
	struct cage_slot *slot;
	j->done = 0;
	while (j->done < j->pages) {
		while (sent < j->pages && cage_take(j->cage, &slot) == 0) {
			struct extract_job job = job_of(j->page[sent]);
			memcpy(slot->body, job.body.p, job.body.n);
			cage_submit(j->cage, slot, &job, done, j, clock_mono_us());
			sent++;
		}
		struct pollfd p = {cage_fd(j->cage), POLLIN, 0};
		poll(&p, 1, -1);
		cage_poll(j->cage, clock_mono_us());
	}
}

static void open_cage(struct job *j)
{
	struct cage_options o = cage_defaults;
	struct err err;
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0)
		die("/proc/self/exe cannot be read");
	path[n] = 0;
	o.program = path;
	if (cage_new(&j->cage, &o, clock_mono_us(), &err) < 0)
		die("%s", err.msg);
}

/* Of the worker, since it was started. */
static double worker_s(const struct job *j)
{
	return bench_clock_s(j->cage->worker[0].clock);
}

static void round_here(struct job *j, struct rounds *r, int i)
{
	double cpu = bench_cpu_s(), wall = bench_wall_s();
	here(j);
	r->here[i] = bench_cpu_s() - cpu;
	r->here_wall[i] = bench_wall_s() - wall;
}

static void round_caged(struct job *j, struct rounds *r, int i)
{
	double cpu = bench_cpu_s(), worker = worker_s(j), wall = bench_wall_s();
	caged(j);
	r->caged_wall[i] = bench_wall_s() - wall;
	r->owner[i] = bench_cpu_s() - cpu;
	r->worker[i] = worker_s(j) - worker;
	r->caged[i] = r->owner[i] + r->worker[i];
}

static void measure(struct job *j, struct rounds *r, const char *only)
{
	bool both = only == NULL;
	for (int i = -1; i < ROUNDS; i++) { /* the first is to get warm, and is overwritten */
		if (both || strcmp(only, "here") == 0)
			round_here(j, r, MAX(i, 0));
		if (both || strcmp(only, "caged") == 0)
			round_caged(j, r, MAX(i, 0));
	}
}

static void show(struct bench *b, const struct job *j, struct rounds *r)
{
	double us = 1e6 / (double)j->pages;
	printf("  %zu pages of %zu bytes on average\n", j->pages, j->bytes / j->pages);
	struct bench_time alone = bench_summary(r->here_wall, r->here, ROUNDS);
	struct bench_time both = bench_summary(r->caged_wall, r->caged, ROUNDS);
	bench_row(b, "in_process", "MB", (double)j->bytes / 1e6, alone);
	bench_row(b, "through_worker", "MB", (double)j->bytes / 1e6, both);
	bench_figure(b, "in_process_page", alone.cpu_s * us, "us of CPU");
	bench_figure(b, "owner_page", bench_median(r->owner, ROUNDS) * us, "us of CPU");
	bench_figure(b, "worker_page", bench_median(r->worker, ROUNDS) * us, "us of CPU");
	bench_ratio(b, "cpu_through_worker_vs_in_process", both.cpu_s / alone.cpu_s);
}

/* As garner-parse has it. */
static int work(const char *body_max, const char *memory)
{
	struct err err;
	return cage_work(strtoul(body_max, NULL, 10), strtoul(memory, NULL, 10), NULL, &err) < 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--worker") == 0)
		return work(argv[2], argv[3]);
	struct bench b = bench_begin("cage");
	struct job j = {.pages = (size_t)PAGES * (size_t)b.scale};
	static struct rounds rounds;
	const char *only = argc > 1 ? argv[1] : NULL;
	j.page = mem_array(j.pages, sizeof *j.page);
	load_pages(&j);
	j.extract = extract_new();
	j.memory = mem_alloc(CAGE_OUT);
	j.body = mem_alloc(cage_defaults.body_max);
	open_cage(&j);
	measure(&j, &rounds, only);
	if (!only)
		show(&b, &j, &rounds);
	cage_free(&j.cage);
	extract_free(&j.extract);
	mem_free(&j.memory);
	mem_free(&j.body);
	return bench_end(&b);
}
