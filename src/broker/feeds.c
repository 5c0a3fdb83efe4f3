/* The feeds of the collector: opening, reading, retries after failures, and what their end means.
 */
#include "broker/collector_inner.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "base/value.h"
#include "broker/points.h"

#include <stdio.h>

/* Wait before a source that could not be opened or read is tried again. For a collection point it
 * starts at POINT_RETRY_US and doubles. */
enum { RETRY_US = 1000000 };
/* Failures in a row after which a source is logged: a crawl that is being recovered is not worth a
 * line, a missing folder is. */
enum { TELL_FAILURES = 3 };
#define POINT_RETRY_US (60 * US_PER_S)
/* A point may be polled early after this part (1/24) of the time between collections. */
enum { EARLY_PART = 24 };
enum { REPORT_US = 1000000 };
/* A source is reread from its beginning, because an object is missing, at the earliest this long
 * after the last time plus AGAIN_TIMES the time that took. */
#define AGAIN_US (60 * US_PER_S)
enum { AGAIN_TIMES = 100 };
enum { SWEEP_STEP = 20000 }; /* records that one step looks at */

TABLE(told_ids, uint64_t, bool, hash_u64, table_same_u64)

struct feed {
	struct collector_feed def; /* a copy, since every_us can be set */
	uint32_t point;
	struct source *source; /* NULL: not open */
	bool slow;             /* a point that no longer counts as open, see COLLECTOR_SLOW_US */
	bool fresh;            /* it never delivered anything, so there is nothing to drop */
	bool lost;             /* its place is: it is read from its beginning until complete */
	int64_t due_us;        /* when to open it */
	unsigned failures;     /* in a row */
	struct source_cursor failed; /* where it was when something could not be read, */
	bool failing;                /* if nothing came since */
	uint64_t left_out; /* objects of this collection; of one that is followed, since it had
			    * nothing more to tell */
	/* It delivers everything, and other objects are dropped. Until then its cursor stays, so
	 * that a crash begins again. */
	bool sweeps;
	struct told_ids told;
	bool unsure; /* a skipped object had no URL: it may be any of those not delivered */
	bool ended;  /* all was delivered; objects that were not are being dropped */
	struct registry_scan *sweep;
	/* It refreshed an object that is not there, because that had expired: all has to be told
	 * again, but not too often. */
	bool missing;
	int64_t began_us, again_us; /* again_us: not before */
	struct point_status status;
};

static const struct source_cursor beginning;

static struct source_cursor cursor_of(const struct collector *c, const struct feed *feed)
{
	size_t n;
	const struct registry_point *p = registry_points(c->registry, &n);
	for (size_t i = 0; i < n; i++)
		if (p[i].number == feed->point)
			return p[i].cursor;
	return beginning;
}

static bool is_beginning(const struct source_cursor *c)
{
	return memcmp(c, &beginning, sizeof *c) == 0;
}

/* For a source that fails again in the same way, the status is unchanged. */
static void say_state(struct collector *c, struct feed *feed, enum point_state state,
		      const char *text)
{
	char before[sizeof feed->status.text];
	snprintf(before, sizeof before, "%s", feed->status.text);
	c->points_changed |= feed->def.every_us || feed->status.state != state;
	feed->status.state = (uint8_t)state;
	snprintf(feed->status.text, sizeof feed->status.text, "%.*s", POINT_TEXT, text);
	c->points_changed |= strcmp(before, feed->status.text) != 0;
}

int feeds_open(struct collector *c, struct err *err)
{
	const struct collector_options *o = &c->options;
	const struct small_table *table = &points_table;
	int64_t now_us = clock_mono_us();
	c->feed = mem_array(o->n, sizeof *c->feed);
	c->points_changed = true;
	for (size_t i = 0; i < o->n; i++) {
		struct feed *feed = &c->feed[i];
		size_t known, now;
		feed->def = o->feeds[i];
		(void)registry_points(c->registry, &known);
		feed->point = registry_point(c->registry, feed->def.name);
		(void)registry_points(c->registry, &now);
		feed->fresh = now > known;
		if (feed->point == 0)
			return err_set(err, ERR_USAGE, "%s: too many sources, or too long a name",
				       feed->def.name);
		bool waits = feed->def.every_us && o->no_collect;
		feed->due_us = waits ? INT64_MAX : now_us;
		feed->again_us = now_us + AGAIN_US;
		snprintf(feed->status.name, sizeof feed->status.name, "%s", feed->def.name);
		feed->lost = o->forget;
		if (o->forget) {
			registry_set_cursor(c->registry, feed->point, &beginning);
			collector_took(c);
		}
	}
	return small_open_data(&c->points, o->data, &table, 1, SMALL_WRITE, err);
}

/* Logs how many skipped objects had no line of their own. */
static void say_left_out(struct feed *feed)
{
	if (feed->left_out > COLLECTOR_LEFT_OUT_SHOWN)
		log_warn(COLLECTOR, "more objects skipped", KV_TEXT("feed", feed->def.name),
			 KV_UINT("objects", feed->left_out - COLLECTOR_LEFT_OUT_SHOWN));
	feed->left_out = 0;
}

static void close_source(struct collector *c, struct feed *feed)
{
	say_left_out(feed);
	if (feed->source && feed->def.every_us)
		--*(feed->slow ? &c->slow : &c->asked);
	feed->slow = false;
	source_close(&feed->source);
	registry_scan_free(&feed->sweep);
	told_ids_free(&feed->told);
	feed->failing = feed->sweeps = feed->ended = feed->unsure = false;
}

void feeds_close(struct collector *c)
{
	for (size_t i = 0; c->feed && i < c->options.n; i++)
		close_source(c, &c->feed[i]);
	mem_free(&c->feed);
	small_close(&c->points);
}

/* Opening and ending */

static void set_due(struct feed *feed, int64_t in_us, int64_t now_us)
{
	feed->due_us = now_us + in_us;
	feed->status.next_us = feed->def.every_us ? clock_wall_us() + in_us : 0;
}

/* Closes a feed that cannot be opened or read, and sets when to retry. What was not committed is
 * read again. */
static void put_off(struct collector *c, struct feed *feed, int64_t now_us, const struct err *err)
{
	int64_t every_us = feed->def.every_us;
	close_source(c, feed);
	feed->failures++;
	if (every_us) {
		counters_add(c->options.counters, COLLECTOR_FAILURES, 1);
		set_due(feed, backoff_us(feed->failures, MIN(POINT_RETRY_US, every_us), every_us),
			now_us);
		log_warn(COLLECTOR, "collection failed; will retry",
			 KV_TEXT("point", feed->def.name), KV_TEXT("why", err->msg),
			 KV_INT("seconds", (feed->due_us - now_us) / US_PER_S));
		event_write(c->options.events, COLLECTION, feed->def.name,
			    KV_TEXT("failed", err->msg));
	} else {
		set_due(feed, RETRY_US, now_us);
		if (feed->failures == TELL_FAILURES)
			log_warn(COLLECTOR, "cannot read source; retrying every second",
				 KV_TEXT("feed", feed->def.name), KV_TEXT("why", err->msg));
	}
	say_state(c, feed, POINT_FAILED, err->msg);
}

/* Returns whether no other point may be opened. */
static bool is_full(const struct collector *c)
{
	return c->asked == COLLECTOR_OPEN || c->asked + c->slow == COLLECTOR_OPEN_MOST;
}

/* Returns when this point no longer counts as open; INT64_MAX: it does not count. */
static int64_t slow_us(const struct feed *feed)
{
	bool counts = feed->source && feed->def.every_us && !feed->slow;
	return counts ? feed->began_us + COLLECTOR_SLOW_US : INT64_MAX;
}

/* Lets others have the turn of points that take long or stay silent. */
static void pass_slow(struct collector *c, int64_t now_us)
{
	bool full = c->asked == COLLECTOR_OPEN;
	for (size_t i = 0; full && i < c->options.n; i++) {
		if (now_us < slow_us(&c->feed[i]))
			continue;
		c->feed[i].slow = true;
		c->asked--;
		c->slow++;
	}
}

/* 0: it is open. 1: not now. A source that no longer knows its cursor is read from its beginning.
 */
static int open_feed(struct collector *c, struct feed *feed, int64_t now_us)
{
	struct err err = {0};
	if (feed->source)
		return 0;
	if (now_us < feed->due_us || (feed->def.every_us && is_full(c)))
		return 1;
	bool anew = feed->def.full || feed->lost;
	struct source_cursor from = anew ? beginning : cursor_of(c, feed);
	int rc = feed->def.ops->open(&feed->source, feed->def.store, &from, &err);
	if (rc < 0 && err.code == ERR_USAGE && !is_beginning(&from)) {
		from = beginning;
		rc = feed->def.ops->open(&feed->source, feed->def.store, &from, &err);
	}
	if (rc != 0) {
		feed->source = NULL;
		if (rc > 0)
			(void)err_set(&err, ERR_SYSTEM, "%s: it is not there", feed->def.name);
		put_off(c, feed, now_us, &err);
		return 1;
	}
	c->asked += feed->def.every_us != 0;
	feed->sweeps = is_beginning(&from) && !feed->fresh;
	feed->fresh = false;
	feed->began_us = now_us;
	feed->status.last_us = clock_wall_us();
	feed->status.objects = feed->status.bad = 0;
	log_debug(COLLECTOR, 1, "a collection begins", KV_TEXT("point", feed->def.name),
		  KV_TEXT("everything", is_beginning(&from) ? "yes" : "no"));
	say_state(c, feed, POINT_RUNS, "");
	return 0;
}

/* Ends a collection. If it refreshed a missing object, the next one starts from the beginning, even
 * in another process. */
static void end_collection(struct collector *c, struct feed *feed, int64_t now_us)
{
	struct source_cursor at = beginning;
	if (!feed->lost)
		source_cursor(feed->source, &at);
	registry_set_cursor(c->registry, feed->point, &at);
	collector_took(c);
	counters_add(c->options.counters, COLLECTOR_COLLECTIONS, 1);
	log_info(COLLECTOR, "collected", KV_TEXT("point", feed->def.name),
		 KV_INT("objects", (int64_t)feed->status.objects),
		 KV_INT("bad", (int64_t)feed->status.bad));
	event_write(c->options.events, COLLECTION, feed->def.name,
		    KV_UINT("objects", feed->status.objects), KV_UINT("bad", feed->status.bad));
	close_source(c, feed);
	feed->failures = 0;
	set_due(feed, feed->def.every_us, now_us);
	say_state(c, feed, POINT_GOOD, "");
}

/* Objects delivered are known by their identity; those that could not be taken by URL alone, since
 * their gatherer may be what is missing. */
static uint64_t told_url(struct str url)
{
	return objects_identity(STR(""), STR(""), url);
}

static bool was_told(const struct feed *feed, const struct registry_object *o)
{
	uint64_t identity = objects_identity(o->gatherer_name, o->gatherer_host, o->url);
	return told_ids_get(&feed->told, identity) || told_ids_get(&feed->told, told_url(o->url));
}

/* Drops objects that were not delivered. 0: more is left. 1: that was all. */
static int sweep_untold(struct collector *c, struct feed *feed, struct err *err)
{
	struct registry_record r;
	int rc = 0;
	if (!feed->sweep && registry_scan_open(&feed->sweep, c->registry, 0, err) < 0)
		return -1;
	for (unsigned i = 0; i < SWEEP_STEP && !collector_took_enough(c); i++) {
		rc = registry_scan_next(feed->sweep, &r, err);
		if (rc != 0)
			break;
		const struct registry_object *o = &r.object;
		if (!r.living || o->point != feed->point || was_told(feed, o))
			continue;
		collector_took(c);
		counters_add(c->options.counters, COLLECTOR_DELETED, 1);
		event_write(c->options.events, DELETE, feed->def.name, KV_STR("url", o->url),
			    KV_TEXT("why", "not told again"));
		if (objects_drop(c->objects, o, clock_wall_us(), err) < 0)
			return -1;
	}
	if (rc < 0 && err->code == ERR_USAGE) { /* it was compressed: once more */
		registry_scan_free(&feed->sweep);
		return 0;
	}
	return rc;
}

/* Rereads a source from its beginning. */
static void tell_all_again(struct collector *c, struct feed *feed, int64_t now_us)
{
	log_info(COLLECTOR, "rereading source: it refreshed an object that had expired",
		 KV_TEXT("feed", feed->def.name));
	close_source(c, feed);
	feed->missing = false;
	feed->lost = true;
	feed->due_us = now_us;
}

/* The objects that were not delivered are gone. */
static void end_sweep(struct collector *c, struct feed *feed, int64_t now_us)
{
	registry_scan_free(&feed->sweep);
	told_ids_free(&feed->told);
	feed->sweeps = feed->ended = feed->missing = feed->unsure = false;
	feed->again_us = now_us + AGAIN_US + AGAIN_TIMES * (now_us - feed->began_us);
	collector_took(c);
}

/* The feed has no more now. */
static int reach_end(struct collector *c, struct feed *feed, int64_t now_us, struct err *err)
{
	feed->ended = feed->sweeps;
	say_left_out(feed);
	if (feed->sweeps && feed->unsure)
		log_warn(COLLECTOR, "deletions skipped: unknown objects were skipped",
			 KV_TEXT("feed", feed->def.name));
	if (feed->sweeps) {
		int rc = feed->unsure ? 1 : sweep_untold(c, feed, err);
		if (rc <= 0)
			return rc;
		end_sweep(c, feed, now_us);
	}
	feed->lost = feed->missing && feed->def.every_us;
	if (feed->def.every_us)
		end_collection(c, feed, now_us);
	else if (feed->missing && now_us >= feed->again_us)
		tell_all_again(c, feed, now_us);
	else if (feed->status.state != POINT_GOOD)
		say_state(c, feed, POINT_GOOD, "");
	if (!feed->def.every_us && feed->source)
		feed->failures = 0;
	return 1;
}

/* Reading */

/* Keeps the objects of a URL whose new text was bad. Unknown URLs are not remembered: a gatherer
 * may send any number of them. */
static void note_badly_told(struct collector *c, struct feed *feed, struct str url)
{
	struct registry_object *known;
	struct err ignored;
	size_t n = 0;
	if (!feed->sweeps || url.n == 0)
		return;
	if (registry_of_url(c->registry, url, &c->object, &known, &n, &ignored) < 0 || n)
		(void)told_ids_put(&feed->told, told_url(url));
}

static void leave_out(struct collector *c, struct feed *feed, struct str url, const struct err *err)
{
	counters_add(c->options.counters, COLLECTOR_BAD, 1);
	feed->status.bad++;
	c->points_changed = true;
	note_badly_told(c, feed, url);
	if (++feed->left_out > COLLECTOR_LEFT_OUT_SHOWN)
		return;
	log_warn(COLLECTOR, "object skipped", KV_TEXT("feed", feed->def.name), KV_STR("url", url),
		 KV_TEXT("why", err->msg));
}

/* Skips what could not be read. If the feed has not moved since its last failure, and did not skip
 * by itself (ERR_PARTLY), it has lost its place or is stuck, and is closed: 1. */
static int skip_unread(struct collector *c, struct feed *feed, struct str url, int64_t now_us,
		       const struct err *err)
{
	struct source_cursor at;
	source_cursor(feed->source, &at);
	if (err->code != ERR_PARTLY && feed->failing &&
	    memcmp(&at, &feed->failed, sizeof at) == 0) {
		bool lost = err->code == ERR_USAGE;
		put_off(c, feed, now_us, err);
		feed->lost |= lost;
		if (lost)
			feed->due_us = now_us;
		return 1;
	}
	feed->failing = true;
	feed->failed = at;
	feed->unsure |= err->code == ERR_PARTLY && url.n == 0;
	leave_out(c, feed, url, err);
	return 0;
}

void feeds_note_did(struct collector *c, const char *point, enum objects_did did, struct str url)
{
	static const enum collector_counter counts[] = {
		[OBJECTS_ADDED] = COLLECTOR_ADDED,     [OBJECTS_REPLACED] = COLLECTOR_REPLACED,
		[OBJECTS_DELETED] = COLLECTOR_DELETED, [OBJECTS_REFRESHED] = COLLECTOR_REFRESHED,
		[OBJECTS_EXPIRED] = COLLECTOR_EXPIRED,
	};
	struct events *events = c->options.events;
	if (did < ARRAY_LEN(counts))
		counters_add(c->options.counters, counts[did], 1);
	if (did == OBJECTS_ADDED || did == OBJECTS_REPLACED)
		event_write(events, UPDATE, point, KV_STR("url", url));
	else if (did == OBJECTS_DELETED)
		event_write(events, DELETE, point, KV_STR("url", url));
	else if (did == OBJECTS_REFRESHED)
		event_write(events, REFRESH, point, KV_STR("url", url));
}

/* Applies a change. An object that cannot be taken is counted and skipped. */
static int apply_change(struct collector *c, struct feed *feed, const struct source_change *change,
			struct err *err)
{
	const struct soif *obj = &change->obj;
	enum objects_did did = OBJECTS_SAME;
	feed->status.objects++;
	c->points_changed = true;
	/* a gatherer sends each object as it is now; a source sends its history, in order */
	int rc = objects_apply(c->objects, feed->point, change, feed->def.every_us != 0,
			       clock_wall_us(), &did, err);
	if (rc < 0 && err->code == ERR_USAGE) {
		leave_out(c, feed, obj->url, err);
		rc = 0;
	} else if (rc == 0) {
		feeds_note_did(c, feed->def.name, did, obj->url);
	}
	feed->missing |= did == OBJECTS_UNKNOWN;
	if (feed->sweeps && change->op != SOURCE_DELETE)
		(void)told_ids_put(&feed->told,
				   objects_identity(soif_get(obj, STR("Gatherer-Name")),
						    soif_get(obj, STR("Gatherer-Host")), obj->url));
	return rc;
}

/* Reads up to a batch. 0: there may be more. 1: the feed has no more now. */
static int read_feed(struct collector *c, struct feed *feed, int64_t now_us, struct err *err)
{
	while (!collector_took_enough(c)) {
		struct source_change change = {0};
		if (feed->ended)
			return reach_end(c, feed, now_us, err);
		arena_clear(&c->object);
		int rc = source_next(feed->source, &c->object, &change, err);
		if (rc == 2)
			return 1;
		if (rc == 1)
			return reach_end(c, feed, now_us, err);
		if (rc < 0 && err->code == ERR_SYSTEM) {
			put_off(c, feed, now_us, err);
			return 1;
		}
		if (rc < 0 && skip_unread(c, feed, change.obj.url, now_us, err) != 0)
			return 1;
		collector_took(c);
		if (rc < 0)
			continue;
		feed->failing = false;
		if (apply_change(c, feed, &change, err) < 0)
			return -1;
	}
	return 0;
}

int feeds_read(struct collector *c, int64_t now_us, struct err *err)
{
	bool more = false;
	pass_slow(c, now_us);
	for (size_t i = 0; i < c->options.n; i++) {
		struct feed *feed = &c->feed[(c->turn + i) % c->options.n];
		if (open_feed(c, feed, now_us) != 0)
			continue;
		int rc = read_feed(c, feed, now_us, err);
		if (rc < 0)
			return -1;
		more |= rc == 0;
	}
	c->turn += c->options.n != 0;
	return more ? 0 : 1;
}

void feeds_mark(struct collector *c)
{
	for (size_t i = 0; i < c->options.n; i++) {
		struct feed *feed = &c->feed[i];
		struct source_cursor at, was;
		/* a collection counts only once it is complete */
		if (!feed->source || feed->sweeps || feed->def.every_us)
			continue;
		source_cursor(feed->source, &at);
		was = cursor_of(c, feed);
		if (memcmp(&at, &was, sizeof at) != 0)
			registry_set_cursor(c->registry, feed->point, &at);
	}
}

/* Waiting */

int64_t feeds_due_us(const struct collector *c)
{
	int64_t due = INT64_MAX, waiting = INT64_MAX, room = INT64_MAX;
	for (size_t i = 0; i < c->options.n; i++) {
		const struct feed *feed = &c->feed[i];
		int64_t *when = feed->def.every_us && is_full(c) ? &waiting : &due;
		if (!feed->source)
			*when = MIN(*when, feed->due_us);
		room = MIN(room, slow_us(feed));
	}
	if (c->asked + c->slow < COLLECTOR_OPEN_MOST)
		due = MIN(due, MAX(waiting, room));
	return c->points_changed ? MIN(due, c->reported_us + REPORT_US) : due;
}

size_t feeds_fds(const struct collector *c, int *ret, size_t most)
{
	size_t n = 0;
	for (size_t i = 0; i < c->options.n && n < most; i++)
		if (c->feed[i].source)
			ret[n++] = source_wait_fd(c->feed[i].source);
	return n;
}

void feeds_ask_early(struct collector *c, uint32_t point, int64_t now_us)
{
	for (size_t i = 0; i < c->options.n; i++) {
		struct feed *feed = &c->feed[i];
		int64_t every_us = feed->def.every_us;
		if (feed->point != point || every_us == 0 || feed->source || feed->failures ||
		    feed->due_us == INT64_MAX)
			continue;
		int64_t last_us = feed->due_us - every_us;
		if (now_us - last_us >= every_us / EARLY_PART)
			set_due(feed, 0, now_us);
	}
}

size_t collector_ask_all(struct collector *c, int64_t now_us)
{
	size_t n = 0;
	for (size_t i = 0; i < c->options.n; i++) {
		struct feed *feed = &c->feed[i];
		if (feed->def.every_us == 0)
			continue;
		n++;
		if (!feed->source)
			set_due(feed, 0, now_us);
	}
	c->points_changed |= n != 0;
	return n;
}

void feeds_set_every(struct collector *c, int64_t every_us, int64_t now_us)
{
	for (size_t i = 0; i < c->options.n; i++) {
		struct feed *feed = &c->feed[i];
		int64_t was_us = c->feed[i].def.every_us;
		if (was_us == 0)
			continue;
		c->feed[i].def.every_us = every_us;
		if (feed->source || feed->due_us == INT64_MAX)
			continue;
		int64_t last_us = feed->due_us - was_us; /* after a failure: later, so due sooner */
		set_due(feed, MAX(last_us + every_us - now_us, INT64_C(0)), now_us);
		c->points_changed = true;
	}
}

int feeds_report(struct collector *c, int64_t now_us, struct err *err)
{
	if (!c->points_changed || now_us - c->reported_us < REPORT_US)
		return 0;
	struct point_status *all = mem_array(c->options.n, sizeof *all);
	for (size_t i = 0; i < c->options.n; i++) {
		all[i] = c->feed[i].status;
		all[i].place = (uint32_t)i;
	}
	int rc = small_replace(c->points, &points_table, all, c->options.n, err);
	mem_free(&all);
	c->reported_us = now_us;
	c->points_changed = false;
	return MIN(rc, 0); /* feeds beyond the bound of rows have no status */
}
