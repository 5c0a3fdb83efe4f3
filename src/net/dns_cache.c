#include "net/dns_cache.h"

#include "base/hash.h"
#include "base/table.h"

/* One block: the name and then the addresses follow. A hit reads the time, what stands behind it
 * and the name, so that it waits for as little memory as can be. */
struct entry {
	struct entry *newer, *older;
	const char *why;
	uint32_t bytes;
	uint16_t n;
	uint8_t name_n, outcome;
	int64_t until_us;
	bool used; /* since it was last looked at for eviction */
	char name[];
};

TABLE(names, struct dns_key, struct entry *, dns_key_hash, dns_key_equal)

struct dns_cache {
	struct names names;
	struct entry *newest, *oldest;
	size_t most, most_bytes, bytes;
	uint64_t seed;
};

struct dns_cache *dns_cache_new(size_t entries, size_t bytes, uint64_t seed)
{
	struct dns_cache *c = mem_alloc(sizeof *c);
	c->most = entries;
	c->most_bytes = bytes;
	c->seed = seed;
	return c;
}

void dns_cache_free(struct dns_cache **c)
{
	if (!*c)
		return;
	for (struct entry *e = (*c)->oldest, *next; e; e = next) {
		next = e->newer;
		mem_free(&e);
	}
	names_free(&(*c)->names);
	mem_free(c);
}

struct dns_key dns_cache_key(const struct dns_cache *c, struct str name)
{
	return (struct dns_key){name, hash64_seeded(name, c->seed)};
}

/* Where they stand in the block of a name of n bytes. */
static size_t addrs_at(size_t n)
{
	const size_t align = _Alignof(struct addr);
	return (offsetof(struct entry, name) + n + align - 1) / align * align;
}

static const struct addr *addrs_of(const struct entry *e)
{
	return (const struct addr *)((const char *)e + addrs_at(e->name_n));
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
	*ret = (struct dns_result){e->outcome, why, addrs_of(e), e->n, e->until_us};
	return true;
}

static void link_newest(struct dns_cache *c, struct entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static void unlink_entry(struct dns_cache *c, struct entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void entry_drop(struct dns_cache *c, struct entry *e, const struct dns_key *key)
{
	ENSURE(names_remove(&c->names, *key));
	unlink_entry(c, e);
	c->bytes -= e->bytes + sizeof(struct names_slot);
	mem_free(&e);
}

/* The oldest goes; one that was used since it got there goes round once more. */
static void cache_evict(struct dns_cache *c)
{
	struct entry *e;
	while ((e = c->oldest)->used) {
		e->used = false;
		unlink_entry(c, e);
		link_newest(c, e);
	}
	struct dns_key key = dns_cache_key(c, (struct str){e->name, e->name_n});
	entry_drop(c, e, &key);
}

static struct entry *entry_new(struct str name, const struct dns_result *r)
{
	size_t addrs = r->n * sizeof r->addr[0], bytes = addrs_at(name.n) + addrs;
	struct entry *e = mem_alloc(MAX(bytes, sizeof *e));
	e->until_us = r->until_us;
	e->why = r->why;
	e->bytes = (uint32_t)bytes;
	e->n = (uint16_t)r->n;
	e->outcome = (uint8_t)r->outcome;
	e->name_n = (uint8_t)name.n;
	memcpy(e->name, name.p, name.n);
	if (addrs)
		memcpy((char *)e + addrs_at(name.n), r->addr, addrs);
	return e;
}

void dns_cache_put(struct dns_cache *c, const struct dns_key *key, const struct dns_result *result)
{
	ENSURE(result->n <= UINT16_MAX && key->name.n <= DNS_NAME);
	struct entry **old = names_get(&c->names, *key);
	if (old)
		entry_drop(c, *old, key);
	struct entry *e = entry_new(key->name, result);
	size_t bytes = e->bytes + sizeof(struct names_slot);
	while (c->oldest && (names_count(&c->names) >= c->most || c->bytes + bytes > c->most_bytes))
		cache_evict(c);
	if (c->most == 0 || bytes > c->most_bytes) {
		mem_free(&e);
		return;
	}
	*names_put(&c->names, (struct dns_key){{e->name, e->name_n}, key->hash}) = e;
	link_newest(c, e);
	c->bytes += bytes;
}

size_t dns_cache_count(const struct dns_cache *c)
{
	return names_count(&c->names);
}

size_t dns_cache_bytes(const struct dns_cache *c)
{
	return c->bytes;
}
