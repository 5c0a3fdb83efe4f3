#include "support/crawl_play.h"

#include "base/clock.h"
#include "base/hash.h"
#include "shepherd/code.h"
#include "state/plan.h"

#include <inttypes.h>
#include <stdio.h>

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

struct crawl_conf play_conf(void)
{
	static const char *const all_errors[] = {"all"};
	const int64_t month_us = 30 * US_PER_DAY;
	return (struct crawl_conf){
		.cycle_us = 10 * US_PER_S,
		.plan_max = 1000000,
		.site_max = 1000000,
		.active_max = 1000000,
		.remember_max = 1000000,
		.refresh_us = month_us,
		.retry_us = 60 * US_PER_S,
		.retries = 3,
		.forget_us = month_us,
		.sort_memory = 1 << 20,
		.memory = 64 << 20,
		.merge_every = 1,
		.est_raw_performance = 1000,
		.reap_optimism = 1,
		.reap_slowdown = 1,
		.duty_factor = 1,
		.site_err_retry = 8,
		.site_err_expire_us = month_us,
		.redirect_to_zombie_us = month_us,
		.default_insert_weight = 96,
		.hard_limit_factor = 2,
		.frequent_factor = 0.25,
		.stability_factor = 1,
		.safety_brake_limit = 10,
		.min_eq_frequency = 1,
		.max_err_frequency = 1,
		.refresh_schema = "4:0.3 2:0.7",
		.bucket_file_size = UINT64_C(400) << 30,
		.avg_bucket_size = 4096,
		.avg_url_size = 128,
		.periodic_cleanup_us = month_us,
		.zombie_errors = {all_errors, 1},
	};
}

int play_open(struct play *ret, const char *folder, int64_t now_us, struct recovery *told,
	      struct err *err)
{
	struct play p = {.arena = ARENA_INIT(SIZE_MAX), .now_us = now_us, .conf = play_conf()};
	const struct filter_defaults defaults = {.follow_all = true};
	struct recovery r = {0};
	if (filter_parse(STR(""), "filter", &defaults, &p.filter, err) < 0 ||
	    schema_parse(str_of(p.conf.refresh_schema), &p.schema, err) < 0)
		return -1;
	int rc = states_open(&p.s, folder, true, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: no crawl is here", folder);
	if (rc == 0)
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
	filter_free(&p->filter);
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

int play_next(struct play *p, bool contrib, struct err *err)
{
	struct state *from = NULL;
	state_free(&p->st);
	if (open_buckets(p, BUCKET_APPEND, err) < 0 || take_newest(p, &from, err) < 0)
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
	struct counted_writer w;
	const struct plan_entry entry = {.fp = play_footprint(0), .where = ITEM_NOWHERE};
	const struct plan_site site = {
		.fp = entry.fp.site, .robots_where = ITEM_NOWHERE, .entry = &entry, .n = 1};
	struct arena_mark mark = arena_mark(&p->arena);
	int rc = plan_create(&w, state_path(p->st, &p->arena, "plan"), err);
	arena_reset(&p->arena, mark);
	if (rc < 0)
		return -1;
	if (plan_put(&w, &site, err) == 0)
		return counted_finish(&w, err);
	counted_drop(&w);
	return -1;
}

int play_begin(struct play *p, struct err *err)
{
	if (play_next(p, false, err) < 0)
		return -1;
	if (state_phase(p->st) == PHASE_REAP)
		return 0;
	return write_plan(p, err) < 0 ? -1 : state_enter(p->st, PHASE_REAP, NULL, p->now_us, err);
}

/* Reap */

/* Nobody knew a page that was asked for by hand. */
static uint8_t page_flags(struct play *p, uint64_t page)
{
	const struct url_index *index;
	struct index_item item;
	struct err err;
	bool known = state_index(p->st, &index, &err) == 0 &&
		     url_index_find(index, play_footprint(page), &item, &err) == 0;
	return known ? 0 : ITEM_INITIAL;
}

static struct str hex_md5(struct play *p, struct str text, unsigned char sum[16])
{
	char hex[33];
	md5(text, sum);
	hex_print(sum, 16, hex);
	return arena_str(&p->arena, str_of(hex));
}

int play_bucket(struct play *p, uint64_t page, uint64_t version, unsigned char sum[16],
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
		uint16_t code, uint64_t where, const unsigned char *sum, struct err *err)
{
	char url[PLAY_URL];
	struct qkey_addr server = {.b = {192, 0, 2, (uint8_t)(page / PLAY_PER_SITE)}};
	struct journal_entry e = {.fp = play_footprint(page),
				  .time_us = p->now_us,
				  .op = op,
				  .type = type,
				  .flags = page_flags(p, page),
				  .code = code,
				  .where = where,
				  .download_ms = 10,
				  .url = play_url(page, url),
				  .reason = op == CHANGE_DELETE ? STR("not found") : STR("")};
	const struct journal_entry key = journal_of_key(e.fp.site, qkey_of(&server, 0), e.time_us);
	if (sum)
		memcpy(e.md5, sum, sizeof e.md5);
	return state_journal(p->st, &e, err) < 0 ? -1 : state_journal(p->st, &key, err);
}

int play_link(struct play *p, uint64_t from, uint64_t to, struct err *err)
{
	char url[PLAY_URL];
	const struct contrib found = {.fp = play_footprint(to),
				      .weight = 128,
				      .from = play_footprint(from),
				      .url = play_url(to, url)};
	return state_contrib(p->st, &found, NULL, err);
}

int play_gather(struct play *p, uint64_t page, uint64_t version, struct err *err)
{
	struct arena_mark mark = arena_mark(&p->arena);
	unsigned char sum[16];
	uint32_t oid;
	p->now_us += US_PER_S;
	int rc = play_bucket(p, page, version, sum, &oid, err);
	if (rc == 0)
		rc = note(p, page, CHANGE_UPDATE, ITEM_GATHERED, CODE_OK, oid, sum, err);
	if (rc == 0)
		rc = play_link(p, page, page + 1, err);
	arena_reset(&p->arena, mark);
	return rc;
}

int play_refresh(struct play *p, uint64_t page, struct err *err)
{
	p->now_us += US_PER_S;
	return note(p, page, CHANGE_REFRESH, ITEM_GATHERED, CODE_NOT_MODIFIED, ITEM_NOWHERE, NULL,
		    err);
}

int play_delete(struct play *p, uint64_t page, struct err *err)
{
	p->now_us += US_PER_S;
	return note(p, page, CHANGE_DELETE, ITEM_ERROR, 2404, ITEM_NOWHERE, NULL, err);
}

int play_checkpoint(struct play *p, struct err *err)
{
	return state_checkpoint(p->st, p->buckets, p->now_us, err);
}

/* The modules */

struct crawl play_crawl(const struct play *p)
{
	return (struct crawl){.conf = &p->conf,
			      .filter = p->filter,
			      .schema = p->schema,
			      .delay_us = 10 * US_PER_S,
			      .concurrent = 1,
			      .cycle_us = p->conf.cycle_us,
			      .now_us = p->now_us,
			      .buckets = p->buckets};
}

static int play_enter(struct play *p, enum phase phase, struct err *err)
{
	return state_enter(p->st, phase, p->buckets, p->now_us, err);
}

int play_cork(struct play *p, struct err *err)
{
	const struct crawl c = play_crawl(p);
	if (!p->st && play_next(p, true, err) < 0)
		return -1;
	if (play_enter(p, PHASE_CORK, err) < 0 || crawl_cork(p->st, &c, err) < 0)
		return -1;
	return play_enter(p, PHASE_CORKED, err);
}

static int forget_one(struct play *p, struct err *err)
{
	const struct gone gone = {play_footprint(PLAY_FORGOTTEN), p->now_us, GONE_RANK};
	return state_gone(p->st, &gone, err);
}

int play_merge(struct play *p, struct err *err)
{
	struct merged merged;
	struct selected selected;
	uint64_t n;
	p->now_us += US_PER_S;
	if (play_next(p, true, err) < 0)
		return -1;
	const struct crawl c = play_crawl(p);
	if (play_enter(p, PHASE_MERGE, err) < 0 || crawl_merge(p->st, &c, &merged, err) < 0 ||
	    forget_one(p, err) < 0 || play_enter(p, PHASE_EQUIV, err) < 0 ||
	    crawl_equiv(p->st, &c, &n, err) < 0 || play_enter(p, PHASE_SELECT, err) < 0 ||
	    crawl_select(p->st, &c, true, &selected, err) < 0 ||
	    play_enter(p, PHASE_RECORD, err) < 0 || crawl_record(p->st, &c, &n, err) < 0)
		return -1;
	return play_enter(p, PHASE_CLOSED, err);
}

int play_cleanup(struct play *p, struct err *err)
{
	struct cleaned_up cleaned = {0};
	p->now_us += US_PER_S;
	bucket_drop(&p->buckets);
	if (play_next(p, false, err) < 0)
		return -1;
	const struct crawl c = play_crawl(p);
	if (state_enter(p->st, PHASE_CLEANUP, NULL, p->now_us, err) < 0 ||
	    crawl_cleanup(p->st, &c, &cleaned, err) < 0)
		return -1;
	buf_free(&cleaned.told);
	int rc = play_enter(p, PHASE_CLOSED, err);
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

int play_version(struct play *p, uint64_t page, uint64_t oid, uint64_t *ret, struct err *err)
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
	rc = type == ITEM_GATHERED ? play_version(p, page, where, ret, err) : 1;
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
	if (rc == 0)
		rc = last_in_journal(st, &last_s, err);
	/* the last one may have been a delete that merge has forgotten since */
	struct state *before = NULL;
	if (rc == 0 && *state_params(st)->from)
		rc = state_open(&before, p->s, state_params(st)->from, err);
	if (rc == 0 && before)
		rc = last_in_journal(before, &last_s, err);
	rc = MIN(rc, 0);
	state_free(&before);
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
