/* Absorbing: notices of a set become rows of the queue, or confirm what is stored, or remove it.
 * One call takes many notices and does them in three passes, so that each page of the database is
 * touched once: URLs are looked up in the order of their hashes, as they lie there; then each
 * notice is done in the order of arrival, which is that of row numbers and of quotas; then the URLs
 * are written, by hash again. What a notice found before is read by row, and lies as it arrived.
 *
 * A full set goes on after its last notice: URLs of the provider are walked by hash, and those that
 * it did not name (their `seen` is from before it) go. */
#include "base/fault.h"
#include "base/vec.h"
#include "cache/db/db_inner.h"

enum {
	STEP_MOST = 1 << 18, /* notices of one call; 64 bytes each, and their URLs */
	EQUALS_MOST = 64,    /* URLs of one provider with equal hashes */
	WALK_MOST = 16,      /* a walk looks at so many times rows_max URLs in one call */
	MIMES_MEMORY = 1 << 20,
};

struct item {
	int64_t hash;
	const char *p; /* the notice as it is written */
	uint32_t n;
	uint32_t urls; /* the first of those of its hash; 0: none */
};

struct step {
	struct db *d;
	struct set_row set;
	const struct db_terms *terms;
	struct db_absorbed *ret;
	struct item *item;
	size_t n, room;
	size_t types, work;  /* that there are; URLs that have to be looked for */
	uint32_t *order;     /* items by hash */
	struct url_row *url; /* the first is not used */
	size_t urls, urls_room;
	struct buf *text; /* pieces, unpacked */
	size_t texts, texts_room;
	char hours_text[HOURS_TEXT_MAX + 1]; /* the last list, and what it means */
	struct hours hours;
	bool has_hours;
};

static void step_free(struct step *s)
{
	for (size_t i = 0; i < s->texts; i++)
		buf_free(&s->text[i]);
	mem_free(&s->text);
	mem_free(&s->item);
	mem_free(&s->order);
	mem_free(&s->url);
}

/* Where the next notices begin is said in the set's row. */
static int piece_items(struct step *s, struct str text, size_t most, struct err *err)
{
	struct reader r = reader_of(str_from(text, s->set.byte));
	struct notice n;
	int rc = 0;
	while (s->work < most) {
		size_t from = reader_at(&r);
		rc = notice_next(&r, &n, err);
		if (rc)
			break;
		s->work += n.mime.n ? 1 : MAX(s->types, (size_t)1); /* step_named() */
		*VEC_PUSH(s->item, s->n, s->room) = (struct item){
			.hash = s->d->hash(n.c, n.mime),
			.p = text.p + s->set.byte + from,
			.n = (uint32_t)(reader_at(&r) - from),
		};
	}
	if (rc < 0)
		return err_in(err, "set %llu, piece %llu", (unsigned long long)s->set.set.set,
			      (unsigned long long)s->set.piece);
	s->set.byte += reader_at(&r);
	if (rc == 1 || reader_left(&r) == 0) {
		s->set.byte = 0;
		s->set.piece++;
	}
	return 0;
}

static int step_read(struct step *s, size_t most, struct err *err)
{
	if (mimes_number(s->d, &s->types, err) < 0)
		return -1;
	while (s->work < most && s->set.piece < s->set.set.pieces) {
		struct buf *b = VEC_PUSH(s->text, s->texts, s->texts_room);
		*b = BUF_INIT(NOTICE_PIECE + NOTICE_MOST + 1);
		if (set_piece_read(s->d, &s->set, s->set.piece, b, err) < 0 ||
		    piece_items(s, buf_str(b), most, err) < 0)
			return -1;
	}
	return 0;
}

static int item_order(const void *a, const void *b, void *ctx)
{
	const struct item *item = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	if (item[i].hash != item[j].hash)
		return item[i].hash < item[j].hash ? -1 : 1;
	return i < j ? -1 : i > j;
}

static uint32_t url_push(struct step *s, const struct url_row *u)
{
	*VEC_PUSH(s->url, s->urls, s->urls_room) = *u;
	return (uint32_t)s->urls - 1;
}

static int urls_load(struct step *s, int64_t hash, uint32_t *ret, struct err *err)
{
	struct db *d = s->d;
	struct url_row u;
	uint32_t last = 0;
	int rc;
	*ret = 0;
	struct sql_st *st = DB_ST(d, URL_GET, SQL_N(s->set.set.provider), SQL_N(hash));
	while ((rc = db_step(d, st, err)) == 0) {
		url_from(st, &u);
		uint32_t at = url_push(s, &u);
		if (last)
			s->url[last].next = at;
		else
			*ret = at;
		last = at;
	}
	return rc < 0 ? rc : 0;
}

/* All of one hash are found by its first item, and the others point there. */
static int step_look_up(struct step *s, struct err *err)
{
	struct item *items = s->item;
	ENSURE(s->n == 0 || items);
	s->order = mem_array(MAX(s->n, (size_t)1), sizeof *s->order);
	for (size_t i = 0; i < s->n; i++)
		s->order[i] = (uint32_t)i;
	qsort_r(s->order, s->n, sizeof *s->order, item_order, items);
	for (size_t i = 0; i < s->n; i++) {
		struct item *it = &items[s->order[i]];
		const struct item *last = i ? &items[s->order[i - 1]] : NULL;
		if (last && last->hash == it->hash) {
			it->urls = last->urls;
			continue;
		}
		if (urls_load(s, it->hash, &it->urls, err) < 0)
			return -1;
		if (it->urls == 0) {
			struct url_row none = {
				.provider = s->set.set.provider, .hash = it->hash, .n = 1};
			it->urls = url_push(s, &none);
		}
	}
	return 0;
}

static bool url_is_empty(const struct url_row *u)
{
	return !u->row && !u->lcc && !u->gone;
}

/* The URL of a notice among those of its hash; a new one where there is none. 1: there are too many
 * of them. */
static int item_url(struct step *s, const struct item *it, const struct notice *n, uint32_t *ret,
		    struct queued *q, struct stored *lcc, struct err *err)
{
	uint64_t most = 0;
	unsigned count = 0;
	uint32_t last = 0;
	for (uint32_t i = it->urls; i; i = s->url[i].next, count++) {
		int rc = 0;
		if (!url_is_empty(&s->url[i]))
			rc = url_is(s->d, &s->url[i], n->c, n->mime, q, lcc, err);
		*ret = i;
		if (rc <= 0)
			return rc;
		most = MAX(most, s->url[i].n);
		last = i;
	}
	if (count >= EQUALS_MOST)
		return 1;
	struct url_row fresh = {.provider = s->set.set.provider, .hash = it->hash, .n = most + 1};
	*ret = url_push(s, &fresh);
	s->url[last].next = *ret;
	return 0;
}

static void slot_hours(struct step *s, struct str text)
{
	if (s->has_hours && str_is(text, s->hours_text))
		return;
	s->hours = hours_kept(text, s->terms->period);
	struct str kept = str_head(text, HOURS_TEXT_MAX);
	memcpy(s->hours_text, kept.n ? kept.p : "", kept.n);
	s->hours_text[kept.n] = 0;
	s->has_hours = true;
}

/* Where nothing is allowed by contract and list together, its own next hour: the contract may be
 * another one by then. */
static int64_t slot_of(struct step *s, const struct notice *n)
{
	const struct db_terms *t = s->terms;
	slot_hours(s, n->hours);
	struct hours both = hours_both(&t->hours, &s->hours);
	int64_t at = hours_next_us(&both, t->now_us);
	if (at == t->now_us)
		return DB_NOW;
	if (at < 0)
		at = hours_next_us(&s->hours, t->now_us);
	return at < 0 || at == t->now_us ? DB_NOW : hours_slot(at, t->slot_us, t->period);
}

static bool stored_agrees(const struct notice *n, const struct stored *s)
{
	const unsigned sums = NOTICE_HAS_MTIME | NOTICE_HAS_SIZE | NOTICE_HAS_MD5;
	const struct notice *was = &s->notice;
	if (!(n->has & sums))
		return false;
	if (n->has & NOTICE_HAS_MTIME &&
	    !(was->has & NOTICE_HAS_MTIME && was->mtime_s == n->mtime_s) &&
	    !(s->mtime_s && s->mtime_s == n->mtime_s))
		return false;
	if (n->has & NOTICE_HAS_SIZE && !(was->has & NOTICE_HAS_SIZE && was->size == n->size) &&
	    s->size != n->size)
		return false;
	if (n->has & NOTICE_HAS_MD5 &&
	    !(was->has & NOTICE_HAS_MD5 && memcmp(was->md5, n->md5, sizeof n->md5) == 0) &&
	    !(s->has_md5 && memcmp(s->md5, n->md5, sizeof n->md5) == 0))
		return false;
	return true;
}

static struct gone step_gone(const struct step *s, const struct notice *n, enum db_state state,
			     unsigned code, struct str reason)
{
	return (struct gone){.at_us = s->terms->now_us,
			     .state = state,
			     .code = code,
			     .reason = reason,
			     .c = n->c,
			     .mime = n->mime};
}

static int over_quota(struct step *s, const struct url_row *u, const struct notice *n,
		      const struct stored *lcc, bool *ret, struct err *err)
{
	const struct db_terms *t = s->terms;
	struct counts c;
	if (counts_read(s->d, u->provider, &c, err) < 0)
		return -1;
	uint64_t size = n->has & NOTICE_HAS_SIZE ? n->size : 0;
	uint64_t space = c.space + c.fresh_space - (u->lcc ? lcc->size : 0);
	*ret = (!u->lcc && c.files + c.fresh >= t->quota_files) ||
	       (size && (size > t->quota_space || space > t->quota_space - size)) ||
	       (!u->lcc && !size && space >= t->quota_space);
	return 0;
}

static int update_refused(struct step *s, struct url_row *u, const struct item *it,
			  const struct notice *n, const struct queued *q, const struct stored *lcc,
			  struct err *err)
{
	struct gone why =
		step_gone(s, n, DB_FAILED, CACHE_QUOTA, str_of(cache_code_text(CACHE_QUOTA)));
	s->ret->failed++;
	return url_row_fail(s->d, u, q, lcc, (struct str){it->p, it->n}, &why, err);
}

/* The row keeps its place and gets what is newest; other hours may mean another slot. */
static int update_queued(struct step *s, struct url_row *u, const struct item *it,
			 const struct notice *n, struct queued *q, struct err *err)
{
	struct queued fresh = *q;
	fresh.data = (struct str){it->p, it->n};
	fresh.notice = *n;
	fresh.is_nothing = false;
	fresh.tries = fresh.code = 0;
	fresh.reason = STR("");
	s->ret->updated++;
	u->version++;
	int64_t slot = u->slot;
	if (slot != DB_BAD && !str_eq(q->notice.hours, n->hours))
		slot = slot_of(s, n);
	bool same = str_eq(q->data, fresh.data) && !q->is_nothing && q->tries == 0;
	if (!same && queue_change(s->d, u, q, &fresh, err) < 0)
		return -1;
	return slot == u->slot ? 0 : queue_move(s->d, u, &fresh, slot, err);
}

static int update_new(struct step *s, struct url_row *u, const struct item *it,
		      const struct notice *n, struct err *err)
{
	struct queued q = {.set = s->set.set.set,
			   .slot = slot_of(s, n),
			   .row = work_row(s->d),
			   .provider = u->provider,
			   .reason = STR(""),
			   .data = {it->p, it->n},
			   .notice = *n};
	s->ret->queued++;
	return queue_add(s->d, u, &q, s->terms->priority, err);
}

static int notice_update(struct step *s, struct url_row *u, const struct item *it,
			 const struct notice *n, struct queued *q, struct stored *lcc,
			 struct err *err)
{
	bool over = false;
	if (u->row && !q->is_nothing)
		return update_queued(s, u, it, n, q, err);
	if (!u->row && u->lcc && stored_agrees(n, lcc)) {
		s->ret->unchanged++;
		return lcc_confirm(s->d, lcc, n, (struct str){it->p, it->n}, err);
	}
	if (over_quota(s, u, n, lcc, &over, err) < 0)
		return -1;
	if (over)
		return update_refused(s, u, it, n, u->row ? q : NULL, lcc, err);
	return u->row ? update_queued(s, u, it, n, q, err) : update_new(s, u, it, n, err);
}

static int queued_nothing(struct db *d, struct url_row *u, const struct queued *q, struct err *err)
{
	struct queued none = *q;
	none.is_nothing = true;
	u->version++;
	u->is_dirty = true;
	return q->is_nothing ? 0 : queue_change(d, u, q, &none, err);
}

static int notice_remove(struct step *s, struct url_row *u, const struct notice *n,
			 struct queued *q, const struct stored *lcc, struct err *err)
{
	struct gone why = step_gone(s, n, DB_REMOVED, 0, STR("removed by the provider"));
	s->ret->removed++;
	if (u->row && queued_nothing(s->d, u, q, err) < 0)
		return -1;
	if (u->lcc && lcc_drop(s->d, u, lcc, NULL, err) < 0)
		return -1;
	return gone_put(s->d, u, &why, err);
}

static int step_item(struct step *s, struct item *it, struct err *err)
{
	struct reader r = reader_of((struct str){it->p, it->n});
	struct notice n;
	struct queued q = {0};
	struct stored lcc;
	uint32_t at = 0;
	if (notice_next(&r, &n, err) != 0)
		return -1;
	if (n.mime.n == 0) { /* after all others: step_named() */
		s->ret->named++;
		return 0;
	}
	if (n.op != NOTICE_NAMED && mime_note(s->d, n.mime, err) < 0)
		return -1;
	int rc = item_url(s, it, &n, &at, &q, &lcc, err);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		s->ret->failed++;
		return error_add(s->d, s->set.set.provider, s->terms->now_us, CACHE_INTERNAL,
				 STR("too many URLs of one hash"), (struct str){it->p, it->n}, err);
	}
	struct url_row *u = &s->url[at];
	u->is_dirty = true;
	u->seen = s->set.set.set;
	u->age_us = s->terms->age_us; /* what is stored is good until it is fetched again */
	switch (n.op) {
	case NOTICE_UPDATE:
		return notice_update(s, u, it, &n, &q, &lcc, err);
	case NOTICE_REMOVE:
		return notice_remove(s, u, &n, &q, &lcc, err);
	case NOTICE_NAMED:
	case NOTICE_OPS:
		break;
	}
	s->ret->named++;
	return 0;
}

/* By hash, as they were loaded; those that were added later are near the ones of their hash. */
static int step_save(struct step *s, struct err *err)
{
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t at = s->item[s->order[i]].urls; at; at = s->url[at].next)
			if (s->url[at].is_dirty && url_save(s->d, &s->url[at], err) < 0)
				return -1;
	return 0;
}

/* Those that were refused without a type that could be read are of any type. What is in memory of
 * URLs has been written before. */
static int step_named(struct step *s, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(MIMES_MEMORY);
	struct str *mime = NULL;
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct reader r = reader_of((struct str){s->item[i].p, s->item[i].n});
		struct notice named;
		if (s->item[i].p[0] != NOTICE_NAMED)
			continue;
		if (notice_next(&r, &named, err) != 0)
			return -1;
		if (named.mime.n)
			continue;
		if (!mime && mimes_all(s->d, &arena, &mime, &n, err) < 0)
			return -1;
		if (url_named(s->d, s->set.set.provider, named.c, s->set.set.set, s->terms->age_us,
			      mime, n, err) < 0)
			return -1;
	}
	return 0;
}

static int set_place(struct db *d, const struct set_row *set, struct err *err)
{
	return db_run(d,
		      DB_ST(d, SET_AT, SQL_N(set->id), SQL_N(set->state), SQL_N(set->piece),
			    SQL_N(set->byte), SQL_N(set->walks), SQL_N(set->hash), SQL_N(set->n)),
		      err);
}

static int step_notices(struct step *s, size_t most, struct err *err)
{
	url_push(s, &(struct url_row){0});
	if (step_read(s, most, err) < 0 || step_look_up(s, err) < 0)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (step_item(s, &s->item[i], err) < 0)
			return -1;
	return step_save(s, err) < 0 ? -1 : step_named(s, err);
}

int url_remove(struct db *d, struct url_row *u, int64_t now_us, struct str reason, struct err *err)
{
	struct queued q;
	struct stored lcc;
	int64_t at_us;
	if (url_rows(d, u, &q, &lcc, err) < 0)
		return -1;
	const struct notice *n = u->row ? &q.notice : &lcc.notice;
	struct gone why = {
		.at_us = now_us, .state = DB_REMOVED, .reason = reason, .c = n->c, .mime = n->mime};
	bool has_row = u->row != 0;
	if (gone_put(d, u, &why, err) < 0)
		return -1;
	if (has_row) {
		int sent = is_sent(d, u->row, &at_us, err);
		if (sent < 0 ||
		    (sent == 0 ? queued_nothing(d, u, &q, err) : queue_drop(d, u, &q, err)) < 0)
			return -1;
	}
	if (u->lcc && lcc_drop(d, u, &lcc, NULL, err) < 0)
		return -1;
	return url_save(d, u, err);
}

/* URLs are collected first: a statement that walks a table must not see it change. */
static int step_walk(struct step *s, size_t most, struct err *err)
{
	struct db *d = s->d;
	size_t looked = 0;
	int rc = 0;
	struct url_row u;
	struct sql_st *st =
		DB_ST(d, URL_WALK, SQL_N(s->set.set.provider), SQL_N(s->set.hash), SQL_N(s->set.n));
	while (s->urls < most && looked < most * WALK_MOST && (rc = db_step(d, st, err)) == 0) {
		looked++;
		url_from(st, &u);
		s->set.hash = u.hash;
		s->set.n = u.n;
		if ((u.row || u.lcc) && u.seen < s->set.set.set)
			url_push(s, &u);
	}
	sql_reset(st);
	for (size_t i = 0; rc >= 0 && i < s->urls; i++) {
		s->ret->removed++;
		if (url_remove(d, &s->url[i], s->terms->now_us, STR("not in a full set"), err) < 0)
			return -1;
	}
	return rc;
}

static int set_absorbed(struct step *s, struct err *err)
{
	struct counts *c;
	s->set.state = SET_ABSORBED;
	s->ret->is_done = true;
	if (counts_of(s->d, s->set.set.provider, &c, err) < 0)
		return -1;
	c->open_sets--;
	return 0;
}

static int step_absorb(struct step *s, struct err *err)
{
	size_t most = MIN(MAX(s->terms->rows_max, (size_t)1), (size_t)STEP_MOST);
	int rc = 0;
	if (s->set.piece < s->set.set.pieces) {
		rc = step_notices(s, most, err);
		if (rc == 0 && s->set.piece >= s->set.set.pieces && s->set.set.is_full) {
			s->set.walks = true;
			s->set.hash = INT64_MIN;
		}
		FAULT("cachedb.absorb");
	} else if (s->set.set.is_full) {
		if (!s->set.walks)
			s->set.hash = INT64_MIN;
		s->set.walks = true;
		rc = step_walk(s, most, err);
		if (rc == 1)
			s->set.walks = false;
		FAULT("cachedb.walk");
	}
	if (rc < 0)
		return -1;
	bool walks_on = s->set.set.is_full && s->set.walks;
	if (s->set.piece >= s->set.set.pieces && !walks_on && set_absorbed(s, err) < 0)
		return -1;
	return set_place(s->d, &s->set, err);
}

int db_absorb(struct db *d, uint64_t set, const struct db_terms *terms, struct db_absorbed *ret,
	      struct err *err)
{
	struct step s = {.d = d, .terms = terms, .ret = ret};
	*ret = (struct db_absorbed){0};
	int rc = work_begin_soft(d, err);
	if (rc == 0)
		rc = set_by(d, set, &s.set, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "set %llu is not there", (unsigned long long)set);
	if (rc == 0 && s.set.state == SET_ABSORBED)
		ret->is_done = true;
	else if (rc == 0)
		rc = step_absorb(&s, err);
	if (rc == 0 && (d->meta.slot_us != terms->slot_us || d->meta.period != terms->period)) {
		d->meta.slot_us = terms->slot_us;
		d->meta.period = terms->period;
		d->meta_dirty = true;
	}
	d->steps += s.n;
	d->is_hard = d->is_hard || ret->is_done;
	along_end(d);
	step_free(&s);
	return work_end(d, rc, err);
}
