/* Logins: right and wrong passwords, what is remembered, and who has to wait. */
#include "../scratch.h"
#include "../unit.h"

#include "base/clock.h"
#include "cache/cache_conf.h"
#include "cache/uns/login.h"

#define NOW (1700000000 * US_PER_S)
#define HOME STR("192.0.2.1")

static struct pidb *pidb;
static uint64_t verified, fresh;
static struct login *login;
static struct err err;

/* Of "right" and "other", with as little memory and time as argon2 takes. */
static const char line_right[] = "$argon2id$v=19$m=64,t=1,p=1$c2FsdCBvZiB0aGUgdGVzdA$"
				 "uHyDCXXzW7rbRlU3yCHqTuWbMFkPg3OUb3F8ci3IC/I";
static const char line_other[] = "$argon2id$v=19$m=64,t=1,p=1$c2FsdCBvZiB0aGUgdGVzdA$"
				 "6lw8pWd1N0gNWbO6u/1h8iD4dugsMjE/VgXgdlrlleg";

static uint64_t add_provider(char fill, bool verify)
{
	char secret[PIDB_SECRET + 1] = {0};
	uint64_t id;
	memset(secret, fill, PIDB_SECRET);
	assert_int_equal(pidb_register(pidb, "s", "", line_right, secret, "x", 10, NOW, &id, &err),
			 0);
	if (verify)
		assert_int_equal(pidb_verify(pidb, id, secret, "http://a/", NOW, &err), 0);
	return id;
}

static int prepare_all(void **state)
{
	char folder[300];
	if (scratch_make_in_memory(state) < 0)
		return -1;
	snprintf(folder, sizeof folder, "%s/cache", scratch_dir);
	assert_int_equal(pidb_open(&pidb, folder, &err), 0);
	verified = add_provider('a', true);
	fresh = add_provider('b', false);
	return 0;
}

static int done_all(void **state)
{
	pidb_close(&pidb);
	return scratch_done(state);
}

static int login_begin(void **state)
{
	(void)state;
	login = login_new(pidb);
	return 0;
}

static int login_end(void **state)
{
	(void)state;
	login_free(&login);
	return 0;
}

/* The code; 0: let in. */
static unsigned ask_as(struct str address, uint64_t id, const char *password, int64_t now_us,
		       bool quickly, bool *ret_slowly)
{
	struct pidb_provider who;
	enum login_refusal why;
	int64_t wait_us;
	const struct login_ask ask = {.provider = id,
				      .password = str_of(password),
				      .address = address,
				      .quickly = quickly,
				      .now_mono_us = now_us};
	int rc = login_check(login, &ask, &who, &why, &wait_us, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	*ret_slowly = rc == 1 && why == LOGIN_SLOWLY;
	if (rc == 0) {
		assert_int_equal(who.id, id);
		return 0;
	}
	assert_true((why == LOGIN_WAIT) == (wait_us > 0));
	return login_code(why);
}

static unsigned ask_from(struct str address, uint64_t id, const char *password, int64_t now_us)
{
	bool slowly;
	unsigned code = ask_as(address, id, password, now_us, false, &slowly);
	assert_false(slowly);
	return code;
}

static void only_what_is_not_remembered_is_hashed(void **state)
{
	(void)state;
	bool slowly;
	assert_int_equal(ask_as(HOME, verified, "right", 0, true, &slowly), CACHE_LATER);
	assert_true(slowly);
	assert_int_equal(ask_from(HOME, verified, "right", 0), 0);
	assert_int_equal(ask_as(HOME, verified, "right", 0, true, &slowly), 0);
	/* A wrong one has not been tried by this, and nobody waits for it. */
	(void)ask_as(HOME, verified, "wrong", 0, true, &slowly);
	assert_true(slowly);
	(void)ask_as(HOME, 12345, "wrong", 0, true, &slowly);
	assert_true(slowly);
	assert_int_equal(ask_from(HOME, verified, "right", 0), 0);
}

static void the_right_password_lets_in(void **state)
{
	(void)state;
	assert_int_equal(ask_from(HOME, verified, "right", 0), 0);
	assert_int_equal(ask_from(HOME, verified, "right", 0), 0);
	assert_int_equal(ask_from(HOME, verified, "rightx", 1), CACHE_PASSWORD);
	assert_int_equal(ask_from(STR("192.0.2.2"), verified, "", 1), CACHE_PASSWORD);
	assert_int_equal(ask_from(STR("192.0.2.3"), 12345, "right", 1), CACHE_UNKNOWN);
	assert_int_equal(ask_from(STR("192.0.2.4"), fresh, "right", 1), CACHE_UNVERIFIED);
}

static void what_is_remembered_goes_with_the_line(void **state)
{
	(void)state;
	assert_int_equal(ask_from(HOME, verified, "right", 0), 0);
	assert_int_equal(ask_from(HOME, verified, "right", 0), 0);
	assert_int_equal(pidb_password_set(pidb, verified, line_other, &err), 0);
	assert_int_equal(ask_from(HOME, verified, "right", 0), CACHE_PASSWORD);
	assert_int_equal(ask_from(HOME, verified, "other", US_PER_S), 0);
	assert_int_equal(pidb_password_set(pidb, verified, line_right, &err), 0);
}

static void an_address_that_was_wrong_waits_longer_each_time(void **state)
{
	(void)state;
	int64_t now = 0, waits[5] = {250, 500, 1000, 2000, 4000};
	for (int i = 0; i < 5; i++) {
		assert_int_equal(ask_from(HOME, verified, "wrong", now), CACHE_PASSWORD);
		now += waits[i] * US_PER_MS;
		/* Not even the right one, until its time is over. */
		assert_int_equal(ask_from(HOME, verified, "right", now - 1), CACHE_LATER);
	}
	assert_int_equal(ask_from(STR("192.0.2.2"), verified, "right", 0), 0);
	assert_int_equal(ask_from(STR("192.0.2.1:4711"), verified, "right", now - 1), CACHE_LATER);
	assert_int_equal(ask_from(STR("::ffff:192.0.2.1"), verified, "right", now - 1),
			 CACHE_LATER);
	assert_int_equal(ask_from(HOME, verified, "right", now), 0);
	/* All is forgiven. */
	assert_int_equal(ask_from(HOME, verified, "wrong", now), CACHE_PASSWORD);
	assert_int_equal(ask_from(HOME, verified, "right", now + 250 * US_PER_MS), 0);
}

static void a_network_of_ipv6_is_one_address(void **state)
{
	(void)state;
	assert_int_equal(ask_from(STR("2001:db8:0:1::1"), verified, "wrong", 0), CACHE_PASSWORD);
	assert_int_equal(ask_from(STR("[2001:db8:0:1:2::3]:99"), verified, "right", 0),
			 CACHE_LATER);
	assert_int_equal(ask_from(STR("2001:db8:0:2::1"), verified, "right", 0), 0);
}

static void a_password_of_ones_own_does_not_shorten_the_wait(void **state)
{
	(void)state;
	int64_t now = 0;
	assert_int_equal(ask_from(HOME, 99, "wrong", now), CACHE_UNKNOWN);
	now += 250 * US_PER_MS;
	assert_int_equal(ask_from(HOME, verified, "right", now), 0);
	assert_int_equal(ask_from(HOME, 99, "wrong", now), CACHE_UNKNOWN);
	assert_int_equal(ask_from(HOME, verified, "right", now + 499 * US_PER_MS), CACHE_LATER);
	assert_int_equal(ask_from(HOME, verified, "right", now + 500 * US_PER_MS), 0);
	/* Some quiet does. */
	now += 20 * US_PER_MIN;
	assert_int_equal(ask_from(HOME, 99, "wrong", now), CACHE_UNKNOWN);
	assert_int_equal(ask_from(HOME, verified, "right", now + 250 * US_PER_MS), 0);
}

int main(void)
{
#define LOGIN_TEST(fn) cmocka_unit_test_setup_teardown(fn, login_begin, login_end)
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(the_right_password_lets_in),
		LOGIN_TEST(only_what_is_not_remembered_is_hashed),
		LOGIN_TEST(what_is_remembered_goes_with_the_line),
		LOGIN_TEST(an_address_that_was_wrong_waits_longer_each_time),
		LOGIN_TEST(a_network_of_ipv6_is_one_address),
		LOGIN_TEST(a_password_of_ones_own_does_not_shorten_the_wait),
	};
	return cmocka_run_group_tests(tests, prepare_all, done_all);
}
