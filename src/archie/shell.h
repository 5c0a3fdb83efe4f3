/* The shell of the archive: what a person types at `archie> `, or writes in a mail, and what comes
 * back. One shell serves telnet, mail and the login shell. It has no terminal, opens no file and no
 * connection: all that it wants of the world it asks of its interface, by struct shell_ops, and
 * waits. Everything that it takes is bounded.
 *
 *   shell_texts_read()   before the process is confined
 *   s = shell_new()      the system's rc has been read then, and the user's
 *   shell_begin()        banner
 *   while (!shell_line(s, line)) shows shell_prompt() and waits for the next line
 *   shell_end()          `# Bye.`; of a mail: what there is to be sent is handed over
 *
 * Commands and variables: doc/archie-shell.md. */
#pragma once
#include "archie/archie.h"
#include "archie/domains.h"

enum {
	SHELL_LINE_MOST = 256,       /* bytes of a line, without its end */
	SHELL_VALUE_MOST = 256,      /* of a variable */
	SHELL_TEXT_MOST = 256 << 10, /* of a file in archie/etc */
	SHELL_OUTPUT_MOST = 4 << 20, /* of what is kept to be mailed; more is left out */
	SHELL_LIST_MOST = 5000,      /* sites that `list` shows */
};

enum shell_mode { SHELL_INTERACTIVE, SHELL_EMAIL, SHELL_SYSTEM_RC, SHELL_USER_RC, SHELL_MODES };
enum shell_layout { SHELL_3_5, SHELL_3_0, SHELL_LAYOUTS };
extern const char *const shell_layout_words[SHELL_LAYOUTS + 1]; /* "3.5" "3.0" NULL */

/* What the administrator wrote. */
struct shell_texts {
	struct str rc;                       /* archierc */
	struct str user_rc;                  /* a user's own; shell_texts_read() leaves it empty */
	struct str motd, servers, mail_help; /* motd.telnet, serverlist, email.help */
	struct str man_ascii, man_roff;      /* the manual page, in place of our own */
	struct domains domains;              /* ardomains.cf */
	struct str mail_from; /* what the rc sets: whose name is on our mails; "": nothing */
};
/* Reads the files in archie/etc below the data directory; another name than the usual one is what
 * the rc says (`set motd_file etc/motd`). A file that does not exist, or cannot be read, leaves our
 * own text; what is wrong with files and rc is a line each in `warnings`. Everything lies in the
 * arena, of which it takes at most SHELL_TEXTS_MOST. */
enum { SHELL_TEXTS_MOST = 4 << 20 };
void shell_texts_read(const char *data, struct arena *arena, struct shell_texts *ret,
		      struct buf *warnings);

/* A mail that is to be sent. */
struct shell_mail {
	struct str to;      /* as it was said; nobody has looked whether it is an address */
	struct str command; /* for `Subject: archie [COMMAND] part 1 of 1` */
	struct str text;
	bool compress, encode;   /* compress(1), uuencode(1); never the first alone */
	uint64_t max_split_size; /* bytes of a part */
};

/* What text is, for an interface that shows it. */
enum shell_text {
	SHELL_NOTICE, /* a line that begins with `# `, and chatter */
	SHELL_RESULT, /* what was asked for: goes through the pager if `pager` is set */
	SHELL_HELP,   /* the same, but of help */
};

struct shell_terminal {
	struct str type; /* one that shell_knows_terminal() */
	unsigned rows, cols;
	bool pager;
};

/* The interface. All but ask and print may be NULL; in a mail print may be, too. */
struct shell_ops {
	/* Text of whole lines, "\n" at their ends, without other control characters than tabs.
	 * false: the reader has enough of it, what would follow is left out. */
	bool (*print)(void *ctx, struct str text, enum shell_text what);
	/* As archie_call(), with whose results it returns. If ask->verbose: shows the place in the
	 * queue by shell_queue_text(), and a spinner. A reader who breaks off: ARCHIE_CANCELLED. */
	int (*ask)(void *ctx, const struct archie_ask *ask, struct arena *arena,
		   struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err);
	/* 0: it is accepted, and kept until it is sent. Negative: err has the reason for the user.
	 * NULL: mails are refused. */
	int (*mail)(void *ctx, const struct shell_mail *mail, struct err *err);
	/* The request that a site be indexed; as mail(). */
	int (*new_site)(void *ctx, struct str host, struct err *err);
	/* What holds at shell_begin(), and when `term`, `pager` or `stty erase` changes it. */
	void (*terminal)(void *ctx, const struct shell_terminal *t);
	void (*erase)(void *ctx, char c);
};

struct shell_options {
	enum shell_mode mode; /* SHELL_INTERACTIVE or SHELL_EMAIL */
	enum shell_layout layout;
	const char *host;                /* of this server, as users call it; NULL: localhost */
	const struct shell_texts *texts; /* used where they are */
	const struct shell_ops *ops;     /* the same */
	void *ctx;
	struct str from;                /* the user's address, for shares of the queue */
	int niceness;                   /* of searches: ARCHIE_NICE_MOST for mails */
	struct str mailto;              /* the first value of mailto; "": none */
	struct shell_terminal terminal; /* what is known of it; zeroes: dumb 24 80 */
	char erase;                     /* 0: ^H */
};

/* Also reads the time zone, so that a process which may open nothing knows it. */
struct shell *shell_new(const struct shell_options *options);
void shell_free(struct shell **s);

void shell_begin(struct shell *s);
/* A line without its end. Too long ones are refused here as well. 0: go on. 1: the user leaves. */
int shell_line(struct shell *s, struct str line);
/* "archie> ", "help> ", "help set> ". Good until the next line. */
struct str shell_prompt(struct shell *s);
/* Whether this line belongs into the history: not an empty one. */
bool shell_remembers(struct str line);
/* ^C at the prompt: leaves help. */
void shell_interrupt(struct shell *s);
/* The end of input, or ^D. 1: the user leaves. 0: help is left, and there may be more. */
int shell_eof(struct shell *s);
/* Once, at `bye` and at the end of input. Of a mail: hands over what there is, or the help text
 * when nothing was asked; nothing when `mail` has sent it all. Returns what mail() did; 0
 * elsewhere. */
int shell_end(struct shell *s, struct err *err);

/* The value of a variable, as `show` has it; of a boolean "set". p is NULL: it is not set. */
struct str shell_value(const struct shell *s, const char *name);
uint64_t shell_number(const struct shell *s, const char *name); /* of a number */
/* The terminal changed its size, or said what it is: as `set term`, in silence. A type that is not
 * known leaves that which was. */
void shell_terminal_is(struct shell *s, const struct shell_terminal *t);
bool shell_knows_terminal(struct str type);

/* For ask(): "# Your queue position: 3\n# Estimated time for completion: 1 minute, 2 seconds.\n" */
void shell_queue_text(uint64_t position, int64_t seconds, struct buf *out);
/* Then this, and one of the two characters after the other, each over the last, every half second.
 */
#define SHELL_WORKING "working...  "
#define SHELL_SPINNER "=O"
enum { SHELL_SPIN_US = 500000 };
