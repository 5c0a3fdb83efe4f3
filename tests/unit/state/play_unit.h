/* What the unit programs of states share: a crawl that stands at a checkpoint, and copies of it to
 * be damaged. */
#pragma once
#include "base/file.h"
#include "disk/tree.h"
#include "state/checkpoint_inner.h"
#include "support/crawl_play.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

/* n operations in cycles of 10, a checkpoint after every fifth; then `more` that no checkpoint
 * knows, which reach the files all the same. Ends as a killed process does. */
static inline void play_some(const char *folder, uint64_t n, uint64_t more)
{
	struct play p;
	struct play_model m = {0};
	struct err err = {0};
	MUST(states_init(folder, 0, PLAY_START, &err));
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	for (uint64_t k = 0; k < n + more; k++) {
		MUST(play_op(&p, &m, k, &err));
		if (k < n && (k + 1) % 5 == 0)
			MUST(play_checkpoint(&p, &err));
		if (k + 1 < n && (k + 1) % 10 == 0) {
			MUST(play_cork(&p, &err));
			MUST(play_merge(&p, &err));
			MUST(play_begin(&p, &err));
		}
		if (k + 1 == n)
			MUST(play_checkpoint(&p, &err));
	}
	play_close(&p);
}

static inline void copy_file(const char *from, const char *to)
{
	struct err err = {0};
	CLEANUP(buf_free) struct buf b = BUF_INIT(64 << 20);
	MUST(file_slurp(from, &b, &err));
	FILE *f = fopen(to, "w");
	assert_non_null(f);
	assert_int_equal(b.n, fwrite(b.n ? b.p : "", 1, b.n, f));
	fclose(f);
}

/* Whether nobody overwrites a file in place: those of all states but the newest. */
static inline bool may_be_shared(const char *path, const char *newest)
{
	const char *state = strstr(path, "/state/");
	return *newest && state && state[7] == '2' && !strstr(state, newest);
}

/* Links stay links, all else is copied or shared. */
static inline void copy_tree(const char *from, const char *to, const char *newest)
{
	struct err err = {0};
	struct dir d;
	const char *name;
	MUST(dir_make(to, 0755, &err));
	MUST(dir_init(&d, from, &err));
	while (dir_next(&d, &name) == 0) {
		char a[PATH_MAX], b[PATH_MAX], target[PATH_MAX];
		struct stat st;
		snprintf(a, sizeof a, "%s/%s", from, name);
		snprintf(b, sizeof b, "%s/%s", to, name);
		assert_int_equal(0, lstat(a, &st));
		if (S_ISDIR(st.st_mode)) {
			copy_tree(a, b, newest);
		} else if (S_ISLNK(st.st_mode)) {
			ssize_t n = readlink(a, target, sizeof target - 1);
			assert_true(n > 0);
			target[n] = '\0';
			assert_int_equal(0, symlink(target, b));
		} else if (may_be_shared(a, newest)) {
			assert_int_equal(0, link(a, b));
		} else {
			copy_file(a, b);
		}
	}
	dir_done(&d);
}

static inline void fresh_copy(const char *from, const char *to)
{
	struct err err = {0};
	char current[PATH_MAX], newest[64] = "";
	assert_true(tree_remove(to, &err) >= 0);
	snprintf(current, sizeof current, "%s/state/current", from);
	ssize_t n = readlink(current, newest, sizeof newest - 1);
	newest[MAX(n, 0)] = '\0';
	copy_tree(from, to, newest);
}

/* A file of its own, to be damaged. */
static inline void own_file(const char *path)
{
	char own[PATH_MAX + 8];
	snprintf(own, sizeof own, "%s.own", path);
	copy_file(path, own);
	assert_int_equal(0, rename(own, path));
}

/* The path of a file of the newest state, of the crawl, or (changes, which merge writes, and what
 * is written when a state ends) of the newest closed state. */
static inline void path_in(const char *folder, const char *file, char ret[PATH_MAX])
{
	const char *where = "state/current/";
	if (strcmp(file, "objects") == 0 || strcmp(file, "gone") == 0)
		where = "";
	else if (strcmp(file, "changes") == 0 || strcmp(file, "places") == 0)
		where = "state/closed/";
	snprintf(ret, PATH_MAX, "%s/%s%s", folder, where, file);
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Items of one type. */
static inline unsigned items_of(const struct url_index *index, enum item_type type)
{
	struct err err = {0};
	struct url_index_scan *scan = NULL;
	struct index_item item;
	unsigned n = 0;
	MUST(url_index_scan(&scan, index, (struct footprint){0, 0}, &err));
	while (url_index_next(scan, &item, &err) == 0)
		n += item.type == type;
	url_index_scan_free(&scan);
	return n;
}
