/* One pass over an old index and sorted news of its URLs, by which modules make a new index. Most
 * URLs have no news, and most of these stay as they are: runs of such items are copied as bytes,
 * which costs a tenth of reading and writing each. */
#include "state/url_index.h"

#include "base/vec.h"

static int sorted_next(void *ctx, struct str *ret, struct err *err)
{
	return ctx ? sort_next(ctx, ret, err) : 1;
}

struct news_source news_of_sort(struct sort *s)
{
	return (struct news_source){sorted_next, s};
}

struct news_in {
	const struct news_source *from; /* NULL: there are none */
	struct str next;                /* the first record after the group; p NULL: the end */
	struct buf bytes;
	struct str *rec;
	size_t *end; /* of each record in bytes */
	size_t n, room_rec, room_end;
};

static int news_step(struct news_in *in, struct err *err)
{
	struct str rec = {NULL, 0};
	int rc = in->from ? in->from->next(in->from->ctx, &rec, err) : 1;
	if (rc < 0)
		return -1;
	if (rc == 0 && rec.n < FOOTPRINT_KEY)
		return err_set(err, ERR_USAGE, "news of %zu bytes have no footprint", rec.n);
	in->next = rc == 0 ? rec : (struct str){NULL, 0};
	return 0;
}

static void news_add(struct news_in *in)
{
	buf_add_str(&in->bytes, in->next);
	*VEC_PUSH(in->end, in->n, in->room_end) = in->bytes.n;
}

/* All news of a footprint, which may be none. */
static int news_gather(struct news_in *in, struct footprint fp, struct err *err)
{
	char text[FOOTPRINT_TEXT];
	buf_clear(&in->bytes);
	in->n = 0;
	while (in->next.p && footprint_cmp(footprint_of_key(in->next.p), fp) == 0) {
		news_add(in);
		if (in->bytes.over)
			return err_set(err, ERR_USAGE, "more than %zu bytes of news of %s",
				       in->bytes.max, footprint_print(fp, text));
		if (news_step(in, err) < 0)
			return -1;
	}
	VEC_ROOM(in->rec, in->room_rec, in->n);
	for (size_t i = 0; i < in->n; i++) {
		size_t from = i ? in->end[i - 1] : 0;
		in->rec[i] = (struct str){in->bytes.p + from, in->end[i] - from};
	}
	return 0;
}

struct old_in {
	struct url_index_scan *scan;
	struct index_item item;
	bool has;
};

static int old_step(struct old_in *in, struct err *err)
{
	int rc = in->scan ? url_index_next(in->scan, &in->item, err) : 1;
	in->has = rc == 0;
	return rc < 0 ? rc : 0;
}

/* All that stays as it is before the next news. */
static void old_copy(struct old_in *in, const struct news_in *news, const struct index_still *still,
		     struct url_index_writer *out)
{
	struct footprint before = {UINT64_MAX, UINT64_MAX};
	if (news->next.p)
		before = footprint_of_key(news->next.p);
	url_index_copy(in->scan, out, still, before);
}

/* One footprint: the smallest that is left. */
static int apply_one(struct old_in *old, struct news_in *news, const struct index_still *still,
		     url_index_fn *fn, void *ctx, struct url_index_writer *out, struct err *err)
{
	struct footprint fp = old->has ? old->item.fp : footprint_of_key(news->next.p);
	if (news->next.p && footprint_cmp(footprint_of_key(news->next.p), fp) < 0)
		fp = footprint_of_key(news->next.p);
	bool known = old->has && footprint_cmp(old->item.fp, fp) == 0;
	struct index_item was = old->item;
	struct index_item item = known ? was : (struct index_item){.fp = fp, .where = ITEM_NOWHERE};
	if (news_gather(news, fp, err) < 0)
		return -1;
	struct index_news about = {known ? &was : NULL, fp, news->rec, news->n};
	int rc = fn(ctx, &about, &item, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		url_index_put(out, &item);
	if (known && still)
		old_copy(old, news, still, out);
	return known ? old_step(old, err) : 0;
}

int url_index_apply(const struct url_index *old, const struct news_source *news, size_t most,
		    const struct index_still *still, url_index_fn *fn, void *ctx,
		    struct url_index_writer *out, struct err *err)
{
	struct old_in o = {0};
	struct news_in in = {.from = news, .bytes = BUF_INIT(most)};
	int rc = old ? url_index_scan(&o.scan, old, (struct footprint){0, 0}, err) : 0;
	if (rc == 0)
		rc = old_step(&o, err);
	if (rc == 0)
		rc = news_step(&in, err);
	while (rc == 0 && (o.has || in.next.p))
		rc = apply_one(&o, &in, still, fn, ctx, out, err);
	url_index_scan_free(&o.scan);
	buf_free(&in.bytes);
	mem_free(&in.rec);
	mem_free(&in.end);
	return rc;
}
