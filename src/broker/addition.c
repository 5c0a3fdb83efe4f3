/* A file of the administrator's: a parser that is fed as far as it needs. */
#include "broker/addition.h"

#include "base/beneath.h"
#include "soif/soif_parse.h"

#include <limits.h>
#include <stdio.h>

enum { PIECE = 256 << 10 };

struct addition {
	struct file file;
	uint64_t at;
	bool ended; /* all of it was fed */
	struct soif_parser parser;
	char piece[PIECE];
};

int addition_open(struct addition **ret, const char *broker_folder, struct str name,
		  struct err *err)
{
	char folder[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size;
	if (snprintf(folder, sizeof folder, "%s/%s", broker_folder, ADDITION_FOLDER) >=
	    (int)sizeof folder)
		return err_set(err, ERR_USAGE, "%s: the path is too long", broker_folder);
	int rc = beneath_read(folder, name, &f, err);
	if (rc != 0)
		return rc;
	if (file_size(&f, &size, err) < 0)
		return -1;
	if (size > ADDITION_MOST)
		return err_set(err, ERR_USAGE, "%s: has more than %llu bytes", f.path,
			       (unsigned long long)ADDITION_MOST);
	struct addition *a = mem_alloc(sizeof *a);
	a->file = f;
	f = FILE_INIT;
	a->parser = SOIF_PARSER_INIT;
	*ret = a;
	return 0;
}

void addition_free(struct addition **ap)
{
	if (!*ap)
		return;
	soif_parser_free(&(*ap)->parser);
	file_drop(&(*ap)->file);
	mem_free(ap);
}

const char *addition_name(const struct addition *a)
{
	return a->file.path;
}

/* A file that grows meanwhile is read up to the limit. */
static int feed_piece(struct addition *a, struct err *err)
{
	size_t n = 0;
	if (a->at < ADDITION_MOST &&
	    file_read(&a->file, a->piece, sizeof a->piece, a->at, &n, err) < 0)
		return -1;
	a->at += n;
	a->ended = n == 0;
	if (!a->ended)
		return soif_feed(&a->parser, (struct str){a->piece, n}, err);
	soif_feed_end(&a->parser);
	return 0;
}

int addition_next(struct addition *a, struct arena *arena, struct source_change *ret,
		  struct err *err)
{
	static const enum source_op op[] = {[SOIF_PLAIN] = SOURCE_UPDATE,
					    [SOIF_DELETE] = SOURCE_DELETE,
					    [SOIF_REFRESH] = SOURCE_REFRESH,
					    [SOIF_UPDATE] = SOURCE_UPDATE};
	struct soif obj;
	int rc;
	while ((rc = soif_next(&a->parser, arena, &obj, err)) == 1 && !a->ended)
		if (feed_piece(a, err) < 0)
			return -1;
	if (rc == 0 && obj.truncated)
		return err_set(err, ERR_USAGE, "%s: the file ends inside of an object",
			       a->file.path);
	if (rc == 0)
		*ret = (struct source_change){.op = op[a->parser.section], .obj = obj};
	return rc;
}
