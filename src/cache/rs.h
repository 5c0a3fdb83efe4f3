/* The registration server, RS (document 004, section 3): people and programs become providers here,
 * prove what is theirs, agree on hours and bandwidth, and see what became of what they sent.
 * doc/protocols/providers.md is what programs speak; the pages do the same. */
#pragma once
#include "net/http.h"
#include "role/role.h"

/* What the role has from those who serve pages. */
struct rs_frame {
	int (*serve)(struct role_env *env, const struct http_options *options, int64_t drain_us,
		     struct err *err);
	int (*style)(struct http_request *req, struct http_answer *ret, struct err *err);
};

extern const struct config_section rs_section;
enum { RS_NCOUNTERS = HTTP_NCOUNTERS + 6 };
extern const struct counter_def rs_counters[RS_NCOUNTERS];
/* The role's `check`. */
int rs_conf_check(const struct config *config, const struct config_section *of, struct err *err);
/* Serves until a signal ends it. */
int rs_run(struct role_env *env, const struct rs_frame *frame, struct err *err);
