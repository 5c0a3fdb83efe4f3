/* garner shep: the crawl's files at the command line. */
#include "cmd/commands.h"

static const struct command *const subs[] = {
	&shep_buckets_command,
	&shep_buckettool_command,
};
const struct command shep_command = {
	.name = "shep",
	.summary = "look after the files of the crawl",
	.description = "The bucket file holds what was gathered, the states what is known of each "
		       "URL.",
	.subs = subs,
	.nsubs = ARRAY_LEN(subs),
};
