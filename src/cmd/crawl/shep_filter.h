/* The filter of the crawl, for the commands that ask it or only want to know whether it is good. */
#pragma once
#include "cmd/command.h"
#include "shepherd/filter.h"
#include "state/state.h"

/* That of the data directory, with the settings of the role shepherd before it. ret_path, of
 * PATH_MAX bytes: where its file is or would be. 1: this program has no such role. */
int shep_filter_load(const struct cmd_call *call, const struct config *config, char *ret_path,
		     struct filter **ret, struct err *err);
/* The newest state, which tells of sites what rules ask. *ret is NULL where there is no crawl. */
int shep_filter_newest(const struct config *config, struct states **ret_states, struct state **ret,
		       struct err *err);
/* How many sites of a state have a queue key: for the rules. Reads the list of sites. */
int shep_filter_count(struct state *st, qkey key, uint64_t *ret, struct err *err);
