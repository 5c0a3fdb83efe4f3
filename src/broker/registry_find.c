/* Looking up and scanning. Tables and what came since give the places of records with a key; a
 * record is read (from the map, by two reads, or from what is not written yet) before it is
 * believed to be the one that was asked for. */
#include "base/vec.h"
#include "broker/registry_inner.h"
#include "disk/map_guard.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	SIZE = 4,
	FIRST_READ = 512, /* bytes: more than most records have */
};

static int place_damaged(const struct registry *r, uint64_t at, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: byte %" PRIu64 ": %s", r->file.path, at, what);
}

/* Up to n bytes of records at an offset, fewer at the end. */
static int bytes_read(struct registry *r, uint64_t at, void *p, size_t n, size_t *ret,
		      struct err *err)
{
	if (at < r->written)
		return file_read(&r->file, p, (size_t)MIN((uint64_t)n, r->written - at), at, ret,
				 err);
	struct str rest = str_from(buf_str(&r->out), (size_t)(at - r->written));
	*ret = MIN(n, rest.n);
	memcpy(p, rest.p, *ret);
	return 0;
}

/* Copied, because flags may be set at any time. false: it is not mapped, or may not be all there. A
 * file that was cut reads as zeroes up to the end of its last page, and no signal comes: a record
 * whose last byte is another was not cut. */
static bool record_mapped(const struct registry *r, uint64_t at, struct arena *arena,
			  struct str *ret)
{
	uint32_t size;
	if (at >= r->mapped || r->mapped - at < SIZE || map_guard_failed(r->guard))
		return false;
	memcpy(&size, r->map + at, SIZE);
	size = be32toh(size);
	if (size > REGISTRY_RECORD || size > r->mapped - at - SIZE)
		return false;
	size_t n = SIZE + (size_t)size;
	char *p = arena_alloc(arena, n);
	memcpy(p, r->map + at, n);
	*ret = (struct str){p, n};
	return p[n - 1] != 0 && !map_guard_failed(r->guard);
}

/* Most records are read at once, others by a second read. */
static int record_read(struct registry *r, uint64_t at, struct arena *arena, struct str *ret,
		       struct err *err)
{
	char head[FIRST_READ];
	uint32_t size;
	size_t got, more = 0;
	if (bytes_read(r, at, head, sizeof head, &got, err) < 0)
		return -1;
	if (got < SIZE)
		return place_damaged(r, at, "a record goes past the end", err);
	memcpy(&size, head, SIZE);
	size = be32toh(size);
	if (size > REGISTRY_RECORD)
		return place_damaged(r, at, "a record is too large", err);
	size_t n = SIZE + (size_t)size;
	char *p = arena_alloc(arena, n);
	memcpy(p, head, MIN(got, n));
	if (n > got && bytes_read(r, at + got, p + got, n - got, &more, err) < 0)
		return -1;
	if (got + more < n)
		return place_damaged(r, at, "a record goes past the end", err);
	*ret = (struct str){p, n};
	return 0;
}

int registry_read_at(struct registry *r, uint64_t at, struct arena *arena, struct registry_raw *ret,
		     struct err *err)
{
	struct str record;
	if (!record_mapped(r, at, arena, &record) && record_read(r, at, arena, &record, err) < 0)
		return -1;
	return registry_record_parse(r->file.path, at, record, ret, err);
}

/* Damaged tables are made again by the next start, if it finds none. */
static int tables_lost(struct registry *r, struct err *err)
{
	struct err ignored;
	if (r->writes && err->code == ERR_DAMAGED &&
	    file_remove(r->path[REGISTRY_TABLES], &ignored) >= 0)
		err_then(err, "the tables were removed, and the next start makes them again");
	return -1;
}

static const char *const table_names[] = {
	[REGISTRY_BY_URL] = "url", [REGISTRY_BY_MD5] = "md5", [REGISTRY_BY_OID] = "oid"};

/* The places of the first records with a key that count, at most `most`, in the order in which they
 * were written. */
static int places_of(struct registry *r, enum registry_list list, uint64_t key, size_t most,
		     struct err *err)
{
	r->found.n = 0;
	if (registry_tables_find(&r->tables, list, key, &r->recent.dead, most, &r->found, err) < 0)
		return tables_lost(r, err);
	registry_recent_find(&r->recent, list, key, most - r->found.n, &r->found);
	log_debug(HASH, 9, "looked up", KV_TEXT("table", table_names[list]), KV_UINT("key", key),
		  KV_UINT("found", r->found.n));
	return 0;
}

int registry_lives(struct registry *r, const struct registry_raw *raw, struct err *err)
{
	if (raw->tombstone || registry_dead_get(&r->recent.dead, raw->at))
		return 1;
	if (raw->at >= r->tables.length)
		return 0;
	int rc = registry_tables_has(&r->tables, REGISTRY_BY_URL, registry_url_key(raw->object.url),
				     raw->at, err);
	return rc < 0 ? tables_lost(r, err) : rc;
}

int registry_find_raw(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		      struct str url, struct arena *arena, struct registry_raw *ret,
		      struct err *err)
{
	struct arena_mark mark = arena_mark(arena);
	if (places_of(r, REGISTRY_BY_URL, registry_url_key(url), SIZE_MAX, err) < 0)
		return -1;
	for (size_t i = r->found.n; i > 0; i--) {
		if (registry_read_at(r, r->found.at[i - 1], arena, ret, err) < 0)
			return -1;
		const struct registry_object *o = &ret->object;
		if (str_eq(o->url, url) && str_eq(o->gatherer_name, gatherer_name) &&
		    str_eq(o->gatherer_host, gatherer_host))
			return 0;
		arena_reset(arena, mark);
	}
	return 1;
}

int registry_find(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		  struct str url, struct arena *arena, struct registry_object *ret, struct err *err)
{
	struct registry_raw raw;
	int rc = registry_find_raw(r, gatherer_name, gatherer_host, url, arena, &raw, err);
	if (rc == 0)
		*ret = raw.object;
	return rc;
}

int registry_has_oid(struct registry *r, uint32_t oid, struct err *err)
{
	int rc = places_of(r, REGISTRY_BY_OID, oid, SIZE_MAX, err);
	return rc < 0 ? -1 : r->found.n == 0;
}

int registry_by_oid(struct registry *r, uint32_t oid, struct arena *arena,
		    struct registry_object *ret, struct err *err)
{
	struct registry_raw raw;
	if (places_of(r, REGISTRY_BY_OID, oid, SIZE_MAX, err) < 0)
		return -1;
	if (r->found.n == 0)
		return 1;
	uint64_t at = r->found.at[r->found.n - 1];
	if (registry_read_at(r, at, arena, &raw, err) < 0)
		return -1;
	if (raw.object.oid != oid)
		return place_damaged(r, at, "a record has another oid than the tables say", err);
	*ret = raw.object;
	return 0;
}

/* All records at the places that were found which are as `like` says. */
static int objects_like(struct registry *r,
			bool (*like)(const struct registry_object *is,
				     const struct registry_object *want),
			const struct registry_object *want, struct arena *arena,
			struct registry_object **ret, size_t *ret_n, struct err *err)
{
	struct registry_object *some = NULL;
	size_t n = 0, room = 0;
	for (size_t i = 0; i < r->found.n; i++) {
		struct registry_raw raw;
		if (registry_read_at(r, r->found.at[i], arena, &raw, err) < 0)
			return -1;
		if (like(&raw.object, want))
			*ARENA_PUSH(arena, some, n, room) = raw.object;
	}
	*ret = some;
	*ret_n = n;
	return 0;
}

static bool has_url(const struct registry_object *is, const struct registry_object *want)
{
	return str_eq(is->url, want->url);
}

static bool has_md5(const struct registry_object *is, const struct registry_object *want)
{
	return !is->oid == !want->oid && str_eq(is->md5, want->md5) &&
	       str_eq(is->gatherer_name, want->gatherer_name) &&
	       str_eq(is->gatherer_host, want->gatherer_host);
}

int registry_of_url(struct registry *r, struct str url, struct arena *arena,
		    struct registry_object **ret, size_t *ret_n, struct err *err)
{
	const struct registry_object want = {.url = url};
	if (places_of(r, REGISTRY_BY_URL, registry_url_key(url), SIZE_MAX, err) < 0)
		return -1;
	return objects_like(r, has_url, &want, arena, ret, ret_n, err);
}

int registry_of_md5(struct registry *r, struct str gatherer_name, struct str gatherer_host,
		    struct str md5, bool with_text, size_t most, struct arena *arena,
		    struct registry_object **ret, size_t *ret_n, struct err *err)
{
	const struct registry_object want = {.gatherer_name = gatherer_name,
					     .gatherer_host = gatherer_host,
					     .md5 = md5,
					     .oid = with_text};
	r->found.n = 0;
	if (md5.n && places_of(r, REGISTRY_BY_MD5,
			       registry_md5_key(gatherer_name, gatherer_host, md5, with_text), most,
			       err) < 0)
		return -1;
	return objects_like(r, has_md5, &want, arena, ret, ret_n, err);
}

int registry_each_ended(struct registry *r, registry_oid_fn *fn, void *ctx, struct err *err)
{
	for (size_t i = 0; i < r->committed; i++) {
		uint32_t oid = r->recent.entry[i].killed_oid;
		if (oid == 0)
			continue;
		if (places_of(r, REGISTRY_BY_OID, oid, SIZE_MAX, err) < 0)
			return -1;
		int rc = r->found.n ? 0 : fn(ctx, oid, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Scanning */

struct registry_scan {
	struct registry *r;
	uint64_t base;
	uint64_t first; /* in the file: where it begins again */
	bool picks;     /* what is wanted alone */
	struct registry_want want;
	struct registry_walk walk;
};

int registry_scan_open(struct registry_scan **ret, struct registry *r, uint64_t from,
		       struct err *err)
{
	const struct registry_commit *c = &r->last;
	if (from == 0)
		from = c->base + REGISTRY_HEADER;
	else if (from < c->kept || from < c->base + REGISTRY_HEADER || from > c->base + c->length)
		return err_set(err, ERR_USAGE,
			       "%s: place %" PRIu64 " is not there any more (from %" PRIu64
			       " to %" PRIu64 "); it has to be read from the beginning",
			       r->file.path, from, MAX(c->kept, c->base + REGISTRY_HEADER),
			       c->base + c->length);
	struct registry_scan *s = mem_alloc(sizeof *s);
	s->r = r;
	s->base = c->base;
	s->first = from - c->base;
	registry_walk_begin(&s->walk, &r->file, s->first, c->length);
	*ret = s;
	return 0;
}

void registry_scan_again(struct registry_scan *s, const struct registry_want *want)
{
	registry_walk_to(&s->walk, s->first);
	s->picks = true;
	s->want = *want;
}

/* On to the next record that is wanted. Records lie in the order in which they changed. */
static int scan_pick(struct registry_scan *s, struct err *err)
{
	const struct registry_want *want = &s->want;
	struct registry_glance g;
	int rc;
	while ((rc = registry_walk_glance(&s->walk, &g, err)) == 0) {
		if (g.changed_s >= want->changed_from && g.tombstone == want->tombstones &&
		    (g.tombstone ||
		     (g.stored_s >= want->stored_from && g.stored_s <= want->stored_to)))
			break;
		registry_walk_pass(&s->walk);
		if (g.changed_s < want->changed_from)
			s->first = MAX(s->first, s->walk.at);
	}
	return rc;
}

int registry_scan_next(struct registry_scan *s, struct registry_record *ret, struct err *err)
{
	struct registry_raw raw;
	if (s->base != s->r->last.base)
		return err_set(err, ERR_USAGE,
			       "%s: compressed since the scan began; begin with the first record",
			       s->r->file.path);
	s->walk.end = s->r->last.length;
	int rc = s->picks ? scan_pick(s, err) : 0;
	if (rc == 0)
		rc = registry_walk_next(&s->walk, &raw, err);
	if (rc != 0)
		return rc;
	int dead = registry_lives(s->r, &raw, err);
	if (dead < 0)
		return -1;
	*ret = (struct registry_record){.object = raw.object,
					.tombstone = raw.tombstone,
					.living = !dead,
					.at = s->base + raw.at,
					.next = s->base + s->walk.at};
	return 0;
}

void registry_scan_free(struct registry_scan **s)
{
	if (*s)
		registry_walk_end(&(*s)->walk);
	mem_free(s);
}
