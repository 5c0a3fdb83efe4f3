/* SOIF: objects of about 2 KB parsed and printed, beside a copy of the same bytes. */
#include "base/buf.h"
#include "bench.h"
#include "soif/soif_parse.h"

enum { OBJECTS = 20000 };

struct job {
	struct buf in, out;
	uint64_t objects, attrs;
};

/* As a gatherer writes them: bookkeeping, a title, keywords, and some text. */
static void make(struct buf *out, int n)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct err err;
	char text[1400];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 7 == 6 ? ' ' : (char)('a' + (i * 31 + (size_t)n) % 26);
	const struct soif_attr attrs[] = {
		{STR("Update-Time"), STR("784829400")},
		{STR("Gatherer-Name"), STR("Documentation of a small machine")},
		{STR("Gatherer-Host"), STR("gatherer.example.org")},
		{STR("Gatherer-Version"), STR("1.0")},
		{STR("Refresh-Rate"), STR("604800")},
		{STR("Time-to-Live"), STR("2419200")},
		{STR("Last-Modification-Time"), STR("784000000")},
		{STR("MD5"), STR("1c2a4b7c9d0e1f2a3b4c5d6e7f8a9b0c")},
		{STR("Type"), STR("HTML")},
		{STR("File-Size"), STR("14323")},
		{STR("Title"), STR("How to gather what is worth finding")},
		{STR("Keywords"), {text, 260}},
		{STR("Full-Text"), {text, sizeof text}},
	};
	struct soif obj = {.type = STR("FILE")};
	obj.url = str_of(arena_printf(&arena, "http://www.example.org/doc/%d/index.html", n));
	for (size_t i = 0; i < ARRAY_LEN(attrs); i++)
		soif_add(&obj, &arena, attrs[i].name, attrs[i].value);
	if (soif_print(&obj, out, &err) < 0)
		die("%s", err.msg);
	arena_free(&arena);
}

static int parse(void *ctx)
{
	struct job *job = ctx;
	struct arena arena = ARENA_INIT(1 << 20);
	struct soif_parser p = soif_parser_of(buf_str(&job->in));
	struct soif obj;
	struct err err;
	int rc;
	job->objects = job->attrs = 0;
	while ((rc = soif_next(&p, &arena, &obj, &err)) == 0) {
		job->objects++;
		job->attrs += obj.n;
		arena_clear(&arena);
	}
	arena_free(&arena);
	return rc == 1 ? 0 : rc;
}

static int parse_and_print(void *ctx)
{
	struct job *job = ctx;
	struct arena arena = ARENA_INIT(1 << 20);
	struct soif_parser p = soif_parser_of(buf_str(&job->in));
	struct soif obj;
	struct err err;
	int rc;
	buf_clear(&job->out);
	while ((rc = soif_next(&p, &arena, &obj, &err)) == 0) {
		if (soif_print(&obj, &job->out, &err) < 0)
			return -1;
		arena_clear(&arena);
	}
	arena_free(&arena);
	return rc == 1 ? 0 : rc;
}

static int copy(void *ctx)
{
	struct job *job = ctx;
	buf_clear(&job->out);
	buf_add_str(&job->out, buf_str(&job->in));
	return 0;
}

int main(void)
{
	struct bench b = bench_begin("soif");
	struct job job = {.in = BUF_INIT(SIZE_MAX), .out = BUF_INIT(SIZE_MAX)};
	for (int i = 0; i < OBJECTS * b.scale; i++)
		make(&job.in, i);
	double mb = (double)job.in.n / 1e6;
	struct bench_time read = bench_measure(parse, &job, 9);
	struct bench_time both = bench_measure(parse_and_print, &job, 9);
	if (!str_eq(buf_str(&job.in), buf_str(&job.out)))
		die("what was printed is not what was read");
	struct bench_time plain = bench_measure(copy, &job, 9);
	bench_row(&b, "parse", "MB", mb, read);
	bench_row(&b, "parse_and_print", "MB", mb, both);
	bench_row(&b, "copy", "MB", mb, plain);
	struct bench_time print = both;
	print.cpu_s -= read.cpu_s;
	print.wall_s -= read.wall_s;
	bench_row(&b, "print", "MB", mb, print);
	bench_figure(&b, "object", (double)job.in.n / (double)job.objects, "bytes");
	bench_ratio(&b, "print.copy", print.cpu_s / plain.cpu_s);
	buf_free(&job.in);
	buf_free(&job.out);
	return bench_end(&b);
}
