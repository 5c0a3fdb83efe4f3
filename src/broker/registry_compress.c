/* Compression: what counts is copied to a new file, which takes the place of the old one.
 *
 * The copy is made by any thread from a reader of its own, of the commit at which it began, with
 * the tables of the new file. At its end the writer's thread adds what was appended meanwhile,
 * opens the new files as a start would, and only then renames: so nothing that can fail is left
 * after the first rename but the second, which the next start would do. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "broker/registry_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>

enum { WORTH = 4096, PIECE = 1 << 20 };

struct registry_compression {
	struct registry *of;
	uint64_t commits;    /* the commit that is copied */
	uint64_t remember_s; /* tombstones since then are kept */
	atomic_bool stopped;
	bool copied, ended;
	bool taken;    /* the new file has the name */
	uint64_t from; /* length of the registry that was copied */

	struct file file;
	struct registry_commit commit; /* of the new file */
	struct registry_pieces pieces;
	struct registry_piece piece; /* being written */
	struct xxh64 hash;
	struct buf out;
};

bool registry_worth_it(const struct registry *r)
{
	uint64_t least = r->options.compress_least ? r->options.compress_least : WORTH;
	uint64_t saved = r->last.deleted - MIN(r->last.deleted, r->spared);
	return !r->compressing && r->last.records >= least && saved * 2 >= r->last.records;
}

void registry_set_remember(struct registry *r, uint64_t remember_deleted_s)
{
	r->options.remember_deleted_s = remember_deleted_s;
}

int registry_compress_begin(struct registry *r, bool any, int64_t now_us,
			    struct registry_compression **ret, struct err *err)
{
	uint64_t now_s = (uint64_t)MAX(now_us / US_PER_S, INT64_C(0));
	if (r->rename_due && registry_commit_rename(r, err) < 0)
		return -1;
	if (any ? r->compressing || r->last.deleted == 0 : !registry_worth_it(r))
		return 1;
	struct registry_compression *c = mem_alloc(sizeof *c);
	c->of = r;
	c->commits = r->last.commits;
	c->remember_s = now_s - MIN(now_s, r->options.remember_deleted_s);
	c->file = FILE_INIT;
	c->out = BUF_INIT(PIECE + 4 + REGISTRY_RECORD);
	r->compressing = true;
	log_debug(REGISTRY, 1, "compression begins", KV_UINT("records", r->last.records),
		  KV_UINT("deleted", r->last.deleted));
	*ret = c;
	return 0;
}

void registry_compress_stop(struct registry_compression *c)
{
	atomic_store(&c->stopped, true);
}

static int out_write(struct registry_compression *c, struct err *err)
{
	uint64_t at = c->commit.length - c->out.n;
	if (c->out.n && file_write(&c->file, c->out.p, c->out.n, at, err) < 0)
		return -1;
	buf_clear(&c->out);
	return 0;
}

static void piece_end(struct registry_compression *c)
{
	c->piece.to = c->commit.length;
	c->piece.hash = xxh64_end(&c->hash);
	if (c->piece.to > c->piece.from)
		*VEC_PUSH(c->pieces.piece, c->pieces.n, c->pieces.room) = c->piece;
	c->piece.from = c->piece.to;
	xxh64_begin(&c->hash);
}

static int out_add(struct registry_compression *c, struct str record, uint32_t flag,
		   struct err *err)
{
	char be[4] = {0, 0, 0, (char)flag};
	registry_hash_add(&c->hash, record);
	buf_add(&c->out, record.p, REGISTRY_FLAG);
	buf_add(&c->out, be, sizeof be);
	buf_add_str(&c->out, str_from(record, REGISTRY_FLAG + sizeof be));
	c->commit.length += record.n;
	if (c->commit.length - c->piece.from >= PIECE)
		piece_end(c);
	return c->out.n >= PIECE ? out_write(c, err) : 0;
}

/* A record that is copied: it lives, or is a young tombstone. */
static int copy_record(struct registry_compression *c, struct registry *from,
		       const struct registry_raw *raw, struct err *err)
{
	int dead = registry_lives(from, raw, err);
	if (dead < 0)
		return -1;
	if (dead && !(raw->tombstone && raw->object.changed_s >= c->remember_s))
		return 0;
	c->commit.records++;
	c->commit.deleted += (uint64_t)dead;
	c->commit.valid += !dead;
	return out_add(c, raw->bytes, (uint32_t)dead, err);
}

static int copy_records(struct registry_compression *c, struct registry *from, struct err *err)
{
	struct registry_walk walk;
	struct registry_raw raw;
	int rc;
	registry_walk_begin(&walk, &from->file, REGISTRY_HEADER, from->last.length);
	while ((rc = registry_walk_next(&walk, &raw, err)) == 0)
		if (atomic_load(&c->stopped) || (rc = copy_record(c, from, &raw, err)) < 0)
			break;
	registry_walk_end(&walk);
	if (rc == 0)
		return 1; /* stopped */
	piece_end(c);
	return rc < 0 ? -1 : out_write(c, err);
}

static int copy_all(struct registry_compression *c, struct registry *from, struct err *err)
{
	const struct registry *r = c->of;
	FAULT("registry.compress");
	if (file_remove(r->path[REGISTRY_FILE_NEW], err) < 0 ||
	    file_open(&c->file, r->path[REGISTRY_FILE_NEW], O_RDWR | O_CREAT, 0640, err) < 0)
		return -1;
	c->commit.length = c->piece.from = REGISTRY_HEADER;
	xxh64_begin(&c->hash);
	int rc = copy_records(c, from, err);
	if (rc != 0)
		return rc;
	FAULT("registry.compress.copied");
	c->from = from->last.length;
	c->commit.base = from->last.base + (c->from - c->commit.length);
	c->commit.kept = from->last.base + c->from;
	rc = registry_tables_make(r->path[REGISTRY_TABLES_NEW], r->folder, &c->file, c->commit.base,
				  c->commit.length, err);
	FAULT("registry.compress.tables");
	/* The end has little left to sync then. */
	return rc < 0 ? -1 : file_sync(&c->file, err);
}

int registry_compress_copy(struct registry_compression *c, struct err *err)
{
	struct registry *from = NULL;
	int rc = registry_open_limited(&from, c->of->folder, c->commits, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: the registry is gone", c->of->folder);
	if (rc == 0)
		rc = copy_all(c, from, err);
	registry_close(&from);
	c->copied = rc == 0;
	return rc;
}

/* What was committed since the copy comes after it; flags as they are. */
static int tail_record(void *ctx, const struct registry_raw *raw, struct err *err)
{
	struct registry_compression *c = ctx;
	return out_add(c, raw->bytes, raw->flag, err);
}

static int tail_copy(struct registry_compression *c, struct err *err)
{
	struct registry *r = c->of;
	if (registry_each_committed(r, c->from, tail_record, c, err) < 0)
		return -1;
	piece_end(c);
	return out_write(c, err);
}

/* A registry of the new files, in place of the old one but for its lock and what belongs to it. */
static int fresh_open(struct registry_compression *c, struct registry *fresh, struct err *err)
{
	struct registry *r = c->of;
	fresh->file = c->file;
	c->file = FILE_INIT;
	int rc = registry_tables_open(&fresh->tables, r->path[REGISTRY_TABLES_NEW], err);
	if (rc != 0)
		return rc < 0 ? -1
			      : err_set(err, ERR_SYSTEM, "%s: is gone",
					r->path[REGISTRY_TABLES_NEW]);
	fresh->pieces = c->pieces;
	c->pieces = (struct registry_pieces){0};
	fresh->last = fresh->now = c->commit;
	fresh->written = c->commit.length;
	xxh64_begin(&fresh->hash);
	return registry_replay(fresh, fresh->tables.length, err);
}

int registry_commit_rename(struct registry *r, struct err *err)
{
	if (file_rename(r->path[REGISTRY_COMMIT_NEW], r->path[REGISTRY_COMMIT], err) < 0)
		return -1;
	r->rename_due = false;
	return dir_sync(r->folder, err);
}

/* Counts and flags: what was copied as living and was replaced since. */
static int fresh_flags(struct registry *fresh, struct err *err)
{
	struct registry_commit *last = &fresh->last;
	for (size_t i = 0; i < fresh->recent.n; i++) {
		const struct registry_entry *e = &fresh->recent.entry[i];
		last->records++;
		last->deleted += (e->kills != 0) + e->tombstone;
		last->valid += !e->kills - (uint64_t)e->tombstone;
		if (e->kills)
			*VEC_PUSH(fresh->flags.at, fresh->flags.n, fresh->flags.room) = e->kills;
	}
	fresh->now = *last;
	return registry_flags_write(fresh, err) < 0 || file_sync(&fresh->file, err) < 0 ? -1 : 0;
}

static int fresh_commits(struct registry *r, struct registry *fresh, struct err *err)
{
	if (registry_commit_write(r->path[REGISTRY_COMMIT_NEW], &fresh->last, &fresh->pieces,
				  &r->points, err) < 0 ||
	    record_open(&fresh->commits, r->path[REGISTRY_COMMIT_NEW], &registry_commit_kind, 0640,
			NULL, err) < 0)
		return -1;
	return dir_sync(r->folder, err);
}

/* The names change; after the first one the new registry is the one there is. */
static int fresh_rename(struct registry *r, struct registry *fresh, bool *ret_taken,
			struct err *err)
{
	FAULT("registry.compress.rename");
	if (file_rename(r->path[REGISTRY_FILE_NEW], r->path[REGISTRY_FILE], err) < 0)
		return -1;
	*ret_taken = true;
	fresh->rename_due = true;
	FAULT("registry.compress.renamed");
	if (registry_commit_rename(fresh, err) < 0)
		return err_then(err, "the next commit tries again");
	FAULT("registry.compress.commit.renamed");
	if (file_rename(r->path[REGISTRY_TABLES_NEW], r->path[REGISTRY_TABLES], err) < 0 ||
	    dir_sync(r->folder, err) < 0)
		return err_then(err, "the next start makes the tables again");
	FAULT("registry.compress.ended");
	return 0;
}

static void fresh_take(struct registry *r, struct registry *fresh)
{
	struct registry old = *r;
	fresh->points = old.points; /* the new file has all of them, as they were committed */
	old.points = (struct registry_points){0};
	fresh->lock = old.lock;
	fresh->out = old.out;
	old.out = (struct buf){0};
	fresh->writes = fresh->opened = true;
	fresh->options = old.options;
	fresh->before_tables = old.before_tables;
	fresh->before_ctx = old.before_ctx;
	fresh->tidy_failed = old.tidy_failed;
	fresh->now.oids = old.now.oids;
	fresh->synced = true;
	fresh->flags.n = 0;
	mem_free(&fresh->file.path); /* errors name it as it is called now */
	fresh->file.path = mem_text(fresh->path[REGISTRY_FILE]);
	*r = *fresh;
	*fresh = (struct registry){.file = FILE_INIT};
	registry_release(&old);
}

int registry_compress_end(struct registry_compression *c, struct err *err)
{
	struct registry *r = c->of;
	struct registry fresh;
	ENSURE(c->copied && !c->ended);
	registry_init(&fresh, r->folder);
	(void)registry_give_up(r, err);
	c->ended = true;
	/* the tables change with it */
	int rc = r->before_tables ? r->before_tables(r->before_ctx, err) : 0;
	if (rc == 0)
		rc = tail_copy(c, err);
	c->commit.oids = r->last.oids;
	c->commit.changed = r->last.changed;
	c->commit.commits = r->last.commits + 1;
	c->commit.docs = r->last.docs;
	if (rc == 0 && (fresh_open(c, &fresh, err) < 0 || fresh_flags(&fresh, err) < 0))
		rc = -1;
	FAULT("registry.compress.synced");
	if (rc == 0)
		rc = fresh_commits(r, &fresh, err);
	FAULT("registry.compress.commit");
	if (rc == 0)
		rc = fresh_rename(r, &fresh, &c->taken, err);
	r->compressing = false;
	if (c->taken) {
		fresh_take(r, &fresh);
		r->spared = r->last.deleted;
		log_debug(REGISTRY, 1, "compressed", KV_UINT("records", r->last.records),
			  KV_UINT("bytes", r->last.length));
	} else {
		registry_release(&fresh);
	}
	return rc;
}

void registry_compress_free(struct registry_compression **pc)
{
	struct registry_compression *c = *pc;
	struct err ignored;
	if (!c)
		return;
	c->of->compressing = false;
	file_drop(&c->file);
	/* Where it ended these are not there, or a start knows what to do with them. */
	if (!c->taken) {
		(void)file_remove(c->of->path[REGISTRY_COMMIT_NEW], &ignored);
		(void)file_remove(c->of->path[REGISTRY_FILE_NEW], &ignored);
		(void)file_remove(c->of->path[REGISTRY_TABLES_NEW], &ignored);
	}
	mem_free(&c->pieces.piece);
	buf_free(&c->out);
	mem_free(pc);
}
