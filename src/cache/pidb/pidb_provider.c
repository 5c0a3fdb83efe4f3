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

/* No quota is -1 there. */
#define P(member) COL(#member, struct pidb_provider, member)
static const struct column provider_columns[] = {
	P(id),           P(site),        P(mail),     P(password),
	P(created_us),   P(verified_us), P(priority), P(quota_files),
	P(quota_space),  P(bandwidth),   P(hours),    P(seq),
	P(last_address), P(errors_told), P(wanted),   P(fullsets_used),
};
#undef P
static const struct rows provider_rows = {ROWS(struct pidb_provider, provider_columns)};

/* The lock is held. */
static int provider_read(struct pidb *p, const char *sql, uint64_t id, int64_t since_us,
			 struct pidb_provider *ret, struct err *err)
{
	struct sql_st *st;
	if (sql_ask(&p->sql, sql, SQL_VALUES(SQL_N(since_us), SQL_N(MIN(id, INT64_MAX))), &st,
		    err) < 0)
		return -1;
	int rc = sql_step(&p->sql, st, err);
	if (rc == 0) {
		*ret = (struct pidb_provider){0};
		sql_take_row(st, &provider_rows, ret);
		ret->is_verified = ret->verified_us != 0;
		ret->wanted = MIN(ret->wanted, (enum pidb_wanted)(PIDB_NWANTED - 1));
	}
	sql_finish(&st);
	return rc;
}

int pidb_get(struct pidb *p, uint64_t id, int64_t since_us, struct pidb_provider *ret,
	     struct err *err)
{
	pthread_mutex_lock(&p->lock);
	int rc = provider_read(p, PROVIDER_COLUMNS "WHERE id=?2", id, since_us, ret, err);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int pidb_next(struct pidb *p, uint64_t after, int64_t since_us, struct pidb_provider *ret,
	      struct err *err)
{
	pthread_mutex_lock(&p->lock);
	int rc = provider_read(p, PROVIDER_COLUMNS "WHERE id>?2 ORDER BY id LIMIT 1", after,
			       since_us, ret, err);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int prefixes_read(struct pidb *p, uint64_t id, struct arena *arena, char ***ret,
			 size_t *ret_n, struct err *err)
{
	struct sql_st *st;
	size_t room = 0;
	int rc;
	/* one more than there may be, so that damage shows and stays small */
	if (sql_ask(&p->sql, "SELECT prefix FROM prefix WHERE provider=? ORDER BY prefix LIMIT ?",
		    SQL_VALUES(SQL_N(id), SQL_N(PIDB_PREFIXES + 1)), &st, err) < 0)
		return -1;
	while ((rc = sql_step(&p->sql, st, err)) == 0)
		*ARENA_PUSH(arena, *ret, *ret_n, room) =
			arena_text(arena, str_head(sql_str(st, 0), PIDB_URL_MAX));
	sql_finish(&st);
	return MIN(rc, 0);
}

int pidb_prefixes(struct pidb *p, uint64_t id, struct arena *arena, char ***ret, size_t *ret_n,
		  struct err *err)
{
	*ret = NULL;
	*ret_n = 0;
	pthread_mutex_lock(&p->lock);
	int rc = pidb_is_there(p, id, err);
	if (rc == 0)
		rc = prefixes_read(p, id, arena, ret, ret_n, err);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int change_rows(struct pidb *p, uint64_t id, const struct pidb_change *c, struct err *err)
{
	const struct {
		const char *sql;
		bool is_set;
		struct sql_value v;
		size_t most;
	} change[] = {
#define NUMBER(member, value)                                       \
	{"UPDATE provider SET " #member "=? WHERE id=?", c->member, \
	 c->member ? (value) : SQL_N(0), 0}
#define TEXT(member, most)                                                   \
	{                                                                    \
		"UPDATE provider SET " #member "=? WHERE id=?", c->member,   \
			SQL_T(c->member ? str_of(c->member) : STR("")), most \
	}
		NUMBER(priority, SQL_N(*c->priority)),
		NUMBER(quota_files, SQL_N(*c->quota_files)),
		NUMBER(quota_space, SQL_N(*c->quota_space)),
		NUMBER(bandwidth, SQL_N(MIN(*c->bandwidth, INT64_MAX))),
		TEXT(hours, HOURS_TEXT_MAX),
		TEXT(mail, PIDB_TEXT_MAX),
#undef NUMBER
#undef TEXT
	};
	for (size_t i = 0; i < ARRAY_LEN(change); i++) {
		if (change[i].v.s.n > change[i].most)
			return err_set(err, ERR_USAGE, "longer than %zu bytes", change[i].most);
		if (change[i].is_set &&
		    PIDB_DO(p, NULL, err, change[i].sql, change[i].v, SQL_N(id)) < 0)
			return -1;
	}
	return 0;
}

int pidb_change(struct pidb *p, uint64_t id, const struct pidb_change *change, struct err *err)
{
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = pidb_is_there(p, id, err);
	if (rc == 0)
		rc = change_rows(p, id, change, err);
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
			     SQL_T(str_of(address)), SQL_N(id));
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
	return PIDB_WRITE(p, NULL, err,
			  "UPDATE provider SET errors_told=?1 WHERE id=?2 AND"
			  " (errors_told<?1 OR errors_told=?3)",
			  SQL_N(MIN(errors_told, INT64_MAX)), SQL_N(id),
			  SQL_N(MIN(was, INT64_MAX)));
}

int pidb_fullset(struct pidb *p, uint64_t id, int64_t now_us, struct err *err)
{
	int n = 0;
	if (pidb_begin(p, err) < 0)
		return -1;
	int rc = PIDB_DO(p, &n, err, "UPDATE provider SET wanted=0 WHERE id=? AND wanted<>0",
			 SQL_N(id));
	if (rc == 0 && n == 0)
		rc = PIDB_DO(p, NULL, err,
			     "INSERT INTO fullset SELECT id,? FROM provider WHERE id=?",
			     SQL_N(now_us), SQL_N(id));
	return pidb_end(p, rc, err);
}

int pidb_want(struct pidb *p, uint64_t id, enum pidb_wanted why, struct err *err)
{
	return PIDB_WRITE(p, NULL, err,
			  "UPDATE provider SET wanted=?1 WHERE wanted<?1 AND (?2=0 OR id=?2)",
			  SQL_N(why), SQL_N(id));
}
