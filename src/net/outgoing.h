/* Outgoing connections: one address that is to be connected to as long as this lives. What fails or
 * ends is tried again, after a delay that doubles with each failure in a row and is spread at
 * random over its second half, so that many who lost the same peer do not come back together. */
#pragma once
#include "net/conn.h"

struct dns_conf;
struct outgoing;

struct outgoing_options {
	/* "192.0.2.1:80", "[2001:db8::1]:80", "unix:/path"; or a name and a port, "host:80", which
	 * is looked up anew for each try. After a failure the next of its addresses is tried. */
	const char *address;
	const struct dns_conf *dns; /* whom to ask for names; NULL: the machine's name servers */
	/* Another machine is connected to only where it proves who it is (tls); otherwise down()
	 * says so, each time. */
	bool trusted;
	int64_t connect_us; /* how long the peer may take to be found, and to accept */
	int64_t retry_min_us, retry_max_us;
	const struct conn_limits *limits; /* used where they are, as are the ops and tls */
	const struct tls *tls;            /* NULL: none */
	/* As for any connection; closed() is not called, down() is. */
	const struct conn_ops *ops;
	void (*up)(void *ctx, struct conn *c); /* with TLS after the handshake */
	/* It could not be made, or has ended; c is gone. The next try is in retry_us. */
	void (*down)(void *ctx, const char *why, int64_t retry_us);
	uint64_t (*random)(void *ctx); /* all bits; NULL: the kernel's */
	void *ctx;
};

/* The first try comes at once, but not from inside this call. Fails when the address has no form.
 */
int outgoing_new(struct outgoing **ret, struct conn_pool *pool,
		 const struct outgoing_options *options, struct err *err);
/* Whether an address has a form. ERR_USAGE. */
int outgoing_check(const char *address, struct err *err);
/* The same of an address as settings have it: whether it has a form, and, where it is a number,
 * whether it may be connected to as `trusted` has it. ERR_USAGE, with the settings, or with the
 * forms: others that this setting has are named first ("file:PATH, ", or "" for none). */
int outgoing_may_connect(const char *address, const char *others, const struct tls *tls,
			 struct err *err);
/* Nothing is called any more. May be called from inside callbacks. */
void outgoing_free(struct outgoing **o);
struct conn *outgoing_conn(const struct outgoing *o); /* NULL: not up */
/* Ends the connection; the next try comes after that long, or later. For a peer that would refuse
 * us again, until somebody has changed something. */
void outgoing_rest(struct outgoing *o, int64_t us);
