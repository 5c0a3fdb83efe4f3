#include "fetch/polite.h"
#include "../dice.h"
#include "polite_unit.h"

static void outcomes_have_names_and_say_what_they_are(void **state)
{
	(void)state;
	for (int i = 0; i < OUTCOME_COUNT; i++) {
		enum outcome o = OUTCOME_COUNT;
		assert_true(outcome_parse(str_of(outcome_name((enum outcome)i)), &o));
		assert_int_equal(o, i);
		assert_false(outcome_is_answer(o) && outcome_is_trouble(o));
		assert_false(outcome_is_ok(o) && outcome_is_trouble(o));
	}
	enum outcome o = OUTCOME_OK;
	assert_false(outcome_parse(STR(""), &o));
	assert_false(outcome_parse(STR("okay"), &o));
	assert_true(outcome_is_site(OUTCOME_SITE_TEMPORARY));
	assert_false(outcome_is_site(OUTCOME_TEMPORARY));
	assert_true(outcome_is_answer(OUTCOME_PERMANENT));
	assert_false(outcome_is_answer(OUTCOME_ROBOTS));
	assert_false(outcome_is_trouble(OUTCOME_CANCELLED));
}

static void a_rate_is_a_delay(void **state)
{
	(void)state;
	assert_int_equal(polite_delay_of_rate(0.1), 10 * S);
	assert_int_equal(polite_delay_of_rate(4), S / 4);
	assert_int_equal(polite_delay_of_rate(0), POLITE_RETRY_MAX_US);
	assert_int_equal(polite_delay_of_rate(-1), POLITE_RETRY_MAX_US);
	assert_int_equal(polite_delay_of_rate(1e-300), POLITE_RETRY_MAX_US);
	assert_int_equal(polite_delay_of_rate(1e300), 0);
}

static void pauses_double_up_to_an_hour(void **state)
{
	(void)state;
	assert_int_equal(polite_pause_us(10 * S, 0), 10 * S);
	assert_int_equal(polite_pause_us(10 * S, 1), 20 * S);
	assert_int_equal(polite_pause_us(10 * S, 3), 80 * S);
	assert_int_equal(polite_pause_us(10 * S, 32), POLITE_PAUSE_MAX_US);
	assert_int_equal(polite_pause_us(0, 0), 0);
	assert_int_equal(polite_pause_us(0, 1), 2 * S);
	assert_int_equal(polite_pause_us(3 * US_PER_H, 5), 3 * US_PER_H);
}

static void the_delay_counts_from_start_to_start(void **state)
{
	(void)state;
	struct polite *p = open_new("delay");
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	polite_end(p, &l, OUTCOME_OK, 0, START + 4 * S);
	assert_int_equal(waits(p, "192.0.2.1", START + 4 * S), 6 * S);
	assert_int_equal(waits(p, "192.0.2.1", START + 10 * S - 1), 1);
	takes(p, "192.0.2.1", START + 10 * S, &l);
	takes(p, "192.0.2.2", START + 10 * S, &l);
	polite_close(&p);
}

static void only_one_is_open_at_a_time(void **state)
{
	(void)state;
	struct polite *p = open_new("one");
	struct lease l, m;
	takes(p, "192.0.2.1", START, &l);
	assert_true(waits(p, "192.0.2.1", START + 60 * S) > 0);
	polite_end(p, &l, OUTCOME_OK, 0, START + 60 * S);
	takes(p, "192.0.2.1", START + 60 * S, &m);
	polite_end(p, &l, OUTCOME_OK, 0, START + 61 * S); /* ended twice: not the other's */
	assert_true(waits(p, "192.0.2.1", START + 80 * S) > 0);
	polite_close(&p);
}

static void as_many_are_open_as_the_rule_says(void **state)
{
	(void)state;
	for (unsigned most = 0; most <= 9; most++) {
		struct polite *p = open_new("many");
		struct polite_rule rule = {.delay_us = 0, .concurrent = most};
		unsigned want = most == 0 ? 1 : MIN(most, 8u), n = 0;
		struct lease l[10];
		while (n < 10 && take(p, "192.0.2.1", &rule, START, &l[n]) == 0)
			n++;
		assert_int_equal(n, want);
		polite_end(p, &l[want / 2], OUTCOME_OK, 0, START);
		assert_int_equal(take(p, "192.0.2.1", &rule, START, &l[want / 2]), 0);
		assert_true(take(p, "192.0.2.1", &rule, START, &l[9]) > 0);
		polite_close(&p);
	}
}

static void a_longer_rule_is_kept_also_after_a_shorter_one(void **state)
{
	(void)state;
	struct polite *p = open_new("longer");
	struct polite_rule brief = {.delay_us = S}, strict = {.delay_us = 60 * S};
	struct lease l;
	assert_int_equal(take(p, "192.0.2.1", &brief, START, &l), 0);
	polite_end(p, &l, OUTCOME_OK, 0, START);
	assert_int_equal(take(p, "192.0.2.1", &strict, START + 2 * S, &l), 58 * S);
	assert_int_equal(take(p, "192.0.2.1", &brief, START + 2 * S, &l), 0);
	polite_end(p, &l, OUTCOME_OK, 0, START + 2 * S);
	assert_int_equal(take(p, "192.0.2.1", &strict, START + 62 * S, &l), 0);
	polite_end(p, &l, OUTCOME_OK, 0, START + 62 * S);
	assert_int_equal(take(p, "192.0.2.1", &brief, START + 64 * S, &l), 58 * S);
	polite_close(&p);
}

static void names_on_one_address_and_one_network_share(void **state)
{
	(void)state;
	struct polite *p = open_new("share");
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	waits(p, "::ffff:192.0.2.1", START);
	takes(p, "2001:db8:1:2::1", START, &l);
	waits(p, "2001:db8:1:2:ffff::9", START);
	takes(p, "2001:db8:1:3::1", START, &l);
	takes(p, "::1", START, &l); /* whose key is 0 */
	waits(p, "::2", START);
	takes(p, "0.0.0.0", START, &l);
	waits(p, "0.0.0.0", START);
	polite_close(&p);
}

static void troubles_double_the_delay_and_answers_halve_it(void **state)
{
	(void)state;
	struct polite *p = open_new("trouble");
	int64_t now = START;
	for (unsigned i = 1; i <= 12; i++) {
		asks(p, "192.0.2.1", i % 2 ? OUTCOME_TEMPORARY : OUTCOME_SITE_TEMPORARY, 0, now);
		int64_t pause = MIN(10 * S << i, POLITE_PAUSE_MAX_US);
		assert_int_equal(waits(p, "192.0.2.1", now + 1), pause);
		now += pause + 1;
	}
	for (unsigned i = 11; i > 0; i--) {
		asks(p, "192.0.2.1", i % 2 ? OUTCOME_PERMANENT : OUTCOME_UNCHANGED, 0, now);
		const struct polite_entry *e = entry_of(p, "192.0.2.1");
		assert_int_equal(polite_troubles(e->meta), i);
		int64_t pause = MIN(10 * S << i, POLITE_PAUSE_MAX_US);
		assert_int_equal(e->next_us, now + pause);
		now += pause;
	}
	asks(p, "192.0.2.1", OUTCOME_OK, 0, now);
	assert_int_equal(waits(p, "192.0.2.1", now + 1), 10 * S - 1);
	polite_close(&p);
}

static void what_says_nothing_of_the_server_changes_nothing(void **state)
{
	(void)state;
	struct polite *p = open_new("nothing");
	asks(p, "192.0.2.1", OUTCOME_TEMPORARY, 0, START);
	asks(p, "192.0.2.1", OUTCOME_CANCELLED, 0, START + 100 * S);
	asks(p, "192.0.2.1", OUTCOME_ROBOTS, 0, START + 200 * S);
	assert_int_equal(polite_troubles(entry_of(p, "192.0.2.1")->meta), 1);
	assert_int_equal(entry_of(p, "192.0.2.1")->next_us, START + 220 * S);
	polite_close(&p);
}

static void failing_together_counts_once(void **state)
{
	(void)state;
	struct polite *p = open_new("together");
	struct polite_rule rule = {.delay_us = S, .concurrent = 8};
	struct lease l[8];
	for (int i = 0; i < 8; i++)
		assert_int_equal(take(p, "192.0.2.1", &rule, START + i * S, &l[i]), 0);
	for (int i = 0; i < 7; i++)
		polite_end(p, &l[i], OUTCOME_TEMPORARY, 0, START + 20 * S);
	polite_end(p, &l[7], OUTCOME_OK, 0, START + 20 * S);
	assert_int_equal(polite_troubles(entry_of(p, "192.0.2.1")->meta), 1);
	assert_int_equal(take(p, "192.0.2.1", &rule, START + 22 * S, &l[0]), 0);
	assert_true(take(p, "192.0.2.1", &rule, START + 40 * S, &l[1]) > 0); /* one at a time */
	polite_close(&p);
}

static void retry_after_is_kept_whatever_else_is_answered(void **state)
{
	(void)state;
	struct polite *p = open_new("retry");
	struct polite_rule two = {.delay_us = S, .concurrent = 2};
	struct lease l, m;
	asks(p, "192.0.2.1", OUTCOME_TEMPORARY, 300 * S, START);
	assert_int_equal(waits(p, "192.0.2.1", START + 1), 300 * S);
	asks(p, "192.0.2.2", OUTCOME_OK, 30 * US_PER_DAY, START);
	assert_int_equal(waits(p, "192.0.2.2", START + 1), US_PER_DAY);
	asks(p, "192.0.2.3", OUTCOME_OK, S, START); /* shorter than the delay */
	assert_int_equal(waits(p, "192.0.2.3", START + 1), 10 * S - 1);
	assert_int_equal(take(p, "192.0.2.4", &two, START, &l), 0);
	assert_int_equal(take(p, "192.0.2.4", &two, START + S, &m), 0);
	polite_end(p, &l, OUTCOME_TEMPORARY, 500 * S, START + 2 * S);
	polite_end(p, &m, OUTCOME_OK, 0, START + 3 * S);
	assert_int_equal(take(p, "192.0.2.4", &two, START + 3 * S, &l), 499 * S);
	polite_close(&p);
}

static void leases_end_by_themselves_unless_renewed(void **state)
{
	(void)state;
	struct polite *p = open_new("expire");
	struct lease l, m;
	takes(p, "192.0.2.1", START, &l);
	waits(p, "192.0.2.1", START + POLITE_LEASE_US - S);
	assert_int_equal(polite_renew(p, &l, START + POLITE_LEASE_US - S), 0);
	waits(p, "192.0.2.1", START + POLITE_LEASE_US + 2 * S);
	takes(p, "192.0.2.1", START + 2 * POLITE_LEASE_US + S, &m);
	assert_int_equal(polite_renew(p, &l, START + 2 * POLITE_LEASE_US + S), 1);
	polite_end(p, &l, OUTCOME_OK, 0, START + 2 * POLITE_LEASE_US + 60 * S);
	waits(p, "192.0.2.1", START + 2 * POLITE_LEASE_US + 60 * S);
	assert_int_equal(polite_renew(p, &m, START + 4 * POLITE_LEASE_US), 1); /* too late */
	polite_close(&p);
}

static void the_delay_counts_from_when_the_request_went_out(void **state)
{
	(void)state;
	struct polite *p = open_new("sent");
	struct lease l, m;
	takes(p, "192.0.2.1", START, &l);
	int64_t delay_us = entry_of(p, "192.0.2.1")->next_us - START;
	assert_int_equal(polite_sent(p, &l, START + 3 * S), 0);
	assert_int_equal(polite_sent(p, &l, START + 2 * S), 0); /* never back */
	polite_end(p, &l, OUTCOME_OK, 0, START + 4 * S);
	waits(p, "192.0.2.1", START + 3 * S + delay_us - 1);
	takes(p, "192.0.2.1", START + 3 * S + delay_us, &m);
	assert_int_equal(polite_sent(p, &l, START + 4 * S + delay_us), 1); /* ended */
	assert_int_equal(polite_sent(p, &m, START + delay_us + 2 * POLITE_LEASE_US), 1);
	polite_close(&p);
}

/* What another machine sent on our behalf is heard of when its answer comes; by then a second
 * request may have gone out, or the server have asked for a pause. */
static void what_went_out_before_makes_nothing_earlier(void **state)
{
	(void)state;
	struct polite *p = open_new("ago");
	struct polite_rule two = {.delay_us = 10 * S, .concurrent = 2};
	struct lease l, m;
	assert_int_equal(take(p, "192.0.2.1", &two, START, &l), 0);
	assert_int_equal(polite_sent(p, &l, START + 8 * S), 0);
	assert_int_equal(take(p, "192.0.2.1", &two, START + 17 * S, &m), S);
	assert_int_equal(take(p, "192.0.2.1", &two, START + 18 * S, &m), 0);
	assert_int_equal(polite_sent(p, &l, START + 9 * S), 0);
	assert_int_equal(entry_of(p, "192.0.2.1")->start_us, START + 18 * S);
	polite_end(p, &l, OUTCOME_OK, 0, START + 20 * S);
	assert_int_equal(take(p, "192.0.2.1", &two, START + 20 * S, &l), 8 * S);
	polite_end(p, &m, OUTCOME_OK, US_PER_DAY, START + 20 * S);
	assert_int_equal(take(p, "192.0.2.1", &two, START + 20 * S, &l), US_PER_DAY);
	assert_int_equal(take(p, "192.0.2.2", &two, START, &l), 0);
	assert_int_equal(take(p, "192.0.2.2", &two, START + 10 * S, &m), 0);
	polite_end(p, &m, OUTCOME_OK, US_PER_DAY, START + 11 * S);
	assert_int_equal(polite_sent(p, &l, START + 4 * S), 0); /* the pause stays */
	assert_int_equal(entry_of(p, "192.0.2.2")->next_us, START + 11 * S + US_PER_DAY);
	polite_close(&p);
}

/* One who holds a server over many requests may be killed before the last. */
static void a_server_that_wants_a_rest_has_it_though_its_lease_goes_on(void **state)
{
	(void)state;
	struct polite *p = open_new("rest");
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	assert_int_equal(polite_rest(p, &l, 60 * S, START + 2 * S), 0);
	assert_int_equal(polite_rest(p, &l, 5 * S, START + 3 * S), 0); /* never shorter */
	assert_int_equal(polite_sent(p, &l, START + 4 * S), 0);        /* it is held as before */
	polite_close(&p);
	p = open_at(scratch("rest"), "a", START, WALL);
	assert_int_equal(waits(p, "192.0.2.1", START + 12 * S), 50 * S);
	takes(p, "192.0.2.1", START + 62 * S, &l);
	assert_int_equal(polite_rest(p, &l, 2 * US_PER_DAY, START + 62 * S), 0); /* not believed */
	assert_int_equal(entry_of(p, "192.0.2.1")->next_us, START + 62 * S + US_PER_DAY);
	polite_end(p, &l, OUTCOME_OK, 0, START + 63 * S);
	assert_int_equal(polite_rest(p, &l, S, START + 64 * S), 1);
	polite_close(&p);
}

/* The job was lost, and nobody knows what became of it. */
static void a_server_rests_without_having_been_in_trouble(void **state)
{
	(void)state;
	struct polite *p = open_new("rests");
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	polite_end(p, &l, OUTCOME_CANCELLED, 60 * S, START + 4 * S);
	assert_int_equal(polite_troubles(entry_of(p, "192.0.2.1")->meta), 0);
	assert_int_equal(waits(p, "192.0.2.1", START + 14 * S), 50 * S);
	takes(p, "192.0.2.1", START + 64 * S, &l);
	polite_end(p, &l, OUTCOME_CANCELLED, S, START + 65 * S); /* shorter than the delay */
	assert_int_equal(waits(p, "192.0.2.1", START + 65 * S), 9 * S);
	asks(p, "192.0.2.2", OUTCOME_TEMPORARY, 0, START);
	takes(p, "192.0.2.2", START + 21 * S, &l);
	polite_end(p, &l, OUTCOME_CANCELLED, 60 * S, START + 22 * S); /* nor out of it */
	assert_int_equal(polite_troubles(entry_of(p, "192.0.2.2")->meta), 1);
	assert_int_equal(waits(p, "192.0.2.2", START + 22 * S), 60 * S);
	polite_close(&p);
}

static void two_processes_keep_each_other_away(void **state)
{
	(void)state;
	struct polite *p = open_new("two"), *q = open_at(scratch("two"), "a", START, WALL);
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	waits(q, "192.0.2.1", START + 20 * S);
	polite_close(&p); /* as if killed: the system closes the file */
	assert_int_equal(waits(q, "192.0.2.1", START + 20 * S), 10 * S);
	takes(q, "192.0.2.1", START + 30 * S, &l);
	p = open_at(scratch("two"), "a", START, WALL); /* in the same place, another generation */
	waits(p, "192.0.2.1", START + 60 * S);
	polite_close(&q);
	q = open_at(scratch("two"), "a", START, WALL);
	waits(q, "192.0.2.1", START + 60 * S);
	takes(q, "192.0.2.1", START + 70 * S, &l);
	polite_close(&p);
	polite_close(&q);
}

/* It may have sent its request long after it had noted it down, and been killed before it saw. */
static void what_the_dead_held_counts_as_asked_when_it_is_found(void **state)
{
	(void)state;
	struct polite *p = open_new("late"), *q = open_at(scratch("late"), "a", START, WALL);
	struct lease l, m;
	takes(q, "192.0.2.1", START, &l);
	takes(q, "192.0.2.2", START, &l);
	assert_int_equal(polite_rest(q, &l, 60 * S, START), 0);
	takes(q, "192.0.2.3", START, &m);
	asks(q, "192.0.2.4", OUTCOME_OK, 0, START);
	polite_close(&q);
	assert_int_equal(waits(p, "192.0.2.1", START + 7 * S), 10 * S);
	assert_int_equal(entry_of(p, "192.0.2.1")->start_us, START + 7 * S);
	assert_int_equal(waits(p, "192.0.2.1", START + 10 * S), 7 * S); /* found once */
	takes(p, "192.0.2.1", START + 17 * S, &l);
	assert_int_equal(waits(p, "192.0.2.2", START + 10 * S), 50 * S); /* never shorter */
	takes(p, "192.0.2.3", START + POLITE_LEASE_US + S, &m);          /* it had ended */
	takes(p, "192.0.2.4", START + 10 * S, &l); /* not held: noted to the end */
	polite_close(&p);
}

static void a_reused_place_does_not_revive_old_leases(void **state)
{
	(void)state;
	struct polite *keep = open_new("reuse"), *p = open_at(scratch("reuse"), "a", START, WALL);
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	polite_close(&p);
	p = open_at(scratch("reuse"), "a", START, WALL);
	waits(keep, "192.0.2.1", START + 20 * S);
	takes(keep, "192.0.2.1", START + 30 * S, &l);
	polite_close(&p);
	polite_close(&keep);
}

static void delays_outlive_all_processes(void **state)
{
	(void)state;
	struct polite *p = open_new("outlive");
	asks(p, "192.0.2.1", OUTCOME_OK, 0, START);
	polite_close(&p);
	p = open_at(scratch("outlive"), "a", START + S, WALL + S);
	assert_int_equal(waits(p, "192.0.2.1", START + S), 9 * S);
	polite_close(&p);
}

static void after_a_start_of_the_machine_plain_delays_count_from_it(void **state)
{
	(void)state;
	struct polite *p = open_new("boot");
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	polite_close(&p);
	p = open_at(scratch("boot"), "b", 3 * S, WALL + 500 * S);
	assert_int_equal(waits(p, "192.0.2.1", 3 * S), 7 * S);
	assert_int_equal(waits(p, "192.0.2.9", 3 * S), 7 * S); /* its entry may have been lost */
	takes(p, "192.0.2.1", 10 * S, &l);
	polite_close(&p);
}

static void after_a_start_of_the_machine_pauses_go_on_by_the_wall_clock(void **state)
{
	(void)state;
	const struct {
		int64_t wall_us, next_us;
	} cases[] = {
		{WALL + 100 * S, 20 * S + 900 * S}, /* 900 s of the pause are left */
		{WALL + 5000 * S, 10 * S},          /* over, but not before the delay */
		{WALL - US_PER_DAY, 1000 * S + 1},  /* a clock that went back: the whole pause */
		{WALL + 999999999 * S, 10 * S},     /* one that jumped */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct polite *p = open_new("wall");
		asks(p, "192.0.2.1", OUTCOME_TEMPORARY, 1000 * S, START);
		polite_close(&p);
		p = open_at(scratch("wall"), "b", 20 * S, cases[i].wall_us);
		waits(p, "192.0.2.1", 1); /* which carries the entry over */
		const struct polite_entry *e = entry_of(p, "192.0.2.1");
		assert_in_range(e->next_us, cases[i].next_us, cases[i].next_us + 1);
		assert_int_equal(e->start_us, 0);
		assert_int_equal(polite_troubles(e->meta), 1);
		polite_close(&p);
	}
}

/* Fills the first group of a table of two; returns how many servers are in it. */
static size_t fill_group(struct polite *p, char (*ret)[ADDR_SHOWN])
{
	size_t n = 0;
	for (unsigned i = 0; i < 1000 && n < POLITE_GROUP; i++) {
		struct lease l;
		snprintf(ret[n], ADDR_SHOWN, "198.51.%u.%u", i / 256, i % 256);
		if (take(p, ret[n], &plain, START, &l) > 0)
			continue;
		n += l.entry < POLITE_GROUP;
		polite_end(p, &l, OUTCOME_OK, 0, START);
	}
	return n;
}

static void a_full_table_waits_and_never_forgets_too_early(void **state)
{
	(void)state;
	struct polite *p = open_new("full");
	char name[POLITE_GROUP][ADDR_SHOWN];
	struct polite_rule rule = {.delay_us = 10 * S};
	struct lease l;
	assert_int_equal(fill_group(p, name), POLITE_GROUP);
	unsigned refused = 0, taken = 0;
	for (unsigned i = 0; i < 400; i++) {
		char other[ADDR_SHOWN];
		snprintf(other, sizeof other, "203.0.113.%u", i % 200);
		int64_t wait = take(p, other, &rule, START + S, &l);
		refused += wait > 0;
		taken += wait == 0;
		for (size_t j = 0; j < POLITE_GROUP; j++)
			waits(p, name[j], START + S);
	}
	assert_true(refused > 0 && taken <= POLITE_GROUP);
	/* when the time of the old ones has come, they make room */
	struct lease held;
	takes(p, name[3], START + 10 * S, &held);
	for (unsigned i = 0; i < 200; i++) {
		char other[ADDR_SHOWN];
		snprintf(other, sizeof other, "203.0.114.%u", i);
		(void)take(p, other, &rule, START + 10 * S, &l);
		waits(p, name[3], START + 30 * S);
	}
	polite_close(&p);
}

static void those_in_trouble_are_forgotten_last(void **state)
{
	(void)state;
	struct polite *p = open_new("last");
	struct lease l;
	int64_t now = START;
	asks(p, "198.51.100.7", OUTCOME_TEMPORARY, 0, now);
	for (unsigned i = 0; i < 250; i++, now += 60 * S) {
		char other[ADDR_SHOWN];
		snprintf(other, sizeof other, "203.0.113.%u", i);
		takes(p, other, now, &l);
		polite_end(p, &l, OUTCOME_OK, 0, now);
	}
	assert_int_equal(polite_troubles(entry_of(p, "198.51.100.7")->meta), 1);
	polite_close(&p);
}

/* As if the process had been stopped while it changes entries. */
static void hold_all(struct polite *p)
{
	for (uint32_t g = 0; g < p->groups; g++)
		assert_true(polite_group_lock(p, g, 0));
}

static void release_all(struct polite *p)
{
	for (uint32_t g = 0; g < p->groups; g++)
		polite_group_unlock(p, g);
}

/* A process that stops while it holds the lock must not stop the others for good, and what they
 * have to say meanwhile is not lost. */
static void a_stopped_process_does_not_stop_the_others(void **state)
{
	(void)state;
	struct polite *p = open_new("stopped"), *q = open_at(scratch("stopped"), "a", START, WALL);
	struct lease l, m;
	takes(p, "192.0.2.1", START, &l);
	takes(p, "192.0.2.9", START, &m);
	hold_all(q);
	waits(p, "192.0.2.2", START);
	polite_end(p, &l, OUTCOME_SITE_TEMPORARY, 500 * S, START);
	assert_int_equal(l.word, 0);
	polite_end(p, &m, OUTCOME_OK, 0, START);
	release_all(q);
	assert_int_equal(waits(p, "192.0.2.1", START + S), 499 * S);
	takes(q, "192.0.2.9", START + 60 * S, &m); /* nothing is held */
	takes(q, "192.0.2.1", START + 500 * S, &l);
	polite_close(&p);
	polite_close(&q);
}

static void an_end_that_could_not_be_said_is_said_at_the_latest_when_it_is_closed(void **state)
{
	(void)state;
	struct polite *p = open_new("late"), *q = open_at(scratch("late"), "a", START, WALL);
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	hold_all(q);
	polite_end(p, &l, OUTCOME_OK, 500 * S, START);
	release_all(q);
	polite_close(&p);
	assert_int_equal(waits(q, "192.0.2.1", START + S), 499 * S);
	polite_close(&q);
}

static void a_lease_that_cannot_be_renewed_now_is_held_until_its_end(void **state)
{
	(void)state;
	struct polite *p = open_new("renew"), *q = open_at(scratch("renew"), "a", START, WALL);
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	hold_all(q);
	assert_int_equal(polite_renew(p, &l, START + POLITE_LEASE_US / 2), 0);
	assert_int_equal(polite_renew(p, &l, START + 2 * POLITE_LEASE_US), 1);
	assert_int_equal(polite_sent(p, &l, START + S), 1); /* but nothing is sent unnoted */
	release_all(q);
	assert_int_equal(polite_renew(p, &l, START + POLITE_LEASE_US / 2 + S), 0);
	polite_close(&p);
	polite_close(&q);
}

static void a_lock_that_somebody_dead_has_is_taken_over(void **state)
{
	(void)state;
	struct polite *p = open_new("dead"), *q = open_at(scratch("dead"), "a", START, WALL);
	struct lease l;
	hold_all(q);
	polite_close(&q); /* which gives back its place and not its locks */
	takes(p, "192.0.2.1", START, &l);
	/* one who took the dead one's place later is not the dead one */
	q = open_at(scratch("dead"), "a", START, WALL);
	uint32_t before = q->me | (q->generation - 1) << POLITE_PROCESS_BITS;
	for (uint32_t g = 0; g < p->groups; g++)
		p->lock[g] = before;
	takes(p, "192.0.2.2", START, &l);
	/* nor do places that nobody ever had, or our own, which we did not take, stop anybody */
	for (uint32_t g = 0; g < p->groups; g++)
		p->lock[g] = UINT64_MAX;
	takes(p, "192.0.2.3", START, &l);
	for (uint32_t g = 0; g < p->groups; g++)
		p->lock[g] = p->me | p->generation << POLITE_PROCESS_BITS;
	takes(p, "192.0.2.4", START, &l);
	polite_close(&p);
	polite_close(&q);
}

static void a_table_that_is_cut_lets_nobody_go(void **state)
{
	(void)state;
	struct polite *p = open_new("cut");
	struct lease l, m;
	takes(p, "192.0.2.1", START, &l);
	assert_false(polite_is_cut(p));
	assert_int_equal(truncate(scratch("cut"), 0), 0);
	assert_int_equal(polite_sent(p, &l, START + S), 1);
	assert_true(take(p, "192.0.2.2", &plain, START + 60 * S, &m) > 0);
	assert_true(polite_is_cut(p));
	polite_end(p, &l, OUTCOME_OK, 0, START + S);
	polite_close(&p);
}

/* Random requests by several processes against the plainest possible bookkeeping. */
static void never_two_at_once_and_never_too_early(void **state)
{
	(void)state;
	enum { PROCESSES = 3, SERVERS = 20, OUT = 40 };
	struct polite *p[PROCESSES] = {open_new("model")};
	for (int i = 1; i < PROCESSES; i++)
		p[i] = open_at(scratch("model"), "a", START, WALL);
	struct {
		struct lease l;
		int process, server; /* server -1: free */
	} out[OUT];
	for (int i = 0; i < OUT; i++)
		out[i].server = -1;
	int64_t last[SERVERS] = {0}, barred[SERVERS] = {0}, now = START;
	unsigned open[SERVERS] = {0}, taken = 0;
	uint64_t seed = 42;
	for (int step = 0; step < 60000; step++, now += (int64_t)(dice(&seed) % (S / 4))) {
		size_t at = dice(&seed) % OUT;
		if (out[at].server >= 0) {
			int s = out[at].server;
			enum outcome o = (enum outcome)(dice(&seed) % OUTCOME_COUNT);
			int64_t retry =
				dice(&seed) % 20 == 0 ? (int64_t)(dice(&seed) % (90 * S)) : 0;
			polite_end(p[out[at].process], &out[at].l, o, retry, now);
			barred[s] = MAX(barred[s], now + retry);
			if (outcome_is_trouble(o))
				barred[s] = MAX(barred[s], now + 2 * S);
			open[s]--;
			out[at].server = -1;
			continue;
		}
		int s = (int)(dice(&seed) % SERVERS), who = (int)(dice(&seed) % PROCESSES);
		struct polite_rule rule = {.delay_us = S, .concurrent = s % 3u};
		char name[ADDR_SHOWN];
		snprintf(name, sizeof name, "192.0.2.%d", s);
		if (take(p[who], name, &rule, now, &out[at].l) > 0)
			continue;
		assert_true(now >= last[s] + S && now >= barred[s]);
		assert_true(open[s] < MAX(1u, s % 3u));
		last[s] = now;
		open[s]++;
		out[at].server = s;
		out[at].process = who;
		taken++;
	}
	assert_true(taken > 1000);
	for (int i = 0; i < PROCESSES; i++)
		polite_close(&p[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcomes_have_names_and_say_what_they_are),
		cmocka_unit_test(a_rate_is_a_delay),
		cmocka_unit_test(pauses_double_up_to_an_hour),
		cmocka_unit_test(the_delay_counts_from_start_to_start),
		cmocka_unit_test(only_one_is_open_at_a_time),
		cmocka_unit_test(as_many_are_open_as_the_rule_says),
		cmocka_unit_test(a_longer_rule_is_kept_also_after_a_shorter_one),
		cmocka_unit_test(names_on_one_address_and_one_network_share),
		cmocka_unit_test(troubles_double_the_delay_and_answers_halve_it),
		cmocka_unit_test(what_says_nothing_of_the_server_changes_nothing),
		cmocka_unit_test(failing_together_counts_once),
		cmocka_unit_test(retry_after_is_kept_whatever_else_is_answered),
		cmocka_unit_test(leases_end_by_themselves_unless_renewed),
		cmocka_unit_test(the_delay_counts_from_when_the_request_went_out),
		cmocka_unit_test(what_went_out_before_makes_nothing_earlier),
		cmocka_unit_test(a_server_that_wants_a_rest_has_it_though_its_lease_goes_on),
		cmocka_unit_test(a_server_rests_without_having_been_in_trouble),
		cmocka_unit_test(two_processes_keep_each_other_away),
		cmocka_unit_test(what_the_dead_held_counts_as_asked_when_it_is_found),
		cmocka_unit_test(a_reused_place_does_not_revive_old_leases),
		cmocka_unit_test(delays_outlive_all_processes),
		cmocka_unit_test(after_a_start_of_the_machine_plain_delays_count_from_it),
		cmocka_unit_test(after_a_start_of_the_machine_pauses_go_on_by_the_wall_clock),
		cmocka_unit_test(a_full_table_waits_and_never_forgets_too_early),
		cmocka_unit_test(those_in_trouble_are_forgotten_last),
		cmocka_unit_test(a_stopped_process_does_not_stop_the_others),
		cmocka_unit_test(
			an_end_that_could_not_be_said_is_said_at_the_latest_when_it_is_closed),
		cmocka_unit_test(a_lease_that_cannot_be_renewed_now_is_held_until_its_end),
		cmocka_unit_test(a_lock_that_somebody_dead_has_is_taken_over),
		cmocka_unit_test(a_table_that_is_cut_lets_nobody_go),
		cmocka_unit_test(never_two_at_once_and_never_too_early),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
