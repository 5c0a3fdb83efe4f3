/* What the two halves of merge share: merging.c joins index and contributions, merging_class.c
 * decides between the pages of mirrors. */
#pragma once
#include "base/hash.h"
#include "base/table.h"
#include "shepherd/crawl.h"
#include "url/equiv.h"

/* A site that is not in the list, but has wanted contributions. */
struct newcomer {
	uint64_t fp, norm;
	bool by_hand; /* one of them was given by hand: the others belong to a known site */
	bool enters;
};

/* Number of sites with one norm, for norms that some site shares with another. */
struct class_of_sites {
	uint32_t sites;
	bool has_root; /* a page "/" that survives */
};
TABLE(site_classes, uint64_t, struct class_of_sites, hash_u64, table_same_u64)

/* The contributions, sorted and unified, in a file without a name: they are read several times. */
struct found_file {
	struct file file;
	uint64_t bytes;
};
struct found {
	struct stream_reader in;
	bool some; /* there is a current one: */
	struct contrib c;
	uint64_t place;
	struct str record; /* the same as it lies in the file */
};

/* News of a URL, for the pass over the index: a contribution or a footprint and a text, a place,
 * and this in the last byte. */
enum merge_kind {
	NEWS_FOUND,     /* a contribution, nothing is decided */
	NEWS_TAKEN,     /* a contribution that is wanted; at ITEM_NOWHERE: the root of a new site */
	NEWS_DUPLICATE, /* of the URL in the text */
};

struct merging {
	struct state *state;
	const struct crawl *crawl;
	struct merged *ret;
	struct arena scratch; /* cleared with each URL */
	struct buf record;    /* one that is being made */
	struct found_file found;
	struct newcomer *newcomer; /* in order of footprints */
	size_t newcomers, room;
	struct site_classes classes;
	bool shared;           /* there is a class with several sites */
	struct sort *news;     /* those that are not in the file of contributions */
	uint64_t root, robots; /* the paths "/" and "/robots.txt" as footprints have them */
	/* the pass over the index */
	struct sites_scan *sites;
	size_t next_newcomer;
	uint64_t asked; /* calls of merge_is_stopped() */
	bool stopped;
};

bool merge_is_stopped(struct merging *m);
/* Also reads the first contribution. */
int found_open(struct merging *m, struct found *f, struct err *err);
int found_next(struct merging *m, struct found *f, struct err *err);
void found_close(struct found *f);

/* Whether a new page is wanted, and in which section. Parses its URL. robots.txt is not a page. */
bool merge_wants(const struct merging *m, const struct contrib *c, struct filter_where where,
		 uint8_t *ret_section);
/* Applies a contribution to the item of its own footprint. True: it is tried again. */
bool merge_touch(const struct merging *m, const struct contrib *c, struct index_item *item);
bool merge_is_dropped_error(const struct index_item *item);
uint8_t merge_weight(const struct merging *m, const struct contrib *c);
/* The URL of an item, or "-"; until the next call. */
int merge_url_of(struct merging *m, const struct index_item *item, struct str *ret,
		 struct err *err);
int merge_put_found(struct merging *m, const struct found *f, struct err *err);
int merge_put_taken(struct merging *m, const struct contrib *c, uint64_t place, struct err *err);
int merge_put_duplicate(struct merging *m, struct footprint fp, struct str of, struct err *err);
struct newcomer *merge_newcomer(const struct merging *m, uint64_t fp); /* NULL: none */

/* Counts the sites of all classes that have several. */
int class_count_sites(struct merging *m, struct err *err);
bool class_is_shared(const struct merging *m, uint64_t norm);
/* If sites share a class, puts all contributions into the news: of such sites only those that
 * survive, and the items that do not. */
int class_sort_found(struct merging *m, struct err *err);
