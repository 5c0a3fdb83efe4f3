/* robots.txt: verdicts on a small file, on one of a hundred rules, on one that has wild cards in
 * all of its hundred rules, and on one of thousands; and what compiling them costs. */
#include "fetch/robots.h"
#include "bench.h"

enum { REPEATS = 5, PATHS = 64, PATH_BYTES = 128 };

struct job {
	struct buf file, form;
	char path[PATHS][PATH_BYTES];
	long n;
	size_t allowed; /* so that nothing is left out */
};

static const char *const words[] = {"news",    "shop", "images", "cgi-bin", "search", "user",
				    "archive", "tag",  "feed",   "api",     "static", "forum"};
/* Before and behind a number. */
static const char *const wild[][2] = {{"/*?sort", "="},        {"/*-", ".pdf$"},  {"/*/print", "/"},
				      {"*/trackback-", "/*/"}, {"/*?*sid", "="},  {"/tmp/*/", ""},
				      {"/*&reply-to", ""},     {"/*.html?v=", ""}};

static const char *word(unsigned i)
{
	return words[i % ARRAY_LEN(words)];
}

/* Every so many rules one has a wild card. */
static void make_file(struct job *job, unsigned rules, unsigned every)
{
	job->file = BUF_INIT(ROBOTS_FILE_MAX);
	job->form = BUF_INIT(ROBOTS_COMPILED_MAX);
	buf_add_text(&job->file, "User-agent: *\n");
	for (unsigned i = 0; i < rules; i++) {
		buf_add_text(&job->file, i % 7 == 6 ? "Allow: " : "Disallow: ");
		if (i % every == every - 1)
			buf_printf(&job->file, "%s%u%s\n", wild[i / every % ARRAY_LEN(wild)][0], i,
				   wild[i / every % ARRAY_LEN(wild)][1]);
		else
			buf_printf(&job->file, "/%s/%s-%u/\n", word(i), word(i / 3), i / 2);
	}
	for (unsigned i = 0; i < PATHS; i++)
		snprintf(job->path[i], PATH_BYTES, "/%s/%s-%u/%s-%u/page-%u.html%s", word(i),
			 word(i / 3), i % 4 ? i : i / 2, word(i * 7), i * 31, i * 1009,
			 i % 4 == 0 ? "?id=12345&lang=en" : "");
}

static int verdicts(void *ctx)
{
	struct job *job = ctx;
	for (long i = 0; i < job->n; i++)
		job->allowed +=
			robots_verdict(buf_str(&job->form), str_of(job->path[i % PATHS])).allowed;
	return 0;
}

static int compiles(void *ctx)
{
	struct job *job = ctx;
	struct err err;
	for (long i = 0; i < job->n; i++) {
		buf_clear(&job->form);
		if (robots_compile(buf_str(&job->file), STR("garner"), &job->form, &err) < 0)
			return -1;
	}
	return 0;
}

static void measure(struct bench *b, const char *what, unsigned rules, unsigned every, long n)
{
	static struct job job;
	char name[64];
	make_file(&job, rules, every);
	job.n = MAX(n / (long)rules, 1L);
	snprintf(name, sizeof name, "compile_%s", what);
	bench_row(b, name, "files", (double)job.n, bench_measure(compiles, &job, REPEATS));
	job.n = n;
	snprintf(name, sizeof name, "verdict_%s", what);
	bench_row(b, name, "verdicts", (double)n, bench_measure(verdicts, &job, REPEATS));
	snprintf(name, sizeof name, "form_%s", what);
	bench_figure(b, name, (double)job.form.n, "bytes");
	buf_free(&job.file);
	buf_free(&job.form);
}

int main(void)
{
	struct bench b = bench_begin("robots");
	measure(&b, "6_rules", 6, 5, 1000000L * b.scale);
	measure(&b, "100_rules", 100, 5, 1000000L * b.scale);
	measure(&b, "100_wild_rules", 100, 1, 1000000L * b.scale);
	measure(&b, "5000_rules", 5000, 5, 200000L * b.scale);
	return bench_end(&b);
}
