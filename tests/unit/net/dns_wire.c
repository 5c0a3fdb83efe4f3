#include "net/dns_inner.h"

#include "../dice.h"
#include "../unit.h"
#include "packet.h"

#include <netinet/in.h>
#include <stdio.h>

static void names_have_one_form(void **state)
{
	(void)state;
	static const struct {
		const char *host, *name;
	} c[] = {{"a", "a"},
		 {"Example.ORG", "example.org"},
		 {"example.org.", "example.org"},
		 {"_dmarc.x-y.org", "_dmarc.x-y.org"},
		 {"xn--bcher-kva.example", "xn--bcher-kva.example"},
		 {"1.2.3.4.in-addr.arpa", "1.2.3.4.in-addr.arpa"},
		 {"3com", "3com"},
		 {"0xg", "0xg"},
		 {"-a-.b", "-a-.b"}};
	char name[DNS_NAME + 1];
	size_t n;
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		assert_int_equal(dns_name(str_of(c[i].host), name, &n), 0);
		assert_string_equal(name, c[i].name);
		assert_int_equal(n, strlen(name));
	}
}

static void what_is_no_name_is_refused(void **state)
{
	(void)state;
	static const struct str bad[] = {
		STR(""),           STR("."),         STR(".."),        STR("a.."),   STR(".a"),
		STR("a..b"),       STR("a b"),       STR("a\0b"),      STR("a\0"),   STR("a/b"),
		STR("a:80"),       STR("user@host"), STR("b\xc3\xbc"), STR("a\\.b"), STR("127.1"),
		STR("1"),          STR("0x7f.1"),    STR("a.0x1"),     STR("a.0x"),  STR("1.2.3.4"),
		STR("1.2.3.4."),   STR("::1"),       STR("[::1]"),     STR("a%b"),   STR("*.a"),
		STR("2130706433"), STR("a.b\n")};
	char name[DNS_NAME + 1];
	size_t n;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (dns_name(bad[i], name, &n) == 0)
			fail_msg("'" STR_FMT "' was taken", STR_ARG(bad[i]));
}

static void names_and_labels_have_a_length(void **state)
{
	(void)state;
	char host[300], name[DNS_NAME + 1];
	size_t n;
	memset(host, 'a', sizeof host);
	assert_int_equal(dns_name((struct str){host, 63}, name, &n), 0);
	assert_int_equal(dns_name((struct str){host, 64}, name, &n), -1);
	host[64] = '.';
	assert_int_equal(dns_name((struct str){host, 70}, name, &n), -1);
	for (size_t i = 0; i < sizeof host; i++)
		host[i] = i % 50 == 49 ? '.' : 'a';
	host[253] = '.';
	assert_int_equal(dns_name((struct str){host, 253}, name, &n), 0);
	assert_int_equal(n, 253);
	assert_int_equal(dns_name((struct str){host, 254}, name, &n),
			 0); /* the dot is not counted */
	host[253] = 'a';
	assert_int_equal(dns_name((struct str){host, 254}, name, &n), -1);
}

static struct packet question(uint16_t flags, uint16_t type)
{
	return packet_begin(1, flags, STR("www.a.test"), type);
}

static struct dns_answer answer(struct packet *p, uint16_t type)
{
	struct dns_answer a;
	memset(&a, 0x5a, sizeof a);
	dns_read(packet_end(p), STR("www.a.test"), type, &a);
	buf_free(&p->b);
	return a;
}

static void expect_unknown(struct packet *p, enum dns_outcome outcome, const char *why)
{
	struct dns_answer a = answer(p, DNS_A);
	assert_int_equal(a.outcome, outcome);
	assert_int_equal(a.n, 0);
	assert_non_null(strstr(a.why, why));
}

static void addresses_come_with_the_shortest_time(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	packet_address(&p, "www.a.test", 300, "192.0.2.1");
	packet_address(&p, "WWW.A.test", 200, "192.0.2.2");
	packet_address(&p, "other.test", 5, "192.0.2.3"); /* nobody asked */
	packet_address(&p, "www.a.test", 5, "2001:db8::1");
	struct dns_answer a = answer(&p, DNS_A);
	assert_int_equal(a.outcome, DNS_FOUND);
	assert_int_equal(a.ttl_s, 200);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.addr[0].family, AF_INET);
	assert_int_equal(a.addr[1].b[3], 2);

	p = question(PACKET_ANSWER, DNS_AAAA);
	packet_address(&p, "www.a.test", UINT32_MAX, "2001:db8::1");
	a = answer(&p, DNS_AAAA);
	assert_int_equal(a.outcome, DNS_FOUND);
	assert_int_equal(a.addr[0].family, AF_INET6);
	assert_int_equal(a.ttl_s, 0);
}

static void aliases_are_followed_in_any_order(void **state)
{
	(void)state;
	for (int turned = 0; turned < 2; turned++) {
		struct packet p = question(PACKET_ANSWER, DNS_A);
		if (turned)
			packet_address(&p, "c.test", 300, "192.0.2.1");
		packet_alias(&p, turned ? "b.test" : "www.a.test", 60,
			     turned ? "C.test" : "b.test");
		packet_alias(&p, turned ? "www.a.test" : "b.test", 60,
			     turned ? "b.test" : "c.test");
		if (!turned)
			packet_address(&p, "c.test", 300, "192.0.2.1");
		struct dns_answer a = answer(&p, DNS_A);
		assert_int_equal(a.outcome, DNS_FOUND);
		assert_int_equal(a.n, 1);
		assert_int_equal(a.ttl_s, 60);
		assert_string_equal(a.canonical, "c.test");
	}
}

static void an_alias_of_no_host_name_has_no_canonical_name(void **state)
{
	(void)state;
	static const char *const owner[] = {"a b.test", "127.1", "x*.test"};
	for (size_t i = 0; i < ARRAY_LEN(owner); i++) {
		struct packet p = question(PACKET_ANSWER, DNS_A);
		packet_alias(&p, "www.a.test", 60, owner[i]);
		packet_address(&p, owner[i], 300, "192.0.2.1");
		struct dns_answer a = answer(&p, DNS_A);
		assert_int_equal(a.outcome, DNS_FOUND);
		assert_int_equal(a.canonical_n, 0);
	}
}

static struct dns_answer chain(unsigned aliases)
{
	struct packet p = question(PACKET_ANSWER, DNS_A);
	char from[20] = "www.a.test", to[20];
	for (unsigned i = 0; i < aliases; i++) {
		snprintf(to, sizeof to, "n%u.test", i);
		packet_alias(&p, from, 60, to);
		memcpy(from, to, sizeof to);
	}
	packet_address(&p, from, 60, "192.0.2.1");
	return answer(&p, DNS_A);
}

static void eight_aliases_are_followed_and_not_nine(void **state)
{
	(void)state;
	struct dns_answer a = chain(8);
	assert_int_equal(a.outcome, DNS_FOUND);
	a = chain(9);
	assert_int_equal(a.outcome, DNS_BROKEN);
	assert_non_null(strstr(a.why, "aliases"));
}

static void aliases_in_a_circle_end(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	packet_alias(&p, "www.a.test", 60, "b.test");
	packet_alias(&p, "b.test", 60, "www.a.test");
	expect_unknown(&p, DNS_BROKEN, "circle");
	p = question(PACKET_ANSWER, DNS_A);
	packet_alias(&p, "www.a.test", 60, "www.a.test");
	expect_unknown(&p, DNS_BROKEN, "circle");
}

static void negative_answers_hold_as_their_zone_says(void **state)
{
	(void)state;
	static const struct {
		uint16_t flags;
		uint32_t ttl_s, minimum;
		enum dns_outcome outcome;
		int64_t want_s;
	} c[] = {{PACKET_NO_NAME, 900, 300, DNS_NO_NAME, 300},
		 {PACKET_NO_NAME, 100, 300, DNS_NO_NAME, 100},
		 {PACKET_ANSWER, 900, 60, DNS_NO_ADDRESS, 60},
		 {PACKET_ANSWER, 900, 0, DNS_NO_ADDRESS, 0}};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct packet p = question(c[i].flags, DNS_A);
		packet_soa(&p, "test", c[i].ttl_s, c[i].minimum);
		struct dns_answer a = answer(&p, DNS_A);
		assert_int_equal(a.outcome, c[i].outcome);
		assert_int_equal(a.ttl_s, c[i].want_s);
	}
	struct packet p = question(PACKET_NO_NAME, DNS_A); /* no zone in it */
	assert_int_equal(answer(&p, DNS_A).ttl_s, -1);
	p = question(PACKET_ANSWER, DNS_A); /* an alias of a name without addresses */
	packet_alias(&p, "www.a.test", 20, "b.test");
	packet_soa(&p, "test", 900, 300);
	struct dns_answer a = answer(&p, DNS_A);
	assert_int_equal(a.outcome, DNS_NO_ADDRESS);
	assert_int_equal(a.ttl_s, 20);
}

static void sixteen_addresses_are_kept(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	for (int i = 0; i < 40; i++)
		packet_address(&p, "www.a.test", 60, "192.0.2.1");
	assert_int_equal(answer(&p, DNS_A).n, DNS_ADDRS);
	p = question(PACKET_ANSWER, DNS_A);
	for (int i = 0; i < 257; i++)
		packet_address(&p, "www.a.test", 60, "192.0.2.1");
	expect_unknown(&p, DNS_BROKEN, "too many records");
}

static void addresses_of_a_wrong_length_are_left_out(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	packet_record(&p, "www.a.test", DNS_A, 60, 5);
	buf_add(&p.b, "\1\2\3\4\5", 5);
	p.answers++;
	assert_int_equal(answer(&p, DNS_A).outcome, DNS_NO_ADDRESS);
}

static void answers_to_another_question_are_refused(void **state)
{
	(void)state;
	struct packet p = packet_begin(1, PACKET_ANSWER, STR("www.b.test"), DNS_A);
	packet_address(&p, "www.a.test", 60, "192.0.2.1");
	expect_unknown(&p, DNS_BROKEN, "another question");
	p = question(PACKET_ANSWER, DNS_AAAA);
	packet_address(&p, "www.a.test", 60, "192.0.2.1");
	expect_unknown(&p, DNS_BROKEN, "another question");
	p = question(0x0100, DNS_A);
	expect_unknown(&p, DNS_BROKEN, "not an answer");
	p = question(PACKET_FAILED, DNS_A);
	expect_unknown(&p, DNS_FAILED, "the server failed");
	/* one label with a dot in it is not two */
	p = (struct packet){.b = BUF_INIT(100)};
	buf_add(&p.b, "\0\1\x81\x80\0\1\0\0\0\0\0\0\5www.a\4test\0\0\1\0\1", 12 + 12 + 4);
	expect_unknown(&p, DNS_BROKEN, "another question");
}

/* A record whose owner is the bytes given, after a question of 12 + 12 + 4 bytes. */
static void expect_broken(const char *bytes, size_t n)
{
	struct packet p = question(PACKET_ANSWER, DNS_A);
	buf_add(&p.b, bytes, n);
	buf_add(&p.b, "\0\1\0\1\0\0\0\1\0\4\1\2\3\4", 14);
	p.answers++;
	expect_unknown(&p, DNS_BROKEN, "broken");
}

static void pointers_lead_back_or_nowhere(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	buf_add(&p.b, "\xc0\x0c\0\1\0\1\0\0\0\1\0\4\1\2\3\4", 16); /* to the question's name */
	p.answers++;
	assert_int_equal(answer(&p, DNS_A).n, 1);
	expect_broken("\xc0\x1c", 2); /* to itself */
	expect_broken("\xc0\x1d", 2);
	expect_broken("\xff\xff", 2);
	expect_broken("\1a\xc0\x1c", 4); /* in a circle */
	expect_broken("\x40", 1);        /* a kind of label that is not */
	expect_broken("\x80", 1);
}

static void a_name_of_more_than_255_bytes_is_broken(void **state)
{
	(void)state;
	char name[64 * 4 + 1] = {0};
	for (size_t i = 0; i < 4; i++) {
		memset(name + 64 * i, 'a', 64);
		name[64 * i] = 63;
	}
	expect_broken(name, sizeof name);
}

static void an_answer_cut_anywhere_gives_no_address(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	packet_alias(&p, "www.a.test", 60, "b.test");
	packet_address(&p, "b.test", 60, "192.0.2.1");
	struct str whole = packet_end(&p);
	struct dns_answer a;
	for (size_t n = 0; n < whole.n; n++) {
		char *cut = mem_copy(whole.p, n); /* so that reading on is seen */
		dns_read((struct str){cut, n}, STR("www.a.test"), DNS_A, &a);
		assert_int_equal(a.outcome, DNS_BROKEN);
		mem_free(&cut);
	}
	dns_read(whole, STR("www.a.test"), DNS_A, &a);
	assert_int_equal(a.outcome, DNS_FOUND);
	buf_free(&p.b);
}

static void changed_bytes_never_break_the_bounds(void **state)
{
	(void)state;
	struct packet p = question(PACKET_ANSWER, DNS_A);
	packet_alias(&p, "www.a.test", 60, "b.test");
	packet_address(&p, "b.test", 60, "192.0.2.1");
	packet_soa(&p, "test", 60, 60);
	struct str whole = packet_end(&p);
	uint64_t seed = 9;
	struct dns_answer a;
	for (int round = 0; round < 20000; round++) {
		char *bytes = mem_copy(whole.p, whole.n);
		for (uint64_t n = 1 + dice(&seed) % 4; n > 0; n--)
			bytes[dice(&seed) % whole.n] = (char)dice(&seed);
		dns_read((struct str){bytes, whole.n}, STR("www.a.test"), DNS_A, &a);
		assert_true(a.n <= DNS_ADDRS);
		assert_int_equal(a.n > 0, a.outcome == DNS_FOUND);
		mem_free(&bytes);
	}
	buf_free(&p.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_form),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(names_and_labels_have_a_length),
		cmocka_unit_test(addresses_come_with_the_shortest_time),
		cmocka_unit_test(aliases_are_followed_in_any_order),
		cmocka_unit_test(an_alias_of_no_host_name_has_no_canonical_name),
		cmocka_unit_test(eight_aliases_are_followed_and_not_nine),
		cmocka_unit_test(aliases_in_a_circle_end),
		cmocka_unit_test(negative_answers_hold_as_their_zone_says),
		cmocka_unit_test(sixteen_addresses_are_kept),
		cmocka_unit_test(addresses_of_a_wrong_length_are_left_out),
		cmocka_unit_test(answers_to_another_question_are_refused),
		cmocka_unit_test(pointers_lead_back_or_nowhere),
		cmocka_unit_test(a_name_of_more_than_255_bytes_is_broken),
		cmocka_unit_test(an_answer_cut_anywhere_gives_no_address),
		cmocka_unit_test(changed_bytes_never_break_the_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
