/* The crawl as a source. The place is (state, part, offset): the index of the oldest state first
 * for a follower that begins from nothing, then the journal and the changes of each state. What was
 * returned last is kept as the place; reading may be ahead of it, in a state that is still open and
 * may be deleted again, since nothing of it was returned. */
#include "state/source_crawl.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "soif/doc_attrs.h"
#include "state/state.h"
#include "state/state_inner.h"
#include "url/footprint.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Objects: from a change to SOIF, by way of index and bucket */

/* What is known of a change. */
struct object_wanted {
	struct footprint fp;
	uint64_t hint; /* the bucket that it had, or ITEM_NOWHERE; may be wrong by now */
	int64_t time_us;
	struct str url;        /* "": only the bucket knows */
	unsigned char md5[16]; /* or zeroes */
};

/* The bucket file and an index whose numbers hold for it: opened together, given back together. */
struct objects {
	const struct source_crawl *store;
	struct states *s;
	struct arena arena; /* of the paths */
	char *path;
	struct bucket_packer *packer;
	struct buckets *buckets; /* NULL: resting */
	struct state *newest;
};

/* Both outlive it. */
static struct objects *objects_new(const struct source_crawl *store, struct states *s)
{
	struct objects *o = mem_alloc(sizeof *o);
	*o = (struct objects){.store = store, .s = s, .arena = ARENA_INIT(1 << 20)};
	o->path = states_path(s, &o->arena, "objects");
	o->packer = bucket_packer_new(bucket_dict_path(&o->arena, o->path));
	return o;
}

/* Gives the bucket file back until something is wanted of it. */
static void objects_rest(struct objects *o)
{
	bucket_drop(&o->buckets);
	state_free(&o->newest);
}

static void objects_free(struct objects **po)
{
	struct objects *o = *po;
	if (!o)
		return;
	objects_rest(o);
	bucket_packer_free(&o->packer);
	arena_free(&o->arena);
	mem_free(po);
}

/* The newest state that is done: its index has the numbers of the bucket file as it is, or will be
 * in a moment. */
static int objects_open_newest(struct objects *o, struct err *err)
{
	struct state_info newest;
	int rc = states_newest(o->s, STATES_DONE, &newest, err);
	if (rc == 0)
		rc = state_open(&o->newest, o->s, newest.name, err);
	return rc == 1 ? err_set(err, ERR_SYSTEM, "%s: no state is closed", o->path) : rc;
}

static int objects_wake(struct objects *o, struct err *err)
{
	/* Buckets are told in the order in which they were appended, just after that and past the
	 * page cache: without reading ahead each would wait for the disk. */
	const struct bucket_options options = {.mode = BUCKET_SCAN, .forward = true};
	if (o->buckets)
		return 0;
	int rc = objects_open_newest(o, err);
	if (rc == 0)
		rc = bucket_open(&o->buckets, o->path, &options, err);
	if (rc == 1)
		rc = err_set(err, ERR_SYSTEM, "%s: there is no bucket file", o->path);
	if (rc < 0) {
		objects_rest(o);
		err->code = ERR_SYSTEM; /* recovery mends it, or will: worth another try */
	}
	return rc;
}

static bool md5_is_zero(const unsigned char md5[16])
{
	static const unsigned char zero[16];
	return memcmp(md5, zero, sizeof zero) == 0;
}

/* The footprint that a bucket was given; those of old versions have none, and their URL says it. */
static bool object_footprint(const struct attrs *header, const struct attrs *body,
			     struct footprint *ret)
{
	char room[URL_MAX];
	struct url url;
	struct str o = attrs_get(header, 'O'), u = attrs_get(header, 'U');
	if (o.p && footprint_parse(o, ret))
		return true;
	if (!u.p)
		u = attrs_get(body, 'U');
	if (!u.p || url_parse(u, NULL, room, sizeof room, &url) != 0)
		return false;
	*ret = footprint_of(&url);
	return true;
}

/* Whether a bucket is the one that is wanted: of this URL and, where both say it, with this text.
 */
static bool object_is_wanted(const struct attrs *header, const struct attrs *body,
			     const struct object_wanted *what)
{
	struct footprint fp;
	unsigned char md5[16];
	struct str sum = attrs_get(header, 'C');
	if (!sum.p)
		sum = attrs_get(body, 'C');
	if (!object_footprint(header, body, &fp) || footprint_cmp(fp, what->fp) != 0)
		return false;
	return md5_is_zero(what->md5) || !sum.p || !hex_parse(sum, md5, sizeof md5) ||
	       memcmp(md5, what->md5, sizeof md5) == 0;
}

/* 1: not the one. */
static int objects_read_as(struct objects *o, uint64_t number, const struct object_wanted *what,
			   struct arena *arena, struct attrs *ret, struct err *err)
{
	struct attrs header = {0}, body = {0};
	if (number >= BUCKET_SPECIAL)
		return 1;
	int rc = bucket_get(o->buckets, o->packer, (uint32_t)number, arena, &header, &body, err);
	if (rc)
		return rc;
	if (!object_is_wanted(&header, &body, what))
		return 1;
	for (size_t i = 0; i < body.n; i++)
		attrs_add(&header, arena, body.a[i].name, body.a[i].value);
	*ret = header;
	return 0;
}

/* Whether the numbers of the open index may be those from before a shakedown: its report stands
 * as long as no state with the new ones is done. Or the state that is open has been deleted since,
 * because a newer one is done. */
static bool objects_are_old(struct objects *o)
{
	CLEANUP(bucket_moves_close) struct bucket_moves *moves = NULL;
	struct state_info newest;
	struct err ignored;
	if (bucket_moves_open(&moves, o->path, &ignored) != 1)
		return true;
	int rc = states_newest(o->s, STATES_DONE, &newest, &ignored);
	return rc < 0 || (rc == 0 && strcmp(newest.name, state_name(o->newest)) > 0);
}

static int objects_not_of_it(struct objects *o, uint64_t number, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: bucket %08" PRIx64 " was deleted, or is not of the URL that the index "
		       "of %s says; garner shep recover --rebuild makes it again",
		       o->path, number, state_name(o->newest));
}

/* By the number that it had; else by the one that the newest index gives it, with whatever text it
 * has now. 1: it is no longer known. */
static int objects_find_once(struct objects *o, const struct object_wanted *what,
			     struct arena *arena, struct attrs *ret, struct err *err)
{
	const struct url_index *index;
	struct index_item item;
	struct object_wanted any = *what;
	memset(any.md5, 0, sizeof any.md5);
	int rc = objects_read_as(o, what->hint, what, arena, ret, err);
	if (rc == 0 || (rc < 0 && err->code == ERR_SYSTEM))
		return rc;
	rc = state_index(o->newest, &index, err);
	if (rc == 0)
		rc = url_index_find(index, what->fp, &item, err);
	if (rc)
		return rc;
	if (!index_item_has_bucket(&item) || index_item_counts_as(&item) != ITEM_GATHERED)
		return 1;
	rc = objects_read_as(o, item.where, &any, arena, ret, err);
	return rc == 1 ? objects_not_of_it(o, item.where, err) : rc;
}

/* What was opened may be from before a shakedown, or from before the newest state; and again so,
 * where that happens between opening the index and opening the file. What such an index says, a
 * page that is not known or a number where no bucket begins, holds for nothing. */
static int objects_find(struct objects *o, const struct object_wanted *what, struct arena *arena,
			struct attrs *ret, struct err *err)
{
	int rc = objects_wake(o, err);
	if (rc == 0)
		rc = objects_find_once(o, what, arena, ret, err);
	if (rc == 0)
		return 0;
	objects_rest(o);
	rc = objects_wake(o, err);
	if (rc)
		return rc;
	rc = objects_find_once(o, what, arena, ret, err);
	if ((rc > 0 || (rc < 0 && err->code == ERR_DAMAGED)) && objects_are_old(o))
		return err_set(err, ERR_SYSTEM,
			       "%s: buckets are being renumbered; it works another time", o->path);
	return rc;
}

static void object_add(struct soif *obj, struct arena *arena, const char *name, struct str value)
{
	if (!soif_get(obj, str_of(name)).p && value.n)
		soif_add(obj, arena, str_of(name), value);
}

static void object_add_number(struct soif *obj, struct arena *arena, const char *name,
			      uint64_t value)
{
	object_add(obj, arena, name, str_of(arena_printf(arena, "%" PRIu64, value)));
}

static void object_add_md5(struct soif *obj, struct arena *arena, const unsigned char md5_bytes[16])
{
	char hex[33];
	hex_print(md5_bytes, 16, hex);
	object_add(obj, arena, "MD5", str_of(arena_text(arena, str_of(hex))));
}

static void object_add_identity(const struct objects *o, struct soif *obj, struct arena *arena,
				const struct object_wanted *what)
{
	object_add(obj, arena, "Gatherer-Name", o->store->gatherer_name);
	object_add(obj, arena, "Gatherer-Host", o->store->gatherer_host);
	object_add(obj, arena, "Gatherer-Version", o->store->gatherer_version);
	object_add_number(obj, arena, "Update-Time", (uint64_t)MAX(what->time_us, 0) / US_PER_S);
	if (!md5_is_zero(what->md5))
		object_add_md5(obj, arena, what->md5);
}

/* What every object has, also where the bucket does not say it. */
static void object_add_mandatory(const struct objects *o, struct soif *obj, struct arena *arena)
{
	const struct source_crawl *s = o->store;
	object_add_number(obj, arena, "Refresh-Rate",
			  s->refresh_rate_s ? s->refresh_rate_s : SOIF_REFRESH_RATE_S);
	object_add_number(obj, arena, "Time-to-Live",
			  s->time_to_live_s ? s->time_to_live_s : SOIF_TIME_TO_LIVE_S);
	object_add_number(obj, arena, "Last-Modification-Time", 0);
	object_add(obj, arena, "Type", STR("Binary"));
	if (!soif_get(obj, STR("MD5")).p) {
		unsigned char sum[16];
		struct str text = soif_get(obj, STR("Full-Text"));
		md5(text.p ? text : STR(""), sum);
		object_add_md5(obj, arena, sum);
	}
}

/* 0: *ret, in the arena. 1: the URL is not known any more, and what is wanted has no name for it.
 * ERR_SYSTEM: cannot be had now. ERR_DAMAGED: its bucket is damaged. */
static int objects_make(struct objects *o, enum source_op op, const struct object_wanted *what,
			struct arena *arena, struct soif *ret, struct err *err)
{
	struct soif obj = {.type = STR("FILE"), .url = arena_str(arena, what->url)};
	struct attrs attrs = {0};
	int rc = op == SOURCE_UPDATE ? objects_find(o, what, arena, &attrs, err) : 1;
	if (rc < 0 || (rc == 1 && what->url.n == 0))
		return rc;
	if (rc == 0)
		attrs_soif(&attrs, arena, 0, &obj);
	if (obj.url.n == 0)
		obj.url = arena_str(arena, what->url);
	object_add_identity(o, &obj, arena, what);
	if (op == SOURCE_UPDATE)
		object_add_mandatory(o, &obj, arena);
	*ret = obj;
	return 0;
}

/* The crawl */

enum part { PART_INDEX, PART_JOURNAL, PART_CHANGES, PARTS };

enum { CURSOR_VERSION = 1 };
#define NO_MORE UINT64_MAX /* as an offset: past all that will ever be there */
static const int64_t lock_default_us = 7 * US_PER_DAY;
#define SIGN_EVERY_US (100 * US_PER_MS)

struct place {
	char state[STATE_NAME]; /* "": before everything */
	enum part part;
	uint64_t at;         /* in journal and changes: after the record that was returned */
	struct footprint fp; /* in the index: of the item that was returned */
};

struct crawl {
	struct source source;
	struct source_crawl store;
	struct states *s;
	struct objects *objects;
	uint64_t id;        /* of the crawl */
	struct place place; /* after what was returned last */
	int watch, watched; /* inotify; the state's folder in it, or -1 */
	int64_t locked_us;  /* when the lock was written last */
	int64_t sign_us;    /* when the crawl was told last how far it is read */
	char locked[STATE_NAME];

	struct state *st; /* that is being read; NULL: none yet */
	enum part part;
	struct url_index_scan *scan;
	struct record_reader *records;
	uint64_t at;
};

/* Cursors */

static uint32_t second_of(const char *name)
{
	return (uint32_t)MAX(0, state_time_of(name));
}

/* Who tells: objects that were told under another name are others, and have to be told again. */
static uint16_t gatherer_mark(const struct source_crawl *s)
{
	uint32_t sum = crc32c(0, s->gatherer_name.p, s->gatherer_name.n);
	sum = crc32c(sum, "", 1);
	return (uint16_t)crc32c(sum, s->gatherer_host.p, s->gatherer_host.n);
}

static void cursor_seal(const struct crawl *c, struct source_cursor *ret)
{
	struct buf b = BUF_INIT(sizeof ret->b);
	*ret = (struct source_cursor){0};
	if (!*c->place.state)
		return;
	put_u8(&b, CURSOR_VERSION);
	put_u8(&b, (uint8_t)c->place.part);
	put_u16le(&b, gatherer_mark(&c->store));
	put_u32le(&b, (uint32_t)c->id);
	put_u32le(&b, second_of(c->place.state));
	if (c->place.part == PART_INDEX) {
		put_u64le(&b, c->place.fp.site);
		put_u64le(&b, c->place.fp.path);
	} else {
		put_u64le(&b, c->place.at);
		put_u64le(&b, 0);
	}
	put_u32le(&b, crc32c(0, b.p, b.n));
	ENSURE(b.n == sizeof ret->b);
	memcpy(ret->b, b.p, b.n);
	buf_free(&b);
}

static int cursor_unseal(struct crawl *c, const struct source_cursor *from, struct err *err)
{
	static const struct source_cursor zero;
	if (memcmp(from, &zero, sizeof zero) == 0)
		return 0;
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint8_t version = reader_u8(&r), part = reader_u8(&r);
	uint16_t gatherer = reader_u16le(&r);
	uint32_t id = reader_u32le(&r), second = reader_u32le(&r);
	uint64_t a = reader_u64le(&r), b = reader_u64le(&r);
	if (reader_u32le(&r) != crc32c(0, from->b, sizeof from->b - 4) ||
	    version != CURSOR_VERSION || part >= PARTS)
		return err_set(err, ERR_USAGE, "%s: not a cursor of a crawl", c->store.folder);
	if (id != (uint32_t)c->id)
		return err_set(err, ERR_USAGE, "%s: the cursor is of another crawl",
			       c->store.folder);
	if (gatherer != gatherer_mark(&c->store))
		return err_set(err, ERR_USAGE,
			       "%s: the cursor is of a gatherer with another name or host",
			       c->store.folder);
	state_name_of((int64_t)second, c->place.state);
	c->place.part = (enum part)part;
	if (part == PART_INDEX)
		c->place.fp = (struct footprint){a, b};
	else
		c->place.at = a;
	return 0;
}

/* Positions */

static void crawl_leave_part(struct crawl *c)
{
	url_index_scan_free(&c->scan);
	record_reader_free(&c->records);
}

static void crawl_leave_state(struct crawl *c)
{
	crawl_leave_part(c);
	state_free(&c->st);
	if (c->watched >= 0)
		(void)inotify_rm_watch(c->watch, c->watched);
	c->watched = -1;
}

/* The crawl slows down for a follower that cannot keep pace. One that reads an index has long to
 * go and is not waited for. time_us 0: up to date. */
static void crawl_give_sign(struct crawl *c, int64_t time_us)
{
	int64_t now_us = clock_wall_us();
	if (!c->store.follower || c->part == PART_INDEX ||
	    (time_us && now_us - c->sign_us < SIGN_EVERY_US))
		return;
	c->sign_us = now_us;
	states_follower_is_at(c->s, c->store.follower, time_us);
}

/* The lock follows the place, never what was read ahead. */
static int crawl_lock_place(struct crawl *c, const char *name, struct err *err)
{
	int64_t now_us = clock_wall_us();
	int64_t lock_us = c->store.lock_us ? c->store.lock_us : lock_default_us;
	if (!c->store.follower ||
	    (strcmp(c->locked, name) == 0 && now_us - c->locked_us < lock_us / 4))
		return 0;
	int rc = states_lock(c->s, c->store.follower, name, now_us + lock_us, err);
	if (rc == 0) {
		memcpy(c->locked, name, STATE_NAME);
		c->locked_us = now_us;
	}
	return rc;
}

static int crawl_is_gone(const struct crawl *c, const char *name, struct err *err)
{
	return err_set(
		err, ERR_USAGE,
		"%s: state %s was deleted, and with it what this follower has not seen; begin "
		"from the start and drop what is not told again",
		c->store.folder, name);
}

/* Goes to a state. 1: it is not there. */
static int crawl_enter(struct crawl *c, const char *name, enum part part, struct err *err)
{
	char folder[PATH_MAX];
	struct state *st;
	int rc = state_open(&st, c->s, name, err);
	if (rc)
		return rc;
	crawl_leave_state(c);
	c->st = st;
	c->part = part;
	c->at = 0;
	snprintf(folder, sizeof folder, "%s/state/%s", c->store.folder, name);
	c->watched = inotify_add_watch(c->watch, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
	return 0;
}

static int just_deleted(const char *name, struct err *err)
{
	return err_set(err, ERR_SYSTEM, "%s: was just deleted; try again", name);
}

/* Goes to the place, which is after what was returned last. After a failure no state is open. */
static int crawl_resume(struct crawl *c, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list = NULL;
	size_t n = 0;
	int rc = 0;
	if (*c->place.state) {
		rc = crawl_enter(c, c->place.state, c->place.part, err);
		c->at = rc == 0 ? c->place.at : 0;
		if (rc == 1)
			rc = crawl_is_gone(c, c->place.state, err);
	} else if ((rc = states_list(c->s, 0, &arena, &list, &n, err)) == 0) {
		rc = n ? crawl_enter(c, list[0].name, PART_INDEX, err)
		       : err_set(err, ERR_USAGE, "%s: no crawl is here", c->store.folder);
		rc = rc == 1 ? just_deleted(list[0].name, err) : rc;
	}
	if (rc == 0 && (rc = crawl_lock_place(c, c->st->name, err)) == 1)
		rc = *c->place.state ? crawl_is_gone(c, c->place.state, err)
				     : just_deleted(c->st->name, err);
	if (rc < 0)
		crawl_leave_state(c);
	return rc;
}

/* What is missing of a state that was deleted is not damage. */
static bool crawl_is_deleted(const struct crawl *c)
{
	char control[PATH_MAX];
	snprintf(control, sizeof control, "%s/state/%s/control", c->store.folder, c->st->name);
	return access(control, F_OK) != 0;
}

/* The state after the current one. 1: there is none yet. */
static int crawl_next_state(struct crawl *c, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n, i = 0;
	int rc = states_list(c->s, 0, &arena, &list, &n, err);
	while (rc == 0 && i < n && strcmp(list[i].name, c->st->name) <= 0)
		i++;
	if (rc == 0 && i == n)
		rc = 1;
	else if (rc == 0 && !list[i].damaged && strcmp(list[i].params.from, c->st->name) != 0)
		rc = crawl_is_gone(c, list[i].params.from, err);
	else if (rc == 0)
		rc = crawl_enter(c, list[i].name, PART_JOURNAL, err);
	return rc;
}

/* Reading: 0 and a change; 1 at the end of what is there now; 2 for nothing to tell. */

struct told {
	struct object_wanted what;
	enum source_op op;
	struct str reason;
	struct place after;
};

static bool op_for_followers(enum change_op op, enum source_op *ret)
{
	static const int ops[CHANGE_OPS] = {[CHANGE_NONE] = -1,
					    [CHANGE_ADD] = -1,
					    [CHANGE_REFRESH] = SOURCE_REFRESH,
					    [CHANGE_UPDATE] = SOURCE_UPDATE,
					    [CHANGE_DELETE] = SOURCE_DELETE};
	*ret = (enum source_op)MAX(ops[op], 0);
	return ops[op] >= 0;
}

static int crawl_next_item(struct crawl *c, struct told *ret, struct err *err)
{
	struct index_item item;
	const struct url_index *index;
	int rc = c->scan ? 0 : state_index(c->st, &index, err);
	if (rc < 0 && err->code == ERR_DAMAGED) {
		c->part = PART_CHANGES; /* all of the index is skipped */
		c->at = ret->after.at = NO_MORE;
		ret->after.part = PART_CHANGES;
	}
	if (rc == 0 && !c->scan)
		rc = url_index_scan(&c->scan, index, c->place.fp, err);
	if (rc == 0 && (rc = url_index_next(c->scan, &item, err)) < 0)
		ret->after.fp = url_index_passed(c->scan);
	if (rc)
		return rc;
	bool again = *c->place.state && footprint_cmp(item.fp, c->place.fp) == 0;
	if (again || index_item_counts_as(&item) != ITEM_GATHERED || !index_item_has_bucket(&item))
		return 2;
	ret->after.fp = item.fp;
	ret->op = SOURCE_UPDATE;
	ret->reason = STR("known from the beginning");
	ret->what = (struct object_wanted){
		.fp = item.fp, .hint = item.where, .time_us = item.last_seen_s * US_PER_S};
	return 0;
}

static int told_by_journal(struct str payload, struct told *ret, struct err *err)
{
	struct journal_entry e;
	if (journal_read(payload, &e, err) < 0)
		return -1;
	ret->reason = e.reason;
	ret->what = (struct object_wanted){
		.fp = e.fp, .hint = e.where, .time_us = e.time_us, .url = e.url};
	memcpy(ret->what.md5, e.md5, sizeof e.md5);
	return op_for_followers(e.op, &ret->op) ? 0 : 2;
}

static int told_by_change(struct str payload, struct told *ret, struct err *err)
{
	struct change change;
	if (change_read(payload, &change, err) < 0)
		return -1;
	ret->reason = change.reason;
	ret->what = (struct object_wanted){.fp = change.fp,
					   .hint = ITEM_NOWHERE,
					   .time_us = change.time_us,
					   .url = change.url};
	return op_for_followers(change.op, &ret->op) ? 0 : 2;
}

/* After damage a record file cannot be read in order: what the state has of it now is skipped. */
static uint64_t after_damage(const struct crawl *c)
{
	uint64_t known = c->part == PART_JOURNAL ? c->st->last.journal : c->st->last.changes;
	return known ? known : NO_MORE;
}

static int crawl_next_record(struct crawl *c, struct told *ret, struct err *err)
{
	struct record record;
	bool journal = c->part == PART_JOURNAL;
	if (c->at == NO_MORE)
		return 1;
	int rc = c->records ? 0
			    : state_read(c->st, journal ? "journal" : "changes", &c->records, err);
	bool lost = rc < 0; /* nothing of it can be read, now or later */
	if (rc == 0) {
		record_seek(c->records, c->at);
		rc = record_next(c->records, &record, err);
	}
	if (rc == 0)
		c->at = record.place.next;
	else if (rc < 0 && err->code == ERR_DAMAGED)
		c->at = lost ? NO_MORE : after_damage(c);
	ret->after.at = c->at;
	if (rc)
		return rc;
	return journal ? told_by_journal(record.payload, ret, err)
		       : told_by_change(record.payload, ret, err);
}

/* An open state as it is now. 0: there is more; 1: there is not. */
static int crawl_look_again(struct crawl *c, struct err *err)
{
	struct state *now;
	uint64_t journal = c->st->last.journal;
	int rc = state_open(&now, c->s, c->st->name, err);
	if (rc)
		return rc < 0 ? rc : crawl_resume(c, err); /* deleted: nothing of it was told */
	bool more = now->last.journal > journal || phase_is_done(now->phase);
	crawl_leave_part(c);
	state_free(&c->st);
	c->st = now;
	return !more;
}

/* At the end of what is there. 0: go on; 1: nothing more. */
static int crawl_go_on(struct crawl *c, struct err *err)
{
	if (!phase_is_done(c->st->phase))
		return crawl_look_again(c, err);
	if (c->part == PART_JOURNAL) {
		crawl_leave_part(c);
		c->part = PART_CHANGES;
		c->at = 0;
		return 0;
	}
	/* all of a state that is done was told, or there was nothing to tell */
	memcpy(c->place.state, c->st->name, STATE_NAME);
	c->place.at = c->part == PART_INDEX ? NO_MORE : c->at;
	c->place.part = PART_CHANGES;
	int rc = crawl_next_state(c, err);
	return rc < 0 || crawl_lock_place(c, c->place.state, err) >= 0 ? rc : -1;
}

static void crawl_forget_notices(const struct crawl *c)
{
	char notices[4096] __attribute__((aligned(8)));
	while (read(c->watch, notices, sizeof notices) > 0)
		;
}

/* The next change as the files have it. 1: up to date. */
static int crawl_next_told(struct crawl *c, struct told *ret, struct err *err)
{
	bool looked = false;
	for (;;) {
		*ret = (struct told){.after = {.part = c->part, .at = c->at}};
		memcpy(ret->after.state, c->st->name, STATE_NAME);
		int rc = c->part == PART_INDEX ? crawl_next_item(c, ret, err)
					       : crawl_next_record(c, ret, err);
		if (rc < 0 && err->code == ERR_DAMAGED && crawl_is_deleted(c))
			rc = crawl_resume(c, err) < 0 ? -1 : 2;
		if (rc <= 0)
			return rc;
		if (rc == 1 && (rc = crawl_go_on(c, err)) < 0)
			return rc;
		if (rc == 1 && looked)
			return 1;
		if (rc == 1) {
			looked = true; /* what came before this is found by looking once more */
			crawl_forget_notices(c);
		}
	}
}

static int crawl_next(struct source *s, struct arena *arena, struct source_change *ret,
		      struct err *err)
{
	struct crawl *c = (struct crawl *)s;
	struct told told;
	int rc = c->st ? 0 : crawl_resume(c, err);
	while (rc == 0) {
		rc = crawl_next_told(c, &told, err);
		if (rc == 0)
			rc = objects_make(c->objects, told.op, &told.what, arena, &ret->obj, err);
		else if (rc == 1) {
			crawl_give_sign(c, 0);
			break;
		}
		if (rc < 0 && (err->code == ERR_SYSTEM || !c->st)) {
			crawl_leave_state(
				c); /* nothing was skipped: from the place again, next time */
			return -1;
		}
		c->place = told.after;
		struct err ignored; /* it is tried again with the next change */
		(void)crawl_lock_place(c, c->place.state, &ignored);
		crawl_give_sign(c, told.what.time_us);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			ret->op = told.op;
			ret->reason = arena_str(arena, told.reason);
			return 0;
		}
		rc = 0;
	}
	objects_rest(c->objects);
	return rc;
}

static void crawl_cursor(struct source *s, struct source_cursor *ret)
{
	cursor_seal((struct crawl *)s, ret);
}

static int crawl_wait_fd(struct source *s)
{
	return ((struct crawl *)s)->watch;
}

static void crawl_close(struct source **s)
{
	struct crawl *c = (struct crawl *)*s;
	crawl_leave_state(c);
	objects_free(&c->objects);
	states_close(&c->s);
	if (c->watch >= 0)
		close(c->watch);
	mem_free(&c);
	*s = NULL;
}

/* The name of the crawl is in all its states. */
static int crawl_identify(struct crawl *c, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n;
	int rc = states_list(c->s, 0, &arena, &list, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		c->id = list[i].damaged ? c->id : list[i].params.crawl;
	return rc;
}

static int crawl_watch(struct crawl *c, struct err *err)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s/state", c->store.folder);
	c->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (c->watch < 0 || inotify_add_watch(c->watch, folder, IN_CREATE | IN_MOVED_TO) < 0)
		return err_sys(err, "%s: watch the folder", folder);
	return 0;
}

static int crawl_open(struct source **ret, const void *store, const struct source_cursor *from,
		      struct err *err)
{
	struct crawl *c = mem_alloc(sizeof *c);
	struct source *s = &c->source;
	*c = (struct crawl){.source.ops = &source_crawl_ops,
			    .store = *(const struct source_crawl *)store,
			    .watch = -1,
			    .watched = -1};
	int rc = states_open(&c->s, c->store.folder, false, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: no crawl is here", c->store.folder);
	if (rc == 0)
		rc = crawl_watch(c, err);
	if (rc == 0)
		rc = crawl_identify(c, err);
	if (rc == 0)
		rc = cursor_unseal(c, from, err);
	if (rc == 0)
		rc = crawl_resume(c, err);
	if (rc < 0) {
		crawl_close(&s);
		return rc;
	}
	c->objects = objects_new(&c->store, c->s);
	*ret = s;
	return 0;
}

const struct source_ops source_crawl_ops = {.name = "crawl",
					    .open = crawl_open,
					    .next = crawl_next,
					    .cursor = crawl_cursor,
					    .wait_fd = crawl_wait_fd,
					    .close = crawl_close};
