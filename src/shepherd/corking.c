/* cork: the journal of a state goes into its index and its site list. */
#include "shepherd/crawl.h"

#include "base/clock.h"

struct corking {
	struct sites *sites;
};

static void cork_note_site(struct sites *sites, const struct journal_entry *e)
{
	struct site *site = sites_get(sites, e->fp.site);
	if (!site)
		return;
	if (e->qkey && e->qkey != site->qkey) {
		site->oscillations =
			(uint8_t)MIN(site->oscillations + (site->qkey != 0), UINT8_MAX);
		site->qkey = e->qkey;
	}
	if (e->download_ms)
		site->download_ms = site->download_ms ? (3 * site->download_ms + e->download_ms) / 4
						      : e->download_ms;
}

static void cork_apply(const struct journal_entry *e, struct index_item *item)
{
	uint32_t time_s = (uint32_t)(e->time_us / US_PER_S);
	item->status = e->status;
	item->last_seen_s = time_s;
	item->due_s = e->due_s;
	item->no_target = e->no_target;
	item->flags = (uint8_t)((item->flags | e->flags) & ~ITEM_REGATHER);
	item->download_ds = (uint8_t)MIN((e->download_ms + 99) / 100, UINT8_MAX);
	if (e->type == ITEM_TEMPORARY) {
		item->retry = (uint8_t)MIN(item->retry + 1, UINT8_MAX);
		return;
	}
	item->type = e->type;
	item->retry = 0;
	if (e->where != ITEM_NOWHERE) {
		item->where = e->where;
		item->flags &= (uint8_t)~ITEM_CONTRIB;
	}
	if (e->op == CHANGE_UPDATE || item->stable_s == 0)
		item->stable_s = time_s;
}

static int cork_item(void *ctx, const struct index_news *about, struct index_item *ret,
		     struct err *err)
{
	const struct corking *c = ctx;
	for (size_t i = 0; i < about->n; i++) {
		struct journal_entry e;
		uint64_t place;
		if (journal_read(crawl_placed(about->news[i], &place), &e, err) < 0)
			return -1;
		cork_note_site(c->sites, &e);
		if (about->old)
			cork_apply(&e, ret);
	}
	return about->old ? 0 : 1; /* reap gathers what is in the index, nothing else */
}

int crawl_cork(struct state *st, const struct crawl *crawl, struct err *err)
{
	CLEANUP(sites_free) struct sites *sites = NULL;
	if (state_sites(st, &sites, err) < 0)
		return -1;
	struct corking c = {.sites = sites};
	const struct crawl_news news = {.file = "journal"};
	int rc = crawl_rewrite(st, crawl, &news, cork_item, &c, err);
	return rc ? rc : state_sites_put(st, sites, err);
}
