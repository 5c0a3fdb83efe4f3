/* Turns of providers, on a clock of numbers. */
#include "cache/qm/turns.h"

#include "../unit.h"
#include "cache/db.h"

#define S US_PER_S

static const struct turns_options options = {
	.wheel_slots = 900,
	.wheel_step_us = 4 * S,
	.site_wait_us = 60 * S,
	.retry_wait_us = 600 * S,
	.stay = 3,
};
static struct turns *t;
static int64_t now;

static int begin(void **state)
{
	(void)state;
	now = 1000 * S;
	t = turns_new(&options, now);
	return 0;
}

static int end(void **state)
{
	(void)state;
	turns_free(&t);
	return 0;
}

static struct turn next_turn(void)
{
	struct turn turn;
	assert_int_equal(0, turns_next(t, now, &turn));
	return turn;
}

static void nobody(void)
{
	struct turn turn;
	assert_int_equal(1, turns_next(t, now, &turn));
}

/* Whose turn it is; its row is out then. */
static uint64_t send_next(void)
{
	struct turn turn = next_turn();
	turns_sent(t, &turn, 1, now);
	return turn.provider;
}

static void answer(uint64_t provider, uint64_t bytes)
{
	assert_int_equal(0, turns_ended(t, provider, TURN_ANSWERED, bytes, now));
}

static void a_provider_has_one_url_out_at_a_time(void **state)
{
	(void)state;
	assert_true(turns_add(t, 7, 1, DB_NOW, false));
	assert_false(turns_add(t, 7, 1, DB_NOW, false));
	assert_int_equal(7, send_next());
	nobody();
	turns_add(t, 7, 2, DB_NOW, false);
	nobody();
	answer(7, 0);
	assert_int_equal(7, send_next());
}

static void parts_go_by_set_and_bad_ones_last_of_their_set(void **state)
{
	(void)state;
	turns_add(t, 7, 2, DB_NOW, false);
	turns_add(t, 7, 1, DB_BAD, true);
	turns_add(t, 7, 1, 5, false);
	turns_add(t, 7, 1, DB_NOW, false);
	const struct {
		uint64_t set;
		int64_t slot;
	} order[] = {{1, DB_NOW}, {1, 5}, {1, DB_BAD}, {2, DB_NOW}};
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct turn turn = next_turn();
		assert_int_equal(order[i].set, turn.set);
		assert_int_equal(order[i].slot, turn.slot);
		turns_passed(t, &turn);
	}
	nobody();
}

static void a_higher_priority_takes_over_after_a_url(void **state)
{
	(void)state;
	turns_contract(t, 1, 0, 0);
	turns_contract(t, 2, 5, 0);
	turns_add(t, 1, 1, DB_NOW, false);
	assert_int_equal(1, send_next());
	turns_add(t, 2, 2, DB_NOW, false);
	answer(1, 0);
	assert_int_equal(2, send_next());
	assert_int_equal(1, send_next());
	answer(1, 0);
	answer(2, 0);
	/* a priority counts at once, also of those that wait */
	turns_contract(t, 1, 6, 0);
	assert_int_equal(1, send_next());
}

static void equals_take_turns_after_their_stay(void **state)
{
	(void)state;
	static const uint64_t order[] = {1, 1, 1, 2, 2, 2, 1, 1, 1, 2};
	turns_add(t, 1, 1, DB_NOW, false);
	turns_add(t, 2, 2, DB_NOW, false);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		assert_int_equal(order[i], send_next());
		answer(order[i], 0);
	}
}

static void bandwidth_holds_over_many_urls(void **state)
{
	(void)state;
	struct turn turn;
	int64_t begun = now;
	uint64_t bytes = 0;
	turns_contract(t, 1, 0, 1000);
	turns_add(t, 1, 1, DB_NOW, false);
	for (int urls = 0; urls < 500; urls++) {
		while (turns_next(t, now, &turn) == 1) {
			int64_t due = turns_due_us(t, now);
			assert_true(due > now && due <= now + 900 * 4 * S);
			now = due;
		}
		turns_sent(t, &turn, 1, now);
		now += S / 10;
		answer(1, 100 + (uint64_t)urls % 7 * 1000);
		bytes += 100 + (uint64_t)urls % 7 * 1000;
	}
	double rate = (double)bytes / ((double)(now - begun) / 1e6);
	assert_true(rate > 980 && rate < 1020);
	/* no bandwidth: it goes on at once */
	answer(1, 0);
	turns_contract(t, 1, 0, 0);
	turns_wake(t, 1);
	assert_int_equal(1, send_next());
}

static void what_waits_longer_than_the_wheel_is_told(void **state)
{
	(void)state;
	turns_contract(t, 1, 0, 10);
	turns_add(t, 1, 1, DB_NOW, false);
	assert_int_equal(1, send_next());
	assert_true(turns_ended(t, 1, TURN_ANSWERED, 35000, now) == 0); /* 3500 s */
	nobody();
	now += 3600 * S;
	assert_int_equal(1, send_next());
	int64_t until = turns_ended(t, 1, TURN_ANSWERED, 36010, now);
	/* it may have used a step before it asked */
	assert_int_equal(now - 4 * S + 3601 * S, until);
	assert_true(until == turns_wait(t, 1, now));
	turns_clear(t, 1, NULL, NULL);
	nobody();
	assert_int_equal(INT64_MAX, turns_due_us(t, now));
}

static void errors_of_the_site_double_the_wait(void **state)
{
	(void)state;
	turns_add(t, 1, 1, DB_NOW, false);
	for (int64_t wait = 60; wait <= 1920; wait *= 2) {
		assert_int_equal(1, send_next());
		assert_int_equal(0, turns_ended(t, 1, TURN_SITE, 0, now));
		now += wait * S - 1;
		nobody();
		now += 4 * S + 1; /* to the next step */
	}
	assert_int_equal(1, send_next());
	assert_int_equal(now + 3840 * S, turns_ended(t, 1, TURN_SITE, 0, now));
	/* what comes meanwhile has to wait, too, and an answer ends it */
	assert_int_equal(now + 3840 * S, turns_wait(t, 1, now));
	now += 3845 * S;
	assert_int_equal(1, send_next());
	answer(1, 0);
	assert_int_equal(1, send_next());
	assert_int_equal(0, turns_ended(t, 1, TURN_SITE, 0, now));
	now += 64 * S;
	assert_int_equal(1, send_next());
}

static void bad_ones_rest_before_each_pass(void **state)
{
	(void)state;
	turns_add(t, 1, 1, DB_BAD, false);
	turns_add(t, 1, 2, DB_NOW, false);
	struct turn turn = next_turn();
	assert_true(turn.set == 1 && turn.waits);
	assert_int_equal(0, turns_rest(t, &turn, 2, now)); /* 20 min */
	turn = next_turn();
	assert_int_equal(2, turn.set);
	turns_passed(t, &turn);
	nobody();
	now += 1199 * S;
	nobody();
	now += 5 * S;
	turn = next_turn();
	assert_true(turn.set == 1 && !turn.waits && turn.after == 0);
	turns_sent(t, &turn, 40, now);
	answer(1, 0);
	turn = next_turn();
	assert_int_equal(40, turn.after);
	turns_passed(t, &turn);
	turn = next_turn();
	assert_true(turn.waits && turn.after == 0);
	/* 10 min, doubled four times, is beyond the wheel */
	assert_int_equal(now + 9600 * S, turns_rest(t, &turn, 5, now));
	nobody();
	/* and it has waited when it comes back from its slot */
	turns_add(t, 1, 1, DB_BAD, true);
	assert_false(next_turn().waits);
}

static void an_error_of_the_site_does_not_pass_over_a_bad_row(void **state)
{
	(void)state;
	turns_add(t, 1, 1, DB_BAD, true);
	struct turn turn = next_turn();
	turns_sent(t, &turn, 40, now);
	turns_ended(t, 1, TURN_SITE, 0, now);
	now += 70 * S;
	assert_int_equal(39, next_turn().after);
}

static void hours_hold_a_provider(void **state)
{
	(void)state;
	turns_add(t, 1, 1, DB_NOW, false);
	assert_int_equal(0, turns_hold(t, 1, now + 100 * S, now));
	nobody();
	assert_int_equal(now + 100 * S, turns_due_us(t, now));
	turns_wake(t, 1);
	assert_int_equal(1, next_turn().provider);
	assert_int_equal(now + 7200 * S, turns_hold(t, 1, now + 7200 * S, now));
}

static void a_provider_that_is_gone_may_still_have_a_url_out(void **state)
{
	(void)state;
	struct turns_counts counts;
	turns_add(t, 1, 1, DB_NOW, false);
	turns_add(t, 1, 2, DB_NOW, false);
	assert_int_equal(1, send_next());
	turns_forget(t, 1);
	turns_counts(t, &counts);
	assert_true(counts.out == 1 && counts.parts == 0);
	answer(1, 5);
	turns_forget(t, 1);
	nobody();
	turns_counts(t, &counts);
	assert_true(counts.out == 0 && counts.ready == 0);
}

#define A(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A(a_provider_has_one_url_out_at_a_time),
		A(parts_go_by_set_and_bad_ones_last_of_their_set),
		A(a_higher_priority_takes_over_after_a_url),
		A(equals_take_turns_after_their_stay),
		A(bandwidth_holds_over_many_urls),
		A(what_waits_longer_than_the_wheel_is_told),
		A(errors_of_the_site_double_the_wait),
		A(bad_ones_rest_before_each_pass),
		A(an_error_of_the_site_does_not_pass_over_a_bad_row),
		A(hours_hold_a_provider),
		A(a_provider_that_is_gone_may_still_have_a_url_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
