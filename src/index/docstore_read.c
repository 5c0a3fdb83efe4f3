#include "index/docstore_inner.h"

#include "soif/soif_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

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

static int read_made(const struct docstore *ds, struct docaddr addr, struct arena *arena,
		     struct str *ret)
{
	const struct block_maker *b = &ds->end.block;
	unsigned slot = block_addr_slot(addr);
	if (slot >= b->docs)
		return 1;
	uint32_t from = slot ? b->end[slot - 1] : 0;
	*ret = arena_str(arena, (struct str){b->text.p + from, b->end[slot] - from});
	return 0;
}

enum { NEEDS_MAP = 2 }; /* beside 0, 1 and negative: try again with the lock held to write */

/* With the lock held to read. */
static int read_here(struct docstore *ds, struct docaddr addr, struct arena *arena, struct str *ret,
		     struct err *err)
{
	uint32_t number = block_addr_file(addr);
	const struct ledger_file *f = ledger_find(&ds->ledger, number);
	if (!f && ledger_find_moved(&ds->ledger, number))
		return NEEDS_MAP;
	if (!f || ledger_dead_get(&ds->ledger.dead, addr.v))
		return 1;
	if (in_the_making(ds, addr))
		return read_made(ds, addr, arena, ret);
	if (block_addr_at(addr) >= f->length)
		return 1;
	if (block_cache_get(ds->cache, addr, arena, ret) == 0)
		return 0;
	const struct mapped *m = mapped_has(ds, number, f->length);
	return m ? block_cache_read(ds->cache, m, f->length, addr, arena, ret, err) : NEEDS_MAP;
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
static int read_text(struct docstore *ds, struct docaddr addr, struct arena *arena, struct str *ret,
		     bool *ret_missing, struct err *err)
{
	int rc;
	*ret_missing = false;
	for (int tries = 0; tries < 3; tries++) { /* an old address, then its file */
		pthread_rwlock_rdlock(&ds->lock);
		rc = read_here(ds, addr, arena, ret, err);
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

int docstore_text(struct docstore *ds, struct docaddr addr, struct arena *arena, struct str *ret,
		  struct err *err)
{
	bool gone;
	for (int tries = 0; tries < 2; tries++) {
		if (look_at_ledger(ds, err) < 0)
			return -1;
		int rc = read_text(ds, addr, arena, ret, &gone, err);
		if (!gone)
			return rc;
		/* It was compacted away since we looked: the ledger has changed. */
	}
	return file_missing(ds, addr, err);
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
