/* The listing of a tree. Folders still to be read are a stack of paths; the names of the current
 * folder are in memory, sorted. Times are UTC in the long form of ISO 8601, which cannot be
 * mistaken for another time zone or year. */
#include "web/docs_tree_inner.h"

#include "base/file.h"
#include "base/vec.h"
#include "web/docs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
	GZIP_WINDOW = 15 + 16, /* with the head and end of gzip */
	GZIP_LEVEL = 6,
	GZIP_MEMORY = 8,
	TEXT_PIECE = 64 << 10, /* lines that are packed at a time */
	TEXT_MOST = TEXT_PIECE + 4 * PATH_MAX,
	PACKED_PIECE = 32 << 10,
};

struct docs_tree {
	const struct file *root;
	char **todo; /* paths of folders, with a slash at their end; "" is the root */
	size_t ntodo, todo_room;
	/* The current folder. */
	struct file folder;
	char *path;
	struct docs_names names;
	size_t at;
	uint64_t total;
	struct arena arena;
	struct buf text;
	z_stream z;
	bool begun; /* a heading was printed */
};

struct docs_tree *docs_tree_new(const struct file *root)
{
	struct docs_tree *t = mem_alloc(sizeof *t);
	*t = (struct docs_tree){.root = root,
				.folder = FILE_INIT,
				.arena = ARENA_INIT(64 << 20),
				.text = BUF_INIT(TEXT_MOST)};
	*VEC_PUSH(t->todo, t->ntodo, t->todo_room) = mem_text("");
	ENSURE(deflateInit2(&t->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			    Z_DEFAULT_STRATEGY) == Z_OK);
	return t;
}

static void folder_close(struct docs_tree *t)
{
	docs_names_free(&t->names);
	t->at = 0;
	mem_free(&t->path);
	file_drop(&t->folder);
}

void docs_tree_free(struct docs_tree **tp)
{
	struct docs_tree *t = *tp;
	if (!t)
		return;
	folder_close(t);
	while (t->ntodo)
		mem_free(&t->todo[--t->ntodo]);
	mem_free(&t->todo);
	deflateEnd(&t->z);
	buf_free(&t->text);
	arena_free(&t->arena);
	mem_free(tp);
}

static int names_read(struct docs_tree *t, struct err *err)
{
	if (docs_names_read(&t->names, &t->folder, DOCS_TREE_FOLDER, err) < 0)
		return -1;
	t->total += t->names.n;
	if (t->names.more == 0 && t->total <= DOCS_TREE_MOST)
		return 0;
	return err_set(err, ERR_USAGE, "%s: too many names for a listing", t->path);
}

/* 1: no folder is left. One that went away, or may not be read, is passed over. */
static int folder_next(struct docs_tree *t, struct err *err)
{
	bool is_folder = false;
	folder_close(t);
	while (t->ntodo) {
		t->path = t->todo[--t->ntodo];
		int rc = docs_open(t->root, t->path, &t->folder, &is_folder, err);
		if (rc < 0)
			return -1;
		if (rc == 0 && is_folder) {
			size_t n = strlen(t->path);
			buf_printf(&t->text, "%s.%s%.*s:\n", t->begun ? "\n" : "", n ? "/" : "",
				   n ? (int)n - 1 : 0, t->path);
			t->begun = true;
			return names_read(t, err);
		}
		folder_close(t);
	}
	return 1;
}

static void put_mode(mode_t mode, struct buf *out)
{
	static const char letters[] = "rwxrwxrwx";
	buf_add_byte(out, S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : '-');
	for (unsigned i = 0; i < 9; i++)
		buf_add_byte(out, mode >> (8 - i) & 1 ? letters[i] : '-');
}

static void put_line(struct docs_tree *t, const char *name, const struct stat *st)
{
	char when[32] = "1970-01-01 00:00", target[PATH_MAX];
	struct tm tm;
	if (gmtime_r(&st->st_mtime, &tm) && st->st_mtime >= 0)
		(void)!strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	put_mode(st->st_mode, &t->text);
	buf_printf(&t->text, " %llu %u %u %lld %s %s", (unsigned long long)st->st_nlink,
		   (unsigned)st->st_uid, (unsigned)st->st_gid, (long long)st->st_size, when, name);
	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(t->folder.fd, name, target, sizeof target - 1);
		target[MAX(n, 0)] = 0;
		buf_printf(&t->text, " -> %s", strpbrk(target, "\r\n") ? "" : target);
	}
	buf_add_byte(&t->text, '\n');
}

static void entry_print(struct docs_tree *t, const char *name)
{
	struct stat st;
	bool is_folder = false;
	arena_clear(&t->arena);
	if (strpbrk(name, "\r\n") || fstatat(t->folder.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !docs_is_served(t->root, &t->folder, t->path, name, &t->arena, &is_folder))
		return;
	put_line(t, name, &st);
	if (!S_ISDIR(st.st_mode))
		return;
	size_t room = strlen(t->path) + strlen(name) + 2;
	char *path = mem_alloc(room);
	snprintf(path, room, "%s%s/", t->path, name);
	*VEC_PUSH(t->todo, t->ntodo, t->todo_room) = path;
}

/* zlib may hold back what it was given before, so that more can come out than goes in. */
static void text_pack(struct docs_tree *t, int flush, struct buf *out)
{
	t->z.next_in = (unsigned char *)t->text.p;
	t->z.avail_in = (unsigned)t->text.n;
	do {
		char *room = buf_room(out, PACKED_PIECE);
		ENSURE(room);
		t->z.next_out = (unsigned char *)room;
		t->z.avail_out = PACKED_PIECE;
		int rc = deflate(&t->z, flush);
		ENSURE(rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR);
		buf_grew(out, PACKED_PIECE - t->z.avail_out);
	} while (t->z.avail_out == 0);
	buf_clear(&t->text);
}

int docs_tree_next(struct docs_tree *t, size_t n, struct buf *out, struct err *err)
{
	size_t before = out->n;
	int rc = 0;
	while (rc == 0 && out->n - before < n) {
		while (rc == 0 && t->text.n < TEXT_PIECE) {
			if (t->at < t->names.n)
				entry_print(t, t->names.name[t->at++]);
			else
				rc = folder_next(t, err);
		}
		if (rc >= 0)
			text_pack(t, rc == 1 ? Z_FINISH : Z_NO_FLUSH, out);
	}
	return rc;
}
