/* The role `broker`: collects, and answers on its port, until SIGTERM or SIGINT. */
#pragma once
#include "broker/collector.h"
#include "broker/port.h"

/* Which feeds there are is for the program to say, since a broker knows nothing of crawls and
 * caches. The port is served from the start to the end, also while stores are opened. A store that
 * fails is opened again, after longer and longer waits. listen_fd: -1 where there is no port. */
int broker_run(const struct collector_options *options, const struct port_options *port,
	       int listen_fd, struct err *err);
