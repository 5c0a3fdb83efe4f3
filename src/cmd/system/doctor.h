/* Shared by the checks of garner doctor, some of which are in files of their own. A check with
 * nothing to report leaves its finding unchanged. */
#pragma once
#include "cmd/command.h"

#include <limits.h>

enum finding_level { FINDING_OK, FINDING_NOTE, FINDING_WARN, FINDING_FAIL };

struct finding {
	enum finding_level level;
	int code;         /* the exit code of FINDING_FAIL; 0 stands for ERR_SYSTEM */
	char reason[512]; /* what was seen */
	char mend[512];   /* a command, or what to do; "" when there is nothing */
};

struct patient {
	const struct cmd_call *call;
	const struct config *config; /* NULL: it cannot be loaded; only the first checks are made */
	struct err config_err;
	char data[PATH_MAX]; /* the data directory */
	char home[PATH_MAX]; /* the data directory, or what is there of the way to it */
};

PRINTF_LIKE(3, 4)
void finding_set(struct finding *f, enum finding_level level, const char *fmt, ...);
void finding_fail(struct finding *f, const struct err *err);
PRINTF_LIKE(2, 3)
void finding_mend(struct finding *f, const char *fmt, ...);

/* The content cache: roles that need each other, its databases, what waits. */
void doctor_cache_roles(const struct patient *p, struct finding *f);
void doctor_cache_rows(const struct patient *p, struct finding *f);
void doctor_cache_sets(const struct patient *p, struct finding *f);
