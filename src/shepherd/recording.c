/* record: new URLs get buckets. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"

#include <inttypes.h>
#include <stdio.h>

struct recording {
	struct state *state;
	struct buckets *buckets;
	struct arena arena;
	char time[24];
	struct str when;
	uint64_t made;
};

static int record_item(void *ctx, const struct index_news *about, struct index_item *ret,
		       struct err *err)
{
	struct recording *r = ctx;
	struct attrs header = {0}, body = {0};
	struct contrib c;
	uint32_t oid;
	(void)about;
	if (!(ret->flags & ITEM_CONTRIB))
		return 0;
	if (state_contrib_at(r->state, ret->where, &c, err) < 0)
		return -1;
	arena_clear(&r->arena);
	attrs_add(&header, &r->arena, 'O', crawl_digits(ret->fp, &r->arena));
	attrs_add(&header, &r->arena, 'U', c.url);
	attrs_add(&header, &r->arena, BUCKET_ADDED, r->when);
	if (bucket_put(r->buckets, NULL, &header, &body, &oid, err) < 0)
		return -1;
	ret->where = oid;
	ret->flags &= (uint8_t)~ITEM_CONTRIB;
	r->made++;
	return 0;
}

int crawl_record(struct state *st, const struct crawl *c, uint64_t *ret_made, struct err *err)
{
	struct recording r = {.state = st, .buckets = c->buckets, .arena = ARENA_INIT(1 << 20)};
	snprintf(r.time, sizeof r.time, "%" PRId64, state_params(st)->created_us / US_PER_S);
	r.when = str_of(r.time);
	int rc = crawl_rewrite(st, c, NULL, record_item, &r, err);
	arena_free(&r.arena);
	if (rc)
		return rc;
	*ret_made = r.made;
	return 0;
}
