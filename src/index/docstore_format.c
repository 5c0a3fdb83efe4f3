#include "disk/guard.h"
#include "index/docstore_inner.h"
#include "soif/soif_parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

/* Files of blocks */

/* How much of it counts, by the ledger beside it. 1: no ledger, or none that knows it. */
static int count_by_ledger(const char *path, uint32_t number, uint64_t *ret, struct err *err)
{
	char beside[PATH_MAX];
	struct record_reader *r = NULL;
	struct record record;
	struct ledger l = LEDGER_INIT;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	snprintf(beside, sizeof beside, "%.*sledger", folder, path);
	int rc = record_reader_open(&r, beside, &ledger_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0)
		rc = ledger_apply(&l, record.payload, beside, err);
	record_reader_free(&r);
	const struct ledger_file *f = rc == 1 ? ledger_find(&l, number) : NULL;
	if (f)
		*ret = f->length;
	ledger_free(&l);
	return rc < 0 ? -1 : f ? 0 : 1;
}

static int map_path(struct mapped *m, const struct file *f, struct err *err)
{
	char head[BLOCK_FILE_HEAD];
	size_t got;
	uint64_t size;
	if (file_read(f, head, sizeof head, 0, &got, err) < 0 || file_size(f, &size, err) < 0 ||
	    block_file_head_read((struct str){head, got}, f->path, &m->id, err) < 0)
		return -1;
	m->size = (size_t)size;
	m->map = mmap(NULL, m->size, PROT_READ, MAP_SHARED, f->fd, 0);
	if (m->map == MAP_FAILED)
		return err_sys(err, "%s: map of %zu bytes", f->path, m->size);
	m->guard = guard_new(m->map, m->size);
	return 0;
}

/* Maps a file by its path and gives it to fn with what of it counts. */
static int with_blocks(const char *path,
		       int (*fn)(void *ctx, const struct mapped *m, uint64_t length,
				 struct err *err),
		       void *ctx, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct mapped m = {.path = (char *)(uintptr_t)path};
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: there is no such file", path);
	if (rc < 0 || map_path(&m, &f, err) < 0)
		return -1;
	uint64_t length = m.size;
	rc = count_by_ledger(path, m.id.number, &length, err);
	if (rc >= 0 && length > m.size)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: has %zu bytes, the ledger says %" PRIu64 "; it was cut", path,
			     m.size, length);
	if (rc >= 0)
		rc = fn(ctx, &m, length, err);
	guard_free(&m.guard);
	(void)munmap(m.map, m.size);
	return rc;
}

static int verify_blocks(void *ctx, const struct mapped *m, uint64_t length, struct err *err)
{
	uint64_t docs, text_bytes;
	(void)ctx;
	return blocks_verify(m, length, &docs, &text_bytes, err);
}

static int docs_verify(const char *path, struct err *err)
{
	return with_blocks(path, verify_blocks, NULL, err);
}

struct printing {
	void (*emit)(void *ctx, struct str);
	void *ctx;
};

static void print_doc(struct buf *out, struct docaddr addr, struct str text)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif_parser p = soif_parser_of(text);
	struct soif obj;
	struct err why;
	bool sound = soif_next(&p, &arena, &obj, &why) == 0 && !obj.truncated;
	buf_printf(out, "  %016" PRIx64 " %zu ", addr.v, text.n);
	buf_add_str(out, sound ? obj.url : STR("is no SOIF"));
	buf_add_byte(out, '\n');
	arena_free(&arena);
}

static int print_block(const struct mapped *m, const struct block *b, ZSTD_DCtx *d,
		       struct buf *text, struct buf *out, struct err *err)
{
	buf_clear(text);
	buf_clear(out);
	char *to = buf_room(text, b->text_n);
	if (block_unpack(b, d, to, m->path, err) < 0 || mapped_check(m, err) < 0)
		return -1;
	buf_printf(out, "%" PRIu64 ": %u documents, %" PRIu32 " bytes of text in %zu\n", b->at,
		   b->docs, b->text_n, b->packed.n);
	for (unsigned i = 0; i < b->docs; i++) {
		size_t from, n;
		if (block_slot(b, i, &from, &n))
			print_doc(out, block_addr(m->id.number, b->at, i),
				  (struct str){to + from, n});
	}
	return 0;
}

static int print_blocks(void *ctx, const struct mapped *m, uint64_t length, struct err *err)
{
	const struct printing *p = ctx;
	struct buf text = BUF_INIT(BLOCK_TEXT_MOST), out = BUF_INIT((size_t)64 << 20);
	struct block b;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ENSURE(d);
	int rc;
	for (uint64_t at = BLOCK_FILE_HEAD;; at = b.next) {
		rc = block_read(&m->id, (struct str){m->map, (size_t)length}, at, m->path, &b, err);
		if (rc == 0)
			rc = print_block(m, &b, d, &text, &out, err);
		if (rc != 0)
			break;
		p->emit(p->ctx, buf_str(&out));
	}
	if (rc == 1 && m->size > length) {
		buf_clear(&out);
		buf_printf(&out, "%" PRIu64 ": %zu bytes that do not count\n", length,
			   m->size - (size_t)length);
		p->emit(p->ctx, buf_str(&out));
	}
	ZSTD_freeDCtx(d);
	buf_free(&text);
	buf_free(&out);
	return rc < 0 ? -1 : 0;
}

static int docs_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
		      struct err *err)
{
	struct printing p = {emit, ctx};
	return with_blocks(path, print_blocks, &p, err);
}

const struct format docstore_format = {
	.name = "docstore",
	.magic = BLOCK_MAGIC,
	.version = BLOCK_VERSION,
	.help = "documents as SOIF, in compressed blocks",
	.print = docs_print,
	.verify = docs_verify,
};

/* Ledgers */

static void print_change(void *ctx, const struct record *record, struct buf *out)
{
	(void)ctx;
	ledger_show(record->payload, out);
}

static int ledger_file_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
			     struct err *err)
{
	return record_print(path, &ledger_kind, print_change, NULL, emit, ctx, err);
}

static int ledger_file_verify(const char *path, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	struct ledger l = LEDGER_INIT;
	int rc = record_reader_open(&r, path, &ledger_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0)
		rc = ledger_apply(&l, record.payload, path, err);
	record_reader_free(&r);
	ledger_free(&l);
	return rc < 0 ? -1 : 0;
}

const struct format docstore_ledger_format = {
	.name = "docstore-ledger",
	.magic = "GARNERDL",
	.version = LEDGER_VERSION,
	.help = "which files of documents there are, and which documents are deleted",
	.print = ledger_file_print,
	.verify = ledger_file_verify,
};

/* Tables of addresses */

static int open_table(const char *path, struct page_file **ret, uint64_t *ret_docs, struct err *err)
{
	uint32_t number;
	int rc = moved_open(ret, path, &number, ret_docs, err);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: there is no such file", path) : rc;
}

static int table_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
		       struct err *err)
{
	struct page_file *f = NULL;
	struct docaddr from, to;
	uint64_t docs;
	if (open_table(path, &f, &docs, err) < 0)
		return -1;
	int rc = 0;
	for (uint64_t i = 0; i < docs && rc == 0; i++) {
		char line[64];
		rc = moved_entry(f, i, &from, &to, err);
		int n = snprintf(line, sizeof line, "%016" PRIx64 " %016" PRIx64 "\n", from.v,
				 to.v);
		if (rc == 0)
			emit(ctx, (struct str){line, (size_t)n});
	}
	page_close(&f);
	return rc;
}

static int table_verify(const char *path, struct err *err)
{
	struct page_file *f = NULL;
	uint64_t docs;
	if (open_table(path, &f, &docs, err) < 0)
		return -1;
	int rc = page_verify(f, err);
	page_close(&f);
	return rc;
}

const struct format docstore_moved_format = {
	.name = "docstore-moved",
	.magic = MOVED_MAGIC,
	.version = 1,
	.help = "where compaction has put documents: old and new addresses",
	.print = table_print,
	.verify = table_verify,
};
