/* The site list: a table in memory, written as records of many sites each, in order of footprints.
 * Passes ask for sites in any order, so all of them are held; the list is small next to the index.
 * The last record counts the sites, so that a list that was cut is noticed. */
#include "state/sites.h"
#include "state/phase.h"

#include "base/arena.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "disk/record.h"
#include "url/footprint.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PACKED = 64 << 10, SITE_MOST = 1024, TAG_SITES = 's', TAG_END = 'e' };

static const struct record_kind sites_kind = {
	.magic = "GARNERST", .version = 1, .most = PACKED + SITE_MOST};

TABLE(site_table, uint64_t, struct site *, hash_u64, table_same_u64)

struct sites {
	struct arena arena;
	struct site_table table;
	struct site **sorted;
};

struct sites *sites_new(void)
{
	struct sites *s = mem_alloc(sizeof *s);
	s->arena = ARENA_INIT(SIZE_MAX);
	return s;
}

void sites_free(struct sites **ps)
{
	struct sites *s = *ps;
	if (!s)
		return;
	site_table_free(&s->table);
	mem_free(&s->sorted);
	arena_free(&s->arena);
	mem_free(ps);
}

size_t sites_count(const struct sites *s)
{
	return site_table_count(&s->table);
}

struct site *sites_get(const struct sites *s, uint64_t fp)
{
	struct site **found = site_table_get(&s->table, fp);
	return found ? *found : NULL;
}

/* A copy of it is in the list from now on. */
static struct site *sites_add(struct sites *s, const struct site *site)
{
	struct site *copy = arena_alloc(&s->arena, sizeof *copy);
	*copy = *site;
	copy->host = arena_str(&s->arena, site->host);
	*site_table_put(&s->table, site->fp) = copy;
	return copy;
}

struct site *sites_put(struct sites *s, struct url_site site, bool *ret_new)
{
	uint64_t fp = footprint_site(site);
	struct site *found = sites_get(s, fp);
	*ret_new = !found;
	if (found)
		return found;
	return sites_add(s, &(struct site){.fp = fp,
					   .norm = fp,
					   .protocol = site.protocol,
					   .port = site.port,
					   .host = site.host});
}

void sites_remove(struct sites *s, uint64_t fp)
{
	site_table_remove(&s->table, fp);
}

static int by_footprint(const void *a, const void *b)
{
	uint64_t x = (*(struct site *const *)a)->fp, y = (*(struct site *const *)b)->fp;
	return (x > y) - (x < y);
}

struct site *const *sites_sorted(struct sites *s)
{
	size_t n = 0;
	s->sorted = mem_resize(s->sorted, (sites_count(s) + 1) * sizeof(struct site *));
	TABLE_EACH (site_table, slot, &s->table)
		s->sorted[n++] = slot->value;
	qsort(s->sorted, n, sizeof *s->sorted, by_footprint);
	return s->sorted;
}

static void put_site(struct buf *out, const struct site *t)
{
	put_u64le(out, t->fp);
	put_u64le(out, t->norm);
	put_u8(out, (uint8_t)t->protocol);
	put_u16le(out, t->port);
	put_u64le(out, t->qkey);
	put_varint(out, t->active);
	put_varint(out, t->inactive);
	put_varint(out, t->gathered);
	put_varint(out, t->fresh);
	put_varint(out, t->download_ms);
	put_varint(out, t->limit);
	put_varint(out, t->delay_ms);
	put_u8(out, t->error_cycles);
	put_u8(out, t->oscillations);
	put_text(out, t->host);
}

static struct site take_site(struct reader *r)
{
	struct site t = {.fp = reader_u64le(r), .norm = reader_u64le(r)};
	t.protocol = (enum url_protocol)reader_u8(r);
	t.port = reader_u16le(r);
	t.qkey = reader_u64le(r);
	t.active = (uint32_t)reader_varint(r);
	t.inactive = (uint32_t)reader_varint(r);
	t.gathered = (uint32_t)reader_varint(r);
	t.fresh = (uint32_t)reader_varint(r);
	t.download_ms = (uint32_t)reader_varint(r);
	t.limit = (uint32_t)reader_varint(r);
	t.delay_ms = (uint32_t)reader_varint(r);
	t.error_cycles = reader_u8(r);
	t.oscillations = reader_u8(r);
	t.host = reader_text(r, SITE_MOST);
	return t;
}

/* Saving: sites packed into records, then one that says how many there are. */

struct packing {
	struct record_writer *w;
	struct record_group group;
	struct buf packed;
};

static int sites_hand_over(struct packing *p, struct err *err)
{
	if (p->packed.n == 0)
		return 0;
	int rc = record_append(p->w, buf_str(&p->packed), &p->group, NULL, err);
	buf_clear(&p->packed);
	return rc;
}

static int sites_pack(struct packing *p, const struct site *t, struct err *err)
{
	if (p->packed.n > PACKED - SITE_MOST && sites_hand_over(p, err) < 0)
		return -1;
	if (p->packed.n == 0)
		put_u8(&p->packed, TAG_SITES);
	put_site(&p->packed, t);
	return 0;
}

static int sites_pack_all(struct packing *p, struct site *const *sorted, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if (sites_pack(p, sorted[i], err) < 0)
			return -1;
	if (sites_hand_over(p, err) < 0)
		return -1;
	put_u8(&p->packed, TAG_END);
	put_varint(&p->packed, n);
	if (sites_hand_over(p, err) < 0)
		return -1;
	return record_sync(p->w, &p->group, err);
}

int sites_save(struct sites *s, const char *path, struct err *err)
{
	struct packing p = {.packed = BUF_INIT(PACKED + SITE_MOST)};
	if (file_remove(path, err) < 0 || record_open(&p.w, path, &sites_kind, 0644, NULL, err) < 0)
		return -1;
	int rc = sites_pack_all(&p, sites_sorted(s), sites_count(s), err);
	if (rc == 0)
		rc = record_close(&p.w, err);
	record_drop(&p.w);
	buf_free(&p.packed);
	return rc;
}

/* Loading */

static bool site_is_sound(const struct site *t)
{
	return t->port &&
	       (t->protocol == URL_HTTP || t->protocol == URL_HTTPS || t->protocol == URL_FTP);
}

/* 1: the end of the list. */
static int sites_load_record(struct sites *s, struct str payload, struct err *err)
{
	struct reader r = reader_of(payload);
	uint8_t tag = reader_u8(&r);
	if (tag == TAG_END)
		return reader_varint(&r) == sites_count(s) && !r.bad && reader_left(&r) == 0
			       ? 1
			       : err_set(err, ERR_DAMAGED, "sites are missing");
	while (!r.bad && reader_left(&r)) {
		struct site t = take_site(&r);
		if (r.bad || !site_is_sound(&t))
			break;
		if (sites_get(s, t.fp))
			return err_set(err, ERR_DAMAGED, "the site %016" PRIx64 " is there twice",
				       t.fp);
		(void)sites_add(s, &t);
	}
	if (tag != TAG_SITES || r.bad || reader_left(&r))
		return err_set(err, ERR_DAMAGED, "no sites at byte %zu", reader_at(&r));
	return 0;
}

int sites_load(struct sites **ret, const char *path, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	int rc = record_reader_open(&r, path, &sites_kind, err), done = 0;
	if (rc)
		return rc;
	struct sites *s = sites_new();
	while (rc == 0 && !done && (rc = record_next(r, &record, err)) == 0) {
		done = sites_load_record(s, record.payload, err);
		rc = done < 0 ? err_in(err, "%s: record at %" PRIu64, path, record.place.at) : 0;
	}
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s: the end is missing; recovery builds it again",
			     path);
	record_reader_free(&r);
	if (rc == 0)
		*ret = s;
	else
		sites_free(&s);
	return rc;
}

static int print_sites(struct str payload, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	char key[QKEY_TEXT];
	if (reader_u8(&r) == TAG_END) {
		buf_printf(out, "end, %" PRIu64 " sites", reader_varint(&r));
		return 0;
	}
	buf_add_text(out, "sites");
	while (reader_left(&r)) {
		struct site t = take_site(&r);
		if (r.bad)
			return err_set(err, ERR_DAMAGED, "no site at byte %zu", reader_at(&r));
		buf_printf(out,
			   "\n  %016" PRIx64 " %016" PRIx64 " %d " STR_FMT ":%u %s active %" PRIu32
			   " inactive %" PRIu32 " gathered %" PRIu32 " fresh %" PRIu32 " %" PRIu32
			   "ms errors %u",
			   t.fp, t.norm, (int)t.protocol, STR_ARG(t.host), t.port,
			   qkey_print(t.qkey, key), t.active, t.inactive, t.gathered, t.fresh,
			   t.download_ms, t.error_cycles);
	}
	return 0;
}

static int sites_verify(const char *path, struct err *err)
{
	struct sites *s = NULL;
	int rc = records_verify(&sites_format, path, &(struct records_known){.closed = true}, err);
	if (rc == 0)
		rc = sites_load(&s, path, err);
	sites_free(&s);
	return rc;
}

const struct format sites_format = {
	.name = "sites",
	.file = "sites",
	.magic = "GARNERST",
	.version = 1,
	.help = "the sites that a state of the crawl knows",
	.remedy = STATE_REMEDY,
	.records = &sites_kind,
	.show = print_sites,
	.verify = sites_verify,
};
