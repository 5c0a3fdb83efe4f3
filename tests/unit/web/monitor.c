#include "../unit.h"
#include "web/web_inner.h"

static struct buf out = BUF_INIT(1 << 20);

static bool states(struct status_row *rows, size_t n)
{
	struct status s = {.row = rows, .nrows = n};
	buf_clear(&out);
	return web_states_json(&s, &out);
}

static void all_that_should_run_are_ready(void **state)
{
	struct status_row rows[] = {{.name = STR("up"), .state = STATUS_RUNNING},
				    {.name = STR("web"), .state = STATUS_READY},
				    {.name = STR("old"), .state = STATUS_ENDED},
				    {.name = STR("off"), .state = STATUS_STOPPED}};
	(void)state;
	assert_true(states(rows, ARRAY_LEN(rows)));
	assert_string_equal(buf_text(&out),
			    "{\"ready\":true,\"waiting\":[],\"roles\":{\"up\":\"running\","
			    "\"web\":\"ready\",\"old\":\"ended\",\"off\":\"stopped\"}}\n");
	assert_true(states(NULL, 0));
	buf_free(&out);
}

static void who_is_not_ready_is_named(void **state)
{
	static const enum status_state waits[] = {STATUS_STARTING, STATUS_BACKING_OFF,
						  STATUS_STOPPING};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		struct status_row rows[] = {{.name = STR("web"), .state = STATUS_READY},
					    {.name = STR("a\"b"), .state = waits[i]}};
		assert_false(states(rows, ARRAY_LEN(rows)));
		assert_true(str_starts(buf_str(&out),
				       STR("{\"ready\":false,\"waiting\":[\"a\\\"b\"],")));
	}
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_should_run_are_ready),
		cmocka_unit_test(who_is_not_ready_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
