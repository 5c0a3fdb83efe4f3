#include "simnet/world.h"

#include "net/addr.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>

#define AT(type, member) type(struct world_conf, member)
const struct value_spec world_specs[] = {
	{"seed", AT(VALUE_INT_AT, seed), .fallback = "1", .max = INFINITY,
	 .help = "Another number, another world"},
	{"hosts", AT(VALUE_INT_AT, hosts), .fallback = "20", .min = 1, .max = WORLD_HOSTS_MAX,
	 .help = "Hosts: h0.ZONE, h1.ZONE and so on"},
	{"addresses", AT(VALUE_INT_AT, addresses), .max = WORLD_HOSTS_MAX,
	 .help = "Addresses that the hosts share; 0: one each"},
	{"pages", AT(VALUE_INT_AT, pages), .fallback = "100", .min = 1, .max = WORLD_PAGES_MAX,
	 .help = "Pages of each host"},
	{"epoch", AT(VALUE_INT_AT, epoch_s), .fallback = "1577836800", .max = 4e9,
	 .help = "Virtual time at the start, in seconds since 1970"},
	{"zone", AT(VALUE_TEXT_AT, zone), .fallback = "sim.test", .help = "Domain of the hosts"},
	{"network", AT(VALUE_TEXT_AT, network), .fallback = "127.10.0.0",
	 .help = "Addresses follow this one, inside 127.0.0.0/8"},
	{"agent", AT(VALUE_TEXT_AT, agent), .fallback = "garner",
	 .help = "Product token that robots.txt of the kind `named` names"},
	{"profiles", AT(VALUE_LIST_AT, profiles),
	 .help = "NAME=WEIGHT,...: how hosts behave; by default a mix of all"},
	{"robots", AT(VALUE_LIST_AT, robots),
	 .help = "NAME=WEIGHT,...: kinds of robots.txt; by default a mix of all"},
	{"odd_pages", AT(VALUE_INT_AT, odd_percent), .fallback = "20", .max = 100,
	 .help = "Percent of leaf pages that are not HTML: text, binary, redirects, errors"},
	{"change", AT(VALUE_INT_AT, change_percent), .fallback = "40", .max = 100,
	 .help = "Percent of pages that change, each at its own rate"},
	{"appear", AT(VALUE_INT_AT, appear_percent), .fallback = "10", .max = 100,
	 .help = "Percent of leaf pages that appear within 30 days of the epoch"},
	{"vanish", AT(VALUE_INT_AT, vanish_percent), .fallback = "10", .max = 100,
	 .help = "Percent of leaf pages that vanish within 60 days of their appearance"},
	{"gzip", AT(VALUE_INT_AT, gzip_percent), .fallback = "30", .max = 100,
	 .help = "Percent of pages that are sent with gzip to who accepts it"},
	{"page_size", AT(VALUE_SIZE_AT, page_size), .fallback = "4K", .min = 64, .max = 1 << 20,
	 .help = "Bytes of a page: the mean of a power law"},
	{"same_size", AT(VALUE_BOOL_AT, same_size), .help = "All pages have that size"},
	{"slow", AT(VALUE_TIME_AT, slow_us), .fallback = "300ms", .max = 3600e6,
	 .help = "What slow hosts, tarpits and slow name servers wait, each time"},
	{"retry_after", AT(VALUE_INT_AT, retry_after_s), .fallback = "1", .max = 86400,
	 .help = "Seconds of Retry-After with 429 and 503"},
	{"crawl_delay", AT(VALUE_INT_AT, crawl_delay_s), .fallback = "1", .max = 86400,
	 .help = "Seconds of Crawl-delay in robots.txt of the kind `delay`"},
	{"ttl", AT(VALUE_INT_AT, ttl_s), .fallback = "300", .max = 86400,
	 .help = "Seconds that answers of the name server hold"},
};
#undef AT
const size_t world_nspecs = ARRAY_LEN(world_specs);

const struct behaviour world_profiles[NPROFILES] = {
#define X(symbol, text, heavy, fine, helps) \
	[PROFILE_##symbol] = {.name = text, .help = helps, .weight = heavy, .good = fine},
	PROFILES(X)
#undef X
};

const struct behaviour world_robots[NROBOTS] = {
#define X(symbol, text, heavy, forbids, helps) \
	[ROBOTS_##symbol] = {.name = text, .help = helps, .weight = heavy, .rule = forbids},
	ROBOTS_KINDS(X)
#undef X
};

int behaviour_find(const struct behaviour *table, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(name, table[i].name))
			return (int)i;
	return -1;
}

/* Weights by "NAME=WEIGHT" items, or those of the table. */
static int weigh(const struct behaviour *table, size_t n, const struct value_list *list,
		 uint64_t *ret, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = list->n ? 0 : table[i].weight;
	for (size_t i = 0; i < list->n; i++) {
		struct str item = str_of(list->item[i]);
		size_t equals = str_find_byte(item, '=');
		int at = behaviour_find(table, n, str_head(item, equals));
		uint64_t weight = 1;
		if (at < 0 || (equals < item.n && !str_u64(str_from(item, equals + 1), &weight)) ||
		    weight > 1000000)
			return err_set(err, ERR_USAGE, "%s: expected NAME=WEIGHT; see --help",
				       list->item[i]);
		ret[at] = weight;
	}
	return 0;
}

static uint8_t pick(const uint64_t *weights, size_t n, uint64_t dice)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	dice %= MAX(sum, 1);
	for (size_t i = 0; i < n; i++) {
		if (dice < weights[i])
			return (uint8_t)i;
		dice -= weights[i];
	}
	return 0;
}

/* How many of n nodes have kids in the tree. */
static uint32_t inner_count(int64_t n)
{
	return (uint32_t)MAX((n - 1 + WORLD_FANOUT - 1) / WORLD_FANOUT, 1);
}

/* An inner host may be anything that the list names, for a list that has no "plain". */
static int behave(struct world *w, struct err *err)
{
	uint64_t profiles[NPROFILES], robots[NROBOTS];
	if (weigh(world_profiles, NPROFILES, &w->conf.profiles, profiles, err) < 0 ||
	    weigh(world_robots, NROBOTS, &w->conf.robots, robots, err) < 0)
		return -1;
	w->profile = mem_alloc((size_t)w->conf.hosts);
	w->robots = mem_alloc((size_t)w->conf.hosts);
	for (int64_t h = 0; h < w->conf.hosts; h++) {
		uint64_t key = dice_of((uint64_t)w->conf.seed, (uint64_t)h + (UINT64_C(1) << 40));
		bool inner = h < w->inner_hosts;
		w->profile[h] = pick(profiles, NPROFILES, key >> 20);
		w->robots[h] = pick(robots, NROBOTS, key >> 40);
		if (inner && profiles[PROFILE_PLAIN])
			w->profile[h] = PROFILE_PLAIN;
		if (inner && world_robots[w->robots[h]].rule == RULE_ALL && robots[ROBOTS_SOME])
			w->robots[h] = ROBOTS_SOME;
	}
	return 0;
}

int world_init(struct world *w, const struct world_conf *conf, struct err *err)
{
	struct addr network;
	*w = (struct world){.conf = *conf};
	if (w->conf.addresses == 0 || w->conf.addresses > w->conf.hosts)
		w->conf.addresses = w->conf.hosts;
	if (!addr_parse(str_of(conf->network), &network) || network.family != AF_INET ||
	    network.b[0] != 127)
		return err_set(err, ERR_USAGE, "--network %s: expected an address of 127.0.0.0/8",
			       conf->network);
	w->network = (uint32_t)network.b[0] << 24 | (uint32_t)network.b[1] << 16 |
		     (uint32_t)network.b[2] << 8 | network.b[3];
	if ((w->network & 0xffffff) + w->conf.addresses + 2 >= 0xffffff)
		return err_set(err, ERR_USAGE, "--network %s: it does not have %lld addresses",
			       conf->network, (long long)w->conf.addresses);
	w->inner_hosts = inner_count(conf->hosts);
	w->inner_pages = inner_count(conf->pages);
	if (behave(w, err) < 0) {
		world_free(w);
		return -1;
	}
	w->words = vocabulary_new((uint64_t)conf->seed);
	return 0;
}

void world_free(struct world *w)
{
	mem_free(&w->profile);
	mem_free(&w->robots);
	mem_free(&w->words);
}

int64_t world_host(const struct world *w, struct str name, bool *ret_alias)
{
	char lower[64];
	struct str zone = str_of(w->conf.zone), s;
	uint64_t number;
	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	if (name.n > zone.n && name.p[name.n - zone.n - 1] == '.' &&
	    str_eq_nocase(str_from(name, name.n - zone.n), zone))
		name.n -= zone.n + 1;
	if (name.n >= sizeof lower)
		return -1;
	for (size_t i = 0; i < name.n; i++)
		lower[i] =
			(char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
	s = (struct str){lower, name.n};
	bool alias = str_starts(s, STR("www."));
	if (alias)
		s = str_from(s, 4);
	/* "h007" is no name of host 7 */
	if (s.n < 2 || s.p[0] != 'h' || (s.p[1] == '0' && s.n > 2) ||
	    !str_u64(str_from(s, 1), &number) || number >= (uint64_t)w->conf.hosts)
		return -1;
	*ret_alias = alias;
	return (int64_t)number;
}

void world_host_name(const struct world *w, uint32_t host, struct buf *out)
{
	buf_printf(out, "h%u.%s", host, w->conf.zone);
}

void world_site(const struct world *w, uint32_t host, struct buf *out)
{
	buf_printf(out, "http://h%u.%s:%d", host, w->conf.zone, (int)w->conf.port);
}

uint32_t world_address(const struct world *w, uint32_t host)
{
	uint64_t n = (uint64_t)w->conf.addresses;
	return host < n ? host : (uint32_t)(dice_of((uint64_t)w->conf.seed + 1, host) % n);
}

uint32_t world_content(const struct world *w, uint32_t host)
{
	return w->profile[host] == PROFILE_MIRROR ? world_moved_to(w, host) : host;
}

uint32_t world_moved_to(const struct world *w, uint32_t host)
{
	return (uint32_t)(dice_of((uint64_t)w->conf.seed + 2, host) % w->inner_hosts);
}

bool world_is_busy(const struct world *w, uint32_t host, int64_t now_s)
{
	int64_t phase = (int64_t)(dice_of((uint64_t)w->conf.seed + 3, host) % 4);
	return w->profile[host] == PROFILE_BUSY && (now_s / 21600) % 4 == phase;
}

bool world_allows(const struct world *w, uint32_t host, struct str path)
{
	if (str_is(path, "/robots.txt") || str_is(path, "/robots-moved.txt"))
		return true;
	bool hidden = str_starts(path, STR("/private/"));
	bool text = str_starts(path, STR("/private/t/")) && str_ends(path, STR(".txt"));
	enum robots_rule rule = world_robots[w->robots[host]].rule;
	return rule == RULE_NOTHING || (rule == RULE_PRIVATE && !hidden) ||
	       (rule == RULE_PRIVATE_BUT_TEXT && (!hidden || text));
}
