/* garner shep equiv: which sites are mirrors. With --propose it only reads, also while the crawl
 * runs: a bucket whose number has changed meanwhile is known by its footprint, and left out. */
#include "shepherd/equivalence.h"

#include "bucket/bucket.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep.h"
#include "cmd/crawl/shep_modules.h"

struct equiv_options {
	bool propose;
};

enum { SORT_MEMORY = 64 << 20 };

static void emit_piece(void *ctx, struct str piece)
{
	const struct cmd_call *call = ctx;
	fwrite(piece.p, 1, piece.n, call->out);
}

static int propose_from(const struct cmd_call *call, struct states *s, struct state *st,
			struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct bucket_options options = {.mode = BUCKET_SCAN};
	struct buckets *buckets = NULL;
	struct equiv_proposal proposal;
	const char *objects = states_path(s, &arena, "objects");
	int rc = bucket_open(&buckets, objects, &options, err);
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s: it is not there", objects);
	if (rc == 0)
		rc = equiv_propose(st, buckets, states_path(s, &arena, "."), SORT_MEMORY,
				   emit_piece, (void *)call, &proposal, err);
	bucket_drop(&buckets);
	arena_free(&arena);
	return rc;
}

static int run_propose(const struct cmd_call *call, struct err *err)
{
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	if (shep_open_states(call, false, &s, err) < 0 ||
	    shep_open_state(s, "current", &st, err) < 0)
		return -1;
	return propose_from(call, s, st, err);
}

static int run_equiv(const struct cmd_call *call, struct err *err)
{
	const struct equiv_options *o = call->options;
	if (o->propose && call->argc)
		return err_set(err, ERR_USAGE, "--propose looks at the newest state");
	return o->propose ? run_propose(call, err) : shep_module_run(call, MODULE_EQUIV, err);
}

static const struct cmd_option options[] = {
	CMD_FLAG(0, "propose", struct equiv_options, propose,
		 "print sites whose front pages have the same text, as a file of classes"),
};

const struct command shep_equiv_command = {
	.name = "equiv",
	.summary = "set which sites are mirrors, or find some",
	.description =
		"Without options: the sites of the state get the classes of "
		"shepherd/cf/url-equiv." SHEP_MODULE_NOTE
		"\n\nWith --propose: compares the fetched front pages of sites by the MD5 of their "
		"text, except those with less than 200 bytes of text. Review the output before "
		"using it as shepherd/cf/url-equiv in the data directory: a site at the beginning "
		"of a line stands for its class, and the indented sites below it are its mirrors. "
		"A leading www. is left out. The crawl may run meanwhile.",
	CMD_OPTIONS(options, struct equiv_options),
	CMD_ARGS("[STATE]", 0, 1, SHEP_MODULE_STATE),
	CMD_EXITS({1, "there is no crawl in the data directory"},
		  {ERR_BUSY, "the shepherd runs, or another module; not with --propose"},
		  {ERR_DAMAGED, "a file of the crawl is damaged"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	CMD_EXAMPLES({"garner shep equiv --propose >url-equiv", "classes to look through"}),
	.run = run_equiv,
};
