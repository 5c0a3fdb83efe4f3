#include "support/crawl_play.h"

#include "base/clock.h"
#include "base/hash.h"
#include "bucket/bucket_shake.h"
#include "state/plan.h"

#include <inttypes.h>
#include <stdio.h>

enum { MEMORY = 8 << 20 };

struct str play_url(uint64_t page, char ret[PLAY_URL])
{
	int n = snprintf(ret, PLAY_URL, "http://site%" PRIu64 ".example/page?n=%" PRIu64,
			 page / PLAY_PER_SITE, page);
	return (struct str){ret, (size_t)n};
}

struct footprint play_footprint(uint64_t page)
{
	char text[PLAY_URL], room[URL_MAX];
	struct url url;
	if (url_parse(play_url(page, text), NULL, room, sizeof room, &url) != 0)
		die("page %" PRIu64 " has no URL", page);
	return footprint_of(&url);
}

struct str play_text(struct arena *arena, uint64_t page, uint64_t version)
{
	uint64_t x = page * 0x2545f4914f6cdd1du + version * 0x9e3779b97f4a7c15u + 1;
	struct buf b = BUF_INIT(64 << 10);
	buf_printf(&b, "page %" PRIu64 " version %" PRIu64, page, version);
	for (size_t n = 20 + (size_t)(x >> 33) % 300; n; n--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buf_printf(&b, " w%03u", (unsigned)(x % 997));
	}
	struct str text = arena_str(arena, buf_str(&b));
	buf_free(&b);
	return text;
}

/* Opening */

int play_open(struct play *ret, const char *folder, int64_t now_us, struct recovery *told,
	      struct err *err)
{
	struct play p = {.arena = ARENA_INIT(SIZE_MAX), .now_us = now_us};
	struct recovery r = {0};
	int rc = states_open(&p.s, folder, true, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_USAGE, "%s: no crawl is here", folder);
	rc = states_recover(p.s, now_us, &r, err);
	if (rc < 0) {
		recovery_free(&r);
		play_close(&p);
		return rc;
	}
	if (told)
		*told = r;
	else
		recovery_free(&r);
	char *objects = states_path(p.s, &p.arena, "objects");
	p.packer = bucket_packer_new(bucket_dict_path(&p.arena, objects));
	*ret = p;
	return 0;
}

void play_close(struct play *p)
{
	state_free(&p->st);
	bucket_drop(&p->buckets);
	bucket_packer_free(&p->packer);
	states_close(&p->s);
	arena_free(&p->arena);
}

static int open_buckets(struct play *p, enum bucket_mode mode, struct err *err)
{
	const struct bucket_options options = {.mode = mode};
	if (p->buckets)
		return 0;
	return bucket_open(&p->buckets, states_path(p->s, &p->arena, "objects"), &options, err);
}

static int take_newest(struct play *p, struct state **ret, struct err *err)
{
	int rc = state_open(ret, p->s, "current", err);
	return rc == 1 ? err_set(err, ERR_USAGE, "there is no state") : rc;
}

/* A clone of the newest state; an open one is gone on with. */
static int next_state(struct play *p, bool contrib, struct err *err)
{
	struct state *from = NULL;
	state_free(&p->st);
	if (take_newest(p, &from, err) < 0)
		return -1;
	if (!phase_is_done(state_phase(from))) {
		p->st = from;
		return 0;
	}
	int rc = state_clone(&p->st, from, contrib, p->now_us, err);
	state_free(&from);
	return rc;
}

/* What is gathered does not follow from it, but it is there. */
static int write_plan(struct play *p, struct err *err)
{
	struct plan_writer *w;
	const struct plan_entry entry = {.fp = play_footprint(0), .where = ITEM_NOWHERE};
	const struct plan_site site = {
		.fp = entry.fp.site, .robots_where = ITEM_NOWHERE, .entry = &entry, .n = 1};
	struct arena_mark mark = arena_mark(&p->arena);
	int rc = plan_create(&w, state_path(p->st, &p->arena, "plan"), err);
	arena_reset(&p->arena, mark);
	if (rc < 0)
		return -1;
	if (plan_put(w, &site, err) == 0)
		return plan_finish(&w, err);
	plan_drop(&w);
	return -1;
}

int play_begin(struct play *p, struct err *err)
{
	if (next_state(p, false, err) < 0 || open_buckets(p, BUCKET_APPEND, err) < 0)
		return -1;
	if (state_phase(p->st) == PHASE_REAP)
		return 0;
	return write_plan(p, err) < 0 ? -1 : state_enter(p->st, PHASE_REAP, NULL, p->now_us, err);
}

/* Reap */

static struct str hex_md5(struct play *p, struct str text, unsigned char sum[16])
{
	char hex[33];
	md5(text, sum);
	hex_print(sum, 16, hex);
	return arena_str(&p->arena, str_of(hex));
}

static int put_bucket(struct play *p, uint64_t page, uint64_t version, unsigned char sum[16],
		      uint32_t *ret, struct err *err)
{
	struct attrs header = {0}, body = {0};
	struct arena *a = &p->arena;
	struct footprint fp = play_footprint(page);
	char url[PLAY_URL];
	struct str text = play_text(a, page, version);
	attrs_add(&header, a, 'U', play_url(page, url));
	attrs_add(&header, a, 'O',
		  str_of(arena_printf(a, "%016" PRIx64 "%016" PRIx64, fp.site, fp.path)));
	attrs_add(&body, a, 'D', str_of(arena_printf(a, "%" PRId64, p->now_us / US_PER_S)));
	attrs_add(&body, a, 'T', STR("text/html"));
	attrs_add(&body, a, 'C', hex_md5(p, text, sum));
	attrs_add(&body, a, 'M', str_of(arena_printf(a, "3tPage %" PRIu64, page)));
	attrs_add(&body, a, 'R', play_url(page + 1, arena_alloc(a, PLAY_URL)));
	attrs_add(&body, a, 'X', text);
	return bucket_put(p->buckets, p->packer, &header, &body, ret, err);
}

static int note(struct play *p, uint64_t page, enum change_op op, enum item_type type,
		uint16_t status, uint64_t where, const unsigned char *sum, struct err *err)
{
	char url[PLAY_URL];
	struct journal_entry e = {.fp = play_footprint(page),
				  .time_us = p->now_us,
				  .op = op,
				  .type = type,
				  .status = status,
				  .where = where,
				  .download_ms = 10,
				  .url = play_url(page, url),
				  .reason = op == CHANGE_DELETE ? STR("not found") : STR("")};
	if (sum)
		memcpy(e.md5, sum, sizeof e.md5);
	return state_journal(p->st, &e, err);
}

int play_gather(struct play *p, uint64_t page, uint64_t version, struct err *err)
{
	struct arena_mark mark = arena_mark(&p->arena);
	unsigned char sum[16];
	char url[PLAY_URL];
	uint32_t oid;
	p->now_us += US_PER_S;
	int rc = put_bucket(p, page, version, sum, &oid, err);
	if (rc == 0)
		rc = note(p, page, CHANGE_UPDATE, ITEM_GATHERED, 200, oid, sum, err);
	struct contrib found = {.fp = play_footprint(page + 1),
				.weight = 128,
				.from = play_footprint(page),
				.url = play_url(page + 1, url)};
	if (rc == 0)
		rc = state_contrib(p->st, &found, NULL, err);
	arena_reset(&p->arena, mark);
	return rc;
}

int play_refresh(struct play *p, uint64_t page, struct err *err)
{
	p->now_us += US_PER_S;
	return note(p, page, CHANGE_REFRESH, ITEM_GATHERED, 304, ITEM_NOWHERE, NULL, err);
}

int play_delete(struct play *p, uint64_t page, struct err *err)
{
	p->now_us += US_PER_S;
	return note(p, page, CHANGE_DELETE, ITEM_ERROR, 404, ITEM_NOWHERE, NULL, err);
}

int play_checkpoint(struct play *p, struct err *err)
{
	return state_checkpoint(p->st, p->buckets, p->now_us, err);
}

/* Cork and merge */

static int cork_one(void *ctx, const struct index_news *about, struct index_item *ret,
		    struct err *err)
{
	struct play *p = ctx;
	for (size_t i = 0; i < about->n; i++) {
		struct journal_entry e;
		if (journal_read(about->news[i], &e, err) < 0)
			return -1;
		if (!about->old && i == 0)
			ret->since_day = (uint16_t)(p->now_us / US_PER_DAY);
		ret->type = e.type;
		ret->status = e.status;
		ret->last_seen_s = (uint32_t)(e.time_us / US_PER_S);
		if (e.where != ITEM_NOWHERE) {
			ret->where = e.where;
			ret->flags &= (uint8_t)~ITEM_CONTRIB;
		}
	}
	return 0;
}

static int merge_one(void *ctx, const struct index_news *about, struct index_item *ret,
		     struct err *err)
{
	struct play *p = ctx;
	struct contrib found;
	if (about->old)
		return 0;
	if (contrib_read(about->news[0], &found, err) < 0)
		return -1;
	ret->type = ITEM_NEW;
	ret->weight = found.weight;
	ret->since_day = (uint16_t)(p->now_us / US_PER_DAY);
	const struct change change = {.fp = about->fp,
				      .time_us = p->now_us,
				      .op = CHANGE_ADD,
				      .by = PHASE_MERGE,
				      .url = found.url,
				      .reason = STR("found on a page")};
	return state_change(p->st, &change, err);
}

static int sort_file(struct play *p, const char *file, struct sort **ret, struct err *err)
{
	const struct sort_spec spec = {.order = FOOTPRINT_ORDER,
				       .memory = MEMORY,
				       .folder = states_path(p->s, &p->arena, "")};
	struct record_reader *r = NULL;
	struct record record;
	int rc = sort_new(ret, &spec, err);
	if (rc == 0)
		rc = state_read(p->st, file, &r, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0)
		rc = sort_add(*ret, record.payload, err);
	record_reader_free(&r);
	/* of damaged contributions, those before the damage, as merge does */
	if (rc < 0 && err->code == ERR_DAMAGED && strcmp(file, "contrib") == 0)
		rc = 0;
	return rc < 0 ? rc : 0;
}

static int apply(struct play *p, const char *file, url_index_fn *fn, struct err *err)
{
	struct sort *news = NULL;
	const struct url_index *old;
	struct url_index_writer *w = NULL;
	int rc = sort_file(p, file, &news, err);
	if (rc == 0)
		rc = state_index(p->st, &old, err);
	if (rc == 0)
		rc = state_index_create(p->st, &w, err);
	if (rc == 0)
		rc = url_index_apply(old, news, 1 << 20, NULL, fn, p, w, err);
	if (rc == 0)
		rc = state_index_put(p->st, &w, err);
	url_index_drop(&w);
	sort_free(&news);
	return rc;
}

int play_cork(struct play *p, struct err *err)
{
	if (!p->st && next_state(p, true, err) < 0)
		return -1;
	if (state_enter(p->st, PHASE_CORK, p->buckets, p->now_us, err) < 0 ||
	    apply(p, "journal", cork_one, err) < 0)
		return -1;
	return state_enter(p->st, PHASE_CORKED, NULL, p->now_us, err);
}

/* The site of the first pages is known, and a page that nobody gathers is forgotten. */
static int select_some(struct play *p, struct err *err)
{
	char text[PLAY_URL], room[URL_MAX];
	struct url url;
	struct sites *sites;
	bool is_new;
	const struct gone gone = {play_footprint(PLAY_FORGOTTEN), p->now_us, GONE_RANK};
	if (url_parse(play_url(0, text), NULL, room, sizeof room, &url) != 0 ||
	    state_sites(p->st, &sites, err) < 0)
		return -1;
	(void)sites_put(sites, url_site(&url), &is_new);
	int rc = state_sites_put(p->st, sites, err);
	sites_free(&sites);
	return rc < 0 ? rc : state_gone(p->st, &gone, err);
}

int play_merge(struct play *p, struct err *err)
{
	p->now_us += US_PER_S;
	if (next_state(p, true, err) < 0 ||
	    state_enter(p->st, PHASE_MERGE, NULL, p->now_us, err) < 0 ||
	    apply(p, "contrib", merge_one, err) < 0 || select_some(p, err) < 0)
		return -1;
	return state_enter(p->st, PHASE_CLOSED, NULL, p->now_us, err);
}

/* Cleanup */

struct cleaning {
	const struct url_index *index;
	struct arena arena;
};

static int fate(void *ctx, const struct bucket *old, uint32_t new_oid, struct bucket_fate *ret,
		struct err *err)
{
	struct cleaning *c = ctx;
	struct attrs header = {0};
	struct footprint fp;
	struct index_item item;
	(void)new_oid;
	(void)ret;
	if (bucket_header(old->type, old->data, &c->arena, &header, NULL, err) < 0)
		return -1;
	bool named = footprint_parse(attrs_get(&header, 'O'), &fp);
	int rc = named ? url_index_find(c->index, fp, &item, err) : 1;
	arena_clear(&c->arena);
	return rc ? rc : item.where != old->oid;
}

int play_cleanup(struct play *p, struct err *err)
{
	struct cleaning c = {.arena = ARENA_INIT(64 << 20)};
	struct bucket_shaken shaken;
	p->now_us += US_PER_S;
	bucket_drop(&p->buckets);
	if (next_state(p, false, err) < 0 ||
	    state_enter(p->st, PHASE_CLEANUP, NULL, p->now_us, err) < 0 ||
	    state_index(p->st, &c.index, err) < 0 || open_buckets(p, BUCKET_APPEND, err) < 0)
		return -1;
	int rc = bucket_shakedown(p->buckets, fate, &c, &shaken, err);
	arena_free(&c.arena);
	if (rc == 0)
		rc = state_renumber(p->st, NULL, err);
	if (rc == 0)
		rc = state_enter(p->st, PHASE_CLOSED, p->buckets, p->now_us, err);
	bucket_drop(&p->buckets);
	return rc;
}

/* Looking */

/* The newest state, and what its journal said last of each page while it is open. */
struct view {
	struct state *st;
	struct journal_entry last[PLAY_PAGES];
	bool told[PLAY_PAGES];
};

static int page_of(struct str url, uint64_t *ret)
{
	struct str n = str_from(url, str_find(url, STR("n=")) + 2);
	return str_u64(n, ret) && *ret < PLAY_PAGES ? 0 : 1;
}

static int read_view(struct play *p, struct view *v, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	struct journal_entry e;
	uint64_t page;
	if (take_newest(p, &v->st, err) < 0)
		return -1;
	int rc = phase_is_done(state_phase(v->st)) ? 1 : state_read(v->st, "journal", &r, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = journal_read(record.payload, &e, err);
		if (rc == 0 && page_of(e.url, &page) == 0) {
			e.url = e.reason = STR("");
			uint64_t where = v->told[page] ? v->last[page].where : ITEM_NOWHERE;
			e.where = e.where == ITEM_NOWHERE ? where : e.where;
			v->last[page] = e;
			v->told[page] = true;
		}
	}
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

static int check_bucket(struct play *p, uint64_t page, uint64_t oid, uint64_t *ret, struct err *err)
{
	struct attrs header = {0}, body = {0};
	uint64_t number = 0, version = 0;
	char url[PLAY_URL];
	int rc = bucket_get(p->buckets, p->packer, (uint32_t)oid, &p->arena, &header, &body, err);
	if (rc)
		return rc < 0 ? rc
			      : err_set(err, ERR_DAMAGED,
					"page %" PRIu64 ": bucket %" PRIx64 " is not there", page,
					oid);
	struct str text = attrs_get(&body, 'X');
	bool said = text.p && sscanf(arena_text(&p->arena, str_head(text, 100)),
				     "page %" SCNu64 " version %" SCNu64, &number, &version) == 2;
	if (!said || number != page || !str_eq(attrs_get(&header, 'U'), play_url(page, url)) ||
	    !str_eq(text, play_text(&p->arena, page, version)))
		return err_set(err, ERR_DAMAGED,
			       "page %" PRIu64 ": bucket %" PRIx64 " has other bytes", page, oid);
	*ret = version;
	return 0;
}

static int version_in(struct play *p, struct view *v, uint64_t page, uint64_t *ret, struct err *err)
{
	struct arena_mark mark = arena_mark(&p->arena);
	const struct journal_entry *e = &v->last[page];
	struct index_item item = {.where = ITEM_NOWHERE};
	const struct url_index *index;
	int rc = state_index(v->st, &index, err);
	if (rc == 0)
		rc = url_index_find(index, play_footprint(page), &item, err);
	if (rc < 0)
		return -1;
	enum item_type type = v->told[page] ? e->type : rc == 0 ? item.type : ITEM_NEW;
	uint64_t where = v->told[page] && e->where != ITEM_NOWHERE ? e->where : item.where;
	rc = type == ITEM_GATHERED ? check_bucket(p, page, where, ret, err) : 1;
	arena_reset(&p->arena, mark);
	return rc;
}

/* Operations by number */

enum play_kind play_model_op(struct play_model *m, uint64_t k, uint64_t *ret_page)
{
	uint64_t page = hash_u64(k + 1) % PLAY_PAGES;
	enum play_kind kind = m->version[page] == 0 ? PLAY_GATHER
			      : k % 7 == 3          ? PLAY_REFRESH
			      : k % 13 == 8         ? PLAY_DELETE
						    : PLAY_GATHER;
	if (kind != PLAY_REFRESH)
		m->version[page] = kind == PLAY_GATHER ? k + 1 : 0;
	*ret_page = page;
	return kind;
}

int play_op(struct play *p, struct play_model *m, uint64_t k, struct err *err)
{
	uint64_t page;
	p->now_us = PLAY_START + (int64_t)k * US_PER_S;
	switch (play_model_op(m, k, &page)) {
	case PLAY_GATHER:
		return play_gather(p, page, k + 1, err);
	case PLAY_REFRESH:
		return play_refresh(p, page, err);
	default:
		return play_delete(p, page, err);
	}
}

static int last_in_index(struct state *st, int64_t *last_s, struct err *err)
{
	const struct url_index *index;
	struct url_index_scan *scan;
	struct index_item item;
	if (state_index(st, &index, err) < 0 ||
	    url_index_scan(&scan, index, (struct footprint){0, 0}, err) < 0)
		return -1;
	int rc;
	while ((rc = url_index_next(scan, &item, err)) == 0)
		*last_s = MAX(*last_s, (int64_t)item.last_seen_s);
	url_index_scan_free(&scan);
	return rc < 0 ? rc : 0;
}

static int last_in_journal(struct state *st, int64_t *last_s, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	struct journal_entry e;
	int rc = state_read(st, "journal", &r, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = journal_read(record.payload, &e, err);
		if (rc == 0)
			*last_s = MAX(*last_s, e.time_us / US_PER_S);
	}
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

int play_ops(struct play *p, uint64_t *ret, struct err *err)
{
	struct state *st = NULL;
	int64_t last_s = PLAY_START / US_PER_S;
	if (take_newest(p, &st, err) < 0)
		return -1;
	int rc = last_in_index(st, &last_s, err);
	if (rc == 0 && !phase_is_done(state_phase(st)))
		rc = last_in_journal(st, &last_s, err);
	state_free(&st);
	if (rc == 0)
		*ret = (uint64_t)(last_s - PLAY_START / US_PER_S);
	return rc;
}

int play_check(struct play *p, uint64_t n, bool later, struct err *err)
{
	struct play_model m = {0};
	struct view *v = mem_alloc(sizeof *v);
	uint64_t page;
	for (uint64_t k = 0; k < n; k++)
		(void)play_model_op(&m, k, &page);
	int rc = open_buckets(p, BUCKET_APPEND, err);
	if (rc == 0)
		rc = read_view(p, v, err);
	for (page = 0; rc == 0 && page < PLAY_PAGES; page++) {
		uint64_t version = 0;
		rc = version_in(p, v, page, &version, err) < 0 ? -1 : 0;
		if (rc == 0 && (later ? version < m.version[page] : version != m.version[page]))
			rc = err_set(err, ERR_USAGE,
				     "page %" PRIu64 " has version %" PRIu64 ", not %" PRIu64
				     ", after %" PRIu64 " operations",
				     page, version, m.version[page], n);
	}
	state_free(&v->st);
	mem_free(&v);
	return rc;
}

bool play_followed(struct states *s, int64_t now_us)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	struct err err;
	size_t n = 0;
	bool followed =
		states_list(s, now_us, &arena, &list, &n, &err) == 0 && n > 0 && list[n - 1].locked;
	arena_free(&arena);
	return followed;
}
