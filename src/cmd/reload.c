#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/supervisor.h"
#include "role/notify.h"

#include <stdio.h>

enum { MOST_CONF = 1 << 20 };

int supervisor_write_conf(const struct supervisor *s, const struct up_plan *plan, struct err *err)
{
	struct buf text = BUF_INIT(MOST_CONF);
	config_write(plan->config, false, &text);
	int rc = text.over ? err_set(err, ERR_USAGE, "the configuration is longer than %d bytes",
				     MOST_CONF)
			   : file_replace(s->conf, buf_str(&text), 0600, err);
	buf_free(&text);
	FAULT("up.conf.written");
	return rc;
}

/* What is open and locked stays where it is. */
static int same_data(const struct supervisor *s, const struct config *config, struct err *err)
{
	char data[sizeof s->conf];
	if (cmd_data_dir(config, data, sizeof data, err) < 0)
		return -1;
	if (strcmp(data, s->data) == 0)
		return 0;
	return err_set(err, ERR_USAGE, "data: cannot change from %s to %s while garner runs",
		       s->data, data);
}

static int make_plan(const struct supervisor *s, struct up_plan *ret, struct err *err)
{
	struct config *config;
	struct up_plan plan;
	if (cmd_config_quiet(s->call, &config, err) < 0)
		return -1;
	if (same_data(s, config, err) < 0 ||
	    up_plan_make(&plan, s->call->program, &config, &s->plan, err) < 0) {
		config_free(&config);
		return -1;
	}
	if (supervisor_write_conf(s, &plan, err) < 0) {
		up_plan_free(&plan);
		return -1;
	}
	*ret = plan;
	return 0;
}

static void take_plan(struct supervisor *s, struct up_plan *plan)
{
	for (size_t i = 0; i < s->call->program->nroles; i++) {
		struct child *c = &s->child[i];
		c->wanted = up_plan_lists(plan, i);
		if (c->wanted && c->state != CHILD_STOPPED &&
		    up_plan_differs(&s->plan, plan, c->role))
			c->stale = true;
	}
	up_plan_free(&s->plan);
	s->plan = *plan;
	s->settled = false;
	cmd_log_apply(s->plan.config);
}

static void count(const struct supervisor *s, size_t which)
{
	counters_add(s->counters, s->call->program->nroles * UP_PER_ROLE + which, 1);
}

void supervisor_reload(struct supervisor *s)
{
	struct up_plan plan;
	struct err err;
	char text[64];
	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
	notify_send(text);
	if (make_plan(s, &plan, &err) < 0) {
		log_error(UP, "reload refused, everything stays as it is",
			  KV_TEXT("reason", err.msg));
		count(s, UP_FAILED_RELOADS);
		notify_send("READY=1");
		return;
	}
	take_plan(s, &plan);
	count(s, UP_RELOADS);
	log_info(UP, "reloaded", KV_UINT("roles", s->plan.nlisted));
	FAULT("up.reloaded");
}
