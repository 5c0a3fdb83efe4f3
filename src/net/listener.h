/* Listeners: accept connections through a gate that limits their number: in total, and per address
 * (IPv4 by address, IPv6 by /64; Unix peers count in total only). A connection over a limit gets a
 * message and is closed at once, so that others need not wait. When descriptors run out, accepting
 * pauses for a while; the kernel queues the rest. */
#pragma once
#include "net/addr.h"
#include "net/loop.h"

struct peer {
	struct addr server;    /* what the gate counts: see addr_server(); no family: a Unix peer */
	char text[ADDR_SHOWN]; /* "192.0.2.1", "2001:db8::1", "unix" */
	int64_t uid; /* of an accepted Unix peer, when it connected, as the kernel says; else -1 */
};

struct gate;

struct gate *gate_new(size_t max, size_t max_per_address);
void gate_free(struct gate **g);
/* 0: the connection counts until gate_leave(); 1: over a limit. gate_count() counts it whatever the
 * limits are. */
int gate_enter(struct gate *g, const struct addr *server);
bool gate_is_full(const struct gate *g, const struct addr *server);
void gate_count(struct gate *g, const struct addr *server);
void gate_leave(struct gate *g, const struct addr *server);
size_t gate_inside(const struct gate *g);
size_t gate_addresses(const struct gate *g);

void peer_of(const struct sockaddr *from, size_t len, struct peer *ret);

/* Raises the limit of descriptors for this many connections and some files. 1: the system allows
 * fewer, *ret_has of *ret_wants. */
int listener_make_room(int64_t connections, uint64_t *ret_has, uint64_t *ret_wants);

struct listener_stats {
	uint64_t accepted, refused; /* refused by the gate */
	uint64_t stalls;            /* pauses for want of descriptors or memory */
};

struct listener_options {
	int backlog;         /* 0: as it is */
	const char *refusal; /* the word, with its line end; NULL: none */
	/* Takes over the non-blocking fd, and calls gate_leave() after closing it. */
	void (*accepted)(void *ctx, int fd, const struct peer *peer);
	void *ctx;
};

struct listener;

/* fd is inherited or from listen_open(); the caller still owns it and closes it after
 * listener_free(). Listeners may share a gate. */
int listener_new(struct listener **ret, struct loop *loop, int fd, struct gate *gate,
		 const struct listener_options *options, struct err *err);
/* Stops accepting; connections in the kernel's queue are left to others that listen. Do not call it
 * from accepted(). */
void listener_free(struct listener **l);
const struct listener_stats *listener_stats(const struct listener *l);
