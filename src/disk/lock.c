/* Locks belong to the open file: a thread of the same process does not lose one by closing another
 * descriptor, and a killed process frees its own. A folder is locked by flock(2), since a lock by
 * fcntl(2) that excludes others needs a file open to write. Byte 0 of it is locked by fcntl(2) as
 * well, shared: flock(2) cannot be asked who holds it without taking it, and a process that starts
 * at that moment would be refused. */
#include "disk/lock.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* BYTE_NAME is locked to learn what the kernel calls a file. */
enum { BYTE_HELD, BYTE_NAME, ALL_LOCKS = 16 << 20, MAX_COMMAND = 160 };

static int lock_ask(int fd, int cmd, struct flock *ret)
{
	*ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, cmd, ret);
}

static int lock_byte(int fd, off_t byte)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	return fcntl(fd, F_OFD_SETLK, &lock);
}

/* "4: FLOCK  ADVISORY  WRITE 5023 fe:00:1234 0 EOF": after the way of locking come the process (-1:
 * none, the lock is that of an open file) and the device and inode. */
static bool lock_line(struct str line, const char *way, uint64_t *ret_pid, struct str *ret_file)
{
	struct str word = {0};
	*ret_pid = 0;
	while (!str_is(word, way))
		if (str_cut(&line, ' ', &word))
			return false;
	if (str_cut(&line, ' ', &word))
		return false;
	(void)!str_u64(word, ret_pid);
	return str_cut(&line, ' ', ret_file) == 0;
}

/* Which process holds the folder; 0: it cannot be seen from here. What the kernel calls a folder is
 * seen at a lock of our own: stat(2) tells other numbers on some file systems. */
static int64_t lock_pid(const struct file *f)
{
	CLEANUP(buf_free) struct buf own = BUF_INIT(4096);
	CLEANUP(buf_free) struct buf all = BUF_INIT(ALL_LOCKS);
	char path[64];
	uint64_t pid;
	struct str name, file, line, rest;
	struct err ignored;
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", f->fd);
	if (lock_byte(f->fd, BYTE_NAME) < 0 || file_slurp(path, &own, &ignored) != 0 ||
	    !lock_line(buf_str(&own), "READ", &pid, &name) ||
	    file_slurp("/proc/locks", &all, &ignored) != 0)
		return 0;
	rest = buf_str(&all);
	while (str_cut(&rest, '\n', &line) == 0)
		if (str_find(line, STR(" FLOCK ")) < line.n &&
		    lock_line(line, "WRITE", &pid, &file) && str_eq(file, name))
			return (int64_t)pid;
	return 0;
}

static int lock_busy(const struct file *f, struct err *err)
{
	CLEANUP(file_drop) struct file command = FILE_INIT;
	CLEANUP(buf_free) struct buf who = BUF_INIT(MAX_COMMAND);
	char path[64], word[MAX_COMMAND];
	struct err ignored;
	size_t n = 0;
	int64_t pid = lock_pid(f);
	if (!pid)
		return err_set(err, ERR_BUSY, "%s: held by another process", f->path);
	snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
	if (file_open(&command, path, O_RDONLY, 0, &ignored) != 0 ||
	    file_read(&command, word, sizeof word, 0, &n, &ignored) < 0 || n == 0)
		return err_set(err, ERR_BUSY, "%s: held by pid %lld", f->path, (long long)pid);
	for (size_t i = 0; i < n; i++)
		if (!word[i])
			word[i] = i + 1 < n ? ' ' : '\n';
	put_safe(&who, (struct str){word, n});
	return err_set(err, ERR_BUSY, "%s: held by pid %lld (%s)", f->path, (long long)pid,
		       buf_text(&who));
}

int lock_take(struct lock *ret, const char *path, struct err *err)
{
	struct file f;
	if (mkdir(path, DIR_MODE) < 0 && errno != EEXIST)
		return err_sys(err, "%s: cannot be made, to be locked", path);
	int rc = file_open(&f, path, O_RDONLY | O_NOFOLLOW, 0, err);
	if (rc)
		return rc < 0 ? -1 : err_set(err, ERR_SYSTEM, "%s: was removed", path);
	if (flock(f.fd, LOCK_EX | LOCK_NB) < 0)
		rc = errno == EWOULDBLOCK ? lock_busy(&f, err) : err_sys(err, "%s: lock", path);
	else if (lock_byte(f.fd, BYTE_HELD) < 0)
		rc = err_sys(err, "%s: lock", path);
	if (rc < 0) {
		file_drop(&f);
		return rc;
	}
	ret->file = f;
	return 0;
}

void lock_free(struct lock *l)
{
	file_drop(&l->file);
}

int lock_holder(const char *path, int64_t *ret_pid, struct err *err)
{
	struct file f;
	int rc = file_open(&f, path, O_RDONLY | O_NOFOLLOW, 0, err);
	if (rc)
		return rc;
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = BYTE_HELD, .l_len = 1};
	if (fcntl(f.fd, F_OFD_GETLK, &lock) != 0)
		rc = err_sys(err, "%s: ask for the lock", path);
	else if (lock.l_type == F_UNLCK)
		rc = 1;
	else
		*ret_pid = lock_pid(&f);
	file_drop(&f);
	return rc;
}

int lock_file(const struct file *f, struct err *err)
{
	struct flock lock;
	if (lock_ask(f->fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return err_sys(err, "%s: lock", f->path);
	return err_set(err, ERR_BUSY, "%s: somebody else writes it", f->path);
}

bool lock_file_held(const struct file *f)
{
	struct flock lock;
	return lock_ask(f->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int lock_folder(struct file *ret, const char *folder, enum lock_how how, struct err *err)
{
	struct file f;
	int rc = file_open(&f, folder, O_RDONLY | O_DIRECTORY, 0, err);
	if (rc)
		return rc < 0 ? -1
			      : err_set(err, ERR_SYSTEM, "%s: there is no such folder", folder);
	if (flock(f.fd, (how == LOCK_ALONE ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
		*ret = f;
		return 0;
	}
	if (errno != EWOULDBLOCK)
		rc = err_sys(err, "%s: lock", folder);
	else if (how == LOCK_SHARED) /* of several who share it the kernel names no one */
		rc = lock_busy(&f, err);
	else
		rc = err_set(err, ERR_BUSY, "%s: others use it", folder);
	file_drop(&f);
	return rc;
}
