/* What the files of the shell share. */
#pragma once
#include "archie/shell.h"

/* Modes as bits, for the tables. */
enum {
	IN_INTERACTIVE = 1 << SHELL_INTERACTIVE,
	IN_EMAIL = 1 << SHELL_EMAIL,
	IN_SYSTEM_RC = 1 << SHELL_SYSTEM_RC,
	IN_USER_RC = 1 << SHELL_USER_RC,
	IN_ALL = (1 << SHELL_MODES) - 1,
};
extern const char *const shell_mode_words[SHELL_MODES];

/* Variables (shell_vars.c). */

enum shell_var {
	VAR_SEARCH,
	VAR_MAXHITS,
	VAR_MAXMATCH,
	VAR_MAXHITSPM,
	VAR_MATCH_DOMAIN,
	VAR_MATCH_PATH,
	VAR_SORTBY,
	VAR_OUTPUT_FORMAT,
	VAR_PAGER,
	VAR_STATUS,
	VAR_MAILTO,
	VAR_COMPRESS,
	VAR_ENCODE,
	VAR_MAX_SPLIT_SIZE,
	VAR_AUTOLOGOUT,
	VAR_TERM,
	VAR_LANGUAGE,
	VAR_SERVER,
	VAR_TMPDIR,
	VAR_DEBUG,
	VAR_PROMPT,
	VAR_NICENESS,
	VAR_HELP_DIR,
	VAR_EMAIL_HELP_FILE,
	VAR_MAN_ASCII_FILE,
	VAR_MAN_ROFF_FILE,
	VAR_MOTD_FILE,
	VAR_SERVERS_FILE,
	VAR_WHATIS_FILE,
	VAR_MAIL_FROM,
	VAR_MAIL_HOST,
	VAR_MAIL_SERVICE,
	VAR_PAGER_PATH,
	VAR_PAGER_OPTS,
	VAR_PAGER_HELP_OPTS,
	SHELL_VARS
};

enum shell_type { SHELL_BOOLEAN, SHELL_NUMERIC, SHELL_STRING };

struct shell_var_def {
	const char *name;
	enum shell_type type;
	const char *fallback; /* NULL: not set at first */
	bool may_unset;
	bool rc_only;             /* set by the system's rc alone, and to all others unknown */
	bool interactive;         /* not in a mail */
	int64_t min, max;         /* of a number */
	const char *const *words; /* the only values, ends in NULL; NULL: any */
	/* May change the text of the new value; false: refused, and it has said why. NULL: any. */
	bool (*check)(struct shell *s, struct buf *value);
};
extern const struct shell_var_def shell_vars[SHELL_VARS];

/* Text is NULL: not set. */
struct shell_val {
	char *text;
	int64_t number;
};

/* Commands (shell_commands.c). */

enum {
	CMD_KEPT = 1, /* its output is what `mail` sends */
	CMD_ASKS = 2, /* a mail that has it is answered with more than help */
};

struct shell_call {
	const struct shell_command *command;
	const struct str *arg;
	size_t n;
	struct str line; /* as it was typed, without blanks at its ends */
	struct arena *arena;
};
struct shell_command {
	const char *name;
	unsigned modes;                                          /* bits IN_ */
	int min, max;                                            /* arguments; max -1: any number */
	unsigned flags;                                          /* CMD_ */
	int (*run)(struct shell *s, const struct shell_call *c); /* 1: the user leaves */
};
enum { SHELL_COMMANDS_MOST = 64 };
extern const struct shell_command shell_commands[]; /* the last has no name */

enum shell_found { FOUND_ONE, FOUND_NONE, FOUND_MANY, FOUND_OTHER_MODE, FOUND_DISABLED };
/* By its name, or the beginning of it, without regard to case. *ret: one of those that fit. */
enum shell_found shell_command_find(const struct shell *s, struct str word,
				    const struct shell_command **ret);
/* The commands of this mode that begin so, with commas between them. */
void shell_commands_begun(const struct shell *s, struct str word, struct buf *out);

struct shell {
	struct shell_options o;
	const struct shell_texts *texts;
	char *host, *from, *mailto;
	enum shell_mode mode; /* now: that of the rc while one is read */
	bool disabled[SHELL_COMMANDS_MOST];
	struct shell_val value[SHELL_VARS];
	unsigned rows, cols;
	char erase;
	bool in_help;
	struct str topic; /* where in it: "set"; "": at its top */
	struct buf prompt;
	/* Output. */
	struct buf early;     /* of the rc, until shell_begin() */
	struct buf kept;      /* what `mail` would send */
	bool kept_all;        /* no: it became too large */
	bool keeping;         /* the command that runs is one of CMD_KEPT */
	bool telling;         /* it is one of CMD_ASKS */
	struct buf *warnings; /* of the system's rc; NULL: nobody wants to know */
	unsigned rc_line;
	bool enough;        /* the reader has seen enough of the command that runs */
	char *kept_line;    /* the command that it comes from */
	bool asked, unsent; /* a command of CMD_ASKS was seen; since the last mail */
};

/* Output (shell.c). */

/* A line for the user, without its `# ` and its end. */
void shell_say(struct shell *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Text of whole lines, which is cleaned of control characters in place. */
void shell_put(struct shell *s, struct buf *text, enum shell_text what);
/* The same, shown but not kept, and kept but not shown. */
void shell_show(struct shell *s, struct buf *text, enum shell_text what);
void shell_keep(struct shell *s, struct buf *text);
/* The same as shell_new(); `warnings` gets a line for each thing that is wrong in the system's rc.
 */
struct shell *shell_new_warned(const struct shell_options *options, struct buf *warnings);

/* Lexing (shell_lex.c). */

enum { SHELL_COMMAND_MOST = 128, SHELL_REGEX_MOST = 128, SHELL_RC_LINE_MOST = 1024 };
/* Words of a line: blanks and tabs between them, "..." joins, \ quotes one character. Negative: a
 * quote is not closed. */
int shell_lex(struct str line, struct arena *arena, struct str **ret, size_t *ret_n);

/* Variables (shell_vars.c). */

void shell_vars_begin(struct shell *s);
void shell_vars_end(struct shell *s);
/* -1: there is none of this name that this mode may know. */
int shell_var_find(const struct shell *s, struct str name);
/* As the commands do, with what they say. text: words joined by blanks; set: without looking at
 * modes. false: refused. */
bool shell_var_set(struct shell *s, enum shell_var v, const struct str *word, size_t n);
void shell_var_unset(struct shell *s, enum shell_var v);
void shell_var_show(struct shell *s, enum shell_var v);
static inline struct str shell_var_text(const struct shell *s, enum shell_var v)
{
	return str_of(s->value[v].text);
}
int shell_run_set(struct shell *s, const struct shell_call *c);
int shell_run_unset(struct shell *s, const struct shell_call *c);
int shell_run_show(struct shell *s, const struct shell_call *c);
/* Tells the interface about the terminal, and about the erase character. */
void shell_terminal_changed(struct shell *s);
/* "^H", "^?" or the character. */
void shell_erase_text(char c, struct buf *out);
void shell_say_erase(struct shell *s);

/* What is asked of the archive (shell_find.c). */

int shell_run_find(struct shell *s, const struct shell_call *c);
int shell_run_whatis(struct shell *s, const struct shell_call *c);
int shell_run_list(struct shell *s, const struct shell_call *c);
int shell_run_site(struct shell *s, const struct shell_call *c);

/* How rows are shown (shell_layout.c). */

enum shell_format {
	FORMAT_VERBOSE,
	FORMAT_TERSE,
	FORMAT_MACHINE,
	FORMAT_URL,
	FORMAT_SILENT,
	SHELL_FORMATS
};
extern const char *const shell_format_words[SHELL_FORMATS + 1];

/* Files, one after the other; zeroes at first. The slices are of rows before. */
struct shell_listing {
	enum shell_layout layout;
	enum shell_format format;
	struct arena *arena; /* for paths */
	bool any;
	struct str host, folder;
};
void shell_layout_file(struct shell_listing *l, const struct archie_row *row, struct buf *out);
void shell_layout_site(enum shell_format format, const struct archie_row *row, struct buf *out);
void shell_layout_whatis(const struct archie_row *row, unsigned cols, struct buf *out);
void shell_layout_domains(enum shell_format format, const struct domains *d, struct buf *out);

/* Help (shell_help.c). */

int shell_run_help(struct shell *s, const struct shell_call *c);
/* A line while s->in_help. */
void shell_help_line(struct shell *s, struct str line);
void shell_help_prompt(const struct shell *s, struct buf *out);
/* Our own manual page, out of the same texts. */
void shell_manual(bool roff, struct buf *out);

/* Texts that we bring along (shell_texts.c). */

struct str shell_own_help(void), shell_own_mail_help(void);
