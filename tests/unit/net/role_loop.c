#include "net/role_loop.h"

#include "../scratch.h"
#include "../unit.h"
#include "role/notify.h"

#include <signal.h>
#include <stdlib.h>

/* A role with two counters, what it is told, and what its supervisor hears. */

struct steps {
	char more; /* so that they do not begin at 0 */
	uint64_t now, steps;
};
static const struct counter_def defs[] = {
	{"steps", NULL, COUNTER_TOTAL, "Steps.", COUNTER_AT(struct steps, steps)},
	{"now", NULL, COUNTER_GAUGE, "Something now.", COUNTER_AT(struct steps, now)},
};
static const struct role role = {.name = "test", .counters = defs, .ncounters = ARRAY_LEN(defs)};

struct owner {
	struct role_env env;
	struct role_loop role;
	struct role_socket socket;
	struct loop_timer act;
	unsigned tells, drains;
	int heard_fd;
	struct buf heard;
};

static void owner_tell(void *ctx)
{
	struct owner *o = ctx;
	const struct steps now = {.steps = ++o->tells, .now = 7};
	role_loop_tell_of(&o->role, &now, "told %u", o->tells);
}

static void owner_drain(void *ctx)
{
	struct owner *o = ctx;
	if (++o->drains == 2)
		loop_stop(o->role.loop);
	else
		raise(SIGINT);
}

static void send_term(void *ctx)
{
	(void)ctx;
	raise(SIGTERM);
}

static void fail_twice(void *ctx)
{
	struct owner *o = ctx;
	struct err err;
	err_set(&err, ERR_DAMAGED, "the first");
	role_loop_fail(&o->role, &err);
	err_set(&err, ERR_USAGE, "the second");
	role_loop_fail(&o->role, &err);
}

static void owner_open(struct owner *o, void (*act)(void *ctx), bool drains)
{
	struct err err;
	char name[64];
	*o = (struct owner){
		.env = {.role = &role, .name = "test@2", .socket = &o->socket, .nsockets = 1},
		.socket = {"listen", -1},
		.role = {.env = &o->env,
			 .tell = owner_tell,
			 .drain = drains ? owner_drain : NULL,
			 .ctx = o},
		.act = {.fn = act, .ctx = o},
		.heard = BUF_INIT(1 << 16)};
	assert_int_equal(notice_open(&o->heard_fd, name, sizeof name, &err), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	assert_int_equal(counters_create(&o->env.counters, scratch("test"), "test", defs,
					 ARRAY_LEN(defs), 0, &err),
			 0);
	assert_int_equal(role_loop_open(&o->role, &err), 0);
	if (act)
		loop_timer_in(o->role.loop, &o->act, 0);
}

static void owner_close(struct owner *o)
{
	role_loop_close(&o->role);
	counters_close(&o->env.counters);
	buf_free(&o->heard);
	close(o->heard_fd);
}

static void expect_counters(int64_t steps)
{
	struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view view;
	struct err err;
	assert_int_equal(counters_read(scratch("test"), &arena, &view, &err), 0);
	assert_int_equal(view.value[0].value, steps);
	assert_int_equal(view.value[1].value, 7);
	arena_free(&arena);
}

/* "RS": ready, then stopping; other letters: the last status. */
static void expect_heard(struct owner *o, const char *story, const char *status)
{
	struct buf got = BUF_INIT(1000), last = BUF_INIT(1000);
	struct notice n;
	struct err err;
	while (notice_read(o->heard_fd, &o->heard, &n, &err) == 0) {
		buf_add_text(&got, n.ready ? "R" : n.stopping ? "S" : "");
		if (n.status.n) {
			buf_clear(&last);
			buf_add_str(&last, n.status);
		}
	}
	assert_string_equal(buf_text(&got), story);
	assert_string_equal(buf_text(&last), status);
	buf_free(&got);
	buf_free(&last);
}

static void a_signal_ends_it_and_the_counters_are_told(void **state)
{
	(void)state;
	struct owner o;
	struct err err;
	owner_open(&o, send_term, false);
	assert_int_equal(role_loop_run(&o.role, &err), 0);
	expect_heard(&o, "RS", "told 1");
	expect_counters(1);
	owner_close(&o);
}

static void a_role_that_drains_is_asked_at_each_signal(void **state)
{
	(void)state;
	struct owner o;
	struct err err;
	owner_open(&o, send_term, true);
	assert_int_equal(role_loop_run(&o.role, &err), 0);
	assert_int_equal(o.drains, 2);
	expect_heard(&o, "RSS", "told 1");
	owner_close(&o);
}

static void of_several_failures_the_first_is_returned(void **state)
{
	(void)state;
	struct owner o;
	struct err err = {0};
	owner_open(&o, fail_twice, true);
	assert_int_equal(role_loop_run(&o.role, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_string_equal(err.msg, "the first");
	assert_int_equal(o.drains, 0);
	expect_counters(1);
	owner_close(&o);
}

static void a_failure_before_it_runs_counts(void **state)
{
	(void)state;
	struct owner o;
	struct err err = {0};
	owner_open(&o, NULL, false);
	fail_twice(&o);
	assert_int_equal(role_loop_run(&o.role, &err), -1);
	assert_string_equal(err.msg, "the first");
	owner_close(&o);
}

static void without_an_address_there_is_nothing_to_do(void **state)
{
	(void)state;
	static const struct tls_conf none;
	struct role_socket socket = {"listen", -1};
	struct role_env env = {.role = &role, .name = "test@2", .socket = &socket, .nsockets = 1};
	struct role_loop r = {.env = &env};
	struct err err;
	int fd = -2;
	assert_int_equal(role_loop_socket(&r, &none, &fd, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.msg, "test@2.listen is empty: there is nothing to do");
	assert_int_equal(fd, -2);
	role_loop_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_ends_it_and_the_counters_are_told),
		cmocka_unit_test(a_role_that_drains_is_asked_at_each_signal),
		cmocka_unit_test(of_several_failures_the_first_is_returned),
		cmocka_unit_test(a_failure_before_it_runs_counts),
		cmocka_unit_test(without_an_address_there_is_nothing_to_do),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
