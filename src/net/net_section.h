/* The section [net]: the port that all default ports keep their distance to, and what all listeners
 * have in common. Nobody reads its values: the sections of roles have the same keys, which inherit
 * from here (role/config.h) and are said there to make an exception. */
#pragma once
#include "role/config.h"

extern const struct config_section net_section;

/* For the table of a role that drains; usual: its default. */
/* clang-format off */
#define DRAIN_SPEC(s, m, usual) \
	{"drain", VALUE_TIME_AT(s, m), usual, 0, 3600e6, \
	 .help = "Time allowed, when a role has to stop, to finish the requests, answers and sets that " \
		 "it has begun", \
	 .inherits = "net.drain"}
/* For one that serves HTTP. */
#define ACCESS_LOG_SPEC(s, m) \
	{"access_log", VALUE_BOOL_AT(s, m), "no", \
	 .help = "Whether each HTTP request is logged; log = http:1 does the same", \
	 .inherits = "net.access_log"}
/* clang-format on */
