/* The frame of a role that is one loop: signals, readiness, counters told each second, and how it
 * ends. The role's run() makes its parts on the loop, lets it run, and frees the same list
 * backwards, role_loop_close() last; tests/demo/lines.c is a small one. */
#pragma once
#include "net/loop.h"
#include "net/tls.h"
#include "role/role.h"

struct role_loop {
	/* Set by the owner. */
	struct role_env *env;
	void (*tell)(void *ctx); /* each second, and at the end: role_loop_tell() */
	/* Ends what is under way, then calls loop_stop(); asked again at the next signal. NULL: the
	 * loop stops at once. */
	void (*drain)(void *ctx);
	void *ctx;
	/* Its own; a tls that the owner has made is put here, and freed with the rest. */
	struct loop *loop;
	struct tls *tls;     /* of role_loop_socket() or tls_new(); NULL: none */
	struct tls *tls_out; /* of tls_new(), for connections that the role makes; NULL: none */
	struct loop_timer timer;
	struct err err; /* what ended it; code ERR_NONE: a signal did */
};

int role_loop_open(struct role_loop *r, struct err *err);
/* For roles that must not obey anyone on the network: the socket of the setting `listen`, after
 * server_may_listen() and with r->tls as the settings say. ERR_USAGE: it is empty. */
int role_loop_socket(struct role_loop *r, const struct tls_conf *conf, int *ret_fd,
		     struct err *err);
/* Says that the role is ready, and runs until a signal or a failure ends it. */
int role_loop_run(struct role_loop *r, struct err *err);
/* The role cannot go on: role_loop_run() will return this; of several the first. role_loop: r, so
 * that parts of the role can be given this function. */
void role_loop_fail(void *role_loop, const struct err *err);
/* Each counter of the role as it is now, totals since the start; and a line for garner status. */
void role_loop_tell(const struct role_loop *r, const uint64_t *now, size_t n, const char *status,
		    ...) PRINTF_LIKE(4, 5);
/* The same of a role whose counter_def say where in `counts` each of them is. */
void role_loop_tell_of(const struct role_loop *r, const void *counts, const char *status, ...)
	PRINTF_LIKE(3, 4);
/* After everything on the loop; also when it was not opened. */
void role_loop_close(struct role_loop *r);
