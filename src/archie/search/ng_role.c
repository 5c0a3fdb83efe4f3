/* The role archie-ng: sessions of ng.h on connections of net/server.h. It stores nothing: if it is
 * stopped or killed, its clients ask again. A connection that inetd accepted is served in the same
 * way on a loop of its own, but does not ask other servers for their loads, which would be more
 * than its client wants. */
#include "archie/ng_role.h"

#include "archie/search/ng.h"
#include "net/net_section.h"
#include "net/role_loop.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define ROLE "archie-ng"

/* Bytes of connections to the queuer and to other servers; the answers of the queuer are bounded by
 * what it may send. */
enum { LINK_MEMORY = 256 << 20 };

struct ng_conf {
	const char *listen;
	struct server_limits limits;
	int64_t drain_us;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct ng_conf, listen), .fallback = "127.0.0.1:1527",
	 .moves = "net.port", .help = "Address on which programs are answered"},
	SERVER_LIMITS_AT(struct ng_conf, limits),
	DRAIN_SPEC(struct ng_conf, drain_us, "2s"),
};

static const struct config_section section = {
	.name = ROLE,
	.help = "Searching archives by a line protocol over TCP, for programs.",
	.size = sizeof(struct ng_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

const char *archie_ng_listen(const struct config *config)
{
	const struct ng_conf *conf = config_get(config, &section);
	return conf->listen;
}

struct ng_now {
	struct ng_counts ng;
	struct server_stats server;
};
#define COUNTED(member) COUNTER_AT(struct ng_now, member)
#define REQUEST(verb, word)                                                          \
	{                                                                            \
		"requests", "verb=\"" word "\"", COUNTER_TOTAL, "requests received", \
			COUNTED(ng.requests[verb])                                   \
	}
static const struct counter_def counter_defs[] = {
	REQUEST(NG_SET, "set"),
	REQUEST(NG_FIND, "find"),
	REQUEST(NG_WHATIS, "whatis"),
	REQUEST(NG_LIST, "list"),
	REQUEST(NG_DOMAINS, "domains"),
	REQUEST(NG_SERVERS, "servers"),
	REQUEST(NG_LOAD, "load"),
	REQUEST(NG_ADDNEWSITE, "addnewsite"),
	REQUEST(NG_CANCEL, "cancel"),
	REQUEST(NG_HELP, "help"),
	REQUEST(NG_QUIT, "quit"),
	{"errors", NULL, COUNTER_TOTAL, "requests answered with an error", COUNTED(ng.errors)},
	{"results", NULL, COUNTER_TOTAL, "files, descriptions and sites sent", COUNTED(ng.results)},
	{"cut", NULL, COUNTER_TOTAL, "answers that were cut", COUNTED(ng.cut)},
	{"accepted", NULL, COUNTER_TOTAL, "connections accepted",
	 COUNTED(server.listeners.accepted)},
	{"refused", NULL, COUNTER_TOTAL, "connections refused for lack of room",
	 COUNTED(server.listeners.refused)},
	{"connections", NULL, COUNTER_GAUGE, "connections now", COUNTED(server.inside)},
	{"held_bytes", NULL, COUNTER_GAUGE, "answers not sent yet", COUNTED(ng.held)},
	{"servers_up", NULL, COUNTER_GAUGE, "other servers that are connected",
	 COUNTED(ng.servers_up)},
};

struct ng_role {
	struct role_loop role;
	const struct ng_conf *conf;
	struct conn_pool *pool;
	struct ng *ng;
	struct server *server;
	bool one; /* serves one connection, and ends with it */
};

static struct ng_session **state_of(struct session *s)
{
	return session_state(s);
}

static void on_opened(struct session *s)
{
	struct ng_role *r = server_ctx(session_server(s));
	const struct addr *from = &session_from(s)->server;
	char text[ADDR_SHOWN] = "";
	if (from->family)
		addr_print(from, text);
	*state_of(s) = ng_session_new(r->ng, session_conn(s), text);
}

static void on_line(struct session *s, struct str line)
{
	ng_session_line(*state_of(s), line);
}

static void on_drained(struct session *s)
{
	ng_session_drained(*state_of(s));
}

static void on_closed(struct session *s, enum conn_end end)
{
	struct ng_role *r = server_ctx(session_server(s));
	(void)end;
	ng_session_free(state_of(s));
	if (r->one)
		loop_stop(r->role.loop);
}

static const struct server_protocol protocol = {
	.name = ROLE,
	.words = {[SERVER_LONG_LINE] = NG_LONG_LINE,
		  [SERVER_FULL] = "ERROR busy too many connections, try again later\n",
		  [SERVER_STOPPING] = "ERROR away the server stops\n"},
	.state_size = sizeof(struct ng_session *),
	.opened = on_opened,
	.line = on_line,
	.drained = on_drained,
	.closed = on_closed,
};

static void tell_counters(void *ctx)
{
	struct ng_role *r = ctx;
	struct ng_now now;
	server_stats(r->server, &now.server);
	ng_counts(r->ng, &now.ng);
	role_loop_tell_of(&r->role, &now, "%" PRIu64 " connections, %" PRIu64 " searches",
			  now.server.inside, now.ng.requests[NG_FIND]);
}

static void role_drained(void *ctx)
{
	struct ng_role *r = ctx;
	loop_stop(r->role.loop);
}

static void role_drain(void *ctx)
{
	struct ng_role *r = ctx;
	server_drain(r->server, r->conf->drain_us, role_drained, r);
}

/* fd: a socket of it, which says what it is called. */
static int ng_open(struct ng_role *r, const struct config *config, const char *data, int fd,
		   struct err *err)
{
	const struct archie_conf *archie = config_get(config, &archie_section);
	char host[ARCHIE_HOST_MOST], self[ARCHIE_HOST_MOST + 16];
	snprintf(self, sizeof self, "%s:%u", archie_host(archie, host), archie_port(fd));
	r->pool = conn_pool_new(r->role.loop, LINK_MEMORY);
	const struct ng_options options = {.pool = r->pool,
					   .data = data,
					   .self = self,
					   .servers = &archie->servers,
					   .asks_servers = !r->one,
					   .mailer = mailer_of(data, config)};
	if (ng_new(&r->ng, &options, err) < 0)
		return -1;
	r->server = server_new(r->role.loop, &protocol, &r->conf->limits, NULL, r);
	return 0;
}

static void ng_close(struct ng_role *r)
{
	server_free(&r->server);
	ng_free(&r->ng);
	conn_pool_free(&r->pool);
}

static int role_make(struct ng_role *r, struct err *err)
{
	const struct role_env *env = r->role.env;
	int fd = role_fd(env, "listen");
	if (fd < 0)
		return err_set(err, ERR_USAGE, ROLE ".listen is empty: there is nothing to do");
	if (role_loop_open(&r->role, err) < 0 || ng_open(r, env->config, env->data, fd, err) < 0)
		return -1;
	return server_listen(r->server, fd, err);
}

static int role_run(struct role_env *env, struct err *err)
{
	struct ng_role r = {
		.role = {.env = env, .tell = tell_counters, .drain = role_drain, .ctx = &r},
		.conf = config_get(env->config, &section)};
	int rc = role_make(&r, err);
	if (rc == 0)
		rc = role_loop_run(&r.role, err);
	ng_close(&r);
	role_loop_close(&r.role);
	return rc;
}

int archie_ng_serve(int fd, const struct config *config, const char *data, struct err *err)
{
	struct ng_role r = {.conf = config_get(config, &section), .one = true};
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, "the connection");
	if (loop_new(&r.role.loop, NULL, err) < 0)
		return -1;
	int rc = ng_open(&r, config, data, fd, err);
	if (rc == 0) {
		server_adopt(r.server, fd);
		rc = loop_run(r.role.loop, err);
	}
	ng_close(&r);
	loop_free(&r.role.loop);
	return rc;
}

const struct role archie_ng_role = {
	.name = ROLE,
	.only_named = true,
	.summary = "answer programs that search archives",
	.description =
		"A line protocol over TCP: send FIND and a string, get a line for each file. It "
		"asks the role archie-queuer, and every minute it asks the servers in "
		"archie.servers for their load, so that clients can choose. Lines: "
		"doc/protocols/archie-ng.md.",
	.section = &section,
	.counters = counter_defs,
	.ncounters = ARRAY_LEN(counter_defs),
	.check = archie_conf_check,
	.run = role_run,
};
