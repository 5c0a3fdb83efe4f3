/* The document store's bytes. The first byte of the input says what the others are: 0 a file of
 * blocks after its head; 1 the same with checksums that are set right, so that what is behind them
 * is reached; 2 a copy of a table's state; 3 documents, each with two bytes of length before it,
 * which are made into a block.
 *
 * Whatever it is: reading ends, every document lies within its block, oids ascend, and a block
 * gives back what went into it. */
#include "base/cursor.h"
#include "index/docs/docstore_inner.h"

static const struct block_file file = {.number = 3, .salt = 0x1122334455667788};

static void look_at(const struct block *b)
{
	struct block_docs docs = block_docs_of(b);
	struct block_doc doc, same;
	uint64_t sum = 0, oid = 0;
	int rc;
	while ((rc = block_docs_next(&docs, &doc)) == 0) {
		ENSURE(doc.from == sum && doc.n <= b->text_n - doc.from && doc.oid > oid);
		ENSURE(doc.slot > 64 || (block_slot(b, doc.slot, &same) && same.oid == doc.oid));
		sum = doc.from + doc.n;
		oid = doc.oid;
	}
	ENSURE(rc < 0 || sum == b->text_n);
	ENSURE(!block_slot(b, b->docs, &doc));
}

static void mend(struct buf *bytes, uint64_t at)
{
	struct reader r = reader_of(str_from(buf_str(bytes), (size_t)at));
	reader_skip(&r, 8);
	uint64_t packed = reader_u32le(&r);
	reader_skip(&r, 6);
	uint64_t lists = reader_u16le(&r);
	if (r.bad || packed + lists > reader_left(&r))
		return;
	block_seal(&file, at, bytes->p + at, (size_t)(BLOCK_HEAD + packed + lists));
}

static void read_blocks(struct str body, bool mended)
{
	struct buf bytes = BUF_INIT((size_t)1 << 24);
	struct block b;
	struct err err;
	int rc;
	block_file_head_make(&file, &bytes);
	buf_add_str(&bytes, body);
	ZSTD_DCtx *d = ZSTD_createDCtx();
	for (uint64_t at = BLOCK_FILE_HEAD;; at = b.next) {
		if (mended)
			mend(&bytes, at);
		rc = block_read(&file, buf_str(&bytes), at, "fuzz", &b, &err);
		if (rc != 0)
			break;
		ENSURE(b.next > at && b.next <= bytes.n && b.docs && b.docs <= BLOCK_DOCS);
		look_at(&b);
		if (b.text_n > 1 << 20)
			continue;
		char *text = mem_alloc(b.text_n + 1u);
		rc = block_unpack(&b, d, text, "fuzz", &err);
		ENSURE(rc == 0 || err.code == ERR_DAMAGED);
		mem_free(&text);
	}
	ENSURE(rc == 1 || (err.code == ERR_DAMAGED && err.msg[0]));
	ZSTD_freeDCtx(d);
	buf_free(&bytes);
}

/* 1: there is no more. */
static int next_piece(struct reader *in, struct str *ret)
{
	size_t n = reader_u16le(in);
	if (in->bad)
		return 1;
	*ret = reader_bytes(in, MIN(n, reader_left(in)));
	return 0;
}

static void read_state(struct str bytes)
{
	struct table_state s = {0};
	uint64_t generation;
	if (!table_state_parse(bytes, &generation, &s))
		return;
	ENSURE(s.top <= DOCSTORE_OID_MOST && s.mark.file < BLOCK_FILES);
	for (size_t i = 0; i < s.files; i++)
		ENSURE(s.file[i].number && s.file[i].number < BLOCK_FILES);
	table_state_free(&s);
}

static void make_block(struct reader *in)
{
	struct block_maker m = BLOCK_MAKER_INIT;
	struct buf bytes = BUF_INIT((size_t)1 << 26);
	struct block b;
	struct err err;
	struct str doc;
	uint64_t oid = 0;
	while (!block_full(&m) && next_piece(in, &doc) == 0)
		block_add(&m, oid += doc.n + 1, doc);
	block_file_head_make(&file, &bytes);
	if (m.docs) {
		ZSTD_DCtx *d = ZSTD_createDCtx();
		buf_add_str(&bytes, block_make(&m, &file, BLOCK_FILE_HEAD));
		ENSURE(block_read(&file, buf_str(&bytes), BLOCK_FILE_HEAD, "fuzz", &b, &err) == 0);
		ENSURE(b.docs == m.docs && b.text_n == m.text.n && b.next == bytes.n);
		char *text = mem_alloc(b.text_n + 1u);
		ENSURE(block_unpack(&b, d, text, "fuzz", &err) == 0);
		ENSURE(b.text_n == 0 || memcmp(text, m.text.p, b.text_n) == 0);
		for (unsigned i = 0; i < m.docs; i++) {
			struct block_doc got;
			ENSURE(block_slot(&b, i, &got) && got.from + got.n == m.end[i] &&
			       got.oid == m.oid[i]);
		}
		mem_free(&text);
		ZSTD_freeDCtx(d);
	}
	block_maker_free(&m);
	buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of((struct str){(const char *)data, size});
	uint8_t kind = reader_u8(&in);
	if (kind <= 1)
		read_blocks(reader_bytes(&in, reader_left(&in)), kind == 1);
	else if (kind == 2)
		read_state(reader_bytes(&in, reader_left(&in)));
	else if (kind == 3)
		make_block(&in);
	return 0;
}
