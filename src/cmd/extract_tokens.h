/* garner extract --tokens: the tokens of HTML, in the form of the html5lib tests. */
#pragma once
#include "cmd/command.h"

struct extract_tokens_options {
	const char *state;          /* "Data state" ...; "": that */
	const char *last_start_tag; /* "": none */
	bool batch;                 /* lines of JSON in, an array per line out */
};

/* Of the files from first_arg on, or of standard input. Returns the exit code. */
int extract_tokens(const struct cmd_call *call, const struct extract_tokens_options *o,
		   int first_arg);
