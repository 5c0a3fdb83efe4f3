/* The listing of a whole tree, as `ls -lR` prints it, compressed by gzip. Role docs serves it as
 * /ls-lR.gz. Files that are not served are omitted. It is made once for all requests of the next
 * minutes, into an unnamed file: no slow reader delays another. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

#include <pthread.h>

struct docs_tree;

enum {
	DOCS_TREE_MOST = 5000000,    /* names in all; a larger tree has no listing */
	DOCS_TREE_FOLDER = 500000,   /* in one folder */
	DOCS_TREE_BYTES = 256 << 20, /* of a packed listing that is kept */
};

/* The first names of a folder, sorted, without those that begin with a dot. */
struct docs_names {
	char **name;
	size_t n, room;
	size_t more; /* that are not among them */
};
/* Holds up to twice as many as `most`, whatever is in the folder. */
int docs_names_read(struct docs_names *l, const struct file *folder, size_t most, struct err *err);
void docs_names_free(struct docs_names *l);

/* The root must outlive it. */
struct docs_tree *docs_tree_new(const struct file *root);
void docs_tree_free(struct docs_tree **t);
/* Appends about n more bytes. 1: that was all. Negative: reading failed. */
int docs_tree_next(struct docs_tree *t, size_t n, struct buf *out, struct err *err);

/* Listings that are kept. Several threads may ask at the same time. */
struct docs_shelf {
	const struct file *root;
	const char *folder; /* where the file lies; both must outlive it */
	uint64_t disk_free; /* bytes that must stay free there */
	int64_t keep_us;    /* how long a listing is given out before the next one is made */
	/* Its own. */
	pthread_mutex_t lock;
	bool is_being_made;
	struct file file;     /* the last listing, or closed */
	int64_t made_us;      /* when that was, by clock_mono_us() */
	struct err too_large; /* why there is none, for as long; no code: there may be one */
};

void docs_shelf_init(struct docs_shelf *s, const struct file *root, const char *folder);
void docs_shelf_free(struct docs_shelf *s);
/* The listing, open once more for the caller. It is made where there is none or only one that is
 * older than keep_us; those who ask meanwhile get the old one, or ERR_BUSY where there is none.
 * stop: asked now and then, true ends it with ERR_BUSY. ERR_USAGE: the tree is too large. */
struct docs_stop {
	bool (*asked)(const void *ctx);
	const void *ctx;
};
int docs_shelf_take(struct docs_shelf *s, const struct docs_stop *stop, int64_t now_us,
		    struct file *ret, struct err *err);
