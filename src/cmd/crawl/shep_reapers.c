/* garner shep reapers: who fetches for the crawl, as the shepherd last wrote it into garner.db. */
#include "base/rows.h"
#include "cmd/commands.h"
#include "shepherd/shepherd.h"

#include <limits.h>

enum { LIST_MOST = 4 << 20 };

static int run(const struct cmd_call *call, struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(LIST_MOST);
	struct reaper_status *list = NULL;
	size_t n = 0;
	char data[PATH_MAX];
	if (cmd_data(call, data, err) < 0)
		return -1;
	int rc = reapers_load(data, &arena, &list, &n, err);
	if (rc == 1)
		return err_set(err, ERR_NOTHING, "%s: the shepherd does not run", data);
	return rc < 0 ? -1 : cmd_rows(call, &reaper_rows, list, n, o->json);
}

const struct command shep_reapers_command = {
	.name = "reapers",
	.summary = "show who fetches for the crawl",
	.description =
		"Prints a line for this machine (local) and for each of shepherd.reapers while the "
		"shepherd runs; the figures are at most a second old. The state is up (takes "
		"jobs), away (not connected), refused (another version, another master, or its "
		"settings forbid the servers of this crawl), punished (it lied, and is ignored for "
		"shepherd.reaper_penalty) or, for the local one, waits (others do the work). Then "
		"come the jobs it was given, the jobs it has now, the documents it fetched and "
		"their bytes, errors, lost jobs, late or repeated answers that were ignored, and "
		"the mean time of a job.",
	CMD_JSON('j', "print JSON"),
	CMD_EXAMPLES({"garner shep reapers", "who fetches, and how much"},
		     {"garner shep reapers --json", "the same for programs"}),
	CMD_EXITS({1, "the shepherd does not run"}, {ERR_DAMAGED, "its file is damaged"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run,
};
