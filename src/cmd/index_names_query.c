/* garner index names query */
#include "base/jsonw.h"
#include "cmd/index_cmd.h"
#include "cmd/input.h"
#include "cmd/text.h"
#include "index/names.h"

#include <inttypes.h>
#include <time.h>

enum { REPEATS_MOST = 1000, NAMES_HITS_MOST = 100 * 1000 * 1000, SECOND_US = 1000000 };

struct names_command_options {
	bool path, count, json, names, batch, reverse, mirrors;
	int type, syntax, sort;
	int64_t limit, offset, maxmatch, maxhitspm, repeat;
	uint64_t larger, smaller;
	int64_t newer_us, older_us, budget_us;
	struct value_list site, domain, component, kind;
};

struct asking {
	const struct cmd_call *call;
	const struct names_command_options *o;
	struct names_reader *reader;
	struct names_query query;
	struct arena lists, arena;
	struct buf out;
	uint64_t found, failed;
};

static double thread_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static const struct str *texts_of(struct asking *a, const struct value_list *list, uint32_t *ret_n)
{
	struct str *s = arena_array(&a->lists, list->n, sizeof *s);
	for (size_t i = 0; i < list->n; i++)
		s[i] = str_of(list->item[i]);
	*ret_n = (uint32_t)list->n;
	return s;
}

static int kinds_of(const struct value_list *list, unsigned *ret, struct err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		unsigned kind = 0;
		while (kind < NAMES_KINDS &&
		       !str_is(str_of(list->item[i]), names_kind_name((enum names_kind)kind)))
			kind++;
		if (kind == NAMES_KINDS)
			return err_set(err, ERR_USAGE,
				       "--kind: '%s' is neither file, dir, link nor other",
				       list->item[i]);
		*ret |= 1u << kind;
	}
	return 0;
}

/* Limits of time count from now. */
static int64_t time_before(int64_t age_us)
{
	return (int64_t)time(NULL) - age_us / SECOND_US;
}

static int make_query(struct asking *a, struct err *err)
{
	const struct names_command_options *o = a->o;
	struct names_query *q = &a->query;
	*q = (struct names_query){
		.type = (enum names_type)o->type,
		.syntax = (enum names_syntax)o->syntax,
		.path = o->path,
		.has_size_min = o->larger > 0,
		.has_size_max = o->smaller > 0,
		.size_min = (int64_t)MIN(o->larger, (uint64_t)INT64_MAX),
		.size_max = (int64_t)MIN(o->smaller, (uint64_t)INT64_MAX),
		.has_time_min = o->newer_us > 0,
		.has_time_max = o->older_us > 0,
		.time_min = time_before(o->newer_us),
		.time_max = time_before(o->older_us),
		/* where only the number is wanted, one hit is few enough */
		.maxhits = o->count ? 1 : (uint64_t)o->limit,
		.offset = o->count ? 0 : (uint64_t)o->offset,
		.maxmatch = (uint64_t)o->maxmatch,
		.maxhitspm = (uint64_t)o->maxhitspm,
		.sort = o->count ? NAMES_BY_NOTHING : (enum names_sort)o->sort,
		.reverse = o->reverse,
		.mirrors = o->mirrors && !o->count,
		.count = o->count,
		.no_files = o->names || o->count,
		.budget_us = o->budget_us,
	};
	q->site = texts_of(a, &o->site, &q->sites);
	q->domain = texts_of(a, &o->domain, &q->domains);
	q->component = texts_of(a, &o->component, &q->components);
	return kinds_of(&o->kind, &q->kinds, err);
}

/* The answer, and the CPU time that the library took for it: the least of all repeats. */
static int ask_repeated(struct asking *a, struct str pattern, struct names_hits *ret,
			double *ret_us, struct err *err)
{
	size_t at = 0;
	a->query.pattern = pattern;
	for (int64_t i = 0; i < a->o->repeat; i++) {
		arena_clear(&a->arena);
		double from = thread_us();
		if (names_refresh(&a->reader, err) < 0)
			return -1;
		if (names_query(a->reader, &a->query, &a->arena, ret, &at, err) < 0)
			return err->code == ERR_USAGE && at ? err_in(err, "byte %zu", at) : -1;
		double us = thread_us() - from;
		*ret_us = i == 0 ? us : MIN(*ret_us, us);
	}
	a->found += ret->total;
	return 0;
}

static void put_totals(struct jsonw *j, const struct names_hits *hits, double us)
{
	jsonw_put_real(j, "us", us);
	jsonw_put_uint(j, "total", hits->total);
	jsonw_put_bool(j, "exact", hits->exact);
	if (hits->cut)
		jsonw_put_bool(j, "cut", true);
	if (hits->scanned)
		jsonw_put_bool(j, "scanned", true);
}

static struct str path_of(struct asking *a, const struct names_entry *e)
{
	if (!e->dir.n)
		return e->name;
	char *p = arena_alloc(&a->arena, e->dir.n + 1 + e->name.n);
	memcpy(p, e->dir.p, e->dir.n);
	p[e->dir.n] = '/';
	memcpy(p + e->dir.n + 1, e->name.p, e->name.n);
	return (struct str){p, e->dir.n + 1 + e->name.n};
}

/* all: everything that is told of a file. */
static void put_hits(struct asking *a, struct jsonw *j, const struct names_hits *hits, bool all)
{
	size_t sites;
	const struct names_site *site = names_sites(a->reader, &sites);
	jsonw_put_array(j, "hits");
	for (size_t i = 0; i < hits->n && !a->o->count; i++) {
		const struct names_hit *h = &hits->hit[i];
		jsonw_object(j);
		jsonw_put_str(j, "site", site[h->site].key);
		if (a->o->names)
			jsonw_put_str(j, "name", h->file.name);
		else
			jsonw_put_str(j, "path", path_of(a, &h->file));
		if (all && !a->o->names) {
			jsonw_put_text(j, "kind", names_kind_name(h->file.kind));
			if (h->file.size >= 0)
				jsonw_put_int(j, "size", h->file.size);
			if (h->file.time_s != -1)
				jsonw_put_int(j, "time", h->file.time_s);
		}
		if (h->mirrors)
			jsonw_put_uint(j, "mirrors", h->mirrors);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

/* A line of the batch; one that cannot be asked is an answer too, so that lines stay in step. */
static int batch_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct asking *a = ctx;
	struct names_hits hits = {0};
	double us = 0;
	struct jsonw j = JSONW_INIT(&a->out);
	int rc = ask_repeated(a, text, &hits, &us, err);
	jsonw_object(&j);
	if (rc < 0) {
		a->failed++;
		jsonw_put_text(&j, "error", err->msg);
		if (err->code != ERR_USAGE) {
			(void)err_in(err, "%s:%" PRIu64, name, line);
			return -1;
		}
	} else {
		put_totals(&j, &hits, us);
		put_hits(a, &j, &hits, false);
	}
	jsonw_object_end(&j);
	buf_add_byte(&a->out, '\n');
	cmd_flush(a->call, &a->out);
	return fflush(a->call->out) != 0 || ferror(a->call->out);
}

static void put_time(struct buf *out, int64_t time_s)
{
	struct tm tm;
	time_t t = (time_t)time_s;
	if (time_s == -1 || !gmtime_r(&t, &tm))
		buf_printf(out, "%16s", "-");
	else
		buf_printf(out, "%04d-%02d-%02d %02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1,
			   tm.tm_mday, tm.tm_hour, tm.tm_min);
}

static void print_hit(struct asking *a, const struct names_site *site, const struct names_hit *h)
{
	if (!a->o->names) {
		char size[STR_DECIMAL_MAX + 1] = "-";
		if (h->file.size >= 0)
			size[str_decimal(size, (uint64_t)h->file.size)] = 0;
		buf_printf(&a->out, "%-5s %12s  ", names_kind_name(h->file.kind), size);
		put_time(&a->out, h->file.time_s);
		buf_add_text(&a->out, "  ");
	}
	put_safe(&a->out, site->key);
	buf_add_text(&a->out, "  ");
	put_safe(&a->out, a->o->names ? h->file.name : path_of(a, &h->file));
	if (h->mirrors)
		buf_printf(&a->out, "  (and %" PRIu64 " more)", h->mirrors);
	buf_add_byte(&a->out, '\n');
}

static void print_text(struct asking *a, const struct names_hits *hits)
{
	size_t sites;
	const struct names_site *site = names_sites(a->reader, &sites);
	for (size_t i = 0; i < hits->n && !a->o->count; i++)
		print_hit(a, &site[hits->hit[i].site], &hits->hit[i]);
	buf_printf(&a->out, "%s%" PRIu64 "%s%s\n", hits->exact ? "" : "at least ", hits->total,
		   a->o->count        ? ""
		   : hits->total == 1 ? " file"
				      : " files",
		   hits->cut ? ", the time was up" : "");
	if (hits->scanned && names_problem(a->reader))
		buf_printf(&a->out, "without the index: %s\n", names_problem(a->reader));
}

static int ask_whatis(struct asking *a, struct err *err)
{
	struct names_description *d;
	size_t n = 0;
	struct jsonw j = JSONW_INIT(&a->out);
	int rc = names_whatis(a->call->argv[0], str_of(a->call->argv[1]), (uint64_t)a->o->limit,
			      &a->arena, &d, &n, err);
	if (rc != 0)
		return rc < 0 ? -1
			      : err_set(err, ERR_USAGE, "%s: there are no descriptions (whatis)",
					a->call->argv[0]);
	a->found = n;
	if (a->o->json)
		jsonw_array(&j);
	for (size_t i = 0; i < n; i++) {
		if (a->o->json) {
			jsonw_object(&j);
			jsonw_put_str(&j, "name", d[i].name);
			jsonw_put_str(&j, "text", d[i].text);
			jsonw_object_end(&j);
			continue;
		}
		size_t at = a->out.n;
		put_safe(&a->out, d[i].name);
		if (d[i].text.n) {
			size_t wide = a->out.n - at;
			buf_fill(&a->out, ' ', wide < 25 ? 26 - wide : 1);
			put_safe(&a->out, d[i].text);
		}
		buf_add_byte(&a->out, '\n');
	}
	if (a->o->json) {
		jsonw_array_end(&j);
		buf_add_byte(&a->out, '\n');
	}
	cmd_flush(a->call, &a->out);
	return 0;
}

static int ask_single(struct asking *a, struct err *err)
{
	struct names_hits hits = {0};
	double us = 0;
	if (ask_repeated(a, str_of(a->call->argv[1]), &hits, &us, err) < 0)
		return -1;
	if (a->o->json) {
		struct jsonw j = JSONW_INIT(&a->out);
		jsonw_object(&j);
		put_totals(&j, &hits, us);
		put_hits(a, &j, &hits, true);
		jsonw_object_end(&j);
		buf_add_byte(&a->out, '\n');
	} else {
		print_text(a, &hits);
	}
	cmd_flush(a->call, &a->out);
	return 0;
}

static int ask_all(struct asking *a, struct err *err)
{
	if (a->o->batch != (a->call->argc == 1))
		return err_set(err, ERR_USAGE,
			       a->o->batch ? "--batch takes its patterns from standard input"
					   : "no pattern is given; --batch reads them from "
					     "standard input");
	if (a->o->type == NAMES_WHATIS)
		return a->o->batch ? err_set(err, ERR_USAGE, "--batch is not for whatis")
				   : ask_whatis(a, err);
	if (make_query(a, err) < 0)
		return -1;
	int rc = names_open(&a->reader, a->call->argv[0], err);
	if (rc != 0)
		return rc < 0 ? -1
			      : err_set(err, ERR_USAGE,
					"%s: there are no names; garner index names build "
					"makes an index",
					a->call->argv[0]);
	if (!a->o->batch)
		return ask_single(a, err);
	return cmd_read_lines(a->call, 1, NAMES_PATTERN_MOST, batch_line, a, err) < 0 ? -1 : 0;
}

static int run_query(const struct cmd_call *call)
{
	struct err err;
	struct asking a = {.call = call,
			   .o = call->options,
			   .lists = ARENA_INIT(SIZE_MAX),
			   .arena = ARENA_INIT(SIZE_MAX),
			   .out = BUF_INIT(SIZE_MAX / 2)};
	int rc = ask_all(&a, &err);
	int code = rc < 0                  ? cmd_fail(call, &err)
		   : a.failed              ? ERR_PARTLY
		   : a.found || a.o->batch ? 0
					   : 1;
	names_close(&a.reader);
	arena_free(&a.lists);
	arena_free(&a.arena);
	buf_free(&a.out);
	return code;
}

static const char *const type_words[] = {
	[NAMES_EXACT] = "exact",
	[NAMES_SUB] = "sub",
	[NAMES_SUBCASE] = "subcase",
	[NAMES_REGEX] = "regex",
	[NAMES_EXACT_SUB] = "exact_sub",
	[NAMES_EXACT_SUBCASE] = "exact_subcase",
	[NAMES_EXACT_REGEX] = "exact_regex",
	[NAMES_WHATIS] = "whatis",
	NULL,
};
static const char *const syntax_words[] = {[NAMES_EXTENDED] = "extended", [NAMES_ED] = "ed", NULL};
static const char *const sort_words[] = {
	[NAMES_BY_NOTHING] = "none", [NAMES_BY_NAME] = "name", [NAMES_BY_HOST] = "host",
	[NAMES_BY_SIZE] = "size",    [NAMES_BY_TIME] = "time", NULL};

static const struct cmd_option query_options[] = {
	CMD_FLAG(0, "batch", struct names_command_options, batch,
		 "one pattern per line of standard input, one JSON object per line out"),
	CMD_OPTION(0, "TIME", "budget", VALUE_TIME_AT(struct names_command_options, budget_us),
		   .min = 0, .max = 3.6e9, .fallback = "0",
		   .help = "CPU time after which the hits so far are the answer; 0: none"),
	CMD_FLAG('c', "count", struct names_command_options, count,
		 "only how many files there are, exactly"),
	CMD_OPTION(0, "NAMES", "domain", VALUE_LIST_AT(struct names_command_options, domain),
		   .help = "only sites in one of these domains: au,nz"),
	CMD_OPTION(0, "NAMES", "in", VALUE_LIST_AT(struct names_command_options, component),
		   .help = "only files whose path has one of these as a component"),
	CMD_FLAG(0, "json", struct names_command_options, json, "the answer as JSON"),
	CMD_OPTION(0, "KINDS", "kind", VALUE_LIST_AT(struct names_command_options, kind),
		   .help = "only file, dir, link, other"),
	CMD_OPTION(0, "SIZE", "larger", VALUE_SIZE_AT(struct names_command_options, larger),
		   .fallback = "0", .help = "only files of at least so many bytes; 0: any"),
	CMD_OPTION('k', "N", "limit", VALUE_INT_AT(struct names_command_options, limit),
		   .fallback = "100", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "so many files at most; 0: any number"),
	CMD_OPTION(0, "N", "maxhitspm", VALUE_INT_AT(struct names_command_options, maxhitspm),
		   .fallback = "0", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "so many files of each name at most; 0: any number"),
	CMD_OPTION(0, "N", "maxmatch", VALUE_INT_AT(struct names_command_options, maxmatch),
		   .fallback = "0", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "so many different names at most; 0: any number"),
	CMD_FLAG(0, "mirrors", struct names_command_options, mirrors,
		 "files of the same name and size are one hit"),
	CMD_FLAG(0, "names", struct names_command_options, names, "names without their paths"),
	CMD_OPTION(0, "AGE", "newer", VALUE_TIME_AT(struct names_command_options, newer_us),
		   .min = 0, .max = 3.2e15, .fallback = "0",
		   .help = "only files that changed within this time: 30d; 0: any"),
	CMD_OPTION(0, "N", "offset", VALUE_INT_AT(struct names_command_options, offset),
		   .fallback = "0", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "without the first so many"),
	CMD_OPTION(0, "AGE", "older", VALUE_TIME_AT(struct names_command_options, older_us),
		   .min = 0, .max = 3.2e15, .fallback = "0",
		   .help = "only files that did not change within this time; 0: any"),
	CMD_FLAG(0, "path", struct names_command_options, path,
		 "match the whole path, not the name alone"),
	CMD_OPTION(0, "N", "repeat", VALUE_INT_AT(struct names_command_options, repeat),
		   .fallback = "1", .min = 1, .max = REPEATS_MOST,
		   .help = "ask each so many times and tell the least time, for measurements"),
	CMD_FLAG(0, "reverse", struct names_command_options, reverse, "sort the other way round"),
	CMD_OPTION(0, "SITES", "site", VALUE_LIST_AT(struct names_command_options, site),
		   .help = "only these sites, by key or host name"),
	CMD_OPTION(0, "SIZE", "smaller", VALUE_SIZE_AT(struct names_command_options, smaller),
		   .fallback = "0", .help = "only files of at most so many bytes; 0: any"),
	CMD_OPTION(0, "ORDER", "sort", VALUE_WORD_AT(struct names_command_options, sort),
		   .words = sort_words, .fallback = "none",
		   .help = "by name, host, size (the largest first) or time (the newest first)"),
	CMD_OPTION(0, "SYNTAX", "syntax", VALUE_WORD_AT(struct names_command_options, syntax),
		   .words = syntax_words, .fallback = "extended",
		   .help = "of expressions: extended, or that of ed"),
	CMD_OPTION('t', "TYPE", "type", VALUE_WORD_AT(struct names_command_options, type),
		   .words = type_words, .fallback = "sub",
		   .help = "what the pattern is: a whole name (exact), a part of one (sub; subcase "
			   "regards case), an expression (regex), first exact and then one of "
			   "these, or a part of a description (whatis)"),
};
const struct command index_names_query_command = {
	.name = "query",
	.summary = "find files by their names",
	.description =
		"Prints the files whose name matches: kind, size, time in UTC, site, path. A total "
		"is "
		"exact or says \"at least\". doc/names.md has the types, the expressions and the "
		"limits.\n\n"
		"With --batch each answer is an object with us (CPU microseconds in the library), "
		"total (exact says whether there may be more), and hits, each with site and path; "
		"or with error.",
	CMD_OPTIONS(query_options, struct names_command_options),
	.args = "DIR [PATTERN]",
	.args_help = "a folder laid out as archie/ is, and what to look for",
	.min_args = 1,
	.max_args = 2,
	CMD_EXAMPLES({"garner index names query DIR emacs-19", "names with this in them"},
		     {"garner index names query DIR -t regex '^lib.*\\.so$' --sort time",
		      "an expression, the newest first"},
		     {"garner index names query DIR --batch -k 100 < patterns",
		      "paths and times as JSON lines"}),
	CMD_EXITS({1, "no file was found"},
		  {ERR_PARTLY, "some patterns of a batch could not be read"},
		  {ERR_DAMAGED, "the index is damaged or of another version"},
		  {ERR_SYSTEM, "the index cannot be read"}),
	.run = run_query,
};
