/* What the unit programs of politeness share. */
#pragma once
#include "../scratch.h"
#include "../unit.h"
#include "fetch/polite.h"
#include "fetch/polite/polite_file.h"

#include <unistd.h>

#define S US_PER_S
#define START (1000 * S) /* well after the start of the machine */
#define WALL (INT64_C(1700000000) * S)

static const struct polite_rule plain
	__attribute__((unused)) = {.delay_us = 10 * S, .concurrent = 1};

static inline struct polite *open_at(const char *path, const char *boot, int64_t now_us,
				     int64_t wall_us)
{
	struct polite *p = NULL;
	struct err err;
	struct polite_options o = {
		.servers = 64, .boot = boot, .now_us = now_us, .wall_us = wall_us};
	if (polite_open(&p, path, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static inline struct polite *open_new(const char *name)
{
	unlink(scratch(name));
	return open_at(scratch(name), "a", START, WALL);
}

static inline struct addr addr_of(const char *text)
{
	struct addr a;
	assert_true(addr_parse(str_of(text), &a));
	return a;
}

/* What the table says of a server (IPv4) that it was asked for before. */
static inline const struct polite_entry *entry_of(const struct polite *p, const char *server)
{
	struct addr a = addr_of(server);
	uint64_t key = (uint64_t)a.b[0] << 24 | a.b[1] << 16 | a.b[2] << 8 | a.b[3];
	for (size_t i = 0; i < (size_t)p->groups * POLITE_GROUP; i++)
		if (p->entry[i].key == key && polite_family(p->entry[i].meta) == 4)
			return &p->entry[i];
	fail_msg("%s: the table does not know it", server);
	return NULL;
}

/* Taken, or how long to wait. */
static inline int64_t take(struct polite *p, const char *server, const struct polite_rule *rule,
			   int64_t now_us, struct lease *ret)
{
	struct addr a = addr_of(server);
	int64_t wait = 0;
	int rc = polite_take(p, &a, rule, now_us, ret, &wait);
	assert_in_range(rc, 0, 1);
	assert_true(rc == 0 ? wait == 0 : wait > 0);
	return wait;
}

static inline void takes(struct polite *p, const char *server, int64_t now_us, struct lease *ret)
{
	int64_t wait = take(p, server, &plain, now_us, ret);
	if (wait)
		fail_msg("%s: wait %lld us", server, (long long)wait);
}

static inline int64_t waits(struct polite *p, const char *server, int64_t now_us)
{
	struct lease l;
	int64_t wait = take(p, server, &plain, now_us, &l);
	assert_true(wait > 0);
	return wait;
}

static inline void asks(struct polite *p, const char *server, enum outcome o, int64_t retry_us,
			int64_t now_us)
{
	struct lease l;
	takes(p, server, now_us, &l);
	polite_end(p, &l, o, retry_us, now_us + 1);
}
