/* garner index names query */
#include "base/rows.h"
#include "cmd/index/index_ask.h"
#include "cmd/index/index_cmd.h"
#include "cmd/system/text.h"
#include "index/names.h"
#include "index/query.h"

#include <inttypes.h>
#include <time.h>

enum { NAMES_HITS_MOST = 100 * 1000 * 1000, SECOND_US = 1000000 };

struct names_command_options {
	bool path, count, json, names, batch, reverse, mirrors, urls;
	int type, syntax, sort;
	int64_t limit, offset, maxmatch, maxhitspm, repeat;
	uint64_t larger, smaller;
	int64_t newer_us, older_us, budget_us;
	struct value_list site, domain, component, kind;
};

struct asking {
	struct index_ask frame; /* first */
	const struct names_command_options *o;
	struct names_reader *reader;
	struct names_query query;
	struct names_hits hits;
	struct arena lists;
	struct buf url;
};

static struct asking *asking_of(struct index_ask *frame)
{
	return (struct asking *)(void *)frame;
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

static int names_ask(struct index_ask *frame, struct str text, uint64_t *ret_total, struct err *err)
{
	struct asking *a = asking_of(frame);
	size_t at;
	a->query.pattern = text;
	if (names_refresh(&a->reader, err) < 0)
		return -1;
	if (names_query(a->reader, &a->query, &frame->arena, &a->hits, &at, err) < 0)
		return at != SIZE_MAX
			       ? err_in(err, "expression, character %zu", query_character(text, at))
			       : -1;
	*ret_total = a->hits.total;
	return 0;
}

static struct str path_of(struct asking *a, const struct names_entry *e)
{
	if (!e->dir.n)
		return e->name;
	char *p = arena_alloc(&a->frame.arena, e->dir.n + 1 + e->name.n);
	memcpy(p, e->dir.p, e->dir.n);
	p[e->dir.n] = '/';
	memcpy(p + e->dir.n + 1, e->name.p, e->name.n);
	return (struct str){p, e->dir.n + 1 + e->name.n};
}

/* Empty: it is not known, or names alone are asked for. */
static struct str url_of(struct asking *a, const struct names_hit *h)
{
	buf_clear(&a->url);
	return !a->o->names && names_hit_url(a->reader, h, &a->url) ? buf_str(&a->url) : STR("");
}

struct hit_row {
	struct str site, name, path, url; /* name or path; empty: not told */
	const char *kind;
	int64_t size, time_s; /* -1: not told */
	uint64_t mirrors;
};
#define S struct hit_row
static const struct column hit_columns[] = {
	COL("site", S, site),
	COL("name", S, name, .how = ROW_SOME),
	COL("path", S, path, .how = ROW_SOME),
	COL("url", S, url, .how = ROW_SOME),
	COL("kind", S, kind, .how = ROW_SOME),
	COL("size", S, size, .how = ROW_SOME | ROW_NEG),
	COL("time", S, time_s, .how = ROW_SOME | ROW_NEG),
	COL("mirrors", S, mirrors, .how = ROW_SOME),
};
static const struct rows hit_rows = {ROWS(S, hit_columns)};
#undef S

static const struct column lost_columns[] = {COL("key", struct names_lost, key)};
static const struct rows lost_rows = {ROWS(struct names_lost, lost_columns), ROWS_VALUE};

#define S struct names_hits
static const struct column hits_columns[] = {
	COL("total", S, total),
	COL("exact", S, exact),
	COL("cut", S, cut, .how = ROW_SOME),
	COL("scanned", S, scanned, .how = ROW_SOME),
	COL("problem", S, problem, .how = ROW_SOME),
	COL_LIST("lost", S, lost, losts, lost_rows, .how = ROW_SOME),
};
static const struct rows hits_rows = {ROWS(S, hits_columns)};
#undef S

/* all: everything that is told of a file. */
static struct hit_row row_of(struct asking *a, const struct names_site *site,
			     const struct names_hit *h, bool all)
{
	bool names = a->o->names, told = all && !names;
	struct str url = url_of(a, h);
	return (struct hit_row){
		.site = site->key,
		.name = names ? h->file.name : STR(""),
		.path = names ? STR("") : path_of(a, &h->file),
		.url = url,
		.kind = told ? names_kind_name(h->file.kind) : NULL,
		.size = told ? h->file.size : -1,
		.time_s = told && h->file.time_s != -1 ? h->file.time_s : -1,
		.mirrors = h->mirrors,
	};
}

static void names_put(struct index_ask *frame, struct jsonw *j, bool all)
{
	struct asking *a = asking_of(frame);
	const struct names_hits *hits = &a->hits;
	size_t sites;
	const struct names_site *site = names_sites(a->reader, &sites);
	rows_json_members(&hits_rows, hits, j);
	jsonw_put_array(j, "hits");
	for (size_t i = 0; i < hits->n && !a->o->count; i++) {
		const struct names_hit *h = &hits->hit[i];
		const struct hit_row row = row_of(a, &site[h->site], h, all);
		rows_json(&hit_rows, &row, j);
	}
	jsonw_array_end(j);
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
	struct buf *out = &a->frame.out;
	struct str url = a->o->urls ? url_of(a, h) : STR("");
	if (!a->o->names) {
		char size[STR_DECIMAL_MAX + 1] = "-";
		if (h->file.size >= 0)
			size[str_decimal(size, (uint64_t)h->file.size)] = 0;
		buf_printf(out, "%-5s %12s  ", names_kind_name(h->file.kind), size);
		put_time(out, h->file.time_s);
		buf_add_text(out, "  ");
	}
	if (url.n) {
		put_safe(out, url);
	} else {
		put_safe(out, site->key);
		buf_add_text(out, "  ");
		put_safe(out, a->o->names ? h->file.name : path_of(a, &h->file));
	}
	if (h->mirrors)
		buf_printf(out, "  (and %" PRIu64 " more)", h->mirrors);
	buf_add_byte(out, '\n');
}

/* Where nothing was found: what somebody who wrote this pattern may have meant. NULL: just that. */
static const char *other_way(const struct names_query *q)
{
	bool is_rx = q->type == NAMES_REGEX || q->type == NAMES_EXACT_REGEX;
	if (!q->path && str_find_byte(q->pattern, '/') < q->pattern.n)
		return "a name has no slash; --path looks at whole paths";
	if (!is_rx && str_find_byte(q->pattern, '*') < q->pattern.n)
		return "* means itself here; -t regex takes expressions, in which .* is any text";
	if (q->type == NAMES_EXACT)
		return "-t sub finds parts of names, in capitals or not";
	if (q->type == NAMES_SUBCASE || q->type == NAMES_EXACT_SUBCASE)
		return "capitals count; with -t sub they do not";
	return NULL;
}

static void print_text(struct asking *a)
{
	const struct names_hits *hits = &a->hits;
	struct buf *out = &a->frame.out;
	const char *hint = hits->total || a->o->count ? NULL : other_way(&a->query);
	size_t sites;
	const struct names_site *site = names_sites(a->reader, &sites);
	for (size_t i = 0; i < hits->n && !a->o->count; i++)
		print_hit(a, &site[hits->hit[i].site], &hits->hit[i]);
	index_ask_total(out, hits->total, hits->exact, a->o->count ? "" : " file", hits->cut);
	if (hint)
		buf_printf(out, "%s\n", hint);
	if (!hits->problem)
		return;
	buf_add_text(out, hits->scanned ? "without the index: " : "not all is there: ");
	put_safe(out, str_of(hits->problem));
	buf_add_byte(out, '\n');
}

static const struct column description_columns[] = {
	COL("name", struct names_description, name),
	COL("text", struct names_description, text),
};
static const struct rows description_rows = {ROWS(struct names_description, description_columns)};

static int ask_whatis(struct asking *a, struct err *err)
{
	struct names_description *d;
	size_t n = 0;
	int rc = names_whatis(a->frame.call->argv[0], str_of(a->frame.call->argv[1]),
			      (uint64_t)a->o->limit, &a->frame.arena, &d, &n, err);
	if (rc != 0)
		return rc < 0 ? -1
			      : err_set(err, ERR_USAGE,
					"%s/whatis: there are no descriptions; garner archie "
					"whatis "
					"import FILE takes some",
					a->frame.call->argv[0]);
	a->frame.found = n;
	if (a->o->json) {
		rows_print(&description_rows, d, n, true, &a->frame.out);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		size_t at = a->frame.out.n;
		put_safe(&a->frame.out, d[i].name);
		if (d[i].text.n) {
			size_t wide = a->frame.out.n - at;
			buf_fill(&a->frame.out, ' ', wide < 25 ? 26 - wide : 1);
			put_safe(&a->frame.out, d[i].text);
		}
		buf_add_byte(&a->frame.out, '\n');
	}
	if (n == 0)
		index_ask_total(&a->frame.out, 0, true, " description", false);
	return 0;
}

static int names_single(struct index_ask *frame, struct err *err)
{
	struct asking *a = asking_of(frame);
	if (a->o->type == NAMES_WHATIS)
		return ask_whatis(a, err);
	if (index_ask_text(frame, str_of(frame->call->argv[1]), err) < 0)
		return -1;
	if (a->o->json)
		index_ask_json(frame, true);
	else
		print_text(a);
	return 0;
}

static int names_open_all(struct index_ask *frame, struct err *err)
{
	struct asking *a = asking_of(frame);
	if (a->o->type == NAMES_WHATIS)
		return a->o->batch ? err_set(err, ERR_USAGE, "--batch is not for whatis") : 0;
	if (make_query(a, err) < 0)
		return -1;
	int rc = names_open(&a->reader, frame->call->argv[0], err);
	return rc == 1 ? err_set(err, ERR_USAGE,
				 "%s: there are no names; garner index names build makes an index, "
				 "and garner archie keeps its own in archie/ of the data directory",
				 frame->call->argv[0])
		       : rc;
}

static const struct index_ask_ops names_ops = {.one = "pattern",
					       .many = "patterns",
					       .most = NAMES_PATTERN_MOST,
					       .open = names_open_all,
					       .ask = names_ask,
					       .single = names_single,
					       .put = names_put};

static int run_query(const struct cmd_call *call, struct err *err)
{
	const struct names_command_options *o = call->options;
	struct asking a = {
		.frame = {.call = call, .ops = &names_ops, .batch = o->batch, .repeat = o->repeat},
		.o = o,
		.lists = ARENA_INIT(SIZE_MAX),
		.url = BUF_INIT(SIZE_MAX / 2)};
	int code = index_ask_run(&a.frame, err);
	names_close(&a.reader);
	arena_free(&a.lists);
	buf_free(&a.url);
	return code;
}

static const char *const syntax_words[] = {[NAMES_EXTENDED] = "extended", [NAMES_ED] = "ed", NULL};
static const char *const sort_words[] = {
	[NAMES_BY_NOTHING] = "none", [NAMES_BY_NAME] = "name", [NAMES_BY_HOST] = "host",
	[NAMES_BY_SIZE] = "size",    [NAMES_BY_TIME] = "time", NULL};

static const struct cmd_option query_options[] = {
	CMD_FLAG(0, "batch", struct names_command_options, batch,
		 "one pattern per line of standard input, one JSON object per line out"),
	CMD_OPTION(0, "TIME", "budget", VALUE_TIME_AT(struct names_command_options, budget_us),
		   .min = 0, .max = 3.6e9, .fallback = "0",
		   .help = "CPU time after which the query ends with the hits found; 0: no limit"),
	CMD_FLAG('c', "count", struct names_command_options, count,
		 "print only the exact number of files"),
	CMD_OPTION(0, "NAMES", "domain", VALUE_LIST_AT(struct names_command_options, domain),
		   .help = "only sites in one of these domains: au,nz"),
	CMD_OPTION(0, "NAMES", "in", VALUE_LIST_AT(struct names_command_options, component),
		   .help = "only files whose path has one of these as a component"),
	CMD_FLAG(0, "json", struct names_command_options, json, "the answer as JSON"),
	CMD_OPTION(0, "KINDS", "kind", VALUE_LIST_AT(struct names_command_options, kind),
		   .help = "only file, dir, link, other"),
	CMD_OPTION(0, "SIZE", "larger", VALUE_SIZE_AT(struct names_command_options, larger),
		   .fallback = "0", .help = "smallest size of a file; 0: any"),
	CMD_OPTION('k', "N", "limit", VALUE_INT_AT(struct names_command_options, limit),
		   .fallback = "100", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "most files to print; 0: all"),
	CMD_OPTION(0, "N", "maxhitspm", VALUE_INT_AT(struct names_command_options, maxhitspm),
		   .fallback = "0", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "most files with the same name; 0: any number"),
	CMD_OPTION(0, "N", "maxmatch", VALUE_INT_AT(struct names_command_options, maxmatch),
		   .fallback = "0", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "most different names; 0: any number"),
	CMD_FLAG(0, "mirrors", struct names_command_options, mirrors,
		 "print files with the same name and size as one hit"),
	CMD_FLAG(0, "names", struct names_command_options, names,
		 "print names without their paths"),
	CMD_OPTION(0, "AGE", "newer", VALUE_TIME_AT(struct names_command_options, newer_us),
		   .min = 0, .max = 3.2e15, .fallback = "0",
		   .help = "only files that have changed within this time, such as 30d; 0: any"),
	CMD_OPTION(0, "N", "offset", VALUE_INT_AT(struct names_command_options, offset),
		   .fallback = "0", .min = 0, .max = NAMES_HITS_MOST,
		   .help = "number of hits to skip"),
	CMD_OPTION(0, "AGE", "older", VALUE_TIME_AT(struct names_command_options, older_us),
		   .min = 0, .max = 3.2e15, .fallback = "0",
		   .help = "only files that have not changed within this time; 0: any"),
	CMD_FLAG(0, "path", struct names_command_options, path,
		 "match the whole path, not the name alone"),
	CMD_OPTION(0, "N", "repeat", VALUE_INT_AT(struct names_command_options, repeat),
		   .fallback = "1", .min = 1, .max = INDEX_REPEATS_MOST,
		   .help = "times to run each query, for measurements; the shortest time counts"),
	CMD_FLAG(0, "reverse", struct names_command_options, reverse, "reverse the order"),
	CMD_OPTION(0, "SITES", "site", VALUE_LIST_AT(struct names_command_options, site),
		   .help = "only these sites, by key or host name"),
	CMD_OPTION(0, "SIZE", "smaller", VALUE_SIZE_AT(struct names_command_options, smaller),
		   .fallback = "0", .help = "largest size of a file; 0: any"),
	CMD_OPTION(0, "ORDER", "sort", VALUE_WORD_AT(struct names_command_options, sort),
		   .words = sort_words, .fallback = "none",
		   .help = "by name, host, size (the largest first) or time (the newest first)"),
	CMD_OPTION(0, "SYNTAX", "syntax", VALUE_WORD_AT(struct names_command_options, syntax),
		   .words = syntax_words, .fallback = "extended",
		   .help = "syntax of expressions: extended, or that of ed"),
	CMD_OPTION(
		't', "TYPE", "type", VALUE_WORD_AT(struct names_command_options, type),
		.words = names_type_words, .fallback = "sub",
		.help = "what the pattern is: a whole name (exact), part of a name (sub; subcase "
			"distinguishes case), an expression (regex), first exact and then one of "
			"these, or part of a description (whatis)"),
	CMD_FLAG(0, "urls", struct names_command_options, urls,
		 "print the URL of each file, if known, instead of site and path"),
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
		"total (exact says whether there may be more), and hits, each with site, path "
		"and, where the site has one, url; or with error.",
	CMD_OPTIONS(query_options, struct names_command_options),
	CMD_ARGS("DIR [PATTERN]", 1, 2, "a folder laid out as archie/ is, and what to look for"),
	CMD_EXAMPLES({"garner index names query DIR emacs-19", "names with this in them"},
		     {"garner index names query DIR -t regex '^lib.*\\.so$' --sort time",
		      "an expression, the newest first"},
		     {"garner index names query DIR --batch -k 100 < patterns",
		      "paths and times as JSON lines"}),
	CMD_EXITS({1, "no file was found"},
		  {ERR_PARTLY, "some patterns of a batch could not be read"}, INDEX_EXITS),
	.run = run_query,
};
