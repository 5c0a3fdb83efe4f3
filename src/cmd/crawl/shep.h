/* What the subcommands of garner shep share. */
#pragma once
#include "cmd/command.h"
#include "state/state.h"

/* The states of the data directory, and one of them by its name. ERR_NOTHING: there is none. */
int shep_open_states(const struct cmd_call *call, bool write, struct states **ret, struct err *err);
int shep_open_state(struct states *s, const char *name, struct state **ret, struct err *err);
