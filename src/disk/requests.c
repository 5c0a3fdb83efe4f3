/* A folder may get thousands of files at once, and takes long to read when it once had many: it is
 * walked on from round to round, and only looked at again when it has changed. */
#include "disk/requests.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 64 << 20, TAKEN_MOST = 10000 };
#define TAKE_US (100 * US_PER_MS) /* and no more in a round, in which nothing else goes on */

TABLE(names, uint64_t, bool, hash_u64, table_same_u64)

struct requests {
	char folder[PATH_MAX];
	char suffix[32];     /* ".add" */
	struct dir_walk *at; /* where the last round ended; NULL: at the end of the folder */
	int64_t empty_us;    /* the time of the folder when nothing was in it; 0: not known */
	struct arena arena;  /* of the names */
	const char *taken[TAKEN_MOST];
	size_t n;
	struct names stuck; /* those that could not be read or removed, not to be looked at again */
	struct err trouble; /* the last of it; ERR_NONE: none since requests_kept() */
};

int requests_add(const char *folder, const char *kind, struct str lines, struct err *err)
{
	char path[PATH_MAX + 96];
	snprintf(path, sizeof path, "%s/%020lld-%d.%s", folder, (long long)clock_wall_us(),
		 (int)getpid(), kind);
	if (dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	return file_replace(path, lines, 0644, err);
}

struct requests *requests_new(const char *folder, const char *kind)
{
	struct requests *r = mem_alloc(sizeof *r);
	r->arena = ARENA_INIT(16 << 20);
	snprintf(r->folder, sizeof r->folder, "%s", folder);
	snprintf(r->suffix, sizeof r->suffix, ".%s", kind);
	return r;
}

void requests_free(struct requests **r)
{
	if (*r) {
		dir_walk_close(&(*r)->at);
		arena_free(&(*r)->arena);
		names_free(&(*r)->stuck);
	}
	mem_free(r);
}

static bool is_request(const struct requests *r, const char *name)
{
	return str_ends(str_of(name), str_of(r->suffix)) &&
	       !names_get(&r->stuck, hash64(str_of(name)));
}

/* The next one, in no order. 1: there is none; what cannot be read now may be another time. */
static int request_next(const struct requests *r, struct dir_walk *at, const char **ret)
{
	struct err ignored;
	while (dir_walk_next(at, ret, &ignored) == 0)
		if (is_request(r, *ret))
			return 0;
	return 1;
}

/* When a name in the folder changed last; 0: there is none, or it was only just. */
static int64_t changed_us(const struct requests *r)
{
	struct stat st;
	if (stat(r->folder, &st) != 0)
		return 0;
	int64_t time_us = st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / 1000;
	return clock_wall_us() - time_us > US_PER_S ? time_us : 0;
}

/* A folder that once had many files takes long to read, also when it is empty: it is read only when
 * it has changed. */
bool requests_waiting(struct requests *r)
{
	int64_t time_us = changed_us(r);
	if (time_us && time_us == r->empty_us)
		return false;
	struct dir_walk *w;
	struct err ignored;
	const char *name;
	if (dir_walk_open(&w, r->folder, &ignored) != 0)
		return false;
	bool some = request_next(r, w, &name) == 0;
	dir_walk_close(&w);
	r->empty_us = some ? 0 : time_us;
	return some;
}

/* 1: it cannot be read, or is not there any more. A link is left alone: one who may put files into
 * the folder may not have us read others. */
static int request_read(struct requests *r, const char *path, requests_fn *fn, void *ctx,
			struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(FILE_MOST);
	int rc = file_slurp_own(path, &text, &r->trouble);
	if (rc != 0)
		return 1;
	struct str rest = buf_str(&text), line;
	while (str_cut(&rest, '\n', &line) == 0) {
		line = str_trim(line);
		if (line.n && fn(ctx, line, err) < 0)
			return -1;
	}
	return 0;
}

int requests_take(struct requests *r, requests_fn *fn, void *ctx, struct err *err)
{
	int64_t until_us = clock_mono_us() + TAKE_US;
	struct err ignored;
	const char *name;
	if (!r->at && dir_walk_open(&r->at, r->folder, &ignored) != 0)
		return 0;
	do {
		if (request_next(r, r->at, &name) != 0) {
			dir_walk_close(&r->at);
			return 0;
		}
		const char *path = arena_printf(&r->arena, "%s/%s", r->folder, name);
		int rc = request_read(r, path, fn, ctx, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			r->taken[r->n++] = path;
		else
			*names_put(&r->stuck, hash64(str_of(name))) = true;
	} while (r->n < TAKEN_MOST && clock_mono_us() < until_us);
	return 0;
}

int requests_kept(struct requests *r, struct err *err)
{
	size_t folder = strlen(r->folder) + 1;
	for (size_t i = 0; i < r->n; i++)
		if (file_remove(r->taken[i], &r->trouble) < 0)
			*names_put(&r->stuck, hash64(str_of(r->taken[i] + folder))) = true;
	r->n = 0;
	arena_clear(&r->arena);
	if (r->trouble.code == ERR_NONE)
		return 0;
	*err = r->trouble;
	r->trouble = (struct err){0};
	return -1;
}
