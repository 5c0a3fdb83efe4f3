/* The listing of a whole tree, as `ls -lR` prints it, packed with gzip: role docs gives it out as
 * /ls-lR.gz. Made while it is sent, a folder at a time; what is not served is not in it. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct docs_tree;
struct file;

enum {
	DOCS_TREE_MOST = 5000000, /* names in all; a larger tree has no listing */
	DOCS_TREE_FOLDER = 500000 /* in one folder */
};

/* The root must outlive it. */
struct docs_tree *docs_tree_new(const struct file *root);
void docs_tree_free(struct docs_tree **t);
/* Appends about n bytes more. 1: that was all. Negative: the rest cannot be had. */
int docs_tree_next(struct docs_tree *t, size_t n, struct buf *out, struct err *err);
