/* Help, man pages and completion: three ways to print the same tables. */
#pragma once
#include "cmd/command.h"

struct help {
	struct buf *out;
	bool bold; /* headings */
};

void help_of_program(struct help *h, const struct program *program); /* garner --help */
void help_short(struct help *h, const struct program *program);      /* garner alone */
void help_of_command(struct help *h, const struct command *command, const char *full_name);
/* "usage: garner status [-v] [--json]" */
void help_usage(struct help *h, const struct command *command, const char *full_name);

/* "how long to wait (time, 1ms to 1h; default 10s)" */
void spec_meaning(const struct value_spec *spec, struct buf *out);
bool help_wants_bold(FILE *out);
enum { HELP_MOST = 1 << 20 }; /* no text of ours is longer */

/* Pages in mdoc. */
void man_program(const struct program *program, struct buf *out);
void man_command(const struct command *command, const char *full_name, struct buf *out);
/* garner.conf(5). */
void config_man(const struct config_list *list, struct buf *out);
/* All pages: DIR/man1/garner.1, DIR/man1/garner-COMMAND.1, DIR/man5/garner.conf.5. */
int man_write(const struct program *program, const char *dir, struct err *err);

void completion_bash(const struct program *program, struct buf *out);

/* "garner 0.1.0" */
extern const char version_text[];

/* Exit codes in ascending order: all that a command has, its own and 0 and 2. */
struct exits {
	struct cmd_exit item[64];
	size_t n;
};
void exits_of(const struct command *command, struct exits *ret);
void exits_add(struct exits *list, int code, const char *when);

/* Exit codes and examples of garner(1). */
extern const struct cmd_exit cmd_all_exits[];
extern const size_t cmd_nall_exits;
extern const struct cmd_example program_examples[];
extern const size_t program_nexamples;
