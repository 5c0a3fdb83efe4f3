#include "base/pool.h"

#include "../unit.h"

#include <pthread.h>
#include <sched.h>

/* Jobs wait until they are let go. */
struct gated {
	struct pool_job job;
	pthread_mutex_t *gate;
	int *done; /* atomic */
};

static void pass(struct pool_job *job)
{
	struct gated *g = (struct gated *)job;
	pthread_mutex_lock(g->gate);
	pthread_mutex_unlock(g->gate);
	__atomic_add_fetch(g->done, 1, __ATOMIC_RELAXED);
}

static void more_than_the_queue_holds_is_not_promised(void **state)
{
	struct pool *pool;
	struct err err;
	struct gated job[5];
	struct pool_job one_more = {.run = pass};
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	(void)state;
	assert_int_equal(pool_new(&pool, &(struct pool_options){.threads = 2, .queue = 3}, &err),
			 0);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < 5; i++) {
		job[i] = (struct gated){{.run = pass}, &gate, &done};
		assert_true(pool_claim(pool, &job[i].job));
		pool_post(pool, &job[i].job);
	}
	assert_false(pool_claim(pool, &one_more));
	pthread_mutex_unlock(&gate);
	pool_drain(pool);
	assert_int_equal(done, 5);
	assert_false(pool_claim(pool, &one_more));
	pool_free(&pool);
	assert_null(pool);
	pool_free(&pool);
}

static void places_are_given_again(void **state)
{
	struct pool *pool;
	struct err err;
	struct gated job[200];
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	(void)state;
	assert_int_equal(pool_new(&pool, &(struct pool_options){.threads = 3, .queue = 1}, &err),
			 0);
	for (int i = 0; i < 200; i++) {
		job[i] = (struct gated){{.run = pass}, &gate, &done};
		while (!pool_claim(pool, &job[i].job))
			;
		pool_post(pool, &job[i].job);
	}
	pool_free(&pool);
	assert_int_equal(done, 200);
}

static void a_pool_that_did_nothing_ends(void **state)
{
	struct pool *pool;
	struct err err;
	(void)state;
	assert_int_equal(pool_new(&pool, &(struct pool_options){.threads = 4, .queue = 1}, &err),
			 0);
	pool_free(&pool);
	assert_null(pool);
}

/* Jobs of one thread, in the order in which they were done. */
struct noted {
	struct pool_job job;
	pthread_mutex_t *gate;
	char name, **end;
};

static void note(struct pool_job *job)
{
	struct noted *n = (struct noted *)job;
	pthread_mutex_lock(n->gate);
	*(*n->end)++ = n->name;
	pthread_mutex_unlock(n->gate);
}

static void clients_take_turns(void **state)
{
	static const struct {
		char name;
		uint64_t client;
	} asked[] = {{'-', 9}, {'a', 1}, {'b', 1}, {'c', 1}, {'x', 2}, {'y', 2}, {'0', 0}};
	struct pool *pool;
	struct err err;
	struct noted job[ARRAY_LEN(asked)];
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	char done[ARRAY_LEN(asked) + 1] = "", *end = done;
	(void)state;
	assert_int_equal(pool_new(&pool, &(struct pool_options){.threads = 1}, &err), 0);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		job[i] = (struct noted){
			{.run = note, .client = asked[i].client}, &gate, asked[i].name, &end};
		pool_post(pool, &job[i].job);
	}
	pthread_mutex_unlock(&gate);
	pool_free(&pool);
	/* the first may have been taken before or after the others came */
	assert_string_equal(done, "-ax0byc");
}

static void one_client_has_no_more_than_its_share(void **state)
{
	struct pool *pool;
	struct err err;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	struct gated job[4];
	(void)state;
	const struct pool_options options = {.threads = 1, .queue = 9, .share = 2};
	assert_int_equal(pool_new(&pool, &options, &err), 0);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < ARRAY_LEN(job); i++) {
		job[i] = (struct gated){{.run = pass, .client = i < 3 ? 7 : 8}, &gate, &done};
		bool granted = pool_claim(pool, &job[i].job);
		assert_int_equal(granted, i != 2);
		if (granted)
			pool_post(pool, &job[i].job);
	}
	pthread_mutex_unlock(&gate);
	pool_drain(pool);
	pool_free(&pool);
	assert_int_equal(done, 3);
}

static void jobs_beyond_take_nobodys_place(void **state)
{
	struct pool *pool;
	struct err err;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	struct gated job[6];
	(void)state;
	const struct pool_options options = {.threads = 1, .queue = 1, .share = 1};
	assert_int_equal(pool_new(&pool, &options, &err), 0);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < ARRAY_LEN(job); i++) {
		job[i] = (struct gated){
			{.run = pass, .client = 7, .beyond = i < 4 && i > 0}, &gate, &done};
		if (i > 0)
			assert_int_equal(pool_claim(pool, &job[i].job), i < 5);
		if (i < 5)
			pool_post(pool, &job[i].job); /* the first without a claim */
	}
	pthread_mutex_unlock(&gate);
	pool_drain(pool);
	assert_int_equal(done, 5);
	job[5].job.beyond = true;
	assert_false(pool_claim(pool, &job[5].job)); /* the pool ends */
	pool_free(&pool);
}

/* Of two threads one client has only one, so the other client's job is done while all of the
 * first's wait for the gate. */
static void one_client_does_not_have_all_threads(void **state)
{
	struct pool *pool;
	struct err err;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, open = PTHREAD_MUTEX_INITIALIZER;
	int held = 0, done = 0;
	struct gated job[4];
	(void)state;
	const struct pool_options options = {.threads = 2, .abreast = 1};
	assert_int_equal(pool_new(&pool, &options, &err), 0);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < 3; i++) {
		job[i] = (struct gated){{.run = pass, .client = 7}, &gate, &held};
		pool_post(pool, &job[i].job);
	}
	job[3] = (struct gated){{.run = pass, .client = 8, .kept = true}, &open, &done};
	pool_post(pool, &job[3].job);
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(held, 0);
	pthread_mutex_unlock(&gate);
	pool_free(&pool);
	assert_int_equal(held, 3);
}

/* Jobs that may be given up while they wait. */
struct fickle {
	struct pool_job job;
	bool gone;
	int *ran, *dropped; /* atomic */
};

static bool is_gone(const struct pool_job *job)
{
	return ((const struct fickle *)job)->gone;
}

static void run_fickle(struct pool_job *job)
{
	struct fickle *f = (struct fickle *)job;
	__atomic_add_fetch(job->dropped ? f->dropped : f->ran, 1, __ATOMIC_RELAXED);
}

static void what_nobody_wants_gives_its_place_away_and_is_not_done(void **state)
{
	struct pool *pool;
	struct err err;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	int done = 0, ran = 0, dropped = 0;
	struct gated held = {{.run = pass}, &gate, &done};
	struct fickle job[5];
	(void)state;
	const struct pool_options options = {.threads = 1, .queue = 2};
	assert_int_equal(pool_new(&pool, &options, &err), 0);
	pthread_mutex_lock(&gate);
	assert_true(pool_claim(pool, &held.job));
	pool_post(pool, &held.job);
	for (size_t i = 0; i < 5; i++)
		job[i] = (struct fickle){{.run = run_fickle, .unwanted = is_gone, .client = 7},
					 false,
					 &ran,
					 &dropped};
	for (size_t i = 0; i < 2; i++) {
		assert_true(pool_claim(pool, &job[i].job));
		pool_post(pool, &job[i].job);
	}
	assert_false(pool_claim(pool, &job[2].job));
	job[0].gone = true; /* its place is free as soon as somebody asks for one */
	assert_true(pool_claim(pool, &job[2].job));
	pool_post(pool, &job[2].job);
	assert_false(pool_claim(pool, &job[3].job));
	job[2].gone = true; /* and this one when its turn comes */
	pthread_mutex_unlock(&gate);
	pool_drain(pool);
	assert_int_equal(ran, 1);
	assert_int_equal(dropped, 2);
	pool_free(&pool);
}

static int pass_begun; /* atomic */

static void pass_aloud(struct pool_job *job)
{
	__atomic_store_n(&pass_begun, 1, __ATOMIC_RELAXED);
	pass(job);
}

static void who_waits_helps(void **state)
{
	struct pool *pool;
	struct err err;
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, open = PTHREAD_MUTEX_INITIALIZER;
	int done = 0;
	struct gated held = {{.run = pass_aloud, .kept = true}, &gate, &done}, job[3];
	(void)state;
	assert_int_equal(pool_new(&pool, &(struct pool_options){.threads = 1}, &err), 0);
	pthread_mutex_lock(&gate);
	pool_post(pool, &held.job);
	while (!__atomic_load_n(&pass_begun, __ATOMIC_RELAXED))
		; /* until the only thread has it */
	for (size_t i = 0; i < ARRAY_LEN(job); i++) {
		job[i] = (struct gated){{.run = pass, .kept = true}, &open, &done};
		pool_post(pool, &job[i].job);
	}
	pool_wait(pool, &job[2].job);
	assert_int_equal(done, 3);
	pthread_mutex_unlock(&gate);
	pool_wait(pool, &held.job);
	assert_int_equal(done, 4);
	pool_post(pool, &job[0].job); /* a job that is kept can be posted again */
	pool_free(&pool);
	assert_int_equal(done, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_the_queue_holds_is_not_promised),
		cmocka_unit_test(places_are_given_again),
		cmocka_unit_test(clients_take_turns),
		cmocka_unit_test(one_client_has_no_more_than_its_share),
		cmocka_unit_test(jobs_beyond_take_nobodys_place),
		cmocka_unit_test(one_client_does_not_have_all_threads),
		cmocka_unit_test(what_nobody_wants_gives_its_place_away_and_is_not_done),
		cmocka_unit_test(who_waits_helps),
		cmocka_unit_test(a_pool_that_did_nothing_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
