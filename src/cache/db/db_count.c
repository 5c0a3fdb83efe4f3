/* Counts of providers, and parts of sets: rows of two small tables that nearly every operation
 * changes. They are read when they are first wanted, changed in memory, and written before a commit
 * or before a statement reads the tables. A part without rows is not there. */
#include "cache/db/db_inner.h"

#define COUNT(member) COL(#member, struct counts, member)
static const struct column tally_columns[] = {
	COUNT(provider),    COUNT(files),  COUNT(space),       COUNT(queued),    COUNT(fresh),
	COUNT(fresh_space), COUNT(errors), COUNT(errors_kept), COUNT(open_sets), COUNT(fetches),
};
static const struct rows tally_rows = {ROWS(struct counts, tally_columns)};

#define PART(member) COL(#member, struct db_part, member)
static const struct column part_columns[] = {
	PART(set),      PART(slot),  PART(start), PART(provider),
	PART(priority), PART(first), PART(last),  PART(rows),
};
static const struct rows part_rows = {ROWS(struct db_part, part_columns)};

static int counts_load(struct db *d, uint64_t provider, struct counts *ret, struct err *err)
{
	struct sql_st *st = DB_ST(d, TALLY_GET, SQL_N(provider));
	*ret = (struct counts){.provider = provider};
	int rc = db_row_take(d, st, &tally_rows, ret, err);
	return MIN(rc, 0);
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

static int counts_write(struct db *d, const struct counts *c, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_TALLY_PUT);
	sql_bind_row(st, &tally_rows, c);
	return db_run(d, st, err);
}

void part_from(struct sql_st *st, struct db_part *ret)
{
	sql_take_row(st, &part_rows, ret);
}

int part_of(struct db *d, uint64_t set, int64_t slot, struct part_count **ret, struct err *err)
{
	struct part_key key = {set, slot};
	struct part_count fresh = {.part = {.set = set, .slot = slot}};
	*ret = parts_get(&d->parts, key);
	if (*ret)
		return 0;
	struct sql_st *st = DB_ST(d, PART_GET, SQL_N(set), SQL_N(slot));
	if (db_row_take(d, st, &part_rows, &fresh.part, err) < 0)
		return -1;
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
	struct sql_st *st = sql_st(d, SQL_PART_PUT);
	if (!p->rows)
		return db_run(d, DB_ST(d, PART_DROP, SQL_N(p->set), SQL_N(p->slot)), err);
	sql_bind_row(st, &part_rows, p);
	return db_run(d, st, err);
}

int counts_flush(struct db *d, struct err *err)
{
	TABLE_EACH (tallies, slot, &d->tallies) {
		if (slot->value.is_dirty && counts_write(d, &slot->value, err) < 0)
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
