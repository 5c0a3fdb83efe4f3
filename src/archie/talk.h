/* A person at the archive's shell: prompts, lines, pages, the spinner while a search runs, ^C, and
 * automatic logout. Telnet and the login shell share it; they differ in how bytes come and go,
 * which is struct talk_ops.
 *
 *   t = talk_new()   makes the shell as well
 *   talk_run(t)      returns when the user leaves */
#pragma once
#include "archie/shell.h"

struct talk_ops {
	/* Reads what has come, or waits for it until then (of clock_mono_us(); a time in the past:
	 * does not wait). 0: *ret_n bytes, maybe none; 1: the end of input; negative: timed out.
	 * May call the functions below for events that are not bytes. */
	int (*read)(void *ctx, int64_t until_us, char *room, size_t cap, size_t *ret_n);
	/* Shows text; "\n" is a new line, "\r" and "\b" work as on a terminal. May block. false:
	 * the user is gone. */
	bool (*write)(void *ctx, struct str text);
	/* As in struct shell_ops. */
	int (*mail)(void *ctx, const struct shell_mail *mail, struct err *err);
	int (*new_site)(void *ctx, struct str host, struct err *err);
};

struct talk_options {
	const struct talk_ops *ops; /* must outlive it */
	void *ctx;
	struct archie *archie; /* owned by the caller */
	int fd;                /* readable when read() has something */
	bool prompts;          /* false: the user is a program */
	/* Without ops and ctx. */
	struct shell_options shell;
};

struct talk;

struct talk *talk_new(const struct talk_options *options);
void talk_free(struct talk **t);
void talk_run(struct talk *t);
struct shell *talk_shell(struct talk *t);

/* Events, also from inside read(). */

/* Whether characters come as they are typed and nobody else echoes them: then lines can be edited,
 * a spinner turns, and one key turns a page. Off at first. */
void talk_keys(struct talk *t, bool keys);
/* Sets the terminal; the shell learns of it at its next prompt. */
void talk_terminal(struct talk *t, const struct shell_terminal *terminal);
void talk_interrupt(struct talk *t); /* as ^C */
/* Ends the session. reason: a line for the user, without "# "; must outlive it. */
void talk_leave(struct talk *t, const char *reason);
