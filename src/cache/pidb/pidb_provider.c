/* What is known of a provider: contract, prefixes, sessions. */
#include "cache/pidb/pidb_inner.h"

#define PROVIDER_COLUMNS                                                                           \
	"SELECT id,site,mail,password,created_us,verified_us,priority,quota_files,quota_space,"    \
	"bandwidth,hours,seq,last_address,errors_told,wanted,"                                     \
	"(SELECT count(*) FROM fullset WHERE fullset.provider=provider.id AND fullset.at_us>=?1) " \
	"FROM provider "

const char *pidb_wanted_name(enum pidb_wanted w)
{
	static const char *const name[PIDB_NWANTED] = {"", "old", "expired", "crash"};
	return w < PIDB_NWANTED ? name[w] : "";
}

static uint64_t quota_column(const struct pidb_ask *q, int column)
{
	int64_t v = pidb_column(q, column);
	return v < 0 ? UINT64_MAX : (uint64_t)v;
}

static struct pidb_value quota_value(uint64_t quota)
{
	return quota > INT64_MAX ? PIDB_NUMBER(-1) : PIDB_NUMBER(quota);
}

static void provider_of_row(const struct pidb_ask *q, struct pidb_provider *ret)
{
	*ret = (struct pidb_provider){
		.id = (uint64_t)pidb_column(q, 0),
		.created_us = pidb_column(q, 4),
		.verified_us = pidb_column(q, 5),
		.is_verified = pidb_column(q, 5) != 0,
		.priority = pidb_column(q, 6),
		.quota_files = quota_column(q, 7),
		.quota_space = quota_column(q, 8),
		.bandwidth = (uint64_t)pidb_column(q, 9),
		.seq = (uint64_t)pidb_column(q, 11),
		.errors_told = (uint64_t)pidb_column(q, 13),
		.wanted = (enum pidb_wanted)MIN(MAX(pidb_column(q, 14), 0), PIDB_NWANTED - 1),
		.fullsets_used = (uint64_t)pidb_column(q, 15),
	};
	pidb_column_text(q, 1, ret->site, sizeof ret->site);
	pidb_column_text(q, 2, ret->mail, sizeof ret->mail);
	pidb_column_text(q, 3, ret->password, sizeof ret->password);
	pidb_column_text(q, 10, ret->hours, sizeof ret->hours);
	pidb_column_text(q, 12, ret->last_address, sizeof ret->last_address);
}

/* The lock is held. */
static int provider_read(struct pidb *p, const char *sql, uint64_t id, int64_t since_us,
			 struct pidb_provider *ret, struct err *err)
{
	struct pidb_ask q;
	if (PIDB_ASK(&q, p, err, sql, PIDB_NUMBER(since_us), PIDB_NUMBER(MIN(id, INT64_MAX))) < 0)
		return -1;
	int rc = pidb_row(&q);
	if (rc == 0)
		provider_of_row(&q, ret);
	pidb_ask_end(&q);
	return rc;
}

int pidb_get(struct pidb *p, uint64_t id, int64_t since_us, struct pidb_provider *ret,
	     struct err *err)
{
	pidb_lock(p);
	int rc = provider_read(p, PROVIDER_COLUMNS "WHERE id=?2", id, since_us, ret, err);
	pidb_unlock(p);
	return rc;
}

int pidb_next(struct pidb *p, uint64_t after, int64_t since_us, struct pidb_provider *ret,
	      struct err *err)
{
	pidb_lock(p);
	int rc = provider_read(p, PROVIDER_COLUMNS "WHERE id>?2 ORDER BY id LIMIT 1", after,
			       since_us, ret, err);
	pidb_unlock(p);
	return rc;
}

static int prefixes_read(struct pidb *p, uint64_t id, pidb_prefix_fn *fn, void *ctx,
			 struct err *err)
{
	struct pidb_ask q;
	char prefix[PIDB_URL_MAX + 1];
	int rc;
	if (PIDB_ASK(&q, p, err, "SELECT prefix FROM prefix WHERE provider=? ORDER BY prefix",
		     PIDB_NUMBER(id)) < 0)
		return -1;
	while ((rc = pidb_row(&q)) == 0) {
		pidb_column_text(&q, 0, prefix, sizeof prefix);
		fn(ctx, str_of(prefix));
	}
	pidb_ask_end(&q);
	return rc < 0 ? -1 : 0;
}

int pidb_prefixes(struct pidb *p, uint64_t id, pidb_prefix_fn *fn, void *ctx, struct err *err)
{
	int64_t n;
	pidb_lock(p);
	int rc = PIDB_COUNT(p, &n, err, "SELECT count(*) FROM provider WHERE id=?",
			    PIDB_NUMBER(MIN(id, INT64_MAX)));
	if (rc == 0)
		rc = n ? prefixes_read(p, id, fn, ctx, err) : 1;
	pidb_unlock(p);
	return rc;
}

static int change_text(struct pidb *p, uint64_t id, const char *sql, const char *value, size_t most,
		       struct err *err)
{
	if (strlen(value) > most)
		return err_set(err, ERR_USAGE, "longer than %zu bytes", most);
	return PIDB_DO(p, NULL, err, sql, PIDB_TEXT(value), PIDB_NUMBER(id));
}

static int change_rows(struct pidb *p, uint64_t id, const struct pidb_change *c, struct err *err)
{
	struct pidb_value who = PIDB_NUMBER(id);
	if (c->priority && PIDB_DO(p, NULL, err, "UPDATE provider SET priority=? WHERE id=?",
				   PIDB_NUMBER(*c->priority), who) < 0)
		return -1;
	if (c->quota_files && PIDB_DO(p, NULL, err, "UPDATE provider SET quota_files=? WHERE id=?",
				      quota_value(*c->quota_files), who) < 0)
		return -1;
	if (c->quota_space && PIDB_DO(p, NULL, err, "UPDATE provider SET quota_space=? WHERE id=?",
				      quota_value(*c->quota_space), who) < 0)
		return -1;
	if (c->bandwidth && PIDB_DO(p, NULL, err, "UPDATE provider SET bandwidth=? WHERE id=?",
				    PIDB_NUMBER(MIN(*c->bandwidth, INT64_MAX)), who) < 0)
		return -1;
	if (c->hours && change_text(p, id, "UPDATE provider SET hours=? WHERE id=?", c->hours,
				    HOURS_TEXT_MAX, err) < 0)
		return -1;
	if (c->mail && change_text(p, id, "UPDATE provider SET mail=? WHERE id=?", c->mail,
				   PIDB_TEXT_MAX, err) < 0)
		return -1;
	return 0;
}

int pidb_change(struct pidb *p, uint64_t id, const struct pidb_change *change, struct err *err)
{
	int64_t n = 0;
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = PIDB_COUNT(p, &n, err, "SELECT count(*) FROM provider WHERE id=?",
			    PIDB_NUMBER(MIN(id, INT64_MAX)));
	if (rc == 0)
		rc = n ? change_rows(p, id, change, err) : 1;
	return pidb_end(p, rc, err);
}

int pidb_session(struct pidb *p, uint64_t id, const char *address, int64_t since_us,
		 struct pidb_provider *ret, struct err *err)
{
	struct pidb_provider had;
	ENSURE(strlen(address) <= PIDB_ADDRESS_MAX);
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = provider_read(p, PROVIDER_COLUMNS "WHERE id=?2", id, since_us, &had, err);
	if (rc == 0)
		rc = PIDB_DO(p, NULL, err,
			     "UPDATE provider SET seq=seq+1,last_address=? WHERE id=?",
			     PIDB_TEXT(address), PIDB_NUMBER(id));
	rc = pidb_end(p, rc, err);
	if (rc == 0) {
		*ret = had;
		ret->seq++;
	}
	return rc;
}

int pidb_session_done(struct pidb *p, uint64_t id, uint64_t errors_told, uint64_t was,
		      struct err *err)
{
	/* Of two sessions at once, the one that was told less may be the last to end. */
	if (pidb_begin(p, err) < 0)
		return -1;
	return pidb_end(p,
			PIDB_DO(p, NULL, err,
				"UPDATE provider SET errors_told=?1 WHERE id=?2 AND"
				" (errors_told<?1 OR errors_told=?3)",
				PIDB_NUMBER(MIN(errors_told, INT64_MAX)), PIDB_NUMBER(id),
				PIDB_NUMBER(MIN(was, INT64_MAX))),
			err);
}

int pidb_fullset(struct pidb *p, uint64_t id, int64_t now_us, struct err *err)
{
	int n = 0;
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = PIDB_DO(p, &n, err, "UPDATE provider SET wanted=0 WHERE id=? AND wanted<>0",
			 PIDB_NUMBER(id));
	if (rc == 0 && n == 0)
		rc = PIDB_DO(p, NULL, err,
			     "INSERT INTO fullset SELECT id,? FROM provider WHERE id=?",
			     PIDB_NUMBER(now_us), PIDB_NUMBER(id));
	return pidb_end(p, rc, err);
}

int pidb_want(struct pidb *p, uint64_t id, enum pidb_wanted why, struct err *err)
{
	if (pidb_begin(p, err) < 0)
		return -1;
	return pidb_end(p,
			PIDB_DO(p, NULL, err,
				"UPDATE provider SET wanted=?1 WHERE wanted<?1 AND (?2=0 OR id=?2)",
				PIDB_NUMBER(why), PIDB_NUMBER(id)),
			err);
}
