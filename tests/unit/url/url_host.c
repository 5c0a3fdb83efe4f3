/* Hosts and ports, by the rules of https://url.spec.whatwg.org/. */
#include "url_cases.h"

static void ports_are_numbers_and_their_own_default_is_left_out(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://a:80/", "http://a/"},
		{"http://a:443/", "http://a:443/"},
		{"https://a:443/", "https://a/"},
		{"https://a:80/", "https://a:80/"},
		{"ftp://a:21/", "ftp://a/"},
		{"http://a:/", "http://a/"},
		{"http://a:", "http://a/"},
		{"http://a:?b", "http://a/?b"},
		{"http://a:#b", "http://a/#b"},
		{"http://a:\\b", "http://a/b"},
		{"http://a:8080", "http://a:8080/"},
		{"http://a:0/", "http://a:0/"},
		{"http://a:00000000000080/", "http://a/"},
		{"http://a:0008080/", "http://a:8080/"},
		{"http://a:65535/", "http://a:65535/"},
		{"http://a:65536/", "invalid port"},
		{"http://a:99999999999999999999/", "invalid port"},
		{"http://a:-1/", "invalid port"},
		{"http://a:+1/", "invalid port"},
		{"http://a:8a/", "invalid port"},
		{"http://a:a/", "invalid port"},
		{"http://a: 80/", "invalid port"},
		{"http://a:80 /", "invalid port"},
		{"http://a:80:80/", "invalid port"},
		{"http://a:\xd9\xa1/", "invalid port"},
		{"http://:80/", "syntax error"},
		{"http://[::1]:81/", "http://[::1]:81/"},
		{"http://[::1]:80/", "http://[::1]/"},
		{"http://[::1]:/", "http://[::1]/"},
		{"http://1.2.3.4:81/", "http://1.2.3.4:81/"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void plain_hosts_are_made_lower_case(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://EXAMPLE.com", "http://example.com/"},
		{"http://a-b.c_d.e", "http://a-b.c_d.e/"},
		{"http://a.", "http://a./"},
		{"http://a..", "http://a../"},
		{"http://a..b", "http://a..b/"},
		{"http://.a", "http://.a/"},
		{"http://.", "http://./"},
		{"http://..", "http://../"},
		{"http://-a-", "http://-a-/"},
		{"http://r3---sn-x.example", "http://r3---sn-x.example/"},
		{"http://!$&'()*+,;=~`{}\"", "http://!$&'()*+,;=~`{}\"/"},
		{"http://a<b", "invalid char"},
		{"http://a>b", "invalid char"},
		{"http://a^b", "invalid char"},
		{"http://a|b", "invalid char"},
		{"http://a]b", "invalid char"},
		{"http://a[b", "invalid char"},
		{"http://a[b]:80", "invalid char"},
		{"http://a\x7f", "invalid char"},
		{"http://a\x01"
		 "b",
		 "invalid char"},
		{"http://a%b", "invalid char"},
		{"http://a%zz", "invalid char"},
		{"http://%", "invalid char"},
		{"http://%41.%62", "http://a.b/"},
		{"http://ex%61MPLE.com", "http://example.com/"},
		{"http://a%2eb", "http://a.b/"},
		{"http://a%20b", "invalid char"},
		{"http://a%00b", "invalid char"},
		{"http://a%2fb", "invalid char"},
		{"http://a%3ab", "invalid char"},
		{"http://a%40b", "invalid char"},
		{"http://a%25b", "invalid char"},
		{"http://a%2541", "invalid char"},
		{"http://%ff", "invalid char"},
		{"http://%c3%28", "invalid char"},
		{"http://\xff", "invalid char"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void names_beyond_ascii_go_through_idna(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://b\xc3\xbc"
		 "cher.example/",
		 "http://xn--bcher-kva.example/"},
		{"http://B\xc3\x9c"
		 "CHER.example/",
		 "http://xn--bcher-kva.example/"},
		{"http://bu\xcc\x88"
		 "cher.example/",
		 "http://xn--bcher-kva.example/"}, /* NFC */
		{"http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
		{"http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"},
		{"http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"},
		{"http://fa\xc3\x9f.de/", "http://xn--fa-hia.de/"}, /* not "fass" */
		{"http://\xcf\x82.example/", "http://xn--3xa.example/"},
		{"http://\xce\xa3.example/", "http://xn--4xa.example/"},
		{"http://\xe4\xbe\x8b\xe3\x81\x88.example/", "http://xn--r8jz45g.example/"},
		{"http://\xe2\x98\x95.example/", "http://xn--53h.example/"}, /* a symbol */
		{"http://xn--53h.example/", "http://xn--53h.example/"},
		{"http://a\xe3\x80\x82"
		 "b/",
		 "http://a.b/"}, /* an ideographic full stop */
		{"http://\xef\xbd\x81\xef\xbc\x8e\xef\xbd\x82/", "http://a.b/"}, /* full width */
		{"http://\xef\xbc\x91.\xef\xbc\x92.3.4/", "http://1.2.3.4/"},
		{"http://a\xc2\xad"
		 "b/",
		 "http://ab/"}, /* a soft hyphen */
		{"http://\xc2\xad/", "syntax error"},
		{"http://\xef\xac\x83.example/", "http://ffi.example/"},
		{"http://a~\xc3\xbc.example/", "syntax error"},
		{"http://xn--/", "syntax error"},
		{"http://xn--a/", "syntax error"},
		{"http://xn--\xc3\xbc/", "syntax error"},
		{"http://a\xe2\x80\x8d"
		 "b/",
		 "syntax error"},                              /* a joiner where none may be */
		{"http://a\xd7\x90.example/", "syntax error"}, /* both directions */
		{"http://\xef\xbf\xbd.example/", "syntax error"},
		{"http://\xe2\x84\x80.example/", "invalid char"}, /* maps to "a/c" */
		{"http://\xef\xbc\x85.example/", "invalid char"}, /* a wide % */
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void ipv4_comes_in_many_forms(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://1.2.3.4", "http://1.2.3.4/"},
		{"http://1.2.3.4.", "http://1.2.3.4/"},
		{"http://1.2.3.4..", "http://1.2.3.4../"},
		{"http://1.2.3", "http://1.2.0.3/"},
		{"http://1.2", "http://1.0.0.2/"},
		{"http://1", "http://0.0.0.1/"},
		{"http://0", "http://0.0.0.0/"},
		{"http://256", "http://0.0.1.0/"},
		{"http://1.256", "http://1.0.1.0/"},
		{"http://1.16777215", "http://1.255.255.255/"},
		{"http://1.16777216", "syntax error"},
		{"http://1.2.65535", "http://1.2.255.255/"},
		{"http://1.2.65536", "syntax error"},
		{"http://1.2.3.256", "syntax error"},
		{"http://1.256.3", "syntax error"},
		{"http://256.2.3.4", "syntax error"},
		{"http://4294967295", "http://255.255.255.255/"},
		{"http://4294967296", "syntax error"},
		{"http://99999999999999999999999999", "syntax error"},
		{"http://0x7f.1", "http://127.0.0.1/"},
		{"http://0X7F000001", "http://127.0.0.1/"},
		{"http://0xffffffff", "http://255.255.255.255/"},
		{"http://0x100000000", "syntax error"},
		{"http://0x", "http://0.0.0.0/"},
		{"http://0x.0x.0x.0x", "http://0.0.0.0/"},
		{"http://017700000001", "http://127.0.0.1/"},
		{"http://0177.0.0.01", "http://127.0.0.1/"},
		{"http://00", "http://0.0.0.0/"},
		{"http://0000000000000000000001", "http://0.0.0.1/"},
		{"http://08", "syntax error"},
		{"http://1.2.3.09", "syntax error"},
		{"http://1.2.3.0x", "http://1.2.3.0/"},
		{"http://1.2.3.0xg", "http://1.2.3.0xg/"},
		{"http://1.2.3.4.5", "syntax error"},
		{"http://1..2", "syntax error"},
		{"http://.1", "syntax error"},
		{"http://a.1", "syntax error"},
		{"http://a.0x1", "syntax error"},
		{"http://a.09", "syntax error"},
		{"http://a.b1", "http://a.b1/"},
		{"http://a.1b", "http://a.1b/"},
		{"http://1.a", "http://1.a/"},
		{"http://1.2.3.4a", "http://1.2.3.4a/"},
		{"http://1e2", "http://1e2/"},
		{"http://a.1..", "http://a.1../"},
		{"http://%31.2.3.4", "http://1.2.3.4/"},
		{"http://u@0x7f.1", "http://u@127.0.0.1/"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

static void ipv6_is_written_in_its_shortest_form(void **state)
{
	(void)state;
	static const struct parse_case cases[] = {
		{"http://[::]", "http://[::]/"},
		{"http://[::1]", "http://[::1]/"},
		{"http://[1::]", "http://[1::]/"},
		{"http://[1::8]", "http://[1::8]/"},
		{"http://[0:0:0:0:0:0:0:0]", "http://[::]/"},
		{"http://[0:0:0:0:0:0:0:1]", "http://[::1]/"},
		{"http://[1:0:0:0:0:0:0:0]", "http://[1::]/"},
		{"http://[1:2:3:4:5:6:7:8]", "http://[1:2:3:4:5:6:7:8]/"},
		{"http://[1:2:3:4:5:6:7::]", "http://[1:2:3:4:5:6:7:0]/"},
		{"http://[::2:3:4:5:6:7:8]", "http://[0:2:3:4:5:6:7:8]/"},
		{"http://[1:0:3:4:5:6:7:8]", "http://[1:0:3:4:5:6:7:8]/"},
		{"http://[1:0:0:4:5:0:0:8]", "http://[1::4:5:0:0:8]/"},
		{"http://[1:0:0:4:0:0:0:8]", "http://[1:0:0:4::8]/"},
		{"http://[0:0:3:4:5:6:0:0]", "http://[::3:4:5:6:0:0]/"},
		{"http://[FE80::ABCD]", "http://[fe80::abcd]/"},
		{"http://[0001:0020:0300:4000::]", "http://[1:20:300:4000::]/"},
		{"http://[::ffff:1.2.3.4]", "http://[::ffff:102:304]/"},
		{"http://[::1.2.3.4]", "http://[::102:304]/"},
		{"http://[1:2:3:4:5:6:1.2.3.4]", "http://[1:2:3:4:5:6:102:304]/"},
		{"http://[::255.255.255.255]", "http://[::ffff:ffff]/"},
		{"http://[1:2:3:4:5:6:7:1.2.3.4]", "syntax error"},
		{"http://[1.2.3.4]", "syntax error"},
		{"http://[::1.2.3]", "syntax error"},
		{"http://[::1.2.3.4.5]", "syntax error"},
		{"http://[::1.2.3.256]", "syntax error"},
		{"http://[::1.2.3.04]", "syntax error"},
		{"http://[::1.2.3.]", "syntax error"},
		{"http://[::.1.2.3]", "syntax error"},
		{"http://[::1.2.3.4:5]", "syntax error"},
		{"http://[::a.2.3.4]", "syntax error"},
		{"http://[]", "syntax error"},
		{"http://[:]", "syntax error"},
		{"http://[:::]", "syntax error"},
		{"http://[1]", "syntax error"},
		{"http://[:1]", "syntax error"},
		{"http://[1:]", "syntax error"},
		{"http://[1:2:3:4:5:6:7]", "syntax error"},
		{"http://[1:2:3:4:5:6:7:]", "syntax error"},
		{"http://[1:2:3:4:5:6:7:8:]", "syntax error"},
		{"http://[1:2:3:4:5:6:7:8::]", "syntax error"},
		{"http://[1:2:3:4::5:6:7:8]", "syntax error"},
		{"http://[1:2:3:4:5:6:7:8:9]", "syntax error"},
		{"http://[1::2::3]", "syntax error"},
		{"http://[12345::]", "syntax error"},
		{"http://[g::]", "syntax error"},
		{"http://[::1%eth0]", "syntax error"},
		{"http://[::1%25eth0]", "syntax error"},
		{"http://[ ::1]", "syntax error"},
		{"http://[%3a%3a1]", "syntax error"},
		{"http://[::1", "syntax error"},
		{"http://[::1/", "syntax error"},
		{"http://[::1]a", "syntax error"},
		{"http://[::1]]", "syntax error"},
		{"http://[[::1]]", "syntax error"},
		{"http://[", "syntax error"},
		{"http://]", "invalid char"},
		{"http://::1", "syntax error"},
	};
	check_all(cases, ARRAY_LEN(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_numbers_and_their_own_default_is_left_out),
		cmocka_unit_test(plain_hosts_are_made_lower_case),
		cmocka_unit_test(names_beyond_ascii_go_through_idna),
		cmocka_unit_test(ipv4_comes_in_many_forms),
		cmocka_unit_test(ipv6_is_written_in_its_shortest_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
