/* The server of reapd, for its master: sessions, leases, jobs and answers (doc/reap.md, "reapd"). A
 * reaper does the fetching; the role connects the two (reapd.c).
 *
 * Serves one master at a time. When its lease expires or its connection ends, all its jobs are
 * dropped. */
#pragma once
#include "net/server.h"
#include "shepherd/reap/reaper.h"

struct reapd_server;

/* Counters that the reaper does not have. */
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
	/* Takes the rules of a site's robots.txt. ERR_DAMAGED: these are not rules. */
	int (*rules)(void *ctx, const struct reaper_rules *rules, struct err *err);
	/* Something failed, and this process cannot continue. */
	void (*failed)(void *ctx, const struct err *err);
	void *ctx;
};
struct reapd_server *reapd_server_new(const struct reapd_server_options *options);
/* The host to create the reaper with. */
const struct reaper_host *reapd_server_host(struct reapd_server *d);
/* Call it before listening. The caller owns the reaper, which must outlive the server. */
void reapd_server_reaper(struct reapd_server *d, struct reaper *r);
int reapd_server_listen(struct reapd_server *d, int fd, struct err *err);
void reapd_server_free(struct reapd_server **d);
const struct reapd_counts *reapd_server_counts(const struct reapd_server *d);
