/* Gatherers as sources: each collection point is asked for what it has, or for what changed since
 * the last time, and what it tells comes out as changes while it arrives. Nothing is kept on disk,
 * and a point that is not read is not received either.
 *
 * A collection counts as a whole: next() says 2 while it goes on, 1 when the closing line has come,
 * and only then does the cursor move. A gatherer that cannot be reached, breaks off, falls silent
 * or takes too long is ERR_SYSTEM, and the next call asks it again from the beginning.
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
	 .help = "how long a gatherer may take to accept a connection"}, \
	{"gatherer_idle", VALUE_TIME_AT(s, m.idle_us), "2min", 10e3, 86400e6, \
	 .help = "how long a gatherer may be silent before its collection is given up"}, \
	{"gatherer_whole", VALUE_TIME_AT(s, m.whole_us), "12h", 10e3, 30 * 86400e6, \
	 .help = "how long one collection may take"}, \
	{"gatherer_object", VALUE_SIZE_AT(s, m.object_max), "16M", 64 << 10, 64 << 20, \
	 .help = "size of an object; larger ones are skipped"}, \
	{"gatherer_memory", VALUE_SIZE_AT(s, m.memory), "64M", 1 << 20, INFINITY, \
	 .help = "memory for objects that are arriving, of all gatherers together; a collection " \
		 "that would need more is given up and tried again later"}
/* clang-format on */

/* dns and policy: for points with a name; the policy must outlive it. The address of a point
 * without a name is allowed, since a person wrote it into the file. */
int gatherers_new(struct gatherers **ret, const struct gatherers_conf *conf,
		  const struct dns_conf *dns, const struct policy *policy, struct err *err);
/* Its sources must have been closed. */
void gatherers_free(struct gatherers **g);

/* What store points to; it outlives the source. */
struct gatherer_point {
	struct gatherers *gatherers;
	const char *host; /* a name, or an address without brackets */
	uint16_t port;
	bool full;       /* everything each time; otherwise what changed since the cursor */
	bool compressed; /* asks for it; what comes is seen when it comes */
};
extern const struct source_ops source_gatherer_ops;
