/* The queuer: takes requests from interfaces over a Unix socket, has searchers look one by one, and
 * hands their answers on. Owned by one loop. The processes are its owner's: see struct queuer_ops.
 */
#pragma once
#include "archie/archie.h"
#include "net/loop.h"

struct queuer;

enum {
	QUEUER_SHARE = 20,       /* requests of one address that may wait */
	QUEUER_USER_SHARE = 200, /* of one user of this machine; roles ask for others */
	QUEUER_SEARCHERS_MOST = 64,
	QUEUER_CONNECTIONS = 4096,
};

/* Processes of searchers, by number. */
struct queuer_ops {
	/* Starts one whose end of the socket is fd, which is its caller's. */
	int (*start)(void *ctx, size_t number, int fd, struct err *err);
	/* Kills it; queuer_ended() follows. Also of one that has ended by itself. */
	void (*kill)(void *ctx, size_t number);
	/* Something that the log should know; why may be NULL. */
	void (*said)(void *ctx, const char *what, const char *why);
};

struct queuer_options {
	struct loop *loop;
	size_t searchers; /* at least 2; the first takes cheap requests only */
	size_t queue_max;
	int64_t limit_us; /* of one search */
	const struct queuer_ops *ops;
	void *ctx;
};

struct queuer *queuer_new(const struct queuer_options *options);
/* Ends searchers by closing their sockets; kill() is not called. */
void queuer_free(struct queuer **q);
/* The descriptor stays the caller's. */
int queuer_listen(struct queuer *q, int fd, struct err *err);
/* Of a searcher that was started: its process is gone. */
void queuer_ended(struct queuer *q, size_t number, const char *reason);
struct queuer_counts {
	uint64_t asked[ARCHIE_WHATS], asked_type[NAMES_TYPES];
	uint64_t answered, cut, refused[ARCHIE_REFUSALS];
	uint64_t searches, again, deaths, overruns, cancels, hung_up, dropped;
	uint64_t wait_us, search_us;                       /* summed over what was answered */
	uint64_t waiting, running, searchers, connections; /* now */
};
void queuer_counts(const struct queuer *q, struct queuer_counts *ret);
