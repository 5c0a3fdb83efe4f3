/* Jobs of threads that query databases for a session, and what follows from the results. A login
 * passes two threads: one that may block on the providers' database, and the one that owns the
 * cache's. A thread owns its job until the loop has the result; a session that closes meanwhile
 * only detaches itself from it. */
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "cache/uns/uns_inner.h"

#include <errno.h>
#include <stdio.h>

enum { ARENA_MOST = 512 << 20 /* errors_kept of the largest notices */ };

static uint64_t client_of(const char *address)
{
	uint64_t n = hash64(str_of(address));
	return n ? n : 1;
}

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

static void tally_read(struct uns_login *a)
{
	struct db *db = uns_db(a->u);
	struct err err;
	if (!db)
		return;
	if (db_tally(db, a->id, &a->tally, &err) < 0) {
		log_warn(ROLE, "reading cache.db failed", KV_TEXT("why", err.msg));
		return;
	}
	a->has_tally = true;
	a->errors = errors_since(a->tally.errors, a->provider.errors_told);
	size_t most = (size_t)MIN(a->errors, (uint64_t)a->errors_most);
	if (most == 0)
		return;
	a->error = mem_array(most, sizeof *a->error);
	if (db_errors(db, a->id, most, &a->arena, a->error, &a->nerrors, &err) < 0)
		log_warn(ROLE, "reading errors failed", KV_TEXT("why", err.msg));
}

/* Logins. */

static void login_free_all(struct uns_login *a)
{
	prefixes_free(&a->prefixes);
	arena_free(&a->arena);
	mem_free(&a->error);
	mem_free(&a);
}

static uint64_t quota_left(uint64_t quota, uint64_t used)
{
	return quota == UINT64_MAX ? UINT64_MAX : quota - MIN(quota, used);
}

static uint64_t fullsets_left(const struct uns *u, const struct pidb_provider *p)
{
	uint64_t most = (uint64_t)u->cache->fullsets;
	return most - MIN(most, p->fullsets_used);
}

static void login_take(struct uns_session *ss, struct uns_login *a)
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
		.processing =
			a->tally.queued + a->tally.open_urls + uns_out_urls(ss->u->out, a->id),
		.error = a->error,
		.n = a->nerrors,
		.prefixes = &ss->prefixes,
	};
	CLEANUP(buf_free) struct buf out = BUF_INIT(4 << 20);
	ss->provider = a->id;
	ss->prefixes = a->prefixes;
	a->prefixes = (struct prefixes){0};
	ss->errors_told = a->has_tally ? a->tally.errors : a->provider.errors_told;
	ss->errors_were = a->provider.errors_told;
	ss->u->counts.sessions++;
	lococa_accept(ss->l, &welcome, &out);
	uns_session_send(ss, buf_str(&out));
	uns_session_go_on(ss);
}

static void login_answered(void *ctx)
{
	struct uns_login *a = ctx;
	struct uns_session *ss = a->ss;
	if (a->rc < 0)
		log_warn(ROLE, "provider lookup failed", KV_TEXT("why", a->err.msg));
	if (ss) {
		ss->login = NULL;
		ss->is_asking = false;
	}
	if (ss && !ss->is_over && a->rc == 0) {
		login_take(ss, a);
	} else if (ss && !ss->is_over) {
		bool full = a->rc < 0 && a->err.sys_errno == ENOSPC;
		unsigned code = full        ? CACHE_LATER
				: a->rc < 0 ? CACHE_INTERNAL
					    : login_code(a->why);
		ss->u->counts.refused_logins++;
		uns_session_refuse(ss, code,
				   a->rc > 0 && a->why == LOGIN_WAIT
					   ? "too many failed attempts, try again later"
					   : cache_code_text(code));
	}
	login_free_all(a);
}

static void login_tally_run(struct pool_job *job)
{
	struct uns_login *a = LIST_OF(struct uns_login, job, job);
	tally_read(a);
	loop_post(a->u->role.loop, login_answered, a);
}

static int login_look(struct uns_login *a, bool quickly)
{
	struct uns *u = a->u;
	const struct login_ask ask = {.provider = a->id,
				      .password = str_of(a->password),
				      .address = str_of(a->address),
				      .quickly = quickly,
				      .since_us = a->since_us,
				      .now_mono_us = a->now_mono_us};
	int rc = login_check(u->login, &ask, &a->provider, &a->why, &a->wait_us, &a->err);
	if (rc != 0)
		return rc;
	rc = prefixes_load(&a->prefixes, u->pidb, a->id, &a->err);
	FAULT("uns.session");
	if (rc == 0)
		rc = pidb_session(u->pidb, a->id, a->address, a->since_us, &a->provider, &a->err);
	if (rc == 1)
		a->why = LOGIN_UNKNOWN; /* it has gone in this moment */
	return rc;
}

/* The password is known, or is not looked at any more. */
static void login_go_on(struct uns_login *a)
{
	explicit_bzero(a->password, sizeof a->password);
	if (a->rc != 0) {
		loop_post(a->u->role.loop, login_answered, a);
		return;
	}
	a->job = (struct pool_job){.run = login_tally_run, .client = a->job.client, .beyond = true};
	pool_post(a->u->reads, &a->job);
}

static void login_hash_run(struct pool_job *job)
{
	struct uns_login *a = LIST_OF(struct uns_login, job, job);
	if (!job->dropped)
		a->rc = login_look(a, false);
	login_go_on(a);
}

static bool login_unwanted(const struct pool_job *job)
{
	return LIST_OF(const struct uns_login, job, job)->is_left;
}

/* Those whose passwords are remembered do not wait for the hashes of others, of which there may be
 * many: anyone may try. */
static void login_run(struct pool_job *job)
{
	struct uns_login *a = LIST_OF(struct uns_login, job, job);
	a->rc = login_look(a, true);
	if (a->rc != 1 || a->why != LOGIN_SLOWLY) {
		login_go_on(a);
		return;
	}
	a->job = (struct pool_job){.run = login_hash_run,
				   .unwanted = login_unwanted,
				   .client = a->job.client,
				   .beyond = true};
	pool_post(a->u->hashes, &a->job);
}

static struct uns_login *login_make(struct uns_session *ss, uint64_t provider)
{
	const struct cache_conf *cache = ss->u->cache;
	struct uns_login *a = mem_alloc(sizeof *a);
	*a = (struct uns_login){.u = ss->u,
				.ss = ss,
				.id = provider,
				.since_us = clock_wall_us() - cache->fullset_period_us,
				.now_mono_us = clock_mono_us(),
				.errors_most = (size_t)cache->errors_kept,
				.arena = ARENA_INIT(ARENA_MOST)};
	ss->login = a;
	return a;
}

void uns_ask_login(struct uns_session *ss, uint64_t provider, struct str password)
{
	struct uns_login *a = login_make(ss, provider);
	password = str_head(password, sizeof a->password - 1);
	memcpy(a->password, password.n ? password.p : "", password.n);
	snprintf(a->address, sizeof a->address, "%s", session_peer(ss->session));
	a->job = (struct pool_job){
		.run = login_run, .client = client_of(a->address), .beyond = true};
	pool_post(ss->u->asks, &a->job);
}

void uns_login_leave(struct uns_login *a)
{
	a->ss = NULL;
	a->is_left = true;
}

/* Full sets. */

static unsigned fullset_refusal(const struct uns_login *a)
{
	if (a->rc < 0)
		log_warn(ROLE, "provider lookup failed", KV_TEXT("why", a->err.msg));
	if (a->rc != 0)
		return a->rc < 0 ? CACHE_INTERNAL : CACHE_UNKNOWN;
	bool may = a->provider.wanted != PIDB_NOT_WANTED || fullsets_left(a->u, &a->provider) > 0;
	return may ? 0 : CACHE_FULLSETS;
}

static void fullset_answered(void *ctx)
{
	struct uns_login *a = ctx;
	struct uns_session *ss = a->ss;
	unsigned code = fullset_refusal(a);
	login_free_all(a);
	if (!ss)
		return;
	ss->login = NULL;
	ss->is_asking = false;
	if (code)
		uns_session_refuse(ss, code, cache_code_text(code));
	else
		uns_session_go_on(ss);
}

static void fullset_run(struct pool_job *job)
{
	struct uns_login *a = LIST_OF(struct uns_login, job, job);
	a->rc = pidb_get(a->u->pidb, a->id, a->since_us, &a->provider, &a->err);
	loop_post(a->u->role.loop, fullset_answered, a);
}

/* The number that was told at init may be used up by now. */
void uns_ask_fullset(struct uns_session *ss)
{
	struct uns_login *a = login_make(ss, ss->provider);
	a->job = (struct pool_job){.run = fullset_run, .beyond = true};
	pool_post(ss->u->asks, &a->job);
}

/* Accepted sets. A kill before this leaves a full set wanted that has come: it comes once more. */

void uns_accept_free(struct uns_accept **a)
{
	list_remove(&(*a)->link);
	mem_free(a);
}

static void accept_answered(void *ctx);

static void lost_note(const struct uns_accept *a)
{
	struct err err;
	if (pidb_want(a->u->pidb, a->provider, PIDB_CRASH, &err) < 0)
		log_warn(ROLE, "recording the loss of an accepted set failed",
			 KV_UINT("provider", a->provider), KV_TEXT("why", err.msg));
}

static void lost_run(struct pool_job *job)
{
	struct uns_accept *a = LIST_OF(struct uns_accept, job, job);
	lost_note(a);
	loop_post(a->u->role.loop, accept_answered, a);
}

static void accept_answered(void *ctx)
{
	struct uns_accept *a = ctx;
	struct uns_session *ss = a->ss;
	if (a->is_lost && !a->u->asks) { /* the role ends */
		lost_note(a);
	} else if (a->is_lost) {
		a->is_lost = false;
		a->job = (struct pool_job){.run = lost_run, .beyond = true};
		pool_post(a->u->asks, &a->job);
		return;
	}
	a->u->counts.sets++;
	FAULT("uns.accepted");
	if (ss) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(64 << 10);
		ss->accept = NULL;
		lococa_say_taken(ss->l, a->received, a->number, &out);
		uns_session_send(ss, buf_str(&out));
		uns_session_finish(ss);
	}
	uns_accept_free(&a);
}

static void accept_run(struct pool_job *job)
{
	struct uns_accept *a = LIST_OF(struct uns_accept, job, job);
	struct err err;
	FAULT("uns.fullset");
	int rc = a->is_full ? pidb_fullset(a->u->pidb, a->provider, a->now_us, &err) : 0;
	if (rc >= 0)
		rc = pidb_session_done(a->u->pidb, a->provider, a->errors_told, a->errors_were,
				       &err);
	if (rc < 0)
		log_warn(ROLE, "recording the session of an accepted set failed",
			 KV_UINT("provider", a->provider), KV_TEXT("why", err.msg));
	loop_post(a->u->role.loop, accept_answered, a);
}

void uns_ask_accept(struct uns_accept *a)
{
	a->job = (struct pool_job){.run = accept_run, .beyond = true};
	pool_post(a->u->asks, &a->job);
}
