/* A tree is walked name by name. A file is read, for its sum, only where its time or size is not
 * what was sent last, or where it may have changed within the second of its time after it was read:
 * the cost follows the change, but for one stat(2) of each file. */
#include "cache/provider_tree.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/hash.h"
#include "url/url.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { DEPTH_MOST = 64, PIECE = 256 << 10, URL_ROOM = 3 * PATH_MAX + URL_MAX };

struct walk {
	struct provider_tree *t;
	struct provider_list *list;
	struct file root;
	size_t root_n; /* bytes of the root in path, with the slash */
	struct buf path, url;
	char *piece;
	uint32_t origin;
};

static void add_escaped(struct buf *out, struct str name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.~!$&'()*+,;=:@";
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] && strchr(plain, name.p[i]))
			buf_add_byte(out, name.p[i]);
		else
			buf_printf(out, "%%%02X", (unsigned char)name.p[i]);
	}
}

static int file_sum(struct walk *w, const struct file *f, struct provider_url *url, struct err *err)
{
	CLEANUP(digest_free) struct digest *d = digest_new("md5");
	uint64_t at = 0;
	size_t n = 1;
	while (n) {
		if (file_read(f, w->piece, PIECE, at, &n, err) < 0)
			return -1;
		digest_add(d, w->piece, n);
		at += n;
	}
	digest_end(d, url->md5, sizeof url->md5);
	url->has |= PROVIDER_MD5;
	w->t->read++;
	w->t->bytes_read += at;
	return 0;
}

/* As it was sent, unless it may be another. */
static bool sum_known(const struct walk *w, struct provider_url *url)
{
	const struct provider_url *was = provider_list_find(w->t->sent, url->c, url->mime);
	if (!was || !(was->has & PROVIDER_MD5) || was->size != url->size ||
	    was->mtime_s != url->mtime_s || url->mtime_s >= w->t->scanned_s - 1)
		return false;
	memcpy(url->md5, was->md5, sizeof url->md5);
	url->has |= PROVIDER_MD5;
	return true;
}

/* 1: it went away, or leads out of the tree. */
static int file_look(struct walk *w, const char *path, bool is_link, struct provider_url *url,
		     struct err *err)
{
	struct file f = {.fd = -1, .path = (char *)path};
	struct stat st;
	f.fd = beneath_at(&w->root, path + w->root_n, O_RDONLY | O_NONBLOCK, is_link);
	if (f.fd < 0 && (errno == EACCES || errno == EPERM)) {
		w->t->unreadable++;
		url->op = PROVIDER_KEEP;
		return 0;
	}
	if (f.fd < 0) {
		w->t->links_out += is_link;
		return 1;
	}
	int rc = fstat(f.fd, &st) < 0 ? err_sys(err, "%s", path) : !S_ISREG(st.st_mode);
	if (rc == 0) {
		url->mtime_s = MAX((int64_t)st.st_mtime, INT64_C(0));
		url->size = (uint64_t)st.st_size;
		url->has = PROVIDER_MTIME | PROVIDER_SIZE;
		rc = sum_known(w, url) ? 0 : file_sum(w, &f, url, err);
	}
	(void)close(f.fd);
	return rc;
}

/* Appends the name to the URL: the folder's own, where it is the index. */
static struct str file_url(struct walk *w, struct str name)
{
	if (!str_eq(name, w->t->source->index))
		add_escaped(&w->url, name);
	return buf_str(&w->url);
}

static int file_add(struct walk *w, struct str name, bool is_link, struct err *err)
{
	char room[URL_MAX];
	struct url u;
	const char *mime = w->t->type(name);
	struct provider_url url = {.origin = w->origin};
	if (!mime) {
		w->t->no_type++;
		return 0;
	}
	url.mime = str_of(mime);
	if (w->t->mimes && !provider_takes(w->t->mime, w->t->mimes, url.mime)) {
		w->t->not_taken++;
		return 0;
	}
	struct str text = file_url(w, name);
	int rc = url_parse(text, NULL, room, sizeof room, &u);
	if (rc != 0)
		return url_fail(rc, text, err);
	url.c = u.href;
	rc = file_look(w, buf_text(&w->path), is_link, &url, err);
	if (rc == 0) {
		w->t->files++;
		rc = provider_list_add(w->list, &url, err);
	}
	return MIN(rc, 0);
}

static int walk_folder(struct walk *w, unsigned depth, struct err *err);

static int walk_name(struct walk *w, const char *name, unsigned depth, struct err *err)
{
	size_t path_n = w->path.n, url_n = w->url.n;
	struct stat st;
	int rc = 0;
	buf_add_text(&w->path, name);
	if (w->path.over)
		return err_set(err, ERR_USAGE, "%s: the path is too long", buf_text(&w->path));
	if (lstat(buf_text(&w->path), &st) < 0)
		rc = errno == ENOENT ? 0 : err_sys(err, "%s", buf_text(&w->path));
	else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		rc = file_add(w, str_of(name), S_ISLNK(st.st_mode), err);
	else if (S_ISDIR(st.st_mode)) {
		buf_add_byte(&w->path, '/');
		add_escaped(&w->url, str_of(name));
		buf_add_byte(&w->url, '/');
		rc = walk_folder(w, depth + 1, err);
	}
	w->path.n = path_n;
	w->url.n = url_n;
	return rc;
}

static int walk_folder(struct walk *w, unsigned depth, struct err *err)
{
	struct dir names;
	const char *name;
	if (depth > DEPTH_MOST)
		return err_set(err, ERR_USAGE, "%s: more than %d folders inside each other",
			       buf_text(&w->path), DEPTH_MOST);
	w->path.p[w->path.n] = 0;
	int rc = w->t->folder ? w->t->folder(w->t->ctx, w->path.p, err) : 0;
	if (rc == 0)
		rc = dir_init(&names, w->path.p, err);
	if (rc != 0)
		return rc == 1 && depth == 0
			       ? err_set(err, ERR_USAGE, "%s: there is no such folder", w->path.p)
			       : MIN(rc, 0);
	while (rc == 0 && dir_next(&names, &name) == 0)
		if (name[0] != '.')
			rc = walk_name(w, name, depth, err);
	dir_done(&names);
	return rc;
}

int provider_tree_scan(struct provider_tree *t, struct provider_list *ret, struct err *err)
{
	struct walk w = {
		.t = t,
		.list = ret,
		.root = FILE_INIT,
		.path = BUF_INIT(PATH_MAX),
		.url = BUF_INIT(URL_ROOM),
		.origin = provider_source_origin(t->source),
	};
	buf_add_str(&w.path, t->source->place);
	if (!str_ends(t->source->place, STR("/")))
		buf_add_byte(&w.path, '/');
	buf_add_str(&w.url, t->source->prefix);
	if (!str_ends(t->source->prefix, STR("/")))
		buf_add_byte(&w.url, '/');
	w.root_n = w.path.n;
	w.piece = mem_alloc(PIECE);
	int rc = file_open(&w.root, buf_text(&w.path), O_PATH | O_DIRECTORY, 0, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: there is no such folder", buf_text(&w.path));
	if (rc == 0)
		rc = walk_folder(&w, 0, err);
	file_drop(&w.root);
	mem_free(&w.piece);
	buf_free(&w.path);
	buf_free(&w.url);
	return rc;
}
