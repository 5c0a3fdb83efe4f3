/* The shell of the archive: what a person types at `archie> `, or writes in a mail, and what comes
 * back. One shell serves telnet, mail and the login shell. It has no terminal and opens no files or
 * connections: it asks its interface for everything, through struct shell_ops, and blocks. All its
 * input is bounded.
 *
 *   shell_texts_read()   before the process is confined
 *   s = shell_new()      runs the system's rc and the user's
 *   shell_begin()        banner
 *   while (!shell_line(s, line)) show shell_prompt() and wait for the next line
 *   shell_end()          `# Bye.`; in a mail: sends the output
 *
 * Commands and variables: doc/archie-shell.md. */
#pragma once
#include "archie/archie.h"
#include "archie/domains.h"

enum {
	SHELL_LINE_MOST = 256,       /* bytes of a line, without its end */
	SHELL_VALUE_MOST = 256,      /* of a variable */
	SHELL_TEXT_MOST = 256 << 10, /* of a file in archie/etc */
	SHELL_OUTPUT_MOST = 4 << 20, /* of output kept for `mail`; the rest is left out */
	SHELL_LIST_MOST = 5000,      /* sites that `list` shows */
};

enum shell_mode { SHELL_INTERACTIVE, SHELL_EMAIL, SHELL_SYSTEM_RC, SHELL_USER_RC, SHELL_MODES };
enum shell_layout { SHELL_3_5, SHELL_3_0, SHELL_LAYOUTS };
extern const char *const shell_layout_words[SHELL_LAYOUTS + 1]; /* "3.5" "3.0" NULL */

/* Texts by the administrator. */
struct shell_texts {
	struct str rc;                       /* archierc */
	struct str user_rc;                  /* a user's own; shell_texts_read() leaves it empty */
	struct str motd, servers, mail_help; /* motd.telnet, serverlist, email.help */
	struct str man_ascii, man_roff;      /* replace our own manual page */
	struct domains domains;              /* ardomains.cf */
	struct str mail_from;                /* sender of our mails, set by the rc; "": not set */
};
/* Reads the files in archie/etc below the data directory; the rc can name others (`set motd_file
 * etc/motd`). Our own text replaces a file that does not exist or cannot be read. `warnings` gets a
 * line for each mistake in the files and the rc. Everything lies in the arena, which needs at most
 * SHELL_TEXTS_MOST. */
enum { SHELL_TEXTS_MOST = 4 << 20 };
void shell_texts_read(const char *data, struct arena *arena, struct shell_texts *ret,
		      struct buf *warnings);

/* A mail to be sent. */
struct shell_mail {
	struct str to;      /* as the user gave it; not checked */
	struct str command; /* for `Subject: archie [COMMAND] part 1 of 1` */
	struct str text;
	bool compress, encode;   /* compress(1), uuencode(1); never the first alone */
	uint64_t max_split_size; /* bytes of a part */
};

/* The kind of a text, for the interface that shows it. */
enum shell_text {
	SHELL_NOTICE, /* lines that begin with `# `, and chatter */
	SHELL_RESULT, /* the result: goes through the pager if `pager` is set */
	SHELL_HELP,   /* help: the same */
};

struct shell_terminal {
	struct str type; /* known to shell_knows_terminal() */
	unsigned rows, cols;
	bool pager;
};

/* The interface. All but ask and print may be NULL; in a mail print may be, too. */
struct shell_ops {
	/* Shows whole lines, which end in "\n" and have no other control characters than tabs.
	 * false: the reader has seen enough; the rest is left out. */
	bool (*print)(void *ctx, struct str text, enum shell_text what);
	/* As archie_call(). If ask->verbose: shows the place in the queue (shell_queue_text()) and
	 * a spinner. ARCHIE_CANCELLED if the user interrupts it. */
	int (*ask)(void *ctx, const struct archie_ask *ask, struct arena *arena,
		   struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err);
	/* Sends it. Negative: err has the reason for the user. NULL: mails are refused. */
	int (*mail)(void *ctx, const struct shell_mail *mail, struct err *err);
	/* Requests that a site be indexed; as mail(). */
	int (*new_site)(void *ctx, struct str host, struct err *err);
	/* Called at shell_begin(), and when `term`, `pager` or `stty erase` changes. */
	void (*terminal)(void *ctx, const struct shell_terminal *t);
	void (*erase)(void *ctx, char c);
};

struct shell_options {
	enum shell_mode mode; /* SHELL_INTERACTIVE or SHELL_EMAIL */
	enum shell_layout layout;
	const char *host;                /* name of this server for users; NULL: localhost */
	const struct shell_texts *texts; /* must outlive the shell */
	const struct shell_ops *ops;     /* likewise */
	void *ctx;
	struct str from;                /* the user's address, for quotas of the queue */
	int niceness;                   /* of searches: ARCHIE_NICE_MOST for mails */
	struct str mailto;              /* the first value of mailto; "": none */
	struct shell_terminal terminal; /* as far as known; zeroes: dumb 24 80 */
	char erase;                     /* 0: ^H */
};

/* Also reads the time zone, before the process is confined. */
struct shell *shell_new(const struct shell_options *options);
void shell_free(struct shell **s);

void shell_begin(struct shell *s);
/* Runs a line, given without its end; refuses it if too long. 1: the user leaves. */
int shell_line(struct shell *s, struct str line);
/* "archie> ", "help> ", "help set> ". Valid until the next line. */
struct str shell_prompt(struct shell *s);
/* Whether this line belongs in the history: it is not empty. */
bool shell_remembers(struct str line);
/* ^C at the prompt: leaves help. */
void shell_interrupt(struct shell *s);
/* The end of input, or ^D. 1: the user leaves. 0: it just left help. */
int shell_eof(struct shell *s);
/* Call it once, at `bye` and at the end of input. In a mail: sends the output, or the help text if
 * the mail asked for nothing, unless `mail` has sent everything already; returns what mail() did.
 */
int shell_end(struct shell *s, struct err *err);

/* The value of a variable as `show` prints it; of a boolean "set". p is NULL: not set. */
struct str shell_value(const struct shell *s, const char *name);
uint64_t shell_number(const struct shell *s, const char *name); /* of a number */
/* Sets type and size of the terminal, as a silent `set term`. An unknown type is ignored. */
void shell_terminal_is(struct shell *s, const struct shell_terminal *t);
bool shell_knows_terminal(struct str type);

/* For ask(): "# Your queue position: 3\n# Estimated time for completion: 1 minute, 2 seconds.\n" */
void shell_queue_text(uint64_t position, int64_t seconds, struct buf *out);
/* Shown after it: this text, then the two characters in turn, each over the last, every half
 * second.
 */
#define SHELL_WORKING "working...  "
#define SHELL_SPINNER "=O"
enum { SHELL_SPIN_US = 500000 };
