/* Gatherers as sources: asks each collection point for everything, or for what changed since the
 * last time, and returns changes while they arrive. Stores nothing on disk, and receives only as
 * fast as the source is read.
 *
 * A collection counts only as a whole: next() returns 2 while it runs and 1 after the closing line,
 * and only then does the cursor move. A gatherer that cannot be reached, hangs up, falls silent or
 * takes too long is ERR_SYSTEM; the next call starts again from the beginning.
 *
 * All points share one loop in a thread of its own, which only moves bytes. Sources are used by one
 * thread. */
#pragma once
#include "net/dns.h"
#include "soif/source.h"

struct gatherers;

struct gatherers_conf {
	int64_t connect_us, idle_us, whole_us;
	uint64_t memory, object_max;
};

/* The settings, for the table of a section; `m` is the struct gatherers_conf in it. */
/* clang-format off */
#define GATHERERS_SPECS(s, m) \
	{"gatherer_connect", VALUE_TIME_AT(s, m.connect_us), "30s", 10e3, 3600e6, \
	 .help = "Time allowed for a gatherer to accept a connection"}, \
	{"gatherer_idle", VALUE_TIME_AT(s, m.idle_us), "2min", 10e3, 86400e6, \
	 .help = "Time without data after which a collection is aborted"}, \
	{"gatherer_whole", VALUE_TIME_AT(s, m.whole_us), "12h", 10e3, 30 * 86400e6, \
	 .help = "Time allowed for one collection"}, \
	{"gatherer_object", VALUE_SIZE_AT(s, m.object_max), "16M", 64 << 10, 64 << 20, \
	 .help = "Most bytes of an object; larger ones are skipped"}, \
	{"gatherer_memory", VALUE_SIZE_AT(s, m.memory), "64M", 1 << 20, INFINITY, \
	 .help = "Memory for incoming objects, of all gatherers together; a collection that would " \
		 "need more is aborted and retried later"}
/* clang-format on */

/* dns and policy apply to points with a host name; the policy must outlive the gatherers. A point
 * given by address is allowed, because the operator wrote it into the file. */
int gatherers_new(struct gatherers **ret, const struct gatherers_conf *conf,
		  const struct dns_conf *dns, const struct policy *policy, struct err *err);
/* Its sources must have been closed. */
void gatherers_free(struct gatherers **g);

/* `store` points to this; it must outlive the source. */
struct gatherer_point {
	struct gatherers *gatherers;
	const char *host; /* a name, or an address without brackets */
	uint16_t port;
	bool full;       /* everything each time; otherwise what changed since the cursor */
	bool compressed; /* request compression; the answer may be plain all the same */
};
extern const struct source_ops source_gatherer_ops;
