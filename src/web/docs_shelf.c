/* The listing that all readers share. The thread of the first reader makes it, without holding the
 * lock; meanwhile the others get the previous one. A replaced file disappears from the disk when
 * its last reader has finished. Only reading the whole tree shows that it is too large, so that
 * result is kept as well. */
#include "web/docs_tree_inner.h"

#include <fcntl.h>

enum { SHELF_PIECE = 64 << 10 }; /* bytes that are written at a time */

void docs_shelf_init(struct docs_shelf *s, const struct file *root, const char *folder)
{
	*s = (struct docs_shelf){.root = root, .folder = folder, .file = FILE_INIT};
	pthread_mutex_init(&s->lock, NULL);
}

void docs_shelf_free(struct docs_shelf *s)
{
	file_drop(&s->file);
	pthread_mutex_destroy(&s->lock);
}

static int room_check(const struct docs_shelf *s, uint64_t at, struct err *err)
{
	uint64_t left;
	if (at > DOCS_TREE_BYTES)
		return err_set(err, ERR_USAGE, "the tree is too large for a listing");
	if (file_space(s->folder, &left, NULL, err) < 0)
		return -1;
	return left >= s->disk_free
		       ? 0
		       : err_set(err, ERR_SYSTEM, "%s: less free space than disk_free", s->folder);
}

static int listing_write(const struct docs_shelf *s, struct docs_tree *tree,
			 const struct docs_stop *stop, const struct file *f, struct err *err)
{
	CLEANUP(buf_free) struct buf piece = BUF_INIT(SIZE_MAX / 2);
	uint64_t at = 0;
	int rc = 0;
	while (rc == 0) {
		if (stop->asked(stop->ctx))
			return err_set(err, ERR_BUSY, "the server stops");
		if (room_check(s, at, err) < 0)
			return -1;
		buf_clear(&piece);
		rc = docs_tree_next(tree, SHELF_PIECE, &piece, err);
		if (rc >= 0 && file_write(f, piece.p, piece.n, at, err) < 0)
			return -1;
		at += piece.n;
	}
	return rc < 0 ? -1 : 0;
}

static int listing_make(const struct docs_shelf *s, const struct docs_stop *stop, struct file *ret,
			struct err *err)
{
	struct file f = FILE_INIT;
	int rc = file_temporary(&f, s->folder, err);
	if (rc < 0)
		return -1;
	struct docs_tree *tree = docs_tree_new(s->root);
	rc = listing_write(s, tree, stop, &f, err);
	docs_tree_free(&tree);
	if (rc == 0)
		*ret = f;
	else
		file_drop(&f);
	return rc;
}

/* With the lock. */
static bool is_current(const struct docs_shelf *s, int64_t now_us)
{
	return (s->file.fd >= 0 || s->too_large.code) && now_us - s->made_us < s->keep_us;
}

/* With the lock, which is not held while the listing is made. Where that fails, an old one goes. */
static int listing_renew(struct docs_shelf *s, const struct docs_stop *stop, int64_t now_us,
			 struct err *err)
{
	struct file made = FILE_INIT;
	s->is_being_made = true;
	pthread_mutex_unlock(&s->lock);
	int rc = listing_make(s, stop, &made, err);
	pthread_mutex_lock(&s->lock);
	s->is_being_made = false;
	file_drop(&s->file);
	s->file = made;
	s->made_us = now_us;
	s->too_large = rc < 0 && err->code == ERR_USAGE ? *err : (struct err){0};
	return rc;
}

static int shelf_take(struct docs_shelf *s, const struct docs_stop *stop, int64_t now_us,
		      struct file *ret, struct err *err)
{
	if (!s->is_being_made && !is_current(s, now_us) && listing_renew(s, stop, now_us, err) < 0)
		return -1;
	if (s->file.fd >= 0)
		return file_reopen(&s->file, O_RDONLY, ret, err);
	if (!s->too_large.code)
		return err_set(err, ERR_BUSY, "the listing is being made; try again in a moment");
	*err = s->too_large;
	return -1;
}

int docs_shelf_take(struct docs_shelf *s, const struct docs_stop *stop, int64_t now_us,
		    struct file *ret, struct err *err)
{
	pthread_mutex_lock(&s->lock);
	int rc = shelf_take(s, stop, now_us, ret, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}
