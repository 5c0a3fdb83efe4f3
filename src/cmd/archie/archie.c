/* garner archie: names of files in archives, at the command line. */
#include "cmd/archie/archie.h"

#include "cmd/commands.h"

const struct command archie_command = {
	.name = "archie",
	.summary = "names of files in archives",
	.description = "Archives of the net publish listings of what they hold. These commands get "
		       "listings, read them, build what is searched by name, and search it.",
	CMD_SUBS(&archie_find_command, &archie_sites_command, &archie_get_command,
		 &archie_build_command, &archie_parse_command, &archie_shell_command,
		 &archie_whatis_command, &archie_ng_command, &archie_mail_command,
		 &archie_newsite_command, &archie_searcher_command),
};
