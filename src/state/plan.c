/* The plan on disk: a record per site, with all its URLs, so that reap fills a queue at a time. The
 * last record counts the entries: a plan that was cut is noticed, although every record before the
 * cut is sound. */
#include "state/plan.h"
#include "state/phase.h"

#include "base/cursor.h"
#include "base/file.h"
#include "disk/record.h"
#include "state/url_index.h"

#include <inttypes.h>

enum { ENTRY_MOST = 64, TAG_SITE = 's', TAG_END = 'e' };

static const struct record_kind plan_kind = {
	.magic = "GARNERPL", .version = 2, .most = PLAN_SITE_MOST * ENTRY_MOST + 256};

struct plan_writer {
	struct record_writer *w;
	struct record_group group;
	uint64_t entries;
	struct buf packed;
};

int plan_create(struct plan_writer **ret, const char *path, struct err *err)
{
	struct record_writer *records;
	if (file_remove(path, err) < 0 ||
	    record_open(&records, path, &plan_kind, 0644, NULL, err) < 0)
		return -1;
	struct plan_writer *w = mem_alloc(sizeof *w);
	*w = (struct plan_writer){.w = records, .packed = BUF_INIT(plan_kind.most)};
	*ret = w;
	return 0;
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

int plan_put(struct plan_writer *w, const struct plan_site *site, struct err *err)
{
	struct buf *out = &w->packed;
	for (size_t from = 0; from == 0 || from < site->n; from += PLAN_SITE_MOST) {
		size_t n = MIN(site->n - from, (size_t)PLAN_SITE_MOST);
		buf_clear(out);
		put_u8(out, TAG_SITE);
		put_u64le(out, site->fp);
		put_u64le(out, site->qkey);
		item_put_where(out, site->robots_where);
		put_varint(out, site->delay_ms);
		put_varint(out, n);
		for (size_t i = from; i < from + n; i++)
			plan_put_entry(out, &site->entry[i]);
		if (record_append(w->w, buf_str(out), &w->group, NULL, err) < 0)
			return -1;
		w->entries += n;
	}
	return 0;
}

int plan_finish(struct plan_writer **pw, struct err *err)
{
	struct plan_writer *w = *pw;
	buf_clear(&w->packed);
	put_u8(&w->packed, TAG_END);
	put_varint(&w->packed, w->entries);
	int rc = record_append(w->w, buf_str(&w->packed), &w->group, NULL, err);
	if (rc == 0)
		rc = record_sync(w->w, &w->group, err);
	if (rc == 0)
		rc = record_close(&w->w, err);
	plan_drop(pw);
	return rc;
}

void plan_drop(struct plan_writer **pw)
{
	if (!*pw)
		return;
	record_drop(&(*pw)->w);
	buf_free(&(*pw)->packed);
	mem_free(pw);
}

struct plan_reader {
	struct record_reader *r;
	char *path;
	uint64_t entries;
	bool ended;
};

int plan_open(struct plan_reader **ret, const char *path, struct err *err)
{
	struct record_reader *r;
	int rc = record_reader_open(&r, path, &plan_kind, err);
	if (rc)
		return rc;
	struct plan_reader *p = mem_alloc(sizeof *p);
	*p = (struct plan_reader){.r = r, .path = mem_text(path)};
	*ret = p;
	return 0;
}

void plan_close(struct plan_reader **p)
{
	if (!*p)
		return;
	record_reader_free(&(*p)->r);
	mem_free(&(*p)->path);
	mem_free(p);
}

static int plan_parse(struct str payload, struct arena *arena, struct plan_site *ret,
		      uint64_t *ret_end, struct err *err)
{
	struct reader r = reader_of(payload);
	uint8_t tag = reader_u8(&r);
	if (tag == TAG_END) {
		*ret_end = reader_varint(&r);
		return r.bad || reader_left(&r) ? err_set(err, ERR_DAMAGED, "a wrong end") : 1;
	}
	struct plan_site s = {.fp = reader_u64le(&r), .qkey = reader_u64le(&r)};
	s.robots_where = item_take_where(&r);
	s.delay_ms = (uint32_t)reader_varint(&r);
	uint64_t n = reader_varint(&r);
	if (tag != TAG_SITE || r.bad || n > PLAN_SITE_MOST || n > reader_left(&r))
		return err_set(err, ERR_DAMAGED, "no site of a plan");
	struct plan_entry *entry = arena_array(arena, (size_t)n + 1, sizeof *entry);
	for (uint64_t i = 0; i < n; i++)
		entry[i] = plan_take_entry(&r, s.fp);
	if (r.bad || reader_left(&r))
		return err_set(err, ERR_DAMAGED, "wrong at byte %zu", reader_at(&r));
	s.entry = entry;
	s.n = (size_t)n;
	*ret = s;
	return 0;
}

int plan_next(struct plan_reader *p, struct arena *arena, struct plan_site *ret, struct err *err)
{
	struct record record;
	uint64_t end = 0;
	if (p->ended)
		return 1;
	int rc = record_next(p->r, &record, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: the end of the plan is missing", p->path);
	if (rc < 0)
		return -1;
	rc = plan_parse(record.payload, arena, ret, &end, err);
	if (rc < 0)
		return err_in(err, "%s", p->path);
	p->ended = rc == 1;
	if (rc == 1 && end != p->entries)
		return err_set(err, ERR_DAMAGED, "%s: %" PRIu64 " entries, not %" PRIu64, p->path,
			       p->entries, end);
	p->entries += rc == 0 ? ret->n : 0;
	return rc;
}

static int print_site(struct str payload, struct buf *out, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct plan_site s;
	char key[QKEY_TEXT];
	uint64_t end = 0;
	int rc = plan_parse(payload, &arena, &s, &end, err);
	if (rc == 1)
		buf_printf(out, "end, %" PRIu64 " entries", end);
	if (rc == 0)
		buf_printf(out, "site %016" PRIx64 " %s delay %" PRIu32 "ms, %zu URLs", s.fp,
			   qkey_print(s.qkey, key), s.delay_ms, s.n);
	for (size_t i = 0; rc == 0 && i < s.n; i++)
		buf_printf(out,
			   "\n  %016" PRIx64 " bucket %" PRIx64 " priority %" PRIu32
			   " flags %02x retry %u",
			   s.entry[i].fp.path, s.entry[i].where, s.entry[i].priority,
			   s.entry[i].flags, s.entry[i].retry);
	arena_free(&arena);
	return rc < 0 ? rc : 0;
}

static int plan_verify(const char *path, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct plan_reader *p = NULL;
	struct plan_site site;
	int rc = records_verify(&plan_format, path, &(struct records_known){.closed = true}, err);
	bool read = rc == 0;
	if (read)
		rc = plan_open(&p, path, err);
	while (read && rc == 0 && (rc = plan_next(p, &arena, &site, err)) == 0)
		arena_clear(&arena);
	plan_close(&p);
	arena_free(&arena);
	return read ? MIN(rc, 0) : rc;
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
