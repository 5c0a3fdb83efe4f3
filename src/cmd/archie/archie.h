/* What the subcommands of garner archie share. */
#pragma once
#include "archie/archie_conf.h"
#include "archie/sites.h"
#include "cmd/command.h"

struct archie_list {
	struct config *config;
	const struct archie_conf *conf;
	struct arena arena;
	const char *data, *folder; /* the data directory; archie/ in it */
	struct archie_sites sites;
};
/* Loads configuration and site list; bad lines are named on standard error. 0, or the exit code. To
 * be closed in any case. */
int archie_open_list(const struct cmd_call *call, struct archie_list *ret, struct err *err);
void archie_close_list(struct archie_list *l);

extern const struct command archie_get_command, archie_sites_command;
