/* Inside of the crawl's modules: what they share. */
#pragma once
#include "shepherd/crawl.h"

/* Records of the state by which its index is rewritten. */
struct crawl_news {
	const char *file; /* "journal", "contrib" */
	uint64_t memory;  /* for sorting them */
	/* NULL, or makes one of two of the same URL. */
	void (*unify)(void *ctx, struct buf *into, struct str from);
};

/* Writes a new index for a state: fn says what becomes of each URL, in view of the news of it
 * (NULL: none); each is to be read by crawl_placed(). 1: stopped, and the index is as it was. */
int crawl_rewrite(struct state *st, const struct crawl_news *news, url_index_fn *fn, void *ctx,
		  const struct crawl_stop *stop, struct err *err);
/* The payload of such a record, and where in its file it lies. */
struct str crawl_placed(struct str record, uint64_t *ret_place);
/* A footprint as the attribute O has it: 32 digits. */
struct str crawl_digits(struct footprint fp, struct arena *arena);
