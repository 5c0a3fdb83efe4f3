#include "archie/prospero/prospero_share.h"

#include "archie/prospero/ardp.h"
#include "base/clock.h"

#include "../dice.h"
#include "../unit.h"

enum { RATE = 64 << 10 };

static struct addr address_of(unsigned i)
{
	return (struct addr){.b = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i},
			     .family = 2 /* AF_INET */};
}

/* Sends for `seconds` whatever there is room for, in packets of 1,000. */
static size_t spend_for(const struct shares *s, struct share *h, int64_t *now_us, unsigned seconds)
{
	size_t sent = 0;
	for (int64_t end_us = *now_us + seconds * US_PER_S; *now_us < end_us;) {
		int64_t later_us = share_spend(s, h, 1000, *now_us);
		sent += later_us ? 0 : 1000;
		*now_us = MIN(*now_us + later_us, end_us);
	}
	return sent;
}

static void an_address_has_a_second_of_the_rate_then_the_rate_then_a_part_of_it(void **state)
{
	(void)state;
	struct shares s;
	int64_t now_us = 1;
	shares_init(&s, RATE);
	struct share *h = shares_of(&s, address_of(1));
	assert_ptr_equal(h, shares_of(&s, address_of(1)));
	assert_false(share_is_low(&s, h, now_us));
	size_t sent = spend_for(&s, h, &now_us, 1);
	assert_true(sent > 2 * RATE - 2000 && sent <= 2 * RATE);
	assert_true(share_is_low(&s, h, now_us) && !share_is_out(&s, h, now_us));
	sent += spend_for(&s, h, &now_us, 19);
	assert_true(sent > SHARE_LONG * RATE && sent <= (SHARE_LONG + 2) * RATE);
	assert_true(share_is_out(&s, h, now_us));
	sent = spend_for(&s, h, &now_us, 60);
	assert_true(sent > 60 * RATE / SHARE_LONG - 2000 && sent < 60 * RATE / SHARE_LONG + 2000);
	/* others are not concerned; what is proven does not count; a while later all is forgotten
	 */
	struct share *other = shares_of(&s, address_of(2));
	assert_true(other == h || share_spend(&s, other, 1000, now_us) == 0);
	share_proven(h, SHARE_LONG * RATE);
	assert_false(share_is_low(&s, h, now_us));
	(void)spend_for(&s, h, &now_us, 60);
	now_us += (int64_t)SHARE_LONG * SHARE_LONG * US_PER_S;
	assert_false(share_is_low(&s, h, now_us));
	shares_free(&s);
}

/* One who is sent long replies, one after the other. */
struct partner {
	const struct shares *shares;
	struct share *share;
	int64_t now_us;
	size_t sent, proven;
	uint16_t last; /* packet that was sent */
	bool asked;    /* for an ack */
};

static int64_t partner_send(void *ctx, const struct ardp_header *h, struct str text)
{
	struct partner *p = ctx;
	int64_t later_us = share_spend(p->shares, p->share, h->n + text.n, p->now_us);
	struct ardp_packet packet;
	assert_true(ardp_parse((struct str){(const char *)h->b, h->n}, &packet));
	if (!later_us) {
		p->sent += h->n + text.n;
		p->last = MAX(p->last, packet.number);
		p->asked = packet.flags & ARDP_ACK;
	}
	return later_us;
}

static struct ardp_out partner_out(struct partner *p, uint64_t *seed)
{
	bool low = share_is_low(p->shares, p->share, p->now_us);
	return (struct ardp_out){partner_send, p, low ? 1 + (unsigned)(dice(seed) % ARDP_DICE) : 0};
}

/* Every 10 ms acknowledges what was received, if that was asked for, or blindly so many more.
 * GUESSES: what was sent or one less, as if all but the throw were known: no forger is better. */
enum { GUESSES = 17 };
static void partner_talks(struct partner *p, uint64_t *seed, unsigned blindly, unsigned seconds)
{
	for (int64_t end_us = p->now_us + seconds * US_PER_S; p->now_us < end_us;) {
		struct ardp_reply r = {.cid = 9, .text = BUF_INIT(1 << 20)};
		for (unsigned i = 0; i < 400; i++) {
			buf_fill(&r.text, 'x', 1200);
			buf_add_byte(&r.text, '\n');
		}
		struct ardp_out out = partner_out(p, seed);
		p->last = 0;
		ardp_reply_begin(&r, p->now_us, &out);
		while (p->now_us < end_us && r.acked < r.total) {
			struct ardp_packet ack = {0};
			p->now_us += 10 * US_PER_MS;
			out = partner_out(p, seed);
			ardp_reply_due(&r, p->now_us, &out);
			if (!blindly && !p->asked)
				continue;
			p->asked = false;
			if (blindly == GUESSES)
				ack.through = (uint16_t)(p->last - (dice(seed) % ARDP_DICE != 0));
			else if (blindly)
				ack.through = (uint16_t)MIN(r.acked + blindly, (unsigned)r.total);
			else
				ack.through = p->last;
			size_t n = ardp_reply_ack(&r, &ack, p->now_us, &out);
			share_proven(p->share, n);
			p->proven += n;
		}
		ardp_reply_free(&r);
	}
}

static void forged_acks_lift_nothing_and_real_ones_everything(void **state)
{
	(void)state;
	uint64_t seed = 7;
	struct shares s;
	shares_init(&s, RATE);
	for (unsigned blindly = 0; blindly <= GUESSES; blindly++) {
		struct partner p = {.shares = &s,
				    .share = shares_of(&s, address_of(1)),
				    .now_us = 1 + (int64_t)(blindly + 1) * 3600 * US_PER_S};
		partner_talks(&p, &seed, blindly, 60);
		size_t most = SHARE_LONG * RATE + 60 * RATE / SHARE_LONG;
		if (blindly)
			assert_true(p.sent - p.proven <= most && p.sent < most * 5 / 4);
		else
			assert_true(p.sent > 10 * most); /* what 16 packets each 10 ms could be */
	}
	shares_free(&s);
}

/* Places */

enum { PLACES = 600 };

struct hall {
	struct shares shares;
	struct crowd crowd;
	struct place place[PLACES];
	size_t n;
};

static struct hall *hall_new(void)
{
	struct hall *h = mem_alloc(sizeof *h);
	shares_init(&h->shares, RATE);
	crowd_init(&h->crowd, CROWD_KEPT);
	return h;
}

static void hall_free(struct hall *h)
{
	shares_free(&h->shares);
	mem_free(&h);
}

/* One more; those who have to go for it are gone then. */
static struct place *hall_add(struct hall *h, struct share *share, enum place_rank rank,
			      uint64_t bytes)
{
	struct place *p = &h->place[h->n++], *other;
	assert_true(h->n <= PLACES);
	*p = (struct place){.share = share, .rank = rank, .bytes = bytes};
	crowd_add(&h->crowd, p);
	while ((other = crowd_excess(&h->crowd, 256, 64 << 20, p)))
		crowd_remove(&h->crowd, other);
	assert_true(h->crowd.n <= 256 && h->crowd.bytes <= 64 << 20);
	return p;
}

/* The n-th of shares that are all different. */
static struct share *share_at(struct hall *h, size_t n)
{
	return &h->shares.share[n];
}

static void one_address_ends_nothing_of_another(void **state)
{
	(void)state;
	for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
		struct hall *h = hall_new();
		struct place *mine[8];
		for (size_t i = 0; i < 8; i++)
			mine[i] = hall_add(h, share_at(h, 1), (enum place_rank)(i % 3), 1000);
		/* though it pretends to receive them */
		for (size_t i = 0; i < 300; i++)
			hall_add(h, share_at(h, 2), PLACE_MOVES, by_bytes ? 4 << 20 : 1000);
		for (size_t i = 0; i < 8; i++)
			assert_true(list_has(&mine[i]->link));
		/* and it is its own that make room, the oldest first */
		struct place *next = hall_add(h, share_at(h, 3), PLACE_BEGUN, 1000);
		assert_true(list_has(&next->link) && !list_has(&h->place[8].link));
		assert_true(list_has(&h->place[h->n - 2].link));
		for (size_t i = 0; i < 8; i++)
			assert_true(list_has(&mine[i]->link));
		hall_free(h);
	}
}

static void many_addresses_do_not_end_what_moves(void **state)
{
	(void)state;
	struct hall *h = hall_new();
	struct place *moves[3], *rests = hall_add(h, share_at(h, 0), PLACE_RESTS, 1000);
	for (size_t i = 0; i < 3; i++)
		moves[i] = hall_add(h, share_at(h, 1), PLACE_MOVES, 1000);
	struct place *begun = hall_add(h, share_at(h, 2), PLACE_BEGUN, 1000);
	for (size_t i = 0; i < 252; i++)
		hall_add(h, share_at(h, 10 + i), PLACE_BEGUN, 1000);
	assert_true(!list_has(&rests->link) && list_has(&begun->link));
	for (size_t i = 0; i < 200; i++)
		hall_add(h, share_at(h, 1000 + i), PLACE_BEGUN, 1000);
	assert_false(list_has(&begun->link));
	for (size_t i = 0; i < 3; i++)
		assert_true(list_has(&moves[i]->link));
	/* where all seem to move, the one that did so last stays longest */
	LIST_EACH (struct place, p, &h->crowd.all, link)
		p->rank = PLACE_MOVES;
	crowd_moved(&h->crowd, moves[1]);
	for (size_t i = 0; i < 2; i++)
		hall_add(h, share_at(h, 2000 + i), PLACE_MOVES, 1000);
	assert_true(!list_has(&moves[0]->link) && list_has(&moves[1]->link) &&
		    !list_has(&moves[2]->link));
	hall_free(h);
}

static void who_waits_makes_room_only_where_an_address_has_many(void **state)
{
	(void)state;
	struct hall *h = hall_new();
	for (size_t i = 0; i < 20; i++)
		hall_add(h, share_at(h, i), PLACE_RESTS, 0);
	for (size_t i = 0; i < SHARE_PLACES - 1; i++)
		hall_add(h, share_at(h, 3), PLACE_RESTS, 0);
	assert_null(crowd_of_most(&h->crowd));
	hall_add(h, share_at(h, 3), PLACE_RESTS, 0);
	assert_true(crowd_has_many(&h->crowd, share_at(h, 3)));
	assert_ptr_equal(crowd_of_most(&h->crowd), &h->place[3]);
	crowd_remove(&h->crowd, &h->place[3]);
	assert_null(crowd_of_most(&h->crowd));
	hall_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_address_has_a_second_of_the_rate_then_the_rate_then_a_part_of_it),
		cmocka_unit_test(forged_acks_lift_nothing_and_real_ones_everything),
		cmocka_unit_test(one_address_ends_nothing_of_another),
		cmocka_unit_test(many_addresses_do_not_end_what_moves),
		cmocka_unit_test(who_waits_makes_room_only_where_an_address_has_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
