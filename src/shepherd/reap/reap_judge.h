/* What becomes of a URL that was tried. Pure. */
#pragma once
#include "shepherd/crawl.h"
#include "shepherd/reap/reaper.h"
#include "state/plan.h"

struct verdict {
	enum change_op op;
	enum item_type type;
	uint16_t code;
	uint32_t due_s;
	bool no_target;   /* a redirect that leads nowhere */
	bool has_section; /* its section is another one from now on: reap's to set */
	uint8_t section;
	char reason[200];
};

/* Of an answer, or of what came in its place, with the code that reap has made of it. */
void reap_judge(const struct reaper_answer *a, const struct plan_entry *e,
		const struct crawl_conf *conf, int64_t now_us, struct verdict *ret);
