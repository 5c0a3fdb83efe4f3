/* What an answer, or its absence, means for a URL. No state and no clock of its own, so that every
 * case can be tested without a network. */
#include "shepherd/reap_judge.h"

#include "base/clock.h"

#include <stdio.h>

/* It is not to be found: remembered for a while, or, as zombie_errors says, forgotten by the next
 * merge. What was given by hand is tried again with the others. */
static void judge_bury(const struct plan_entry *e, const struct crawl_conf *conf, struct verdict *v)
{
	bool zombie = !(e->item_flags & ITEM_INITIAL) && crawl_is_remembered(conf, v->status);
	v->type = zombie ? ITEM_ZOMBIE : ITEM_ERROR;
	v->op = e->flags & PLAN_REFRESH ? CHANGE_DELETE : CHANGE_NONE;
}

static void judge_leads_to(struct str location, struct verdict *v)
{
	CLEANUP(buf_free) struct buf shown = BUF_INIT(location.n + 1);
	url_show(location, &shown);
	v->leads_on = location.n > 0;
	snprintf(v->reason, sizeof v->reason, "it leads to %.*s", (int)MIN(shown.n, 150),
		 buf_text(&shown));
}

static uint16_t status_of(const struct robot_result *r)
{
	int status = r->head->status;
	bool answered = r->cause == ROBOT_CAUSE_ANSWER || r->outcome == OUTCOME_REDIRECT;
	return (uint16_t)(answered && status > 0 && status < CRAWL_STATUS
				  ? status
				  : CRAWL_STATUS + (int)r->outcome);
}

static void judge_put_off(const struct plan_entry *e, const struct crawl_conf *conf, int64_t now_us,
			  struct verdict *v)
{
	int64_t wait_us = conf->retry_us << MIN(e->retry, 16);
	v->type = ITEM_TEMPORARY;
	v->op = CHANGE_NONE;
	v->due_s = (uint32_t)((now_us + MIN(wait_us, conf->refresh_us)) / US_PER_S);
}

void reap_judge(const struct robot_result *r, const struct plan_entry *e,
		const struct crawl_conf *conf, int64_t now_us, struct verdict *ret)
{
	struct verdict v = {.status = status_of(r)};
	char text[64];
	snprintf(v.reason, sizeof v.reason, "%s%s%.100s", crawl_status_text(v.status, text),
		 r->why[0] ? ": " : "", r->why);
	switch (r->outcome) {
	case OUTCOME_OK:
		v.parse = true;
		break;
	case OUTCOME_UNCHANGED:
		v.type = ITEM_GATHERED;
		v.op = CHANGE_REFRESH;
		break;
	case OUTCOME_REDIRECT:
		judge_bury(e, conf, &v);
		judge_leads_to(r->location, &v);
		break;
	case OUTCOME_TEMPORARY:
	case OUTCOME_SITE_TEMPORARY:
		if (e->retry < conf->retries)
			judge_put_off(e, conf, now_us, &v);
		else
			judge_bury(e, conf, &v);
		break;
	case OUTCOME_PERMANENT:
	case OUTCOME_SITE_PERMANENT:
	case OUTCOME_LIMIT:
	case OUTCOME_ROBOTS:
	case OUTCOME_ADDRESS:
	case OUTCOME_CANCELLED:
	case OUTCOME_COUNT:
		judge_bury(e, conf, &v);
		break;
	}
	*ret = v;
}

void reap_judge_noindex(const struct plan_entry *e, const struct crawl_conf *conf,
			struct verdict *ret)
{
	struct verdict v = {.status = CRAWL_NOINDEX};
	char text[64];
	judge_bury(e, conf, &v);
	snprintf(v.reason, sizeof v.reason, "%s", crawl_status_text(v.status, text));
	*ret = v;
}

void reap_judge_rejected(const struct plan_entry *e, const struct crawl_conf *conf,
			 struct verdict *ret)
{
	struct verdict v = {.status = CRAWL_REJECTED};
	char text[64];
	judge_bury(e, conf, &v);
	v.type = ITEM_ERROR; /* not remembered: the rules know it */
	snprintf(v.reason, sizeof v.reason, "%s", crawl_status_text(v.status, text));
	*ret = v;
}

void reap_judge_lost(const struct plan_entry *e, const struct crawl_conf *conf, const char *why,
		     struct verdict *ret)
{
	struct verdict v = {.status = CRAWL_STATUS + OUTCOME_PERMANENT};
	judge_bury(e, conf, &v);
	snprintf(v.reason, sizeof v.reason, "%.190s", why);
	*ret = v;
}
