/* The role `broker`: collects, and answers on its port, until SIGTERM, SIGINT or an order of the
 * administrator. */
#pragma once
#include "broker/admin.h"
#include "broker/collector.h"
#include "broker/port.h"

struct broker_role_options {
	struct collector_options collector;
	struct port_options port; /* without administrator and lifetime */
	int64_t lifetime_us;      /* the longest of a query, until the administrator sets it */
	int listen_fd;            /* -1: there is no port */
	const char *password;     /* as admin_options have it */
	struct control *control;  /* with its hooks */
};

/* Which feeds there are is for the program to say, since a broker knows nothing of crawls and
 * caches. The port is served from the start to the end, also while stores are opened. A store that
 * fails is opened again, after longer and longer waits. 1: it is to be run again, with the
 * configuration that the hook has read; until then clients wait to be accepted,
 * and those who were, but had not been heard, are told that it stops. */
int broker_run(const struct broker_role_options *options, struct err *err);
