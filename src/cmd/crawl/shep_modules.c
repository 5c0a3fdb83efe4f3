/* garner shep MODULE: one module of the cycle at the command line, as the role would run it. */
#include "cmd/crawl/shep_modules.h"

#include "shepherd/master.h"

#include <limits.h>

const struct cmd_exit shep_module_exits[SHEP_MODULE_EXITS] = {
	{1, "of select: the safety brake held it, and nothing was changed"},
	{ERR_USAGE, "a state in that phase cannot be worked on by the module, or there is none"},
	{ERR_DAMAGED, "a file of the crawl is damaged"},
	{ERR_BUSY, "the shepherd runs, or another module"},
	{ERR_SYSTEM, "a file cannot be read or written"},
};

int shep_module_run(const struct cmd_call *call, enum cycle_module which, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(buf_free) struct buf told = BUF_INIT(1 << 16);
	char data[PATH_MAX];
	if (cmd_config_data(call, &config, data, err) < 0)
		return -1;
	int rc = shepherd_module(config, data, which, call->argc ? call->argv[0] : "current", &told,
				 err);
	fputs(buf_text(&told), call->out);
	return rc == CYCLE_BRAKED ? 1 : rc;
}

#define MODULE_COMMAND(name_, which_, summary_, description_)                 \
	static int run_##name_(const struct cmd_call *call, struct err *err)  \
	{                                                                     \
		return shep_module_run(call, which_, err);                    \
	}                                                                     \
	const struct command shep_##name_##_command = {                       \
		.name = #name_,                                               \
		.summary = summary_,                                          \
		.description = description_ SHEP_MODULE_NOTE,                 \
		.args = "[STATE]",                                            \
		.args_help = SHEP_MODULE_STATE,                               \
		.max_args = 1,                                                \
		CMD_SHARED_EXITS(shep_module_exits),                          \
		CMD_EXAMPLES({"garner shep " #name_, "on the newest state"}), \
		.run = run_##name_,                                           \
	}

MODULE_COMMAND(feedback, MODULE_FEEDBACK, "take weights from the indexer",
	       "Puts the file shepherd/feedback into the index of a clone of the newest state.");
MODULE_COMMAND(reap, MODULE_REAP, "gather what is planned",
	       "Fetches what the plan of the state names, as politely as the role.");
MODULE_COMMAND(cork, MODULE_CORK, "put what was gathered into the index",
	       "Applies the journal of the state to its index and its site list.");
MODULE_COMMAND(merge, MODULE_MERGE, "add the URLs that were found",
	       "Joins contributions with the index, in a clone of a corked state.");
MODULE_COMMAND(select, MODULE_SELECT, "decide which URLs are wanted",
	       "Applies the limits: the best URLs are wanted, others sleep or are forgotten.");
MODULE_COMMAND(record, MODULE_RECORD, "make buckets for new URLs",
	       "Makes a bucket for each new URL, and closes the state.");
MODULE_COMMAND(cleanup, MODULE_CLEANUP, "clean the bucket file",
	       "Drops what no URL needs, in a clone of a closed state, and closes it.");
