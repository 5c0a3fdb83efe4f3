/* garner shep params: the numbers of the newest state as a whole, and what was measured next to
 * what is configured. One table gives the text and the JSON. */
#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/commands.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"

#include <inttypes.h>
#include <limits.h>

struct params_options {
	bool json;
};

enum param_kind { PARAM_COUNT, PARAM_MILLI, PARAM_DATE, PARAM_MICRO };

/* setting: of what is measured, what holds before it was. */
struct param {
	const char *name;
	enum param_kind kind;
	size_t at; /* in struct state_course */
	const char *setting;
	size_t setting_at; /* in struct crawl_conf */
};

#define PARAM(name, kind, member) name, kind, offsetof(struct state_course, member)
#define PARAM_SETTING(member) #member, offsetof(struct crawl_conf, member)
static const struct param params[] = {
	{PARAM("sleeping", PARAM_COUNT, urls[ITEM_SLEEPING]), NULL, 0},
	{PARAM("new", PARAM_COUNT, urls[ITEM_NEW]), NULL, 0},
	{PARAM("gathered", PARAM_COUNT, urls[ITEM_GATHERED]), NULL, 0},
	{PARAM("error", PARAM_COUNT, urls[ITEM_ERROR]), NULL, 0},
	{PARAM("qkey", PARAM_COUNT, urls[ITEM_QKEY]), NULL, 0},
	{PARAM("zombie", PARAM_COUNT, urls[ITEM_ZOMBIE]), NULL, 0},
	{PARAM("rate", PARAM_MILLI, rate_milli), NULL, 0},
	{PARAM("due", PARAM_DATE, due_s), NULL, 0},
	{PARAM("rounds", PARAM_COUNT, rounds), NULL, 0},
	{PARAM("asked", PARAM_COUNT, asked), NULL, 0},
	{PARAM("feedback", PARAM_COUNT, feedback), NULL, 0},
	{PARAM("passes", PARAM_MICRO, passes_us), NULL, 0},
	{PARAM("cleaned", PARAM_DATE, cleaned_s), NULL, 0},
	{PARAM("cleaned_bytes", PARAM_COUNT, cleaned_bytes), NULL, 0},
	{PARAM("bucket_bytes", PARAM_COUNT, bucket_bytes), PARAM_SETTING(avg_bucket_size)},
	{PARAM("url_bytes", PARAM_COUNT, url_bytes), PARAM_SETTING(avg_url_size)},
};

static uint64_t number_at(const void *from, size_t at)
{
	uint64_t v;
	memcpy(&v, (const char *)from + at, sizeof v);
	return v;
}

static void print_value(const struct param *p, uint64_t v, struct buf *out)
{
	if (p->kind == PARAM_MILLI)
		buf_printf(out, "%" PRIu64 ".%03" PRIu64 " URLs a second", v / 1000, v % 1000);
	else if (p->kind == PARAM_MICRO)
		duration_print_short(out, (int64_t)MIN(v, (uint64_t)INT64_MAX));
	else if (p->kind == PARAM_COUNT)
		buf_printf(out, "%" PRIu64, v);
	else if (v == 0 || v > UINT32_MAX)
		buf_add_text(out, "-");
	else
		time_print(out, (int64_t)v * US_PER_S, 0);
}

static void print_text(const struct state *st, const struct crawl_conf *conf, struct buf *out)
{
	const struct state_course *course = &state_params(st)->course;
	buf_printf(out, "%-15s%s, %s\n", "state:", state_name(st), phase_name(state_phase(st)));
	for (size_t i = 0; i < ARRAY_LEN(params); i++) {
		const struct param *p = &params[i];
		uint64_t v = number_at(course, p->at);
		buf_printf(out, "%s:%*s", p->name, 14 - (int)strlen(p->name), "");
		if (p->setting && v == 0)
			buf_add_text(out, "not measured yet");
		else
			print_value(p, v, out);
		if (p->setting)
			buf_printf(out, " (%s = %" PRIu64 ")", p->setting,
				   number_at(conf, p->setting_at));
		buf_add_byte(out, '\n');
	}
	buf_printf(out, "%-15s%s\n", "sections:", *course->sections ? course->sections : "-");
}

static void put_value(struct jsonw *j, const struct param *p, uint64_t v)
{
	if (p->kind == PARAM_MILLI)
		jsonw_put_real(j, p->name, (double)v / 1000);
	else if (p->kind == PARAM_MICRO)
		jsonw_put_real(j, p->name, (double)v / US_PER_S);
	else if (p->kind == PARAM_COUNT)
		jsonw_put_uint(j, p->name, v);
	else if (v && v <= UINT32_MAX)
		jsonw_put_time(j, p->name, (int64_t)v * US_PER_S);
	else
		jsonw_put_text(j, p->name, NULL);
}

static void print_json(const struct state *st, const struct crawl_conf *conf, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	const struct state_course *course = &state_params(st)->course;
	struct str rest = str_of(course->sections), name;
	jsonw_object(&j);
	jsonw_put_text(&j, "state", state_name(st));
	jsonw_put_text(&j, "phase", phase_name(state_phase(st)));
	for (size_t i = 0; i < ARRAY_LEN(params); i++) {
		put_value(&j, &params[i], number_at(course, params[i].at));
		if (params[i].setting)
			jsonw_put_uint(&j, params[i].setting,
				       number_at(conf, params[i].setting_at));
	}
	jsonw_put_array(&j, "sections");
	while (str_cut(&rest, ' ', &name) == 0)
		if (name.n)
			jsonw_str(&j, name);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

static int run(const struct cmd_call *call)
{
	const struct params_options *o = call->options;
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	char folder[PATH_MAX];
	struct err err;
	int code = cmd_config(call, &config);
	if (code == 0)
		code = cmd_data_path(call, "shepherd", folder, sizeof folder);
	if (code)
		return code;
	int rc = states_open(&s, folder, false, &err);
	if (rc == 0)
		rc = state_open(&st, s, "current", &err);
	if (rc < 0)
		return cmd_fail(call, &err);
	if (rc == 1) {
		(void)cmd_refuse(call, "%s: there is no crawl yet; make one with garner shep init",
				 folder);
		return 1;
	}
	(o->json ? print_json : print_text)(st, crawl_conf_of(config), &out);
	cmd_print(call, &out);
	return 0;
}

static const struct cmd_option options[] = {
	CMD_FLAG('j', "json", struct params_options, json, "print JSON"),
};
const struct command shep_params_command = {
	.name = "params",
	.summary = "the numbers of the newest state as a whole",
	.description =
		"How many URLs of each type there are, how many a second are gathered, when the "
		"next is due, how many rounds wait to be merged, the number of the last feedback, "
		"how long the modules but reap took in the last cycle, and what the last cleanup "
		"measured: next to the mean sizes of buckets stand the settings that hold until "
		"they are measured.",
	CMD_OPTIONS(options, struct params_options),
	CMD_EXITS({1, "there is no crawl in the data directory"}),
	CMD_EXAMPLES({"garner shep params", "one line for each number"},
		     {"garner shep params --json", "the same for programs"}),
	.run = run,
};
