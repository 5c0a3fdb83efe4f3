/* The plan on disk: a counted list with a record per site, with all its URLs, so that reap fills a
 * queue at a time. */
#include "state/plan.h"
#include "state/phase.h"

#include "state/url_index.h"

#include <inttypes.h>

enum { ENTRY_MOST = 64, TAG_SITE = 's' };

static const struct record_kind plan_kind = {
	.magic = "GARNERPL", .version = 2, .most = PLAN_SITE_MOST * ENTRY_MOST + 256};

int plan_create(struct counted_writer *ret, const char *path, struct err *err)
{
	return counted_create(ret, path, &plan_kind, err);
}

/* All entries have the site of the record, so its half of the footprint is not repeated. */
static void plan_put_entry(struct buf *out, const struct plan_entry *e)
{
	put_u64le(out, e->fp.path);
	item_put_where(out, e->where);
	put_varint(out, e->priority);
	put_u8(out, e->flags);
	put_u8(out, e->item_flags);
	put_u8(out, e->retry);
	put_u8(out, e->weight);
	put_u8(out, e->section);
	put_u8(out, e->hops);
}

static struct plan_entry plan_take_entry(struct reader *r, uint64_t site)
{
	struct plan_entry e = {.fp = {site, reader_u64le(r)}, .where = item_take_where(r)};
	e.priority = (uint32_t)reader_varint(r);
	e.flags = reader_u8(r);
	e.item_flags = reader_u8(r);
	e.retry = reader_u8(r);
	e.weight = reader_u8(r);
	e.section = reader_u8(r);
	e.hops = reader_u8(r);
	return e;
}

int plan_put(struct counted_writer *w, const struct plan_site *site, struct err *err)
{
	struct buf *out = &w->packed;
	for (size_t from = 0; from == 0 || from < site->n; from += PLAN_SITE_MOST) {
		size_t n = MIN(site->n - from, (size_t)PLAN_SITE_MOST);
		put_u8(out, TAG_SITE);
		put_u64le(out, site->fp);
		put_u64le(out, site->qkey);
		item_put_where(out, site->robots_where);
		put_varint(out, site->delay_ms);
		put_varint(out, n);
		for (size_t i = from; i < from + n; i++)
			plan_put_entry(out, &site->entry[i]);
		w->n += n;
		if (counted_put(w, err) < 0)
			return -1;
	}
	return 0;
}

int plan_open(struct counted_reader *ret, const char *path, struct err *err)
{
	return counted_open(ret, path, &plan_kind, err);
}

/* A record, after its tag. False: it is none. */
static bool plan_take_site(struct reader *r, uint8_t tag, struct arena *arena,
			   struct plan_site *ret)
{
	struct plan_site s = {.fp = reader_u64le(r), .qkey = reader_u64le(r)};
	s.robots_where = item_take_where(r);
	s.delay_ms = (uint32_t)reader_varint(r);
	uint64_t n = reader_varint(r);
	if (tag != TAG_SITE || r->bad || n > PLAN_SITE_MOST || n > reader_left(r))
		return false;
	struct plan_entry *entry = arena_array(arena, (size_t)n + 1, sizeof *entry);
	for (uint64_t i = 0; i < n; i++)
		entry[i] = plan_take_entry(r, s.fp);
	s.entry = entry;
	s.n = (size_t)n;
	*ret = s;
	return !r->bad && reader_left(r) == 0;
}

int plan_next(struct counted_reader *in, struct arena *arena, struct plan_site *ret,
	      struct err *err)
{
	uint8_t tag;
	int rc = counted_next(in, &tag, err);
	if (rc)
		return rc;
	if (!plan_take_site(&in->r, tag, arena, ret))
		return counted_damaged(in, err, "no site of a plan at byte %zu", reader_at(&in->r));
	in->n += ret->n;
	return 0;
}

static int print_site(struct str payload, struct buf *out, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct reader r = reader_of(payload);
	struct plan_site s;
	char key[QKEY_TEXT];
	uint8_t tag = reader_u8(&r);
	if (tag == COUNTED_END)
		return counted_print_end(&r, "entries", out, err);
	if (!plan_take_site(&r, tag, &arena, &s))
		return err_set(err, ERR_DAMAGED, "no site at byte %zu", reader_at(&r));
	buf_printf(out, "site %016" PRIx64 " %s delay %" PRIu32 "ms, %zu URLs", s.fp,
		   qkey_print(s.qkey, key), s.delay_ms, s.n);
	for (size_t i = 0; i < s.n; i++)
		buf_printf(out,
			   "\n  %016" PRIx64 " bucket %" PRIx64 " priority %" PRIu32
			   " flags %02x retry %u",
			   s.entry[i].fp.path, s.entry[i].where, s.entry[i].priority,
			   s.entry[i].flags, s.entry[i].retry);
	return 0;
}

static int plan_verify(const char *path, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	CLEANUP(counted_close) struct counted_reader in = {0};
	struct plan_site site;
	int rc = records_verify(&plan_format, path, &(struct records_known){.closed = true}, err);
	if (rc)
		return rc;
	rc = plan_open(&in, path, err);
	while (rc == 0 && (rc = plan_next(&in, &arena, &site, err)) == 0)
		arena_clear(&arena);
	return MIN(rc, 0);
}

const struct format plan_format = {
	.name = "plan",
	.file = "plan",
	.magic = "GARNERPL",
	.version = 2,
	.help = "what a cycle of the crawl is to gather",
	.remedy = STATE_REMEDY,
	.records = &plan_kind,
	.show = print_site,
	.verify = plan_verify,
};
