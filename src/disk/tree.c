/* Trees of folders: one walk that enters, visits and leaves, for removing, syncing and cloning. It
 * goes by open folders and never follows a link, so that nobody can lead it out of the tree. */
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

/* A folder that is open: where we read, and where a clone is made. */
struct level {
	int fd, to;
};

/* What is done on the way through a tree. A folder is entered, its files and folders are dealt
 * with, then it is left. Entries of a folder are always named from the open folder, so that nobody
 * can lead us elsewhere by changing a name above. */
struct walker {
	int (*enter)(struct walker *w, struct level *above, const char *name, struct level *here);
	int (*file)(struct walker *w, struct level *here, const char *name);
	int (*leave)(struct walker *w, struct level *above, const char *name, struct level *here);
	char path[PATH_MAX]; /* for messages: cut where it gets too long */
	int depth;
	dev_t device;
	struct err *err;
};

static const char *walk_slash(const struct walker *w)
{
	return w->depth ? "/" : "";
}

static int walk_refuse(struct walker *w, const char *name, const char *what)
{
	return err_sys(w->err, "%s%s%s: %s", w->path, walk_slash(w), name, what);
}

static int walk_folder(struct walker *w, struct level *above, const char *name);

static int entry_is_folder(const struct level *here, const struct dirent *e, bool *ret)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN) {
		*ret = e->d_type == DT_DIR;
		return 0;
	}
	if (fstatat(here->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	*ret = S_ISDIR(st.st_mode);
	return 0;
}

static int walk_entries(struct walker *w, struct level *here)
{
	int again = fcntl(here->fd, F_DUPFD_CLOEXEC, 0); /* closedir() closes its own */
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	if (!dir) {
		if (again >= 0)
			close(again);
		return walk_refuse(w, "", "read the folder");
	}
	int rc = 0;
	struct dirent *e;
	rewinddir(dir);
	for (errno = 0; rc == 0 && (e = readdir(dir)); errno = 0) {
		bool folder;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (entry_is_folder(here, e, &folder) != 0)
			rc = walk_refuse(w, e->d_name, "stat");
		else
			rc = folder ? walk_folder(w, here, e->d_name) : w->file(w, here, e->d_name);
	}
	if (rc == 0 && errno)
		rc = walk_refuse(w, "", "read the folder");
	closedir(dir);
	return rc;
}

static int walk_open_folder(struct walker *w, const struct level *above, const char *name)
{
	struct stat st;
	int fd = openat(above->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return walk_refuse(w, name, "open the folder");
	if (fstat(fd, &st) != 0) {
		(void)walk_refuse(w, name, "stat");
	} else if (w->depth > 0 && st.st_dev != w->device) {
		err_set(w->err, ERR_USAGE, "%s%s%s: another file system is mounted there", w->path,
			walk_slash(w), name);
	} else {
		w->device = st.st_dev;
		return fd;
	}
	close(fd);
	return -1;
}

static int walk_folder(struct walker *w, struct level *above, const char *name)
{
	if (w->depth == TREE_DEPTH)
		return err_set(w->err, ERR_USAGE, "%s%s%s: more than %d folders deep", w->path,
			       walk_slash(w), name, TREE_DEPTH);
	struct level here = {walk_open_folder(w, above, name), -1};
	if (here.fd < 0)
		return -1;
	int rc = w->enter ? w->enter(w, above, name, &here) : 0;
	size_t n = strlen(w->path);
	snprintf(w->path + n, sizeof w->path - n, "%s%s", walk_slash(w), name);
	w->depth++;
	if (rc == 0)
		rc = walk_entries(w, &here);
	w->depth--;
	w->path[n] = 0;
	if (rc == 0)
		rc = w->leave(w, above, name, &here);
	close(here.fd);
	if (here.to >= 0)
		close(here.to);
	return rc;
}

/* A copy without slashes at the end, with which a link would be followed. */
static char *path_trimmed(const char *path)
{
	char *copy = mem_text(path);
	for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = 0;
	return copy;
}

static const char *path_last_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Whether a path names something in a folder: not "", "/", "." or "..". */
static int path_check_name(const char *path, struct err *err)
{
	const char *name = path_last_name(path);
	if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return 0;
	return err_set(err, ERR_USAGE, "\"%s\": names no folder of its own", path);
}

/* Removing */

static int remove_file(struct walker *w, struct level *here, const char *name)
{
	FAULT("tree.remove");
	if (unlinkat(here->fd, name, 0) != 0 && errno != ENOENT)
		return walk_refuse(w, name, "remove");
	return 0;
}

static int remove_folder(struct walker *w, struct level *above, const char *name,
			 struct level *here)
{
	(void)here;
	FAULT("tree.remove");
	if (unlinkat(above->fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return walk_refuse(w, name, "remove the folder");
	return 0;
}

static int tree_remove_any(const char *path, struct err *err)
{
	struct walker w = {.file = remove_file, .leave = remove_folder, .err = err};
	struct level top = {AT_FDCWD, -1};
	struct stat st;
	if (path_check_name(path, err) < 0)
		return -1;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 1 : err_sys(err, "%s: stat", path);
	return S_ISDIR(st.st_mode) ? walk_folder(&w, &top, path) : file_remove(path, err);
}

int tree_remove(const char *path, struct err *err)
{
	char *name = path_trimmed(path);
	int rc = tree_remove_any(name, err);
	mem_free(&name);
	return rc;
}

/* Syncing */

static int sync_fd(struct walker *w, int fd, const char *name)
{
	if (FAULT_REFUSES("file.sync", name) || (fsync(fd) != 0 && errno != EINVAL))
		return walk_refuse(w, name, "sync");
	return 0;
}

static int sync_file(struct walker *w, struct level *here, const char *name)
{
	struct stat st;
	if (fstatat(here->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return walk_refuse(w, name, "stat");
	if (!S_ISREG(st.st_mode))
		return 0;
	int fd = openat(here->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return walk_refuse(w, name, "open");
	int rc = sync_fd(w, fd, name);
	close(fd);
	return rc;
}

static int sync_folder(struct walker *w, struct level *above, const char *name, struct level *here)
{
	(void)above;
	return sync_fd(w, here->fd, name);
}

int tree_sync(const char *path, struct err *err)
{
	struct walker w = {.file = sync_file, .leave = sync_folder, .err = err};
	struct level top = {AT_FDCWD, -1};
	char *name = path_trimmed(path);
	int rc = walk_folder(&w, &top, name);
	mem_free(&name);
	return rc;
}

/* Cloning */

static int clone_enter(struct walker *w, struct level *above, const char *name, struct level *here)
{
	struct stat st;
	if (w->depth == 0) { /* made already, under another name */
		here->to = fcntl(above->to, F_DUPFD_CLOEXEC, 0);
		return here->to < 0 ? walk_refuse(w, name, "open the clone") : 0;
	}
	if (fstat(here->fd, &st) != 0 || mkdirat(above->to, name, st.st_mode & 07777) != 0)
		return walk_refuse(w, name, "make the folder in the clone");
	here->to = openat(above->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return here->to < 0 ? walk_refuse(w, name, "open the folder in the clone") : 0;
}

static int clone_file(struct walker *w, struct level *here, const char *name)
{
	FAULT("tree.clone.link");
	if (FAULT_REFUSES("file.rename", name) || linkat(here->fd, name, here->to, name, 0) != 0)
		return walk_refuse(w, name, "link into the clone");
	return 0;
}

static int clone_leave(struct walker *w, struct level *above, const char *name, struct level *here)
{
	(void)above;
	return sync_fd(w, here->to, name);
}

/* The links of a tree in an empty folder. */
static int clone_into(const char *from, const char *to, struct err *err)
{
	struct walker w = {
		.enter = clone_enter, .file = clone_file, .leave = clone_leave, .err = err};
	CLEANUP(file_drop) struct file folder = FILE_INIT;
	int rc = file_open(&folder, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_SYSTEM, "%s: has gone", to);
	struct level top = {AT_FDCWD, folder.fd};
	return walk_folder(&w, &top, from);
}

/* "/a/.b.new" for "/a/b" */
static char *path_beside(const char *path)
{
	const char *name = path_last_name(path);
	size_t cap = strlen(path) + sizeof "..new";
	char *ret = mem_alloc(cap);
	snprintf(ret, cap, "%.*s.%s.new", (int)(name - path), path, name);
	return ret;
}

static int tree_make_fresh(const char *fresh, mode_t mode, struct err *err)
{
	if (tree_remove(fresh, err) < 0)
		return -1;
	if (mkdir(fresh, mode) != 0)
		return err_sys(err, "%s: make the folder", fresh);
	return 0;
}

static int tree_rename(const char *from, const char *to, unsigned flags, struct err *err)
{
	if (FAULT_REFUSES("file.rename", from) ||
	    renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) != 0)
		return err_sys(err, "%s: %s %s", from,
			       flags & RENAME_EXCHANGE ? "exchange with" : "rename to", to);
	return 0;
}

static int clone_to(const char *from, const char *to, const char *fresh, struct err *err)
{
	struct stat st;
	struct err ignored;
	if (stat(from, &st) != 0)
		return err_sys(err, "%s: stat", from);
	if (tree_make_fresh(fresh, st.st_mode & 07777, err) < 0)
		return -1;
	FAULT("tree.clone");
	int rc = clone_into(from, fresh, err);
	FAULT("tree.clone.rename");
	if (rc == 0)
		rc = tree_rename(fresh, to, RENAME_NOREPLACE, err);
	FAULT("tree.clone.sync");
	if (rc == 0)
		return dir_sync_of(to, err);
	(void)tree_remove(fresh, &ignored);
	return rc;
}

int tree_clone(const char *from, const char *to, struct err *err)
{
	char *source = path_trimmed(from), *target = path_trimmed(to);
	int rc = path_check_name(target, err);
	if (rc == 0) {
		char *fresh = path_beside(target);
		rc = clone_to(source, target, fresh, err);
		mem_free(&fresh);
	}
	mem_free(&source);
	mem_free(&target);
	return rc;
}

/* Replacing */

int tree_fresh(const char *path, char **ret, struct err *err)
{
	char *target = path_trimmed(path), *fresh = path_beside(target);
	int rc = path_check_name(target, err);
	if (rc == 0)
		rc = tree_make_fresh(fresh, 0755, err);
	mem_free(&target);
	if (rc == 0)
		*ret = fresh;
	else
		mem_free(&fresh);
	return rc;
}

/* Exchanged with what is there, or put there where nothing is. */
static int tree_put_in_place(const char *fresh, const char *path, struct err *err)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? tree_rename(fresh, path, RENAME_NOREPLACE, err)
				       : err_sys(err, "%s: stat", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s: is not a folder, so it is not replaced by one",
			       path);
	return tree_rename(fresh, path, RENAME_EXCHANGE, err);
}

static int tree_replace_with(const char *path, const char *fresh, struct err *err)
{
	if (tree_sync(fresh, err) < 0)
		return -1;
	FAULT("tree.replace");
	if (tree_put_in_place(fresh, path, err) < 0)
		return -1;
	FAULT("tree.replace.sync");
	if (dir_sync_of(path, err) < 0)
		return -1;
	FAULT("tree.replace.remove");
	return tree_remove(fresh, err) < 0 ? -1 : 0;
}

int tree_replace(const char *path, char **fresh, struct err *err)
{
	char *target = path_trimmed(path);
	int rc = tree_replace_with(target, *fresh, err);
	mem_free(&target);
	mem_free(fresh);
	return rc;
}
