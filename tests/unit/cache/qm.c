/* The queue manager's core (qm_core.h) over a real database and the slow model of the queue agree,
 * over random sets, answers, contracts, clocks and kills. A world follows from its number. In each
 * round either sets come and are absorbed, or answers come and fetches go out; then all that the
 * model knows is compared. Each fetch that goes out is judged (qm_world.h). At the end of a world
 * everything is answered well for days, after which the queue must be empty. WORLD=n runs that one
 * alone. */
#include "cache/cache_conf.h"
#include "unit/cache/qm_world.h"
#include "unit/scratch.h"

#include <stdio.h>

enum { WORLDS = 300, WORLDS_SHORT = 2, ROUNDS = 120, DRAIN_ROUNDS = 4000 };

static struct world world;
static struct world before; /* the round: for one that is killed */

#define MUST(call) LAB_MUST(&w->lab, call)
#define SAME(a, b, what) LAB_SAME(&w->lab, a, b, what)

/* The queue as it is in the database */

static void part_remember(void *ctx, const struct db_part *part)
{
	struct world *w = ctx;
	assert_true(w->nparts < ARRAY_LEN(w->part));
	w->part[w->nparts++] = *part;
}

static void row_compare(struct world *w, const struct db_part *part, const struct db_row *row,
			bool seen[QM_KEYS], uint64_t *order)
{
	size_t k = qm_key_of(row->provider, row->notice.c, row->notice.mime);
	assert_true(k < QM_KEYS);
	struct qm_key *key = &w->lab.m.key[k];
	SAME(key->queued, true, "whether a row is in the queue");
	SAME(row->is_nothing, key->is_nothing, "whether a row is nothing");
	SAME(part->set, key->set, "the set of a row");
	SAME(row->tries, key->tries, "tries");
	if (part->slot == DB_BAD) /* but a bad one whose hours pass may wait for its slot */
		SAME(DB_BAD, key->slot, "the slot of a row");
	SAME(key->order > *order, true, "whether rows are in order");
	w->moved += key->slot != part->slot;
	key->slot = part->slot; /* rows whose hours pass are moved when that is seen */
	*order = key->order;
	seen[k] = true;
}

static void compare_queue(struct world *w)
{
	bool seen[QM_KEYS] = {false};
	struct err err = {0};
	struct db_row row;
	w->nparts = 0;
	MUST(db_parts(w->lab.db, part_remember, w, &err));
	for (size_t i = 0; i < w->nparts; i++) {
		const struct db_part *part = &w->part[i];
		uint64_t after = 0, order = 0, rows = 0;
		int rc;
		while ((rc = db_next(w->lab.db, part->set, part->slot, after, &w->lab.arena, &row,
				     &err)) == 0) {
			row_compare(w, part, &row, seen, &order);
			after = row.row;
			rows++;
		}
		SAME(rc, 1, err.msg);
		SAME(part->rows, rows, "rows of a part");
	}
	for (size_t k = 0; k < QM_KEYS; k++) {
		struct qm_key *key = &w->lab.m.key[k];
		if (key->queued && key->is_nothing && !seen[k])
			key->queued = false; /* it came to the head of its set */
		SAME(seen[k], key->queued, "whether a row is still in the queue");
	}
	SAME(db_agrees(w->lab.db, &err), 0, "whether parts agree with rows");
}

static void compare(struct world *w)
{
	for (size_t i = 0; i < w->ndeletes; i++)
		SAME(w->lab.m.file[w->deletes[i].file], QM_FILE_DOOMED, "a file that is deleted");
	compare_queue(w);
	qm_lab_compare(&w->lab);
}

/* Rounds */

static struct qm_now now_of(const struct world *w)
{
	return (struct qm_now){
		.mono_us = w->mono_us, .wall_us = w->lab.now_us, .age_us = w->lab.age_us};
}

static void core_open(struct world *w)
{
	struct err err = {0};
	struct qm_now now = now_of(w);
	struct qm_core_options options = {
		.slot_us = w->lab.m.slot_us,
		.period = w->lab.m.period,
		.turns = {.wheel_slots = WHEEL_SLOTS,
			  .wheel_step_us = WHEEL_STEP_S * US_PER_S,
			  .site_wait_us = SITE_WAIT_S * US_PER_S,
			  .retry_wait_us = RETRY_WAIT_S * US_PER_S,
			  .stay = 3},
		.retries = RETRIES,
		.old_after_us = OLD_S * US_PER_S,
		.expire_after_us = EXPIRE_S * US_PER_S,
		.ages_every_us = US_PER_H,
		.receipts_kept_us = INT64_C(365) * US_PER_DAY,
		.deletes = DELETES,
		.ops = &qm_world_ops,
		.ctx = w,
	};
	MUST(db_open(&w->lab.db, scratch("world"), DB_WRITE, &err));
	options.db = w->lab.db;
	MUST(qm_core_new(&w->core, &options, &now, &err));
	w->ndeletes = 0;
	for (size_t i = 0; i < QM_MACHINES; i++)
		w->machine_up[i] = false;
}

static void core_close(struct world *w)
{
	qm_core_free(&w->core);
	db_close(&w->lab.db);
}

/* What was out is still at the botm; delays are not kept. */
static void core_reopen(struct world *w)
{
	core_close(w);
	for (size_t k = 0; k < QM_KEYS; k++)
		w->lab.m.key[k].out = false;
	for (size_t i = 0; i < w->nout; i++)
		w->out[i].lost = true;
	for (size_t i = 0; i < QM_PROVIDERS; i++) {
		w->ready[i] = false;
		w->after_us[i] = 0;
		w->site_errors[i] = 0;
	}
	core_open(w);
}

static bool fetch_is_known(const struct world *w, const char *id)
{
	for (size_t i = 0; i < w->nout; i++)
		if (strcmp(w->out[i].id, id) == 0)
			return true;
	return false;
}

/* Nothing of this round has happened, but that the botm has what went out in it. */
static void round_kill(struct world *w)
{
	static struct world killed;
	killed = *w;
	*w = before;
	w->lab.db = killed.lab.db;
	w->core = killed.core;
	w->lab.arena = killed.lab.arena;
	w->lab.seed = killed.lab.seed;
	w->kills++;
	for (size_t i = 0; i < killed.nout; i++)
		if (!fetch_is_known(w, killed.out[i].id) && w->nout < OUT_MOST)
			w->out[w->nout++] = killed.out[i];
	core_reopen(w);
}

static void round_begin(struct world *w)
{
	struct qm_now now = now_of(w);
	struct err err = {0};
	before = *w;
	w->nnow = 0;
	MUST(qm_core_begin(w->core, &now, &err));
}

/* Whether it was committed, or killed before that: then nothing has happened. */
static bool round_end(struct world *w)
{
	struct err err = {0};
	if (!w->is_calm && qm_throw(&w->lab, 25) == 0) {
		round_kill(w);
		return false;
	}
	MUST(qm_core_commit(w->core, &err));
	qm_core_tell(w->core);
	for (size_t i = 0; i < w->nnow; i++)
		SAME(w->now[i].told, true, "whether an answer has its verdict");
	return true;
}

static size_t first_open(const struct world *w)
{
	size_t at = 0;
	while (at < w->lab.m.sets && w->lab.m.set[at].is_absorbed)
		at++;
	return at;
}

static void round_absorb(struct world *w)
{
	struct db_set next;
	struct err err = {0};
	size_t step = qm_throw(&w->lab, 2) ? 1000 : 1 + qm_throw(&w->lab, 5);
	w->lab.did = "sets come";
	round_begin(w);
	/* one: the model does not know which rows of those that are out the database has noted, and
	 * a full set leaves just those in the queue */
	if (!w->is_calm && w->lab.m.sets < QM_SETS && qm_throw(&w->lab, 4))
		qm_lab_take(&w->lab, qm_lab_set(&w->lab), false);
	qm_core_sets(w->core);
	MUST(qm_core_work(w->core, 0, step, &err));
	if (!round_end(w))
		return;
	for (int i = 0; i < 10000; i++) { /* until they are absorbed */
		int rc = db_set_next(w->lab.db, 0, &next, &err);
		if (rc == 1)
			break;
		SAME(rc, 0, "set_next()");
		assert_true(i < 9999);
		struct qm_now now = now_of(w);
		MUST(qm_core_begin(w->core, &now, &err));
		MUST(qm_core_work(w->core, 0, step, &err));
		MUST(qm_core_commit(w->core, &err));
		qm_core_tell(w->core);
	}
	for (size_t i = first_open(w); i < w->lab.m.sets; i++) {
		while (!w->lab.m.set[i].is_absorbed)
			qm_model_absorb(&w->lab.m, i + 1, QM_SET_MOST, w->lab.now_us,
					w->lab.age_us);
		w->ready[w->lab.m.set[i].provider - 1] = false;
	}
}

/* Answers */

static const enum outcome outcomes[] = {OUTCOME_OK,
					OUTCOME_OK,
					OUTCOME_OK,
					OUTCOME_OK,
					OUTCOME_OK,
					OUTCOME_UNCHANGED,
					OUTCOME_TEMPORARY,
					OUTCOME_TEMPORARY,
					OUTCOME_PERMANENT,
					OUTCOME_SITE_TEMPORARY,
					OUTCOME_SITE_PERMANENT,
					OUTCOME_LIMIT,
					OUTCOME_ROBOTS,
					OUTCOME_ADDRESS,
					OUTCOME_CANCELLED,
					OUTCOME_REDIRECT};

/* By the document: what an outcome means for the row. */
static void answer_class(const struct world *w, struct qm_answer *a, enum outcome o)
{
	const struct qm_key *key = &w->lab.m.key[a->key];
	switch (o) {
	case OUTCOME_OK:
		a->end = DB_END_STORED;
		break;
	case OUTCOME_UNCHANGED:
		a->end = DB_END_UNCHANGED;
		break;
	case OUTCOME_TEMPORARY:
		a->end = key->tries < RETRIES ? DB_END_RETRY : DB_END_FAILED;
		a->code = CACHE_RETRIES;
		break;
	case OUTCOME_SITE_TEMPORARY:
	case OUTCOME_SITE_PERMANENT:
	case OUTCOME_CANCELLED:
		a->end = DB_END_PUT_BACK;
		break;
	default:
		a->end = DB_END_FAILED;
		a->code = o == OUTCOME_LIMIT      ? CACHE_TOO_LARGE
			  : o == OUTCOME_ROBOTS   ? CACHE_ROBOTS
			  : o == OUTCOME_ADDRESS  ? CACHE_CONNECT
			  : o == OUTCOME_REDIRECT ? CACHE_PREFIX
						  : CACHE_NOT_FOUND;
	}
}

static void delay_note(struct world *w, const struct fetch *f, enum outcome o,
		       const struct qm_answer *a)
{
	size_t p = qm_provider(f->key) - 1;
	if (f->lost)
		return;
	w->ready[p] = false;
	if (o == OUTCOME_SITE_TEMPORARY || o == OUTCOME_SITE_PERMANENT) {
		int64_t wait_us = SITE_WAIT_S * US_PER_S << MIN(w->site_errors[p], 8u);
		w->site_errors[p]++;
		w->after_us[p] = w->mono_us + wait_us;
		w->wall_jumped = false;
	} else if (o != OUTCOME_CANCELLED) {
		w->site_errors[p] = 0;
		w->ready[p] = w->bandwidth[p] == 0 && a->end != DB_END_RETRY;
		if (w->bandwidth[p] && o == OUTCOME_OK) {
			w->after_us[p] = f->sent_us - WHEEL_STEP_S * US_PER_S +
					 (int64_t)(a->size * US_PER_S / w->bandwidth[p]);
			w->wall_jumped = false;
		}
	}
}

static void answer(struct world *w, const struct fetch *f, enum outcome o)
{
	struct answered *s = &w->now[w->nnow++];
	const struct qm_key *key = &w->lab.m.key[f->key];
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	*s = (struct answered){.a = {.key = f->key, .order = f->order, .version = f->version}};
	memcpy(s->id, f->id, sizeof s->id);
	struct bot_message m = {.kind = BOT_FETCHED,
				.has = BOT_HAS_ID | BOT_HAS_OUTCOME,
				.id = str_of(s->id),
				.outcome = o};
	uint64_t mime = w->is_calm ? 9 : qm_throw(&w->lab, 10);
	answer_class(w, &s->a, o);
	s->a.mime = mime == 0 ? "" : mime == 1 ? "image/png" : qm_mime(f->key);
	s->a.size = qm_throw(&w->lab, 4) * 100;
	s->a.mtime_s = (int64_t)qm_throw(&w->lab, 4);
	s->a.md5 = qm_throw(&w->lab, 3) || w->is_calm ? key->notice.md5
						      : (unsigned)qm_throw(&w->lab, 4);
	s->a.has_md5 = qm_throw(&w->lab, 8) != 0;
	if (o == OUTCOME_OK) {
		assert_true(w->lab.m.files < QM_FILES);
		s->a.file = w->lab.m.files++;
		s->has_file = true;
		w->lab.m.file[s->a.file] = QM_FILE_FETCHED;
		qm_file_name(s->a.file, machine, file);
		m.machine = str_of(machine);
		m.file = str_of(file);
		m.size = s->a.size;
		m.mtime = (uint64_t)s->a.mtime_s;
		m.mime = str_of(s->a.mime);
		memset(m.md5, (int)s->a.md5, sizeof m.md5);
		m.has |= BOT_HAS_MACHINE | BOT_HAS_FILE | BOT_HAS_SIZE |
			 (s->a.mtime_s ? BOT_HAS_MTIME : 0) | (s->a.mime[0] ? BOT_HAS_MIME : 0) |
			 (s->a.has_md5 ? BOT_HAS_MD5 : 0);
	}
	qm_core_answered(w->core, &m);
	qm_model_done(&w->lab.m, &s->a, w->lab.now_us, w->lab.age_us);
	delay_note(w, f, o, &s->a);
	w->stored += s->a.ret_kept;
	w->refused += s->a.ret_code == CACHE_WRONG_MIME || s->a.ret_code == CACHE_WRONG_MD5;
	w->retried += o == OUTCOME_TEMPORARY;
}

static void some_answers(struct world *w)
{
	for (size_t i = 0; i < w->nout && w->nnow + 1 < OUT_MOST;) {
		struct fetch f = w->out[i];
		enum outcome o = outcomes[qm_throw(&w->lab, ARRAY_LEN(outcomes))];
		if (!w->is_calm && qm_throw(&w->lab, 3) == 0) {
			i++;
			continue;
		}
		if (w->is_calm ||
		    (o == OUTCOME_UNCHANGED && (!f.has_validators || !w->lab.m.key[f.key].stored)))
			o = OUTCOME_OK;
		w->out[i] = w->out[--w->nout];
		answer(w, &f, o);
		w->old[w->nold < OUT_MOST ? w->nold++ : qm_throw(&w->lab, OUT_MOST)] = f;
	}
	if (w->nold == 0 || w->is_calm || qm_throw(&w->lab, 4))
		return;
	struct fetch f = w->old[qm_throw(&w->lab, w->nold)]; /* it went to two machines */
	if (f.tries != w->lab.m.key[f.key].tries)
		return; /* what an earlier try was answered counts or not */
	f.lost = true;
	for (size_t i = 0; i < w->nout; i++)
		if (strcmp(w->out[i].id, f.id) == 0)
			return;
	for (size_t i = 0; i < w->nnow; i++)
		if (strcmp(w->now[i].id, f.id) == 0)
			return;
	answer(w, &f, OUTCOME_OK);
}

static void some_deletes(struct world *w)
{
	for (size_t i = 0; i < QM_MACHINES; i++)
		if (w->is_calm || qm_throw(&w->lab, 8) == 0) {
			char name[8];
			snprintf(name, sizeof name, "m%zu", i);
			w->machine_up[i] = w->is_calm || !w->machine_up[i];
			qm_core_machine(w->core, str_of(name), w->machine_up[i]);
		}
	while (w->ndeletes > 0 && (w->is_calm || qm_throw(&w->lab, 3))) {
		struct delete d = w->deletes[--w->ndeletes];
		static const enum bot_deletion how[] = {BOT_DELETED_OK, BOT_DELETED_OK,
							BOT_DELETED_NONE, BOT_DELETED_ABSENT,
							BOT_DELETED_FAILED};
		enum bot_deletion h = how[qm_throw(&w->lab, w->is_calm ? 3 : ARRAY_LEN(how))];
		if (h == BOT_DELETED_OK || h == BOT_DELETED_NONE)
			qm_model_deleted(&w->lab.m, d.file);
		qm_core_deleted(w->core, str_of(d.id), h);
	}
}

static void round_fetch(struct world *w)
{
	struct err err = {0};
	struct qm_core_counts counts;
	uint64_t out = 0;
	w->lab.did = "fetching";
	round_begin(w);
	some_answers(w);
	some_deletes(w);
	uint64_t room = w->is_calm ? 10 : qm_throw(&w->lab, 4), sent = w->sent;
	MUST(qm_core_work(w->core, room, 1000, &err));
	assert_true(w->sent - sent <= room);
	if (!round_end(w))
		return;
	qm_core_counts(w->core, &counts);
	for (size_t i = 0; i < w->nout; i++)
		out += !w->out[i].lost;
	SAME(counts.turns.out, out, "how many are out");
}

/* The rest */

static void round_contract(struct world *w)
{
	struct err err = {0};
	size_t p = qm_throw(&w->lab, QM_PROVIDERS);
	struct qm_terms *t = &w->lab.m.terms[p];
	w->lab.did = "a new contract";
	round_begin(w);
	t->quota_files = qm_throw(&w->lab, 2) ? UINT64_MAX : qm_throw(&w->lab, QM_URLS * QM_MIMES);
	t->quota_space = qm_throw(&w->lab, 2) ? UINT64_MAX : qm_throw(&w->lab, 30) * 100;
	t->hours = qm_throw(&w->lab, 2) ? "" : qm_lab_hours(&w->lab);
	w->priority[p] = (int64_t)qm_throw(&w->lab, 3) - 1;
	w->bandwidth[p] = qm_throw(&w->lab, 2) ? 0 : 1 + qm_throw(&w->lab, 100);
	w->ready[p] = false;
	w->after_us[p] = 0; /* what it waited for holds no more */
	qm_core_changed(w->core, p + 1);
	MUST(qm_core_work(w->core, 0, 1000, &err));
	MUST(qm_core_commit(w->core, &err));
	qm_core_tell(w->core);
}

/* Whether something of the provider was not confirmed for so long; queued: what is queued, too. */
static bool is_older(const struct world *w, uint64_t provider, int64_t before_us, bool queued)
{
	for (size_t k = 0; k < QM_KEYS; k++) {
		const struct qm_key *key = &w->lab.m.key[k];
		if (qm_provider(k) == provider && key->stored && (queued || !key->queued) &&
		    key->confirmed_us < before_us)
			return true;
	}
	return false;
}

/* The clock of ages goes on, and all that is stored is looked at. */
static void round_age(struct world *w)
{
	enum pidb_wanted want[QM_PROVIDERS];
	struct err err = {0};
	w->lab.did = "growing old";
	w->lab.age_us += (int64_t)qm_throw(&w->lab, 3000) * US_PER_S + 1;
	int64_t expire_us = w->lab.age_us - EXPIRE_S * US_PER_S;
	int64_t old_us = w->lab.age_us - OLD_S * US_PER_S;
	for (size_t p = 0; p < QM_PROVIDERS; p++) {
		want[p] = is_older(w, p + 1, expire_us, true) ? PIDB_EXPIRED
			  : is_older(w, p + 1, old_us, false) ? PIDB_OLD
							      : PIDB_NOT_WANTED;
		w->wanted[p] = PIDB_NOT_WANTED;
	}
	for (int i = 0; i < 12; i++) {
		struct qm_now now;
		w->mono_us += 10 * US_PER_MIN;
		now = now_of(w);
		MUST(qm_core_begin(w->core, &now, &err));
		MUST(qm_core_work(w->core, 0, 1000, &err));
		MUST(qm_core_commit(w->core, &err));
		qm_core_tell(w->core);
	}
	qm_model_expire(&w->lab.m, expire_us, w->lab.now_us);
	for (size_t p = 0; p < QM_PROVIDERS; p++)
		SAME(w->wanted[p], want[p], "why a full set is wanted");
}

static void clocks_move(struct world *w)
{
	static const int64_t steps_s[] = {0, 1, 5, 60, 600, 3600};
	int64_t step_us = steps_s[qm_throw(&w->lab, ARRAY_LEN(steps_s))] * US_PER_S;
	w->mono_us += step_us;
	w->lab.now_us += step_us;
	if (qm_throw(&w->lab, 20) == 0) { /* somebody puts the clock right, or wrong */
		w->lab.now_us += ((int64_t)qm_throw(&w->lab, 2000) - 1000) * US_PER_H;
		w->wall_jumped = true;
	}
}

static void world_round(struct world *w)
{
	uint64_t what = qm_throw(&w->lab, 20);
	clocks_move(w);
	if (what < 6)
		round_absorb(w);
	else if (what < 17)
		round_fetch(w);
	else if (what < 18)
		round_contract(w);
	else if (what < 19)
		round_age(w);
	else
		core_reopen(w);
	compare(w);
}

static uint64_t all_queued(const struct world *w)
{
	uint64_t n = 0;
	for (uint64_t p = 1; p <= QM_PROVIDERS; p++)
		n += qm_model_queued(&w->lab.m, p);
	return n;
}

static bool is_over(const struct world *w)
{
	for (size_t i = 0; i < w->lab.m.files; i++)
		if (w->lab.m.file[i] == QM_FILE_DOOMED)
			return false;
	return all_queued(w) == 0;
}

/* Days in which all goes well, but for hours that contract and URL do not share. */
static void world_drain(struct world *w)
{
	w->is_calm = true;
	for (size_t p = 0; p < QM_PROVIDERS; p++) {
		w->lab.m.terms[p].hours = "";
		w->bandwidth[p] = 0;
		w->after_us[p] = 0;
	}
	core_reopen(w);
	for (int i = 0; i < DRAIN_ROUNDS && !is_over(w); i++) {
		w->lab.step++;
		w->mono_us += 2 * US_PER_MIN;
		w->lab.now_us += 2 * US_PER_MIN;
		round_absorb(w);
		round_fetch(w);
		compare(w);
	}
	SAME(all_queued(w), 0, "rows that are left after days");
	SAME(is_over(w), true, "whether all files are deleted that are to be");
}

static void world_run(struct world *w, uint64_t number)
{
	struct arena arena = w->lab.arena;
	*w = (struct world){.lab = {.arena = arena}, .mono_us = US_PER_H};
	qm_lab_init(&w->lab, number);
	w->lab.notes_late = true;
	core_open(w);
	for (; w->lab.step < ROUNDS; w->lab.step++)
		world_round(w);
	world_drain(w);
	core_close(w);
	nftw(scratch("world"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void queue_manager_and_model_agree(void **state)
{
	(void)state;
	struct world *w = &world;
	const char *alone = getenv("WORLD");
	uint64_t first = alone ? strtoull(alone, NULL, 10) : 1, n = alone ? 1 : WORLDS_SHORT;
	uint64_t stored = 0, refused = 0, retried = 0, kills = 0, moved = 0;
	if (unit_thorough() && !alone)
		n = WORLDS;
	w->lab.arena = ARENA_INIT(64 << 20);
	for (uint64_t i = first; i < first + n; i++) {
		world_run(w, i);
		stored += w->stored;
		refused += w->refused;
		retried += w->retried;
		kills += w->kills;
		moved += w->moved;
	}
	arena_free(&w->lab.arena);
	print_message("worlds %" PRIu64 ": %" PRIu64 " stored, %" PRIu64 " refused, %" PRIu64
		      " retried, %" PRIu64 " killed, %" PRIu64 " moved\n",
		      n, stored, refused, retried, kills, moved);
	if (!alone)
		assert_true(stored > n && refused && retried && kills && moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_manager_and_model_agree),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
