/* The lost or damaged index: every bucket becomes an item again, what is left of the old index says
 * the rest. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "shepherd/bucket.h"
#include "shepherd/bucket_attrs.h"
#include "shepherd/recover_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { SORT_MEMORY = 64 << 20, FOUND = 28, LINES = 20, DAY_S = 86400 };

struct building {
	struct state *st;
	struct recovery *r;
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct url_index *old; /* what could be saved of it; NULL: nothing */
	struct sites *sites;
	struct sort *found;
	struct arena arena;
	int64_t now_us;
	uint64_t seen, lost, newer;
};

/* What is left of the old index */

static int copy_sound(struct building *b, const struct url_index *from, struct url_index_writer *to,
		      struct err *err)
{
	struct url_index_scan *scan;
	struct index_item item;
	unsigned bad = 0;
	int rc;
	if (url_index_scan(&scan, from, (struct footprint){0, 0}, err) < 0)
		return -1;
	while ((rc = url_index_next(scan, &item, err)) != 1) {
		if (rc == 0)
			url_index_put(to, &item);
		else if (err->code != ERR_DAMAGED)
			break;
		else if (bad++ < LINES)
			recovery_damage(b->r, "%s", err->msg);
	}
	url_index_scan_free(&scan);
	return rc < 0 ? rc : 0;
}

/* Copies the blocks that are sound beside, and opens the copy. */
static int save_old(struct building *b, struct err *err)
{
	struct arena *a = &b->arena;
	struct url_index *from = NULL;
	struct url_index_writer *to = NULL;
	char *beside = state_path(b->st, a, ".index.saved");
	int rc = url_index_open(&from, state_path(b->st, a, "index"), err);
	if (rc == 1)
		recovery_damage(b->r, "%s: the index is lost", b->st->name);
	if (rc < 0 && err->code == ERR_DAMAGED) {
		recovery_damage(b->r, "%s", err->msg);
		rc = 1;
	}
	if (rc)
		return rc < 0 ? rc : 0;
	rc = file_remove(beside, err) < 0 ? -1 : url_index_create(&to, beside, err);
	if (rc == 0)
		rc = copy_sound(b, from, to, err);
	if (rc == 0)
		rc = url_index_finish(&to, err);
	if (rc == 0)
		rc = url_index_open(&b->old, beside, err);
	url_index_drop(&to);
	url_index_close(&from);
	return rc;
}

static int save_sites(struct building *b, struct err *err)
{
	int rc = state_sites(b->st, &b->sites, err);
	if (rc == 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(b->r, "%s", err->msg);
	b->sites = sites_new();
	return 0;
}

/* The buckets */

static uint32_t seconds(struct str value)
{
	uint64_t v;
	return value.p && str_u64(str_trim(value), &v) && v < UINT32_MAX ? (uint32_t)v : 0;
}

/* A bucket as a record for the sort: footprint, oid, time of download, whether it has a body. */
static int add_found(struct building *b, struct footprint fp, uint32_t oid, uint32_t time_s,
		     bool body, struct err *err)
{
	unsigned char key[FOOTPRINT_KEY];
	struct buf rec = BUF_INIT(FOUND);
	footprint_key(fp, key);
	buf_add(&rec, key, sizeof key);
	put_u32le(&rec, oid);
	put_u32le(&rec, time_s);
	put_u32le(&rec, body);
	int rc = sort_add(b->found, buf_str(&rec), err);
	buf_free(&rec);
	return rc;
}

/* The URL of a bucket, taken apart in the arena. */
static bool url_of(struct building *b, const struct attrs *header, const struct attrs *body,
		   struct url *ret)
{
	char *room = arena_alloc(&b->arena, URL_MAX);
	struct str u = attrs_get(header, 'U');
	if (!u.p)
		u = attrs_get(body, 'U');
	return u.p && url_parse(u, NULL, room, URL_MAX, ret) == 0;
}

static int take_bucket(struct building *b, const struct bucket *bucket, struct err *err)
{
	struct attrs header = {0}, body = {0};
	struct url url;
	bool is_new;
	if (bucket_decode(b->packer, bucket->type, bucket->data, &b->arena, &header, &body, err) <
	    0) {
		recovery_damage(b->r, "bucket %08" PRIx32 ": %s", bucket->oid, err->msg);
		/* the URL is not lost with its text: a dictionary may be put back, a page fetched
		 */
		if (err->code == ERR_SYSTEM || bucket_check(bucket->type, bucket->data, err) < 0 ||
		    bucket_header(bucket->type, bucket->data, &b->arena, &header, NULL, err) < 0)
			return err->code == ERR_SYSTEM ? -1 : 0;
	}
	if (!url_of(b, &header, &body, &url)) {
		recovery_damage(b->r, "bucket %08" PRIx32 ": it has no URL", bucket->oid);
		return 0;
	}
	(void)sites_put(b->sites, url_site(&url), &is_new);
	struct str time = attrs_get(&body, 'D');
	struct footprint fp = footprint_of(&url);
	struct str o = attrs_get(&header, 'O'); /* the one that was given counts: it may be made
						 * of an equivalent site's name */
	if (o.p)
		(void)!footprint_parse(o, &fp);
	b->seen++;
	return add_found(b, fp, bucket->oid, seconds(time.p ? time : attrs_get(&header, 'D')),
			 body.n > 0, err);
}

static int take_buckets(struct building *b, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	unsigned bad = 0;
	int rc = bucket_scan_init(&scan, b->buckets, 0, 0, err);
	if (rc < 0)
		return -1;
	while ((rc = bucket_scan_next(&scan, &bucket, err)) != 1) {
		struct arena_mark mark = arena_mark(&b->arena);
		if (rc < 0 && !scan.passed)
			break;
		if (rc < 0 && bad++ < LINES)
			recovery_damage(b->r, "%s", err->msg);
		if (rc == 0 && !bucket.deleted && take_bucket(b, &bucket, err) < 0) {
			rc = -1;
			break;
		}
		arena_reset(&b->arena, mark);
	}
	bucket_scan_done(&scan);
	return rc < 0 ? rc : 0;
}

/* Both together */

static int tell_newer(struct building *b, const struct index_item *item, struct err *err)
{
	struct attrs header = {0}, body = {0};
	struct arena_mark mark = arena_mark(&b->arena);
	int rc = bucket_get(b->buckets, b->packer, (uint32_t)item->where, &b->arena, &header, &body,
			    err);
	struct str url = rc == 0 ? attrs_get(&header, 'U') : STR("");
	if (rc == 0 && !url.p)
		url = attrs_get(&body, 'U');
	struct change change = {.fp = item->fp,
				.time_us = item->last_seen_s * US_PER_S,
				.op = CHANGE_UPDATE,
				.by = PHASE_RECOVER,
				.url = url.p ? url : STR(""),
				.reason = STR("found in the bucket file")};
	if (rc == 0)
		rc = state_change(b->st, &change, err);
	arena_reset(&b->arena, mark);
	b->newer++;
	return rc < 0 ? rc : 0;
}

static void count_site(struct building *b, const struct index_item *item)
{
	struct site *site = sites_get(b->sites, item->fp.site);
	if (!site || item->type == ITEM_QKEY)
		return;
	site->active += item->type != ITEM_SLEEPING && item->type != ITEM_ZOMBIE;
	site->inactive += item->type == ITEM_SLEEPING;
	site->gathered += item->type == ITEM_GATHERED;
	site->fresh += item->type == ITEM_NEW;
}

/* The news are the buckets of the URL, the last of them counts. */
static int decide(void *ctx, const struct index_news *about, struct index_item *ret,
		  struct err *err)
{
	struct building *b = ctx;
	if (about->n) {
		struct reader r = reader_of(str_from(about->news[about->n - 1], FOOTPRINT_KEY));
		uint32_t oid = reader_u32le(&r), time_s = reader_u32le(&r);
		bool body = reader_u32le(&r);
		bool newer = body && (!about->old || about->old->last_seen_s < time_s);
		ret->where = oid;
		ret->flags &= (uint8_t)~ITEM_CONTRIB;
		if (!about->old) {
			ret->since_day = (uint16_t)(b->now_us / US_PER_S / DAY_S);
			ret->weight = 128;
			ret->type = ITEM_NEW;
		}
		if (newer) {
			ret->type = ITEM_GATHERED;
			ret->last_seen_s = ret->stable_s = time_s;
			ret->retry = 0;
			if (tell_newer(b, ret, err) < 0)
				return -1;
		}
	} else if (index_item_has_bucket(about->old)) {
		const struct gone gone = {about->fp, b->now_us, GONE_UNKNOWN};
		b->lost++; /* and with the bucket the URL itself */
		return state_gone(b->st, &gone, err) < 0 ? -1 : 1;
	}
	count_site(b, ret);
	return 0;
}

static void last_counts(void *ctx, struct buf *into, struct str from)
{
	(void)ctx;
	buf_clear(into);
	buf_add_str(into, from);
}

static int build(struct building *b, struct err *err)
{
	struct url_index_writer *w;
	const struct sort_spec spec = {.order = {.size = FOUND, .key_len = FOOTPRINT_KEY},
				       .memory = SORT_MEMORY,
				       .folder = b->st->folder,
				       .unify = last_counts};
	if (save_old(b, err) < 0 || save_sites(b, err) < 0 || sort_new(&b->found, &spec, err) < 0 ||
	    take_buckets(b, err) < 0)
		return -1;
	struct site *const *site = sites_sorted(b->sites);
	for (size_t i = 0; i < sites_count(b->sites); i++)
		site[i]->active = site[i]->inactive = site[i]->gathered = site[i]->fresh = 0;
	if (state_index_create(b->st, &w, err) < 0)
		return -1;
	if (url_index_apply(b->old, b->found, 1 << 20, decide, b, w, err) < 0) {
		url_index_drop(&w);
		return -1;
	}
	return state_index_put(b->st, &w, err) < 0 ? -1 : state_sites_put(b->st, b->sites, err);
}

enum phase recover_done(const struct state *st)
{
	return st->last.contrib ? PHASE_CORKED : PHASE_CLOSED;
}

int recover_build(struct state *st, int64_t now_us, struct recovery *r, struct err *err)
{
	struct building b = {.st = st, .r = r, .arena = ARENA_INIT(SIZE_MAX), .now_us = now_us};
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	char *objects = states_path(st->s, &b.arena, "objects");
	int rc = bucket_open(&b.buckets, objects, &options, err);
	b.packer = bucket_packer_new(bucket_dict_path(&b.arena, objects));
	if (rc == 0)
		rc = build(&b, err);
	if (rc == 0)
		rc = state_enter(st, recover_done(st), b.buckets, now_us, err);
	if (rc == 0) {
		r->rebuilt++;
		recovery_tell(r,
			      "%s: index made again from %" PRIu64 " buckets; %" PRIu64
			      " newer than the old one, %" PRIu64 " URLs lost their bucket",
			      st->name, b.seen, b.newer, b.lost);
	}
	url_index_close(&b.old);
	struct err ignored;
	(void)file_remove(state_path(st, &b.arena, ".index.saved"), &ignored);
	sort_free(&b.found);
	sites_free(&b.sites);
	bucket_packer_free(&b.packer);
	bucket_drop(&b.buckets);
	arena_free(&b.arena);
	return rc;
}
