/* The frame of a role, from the start to the end of its loop. It reports readiness once the role
 * has made its parts and owns the signals, and the end as soon as it begins, so that a role that
 * drains is seen to stop. */
#include "net/role_loop.h"

#include "net/server.h"
#include "role/notify.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#define TELL_US US_PER_S

int role_loop_open(struct role_loop *r, struct err *err)
{
	return loop_new(&r->loop, NULL, err);
}

int role_loop_socket(struct role_loop *r, const struct tls_conf *conf, int *ret_fd, struct err *err)
{
	int fd = role_fd(r->env, "listen");
	if (fd < 0)
		return err_set(err, ERR_USAGE, "%s.listen is empty: there is nothing to do",
			       r->env->name);
	if (tls_new(&r->tls, conf, true, err) < 0 || server_may_listen(fd, r->tls, err) < 0)
		return -1;
	*ret_fd = fd;
	return 0;
}

static void on_signal(void *ctx, int number)
{
	struct role_loop *r = ctx;
	(void)number;
	notify_send("STOPPING=1");
	if (r->drain)
		r->drain(r->ctx);
	else
		loop_stop(r->loop);
}

int role_loop_run(struct role_loop *r, struct err *err)
{
	/* SIGHUP is the supervisor's business, and stays blocked */
	if (loop_signal(r->loop, SIGTERM, on_signal, r, err) < 0 ||
	    loop_signal(r->loop, SIGINT, on_signal, r, err) < 0)
		return -1;
	r->timer = (struct loop_timer){.fn = r->tell, .ctx = r->ctx};
	loop_timer_every(r->loop, &r->timer, TELL_US);
	notify_send("READY=1");
	int rc = r->err.code == ERR_NONE ? loop_run(r->loop, err) : 0;
	r->tell(r->ctx);
	loop_timer_stop(&r->timer);
	if (rc == 0 && r->err.code != ERR_NONE) {
		*err = r->err;
		rc = -1;
	}
	return rc;
}

void role_loop_fail(void *role_loop, const struct err *err)
{
	struct role_loop *r = role_loop;
	if (r->err.code == ERR_NONE)
		r->err = *err;
	notify_send("STOPPING=1");
	loop_stop(r->loop);
}

void role_loop_tell_of(const struct role_loop *r, const void *counts, const char *status, ...)
{
	const struct role *role = r->env->role;
	char text[256] = "STATUS=";
	uint64_t now;
	va_list args;
	for (size_t i = 0; i < role->ncounters; i++) {
		memcpy(&now, (const char *)counts + role->counters[i].at, sizeof now);
		counters_set(r->env->counters, i, (int64_t)now);
	}
	va_start(args, status);
	vsnprintf(text + strlen(text), sizeof text - strlen(text), status, args);
	va_end(args);
	notify_send(text);
}

void role_loop_close(struct role_loop *r)
{
	loop_free(&r->loop);
	tls_free(&r->tls);
	tls_free(&r->tls_out);
}
