/* The providers' database for `garner dump` and `garner check`: read through a connection that
 * cannot write, so that neither changes anything nor waits for anybody. Passwords and secrets are
 * not printed. */
#include "base/clock.h"
#include "cache/pidb/pidb_inner.h"
#include "disk/format.h"
#include "role/password.h"

#include <inttypes.h>

static bool pidb_placed(const char *path)
{
	return str_ends(str_of(path), STR("/pidb.db"));
}

/* All databases of SQLite begin alike: this one is known by its name. */
static bool pidb_claims(struct str head)
{
	(void)head;
	return false;
}

static int pidb_reader(struct pidb **ret, const char *path, struct err *err)
{
	int rc = pidb_connect(ret, path, SQL_READ, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: an empty database", path) : rc;
}

static void prefix_print(void *ctx, struct str prefix)
{
	struct printer *out = ctx;
	buf_printf(&out->out, "  prefix " STR_FMT "\n", STR_ARG(prefix));
	printer_step(out);
}

static void provider_print(const struct pidb_provider *who, struct printer *p)
{
	buf_printf(&p->out, "provider %" PRIu64 ": %s, %s, created ", who->id, who->site,
		   who->is_verified ? "verified" : "not verified");
	time_print(&p->out, who->created_us, 0);
	buf_printf(&p->out,
		   ", priority %" PRId64 ", bandwidth %" PRIu64 ", hours '%s', %" PRIu64
		   " sessions",
		   who->priority, who->bandwidth, who->hours, who->seq);
	if (who->wanted)
		buf_printf(&p->out, ", full set wanted: %s", pidb_wanted_name(who->wanted));
	buf_add_byte(&p->out, '\n');
	printer_step(p);
}

static int totals_print(struct pidb *db, struct printer *p, struct err *err)
{
	int64_t secrets, gone;
	if (PIDB_COUNT(db, &secrets, err, "SELECT count(*) FROM secret") < 0 ||
	    PIDB_COUNT(db, &gone, err, "SELECT count(*) FROM gone") < 0)
		return -1;
	buf_printf(&p->out,
		   "%" PRId64 " secrets wait, %" PRId64 " providers are gone and not removed yet\n",
		   secrets, gone);
	printer_step(p);
	return 0;
}

static int pidb_print(const char *path, struct printer *p, struct err *err)
{
	struct pidb *db;
	struct pidb_provider who = {0};
	int rc;
	if (pidb_reader(&db, path, err) < 0)
		return -1;
	while ((rc = pidb_next(db, who.id, 0, &who, err)) == 0) {
		provider_print(&who, p);
		if (pidb_prefixes(db, who.id, prefix_print, p, err) < 0) {
			rc = -1;
			break;
		}
	}
	if (rc >= 0)
		rc = totals_print(db, p, err);
	pidb_close(&db);
	return rc;
}

static int pages_verify(struct pidb *db, struct err *err)
{
	struct pidb_ask q;
	char said[200];
	if (PIDB_ASK(&q, db, err, "PRAGMA integrity_check(1)") < 0)
		return -1;
	int rc = pidb_row(&q);
	if (rc == 0)
		pidb_column_text(&q, 0, said, sizeof said);
	pidb_ask_end(&q);
	if (rc == 0 && strcmp(said, "ok") != 0)
		return err_set(err, ERR_DAMAGED, "%s: %s", db->sql.path, said);
	return rc < 0 ? -1 : 0;
}

static int rows_verify(struct pidb *db, struct err *err)
{
	struct pidb_provider who = {0};
	struct err why;
	struct hours hours;
	int64_t lost;
	int rc;
	if (PIDB_COUNT(db, &lost, err,
		       "SELECT count(*) FROM prefix WHERE provider NOT IN (SELECT id FROM "
		       "provider)") < 0)
		return -1;
	if (lost)
		return err_set(err, ERR_DAMAGED, "%s: %" PRId64 " prefixes have no provider",
			       db->sql.path, lost);
	while ((rc = pidb_next(db, who.id, 0, &who, err)) == 0) {
		if (password_line_check(who.password, &why) < 0)
			return err_set(err, ERR_DAMAGED,
				       "%s: provider %" PRIu64 ": its password is not a line that "
				       "could have been made",
				       db->sql.path, who.id);
		if (hours_parse(str_of(who.hours), HOURS_WEEK, &hours, &why) < 0)
			return err_set(err, ERR_DAMAGED, "%s: provider %" PRIu64 ": %s",
				       db->sql.path, who.id, why.msg);
	}
	return rc < 0 ? -1 : 0;
}

static int pidb_verify_file(const char *path, struct err *err)
{
	struct pidb *db;
	if (pidb_reader(&db, path, err) < 0)
		return -1;
	int rc = pages_verify(db, err);
	if (rc == 0)
		rc = rows_verify(db, err);
	pidb_close(&db);
	return MIN(rc, 0);
}

const struct format pidb_format = {
	.name = "pidb",
	.file = "pidb.db",
	.placed = pidb_placed,
	.claims = pidb_claims,
	.help = "the providers of the content cache: what they proved and agreed on",
	.remedy = PIDB_REMEDY,
	.print = pidb_print,
	.verify = pidb_verify_file,
};
