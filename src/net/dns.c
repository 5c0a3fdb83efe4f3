/* Name resolution: the cache of names, and queries by c-ares for all others.
 *
 * c-ares has no cache that is bounded, holds failures and obeys our policy, and it walks all of
 * its queries whenever it is asked for a timeout. So c-ares has the sockets and the retries;
 * everything else is here. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "net/dns_inner.h"
#include "net/loop.h"

#include <ares.h>
#include <sys/random.h>

/* The cache. */

/* One block: the name, the canonical one if it differs, and then the addresses follow. A hit reads
 * the time, what follows it and the name, so that it waits for as little memory as can be. */
struct entry {
	struct link link;
	const char *why;
	uint32_t bytes;
	uint16_t n;
	uint8_t name_n, canonical_n, outcome;
	int64_t until_us;
	bool used; /* since it was last looked at for eviction */
	char name[];
};

TABLE(names, struct dns_key, struct entry *, dns_key_hash, dns_key_equal)

struct dns_cache {
	struct names names;
	struct link entries; /* the oldest first */
	size_t most, most_bytes, bytes;
	uint64_t seed;
};

struct dns_cache *dns_cache_new(size_t entries, size_t bytes, uint64_t seed)
{
	struct dns_cache *c = mem_alloc(sizeof *c);
	c->most = entries;
	c->most_bytes = bytes;
	c->seed = seed;
	list_init(&c->entries);
	return c;
}

void dns_cache_free(struct dns_cache **c)
{
	if (!*c)
		return;
	LIST_EACH (struct entry, e, &(*c)->entries, link) {
		list_remove(&e->link);
		mem_free(&e);
	}
	names_free(&(*c)->names);
	mem_free(c);
}

struct dns_key dns_cache_key(const struct dns_cache *c, struct str name)
{
	return (struct dns_key){name, hash64_seeded(name, c->seed)};
}

/* Where they stand in the block of names of n bytes. */
static size_t addrs_at(size_t n)
{
	const size_t align = _Alignof(struct addr);
	return (offsetof(struct entry, name) + n + align - 1) / align * align;
}

static const struct addr *addrs_of(const struct entry *e)
{
	return (const struct addr *)((const char *)e +
				     addrs_at((size_t)e->name_n + e->canonical_n));
}

bool dns_cache_get(struct dns_cache *c, const struct dns_key *key, int64_t now_us,
		   struct dns_result *ret)
{
	struct entry **found = names_get(&c->names, *key), *e;
	if (!found || (e = *found)->until_us <= now_us)
		return false;
	if (!e->used) /* a hot entry is only read */
		e->used = true;
	const char *why = e->outcome == DNS_FOUND ? NULL : e->why;
	*ret = (struct dns_result){.outcome = e->outcome,
				   .why = why,
				   .addr = addrs_of(e),
				   .n = e->n,
				   .until_us = e->until_us,
				   .canonical = {e->name + e->name_n, e->canonical_n}};
	return true;
}

static void entry_drop(struct dns_cache *c, struct entry *e, const struct dns_key *key)
{
	ENSURE(names_remove(&c->names, *key));
	list_remove(&e->link);
	c->bytes -= e->bytes + sizeof(struct names_slot);
	mem_free(&e);
}

/* The oldest goes; one that was used since it got there goes round once more. */
static void cache_evict(struct dns_cache *c)
{
	struct entry *e;
	while ((e = LIST_OF(struct entry, c->entries.next, link))->used) {
		e->used = false;
		list_remove(&e->link);
		list_append(&c->entries, &e->link);
	}
	struct dns_key key = dns_cache_key(c, (struct str){e->name, e->name_n});
	entry_drop(c, e, &key);
}

static struct entry *entry_new(struct str name, const struct dns_result *r)
{
	size_t addrs = r->n * sizeof r->addr[0], text = name.n + r->canonical.n;
	size_t bytes = addrs_at(text) + addrs;
	struct entry *e = mem_alloc(MAX(bytes, sizeof *e));
	e->until_us = r->until_us;
	e->why = r->why;
	e->bytes = (uint32_t)bytes;
	e->n = (uint16_t)r->n;
	e->outcome = (uint8_t)r->outcome;
	e->name_n = (uint8_t)name.n;
	e->canonical_n = (uint8_t)r->canonical.n;
	memcpy(e->name, name.p, name.n);
	if (r->canonical.n)
		memcpy(e->name + name.n, r->canonical.p, r->canonical.n);
	if (addrs)
		memcpy((char *)e + addrs_at(text), r->addr, addrs);
	return e;
}

void dns_cache_put(struct dns_cache *c, const struct dns_key *key, const struct dns_result *result)
{
	ENSURE(result->n <= UINT16_MAX && key->name.n <= DNS_NAME);
	ENSURE(result->canonical.n <= DNS_NAME);
	struct entry **old = names_get(&c->names, *key);
	if (old)
		entry_drop(c, *old, key);
	struct entry *e = entry_new(key->name, result);
	size_t bytes = e->bytes + sizeof(struct names_slot);
	while (!list_is_empty(&c->entries) &&
	       (names_count(&c->names) >= c->most || c->bytes + bytes > c->most_bytes))
		cache_evict(c);
	if (c->most == 0 || bytes > c->most_bytes) {
		mem_free(&e);
		return;
	}
	*names_put(&c->names, (struct dns_key){{e->name, e->name_n}, key->hash}) = e;
	list_append(&c->entries, &e->link);
	c->bytes += bytes;
}

/* Questions. */

enum {
	SERVERS_MAX = 16,
	EDNS_BYTES = 1232,             /* an answer that large passes all networks whole */
	SOCKET_BYTES = 1 << 20,        /* answers that arrive while we do something else */
	TICK_US = 50 * (int)US_PER_MS, /* how exactly c-ares keeps its timeouts */
};

const char *const dns_order_words[] = {"ipv4-first", "ipv6-first", "ipv4", "ipv6", NULL};

/* The record types to query, in the order of the addresses in a result. */
static const struct {
	unsigned n;
	uint16_t type[2];
} questions[] = {
	[DNS_V4_FIRST] = {2, {DNS_A, DNS_AAAA}},
	[DNS_V6_FIRST] = {2, {DNS_AAAA, DNS_A}},
	[DNS_V4_ONLY] = {1, {DNS_A}},
	[DNS_V6_ONLY] = {1, {DNS_AAAA}},
};

struct part {
	struct ask *ask;
	uint16_t type;
	struct dns_answer answer;
};

/* A pending name: queued, queried, or answered and about to be reported. */
struct ask {
	struct dns *dns;
	struct link link;   /* in the queue, or among those answered */
	struct link waits;  /* who waits for it, in the order of asking */
	struct dns_key key; /* of `name` */
	unsigned open;      /* parts without an answer */
	struct part part[2];
	char name[DNS_NAME + 1];
};

TABLE(asks, struct dns_key, struct ask *, dns_key_hash, dns_key_equal)

struct sock {
	struct dns *dns;
	struct link link;
	struct loop_io io;
	int fd;
};

struct dns {
	struct loop *loop;
	const struct policy *policy;
	struct dns_conf conf;
	struct dns_cache *cache;
	ares_channel channel;
	struct link socks;
	struct loop_timer tick;
	struct loop_later later;
	struct asks asks;
	struct link queue, answered;
	int64_t out; /* names that c-ares has */
	bool telling, closing;
	struct addr fixed[2]; /* answers that need no question */
};

/* What c-ares needs from the loop. */

static void sock_ready(void *ctx, unsigned what)
{
	struct sock *s = ctx; /* may be gone after the call */
	ares_process_fd(s->dns->channel, what & LOOP_READ ? s->fd : ARES_SOCKET_BAD,
			what & LOOP_WRITE ? s->fd : ARES_SOCKET_BAD);
}

static void sock_state(void *ctx, ares_socket_t fd, int readable, int writable)
{
	struct dns *d = ctx;
	struct sock *s = NULL;
	LIST_EACH (struct sock, one, &d->socks, link)
		if (one->fd == fd)
			s = one;
	if (!readable && !writable) { /* about to be closed */
		if (s) {
			loop_io_end(&s->io);
			list_remove(&s->link);
			mem_free(&s);
		}
		return;
	}
	if (!s) {
		s = mem_alloc(sizeof *s);
		*s = (struct sock){.dns = d, .fd = fd};
		s->io.fn = sock_ready;
		s->io.ctx = s;
		list_append(&d->socks, &s->link);
	}
	loop_io_want(d->loop, &s->io, fd,
		     (readable ? (unsigned)LOOP_READ : 0) | (writable ? (unsigned)LOOP_WRITE : 0));
}

/* A steady tick while anything is out: ares_timeout() looks through all questions at each call. */
static void dns_tick(void *ctx)
{
	struct dns *d = ctx;
	ares_process_fd(d->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	if (d->out == 0)
		loop_timer_stop(&d->tick);
}

/* Asking. */

static void part_done(void *ctx, int status, int timeouts, unsigned char *packet, int len)
{
	(void)timeouts;
	struct part *part = ctx;
	struct ask *ask = part->ask;
	struct dns *d = ask->dns;
	if (d->closing)
		return;
	if (packet && len > 0)
		dns_read((struct str){(const char *)packet, (size_t)len}, ask->key.name, part->type,
			 &part->answer);
	else /* nothing came, or c-ares has tried the next server instead */
		part->answer = (struct dns_answer){
			.outcome = DNS_FAILED, .why = ares_strerror(status), .ttl_s = -1};
	if (--ask->open > 0)
		return;
	d->out--;
	list_append(&d->answered, &ask->link);
	loop_later(d->loop, &d->later);
}

/* Appended, so that callers are answered in the order of asking. */
static void wait_link(struct ask *ask, struct dns_wait *wait, enum dns_family family)
{
	ENSURE(wait->done);
	wait->family = family;
	list_append(&ask->waits, &wait->link);
}

void dns_cancel(struct dns_wait *wait)
{
	list_remove(&wait->link);
}

static struct ask *ask_new(struct dns *d, const struct dns_key *key)
{
	struct ask *ask = mem_alloc(sizeof *ask);
	ask->dns = d;
	list_init(&ask->waits);
	memcpy(ask->name, key->name.p, key->name.n);
	ask->key = (struct dns_key){{ask->name, key->name.n}, key->hash};
	*asks_put(&d->asks, ask->key) = ask;
	list_append(&d->queue, &ask->link);
	return ask;
}

static void ask_free(struct ask *ask)
{
	LIST_EACH (struct dns_wait, wait, &ask->waits, link)
		list_remove(&wait->link);
	asks_remove(&ask->dns->asks, ask->key);
	mem_free(&ask);
}

static void ask_send(struct dns *d, struct ask *ask)
{
	if (d->out++ == 0)
		loop_timer_every(d->loop, &d->tick, TICK_US);
	unsigned n = ask->open = questions[d->conf.order].n;
	for (unsigned i = 0; i < n; i++) {
		struct part *part = &ask->part[i];
		part->ask = ask;
		part->type = questions[d->conf.order].type[i];
		ares_query(d->channel, ask->name, 1, part->type, part_done, part);
	}
}

/* Sends queries up to the limit; skips names that nobody waits for. */
static void asks_start(struct dns *d)
{
	struct ask *ask;
	while (d->out < d->conf.at_once && (ask = LIST_FIRST(struct ask, &d->queue, link))) {
		list_remove(&ask->link);
		if (list_is_empty(&ask->waits))
			ask_free(ask);
		else
			ask_send(d, ask);
	}
}

/* Telling. */

static int64_t ttl_us(const struct dns *d, const struct dns_answer *a)
{
	if (a->ttl_s < 0)
		return d->conf.failure_ttl_us;
	return MIN(MAX(a->ttl_s * US_PER_S, d->conf.ttl_min_us), d->conf.ttl_max_us);
}

/* Without addresses: what the parts say together. A name is known not to be there only if nobody
 * found it; one part that is not known leaves the whole open, and one that failed may be known
 * later. */
static void ask_judge_none(const struct ask *ask, struct dns_result *ret)
{
	unsigned n = questions[ask->dns->conf.order].n, none = 0;
	ret->outcome = DNS_NO_ADDRESS;
	for (unsigned i = 0; i < n; i++) {
		const struct dns_answer *a = &ask->part[i].answer;
		none += a->outcome == DNS_NO_NAME;
		if (a->outcome == DNS_FAILED ||
		    (a->outcome == DNS_BROKEN && ret->outcome != DNS_FAILED)) {
			ret->outcome = a->outcome;
			ret->why = a->why;
		}
	}
	if (none == n)
		ret->outcome = DNS_NO_NAME;
}

/* Keeps those that the policy lets pass; returns how many. *why: why not, of one that was refused.
 */
static size_t keep_allowed(const struct dns *d, const struct addr *from, size_t n, struct addr *to,
			   const char **why)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		const char *reason = policy_refuses(d->policy, &from[i]);
		if (reason)
			*why = *why ? *why : reason;
		else
			to[kept++] = from[i];
	}
	return kept;
}

static struct dns_result ask_judge(const struct ask *ask, struct addr *addr)
{
	const struct dns *d = ask->dns;
	struct dns_result r = {.addr = addr};
	int64_t now_us = loop_now_us(d->loop), positive_us = INT64_MAX, negative_us = INT64_MAX;
	size_t had = 0;
	const char *why = NULL;
	for (unsigned i = 0; i < questions[d->conf.order].n; i++) {
		const struct dns_answer *a = &ask->part[i].answer;
		bool negative = a->outcome == DNS_NO_NAME || a->outcome == DNS_NO_ADDRESS;
		int64_t *ttl = negative ? &negative_us : &positive_us, t = ttl_us(d, a);
		*ttl = MIN(*ttl, t);
		had += a->n;
		size_t kept = keep_allowed(d, a->addr, a->n, addr + r.n, &why);
		if (kept > 0 && r.n == 0) /* both families have the same, but in a bad zone */
			r.canonical = (struct str){a->canonical, a->canonical_n};
		r.n += kept;
	}
	/* what was found is not asked for again just because the other family has nothing */
	r.until_us = now_us + (had ? positive_us : MIN(positive_us, negative_us));
	if (r.n > 0)
		return r;
	if (had > 0) {
		r.outcome = DNS_REFUSED;
		r.why = why;
	} else {
		ask_judge_none(ask, &r);
	}
	return r;
}

/* The part of a result that is of a family; the addresses of a family stand together. */
static struct dns_result result_of_family(struct dns_result r, enum dns_family family)
{
	uint16_t want = family == DNS_V4 ? AF_INET : AF_INET6;
	size_t from = 0, n = 0;
	if (family == DNS_ANY || r.outcome != DNS_FOUND)
		return r;
	while (from < r.n && r.addr[from].family != want)
		from++;
	while (from + n < r.n && r.addr[from + n].family == want)
		n++;
	if (n == 0)
		return (struct dns_result){.outcome = DNS_NO_ADDRESS, .until_us = r.until_us};
	r.addr += from;
	r.n = n;
	return r;
}

static void ask_tell(struct dns *d, struct ask *ask)
{
	struct addr addr[2 * DNS_ADDRS];
	struct dns_result result = ask_judge(ask, addr);
	dns_cache_put(d->cache, &ask->key, &result);
	asks_remove(&d->asks, ask->key); /* a callback may ask for it again */
	struct dns_wait *wait;
	while ((wait = LIST_FIRST(struct dns_wait, &ask->waits, link))) {
		struct dns_result part = result_of_family(result, wait->family);
		list_remove(&wait->link);
		wait->done(wait->ctx, &part);
	}
	mem_free(&ask);
}

/* Those answered by now; what their owners start may be answered at once and waits for a round of
 * its own. */
static void asks_tell(void *ctx)
{
	struct dns *d = ctx;
	struct link mark = {0};
	list_append(&d->answered, &mark);
	d->telling = true;
	while (d->answered.next != &mark) {
		struct ask *ask = LIST_OF(struct ask, d->answered.next, link);
		list_remove(&ask->link);
		ask_tell(d, ask);
	}
	list_remove(&mark);
	d->telling = false;
	asks_start(d);
}

/* Looking up. */

static void answer_fixed(struct dns *d, unsigned n, enum dns_family family, struct dns_result *ret)
{
	struct addr addr[2];
	const char *why = NULL;
	memcpy(addr, d->fixed, sizeof addr);
	size_t kept = keep_allowed(d, addr, n, d->fixed, &why);
	*ret = (struct dns_result){.addr = d->fixed, .n = kept, .until_us = INT64_MAX};
	if (kept == 0) {
		ret->outcome = DNS_REFUSED;
		ret->why = why;
	}
	*ret = result_of_family(*ret, family);
}

static bool is_literal(struct dns *d, struct str host)
{
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
		struct str inner = str_range(host.p + 1, host.p + host.n - 1);
		return addr_parse(inner, &d->fixed[0]) && d->fixed[0].family == AF_INET6;
	}
	return addr_parse(host, &d->fixed[0]);
}

static bool is_below(struct str name, struct str domain)
{
	return str_ends(name, domain) &&
	       (name.n == domain.n || name.p[name.n - domain.n - 1] == '.');
}

/* Names that no server is asked for. */
static bool is_special(struct dns *d, struct str name, enum dns_family family,
		       struct dns_result *ret)
{
	if (is_below(name, STR("localhost"))) {
		bool v6 = questions[d->conf.order].type[0] == DNS_AAAA;
		d->fixed[v6] = (struct addr){.family = AF_INET, .b = {127, 0, 0, 1}};
		d->fixed[!v6] = (struct addr){.family = AF_INET6, .b = {[15] = 1}};
		answer_fixed(d, questions[d->conf.order].n, family, ret);
		return true;
	}
	if (is_below(name, STR("invalid")) || is_below(name, STR("onion"))) {
		*ret = (struct dns_result){.outcome = DNS_NO_NAME, .until_us = INT64_MAX};
		return true;
	}
	return false;
}

int dns_lookup(struct dns *d, struct str host, enum dns_family family, struct dns_wait *wait,
	       struct dns_result *ret)
{
	char name[DNS_NAME + 1];
	size_t n;
	if (UNLIKELY(dns_name(host, name, &n) < 0)) {
		*ret = (struct dns_result){.outcome = DNS_BAD_NAME, .until_us = INT64_MAX};
		if (is_literal(d, host)) /* no address is a name */
			answer_fixed(d, 1, family, ret);
		return 0;
	}
	struct dns_key key = dns_cache_key(d->cache, (struct str){name, n});
	if (LIKELY(dns_cache_get(d->cache, &key, loop_now_us(d->loop), ret))) {
		*ret = result_of_family(*ret, family);
		return 0;
	}
	if (is_special(d, key.name, family, ret))
		return 0;
	struct ask **known = asks_get(&d->asks, key), *ask = known ? *known : NULL;
	if (!ask)
		ask = ask_new(d, &key);
	wait_link(ask, wait, family);
	asks_start(d);
	return 1;
}

/* Beginning and end. */

static int ares_failed(const char *what, int status, struct err *err)
{
	return err_set(err, ERR_SYSTEM, "%s: %s", what, ares_strerror(status));
}

static int set_servers(struct dns *d, const struct value_list *servers, struct err *err)
{
	struct ares_addr_port_node node[SERVERS_MAX] = {0};
	char shown[VALUE_SHOWN];
	if (servers->n > SERVERS_MAX)
		return err_set(err, ERR_USAGE, "%zu name servers; at most %d may be named",
			       servers->n, SERVERS_MAX);
	for (size_t i = 0; i < servers->n; i++) {
		struct addr a;
		if (!addr_parse_port(str_of(servers->item[i]), 53, &a) || a.scope)
			return err_set(err, ERR_USAGE,
				       "name server: expected an address such as 192.0.2.53, "
				       "127.0.0.1:5353 or [2001:db8::53]:53, got '%s'",
				       value_show(str_of(servers->item[i]), shown));
		node[i].family = a.family;
		node[i].udp_port = node[i].tcp_port = a.port;
		node[i].next = i + 1 < servers->n ? &node[i + 1] : NULL;
		memcpy(&node[i].addr, a.b, addr_bytes(&a));
	}
	int status = servers->n ? ares_set_servers_ports(d->channel, node) : ARES_SUCCESS;
	return status == ARES_SUCCESS ? 0 : ares_failed("name servers", status, err);
}

static int open_channel(struct dns *d, const struct dns_conf *conf, struct err *err)
{
	char lookups[] = "b";
	struct ares_options o = {
		.flags = ARES_FLAG_EDNS,
		.timeout = (int)(conf->timeout_us / US_PER_MS),
		.tries = (int)conf->tries,
		.lookups = lookups,
		.ednspsz = EDNS_BYTES,
		.socket_receive_buffer_size = SOCKET_BYTES,
		.sock_state_cb = sock_state,
		.sock_state_cb_data = d,
	};
	int status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status != ARES_SUCCESS)
		return ares_failed("c-ares", status, err);
	status = ares_init_options(&d->channel, &o,
				   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
					   ARES_OPT_LOOKUPS | ARES_OPT_EDNSPSZ |
					   ARES_OPT_SOCK_RCVBUF | ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS) {
		d->channel = NULL;
		ares_library_cleanup();
		return ares_failed("c-ares", status, err);
	}
	return set_servers(d, &conf->servers, err);
}

int dns_new(struct dns **ret, struct loop *loop, const struct dns_conf *conf,
	    const struct policy *policy, struct err *err)
{
	uint64_t seed;
	if (conf->ttl_min_us > conf->ttl_max_us)
		return err_set(err, ERR_USAGE, "dns_ttl_min is more than dns_ttl_max");
	if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
		return err_sys(err, "random numbers");
	struct dns *d = mem_alloc(sizeof *d);
	d->loop = loop;
	list_init(&d->socks);
	list_init(&d->queue);
	list_init(&d->answered);
	d->policy = policy;
	d->conf = *conf;
	d->conf.servers = (struct value_list){0}; /* c-ares has them */
	d->cache = dns_cache_new((size_t)conf->entries, conf->bytes, seed);
	d->tick = (struct loop_timer){.fn = dns_tick, .ctx = d};
	d->later = (struct loop_later){.fn = asks_tell, .ctx = d};
	if (open_channel(d, conf, err) < 0) {
		dns_free(&d);
		return -1;
	}
	*ret = d;
	return 0;
}

void dns_free(struct dns **dp)
{
	struct dns *d = *dp;
	if (!d)
		return;
	ENSURE(!d->telling);
	d->closing = true;
	if (d->channel) {
		ares_destroy(d->channel); /* ends its sockets through sock_state() */
		ares_library_cleanup();
	}
	loop_timer_stop(&d->tick);
	loop_later_cancel(&d->later);
	TABLE_EACH (asks, slot, &d->asks)
		ask_free(slot->value);
	asks_free(&d->asks);
	dns_cache_free(&d->cache);
	mem_free(dp);
}
