/* A folder of numbered SOIF files as a source. The cursor is (file, offset, state of the parser)
 * with a checksum, because it comes back from a disk; before the first file it is all zero. */
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/value.h"
#include "soif/soif_parse.h"
#include "soif/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { PIECE = 256 << 10, CURSOR_VERSION = 1, CURSOR_OPEN = 4, CURSOR_RESYNC = 8 };

struct folder {
	struct source source;
	char *path, *piece;
	int watch;        /* inotify */
	struct file file; /* the one at hand; fd -1: none yet */
	uint64_t number, read_to;
	bool final; /* a higher number is there: it does not grow any more */
	struct soif_parser parser;
	struct source_cursor cursor; /* behind what was returned last */
};

/* "17.soif" is number 17. */
static bool number_of(const char *name, uint64_t *ret)
{
	struct str s = str_of(name);
	return str_ends(s, STR(".soif")) && str_u64(str_head(s, s.n - 5), ret);
}

/* The file with the lowest number from `from` on. 1: there is none. */
static int pick(const struct folder *f, uint64_t from, uint64_t *ret_number, char **ret_path,
		struct err *err)
{
	struct dir d;
	int rc = dir_init(&d, f->path, err);
	if (rc)
		return rc;
	const char *name, *best = NULL;
	uint64_t number;
	while (dir_next(&d, &name) == 0) {
		if (number_of(name, &number) && number >= from && (!best || number < *ret_number)) {
			best = name;
			*ret_number = number;
		}
	}
	if (best && ret_path) {
		struct buf path = BUF_INIT(PATH_MAX);
		buf_printf(&path, "%s/%s", f->path, best);
		*ret_path = mem_text(buf_text(&path));
		buf_free(&path);
	}
	dir_done(&d);
	return best ? 0 : 1;
}

static void remember(struct folder *f)
{
	struct buf b = BUF_INIT(sizeof f->cursor.b);
	put_u8(&b, CURSOR_VERSION);
	put_u8(&b, (uint8_t)(f->parser.section | (f->parser.open ? CURSOR_OPEN : 0) |
			     (f->parser.resync ? CURSOR_RESYNC : 0)));
	put_u64le(&b, f->number);
	put_u64le(&b, soif_offset(&f->parser));
	put_u32le(&b, crc32c(0, b.p, b.n));
	f->cursor = (struct source_cursor){0};
	memcpy(f->cursor.b, b.p, b.n);
	buf_free(&b);
}

static void leave_file(struct folder *f)
{
	file_drop(&f->file);
	soif_parser_free(&f->parser);
	f->read_to = 0;
	f->final = false;
}

/* Takes the file with the lowest number from `from` on. 1: there is none. */
static int take_file(struct folder *f, uint64_t from, struct err *err)
{
	char *path = NULL;
	uint64_t number = 0;
	int rc = pick(f, from, &number, &path, err);
	if (rc)
		return rc;
	struct file file;
	rc = file_open(&file, path, O_RDONLY, 0, err);
	mem_free(&path);
	if (rc) /* gone again: the next look finds another */
		return rc;
	leave_file(f);
	f->file = file;
	f->number = number;
	return 0;
}

static int too_short(const struct folder *f, uint64_t size, uint64_t read_to, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %llu bytes long, but %llu were read of it before",
		       f->file.path, (unsigned long long)size, (unsigned long long)read_to);
}

/* Goes on where a cursor says, or behind it when that file is gone. */
static int resume(struct folder *f, const struct source_cursor *from, struct err *err)
{
	static const struct source_cursor zero;
	if (memcmp(from, &zero, sizeof zero) == 0)
		return 0;
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint8_t version = reader_u8(&r), flags = reader_u8(&r);
	uint64_t number = reader_u64le(&r), at = reader_u64le(&r);
	if (reader_u32le(&r) != crc32c(0, from->b, 18) || version != CURSOR_VERSION)
		return err_set(err, ERR_USAGE, "%s: not a cursor of this folder", f->path);
	f->cursor = *from;
	int rc = take_file(f, number, err);
	if (rc < 0)
		return rc;
	f->number = rc == 0 ? f->number : number;
	if (rc == 1 || f->number != number)
		return 0;
	uint64_t size;
	if (file_size(&f->file, &size, err) < 0)
		return -1;
	if (size < at)
		return too_short(f, size, at, err);
	f->parser.before = f->read_to = at;
	f->parser.section = (enum soif_section)(flags & 3);
	f->parser.open = flags & CURSOR_OPEN;
	f->parser.resync = flags & CURSOR_RESYNC;
	return 0;
}

static void folder_close(struct source **s)
{
	struct folder *f = (struct folder *)*s;
	leave_file(f);
	if (f->watch >= 0)
		close(f->watch);
	mem_free(&f->piece);
	mem_free(&f->path);
	mem_free(&f);
	*s = NULL;
}

static int folder_open(struct source **ret, const void *store, const struct source_cursor *from,
		       struct err *err)
{
	struct folder *f = mem_alloc(sizeof *f);
	struct source *s = &f->source;
	*f = (struct folder){.source.ops = &source_folder_ops,
			     .path = mem_text(store),
			     .piece = mem_alloc(PIECE),
			     .watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
			     .file = FILE_INIT,
			     .parser = SOIF_PARSER_INIT};
	int rc = 0;
	if (f->watch < 0 ||
	    inotify_add_watch(f->watch, f->path, IN_CREATE | IN_MODIFY | IN_MOVED_TO) < 0)
		rc = err_sys(err, "%s: watch the folder", f->path);
	if (rc == 0)
		rc = resume(f, from, err);
	if (rc < 0) {
		folder_close(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* What has come is found by looking; the notices only wake whoever waits. */
static void forget_notices(const struct folder *f)
{
	char notices[4096] __attribute__((aligned(8)));
	while (read(f->watch, notices, sizeof notices) > 0)
		;
}

static int change_of(struct folder *f, const struct soif *obj, struct source_change *ret,
		     struct err *err)
{
	static const enum source_op op[] = {[SOIF_PLAIN] = SOURCE_UPDATE,
					    [SOIF_DELETE] = SOURCE_DELETE,
					    [SOIF_REFRESH] = SOURCE_REFRESH,
					    [SOIF_UPDATE] = SOURCE_UPDATE};
	char url[VALUE_SHOWN];
	remember(f);
	if (obj->truncated)
		return err_set(err, ERR_DAMAGED, "%s: cut off in the middle of %s, skipped",
			       f->file.path, value_show(obj->url, url));
	struct str reason = soif_get(obj, STR("Reason"));
	*ret = (struct source_change){
		.op = op[f->parser.section], .reason = reason.p ? reason : STR(""), .obj = *obj};
	return 0;
}

/* Nothing came. A file that lost what was read of it is named, and read on from its new end. 1: it
 * did not. */
static int look_at_size(struct folder *f, struct err *err)
{
	uint64_t size, read_to = f->read_to;
	if (file_size(&f->file, &size, err) < 0)
		return -1;
	if (size >= read_to)
		return 1;
	soif_parser_free(&f->parser);
	f->parser.before = f->read_to = size;
	remember(f);
	return too_short(f, size, read_to, err);
}

/* Gives the parser more. 0: there was more; 1: the end of the file, as it is now. */
static int read_more(struct folder *f, struct err *err)
{
	size_t got;
	if (file_read(&f->file, f->piece, PIECE, f->read_to, &got, err) < 0)
		return -1;
	f->read_to += got;
	if (got == 0)
		return look_at_size(f, err);
	return soif_feed(&f->parser, (struct str){f->piece, got}, err);
}

/* At the end of what is there. 0: go on, there may be more after all; 1: up to date. */
static int at_end(struct folder *f, bool *looked, struct err *err)
{
	uint64_t next;
	int rc;
	if (f->file.fd < 0) {
		rc = take_file(f, f->number, err);
	} else if (f->final && f->parser.more) {
		soif_feed_end(&f->parser); /* an object that is cut off shows now */
		return 0;
	} else if (f->final) {
		return take_file(f, f->number + 1, err);
	} else {
		/* its last bytes may have come just before the next file did: read once more */
		rc = f->number == UINT64_MAX ? 1 : pick(f, f->number + 1, &next, NULL, err);
		f->final = rc == 0;
	}
	if (rc != 1 || *looked)
		return rc;
	forget_notices(f);
	*looked = true;
	return 0;
}

static int folder_next(struct source *s, struct arena *arena, struct source_change *ret,
		       struct err *err)
{
	struct folder *f = (struct folder *)s;
	bool looked = false;
	for (;;) {
		struct soif obj;
		int rc = f->file.fd < 0 ? 1 : soif_next(&f->parser, arena, &obj, err);
		if (rc == 0)
			return change_of(f, &obj, ret, err);
		if (rc < 0) {
			remember(f);
			return err_in(err, "%s", f->file.path);
		}
		rc = f->file.fd < 0 ? 1 : read_more(f, err);
		if (rc == 1)
			rc = at_end(f, &looked, err);
		if (rc)
			return rc;
	}
}

static void folder_cursor(struct source *s, struct source_cursor *ret)
{
	*ret = ((struct folder *)s)->cursor;
}

static int folder_wait_fd(struct source *s)
{
	return ((struct folder *)s)->watch;
}

const struct source_ops source_folder_ops = {.name = "folder",
					     .open = folder_open,
					     .next = folder_next,
					     .cursor = folder_cursor,
					     .wait_fd = folder_wait_fd,
					     .close = folder_close};
