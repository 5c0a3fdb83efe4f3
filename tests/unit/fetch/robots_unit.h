/* What the unit programs of robots.txt share. */
#pragma once
#include "../unit.h"

#include "fetch/robots.h"

static inline struct buf compiled(struct str file, const char *agent)
{
	struct buf form = BUF_INIT(ROBOTS_COMPILED_MAX);
	struct err err;
	assert_int_equal(robots_compile(file, str_of(agent), &form, &err), 0);
	if (robots_check(buf_str(&form), &err) < 0)
		fail_msg("%s", err.msg);
	return form;
}

/* The line that decided, negative where it disallows. */
static inline int as_number(struct robots_verdict v)
{
	return v.allowed ? (int)v.line : -(int)v.line;
}
