/* The role archie-queuer: the processes, counters and signals around archie/queuer.h. Searchers are
 * this very program, `garner archie searcher`, with one end of a socket as standard input; they die
 * with this process.
 *
 * It keeps nothing: on a signal it ends at once, and interfaces ask the next queuer again. Its
 * socket is the supervisor's, so that they find a place to wait meanwhile.
 *
 * It is in this room since only here processes are started. */
#include "cmd/archie/role_queuer.h"

#include "archie/archie_conf.h"
#include "archie/queuer.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/system/proc.h"
#include "role/notify.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

/* Of the searchers that compute for seconds: what is answered in a moment goes before. */
enum { DEAR_NICE = 5 };

enum {
	COUNT_WHAT,                             /* as many as there are of enum archie_what */
	COUNT_TYPE = COUNT_WHAT + ARCHIE_WHATS, /* of enum names_type, without whatis */
	COUNT_REFUSED = COUNT_TYPE + NAMES_WHATIS,
	COUNT_ANSWERS = COUNT_REFUSED + ARCHIE_CANCELLED,
	COUNT_CUT,
	COUNT_SEARCHES,
	COUNT_AGAIN,
	COUNT_DEATHS,
	COUNT_OVERRUNS,
	COUNT_CANCELS,
	COUNT_HUNG_UP,
	COUNT_DROPPED,
	COUNT_WAIT_US,
	COUNT_SEARCH_US,
	COUNT_TOTALS,
	COUNT_WAITING = COUNT_TOTALS,
	COUNT_RUNNING,
	COUNT_SEARCHERS,
	COUNT_CONNECTIONS,
};

#define WHAT(i, word) \
	[COUNT_WHAT + (i)] = {"requests", "what=\"" word "\"", COUNTER_TOTAL, "requests taken"}
#define TYPE(i, word) \
	[COUNT_TYPE + (i)] = {"finds", "type=\"" word "\"", COUNTER_TOTAL, "requests for files"}
#define REFUSED(i, word)                                                           \
	[COUNT_REFUSED + (i)-1] = {"refused", "cause=\"" word "\"", COUNTER_TOTAL, \
				   "requests without an answer"}
static const struct counter_def counters[] = {
	WHAT(ARCHIE_FIND, "find"),
	WHAT(ARCHIE_WHATIS, "whatis"),
	WHAT(ARCHIE_SITES, "sites"),
	WHAT(ARCHIE_SITE, "site"),
	WHAT(ARCHIE_FOLDER, "folder"),
	TYPE(NAMES_EXACT, "exact"),
	TYPE(NAMES_SUB, "sub"),
	TYPE(NAMES_SUBCASE, "subcase"),
	TYPE(NAMES_REGEX, "regex"),
	TYPE(NAMES_EXACT_SUB, "exact_sub"),
	TYPE(NAMES_EXACT_SUBCASE, "exact_subcase"),
	TYPE(NAMES_EXACT_REGEX, "exact_regex"),
	REFUSED(ARCHIE_BAD, "bad"),
	REFUSED(ARCHIE_BUSY, "busy"),
	REFUSED(ARCHIE_FAILED, "failed"),
	REFUSED(ARCHIE_EMPTY, "empty"),
	REFUSED(ARCHIE_CANCELLED, "cancelled"),
	[COUNT_ANSWERS] = {"answers", NULL, COUNTER_TOTAL, "requests that were answered"},
	[COUNT_CUT] = {"cut", NULL, COUNTER_TOTAL, "answers that are not whole"},
	[COUNT_SEARCHES] = {"searches", NULL, COUNTER_TOTAL, "requests given to searchers"},
	[COUNT_AGAIN] = {"searched_again", NULL, COUNTER_TOTAL,
			 "requests whose searcher ended, given to another"},
	[COUNT_DEATHS] = {"searcher_deaths", NULL, COUNTER_TOTAL, "searchers that were replaced"},
	[COUNT_OVERRUNS] = {"searcher_overruns", NULL, COUNTER_TOTAL,
			    "searchers that were killed, since they did not keep the time limit"},
	[COUNT_CANCELS] = {"cancels", NULL, COUNTER_TOTAL, "requests cancelled by a word"},
	[COUNT_HUNG_UP] = {"hung_up", NULL, COUNTER_TOTAL, "requests whose asker hung up"},
	[COUNT_DROPPED] = {"dropped", NULL, COUNTER_TOTAL,
			   "interfaces that did not read what they asked for"},
	[COUNT_WAIT_US] = {"wait_microseconds", NULL, COUNTER_TOTAL,
			   "time that answered requests spent in the queue"},
	[COUNT_SEARCH_US] = {"search_microseconds", NULL, COUNTER_TOTAL,
			     "time that answered requests spent with a searcher"},
	[COUNT_WAITING] = {"waiting", NULL, COUNTER_GAUGE, "requests in the queue"},
	[COUNT_RUNNING] = {"running", NULL, COUNTER_GAUGE, "requests that searchers have"},
	[COUNT_SEARCHERS] = {"searchers", NULL, COUNTER_GAUGE, "searchers"},
	[COUNT_CONNECTIONS] = {"connections", NULL, COUNTER_GAUGE, "interfaces connected"},
};

struct child {
	struct role_queuer *r;
	size_t number;
	struct proc proc;
	struct loop_io io;
};

struct role_queuer {
	struct role_env *env;
	const struct archie_conf *conf;
	struct loop *loop;
	struct queuer *queuer;
	struct child child[QUEUER_SEARCHERS_MOST];
	size_t searchers;
	struct loop_timer tell;
	uint64_t told[COUNT_TOTALS];
	char folder[PATH_MAX], pid_path[PATH_MAX];
	struct err err; /* what ended it; code ERR_NONE: a signal did */
};

/* Searchers */

static void child_ended(void *ctx, unsigned what)
{
	struct child *c = ctx;
	siginfo_t info = {0};
	char reason[64];
	struct err err;
	(void)what;
	loop_io_end(&c->io);
	if (proc_reap(&c->proc, &info, &err) < 0) {
		c->r->err = err;
		loop_stop(c->r->loop);
		return;
	}
	proc_reason(&info, reason, sizeof reason);
	queuer_ended(c->r->queuer, c->number, reason);
}

static int child_start(void *ctx, size_t number, int fd, struct err *err)
{
	struct role_queuer *r = ctx;
	struct child *c = &r->child[number];
	struct arena arena = ARENA_INIT((size_t)16 << 20);
	char name[] = "garner", archie[] = "archie", searcher[] = "searcher";
	char *const argv[] = {name, archie, searcher, r->folder, NULL};
	struct launch launch;
	launch_make(&(struct launch_input){.self = "garner",
					   .role = "archie",
					   .conf = "",
					   .env = environ,
					   .notify = ""},
		    &arena, &launch);
	const struct proc_launch how = {.argv = argv, .env = launch.env, .null_fd = fd};
	int rc = proc_start(&c->proc, &how, err);
	arena_free(&arena);
	if (rc < 0)
		return -1;
	if (number > 0)
		(void)setpriority(PRIO_PROCESS, (id_t)c->proc.pid, DEAR_NICE);
	c->io = (struct loop_io){.fn = child_ended, .ctx = c};
	loop_io_want(r->loop, &c->io, c->proc.pidfd, LOOP_READ);
	return 0;
}

static void child_kill(void *ctx, size_t number)
{
	struct role_queuer *r = ctx;
	if (r->child[number].proc.pid)
		proc_signal(&r->child[number].proc, SIGKILL);
}

static void queuer_said(void *ctx, const char *what, const char *why)
{
	(void)ctx;
	log_warn(ROLE, what, KV_TEXT("why", why ? why : ""));
}

static const struct queuer_ops ops = {
	.start = child_start, .kill = child_kill, .said = queuer_said};

static void children_end(struct role_queuer *r)
{
	siginfo_t info;
	struct err ignored;
	for (size_t i = 0; i < r->searchers; i++) {
		if (!r->child[i].proc.pid)
			continue;
		loop_io_end(&r->child[i].io);
		proc_signal(&r->child[i].proc, SIGKILL); /* it writes nothing */
		(void)proc_reap(&r->child[i].proc, &info, &ignored);
	}
}

/* Numbers */

static void totals_of(const struct queuer_counts *c, uint64_t ret[COUNT_TOTALS])
{
	for (size_t i = 0; i < ARCHIE_WHATS; i++)
		ret[COUNT_WHAT + i] = c->asked[i];
	for (size_t i = 0; i < NAMES_WHATIS; i++)
		ret[COUNT_TYPE + i] = c->asked_type[i];
	for (size_t i = ARCHIE_BAD; i <= ARCHIE_CANCELLED; i++)
		ret[COUNT_REFUSED + i - 1] = c->refused[i];
	ret[COUNT_ANSWERS] = c->answered;
	ret[COUNT_CUT] = c->cut;
	ret[COUNT_SEARCHES] = c->searches;
	ret[COUNT_AGAIN] = c->again;
	ret[COUNT_DEATHS] = c->deaths;
	ret[COUNT_OVERRUNS] = c->overruns;
	ret[COUNT_CANCELS] = c->cancels;
	ret[COUNT_HUNG_UP] = c->hung_up;
	ret[COUNT_DROPPED] = c->dropped;
	ret[COUNT_WAIT_US] = c->wait_us;
	ret[COUNT_SEARCH_US] = c->search_us;
}

static void tell_counters(void *ctx)
{
	struct role_queuer *r = ctx;
	struct queuer_counts c;
	uint64_t totals[COUNT_TOTALS];
	char text[96];
	queuer_counts(r->queuer, &c);
	totals_of(&c, totals);
	for (size_t i = 0; i < COUNT_TOTALS; i++) {
		counters_add(r->env->counters, i, totals[i] - r->told[i]);
		r->told[i] = totals[i];
	}
	counters_set(r->env->counters, COUNT_WAITING, (int64_t)c.waiting);
	counters_set(r->env->counters, COUNT_RUNNING, (int64_t)c.running);
	counters_set(r->env->counters, COUNT_SEARCHERS, (int64_t)c.searchers);
	counters_set(r->env->counters, COUNT_CONNECTIONS, (int64_t)c.connections);
	snprintf(text, sizeof text, "STATUS=%" PRIu64 " waiting, %" PRIu64 " searchers", c.waiting,
		 c.searchers);
	notify_send(text);
}

/* Running */

static void on_signal(void *ctx, int number)
{
	struct role_queuer *r = ctx;
	if (number != SIGHUP)
		loop_stop(r->loop);
}

static size_t searchers_of(const struct archie_conf *conf)
{
	cpu_set_t cpus;
	if (conf->searchers > 0)
		return (size_t)MAX(conf->searchers, INT64_C(2));
	int n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
	return (size_t)MIN(MAX(n, 2), QUEUER_SEARCHERS_MOST);
}

static int write_pid(struct role_queuer *r, struct err *err)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
	return file_replace(r->pid_path, (struct str){text, (size_t)n}, 0644, err);
}

static int queuer_open(struct role_queuer *r, struct err *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	snprintf(r->folder, sizeof r->folder, "%s/archie", r->env->data);
	snprintf(r->pid_path, sizeof r->pid_path, "%s/archie/queuer.pid", r->env->data);
	if (dir_make(r->folder, DIR_MODE, err) < 0 || loop_new(&r->loop, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (loop_signal(r->loop, signals[i], on_signal, r, err) < 0)
			return -1;
	r->searchers = searchers_of(r->conf);
	const struct queuer_options options = {.loop = r->loop,
					       .searchers = r->searchers,
					       .queue_max = (size_t)r->conf->queue_max,
					       .limit_us = r->conf->search_time_limit_us,
					       .ops = &ops,
					       .ctx = r};
	r->queuer = queuer_new(&options);
	return queuer_listen(r->queuer, role_fd(r->env, "run"), err);
}

static int queuer_serve(struct role_queuer *r, struct err *err)
{
	if (queuer_open(r, err) < 0 || write_pid(r, err) < 0)
		return -1;
	r->tell = (struct loop_timer){.fn = tell_counters, .ctx = r};
	loop_timer_every(r->loop, &r->tell, US_PER_S);
	notify_send("READY=1");
	int rc = loop_run(r->loop, err);
	notify_send("STOPPING=1");
	tell_counters(r);
	loop_timer_stop(&r->tell);
	if (rc == 0 && r->err.code != ERR_NONE) {
		*err = r->err;
		rc = -1;
	}
	return rc;
}

static int run(struct role_env *env, struct err *err)
{
	struct err ignored;
	struct role_queuer *r = mem_alloc(sizeof *r);
	*r = (struct role_queuer){.env = env, .conf = config_get(env->config, &archie_section)};
	for (size_t i = 0; i < ARRAY_LEN(r->child); i++)
		r->child[i] = (struct child){.r = r, .number = i, .proc = {.pidfd = -1}};
	int rc = queuer_serve(r, err);
	if (r->loop) {
		queuer_free(&r->queuer);
		children_end(r);
		loop_poll(r->loop);
		loop_free(&r->loop);
	}
	if (r->pid_path[0])
		(void)file_remove(r->pid_path, &ignored);
	mem_free(&r);
	return rc;
}

const struct role archie_queuer_role = {
	.name = "archie-queuer",
	.only_named = true,
	.run_socket = "archie",
	.summary = "decide whose search is next, and search the names of files",
	.description =
		"The interfaces of the archive (telnet, mail, Prospero, TCP, the web) ask it over "
		"the Unix socket run/archie. It keeps their requests in a queue, by niceness and "
		"cost, and has as many searchers look as archie.searchers says; one of them takes "
		"cheap requests only. Its process id is in archie/queuer.pid.",
	.section = &archie_section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = archie_conf_check,
	.run = run,
};
