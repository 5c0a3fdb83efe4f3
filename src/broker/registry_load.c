/* What a registry is when it is opened: the last commit, the tables, and the records since these,
 * which are read and checked by the hashes of their commits. The same for a writer, which first
 * mends what a killed one left (registry.c), and for readers, which may meet a compression that is
 * taking its place and then look again. */
#include "base/fault.h"
#include "broker/registry_inner.h"
#include "disk/map_guard.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

static const char *const file_names[REGISTRY_NAMES] = {
	[REGISTRY_FILE] = "registry",
	[REGISTRY_FILE_NEW] = "registry.new",
	[REGISTRY_COMMIT] = "registry.commit",
	[REGISTRY_COMMIT_NEW] = "registry.commit.new",
	[REGISTRY_COMMIT_JOINED] = "registry.commit.joined",
	[REGISTRY_TABLES] = "registry.tables",
	[REGISTRY_TABLES_NEW] = "registry.tables.new",
};

void registry_init(struct registry *r, const char *folder)
{
	*r = (struct registry){.file = FILE_INIT,
			       .lock.file = FILE_INIT,
			       .read = ARENA_INIT((size_t)64 << 20),
			       .folder = mem_text(folder)};
	for (unsigned i = 0; i < REGISTRY_NAMES; i++)
		r->path[i] = mem_printf("%s/%s", folder, file_names[i]);
}

static void reader_unmap(struct registry *r)
{
	if (!r->map)
		return;
	map_guard_free(&r->guard);
	(void)munmap((void *)(uintptr_t)r->map, r->mapped);
	r->map = NULL;
	r->mapped = 0;
}

void registry_release(struct registry *r)
{
	reader_unmap(r);
	file_drop(&r->file);
	record_drop(&r->commits);
	record_reader_free(&r->reader);
	mem_free(&r->pieces.piece);
	registry_points_free(&r->points);
	registry_tables_close(&r->tables);
	registry_recent_free(&r->recent);
	mem_free(&r->found.at);
	mem_free(&r->flags.at);
	arena_free(&r->read);
	buf_free(&r->out);
	for (unsigned i = 0; i < REGISTRY_NAMES; i++)
		mem_free(&r->path[i]);
	mem_free(&r->folder);
}

/* Commits */

static int commits_read(struct registry *r, struct record_reader *in, const char *path,
			uint64_t most_commits, struct err *err)
{
	struct record record;
	int rc;
	while ((rc = record_next(in, &record, err)) == 0) {
		struct registry_commit before = r->last;
		size_t pieces = r->pieces.n;
		if (registry_commit_take(record.payload, &r->last, &r->pieces, &r->points, err) < 0)
			return err_in(err, "%s: byte %" PRIu64, path, record.place.at);
		if (r->last.commits > most_commits) {
			r->last = before;
			r->pieces.n = pieces;
			return 0;
		}
	}
	return MIN(rc, 0);
}

/* 1: there are none. */
static int commits_load(struct registry *r, const char *path, uint64_t most_commits,
			struct err *err)
{
	struct record_reader *in = NULL;
	int rc = record_reader_open(&in, path, &registry_commit_kind, err);
	if (rc == 0)
		rc = commits_read(r, in, path, most_commits, err);
	if (rc == 0 && r->last.length == 0)
		rc = 1;
	if (rc == 0 && !r->writes)
		r->reader = in;
	else
		record_reader_free(&in);
	return rc;
}

/* Replaying */

static int piece_damaged(const struct registry *r, const struct registry_piece *piece,
			 struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: bytes %" PRIu64 " to %" PRIu64 " are not what was committed",
		       r->file.path, piece->from, piece->to);
}

/* Adds a record, and finds the one whose place it takes. */
static int replay_record(void *ctx, const struct registry_raw *raw, struct err *err)
{
	struct registry *r = ctx;
	const struct registry_object *o = &raw->object;
	struct registry_raw killed;
	arena_clear(&r->read);
	int rc = registry_find_raw(r, o->gatherer_name, o->gatherer_host, o->url, &r->read, &killed,
				   err);
	if (rc < 0)
		return -1;
	registry_recent_add(&r->recent, raw, rc == 0 ? &killed : NULL);
	return 0;
}

int registry_each_committed(struct registry *r, uint64_t from, registry_raw_fn *fn, void *ctx,
			    struct err *err)
{
	const struct registry_piece *piece = r->pieces.piece;
	struct registry_walk walk;
	struct registry_raw raw;
	struct xxh64 hash;
	size_t passed = 0;
	int rc;
	while (passed < r->pieces.n && piece[passed].to <= from)
		passed++;
	if (passed == r->pieces.n)
		return 0;
	uint64_t end = piece[r->pieces.n - 1].to;
	piece += passed;
	xxh64_begin(&hash);
	registry_walk_begin(&walk, &r->file, piece->from, end);
	while ((rc = registry_walk_next(&walk, &raw, err)) == 0) {
		registry_hash_add(&hash, raw.bytes);
		if (raw.at >= from && fn && (rc = fn(ctx, &raw, err)) < 0)
			break;
		if (walk.at > piece->to ||
		    (walk.at == piece->to && xxh64_end(&hash) != piece->hash)) {
			rc = piece_damaged(r, piece, err);
			break;
		}
		if (walk.at == piece->to) {
			xxh64_begin(&hash);
			piece++;
		}
	}
	registry_walk_end(&walk);
	return MIN(rc, 0);
}

int registry_replay(struct registry *r, uint64_t from, struct err *err)
{
	if (registry_each_committed(r, from, replay_record, r, err) < 0)
		return -1;
	arena_clear(&r->read);
	r->committed = r->recent.n;
	return 0;
}

/* Tables */

/* Up to the last commit. Its own records are read like others since the tables, since they tell
 * which flags may be missing. */
static int tables_remake(struct registry *r, struct err *err)
{
	if (registry_tables_make(r->path[REGISTRY_TABLES_NEW], r->folder, &r->file, r->last.base,
				 r->last.from, err) < 0 ||
	    file_rename(r->path[REGISTRY_TABLES_NEW], r->path[REGISTRY_TABLES], err) < 0 ||
	    dir_sync(r->folder, err) < 0)
		return -1;
	return registry_tables_open(&r->tables, r->path[REGISTRY_TABLES], err) == 0 ? 0 : -1;
}

static bool tables_fit(const struct registry *r)
{
	return r->tables.base == r->last.base && r->tables.length >= REGISTRY_HEADER &&
	       r->tables.length <= r->last.length;
}

static int tables_load(struct registry *r, struct registry_opened *is, struct err *err)
{
	if (!r->tables.file) {
		struct err damage;
		int rc = registry_tables_open(&r->tables, r->path[REGISTRY_TABLES], &damage);
		if (rc < 0 && damage.code != ERR_DAMAGED && damage.code != ERR_USAGE) {
			*err = damage;
			return -1;
		}
	}
	if (r->tables.file && !tables_fit(r))
		registry_tables_close(&r->tables);
	uint64_t few = r->options.tables_least ? r->options.tables_least : REGISTRY_FEW;
	if (r->tables.file || !r->writes || r->last.records <= few)
		return 0;
	is->remade = true;
	if (registry_each_committed(r, 0, NULL, NULL, err) < 0)
		return -1;
	return tables_remake(r, err);
}

/* The registry's own file is as long as the commit says, or longer. */
static int file_load(struct registry *r, struct registry_opened *is, struct err *err)
{
	struct registry_counts ignored;
	uint64_t size;
	if (registry_header_read(&r->file, &ignored, err) < 0 ||
	    file_size(&r->file, &size, err) < 0)
		return -1;
	if (size < r->last.length)
		return err_set(err, ERR_DAMAGED,
			       "%s: %" PRIu64 " bytes, of which %" PRIu64 " were committed",
			       r->file.path, size, r->last.length);
	is->cut = size - r->last.length;
	if (!r->writes || !is->cut)
		return 0;
	FAULT("registry.cut");
	return file_truncate(&r->file, r->last.length, err);
}

/* 1: so does a first start leave it that was killed. */
static int commits_missing(const struct registry *r, const char *path, struct err *err)
{
	uint64_t size;
	if (file_size(&r->file, &size, err) < 0)
		return -1;
	return !r->writes && size <= REGISTRY_HEADER
		       ? 1
		       : err_set(err, ERR_DAMAGED, "%s: is missing, or has no commit", path);
}

int registry_load(struct registry *r, const char *commits, uint64_t most_commits,
		  struct registry_opened *ret_is, struct err *err)
{
	struct registry_opened is = {0};
	int rc = commits_load(r, commits, most_commits, err);
	if (rc == 1)
		return commits_missing(r, commits, err);
	if (rc < 0 || file_load(r, &is, err) < 0 || tables_load(r, &is, err) < 0)
		return -1;
	r->written = r->last.length;
	r->now = r->last;
	xxh64_begin(&r->hash);
	if (registry_replay(r, MAX(r->tables.length, (uint64_t)REGISTRY_HEADER), err) < 0)
		return -1;
	is.read = r->recent.n;
	log_debug(HASH, 1, "tables loaded", KV_UINT("urls", r->tables.n[REGISTRY_BY_URL]),
		  KV_UINT("md5s", r->tables.n[REGISTRY_BY_MD5]),
		  KV_UINT("oids", r->tables.n[REGISTRY_BY_OID]), KV_UINT("since", is.read));
	if (ret_is)
		*ret_is = is;
	return 0;
}

/* Readers */

/* Which files have the names that matter, so that a change is noticed while they are opened. */
struct files_seen {
	uint64_t inode[REGISTRY_NAMES];
};

static void files_look(const struct registry *r, struct files_seen *ret)
{
	static const enum registry_name look[] = {REGISTRY_FILE, REGISTRY_FILE_NEW, REGISTRY_COMMIT,
						  REGISTRY_COMMIT_NEW, REGISTRY_TABLES};
	*ret = (struct files_seen){0};
	for (size_t i = 0; i < ARRAY_LEN(look); i++) {
		struct stat st;
		if (stat(r->path[look[i]], &st) == 0)
			ret->inode[look[i]] = st.st_ino;
	}
}

/* A compression is between its two renames: the new registry counts by its own commits. */
static bool files_between(const struct files_seen *s)
{
	return s->inode[REGISTRY_COMMIT_NEW] && !s->inode[REGISTRY_FILE_NEW];
}

static enum registry_name files_commit(const struct files_seen *s)
{
	return files_between(s) ? REGISTRY_COMMIT_NEW : REGISTRY_COMMIT;
}

/* A query reads some fifty records at places all over the file. What the tables speak of no writer
 * cuts off again; what came since, and all where it cannot be mapped, is read. */
static void reader_map(struct registry *r)
{
	size_t n = (size_t)r->tables.length;
	void *p = n ? mmap(NULL, n, PROT_READ, MAP_SHARED, r->file.fd, 0) : MAP_FAILED;
	if (p == MAP_FAILED)
		return;
	(void)madvise(p, n, MADV_RANDOM);
	r->map = p;
	r->mapped = n;
	r->guard = map_guard_new(p, n);
}

static int reader_load(struct registry *r, const struct files_seen *seen, uint64_t most_commits,
		       struct err *err)
{
	struct err ignored;
	enum registry_name commits = files_commit(seen);
	r->reader_inode = seen->inode[commits];
	/* Tables first: they are never beyond the commits that are read after them. */
	(void)registry_tables_open(&r->tables, r->path[REGISTRY_TABLES], &ignored);
	int rc = file_open(&r->file, r->path[REGISTRY_FILE], O_RDONLY, 0, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: is missing", r->path[REGISTRY_FILE]);
	if (rc == 0)
		rc = registry_load(r, r->path[commits], most_commits, NULL, err);
	if (rc == 0)
		reader_map(r);
	return rc;
}

int registry_open_limited(struct registry **ret, const char *folder, uint64_t most_commits,
			  struct err *err)
{
	enum { TRIES = 20 };
	int rc = -1;
	for (unsigned i = 0; rc < 0 && i < TRIES; i++) {
		struct registry *r = mem_alloc(sizeof *r);
		struct files_seen before, after;
		registry_init(r, folder);
		files_look(r, &before);
		if (!before.inode[REGISTRY_FILE] && !before.inode[REGISTRY_COMMIT] &&
		    !before.inode[REGISTRY_COMMIT_NEW]) {
			registry_close(&r);
			return 1;
		}
		rc = reader_load(r, &before, most_commits, err);
		files_look(r, &after);
		bool same = memcmp(&before, &after, sizeof before) == 0;
		if (rc == 0 && same) {
			*ret = r;
			return 0;
		}
		registry_close(&r);
		if (same)
			return rc;
		if (rc >= 0)
			rc = err_set(err, ERR_BUSY, "%s: is being compressed; ask again", folder);
	}
	return -1;
}

int registry_open_read(struct registry **ret, const char *folder, struct err *err)
{
	return registry_open_limited(ret, folder, UINT64_MAX, err);
}

/* The files are others, or so much came that it should be in new tables: all is opened anew. 1: it
 * is the same commit as before. */
static int reader_anew(struct registry *r, uint64_t commits, struct err *err)
{
	struct registry *fresh = NULL;
	int rc = registry_open_read(&fresh, r->folder, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: the registry is gone", r->folder);
	if (rc < 0)
		return -1;
	ENSURE(fresh);
	struct registry old = *r;
	*r = *fresh;
	*fresh = old;
	registry_close(&fresh);
	return r->last.commits == commits;
}

/* A commit that failed may have been seen, and cut off then. */
static bool commits_shrunk(const struct registry *r, enum registry_name name)
{
	struct stat st;
	return stat(r->path[name], &st) != 0 || (uint64_t)st.st_size < record_tell(r->reader);
}

int registry_refresh(struct registry *r, struct err *err)
{
	struct files_seen seen;
	struct err ignored;
	uint64_t length = r->last.length, commits = r->last.commits;
	ENSURE(!r->writes);
	files_look(r, &seen);
	enum registry_name name = files_commit(&seen);
	if (seen.inode[name] != r->reader_inode || commits_shrunk(r, name) ||
	    r->recent.n > 2 * MAX((uint64_t)REGISTRY_FEW,
				  r->tables.n[REGISTRY_BY_URL] / REGISTRY_SHARE) ||
	    commits_read(r, r->reader, r->path[name], UINT64_MAX, &ignored) < 0)
		return reader_anew(r, commits, err);
	if (r->last.commits == commits)
		return 1;
	r->written = r->last.length;
	r->now = r->last;
	return registry_replay(r, length, &ignored) == 0 ? 0 : reader_anew(r, commits, err);
}
