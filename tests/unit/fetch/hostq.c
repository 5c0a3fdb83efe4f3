#include "fetch/hostq.h"
#include "hostq_unit.h"

static void one_server_two_urls_the_second_waits_its_delay(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	assert_int_equal(waits(q, START), INT64_MAX);
	push_text(q, 1, 0, "a", 7);
	push_text(q, 1, 0, "b", 8);
	struct hostq_job a = takes(q, START, "a");
	assert_int_equal(a.user, 7);
	assert_int_equal(a.key, server(1));
	assert_int_equal(waits(q, START + 60 * S), INT64_MAX); /* it is out */
	assert_true(hostq_done(q, &a, OUTCOME_OK, START + 4 * S));
	assert_int_equal(waits(q, START + 4 * S), 6 * S);
	struct hostq_job b = takes(q, START + 10 * S, "b");
	assert_true(hostq_done(q, &b, OUTCOME_OK, START + 10 * S));
	assert_int_equal(waits(q, START + 10 * S), INT64_MAX);
	hostq_free(&q);
}

static void the_delay_counts_from_when_the_request_went_out(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	struct hostq_job a = takes(q, START, "a");
	assert_true(hostq_sent(q, &a, START + 3 * S)); /* so long it took to connect */
	assert_true(hostq_done(q, &a, OUTCOME_OK, START + 4 * S));
	assert_int_equal(waits(q, START + 4 * S), 9 * S);
	a = takes(q, START + 13 * S, "b");
	assert_true(hostq_sent(q, &a, START)); /* never earlier */
	assert_true(hostq_done(q, &a, OUTCOME_OK, START + 13 * S));
	assert_false(hostq_sent(q, &a, START + 20 * S));
	push_text(q, 1, 0, "c", 0);
	assert_int_equal(waits(q, START + 13 * S), 10 * S);
	hostq_free(&q);
}

static void an_empty_queue_still_keeps_its_delay(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 0, "a", 0);
	struct hostq_job a = takes(q, START, "a");
	hostq_done(q, &a, OUTCOME_OK, START + S);
	push_text(q, 1, 0, "b", 0);
	assert_int_equal(waits(q, START + 2 * S), 8 * S);
	a = takes(q, START + 10 * S, "b");
	hostq_done(q, &a, OUTCOME_OK, START + 10 * S);
	assert_int_equal(counts(q).queues, 1);
	assert_int_equal(waits(q, START + 20 * S), INT64_MAX);
	assert_int_equal(counts(q).queues, 0); /* forgotten when it could go again */
	push_text(q, 1, 0, "c", 0);
	takes(q, START + 20 * S, "c");
	hostq_free(&q);
}

static void urgent_ones_go_first_and_equals_in_order(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = 0, .concurrent = 100}};
	struct hostq *q = make(&o);
	const unsigned priority[] = {5, 255, 0, 5, 7, 0, 255, 5};
	const char *name[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	for (size_t i = 0; i < ARRAY_LEN(name); i++)
		push_text(q, 1, priority[i], name[i], i);
	const char *want[] = {"c", "f", "a", "d", "h", "e", "b", "g"};
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		takes(q, START, want[i]);
	hostq_free(&q);
}

static void the_queue_that_waited_longest_goes_first(void **state)
{
	(void)state;
	enum { HOSTS = 50, ROUNDS = 20 };
	struct hostq *q = make(&plain);
	unsigned seen[HOSTS] = {0};
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = 0; j < (i + 1) * 10; j++)
			push_text(q, i, 0, "x", i);
	int64_t now = START;
	for (int i = 0; i < HOSTS * 10; i++) {
		struct hostq_job job;
		int64_t wait;
		struct err err;
		while (hostq_take(q, now, &job, &wait, &err) != 0)
			now += wait;
		seen[job.user]++;
		hostq_done(q, &job, OUTCOME_OK, now);
	}
	for (uint32_t i = 0; i < HOSTS; i++)
		assert_int_equal(seen[i], 10);
	hostq_free(&q);
}

static void as_many_are_out_as_the_rule_says(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = S / 2, .concurrent = 3}};
	struct hostq *q = make(&o);
	struct hostq_job job[4];
	for (int i = 0; i < 10; i++)
		push_text(q, 1, 0, "x", 0);
	for (int i = 0; i < 3; i++) {
		job[i] = takes(q, START + i * S / 2, "x");
		assert_true(waits(q, START + i * S / 2) > 0);
	}
	assert_int_equal(waits(q, START + 9 * S), INT64_MAX);
	hostq_done(q, &job[1], OUTCOME_OK, START + 9 * S);
	takes(q, START + 9 * S, "x");
	hostq_free(&q);
}

static void a_queue_can_have_a_rule_of_its_own(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	struct polite_rule fast = {.delay_us = polite_delay_of_rate(2.5), .concurrent = 2};
	hostq_set_rule(q, server(1), &fast); /* has no URLs: nothing happens */
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	push_text(q, 1, 0, "c", 0);
	hostq_set_rule(q, server(1), &fast);
	takes(q, START, "a");
	assert_int_equal(waits(q, START), 400000);
	takes(q, START + 400000, "b");
	assert_int_equal(waits(q, START + S), INT64_MAX);
	hostq_free(&q);
}

static void a_job_is_done_once(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	struct hostq_job a = takes(q, START, "a"), found;
	assert_true(hostq_job_of(q, a.slot, a.turn, &found));
	assert_str(found.payload, "a");
	assert_false(hostq_job_of(q, 0, a.turn, &found));
	assert_false(hostq_job_of(q, 999, a.turn, &found));
	assert_true(hostq_done(q, &a, OUTCOME_OK, START));
	assert_false(hostq_done(q, &a, OUTCOME_OK, START));
	struct hostq_job b = takes(q, START + 10 * S, "b");
	assert_int_equal(b.slot, a.slot);
	assert_false(hostq_done(q, &a, OUTCOME_OK, START)); /* late: it does not free the other */
	assert_false(hostq_put_back(q, &a, START));
	assert_int_equal(counts(q).out, 1);
	hostq_free(&q);
}

static void what_is_put_back_goes_first_and_costs_no_delay(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 3, "a", 5);
	push_text(q, 1, 3, "b", 6);
	struct hostq_job a = takes(q, START, "a");
	assert_true(hostq_put_back(q, &a, START + 3 * S));
	assert_int_equal(counts(q).urls, 2);
	assert_int_equal(waits(q, START), 3 * S);
	a = takes(q, START + 3 * S, "a");
	assert_int_equal(a.user, 5);
	assert_true(hostq_put_back(q, &a, 0));
	push_text(q, 1, 2, "urgent", 0);
	a = takes(q, START + 3 * S, "urgent");
	hostq_done(q, &a, OUTCOME_OK, START + 3 * S);
	a = takes(q, START + 13 * S, "a");
	hostq_done(q, &a, OUTCOME_OK, START + 13 * S);
	takes(q, START + 23 * S, "b");
	hostq_free(&q);
}

static void troubles_make_a_queue_wait_longer_and_answers_shorter(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	for (int i = 0; i < 10; i++)
		push_text(q, 1, 0, "x", 0);
	int64_t now = START;
	for (int i = 1; i <= 3; i++) {
		struct hostq_job job = takes(q, now, "x");
		hostq_done(q, &job, OUTCOME_SITE_TEMPORARY, now);
		assert_int_equal(waits(q, now), 10 * S << i);
		now += 10 * S << i;
	}
	for (int i = 2; i >= 0; i--) {
		struct hostq_job job = takes(q, now, "x");
		hostq_done(q, &job, OUTCOME_OK, now);
		now += waits(q, now);
	}
	struct hostq_job job = takes(q, now, "x");
	hostq_done(q, &job, OUTCOME_OK, now);
	assert_int_equal(waits(q, now), 10 * S);
	hostq_free(&q);
}

static void what_does_not_fit_is_left_over_and_moves_up(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = S}, .queues = 2, .length = 3};
	struct hostq *q = make(&o);
	assert_true(hostq_wants_more(q));
	for (int i = 0; i < 5; i++)
		push_text(q, 1, 0, "one", 0);
	assert_true(hostq_wants_more(q));
	push_text(q, 2, 0, "two", 0);
	push_text(q, 3, 0, "three", 0);
	push_text(q, 4, 0, "four", 0);
	assert_false(hostq_wants_more(q));
	assert_int_equal(counts(q).leftovers, 2 + 1 + 1);
	assert_int_equal(counts(q).active, 2);

	struct hostq_job one = takes(q, START, "one"), two = takes(q, START, "two");
	assert_int_equal(counts(q).leftovers, 4); /* what is out still counts */
	waits(q, START + 10 * S);
	hostq_done(q, &two, OUTCOME_OK, START + 10 * S);
	struct hostq_job three = takes(q, START + 10 * S, "three"); /* in the order of coming */
	hostq_done(q, &one, OUTCOME_OK, START + 10 * S);
	assert_int_equal(counts(q).leftovers, 1 + 1);
	one = takes(q, START + 10 * S, "one");
	assert_int_equal(waits(q, START + 20 * S), INT64_MAX);
	hostq_done(q, &three, OUTCOME_OK, START + 20 * S);
	takes(q, START + 20 * S, "four");
	assert_int_equal(counts(q).leftovers, 1);
	assert_false(hostq_wants_more(q));
	hostq_free(&q);
}

static void without_lengths_nothing_is_left_over(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	for (int i = 0; i < 100; i++)
		push_text(q, 1, 0, "x", 0);
	assert_int_equal(counts(q).leftovers, 0);
	assert_int_equal(hostq_waiting(q, server(1)), 100);
	assert_int_equal(hostq_waiting(q, server(2)), 0);
	hostq_free(&q);
}

static void an_address_that_becomes_known_takes_the_urls_along(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	struct err err;
	qkey unresolved = qkey_special(QKEY_UNRESOLVED, 77, 80);
	assert_int_equal(hostq_push(q, unresolved, 1, STR("a"), 1, &err), 0);
	assert_int_equal(hostq_push(q, unresolved, 1, STR("b"), 2, &err), 0);
	assert_int_equal(hostq_push(q, unresolved, 2, STR("c"), 3, &err), 0);
	assert_int_equal(hostq_rekey(q, unresolved, server(9), &err), 0); /* renamed */
	assert_int_equal(hostq_waiting(q, unresolved), 0);
	assert_int_equal(hostq_waiting(q, server(9)), 3);
	struct hostq_job a = takes(q, START, "a");
	assert_int_equal(a.key, server(9));
	push_text(q, 1, 1, "before", 0);
	assert_int_equal(hostq_rekey(q, server(9), server(1), &err), 0); /* joined */
	assert_int_equal(hostq_waiting(q, server(9)), 0);
	assert_int_equal(hostq_waiting(q, server(1)), 3);
	assert_int_equal(waits(q, START + 10 * S), INT64_MAX); /* "a" is out, of the new one now */
	assert_true(hostq_done(q, &a, OUTCOME_OK, START + 10 * S));
	const char *want[] = {"before", "b", "c"};
	for (int i = 0; i < 3; i++) {
		a = takes(q, START + (10 + 10 * i) * S, want[i]);
		hostq_done(q, &a, OUTCOME_OK, START + (10 + 10 * i) * S);
	}
	assert_int_equal(hostq_rekey(q, server(5), server(6), &err), 0); /* nothing there */
	assert_int_equal(counts(q).urls, 0);
	hostq_free(&q);
}

static void too_long_a_payload_is_refused_and_an_empty_one_is_fine(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	struct err err;
	char *big = mem_alloc(HOSTQ_PAYLOAD_MAX + 1);
	assert_true(hostq_push(q, server(1), 0, (struct str){big, HOSTQ_PAYLOAD_MAX + 1}, 0, &err) <
		    0);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(
		hostq_push(q, server(1), 0, (struct str){big, HOSTQ_PAYLOAD_MAX}, UINT64_MAX, &err),
		0);
	assert_int_equal(hostq_push(q, server(2), 0, STR(""), 0, &err), 0);
	struct hostq_job job;
	int64_t wait;
	assert_int_equal(hostq_take(q, START, &job, &wait, &err), 0);
	assert_int_equal(job.payload.n + (job.key == server(2) ? HOSTQ_PAYLOAD_MAX : 0),
			 HOSTQ_PAYLOAD_MAX);
	mem_free(&big);
	hostq_free(&q);
}

static const struct hostq_options urgent_first = {.rule = {.delay_us = 10 * S, .concurrent = 1},
						  .urgent = true};

static void the_most_urgent_head_goes_first_and_of_equals_who_waited_longest(void **state)
{
	(void)state;
	struct hostq *q = make(&urgent_first);
	struct hostq_job job;
	const char *first[] = {"a1", "b1", "c1"}, *second[] = {"a2", "b2", "c2"};
	for (uint32_t i = 0; i < 3; i++) {
		push_text(q, i, 9, first[i], 0);
		push_text(q, i, i == 2 ? 4 : 9, second[i], 0);
	}
	job = takes(q, START, "c2");
	hostq_done(q, &job, OUTCOME_OK, START);
	for (int i = 0; i < 2; i++) { /* both as urgent, and both new */
		int64_t wait;
		struct err err;
		assert_int_equal(hostq_take(q, START + (1 + i) * S, &job, &wait, &err), 0);
		assert_int_equal(job.priority, 9);
		hostq_done(q, &job, OUTCOME_OK, START + (1 + i) * S);
	}
	assert_int_equal(waits(q, START + 2 * S), 8 * S);
	uint32_t later = job.key == server(0) ? 0 : 1;
	takes(q, START + 100 * S, "c1"); /* all are ready: in the order of their times */
	takes(q, START + 100 * S, second[1 - later]);
	takes(q, START + 100 * S, second[later]);
	hostq_free(&q);
}

static void of_equals_one_whose_connection_may_be_open_goes_before_new_ones(void **state)
{
	(void)state;
	struct hostq_options o = urgent_first;
	o.keep_us = 15 * S;
	struct hostq *q = make(&o);
	struct hostq_job job;
	push_text(q, 0, 9, "a", 0);
	push_text(q, 0, 9, "a", 0);
	push_text(q, 0, 9, "a", 0);
	job = takes(q, START, "a");
	hostq_done(q, &job, OUTCOME_OK, START);
	push_text(q, 1, 9, "b", 0); /* ready at once, so it waits longer than the first */
	job = takes(q, START + 10 * S, "a");
	hostq_done(q, &job, OUTCOME_OK, START + 10 * S);
	push_text(q, 2, 8, "c", 0);
	takes(q, START + 26 * S, "c"); /* urgency counts before connections */
	takes(q, START + 26 * S, "b"); /* that of the first is closed by now */
	takes(q, START + 26 * S, "a");
	hostq_free(&q);
}

static void what_comes_or_is_put_back_makes_a_ready_queue_urgent_at_once(void **state)
{
	(void)state;
	struct hostq *q = make(&urgent_first);
	struct err err;
	push_text(q, 1, 5, "a", 0);
	push_text(q, 2, 6, "b", 0);
	push_text(q, 3, 7, "c", 0);
	push_text(q, 4, 8, "d", 0);
	struct hostq_job a = takes(q, START, "a");
	push_text(q, 3, 1, "urgent", 0); /* of a queue that waits for its turn */
	struct hostq_job urgent = takes(q, START, "urgent");
	assert_true(hostq_put_back(q, &urgent, 0));
	urgent = takes(q, START, "urgent");
	assert_true(hostq_put_back(q, &urgent, START + 5 * S)); /* not before */
	assert_true(hostq_put_back(q, &a, 0));
	a = takes(q, START, "a");
	hostq_done(q, &a, OUTCOME_OK, START);
	assert_int_equal(hostq_rekey(q, server(3), server(4), &err), 0); /* the later time holds */
	takes(q, START, "b");
	assert_int_equal(waits(q, START), 5 * S);
	urgent = takes(q, START + 5 * S, "urgent");
	assert_int_equal(urgent.key, server(4));
	hostq_free(&q);
}

static void a_queue_that_cannot_go_lets_less_urgent_ones_go(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = 0, .concurrent = 2}, .urgent = true};
	struct hostq *q = make(&o);
	for (int i = 0; i < 3; i++)
		push_text(q, 1, 0, "urgent", 0);
	push_text(q, 2, 200, "b", 0);
	push_text(q, 3, 201, "c", 0);
	struct hostq_job first = takes(q, START, "urgent"), second = takes(q, START, "urgent");
	takes(q, START, "b");
	assert_true(hostq_done(q, &first, OUTCOME_SITE_TEMPORARY, START)); /* one at a time, and
									      later */
	takes(q, START, "c");
	assert_int_equal(waits(q, START), INT64_MAX);
	assert_true(hostq_unasked(q, &second));
	assert_int_equal(waits(q, START), 2 * S);
	takes(q, START + 2 * S, "urgent");
	hostq_free(&q);
}

/* Its queue has others, and room for one more: nobody was asked, so that one may go at once. */
static void what_was_not_asked_for_holds_up_no_other_of_its_server(void **state)
{
	struct hostq_options o = plain;
	(void)state;
	o.rule.concurrent = 2;
	for (int urgent = 0; urgent < 2; urgent++) {
		o.urgent = urgent;
		struct hostq *q = make(&o);
		push_text(q, 1, 0, "a", 0);
		push_text(q, 1, 0, "b", 0);
		struct hostq_job a = takes(q, START, "a");
		assert_true(hostq_unasked(q, &a));
		struct hostq_job b = takes(q, START, "b");
		push_text(q, 1, 0, "c", 0);
		assert_true(hostq_put_back(q, &b, START + S));
		takes(q, START + S, "b");
		hostq_free(&q);
	}
}

static void what_is_lost_goes_first_again_and_the_delay_holds(void **state)
{
	struct hostq_options o = plain;
	(void)state;
	o.turn = 41;
	struct hostq *q = make(&o);
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	struct hostq_job a = takes(q, START, "a"), again;
	assert_int_equal(a.turn, 42);
	assert_true(hostq_lost(q, &a));
	assert_false(hostq_lost(q, &a));
	assert_int_equal(waits(q, START + S), 9 * S); /* its server may have been asked */
	again = takes(q, START + 10 * S, "a");
	assert_int_equal(again.slot, a.slot);
	assert_int_equal(again.turn, 43);
	assert_false(hostq_done(q, &a, OUTCOME_OK, START + 11 * S)); /* that was the other one */
	assert_true(hostq_done(q, &again, OUTCOME_OK, START + 11 * S));
	takes(q, START + 20 * S, "b");
	hostq_free(&q);
}

static void of_a_queue_that_is_held_nothing_goes_out(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	hostq_hold(q, server(1), true); /* there is no such queue */
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	push_text(q, 2, 0, "c", 0);
	hostq_hold(q, server(1), true);
	struct hostq_job c = takes(q, START, "c");
	assert_int_equal(waits(q, START + 60 * S), INT64_MAX);
	push_text(q, 1, 0, "d", 0);
	assert_int_equal(waits(q, START + 60 * S), INT64_MAX);
	assert_true(hostq_done(q, &c, OUTCOME_OK, START + 60 * S));
	hostq_hold(q, server(1), false);
	c = takes(q, START + 61 * S, "a");
	hostq_hold(q, server(1), true); /* what is out is out */
	assert_true(hostq_done(q, &c, OUTCOME_OK, START + 62 * S));
	assert_int_equal(waits(q, START + 90 * S), INT64_MAX);
	hostq_hold(q, server(1), false);
	takes(q, START + 90 * S, "b");
	hostq_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_asked_for_holds_up_no_other_of_its_server),
		cmocka_unit_test(what_is_lost_goes_first_again_and_the_delay_holds),
		cmocka_unit_test(of_a_queue_that_is_held_nothing_goes_out),
		cmocka_unit_test(one_server_two_urls_the_second_waits_its_delay),
		cmocka_unit_test(the_delay_counts_from_when_the_request_went_out),
		cmocka_unit_test(an_empty_queue_still_keeps_its_delay),
		cmocka_unit_test(urgent_ones_go_first_and_equals_in_order),
		cmocka_unit_test(the_queue_that_waited_longest_goes_first),
		cmocka_unit_test(as_many_are_out_as_the_rule_says),
		cmocka_unit_test(a_queue_can_have_a_rule_of_its_own),
		cmocka_unit_test(a_job_is_done_once),
		cmocka_unit_test(what_is_put_back_goes_first_and_costs_no_delay),
		cmocka_unit_test(troubles_make_a_queue_wait_longer_and_answers_shorter),
		cmocka_unit_test(what_does_not_fit_is_left_over_and_moves_up),
		cmocka_unit_test(without_lengths_nothing_is_left_over),
		cmocka_unit_test(an_address_that_becomes_known_takes_the_urls_along),
		cmocka_unit_test(the_most_urgent_head_goes_first_and_of_equals_who_waited_longest),
		cmocka_unit_test(of_equals_one_whose_connection_may_be_open_goes_before_new_ones),
		cmocka_unit_test(what_comes_or_is_put_back_makes_a_ready_queue_urgent_at_once),
		cmocka_unit_test(a_queue_that_cannot_go_lets_less_urgent_ones_go),
		cmocka_unit_test(too_long_a_payload_is_refused_and_an_empty_one_is_fine),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
