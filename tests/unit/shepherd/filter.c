#include "shepherd/filter.h"
#include "base/file.h"
#include "fetch/polite.h"

#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"

static const struct filter_defaults follow_all = {.follow_all = true};
static const struct filter_where somewhere = {.known = true};

static struct filter *filter_of(const char *text)
{
	struct filter *f = NULL;
	struct err err;
	if (filter_parse(str_of(text), "filter", &follow_all, &f, &err) < 0)
		fail_msg("%s", err.msg);
	return f;
}

static struct filter_url ask_url(const struct filter *f, const char *text, const char *type,
				 const struct filter_where *where)
{
	char room[URL_MAX];
	struct url u;
	struct filter_url ret;
	assert_int_equal(url_parse(str_of(text), NULL, room, sizeof room, &u), 0);
	filter_url(f, &u, str_of(type), where, &ret);
	return ret;
}

static struct filter_site ask_site(const struct filter *f, const char *text,
				   const struct filter_where *where)
{
	char room[URL_MAX];
	struct url u;
	struct filter_site ret;
	assert_int_equal(url_parse(str_of(text), NULL, room, sizeof room, &u), 0);
	filter_site(f, url_site(&u), where, &ret);
	return ret;
}

static qkey key_of(const char *v4, uint16_t port)
{
	struct qkey_addr a = {0};
	unsigned b[4];
	assert_int_equal(sscanf(v4, "%u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]), 4);
	for (size_t i = 0; i < 4; i++)
		a.b[i] = (uint8_t)b[i];
	return qkey_of(&a, port);
}

/* Whether one condition holds for a URL of a server with 5 sites, 192.0.2.7. */
static void conditions_hold_for_what_they_say(void **state)
{
	(void)state;
	static const struct {
		const char *cond, *url;
		bool holds;
	} cases[] = {
		{"any", "http://a/", true},
		{"!any", "http://a/", false},
		{"scheme http", "http://a/", true},
		{"scheme http", "https://a/", false},
		{"scheme HTTP*", "https://a/", true},
		{"scheme ftp", "ftp://a/", true},
		{"host example.org", "http://example.org/", true},
		{"host EXAMPLE.org", "http://example.org/", true},
		{"host example.org", "http://www.example.org/", false},
		{"host *.example.org", "http://www.example.org/", true},
		{"host *.example.org", "http://a.b.example.org/", true},
		{"host *.example.org", "http://example.org/", false},
		{"host *.example.org", "http://notexample.org/", false},
		{"host *example.org", "http://notexample.org/", true},
		{"host *", "http://a/", true},
		{"host a*b*c", "http://a1b2b3c/", true},
		{"host a*b*c", "http://a1b2b3cd/", false},
		{"host [2001:db8::1]", "http://[2001:db8::1]/", true},
		{"host 192.0.2.*", "http://192.0.2.99/", true},
		{"!host example.org", "http://example.com/", true},
		{"! host example.org", "http://example.org/", false},
		{"port 80", "http://a/", true},
		{"port 80*", "http://a:8080/", true},
		{"port 80", "https://a/", false},
		{"path /cgi/*", "http://a/cgi/x", true},
		{"path /cgi/*", "http://a/cgi", false},
		{"path /a:b", "http://a/a:b", true},
		{"path *.jpg", "http://a/b.jpg?x", true},
		{"path /A", "http://a/a", false},
		{"query sid=*", "http://a/?sid=1", true},
		{"query *a&b*", "http://a/?1a&b2", true},
		{"query *", "http://a/", true},
		{"query \"\"", "http://a/", true},
		{"query \"\"", "http://a/?x", false},
		{"type text/html", "http://a/", true},
		{"type text/html", "http://a/b.php", true},
		{"type text/html", "http://a/user.name", true},
		{"type text/html", "http://a/x.jpg", false},
		{"type IMAGE/*", "http://a/x.JPG", true},
		{"type application/x-7z*", "http://a/x.7z", true},
		{"type application/zip", "http://a/x.zip", true},
		{"type font/woff2", "http://a/x.woff2", true},
		{"type font/woff2", "http://a/woff2", false},
		{"section other", "http://a/", true},
		{"section o*", "http://a/", true},
		{"section other*", "http://a/", true},
		{"net 192.0.2.7", "http://a/", true},
		{"net 192.0.2.6/31", "http://a/", true},
		{"net 192.0.2.0/24", "http://a/", true},
		{"net 192.0.3.0/24", "http://a/", false},
		{"net 0.0.0.0/0", "http://a/", true},
		{"!net 192.0.3.0/24", "http://a/", true},
		{"net 2001:db8::/64", "http://a/", false},
		{"key_sites > 4", "http://a/", true},
		{"key_sites >5", "http://a/", false},
		{"depth > 0", "http://a/", false},
		{"depth > 0", "http://a/x", true},
		{"depth > 2", "http://a/x/y/", false},
		{"depth > 2", "http://a/x//y/z", true},
		{"host a & path /x", "http://a/x", true},
		{"host a & path /x", "http://b/x", false},
		{"host a & !path /x & scheme http :", "http://a/y", true},
	};
	struct filter_where where = {.qkey = key_of("192.0.2.7", 8080), .key_sites = 5};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[256];
		bool colon = strchr(cases[i].cond, 0)[-1] == ':';
		snprintf(text, sizeof text, "# one\n\n\t%s%s reject # why\r\n", cases[i].cond,
			 colon ? "" : ":");
		struct filter *f = filter_of(text);
		struct filter_url got = ask_url(f, cases[i].url, "", &where);
		if (got.reject != cases[i].holds)
			fail_msg("%s of %s", cases[i].cond, cases[i].url);
		assert_int_equal(got.reject_line, cases[i].holds ? 3 : 0);
		filter_free(&f);
		assert_null(f);
	}
}

static void ipv6_networks_are_known_by_their_64_bits(void **state)
{
	(void)state;
	struct filter *f = filter_of("net 2001:db8:0:1::/64: reject\n");
	struct qkey_addr a = {.v6 = true, .b = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1, 9, 9, 9, 9}};
	struct filter_where where = {.qkey = qkey_of(&a, 443)};
	assert_true(ask_url(f, "https://a/", "", &where).reject);
	a.b[7] = 2;
	where.qkey = qkey_of(&a, 443);
	assert_false(ask_url(f, "https://a/", "", &where).reject);
	filter_free(&f);
}

static void of_an_unknown_server_neither_net_nor_its_contrary_holds(void **state)
{
	(void)state;
	struct filter *f = filter_of("net 0.0.0.0/0: reject\n!net 0.0.0.0/0: reject\n"
				     "key_sites > 1: section=other\nkey_sites > 0: section=other");
	struct filter_where where = {0};
	assert_false(ask_url(f, "http://a/", "", &where).reject);
	assert_int_equal(ask_url(f, "http://a/", "", &where).section_line, 4);
	where.qkey = qkey_special(QKEY_NONEXISTENT, 0, 0);
	assert_false(ask_url(f, "http://a/", "", &where).reject);
	where.qkey = key_of("127.0.0.1", 0);
	assert_int_equal(ask_url(f, "http://a/", "", &where).reject_line, 1);
	filter_free(&f);
}

static void the_last_rule_that_matches_decides_each_output(void **state)
{
	(void)state;
	struct filter *f = filter_of("section pages 0.5 +10\n"
				     "section pdf 0.25 -255\n"
				     "section other 1\n"
				     "any: reject section=pages soft_limit=10 min_delay=5s\n"
				     "host a.example: accept min_delay=0\n"
				     "host a.example & path *.pdf: section=pdf\n"
				     "section pdf & path /no/*: reject\n"
				     "host *.example: max_conn=3 soft_limit=0\n");
	size_t n;
	const struct filter_section *s = filter_sections(f, &n);
	assert_int_equal(n, 3);
	assert_string_equal(s[1].name, "pdf");
	assert_true(s[0].share == 0.5 && s[0].bonus == 10 && s[1].bonus == -255);

	struct filter_url u = ask_url(f, "http://b.example/x.pdf", "", &somewhere);
	assert_true(u.reject && u.reject_line == 4 && u.section == 0 && u.section_line == 4);
	u = ask_url(f, "http://a.example/x.pdf", "", &somewhere);
	assert_true(!u.reject && u.reject_line == 5 && u.section == 1 && u.section_line == 6);
	u = ask_url(f, "http://a.example/no/x.pdf", "", &somewhere);
	assert_true(u.reject && u.reject_line == 7);

	struct filter_site got = ask_site(f, "http://a.example/", &somewhere);
	assert_true(got.line[FILTER_MIN_DELAY] == 5 && got.min_delay_us == 0);
	assert_true(got.line[FILTER_SOFT_LIMIT] == 8 && got.soft_limit == 0);
	assert_true(got.line[FILTER_MAX_CONN] == 8 && got.max_conn == 3);
	assert_int_equal(got.line[FILTER_HARD_LIMIT], 0);
	got = ask_site(f, "http://other/", &somewhere);
	assert_true(got.line[FILTER_MIN_DELAY] == 4 && got.min_delay_us == 5000000);
	assert_true(got.line[FILTER_SOFT_LIMIT] == 4 && got.soft_limit == 10);
	filter_free(&f);
}

static void outputs_on_sites_have_their_values(void **state)
{
	(void)state;
	struct filter *f =
		filter_of("any: soft_limit=1 hard_limit=2 fresh_limit=4294967295 min_delay=1min30s "
			  "max_conn=8 queue_bonus=2000000000 select_bonus=yes "
			  "refresh_schema=8:0.5,4:0.25,2:0.25 refresh_boost=0.5");
	struct filter_site s = ask_site(f, "ftp://a/", &somewhere);
	for (size_t i = 0; i < FILTER_OUTPUTS; i++)
		assert_int_equal(s.line[i], 1);
	assert_true(s.soft_limit == 1 && s.hard_limit == 2 && s.fresh_limit == UINT32_MAX);
	assert_true(s.min_delay_us == 90000000 && s.max_conn == 8 && s.queue_bonus == 2000000000);
	assert_true(s.select_bonus && s.refresh_boost == 0.5);
	assert_true(s.schema->n == 3 && s.schema->freq[1] == 4 && s.schema->share[1] == 0.25);
	filter_free(&f);
}

static void a_section_without_a_share_rejects(void **state)
{
	(void)state;
	struct filter *f = filter_of("section pages 1\nsection images 0\n"
				     "type text/*: section=pages\n"
				     "path /logo.png: accept\n"
				     "host x & type image/*: reject\n");
	struct filter_url u = ask_url(f, "http://a/x.png", "", &somewhere);
	assert_true(u.reject && u.reject_line == 2 && u.section == 1 && u.section_line == 0);
	u = ask_url(f, "http://a/logo.png", "", &somewhere);
	assert_true(u.reject && u.reject_line == 2);
	u = ask_url(f, "http://x/x.png", "", &somewhere);
	assert_true(u.reject && u.reject_line == 5);
	u = ask_url(f, "http://a/x.png", "Text/HTML", &somewhere);
	assert_true(!u.reject && u.section == 0 && u.section_line == 3);
	filter_free(&f);
}

static void the_depth_of_a_path_may_be_limited_by_a_setting(void **state)
{
	(void)state;
	const struct filter_defaults two = {.follow_all = true, .max_depth = 2};
	struct filter_where known = {.known = true};
	struct filter *f = NULL;
	struct err err;
	char text[64];
	assert_int_equal(filter_parse(STR("host deep: accept"), "filter", &two, &f, &err), 0);
	assert_false(ask_url(f, "http://a/", "", &known).reject);
	assert_false(ask_url(f, "http://a/b//c.html?d/e/f", "", &known).reject);
	struct filter_url u = ask_url(f, "http://a/b/c/d", "", &known);
	assert_true(u.reject && u.reject_line == FILTER_BY_DEPTH);
	assert_string_equal(filter_line_text(f, u.reject_line, text, sizeof text),
			    "shepherd.max_depth");
	assert_false(ask_url(f, "http://deep/b/c/d", "", &known).reject);
	filter_free(&f);
	assert_int_equal(filter_parse(STR(""), "filter", &follow_all, &f, &err), 0);
	assert_false(ask_url(f, "http://a/b/c/d/e/f/g/h/i/j/k", "", &known).reject);
	filter_free(&f);
}

static void settings_stand_before_the_first_rule(void **state)
{
	(void)state;
	static const char *const hosts[] = {"Mine.example", "mine.example:8080", "[::1]:81",
					    "[::2]"};
	const struct filter_defaults defaults = {.no_delay = {hosts, ARRAY_LEN(hosts)}};
	struct filter_where known = {.known = true}, unknown = {0};
	struct filter *f = NULL;
	struct err err;
	char text[64];
	assert_int_equal(filter_parse(STR("host b: accept\nhost slow.example & port 80: "
					  "min_delay=2s\nhost fast: min_delay=0"),
				      "filter", &defaults, &f, &err),
			 0);
	assert_false(ask_url(f, "http://a/", "", &known).reject);
	struct filter_url u = ask_url(f, "http://a/", "", &unknown);
	assert_true(u.reject && u.reject_line == FILTER_BY_SETTING);
	assert_string_equal(filter_line_text(f, u.reject_line, text, sizeof text),
			    "shepherd.follow");
	u = ask_url(f, "http://b/", "", &unknown);
	assert_true(!u.reject && u.reject_line == 1);
	assert_string_equal(filter_line_text(f, 1, text, sizeof text), "filter:1");

	static const struct {
		const char *url;
		bool fast;
	} cases[] = {
		{"http://mine.example/", true},
		{"https://mine.example/", true},
		{"http://mine.example:8080/", true},
		{"http://mine.example:8081/", false},
		{"http://www.mine.example/", false},
		{"http://[::1]:81/", true},
		{"http://[::1]/", false},
		{"http://[::2]/", true},
		{"http://slow.example/", false},
		{"http://fast:99/", true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct filter_site said = ask_site(f, cases[i].url, &known);
		bool fast = said.line[FILTER_MIN_DELAY] && said.min_delay_us == 0;
		if (fast != cases[i].fast)
			fail_msg("%s", cases[i].url);
	}
	struct filter_site s = ask_site(f, "http://mine.example/", &known);
	assert_true(s.max_conn == POLITE_CONCURRENT_MAX && s.min_delay_us == 0);
	assert_string_equal(filter_line_text(f, s.line[FILTER_MAX_CONN], text, sizeof text),
			    "shepherd.no_delay");
	filter_free(&f);
}

static void errors_name_the_line_and_what_was_expected(void **state)
{
	(void)state;
	static const struct {
		const char *text, *where, *what;
	} cases[] = {
		{"reject\n", "f:1: ", "unknown condition 'reject'"},
		{"\n\nhots a: reject\n", "f:3: ", "did you mean 'host'?"},
		{"foo a: reject\n", "f:1: ", "expected any, scheme, host"},
		{"host a reject\n", "f:1: ", "expected & or : after the condition, got 'reject'"},
		{"host a\n", "f:1: ", "expected a colon"},
		{"host a &: reject\n", "f:1: ", "expected a condition such as"},
		{"host a & & path /: reject\n", "f:1: ", "unknown condition '&'"},
		{": reject\n", "f:1: ", "expected a condition such as"},
		{"!: reject\n", "f:1: ", "expected a condition after !"},
		{"host: reject\n", "f:1: ", "host: expected a host such as"},
		{"host # a: reject\n", "f:1: ", "host: expected a host such as"},
		{"depth: reject\n", "f:1: ", "depth: expected > and a number after it"},
		{"depth > : reject\n", "f:1: ", "depth: expected > and a number, got ''"},
		{"depth < 3: reject\n", "f:1: ", "depth: expected > and a number, got '<'"},
		{"key_sites > -3: reject\n", "f:1: ", "key_sites: expected > and a number"},
		{"any:\n", "f:1: ", "expected outputs"},
		{"any: rejekt\n", "f:1: ", "unknown output 'rejekt'; did you mean 'reject'?"},
		{"any: min_dely=1s\n", "f:1: ", "did you mean 'min_delay'?"},
		{"any: xyzzy\n", "f:1: ", "expected reject, accept, section="},
		{"any: reject=yes\n", "f:1: ", "without a value"},
		{"any: min_delay\n", "f:1: ", "expected min_delay= and a value"},
		{"any: min_delay=soon\n", "f:1: ", "min_delay: expected a time"},
		{"any: min_delay=2d\n", "f:1: ", "min_delay: "},
		{"any: max_conn=0\n", "f:1: ", "max_conn: must be 1 to 8"},
		{"any: soft_limit=4294967296\n", "f:1: ", "soft_limit: "},
		{"any: queue_bonus=2000000001\n", "f:1: ", "queue_bonus: "},
		{"any: select_bonus=maybe\n", "f:1: ", "select_bonus: "},
		{"any: refresh_boost=nan\n", "f:1: ", "refresh_boost: "},
		{"any: refresh_boost=101\n", "f:1: ", "refresh_boost: "},
		{"any: refresh_schema=4\n", "f:1: ", "refresh_schema: expected FREQUENCY:SHARE"},
		{"any: refresh_schema=1:1\n", "f:1: ", "a frequency of 2 to 255"},
		{"any: refresh_schema=\n", "f:1: ", "expected frequencies"},
		{"any: refresh_schema=2:0.5,4:0.5\n", "f:1: ", "falling"},
		{"any: refresh_schema=4:0.8,2:0.5\n", "f:1: ", "together at most 1"},
		{"any: refresh_schema=4:nan\n", "f:1: ", "share of 4"},
		{"any: refresh_schema=10:0,9:0,8:0,7:0,6:0,5:0,4:0,3:0,2:0\n",
		 "f:1: ", "at most 8"},
		{"any: reject accept\n", "f:1: ", "expected each output once, got 'accept'"},
		{"any: soft_limit=1 soft_limit=1\n", "f:1: ", "each output once"},
		{"path /a: min_delay=1s\n", "f:1: ", "min_delay= is about whole sites, and path"},
		{"host a & depth > 1: accept max_conn=1\n", "f:1: ", "max_conn= is about"},
		{"type text/html: select_bonus=yes\n", "f:1: ", "and type is not"},
		{"scheme gopher: reject\n", "f:1: ", "expected http, https, ftp"},
		{"host http://a/: reject\n", "f:1: ", "expected a host such as"},
		{"host a:80: reject\n", "f:1: ", "expected a host such as"},
		{"host \"\": reject\n", "f:1: ", "expected a host such as"},
		{"host b\xc3\xbc.example: reject\n", "f:1: ", "not ASCII"},
		{"port http: reject\n", "f:1: ", "port: expected a number"},
		{"path cgi/*: reject\n", "f:1: ", "begins with / or *"},
		{"query ?a=b: reject\n", "f:1: ", "without the question mark"},
		{"type html: reject\n", "f:1: ", "expected a media type"},
		{"net 10.0.0.0/33: reject\n", "f:1: ", "0 to 32"},
		{"net 10.0.0.1/8: reject\n", "f:1: ", "0 after its first 8 bits"},
		{"net 10.1: reject\n", "f:1: ", "expected a network such as"},
		{"net 10.0.0.0/x: reject\n", "f:1: ", "expected a network such as"},
		{"net 2001:db8::/48: reject\n", "f:1: ", "only the /64 is known"},
		{"net 2001:db8::1: reject\n", "f:1: ", "only the /64 is known"},
		{"net 2001:db8::/99999999999: reject\n", "f:1: ", "only the /64 is known"},
		{"net 2001:db8::1/64: reject\n", "f:1: ", "0 after its first 64 bits"},
		{"section pages 1\nany: section=page\n", "f:2: ", "did you mean 'pages'?"},
		{"section pages 1\nsection pdf: reject\n", "f:2: ", "got 'pdf'"},
		{"section pages 1\nsection pages 1\n", "f:2: ", "first in line 1"},
		{"any: reject\nsection pages 1\n", "f:2: ", "before the first rule"},
		{"section\n", "f:1: ", "expected a name and a share"},
		{"section a.b 1\n", "f:1: ", "letters, digits"},
		{"section pages\n", "f:1: ", "expected its share"},
		{"section pages much\n", "f:1: ", "share: expected a number"},
		{"section pages 1.5\n", "f:1: ", "share: must be 0 to 1"},
		{"section pages 1 10\n", "f:1: ", "bonus of -255 to +255, got '10'"},
		{"section pages 1 +256\n", "f:1: ", "bonus of -255 to +255"},
		{"section pages 1 +1 x\n", "f:1: ", "nothing after the bonus"},
		{"host a\x01: reject\n", "f:1: ", "control character"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct filter *f = NULL;
		struct err err;
		if (filter_parse(str_of(cases[i].text), "f", &follow_all, &f, &err) != -1)
			fail_msg("%s", cases[i].text);
		assert_null(f);
		assert_int_equal(err.code, ERR_USAGE);
		if (strncmp(err.msg, cases[i].where, strlen(cases[i].where)) != 0 ||
		    !strstr(err.msg, cases[i].what))
			fail_msg("%s: %s", cases[i].text, err.msg);
	}
}

static void what_is_too_long_or_too_much_is_an_error(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	struct filter *f = NULL;
	struct err err;
	buf_add_text(&text, "path /");
	buf_fill(&text, 'a', 4096);
	buf_add_text(&text, ": reject\n");
	assert_int_equal(filter_parse(buf_str(&text), "f", &follow_all, &f, &err), -1);
	assert_non_null(strstr(err.msg, "f:1: expected at most 4096 bytes"));
	buf_clear(&text);
	buf_add_text(&text, "host ");
	buf_fill(&text, 'a', 256);
	buf_add_text(&text, ": reject\n");
	assert_int_equal(filter_parse(buf_str(&text), "f", &follow_all, &f, &err), -1);
	assert_non_null(strstr(err.msg, "longer than 255 bytes"));
	buf_clear(&text);
	for (unsigned i = 0; i <= FILTER_SECTIONS; i++)
		buf_printf(&text, "section s%u 0.1\n", i);
	assert_int_equal(filter_parse(buf_str(&text), "f", &follow_all, &f, &err), -1);
	assert_non_null(strstr(err.msg, "f:65: section: expected at most 64"));
	assert_int_equal(filter_parse((struct str){buf_text(&text), FILTER_FILE_MAX + 1u}, "f",
				      &follow_all, &f, &err),
			 -1);
	assert_null(f);
}

static void a_filter_is_read_from_its_file(void **state)
{
	(void)state;
	struct filter *f = NULL;
	struct err err;
	size_t n;
	assert_int_equal(filter_load(scratch("none"), &follow_all, &f, &err), 0);
	const struct filter_section *s = filter_sections(f, &n);
	assert_int_equal(n, 1);
	assert_string_equal(s[0].name, "other");
	assert_true(s[0].share == 1 && s[0].bonus == 0);
	assert_false(ask_url(f, "http://a/", "", &somewhere).reject);
	filter_free(&f);
	assert_int_equal(file_replace(scratch("good"), STR("any: reject"), 0600, &err), 0);
	assert_int_equal(filter_load(scratch("good"), &follow_all, &f, &err), 0);
	assert_true(ask_url(f, "http://a/", "", &somewhere).reject);
	filter_free(&f);
	assert_int_equal(file_replace(scratch("bad"), STR("any: reject\nany\n"), 0600, &err), 0);
	assert_int_equal(filter_load(scratch("bad"), &follow_all, &f, &err), -1);
	assert_non_null(strstr(err.msg, "bad:2: "));
	assert_int_equal(filter_load(scratch("."), &follow_all, &f, &err), -1);
	assert_null(f);
}

/* The rest of what it decides: tests/scenes/test_filter.py. */
static void the_sample_shortens_the_delay_of_servers_with_many_sites(void **state)
{
	(void)state;
	struct filter *f = NULL;
	struct err err;
	struct filter_where where = {.key_sites = 1000};
	if (access("etc/filter", F_OK) != 0)
		fail_msg("there is no etc/filter here: run this in the root of the tree");
	if (filter_load("etc/filter", &follow_all, &f, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(ask_site(f, "http://a/", &where).line[FILTER_MIN_DELAY], 0);
	where.key_sites = 1001;
	struct filter_site s = ask_site(f, "http://a/", &where);
	assert_true(s.line[FILTER_MIN_DELAY] && s.min_delay_us == 1000000);
	filter_free(&f);
}

/* Random rules, and each of them tried in order */

enum { RULES = 40, CONDS = 3, URLS = 60, SECTIONS = 3 };

static const char *const host_patterns[] = {
	"a.example", "b.example", "*.example", "*.a.example", "*.b.a.example",
	"x",         "*",         "a.*",       "*a*",         "*.*.example",
};
static const char *const host_texts[] = {
	"a.example", "b.example", "a.a.example", "c.b.a.example", "x", "y.x", "example", "xexample",
};
static const char *const path_patterns[] = {"/", "*", "/a*", "*b", "/a/*/b"};
static const char *const path_texts[] = {"/", "/a", "/b", "/a/b", "/a/c/b", "/c/d/e"};
static const char *const section_names[SECTIONS] = {"one", "two", "three"};

struct model_cond {
	enum { MODEL_ANY, MODEL_HOST, MODEL_PATH, MODEL_SECTION, MODEL_DEPTH, MODEL_KINDS } kind;
	bool negated;
	const char *pattern;
	unsigned number;
};

struct model_rule {
	struct model_cond cond[CONDS];
	unsigned nconds;
	int section, reject, limit; /* -1: not set */
};

static bool model_glob(const char *p, const char *s)
{
	if (*p == '*')
		return model_glob(p + 1, s) || (*s && model_glob(p, s + 1));
	return *p == *s && (!*s || model_glob(p + 1, s + 1));
}

static bool model_holds(const struct model_cond *c, const char *host, const char *path,
			unsigned section)
{
	unsigned depth = 0;
	for (const char *p = path; *p; p++)
		depth += *p == '/' && p[1];
	bool is = c->kind == MODEL_ANY || (c->kind == MODEL_HOST && model_glob(c->pattern, host)) ||
		  (c->kind == MODEL_PATH && model_glob(c->pattern, path)) ||
		  (c->kind == MODEL_SECTION && c->number == section) ||
		  (c->kind == MODEL_DEPTH && depth > c->number);
	return is != c->negated;
}

static void rule_print(const struct model_rule *r, struct buf *out)
{
	static const char *const names[] = {"any", "host", "path", "section", "depth"};
	for (unsigned i = 0; i < r->nconds; i++) {
		const struct model_cond *c = &r->cond[i];
		buf_printf(out, "%s%s%s", i ? " & " : "", c->negated ? "!" : "", names[c->kind]);
		if (c->kind == MODEL_DEPTH)
			buf_printf(out, " > %u", c->number);
		else if (c->kind == MODEL_SECTION)
			buf_printf(out, " %s", section_names[c->number]);
		else if (c->kind != MODEL_ANY)
			buf_printf(out, " %s", c->pattern);
	}
	buf_add_text(out, ":");
	if (r->reject >= 0)
		buf_printf(out, " %s", r->reject ? "reject" : "accept");
	if (r->section >= 0)
		buf_printf(out, " section=%s", section_names[r->section]);
	if (r->limit >= 0)
		buf_printf(out, " soft_limit=%d", r->limit);
	buf_add_text(out, "\n");
}

/* Half of them begin with a host; those with an output on sites have no other conditions. */
static struct model_rule rule_throw(uint64_t *seed)
{
	struct model_rule r = {.section = -1, .reject = -1, .limit = -1};
	bool of_sites = dice(seed) % 3 == 0;
	r.nconds = 1 + (unsigned)(dice(seed) % CONDS);
	for (unsigned i = 0; i < r.nconds; i++) {
		struct model_cond *c = &r.cond[i];
		unsigned kinds = of_sites ? MODEL_HOST + 1 : MODEL_KINDS;
		c->kind = i == 0 && dice(seed) % 2 ? MODEL_HOST : dice(seed) % kinds;
		c->negated = dice(seed) % 4 == 0;
		c->number = (unsigned)(dice(seed) % SECTIONS);
		c->pattern = c->kind == MODEL_HOST
				     ? host_patterns[dice(seed) % ARRAY_LEN(host_patterns)]
				     : path_patterns[dice(seed) % ARRAY_LEN(path_patterns)];
	}
	if (of_sites)
		r.limit = (int)(dice(seed) % 1000);
	if (dice(seed) % 2)
		r.section = (int)(dice(seed) % SECTIONS);
	if (dice(seed) % 2 || (r.section < 0 && r.limit < 0))
		r.reject = (int)(dice(seed) % 2);
	return r;
}

/* Lines are numbered after those of the sections. */
static void model_ask(const struct model_rule *rules, const char *host, const char *path,
		      struct filter_url *ret, uint32_t *ret_limit, uint32_t *ret_limit_line)
{
	*ret = (struct filter_url){.section = SECTIONS - 1};
	*ret_limit = *ret_limit_line = 0;
	for (unsigned i = 0; i < RULES; i++) {
		const struct model_rule *r = &rules[i];
		uint32_t line = SECTIONS + 1 + i;
		bool holds = true;
		for (unsigned k = 0; k < r->nconds; k++)
			holds = holds && model_holds(&r->cond[k], host, path, ret->section);
		if (!holds)
			continue;
		if (r->reject >= 0) {
			ret->reject = r->reject;
			ret->reject_line = line;
		}
		if (r->section >= 0) {
			ret->section = (uint8_t)r->section;
			ret->section_line = line;
		}
		if (r->limit >= 0) {
			*ret_limit = (uint32_t)r->limit;
			*ret_limit_line = line;
		}
	}
}

static void the_table_finds_what_trying_all_rules_finds(void **state)
{
	(void)state;
	unsigned rounds = unit_thorough() ? 20000 : 300, rejected = 0, limited = 0;
	uint64_t seed = 7;
	for (unsigned round = 0; round < rounds; round++) {
		struct model_rule rules[RULES];
		CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 16);
		buf_add_text(&text, "section one 1\nsection two 1\nsection three 1\n");
		for (unsigned i = 0; i < RULES; i++) {
			rules[i] = rule_throw(&seed);
			rule_print(&rules[i], &text);
		}
		struct filter *f = filter_of(buf_text(&text));
		for (unsigned i = 0; i < URLS; i++) {
			const char *host = host_texts[dice(&seed) % ARRAY_LEN(host_texts)];
			const char *path = path_texts[dice(&seed) % ARRAY_LEN(path_texts)];
			struct filter_url want;
			uint32_t limit, limit_line;
			char url[128];
			snprintf(url, sizeof url, "http://%s%s", host, path);
			model_ask(rules, host, path, &want, &limit, &limit_line);
			struct filter_url got = ask_url(f, url, "", &somewhere);
			struct filter_site site = ask_site(f, url, &somewhere);
			if (got.reject != want.reject || got.section != want.section ||
			    got.reject_line != want.reject_line ||
			    got.section_line != want.section_line || site.soft_limit != limit ||
			    site.line[FILTER_SOFT_LIMIT] != limit_line)
				fail_msg("%s:\n%s", url, buf_text(&text));
			rejected += got.reject;
			limited += limit_line != 0;
		}
		filter_free(&f);
	}
	assert_true(rejected > rounds && limited > rounds);
}

static void thousands_of_hosts_have_their_rules(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf text = BUF_INIT(16 << 20);
	for (unsigned i = 0; i < 5000; i++)
		buf_printf(&text, "host h%u.example: min_delay=%us\nhost *.h%u.example: reject\n",
			   i, i % 60, i);
	struct filter *f = filter_of(buf_text(&text));
	for (unsigned i = 0; i < 5000; i += 7) {
		char url[64];
		snprintf(url, sizeof url, "http://h%u.example/", i);
		struct filter_site s = ask_site(f, url, &somewhere);
		assert_true(s.line[FILTER_MIN_DELAY] == 2 * i + 1 &&
			    s.min_delay_us == i % 60 * 1000000);
		assert_false(ask_url(f, url, "", &somewhere).reject);
		snprintf(url, sizeof url, "http://a.b.h%u.example/", i);
		assert_int_equal(ask_url(f, url, "", &somewhere).reject_line, 2 * i + 2);
	}
	filter_free(&f);
}

static void schemas_are_parsed_with_blanks_or_commas(void **state)
{
	(void)state;
	struct schema s;
	struct err err;
	assert_int_equal(schema_parse(STR("4:0.3 2:0.7"), &s, &err), 0);
	assert_true(s.n == 2 && s.freq[0] == 4 && s.freq[1] == 2 && s.share[1] == 0.7);
	assert_int_equal(schema_parse(STR(" 255:1, "), &s, &err), 0);
	assert_true(s.n == 1 && s.freq[0] == 255);
	assert_int_equal(schema_parse(STR(" "), &s, &err), -1);
	assert_int_equal(s.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_hold_for_what_they_say),
		cmocka_unit_test(ipv6_networks_are_known_by_their_64_bits),
		cmocka_unit_test(of_an_unknown_server_neither_net_nor_its_contrary_holds),
		cmocka_unit_test(the_last_rule_that_matches_decides_each_output),
		cmocka_unit_test(outputs_on_sites_have_their_values),
		cmocka_unit_test(a_section_without_a_share_rejects),
		cmocka_unit_test(the_depth_of_a_path_may_be_limited_by_a_setting),
		cmocka_unit_test(settings_stand_before_the_first_rule),
		cmocka_unit_test(errors_name_the_line_and_what_was_expected),
		cmocka_unit_test(what_is_too_long_or_too_much_is_an_error),
		cmocka_unit_test(a_filter_is_read_from_its_file),
		cmocka_unit_test(the_sample_shortens_the_delay_of_servers_with_many_sites),
		cmocka_unit_test(the_table_finds_what_trying_all_rules_finds),
		cmocka_unit_test(thousands_of_hosts_have_their_rules),
		cmocka_unit_test(schemas_are_parsed_with_blanks_or_commas),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
