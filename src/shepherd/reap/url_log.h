/* The URL log: a line of text for each URL that was judged (doc/reap.md, "The URL log"). Up to
 * 64 KB of lines are buffered, and lost in a crash. Nothing depends on the log: a failed write is
 * reported once, and the crawl goes on. */
#pragma once
#include "base/err.h"
#include "url/qkey.h"

enum { URL_LOG_BUFFER = 64 << 10 };

struct url_log;
/* Opens the file for appending; creates it if necessary. */
int url_log_open(struct url_log **ret, const char *path, struct err *err);
void url_log_close(struct url_log **log); /* flushes; also NULL */

struct url_log_line {
	int64_t wall_us;
	struct str url;
	uint16_t code;      /* code.h */
	const char *reaper; /* its name */
	uint64_t id;        /* of the job */
	bool refresh;
	uint32_t took_ms;
	uint16_t port; /* keys of a crawl have none; 0: not known */
	qkey key;
	unsigned retries; /* tries that failed before */
};
/* log may be NULL. */
void url_log_add(struct url_log *log, const struct url_log_line *line);

/* Writes the buffered lines. Negative: that failed, now or in url_log_add(), and the lines are
 * lost; reported once until a write succeeds again. log may be NULL. */
int url_log_flush(struct url_log *log, struct err *err);
/* Flushes, then opens the file again by its name, so that the old one can be moved away. Negative:
 * as url_log_flush(), or the file cannot be opened and the old one stays in use. */
int url_log_reopen(struct url_log *log, struct err *err);
