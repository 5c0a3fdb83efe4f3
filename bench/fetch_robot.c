/* fetch-robot LIST PAGES IN-FLIGHT keep|new FOLDER: the same work as fetch-curl by the robot, as a
 * role does it: every request takes a lease in the machine's table (FOLDER/polite), robots.txt of
 * each site is asked (in the warm-up), every answer is read into a result. */
#include "bench.h"

#include "fetch/robot.h"
#include "fetch/robots_cache.h"
#include "net/loop.h"

#include <inttypes.h>

static struct {
	struct loop *loop;
	struct robot *robot;
	char **url;
	long urls, next, total, done, failed;
	unsigned flags;
} run;

static void start(void);

static void done(void *ctx, const struct robot_result *r)
{
	(void)ctx;
	run.done++;
	run.failed += r->outcome != OUTCOME_OK;
	if (r->outcome != OUTCOME_OK && run.failed == 1)
		fprintf(stderr, STR_FMT ": %s (%s)\n", STR_ARG(r->url), outcome_name(r->outcome),
			r->why);
	if (run.next < run.total)
		start();
	else if (run.done == run.total)
		loop_stop(run.loop);
}

static void start(void)
{
	struct robot_job job = {.url = str_of(run.url[run.next++ % run.urls]),
				.flags = ROBOT_WAIT | run.flags};
	struct err err;
	if (robot_fetch(run.robot, &job, done, NULL, &err) < 0)
		die("%s", err.msg);
}

static void go(long slots, long total)
{
	struct err err;
	run.next = run.done = 0;
	run.total = total;
	for (long i = 0; i < slots && run.next < total; i++)
		start();
	if (loop_run(run.loop, &err) < 0)
		die("%s", err.msg);
}

static int read_list(const char *path)
{
	char *line = NULL;
	size_t cap = 0, room = 0;
	FILE *f = fopen(path, "r");
	if (!f)
		return -1;
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
		line[strcspn(line, "\n")] = 0;
		if ((size_t)run.urls == room)
			run.url = realloc(run.url, (room = room * 2 + 64) * sizeof *run.url);
		run.url[run.urls++] = strdup(line);
	}
	fclose(f);
	return run.urls ? 0 : -1;
}

static void settings(struct robot_section_conf *ret, struct arena *arena)
{
	static const char *const networks[] = {"127.0.0.0/8"};
	static const char *const servers[] = {"127.0.0.1:9"};
	value_defaults(robot_section.specs, robot_section.nspecs, arena, ret);
	ret->robot.networks = (struct value_list){networks, 1};
	ret->dns.servers = (struct value_list){servers, 1};
	ret->robot.delay_us = 0;
	ret->robot.concurrent = POLITE_CONCURRENT_MAX;
}

int main(int argc, char **argv)
{
	struct arena arena = ARENA_INIT((size_t)1 << 20);
	struct robot_section_conf conf;
	struct policy *policy;
	struct dns *dns;
	struct polite *polite;
	struct robots_cache *robots;
	struct err err;
	char path[4096];
	if (argc != 6 || read_list(argv[1]) < 0) {
		fprintf(stderr, "usage: fetch-robot LIST PAGES IN-FLIGHT keep|new FOLDER\n");
		return 2;
	}
	long pages = strtol(argv[2], NULL, 10), slots = strtol(argv[3], NULL, 10);
	run.flags = strcmp(argv[4], "keep") == 0 ? ROBOT_KEEP : 0;
	snprintf(path, sizeof path, "%s/polite", argv[5]);
	settings(&conf, &arena);
	struct robots_cache_options cache = {.agent = STR("garner")};
	if (loop_new(&run.loop, NULL, &err) < 0 ||
	    policy_new(&policy, &conf.robot.networks, &err) < 0 ||
	    dns_new(&dns, run.loop, &conf.dns, policy, &err) < 0 ||
	    polite_open(&polite, path, NULL, &err) < 0 ||
	    robots_cache_new(&robots, &cache, &err) < 0)
		die("%s", err.msg);
	struct robot_parts parts = {run.loop, dns, policy, polite, robots};
	if (robot_new(&run.robot, &parts, &conf.robot, &err) < 0)
		die("%s", err.msg);
	go(slots, run.urls < pages ? run.urls : pages); /* to warm up */
	double cpu = bench_cpu_s(), wall = bench_wall_s();
	go(slots, pages);
	printf("%.6f %.6f %ld\n", bench_cpu_s() - cpu, bench_wall_s() - wall, run.failed);
	robot_free(&run.robot);
	polite_close(&polite);
	dns_free(&dns);
	policy_free(&policy);
	loop_free(&run.loop);
	arena_free(&arena);
	return robots_cache_free(&robots, &err) < 0;
}
