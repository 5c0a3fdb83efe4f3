/* garner with one role more: a line protocol, as small as they come. The scenes of the line server
 * and the benchmark talk to it. */
#include "../unit/verbs.h"
#include "cmd/command.h"
#include "net/net_section.h"
#include "net/role_loop.h"
#include "net/server.h"

enum { CHUNK = 1024 };

struct lines_conf {
	const char *listen, *second;
	struct server_limits limits;
	struct tls_conf tls;
	int64_t drain_us;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct lines_conf, listen), .fallback = "127.0.0.1:0",
	 .help = "Where it answers"},
	{"second", VALUE_LISTEN_AT(struct lines_conf, second), .help = "And where else"},
	SERVER_LIMITS_AT(struct lines_conf, limits),
	TLS_SPECS(struct lines_conf, tls),
	DRAIN_SPEC(struct lines_conf, drain_us, "5s"),
};

static const struct config_section section = {"lines", "A demonstration.",
					      sizeof(struct lines_conf), specs, ARRAY_LEN(specs)};

#define COUNTED(member) COUNTER_AT(struct server_stats, member)
static const struct counter_def counter_defs[] = {
	{"accepted", NULL, COUNTER_TOTAL, "Connections that came in", COUNTED(listeners.accepted)},
	{"refused", NULL, COUNTER_TOTAL, "Connections over a limit", COUNTED(listeners.refused)},
	{"frames", NULL, COUNTER_TOTAL, "Lines", COUNTED(conns.frames)},
	{"connections", NULL, COUNTER_GAUGE, "Connections now", COUNTED(inside)},
	{"memory_bytes", NULL, COUNTER_GAUGE, "Memory of connections now", COUNTED(conns.memory)},
};

/* The protocol: a state, a function per verb, a table. */

struct state {
	uint64_t left; /* chunks that are yet to be sent */
};

static void run_echo(struct session *s, const struct str *arg, size_t n)
{
	(void)n;
	conn_send(session_conn(s), arg[0]);
	conn_send(session_conn(s), STR("\n"));
}

/* Sends as much as the peer takes; goes on when it has. */
static void fill(struct session *s)
{
	static const char chunk[CHUNK] = {[0 ... CHUNK - 2] = '.', '\n'};
	struct state *state = session_state(s);
	bool more = true;
	while (state->left && more) {
		state->left--;
		more = conn_send(session_conn(s), (struct str){chunk, CHUNK});
	}
	if (state->left == 0)
		conn_resume(session_conn(s));
}

static void run_fill(struct session *s, const struct str *arg, size_t n)
{
	(void)n;
	struct state *state = session_state(s);
	if (!str_u64(arg[0], &state->left)) {
		conn_send(session_conn(s), STR("error: a number, please\n"));
		return;
	}
	conn_pause(session_conn(s)); /* the next line has to wait for the last chunk */
	fill(s);
}

static void run_memory(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	struct server_stats stats;
	server_stats(session_server(s), &stats);
	conn_printf(session_conn(s), "%ju now %ju peak %ju connections\n",
		    (uintmax_t)stats.conns.memory, (uintmax_t)stats.conns.memory_peak,
		    (uintmax_t)stats.inside);
}

static void run_quit(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	conn_send(session_conn(s), STR("bye\n"));
	conn_finish(session_conn(s));
}

static const struct verb verbs[] = {
	{"echo", 1, 1, true, run_echo},
	{"fill", 1, 1, false, run_fill},
	{"memory", 0, 0, false, run_memory},
	{"quit", 0, 0, false, run_quit},
};

static void run_line(struct session *s, struct str line)
{
	static const char *const wrong[] = {NULL, "error: no such command\n",
					    "error: wrong number of arguments\n"};
	int rc = verb_run(s, line, verbs, ARRAY_LEN(verbs));
	if (rc != 0)
		conn_send(session_conn(s), str_of(wrong[rc]));
}

static const struct server_protocol protocol = {.name = "lines",
						.line = run_line,
						.greeting = "lines ready\n",
						.state_size = sizeof(struct state),
						.drained = fill};

/* The role: a loop and a server on it. */

struct lines {
	struct role_loop role;
	const struct lines_conf *conf;
	struct server *server;
};

static void tell_counters(void *ctx)
{
	struct lines *l = ctx;
	struct server_stats stats;
	server_stats(l->server, &stats);
	role_loop_tell_of(&l->role, &stats, "%ju connections", (uintmax_t)stats.inside);
}

static void drained(void *ctx)
{
	struct lines *l = ctx;
	loop_stop(l->role.loop);
}

static void lines_drain(void *ctx)
{
	struct lines *l = ctx;
	server_drain(l->server, l->conf->drain_us, drained, l);
}

static int lines_make(struct lines *l, struct err *err)
{
	int fd, second = role_fd(l->role.env, "second");
	if (role_loop_socket(&l->role, &l->conf->tls, &fd, err) < 0 ||
	    (second >= 0 && server_may_listen(second, l->role.tls, err) < 0) ||
	    role_loop_open(&l->role, err) < 0)
		return -1;
	l->server = server_new(l->role.loop, &protocol, &l->conf->limits, l->role.tls, l);
	if (server_listen(l->server, fd, err) < 0)
		return -1;
	return second >= 0 ? server_listen(l->server, second, err) : 0;
}

static int lines_run(struct role_env *env, struct err *err)
{
	struct lines l = {
		.role = {.env = env, .tell = tell_counters, .drain = lines_drain, .ctx = &l},
		.conf = config_get(env->config, &section)};
	int rc = lines_make(&l, err);
	if (rc == 0)
		rc = role_loop_run(&l.role, err);
	server_free(&l.server);
	role_loop_close(&l.role);
	return rc;
}

static const struct role lines_role = {.name = "lines",
				       .summary = "demonstration: a line protocol",
				       .description = "Echoes and fills.",
				       .section = &section,
				       .counters = counter_defs,
				       .ncounters = ARRAY_LEN(counter_defs),
				       .run = lines_run};

int main(int argc, char **argv)
{
	static const struct role *const roles_here[] = {&lines_role};
	const struct program program = {commands, ncommands, roles_here, ARRAY_LEN(roles_here),
					formats,  nformats};
	return cmd_main(&program, argc, argv);
}
