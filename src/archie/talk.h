/* A person at the archive's shell: prompts, lines, pages, what is shown while a search waits, ^C,
 * and the end of those who say nothing for too long. Telnet and the login shell have it in common;
 * where they differ, how bytes come and go, is struct talk_ops.
 *
 *   t = talk_new()   makes the shell, too
 *   talk_run(t)      until the user leaves */
#pragma once
#include "archie/shell.h"

struct talk_ops {
	/* What has come, or what comes until then (a time of clock_mono_us(); one that has passed:
	 * does not wait). 0: *ret_n bytes, of which there may be none; 1: no more will come;
	 * negative: it is time. From here the interface tells of what came other than bytes. */
	int (*read)(void *ctx, int64_t until_us, char *room, size_t cap, size_t *ret_n);
	/* Text to be shown; "\n" is a new line, "\r" and "\b" are what they are on a terminal. May
	 * wait. false: nobody reads any more. */
	bool (*write)(void *ctx, struct str text);
	/* As struct shell_ops has them; NULL: refused. */
	int (*mail)(void *ctx, const struct shell_mail *mail, struct err *err);
	int (*new_site)(void *ctx, struct str host, struct err *err);
};

struct talk_options {
	const struct talk_ops *ops; /* used where they are */
	void *ctx;
	struct archie *archie; /* stays the caller's */
	int fd;                /* readable when read() has something */
	bool prompts;          /* no: a program asks */
	/* Of the shell, but for its ops and ctx. */
	struct shell_options shell;
};

struct talk;

struct talk *talk_new(const struct talk_options *options);
void talk_free(struct talk **t);
void talk_run(struct talk *t);
struct shell *talk_shell(struct talk *t);

/* What the interface has learnt, also from inside read(). */

/* Whether characters come as they are typed, and nobody else echoes them: lines are edited, a
 * spinner turns, one key turns a page. At first no. */
void talk_keys(struct talk *t, bool keys);
/* The terminal; the shell is told when it is at its prompt. */
void talk_terminal(struct talk *t, const struct shell_terminal *terminal);
void talk_interrupt(struct talk *t); /* as ^C */
/* The server wants to end it. The reason is a line for the user, without "# "; it lasts. */
void talk_leave(struct talk *t, const char *reason);
