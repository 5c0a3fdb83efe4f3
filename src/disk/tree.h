/* Trees: folders with all that is in them. Symbolic links are never followed, other file systems
 * never entered, and what lies deeper than TREE_DEPTH is refused. The caller is the only one who
 * changes the tree meanwhile. */
#pragma once
#include "base/err.h"

enum { TREE_DEPTH = 64 };

/* Removes a folder and all that is in it (or a file, or a link itself). 1: it was not there. A
 * failure may leave some of it. */
int tree_remove(const char *path, struct err *err);

/* Every file and folder of it is on disk. */
int tree_sync(const char *path, struct err *err);

/* `to`, which is not there yet, becomes a folder with the same files: hard links, so a file is
 * changed in both or replaced in one. It is there completely and durably, or not at all; what is in
 * the files is as durable as it was. */
int tree_clone(const char *from, const char *to, struct err *err);

/* Replaces a folder as a whole. tree_fresh() makes an empty folder next to it, which the caller
 * fills
 * (*ret is its path, to be freed); what a killed process left there is removed first.
 * tree_replace() syncs it and puts it in the place of `path` in one step: at any instant `path` is
 * the old folder or the new one, whole. The old one is then removed. After a failure `path` is one
 * of both; what else is left is removed by the next tree_fresh(). *fresh is freed in any case. */
int tree_fresh(const char *path, char **ret, struct err *err);
int tree_replace(const char *path, char **fresh, struct err *err);
