#include "cmd/commands.h"
#include "cmd/help.h"
#include "cmd/names.h"

struct help_options {
	bool man, links;
	const char *write_man;
};

static const struct cmd_option options[] = {
	{0,
	 NULL,
	 {"man", VALUE_BOOL_AT(struct help_options, man), .help = "print the man page (mdoc)"}},
	{0,
	 "DIR",
	 {"write-man", VALUE_PATH_AT(struct help_options, write_man),
	  .help = "write all man pages below DIR, as man1/ and man5/"}},
	{0,
	 NULL,
	 {"links", VALUE_BOOL_AT(struct help_options, links),
	  .help = "print the old names, for links to this program"}},
};

/* Every role answers to its own name, but only those get a link that a program of old had: `web` in
 * everybody's path would be presumptuous. */
static void print_links(const struct cmd_call *call)
{
	const struct program *program = call->program;
	for (size_t i = 0; i < program->ncommands; i++) {
		struct str rest = str_of(program->commands[i]->aliases), alias;
		while (str_cut(&rest, ' ', &alias) == 0)
			if (alias.n)
				fprintf(call->out, STR_FMT "\n", STR_ARG(alias));
	}
	for (size_t i = 0; i < program->nroles; i++)
		if (program->roles[i]->old_name)
			fprintf(call->out, "%s\n", program->roles[i]->name);
}

struct named {
	const struct command *command; /* NULL: garner itself */
	const char *full_name;
};

/* The command that the arguments name. */
static int find(const struct cmd_call *call, struct arena *arena, struct named *ret,
		struct err *err)
{
	struct named found = {NULL, ""};
	for (int i = 0; i < call->argc; i++) {
		struct str name = str_of(call->argv[i]);
		const struct command *next = found.command ? cmd_find_sub(found.command, name)
							   : cmd_find(call->program, name, arena);
		if (!next) {
			struct nearest near = {.wanted = name};
			nearest_try_commands(&near, call->program, found.command);
			return err_set(err, ERR_USAGE, "help: there is no command '%s'%s",
				       call->argv[i], nearest_words(&near));
		}
		found.full_name =
			found.command ? arena_printf(arena, "%s %s", found.full_name, next->name)
				      : next->name;
		found.command = next;
	}
	*ret = found;
	return 0;
}

static void print(const struct cmd_call *call, const struct named *what, struct buf *out)
{
	const struct help_options *o = call->options;
	struct help h = {out, help_wants_bold(call->out)};
	if (o->man && what->command)
		man_command(what->command, what->full_name, out);
	else if (o->man)
		man_program(call->program, out);
	else if (what->command)
		help_of_command(&h, what->command, what->full_name);
	else
		help_of_program(&h, call->program);
}

static int run(const struct cmd_call *call)
{
	const struct help_options *o = call->options;
	struct err err;
	if (o->links) {
		print_links(call);
		return 0;
	}
	if (*o->write_man)
		return man_write(call->program, o->write_man, &err) < 0 ? cmd_fail(call, &err) : 0;
	struct arena arena = ARENA_INIT(1 << 20);
	struct buf out = BUF_INIT(HELP_MOST);
	struct named what = {NULL, ""};
	int rc = find(call, &arena, &what, &err);
	if (rc == 0) {
		print(call, &what, &out);
		fwrite(buf_text(&out), 1, out.n, call->out);
	}
	buf_free(&out);
	arena_free(&arena);
	return rc < 0 ? cmd_fail(call, &err) : 0;
}

static const struct cmd_example examples[] = {
	{"garner help config show", "how to see the settings"},
	{"garner help --man status | mandoc -l", "the same as a man page"},
};

const struct command help_command = {
	.name = "help",
	.summary = "tell what a command does",
	.description = "Without a command: what garner does. The same as --help behind a command.",
	CMD_OPTIONS(options, struct help_options),
	.args = "[COMMAND...]",
	.args_help = "the command, and the commands of that command",
	.args_kind = CMD_COMMANDS,
	.max_args = 3,
	CMD_EXAMPLES(examples),
	.run = run,
};
