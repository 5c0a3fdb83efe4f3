/* garner help, and --help of every command: the tables of the commands as text for people. */
#include "cmd/system/help.h"

#include "cmd/commands.h"
#include "cmd/system/options.h"
#include "cmd/system/text.h"

#include <stdlib.h>
#include <unistd.h>

enum { COLUMN_MOST = 26 };

void exits_add(struct exits *list, int code, const char *when)
{
	size_t at = list->n;
	if (at == ARRAY_LEN(list->item))
		return;
	for (; at > 0 && list->item[at - 1].code > code; at--)
		list->item[at] = list->item[at - 1];
	list->item[at] = (struct cmd_exit){code, when};
	list->n++;
}

void exits_of(const struct command *command, struct exits *ret)
{
	*ret = (struct exits){0};
	exits_add(ret, ERR_NONE, "done");
	exits_add(ret, ERR_USAGE, "wrong usage, bad configuration, or no such file");
	for (size_t i = 0; i < command->nexits; i++)
		exits_add(ret, command->exits[i].code, command->exits[i].when);
}

const struct cmd_exit cmd_all_exits[] = {
	{0, "done"},
	{1, "nothing found"},
	{ERR_USAGE, "wrong usage, bad configuration or bad input"},
	{ERR_PARTLY, "part of the work was done"},
	{ERR_DAMAGED, "a store is damaged"},
	{ERR_BUSY, "another process holds it"},
	{ERR_REMOTE, "a remote server failed"},
	{ERR_SYSTEM, "the system refused: input/output, space, permission, a limit"},
};
const size_t cmd_nall_exits = ARRAY_LEN(cmd_all_exits);

const struct cmd_example program_examples[] = {
	{"garner up", "start everything that the configuration names"},
	{"garner status --json", "what runs, for a machine"},
	{"garner help config", "what a command does"},
};
const size_t program_nexamples = ARRAY_LEN(program_examples);

bool help_wants_bold(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	return !(no_color && *no_color) && isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

static void put_heading(struct help *h, const char *text)
{
	buf_printf(h->out, h->bold ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* "-v, --verbose", "    --json", "-c, --config FILE" */
static void option_term(const struct cmd_option *o, struct buf *out)
{
	buf_clear(out);
	if (o->letter)
		buf_printf(out, "-%c, ", o->letter);
	else
		buf_add_text(out, "    ");
	buf_printf(out, "--%s", o->spec.name);
	if (o->arg)
		buf_printf(out, " %s", o->arg);
}

/* "time, 1ms to 1h; default 10s", or nothing where there is nothing to say. */
static void spec_notes(const struct value_spec *spec, struct buf *out)
{
	if (spec->type == VALUE_BOOL && !spec->fallback)
		return;
	bool bounded = spec->min != 0 || spec->max != 0 || spec->words;
	if (bounded)
		value_describe(spec, out);
	if (spec->fallback && *spec->fallback)
		buf_printf(out, "%sdefault %s", bounded ? "; " : "", spec->fallback);
}

void spec_meaning(const struct value_spec *spec, struct buf *out)
{
	struct buf notes = BUF_INIT(1000);
	spec_notes(spec, &notes);
	buf_clear(out);
	buf_add_text(out, spec->help);
	if (notes.n)
		buf_printf(out, " (%s)", buf_text(&notes));
	buf_free(&notes);
}

static void put_options(struct help *h, const char *title, const struct cmd_option *list, size_t n)
{
	if (n == 0)
		return;
	struct buf term = BUF_INIT(200), meaning = BUF_INIT(4000);
	size_t column = 0;
	for (size_t i = 0; i < n; i++) {
		option_term(&list[i], &term);
		column = MAX(column, MIN(term.n + 4, (size_t)COLUMN_MOST));
	}
	put_heading(h, title);
	for (size_t i = 0; i < n; i++) {
		option_term(&list[i], &term);
		spec_meaning(&list[i].spec, &meaning);
		text_term(h->out, buf_text(&term), buf_text(&meaning), column);
	}
	buf_free(&term);
	buf_free(&meaning);
}

static void put_settings(struct help *h, const struct config_section *section)
{
	if (!section || section->nspecs == 0)
		return;
	struct buf title = BUF_INIT(200), meaning = BUF_INIT(4000);
	buf_printf(&title, "Settings of [%s], also -s %s.KEY=VALUE", section->name, section->name);
	put_heading(h, buf_text(&title));
	for (size_t i = 0; i < section->nspecs; i++) {
		if (config_is_shared(section, &section->specs[i]))
			continue;
		spec_meaning(&section->specs[i], &meaning);
		text_term(h->out, section->specs[i].name, buf_text(&meaning), COLUMN_MOST);
	}
	buf_clear(&meaning);
	config_exceptions(section, &meaning);
	if (meaning.n) {
		buf_add_text(h->out, "  ");
		text_wrap(h->out, buf_text(&meaning), 2, 2);
	}
	buf_free(&title);
	buf_free(&meaning);
}

static void put_examples(struct help *h, const struct cmd_example *list, size_t n)
{
	if (n == 0)
		return;
	size_t column = 0;
	for (size_t i = 0; i < n; i++)
		column = MAX(column, MIN(strlen(list[i].line) + 4, (size_t)40));
	put_heading(h, "Examples");
	for (size_t i = 0; i < n; i++)
		text_term(h->out, list[i].line, list[i].what, column);
}

static void put_exit_codes(struct help *h, const struct command *command)
{
	char code[16];
	struct exits list;
	exits_of(command, &list);
	put_heading(h, "Exit codes");
	for (size_t i = 0; i < list.n; i++) {
		snprintf(code, sizeof code, "%d", list.item[i].code);
		text_term(h->out, code, list.item[i].when, 6);
	}
}

static void usage_option(struct text_line *line, const struct cmd_option *o)
{
	struct buf piece = BUF_INIT(300);
	if (o->letter)
		buf_printf(&piece, "[-%c", o->letter);
	else
		buf_printf(&piece, "[--%s", o->spec.name);
	buf_printf(&piece, "%s%s]", o->arg ? " " : "", o->arg ? o->arg : "");
	text_put(line, buf_str(&piece));
	buf_free(&piece);
}

void help_usage(struct help *h, const struct command *command, const char *full_name)
{
	size_t before = h->out->n;
	buf_printf(h->out, "usage: garner %s", full_name);
	size_t head = h->out->n - before;
	struct text_line line = {h->out, head, head + 1, true};
	for (size_t i = 0; i < command->noptions; i++)
		usage_option(&line, &command->options[i]);
	if (command->nsubs > 0)
		text_put(&line, STR("COMMAND"));
	if (command->args)
		text_put(&line, str_of(command->args));
	buf_add_byte(h->out, '\n');
}

static void list_commands(struct help *h, const char *title, const struct command *const *list,
			  size_t n)
{
	size_t column = 0;
	for (size_t i = 0; i < n; i++)
		column = MAX(column, strlen(list[i]->name) + 4);
	put_heading(h, title);
	for (size_t i = 0; i < n; i++)
		text_term(h->out, list[i]->name, list[i]->summary, MAX(column, (size_t)14));
}

static void list_roles(struct help *h, const struct program *program)
{
	if (program->nroles == 0)
		return;
	put_heading(h, "Roles, each in the foreground; 'garner up' supervises all");
	for (size_t i = 0; i < program->nroles; i++)
		text_term(h->out, program->roles[i]->name, program->roles[i]->summary, 18);
}

void help_of_command(struct help *h, const struct command *command, const char *full_name)
{
	help_usage(h, command, full_name);
	buf_add_byte(h->out, '\n');
	text_paragraphs(h->out, command->summary, 0);
	if (command->description) {
		buf_add_byte(h->out, '\n');
		text_paragraphs(h->out, command->description, 0);
	}
	if (command->nsubs > 0)
		list_commands(h, "Commands", command->subs, command->nsubs);
	if (command->args && command->args_help) {
		put_heading(h, "Arguments");
		text_term(h->out, command->args, command->args_help, COLUMN_MOST);
	}
	put_options(h, "Options", command->options, command->noptions);
	if (!command->bare)
		put_options(h, "Options everywhere", cmd_globals, cmd_nglobals);
	if (command->role)
		put_settings(h, command->role->section);
	put_examples(h, command->examples, command->nexamples);
	put_exit_codes(h, command);
}

void help_of_program(struct help *h, const struct program *program)
{
	buf_add_text(h->out, "usage: garner [OPTION...] COMMAND [ARGUMENT...]\n\n"
			     "Gathers what is worth finding, keeps it, indexes it, serves it.\n");
	list_roles(h, program);
	list_commands(h, "Tools", program->commands, program->ncommands);
	put_options(h, "Options everywhere", cmd_globals, cmd_nglobals);
	put_examples(h, program_examples, program_nexamples);
	buf_add_text(h->out, "\n'garner help COMMAND' tells more about each.\n");
}

void help_short(struct help *h, const struct program *program)
{
	struct text_line line = {h->out, 2, 2, false};
	buf_add_text(h->out, "usage: garner [OPTION...] COMMAND [ARGUMENT...]\n\n  ");
	for (size_t i = 0; i < program->nroles; i++)
		text_put(&line, str_of(program->roles[i]->name));
	for (size_t i = 0; i < program->ncommands; i++)
		text_put(&line, str_of(program->commands[i]->name));
	buf_add_text(h->out, "\n\n'garner up' starts everything, 'garner --help' tells more.\n");
}

struct help_options {
	bool man, links;
	const char *write_man;
};

static const struct cmd_option options[] = {
	CMD_FLAG(0, "man", struct help_options, man, "print the man page (mdoc)"),
	CMD_OPTION(0, "DIR", "write-man", VALUE_PATH_AT(struct help_options, write_man),
		   .help = "write all man pages below DIR, as man1/ and man5/"),
	CMD_FLAG(0, "links", struct help_options, links,
		 "print the old names, for links to this program"),
};

static void print_aliases(const struct cmd_call *call, const struct command *command)
{
	struct str rest = str_of(command->aliases), alias;
	while (str_cut(&rest, ' ', &alias) == 0)
		if (alias.n)
			fprintf(call->out, STR_FMT "\n", STR_ARG(alias));
	for (size_t i = 0; i < command->nsubs; i++)
		print_aliases(call, command->subs[i]);
}

/* Every role answers to its own name, but only those get a link that an old program had: `web` in
 * everybody's path would be presumptuous. */
static void print_links(const struct cmd_call *call)
{
	const struct program *program = call->program;
	for (size_t i = 0; i < program->ncommands; i++)
		print_aliases(call, program->commands[i]);
	for (size_t i = 0; i < program->nroles; i++)
		if (program->roles[i]->old_name)
			fprintf(call->out, "%s\n", program->roles[i]->name);
}

struct named {
	const struct command *command; /* NULL: garner itself */
	const char *full_name;
};

/* The command that the arguments name. */
static int find_named(const struct cmd_call *call, struct arena *arena, struct named *ret,
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

static void print_named(const struct cmd_call *call, const struct named *what, struct buf *out)
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

static int run(const struct cmd_call *call, struct err *err)
{
	const struct help_options *o = call->options;
	if (o->links) {
		print_links(call);
		return 0;
	}
	if (*o->write_man)
		return man_write(call->program, o->write_man, err);
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct buf out = BUF_INIT(HELP_MOST);
	struct named what = {NULL, ""};
	if (find_named(call, &arena, &what, err) < 0)
		return -1;
	print_named(call, &what, &out);
	return cmd_print(call, &out);
}

const struct command help_command = {
	.name = "help",
	.summary = "tell what a command does",
	.description = "Without a command: what garner does. The same as --help after a command.",
	CMD_OPTIONS(options, struct help_options),
	CMD_ARGS("[COMMAND...]", 0, 3, "the command, and the commands of that command"),
	.args_kind = CMD_COMMANDS,
	CMD_EXAMPLES({"garner help config show", "how to see the settings"},
		     {"garner help --man status | mandoc -l", "the same as a man page"}),
	.run = run,
};
