/* The remote reaper: a connection to a reapd, which fetches on another machine (doc/reap.md,
 * "reapd"). To its owner it is a reaper like any other; what the other machine says is held against
 * what it was given, and leases on servers are taken here, in the table of this crawl. */
#pragma once
#include "net/conn.h"
#include "shepherd/reap/reaper.h"

/* All in it must outlive the reaper; the struct itself need not. */
struct reaper_remote_options {
	struct conn_pool *pool; /* with its loop */
	const char *address;    /* "192.0.2.7:8188", "unix:/path"; its name too */
	const struct tls *tls;  /* NULL: none */
	struct polite *polite;
	int64_t lease_us, penalty_us;
	const struct reaper_host *host;
};
/* ERR_USAGE: the address is invalid. */
int reaper_remote_new(struct reaper **ret, const struct reaper_remote_options *options,
		      struct err *err);

/* Bytes that the connections of all remote reapers may hold: for conn_pool_new(). */
enum { REAPER_REMOTE_MEMORY = 1 << 30 };
