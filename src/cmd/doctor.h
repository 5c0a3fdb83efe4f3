/* The doctor's checks: each looks at one thing and says how it is and what mends it. Another check
 * is a function in doctor_checks.c and a line in its table. */
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

struct check {
	const char *name;
	bool needs_config;
	void (*look)(const struct patient *p, struct finding *ret);
};
/* In a file of its own. */
void check_parser(const struct patient *p, struct finding *f);
extern const struct check checks[];
extern const size_t nchecks;
