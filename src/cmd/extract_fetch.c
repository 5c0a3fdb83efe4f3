#include "cmd/extract_fetch.h"

#include "base/file.h"
#include "fetch/robot_section.h"
#include "fetch/robots_cache.h"
#include "net/loop.h"

#include <limits.h>

struct fetch {
	struct robot_conf conf;
	struct loop *loop;
	struct policy *policy;
	struct dns *dns;
	struct polite *polite;
	struct robots_cache *robots;
	struct robot *robot;
	struct robot_memory_sink sink;
	struct extract_fetched *ret;
	struct err err; /* code ERR_NONE: it was fetched */
};

/* The header, put together from what the robot has understood of it. */
static void put_robots(const struct robot_tag *tag, struct buf *out)
{
	for (int i = 0; i < ROBOT_NDIRECTIVES; i++)
		if (tag->set & 1u << i)
			buf_printf(out, "%s%s", out->n ? "," : "",
				   robot_directive_name((enum robot_directive)i));
}

static void fetched(void *ctx, const struct robot_result *r)
{
	struct fetch *f = ctx;
	loop_stop(f->loop);
	buf_add_str(&f->ret->url, r->url);
	buf_add_text(&f->ret->content_type, r->head->mime);
	if (r->head->charset[0])
		buf_printf(&f->ret->content_type, "; charset=%s", r->head->charset);
	put_robots(&r->head->tag, &f->ret->robots);
	if (r->outcome == OUTCOME_OK)
		return;
	err_set(&f->err, ERR_REMOTE, "not fetched: %s, %s%s%s (status %d)",
		outcome_name(r->outcome), robot_cause_name(r->cause), r->why[0] ? ": " : "", r->why,
		r->head->status);
}

static int open_tables(struct fetch *f, const struct config *config, struct err *err)
{
	char data[PATH_MAX], path[PATH_MAX + 32];
	struct str agent = str_of(f->conf.agent);
	bool busy;
	if (cmd_data_dir(config, data, sizeof data, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/run", data);
	if (dir_make(path, 0755, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/run/polite", data);
	if (polite_open(&f->polite, path, NULL, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/run/robots", data);
	struct robots_cache_options robots = {.path = path,
					      .agent = str_head(agent, str_find_byte(agent, '/')),
					      .now_us = clock_wall_us()};
	return robots_cache_new(&f->robots, &robots, &busy, err);
}

static int run_fetch(struct fetch *f, const struct config *config, struct str url, struct err *err)
{
	const struct robot_section_conf *conf = config_get(config, &robot_section);
	f->conf = conf->robot;
	if (loop_new(&f->loop, NULL, err) < 0 ||
	    policy_new(&f->policy, &f->conf.networks, err) < 0 ||
	    dns_new(&f->dns, f->loop, &conf->dns, f->policy, err) < 0 ||
	    open_tables(f, config, err) < 0)
		return -1;
	struct robot_parts parts = {f->loop, f->dns, f->policy, f->polite, f->robots};
	if (robot_new(&f->robot, &parts, &f->conf, err) < 0)
		return -1;
	f->sink = robot_memory_sink(&f->ret->body, false);
	struct robot_job job = {.url = url, .sink = &f->sink.sink, .flags = ROBOT_WAIT};
	if (robot_fetch(f->robot, &job, fetched, f, err) < 0 || loop_run(f->loop, err) < 0)
		return -1;
	if (f->err.code == ERR_NONE)
		return 0;
	*err = f->err;
	return -1;
}

int extract_fetch(const struct config *config, struct str url, struct extract_fetched *ret,
		  struct err *err)
{
	struct fetch f = {.ret = ret};
	struct err ignored;
	int rc = run_fetch(&f, config, url, err);
	robot_free(&f.robot);
	if (f.robots)
		(void)robots_cache_free(&f.robots, &ignored); /* it is asked again then */
	polite_close(&f.polite);
	dns_free(&f.dns);
	policy_free(&f.policy);
	loop_free(&f.loop);
	return rc;
}
