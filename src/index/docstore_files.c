/* The files of a document store: blocks of documents, the ledger that says what of them counts, and
 * both printed and verified. */
#include "base/cursor.h"
#include "base/hash.h"
#include "base/vec.h"
#include "disk/map_guard.h"
#include "index/docstore_inner.h"
#include "soif/soif_parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

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

int block_look(struct str bytes, uint64_t at, const char *path, struct block *ret, struct err *err)
{
	if (at == bytes.n)
		return 1;
	struct reader r = reader_of(str_from(bytes, (size_t)at));
	struct block b = {.at = at};
	b.checksum = reader_u32le(&r);
	uint32_t packed_n = reader_u32le(&r);
	b.text_n = reader_u32le(&r);
	b.docs = reader_u16le(&r) + 1u;
	b.lengths = reader_bytes(&r, reader_u16le(&r));
	b.packed = reader_bytes(&r, packed_n);
	if (r.bad || at < BLOCK_FILE_HEAD || at > bytes.n)
		return block_damaged(path, at, "it goes past the end of the file", err);
	b.next = at + reader_at(&r);
	*ret = b;
	return 0;
}

int block_read(const struct block_file *file, struct str bytes, uint64_t at, const char *path,
	       struct block *ret, struct err *err)
{
	struct block b;
	int rc = block_look(bytes, at, path, &b, err);
	if (rc != 0)
		return rc;
	if (b.checksum != crc32c(block_seed(file, at), bytes.p + at + 4, (size_t)(b.next - at) - 4))
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

/* The ledger */

enum { PIECE = 1 << 20 };

const struct record_kind ledger_kind = {
	.magic = "GARNERDL", .version = LEDGER_VERSION, .most = RECORD_MOST};

/* A change is a byte that says which one, and numbers. */
enum { NEXT = 1, FILE_IS, DEAD, GONE, MOVED, FORGET, CHANGES };

struct change {
	uint64_t v[4];
};

struct ledger_file *ledger_find(const struct ledger *l, uint32_t number)
{
	size_t from = 0, to = l->files;
	while (from < to) {
		size_t mid = (from + to) / 2;
		if (l->file[mid].number < number)
			from = mid + 1;
		else
			to = mid;
	}
	return from < l->files && l->file[from].number == number ? &l->file[from] : NULL;
}

struct ledger_moved *ledger_find_moved(const struct ledger *l, uint32_t number)
{
	for (size_t i = 0; i < l->nmoved; i++)
		if (l->moved[i].number == number)
			return &l->moved[i];
	return NULL;
}

void ledger_free(struct ledger *l)
{
	mem_free(&l->file);
	mem_free(&l->moved);
	ledger_dead_free(&l->dead);
	*l = LEDGER_INIT;
}

/* Each applies one change; false: it cannot be. */

static bool set_next(struct ledger *l, const struct change *c)
{
	if (c->v[0] < l->next || c->v[0] > BLOCK_FILES)
		return false;
	l->next = (uint32_t)c->v[0];
	return true;
}

/* Files that compaction made may come after those that were begun meanwhile. */
static struct ledger_file *add_file(struct ledger *l, uint32_t number)
{
	size_t at = l->files;
	VEC_ROOM(l->file, l->file_room, l->files + 1);
	for (; at > 0 && l->file[at - 1].number > number; at--)
		l->file[at] = l->file[at - 1];
	l->file[at] = (struct ledger_file){.number = number};
	l->files++;
	return &l->file[at];
}

static bool set_file(struct ledger *l, const struct change *c)
{
	uint32_t number = (uint32_t)c->v[0];
	if (c->v[0] == 0 || c->v[0] >= BLOCK_FILES || c->v[1] < BLOCK_FILE_HEAD ||
	    c->v[1] > (uint64_t)1 << 31)
		return false;
	struct ledger_file *f = ledger_find(l, number);
	if (!f)
		f = add_file(l, number);
	if (c->v[1] < f->length || c->v[2] < f->docs || c->v[3] < f->text_bytes)
		return false;
	f->length = c->v[1];
	f->docs = c->v[2];
	f->text_bytes = c->v[3];
	l->next = MAX(l->next, number + 1);
	return true;
}

static bool set_dead(struct ledger *l, const struct change *c)
{
	struct ledger_file *f = ledger_find(l, block_addr_file((struct docaddr){c->v[0]}));
	if (!f || block_addr_at((struct docaddr){c->v[0]}) >= f->length || c->v[1] > UINT32_MAX)
		return false;
	bool is_new;
	*ledger_dead_put_new(&l->dead, c->v[0], &is_new) = (uint32_t)c->v[1];
	f->dead_docs++;
	f->dead_bytes += c->v[1];
	return is_new;
}

static bool set_gone(struct ledger *l, const struct change *c)
{
	struct ledger_file *f = c->v[0] < BLOCK_FILES ? ledger_find(l, (uint32_t)c->v[0]) : NULL;
	if (!f)
		return false;
	TABLE_EACH (ledger_dead, slot, &l->dead)
		if (block_addr_file((struct docaddr){slot->key}) == c->v[0])
			(void)ledger_dead_remove(&l->dead, slot->key);
	l->files--;
	memmove(f, f + 1, (size_t)(l->file + l->files - f) * sizeof *f);
	return true;
}

static bool set_moved(struct ledger *l, const struct change *c)
{
	if (c->v[0] == 0 || c->v[0] >= BLOCK_FILES || ledger_find_moved(l, (uint32_t)c->v[0]))
		return false;
	*VEC_PUSH(l->moved, l->nmoved, l->moved_room) =
		(struct ledger_moved){(uint32_t)c->v[0], c->v[1]};
	return true;
}

static bool set_forget(struct ledger *l, const struct change *c)
{
	struct ledger_moved *m =
		c->v[0] < BLOCK_FILES ? ledger_find_moved(l, (uint32_t)c->v[0]) : NULL;
	if (!m)
		return false;
	l->nmoved--;
	memmove(m, m + 1, (size_t)(l->moved + l->nmoved - m) * sizeof *m);
	return true;
}

static const struct {
	const char *name;
	unsigned numbers;
	bool (*apply)(struct ledger *l, const struct change *c);
} kinds[CHANGES] = {
	[NEXT] = {"next", 1, set_next},    [FILE_IS] = {"file", 4, set_file},
	[DEAD] = {"deleted", 2, set_dead}, [GONE] = {"gone", 1, set_gone},
	[MOVED] = {"moved", 2, set_moved}, [FORGET] = {"forget", 1, set_forget},
};

/* 1: the end of the record. */
static int next_change(struct reader *r, unsigned *ret_kind, struct change *ret)
{
	if (reader_left(r) == 0)
		return 1;
	unsigned kind = reader_u8(r);
	if (kind == 0 || kind >= CHANGES)
		return -1;
	struct change c = {0};
	for (unsigned i = 0; i < kinds[kind].numbers; i++)
		c.v[i] = reader_varint(r);
	*ret_kind = kind;
	*ret = c;
	return r->bad ? -1 : 0;
}

int ledger_apply(struct ledger *l, struct str record, const char *path, struct err *err)
{
	struct reader r = reader_of(record);
	struct change c;
	unsigned kind = 0;
	int rc;
	while ((rc = next_change(&r, &kind, &c)) == 0)
		if (!kinds[kind].apply(l, &c))
			return err_set(
				err, ERR_DAMAGED,
				"%s: the ledger of documents contradicts itself: %s %" PRIu64, path,
				kinds[kind].name, c.v[0]);
	return rc < 0 ? err_set(err, ERR_DAMAGED,
				"%s: a record of the ledger of documents cannot be read", path)
		      : 0;
}

int ledger_load(struct ledger *ret, const char *path, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	struct ledger l = LEDGER_INIT;
	int rc = record_reader_open(&r, path, &ledger_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0)
		rc = ledger_apply(&l, record.payload, path, err);
	record_reader_free(&r);
	if (rc < 0) {
		ledger_free(&l);
		return -1;
	}
	*ret = l;
	return 0;
}

static void put_change(struct buf *out, unsigned kind, const struct change *c)
{
	put_u8(out, (uint8_t)kind);
	for (unsigned i = 0; i < kinds[kind].numbers; i++)
		put_varint(out, c->v[i]);
}

void ledger_put_file(struct buf *out, const struct ledger_file *f)
{
	put_change(out, FILE_IS, &(struct change){{f->number, f->length, f->docs, f->text_bytes}});
}

void ledger_put_dead(struct buf *out, struct docaddr addr, uint32_t text_bytes)
{
	put_change(out, DEAD, &(struct change){{addr.v, text_bytes}});
}

void ledger_put_gone(struct buf *out, uint32_t number)
{
	put_change(out, GONE, &(struct change){{number}});
}

void ledger_put_moved(struct buf *out, const struct ledger_moved *m)
{
	put_change(out, MOVED, &(struct change){{m->number, m->docs}});
}

void ledger_put_forget(struct buf *out, uint32_t number)
{
	put_change(out, FORGET, &(struct change){{number}});
}

uint64_t ledger_weight(const struct ledger *l)
{
	return 64 + 24 * (uint64_t)l->files + 16 * (uint64_t)l->nmoved +
	       12 * (uint64_t)ledger_dead_count(&l->dead);
}

/* A ledger of many records is read as one of few is. */
static int ledger_hand_over(struct buf *out, size_t more_than, ledger_record_fn *take, void *ctx,
			    struct err *err)
{
	if (out->n <= more_than)
		return 0;
	ENSURE(!out->over);
	int rc = take(ctx, buf_str(out), err);
	buf_clear(out);
	return rc;
}

int ledger_print(const struct ledger *l, ledger_record_fn *take, void *ctx, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)2 * PIECE);
	put_change(&out, NEXT, &(struct change){{l->next}});
	for (size_t i = 0; i < l->nmoved; i++) {
		ledger_put_moved(&out, &l->moved[i]);
		if (ledger_hand_over(&out, PIECE, take, ctx, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < l->files; i++) {
		ledger_put_file(&out, &l->file[i]);
		if (ledger_hand_over(&out, PIECE, take, ctx, err) < 0)
			return -1;
	}
	TABLE_EACH (ledger_dead, slot, &l->dead) {
		ledger_put_dead(&out, (struct docaddr){slot->key}, slot->value);
		if (ledger_hand_over(&out, PIECE, take, ctx, err) < 0)
			return -1;
	}
	return ledger_hand_over(&out, 0, take, ctx, err);
}

void ledger_show(struct str record, struct buf *out)
{
	struct reader r = reader_of(record);
	struct change c;
	unsigned kind;
	const char *between = "";
	int rc;
	while ((rc = next_change(&r, &kind, &c)) == 0) {
		buf_printf(out, "%s%s", between, kinds[kind].name);
		for (unsigned i = 0; i < kinds[kind].numbers; i++)
			buf_printf(out, " %" PRIu64, c.v[i]);
		between = "; ";
	}
	if (rc < 0)
		buf_printf(out, "%scannot be read", between);
}

/* Files of blocks, printed and verified */

/* How much of it counts, by the ledger next to it. 1: no ledger, or none that knows it. */
static int count_by_ledger(const char *path, uint32_t number, uint64_t *ret, struct err *err)
{
	char ledger[PATH_MAX];
	struct ledger l;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	snprintf(ledger, sizeof ledger, "%.*sledger", folder, path);
	if (ledger_load(&l, ledger, err) < 0)
		return -1;
	const struct ledger_file *f = ledger_find(&l, number);
	if (f)
		*ret = f->length;
	ledger_free(&l);
	return f ? 0 : 1;
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
	uint64_t length;
	if (rc == 1)
		return 1;
	if (rc < 0 || file_size(&f, &length, err) < 0 || mapped_open(&m, &f, length, err) < 0)
		return -1;
	rc = count_by_ledger(path, m.id.number, &length, err);
	if (rc >= 0 && length > m.size)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: has %zu bytes, the ledger says %" PRIu64 "; it was cut", path,
			     m.size, length);
	if (rc >= 0)
		rc = fn(ctx, &m, length, err);
	map_guard_free(&m.guard);
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

static void print_doc(struct buf *out, struct docaddr addr, struct str text)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif_parser p = soif_parser_of(text);
	struct soif obj;
	struct err why;
	bool sound = soif_next(&p, &arena, &obj, &why) == 0 && !obj.truncated;
	buf_printf(out, "  %016" PRIx64 " %zu ", addr.v, text.n);
	buf_add_str(out, sound ? obj.url : STR("is not SOIF"));
	buf_add_byte(out, '\n');
	arena_free(&arena);
}

static int print_block(const struct mapped *m, const struct block *b, ZSTD_DCtx *d,
		       struct buf *text, struct buf *out, struct err *err)
{
	buf_clear(text);
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
	struct printer *p = ctx;
	struct buf text = BUF_INIT(BLOCK_TEXT_MOST);
	struct block b;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ENSURE(d);
	int rc;
	for (uint64_t at = BLOCK_FILE_HEAD;; at = b.next) {
		rc = block_read(&m->id, (struct str){m->map, (size_t)length}, at, m->path, &b, err);
		if (rc == 0)
			rc = print_block(m, &b, d, &text, &p->out, err);
		if (rc != 0)
			break;
		printer_step(p);
	}
	if (rc == 1 && m->size > length)
		buf_printf(&p->out, "%" PRIu64 ": %zu bytes that do not count\n", length,
			   m->size - (size_t)length);
	ZSTD_freeDCtx(d);
	buf_free(&text);
	return rc < 0 ? -1 : 0;
}

static int docs_print(const char *path, struct printer *p, struct err *err)
{
	return with_blocks(path, print_blocks, p, err);
}

const struct format docstore_format = {
	.name = "docstore",
	.file = "*.docs",
	.magic = BLOCK_MAGIC,
	.version = BLOCK_VERSION,
	.help = "documents as SOIF, in compressed blocks",
	.remedy = INDEX_REMEDY,
	.print = docs_print,
	.verify = docs_verify,
};

/* Ledgers, printed and verified */

static int show_changes(struct str payload, struct buf *out, struct err *err)
{
	(void)err;
	ledger_show(payload, out);
	return 0;
}

static int ledger_file_verify(const char *path, struct err *err)
{
	struct ledger l = LEDGER_INIT;
	struct err why;
	int rc = records_verify(&docstore_ledger_format, path, &(struct records_known){0}, err);
	if (rc >= 0 && rc != 1 && ledger_load(&l, path, &why) < 0) {
		*err = why;
		rc = -1;
	}
	ledger_free(&l);
	return rc;
}

const struct format docstore_ledger_format = {
	.name = "docstore-ledger",
	.file = "docs/ledger",
	.magic = "GARNERDL",
	.version = LEDGER_VERSION,
	.help = "which files of documents there are, and which documents are deleted",
	.remedy = INDEX_REMEDY,
	.records = &ledger_kind,
	.show = show_changes,
	.verify = ledger_file_verify,
};

/* Tables of addresses, printed and verified */

static int table_print(const char *path, struct printer *p, struct err *err)
{
	struct page_file *f = NULL;
	struct docaddr from, to;
	uint32_t number;
	uint64_t docs;
	int rc = moved_open(&f, path, &number, &docs, err);
	for (uint64_t i = 0; rc == 0 && i < docs; i++) {
		rc = moved_entry(f, i, &from, &to, err);
		if (rc == 0)
			buf_printf(&p->out, "%016" PRIx64 " %016" PRIx64 "\n", from.v, to.v);
		printer_step(p);
	}
	page_close(&f);
	return rc;
}

static int table_verify(const char *path, struct err *err)
{
	struct page_file *f = NULL;
	uint32_t number;
	uint64_t docs;
	int rc = moved_open(&f, path, &number, &docs, err);
	if (rc == 0)
		rc = page_verify(f, err);
	page_close(&f);
	return rc;
}

const struct format docstore_moved_format = {
	.name = "docstore-moved",
	.file = "*.moved",
	.magic = MOVED_MAGIC,
	.version = 1,
	.help = "where compaction has put documents: old and new addresses",
	.remedy = INDEX_REMEDY,
	.print = table_print,
	.verify = table_verify,
};
