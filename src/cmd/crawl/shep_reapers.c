/* garner shep reapers: who fetches for the crawl, as the shepherd last wrote it down (run/reapers).
 */
#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"
#include "shepherd/shepherd.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

struct reapers_call {
	bool json;
};

enum { PRINTED_MAX = 4 << 20 };

static void cell_number(struct text_table *t, uint64_t v)
{
	char text[STR_DECIMAL_MAX + 1];
	text[str_decimal(text, v)] = 0;
	text_table_add(t, text);
}

static void print_text(const struct reaper_status *list, size_t n, struct buf *out)
{
	static const char *const heads[] = {"REAPER", "STATE",  "JOBS", "OUT",  "DOCUMENTS",
					    "BYTES",  "ERRORS", "LOST", "LATE", "ROUND TRIP"};
	struct text_table t = {.ncolumns = ARRAY_LEN(heads), .right = 0x3fc};
	char round[32];
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		text_table_add(&t, heads[i]);
	for (size_t i = 0; i < n; i++) {
		const struct reaper_status *r = &list[i];
		text_table_add(&t, r->name);
		text_table_add(&t, r->state);
		cell_number(&t, r->jobs);
		cell_number(&t, r->out);
		cell_number(&t, r->documents);
		cell_number(&t, r->bytes);
		cell_number(&t, r->errors);
		cell_number(&t, r->lost);
		cell_number(&t, r->late);
		snprintf(round, sizeof round, "%.1f ms", (double)r->round_us / US_PER_MS);
		text_table_add(&t, round);
	}
	text_table_print(&t, out);
	text_table_free(&t);
}

static void print_json(const struct reaper_status *list, size_t n, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_array(&j);
	for (size_t i = 0; i < n; i++) {
		const struct reaper_status *r = &list[i];
		jsonw_object(&j);
		jsonw_put_text(&j, "name", r->name);
		jsonw_put_text(&j, "kind", r->kind);
		jsonw_put_text(&j, "state", r->state);
		jsonw_put_uint(&j, "jobs", r->jobs);
		jsonw_put_uint(&j, "out", r->out);
		jsonw_put_uint(&j, "documents", r->documents);
		jsonw_put_uint(&j, "bytes", r->bytes);
		jsonw_put_uint(&j, "errors", r->errors);
		jsonw_put_uint(&j, "lost", r->lost);
		jsonw_put_uint(&j, "late", r->late);
		jsonw_put_uint(&j, "round_us", r->round_us);
		jsonw_put_time(&j, "time", r->time_us);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	buf_add_byte(out, '\n');
}

static int run(const struct cmd_call *call)
{
	const struct reapers_call *o = call->options;
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(PRINTED_MAX);
	CLEANUP(buf_free) struct buf out = BUF_INIT(PRINTED_MAX);
	struct reaper_status *list = NULL;
	size_t n = 0;
	char data[PATH_MAX];
	struct err err;
	int code = cmd_config(call, &config);
	if (code != 0)
		return code;
	if (cmd_data_dir(config, data, sizeof data, &err) < 0)
		return cmd_fail(call, &err);
	int rc = reapers_load(data, &arena, &list, &n, &err);
	if (rc < 0)
		return cmd_fail(call, &err);
	if (rc == 1) {
		(void)cmd_refuse(call, "%s: the shepherd does not run", data);
		return 1;
	}
	(o->json ? print_json : print_text)(list, n, &out);
	fwrite(out.p, 1, out.n, stdout);
	return 0;
}

static const struct cmd_option options[] = {
	CMD_FLAG('j', "json", struct reapers_call, json, "print JSON"),
};

const struct command shep_reapers_command = {
	.name = "reapers",
	.summary = "show who fetches for the crawl",
	.description =
		"A line for this machine (local) and for each of shepherd.reapers, while the "
		"shepherd runs; at most a second old. The state is up (it takes jobs), away (not "
		"connected), refused (it speaks another version, serves another master, or may "
		"not ask the servers of this crawl), "
		"punished (it lied, and is left alone for shepherd.reaper_penalty); of the local "
		"one "
		"waits: others do the work. Then the jobs that it was given and those that are "
		"out, "
		"the documents that it brought and their bytes, errors, jobs that were lost with "
		"it, answers that came late or twice and were refused, and how long a job takes on "
		"the average.",
	CMD_OPTIONS(options, struct reapers_call),
	CMD_EXAMPLES({"garner shep reapers", "who fetches, and how much"},
		     {"garner shep reapers --json", "the same for programs"}),
	CMD_EXITS({1, "the shepherd does not run"}, {ERR_DAMAGED, "its file is damaged"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run,
};
