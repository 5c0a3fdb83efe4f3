/* Where commands.c finds each command; defined in the file of the same name. */
#pragma once
#include "cmd/command.h"

extern const struct command add_command;
extern const struct command archie_command;
extern const struct command archie_build_command;    /* of garner archie */
extern const struct command archie_find_command;     /* of garner archie */
extern const struct command archie_mail_command;     /* of garner archie */
extern const struct command archie_newsite_command;  /* of garner archie */
extern const struct command archie_ng_command;       /* of garner archie */
extern const struct command archie_parse_command;    /* of garner archie */
extern const struct command archie_searcher_command; /* of garner archie */
extern const struct command archie_shell_command;    /* of garner archie */
extern const struct command archie_whatis_command;   /* of garner archie */
extern const struct command cache_command;
extern const struct command check_command;
extern const struct command completion_command;
extern const struct command config_command;
extern const struct command doctor_command;
extern const struct command dump_command;
extern const struct command dumpregistry_command;
extern const struct command brkclient_command;
extern const struct command extract_command;
extern const struct command fetch_command;
extern const struct command help_command;
extern const struct command index_command;
extern const struct command password_command;
extern const struct command provider_command;
extern const struct command robots_command;
extern const struct command search_command;
extern const struct command shep_buckets_command;    /* of garner shep */
extern const struct command shep_buckettool_command; /* of garner shep */
extern const struct command shep_equiv_command;      /* of garner shep */
extern const struct command shep_params_command;     /* of garner shep */
extern const struct command shep_command;
extern const struct command shep_filter_command;  /* of garner shep */
extern const struct command shep_plan_command;    /* of garner shep */
extern const struct command shep_reapers_command; /* of garner shep */
extern const struct command soif_command;
extern const struct command status_command;
extern const struct command up_command;
extern const struct command url_command;
extern const struct command version_command;
extern const struct command why_command;
