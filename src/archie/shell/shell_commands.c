/* The table of commands, how a word finds its command, and the commands that do not ask the
 * archive. */
#include "archie/shell/shell_inner.h"

#include "base/ascii.h"

/* Texts of the administrator. */

static int run_domains(struct shell *s, const struct shell_call *c)
{
	(void)c;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	bool terse = str_is(shell_var_text(s, VAR_OUTPUT_FORMAT), "terse");
	shell_layout_domains(terse ? FORMAT_TERSE : FORMAT_VERBOSE, &s->texts->domains, &out);
	if (s->texts->domains.n == 0)
		shell_say(s, "This server knows no pseudo-domains.");
	else
		shell_put(s, &out, SHELL_RESULT);
	return 0;
}

/* As it stands in its file, but with an end of the last line; `missing` in place of nothing. */
static void put_text(struct shell *s, struct str text, const char *missing)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SHELL_TEXT_MOST + 1);
	buf_add_str(&out, text);
	if (text.n && !str_ends(text, STR("\n")))
		buf_add_byte(&out, '\n');
	if (text.n == 0)
		shell_say(s, "%s", missing);
	else
		shell_put(s, &out, SHELL_RESULT);
}

static int run_servers(struct shell *s, const struct shell_call *c)
{
	(void)c;
	put_text(s, s->texts->servers, "This server knows of no others.");
	return 0;
}

static int run_motd(struct shell *s, const struct shell_call *c)
{
	(void)c;
	put_text(s, s->texts->motd, "There is no message of the day.");
	return 0;
}

static int run_manpage(struct shell *s, const struct shell_call *c)
{
	bool roff = c->n && str_find(c->arg[0], STR("roff")) < c->arg[0].n;
	struct str text = roff ? s->texts->man_roff : s->texts->man_ascii;
	CLEANUP(buf_free) struct buf own = BUF_INIT(SHELL_TEXT_MOST);
	if (text.n == 0) {
		shell_manual(roff, &own);
		text = buf_str(&own);
	}
	put_text(s, text, "");
	return 0;
}

static int run_version(struct shell *s, const struct shell_call *c)
{
	(void)c;
	shell_say(s, "garner %s", GARNER_VERSION);
	return 0;
}

/* Other names of `set` and `unset`. */

static int run_path(struct shell *s, const struct shell_call *c)
{
	shell_var_set(s, VAR_MAILTO, c->arg, c->n);
	return 0;
}

static int run_compress(struct shell *s, const struct shell_call *c)
{
	(void)c;
	shell_var_set(s, VAR_COMPRESS, &STR("compress"), 1);
	return 0;
}

static int run_pager(struct shell *s, const struct shell_call *c)
{
	(void)c;
	shell_var_set(s, VAR_PAGER, NULL, 0);
	return 0;
}

static int run_nopager(struct shell *s, const struct shell_call *c)
{
	(void)c;
	shell_var_unset(s, VAR_PAGER);
	return 0;
}

static int run_term(struct shell *s, const struct shell_call *c)
{
	if (shell_var_set(s, VAR_TERM, c->arg, c->n) && s->mode == SHELL_INTERACTIVE)
		shell_say(s, "Terminal type set to `%s'.", s->value[VAR_TERM].text);
	return 0;
}

/* The terminal. */

void shell_erase_text(char c, struct buf *out)
{
	if (ascii_is_control(c))
		buf_printf(out, "^%c", c ^ 0x40);
	else
		buf_add_byte(out, c);
}

/* "^h" or one character. */
static bool read_erase(struct str text, char *ret)
{
	if (text.n == 2 && text.p[0] == '^' && ascii_upper(text.p[1]) >= '?' &&
	    ascii_upper(text.p[1]) <= '_')
		*ret = (char)(ascii_upper(text.p[1]) ^ 0x40);
	else if (text.n == 1)
		*ret = text.p[0];
	else
		return false;
	return true;
}

static bool set_stty(struct shell *s, struct str option, struct str value)
{
	char c;
	if (!str_is(option, "erase")) {
		shell_say(s, "`" STR_FMT "' is not an option of `stty': there is only `erase'.",
			  STR_ARG(option));
		return false;
	}
	if (!read_erase(value, &c)) {
		shell_say(s, "`" STR_FMT "' is not a character.", STR_ARG(value));
		return false;
	}
	s->erase = c;
	if (s->o.ops->erase && s->mode == SHELL_INTERACTIVE)
		s->o.ops->erase(s->o.ctx, c);
	return true;
}

void shell_say_erase(struct shell *s)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(8);
	shell_erase_text(s->erase, &text);
	shell_say(s, "`erase' character is `%s'.", buf_text(&text));
}

static int run_stty(struct shell *s, const struct shell_call *c)
{
	if (c->n % 2) {
		shell_say(s, "`stty' requires a character after each option.");
		return 0;
	}
	for (size_t i = 0; i < c->n; i += 2)
		if (!set_stty(s, c->arg[i], c->arg[i + 1]))
			return 0;
	if (c->n == 0)
		shell_say_erase(s);
	return 0;
}

/* Mail. */

/* What is kept goes to `to`. 0, or what mail() says. */
static int send_kept(struct shell *s, struct str to, struct err *err)
{
	bool compress = str_is(shell_var_text(s, VAR_COMPRESS), "compress");
	bool encode = str_is(shell_var_text(s, VAR_ENCODE), "uuencode");
	const struct shell_mail mail = {
		.to = to,
		.command = str_of(s->kept_line),
		.text = buf_str(&s->kept),
		.compress = compress && encode,
		.encode = compress && encode,
		.max_split_size = (uint64_t)s->value[VAR_MAX_SPLIT_SIZE].number,
	};
	return s->o.ops->mail(s->o.ctx, &mail, err);
}

static bool lacks_encoding(struct shell *s)
{
	return str_is(shell_var_text(s, VAR_COMPRESS), "compress") &&
	       !str_is(shell_var_text(s, VAR_ENCODE), "uuencode");
}

static int run_mail(struct shell *s, const struct shell_call *c)
{
	struct str to = c->n ? c->arg[0] : shell_var_text(s, VAR_MAILTO);
	struct err err;
	if (!s->o.ops->mail)
		shell_say(s, "No mail is sent from here.");
	else if (to.n == 0)
		shell_say(s, "You must give an address, or set `mailto'.");
	else if (s->kept.n == 0 || (s->mode == SHELL_EMAIL && !s->unsent))
		shell_say(s, "There is nothing to mail yet.");
	else if (lacks_encoding(s))
		shell_say(s, "You must also specify an encoding: `set encode uuencode'.");
	else if (send_kept(s, to, &err) < 0)
		shell_say(s, "Cannot mail: %s", err.msg);
	else if (s->mode == SHELL_EMAIL) {
		buf_free(&s->kept);
		s->kept_all = true;
		s->unsent = false;
	} else
		shell_say(s, "Mailed to `" STR_FMT "'.", STR_ARG(to));
	return 0;
}

/* What is to be said now stands in the answer, after everything else. */
static int end_mail(struct shell *s, struct err *err)
{
	struct str to = shell_var_text(s, VAR_MAILTO);
	if (s->asked && !s->unsent)
		return 0;
	if (!s->asked) {
		CLEANUP(buf_free) struct buf text = BUF_INIT(SHELL_TEXT_MOST);
		struct str own = s->texts->mail_help;
		buf_add_str(&text, own.n ? own : shell_own_mail_help());
		shell_put(s, &text, SHELL_RESULT);
		mem_free(&s->kept_line);
		s->kept_line = mem_text("help");
	}
	if (lacks_encoding(s))
		shell_say(s, "Not compressed: you must also specify an encoding, `set encode "
			     "uuencode'.");
	return send_kept(s, to.n ? to : str_of(s->mailto), err);
}

int shell_end(struct shell *s, struct err *err)
{
	if (s->mode == SHELL_EMAIL)
		return end_mail(s, err);
	shell_say(s, "Bye.");
	return 0;
}

/* New sites. */

static int run_addnewsite(struct shell *s, const struct shell_call *c)
{
	struct err err;
	if (!s->o.ops->new_site)
		shell_say(s, "No requests for new sites are taken here.");
	else if (s->o.ops->new_site(s->o.ctx, c->arg[0], &err) < 0)
		shell_say(s, "Cannot request `" STR_FMT "': %s", STR_ARG(c->arg[0]), err.msg);
	else
		shell_say(s, "The request to index `" STR_FMT "' goes to the master.",
			  STR_ARG(c->arg[0]));
	return 0;
}

static int run_bye(struct shell *s, const struct shell_call *c)
{
	(void)s, (void)c;
	return 1;
}

static int run_done(struct shell *s, const struct shell_call *c)
{
	(void)s, (void)c;
	die("the command done runs in help alone, where it is not looked up");
}

void shell_commands_begun(const struct shell *s, struct str word, struct buf *out)
{
	const char *before = "";
	for (const struct shell_command *c = shell_commands; c->name; c++) {
		if (!(c->modes & 1U << s->mode) ||
		    !str_eq_nocase(str_head(str_of(c->name), word.n), word))
			continue;
		buf_printf(out, "%s%s", before, c->name);
		before = ", ";
	}
}

static int run_disable(struct shell *s, const struct shell_call *c);

/* The table. */

#define I_E (IN_INTERACTIVE | IN_EMAIL)
#define I_S_U (IN_INTERACTIVE | IN_SYSTEM_RC | IN_USER_RC)

const struct shell_command shell_commands[] = {
	{"find", I_E, 1, -1, CMD_KEPT | CMD_ASKS, shell_run_find},
	{"prog", I_E, 1, -1, CMD_KEPT | CMD_ASKS, shell_run_find},
	{"whatis", I_E, 1, 1, CMD_KEPT | CMD_ASKS, shell_run_whatis},
	{"list", I_E, 0, -1, CMD_KEPT | CMD_ASKS, shell_run_list},
	{"site", I_E, 1, 1, CMD_KEPT | CMD_ASKS, shell_run_site},
	{"domains", IN_ALL, 0, 0, CMD_KEPT | CMD_ASKS, run_domains},
	{"servers", IN_ALL, 0, 0, CMD_KEPT | CMD_ASKS, run_servers},
	{"set", IN_ALL, 1, -1, 0, shell_run_set},
	{"unset", IN_ALL, 1, 1, 0, shell_run_unset},
	{"show", IN_ALL, 0, -1, CMD_ASKS, shell_run_show},
	{"help", I_E, 0, -1, CMD_ASKS, shell_run_help},
	{"mail", I_E, 0, 1, 0, run_mail},
	{"path", IN_EMAIL, 1, -1, 0, run_path},
	{"compress", IN_ALL, 0, 0, 0, run_compress},
	{"motd", IN_ALL, 0, 0, CMD_KEPT | CMD_ASKS, run_motd},
	{"manpage", I_E, 0, 1, CMD_KEPT | CMD_ASKS, run_manpage},
	{"pager", I_S_U, 0, 0, 0, run_pager},
	{"nopager", IN_ALL, 0, 0, 0, run_nopager},
	{"term", IN_ALL, 1, 3, 0, run_term},
	{"stty", I_S_U, 0, -1, 0, run_stty},
	{"version", IN_ALL, 0, 0, CMD_ASKS, run_version},
	{"addnewsite", I_E, 1, 1, CMD_ASKS, run_addnewsite},
	{"bye", IN_ALL, 0, -1, 0, run_bye},
	{"exit", IN_ALL, 0, -1, 0, run_bye},
	{"quit", IN_ALL, 0, -1, 0, run_bye},
	{"done", 0, 0, -1, 0, run_done},
	{"disable_command", IN_SYSTEM_RC, 1, -1, 0, run_disable},
	{NULL, 0, 0, 0, 0, NULL},
};
_Static_assert(ARRAY_LEN(shell_commands) <= SHELL_COMMANDS_MOST, "a flag for each command");

/* The command that a word names among those that one of the modes has: a whole name, or the
 * beginning of just one. *ret_n says of how many it is the beginning. */
static const struct shell_command *match_word(struct str word, unsigned modes, size_t *ret_n)
{
	const struct shell_command *found = NULL;
	*ret_n = 0;
	for (const struct shell_command *c = shell_commands; c->name; c++) {
		struct str name = str_of(c->name);
		if ((modes && !(c->modes & modes)) || !str_eq_nocase(str_head(name, word.n), word))
			continue;
		found = c;
		if (name.n == word.n) {
			*ret_n = 1;
			return c;
		}
		++*ret_n;
	}
	return found;
}

/* Commands of this mode come first, so that others make no beginning ambiguous. */
enum shell_found shell_command_find(const struct shell *s, struct str word,
				    const struct shell_command **ret)
{
	size_t n;
	if (word.n == 0)
		return FOUND_NONE;
	*ret = match_word(word, 1U << s->mode, &n);
	bool here = n > 0;
	if (!here)
		*ret = match_word(word, 0, &n);
	if (n == 0)
		return FOUND_NONE;
	if (n > 1)
		return FOUND_MANY;
	if (s->disabled[*ret - shell_commands])
		return FOUND_DISABLED;
	return here ? FOUND_ONE : FOUND_OTHER_MODE;
}

static int run_disable(struct shell *s, const struct shell_call *c)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t n;
		const struct shell_command *found = match_word(c->arg[i], 0, &n);
		if (n == 1 && c->arg[i].n == strlen(found->name))
			s->disabled[found - shell_commands] = true;
		else
			shell_say(s, "`" STR_FMT "' is not a command.", STR_ARG(c->arg[i]));
	}
	return 0;
}
