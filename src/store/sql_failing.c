/* The driver that fails on purpose: it takes the place of the one that a connection had, passing on
 * all but the calls that are to fail. Statements stay those of the other driver: values and columns
 * cannot fail, so they need not come by here. */
#include "store/sql_driver_inner.h"

struct failing {
	struct sql inner; /* as it was; its statements are the outer one's */
	unsigned left;    /* calls until one fails; 0: none will */
	bool stays, fails;
};

static const struct sql_driver sql_failing;

static const struct sql *inner_of(const struct sql *s)
{
	return &((struct failing *)s->h)->inner;
}

/* Whether this call fails, and then err says so. */
static int call_counted(const struct sql *s, struct err *err)
{
	struct failing *f = s->h;
	bool now = f->fails;
	if (f->left && --f->left == 0) {
		now = true;
		f->fails = f->stays;
	}
	return now ? err_set(err, ERR_SYSTEM, "%s: told to fail", s->path) : 0;
}

static void failing_close(struct sql *s)
{
	struct failing *f = s->h;
	f->inner.driver->close(&f->inner);
	mem_free(&f);
	s->h = NULL;
}

static int failing_compile(const struct sql *s, const char *text, bool stays, struct sql_st **ret,
			   struct err *err)
{
	const struct sql *inner = inner_of(s);
	int rc = call_counted(s, err);
	return rc ? rc : inner->driver->compile(inner, text, stays, ret, err);
}

static int failing_begin(const struct sql *s, enum sql_work work, struct err *err)
{
	const struct sql *inner = inner_of(s);
	int rc = call_counted(s, err);
	return rc ? rc : inner->driver->begin(inner, work, err);
}

static int failing_commit(const struct sql *s, struct err *err)
{
	const struct sql *inner = inner_of(s);
	int rc = call_counted(s, err);
	return rc ? rc : inner->driver->commit(inner, err);
}

static void failing_rollback(const struct sql *s)
{
	inner_of(s)->driver->rollback(inner_of(s));
}

static int failing_step(const struct sql *s, struct sql_st *st, struct err *err)
{
	const struct sql *inner = inner_of(s);
	if (call_counted(s, err) == 0)
		return inner->driver->step(inner, st, err);
	inner->driver->reset(st);
	return -1;
}

static uint64_t failing_changes(const struct sql *s)
{
	return inner_of(s)->driver->changes(inner_of(s));
}

static int failing_version(const struct sql *s, int64_t *ret, struct err *err)
{
	const struct sql *inner = inner_of(s);
	int rc = call_counted(s, err);
	return rc ? rc : inner->driver->version(inner, ret, err);
}

static bool failing_is_moved(const struct sql *s)
{
	return inner_of(s)->driver->is_moved(inner_of(s));
}

static int failing_check(const struct sql *s, sql_finding_fn *fn, void *ctx, struct err *err)
{
	const struct sql *inner = inner_of(s);
	int rc = call_counted(s, err);
	return rc ? rc : inner->driver->check(inner, fn, ctx, err);
}

static const struct sql_driver sql_failing = {
	.close = failing_close,
	.compile = failing_compile,
	.begin = failing_begin,
	.commit = failing_commit,
	.rollback = failing_rollback,
	.step = failing_step,
	.changes = failing_changes,
	.version = failing_version,
	.is_moved = failing_is_moved,
	.check = failing_check,
};

void sql_fail_at(struct sql *s, unsigned nth, bool stays)
{
	struct failing *f = s->h;
	if (s->driver != &sql_failing) {
		f = mem_alloc(sizeof *f);
		f->inner = *s;
		s->driver = &sql_failing;
		s->h = f;
	}
	f->left = nth;
	f->stays = stays;
	f->fails = false;
}
