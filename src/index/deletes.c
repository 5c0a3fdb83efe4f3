/* Files of deletes: magic, version, number of documents, number of those deleted, then a bit for
 * each document or, where that is shorter, the numbers of the deleted ones; CRC-32C of all. */
#include "base/cursor.h"
#include "base/hash.h"
#include "index/manifest.h"
#include "index/segment_layout.h"

#include <fcntl.h>
#include <inttypes.h>

enum { DELETES_HEAD = FORMAT_MAGIC + 4 + 4 + 4, DELETES_CRC = 4 };

static const size_t deletes_bytes_most = DELETES_HEAD + SEGMENT_DOCS_MOST / 8 + 8 + DELETES_CRC;

static uint32_t count_bits(const uint64_t *bits, uint32_t docs)
{
	uint32_t n = 0;
	for (size_t i = 0; i < deletes_words(docs); i++)
		n += (uint32_t)__builtin_popcountll(bits[i]);
	return n;
}

static bool as_numbers(uint32_t docs, uint32_t deleted)
{
	return (uint64_t)deleted * 4 < deletes_words(docs) * 8;
}

static int deletes_write_new(const char *path, struct str bytes, struct err *err)
{
	struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, err);
	if (rc == 0)
		rc = file_write(&f, bytes.p, bytes.n, 0, err);
	if (rc == 0)
		rc = file_sync(&f, err);
	if (rc == 0)
		rc = file_close(&f, err);
	file_drop(&f);
	return rc;
}

int deletes_write(const char *path, const uint64_t *bits, uint32_t docs, struct err *err)
{
	struct buf b = BUF_INIT(deletes_bytes_most);
	uint32_t deleted = count_bits(bits, docs);
	buf_add_text(&b, DELETES_MAGIC);
	put_u32le(&b, DELETES_VERSION);
	put_u32le(&b, docs);
	put_u32le(&b, deleted);
	for (size_t i = 0; i < deletes_words(docs); i++) {
		if (!as_numbers(docs, deleted)) {
			put_u64le(&b, bits[i]);
			continue;
		}
		for (uint64_t word = bits[i]; word; word &= word - 1)
			put_u32le(&b, (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(word)));
	}
	put_u32le(&b, crc32c(0, b.p, b.n));
	int rc = deletes_write_new(path, buf_str(&b), err);
	buf_free(&b);
	return rc;
}

/* The head: its numbers. */
static bool deletes_parse_head(struct str bytes, uint32_t *ret_docs, uint32_t *ret_deleted)
{
	if (bytes.n < DELETES_HEAD + DELETES_CRC)
		return false;
	struct reader tail = reader_of(str_from(bytes, bytes.n - DELETES_CRC));
	struct reader r = reader_of(bytes);
	if (reader_u32le(&tail) != crc32c(0, bytes.p, bytes.n - DELETES_CRC) ||
	    !str_is(reader_bytes(&r, FORMAT_MAGIC), DELETES_MAGIC) ||
	    reader_u32le(&r) != DELETES_VERSION)
		return false;
	*ret_docs = reader_u32le(&r);
	*ret_deleted = reader_u32le(&r);
	return *ret_docs <= SEGMENT_DOCS_MOST && *ret_deleted <= *ret_docs;
}

static bool deletes_parse_bits(struct str bytes, uint32_t docs, uint32_t deleted, uint64_t *bits)
{
	struct reader r = reader_of(str_head(bytes, bytes.n - DELETES_CRC));
	reader_skip(&r, DELETES_HEAD);
	for (size_t i = 0; !as_numbers(docs, deleted) && i < deletes_words(docs); i++)
		bits[i] = reader_u64le(&r);
	for (uint32_t i = 0; as_numbers(docs, deleted) && i < deleted; i++) {
		uint32_t doc = reader_u32le(&r);
		if (doc >= docs)
			return false;
		bits[doc / 64] |= UINT64_C(1) << doc % 64;
	}
	bool beyond = docs % 64 && bits[docs / 64] >> docs % 64;
	return !r.bad && !reader_left(&r) && !beyond && count_bits(bits, docs) == deleted;
}

static int deletes_read_bits(const char *path, uint32_t *ret_docs, uint32_t *ret_deleted,
			     uint64_t **ret, struct err *err)
{
	struct buf b = BUF_INIT(deletes_bytes_most);
	uint64_t *bits = NULL;
	int rc = file_slurp(path, &b, err);
	bool good = rc == 0 && deletes_parse_head(buf_str(&b), ret_docs, ret_deleted);
	if (good) {
		bits = mem_array(deletes_words(*ret_docs) + 1, sizeof *bits);
		good = deletes_parse_bits(buf_str(&b), *ret_docs, *ret_deleted, bits);
	}
	if (rc == 0 && !good)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: it is no list of deletes, or damaged; the index has to be built "
			     "again",
			     path);
	buf_free(&b);
	if (rc == 0)
		*ret = bits;
	else
		mem_free(&bits);
	return rc;
}

int deletes_read(const char *path, uint32_t docs, uint32_t deleted, uint64_t **ret, struct err *err)
{
	uint32_t has_docs, has_deleted;
	uint64_t *bits;
	int rc = deletes_read_bits(path, &has_docs, &has_deleted, &bits, err);
	if (rc != 0)
		return rc;
	if (has_docs != docs || has_deleted != deleted) {
		mem_free(&bits);
		return err_set(err, ERR_DAMAGED,
			       "%s: %" PRIu32 " of %" PRIu32
			       " documents, the manifest says %" PRIu32 " of %" PRIu32
			       "; the index has to be built again",
			       path, has_deleted, has_docs, deleted, docs);
	}
	*ret = bits;
	return 0;
}

int deletes_read_any(const char *path, uint32_t *ret_docs, uint64_t **ret, struct err *err)
{
	uint32_t deleted;
	return deletes_read_bits(path, ret_docs, &deleted, ret, err);
}
