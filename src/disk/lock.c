/* Locks on open files (F_OFD_SETLK): they belong to the descriptor, so a thread of the same process
 * does not lose one by closing another, and a killed process frees its own. */
#include "disk/lock.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* The first line of the file says who holds it, in the words of the error message; what stands
 * after the line is left over from a longer one. The file is never removed: a process that waits on
 * its name would then hold another one. */
enum { MAX_LINE = 256 };

static int lock_ask(int fd, int cmd, struct flock *ret)
{
	*ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, cmd, ret);
}

static void lock_first_line(const struct file *f, char ret[MAX_LINE])
{
	struct err ignored;
	size_t n = 0;
	if (file_read(f, ret, MAX_LINE - 1, 0, &n, &ignored) < 0)
		n = 0;
	ret[n] = 0;
	ret[strcspn(ret, "\n")] = 0;
}

static int lock_busy(const struct file *f, struct err *err)
{
	char line[MAX_LINE];
	lock_first_line(f, line);
	return err_set(err, ERR_BUSY, "%s: held by %s", f->path,
		       *line ? line : "a process that has not said its name yet");
}

static int lock_say_who(const struct file *f, const char *who, struct err *err)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(MAX_LINE);
	buf_printf(&line, "pid %d (%.180s) since ", (int)getpid(), who);
	time_print(&line, clock_wall_us(), 0);
	buf_add_byte(&line, '\n');
	return file_write(f, line.p, line.n, 0, err);
}

int lock_take(struct lock *ret, const char *path, const char *who, struct err *err)
{
	struct file f;
	if (file_open(&f, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644, err) < 0)
		return -1;
	struct flock lock;
	int rc = 0;
	if (lock_ask(f.fd, F_OFD_SETLK, &lock) != 0)
		rc = errno == EAGAIN || errno == EACCES ? lock_busy(&f, err)
							: err_sys(err, "%s: lock", path);
	else
		rc = lock_say_who(&f, who, err);
	if (rc < 0) {
		file_drop(&f);
		return rc;
	}
	ret->file = f;
	return 0;
}

/* An empty first line: the next holder is not taken for this one before it has said its name. */
void lock_free(struct lock *l)
{
	if (l->file.fd >= 0)
		(void)!pwrite(l->file.fd, "\n", 1, 0);
	file_drop(&l->file);
}

int lock_holder(const char *path, int64_t *ret_pid, struct err *err)
{
	struct file f;
	int rc = file_open(&f, path, O_RDONLY | O_NOFOLLOW, 0, err);
	if (rc)
		return rc;
	struct flock lock;
	if (lock_ask(f.fd, F_OFD_GETLK, &lock) != 0) {
		rc = err_sys(err, "%s: ask for the lock", path);
	} else if (lock.l_type == F_UNLCK) {
		rc = 1;
	} else {
		char line[MAX_LINE];
		lock_first_line(&f, line);
		struct str s = str_of(line);
		uint64_t pid = 0;
		if (str_starts(s, STR("pid ")) &&
		    !str_u64(str_head(str_from(s, 4), strcspn(line + 4, " ")), &pid))
			pid = 0;
		*ret_pid = (int64_t)pid;
	}
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
	rc = errno == EWOULDBLOCK ? err_set(err, ERR_BUSY, "%s: others use it", folder)
				  : err_sys(err, "%s: lock", folder);
	file_drop(&f);
	return rc;
}
