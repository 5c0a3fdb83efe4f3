#include "index/docstore_inner.h"

#include "base/fault.h"

#include <inttypes.h>

/* New files and tables are made beside the old ones and nobody knows of them; one record of the
 * ledger then makes them count, and the old ones not. */
struct compaction {
	struct docstore *ds;
	struct appender to;
	uint32_t next;     /* number of the next new file */
	struct buf record; /* for the ledger */
	struct buf text;   /* of the block at hand */
	ZSTD_DCtx *decompressor;
};

static bool worth_it(const struct ledger_file *f, unsigned percent)
{
	return f->dead_docs && f->dead_bytes * 100 >= f->text_bytes * percent;
}

static int finish_file(struct compaction *c, struct err *err)
{
	if (!appender_open(&c->to))
		return 0;
	if (appender_finish(&c->to, err) < 0)
		return -1;
	ledger_put_file(&c->record, &c->to.is);
	appender_drop(&c->to);
	return 0;
}

static int put(struct compaction *c, struct str text, struct docaddr *ret, struct err *err)
{
	if (appender_full(&c->to) && finish_file(c, err) < 0)
		return -1;
	if (!appender_open(&c->to) && appender_begin(&c->to, c->ds->folder, c->next++, err) < 0)
		return -1;
	return appender_put(&c->to, text, ret, err);
}

static int copy_block(struct compaction *c, const struct block *b, uint32_t number,
		      struct page_writer *moved, uint64_t *living, struct err *err)
{
	for (unsigned slot = 0; slot < b->docs; slot++) {
		struct docaddr from = block_addr(number, b->at, slot), to = {0};
		size_t at = 0, n = 0;
		if (ledger_dead_get(&c->ds->ledger.dead, from.v))
			continue;
		if (!block_slot(b, slot, &at, &n))
			return err_set(err, ERR_DAMAGED,
				       "%s: file %" PRIu32 ": the block at byte %" PRIu64
				       " has lengths that do not fit, nothing was compacted",
				       c->ds->folder, number, b->at);
		if (put(c, (struct str){c->text.p + at, n}, &to, err) < 0)
			return -1;
		moved_put(moved, from, to);
		++*living;
	}
	return 0;
}

static int copy_blocks(struct compaction *c, const struct ledger_file *f, const struct mapped *m,
		       struct page_writer *moved, struct err *err)
{
	struct str file = {m->map, (size_t)f->length};
	struct block b;
	uint64_t living = 0;
	int rc;
	for (uint64_t at = BLOCK_FILE_HEAD;; at = b.next) {
		rc = block_read(&m->id, file, at, m->path, &b, err);
		if (rc != 0)
			break;
		buf_clear(&c->text);
		if (block_unpack(&b, c->decompressor, buf_room(&c->text, b.text_n), m->path, err) <
			    0 ||
		    mapped_check(m, err) < 0 ||
		    copy_block(c, &b, f->number, moved, &living, err) < 0)
			return -1;
	}
	if (rc == 1 && living != f->docs - f->dead_docs)
		return err_set(err, ERR_DAMAGED,
			       "%s: %" PRIu64 " documents are living, the ledger says %" PRIu64
			       ", nothing was compacted",
			       m->path, living, f->docs - f->dead_docs);
	return rc < 0 ? -1 : 0;
}

static int map_file(struct docstore *ds, const struct ledger_file *f, struct mapped **ret,
		    struct err *err)
{
	pthread_rwlock_wrlock(&ds->lock);
	int rc = mapped_get(ds, f->number, f->length, ret, err);
	pthread_rwlock_unlock(&ds->lock);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: file %" PRIu32 " is missing", ds->folder,
				 f->number)
		       : rc;
}

static int copy_living(struct compaction *c, const struct ledger_file *f, struct err *err)
{
	uint64_t docs = f->docs - f->dead_docs;
	struct page_writer moved;
	struct mapped *m = NULL;
	if (map_file(c->ds, f, &m, err) < 0 ||
	    moved_create(&moved, c->ds->folder, f->number, docs, err) < 0)
		return -1;
	if (copy_blocks(c, f, m, &moved, err) < 0) {
		page_drop(&moved);
		return -1;
	}
	FAULT("docstore.compact.table");
	return page_finish(&moved, true, err);
}

static int copy_file(struct compaction *c, const struct ledger_file *f, struct err *err)
{
	struct ledger_moved moved = {f->number, f->docs - f->dead_docs};
	if (moved.docs && copy_living(c, f, err) < 0)
		return -1;
	ledger_put_gone(&c->record, f->number);
	if (moved.docs)
		ledger_put_moved(&c->record, &moved);
	FAULT("docstore.compact.copied");
	return 0;
}

/* Makes the record durable and counts by it. What then has no name in the ledger is removed; what
 * cannot be removed now is so at the next start. */
static int change_over(struct docstore *ds, struct str record, struct err *err)
{
	struct err ignored;
	uint64_t bytes = 0;
	if (book_write(ds, record, err) < 0)
		return -1;
	pthread_rwlock_wrlock(&ds->lock);
	int rc = ledger_apply(&ds->ledger, record, ds->ledger_path, err);
	mapped_tidy(ds);
	pthread_rwlock_unlock(&ds->lock);
	FAULT("docstore.compact.changed");
	if (rc == 0)
		(void)docstore_sweep(ds, &bytes, &ignored);
	return rc;
}

static int copy_all(struct compaction *c, unsigned percent, struct err *err)
{
	struct docstore *ds = c->ds;
	for (size_t i = 0; i < ds->ledger.files; i++) {
		const struct ledger_file *f = &ds->ledger.file[i];
		if (!worth_it(f, percent))
			continue;
		if (appender_open(&ds->end) && ds->end.is.number == f->number) {
			pthread_rwlock_wrlock(&ds->lock);
			appender_drop(&ds->end); /* all in it is synced */
			pthread_rwlock_unlock(&ds->lock);
		}
		if (copy_file(c, f, err) < 0)
			return -1;
	}
	if (c->record.n == 0)
		return 1;
	return finish_file(c, err) < 0 || dir_sync(ds->folder, err) < 0 ? -1 : 0;
}

int docstore_compact(struct docstore *ds, unsigned percent, struct err *err)
{
	if (docstore_sync(ds, err) < 0)
		return -1;
	if (ds->ledger.nmoved)
		return err_set(err, ERR_USAGE,
			       "%s: old addresses of the last compaction are still in use; forget "
			       "them first",
			       ds->folder);
	struct compaction c = {.ds = ds,
			       .to = APPENDER_INIT,
			       .next = ds->ledger.next,
			       .record = BUF_INIT(RECORD_MOST),
			       .text = BUF_INIT(BLOCK_TEXT_MOST),
			       .decompressor = ZSTD_createDCtx()};
	ENSURE(c.decompressor);
	int rc = copy_all(&c, percent, err);
	ds->ledger.next = c.next; /* what failed leaves files, which the next start removes */
	if (rc == 0)
		rc = change_over(ds, buf_str(&c.record), err);
	ZSTD_freeDCtx(c.decompressor);
	appender_free(&c.to);
	buf_free(&c.record);
	buf_free(&c.text);
	return rc;
}

static int each_of(struct docstore *ds, const struct ledger_moved *moved, docstore_moved_fn *fn,
		   void *ctx, struct err *err)
{
	struct page_file *f = NULL;
	struct docaddr from, to;
	pthread_rwlock_wrlock(&ds->lock);
	int rc = moved_get(ds, moved, &f, err);
	pthread_rwlock_unlock(&ds->lock);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED,
			       "%s: the table of what was moved from file %" PRIu32 " is missing",
			       ds->folder, moved->number);
	for (uint64_t i = 0; i < moved->docs && rc == 0; i++) {
		rc = moved_entry(f, i, &from, &to, err);
		if (rc == 0)
			rc = fn(ctx, from, to, err);
	}
	return rc;
}

int docstore_each_moved(struct docstore *ds, docstore_moved_fn *fn, void *ctx, struct err *err)
{
	int rc = docstore_writes(ds, err);
	for (size_t i = 0; i < ds->ledger.nmoved && rc == 0; i++)
		rc = each_of(ds, &ds->ledger.moved[i], fn, ctx, err);
	return rc;
}

int docstore_forget_moved(struct docstore *ds, struct err *err)
{
	CLEANUP(buf_free) struct buf record = BUF_INIT(RECORD_MOST);
	if (docstore_writes(ds, err) < 0)
		return -1;
	for (size_t i = 0; i < ds->ledger.nmoved; i++)
		ledger_put_forget(&record, ds->ledger.moved[i].number);
	if (record.n == 0)
		return 1;
	FAULT("docstore.forget");
	return change_over(ds, buf_str(&record), err);
}
