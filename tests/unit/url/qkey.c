#include "url/qkey.h"

#include "../unit.h"

#include <stdio.h>

static const struct qkey_addr v4 = {false, {192, 0, 2, 1}};
static const struct qkey_addr loopback = {false, {127, 0, 0, 1}};
static const struct qkey_addr v6 = {true,
				    {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9}};

static void prints(qkey k, const char *want)
{
	char text[QKEY_TEXT];
	assert_string_equal(qkey_print(k, text), want);
}

static void keys_print_as_in_the_document(void **state)
{
	(void)state;
	prints(qkey_of(&v4, 0), "c0000201");
	prints(qkey_of(&v4, 80), "c0000201:80");
	prints(qkey_of(&v4, 65535), "c0000201:65535");
	prints(qkey_of(&loopback, 0), "127.0.0.1");
	prints(qkey_of(&loopback, 8080), "127.0.0.1:8080");
	prints(qkey_special(QKEY_UNRESOLVED, 0, 0), "7f000000");
	prints(qkey_special(QKEY_UNRESOLVED, 0x12345, 0), "7f002345");
	prints(qkey_special(QKEY_OFF_NETWORK, 0xffff, 21), "7f01ffff:21");
	prints(qkey_special(QKEY_NONEXISTENT, 1, 443), "7f020001:443");
	prints(qkey_of(&(struct qkey_addr){false, {0, 0, 0, 5}}, 0), "00000005");
	prints(qkey_of(&(struct qkey_addr){false, {255, 255, 255, 255}}, 0), "ffffffff");
}

static void the_text_of_a_resolved_key_reads_as_the_key(void **state)
{
	(void)state;
	static const char *const none[] = {
		"",           "c000020",        "c00002011",       "C0000201",     "7f000001",
		"7f002345",   "127.0.0.256",    "127.0.0",         "126.0.0.1",    "127.0.0.01",
		"c0000201:",  "c0000201:0",     "c0000201:65536",  "c0000201:80:", "c0000201:080",
		"6.1bcff92b", "6.ffffffff3638", "6.1bcff92b3638 ", "a.test",
	};
	const qkey keys[] = {
		qkey_of(&v4, 0),       qkey_of(&v4, 65535), qkey_of(&loopback, 0),
		qkey_of(&loopback, 1), qkey_of(&v6, 0),     qkey_of(&v6, 80),
	};
	char text[QKEY_TEXT];
	qkey k = 7;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		assert_true(qkey_parse(str_of(qkey_print(keys[i], text)), &k));
		assert_true(k == keys[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (qkey_parse(str_of(none[i]), &k))
			fail_msg("'%s' was read", none[i]);
}

/* On disk they stay what they are; a change of this number breaks what is stored. */
static void an_ipv6_key_never_changes(void **state)
{
	(void)state;
	prints(qkey_of(&v6, 80), "6.1bcff92b3638:80");
}

static void the_parts_come_out_as_they_went_in(void **state)
{
	(void)state;
	qkey k = qkey_of(&v4, 81);
	assert_int_equal(qkey_kind(k), QKEY_RESOLVED);
	assert_false(qkey_is_v6(k));
	assert_int_equal(qkey_port(k), 81);
	k = qkey_of(&v6, 443);
	assert_int_equal(qkey_kind(k), QKEY_RESOLVED);
	assert_true(qkey_is_v6(k));
	assert_int_equal(qkey_port(k), 443);
	for (int kind = QKEY_UNRESOLVED; kind <= QKEY_NONEXISTENT; kind++) {
		if (kind == QKEY_RESOLVED)
			continue;
		k = qkey_special((enum qkey_kind)kind, UINT64_MAX, 65535);
		assert_int_equal(qkey_kind(k), kind);
		assert_false(qkey_is_v6(k));
		assert_int_equal(qkey_port(k), 65535);
	}
}

static void ipv6_counts_by_64(void **state)
{
	(void)state;
	struct qkey_addr other = v6;
	other.b[15] = 77;
	other.b[8] = 1;
	assert_true(qkey_of(&other, 80) == qkey_of(&v6, 80));
	assert_true(qkey_of(&other, 81) != qkey_of(&v6, 80));
	for (unsigned bit = 0; bit < 64; bit++) {
		other = v6;
		other.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_true(qkey_of(&other, 80) != qkey_of(&v6, 80));
	}
}

/* A hundred thousand networks in a row, as providers give them out: 45 bits are enough. */
static void ipv6_networks_rarely_share_a_key(void **state)
{
	(void)state;
	enum { N = 100000, SLOTS = 1 << 18 };
	qkey *seen = mem_array(SLOTS, sizeof *seen);
	unsigned shared = 0;
	struct qkey_addr a = {true, {0x20, 0x01}};
	for (unsigned i = 0; i < N; i++) {
		a.b[5] = (uint8_t)(i >> 16);
		a.b[6] = (uint8_t)(i >> 8);
		a.b[7] = (uint8_t)i;
		qkey k = qkey_of(&a, 80);
		size_t at = (k ^ k >> 48) % SLOTS;
		for (; seen[at] && seen[at] != k; at = (at + 1) % SLOTS)
			;
		shared += seen[at] == k;
		seen[at] = k;
	}
	assert_int_equal(shared, 0);
	mem_free(&seen);
}

static void the_choice_does_not_depend_on_the_order(void **state)
{
	(void)state;
	const struct qkey_addr a[] = {v4, v6, {false, {10, 0, 0, 1}}, {false, {10, 0, 0, 2}}};
	const struct qkey_addr b[] = {a[3], a[1], a[0], a[2]};
	bool chosen[4] = {false};
	for (unsigned i = 0; i < 200; i++) {
		char host[32];
		int n = snprintf(host, sizeof host, "host%u.example", i);
		struct str name = {host, (size_t)n};
		const struct qkey_addr *x = qkey_choose(a, 4, name), *y = qkey_choose(b, 4, name);
		assert_true(qkey_of(x, 80) == qkey_of(y, 80));
		assert_true(x == qkey_choose(a, 4, name));
		chosen[x - a] = true;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_true(chosen[i]);
	assert_true(qkey_choose(a, 1, STR("x")) == a);
	const struct qkey_addr twice[] = {v4, v4, v4};
	assert_true(qkey_of(qkey_choose(twice, 3, STR("y")), 1) == qkey_of(&v4, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_print_as_in_the_document),
		cmocka_unit_test(the_text_of_a_resolved_key_reads_as_the_key),
		cmocka_unit_test(an_ipv6_key_never_changes),
		cmocka_unit_test(the_parts_come_out_as_they_went_in),
		cmocka_unit_test(ipv6_counts_by_64),
		cmocka_unit_test(ipv6_networks_rarely_share_a_key),
		cmocka_unit_test(the_choice_does_not_depend_on_the_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
