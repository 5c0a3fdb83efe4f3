/* The registry's writer: opening, putting, committing.
 *
 * What is put goes to a buffer, which is written in large pieces; an entry in `recent` remembers
 * what each record took the place of, so that all since the last commit can be taken back. A commit
 * syncs the file, appends a record to registry.commit, and then sets flags in records that were
 * replaced. These are not synced: the next commit does it with its own bytes, so only flags of the
 * last commit can be missing, and a start sets those again. If a sync fails, they are written once
 * more, since the system may have forgotten them. */
#include "broker/registry_inner.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/vec.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	BUFFER = REGISTRY_SCAN, /* bytes that are written at once */
	JOIN_FROM = 1 << 20,    /* bytes of registry.commit that are never too many */
};

/* Opening */

static int paths_exist(const struct registry *r, enum registry_name name, bool *ret,
		       struct err *err)
{
	struct file f = FILE_INIT;
	int rc = file_open(&f, r->path[name], O_RDONLY, 0, err);
	file_drop(&f);
	*ret = rc == 0;
	return MIN(rc, 0);
}

/* Ends or gives up a compression that was begun, and removes what other work left. */
static int mend_names(const struct registry *r, struct err *err)
{
	bool file, commit;
	if (file_remove(r->path[REGISTRY_TABLES_NEW], err) < 0 ||
	    file_remove(r->path[REGISTRY_COMMIT_JOINED], err) < 0 ||
	    paths_exist(r, REGISTRY_FILE_NEW, &file, err) < 0 ||
	    paths_exist(r, REGISTRY_COMMIT_NEW, &commit, err) < 0)
		return -1;
	if (!file && !commit)
		return 0;
	FAULT("registry.mend");
	if (!file)
		return file_rename(r->path[REGISTRY_COMMIT_NEW], r->path[REGISTRY_COMMIT], err) < 0
			       ? -1
			       : dir_sync(r->folder, err);
	if (file_remove(r->path[REGISTRY_COMMIT_NEW], err) < 0 || dir_sync(r->folder, err) < 0)
		return -1;
	FAULT("registry.mend.commit");
	return file_remove(r->path[REGISTRY_FILE_NEW], err) < 0 ? -1 : 0;
}

/* An empty registry: its header, then a first commit that says so. */
static int make_empty(struct registry *r, struct err *err)
{
	static const struct registry_counts none;
	static const struct registry_pieces no_pieces;
	static const struct registry_points no_points;
	char header[REGISTRY_HEADER];
	registry_header_print(&none, header);
	FAULT("registry.make");
	if (file_open(&r->file, r->path[REGISTRY_FILE], O_RDWR | O_CREAT, 0640, err) < 0 ||
	    file_truncate(&r->file, 0, err) < 0 ||
	    file_write(&r->file, header, sizeof header, 0, err) < 0 ||
	    file_sync(&r->file, err) < 0 || dir_sync(r->folder, err) < 0)
		return -1;
	file_drop(&r->file);
	FAULT("registry.made");
	struct registry_commit first = {.length = REGISTRY_HEADER, .from = REGISTRY_HEADER};
	if (registry_commit_write(r->path[REGISTRY_COMMIT], &first, &no_pieces, &no_points, err) <
	    0)
		return -1;
	FAULT("registry.made.commit");
	return dir_sync(r->folder, err);
}

/* Whether registry.commit has a record. */
static int commits_any(const struct registry *r, bool *ret, struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	int rc = record_reader_open(&in, r->path[REGISTRY_COMMIT], &registry_commit_kind, err);
	if (rc == 0)
		rc = record_next(in, &record, err);
	record_reader_free(&in);
	*ret = rc == 0;
	return MIN(rc, 0);
}

/* Both files are there, or neither is and they are made. */
static int find_files(struct registry *r, struct err *err)
{
	uint64_t size = 0;
	bool any, commit;
	if (paths_exist(r, REGISTRY_COMMIT, &commit, err) < 0 || commits_any(r, &any, err) < 0)
		return -1;
	int rc = file_open(&r->file, r->path[REGISTRY_FILE], O_RDWR, 0, err);
	if (rc < 0 || (rc == 0 && file_size(&r->file, &size, err) < 0))
		return -1;
	if (rc == 0 && any)
		return 0;
	file_drop(&r->file);
	if (rc == 1 && any)
		return err_set(err, ERR_DAMAGED, "%s: is missing, and %s says that there was one",
			       r->path[REGISTRY_FILE], r->path[REGISTRY_COMMIT]);
	if (size > REGISTRY_HEADER)
		return err_set(err, ERR_DAMAGED,
			       "%s: %s, and %s has %" PRIu64 " bytes that it should tell of",
			       r->path[REGISTRY_COMMIT], commit ? "has no commit" : "is missing",
			       r->path[REGISTRY_FILE], size);
	return make_empty(r, err) < 0 ||
			       file_open(&r->file, r->path[REGISTRY_FILE], O_RDWR, 0, err) != 0
		       ? -1
		       : 0;
}

static int offsets_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

void registry_offsets_sort(struct registry_offsets *o)
{
	if (o->n > 1)
		qsort(o->at, o->n, sizeof *o->at, offsets_order);
}

/* Flags that entries of recent from this one on want set. */
static void flags_collect(struct registry *r, size_t from)
{
	r->flags.n = 0;
	for (size_t i = from; i < r->recent.n; i++)
		if (r->recent.entry[i].kills)
			*VEC_PUSH(r->flags.at, r->flags.n, r->flags.room) =
				r->recent.entry[i].kills;
	registry_offsets_sort(&r->flags);
	r->flags_written = false;
}

int registry_flags_write(struct registry *r, struct err *err)
{
	static const char one[4] = {0, 0, 0, 1};
	char header[REGISTRY_HEADER];
	for (size_t i = 0; i < r->flags.n; i++) {
		FAULT("registry.flag");
		if (file_write(&r->file, one, sizeof one, r->flags.at[i] + REGISTRY_FLAG, err) < 0)
			return -1;
	}
	FAULT("registry.counts");
	const struct registry_counts counts = {(uint32_t)r->last.records, (uint32_t)r->last.deleted,
					       (uint32_t)r->last.valid};
	registry_header_print(&counts, header);
	if (file_write(&r->file, header, sizeof header, 0, err) < 0)
		return -1;
	r->flags_written = true;
	return 0;
}

/* Flags and counts of the last commit, which may be missing. */
static int mend_flags(struct registry *r, struct err *err)
{
	size_t from = r->recent.n;
	while (from > 0 && r->recent.entry[from - 1].at >= r->last.from)
		from--;
	flags_collect(r, from);
	return registry_flags_write(r, err);
}

static int writer_open(struct registry *r, struct registry_opened *ret_is, struct err *err)
{
	if (dir_make(r->folder, DIR_MODE, err) < 0 || lock_take(&r->lock, r->folder, err) < 0)
		return -1;
	if (mend_names(r, err) < 0 || find_files(r, err) < 0 ||
	    record_open(&r->commits, r->path[REGISTRY_COMMIT], &registry_commit_kind, 0640, NULL,
			err) < 0 ||
	    registry_load(r, r->path[REGISTRY_COMMIT], UINT64_MAX, ret_is, err) != 0)
		return -1;
	bool right;
	if (registry_counts_check(r, false, &right, err) < 0 || mend_flags(r, err) < 0)
		return -1;
	if (ret_is)
		ret_is->miscounted = !right;
	r->opened = true;
	log_debug(REGISTRY, 1, "opened", KV_TEXT("file", r->file.path),
		  KV_UINT("records", r->last.records), KV_UINT("valid", r->last.valid),
		  KV_UINT("commit", r->last.commits));
	return 0;
}

int registry_open(struct registry **ret, const char *folder, const struct registry_options *options,
		  struct registry_opened *ret_is, struct err *err)
{
	struct registry *r = mem_alloc(sizeof *r);
	registry_init(r, folder);
	r->writes = true;
	r->options = *options;
	r->out = BUF_INIT(BUFFER + 4 + REGISTRY_RECORD);
	if (writer_open(r, ret_is, err) < 0) {
		registry_close(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

void registry_close(struct registry **pr)
{
	struct registry *r = *pr;
	struct err ignored;
	if (!r)
		return;
	if (r->opened) {
		/* Flags are on disk before the mark that says that all was ended well. */
		(void)registry_give_up(r, &ignored);
		if ((r->flags_written || registry_flags_write(r, &ignored) == 0) &&
		    file_sync(&r->file, &ignored) == 0)
			(void)record_close(&r->commits, &ignored);
	}
	registry_release(r);
	if (r->lock.file.fd >= 0)
		lock_free(&r->lock);
	mem_free(pr);
}

/* Writing */

/* A commit record whose sync failed may still be in its file; what it speaks of stays until it is
 * cut off. */
static int commit_take_back(struct registry *r, struct err *err)
{
	if (r->doubtful && record_truncate(r->commits, record_end(r->commits), err) < 0)
		return -1;
	r->doubtful = false;
	return 0;
}

static int buffer_write(struct registry *r, struct err *err)
{
	if (r->out.n == 0)
		return 0;
	if (commit_take_back(r, err) < 0)
		return -1;
	FAULT("registry.append");
	if (file_write(&r->file, r->out.p, r->out.n, r->written, err) < 0)
		return -1;
	r->written += r->out.n;
	buf_clear(&r->out);
	return 0;
}

/* Appends a record that takes the place of `killed`, or of none. */
static int record_put(struct registry *r, const struct registry_object *object, bool tombstone,
		      const struct registry_raw *killed, struct err *err)
{
	if (r->out.n >= BUFFER && buffer_write(r, err) < 0)
		return -1;
	if (r->now.records >= UINT32_MAX - 1)
		return err_set(err, ERR_USAGE, "%s: %" PRIu64 " records, no more can be counted",
			       r->file.path, r->now.records);
	size_t at = r->out.n;
	registry_record_print(&r->out, object, tombstone);
	struct registry_raw raw = {.bytes = str_from(buf_str(&r->out), at),
				   .at = r->written + at,
				   .tombstone = tombstone,
				   .object = *object};
	registry_hash_add(&r->hash, raw.bytes);
	registry_recent_add(&r->recent, &raw, killed);
	r->now.records++;
	r->now.deleted += (killed != NULL) + tombstone;
	r->now.valid += !killed - (uint64_t)tombstone;
	r->now.changed = object->changed_s;
	r->now.length = raw.at + raw.bytes.n;
	r->now.oids = MAX(r->now.oids, (uint64_t)object->oid);
	r->synced = false;
	return 0;
}

static uint32_t clock_seconds(int64_t now_us)
{
	return (uint32_t)MIN(MAX(now_us / US_PER_S, INT64_C(0)), (int64_t)UINT32_MAX);
}

/* Never before that of the record before. */
static uint32_t changed_now(const struct registry *r, int64_t now_us)
{
	return (uint32_t)MAX((uint64_t)clock_seconds(now_us), r->now.changed);
}

int registry_put(struct registry *r, const struct registry_object *object, int64_t now_us,
		 struct err *err)
{
	struct registry_object o = *object;
	struct registry_raw killed;
	ENSURE(r->writes);
	if (registry_object_check(&o, err) < 0)
		return -1;
	arena_clear(&r->read);
	int rc = registry_find_raw(r, o.gatherer_name, o.gatherer_host, o.url, &r->read, &killed,
				   err);
	if (rc < 0)
		return -1;
	/* A text that came just now has not come before anything that was written before it, even
	 * if the clock was set back. */
	bool just_came = o.stored_s == clock_seconds(now_us);
	o.changed_s = changed_now(r, now_us);
	if (just_came)
		o.stored_s = o.changed_s;
	log_debug(REGISTRY, 5, "put", KV_STR("url", o.url), KV_UINT("oid", o.oid),
		  KV_TEXT("replaces", rc == 0 ? "yes" : "no"));
	return record_put(r, &o, false, rc == 0 ? &killed : NULL, err);
}

int registry_drop(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		  struct str url, int64_t now_us, struct err *err)
{
	struct registry_raw killed;
	ENSURE(r->writes);
	arena_clear(&r->read);
	int rc = registry_find_raw(r, gatherer_name, gatherer_host, url, &r->read, &killed, err);
	if (rc != 0)
		return rc;
	struct registry_object o = killed.object;
	o.changed_s = changed_now(r, now_us);
	log_debug(REGISTRY, 5, "dropped", KV_STR("url", o.url), KV_UINT("oid", o.oid));
	return record_put(r, &o, true, &killed, err);
}

uint32_t registry_new_oid(struct registry *r)
{
	return r->now.oids == UINT32_MAX ? 0 : (uint32_t)++r->now.oids;
}

/* Points */

uint32_t registry_point(struct registry *r, const char *name)
{
	struct registry_points *p = &r->points;
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->point[i].name, name) == 0)
			return p->point[i].number;
	if (p->n == REGISTRY_POINTS || !*name || strlen(name) > REGISTRY_POINT_NAME)
		return 0;
	VEC_ROOM(p->more, p->more_room, p->n + 1);
	p->more[p->n] = (struct registry_point_state){0};
	*VEC_PUSH(p->point, p->n, p->room) =
		(struct registry_point){.name = mem_text(name), .number = (uint32_t)p->n};
	return p->point[p->n - 1].number;
}

const struct registry_point *registry_points(const struct registry *r, size_t *ret_n)
{
	*ret_n = r->points.n;
	return r->points.point;
}

void registry_set_cursor(struct registry *r, uint32_t point, const struct source_cursor *cursor)
{
	ENSURE(point >= 1 && point <= r->points.n);
	r->points.more[point - 1].next = *cursor;
	r->points.more[point - 1].changed = true;
}

/* Committing */

int registry_sync(struct registry *r, struct err *err)
{
	if (r->synced)
		return 0;
	if (buffer_write(r, err) < 0 || (!r->flags_written && registry_flags_write(r, err) < 0))
		return -1;
	FAULT("registry.sync");
	if (file_sync(&r->file, err) < 0) {
		r->flags_written = false;
		return -1;
	}
	FAULT("registry.synced");
	r->synced = true;
	return 0;
}

int registry_give_up(struct registry *r, struct err *err)
{
	(void)err;
	registry_recent_undo(&r->recent, r->committed);
	uint64_t oids = r->now.oids; /* never given again, by this process */
	bool longer = r->written > r->last.length;
	r->now = r->last;
	r->now.oids = oids;
	buf_clear(&r->out);
	r->written = r->last.length;
	xxh64_begin(&r->hash);
	for (size_t i = 0; i < r->points.n; i++)
		r->points.more[i].changed = false;
	r->synced = false;
	/* What is longer than the commit says counts for nothing, and is overwritten or cut by the
	 * next start: this only gives back space. */
	struct err ignored;
	if (longer && !r->doubtful)
		(void)file_truncate(&r->file, r->last.length, &ignored);
	return 0;
}

static bool something_new(const struct registry *r, const struct docstore_mark *docs)
{
	for (size_t i = 0; i < r->points.n; i++)
		if (r->points.more[i].changed || !r->points.more[i].known)
			return true;
	return r->now.length != r->last.length || docs->file != r->last.docs.file ||
	       docs->length != r->last.docs.length;
}

static int commit_append(struct registry *r, const struct registry_commit *commit, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(registry_commit_kind.most);
	struct record_group group = {0};
	registry_commit_print(&payload, commit, &r->points, false);
	FAULT("registry.commit");
	r->doubtful = true;
	if (record_append(r->commits, buf_str(&payload), &group, NULL, err) < 0 ||
	    record_sync(r->commits, &group, err) < 0)
		return -1;
	r->doubtful = false;
	FAULT("registry.committed");
	return 0;
}

/* The commit counts: what was put is what there is. */
static void commit_settle(struct registry *r, const struct registry_commit *commit)
{
	if (commit->length > commit->from)
		*VEC_PUSH(r->pieces.piece, r->pieces.n, r->pieces.room) =
			(struct registry_piece){commit->from, commit->length, commit->hash};
	r->last = r->now = *commit;
	xxh64_begin(&r->hash);
	for (size_t i = 0; i < r->points.n; i++) {
		struct registry_point_state *more = &r->points.more[i];
		if (more->changed)
			r->points.point[i].cursor = more->next;
		more->changed = false;
		more->known = true;
	}
	flags_collect(r, r->committed);
	r->committed = r->recent.n;
	r->synced = false;
}

/* Tables are written anew when many records came since. */
static bool tables_due(const struct registry *r)
{
	uint64_t few = r->options.tables_least ? r->options.tables_least : REGISTRY_FEW;
	uint64_t most = MAX(few, r->tables.n[REGISTRY_BY_URL] / REGISTRY_SHARE);
	return !r->compressing && r->recent.n > MAX(most, r->tables_wait);
}

static int tables_write(struct registry *r, struct err *err)
{
	struct registry_tables fresh = {0};
	FAULT("registry.tables");
	if ((r->before_tables && r->before_tables(r->before_ctx, err) < 0) ||
	    registry_sync(r, err) < 0 || /* flags: a start sets only those of records it reads */
	    registry_tables_merge(r->path[REGISTRY_TABLES_NEW], &r->tables, &r->recent,
				  r->last.base, r->last.length, err) < 0 ||
	    registry_tables_open(&fresh, r->path[REGISTRY_TABLES_NEW], err) != 0)
		return -1;
	FAULT("registry.tables.rename");
	if (file_rename(r->path[REGISTRY_TABLES_NEW], r->path[REGISTRY_TABLES], err) < 0 ||
	    dir_sync(r->folder, err) < 0) {
		registry_tables_close(&fresh);
		return -1;
	}
	FAULT("registry.tables.renamed");
	log_debug(HASH, 1, "tables written", KV_UINT("urls", fresh.n[REGISTRY_BY_URL]),
		  KV_UINT("since", r->recent.n));
	registry_tables_close(&r->tables);
	r->tables = fresh;
	registry_recent_free(&r->recent);
	r->committed = 0;
	r->tables_wait = 0;
	return 0;
}

/* What keeps the files small and the next start short. The commit stands whatever becomes of it. */
static void commit_tidy(struct registry *r)
{
	struct err err;
	if (r->rename_due && registry_commit_rename(r, &err) < 0)
		return;
	if (tables_due(r) && tables_write(r, &err) < 0) {
		r->tidy_failed++;
		r->tables_wait = r->recent.n + r->recent.n / 4;
	}
	if (!r->compressing && record_end(r->commits) > MAX(r->join_wait, (uint64_t)JOIN_FROM) &&
	    registry_join(r, &err) < 0) {
		r->tidy_failed++;
		r->join_wait = record_end(r->commits) + JOIN_FROM / 4;
	}
}

int registry_commit(struct registry *r, const struct docstore_mark *docs, struct err *err)
{
	ENSURE(r->writes);
	if (!something_new(r, docs))
		return 1;
	struct registry_commit commit = r->now;
	commit.from = r->last.length;
	commit.hash = xxh64_end(&r->hash);
	commit.docs = *docs;
	commit.commits = r->last.commits + 1;
	if (registry_sync(r, err) < 0 || commit_append(r, &commit, err) < 0) {
		struct err ignored;
		(void)commit_take_back(r, &ignored);
		(void)registry_give_up(r, &ignored);
		return -1;
	}
	commit_settle(r, &commit);
	log_debug(REGISTRY, 1, "committed", KV_UINT("commit", r->last.commits),
		  KV_UINT("records", r->last.records), KV_UINT("valid", r->last.valid),
		  KV_UINT("bytes", r->last.length));
	struct err later;
	if (registry_flags_write(r, &later) == 0) /* else with the next commit, before its sync */
		FAULT("registry.flags");
	commit_tidy(r);
	return 0;
}

/* What there is */

void registry_docs(const struct registry *r, struct docstore_mark *ret)
{
	*ret = r->last.docs;
}

uint64_t registry_length(const struct registry *r)
{
	return r->last.base + r->last.length;
}

void registry_stats(const struct registry *r, struct registry_stats *ret)
{
	*ret = (struct registry_stats){.bytes = r->last.length,
				       .records = r->last.records,
				       .deleted = r->last.deleted,
				       .valid = r->last.valid,
				       .commits = r->last.commits,
				       .oids = r->last.oids,
				       .changed_s = (uint32_t)r->last.changed,
				       .tidy_failed = r->tidy_failed};
}

void registry_before_tables(struct registry *r, int (*before)(void *ctx, struct err *err),
			    void *ctx)
{
	r->before_tables = before;
	r->before_ctx = ctx;
}
