/* What becomes of a URL that was tried. Pure. */
#pragma once
#include "shepherd/code.h"
#include "shepherd/crawl.h"
#include "state/plan.h"

struct verdict {
	bool parse; /* there is a document to be read; the rest is then not set */
	enum change_op op;
	enum item_type type;
	uint16_t code; /* code.h */
	uint32_t due_s;
	bool leads_on; /* to robot_result.location, which is a contribution */
	char reason[200];
};

/* Of an answer, or of what came in its place; outcome is not OUTCOME_CANCELLED. */
void reap_judge(const struct robot_result *r, const struct plan_entry *e,
		const struct crawl_conf *conf, int64_t now_us, struct verdict *ret);
/* Of a document that does not want to be indexed. */
void reap_judge_noindex(const struct plan_entry *e, const struct crawl_conf *conf,
			struct verdict *ret);
/* Of a URL that the rules do not want (any more). */
void reap_judge_rejected(const struct plan_entry *e, const struct crawl_conf *conf,
			 struct verdict *ret);
/* Of a URL that cannot be asked for: its own text, or the bucket that holds it, is not whole. */
void reap_judge_lost(const struct plan_entry *e, const struct crawl_conf *conf, const char *why,
		     struct verdict *ret);
