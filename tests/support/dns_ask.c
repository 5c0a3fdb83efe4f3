/* dns-ask KEY=VALUE... -- HOST...: looks all hosts up at once, as a role with these settings would,
 * and prints a line for each: host, outcome, reason or "-", seconds that it holds, addresses. Then
 * once more, which must be answered from the cache: "cached" lines. For the scenes of DNS. */
#include "net/dns.h"
#include "net/loop.h"
#include "support/key_values.h"

#include <stdio.h>

struct conf {
	struct dns_conf dns;
	struct value_list networks;
};

static const struct value_spec specs[] = {
	DNS_SPECS(struct conf, dns),
	POLICY_SPECS(struct conf, networks),
};

struct look {
	const char *host;
	struct loop *loop;
	size_t *left;
	struct dns_wait wait;
};

static void print(const struct look *l, const char *how, const struct dns_result *r)
{
	char shown[ADDR_SHOWN];
	int64_t holds_us = r->until_us - loop_now_us(l->loop);
	printf("%s %s: %s; %s; %lld;", how, l->host, dns_outcome_word(r->outcome),
	       r->why ? r->why : "-",
	       r->until_us == INT64_MAX ? -1LL : (long long)((holds_us + US_PER_S / 2) / US_PER_S));
	for (size_t i = 0; i < r->n; i++)
		printf(" %s", addr_print(&r->addr[i], shown));
	printf("\n");
}

static void told(void *ctx, const struct dns_result *r)
{
	struct look *l = ctx;
	print(l, "asked", r);
	if (--*l->left == 0)
		loop_stop(l->loop);
}

static int ask_all(struct dns *dns, struct loop *loop, char *const *hosts, size_t n,
		   struct err *err)
{
	struct look *looks = mem_array(n, sizeof *looks);
	struct dns_result r;
	size_t left = n;
	int rc = 0;
	for (size_t i = 0; i < n; i++) {
		looks[i] = (struct look){.host = hosts[i], .loop = loop, .left = &left};
		looks[i].wait = (struct dns_wait){.done = told, .ctx = &looks[i]};
		if (dns_lookup(dns, str_of(hosts[i]), DNS_ANY, &looks[i].wait, &r) == 0) {
			print(&looks[i], "known", &r);
			left--;
		}
	}
	if (left > 0)
		rc = loop_run(loop, err);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (dns_lookup(dns, str_of(hosts[i]), DNS_ANY, &looks[i].wait, &r) == 0)
			print(&looks[i], "cached", &r);
		else
			dns_cancel(&looks[i].wait);
	mem_free(&looks);
	return rc;
}

int main(int argc, char **argv)
{
	struct arena arena = ARENA_INIT((size_t)1 << 20);
	struct conf conf;
	struct err err;
	struct loop *loop = NULL;
	struct policy *policy = NULL;
	struct dns *dns = NULL;
	int i, rc = key_values_read(specs, ARRAY_LEN(specs), argc, argv, &arena, &conf, &i, &err);
	if (rc == 0 && (rc = loop_new(&loop, NULL, &err)) == 0 &&
	    (rc = policy_new(&policy, &conf.networks, &err)) == 0 &&
	    (rc = dns_new(&dns, loop, &conf.dns, policy, &err)) == 0)
		rc = ask_all(dns, loop, argv + i + 1, (size_t)MAX(argc - i - 1, 0), &err);
	if (rc < 0)
		fprintf(stderr, "dns-ask: %s\n", err.msg);
	dns_free(&dns);
	policy_free(&policy);
	if (loop)
		loop_free(&loop);
	arena_free(&arena);
	return rc < 0 ? (int)err.code : 0;
}
