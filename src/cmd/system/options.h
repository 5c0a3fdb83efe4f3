/* Options: what a command line says, by the tables of the commands. GNU-like: --name=value, --name
 * value, -v -n5 or -vn 5, `--` ends the options, and they may follow arguments. Long names
 * are never shortened, so that a new option breaks no script. Options of
 * old programs may have one dash. */
#pragma once
#include "base/nearest.h"
#include "cmd/command.h"

struct cmd_line {
	struct arena arena;            /* all that is below lives here */
	const struct command *command; /* NULL: none was named */
	const char *full_name;         /* "config show"; "" without a command */
	void *options;                 /* as the command's table says */
	bool *given;                   /* per option of the command */
	char **argv;
	int argc;
	const char *file;  /* -c */
	const char **sets; /* -s; flags of roles; -D is an addition to the setting `log` */
	size_t nsets;
	bool help, version;
};

/* The options that all commands have, and their indices. */
enum { GLOBAL_CONFIG, GLOBAL_SET, GLOBAL_DEBUG, GLOBAL_HELP, GLOBAL_VERSION };
extern const struct cmd_option cmd_globals[];
extern const size_t cmd_nglobals;

/* Parses what follows argv[0]; `called` is the command that argv[0] names, or NULL. On
 * failure line->command tells how far it got. With line->help or line->version set nothing else is
 * complained about. Freed by line_free() in any case. */
int line_parse(struct cmd_line *line, const struct program *program, const struct command *called,
	       int argc, char **argv, struct err *err);
void line_free(struct cmd_line *line);

#define LINE_INIT ((struct cmd_line){.arena = ARENA_INIT((size_t)64 << 20), .full_name = ""})

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
