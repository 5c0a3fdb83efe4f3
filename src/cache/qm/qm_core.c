/* The core's rounds: what comes in, in which order it is worked on, and what is told after the
 * commit. Answers go first, for they free places; then hours and contracts, which say who may go;
 * then fetches go out, before the long steps, so that robots are busy while sets are absorbed. */
#include "cache/qm/qm_core_inner.h"

#include "base/fault.h"

#include <inttypes.h>
#include <stdio.h>

/* Parts whose time has not come are looked at one by one, later: their slot may have passed while
 * nobody looked. */
static void on_part(void *ctx, const struct db_part *part)
{
	struct qm_parts *l = ctx;
	struct qm_core *c = l->core;
	/* DB_BAD: it has its wait before it, but for no slot */
	if (part->start == DB_NOW || part->start == DB_BAD)
		*VEC_PUSH(l->part, l->n, l->room) = *part;
	else
		*VEC_PUSH(c->look, c->nlook, c->look_room) = *part;
}

static int parts_load(struct qm_core *c, struct err *err)
{
	struct qm_parts list = {.core = c};
	return qm_parts_add(&list, db_parts(c->db, on_part, &list, err), false, err);
}

static int core_load(struct qm_core *c, struct err *err)
{
	struct db *db = c->db;
	int rc = db_agrees(db, err);
	if (rc == 1)
		rc = db_rebuild(db, err);
	if (rc == 0)
		rc = db_take_forget(db, NULL, err);
	if (rc == 0)
		rc = parts_load(c, err);
	if (rc == 0)
		rc = db_rows(db, &c->counts.rows, &c->counts.rows_stored, err);
	return rc;
}

int qm_core_new(struct qm_core **ret, const struct qm_core_options *options,
		const struct qm_now *now, struct err *err)
{
	struct qm_core *c = mem_alloc(sizeof *c);
	*c = (struct qm_core){
		.o = *options,
		.db = options->db,
		.now = *now,
		.turns = turns_new(&options->turns, now->mono_us),
		.arena = ARENA_INIT(QM_ROUND_MEMORY),
		.sets_came = true,
		.is_more = true,
		.ages_at_us = now->mono_us + MIN(options->ages_every_us, US_PER_MIN),
		.steady_us = now->wall_us - now->mono_us,
		.age_put_us = now->age_us,
		.delete_again_us = INT64_MAX,
	};
	c->slot = qm_slot_at(c, now->wall_us);
	int rc = core_load(c, err);
	if (rc < 0)
		qm_core_free(&c);
	else
		*ret = c;
	return rc;
}

void qm_core_free(struct qm_core **cp)
{
	struct qm_core *c = *cp;
	if (!c)
		return;
	turns_free(&c->turns);
	qm_providers_free(&c->providers);
	qm_numbers_free(&c->deleting);
	qm_numbers_free(&c->wanted);
	qm_numbers_free(&c->stale);
	arena_free(&c->arena);
	mem_free(&c->answer);
	mem_free(&c->sent);
	mem_free(&c->look);
	mem_free(&c->changed);
	mem_free(&c->forget);
	mem_free(&c->machine);
	mem_free(&c->deleted);
	mem_free(&c->removal);
	mem_free(&c->wish);
	mem_free(cp);
}

/* Contracts and slots. */

int qm_contract_of(struct qm_core *c, uint64_t provider, const struct qm_contract **ret)
{
	bool is_new;
	struct qm_known *k = qm_providers_put_new(&c->providers, provider, &is_new);
	if (!k->is_known) {
		k->is_known = true;
		k->is_gone = c->o.ops->contract(c->o.ctx, provider, &k->contract) != 0;
		if (!k->is_gone)
			turns_contract(c->turns, provider, k->contract.priority,
				       k->contract.bandwidth);
	}
	*ret = &k->contract;
	return k->is_gone;
}

int64_t qm_slot_at(const struct qm_core *c, int64_t wall_us)
{
	return hours_slot(clock_sane_us(wall_us), c->o.slot_us, c->o.period);
}

struct park {
	struct qm_core *core;
	int64_t start;
	int rc;
	struct err *err;
};

static void part_park(void *ctx, uint64_t set, int64_t slot)
{
	struct park *p = ctx;
	struct db *db = p->core->db;
	if (p->rc == 0)
		p->rc = db_start(db, set, slot, p->start, p->err);
}

int64_t qm_park_slot(const struct qm_core *c, int64_t until_mono_us)
{
	int64_t most = (int64_t)c->o.period * US_PER_H - c->o.slot_us;
	int64_t wait = MIN(MAX(until_mono_us - c->now.mono_us, c->o.slot_us), most);
	return qm_slot_at(c, c->now.wall_us + wait);
}

int qm_parts_park(struct qm_core *c, uint64_t provider, int64_t until_mono_us, struct err *err)
{
	struct park p = {.core = c, .start = qm_park_slot(c, until_mono_us), .err = err};
	turns_clear(c->turns, provider, part_park, &p);
	return p.rc;
}

int qm_part_add(struct qm_core *c, uint64_t provider, uint64_t set, int64_t slot, bool has_waited,
		struct err *err)
{
	const struct qm_contract *contract;
	if (qm_contract_of(c, provider, &contract) != 0)
		return 0; /* its rows go, in steps */
	int64_t until = turns_wait(c->turns, provider, c->now.mono_us);
	if (until)
		return db_start(c->db, set, slot, qm_park_slot(c, until), err);
	turns_add(c->turns, provider, set, slot, has_waited);
	return 0;
}

int qm_parts_add(struct qm_parts *l, int rc, bool has_waited, struct err *err)
{
	for (size_t i = 0; i < l->n && rc == 0; i++)
		rc = qm_part_add(l->core, l->part[i].provider, l->part[i].set, l->part[i].slot,
				 has_waited, err);
	mem_free(&l->part);
	return rc;
}

/* What comes in. */

int qm_core_begin(struct qm_core *c, const struct qm_now *now, struct err *err)
{
	ENSURE(!c->in_round);
	int64_t mono = MAX(now->mono_us, c->now.mono_us);
	c->now = *now;
	c->now.mono_us = mono;
	c->in_round = true;
	c->is_more = false;
	arena_clear(&c->arena);
	return db_begin(c->db, err);
}

void qm_core_sets(struct qm_core *c)
{
	c->sets_came = true;
}

void qm_core_changed(struct qm_core *c, uint64_t provider)
{
	*VEC_PUSH(c->changed, c->nchanged, c->changed_room) = provider;
}

void qm_core_forget(struct qm_core *c, uint64_t provider)
{
	for (size_t i = 0; i < c->nforget; i++)
		if (c->forget[i] == provider)
			return;
	*VEC_PUSH(c->forget, c->nforget, c->forget_room) = provider;
}

/* A round. */

static int row_note(struct qm_core *c, const struct qm_sent *s, struct err *err)
{
	const struct qm_known *k = qm_providers_get(&c->providers, s->provider);
	const struct db_row row = {.row = s->out.row, .provider = s->provider};
	if (!k || k->out.row != s->out.row || k->out.version != s->out.version ||
	    k->out.tries != s->out.tries)
		return 0;
	FAULT("qm.sent");
	return db_sent(c->db, &row, 1, s->wall_us, err);
}

static int rows_note(struct qm_core *c, struct err *err)
{
	int rc = 0;
	while (rc == 0 && c->sent_at < c->nsent &&
	       c->sent[c->sent_at].at_us + QM_SENT_NOTE_US <= c->now.mono_us)
		rc = row_note(c, &c->sent[c->sent_at++], err);
	if (c->sent_at > c->nsent / 2) {
		c->nsent -= c->sent_at;
		memmove(c->sent, c->sent + c->sent_at, c->nsent * sizeof c->sent[0]);
		c->sent_at = 0;
	}
	return rc;
}

static int age_keep(struct qm_core *c, struct err *err)
{
	if (c->now.age_us - c->age_put_us < QM_AGE_PUT_US)
		return 0;
	c->age_put_us = c->now.age_us;
	return db_age_put(c->db, c->now.age_us, err);
}

int qm_core_work(struct qm_core *c, uint64_t room, size_t step, struct err *err)
{
	const size_t few = MIN(step, (size_t)QM_STEP_MOST);
	ENSURE(c->in_round);
	c->room = room;
	if (qm_answers_done(c, err) < 0 || qm_changes_do(c, err) < 0 ||
	    qm_slots_turn(c, few, err) < 0 || qm_fill(c, few, err) < 0 || rows_note(c, err) < 0 ||
	    qm_absorb_step(c, step, err) < 0 || qm_stale_look(c, err) < 0 ||
	    qm_forget_step(c, few, err) < 0 || qm_deletes_step(c, err) < 0 ||
	    qm_ages_step(c, few, err) < 0 || age_keep(c, err) < 0)
		return -1;
	return db_rows(c->db, &c->counts.rows, &c->counts.rows_stored, err);
}

void qm_core_tell(struct qm_core *c)
{
	char id[32];
	qm_answers_tell(c);
	for (size_t i = 0; i < c->removals; i++) {
		const struct qm_removal *r = &c->removal[i];
		snprintf(id, sizeof id, "d%" PRIu64, r->id);
		FAULT("qm.delete");
		c->o.ops->remove(c->o.ctx, str_of(id), str_of(r->machine), str_of(r->file));
	}
	c->answers = c->removals = 0;
}

static void round_note(struct qm_core *c)
{
	for (size_t i = 0; i < c->wishes; i++)
		c->o.ops->wanted(c->o.ctx, c->wish[i].provider, c->wish[i].why);
	for (size_t i = 0; i < c->forgotten; i++)
		c->o.ops->forgotten(c->o.ctx, c->forget[i]);
	if (c->forgotten)
		memmove(c->forget, c->forget + c->forgotten,
			(c->nforget - c->forgotten) * sizeof c->forget[0]);
	c->nforget -= c->forgotten;
	c->wishes = c->forgotten = 0;
}

int qm_core_commit(struct qm_core *c, struct err *err)
{
	ENSURE(c->in_round);
	c->in_round = false;
	FAULT("qm.commit");
	if (db_commit(c->db, err) < 0)
		return -1;
	round_note(c);
	return 0;
}

int64_t qm_core_wait_us(const struct qm_core *c, const struct qm_now *now)
{
	int64_t wall = clock_sane_us(now->wall_us);
	int64_t wait = c->o.slot_us - wall % c->o.slot_us;
	if (c->is_more || c->answers || c->sets_came || c->nchanged || c->nforget || c->nlook)
		return 0;
	if (c->room) {
		int64_t due = turns_due_us(c->turns, now->mono_us);
		wait = due == INT64_MAX ? wait : MIN(wait, due - now->mono_us);
	}
	if (c->sent_at < c->nsent)
		wait = MIN(wait, c->sent[c->sent_at].at_us + QM_SENT_NOTE_US - now->mono_us);
	if (qm_numbers_count(&c->stale))
		wait = MIN(wait, c->stale_at_us - now->mono_us);
	wait = MIN(wait, c->ages_at_us - now->mono_us);
	if (c->delete_again_us != INT64_MAX)
		wait = MIN(wait, c->delete_again_us - now->mono_us);
	return MAX(wait, INT64_C(0));
}

void qm_core_counts(const struct qm_core *c, struct qm_core_counts *ret)
{
	*ret = c->counts;
	ret->open_sets = c->nopen;
	for (size_t i = 0; i < c->nopen; i++)
		ret->open_urls += c->open[i].urls;
	ret->deletes_out = qm_numbers_count(&c->deleting);
	turns_counts(c->turns, &ret->turns);
}
