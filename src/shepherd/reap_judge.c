/* What an answer, or its absence, means for a URL. No state and no clock of its own, so that every
 * case can be tested without a network. */
#include "shepherd/reap_judge.h"

#include "base/clock.h"

#include <stdio.h>

/* It is not to be found: remembered for a while, or, as zombie_errors says, forgotten by the next
 * merge. What was given by hand is tried again with the others. */
static void judge_bury(const struct plan_entry *e, const struct crawl_conf *conf, struct verdict *v)
{
	bool zombie = !(e->item_flags & ITEM_INITIAL) && code_in(&conf->zombie_errors, v->code);
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

static void judge_put_off(const struct plan_entry *e, const struct crawl_conf *conf, int64_t now_us,
			  struct verdict *v)
{
	int64_t wait_us = conf->retry_us << MIN(e->retry, 16);
	v->type = ITEM_TEMPORARY;
	v->op = CHANGE_NONE;
	v->due_s = (uint32_t)((now_us + MIN(wait_us, conf->refresh_us)) / US_PER_S);
}

/* What went well. */
static void judge_answer(const struct robot_result *r, const struct plan_entry *e,
			 const struct crawl_conf *conf, struct verdict *v)
{
	if (v->code == CODE_REDIRECT) {
		judge_bury(e, conf, v);
		judge_leads_to(r->location, v);
	} else if (v->code == CODE_OK) {
		v->parse = true;
	} else {
		v->type = ITEM_GATHERED;
		v->op = CHANGE_REFRESH;
	}
}

void reap_judge(const struct robot_result *r, const struct plan_entry *e,
		const struct crawl_conf *conf, int64_t now_us, struct verdict *ret)
{
	struct verdict v = {.code = code_of(r->outcome, r->cause, r->head->status)};
	char text[CODE_TEXT];
	snprintf(v.reason, sizeof v.reason, "%s%s%.100s", code_text(v.code, text),
		 r->why[0] ? ": " : "", r->why);
	if (v.code < CODE_TEMPORARY)
		judge_answer(r, e, conf, &v);
	else if (v.code < CODE_PERMANENT && e->retry < conf->retries)
		judge_put_off(e, conf, now_us, &v);
	else
		judge_bury(e, conf, &v);
	*ret = v;
}

void reap_judge_noindex(const struct plan_entry *e, const struct crawl_conf *conf,
			struct verdict *ret)
{
	struct verdict v = {.code = CODE_NOINDEX};
	char text[CODE_TEXT];
	judge_bury(e, conf, &v);
	snprintf(v.reason, sizeof v.reason, "%s", code_text(v.code, text));
	*ret = v;
}

void reap_judge_rejected(const struct plan_entry *e, const struct crawl_conf *conf,
			 struct verdict *ret)
{
	struct verdict v = {.code = CODE_REJECTED};
	judge_bury(e, conf, &v);
	v.type = ITEM_ERROR; /* not remembered: the rules know it */
	snprintf(v.reason, sizeof v.reason, "the filter rejects it");
	*ret = v;
}

void reap_judge_lost(const struct plan_entry *e, const struct crawl_conf *conf, const char *why,
		     struct verdict *ret)
{
	struct verdict v = {.code = CODE_LOST};
	judge_bury(e, conf, &v);
	snprintf(v.reason, sizeof v.reason, "%.190s", why);
	*ret = v;
}
