/* A database that fails when it is told to: each operation is counted, and passed on to another
 * database unless it is the one that fails. What it fails has not happened. */
#include "cache/db.h"

struct db_failing {
	struct db db;
	struct db *inner;
	unsigned left; /* operations until one fails; 0: none will */
	bool stays, fails;
	bool broken; /* of those since begin() one has failed: the commit fails, too */
};

static struct db_failing *failing_of(struct db *db)
{
	return (struct db_failing *)db;
}

/* Whether this operation fails, and then err says so. */
static int failing_pass(struct db *db, struct err *err)
{
	struct db_failing *f = failing_of(db);
	bool now = f->fails;
	if (f->left && --f->left == 0) {
		now = true;
		f->fails = f->stays;
	}
	f->broken = f->broken || now;
	return now ? err_set(err, ERR_SYSTEM, "the database was told to fail") : 0;
}

#define PASS(op, params, ...)                    \
	static int failing_##op params           \
	{                                        \
		if (failing_pass(db, err) < 0)   \
			return -1;               \
		db = failing_of(db)->inner;      \
		return db->ops->op(__VA_ARGS__); \
	}

PASS(take, (struct db * db, struct db_take *take, size_t n, struct err *err), db, take, n, err)
PASS(take_forget, (struct db * db, const char *uns, struct err *err), db, uns, err)
PASS(set_next, (struct db * db, uint64_t after, struct db_set *ret, struct err *err), db, after,
     ret, err)
PASS(absorb,
     (struct db * db, uint64_t set, const struct db_terms *terms, struct db_absorbed *ret,
      struct err *err),
     db, set, terms, ret, err)
PASS(forget, (struct db * db, uint64_t provider, size_t rows_max, struct err *err), db, provider,
     rows_max, err)
PASS(parts,
     (struct db * db, void (*each)(void *ctx, const struct db_part *part), void *ctx,
      struct err *err),
     db, each, ctx, err)
PASS(part, (struct db * db, uint64_t set, int64_t slot, struct db_part *ret, struct err *err), db,
     set, slot, ret, err)
PASS(next,
     (struct db * db, uint64_t set, int64_t slot, uint64_t after_row, struct arena *arena,
      struct db_row *ret, struct err *err),
     db, set, slot, after_row, arena, ret, err)
PASS(sent, (struct db * db, const struct db_row *row, size_t n, int64_t now_us, struct err *err),
     db, row, n, now_us, err)
PASS(done,
     (struct db * db, struct db_done *done, size_t n, int64_t now_us, int64_t age_us,
      struct err *err),
     db, done, n, now_us, age_us, err)
PASS(move, (struct db * db, const struct db_row *row, size_t n, int64_t slot, struct err *err), db,
     row, n, slot, err)
PASS(start, (struct db * db, uint64_t set, int64_t slot, int64_t start, struct err *err), db, set,
     slot, start, err)
PASS(due, (struct db * db, int64_t start, struct err *err), db, start, err)
PASS(priority, (struct db * db, uint64_t provider, int64_t priority, struct err *err), db, provider,
     priority, err)
PASS(has_file,
     (struct db * db, uint64_t provider, int64_t hash, struct str machine, struct str file,
      struct err *err),
     db, provider, hash, machine, file, err)
PASS(fsm_next,
     (struct db * db, uint64_t after, struct str machine, uint64_t *ret_id,
      char ret_machine[DB_MACHINE_MAX + 1], char ret_file[DB_FILE_MAX + 1], struct err *err),
     db, after, machine, ret_id, ret_machine, ret_file, err)
PASS(fsm_done, (struct db * db, const uint64_t *id, size_t n, struct err *err), db, id, n, err)
PASS(fsm_add, (struct db * db, struct str machine, struct str file, struct err *err), db, machine,
     file, err)
PASS(ages,
     (struct db * db, uint64_t from_row, size_t rows_max, int64_t old_before_us,
      int64_t expire_before_us, int64_t now_us,
      void (*each)(void *ctx, uint64_t provider, bool has_expired), void *ctx, uint64_t *ret_next,
      struct err *err),
     db, from_row, rows_max, old_before_us, expire_before_us, now_us, each, ctx, ret_next, err)
PASS(trim, (struct db * db, int64_t before_us, size_t rows_max, struct err *err), db, before_us,
     rows_max, err)
PASS(age_get, (struct db * db, int64_t *ret_us, struct err *err), db, ret_us, err)
PASS(age_put, (struct db * db, int64_t us, struct err *err), db, us, err)
PASS(tally, (struct db * db, uint64_t provider, struct db_tally *ret, struct err *err), db,
     provider, ret, err)
PASS(hold, (struct db * db, uint64_t provider, int64_t until_us, struct str why, struct err *err),
     db, provider, until_us, why, err)
PASS(held,
     (struct db * db, uint64_t provider, struct arena *arena, int64_t *ret_until_us,
      struct str *ret_why, struct err *err),
     db, provider, arena, ret_until_us, ret_why, err)
PASS(last_provider, (struct db * db, uint64_t *ret, struct err *err), db, ret, err)
PASS(rows, (struct db * db, uint64_t *ret_queued, uint64_t *ret_stored, struct err *err), db,
     ret_queued, ret_stored, err)
PASS(receipt,
     (struct db * db, uint64_t provider, struct str c, struct str mime, int64_t accepted_us,
      struct arena *arena, struct db_receipt *ret, struct err *err),
     db, provider, c, mime, accepted_us, arena, ret, err)
PASS(set_of,
     (struct db * db, uint64_t provider, const char *uns, uint64_t number, struct db_set *ret,
      struct err *err),
     db, provider, uns, number, ret, err)
PASS(set, (struct db * db, uint64_t set, struct db_set *ret, struct err *err), db, set, ret, err)
PASS(set_piece, (struct db * db, uint64_t set, uint64_t piece, struct buf *ret, struct err *err),
     db, set, piece, ret, err)
PASS(errors,
     (struct db * db, uint64_t provider, size_t n, struct arena *arena, struct db_error *ret,
      size_t *ret_n, struct err *err),
     db, provider, n, arena, ret, ret_n, err)
PASS(fetches,
     (struct db * db, uint64_t provider, struct arena *arena, struct db_fetch ret[DB_FETCHES],
      size_t *ret_n, struct err *err),
     db, provider, arena, ret, ret_n, err)
PASS(find_url,
     (struct db * db, uint64_t provider, struct str c,
      void (*each)(void *ctx, uint64_t provider, const struct db_receipt *r), void *ctx,
      struct err *err),
     db, provider, c, each, ctx, err)
PASS(agrees, (struct db * db, struct err *err), db, err)
PASS(rebuild, (struct db * db, struct err *err), db, err)
PASS(check,
     (struct db * db, bool fix,
      int (*has)(void *ctx, struct str machine, struct str file, uint64_t size), db_finding_fn *fn,
      void *ctx, struct err *err),
     db, fix, has, fn, ctx, err)

static int failing_begin(struct db *db, struct err *err)
{
	struct db_failing *f = failing_of(db);
	if (failing_pass(db, err) < 0)
		return -1;
	f->broken = false;
	return f->inner->ops->begin(f->inner, err);
}

/* A commit that fails: what was done since begin() has not happened. The other database is told so
 * by an operation that it cannot do. */
static int failing_commit(struct db *db, struct err *err)
{
	struct db_failing *f = failing_of(db);
	const struct db_terms none = {.rows_max = 1};
	struct db_absorbed absorbed;
	struct err ignored;
	if (f->broken)
		err_set(err, ERR_SYSTEM, "the database was told to fail");
	else if (failing_pass(db, err) == 0)
		return f->inner->ops->commit(f->inner, err);
	(void)f->inner->ops->absorb(f->inner, 0, &none, &absorbed, &ignored);
	(void)f->inner->ops->commit(f->inner, &ignored);
	return -1;
}

static void failing_close(struct db *db)
{
	struct db_failing *f = failing_of(db);
	db_close(&f->inner);
	mem_free(&f);
}

static const struct db_ops failing_ops = {
	.name = "failing",
	.close = failing_close,
	.begin = failing_begin,
	.commit = failing_commit,
#define X(op) .op = failing_##op
	X(take),
	X(take_forget),
	X(set_next),
	X(absorb),
	X(forget),
	X(parts),
	X(part),
	X(next),
	X(sent),
	X(done),
	X(move),
	X(start),
	X(due),
	X(priority),
	X(has_file),
	X(fsm_next),
	X(fsm_done),
	X(fsm_add),
	X(ages),
	X(trim),
	X(age_get),
	X(age_put),
	X(tally),
	X(last_provider),
	X(hold),
	X(held),
	X(rows),
	X(receipt),
	X(set_of),
	X(set),
	X(set_piece),
	X(errors),
	X(fetches),
	X(find_url),
	X(agrees),
	X(rebuild),
	X(check),
#undef X
};

struct db *db_failing_new(struct db *inner)
{
	struct db_failing *f = mem_alloc(sizeof *f);
	f->db.ops = &failing_ops;
	f->inner = inner;
	return &f->db;
}

void db_failing_set(struct db *db, unsigned nth, bool stays)
{
	struct db_failing *f = failing_of(db);
	f->left = nth;
	f->stays = stays;
	f->fails = false;
}
