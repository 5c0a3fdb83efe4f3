/* Trees: folders with all that is in them. Symbolic links are never followed, other file systems
 * never entered, and what lies deeper than TREE_DEPTH is refused. The caller is the only one who
 * changes the tree meanwhile. */
#pragma once
#include "base/err.h"

enum { TREE_DEPTH = 64 };

/* Removes a folder and all that is in it (or a file, or a link itself). 1: it was not there. A
 * failure may leave some of it. */
int tree_remove(const char *path, struct err *err);
