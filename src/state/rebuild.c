/* Rule 2: index and sites made again from the whole bucket file. Every bucket becomes an item; what
 * indexes, journals and `gone` still say of its URL counts, so that the forgotten and the dead do
 * not come back with their buckets: a deleted bucket is the end of those before it, and a bucket
 * older than its URL's entry in `gone` brings nothing back. All of that goes through one sort by
 * footprint, and of each kind the last word counts. Followers are told what they cannot know. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/table.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "state/recover.h"
#include "state/state_inner.h"

#include <inttypes.h>
#include <sys/stat.h>

enum { LINES = 20, DAY_S = 86400 };

TABLE(orphans, struct footprint, struct index_item, footprint_hash, footprint_same)

/* What is known of a URL, each kind as far as it tells in the form of an item of the index. */
enum evidence_kind {
	EVIDENCE_INDEX,   /* the item of the newest index that has it */
	EVIDENCE_JOURNAL, /* what came of the last try */
	EVIDENCE_GONE,    /* it was forgotten: last_seen_s, to the hour, rounded down */
	EVIDENCE_TOLD,    /* the same by the changes of a state, to the second */
	EVIDENCE_DELETED, /* its last bucket that was deleted: as the next */
	EVIDENCE_BUCKET,  /* its last bucket: where, last_seen_s; ITEM_NEW: it has no body */
	EVIDENCE_KINDS,
};
struct evidence {
	bool has[EVIDENCE_KINDS];
	struct index_item item[EVIDENCE_KINDS];
};

/* As an item of the index has it, with the kind after the footprint, so that they come in the order
 * of the kinds. */
enum { EVIDENCE_KEY = FOOTPRINT_KEY + 1, EVIDENCE_SIZE = INDEX_ITEM + 1, SORT_MEMORY = 64 << 20 };

/* Indexes are read from the newest on, all else from the oldest. */
static void evidence_unify(void *ctx, struct buf *into, struct str from)
{
	(void)ctx;
	if (from.p[FOOTPRINT_KEY] == EVIDENCE_INDEX)
		return;
	buf_clear(into);
	buf_add_str(into, from);
}

static int evidence_sort(struct sort **ret, const char *folder, struct err *err)
{
	const struct sort_spec spec = {.order = {.size = EVIDENCE_SIZE, .key_len = EVIDENCE_KEY},
				       .memory = SORT_MEMORY,
				       .folder = folder,
				       .unify = evidence_unify};
	return sort_new(ret, &spec, err);
}

static int evidence_add(struct sort *to, enum evidence_kind kind, const struct index_item *item,
			struct err *err)
{
	unsigned char rec[EVIDENCE_SIZE];
	index_item_write(item, rec + 1);
	memmove(rec, rec + 1, FOOTPRINT_KEY);
	rec[FOOTPRINT_KEY] = (unsigned char)kind;
	return sort_add(to, (struct str){(const char *)rec, sizeof rec}, err);
}

static int evidence_read(const struct index_news *about, struct evidence *ret, struct err *err)
{
	*ret = (struct evidence){0};
	for (size_t i = 0; i < about->n; i++) {
		unsigned char bytes[EVIDENCE_SIZE];
		ENSURE(about->news[i].n == sizeof bytes);
		memcpy(bytes, about->news[i].p, sizeof bytes);
		unsigned kind = bytes[FOOTPRINT_KEY];
		memmove(bytes + 1, bytes, FOOTPRINT_KEY);
		ENSURE(kind < EVIDENCE_KINDS);
		if (index_item_read(bytes + 1, &ret->item[kind], err) < 0)
			return -1;
		ret->has[kind] = true;
	}
	return 0;
}

struct building;
typedef int journal_fn(struct building *b, const struct journal_entry *e, struct err *err);

struct building {
	struct state *st;
	struct recovery *r;
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct sites *sites;
	struct sort *found;
	struct state_info *list; /* of all states, oldest first; n of them up to this one */
	size_t n;
	struct arena arena;
	int64_t now_us;
	journal_fn *on_entry;
	struct orphans orphans; /* URLs whose bucket is damaged, and that would be missed */
	uint64_t seen, lost, newer, forgotten, back;
	uint64_t robots; /* the path "/robots.txt" as footprints have it */
};

/* Indexes */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* 1: not all of it can be read, which is named. */
static int rebuild_read_index(struct building *b, const char *path, struct err *err)
{
	struct url_index *index = NULL;
	struct url_index_scan *scan = NULL;
	struct index_item item;
	unsigned bad = 0;
	int rc = url_index_open(&index, path, err);
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s: the index is lost", path);
	if (rc == 0)
		rc = url_index_scan(&scan, index, (struct footprint){0, 0}, err);
	rc = recovery_bear(b->r, rc, err, "");
	bad = rc == 1;
	while (rc == 0) {
		rc = url_index_next(scan, &item, err);
		if (rc == 0) {
			rc = evidence_add(b->found, EVIDENCE_INDEX, &item, err);
		} else if (rc < 0 && err->code == ERR_DAMAGED) { /* a block of it */
			if (bad++ < LINES)
				recovery_damage(b->r, "%s", err->msg);
			rc = 0;
		}
	}
	url_index_scan_free(&scan);
	url_index_close(&index);
	return rc < 0 ? rc : bad > 0;
}

/* From the state's own on to older ones, until one is whole. */
static int rebuild_read_indexes(struct building *b, size_t n, struct err *err)
{
	const char *before = "";
	int rc = 1;
	while (rc == 1 && n--) {
		char *path = arena_printf(&b->arena, "%s/state/%s/index", b->st->s->folder,
					  b->list[n].name);
		if (same_file(path, before))
			continue;
		rc = rebuild_read_index(b, path, err);
		if (rc >= 0 && *before)
			recovery_tell(b->r, "%s: what its index has lost is taken from that of %s",
				      b->st->name, b->list[n].name);
		before = path;
	}
	return MIN(rc, 0);
}

/* Journals */

/* Damage ends it: what lies after it is not known. */
static int rebuild_read_journal(struct building *b, struct state *st, struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e;
	struct err why;
	int rc = state_read(st, "journal", &in, &why);
	while (rc == 0 && (rc = record_next(in, &record, &why)) == 0 &&
	       (rc = journal_read(record.payload, &e, &why)) == 0)
		if ((rc = b->on_entry(b, &e, &why)) < 0)
			break;
	record_reader_free(&in);
	if (rc >= 0 || why.code == ERR_DAMAGED)
		return 0;
	*err = why;
	return -1;
}

typedef int state_fn(struct building *b, struct state *st, struct err *err);

/* All states up to this one, oldest first, as far as they can be read. */
static int rebuild_each_state(struct building *b, state_fn *fn, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < b->n && strcmp(b->list[i].name, b->st->name) < 0; i++) {
		struct state *older = NULL;
		rc = state_open(&older, b->st->s, b->list[i].name, err);
		if (rc == 0)
			rc = fn(b, older, err);
		else if (rc == 1 || err->code == ERR_DAMAGED)
			rc = 0;
		state_free(&older);
	}
	return rc < 0 ? rc : fn(b, b->st, err);
}

static int rebuild_read_journals(struct building *b, journal_fn *fn, struct err *err)
{
	b->on_entry = fn;
	return rebuild_each_state(b, rebuild_read_journal, err);
}

/* What failed for now says nothing of what the URL is. */
static int rebuild_add_tried(struct building *b, const struct journal_entry *e, struct err *err)
{
	const struct index_item item = {.fp = e->fp,
					.where = ITEM_NOWHERE,
					.code = e->code,
					.last_seen_s = (uint32_t)(e->time_us / US_PER_S),
					.due_s = e->due_s,
					.type = e->type,
					.no_target = e->no_target,
					.flags = e->flags};
	return e->type == ITEM_TEMPORARY ? 0 : evidence_add(b->found, EVIDENCE_JOURNAL, &item, err);
}

/* The log of what was forgotten, up to any damage */

static int rebuild_add_gone(void *ctx, const struct gone *g, struct err *err)
{
	struct building *b = ctx;
	const struct index_item item = {.fp = g->fp,
					.where = ITEM_NOWHERE,
					.last_seen_s = (uint32_t)(g->time_us / US_PER_S)};
	return evidence_add(b->found, EVIDENCE_GONE, &item, err);
}

/* What modules told they forgot, up to any damage. The log of forgotten URLs is kept by the hour:
 * what was forgotten within the hour would come back with its bucket. */
static int rebuild_add_told(struct building *b, struct state *st, struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	struct change c;
	int rc = state_read(st, "changes", &in, err);
	while (rc == 0 && (rc = record_next(in, &record, err)) == 0 &&
	       (rc = change_read(record.payload, &c, err)) == 0) {
		const struct index_item item = {.fp = c.fp,
						.where = ITEM_NOWHERE,
						.last_seen_s = (uint32_t)(c.time_us / US_PER_S)};
		if (c.forgotten && (rc = evidence_add(b->found, EVIDENCE_TOLD, &item, err)) < 0)
			break;
	}
	record_reader_free(&in);
	return rc < 0 && err->code != ERR_DAMAGED ? -1 : 0;
}

static int rebuild_read_gone(struct building *b, struct err *err)
{
	int rc = gone_each(states_path(b->st->s, &b->arena, "gone"), rebuild_add_gone, b, err);
	return MIN(recovery_bear(b->r, rc, err, ""), 0);
}

/* Sites */

static int rebuild_save_sites(struct building *b, struct err *err)
{
	int rc = recovery_bear(b->r, state_sites(b->st, &b->sites, err), err, "");
	if (rc == 1)
		b->sites = sites_new();
	return MIN(rc, 0);
}

/* The buckets */

static uint32_t attr_seconds(struct str value)
{
	uint64_t v;
	return value.p && str_u64(str_trim(value), &v) && v < UINT32_MAX ? (uint32_t)v : 0;
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

/* When a bucket came to be: its page was gathered, or its URL became known. */
static uint32_t time_of(const struct attrs *header, const struct attrs *body)
{
	struct str time = attrs_get(body, 'D');
	if (!time.p)
		time = attrs_get(header, 'D');
	return attr_seconds(time.p ? time : attrs_get(header, BUCKET_ADDED));
}

/* One that was deleted counts when its checksum says that it was not damage that ended it. */
static int take_bucket(struct building *b, const struct bucket *bucket, struct err *err)
{
	struct attrs header = {0}, body = {0};
	struct url url;
	if (bucket->deleted && bucket_check(bucket->type, bucket->data, err) != 0)
		return 0;
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
		if (!bucket->deleted)
			recovery_damage(b->r, "bucket %08" PRIx32 ": it has no URL", bucket->oid);
		return 0;
	}
	struct index_item item = {.fp = footprint_of(&url),
				  .where = bucket->oid,
				  .last_seen_s = time_of(&header, &body),
				  .type = body.n ? ITEM_GATHERED : ITEM_NEW};
	struct str o = attrs_get(&header, 'O'); /* the one that was given counts: it may be made
						 * of an equivalent site's name */
	if (o.p)
		(void)!footprint_parse(o, &item.fp);
	if (item.fp.path == b->robots)
		item.flags = ITEM_ROBOTS;
	b->seen += !bucket->deleted;
	return evidence_add(b->found, bucket->deleted ? EVIDENCE_DELETED : EVIDENCE_BUCKET, &item,
			    err);
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
		if (rc == 0 && take_bucket(b, &bucket, err) < 0) {
			rc = -1;
			break;
		}
		arena_reset(&b->arena, mark);
	}
	bucket_scan_done(&scan);
	return rc < 0 ? rc : 0;
}

/* All together */

/* What a bucket says, also a deleted one. 1: there is none. */
static int read_bucket(struct building *b, uint64_t oid, struct attrs *header, struct attrs *body,
		       struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	int rc = bucket_scan_init(&scan, b->buckets, oid << bucket_shift(b->buckets), 0, err);
	if (rc < 0)
		return -1;
	rc = bucket_scan_next(&scan, &bucket, err);
	if (rc == 0)
		rc = bucket_decode(b->packer, bucket.type, arena_str(&b->arena, bucket.data),
				   &b->arena, header, body, err);
	bucket_scan_done(&scan);
	return rc;
}

/* Followers hear of it. The URL is in the bucket. */
static int tell_change(struct building *b, const struct index_item *item, uint64_t oid,
		       enum change_op op, const char *reason, struct err *err)
{
	struct attrs header = {0}, body = {0};
	struct arena_mark mark = arena_mark(&b->arena);
	int rc = op == CHANGE_DELETE ? read_bucket(b, oid, &header, &body, err)
				     : bucket_get(b->buckets, b->packer, (uint32_t)oid, &b->arena,
						  &header, &body, err);
	struct str url = rc == 0 ? attrs_get(&header, 'U') : STR("");
	if (rc == 0 && !url.p)
		url = attrs_get(&body, 'U');
	struct change change = {.fp = item->fp,
				.time_us = op == CHANGE_DELETE ? b->now_us
							       : item->last_seen_s * US_PER_S,
				.op = op,
				.by = PHASE_RECOVER,
				.url = url.p ? url : STR(""),
				.reason = str_of(reason)};
	if (rc == 0)
		rc = state_change(b->st, &change, err);
	arena_reset(&b->arena, mark);
	return rc < 0 ? rc : 0;
}

/* The site of a URL, known again by the bucket where it is not. */
static struct site *site_of(struct building *b, const struct index_item *item)
{
	struct site *site = sites_get(b->sites, item->fp.site);
	struct attrs header = {0}, body = {0};
	struct bucket bucket;
	struct url url;
	struct err ignored;
	bool is_new;
	if (site || !index_item_has_bucket(item) ||
	    bucket_read(b->buckets, (uint32_t)item->where, &bucket, &ignored) != 0)
		return site;
	struct arena_mark mark = arena_mark(&b->arena);
	/* the header may be all that can be read of it */
	if ((bucket_decode(b->packer, bucket.type, bucket.data, &b->arena, &header, &body,
			   &ignored) == 0 ||
	     bucket_header(bucket.type, bucket.data, &b->arena, &header, NULL, &ignored) == 0) &&
	    url_of(b, &header, &body, &url))
		site = sites_put(b->sites, url_site(&url), &is_new);
	arena_reset(&b->arena, mark);
	return site;
}

static void count_site(struct building *b, const struct index_item *item)
{
	struct site *site = site_of(b, item);
	if (!site || !index_item_is_page(item))
		return;
	bool sleeps = item->type == ITEM_SLEEPING || item->type == ITEM_ZOMBIE;
	site->active += !sleeps;
	site->inactive += sleeps;
	site->gathered += item->type == ITEM_GATHERED;
	site->fresh += item->type == ITEM_NEW;
}

/* How the URL stands by its last bucket. */
enum standing { BUCKET_NONE, BUCKET_THERE, BUCKET_BLOTTED };
static enum standing bucket_of(const struct evidence *e)
{
	const struct index_item *there = &e->item[EVIDENCE_BUCKET],
				*deleted = &e->item[EVIDENCE_DELETED];
	if (!e->has[EVIDENCE_BUCKET])
		return e->has[EVIDENCE_DELETED] ? BUCKET_BLOTTED : BUCKET_NONE;
	return e->has[EVIDENCE_DELETED] && deleted->where > there->where ? BUCKET_BLOTTED
									 : BUCKET_THERE;
}

/* Followers can be told only where a deleted bucket or a journal still says its URL. */
static int rebuild_forget(struct building *b, const struct index_item *known,
			  const struct evidence *e, struct err *err)
{
	bool by_hand = e->has[EVIDENCE_DELETED];
	if (!index_item_is_page(known))
		return 1; /* robots.txt is asked for again */
	const struct gone gone = {known->fp, b->now_us, by_hand ? GONE_HAND : GONE_UNKNOWN};
	if (by_hand && known->type == ITEM_GATHERED &&
	    tell_change(b, known, e->item[EVIDENCE_DELETED].where, CHANGE_DELETE,
			"its bucket was deleted", err) < 0)
		return -1;
	if (!by_hand && (known->type == ITEM_GATHERED || known->flags & ITEM_INITIAL))
		*orphans_put(&b->orphans, known->fp) = *known;
	return state_gone(b->st, &gone, err) < 0 ? -1 : 1;
}

/* What came of the last try, where the index does not know it yet. */
static void apply_tried(const struct index_item *tried, struct index_item *ret)
{
	if (tried->last_seen_s <= ret->last_seen_s)
		return;
	ret->type = tried->type;
	ret->code = tried->code;
	ret->last_seen_s = tried->last_seen_s;
	ret->due_s = tried->due_s;
	ret->no_target = tried->no_target;
	ret->flags |= tried->flags;
	ret->retry = 0;
}

static bool was_forgotten(const struct evidence *e, const struct index_item *item)
{
	uint32_t alive_s = MAX(item->last_seen_s, e->item[EVIDENCE_BUCKET].last_seen_s);
	return (e->has[EVIDENCE_GONE] && e->item[EVIDENCE_GONE].last_seen_s > alive_s) ||
	       (e->has[EVIDENCE_TOLD] && e->item[EVIDENCE_TOLD].last_seen_s >= alive_s);
}

/* A URL with a bucket. known: what an index says of it, or NULL. */
static int rebuild_revive(struct building *b, const struct index_item *known,
			  const struct evidence *e, struct index_item *ret, struct err *err)
{
	const struct index_item *bucket = &e->item[EVIDENCE_BUCKET];
	bool newer = bucket->type == ITEM_GATHERED &&
		     (!known || known->last_seen_s < bucket->last_seen_s);
	ret->where = bucket->where;
	ret->flags = (uint8_t)((ret->flags & ~ITEM_CONTRIB) | bucket->flags);
	if (newer && bucket->last_seen_s >= ret->last_seen_s) {
		ret->type = ITEM_GATHERED;
		ret->last_seen_s = ret->stable_s = bucket->last_seen_s;
		ret->retry = 0;
	}
	if (bucket->type == ITEM_NEW && ret->last_seen_s &&
	    ret->last_seen_s < bucket->last_seen_s) { /* it became known again since */
		ret->type = ITEM_NEW;
		ret->last_seen_s = ret->due_s = 0;
		ret->code = 0;
		ret->retry = 0;
	}
	if (ret->stable_s == 0)
		ret->stable_s = bucket->type == ITEM_GATHERED ? bucket->last_seen_s : 0;
	if (!index_item_is_page(ret))
		return 0; /* followers know nothing of it */
	if (newer && ret->type == ITEM_GATHERED) {
		b->newer++;
		return tell_change(b, ret, ret->where, CHANGE_UPDATE, "found in the bucket file",
				   err);
	}
	if (known && known->type == ITEM_GATHERED && ret->type != ITEM_GATHERED)
		return tell_change(b, ret, ret->where, CHANGE_DELETE, "found in the journal", err);
	return 0;
}

static int rebuild_decide(void *ctx, const struct index_news *about, struct index_item *ret,
			  struct err *err)
{
	struct building *b = ctx;
	struct evidence e;
	if (evidence_read(about, &e, err) < 0)
		return -1;
	const struct index_item *known = e.has[EVIDENCE_INDEX] ? &e.item[EVIDENCE_INDEX] : NULL;
	if (known) {
		*ret = *known;
	} else {
		ret->since_day = (uint16_t)(b->now_us / US_PER_S / DAY_S);
		ret->weight = 128;
		ret->type = ITEM_NEW;
	}
	if (e.has[EVIDENCE_JOURNAL])
		apply_tried(&e.item[EVIDENCE_JOURNAL], ret);
	enum standing bucket = bucket_of(&e);
	if (was_forgotten(&e, ret) || (!known && bucket != BUCKET_THERE)) {
		b->forgotten += bucket == BUCKET_THERE;
		return 1;
	}
	if (bucket != BUCKET_THERE && index_item_has_bucket(known)) {
		b->lost++; /* and with the bucket the URL itself */
		return rebuild_forget(b, known, &e, err);
	}
	if (bucket == BUCKET_THERE && rebuild_revive(b, known, &e, ret, err) < 0)
		return -1;
	count_site(b, ret);
	return 0;
}

/* A URL that lost its bucket to damage is known again by the next merge, as if it had just been
 * found; until it is gathered, followers have it no more. */
static int bring_back(struct building *b, const struct journal_entry *e, struct err *err)
{
	const struct index_item *known = orphans_get(&b->orphans, e->fp);
	if (!known || e->url.n == 0)
		return 0;
	struct contrib c = {.fp = e->fp,
			    .flags = known->flags & ITEM_INITIAL,
			    .weight = known->weight,
			    .section = known->section,
			    .url = e->url};
	struct change change = {.fp = e->fp,
				.time_us = b->now_us,
				.op = CHANGE_DELETE,
				.by = PHASE_RECOVER,
				.url = e->url,
				.reason = STR("its bucket is damaged")};
	if (state_contrib(b->st, &c, NULL, err) < 0 ||
	    (known->type == ITEM_GATHERED && state_change(b->st, &change, err) < 0))
		return -1;
	b->back++;
	orphans_remove(&b->orphans, e->fp);
	return 0;
}

/* Makes all changes durable before the new index is in place: after an interruption that index
 * would know everything, and followers would be told nothing. Telling them twice does no harm. */
static int rebuild_keep_told(struct building *b, struct err *err)
{
	if (orphans_count(&b->orphans) && rebuild_read_journals(b, bring_back, err) < 0)
		return -1;
	return state_checkpoint(b->st, b->buckets, b->now_us, err);
}

static int rebuild_all(struct building *b, struct err *err)
{
	struct url_index_writer *w;
	if (states_list(b->st->s, 0, &b->arena, &b->list, &b->n, err) < 0)
		return -1;
	while (b->n && strcmp(b->list[b->n - 1].name, b->st->name) > 0)
		b->n--;
	if (rebuild_save_sites(b, err) < 0 || evidence_sort(&b->found, b->st->folder, err) < 0 ||
	    rebuild_read_indexes(b, b->n, err) < 0 ||
	    rebuild_read_journals(b, rebuild_add_tried, err) < 0 || rebuild_read_gone(b, err) < 0 ||
	    rebuild_each_state(b, rebuild_add_told, err) < 0 || take_buckets(b, err) < 0)
		return -1;
	struct site *const *site = sites_sorted(b->sites);
	for (size_t i = 0; i < sites_count(b->sites); i++)
		site[i]->active = site[i]->inactive = site[i]->gathered = site[i]->fresh = 0;
	if (state_index_create(b->st, &w, err) < 0)
		return -1;
	const struct news_source found = news_of_sort(b->found);
	if (url_index_apply(NULL, &found, 1 << 20, NULL, rebuild_decide, b, w, err) < 0 ||
	    rebuild_keep_told(b, err) < 0) {
		url_index_drop(&w);
		return -1;
	}
	return state_index_put(b->st, &w, err) < 0 ? -1 : state_sites_put(b->st, b->sites, err);
}

enum phase recover_done(const struct state *st)
{
	return st->last.contrib ? PHASE_CORKED : PHASE_CLOSED;
}

int rebuild_index(struct state *st, int64_t now_us, struct recovery *r, struct err *err)
{
	struct building b = {.st = st,
			     .r = r,
			     .arena = ARENA_INIT(SIZE_MAX),
			     .now_us = now_us,
			     .robots = footprint_path(STR("/robots.txt"))};
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	char *objects = states_path(st->s, &b.arena, "objects");
	int rc = bucket_open(&b.buckets, objects, &options, err);
	b.packer = bucket_packer_new(bucket_dict_path(&b.arena, objects));
	if (rc == 0)
		rc = rebuild_all(&b, err);
	if (rc == 0)
		rc = state_enter(st, recover_done(st), b.buckets, now_us, err);
	if (rc == 0) {
		r->rebuilt++;
		recovery_tell(r,
			      "%s: index made again from %" PRIu64 " buckets; %" PRIu64
			      " newer than the old one, %" PRIu64
			      " URLs lost their bucket, of which %" PRIu64
			      " are asked for again, %" PRIu64 " stay forgotten",
			      st->name, b.seen, b.newer, b.lost, b.back, b.forgotten);
	}
	sort_free(&b.found);
	sites_free(&b.sites);
	orphans_free(&b.orphans);
	bucket_packer_free(&b.packer);
	bucket_drop(&b.buckets);
	arena_free(&b.arena);
	return rc;
}
