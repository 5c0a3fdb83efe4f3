/* The collector: which words and numbers of an object are indexed, how changes are applied and
 * committed, and the loop of the role `broker` around it. A commit goes batch, documents, index,
 * cursors, deletes, and may be cut off between any two of these: what is applied twice changes
 * nothing, and what the index does not name is deleted from the store at the next start. */
#include "broker/collector.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "base/vec.h"
#include "broker/batch.h"
#include "broker/compact.h"
#include "broker/cursors.h"
#include "broker/search.h"
#include "disk/tree.h"
#include "index/segment.h"
#include "index/words.h"
#include "role/notify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Attributes of objects that are searched, and what they are called there. All others are kept in
 * the document store and found by nothing. */
static const struct {
	const char *soif, *words;
} searched[] = {
	{"Title", "title"},         {"Headings", "headings"},      {"Keywords", "keywords"},
	{"Author", "author"},       {"Abstract", "abstract"},      {"Description", "description"},
	{"Full-Text", "full-text"}, {"Partial-Text", "full-text"}, {"Language", "language"},
	{"Type", "type"},
};

static const struct {
	const char *soif, *words;
	enum words_type type;
} columns[] = {
	{"File-Size", "size", WORDS_NUMBER},
	{"Last-Modification-Time", "modified", WORDS_DATE},
	{"Update-Time", "gathered", WORDS_DATE},
};

enum { OTHERS = 3 }; /* url, site, type */

static void collector_settings(struct words_settings *ret)
{
	words_settings_default(ret);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		snprintf(ret->column[ret->columns].name, sizeof ret->column[0].name, "%s",
			 columns[i].words);
		ret->column[ret->columns++].type = columns[i].type;
	}
}

static void doc_add_attr(struct words_doc *doc, struct words_attr *attr, const char *name,
			 struct str value)
{
	if (value.n)
		attr[doc->n++] = (struct words_attr){str_of(name), value};
}

static void collector_doc(const struct soif *obj, struct docaddr addr, struct arena *arena,
			  struct words_doc *ret)
{
	size_t most = ARRAY_LEN(searched) + ARRAY_LEN(columns) + OTHERS;
	struct words_attr *attr = arena_array(arena, most, sizeof *attr);
	struct words_doc doc = {.key = obj->url, .addr = addr, .attr = attr};
	uint64_t time_s = 0;
	if (!soif_u64(obj, STR("Last-Modification-Time"), &time_s))
		(void)soif_u64(obj, STR("Update-Time"), &time_s);
	doc.time_s = (int64_t)time_s;
	for (size_t i = 0; i < ARRAY_LEN(searched); i++)
		doc_add_attr(&doc, attr, searched[i].words,
			     soif_get(obj, str_of(searched[i].soif)));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		doc_add_attr(&doc, attr, columns[i].words, soif_get(obj, str_of(columns[i].soif)));
	doc_add_attr(&doc, attr, "url", obj->url);
	doc_add_attr(&doc, attr, SEARCH_SITE, search_word(search_host(obj->url), arena));
	struct str type = soif_get(obj, STR("Type"));
	if (type.n)
		doc_add_attr(&doc, attr, SEARCH_TYPE, search_word(type, arena));
	*ret = doc;
}

/* A feed that cannot be opened, or read, is tried again after a while. */
enum { RETRY_US = 1000000, OBJECT_ARENA = 192 << 20 };
/* How far apart commits are while little comes at a time. */
enum { APART_US = 250000 };

struct url_key {
	uint64_t a, b;
};
static uint64_t url_key_hash(struct url_key k)
{
	return k.a;
}
static bool url_key_equal(struct url_key x, struct url_key y)
{
	return x.a == y.a && x.b == y.b;
}
TABLE(url_addrs, struct url_key, struct docaddr, url_key_hash, url_key_equal)

static struct url_key key_of(struct str url)
{
	return (struct url_key){hash64(url), hash64_seeded(url, 1)};
}

struct feed {
	const struct collector_feed *def;
	struct source *source;        /* NULL: not open */
	struct source_cursor *cursor; /* as of the last commit */
	struct source_cursor begin;   /* all zeroes */
	int64_t retry_us;
	struct source_cursor failed; /* where it was when it failed last, */
	bool failing;                /* if nothing came since */
	/* Its place was lost: all is told again, and what is not told any more goes. Until then its
	 * cursor is not moved, so that a crash begins again. */
	bool sweeps;
	struct url_addrs told;
};

struct collector {
	struct arena arena; /* paths */
	const char *words_folder, *batch_path, *cursors_path;
	struct docstore *docs;
	struct words_writer *words;
	struct words_reader *committed;
	struct record_writer *batch;
	struct record_group group;
	struct cursors cursors;
	struct feed *feed;
	size_t nfeeds;
	struct url_addrs pending; /* since the last commit: the address now, 0: deleted */
	struct docaddr *old;      /* addresses that the next commit makes free */
	size_t nold, old_room;
	size_t taken;     /* objects since the last commit */
	int64_t first_us; /* when the first of them was taken */
	int64_t last_us;  /* when the last commit began */
	struct arena object;
	struct maintenance *maintenance;
	struct compact *compact;
	int64_t compact_us; /* when to compact; INT64_MAX: there is no need */
	struct err trouble; /* of the other threads, until it is told */
	struct counters *counters;
	size_t counters_at;
};

static void count_add(struct collector *c, enum collector_counter which, uint64_t n)
{
	if (c->counters)
		counters_add(c->counters, c->counters_at + which, n);
}

static void count_set(struct collector *c, enum collector_counter which, int64_t v)
{
	if (c->counters)
		counters_set(c->counters, c->counters_at + which, v);
}

static int plan_compaction(struct collector *c, struct err *err)
{
	bool wanted;
	if (compact_wanted(c->docs, &wanted, err) < 0)
		return -1;
	if (!wanted || !compact_may_begin(c->compact))
		c->compact_us = INT64_MAX;
	else if (c->compact_us == INT64_MAX)
		c->compact_us = clock_mono_us() + COMPACT_WAIT_US;
	return 0;
}

static void count_stats(struct collector *c)
{
	struct words_stats s;
	words_stats(c->committed, &s);
	count_set(c, COLLECTOR_DOCUMENTS, (int64_t)s.docs);
	count_set(c, COLLECTOR_PENDING, (int64_t)c->taken);
}

/* Every document of the index is in the store. Where fewer are there, its ledger was cut, and a
 * writer would take the files that it does not name for leftovers. */
static int docs_fit(const struct words_reader *index, const char *folder, struct err *err)
{
	struct docstore *docs = NULL;
	struct docstore_stats in = {0};
	struct words_stats known;
	words_stats(index, &known);
	int rc = docstore_open_read(&docs, folder, err);
	if (rc == 0)
		rc = docstore_stats(docs, &in, err);
	docstore_close(&docs);
	if (rc < 0)
		return -1;
	if (in.docs - in.deleted_docs >= known.docs)
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s/ledger: knows %llu documents, of which the index has %llu", folder,
		       (unsigned long long)(in.docs - in.deleted_docs),
		       (unsigned long long)known.docs);
}

/* Without an index nobody knows what the other files are about: all is collected again. This comes
 * before the index is made, so that a crash in between begins with it once more. */
static int open_docs(struct collector *c, const char *folder, struct err *err)
{
	struct words_reader *r = NULL;
	int lost = words_open(&r, c->words_folder, err);
	int rc = lost == 0 ? docs_fit(r, folder, err) : 0;
	words_close(&r);
	if (rc < 0 && err->code == ERR_DAMAGED)
		format_advise(&docstore_ledger_format, err);
	if (rc < 0)
		return -1;
	rc = docstore_open(&c->docs, folder, NULL, err);
	if (lost != 1 || (rc < 0 && err->code != ERR_DAMAGED))
		return rc;
	docstore_close(&c->docs);
	if (tree_remove(folder, err) < 0 || file_remove(c->cursors_path, err) < 0 ||
	    file_remove(c->batch_path, err) < 0)
		return -1;
	return docstore_open(&c->docs, folder, NULL, err);
}

/* What is damaged, or of an older version, is for a person to give up. */
static int open_words(struct collector *c, struct err *err)
{
	struct words_settings settings;
	struct words_options options = {.settings = &settings, .merges_elsewhere = true};
	collector_settings(&settings);
	int rc = words_writer_open(&c->words, c->words_folder, &options, err);
	if (rc < 0 && err->code == ERR_DAMAGED)
		return err_then(err, "remove %s and all is collected again", c->words_folder);
	return rc;
}

static int open_notes(struct collector *c, struct err *err)
{
	const struct format *f = &batch_format;
	int rc = record_open(&c->batch, c->batch_path, &batch_kind, 0644, NULL, err);
	if (rc == 0) {
		f = &cursors_format;
		rc = cursors_load(&c->cursors, c->cursors_path, err);
	}
	if (rc < 0 && err->code == ERR_DAMAGED)
		format_advise(f, err);
	return rc;
}

static int open_stores(struct collector *c, const char *data, struct err *err)
{
	const char *folder = arena_printf(&c->arena, "%s/broker", data);
	c->words_folder = arena_printf(&c->arena, "%s/words", folder);
	c->batch_path = arena_printf(&c->arena, "%s/batch", folder);
	c->cursors_path = arena_printf(&c->arena, "%s/cursors", folder);
	if (dir_make(folder, DIR_MODE, err) < 0 ||
	    open_docs(c, arena_printf(&c->arena, "%s/docs", folder), err) < 0 ||
	    open_words(c, err) < 0 || open_notes(c, err) < 0)
		return -1;
	int rc = words_open(&c->committed, c->words_folder, err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_DAMAGED, "%s: no index", c->words_folder);
	if (batch_settle(c->batch_path, c->batch, c->docs, c->committed, err) < 0 ||
	    maintenance_open(&c->maintenance, c->words, err) < 0 ||
	    compact_new(&c->compact, c->docs, c->words, c->maintenance, err) < 0)
		return -1;
	return plan_compaction(c, err);
}

int collector_open(struct collector **ret, const char *data, const struct collector_feed *feeds,
		   size_t n, struct counters *counters, size_t counters_at, struct err *err)
{
	struct collector *c = mem_alloc(sizeof *c);
	c->arena = ARENA_INIT(1 << 20);
	c->object = ARENA_INIT(OBJECT_ARENA);
	c->counters = counters;
	c->counters_at = counters_at;
	c->compact_us = INT64_MAX;
	c->feed = mem_array(n, sizeof *c->feed);
	c->nfeeds = n;
	if (open_stores(c, data, err) < 0) {
		collector_close(&c);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		c->feed[i].def = &feeds[i];
		c->feed[i].cursor = cursors_of(&c->cursors, feeds[i].name);
		ENSURE(c->feed[i].cursor);
	}
	count_stats(c);
	*ret = c;
	return 0;
}

void collector_close(struct collector **cp)
{
	struct collector *c = *cp;
	if (!c)
		return;
	compact_stop(c->compact);
	maintenance_close(&c->maintenance);
	compact_free(&c->compact);
	for (size_t i = 0; i < c->nfeeds; i++) {
		source_close(&c->feed[i].source);
		url_addrs_free(&c->feed[i].told);
	}
	words_close(&c->committed);
	words_writer_close(&c->words);
	docstore_close(&c->docs);
	record_drop(&c->batch);
	url_addrs_free(&c->pending);
	mem_free(&c->old);
	mem_free(&c->feed);
	arena_free(&c->object);
	arena_free(&c->arena);
	mem_free(cp);
}

/* The address of a document now, committed or not. 0: there is none. */
static int address_of(struct collector *c, struct str url, struct docaddr *ret, struct err *err)
{
	const struct docaddr *known = url_addrs_get(&c->pending, key_of(url));
	*ret = (struct docaddr){0};
	if (known) {
		*ret = *known;
		return 0;
	}
	return words_find(c->committed, url, ret, err) < 0 ? -1 : 0;
}

/* Writes down that a document's address changes from `before` to `now`. */
static int note_change(struct collector *c, struct str url, struct docaddr now,
		       struct docaddr before, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(64 << 10);
	batch_write(&(struct batch_entry){url, now, before}, &payload);
	if (record_append(c->batch, buf_str(&payload), &c->group, NULL, err) < 0)
		return -1;
	if (before.v) {
		*VEC_PUSH(c->old, c->nold, c->old_room) = before;
	}
	*url_addrs_put(&c->pending, key_of(url)) = now;
	return 0;
}

static int apply_update(struct collector *c, const struct soif *obj, struct err *err)
{
	struct docaddr before, now;
	struct words_doc doc;
	if (address_of(c, obj->url, &before, err) < 0)
		return -1;
	if (docstore_put(c->docs, obj, &now, err) < 0)
		return -1;
	collector_doc(obj, now, &c->object, &doc);
	if (words_add(c->words, &doc, err) < 0) {
		struct err ignored;
		if (err->code == ERR_USAGE)
			(void)docstore_delete(c->docs, now, &ignored);
		return -1;
	}
	count_add(c, before.v ? COLLECTOR_REPLACED : COLLECTOR_ADDED, 1);
	return note_change(c, obj->url, now, before, err);
}

static int apply_delete(struct collector *c, struct str url, struct err *err)
{
	struct docaddr before;
	if (address_of(c, url, &before, err) < 0)
		return -1;
	if (!before.v)
		return 0;
	if (words_delete(c->words, url, err) < 0)
		return -1;
	count_add(c, COLLECTOR_DELETED, 1);
	return note_change(c, url, (struct docaddr){0}, before, err);
}

static void leave_out(struct collector *c, const struct feed *f, struct str url,
		      const struct err *err)
{
	count_add(c, COLLECTOR_BAD, 1);
	if (f->def->bad)
		f->def->bad(f->def->name, url, err);
}

/* An object that the stores do not take is counted and left out, and with it what was there before
 * it; that is not a reason to stop. */
static int apply_change(struct collector *c, struct feed *f, const struct source_change *change,
			struct err *err)
{
	int rc = 0;
	switch (change->op) {
	case SOURCE_DELETE:
		rc = apply_delete(c, change->obj.url, err);
		break;
	case SOURCE_REFRESH:
		count_add(c, COLLECTOR_REFRESHED, 1);
		break;
	case SOURCE_UPDATE:
		rc = apply_update(c, &change->obj, err);
		break;
	}
	if (rc < 0 && err->code == ERR_USAGE) {
		leave_out(c, f, change->obj.url, err);
		rc = apply_delete(c, change->obj.url, err);
	}
	if (f->sweeps && change->op != SOURCE_DELETE)
		(void)url_addrs_put(&f->told, key_of(change->obj.url));
	return rc;
}

static void note_taken(struct collector *c, int64_t now_us)
{
	if (c->taken++ == 0)
		c->first_us = now_us;
}

/* Deletes what the feed did not tell again. That the feed has told everything is committed too,
 * even when there was nothing to delete. */
static int sweep_untold(struct collector *c, struct feed *f, int64_t now_us, struct err *err)
{
	size_t n;
	note_taken(c, now_us);
	const struct words_part *part = words_parts(c->committed, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t doc = 0; doc < part[i].docs; doc++) {
			struct str url;
			if (words_deleted(&part[i], doc))
				continue;
			if (segment_key(part[i].segment, doc, &c->object, &url, err) < 0)
				return -1;
			if (!url_addrs_get(&f->told, key_of(url)) && apply_delete(c, url, err) < 0)
				return -1;
			arena_clear(&c->object);
		}
	url_addrs_free(&f->told);
	f->sweeps = false;
	return 0;
}

/* 0: it is open. 1: not now. A place that the feed does not know any more begins again. */
static int open_feed(struct feed *f, int64_t now_us, struct err *err)
{
	if (f->source)
		return 0;
	if (now_us < f->retry_us)
		return 1;
	const struct source_cursor *from = f->sweeps ? &f->begin : f->cursor;
	int rc = f->def->ops->open(&f->source, f->def->store, from, err);
	if (rc < 0 && err->code == ERR_USAGE && memcmp(from, &f->begin, sizeof *from) != 0) {
		f->sweeps = true;
		rc = f->def->ops->open(&f->source, f->def->store, &f->begin, err);
	}
	if (rc != 0) {
		f->source = NULL;
		f->retry_us = now_us + RETRY_US;
	}
	return rc == 0 ? 0 : 1;
}

static void close_feed(struct feed *f, int64_t retry_us)
{
	source_close(&f->source); /* its cursor is where the last commit was */
	f->retry_us = retry_us;
	f->failing = false;
}

/* What could not be read was skipped, unless the feed stands where it failed before: then it lost
 * its place, or comes no further now. 1: it was closed. */
static int skip_unread(struct collector *c, struct feed *f, int64_t now_us, const struct err *err)
{
	struct source_cursor at;
	source_cursor(f->source, &at);
	if (f->failing && memcmp(&at, &f->failed, sizeof at) == 0) {
		bool lost = err->code == ERR_USAGE;
		close_feed(f, lost ? now_us : now_us + RETRY_US);
		f->sweeps |= lost;
		return 1;
	}
	f->failing = true;
	f->failed = at;
	leave_out(c, f, STR(""), err);
	return 0;
}

/* Takes up to a batch from a feed. 1: it has no more. */
static int read_feed(struct collector *c, struct feed *f, int64_t now_us, struct err *err)
{
	while (c->taken < COLLECTOR_BATCH) {
		struct source_change change;
		arena_clear(&c->object);
		int rc = source_next(f->source, &c->object, &change, err);
		if (rc > 0)
			return f->sweeps && sweep_untold(c, f, now_us, err) < 0 ? -1 : 1;
		if (rc < 0 && err->code == ERR_SYSTEM) {
			close_feed(f, now_us + RETRY_US);
			return 1;
		}
		if (rc < 0 && skip_unread(c, f, now_us, err) != 0)
			return 1;
		note_taken(c, now_us);
		if (rc < 0)
			continue;
		f->failing = false;
		if (apply_change(c, f, &change, err) < 0)
			return -1;
		if (c->taken % 64 == 0 && clock_mono_us() - c->first_us >= COLLECTOR_COMMIT_US)
			return 0;
	}
	return 0;
}

int collector_commit(struct collector *c, struct err *err)
{
	if (c->taken == 0)
		return 0;
	c->last_us = clock_mono_us();
	FAULT("collector.commit");
	if (record_sync(c->batch, &c->group, err) < 0 || docstore_sync(c->docs, err) < 0)
		return -1;
	FAULT("collector.docs");
	if (words_commit(c->words, err) < 0)
		return -1;
	FAULT("collector.words");
	for (size_t i = 0; i < c->nfeeds; i++)
		if (c->feed[i].source && !c->feed[i].sweeps)
			source_cursor(c->feed[i].source, c->feed[i].cursor);
	if (cursors_save(&c->cursors, c->cursors_path, err) < 0)
		return -1;
	FAULT("collector.cursors");
	for (size_t i = 0; i < c->nold; i++)
		if (batch_drop(c->docs, c->old[i], err) < 0)
			return -1;
	if (c->nold && docstore_sync(c->docs, err) < 0)
		return -1;
	if (record_truncate(c->batch, RECORD_HEADER, err) < 0 ||
	    words_refresh(&c->committed, err) < 0)
		return -1;
	c->group = (struct record_group){0};
	c->nold = c->taken = 0;
	url_addrs_clear(&c->pending);
	count_add(c, COLLECTOR_COMMITS, 1);
	count_set(c, COLLECTOR_LAST_COMMIT, clock_wall_us() / US_PER_S);
	count_stats(c);
	maintenance_merge(c->maintenance);
	return plan_compaction(c, err);
}

/* What compaction says of the stores is of now. 1 as in compact_step(). */
static int compaction_go_on(struct collector *c, struct err *err)
{
	if (words_refresh(&c->committed, err) < 0)
		return -1;
	int rc = compact_step(c->compact, clock_mono_us(), err);
	if (rc >= 0)
		count_stats(c);
	return rc;
}

static int wait_for_compaction(struct collector *c, struct err *err)
{
	while (compact_runs(c->compact)) {
		if (maintenance_look(c->maintenance, err) < 0)
			c->trouble = *err;
		if (compaction_go_on(c, err) != 0)
			return -1;
		struct pollfd done = {maintenance_fd(c->maintenance), POLLIN, 0};
		if (compact_runs(c->compact))
			(void)poll(&done, 1, -1);
	}
	return 0;
}

int collector_compact_begin(struct collector *c, unsigned percent, struct err *err)
{
	if (collector_commit(c, err) < 0 || words_refresh(&c->committed, err) < 0)
		return -1;
	int rc = compact_begin(c->compact, percent, err);
	return plan_compaction(c, err) < 0 ? -1 : rc;
}

int collector_compact(struct collector *c, unsigned percent, struct err *err)
{
	if (collector_commit(c, err) < 0 || wait_for_compaction(c, err) < 0)
		return -1;
	int rc = collector_compact_begin(c, percent, err);
	return rc >= 0 && wait_for_compaction(c, err) < 0 ? -1 : rc;
}

/* What the other threads have done. Compaction goes on between two commits, whether or not more is
 * coming. */
static int look_beside(struct collector *c, struct err *err)
{
	if (maintenance_look(c->maintenance, err) < 0)
		c->trouble = *err;
	if (c->taken)
		return 0;
	int rc = compaction_go_on(c, err);
	if (rc < 0)
		return -1;
	if (rc > 0)
		c->trouble = *err;
	if (clock_mono_us() < c->compact_us)
		return 0;
	return collector_compact_begin(c, COMPACT_PERCENT, err) < 0 ? -1 : 0;
}

/* What was taken is committed at once when there is no more to take with it, but commits of a feed
 * that trickles are some time apart. */
static bool is_time(const struct collector *c, bool more, int64_t now_us)
{
	return c->taken >= COLLECTOR_BATCH ||
	       clock_mono_us() - c->first_us >= COLLECTOR_COMMIT_US ||
	       (!more && now_us - c->last_us >= APART_US);
}

int collector_step(struct collector *c, int64_t now_us, struct err *err)
{
	bool more = false;
	for (size_t i = 0; i < c->nfeeds; i++) {
		struct feed *f = &c->feed[i];
		if (open_feed(f, now_us, err) != 0)
			continue;
		int rc = read_feed(c, f, now_us, err);
		if (rc < 0)
			return -1;
		more |= rc == 0;
	}
	count_set(c, COLLECTOR_PENDING, (int64_t)c->taken);
	if (c->taken && is_time(c, more, now_us) && collector_commit(c, err) < 0)
		return -1;
	return look_beside(c, err) < 0 ? -1 : !more;
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
	int64_t due = MIN(c->compact_us, compact_due_us(c->compact));
	if (c->taken)
		due = MIN(c->first_us + COLLECTOR_COMMIT_US, c->last_us + APART_US);
	for (size_t i = 0; i < c->nfeeds; i++)
		if (!c->feed[i].source)
			due = MIN(due, c->feed[i].retry_us);
	return due;
}

void collector_wait(struct collector *c, int extra_fd, int64_t until_us)
{
	struct pollfd fds[CURSOR_FEEDS + 2];
	nfds_t n = 0;
	fds[n++] = (struct pollfd){maintenance_fd(c->maintenance), POLLIN, 0};
	for (size_t i = 0; i < c->nfeeds; i++)
		if (c->feed[i].source)
			fds[n++] = (struct pollfd){source_wait_fd(c->feed[i].source), POLLIN, 0};
	if (extra_fd >= 0)
		fds[n++] = (struct pollfd){extra_fd, POLLIN, 0};
	int64_t us = MIN(until_us, collector_due_us(c)) - clock_mono_us();
	int ms = us <= 0 ? 0 : us > 60 * US_PER_S ? 60000 : (int)(us / 1000 + 1);
	(void)poll(fds, n, ms);
}

enum { AGAIN_MIN_US = 1000000, AGAIN_MAX_US = 60000000 };

static bool signal_ended(int signals)
{
	struct signalfd_siginfo info;
	while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGHUP)
			return true;
	return false;
}

static int collect_until_signal(struct collector *c, int signals, unsigned *failures,
				struct err *err)
{
	while (!signal_ended(signals)) {
		int rc = collector_step(c, clock_mono_us(), err);
		if (rc < 0)
			return -1;
		*failures = 0;
		if (collector_trouble(c, err) == 0)
			log_error(COLLECTOR, "merging or compacting failed, will be tried again",
				  KV_TEXT("why", err->msg));
		if (rc > 0)
			collector_wait(c, signals, INT64_MAX);
	}
	notify_send("STOPPING=1");
	return collector_commit(c, err);
}

/* 1: a signal came first. */
static int pause_until(int signals, int64_t until_us)
{
	while (clock_mono_us() < until_us) {
		if (signal_ended(signals))
			return 1;
		usleep(100000);
	}
	return 0;
}

int broker_run(struct role_env *env, const struct collector_feed *feeds, size_t n, struct err *err)
{
	sigset_t set;
	unsigned failures = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), rc;
	if (signals < 0)
		return err_sys(err, "signalfd");
	for (bool ready = false;; ready = true) {
		struct collector *c = NULL;
		rc = collector_open(&c, env->data, feeds, n, env->counters, 0, err);
		if (rc < 0 && !ready)
			break; /* what is wrong from the start is for a person to mend */
		if (!ready)
			notify_send("READY=1\nSTATUS=collecting");
		if (rc == 0)
			rc = collect_until_signal(c, signals, &failures, err);
		collector_close(&c);
		if (rc == 0)
			break;
		int64_t wait_us = backoff_us(++failures, AGAIN_MIN_US, AGAIN_MAX_US);
		log_error(COLLECTOR, "collecting failed, will be tried again",
			  KV_TEXT("why", err->msg), KV_INT("seconds", wait_us / US_PER_S));
		if (pause_until(signals, clock_mono_us() + wait_us) != 0) {
			rc = 0;
			break;
		}
	}
	(void)close(signals);
	return rc;
}
