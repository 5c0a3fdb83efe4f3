/* What is asked of the database: tallies, receipts, errors, the last fetches. Readers in other
 * processes see what was committed last. */
#include "base/clock.h"
#include "cache/db/db_inner.h"

const char *db_state_name(enum db_state s)
{
	static const char *const name[] = {
#define X(symbol, text) [DB_##symbol] = text,
		DB_STATES(X)
#undef X
	};
	ENSURE((unsigned)s < DB_NSTATES);
	return name[s];
}

int db_tally(struct db *db, uint64_t provider, struct db_tally *ret, struct err *err)
{
	struct counts c;
	uint64_t open = 0;
	if (counts_read(db, provider, &c, err) < 0 ||
	    (c.open_sets && db_number(db, DB_ST(db, SET_OPEN, SQL_N(provider)), &open, err) < 0))
		return -1;
	*ret = (struct db_tally){.files = c.files,
				 .space = c.space,
				 .queued = c.queued,
				 .errors = c.errors,
				 .open_sets = c.open_sets,
				 .open_urls = open};
	return 0;
}

int db_last_provider(struct db *d, uint64_t *ret, struct err *err)
{
	return db_number(d, sql_st(d, SQL_TALLY_LAST), ret, err);
}

int db_hold(struct db *d, uint64_t provider, int64_t until_us, struct str why, struct err *err)
{
	return DB_WORK(
		d, err,
		db_run(d,
		       until_us ? DB_ST(d, HELD_PUT, SQL_N(provider), SQL_N(until_us), SQL_T(why))
				: DB_ST(d, HELD_DROP, SQL_N(provider)),
		       err));
}

int db_held(struct db *d, uint64_t provider, struct arena *arena, int64_t *ret_until_us,
	    struct str *ret_why, struct err *err)
{
	struct sql_st *st = DB_ST(d, HELD_GET, SQL_N(provider));
	int rc = db_step(d, st, err);
	if (rc)
		return rc;
	*ret_until_us = sql_i64(st, 0);
	*ret_why = arena_str(arena, sql_str(st, 1));
	sql_reset(st);
	return *ret_until_us > clock_wall_us() ? 0 : 1;
}

/* It could go at any time, but for what its provider waits for. */
static int receipt_held(struct db *d, const struct queued *q, struct arena *arena,
			struct db_receipt *ret, struct err *err)
{
	struct str why;
	int64_t until_us;
	int rc = db_held(d, q->provider, arena, &until_us, &why, err);
	if (rc)
		return MIN(rc, 0);
	ret->state = DB_WAITING;
	ret->until_us = until_us;
	if (!ret->reason.n)
		ret->reason = why;
	return 0;
}

static int receipt_waits(struct db *d, const struct queued *q, struct arena *arena,
			 struct db_receipt *ret, struct err *err)
{
	struct db_part part;
	int rc = db_part(d, q->set, q->slot, &part, err);
	if (rc)
		return rc < 0 ? rc : 0;
	ret->reason = q->reason.n ? arena_str(arena, q->reason) : STR("");
	if (part.start != DB_NOW || q->reason.n)
		ret->state = DB_WAITING;
	if (part.start < 0)
		return receipt_held(d, q, arena, ret, err);
	if (!q->reason.n)
		ret->reason = part.start == part.slot
				      ? STR("for the hours in which it may be fetched")
				      : STR("for the hours or the bandwidth of the contract, or "
					    "after errors of the site");
	struct err ignored;
	if (!d->is_writer && meta_read(d, &ignored) < 0)
		return 0;
	if (d->meta.slot_us > 0 && d->meta.period > 0)
		ret->until_us = hours_slot_next_us(part.start, clock_wall_us(), d->meta.slot_us,
						   (int)d->meta.period);
	return 0;
}

static int receipt_queued(struct db *d, const struct queued *q, struct arena *arena,
			  struct db_receipt *ret, struct err *err)
{
	struct set_row set;
	ret->state = DB_QUEUED;
	ret->code = q->code;
	ret->set = q->set;
	ret->row = q->row;
	int rc = is_sent(d, q->row, &ret->at_us, err);
	if (rc == 0)
		ret->state = DB_FETCHING;
	if (rc <= 0)
		return rc;
	rc = set_by(d, q->set, &set, err);
	if (rc < 0)
		return rc;
	ret->at_us = rc == 0 ? set.set.at_us : 0;
	return receipt_waits(d, q, arena, ret, err);
}

/* Since when it is known to be good: what was stored after the notice was accepted is what the
 * notice asked for. */
static int receipt_stored(struct db *d, const struct url_row *u, const struct stored *s,
			  int64_t accepted_us, struct arena *arena, struct db_receipt *ret,
			  struct err *err)
{
	struct set_row set;
	ret->state = DB_STORED;
	ret->at_us = s->at_us;
	ret->row = s->row;
	ret->size = s->size;
	ret->machine = arena_str(arena, s->machine);
	ret->file = arena_str(arena, s->file);
	if (s->at_us >= accepted_us)
		return 0;
	int rc = set_by(d, u->seen, &set, err);
	ret->state = DB_UNCHANGED;
	if (rc == 0)
		ret->at_us = MAX(s->at_us, set.set.at_us);
	return rc < 0 ? rc : 0;
}

static int url_receipt(struct db *d, const struct url_row *u, int64_t accepted_us,
		       struct arena *arena, struct db_receipt *ret, struct err *err)
{
	struct queued q = {0};
	struct stored s;
	struct gone g;
	if (url_rows(d, u, &q, &s, err) < 0)
		return -1;
	if (u->row && !q.is_nothing)
		return receipt_queued(d, &q, arena, ret, err);
	if (u->lcc)
		return receipt_stored(d, u, &s, accepted_us, arena, ret, err);
	if (!u->gone)
		return 1;
	if (gone_get(d, u->gone, &g, err) < 0)
		return -1;
	ret->state = g.state;
	ret->code = g.code;
	ret->at_us = g.at_us;
	ret->reason = arena_str(arena, g.reason);
	return 0;
}

static int url_asked(struct db *d, uint64_t provider, struct str c, struct str mime,
		     int64_t accepted_us, struct arena *arena, struct db_receipt *ret,
		     struct err *err)
{
	struct url_row u;
	int rc = url_find(d, provider, d->hash(c, mime), c, mime, &u, err);
	*ret = (struct db_receipt){
		.c = c, .mime = mime, .reason = STR(""), .machine = STR(""), .file = STR("")};
	return rc ? rc : url_receipt(d, &u, accepted_us, arena, ret, err);
}

int db_receipt(struct db *d, uint64_t provider, struct str c, struct str mime, int64_t accepted_us,
	       struct arena *arena, struct db_receipt *ret, struct err *err)
{
	int rc = snapshot_begin(d, err);
	if (rc == 0)
		rc = url_asked(d, provider, c, mime, accepted_us, arena, ret, err);
	snapshot_end(d);
	return rc;
}

/* The key has the type in it, so all types of the table are asked for. */
struct url_finding {
	struct str c;
	struct arena *arena;
	struct str *mime;
	size_t n;
	void (*each)(void *ctx, uint64_t provider, const struct db_receipt *r);
	void *ctx;
};

static int url_of(struct db *d, uint64_t provider, const struct url_finding *f, struct err *err)
{
	struct db_receipt r;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < f->n; i++) {
		rc = url_asked(d, provider, f->c, f->mime[i], 0, f->arena, &r, err);
		if (rc == 0)
			f->each(f->ctx, provider, &r);
		rc = MIN(rc, 0);
	}
	return rc;
}

static int url_of_any(struct db *d, const struct url_finding *f, struct err *err)
{
	uint64_t provider = 0;
	int rc = 0;
	while (rc == 0 &&
	       (rc = db_number(d, DB_ST(d, TALLY_NEXT, SQL_N(provider)), &provider, err)) == 0)
		rc = url_of(d, provider, f, err);
	return MIN(rc, 0);
}

enum { FIND_MEMORY = 64 << 20 };

int db_find_url(struct db *d, uint64_t provider, struct str c,
		void (*each)(void *ctx, uint64_t provider, const struct db_receipt *r), void *ctx,
		struct err *err)
{
	struct arena arena = ARENA_INIT(FIND_MEMORY);
	struct url_finding f = {.c = c, .arena = &arena, .each = each, .ctx = ctx};
	int rc = work_flush(d, err);
	if (rc == 0)
		rc = snapshot_begin(d, err);
	if (rc == 0)
		rc = mimes_all(d, &arena, &f.mime, &f.n, err);
	if (rc == 0)
		rc = provider ? url_of(d, provider, &f, err) : url_of_any(d, &f, err);
	snapshot_end(d);
	arena_free(&arena);
	return rc;
}

int db_errors(struct db *d, uint64_t provider, size_t n, struct arena *arena, struct db_error *ret,
	      size_t *ret_n, struct err *err)
{
	int rc = 1;
	*ret_n = 0;
	struct sql_st *st = DB_ST(d, ERROR_LIST, SQL_N(provider), SQL_N(MIN(n, (size_t)INT32_MAX)));
	while (*ret_n < n && (rc = db_step(d, st, err)) == 0) {
		struct db_error *e = &ret[*ret_n];
		struct notice notice;
		if (notice_of(d, sql_str(st, 3), &notice, err) < 0) {
			rc = -1;
			break;
		}
		*e = (struct db_error){.at_us = sql_i64(st, 0),
				       .code = (unsigned)sql_u64(st, 1),
				       .reason = arena_str(arena, sql_str(st, 2)),
				       .notice = notice_copy(&notice, arena)};
		++*ret_n;
	}
	sql_reset(st);
	return rc < 0 ? rc : 0;
}

static int fetches_read(struct db *d, uint64_t provider, struct arena *arena,
			struct db_fetch ret[DB_FETCHES], uint64_t k[DB_FETCHES], size_t *ret_n,
			struct err *err)
{
	int rc = 1;
	*ret_n = 0;
	struct sql_st *st = DB_ST(d, FETCH_LIST, SQL_N(provider));
	while (*ret_n < DB_FETCHES && (rc = db_step(d, st, err)) == 0) {
		k[*ret_n] = sql_u64(st, 0);
		ret[(*ret_n)++] = (struct db_fetch){.at_us = sql_i64(st, 1),
						    .url = arena_str(arena, sql_str(st, 2)),
						    .code = (unsigned)sql_u64(st, 3),
						    .size = sql_u64(st, 4)};
	}
	sql_reset(st);
	return rc < 0 ? rc : 0;
}

/* The table is a ring: its places go down from the one that was written last, and then around. */
int db_fetches(struct db *d, uint64_t provider, struct arena *arena,
	       struct db_fetch ret[DB_FETCHES], size_t *ret_n, struct err *err)
{
	struct db_fetch ring[DB_FETCHES];
	uint64_t k[DB_FETCHES] = {0};
	struct counts c = {0};
	int rc = snapshot_begin(d, err);
	if (rc == 0)
		rc = counts_read(d, provider, &c, err);
	if (rc == 0)
		rc = fetches_read(d, provider, arena, ring, k, ret_n, err);
	snapshot_end(d);
	if (rc < 0)
		return rc;
	size_t n = *ret_n, first = 0;
	uint64_t next = c.fetches % DB_FETCHES;
	while (first < n && k[first] >= next)
		first++;
	for (size_t i = 0; i < n; i++)
		ret[i] = ring[(first + i) % n];
	return 0;
}
