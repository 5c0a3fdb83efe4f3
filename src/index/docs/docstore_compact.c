/* Compaction of the document store. A document never changes, so that any copy of it is as good as
 * another: the living documents of files that are mostly deleted are copied to new files, the table
 * is changed to say where they are, and the old files, which then have none, are removed. */
#include "base/fault.h"
#include "base/vec.h"
#include "index/docs/docstore_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>

struct docstore_compaction {
	struct docstore *ds;
	struct store_file *file; /* that are compacted, as they were when it began */
	size_t n;
	struct docstore_mark covers;
	uint64_t covers_top;
	struct appender to;
	struct store_file *made; /* the new files */
	size_t nmade, made_room;
	struct buf text; /* of the current block */
	ZSTD_DCtx *decompressor;
	atomic_bool stop;
	bool counts; /* the new files have their names */
};

/* Copying */

static int finish_file(struct docstore_compaction *c, struct err *err)
{
	if (!appender_open(&c->to))
		return 0;
	if (appender_finish(&c->to, err) < 0)
		return -1;
	c->made[c->nmade - 1] = c->to.is;
	appender_drop(&c->to);
	return 0;
}

static int begin_file(struct docstore_compaction *c, struct err *err)
{
	struct block_file id = {.number = docstore_number(c->ds),
				.compacted = true,
				.covers = c->covers,
				.covers_top = c->covers_top};
	*VEC_PUSH(c->made, c->nmade, c->made_room) =
		(struct store_file){.number = id.number, .compacted = true};
	return appender_begin(&c->to, c->ds->folder, &id, err);
}

static int copy_put(struct docstore_compaction *c, uint64_t oid, struct str text, struct err *err)
{
	if (appender_full(&c->to) && finish_file(c, err) < 0)
		return -1;
	if (!appender_open(&c->to) && begin_file(c, err) < 0)
		return -1;
	return appender_put(&c->to, oid, text, err);
}

/* Whether the table leads here. One that is deleted from now on is copied in vain. */
static bool is_living(struct docstore *ds, uint64_t oid, uint64_t addr)
{
	struct table_slot slot;
	pthread_rwlock_rdlock(&ds->lock);
	bool living = table_get(&ds->table, oid, &slot) == 0 && slot.addr == addr;
	pthread_rwlock_unlock(&ds->lock);
	return living;
}

static int copy_block(struct docstore_compaction *c, const struct block *b, const struct mapped *m,
		      struct err *err)
{
	struct block_docs docs = block_docs_of(b);
	struct block_doc doc;
	bool unpacked = false;
	int rc;
	buf_clear(&c->text);
	char *text = buf_room(&c->text, b->text_n);
	while ((rc = block_docs_next(&docs, &doc)) == 0) {
		if (!is_living(c->ds, doc.oid, block_addr(m->id.number, b->at, doc.slot)))
			continue;
		if (!unpacked && (block_unpack(b, c->decompressor, text, m->path, err) < 0 ||
				  mapped_check(m, err) < 0))
			return -1;
		unpacked = true;
		if (copy_put(c, doc.oid, (struct str){text + doc.from, doc.n}, err) < 0)
			return -1;
	}
	return rc < 0 ? block_lists_damaged(m->path, b->at, err) : 0;
}

static int copy_blocks(struct docstore_compaction *c, const struct mapped *m, uint64_t length,
		       struct err *err)
{
	struct str file = {m->map, (size_t)length};
	struct block b;
	for (uint64_t at = BLOCK_FILE_HEAD;; at = b.next) {
		int rc = block_read(&m->id, file, at, m->path, &b, err);
		if (mapped_check(m, err) < 0)
			return -1;
		if (rc != 0)
			return MIN(rc, 0);
		if (atomic_load(&c->stop))
			return err_set(err, ERR_SYSTEM, "the compaction was stopped");
		if (copy_block(c, &b, m, err) < 0)
			return -1;
	}
}

static int copy_file(struct docstore_compaction *c, const struct store_file *f, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file file = FILE_INIT;
	struct mapped m = {.path = path};
	if (f->dead_docs == f->docs)
		return 0;
	store_path(c->ds->folder, f->number, ".docs", path);
	int rc = file_open(&file, path, O_RDONLY, 0, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: is missing, nothing was compacted", path);
	if (rc < 0 || mapped_open(&m, &file, f->length, err) < 0)
		return -1;
	rc = copy_blocks(c, &m, f->length, err);
	mapped_close(&m);
	FAULT("docstore.compact.copied");
	return rc;
}

/* Beginning */

static bool worth_it(const struct store_file *f, unsigned percent)
{
	return f->dead_docs && f->dead_bytes * 100 >= f->text_bytes * percent;
}

/* Whether it has nothing beyond the last sync; no more is put into it then. */
static bool leave_alone_ends(struct docstore *ds, const struct store_file *f)
{
	if (!f->compacted && f->number > ds->synced.file)
		return false;
	if (!appender_open(&ds->end) || ds->end.is.number != f->number)
		return true;
	if (ds->end.block.docs || ds->end.is.length > ds->synced.length)
		return false;
	pthread_rwlock_wrlock(&ds->lock);
	appender_drop(&ds->end);
	pthread_rwlock_unlock(&ds->lock);
	return true;
}

static void choose_files(struct docstore_compaction *c, unsigned percent)
{
	struct docstore *ds = c->ds;
	c->file = mem_array(MAX(ds->nfiles, (size_t)1), sizeof *c->file);
	for (size_t i = 0; i < ds->nfiles; i++)
		if (worth_it(&ds->file[i], percent) && leave_alone_ends(ds, &ds->file[i]))
			c->file[c->n++] = ds->file[i];
	for (size_t i = 0; i < ds->nfiles && c->n; i++) /* what was left to say what counts */
		if (ds->file[i].compacted && ds->file[i].docs == 0)
			c->file[c->n++] = ds->file[i];
}

int docstore_compact_begin(struct docstore *ds, unsigned percent, struct docstore_compaction **ret,
			   struct err *err)
{
	if (docstore_writes(ds, err) < 0 || store_count(ds, err) < 0)
		return -1;
	struct docstore_compaction *c = mem_alloc(sizeof *c);
	c->ds = ds;
	c->covers = ds->synced;
	c->covers_top = ds->synced_top;
	c->to = APPENDER_INIT;
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

void docstore_compact_free(struct docstore_compaction **cp)
{
	struct docstore_compaction *c = *cp;
	struct err ignored;
	char path[PATH_MAX];
	if (!c)
		return;
	appender_free(&c->to);
	for (size_t i = 0; i < c->nmade && !c->counts; i++) {
		store_path(c->ds->folder, c->made[i].number, ".docs.new", path);
		(void)file_remove(path, &ignored); /* or at the next start */
	}
	ZSTD_freeDCtx(c->decompressor);
	mem_free(&c->file);
	mem_free(&c->made);
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
	if (rc == 0 && c->nmade == 0)
		rc = begin_file(c, err); /* it says what was committed, where nothing is left */
	if (rc == 0)
		rc = finish_file(c, err);
	return rc < 0 && atomic_load(&c->stop) ? 1 : rc;
}

/* Ending */

/* The new files get their names. What is there twice then does no harm. */
static int name_files(struct docstore_compaction *c, struct err *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct docstore *ds = c->ds;
	c->counts = true;
	for (size_t i = 0; i < c->nmade; i++) {
		store_path(ds->folder, c->made[i].number, ".docs.new", from);
		store_path(ds->folder, c->made[i].number, ".docs", to);
		FAULT("docstore.compact.rename");
		if (file_rename(from, to, err) < 0)
			return -1;
		pthread_rwlock_wrlock(&ds->lock);
		*store_file_add(ds, c->made[i].number) = c->made[i];
		pthread_rwlock_unlock(&ds->lock);
	}
	FAULT("docstore.compact.renamed");
	return dir_sync(ds->folder, err);
}

static int remove_old(struct docstore_compaction *c, struct err *err)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < c->n; i++) {
		store_path(c->ds->folder, c->file[i].number, ".docs", path);
		FAULT("docstore.compact.remove");
		if (file_remove(path, err) < 0)
			return -1;
	}
	return 0;
}

/* The old files have no documents now; the start after the next one would find that out as well. */
static int let_go(struct docstore_compaction *c, struct err *err)
{
	struct docstore *ds = c->ds;
	if (store_count(ds, err) < 0)
		return -1;
	for (size_t i = 0; i < c->n; i++) {
		const struct store_file *f = store_file_find(ds, c->file[i].number);
		if (f && f->dead_docs < f->docs)
			return err_set(err, ERR_DAMAGED,
				       "%s: %" PRIu64 " documents of file %" PRIu32
				       " were not copied, it is not removed",
				       ds->folder, f->docs - f->dead_docs, f->number);
	}
	pthread_rwlock_wrlock(&ds->lock);
	for (size_t i = 0; i < c->n; i++)
		store_file_forget(ds, c->file[i].number);
	pthread_rwlock_unlock(&ds->lock);
	return 0;
}

int docstore_compact_end(struct docstore_compaction *c, struct err *err)
{
	struct docstore *ds = c->ds;
	if (name_files(c, err) < 0)
		return -1;
	for (size_t i = 0; i < c->nmade; i++)
		if (store_take_over(ds, &c->made[i], err) < 0)
			return -1;
	FAULT("docstore.compact.changed");
	ds->counted = false;
	if (let_go(c, err) < 0 || store_save(ds, err) < 0 || remove_old(c, err) < 0)
		return -1;
	FAULT("docstore.compact.removed");
	table_moved(&ds->table);
	table_punch(&ds->table, ds->synced_top);
	pthread_rwlock_wrlock(&ds->lock);
	mapped_tidy(ds);
	pthread_rwlock_unlock(&ds->lock);
	return 0;
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
