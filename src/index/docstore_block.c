#include "index/docstore_block.h"

#include "base/cursor.h"
#include "base/hash.h"

#include <inttypes.h>

/* A file's own beginning, and a block's own place, go into the checksums: bytes that belong
 * elsewhere do not pass. */
static uint32_t block_seed(const struct block_file *file, uint64_t at)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(20);
	put_u64le(&b, file->salt);
	put_u32le(&b, file->number);
	put_u64le(&b, at);
	return crc32c(0, b.p, b.n);
}

void block_file_head_make(const struct block_file *file, struct buf *out)
{
	size_t from = out->n;
	buf_add(out, BLOCK_MAGIC, FORMAT_MAGIC);
	put_u32le(out, BLOCK_VERSION);
	put_u32le(out, file->number);
	put_u64le(out, file->salt);
	put_u32le(out, 0);
	put_u32le(out, crc32c(0, out->p + from, BLOCK_FILE_HEAD - 4));
}

int block_file_head_read(struct str bytes, const char *path, struct block_file *ret,
			 struct err *err)
{
	struct reader r = reader_of(bytes);
	struct block_file file = {0};
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	file.number = reader_u32le(&r);
	file.salt = reader_u64le(&r);
	uint32_t zero = reader_u32le(&r), crc = reader_u32le(&r);
	if (r.bad || !str_eq(magic, STR(BLOCK_MAGIC)) ||
	    crc != crc32c(0, bytes.p, BLOCK_FILE_HEAD - 4) || zero != 0 || file.number == 0 ||
	    file.number >= BLOCK_FILES)
		return err_set(err, ERR_DAMAGED, "%s: does not begin as a file of documents does",
			       path);
	if (version != BLOCK_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "%s: version %" PRIu32 ", this program knows version %d", path,
			       version, BLOCK_VERSION);
	*ret = file;
	return 0;
}

void block_add(struct block_maker *m, struct str text)
{
	ENSURE(!block_full(m));
	buf_add_str(&m->text, text);
	ENSURE(!m->text.over);
	m->end[m->docs++] = (uint32_t)m->text.n;
}

bool block_full(const struct block_maker *m)
{
	return m->text.n >= DOCSTORE_BLOCK || m->docs == BLOCK_DOCS;
}

static size_t block_pack(struct block_maker *m)
{
	size_t bound = ZSTD_compressBound(m->text.n);
	char *to = buf_room(&m->out, bound);
	ENSURE(to);
	if (!m->compressor) {
		m->compressor = ZSTD_createCCtx();
		ENSURE(m->compressor);
	}
	size_t n = ZSTD_compressCCtx(m->compressor, to, bound, buf_str(&m->text).p, m->text.n,
				     BLOCK_LEVEL);
	ENSURE(!ZSTD_isError(n)); /* out of memory is all that is left */
	buf_grew(&m->out, n);
	return n;
}

static void set_u32le(char *p, size_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(v >> 8 * i);
}

void block_seal(const struct block_file *file, uint64_t at, char *p, size_t n)
{
	set_u32le(p, crc32c(block_seed(file, at), p + 4, n - 4));
}

struct str block_make(struct block_maker *m, const struct block_file *file, uint64_t at)
{
	struct buf *out = &m->out;
	buf_clear(out);
	buf_fill(out, 0, BLOCK_HEAD);
	for (unsigned i = 0; i < m->docs; i++)
		put_varint(out, m->end[i] - (i ? m->end[i - 1] : 0));
	size_t lengths_n = out->n - BLOCK_HEAD, packed_n = block_pack(m);
	set_u32le(out->p + 4, packed_n);
	set_u32le(out->p + 8, m->text.n);
	set_u32le(out->p + 12, (m->docs - 1) | lengths_n << 16);
	block_seal(file, at, out->p, out->n);
	return buf_str(out);
}

void block_clear(struct block_maker *m)
{
	buf_clear(&m->text);
	m->docs = 0;
}

void block_maker_free(struct block_maker *m)
{
	buf_free(&m->text);
	buf_free(&m->out);
	ZSTD_freeCCtx(m->compressor);
	m->compressor = NULL;
	m->docs = 0;
}

static int block_damaged(const char *path, uint64_t at, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: the block of documents at byte %" PRIu64
		       " is damaged: %s; fetch its documents again",
		       path, at, what);
}

int block_read(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
	       struct block *ret, struct err *err)
{
	if (at == bytes.n)
		return 1;
	struct reader r = reader_of(str_from(bytes, (size_t)at));
	struct block b = {.at = at};
	uint32_t crc = reader_u32le(&r), packed_n = reader_u32le(&r);
	b.text_n = reader_u32le(&r);
	b.docs = reader_u16le(&r) + 1u;
	b.lengths = reader_bytes(&r, reader_u16le(&r));
	b.packed = reader_bytes(&r, packed_n);
	if (r.bad || at < BLOCK_FILE_HEAD || at > bytes.n)
		return block_damaged(path, at, "it goes past the end of the file", err);
	b.next = at + reader_at(&r);
	if (crc != crc32c(block_seed(file, at), bytes.p + at + 4, (size_t)(b.next - at) - 4))
		return block_damaged(path, at, "its checksum is wrong", err);
	if (b.docs > BLOCK_DOCS || b.text_n > BLOCK_TEXT_MOST)
		return block_damaged(path, at, "its numbers are out of bounds", err);
	*ret = b;
	return 0;
}

bool block_slot(const struct block *b, unsigned slot, size_t *ret_from, size_t *ret_n)
{
	struct reader r = reader_of(b->lengths);
	uint64_t from = 0, n = 0;
	if (slot >= b->docs)
		return false;
	for (unsigned i = 0; i <= slot; i++) {
		from += n;
		n = reader_varint(&r);
		if (r.bad || n > b->text_n - from)
			return false;
	}
	*ret_from = (size_t)from;
	*ret_n = (size_t)n;
	return true;
}

int block_unpack(const struct block *b, ZSTD_DCtx *decompressor, char *to, const char *path,
		 struct err *err)
{
	size_t n = ZSTD_decompressDCtx(decompressor, to, b->text_n, b->packed.p, b->packed.n);
	if (ZSTD_isError(n))
		return block_damaged(path, b->at, ZSTD_getErrorName(n), err);
	if (n != b->text_n)
		return block_damaged(path, b->at, "it has less text than it says", err);
	return 0;
}
