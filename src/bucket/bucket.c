/* The bucket file: its heads, locks, opening, appending, reading and cutting.
 *
 * Appends are gathered in the tail: a piece of memory at the end of the file, written past the page
 * cache in whole blocks, and through it where a sync finds less. What was appended can be read at
 * once, from the tail. After a failed write or sync nobody knows what of the file beyond `durable`
 * is on disk, so the file is cut back to that length, and everything after it counts as lost. */
#include "base/fault.h"
#include "bucket/bucket_inner.h"
#include "bucket/bucket_shake.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	OPEN_TRIES = 100,
	SHIFT_WALK = 64,          /* buckets that are looked at to learn the shift */
	SHIFT_SEARCH = 192 << 20, /* bytes, where the beginning is damaged */
	TAIL_PIECE = STREAM_PIECE,
	DIRECT_LEAST = 64 << 10, /* fewer bytes go through the page cache at a sync, where they are
				    read again soon */
};

/* The end of the file that grows: everything before `base` was written, what follows lies in
 * the current piece. The last block may have been written already (through the page cache, by a
 * sync) and is written again with the piece, since only whole blocks can be written directly. */
struct bucket_tail {
	struct file
		direct; /* the same file, past the page cache; closed: everything goes through it */
	char *piece;
	uint64_t base;    /* where it lies in the file: a multiple of STREAM_BLOCK */
	size_t n;         /* bytes in it */
	uint64_t flushed; /* bytes of the file that are written, as far as the current piece goes */
	int rc;           /* the first failure since the last good sync */
	struct err err;
};

/* Heads */

uint32_t bucket_word(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

void bucket_word_put(char *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}

struct bucket_head bucket_head_parse(const char *p)
{
	return (struct bucket_head){bucket_word(p), bucket_word(p + 4), bucket_word(p + 8),
				    bucket_word(p + 12)};
}

void bucket_head_make(const struct bucket_head *head, char *p)
{
	bucket_word_put(p, head->magic);
	bucket_word_put(p + 4, head->oid);
	bucket_word_put(p + 8, head->length);
	bucket_word_put(p + 12, head->type);
}

uint64_t bucket_total(unsigned shift, uint32_t length)
{
	uint64_t align = UINT64_C(1) << shift;
	return ((uint64_t)length + BUCKET_FRAME + align - 1) & ~(align - 1);
}

const char *bucket_head_wrong(const struct bucket_head *head, unsigned shift, uint64_t at,
			      uint64_t left)
{
	if (head->magic == BUCKET_UNFINISHED)
		return "it was never finished";
	if (head->magic != BUCKET_MAGIC)
		return "no bucket begins there";
	if (head->oid != at >> shift && head->oid != BUCKET_DELETED)
		return "it has another number in it";
	if (head->length > BUCKET_DATA_MOST)
		return "it is longer than any bucket may be";
	if (bucket_total(shift, head->length) > left)
		return "it runs past the end";
	return NULL;
}

const char *bucket_end_wrong(const char *p, size_t n)
{
	if (bucket_word(p + n - 4) != BUCKET_TRAILER)
		return "its trailer is missing";
	for (size_t i = 0; i + 4 < n; i++)
		if (p[i])
			return "there are bytes between its data and its trailer";
	return NULL;
}

int bucket_ends_at(const struct file *f, uint64_t end, struct err *err)
{
	char p[4];
	size_t n;
	int rc = file_read(f, p, sizeof p, end - sizeof p, &n, err);
	return rc == 0 && (n < sizeof p || bucket_word(p) != BUCKET_TRAILER) ? 1 : rc;
}

size_t bucket_marker(unsigned shift, char *p)
{
	size_t total = (size_t)bucket_total(shift, 0);
	struct bucket_head head = {BUCKET_MAGIC, BUCKET_DELETED, 0, BUCKET_PLAIN};
	if (shift == BUCKET_SHIFT)
		return 0;
	memset(p, 0, total);
	bucket_head_make(&head, p);
	bucket_word_put(p + total - 4, BUCKET_TRAILER);
	return total;
}

char *bucket_beside(const char *path, const char *ending)
{
	size_t cap = strlen(path) + strlen(ending) + 1;
	char *name = mem_alloc(cap);
	snprintf(name, cap, "%s%s", path, ending);
	return name;
}

/* Locks */

static int lock_byte(const struct file *f, off_t byte, short type, struct err *err)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	if (type == F_UNLCK || fcntl(f->fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return err_sys(err, "%s: lock", f->path);
	return err_set(err, ERR_BUSY, "%s: somebody else %s it now", f->path,
		       byte == 0 ? type == F_WRLCK ? "appends to it or reads" : "appends to"
				 : "reads or changes");
}

int bucket_lock(const struct file *f, enum bucket_mode mode, struct err *err)
{
	static const short types[][2] = {
		[BUCKET_SCAN] = {F_UNLCK, F_RDLCK},
		[BUCKET_READ] = {F_RDLCK, F_RDLCK},
		[BUCKET_APPEND] = {F_WRLCK, F_UNLCK},
		[BUCKET_WRITE] = {F_WRLCK, F_WRLCK},
	};
	return lock_byte(f, 0, types[mode][0], err) < 0 ? -1 : lock_byte(f, 1, types[mode][1], err);
}

bool bucket_grows(const struct buckets *b)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	return fcntl(b->file.fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* Opening */

static bool file_is_current(const struct file *f)
{
	struct stat here, there;
	return fstat(f->fd, &here) == 0 && stat(f->path, &there) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Opened and locked, and still the one of that name: a shakedown may come between. */
static int file_open_locked(struct file *ret, const char *path, enum bucket_mode mode,
			    struct err *err)
{
	bool writes = mode >= BUCKET_APPEND;
	for (int i = 0; i < OPEN_TRIES; i++) {
		struct file f;
		int rc = file_open(&f, path, writes ? O_RDWR | O_CREAT : O_RDONLY, 0644, err);
		if (rc)
			return rc;
		if (bucket_lock(&f, mode, err) < 0) {
			file_drop(&f);
			return -1;
		}
		if (file_is_current(&f)) {
			*ret = f;
			return 0;
		}
		file_drop(&f);
	}
	return err_set(err, ERR_BUSY, "%s: was replaced each time it was opened", path);
}

/* Whether the first buckets lie as this shift says. *ret_sure: their numbers say it too. */
static bool shift_fits_file(const struct file *f, uint64_t size, unsigned shift, bool *ret_sure)
{
	struct err ignored;
	char p[BUCKET_HEAD];
	size_t n;
	uint64_t at = 0;
	*ret_sure = false;
	for (int i = 0; i < SHIFT_WALK && at < size && !*ret_sure; i++) {
		if (file_read(f, p, BUCKET_HEAD, at, &n, &ignored) < 0 || n < BUCKET_HEAD)
			return false;
		struct bucket_head head = bucket_head_parse(p);
		if (bucket_head_wrong(&head, shift, at, size - at))
			return false;
		*ret_sure = at && head.oid != BUCKET_DELETED;
		at += bucket_total(shift, head.length);
		if (bucket_ends_at(f, at, &ignored) != 0)
			return false;
	}
	return true;
}

/* After a damaged beginning: the number of a whole bucket fits its place with one shift only. */
static unsigned shift_find_after_damage(const struct file *f, uint64_t size)
{
	struct err ignored;
	uint64_t to = MIN(size, (uint64_t)SHIFT_SEARCH), first = to, at;
	unsigned found = BUCKET_SHIFT;
	for (unsigned s = BUCKET_SHIFT_LEAST; s <= BUCKET_SHIFT_MOST; s++) {
		if (bucket_resync(f, s, UINT64_C(1) << s, to, &at, &ignored) < 0 || at >= first)
			continue;
		first = at;
		found = s;
	}
	return found;
}

/* A file tells its shift by the numbers in it; one without a whole bucket does not. */
static unsigned shift_find(const struct file *f, uint64_t size)
{
	unsigned found = 0;
	bool sure;
	for (unsigned s = BUCKET_SHIFT_LEAST; s <= BUCKET_SHIFT_MOST; s++) {
		if (!shift_fits_file(f, size, s, &sure))
			continue;
		if (sure)
			return s;
		if (!found || s == BUCKET_SHIFT)
			found = s;
	}
	return found ? found : shift_find_after_damage(f, size);
}

/* With others who append, the end may be anything at any time. */
static int file_check_ends(const struct buckets *b, bool with_end, struct err *err)
{
	char p[BUCKET_HEAD];
	size_t n;
	uint64_t over = b->size & ((UINT64_C(1) << b->shift) - 1);
	if (b->size == 0)
		return 0;
	if (file_read(&b->file, p, BUCKET_HEAD, 0, &n, err) < 0)
		return -1;
	struct bucket_head head = {0};
	if (n == BUCKET_HEAD)
		head = bucket_head_parse(p);
	const char *wrong = n < BUCKET_HEAD ? "the file is shorter than a bucket"
					    : bucket_head_wrong(&head, b->shift, 0, UINT64_MAX);
	if (wrong && (with_end || n == BUCKET_HEAD))
		return err_set(err, ERR_DAMAGED,
			       "%s: the first bucket: %s (alignment %" PRIu64
			       "); cut it to a checkpoint, or audit and fix it",
			       b->file.path, wrong, UINT64_C(1) << b->shift);
	if (!with_end)
		return 0;
	if (over)
		return err_set(err, ERR_DAMAGED,
			       "%s: %" PRIu64 " bytes are not a multiple of %" PRIu64
			       "; cut it to a checkpoint, or audit and fix it",
			       b->file.path, b->size, UINT64_C(1) << b->shift);
	int rc = bucket_ends_at(&b->file, b->size, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED,
			       "%s: the last bucket has no trailer (at %" PRIu64
			       "); cut the file to a checkpoint, or audit and fix it",
			       b->file.path, b->size - 4);
	return rc;
}

/* A new file, made so that it tells its shift. */
static int shift_mark(struct buckets *b, struct err *err)
{
	char marker[1 << BUCKET_SHIFT_MOST];
	size_t n = bucket_marker(b->shift, marker);
	if (n && (file_write(&b->file, marker, n, 0, err) < 0 || file_sync(&b->file, err) < 0))
		return -1;
	b->size = n;
	return 0;
}

static int file_prepare(struct buckets *b, const struct bucket_options *o, struct err *err)
{
	bool writes = b->mode >= BUCKET_APPEND;
	if (writes && bucket_sweep(b->file.path, err) < 0)
		return -1;
	if (file_size(&b->file, &b->size, err) < 0)
		return -1;
	b->shift = o->shift ? o->shift : shift_find(&b->file, b->size);
	if (!o->unchecked && file_check_ends(b, b->mode != BUCKET_SCAN, err) < 0)
		return -1;
	/* The process that wrote the end may have been killed before it was on disk. */
	if (writes && (b->size ? file_sync(&b->file, err) : shift_mark(b, err)) < 0)
		return -1;
	b->durable = b->size;
	(void)posix_fadvise(b->file.fd, 0, 0,
			    o->forward ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM);
	return 0;
}

int bucket_shift_check(const char *path, unsigned shift, struct err *err)
{
	if (!shift || (shift >= BUCKET_SHIFT_LEAST && shift <= BUCKET_SHIFT_MOST))
		return 0;
	return err_set(err, ERR_USAGE, "%s: a shift of %u; expected %d to %d", path, shift,
		       BUCKET_SHIFT_LEAST, BUCKET_SHIFT_MOST);
}

int bucket_open(struct buckets **ret, const char *path, const struct bucket_options *options,
		struct err *err)
{
	struct file file;
	if (bucket_shift_check(path, options->shift, err) < 0)
		return -1;
	int rc = file_open_locked(&file, path, options->mode, err);
	if (rc)
		return rc;
	struct buckets *b = mem_alloc(sizeof *b);
	*b = (struct buckets){.file = file, .mode = options->mode, .buffered = options->buffered};
	if (file_prepare(b, options, err) < 0) {
		bucket_drop(&b);
		return -1;
	}
	*ret = b;
	return 0;
}

void bucket_drop(struct buckets **b)
{
	if (!*b)
		return;
	bucket_tail_free(*b);
	file_drop(&(*b)->file);
	mem_free(&(*b)->room);
	mem_free(b);
}

int bucket_close(struct buckets **b, struct err *err)
{
	int rc = *b ? bucket_flush(*b, err) : 0;
	bucket_drop(b);
	return rc;
}

bool bucket_current(const struct buckets *b)
{
	return file_is_current(&b->file);
}

unsigned bucket_shift(const struct buckets *b)
{
	return b->shift;
}

const char *bucket_path(const struct buckets *b)
{
	return b->file.path;
}

/* Appending */

static uint64_t block_of(uint64_t at)
{
	return at / STREAM_BLOCK * STREAM_BLOCK;
}

uint64_t bucket_length(const struct buckets *b)
{
	return b->tail ? b->tail->base + b->tail->n : b->size;
}

uint64_t bucket_bytes(const struct buckets *b, size_t data)
{
	return bucket_total(b->shift, (uint32_t)data);
}

void bucket_tail_free(struct buckets *b)
{
	struct bucket_tail *t = b->tail;
	if (!t)
		return;
	b->size = t->base + t->n;
	file_drop(&t->direct);
	free(t->piece);
	mem_free(&b->tail);
}

/* Where the end is in a block, the block is taken into memory. Until it is there, all that is kept
 * is read from the file. */
static int tail_load_end(struct buckets *b, struct bucket_tail *t, struct err *err)
{
	uint64_t base = block_of(b->size);
	size_t n = (size_t)(b->size - base), got;
	t->base = t->flushed = b->size;
	t->n = 0;
	if (file_read(&b->file, t->piece, n, base, &got, err) < 0)
		return -1;
	if (got < n)
		return err_set(err, ERR_DAMAGED, "%s: ends at %" PRIu64 ", expected %" PRIu64,
			       b->file.path, base + got, b->size);
	t->base = base;
	t->n = n;
	return 0;
}

static int tail_open_direct(struct buckets *b, struct bucket_tail *t, struct err *err)
{
	t->direct = FILE_INIT;
	if (b->buffered)
		return 0;
	if (file_reopen(&b->file, O_WRONLY, &t->direct, err) < 0)
		return -1;
	int rc = file_direct(&t->direct, true, err);
	if (rc != 0)
		file_drop(&t->direct);
	return rc < 0 ? rc : 0;
}

static int tail_start(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = mem_alloc(sizeof *t);
	t->direct = FILE_INIT;
	t->piece = aligned_alloc(STREAM_BLOCK, TAIL_PIECE);
	if (!t->piece)
		die("out of memory (%d bytes wanted to append buckets)", TAIL_PIECE);
	if (tail_open_direct(b, t, err) < 0 || tail_load_end(b, t, err) < 0) {
		file_drop(&t->direct);
		free(t->piece);
		mem_free(&t);
		return -1;
	}
	b->tail = t;
	return 0;
}

/* What is known to be on disk stays, all else goes; nobody knows what of it was written. As long as
 * even that is refused, so is everything else. */
static int tail_give_up(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = b->tail;
	struct err why = t->err;
	uint64_t lost = t->base + t->n - b->durable;
	FAULT("bucket.giveup");
	if (file_truncate(&b->file, b->durable, err) < 0 || file_sync(&b->file, err) < 0)
		return err_in(err, "%s: cannot be cut back to the last checkpoint", b->file.path);
	b->size = b->durable;
	if (tail_load_end(b, t, err) < 0)
		return -1;
	t->rc = 0;
	*err = why;
	return err_in(err, "%" PRIu64 " bytes of buckets since the last checkpoint are not kept",
		      lost);
}

static int tail_ready(struct buckets *b, struct err *err)
{
	ENSURE(b->mode >= BUCKET_APPEND);
	if (!b->tail)
		return tail_start(b, err);
	return b->tail->rc < 0 ? tail_give_up(b, err) : 0;
}

/* Whole blocks, past the page cache where that can be. Some file systems take the flag and refuse
 * the write. */
static int tail_write_blocks(struct buckets *b, size_t n, struct err *err)
{
	struct bucket_tail *t = b->tail;
	if (t->direct.fd >= 0) {
		int rc = file_write(&t->direct, t->piece, n, t->base, err);
		if (rc == 0 || err->sys_errno != EINVAL)
			return rc;
		file_drop(&t->direct);
	}
	return file_write(&b->file, t->piece, n, t->base, err);
}

/* After a failure the piece stays where it is: what was appended before can still be read. */
static void tail_write_piece(struct buckets *b)
{
	struct bucket_tail *t = b->tail;
	FAULT("bucket.write");
	t->rc = tail_write_blocks(b, TAIL_PIECE, &t->err);
	if (t->rc < 0)
		return;
	t->base += TAIL_PIECE;
	t->flushed = t->base;
	t->n = 0;
}

/* n bytes; NULL: zeroes. Nothing any more after a failure. */
static void tail_put(struct buckets *b, const char *p, size_t n)
{
	struct bucket_tail *t = b->tail;
	while (n && t->rc == 0) {
		size_t part = MIN(n, TAIL_PIECE - t->n);
		if (p) {
			memcpy(t->piece + t->n, p, part);
			p += part;
		} else {
			memset(t->piece + t->n, 0, part);
		}
		t->n += part;
		n -= part;
		if (t->n == TAIL_PIECE)
			tail_write_piece(b);
	}
}

static int append_fits(struct buckets *b, size_t n, struct err *err)
{
	if (n > BUCKET_DATA_MOST)
		return err_set(err, ERR_USAGE, "%s: a bucket of %zu bytes; at most %d are taken",
			       b->file.path, n, BUCKET_DATA_MOST);
	if (bucket_length(b) >> b->shift >= BUCKET_SPECIAL)
		return err_set(err, ERR_USAGE,
			       "%s: %" PRIu64
			       " bytes are all that a shift of %u can number; shake it "
			       "down, or take a larger shift",
			       b->file.path, bucket_length(b), b->shift);
	return 0;
}

int bucket_append(struct buckets *b, uint32_t type, struct str data, uint32_t *ret_oid,
		  struct err *err)
{
	if (tail_ready(b, err) < 0 || append_fits(b, data.n, err) < 0)
		return -1;
	uint64_t at = bucket_length(b);
	struct bucket_head head = {BUCKET_MAGIC, (uint32_t)(at >> b->shift), (uint32_t)data.n,
				   type};
	char around[BUCKET_HEAD];
	bucket_head_make(&head, around);
	tail_put(b, around, BUCKET_HEAD);
	tail_put(b, data.p, data.n);
	tail_put(b, NULL, (size_t)bucket_total(b->shift, head.length) - BUCKET_FRAME - data.n);
	bucket_word_put(around, BUCKET_TRAILER);
	tail_put(b, around, 4);
	if (b->tail->rc < 0)
		return tail_give_up(b, err);
	*ret_oid = head.oid;
	return 0;
}

/* Whole blocks directly where there are many of them, the rest through the page cache. Then only
 * the last block, if it is not a whole one, stays in memory. */
static int tail_write_end(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = b->tail;
	size_t whole = t->n / STREAM_BLOCK * STREAM_BLOCK, from = (size_t)(t->flushed - t->base);
	if (t->direct.fd >= 0 && whole >= DIRECT_LEAST) {
		if (tail_write_blocks(b, whole, err) < 0)
			return -1;
		from = whole;
	}
	if (from < t->n &&
	    file_write(&b->file, t->piece + from, t->n - from, t->base + from, err) < 0)
		return -1;
	memmove(t->piece, t->piece + whole, t->n - whole);
	t->base += whole;
	t->n -= whole;
	t->flushed = t->base + t->n;
	return 0;
}

int bucket_flush(struct buckets *b, struct err *err)
{
	struct bucket_tail *t = b->tail;
	if (!t)
		return 0;
	FAULT("bucket.flush");
	if (t->rc == 0 && t->flushed < t->base + t->n)
		t->rc = tail_write_end(b, &t->err);
	if (t->rc < 0)
		*err = t->err; /* the next append or sync tells what it means */
	return t->rc;
}

int bucket_sync(struct buckets *b, uint64_t *ret_length, struct err *err)
{
	if (tail_ready(b, err) < 0)
		return -1;
	struct bucket_tail *t = b->tail;
	if (bucket_flush(b, err) == 0) {
		FAULT("bucket.sync");
		t->rc = file_sync(&b->file, &t->err);
	}
	if (t->rc < 0)
		return tail_give_up(b, err);
	FAULT("bucket.synced");
	b->durable = bucket_length(b);
	if (ret_length)
		*ret_length = b->durable;
	return 0;
}

/* Reads n bytes of the file, also what is still on its way. */
static int read_fetch(struct buckets *b, uint64_t at, char *p, size_t n, struct err *err)
{
	struct bucket_tail *t = b->tail;
	size_t from_file = n, got = 0;
	if (t && at + n > t->base) {
		uint64_t in_file = at < t->base ? t->base - at : 0;
		from_file = (size_t)MIN(in_file, n);
		if (from_file < n)
			memcpy(p + from_file, t->piece + (at + from_file - t->base), n - from_file);
	}
	if (from_file && file_read(&b->file, p, from_file, at, &got, err) < 0)
		return -1;
	if (got < from_file)
		return err_set(err, ERR_DAMAGED, "%s: ends at %" PRIu64 ", was longer before",
			       b->file.path, at + got);
	return 0;
}

/* A write that fails may have changed some of the four bytes. */
static int blot_file(struct buckets *b, uint64_t at, const char oid[4], struct err *err)
{
	struct err ignored;
	char was[4];
	if (file_write(&b->file, oid, 4, at + 4, err) == 0)
		return 0;
	bucket_word_put(was, (uint32_t)(at >> b->shift));
	(void)file_write(&b->file, was, sizeof was, at + 4, &ignored);
	return -1;
}

int bucket_blot(struct buckets *b, uint64_t at, struct err *err)
{
	char oid[4];
	struct bucket_tail *t = b->tail;
	bucket_word_put(oid, BUCKET_DELETED);
	FAULT("bucket.delete");
	uint64_t in_file = t ? t->flushed : b->size;
	if (at < in_file && blot_file(b, at, oid, err) < 0)
		return -1;
	if (t && at >= t->base)
		memcpy(t->piece + (at + 4 - t->base), oid, sizeof oid);
	return 0;
}

/* Reading */

static int bucket_damaged(const struct buckets *b, uint32_t oid, const char *why, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: bucket %08" PRIx32 " (at %" PRIu64 "): %s",
		       b->file.path, oid, (uint64_t)oid << b->shift, why);
}

static char *read_room(struct buckets *b, size_t n)
{
	if (n > b->cap) {
		b->cap = MAX(n, 2 * b->cap);
		b->room = mem_resize(b->room, b->cap);
	}
	return b->room;
}

/* Bytes from a place to the end; others may have appended since we last looked. */
static int read_left_at(struct buckets *b, uint64_t at, uint64_t least, uint64_t *ret,
			struct err *err)
{
	uint64_t end = bucket_length(b);
	if (b->mode < BUCKET_APPEND && at + least > end) {
		if (file_size(&b->file, &b->size, err) < 0)
			return -1;
		end = b->size;
	}
	*ret = end > at ? end - at : 0;
	return 0;
}

/* The head of a bucket, and with it what comes along; *ret_n: bytes in b->room. */
static int read_head_of(struct buckets *b, uint32_t oid, size_t most, struct bucket_head *ret,
			size_t *ret_n, struct err *err)
{
	uint64_t at = (uint64_t)oid << b->shift, left;
	if (oid >= BUCKET_SPECIAL)
		return 1;
	if (read_left_at(b, at, BUCKET_FRAME, &left, err) < 0)
		return -1;
	if (left == 0)
		return 1;
	size_t n = (size_t)MIN(left, most);
	if (n < BUCKET_FRAME)
		return bucket_damaged(b, oid, "the file ends in it", err);
	if (read_fetch(b, at, read_room(b, n), n, err) < 0)
		return -1;
	*ret = bucket_head_parse(b->room);
	*ret_n = n;
	if (ret->magic == BUCKET_MAGIC && ret->oid == BUCKET_DELETED)
		return 1;
	uint64_t total = bucket_total(b->shift, ret->length);
	if (total > left && ret->length <= BUCKET_DATA_MOST &&
	    read_left_at(b, at, total, &left, err) < 0)
		return -1;
	const char *wrong = bucket_head_wrong(ret, b->shift, at, left);
	return wrong ? bucket_damaged(b, oid, wrong, err) : 0;
}

int bucket_read(struct buckets *b, uint32_t oid, struct bucket *ret, struct err *err)
{
	struct bucket_head head;
	uint64_t at = (uint64_t)oid << b->shift;
	size_t n = 0;
	int rc = read_head_of(b, oid, (size_t)bucket_total(b->shift, BUCKET_AT_ONCE), &head, &n,
			      err);
	if (rc)
		return rc;
	size_t total = (size_t)bucket_total(b->shift, head.length);
	if (total > n && read_fetch(b, at + n, read_room(b, total) + n, total - n, err) < 0)
		return -1;
	size_t end = BUCKET_HEAD + (size_t)head.length;
	const char *wrong = bucket_end_wrong(b->room + end, total - end);
	if (wrong)
		return bucket_damaged(b, oid, wrong, err);
	*ret = (struct bucket){.oid = oid,
			       .type = head.type,
			       .at = at,
			       .next = at + total,
			       .data = {b->room + BUCKET_HEAD, head.length}};
	return 0;
}

int bucket_delete(struct buckets *b, uint32_t oid, struct err *err)
{
	struct bucket_head head;
	size_t n;
	ENSURE(b->mode == BUCKET_WRITE);
	int rc = read_head_of(b, oid, BUCKET_FRAME, &head, &n, err);
	return rc ? rc : bucket_blot(b, (uint64_t)oid << b->shift, err);
}

/* Cutting */

static int cut_check_length(const struct buckets *b, uint64_t size, uint64_t length,
			    struct err *err)
{
	if (length > size)
		return err_set(err, ERR_DAMAGED,
			       "%s: is %" PRIu64 " bytes long, the checkpoint says %" PRIu64
			       ": what is missing is lost",
			       b->file.path, size, length);
	if (length == 0)
		return 0;
	if (length & ((UINT64_C(1) << b->shift) - 1))
		return err_set(err, ERR_DAMAGED,
			       "%s: the checkpoint %" PRIu64 " is not a multiple of %" PRIu64,
			       b->file.path, length, UINT64_C(1) << b->shift);
	int rc = bucket_ends_at(&b->file, length, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED,
			       "%s: no bucket ends at the checkpoint %" PRIu64
			       "; audit and fix the file",
			       b->file.path, length);
	return rc;
}

int bucket_quick(struct buckets *b, uint64_t to, struct err *err)
{
	if (bucket_flush(b, err) < 0 ||
	    (b->mode < BUCKET_APPEND && file_size(&b->file, &b->size, err) < 0))
		return -1;
	if (to)
		return file_check_ends(b, false, err) < 0 ? -1
							  : cut_check_length(b, b->size, to, err);
	int rc = file_check_ends(b, true, err);
	/* first looked, then asked: one who began in between is seen */
	return rc < 0 && err->code == ERR_DAMAGED && bucket_grows(b)
		       ? file_check_ends(b, false, err)
		       : rc;
}

/* A failure stays with the tail, which the next append then gives up: nobody knows what is in the
 * file after the part that is known to be on disk. */
int bucket_cut(struct buckets *b, uint64_t length, uint64_t *ret_cut, struct err *err)
{
	uint64_t before;
	ENSURE(b->mode >= BUCKET_APPEND);
	if (bucket_flush(b, err) < 0 && length > b->durable)
		return -1;
	if (file_size(&b->file, &before, err) < 0 || cut_check_length(b, before, length, err) < 0)
		return -1;
	FAULT("bucket.cut");
	if (length < before && file_truncate(&b->file, length, err) < 0)
		return -1;
	b->durable = MIN(b->durable, length);
	if (file_sync(&b->file, err) < 0) {
		if (b->tail) {
			b->tail->rc = -1;
			b->tail->err = *err;
		}
		b->size = length;
		return -1;
	}
	bucket_tail_free(b);
	b->size = b->durable = length;
	if (ret_cut)
		*ret_cut = before - length;
	return 0;
}

int bucket_cut_file(const char *path, unsigned shift, uint64_t length, uint64_t *ret_cut,
		    struct err *err)
{
	struct buckets *b;
	struct stat st;
	if (stat(path, &st) != 0 && errno == ENOENT)
		return 1;
	struct bucket_options o = {.mode = BUCKET_APPEND, .shift = shift, .unchecked = true};
	int rc = bucket_open(&b, path, &o, err);
	if (rc)
		return rc;
	rc = bucket_cut(b, length, ret_cut, err);
	bucket_drop(&b);
	return rc;
}
