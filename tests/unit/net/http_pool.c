#include "net/http_pool.h"

#include "../unit.h"

#include <pthread.h>

/* Jobs wait until they are let go. */
struct gated {
	struct http_job job;
	pthread_mutex_t *gate;
	int *done; /* atomic */
};

static void pass(struct http_job *job)
{
	struct gated *g = (struct gated *)job;
	pthread_mutex_lock(g->gate);
	pthread_mutex_unlock(g->gate);
	__atomic_add_fetch(g->done, 1, __ATOMIC_RELAXED);
}

static void more_than_the_queue_holds_is_not_promised(void **state)
{
	struct http_pool *pool;
	struct err err;
	struct gated job[5];
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	(void)state;
	assert_int_equal(http_pool_new(&pool, 2, 3, &err), 0);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < 5; i++) {
		job[i] = (struct gated){{.run = pass}, &gate, &done};
		assert_true(http_pool_claim(pool));
		http_pool_post(pool, &job[i].job);
	}
	assert_false(http_pool_claim(pool));
	pthread_mutex_unlock(&gate);
	http_pool_drain(pool);
	assert_int_equal(done, 5);
	assert_false(http_pool_claim(pool));
	http_pool_free(&pool);
	assert_null(pool);
	http_pool_free(&pool);
}

static void places_are_given_again(void **state)
{
	struct http_pool *pool;
	struct err err;
	struct gated job[200];
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	(void)state;
	assert_int_equal(http_pool_new(&pool, 3, 1, &err), 0);
	for (int i = 0; i < 200; i++) {
		job[i] = (struct gated){{.run = pass}, &gate, &done};
		while (!http_pool_claim(pool))
			;
		http_pool_post(pool, &job[i].job);
	}
	http_pool_free(&pool);
	assert_int_equal(done, 200);
}

static void a_pool_that_did_nothing_ends(void **state)
{
	struct http_pool *pool;
	struct err err;
	(void)state;
	assert_int_equal(http_pool_new(&pool, 4, 1, &err), 0);
	http_pool_free(&pool);
	assert_null(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_the_queue_holds_is_not_promised),
		cmocka_unit_test(places_are_given_again),
		cmocka_unit_test(a_pool_that_did_nothing_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
