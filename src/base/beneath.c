/* Files below a folder, by names that cannot be trusted. The folder of a name is opened by one
 * openat2(2) and held; what happens after that happens in this folder, by the last part of the name
 * alone. */
#include "base/beneath.h"

#include "base/fault.h"
#include "base/value.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct beneath {
	struct file folder;
	mode_t mode;
};

int beneath_open(struct beneath **ret, const char *folder, mode_t mode, struct err *err)
{
	if (dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	struct beneath *b = mem_alloc(sizeof *b);
	*b = (struct beneath){FILE_INIT, mode};
	int rc = file_open(&b->folder, folder, O_RDONLY | O_DIRECTORY, 0, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: there is no such folder", folder);
	if (rc < 0) {
		mem_free(&b);
		return -1;
	}
	*ret = b;
	return 0;
}

void beneath_close(struct beneath **b)
{
	if (!*b)
		return;
	file_drop(&(*b)->folder);
	mem_free(b);
}

int beneath_sync(const struct beneath *b, struct err *err)
{
	return file_sync_all(&b->folder, err);
}

/* Names. */

/* Relative, without parts that are empty, . or ..; openat2 would refuse most of that, too. */
static int name_check(const char *folder, struct str name, struct err *err)
{
	struct str rest = name, part = {0};
	bool is_good = name.n > 0 && name.n < PATH_MAX && !memchr(name.p, 0, name.n);
	char shown[VALUE_SHOWN];
	while (is_good && str_cut(&rest, '/', &part) == 0)
		is_good = part.n && !str_is(part, ".") && !str_is(part, "..");
	if (is_good)
		return 0;
	return err_set(err, ERR_USAGE, "%s: expected the name of a file below %s, without . and ..",
		       value_show(name, shown), folder);
}

int beneath_at(const struct file *folder, const char *path, int flags, bool follows)
{
	const struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
						(follows ? 0 : RESOLVE_NO_SYMLINKS)};
	if (FAULT_REFUSES("file.open", folder->path))
		return -1;
	return (int)UNINTERRUPTED(
		syscall(SYS_openat2, folder->fd, path[0] ? path : ".", &how, sizeof how));
}

/* 1: it does not exist. */
static int open_name(const struct file *folder, struct str name, int flags, int *ret,
		     struct err *err)
{
	char path[PATH_MAX], shown[VALUE_SHOWN];
	snprintf(path, sizeof path, STR_FMT, STR_ARG(name));
	int fd = beneath_at(folder, path, flags, false);
	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 && (errno == ELOOP || errno == EXDEV || errno == ENOTDIR))
		return err_set(err, ERR_USAGE,
			       "%s: goes through a link or what is no folder, which is not "
			       "followed here",
			       value_show(name, shown));
	if (fd < 0)
		return err_sys(err, "%s/%s", folder->path, value_show(name, shown));
	*ret = fd;
	return 0;
}

int beneath_read(const char *folder, struct str name, struct file *ret, struct err *err)
{
	CLEANUP(file_drop) struct file in = FILE_INIT;
	struct stat st;
	int fd, rc = name_check(folder, name, err);
	if (rc == 0)
		rc = file_open(&in, folder, O_RDONLY | O_DIRECTORY, 0, err);
	if (rc == 0)
		rc = open_name(&in, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd, err);
	if (rc != 0)
		return rc;
	*ret = (struct file){fd, str_dup(name)};
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	rc = err_set(err, ERR_USAGE, "%s: is not a file", ret->path);
	file_drop(ret);
	return rc;
}

/* New files. */

enum { PART_MAX = BENEATH_NAME_MAX + 32 };

/* By process and file: the same name may be on its way twice. */
static void part_name(const struct beneath_file *f, char ret[PART_MAX])
{
	snprintf(ret, PART_MAX, "%s.%d-%d.part", f->base, (int)getpid(), f->dir);
}

/* Whatever is in the way was left by a crash; a link is not followed. */
static int open_part(struct beneath_file *f, mode_t mode)
{
	char part[PART_MAX];
	part_name(f, part);
	(void)unlinkat(f->dir, part, 0);
	f->is_part = true;
	return openat(f->dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

int beneath_create(const struct beneath *b, struct str name, struct beneath_file *ret,
		   struct err *err)
{
	struct beneath_file f = {.file = FILE_INIT, .dir = -1};
	char shown[VALUE_SHOWN];
	if (name_check(b->folder.path, name, err) < 0)
		return -1;
	const char *slash = memrchr(name.p, '/', name.n);
	struct str base = slash ? str_from(name, (size_t)(slash + 1 - name.p)) : name;
	if (base.n > BENEATH_NAME_MAX)
		return err_set(err, ERR_USAGE, "%s: the name of a file has at most %d bytes",
			       value_show(base, shown), BENEATH_NAME_MAX);
	int rc = open_name(&b->folder, slash ? str_range(name.p, slash) : STR(""),
			   O_PATH | O_DIRECTORY, &f.dir, err);
	if (rc == 1)
		rc = err_sys(err, "%s/" STR_FMT, b->folder.path, STR_ARG(name));
	if (rc < 0)
		return -1;
	memcpy(f.base, base.p, base.n);
	f.file.path = mem_text(f.base);
	f.file.fd = openat(f.dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, b->mode);
	if (f.file.fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		f.file.fd = open_part(&f, b->mode);
	if (f.file.fd < 0) {
		(void)err_sys(err, "%s/" STR_FMT ": cannot be made", b->folder.path, STR_ARG(name));
		f.is_part = false;
		beneath_drop(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

/* Under the name of a part, to be renamed over what has its name. */
static int name_part(struct beneath_file *f, const char *self, struct err *err)
{
	char part[PART_MAX];
	part_name(f, part);
	(void)unlinkat(f->dir, part, 0);
	if (linkat(AT_FDCWD, self, f->dir, part, AT_SYMLINK_FOLLOW) != 0)
		return err_sys(err, "%s: cannot be made", part);
	f->is_part = true;
	return 0;
}

static int file_gets_name(struct beneath_file *f, struct err *err)
{
	char self[64], part[PART_MAX];
	snprintf(self, sizeof self, "/proc/self/fd/%d", f->file.fd);
	if (FAULT_REFUSES("file.rename", f->base))
		return err_sys(err, "%s: cannot be named", f->base);
	if (!f->is_part && linkat(AT_FDCWD, self, f->dir, f->base, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (!f->is_part && errno != EEXIST)
		return err_sys(err, "%s: cannot be named", f->base);
	if (!f->is_part && name_part(f, self, err) < 0)
		return -1;
	part_name(f, part);
	if (renameat(f->dir, part, f->dir, f->base) != 0)
		return err_sys(err, "%s: cannot be replaced", f->base);
	f->is_part = false;
	return 0;
}

int beneath_name(struct beneath_file *f, struct err *err)
{
	int rc = file_gets_name(f, err);
	if (rc == 0)
		rc = file_close(&f->file, err);
	beneath_drop(f);
	return rc;
}

void beneath_drop(struct beneath_file *f)
{
	char part[PART_MAX];
	file_drop(&f->file);
	if (f->dir < 0)
		return;
	part_name(f, part);
	if (f->is_part)
		(void)unlinkat(f->dir, part, 0);
	(void)close(f->dir);
	f->dir = -1;
}
