#include "shepherd/requests.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "shepherd/state.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MOST = 64 << 20, TAKEN_MOST = 1000 };

struct requests {
	char folder[PATH_MAX];
	struct arena arena; /* of the names */
	const char *taken[TAKEN_MOST];
	size_t n;
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
	if (*r)
		arena_free(&(*r)->arena);
	mem_free(r);
}

static int list(struct requests *r, struct dir *ret)
{
	struct err err;
	return dir_init(ret, r->folder, &err);
}

bool requests_waiting(struct requests *r)
{
	struct dir dir;
	const char *name;
	bool some = false;
	if (list(r, &dir) != 0)
		return false;
	while (dir_next(&dir, &name) == 0)
		some |= str_ends(str_of(name), STR(".add"));
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

static int take(struct state *st, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(FILE_MOST);
	int rc = file_slurp(path, &text, err);
	struct str rest = buf_str(&text), line;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
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
		if (!str_ends(str_of(name), STR(".add")))
			continue;
		const char *path = arena_printf(&r->arena, "%s/%s", r->folder, name);
		rc = take(st, path, err);
		r->taken[r->n++] = path;
	}
	dir_done(&dir);
	return rc;
}

void requests_kept(struct requests *r)
{
	struct err err;
	for (size_t i = 0; i < r->n; i++)
		(void)file_remove(r->taken[i], &err); /* what stays is taken once more */
	r->n = 0;
	arena_clear(&r->arena);
}
