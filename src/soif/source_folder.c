/* A folder of numbered SOIF files as a source. The cursor is (file, offset, state of the parser, a
 * checksum of the bytes before the offset) with a checksum of its own, because it comes back from a
 * disk, perhaps to another folder; before the first file it is all zero. */
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/value.h"
#include "soif/soif_parse.h"
#include "soif/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIECE = 256 << 10,
	CURSOR_VERSION = 1,
	CURSOR_OPEN = 4,
	CURSOR_RESYNC = 8,
	CURSOR_BYTES = 26,
	TAIL = 64, /* bytes before the offset that the cursor knows */
};

/* Where a change ended. */
struct place {
	uint64_t number, at;
	uint8_t flags;
	bool sealed; /* the cursor has been made of it */
};

struct numbered {
	uint64_t number;
	char *name;
};

struct folder {
	struct source source;
	char *path, *piece;
	int watch;        /* inotify */
	struct file file; /* the current one; fd -1: none yet */
	uint64_t number, read_to;
	uint64_t from; /* the next file has at least this number */
	bool final;    /* a higher number is there: it does not grow any more */
	struct soif_parser parser;
	struct place place;          /* after what was returned last */
	struct source_cursor cursor; /* the same, once it is sealed */
	/* files seen at the last look into the folder, by number, from `seen` on not taken yet */
	struct numbered *file_list;
	size_t nfiles, seen;
};

/* "17.soif" is number 17. */
static bool number_of(const char *name, uint64_t *ret)
{
	struct str s = str_of(name);
	return str_ends(s, STR(".soif")) && str_u64(str_head(s, s.n - 5), ret) && *ret < UINT64_MAX;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct numbered *)a)->number, y = ((const struct numbered *)b)->number;
	return (x > y) - (x < y);
}

static void forget_list(struct folder *f)
{
	for (size_t i = 0; i < f->nfiles; i++)
		mem_free(&f->file_list[i].name);
	mem_free(&f->file_list);
	f->nfiles = f->seen = 0;
}

static int look_into_folder(struct folder *f, struct err *err)
{
	struct dir d;
	const char *name;
	uint64_t number;
	forget_list(f);
	int rc = dir_init(&d, f->path, err);
	if (rc)
		return rc;
	f->file_list = mem_array(d.n, sizeof *f->file_list);
	while (dir_next(&d, &name) == 0)
		if (number_of(name, &number) && number >= f->from)
			f->file_list[f->nfiles++] = (struct numbered){number, mem_text(name)};
	dir_done(&d);
	qsort(f->file_list, f->nfiles, sizeof *f->file_list, by_number);
	return 0;
}

/* The file with the lowest number from f->from on. The folder is read again only when the list of
 * the last time is used up, so that many files cost no more than their number. 1: there is none. */
static int next_file(struct folder *f, const struct numbered **ret, struct err *err)
{
	for (int look = 0; look < 2; look++) {
		while (f->seen < f->nfiles && f->file_list[f->seen].number < f->from)
			f->seen++;
		if (f->seen < f->nfiles) {
			*ret = &f->file_list[f->seen];
			return 0;
		}
		int rc = look == 0 ? look_into_folder(f, err) : 0;
		if (rc)
			return rc;
	}
	return 1;
}

static void place_remember(struct folder *f)
{
	f->place = (struct place){.number = f->number,
				  .at = soif_offset(&f->parser),
				  .flags = (uint8_t)(f->parser.section |
						     (f->parser.open ? CURSOR_OPEN : 0) |
						     (f->parser.resync ? CURSOR_RESYNC : 0))};
}

/* Of the last bytes before an offset; what cannot be read does not count. */
static uint32_t tail_sum(const struct folder *f, uint64_t at)
{
	char tail[TAIL];
	size_t n = (size_t)MIN(at, (uint64_t)TAIL);
	struct err ignored;
	if (file_read(&f->file, tail, n, at - n, &n, &ignored) < 0)
		n = 0;
	return crc32c(0, tail, n);
}

/* Makes the cursor of the place, while its file is still open. */
static void cursor_seal(struct folder *f)
{
	if (f->place.sealed || f->file.fd < 0 || f->place.number != f->number)
		return;
	struct buf b = BUF_INIT(sizeof f->cursor.b);
	put_u8(&b, CURSOR_VERSION);
	put_u8(&b, f->place.flags);
	put_u64le(&b, f->place.number);
	put_u64le(&b, f->place.at);
	put_u32le(&b, tail_sum(f, f->place.at));
	put_u32le(&b, crc32c(0, b.p, b.n));
	ENSURE(b.n == CURSOR_BYTES);
	f->cursor = (struct source_cursor){0};
	memcpy(f->cursor.b, b.p, b.n);
	f->place.sealed = true;
	buf_free(&b);
}

static void leave_file(struct folder *f)
{
	cursor_seal(f);
	file_drop(&f->file);
	soif_parser_free(&f->parser);
	f->read_to = 0;
	f->final = false;
}

static int open_numbered(const struct folder *f, const struct numbered *n, struct file *ret,
			 struct err *err)
{
	struct stat st;
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	buf_printf(&path, "%s/%s", f->path, n->name);
	int rc = file_open(ret, buf_text(&path), O_RDONLY | O_NONBLOCK, 0, err);
	if (rc)
		return rc;
	if (fstat(ret->fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	file_drop(ret);
	return err_set(err, ERR_DAMAGED, "%s: not a file, skipped", buf_text(&path));
}

/* Takes the next file. 0: taken, or gone again, which another try passes; 1: there is none. What is
 * not a file is passed; what the system does not let us open is not. */
static int take_file(struct folder *f, struct err *err)
{
	const struct numbered *n;
	struct file file;
	int rc = next_file(f, &n, err);
	if (rc)
		return rc;
	uint64_t number = n->number;
	rc = open_numbered(f, n, &file, err);
	if (rc < 0 && err->code == ERR_SYSTEM)
		return rc;
	f->from = number + 1;
	if (rc)
		return rc < 0 ? rc : 0;
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

/* Goes on where a cursor says, or at the next file when that one is gone. */
static int folder_resume(struct folder *f, const struct source_cursor *from, struct err *err)
{
	static const struct source_cursor zero;
	if (memcmp(from, &zero, sizeof zero) == 0)
		return 0;
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint8_t version = reader_u8(&r), flags = reader_u8(&r);
	uint64_t number = reader_u64le(&r), at = reader_u64le(&r);
	uint32_t tail = reader_u32le(&r);
	if (reader_u32le(&r) != crc32c(0, from->b, CURSOR_BYTES - 4) || version != CURSOR_VERSION)
		return err_set(err, ERR_USAGE, "%s: not a cursor", f->path);
	f->cursor = *from;
	f->place = (struct place){.number = number, .at = at, .flags = flags, .sealed = true};
	f->from = number;
	int rc = take_file(f, err);
	if (rc < 0)
		return rc;
	if (f->file.fd < 0 || f->number != number)
		return 0;
	uint64_t size;
	if (file_size(&f->file, &size, err) < 0)
		return -1;
	if (size < at)
		return too_short(f, size, at, err);
	if (tail != tail_sum(f, at))
		return err_set(err, ERR_USAGE, "%s: not the file that the cursor was given for",
			       f->file.path);
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
	forget_list(f);
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
		rc = folder_resume(f, from, err);
	if (rc < 0) {
		folder_close(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* What has come is found by looking; the notices only wake those that wait. */
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
	place_remember(f);
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
	place_remember(f);
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
	const struct numbered *next;
	int rc;
	if (f->file.fd < 0) {
		rc = take_file(f, err);
	} else if (f->final && f->parser.more) {
		soif_feed_end(&f->parser); /* an object that is cut off shows now */
		return 0;
	} else if (f->final) {
		return take_file(f, err);
	} else {
		/* its last bytes may have come just before the next file did: read once more */
		rc = next_file(f, &next, err);
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
			place_remember(f);
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
	struct folder *f = (struct folder *)s;
	cursor_seal(f);
	*ret = f->cursor;
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
