/* What the thread of a session asks databases: logins, full sets, accepted sets. The providers'
 * database is asked by the thread itself; a password that has to be hashed, and what is read of the
 * cache's database, wait for the one thread that does that. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "cache/uns/uns_inner.h"

#include <errno.h>

enum { ARENA_MOST = 512 << 20 /* errors_kept of the largest notices */ };

/* The thread of `reads`. */

struct db *uns_db(struct uns *u)
{
	struct err err;
	if (u->db && u->db_users == 0 && db_is_moved(u->db))
		db_close(&u->db);
	int rc = u->db ? 0 : db_open(&u->db, u->folder, DB_READ, &err);
	if (rc < 0 && !u->db_has_failed)
		log_warn(ROLE, "reading cache.db failed", KV_TEXT("why", err.msg));
	u->db_has_failed = rc < 0;
	return u->db;
}

/* A cache's database that was begun anew counts from 0 again: nothing of that was told. */
static uint64_t errors_since(uint64_t count, uint64_t told)
{
	return count < told ? count : count - told;
}

/* What is found out of a provider that logs in. */
struct attempt {
	struct uns_session *ss;
	struct login_ask ask;
	int rc;
	enum login_refusal why;
	int64_t wait_us;
	struct err err;
	struct pidb_provider provider;
	bool has_tally;
	struct db_tally tally;
	uint64_t errors; /* since the last finished session */
	struct arena arena;
	struct db_error *error;
	size_t nerrors;
};

static void tally_read(void *ctx)
{
	struct attempt *a = ctx;
	struct db *db = uns_db(a->ss->u);
	struct err err;
	if (!db)
		return;
	if (db_tally(db, a->ask.provider, &a->tally, &err) < 0) {
		log_warn(ROLE, "reading cache.db failed", KV_TEXT("why", err.msg));
		return;
	}
	a->has_tally = true;
	a->errors = errors_since(a->tally.errors, a->provider.errors_told);
	size_t most = (size_t)MIN(a->errors, (uint64_t)a->ss->u->cache->errors_kept);
	if (most == 0)
		return;
	a->error = mem_array(most, sizeof *a->error);
	if (db_errors(db, a->ask.provider, most, &a->arena, a->error, &a->nerrors, &err) < 0)
		log_warn(ROLE, "reading errors failed", KV_TEXT("why", err.msg));
}

/* Logins. */

static uint64_t quota_left(uint64_t quota, uint64_t used)
{
	return quota == UINT64_MAX ? UINT64_MAX : quota - MIN(quota, used);
}

static uint64_t fullsets_left(const struct uns *u, const struct pidb_provider *p)
{
	uint64_t most = (uint64_t)u->cache->fullsets;
	return most - MIN(most, p->fullsets_used);
}

static int64_t fullsets_since_us(const struct uns *u)
{
	return clock_wall_us() - u->cache->fullset_period_us;
}

static void login_take(struct uns_session *ss, const struct attempt *a)
{
	const struct lococa_welcome welcome = {
		.seq = a->provider.seq,
		.last_address = str_of(a->provider.last_address),
		.files = a->tally.files,
		.files_free = quota_left(a->provider.quota_files, a->tally.files),
		.space = a->tally.space,
		.space_free = quota_left(a->provider.quota_space, a->tally.space),
		.fullsets = fullsets_left(ss->u, &a->provider),
		.wanted = a->provider.wanted,
		.errors = a->errors,
		.processing = a->tally.queued + a->tally.open_urls +
			      unsdb_urls(uns_out_unsdb(ss->u->out), a->ask.provider),
		.error = a->error,
		.n = a->nerrors,
		.prefixes = &ss->prefixes,
	};
	ss->provider = a->ask.provider;
	ss->errors_told = a->has_tally ? a->tally.errors : a->provider.errors_told;
	ss->errors_were = a->provider.errors_told;
	ss->counts.sessions++;
	lococa_accept(ss->l, &welcome, &ss->out);
}

static void login_refuse(struct uns_session *ss, const struct attempt *a)
{
	bool full = a->rc < 0 && a->err.sys_errno == ENOSPC;
	unsigned code = full ? CACHE_LATER : a->rc < 0 ? CACHE_INTERNAL : login_code(a->why);
	if (a->rc < 0)
		log_warn(ROLE, "provider lookup failed", KV_TEXT("why", a->err.msg));
	ss->counts.refused_logins++;
	uns_session_refuse(ss, code,
			   a->rc > 0 && a->why == LOGIN_WAIT
				   ? "too many failed attempts, try again later"
				   : cache_code_text(code));
}

static void login_look(void *ctx)
{
	struct attempt *a = ctx;
	struct uns_session *ss = a->ss;
	struct uns *u = ss->u;
	if (ss->is_closed)
		return;
	a->rc = login_check(u->login, &a->ask, &a->provider, &a->why, &a->wait_us, &a->err);
	if (a->rc != 0)
		return;
	a->rc = prefixes_load(&ss->prefixes, u->pidb, a->ask.provider, &a->err);
	FAULT("uns.session");
	if (a->rc == 0)
		a->rc = pidb_session(u->pidb, a->ask.provider, ss->address, a->ask.since_us,
				     &a->provider, &a->err);
	if (a->rc == 1)
		a->why = LOGIN_UNKNOWN; /* it has gone in this moment */
}

/* Those whose passwords are remembered do not wait for the hashes of others, of which there may be
 * many: anyone may try. */
void uns_login(struct uns_session *ss, uint64_t provider, struct str password)
{
	struct attempt a = {.ss = ss,
			    .ask = {.provider = provider,
				    .password = password,
				    .address = str_of(ss->address),
				    .quickly = true,
				    .since_us = fullsets_since_us(ss->u),
				    .now_mono_us = clock_mono_us()},
			    .rc = 1,
			    .arena = ARENA_INIT(ARENA_MOST)};
	login_look(&a);
	if (a.rc == 1 && a.why == LOGIN_SLOWLY) {
		a.ask.quickly = false;
		uns_session_ask(ss, ss->u->hashes, login_look, &a);
	}
	if (a.rc == 0)
		uns_session_ask(ss, ss->u->reads, tally_read, &a);
	if (a.rc == 0)
		login_take(ss, &a);
	else if (!ss->is_over)
		login_refuse(ss, &a);
	arena_free(&a.arena);
	mem_free(&a.error);
}

/* The number that was told at init may be used up by now. */
unsigned uns_fullset_refusal(struct uns_session *ss)
{
	struct pidb_provider p;
	struct err err;
	int rc = pidb_get(ss->u->pidb, ss->provider, fullsets_since_us(ss->u), &p, &err);
	if (rc < 0)
		log_warn(ROLE, "provider lookup failed", KV_TEXT("why", err.msg));
	if (rc != 0)
		return rc < 0 ? CACHE_INTERNAL : CACHE_UNKNOWN;
	bool may = p.wanted != PIDB_NOT_WANTED || fullsets_left(ss->u, &p) > 0;
	return may ? 0 : CACHE_FULLSETS;
}

/* A kill before this leaves a full set wanted that has come: it comes once more. What is noted of a
 * full set would take back that it was lost, so that is noted again. */
void uns_accept(struct uns_session *ss)
{
	struct pidb *pidb = ss->u->pidb;
	struct err err;
	FAULT("uns.fullset");
	int rc = ss->is_full ? pidb_fullset(pidb, ss->provider, clock_wall_us(), &err) : 0;
	if (rc >= 0)
		rc = pidb_session_done(pidb, ss->provider, ss->errors_told, ss->errors_were, &err);
	if (rc < 0)
		log_warn(ROLE, "recording the session of an accepted set failed",
			 KV_UINT("provider", ss->provider), KV_TEXT("why", err.msg));
	if (ss->is_lost && pidb_want(pidb, ss->provider, PIDB_CRASH, &err) < 0)
		log_warn(ROLE, "recording the loss of an accepted set failed",
			 KV_UINT("provider", ss->provider), KV_TEXT("why", err.msg));
}
