/* The crawl as a source. The place is (state, part, offset): the index of the oldest state first
 * where somebody begins from nothing, then of each state the journal and the changes. What was
 * returned last is kept as the place; reading may be ahead of it, in a state that is still open and
 * may be deleted again, since nothing of it was returned. */
#include "state/source_crawl.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "state/source_object.h"
#include "state/state.h"
#include "state/state_inner.h"

#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum part { PART_INDEX, PART_JOURNAL, PART_CHANGES, PARTS };

enum { CURSOR_VERSION = 1 };
#define NO_MORE UINT64_MAX /* as an offset: behind all that will ever be there */
static const int64_t lock_default_us = 7 * US_PER_DAY;
#define SIGN_EVERY_US (100 * US_PER_MS)

struct place {
	char state[STATE_NAME]; /* "": before everything */
	enum part part;
	uint64_t at;         /* in journal and changes: behind the record that was returned */
	struct footprint fp; /* in the index: of the item that was returned */
};

struct crawl {
	struct source source;
	struct source_crawl store;
	struct states *s;
	struct objects *objects;
	uint64_t id;        /* of the crawl */
	struct place place; /* behind what was returned last */
	int watch, watched; /* inotify; the state's folder in it, or -1 */
	int64_t locked_us;  /* when the lock was written last */
	int64_t sign_us;    /* when the crawl was told last how far it is read */
	char locked[STATE_NAME];

	struct state *st; /* at hand; NULL: none yet */
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

static void seal(const struct crawl *c, struct source_cursor *ret)
{
	struct buf b = BUF_INIT(sizeof ret->b);
	*ret = (struct source_cursor){0};
	if (!*c->place.state)
		return;
	put_u8(&b, CURSOR_VERSION);
	put_u8(&b, (uint8_t)c->place.part);
	put_u16le(&b, 0);
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

static int unseal(struct crawl *c, const struct source_cursor *from, struct err *err)
{
	static const struct source_cursor zero;
	if (memcmp(from, &zero, sizeof zero) == 0)
		return 0;
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint8_t version = reader_u8(&r), part = reader_u8(&r);
	reader_skip(&r, 2);
	uint32_t id = reader_u32le(&r), second = reader_u32le(&r);
	uint64_t a = reader_u64le(&r), b = reader_u64le(&r);
	if (reader_u32le(&r) != crc32c(0, from->b, sizeof from->b - 4) ||
	    version != CURSOR_VERSION || part >= PARTS)
		return err_set(err, ERR_USAGE, "%s: not a cursor of a crawl", c->store.folder);
	if (id != (uint32_t)c->id)
		return err_set(err, ERR_USAGE, "%s: the cursor is of another crawl",
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

static void leave(struct crawl *c)
{
	url_index_scan_free(&c->scan);
	record_reader_free(&c->records);
}

static void leave_state(struct crawl *c)
{
	leave(c);
	state_free(&c->st);
	if (c->watched >= 0)
		(void)inotify_rm_watch(c->watch, c->watched);
	c->watched = -1;
}

/* The crawl slows down for who cannot keep pace. One who reads an index has long to go and is not
 * waited for. time_us 0: up to date. */
static void give_sign(struct crawl *c, int64_t time_us)
{
	int64_t now_us = clock_wall_us();
	if (!c->store.follower || c->part == PART_INDEX ||
	    (time_us && now_us - c->sign_us < SIGN_EVERY_US))
		return;
	c->sign_us = now_us;
	states_follower_is_at(c->s, c->store.follower, time_us);
}

/* The lock follows the place, never what was read ahead. */
static int lock_place(struct crawl *c, const char *name, struct err *err)
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

static int gone(const struct crawl *c, const char *name, struct err *err)
{
	return err_set(
		err, ERR_USAGE,
		"%s: state %s was deleted, and with it what this follower has not seen; begin "
		"from the start and drop what is not told again",
		c->store.folder, name);
}

/* Takes a state at hand. 1: it is not there. */
static int enter(struct crawl *c, const char *name, enum part part, struct err *err)
{
	char folder[PATH_MAX];
	struct state *st;
	int rc = state_open(&st, c->s, name, err);
	if (rc)
		return rc;
	leave_state(c);
	c->st = st;
	c->part = part;
	c->at = 0;
	snprintf(folder, sizeof folder, "%s/state/%s", c->store.folder, name);
	c->watched = inotify_add_watch(c->watch, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
	return 0;
}

static int just_deleted(const char *name, struct err *err)
{
	return err_set(err, ERR_SYSTEM, "%s: was just deleted; another time it goes", name);
}

/* Goes to the place, which is behind what was returned last. After a failure no state is at hand.
 */
static int resume(struct crawl *c, struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list = NULL;
	size_t n = 0;
	int rc = 0;
	if (*c->place.state) {
		rc = enter(c, c->place.state, c->place.part, err);
		c->at = rc == 0 ? c->place.at : 0;
		if (rc == 1)
			rc = gone(c, c->place.state, err);
	} else if ((rc = states_list(c->s, 0, &arena, &list, &n, err)) == 0) {
		rc = n ? enter(c, list[0].name, PART_INDEX, err)
		       : err_set(err, ERR_USAGE, "%s: no crawl is here", c->store.folder);
		rc = rc == 1 ? just_deleted(list[0].name, err) : rc;
	}
	arena_free(&arena);
	if (rc == 0 && (rc = lock_place(c, c->st->name, err)) == 1)
		rc = *c->place.state ? gone(c, c->place.state, err)
				     : just_deleted(c->st->name, err);
	if (rc < 0)
		leave_state(c);
	return rc;
}

/* What is missing of a state that was deleted is no damage. */
static bool is_deleted(const struct crawl *c)
{
	char control[PATH_MAX];
	snprintf(control, sizeof control, "%s/state/%s/control", c->store.folder, c->st->name);
	return access(control, F_OK) != 0;
}

/* The state behind the one at hand. 1: there is none yet. */
static int next_state(struct crawl *c, struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n, i = 0;
	int rc = states_list(c->s, 0, &arena, &list, &n, err);
	while (rc == 0 && i < n && strcmp(list[i].name, c->st->name) <= 0)
		i++;
	if (rc == 0 && i == n)
		rc = 1;
	else if (rc == 0 && !list[i].damaged && strcmp(list[i].params.from, c->st->name) != 0)
		rc = gone(c, list[i].params.from, err);
	else if (rc == 0)
		rc = enter(c, list[i].name, PART_JOURNAL, err);
	arena_free(&arena);
	return rc;
}

/* Reading: 0 and a change; 1 at the end of what is there now; 2 for nothing to tell. */

struct told {
	struct object_wanted what;
	enum source_op op;
	struct str reason;
	struct place behind;
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

static int next_item(struct crawl *c, struct told *ret, struct err *err)
{
	struct index_item item;
	const struct url_index *index;
	int rc = c->scan ? 0 : state_index(c->st, &index, err);
	if (rc < 0 && err->code == ERR_DAMAGED) {
		c->part = PART_CHANGES; /* all of the index is skipped */
		c->at = ret->behind.at = NO_MORE;
		ret->behind.part = PART_CHANGES;
	}
	if (rc == 0 && !c->scan)
		rc = url_index_scan(&c->scan, index, c->place.fp, err);
	if (rc == 0 && (rc = url_index_next(c->scan, &item, err)) < 0)
		ret->behind.fp = url_index_passed(c->scan);
	if (rc)
		return rc;
	bool again = *c->place.state && footprint_cmp(item.fp, c->place.fp) == 0;
	if (again || item.type != ITEM_GATHERED || !index_item_has_bucket(&item))
		return 2;
	ret->behind.fp = item.fp;
	ret->op = SOURCE_UPDATE;
	ret->reason = STR("known from the beginning");
	ret->what = (struct object_wanted){
		.fp = item.fp, .hint = item.where, .time_us = item.last_seen_s * US_PER_S};
	return 0;
}

static int read_journal(struct str payload, struct told *ret, struct err *err)
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

static int read_change(struct str payload, struct told *ret, struct err *err)
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

/* Behind damage a record file cannot be read in order: what the state has of it now is skipped. */
static uint64_t behind_damage(const struct crawl *c)
{
	uint64_t known = c->part == PART_JOURNAL ? c->st->last.journal : c->st->last.changes;
	return known ? known : NO_MORE;
}

static int next_record(struct crawl *c, struct told *ret, struct err *err)
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
		c->at = lost ? NO_MORE : behind_damage(c);
	ret->behind.at = c->at;
	if (rc)
		return rc;
	return journal ? read_journal(record.payload, ret, err)
		       : read_change(record.payload, ret, err);
}

/* An open state as it is now. 0: there is more; 1: there is not. */
static int look_again(struct crawl *c, struct err *err)
{
	struct state *now;
	uint64_t journal = c->st->last.journal;
	int rc = state_open(&now, c->s, c->st->name, err);
	if (rc)
		return rc < 0 ? rc : resume(c, err); /* deleted: nothing of it was told */
	bool more = now->last.journal > journal || phase_is_done(now->phase);
	leave(c);
	state_free(&c->st);
	c->st = now;
	return !more;
}

/* At the end of what is there. 0: go on; 1: nothing more. */
static int go_on(struct crawl *c, struct err *err)
{
	if (!phase_is_done(c->st->phase))
		return look_again(c, err);
	if (c->part == PART_JOURNAL) {
		leave(c);
		c->part = PART_CHANGES;
		c->at = 0;
		return 0;
	}
	/* all of a state that is done was told, or there was nothing to tell */
	memcpy(c->place.state, c->st->name, STATE_NAME);
	c->place.at = c->part == PART_INDEX ? NO_MORE : c->at;
	c->place.part = PART_CHANGES;
	int rc = next_state(c, err);
	return rc < 0 || lock_place(c, c->place.state, err) >= 0 ? rc : -1;
}

static void forget_notices(const struct crawl *c)
{
	char notices[4096] __attribute__((aligned(8)));
	while (read(c->watch, notices, sizeof notices) > 0)
		;
}

/* The next change as the files have it. 1: up to date. */
static int next_told(struct crawl *c, struct told *ret, struct err *err)
{
	bool looked = false;
	for (;;) {
		*ret = (struct told){.behind = {.part = c->part, .at = c->at}};
		memcpy(ret->behind.state, c->st->name, STATE_NAME);
		int rc = c->part == PART_INDEX ? next_item(c, ret, err) : next_record(c, ret, err);
		if (rc < 0 && err->code == ERR_DAMAGED && is_deleted(c))
			rc = resume(c, err) < 0 ? -1 : 2;
		if (rc <= 0)
			return rc;
		if (rc == 1 && (rc = go_on(c, err)) < 0)
			return rc;
		if (rc == 1 && looked)
			return 1;
		if (rc == 1) {
			looked = true; /* what came before this is found by looking once more */
			forget_notices(c);
		}
	}
}

static int crawl_next(struct source *s, struct arena *arena, struct source_change *ret,
		      struct err *err)
{
	struct crawl *c = (struct crawl *)s;
	struct told told;
	int rc = c->st ? 0 : resume(c, err);
	while (rc == 0) {
		rc = next_told(c, &told, err);
		if (rc == 0)
			rc = objects_make(c->objects, told.op, &told.what, arena, &ret->obj, err);
		else if (rc == 1) {
			give_sign(c, 0);
			break;
		}
		if (rc < 0 && (err->code == ERR_SYSTEM || !c->st)) {
			leave_state(c); /* nothing was skipped: from the place again, next time */
			return -1;
		}
		c->place = told.behind;
		struct err ignored; /* it is tried again with the next change */
		(void)lock_place(c, c->place.state, &ignored);
		give_sign(c, told.what.time_us);
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
	seal((struct crawl *)s, ret);
}

static int crawl_wait_fd(struct source *s)
{
	return ((struct crawl *)s)->watch;
}

static void crawl_close(struct source **s)
{
	struct crawl *c = (struct crawl *)*s;
	leave_state(c);
	objects_free(&c->objects);
	states_close(&c->s);
	if (c->watch >= 0)
		close(c->watch);
	mem_free(&c);
	*s = NULL;
}

/* The name of the crawl is in all its states. */
static int identify(struct crawl *c, struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n;
	int rc = states_list(c->s, 0, &arena, &list, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		c->id = list[i].damaged ? c->id : list[i].params.crawl;
	arena_free(&arena);
	return rc;
}

static int watch(struct crawl *c, struct err *err)
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
		rc = watch(c, err);
	if (rc == 0)
		rc = identify(c, err);
	if (rc == 0)
		rc = unseal(c, from, err);
	if (rc == 0)
		rc = resume(c, err);
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
