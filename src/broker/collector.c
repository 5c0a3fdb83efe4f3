/* The collector: opening, commits, and what is done between them. A commit syncs documents and
 * registry side by side and then writes one record, which is what counts; the words index follows,
 * and texts that nobody has any more are deleted. What a kill leaves undone after that record is
 * done by the next start. */
#include "broker/collector_inner.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "broker/addition.h"
#include "broker/compact_inner.h"

#include <poll.h>

/* The least time between commits while few changes arrive. */
enum { APART_US = 250000 };
enum { LOOK_EVERY = 64 /* objects between two looks at the clock */ };
/* Records, and texts, that one step examines. */
enum { EXPIRE_STEP = 20000, ORPHAN_STEP = 50000 };
enum { OBJECT_ARENA = 192 << 20 };
#define EXPIRE_EVERY_US (3600 * US_PER_S)
#define EXPIRE_FIRST_US (60 * US_PER_S)
#define REMEMBER_DELETED_US (INT64_C(30) * 86400 * US_PER_S)

struct sync_job {
	struct pool_job job;
	struct registry *registry;
	int rc;
	struct err err;
};

static int count_stats(struct collector *c, struct err *err)
{
	struct registry_stats r;
	uint64_t docs, behind;
	if (indexer_stats(c->indexer, &docs, &behind, err) < 0)
		return -1;
	registry_stats(c->registry, &r);
	counters_set(c->options.counters, COLLECTOR_OBJECTS, (int64_t)r.valid);
	counters_set(c->options.counters, COLLECTOR_DOCUMENTS, (int64_t)docs);
	counters_set(c->options.counters, COLLECTOR_BEHIND, (int64_t)behind);
	counters_set(c->options.counters, COLLECTOR_PENDING, (int64_t)c->taken);
	return 0;
}

void collector_took(struct collector *c)
{
	if (c->taken++ == 0)
		c->first_us = clock_mono_us();
}

bool collector_took_enough(const struct collector *c)
{
	return c->taken >= COLLECTOR_BATCH ||
	       (c->taken && c->taken % LOOK_EVERY == 0 &&
		clock_mono_us() - c->first_us >= COLLECTOR_COMMIT_US);
}

/* Opening */

/* Called before tables are written: the work that records since the last tables call for must be
 * done and durable, since they are not read again. */
static int before_tables(void *ctx, struct err *err)
{
	struct collector *c = ctx;
	if (objects_committed(c->objects, err) < 0)
		return -1;
	return docstore_checkpoint(c->docs, err);
}

/* Deletes the text of a replaced or dropped object, in case a kill came before that. */
static int drop_ended(void *ctx, uint32_t oid, struct err *err)
{
	struct collector *c = ctx;
	return docstore_delete(c->docs, oid, err) < 0 && err->code != ERR_DAMAGED ? -1 : 0;
}

static int open_docs(struct collector *c, const struct registry_opened *was, struct err *err)
{
	struct docstore_mark mark;
	struct docstore_opened is;
	registry_docs(c->registry, &mark);
	if (docstore_open(&c->docs, c->docs_folder, &mark, &is, err) < 0)
		return err->code == ERR_DAMAGED ? format_advise(&docstore_format, err), -1 : -1;
	if (was->cut || is.cut)
		log_info(COLLECTOR, "truncating uncommitted data",
			 KV_INT("registry", (int64_t)was->cut),
			 KV_INT("documents", (int64_t)is.cut));
	if (was->remade)
		log_info(COLLECTOR, "rebuilding registry.tables");
	if (is.remade)
		log_info(COLLECTOR, "rebuilding the table of documents",
			 KV_TEXT("folder", c->docs_folder));
	if (was->remade || is.remade) {
		struct registry_stats stats;
		registry_stats(c->registry, &stats);
		c->orphan = 1;
		c->orphans_end = stats.oids;
	}
	return registry_each_ended(c->registry, drop_ended, c, err);
}

static int open_stores(struct collector *c, struct err *err)
{
	struct registry_opened was;
	struct registry_options options = {
		.remember_deleted_s = (uint64_t)(c->options.remember_deleted_us / US_PER_S)};
	if (dir_make(c->folder, DIR_MODE, err) < 0)
		return -1;
	if (registry_open(&c->registry, c->folder, &options, &was, err) < 0)
		return err->code == ERR_DAMAGED ? format_advise(&registry_format, err), -1 : -1;
	if (was.miscounted)
		log_warn(COLLECTOR, "wrong counts in the header; rewriting them",
			 KV_TEXT("file", "registry"));
	if (open_docs(c, &was, err) < 0 ||
	    indexer_open(&c->indexer, c->folder, c->registry, c->docs, err) < 0)
		return -1;
	c->objects = objects_new(c->registry, c->docs, c->indexer);
	c->compact = compact_new(c->docs, c->registry);
	registry_before_tables(c->registry, before_tables, c);
	return feeds_open(c, err);
}

int collector_open(struct collector **ret, const struct collector_options *options, struct err *err)
{
	struct collector *c = mem_alloc(sizeof *c);
	c->arena = ARENA_INIT(1 << 20);
	c->object = ARENA_INIT(OBJECT_ARENA);
	c->options = *options;
	if (c->options.expire_every_us == 0)
		c->options.expire_every_us = EXPIRE_EVERY_US;
	if (c->options.remember_deleted_us == 0)
		c->options.remember_deleted_us = REMEMBER_DELETED_US;
	c->folder = arena_printf(&c->arena, "%s/broker", options->data);
	c->docs_folder = arena_printf(&c->arena, "%s/docs", c->folder);
	c->compact_us = INT64_MAX;
	c->expire_us = clock_mono_us() + MIN(EXPIRE_FIRST_US, c->options.expire_every_us);
	c->refresh_s = mem_array(REGISTRY_POINTS + 1, sizeof *c->refresh_s);
	if (open_stores(c, err) < 0 ||
	    pool_new(&c->syncer, &(struct pool_options){.threads = 1}, err) < 0 ||
	    count_stats(c, err) < 0) {
		collector_close(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void collector_close(struct collector **cp)
{
	struct collector *c = *cp;
	if (!c)
		return;
	compact_stop(c->compact);
	feeds_close(c);
	addition_free(&c->adding);
	registry_scan_free(&c->expiry);
	indexer_close(&c->indexer); /* waits for the job of compact */
	compact_free(&c->compact);
	objects_free(&c->objects);
	docstore_close(&c->docs);
	registry_close(&c->registry);
	pool_free(&c->syncer);
	mem_free(&c->refresh_s);
	arena_free(&c->object);
	arena_free(&c->arena);
	mem_free(cp);
}

/* Commits */

static void sync_registry(struct pool_job *job)
{
	struct sync_job *s = LIST_OF(struct sync_job, job, job);
	s->rc = registry_sync(s->registry, &s->err);
}

/* Syncs both at the same time. Until the registry commits, neither counts. */
static int sync_both(struct collector *c, struct docstore_mark *ret, struct err *err)
{
	struct sync_job s = {.job = {.run = sync_registry, .kept = true}, .registry = c->registry};
	pool_post(c->syncer, &s.job);
	int rc = docstore_sync(c->docs, ret, err);
	pool_wait(c->syncer, &s.job);
	if (rc == 0 && s.rc < 0)
		*err = s.err;
	return rc < 0 || s.rc < 0 ? -1 : 0;
}

static int plan_compaction(struct collector *c, struct err *err)
{
	bool wanted;
	if (compact_wanted(c->compact, &wanted, err) < 0)
		return -1;
	if (!wanted || compact_runs(c->compact))
		c->compact_us = INT64_MAX;
	else if (compact_asked(c->compact))
		c->compact_us = compact_rests_until_us(c->compact);
	else if (c->compact_us == INT64_MAX)
		c->compact_us =
			MAX(clock_mono_us() + COMPACT_WAIT_US, compact_rests_until_us(c->compact));
	return 0;
}

int collector_commit(struct collector *c, struct err *err)
{
	struct docstore_mark mark;
	if (c->taken == 0)
		return 0;
	c->last_us = clock_mono_us();
	FAULT("collector.commit");
	feeds_mark(c);
	if (sync_both(c, &mark, err) < 0)
		return -1;
	FAULT("collector.synced");
	if (registry_commit(c->registry, &mark, err) < 0)
		return -1;
	FAULT("collector.committed");
	if (indexer_commit(c->indexer, err) < 0 || objects_committed(c->objects, err) < 0)
		return -1;
	FAULT("collector.deleted");
	c->taken = 0;
	counters_add(c->options.counters, COLLECTOR_COMMITS, 1);
	counters_set(c->options.counters, COLLECTOR_LAST_COMMIT, clock_wall_us() / US_PER_S);
	return count_stats(c, err) < 0 ? -1 : plan_compaction(c, err);
}

/* Expiry */

static void note_refresh(struct collector *c, const struct registry_object *o)
{
	uint64_t due = (uint64_t)o->update_time_s + o->refresh_rate_s;
	uint32_t due_s = (uint32_t)MIN(due, (uint64_t)UINT32_MAX);
	if (o->point <= REGISTRY_POINTS)
		c->refresh_s[o->point] = MIN(c->refresh_s[o->point], due_s);
}

static void end_expiry(struct collector *c, int64_t now_us, int64_t now_s)
{
	registry_scan_free(&c->expiry);
	c->expire_us = now_us + c->options.expire_every_us;
	event_write(c->options.events, CLEANED, NULL, KV_UINT("objects", c->expired));
	if (c->cleaning) {
		c->cleaning = false;
		c->compact_us = now_us;
		compact_all(c->compact);
	}
	for (uint32_t i = 1; i <= REGISTRY_POINTS; i++)
		if (c->refresh_s[i] < now_s)
			feeds_ask_early(c, i, now_us);
}

/* 0: there are more records to examine. 1: nothing now. */
static int expire_some(struct collector *c, int64_t now_us, struct err *err)
{
	struct registry_record r;
	int64_t wall_us = clock_wall_us(), now_s = wall_us / US_PER_S;
	int rc = 0;
	if (!c->expiry) {
		if (now_us < c->expire_us)
			return 1;
		if (registry_scan_open(&c->expiry, c->registry, 0, err) < 0)
			return -1;
		c->expired = 0;
		event_write(c->options.events, CLEANER_ON, NULL);
		memset(c->refresh_s, 0xff, (REGISTRY_POINTS + 1) * sizeof *c->refresh_s);
	}
	for (unsigned i = 0; i < EXPIRE_STEP && c->taken < COLLECTOR_BATCH; i++) {
		rc = registry_scan_next(c->expiry, &r, err);
		if (rc < 0 && err->code == ERR_USAGE) { /* it was compressed: scan again */
			registry_scan_free(&c->expiry);
			return 0;
		}
		if (rc != 0)
			break;
		if (!r.living)
			continue;
		if (!objects_expired(&r.object, wall_us)) {
			note_refresh(c, &r.object);
			continue;
		}
		collector_took(c);
		c->expired++;
		counters_add(c->options.counters, COLLECTOR_EXPIRED, 1);
		event_write(c->options.events, DELETE, NULL, KV_STR("url", r.object.url),
			    KV_TEXT("why", "expired"));
		if (objects_drop(c->objects, &r.object, wall_us, err) < 0)
			return -1;
	}
	if (rc == 1)
		end_expiry(c, now_us, now_s);
	return rc;
}

void collector_expire(struct collector *c)
{
	c->expire_us = 0;
}

/* What the administrator adds */

static void add_ended(struct collector *c)
{
	const char *name = addition_name(c->adding);
	log_info(COLLECTOR, "file added", KV_TEXT("file", name), KV_UINT("objects", c->added.taken),
		 KV_UINT("bad", c->added.bad));
	event_write(c->options.events, COLLECTION, INDEXER_POINT_ADDED, KV_TEXT("file", name),
		    KV_UINT("objects", c->added.taken), KV_UINT("bad", c->added.bad));
	addition_free(&c->adding);
	c->added.ended = true;
}

static void add_left_out(struct collector *c, const struct err *why)
{
	c->added.bad++;
	counters_add(c->options.counters, COLLECTOR_BAD, 1);
	if (c->added.bad > COLLECTOR_LEFT_OUT_SHOWN)
		return;
	log_warn(COLLECTOR, "object skipped", KV_TEXT("file", addition_name(c->adding)),
		 KV_TEXT("why", why->msg));
}

static int add_change(struct collector *c, const struct source_change *change, struct err *err)
{
	uint32_t point = registry_point(c->registry, INDEXER_POINT_ADDED);
	enum objects_did did = OBJECTS_SAME;
	int rc = point ? 0 : err_set(err, ERR_USAGE, "there are too many sources");
	collector_took(c);
	if (rc == 0)
		rc = objects_apply(c->objects, point, change, true, clock_wall_us(), &did, err);
	if (rc < 0 && err->code == ERR_USAGE) {
		add_left_out(c, err);
		return 0;
	}
	if (rc < 0)
		return -1;
	c->added.taken++;
	feeds_note_did(c, INDEXER_POINT_ADDED, did, change->obj.url);
	return 0;
}

/* 0: there may be more. 1: there are none. */
static int add_some(struct collector *c, struct err *err)
{
	while (c->adding && !collector_took_enough(c)) {
		struct source_change change;
		arena_clear(&c->object);
		int rc = addition_next(c->adding, &c->object, &change, err);
		if (rc == 0 && add_change(c, &change, err) < 0)
			return -1;
		if (rc < 0) {
			collector_took(c); /* a step also ends in a file without a good object */
			add_left_out(c, err);
		}
		if (rc == 1 || (rc < 0 && err->code == ERR_SYSTEM))
			add_ended(c);
	}
	return c->adding ? 0 : 1;
}

int collector_add(struct collector *c, struct str name, struct collector_added *ret,
		  struct err *err)
{
	if (c->adding) {
		(void)err_set(err, ERR_BUSY, "%s is being added, try again later",
			      addition_name(c->adding));
		return 1;
	}
	if (collector_commit(c, err) < 0)
		return -1;
	int rc = addition_open(&c->adding, c->folder, name, err);
	if (rc > 0)
		(void)err_set(err, ERR_USAGE, "there is no such file in %s/%s", c->folder,
			      ADDITION_FOLDER);
	if (rc != 0)
		return 1;
	c->added = (struct collector_added){0};
	if (add_some(c, err) < 0 || collector_commit(c, err) < 0)
		return -1;
	*ret = c->added;
	return 0;
}

/* Other orders of the administrator */

void collector_clean(struct collector *c)
{
	registry_scan_free(&c->expiry); /* objects already scanned may have expired since */
	c->cleaning = true;
	collector_expire(c);
}

int collector_rebuild(struct collector *c)
{
	if (c->rebuild || indexer_rebuilds(c->indexer))
		return 1;
	c->rebuild = true;
	return 0;
}

int collector_index_stats(struct collector *c, uint64_t *ret_docs, uint64_t *ret_behind,
			  struct err *err)
{
	return indexer_stats(c->indexer, ret_docs, ret_behind, err);
}

static int drop_oid(struct collector *c, uint32_t oid, size_t *dropped, struct err *err)
{
	struct registry_object o;
	arena_clear(&c->object);
	int rc = oid ? registry_by_oid(c->registry, oid, &c->object, &o, err) : 1;
	if (rc != 0)
		return MIN(rc, 0);
	collector_took(c);
	counters_add(c->options.counters, COLLECTOR_DELETED, 1);
	event_write(c->options.events, DELETE, NULL, KV_STR("url", o.url), KV_UINT("oid", oid));
	++*dropped;
	return objects_drop(c->objects, &o, clock_wall_us(), err);
}

int collector_drop(struct collector *c, const uint32_t *oid, size_t n, size_t *ret, struct err *err)
{
	size_t dropped = 0;
	for (size_t i = 0; i < n; i++)
		if (drop_oid(c, oid[i], &dropped, err) < 0)
			return -1;
	if (collector_commit(c, err) < 0)
		return -1;
	*ret = dropped;
	return 0;
}

void collector_set(struct collector *c, enum collector_time which, int64_t us)
{
	int64_t now_us = clock_mono_us();
	if (which == COLLECTOR_COLLECT_EVERY) {
		feeds_set_every(c, us, now_us);
	} else if (which == COLLECTOR_EXPIRE_EVERY) {
		c->options.expire_every_us = us;
		c->expire_us = MIN(c->expire_us, now_us + us);
	} else {
		registry_set_remember(c->registry, (uint64_t)(us / US_PER_S));
	}
}

/* Texts without an object: a rebuilt table of documents has everything that is in the files. */

struct orphans {
	struct collector *c;
	unsigned seen;
};

static int drop_orphan(void *ctx, uint64_t oid, struct err *err)
{
	struct orphans *o = ctx;
	struct collector *c = o->c;
	if (oid > c->orphans_end || o->seen++ == ORPHAN_STEP)
		return 1;
	c->orphan = oid + 1;
	int rc = registry_has_oid(c->registry, (uint32_t)oid, err);
	if (rc <= 0)
		return rc;
	return docstore_delete(c->docs, oid, err) < 0 && err->code != ERR_DAMAGED ? -1 : 0;
}

/* 0: there may be more. 1: there are none. */
static int drop_orphans(struct collector *c, struct err *err)
{
	struct orphans o = {.c = c};
	if (c->orphan == 0)
		return 1;
	if (docstore_each(c->docs, c->orphan, drop_orphan, &o, err) < 0)
		return -1;
	if (o.seen > ORPHAN_STEP)
		return 0;
	c->orphan = 0;
	return plan_compaction(c, err) < 0 ? -1 : 1;
}

/* Compaction */

static int compaction_go_on(struct collector *c, struct err *err)
{
	bool ran = compact_runs(c->compact);
	int rc = compact_step(c->compact, clock_mono_us(), err);
	if (rc >= 0 && ran && !compact_runs(c->compact) && plan_compaction(c, err) < 0)
		return -1;
	return rc;
}

static int wait_for_compaction(struct collector *c, struct err *err)
{
	while (compact_runs(c->compact)) {
		struct maintenance *m = indexer_maintenance(c->indexer);
		if (maintenance_look(m, err) < 0)
			c->trouble = *err;
		if (compaction_go_on(c, err) != 0)
			return -1;
		struct pollfd done = {maintenance_fd(m), POLLIN, 0};
		if (compact_runs(c->compact))
			(void)poll(&done, 1, -1);
	}
	return 0;
}

int collector_compact_begin(struct collector *c, unsigned percent, struct err *err)
{
	if (collector_commit(c, err) < 0)
		return -1;
	if (!indexer_follows(c->indexer) || c->orphan)
		return 1; /* it reads documents that would be moved */
	int rc = compact_begin(c->compact, indexer_maintenance(c->indexer), percent,
			       clock_wall_us(), err);
	c->compact_us = INT64_MAX; /* space that cannot be freed now is looked at later */
	if (rc == 0 && compact_runs_records(c->compact))
		event_write(c->options.events, COMPRESSING, NULL);
	return plan_compaction(c, err) < 0 ? -1 : rc;
}

int collector_compact(struct collector *c, unsigned percent, struct err *err)
{
	if (collector_commit(c, err) < 0 || wait_for_compaction(c, err) < 0)
		return -1;
	int rc = collector_compact_begin(c, percent, err);
	return rc >= 0 && wait_for_compaction(c, err) < 0 ? -1 : rc;
}

/* Steps */

static int rebuild_begin(struct collector *c, struct err *err)
{
	if (!c->rebuild || compact_runs(c->compact) || c->orphan)
		return 0;
	c->rebuild = false;
	return indexer_rebuild(c->indexer, err) < 0 ? -1 : 0;
}

/* Work between two commits: updates the index and continues compaction. 0: there is more to do at
 * once. */
static int look_beside(struct collector *c, struct err *err)
{
	if (maintenance_look(indexer_maintenance(c->indexer), err) < 0)
		c->trouble = *err;
	if (c->taken)
		return 1;
	int orphans = drop_orphans(c, err);
	if (orphans < 0)
		return -1;
	if (rebuild_begin(c, err) < 0)
		return -1;
	int index = indexer_step(c->indexer, compact_runs(c->compact), err);
	if (index < 0 || (index == 0 && count_stats(c, err) < 0))
		return -1;
	int rc = compaction_go_on(c, err);
	if (rc < 0)
		return -1;
	if (rc > 0)
		c->trouble = *err;
	if (index > 0 && clock_mono_us() >= c->compact_us &&
	    collector_compact_begin(c, COMPACT_PERCENT, err) < 0)
		return -1;
	return index == 0 || orphans == 0 ? 0 : 1;
}

/* Returns whether to commit: at once if nothing more is there, but for slow feeds not more often
 * than every APART_US. */
static bool is_time(const struct collector *c, bool more, int64_t now_us)
{
	return c->taken >= COLLECTOR_BATCH ||
	       clock_mono_us() - c->first_us >= COLLECTOR_COMMIT_US ||
	       (!more && now_us - c->last_us >= APART_US);
}

int collector_step(struct collector *c, int64_t now_us, struct err *err)
{
	struct err ignored;
	int feeds = feeds_read(c, now_us, err);
	int added = feeds < 0 ? -1 : add_some(c, err);
	int expiry = added < 0 ? -1 : expire_some(c, now_us, err);
	if (expiry < 0)
		return -1;
	bool more = feeds == 0 || added == 0 || expiry == 0;
	counters_set(c->options.counters, COLLECTOR_PENDING, (int64_t)c->taken);
	if (c->taken && is_time(c, more, now_us) && collector_commit(c, err) < 0)
		return -1;
	int beside = look_beside(c, err);
	if (beside < 0)
		return -1;
	(void)feeds_report(c, now_us, &ignored); /* only people read it */
	return more || beside == 0 ? 0 : 1;
}

int collector_trouble(struct collector *c, struct err *ret)
{
	if (c->trouble.code == ERR_NONE)
		return 1;
	*ret = c->trouble;
	c->trouble = (struct err){0};
	return 0;
}

int64_t collector_due_us(const struct collector *c)
{
	int64_t due = MIN(feeds_due_us(c), c->expire_us);
	if (!c->taken)
		return MIN(due, c->compact_us); /* which waits for a commit */
	return MIN(due, MIN(c->first_us + COLLECTOR_COMMIT_US, c->last_us + APART_US));
}

void collector_wait(struct collector *c, const int *fd, size_t nfds, int64_t until_us)
{
	size_t most = c->options.n + 1 + nfds;
	struct pollfd *fds = mem_array(most, sizeof *fds);
	int *feeds = mem_array(c->options.n, sizeof *feeds);
	nfds_t n = 0;
	fds[n++] = (struct pollfd){maintenance_fd(indexer_maintenance(c->indexer)), POLLIN, 0};
	size_t open = feeds_fds(c, feeds, c->options.n);
	for (size_t i = 0; i < open; i++)
		fds[n++] = (struct pollfd){feeds[i], POLLIN, 0};
	for (size_t i = 0; i < nfds; i++)
		fds[n++] = (struct pollfd){fd[i], POLLIN, 0};
	int64_t us = MIN(until_us, collector_due_us(c)) - clock_mono_us();
	int ms = us <= 0 ? 0 : us > 60 * US_PER_S ? 60000 : (int)(us / 1000 + 1);
	int ready = poll(fds, n, ms);
	log_debug(SELECT, 9, "a turn of the collector", KV_UINT("watched", n),
		  KV_INT("ready", ready));
	mem_free(&feeds);
	mem_free(&fds);
}
