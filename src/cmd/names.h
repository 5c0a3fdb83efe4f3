/* Names: which command a word stands for, and which one it was probably meant to be. */
#pragma once
#include "base/nearest.h"
#include "cmd/command.h"

/* A command of the program, or a role made into one (in the arena); NULL: none has that name. */
const struct command *cmd_find(const struct program *program, struct str name, struct arena *arena);
const struct command *cmd_find_sub(const struct command *command, struct str name);
/* By the name that the program was called by: "garner-status", an old name, or a role's. NULL: it
 * is garner itself, and the command is yet to come. */
const struct command *cmd_find_called(const struct program *program, const char *argv0,
				      struct arena *arena);
const struct command *cmd_of_role(const struct role *role, struct arena *arena);

/* Tries the subcommands, or with command NULL all that the program has. */
void nearest_try_commands(struct nearest *near, const struct program *program,
			  const struct command *command);
