/* What the unit programs of bucket files share: buckets whose bytes follow from a number. */
#pragma once
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"

#include "../scratch.h"
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { SIZES = 9 };

/* Around alignments, blocks, pieces and what is read at once. */
static inline size_t number_size(uint32_t number)
{
	static const size_t sizes[SIZES] = {0, 1, 108, 109, 4096 - 20, 10000, 16384, 16385, 300000};
	return sizes[number % SIZES];
}

/* As plain lines, so that any file of them also stands an audit. */
static inline struct str number_data(uint32_t number, char *p)
{
	size_t n = number_size(number);
	for (size_t i = 0; i < n; i++)
		p[i] = (char)('!' + (number * 7 + i * 11 + i / 90) % 90);
	return (struct str){p, n};
}

static inline struct buckets *open_as(const char *path, struct bucket_options o)
{
	struct buckets *b = NULL;
	struct err err = {0};
	if (bucket_open(&b, path, &o, &err) != 0)
		fail_msg("%s: %s", path, err.msg);
	return b;
}

static inline struct buckets *open_mode(const char *path, enum bucket_mode mode)
{
	return open_as(path, (struct bucket_options){.mode = mode});
}

static inline void close_file(struct buckets **b)
{
	struct err err = {0};
	if (bucket_close(b, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline uint32_t append_number(struct buckets *b, uint32_t number)
{
	static char room[300000];
	struct err err = {0};
	uint32_t oid = BUCKET_DELETED;
	if (bucket_append(b, BUCKET_PLAIN, number_data(number, room), &oid, &err) < 0)
		fail_msg("number %u: %s", number, err.msg);
	return oid;
}

static inline void is_number(const struct bucket *bucket, uint32_t number)
{
	static char room[300000];
	struct str want = number_data(number, room);
	assert_int_equal(bucket->data.n, want.n);
	assert_true(str_eq(bucket->data, want));
	assert_int_equal(bucket->type, BUCKET_PLAIN);
}

static inline void read_number(struct buckets *b, uint32_t oid, uint32_t number)
{
	struct bucket bucket = {0};
	struct err err = {0};
	int rc = bucket_read(b, oid, &bucket, &err);
	if (rc != 0)
		fail_msg("bucket %08x: %d %s", oid, rc, err.msg);
	assert_int_equal(bucket.oid, oid);
	is_number(&bucket, number);
}

static inline uint64_t sync_file(struct buckets *b)
{
	uint64_t length = 0;
	struct err err = {0};
	if (bucket_sync(b, &length, &err) < 0)
		fail_msg("%s", err.msg);
	return length;
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static inline struct buf slurp(const char *path)
{
	struct buf all = BUF_INIT((size_t)64 << 20);
	struct err err = {0};
	if (file_slurp(path, &all, &err) != 0)
		fail_msg("%s", err.msg);
	return all;
}

static inline void spill(const char *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

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
