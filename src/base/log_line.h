/* Inside of the log: how a line reads and how repeats are folded. No clock and no descriptor, so
 * that tests can look at it. */
#pragma once
#include "base/buf.h"
#include "base/log.h"

/* A line with its time, its repeats and its end stays below PIPE_BUF (4,096 bytes), so that lines
 * of several processes in one pipe never mix. */
enum {
	LOG_BODY_MAX = 3968, /* from the level on; what does not fit is cut and marked "cut=yes" */
	LOG_BODY_TAIL = 16,  /* for that mark */
	LOG_FOLD_LINES = 8,  /* so many distinct lines are remembered */
};
#define LOG_FOLD_US INT64_C(10000000) /* for so long from the time they were written */

/* Replaces out by "info web/role: ready pid=123"; name may be empty. */
void log_line(struct buf *out, const char *name, enum log_level level, enum log_section section,
	      const char *msg, const struct log_kv *list);

struct log_fold {
	struct log_fold_line {
		int64_t since_us; /* written then */
		uint64_t repeats; /* came again so often, unwritten */
		enum log_level level;
		size_t n; /* 0: none */
		char text[LOG_BODY_MAX + LOG_BODY_TAIL];
	} line[LOG_FOLD_LINES];
	size_t oldest;
};

/* Called for a line that is to be written now; repeated > 0: it came so often again. */
typedef void log_emit_fn(void *ctx, enum log_level level, struct str line, uint64_t repeated);

/* Writes a line or counts it, after the repeats whose time is over or whose place it takes. */
void log_fold_add(struct log_fold *f, int64_t now_us, enum log_level level, struct str line,
		  log_emit_fn *emit, void *ctx);
/* All the repeats, and nothing is remembered. */
void log_fold_flush(struct log_fold *f, log_emit_fn *emit, void *ctx);
