/* Counts bytes in two leaky buckets for each address. The small one holds one second of the rate
 * and bounds what is sent at once. The large one holds SHARE_LONG seconds, leaks a SHARE_LONG-th of
 * the rate, and bounds what is sent over minutes. Bytes that are proven to have arrived are taken
 * out of both, so real clients reach neither limit. */
#include "archie/prospero/prospero_share.h"

#include "base/clock.h"
#include "base/hash.h"

#include <sys/random.h>

enum { PACKET = 1500 };

void shares_init(struct shares *s, uint64_t rate)
{
	*s = (struct shares){.rate = (double)rate};
	ENSURE(getrandom(&s->secret, sizeof s->secret, 0) == (ssize_t)sizeof s->secret);
	s->share = mem_alloc(SHARES * sizeof *s->share);
}

void shares_free(struct shares *s)
{
	mem_free(&s->share);
}

struct share *shares_of(struct shares *s, struct addr server)
{
	struct str bytes = {(const char *)&server, sizeof server};
	return &s->share[hash64_seeded(bytes, s->secret) % SHARES];
}

static double long_most(const struct shares *s)
{
	return s->rate * SHARE_LONG;
}

static void share_leak(const struct shares *s, struct share *h, int64_t now_us)
{
	double leaked = s->rate * (double)(now_us - h->at_us) / US_PER_S;
	h->spent = MAX(h->spent - leaked, 0.0);
	h->spent_long = MAX(h->spent_long - leaked / SHARE_LONG, 0.0);
	h->at_us = now_us;
}

int64_t share_spend(const struct shares *s, struct share *h, size_t n, int64_t now_us)
{
	double bytes = (double)n;
	share_leak(s, h, now_us);
	double over = h->spent + bytes - s->rate, over_long = h->spent_long + bytes - long_most(s);
	double wait_s = MAX(over / s->rate, over_long / s->rate * SHARE_LONG);
	if (wait_s > 0)
		return 1 + (int64_t)(wait_s * US_PER_S);
	h->spent += bytes;
	h->spent_long += bytes;
	return 0;
}

bool share_is_low(const struct shares *s, struct share *h, int64_t now_us)
{
	share_leak(s, h, now_us);
	return h->spent > s->rate / 2 || h->spent_long > long_most(s) / 2;
}

bool share_is_out(const struct shares *s, struct share *h, int64_t now_us)
{
	share_leak(s, h, now_us);
	return h->spent_long + PACKET > long_most(s);
}

void share_proven(struct share *h, size_t n)
{
	h->spent = MAX(h->spent - (double)n, 0.0);
	h->spent_long = MAX(h->spent_long - (double)n, 0.0);
}

/* Crowds */

void crowd_init(struct crowd *c, enum crowd_kind kind)
{
	*c = (struct crowd){.kind = kind};
	list_init(&c->all);
}

void crowd_add(struct crowd *c, struct place *p)
{
	list_append(&c->all, &p->link);
	c->n++;
	c->bytes += p->bytes;
	p->share->in[c->kind].bytes += p->bytes;
	c->crowding += ++p->share->in[c->kind].n == SHARE_PLACES + 1;
}

void crowd_remove(struct crowd *c, struct place *p)
{
	list_remove(&p->link);
	c->n--;
	c->bytes -= p->bytes;
	p->share->in[c->kind].bytes -= p->bytes;
	c->crowding -= p->share->in[c->kind].n-- == SHARE_PLACES + 1;
}

void crowd_moved(struct crowd *c, struct place *p)
{
	list_remove(&p->link);
	list_append(&c->all, &p->link);
}

bool crowd_has_many(const struct crowd *c, const struct share *h)
{
	return h->in[c->kind].n > SHARE_PLACES;
}

/* The share with the most places, or bytes; NULL: there is none with more than `least`. */
static const struct share *share_of_most(const struct crowd *c, bool by_bytes, uint64_t least)
{
	const struct share *most = NULL;
	LIST_EACH (struct place, p, &c->all, link) {
		uint64_t has = by_bytes ? p->share->in[c->kind].bytes : p->share->in[c->kind].n;
		if (has > least) {
			least = has;
			most = p->share;
		}
	}
	return most;
}

/* The first of the lowest rank. from: of this share; NULL: of any. */
static struct place *first_to_go(const struct crowd *c, const struct share *from,
				 const struct place *but)
{
	struct place *first = NULL;
	LIST_EACH (struct place, p, &c->all, link)
		if (p != but && (!from || p->share == from) && (!first || p->rank < first->rank)) {
			if (p->rank == PLACE_RESTS)
				return p;
			first = p;
		}
	return first;
}

struct place *crowd_of_most(const struct crowd *c)
{
	const struct share *most = c->crowding ? share_of_most(c, false, SHARE_PLACES) : NULL;
	return most ? first_to_go(c, most, NULL) : NULL;
}

struct place *crowd_excess(const struct crowd *c, size_t n, uint64_t bytes,
			   const struct place *last)
{
	uint64_t part = bytes / SHARE_PLACES;
	const struct share *from = NULL;
	if (c->n <= n && c->bytes <= bytes)
		return NULL;
	if (c->n > n ? crowd_has_many(c, last->share) : last->share->in[c->kind].bytes > part)
		from = last->share;
	else if (c->n <= n)
		from = share_of_most(c, true, part);
	else if (c->crowding)
		from = share_of_most(c, false, SHARE_PLACES);
	struct place *first = from ? first_to_go(c, from, last) : NULL;
	return first ? first : first_to_go(c, NULL, last);
}
