/* Compaction of the document store: the living documents of files that are mostly deleted go to new
 * files, and tables remember where they were. */
#include "base/cursor.h"
#include "base/fault.h"
#include "base/vec.h"
#include "index/docstore_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>

/* Tables of old and new addresses */

enum { MOVED_VERSION = 1 };

static int moved_create(struct page_writer *ret, const char *folder, uint32_t number, uint64_t docs,
			struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf head = BUF_INIT(MOVED_HEAD);
	store_path(folder, number, ".moved", path);
	if (page_create(ret, path, 0644, NULL, err) < 0)
		return -1;
	buf_add(&head, MOVED_MAGIC, FORMAT_MAGIC);
	put_u32le(&head, MOVED_VERSION);
	put_u32le(&head, number);
	put_u64le(&head, docs);
	page_put(ret, head.p, head.n);
	return 0;
}

static void moved_put(struct page_writer *w, struct docaddr from, struct docaddr to)
{
	CLEANUP(buf_free) struct buf entry = BUF_INIT(MOVED_ENTRY);
	put_u64le(&entry, from.v);
	put_u64le(&entry, to.v);
	page_put(w, entry.p, entry.n);
}

static int moved_read_head(struct page_file *f, const char *path, uint32_t *ret_number,
			   uint64_t *ret_docs, struct err *err)
{
	struct str head;
	if (page_get(f, 0, MOVED_HEAD, &head, err) < 0)
		return -1;
	struct reader r = reader_of(head);
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), number = reader_u32le(&r);
	uint64_t docs = reader_u64le(&r);
	if (!str_eq(magic, STR(MOVED_MAGIC)) || version != MOVED_VERSION || docs > UINT32_MAX ||
	    page_bytes(f) != MOVED_HEAD + docs * MOVED_ENTRY)
		return err_set(err, ERR_DAMAGED, "%s: does not begin as a table of addresses does",
			       path);
	*ret_number = number;
	*ret_docs = docs;
	return 0;
}

int moved_open(struct page_file **ret, const char *path, uint32_t *ret_number, uint64_t *ret_docs,
	       struct err *err)
{
	struct page_file *f = NULL;
	int rc = page_open(&f, path, err);
	if (rc != 0)
		return rc;
	if (moved_read_head(f, path, ret_number, ret_docs, err) < 0) {
		page_close(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

int moved_entry(struct page_file *f, uint64_t i, struct docaddr *ret_from, struct docaddr *ret_to,
		struct err *err)
{
	struct str entry;
	if (page_get(f, MOVED_HEAD + i * MOVED_ENTRY, MOVED_ENTRY, &entry, err) < 0)
		return -1;
	struct reader r = reader_of(entry);
	ret_from->v = reader_u64le(&r);
	ret_to->v = reader_u64le(&r);
	return page_check(f, err);
}

int moved_get(struct docstore *ds, const struct ledger_moved *moved, struct page_file **ret,
	      struct err *err)
{
	char path[PATH_MAX];
	uint32_t number;
	uint64_t docs;
	struct page_file **has = moved_files_get(&ds->moved, moved->number), *f = NULL;
	if (has) {
		*ret = *has;
		return 0;
	}
	store_path(ds->folder, moved->number, ".moved", path);
	int rc = moved_open(&f, path, &number, &docs, err);
	if (rc != 0)
		return rc;
	if (number != moved->number || docs != moved->docs) {
		page_close(&f);
		return err_set(err, ERR_DAMAGED,
			       "%s: has %" PRIu64 " addresses of file %" PRIu32
			       ", the ledger says %" PRIu64,
			       path, docs, number, moved->docs);
	}
	*moved_files_put(&ds->moved, moved->number) = *ret = f;
	return 0;
}

int moved_find(struct docstore *ds, const struct ledger_moved *moved, struct docaddr from,
	       struct docaddr *ret, struct err *err)
{
	struct page_file *f;
	struct docaddr at = {0}, to = {0};
	uint64_t low = 0, high = moved->docs;
	int rc = moved_get(ds, moved, &f, err);
	if (rc != 0)
		return rc;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (moved_entry(f, mid, &at, &to, err) < 0)
			return -1;
		if (at.v == from.v) {
			*ret = to;
			return 0;
		}
		if (at.v < from.v)
			low = mid + 1;
		else
			high = mid;
	}
	return 1;
}

/* Copying */

/* New files and tables are made next to the old ones and nothing knows of them; one record of the
 * ledger then makes them count, and the old ones not. Copying goes by what the ledger said when it
 * began: the thread that writes may change it meanwhile, but not these files. */
struct docstore_compaction {
	struct docstore *ds;
	struct ledger_file *file; /* that are compacted */
	size_t n;
	struct ledger_dead dead; /* in these, by address */
	struct appender to;
	uint32_t *made; /* numbers of the new files */
	size_t nmade, made_room;
	struct buf record; /* for the ledger */
	struct buf text;   /* of the current block */
	ZSTD_DCtx *decompressor;
	atomic_bool stop;
	bool counts; /* or may: the ledger was written */
};

static bool worth_it(const struct ledger_file *f, unsigned percent)
{
	return f->dead_docs && f->dead_bytes * 100 >= f->text_bytes * percent;
}

static int finish_file(struct docstore_compaction *c, struct err *err)
{
	if (!appender_open(&c->to))
		return 0;
	if (appender_finish(&c->to, err) < 0)
		return -1;
	ledger_put_file(&c->record, &c->to.is);
	appender_drop(&c->to);
	return 0;
}

static int begin_file(struct docstore_compaction *c, struct err *err)
{
	uint32_t number = docstore_number(c->ds);
	*VEC_PUSH(c->made, c->nmade, c->made_room) = number;
	return appender_begin(&c->to, c->ds->folder, number, err);
}

static int copy_put(struct docstore_compaction *c, struct str text, struct docaddr *ret,
		    struct err *err)
{
	if (appender_full(&c->to) && finish_file(c, err) < 0)
		return -1;
	if (!appender_open(&c->to) && begin_file(c, err) < 0)
		return -1;
	return appender_put(&c->to, text, ret, err);
}

static int copy_block(struct docstore_compaction *c, const struct block *b, uint32_t number,
		      struct page_writer *moved, uint64_t *living, struct err *err)
{
	for (unsigned slot = 0; slot < b->docs; slot++) {
		struct docaddr from = block_addr(number, b->at, slot), to = {0};
		size_t at = 0, n = 0;
		if (ledger_dead_get(&c->dead, from.v))
			continue;
		if (!block_slot(b, slot, &at, &n))
			return err_set(err, ERR_DAMAGED,
				       "%s: file %" PRIu32 ": the block at byte %" PRIu64
				       " has lengths that do not fit, nothing was compacted",
				       c->ds->folder, number, b->at);
		if (copy_put(c, (struct str){c->text.p + at, n}, &to, err) < 0)
			return -1;
		moved_put(moved, from, to);
		++*living;
	}
	return 0;
}

static int copy_blocks(struct docstore_compaction *c, const struct ledger_file *f,
		       const struct mapped *m, struct page_writer *moved, struct err *err)
{
	struct str file = {m->map, (size_t)f->length};
	struct block b;
	uint64_t living = 0;
	int rc;
	for (uint64_t at = BLOCK_FILE_HEAD;; at = b.next) {
		rc = block_read(&m->id, file, at, m->path, &b, err);
		if (rc != 0)
			break;
		if (atomic_load(&c->stop))
			return err_set(err, ERR_SYSTEM, "the compaction was stopped");
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

static int copy_living(struct docstore_compaction *c, const struct ledger_file *f, struct err *err)
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

static int copy_file(struct docstore_compaction *c, const struct ledger_file *f, struct err *err)
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

/* Beginning */

/* No more documents are put into a file that is copied. All in it is synced. */
static void leave_end(struct docstore *ds, uint32_t number)
{
	if (!appender_open(&ds->end) || ds->end.is.number != number)
		return;
	pthread_rwlock_wrlock(&ds->lock);
	appender_drop(&ds->end);
	pthread_rwlock_unlock(&ds->lock);
}

static const struct ledger_file *file_of(const struct docstore_compaction *c, uint64_t addr)
{
	uint32_t number = block_addr_file((struct docaddr){addr});
	for (size_t i = 0; i < c->n; i++)
		if (c->file[i].number == number)
			return &c->file[i];
	return NULL;
}

static void choose_files(struct docstore_compaction *c, unsigned percent)
{
	const struct ledger *l = &c->ds->ledger;
	c->file = mem_array(l->files, sizeof *c->file);
	for (size_t i = 0; i < l->files; i++)
		if (worth_it(&l->file[i], percent)) {
			leave_end(c->ds, l->file[i].number);
			c->file[c->n++] = l->file[i];
		}
	TABLE_EACH (ledger_dead, slot, &l->dead)
		if (file_of(c, slot->key))
			*ledger_dead_put(&c->dead, slot->key) = slot->value;
}

int docstore_compact_begin(struct docstore *ds, unsigned percent, struct docstore_compaction **ret,
			   struct err *err)
{
	if (docstore_sync(ds, err) < 0)
		return -1;
	if (ds->ledger.nmoved)
		return err_set(err, ERR_USAGE,
			       "%s: old addresses of the last compaction are still in use; forget "
			       "them first",
			       ds->folder);
	struct docstore_compaction *c = mem_alloc(sizeof *c);
	c->ds = ds;
	c->to = APPENDER_INIT;
	c->record = BUF_INIT(RECORD_MOST);
	c->text = BUF_INIT(BLOCK_TEXT_MOST);
	choose_files(c, percent);
	if (c->n == 0) {
		docstore_compact_free(&c);
		return 1;
	}
	c->decompressor = ZSTD_createDCtx();
	ENSURE(c->decompressor);
	*ret = c;
	return 0;
}

static void remove_one(const struct docstore *ds, uint32_t number, const char *kind)
{
	struct err ignored;
	char path[PATH_MAX];
	store_path(ds->folder, number, kind, path);
	(void)file_remove(path, &ignored); /* or at the next start */
}

/* What a compaction made that did not end: nobody knows of it. */
static void remove_copies(const struct docstore_compaction *c)
{
	pthread_rwlock_wrlock(&c->ds->lock);
	mapped_tidy(c->ds); /* tables that were looked into */
	pthread_rwlock_unlock(&c->ds->lock);
	for (size_t i = 0; i < c->nmade; i++)
		remove_one(c->ds, c->made[i], ".docs");
	for (size_t i = 0; i < c->n; i++)
		remove_one(c->ds, c->file[i].number, ".moved");
}

void docstore_compact_free(struct docstore_compaction **cp)
{
	struct docstore_compaction *c = *cp;
	if (!c)
		return;
	if (!c->counts)
		remove_copies(c);
	ZSTD_freeDCtx(c->decompressor);
	appender_free(&c->to);
	ledger_dead_free(&c->dead);
	mem_free(&c->file);
	mem_free(&c->made);
	buf_free(&c->record);
	buf_free(&c->text);
	mem_free(cp);
}

void docstore_compact_stop(struct docstore_compaction *c)
{
	atomic_store(&c->stop, true);
}

int docstore_compact_copy(struct docstore_compaction *c, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < c->n && rc == 0; i++)
		rc = copy_file(c, &c->file[i], err);
	if (rc == 0)
		rc = finish_file(c, err);
	if (rc == 0)
		rc = dir_sync(c->ds->folder, err);
	return rc < 0 && atomic_load(&c->stop) ? 1 : rc;
}

/* Ending */

/* What was deleted since it began was copied: it is deleted where it lies now. */
static int carry_deletes(struct docstore_compaction *c, struct err *err)
{
	struct docstore *ds = c->ds;
	int rc = 0;
	pthread_rwlock_wrlock(&ds->lock);
	TABLE_EACH (ledger_dead, slot, &ds->ledger.dead) {
		const struct ledger_file *f = file_of(c, slot->key);
		if (rc != 0 || !f || ledger_dead_get(&c->dead, slot->key))
			continue;
		struct ledger_moved moved = {f->number, f->docs - f->dead_docs};
		struct docaddr to = {0};
		rc = moved_find(ds, &moved, (struct docaddr){slot->key}, &to, err);
		if (rc == 1)
			rc = err_set(err, ERR_DAMAGED,
				     "%s: a document of file %" PRIu32
				     " was not copied, nothing was compacted",
				     ds->folder, f->number);
		if (rc == 0)
			ledger_put_dead(&c->record, to, slot->value);
	}
	pthread_rwlock_unlock(&ds->lock);
	return rc;
}

int docstore_compact_end(struct docstore_compaction *c, struct err *err)
{
	if (docstore_sync(c->ds, err) < 0 || carry_deletes(c, err) < 0)
		return -1;
	c->counts = true;
	return change_over(c->ds, buf_str(&c->record), err);
}

int docstore_compact(struct docstore *ds, unsigned percent, struct err *err)
{
	struct docstore_compaction *c = NULL;
	int rc = docstore_compact_begin(ds, percent, &c, err);
	if (rc == 0)
		rc = docstore_compact_copy(c, err);
	if (rc == 0)
		rc = docstore_compact_end(c, err);
	docstore_compact_free(&c);
	return rc;
}

/* Old addresses */

int docstore_now(struct docstore *ds, struct docaddr addr, struct docaddr *ret, struct err *err)
{
	struct docaddr now = addr;
	pthread_rwlock_wrlock(&ds->lock);
	const struct ledger_moved *moved = ledger_find_moved(&ds->ledger, block_addr_file(addr));
	int rc = moved ? moved_find(ds, moved, addr, &now, err) : 0;
	pthread_rwlock_unlock(&ds->lock);
	if (rc >= 0)
		*ret = now;
	return MIN(rc, 0);
}

/* 2: there are fewer files than that. */
static int each_of(struct docstore *ds, size_t file, docstore_moved_fn *fn, void *ctx,
		   struct err *err)
{
	struct page_file *f = NULL;
	struct ledger_moved moved = {0};
	struct docaddr from, to;
	int rc = 2;
	pthread_rwlock_wrlock(&ds->lock);
	if (file < ds->ledger.nmoved) {
		moved = ds->ledger.moved[file];
		rc = moved_get(ds, &moved, &f, err);
	}
	pthread_rwlock_unlock(&ds->lock);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED,
			       "%s: the table of what was moved from file %" PRIu32 " is missing",
			       ds->folder, moved.number);
	for (uint64_t i = 0; i < moved.docs && rc == 0; i++) {
		rc = moved_entry(f, i, &from, &to, err);
		if (rc == 0)
			rc = fn(ctx, from, to, err);
	}
	return rc;
}

int docstore_each_moved(struct docstore *ds, docstore_moved_fn *fn, void *ctx, struct err *err)
{
	int rc = docstore_writes(ds, err);
	for (size_t i = 0; rc == 0; i++) {
		rc = each_of(ds, i, fn, ctx, err);
		if (rc == 2)
			return 0;
	}
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
