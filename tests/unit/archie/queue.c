#include "archie/search/queue.h"

#include "../dice.h"
#include "../unit.h"
#include "base/clock.h"

static struct queue_item item_of(unsigned niceness, unsigned cost, int64_t arrived_us)
{
	static uint64_t from;
	return (struct queue_item){
		.niceness = niceness, .cost = cost, .arrived_us = arrived_us, .from = ++from};
}

static void costs_are_those_of_the_reference_server(void **state)
{
	static const struct {
		enum archie_what what;
		enum names_type type;
		uint64_t maxhits, offset;
		unsigned cost;
	} t[] = {
		{ARCHIE_FIND, NAMES_EXACT, 1, 0, 100},
		{ARCHIE_FIND, NAMES_EXACT, 95, 0, 100},
		{ARCHIE_FIND, NAMES_EXACT, 150, 49, 199},
		{ARCHIE_FIND, NAMES_SUB, 100, 0, 200},
		{ARCHIE_FIND, NAMES_SUBCASE, 100, 0, 200},
		{ARCHIE_FIND, NAMES_EXACT_SUB, 100, 0, 200},
		{ARCHIE_FIND, NAMES_EXACT_REGEX, 100, 0, 800},
		{ARCHIE_FIND, NAMES_REGEX, 100, 0, 900},
		{ARCHIE_FIND, NAMES_REGEX, 0, 0, 10800},
		{ARCHIE_FIND, NAMES_SUB, UINT64_MAX, UINT64_MAX, 10100},
		{ARCHIE_WHATIS, NAMES_EXACT, 0, 0, 3},
		{ARCHIE_SITES, NAMES_EXACT, 0, 0, 3},
		{ARCHIE_SITE, NAMES_EXACT, 0, 0, 3},
		{ARCHIE_FOLDER, NAMES_EXACT, 0, 0, 3},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		const struct archie_ask ask = {.what = t[i].what,
					       .query = {.type = t[i].type,
							 .maxhits = t[i].maxhits,
							 .offset = t[i].offset}};
		assert_int_equal(queue_cost(&ask), t[i].cost);
		assert_true(t[i].cost <= QUEUE_COST_MOST);
	}
}

static void niceness_counts_first_then_cost_then_arrival(void **state)
{
	struct queue *q = queue_new(100, 100, 100);
	/* in the order in which they should come out */
	struct queue_item item[] = {
		item_of(0, 3, 5),     item_of(0, 100, 9),   item_of(0, 800, 1),
		item_of(0, 10900, 0), item_of(1, 3, 0),     item_of(500, 200, 2),
		item_of(500, 200, 3), item_of(500, 201, 0), item_of(ARCHIE_NICE_MOST, 3, 0),
	};
	static const size_t order[] = {4, 8, 2, 0, 6, 7, 1, 5, 3};
	uint64_t position;
	int64_t eta_us;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		assert_int_equal(queue_put(q, &item[order[i]], 10), QUEUE_OK);
	for (size_t i = 0; i < ARRAY_LEN(item); i++) {
		assert_int_equal(queue_place(q, &item[i], 1, &position, &eta_us), 0);
		assert_int_equal(position, i + 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(item); i++)
		assert_ptr_equal(queue_take(q, false), &item[i]);
	assert_null(queue_take(q, false));
	assert_int_equal(queue_place(q, &item[0], 1, &position, &eta_us), 1);
	queue_free(&q);
}

static void one_that_takes_cheap_requests_only_is_never_given_others(void **state)
{
	struct queue *q = queue_new(100, 100, 100);
	struct queue_item dear = item_of(0, QUEUE_COST_CHEAP + 1, 0),
			  nice = item_of(100, QUEUE_COST_CHEAP, 0);
	(void)state;
	queue_put(q, &dear, 0);
	assert_null(queue_take(q, true));
	queue_put(q, &nice, 0);
	assert_ptr_equal(queue_take(q, true), &nice);
	assert_null(queue_take(q, true));
	/* and one that takes all takes cheap ones too, in their turn */
	queue_put_back(q, &nice, 0);
	assert_ptr_equal(queue_take(q, false), &dear);
	assert_ptr_equal(queue_take(q, false), &nice);
	queue_free(&q);
}

/* One comes and one is served each 100 ms: a queue that never empties. Returns how long the one
 * waited, or -1 if it still does after an hour. */
static int64_t waited_us(unsigned niceness, unsigned cost)
{
	enum { OTHERS = 20, MOST = 36000 };
	struct queue *q = queue_new(1000, 1000, 1000);
	struct queue_item one = item_of(niceness, cost, 0), *other = mem_array(MOST, sizeof *other);
	int64_t now_us = 0, took_us = -1;
	size_t n = 0;
	queue_put(q, &one, 0);
	while (n < MOST && took_us < 0) {
		while (n < MOST && queue_waiting(q) < OTHERS) {
			other[n] = item_of(0, 3, now_us);
			queue_put(q, &other[n++], now_us);
		}
		queue_age(q, now_us);
		if (queue_take(q, false) == &one)
			took_us = now_us;
		now_us += 100 * US_PER_MS;
	}
	queue_free(&q);
	mem_free(&other);
	return took_us;
}

static void a_request_moves_forward_as_it_waits(void **state)
{
	(void)state;
	/* even the nicest and dearest has its turn while usual and cheap ones keep coming */
	int64_t nicest_us = waited_us(ARCHIE_NICE_MOST, QUEUE_COST_MOST);
	assert_true(nicest_us > 5 * QUEUE_AGE_US && nicest_us <= 32 * QUEUE_AGE_US);
	/* and the less nice the sooner */
	int64_t nice_us = waited_us(500, 200), usual_us = waited_us(0, 200);
	assert_true(nice_us < nicest_us && usual_us < nice_us && usual_us >= QUEUE_AGE_US);
}

static void the_nicest_comes_after_all_usual_ones_in_usual_load(void **state)
{
	struct queue *q = queue_new(100, 100, 100);
	struct queue_item nicest = item_of(ARCHIE_NICE_MOST, 3, 0), usual[10];
	(void)state;
	queue_put(q, &nicest, 0);
	for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
		int64_t now_us = (int64_t)i * 3 * US_PER_S;
		usual[i] = item_of(0, QUEUE_COST_MOST, now_us);
		queue_put(q, &usual[i], now_us);
		queue_age(q, now_us);
		assert_ptr_equal(queue_take(q, false), &usual[i]);
	}
	assert_ptr_equal(queue_take(q, false), &nicest);
	queue_free(&q);
}

static void shares_and_room_are_bounded_but_not_for_one_that_comes_back(void **state)
{
	struct queue *q = queue_new(4, 2, 4);
	struct queue_item item[5];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(item); i++)
		item[i] = item_of(0, 100, (int64_t)i);
	item[0].from = item[1].from = item[2].from;
	assert_int_equal(queue_put(q, &item[0], 0), QUEUE_OK);
	assert_int_equal(queue_put(q, &item[1], 0), QUEUE_OK);
	assert_int_equal(queue_put(q, &item[2], 0), QUEUE_SHARE);
	assert_ptr_equal(queue_take(q, true), &item[0]);
	assert_int_equal(queue_put(q, &item[2], 0), QUEUE_OK);
	queue_put_back(q, &item[0], 0);
	assert_int_equal(queue_put(q, &item[3], 0), QUEUE_OK);
	assert_int_equal(queue_put(q, &item[4], 0), QUEUE_FULL);
	queue_remove(q, &item[1]);
	queue_remove(q, &item[1]);
	assert_int_equal(queue_put(q, &item[4], 0), QUEUE_OK);
	assert_ptr_equal(queue_take(q, true), &item[0]);
	assert_ptr_equal(queue_take(q, true), &item[2]);
	queue_free(&q);
}

static void users_have_a_share_whatever_they_say_of_askers(void **state)
{
	struct queue *q = queue_new(100, 2, 3);
	struct queue_item item[8];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(item); i++)
		item[i] = item_of(0, 100, (int64_t)i);
	/* one who names nobody has more than one address has, one who names many no more */
	for (size_t i = 0; i < 4; i++)
		item[i].user = 7, item[i].from = i % 2 ? 0 : item[i].from;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(queue_put(q, &item[i], 0), QUEUE_OK);
	assert_int_equal(queue_put(q, &item[3], 0), QUEUE_USER);
	item[4].user = 8;
	for (size_t i = 4; i < 8; i++)
		assert_int_equal(queue_put(q, &item[i], 0), QUEUE_OK);
	queue_remove(q, &item[1]);
	assert_int_equal(queue_put(q, &item[3], 0), QUEUE_OK);
	queue_free(&q);
}

static void times_are_guessed_from_the_last_ten_of_the_same_cost(void **state)
{
	struct queue *q = queue_new(100, 100, 100);
	struct queue_item item[3];
	uint64_t position;
	int64_t eta_us;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(item); i++) {
		item[i] = item_of(0, 200, (int64_t)i);
		queue_put(q, &item[i], 0);
	}
	for (int i = 0; i < 7; i++)
		queue_served(q, 200, 1000 * US_PER_S);
	for (int i = 0; i < QUEUE_TIMES; i++)
		queue_served(q, 250, (i + 1) * US_PER_S);
	queue_served(q, 900, US_PER_H); /* another bucket */
	assert_int_equal(queue_usual_us(q, 200), 5500 * US_PER_MS);
	assert_int_equal(queue_place(q, &item[2], 1, &position, &eta_us), 0);
	assert_true(position == 3 && eta_us == 3 * 5500 * US_PER_MS);
	assert_int_equal(queue_place(q, &item[2], 2, &position, &eta_us), 0);
	assert_int_equal(eta_us, 2 * 5500 * US_PER_MS);
	assert_int_equal(queue_wait_us(q, 200, 3), 5500 * US_PER_MS);
	assert_int_equal(queue_wait_us(q, 100, 1), 0);
	queue_free(&q);
}

/* A model: all items in one heap of nothing, looked through each time. */

enum { MODEL_MOST = 60 };

struct model_walk {
	struct queue_item *const *want;
	size_t n;
};

static void walk_one(void *ctx, struct queue_item *item, uint64_t position, int64_t eta_us)
{
	struct model_walk *w = ctx;
	(void)eta_us;
	assert_ptr_equal(item, w->want[w->n++]);
	assert_int_equal(position, w->n);
}

static unsigned halved(unsigned v, int64_t *ages)
{
	for (; v && *ages > 0; --*ages)
		v /= 2;
	return v;
}

static bool model_less(const struct queue_item *a, const struct queue_item *b, int64_t at_us)
{
	int64_t ages_a = (at_us - a->arrived_us) / QUEUE_AGE_US;
	int64_t ages_b = (at_us - b->arrived_us) / QUEUE_AGE_US;
	unsigned nice_a = halved(a->niceness, &ages_a), nice_b = halved(b->niceness, &ages_b);
	unsigned cost_a = halved(a->cost, &ages_a), cost_b = halved(b->cost, &ages_b);
	if (nice_a != nice_b)
		return nice_a < nice_b;
	return cost_a != cost_b ? cost_a < cost_b : a->arrived_us < b->arrived_us;
}

static void model_sort(struct queue_item **item, size_t n, int64_t at_us)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && model_less(item[k], item[k - 1], at_us); k--) {
			struct queue_item *t = item[k];
			item[k] = item[k - 1];
			item[k - 1] = t;
		}
}

static void whatever_is_done_the_order_is_that_of_a_plain_sort(void **state)
{
	static const unsigned nice[] = {0, 0, 0, 1, 500, 10000, ARCHIE_NICE_MOST};
	static const unsigned costs[] = {3, 100, 199, 200, 800, 900, 10800};
	struct queue *q = queue_new(MODEL_MOST, MODEL_MOST, MODEL_MOST);
	struct queue_item *in[MODEL_MOST];
	uint64_t seed = 7;
	int64_t now_us = 0;
	size_t n = 0;
	(void)state;
	for (int i = 0; i < (unit_thorough() ? 100000 : 3000); i++) {
		uint64_t what = dice(&seed) % 8;
		now_us += (int64_t)(dice(&seed) % (2 * US_PER_S)) + 1;
		queue_age(q, now_us);
		model_sort(in, n, now_us);
		if (what < 4 && n < MODEL_MOST) {
			struct queue_item *item = mem_alloc(sizeof *item);
			*item = item_of(nice[dice(&seed) % ARRAY_LEN(nice)],
					costs[dice(&seed) % ARRAY_LEN(costs)], now_us);
			assert_int_equal(queue_put(q, item, now_us), QUEUE_OK);
			in[n++] = item;
		} else if (what < 6) {
			bool cheap = what == 4;
			size_t k = 0;
			while (cheap && k < n && in[k]->cost > QUEUE_COST_CHEAP)
				k++;
			struct queue_item *item = queue_take(q, cheap);
			assert_ptr_equal(item, k < n ? in[k] : NULL);
			if (item && dice(&seed) % 4 == 0) {
				queue_put_back(q, item, now_us);
			} else if (item) {
				memmove(&in[k], &in[k + 1], (--n - k) * sizeof *in);
				mem_free(&item);
			}
		} else if (n) {
			size_t k = dice(&seed) % n;
			queue_remove(q, in[k]);
			mem_free(&in[k]);
			memmove(&in[k], &in[k + 1], (--n - k) * sizeof *in);
		}
		model_sort(in, n, now_us);
		struct model_walk w = {.want = in};
		queue_each(q, 2, walk_one, &w);
		assert_int_equal(w.n, n);
	}
	while (n)
		mem_free(&in[--n]);
	queue_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_those_of_the_reference_server),
		cmocka_unit_test(niceness_counts_first_then_cost_then_arrival),
		cmocka_unit_test(one_that_takes_cheap_requests_only_is_never_given_others),
		cmocka_unit_test(a_request_moves_forward_as_it_waits),
		cmocka_unit_test(the_nicest_comes_after_all_usual_ones_in_usual_load),
		cmocka_unit_test(shares_and_room_are_bounded_but_not_for_one_that_comes_back),
		cmocka_unit_test(users_have_a_share_whatever_they_say_of_askers),
		cmocka_unit_test(times_are_guessed_from_the_last_ten_of_the_same_cost),
		cmocka_unit_test(whatever_is_done_the_order_is_that_of_a_plain_sort),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
