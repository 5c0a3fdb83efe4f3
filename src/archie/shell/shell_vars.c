/* Variables: one table says what each may hold; `set`, `unset`, `show` and the rc follow it. Names
 * and values are matched exactly, as in the old server. Variables that name a program, a host or a
 * file of the old server are accepted so that an old rc can be used; doc/archie-shell.md says which
 * of them have an effect. */
#include "archie/shell/shell_inner.h"

#include "base/ascii.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

static const char *const search_words[] = {"exact",     "regex",         "sub",         "subcase",
					   "exact_sub", "exact_subcase", "exact_regex", NULL};
static const char *const sortby_words[] = {
	"none",  "filename", "hostname", "size",  "time",    "rfilename", "rhostname",
	"rsize", "rtime",    "rnothing", "rnone", "nothing", NULL};
static const char *const compress_words[] = {"none", "compress", NULL};
static const char *const encode_words[] = {"none", "uuencode", NULL};

static bool check_term(struct shell *s, struct buf *value);
static bool check_language(struct shell *s, struct buf *value);
static bool check_server(struct shell *s, struct buf *value);

#define STRING(word, first) .name = word, .type = SHELL_STRING, .fallback = first
#define NUMBER(word, first, least, most) \
	.name = word, .type = SHELL_NUMERIC, .fallback = first, .min = least, .max = most
#define RC_STRING(word, first)                                          \
	{                                                               \
		STRING(word, first), .may_unset = true, .rc_only = true \
	}

const struct shell_var_def shell_vars[SHELL_VARS] = {
	[VAR_SEARCH] = {STRING("search", "sub"), .words = search_words},
	[VAR_MAXHITS] = {NUMBER("maxhits", "100", 0, 1000)},
	[VAR_MAXMATCH] = {NUMBER("maxmatch", "100", 0, 1000)},
	[VAR_MAXHITSPM] = {NUMBER("maxhitspm", "100", 0, 1000)},
	[VAR_MATCH_DOMAIN] = {STRING("match_domain", NULL), .may_unset = true},
	[VAR_MATCH_PATH] = {STRING("match_path", NULL), .may_unset = true},
	[VAR_SORTBY] = {STRING("sortby", "none"), .words = sortby_words},
	[VAR_OUTPUT_FORMAT] = {STRING("output_format", "verbose"), .words = shell_format_words},
	[VAR_PAGER] = {.name = "pager", SHELL_BOOLEAN, .may_unset = true, .interactive = true},
	[VAR_STATUS] = {.name = "status", SHELL_BOOLEAN, "set", .may_unset = true},
	[VAR_MAILTO] = {STRING("mailto", NULL), .may_unset = true},
	[VAR_COMPRESS] = {STRING("compress", "none"), .may_unset = true, .words = compress_words},
	[VAR_ENCODE] = {STRING("encode", "none"), .may_unset = true, .words = encode_words},
	[VAR_MAX_SPLIT_SIZE] = {NUMBER("max_split_size", "51200", 1024, INT_MAX)},
	[VAR_AUTOLOGOUT] = {NUMBER("autologout", "60", 1, 300), .interactive = true},
	[VAR_TERM] = {STRING("term", "dumb 24 80"), .interactive = true, .check = check_term},
	[VAR_LANGUAGE] = {STRING("language", "english"), .may_unset = true,
			  .check = check_language},
	[VAR_SERVER] = {STRING("server", "localhost"), .check = check_server},
	[VAR_TMPDIR] = {STRING("tmpdir", "db/tmp"), .rc_only = true},
	[VAR_DEBUG] = {NUMBER("debug", "0", 0, INT_MAX), .rc_only = true},
	[VAR_PROMPT] = {STRING("prompt", "archie> "), .rc_only = true},
	[VAR_NICENESS] = {NUMBER("niceness", "4", 0, 19), .rc_only = true},
	[VAR_HELP_DIR] = RC_STRING("help_dir", NULL),
	[VAR_EMAIL_HELP_FILE] = RC_STRING("email_help_file", "etc/email.help"),
	[VAR_MAN_ASCII_FILE] = RC_STRING("man_ascii_file", NULL),
	[VAR_MAN_ROFF_FILE] = RC_STRING("man_roff_file", NULL),
	[VAR_MOTD_FILE] = RC_STRING("motd_file", "etc/motd.telnet"),
	[VAR_SERVERS_FILE] = RC_STRING("servers_file", "etc/serverlist"),
	[VAR_WHATIS_FILE] = RC_STRING("whatis_file", "etc/whatis"),
	[VAR_MAIL_FROM] = RC_STRING("mail_from", NULL),
	[VAR_MAIL_HOST] = RC_STRING("mail_host", "localhost"),
	[VAR_MAIL_SERVICE] = RC_STRING("mail_service", "archiemail"),
	[VAR_PAGER_PATH] = RC_STRING("pager_path", "less"),
	[VAR_PAGER_OPTS] = RC_STRING("pager_opts", NULL),
	[VAR_PAGER_HELP_OPTS] = RC_STRING("pager_help_opts", "-c"),
};

static const char *const type_words[] = {"boolean", "numeric", "string"};

/* Terminals. */

enum { ROWS_LEAST = 2, ROWS_MOST = 1000, COLS_LEAST = 20, COLS_MOST = 1000 };

/* What people have, and had: nothing is looked up, since a confined process may open no file. */
static const char *const terminals[] = {
	"dumb",
	"unknown",
	"network",
	"tty",
	"ansi",
	"vt52",
	"vt100",
	"vt102",
	"vt200",
	"vt220",
	"vt320",
	"vt420",
	"vt100-nam",
	"xterm",
	"xterm-color",
	"xterms",
	"xterm-16color",
	"xterm-256color",
	"xterm-kitty",
	"linux",
	"cons25",
	"console",
	"sun",
	"screen",
	"rxvt",
	"rxvt-unicode",
	"rxvt-unicode-256color",
	"screen-256color",
	"tmux",
	"tmux-256color",
	"alacritty",
	"foot",
	"kterm",
	"adm3a",
	"tvi920",
	"tvi925",
	"wyse50",
	"wy50",
	"wy60",
	"wyse60",
	"hp",
	"hp2621",
	"hp2392",
	"ibm3151",
	"ibm3101",
	"aaa",
	"h19",
	"iris-ansi",
	"putty",
	"putty-256color",
	"eterm",
};

bool shell_knows_terminal(struct str type)
{
	return STR_AMONG(type, terminals);
}

/* A number of rows or columns; false: it has said why not. */
static bool check_size(struct shell *s, const char *what, struct str text, unsigned least,
		       unsigned most, unsigned *ret)
{
	uint64_t n;
	if (!str_u64(text, &n)) {
		shell_say(s, "The number of %s must be numeric.", what);
		return false;
	}
	if (n < least || n > most) {
		shell_say(s, "The number of %s must be in the range [%u,%u].", what, least, most);
		return false;
	}
	*ret = (unsigned)n;
	return true;
}

/* "TYPE [ROWS [COLUMNS]]" */
static bool check_term(struct shell *s, struct buf *value)
{
	struct str rest = buf_str(value), type = {0}, rows = {0}, cols = {0};
	unsigned r = s->rows, c = s->cols;
	(void)str_cut(&rest, ' ', &type);
	if (!shell_knows_terminal(type)) {
		shell_say(s, "The terminal type `" STR_FMT "' is unknown to this system.",
			  STR_ARG(type));
		return false;
	}
	if (str_cut(&rest, ' ', &rows) == 0 &&
	    !check_size(s, "rows", rows, ROWS_LEAST, ROWS_MOST, &r))
		return false;
	if (str_cut(&rest, ' ', &cols) == 0 &&
	    !check_size(s, "columns", cols, COLS_LEAST, COLS_MOST, &c))
		return false;
	if (rest.p) {
		shell_say(s, "A terminal has a type, rows and columns, and no more.");
		return false;
	}
	char text[SHELL_VALUE_MOST];
	snprintf(text, sizeof text, STR_FMT " %u %u", STR_ARG(type), r, c);
	s->rows = r;
	s->cols = c;
	buf_clear(value);
	buf_add_text(value, text);
	return true;
}

void shell_terminal_changed(struct shell *s)
{
	struct str rest = shell_var_text(s, VAR_TERM), type;
	if (!s->o.ops->terminal || s->mode != SHELL_INTERACTIVE || str_cut(&rest, ' ', &type) != 0)
		return;
	s->o.ops->terminal(s->o.ctx, &(struct shell_terminal){type, s->rows, s->cols,
							      s->value[VAR_PAGER].text != NULL});
}

static bool check_language(struct shell *s, struct buf *value)
{
	if (str_is(buf_str(value), "english"))
		return true;
	shell_say(s, "Cannot set language to `%s': there is no help in it.", buf_text(value));
	return false;
}

/* The host is shown again, but everything is asked of this server. */
static bool check_server(struct shell *s, struct buf *value)
{
	struct str host = buf_str(value);
	if (!str_eq_nocase(host, STR("localhost")) && !str_eq_nocase(host, str_of(s->host)))
		shell_say(s, "This server, %s, answers for itself: it does not ask `%s'.", s->host,
			  buf_text(value));
	return true;
}

/* Values. */

static void put_value(struct shell *s, enum shell_var v, struct str text, int64_t number)
{
	mem_free(&s->value[v].text);
	s->value[v].text = str_dup(text);
	s->value[v].number = number;
}

/* Decimal, perhaps with a sign; what is too large is as large as can be. */
static bool read_number(struct str text, int64_t *ret)
{
	bool minus = str_starts(text, STR("-"));
	struct str digits = str_from(text, minus || str_starts(text, STR("+")));
	uint64_t n = 0;
	for (size_t i = 0; i < digits.n; i++) {
		if (!ascii_is_digit(digits.p[i]))
			return false;
		n = MIN(n * 10 + (uint64_t)(digits.p[i] - '0'), (uint64_t)INT64_MAX / 100);
	}
	*ret = minus ? -(int64_t)n : (int64_t)n;
	return digits.n > 0;
}

static bool set_boolean(struct shell *s, enum shell_var v, size_t n)
{
	if (n > 0) {
		shell_say(s, "`%s' is a boolean variable: it takes no value.", shell_vars[v].name);
		return false;
	}
	put_value(s, v, STR("set"), 1);
	return true;
}

static bool set_number(struct shell *s, enum shell_var v, const struct str *word, size_t n)
{
	const struct shell_var_def *def = &shell_vars[v];
	char text[STR_DECIMAL_MAX + 1];
	int64_t number;
	if (n != 1) {
		shell_say(s, "`%s' is a numeric variable: it takes exactly one value.", def->name);
		return false;
	}
	if (!read_number(word[0], &number)) {
		shell_say(s, "The value of `%s' must be an integer.", def->name);
		return false;
	}
	if (number < def->min || number > def->max) {
		shell_say(s, "The value of `%s' must be in the range [%" PRId64 ",%" PRId64 "].",
			  def->name, def->min, def->max);
		return false;
	}
	put_value(s, v, (struct str){text, str_decimal(text, (uint64_t)number)}, number);
	return true;
}

static bool is_one_of(const char *const *words, struct str text)
{
	while (*words && !str_is(text, *words))
		words++;
	return *words != NULL;
}

static bool set_string(struct shell *s, enum shell_var v, const struct str *word, size_t n)
{
	const struct shell_var_def *def = &shell_vars[v];
	CLEANUP(buf_free) struct buf value = BUF_INIT(SHELL_VALUE_MOST);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_byte(&value, ' ');
		buf_add_str(&value, word[i]);
	}
	if (n == 0)
		shell_say(s, "`%s' is a string variable: it takes at least one value.", def->name);
	else if (value.over)
		shell_say(s, "The value of `%s' is too long: at most %d bytes.", def->name,
			  SHELL_VALUE_MOST);
	else if (def->words && !is_one_of(def->words, buf_str(&value)))
		shell_say(s, "`%s' is not a valid value of `%s': see `help set %s'.",
			  buf_text(&value), def->name, def->name);
	else if (!def->check || def->check(s, &value)) {
		put_value(s, v, buf_str(&value), 0);
		return true;
	}
	return false;
}

bool shell_var_set(struct shell *s, enum shell_var v, const struct str *word, size_t n)
{
	bool done = shell_vars[v].type == SHELL_BOOLEAN   ? set_boolean(s, v, n)
		    : shell_vars[v].type == SHELL_NUMERIC ? set_number(s, v, word, n)
							  : set_string(s, v, word, n);
	if (done && (v == VAR_TERM || v == VAR_PAGER))
		shell_terminal_changed(s);
	return done;
}

void shell_var_unset(struct shell *s, enum shell_var v)
{
	if (!shell_vars[v].may_unset) {
		shell_say(s, "`%s' cannot be unset: it must always have a value.",
			  shell_vars[v].name);
		return;
	}
	mem_free(&s->value[v].text);
	if (v == VAR_PAGER)
		shell_terminal_changed(s);
}

void shell_var_show(struct shell *s, enum shell_var v)
{
	const struct shell_var_def *def = &shell_vars[v];
	const char *text = s->value[v].text;
	if (text && def->type != SHELL_BOOLEAN)
		shell_say(s, "`%s' (type %s) has the value `%s'.", def->name, type_words[def->type],
			  text);
	else
		shell_say(s, "`%s' (type %s) is %sset.", def->name, type_words[def->type],
			  text ? "" : "not ");
}

static bool is_known(const struct shell *s, enum shell_var v)
{
	const struct shell_var_def *def = &shell_vars[v];
	return (!def->rc_only || s->mode == SHELL_SYSTEM_RC) &&
	       (!def->interactive || s->mode != SHELL_EMAIL);
}

int shell_var_find(const struct shell *s, struct str name)
{
	for (int v = 0; v < SHELL_VARS; v++)
		if (str_is(name, shell_vars[v].name))
			return is_known(s, v) ? v : -1;
	return -1;
}

/* The same, and says that there is none. */
static int find_or_say(struct shell *s, struct str name, bool with_mode)
{
	int v = shell_var_find(s, name);
	if (v < 0)
		shell_say(s, "`" STR_FMT "' is not a known variable%s%s%s.", STR_ARG(name),
			  with_mode ? " in " : "", with_mode ? shell_mode_words[s->mode] : "",
			  with_mode ? " mode" : "");
	return v;
}

int shell_run_set(struct shell *s, const struct shell_call *c)
{
	int v = find_or_say(s, c->arg[0], true);
	if (v >= 0)
		shell_var_set(s, v, c->arg + 1, c->n - 1);
	return 0;
}

int shell_run_unset(struct shell *s, const struct shell_call *c)
{
	int v = find_or_say(s, c->arg[0], true);
	if (v >= 0)
		shell_var_unset(s, v);
	return 0;
}

int shell_run_show(struct shell *s, const struct shell_call *c)
{
	for (size_t i = 0; i < c->n; i++) {
		int v = find_or_say(s, c->arg[i], false);
		if (v >= 0)
			shell_var_show(s, v);
	}
	for (int v = 0; c->n == 0 && v < SHELL_VARS; v++)
		if (!shell_vars[v].rc_only && is_known(s, v))
			shell_var_show(s, v);
	return 0;
}

/* From outside. */

static enum shell_var var_named(const char *name)
{
	for (int v = 0; v < SHELL_VARS; v++)
		if (strcmp(name, shell_vars[v].name) == 0)
			return v;
	die("the shell has no variable '%s'", name);
}

struct str shell_value(const struct shell *s, const char *name)
{
	return shell_var_text(s, var_named(name));
}

uint64_t shell_number(const struct shell *s, const char *name)
{
	enum shell_var v = var_named(name);
	ENSURE(shell_vars[v].type == SHELL_NUMERIC);
	return (uint64_t)s->value[v].number;
}

void shell_terminal_is(struct shell *s, const struct shell_terminal *t)
{
	char text[SHELL_VALUE_MOST];
	struct str rest = shell_var_text(s, VAR_TERM), type;
	ENSURE(str_cut(&rest, ' ', &type) == 0);
	if (shell_knows_terminal(t->type))
		type = t->type;
	if (t->rows >= ROWS_LEAST && t->rows <= ROWS_MOST)
		s->rows = t->rows;
	if (t->cols >= COLS_LEAST && t->cols <= COLS_MOST)
		s->cols = t->cols;
	snprintf(text, sizeof text, STR_FMT " %u %u", STR_ARG(type), s->rows, s->cols);
	put_value(s, VAR_TERM, str_of(text), 0);
}

void shell_vars_begin(struct shell *s)
{
	s->rows = 24;
	s->cols = 80;
	for (int v = 0; v < SHELL_VARS; v++) {
		const struct shell_var_def *def = &shell_vars[v];
		int64_t number = 0;
		if (!def->fallback)
			continue;
		if (def->type == SHELL_NUMERIC)
			ENSURE(read_number(str_of(def->fallback), &number));
		put_value(s, v, str_of(def->fallback), number);
	}
}

void shell_vars_end(struct shell *s)
{
	for (int v = 0; v < SHELL_VARS; v++)
		mem_free(&s->value[v].text);
}
