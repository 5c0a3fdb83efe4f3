/* The document store as its writer sees it: opening, putting, deleting, syncing. Documents collect
 * in a block, which is written when it is full; nothing counts before a sync has written the
 * ledger. After a failure all since the last sync is given up and a new file is begun, because the
 * system may not report again what it could not write. */
#include "base/fault.h"
#include "base/value.h"
#include "index/docstore_inner.h"
#include "soif/soif_parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>

enum {
	LEDGER_SLACK = 1 << 20, /* bytes beyond its weight after which a ledger is written anew */
	DEAD_MOST = 128 << 20,  /* bytes of deletes between two syncs */
};

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

int appender_begin(struct appender *a, const char *folder, uint32_t number, struct err *err)
{
	char path[PATH_MAX];
	ENSURE(!appender_open(a));
	if (number >= BLOCK_FILES)
		return err_set(err, ERR_SYSTEM, "%s: all %d numbers of files are used up", folder,
			       BLOCK_FILES - 1);
	store_path(folder, number, ".docs", path);
	FAULT("docstore.file");
	if (file_open(&a->f, path, O_RDWR | O_CREAT | O_TRUNC, 0644, err) < 0)
		return -1;
	a->id = (struct block_file){.number = number};
	a->is = (struct ledger_file){.number = number, .length = BLOCK_FILE_HEAD};
	FAULT("docstore.file.head");
	if (appender_write_head(a, err) < 0 || dir_sync(folder, err) < 0) {
		file_drop(&a->f);
		return -1;
	}
	a->dirty = true;
	return 0;
}

static int appender_read_head(struct appender *a, struct err *err)
{
	char head[BLOCK_FILE_HEAD];
	size_t got;
	if (file_read(&a->f, head, sizeof head, 0, &got, err) < 0)
		return -1;
	struct err why;
	return block_file_head_read((struct str){head, got}, a->f.path, &a->id, &why) < 0 ||
	       a->id.number != a->is.number;
}

/* Goes on at the end of one; bytes after it are overwritten. 1: the file is shorter than that, or
 * is not there, or is another: it is left alone. */
static int appender_resume(struct appender *a, const char *folder, const struct ledger_file *is,
			   struct err *err)
{
	char path[PATH_MAX];
	uint64_t size = 0;
	store_path(folder, is->number, ".docs", path);
	int rc = file_open(&a->f, path, O_RDWR, 0, err);
	if (rc != 0)
		return rc;
	a->is = *is;
	rc = file_size(&a->f, &size, err);
	if (rc == 0)
		rc = size < is->length ? 1 : appender_read_head(a, err);
	if (rc != 0)
		file_drop(&a->f);
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
static struct docaddr appender_add(struct appender *a, struct str text)
{
	struct docaddr addr = block_addr(a->is.number, a->is.length, a->block.docs);
	block_add(&a->block, text);
	a->is.docs++;
	a->is.text_bytes += text.n;
	return addr;
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

int appender_put(struct appender *a, struct str text, struct docaddr *ret, struct err *err)
{
	if (appender_must_write(a, text.n)) {
		if (appender_write(a, err) < 0)
			return -1;
		appender_wrote(a);
	}
	*ret = appender_add(a, text);
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
	a->is = (struct ledger_file){0};
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
	path_of(ds, "ledger", path);
	ds->ledger_path = mem_text(path);
	pthread_rwlockattr_t attr; /* many readers must not keep a writer waiting for ever */
	ENSURE(pthread_rwlockattr_init(&attr) == 0);
	ENSURE(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) ==
	       0);
	ENSURE(pthread_rwlock_init(&ds->lock, &attr) == 0);
	pthread_rwlockattr_destroy(&attr);
	ds->ledger = LEDGER_INIT;
	ds->cache = block_cache_new();
	ds->taken.file = FILE_INIT;
	ds->end = APPENDER_INIT;
	ds->text = BUF_INIT(DOCSTORE_DOC_MOST);
	ds->new_files = BUF_INIT(1 << 20);
	ds->new_dead = BUF_INIT(DEAD_MOST);
	return ds;
}

void docstore_close(struct docstore **dsp)
{
	struct docstore *ds = *dsp;
	struct err ignored;
	if (!ds)
		return;
	if (ds->book)
		(void)record_close(&ds->book, &ignored); /* all in it is durable */
	record_reader_free(&ds->records);
	appender_free(&ds->end);
	mapped_free_all(ds);
	ledger_free(&ds->ledger);
	block_cache_free(&ds->cache);
	buf_free(&ds->text);
	buf_free(&ds->new_files);
	buf_free(&ds->new_dead);
	lock_free(&ds->taken);
	pthread_rwlock_destroy(&ds->lock);
	mem_free(&ds->folder);
	mem_free(&ds->ledger_path);
	mem_free(dsp);
}

int docstore_writes(const struct docstore *ds, struct err *err)
{
	return ds->writes
		       ? 0
		       : err_set(err, ERR_USAGE,
				 "%s: the document store was opened to be read only", ds->folder);
}

/* The ledger */

struct rewriting {
	struct record_writer *to;
	struct record_group group;
};

static int rewrite_record(void *ctx, struct str record, struct err *err)
{
	struct rewriting *w = ctx;
	return record_append(w->to, record, &w->group, NULL, err);
}

/* A new ledger next to the old one, complete and durable. */
static int write_beside(struct docstore *ds, const char *path, struct err *err)
{
	struct rewriting w = {0};
	if (file_remove(path, err) < 0 ||
	    record_open(&w.to, path, &ledger_kind, 0644, NULL, err) < 0)
		return -1;
	FAULT("docstore.ledger.new");
	pthread_rwlock_rdlock(&ds->lock);
	int rc = ledger_print(&ds->ledger, rewrite_record, &w, err);
	pthread_rwlock_unlock(&ds->lock);
	if (rc == 0)
		rc = record_sync(w.to, &w.group, err);
	if (rc < 0) {
		record_drop(&w.to);
		return -1;
	}
	return record_close(&w.to, err);
}

/* The state of a ledger is small, its history is not. Nothing is waiting to be written to it. */
static int rewrite_ledger(struct docstore *ds, struct err *err)
{
	char path[PATH_MAX];
	path_of(ds, "ledger.new", path);
	if (write_beside(ds, path, err) < 0 || record_close(&ds->book, err) < 0)
		return -1;
	ds->names_new = true;
	FAULT("docstore.ledger.rename");
	return file_rename(path, ds->ledger_path, err);
}

/* Also makes sure that it is this ledger that a power cut leaves. */
static int open_book(struct docstore *ds, struct err *err)
{
	if (!ds->book && record_open(&ds->book, ds->ledger_path, &ledger_kind, 0644, NULL, err) < 0)
		return -1;
	FAULT("docstore.ledger.renamed");
	if (ds->names_new && dir_sync(ds->folder, err) < 0)
		return -1;
	ds->names_new = false;
	return 0;
}

static int tidy_ledger(struct docstore *ds, struct err *err)
{
	if (record_end(ds->book) < LEDGER_SLACK + 4 * ledger_weight(&ds->ledger))
		return 0;
	int rc = rewrite_ledger(ds, err);
	return open_book(ds, err) < 0 ? -1 : rc;
}

int book_write(struct docstore *ds, struct str record, struct err *err)
{
	struct record_group group = {0};
	if (open_book(ds, err) < 0)
		return -1;
	FAULT("docstore.ledger");
	if (record_append(ds->book, record, &group, NULL, err) < 0 ||
	    record_sync(ds->book, &group, err) < 0)
		return -1;
	FAULT("docstore.ledger.synced");
	return 0;
}

/* Opening */

/* The number of a file of ours. */
static bool parse_name(const char *name, const char *kind, uint32_t *ret)
{
	struct str s = str_of(name);
	uint64_t number;
	if (!str_ends(s, str_of(kind)) || !str_u64(str_head(s, s.n - strlen(kind)), &number) ||
	    number >= BLOCK_FILES)
		return false;
	*ret = (uint32_t)number;
	return true;
}

static int remove_counted(const char *path, uint64_t *bytes, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size = 0;
	if (file_open(&f, path, O_RDONLY, 0, err) < 0 ||
	    (f.fd >= 0 && file_size(&f, &size, err) < 0))
		return -1;
	FAULT("docstore.sweep");
	*bytes += size;
	return file_remove(path, err) < 0 ? -1 : 0;
}

static int sweep_name(struct docstore *ds, const char *name, uint64_t *bytes, struct err *err)
{
	char path[PATH_MAX];
	uint32_t number = 0;
	uint64_t not_counted = 0;
	path_of(ds, name, path);
	if (parse_name(name, ".docs", &number))
		return ledger_find(&ds->ledger, number) ? 0 : remove_counted(path, bytes, err);
	if (parse_name(name, ".moved", &number) || strcmp(name, "ledger.new") == 0) {
		bool wanted = name[0] != 'l' && ledger_find_moved(&ds->ledger, number);
		return wanted ? 0 : remove_counted(path, &not_counted, err);
	}
	return 0;
}

int docstore_sweep(struct docstore *ds, uint64_t *ret_bytes, struct err *err)
{
	struct dir d;
	const char *name;
	int rc = dir_init_own(&d, ds->folder, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while (rc == 0 && dir_next(&d, &name) == 0)
		rc = sweep_name(ds, name, ret_bytes, err);
	dir_done(&d);
	return rc;
}

/* What lies after the last sync. A file that is shorter is damaged, which those who read it will
 * be told. */
static int cut_file(struct docstore *ds, const struct ledger_file *is, uint64_t *bytes,
		    struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size;
	store_path(ds->folder, is->number, ".docs", path);
	int rc = file_open(&f, path, O_RDWR, 0, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (file_size(&f, &size, err) < 0)
		return -1;
	if (size <= is->length)
		return 0;
	*bytes += size - is->length;
	FAULT("docstore.cut");
	return file_truncate(&f, is->length, err);
}

/* Goes on in the last file, where that is possible. */
static int resume_end(struct docstore *ds, struct err *err)
{
	const struct ledger *l = &ds->ledger;
	if (l->files == 0 || l->file[l->files - 1].length >= BLOCK_FILE_FULL)
		return 0;
	return appender_resume(&ds->end, ds->folder, &l->file[l->files - 1], err) < 0 ? -1 : 0;
}

static int open_to_write(struct docstore *ds, uint64_t *ret_cut, struct err *err)
{
	char path[PATH_MAX];
	uint64_t cut = 0;
	path_of(ds, "lock", path);
	if (dir_make(ds->folder, DIR_MODE, err) < 0 ||
	    lock_take(&ds->taken, path, "document store", err) < 0)
		return -1;
	ds->writes = ds->names_new = true;
	if (open_book(ds, err) < 0 || ledger_load(&ds->ledger, ds->ledger_path, err) < 0 ||
	    docstore_sweep(ds, &cut, err) < 0)
		return -1;
	for (size_t i = 0; i < ds->ledger.files; i++)
		if (cut_file(ds, &ds->ledger.file[i], &cut, err) < 0)
			return -1;
	if (resume_end(ds, err) < 0 || tidy_ledger(ds, err) < 0)
		return -1;
	if (ret_cut)
		*ret_cut = cut;
	return 0;
}

int docstore_open(struct docstore **ret, const char *folder, uint64_t *ret_cut, struct err *err)
{
	struct docstore *ds = docstore_new(folder);
	if (open_to_write(ds, ret_cut, err) < 0) {
		docstore_close(&ds);
		return -1;
	}
	*ret = ds;
	return 0;
}

/* Putting */

static int fail_put(struct docstore *ds, struct err *err)
{
	err_then(err, "%" PRIu64 " documents since the last sync are not kept", ds->since);
	ds->why = *err;
	ds->failed = true;
	return -1;
}

static int write_block(struct docstore *ds, struct err *err)
{
	struct ledger_file *f = ledger_find(&ds->ledger, ds->end.is.number);
	if (appender_write(&ds->end, err) < 0)
		return -1;
	pthread_rwlock_wrlock(&ds->lock);
	appender_wrote(&ds->end);
	f->length = ds->end.is.length;
	pthread_rwlock_unlock(&ds->lock);
	return 0;
}

uint32_t docstore_number(struct docstore *ds)
{
	pthread_rwlock_wrlock(&ds->lock);
	uint32_t number = ds->ledger.next++;
	pthread_rwlock_unlock(&ds->lock);
	return number;
}

static int begin_file(struct docstore *ds, struct err *err)
{
	CLEANUP(buf_free) struct buf change = BUF_INIT(64);
	if (appender_open(&ds->end)) {
		if (appender_sync(&ds->end, err) < 0)
			return -1;
		ledger_put_file(&ds->new_files, &ds->end.is);
	}
	uint32_t number = docstore_number(ds);
	pthread_rwlock_wrlock(&ds->lock); /* readers look whether theirs is in the making */
	if (appender_open(&ds->end))
		appender_drop(&ds->end);
	int rc = appender_begin(&ds->end, ds->folder, number, err);
	if (rc == 0) {
		ledger_put_file(&change, &ds->end.is);
		rc = ledger_apply(&ds->ledger, buf_str(&change), ds->ledger_path, err);
	}
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

int docstore_put(struct docstore *ds, const struct soif *obj, struct docaddr *ret, struct err *err)
{
	if (docstore_writes(ds, err) < 0)
		return -1;
	if (ds->failed) {
		*err = ds->why;
		return -1;
	}
	if (print_doc_text(ds, obj, err) < 0)
		return -1;
	if (make_room(ds, ds->text.n, err) < 0)
		return fail_put(ds, err);
	pthread_rwlock_wrlock(&ds->lock);
	struct docaddr addr = appender_add(&ds->end, buf_str(&ds->text));
	struct ledger_file *f = ledger_find(&ds->ledger, ds->end.is.number);
	f->docs = ds->end.is.docs;
	f->text_bytes = ds->end.is.text_bytes;
	pthread_rwlock_unlock(&ds->lock);
	ds->since++;
	*ret = addr;
	return 0;
}

/* Deleting */

/* Its bytes of text; *addr becomes where it lies now. 1: it is not there. */
static int find_living(struct docstore *ds, struct docaddr *addr, uint32_t *ret_n, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct ledger_moved *moved = ledger_find_moved(&ds->ledger, block_addr_file(*addr));
	struct str text;
	int rc = 0;
	if (moved) {
		pthread_rwlock_wrlock(&ds->lock);
		rc = moved_find(ds, moved, *addr, addr, err);
		pthread_rwlock_unlock(&ds->lock);
	}
	if (rc == 0)
		rc = docstore_text(ds, *addr, &arena, &text, err);
	if (rc == 0)
		*ret_n = (uint32_t)text.n;
	arena_free(&arena);
	return rc;
}

int docstore_delete(struct docstore *ds, struct docaddr addr, struct err *err)
{
	uint32_t n = 0;
	if (docstore_writes(ds, err) < 0)
		return -1;
	int rc = find_living(ds, &addr, &n, err);
	if (rc != 0)
		return rc;
	if (ds->new_dead.n + 64 > ds->new_dead.max)
		return err_set(err, ERR_USAGE,
			       "%s: too many documents are deleted at once, sync in between",
			       ds->folder);
	ledger_put_dead(&ds->new_dead, addr, n);
	struct ledger_file *f = ledger_find(&ds->ledger, block_addr_file(addr));
	pthread_rwlock_wrlock(&ds->lock);
	*ledger_dead_put(&ds->ledger.dead, addr.v) = n;
	f->dead_docs++;
	f->dead_bytes += n;
	pthread_rwlock_unlock(&ds->lock);
	return 0;
}

/* Syncing */

/* Back to what the ledger has. The current file may hold anything after that, and the system may
 * not tell again what it could not write: the next document begins a new one. */
static int go_back(struct docstore *ds, struct err *err)
{
	struct ledger l;
	if (ledger_load(&l, ds->ledger_path, err) < 0)
		return err_in(err, "after a failure");
	pthread_rwlock_wrlock(&ds->lock);
	l.next = MAX(l.next, ds->ledger.next);
	appender_drop(&ds->end);
	ledger_free(&ds->ledger);
	ds->ledger = l;
	mapped_tidy(ds);
	pthread_rwlock_unlock(&ds->lock);
	buf_clear(&ds->new_files);
	buf_clear(&ds->new_dead);
	ds->since = 0;
	ds->failed = false;
	return 0;
}

static int sync_all(struct docstore *ds, struct err *err)
{
	CLEANUP(buf_free) struct buf record = BUF_INIT(RECORD_MOST);
	if (ds->end.block.docs && write_block(ds, err) < 0)
		return -1;
	buf_add_str(&record, buf_str(&ds->new_files));
	if (ds->end.dirty) {
		if (appender_sync(&ds->end, err) < 0)
			return -1;
		ledger_put_file(&record, &ds->end.is);
	}
	buf_add_str(&record, buf_str(&ds->new_dead));
	return record.n ? book_write(ds, buf_str(&record), err) : 0;
}

int docstore_sync(struct docstore *ds, struct err *err)
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
	buf_clear(&ds->new_files);
	buf_clear(&ds->new_dead);
	ds->since = 0;
	(void)tidy_ledger(ds, &other); /* what is there counts; the next sync tries again */
	return 0;
}
