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
	void (*tell)(void *ctx); /* each second, and at the end: role_loop_tell_of() */
	/* Finishes requests in progress, then calls loop_stop(); called again at the next signal.
	 * NULL: the loop stops at once. */
	void (*drain)(void *ctx);
	void *ctx;
	/* Private; role_loop_close() also frees a tls that the owner has put here. */
	struct loop *loop;
	struct tls *tls;     /* of role_loop_socket() or tls_new(); NULL: none */
	struct tls *tls_out; /* of tls_new(), for connections that the role makes; NULL: none */
	struct loop_timer timer;
	struct err err; /* what ended it; code ERR_NONE: a signal did */
};

int role_loop_open(struct role_loop *r, struct err *err);
/* For roles that must not obey everyone on the network: returns the socket of the setting `listen`
 * after server_may_listen(), and sets r->tls by the settings. ERR_USAGE: the setting is empty. */
int role_loop_socket(struct role_loop *r, const struct tls_conf *conf, int *ret_fd,
		     struct err *err);
/* Reports readiness, then runs until a signal or a failure. */
int role_loop_run(struct role_loop *r, struct err *err);
/* Stops the role: role_loop_run() will return the first such error. role_loop is r, so that this
 * function can be a callback of the role's parts. */
void role_loop_fail(void *role_loop, const struct err *err);
/* Publishes the counters of the role, each from its place in `counts` (COUNTER_AT()), totals since
 * the start, and a line for garner status. */
void role_loop_tell_of(const struct role_loop *r, const void *counts, const char *status, ...)
	PRINTF_LIKE(3, 4);
/* Call it after freeing everything on the loop. Safe if the loop was never opened. */
void role_loop_close(struct role_loop *r);
