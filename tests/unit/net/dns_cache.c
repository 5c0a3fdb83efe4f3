#include "net/dns_inner.h"

#include "../dice.h"
#include "../unit.h"

#include <netinet/in.h>
#include <stdio.h>

static void put(struct dns_cache *c, const char *name, size_t n, int64_t until_us)
{
	struct addr addr[32];
	for (size_t i = 0; i < n; i++)
		addr[i] = (struct addr){.family = AF_INET, .b = {192, 0, 2, (uint8_t)i}};
	struct dns_key key = dns_cache_key(c, str_of(name));
	struct dns_result r = {.outcome = DNS_FOUND, .addr = addr, .n = n, .until_us = until_us};
	dns_cache_put(c, &key, &r);
}

static bool get(struct dns_cache *c, const char *name, int64_t now_us, struct dns_result *ret)
{
	struct dns_key key = dns_cache_key(c, str_of(name));
	return dns_cache_get(c, &key, now_us, ret);
}

static bool has(struct dns_cache *c, const char *name)
{
	struct dns_result r;
	return get(c, name, 0, &r);
}

/* How many of the names PREFIX0.test, PREFIX1.test ... are known, and their addresses. */
static size_t known(struct dns_cache *c, const char *prefix, int n, size_t *ret_addrs)
{
	struct dns_result r;
	char name[32];
	size_t count = 0;
	*ret_addrs = 0;
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s%d.test", prefix, i);
		if (!get(c, name, 0, &r))
			continue;
		count++;
		*ret_addrs += r.n;
	}
	return count;
}

static void what_was_put_is_found_until_its_time(void **state)
{
	(void)state;
	struct dns_cache *c = dns_cache_new(10, 65536, 1);
	struct dns_result r;
	assert_false(has(c, "a.test"));
	put(c, "a.test", 2, 1000);
	assert_true(get(c, "a.test", 999, &r));
	assert_int_equal(r.outcome, DNS_FOUND);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.addr[1].b[3], 1);
	assert_int_equal(r.until_us, 1000);
	assert_false(get(c, "a.test", 1000, &r));
	assert_false(has(c, "a.tes"));
	assert_false(has(c, "a.test2"));
	dns_cache_free(&c);
	assert_null(c);
}

static void failures_are_kept_with_their_reason(void **state)
{
	(void)state;
	struct dns_cache *c = dns_cache_new(10, 65536, 1);
	struct dns_key key = dns_cache_key(c, STR("x.test"));
	struct dns_result r = {.outcome = DNS_REFUSED, .why = "loopback", .until_us = 5};
	dns_cache_put(c, &key, &r);
	r = (struct dns_result){0};
	assert_true(get(c, "x.test", 0, &r));
	assert_int_equal(r.outcome, DNS_REFUSED);
	assert_string_equal(r.why, "loopback");
	assert_int_equal(r.n, 0);
	dns_cache_free(&c);
}

static void a_canonical_name_is_kept_with_the_addresses(void **state)
{
	(void)state;
	struct dns_cache *c = dns_cache_new(10, 65536, 1);
	char most[DNS_NAME + 1];
	memset(most, 'a', sizeof most);
	struct str name[] = {STR("x"), STR("host.test"), {most, DNS_NAME}};
	for (size_t i = 0; i < 2 * ARRAY_LEN(name); i++) {
		struct addr addr = {.family = AF_INET, .b = {192, 0, 2, (uint8_t)i}};
		struct str canonical = i % 2 ? name[i / 2] : (struct str){0};
		struct dns_key key = dns_cache_key(c, name[i % ARRAY_LEN(name)]);
		struct dns_result r = {
			.addr = &addr, .n = 1, .until_us = 5, .canonical = canonical};
		dns_cache_put(c, &key, &r);
		r = (struct dns_result){0};
		assert_true(dns_cache_get(c, &key, 0, &r));
		assert_true(str_eq(r.canonical, canonical));
		assert_int_equal(r.addr[0].b[3], i);
	}
	dns_cache_free(&c);
}

static void a_second_put_replaces_the_first(void **state)
{
	(void)state;
	struct dns_cache *c = dns_cache_new(10, 65536, 1);
	struct dns_result r;
	put(c, "a.test", 30, 10);
	put(c, "a.test", 1, 20);
	assert_true(get(c, "a.test", 15, &r));
	assert_int_equal(r.n, 1);
	dns_cache_free(&c);
}

static void the_oldest_goes_unless_it_was_used(void **state)
{
	(void)state;
	struct dns_cache *c = dns_cache_new(3, 65536, 1);
	put(c, "a", 1, 10);
	put(c, "b", 1, 10);
	put(c, "c", 1, 10);
	assert_true(has(c, "a"));
	put(c, "d", 1, 10); /* a was used: b goes */
	assert_true(has(c, "a"));
	assert_false(has(c, "b"));
	assert_true(has(c, "c"));
	assert_true(has(c, "d"));
	put(c, "e", 1, 10); /* all were used: the oldest after all */
	assert_true(has(c, "e"));
	dns_cache_free(&c);
}

static void bytes_are_bounded_too(void **state)
{
	(void)state;
	struct dns_cache *c = dns_cache_new(1000, 4096, 1);
	char name[32];
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "host%d.test", i);
		put(c, name, (size_t)(i % 33), 10);
		assert_true(has(c, name));
	}
	size_t addrs, n = known(c, "host", 200, &addrs);
	assert_true(n > 1 && addrs * sizeof(struct addr) <= 4096);
	dns_cache_free(&c);
}

static void a_cache_of_nothing_keeps_nothing(void **state)
{
	(void)state;
	struct dns_cache *none = dns_cache_new(0, 65536, 1), *tiny = dns_cache_new(10, 100, 1);
	put(none, "a", 1, 10);
	put(tiny, "a", 32, 10);
	assert_false(has(none, "a") || has(tiny, "a"));
	dns_cache_free(&none);
	dns_cache_free(&tiny);
	dns_cache_free(&none);
}

/* Against a plain array, over names that come, are replaced and go. */
static void what_is_found_is_what_was_put_last(void **state)
{
	(void)state;
	enum { NAMES = 200, MOST = 64 };
	struct dns_cache *c = dns_cache_new(MOST, 1 << 20, 7);
	size_t last[NAMES] = {0};
	uint64_t seed = 42;
	char name[32];
	struct dns_result r;
	for (int round = 0; round < 20000; round++) {
		size_t i = dice(&seed) % NAMES;
		snprintf(name, sizeof name, "n%zu.test", i);
		if (dice(&seed) % 2) {
			last[i] = dice(&seed) % 5;
			put(c, name, last[i], 10);
			assert_true(has(c, name));
		} else if (get(c, name, 0, &r)) {
			assert_int_equal(r.n, last[i]);
		}
	}
	size_t addrs;
	assert_int_equal(known(c, "n", NAMES, &addrs), MOST);
	dns_cache_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_found_until_its_time),
		cmocka_unit_test(failures_are_kept_with_their_reason),
		cmocka_unit_test(a_canonical_name_is_kept_with_the_addresses),
		cmocka_unit_test(a_second_put_replaces_the_first),
		cmocka_unit_test(the_oldest_goes_unless_it_was_used),
		cmocka_unit_test(bytes_are_bounded_too),
		cmocka_unit_test(a_cache_of_nothing_keeps_nothing),
		cmocka_unit_test(what_is_found_is_what_was_put_last),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
