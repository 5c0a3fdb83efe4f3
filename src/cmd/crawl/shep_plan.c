/* garner shep plan --explain: what the next plan would be, and why. It plans as the shepherd does,
 * from the newest state that is done, but keeps nothing; so it may be asked while the shepherd
 * runs, and with -s for what a setting would change. */
#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep_modules.h"
#include "cmd/system/text.h"
#include "shepherd/master.h"
#include "shepherd/planning.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>

enum { SHOWN = 20, FLUSH_EVERY = 1 << 20, JSON_MOST = 8 << 20 };

struct plan_options {
	bool explain, json;
};

/* Everything that is told. */
struct explained {
	char state[STATE_NAME];
	enum phase phase;
	struct planned planned;
	struct plan_servers servers;
	int64_t now_us;
};

static double share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static const char *server_name(const struct server *s, char room[QKEY_TEXT])
{
	return s->qkey ? qkey_print(s->qkey, room) : "unresolved";
}

/* For people */

static void cell_printf(struct text_table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void cell_printf(struct text_table *t, const char *fmt, ...)
{
	char text[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	text_table_add(t, text);
}

static void table_heads(struct text_table *t, const char *const *head)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		text_table_add(t, head[i]);
}

static void table_end(struct text_table *t, struct buf *out)
{
	buf_add_byte(out, '\n');
	text_table_print(t, out);
	text_table_free(t);
}

/* Without the formulas, with which a line is too long for a terminal. */
static void print_bands(const struct planned *p, struct buf *out)
{
	static const char *const heads[] = {"BAND", "URLS", "DUE", "WHEN"};
	struct text_table t = {.ncolumns = ARRAY_LEN(heads), .right = 6};
	table_heads(&t, heads);
	for (size_t i = 0; i < PLAN_BANDS; i++) {
		cell_printf(&t, "%s", plan_band_rows[i].name);
		cell_printf(&t, "%" PRIu64, p->bands[i]);
		cell_printf(&t, "%" PRIu64, p->due[i]);
		cell_printf(&t, "%s", plan_band_rows[i].when);
	}
	table_end(&t, out);
}

static void print_servers(const struct explained *e, struct buf *out)
{
	static const char *const heads[] = {"SERVER", "URLS",  "SHARE", "DUE",
					    "DELAY",  "SITES", "TIGHT"};
	struct text_table t = {.ncolumns = ARRAY_LEN(heads), .right = 0x3e};
	CLEANUP(buf_free) struct buf delay = BUF_INIT(64);
	char key[QKEY_TEXT];
	table_heads(&t, heads);
	for (size_t i = 0; i < MIN(e->servers.n, (size_t)SHOWN); i++) {
		const struct plan_server *s = &e->servers.server[i];
		buf_clear(&delay);
		duration_print_short(&delay, s->server.delay_us);
		cell_printf(&t, "%s", server_name(&s->server, key));
		cell_printf(&t, "%" PRIu64, s->urls);
		cell_printf(&t, "%.1f%%", 100 * share_of(s->urls, e->planned.urls));
		cell_printf(&t, "%" PRIu64, s->due);
		cell_printf(&t, "%s", s->server.qkey ? buf_text(&delay) : "-");
		cell_printf(&t, "%" PRIu32, s->server.sites);
		cell_printf(&t, "%s", s->server.tight ? "yes" : "no");
	}
	table_end(&t, out);
	if (e->servers.n > SHOWN)
		buf_printf(out, "and %zu more; --json has all\n", e->servers.n - SHOWN);
}

static void print_text(const struct cmd_call *call, const struct explained *e)
{
	const struct planned *p = &e->planned;
	struct buf out = BUF_INIT(1 << 20);
	buf_printf(&out, "state:     %s, %s\n", e->state, phase_name(e->phase));
	buf_printf(&out, "urls:      %" PRIu64 " of at most %" PRIu64 ", on %" PRIu64 " sites\n",
		   p->urls, p->budget, p->sites);
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
	print_bands(p, &out);
	if (e->servers.n)
		print_servers(e, &out);
	cmd_print(call, &out);
}

/* As JSON */

static void put_server(struct jsonw *j, const struct plan_server *s, uint64_t all)
{
	char key[QKEY_TEXT];
	jsonw_object(j);
	jsonw_put_text(j, "server", server_name(&s->server, key));
	jsonw_put_uint(j, "urls", s->urls);
	jsonw_put_real(j, "share", share_of(s->urls, all));
	jsonw_put_uint(j, "due", s->due);
	jsonw_put_uint(j, "sites", s->server.sites);
	if (s->server.qkey) {
		jsonw_put_real(j, "delay", (double)s->server.delay_us / (double)US_PER_S);
		jsonw_put_real(j, "min_delay", (double)s->server.min_delay_us / (double)US_PER_S);
		jsonw_put_uint(j, "max_conn", s->server.max_conn);
		jsonw_put_uint(j, "demand", s->server.demand);
		jsonw_key(j, "room");
		if (s->server.room == UINT64_MAX)
			jsonw_null(j);
		else
			jsonw_uint(j, s->server.room);
		jsonw_put_bool(j, "tight", s->server.tight);
	}
	jsonw_object_end(j);
}

static void put_bands(struct jsonw *j, const struct planned *p)
{
	jsonw_put_array(j, "bands");
	for (size_t i = 0; i < PLAN_BANDS; i++) {
		jsonw_object(j);
		jsonw_put_text(j, "band", plan_band_rows[i].name);
		jsonw_put_uint(j, "urls", p->bands[i]);
		jsonw_put_uint(j, "due", p->due[i]);
		jsonw_put_text(j, "priority", plan_band_rows[i].formula);
		jsonw_put_text(j, "when", plan_band_rows[i].when);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void print_json(const struct cmd_call *call, const struct explained *e)
{
	const struct planned *p = &e->planned;
	struct buf out = BUF_INIT(JSON_MOST);
	struct jsonw j = JSONW_INIT(&out);
	jsonw_object(&j);
	jsonw_put_text(&j, "state", e->state);
	jsonw_put_text(&j, "phase", phase_name(e->phase));
	jsonw_put_uint(&j, "urls", p->urls);
	jsonw_put_uint(&j, "sites", p->sites);
	jsonw_put_uint(&j, "robots", p->robots);
	jsonw_put_uint(&j, "bytes", p->bytes);
	jsonw_put_uint(&j, "budget", p->budget);
	jsonw_key(&j, "next");
	if (p->next_s == INT64_MAX)
		jsonw_null(&j);
	else
		jsonw_time(&j, p->next_s * US_PER_S);
	jsonw_put_object(&j, "left_out");
	for (size_t i = 0; i < PLAN_LIMITS; i++)
		jsonw_put_uint(&j, plan_limit_names[i], p->left_out[i]);
	jsonw_object_end(&j);
	put_bands(&j, p);
	jsonw_put_array(&j, "servers");
	for (size_t i = 0; i < e->servers.n; i++) {
		put_server(&j, &e->servers.server[i], p->urls);
		if (out.n > FLUSH_EVERY)
			cmd_flush(call, &out);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_add_byte(&out, '\n');
	cmd_print(call, &out);
}

/* What is told */

/* The newest state that is done. 1: there is none. */
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
		return 1;
	memcpy(ret, list[n - 1].name, STATE_NAME);
	return 0;
}

/* With the settings and rules as they are now. */
static int explain_state(const struct config *config, const char *folder, struct state *st,
			 struct explained *e, struct err *err)
{
	struct crawl c = shepherd_crawl(config, &state_params(st)->course);
	struct filter *filter = NULL;
	if (crawl_load_filter(c.conf, folder, &filter, err) < 0)
		return -1;
	c.filter = filter;
	e->phase = state_phase(st);
	e->now_us = c.now_us;
	memcpy(e->state, state_name(st), STATE_NAME);
	int rc = plan_explain(st, &c, &e->planned, &e->servers, err);
	filter_free(&filter);
	return rc;
}

/* 1: there is no crawl, or no such state, and that was said. */
static int explain_named(const struct cmd_call *call, const struct config *config,
			 struct explained *e, struct err *err)
{
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	char data[PATH_MAX], folder[PATH_MAX + 16], name[STATE_NAME];
	if (cmd_data_dir(config, data, sizeof data, err) < 0)
		return -1;
	snprintf(folder, sizeof folder, "%s/shepherd", data);
	int rc = states_open(&s, folder, false, err);
	if (rc == 1)
		(void)cmd_refuse(call, "%s: there is no crawl yet; make one with garner shep init",
				 folder);
	if (rc != 0)
		return rc;
	if (call->argc == 0)
		rc = newest_done(s, name, err);
	if (rc == 0)
		rc = state_open(&st, s, call->argc ? call->argv[0] : name, err);
	if (rc == 1)
		(void)cmd_refuse(call, "there is no such state; garner shep states lists them");
	return rc == 0 ? explain_state(config, folder, st, e, err) : rc;
}

static int run(const struct cmd_call *call)
{
	const struct plan_options *o = call->options;
	CLEANUP(config_free) struct config *config = NULL;
	struct explained e = {0};
	struct err err;
	if (!o->explain)
		return shep_module_run(call, MODULE_PLAN);
	int code = cmd_config(call, &config);
	if (code != 0)
		return code;
	int rc = explain_named(call, config, &e, &err);
	if (rc == 0)
		(o->json ? print_json : print_text)(call, &e);
	plan_servers_free(&e.servers);
	return rc < 0 ? cmd_fail(call, &err) : rc;
}

static const struct cmd_option options[] = {
	CMD_FLAG(0, "explain", struct plan_options, explain,
		 "show what the next plan would be, and write nothing"),
	CMD_FLAG('j', "json", struct plan_options, json,
		 "print JSON, with all servers and the formulas of the bands"),
};

const struct command shep_plan_command = {
	.name = "plan",
	.summary = "decide what to gather next, or show it",
	.description =
		"Without options: writes the plan of a clone of the newest state." SHEP_MODULE_NOTE
		"\n\nWith --explain: plans from the newest state that is done, as the shepherd "
		"would now, and writes "
		"nothing; the shepherd may run. Shown are the number of URLs, the bytes that their "
		"pages will take, the servers with the most of them, how many URLs each limit "
		"leaves out, and the bands of priorities. With -s a setting is tried out.\n"
		"\n"
		"Left out are URLs that are not due, those of sites that rest after errors or are "
		"dead (site), those beyond what their server can give in a cycle (server; of a "
		"site whose server is not known one URL goes ahead), and those beyond what can be "
		"gathered in a cycle (budget). The ages of URLs are spread a little by chance, "
		"and the next plan spreads them in another way.",
	.args = "[STATE]",
	.args_help = "the name of a state, \"closed\" or \"current\" (the newest that is done, if "
		     "none is named)",
	.max_args = 1,
	CMD_OPTIONS(options, struct plan_options),
	CMD_EXAMPLES({"garner shep plan --explain", "what is gathered next"},
		     {"garner -s shepherd.refresh=7d shep plan --explain",
		      "the same if pages were looked at again every week"}),
	CMD_EXITS({1, "there is no crawl in the data directory, or no such state"},
		  {ERR_BUSY, "the shepherd runs, or another module; not with --explain"},
		  {ERR_DAMAGED, "a file of the crawl is damaged"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run,
};
