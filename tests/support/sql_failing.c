/* The driver that fails on purpose: the driver that a connection had, but for the calls that can
 * fail, which are counted before they are passed on. Statements stay those of the other driver:
 * values and columns cannot fail, so they need not come by here. */
#include "support/sql_failing.h"

#include "store/sql_driver_inner.h"

struct failing {
	struct sql_driver driver; /* first: the connection's */
	const struct sql_driver *inner;
	unsigned left; /* calls until one fails; 0: none will */
	bool stays, fails;
};

static const struct sql_driver *inner_of(const struct sql *s)
{
	return ((const struct failing *)s->driver)->inner;
}

/* Whether this call fails, and then err says so. */
static int call_counted(const struct sql *s, struct err *err)
{
	struct failing *f = (struct failing *)s->driver;
	bool now = f->fails;
	if (f->left && --f->left == 0) {
		now = true;
		f->fails = f->stays;
	}
	return now ? err_set(err, ERR_SYSTEM, "%s: told to fail", s->path) : 0;
}

static void failing_close(struct sql *s)
{
	struct failing *f = (struct failing *)s->driver;
	f->inner->close(s);
	mem_free(&f);
}

static int failing_compile(const struct sql *s, const char *text, bool stays, struct sql_st **ret,
			   struct err *err)
{
	int rc = call_counted(s, err);
	return rc ? rc : inner_of(s)->compile(s, text, stays, ret, err);
}

static int failing_begin(const struct sql *s, enum sql_work work, struct err *err)
{
	int rc = call_counted(s, err);
	return rc ? rc : inner_of(s)->begin(s, work, err);
}

static int failing_commit(const struct sql *s, struct err *err)
{
	int rc = call_counted(s, err);
	return rc ? rc : inner_of(s)->commit(s, err);
}

static int failing_step(const struct sql *s, struct sql_st *st, struct err *err)
{
	if (call_counted(s, err) == 0)
		return inner_of(s)->step(s, st, err);
	inner_of(s)->reset(st);
	return -1;
}

static int failing_version(const struct sql *s, int64_t *ret, struct err *err)
{
	int rc = call_counted(s, err);
	return rc ? rc : inner_of(s)->version(s, ret, err);
}

static int failing_check(const struct sql *s, sql_finding_fn *fn, void *ctx, struct err *err)
{
	int rc = call_counted(s, err);
	return rc ? rc : inner_of(s)->check(s, fn, ctx, err);
}

void sql_fail_at(struct sql *s, unsigned nth, bool stays)
{
	struct failing *f = (struct failing *)s->driver;
	if (s->driver->close != failing_close) {
		f = mem_alloc(sizeof *f);
		f->inner = s->driver;
		f->driver = *s->driver;
		f->driver.close = failing_close;
		f->driver.compile = failing_compile;
		f->driver.begin = failing_begin;
		f->driver.commit = failing_commit;
		f->driver.step = failing_step;
		f->driver.version = failing_version;
		f->driver.check = failing_check;
		s->driver = &f->driver;
	}
	f->left = nth;
	f->stays = stays;
	f->fails = false;
}
