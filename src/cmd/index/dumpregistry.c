/* dumpregistry: prints the objects of a registry, or how many there are. */
#include "base/file.h"
#include "broker/registry.h"
#include "cmd/commands.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

struct dump_options {
	bool count;
};

static const struct cmd_option options[] = {
	CMD_FLAG(0, "count", struct dump_options, count,
		 "print only how many records there are, and how many are deleted and valid"),
};

/* The folder with the registry: DIR, or `broker` in it. */
static int dump_folder(const struct cmd_call *call, char ret[PATH_MAX], struct err *err)
{
	char path[PATH_MAX];
	if (call->argc == 0)
		return cmd_data_path(call, "broker", ret, err);
	if (file_below(call->argv[0], "registry", path, err) < 0)
		return -1;
	bool here = access(path, F_OK) == 0;
	return file_below(call->argv[0], here ? "." : "broker", ret, err);
}

static void print_counts(const struct registry *r, struct buf *out)
{
	struct registry_stats stats;
	registry_stats(r, &stats);
	buf_printf(out, "records %" PRIu64 "\ndeleted %" PRIu64 "\nvalid %" PRIu64 "\n",
		   stats.records, stats.deleted, stats.valid);
}

static int print_objects(const struct cmd_call *call, struct registry *r, struct buf *out,
			 struct err *err)
{
	struct registry_scan *scan = NULL;
	struct registry_record record;
	bool first = true;
	int rc = registry_scan_open(&scan, r, 0, err);
	while (rc == 0 && (rc = registry_scan_next(scan, &record, err)) == 0) {
		if (!record.living)
			continue;
		if (!first)
			buf_add_byte(out, '\n');
		first = false;
		rows_lines(&registry_object_rows, &record.object, ":", 0, 0, out);
		cmd_flush(call, out);
	}
	registry_scan_free(&scan);
	return MIN(rc, 0);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct dump_options *o = call->options;
	CLEANUP(registry_close) struct registry *r = NULL;
	char folder[PATH_MAX];
	if (dump_folder(call, folder, err) < 0)
		return -1;
	int rc = registry_open_read(&r, folder, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: there is no registry", folder);
	struct buf out = BUF_INIT(1 << 20);
	if (rc == 0 && o->count)
		print_counts(r, &out);
	else if (rc == 0)
		rc = print_objects(call, r, &out, err);
	cmd_print(call, &out);
	return rc;
}

const struct command dumpregistry_command = {
	.name = "dumpregistry",
	.aliases = "dumpregistry",
	.classic = true,
	.summary = "print which objects the broker has",
	.description =
		"Prints every object of the registry with all its fields, a line each and an empty "
		"line between two objects, in the order in which they were registered. Bytes that "
		"are no text are printed as \\xNN. The broker may be running.\n\n"
		"The option may also be written -count, as the old program had it.",
	CMD_OPTIONS(options, struct dump_options),
	CMD_ARGS("[DIR]", 0, 1,
		 "the broker's folder or a data directory; default: that of the configuration"),
	CMD_EXAMPLES({"garner dumpregistry -count", "how many objects there are"},
		     {"dumpregistry /var/lib/garner | grep ^URL:", "what they are"}),
	CMD_EXITS({ERR_DAMAGED, "the registry is damaged"},
		  {ERR_SYSTEM, "the registry cannot be read"}),
	.run = run,
};
