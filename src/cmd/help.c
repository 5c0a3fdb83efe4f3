#include "cmd/help.h"

#include "cmd/options.h"
#include "cmd/text.h"

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
	exits_add(ret, ERR_USAGE, "usage or configuration that cannot be taken, or no such file");
	for (size_t i = 0; i < command->nexits; i++)
		exits_add(ret, command->exits[i].code, command->exits[i].when);
}

const struct cmd_exit cmd_all_exits[] = {
	{0, "done"},
	{1, "nothing found"},
	{ERR_USAGE, "usage, configuration or input that cannot be taken"},
	{ERR_PARTLY, "part of the work was done"},
	{ERR_DAMAGED, "a store is damaged"},
	{ERR_BUSY, "somebody else holds it"},
	{ERR_REMOTE, "a remote failed"},
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

static void heading(struct help *h, const char *text)
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

static void options(struct help *h, const char *title, const struct cmd_option *list, size_t n)
{
	if (n == 0)
		return;
	struct buf term = BUF_INIT(200), meaning = BUF_INIT(4000);
	size_t column = 0;
	for (size_t i = 0; i < n; i++) {
		option_term(&list[i], &term);
		column = MAX(column, MIN(term.n + 4, (size_t)COLUMN_MOST));
	}
	heading(h, title);
	for (size_t i = 0; i < n; i++) {
		option_term(&list[i], &term);
		spec_meaning(&list[i].spec, &meaning);
		text_term(h->out, buf_text(&term), buf_text(&meaning), column);
	}
	buf_free(&term);
	buf_free(&meaning);
}

static void settings(struct help *h, const struct config_section *section)
{
	if (!section || section->nspecs == 0)
		return;
	struct buf title = BUF_INIT(200), meaning = BUF_INIT(4000);
	buf_printf(&title, "Settings of [%s], also -s %s.KEY=VALUE", section->name, section->name);
	heading(h, buf_text(&title));
	for (size_t i = 0; i < section->nspecs; i++) {
		spec_meaning(&section->specs[i], &meaning);
		text_term(h->out, section->specs[i].name, buf_text(&meaning), COLUMN_MOST);
	}
	buf_free(&title);
	buf_free(&meaning);
}

static void examples(struct help *h, const struct cmd_example *list, size_t n)
{
	if (n == 0)
		return;
	size_t column = 0;
	for (size_t i = 0; i < n; i++)
		column = MAX(column, MIN(strlen(list[i].line) + 4, (size_t)40));
	heading(h, "Examples");
	for (size_t i = 0; i < n; i++)
		text_term(h->out, list[i].line, list[i].what, column);
}

static void exit_codes(struct help *h, const struct command *command)
{
	char code[16];
	struct exits list;
	exits_of(command, &list);
	heading(h, "Exit codes");
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
	heading(h, title);
	for (size_t i = 0; i < n; i++)
		text_term(h->out, list[i]->name, list[i]->summary, MAX(column, (size_t)14));
}

static void list_roles(struct help *h, const struct program *program)
{
	if (program->nroles == 0)
		return;
	heading(h, "Roles, each in the foreground; 'garner up' supervises all");
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
		heading(h, "Arguments");
		text_term(h->out, command->args, command->args_help, COLUMN_MOST);
	}
	options(h, "Options", command->options, command->noptions);
	options(h, "Options everywhere", cmd_globals, cmd_nglobals);
	if (command->role)
		settings(h, command->role->section);
	examples(h, command->examples, command->nexamples);
	exit_codes(h, command);
}

void help_of_program(struct help *h, const struct program *program)
{
	buf_add_text(h->out, "usage: garner [OPTION...] COMMAND [ARGUMENT...]\n\n"
			     "Gathers what is worth finding, keeps it, indexes it, serves it.\n");
	list_roles(h, program);
	list_commands(h, "Tools", program->commands, program->ncommands);
	options(h, "Options everywhere", cmd_globals, cmd_nglobals);
	examples(h, program_examples, program_nexamples);
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
