/* One session on a loop of its own. Loads of other servers are not known here: to ask them all for
 * each client would be more than the client wants. */
#include "archie/ng_one.h"

#include "archie/ng_role.h"
#include "archie/search/ng.h"

#include <fcntl.h>
#include <sys/socket.h>

struct ng_one {
	struct loop *loop;
	struct conn *conn;
	struct ng_session *session;
};

static void one_line(void *ctx, struct str line)
{
	struct ng_one *o = ctx;
	ng_session_line(o->session, line);
}

static void one_drained(void *ctx)
{
	struct ng_one *o = ctx;
	ng_session_drained(o->session);
}

static void one_long_line(void *ctx)
{
	struct ng_one *o = ctx;
	conn_send(o->conn, STR(NG_LONG_LINE));
}

static void one_closed(void *ctx, enum conn_end end, int sys_errno)
{
	struct ng_one *o = ctx;
	(void)end, (void)sys_errno;
	ng_session_free(&o->session);
	loop_stop(o->loop);
}

static const struct conn_ops ops = {
	.line = one_line, .drained = one_drained, .long_line = one_long_line, .closed = one_closed};

/* The asker's address; "": of this machine, by a Unix socket. */
static void from_of(int fd, char ret[ADDR_SHOWN])
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof at;
	struct addr from;
	ret[0] = 0;
	if (getpeername(fd, (struct sockaddr *)&at, &n) < 0 ||
	    !addr_from_sockaddr((struct sockaddr *)&at, n, &from))
		return;
	addr_print(&from, ret);
	conn_tune_tcp(fd);
}

int ng_one_serve(int fd, const struct config *config, const char *data, struct err *err)
{
	const struct archie_conf *archie = config_get(config, &archie_section);
	const struct server_limits *most = archie_ng_limits(config);
	const struct conn_limits limits = {.line_max = most->line_max,
					   .high_mark = most->queue_max / 16,
					   .queue_max = most->queue_max,
					   .idle_us = most->idle_us,
					   .frame_us = most->line_us};
	struct ng_one o = {0};
	struct ng *ng = NULL;
	char self[ARCHIE_NG_SELF], from[ADDR_SHOWN];
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, "the connection");
	if (loop_new(&o.loop, NULL, err) < 0)
		return -1;
	struct conn_pool *pool = conn_pool_new(o.loop, most->memory);
	archie_ng_self(archie, fd, self);
	const struct ng_options options = {.pool = pool,
					   .data = data,
					   .self = self,
					   .servers = &archie->servers,
					   .mailer = mailer_of(data, config)};
	int rc = ng_new(&ng, &options, err);
	if (rc == 0) {
		from_of(fd, from);
		o.conn = conn_new(pool, fd, NULL, &limits, &ops, &o);
		o.session = ng_session_new(ng, o.conn, from);
		rc = loop_run(o.loop, err);
	}
	ng_free(&ng);
	conn_pool_free(&pool);
	loop_free(&o.loop);
	return rc;
}
