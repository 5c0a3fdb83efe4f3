/* The settings: which kind of doc index, and our name there. */
#include "fetch/spider/docindex.h"

#include "base/file.h"
#include "net/outgoing.h"

#include <stdio.h>
#include <unistd.h>

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
		return err_set(err, ERR_USAGE, "doc_index: expected file:PATH, got no path");
	if (!path && outgoing_may_connect(where, "file:PATH, ", tls, err) < 0)
		return err_in(err, "doc_index");
	return 0;
}

int docindex_open(struct docindex **ret, const struct docindex_options *o, struct err *err)
{
	const char *path = file_path(o->where);
	if (docindex_may_open(o->where, o->tls, err) < 0)
		return -1;
	if (!path)
		return docindex_remote_open(ret, o, err);
	char full[PATH_MAX];
	if (file_below(o->data, path, full, err) < 0)
		return err_in(err, "doc_index");
	return docindex_file_open(ret, full, o, err);
}

int docindex_client_name(const char *said, const char *instance, char ret[DOCINDEX_WORD_MAX + 1],
			 struct err *err)
{
	char host[256] = "";
	if (said && said[0] && !docindex_is_word(str_of(said)))
		return err_set(err, ERR_USAGE,
			       "name: '%s' is not a word of at most %d printable ASCII characters",
			       said, DOCINDEX_WORD_MAX);
	(void)gethostname(host, sizeof host - 1);
	if (said && said[0])
		snprintf(ret, DOCINDEX_WORD_MAX + 1, "%s", said);
	else
		snprintf(ret, DOCINDEX_WORD_MAX + 1, "%.20s-%.40s", instance, host);
	for (char *p = ret; *p; p++)
		if (*p < '!' || *p > '~')
			*p = '_';
	return 0;
}
