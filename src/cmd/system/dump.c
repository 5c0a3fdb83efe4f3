/* garner dump: prints any file that garner writes, by its format. */
#include "cmd/command.h"

static int unknown_format(const struct program *p, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf names = BUF_INIT(4096);
	for (size_t i = 0; i < p->nformats; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", p->formats[i]->name);
	return err_set(err, ERR_USAGE, "%s: this is none of the formats that can be printed: %s",
		       path, buf_text(&names));
}

static int dump_file(const struct cmd_call *call, const char *path, struct err *err)
{
	const struct program *p = call->program;
	const struct format *f;
	int rc = format_of(p->formats, p->nformats, path, &f, err);
	if (rc != 0)
		return rc < 0 ? -1 : unknown_format(p, path, err);
	if (call->argc > 1)
		fprintf(call->out, "%s:\n", path);
	return cmd_print_file(call, f, path, err);
}

static int run(const struct cmd_call *call)
{
	int printed = 0, code = 0;
	for (int i = 0; i < call->argc; i++) {
		struct err err;
		if (dump_file(call, call->argv[i], &err) == 0)
			printed++;
		else if (code == 0)
			code = cmd_fail(call, &err);
		else
			(void)cmd_fail(call, &err);
	}
	return code && printed ? ERR_PARTLY : code;
}

const struct command dump_command = {
	.name = "dump",
	.summary = "print a file of any format that garner keeps on disk",
	.description = "Recognizes each FILE by its first bytes and prints it for people to read. "
		       "Nothing is changed, and the file may be in use.",
	.args = "FILE...",
	.args_help = "files that garner wrote",
	.min_args = 1,
	.max_args = -1,
	CMD_EXAMPLES({"garner dump run/counters/web", "what the web role has counted"}),
	CMD_EXITS({ERR_PARTLY, "only some of the files could be printed"},
		  {ERR_DAMAGED, "the file is damaged or of another version"},
		  {ERR_SYSTEM, "the file cannot be read"}),
	.run = run,
};
