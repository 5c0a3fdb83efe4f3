/* Whether QPSDB and QDB say the same. QPSDB can be built out of QDB; whether it must be is found by
 * sums and by the ends of each part, without reading the queue. */
#include "base/fault.h"
#include "cache/db/db_inner.h"

static int queue_end(struct db *d, enum db_sql i, const struct db_part *p, uint64_t *ret,
		     struct err *err)
{
	return db_number(d, db_bound(d, i, SQL_VALUES(SQL_N(p->set), SQL_N(p->slot))), ret, err);
}

/* Walks the parts as the queue has them, one search for each. 1: the last was the last. */
static int queue_part(struct db *d, struct db_part *p, bool first, struct err *err)
{
	static const struct column columns[] = {COL("qset", struct db_part, set),
						COL("slot", struct db_part, slot)};
	static const struct rows key = {ROWS(struct db_part, columns)};
	struct sql_st *st = DB_ST(d, QUEUE_PART, SQL_N(first ? INT64_MIN : (int64_t)p->set),
				  SQL_N(first ? INT64_MIN : p->slot));
	return db_row_take(d, st, &key, p, err);
}

static int part_agrees(struct db *d, const struct db_part *p, struct err *err)
{
	struct part_count *has;
	uint64_t first, last;
	if (part_of(d, p->set, p->slot, &has, err) < 0)
		return -1;
	struct db_part part = has->part;
	int rc = queue_end(d, SQL_QUEUE_FIRST, p, &first, err);
	if (rc == 0)
		rc = queue_end(d, SQL_QUEUE_LAST, p, &last, err);
	if (rc)
		return rc;
	return part.rows == 0 || part.first > first || part.last < last ||
	       part.rows > last - first + 1;
}

int db_agrees(struct db *d, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_PART_SUM);
	struct db_part p = {0};
	uint64_t parts = 0;
	int rc = work_flush(d, err);
	if (rc == 0 && !d->is_writer) {
		parts_clear(&d->parts);
		rc = totals_read(d, err);
	}
	if (rc == 0)
		rc = db_step(d, st, err);
	if (rc < 0)
		return rc;
	uint64_t rows = sql_u64(st, 0), want = sql_u64(st, 1);
	sql_reset(st);
	if (rows != d->queued)
		return 1;
	for (; (rc = queue_part(d, &p, parts == 0, err)) == 0; parts++) {
		rc = part_agrees(d, &p, err);
		if (rc)
			return rc;
	}
	return rc < 0 ? rc : parts != want;
}

/* The queue does not say which priority its providers have; the parts that there are do. */
static int priorities_read(struct db *d, struct ages *ret, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_PART_ALL);
	struct db_part p;
	int rc;
	while ((rc = db_step(d, st, err)) == 0) {
		part_from(st, &p);
		*ages_put(ret, p.provider) = p.priority;
	}
	return rc < 0 ? rc : 0;
}

static int parts_build(struct db *d, struct ages *priority, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_QUEUE_ALL);
	int rc = work_flush(d, err);
	if (rc == 0)
		rc = priorities_read(d, priority, err);
	if (rc == 0)
		rc = db_run(d, sql_st(d, SQL_PART_CLEAR), err);
	parts_clear(&d->parts);
	while (rc == 0 && (rc = db_step(d, st, err)) == 0) {
		struct db_part p = {
			.set = sql_u64(st, 0), .slot = sql_i64(st, 1), .provider = sql_u64(st, 3)};
		const int64_t *was = ages_get(priority, p.provider);
		p.priority = was ? *was : 0;
		rc = part_add(d, &p, sql_u64(st, 2), err);
	}
	sql_reset(st);
	return rc < 0 ? rc : 0;
}

int db_rebuild(struct db *d, struct err *err)
{
	struct ages priority = {0};
	int rc = work_begin(d, err);
	if (rc == 0)
		rc = parts_build(d, &priority, err);
	ages_free(&priority);
	FAULT("cachedb.rebuild");
	return work_end(d, rc, err);
}
