/* A folder in which others say the names of files. Whatever a name says, nothing outside of the
 * folder is opened, made or replaced: names go through openat2(2), which follows no link and never
 * leaves the folder, also while somebody else changes what is in it.
 *
 * NAME as in "000012/345.2": relative, and each folder in it is there. What is not such a name is
 * ERR_USAGE, and so is one that goes through a link. */
#pragma once
#include "base/file.h"

/* The file NAME below a folder, to be read; ret->path is the name. What is not a file is refused
 * (ERR_USAGE), a pipe is never waited for. 1: it does not exist. */
int beneath_read(const char *folder, struct str name, struct file *ret, struct err *err);
/* The call that the others stand on: opens PATH ("": the folder itself) below a folder that is
 * open. follows: links that stay inside are followed. -1: errno says why. */
int beneath_at(const struct file *folder, const char *path, int flags, bool follows);

/* To write there. */

struct beneath;

enum { BENEATH_NAME_MAX = 200 }; /* bytes of the last part of the name of a new file */

/* Made with its parents if it is not there. mode: of new files. */
int beneath_open(struct beneath **ret, const char *folder, mode_t mode, struct err *err);
void beneath_close(struct beneath **b);
/* Everything in it is on disk when this returns: names and contents of all files that were named
 * before. One call serves them all; from any thread. */
int beneath_sync(const struct beneath *b, struct err *err);

/* A new file that has no name yet, so that a crash leaves nothing behind; where the file system
 * cannot do that, NAME.*.part. */
struct beneath_file {
	struct file file;                /* for file_write() */
	int dir;                         /* the folder that it will be in */
	bool is_part;                    /* it has a name: that of a part */
	char base[BENEATH_NAME_MAX + 1]; /* the last part of its name */
};

int beneath_create(const struct beneath *b, struct str name, struct beneath_file *ret,
		   struct err *err);
/* Gives it its name, in the place of what has that name (a link is replaced, not followed), and
 * closes it. After a failure it is gone. */
int beneath_name(struct beneath_file *f, struct err *err);
void beneath_drop(struct beneath_file *f); /* it was never there; also of a closed one */
