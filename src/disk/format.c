#include "disk/format.h"
#include "base/cursor.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>

static const struct format *by_head(const struct format *const *table, size_t n, struct str head)
{
	struct str magic = str_head(head, FORMAT_MAGIC);
	for (size_t i = 0; i < n; i++)
		if (table[i]->claims ? table[i]->claims(head) : str_is(magic, table[i]->magic))
			return table[i];
	return NULL;
}

static const struct format *by_name(const struct format *const *table, size_t n, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = 0; i < n; i++)
		if (table[i]->file && strcmp(table[i]->file, name) == 0)
			return table[i];
	return NULL;
}

int format_of(const struct format *const *table, size_t n, const char *path,
	      const struct format **ret, struct err *err)
{
	CLEANUP(file_drop) struct file file = FILE_INIT;
	char head[FORMAT_MAGIC + sizeof(uint32_t)];
	size_t got;
	/* O_NONBLOCK: a FIFO that somebody put there does not hold us. */
	int rc = file_open(&file, path, O_RDONLY | O_NONBLOCK, 0, err);
	if (rc > 0) {
		err_set(err, ERR_USAGE, "%s: there is no such file", path);
		err->sys_errno = ENOENT;
		return -1;
	}
	if (rc < 0 || file_read(&file, head, sizeof head, 0, &got, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){head, got});
	const struct format *f = by_head(table, n, (struct str){head, got});
	bool named = !f && (f = by_name(table, n, path));
	if (!f)
		return 1;
	if (named || f->claims) {
		*ret = f;
		return 0;
	}
	reader_skip(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (r.bad)
		return err_set(err, ERR_DAMAGED, "%s: %s file cut off after %zu bytes", path,
			       f->name, got);
	if (version != f->version)
		return err_set(err, ERR_DAMAGED,
			       "%s: %s file in version %u; this program knows version %u", path,
			       f->name, version, f->version);
	*ret = f;
	return 0;
}
