/* garner shep params: the numbers of the newest state as a whole, and what was measured next to
 * what is configured. */
#include "base/clock.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"

#include <inttypes.h>
#include <limits.h>

/* Everything that is told. What was not measured yet is 0, and the setting holds. */
struct params_row {
	const char *state, *phase;
	struct state_course course;
	const struct crawl_conf *conf;
	struct str *section;
	size_t sections;
};

static const struct column course_columns[] = {
	COL("sleeping", struct params_row, course.urls[ITEM_SLEEPING]),
	COL("new", struct params_row, course.urls[ITEM_NEW]),
	COL("gathered", struct params_row, course.urls[ITEM_GATHERED]),
	COL("error", struct params_row, course.urls[ITEM_ERROR]),
	COL("qkey", struct params_row, course.urls[ITEM_QKEY]),
	COL("zombie", struct params_row, course.urls[ITEM_ZOMBIE]),
	COL("rate", struct params_row, course.rate_milli, .unit = UNIT_RATE),
	COL("due", struct params_row, course.due_s, .unit = UNIT_TIME_S, .how = ROW_NULL),
	COL("rounds", struct params_row, course.rounds),
	COL("asked", struct params_row, course.asked),
	COL("feedback", struct params_row, course.feedback),
	COL("passes", struct params_row, course.passes_us, .unit = UNIT_US_S),
	COL("cleaned", struct params_row, course.cleaned_s, .unit = UNIT_TIME_S, .how = ROW_NULL),
	COL("cleaned_bytes", struct params_row, course.cleaned_bytes),
};
static const struct rows course_rows = {ROWS(struct params_row, course_columns)};

static const struct column bucket_columns[] = {
	COL("avg_bucket_size", struct crawl_conf, avg_bucket_size)};
static const struct rows bucket_rows = {ROWS(struct crawl_conf, bucket_columns)};
static const struct column url_columns[] = {COL("avg_url_size", struct crawl_conf, avg_url_size)};
static const struct rows url_rows = {ROWS(struct crawl_conf, url_columns)};

static const struct column params_columns[] = {
	COL("state", struct params_row, state),
	COL("phase", struct params_row, phase),
	COL_GROUP(NULL, struct params_row, course_rows),
	COL("bucket_bytes", struct params_row, course.bucket_bytes),
	COL_POINTER(NULL, struct params_row, conf, bucket_rows),
	COL("url_bytes", struct params_row, course.url_bytes),
	COL_POINTER(NULL, struct params_row, conf, url_rows),
	COL_LIST("sections", struct params_row, section, sections, rows_strs),
};
static const struct rows params_rows = {ROWS(struct params_row, params_columns)};

static void print_mean(const char *name, uint64_t v, const char *setting, uint64_t set,
		       struct buf *out)
{
	char text[24] = "not measured yet";
	if (v)
		snprintf(text, sizeof text, "%" PRIu64, v);
	buf_printf(out, "%-15s%s (%s = %" PRIu64 ")\n", name, text, setting, set);
}

static void print_text(const struct params_row *row, struct buf *out)
{
	const char *sections = row->course.sections;
	buf_printf(out, "%-15s%s, %s\n", "state:", row->state, row->phase);
	rows_lines(&course_rows, row, ":", 14, 0, out);
	print_mean("bucket_bytes:", row->course.bucket_bytes, "avg_bucket_size",
		   row->conf->avg_bucket_size, out);
	print_mean("url_bytes:", row->course.url_bytes, "avg_url_size", row->conf->avg_url_size,
		   out);
	buf_printf(out, "%-15s%s\n", "sections:", *sections ? sections : "-");
}

/* A time that cannot be shown is none. */
static void row_fill(const struct state *st, const struct crawl_conf *conf, struct arena *arena,
		     struct params_row *ret)
{
	size_t room = 0;
	*ret = (struct params_row){.state = state_name(st),
				   .phase = phase_name(state_phase(st)),
				   .course = state_params(st)->course,
				   .conf = conf};
	struct str rest = str_of(state_params(st)->course.sections), name;
	ret->course.due_s = ret->course.due_s > UINT32_MAX ? 0 : ret->course.due_s;
	ret->course.cleaned_s = ret->course.cleaned_s > UINT32_MAX ? 0 : ret->course.cleaned_s;
	while (str_cut(&rest, ' ', &name) == 0)
		if (name.n)
			*ARENA_PUSH(arena, ret->section, ret->sections, room) = name;
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct params_row row;
	if (cmd_config(call, &config, err) < 0 || shep_open_states(call, false, &s, err) < 0 ||
	    shep_open_state(s, "current", &st, err) < 0)
		return -1;
	row_fill(st, crawl_conf_of(config), &arena, &row);
	if (o->json)
		return cmd_row_json(call, &params_rows, &row);
	print_text(&row, &out);
	return cmd_print(call, &out);
}

const struct command shep_params_command = {
	.name = "params",
	.summary = "show the figures of the newest state",
	.description = "Shows how many URLs of each type there are, how many are fetched per "
		       "second, when the next is due, how many rounds wait to be merged, the "
		       "number of the last feedback, how long all modules except reap took in the "
		       "last cycle, and what the last cleanup measured. The settings in "
		       "parentheses count until the mean sizes have been measured.",
	CMD_JSON('j', "print JSON"),
	CMD_EXITS({1, "there is no crawl in the data directory"}),
	CMD_EXAMPLES({"garner shep params", "one line for each number"},
		     {"garner shep params --json", "the same for programs"}),
	.run = run,
};
