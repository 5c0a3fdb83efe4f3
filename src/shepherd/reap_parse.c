#include "shepherd/reap_inner.h"

#include "base/clock.h"
#include "extract/cage.h"

#include <string.h>

static void parsed(void *ctx, const struct cage_result *result)
{
	struct reap_job *job = ctx;
	struct reap *r = job->reap;
	r->parsing--;
	if (result->end != CAGE_READ)
		reap_count(r, REAP_UNREAD, 1);
	reap_parsed(job, &result->attrs);
}

/* As many of those that wait as there are slots. */
static void submit(struct reap *r)
{
	struct cage_slot *slot;
	while (r->parse_first && cage_take(r->cage, &slot) == 0) {
		struct reap_job *job = r->parse_first;
		r->parse_first = job->parse_next;
		if (!r->parse_first)
			r->parse_last = NULL;
		struct extract_job what = {
			.url = job->url,
			.content_type = job->content_type,
			.robots = job->robots,
			.body = {slot->body, MIN(job->body.n, slot->body_max)},
			.settings = r->o.parse->settings,
		};
		if (what.body.n)
			memcpy(slot->body, job->body.p, what.body.n);
		buf_free(&job->body);
		cage_submit(r->cage, slot, &what, parsed, job, clock_mono_us());
	}
}

void reap_parse(struct reap_job *job)
{
	struct reap *r = job->reap;
	r->parsing++;
	if (r->parse_last)
		r->parse_last->parse_next = job;
	else
		r->parse_first = job;
	r->parse_last = job;
	submit(r);
}

static void ready(void *ctx, unsigned what)
{
	struct reap *r = ctx;
	(void)what;
	cage_poll(r->cage, clock_mono_us());
	submit(r);
}

int reap_parsers_open(struct reap *r, struct err *err)
{
	struct cage_options options = *r->o.parse;
	options.workers = (unsigned)r->o.conf->parsers;
	options.body_max = r->o.robot->robot.limits.body;
	if (cage_new(&r->cage, &options, clock_mono_us(), err) < 0)
		return -1;
	r->cage_io = (struct loop_io){.fn = ready, .ctx = r};
	loop_io_want(r->o.loop, &r->cage_io, cage_fd(r->cage), LOOP_READ);
	return 0;
}

void reap_parsers_close(struct reap *r)
{
	loop_io_end(&r->cage_io);
	cage_free(&r->cage);
}

void reap_parsers_cancel(struct reap *r)
{
	struct err err;
	r->parse_first = r->parse_last = NULL;
	if (cage_under_way(r->cage) == 0)
		return;
	reap_parsers_close(r);
	if (reap_parsers_open(r, &err) < 0)
		reap_fail(r, &err);
}
