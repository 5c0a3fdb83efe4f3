#include "cmd/extract_fetch.h"

#include "fetch/kit.h"

#include <limits.h>

struct fetch {
	struct loop *loop;
	struct kit kit;
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

static int run_fetch(struct fetch *f, const struct config *config, struct str url, struct err *err)
{
	char data[PATH_MAX];
	if (cmd_data_dir(config, data, sizeof data, err) < 0 || loop_new(&f->loop, NULL, err) < 0 ||
	    kit_open(&f->kit, f->loop, data, config_get(config, &robot_section), err) < 0)
		return -1;
	f->sink = robot_memory_sink(&f->ret->body, false);
	struct robot_job job = {.url = url, .sink = &f->sink.sink, .flags = ROBOT_WAIT};
	if (robot_fetch(f->kit.robot, &job, fetched, f, err) < 0 || loop_run(f->loop, err) < 0)
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
	(void)kit_close(&f.kit, &ignored); /* robots.txt is asked again then */
	loop_free(&f.loop);
	return rc;
}
