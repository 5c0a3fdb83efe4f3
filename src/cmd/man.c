/* Man pages in mdoc. Every text is escaped, so that no word of a table can become a request. */
#include "cmd/man.h"

#include "cmd/help.h"
#include "cmd/options.h"
#include "cmd/text.h"

#include <ctype.h>

/* A word of text: never a request, and what looks like an option keeps its minus signs. */
static void put_word(struct text_line *line, struct str s)
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
void man_paragraph(struct buf *out, struct str text)
{
	struct text_line line = {out, 0, 0, false};
	struct str word;
	while (text_next_word(&text, &word) == 0) {
		put_word(&line, word);
		if (ends_sentence(word)) {
			buf_add_byte(out, '\n');
			line = (struct text_line){out, 0, 0, false};
		}
	}
	if (line.some)
		buf_add_byte(out, '\n');
}

/* Lines kept as they are. */
static void put_verbatim(struct buf *out, struct str text)
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

static void put_paragraphs(struct buf *out, const char *text)
{
	struct str rest = str_of(text), paragraph;
	for (bool first = true; text_next_paragraph(&rest, &paragraph) == 0; first = false) {
		bool kept = paragraph.p[0] == ' ';
		if (!first && !kept)
			buf_add_text(out, ".Pp\n");
		if (kept)
			put_verbatim(out, paragraph);
		else
			man_paragraph(out, paragraph);
	}
}

/* An argument of a macro, in quotes. */
static void put_quoted(struct buf *out, const char *text)
{
	buf_add_byte(out, '"');
	for (const char *c = text; *c; c++)
		buf_add_text(out, *c == '"' ? "\"\"" : *c == '\\' ? "\\e" : (char[]){*c, 0});
	buf_add_byte(out, '"');
}

static void put_option(struct buf *out, const struct cmd_option *o, const char *between)
{
	if (o->letter)
		buf_printf(out, "Fl %c", o->letter);
	if (!o->letter || between)
		buf_printf(out, "%sFl \\-%s", o->letter ? between : "", o->spec.name);
	if (o->arg) {
		buf_add_text(out, " Ar ");
		put_quoted(out, o->arg);
	}
}

static void put_meaning(struct buf *out, const struct value_spec *spec)
{
	struct buf text = BUF_INIT(4000);
	spec_meaning(spec, &text);
	man_paragraph(out, buf_str(&text));
	buf_free(&text);
}

void man_options(struct buf *out, const struct cmd_option *list, size_t n)
{
	if (n == 0)
		return;
	buf_add_text(out, ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < n; i++) {
		buf_add_text(out, ".It ");
		put_option(out, &list[i], " , ");
		buf_add_byte(out, '\n');
		put_meaning(out, &list[i].spec);
	}
	buf_add_text(out, ".El\n");
}

static void put_settings(struct buf *out, const struct config_section *section)
{
	if (!section || section->nspecs == 0)
		return;
	buf_printf(out, ".Ss Settings\nIn the section\n.Cm [%s]\nof\n.Xr garner.conf 5 :\n",
		   section->name);
	buf_add_text(out, ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < section->nspecs; i++) {
		buf_printf(out, ".It Cm %s\n", section->specs[i].name);
		put_meaning(out, &section->specs[i]);
	}
	buf_add_text(out, ".El\n");
}

static void put_args(struct buf *out, const struct command *command)
{
	if (!command->args || !command->args_help)
		return;
	buf_add_text(out, ".Bl -tag -width Ds\n.It Ar ");
	put_quoted(out, command->args);
	buf_add_byte(out, '\n');
	man_paragraph(out, str_of(command->args_help));
	buf_add_text(out, ".El\n");
}

void man_exits(struct buf *out, const struct cmd_exit *list, size_t n)
{
	buf_add_text(out, ".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, ".It %d\n", list[i].code);
		man_paragraph(out, str_of(list[i].when));
	}
	buf_add_text(out, ".El\n");
}

void man_examples(struct buf *out, const struct cmd_example *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_text(out, ".Pp\n");
		man_paragraph(out, str_of(list[i].what));
		put_verbatim(out, str_of(list[i].line));
	}
}

/* "config show" as "garner-config-show" */
static void put_page_name(struct buf *out, const char *full_name, bool upper)
{
	buf_add_text(out, upper ? "GARNER-" : "garner-");
	for (const char *c = full_name; *c; c++)
		buf_add_byte(out, *c == ' ' ? '-' : upper ? (char)toupper((unsigned char)*c) : *c);
}

static void put_synopsis(struct buf *out, const struct command *command, const char *full_name)
{
	buf_printf(out, ".Nm garner Cm %s\n", full_name);
	for (size_t i = 0; i < command->noptions; i++) {
		buf_add_text(out, ".Op ");
		put_option(out, &command->options[i], NULL);
		buf_add_byte(out, '\n');
	}
	if (!command->args)
		return;
	buf_add_text(out, ".Ar ");
	put_quoted(out, command->args);
	buf_add_byte(out, '\n');
}

static void put_body(struct buf *out, const struct command *command)
{
	put_paragraphs(out, command->description ? command->description : command->summary);
	put_args(out, command);
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
		put_synopsis(p->out, sub, full_name);
}

static void page_head(struct page *p)
{
	struct buf *out = p->out;
	buf_add_text(out, ".Dd " MAN_DATE "\n.Dt ");
	put_page_name(out, p->full_name, true);
	buf_add_text(out, " 1\n.Os\n.Sh NAME\n.Nm ");
	put_page_name(out, p->full_name, false);
	buf_add_text(out, "\n.Nd ");
	man_paragraph(out, str_of(p->command->summary));
	buf_add_text(out, ".Sh SYNOPSIS\n");
	each_sub(p, p->command, p->full_name, sub_synopsis);
	sub_synopsis(p, p->command, p->full_name);
}

static void sub_description(struct page *p, const struct command *sub, const char *full_name)
{
	buf_printf(p->out, ".Ss garner %s\n", full_name);
	put_body(p->out, sub);
}

static void page_description(struct page *p)
{
	buf_add_text(p->out, ".Sh DESCRIPTION\n");
	put_body(p->out, p->command);
	each_sub(p, p->command, p->full_name, sub_description);
	if (p->command->role)
		put_settings(p->out, p->command->role->section);
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
