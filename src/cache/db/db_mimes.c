/* The table of types. The key of a URL has its type in it, so a URL whose type is not said is asked
 * for with all types that ever came. Providers may make types as they like (all of "text" are
 * taken), so the table is bounded: a URL of a type beyond that is found only by URL and type. */
#include "cache/db/db_inner.h"

enum { MIMES_MOST = 1000 };

int mimes_all(struct db *d, struct arena *arena, struct str **ret, size_t *ret_n, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_MIME_ALL);
	size_t room = 0;
	int rc;
	*ret = NULL;
	*ret_n = 0;
	while ((rc = db_step(d, st, err)) == 0)
		*ARENA_PUSH(arena, *ret, *ret_n, room) = arena_str(arena, sql_str(st, 0));
	return rc < 0 ? rc : 0;
}

static int mimes_load(struct db *d, struct err *err)
{
	struct sql_st *st = sql_st(d, SQL_MIME_ALL);
	int rc;
	while ((rc = db_step(d, st, err)) == 0)
		*mimes_put(&d->mimes, hash64(sql_str(st, 0))) = true;
	return rc < 0 ? rc : 0;
}

int mimes_number(struct db *d, size_t *ret, struct err *err)
{
	if (mimes_count(&d->mimes) == 0 && mimes_load(d, err) < 0)
		return -1;
	*ret = mimes_count(&d->mimes);
	return 0;
}

int mime_note(struct db *d, struct str mime, struct err *err)
{
	if (mimes_get(&d->mimes, hash64(mime)))
		return 0;
	if (mimes_count(&d->mimes) == 0 && mimes_load(d, err) < 0)
		return -1;
	if (mimes_count(&d->mimes) >= MIMES_MOST || mimes_get(&d->mimes, hash64(mime)))
		return 0;
	*mimes_put(&d->mimes, hash64(mime)) = true;
	return db_run(d, DB_ST(d, MIME_ADD, SQL_T(mime)), err);
}

int url_named(struct db *d, uint64_t provider, struct str c, uint64_t set, int64_t age_us,
	      const struct str *mime, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct url_row u;
		int rc = url_find(d, provider, d->hash(c, mime[i]), c, mime[i], &u, err);
		if (rc == 1)
			continue;
		if (rc < 0)
			return rc;
		u.seen = set;
		u.age_us = age_us;
		if (url_save(d, &u, err) < 0)
			return -1;
	}
	return 0;
}
