#include "base/fault.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file system that knows no sync of folders answers EINVAL; there is nothing to wait for then. */
int dir_sync(const char *path, struct err *err)
{
	struct file f;
	int rc = file_open(&f, path, O_RDONLY | O_DIRECTORY, 0, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_SYSTEM, "%s: no such folder to sync", path);
	if (FAULT_REFUSES("file.sync", path) || (fsync(f.fd) != 0 && errno != EINVAL))
		rc = err_sys(err, "%s: sync of the folder", path);
	file_drop(&f);
	return rc;
}

int dir_sync_of(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return dir_sync(".", err);
	char *folder = mem_text(path);
	folder[slash == path ? 1 : slash - path] = 0;
	int rc = dir_sync(folder, err);
	mem_free(&folder);
	return rc;
}

/* One level. 0: it is there now. */
static int make_level(const char *path, const char *parent, mode_t mode, struct err *err)
{
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (mkdir(path, mode) == 0)
		return dir_sync(parent, err);
	/* somebody else may have been faster */
	if (errno == EEXIST && stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return err_sys(err, "%s: make the folder", path);
}

/* All levels, from the top. */
static int make_levels(char *path, mode_t mode, struct err *err)
{
	char *parent = mem_text(*path == '/' ? "/" : ".");
	int rc = 0;
	for (char *p = path + strspn(path, "/"); rc == 0 && *p;) {
		char *end = p + strcspn(p, "/"), *next = end + strspn(end, "/");
		char kept = *end;
		*end = 0;
		rc = make_level(path, parent, mode, err);
		mem_free(&parent);
		parent = mem_text(path);
		*end = kept;
		p = next;
	}
	mem_free(&parent);
	return rc;
}

int dir_make(const char *path, mode_t mode, struct err *err)
{
	char *copy = mem_text(path);
	int rc = make_levels(copy, mode, err);
	mem_free(&copy);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_name(struct dir *d, const char *name, size_t *cap)
{
	if (d->n == *cap) {
		*cap = MAX((size_t)16, *cap * 2);
		d->name = mem_resize(d->name, *cap * sizeof *d->name);
	}
	d->name[d->n++] = mem_text(name);
}

struct dir_walk {
	DIR *stream;
	char *path;
};

int dir_walk_open(struct dir_walk **ret, const char *path, struct err *err)
{
	DIR *stream = FAULT_REFUSES("file.open", path) ? NULL : opendir(path);
	if (!stream)
		return errno == ENOENT ? 1 : err_sys(err, "%s: open the folder", path);
	struct dir_walk *w = mem_alloc(sizeof *w);
	*w = (struct dir_walk){stream, mem_text(path)};
	*ret = w;
	return 0;
}

int dir_walk_next(struct dir_walk *w, const char **ret, struct err *err)
{
	struct dirent *e;
	for (errno = 0; (e = readdir(w->stream)); errno = 0) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		*ret = e->d_name;
		return 0;
	}
	return errno ? err_sys(err, "%s: read the folder", w->path) : 1;
}

void dir_walk_close(struct dir_walk **w)
{
	if (!*w)
		return;
	closedir((*w)->stream);
	mem_free(&(*w)->path);
	mem_free(w);
}

int dir_init(struct dir *ret, const char *path, struct err *err)
{
	struct dir_walk *w;
	struct dir d = {0};
	size_t cap = 0;
	const char *name;
	int rc = dir_walk_open(&w, path, err);
	if (rc)
		return rc;
	while ((rc = dir_walk_next(w, &name, err)) == 0)
		add_name(&d, name, &cap);
	dir_walk_close(&w);
	if (rc < 0) {
		dir_done(&d);
		return rc;
	}
	if (d.n)
		qsort(d.name, d.n, sizeof *d.name, by_name);
	*ret = d;
	return 0;
}

int dir_next(struct dir *d, const char **ret)
{
	if (d->at == d->n)
		return 1;
	*ret = d->name[d->at++];
	return 0;
}

void dir_done(struct dir *d)
{
	for (size_t i = 0; i < d->n; i++)
		mem_free(&d->name[i]);
	mem_free(&d->name);
	*d = (struct dir){0};
}
