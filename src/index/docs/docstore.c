/* The document store as its writer sees it: putting, deleting, syncing. Documents collect in a
 * block, which is written when it is full; then the table says where they are. After a failure all
 * since the last sync is given up and a new file is begun, because the system may not report again
 * what it could not write. */
#include "base/fault.h"
#include "base/value.h"
#include "base/vec.h"
#include "index/docs/docstore_inner.h"
#include "soif/soif_parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>

/* Bytes of blocks after which a sync makes the table durable: what a start may have to look at. */
enum { UNSAVED_MOST = 64 << 20 };

/* The end of a file of blocks */

void store_path(const char *folder, uint32_t number, const char *kind, char *ret)
{
	snprintf(ret, PATH_MAX, "%s/%08" PRIu32 "%s", folder, number, kind);
}

bool appender_open(const struct appender *a)
{
	return a->f.fd >= 0;
}

bool appender_full(const struct appender *a)
{
	return a->is.length >= BLOCK_FILE_FULL;
}

static int appender_write_head(struct appender *a, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(BLOCK_FILE_HEAD);
	if (getrandom(&a->id.salt, sizeof a->id.salt, 0) < 0)
		return err_sys(err, "%s: random bytes for its beginning", a->f.path);
	block_file_head_make(&a->id, &head);
	return file_write(&a->f, head.p, head.n, 0, err);
}

int appender_begin(struct appender *a, const char *folder, const struct block_file *id,
		   struct err *err)
{
	char path[PATH_MAX];
	ENSURE(!appender_open(a));
	if (id->number >= BLOCK_FILES)
		return err_set(err, ERR_SYSTEM, "%s: all %d numbers of files are used up", folder,
			       BLOCK_FILES - 1);
	store_path(folder, id->number, id->compacted ? ".docs.new" : ".docs", path);
	FAULT("docstore.file");
	if (file_open(&a->f, path, O_RDWR | O_CREAT | O_TRUNC, 0644, err) < 0)
		return -1;
	a->id = *id;
	a->is = (struct store_file){
		.number = id->number, .compacted = id->compacted, .length = BLOCK_FILE_HEAD};
	FAULT("docstore.file.head");
	if (appender_write_head(a, err) < 0 || dir_sync(folder, err) < 0) {
		file_drop(&a->f);
		return -1;
	}
	a->dirty = true;
	return 0;
}

int appender_resume(struct appender *a, const char *folder, const struct store_file *is,
		    struct err *err)
{
	char path[PATH_MAX], head[BLOCK_FILE_HEAD];
	size_t got;
	struct err why;
	store_path(folder, is->number, ".docs", path);
	int rc = file_open(&a->f, path, O_RDWR, 0, err);
	if (rc != 0)
		return rc;
	rc = file_read(&a->f, head, sizeof head, 0, &got, err);
	if (rc == 0)
		rc = block_file_head_read((struct str){head, got}, path, &a->id, &why) < 0 ||
		     a->id.number != is->number || a->id.compacted;
	if (rc != 0)
		file_drop(&a->f);
	a->is = *is;
	a->dirty = false;
	return rc;
}

/* Whether the block has to be written before this many bytes can be added. */
static bool appender_must_write(const struct appender *a, size_t n)
{
	/* A large one gets a block of its own, so that its neighbours stay cheap to read. */
	return block_full(&a->block) || (a->block.docs && n >= DOCSTORE_BLOCK);
}

/* Writes the block, which stays as it is for those who read it, until appender_wrote(). */
static int appender_write(struct appender *a, struct err *err)
{
	struct str bytes = block_make(&a->block, &a->id, a->is.length);
	FAULT("docstore.block");
	if (file_write(&a->f, bytes.p, bytes.n, a->is.length, err) < 0)
		return -1;
	FAULT("docstore.block.written");
	a->made = bytes.n;
	a->dirty = true;
	return 0;
}

static void appender_wrote(struct appender *a)
{
	a->is.length += a->made;
	a->made = 0;
	block_clear(&a->block);
}

/* Adds to the block. */
static void appender_add(struct appender *a, uint64_t oid, struct str text)
{
	block_add(&a->block, oid, text);
	a->is.docs++;
	a->is.text_bytes += text.n;
}

/* What was written is on disk. */
static int appender_sync(struct appender *a, struct err *err)
{
	FAULT("docstore.sync");
	if (file_sync(&a->f, err) < 0)
		return -1;
	FAULT("docstore.synced");
	a->dirty = false;
	return 0;
}

int appender_put(struct appender *a, uint64_t oid, struct str text, struct err *err)
{
	const struct block_maker *b = &a->block;
	bool goes_back =
		b->docs && oid <= b->oid[b->docs - 1]; /* a block ascends, a file need not */
	if (goes_back || appender_must_write(a, text.n)) {
		if (appender_write(a, err) < 0)
			return -1;
		appender_wrote(a);
	}
	appender_add(a, oid, text);
	return 0;
}

int appender_finish(struct appender *a, struct err *err)
{
	if (a->block.docs) {
		if (appender_write(a, err) < 0)
			return -1;
		appender_wrote(a);
	}
	return a->dirty ? appender_sync(a, err) : 0;
}

void appender_drop(struct appender *a)
{
	file_drop(&a->f);
	block_clear(&a->block);
	a->is = (struct store_file){0};
	a->dirty = false;
}

void appender_free(struct appender *a)
{
	appender_drop(a);
	block_maker_free(&a->block);
}

/* The store */

static void path_of(const struct docstore *ds, const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", ds->folder, name);
}

struct docstore *docstore_new(const char *folder)
{
	char path[PATH_MAX];
	struct docstore *ds = mem_alloc(sizeof *ds);
	ds->folder = mem_text(folder);
	path_of(ds, "table", path);
	ds->table_path = mem_text(path);
	pthread_rwlockattr_t attr; /* many readers must not keep a writer waiting for ever */
	ENSURE(pthread_rwlockattr_init(&attr) == 0);
	ENSURE(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) ==
	       0);
	ENSURE(pthread_rwlock_init(&ds->lock, &attr) == 0);
	pthread_rwlockattr_destroy(&attr);
	ds->table = DOC_TABLE_INIT;
	ds->cache = block_cache_new();
	ds->next = 1;
	ds->taken.file = FILE_INIT;
	ds->end = APPENDER_INIT;
	ds->text = BUF_INIT(DOCSTORE_DOC_MOST);
	return ds;
}

void docstore_close(struct docstore **dsp)
{
	struct docstore *ds = *dsp;
	if (!ds)
		return;
	appender_free(&ds->end);
	mapped_free_all(ds);
	table_close(&ds->table);
	block_cache_free(&ds->cache);
	buf_free(&ds->text);
	mem_free(&ds->file);
	lock_free(&ds->taken);
	pthread_rwlock_destroy(&ds->lock);
	mem_free(&ds->folder);
	mem_free(&ds->table_path);
	mem_free(dsp);
}

int docstore_writes(const struct docstore *ds, struct err *err)
{
	return ds->writes
		       ? 0
		       : err_set(err, ERR_USAGE,
				 "%s: the document store was opened to be read only", ds->folder);
}

/* Files of blocks, in the order of their numbers */

static size_t store_file_place(const struct docstore *ds, uint32_t number)
{
	return BISECT(i, 0, ds->nfiles, ds->file[i].number < number);
}

struct store_file *store_file_find(const struct docstore *ds, uint32_t number)
{
	size_t at = store_file_place(ds, number);
	return at < ds->nfiles && ds->file[at].number == number ? &ds->file[at] : NULL;
}

struct store_file *store_file_add(struct docstore *ds, uint32_t number)
{
	size_t at = store_file_place(ds, number);
	VEC_ROOM(ds->file, ds->file_room, ds->nfiles + 1);
	memmove(&ds->file[at + 1], &ds->file[at], (ds->nfiles - at) * sizeof *ds->file);
	ds->file[at] = (struct store_file){.number = number};
	ds->nfiles++;
	return &ds->file[at];
}

void store_file_forget(struct docstore *ds, uint32_t number)
{
	size_t at = store_file_place(ds, number);
	ENSURE(at < ds->nfiles && ds->file[at].number == number);
	ds->nfiles--;
	memmove(&ds->file[at], &ds->file[at + 1], (ds->nfiles - at) * sizeof *ds->file);
}

/* Putting */

static int fail_put(struct docstore *ds, struct err *err)
{
	err_then(err, "%" PRIu64 " documents since the last sync are not kept", ds->since);
	ds->why = *err;
	ds->failed = true;
	return -1;
}

/* The documents of the block are where the table then says they are. */
static void tell_table(struct docstore *ds)
{
	const struct block_maker *b = &ds->end.block;
	for (unsigned i = 0; i < b->docs; i++) {
		uint32_t bytes = b->end[i] - (i ? b->end[i - 1] : 0);
		uint64_t addr = block_addr(ds->end.is.number, ds->end.is.length, i);
		table_set(&ds->table, b->oid[i], (struct table_slot){addr, bytes});
	}
}

static int write_block(struct docstore *ds, struct err *err)
{
	const struct block_maker *b = &ds->end.block;
	struct store_file *f = store_file_find(ds, ds->end.is.number);
	if (appender_write(&ds->end, err) < 0)
		return -1;
	pthread_rwlock_wrlock(&ds->lock);
	int rc = table_grow(&ds->table, b->oid[b->docs - 1], err);
	if (rc == 0) {
		tell_table(ds);
		ds->unsaved += ds->end.made;
		appender_wrote(&ds->end);
		f->length = ds->end.is.length;
	}
	pthread_rwlock_unlock(&ds->lock);
	return rc;
}

uint32_t docstore_number(struct docstore *ds)
{
	pthread_rwlock_wrlock(&ds->lock);
	uint32_t number = ds->next++;
	pthread_rwlock_unlock(&ds->lock);
	return number;
}

static int begin_file(struct docstore *ds, struct err *err)
{
	if (appender_open(&ds->end) && appender_sync(&ds->end, err) < 0)
		return -1;
	struct block_file id = {.number = docstore_number(ds)};
	pthread_rwlock_wrlock(&ds->lock); /* readers look whether theirs is in the making */
	if (appender_open(&ds->end))
		appender_drop(&ds->end);
	struct store_file *f = store_file_add(ds, id.number); /* to be removed after a failure */
	int rc = appender_begin(&ds->end, ds->folder, &id, err);
	if (rc == 0)
		*f = ds->end.is;
	pthread_rwlock_unlock(&ds->lock);
	return rc;
}

static int make_room(struct docstore *ds, size_t n, struct err *err)
{
	if (appender_open(&ds->end) && appender_must_write(&ds->end, n) && write_block(ds, err) < 0)
		return -1;
	/* Only between blocks: one in the making has told its addresses. */
	bool between = ds->end.block.docs == 0;
	if (!appender_open(&ds->end) || (between && appender_full(&ds->end)))
		return begin_file(ds, err);
	return 0;
}

/* As SOIF that can be read back. */
static int print_doc_text(struct docstore *ds, const struct soif *obj, struct err *err)
{
	char url[VALUE_SHOWN];
	bool fits = obj->n <= SOIF_MAX_ATTRS && obj->type.n <= SOIF_MAX_NAME &&
		    obj->url.n <= SOIF_MAX_NAME;
	for (size_t i = 0; i < obj->n && fits; i++)
		fits = obj->attr[i].name.n <= SOIF_MAX_NAME;
	buf_clear(&ds->text);
	if (fits && soif_print(obj, &ds->text, err) < 0)
		return -1;
	if (!fits || ds->text.over)
		return err_set(err, ERR_USAGE,
			       "%s: larger than a document may be (%d MiB, %d attributes, names "
			       "of %d bytes), not stored",
			       value_show(obj->url, url), DOCSTORE_DOC_MOST >> 20, SOIF_MAX_ATTRS,
			       SOIF_MAX_NAME);
	return 0;
}

int docstore_put(struct docstore *ds, uint64_t oid, const struct soif *obj, struct err *err)
{
	if (docstore_writes(ds, err) < 0)
		return -1;
	if (ds->failed) {
		*err = ds->why;
		return -1;
	}
	if (oid <= ds->top || oid > DOCSTORE_OID_MOST)
		return err_set(err, ERR_USAGE,
			       "%s: document %" PRIu64 " cannot come after %" PRIu64 ", not stored",
			       ds->folder, oid, ds->top);
	if (print_doc_text(ds, obj, err) < 0)
		return -1;
	if (make_room(ds, ds->text.n, err) < 0)
		return fail_put(ds, err);
	pthread_rwlock_wrlock(&ds->lock);
	appender_add(&ds->end, oid, buf_str(&ds->text));
	struct store_file *f = store_file_find(ds, ds->end.is.number);
	f->docs = ds->end.is.docs;
	f->text_bytes = ds->end.is.text_bytes;
	pthread_rwlock_unlock(&ds->lock);
	ds->top = oid;
	ds->since++;
	return 0;
}

/* Deleting */

static bool block_has(const struct block_maker *b, uint64_t oid)
{
	return b->docs && oid >= b->oid[0];
}

int docstore_delete(struct docstore *ds, uint64_t oid, struct err *err)
{
	struct table_slot slot;
	if (docstore_writes(ds, err) < 0)
		return -1;
	if (ds->failed) {
		*err = ds->why;
		return -1;
	}
	if (block_has(&ds->end.block, oid) && write_block(ds, err) < 0)
		return fail_put(ds, err);
	int rc = table_get(&ds->table, oid, &slot);
	if (table_check(&ds->table, err) < 0)
		return -1;
	if (rc != 0)
		return rc < 0 ? table_slot_damaged(&ds->table, oid, err) : 1;
	FAULT("docstore.delete");
	table_set(&ds->table, oid, (struct table_slot){0});
	struct store_file *f = store_file_find(ds, block_addr_file(slot.addr));
	if (f && ds->counted) {
		f->dead_docs++;
		f->dead_bytes += slot.bytes;
	}
	return 0;
}

/* Syncing */

static int remove_file(struct docstore *ds, uint32_t number, struct err *err)
{
	char path[PATH_MAX];
	store_path(ds->folder, number, ".docs", path);
	FAULT("docstore.back");
	return MIN(file_remove(path, err), 0);
}

/* What was written to the file of the mark after it: files before another one count as a whole. */
static int cut_back(struct docstore *ds, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct store_file *is = store_file_find(ds, ds->synced.file);
	if (!is)
		return 0;
	store_path(ds->folder, is->number, ".docs", path);
	int rc = file_open(&f, path, O_RDWR, 0, err);
	if (rc != 0)
		return MIN(rc, 0);
	FAULT("docstore.back.cut");
	if (file_truncate(&f, ds->synced.length, err) < 0 || file_sync(&f, err) < 0)
		return -1;
	*is = ds->synced_is;
	return 0;
}

/* Back to the last sync. The system may not tell again what it could not write: the next document
 * begins a new file. */
static int go_back(struct docstore *ds, struct err *err)
{
	int rc = 0;
	pthread_rwlock_wrlock(&ds->lock);
	appender_drop(&ds->end);
	table_clear_from(&ds->table, ds->synced_top + 1);
	for (size_t i = ds->nfiles; i-- > 0 && rc == 0;) {
		struct store_file f = ds->file[i];
		if (f.compacted || f.number <= ds->synced.file)
			continue;
		rc = remove_file(ds, f.number, err);
		if (rc == 0)
			store_file_forget(ds, f.number);
	}
	if (rc == 0)
		rc = cut_back(ds, err);
	mapped_tidy(ds);
	pthread_rwlock_unlock(&ds->lock);
	if (rc < 0)
		return err_in(err, "after a failure");
	ds->top = ds->synced_top;
	ds->counted = false;
	ds->since = 0;
	ds->failed = false;
	return 0;
}

static int sync_all(struct docstore *ds, struct err *err)
{
	if (ds->end.block.docs && write_block(ds, err) < 0)
		return -1;
	if (ds->end.dirty && appender_sync(&ds->end, err) < 0)
		return -1;
	if (appender_open(&ds->end)) {
		ds->synced = (struct docstore_mark){ds->end.is.number, ds->end.is.length};
		ds->synced_is = ds->end.is;
	}
	ds->synced_top = ds->top;
	return 0;
}

int docstore_sync(struct docstore *ds, struct docstore_mark *ret, struct err *err)
{
	struct err other;
	if (docstore_writes(ds, err) < 0)
		return -1;
	if (!ds->failed && sync_all(ds, err) < 0)
		(void)fail_put(ds, err);
	if (ds->failed) {
		*err = ds->why;
		if (go_back(ds, &other) < 0)
			*err = other;
		return -1;
	}
	ds->since = 0;
	if (ds->unsaved >= UNSAVED_MOST)
		(void)store_save(ds, &other); /* the blocks are there; the next sync tries again */
	*ret = ds->synced;
	return 0;
}

int docstore_checkpoint(struct docstore *ds, struct err *err)
{
	return docstore_writes(ds, err) < 0 ? -1 : store_save(ds, err);
}

/* All documents */

int docstore_each(struct docstore *ds, uint64_t from, docstore_doc_fn *fn, void *ctx,
		  struct err *err)
{
	struct table_slot slot;
	if (docstore_writes(ds, err) < 0)
		return -1;
	if (ds->end.block.docs && !ds->failed && write_block(ds, err) < 0)
		return fail_put(ds, err);
	int rc = 0;
	for (uint64_t oid = MAX(from, UINT64_C(1));
	     rc == 0 && oid <= ds->top && table_has_room(&ds->table, oid); oid++) {
		int there = table_get(&ds->table, oid, &slot);
		if (there == 0)
			rc = fn(ctx, oid, err);
		else if (there < 0)
			rc = table_slot_damaged(&ds->table, oid, err);
	}
	return table_check(&ds->table, err) < 0 ? -1 : rc;
}
