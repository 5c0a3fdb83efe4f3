/* What the subcommands of garner shep buckets do; shep_buckets.c has their tables, and
 * shep_buckettool.c the letters of old. */
#pragma once
#include "cmd/command.h"

/* Of all of them. */
struct buckets_options {
	const char *file;
	int64_t shift;
	bool all, json, raw, unpacked, train, repack, anyway, verbose;
};

int shep_buckets_list(const struct cmd_call *call);
int shep_buckets_cat(const struct cmd_call *call);
int shep_buckets_extract(const struct cmd_call *call);
int shep_buckets_insert(const struct cmd_call *call);
int shep_buckets_delete(const struct cmd_call *call);
int shep_buckets_audit(const struct cmd_call *call);
int shep_buckets_fix(const struct cmd_call *call);
int shep_buckets_quick(const struct cmd_call *call);
int shep_buckets_shakedown(const struct cmd_call *call);
int shep_buckets_train(const struct cmd_call *call);
