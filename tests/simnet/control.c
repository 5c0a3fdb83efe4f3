/* The control port: a line in, a line of JSON out; `truth` and `expect` answer with a line for each
 * page and an empty one. */
#include "../unit/verbs.h"
#include "base/jsonw.h"
#include "net/server.h"
#include "role/listen.h"
#include "simnet/sim.h"

#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, REPORT_MAX = 512 << 20 };

struct control {
	struct sim *sim;
	struct http *http;
	struct server *server;
	int fd;
	char name[256];
};

/* A listing that is under way: pages of hosts up to the last. */
struct listing {
	bool on, findable;
	uint32_t host, last_host, page;
	int64_t now_s;
};

static struct control *control_of(struct session *s)
{
	return server_ctx(session_server(s));
}

static void say(struct session *s, const char *key, const char *text)
{
	struct buf out = BUF_INIT(LINE_BYTES);
	struct jsonw j = JSONW_INIT(&out);
	jsonw_object(&j);
	jsonw_put_text(&j, key, text);
	jsonw_object_end(&j);
	buf_add_byte(&out, '\n');
	conn_send(session_conn(s), buf_str(&out));
	buf_free(&out);
}

static void say_time(struct session *s)
{
	conn_printf(session_conn(s), "{\"time\": %.6f}\n",
		    (double)sim_now_us(control_of(s)->sim) / 1e6);
}

static void run_time(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	say_time(s);
}

static void run_advance(struct session *s, const struct str *arg, size_t n)
{
	(void)n;
	uint64_t seconds;
	if (!str_u64(arg[0], &seconds) || seconds > UINT32_MAX) {
		say(s, "error", "advance: expected a number of seconds");
		return;
	}
	control_of(s)->sim->advanced_us += (int64_t)seconds * US_PER_S;
	say_time(s);
}

static void run_report(struct session *s, const struct str *arg, size_t n)
{
	struct control *c = control_of(s);
	struct sim *sim = c->sim;
	struct buf out = BUF_INIT(REPORT_MAX);
	struct jsonw j = JSONW_INIT(&out);
	bool each = n > 0 && str_is(arg[0], "all");
	jsonw_object(&j);
	jsonw_key(&j, "time");
	jsonw_real(&j, (double)sim_now_us(sim) / 1e6);
	jsonw_put_int(&j, "cpu_us", clock_cpu_us());
	jsonw_put_int(&j, "up_us", loop_now_us(sim->loop) - sim->start_us);
	tally_report(sim->tally, sim->world.network, each, &j);
	jsonw_object_end(&j);
	buf_add_byte(&out, '\n');
	conn_send(session_conn(s), buf_str(&out));
	buf_free(&out);
}

static void run_reset(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	tally_reset(control_of(s)->sim->tally);
	say(s, "ok", "counts are zero");
}

static void run_set(struct session *s, const struct str *arg, size_t n)
{
	(void)n;
	struct control *c = control_of(s);
	struct world *w = &c->sim->world;
	struct err err;
	bool alias, profile = str_is(arg[2], "profile");
	int64_t host = world_host(w, arg[1], &alias);
	const struct behaviour *table = profile ? world_profiles : world_robots;
	int value = behaviour_find(table, profile ? NPROFILES : NROBOTS, arg[3]);
	if (!str_is(arg[0], "host") || host < 0 || (!profile && !str_is(arg[2], "robots")))
		say(s, "error", "expected: set host NAME profile|robots VALUE");
	else if (value < 0)
		say(s, "error", "there is no such value; simnet --help lists them");
	else {
		(profile ? w->profile : w->robots)[host] = (uint8_t)value;
		if (http_host_changed(c->http, (uint32_t)host, &err) < 0)
			say(s, "error", err.msg);
		else
			say(s, "ok", table[value].help);
	}
}

/* Sends as much as the peer takes; goes on when it has. */
static void list(struct session *s)
{
	struct listing *l = session_state(s);
	const struct sim *sim = control_of(s)->sim;
	const struct world *w = &sim->world;
	struct buf out = BUF_INIT(LINE_BYTES);
	bool more = true;
	while (l->on && more) {
		struct page p;
		world_page(w, world_content(w, l->host), l->page, l->now_s, &p);
		buf_clear(&out);
		if (!l->findable || truth_findable(sim, l->host, &p, l->now_s))
			truth_page(sim, l->host, l->page, l->now_s, &out);
		if (++l->page == (uint32_t)w->conf.pages) {
			l->page = 0;
			l->on = l->host++ < l->last_host;
		}
		if (!l->on)
			buf_add_byte(&out, '\n');
		more = conn_send(session_conn(s), buf_str(&out));
	}
	buf_free(&out);
	if (!l->on)
		conn_resume(session_conn(s));
}

static void begin(struct session *s, const struct str *arg, size_t n, bool findable)
{
	struct listing *l = session_state(s);
	const struct sim *sim = control_of(s)->sim;
	uint64_t now_s = (uint64_t)sim_now_s(sim);
	bool alias, all = n == 0 || str_is(arg[0], "*");
	int64_t host = all ? 0 : world_host(&sim->world, arg[0], &alias);
	if (host < 0 || (n > 1 && !str_u64(arg[1], &now_s)) || now_s > UINT32_MAX) {
		say(s, "error", "expected: HOST or *, then perhaps a time in seconds since 1970");
		return;
	}
	*l = (struct listing){.on = true,
			      .findable = findable,
			      .host = (uint32_t)host,
			      .last_host = (uint32_t)(all ? sim->world.conf.hosts - 1 : host),
			      .now_s = (int64_t)now_s};
	conn_pause(session_conn(s));
	list(s);
}

static void run_truth(struct session *s, const struct str *arg, size_t n)
{
	begin(s, arg, n, false);
}

static void run_expect(struct session *s, const struct str *arg, size_t n)
{
	begin(s, arg, n, true);
}

static void run_quit(struct session *s, const struct str *arg, size_t n)
{
	(void)arg, (void)n;
	say(s, "ok", "bye");
	loop_stop(control_of(s)->sim->loop);
}

static const struct verb verbs[] = {
	{"report", 0, 1, false, run_report},   {"truth", 0, 2, false, run_truth},
	{"expect", 0, 2, false, run_expect},   {"time", 0, 0, false, run_time},
	{"advance", 1, 1, false, run_advance}, {"set", 4, 4, false, run_set},
	{"reset", 0, 0, false, run_reset},     {"quit", 0, 0, false, run_quit},
};

static void run_line(struct session *s, struct str line)
{
	int rc = verb_run(s, line, verbs, ARRAY_LEN(verbs));
	if (rc != 0)
		say(s, "error", rc == 1 ? "no such verb" : "wrong number of arguments");
}

static const struct server_protocol protocol = {
	.name = "simnet",
	.line = run_line,
	.state_size = sizeof(struct listing),
	.drained = list,
};

static const struct server_limits limits = {.max_connections = 100,
					    .max_per_address = 100,
					    .backlog = 100,
					    .line_max = 4096,
					    .queue_max = (uint64_t)REPORT_MAX * 2,
					    .memory = (uint64_t)REPORT_MAX * 4};

int control_new(struct control **ret, struct sim *s, struct http *http, const char *listen,
		struct err *err)
{
	struct control *c = mem_alloc(sizeof *c);
	*c = (struct control){.sim = s, .http = http, .fd = -1};
	c->server = server_new(s->loop, &protocol, &limits, NULL, c);
	if (listen_open(listen, &c->fd, err) < 0 ||
	    listen_name(c->fd, c->name, sizeof c->name, err) < 0 ||
	    server_listen(c->server, c->fd, err) < 0) {
		control_free(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void control_free(struct control **c)
{
	if (!*c)
		return;
	server_free(&(*c)->server);
	if ((*c)->fd >= 0)
		close((*c)->fd);
	mem_free(c);
}

const char *control_name(const struct control *c)
{
	return c->name;
}
