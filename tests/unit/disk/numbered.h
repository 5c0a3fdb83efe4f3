/* Record files of numbered records, for the unit programs of record.h. */
#pragma once
#include "base/file.h"
#include "disk/record_frame_inner.h"

#include "../scratch.h"

#include <fcntl.h>

static const struct record_kind kind = {.magic = "GARNERT1", .version = 3, .most = 3 << 20};
enum { MARK = FRAME_MARK, HEAD = FRAME_HEAD };

static inline struct record_writer *open_file(const char *path)
{
	struct record_writer *w = NULL;
	struct err err = {0};
	if (record_open(&w, path, &kind, 0644, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return w;
}

static inline void close_file(struct record_writer *w)
{
	struct err err = {0};
	if (record_close(&w, &err) < 0)
		fail_msg("%s", err.msg);
	assert_null(w);
}

static inline struct record_place append(struct record_writer *w, struct str s,
					 struct record_group *g)
{
	struct err err = {0};
	struct record_place place;
	if (record_append(w, s, g, &place, &err) < 0)
		fail_msg("%s", err.msg);
	return place;
}

static inline void sync_group(struct record_writer *w, struct record_group *g)
{
	struct err err = {0};
	if (record_sync(w, g, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(g->first, 0);
	assert_int_equal(g->last, 0);
}

/* Record number i of a test: any length, empty ones among them, and bytes that follow from i. */
static inline struct str numbered(unsigned i)
{
	static char p[512];
	size_t n = i % 5 == 0 ? 0 : i * 37 % 90;
	for (size_t k = 0; k < n; k++)
		p[k] = (char)(i * 31 + k * 7);
	return (struct str){p, n};
}

static inline void append_numbered(struct record_writer *w, unsigned from, unsigned to,
				   struct record_group *g)
{
	for (unsigned i = from; i < to; i++)
		append(w, numbered(i), g);
}

/* Reads until there is no more; every record must be the numbered one. Returns how many; *ret_rc is
 * the last answer. */
static inline unsigned count_numbered(const char *path, int *ret_rc, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	unsigned n = 0;
	*ret_rc = record_reader_open(&r, path, &kind, err);
	while (*ret_rc == 0 && (*ret_rc = record_next(r, &record, err)) == 0) {
		struct str want = numbered(n++);
		assert_int_equal(record.payload.n, want.n);
		assert_memory_equal(record.payload.p, want.p, want.n);
		assert_int_equal(record.place.next - record.place.at, HEAD + want.n);
	}
	record_reader_free(&r);
	return n;
}

static inline void assert_numbered(const char *path, unsigned want)
{
	struct err err = {0};
	int rc;
	unsigned n = count_numbered(path, &rc, &err);
	if (rc < 0)
		fail_msg("after %u: %s", n, err.msg);
	assert_int_equal(n, want);
}

static inline struct buf slurp(const char *path)
{
	struct buf b = BUF_INIT(64 << 20);
	struct err err = {0};
	assert_int_equal(file_slurp(path, &b, &err), 0);
	return b;
}

static inline void put(const char *path, struct str bytes)
{
	struct file f;
	struct err err = {0};
	assert_int_equal(file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &err), 0);
	assert_int_equal(file_write(&f, bytes.p, bytes.n, 0, &err), 0);
	file_drop(&f);
}

/* Groups of several sizes, closed or as a killed writer leaves it. */
static inline struct buf sample(const char *path, unsigned n, bool closed, uint64_t next[])
{
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	for (unsigned i = 0; i < n; i++) {
		next[i] = append(w, numbered(i), &g).next;
		if (i % 4 == 3)
			sync_group(w, &g);
	}
	sync_group(w, &g);
	if (!closed)
		record_drop(&w);
	else
		close_file(w);
	return slurp(path);
}
