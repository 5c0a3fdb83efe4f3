/* DNS against a name server of our own in the same loop; tests/scenes/test_dns.py has a real one.
 */
#include "net/dns_inner.h"

#include "../unit.h"
#include "net/loop.h"
#include "packet.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the server knows: a record a row. A name that begins with "drop" gets no answer, one with
 * "fail" a failure; what is not here does not exist. */
static const struct {
	const char *owner, *type, *data;
	uint32_t ttl_s;
} zone[] = {
	{"both.test", "A", "8.8.8.8", 300},
	{"both.test", "AAAA", "2606:4700::1", 300},
	{"v4.test", "A", "8.8.4.4", 300},
	{"v6.test", "AAAA", "2606:4700::2", 300},
	{"short.test", "A", "8.8.4.4", 1},
	{"long.test", "A", "8.8.4.4", 10000000},
	{"mixed.test", "A", "10.0.0.1", 300},
	{"mixed.test", "A", "8.8.8.8", 300},
	{"mixed.test", "AAAA", "::1", 300},
	{"inside.test", "A", "127.0.0.1", 300},
	{"inside.test", "AAAA", "::1", 300},
	{"alias.test", "CNAME", "both.test", 100},
	{"far.test", "CNAME", "alias.test", 100},
	{"half.test", "CNAME", "v4.test", 100},
	{"lost.test", "CNAME", "empty.test", 100},
	{"outside.test", "CNAME", "mixed.test", 100},
	{"circle.test", "CNAME", "circle.test", 100},
	{"empty.test", "TXT", "", 100},
	{"half-fail.test", "A", "8.8.8.8", 300}, /* its AAAA fails */
};

struct world {
	struct loop *loop;
	struct policy *policy;
	struct dns *dns;
	struct dns_conf conf;
	struct loop_io io;
	int fd;
	unsigned questions, dropped;
	char server[32];
	const char *servers[1];
};

/* A lookup and what came of it; the addresses are copied. */
struct look {
	struct world *w;
	struct dns_wait wait;
	struct dns_result result;
	struct addr addr[32];
	char canonical[DNS_NAME + 1];
	unsigned times;
	struct dns_wait *cancels; /* when it is told */
	const char *then;         /* looked up when it is told */
};

static void add_records(struct packet *p, const char *name, const char *type, unsigned depth)
{
	for (size_t i = 0; i < ARRAY_LEN(zone); i++) {
		if (strcmp(zone[i].owner, name) != 0)
			continue;
		if (strcmp(zone[i].type, type) == 0)
			packet_address(p, name, zone[i].ttl_s, zone[i].data);
		if (strcmp(zone[i].type, "CNAME") == 0 && depth > 0) {
			packet_alias(p, name, zone[i].ttl_s, zone[i].data);
			add_records(p, zone[i].data, type, depth - 1);
		}
	}
}

static bool exists(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(zone); i++)
		if (strcmp(zone[i].owner, name) == 0)
			return true;
	return false;
}

/* The name in a question, in dots; -1: not one that our own would send. */
static int read_question(struct str packet, char *name, size_t cap, uint16_t *ret_id,
			 uint16_t *ret_type)
{
	struct reader r = reader_of(packet);
	size_t n = 0, len;
	*ret_id = reader_u16be(&r);
	reader_skip(&r, 10);
	while ((len = reader_u8(&r)) != 0 && n + len + 1 < cap) {
		struct str label = reader_bytes(&r, len);
		if (r.bad)
			return -1;
		if (n)
			name[n++] = '.';
		memcpy(name + n, label.p, label.n);
		n += len;
	}
	name[n] = 0;
	*ret_type = reader_u16be(&r);
	return r.bad ? -1 : 0;
}

static uint16_t answer_flags(const char *name, uint16_t type)
{
	bool second = type == DNS_AAAA;
	if (strncmp(name, "fail", 4) == 0 || (strncmp(name, "half-fail", 9) == 0 && second) ||
	    (strncmp(name, "form-and-fail", 13) == 0 && second))
		return PACKET_FAILED;
	if (strncmp(name, "form", 4) == 0)
		return PACKET_FORM;
	return exists(name) ? PACKET_ANSWER : PACKET_NO_NAME;
}

static void serve(void *ctx, unsigned what)
{
	struct world *w = ctx;
	struct sockaddr_storage from;
	socklen_t from_len = sizeof from;
	char bytes[2048], name[256];
	uint16_t id = 0, type = 0;
	(void)what;
	ssize_t n = recvfrom(w->fd, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from,
			     &from_len);
	if (n < 0)
		return;
	struct str question = {bytes, (size_t)n};
	assert_int_equal(read_question(question, name, sizeof name, &id, &type), 0);
	w->questions++;
	if (strncmp(name, "drop", 4) == 0) {
		w->dropped++;
		return;
	}
	struct packet p = packet_begin(id, answer_flags(name, type), str_of(name), type);
	add_records(&p, name, type == DNS_A ? "A" : "AAAA", 3);
	if (p.answers == 0)
		packet_soa(&p, "test", 600, 120);
	struct str answer = packet_end(&p);
	sendto(w->fd, answer.p, answer.n, 0, (struct sockaddr *)&from, from_len);
	buf_free(&p.b);
}

static void open_server(struct world *w)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof sa;
	w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(w->fd >= 0);
	assert_int_equal(bind(w->fd, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(getsockname(w->fd, (struct sockaddr *)&sa, &len), 0);
	snprintf(w->server, sizeof w->server, "127.0.0.1:%u", ntohs(sa.sin_port));
	w->io = (struct loop_io){.fn = serve, .ctx = w};
	loop_io_want(w->loop, &w->io, w->fd, LOOP_READ);
}

struct section {
	bool other;
	struct dns_conf dns;
};
static const struct value_spec specs[] = {DNS_SPECS(struct section, dns)};

static struct dns_conf default_conf(void)
{
	struct section s;
	struct arena arena = ARENA_INIT(65536);
	value_defaults(specs, ARRAY_LEN(specs), &arena, &s);
	arena_free(&arena);
	s.dns.servers = (struct value_list){0};
	return s.dns;
}

static void begin(struct world *w, bool manual)
{
	struct err err;
	*w = (struct world){.conf = default_conf()};
	assert_int_equal(loop_new(&w->loop, &(struct loop_options){.manual = manual}, &err), 0);
	assert_int_equal(policy_new(&w->policy, &(struct value_list){0}, &err), 0);
	open_server(w);
	w->servers[0] = w->server;
	w->conf.servers = (struct value_list){w->servers, 1};
	w->conf.timeout_us = 50 * US_PER_MS;
	w->conf.tries = 1;
}

static void open_dns(struct world *w)
{
	struct err err;
	dns_free(&w->dns);
	if (dns_new(&w->dns, w->loop, &w->conf, w->policy, &err) < 0)
		fail_msg("%s", err.msg);
}

static void end(struct world *w)
{
	dns_free(&w->dns);
	assert_null(w->dns);
	loop_io_end(&w->io);
	close(w->fd);
	loop_free(&w->loop);
	policy_free(&w->policy);
}

static void keep(struct look *l, const struct dns_result *r)
{
	l->times++;
	l->result = *r;
	assert_true(r->n <= ARRAY_LEN(l->addr));
	if (r->n)
		memcpy(l->addr, r->addr, r->n * sizeof r->addr[0]);
	l->result.addr = l->addr;
	memcpy(l->canonical, r->canonical.p ? r->canonical.p : "", r->canonical.n);
	l->canonical[r->canonical.n] = 0;
}

static void told(void *ctx, const struct dns_result *r)
{
	struct look *l = ctx;
	keep(l, r);
	if (l->cancels)
		dns_cancel(l->cancels);
	if (l->then) {
		const char *then = l->then;
		l->then = NULL;
		if (dns_lookup(l->w->dns, str_of(then), DNS_ANY, &l->wait, &l->result) == 0)
			keep(l, &l->result);
	}
}

static int ask(struct world *w, struct look *l, const char *host, enum dns_family family)
{
	*l = (struct look){.w = w, .wait = {.done = told, .ctx = l}};
	int rc = dns_lookup(w->dns, str_of(host), family, &l->wait, &l->result);
	assert_int_equal(l->times, 0); /* never from inside the call */
	if (rc == 0)
		keep(l, &l->result);
	return rc;
}

static void turn(struct world *w)
{
	loop_poll(w->loop);
	usleep(200);
}

static void wait_for(struct world *w, struct look *l)
{
	for (int i = 0; i < 50000 && l->times == 0; i++)
		turn(w);
	assert_int_equal(l->times, 1);
}

/* Asks and waits; returns whether a server was asked. */
static bool find(struct world *w, struct look *l, const char *host)
{
	unsigned before = w->questions;
	if (ask(w, l, host, DNS_ANY) == 1)
		wait_for(w, l);
	return w->questions > before;
}

static void expect(const struct look *l, enum dns_outcome outcome, size_t n, const char *first)
{
	char shown[ADDR_SHOWN];
	assert_string_equal(dns_outcome_word(l->result.outcome), dns_outcome_word(outcome));
	assert_int_equal(l->result.n, n);
	if (first)
		assert_string_equal(addr_print(&l->addr[0], shown), first);
}

static void both_families_are_found_and_then_known(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, false);
	open_dns(&w);
	assert_true(find(&w, &l, "both.test"));
	expect(&l, DNS_FOUND, 2, "8.8.8.8");
	assert_int_equal(w.questions, 2);
	assert_false(find(&w, &l, "BOTH.test."));
	expect(&l, DNS_FOUND, 2, "8.8.8.8");
	assert_int_equal(ask(&w, &l, "both.test", DNS_V6), 0);
	expect(&l, DNS_FOUND, 1, "2606:4700::1");
	assert_int_equal(ask(&w, &l, "both.test", DNS_V4), 0);
	expect(&l, DNS_FOUND, 1, "8.8.8.8");
	assert_true(find(&w, &l, "v4.test"));
	expect(&l, DNS_FOUND, 1, "8.8.4.4");
	assert_int_equal(ask(&w, &l, "v4.test", DNS_V6), 0);
	expect(&l, DNS_NO_ADDRESS, 0, NULL);
	assert_true(find(&w, &l, "alias.test"));
	expect(&l, DNS_FOUND, 2, "8.8.8.8");
	end(&w);
}

static void the_end_of_a_chain_of_aliases_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *name, *canonical;
	} c[] = {{"alias.test", "both.test"},
		 {"far.test", "both.test"},
		 {"half.test", "v4.test"},
		 {"both.test", ""},
		 {"lost.test", ""},
		 {"no.test", ""},
		 {"outside.test", "mixed.test"},
		 {"8.8.8.8", ""},
		 {"localhost", ""}};
	struct world w;
	struct look l;
	begin(&w, false);
	open_dns(&w);
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < ARRAY_LEN(c); i++) {
			find(&w, &l, c[i].name);
			assert_string_equal(l.canonical, c[i].canonical);
		}
	assert_int_equal(ask(&w, &l, "alias.test", DNS_V6), 0);
	assert_string_equal(l.canonical, "both.test");
	assert_int_equal(ask(&w, &l, "half.test", DNS_V6), 0);
	assert_string_equal(l.canonical, "");
	end(&w);
}

static void the_order_is_a_setting(void **state)
{
	(void)state;
	static const struct {
		int order;
		size_t n;
		const char *first;
		unsigned questions;
	} c[] = {{DNS_V4_FIRST, 2, "8.8.8.8", 2},
		 {DNS_V6_FIRST, 2, "2606:4700::1", 2},
		 {DNS_V4_ONLY, 1, "8.8.8.8", 1},
		 {DNS_V6_ONLY, 1, "2606:4700::1", 1}};
	struct world w;
	struct look l;
	begin(&w, false);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		w.conf.order = c[i].order;
		w.questions = 0;
		open_dns(&w);
		find(&w, &l, "both.test");
		expect(&l, DNS_FOUND, c[i].n, c[i].first);
		assert_int_equal(w.questions, c[i].questions);
	}
	end(&w);
}

static void what_is_not_there_is_known_not_to_be(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, false);
	open_dns(&w);
	assert_true(find(&w, &l, "no.such.test"));
	expect(&l, DNS_NO_NAME, 0, NULL);
	assert_false(find(&w, &l, "no.such.test"));
	expect(&l, DNS_NO_NAME, 0, NULL);
	assert_true(find(&w, &l, "empty.test"));
	expect(&l, DNS_NO_ADDRESS, 0, NULL);
	assert_false(find(&w, &l, "empty.test"));
	end(&w);
}

static void failures_are_remembered_briefly(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, true);
	open_dns(&w);
	assert_true(find(&w, &l, "fail.test"));
	expect(&l, DNS_FAILED, 0, NULL);
	assert_non_null(l.result.why);
	assert_false(find(&w, &l, "fail.test"));
	expect(&l, DNS_FAILED, 0, NULL);
	loop_step(w.loop, 29 * US_PER_S);
	assert_false(find(&w, &l, "fail.test"));
	loop_step(w.loop, 31 * US_PER_S);
	assert_true(find(&w, &l, "fail.test"));
	end(&w);
}

static void what_cannot_be_used_is_not_what_did_not_come(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, true);
	open_dns(&w);
	static const char *const broken[] = {"circle.test", "form.test"};
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		assert_true(find(&w, &l, broken[i]));
		expect(&l, DNS_BROKEN, 0, NULL);
		assert_non_null(l.result.why);
		assert_false(find(&w, &l, broken[i]));
		expect(&l, DNS_BROKEN, 0, NULL);
		loop_step(w.loop, (int64_t)(i + 1) * 31 * US_PER_S);
		assert_true(find(&w, &l, broken[i]));
	}
	/* the other half may come yet */
	assert_true(find(&w, &l, "form-and-fail.test"));
	expect(&l, DNS_FAILED, 0, NULL);
	end(&w);
}

static void one_family_that_fails_leaves_the_other_for_a_short_time(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, true);
	open_dns(&w);
	assert_true(find(&w, &l, "half-fail.test"));
	expect(&l, DNS_FOUND, 1, "8.8.8.8");
	assert_int_equal(l.result.until_us, 30 * US_PER_S);
	end(&w);
}

static void answers_hold_for_their_time_within_the_settings(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t holds_us;
	} c[] = {{"both.test", 300 * US_PER_S},
		 {"short.test", 60 * US_PER_S},
		 {"long.test", US_PER_DAY},
		 {"alias.test", 100 * US_PER_S},
		 {"absent.test", 120 * US_PER_S}};
	struct world w;
	struct look l;
	begin(&w, true);
	open_dns(&w);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		int64_t now_us = loop_now_us(w.loop);
		assert_true(find(&w, &l, c[i].name));
		assert_int_equal(l.result.until_us, now_us + c[i].holds_us);
		loop_step(w.loop, now_us + c[i].holds_us - 1);
		assert_false(find(&w, &l, c[i].name));
		loop_step(w.loop, now_us + c[i].holds_us);
		assert_true(find(&w, &l, c[i].name));
	}
	end(&w);
}

static void refused_addresses_are_not_handed_out(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, false);
	open_dns(&w);
	find(&w, &l, "mixed.test");
	expect(&l, DNS_FOUND, 1, "8.8.8.8");
	for (int again = 0; again < 2; again++) {
		assert_int_equal(find(&w, &l, "inside.test"), !again);
		expect(&l, DNS_REFUSED, 0, NULL);
		assert_string_equal(l.result.why, "loopback");
	}

	const char *const named[] = {"127.0.0.0/8"};
	struct err err;
	dns_free(&w.dns);
	policy_free(&w.policy);
	assert_int_equal(policy_new(&w.policy, &(struct value_list){named, 1}, &err), 0);
	open_dns(&w);
	find(&w, &l, "inside.test");
	expect(&l, DNS_FOUND, 1, "127.0.0.1");
	find(&w, &l, "127.0.0.1");
	expect(&l, DNS_FOUND, 1, "127.0.0.1");
	find(&w, &l, "Localhost");
	expect(&l, DNS_FOUND, 1, "127.0.0.1");
	end(&w);
}

static void some_hosts_need_no_question(void **state)
{
	(void)state;
	static const struct {
		const char *host;
		enum dns_outcome outcome;
		const char *says;
	} c[] = {{"8.8.8.8", DNS_FOUND, "8.8.8.8"},
		 {"2606:4700::1", DNS_FOUND, "2606:4700::1"},
		 {"[2606:4700::1]", DNS_FOUND, "2606:4700::1"},
		 {"127.0.0.1", DNS_REFUSED, "loopback"},
		 {"[::1]", DNS_REFUSED, "loopback"},
		 {"::ffff:127.0.0.1", DNS_REFUSED, "IPv4-mapped"},
		 {"169.254.169.254", DNS_REFUSED, "metadata"},
		 {"localhost", DNS_REFUSED, "loopback"},
		 {"a.LOCALHOST.", DNS_REFUSED, "loopback"},
		 {"x.invalid", DNS_NO_NAME, NULL},
		 {"x.onion", DNS_NO_NAME, NULL},
		 {"", DNS_BAD_NAME, NULL},
		 {"a..b", DNS_BAD_NAME, NULL},
		 {"127.1", DNS_BAD_NAME, NULL},
		 {"0x7f000001", DNS_BAD_NAME, NULL},
		 {"[8.8.8.8]", DNS_BAD_NAME, NULL},
		 {"[]", DNS_BAD_NAME, NULL},
		 {"a b", DNS_BAD_NAME, NULL}};
	struct world w;
	struct look l;
	begin(&w, false);
	open_dns(&w);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		assert_int_equal(ask(&w, &l, c[i].host, DNS_ANY), 0);
		bool found = c[i].outcome == DNS_FOUND;
		expect(&l, c[i].outcome, found, found ? c[i].says : NULL);
		if (c[i].outcome == DNS_REFUSED)
			assert_string_equal(l.result.why, c[i].says);
	}
	assert_int_equal(ask(&w, &l, "8.8.8.8", DNS_V6), 0);
	expect(&l, DNS_NO_ADDRESS, 0, NULL);
	assert_true(find(&w, &l, "notlocalhost"));
	assert_int_equal(w.questions, 2);
	end(&w);
}

static void lookups_of_one_name_share_its_questions(void **state)
{
	(void)state;
	struct world w;
	struct look l[100];
	begin(&w, false);
	open_dns(&w);
	for (size_t i = 0; i < ARRAY_LEN(l); i++)
		assert_int_equal(ask(&w, &l[i], i % 2 ? "both.test" : "Both.Test.",
				     i == 7 ? DNS_V6 : DNS_ANY),
				 1);
	dns_cancel(&l[50].wait);
	l[10].cancels = &l[11].wait; /* one of the same name, while they are being told */
	l[20].cancels = &l[20].wait; /* itself, which was told already */
	wait_for(&w, &l[99]);
	for (size_t i = 0; i < ARRAY_LEN(l); i++) {
		assert_int_equal(l[i].times, i != 50 && i != 11);
		if (l[i].times)
			expect(&l[i], DNS_FOUND, i == 7 ? 1 : 2,
			       i == 7 ? "2606:4700::1" : "8.8.8.8");
	}
	assert_int_equal(w.questions, 2);
	end(&w);
}

static void who_is_told_may_ask_again(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, false);
	w.conf.entries = 0; /* so that it has to be asked for anew */
	open_dns(&w);
	assert_int_equal(ask(&w, &l, "both.test", DNS_ANY), 1);
	l.then = "both.test";
	for (int i = 0; i < 50000 && l.times < 2; i++)
		turn(&w);
	assert_int_equal(l.times, 2);
	assert_int_equal(w.questions, 4);
	end(&w);
}

static void no_more_are_asked_at_once_than_the_setting_says(void **state)
{
	(void)state;
	struct world w;
	struct look l[5];
	begin(&w, false);
	w.conf.at_once = 1;
	open_dns(&w);
	assert_int_equal(ask(&w, &l[0], "drop0.test", DNS_ANY), 1);
	assert_int_equal(ask(&w, &l[1], "v4.test", DNS_ANY), 1);
	assert_int_equal(ask(&w, &l[2], "cancelled.test", DNS_ANY), 1);
	assert_int_equal(ask(&w, &l[3], "v6.test", DNS_ANY), 1);
	dns_cancel(&l[2].wait);
	for (int i = 0; i < 20; i++)
		loop_poll(w.loop);
	assert_true(w.questions <= 2); /* the others wait, though they could be answered */
	wait_for(&w, &l[3]);
	expect(&l[0], DNS_FAILED, 0, NULL);
	expect(&l[1], DNS_FOUND, 1, "8.8.4.4");
	expect(&l[3], DNS_FOUND, 1, "2606:4700::2");
	assert_int_equal(w.questions, 6); /* nothing for the one that was cancelled */
	end(&w);
}

static void a_silent_server_is_a_failure_after_the_tries(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, false);
	w.conf.order = DNS_V4_ONLY;
	w.conf.tries = 3;
	open_dns(&w);
	assert_true(find(&w, &l, "drop.test"));
	expect(&l, DNS_FAILED, 0, NULL);
	assert_int_equal(w.dropped, 3);
	end(&w);
}

static void a_server_that_is_not_there_is_a_failure(void **state)
{
	(void)state;
	struct world w;
	struct look l;
	begin(&w, false);
	w.servers[0] = "127.0.0.1:9"; /* a port that was free until now may be given to others */
	open_dns(&w);
	for (int i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "n%d.test", i);
		ask(&w, &l, name, DNS_ANY);
		wait_for(&w, &l);
		expect(&l, DNS_FAILED, 0, NULL);
	}
	end(&w);
}

static void lookups_under_way_end_with_it(void **state)
{
	(void)state;
	struct world w;
	struct look l[3];
	begin(&w, false);
	w.conf.at_once = 2;
	open_dns(&w);
	ask(&w, &l[0], "drop.test", DNS_ANY);
	ask(&w, &l[1], "both.test", DNS_ANY); /* answered, and perhaps about to be told */
	ask(&w, &l[2], "waiting.test", DNS_ANY);
	dns_free(&w.dns);
	for (int i = 0; i < 10; i++)
		turn(&w);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(l[i].times, 0);
		dns_cancel(&l[i].wait);
	}
	end(&w);
}

static void wrong_settings_are_named(void **state)
{
	(void)state;
	static const char *const bad[] = {"",          "localhost",  "8.8.8.8:0",
					  "8.8.8.8:x", "fe80::1%lo", "8.8.8.8/24"};
	struct world w;
	struct err err;
	begin(&w, false);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *list[] = {"127.0.0.1", bad[i]};
		struct dns_conf conf = w.conf;
		conf.servers = (struct value_list){list, 2};
		assert_int_equal(dns_new(&w.dns, w.loop, &conf, w.policy, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.msg, "name server"));
		assert_null(w.dns);
	}
	const char *many[17];
	for (size_t i = 0; i < 17; i++)
		many[i] = "127.0.0.1";
	struct dns_conf conf = w.conf;
	conf.servers = (struct value_list){many, 17};
	assert_int_equal(dns_new(&w.dns, w.loop, &conf, w.policy, &err), -1);
	conf = w.conf;
	conf.ttl_min_us = conf.ttl_max_us + 1;
	assert_int_equal(dns_new(&w.dns, w.loop, &conf, w.policy, &err), -1);
	assert_non_null(strstr(err.msg, "dns_ttl_min"));
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_families_are_found_and_then_known),
		cmocka_unit_test(the_end_of_a_chain_of_aliases_is_told),
		cmocka_unit_test(the_order_is_a_setting),
		cmocka_unit_test(what_is_not_there_is_known_not_to_be),
		cmocka_unit_test(failures_are_remembered_briefly),
		cmocka_unit_test(what_cannot_be_used_is_not_what_did_not_come),
		cmocka_unit_test(one_family_that_fails_leaves_the_other_for_a_short_time),
		cmocka_unit_test(answers_hold_for_their_time_within_the_settings),
		cmocka_unit_test(refused_addresses_are_not_handed_out),
		cmocka_unit_test(some_hosts_need_no_question),
		cmocka_unit_test(lookups_of_one_name_share_its_questions),
		cmocka_unit_test(who_is_told_may_ask_again),
		cmocka_unit_test(no_more_are_asked_at_once_than_the_setting_says),
		cmocka_unit_test(a_silent_server_is_a_failure_after_the_tries),
		cmocka_unit_test(a_server_that_is_not_there_is_a_failure),
		cmocka_unit_test(lookups_under_way_end_with_it),
		cmocka_unit_test(wrong_settings_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
