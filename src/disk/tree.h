/* Trees: folders with all that is in them. Symbolic links are never followed, other file systems
 * never entered to remove a tree, and what lies deeper than TREE_DEPTH is refused. The caller is
 * the only one who changes the tree meanwhile. */
#pragma once
#include "base/err.h"

enum { TREE_DEPTH = 64 };

/* Removes temporary files in it that killed writers left (see file_is_left()), and nothing else.
 * What cannot be entered or removed is passed over: it does no harm. */
void tree_remove_left(const char *path);
/* Removes a folder and all that is in it (or a file, or a link itself). 1: it was not there. A
 * failure may leave some of it. */
int tree_remove(const char *path, struct err *err);
