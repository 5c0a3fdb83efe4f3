/* The document store as its readers see it. A reader follows the ledger (one stat a document tells
 * whether it has grown), maps files as they are wanted, and keeps the blocks that were unpacked
 * last. */
#include "disk/map_guard.h"
#include "index/docstore_inner.h"
#include "soif/soif_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Files of blocks, mapped */

/* The file that grows is mapped further than it reaches, so that it is not mapped anew with every
 * sync; nothing is read after what counts. */
enum { MAP_STEP = 64 << 20 };

static size_t map_size(uint64_t length)
{
	return ((size_t)length + MAP_STEP - 1) / MAP_STEP * MAP_STEP;
}

/* What is mapped of it, if that is enough; also with the lock held to read. */
static struct mapped *mapped_has(const struct docstore *ds, uint32_t number, uint64_t length)
{
	struct mapped **m = mapped_files_get(&ds->files, number);
	return m && (*m)->size >= length ? *m : NULL;
}

int mapped_check(const struct mapped *m, struct err *err)
{
	if (LIKELY(!map_guard_failed(m->guard)))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: part of it cannot be read any more; look for errors of the disk, or "
		       "for what cut it",
		       m->path);
}

static void mapped_free(struct mapped *m)
{
	map_guard_free(&m->guard);
	if (m->map)
		(void)munmap(m->map, m->size);
	mem_free(&m->path);
	mem_free(&m);
}

int mapped_open(struct mapped *m, const struct file *f, uint64_t size, struct err *err)
{
	char head[BLOCK_FILE_HEAD];
	size_t got;
	if (file_read(f, head, sizeof head, 0, &got, err) < 0 ||
	    block_file_head_read((struct str){head, got}, f->path, &m->id, err) < 0)
		return -1;
	m->size = (size_t)size;
	void *p = mmap(NULL, m->size, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, "%s: map of %zu bytes", f->path, m->size);
	m->map = p;
	m->guard = map_guard_new(p, m->size);
	return 0;
}

int mapped_get(struct docstore *ds, uint32_t number, uint64_t length, struct mapped **ret,
	       struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	if ((*ret = mapped_has(ds, number, length)))
		return 0;
	store_path(ds->folder, number, ".docs", path);
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	struct mapped *m = mem_alloc(sizeof *m);
	m->path = mem_text(path);
	rc = mapped_open(m, &f, map_size(length), err);
	if (rc == 0 && m->id.number != number)
		rc = err_set(err, ERR_DAMAGED, "%s: says that it is file %" PRIu32, path,
			     m->id.number);
	if (rc < 0) {
		mapped_free(m);
		return -1;
	}
	struct mapped **slot = mapped_files_put(&ds->files, number);
	if (*slot)
		mapped_free(*slot);
	*slot = *ret = m;
	return 0;
}

void mapped_tidy(struct docstore *ds)
{
	TABLE_EACH (mapped_files, slot, &ds->files) {
		if (ledger_find(&ds->ledger, slot->key))
			continue;
		mapped_free(slot->value);
		(void)mapped_files_remove(&ds->files, slot->key);
	}
	TABLE_EACH (moved_files, slot, &ds->moved) {
		if (ledger_find_moved(&ds->ledger, slot->key))
			continue;
		page_close(&slot->value);
		(void)moved_files_remove(&ds->moved, slot->key);
	}
}

void mapped_free_all(struct docstore *ds)
{
	TABLE_EACH (mapped_files, slot, &ds->files)
		mapped_free(slot->value);
	TABLE_EACH (moved_files, slot, &ds->moved)
		page_close(&slot->value);
	mapped_files_free(&ds->files);
	moved_files_free(&ds->moved);
}

/* Unpacked blocks. The hits of a page of results often share blocks, and a document that was shown
 * is soon asked for again. Large blocks hold one document each and are not kept. */

/* The hits of a page of results often share blocks, and a document that was shown is soon asked for
 * again. Large blocks hold one document each and are not kept. */
enum { KEPT = 64, KEPT_BYTES = 256 << 10 };

struct kept {
	uint64_t block; /* the address without the number in it; 0: free */
	uint64_t used;  /* when */
	char *text;
	char *lengths;
	struct block is; /* its slices: lengths in ours, nothing else */
};

struct block_cache {
	pthread_mutex_t lock;
	struct kept kept[KEPT];
	uint64_t now;
	ZSTD_DCtx *idle; /* one that nobody is using */
};

struct block_cache *block_cache_new(void)
{
	struct block_cache *c = mem_alloc(sizeof *c);
	ENSURE(pthread_mutex_init(&c->lock, NULL) == 0);
	return c;
}

static void kept_free(struct kept *k)
{
	mem_free(&k->text);
	mem_free(&k->lengths);
	*k = (struct kept){0};
}

void block_cache_free(struct block_cache **cp)
{
	struct block_cache *c = *cp;
	if (!c)
		return;
	for (size_t i = 0; i < KEPT; i++)
		kept_free(&c->kept[i]);
	ZSTD_freeDCtx(c->idle);
	pthread_mutex_destroy(&c->lock);
	mem_free(cp);
}

static const struct docstore_part whole = {.most = SIZE_MAX};

static struct str part_of(struct str text, const struct docstore_part *part)
{
	return str_head(str_from(text, (size_t)MIN(part->from, text.n)), part->most);
}

static int cache_copy_slot(const struct block *b, const char *text, struct docaddr addr,
			   const struct docstore_part *part, struct arena *arena, struct str *ret)
{
	size_t from, n;
	if (!block_slot(b, block_addr_slot(addr), &from, &n))
		return 1;
	*ret = arena_str(arena, part_of((struct str){text + from, n}, part));
	return 0;
}

/* Part of the text of a document, as a copy in the arena. 1: its block is not here. */
static int block_cache_get(struct block_cache *c, struct docaddr addr,
			   const struct docstore_part *part, struct arena *arena, struct str *ret)
{
	int rc = 1;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < KEPT && rc == 1; i++) {
		struct kept *k = &c->kept[i];
		if (k->block != addr.v >> 12)
			continue;
		k->used = ++c->now;
		rc = cache_copy_slot(&k->is, k->text, addr, part, arena, ret);
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static ZSTD_DCtx *cache_take_idle(struct block_cache *c)
{
	pthread_mutex_lock(&c->lock);
	ZSTD_DCtx *d = c->idle;
	c->idle = NULL;
	pthread_mutex_unlock(&c->lock);
	if (!d)
		d = ZSTD_createDCtx();
	ENSURE(d);
	return d;
}

static void cache_give_idle(struct block_cache *c, ZSTD_DCtx *d)
{
	pthread_mutex_lock(&c->lock);
	ZSTD_DCtx *other = c->idle;
	c->idle = d;
	pthread_mutex_unlock(&c->lock);
	ZSTD_freeDCtx(other);
}

/* Takes the text over. */
static void cache_keep(struct block_cache *c, uint64_t block, const struct block *b, char **text)
{
	pthread_mutex_lock(&c->lock);
	struct kept *k = &c->kept[0];
	for (size_t i = 0; i < KEPT && k->block != block; i++)
		if (c->kept[i].block == block || c->kept[i].used < k->used)
			k = &c->kept[i];
	kept_free(k);
	*k = (struct kept){.block = block, .used = ++c->now, .text = *text, .is = *b};
	k->lengths = mem_copy(b->lengths.p, b->lengths.n);
	k->is.lengths.p = k->lengths;
	k->is.packed = (struct str){0};
	*text = NULL;
	pthread_mutex_unlock(&c->lock);
}

/* Part of a document in a block that is not kept. text: of the document, in the block's. */
static int cache_read_part(struct block_cache *c, const struct mapped *m, const struct block *b,
			   size_t text_from, size_t text_n, const struct docstore_part *part,
			   struct arena *arena, struct str *ret, struct err *err)
{
	size_t from = (size_t)MIN(part->from, text_n), n = MIN(part->most, text_n - from);
	char *to = arena_alloc(arena, n + 1);
	ZSTD_DCtx *d = cache_take_idle(c);
	int rc = block_unpack_part(b, d, text_from + from, n, to, m->path, err);
	cache_give_idle(c, d);
	if (mapped_check(m, err) < 0)
		rc = -1;
	if (rc == 0)
		*ret = (struct str){to, n};
	return rc;
}

/* The same, by way of the block, which is kept for the next if it is not large. 1: there is no
 * document of this number in it. */
static int block_cache_read(struct block_cache *c, const struct mapped *m, uint64_t length,
			    struct docaddr addr, struct docstore_part *part, struct arena *arena,
			    struct str *ret, struct err *err)
{
	struct block b;
	struct str file = {m->map, (size_t)length}, got;
	size_t from, n;
	bool checked = part->checked == addr.v;
	int rc = checked ? block_look(file, block_addr_at(addr), m->path, &b, err)
			 : block_read(&m->id, file, block_addr_at(addr), m->path, &b, err);
	if (rc != 0)
		return rc;
	if (!block_slot(&b, block_addr_slot(addr), &from, &n))
		return mapped_check(m, err) < 0 ? -1 : 1;
	if (b.text_n > KEPT_BYTES && part->most < n) {
		part->checked = addr.v;
		return cache_read_part(c, m, &b, from, n, part, arena, ret, err);
	}
	char *text = mem_alloc(MAX((size_t)b.text_n, (size_t)1));
	ZSTD_DCtx *d = cache_take_idle(c);
	rc = block_unpack(&b, d, text, m->path, err);
	cache_give_idle(c, d);
	if (mapped_check(m, err) < 0)
		rc = -1;
	if (rc == 0) {
		got = arena_str(arena, part_of((struct str){text + from, n}, part));
		*ret = got;
		if (b.text_n <= KEPT_BYTES)
			cache_keep(c, addr.v >> 12, &b, &text);
	}
	mem_free(&text);
	return rc;
}

/* Following the ledger */

static int read_on(struct docstore *ds, struct err *err)
{
	struct record record;
	int rc;
	while ((rc = record_next(ds->records, &record, err)) == 0)
		if (ledger_apply(&ds->ledger, record.payload, ds->ledger_path, err) < 0)
			return -1;
	return rc;
}

/* From the beginning, of the ledger that is there now. 1: there is none. */
static int read_anew(struct docstore *ds, struct err *err)
{
	record_reader_free(&ds->records);
	int rc = record_reader_open(&ds->records, ds->ledger_path, &ledger_kind, err);
	if (rc != 0)
		return rc;
	ledger_free(&ds->ledger);
	return read_on(ds, err) < 0 ? -1 : 0;
}

/* What is mapped stays: a file of a number is the same file in every ledger. */
static int catch_up(struct docstore *ds, const struct stat *st, struct err *err)
{
	bool same = ds->records && ds->ledger_inode == st->st_ino &&
		    record_tell(ds->records) <= (uint64_t)st->st_size;
	int rc = same ? read_on(ds, err) : read_anew(ds, err);
	ds->ledger_inode = rc < 0 ? 0 : st->st_ino; /* half of it is none of it */
	ds->ledger_size = (uint64_t)st->st_size;
	if (rc >= 0)
		mapped_tidy(ds);
	return rc < 0 ? -1 : 0;
}

/* The folder may be gone, or the ledger about to be there: then all is as it was. */
static int look_at_ledger(struct docstore *ds, struct err *err)
{
	struct stat st;
	if (ds->writes)
		return 0;
	if (stat(ds->ledger_path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", ds->ledger_path);
	pthread_rwlock_rdlock(&ds->lock);
	bool same = ds->ledger_inode == st.st_ino && ds->ledger_size == (uint64_t)st.st_size;
	pthread_rwlock_unlock(&ds->lock);
	if (LIKELY(same))
		return 0;
	pthread_rwlock_wrlock(&ds->lock);
	int rc = catch_up(ds, &st, err);
	pthread_rwlock_unlock(&ds->lock);
	return rc;
}

int docstore_open_read(struct docstore **ret, const char *folder, struct err *err)
{
	struct docstore *ds = docstore_new(folder);
	struct stat st;
	int rc = 1;
	if (stat(ds->ledger_path, &st) == 0)
		rc = read_anew(ds, err);
	else if (errno != ENOENT && errno != ENOTDIR)
		rc = err_sys(err, "%s", ds->ledger_path);
	if (rc != 0) {
		docstore_close(&ds);
		return rc;
	}
	ds->ledger_inode = st.st_ino;
	ds->ledger_size = (uint64_t)st.st_size;
	*ret = ds;
	return 0;
}

/* Reading documents */

static bool in_the_making(const struct docstore *ds, struct docaddr addr)
{
	return appender_open(&ds->end) && ds->end.is.number == block_addr_file(addr) &&
	       ds->end.is.length == block_addr_at(addr);
}

static int read_made(const struct docstore *ds, struct docaddr addr,
		     const struct docstore_part *part, struct arena *arena, struct str *ret)
{
	const struct block_maker *b = &ds->end.block;
	unsigned slot = block_addr_slot(addr);
	if (slot >= b->docs)
		return 1;
	uint32_t from = slot ? b->end[slot - 1] : 0;
	struct str text = {b->text.p + from, b->end[slot] - from};
	*ret = arena_str(arena, part_of(text, part));
	return 0;
}

enum { NEEDS_MAP = 2 }; /* next to 0, 1 and negative: try again with the lock held to write */

/* With the lock held to read. */
static int read_here(struct docstore *ds, struct docaddr addr, struct docstore_part *part,
		     struct arena *arena, struct str *ret, struct err *err)
{
	uint32_t number = block_addr_file(addr);
	const struct ledger_file *f = ledger_find(&ds->ledger, number);
	if (!f && ledger_find_moved(&ds->ledger, number))
		return NEEDS_MAP;
	if (!f || ledger_dead_get(&ds->ledger.dead, addr.v))
		return 1;
	if (in_the_making(ds, addr))
		return read_made(ds, addr, part, arena, ret);
	if (block_addr_at(addr) >= f->length)
		return 1;
	if (block_cache_get(ds->cache, addr, part, arena, ret) == 0)
		return 0;
	const struct mapped *m = mapped_has(ds, number, f->length);
	return m ? block_cache_read(ds->cache, m, f->length, addr, part, arena, ret, err)
		 : NEEDS_MAP;
}

/* Maps what is missing, and follows an old address. 0: to be read now; 1: it is nowhere. */
static int prepare_read(struct docstore *ds, struct docaddr *addr, struct err *err)
{
	uint32_t number = block_addr_file(*addr);
	struct ledger_file *f = ledger_find(&ds->ledger, number);
	struct ledger_moved *moved = f ? NULL : ledger_find_moved(&ds->ledger, number);
	struct mapped *m;
	if (f)
		return mapped_get(ds, number, f->length, &m, err);
	return moved ? moved_find(ds, moved, *addr, addr, err) : 1;
}

static int file_missing(struct docstore *ds, struct docaddr addr, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: file %" PRIu32
		       " of the document store is missing; fetch its documents again",
		       ds->folder, block_addr_file(addr));
}

/* 1: also when a file that the ledger names is not there; *ret_missing then says so. */
static int read_text(struct docstore *ds, struct docaddr addr, struct docstore_part *part,
		     struct arena *arena, struct str *ret, bool *ret_missing, struct err *err)
{
	int rc;
	*ret_missing = false;
	for (int tries = 0; tries < 3; tries++) { /* an old address, then its file */
		pthread_rwlock_rdlock(&ds->lock);
		rc = read_here(ds, addr, part, arena, ret, err);
		pthread_rwlock_unlock(&ds->lock);
		if (rc != NEEDS_MAP)
			return rc;
		pthread_rwlock_wrlock(&ds->lock);
		bool known = ledger_find(&ds->ledger, block_addr_file(addr));
		rc = prepare_read(ds, &addr, err);
		pthread_rwlock_unlock(&ds->lock);
		*ret_missing = rc == 1 && known;
		if (rc != 0)
			return rc;
	}
	return 1;
}

int docstore_read_part(struct docstore *ds, struct docaddr addr, struct docstore_part *part,
		       struct arena *arena, struct str *ret, struct err *err)
{
	bool gone;
	for (int tries = 0; tries < 2; tries++) {
		if (look_at_ledger(ds, err) < 0)
			return -1;
		int rc = read_text(ds, addr, part, arena, ret, &gone, err);
		if (!gone)
			return rc;
		/* It was compacted away since we looked: the ledger has changed. */
	}
	return file_missing(ds, addr, err);
}

int docstore_text(struct docstore *ds, struct docaddr addr, struct arena *arena, struct str *ret,
		  struct err *err)
{
	struct docstore_part all = whole;
	return docstore_read_part(ds, addr, &all, arena, ret, err);
}

int docstore_get(struct docstore *ds, struct docaddr addr, struct arena *arena, struct soif *ret,
		 struct err *err)
{
	struct str text;
	struct soif obj;
	struct err why;
	int rc = docstore_text(ds, addr, arena, &text, err);
	if (rc != 0)
		return rc;
	struct soif_parser p = soif_parser_of(text);
	if (soif_next(&p, arena, &obj, &why) != 0 || obj.truncated)
		return err_set(err, ERR_DAMAGED,
			       "%s: the document at %016" PRIx64 " cannot be read as SOIF",
			       ds->folder, addr.v);
	*ret = obj;
	return 0;
}

int docstore_stats(struct docstore *ds, struct docstore_stats *ret, struct err *err)
{
	struct docstore_stats s = {0};
	if (look_at_ledger(ds, err) < 0)
		return -1;
	pthread_rwlock_rdlock(&ds->lock);
	s.files = ds->ledger.files;
	for (size_t i = 0; i < ds->ledger.files; i++) {
		const struct ledger_file *f = &ds->ledger.file[i];
		s.file_bytes += f->length;
		s.docs += f->docs;
		s.text_bytes += f->text_bytes;
		s.deleted_docs += f->dead_docs;
		s.deleted_bytes += f->dead_bytes;
	}
	for (size_t i = 0; i < ds->ledger.nmoved; i++)
		s.moved_docs += ds->ledger.moved[i].docs;
	pthread_rwlock_unlock(&ds->lock);
	*ret = s;
	return 0;
}

/* Verifying */

int blocks_verify(const struct mapped *m, uint64_t length, uint64_t *ret_docs,
		  uint64_t *ret_text_bytes, struct err *err)
{
	struct block b;
	CLEANUP(buf_free) struct buf text = BUF_INIT(BLOCK_TEXT_MOST);
	uint64_t docs = 0, text_bytes = 0;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ENSURE(d);
	int rc = 0;
	for (uint64_t at = BLOCK_FILE_HEAD; rc == 0; at = b.next) {
		size_t from, n;
		rc = block_read(&m->id, (struct str){m->map, (size_t)length}, at, m->path, &b, err);
		if (rc != 0)
			break;
		if (!block_slot(&b, b.docs - 1, &from, &n) || from + n != b.text_n)
			rc = err_set(err, ERR_DAMAGED,
				     "%s: the documents of the block at byte %" PRIu64
				     " do not fill it",
				     m->path, at);
		else
			rc = block_unpack(&b, d, buf_room(&text, b.text_n), m->path, err);
		docs += b.docs;
		text_bytes += b.text_n;
	}
	ZSTD_freeDCtx(d);
	if (mapped_check(m, err) < 0)
		return -1;
	*ret_docs = docs;
	*ret_text_bytes = text_bytes;
	return rc < 0 ? -1 : 0;
}

static int verify_file(struct docstore *ds, const struct ledger_file *f, struct err *err)
{
	struct mapped *m;
	uint64_t docs, text_bytes;
	int rc = mapped_get(ds, f->number, f->length, &m, err);
	if (rc == 1)
		return file_missing(ds, block_addr(f->number, 0, 0), err);
	if (rc < 0 || blocks_verify(m, f->length, &docs, &text_bytes, err) < 0)
		return -1;
	if (docs != f->docs || text_bytes != f->text_bytes)
		return err_set(err, ERR_DAMAGED,
			       "%s: has %" PRIu64 " documents, the ledger says %" PRIu64, m->path,
			       docs, f->docs);
	return 0;
}

static int verify_moved(struct docstore *ds, const struct ledger_moved *moved, struct err *err)
{
	struct page_file *f;
	int rc = moved_get(ds, moved, &f, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED,
			       "%s: the table of what was moved from file %" PRIu32 " is missing",
			       ds->folder, moved->number);
	return rc < 0 ? -1 : page_verify(f, err);
}

int docstore_verify(struct docstore *ds, struct err *err)
{
	int rc = look_at_ledger(ds, err);
	if (rc == 0 && ds->writes)
		rc = docstore_sync(ds, err);
	pthread_rwlock_wrlock(&ds->lock);
	for (size_t i = 0; i < ds->ledger.files && rc == 0; i++)
		rc = verify_file(ds, &ds->ledger.file[i], err);
	for (size_t i = 0; i < ds->ledger.nmoved && rc == 0; i++)
		rc = verify_moved(ds, &ds->ledger.moved[i], err);
	pthread_rwlock_unlock(&ds->lock);
	return rc;
}

/* All documents */

static int each_in_file(struct docstore *ds, const struct ledger_file *f, docstore_doc_fn *fn,
			void *ctx, struct err *err)
{
	struct mapped *m;
	struct block b;
	pthread_rwlock_wrlock(&ds->lock);
	int rc = mapped_get(ds, f->number, f->length, &m, err);
	pthread_rwlock_unlock(&ds->lock);
	if (rc != 0)
		return rc < 0 ? -1 : file_missing(ds, block_addr(f->number, 0, 0), err);
	struct str file = {m->map, (size_t)f->length};
	for (uint64_t at = BLOCK_FILE_HEAD; rc == 0; at = b.next) {
		int end = block_read(&m->id, file, at, m->path, &b, err);
		if (end != 0) {
			rc = MIN(end, 0);
			break;
		}
		for (unsigned slot = 0; rc == 0 && slot < b.docs; slot++) {
			struct docaddr addr = block_addr(f->number, b.at, slot);
			if (!ledger_dead_get(&ds->ledger.dead, addr.v))
				rc = fn(ctx, addr, err);
		}
	}
	return mapped_check(m, err) < 0 ? -1 : rc;
}

int docstore_each(struct docstore *ds, docstore_doc_fn *fn, void *ctx, struct err *err)
{
	int rc = docstore_sync(ds, err);
	for (size_t i = 0; i < ds->ledger.files && rc == 0; i++)
		rc = each_in_file(ds, &ds->ledger.file[i], fn, ctx, err);
	return rc;
}
