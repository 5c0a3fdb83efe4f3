#include "net/addr.h"

#include "../unit.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct addr of(const char *text)
{
	struct addr a;
	if (!addr_parse_port(str_of(text), 0, &a))
		fail_msg("'%s' was refused", text);
	return a;
}

static void addresses_print_as_they_are_written(void **state)
{
	(void)state;
	static const char *const good[] = {"0.0.0.0",
					   "192.0.2.1",
					   "255.255.255.255",
					   "::",
					   "::1",
					   "2001:db8::1",
					   "2001:db8:0:1:1:1:1:1",
					   "::ffff:192.0.2.1",
					   "fe80::1%lo",
					   "fe80::1%4294967295",
					   "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
	char shown[ADDR_SHOWN];
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct addr a;
		assert_true(addr_parse(str_of(good[i]), &a));
		assert_string_equal(addr_print(&a, shown), good[i]);
		assert_string_equal(addr_print_port(&a, shown), good[i]);
		assert_int_equal(a.port, 0);
	}
}

static void other_forms_of_the_same_address_print_alike(void **state)
{
	(void)state;
	static const struct {
		const char *text, *shown;
	} c[] = {{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		 {"0:0:0:0:0:0:0:0", "::"},
		 {"::ffff:c000:201", "::ffff:192.0.2.1"},
		 {"2001:0db8::0001", "2001:db8::1"},
		 {"fe80::1%1", "fe80::1%lo"}};
	char shown[ADDR_SHOWN];
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct addr a = of(c[i].text);
		assert_string_equal(addr_print(&a, shown), c[i].shown);
	}
}

static void what_is_no_address_is_refused_and_nothing_is_set(void **state)
{
	(void)state;
	static const struct str bad[] = {STR(""),
					 STR("127.1"),
					 STR("1"),
					 STR("01.2.3.4"),
					 STR("0x7f.0.0.1"),
					 STR("256.0.0.1"),
					 STR("1.2.3"),
					 STR("1.2.3.4.5"),
					 STR("1.2.3.4 "),
					 STR(" 1.2.3.4"),
					 STR("1.2.3.4\0"),
					 STR("1.2.3.4%lo"),
					 STR("localhost"),
					 STR(":"),
					 STR(":::"),
					 STR("1::2::3"),
					 STR("12345::"),
					 STR("::1%"),
					 STR("::1%no-such-interface"),
					 STR("::1%0"),
					 STR("::1%4294967296"),
					 STR("::1\0%lo"),
					 STR("::1%lo\0"),
					 STR("[::1]"),
					 STR("::ffff:1.2.3.4.5"),
					 STR("1:2:3:4:5:6:7:8:9"),
					 STR("0000000000000000000000000000000000000000000000:1"),
					 STR("1.2.3.4:80")};
	const struct addr before = {.family = 77, .port = 5};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct addr a = before;
		if (addr_parse(bad[i], &a))
			fail_msg("'" STR_FMT "' was taken", STR_ARG(bad[i]));
		assert_true(addr_eq(a, before));
	}
}

static void a_port_may_follow(void **state)
{
	(void)state;
	static const struct {
		const char *text, *shown;
	} good[] = {{"192.0.2.1", "192.0.2.1:53"},
		    {"192.0.2.1:5353", "192.0.2.1:5353"},
		    {"::1", "[::1]:53"},
		    {"[::1]", "[::1]:53"},
		    {"[::1]:65535", "[::1]:65535"},
		    {"[fe80::1%lo]:1", "[fe80::1%lo]:1"},
		    {"::ffff:1.2.3.4", "[::ffff:1.2.3.4]:53"}};
	static const char *const bad[] = {
		"",           "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "[::1]:", "[::1]53",
		"[::1",       "[]",         "::1]:53",     "[1.2.3.4]:53",    ":53",    "[::1]:x",
		"1.2.3.4:-1", "name:53",    "1.2.3.4:5:6", "[[::1]]:5"};
	char shown[ADDR_SHOWN];
	struct addr a;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(addr_parse_port(str_of(good[i].text), 53, &a));
		assert_string_equal(addr_print_port(&a, shown), good[i].shown);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (addr_parse_port(str_of(bad[i]), 53, &a))
			fail_msg("'%s' was taken", bad[i]);
}

static void the_longest_text_fits(void **state)
{
	(void)state;
	struct addr a = {.family = AF_INET6, .scope = UINT32_MAX, .port = UINT16_MAX};
	char shown[ADDR_SHOWN];
	memset(a.b, 0xff, sizeof a.b);
	assert_string_equal(addr_print_port(&a, shown),
			    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535");
	a = (struct addr){0};
	assert_string_equal(addr_print(&a, shown), "none");
}

/* Returns the bytes of it that count. */
static unsigned to_sockaddr(const struct addr *a, struct sockaddr_storage *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(a->port)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_scope_id = a->scope};
	ENSURE(a->family == AF_INET || a->family == AF_INET6);
	*ret = (struct sockaddr_storage){0};
	if (a->family == AF_INET) {
		memcpy(&v4.sin_addr, a->b, 4);
		memcpy(ret, &v4, sizeof v4);
		return sizeof v4;
	}
	memcpy(&v6.sin6_addr, a->b, 16);
	memcpy(ret, &v6, sizeof v6);
	return sizeof v6;
}

static void the_way_through_a_sockaddr_changes_nothing(void **state)
{
	(void)state;
	static const char *const text[] = {"192.0.2.1:80", "[2001:db8::1]:443", "[fe80::1%lo]:1"};
	struct sockaddr_storage ss;
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		struct addr a = of(text[i]), b;
		unsigned len = to_sockaddr(&a, &ss);
		assert_true(addr_from_sockaddr((struct sockaddr *)&ss, len, &b));
		assert_true(addr_eq(a, b));
		assert_false(addr_from_sockaddr((struct sockaddr *)&ss, len - 1, &b));
	}
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct addr a;
	assert_false(addr_from_sockaddr((struct sockaddr *)&un, sizeof un, &a));
}

static void addresses_are_in_an_order(void **state)
{
	(void)state;
	static const char *const order[] = {"1.2.3.4", "1.2.3.4:80", "1.2.3.5",
					    "::",      "fe80::1",    "fe80::1%lo"};
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		for (size_t j = 0; j < ARRAY_LEN(order); j++) {
			struct addr a = of(order[i]), b = of(order[j]);
			int sign = (i > j) - (i < j), got = addr_cmp(&a, &b);
			assert_int_equal((got > 0) - (got < 0), sign);
			assert_int_equal(addr_eq(a, b), i == j);
			assert_int_equal(addr_hash(a) == addr_hash(b), i == j);
		}
}

static void a_prefix_is_compared_bit_by_bit(void **state)
{
	(void)state;
	struct addr a = of("172.31.255.255"), b = of("172.32.0.0"), net = of("172.16.0.0");
	assert_true(addr_in(&a, net.b, 12));
	assert_false(addr_in(&b, net.b, 12));
	assert_true(addr_in(&b, net.b, 10));
	assert_true(addr_in(&b, net.b, 0));
	assert_false(addr_in(&a, net.b, 32));
	assert_true(addr_in(&a, a.b, 32));
	struct addr c = of("2001:db8::1");
	assert_true(addr_in(&c, c.b, 128));
}

static void a_server_is_an_address_or_a_64(void **state)
{
	(void)state;
	static const struct {
		const char *address, *server;
	} c[] = {{"192.0.2.1:80", "192.0.2.1"},
		 {"[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2::"},
		 {"fe80::1%lo", "fe80::"},
		 {"::ffff:192.0.2.1", "192.0.2.1"}};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct addr a = of(c[i].address), want = of(c[i].server), got = addr_server(&a);
		assert_true(addr_eq(got, want));
	}
}

static void loopback_is_known_in_all_its_forms(void **state)
{
	(void)state;
	static const struct {
		const char *address;
		bool loopback;
	} c[] = {{"127.0.0.1", true},
		 {"127.255.255.255:80", true},
		 {"[::1]:80", true},
		 {"::ffff:127.0.0.1", true},
		 {"126.255.255.255", false},
		 {"128.0.0.1", false},
		 {"::", false},
		 {"::2", false},
		 {"7f00::1", false},
		 {"::127.0.0.1", false},
		 {"::ffff:10.0.0.1", false}};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct addr a = of(c[i].address);
		assert_int_equal(addr_loopback(&a), c[i].loopback);
	}
	assert_false(addr_loopback(&(struct addr){.b = {127}}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_print_as_they_are_written),
		cmocka_unit_test(other_forms_of_the_same_address_print_alike),
		cmocka_unit_test(what_is_no_address_is_refused_and_nothing_is_set),
		cmocka_unit_test(a_port_may_follow),
		cmocka_unit_test(the_longest_text_fits),
		cmocka_unit_test(the_way_through_a_sockaddr_changes_nothing),
		cmocka_unit_test(addresses_are_in_an_order),
		cmocka_unit_test(a_prefix_is_compared_bit_by_bit),
		cmocka_unit_test(a_server_is_an_address_or_a_64),
		cmocka_unit_test(loopback_is_known_in_all_its_forms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
