/* Manual pages in mdoc: one per command, garner(1) and garner.conf(5), printed or written as
 * files. All text is escaped, so that no word of a table becomes a request. */
#include "cmd/system/help.h"

#include "base/file.h"
#include "cmd/system/options.h"
#include "cmd/system/text.h"
#include "role/ini.h"

#include <ctype.h>
#include <limits.h>

/* Of this version, so that a page built twice is the same. */
#define MAN_DATE "November 15, 2026"

/* A word of text: never a request, and what looks like an option keeps its minus signs. */
static void man_word(struct text_line *line, struct str s)
{
	struct buf word = BUF_INIT(4000);
	bool option = s.n && s.p[0] == '-';
	if (s.n && (s.p[0] == '.' || s.p[0] == '\''))
		buf_add_text(&word, "\\&");
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\')
			buf_add_text(&word, "\\e");
		else if (option && s.p[i] == '-')
			buf_add_text(&word, "\\-");
		else
			buf_add_byte(&word, s.p[i]);
	}
	text_put(line, buf_str(&word));
	buf_free(&word);
}

static bool ends_sentence(struct str word)
{
	return word.n > 1 && strchr(".!?", word.p[word.n - 1]);
}

/* Lines of at most 80 bytes; each sentence begins a new one, as mdoc wants it. */
static void man_paragraph(struct buf *out, struct str text)
{
	struct text_line line = {out, 0, 0, false};
	struct str word;
	while (text_next_word(&text, &word) == 0) {
		man_word(&line, word);
		if (ends_sentence(word)) {
			buf_add_byte(out, '\n');
			line = (struct text_line){out, 0, 0, false};
		}
	}
	if (line.some)
		buf_add_byte(out, '\n');
}

/* Lines kept as they are. */
static void man_verbatim(struct buf *out, struct str text)
{
	struct str line;
	buf_add_text(out, ".Bd -literal -offset indent\n");
	while (str_cut(&text, '\n', &line) == 0) {
		struct str rest = str_trim(line), piece;
		if (rest.n && (rest.p[0] == '.' || rest.p[0] == '\''))
			buf_add_text(out, "\\&");
		for (bool first = true; str_cut(&rest, '\\', &piece) == 0; first = false)
			buf_printf(out, "%s" STR_FMT, first ? "" : "\\e", STR_ARG(piece));
		buf_add_byte(out, '\n');
	}
	buf_add_text(out, ".Ed\n");
}

static void man_paragraphs(struct buf *out, const char *text)
{
	struct str rest = str_of(text), paragraph;
	for (bool first = true; text_next_paragraph(&rest, &paragraph) == 0; first = false) {
		bool kept = paragraph.p[0] == ' ';
		if (!first && !kept)
			buf_add_text(out, ".Pp\n");
		if (kept)
			man_verbatim(out, paragraph);
		else
			man_paragraph(out, paragraph);
	}
}

/* An argument of a macro, in quotes. */
static void man_quoted(struct buf *out, const char *text)
{
	buf_add_byte(out, '"');
	for (const char *c = text; *c; c++)
		buf_add_text(out, *c == '"' ? "\"\"" : *c == '\\' ? "\\e" : (char[]){*c, 0});
	buf_add_byte(out, '"');
}

static void man_option(struct buf *out, const struct cmd_option *o, const char *between)
{
	if (o->letter)
		buf_printf(out, "Fl %c", o->letter);
	if (!o->letter || between)
		buf_printf(out, "%sFl \\-%s", o->letter ? between : "", o->spec.name);
	if (o->arg) {
		buf_add_text(out, " Ar ");
		man_quoted(out, o->arg);
	}
}

static void man_meaning(struct buf *out, const struct value_spec *spec)
{
	struct buf text = BUF_INIT(4000);
	spec_meaning(spec, &text);
	man_paragraph(out, buf_str(&text));
	buf_free(&text);
}

static void man_options(struct buf *out, const struct cmd_option *list, size_t n)
{
	if (n == 0)
		return;
	buf_add_text(out, ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < n; i++) {
		buf_add_text(out, ".It ");
		man_option(out, &list[i], " , ");
		buf_add_byte(out, '\n');
		man_meaning(out, &list[i].spec);
	}
	buf_add_text(out, ".El\n");
}

static void man_exceptions(struct buf *out, const struct config_section *section)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(INI_LINE_MAX);
	config_exceptions(section, &text);
	if (text.n) {
		buf_add_text(out, ".Pp\n");
		man_paragraph(out, buf_str(&text));
	}
}

static void man_settings(struct buf *out, const struct config_section *section)
{
	if (!section || section->nspecs == 0)
		return;
	buf_printf(out, ".Ss Settings\nIn the section\n.Cm [%s]\nof\n.Xr garner.conf 5 :\n",
		   section->name);
	buf_add_text(out, ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < section->nspecs; i++) {
		if (config_is_shared(section, &section->specs[i]))
			continue;
		buf_printf(out, ".It Cm %s\n", section->specs[i].name);
		man_meaning(out, &section->specs[i]);
	}
	buf_add_text(out, ".El\n");
	man_exceptions(out, section);
}

static void man_args(struct buf *out, const struct command *command)
{
	if (!command->args || !command->args_help)
		return;
	buf_add_text(out, ".Bl -tag -width Ds\n.It Ar ");
	man_quoted(out, command->args);
	buf_add_byte(out, '\n');
	man_paragraph(out, str_of(command->args_help));
	buf_add_text(out, ".El\n");
}

static void man_exits(struct buf *out, const struct cmd_exit *list, size_t n)
{
	buf_add_text(out, ".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, ".It %d\n", list[i].code);
		man_paragraph(out, str_of(list[i].when));
	}
	buf_add_text(out, ".El\n");
}

static void man_examples(struct buf *out, const struct cmd_example *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_text(out, ".Pp\n");
		man_paragraph(out, str_of(list[i].what));
		man_verbatim(out, str_of(list[i].line));
	}
}

/* "config show" as "garner-config-show" */
static void page_name(struct buf *out, const char *full_name, bool upper)
{
	buf_add_text(out, upper ? "GARNER-" : "garner-");
	for (const char *c = full_name; *c; c++)
		buf_add_byte(out, *c == ' ' ? '-' : upper ? (char)toupper((unsigned char)*c) : *c);
}

static void command_synopsis(struct buf *out, const struct command *command, const char *full_name)
{
	buf_printf(out, ".Nm garner Cm %s\n", full_name);
	for (size_t i = 0; i < command->noptions; i++) {
		buf_add_text(out, ".Op ");
		man_option(out, &command->options[i], NULL);
		buf_add_byte(out, '\n');
	}
	if (!command->args)
		return;
	buf_add_text(out, ".Ar ");
	man_quoted(out, command->args);
	buf_add_byte(out, '\n');
}

static void command_body(struct buf *out, const struct command *command)
{
	man_paragraphs(out, command->description ? command->description : command->summary);
	man_args(out, command);
	man_options(out, command->options, command->noptions);
}

struct page {
	struct buf *out;
	struct arena arena;
	const struct command *command;
	const char *full_name;
	struct exits exits;
	bool examples; /* some were printed */
};

/* A command of the page's own, at any depth. */
typedef void each_sub_fn(struct page *p, const struct command *sub, const char *full_name);

static void each_sub(struct page *p, const struct command *of, const char *full_name,
		     each_sub_fn *fn)
{
	for (size_t i = 0; i < of->nsubs; i++) {
		const struct command *sub = of->subs[i];
		const char *name = arena_printf(&p->arena, "%s %s", full_name, sub->name);
		fn(p, sub, name);
		each_sub(p, sub, name, fn);
	}
}

static void sub_synopsis(struct page *p, const struct command *sub, const char *full_name)
{
	if (sub->nsubs == 0)
		command_synopsis(p->out, sub, full_name);
}

static void page_head(struct page *p)
{
	struct buf *out = p->out;
	buf_add_text(out, ".Dd " MAN_DATE "\n.Dt ");
	page_name(out, p->full_name, true);
	buf_add_text(out, " 1\n.Os\n.Sh NAME\n.Nm ");
	page_name(out, p->full_name, false);
	buf_add_text(out, "\n.Nd ");
	man_paragraph(out, str_of(p->command->summary));
	buf_add_text(out, ".Sh SYNOPSIS\n");
	each_sub(p, p->command, p->full_name, sub_synopsis);
	sub_synopsis(p, p->command, p->full_name);
}

static void sub_description(struct page *p, const struct command *sub, const char *full_name)
{
	buf_printf(p->out, ".Ss garner %s\n", full_name);
	command_body(p->out, sub);
}

static void page_description(struct page *p)
{
	buf_add_text(p->out, ".Sh DESCRIPTION\n");
	command_body(p->out, p->command);
	each_sub(p, p->command, p->full_name, sub_description);
	if (p->command->role)
		man_settings(p->out, p->command->role->section);
	buf_add_text(p->out, ".Pp\nThe options that all commands have are in\n.Xr garner 1 .\n");
}

static void sub_exits(struct page *p, const struct command *sub, const char *full_name)
{
	(void)full_name;
	for (size_t k = 0; k < sub->nexits; k++)
		exits_add(&p->exits, sub->exits[k].code,
			  arena_printf(&p->arena, "%s: %s", sub->name, sub->exits[k].when));
}

static void page_exits(struct page *p)
{
	exits_of(p->command, &p->exits);
	each_sub(p, p->command, p->full_name, sub_exits);
	man_exits(p->out, p->exits.item, p->exits.n);
}

static void sub_examples(struct page *p, const struct command *sub, const char *full_name)
{
	(void)full_name;
	if (sub->nexamples == 0)
		return;
	buf_add_text(p->out, p->examples ? ".Pp\n" : ".Sh EXAMPLES\n");
	man_examples(p->out, sub->examples, sub->nexamples);
	p->examples = true;
}

static void page_examples(struct page *p)
{
	sub_examples(p, p->command, p->full_name);
	each_sub(p, p->command, p->full_name, sub_examples);
}

void man_command(const struct command *command, const char *full_name, struct buf *out)
{
	struct page p = {.out = out,
			 .arena = ARENA_INIT(1 << 20),
			 .command = command,
			 .full_name = full_name};
	page_head(&p);
	page_description(&p);
	page_exits(&p);
	page_examples(&p);
	buf_add_text(out, ".Sh SEE ALSO\n.Xr garner 1 ,\n.Xr garner.conf 5\n");
	arena_free(&p.arena);
}

static const char conf_head[] =
	".Dd " MAN_DATE "\n.Dt GARNER.CONF 5\n.Os\n"
	".Sh NAME\n.Nm garner.conf\n.Nd configuration of garner\n"
	".Sh DESCRIPTION\n"
	"The file is UTF-8 text, at most 1 MiB in lines of at most 8 KiB:\n"
	".Bd -literal -offset indent\n"
	"# a comment\n"
	"key = value\n"
	"\n"
	"[section]\n"
	"key = value      ; a comment follows a blank\n"
	"key = \"value\"\n"
	".Ed\n"
	".Pp\n"
	"Keys that stand before the first section are for all roles.\n"
	"A role that may run several times has instances, which\n"
	".Cm up.roles\nnames\n.Cm bot@1 bot@2 ;\n"
	"what the section\n.Cm [bot@2]\nsays holds for that one, over what\n.Cm [bot]\n"
	"says for all of them.\nIts variables are\n.Ev GARNER_BOT_2_KEY .\n"
	"What listeners have in common is in the section\n.Cm [net] ;\n"
	"a role that has the same key in its own section makes an exception.\n"
	"In double quotes a value may begin or end with a blank and hold what would\n"
	"begin a comment; there\n.Li \\e\\(dq ,\n.Li \\e\\e\nand\n.Li \\en\n"
	"stand for a quote, a backslash and a line feed.\n"
	"A key may be given once.\n"
	"With one wrong line nothing of the file is taken.\n"
	".Pp\n"
	"The environment overrides the file, and\n.Fl s\n.Ar section.key Ns = Ns Ar value\n"
	"overrides both.\n"
	".Ss Values\n"
	".Bl -tag -width Ds\n"
	".It time\nA number and\n.Cm us , ms , s , min , h , d\nor\n.Cm w ;\njoined:\n"
	".Li 1h30min .\n"
	".It size\nBytes, or a number and\n.Cm K , M , G , T , P\nor\n.Cm E ,\npowers of 1024:\n"
	".Li 1.5M .\n"
	".It yes or no\nAlso\n.Cm true\nand\n.Cm false , on\nand\n.Cm off , 1\nand\n.Cm 0 .\n"
	".It list\nItems with commas or blanks between them.\n"
	".It address to listen on\n"
	".Li 127.0.0.1:8080 , [::1]:8080 , *:8080\nfor all addresses, or\n.Li unix:/path ;\n"
	"empty for none.\n"
	".El\n";

static const char conf_tail[] =
	".Sh FILES\n"
	"The first that is named or exists:\n"
	".Bl -enum -compact\n"
	".It\nthe argument of\n.Fl c\n"
	".It\n.Ev GARNER_CONFIG\n"
	".It\n.Pa $XDG_CONFIG_HOME/garner/garner.conf ,\nwithout that variable\n"
	".Pa ~/.config/garner/garner.conf\n"
	".It\n.Pa /etc/garner/garner.conf\n"
	".El\n"
	".Pp\n"
	"Without a file all settings have their defaults.\n"
	".Sh EXAMPLES\n"
	".Dl garner config sample > garner.conf\n"
	".Dl garner config check garner.conf\n"
	".Dl garner config explain\n"
	".Sh SEE ALSO\n"
	".Xr garner 1 ,\n.Xr garner-config 1\n";

/* A sentence, with the full stop that tables need not have. */
static void man_sentence(struct buf *out, const char *text)
{
	CLEANUP(buf_free) struct buf sentence = BUF_INIT(INI_LINE_MAX);
	buf_add_text(&sentence, text);
	if (!str_ends(buf_str(&sentence), STR(".")))
		buf_add_byte(&sentence, '.');
	man_paragraph(out, buf_str(&sentence));
}

static void setting_facts(struct buf *out, const struct config_list *list,
			  const struct config_section *section, const struct value_spec *spec)
{
	CLEANUP(buf_free) struct buf facts = BUF_INIT(INI_LINE_MAX), value = BUF_INIT(INI_LINE_MAX);
	buf_add_text(&facts, "Type: ");
	value_describe(spec, &facts);
	value_print_default(spec, &value);
	buf_add_text(&facts, "; default: ");
	if (value.n)
		ini_quote(buf_str(&value), &facts);
	else
		buf_add_text(&facts, "empty");
	config_other_defaults(list, section, spec, &facts);
	buf_add_text(&facts, "; environment: ");
	config_env_name(section, spec, &facts);
	buf_add_byte(&facts, '.');
	man_paragraph(out, buf_str(&facts));
}

static void section_settings(struct buf *out, const struct config_list *list,
			     const struct config_section *section)
{
	if (section->name[0])
		buf_printf(out, ".Ss Section %s\n", section->name);
	else
		buf_add_text(out, ".Ss Before the first section\n");
	if (section->help)
		man_sentence(out, section->help);
	if (section->nspecs == 0)
		return;
	buf_add_text(out, ".Bl -tag -width Ds\n");
	for (size_t k = 0; k < section->nspecs; k++) {
		const struct value_spec *spec = &section->specs[k];
		if (config_is_shared(section, spec))
			continue;
		buf_printf(out, ".It Cm %s\n", spec->name);
		man_sentence(out, spec->help ? spec->help : spec->name);
		setting_facts(out, list, section, spec);
	}
	buf_add_text(out, ".El\n");
	man_exceptions(out, section);
}

void config_man(const struct config_list *list, struct buf *out)
{
	buf_add_text(out, conf_head);
	for (size_t i = 0; i < list->n; i++)
		section_settings(out, list, list->section[i]);
	buf_add_text(out, conf_tail);
}

static void list_command(struct buf *out, const char *name, const char *summary)
{
	buf_printf(out, ".It Xr garner-%s 1\n", name);
	man_paragraph(out, str_of(summary));
}

static void list_roles(struct buf *out, const struct program *program)
{
	if (program->nroles == 0)
		return;
	buf_add_text(out, ".Ss Roles\nEach runs in the foreground;\n.Xr garner-up 1\n"
			  "supervises those that the configuration names.\n"
			  ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < program->nroles; i++)
		list_command(out, program->roles[i]->name, program->roles[i]->summary);
	buf_add_text(out, ".El\n");
}

static void list_tools(struct buf *out, const struct program *program)
{
	buf_add_text(out, ".Ss Tools\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < program->ncommands; i++)
		list_command(out, program->commands[i]->name, program->commands[i]->summary);
	buf_add_text(out, ".El\n");
}

static const char program_files[] =
	".Sh FILES\nBelow the data directory; see\n.Cm data\nin\n.Xr garner.conf 5 .\n"
	".Bl -tag -width Ds\n"
	".It Pa garner.db\n"
	"What roles have to remember in a few rows, as a database;\n"
	".Ic garner dump garner.db\nprints it.\n"
	"A damaged one is kept as\n.Pa garner.db.damaged .\n"
	".It Pa run\n"
	"Counters, locks and sockets of what runs.\n"
	".El\n";

void man_program(const struct program *program, struct buf *out)
{
	buf_add_text(out, ".Dd " MAN_DATE "\n.Dt GARNER 1\n.Os\n.Sh NAME\n.Nm garner\n"
			  ".Nd gather what is worth finding, keep it, index it, serve it\n"
			  ".Sh SYNOPSIS\n.Nm\n.Op Ar OPTION...\n.Ar COMMAND\n.Op Ar ARGUMENT...\n"
			  ".Sh DESCRIPTION\n.Nm\nis one program with many roles and tools.\n"
			  "Each has a page of its own.\n"
			  "Called by the name of a role, by an old name of a command, or as\n"
			  ".Pa garner-COMMAND ,\nit behaves as that.\n");
	list_roles(out, program);
	list_tools(out, program);
	buf_add_text(out, ".Ss Options\n"
			  "All commands have these, before or after their name:\n");
	man_options(out, cmd_globals, cmd_nglobals);
	buf_add_text(out, ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
			  ".It Ev GARNER_KEY , Ev GARNER_SECTION_KEY\n"
			  "A setting, over the file; see\n.Xr garner.conf 5 .\n"
			  ".It Ev NO_COLOR\nIf it is set and not empty, nothing is printed bold.\n"
			  ".El\n");
	buf_add_text(out, program_files);
	man_exits(out, cmd_all_exits, cmd_nall_exits);
	buf_add_text(out, ".Sh EXAMPLES\n");
	man_examples(out, program_examples, program_nexamples);
	buf_add_text(out, ".Sh SEE ALSO\n.Xr garner.conf 5\n");
}

static int write_page(const char *dir, const char *name, int section, const struct buf *page,
		      struct err *err)
{
	char file[192], path[PATH_MAX];
	snprintf(file, sizeof file, "man%d/%s.%d", section, name, section);
	ENSURE(!page->over);
	if (file_below(dir, file, path, err) < 0)
		return -1;
	return file_replace(path, buf_str(page), 0644, err);
}

static int write_command(const char *dir, const struct command *command, struct buf *page,
			 struct err *err)
{
	char name[128];
	snprintf(name, sizeof name, "garner-%s", command->name);
	buf_clear(page);
	man_command(command, command->name, page);
	return write_page(dir, name, 1, page, err);
}

static int write_commands(const struct program *program, const char *dir, struct buf *page,
			  struct err *err)
{
	for (size_t i = 0; i < program->ncommands; i++)
		if (write_command(dir, program->commands[i], page, err) < 0)
			return -1;
	int rc = 0;
	struct arena arena = ARENA_INIT(1 << 20);
	for (size_t i = 0; i < program->nroles && rc == 0; i++)
		rc = write_command(dir, cmd_of_role(program->roles[i], &arena), page, err);
	arena_free(&arena);
	return rc;
}

static int write_config(const struct program *program, const char *dir, struct buf *page,
			struct err *err)
{
	const struct config_section *sections[CMD_SECTIONS_MAX];
	const struct config_list list = {sections,
					 cmd_sections(program, sections, ARRAY_LEN(sections))};
	buf_clear(page);
	config_man(&list, page);
	return write_page(dir, "garner.conf", 5, page, err);
}

static int make_folders(const char *dir, struct err *err)
{
	static const char *const names[] = {"man1", "man5"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (file_below(dir, names[i], path, err) < 0 || dir_make(path, 0755, err) < 0)
			return -1;
	}
	return 0;
}

int man_write(const struct program *program, const char *dir, struct err *err)
{
	struct buf page = BUF_INIT(HELP_MOST);
	int rc = make_folders(dir, err);
	if (rc == 0) {
		man_program(program, &page);
		rc = write_page(dir, "garner", 1, &page, err);
	}
	if (rc == 0)
		rc = write_commands(program, dir, &page, err);
	if (rc == 0)
		rc = write_config(program, dir, &page, err);
	buf_free(&page);
	return rc;
}
