/* Modules of the cycle as commands: what those with options of their own share with the rest. */
#pragma once
#include "cmd/commands.h"
#include "shepherd/cycle.h"

enum { SHEP_MODULE_EXITS = 5 };
extern const struct cmd_exit shep_module_exits[SHEP_MODULE_EXITS];
#define SHEP_MODULE_STATE                                                                   \
	"the name of a state, \"closed\" or \"current\" (the newest, if none is named); a " \
	"state that is done is worked on in a clone"
#define SHEP_MODULE_NOTE                                                                         \
	" The role shepherd does this by itself; by hand it is for examining a crawl that does " \
	"not run. The states are not recovered first."

/* Runs it and prints what it did. Returns the exit code. */
int shep_module_run(const struct cmd_call *call, enum cycle_module which, struct err *err);

extern const struct command shep_feedback_command, shep_reap_command, shep_cork_command,
	shep_merge_command, shep_select_command, shep_record_command, shep_cleanup_command;
