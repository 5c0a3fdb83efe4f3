/* The fetch of a robots.txt, on behalf of all who wait for it. */
#include "fetch/robot_inner.h"
#include "fetch/robots.h"

#include <stdio.h>

#define SYNC_US (2 * US_PER_S) /* how long what is known of robots.txt may stay unwritten */

/* One byte more than is read, and a byte order mark: so that it is known whether there was more. */
enum { ROBOTS_REDIRECTS = 5, ROBOTS_BODY = ROBOTS_FILE_MAX + 4 };

struct robots_fetch {
	struct robot *robot;
	struct buf body;
	struct robot_memory_sink sink;
	size_t n;
	char site[URL_SITE_MAX];
};

static void rules_fetched(void *ctx, const struct robot_result *result)
{
	struct robots_fetch *f = ctx;
	struct robots_file file = {
		.outcome = result->outcome,
		.too_many_redirects = result->cause == ROBOT_CAUSE_REDIRECTS,
		.body = buf_str(&f->body),
		.retry_after_us = robot_obeys_retry(result->head->status)
					  ? MAX(result->head->retry_after_us, 0)
					  : 0,
		.not_now_us = result->cause == ROBOT_CAUSE_NOT_NOW ? result->not_now_us : 0};
	struct robot *r = f->robot;
	robots_cache_told(r->parts.robots, (struct str){f->site, f->n}, &file, clock_wall_us());
	if (robots_cache_dirty(r->parts.robots) && !r->sync.set && !r->closing)
		loop_timer_in(r->parts.loop, &r->sync, SYNC_US);
	buf_free(&f->body);
	mem_free(&f);
}

void rules_fetch(const struct job *for_job, struct str site)
{
	struct robot *r = for_job->robot;
	struct robots_fetch *f = mem_alloc(sizeof *f);
	struct robot_limits limits = r->conf.limits;
	char text[URL_SITE_MAX + 16];
	struct err ignored;
	*f = (struct robots_fetch){.robot = r, .body = BUF_INIT(ROBOTS_BODY), .n = site.n};
	memcpy(f->site, site.p, site.n);
	f->sink = robot_memory_sink(&f->body, true);
	snprintf(text, sizeof text, STR_FMT "/robots.txt", STR_ARG(site));
	limits.redirects = ROBOTS_REDIRECTS;
	limits.body = ROBOTS_BODY;
	struct robot_job job = {.url = str_of(text),
				.limits = &limits,
				.sink = &f->sink.sink,
				.rule = for_job->has_rule ? &for_job->rule : NULL,
				.patience_us = for_job->patience_us,
				.flags = ROBOT_NO_ROBOTS | (unsigned)JOB_ROBOTS_TXT |
					 (for_job->flags & ROBOT_KEEP) |
					 (job_waits_here(for_job) ? (unsigned)ROBOT_WAIT : 0)};
	r->stats.robots_files++;
	ENSURE(robot_fetch(r, &job, rules_fetched, f, &ignored) == 0);
}

void rules_sync(void *robot)
{
	struct robot *r = robot;
	struct err ignored; /* it is a cache: the next question finds the site not known */
	(void)robots_cache_sync(r->parts.robots, &ignored);
}
