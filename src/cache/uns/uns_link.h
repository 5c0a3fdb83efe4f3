/* A notification server's connection to the queue manager (doc/protocols/cache-link.md): kept up,
 * greeted, messages read. Which sets go over it is its owner's business. */
#pragma once
#include "base/str.h"
#include "net/conn.h"

struct dns_conf;
struct tls;
struct uns_link;

struct uns_link_options {
	struct conn_pool *pool;
	const char *address; /* of the queue manager */
	const struct dns_conf *dns;
	const struct tls *tls; /* NULL: none */
	const char *name;      /* of this server, used where it is */
	/* The queue manager takes sets; or does not, any more: what was not answered is to be sent
	 * again. */
	void (*here)(void *ctx);
	void (*away)(void *ctx, const char *why);
	void (*room)(void *ctx); /* after uns_link_send() said false */
	/* code 0: it has the set. */
	void (*answer)(void *ctx, uint64_t number, unsigned code, struct str text);
	void *ctx;
};

int uns_link_new(struct uns_link **ret, const struct uns_link_options *options, struct err *err);
void uns_link_free(struct uns_link **l);
bool uns_link_is_here(const struct uns_link *l); /* NULL: it is not */
/* Only while it is here. false: wait for room(). */
bool uns_link_send(struct uns_link *l, struct str bytes);
/* The queue manager said what it may not; away() follows. */
void uns_link_drop(struct uns_link *l, const char *why);
