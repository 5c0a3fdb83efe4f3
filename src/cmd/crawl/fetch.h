/* The command `garner fetch`, for its own files. */
#pragma once
#include "base/clock.h"
#include "cmd/command.h"
#include "fetch/outcome.h"

#define FETCH_WAIT "10min" /* --wait, and as a number */
#define FETCH_WAIT_US (10 * US_PER_MIN)
#define FETCH_PROGRESS_US (500 * US_PER_MS)

struct fetch_options {
	const char *from, *output, *through, *delay, *agent, *etag, *last_modified;
	int64_t wait_us;
	bool json, no_follow, list_all;
};

int fetch_check_options(const struct fetch_options *o, struct err *err);
int fetch_exit_code(const uint64_t count[OUTCOME_COUNT], uint64_t urls, bool stopped);

/* With --through: as a source of URLs for the botm that connects. The exit code. */
int fetch_through(const struct cmd_call *call, const struct fetch_options *o,
		  const struct config *config, struct err *err);
