/* The queuer: accepts requests from interfaces over a Unix socket, passes them to searchers one by
 * one, and forwards the answers. Owned by one loop. Its owner runs the processes: struct
 * queuer_ops.
 */
#pragma once
#include "archie/archie.h"
#include "net/loop.h"

struct queuer;

enum {
	QUEUER_SHARE = 20,       /* waiting requests of one address */
	QUEUER_USER_SHARE = 200, /* of one local user; roles ask for others */
	QUEUER_SEARCHERS_MOST = 64,
	QUEUER_CONNECTIONS = 4096,
};

/* Processes of searchers, by number. */
struct queuer_ops {
	/* Starts one with fd as its end of the socket; the caller still owns fd. */
	int (*start)(void *ctx, size_t number, int fd, struct err *err);
	/* Kills it; call queuer_ended() afterwards. It may have ended already. */
	void (*kill)(void *ctx, size_t number);
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
/* Closes the sockets of searchers, which ends them; does not call kill(). */
void queuer_free(struct queuer **q);
/* The caller still owns fd. */
int queuer_listen(struct queuer *q, int fd, struct err *err);
/* Call it when the process of a searcher has ended. */
void queuer_ended(struct queuer *q, size_t number, const char *reason);
struct queuer_counts {
	uint64_t asked[ARCHIE_WHATS], asked_type[NAMES_TYPES];
	uint64_t answered, cut, refused[ARCHIE_REFUSALS];
	uint64_t searches, again, deaths, overruns, cancels, hung_up, dropped;
	uint64_t wait_us, search_us;                       /* summed over all answers */
	uint64_t waiting, running, searchers, connections; /* now */
};
void queuer_counts(const struct queuer *q, struct queuer_counts *ret);
