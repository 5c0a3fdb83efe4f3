/* Inside of the document store: files of blocks and the blocks in them, as doc/formats/docstore.md
 * describes them. An address is file, place of the block in the file, number in the block. */
#pragma once
#include "base/file.h"
#include "index/docstore.h"

#include <zstd.h>

enum {
	BLOCK_VERSION = 1,
	BLOCK_FILE_HEAD = 32, /* bytes before the first block of a file */
	BLOCK_HEAD = 16,      /* bytes of a block before its lengths */
	BLOCK_DOCS = 4096,    /* in one block */
	BLOCK_TEXT_MOST = DOCSTORE_DOC_MOST + DOCSTORE_BLOCK,
	BLOCK_FILE_FULL = 512 << 20, /* bytes after which a new file is begun */
	BLOCK_FILES = 1 << 22,       /* file numbers are 1 to one less */
	BLOCK_LEVEL = 3,             /* of zstd: half the time of 5 for 4 percent more bytes */
};

#define BLOCK_MAGIC "GARNERDO"

static inline struct docaddr block_addr(uint32_t file, uint64_t at, unsigned slot)
{
	return (struct docaddr){(uint64_t)file << 42 | at << 12 | slot};
}
static inline uint32_t block_addr_file(struct docaddr a)
{
	return (uint32_t)(a.v >> 42);
}
static inline uint64_t block_addr_at(struct docaddr a)
{
	return a.v >> 12 & ((UINT64_C(1) << 30) - 1);
}
static inline unsigned block_addr_slot(struct docaddr a)
{
	return (unsigned)(a.v & 0xfff);
}

/* What identifies a file of blocks; all its checksums begin with it. */
struct block_file {
	uint32_t number;
	uint64_t salt;
};

void block_file_head_make(const struct block_file *file, struct buf *out);
/* ERR_DAMAGED. */
int block_file_head_read(struct str bytes, const char *path, struct block_file *ret,
			 struct err *err);

/* Making: the documents of one block as they come. */
struct block_maker {
	struct buf text;          /* one behind the other */
	uint32_t end[BLOCK_DOCS]; /* where each ends in it */
	unsigned docs;
	ZSTD_CCtx *compressor; /* made at first need */
	struct buf out;        /* what block_make() made */
};

#define BLOCK_MAKER_INIT                                         \
	((struct block_maker){.text = BUF_INIT(BLOCK_TEXT_MOST), \
			      .out = BUF_INIT((size_t)BLOCK_TEXT_MOST * 2)})

/* There must be room: block_full() is false. */
void block_add(struct block_maker *m, struct str text);
bool block_full(const struct block_maker *m);
/* The bytes of the block for this place, good until the next call. */
struct str block_make(struct block_maker *m, const struct block_file *file, uint64_t at);
/* Sets the checksum of the bytes of one. */
void block_seal(const struct block_file *file, uint64_t at, char *p, size_t n);
void block_clear(struct block_maker *m);
void block_maker_free(struct block_maker *m);

/* Reading: what a block says of itself. */
struct block {
	uint64_t at, next; /* where it begins, and the one behind it */
	uint32_t text_n;
	unsigned docs;
	struct str lengths; /* varints, as many as documents */
	struct str packed;
};

/* The block at this place of the file's bytes (all that count). 1: `at` is their end.
 * ERR_DAMAGED: there is none, or its checksum is wrong. */
int block_read(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
	       struct block *ret, struct err *err);
/* Where a document lies in the text. false: there is none of this number. */
bool block_slot(const struct block *b, unsigned slot, size_t *ret_from, size_t *ret_n);
/* The whole text, into b->text_n bytes of room. ERR_DAMAGED. */
int block_unpack(const struct block *b, ZSTD_DCtx *decompressor, char *to, const char *path,
		 struct err *err);
