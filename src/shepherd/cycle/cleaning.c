/* cleanup: the bucket file is freed of what no URL needs, and the index of URLs that nobody wants.
 *
 * Items are sorted by footprint, buckets lie in the order in which they were written. So items are
 * sorted by the numbers of their buckets, and the file is read once in step with them; that gives a
 * verdict on each, and the sizes from which follows which weights have to go. What is kept is
 * sorted by footprint again and written down, with everything that is told, before the file is
 * shaken down: that is the moment from which the cleanup counts (doc/decisions/shepherd.md). All
 * that grows with the crawl is in the sorts. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "shepherd/reap/recording.h"
#include "shepherd/servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	NUMBER = 4,                                      /* of a bucket, so that bytes sort as it */
	NOTED = NUMBER + INDEX_ITEM + 8 + 4 + 4 + 1 + 1, /* a struct noted in a sort */
	FATE = NUMBER + 1,                               /* a bucket that stays, in a sort */
	TOLD_MOST = 1 << 20,
	WEIGHTS = 256,
	STOP_EVERY = 4096,
};

/* An item on its way. */
struct noted {
	uint32_t number; /* of its bucket */
	struct index_item item;
	struct filter_where where;
	uint32_t bytes; /* of its bucket, after the cleanup */
	bool missing;   /* it should have a bucket, and has none */
	bool trim;      /* the bucket loses its body */
};

struct cleaning {
	struct state *st;
	const struct crawl *crawl;
	struct sort *by_number, *kept, *by_footprint, *fates;
	struct buf record, thin;
	struct arena arena; /* of one bucket */
	uint8_t last_section;
	uint64_t head;              /* bytes of the file that tell its shift */
	uint64_t total;             /* bytes of the buckets that are kept */
	uint64_t weighs[WEIGHTS];   /* of these, those that may go, by the weight of their URL */
	uint64_t bytes[2], urls[2]; /* of thin buckets and of gathered pages */
	unsigned cut_weight;        /* URLs that weigh less go... */
	uint64_t cut_bytes;         /* ...and this many bytes of those that weigh the same */
	uint64_t types[ITEM_TYPES];
	struct str fate; /* the next bucket that stays; p NULL: none */
	uint64_t done;
	bool stopped;
	struct cleaned_up *ret;
};

static bool clean_is_stopped(struct cleaning *c)
{
	if (c->done++ % STOP_EVERY == 0)
		c->stopped = crawl_is_stopped(c->crawl);
	return c->stopped;
}

/* Items in sorts */

static int note_add(struct cleaning *c, struct sort *to, const struct noted *n, struct err *err)
{
	unsigned char item[INDEX_ITEM];
	buf_clear(&c->record);
	put_u32be(&c->record, n->number);
	index_item_write(&n->item, item);
	buf_add_str(&c->record, (struct str){(const char *)item, sizeof item});
	put_u64le(&c->record, n->where.qkey);
	put_u32le(&c->record, (uint32_t)n->where.key_sites);
	put_u32le(&c->record, n->bytes);
	put_u8(&c->record, (uint8_t)(n->where.known | n->missing << 1));
	put_u8(&c->record, n->trim);
	return sort_add(to, buf_str(&c->record), err);
}

/* 1: there are no more. */
static int note_next(struct sort *from, struct noted *ret, struct err *err)
{
	struct str rec;
	int rc = sort_next(from, &rec, err);
	if (rc)
		return rc;
	struct reader r = reader_of(rec);
	*ret = (struct noted){.number = reader_u32be(&r)};
	struct str item = reader_bytes(&r, INDEX_ITEM);
	ret->where.qkey = reader_u64le(&r);
	ret->where.key_sites = reader_u32le(&r);
	ret->bytes = reader_u32le(&r);
	uint8_t bits = reader_u8(&r);
	ret->where.known = bits & 1;
	ret->missing = bits & 2;
	ret->trim = reader_u8(&r);
	return index_item_read((const unsigned char *)item.p, &ret->item, err);
}

static int clean_open_sorts(struct cleaning *c, struct err *err)
{
	const struct order by_number = {.size = NOTED, .key_len = NUMBER};
	const struct order by_footprint = {
		.size = NOTED, .key_at = NUMBER, .key_len = FOOTPRINT_KEY};
	const struct order fates = {.size = FATE, .key_len = NUMBER};
	const struct {
		struct sort **sort;
		const struct order *order;
	} all[] = {{&c->by_number, &by_number},
		   {&c->kept, &by_number},
		   {&c->by_footprint, &by_footprint},
		   {&c->fates, &fates}};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (crawl_sort_new(all[i].sort, c->crawl, c->st, *all[i].order, err) < 0)
			return -1;
	return 0;
}

/* Telling */

/* url.n 0: followers do not have it. */
static int clean_tell_gone(struct cleaning *c, const struct index_item *item,
			   enum gone_reason reason, struct str url, const char *why,
			   struct err *err)
{
	struct gone gone = {item->fp, c->crawl->now_us, reason};
	struct change change = {.fp = item->fp,
				.time_us = c->crawl->now_us,
				.op = CHANGE_DELETE,
				.by = PHASE_CLEANUP,
				.forgotten = true,
				.url = url,
				.reason = str_of(why)};
	if (state_gone(c->st, &gone, err) < 0)
		return -1;
	return url.n ? state_change(c->st, &change, err) : 0;
}

static void clean_set_section(struct cleaning *c, struct index_item *item, uint8_t by_filter)
{
	c->ret->resectioned += by_filter != item->section;
	item->section = by_filter;
}

/* First, all items: those with buckets in the order of these. */

static int clean_take_item(struct cleaning *c, struct noted *n, struct err *err)
{
	bool has = index_item_has_bucket(&n->item);
	n->missing = !has && index_item_is_page(&n->item) && !(n->item.flags & ITEM_CONTRIB);
	if (!has)
		return note_add(c, c->by_footprint, n, err);
	n->number = n->item.where < BUCKET_SPECIAL ? (uint32_t)n->item.where : BUCKET_DELETED;
	return note_add(c, c->by_number, n, err);
}

static int clean_take_items(struct cleaning *c, struct err *err)
{
	CLEANUP(url_index_scan_free) struct url_index_scan *items = NULL;
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	CLEANUP(servers_free) struct servers *servers = NULL;
	const struct url_index *index;
	const struct site *site;
	struct noted n = {0};
	struct server room;
	uint64_t site_fp = 0;
	bool first = true;
	if (state_index(c->st, &index, err) < 0 ||
	    url_index_scan(&items, index, (struct footprint){0}, err) < 0 ||
	    state_sites_scan(c->st, &sites, err) < 0 ||
	    servers_load(&servers, c->st, c->crawl, err) < 0)
		return -1;
	int rc;
	while ((rc = url_index_next(items, &n.item, err)) == 0 && !clean_is_stopped(c)) {
		if (first || n.item.fp.site != site_fp) {
			rc = sites_scan_find(sites, n.item.fp.site, &site, err);
			if (rc < 0)
				return -1;
			n.where = (struct filter_where){.known = rc == 0};
			if (rc == 0)
				n.where = (struct filter_where){
					site->qkey, servers_of(servers, site, &room)->sites, true};
			site_fp = n.item.fp.site;
			first = false;
		}
		if (clean_take_item(c, &n, err) < 0)
			return -1;
	}
	return rc < 0 || c->stopped ? -1 : 0;
}

/* Second, all buckets: each item meets its own. */

/* What is left of a bucket without its body, in c->thin. 1: it stays as it is. */
static int clean_trim(struct cleaning *c, const struct bucket *bucket, uint32_t *ret_type,
		      struct err *err)
{
	struct attrs header = {0}, thin = {0}, body = {0};
	struct str rest;
	if (bucket_header(bucket->type, bucket->data, &c->arena, &header, &rest, err) < 0)
		return -1;
	struct str fp = attrs_get(&header, 'O'), url = attrs_get(&header, 'U');
	struct str since = attrs_get(&header, 'D');
	if (rest.n == 0 || fp.n == 0 || url.n == 0 || url.n > URL_MAX)
		return 1;
	attrs_add(&thin, &c->arena, 'O', fp);
	attrs_add(&thin, &c->arena, 'U', url);
	attrs_add(&thin, &c->arena, BUCKET_ADDED, since.n ? since : STR("0"));
	buf_clear(&c->thin);
	return bucket_encode(NULL, &thin, &body, &c->thin, ret_type, err);
}

static void clean_measure(struct cleaning *c, const struct noted *n)
{
	bool gathered = n->item.type == ITEM_GATHERED;
	c->bytes[gathered] += n->bytes;
	c->urls[gathered]++;
	c->total += n->bytes;
	if (!(n->item.flags & ITEM_SACRED))
		c->weighs[n->item.weight] += n->bytes;
}

/* An item that has its bucket. */
static int clean_judge(struct cleaning *c, struct noted *n, const struct bucket *bucket,
		       const struct attrs *header, struct err *err)
{
	char room[URL_MAX];
	struct url url;
	struct filter_url says = {.section = c->last_section};
	struct str text = attrs_get(header, 'U');
	bool by_hand = n->item.flags & ITEM_INITIAL;
	n->bytes = (uint32_t)(bucket->next - bucket->at);
	if (!index_item_is_page(&n->item)) {
		c->total += n->bytes;
		return note_add(c, c->kept, n, err);
	}
	if (url_parse(text, NULL, room, sizeof room, &url) == 0) {
		struct filter_where where = n->where;
		where.known |= by_hand;
		filter_url(c->crawl->filter, &url, attrs_get(header, 'T'), &where, &says);
	}
	if (says.reject && !by_hand) {
		bool told = n->item.type == ITEM_GATHERED;
		c->ret->rejected++;
		return clean_tell_gone(c, &n->item, GONE_FILTER, told ? text : STR(""),
				       "the filter rejects it", err);
	}
	clean_set_section(c, &n->item, says.section);
	if (n->item.type == ITEM_SLEEPING) {
		uint32_t type;
		int rc = clean_trim(c, bucket, &type, err);
		if (rc < 0)
			return -1;
		n->trim = rc == 0;
		if (n->trim)
			n->bytes = (uint32_t)bucket_bytes(c->crawl->buckets, c->thin.n);
	}
	clean_measure(c, n);
	return note_add(c, c->kept, n, err);
}

/* robots.txt without its bucket was never asked for. */
static int clean_miss(struct cleaning *c, struct noted *n, struct err *err)
{
	if (!index_item_is_page(&n->item)) {
		n->item.where = ITEM_NOWHERE;
		n->item.type = ITEM_NEW;
		n->item.last_seen_s = n->item.due_s = 0;
		n->item.code = 0;
		return note_add(c, c->by_footprint, n, err);
	}
	n->missing = true;
	return note_add(c, c->by_footprint, n, err);
}

/* All items that name this bucket; the first that does not is in *n. 1: there are no more. */
static int clean_meet(struct cleaning *c, const struct bucket *bucket, struct noted *n,
		      struct err *err)
{
	struct attrs header = {0};
	struct footprint fp;
	bool deleted = bucket->deleted;
	int rc = 0;
	while (rc == 0 && n->number < bucket->oid)
		rc = clean_miss(c, n, err) < 0 ? -1 : note_next(c->by_number, n, err);
	arena_clear(&c->arena);
	if (rc == 0 && n->number == bucket->oid && !deleted)
		rc = bucket_header(bucket->type, bucket->data, &c->arena, &header, NULL, err);
	struct str o = attrs_get(&header, 'O');
	while (rc == 0 && n->number == bucket->oid) {
		/* those of old versions do not tell whose they are */
		bool others =
			deleted ||
			(o.p && !(footprint_parse(o, &fp) && footprint_cmp(fp, n->item.fp) == 0));
		rc = others ? clean_miss(c, n, err) : clean_judge(c, n, bucket, &header, err);
		if (rc == 0)
			rc = note_next(c->by_number, n, err);
	}
	return rc;
}

static int clean_scan_buckets(struct cleaning *c, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	struct noted n;
	int rc, more = note_next(c->by_number, &n, err);
	if (more < 0 || bucket_scan_init(&scan, c->crawl->buckets, 0, 0, err) < 0)
		return -1;
	while ((rc = bucket_scan_next(&scan, &bucket, err)) == 0) {
		if (clean_is_stopped(c))
			rc = -1;
		else if (more == 0)
			rc = more = clean_meet(c, &bucket, &n, err);
		if (rc < 0)
			break;
	}
	bucket_scan_done(&scan);
	if (rc < 0)
		return -1;
	while (more == 0)
		more = clean_miss(c, &n, err) < 0 ? -1 : note_next(c->by_number, &n, err);
	return MIN(more, 0);
}

/* Third, what has to go so that the file fits. */

/* So much more that the crawl can go on for a while before the next cleanup. */
static void clean_set_cut(struct cleaning *c)
{
	const struct crawl_conf *conf = c->crawl->conf;
	uint64_t fits = conf->bucket_file_size - conf->bucket_file_size / 32;
	uint64_t size = c->head + c->total;
	c->cut_bytes = crawl_file_is_full(conf, size) ? size - fits : 0;
	while (c->cut_weight < WEIGHTS && c->cut_bytes > c->weighs[c->cut_weight])
		c->cut_bytes -= c->weighs[c->cut_weight++];
}

/* Of those that weigh the same the oldest buckets go first. */
static bool clean_is_cut(struct cleaning *c, const struct noted *n)
{
	if (n->item.flags & ITEM_SACRED || n->item.weight > c->cut_weight)
		return false;
	if (n->item.weight < c->cut_weight)
		return true;
	bool cut = c->cut_bytes > 0;
	c->cut_bytes -= MIN(c->cut_bytes, n->bytes);
	return cut;
}

static int clean_cut(struct cleaning *c, const struct noted *n, struct err *err)
{
	struct str url = {0};
	arena_clear(&c->arena);
	if (n->item.type == ITEM_GATHERED &&
	    crawl_url_of(c->crawl, c->st, &n->item, &c->arena, &url, err) < 0)
		return -1;
	c->total -= n->bytes;
	c->ret->ranked++;
	return clean_tell_gone(c, &n->item, GONE_RANK, url, "others are worth more", err);
}

static int clean_stay(struct cleaning *c, const struct noted *n, struct err *err)
{
	buf_clear(&c->record);
	put_u32be(&c->record, n->number);
	put_u8(&c->record, n->trim);
	return sort_add(c->fates, buf_str(&c->record), err);
}

static int clean_keep_items(struct cleaning *c, struct err *err)
{
	struct noted n;
	int rc;
	clean_set_cut(c);
	while ((rc = note_next(c->kept, &n, err)) == 0) {
		if (clean_is_stopped(c))
			return -1;
		if (clean_is_cut(c, &n))
			rc = clean_cut(c, &n, err);
		else
			rc = clean_stay(c, &n, err) < 0 ? -1
							: note_add(c, c->by_footprint, &n, err);
		if (rc < 0)
			return -1;
	}
	return MIN(rc, 0);
}

/* Fourth, what is kept becomes an index. */

/* Without its bucket nobody knows the URL, unless it is the front page of a site: that gets a new
 * bucket, and is gathered again. 1: the URL is forgotten. */
static int clean_revive(struct cleaning *c, struct sites_scan *sites, struct noted *n,
			struct err *err)
{
	char text[FOOTPRINT_TEXT], number[16] = "none";
	const struct site *site;
	bool root = n->item.fp.path == footprint_path(STR("/"));
	int rc = root ? sites_scan_find(sites, n->item.fp.site, &site, err) : 1;
	if (rc < 0)
		return -1;
	c->ret->missing++;
	if (n->item.where != ITEM_NOWHERE)
		snprintf(number, sizeof number, "%08" PRIx64, n->item.where);
	buf_printf(&c->ret->told, "%s: its bucket (%s) is missing; it is %s\n",
		   footprint_print(n->item.fp, text), number,
		   rc == 0 ? "gathered again" : "forgotten");
	if (rc == 1)
		return clean_tell_gone(c, &n->item, GONE_UNKNOWN, STR(""), "", err) < 0 ? -1 : 1;
	struct index_item *item = &n->item;
	uint64_t at = bucket_length(c->crawl->buckets);
	arena_clear(&c->arena);
	struct str url = thin_root(site, &c->arena);
	int64_t since_s = item->since_day * US_PER_DAY / US_PER_S;
	if (thin_put(c->crawl->buckets, item->fp, url, since_s, &c->arena, &n->number, err) < 0)
		return -1;
	c->total += bucket_length(c->crawl->buckets) - at;
	item->where = n->number;
	if (item->type == ITEM_GATHERED) {
		item->type = ITEM_NEW;
		item->retry = 0;
		item->due_s = 0;
	}
	clean_set_section(c, item, c->last_section);
	return clean_stay(c, n, err);
}

static int clean_write_items(struct cleaning *c, struct url_index_writer *w, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	struct noted n;
	int rc = state_sites_scan(c->st, &sites, err);
	while (rc == 0 && (rc = note_next(c->by_footprint, &n, err)) == 0) {
		int gone = n.missing ? clean_revive(c, sites, &n, err) : 0;
		if (gone < 0 || clean_is_stopped(c))
			return -1;
		if (gone == 1)
			continue;
		c->types[index_item_counts_as(&n.item)]++;
		url_index_put(w, &n.item);
	}
	return MIN(rc, 0);
}

static int clean_write_index(struct cleaning *c, struct err *err)
{
	struct url_index_writer *w = NULL;
	if (state_index_create(c->st, &w, err) < 0)
		return -1;
	if (clean_write_items(c, w, err) < 0) {
		url_index_drop(&w);
		return -1;
	}
	return state_index_keep(c->st, &w, err);
}

/* What was measured, and the names of the sections as the index has them now. */
static int clean_write_params(struct cleaning *c, struct err *err)
{
	struct state_course course = state_params(c->st)->course;
	memcpy(course.urls, c->types, sizeof course.urls);
	crawl_sections(c->crawl->filter, course.sections);
	course.cleaned_s = (uint64_t)(c->crawl->now_us / US_PER_S);
	course.cleaned_bytes = c->head + c->total;
	course.url_bytes = c->urls[0] ? c->bytes[0] / c->urls[0] : 0;
	course.bucket_bytes = c->urls[1] ? c->bytes[1] / c->urls[1] : 0;
	return state_params_put(c->st, &course, err);
}

/* Fifth, the buckets. */

static int fate_step(struct cleaning *c, struct err *err)
{
	int rc = sort_next(c->fates, &c->fate, err);
	if (rc == 1)
		c->fate = (struct str){0};
	return MIN(rc, 0);
}

static uint32_t fate_number(const struct cleaning *c)
{
	struct reader r = reader_of(c->fate);
	return reader_u32be(&r);
}

static int fate_decide(void *ctx, const struct bucket *old, uint32_t new_oid,
		       struct bucket_fate *ret, struct err *err)
{
	struct cleaning *c = ctx;
	(void)new_oid;
	if (clean_is_stopped(c))
		return err_set(err, ERR_BUSY, "stopped");
	while (c->fate.p && fate_number(c) < old->oid)
		if (fate_step(c, err) < 0)
			return -1;
	if (!c->fate.p || fate_number(c) != old->oid)
		return 1;
	if (!c->fate.p[NUMBER])
		return 0;
	arena_clear(&c->arena);
	int rc = clean_trim(c, old, &ret->type, err);
	if (rc == 0) {
		ret->data = buf_str(&c->thin);
		c->ret->trimmed++;
	}
	return MIN(rc, 0);
}

static int clean_shake(struct cleaning *c, struct err *err)
{
	struct bucket_shaken shaken;
	if (fate_step(c, err) < 0 ||
	    bucket_shakedown(c->crawl->buckets, fate_decide, c, &shaken, err) < 0)
		return -1;
	FAULT("cleanup.shaken");
	c->ret->before = shaken.before;
	c->ret->after = shaken.after;
	c->ret->dropped = shaken.dropped + shaken.deleted;
	return state_renumber(c->st, NULL, err);
}

static int clean_all(struct cleaning *c, struct err *err)
{
	unsigned shift = bucket_shift(c->crawl->buckets);
	size_t sections;
	c->head = shift == BUCKET_SHIFT ? 0 : bucket_bytes(c->crawl->buckets, 0);
	(void)filter_sections(c->crawl->filter, &sections);
	c->last_section = (uint8_t)(sections - 1);
	if (clean_open_sorts(c, err) < 0 || clean_take_items(c, err) < 0 ||
	    clean_scan_buckets(c, err) < 0 || clean_keep_items(c, err) < 0 ||
	    clean_write_index(c, err) < 0 || clean_write_params(c, err) < 0)
		return -1;
	FAULT("cleanup.written");
	/* there is no way back after the shakedown: followers' changes must be durable first */
	if (state_checkpoint(c->st, c->crawl->buckets, c->crawl->now_us, err) < 0)
		return -1;
	FAULT("cleanup.kept");
	return clean_shake(c, err);
}

int crawl_cleanup(struct state *st, const struct crawl *crawl, struct cleaned_up *ret,
		  struct err *err)
{
	struct cleaned_up cleaned = {.told = BUF_INIT(TOLD_MOST)};
	struct cleaning c = {.st = st,
			     .crawl = crawl,
			     .record = BUF_INIT(NOTED),
			     .thin = BUF_INIT(1 << 20),
			     .arena = ARENA_INIT(BUCKET_ARENA),
			     .ret = &cleaned};
	int rc = clean_all(&c, err);
	sort_free(&c.by_number);
	sort_free(&c.kept);
	sort_free(&c.by_footprint);
	sort_free(&c.fates);
	buf_free(&c.record);
	buf_free(&c.thin);
	arena_free(&c.arena);
	if (rc == 0)
		*ret = cleaned;
	else
		buf_free(&cleaned.told);
	return rc < 0 && c.stopped ? 1 : rc;
}
