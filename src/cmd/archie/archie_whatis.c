/* garner archie whatis: descriptions of files. */
#include "archie/whatis.h"

#include "cmd/commands.h"
#include "cmd/system/input.h"

#include <inttypes.h>
#include <limits.h>

static int take_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	(void)line;
	return whatis_import_line(ctx, text, err) < 0 ? err_in(err, "%s", name) : 0;
}

static void print_result(const struct cmd_call *call, const struct whatis_result *r)
{
	fprintf(call->out,
		"descriptions: %" PRIu64 " read, %" PRIu64 " new, %" PRIu64 " changed, %" PRIu64
		" in all\n",
		r->read, r->added, r->replaced, r->names);
	if (!r->bad)
		return;
	fprintf(call->out, "%" PRIu64 " lines were skipped:", r->bad);
	for (uint64_t i = 0; i < MIN(r->bad, (uint64_t)WHATIS_BAD_KEPT); i++)
		fprintf(call->out, "%s %" PRIu64, i ? "," : "", r->bad_line[i]);
	fprintf(call->out, "%s\n", r->bad > WHATIS_BAD_KEPT ? ", ..." : "");
}

static int run_import(const struct cmd_call *call, struct err *err)
{
	char folder[PATH_MAX];
	struct whatis_result result;
	if (cmd_data_path(call, "archie", folder, err) < 0)
		return -1;
	CLEANUP(whatis_import_free) struct whatis_import *w = whatis_import_new(folder);
	int rc = cmd_read_path_lines(call->argv[0], WHATIS_LINE_MOST, take_line, w, err);
	if (rc == 0)
		rc = whatis_import_end(w, &result, err);
	if (rc != 0)
		return -1;
	print_result(call, &result);
	return result.bad ? ERR_PARTLY : 0;
}

static const struct command import_command = {
	.name = "import",
	.summary = "import descriptions from a file",
	.description =
		"The file has one of three forms, which is seen from its first line: name, TAB, "
		"description; Debian's Packages, of which Package and the first line of "
		"Description are taken; or what whatis(1) prints: name (1) - description.\n\nA "
		"name that is described already gets the new description. All are kept in "
		"archie/whatis in the data directory, a line each: name, TAB, description.",
	CMD_ARGS("FILE", 1, 1, "the file, or - for standard input"),
	CMD_EXITS({ERR_PARTLY, "lines were skipped"}, {ERR_BUSY, "another import runs"},
		  {ERR_SYSTEM, "a file cannot be read or written"}),
	CMD_EXAMPLES({"whatis -w '*' | garner archie whatis import -", "the manual pages here"},
		     {"garner archie whatis import Packages", "the packages of an archive"}),
	.run = run_import,
};

const struct command archie_whatis_command = {
	.name = "whatis",
	.summary = "import descriptions of files",
	.description = "A search of type whatis finds names by what they are for.",
	CMD_SUBS(&import_command),
};
