#include "bucket/bucket_shake.h"
#include "shepherd/crawl_inner.h"

/* A bit for each bucket that the index names. */
struct living {
	uint64_t *bits;
	uint64_t n;
};

static int mark(struct living *l, const struct url_index *index, struct err *err)
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

static int fate(void *ctx, const struct bucket *old, uint32_t new_oid, struct bucket_fate *fate_of,
		struct err *err)
{
	const struct living *l = ctx;
	(void)new_oid, (void)fate_of, (void)err;
	return old->oid < l->n && l->bits[old->oid / 64] >> old->oid % 64 & 1 ? 0 : 1;
}

int crawl_cleanup(struct state *st, struct buckets *buckets, struct bucket_shaken *ret,
		  struct err *err)
{
	const struct url_index *index;
	struct living l = {.n = (bucket_length(buckets) >> bucket_shift(buckets)) + 1};
	if (state_index(st, &index, err) < 0)
		return -1;
	l.bits = mem_array(l.n / 64 + 1, sizeof *l.bits);
	int rc = mark(&l, index, err);
	if (rc == 0)
		rc = bucket_shakedown(buckets, fate, &l, ret, err);
	mem_free(&l.bits);
	return rc == 0 ? state_renumber(st, NULL, err) : -1;
}
