/* What one address may have of a process that answers by UDP, where senders can be forged: bytes
 * that nobody proved to have received, and places among what waits and what is kept. No sockets
 * and no clock. doc/decisions/archie.md has the reasons, and what a forger can still do.
 *
 * Addresses are spread over a fixed number of shares by a hash with a secret. Those that meet in
 * one have it together; so however many addresses come, nothing grows and nobody is forgotten. */
#pragma once
#include "base/list.h"
#include "net/addr.h"

enum {
	SHARES = 1 << 16,
	SHARE_LONG = 16,  /* seconds of the rate at most at once; then a 16th of it goes on */
	SHARE_PLACES = 8, /* that an address may have before it makes room for others */
};

/* The two crowds that have places. */
enum crowd_kind { CROWD_ASKING, CROWD_KEPT, CROWD_KINDS };

struct share {
	double spent, spent_long; /* bytes, at that time */
	int64_t at_us;
	struct {
		size_t n;
		uint64_t bytes;
	} in[CROWD_KINDS];
};

struct shares {
	double rate; /* bytes a second */
	uint64_t secret;
	struct share *share;
};
void shares_init(struct shares *s, uint64_t rate);
void shares_free(struct shares *s);
/* Its address stays the same. server: of addr_server(). */
struct share *shares_of(struct shares *s, struct addr server);

/* n bytes are to be sent. 0: they count as sent. Otherwise the time in us after which there may be
 * room for them. */
int64_t share_spend(const struct shares *s, struct share *h, size_t n, int64_t now_us);
/* So much was sent that an ack should prove something. */
bool share_is_low(const struct shares *s, struct share *h, int64_t now_us);
/* Nothing can be sent for a long while. */
bool share_is_out(const struct shares *s, struct share *h, int64_t now_us);
/* So much was received for certain: it counts no more. */
void share_proven(struct share *h, size_t n);

/* Who goes first where room is needed. */
enum place_rank {
	PLACE_RESTS, /* all was sent: if it is asked for again, it is searched again */
	PLACE_BEGUN, /* nothing was acknowledged yet */
	PLACE_MOVES, /* is being received, as far as anyone can know */
};
struct place {
	struct link link;
	struct share *share;
	uint64_t bytes;
	enum place_rank rank;
};
/* The one first that showed no life for longest. */
struct crowd {
	enum crowd_kind kind;
	struct link all;
	size_t n, crowding; /* and of how many shares there are more than SHARE_PLACES */
	uint64_t bytes;
};
void crowd_init(struct crowd *c, enum crowd_kind kind);
void crowd_add(struct crowd *c, struct place *p);
void crowd_remove(struct crowd *c, struct place *p); /* of one that it has */
void crowd_moved(struct crowd *c, struct place *p);  /* it shows life */
bool crowd_has_many(const struct crowd *c, const struct share *h);

/* Who has to go so that another one can come, where there are too many: the oldest of the share
 * that has most. NULL: none has more than SHARE_PLACES. */
struct place *crowd_of_most(const struct crowd *c);
/* Who has to go because `last` came: NULL while there are at most n of at most `bytes`. First
 * those of a share that has more than SHARE_PLACES, or more than its part of the bytes, the share
 * of `last` before others; then by rank, then by age. Never `last` itself. */
struct place *crowd_excess(const struct crowd *c, size_t n, uint64_t bytes,
			   const struct place *last);
