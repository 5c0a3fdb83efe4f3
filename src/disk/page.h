/* Paged files: large files that are written once, mapped and read in place. Bytes lie one after
 * the other from the beginning of the file, so that slices of any length point into the map; after
 * them comes a table with a checksum for each 16 KiB. A page is verified when it is first touched.
 * Bytes that cannot be read any more (the disk fails, somebody cut the file) are an error, not a
 * SIGBUS: a reader sees zeroes there and hears of it from page_get() or page_check(). Layout:
 * doc/paged-files.md. */
#pragma once
#include "disk/stream.h"

enum { PAGE_SIZE = 16 << 10 };

/* A writer; the first error is kept and said by page_finish(). */
struct page_writer {
	struct stream_writer out;
	uint64_t n;       /* bytes put */
	uint32_t crc;     /* of the current page, so far */
	struct buf table; /* of those before */
};

int page_create(struct page_writer *ret, const char *path, mode_t mode,
		const struct stream_options *options, struct err *err);
void page_put(struct page_writer *w, const void *p, size_t n);
int page_finish(struct page_writer *w, bool sync, struct err *err);
void page_drop(struct page_writer *w); /* ends without caring; also an ended one */
/* Ends a file that has to consist of just the bytes that were put: no zeroes, no table. The
 * checksums, a u32 for each page, go to *ret_table; another file has to keep them. */
int page_finish_plain(struct page_writer *w, bool sync, struct buf *ret_table, struct err *err);

/* A reader, for any number of threads. */
struct page_file;

/* Maps a file. 1: it does not exist. ERR_DAMAGED: it is none, or cut, or its table is damaged. */
int page_open(struct page_file **ret, const char *path, struct err *err);
/* One that was ended plainly. table: the checksums of its pages, which stay the caller's and
 * outlive the file; NULL: nobody knows them, and nothing is verified. ERR_DAMAGED: it does not have
 * just `bytes`. */
int page_open_plain(struct page_file **ret, const char *path, uint64_t bytes, const void *table,
		    struct err *err);
void page_close(struct page_file **f);
uint64_t page_bytes(const struct page_file *f); /* that were put */
/* The checksum of the table of checksums: two files of the same bytes have the same, others do not.
 * 0 of a plain one. */
uint32_t page_sum(const struct page_file *f);
/* Checksums that a file of so many bytes has. */
static inline uint64_t page_count(uint64_t bytes)
{
	return (bytes + PAGE_SIZE - 1) / PAGE_SIZE;
}

/* A slice of the file. ERR_DAMAGED: it is not inside, or a page of it is damaged; err names it. */
int page_get(struct page_file *f, uint64_t from, size_t n, struct str *ret, struct err *err);
/* Whether all that was read so far could be read. To be asked before what was made of slices is
 * given to anybody. */
int page_check(const struct page_file *f, struct err *err);
/* Of one that reads a file through once: what was touched so far need not stay in memory, unless
 * others have it mapped too. It can still be read, from the disk. */
void page_forget(struct page_file *f);
/* A slice will be wanted soon: reads it in, in the background. */
void page_want(struct page_file *f, uint64_t from, uint64_t n);
/* Verifies all pages. */
int page_verify(struct page_file *f, struct err *err);
