/* Blocks of documents, and the beginning of the files that they are in. */
#include "base/cursor.h"
#include "base/hash.h"
#include "index/docs/docstore_inner.h"

#include <inttypes.h>

/* Blocks */

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
	put_u32le(out, file->compacted);
	put_u32le(out, file->covers.file);
	put_u64le(out, file->covers.length);
	put_u64le(out, file->covers_top);
	buf_fill(out, 0, BLOCK_FILE_HEAD - 4 - (out->n - from));
	put_u32le(out, crc32c(0, out->p + from, BLOCK_FILE_HEAD - 4));
}

int block_file_head_read(struct str bytes, const char *path, struct block_file *ret,
			 struct err *err)
{
	struct reader r = reader_of(str_head(bytes, BLOCK_FILE_HEAD));
	struct block_file file = {0};
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (!r.bad && str_eq(magic, STR(BLOCK_MAGIC)) && version != BLOCK_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "%s: version %" PRIu32 ", this program knows version %d", path,
			       version, BLOCK_VERSION);
	file.number = reader_u32le(&r);
	file.salt = reader_u64le(&r);
	uint32_t kind = reader_u32le(&r);
	file.compacted = kind;
	file.covers.file = reader_u32le(&r);
	file.covers.length = reader_u64le(&r);
	file.covers_top = reader_u64le(&r);
	reader_skip(&r, BLOCK_FILE_HEAD - 4 - reader_at(&r));
	uint32_t crc = reader_u32le(&r);
	if (r.bad || !str_eq(magic, STR(BLOCK_MAGIC)) ||
	    crc != crc32c(0, bytes.p, BLOCK_FILE_HEAD - 4) || kind > 1 || file.number == 0 ||
	    file.number >= BLOCK_FILES || file.covers_top > DOCSTORE_OID_MOST)
		return err_set(err, ERR_DAMAGED, "%s: does not begin as a file of documents does",
			       path);
	*ret = file;
	return 0;
}

void block_add(struct block_maker *m, uint64_t oid, struct str text)
{
	ENSURE(!block_full(m) && (m->docs == 0 || oid > m->oid[m->docs - 1]));
	buf_add_str(&m->text, text);
	ENSURE(!m->text.over);
	m->oid[m->docs] = (uint32_t)oid;
	m->end[m->docs++] = (uint32_t)m->text.n;
}

bool block_full(const struct block_maker *m)
{
	return m->text.n >= DOCSTORE_BLOCK || m->docs == BLOCK_DOCS;
}

static void pack_frame(struct block_maker *m, struct str text)
{
	size_t bound = ZSTD_compressBound(text.n);
	char *to = buf_room(&m->out, bound);
	ENSURE(to);
	size_t n = ZSTD_compressCCtx(m->compressor, to, bound, text.p, text.n, BLOCK_LEVEL);
	ENSURE(!ZSTD_isError(n)); /* out of memory is all that is left */
	buf_grew(&m->out, n);
}

/* Long texts are several frames, so that part of one can be had without the rest. */
static size_t block_pack(struct block_maker *m)
{
	struct str left = buf_str(&m->text);
	size_t before = m->out.n;
	if (!m->compressor) {
		m->compressor = ZSTD_createCCtx();
		ENSURE(m->compressor);
	}
	do {
		pack_frame(m, str_head(left, BLOCK_FRAME));
		left = str_from(left, BLOCK_FRAME);
	} while (left.n);
	return m->out.n - before;
}

static void set_u32le(char *p, size_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(v >> 8 * i);
}

void block_seal(const struct block_file *file, uint64_t at, char *p, size_t n)
{
	uint32_t seed = block_seed(file, at);
	size_t lists_n = (size_t)(unsigned char)p[18] | (size_t)(unsigned char)p[19] << 8;
	set_u32le(p + 4, crc32c(seed, p + 8, BLOCK_HEAD - 8 + lists_n));
	set_u32le(p, crc32c(seed, p + 4, n - 4));
}

struct str block_make(struct block_maker *m, const struct block_file *file, uint64_t at)
{
	struct buf *out = &m->out;
	buf_clear(out);
	buf_fill(out, 0, BLOCK_HEAD);
	for (unsigned i = 0; i < m->docs; i++) {
		put_varint(out, m->oid[i] - (i ? m->oid[i - 1] : 0));
		put_varint(out, m->end[i] - (i ? m->end[i - 1] : 0));
	}
	size_t lists_n = out->n - BLOCK_HEAD, packed_n = block_pack(m);
	ENSURE(lists_n <= UINT16_MAX);
	set_u32le(out->p + 8, packed_n);
	set_u32le(out->p + 12, m->text.n);
	set_u32le(out->p + 16, (m->docs - 1) | lists_n << 16);
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

int block_look(struct str bytes, uint64_t at, const char *path, struct block *ret, struct err *err)
{
	if (at == bytes.n)
		return 1;
	struct reader r = reader_of(str_from(bytes, (size_t)MIN(at, bytes.n)));
	struct block b = {.at = at};
	b.checksum = reader_u32le(&r);
	b.head_checksum = reader_u32le(&r);
	uint32_t packed_n = reader_u32le(&r);
	b.text_n = reader_u32le(&r);
	b.docs = reader_u16le(&r) + 1u;
	b.lists = reader_bytes(&r, reader_u16le(&r));
	b.packed = reader_bytes(&r, packed_n);
	if (r.bad || at < BLOCK_FILE_HEAD || at > bytes.n)
		return block_damaged(path, at, "it goes past the end of the file", err);
	b.next = at + reader_at(&r);
	*ret = b;
	return 0;
}

/* The checksum of all of it, or only that of its head. */
static int block_checked(const struct block_file *file, struct str bytes, uint64_t at, bool all,
			 const char *path, struct block *ret, struct err *err)
{
	struct block b;
	int rc = block_look(bytes, at, path, &b, err);
	if (rc != 0)
		return rc;
	uint32_t seed = block_seed(file, at);
	size_t head = BLOCK_HEAD - 8 + b.lists.n;
	if (all && b.checksum != crc32c(seed, bytes.p + at + 4, (size_t)(b.next - at) - 4))
		return block_damaged(path, at, "its checksum is wrong", err);
	if (!all && b.head_checksum != crc32c(seed, bytes.p + at + 8, head))
		return block_damaged(path, at, "the checksum of its head is wrong", err);
	if (b.docs > BLOCK_DOCS || b.text_n > BLOCK_TEXT_MOST)
		return block_damaged(path, at, "its numbers are out of bounds", err);
	*ret = b;
	return 0;
}

int block_read(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
	       struct block *ret, struct err *err)
{
	return block_checked(file, bytes, at, true, path, ret, err);
}

int block_read_head(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
		    struct block *ret, struct err *err)
{
	return block_checked(file, bytes, at, false, path, ret, err);
}

struct block_docs block_docs_of(const struct block *b)
{
	return (struct block_docs){.r = reader_of(b->lists), .docs = b->docs, .text_n = b->text_n};
}

int block_docs_next(struct block_docs *d, struct block_doc *ret)
{
	if (d->at == d->docs)
		return d->from == d->text_n && reader_left(&d->r) == 0 ? 1 : -1;
	uint64_t step = reader_varint(&d->r), n = reader_varint(&d->r);
	if (d->r.bad || step == 0 || step > DOCSTORE_OID_MOST - d->oid || n > d->text_n - d->from)
		return -1;
	d->oid += step;
	*ret = (struct block_doc){d->oid, (size_t)d->from, (size_t)n, d->at++};
	d->from += n;
	return 0;
}

bool block_slot(const struct block *b, unsigned slot, struct block_doc *ret)
{
	struct block_docs d = block_docs_of(b);
	struct block_doc doc = {0};
	if (slot >= b->docs)
		return false;
	do
		if (block_docs_next(&d, &doc) != 0)
			return false;
	while (doc.slot < slot);
	*ret = doc;
	return true;
}

int block_lists_damaged(const char *path, uint64_t at, struct err *err)
{
	return block_damaged(path, at, "its list of documents is not what it says", err);
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

/* Unpacks a frame and copies what of it is wanted: bytes `from` on of its text. */
static int unpack_frame(const struct block *b, ZSTD_DCtx *d, struct str frame, size_t text_n,
			size_t from, struct str to, const char *path, struct err *err)
{
	char *text = mem_alloc(MAX(text_n, (size_t)1));
	size_t n = ZSTD_decompressDCtx(d, text, text_n, frame.p, frame.n);
	int rc = 0;
	if (ZSTD_isError(n) || n != text_n)
		rc = block_damaged(path, b->at, "a frame of it cannot be unpacked", err);
	else
		memcpy((char *)to.p, text + from, to.n);
	mem_free(&text);
	return rc;
}

int block_unpack_part(const struct block *b, ZSTD_DCtx *decompressor, size_t from, size_t n,
		      char *to, const char *path, struct err *err)
{
	struct str packed = b->packed;
	size_t at = 0; /* of the frame's text in the block's */
	while (n) {
		size_t frame_n = ZSTD_findFrameCompressedSize(packed.p, packed.n);
		unsigned long long text_n = ZSTD_getFrameContentSize(packed.p, packed.n);
		if (ZSTD_isError(frame_n) || text_n > b->text_n - at || text_n == 0)
			return block_damaged(path, b->at, "its frames are not what it says", err);
		size_t here = from < at + text_n ? MIN(n, at + (size_t)text_n - from) : 0;
		if (here && unpack_frame(b, decompressor, str_head(packed, frame_n), (size_t)text_n,
					 from - at, (struct str){to, here}, path, err) < 0)
			return -1;
		to += here;
		from += here;
		n -= here;
		at += (size_t)text_n;
		packed = str_from(packed, frame_n);
	}
	return 0;
}
