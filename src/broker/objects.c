/* What is done with objects. Each change begins with all objects of its URL, changes one of them,
 * and ends with what the URL shows then. Texts that are no longer wanted stay until the commit. */
#include "broker/objects_inner.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/value.h"
#include "base/vec.h"

#include <inttypes.h>

enum {
	ARENA_MOST = 256 << 20,
	TWINS_TRIED = 16, /* twins that are asked to take over a text */
	AHEAD_S = 3600,   /* how far ahead of ours the clock of a gatherer may be */
	GROUP_MOST = 64,  /* objects of one URL, which are all read for each change */
};

struct objects {
	struct registry *registry;
	struct docstore *docs;
	struct indexer *indexer;
	struct arena arena; /* of one change */
	bool final;         /* that change is */
	uint32_t *old;      /* oids that the next commit makes free */
	size_t nold, old_room;
};

struct objects *objects_new(struct registry *registry, struct docstore *docs,
			    struct indexer *indexer)
{
	struct objects *o = mem_alloc(sizeof *o);
	*o = (struct objects){.registry = registry, .docs = docs, .indexer = indexer};
	o->arena = ARENA_INIT(ARENA_MOST);
	return o;
}

void objects_free(struct objects **op)
{
	struct objects *o = *op;
	if (!o)
		return;
	arena_free(&o->arena);
	mem_free(&o->old);
	mem_free(op);
}

uint64_t objects_identity(struct str gatherer_name, struct str gatherer_host, struct str url)
{
	return hash64_seeded(url, hash64_seeded(gatherer_name, hash64(gatherer_host)));
}

bool objects_expired(const struct registry_object *object, int64_t now_us)
{
	return (int64_t)object->update_time_s + object->time_to_live_s < now_us / US_PER_S;
}

/* Reading objects */

static uint32_t clamp_seconds(uint64_t s)
{
	return (uint32_t)MIN(s, (uint64_t)UINT32_MAX);
}

static int refuse_without(struct str url, const char *what, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE, "%s: has no %s, not taken", value_show(url, shown), what);
}

static int object_of(const struct soif *obj, uint32_t point, struct arena *arena,
		     struct registry_object *ret, struct err *err)
{
	struct soif_book book;
	struct registry_object r = {.url = obj->url, .point = point};
	if (soif_book(obj, &book, err) < 0) {
		err->code = ERR_USAGE;
		return -1;
	}
	r.gatherer_name = book.gatherer_name;
	r.gatherer_host = book.gatherer_host;
	r.gatherer_version = book.gatherer_version;
	const struct {
		struct str value;
		const char *name;
	} needed[] = {{r.url, "URL"},
		      {r.gatherer_name, "Gatherer-Name"},
		      {r.gatherer_host, "Gatherer-Host"},
		      {r.gatherer_version, "Gatherer-Version"}};
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (needed[i].value.n == 0)
			return refuse_without(obj->url, needed[i].name, err);
	if (book.update_time_s > UINT32_MAX)
		return refuse_without(obj->url, "Update-Time of this age", err);
	r.update_time_s = (uint32_t)book.update_time_s;
	r.last_modification_time_s = clamp_seconds(book.last_modification_time_s);
	r.refresh_rate_s = clamp_seconds(book.refresh_rate_s);
	r.time_to_live_s = clamp_seconds(book.time_to_live_s);
	r.description = soif_get(obj, STR("Description"));
	if (book.has_md5) {
		char *digits = arena_alloc(arena, 2 * sizeof book.md5 + 1);
		hex_print(book.md5, sizeof book.md5, digits);
		r.md5 = (struct str){digits, 2 * sizeof book.md5};
	}
	*ret = r;
	return 0;
}

/* The objects of a URL, and which of them is meant. */
struct group {
	struct registry_object *object;
	size_t n, at; /* at == n: it is not there */
};

static bool same_gatherer(const struct registry_object *a, const struct registry_object *b)
{
	return str_eq(a->gatherer_name, b->gatherer_name) &&
	       str_eq(a->gatherer_host, b->gatherer_host);
}

static int group_of(struct objects *o, const struct registry_object *meant, struct group *ret,
		    struct err *err)
{
	struct group g = {0};
	struct registry_object *found;
	if (registry_of_url(o->registry, meant->url, &o->arena, &found, &g.n, err) < 0)
		return -1;
	g.object = arena_array(&o->arena, g.n + 1, sizeof *g.object); /* room for one more */
	for (size_t i = 0; i < g.n; i++)
		g.object[i] = found[i];
	while (g.at < g.n && !same_gatherer(&g.object[g.at], meant))
		g.at++;
	*ret = g;
	return 0;
}

/* Showing */

/* What the index does not take stays registered, and kept; only words cannot find it. */
static int show_text(struct objects *o, const struct registry_object *shown, const struct soif *obj,
		     struct err *err)
{
	if (indexer_put(o->indexer, shown, obj, err) == 0)
		return 0;
	if (err->code != ERR_USAGE)
		return -1;
	log_warn(COLLECTOR, "cannot index object", KV_STR("url", obj->url),
		 KV_TEXT("why", err->msg));
	return 0;
}

/* What the URL shows after a change; before: the oid that it showed. The text of `oid` is obj. */
static int show_newest(struct objects *o, struct str url, const struct group *g, uint32_t before,
		       uint32_t oid, const struct soif *obj, struct err *err)
{
	const struct registry_object *shown = indexer_shown(g->object, g->n);
	struct soif text;
	if (!shown)
		return before ? indexer_drop(o->indexer, url, err) : 0;
	if (shown->oid == before)
		return 0;
	if (obj && shown->oid == oid)
		return show_text(o, shown, obj, err);
	int rc = docstore_get(o->docs, shown->oid, &o->arena, &text, err);
	if (rc == 0)
		return show_text(o, shown, &text, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	log_warn(COLLECTOR, "text lost; object no longer found", KV_STR("url", url),
		 KV_INT("oid", shown->oid));
	return indexer_drop(o->indexer, url, err);
}

static uint32_t shown_oid(const struct group *g)
{
	const struct registry_object *shown = indexer_shown(g->object, g->n);
	return shown ? shown->oid : 0;
}

/* Texts */

static int put_text(struct objects *o, const struct soif *obj, uint32_t *ret, struct err *err)
{
	uint32_t oid = registry_new_oid(o->registry);
	if (oid == 0)
		return err_set(err, ERR_SYSTEM,
			       "all numbers of texts are used up; " DOCSTORE_REMEDY);
	*ret = oid;
	log_debug(STORE, 1, "text stored", KV_UINT("oid", oid), KV_STR("url", obj->url));
	return docstore_put(o->docs, oid, obj, err);
}

static void free_text(struct objects *o, uint32_t oid)
{
	if (oid)
		*VEC_PUSH(o->old, o->nold, o->old_room) = oid;
}

static void set_number(struct soif *obj, struct arena *arena, const char *name, uint32_t v)
{
	soif_set(obj, arena, str_of(name), str_of(arena_printf(arena, "%" PRIu32, v)));
}

/* The text of an object as that of its twin. */
static struct soif twin_text(const struct soif *of, const struct registry_object *twin,
			     struct arena *arena)
{
	struct soif obj = soif_copy(arena, of);
	obj.url = twin->url;
	soif_set(&obj, arena, STR("Gatherer-Version"), twin->gatherer_version);
	set_number(&obj, arena, "Update-Time", twin->update_time_s);
	set_number(&obj, arena, "Last-Modification-Time", twin->last_modification_time_s);
	set_number(&obj, arena, "Refresh-Rate", twin->refresh_rate_s);
	set_number(&obj, arena, "Time-to-Live", twin->time_to_live_s);
	if (twin->description.n)
		soif_set(&obj, arena, STR("Description"), twin->description);
	return obj;
}

/* A twin of an object gets its text, and is shown. ERR_USAGE: it cannot have it, nothing changed.
 */
static int take_over(struct objects *o, const struct registry_object *twin, const struct soif *of,
		     int64_t now_us, struct err *err)
{
	struct group g;
	struct soif obj = twin_text(of, twin, &o->arena);
	if (group_of(o, twin, &g, err) < 0)
		return -1;
	uint32_t before = shown_oid(&g);
	struct registry_object now = *twin;
	if (put_text(o, &obj, &now.oid, err) < 0 ||
	    registry_put(o->registry, &now, now_us, err) < 0)
		return -1;
	if (g.at < g.n)
		g.object[g.at] = now;
	return show_newest(o, twin->url, &g, before, now.oid, &obj, err);
}

/* An object with a text is gone or has another: its old text goes to a twin, or goes. */
static int leave_text(struct objects *o, const struct registry_object *was, int64_t now_us,
		      struct err *err)
{
	struct registry_object *twin, *other;
	struct soif text;
	size_t n, others;
	if (was->oid == 0)
		return 0;
	free_text(o, was->oid);
	if (registry_of_md5(o->registry, was->gatherer_name, was->gatherer_host, was->md5, true, 1,
			    &o->arena, &other, &others, err) < 0 ||
	    registry_of_md5(o->registry, was->gatherer_name, was->gatherer_host, was->md5, false,
			    others ? 0 : TWINS_TRIED, &o->arena, &twin, &n, err) < 0)
		return -1;
	if (n == 0)
		return 0;
	int rc = docstore_get(o->docs, was->oid, &o->arena, &text, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	if (rc != 0) {
		log_warn(COLLECTOR, "text lost; its twins are no longer found",
			 KV_STR("url", was->url), KV_INT("oid", was->oid));
		return 0;
	}
	/* the first that can have it */
	for (size_t i = 0; i < n; i++)
		if (take_over(o, &twin[i], &text, now_us, err) == 0)
			return 0;
		else if (err->code != ERR_USAGE)
			return -1;
	return 0;
}

/* Changes */

/* Whether another object of this gatherer has the same MD5 and a text. */
static int has_twin(struct objects *o, const struct registry_object *is, bool *ret, struct err *err)
{
	struct registry_object *other;
	size_t n;
	*ret = false;
	if (registry_of_md5(o->registry, is->gatherer_name, is->gatherer_host, is->md5, true, 2,
			    &o->arena, &other, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		*ret |= !str_eq(other[i].url, is->url);
	return 0;
}

/* Whether what is there is newer than what is told. A time that has not come says nothing: a clock
 * was wrong, and what came by it must not keep everything else out for years. */
static bool is_newer(const struct registry_object *was, uint64_t update_time_s, int64_t now_us)
{
	return was->update_time_s > update_time_s &&
	       was->update_time_s <= now_us / US_PER_S + AHEAD_S;
}

/* The same object again, by the document's rule. */
static bool told_before(const struct registry_object *was, const struct registry_object *is)
{
	return was->update_time_s == is->update_time_s && str_eq(was->md5, is->md5) &&
	       str_eq(was->gatherer_version, is->gatherer_version);
}

static int put_object(struct objects *o, const struct soif *obj, struct registry_object *is,
		      struct group *g, int64_t now_us, struct err *err)
{
	ENSURE(g->object);
	struct registry_object was = g->at < g->n ? g->object[g->at] : (struct registry_object){0};
	uint32_t before = shown_oid(g);
	bool twin;
	is->stored_s = clamp_seconds((uint64_t)(now_us / US_PER_S));
	if (has_twin(o, is, &twin, err) < 0)
		return -1;
	if (!twin && put_text(o, obj, &is->oid, err) < 0)
		return -1;
	if (registry_put(o->registry, is, now_us, err) < 0) {
		if (err->code == ERR_USAGE)
			free_text(o, is->oid);
		return -1;
	}
	if (g->at == g->n)
		g->n++;
	g->object[g->at] = *is;
	if (show_newest(o, is->url, g, before, is->oid, obj, err) < 0)
		return -1;
	return leave_text(o, &was, now_us, err);
}

static int refuse_crowded(struct str url, size_t n, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE, "%s: %zu gatherers tell it already, not taken",
		       value_show(url, shown), n);
}

/* A refresh, or the same object from another point: only numbers move. */
static int move_numbers(struct objects *o, const struct registry_object *is, struct group *g,
			int64_t now_us, struct err *err)
{
	uint32_t before = shown_oid(g);
	if (registry_put(o->registry, is, now_us, err) < 0)
		return -1;
	g->object[g->at] = *is;
	return show_newest(o, is->url, g, before, 0, NULL, err);
}

static int apply_update(struct objects *o, uint32_t point, const struct soif *obj, int64_t now_us,
			enum objects_did *ret, struct err *err)
{
	struct registry_object is;
	struct group g;
	if (object_of(obj, point, &o->arena, &is, err) < 0 || group_of(o, &is, &g, err) < 0)
		return -1;
	const struct registry_object *was = g.at < g.n ? &g.object[g.at] : NULL;
	*ret = OBJECTS_SAME;
	if (was && is_newer(was, is.update_time_s, now_us))
		return 0;
	if (was && told_before(was, &is)) {
		if (was->point == point)
			return 0;
		is = *was;
		is.point = point;
		return move_numbers(o, &is, &g, now_us, err);
	}
	if (!was && g.n >= GROUP_MOST)
		return refuse_crowded(is.url, g.n, err);
	if (!was && o->final && objects_expired(&is, now_us)) {
		*ret = OBJECTS_EXPIRED;
		return 0;
	}
	*ret = was ? OBJECTS_REPLACED : OBJECTS_ADDED;
	return put_object(o, obj, &is, &g, now_us, err);
}

static int apply_refresh(struct objects *o, uint32_t point, const struct soif *obj, int64_t now_us,
			 enum objects_did *ret, struct err *err)
{
	struct registry_object is;
	struct group g;
	if (object_of(obj, point, &o->arena, &is, err) < 0 || group_of(o, &is, &g, err) < 0)
		return -1;
	*ret = g.at == g.n ? OBJECTS_UNKNOWN : OBJECTS_SAME;
	if (g.at == g.n || g.object[g.at].update_time_s == is.update_time_s ||
	    is_newer(&g.object[g.at], is.update_time_s, now_us))
		return 0;
	struct registry_object now = g.object[g.at];
	now.point = point;
	now.update_time_s = is.update_time_s;
	now.gatherer_version = is.gatherer_version;
	if (soif_get(obj, STR("Refresh-Rate")).n)
		now.refresh_rate_s = is.refresh_rate_s;
	if (soif_get(obj, STR("Time-to-Live")).n)
		now.time_to_live_s = is.time_to_live_s;
	*ret = OBJECTS_REFRESHED;
	return move_numbers(o, &now, &g, now_us, err);
}

static int drop_object(struct objects *o, struct group *g, int64_t now_us, struct err *err)
{
	struct registry_object was = g->object[g->at];
	uint32_t before = shown_oid(g);
	int rc = registry_drop(o->registry, was.gatherer_name, was.gatherer_host, was.url, now_us,
			       err);
	if (rc < 0)
		return -1;
	g->object[g->at] = g->object[--g->n];
	if (show_newest(o, was.url, g, before, 0, NULL, err) < 0)
		return -1;
	return leave_text(o, &was, now_us, err);
}

/* A delete names its object by URL and gatherer; one without a gatherer means what its point told.
 * A delete of an older object than the one that is there is passed over. */
static int apply_delete(struct objects *o, uint32_t point, const struct soif *obj, int64_t now_us,
			enum objects_did *ret, struct err *err)
{
	struct registry_object meant = {.url = obj->url,
					.gatherer_name = soif_get(obj, STR("Gatherer-Name")),
					.gatherer_host = soif_get(obj, STR("Gatherer-Host"))};
	struct group g;
	uint64_t update_time_s = UINT64_MAX;
	(void)soif_u64(obj, STR("Update-Time"), &update_time_s);
	*ret = OBJECTS_SAME;
	if (obj->url.n == 0)
		return refuse_without(obj->url, "URL", err);
	if (group_of(o, &meant, &g, err) < 0)
		return -1;
	bool any = meant.gatherer_name.n == 0 && meant.gatherer_host.n == 0;
	for (size_t i = 0; any && i < g.n && g.at == g.n; i++)
		if (g.object[i].point == point)
			g.at = i;
	if (g.at == g.n || is_newer(&g.object[g.at], update_time_s, now_us))
		return 0;
	*ret = OBJECTS_DELETED;
	return drop_object(o, &g, now_us, err);
}

int objects_apply(struct objects *o, uint32_t point, const struct source_change *change, bool final,
		  int64_t now_us, enum objects_did *ret, struct err *err)
{
	static int (*const apply[])(struct objects *, uint32_t, const struct soif *, int64_t,
				    enum objects_did *, struct err *) = {
		[SOURCE_DELETE] = apply_delete,
		[SOURCE_REFRESH] = apply_refresh,
		[SOURCE_UPDATE] = apply_update,
	};
	o->final = final;
	int rc = apply[change->op](o, point, &change->obj, now_us, ret, err);
	arena_clear(&o->arena);
	return rc;
}

int objects_drop(struct objects *o, const struct registry_object *object, int64_t now_us,
		 struct err *err)
{
	struct group g;
	int rc = group_of(o, object, &g, err);
	if (rc == 0 && g.at < g.n)
		rc = drop_object(o, &g, now_us, err);
	arena_clear(&o->arena);
	return rc;
}

int objects_committed(struct objects *o, struct err *err)
{
	for (size_t i = 0; i < o->nold; i++) {
		log_debug(STORE, 1, "text deleted", KV_UINT("oid", o->old[i]));
		if (docstore_delete(o->docs, o->old[i], err) < 0 && err->code != ERR_DAMAGED)
			return -1;
	}
	o->nold = 0;
	return 0;
}
