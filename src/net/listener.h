/* Listeners: accept on a listening socket, through a gate that counts who is inside: in total, and
 * per address (IPv4 by address, IPv6 by /64; Unix peers count in total only). One connection too
 * many is told so and closed at once, so that those who may come in are not kept waiting. When
 * descriptors run out, accepting pauses for a while; the kernel keeps the rest in its queue. */
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
/* 0: one more is inside, until gate_leave(); 1: there are too many. gate_count() lets it in
 * whatever the limits are. */
int gate_enter(struct gate *g, const struct addr *server);
bool gate_is_full(const struct gate *g, const struct addr *server);
void gate_count(struct gate *g, const struct addr *server);
void gate_leave(struct gate *g, const struct addr *server);
size_t gate_inside(const struct gate *g);
size_t gate_addresses(const struct gate *g);

void peer_of(const struct sockaddr *from, size_t len, struct peer *ret);

/* Room for so many connections and some files more. 1: the system allows fewer descriptors,
 * *ret_has of *ret_wants. */
int listener_make_room(int64_t connections, uint64_t *ret_has, uint64_t *ret_wants);

struct listener_stats {
	uint64_t accepted, refused; /* refused by the gate */
	uint64_t stalls;            /* pauses for want of descriptors or memory */
};

struct listener_options {
	int backlog;         /* 0: as it is */
	const char *refusal; /* the word, with its line end; NULL: none */
	/* Takes the descriptor, which does not block, and calls gate_leave() when it is closed. */
	void (*accepted)(void *ctx, int fd, const struct peer *peer);
	void *ctx;
};

struct listener;

/* fd is inherited, or of listen_open(); it stays the caller's, to be closed after
 * listener_free(). The gate may have several listeners. */
int listener_new(struct listener **ret, struct loop *loop, int fd, struct gate *gate,
		 const struct listener_options *options, struct err *err);
/* Nobody comes in any more; who waits in the kernel's queue is left to others that listen. Not
 * from inside accepted(). */
void listener_free(struct listener **l);
const struct listener_stats *listener_stats(const struct listener *l);
