/* The site list: records of many sites each, in order of footprints, read and written from end to
 * end; and as a table in memory for those who ask for sites in any order. */
#include "state/sites.h"
#include "state/phase.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/table.h"
#include "url/footprint.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PACKED = 64 << 10, SITE_MOST = 1024, TAG_SITES = 's' };

static const struct record_kind sites_kind = {
	.magic = "GARNERST", .version = 2, .most = PACKED + SITE_MOST};

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
	put_varint(out, t->failed_s);
	put_varint(out, t->demand);
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
	t.failed_s = (uint32_t)reader_varint(r);
	t.demand = (uint32_t)reader_varint(r);
	t.host = reader_text(r, SITE_MOST);
	return t;
}

/* Writing: sites packed into records. */

int sites_create(struct counted_writer *ret, const char *path, struct err *err)
{
	return counted_create(ret, path, &sites_kind, err);
}

int sites_write(struct counted_writer *w, const struct site *site, struct err *err)
{
	ENSURE(w->n == 0 || site->fp > w->last);
	if (w->packed.n > PACKED - SITE_MOST && counted_put(w, err) < 0)
		return -1;
	if (w->packed.n == 0)
		put_u8(&w->packed, TAG_SITES);
	put_site(&w->packed, site);
	w->last = site->fp;
	w->n++;
	return 0;
}

int sites_write_all(struct sites *s, struct counted_writer *w, struct err *err)
{
	struct site *const *sorted = sites_sorted(s);
	for (size_t i = 0; i < sites_count(s); i++)
		if (sites_write(w, sorted[i], err) < 0)
			return -1;
	return 0;
}

/* Reading */

static bool site_is_sound(const struct site *t)
{
	return t->port &&
	       (t->protocol == URL_HTTP || t->protocol == URL_HTTPS || t->protocol == URL_FTP);
}

struct sites_scan {
	struct counted_reader in;
	struct site site; /* the last that was given, or looked ahead to */
	bool held;        /* site was looked ahead to, and not given */
};

int sites_scan_open(struct sites_scan **ret, const char *path, struct err *err)
{
	struct sites_scan *s = mem_alloc(sizeof *s);
	int rc = counted_open(&s->in, path, &sites_kind, err);
	if (rc == 0)
		*ret = s;
	else
		sites_scan_free(&s);
	return rc;
}

void sites_scan_free(struct sites_scan **s)
{
	if (*s)
		counted_close(&(*s)->in);
	mem_free(s);
}

int sites_scan_next(struct sites_scan *s, struct site *ret, struct err *err)
{
	struct counted_reader *in = &s->in;
	uint64_t before = s->site.fp;
	uint8_t tag;
	if (s->held) {
		s->held = false;
		*ret = s->site;
		return 0;
	}
	while (reader_left(&in->r) == 0) {
		int rc = counted_next(in, &tag, err);
		if (rc)
			return rc;
		if (tag != TAG_SITES)
			return counted_damaged(in, err, "no sites at byte 0");
	}
	s->site = take_site(&in->r);
	if (in->r.bad || !site_is_sound(&s->site))
		return counted_damaged(in, err, "no site at byte %zu", reader_at(&in->r));
	if (in->n++ && s->site.fp <= before)
		return counted_damaged(in, err, "the site %016" PRIx64 " is not in order",
				       s->site.fp);
	*ret = s->site;
	return 0;
}

int sites_scan_find(struct sites_scan *s, uint64_t fp, const struct site **ret, struct err *err)
{
	struct site site;
	int rc = 0;
	while (s->in.n == 0 || s->site.fp < fp) {
		s->held = false;
		if ((rc = sites_scan_next(s, &site, err)) != 0)
			return rc;
		s->held = true;
	}
	if (s->site.fp != fp)
		return 1;
	*ret = &s->site;
	return 0;
}

uint64_t sites_scan_number(const struct sites_scan *s)
{
	return s->in.n - 1;
}

int sites_load(struct sites **ret, const char *path, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct site site;
	int rc = sites_scan_open(&scan, path, err);
	if (rc)
		return rc;
	struct sites *s = sites_new();
	while ((rc = sites_scan_next(scan, &site, err)) == 0)
		(void)sites_add(s, &site);
	if (rc == 1)
		*ret = s;
	else
		sites_free(&s);
	return rc < 0 ? -1 : 0;
}

static int print_sites(struct str payload, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	char key[QKEY_TEXT];
	if (reader_u8(&r) == COUNTED_END)
		return counted_print_end(&r, "sites", out, err);
	buf_add_text(out, "sites");
	while (reader_left(&r)) {
		struct site t = take_site(&r);
		if (r.bad)
			return err_set(err, ERR_DAMAGED, "no site at byte %zu", reader_at(&r));
		buf_printf(out,
			   "\n  %016" PRIx64 " %016" PRIx64 " %d " STR_FMT ":%u %s active %" PRIu32
			   " inactive %" PRIu32 " gathered %" PRIu32 " fresh %" PRIu32 " %" PRIu32
			   "ms errors %u demand %" PRIu32,
			   t.fp, t.norm, (int)t.protocol, STR_ARG(t.host), t.port,
			   qkey_print(t.qkey, key), t.active, t.inactive, t.gathered, t.fresh,
			   t.download_ms, t.error_cycles, t.demand);
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
	.version = 2,
	.help = "the sites that a state of the crawl knows",
	.remedy = STATE_REMEDY,
	.records = &sites_kind,
	.show = print_sites,
	.verify = sites_verify,
};
