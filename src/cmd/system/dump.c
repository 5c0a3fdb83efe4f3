/* garner dump: prints any file that garner writes, by its format. */
#include "cmd/command.h"

#include <unistd.h>

/* Prints the file that is the i-th argument, or those parts of it that the next ones name: they are
 * not files. *ret_next is the argument after them. */
static int dump_file(const struct cmd_call *call, int i, int *ret_next, struct err *err)
{
	const struct program *p = call->program;
	const char *path = call->argv[i];
	const struct format *f;
	*ret_next = i + 1;
	int rc = format_of(p->formats, p->nformats, path, &f, err);
	if (rc != 0)
		return rc < 0 ? -1
			      : err_set(err, ERR_USAGE,
					"%s: not a file of any format that garner writes", path);
	while (f->has_parts && *ret_next < call->argc && access(call->argv[*ret_next], F_OK) < 0)
		++*ret_next;
	if (call->argc > *ret_next - i)
		fprintf(call->out, "%s:\n", path);
	if (*ret_next == i + 1)
		return cmd_print_file(call, f, path, NULL, err);
	for (int part = i + 1; part < *ret_next; part++)
		if (cmd_print_file(call, f, path, call->argv[part], err) < 0)
			return -1;
	return 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
	int printed = 0, code = 0;
	for (int i = 0, next; i < call->argc; i = next) {
		bool good = dump_file(call, i, &next, err) == 0;
		int failed = good ? 0 : cmd_fail(call, err);
		printed += good;
		code = code ? code : failed;
	}
	return code && printed ? ERR_PARTLY : code;
}

const struct command dump_command = {
	.name = "dump",
	.summary = "print a file of any format that garner keeps on disk",
	.description =
		"Recognizes each FILE by its first bytes and prints it for people to read; of a "
		"database all tables, or each TABLE. "
		"Nothing is changed, and the file may be in use.",
	CMD_ARGS("FILE [TABLE]...", 1, -1, "files that garner wrote"),
	CMD_EXAMPLES({"garner dump run/counters/web", "what the web role has counted"},
		     {"garner dump garner.db points", "one table of the small state"}),
	CMD_EXITS({ERR_PARTLY, "only some of the files could be printed"},
		  {ERR_DAMAGED, "the file is damaged or of another version"},
		  {ERR_SYSTEM, "the file cannot be read"}),
	.run = run,
};
