/* What the subcommands of garner shep share. */
#pragma once
#include "cmd/command.h"
#include "state/state.h"

/* The states of the data directory. 0, or the exit code, and then it was said why: 1 when nothing
 * was made yet. */
int shep_open_states(const struct cmd_call *call, bool write, struct states **ret);
