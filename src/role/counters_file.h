/* Inside of the counters: the file, as doc/formats/counters.md describes it. */
#pragma once
#include "role/counters.h"

enum {
	COUNTERS_VERSION = 1,
	COUNTERS_PAGE = 4096, /* the values begin at a multiple of it */
	COUNTERS_MAX = 1000,  /* definitions in a file */
	COUNTERS_INSTANCE_MAX = 64,
	COUNTERS_NAME_MAX = 64,
	COUNTERS_LABELS_MAX = 256,
	COUNTERS_HELP_MAX = 256,
	COUNTERS_FILE_MAX = 1 << 20, /* more than all these maxima together */
};

static inline size_t counters_values_at(size_t head_bytes)
{
	return (head_bytes + COUNTERS_PAGE - 1) / COUNTERS_PAGE * COUNTERS_PAGE;
}

/* Whether a writer has it open. */
struct file;
bool counters_held(const struct file *f);

/* Whether instance and definitions are such that every file can be read back and every OpenMetrics
 * text made of it is well-formed. ERR_USAGE: err names the definition and the reason. */
int counters_check(const struct counters_view *v, struct err *err);
