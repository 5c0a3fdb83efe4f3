#include "../unit.h"
#include "cmd/system/proc.h"

static struct arena arena = ARENA_INIT(1 << 20);

static int give_back(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct launch made(char *const *env, const char *const *sockets, size_t n)
{
	struct launch launch;
	launch_make(&(struct launch_input){.self = "/bin/garner",
					   .role = "web",
					   .conf = "/data/run/up.conf",
					   .env = env,
					   .notify = "@00001",
					   .socket = sockets,
					   .nsockets = n},
		    &arena, &launch);
	return launch;
}

static const char *value(const struct launch *launch, const char *key)
{
	struct str start = str_of(key);
	const char *found = NULL;
	for (size_t i = 0; launch->env[i]; i++) {
		if (!str_starts(str_of(launch->env[i]), start) || launch->env[i][start.n] != '=')
			continue;
		assert_null(found); /* no variable twice */
		found = launch->env[i] + start.n + 1;
	}
	return found;
}

static void a_role_is_started_with_the_configuration_in_force(void **state)
{
	(void)state;
	char *env[] = {NULL};
	struct launch launch = made(env, NULL, 0);
	assert_string_equal(launch.argv[0], "/bin/garner");
	assert_string_equal(launch.argv[1], "web");
	assert_string_equal(launch.argv[2], "-c");
	assert_string_equal(launch.argv[3], "/data/run/up.conf");
	assert_null(launch.argv[4]);
}

static void settings_in_the_environment_do_not_reach_it(void **state)
{
	(void)state;
	char *env[] = {"PATH=/bin",        "GARNER_DATA=/x", "GARNER_FAULTS=a=kill",
		       "GARNER_FAULTSX=1", "GARNERX=1",      NULL};
	struct launch launch = made(env, NULL, 0);
	assert_string_equal(value(&launch, "PATH"), "/bin");
	assert_null(value(&launch, "GARNER_DATA"));
	assert_null(value(&launch, "GARNER_FAULTSX"));
	assert_string_equal(value(&launch, "GARNER_FAULTS"), "a=kill");
	assert_string_equal(value(&launch, "GARNERX"), "1");
}

static void what_was_meant_for_the_supervisor_is_replaced_or_left_out(void **state)
{
	(void)state;
	char *env[] = {"NOTIFY_SOCKET=/run/systemd/notify",
		       "LISTEN_PID=1",
		       "LISTEN_FDS=7",
		       "LISTEN_FDNAMES=x",
		       "WATCHDOG_USEC=5",
		       "WATCHDOG_PID=1",
		       NULL};
	struct launch launch = made(env, NULL, 0);
	assert_string_equal(value(&launch, "NOTIFY_SOCKET"), "@00001");
	assert_null(value(&launch, "LISTEN_PID"));
	assert_null(value(&launch, "LISTEN_FDS"));
	assert_null(value(&launch, "LISTEN_FDNAMES"));
	assert_null(value(&launch, "WATCHDOG_USEC"));
	assert_null(value(&launch, "WATCHDOG_PID"));
	assert_null(launch.pid_text);
}

static void sockets_are_named_in_their_order(void **state)
{
	(void)state;
	char *env[] = {NULL};
	const char *const names[] = {"listen", "admin_listen", "x"};
	struct launch launch = made(env, names, 3);
	assert_string_equal(value(&launch, "LISTEN_FDS"), "3");
	assert_string_equal(value(&launch, "LISTEN_FDNAMES"), "listen:admin_listen:x");
	assert_ptr_equal(value(&launch, "LISTEN_PID"), launch.pid_text);
	memset(launch.pid_text, '1', PROC_PID_TEXT - 1); /* room for the longest pid there is */
	launch.pid_text[PROC_PID_TEXT - 1] = 0;
	assert_int_equal(strlen(value(&launch, "LISTEN_PID")), PROC_PID_TEXT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_role_is_started_with_the_configuration_in_force,
					  give_back),
		cmocka_unit_test_teardown(settings_in_the_environment_do_not_reach_it, give_back),
		cmocka_unit_test_teardown(what_was_meant_for_the_supervisor_is_replaced_or_left_out,
					  give_back),
		cmocka_unit_test_teardown(sockets_are_named_in_their_order, give_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
