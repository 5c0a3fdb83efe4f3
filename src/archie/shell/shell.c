/* The shell: runs lines as commands, and passes their output to the user.
 *
 * All output goes through here. Servers all over the net have made up its text, which is on its way
 * to somebody's terminal, so control characters become question marks. Output of a mail is
 * collected. Output of the rc waits for shell_begin(), because the interface may not be ready
 * earlier. */
#include "archie/shell/shell_inner.h"

#include "base/ascii.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum {
	SAY_MOST = 2048,
	EARLY_MOST = 1 << 20,
	ARENA_MOST = 256 << 20, /* answers are bounded by the queuer: ARCHIE_ANSWER_MOST */
	PROMPT_MOST = 512,
};

const char *const shell_mode_words[SHELL_MODES] = {"interactive", "e-mail", "system rc", "user rc"};
const char *const shell_layout_words[SHELL_LAYOUTS + 1] = {"3.5", "3.0", NULL};

/* Output. */

/* How many bytes from p on are one character that may be shown; 0: the first may not. Bytes that
 * are not UTF-8 may be Latin-1, but for its control characters. */
static size_t shown_bytes(struct str s)
{
	unsigned char c = (unsigned char)s.p[0];
	if (c < 0x80)
		return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t';
	size_t n = str_utf8_char(s);
	if (n == 0)
		return c >= 0xa0;
	return c == 0xc2 && (unsigned char)s.p[1] < 0xa0 ? 0 : n;
}

static void clean_text(struct buf *text)
{
	for (size_t i = 0; i < text->n;) {
		if (text->p[i] >= ' ' && text->p[i] < 0x7f) {
			i++;
			continue;
		}
		size_t n = shown_bytes((struct str){text->p + i, text->n - i});
		if (n == 0)
			text->p[i] = '?';
		i += MAX(n, (size_t)1);
	}
}

static void keep_text(struct shell *s, struct str text)
{
	if (!s->kept_all)
		return;
	s->kept_all = text.n <= SHELL_OUTPUT_MOST - MIN(s->kept.n, (size_t)SHELL_OUTPUT_MOST);
	if (s->kept_all)
		buf_add_str(&s->kept, text);
	else
		buf_printf(&s->kept, "# The rest is left out: more than %d bytes.\n",
			   SHELL_OUTPUT_MOST);
}

/* What is wrong with the system's rc is for the administrator, what it prints is for the user. */
static void show_text(struct shell *s, struct str text, enum shell_text what)
{
	if (s->mode == SHELL_SYSTEM_RC && !s->telling) {
		if (s->warnings)
			buf_printf(s->warnings, "line %u: " STR_FMT, s->rc_line,
				   STR_ARG(str_from(text, 2)));
	} else if (s->mode != SHELL_INTERACTIVE)
		buf_add_str(&s->early, text);
	else if (!s->enough)
		s->enough = !s->o.ops->print(s->o.ctx, text, what);
}

void shell_show(struct shell *s, struct buf *text, enum shell_text what)
{
	if (text->n == 0)
		return;
	clean_text(text);
	if (s->mode == SHELL_EMAIL)
		keep_text(s, buf_str(text));
	else
		show_text(s, buf_str(text), what);
}

void shell_keep(struct shell *s, struct buf *text)
{
	clean_text(text);
	if (s->mode == SHELL_EMAIL || s->keeping)
		keep_text(s, buf_str(text));
}

void shell_put(struct shell *s, struct buf *text, enum shell_text what)
{
	shell_show(s, text, what);
	if (s->mode == SHELL_INTERACTIVE)
		shell_keep(s, text);
}

void shell_say(struct shell *s, const char *fmt, ...)
{
	char text[SAY_MOST];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = ' ';
	CLEANUP(buf_free) struct buf line = BUF_INIT(SAY_MOST + 8);
	buf_printf(&line, "# %s\n", text);
	shell_show(s, &line, SHELL_NOTICE);
}

/* Lines. */

static void say_found(struct shell *s, enum shell_found found, struct str word,
		      const struct shell_command *c)
{
	const char *mode = shell_mode_words[s->mode];
	CLEANUP(buf_free) struct buf begun = BUF_INIT(SAY_MOST);
	if (found == FOUND_NONE && s->mode == SHELL_INTERACTIVE)
		shell_say(s, "Unrecognised command `" STR_FMT "' in %s mode; see `help'.",
			  STR_ARG(word), mode);
	else if (found == FOUND_NONE)
		shell_say(s, "Unrecognised command `" STR_FMT "' in %s mode.", STR_ARG(word), mode);
	else if (found == FOUND_MANY) {
		shell_commands_begun(s, word, &begun);
		shell_say(s, "`" STR_FMT "' is a non-unique command prefix: %s.", STR_ARG(word),
			  buf_text(&begun));
	} else if (found == FOUND_OTHER_MODE)
		shell_say(s, "The command `%s' is not available in %s mode.", c->name, mode);
	else if (found == FOUND_DISABLED)
		shell_say(s, "The command `%s' is disabled by the administrator.", c->name);
}

/* Whether there are as many arguments as it takes; else it is said. */
static bool count_fits(struct shell *s, const struct shell_command *c, size_t n)
{
	if (n >= (size_t)c->min && (c->max < 0 || n <= (size_t)c->max))
		return true;
	if (c->max == 0)
		shell_say(s, "`%s' takes no arguments.", c->name);
	else if (c->min == 1 && c->max == 1)
		shell_say(s, "`%s' requires a single argument.", c->name);
	else if (n < (size_t)c->min)
		shell_say(s, "`%s' requires at least one argument.", c->name);
	else if (c->max == 1)
		shell_say(s, "`%s' takes no more than one argument.", c->name);
	else
		shell_say(s, "`%s' takes no more than %d arguments.", c->name, c->max);
	return false;
}

/* What `mail` names as the command that the text comes from. */
static void keep_line(struct shell *s, struct str line)
{
	mem_free(&s->kept_line);
	s->kept_line = str_dup(line);
}

static int run_command(struct shell *s, const struct shell_call *c)
{
	bool mail = s->mode == SHELL_EMAIL;
	if (c->command->flags & CMD_ASKS) {
		s->asked = s->unsent = true;
		if (mail)
			keep_line(s, c->line);
	}
	if (!count_fits(s, c->command, c->n))
		return 0;
	s->keeping = c->command->flags & CMD_KEPT;
	s->telling = c->command->flags & CMD_ASKS;
	s->enough = false;
	if (s->keeping && !mail) {
		buf_free(&s->kept);
		s->kept_all = true;
		keep_line(s, c->line);
	}
	int leaves = c->command->run(s, c);
	s->keeping = s->telling = s->enough = false;
	return leaves;
}

/* The first word as it stands, to look whether a line that cannot be read is a command at all. */
static struct str first_word(struct str line)
{
	size_t n = 0;
	while (n < line.n && !ascii_is_blank(line.p[n]))
		n++;
	return str_head(line, n);
}

static void echo_line(struct shell *s, struct str line)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SHELL_RC_LINE_MOST + 8);
	buf_printf(&text, ">> " STR_FMT "\n", STR_ARG(str_head(line, SHELL_LINE_MOST)));
	shell_show(s, &text, SHELL_NOTICE);
}

/* Lines of a mail that are not commands are signatures: not a word about them. Nor about those that
 * begin as several commands do. */
static bool mail_skips(struct shell *s, struct str line)
{
	const struct shell_command *c;
	if (s->mode != SHELL_EMAIL)
		return false;
	enum shell_found found = shell_command_find(s, first_word(line), &c);
	if (!ascii_is_letter(line.p[0]) || found == FOUND_NONE || found == FOUND_MANY)
		return true;
	echo_line(s, line);
	return false;
}

static int run_line(struct shell *s, struct str line, size_t most)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(ARENA_MOST);
	const struct shell_command *command = NULL;
	struct str *word;
	size_t n;
	line = str_trim(line);
	if (line.n == 0 || line.p[0] == '#' || mail_skips(s, line))
		return 0;
	if (line.n > most) {
		shell_say(s, "The line is too long: at most %zu bytes.", most);
		return 0;
	}
	if (shell_lex(line, &arena, &word, &n) < 0) {
		shell_say(s, "A quote is not closed.");
		return 0;
	}
	if (word[0].n > SHELL_COMMAND_MOST) {
		shell_say(s, "The command is too long: at most %d bytes.", SHELL_COMMAND_MOST);
		return 0;
	}
	enum shell_found found = shell_command_find(s, word[0], &command);
	if (found != FOUND_ONE) {
		say_found(s, found, word[0], command);
		return 0;
	}
	return run_command(s, &(struct shell_call){command, word + 1, n - 1, line, &arena});
}

int shell_line(struct shell *s, struct str line)
{
	if (!s->in_help)
		return run_line(s, line, SHELL_LINE_MOST);
	if (line.n > SHELL_LINE_MOST)
		shell_say(s, "The line is too long: at most %d bytes.", SHELL_LINE_MOST);
	else
		shell_help_line(s, str_trim(line));
	return 0;
}

bool shell_remembers(struct str line)
{
	return str_trim(line).n > 0;
}

int shell_eof(struct shell *s)
{
	bool leaves = !s->in_help;
	s->in_help = false;
	return leaves;
}

void shell_interrupt(struct shell *s)
{
	s->in_help = false;
}

struct str shell_prompt(struct shell *s)
{
	buf_clear(&s->prompt);
	if (s->in_help)
		shell_help_prompt(s, &s->prompt);
	else
		buf_add_str(&s->prompt, shell_var_text(s, VAR_PROMPT));
	return buf_str(&s->prompt);
}

/* Beginning and end. */

/* Puts all lines of an rc through the shell in one of the rc modes. */
static void run_rc(struct shell *s, enum shell_mode mode, struct str text)
{
	struct str rest = text, line;
	s->mode = mode;
	for (s->rc_line = 1; rest.p && str_cut(&rest, '\n', &line) == 0; s->rc_line++)
		if (run_line(s, line, SHELL_RC_LINE_MOST) != 0)
			break;
	s->mode = s->o.mode;
}

struct shell *shell_new_warned(const struct shell_options *options, struct buf *warnings)
{
	struct shell *s = mem_alloc(sizeof *s);
	ENSURE(options->mode == SHELL_EMAIL ? options->ops->mail != NULL
					    : options->ops->print != NULL);
	tzset();
	s->o = *options;
	s->texts = options->texts;
	s->warnings = warnings;
	s->host = mem_text(options->host ? options->host : "localhost");
	s->from = str_dup(options->from);
	s->mailto = str_dup(options->mailto);
	s->erase = options->erase ? options->erase : '\b';
	s->prompt = BUF_INIT(PROMPT_MOST);
	s->early = BUF_INIT(EARLY_MOST);
	s->kept = BUF_INIT(SHELL_OUTPUT_MOST + SAY_MOST);
	s->kept_all = true;
	shell_vars_begin(s);
	run_rc(s, SHELL_SYSTEM_RC, s->texts->rc);
	run_rc(s, SHELL_USER_RC, s->texts->user_rc);
	s->asked = s->unsent = false;
	mem_free(&s->kept_line);
	if (options->mailto.n)
		shell_var_set(s, VAR_MAILTO, &options->mailto, 1);
	if (options->terminal.pager)
		shell_var_set(s, VAR_PAGER, NULL, 0);
	shell_terminal_is(s, &options->terminal);
	s->warnings = NULL;
	return s;
}

struct shell *shell_new(const struct shell_options *options)
{
	return shell_new_warned(options, NULL);
}

void shell_free(struct shell **sp)
{
	struct shell *s = *sp;
	if (!s)
		return;
	shell_vars_end(s);
	buf_free(&s->prompt);
	buf_free(&s->early);
	buf_free(&s->kept);
	mem_free(&s->kept_line);
	mem_free(&s->host);
	mem_free(&s->from);
	mem_free(&s->mailto);
	mem_free(sp);
}

void shell_begin(struct shell *s)
{
	if (s->mode == SHELL_EMAIL) {
		buf_free(&s->early);
		return;
	}
	shell_terminal_changed(s);
	if (s->o.ops->erase)
		s->o.ops->erase(s->o.ctx, s->erase);
	shell_show(s, &s->early, SHELL_NOTICE);
	buf_free(&s->early);
	shell_say(s, "garner %s, the archive of files at %s.", GARNER_VERSION, s->host);
	shell_say(s, "Terminal type set to `%s'.", s->value[VAR_TERM].text);
	shell_say_erase(s);
	shell_var_show(s, VAR_SEARCH);
}

void shell_queue_text(uint64_t position, int64_t seconds, struct buf *out)
{
	int64_t min = MAX(seconds, 0) / 60, sec = MAX(seconds, 0) % 60;
	buf_printf(out,
		   "# Your queue position: %" PRIu64 "\n# Estimated time for completion: %" PRId64
		   " minute%s, %" PRId64 " second%s.\n",
		   position, min, min == 1 ? "" : "s", sec, sec == 1 ? "" : "s");
}
