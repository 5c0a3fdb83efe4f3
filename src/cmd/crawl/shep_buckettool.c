/* garner shep buckettool: the letters by which bucket files were handled in Sherlock Holmes. */
#include "cmd/commands.h"
#include "cmd/crawl/shep_buckets.h"

struct letters {
	struct buckets_options common; /* first: the actions find it there */
	bool list, list_all, cat, insert, audit, fix, quick, shakedown;
	const char *delete, *extract;
};

/* One action a call. */
struct action {
	bool wanted;
	const char *name; /* of garner shep buckets */
	const char *oid;  /* its argument */
};

static int run(const struct cmd_call *call, struct err *err)
{
	struct letters l = *(const struct letters *)call->options;
	l.common.all = l.list_all;
	const struct action actions[] = {
		{l.list || l.list_all, "list", NULL},
		{*l.delete, "delete", l.delete},
		{*l.extract, "extract", l.extract},
		{l.insert, "insert", NULL},
		{l.cat, "cat", NULL},
		{l.audit, "audit", NULL},
		{l.fix, "fix", NULL},
		{l.quick, "quick", NULL},
		{l.shakedown, "shakedown", NULL},
	};
	const struct action *todo = NULL;
	size_t wanted = 0;
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (!actions[i].wanted)
			continue;
		todo = &actions[i];
		wanted++;
	}
	if (wanted != 1)
		return err_set(err, ERR_USAGE,
			       "give one of -l, -L, -d, -x, -i, -c, -f, -F, -q and -s, not %zu",
			       wanted);
	struct cmd_call same = *call;
	char *argv[] = {(char *)todo->oid, NULL};
	same.options = &l.common;
	if (todo->oid) {
		same.argc = 1;
		same.argv = argv;
	}
	return shep_buckets_do(&same, todo->name, err);
}

#define LETTER(letter, name, member, text) CMD_FLAG(letter, name, struct letters, member, text)

static const struct cmd_option options[] = {
	LETTER('l', "list", list, "list buckets"),
	LETTER('L', "list-all", list_all, "list buckets, also deleted ones"),
	CMD_OPTION('d', "OID", "delete", VALUE_TEXT_AT(struct letters, delete),
		   .help = "delete a bucket"),
	CMD_OPTION('x', "OID", "extract", VALUE_TEXT_AT(struct letters, extract),
		   .help = "print a bucket"),
	LETTER('i', "insert", insert, "insert buckets separated by blank lines"),
	LETTER('c', "cat", cat, "print all buckets"),
	LETTER('f', "audit", audit, "audit the bucket file"),
	LETTER('F', "fix", fix, "audit and fix the bucket file"),
	LETTER('q', "quick", quick, "quick check"),
	LETTER('s', "shakedown", shakedown, "shake the bucket file down"),
	LETTER('r', "raw", common.raw, "print raw data"),
	LETTER('v', "verbose", common.verbose, "be verbose"),
	CMD_OPTION('o', "FILE", "objects", VALUE_PATH_AT(struct letters, common.file),
		   .help = "the bucket file; without it, that of the crawl in the data directory"),
};
const struct command shep_buckettool_command = {
	.name = "buckettool",
	.summary = "take the options of the old bucket tool",
	.description = "For scripts that use these letters. -c and -s have their old meaning, and "
		       "are not for configuration. garner shep buckets can do everything.",
	CMD_OPTIONS(options, struct letters),
	CMD_ARGS("[FILE...]", 0, -1, "texts, for -i"),
	CMD_EXAMPLES(
		{"garner shep buckettool -x 1a2", "the same as garner shep buckets extract 1a2"}),
	.run = run,
};
