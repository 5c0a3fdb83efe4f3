/* The check of the providers' database. A reader of a row takes what it can of it: hours that are
 * no list allow everything, a password that is no line lets nobody in. So that such a row does not
 * stay unseen, it is found here. */
#include "cache/pidb/pidb_inner.h"
#include "role/password.h"

#include <inttypes.h>
#include <stdio.h>

/* What to do about it; NULL: it is right. */
static const char *provider_remedy(const struct pidb_provider *who, struct err *why)
{
	struct hours hours;
	if (password_line_check(who->password, why) < 0)
		return "remove it by garner cache provider, and have it register again";
	if (hours_parse(str_of(who->hours), HOURS_WEEK, &hours, why) < 0)
		return "have it set its hours again, by garner provider contract";
	return NULL;
}

static int rows_check(struct pidb *p, pidb_finding_fn *fn, void *ctx, struct err *err)
{
	char text[PIDB_FINDING_MAX];
	struct pidb_provider who = {0};
	const char *remedy;
	struct err why;
	int64_t lost;
	int rc;
	while ((rc = pidb_next(p, who.id, 0, &who, err)) == 0)
		if ((remedy = provider_remedy(&who, &why))) {
			snprintf(text, sizeof text, "pidb.db: provider %" PRIu64 ": %s; %s", who.id,
				 why.msg, remedy);
			fn(ctx, text);
		}
	if (rc < 0 || PIDB_COUNT(p, &lost, err,
				 "SELECT count(*) FROM prefix WHERE provider NOT IN"
				 " (SELECT id FROM provider)") < 0)
		return -1;
	snprintf(text, sizeof text, "pidb.db: %" PRId64 " prefixes have no provider", lost);
	if (lost)
		fn(ctx, text);
	return 0;
}

int pidb_check(const char *folder, pidb_finding_fn *fn, void *ctx, struct err *err)
{
	struct pidb *p;
	int rc = pidb_connect(&p, folder, SQL_READ, err);
	if (rc > 0)
		return 0;
	if (rc == 0) {
		rc = sql_verify(&p->sql, err);
		if (rc == 0)
			rc = rows_check(p, fn, ctx, err);
		pidb_close(&p);
	}
	if (rc == 1 || (rc < 0 && err->code == ERR_DAMAGED)) {
		fn(ctx, err->msg);
		rc = 0;
	}
	return rc;
}
