/* The frame of commands that ask an index: one question from the arguments or, with --batch, one in
 * each line of standard input, each asked as often as --repeat says. */
#pragma once
#include "base/jsonw.h"
#include "cmd/command.h"

enum { INDEX_REPEATS_MOST = 1000 };

struct index_ask;
struct index_ask_ops {
	const char *one, *many; /* "query", "queries" */
	size_t most;            /* bytes of a question; a longer one is for ask() to refuse */
	/* What is given is right, and the index is open. */
	int (*open)(struct index_ask *a, struct err *err);
	/* Once; the answer stays with the asker until the next. ERR_USAGE: it cannot be asked. */
	int (*ask)(struct index_ask *a, struct str text, uint64_t *ret_total, struct err *err);
	/* What the arguments ask, by index_ask_text(), and its answer, printed. */
	int (*single)(struct index_ask *a, struct err *err);
	/* The answer, as members of an object: of a batch, or with all that is known. */
	void (*put)(struct index_ask *a, struct jsonw *j, bool all);
};

struct index_ask {
	const struct cmd_call *call;
	const struct index_ask_ops *ops;
	bool batch;
	int64_t repeat;
	struct arena arena; /* of the answer */
	struct buf out;
	double us; /* CPU time that the library took for the last answer: the least of all */
	uint64_t found, failed;
};

int index_ask_text(struct index_ask *a, struct str text, struct err *err);
/* The answer as a line of JSON. */
void index_ask_json(struct index_ask *a, bool all);
/* "at least 3 files, the time was up"; what: with a blank before it, or "". */
void index_ask_total(struct buf *out, uint64_t total, bool exact, const char *what, bool cut);
/* All of it; returns the exit code. The asker's own is freed by the caller. */
int index_ask_run(struct index_ask *a, struct err *err);
