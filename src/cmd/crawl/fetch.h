/* The command `garner fetch`, for its own files. */
#pragma once
#include "base/clock.h"
#include "cmd/command.h"
#include "fetch/outcome.h"
#include "net/loop.h"

#define FETCH_WAIT "10min" /* --wait, and as a number */
#define FETCH_WAIT_US (10 * US_PER_MIN)
#define FETCH_PROGRESS_US (500 * US_PER_MS)

struct fetch_options {
	const char *from, *output, *through, *delay, *agent, *etag, *last_modified;
	int64_t wait_us;
	bool json, no_follow, list_all;
};

/* Calls add() for each URL of the arguments and of the file that --from names. */
typedef int fetch_url_fn(void *ctx, struct str url, struct err *err);
int fetch_each_url(const struct cmd_call *call, const char *from, fetch_url_fn *add, void *ctx,
		   struct err *err);

int fetch_check_options(const struct fetch_options *o, struct err *err);

/* What garner fetch prints about a list of URLs, with or without --through: lines, progress, a
 * summary. */
struct fetch_report {
	const struct cmd_call *call;
	const struct fetch_options *options;
	struct loop *loop;
	struct loop_timer progress;
	uint64_t (*under_way)(void *ctx);
	void *ctx;
	struct buf out; /* lines that were not written yet */
	uint64_t urls, done, bytes, count[OUTCOME_COUNT];
	int64_t begun_us;
	bool stopped, shows_progress;
	struct err err; /* what ended it; code ERR_NONE: nothing did */
};

/* From now on signals end it, and progress is shown on a terminal. */
int fetch_report_begin(struct fetch_report *r, struct err *err);
/* Ends it all, with the first such error. */
void fetch_report_fail(struct fetch_report *r, const struct err *err);
void fetch_report_count(struct fetch_report *r, enum outcome outcome, uint64_t bytes);
void fetch_report_clear(const struct fetch_report *r); /* progress, before something is printed */
/* Writes the lines. False: it failed, and the fetch ends. */
bool fetch_report_flush(struct fetch_report *r);
/* The summary, with `requests` as the beginning of its second line. Negative: what ended it. */
int fetch_report_end(struct fetch_report *r, const char *requests, struct err *err);
int fetch_report_code(const struct fetch_report *r);

/* With --through: as a source of URLs for the botm that connects. The exit code. */
int fetch_through(const struct cmd_call *call, const struct fetch_options *o,
		  const struct config *config, struct err *err);
