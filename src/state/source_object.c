#include "state/source_object.h"

#include "base/clock.h"
#include "base/hash.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "soif/doc_attrs.h"
#include "state/state.h"

#include <inttypes.h>

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

struct objects *objects_new(const struct source_crawl *store, struct states *s)
{
	struct objects *o = mem_alloc(sizeof *o);
	*o = (struct objects){.store = store, .s = s, .arena = ARENA_INIT(1 << 20)};
	o->path = states_path(s, &o->arena, "objects");
	o->packer = bucket_packer_new(bucket_dict_path(&o->arena, o->path));
	return o;
}

void objects_rest(struct objects *o)
{
	bucket_drop(&o->buckets);
	state_free(&o->newest);
}

void objects_free(struct objects **po)
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
static int open_newest(struct objects *o, struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n = 0;
	int rc = states_list(o->s, 0, &arena, &list, &n, err);
	while (rc == 0 && n && !phase_is_done(list[n - 1].phase))
		n--;
	if (rc == 0)
		rc = n ? state_open(&o->newest, o->s, list[n - 1].name, err) : 1;
	arena_free(&arena);
	return rc == 1 ? err_set(err, ERR_SYSTEM, "%s: no state is closed", o->path) : rc;
}

static int wake(struct objects *o, struct err *err)
{
	/* Buckets are told in the order in which they were appended, just after that and past the
	 * page cache: without reading ahead each would wait for the disk. */
	const struct bucket_options options = {.mode = BUCKET_SCAN, .forward = true};
	if (o->buckets)
		return 0;
	int rc = open_newest(o, err);
	if (rc == 0)
		rc = bucket_open(&o->buckets, o->path, &options, err);
	if (rc == 1)
		rc = err_set(err, ERR_SYSTEM, "%s: there is no bucket file", o->path);
	if (rc < 0) {
		objects_rest(o);
		err->code = ERR_SYSTEM; /* somebody mends it, or will: another time it goes */
	}
	return rc;
}

static bool is_zero(const unsigned char md5[16])
{
	static const unsigned char zero[16];
	return memcmp(md5, zero, sizeof zero) == 0;
}

/* The footprint that a bucket was given; those of old versions have none, and their URL says it. */
static bool footprint_in(const struct attrs *header, const struct attrs *body,
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
static bool is_wanted(const struct attrs *header, const struct attrs *body,
		      const struct object_wanted *what)
{
	struct footprint fp;
	unsigned char md5[16];
	struct str sum = attrs_get(body, 'C');
	if (!footprint_in(header, body, &fp) || footprint_cmp(fp, what->fp) != 0)
		return false;
	return is_zero(what->md5) || !sum.p || !hex_parse(sum, md5, sizeof md5) ||
	       memcmp(md5, what->md5, sizeof md5) == 0;
}

/* 1: not the one. */
static int read_as(struct objects *o, uint64_t number, const struct object_wanted *what,
		   struct arena *arena, struct attrs *ret, struct err *err)
{
	struct attrs header = {0}, body = {0};
	if (number >= BUCKET_SPECIAL)
		return 1;
	int rc = bucket_get(o->buckets, o->packer, (uint32_t)number, arena, &header, &body, err);
	if (rc)
		return rc;
	if (!is_wanted(&header, &body, what))
		return 1;
	for (size_t i = 0; i < body.n; i++)
		attrs_add(&header, arena, body.a[i].name, body.a[i].value);
	*ret = header;
	return 0;
}

/* Whether the numbers of the index at hand may be those from before a shakedown: its report stands
 * as long as no state with the new ones is done. */
static bool renumbering(struct objects *o)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct bucket_moves *moves = NULL;
	struct state_info *list;
	struct err ignored;
	size_t n = 0;
	bool may_be = bucket_moves_open(&moves, o->path, &ignored) != 1 ||
		      states_list(o->s, 0, &arena, &list, &n, &ignored) < 0;
	for (size_t i = 0; !may_be && i < n; i++)
		may_be = phase_is_done(list[i].phase) &&
			 strcmp(list[i].name, state_name(o->newest)) > 0;
	bucket_moves_close(&moves);
	arena_free(&arena);
	return may_be;
}

static int not_of_it(struct objects *o, uint64_t number, struct err *err)
{
	if (renumbering(o))
		return err_set(err, ERR_SYSTEM,
			       "bucket %" PRIx64 " is not of the URL that the index says: buckets "
			       "are being renumbered; another time it goes",
			       number);
	return err_set(err, ERR_DAMAGED,
		       "%s: bucket %08" PRIx64 " was deleted, or is not of the URL that the index "
		       "of %s says; garner shep recover --rebuild makes it again",
		       o->path, number, state_name(o->newest));
}

/* By the number that it had; else by the one that the newest index gives it, with whatever text it
 * has now. 1: it is not known any more. */
static int find_once(struct objects *o, const struct object_wanted *what, struct arena *arena,
		     struct attrs *ret, struct err *err)
{
	const struct url_index *index;
	struct index_item item;
	struct object_wanted any = *what;
	memset(any.md5, 0, sizeof any.md5);
	int rc = read_as(o, what->hint, what, arena, ret, err);
	if (rc == 0 || (rc < 0 && err->code == ERR_SYSTEM))
		return rc;
	rc = state_index(o->newest, &index, err);
	if (rc == 0)
		rc = url_index_find(index, what->fp, &item, err);
	if (rc)
		return rc;
	if (!index_item_has_bucket(&item) || item.type != ITEM_GATHERED)
		return 1;
	rc = read_as(o, item.where, &any, arena, ret, err);
	return rc == 1 ? not_of_it(o, item.where, err) : rc;
}

/* What was opened may be from before a shakedown, or from before the newest state. */
static int find(struct objects *o, const struct object_wanted *what, struct arena *arena,
		struct attrs *ret, struct err *err)
{
	int rc = wake(o, err);
	if (rc == 0)
		rc = find_once(o, what, arena, ret, err);
	if (rc == 0)
		return 0;
	objects_rest(o);
	rc = wake(o, err);
	return rc ? rc : find_once(o, what, arena, ret, err);
}

static void add(struct soif *obj, struct arena *arena, const char *name, struct str value)
{
	if (!soif_get(obj, str_of(name)).p && value.n)
		soif_add(obj, arena, str_of(name), value);
}

static void add_number(struct soif *obj, struct arena *arena, const char *name, uint64_t value)
{
	add(obj, arena, name, str_of(arena_printf(arena, "%" PRIu64, value)));
}

static void add_md5(struct soif *obj, struct arena *arena, const unsigned char md5_bytes[16])
{
	char hex[33];
	hex_print(md5_bytes, 16, hex);
	add(obj, arena, "MD5", str_of(arena_text(arena, str_of(hex))));
}

static void add_identity(const struct objects *o, struct soif *obj, struct arena *arena,
			 const struct object_wanted *what)
{
	add(obj, arena, "Gatherer-Name", o->store->gatherer_name);
	add(obj, arena, "Gatherer-Host", o->store->gatherer_host);
	add(obj, arena, "Gatherer-Version", o->store->gatherer_version);
	add_number(obj, arena, "Update-Time", (uint64_t)MAX(what->time_us, 0) / US_PER_S);
	if (!is_zero(what->md5))
		add_md5(obj, arena, what->md5);
}

/* What every object has, also where the bucket does not say it. */
static void add_mandatory(const struct objects *o, struct soif *obj, struct arena *arena)
{
	const struct source_crawl *s = o->store;
	add_number(obj, arena, "Refresh-Rate",
		   s->refresh_rate_s ? s->refresh_rate_s : SOIF_REFRESH_RATE_S);
	add_number(obj, arena, "Time-to-Live",
		   s->time_to_live_s ? s->time_to_live_s : SOIF_TIME_TO_LIVE_S);
	add_number(obj, arena, "Last-Modification-Time", 0);
	add(obj, arena, "Type", STR("Binary"));
	if (!soif_get(obj, STR("MD5")).p) {
		unsigned char sum[16];
		struct str text = soif_get(obj, STR("Full-Text"));
		md5(text.p ? text : STR(""), sum);
		add_md5(obj, arena, sum);
	}
}

int objects_make(struct objects *o, enum source_op op, const struct object_wanted *what,
		 struct arena *arena, struct soif *ret, struct err *err)
{
	struct soif obj = {.type = STR("FILE"), .url = arena_str(arena, what->url)};
	struct attrs attrs = {0};
	int rc = op == SOURCE_UPDATE ? find(o, what, arena, &attrs, err) : 1;
	if (rc < 0 || (rc == 1 && what->url.n == 0))
		return rc;
	if (rc == 0)
		attrs_soif(&attrs, arena, 0, &obj);
	if (obj.url.n == 0)
		obj.url = arena_str(arena, what->url);
	add_identity(o, &obj, arena, what);
	if (op == SOURCE_UPDATE)
		add_mandatory(o, &obj, arena);
	*ret = obj;
	return 0;
}
