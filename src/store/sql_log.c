/* The log of a database (NAME-wal), looked at before SQLite opens it: SQLite takes a log up to the
 * first frame whose sum is wrong, and forgets the rest without a word. A kill leaves such a frame
 * only at the end, or before frames of a transaction that was never committed. A commit after it is
 * therefore lost to damage; so it may be after a power cut, among commits that were not synced.
 *
 * A log that others write meanwhile looks damaged for a moment, so it is looked at again. */
#include "base/file.h"
#include "store/sql.h"

#include <endian.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>

enum {
	MAGIC = 0x377f0682,
	HEAD = 32,
	FRAME_HEAD = 24,
	PAGE_LEAST = 512,
	PAGE = 4096,
	PAGE_MOST = 65536,
	LOOK_MOST = 1 << 16, /* frames after a wrong one */
	LOOKS = 3,
	PAUSE_MS = 5,
};

struct log {
	struct file file;
	uint64_t frames;
	size_t page;
	bool is_big; /* the byte order of words that are added up */
	char salt[8];
	uint32_t sum[2];
	char frame[FRAME_HEAD + PAGE_MOST];
};

static uint32_t number_at(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return be32toh(v);
}

static void sum_add(struct log *l, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint32_t v[2];
		memcpy(v, p + i, sizeof v);
		l->sum[0] += (l->is_big ? be32toh(v[0]) : le32toh(v[0])) + l->sum[1];
		l->sum[1] += (l->is_big ? be32toh(v[1]) : le32toh(v[1])) + l->sum[0];
	}
}

static bool sum_is(const struct log *l, const char *p)
{
	return l->sum[0] == number_at(p) && l->sum[1] == number_at(p + 4);
}

/* Reads a frame, or only its head. 1: it is not there, or not whole. */
static int frame_read(struct log *l, uint64_t i, size_t n, struct err *err)
{
	size_t got;
	if (file_read(&l->file, l->frame, n, HEAD + i * (FRAME_HEAD + l->page), &got, err) < 0)
		return -1;
	return got < n;
}

/* 1: the log is too short to have a frame. *ret_ok: SQLite would take the head; else pages are of
 * our size, and the salt is that of the first frame. */
static int head_read(struct log *l, bool *ret_ok, struct err *err)
{
	char head[HEAD];
	uint64_t size;
	size_t n;
	if (file_size(&l->file, &size, err) < 0 || file_read(&l->file, head, HEAD, 0, &n, err) < 0)
		return -1;
	if (n < HEAD)
		return 1;
	l->page = number_at(head + 8);
	l->is_big = head[3] & 1;
	memcpy(l->salt, head + 16, sizeof l->salt);
	sum_add(l, head, HEAD - 8);
	*ret_ok = (number_at(head) & ~1U) == MAGIC && sum_is(l, head + HEAD - 8) &&
		  l->page >= PAGE_LEAST && l->page <= PAGE_MOST && !(l->page & (l->page - 1));
	if (!*ret_ok)
		l->page = PAGE;
	l->frames = (size - HEAD) / (FRAME_HEAD + l->page);
	if (*ret_ok)
		return 0;
	int rc = frame_read(l, 0, FRAME_HEAD, err);
	memcpy(l->salt, l->frame + 8, sizeof l->salt);
	return rc;
}

/* Adds a whole frame up. */
static bool frame_ok(struct log *l)
{
	sum_add(l, l->frame, 8);
	sum_add(l, l->frame + FRAME_HEAD, l->page);
	return number_at(l->frame) && memcmp(l->frame + 8, l->salt, sizeof l->salt) == 0 &&
	       sum_is(l, l->frame + 16);
}

/* Whether a frame of this log (older ones have another salt) ends a transaction. */
static bool frame_commits(const struct log *l)
{
	static const char none[sizeof l->salt];
	return number_at(l->frame + 4) && memcmp(l->frame + 8, l->salt, sizeof l->salt) == 0 &&
	       memcmp(l->salt, none, sizeof none) != 0;
}

/* 1: damaged; *ret_at is the wrong frame, from 1 on, or 0: the head. */
static int log_look(struct log *l, uint64_t *ret_at, struct err *err)
{
	bool ok;
	uint64_t i = 0;
	int rc = head_read(l, &ok, err);
	while (rc == 0 && ok && i < l->frames) {
		rc = frame_read(l, i++, FRAME_HEAD + l->page, err);
		ok = rc == 0 && frame_ok(l);
	}
	*ret_at = i;
	if (rc || ok)
		return MIN(rc, 0);
	for (uint64_t end = MIN(l->frames, i + LOOK_MOST); rc == 0 && i < end; i++) {
		rc = frame_read(l, i, FRAME_HEAD, err);
		if (rc == 0 && frame_commits(l))
			return 1;
	}
	return MIN(rc, 0);
}

static int log_look_at(const char *path, uint64_t *ret_at, struct err *err)
{
	struct log *l = mem_alloc(sizeof *l);
	l->file = FILE_INIT;
	int rc = file_open_plain(&l->file, path, err);
	rc = rc == 0 ? log_look(l, ret_at, err) : MIN(rc, 0);
	file_drop(&l->file);
	mem_free(&l);
	return rc;
}

int sql_log_verify(const char *path, struct err *err)
{
	char log[PATH_MAX];
	uint64_t at = 0, was = 0;
	if (snprintf(log, sizeof log, "%s-wal", path) >= PATH_MAX)
		return err_set(err, ERR_USAGE, "%s: the path is too long", path);
	for (int look = 0; look < LOOKS; look++) {
		if (look)
			(void)poll(NULL, 0, PAUSE_MS);
		int rc = log_look_at(log, &at, err);
		if (rc <= 0 || (look && at != was))
			return rc < 0 ? -1 : 0;
		was = at;
	}
	return at ? err_set(err, ERR_DAMAGED,
			    "%s: frame %" PRIu64 " is damaged, and commits follow it", log, at)
		  : err_set(err, ERR_DAMAGED, "%s: its head is damaged", log);
}
