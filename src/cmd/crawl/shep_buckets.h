/* The subcommands of garner shep buckets, for the old letters in shep_buckettool.c. */
#pragma once
#include "cmd/command.h"

/* Of all of them. */
struct buckets_options {
	const char *file;
	int64_t shift;
	bool all, json, raw, unpacked, train, repack, anyway, verbose;
};

/* What garner shep buckets NAME does, with the options and arguments of the call. The exit code. */
int shep_buckets_do(const struct cmd_call *call, const char *name, struct err *err);
