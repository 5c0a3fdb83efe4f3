/* The model of merge: all items and contributions in one list, in groups of a normalised footprint.
 * Sites whose class is their own make groups of one footprint, so there is no second way. */
#include "unit/shepherd/cycle_model_parts.h"

#include "base/clock.h"

#include <stdlib.h>

/* One of a group. */
struct member {
	struct footprint fp;
	uint64_t norm;
	uint64_t place;
	struct index_item item; /* an item; or what a contribution would become */
	struct contrib contrib;
	bool is_item, survives;
};

struct merging {
	struct world *w;
	struct member member[MODEL_ITEMS + MODEL_NEWS];
	size_t n;
	uint64_t old_site[MODEL_SITES]; /* those that were known before */
	size_t old_sites;
};

static bool contrib_is_by_hand(const struct contrib *c)
{
	return c->from.site == 0 && c->from.path == 0;
}

static struct url_site merge_site_of(struct str url, char room[URL_MAX])
{
	struct url u;
	ENSURE(url_parse(url, NULL, room, URL_MAX, &u) == 0);
	return url_site(&u);
}

static uint64_t merge_norm_of(const struct world *w, const struct contrib *c)
{
	char room[URL_MAX];
	return footprint_site(equiv_site(w->crawl.equiv, merge_site_of(c->url, room)));
}

/* Several of one footprint: flags joined, the highest weight, the rest of the first, one by hand
 * before others. The first is that of the lowest round, which merge reads first. */
static void merge_join(struct member *into, const struct member *from)
{
	bool replaces = contrib_is_by_hand(&from->contrib) && !contrib_is_by_hand(&into->contrib);
	uint8_t flags = into->contrib.flags | from->contrib.flags;
	uint8_t weight = MAX(into->contrib.weight, from->contrib.weight);
	if (replaces)
		*into = *from;
	into->contrib.flags = flags;
	into->contrib.weight = weight;
}

static struct member *merge_find(struct merging *m, struct footprint fp, bool is_item)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->member[i].is_item == is_item && footprint_cmp(m->member[i].fp, fp) == 0)
			return &m->member[i];
	return NULL;
}

static void merge_add_contrib(struct merging *m, const struct model_contrib *c)
{
	struct world *w = m->w;
	struct site *site = model_site(w, c->c.fp.site);
	struct member new = {.fp = c->c.fp, .contrib = c->c, .place = c->place};
	struct member *old = merge_find(m, c->c.fp, false);
	new.norm = site ? site->norm : merge_norm_of(w, &c->c);
	if (new.contrib.weight == 0)
		new.contrib.weight = (uint8_t)w->crawl.conf->default_insert_weight;
	if (old)
		merge_join(old, &new);
	else
		m->member[m->n++] = new;
}

static void merge_collect(struct merging *m)
{
	struct world *w = m->w;
	for (unsigned round = 0; round < 8; round++)
		for (size_t i = 0; i < w->contribs; i++)
			if (w->contrib[i].round == round)
				merge_add_contrib(m, &w->contrib[i]);
	for (size_t i = 0; i < m->n; i++) {
		struct member *c = &m->member[i];
		c->item = (struct index_item){
			.fp = c->fp,
			.where = c->place,
			.since_day = (uint16_t)(w->crawl.now_us / US_PER_DAY),
			.type = ITEM_NEW,
			.flags = c->contrib.flags | ITEM_CONTRIB,
			.weight = c->contrib.weight,
			.section = c->contrib.section,
		};
	}
	for (size_t i = 0; i < w->items; i++) {
		struct site *site = model_site(w, w->item[i].fp.site);
		m->member[m->n++] = (struct member){.fp = w->item[i].fp,
						    .norm = site ? site->norm : w->item[i].fp.site,
						    .item = w->item[i],
						    .is_item = true};
	}
}

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

/* A sacred contribution survives as a new item unless the item of its own footprint does. */
static void merge_survive(struct merging *m, struct member *group, size_t n)
{
	size_t sacred = 0, plain = 0;
	for (size_t i = 0; i < n; i++) {
		struct member *x = &group[i];
		const struct member *own = x->is_item ? NULL : merge_find(m, x->fp, true);
		if (own && own->survives)
			continue;
		if (member_is_sacred(x))
			x->survives = true;
		else if (x->is_item)
			x->survives = sacred == 0 && plain++ == 0;
		else
			x->survives = i == 0;
		sacred += x->is_item && member_is_sacred(x);
	}
}

/* What contributions of its own footprint do to an item. What becomes new may be tried at once. */
static void merge_ask_again(struct merging *m, struct member *x)
{
	const struct member *c = merge_find(m, x->fp, false);
	struct index_item *item = &x->item;
	if (!c)
		return;
	item->flags &= (uint8_t)~ITEM_UNREFERENCED;
	if (contrib_is_by_hand(&c->contrib))
		item->flags |= ITEM_INITIAL;
	if (contrib_is_by_hand(&c->contrib) && c->contrib.time_s > item->last_seen_s) {
		if (item->type == ITEM_GATHERED) {
			item->flags |= ITEM_REGATHER;
		} else if (item->type != ITEM_NEW) {
			item->type = ITEM_NEW;
			item->retry = 0;
		}
		item->due_s = 0;
	}
	if (c->contrib.flags & ITEM_REGATHER &&
	    (item->type == ITEM_ZOMBIE || item->type == ITEM_SLEEPING)) {
		item->type = ITEM_NEW;
		item->retry = 0;
		item->due_s = 0;
	}
}

/* The only item is a zombie still, nobody's own: one of another site that is to be gathered again
 * takes its place. */
static void merge_replace_zombie(struct member *group, size_t n)
{
	if (!group[0].is_item || (n > 1 && group[1].is_item) || group[0].item.type != ITEM_ZOMBIE ||
	    member_is_sacred(&group[0]))
		return;
	for (size_t i = 1; i < n; i++)
		if (group[i].contrib.flags & ITEM_REGATHER &&
		    group[i].fp.site != group[0].fp.site) {
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
		merge_survive(m, group, end - i);
		for (size_t k = 0; k < end - i; k++)
			if (group[k].is_item && group[k].survives)
				merge_ask_again(m, &group[k]);
		merge_replace_zombie(group, end - i);
	}
}

static void merge_put_items(struct merging *m)
{
	struct world *w = m->w;
	w->items = 0;
	for (size_t i = 0; i < m->n; i++) {
		const struct index_item *item = &m->member[i].item;
		bool failed = item->type == ITEM_ERROR && !(item->flags & ITEM_SACRED);
		if (!m->member[i].is_item)
			continue;
		if (m->member[i].survives && !failed)
			*model_add(w, item->fp) = *item;
		else
			model_forget(w, item, m->member[i].survives ? GONE_ERROR : GONE_DUPLICATE);
	}
}

/* A site that anybody brings in is known to all others, whatever their order. */
static void merge_put_sites(struct merging *m)
{
	struct world *w = m->w;
	for (size_t i = 0; i < m->n; i++) {
		static char rooms[MODEL_NEWS][URL_MAX];
		const struct member *x = &m->member[i];
		struct filter_where where = {0};
		struct filter_url says;
		struct url url;
		if (x->is_item || !x->survives || model_site(w, x->fp.site))
			continue;
		char *room = rooms[i % MODEL_NEWS];
		ENSURE(url_parse(x->contrib.url, NULL, room, URL_MAX, &url) == 0);
		filter_url(w->crawl.filter, &url, STR(""), &where, &says);
		if (says.reject && !contrib_is_by_hand(&x->contrib))
			continue;
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
}

static void merge_put_contribs(struct merging *m)
{
	struct world *w = m->w;
	for (size_t i = 0; i < m->n; i++) {
		const struct member *x = &m->member[i];
		if (x->is_item || !x->survives || !model_site(w, x->fp.site))
			continue;
		*model_add(w, x->fp) = x->item;
		model_tell(w, x->fp, CHANGE_ADD, false);
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
		struct index_item *item = model_add(w, (struct footprint){w->site[i].fp, path});
		item->type = ITEM_NEW;
		item->flags = ITEM_EQUIV | ITEM_CONTRIB;
		item->weight = (uint8_t)w->crawl.conf->default_insert_weight;
		item->since_day = (uint16_t)(w->crawl.now_us / US_PER_DAY);
		item->section = says.section;
		model_tell(w, item->fp, CHANGE_ADD, false);
	}
}

void model_merge(struct world *w)
{
	static struct merging m;
	m.w = w;
	m.n = 0;
	model_begin(w);
	m.old_sites = w->sites;
	for (size_t i = 0; i < w->sites; i++)
		m.old_site[i] = w->site[i].fp;
	merge_collect(&m);
	merge_decide(&m);
	merge_put_items(&m);
	merge_put_sites(&m);
	merge_put_contribs(&m);
	merge_put_roots(&m);
	w->contribs = 0;
}
