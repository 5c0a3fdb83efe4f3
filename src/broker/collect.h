/* The role `broker`: the collector, running. Which feeds there are is for the program to say,
 * since a broker knows nothing of crawls and caches. */
#pragma once
#include "broker/collector.h"
#include "role/role.h"

/* Collects until SIGTERM or SIGINT. A store that fails is opened again, after longer and longer
 * waits. */
int broker_run(struct role_env *env, const struct collector_feed *feeds, size_t n, struct err *err);
