/* A folder of its own for a test program, removed at its end: setup and teardown of the group. */
#pragma once
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch_dir[256];

static inline int scratch_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int scratch_make_below(const char *folder)
{
	snprintf(scratch_dir, sizeof scratch_dir, "%s/garner-unit.XXXXXX", folder);
	return mkdtemp(scratch_dir) ? 0 : -1;
}

static inline int scratch_make(void **state)
{
	(void)state;
	const char *folder = getenv("TMPDIR");
	return scratch_make_below(folder ? folder : "/tmp");
}

/* For programs that sync thousands of times: in memory, where that is to be had. */
static inline int scratch_make_in_memory(void **state)
{
	return scratch_make_below("/dev/shm") == 0 ? 0 : scratch_make(state);
}

static inline int scratch_done(void **state)
{
	(void)state;
	return nftw(scratch_dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name in it; the same name has the same path, which stays. */
static inline const char *scratch(const char *name)
{
	static char *paths[256];
	char wanted[512];
	snprintf(wanted, sizeof wanted, "%s/%s", scratch_dir, name);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (!paths[i])
			paths[i] = mem_text(wanted);
		if (strcmp(paths[i], wanted) == 0)
			return paths[i];
	}
	fail_msg("more than %zu names", ARRAY_LEN(paths));
	return NULL;
}
