/* garner shep plan --explain: what the next plan would be, and why. It plans as the shepherd does,
 * from the newest state that is done, but keeps nothing; so it may be asked while the shepherd
 * runs, and with -s for what a setting would change. */
#include "base/clock.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep.h"
#include "cmd/crawl/shep_modules.h"
#include "shepherd/master.h"
#include "shepherd/planning.h"

#include <inttypes.h>
#include <limits.h>

enum { SHOWN = 20 };

struct plan_options {
	bool explain, json;
};

struct server_row {
	struct plan_server s;
	double share; /* of all URLs of the plan */
};

struct band {
	const char *name, *formula, *when;
	uint64_t urls, due;
};

/* Everything that is told. */
struct explained {
	char state[STATE_NAME];
	const char *phase;
	struct planned planned;
	struct server_row *server;
	struct band *band;
	size_t servers, bands;
	int64_t now_us;
	struct arena arena;
};

static void print_server(const void *member, struct buf *out)
{
	const struct server *s = member;
	char key[QKEY_TEXT];
	buf_add_text(out, s->qkey ? qkey_print(s->qkey, key) : "unresolved");
}

#define S struct server_row
static const struct column server_columns[] = {
	COL_OF("server", S, s.server, print_server, .label = "Server"),
	COL("urls", S, s.urls, .label = "Urls"),
	COL("share", S, share, .label = "Share", .unit = UNIT_SHARE),
	COL("due", S, s.due, .label = "Due"),
	COL(NULL, S, s.server.delay_us, .label = "Delay", .unit = UNIT_US,
	    COL_IF(S, s.server.qkey)),
	COL("sites", S, s.server.sites, .label = "Sites"),
	COL("delay", S, s.server.delay_us, .unit = UNIT_US_S, COL_IF(S, s.server.qkey)),
	COL("min_delay", S, s.server.min_delay_us, .unit = UNIT_US_S, COL_IF(S, s.server.qkey)),
	COL("max_conn", S, s.server.max_conn, COL_IF(S, s.server.qkey)),
	COL("demand", S, s.server.demand, COL_IF(S, s.server.qkey)),
	COL("room", S, s.server.room, .how = ROW_NULL | ROW_MOST, COL_IF(S, s.server.qkey)),
	COL("tight", S, s.server.tight, .label = "Tight", COL_IF(S, s.server.qkey)),
};
static const struct rows server_rows = {ROWS(S, server_columns)};
#undef S

/* Without the formulas for people, with which a line is too long for a terminal. */
#define S struct band
static const struct column band_columns[] = {
	COL("band", S, name, .label = "Band"), COL("urls", S, urls, .label = "Urls"),
	COL("due", S, due, .label = "Due"),    COL("priority", S, formula),
	COL("when", S, when, .label = "When"),
};
static const struct rows band_rows = {ROWS(S, band_columns)};
#undef S

static const struct column left_columns[] = {
	COL("not-due", struct explained, planned.left_out[PLAN_NOT_DUE]),
	COL("site", struct explained, planned.left_out[PLAN_SITE_RESTS]),
	COL("server", struct explained, planned.left_out[PLAN_SERVER]),
	COL("budget", struct explained, planned.left_out[PLAN_BUDGET]),
};
_Static_assert(ARRAY_LEN(left_columns) == PLAN_LIMITS, "a column for each limit");
static const struct rows left_rows = {ROWS(struct explained, left_columns)};
static const struct column explained_columns[] = {
	COL("state", struct explained, state),
	COL("phase", struct explained, phase),
	COL("urls", struct explained, planned.urls),
	COL("sites", struct explained, planned.sites),
	COL("robots", struct explained, planned.robots),
	COL("bytes", struct explained, planned.bytes),
	COL("budget", struct explained, planned.budget),
	COL("next", struct explained, planned.next_s, .unit = UNIT_TIME_S,
	    .how = ROW_NULL | ROW_MOST),
	COL_GROUP("left_out", struct explained, left_rows),
	COL_LIST("bands", struct explained, band, bands, band_rows),
	COL_LIST("servers", struct explained, server, servers, server_rows),
};
static const struct rows explained_rows = {ROWS(struct explained, explained_columns)};

static void print_text(const struct cmd_call *call, const struct explained *e)
{
	const struct planned *p = &e->planned;
	struct buf out = BUF_INIT(1 << 20);
	buf_printf(&out, "state:     %s, %s\n", e->state, e->phase);
	buf_printf(&out, "urls:      %" PRIu64 " of at most %" PRIu64 ", on %" PRIu64 " site%s\n",
		   p->urls, p->budget, p->sites, p->sites == 1 ? "" : "s");
	buf_printf(&out, "robots:    %" PRIu64 " sites are asked for robots.txt\n", p->robots);
	buf_printf(&out, "bytes:     %" PRIu64 "\n", p->bytes);
	buf_printf(&out, "left out: ");
	for (size_t i = 0; i < PLAN_LIMITS; i++)
		buf_printf(&out, "%s %s %" PRIu64, i ? "," : "", plan_limit_names[i],
			   p->left_out[i]);
	buf_printf(&out, "\nnext due:  ");
	if (p->next_s == INT64_MAX)
		buf_printf(&out, "never");
	else if (p->next_s * US_PER_S <= e->now_us)
		buf_printf(&out, "now");
	else
		time_print(&out, p->next_s * US_PER_S, 0);
	buf_add_byte(&out, '\n');
	buf_add_byte(&out, '\n');
	rows_print(&band_rows, e->band, e->bands, false, &out);
	if (e->servers) {
		buf_add_byte(&out, '\n');
		rows_print(&server_rows, e->server, MIN(e->servers, (size_t)SHOWN), false, &out);
	}
	if (e->servers > SHOWN)
		buf_printf(&out, "and %zu more; --json has all\n", e->servers - SHOWN);
	cmd_print(call, &out);
}

/* What is told */

/* The newest state that is done. */
static int newest_done(struct states *s, char ret[STATE_NAME], struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	struct state_info *list;
	size_t n;
	if (states_list(s, clock_wall_us(), &arena, &list, &n, err) < 0)
		return -1;
	while (n > 0 && (list[n - 1].damaged || !phase_is_done(list[n - 1].phase)))
		n--;
	if (n == 0)
		return err_set(err, ERR_NOTHING,
			       "there is no state that is done; garner shep states lists them");
	memcpy(ret, list[n - 1].name, STATE_NAME);
	return 0;
}

static void explained_fill(struct explained *e, const struct plan_servers *servers)
{
	e->band = arena_array(&e->arena, PLAN_BANDS, sizeof *e->band);
	for (; e->bands < PLAN_BANDS; e->bands++) {
		const struct plan_band_row *row = &plan_band_rows[e->bands];
		e->band[e->bands] =
			(struct band){row->name, row->formula, row->when,
				      e->planned.bands[e->bands], e->planned.due[e->bands]};
	}
	e->server = arena_array(&e->arena, servers->n, sizeof *e->server);
	for (; e->servers < servers->n; e->servers++) {
		const struct plan_server *s = &servers->server[e->servers];
		e->server[e->servers] = (struct server_row){
			*s, e->planned.urls ? (double)s->urls / (double)e->planned.urls : 0};
	}
}

/* With the settings and rules as they are now. */
static int explain_state(const struct config *config, const char *folder, struct state *st,
			 struct explained *e, struct err *err)
{
	struct crawl c = shepherd_crawl(config, &state_params(st)->course);
	struct filter *filter = NULL;
	struct plan_servers servers = {0};
	if (crawl_load_filter(c.conf, folder, &filter, err) < 0)
		return -1;
	c.filter = filter;
	e->phase = phase_name(state_phase(st));
	e->now_us = c.now_us;
	memcpy(e->state, state_name(st), STATE_NAME);
	int rc = plan_explain(st, &c, &e->planned, &servers, err);
	if (rc == 0)
		explained_fill(e, &servers);
	plan_servers_free(&servers);
	filter_free(&filter);
	return rc;
}

static int explain_named(const struct cmd_call *call, const struct config *config,
			 struct explained *e, struct err *err)
{
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	char data[PATH_MAX], folder[PATH_MAX], name[STATE_NAME];
	if (cmd_data_dir(config, data, sizeof data, err) < 0 ||
	    file_below(data, "shepherd", folder, err) < 0 ||
	    shep_open_states(call, false, &s, err) < 0 ||
	    (call->argc == 0 && newest_done(s, name, err) < 0) ||
	    shep_open_state(s, call->argc ? call->argv[0] : name, &st, err) < 0)
		return -1;
	return explain_state(config, folder, st, e, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct plan_options *o = call->options;
	CLEANUP(config_free) struct config *config = NULL;
	struct explained e = {.arena = ARENA_INIT(SIZE_MAX)};
	if (!o->explain)
		return shep_module_run(call, MODULE_PLAN, err);
	if (cmd_config(call, &config, err) < 0)
		return -1;
	int rc = explain_named(call, config, &e, err);
	if (rc == 0 && o->json)
		cmd_row_json(call, &explained_rows, &e);
	else if (rc == 0)
		print_text(call, &e);
	arena_free(&e.arena);
	return rc;
}

static const struct cmd_option options[] = {
	CMD_FLAG(0, "explain", struct plan_options, explain,
		 "show the next plan, and write nothing"),
	CMD_FLAG('j', "json", struct plan_options, json,
		 "print JSON, with all servers and the formulas of the bands"),
};

const struct command shep_plan_command = {
	.name = "plan",
	.summary = "decide what to fetch next, or show it",
	.description =
		"Without options: writes the plan of a clone of the newest state." SHEP_MODULE_NOTE
		"\n\nWith --explain: shows the plan that the shepherd would make now from the "
		"newest state that is done, and writes nothing; the shepherd may run meanwhile. "
		"Prints the number of URLs, the bytes that their pages will take, the servers with "
		"the most URLs, the number of URLs that each limit leaves out, and the bands of "
		"priorities. With -s a setting can be tried out.\n\nThe limits are: not-due; site, "
		"for sites that rest after errors or are dead; server, for URLs beyond what their "
		"server can give in a cycle (of a site whose server is unknown, one URL is "
		"planned); and budget, for URLs beyond what can be fetched in a cycle. The ages of "
		"URLs are spread a little at random, and differently in each plan.",
	CMD_ARGS("[STATE]", 0, 1,
		 "the name of a state, \"closed\" or \"current\" (the newest that is done, if none "
		 "is named)"),
	CMD_OPTIONS(options, struct plan_options),
	CMD_EXAMPLES({"garner shep plan --explain", "what is fetched next"},
		     {"garner -s shepherd.refresh=7d shep plan --explain",
		      "the same if pages were fetched again every week"}),
	CMD_EXITS({1, "there is no crawl in the data directory, or no such state"},
		  {ERR_BUSY, "the shepherd runs, or another module; not with --explain"},
		  {ERR_DAMAGED, "a file of the crawl is damaged"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run,
};
