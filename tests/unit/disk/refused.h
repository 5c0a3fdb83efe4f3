/* Record files whose writes, syncs and cuts are refused, for the unit programs of record.h. */
#pragma once
#include "base/fault.h"
#include "base/file.h"
#include "disk/record.h"

#include "../scratch.h"

#include <errno.h>

static const struct record_kind kind = {.magic = "GARNERT1", .version = 1, .most = 1 << 20};

static inline void arm(const char *spec)
{
	struct err err = {0};
	if (fault_arm(spec, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline int disarm(void **state)
{
	(void)state;
	struct err err;
	return fault_arm("", &err);
}

/* Opens until it can be opened; every failure must be one that was asked for. */
static inline struct record_writer *open_file(const char *path)
{
	struct record_writer *w = NULL;
	struct err err = {0};
	for (int tries = 0; record_open(&w, path, &kind, 0644, NULL, &err) < 0; tries++) {
		if (tries > 3)
			fail_msg("%s", err.msg);
		assert_true(err.sys_errno == EIO || err.sys_errno == ENOSPC);
	}
	return w;
}

static inline void numbers_are(const char *path, const uint32_t *want, size_t n)
{
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	int rc = 0;
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (size_t i = 0; rc == 0; i++) {
		rc = record_next(r, &record, &err);
		if (rc < 0)
			fail_msg("record %zu: %s", i, err.msg);
		if (rc)
			assert_int_equal(i, n);
		else
			assert_memory_equal(record.payload.p, &want[i], sizeof *want);
	}
	record_reader_free(&r);
}
