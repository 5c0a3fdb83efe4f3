/* The database (db.h) and a slow model of the queue (qm_model.h) agree, over random sets, fetches,
 * answers and clocks. A world follows from its number: it takes sets in pieces, absorbs them in
 * steps, lends rows and hears how their fetches ended, late, twice, and of rows that were removed
 * meanwhile; deletes files, lets rows grow old, is closed and opened anew, and refuses operations.
 * After each step all that the model knows is compared. WORLD=n runs that one alone. */
#include "cache/cache_conf.h"
#include "unit/cache/qm_lab.h"
#include "unit/scratch.h"

#include <stdio.h>

enum { OUT_MOST = 8, LATE_MOST = 16, STEPS = 150 };
enum { WORLDS = 400, WORLDS_SHORT = 2 };

struct lent {
	size_t key;
	uint64_t order, version; /* of the model */
	struct db_row row;       /* numbers only */
};

struct world {
	struct qm_lab lab;
	struct lent out[OUT_MOST], late[LATE_MOST];
	size_t nout, nlate;
	uint64_t done, kept, refused;
};

static uint64_t throw(struct world * w, uint64_t n)
{
	return qm_throw(&w->lab, n);
}

#define MUST(call) LAB_MUST(&w->lab, call)
#define SAME(a, b, what) LAB_SAME(&w->lab, a, b, what)

/* What is compared */

static void compare_part(struct world *w, uint64_t set, int64_t slot, const struct db_part *part)
{
	size_t key[QM_KEYS], n = qm_model_part(&w->lab.m, set, slot, key);
	struct err err = {0};
	struct db_row row;
	uint64_t after = 0;
	SAME(part ? part->rows : 0, n, "rows of a part");
	for (size_t i = 0; i < n; i++) {
		const struct qm_key *k = &w->lab.m.key[key[i]];
		char f[64];
		MUST(db_next(w->lab.db, set, slot, after, &w->lab.arena, &row, &err));
		after = row.row;
		SAME(qm_key_of(row.provider, row.notice.c, row.notice.mime), key[i],
		     "the next row");
		SAME(row.is_nothing, k->is_nothing, "whether a row is nothing");
		SAME(row.tries, k->tries, "tries");
		SAME(row.since_s, qm_model_since(&w->lab.m, key[i]), "since");
		qm_fetch(&k->notice, f, sizeof f);
		if (!k->is_nothing && !str_eq(notice_fetch(&row.notice), str_of(f)))
			fail_msg("world %" PRIu64 ": " STR_FMT " would be fetched, not %s",
				 w->lab.number, STR_ARG(notice_fetch(&row.notice)), f);
	}
	SAME(db_next(w->lab.db, set, slot, after, &w->lab.arena, &row, &err), 1, "end of a part");
}

struct parts {
	struct world *w;
	struct db_part part[QM_KEYS];
	size_t n;
};

static void part_remember(void *ctx, const struct db_part *part)
{
	struct parts *p = ctx;
	assert_true(p->n < ARRAY_LEN(p->part));
	p->part[p->n++] = *part;
}

static void compare_queue(struct world *w)
{
	struct parts p = {.w = w};
	struct err err = {0};
	uint64_t rows = 0;
	MUST(db_parts(w->lab.db, part_remember, &p, &err));
	for (size_t i = 0; i < p.n; i++) {
		compare_part(w, p.part[i].set, p.part[i].slot, &p.part[i]);
		rows += p.part[i].rows;
	}
	uint64_t queued = 0;
	for (uint64_t i = 1; i <= QM_PROVIDERS; i++)
		queued += qm_model_queued(&w->lab.m, i);
	SAME(rows, queued, "rows of all parts");
	SAME(db_agrees(w->lab.db, &err), 0, "whether parts agree with rows");
}

static void compare(struct world *w)
{
	compare_queue(w);
	qm_lab_compare(&w->lab);
}

/* Sets */

static void do_set(struct world *w)
{
	w->lab.did = "a set";
	if (w->lab.m.sets > 0 && throw(w, 6) == 0) {
		w->lab.did = "a set again";
		qm_lab_take(&w->lab, &w->lab.m.set[throw(w, w->lab.m.sets)], true);
		return;
	}
	qm_lab_take(&w->lab, qm_lab_set(&w->lab), false);
}

static void do_absorb(struct world *w)
{
	struct db_set next;
	struct db_absorbed did;
	struct err err = {0};
	size_t at = 0;
	w->lab.did = "absorbing";
	while (at < w->lab.m.sets && w->lab.m.set[at].is_absorbed)
		at++;
	int rc = db_set_next(w->lab.db, 0, &next, &err);
	SAME(rc, at == w->lab.m.sets, "whether a set waits");
	if (rc != 0)
		return;
	SAME(next.set, at + 1, "the next set");
	const struct qm_terms *t = &w->lab.m.terms[next.provider - 1];
	struct db_terms terms = {.quota_files = t->quota_files,
				 .quota_space = t->quota_space,
				 .period = w->lab.m.period,
				 .slot_us = w->lab.m.slot_us,
				 .now_us = w->lab.now_us,
				 .age_us = w->lab.age_us,
				 .rows_max = 1 + throw(w, 8)};
	MUST(hours_parse(str_of(t->hours), w->lab.m.period, &terms.hours, &err));
	MUST(db_absorb(w->lab.db, next.set, &terms, &did, &err));
	struct qm_set *set = &w->lab.m.set[at];
	qm_model_absorb(&w->lab.m, next.set, terms.rows_max, w->lab.now_us, w->lab.age_us);
	while (set->is_absorbed && !did.is_done) /* what a full set does not name */
		MUST(db_absorb(w->lab.db, next.set, &terms, &did, &err));
	if (did.is_done) /* the end alone is a step more for the model */
		qm_model_absorb(&w->lab.m, next.set, 1, w->lab.now_us, w->lab.age_us);
	SAME(did.is_done, set->is_absorbed, "whether the set is absorbed");
}

/* Fetches */

static void do_send(struct world *w)
{
	struct parts p = {.w = w};
	struct err err = {0};
	w->lab.did = "sending";
	MUST(db_parts(w->lab.db, part_remember, &p, &err));
	if (p.n == 0 || w->nout == OUT_MOST)
		return;
	const struct db_part *part = &p.part[throw(w, p.n)];
	struct lent *l = &w->out[w->nout];
	if (db_next(w->lab.db, part->set, part->slot, 0, &w->lab.arena, &l->row, &err) != 0)
		return;
	l->key = qm_key_of(l->row.provider, l->row.notice.c, l->row.notice.mime);
	struct qm_key *k = &w->lab.m.key[l->key];
	for (size_t i = 0; i < w->nout; i++)
		if (w->out[i].key == l->key)
			return;
	l->order = k->order;
	l->version = k->version;
	MUST(db_sent(w->lab.db, &l->row, 1, w->lab.now_us, &err));
	k->out = true;
	w->nout++;
}

static struct qm_answer some_answer(struct world *w, const struct lent *l)
{
	const struct qm_key *key = &w->lab.m.key[l->key];
	struct qm_answer a = {.key = l->key, .order = l->order, .version = l->version};
	static const enum db_end ends[] = {DB_END_STORED, DB_END_STORED,    DB_END_STORED,
					   DB_END_STORED, DB_END_UNCHANGED, DB_END_RETRY,
					   DB_END_FAILED, DB_END_PUT_BACK};
	a.end = ends[throw(w, ARRAY_LEN(ends))];
	if (a.end == DB_END_UNCHANGED && !key->stored)
		a.end = DB_END_STORED;
	a.code = a.end == DB_END_FAILED || a.end == DB_END_RETRY ? CACHE_NOT_FOUND : 0;
	uint64_t mime = throw(w, 10);
	a.mime = mime == 0 ? "" : mime == 1 ? "image/png" : qm_mime(l->key);
	a.size = throw(w, 4) * 100;
	a.mtime_s = (int64_t) throw(w, 4);
	a.md5 = throw(w, 3) ? key->notice.md5 : (unsigned) throw(w, 4);
	a.has_md5 = throw(w, 8) != 0;
	if (a.end == DB_END_STORED) {
		assert_true(w->lab.m.files < QM_FILES);
		a.file = w->lab.m.files++;
		w->lab.m.file[a.file] = QM_FILE_FETCHED;
	}
	return a;
}

static void answer(struct world *w, const struct lent *l, struct qm_answer *a)
{
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	struct err err = {0};
	qm_file_name(a->file, machine, file);
	struct db_done done = {.row = l->row.row,
			       .provider = l->row.provider,
			       .version = l->row.version,
			       .hash = l->row.hash,
			       .end = a->end,
			       .code = a->code,
			       .reason = str_of("words"),
			       .mime = str_of(a->mime),
			       .etag = str_of(""),
			       .size = a->size,
			       .mtime_s = a->mtime_s,
			       .has_md5 = a->has_md5,
			       .quota_space = w->lab.m.terms[l->row.provider - 1].quota_space};
	memset(done.md5, (int)a->md5, sizeof done.md5);
	if (a->end == DB_END_STORED) {
		done.machine = str_of(machine);
		done.file = str_of(file);
	}
	qm_model_done(&w->lab.m, a, w->lab.now_us, w->lab.age_us);
	MUST(db_done(w->lab.db, &done, 1, w->lab.now_us, w->lab.age_us, &err));
	if (a->end == DB_END_STORED)
		SAME(done.ret_kept, a->ret_kept, "whether a file is kept");
	SAME(done.ret_again, a->ret_again, "whether it stays in the queue");
	SAME(done.ret_code, a->ret_code, "the code of an answer");
	w->done++;
	w->kept += a->ret_kept;
	w->refused += a->ret_code >= CACHE_WRONG_MIME;
}

static void do_answer(struct world *w)
{
	w->lab.did = "an answer";
	if (w->nlate > 0 && throw(w, 6) == 0) { /* one that was answered before */
		struct lent *l = &w->late[throw(w, w->nlate)];
		struct qm_answer a = some_answer(w, l);
		bool is_out = false;
		w->lab.did = "an answer once more";
		for (size_t i = 0; i < w->nout; i++)
			is_out = is_out || w->out[i].key == l->key;
		if (is_out || a.end == DB_END_PUT_BACK || a.end == DB_END_UNCHANGED)
			return;
		answer(w, l, &a);
		return;
	}
	if (w->nout == 0)
		return;
	size_t at = throw(w, w->nout);
	struct lent l = w->out[at];
	w->out[at] = w->out[--w->nout];
	struct qm_answer a = some_answer(w, &l);
	answer(w, &l, &a);
	w->late[w->nlate < LATE_MOST ? w->nlate++ : throw(w, LATE_MOST)] = l;
}

/* The rest */

static void do_delete(struct world *w)
{
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	struct err err = {0};
	uint64_t id = 0;
	w->lab.did = "deleting";
	if (db_fsm_next(w->lab.db, 0, str_of(throw(w, 2) ? "m1" : ""), &id, machine, file, &err) !=
	    0)
		return;
	MUST(db_fsm_done(w->lab.db, &id, 1, &err));
	qm_model_deleted(&w->lab.m, qm_file_of(str_of(machine), str_of(file)));
}

static void nobody(void *ctx, uint64_t provider, bool has_expired)
{
	(void)ctx;
	(void)provider;
	(void)has_expired;
}

static void do_age(struct world *w)
{
	struct err err = {0};
	uint64_t from = 0;
	w->lab.did = "growing old";
	w->lab.age_us += (int64_t) throw(w, 100) * US_PER_S;
	if (throw(w, 4))
		return;
	int64_t before = w->lab.age_us - (int64_t) throw(w, 400) * US_PER_S;
	do
		MUST(db_ages(w->lab.db, from, 1 + throw(w, 10), before, before, w->lab.now_us,
			     nobody, NULL, &from, &err));
	while (from != 0);
	qm_model_expire(&w->lab.m, before, w->lab.now_us);
}

static void do_open(struct world *w)
{
	struct err err = {0};
	w->lab.did = "opening anew";
	db_close(&w->lab.db);
	MUST(db_open(&w->lab.db, scratch("world"), DB_WRITE, &err));
	for (size_t k = 0; k < QM_KEYS; k++)
		w->lab.m.key[k].out = false;
	w->nout = 0;
	if (throw(w, 2) == 0)
		MUST(db_rebuild(w->lab.db, &err));
}

static void finding_fails(void *ctx, const struct db_finding *f)
{
	struct world *w = ctx;
	LAB_FAIL(&w->lab, "%s", f->text);
}

static void do_check(struct world *w)
{
	struct err err = {0};
	w->lab.did = "checking";
	MUST(db_check(w->lab.db, false, NULL, finding_fails, w, &err));
}

static void do_terms(struct world *w)
{
	struct qm_terms *t = &w->lab.m.terms[throw(w, QM_PROVIDERS)];
	w->lab.did = "new terms";
	t->quota_files = throw(w, 2) ? UINT64_MAX : throw(w, QM_URLS * QM_MIMES);
	t->quota_space = throw(w, 2) ? UINT64_MAX : throw(w, 30) * 100;
	t->hours = throw(w, 2) ? "" : qm_lab_hours(&w->lab);
}

static void do_something(struct world *w)
{
	static void (*const what[])(struct world * w) = {
		do_set,    do_set,    do_set,    do_absorb, do_absorb, do_absorb,
		do_absorb, do_absorb, do_send,   do_send,   do_send,   do_send,
		do_send,   do_answer, do_answer, do_answer, do_answer, do_answer,
		do_delete, do_delete, do_age,    do_open,   do_check,  do_terms};
	w->lab.now_us += (int64_t) throw(w, 3 * 3600) * US_PER_S;
	what[throw(w, ARRAY_LEN(what))](w);
}

static void world_run(struct world *w, uint64_t number)
{
	struct err err = {0};
	w->nout = w->nlate = 0;
	w->done = w->kept = w->refused = 0;
	qm_lab_init(&w->lab, number);
	MUST(db_open(&w->lab.db, scratch("world"), DB_WRITE, &err));
	for (; w->lab.step < STEPS; w->lab.step++) {
		do_something(w);
		compare(w);
	}
	db_close(&w->lab.db);
	nftw(scratch("world"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void database_and_model_agree(void **state)
{
	(void)state;
	static struct world w;
	const char *alone = getenv("WORLD");
	uint64_t first = alone ? strtoull(alone, NULL, 10) : 1, done = 0, kept = 0, refused = 0;
	uint64_t n = alone ? 1 : unit_thorough() ? WORLDS : WORLDS_SHORT;
	w.lab.arena = ARENA_INIT(64 << 20);
	for (uint64_t i = first; i < first + n; i++) {
		world_run(&w, i);
		done += w.done;
		kept += w.kept;
		refused += w.refused;
	}
	arena_free(&w.lab.arena);
	if (!alone)
		assert_true(done > n && kept > n && refused > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(database_and_model_agree),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
