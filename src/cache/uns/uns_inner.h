/* What the parts of the role uns share: sessions of providers.
 *
 * A session has a thread from the first byte on, which reads, asks databases, writes its spool and
 * waits, in the order of document 004. The loop owns the connections and the way to the queue
 * manager. At any time one of the two works for a session: the thread waits while the loop does
 * something for it, and the loop leaves it alone until it waits again. */
#pragma once
#include "base/pool.h"
#include "cache/receipts.h"
#include "cache/uns.h"
#include "cache/uns/link_wire.h"
#include "cache/uns/lococa.h"
#include "cache/uns/login.h"
#include "cache/uns/uns_out.h"
#include "net/role_loop.h"
#include "net/server.h"

#include <limits.h>
#include <pthread.h>
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
	char unsdb[PATH_MAX];  /* the file */
	struct pool *disk;     /* unsdb, and what is read of sets */
	struct pool *hashes;   /* hashes passwords that are not remembered: one thread */
	struct pool *reads;    /* reads the cache's database, alone: one thread */
	struct conn_pool *conns;
	struct server *server;
	struct uns_spools *spools;
	struct uns_out *out;
	struct pidb *pidb;
	struct login *login;
	struct link sessions;
	struct uns_counts counts;
	atomic_bool is_draining, disk_is_full;
	bool is_ending; /* sets are refused */
	/* Owned by the thread of `reads`. */
	struct db *db;   /* NULL: there is none yet */
	size_t db_users; /* receipts being read */
	bool db_has_failed;
};

enum uns_wait { UNS_BUSY, UNS_READS, UNS_DRAINS };

struct uns_session {
	struct link link; /* of uns.sessions */
	struct uns *u;
	char address[PIDB_ADDRESS_MAX + 1];
	/* The loop's. */
	struct session *session; /* NULL: closed */
	struct loop_timer timer;
	enum uns_wait waits; /* what the thread waits for, if the loop knows */
	bool is_running;     /* the thread */
	pthread_t thread;
	uint64_t thrown, thrown_before; /* after the final answer */
	int64_t over_us;
	/* How the thread waits. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_waiting;
	atomic_bool is_closed;
	atomic_bool is_lost; /* the queue manager has refused its set after unsdb had accepted it */
	/* The thread's; the loop's while the thread waits, and where there is none. */
	struct lococa_shared *shared;
	struct lococa *l;
	struct buf in, out;
	int64_t due_us;           /* what it has said must be complete by then; 0: at any time */
	bool is_over;             /* the final answer is in `out` */
	bool discards;            /* further input, for a while, so that the answer arrives */
	bool breaks;              /* closed without one */
	struct uns_counts counts; /* that are not in those of the role yet */
	/* The provider, once logged in. */
	uint64_t provider;
	struct prefixes prefixes;
	uint64_t errors_told, errors_were; /* at the end of the session; at its beginning */
	/* The set. */
	bool is_full;
	struct uns_spool *spool;
	uint64_t received;
	/* What became of it. */
	uint64_t number;
	unsigned code;
	char text[LINK_TEXT_MAX + 1];
};

/* uns_session.c. Those of the thread. */
extern const struct server_protocol uns_protocol;
/* Has fn(ctx) run by a thread of the pool, and waits. */
void uns_session_ask(struct uns_session *ss, struct pool *pool, void (*fn)(void *ctx), void *ctx);
/* Sends what is in `out`, and waits until the connection takes more. */
void uns_session_flush(struct uns_session *ss);
/* Rejects in the form that fits the state, and ends the session. */
void uns_session_refuse(struct uns_session *ss, unsigned code, const char *text);
/* Those of the loop. Something has happened that sessions may have to be refused for. */
void uns_sessions_look(struct uns *u);
/* The queue manager has refused a set that unsdb had accepted: for uns_accept(). */
void uns_sessions_lost(struct uns *u, uint64_t number);
/* With is_ending, after server_free() and uns_out_end(): waits for the threads. */
void uns_sessions_end(struct uns *u);

/* uns_ask.c, in the thread of a session: what it asks databases. */
void uns_login(struct uns_session *ss, uint64_t provider, struct str password);
/* Why the provider may not send a full set; 0: it may. */
unsigned uns_fullset_refusal(struct uns_session *ss);
/* Records that the set is accepted. */
void uns_accept(struct uns_session *ss);
/* In the thread of `reads`: the database; NULL: there is none, or it cannot be read. */
struct db *uns_db(struct uns *u);

/* uns_receipts.c, in the thread of a session. */
void uns_receipts(struct uns_session *ss, uint64_t set);
