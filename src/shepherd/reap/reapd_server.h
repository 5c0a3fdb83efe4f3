/* The side of reapd that its master talks to: sessions, leases, jobs and answers (doc/reap.md,
 * "reapd"). What fetches is a reaper, given to it; the role puts both together (reapd.c).
 *
 * One master at a time. Everything that is done for one is dropped when the lease that it keeps
 * alive is over, and when its connection ends. */
#pragma once
#include "net/server.h"
#include "shepherd/reap/reaper.h"

struct reapd_server;

/* What its reaper does not count. */
struct reapd_counts {
	uint64_t masters;
	uint64_t dropped; /* jobs, because a lease or a connection had ended */
};

/* All in it must outlive the server; the struct itself need not. */
struct reapd_server_options {
	struct loop *loop;
	const struct server_limits *limits;
	const struct tls *tls; /* NULL: none */
	uint64_t capacity;
	const char *dict_path;            /* where dictionaries of the master are kept */
	const struct robot_limits *robot; /* of heads, which jobs do not name */
	/* Requests may be sent until this time of the loop. */
	void (*until)(void *ctx, int64_t mono_us);
	/* Drops everything the reaper is doing; it answers none of it. */
	int (*drop)(void *ctx, struct err *err);
	/* What is known of robots.txt of a site; ERR_DAMAGED: these are no rules. */
	int (*rules)(void *ctx, const struct reaper_rules *rules, struct err *err);
	/* This process cannot go on. */
	void (*failed)(void *ctx, const struct err *err);
	/* For the log: a master came, went, or was refused. */
	void (*said)(void *ctx, bool is_trouble, const char *what, const char *peer);
	void *ctx;
};
struct reapd_server *reapd_server_new(const struct reapd_server_options *options);
/* Whom the reaper answers. */
const struct reaper_host *reapd_server_host(struct reapd_server *d);
/* Before the first master. The reaper stays the caller's, and outlives the server. */
void reapd_server_reaper(struct reapd_server *d, struct reaper *r);
int reapd_server_listen(struct reapd_server *d, int fd, struct err *err);
void reapd_server_free(struct reapd_server **d);
const struct reapd_counts *reapd_server_counts(const struct reapd_server *d);
