/* A blocking conversation over a stream socket, for a command, a thread or a confined process: no
 * loop, one peer, two time limits, and a caller who may want to stop. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct endpoint;

enum { CALL_PIECE = 64 << 10 }; /* bytes that call_talk() receives at most at a time */

struct call {
	int fd;            /* -1: not connected. The caller may put in a socket of its own */
	const char *name;  /* of the peer, in messages */
	int64_t silent_us; /* that the peer may take to connect, and then be silent; 0: no limit */
	int64_t until_us;  /* when all has to be over, by clock_mono_us(); 0: no limit */
	/* Called at least every `every_us` (0: 1 s) while waiting and when stop_fd (-1: none) is
	 * readable. true: the call ends. NULL: nobody wants to stop. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
	int64_t every_us;
	int stop_fd;
	bool stopped;     /* it did */
	int64_t asked_us; /* when stop() was called last */
};

/* Connects a non-blocking socket to a Unix socket, at once or not at all (-1 and errno). */
int call_dial_path(const char *path);

/* Connects. ERR_REMOTE: the peer refused or did not accept in time. */
int call_connect(struct call *c, const struct endpoint *to, struct err *err);
/* To the first address of a name that accepts. Names are those of this machine, /etc/hosts
 * included: a person chose the host, not a document. */
int call_connect_name(struct call *c, const char *host, const char *port, struct err *err);
/* Waits until the socket, if there is one, is ready for these events of poll(). Negative: the time
 * is over (ERR_REMOTE), or stop() returned true (ERR_BUSY). */
int call_wait(struct call *c, short events, struct err *err);
/* Sends the bytes. A peer that no longer reads may still say why, so that is no failure. Negative:
 * as call_wait(), or ERR_REMOTE where the connection broke. */
int call_send(struct call *c, struct str bytes, struct err *err);
/* The same, and takes what comes meanwhile and afterwards, until piece() returns true (0; what is
 * not sent by then is lost) or the peer closes (1). */
int call_talk(struct call *c, struct str bytes, bool (*piece)(void *ctx, struct str bytes),
	      void *ctx, struct err *err);
void call_end(struct call *c); /* hangs up; safe to call twice */
