/* merge between mirrors. The pages of sites that share a class are sorted by normalised footprint,
 * items and contributions apart: items are many and of one size, which is sorted quickly. The order
 * in a group is part of the keys, so one look at each member decides, and what was decided goes by
 * its own footprint into the news of the pass over the index. All other pages are left alone. */
#include "shepherd/cycle/merging.h"

#include "base/cursor.h"

bool class_is_shared(const struct merging *m, uint64_t norm)
{
	const struct class_of_sites *class = site_classes_get(&m->classes, norm);
	return class && class->sites > 1;
}

/* Those that stand for their class were left out by the survey; they are most. */
static void class_count_head(struct merging *m, uint64_t fp, uint64_t norm)
{
	struct class_of_sites *class = fp == norm ? site_classes_get(&m->classes, norm) : NULL;
	if (class)
		class->sites++;
}

int class_count_sites(struct merging *m, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	struct site site;
	int rc = 0;
	if (site_classes_count(&m->classes) == 0)
		return 0;
	if (state_sites_scan(m->state, &sites, err) < 0)
		return -1;
	while ((rc = sites_scan_next(sites, &site, err)) == 0 && !merge_is_stopped(m))
		class_count_head(m, site.fp, site.norm);
	for (size_t i = 0; i < m->newcomers; i++)
		class_count_head(m, m->newcomer[i].fp, m->newcomer[i].norm);
	TABLE_EACH (site_classes, slot, &m->classes)
		m->shared |= slot->value.sites > 1;
	return rc == 1 ? 0 : -1;
}

/* Members of groups: norm, path, then what decides of two. Of items follow flags and place, of
 * contributions the record. */
enum {
	KEY = FOOTPRINT_KEY,
	ITEM_KEY = KEY + 3 + 8,
	ITEM_SIZE = ITEM_KEY + 1 + 6,
	CONTRIB_KEY = KEY + 2 + 8,
};

struct groups {
	struct merging *m;
	struct url_index_scan *scan;
	struct index_item item; /* the next one of the index */
	bool has_item;
	struct sort *items, *contribs;
	struct buf record;
};

static void put_u64be(struct buf *b, uint64_t v)
{
	put_u32be(b, (uint32_t)(v >> 32));
	put_u32be(b, (uint32_t)v);
}

static int groups_add_item(struct groups *g, const struct index_item *item, uint64_t norm,
			   struct err *err)
{
	struct buf *b = &g->record;
	buf_clear(b);
	put_u64be(b, norm);
	put_u64be(b, item->fp.path);
	put_u8(b, !(item->flags & ITEM_SACRED));
	put_u8(b, item->type == ITEM_ZOMBIE);
	put_u8(b, (uint8_t)~item->weight);
	put_u64be(b, item->fp.site);
	put_u8(b, item->flags);
	put_u32le(b, (uint32_t)item->where);
	put_u16le(b, (uint16_t)(item->where >> 32));
	return sort_add(g->items, buf_str(b), err);
}

static int groups_add_contrib(struct groups *g, const struct contrib *c, uint64_t place,
			      uint64_t norm, struct err *err)
{
	struct buf *b = &g->record;
	buf_clear(b);
	put_u64be(b, norm);
	put_u64be(b, c->fp.path);
	put_u8(b, !(c->flags & ITEM_SACRED));
	put_u8(b, (uint8_t)~merge_weight(g->m, c));
	put_u64be(b, c->fp.site);
	contrib_write(c, b);
	put_u64le(b, place);
	return sort_add(g->contribs, buf_str(b), err);
}

/* Reading the index from one such site to the next */

static int groups_step(struct groups *g, struct err *err)
{
	int rc = merge_is_stopped(g->m) ? -1 : url_index_next(g->scan, &g->item, err);
	g->has_item = rc == 0;
	return MIN(rc, 0);
}

static int groups_go_to(struct groups *g, uint64_t site, struct err *err)
{
	if (!g->has_item || g->item.fp.site >= site)
		return 0;
	return url_index_seek(g->scan, (struct footprint){site, 0}, err) < 0 ? -1
									     : groups_step(g, err);
}

/* A site that shares its class. */
struct mirror {
	uint64_t fp, norm;
	struct filter_where where;
	struct newcomer *newcomer; /* NULL: it is known */
};

/* An item, with what its own contributions do to it. Errors that are dropped decide nothing, and
 * notes on sites are not pages. */
static int mirror_take_item(struct groups *g, const struct mirror *site, struct found *f,
			    struct err *err)
{
	struct index_item item = g->item;
	if (site->newcomer)
		site->newcomer->enters = true;
	if (f->some && footprint_cmp(f->c.fp, item.fp) == 0) {
		(void)merge_touch(g->m, &f->c, &item);
		if (merge_put_found(g->m, f, err) < 0 || found_next(g->m, f, err) < 0)
			return -1;
	}
	if (index_item_is_page(&item) && !merge_is_dropped_error(&item) &&
	    groups_add_item(g, &item, site->norm, err) < 0)
		return -1;
	return groups_step(g, err);
}

static int mirror_take_contrib(struct groups *g, const struct mirror *site, struct found *f,
			       struct err *err)
{
	bool wanted = merge_wants(g->m, &f->c, site->where, &f->c.section);
	g->m->ret->unwanted += !wanted;
	if (wanted && groups_add_contrib(g, &f->c, f->place, site->norm, err) < 0)
		return -1;
	return found_next(g->m, f, err);
}

static int mirror_read(struct groups *g, const struct mirror *site, struct found *f,
		       struct err *err)
{
	int rc = groups_go_to(g, site->fp, err);
	while (rc == 0) {
		bool item = g->has_item && g->item.fp.site == site->fp;
		bool contrib = f->some && f->c.fp.site == site->fp;
		if (!item && !contrib)
			return 0;
		if (item && (!contrib || g->item.fp.path <= f->c.fp.path))
			rc = mirror_take_item(g, site, f, err);
		else
			rc = mirror_take_contrib(g, site, f, err);
	}
	return rc;
}

/* A contribution of a site without mirrors. */
static int groups_pass_found(struct groups *g, struct found *f, struct err *err)
{
	return merge_put_found(g->m, f, err) < 0 ? -1 : found_next(g->m, f, err);
}

static int groups_take_site(struct groups *g, const struct mirror *site, struct found *f,
			    struct err *err)
{
	int rc = 0;
	if (!class_is_shared(g->m, site->norm))
		return 0;
	while (rc == 0 && f->some && f->c.fp.site < site->fp)
		rc = groups_pass_found(g, f, err);
	return rc < 0 ? -1 : mirror_read(g, site, f, err);
}

/* Along the sites, those that are known and newcomers. */
static int groups_read_sites(struct groups *g, struct found *f, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	struct merging *m = g->m;
	struct site site;
	size_t i = 0;
	if (state_sites_scan(m->state, &sites, err) < 0)
		return -1;
	int more = sites_scan_next(sites, &site, err), rc = 0;
	while (rc == 0 && more >= 0 && (more == 0 || i < m->newcomers)) {
		bool is_new = i < m->newcomers && (more || m->newcomer[i].fp < site.fp);
		struct newcomer *n = is_new ? &m->newcomer[i++] : NULL;
		struct mirror mirror = {
			.fp = is_new ? n->fp : site.fp,
			.norm = is_new ? n->norm : site.norm,
			.where = {.qkey = is_new ? 0 : site.qkey, .known = !is_new || n->by_hand},
			.newcomer = n};
		rc = groups_take_site(g, &mirror, f, err);
		if (rc == 0 && !is_new)
			more = sites_scan_next(sites, &site, err);
	}
	return MIN(rc, MIN(more, 0));
}

/* What survives in each group */

struct group {
	uint64_t norm, path;
	bool some;               /* has a member */
	bool has_item;           /* it survives, and is */
	struct index_item first; /* this */
	bool zombie;             /* nothing but a zombie that is not sacred survives of the items */
};

static void group_begin(struct merging *m, struct group *group, struct footprint key)
{
	if (group->some && group->norm == key.site && group->path == key.path)
		return;
	*group = (struct group){.norm = key.site, .path = key.path, .some = false};
	if (key.path == m->root)
		site_classes_put(&m->classes, key.site)->has_root = true;
}

/* The first stays, and after it those that are sacred. */
static int group_take_item(struct merging *m, struct group *group, struct str rec, struct err *err)
{
	struct reader r = reader_of(str_from(rec, KEY));
	bool plain = reader_u8(&r), zombie = reader_u8(&r);
	struct str url;
	reader_skip(&r, 1);
	struct index_item item = {.fp = {order_u64(r.p), group->path}};
	reader_skip(&r, 8);
	item.flags = reader_u8(&r);
	item.where = reader_u32le(&r);
	item.where |= (uint64_t)reader_u16le(&r) << 32;
	if (!group->has_item) {
		group->has_item = group->some = true;
		group->first = item;
		group->zombie = plain && zombie;
		return 0;
	}
	if (!plain)
		return 0;
	return merge_url_of(m, &group->first, &url, err) < 0
		       ? -1
		       : merge_put_duplicate(m, item.fp, url, err);
}

static int group_take_contrib(struct merging *m, struct group *group, struct str rec,
			      struct err *err)
{
	struct contrib c;
	uint64_t place;
	if (contrib_read(crawl_placed(str_from(rec, CONTRIB_KEY), &place), &c, err) < 0)
		return -1;
	bool replaces = group->zombie && c.flags & ITEM_REGATHER;
	bool alone = !group->some;
	group->some = true;
	if (!alone && !replaces && !(c.flags & ITEM_SACRED)) {
		m->ret->known++;
		return 0;
	}
	if (replaces) {
		group->zombie = false;
		if (merge_put_duplicate(m, group->first.fp, c.url, err) < 0)
			return -1;
	}
	struct newcomer *n = merge_newcomer(m, c.fp.site);
	if (n)
		n->enters = true;
	return merge_put_taken(m, &c, place, err);
}

/* Both sorts in step: of one group the items come first. */
static int groups_decide(struct groups *g, struct err *err)
{
	struct merging *m = g->m;
	struct group group = {0};
	struct str item, contrib;
	int no_item = sort_next(g->items, &item, err), no_contrib = -1, rc = 0;
	if (no_item >= 0)
		no_contrib = sort_next(g->contribs, &contrib, err);
	while (rc == 0 && no_item >= 0 && no_contrib >= 0 && !(no_item && no_contrib)) {
		if (merge_is_stopped(m))
			return -1;
		if (!no_item && (no_contrib || memcmp(item.p, contrib.p, KEY) <= 0)) {
			group_begin(m, &group, footprint_of_key(item.p));
			rc = group_take_item(m, &group, item, err);
			no_item = rc ? -1 : sort_next(g->items, &item, err);
		} else {
			group_begin(m, &group, footprint_of_key(contrib.p));
			rc = group_take_contrib(m, &group, contrib, err);
			no_contrib = rc ? -1 : sort_next(g->contribs, &contrib, err);
		}
	}
	return no_item < 0 || no_contrib < 0 ? -1 : rc;
}

static int groups_sort(struct groups *g, struct found *f, struct err *err)
{
	const struct order items = {.size = ITEM_SIZE, .key_len = ITEM_KEY};
	const struct order contribs = {.key_len = CONTRIB_KEY};
	struct merging *m = g->m;
	const struct url_index *index;
	if (state_index(m->state, &index, err) < 0 ||
	    url_index_scan(&g->scan, index, (struct footprint){0, 0}, err) < 0 ||
	    crawl_sort_new(&g->items, m->crawl, m->state, items, err) < 0 ||
	    crawl_sort_new(&g->contribs, m->crawl, m->state, contribs, err) < 0 ||
	    groups_step(g, err) < 0 || groups_read_sites(g, f, err) < 0)
		return -1;
	return groups_decide(g, err);
}

int class_sort_found(struct merging *m, struct err *err)
{
	CLEANUP(found_close) struct found f = {0};
	struct groups g = {.m = m, .record = BUF_INIT(1 << 20)};
	if (!m->shared)
		return 0;
	int rc = found_open(m, &f, err);
	if (rc == 0)
		rc = groups_sort(&g, &f, err);
	while (rc == 0 && f.some)
		rc = groups_pass_found(&g, &f, err);
	sort_free(&g.items);
	sort_free(&g.contribs);
	url_index_scan_free(&g.scan);
	buf_free(&g.record);
	return rc;
}
