/* What the subcommands of garner cache share, and what garner status says of the cache. */
#pragma once
#include "base/rows.h"
#include "cache/db.h"
#include "cache/pidb.h"
#include "cmd/command.h"

#include <limits.h>

struct cache_desk {
	struct config *config;
	char data[PATH_MAX], folder[PATH_MAX + 8]; /* the data directory; cache/ in it */
	struct pidb *pidb;
	struct db *db; /* for reading; NULL: there is none yet */
};
bool cache_is_there(const char *folder);
/* Opens what there is. ERR_NOTHING: there is no cache. To be closed in any case. */
int cache_desk_open(const struct cmd_call *call, struct cache_desk *ret, struct err *err);
void cache_desk_close(struct cache_desk *d);

struct cache_summary {
	uint64_t providers, unverified;
	uint64_t wanted, crashed; /* of a full set, and of one since something was lost */
	uint64_t queued, stored;
	uint64_t open_sets; /* taken, and not absorbed yet */
	uint64_t deletions; /* files that wait for it; at most CACHE_DELETIONS_MAX are counted */
	uint64_t spilled;   /* bytes of sets that wait at notification servers */
	bool gone;          /* a provider has left of which something is still stored */
};
enum { CACHE_DELETIONS_MAX = 100000 };
/* 1: there is no cache. */
int cache_summarize(const char *data, struct cache_summary *ret, struct err *err);
int cache_summary_fill(const char *folder, struct pidb *pidb, struct db *db,
		       struct cache_summary *ret, struct err *err);
extern const struct rows cache_summary_rows;
void cache_summary_text(const struct cache_summary *s, struct buf *out); /* a line for people */

extern const struct command cache_check_command, cache_crashed_command, cache_provider_command,
	cache_status_command;
