/* Orders of the administrator, from other threads, and the thread that collects. */
#include "collecting.h"

#include "broker/control.h"

#include <poll.h>
#include <pthread.h>

static struct control *control;
static bool refuse_restart;
static int restarts;

static int restart_hook(void *ctx, struct buf *out, struct err *e)
{
	(void)ctx;
	if (refuse_restart)
		return err_set(e, ERR_SYSTEM, "line 3 is wrong");
	restarts++;
	buf_add_text(out, "read again");
	return 0;
}

static int setup_control(void **state)
{
	if (setup(state) != 0 || control_new(&control, &err) != 0)
		return -1;
	refuse_restart = false;
	restarts = 0;
	return 0;
}

static int teardown_control(void **state)
{
	control_free(&control);
	return teardown(state);
}

/* Somebody who gives an order. */
struct giver {
	pthread_t thread;
	struct control_order order;
	int64_t wait_us;
	struct buf out;
	struct err err;
	int rc;
};

static void *giver_run(void *arg)
{
	struct giver *g = arg;
	g->rc = control_do(control, &g->order, g->wait_us, &g->out, &g->err);
	return NULL;
}

static void order_give(struct giver *g, struct control_order order)
{
	*g = (struct giver){.order = order, .wait_us = 60 * US_PER_S, .out = BUF_INIT(4096)};
	assert_int_equal(pthread_create(&g->thread, NULL, giver_run, g), 0);
}

static void order_take(struct giver *g)
{
	assert_int_equal(pthread_join(g->thread, NULL), 0);
}

static void wait_for_an_order(void)
{
	struct pollfd fd = {control_fd(control), POLLIN, 0};
	assert_int_equal(poll(&fd, 1, 60000), 1);
}

static enum control_then run_orders(struct collector *c)
{
	enum control_then then;
	assert_int_equal(control_run(control, c, &then, &err), 0);
	return then;
}

static void an_order_is_done_by_the_thread_that_collects(void **state)
{
	struct giver g;
	(void)state;
	assert_int_equal(run_orders(collector), CONTROL_GO_ON);
	order_give(&g, (struct control_order){.kind = CONTROL_COLLECT});
	wait_for_an_order();
	assert_int_equal(run_orders(collector), CONTROL_GO_ON);
	order_take(&g);
	assert_int_equal(g.rc, 0);
	assert_non_null(strstr(buf_text(&g.out), "no gatherers"));
	buf_free(&g.out);
	struct pollfd fd = {control_fd(control), POLLIN, 0};
	assert_int_equal(poll(&fd, 1, 0), 0); /* it rests */
}

static void many_give_orders_at_a_time(void **state)
{
	struct giver g[8];
	uint32_t none = 77;
	size_t done = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(g); i++)
		order_give(&g[i],
			   (struct control_order){.kind = i % 2 ? CONTROL_INDEX : CONTROL_DROP,
						  .oid = &none,
						  .oids = 1});
	while (done < ARRAY_LEN(g)) {
		assert_int_equal(run_orders(collector), CONTROL_GO_ON);
		done += pthread_tryjoin_np(g[done].thread, NULL) == 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(g); i++) {
		assert_int_equal(g[i].rc, 0);
		assert_true(g[i].out.n > 0);
		buf_free(&g[i].out);
	}
}

static void an_order_that_nobody_comes_to_is_taken_back(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	uint32_t oid = 1;
	struct control_order order = {.kind = CONTROL_DROP, .oid = &oid, .oids = 1};
	assert_int_equal(control_do(control, &order, 1000, &out, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(out.n, 0);
	assert_int_equal(run_orders(collector), CONTROL_GO_ON); /* it is not done later either */
	assert_int_equal(found("apple", "", NULL), 1);
}

static void without_a_collector_what_needs_one_is_refused(void **state)
{
	struct giver g;
	(void)state;
	order_give(&g, (struct control_order){.kind = CONTROL_FULL});
	wait_for_an_order();
	assert_int_equal(run_orders(NULL), CONTROL_GO_ON);
	order_take(&g);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.err.code, ERR_BUSY);
	order_give(&g, (struct control_order){.kind = CONTROL_SHUTDOWN});
	wait_for_an_order();
	assert_int_equal(run_orders(NULL), CONTROL_THEN_END);
	order_take(&g);
	assert_int_equal(g.rc, 0);
	assert_string_equal(buf_text(&g.out), "the broker ends");
	buf_free(&g.out);
}

static void a_restart_is_what_its_hook_says(void **state)
{
	struct giver g;
	(void)state;
	order_give(&g, (struct control_order){.kind = CONTROL_RESTART});
	wait_for_an_order();
	assert_int_equal(run_orders(collector), CONTROL_GO_ON); /* there is no hook */
	order_take(&g);
	assert_int_equal(g.rc, -1);
	control_hook(control, &(struct control_hooks){.restart = restart_hook});
	refuse_restart = true;
	order_give(&g, (struct control_order){.kind = CONTROL_RESTART});
	wait_for_an_order();
	assert_int_equal(run_orders(collector), CONTROL_GO_ON);
	order_take(&g);
	assert_int_equal(g.rc, -1);
	assert_string_equal(g.err.msg, "line 3 is wrong");
	refuse_restart = false;
	order_give(&g, (struct control_order){.kind = CONTROL_RESTART});
	wait_for_an_order();
	assert_int_equal(run_orders(collector), CONTROL_THEN_RESTART);
	order_take(&g);
	assert_int_equal(g.rc, 0);
	assert_int_equal(restarts, 1);
	assert_string_equal(buf_text(&g.out), "read again");
	buf_free(&g.out);
}

static void at_its_end_all_are_refused(void **state)
{
	struct giver g[3];
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	struct control_order order = {.kind = CONTROL_COLLECT};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(g); i++)
		order_give(&g[i], order);
	wait_for_an_order();
	control_end(control);
	for (size_t i = 0; i < ARRAY_LEN(g); i++) {
		order_take(&g[i]);
		assert_int_equal(g[i].rc, -1);
		assert_int_equal(g[i].err.code, ERR_BUSY);
	}
	assert_int_equal(control_do(control, &order, INT64_C(3600) * US_PER_S, &out, &err), -1);
	control_again(control);
	order_give(&g[0], order);
	wait_for_an_order();
	do
		assert_int_equal(run_orders(collector), CONTROL_GO_ON);
	while (pthread_tryjoin_np(g[0].thread, NULL) != 0);
	assert_int_equal(g[0].rc, 0);
	buf_free(&g[0].out);
}

/* Ends come between orders, whatever the threads do. */
static void orders_and_ends_may_cross(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct giver g[2];
		enum control_then then;
		control_again(control);
		for (size_t i = 0; i < ARRAY_LEN(g); i++)
			order_give(&g[i], (struct control_order){.kind = CONTROL_INDEX});
		assert_int_equal(control_run(control, collector, &then, &err), 0);
		control_end(control);
		for (size_t i = 0; i < ARRAY_LEN(g); i++) {
			order_take(&g[i]);
			assert_true(g[i].rc == 0 || g[i].err.code == ERR_BUSY);
			buf_free(&g[i].out);
		}
	}
}

#define CONTROL_TEST(name) cmocka_unit_test_setup_teardown(name, setup_control, teardown_control)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(an_order_is_done_by_the_thread_that_collects),
		CONTROL_TEST(many_give_orders_at_a_time),
		CONTROL_TEST(an_order_that_nobody_comes_to_is_taken_back),
		CONTROL_TEST(without_a_collector_what_needs_one_is_refused),
		CONTROL_TEST(a_restart_is_what_its_hook_says),
		CONTROL_TEST(at_its_end_all_are_refused),
		CONTROL_TEST(orders_and_ends_may_cross),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
