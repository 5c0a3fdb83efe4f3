/* Paged files: the checksums stand apart from the pages, in a table at the end, so that what is
 * mapped is contiguous. A page is verified when it is first touched, and a bit remembers it: later
 * readers pay one load. */
#include "disk/page.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "disk/map_guard.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
	VERSION = 1,
	ENTRY = 4,    /* bytes in the table per page */
	TRAILER = 32, /* bytes at the end of the file */
};
static const char magic[8] = {'G', 'R', 'N', 'P', 'A', 'G', 'E', 'S'};

/* Files end where 2^48 bytes were put: 64 GiB of checksums. */
static const uint64_t most_bytes = (uint64_t)1 << 48;

int page_create(struct page_writer *ret, const char *path, mode_t mode,
		const struct stream_options *options, struct err *err)
{
	struct page_writer w = {.table = BUF_INIT((size_t)page_count(most_bytes) * ENTRY)};
	if (stream_create(&w.out, path, mode, options, err) < 0)
		return -1;
	*ret = w;
	return 0;
}

void page_put(struct page_writer *w, const void *p, size_t n)
{
	const char *from = p;
	while (n) {
		size_t part = MIN(n, PAGE_SIZE - (size_t)(w->n % PAGE_SIZE));
		w->crc = crc32c(w->crc, from, part);
		stream_put(&w->out, from, part);
		w->n += part;
		from += part;
		n -= part;
		if (w->n % PAGE_SIZE == 0) {
			put_u32le(&w->table, w->crc);
			w->crc = 0;
		}
	}
}

static void trailer_put(struct page_writer *w, uint64_t bytes)
{
	struct buf t = BUF_INIT(TRAILER);
	buf_add(&t, magic, sizeof magic);
	put_u32le(&t, VERSION);
	put_u32le(&t, PAGE_SIZE);
	put_u64le(&t, bytes);
	put_u32le(&t, crc32c(0, buf_str(&w->table).p, w->table.n));
	put_u32le(&t, crc32c(0, t.p, t.n));
	stream_put(&w->out, t.p, t.n);
	buf_free(&t);
}

int page_finish(struct page_writer *w, bool sync, struct err *err)
{
	static const char zeroes[PAGE_SIZE];
	uint64_t bytes = w->n;
	if (bytes % PAGE_SIZE)
		page_put(w, zeroes, PAGE_SIZE - (size_t)(bytes % PAGE_SIZE));
	int rc = 0;
	if (w->table.over || bytes > most_bytes) {
		rc = err_set(err, ERR_USAGE, "a paged file cannot have %" PRIu64 " bytes", bytes);
	} else {
		stream_put(&w->out, w->table.p, w->table.n);
		trailer_put(w, bytes);
		rc = stream_finish(&w->out, sync, err);
	}
	page_drop(w);
	return rc;
}

int page_finish_plain(struct page_writer *w, bool sync, struct buf *ret_table, struct err *err)
{
	if (w->n % PAGE_SIZE)
		put_u32le(&w->table, w->crc);
	int rc = 0;
	if (w->table.over || w->n > most_bytes)
		rc = err_set(err, ERR_USAGE, "a paged file cannot have %" PRIu64 " bytes", w->n);
	else
		rc = stream_finish(&w->out, sync, err);
	if (rc == 0) {
		*ret_table = w->table;
		w->table = (struct buf){0};
	}
	page_drop(w);
	return rc;
}

void page_drop(struct page_writer *w)
{
	stream_drop(&w->out);
	buf_free(&w->table);
}

struct page_file {
	char *path;
	char *map;
	size_t size; /* of the map */
	uint64_t bytes, pages;
	const unsigned char *table; /* in the map, or of a plain file the caller's; NULL: none */
	uint32_t table_crc;
	bool plain; /* without zeroes at the end of its last page */
	struct map_guard *guard;
	_Atomic(uint64_t) *seen; /* a bit per page that was verified */
};

struct trailer {
	uint64_t bytes;
	uint32_t table_crc;
};

static int page_damaged(const char *path, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %s; the file has to be made again", path, what);
}

static int trailer_parse(const char *path, struct str s, uint64_t size, struct trailer *ret,
			 struct err *err)
{
	struct reader r = reader_of(s);
	struct trailer t;
	if (memcmp(reader_bytes(&r, sizeof magic).p, magic, sizeof magic) != 0)
		return page_damaged(path, "it does not end as a paged file does", err);
	uint32_t version = reader_u32le(&r), page = reader_u32le(&r);
	t.bytes = reader_u64le(&r);
	t.table_crc = reader_u32le(&r);
	if (reader_u32le(&r) != crc32c(0, s.p, TRAILER - ENTRY))
		return page_damaged(path, "the checksum of its last 32 bytes is wrong", err);
	if (version != VERSION || page != PAGE_SIZE)
		return err_set(err, ERR_USAGE,
			       "%s: version %" PRIu32 " with pages of %" PRIu32
			       " bytes, this program knows version %d with %d",
			       path, version, page, VERSION, PAGE_SIZE);
	if (t.bytes > most_bytes || size != page_count(t.bytes) * (PAGE_SIZE + ENTRY) + TRAILER)
		return page_damaged(path, "its length does not fit its last 32 bytes", err);
	*ret = t;
	return 0;
}

static int trailer_read(const struct file *file, uint64_t *ret_size, struct trailer *ret,
			struct err *err)
{
	char bytes[TRAILER];
	size_t got;
	if (file_size(file, ret_size, err) < 0)
		return -1;
	if (*ret_size < TRAILER)
		return page_damaged(file->path, "it is too short for a paged file", err);
	if (file_read(file, bytes, TRAILER, *ret_size - TRAILER, &got, err) < 0)
		return -1;
	if (got < TRAILER)
		return page_damaged(file->path, "it was cut while it was opened", err);
	return trailer_parse(file->path, (struct str){bytes, TRAILER}, *ret_size, ret, err);
}

static int page_map(struct page_file *f, const struct file *file, struct err *err)
{
	void *p = mmap(NULL, f->size, PROT_READ, MAP_SHARED, file->fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, "%s: map of %zu bytes", f->path, f->size);
	f->map = p;
	f->guard = map_guard_new(p, f->size);
	f->seen = mem_array((size_t)f->pages / 64 + 1, sizeof *f->seen);
	return 0;
}

static int page_open_file(struct page_file *f, const struct file *file, struct err *err)
{
	uint64_t size = 0;
	struct trailer t = {0};
	if (trailer_read(file, &size, &t, err) < 0)
		return -1;
	f->size = (size_t)size;
	f->bytes = t.bytes;
	f->pages = page_count(t.bytes);
	f->table_crc = t.table_crc;
	if (page_map(f, file, err) < 0)
		return -1;
	f->table = (const unsigned char *)f->map + f->pages * PAGE_SIZE;
	if (crc32c(0, f->table, (size_t)f->pages * ENTRY) != t.table_crc)
		return page_damaged(f->path, "its table of checksums is damaged", err);
	return page_check(f, err);
}

static int page_open_bare(struct page_file *f, const struct file *file, struct err *err)
{
	uint64_t size;
	if (file_size(file, &size, err) < 0)
		return -1;
	if (size != f->bytes || size > most_bytes)
		return err_set(err, ERR_DAMAGED,
			       "%s: it has %" PRIu64 " bytes where %" PRIu64 " were written",
			       f->path, size, f->bytes);
	f->size = (size_t)size;
	f->pages = page_count(size);
	int rc = size ? page_map(f, file, err) : 0;
	for (uint64_t i = 0; rc == 0 && size && !f->table && i <= f->pages / 64; i++)
		atomic_init(&f->seen[i], UINT64_MAX);
	return rc;
}

/* like: what is known of it. */
static int page_open_as(struct page_file **ret, const char *path, const struct page_file *like,
			struct err *err)
{
	struct file file = FILE_INIT;
	int rc = file_open(&file, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	struct page_file *f = mem_alloc(sizeof *f);
	*f = *like;
	f->path = mem_text(path);
	rc = f->plain ? page_open_bare(f, &file, err) : page_open_file(f, &file, err);
	file_drop(&file);
	if (rc < 0)
		page_close(&f);
	else
		*ret = f;
	return rc;
}

int page_open(struct page_file **ret, const char *path, struct err *err)
{
	return page_open_as(ret, path, &(struct page_file){0}, err);
}

int page_open_plain(struct page_file **ret, const char *path, uint64_t bytes, const void *table,
		    struct err *err)
{
	const struct page_file like = {.plain = true, .table = table, .bytes = bytes};
	return page_open_as(ret, path, &like, err);
}

void page_close(struct page_file **fp)
{
	struct page_file *f = *fp;
	if (!f)
		return;
	map_guard_free(&f->guard);
	if (f->map)
		(void)munmap(f->map, f->size);
	mem_free(&f->seen);
	mem_free(&f->path);
	mem_free(fp);
}

uint64_t page_bytes(const struct page_file *f)
{
	return f->bytes;
}

uint32_t page_sum(const struct page_file *f)
{
	return f->table_crc;
}

int page_check(const struct page_file *f, struct err *err)
{
	if (LIKELY(!f->guard || !map_guard_failed(f->guard)))
		return 0;
	return err_set(
		err, ERR_DAMAGED,
		"%s: part of it cannot be read any more; look for errors of the disk, or for "
		"what cut it",
		f->path);
}

static uint32_t page_wanted(const struct page_file *f, uint64_t page)
{
	struct reader r = reader_of((struct str){(const char *)f->table + page * ENTRY, ENTRY});
	return reader_u32le(&r);
}

static int page_verify_one(struct page_file *f, uint64_t page, struct err *err)
{
	uint64_t n = f->plain ? MIN(f->bytes - page * PAGE_SIZE, (uint64_t)PAGE_SIZE) : PAGE_SIZE;
	uint32_t got = crc32c(0, f->map + page * PAGE_SIZE, (size_t)n);
	uint32_t want = f->table ? page_wanted(f, page) : got;
	if (page_check(f, err) < 0)
		return -1;
	if (got != want)
		return err_set(err, ERR_DAMAGED,
			       "%s: page %" PRIu64 " (byte %" PRIu64
			       ") is damaged: checksum %08" PRIx32 ", not %08" PRIx32,
			       f->path, page, page * PAGE_SIZE, got, want);
	atomic_fetch_or_explicit(&f->seen[page / 64], (uint64_t)1 << page % 64,
				 memory_order_relaxed);
	return 0;
}

static inline bool page_seen(const struct page_file *f, uint64_t page)
{
	return atomic_load_explicit(&f->seen[page / 64], memory_order_relaxed) >> page % 64 & 1;
}

int page_get(struct page_file *f, uint64_t from, size_t n, struct str *ret, struct err *err)
{
	if (from > f->bytes || n > f->bytes - from)
		return err_set(err, ERR_DAMAGED,
			       "%s: %zu bytes at %" PRIu64 " are wanted, it has %" PRIu64, f->path,
			       n, from, f->bytes);
	for (uint64_t page = from / PAGE_SIZE; n && page <= (from + n - 1) / PAGE_SIZE; page++)
		if (UNLIKELY(!page_seen(f, page)) && page_verify_one(f, page, err) < 0)
			return -1;
	if (page_check(f, err) < 0)
		return -1;
	*ret = (struct str){f->map ? f->map + from : "", n};
	return 0;
}

/* Pages that somebody else has mapped are passed over by the system: what queries read stays. */
void page_forget(struct page_file *f)
{
	if (f->map)
		(void)madvise(f->map, f->size, MADV_PAGEOUT);
}

void page_want(struct page_file *f, uint64_t from, uint64_t n)
{
	if (!f->map || from > f->bytes || n > f->bytes - from)
		return;
	size_t skip = (size_t)from % PAGE_SIZE;
	(void)madvise(f->map + (from - skip), (size_t)n + skip, MADV_WILLNEED);
}

int page_verify(struct page_file *f, struct err *err)
{
	for (uint64_t page = 0; page < f->pages; page++)
		if (page_verify_one(f, page, err) < 0)
			return -1;
	return 0;
}
