#include "net/addr.h"

#include "../unit.h"

#include <stdio.h>

static struct policy *policy_of(size_t n, const char *const *networks)
{
	struct policy *p;
	struct err err;
	if (policy_new(&p, &(struct value_list){networks, n}, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

#define POLICY(...)                                                            \
	policy_of(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
		  (const char *const[]){__VA_ARGS__})

static const char *verdict(const struct policy *p, const char *text)
{
	struct addr a;
	assert_true(addr_parse(str_of(text), &a));
	const char *why = policy_refuses(p, &a);
	return why ? why : "public";
}

static void expect(const struct policy *p, const char *address, const char *want)
{
	const char *got = verdict(p, address);
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s, want %s", address, got, want);
}

struct row {
	const char *address, *want;
};

static void special_addresses_are_refused_up_to_their_edges(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0.0.0.0", "unspecified"},
		{"0.0.0.1", "this network"},
		{"0.255.255.255", "this network"},
		{"1.0.0.0", "public"},
		{"9.255.255.255", "public"},
		{"10.0.0.0", "private"},
		{"10.255.255.255", "private"},
		{"11.0.0.0", "public"},
		{"100.63.255.255", "public"},
		{"100.64.0.0", "shared address space"},
		{"100.127.255.255", "shared address space"},
		{"100.128.0.0", "public"},
		{"126.255.255.255", "public"},
		{"127.0.0.1", "loopback"},
		{"127.255.255.255", "loopback"},
		{"128.0.0.0", "public"},
		{"169.253.255.255", "public"},
		{"169.254.0.1", "link-local"},
		{"169.254.169.254", "metadata"},
		{"169.254.170.2", "metadata"},
		{"169.255.0.0", "public"},
		{"100.100.100.200", "metadata"},
		{"168.63.129.16", "metadata"},
		{"168.63.129.17", "public"},
		{"172.15.255.255", "public"},
		{"172.16.0.0", "private"},
		{"172.31.255.255", "private"},
		{"172.32.0.0", "public"},
		{"192.0.0.1", "protocol assignments"},
		{"192.0.0.192", "metadata"},
		{"192.0.1.0", "public"},
		{"192.0.2.1", "documentation"},
		{"192.0.3.0", "public"},
		{"192.88.99.1", "6to4 relay"},
		{"192.167.255.255", "public"},
		{"192.168.0.0", "private"},
		{"192.168.255.255", "private"},
		{"192.169.0.0", "public"},
		{"198.17.255.255", "public"},
		{"198.18.0.0", "benchmarking"},
		{"198.19.255.255", "benchmarking"},
		{"198.20.0.0", "public"},
		{"198.51.100.7", "documentation"},
		{"203.0.113.7", "documentation"},
		{"223.255.255.255", "public"},
		{"224.0.0.1", "multicast"},
		{"239.255.255.255", "multicast"},
		{"240.0.0.0", "reserved"},
		{"255.255.255.254", "reserved"},
		{"255.255.255.255", "broadcast"},
		{"8.8.8.8", "public"},
		{"::", "unspecified"},
		{"::1", "loopback"},
		{"::2", "IPv4-compatible"},
		{"::127.0.0.1", "IPv4-compatible"},
		{"::ffff:8.8.8.8", "IPv4-mapped"},
		{"::ffff:0:8.8.8.8", "IPv4-translated"},
		{"64:ff9b::8.8.8.8", "NAT64"},
		{"64:ff9b:1::1", "NAT64"},
		{"64:ff9b:1:ffff::1", "NAT64"},
		{"64:ff9b:2::1", "reserved"},
		{"100::1", "discard-only"},
		{"100:0:0:1::1", "dummy prefix"},
		{"100:0:0:2::1", "reserved"},
		{"1fff:ffff::", "reserved"},
		{"2001::1", "Teredo"},
		{"2001:1::1", "protocol assignments"},
		{"2001:2::1", "benchmarking"},
		{"2001:20::1", "protocol assignments"},
		{"2001:1ff:ffff::", "protocol assignments"},
		{"2001:200::1", "public"},
		{"2001:db8::1", "documentation"},
		{"2001:db9::1", "public"},
		{"2002:808:808::1", "6to4"},
		{"2003::1", "public"},
		{"2606:4700::1111", "public"},
		{"3ffe:ffff::", "public"},
		{"3fff::1", "documentation"},
		{"3fff:1000::", "public"},
		{"4000::", "reserved"},
		{"5f00::1", "segment routing"},
		{"fbff::", "reserved"},
		{"fc00::1", "unique local"},
		{"fd00:ec2::254", "metadata"},
		{"fd20:ce::254", "metadata"},
		{"fd00:ec2::253", "unique local"},
		{"fdff:ffff::", "unique local"},
		{"fe00::1", "reserved"},
		{"fe80::1", "link-local"},
		{"febf:ffff::", "link-local"},
		{"fec0::1", "site-local"},
		{"feff::1", "site-local"},
		{"ff02::1", "multicast"},
	};
	struct policy *p = policy_of(0, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(p, rows[i].address, rows[i].want);
	policy_free(&p);
	assert_null(p);
}

static void a_network_that_is_named_opens_and_nothing_else(void **state)
{
	(void)state;
	static const struct row rows[] = {{"127.0.0.1", "public"},
					  {"127.1.2.3", "public"},
					  {"::1", "public"},
					  {"10.1.0.0", "public"},
					  {"10.1.255.255", "public"},
					  {"10.2.0.0", "private"},
					  {"10.0.255.255", "private"},
					  {"192.168.7.9", "public"},
					  {"192.168.7.8", "private"},
					  {"fd12:3456::1", "public"},
					  {"fd12:3457::1", "unique local"},
					  {"::ffff:127.0.0.1", "IPv4-mapped"}};
	struct policy *p =
		POLICY("127.0.0.0/8", "::1", "10.1.0.0/16", "192.168.7.9", "fd12:3456::/32");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(p, rows[i].address, rows[i].want);
	policy_free(&p);
}

static void an_address_inside_an_address_must_be_allowed_too(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"::ffff:8.8.8.8", "public"},
		{"::ffff:127.0.0.1", "loopback"},
		{"::ffff:10.1.2.3", "public"},
		{"64:ff9b::8.8.8.8", "public"},
		{"64:ff9b::169.254.169.254", "metadata"},
		{"64:ff9b::192.168.0.1", "private"},
		{"2002:808:808::1", "public"},
		{"2002:7f00:1::1", "loopback"},
		{"2001:0:808:808::f7f7:f7f7", "public"},   /* server 8.8.8.8, client 8.8.8.8 */
		{"2001:0:808:808::80ff:fffe", "loopback"}, /* client 127.0.0.1 */
		{"2001:0:7f00:1::f7f7:f7f7", "loopback"},  /* server 127.0.0.1 */
	};
	struct policy *p =
		POLICY("::ffff:0:0/96", "64:ff9b::/96", "2002::/16", "2001::/32", "10.1.0.0/16");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(p, rows[i].address, rows[i].want);
	policy_free(&p);
}

static void metadata_opens_only_by_its_own_name(void **state)
{
	(void)state;
	struct policy *wide = POLICY("0.0.0.0/0", "::/0", "169.254.0.0/16", "fd00::/8");
	expect(wide, "169.254.169.254", "metadata");
	expect(wide, "fd00:ec2::254", "metadata");
	expect(wide, "169.254.169.253", "public");
	expect(wide, "127.0.0.1", "public");
	expect(wide, "::ffff:169.254.169.254", "metadata");
	policy_free(&wide);
	struct policy *own = POLICY("169.254.169.254", "fd00:ec2::254/128");
	expect(own, "169.254.169.254", "public");
	expect(own, "fd00:ec2::254", "public");
	policy_free(&own);
}

static void what_is_no_address_is_refused(void **state)
{
	(void)state;
	struct policy *p = POLICY("0.0.0.0/0", "::/0");
	assert_string_equal(policy_refuses(p, &(struct addr){0}), "no address");
	policy_free(&p);
}

static void wrong_networks_are_named(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"", "expected a network"},
		{"localhost", "got 'localhost'"},
		{"10.0.0.0/33", "expected 0 to 32 after the '/'"},
		{"10.0.0.0/", "expected 0 to 32"},
		{"10.0.0.0/8/8", "expected 0 to 32"},
		{"10.0.0.0/-1", "expected 0 to 32"},
		{"::/129", "expected 0 to 128"},
		{"10.1.2.3/16", "say 10.1.0.0/16"},
		{"2001:db8::1/64", "say 2001:db8::/64"},
		{"10.1/16", "got '10.1/16'"},
		{"/8", "expected a network"},
		{"fe80::1%lo", "expected a network"},
		{"127.0.0.1:80", "expected a network"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const list[] = {"127.0.0.0/8", rows[i].address};
		struct policy *p = NULL;
		struct err err;
		assert_int_equal(policy_new(&p, &(struct value_list){list, 2}, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_null(p);
		if (!strstr(err.msg, rows[i].want))
			fail_msg("%s: %s", rows[i].address, err.msg);
	}
}

static void too_many_networks_are_refused(void **state)
{
	(void)state;
	static const char *list[1001];
	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		list[i] = "10.0.0.0/8";
	struct policy *p;
	struct err err;
	assert_int_equal(policy_new(&p, &(struct value_list){list, 1001}, &err), -1);
	assert_non_null(strstr(err.msg, "1001 networks"));
	p = policy_of(1000, list);
	policy_free(&p);
}

struct section {
	int64_t other;
	struct value_list networks;
};

static void the_setting_fills_a_list(void **state)
{
	(void)state;
	static const struct value_spec specs[] = {POLICY_SPECS(struct section, networks)};
	struct section s;
	struct arena arena = ARENA_INIT(65536);
	struct err err;
	value_defaults(specs, 1, &arena, &s);
	assert_int_equal(s.networks.n, 0);
	assert_int_equal(value_parse(specs, STR("127.0.0.0/8, ::1"), &arena, &s, &err), 0);
	struct policy *p = policy_of(s.networks.n, s.networks.item);
	expect(p, "::1", "public");
	policy_free(&p);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(special_addresses_are_refused_up_to_their_edges),
		cmocka_unit_test(a_network_that_is_named_opens_and_nothing_else),
		cmocka_unit_test(an_address_inside_an_address_must_be_allowed_too),
		cmocka_unit_test(metadata_opens_only_by_its_own_name),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(wrong_networks_are_named),
		cmocka_unit_test(too_many_networks_are_refused),
		cmocka_unit_test(the_setting_fills_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
