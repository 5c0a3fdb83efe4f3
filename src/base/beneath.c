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
};

int beneath_open(struct beneath **ret, const char *folder, struct err *err)
{
	if (dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	struct beneath *b = mem_alloc(sizeof *b);
	b->folder = FILE_INIT;
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

static int name_wrong(const struct beneath *b, struct str name, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE, "'%s' is not the name of a file below %s",
		       value_show(name, shown), b->folder.path);
}

/* Relative, without parts that are empty, . or ..; openat2 would refuse most of that, too. */
static bool is_name(struct str name)
{
	struct str rest = name, part = {0};
	if (name.n == 0 || name.n >= PATH_MAX || memchr(name.p, 0, name.n))
		return false;
	while (str_cut(&rest, '/', &part) == 0)
		if (part.n == 0 || part.n > BENEATH_NAME_MAX || str_is(part, ".") ||
		    str_is(part, ".."))
			return false;
	return true;
}

/* The folder that the file is in. */
static int open_folder(const struct beneath *b, struct str name, int *ret, struct err *err)
{
	char path[PATH_MAX];
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
						RESOLVE_NO_MAGICLINKS};
	snprintf(path, sizeof path, STR_FMT, STR_ARG(name));
	long fd =
		FAULT_REFUSES("file.open", b->folder.path)
			? -1
			: syscall(SYS_openat2, b->folder.fd, name.n ? path : ".", &how, sizeof how);
	if (fd < 0 && (errno == ELOOP || errno == EXDEV || errno == ENOTDIR))
		return name_wrong(b, name, err);
	if (fd < 0)
		return err_sys(err, "%s/%s", b->folder.path, path);
	*ret = (int)fd;
	return 0;
}

static void part_name(const struct beneath_file *f, char ret[BENEATH_NAME_MAX + 8])
{
	snprintf(ret, BENEATH_NAME_MAX + 8, "%s.part", f->base);
}

/* Whatever is in the way was left by a crash; a link is not followed. */
static int open_part(struct beneath_file *f)
{
	char part[BENEATH_NAME_MAX + 8];
	part_name(f, part);
	(void)unlinkat(f->dir, part, 0);
	f->is_part = true;
	return openat(f->dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
}

int beneath_create(const struct beneath *b, struct str name, struct beneath_file *ret,
		   struct err *err)
{
	struct beneath_file f = {.file = FILE_INIT, .dir = -1};
	const char *slash = name.n ? memrchr(name.p, '/', name.n) : NULL;
	if (!is_name(name))
		return name_wrong(b, name, err);
	struct str base = slash ? str_from(name, (size_t)(slash + 1 - name.p)) : name;
	memcpy(f.base, base.p, base.n);
	f.file.path = mem_text(f.base);
	if (open_folder(b, slash ? str_range(name.p, slash) : STR(""), &f.dir, err) < 0) {
		mem_free(&f.file.path);
		return -1;
	}
	f.file.fd = openat(f.dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0640);
	if (f.file.fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		f.file.fd = open_part(&f);
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
	char part[BENEATH_NAME_MAX + 8];
	part_name(f, part);
	(void)unlinkat(f->dir, part, 0);
	if (linkat(AT_FDCWD, self, f->dir, part, AT_SYMLINK_FOLLOW) != 0)
		return err_sys(err, "%s: cannot be made", part);
	f->is_part = true;
	return 0;
}

static int file_gets_name(struct beneath_file *f, struct err *err)
{
	char self[64], part[BENEATH_NAME_MAX + 8];
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
	char part[BENEATH_NAME_MAX + 8];
	file_drop(&f->file);
	if (f->dir < 0)
		return;
	part_name(f, part);
	if (f->is_part)
		(void)unlinkat(f->dir, part, 0);
	(void)close(f->dir);
	f->dir = -1;
}
