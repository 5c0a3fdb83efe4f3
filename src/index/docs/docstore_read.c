/* The document store as its readers see it: the table says where a document lies, files are mapped
 * as they are wanted, and the blocks that were unpacked last are kept. A reader looks at the folder
 * only where the table leads nowhere, and then once more. */
#include "disk/map_guard.h"
#include "index/docs/docstore_inner.h"
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

int mapped_check(const struct mapped *m, struct err *err)
{
	if (LIKELY(!map_guard_failed(m->guard)))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: part of it cannot be read any more; look for errors of the disk, or "
		       "for what cut it",
		       m->path);
}

void mapped_close(struct mapped *m)
{
	map_guard_free(&m->guard);
	if (m->map)
		(void)munmap(m->map, m->size);
	m->map = NULL;
}

void mapped_free(struct mapped *m)
{
	mapped_close(m);
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

int mapped_make(const char *folder, uint32_t number, struct mapped **ret, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	store_path(folder, number, ".docs", path);
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	struct mapped *m = mem_alloc(sizeof *m);
	m->path = mem_text(path);
	rc = file_size(&f, &m->length, err);
	if (rc == 0)
		rc = mapped_open(m, &f, map_size(MAX(m->length, (uint64_t)1)), err);
	if (rc == 0 && m->id.number != number)
		rc = err_set(err, ERR_DAMAGED, "%s: says that it is file %" PRIu32, path,
			     m->id.number);
	if (rc < 0) {
		mapped_free(m);
		return -1;
	}
	*ret = m;
	return 0;
}

static struct mapped *mapped_has(const struct docstore *ds, uint32_t number)
{
	struct mapped **m = mapped_files_get(&ds->files, number);
	return m ? *m : NULL;
}

bool mapped_reaches(const struct mapped *m, uint64_t at)
{
	struct block b;
	struct err ignored;
	return !map_guard_failed(m->guard) && at < m->length &&
	       block_look((struct str){m->map, (size_t)m->length}, at, m->path, &b, &ignored) == 0;
}

/* With the lock held to write: maps a file, anew where less of it was mapped or could not be read.
 * 1: there is no such file. */
static int mapped_renew(struct docstore *ds, uint32_t number, struct err *err)
{
	struct mapped *m;
	int rc = mapped_make(ds->folder, number, &m, err);
	if (rc != 0)
		return rc;
	struct mapped **slot = mapped_files_put(&ds->files, number);
	if (*slot)
		mapped_free(*slot);
	*slot = m;
	return 0;
}

void mapped_tidy(struct docstore *ds)
{
	char path[PATH_MAX];
	struct stat st;
	TABLE_EACH (mapped_files, slot, &ds->files) {
		store_path(ds->folder, slot->key, ".docs", path);
		if (stat(path, &st) == 0 || errno != ENOENT)
			continue;
		mapped_free(slot->value);
		(void)mapped_files_remove(&ds->files, slot->key);
	}
}

void mapped_free_all(struct docstore *ds)
{
	TABLE_EACH (mapped_files, slot, &ds->files)
		mapped_free(slot->value);
	mapped_files_free(&ds->files);
}

/* Which documents there are */

static int walk_block(const struct mapped *m, const struct block *b, blocks_doc_fn *fn, void *ctx,
		      struct err *err)
{
	struct block_docs docs = block_docs_of(b);
	struct block_doc doc;
	int rc;
	while ((rc = block_docs_next(&docs, &doc)) == 0)
		if ((rc = fn(ctx, block_addr(m->id.number, b->at, doc.slot), &doc)) != 0)
			return rc;
	return rc < 0 ? block_lists_damaged(m->path, b->at, err) : 0;
}

static int walk_blocks(const struct mapped *m, uint64_t from, uint64_t to, blocks_doc_fn *fn,
		       void *ctx, struct err *err)
{
	struct str bytes = {m->map, (size_t)to};
	struct block b;
	int rc = 0;
	for (uint64_t at = from; rc == 0; at = b.next) {
		int end = block_read_head(&m->id, bytes, at, m->path, &b, err);
		if (mapped_check(m, err) < 0)
			return -1;
		if (end != 0)
			return MIN(end, 0);
		rc = walk_block(m, &b, fn, ctx, err);
	}
	return rc;
}

int blocks_walk(const char *folder, uint32_t number, uint64_t from, uint64_t to, blocks_doc_fn *fn,
		void *ctx, struct err *err)
{
	struct mapped *m = NULL;
	int rc = mapped_make(folder, number, &m, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: file %" PRIu32 " of documents is missing",
			       folder, number);
	if (rc < 0)
		return -1;
	ENSURE(m);
	if (m->length < to || from > to)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: has %" PRIu64 " bytes, %" PRIu64 " should be there", m->path,
			     m->length, to);
	else
		rc = walk_blocks(m, from, to, fn, ctx, err);
	mapped_free(m);
	return rc;
}

/* Unpacked blocks. The hits of a page of results often share blocks, and a document that was shown
 * is soon asked for again. Large blocks hold one document each and are not kept. */

enum { KEPT = 64, KEPT_BYTES = 256 << 10 };

struct kept {
	uint64_t block; /* the address without the number in it; 0: free */
	uint64_t used;  /* when */
	char *text;
	char *lists;
	struct block is; /* its slices: lists in ours, nothing else */
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
	mem_free(&k->lists);
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

static struct str part_of(struct str text, const struct docstore_part *part)
{
	return str_head(str_from(text, (size_t)MIN(part->from, text.n)), part->most);
}

/* A document, and where it lies. */
struct wanted {
	uint64_t oid, addr;
};

/* Where it lies in the text of the block. false: it is not the one that is there. */
static bool block_find(const struct block *b, const struct wanted *want, struct block_doc *ret)
{
	return block_slot(b, block_addr_slot(want->addr), ret) && ret->oid == want->oid;
}

/* Part of the text of a document, as a copy in the arena. 1: its block is not here. */
static int block_cache_get(struct block_cache *c, const struct wanted *want,
			   const struct docstore_part *part, struct arena *arena, struct str *ret)
{
	struct block_doc doc;
	int rc = 1;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < KEPT; i++) {
		struct kept *k = &c->kept[i];
		if (k->block != want->addr >> 12)
			continue;
		k->used = ++c->now;
		if (block_find(&k->is, want, &doc)) {
			*ret = arena_str(arena,
					 part_of((struct str){k->text + doc.from, doc.n}, part));
			rc = 0;
		}
		break;
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
	k->lists = mem_copy(b->lists.p, b->lists.n);
	k->is.lists.p = k->lists;
	k->is.packed = (struct str){0};
	*text = NULL;
	pthread_mutex_unlock(&c->lock);
}

/* Part of a document in a block that is not kept. */
static int cache_read_part(struct block_cache *c, const struct mapped *m, const struct block *b,
			   const struct block_doc *doc, const struct docstore_part *part,
			   struct arena *arena, struct str *ret, struct err *err)
{
	size_t from = (size_t)MIN(part->from, doc->n), n = MIN(part->most, doc->n - from);
	char *to = arena_alloc(arena, n + 1);
	ZSTD_DCtx *d = cache_take_idle(c);
	int rc = block_unpack_part(b, d, doc->from + from, n, to, m->path, err);
	cache_give_idle(c, d);
	if (mapped_check(m, err) < 0)
		rc = -1;
	if (rc == 0)
		*ret = (struct str){to, n};
	return rc;
}

int mapped_wrong(const struct mapped *m, uint64_t addr, uint64_t oid, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: the block at byte %" PRIu64 " does not have document %" PRIu64
		       " where the table says",
		       m->path, block_addr_at(addr), oid);
}

/* The same, by way of the block, which is kept for the next if it is not large. */
static int block_cache_read(struct block_cache *c, const struct mapped *m,
			    const struct wanted *want, struct docstore_part *part,
			    struct arena *arena, struct str *ret, struct err *err)
{
	struct block b;
	struct block_doc doc;
	struct str file = {m->map, (size_t)m->length};
	uint64_t at = block_addr_at(want->addr);
	int rc = part->checked == want->addr ? block_look(file, at, m->path, &b, err)
					     : block_read(&m->id, file, at, m->path, &b, err);
	if (mapped_check(m, err) < 0)
		return -1;
	if (rc != 0 || !block_find(&b, want, &doc))
		return rc < 0 ? -1 : mapped_wrong(m, want->addr, want->oid, err);
	if (b.text_n > KEPT_BYTES && part->most < doc.n) {
		part->checked = want->addr;
		return cache_read_part(c, m, &b, &doc, part, arena, ret, err);
	}
	char *text = mem_alloc(MAX((size_t)b.text_n, (size_t)1));
	ZSTD_DCtx *d = cache_take_idle(c);
	rc = block_unpack(&b, d, text, m->path, err);
	cache_give_idle(c, d);
	if (mapped_check(m, err) < 0)
		rc = -1;
	if (rc == 0) {
		*ret = arena_str(arena, part_of((struct str){text + doc.from, doc.n}, part));
		if (b.text_n <= KEPT_BYTES)
			cache_keep(c, want->addr >> 12, &b, &text);
	}
	mem_free(&text);
	return rc;
}

/* Reading documents */

int docstore_open_read(struct docstore **ret, const char *folder, struct err *err)
{
	struct docstore *ds = docstore_new(folder);
	int rc = table_open(&ds->table, ds->table_path, false, err);
	if (rc < 0 && (err->sys_errno == ENOENT || err->sys_errno == ENOTDIR))
		rc = 1;
	if (rc != 0) {
		docstore_close(&ds);
		return rc;
	}
	*ret = ds;
	return 0;
}

/* With the lock held to write: the table that is there now, which may have grown or be another. The
 * folder may be gone: then all is as it was. */
static int look_at_table(struct docstore *ds, struct err *err)
{
	struct stat st;
	struct doc_table new = DOC_TABLE_INIT;
	if (ds->writes)
		return 0;
	ds->moves = table_moves(&ds->table);
	mapped_tidy(ds);
	if (stat(ds->table_path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", ds->table_path);
	if (st.st_ino == ds->table.inode && !map_guard_failed(ds->table.guard))
		return table_look(&ds->table, err);
	int rc = table_open(&new, ds->table_path, false, err);
	if (rc != 0)
		return MIN(rc, 0);
	table_close(&ds->table);
	ds->table = new;
	ds->moves = table_moves(&new);
	return 0;
}

int store_look(struct docstore *ds, struct err *err)
{
	pthread_rwlock_wrlock(&ds->lock);
	int rc = look_at_table(ds, err);
	pthread_rwlock_unlock(&ds->lock);
	return rc;
}

/* The number in the block that is being made; negative: it is not in it. */
static int find_made(const struct docstore *ds, uint64_t oid)
{
	const struct block_maker *b = &ds->end.block;
	unsigned at = BISECT(i, 0, b->docs, b->oid[i] < oid);
	return at < b->docs && b->oid[at] == oid ? (int)at : -1;
}

static int read_made(const struct docstore *ds, int slot, const struct docstore_part *part,
		     struct arena *arena, struct str *ret)
{
	const struct block_maker *b = &ds->end.block;
	uint32_t from = slot ? b->end[slot - 1] : 0;
	struct str text = {b->text.p + from, b->end[slot] - from};
	*ret = arena_str(arena, part_of(text, part));
	return 0;
}

/* Next to 0, 1 and negative: something has to be done with the lock held to write. */
enum { NEEDS_LOOK = 2, NEEDS_MAP };

/* With the lock held to read. `want` has the oid, and the address that was mapped for this. */
static int read_here(struct docstore *ds, struct wanted *want, struct docstore_part *part,
		     struct arena *arena, struct str *ret, struct err *err)
{
	struct table_slot slot;
	int made = find_made(ds, want->oid);
	if (made >= 0)
		return read_made(ds, made, part, arena, ret);
	if (!ds->writes && table_moves(&ds->table) != ds->moves)
		return NEEDS_LOOK;
	int rc = table_get(&ds->table, want->oid, &slot);
	if (UNLIKELY(table_check(&ds->table, err) < 0))
		return -1;
	if (rc != 0)
		return rc < 0 ? table_slot_damaged(&ds->table, want->oid, err) : 1;
	bool mapped_now = want->addr == slot.addr;
	want->addr = slot.addr;
	if (block_cache_get(ds->cache, want, part, arena, ret) == 0)
		return 0;
	const struct mapped *m = mapped_has(ds, block_addr_file(slot.addr));
	if (!m || (!mapped_now && !mapped_reaches(m, block_addr_at(slot.addr))))
		return NEEDS_MAP;
	return block_cache_read(ds->cache, m, want, part, arena, ret, err);
}

int mapped_missing(const struct docstore *ds, uint64_t addr, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: file %" PRIu32
		       " of the document store is missing; fetch its documents again",
		       ds->folder, block_addr_file(addr));
}

int docstore_text(void *ctx, uint64_t oid, struct arena *arena, struct soif *ret, struct err *err)
{
	return docstore_get(ctx, oid, arena, ret, err);
}

enum { LOOKS = 4 }; /* compaction may move a document again while it is looked for */

int docstore_read_part(struct docstore *ds, uint64_t oid, struct docstore_part *part,
		       struct arena *arena, struct str *ret, struct err *err)
{
	struct wanted want = {.oid = oid};
	bool looked = false;
	for (unsigned looks = 0;; looks++) {
		pthread_rwlock_rdlock(&ds->lock);
		int rc = read_here(ds, &want, part, arena, ret, err);
		pthread_rwlock_unlock(&ds->lock);
		bool final = rc == 0 || (rc < NEEDS_LOOK && (looked || (rc == 1 && ds->writes)));
		if (final || (looks >= LOOKS && rc < NEEDS_MAP))
			return rc;
		if (looks >= LOOKS)
			return mapped_missing(ds, want.addr, err);
		pthread_rwlock_wrlock(&ds->lock);
		int missing =
			rc == NEEDS_MAP ? mapped_renew(ds, block_addr_file(want.addr), err) : 0;
		if (rc != NEEDS_MAP || missing == 1) {
			missing = MIN(look_at_table(ds, err), 0);
			looked |= rc < NEEDS_LOOK;
			want.addr = 0;
		}
		pthread_rwlock_unlock(&ds->lock);
		if (missing < 0)
			return -1;
	}
}

int docstore_get(struct docstore *ds, uint64_t oid, struct arena *arena, struct soif *ret,
		 struct err *err)
{
	return docstore_get_most(ds, oid, SIZE_MAX - 1, arena, ret, err);
}

int docstore_get_most(struct docstore *ds, uint64_t oid, size_t most, struct arena *arena,
		      struct soif *ret, struct err *err)
{
	struct docstore_part all = {.most = most + 1};
	struct str text = {0};
	struct soif obj;
	struct err why;
	int rc = docstore_read_part(ds, oid, &all, arena, &text, err);
	if (rc != 0)
		return rc;
	if (text.n > most)
		return DOCSTORE_LARGER;
	struct soif_parser p = soif_parser_of(text);
	if (soif_next(&p, arena, &obj, &why) != 0 || obj.truncated)
		return err_set(err, ERR_DAMAGED, "%s: document %" PRIu64 " cannot be read as SOIF",
			       ds->folder, oid);
	*ret = obj;
	return 0;
}

/* Counting */

static void count_file(struct docstore_stats *s, const struct store_file *f)
{
	s->files++;
	s->file_bytes += f->length;
	s->docs += f->docs;
	s->text_bytes += f->text_bytes;
	s->deleted_docs += f->dead_docs;
	s->deleted_bytes += f->dead_bytes;
}

static uint64_t file_length(const struct docstore *ds, uint32_t number)
{
	char path[PATH_MAX];
	struct stat st;
	store_path(ds->folder, number, ".docs", path);
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int read_stats(struct docstore *ds, struct docstore_stats *ret, struct err *err)
{
	struct table_state state = {0};
	pthread_rwlock_wrlock(&ds->lock);
	int rc = look_at_table(ds, err);
	if (rc == 0)
		rc = table_load(&ds->table, &state, err);
	pthread_rwlock_unlock(&ds->lock);
	for (size_t i = 0; rc == 0 && i < state.files; i++) {
		state.file[i].length = file_length(ds, state.file[i].number);
		count_file(ret, &state.file[i]);
	}
	table_state_free(&state);
	return rc;
}

int docstore_stats(struct docstore *ds, struct docstore_stats *ret, struct err *err)
{
	struct docstore_stats s = {0};
	int rc = ds->writes ? store_count(ds, err) : read_stats(ds, &s, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; ds->writes && i < ds->nfiles; i++)
		count_file(&s, &ds->file[i]);
	*ret = s;
	return 0;
}
