/* garner shep: the crawl's states at the command line: made, listed, printed, recovered. */
#include "cmd/crawl/shep.h"

#include "base/clock.h"
#include "base/rows.h"
#include "bucket/bucket.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep_modules.h"
#include "state/plan.h"
#include "state/recover.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

enum { JSON_MOST = 64 << 20 };

struct shep_options {
	bool json, rebuild;
	int64_t shift;
	bool index, journal, contrib, changes, sites, plan, checkpoints, gone;
};

static const struct cmd_exit exits[] = {
	{1, "there is no crawl in the data directory, or no such state"},
	{ERR_DAMAGED, "a file of the crawl is damaged and could not be repaired"},
	{ERR_BUSY, "another process writes the crawl"},
	{ERR_SYSTEM, "a file cannot be read or written"},
};

/* The folder of the crawl. 0, or the exit code. */

int shep_open_states(const struct cmd_call *call, bool write, struct states **ret, struct err *err)
{
	char folder[PATH_MAX];
	if (cmd_data_path(call, "shepherd", folder, err) < 0)
		return -1;
	int rc = states_open(ret, folder, write, err);
	return rc == 1 ? err_set(err, ERR_NOTHING,
				 "%s: there is no crawl yet; make one with garner add URL, or "
				 "garner shep init",
				 folder)
		       : rc;
}

int shep_open_state(struct states *s, const char *name, struct state **ret, struct err *err)
{
	int rc = state_open(ret, s, name, err);
	return rc == 1 ? err_set(err, ERR_NOTHING,
				 "there is no state %s; garner shep states lists them", name)
		       : rc;
}

static int run_init(const struct cmd_call *call, struct err *err)
{
	const struct shep_options *o = call->options;
	char folder[PATH_MAX];
	if (cmd_data_path(call, "shepherd", folder, err) < 0 ||
	    states_init(folder, (unsigned)o->shift, clock_wall_us(), err) < 0)
		return -1;
	fprintf(call->out, "%s: made, with an empty state\n", folder);
	return 0;
}

/* States */

/* -1 where the index is lost or damaged. */
static int64_t urls_of(struct states *s, const char *name)
{
	struct state *st = NULL;
	const struct url_index *index;
	struct err ignored;
	int64_t n = -1;
	if (state_open(&st, s, name, &ignored) == 0 && state_index(st, &index, &ignored) == 0)
		n = (int64_t)url_index_items(index);
	state_free(&st);
	return n;
}

struct state_row {
	const char *name, *phase, *from; /* from: NULL: none */
	int64_t urls;
	bool locked;
};

#define S struct state_row
static const struct column state_columns[] = {
	COL("name", S, name),     COL("phase", S, phase),
	COL("from", S, from),     COL("urls", S, urls, .how = ROW_NULL | ROW_NEG),
	COL("locked", S, locked),
};
static const struct rows state_rows = {ROWS(S, state_columns)};
#undef S

static void state_print(const struct state_row *row, FILE *out)
{
	char urls[24] = "?";
	if (row->urls >= 0)
		snprintf(urls, sizeof urls, "%" PRId64, row->urls);
	fprintf(out, "%s %-10s %12s URLs%s%s%s\n", row->name, row->phase, urls,
		row->from ? ", from " : "", row->from ? row->from : "",
		row->locked ? ", locked" : "");
}

static void states_print(const struct cmd_call *call, struct states *s,
			 const struct state_info *list, size_t n)
{
	const struct shep_options *o = call->options;
	struct buf out = BUF_INIT(JSON_MOST);
	struct rows_list l;
	if (o->json)
		rows_list_begin(&l, &state_rows, true, &out);
	for (size_t i = 0; i < n; i++) {
		const struct state_info *info = &list[i];
		const struct state_row row = {
			.name = info->name,
			.phase = info->damaged ? "damaged" : phase_name(info->phase),
			.from = *info->params.from ? info->params.from : NULL,
			.urls = urls_of(s, info->name),
			.locked = info->locked,
		};
		if (o->json)
			rows_list_add(&l, &row);
		else
			state_print(&row, call->out);
	}
	if (o->json)
		rows_list_end(&l);
	cmd_print(call, &out);
}

static int run_states(const struct cmd_call *call, struct err *err)
{
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	struct state_info *list;
	size_t n;
	if (shep_open_states(call, false, &s, err) < 0 ||
	    states_list(s, clock_wall_us(), &arena, &list, &n, err) < 0)
		return -1;
	states_print(call, s, list, n);
	return 0;
}

/* Recovery */

struct recovered {
	struct recovery is;
	struct str *line;
	size_t lines;
};

#define S struct recovered
static const struct column recovered_columns[] = {
	COL("deleted", S, is.deleted),       COL("rolled_back", S, is.rolled_back),
	COL("renumbered", S, is.renumbered), COL("rebuilt", S, is.rebuilt),
	COL("damaged", S, is.damaged),       COL_LIST("told", S, line, lines, rows_strs),
};
static const struct rows recovered_rows = {ROWS(S, recovered_columns)};
#undef S

static void recovered_json(const struct cmd_call *call, const struct recovery *r)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(JSON_MOST);
	struct recovered row = {.is = *r};
	struct str rest = buf_str(&r->told), line;
	size_t room = 0;
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n)
			*ARENA_PUSH(&arena, row.line, row.lines, room) = line;
	cmd_row_json(call, &recovered_rows, &row);
}

static int run_recover(const struct cmd_call *call, struct err *err)
{
	const struct shep_options *o = call->options;
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(recovery_free) struct recovery r = {0};
	if (shep_open_states(call, true, &s, err) < 0)
		return -1;
	int rc = states_recover_fully(s, o->rebuild, clock_wall_us(), &r, err);
	if (o->json)
		recovered_json(call, &r);
	else
		fputs(r.told.n ? buf_text(&r.told) : "nothing to do\n", call->out);
	return rc;
}

/* Dump */

struct part {
	const char *file;
	const struct format *format;
	size_t wanted; /* where in the options */
};

#define PART(name)                                                         \
	{                                                                  \
#name, &name##_format, offsetof(struct shep_options, name) \
	}
static const struct part parts[] = {PART(index),   PART(sites),   PART(plan),       PART(journal),
				    PART(contrib), PART(changes), PART(checkpoints)};

static bool is_wanted(const struct shep_options *o, size_t at)
{
	bool wanted;
	memcpy(&wanted, (const char *)o + at, sizeof wanted);
	return wanted;
}

/* The exit code; a file that cannot be printed keeps nobody from the others. */
static int print_file(const struct cmd_call *call, const char *path, const struct format *format)
{
	struct err err;
	if (access(path, F_OK) != 0)
		return 0;
	fprintf(call->out, "%s:\n", path);
	return cmd_print_file(call, format, path, NULL, &err) < 0 ? cmd_fail(call, &err) : 0;
}

static int dump_state(const struct cmd_call *call, struct states *s, const struct state *st)
{
	const struct shep_options *o = call->options;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	bool all = !o->gone;
	int code = 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		all = all && !is_wanted(o, parts[i].wanted);
	fprintf(call->out, "state %s, %s\n", state_name(st), phase_name(state_phase(st)));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!all && !is_wanted(o, parts[i].wanted))
			continue;
		int rc = print_file(call, state_path(st, &arena, parts[i].file), parts[i].format);
		code = code ? code : rc;
	}
	int rc = o->gone ? print_file(call, states_path(s, &arena, "gone"), &gone_format) : 0;
	return code ? code : rc;
}

static int run_dump(const struct cmd_call *call, struct err *err)
{
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	const char *name = call->argc ? call->argv[0] : "current";
	if (shep_open_states(call, false, &s, err) < 0 || shep_open_state(s, name, &st, err) < 0)
		return -1;
	return dump_state(call, s, st);
}

/* Tables */

#define FLAG(letter, member, text) CMD_FLAG(letter, #member, struct shep_options, member, text)

static const struct cmd_option init_options[] = {
	CMD_OPTION(0, "BITS", "shift", VALUE_INT_AT(struct shep_options, shift), .fallback = "0",
		   .min = 0, .max = BUCKET_SHIFT_MOST,
		   .help = "alignment of buckets as a power of two; 7 takes the bucket file to 512 "
			   "GB, each one more doubles that; 0: 7"),
};
static const struct command init_command = {
	.name = "init",
	.summary = "make an empty crawl in the data directory",
	.description = "Creates the bucket file and a first, empty state. Changes nothing if there "
		       "is a crawl already.",
	CMD_OPTIONS(init_options, struct shep_options),
	CMD_SHARED_EXITS(exits),
	CMD_EXAMPLES({"garner shep init", "a crawl that knows no URL yet"}),
	.run = run_init,
};

static const struct cmd_option states_options[] = {FLAG('j', json, "print JSON")};
static const struct command states_command = {
	.name = "states",
	.summary = "list the states of the crawl, oldest first",
	.description =
		"A state is everything known of the crawl at one time. All states but the newest "
		"are closed or corked. A state is locked while a reader needs it or an older one.",
	CMD_OPTIONS(states_options, struct shep_options),
	CMD_SHARED_EXITS(exits),
	CMD_EXAMPLES({"garner shep states", "name, phase and number of URLs of each"}),
	.run = run_states,
};

static const struct cmd_option recover_options[] = {
	FLAG('j', json, "print JSON"),
	FLAG(0, rebuild, "rebuild the index from all buckets, as if it had been lost"),
};
static const struct command recover_command = {
	.name = "recover",
	.summary = "repair the states after a crash or damage",
	.description = "The shepherd does this at every start. Interrupted work is rolled back to "
		       "its last checkpoint or repeated. A lost or damaged index is rebuilt from "
		       "what is left of it, the buckets, older states and the log of forgotten "
		       "URLs. Everything found damaged is listed. This command also reads all "
		       "buckets and older states: damaged buckets are dropped and their pages "
		       "fetched again, damaged states are dropped unless a reader needs them.",
	CMD_OPTIONS(recover_options, struct shep_options),
	CMD_SHARED_EXITS(exits),
	CMD_EXAMPLES({"garner shep recover", "put the states in order, and say what was done"},
		     {"garner shep recover --rebuild", "read the whole bucket file"}),
	.run = run_recover,
};

static const struct cmd_option dump_options[] = {
	FLAG('i', index, "the URLs"),
	FLAG(0, sites, "the sites"),
	FLAG('p', plan, "URLs to fetch"),
	FLAG('j', journal, "results of fetching"),
	FLAG(0, contrib, "URLs found"),
	FLAG(0, changes, "what the modules did to URLs"),
	FLAG(0, checkpoints, "checkpoints, while the state is open"),
	FLAG(0, gone, "URLs forgotten by the whole crawl"),
};
static const struct command dump_sub = {
	.name = "dump",
	.summary = "print the files of a state",
	.description = "Without options prints all files except control and params, which garner "
		       "dump prints, and the log of forgotten URLs. The state may be in use.",
	CMD_ARGS("[STATE]", 0, 1,
		 "the name of a state, \"closed\" or \"current\" (the newest, if none is named)"),
	CMD_OPTIONS(dump_options, struct shep_options),
	CMD_SHARED_EXITS(exits),
	CMD_EXAMPLES({"garner shep dump -j", "the journal of the newest state"},
		     {"garner shep dump -i closed", "all URLs of the newest closed state"}),
	.run = run_dump,
};

const struct command shep_command = {
	.name = "shep",
	.summary = "inspect and repair the files of the crawl",
	.description = "The bucket file holds the fetched pages; the states hold what is known of "
		       "each URL.",
	CMD_SUBS(&init_command, &states_command, &dump_sub, &shep_params_command, &recover_command,
		 &shep_filter_command, &shep_feedback_command, &shep_plan_command,
		 &shep_reap_command, &shep_cork_command, &shep_merge_command, &shep_equiv_command,
		 &shep_select_command, &shep_record_command, &shep_cleanup_command,
		 &shep_reapers_command, &shep_buckets_command, &shep_buckettool_command),
};
