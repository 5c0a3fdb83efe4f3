/* Help: one text with all topics (shell_help.txt), each under a line "@ topic subtopic". It is
 * small enough to be searched from its beginning each time, so there is no tree to build or free.
 * The manual page is made from the same text. */
#include "archie/shell/shell_inner.h"

#include "base/ascii.h"

struct topic {
	struct str path, text; /* "set search"; "": the top */
};

/* Cuts the next topic off. 1: no more. */
static int next_topic(struct str *rest, struct topic *ret)
{
	struct str line;
	if (rest->n == 0 || str_cut(rest, '\n', &line) != 0)
		return 1;
	ret->path = str_trim(str_from(line, 1));
	size_t n = str_starts(*rest, STR("@")) ? 0 : str_find(*rest, STR("\n@")) + 1;
	ret->text = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return 0;
}

static bool find_topic(struct str path, struct topic *ret)
{
	struct str rest = shell_own_help();
	while (next_topic(&rest, ret) == 0)
		if (str_eq_nocase(ret->path, path))
			return true;
	return false;
}

/* The name of a topic that stands right below another; empty: it does not. */
static struct str name_below(struct str path, struct str above)
{
	struct str name = path;
	if (above.n) {
		if (!str_starts(path, above) || path.n == above.n || path.p[above.n] != ' ')
			return STR("");
		name = str_from(path, above.n + 1);
	}
	return str_find_byte(name, ' ') < name.n ? STR("") : name;
}

static bool has_below(struct str path)
{
	struct str rest = shell_own_help();
	struct topic t;
	while (next_topic(&rest, &t) == 0)
		if (name_below(t.path, path).n)
			return true;
	return false;
}

/* In three columns. */
static void list_below(struct shell *s, struct str path)
{
	enum { COLUMNS = 3, WIDTH = 20 };
	CLEANUP(buf_free) struct buf out = BUF_INIT(SHELL_TEXT_MOST);
	struct str rest = shell_own_help();
	struct topic t;
	size_t n = 0;
	while (next_topic(&rest, &t) == 0) {
		struct str name = name_below(t.path, path);
		if (name.n == 0)
			continue;
		if (++n % COLUMNS == 0)
			buf_printf(&out, STR_FMT "\n", STR_ARG(name));
		else
			buf_printf(&out, "%-*.*s", WIDTH, STR_ARG(name));
	}
	if (n % COLUMNS)
		buf_add_byte(&out, '\n');
	if (n == 0)
		shell_say(s, "`" STR_FMT "' has no subtopics.", STR_ARG(path));
	else
		shell_put(s, &out, SHELL_HELP);
}

/* The topic above: "set" of "set search", "" of "set". */
static struct str path_above(struct str path)
{
	size_t n = str_after_last(path, ' ');
	return str_head(path, n ? n - 1 : 0);
}

static void show_topic(struct shell *s, struct str text)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SHELL_TEXT_MOST);
	buf_add_str(&out, text);
	shell_put(s, &out, SHELL_HELP);
}

/* Words below a topic: shows it, or what is below it where the last word is a question mark. The
 * user then is at the deepest level that has subtopics. */
static void go_below(struct shell *s, struct str from, const struct str *word, size_t n)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT((size_t)SHELL_LINE_MOST * 2);
	bool lists = n && str_is(word[n - 1], "?");
	struct topic t;
	buf_add_str(&path, from);
	for (size_t i = 0; i + lists < n; i++)
		buf_printf(&path, "%s" STR_FMT, path.n ? " " : "", STR_ARG(word[i]));
	if (!find_topic(buf_str(&path), &t)) {
		shell_say(s, "Cannot find help on `%s'%s.", buf_text(&path),
			  s->in_help ? "; `done' leaves help" : "");
		return;
	}
	if (lists)
		list_below(s, t.path);
	else
		show_topic(s, t.text);
	s->in_help = s->mode == SHELL_INTERACTIVE;
	s->topic = has_below(t.path) ? t.path : path_above(t.path);
}

int shell_run_help(struct shell *s, const struct shell_call *c)
{
	if (s->mode == SHELL_EMAIL && c->n == 0)
		show_topic(s, s->texts->mail_help.n ? s->texts->mail_help : shell_own_mail_help());
	else
		go_below(s, STR(""), c->arg, c->n);
	return 0;
}

void shell_help_line(struct shell *s, struct str line)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct str *word;
	size_t n;
	s->enough = false;
	if (shell_lex(line, &arena, &word, &n) < 0)
		shell_say(s, "A quote is not closed.");
	else if (n == 0 || str_is(word[0], ".")) {
		s->in_help = n || s->topic.n;
		s->topic = path_above(s->topic);
	} else if (n == 1 && str_eq_nocase(word[0], STR("done")))
		s->in_help = false;
	else
		go_below(s, s->topic, word, n);
}

void shell_help_prompt(const struct shell *s, struct buf *out)
{
	buf_printf(out, "help%s" STR_FMT "> ", s->topic.n ? " " : "", STR_ARG(s->topic));
}

/* The manual page. */

static void add_upper(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		buf_add_byte(out, ascii_upper(text.p[i]));
}

static void plain_topic(struct buf *out, const struct topic *t)
{
	struct str rest = t->text, line;
	buf_add_byte(out, '\n');
	if (t->path.n)
		add_upper(out, t->path);
	else
		buf_add_text(out, "ARCHIE");
	buf_add_byte(out, '\n');
	while (rest.n && str_cut(&rest, '\n', &line) == 0)
		buf_printf(out, "%s" STR_FMT "\n", line.n ? "    " : "", STR_ARG(line));
}

/* A line of roff: nothing in it is an order. */
static void roff_line(struct buf *out, struct str line)
{
	if (str_starts(line, STR(".")) || str_starts(line, STR("'")))
		buf_add_text(out, "\\&");
	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] == '\\')
			buf_add_text(out, "\\e");
		else if (line.p[i] == '-')
			buf_add_text(out, "\\-");
		else
			buf_add_byte(out, line.p[i]);
	buf_add_byte(out, '\n');
}

/* Lines that begin with a blank stay as they are. */
static void roff_topic(struct buf *out, const struct topic *t)
{
	struct str rest = t->text, line;
	bool as_is = false;
	buf_add_text(out, str_find_byte(t->path, ' ') < t->path.n ? ".SS " : ".SH ");
	if (t->path.n)
		add_upper(out, t->path);
	else
		buf_add_text(out, "DESCRIPTION");
	buf_add_byte(out, '\n');
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		bool blank = str_starts(line, STR(" "));
		if (blank != as_is)
			buf_add_text(out, blank ? ".nf\n" : ".fi\n");
		as_is = blank;
		if (line.n)
			roff_line(out, line);
		else
			buf_add_text(out, ".PP\n");
	}
	if (as_is)
		buf_add_text(out, ".fi\n");
}

void shell_manual(bool roff, struct buf *out)
{
	struct str rest = shell_own_help();
	struct topic t;
	buf_add_text(out, roff ? ".TH ARCHIE 1\n.SH NAME\narchie \\- files of archives by name\n"
			       : "ARCHIE(1)\n\nNAME\n    archie - files of archives by name\n");
	while (next_topic(&rest, &t) == 0)
		if (roff)
			roff_topic(out, &t);
		else
			plain_topic(out, &t);
}
