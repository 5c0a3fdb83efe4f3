/* Counts of providers, and parts of sets: rows of two small tables that nearly every operation
 * changes. They are read when they are first wanted, changed in memory, and written before a commit
 * or before a statement reads the tables. A part without rows is not there. */
#include "cache/db/db_inner.h"

static int counts_load(struct db *d, uint64_t provider, struct counts *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_TALLY_GET);
	*ret = (struct counts){0};
	sql_bind(st, 1, (int64_t)provider);
	int rc = db_step(d, st, err);
	if (rc)
		return rc < 0 ? rc : 0;
	*ret = (struct counts){
		.files = sql_u64(st, 1),
		.space = sql_u64(st, 2),
		.queued = sql_u64(st, 3),
		.fresh = sql_u64(st, 4),
		.fresh_space = sql_u64(st, 5),
		.errors = sql_u64(st, 6),
		.errors_kept = sql_u64(st, 7),
		.open_sets = sql_u64(st, 8),
		.fetches = sql_u64(st, 9),
	};
	sql_reset(st);
	return 0;
}

int counts_of(struct db *d, uint64_t provider, struct counts **ret, struct err *err)
{
	struct counts fresh, *c = tallies_get(&d->tallies, provider);
	if (!c) {
		if (counts_load(d, provider, &fresh, err) < 0)
			return -1;
		c = tallies_put(&d->tallies, provider);
		*c = fresh;
	}
	c->is_dirty = true;
	*ret = c;
	return 0;
}

int counts_read(struct db *d, uint64_t provider, struct counts *ret, struct err *err)
{
	const struct counts *c = tallies_get(&d->tallies, provider);
	if (!c)
		return counts_load(d, provider, ret, err);
	*ret = *c;
	return 0;
}

static int counts_write(struct db *d, uint64_t provider, const struct counts *c, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_TALLY_PUT);
	const uint64_t value[] = {c->files,       c->space,       c->queued,
				  c->fresh,       c->fresh_space, c->errors,
				  c->errors_kept, c->open_sets,   c->fetches};
	sql_bind(st, 1, (int64_t)provider);
	for (size_t i = 0; i < ARRAY_LEN(value); i++)
		sql_bind(st, (int)i + 2, (int64_t)value[i]);
	return db_run(d, st, err);
}

void part_from(struct sql_st *st, struct db_part *ret)
{
	*ret = (struct db_part){
		.set = sql_u64(st, 0),
		.slot = sql_i64(st, 1),
		.start = sql_i64(st, 2),
		.provider = sql_u64(st, 3),
		.priority = sql_i64(st, 4),
		.first = sql_u64(st, 5),
		.last = sql_u64(st, 6),
		.rows = sql_u64(st, 7),
	};
}

int part_of(struct db *d, uint64_t set, int64_t slot, struct part_count **ret, struct err *err)
{
	struct part_key key = {set, slot};
	struct part_count fresh = {.part = {.set = set, .slot = slot}};
	*ret = parts_get(&d->parts, key);
	if (*ret)
		return 0;
	struct sql_st *st = sql_st(d, SQL_PART_GET);
	sql_bind(st, 1, (int64_t)set);
	sql_bind(st, 2, slot);
	int rc = db_step(d, st, err);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		part_from(st, &fresh.part);
		sql_reset(st);
	}
	*ret = parts_put(&d->parts, key);
	**ret = fresh;
	return 0;
}

int part_add(struct db *d, const struct db_part *fresh, uint64_t row, struct err *err)
{
	struct part_count *p;
	if (part_of(d, fresh->set, fresh->slot, &p, err) < 0)
		return -1;
	if (p->part.rows == 0) {
		p->part = *fresh;
		p->part.start = fresh->slot;
		p->part.first = p->part.last = row;
		p->part.rows = 0;
	}
	p->part.first = MIN(p->part.first, row);
	p->part.last = MAX(p->part.last, row);
	p->part.rows++;
	p->is_dirty = true;
	return 0;
}

int part_drop(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct err *err)
{
	struct part_count *p;
	if (part_of(d, set, slot, &p, err) < 0)
		return -1;
	if (p->part.rows > 0)
		p->part.rows--;
	if (row == p->part.first)
		p->part.first++;
	p->is_dirty = true;
	return 0;
}

static int part_write(struct db *d, const struct db_part *p, struct err *err)
{
	struct sql_st *st = sql_st(d, p->rows ? SQL_PART_PUT : SQL_PART_DROP);
	sql_bind(st, 1, (int64_t)p->set);
	sql_bind(st, 2, p->slot);
	if (p->rows) {
		sql_bind(st, 3, p->start);
		sql_bind(st, 4, (int64_t)p->provider);
		sql_bind(st, 5, p->priority);
		sql_bind(st, 6, (int64_t)p->first);
		sql_bind(st, 7, (int64_t)p->last);
		sql_bind(st, 8, (int64_t)p->rows);
	}
	return db_run(d, st, err);
}

int counts_flush(struct db *d, struct err *err)
{
	TABLE_EACH (tallies, slot, &d->tallies) {
		if (slot->value.is_dirty && counts_write(d, slot->key, &slot->value, err) < 0)
			return -1;
		slot->value.is_dirty = false;
	}
	TABLE_EACH (parts, slot, &d->parts) {
		if (slot->value.is_dirty && part_write(d, &slot->value.part, err) < 0)
			return -1;
		slot->value.is_dirty = false;
	}
	return 0;
}

void counts_forget(struct db *d)
{
	tallies_clear(&d->tallies);
	parts_clear(&d->parts);
}
