/* The role archie-queuer: the processes, counters and signals around archie/queuer.h. Searchers are
 * this same program, `garner archie searcher`, with one end of a socket as standard input; they die
 * with this process.
 *
 * It stores nothing: on a signal it ends at once, and interfaces repeat their requests to the next
 * queuer. The supervisor owns its socket, so they have a place to wait in the meantime.
 *
 * The role is in this room because only this room starts processes. */
#include "cmd/archie/role_queuer.h"

#include "archie/archie_conf.h"
#include "archie/queuer.h"
#include "base/file.h"
#include "cmd/system/proc.h"
#include "net/role_loop.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of the searchers that compute for seconds: what is answered in a moment goes before. */
enum { DEAR_NICE = 5 };

#define COUNT(name, labels, kind, member, help)                                    \
	{                                                                          \
		name, labels, kind, help, COUNTER_AT(struct queuer_counts, member) \
	}
#define TOTAL(name, member, help) COUNT(name, NULL, COUNTER_TOTAL, member, help)
#define NOW(name, member, help) COUNT(name, NULL, COUNTER_GAUGE, member, help)
#define WHAT(i, word) \
	COUNT("requests", "what=\"" word "\"", COUNTER_TOTAL, asked[i], "requests taken")
#define TYPE(i, word) \
	COUNT("finds", "type=\"" word "\"", COUNTER_TOTAL, asked_type[i], "requests for files")
#define REFUSED(i, word)                                                  \
	COUNT("refused", "cause=\"" word "\"", COUNTER_TOTAL, refused[i], \
	      "requests without an answer")
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
	TOTAL("answers", answered, "requests that were answered"),
	TOTAL("cut", cut, "answers that are not whole"),
	TOTAL("searches", searches, "requests given to searchers"),
	TOTAL("searched_again", again, "requests whose searcher ended, given to another"),
	TOTAL("searcher_deaths", deaths, "searchers that were replaced"),
	TOTAL("searcher_overruns", overruns,
	      "searchers that were killed, since they did not keep the time limit"),
	TOTAL("cancels", cancels, "requests cancelled by a word"),
	TOTAL("hung_up", hung_up, "requests whose asker hung up"),
	TOTAL("dropped", dropped, "interfaces that did not read what they asked for"),
	TOTAL("wait_microseconds", wait_us, "time that answered requests spent in the queue"),
	TOTAL("search_microseconds", search_us,
	      "time that answered requests spent with a searcher"),
	NOW("waiting", waiting, "requests in the queue"),
	NOW("running", running, "requests that searchers have"),
	NOW("searchers", searchers, "searchers"),
	NOW("connections", connections, "interfaces connected"),
};

struct child {
	struct role_queuer *r;
	size_t number;
	struct proc proc;
	struct loop_io io;
};

struct role_queuer {
	struct role_loop role;
	const struct archie_conf *conf;
	struct queuer *queuer;
	struct child child[QUEUER_SEARCHERS_MOST];
	size_t searchers;
	char folder[PATH_MAX], pid_path[PATH_MAX];
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
		role_loop_fail(&c->r->role, &err);
		return;
	}
	proc_reason(&info, reason, sizeof reason);
	queuer_ended(c->r->queuer, c->number, reason);
}

static int child_start(void *ctx, size_t number, int fd, struct err *err)
{
	struct role_queuer *r = ctx;
	struct child *c = &r->child[number];
	char name[] = "garner", archie[] = "archie", searcher[] = "searcher";
	char *const argv[] = {name, archie, searcher, r->folder, NULL};
	if (proc_start_command(&c->proc, argv, fd, err) < 0)
		return -1;
	if (number > 0)
		(void)setpriority(PRIO_PROCESS, (id_t)c->proc.pid, DEAR_NICE);
	c->io = (struct loop_io){.fn = child_ended, .ctx = c};
	loop_io_want(r->role.loop, &c->io, c->proc.pidfd, LOOP_READ);
	return 0;
}

static void child_kill(void *ctx, size_t number)
{
	struct role_queuer *r = ctx;
	if (r->child[number].proc.pid)
		proc_signal(&r->child[number].proc, SIGKILL);
}

static const struct queuer_ops ops = {.start = child_start, .kill = child_kill};

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

/* Running */

static void tell_counters(void *ctx)
{
	struct role_queuer *r = ctx;
	struct queuer_counts c;
	queuer_counts(r->queuer, &c);
	role_loop_tell_of(&r->role, &c, "%" PRIu64 " waiting, %" PRIu64 " searchers", c.waiting,
			  c.searchers);
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
	const char *data = r->role.env->data;
	snprintf(r->folder, sizeof r->folder, "%s/archie", data);
	snprintf(r->pid_path, sizeof r->pid_path, "%s/archie/queuer.pid", data);
	if (dir_make(r->folder, DIR_MODE, err) < 0 || role_loop_open(&r->role, err) < 0)
		return -1;
	r->searchers = searchers_of(r->conf);
	const struct queuer_options options = {.loop = r->role.loop,
					       .searchers = r->searchers,
					       .queue_max = (size_t)r->conf->queue_max,
					       .limit_us = r->conf->search_time_limit_us,
					       .ops = &ops,
					       .ctx = r};
	r->queuer = queuer_new(&options);
	return queuer_listen(r->queuer, role_fd(r->role.env, "run"), err);
}

static int run(struct role_env *env, struct err *err)
{
	struct err ignored;
	struct role_queuer *r = mem_alloc(sizeof *r);
	*r = (struct role_queuer){.role = {.env = env, .tell = tell_counters, .ctx = r},
				  .conf = config_get(env->config, &archie_section)};
	for (size_t i = 0; i < ARRAY_LEN(r->child); i++)
		r->child[i] = (struct child){.r = r, .number = i, .proc = {.pidfd = -1}};
	int rc = queuer_open(r, err);
	if (rc == 0)
		rc = write_pid(r, err);
	if (rc == 0)
		rc = role_loop_run(&r->role, err);
	if (r->role.loop) {
		queuer_free(&r->queuer);
		children_end(r);
		loop_poll(r->role.loop);
	}
	role_loop_close(&r->role);
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
