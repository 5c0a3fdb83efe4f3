/* Documents one after the other. Who reads most of a store, in about the order in which it was
 * written, would wait for locks, copy and look through lists once for each document; here all that
 * is done once for each block. The file of the current block is mapped once more, for the cursor
 * alone: it stays readable after compaction has removed it, and nobody else has to know. */
#include "base/vec.h"
#include "index/docs/docstore_inner.h"

enum {
	WHOLE = 256 << 10, /* bytes of text: larger blocks are unpacked in parts */
	LOOKS = 4,         /* compaction may move a document again while it is looked for */
};
_Static_assert((int)WHOLE == 2 * (int)BLOCK_FRAME, "two frames have a part from any byte on");
_Static_assert((int)DOCSTORE_CURSOR_PART <= (int)BLOCK_FRAME, "two frames have a part");

struct docstore_cursor {
	struct docstore *ds;
	struct mapped *m; /* its own; NULL: none yet */
	uint64_t addr;    /* of the block, its number in it as 0; 0: none */
	struct block block;
	struct block_doc *docs; /* all of the block */
	size_t ndocs, room;
	struct block_doc doc; /* the current one */
	char text[WHOLE];     /* of the block: text_n bytes from text_at on */
	size_t text_at, text_n;
	ZSTD_DCtx *decompressor;
};

struct docstore_cursor *docstore_cursor_new(struct docstore *ds)
{
	ENSURE(!ds->writes);
	struct docstore_cursor *c = mem_alloc(sizeof *c);
	c->ds = ds;
	c->decompressor = ZSTD_createDCtx();
	ENSURE(c->decompressor);
	return c;
}

void docstore_cursor_free(struct docstore_cursor **pc)
{
	struct docstore_cursor *c = *pc;
	if (!c)
		return;
	if (c->m)
		mapped_free(c->m);
	ZSTD_freeDCtx(c->decompressor);
	mem_free(&c->docs);
	mem_free(pc);
}

/* Where the table says that it is. 1: nowhere. */
static int cursor_look_up(struct docstore_cursor *c, uint64_t oid, uint64_t *ret, struct err *err)
{
	struct docstore *ds = c->ds;
	struct table_slot slot = {0};
	pthread_rwlock_rdlock(&ds->lock);
	int rc = table_get(&ds->table, oid, &slot);
	if (table_check(&ds->table, err) < 0)
		rc = -1;
	else if (rc < 0)
		rc = table_slot_damaged(&ds->table, oid, err);
	pthread_rwlock_unlock(&ds->lock);
	*ret = slot.addr;
	return rc;
}

/* Maps the file of a block, as much of it as there is now. 1: there is no such file. */
static int cursor_map(struct docstore_cursor *c, uint64_t addr, struct err *err)
{
	struct mapped *m = NULL;
	uint32_t number = block_addr_file(addr);
	if (c->m && c->m->id.number == number && mapped_reaches(c->m, block_addr_at(addr)))
		return 0;
	int rc = mapped_make(c->ds->folder, number, &m, err);
	if (rc != 0)
		return rc;
	if (c->m)
		mapped_free(c->m);
	c->m = m;
	return 0;
}

static int cursor_list(struct docstore_cursor *c, struct err *err)
{
	struct block_docs docs = block_docs_of(&c->block);
	struct block_doc doc;
	int rc;
	c->ndocs = 0;
	while ((rc = block_docs_next(&docs, &doc)) == 0)
		*VEC_PUSH(c->docs, c->ndocs, c->room) = doc;
	return rc < 0 ? block_lists_damaged(c->m->path, c->block.at, err) : 0;
}

/* The block of an address becomes the current one. 1: its file is not there. */
static int cursor_block(struct docstore_cursor *c, uint64_t addr, struct err *err)
{
	uint64_t block = block_addr(block_addr_file(addr), block_addr_at(addr), 0);
	if (c->addr == block)
		return 0;
	c->addr = 0;
	c->text_n = 0;
	int rc = cursor_map(c, addr, err);
	if (rc != 0)
		return rc;
	rc = block_read(&c->m->id, (struct str){c->m->map, (size_t)c->m->length},
			block_addr_at(addr), c->m->path, &c->block, err);
	if (mapped_check(c->m, err) < 0)
		return -1;
	if (rc != 0)
		return rc < 0 ? -1 : mapped_wrong(c->m, addr, 0, err);
	if (cursor_list(c, err) < 0)
		return -1;
	c->addr = block;
	return 0;
}

int docstore_cursor_find(struct docstore_cursor *c, uint64_t oid, size_t *ret_n, struct err *err)
{
	uint64_t addr = 0;
	bool looked = false;
	int rc;
	for (unsigned looks = 0;; looks++) {
		rc = cursor_look_up(c, oid, &addr, err);
		bool nowhere = rc == 1;
		if (rc == 0)
			rc = cursor_block(c, addr, err);
		if (rc == 0 || (looked && (nowhere || rc < 0)))
			break;
		if (looks >= LOOKS)
			return rc < 0 ? -1 : mapped_missing(c->ds, addr, err);
		if (store_look(c->ds, err) < 0)
			return -1;
		looked = true;
	}
	if (rc != 0)
		return rc;
	unsigned slot = block_addr_slot(addr);
	if (slot >= c->ndocs || c->docs[slot].oid != oid)
		return mapped_wrong(c->m, addr, oid, err);
	c->doc = c->docs[slot];
	*ret_n = c->doc.n;
	return 0;
}

/* The text of the block from a byte on: all of it, or two frames. */
static int cursor_unpack(struct docstore_cursor *c, size_t from, struct err *err)
{
	const struct block *b = &c->block;
	bool whole = b->text_n <= WHOLE;
	c->text_at = whole ? 0 : from / BLOCK_FRAME * BLOCK_FRAME;
	c->text_n = 0;
	size_t n = MIN((size_t)WHOLE, b->text_n - c->text_at);
	int rc = whole ? block_unpack(b, c->decompressor, c->text, c->m->path, err)
		       : block_unpack_part(b, c->decompressor, c->text_at, n, c->text, c->m->path,
					   err);
	if (mapped_check(c->m, err) < 0 || rc < 0)
		return -1;
	c->text_n = n;
	return 0;
}

int docstore_cursor_text(struct docstore_cursor *c, size_t from, struct str *ret, struct err *err)
{
	ENSURE(c->addr && from <= c->doc.n);
	size_t at = c->doc.from + from, left = c->doc.n - from;
	size_t least = MIN(left, (size_t)DOCSTORE_CURSOR_PART);
	if (least && (at < c->text_at || at + least > c->text_at + c->text_n) &&
	    cursor_unpack(c, at, err) < 0)
		return -1;
	size_t has = least ? MIN(left, c->text_at + c->text_n - at) : 0;
	*ret = (struct str){c->text + (least ? at - c->text_at : 0), has};
	return 0;
}
