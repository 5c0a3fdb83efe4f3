/* A document store verified, and its files printed and verified one by one. */
#include "disk/map_guard.h"
#include "index/docs/docstore_inner.h"
#include "soif/soif_parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* Reads every block from the beginning to `length`. *ret_at: how far they are sound. */
static int verify_blocks(const struct mapped *m, uint64_t length, blocks_doc_fn *fn, void *ctx,
			 uint64_t *ret_at, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(BLOCK_TEXT_MOST);
	struct str bytes = {m->map, (size_t)length};
	struct block b;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ENSURE(d);
	int rc = 0;
	for (*ret_at = BLOCK_FILE_HEAD; rc == 0; *ret_at = b.next) {
		rc = block_read(&m->id, bytes, *ret_at, m->path, &b, err);
		if (rc != 0)
			break;
		struct block_docs docs = block_docs_of(&b);
		struct block_doc doc;
		while ((rc = block_docs_next(&docs, &doc)) == 0)
			if (fn)
				(void)fn(ctx, block_addr(m->id.number, b.at, doc.slot), &doc);
		rc = rc < 0 ? block_lists_damaged(m->path, b.at, err)
			    : block_unpack(&b, d, buf_room(&text, b.text_n), m->path, err);
		if (rc < 0)
			break;
	}
	ZSTD_freeDCtx(d);
	if (mapped_check(m, err) < 0)
		return -1;
	return rc < 0 ? -1 : 0;
}

/* The store */

struct verifying {
	struct docstore *ds;
	unsigned char *led; /* bits by oid: the table leads to it */
	uint64_t slots;
};

static int note_led(void *ctx, uint64_t addr, const struct block_doc *doc)
{
	struct verifying *v = ctx;
	struct table_slot slot;
	if (doc->oid >= v->slots || table_get(&v->ds->table, doc->oid, &slot) != 0)
		return 0;
	if (slot.addr == addr && slot.bytes == doc->n)
		v->led[doc->oid / 8] |= (unsigned char)(1 << doc->oid % 8);
	return 0;
}

static int verify_file(struct verifying *v, const struct found_file *is, uint64_t length,
		       struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct mapped m = {.path = path};
	uint64_t at;
	store_path(v->ds->folder, is->id.number, ".docs", path);
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 1)
		return 0; /* compacted away since: its documents are looked for in the end */
	if (rc < 0 || mapped_open(&m, &f, is->size, err) < 0)
		return -1;
	m.length = is->size;
	rc = verify_blocks(&m, length, note_led, v, &at, err);
	mapped_close(&m);
	return rc;
}

/* Where the walk over the files did not meet a document: it may have moved meanwhile. */
static int verify_slot(struct verifying *v, uint64_t oid, const struct docstore_mark *mark,
		       struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore_part part = {.most = 1};
	struct table_slot slot;
	struct str text;
	pthread_rwlock_rdlock(&v->ds->lock);
	int there = table_get(&v->ds->table, oid, &slot);
	pthread_rwlock_unlock(&v->ds->lock);
	uint32_t file = there == 0 ? block_addr_file(slot.addr) : 0;
	bool beyond = file > mark->file ||
		      (file == mark->file && block_addr_at(slot.addr) >= mark->length);
	int rc = 0;
	if (there < 0)
		rc = table_slot_damaged(&v->ds->table, oid, err);
	else if (there == 0 && !beyond && !(v->led[oid / 8] & 1 << oid % 8))
		rc = docstore_read_part(v->ds, oid, &part, &arena, &text, err);
	arena_free(&arena);
	return MIN(rc, 0);
}

/* What the table says of files is looked at where it can be read; where not, it is made again. */
static int verify_heads(struct docstore *ds, const struct found_files *found, struct err *err)
{
	struct table_state state = {0};
	struct err ignored;
	pthread_rwlock_rdlock(&ds->lock);
	int rc = table_load(&ds->table, &state, &ignored) < 0 ? 1 : 0;
	pthread_rwlock_unlock(&ds->lock);
	for (size_t i = 0; rc == 0 && i < state.files; i++)
		for (size_t k = 0; rc == 0 && k < found->n; k++)
			if (found_headless(&found->file[k], &state.file[i]))
				rc = found_headless_refuse(ds->folder, state.file[i].number, err);
	table_state_free(&state);
	return MIN(rc, 0);
}

int docstore_verify(struct docstore *ds, const struct docstore_mark *mark, struct err *err)
{
	struct found_files found = {0};
	struct verifying v = {.ds = ds};
	int rc = store_look(ds, err);
	if (rc == 0)
		rc = MIN(found_list(&found, ds->folder, err), 0);
	if (rc == 0)
		rc = found_check_mark(&found, mark, ds->folder, err);
	if (rc == 0)
		rc = verify_heads(ds, &found, err);
	if (rc == 0) {
		v.slots = table_slots(&ds->table);
		v.led = mem_alloc(v.slots / 8 + 1);
	}
	for (size_t i = 0; i < found.n && rc == 0; i++) {
		uint64_t length = found_counts(&found.file[i], mark);
		rc = length ? verify_file(&v, &found.file[i], length, err) : 0;
	}
	for (uint64_t oid = 1; oid < v.slots && rc == 0; oid++)
		rc = verify_slot(&v, oid, mark, err);
	if (rc == 0)
		rc = table_check(&ds->table, err);
	found_free(&found);
	mem_free(&v.led);
	return rc;
}

int docstore_check_mark(const char *folder, const struct docstore_mark *mark, struct err *err)
{
	struct found_files found = {0};
	int rc = found_list(&found, folder, err) < 0 ? -1
						     : found_check_mark(&found, mark, folder, err);
	found_free(&found);
	return rc;
}

/* Files of blocks */

/* The table in the folder of a file, and its state. 1: there is none, or none that is sound. */
static int table_beside(const char *path, struct doc_table *t, struct table_state *ret)
{
	char table[PATH_MAX];
	struct err ignored;
	const char *slash = strrchr(path, '/');
	snprintf(table, sizeof table, "%.*stable", slash ? (int)(slash - path) + 1 : 0, path);
	int rc = table_open(t, table, false, &ignored);
	return rc != 0 || table_load(t, ret, &ignored) != 0;
}

/* The first bytes of a file of which the table leads to a block; 0: to none. */
static uint64_t table_leads_to(const struct doc_table *t, uint32_t number)
{
	struct table_slot slot;
	struct err ignored;
	uint64_t n = 0;
	for (uint64_t oid = 1; oid < table_slots(t); oid++)
		if (table_get(t, oid, &slot) == 0 && block_addr_file(slot.addr) == number)
			n = MAX(n, block_addr_at(slot.addr) + 1);
	return table_check(t, &ignored) < 0 ? 0 : n;
}

/* How much of a file was written for certain: up to the last checkpoint, and up to the last block
 * that the table leads to, which is told of a block after it was written. UINT64_MAX: all of it. */
static uint64_t certain_length(const char *path, const struct file *f)
{
	char head[BLOCK_FILE_HEAD];
	struct doc_table t = DOC_TABLE_INIT;
	struct table_state s = {0};
	struct block_file id;
	struct err ignored;
	uint64_t length = UINT64_MAX;
	size_t got;
	if (file_read(f, head, sizeof head, 0, &got, &ignored) < 0 ||
	    block_file_head_read((struct str){head, got}, path, &id, &ignored) < 0 || id.compacted)
		return length;
	if (table_beside(path, &t, &s) == 0 && id.number >= s.mark.file) {
		length = id.number == s.mark.file ? s.mark.length : BLOCK_FILE_HEAD;
		length = MAX(length, table_leads_to(&t, id.number));
	}
	table_state_free(&s);
	table_close(&t);
	return length;
}

/* Maps a file by its path and gives it to fn. */
static int with_blocks(const char *path,
		       int (*fn)(void *ctx, const struct mapped *m, uint64_t certain,
				 struct err *err),
		       void *ctx, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct mapped m = {.path = (char *)(uintptr_t)path};
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	uint64_t certain = certain_length(path, &f); /* first: a writer may be at it */
	if (file_size(&f, &m.length, err) < 0 || mapped_open(&m, &f, m.length, err) < 0)
		return -1;
	rc = fn(ctx, &m, certain == UINT64_MAX ? m.length : certain, err);
	mapped_close(&m);
	return rc;
}

static int verify_alone(void *ctx, const struct mapped *m, uint64_t certain, struct err *err)
{
	uint64_t at;
	(void)ctx;
	if (certain > m->length)
		return err_set(err, ERR_DAMAGED,
			       "%s: has %" PRIu64 " bytes, at least %" PRIu64
			       " were written; it was cut",
			       m->path, m->length, certain);
	int rc = verify_blocks(m, m->length, NULL, NULL, &at, err);
	return rc < 0 && at >= certain ? FORMAT_NOTED : rc;
}

static int docs_verify(const char *path, struct err *err)
{
	return with_blocks(path, verify_alone, NULL, err);
}

static void print_doc(struct buf *out, uint64_t oid, struct str text)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif_parser p = soif_parser_of(text);
	struct soif obj;
	struct err why;
	bool sound = soif_next(&p, &arena, &obj, &why) == 0 && !obj.truncated;
	buf_printf(out, "  %" PRIu64 " %zu ", oid, text.n);
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
	struct block_docs docs = block_docs_of(b);
	struct block_doc doc;
	while (block_docs_next(&docs, &doc) == 0)
		print_doc(out, doc.oid, (struct str){to + doc.from, doc.n});
	return 0;
}

static int print_blocks(void *ctx, const struct mapped *m, uint64_t certain, struct err *err)
{
	struct printer *p = ctx;
	struct buf text = BUF_INIT(BLOCK_TEXT_MOST);
	struct block b;
	uint64_t at = BLOCK_FILE_HEAD;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ENSURE(d);
	int rc;
	if (m->id.compacted)
		buf_printf(&p->out,
			   "made by compaction, up to byte %" PRIu64 " of file %" PRIu32 "\n",
			   m->id.covers.length, m->id.covers.file);
	for (;; at = b.next) {
		rc = block_read(&m->id, (struct str){m->map, (size_t)m->length}, at, m->path, &b,
				err);
		if (rc == 0)
			rc = print_block(m, &b, d, &text, &p->out, err);
		if (rc != 0)
			break;
		printer_step(p);
	}
	if (rc < 0 && at >= certain) {
		buf_printf(&p->out, "%" PRIu64 ": %" PRIu64 " bytes that do not count\n", at,
			   m->length - at);
		rc = 1;
	}
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
	.remedy = DOCSTORE_REMEDY,
	.print = docs_print,
	.verify = docs_verify,
};

/* Tables */

static int with_table(const char *path,
		      int (*fn)(void *ctx, struct doc_table *t, const struct table_state *s,
				struct err *err),
		      void *ctx, struct err *err)
{
	struct doc_table t = DOC_TABLE_INIT;
	struct table_state s = {0};
	int rc = table_open(&t, path, false, err);
	if (rc == 0)
		rc = table_load(&t, &s, err);
	if (rc == 0)
		rc = fn(ctx, &t, &s, err);
	if (rc >= 0 && rc != 1 && table_check(&t, err) < 0)
		rc = -1;
	table_state_free(&s);
	table_close(&t);
	return rc;
}

static int print_table(void *ctx, struct doc_table *t, const struct table_state *s, struct err *err)
{
	struct printer *p = ctx;
	struct table_slot slot;
	(void)err;
	buf_printf(&p->out,
		   "durable up to byte %" PRIu64 " of file %" PRIu32 ", document %" PRIu64
		   "; the next file is %" PRIu32 "\n",
		   s->mark.length, s->mark.file, s->top, s->next);
	for (size_t i = 0; i < s->files; i++)
		buf_printf(&p->out,
			   "file %" PRIu32 "%s: %" PRIu64 " documents, %" PRIu64
			   " bytes; deleted %" PRIu64 ", %" PRIu64 "\n",
			   s->file[i].number, s->file[i].compacted ? " (compacted)" : "",
			   s->file[i].docs, s->file[i].text_bytes, s->file[i].dead_docs,
			   s->file[i].dead_bytes);
	for (uint64_t oid = 1; oid < table_slots(t); oid++) {
		int rc = table_get(t, oid, &slot);
		if (rc == 1)
			continue;
		if (rc < 0)
			buf_printf(&p->out, "%" PRIu64 " damaged\n", oid);
		else
			buf_printf(&p->out,
				   "%" PRIu64 " file %" PRIu32 " byte %" PRIu64
				   " number %u, %" PRIu32 " bytes\n",
				   oid, block_addr_file(slot.addr), block_addr_at(slot.addr),
				   block_addr_slot(slot.addr), slot.bytes);
		printer_step(p);
	}
	return 0;
}

static int verify_table(void *ctx, struct doc_table *t, const struct table_state *s,
			struct err *err)
{
	struct table_slot slot;
	(void)ctx;
	(void)s;
	for (uint64_t oid = 1; oid < table_slots(t); oid++)
		if (table_get(t, oid, &slot) < 0)
			return table_slot_damaged(t, oid, err);
	return 0;
}

static int table_print(const char *path, struct printer *p, struct err *err)
{
	return with_table(path, print_table, p, err);
}

static int table_verify(const char *path, struct err *err)
{
	return with_table(path, verify_table, NULL, err);
}

const struct format docstore_table_format = {
	.name = "docstore-table",
	.file = "docs/table",
	.magic = TABLE_MAGIC,
	.version = TABLE_VERSION,
	.help = "where each document lies, by its number",
	.remedy = "stop who writes it and remove it: it is made again from the documents",
	.print = table_print,
	.verify = table_verify,
};
