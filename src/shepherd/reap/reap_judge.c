/* What an answer, or its absence, means for a URL. No state and no clock of its own, so that every
 * case can be tested without a network. */
#include "shepherd/reap/reap_judge.h"

#include "base/clock.h"

#include <stdio.h>

/* It is not to be found: remembered for a while, or, as zombie_errors says, forgotten by the next
 * merge. What was given by hand is tried again with the others, unless it is gone for good; what
 * the filter rejects is not remembered, since the rules know it; a redirect without target stays an
 * error for a time, since select looks at it. */
static void judge_bury(const struct plan_entry *e, const struct crawl_conf *conf, struct verdict *v)
{
	bool remembered = v->code != CODE_REJECTED && v->code != CODE_NOWHERE &&
			  !(e->item_flags & ITEM_INITIAL) && code_in(&conf->zombie_errors, v->code);
	bool zombie = v->code == CODE_GONE || remembered;
	v->type = zombie ? ITEM_ZOMBIE : ITEM_ERROR;
	v->op = e->flags & PLAN_REFRESH ? CHANGE_DELETE : CHANGE_NONE;
}

static void judge_leads_to(struct str location, struct verdict *v)
{
	CLEANUP(buf_free) struct buf shown = BUF_INIT(location.n + 1);
	url_show(location, &shown);
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

static void judge_words(struct str why, struct verdict *v)
{
	char text[CODE_TEXT];
	snprintf(v->reason, sizeof v->reason, "%s%s%.*s", code_text(v->code, text),
		 why.n ? ": " : "", (int)MIN(why.n, 100), why.n ? why.p : "");
}

void reap_judge(const struct reaper_answer *a, const struct plan_entry *e,
		const struct crawl_conf *conf, int64_t now_us, struct verdict *ret)
{
	bool unchanged = a->code == CODE_NOT_MODIFIED || a->code == CODE_SAME;
	struct verdict v = {.code = unchanged && a->noindex ? CODE_NOINDEX : a->code,
			    .no_target = a->code == CODE_NOWHERE};
	judge_words(a->text, &v);
	if (v.code == CODE_OK) {
		v.type = ITEM_GATHERED;
		v.op = CHANGE_UPDATE;
		v.reason[0] = '\0';
	} else if (v.code == CODE_NOT_MODIFIED || v.code == CODE_SAME) {
		v.type = ITEM_GATHERED;
		v.op = CHANGE_REFRESH;
		v.reason[0] = '\0';
	} else if (v.code == CODE_REDIRECT) {
		judge_bury(e, conf, &v);
		judge_leads_to(a->location, &v);
	} else if (v.code < CODE_PERMANENT && e->retry < conf->retries) {
		judge_put_off(e, conf, now_us, &v);
	} else {
		judge_bury(e, conf, &v);
	}
	*ret = v;
}
