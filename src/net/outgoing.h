/* Outgoing connections: keeps a connection to one address. Reconnects after a failure or an end,
 * with a delay that doubles with each failure in a row and is spread at random over its second
 * half, so that many clients of a lost peer do not all return at once. */
#pragma once
#include "net/conn.h"

struct dns_conf;
struct outgoing;

struct outgoing_options {
	/* "192.0.2.1:80", "[2001:db8::1]:80", "unix:/path"; or a name and a port, "host:80", which
	 * is looked up for each attempt. After a failure the next of its addresses is tried. */
	const char *address;
	const struct dns_conf *dns; /* resolver settings; NULL: the machine's name servers */
	/* Connect to another machine only if TLS authenticates it; otherwise down() reports that
	 * for each attempt. */
	bool trusted;
	int64_t connect_us;                 /* to resolve the name and connect; 0: 10 s */
	int64_t retry_min_us, retry_max_us; /* 0: 250 ms, 10 s */
	const struct conn_limits *limits;   /* these, ops and tls must outlive it */
	const struct tls *tls;              /* NULL: none */
	/* As for any connection, but down() is called instead of closed(). */
	const struct conn_ops *ops;
	void (*up)(void *ctx, struct conn *c); /* with TLS after the handshake */
	/* The attempt failed or the connection ended; c is freed. The next attempt is in retry_us.
	 */
	void (*down)(void *ctx, const char *why, int64_t retry_us);
	uint64_t (*random)(void *ctx); /* all bits; NULL: the kernel's */
	void *ctx;
};

/* Starts the first attempt at once, but not from inside this call. Fails if the address is
 * malformed. */
int outgoing_new(struct outgoing **ret, struct conn_pool *pool,
		 const struct outgoing_options *options, struct err *err);
/* Checks that an address is well-formed. ERR_USAGE. */
int outgoing_check(const char *address, struct err *err);
/* The same for the address of a setting; also checks that a numeric one may be connected to under
 * `trusted`. ERR_USAGE names the settings or the accepted forms; `others` are further forms of this
 * setting, named first ("file:PATH, "; "": none). */
int outgoing_may_connect(const char *address, const char *others, const struct tls *tls,
			 struct err *err);
/* No callback comes after this. May be called from inside callbacks. */
void outgoing_free(struct outgoing **o);
struct conn *outgoing_conn(const struct outgoing *o); /* NULL: not up */
/* Ends the connection and waits at least this long before the next attempt. For a peer that would
 * refuse us again until an operator has changed something. */
void outgoing_rest(struct outgoing *o, int64_t us);
