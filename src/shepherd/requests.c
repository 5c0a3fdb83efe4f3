#include "shepherd/requests.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "shepherd/state.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MOST = 64 << 20, TAKEN_MOST = 1000 };

static uint64_t name_hash(uint64_t key)
{
	return key;
}
static bool name_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
TABLE(names, uint64_t, bool, name_hash, name_equal)

struct requests {
	char folder[PATH_MAX];
	struct arena arena; /* of the names */
	const char *taken[TAKEN_MOST];
	size_t n;
	struct names stuck; /* those that could not be read or removed, not to be looked at again */
	struct err trouble; /* the last of it; ERR_NONE: none since requests_kept() */
};

int requests_add(const char *data, struct str lines, struct err *err)
{
	char folder[PATH_MAX], path[PATH_MAX + 64];
	snprintf(folder, sizeof folder, "%s/shepherd/requests", data);
	snprintf(path, sizeof path, "%s/%020lld-%d.add", folder, (long long)clock_wall_us(),
		 (int)getpid());
	if (dir_make(folder, 0755, err) < 0)
		return -1;
	return file_replace(path, lines, 0644, err);
}

struct requests *requests_new(const char *data)
{
	struct requests *r = mem_alloc(sizeof *r);
	r->arena = ARENA_INIT(16 << 20);
	snprintf(r->folder, sizeof r->folder, "%s/shepherd/requests", data);
	return r;
}

void requests_free(struct requests **r)
{
	if (*r) {
		arena_free(&(*r)->arena);
		names_free(&(*r)->stuck);
	}
	mem_free(r);
}

static int list(struct requests *r, struct dir *ret)
{
	struct err err;
	return dir_init(ret, r->folder, &err);
}

static bool is_request(const struct requests *r, const char *name)
{
	return str_ends(str_of(name), STR(".add")) && !names_get(&r->stuck, hash64(str_of(name)));
}

bool requests_waiting(struct requests *r)
{
	struct dir dir;
	const char *name;
	bool some = false;
	if (list(r, &dir) != 0)
		return false;
	while (dir_next(&dir, &name) == 0)
		some |= is_request(r, name);
	dir_done(&dir);
	return some;
}

static int contribute(struct state *st, struct str line, struct err *err)
{
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	if (url_parse(line, NULL, room, sizeof room, &url) != 0 ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0)
		return 0; /* garner add has said so to who asked */
	struct contrib c = {.fp = footprint_of(&canon), .flags = ITEM_INITIAL, .url = canon.href};
	return state_contrib(st, &c, NULL, err);
}

/* 1: it cannot be read. */
static int take(struct requests *r, struct state *st, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(FILE_MOST);
	if (file_slurp(path, &text, &r->trouble) != 0)
		return 1;
	struct str rest = buf_str(&text), line;
	while (str_cut(&rest, '\n', &line) == 0) {
		line = str_trim(line);
		if (line.n && contribute(st, line, err) < 0)
			return -1;
	}
	return 0;
}

int requests_take(struct requests *r, struct state *st, struct err *err)
{
	struct dir dir;
	const char *name;
	int rc = 0;
	if (list(r, &dir) != 0)
		return 0;
	while (rc == 0 && r->n < TAKEN_MOST && dir_next(&dir, &name) == 0) {
		if (!is_request(r, name))
			continue;
		const char *path = arena_printf(&r->arena, "%s/%s", r->folder, name);
		rc = take(r, st, path, err);
		if (rc > 0)
			*names_put(&r->stuck, hash64(str_of(name))) = true;
		else
			r->taken[r->n++] = path;
		rc = MIN(rc, 0);
	}
	dir_done(&dir);
	return rc;
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
