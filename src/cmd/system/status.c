/* garner status: shows what is running, from the counter files. It asks no process, so it answers
 * even when a role hangs. */
#include "role/status.h"

#include "base/clock.h"
#include "broker/points.h"
#include "cmd/archie/archie_rows.h"
#include "cmd/cache/cache.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"
#include "web/numbers.h"

#include <limits.h>

enum { OUT_MOST = 64 << 20 };

struct status_options {
	bool verbose, json, metrics;
};

static const struct cmd_option options[] = {
	CMD_FLAG('v', "verbose", struct status_options, verbose,
		 "also what is stopped, and all counters"),
	CMD_FLAG(0, "json", struct status_options, json, "print everything as JSON"),
	CMD_FLAG(0, "metrics", struct status_options, metrics, "all counters as OpenMetrics text"),
};

static void print_roles(const struct status *s, bool all, struct buf *out)
{
	struct rows_list l;
	rows_list_begin(&l, &role_rows, false, out);
	for (size_t i = 0; i < s->nrows; i++)
		if (all || status_is_live(&s->row[i]))
			rows_list_add(&l, &s->row[i]);
	rows_list_end(&l);
}

static void print_counters(const struct counters_view *view, struct buf *out)
{
	struct text_table t = {.ncolumns = 2, .right = 1};
	buf_printf(out, "\n" STR_FMT "\n", STR_ARG(view->instance));
	for (size_t i = 0; i < view->n; i++) {
		const struct counter_value *v = &view->value[i];
		text_table_add(&t, "%lld", (long long)v->value);
		text_table_add(&t, STR_FMT "%s" STR_FMT "%s", STR_ARG(v->name),
			       v->labels.n ? "{" : "", STR_ARG(v->labels), v->labels.n ? "}" : "");
	}
	text_table_print(&t, out);
	text_table_free(&t);
}

/* What the roles do all together, as the status page has it. */
static void print_numbers(const struct status *s, struct buf *out)
{
	struct text_table t = {.ncolumns = 2, .right = 1};
	struct numbers numbers;
	numbers_of(s, clock_wall_us(), &numbers);
	for (size_t i = 0; i < NUMBERS; i++) {
		text_table_add(&t, "%s", numbers.n[i].text);
		text_table_add(&t, "%s", numbers.n[i].title);
	}
	for (size_t i = 0; i < numbers.causes; i++) {
		const struct numbers_cause *c = &numbers.cause[i];
		text_table_add(&t, "%lld", (long long)c->count);
		text_table_add(&t, "not fetched: " STR_FMT, STR_ARG(str_head(c->result, 40)));
	}
	buf_add_byte(out, '\n');
	text_table_print(&t, out);
	text_table_free(&t);
}

/* How long each module of the cycle took when it ran last, in their order. */
static void print_passes(const struct status *s, struct buf *out)
{
	struct text_table t = {.ncolumns = 2, .right = 1};
	CLEANUP(buf_free) struct buf took = BUF_INIT(200);
	for (size_t i = 0; i < s->nviews; i++)
		for (size_t k = 0; k < s->view[i].n; k++) {
			const struct counter_value *v = &s->view[i].value[k];
			struct str module = str_from(v->labels, strlen("module=\""));
			if (!str_is(v->name, "pass_milliseconds") || v->value == 0 || !module.n)
				continue;
			buf_clear(&took);
			duration_print_short(&took, v->value * US_PER_MS);
			text_table_add(&t, "%s", buf_text(&took));
			text_table_add(&t, "last " STR_FMT,
				       STR_ARG(str_head(module, MIN(module.n - 1, (size_t)40))));
		}
	text_table_print(&t, out);
	text_table_free(&t);
}

/* Facts that do not come from counters alone. */
struct points {
	const struct status *status;
	struct point_status *list;
	size_t n;
	struct archie_summary archie; /* of no sites: there are none */
	struct cache_summary cache;
	bool has_cache;
};

static void print_text(const struct status *s, const struct points *points, const char *data,
		       bool verbose, struct buf *out)
{
	if (!s->running)
		buf_printf(out, "Nothing runs in %s. Start it: garner up\n", data);
	if (s->running || (verbose && s->nrows > 0))
		print_roles(s, verbose, out);
	if (status_has_role(s, "shepherd") || status_has_role(s, "broker"))
		print_numbers(s, out);
	if (status_has_role(s, "shepherd"))
		print_passes(s, out);
	if (points->n && (verbose || (status_has_role(s, "broker") &&
				      points_are_told(points->list, points->n)))) {
		buf_add_byte(out, '\n');
		rows_print(&point_rows, points->list, points->n, false, out);
	}
	if (points->archie.sites && (verbose || status_has_role(s, "archie-getter"))) {
		buf_add_byte(out, '\n');
		archie_summary_text(&points->archie, clock_wall_us(), out);
	}
	if (points->has_cache &&
	    (verbose || status_has_role(s, "qm") || status_has_role(s, "uns"))) {
		buf_add_text(out, "\ncache: ");
		cache_summary_text(&points->cache, out);
	}
	for (size_t i = 0; verbose && i < s->nviews; i++)
		print_counters(&s->view[i], out);
}

#define S struct points
static const struct column points_columns[] = {
	COL_POINTER(NULL, S, status, status_rows),
	COL_LIST("points", S, list, n, point_rows),
	COL_ROW("archie", S, archie, archie_summary_rows, COL_IF(S, archie.sites)),
	COL_ROW("cache", S, cache, cache_summary_rows, COL_IF(S, has_cache)),
};
static const struct rows points_rows = {ROWS(S, points_columns)};
#undef S

/* A part that cannot be read leaves the others to be shown. */
static void note_failure(struct status *s, int rc, const struct err *err)
{
	if (rc < 0 && !s->damaged[0])
		snprintf(s->damaged, sizeof s->damaged, "%.*s", (int)sizeof s->damaged - 1,
			 err->msg);
}

static int show_status(const struct cmd_call *call, const char *data, struct err *err)
{
	const struct status_options *o = call->options;
	struct status s;
	struct points points = {.status = &s};
	if (status_read(&s, data, err) < 0)
		return -1;
	note_failure(&s, points_load(data, &points.list, &points.n, err), err);
	note_failure(&s, archie_summarize(data, &points.archie, err), err);
	int cache = o->metrics ? 1 : cache_summarize(data, &points.cache, err);
	points.has_cache = cache == 0;
	note_failure(&s, cache, err);
	struct buf out = BUF_INIT(OUT_MOST);
	if (o->metrics)
		counters_openmetrics(s.view, s.nviews, &out);
	else if (o->json)
		rows_json_line(&points_rows, &points, &out);
	else
		print_text(&s, &points, data, o->verbose, &out);
	mem_free(&points.list);
	cmd_print(call, &out);
	int code = s.running ? 0 : 1;
	if (s.damaged[0])
		code = err_set(err, ERR_PARTLY, "%s", s.damaged);
	status_free(&s);
	return code;
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct status_options *o = call->options;
	char data[PATH_MAX];
	if (o->json && o->metrics)
		return err_set(err, ERR_USAGE, "--json and --metrics cannot be combined");
	return cmd_data(call, data, err) < 0 ? -1 : show_status(call, data, err);
}

const struct command status_command = {
	.name = "status",
	.summary = "show what runs",
	.description =
		"Reads the counters that the supervisor and the roles keep below "
		"run/counters of the data directory. It asks no role, so it answers even "
		"while one hangs.\n\nSINCE is the time in the current state, CPU what the "
		"process has used, RSS the memory it holds. Where a crawl runs, its "
		"results follow: documents, pages, what waits, why pages were not "
		"gathered, when the index was last committed, and how long each pass of the "
		"cycle took when it was made last. Where the broker follows several "
		"sources or asks gatherers, each has a line: when it was asked last, what "
		"came of it, how many objects it told and how many of these were bad, "
		"when it is asked next, and why the last time failed. Where archives are "
		"indexed, a line says how many, and how many failed. Where the content cache "
		"runs, a line says what is stored, queued, and waits.",
	CMD_OPTIONS(options, struct status_options),
	CMD_EXAMPLES({"garner status", "what runs, since when, and what it takes"},
		     {"garner status --json", "the same with all counters, for a program"},
		     {"garner status --metrics", "for a collector of OpenMetrics"}),
	CMD_EXITS({1, "nothing runs"}, {ERR_PARTLY, "a file could not be read; the rest is shown"},
		  {ERR_SYSTEM, "the data directory could not be read"}),
	.run = run,
};
