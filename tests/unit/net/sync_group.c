#include "net/sync_group.h"

#include "../unit.h"

#include <semaphore.h>

/* Numbers gather, are under way, and are kept; the thread goes on when it is told how it ends. */
struct owner {
	struct loop *loop;
	struct sync_group sync;
	unsigned gathered, under_way, kept, turns, failures;
	bool retries; /* what failed stays under way */
	sem_t go;
	int rc;
};

static bool owner_begin(void *ctx)
{
	struct owner *o = ctx;
	if (!o->under_way && !o->gathered)
		return false;
	if (!o->under_way) {
		o->under_way = o->gathered;
		o->gathered = 0;
	}
	o->turns++;
	return true;
}

static int owner_run(void *ctx, struct err *err)
{
	struct owner *o = ctx;
	sem_wait(&o->go);
	return o->rc < 0 ? err_set(err, ERR_SYSTEM, "no room") : 0;
}

static void owner_done(void *ctx, int rc, const struct err *err)
{
	struct owner *o = ctx;
	if (rc < 0) {
		assert_string_equal(err->msg, "no room");
		o->failures++;
		if (!o->retries) {
			o->gathered += o->under_way;
			o->under_way = 0;
		}
		sync_group_soon(&o->sync, US_PER_S);
		return;
	}
	o->kept += o->under_way;
	o->under_way = 0;
	sync_group_soon(&o->sync, 0);
}

static void owner_open(struct owner *o)
{
	struct err err;
	*o = (struct owner){
		.sync = {.begin = owner_begin, .run = owner_run, .done = owner_done, .ctx = o}};
	assert_int_equal(sem_init(&o->go, 0, 0), 0);
	assert_int_equal(loop_new(&o->loop, &(struct loop_options){.manual = true}, &err), 0);
	o->sync.loop = o->loop;
	assert_int_equal(sync_group_open(&o->sync, &err), 0);
}

static void owner_close(struct owner *o)
{
	struct err err;
	assert_int_equal(sync_group_close(&o->sync, &err), 0);
	loop_poll(o->loop);
	loop_free(&o->loop);
	sem_destroy(&o->go);
}

static void owner_step(struct owner *o, int64_t us)
{
	loop_step(o->loop, loop_now_us(o->loop) + us);
}

/* The turn that is under way ends so, and the loop has heard of it. */
static void owner_ends(struct owner *o, int rc)
{
	assert_true(o->sync.is_busy);
	unsigned ended = o->kept + o->failures;
	o->rc = rc;
	sem_post(&o->go);
	while (o->kept + o->failures == ended)
		loop_poll(o->loop);
}

static void what_comes_during_a_turn_shares_the_next(void **state)
{
	(void)state;
	struct owner o;
	owner_open(&o);
	for (int i = 0; i < 3; i++) {
		o.gathered++;
		sync_group_soon(&o.sync, 1000);
	}
	owner_step(&o, 999);
	assert_int_equal(o.turns, 0);
	owner_step(&o, 1);
	assert_int_equal(o.turns, 1);
	assert_int_equal(o.under_way, 3);
	for (int i = 0; i < 5; i++) {
		o.gathered++;
		sync_group_soon(&o.sync, 0);
		owner_step(&o, 1000);
	}
	assert_int_equal(o.turns, 1);
	owner_ends(&o, 0);
	assert_int_equal(o.kept, 3);
	owner_step(&o, 0);
	assert_int_equal(o.turns, 2);
	owner_ends(&o, 0);
	assert_int_equal(o.kept, 8);
	owner_step(&o, US_PER_S); /* there is nothing to do */
	assert_int_equal(o.turns, 2);
	assert_false(o.sync.is_busy);
	owner_close(&o);
}

static void the_sooner_time_holds(void **state)
{
	(void)state;
	struct owner o;
	owner_open(&o);
	o.gathered = 1;
	sync_group_soon(&o.sync, 1000);
	sync_group_soon(&o.sync, 10);
	sync_group_soon(&o.sync, 5000);
	assert_int_equal(o.turns, 0);
	owner_step(&o, 10);
	assert_int_equal(o.turns, 1);
	owner_ends(&o, 0);
	owner_close(&o);
}

static void what_failed_can_be_tried_again(void **state)
{
	(void)state;
	for (int retries = 0; retries < 2; retries++) {
		struct owner o;
		owner_open(&o);
		o.retries = retries;
		o.gathered = 2;
		sync_group_soon(&o.sync, 0);
		owner_step(&o, 0);
		o.gathered++;
		owner_ends(&o, -1);
		assert_int_equal(o.kept, 0);
		owner_step(&o, US_PER_S);
		assert_int_equal(o.turns, 2);
		assert_int_equal(o.under_way, retries ? 2 : 3);
		owner_ends(&o, 0);
		if (retries) {
			assert_int_equal(o.kept, 2);
			owner_step(&o, 0);
			owner_ends(&o, 0);
		}
		assert_int_equal(o.kept, 3);
		owner_close(&o);
	}
}

/* What the thread has posted reaches nobody. */
static void the_end_of_a_turn_is_told_to_those_who_close(void **state)
{
	(void)state;
	for (int rc = -1; rc <= 0; rc++) {
		struct owner o;
		struct err err;
		owner_open(&o);
		o.gathered = 1;
		sync_group_soon(&o.sync, 0);
		owner_step(&o, 0);
		o.rc = rc;
		sem_post(&o.go);
		assert_int_equal(sync_group_close(&o.sync, &err), rc);
		if (rc < 0)
			assert_string_equal(err.msg, "no room");
		sync_group_soon(&o.sync, 0);
		loop_poll(o.loop);
		assert_int_equal(o.kept + o.failures, 0);
		assert_int_equal(o.turns, 1);
		owner_close(&o); /* twice is fine */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_during_a_turn_shares_the_next),
		cmocka_unit_test(the_sooner_time_holds),
		cmocka_unit_test(what_failed_can_be_tried_again),
		cmocka_unit_test(the_end_of_a_turn_is_told_to_those_who_close),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
