/* Quotas of an address at a process that answers by UDP, where senders can be forged: bytes without
 * proof that they arrived, and places among waiting requests and kept replies. No sockets and no
 * clock. Reasons, and what a forger can still do: doc/decisions/archie.md.
 *
 * A hash with a secret spreads addresses over a fixed number of shares. Addresses with the same
 * share use it together, so memory does not grow with their number. */
#pragma once
#include "base/list.h"
#include "net/addr.h"

enum {
	SHARES = 1 << 16,
	SHARE_LONG = 16,  /* seconds of the rate at once; then only a 16th of it */
	SHARE_PLACES = 8, /* of an address, before it makes room for others */
};

/* The two kinds of places. */
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

/* Takes n bytes from the quota. 0: send them; otherwise the time in us after which to try again. */
int64_t share_spend(const struct shares *s, struct share *h, size_t n, int64_t now_us);
/* Whether enough is used up that acks should prove something. */
bool share_is_low(const struct shares *s, struct share *h, int64_t now_us);
/* Whether nothing can be sent for a long time. */
bool share_is_out(const struct shares *s, struct share *h, int64_t now_us);
/* n bytes have certainly arrived: gives them back. */
void share_proven(struct share *h, size_t n);

/* Which places go first when room is needed. */
enum place_rank {
	PLACE_RESTS, /* everything was sent; repeated requests are searched again */
	PLACE_BEGUN, /* nothing was acknowledged yet */
	PLACE_MOVES, /* is being received, as far as anyone can know */
};
struct place {
	struct link link;
	struct share *share;
	uint64_t bytes;
	enum place_rank rank;
};
/* Places, the longest inactive first. */
struct crowd {
	enum crowd_kind kind;
	struct link all;
	size_t n, crowding; /* crowding: shares with more than SHARE_PLACES */
	uint64_t bytes;
};
void crowd_init(struct crowd *c, enum crowd_kind kind);
void crowd_add(struct crowd *c, struct place *p);
void crowd_remove(struct crowd *c, struct place *p); /* p must be in it */
void crowd_moved(struct crowd *c, struct place *p);  /* p was active */
bool crowd_has_many(const struct crowd *c, const struct share *h);

/* The place to give up for a new one: the oldest of the share with the most. NULL: no share has
 * more than SHARE_PLACES. */
struct place *crowd_of_most(const struct crowd *c);
/* The place to give up because `last` came; NULL while there are at most n places and `bytes`.
 * First those of shares with more than SHARE_PLACES, or more than their part of the bytes,
 * beginning with the share of `last`; then by rank, then by age. Never `last` itself. */
struct place *crowd_excess(const struct crowd *c, size_t n, uint64_t bytes,
			   const struct place *last);
