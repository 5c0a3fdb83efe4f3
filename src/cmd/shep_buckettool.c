/* garner shep buckettool: the letters by which bucket files were handled in Sherlock Holmes. */
#include "cmd/commands.h"
#include "cmd/shep_buckets.h"

struct letters {
	struct buckets_options common; /* first: the actions find it there */
	bool list, list_all, cat, insert, audit, fix, quick, shakedown;
	const char *delete, *extract;
};

/* One action a call. */
struct action {
	bool wanted;
	int (*run)(const struct cmd_call *call);
	const char *oid; /* its argument */
};

static int run(const struct cmd_call *call)
{
	struct letters l = *(const struct letters *)call->options;
	l.common.all = l.list_all;
	const struct action actions[] = {
		{l.list || l.list_all, shep_buckets_list, NULL},
		{*l.delete, shep_buckets_delete, l.delete},
		{*l.extract, shep_buckets_extract, l.extract},
		{l.insert, shep_buckets_insert, NULL},
		{l.cat, shep_buckets_cat, NULL},
		{l.audit, shep_buckets_audit, NULL},
		{l.fix, shep_buckets_fix, NULL},
		{l.quick, shep_buckets_quick, NULL},
		{l.shakedown, shep_buckets_shakedown, NULL},
	};
	const struct action *todo = NULL;
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (!actions[i].wanted)
			continue;
		if (todo) {
			struct err err;
			err_set(&err, ERR_USAGE,
				"one of -l, -L, -d, -x, -i, -c, -f, -F, -q and -s");
			return cmd_fail(call, &err);
		}
		todo = &actions[i];
	}
	if (!todo) {
		struct err err;
		err_set(&err, ERR_USAGE, "what? One of -l, -L, -d, -x, -i, -c, -f, -F, -q and -s");
		return cmd_fail(call, &err);
	}
	struct cmd_call same = *call;
	char *argv[] = {(char *)todo->oid, NULL};
	same.options = &l.common;
	if (todo->oid) {
		same.argc = 1;
		same.argv = argv;
	}
	return todo->run(&same);
}

#define LETTER(letter, name, member, text)                                        \
	{                                                                         \
		letter, NULL,                                                     \
		{                                                                 \
			name, VALUE_BOOL_AT(struct letters, member), .help = text \
		}                                                                 \
	}

static const struct cmd_option options[] = {
	LETTER('l', "list", list, "list buckets"),
	LETTER('L', "list-all", list_all, "list buckets, also deleted ones"),
	{'d', "OID", {"delete", VALUE_TEXT_AT(struct letters, delete), .help = "delete a bucket"}},
	{'x', "OID", {"extract", VALUE_TEXT_AT(struct letters, extract), .help = "print a bucket"}},
	LETTER('i', "insert", insert, "insert buckets separated by blank lines"),
	LETTER('c', "cat", cat, "print all buckets"),
	LETTER('f', "audit", audit, "audit the bucket file"),
	LETTER('F', "fix", fix, "audit and fix the bucket file"),
	LETTER('q', "quick", quick, "quick check"),
	LETTER('s', "shakedown", shakedown, "shake the bucket file down"),
	LETTER('r', "raw", common.raw, "print raw data"),
	LETTER('v', "verbose", common.verbose, "be verbose"),
	{'o',
	 "FILE",
	 {"objects", VALUE_PATH_AT(struct letters, common.file),
	  .help = "the bucket file; without it, that of the crawl in the data directory"}},
};
static const struct cmd_example examples[] = {
	{"garner shep buckettool -x 1a2", "the same as garner shep buckets extract 1a2"},
};
const struct command shep_buckettool_command = {
	.name = "buckettool",
	.summary = "the letters of the old bucket tool",
	.description =
		"For scripts and fingers that know them. -c and -s stand for what they stood "
		"for, not for configuration; garner shep buckets has everything.",
	CMD_OPTIONS(options, struct letters),
	.args = "[FILE...]",
	.args_help = "texts, for -i",
	.max_args = -1,
	CMD_EXAMPLES(examples),
	.run = run,
};
