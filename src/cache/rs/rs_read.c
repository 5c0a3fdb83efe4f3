/* What is known of a provider, from PIDB and from the queue manager's database. Each thread that
 * reads that database has a handle of its own: receipts at the end of a large set take a second,
 * and no other request should wait for that. Until the queue manager has created it, nothing is
 * stored and nothing is queued. */
#include "base/clock.h"
#include "cache/receipts.h"
#include "cache/rs/rs_inner.h"
#include "url/url.h"

enum { PARTS_MOST = 1000 }; /* parts shown of one provider */

int64_t rs_since_us(const struct rs *rs)
{
	return clock_wall_us() - rs->cache->fullset_period_us;
}

/* 0: the caller owns *ret until rs_db_give(). 1: no database yet; *ret is NULL. */
static int rs_db_take(struct rs *rs, struct db **ret, struct err *err)
{
	*ret = NULL;
	pthread_mutex_lock(&rs->lock);
	if (rs->dbs)
		*ret = rs->db[--rs->dbs];
	pthread_mutex_unlock(&rs->lock);
	if (*ret && db_is_moved(*ret))
		db_close(ret);
	return *ret ? 0 : db_open(ret, rs->folder, DB_READ, err);
}

static void rs_db_give(struct rs *rs, struct db *db)
{
	pthread_mutex_lock(&rs->lock);
	if (rs->dbs < RS_DBS) {
		rs->db[rs->dbs++] = db;
		db = NULL;
	}
	pthread_mutex_unlock(&rs->lock);
	db_close(&db);
}

int rs_numbers_reserve(struct rs *rs, struct err *err)
{
	struct db *db;
	uint64_t last = 0;
	int rc = rs_db_take(rs, &db, err);
	if (rc)
		return MIN(rc, 0);
	rc = db_last_provider(db, &last, err);
	rs_db_give(rs, db);
	return rc == 0 && last ? pidb_reserve(rs->pidb, last, err) : rc;
}

int rs_state(struct http_request *req, struct rs_state *ret, struct err *err)
{
	struct rs *rs = rs_of(req);
	uint64_t id = rs_who(req)->id;
	*ret = (struct rs_state){.who = *rs_who(req)};
	/* read again: a handler may just have changed it */
	if (pidb_get(rs->pidb, id, rs_since_us(rs), &ret->who, err) < 0 ||
	    pidb_prefixes(rs->pidb, id, &req->arena, &ret->prefix, &ret->nprefixes, err) < 0)
		return -1;
	struct db *db;
	int rc = rs_db_take(rs, &db, err);
	if (rc == 0) {
		rc = db_tally(db, id, &ret->tally, err);
		rs_db_give(rs, db);
	}
	return rc < 0 ? -1 : 0;
}

int rs_fetches(struct http_request *req, struct db_fetch **ret, size_t *ret_n, struct err *err)
{
	struct rs *rs = rs_of(req);
	*ret = arena_array(&req->arena, DB_FETCHES, sizeof **ret);
	*ret_n = 0;
	struct db *db;
	int rc = rs_db_take(rs, &db, err);
	if (rc == 0) {
		rc = db_fetches(db, rs_who(req)->id, &req->arena, *ret, ret_n, err);
		rs_db_give(rs, db);
	}
	return rc < 0 ? -1 : 0;
}

/* When the hours of the contract next allow fetching; 0: now. The database does not say so when the
 * hours are near or have just been changed. */
static int64_t contract_next_us(struct http_request *req)
{
	struct hours hours =
		hours_kept(str_of(rs_who(req)->hours), cache_period(rs_of(req)->cache));
	int64_t now_us = clock_wall_us();
	if (hours_allow(&hours, now_us))
		return 0;
	return MAX(hours_next_us(&hours, now_us), (int64_t)0);
}

/* Plans */

struct planning {
	uint64_t provider;
	int64_t contract_us; /* contract_next_us() */
	int64_t held_us;     /* when the queue manager goes on; 0: it does not wait */
	struct str held_why;
	struct arena *arena;
	struct db_part *part;
	size_t n, room;
};

static void part_add(void *ctx, const struct db_part *part)
{
	struct planning *p = ctx;
	if (part->provider == p->provider && part->rows && p->n < PARTS_MOST)
		*ARENA_PUSH(p->arena, p->part, p->n, p->room) = *part;
}

static int plan_urls(struct db *db, const struct db_part *part, struct arena *arena,
		     struct rs_plan *plan, struct err *err)
{
	uint64_t after = 0;
	int rc = 0;
	while (plan->nfirst < ARRAY_LEN(plan->first)) {
		struct db_row row;
		rc = db_next(db, part->set, part->slot, after, arena, &row, err);
		if (rc != 0)
			break;
		after = row.row;
		plan->first[plan->nfirst++] =
			arena_str(arena, row.notice.f.n ? row.notice.f : row.notice.c);
	}
	return rc < 0 ? -1 : 0;
}

static const char *part_why(const struct db_part *part)
{
	if (part->slot == DB_BAD)
		return "tried again after an error";
	if (part->start == DB_NOW)
		return "";
	return part->start == part->slot ? "waits for its hours"
					 : "waits for the hours or the bandwidth of the contract, "
					   "or after errors of the site";
}

/* The number that the provider was given for a set; the queue uses its own. */
static int plan_number(struct db *db, uint64_t set, uint64_t *ret, struct err *err)
{
	struct db_set known;
	int rc = db_set(db, set, &known, err);
	*ret = rc == 0 ? known.number : 0;
	return rc < 0 ? -1 : 0;
}

static int plan_fill(struct rs *rs, struct db *db, struct planning *p, struct rs_plan *plan,
		     struct err *err)
{
	int64_t now_us = clock_wall_us();
	for (size_t i = 0; i < p->n; i++) {
		const struct db_part *part = &p->part[i];
		plan[i].urls = part->rows;
		plan[i].why = part_why(part);
		if (part->start >= 0)
			plan[i].at_us = hours_slot_next_us(part->start, now_us, rs->cache->slot_us,
							   cache_period(rs->cache));
		if (p->held_us && part->start < 0) {
			plan[i].why =
				arena_printf(p->arena, "waits " STR_FMT, STR_ARG(p->held_why));
			plan[i].at_us = p->held_us;
		}
		if (p->contract_us && (part->start < 0 || part->start != part->slot)) {
			plan[i].why = "waits for the hours of the contract";
			plan[i].at_us = MAX(plan[i].at_us, p->contract_us);
		}
		if (plan_number(db, part->set, &plan[i].set, err) < 0 ||
		    plan_urls(db, part, p->arena, &plan[i], err) < 0)
			return -1;
	}
	return 0;
}

int rs_plan(struct http_request *req, struct rs_plan **ret, size_t *ret_n, struct err *err)
{
	struct rs *rs = rs_of(req);
	struct planning p = {.provider = rs_who(req)->id,
			     .contract_us = contract_next_us(req),
			     .arena = &req->arena};
	*ret_n = 0;
	*ret = NULL;
	struct db *db;
	int rc = rs_db_take(rs, &db, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	rc = db_held(db, p.provider, p.arena, &p.held_us, &p.held_why, err);
	if (rc != 0)
		p.held_us = 0;
	if (rc >= 0)
		rc = db_parts(db, part_add, &p, err);
	if (rc >= 0) {
		*ret = arena_array(&req->arena, p.n, sizeof **ret);
		*ret_n = p.n;
		rc = plan_fill(rs, db, &p, *ret, err);
	}
	rs_db_give(rs, db);
	return rc < 0 ? -1 : 0;
}

/* Receipts */

static int set_rows(struct receipts *of, const struct rs_params *ask, struct arena *arena,
		    struct rs_receipts *ret, struct err *err)
{
	const struct db_set *set = receipts_set(of);
	ret->is_known = true;
	ret->state = receipts_state(of);
	ret->set = set->number;
	ret->urls = set->urls;
	ret->at_us = set->at_us;
	ret->row = arena_array(arena, (size_t)ask->n, sizeof *ret->row);
	int rc = receipts_skip(of, (uint64_t)ask->after, err);
	while (rc == 0 && ret->n < (size_t)ask->n) {
		rc = receipts_next(of, arena, &ret->row[ret->n], err);
		ret->n += rc == 0;
	}
	ret->more = rc == 0 && (uint64_t)ask->after + ret->n < ret->urls;
	return rc < 0 ? -1 : 0;
}

struct finding {
	struct arena *arena;
	struct rs_receipts *ret;
	size_t room;
};

static void url_found(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	struct finding *f = ctx;
	(void)provider;
	struct db_receipt *to = ARENA_PUSH(f->arena, f->ret->row, f->ret->n, f->room);
	*to = *r;
	to->c = arena_str(f->arena, r->c);
	to->mime = arena_str(f->arena, r->mime);
	to->reason = arena_str(f->arena, r->reason);
	to->machine = to->file = (struct str){0};
}

/* The canonical form, as in notices. */
static struct str url_as_kept(const char *text, struct arena *arena)
{
	char *room = arena_alloc(arena, URL_MAX);
	struct url url;
	return url_parse(str_of(text), NULL, room, URL_MAX, &url) == 0 ? url.href : str_of(text);
}

static int receipts_of_set(struct rs *rs, struct db *db, uint64_t provider,
			   const struct rs_params *ask, struct arena *arena,
			   struct rs_receipts *ret, struct err *err)
{
	struct receipts *of;
	int rc = receipts_open_any(&of, db, rs->folder, provider, (uint64_t)ask->set, err);
	if (rc == 0) {
		rc = set_rows(of, ask, arena, ret, err);
		receipts_free(&of);
	}
	return rc;
}

/* Marks queued rows that wait only for the hours of the contract. */
static void receipts_wait(struct rs_receipts *ret, int64_t contract_us)
{
	for (size_t i = 0; contract_us && i < ret->n; i++) {
		struct db_receipt *r = &ret->row[i];
		if (r->state != DB_QUEUED || r->row == 0)
			continue;
		r->state = DB_WAITING;
		r->until_us = contract_us;
		r->reason = STR("for the hours of the contract");
	}
}

int rs_receipts(struct http_request *req, struct rs_receipts *ret, struct err *err)
{
	const struct rs_params *ask = req->params;
	struct rs *rs = rs_of(req);
	uint64_t provider = rs_who(req)->id;
	*ret = (struct rs_receipts){.state = "unknown", .set = (uint64_t)ask->set};
	struct finding finding = {.arena = &req->arena, .ret = ret};
	struct db *db;
	int rc = rs_db_take(rs, &db, err);
	if (rc < 0)
		return rc;
	if (!ask->url[0]) {
		rc = receipts_of_set(rs, db, provider, ask, &req->arena, ret, err);
	} else {
		const struct receipts_url url = {provider, url_as_kept(ask->url, &req->arena),
						 str_of(ask->mime)};
		ret->state = NULL;
		rc = receipts_of_url(db, rs->folder, &url, url_found, &finding, err);
		ret->is_known = ret->n > 0;
		ret->urls = ret->n;
	}
	if (db)
		rs_db_give(rs, db);
	receipts_wait(ret, contract_next_us(req));
	return rc < 0 ? -1 : 0;
}
