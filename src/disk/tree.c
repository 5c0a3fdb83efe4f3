/* Removing trees of folders, or what was left in them. Entries are named from the open folder they
 * are in, and links are never followed, so that nobody can lead us elsewhere by changing a name
 * above. */
#include "disk/tree.h"

#include "base/fault.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree_walk {
	char path[PATH_MAX]; /* for messages: cut where it gets too long */
	int depth;
	bool left_only;
	dev_t device;
	struct err *err;
};

static const char *walk_slash(const struct tree_walk *w)
{
	return w->depth ? "/" : "";
}

static int walk_refuse(const struct tree_walk *w, const char *name, const char *what)
{
	return err_sys(w->err, "%s%s%s: %s", w->path, walk_slash(w), name, what);
}

static int walk_remove(struct tree_walk *w, int above, const char *name);

static int entry_is_folder(int folder, const struct dirent *e, bool *ret)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN) {
		*ret = e->d_type == DT_DIR;
		return 0;
	}
	if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	*ret = S_ISDIR(st.st_mode);
	return 0;
}

static int walk_unlink(const struct tree_walk *w, int folder, const char *name, int flags)
{
	FAULT("tree.remove");
	if (unlinkat(folder, name, flags) != 0 && errno != ENOENT)
		return walk_refuse(w, name, flags ? "remove the folder" : "remove");
	return 0;
}

/* All that is in a folder, or what was left there. */
static int walk_entries(struct tree_walk *w, DIR *dir)
{
	int rc = 0;
	struct dirent *e;
	for (errno = 0; rc == 0 && (e = readdir(dir)); errno = 0) {
		bool folder;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (entry_is_folder(dirfd(dir), e, &folder) != 0)
			rc = walk_refuse(w, e->d_name, "stat");
		else if (folder)
			rc = walk_remove(w, dirfd(dir), e->d_name);
		else if (!w->left_only || file_is_left(e->d_name))
			rc = walk_unlink(w, dirfd(dir), e->d_name, 0);
		if (w->left_only)
			rc = 0;
	}
	return rc == 0 && errno ? walk_refuse(w, "", "read the folder") : rc;
}

static DIR *walk_open(struct tree_walk *w, int above, const char *name)
{
	struct stat st;
	int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir || fstat(fd, &st) != 0) {
		(void)walk_refuse(w, name, "open the folder");
	} else if (w->depth > 0 && !w->left_only && st.st_dev != w->device) {
		err_set(w->err, ERR_USAGE, "%s%s%s: another file system is mounted there", w->path,
			walk_slash(w), name);
	} else {
		w->device = st.st_dev;
		return dir;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return NULL;
}

/* A folder with all that is in it. */
static int walk_remove(struct tree_walk *w, int above, const char *name)
{
	if (w->depth == TREE_DEPTH)
		return err_set(w->err, ERR_USAGE, "%s%s%s: more than %d folders deep", w->path,
			       walk_slash(w), name, TREE_DEPTH);
	DIR *dir = walk_open(w, above, name);
	if (!dir)
		return -1;
	size_t n = strlen(w->path);
	snprintf(w->path + n, sizeof w->path - n, "%s%s", walk_slash(w), name);
	w->depth++;
	int rc = walk_entries(w, dir);
	w->depth--;
	w->path[n] = 0;
	closedir(dir);
	return rc < 0 || w->left_only ? rc : walk_unlink(w, above, name, AT_REMOVEDIR);
}

/* path: without slashes at the end, with which a link would be followed. */
static int tree_remove_trimmed(const char *path, struct err *err)
{
	struct tree_walk w = {.err = err};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct stat st;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(err, ERR_USAGE, "\"%s\": names no folder of its own", path);
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 1 : err_sys(err, "%s: stat", path);
	return S_ISDIR(st.st_mode) ? walk_remove(&w, AT_FDCWD, path) : file_remove(path, err);
}

int tree_remove(const char *path, struct err *err)
{
	char *copy = mem_text(path);
	for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = 0;
	int rc = tree_remove_trimmed(copy, err);
	mem_free(&copy);
	return rc;
}

void tree_remove_left(const char *path)
{
	struct err ignored;
	struct tree_walk w = {.err = &ignored, .left_only = true};
	CLEANUP(file_drop) struct file top = FILE_INIT;
	if (file_open(&top, path, O_RDONLY | O_DIRECTORY, 0, &ignored) == 0)
		(void)walk_remove(&w, top.fd, ".");
}
