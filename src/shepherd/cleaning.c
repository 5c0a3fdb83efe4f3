/* cleanup: the bucket file is freed of what no URL needs. */
#include "shepherd/crawl.h"

#include "bucket/bucket.h"
#include "bucket/bucket_shake.h"

/* A bit for each bucket that the index names. */
struct living {
	uint64_t *bits;
	uint64_t n;
};

static int living_mark(struct living *l, const struct url_index *index, struct err *err)
{
	struct url_index_scan *it;
	struct index_item item;
	int rc = url_index_scan(&it, index, (struct footprint){0}, err);
	if (rc < 0)
		return -1;
	while ((rc = url_index_next(it, &item, err)) == 0)
		if (!(item.flags & ITEM_CONTRIB) && item.where < l->n)
			l->bits[item.where / 64] |= UINT64_C(1) << item.where % 64;
	url_index_scan_free(&it);
	return rc < 0 ? -1 : 0;
}

static int living_fate(void *ctx, const struct bucket *old, uint32_t new_oid,
		       struct bucket_fate *ret, struct err *err)
{
	const struct living *l = ctx;
	(void)new_oid, (void)ret, (void)err;
	return old->oid < l->n && l->bits[old->oid / 64] >> old->oid % 64 & 1 ? 0 : 1;
}

int crawl_cleanup(struct state *st, const struct crawl *c, struct bucket_shaken *ret,
		  struct err *err)
{
	struct buckets *buckets = c->buckets;
	const struct url_index *index;
	struct living l = {.n = (bucket_length(buckets) >> bucket_shift(buckets)) + 1};
	if (state_index(st, &index, err) < 0)
		return -1;
	l.bits = mem_array(l.n / 64 + 1, sizeof *l.bits);
	int rc = living_mark(&l, index, err);
	if (rc == 0)
		rc = bucket_shakedown(buckets, living_fate, &l, ret, err);
	mem_free(&l.bits);
	return rc == 0 ? state_renumber(st, NULL, err) : -1;
}
