/* What the parts of the role uns share: sessions of providers, and the threads that ask databases
 * for them. */
#pragma once
#include "base/arena.h"
#include "base/pool.h"
#include "cache/receipts.h"
#include "cache/uns.h"
#include "cache/uns/lococa.h"
#include "cache/uns/login.h"
#include "cache/uns/uns_out.h"
#include "net/role_loop.h"
#include "net/server.h"

#include <limits.h>
#include <stdatomic.h>

#define ROLE "uns"

struct uns_counts {
	uint64_t sessions, refused_logins, sets, refused_sets, urls, wrong_urls, receipts;
};

struct uns {
	struct role_loop role;
	const struct uns_conf *conf;
	const struct cache_conf *cache;
	char folder[PATH_MAX]; /* DATA/cache */
	struct pool *disk;     /* spools, unsdb */
	struct pool *asks;     /* the providers' database */
	struct pool *hashes;   /* hashes passwords that are not remembered: one thread */
	struct pool *reads;    /* reads the cache's database, alone: one thread */
	struct conn_pool *conns;
	struct server *server;
	struct lococa_shared *shared;
	struct uns_spools *spools;
	struct uns_out *out;
	struct pidb *pidb;
	struct login *login;
	struct link sessions; /* that have sent something */
	struct link accepts;
	struct uns_counts counts;
	bool is_draining, disk_is_full;
	/* Owned by the thread of `reads`. */
	struct db *db;   /* NULL: there is none yet */
	size_t db_users; /* receipts being read */
	bool db_has_failed;
};

/* Result of a login check, or of a later look at the same provider. Freed once the provider has
 * been answered. */
struct uns_login {
	struct pool_job job;
	struct uns *u;
	struct uns_session *ss; /* NULL: closed */
	atomic_bool is_left;    /* closed, as the thread sees it */
	uint64_t id;
	char password[1100], address[PIDB_ADDRESS_MAX + 1];
	int64_t since_us, now_mono_us;
	size_t errors_most;
	/* Out. */
	int rc;
	enum login_refusal why;
	int64_t wait_us;
	struct err err;
	struct pidb_provider provider;
	struct prefixes prefixes;
	bool has_tally;
	struct db_tally tally;
	uint64_t errors; /* since the last finished session */
	struct arena arena;
	struct db_error *error;
	size_t nerrors;
};

/* A complete set, until its provider has the answer. */
struct uns_accept {
	struct link link; /* of uns.accepts */
	struct pool_job job;
	struct uns *u;
	struct uns_session *ss; /* NULL: closed */
	uint64_t provider, received, number, errors_told, errors_were;
	bool is_full;
	bool is_lost; /* refused by the queue manager after unsdb had accepted it */
	int64_t now_us;
};

struct uns_receipts;

struct uns_session {
	struct link link;
	struct uns *u;
	struct session *session;
	struct lococa *l;
	struct buf rest; /* input not parsed yet */
	struct loop_timer timer;
	/* Reasons not to read input. */
	bool is_asking; /* a thread is working for it */
	bool is_spooling, is_choked;
	bool is_over;       /* the final answer is sent */
	bool is_discarding; /* and further input is discarded */
	uint64_t thrown, thrown_before;
	int64_t over_us;
	/* Jobs of threads. */
	struct uns_login *login;
	struct uns_receipts *receipts;
	struct uns_accept *accept;
	/* The provider, once logged in. */
	uint64_t provider;
	struct prefixes prefixes;
	uint64_t errors_told, errors_were; /* at the end of the session; at its beginning */
	/* The set. */
	bool is_full;
	struct uns_spool *spool;
	uint64_t received;
};

/* uns_session.c */
extern const struct server_protocol uns_protocol;
void uns_session_send(struct uns_session *ss, struct str bytes);
/* Rejects in the form that fits the state, and ends the session. */
void uns_session_refuse(struct uns_session *ss, unsigned code, const char *text);
/* Ends the session after what was sent. */
void uns_session_finish(struct uns_session *ss);
/* Reads on, unless there is another reason not to. */
void uns_session_go_on(struct uns_session *ss);
void uns_sessions_drain(struct uns *u);
/* Disk full: rejects all arriving sets and frees their spools. */
void uns_sessions_without_room(struct uns *u);

/* uns_ask.c: jobs of threads that query databases; the loop passes the results to sessions. */
void uns_ask_login(struct uns_session *ss, uint64_t provider, struct str password);
void uns_login_leave(struct uns_login *a); /* the session is closing */
void uns_ask_fullset(struct uns_session *ss);
void uns_ask_accept(struct uns_accept *a);
void uns_accept_free(struct uns_accept **a);
/* In the thread of `reads`: the database; NULL: there is none, or it cannot be read. */
struct db *uns_db(struct uns *u);

/* uns_receipts.c */
void uns_receipts_begin(struct uns_session *ss, uint64_t set);
void uns_receipts_go_on(struct uns_receipts *r); /* the connection has drained */
void uns_receipts_leave(struct uns_receipts *r); /* the session is closing */
