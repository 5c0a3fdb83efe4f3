/* record: makes buckets for new URLs and drops notes on sites that are no longer needed.
 *
 * An item says where its contribution lies, but going there one by one would be a seek for each
 * new URL. So the contributions are sorted by footprint, as merge did before, and come along in the
 * one pass over the index. Of several of one footprint any will do: they have the same URL, of
 * which the footprint is made. */
#include "shepherd/reap/recording.h"

#include "base/clock.h"
#include "bucket/bucket_attrs.h"

int thin_put(struct buckets *b, struct footprint fp, struct str url, int64_t since_s,
	     struct arena *arena, uint32_t *ret_oid, struct err *err)
{
	struct attrs header = {0}, body = {0};
	attrs_add(&header, arena, 'O', crawl_digits(fp, arena));
	attrs_add(&header, arena, 'U', url);
	attrs_add(&header, arena, BUCKET_ADDED, crawl_number(arena, since_s));
	return bucket_put(b, NULL, &header, &body, ret_oid, err);
}

struct str thin_root(const struct site *site, struct arena *arena)
{
	char room[URL_SITE_MAX + 16];
	struct str root = url_site_print(site_name(site), room, sizeof room);
	return str_of(arena_printf(arena, STR_FMT "/", STR_ARG(root)));
}

struct recording {
	const struct crawl *crawl;
	struct sites_scan *sites;
	struct arena arena;
	int64_t since_s;
	uint64_t made;
};

/* The URL of an item without a bucket, in the arena or the news. */
static int record_find_url(struct recording *r, const struct index_news *about,
			   const struct index_item *item, struct str *ret, struct err *err)
{
	char text[FOOTPRINT_TEXT];
	const struct site *site;
	uint64_t place;
	if (item->where == ITEM_NOWHERE) {
		int rc = sites_scan_find(r->sites, item->fp.site, &site, err);
		if (rc == 0)
			*ret = thin_root(site, &r->arena);
		return rc <= 0 ? rc
			       : err_set(err, ERR_DAMAGED, "the site of the new URL %s is lost",
					 footprint_print(item->fp, text));
	}
	*ret = STR("");
	if (about->n)
		*ret = str_from(crawl_placed(about->news[0], &place), FOOTPRINT_KEY);
	return ret->n ? 0
		      : err_set(err, ERR_DAMAGED, "the contribution of the new URL %s is lost",
				footprint_print(item->fp, text));
}

/* A note on a queue key or a robots.txt. 1: it goes. */
static int record_judge_note(struct recording *r, const struct index_item *item, struct err *err)
{
	const struct site *site;
	int rc = sites_scan_find(r->sites, item->fp.site, &site, err);
	if (rc)
		return rc;
	return item->type == ITEM_QKEY && !site->qkey;
}

static int record_item(void *ctx, const struct index_news *about, struct index_item *ret,
		       struct err *err)
{
	struct recording *r = ctx;
	struct str url;
	uint32_t oid;
	if (!about->old)
		return 1; /* a contribution that merge or select did not want */
	if (!index_item_is_page(ret))
		return record_judge_note(r, ret, err);
	if (!(ret->flags & ITEM_CONTRIB))
		return 0;
	arena_clear(&r->arena);
	if (record_find_url(r, about, ret, &url, err) < 0 ||
	    thin_put(r->crawl->buckets, ret->fp, url, r->since_s, &r->arena, &oid, err) < 0)
		return -1;
	ret->where = oid;
	ret->flags &= (uint8_t)~ITEM_CONTRIB;
	r->made++;
	return 0;
}

/* The footprint and the URL; of a contribution that cannot be read, the footprint alone. */
static void record_take(struct str payload, struct buf *out)
{
	struct contrib c = {0};
	struct err ignored;
	(void)contrib_read(payload, &c, &ignored);
	buf_add_str(out, str_head(payload, FOOTPRINT_KEY));
	buf_add_str(out, c.url);
}

static void record_unify(void *ctx, struct buf *into, struct str from)
{
	(void)ctx, (void)into, (void)from;
}

int crawl_record(struct state *st, const struct crawl *c, uint64_t *ret_made, struct err *err)
{
	struct recording r = {.crawl = c,
			      .arena = ARENA_INIT(1 << 20),
			      .since_s = state_params(st)->created_us / US_PER_S};
	struct err lost; /* merge has taken no more either, and told why */
	const struct index_still still = {INDEX_TYPES_BUT(ITEM_QKEY), ITEM_CONTRIB | ITEM_ROBOTS};
	const struct crawl_contribs all = {
		.unify = record_unify, .take = record_take, .lost = &lost};
	struct sort *sort = NULL;
	int rc = state_sites_scan(st, &r.sites, err);
	if (rc == 0)
		rc = crawl_sort_contribs(st, c, &all, &sort, err);
	const struct news_source source = news_of_sort(sort);
	const struct crawl_news news = {.source = &source, .still = &still};
	if (rc == 0)
		rc = crawl_rewrite(st, c, &news, record_item, &r, err);
	sort_free(&sort);
	sites_scan_free(&r.sites);
	arena_free(&r.arena);
	if (rc)
		return rc;
	*ret_made = r.made;
	return 0;
}
