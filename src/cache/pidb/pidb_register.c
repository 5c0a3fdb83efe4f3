/* Registration: who wants to be a provider, what proves it, and who is one no longer. How often an
 * address has registered is counted apart from the providers, so that those who deregister at once
 * do not get further numbers that way. */
#include "base/clock.h"
#include "cache/pidb/pidb_inner.h"

#include <stdio.h>

enum { SECRETS_MOST = 10 };

static int register_allowed(struct pidb *p, const char *address, unsigned most_a_day,
			    int64_t now_us, struct err *err)
{
	int64_t today, waiting;
	if (PIDB_COUNT(p, &today, err,
		       "SELECT count(*) FROM arrival WHERE address=? AND at_us>? AND at_us<=?",
		       SQL_T(str_of(address)), SQL_N(now_us - US_PER_DAY), SQL_N(now_us)) < 0 ||
	    PIDB_COUNT(p, &waiting, err, "SELECT count(*) FROM secret") < 0)
		return -1;
	if (today >= most_a_day)
		return err_set(err, ERR_BUSY, "this address has registered %u times in 24 hours",
			       most_a_day);
	if (waiting >= PIDB_WAITING)
		return err_set(err, ERR_BUSY,
			       "%d registrations wait to be verified: try again later",
			       PIDB_WAITING);
	return 0;
}

int pidb_may_register(struct pidb *p, const char *address, unsigned most_a_day, int64_t now_us,
		      struct err *err)
{
	pthread_mutex_lock(&p->lock);
	int rc = register_allowed(p, address, most_a_day, now_us, err);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int register_insert(struct pidb *p, const char *site, const char *mail, const char *password,
			   const char *secret, const char *address, int64_t now_us, int64_t *ret_id,
			   struct err *err)
{
	if (PIDB_COUNT(p, ret_id, err,
		       "INSERT INTO provider(site,mail,password,created_us) VALUES(?,?,?,?)"
		       " RETURNING id",
		       SQL_T(str_of(site)), SQL_T(str_of(mail)), SQL_T(str_of(password)),
		       SQL_N(now_us)) < 0)
		return -1;
	if (PIDB_DO(p, NULL, err, "INSERT INTO secret VALUES(?,?,?)", SQL_T(str_of(secret)),
		    SQL_N(*ret_id), SQL_N(now_us)) < 0 ||
	    PIDB_DO(p, NULL, err, "INSERT INTO arrival VALUES(?,?)", SQL_T(str_of(address)),
		    SQL_N(now_us)) < 0)
		return -1;
	return 0;
}

static int register_lengths(const char *site, const char *mail, const char *password,
			    const char *secret, const char *address, struct err *err)
{
	ENSURE(strlen(secret) == PIDB_SECRET && strlen(password) < PIDB_LINE_MAX);
	ENSURE(strlen(address) <= PIDB_ADDRESS_MAX);
	if (strlen(site) > PIDB_TEXT_MAX || strlen(mail) > PIDB_TEXT_MAX)
		return err_set(err, ERR_USAGE, "site and mail have at most %d bytes",
			       PIDB_TEXT_MAX);
	return 0;
}

int pidb_reserve(struct pidb *p, uint64_t id, struct err *err)
{
	int changed = 0;
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = PIDB_DO(p, &changed, err,
			 "UPDATE sqlite_sequence SET seq=max(seq,?) WHERE name='provider'",
			 SQL_N(id));
	if (rc == 0 && changed == 0)
		rc = PIDB_DO(p, NULL, err, "INSERT INTO sqlite_sequence VALUES('provider',?)",
			     SQL_N(id));
	return pidb_end(p, rc, err);
}

int pidb_register(struct pidb *p, const char *site, const char *mail, const char *password,
		  const char *secret, const char *address, unsigned most_a_day, int64_t now_us,
		  uint64_t *ret_id, struct err *err)
{
	if (register_lengths(site, mail, password, secret, address, err) < 0 ||
	    pidb_begin(p, err) < 0)
		return -1;
	int64_t id = 0;
	int rc = register_allowed(p, address, most_a_day, now_us, err);
	if (rc == 0)
		rc = register_insert(p, site, mail, password, secret, address, now_us, &id, err);
	if (pidb_end(p, rc, err) != 0)
		return -1;
	*ret_id = (uint64_t)id;
	return 0;
}

int pidb_secret_add(struct pidb *p, uint64_t id, const char *secret, int64_t now_us,
		    struct err *err)
{
	int64_t waiting;
	ENSURE(strlen(secret) == PIDB_SECRET);
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = pidb_is_there(p, id, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "there is no provider %llu", (unsigned long long)id);
	if (rc == 0)
		rc = PIDB_COUNT(p, &waiting, err, "SELECT count(*) FROM secret WHERE provider=?",
				SQL_N(id));
	if (rc == 0 && waiting >= SECRETS_MOST)
		rc = err_set(err, ERR_BUSY, "%d secrets wait for their files already",
			     SECRETS_MOST);
	if (rc == 0)
		rc = PIDB_DO(p, NULL, err, "INSERT INTO secret VALUES(?,?,?)",
			     SQL_T(str_of(secret)), SQL_N(id), SQL_N(now_us));
	return pidb_end(p, rc, err);
}

int pidb_secrets(struct pidb *p, uint64_t id, int64_t expired_us, char (*ret)[PIDB_SECRET + 1],
		 size_t most, size_t *ret_n, struct err *err)
{
	struct sql_st *st;
	size_t n = 0;
	pthread_mutex_lock(&p->lock);
	int rc = pidb_is_there(p, id, err);
	if (rc == 0)
		rc = sql_ask(&p->sql,
			     "SELECT secret FROM secret WHERE provider=? AND created_us>=?"
			     " ORDER BY created_us DESC, secret LIMIT ?",
			     SQL_VALUES(SQL_N(id), SQL_N(expired_us), SQL_N(most)), &st, err);
	if (rc == 0) {
		while ((rc = sql_step(&p->sql, st, err)) == 0)
			snprintf(ret[n++], sizeof *ret, STR_FMT, STR_ARG(sql_str(st, 0)));
		sql_finish(&st);
		*ret_n = n;
		rc = rc < 0 ? -1 : 0;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int verify_prefix(struct pidb *p, uint64_t id, const char *prefix, int64_t now_us,
			 struct err *err)
{
	int64_t n;
	if (PIDB_DO(p, NULL, err, "INSERT OR IGNORE INTO prefix VALUES(?,?,?)", SQL_N(id),
		    SQL_T(str_of(prefix)), SQL_N(now_us)) < 0 ||
	    PIDB_COUNT(p, &n, err, "SELECT count(*) FROM prefix WHERE provider=?", SQL_N(id)) < 0)
		return -1;
	if (n > PIDB_PREFIXES)
		return err_set(err, ERR_USAGE, "a provider has at most %d prefixes", PIDB_PREFIXES);
	return PIDB_DO(p, NULL, err,
		       "UPDATE provider SET verified_us=? WHERE id=? AND verified_us=0",
		       SQL_N(now_us), SQL_N(id));
}

int pidb_verify(struct pidb *p, uint64_t id, const char *secret, const char *prefix, int64_t now_us,
		struct err *err)
{
	int n = 0;
	ENSURE(strlen(prefix) <= PIDB_URL_MAX);
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = PIDB_DO(p, &n, err, "DELETE FROM secret WHERE secret=? AND provider=?",
			 SQL_T(str_of(secret)), SQL_N(id));
	if (rc == 0 && n == 0)
		rc = 1;
	if (rc == 0)
		rc = verify_prefix(p, id, prefix, now_us, err);
	return pidb_end(p, rc, err);
}

int pidb_expire(struct pidb *p, int64_t before_us, int64_t now_us, struct err *err)
{
	struct sql_value before = SQL_N(before_us), day = SQL_N(now_us - US_PER_DAY),
			 now = SQL_N(now_us);
	if (pidb_begin(p, err) < 0)
		return -1;
	bool failed =
		PIDB_DO(p, NULL, err, "DELETE FROM provider WHERE verified_us=0 AND created_us<?",
			before) < 0 ||
		PIDB_DO(p, NULL, err,
			"DELETE FROM secret WHERE created_us<? OR provider NOT IN"
			" (SELECT id FROM provider)",
			before) < 0 ||
		PIDB_DO(p, NULL, err, "DELETE FROM arrival WHERE at_us<? OR at_us>?", day, now) <
			0 ||
		PIDB_DO(p, NULL, err, "DELETE FROM fullset WHERE at_us>?", now) < 0;
	return pidb_end(p, failed ? -1 : 0, err);
}

int pidb_password_set(struct pidb *p, uint64_t id, const char *password, struct err *err)
{
	int n = 0;
	ENSURE(strlen(password) < PIDB_LINE_MAX);
	int rc = PIDB_WRITE(p, &n, err, "UPDATE provider SET password=? WHERE id=?",
			    SQL_T(str_of(password)), SQL_N(id));
	return rc == 0 && n == 0 ? 1 : rc;
}

static int provider_delete(struct pidb *p, uint64_t id, int64_t now_us, struct err *err)
{
	static const char *const rest[] = {
		"DELETE FROM prefix WHERE provider=?",
		"DELETE FROM secret WHERE provider=?",
		"DELETE FROM fullset WHERE provider=?",
	};
	int n = 0;
	if (PIDB_DO(p, &n, err, "DELETE FROM provider WHERE id=?", SQL_N(id)) < 0)
		return -1;
	if (n == 0)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(rest); i++)
		if (PIDB_DO(p, NULL, err, rest[i], SQL_N(id)) < 0)
			return -1;
	return PIDB_DO(p, NULL, err, "INSERT INTO gone VALUES(?,?)", SQL_N(id), SQL_N(now_us));
}

int pidb_deregister(struct pidb *p, uint64_t id, int64_t now_us, struct err *err)
{
	if (pidb_begin(p, err) < 0)
		return -1;
	return pidb_end(p, provider_delete(p, id, now_us, err), err);
}

int pidb_gone(struct pidb *p, uint64_t *ret_id, struct err *err)
{
	int64_t id = 0;
	pthread_mutex_lock(&p->lock);
	int rc = PIDB_COUNT(p, &id, err, "SELECT min(provider) FROM gone");
	pthread_mutex_unlock(&p->lock);
	if (rc < 0)
		return -1;
	if (id == 0)
		return 1;
	*ret_id = (uint64_t)id;
	return 0;
}

int pidb_gone_done(struct pidb *p, uint64_t id, struct err *err)
{
	return PIDB_WRITE(p, NULL, err, "DELETE FROM gone WHERE provider=?", SQL_N(id));
}
