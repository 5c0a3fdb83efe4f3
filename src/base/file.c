/* Files and folders: every system call on them is here once, with its path in the error and a fault
 * point before it. What must replace a file whole is written next to it and renamed. */
#include "base/file.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_link(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int refuse_link(const char *path, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s: is a symbolic link, which is not followed here", path);
}

int file_open(struct file *ret, const char *path, int flags, mode_t mode, struct err *err)
{
	int own = (flags & O_ACCMODE) == O_RDONLY ? 0 : O_NOFOLLOW;
	int fd = FAULT_REFUSES("file.open", path)
			 ? -1
			 : UNINTERRUPTED(open(path, flags | own | O_CLOEXEC, mode));
	if (fd < 0 && errno == ENOENT && !(flags & O_CREAT))
		return 1;
	if (fd < 0 && errno == ELOOP && is_link(path))
		return refuse_link(path, err);
	if (fd < 0)
		return err_sys(err, "%s: open", path);
	*ret = (struct file){fd, mem_text(path)};
	return 0;
}

int file_reopen(const struct file *f, int flags, struct file *ret, struct err *err)
{
	char self[64];
	snprintf(self, sizeof self, "/proc/self/fd/%d", f->fd);
	int fd = FAULT_REFUSES("file.open", f->path) ? -1
						     : UNINTERRUPTED(open(self, flags | O_CLOEXEC));
	if (fd < 0)
		return err_sys(err, "%s: open %s", f->path, self);
	*ret = (struct file){fd, mem_text(f->path)};
	return 0;
}

/* Linux has closed the descriptor even when close(2) was interrupted. */
int file_close(struct file *f, struct err *err)
{
	int rc = 0;
	if (f->fd >= 0 && close(f->fd) != 0 && errno != EINTR)
		rc = err_sys(err, "%s: close", f->path);
	mem_free(&f->path);
	f->fd = -1;
	return rc;
}

void file_drop(struct file *f)
{
	struct err ignored;
	(void)file_close(f, &ignored);
}

int file_read(const struct file *f, void *p, size_t n, uint64_t offset, size_t *ret_n,
	      struct err *err)
{
	size_t got = 0;
	while (got < n) {
		ssize_t r = FAULT_REFUSES("file.read", f->path)
				    ? -1
				    : UNINTERRUPTED(pread(f->fd, (char *)p + got, n - got,
							  (off_t)(offset + got)));
		if (r < 0)
			return err_sys(err, "%s: read of %zu bytes at %" PRIu64, f->path, n - got,
				       offset + got);
		if (r == 0)
			break;
		got += (size_t)r;
	}
	*ret_n = got;
	return 0;
}

int file_read_next(const struct file *f, void *p, size_t n, size_t *ret_n, struct err *err)
{
	ssize_t r = FAULT_REFUSES("file.read", f->path) ? -1 : UNINTERRUPTED(read(f->fd, p, n));
	if (r < 0)
		return err_sys(err, "%s: read", f->path);
	*ret_n = (size_t)r;
	return 0;
}

/* All n bytes, or -1 with errno. */
static int write_all(int fd, const char *p, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t r = UNINTERRUPTED(pwrite(fd, p, n, (off_t)offset));
		if (r == 0)
			errno = EIO;
		if (r <= 0)
			return -1;
		p += r;
		n -= (size_t)r;
		offset += (uint64_t)r;
	}
	return 0;
}

static int write_or_fault(const struct file *f, const void *p, size_t n, uint64_t offset)
{
	enum fault_action fault = FAULT_FILE("file.write", f->path);
	if (!fault)
		return write_all(f->fd, p, n, offset);
	if (fault == FAULT_SHORT && write_all(f->fd, p, n / 2, offset) != 0)
		return -1;
	errno = fault == FAULT_EIO ? EIO : ENOSPC;
	return -1;
}

int file_write(const struct file *f, const void *p, size_t n, uint64_t offset, struct err *err)
{
	if (write_or_fault(f, p, n, offset) != 0)
		return err_sys(err, "%s: write of %zu bytes at %" PRIu64, f->path, n, offset);
	return 0;
}

int file_sync(const struct file *f, struct err *err)
{
	if (FAULT_REFUSES("file.sync", f->path) || UNINTERRUPTED(fdatasync(f->fd)) != 0)
		return err_sys(err, "%s: sync", f->path);
	return 0;
}

int file_sync_all(const struct file *f, struct err *err)
{
	if (FAULT_REFUSES("file.sync", f->path) || UNINTERRUPTED(syncfs(f->fd)) != 0)
		return err_sys(err, "%s: sync of its file system", f->path);
	return 0;
}

int file_truncate(const struct file *f, uint64_t size, struct err *err)
{
	if (FAULT_REFUSES("file.truncate", f->path) ||
	    UNINTERRUPTED(ftruncate(f->fd, (off_t)size)) != 0)
		return err_sys(err, "%s: cut to %" PRIu64 " bytes", f->path, size);
	return 0;
}

int file_size(const struct file *f, uint64_t *ret, struct err *err)
{
	struct stat st;
	if (fstat(f->fd, &st) != 0)
		return err_sys(err, "%s: stat", f->path);
	*ret = (uint64_t)st.st_size;
	return 0;
}

static bool stat_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int file_changed(const char *path, struct stat *seen, struct err *err)
{
	struct stat now;
	if (stat(path, &now) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return err_sys(err, "%s", path);
		now = (struct stat){0};
	}
	if (stat_is_same(&now, seen))
		return 1;
	*seen = now;
	return 0;
}

/* A lease for readers is given while nobody has the file open to write, and to its owner only. Who
 * comes to write meanwhile waits until it is given back, and we are told by a signal: by one that
 * does nothing. */
static int file_lease(const struct file *f)
{
	if (fcntl(f->fd, F_SETSIG, SIGURG) != 0 || fcntl(f->fd, F_SETLEASE, F_RDLCK) != 0)
		return -1;
	return fcntl(f->fd, F_SETLEASE, F_UNLCK);
}

int file_in_use(const struct file *f, int64_t since_us, struct err *err)
{
	struct stat st;
	if (file_lease(f) != 0)
		return errno == EAGAIN ? 1 : err_sys(err, "%s: who writes it", f->path);
	if (fstat(f->fd, &st) != 0)
		return err_sys(err, "%s: stat", f->path);
	/* the time of modification may be set to anything */
	return (int64_t)st.st_ctim.tv_sec * US_PER_S + st.st_ctim.tv_nsec / 1000 > since_us;
}

int file_direct(const struct file *f, bool on, struct err *err)
{
	int flags = fcntl(f->fd, F_GETFL);
	if (flags >= 0 && fcntl(f->fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0)
		return 0;
	return on && errno == EINVAL ? 1 : err_sys(err, "%s: direct transfers", f->path);
}

/* Where the file system does not have O_TMPFILE, the name exists for an instant. */
static int create_and_unlink(struct file *ret, const char *folder, struct err *err)
{
	size_t cap = strlen(folder) + 32;
	char *name = mem_alloc(cap);
	snprintf(name, cap, "%s/.tmp.%d", folder, (int)gettid());
	int rc = file_remove(name, err);
	if (rc >= 0)
		rc = file_open(ret, name, O_RDWR | O_CREAT | O_EXCL, 0600, err);
	if (rc == 0)
		(void)unlink(name);
	mem_free(&name);
	return rc;
}

int file_space(const char *path, uint64_t *ret_free, uint64_t *ret_total, struct err *err)
{
	struct statvfs v;
	if (statvfs(path, &v) != 0)
		return err_sys(err, "%s: free space", path);
	*ret_free = (uint64_t)v.f_bavail * v.f_frsize;
	if (ret_total)
		*ret_total = (uint64_t)v.f_blocks * v.f_frsize;
	return 0;
}

int file_temporary(struct file *ret, const char *folder, struct err *err)
{
	int rc = file_open(ret, folder, O_TMPFILE | O_RDWR, 0600, err);
	if (rc < 0 && (err->sys_errno == EOPNOTSUPP || err->sys_errno == EISDIR))
		return create_and_unlink(ret, folder, err);
	return rc == 1 ? err_set(err, ERR_SYSTEM, "%s: no such folder for temporary files", folder)
		       : rc;
}

int file_of_bytes(struct file *ret, struct str bytes, struct err *err)
{
	struct file f = {memfd_create("garner", MFD_CLOEXEC), mem_text("a file in memory")};
	int rc = f.fd < 0 ? err_sys(err, "%s", f.path) : file_write(&f, bytes.p, bytes.n, 0, err);
	if (rc < 0)
		file_drop(&f);
	else
		*ret = f;
	return rc;
}

/* For file systems that cannot allocate: zeroes after the end. Holes before it stay. */
static int write_zeroes(const struct file *f, uint64_t size, struct err *err)
{
	static const char zeroes[64 << 10];
	uint64_t at;
	if (file_size(f, &at, err) < 0)
		return -1;
	while (at < size) {
		size_t n = (size_t)MIN(size - at, (uint64_t)sizeof zeroes);
		if (file_write(f, zeroes, n, at, err) < 0)
			return -1;
		at += n;
	}
	return 0;
}

int file_allocate(const struct file *f, uint64_t size, struct err *err)
{
	return file_extend(f, 0, size, err);
}

int file_extend(const struct file *f, uint64_t from, uint64_t size, struct err *err)
{
	if (size <= from)
		return 0;
	bool stop = FAULT_REFUSES("file.write", f->path);
	if (!stop && UNINTERRUPTED(fallocate(f->fd, 0, (off_t)from, (off_t)(size - from))) == 0)
		return 0;
	if (!stop && (errno == EOPNOTSUPP || errno == ENOSYS))
		return write_zeroes(f, size, err);
	return err_sys(err, "%s: allocation of %" PRIu64 " bytes", f->path, size);
}

int file_punch(const struct file *f, uint64_t from, uint64_t n, struct err *err)
{
	bool stop = FAULT_REFUSES("file.write", f->path);
	if (!stop && UNINTERRUPTED(fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					     (off_t)from, (off_t)n)) == 0)
		return 0;
	if (!stop && (errno == EOPNOTSUPP || errno == ENOSYS))
		return 1;
	return err_sys(err, "%s: a hole of %" PRIu64 " bytes at %" PRIu64, f->path, n, from);
}

int file_link(const char *from, const char *to, struct err *err)
{
	if (!FAULT_REFUSES("file.rename", to) && link(from, to) == 0)
		return 0;
	return errno == ENOENT ? 1 : err_sys(err, "%s: link as %s", from, to);
}

int file_rename(const char *from, const char *to, struct err *err)
{
	if (FAULT_REFUSES("file.rename", from) || rename(from, to) != 0)
		return err_sys(err, "%s: rename to %s", from, to);
	return 0;
}

int file_exchange(const char *a, const char *b, struct err *err)
{
	if (FAULT_REFUSES("file.rename", a) ||
	    renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) != 0)
		return err_sys(err, "%s: exchange with %s", a, b);
	return 0;
}

int file_remove(const char *path, struct err *err)
{
	if (unlink(path) == 0)
		return 0;
	return errno == ENOENT ? 1 : err_sys(err, "%s: remove", path);
}

int dir_remove(const char *path, struct err *err)
{
	if (rmdir(path) == 0)
		return 0;
	return errno == ENOENT ? 1 : err_sys(err, "%s: remove", path);
}

/* Appends to what is in `out`, which is as before after a failure. The size of the file is only a
 * hint: it may grow, and files below /proc have none. */
static int read_to_end(const struct file *f, struct buf *out, struct err *err)
{
	uint64_t offset = 0, hint;
	if (file_size(f, &hint, err) < 0)
		return -1;
	for (;;) {
		size_t left = out->max - out->n;
		size_t want = (size_t)MIN((uint64_t)left, MAX(hint - MIN(offset, hint) + 1, 4096u));
		char extra;
		size_t got;
		char *room = want ? buf_room(out, want) : &extra;
		if (file_read(f, room, want ? want : 1, offset, &got, err) < 0)
			return -1;
		if (got == 0)
			return 0;
		if (want == 0)
			return err_set(err, ERR_USAGE, "%s: longer than the %zu bytes allowed",
				       f->path, out->max);
		buf_grew(out, got);
		offset += got;
	}
}

static int refuse_pipe(const struct file *f, struct err *err)
{
	struct stat st;
	if (fstat(f->fd, &st) != 0)
		return err_sys(err, "%s: stat", f->path);
	return S_ISFIFO(st.st_mode)
		       ? err_set(err, ERR_USAGE, "%s: a pipe, expected a file", f->path)
		       : 0;
}

/* O_NONBLOCK: to open a pipe would otherwise wait until somebody writes into it. */
static int open_plain(struct file *ret, const char *path, int flags, struct err *err)
{
	struct file f;
	int rc = file_open(&f, path, O_RDONLY | O_NONBLOCK | flags, 0, err);
	if (rc)
		return rc;
	if (refuse_pipe(&f, err) < 0) {
		file_drop(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

int file_open_plain(struct file *ret, const char *path, struct err *err)
{
	return open_plain(ret, path, 0, err);
}

static int slurp_with(const char *path, int flags, struct buf *out, struct err *err)
{
	struct file f;
	int rc = open_plain(&f, path, flags, err);
	if (rc)
		return rc;
	size_t before = out->n;
	rc = read_to_end(&f, out, err);
	file_drop(&f);
	if (rc < 0 && out->p) {
		out->n = before;
		out->p[before] = 0;
	}
	return rc;
}

int file_slurp(const char *path, struct buf *out, struct err *err)
{
	return slurp_with(path, 0, out, err);
}

int file_slurp_own(const char *path, struct buf *out, struct err *err)
{
	return slurp_with(path, O_NOFOLLOW, out, err);
}

/* In the same folder, so that a rename stays on one file system; named after the thread, so that no
 * two writers that live at the same time share one. */
static char *temporary_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
	size_t cap = strlen(path) + 32;
	char *name = mem_alloc(cap);
	memcpy(name, path, folder);
	snprintf(name + folder, cap - folder, ".%s.tmp.%d", path + folder, (int)gettid());
	return name;
}

int file_below(const char *folder, const char *path, char ret[PATH_MAX], struct err *err)
{
	bool is_absolute = path[0] == '/';
	int n = snprintf(ret, PATH_MAX, "%s%s%s", is_absolute ? "" : folder, is_absolute ? "" : "/",
			 path);
	if (n < 0 || n >= PATH_MAX)
		return err_set(err, ERR_USAGE, "%.100s: the path is too long", path);
	return 0;
}

/* Whose it is; 0: it is not such a name. */
static pid_t temporary_thread(const char *name)
{
	static const char mark[] = ".tmp.";
	const char *at = NULL, *next = name;
	uint64_t thread;
	while ((next = strstr(next, mark)))
		at = next++;
	bool is = name[0] == '.' && at && str_u64(str_of(at + strlen(mark)), &thread) &&
		  thread <= INT_MAX;
	return is ? (pid_t)thread : 0;
}

bool file_is_temporary(const char *name)
{
	return temporary_thread(name) > 0;
}

bool file_is_left(const char *name)
{
	pid_t thread = temporary_thread(name);
	return thread > 0 && kill(thread, 0) < 0 && errno == ESRCH;
}

/* A new file; one of that name is what a killed writer left. */
static int create_fresh(struct file *ret, const char *path, mode_t mode, struct err *err)
{
	if (file_remove(path, err) < 0)
		return -1;
	return file_open(ret, path, O_WRONLY | O_CREAT | O_EXCL, mode, err);
}

static int write_whole(const char *path, struct str bytes, mode_t mode, struct err *err)
{
	struct file f;
	if (create_fresh(&f, path, mode, err) < 0)
		return -1;
	if (file_write(&f, bytes.p, bytes.n, 0, err) < 0 || file_sync(&f, err) < 0) {
		file_drop(&f);
		return -1;
	}
	return file_close(&f, err);
}

/* Gives what was made under a temporary name its name for good, if rc says that it was made. Frees
 * `temporary`. */
static int put_in_place(char *temporary, const char *path, int rc, struct err *err)
{
	if (rc == 0)
		rc = file_rename(temporary, path, err);
	if (rc < 0)
		(void)unlink(temporary);
	else
		rc = dir_sync_of(path, err);
	mem_free(&temporary);
	return rc;
}

int file_point(const char *path, const char *to, struct err *err)
{
	char *temporary = temporary_name(path);
	(void)unlink(temporary);
	int rc = symlink(to, temporary) == 0 ? 0 : err_sys(err, "%s: link to %s", path, to);
	return put_in_place(temporary, path, rc, err);
}

int file_replace(const char *path, struct str bytes, mode_t mode, struct err *err)
{
	char *temporary = temporary_name(path);
	int rc = write_whole(temporary, bytes, mode, err);
	return put_in_place(temporary, path, rc, err);
}

/* A file system that cannot sync folders answers EINVAL; there is nothing to wait for then. */
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

char *file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = mem_text(slash ? path : ".");
	if (slash)
		folder[slash == path ? 1 : slash - path] = 0;
	return folder;
}

int dir_sync_of(const char *path, struct err *err)
{
	char *folder = file_folder(path);
	int rc = dir_sync(folder, err);
	mem_free(&folder);
	return rc;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* One level. 0: it is there now. */
static int make_level(const char *path, const char *parent, mode_t mode, bool sync, struct err *err)
{
	struct stat st;
	if (is_folder(path))
		return 0;
	if (mkdir(path, mode) == 0)
		return sync ? dir_sync(parent, err) : 0;
	/* another process may have been faster */
	if (errno == EEXIST && stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return err_sys(err, "%s: make the folder", path);
}

/* All levels, from the top; mostly there is nothing to do. */
static int make_levels(const char *name, mode_t mode, bool sync, struct err *err)
{
	if (is_folder(name))
		return 0;
	CLEANUP(mem_free) char *path = mem_text(name);
	char *parent = mem_text(*path == '/' ? "/" : ".");
	int rc = 0;
	for (char *p = path + strspn(path, "/"); rc == 0 && *p;) {
		char *end = p + strcspn(p, "/"), *next = end + strspn(end, "/");
		char kept = *end;
		*end = 0;
		rc = make_level(path, parent, mode, sync, err);
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
	return make_levels(path, mode, true, err);
}

int dir_make_unsynced(const char *path, mode_t mode, struct err *err)
{
	return make_levels(path, mode, false, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct dir_walk {
	DIR *stream;
	char *path;
};

static int walk_open(struct dir_walk **ret, const char *path, int flags, struct err *err)
{
	int fd = FAULT_REFUSES("file.open", path)
			 ? -1
			 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream && fd >= 0)
		close(fd);
	if (!stream && flags && is_link(path))
		return refuse_link(path, err);
	if (!stream)
		return errno == ENOENT ? 1 : err_sys(err, "%s: open the folder", path);
	struct dir_walk *w = mem_alloc(sizeof *w);
	*w = (struct dir_walk){stream, mem_text(path)};
	*ret = w;
	return 0;
}

int dir_walk_open(struct dir_walk **ret, const char *path, struct err *err)
{
	return walk_open(ret, path, O_NOFOLLOW, err);
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

static int read_names(struct dir *ret, const char *path, int flags, struct err *err)
{
	struct dir_walk *w;
	struct dir d = {0};
	size_t room = 0;
	const char *name;
	int rc = walk_open(&w, path, flags, err);
	if (rc)
		return rc;
	while ((rc = dir_walk_next(w, &name, err)) == 0)
		*VEC_PUSH(d.name, d.n, room) = mem_text(name);
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

int dir_init(struct dir *ret, const char *path, struct err *err)
{
	return read_names(ret, path, 0, err);
}

int dir_init_own(struct dir *ret, const char *path, struct err *err)
{
	return read_names(ret, path, O_NOFOLLOW, err);
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
