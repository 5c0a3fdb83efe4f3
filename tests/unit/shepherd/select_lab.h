/* What the unit programs of select share: URLs of sites, by number, and one select of them. */
#pragma once
#include "base/hash.h"
#include "shepherd/code.h"
#include "unit/shepherd/crawl_lab.h"

#include <sys/stat.h>

/* The n-th URL of a site; footprints are in no order that follows from n. */
static inline struct footprint select_fp(unsigned site, uint64_t n)
{
	return (struct footprint){play_footprint((uint64_t)site * PLAY_PER_SITE).site,
				  hash_u64(n + 1)};
}

static inline struct index_item select_item(unsigned site, uint64_t n, enum item_type type,
					    uint8_t weight)
{
	struct index_item item = {
		.fp = select_fp(site, n), .where = ITEM_NOWHERE, .type = type, .weight = weight};
	if (type == ITEM_GATHERED || type == ITEM_ZOMBIE)
		item.last_seen_s = NOW_S - DAY_S;
	return item;
}

/* A crawl with these items and sites 0 to nsites - 1. */
static inline void select_make(struct lab *lab, const char *name, struct index_item *item, size_t n,
			       size_t nsites)
{
	uint64_t page[16];
	assert_true(nsites <= ARRAY_LEN(page));
	for (size_t i = 0; i < nsites; i++)
		page[i] = i * PLAY_PER_SITE;
	lab_make(lab, name, item, n, page, nsites);
}

/* Changes one site of the list. */
static inline void select_set_site(struct lab *lab, unsigned number, struct site values)
{
	struct err err = {0};
	lab_enter(lab, false, PHASE_MERGE);
	struct sites *sites = lab_sites(lab);
	struct site *site = sites_get(sites, select_fp(number, 0).site);
	assert_non_null(site);
	site->qkey = values.qkey;
	site->limit = values.limit;
	site->error_cycles = values.error_cycles;
	site->failed_s = values.failed_s;
	MUST(state_sites_put(lab->st, sites, &err));
	sites_free(&sites);
	lab_close(lab);
}

/* Gives back what lab_crawl() made. */
static inline void select_done(struct crawl *c)
{
	struct filter *filter = (struct filter *)(uintptr_t)c->filter;
	filter_free(&filter);
}

static inline struct selected select_with(struct lab *lab, const struct crawl *c, bool brake)
{
	struct err err = {0};
	struct selected selected;
	lab_enter(lab, false, PHASE_SELECT);
	MUST(crawl_select(lab->st, c, brake, &selected, &err));
	return selected;
}

static inline struct selected select_all(struct lab *lab, const struct crawl_conf *conf)
{
	CLEANUP(select_done) struct crawl c = lab_crawl(conf);
	struct selected selected = select_with(lab, &c, false);
	lab_close(lab);
	return selected;
}

/* 1: it is not known. */
static inline int select_find(struct lab *lab, unsigned site, uint64_t n, struct index_item *ret)
{
	struct err err = {0};
	const struct url_index *index;
	MUST(state_index(lab->st, &index, &err));
	int rc = url_index_find(index, select_fp(site, n), ret, &err);
	assert_true(rc >= 0);
	return rc;
}

static inline struct index_item select_get(struct lab *lab, unsigned site, uint64_t n)
{
	struct index_item item;
	assert_int_equal(0, select_find(lab, site, n, &item));
	return item;
}

static inline bool select_knows(struct lab *lab, unsigned site, uint64_t n)
{
	struct index_item item;
	return select_find(lab, site, n, &item) == 0;
}

/* How many of the first n URLs of a site are awake, asleep by a limit, and known at all. */
struct select_seen {
	size_t awake, asleep[CRAWL_LIMITS], known;
};
static inline struct select_seen select_see(struct lab *lab, unsigned site, uint64_t n)
{
	struct select_seen seen = {0};
	struct index_item item;
	for (uint64_t i = 0; i < n; i++) {
		if (select_find(lab, site, i, &item))
			continue;
		seen.known++;
		if (item.type == ITEM_SLEEPING) {
			assert_in_range(item.code, CODE_SLEEPS, CODE_SLEEPS + CRAWL_LIMITS - 1);
			assert_int_equal(0, item.freq);
			seen.asleep[item.code - CODE_SLEEPS]++;
		} else if (item.type != ITEM_ZOMBIE) {
			seen.awake++;
		}
	}
	return seen;
}

/* A file of the state, so that one can see whether it is the same as before. */
static inline ino_t select_inode(struct lab *lab, const char *file)
{
	struct stat st;
	assert_int_equal(0, stat(state_path(lab->st, &lab->arena, file), &st));
	return st.st_ino;
}
