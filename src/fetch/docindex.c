/* Which kind of doc index a setting means. */
#include "fetch/docindex.h"

#include "net/outgoing.h"

#include <limits.h>
#include <stdio.h>

static const char *file_path(const char *where)
{
	return strncmp(where, "file:", 5) == 0 ? where + 5 : NULL;
}

int docindex_may_open(const char *where, const struct tls *tls, struct err *err)
{
	const char *path = file_path(where);
	if (!where[0])
		return err_set(err, ERR_USAGE,
			       "doc_index is not set: file:PATH, or an address such as "
			       "127.0.0.1:8189");
	if (path && !path[0])
		return err_set(err, ERR_USAGE, "doc_index: no path after file:");
	return path ? 0 : outgoing_may_connect(where, tls, err);
}

int docindex_open(struct docindex **ret, const struct docindex_options *o, struct err *err)
{
	const char *path = file_path(o->where);
	if (docindex_may_open(o->where, o->tls, err) < 0)
		return -1;
	if (!path)
		return docindex_remote_open(ret, o, err);
	char full[PATH_MAX];
	bool is_near = path[0] != '/' && o->data;
	int n = snprintf(full, sizeof full, "%s%s%s", is_near ? o->data : "", is_near ? "/" : "",
			 path);
	if (n < 0 || (size_t)n >= sizeof full)
		return err_set(err, ERR_USAGE, "doc_index: the path is too long");
	return docindex_file_open(ret, full, o, err);
}
