/* What takes long goes in steps, a few in each round, so that fetches go on: absorbing sets,
 * looking at parts whose time has come, removing what is left of a provider, ages, deletes. Sets of
 * several providers are absorbed side by side, those of one provider in their order. */
#include "base/fault.h"
#include "cache/qm/qm_core_inner.h"

/* Sets. */

static int sets_load(struct qm_core *c, struct err *err)
{
	int rc = 0;
	c->nopen = 0;
	for (uint64_t after = 0; rc == 0 && c->nopen < QM_OPEN_SETS;) {
		rc = db_set_next(c->db, after, &c->open[c->nopen], err);
		if (rc == 0)
			after = c->open[c->nopen++].set;
	}
	c->sets_came = false;
	return MIN(rc, 0);
}

/* The next one that has its turn: not one that comes after another of its provider. */
static struct db_set *set_pick(struct qm_core *c)
{
	for (size_t k = 0; k < c->nopen; k++) {
		size_t at = (c->open_turn + k) % c->nopen, older = 0;
		while (older < at && c->open[older].provider != c->open[at].provider)
			older++;
		if (older < at)
			continue;
		c->open_turn = at + 1;
		return &c->open[at];
	}
	return NULL;
}

static void absorbed_count(struct qm_core *c, const struct db_absorbed *a)
{
	struct qm_core_counts *n = &c->counts;
	n->sets += a->is_done;
	n->notices += a->queued + a->updated + a->unchanged + a->removed + a->failed + a->named;
	n->queued += a->queued;
	n->updated += a->updated;
	n->unchanged += a->unchanged;
	n->removed += a->removed;
	n->refused += a->failed;
	if (a->removed)
		qm_deletes_again(c);
}

static int set_absorb(struct qm_core *c, const struct db_set *set, size_t step, struct err *err)
{
	const struct qm_contract *contract;
	struct db_absorbed did;
	struct db_part part;
	if (qm_contract_look(c, set->provider, err) < 0)
		return -1;
	if (qm_contract_of(c, set->provider, &contract) != 0) {
		qm_core_forget(c, set->provider);
		return 0;
	}
	const struct db_terms terms = {
		.quota_files = contract->quota_files,
		.quota_space = contract->quota_space,
		.hours = contract->hours,
		.period = c->o.period,
		.slot_us = c->o.slot_us,
		.now_us = c->now.wall_us,
		.age_us = c->now.age_us,
		.priority = contract->priority,
		.rows_max = step,
	};
	FAULT("qm.absorb");
	if (db_absorb(c->db, set->set, &terms, &did, err) < 0)
		return -1;
	absorbed_count(c, &did);
	c->sets_came |= did.is_done;
	if (did.updated)
		*qm_numbers_put(&c->stale, set->provider) = true;
	if (did.queued == 0)
		return 0;
	int rc = db_part(c->db, set->set, DB_NOW, &part, err);
	if (rc == 0 && part.start == DB_NOW)
		rc = qm_part_add(c, set->provider, set->set, DB_NOW, false, err);
	return MIN(rc, 0);
}

int qm_absorb_step(struct qm_core *c, size_t step, struct err *err)
{
	if (c->sets_came && sets_load(c, err) < 0)
		return -1;
	const struct db_set *set = set_pick(c);
	if (!set)
		return 0;
	c->is_more = true;
	return set_absorb(c, set, step, err);
}

/* Slots. */

static void part_is_due(void *ctx, const struct db_part *part)
{
	struct qm_parts *d = ctx;
	if (part->start != DB_NOW && (d->start == DB_NOW || part->start == d->start))
		*VEC_PUSH(d->part, d->n, d->room) = *part;
}

/* A slot's turn has come: what waited for it is merged with what may be fetched now. */
static int slot_merge(struct qm_core *c, int64_t slot, struct err *err)
{
	struct qm_parts due = {.core = c, .start = slot};
	FAULT("qm.slot");
	int rc = db_parts(c->db, part_is_due, &due, err);
	if (rc == 0)
		rc = db_due(c->db, slot, err);
	return qm_parts_add(&due, rc, true, err);
}

/* Slots may have passed while nobody looked, or the clock was set: each part that waits is looked
 * at. */
static int slots_jump(struct qm_core *c, struct err *err)
{
	struct qm_parts due = {.start = DB_NOW};
	int rc = db_parts(c->db, part_is_due, &due, err);
	mem_free(&c->look);
	c->look = due.part;
	c->nlook = due.n;
	c->look_room = due.room;
	return rc;
}

/* Whether a part waits for the slot in which its first row may be fetched next; slots may have had
 * another length when it was put there. */
static bool part_waits_well(const struct qm_core *c, const struct db_part *part,
			    const struct hours *hours)
{
	int64_t wall = clock_sane_us(c->now.wall_us), next = hours_next_us(hours, wall);
	int64_t slots = (int64_t)c->o.period * US_PER_H / c->o.slot_us;
	if (part->start == qm_slot_at(c, wall) || part->start >= slots)
		return false;
	return next < 0 || part->start == qm_slot_at(c, next);
}

/* What waits for nothing goes on: its rows are sorted into their slots as their turns come. */
static int part_look(struct qm_core *c, const struct db_part *seen, struct err *err)
{
	const struct qm_contract *contract;
	struct db_part part;
	struct db_row row;
	int rc = db_part(c->db, seen->set, seen->slot, &part, err);
	if (rc != 0 || part.start == DB_NOW || qm_contract_of(c, part.provider, &contract) != 0)
		return MIN(rc, 0);
	rc = db_next(c->db, part.set, part.slot, 0, &c->arena, &row, err);
	if (rc != 0)
		return MIN(rc, 0);
	struct hours hours = qm_row_hours(c, contract, &row);
	if (part_waits_well(c, &part, &hours))
		return 0;
	if (db_start(c->db, part.set, part.slot, DB_NOW, err) < 0)
		return -1;
	return qm_part_add(c, part.provider, part.set, part.slot, true, err);
}

int qm_slots_turn(struct qm_core *c, size_t step, struct err *err)
{
	int64_t slot = qm_slot_at(c, c->now.wall_us), before = c->slot;
	int64_t slots = (int64_t)c->o.period * US_PER_H / c->o.slot_us;
	c->slot = slot;
	if (slot == (before + 1) % slots) {
		if (slot_merge(c, slot, err) < 0)
			return -1;
	} else if (slot != before && slots_jump(c, err) < 0) {
		return -1;
	}
	for (; c->nlook && step > 0; step--)
		if (part_look(c, &c->look[--c->nlook], err) < 0)
			return -1;
	return 0;
}

/* A notice with other hours moves the row that it updates, perhaps into a part that may be fetched
 * now and was not there before. */
static void part_is_stale(void *ctx, const struct db_part *part)
{
	struct qm_parts *s = ctx;
	s->seen++;
	if (part->start == DB_NOW && qm_numbers_get(&s->core->stale, part->provider))
		*VEC_PUSH(s->part, s->n, s->room) = *part;
}

int qm_stale_look(struct qm_core *c, struct err *err)
{
	struct qm_parts stale = {.core = c};
	if (qm_numbers_count(&c->stale) == 0 ||
	    (c->parts_seen > QM_PARTS_FEW && c->now.mono_us < c->stale_at_us))
		return 0;
	int rc = qm_parts_add(&stale, db_parts(c->db, part_is_stale, &stale, err), false, err);
	qm_numbers_clear(&c->stale);
	c->parts_seen = stale.seen;
	c->stale_at_us = c->now.mono_us + US_PER_S;
	return rc;
}

/* Contracts. */

static int provider_restart(struct qm_core *c, uint64_t provider, const struct qm_parts *all,
			    struct err *err)
{
	turns_wake(c->turns, provider);
	if (db_hold(c->db, provider, 0, STR(""), err) < 0)
		return -1;
	for (size_t i = 0; i < all->n; i++) {
		const struct db_part *p = &all->part[i];
		if (p->provider != provider)
			continue;
		if (db_start(c->db, p->set, p->slot, DB_NOW, err) < 0 ||
		    qm_part_add(c, provider, p->set, p->slot, true, err) < 0)
			return -1;
	}
	return 0;
}

/* What was waited for under the old contract is looked at again under the new one. */
static int contract_change(struct qm_core *c, uint64_t provider, struct qm_parts *all,
			   struct err *err)
{
	struct qm_known *k = qm_providers_get(&c->providers, provider);
	const struct qm_contract *now;
	if (!k || !k->is_known)
		return 0; /* it is asked for when it is needed */
	const struct qm_contract old = k->contract;
	bool was_gone = k->is_gone;
	k->is_known = false;
	if (qm_contract_of(c, provider, &now) != 0) {
		turns_clear(c->turns, provider, NULL, NULL);
		return 0;
	}
	if (!was_gone && old.priority != now->priority &&
	    db_priority(c->db, provider, now->priority, err) < 0)
		return -1;
	if (!was_gone && old.bandwidth == now->bandwidth &&
	    memcmp(&old.hours, &now->hours, sizeof old.hours) == 0)
		return 0;
	if (all->start != DB_NOW) {
		all->start = DB_NOW;
		if (db_parts(c->db, part_is_due, all, err) < 0)
			return -1;
	}
	return provider_restart(c, provider, all, err);
}

int qm_contract_look(struct qm_core *c, uint64_t provider, struct err *err)
{
	struct qm_parts all = {.start = DB_BAD};
	const struct qm_known *k = qm_providers_get(&c->providers, provider);
	if (!k || !k->is_known)
		return 0;
	const struct qm_known was = *k;
	int rc = contract_change(c, provider, &all, err);
	mem_free(&all.part);
	k = qm_providers_get(&c->providers, provider);
	return rc < 0 ? rc
		      : k->is_gone != was.is_gone || !qm_contract_same(&k->contract, &was.contract);
}

int qm_changes_do(struct qm_core *c, struct err *err)
{
	struct qm_parts all = {.start = DB_BAD};
	int rc = 0;
	for (size_t i = 0; i < c->nchanged && rc == 0; i++)
		rc = contract_change(c, c->changed[i], &all, err);
	c->nchanged = 0;
	mem_free(&all.part);
	return rc;
}

/* A provider that is gone. */
int qm_forget_step(struct qm_core *c, size_t step, struct err *err)
{
	if (c->nforget == 0)
		return 0;
	uint64_t provider = c->forget[0];
	FAULT("qm.forget");
	turns_clear(c->turns, provider, NULL, NULL);
	int rc = db_forget(c->db, provider, step, err);
	qm_deletes_again(c);
	if (rc == 1) {
		turns_forget(c->turns, provider);
		qm_providers_remove(&c->providers, provider);
		c->sets_came = true;
		c->forgotten = 1;
	}
	c->is_more = true;
	return MIN(rc, 0);
}

/* Deletes: a thousand at a time, of machines that are there; each is said when what made it
 * necessary is durable, and is forgotten when the botm says that the file is gone. */

void qm_deletes_again(struct qm_core *c)
{
	for (size_t i = 0; i < c->machines; i++)
		c->machine[i].at_end = false;
}

static struct qm_machine *machine_find(struct qm_core *c, struct str name)
{
	for (size_t i = 0; i < c->machines; i++)
		if (str_is(name, c->machine[i].name))
			return &c->machine[i];
	return NULL;
}

void qm_core_machine(struct qm_core *c, struct str name, bool is_up)
{
	struct qm_machine *m = machine_find(c, name);
	if (!m && is_up && name.n <= DB_MACHINE_MAX) {
		m = VEC_PUSH(c->machine, c->machines, c->machines_room);
		*m = (struct qm_machine){0};
		memcpy(m->name, name.p, name.n);
	}
	if (!m)
		return;
	if (is_up)
		m->up++;
	else if (m->up)
		m->up--;
	m->after = 0;
	m->at_end = false;
}

static int deletes_of(struct qm_core *c, struct qm_machine *m, struct err *err)
{
	while (qm_numbers_count(&c->deleting) < c->o.deletes) {
		struct qm_removal r;
		bool is_new;
		int rc = db_fsm_next(c->db, m->after, str_of(m->name), &r.id, r.machine, r.file,
				     err);
		m->at_end = rc == 1;
		if (rc != 0)
			return MIN(rc, 0);
		m->after = r.id;
		qm_numbers_put_new(&c->deleting, r.id, &is_new);
		if (is_new)
			*VEC_PUSH(c->removal, c->removals, c->removals_room) = r;
	}
	return 0;
}

int qm_deletes_step(struct qm_core *c, struct err *err)
{
	if (c->ndeleted && db_fsm_done(c->db, c->deleted, c->ndeleted, err) < 0)
		return -1;
	c->ndeleted = 0;
	if (c->now.mono_us >= c->delete_again_us) {
		c->delete_again_us = INT64_MAX;
		for (size_t i = 0; i < c->machines; i++)
			c->machine[i].after = 0;
		qm_deletes_again(c);
	}
	for (size_t i = 0; i < c->machines; i++)
		if (c->machine[i].up && !c->machine[i].at_end &&
		    deletes_of(c, &c->machine[i], err) < 0)
			return -1;
	return 0;
}

void qm_core_deleted(struct qm_core *c, struct str id, enum bot_deletion how)
{
	uint64_t n;
	ENSURE(c->in_round);
	if (!str_starts(id, STR("d")) || !str_u64(str_from(id, 1), &n) ||
	    !qm_numbers_remove(&c->deleting, n))
		return;
	if (how == BOT_DELETED_OK || how == BOT_DELETED_NONE) {
		*VEC_PUSH(c->deleted, c->ndeleted, c->deleted_room) = n;
		c->counts.deleted++;
	} else {
		c->delete_again_us = MIN(c->delete_again_us, c->now.mono_us + QM_DELETE_AGAIN_US);
	}
}

/* Ages. */

static void wish_add(void *ctx, uint64_t provider, bool has_expired)
{
	struct qm_core *c = ctx;
	enum pidb_wanted why = has_expired ? PIDB_EXPIRED : PIDB_OLD;
	bool is_new, *told = qm_numbers_put_new(&c->wanted, provider, &is_new);
	if (!is_new && (*told || !has_expired))
		return;
	*told = has_expired;
	*VEC_PUSH(c->wish, c->wishes, c->wishes_room) = (struct qm_wish){provider, why};
}

/* A pass begins. What was kept long enough goes only while the wall clock stands still against the
 * other one: one that was set wrong for an hour has no receipts on its conscience. */
static void ages_begin(struct qm_core *c)
{
	int64_t steady = c->now.wall_us - c->now.mono_us;
	c->in_ages = true;
	c->in_trim = steady - c->steady_us < US_PER_MIN && c->steady_us - steady < US_PER_MIN;
	c->steady_us = steady;
	c->ages_from = 0;
	c->ages_at_us = c->now.mono_us + c->o.ages_every_us;
	qm_numbers_clear(&c->wanted);
}

int qm_ages_step(struct qm_core *c, size_t step, struct err *err)
{
	struct db *db = c->db;
	if (c->now.mono_us >= c->ages_at_us)
		ages_begin(c);
	if (c->in_ages) {
		if (db_ages(db, c->ages_from, QM_AGES_STEP, c->now.age_us - c->o.old_after_us,
			    c->now.age_us - c->o.expire_after_us, c->now.wall_us, wish_add, c,
			    &c->ages_from, err) < 0)
			return -1;
		c->in_ages = c->ages_from != 0;
		c->is_more |= c->in_ages;
		qm_deletes_again(c);
	} else if (c->in_trim) {
		int rc = db_trim(db, c->now.wall_us - c->o.receipts_kept_us, step, err);
		c->in_trim = rc == 0;
		c->is_more |= c->in_trim;
		return MIN(rc, 0);
	}
	return 0;
}
