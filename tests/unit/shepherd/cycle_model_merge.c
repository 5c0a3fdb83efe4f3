/* The model of merge: all items and contributions in one list, in groups of a normalised footprint.
 * Sites whose class is their own make groups of one footprint, so there is no second way. */
#include "unit/shepherd/cycle_model_parts.h"

#include "base/clock.h"

#include <stdlib.h>

/* One of a group. */
struct member {
	struct footprint fp;
	uint64_t norm, place;
	struct index_item item; /* an item; or what a contribution would become */
	struct contrib contrib;
	bool is_item, survives, again;
};

struct merging {
	struct world *w;
	struct member contrib[MODEL_NEWS]; /* one for each footprint */
	struct member member[MODEL_ITEMS + MODEL_NEWS];
	size_t contribs, n;
	bool again;                     /* something is to be tried */
	uint64_t old_site[MODEL_SITES]; /* those that were known before */
	size_t old_sites;
};

static bool contrib_is_by_hand(const struct contrib *c)
{
	return c->flags & ITEM_INITIAL && c->from.site == 0 && c->from.path == 0;
}

/* Contributions */

/* Flags joined, the highest weight, the latest time, the rest of the first, one by hand before
 * others. The first is that of the lowest round, which merge reads first. */
static void merge_join(struct contrib *into, uint64_t *place, const struct model_contrib *from)
{
	bool replaces = contrib_is_by_hand(&from->c) && !contrib_is_by_hand(into);
	struct contrib both = replaces ? from->c : *into;
	both.flags = into->flags | from->c.flags;
	both.weight = MAX(into->weight, from->c.weight);
	both.time_s = MAX(into->time_s, from->c.time_s);
	both.changed_s = MAX(into->changed_s, from->c.changed_s);
	if (into->flags & from->c.flags & ITEM_INITIAL)
		both.hops = MIN(into->hops, from->c.hops);
	else
		both.hops = into->flags & ITEM_INITIAL ? into->hops : from->c.hops;
	if (replaces)
		*place = from->place;
	*into = both;
}

static struct member *merge_find(struct merging *m, struct footprint fp)
{
	for (size_t i = 0; i < m->contribs; i++)
		if (footprint_cmp(m->contrib[i].fp, fp) == 0)
			return &m->contrib[i];
	return NULL;
}

static void merge_collect(struct merging *m)
{
	struct world *w = m->w;
	for (unsigned round = 0; round < 8; round++)
		for (size_t i = 0; i < w->contribs; i++) {
			struct model_contrib c = w->contrib[i];
			struct member *old = merge_find(m, c.c.fp);
			if (c.round != round)
				continue;
			if (c.c.weight == 0)
				c.c.weight = (uint8_t)w->crawl.conf->default_insert_weight;
			if (old)
				merge_join(&old->contrib, &old->place, &c);
			else
				m->contrib[m->contribs++] = (struct member){
					.fp = c.c.fp, .contrib = c.c, .place = c.place};
		}
}

/* What contributions of its own footprint do to an item. Whether it is tried again. */
static bool merge_touch(const struct world *w, const struct contrib *c, struct index_item *item)
{
	const struct index_item was = *item;
	bool rests = was.type == ITEM_ZOMBIE || was.type == ITEM_SLEEPING;
	bool revived = c->flags & ITEM_REGATHER && rests;
	bool asked = contrib_is_by_hand(c) && c->time_s > was.last_seen_s;
	bool fetched = was.type == ITEM_GATHERED;
	bool changed = fetched && c->changed_s > was.last_seen_s && c->changed_s <= model_now(w);
	if (was.flags & ITEM_ROBOTS)
		return false;
	if (c->flags & ITEM_INITIAL) {
		item->hops = MIN(c->hops, 15);
		if (was.flags & ITEM_INITIAL)
			item->hops = MIN(was.hops, item->hops);
	}
	item->flags = (uint8_t)((was.flags & ~ITEM_UNREFERENCED) | (c->flags & CRAWL_ADMITS) |
				((asked && fetched) || changed ? ITEM_REGATHER : 0));
	if (revived || (asked && !fetched)) {
		item->type = ITEM_NEW;
		item->retry = was.type == ITEM_NEW ? was.retry : 0;
	}
	item->due_s = asked ? 0 : was.due_s;
	return revived || asked || changed;
}

/* All items but errors that are not kept, and notes on sites. */
static void merge_take_items(struct merging *m)
{
	struct world *w = m->w;
	for (size_t i = 0; i < w->items;) {
		struct index_item *item = &w->item[i];
		const struct member *c = merge_find(m, item->fp);
		const struct site *site = model_site(w, item->fp.site);
		bool again = c && merge_touch(w, &c->contrib, item);
		if (item->type == ITEM_ERROR && !(item->flags & ITEM_SACRED) && !item->no_target) {
			model_forget(w, item, GONE_ERROR);
			*item = w->item[--w->items];
			continue;
		}
		if (!(item->flags & ITEM_ROBOTS))
			m->member[m->n++] =
				(struct member){.fp = item->fp,
						.norm = site ? site->norm : item->fp.site,
						.item = *item,
						.is_item = true,
						.again = again};
		i++;
	}
}

/* Whether a contribution makes its site known: it was given by hand, or such a URL led to it and no
 * rule rejects it. */
static bool contrib_admits(struct merging *m, const struct contrib *c)
{
	if (c->fp.path == footprint_path(STR("/robots.txt")))
		return false;
	const struct filter_where where = {.known = true};
	struct filter_url says;
	char room[URL_MAX];
	struct url url;
	ENSURE(url_parse(c->url, NULL, room, sizeof room, &url) == 0);
	filter_url(m->w->crawl.filter, &url, STR(""), &where, &says);
	return c->flags & ITEM_INITIAL || (c->flags & ITEM_EQUIV && !says.reject);
}

/* A site is known if it is in the list, or any contribution admits it. */
static bool merge_is_known(struct merging *m, uint64_t site)
{
	for (size_t i = 0; i < m->contribs; i++)
		if (m->contrib[i].fp.site == site && contrib_admits(m, &m->contrib[i].contrib))
			return true;
	return model_site(m->w, site) != NULL;
}

/* Contributions that are wanted, of pages that are not known. */
static void merge_take_contribs(struct merging *m)
{
	struct world *w = m->w;
	for (size_t i = 0; i < m->contribs; i++) {
		struct member x = m->contrib[i];
		const struct site *site = model_site(w, x.fp.site);
		struct filter_where where = {.qkey = site ? site->qkey : 0,
					     .known = merge_is_known(m, x.fp.site)};
		struct filter_url says;
		char room[URL_MAX];
		struct url url;
		if (model_item(w, x.fp) || x.fp.path == footprint_path(STR("/robots.txt")))
			continue;
		ENSURE(url_parse(x.contrib.url, NULL, room, sizeof room, &url) == 0);
		filter_url(w->crawl.filter, &url, STR(""), &where, &says);
		if (says.reject && !(x.contrib.flags & ITEM_INITIAL))
			continue;
		x.norm = site ? site->norm
			      : footprint_site(equiv_site(w->crawl.equiv, url_site(&url)));
		x.item = (struct index_item){
			.fp = x.fp,
			.where = x.place,
			.since_day = (uint16_t)(w->crawl.now_us / US_PER_DAY),
			.hops = x.contrib.flags & ITEM_INITIAL ? MIN(x.contrib.hops, 15) : 0,
			.type = ITEM_NEW,
			.flags = x.contrib.flags | ITEM_CONTRIB,
			.weight = x.contrib.weight,
			.section = says.section};
		m->member[m->n++] = x;
	}
}

/* Groups */

static bool member_is_sacred(const struct member *m)
{
	return m->item.flags & ITEM_SACRED;
}

static int members_compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	bool dead_x = x->item.type == ITEM_ZOMBIE, dead_y = y->item.type == ITEM_ZOMBIE;
	if (x->norm != y->norm)
		return x->norm < y->norm ? -1 : 1;
	if (x->fp.path != y->fp.path)
		return x->fp.path < y->fp.path ? -1 : 1;
	if (x->is_item != y->is_item)
		return x->is_item ? -1 : 1;
	if (member_is_sacred(x) != member_is_sacred(y))
		return member_is_sacred(x) ? -1 : 1;
	if (dead_x != dead_y)
		return dead_x ? 1 : -1;
	if (x->item.weight != y->item.weight)
		return x->item.weight > y->item.weight ? -1 : 1;
	return footprint_cmp(x->fp, y->fp);
}

static void merge_survive(struct member *group, size_t n)
{
	size_t sacred = 0, plain = 0;
	for (size_t i = 0; i < n; i++) {
		struct member *x = &group[i];
		if (member_is_sacred(x))
			x->survives = true;
		else if (x->is_item)
			x->survives = sacred == 0 && plain++ == 0;
		else
			x->survives = i == 0;
		sacred += x->is_item && member_is_sacred(x);
	}
}

/* Of the items only a zombie survives: the first that is to be gathered again takes its place. */
static void merge_replace_zombie(struct member *group, size_t n)
{
	size_t items = 0;
	for (size_t i = 0; i < n; i++)
		items += group[i].is_item && group[i].survives;
	if (items != 1 || group[0].item.type != ITEM_ZOMBIE || member_is_sacred(&group[0]))
		return;
	for (size_t i = 1; i < n; i++)
		if (!group[i].is_item && group[i].contrib.flags & ITEM_REGATHER) {
			group[0].survives = false;
			group[i].survives = true;
			return;
		}
}

static void merge_decide(struct merging *m)
{
	qsort(m->member, m->n, sizeof m->member[0], members_compare);
	for (size_t i = 0, end; i < m->n; i = end) {
		struct member *group = &m->member[i];
		for (end = i; end < m->n && m->member[end].norm == group->norm &&
			      m->member[end].fp.path == group->fp.path;)
			end++;
		merge_survive(group, end - i);
		merge_replace_zombie(group, end - i);
	}
}

/* What comes of it */

static void merge_enter_site(struct world *w, const struct member *x)
{
	char room[URL_MAX];
	struct url url;
	ENSURE(url_parse(x->contrib.url, NULL, room, sizeof room, &url) == 0);
	struct url_site site = url_site(&url);
	/* the host has to live on: it is at the same place of the contribution's text */
	site.host.p = x->contrib.url.p + (url.host.p - url.href.p);
	ENSURE(w->sites < MODEL_SITES);
	w->site[w->sites++] = (struct site){.fp = x->fp.site,
					    .norm = x->norm,
					    .protocol = site.protocol,
					    .port = site.port,
					    .host = site.host};
}

static void merge_put(struct merging *m)
{
	struct world *w = m->w;
	for (size_t i = 0; i < m->n; i++) {
		const struct member *x = &m->member[i];
		if (x->is_item && !x->survives) {
			model_forget(w, &x->item, GONE_DUPLICATE);
			model_remove(w, x->fp);
		}
		if (x->survives)
			m->again |= x->again || !x->is_item;
		if (x->is_item || !x->survives)
			continue;
		*model_add(w, x->fp) = x->item;
		model_tell(w, x->fp, CHANGE_ADD, false);
		if (!model_site(w, x->fp.site))
			merge_enter_site(w, x);
	}
}

static bool merge_has_root(struct world *w, uint64_t norm, uint64_t path)
{
	for (size_t i = 0; i < w->items; i++) {
		const struct site *site = model_site(w, w->item[i].fp.site);
		if (site && site->norm == norm && w->item[i].fp.path == path)
			return true;
	}
	return false;
}

/* Of several new sites of a class the one with the lowest footprint gets it. */
static void merge_put_roots(struct merging *m)
{
	struct world *w = m->w;
	uint64_t path = footprint_path(STR("/"));
	model_sort(w);
	for (size_t i = 0; i < w->sites && w->crawl.conf->auto_go_root; i++) {
		struct filter_where where = {.known = true};
		struct filter_url says;
		char text[256], room[URL_MAX];
		struct url url;
		bool old = false;
		for (size_t k = 0; k < m->old_sites; k++)
			old |= m->old_site[k] == w->site[i].fp;
		if (old || merge_has_root(w, w->site[i].norm, path))
			continue;
		url_site_print(model_url_site(&w->site[i]), text, sizeof text);
		ENSURE(url_parse(str_of(text), NULL, room, sizeof room, &url) == 0);
		filter_url(w->crawl.filter, &url, STR(""), &where, &says);
		if (says.reject)
			continue;
		struct index_item *item = model_add(w, (struct footprint){w->site[i].fp, path});
		item->type = ITEM_NEW;
		item->flags = ITEM_EQUIV | ITEM_CONTRIB;
		item->weight = (uint8_t)w->crawl.conf->default_insert_weight;
		item->since_day = (uint16_t)(w->crawl.now_us / US_PER_DAY);
		item->section = says.section;
		model_tell(w, item->fp, CHANGE_ADD, false);
	}
}

static bool merge_is_idle(const struct world *w)
{
	for (size_t i = 0; i < w->items; i++)
		if (w->item[i].type == ITEM_ERROR && !(w->item[i].flags & ITEM_ROBOTS))
			return false;
	return w->contribs == 0;
}

void model_merge(struct world *w)
{
	static struct merging m;
	m = (struct merging){.w = w, .old_sites = w->sites};
	for (size_t i = 0; i < w->sites; i++)
		m.old_site[i] = w->site[i].fp;
	model_begin(w);
	w->course.rounds = 0;
	if (merge_is_idle(w)) {
		model_count(w);
		return;
	}
	merge_collect(&m);
	w->found = m.contribs;
	merge_take_contribs(&m); /* before errors are forgotten: they are known */
	merge_take_items(&m);
	merge_decide(&m);
	merge_put(&m);
	merge_put_roots(&m);
	if (m.again)
		w->course.due_s = (uint64_t)model_now(w);
	model_count(w);
	w->contribs = 0;
}
