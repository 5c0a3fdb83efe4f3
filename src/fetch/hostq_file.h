/* Inside of host queues: the file in which they are saved, as doc/formats/hostq.md describes it. */
#pragma once
#include "fetch/hostq_list.h"

enum {
	HOSTQ_VERSION = 1,
	HOSTQ_HEAD = 16, /* bytes before the first extent */
	HOSTQ_TAIL = 40, /* at the very end */
};

/* A queue as the directory has it. */
struct hostq_saved {
	qkey key;
	struct polite_rule rule;
	unsigned troubles;
	int64_t pause_us; /* that was left */
};

/* Who reads a file. Each function returns negative to end it. */
struct hostq_reading {
	int (*queue)(void *ctx, const struct hostq_saved *queue, struct err *err);
	/* Of the queue that came last; sound. */
	int (*extent)(void *ctx, unsigned priority, const struct extent *e, struct err *err);
	void *ctx;
};

/* Reads and verifies all of a file. ERR_DAMAGED: err names the place; it may come late. */
int hostq_file_read(const struct file *f, const struct hostq_reading *to, struct err *err);
