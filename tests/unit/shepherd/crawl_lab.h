/* What the unit programs of the crawl's modules share: a crawl whose index is set by hand. */
#pragma once
#include "base/clock.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "shepherd/crawl.h"
#include "state/plan.h"
#include "support/crawl_play.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <inttypes.h>
#include <string.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

#define NOW_S ((uint32_t)(PLAY_START / US_PER_S))
enum { DAY_S = 86400, REFRESH_S = 30 * DAY_S };

/* As the settings are, with small limits. */
static inline struct crawl_conf lab_conf(void)
{
	struct crawl_conf conf = play_conf();
	conf.plan_max = conf.site_max = conf.active_max = conf.remember_max = 1000;
	return conf;
}

/* What modules work with: no rules but those of the settings. Filters are kept to the end. */
static inline struct crawl lab_crawl(const struct crawl_conf *conf)
{
	struct filter_defaults defaults = {conf->no_delay, conf->follow == CRAWL_ALL};
	static struct filter *kept[256];
	static size_t n;
	struct filter **filter = &kept[n++ % ARRAY_LEN(kept)];
	struct err err = {0};
	struct crawl c = {.conf = conf,
			  .delay_us = 10 * US_PER_S,
			  .concurrent = 1,
			  .cycle_us = conf->cycle_us,
			  .now_us = PLAY_START};
	filter_free(filter);
	MUST(filter_parse(STR(""), "filter", &defaults, filter, &err));
	MUST(schema_parse(str_of(conf->refresh_schema), &c.schema, &err));
	c.filter = *filter;
	return c;
}

/* Pages are those of crawl_play.h: 50 to a site. */
struct lab {
	struct states *s;
	struct state *st;
	struct arena arena;
};

/* A clone of the newest state, in a phase. */
static inline void lab_enter(struct lab *lab, bool contrib, enum phase phase)
{
	struct state *from = NULL;
	struct err err = {0};
	state_free(&lab->st);
	MUST(state_open(&from, lab->s, "current", &err));
	MUST(state_clone(&lab->st, from, contrib, PLAY_START, &err));
	MUST(state_enter(lab->st, phase, NULL, PLAY_START, &err));
	state_free(&from);
}

static inline void lab_close(struct lab *lab)
{
	struct err err = {0};
	MUST(state_enter(lab->st, PHASE_CLOSED, NULL, PLAY_START, &err));
}

static inline int lab_by_footprint(const void *a, const void *b)
{
	const struct index_item *x = a, *y = b;
	return footprint_cmp(x->fp, y->fp);
}

static inline struct url_site lab_site_of(uint64_t page, char room[URL_MAX], struct url *url)
{
	char text[PLAY_URL];
	assert_int_equal(0, url_parse(play_url(page, text), NULL, room, URL_MAX, url));
	return url_site(url);
}

/* A crawl with these items, and their sites, in a closed state. */
static inline void lab_make(struct lab *lab, const char *name, struct index_item *item, size_t n,
			    const uint64_t *site_page, size_t nsites)
{
	struct err err = {0};
	struct url_index_writer *w = NULL;
	struct sites *sites = sites_new();
	*lab = (struct lab){.arena = ARENA_INIT(64 << 20)};
	MUST(states_init(scratch(name), 0, PLAY_START, &err));
	MUST(states_open(&lab->s, scratch(name), true, &err));
	lab_enter(lab, false, PHASE_MERGE);
	if (n)
		qsort(item, n, sizeof *item, lab_by_footprint);
	MUST(state_index_create(lab->st, &w, &err));
	for (size_t i = 0; i < n; i++)
		url_index_put(w, &item[i]);
	MUST(state_index_put(lab->st, &w, &err));
	for (size_t i = 0; i < nsites; i++) {
		char room[URL_MAX];
		struct url url;
		bool is_new;
		sites_put(sites, lab_site_of(site_page[i], room, &url), &is_new);
	}
	MUST(state_sites_put(lab->st, sites, &err));
	sites_free(&sites);
	lab_close(lab);
}

static inline void lab_free(struct lab *lab)
{
	state_free(&lab->st);
	states_close(&lab->s);
	arena_free(&lab->arena);
}

static inline struct index_item lab_item(uint64_t page, enum item_type type)
{
	return (struct index_item){
		.fp = play_footprint(page), .where = ITEM_NOWHERE, .type = type, .weight = 128};
}

/* The item of a page as it is now; the test fails when there is none. */
static inline struct index_item lab_find(struct lab *lab, uint64_t page)
{
	struct err err = {0};
	const struct url_index *index;
	struct index_item item = {0};
	MUST(state_index(lab->st, &index, &err));
	MUST(url_index_find(index, play_footprint(page), &item, &err));
	return item;
}

static inline bool lab_knows(struct lab *lab, uint64_t page)
{
	struct err err = {0};
	const struct url_index *index;
	struct index_item item;
	MUST(state_index(lab->st, &index, &err));
	int rc = url_index_find(index, play_footprint(page), &item, &err);
	assert_true(rc >= 0);
	return rc == 0;
}

static inline struct sites *lab_sites(struct lab *lab)
{
	struct err err = {0};
	struct sites *sites = NULL;
	MUST(state_sites(lab->st, &sites, &err));
	return sites;
}

static inline void lab_journal(struct lab *lab, uint64_t page, struct journal_entry e)
{
	struct err err = {0};
	char url[PLAY_URL];
	e.fp = play_footprint(page);
	e.url = play_url(page, url);
	MUST(state_journal(lab->st, &e, &err));
}

static inline void lab_contrib(struct lab *lab, uint64_t page, uint8_t flags)
{
	struct err err = {0};
	char url[PLAY_URL];
	struct contrib c = {.fp = play_footprint(page), .flags = flags, .url = play_url(page, url)};
	MUST(state_contrib(lab->st, &c, NULL, &err));
}
