#include "base/file.h"
#include "fetch/robot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Memory. */

static int memory_begin(struct robot_sink *s, const struct robot_head *head, struct err *err)
{
	(void)head, (void)err;
	buf_clear(((struct robot_memory_sink *)s)->buf);
	return 0;
}

static int memory_write(struct robot_sink *s, struct str bytes, struct err *err)
{
	struct robot_memory_sink *m = (struct robot_memory_sink *)s;
	buf_add_str(m->buf, m->cut ? str_head(bytes, m->buf->max - m->buf->n) : bytes);
	if (m->buf->over)
		return err_set(err, ERR_SYSTEM, "the body is larger than the %zu bytes kept for it",
			       m->buf->max);
	return 0;
}

static int memory_end(struct robot_sink *s, bool is_complete, struct err *err)
{
	(void)err;
	if (!is_complete)
		buf_clear(((struct robot_memory_sink *)s)->buf);
	return 0;
}

struct robot_memory_sink robot_memory_sink(struct buf *buf, bool cut)
{
	static const struct robot_sink_ops ops = {memory_begin, memory_write, memory_end};
	return (struct robot_memory_sink){{&ops}, buf, cut};
}

/* Files. */

/* The process and the sink: the same document may be on its way twice. */
static char *part_name(const struct robot_file_sink *f)
{
	size_t n = strlen(f->path) + sizeof ".-.part" + (size_t)2 * 20;
	char *part = mem_alloc(n);
	snprintf(part, n, "%s.%d-%zx.part", f->path, (int)getpid(), (size_t)(uintptr_t)f);
	return part;
}

/* Without a name, so that a crash leaves nothing behind; with one where the file system cannot do
 * that. */
static int open_part(struct robot_file_sink *f, struct file *ret, struct err *err)
{
	CLEANUP(mem_free) char *folder = mem_text(f->path);
	char *slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	int rc = file_open(ret, slash ? folder : ".", O_WRONLY | O_TMPFILE, 0666, err);
	if (rc < 0 && (err->sys_errno == EOPNOTSUPP || err->sys_errno == EISDIR)) {
		f->part = part_name(f);
		rc = file_open(ret, f->part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666, err);
	}
	if (rc == 1)
		rc = err_set(err, ERR_SYSTEM, "%s: its folder is not there", f->path);
	if (rc < 0)
		mem_free(&f->part);
	return rc;
}

static int file_begin(struct robot_sink *s, const struct robot_head *head, struct err *err)
{
	(void)head;
	struct robot_file_sink *f = (struct robot_file_sink *)s;
	struct file file = FILE_INIT;
	if (open_part(f, &file, err) < 0)
		return -1;
	f->fd = file.fd;
	f->at = 0;
	mem_free(&file.path);
	return 0;
}

static int file_piece(struct robot_sink *s, struct str bytes, struct err *err)
{
	struct robot_file_sink *f = (struct robot_file_sink *)s;
	const struct file file = {f->fd, f->part ? f->part : (char *)f->path};
	if (file_write(&file, bytes.p, bytes.n, f->at, err) < 0)
		return -1;
	f->at += bytes.n;
	return 0;
}

/* Under its own name, or under that of a part, to be renamed over what is there. */
static int name_file(struct robot_file_sink *f, const struct file *file, struct err *err)
{
	struct err ignored;
	int rc = f->part ? 0 : file_name(file, f->path, err);
	if (rc <= 0)
		return rc;
	f->part = part_name(f);
	(void)file_remove(f->part, &ignored);
	rc = file_name(file, f->part, err);
	return rc == 1 ? err_set(err, ERR_SYSTEM, "%s: is in the way", f->part) : rc;
}

static int file_end(struct robot_sink *s, bool is_complete, struct err *err)
{
	struct robot_file_sink *f = (struct robot_file_sink *)s;
	struct err ignored;
	int rc = 0;
	if (f->fd < 0)
		return 0;
	struct file file = {f->fd, mem_text(f->path)};
	if (is_complete)
		rc = name_file(f, &file, err);
	CLEANUP(mem_free) char *part = f->part;
	f->fd = -1;
	f->part = NULL;
	if (rc == 0)
		rc = file_close(&file, err);
	else
		file_drop(&file);
	if (rc == 0 && is_complete && part)
		rc = file_rename(part, f->path, err);
	if (part && (rc < 0 || !is_complete))
		(void)file_remove(part, &ignored);
	return rc;
}

struct robot_file_sink robot_file_sink(const char *path)
{
	static const struct robot_sink_ops ops = {file_begin, file_piece, file_end};
	return (struct robot_file_sink){.sink = {&ops}, .path = path, .fd = -1};
}
