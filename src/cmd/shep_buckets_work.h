/* What the commands over a bucket file share: the file of one run, and what it prints. */
#pragma once
#include "base/jsonw.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "cmd/shep_buckets.h"
#include "state/state.h"

#include <limits.h>

enum { OUT_PIECE = 64 << 10 };

/* One run. */
struct work {
	const struct cmd_call *call;
	const struct buckets_options *o;
	char path[PATH_MAX];
	struct buckets *b;
	struct bucket_packer *packer;
	struct states *crawl; /* to be changed, where the file belongs to one; or NULL */
	struct arena arena;   /* of one bucket */
	struct buf out;
	struct jsonw json;
};

enum { UNCHECKED = 1, MAKES = 2 /* a file that was named and is not there */ };
/* Opens the file. 0, or the exit code; work_end() in any case. */
int work_begin(struct work *w, const struct cmd_call *call, enum bucket_mode mode, unsigned how);
/* The same once more, after bucket_drop(). */
int work_open(struct work *w, enum bucket_mode mode, unsigned how);
void work_end(struct work *w);
/* Prints what there is, if that is more than so many bytes. */
void work_flush(struct work *w, size_t more_than);
/* Prints what there is, then the error. Its exit code. */
int work_fail(struct work *w, const struct err *err);
/* Whether it is the file of a crawl, with states beside it; the folder of both ends in a slash. */
bool work_has_states(const struct work *w, char folder[PATH_MAX]);
