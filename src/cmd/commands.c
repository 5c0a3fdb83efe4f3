/* The tools of garner, in the order in which help names them. Each is a file of its own. */
#include "cmd/commands.h"

/* clang-format off */
const struct command *const commands[] = {
	&add_command,
	&search_command,
	&why_command,
	&up_command,
	&status_command,
	&doctor_command,
	&config_command,
	&password_command,
	&check_command,
	&dump_command,
	&dumpregistry_command,
	&brkclient_command,
	&fetch_command,
	&extract_command,
	&index_command,
	&archie_command,
	&cache_command,
	&provider_command,
	&robots_command,
	&shep_command,
	&soif_command,
	&url_command,
	&help_command,
	&completion_command,
	&version_command,
	NULL,
};
/* clang-format on */
const size_t ncommands = ARRAY_LEN(commands) - 1;
